//! The parts of the layout that IMB-P2P has of its own: its head, the lines over a table, and rates of the
//! messages of all ranks.

use comet_core::kernel::RateKind;
use comet_core::sweep;
use comet_core::topology::stencil_sides;

use super::super::foreign::{Block, Means, or_dash, procs, repetitions, size_bytes, two_digits};
use super::head::{rule, sizes, system};
use super::{left_out, per_s};
use crate::record::{Point, PointStatus, Run};
use crate::suite::imb::{P2P, WIDTH, titles};
use crate::suite::{self, Numbers};

/// The lines before the first table of `run`, below `title`.
pub(super) fn start(run: &Run, title: &str) -> String {
    let rule = format!("#{}", "-".repeat(60));
    let mut text = format!("{rule}\n{title}\n{rule}\n");
    text += &format!("# Date                  : {}\n{}", run.started_at, system(run));
    text += &format!("#\n# Calling sequence was:\n#\n# {}\n#\n", run.argv.join(" "));
    text += "# List of Benchmarks to run:\n#\n";
    for (_, benchmark) in suite::asked(P2P.family, run) {
        text += &format!("# {}\n", benchmark.name);
    }
    let lengths = sizes(run).and_then(|sizes| sweep::parse(sizes, None).ok());
    if let Some([min, max]) = lengths.and_then(|of| Some([*of.iter().min()?, *of.iter().max()?])) {
        text += &format!(
            "#\n# Minimum message length in bytes:   {min}\n\
             # Maximum message length in bytes:   {max}\n"
        );
    }
    text + "#\n"
}

/// The lines over the rows of `block`.
pub(super) fn head(block: &Block<'_>) -> String {
    let titles = titles(block.benchmark.numbers, false);
    let (rule, name, origin) = (rule(titles.len()), block.benchmark.name, block.origin());
    let n_ranks = procs(block.first);
    let sides = n_ranks.and_then(|n_ranks| sides(block.benchmark.numbers, n_ranks));
    let sides = sides.map_or(String::new(), |sides| format!(" ({sides})"));
    let head: String = titles.iter().map(|title| format!("{title:>WIDTH$}")).collect();
    format!(
        "\n# note: {origin}\n\n{rule}\n# Benchmarking {name}{sides}\n# #processes = {}\n{rule}\n{head}\n",
        or_dash(n_ranks)
    )
}

/// The sides of the torus of a stencil, the last dimension first.
fn sides(numbers: Numbers, n_ranks: u64) -> Option<String> {
    let n_dimensions = match numbers {
        Numbers::Messages(n_messages) if n_messages > 2 => n_messages / 2,
        _ => return None,
    };
    let [n_ranks, n_dimensions] = [n_ranks, n_dimensions].map(usize::try_from);
    let sides = stencil_sides(n_ranks.ok()?, n_dimensions.ok()?)?;
    let names: Vec<String> = sides.iter().rev().map(ToString::to_string).collect();
    Some(names.join(" x "))
}

/// The line in place of a table on ranks for which the benchmark has none.
pub(super) fn refused(block: &Block<'_>, point: &Point) -> Option<String> {
    let failure = point.failure().filter(|of| of.status == PointStatus::Skipped)?;
    if left_out(&failure.message).is_some() {
        return None;
    }
    let (name, n_ranks) = (block.benchmark.name, or_dash(procs(point)));
    let reason = &failure.message;
    Some(format!(
        "\n# note: {reason}\n# !! Benchmark {name} is invalid for {n_ranks} processes !!\n"
    ))
}

/// The columns of a row with these times, in MB of so many bytes.
pub(super) fn cells(block: &Block<'_>, point: &Point, means: Means, mb: f64) -> String {
    let n_messages = match block.benchmark.numbers {
        Numbers::Messages(n_messages) => n_messages as f64,
        _ => 1.0,
    };
    let messages = point.rates().iter().find(|rate| rate.name == RateKind::Messages.name());
    let Means { max_us, avg_us, .. } = means;
    let (time_us, bytes_per_s, messages_per_s) = if point.measured().is_some() {
        let bytes = point.value().and_then(|value| value.bytes_per_op);
        let bytes_per_s = bytes.map(|bytes| per_s(bytes as f64, max_us));
        (avg_us / n_messages, bytes_per_s, messages.map(|of| per_s(of.per_op, max_us)))
    } else {
        // The time of an import is that of one message.
        (avg_us, Some(point.bytes_per_s().unwrap_or(0.0)), messages.and_then(|of| of.value))
    };
    let columns = [
        or_dash(size_bytes(point)),
        or_dash(repetitions(point)),
        two_digits(Some(time_us)),
        two_digits(bytes_per_s.map(|bytes_per_s| bytes_per_s / mb)),
        messages_per_s.map_or("-".into(), |rate| format!("{rate:.0}")),
    ];
    columns.iter().map(|column| format!("{column:>WIDTH$}")).collect()
}
