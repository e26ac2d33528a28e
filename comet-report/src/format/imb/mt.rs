//! The parts of the layout that IMB-MT has of its own: its head, the lines over a table, and rows that count the
//! messages of all threads of a rank.

use comet_core::kernel::{THREADS, WINDOW};

use super::super::foreign::{Block, Means, or_dash, procs, repetitions, size_bytes, two_digits};
use super::{left_out, per_s};
use crate::record::{Point, PointStatus};
use crate::suite::Numbers;
use crate::suite::imb::{MT, WIDTH, titles};

/// Parameters by which tables of a benchmark differ.
pub(super) const SPLITS: [&str; 3] = ["threads", "stride", "window"];

/// True if `block` is of this part.
pub(super) fn is_of(block: &Block<'_>) -> bool {
    MT.of_kernel(block.benchmark.kernel).is_some()
}

/// The lines before the first table, with `title`.
pub(super) fn start(title: &str) -> String {
    let rule = format!("#{}", "-".repeat(66));
    format!("{rule}\n{title}\n{rule}\n#\n")
}

/// The line above and below the head of a table.
fn rule() -> String {
    format!("#{}", "-".repeat(77))
}

/// Threads of each rank.
fn threads(point: &Point) -> u64 {
    point.params.number(THREADS.name).unwrap_or(1).max(1)
}

/// Ranks that took part, where it is known, or else all.
fn n_ranks(point: &Point) -> Option<u64> {
    let sampled = point.measured().and_then(|measured| measured.samples.as_ref());
    let sampled = sampled.map(|samples| samples.ranks.len() as u64 / threads(point));
    sampled.or_else(|| procs(point))
}

/// The lines over the rows of `block`.
pub(super) fn head(block: &Block<'_>) -> String {
    let (rule, name, origin) = (rule(), block.benchmark.name, block.origin());
    let (n_ranks, threads) = (or_dash(n_ranks(block.first)), threads(block.first));
    let window = block.first.params.number(WINDOW.name);
    let window = window.map_or(String::new(), |n| format!("# window_size = {n}\n"));
    let titles = titles(block.benchmark.numbers, false);
    let head: String = titles.iter().map(|title| format!("{title:>WIDTH$}")).collect();
    format!(
        "\n# note: {origin}\n\n{rule}\n# Benchmarking {name}\n\
         # #processes = {n_ranks} (threads: {threads})\n{window}{rule}\n{head}\n"
    )
}

/// The lines in place of a table on ranks for which the benchmark has none.
pub(super) fn refused(block: &Block<'_>, point: &Point) -> Option<String> {
    let failure = point.failure().filter(|of| of.status == PointStatus::Skipped)?;
    if left_out(&failure.message).is_some() {
        return None;
    }
    let (rule, name, reason) = (rule(), block.benchmark.name, &failure.message);
    Some(format!(
        "\n# note: {reason}\n\n{rule}\n# Benchmarking {name}\n# NO SUCCESSFUL EXECUTIONS\n{rule}\n\n"
    ))
}

/// The columns of a row with these times, in MB of so many bytes.
pub(super) fn cells(block: &Block<'_>, point: &Point, means: Means, mb: f64) -> String {
    let (numbers, threads) = (block.benchmark.numbers, threads(point));
    let size = size_bytes(point).filter(|_| numbers != Numbers::Barrier);
    let of_threads = size.map(|size| size.saturating_mul(threads));
    let mut columns: Vec<String> = of_threads.iter().map(u64::to_string).collect();
    columns.push(or_dash(repetitions(point)));
    let of_import = point.bytes_per_s().filter(|_| point.measured().is_none());
    let rate = |n_bytes: Option<u64>, time_us: f64| {
        let measured = || n_bytes.map(|bytes| per_s(bytes as f64, time_us));
        two_digits(of_import.or_else(measured).map(|bytes_per_s| bytes_per_s / mb))
    };
    let Means { min_us, max_us, avg_us } = means;
    let bytes_of = |n_messages| of_threads.map(|bytes: u64| bytes.saturating_mul(n_messages));
    if let Numbers::Bands(n_windows) = numbers {
        let pairs = n_ranks(point).unwrap_or(0) / 2;
        let message_rate = point.rates().first().and_then(|rate| rate.value);
        // The time of an import is that of a message.
        let n_messages = if point.measured().is_some() {
            (point.number(WINDOW.name).unwrap_or(1) * n_windows) as f64
        } else {
            1.0
        };
        let (avg_us, max_us) = (avg_us / n_messages, max_us / n_messages);
        columns.extend([two_digits(Some(avg_us)), rate(bytes_of(pairs), max_us)]);
        let of_import = message_rate.filter(|_| point.measured().is_none());
        let of_all = of_import.unwrap_or_else(|| per_s((pairs * threads) as f64, avg_us));
        // A whole number, as the original cuts it.
        columns.push(format!("{:.0}", of_all.floor()));
    } else {
        columns.extend([min_us, max_us, avg_us].map(|us| two_digits(Some(us))));
        match numbers {
            Numbers::ParallelTrips => columns.push(rate(bytes_of(1), max_us)),
            Numbers::Parallel(n) => columns.push(rate(bytes_of(n), max_us)),
            _ => (),
        }
    }
    columns.iter().map(|column| format!("{column:>WIDTH$}")).collect()
}
