//! The layouts of the Intel MPI Benchmarks, for programs that read them: of version 2021, with MB of
//! 10^6 bytes, and of version 3.2, with MB of 2^20.
//!
//! ```text
//!
//!   #---------------------------------------------------
//!   # Benchmarking PingPong
//!   # #processes = 2
//!   #---------------------------------------------------
//!          #bytes #repetitions      t[usec]   Mbytes/sec
//!               8         1000         0.51        15.69
//! ```
//!
//! Times are the mean of each rank over its repetitions: the least, the largest, and their mean, over
//! the ranks that sampled. Rates follow from the largest.

use std::io::{self, Write};

use comet_core::sweep;

use super::foreign::{
    self, Block, Layout, Means, or_dash, procs, repetitions, size_bytes, two_digits,
};
use crate::record::{Machine, Point, Run};
use crate::sink::RecordSink;
use crate::suite::Suite;
use crate::suite::imb::{Columns, Kind, SUITE, WIDTH};

/// The layout of the Intel MPI Benchmarks.
#[derive(Clone, Copy, Debug)]
struct Imb {
    /// Version and MB, for the first line.
    version: &'static str,
    /// Bytes of a MB.
    bytes_per_mb: f64,
}

impl Imb {
    /// The layout of the versions since 2017.
    const NEW: Self = Self { version: "IMB 2021, MB of 10^6 bytes", bytes_per_mb: 1e6 };

    /// The layout of version 3.2.
    const V3_2: Self = Self { version: "IMB 3.2, MB of 2^20 bytes", bytes_per_mb: 1_048_576.0 };

    /// The rate of `n_messages` of `size` bytes in `time_us`, in MB of the version a second; 0
    /// without bytes or time, as IMB prints it.
    #[expect(clippy::cast_precision_loss, reason = "messages are far shorter than 2^53 bytes")]
    fn rate(&self, n_messages: u64, size: u64, time_us: f64) -> f64 {
        if time_us > 0.0 {
            n_messages.saturating_mul(size) as f64 / time_us * 1e6 / self.bytes_per_mb
        } else {
            0.0
        }
    }
}

/// Writer of records into `out`, as IMB since 2017.
pub(super) fn writer<'a>(out: Box<dyn Write + 'a>) -> Box<dyn RecordSink + 'a> {
    foreign::writer(Imb::NEW, out)
}

/// Writer of records into `out`, as version 3.2.
pub(super) fn writer_3_2<'a>(out: Box<dyn Write + 'a>) -> Box<dyn RecordSink + 'a> {
    foreign::writer(Imb::V3_2, out)
}

impl Layout for Imb {
    type Kind = Kind;

    const SUITE: Suite<Kind> = SUITE;

    fn start(&self, run: &Run, out: &mut dyn Write) -> io::Result<()> {
        let rule = rule(5);
        let program = format!("{} {}", run.suite.name, run.suite.version);
        let program = program.trim_end();
        writeln!(out, "{rule}\n#    {program}, in the layout of {}\n{rule}", self.version)?;
        writeln!(out, "# Date                  : {}", run.started_at)?;
        write_system(run, out)?;
        writeln!(out, "\n\n# Calling sequence was: \n\n# {}\n", run.argv.join(" "))?;
        if let Some((min, max)) = lengths(run) {
            writeln!(out, "# Minimum message length in bytes:   {min}")?;
            writeln!(out, "# Maximum message length in bytes:   {max}\n#")?;
        }
        writeln!(out, "# MPI_Datatype                   :   MPI_BYTE \n#")?;
        let names = selected(run);
        if !names.is_empty() {
            writeln!(out, "\n# List of Benchmarks to run:\n\n# {}", names.join("\n# "))?;
        }
        Ok(())
    }

    fn head(&self, block: &Block<'_, Kind>, out: &mut dyn Write) -> io::Result<()> {
        let titles = block.benchmark.kind.columns.titles();
        let (rule, name) = (rule(titles.len()), block.benchmark.name);
        writeln!(out, "\n# note: {}\n\n{rule}\n# Benchmarking {name} ", block.origin())?;
        write_procs(block, out)?;
        let head: String = titles.iter().map(|title| format!("{title:>WIDTH$}")).collect();
        writeln!(out, "{rule}\n{head}")
    }

    fn row(&self, block: &Block<'_, Kind>, point: &Point, out: &mut dyn Write) -> io::Result<()> {
        let Some(Means { min_us, max_us, avg_us }) = Means::of(point) else { return Ok(()) };
        let Kind { columns, n_messages, .. } = block.benchmark.kind;
        let size = size_bytes(point).filter(|_| columns != Columns::Synchronisation);
        let of_import = point.rate.as_ref().filter(|_| point.samples.is_none());
        let rate = match of_import {
            Some(rate) => Some(rate.bytes_per_s / self.bytes_per_mb),
            None => size.map(|size| self.rate(n_messages, size, max_us)),
        };
        let times = [min_us, max_us, avg_us].map(Some);
        let numbers = match columns {
            Columns::SingleTransfer => vec![Some(max_us), rate],
            Columns::ParallelTransfer => times.into_iter().chain([rate]).collect(),
            Columns::Collective | Columns::Synchronisation => times.into(),
        };
        let size = size.map_or(String::new(), |size| format!("{size:>WIDTH$}"));
        let numbers: String =
            numbers.into_iter().map(|n| format!("{:>WIDTH$}", two_digits(n))).collect();
        writeln!(out, "{size}{:>WIDTH$}{numbers}", or_dash(repetitions(point)))
    }

    fn end(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "\n\n# All processes entering MPI_Finalize\n")
    }
}

/// Writes the facts of the system and of MPI that the record holds, under the titles of IMB.
fn write_system(run: &Run, out: &mut dyn Write) -> io::Result<()> {
    let machine = run.machines.first();
    let of_machine = |fact: fn(&Machine) -> Option<&String>| fact(machine?).map(String::as_str);
    let of_mpi = |name: &str| run.transport.facts.get("mpi")?.get(name)?.as_str();
    let level = of_mpi("thread_level").map(|level| format!("MPI_THREAD_{}", level.to_uppercase()));
    let facts = [
        ("Machine               ", of_machine(|m| Some(&m.cpu.arch))),
        ("System                ", of_machine(|m| m.os.kernel.as_ref()).map(|_| "Linux")),
        ("Release               ", of_machine(|m| m.os.kernel.as_ref())),
        ("Version               ", of_machine(|m| m.kernel.build.as_ref())),
        ("MPI Version           ", of_mpi("standard").map(|name| name.trim_start_matches("MPI "))),
        ("MPI Thread Environment", level.as_deref()),
    ];
    for (title, fact) in facts {
        if let Some(fact) = fact.filter(|fact| !fact.is_empty()) {
            writeln!(out, "# {title}: {fact}")?;
        }
    }
    Ok(())
}

/// The least and the largest length in bytes, where the user chose lengths.
fn lengths(run: &Run) -> Option<(u64, u64)> {
    let values = sweep::parse(run.config.get("sizes")?.as_str()?, None).ok()?;
    Some((*values.first()?, *values.last()?))
}

/// Names of the benchmarks that the user selected by the names of IMB.
fn selected(run: &Run) -> Vec<&'static str> {
    let words = run.config.get("select").and_then(|words| words.as_array());
    let name = |word: &serde_json::Value| {
        let (suite, name) = word.as_str()?.split_once(':')?;
        let benchmark = SUITE.find(name).filter(|_| suite.eq_ignore_ascii_case(SUITE.name))?;
        Some(benchmark.name)
    };
    words.into_iter().flatten().filter_map(name).collect()
}

/// Writes the number of processes that take part, and of the others.
fn write_procs(block: &Block<'_, Kind>, out: &mut dyn Write) -> io::Result<()> {
    let world = procs(block.first);
    let is_of_two = block.benchmark.kind.columns == Columns::SingleTransfer;
    let active = if is_of_two { Some(2) } else { world };
    let Some(active) = active else { return Ok(()) };
    writeln!(out, "# #processes = {active} ")?;
    match world.unwrap_or(active).saturating_sub(active) {
        0 => Ok(()),
        1 => writeln!(out, "# ( 1 additional process waiting in MPI_Barrier)"),
        n => writeln!(out, "# ( {n} additional processes waiting in MPI_Barrier)"),
    }
}

/// A line as long as so many columns.
fn rule(n_columns: usize) -> String {
    format!("#{}", "-".repeat(n_columns * WIDTH - 1))
}

#[cfg(test)]
mod tests {
    use super::super::foreign::tests::records;
    use super::*;
    use crate::fixture::{check_golden, render};
    use crate::record::Record;

    #[test]
    fn it_looks_as_it_did() {
        check_golden("format-imb.txt", &render("imb", &records("imb")));
        check_golden("format-imb-3.2.txt", &render("imb-3.2", &records("imb")));
    }

    #[test]
    fn the_head_has_the_lines_of_the_real_program() {
        let mut records = records("imb");
        let Record::Run(run) = &mut records[0] else { unreachable!() };
        let mut machine = Machine::default();
        machine.cpu.arch = "x86_64".into();
        machine.os.kernel = Some("6.18.44-fc-v595".into());
        machine.kernel.build = Some("#1 SMP PREEMPT_DYNAMIC @0".into());
        run.machines = vec![machine];
        let facts = serde_json::json!({"standard": "MPI 3.1", "thread_level": "funneled"});
        run.transport.facts = [("mpi".to_owned(), facts)].into();
        run.config.insert("sizes".into(), "0,1..4194304*2".into());
        run.config.insert("select".into(), serde_json::json!(["imb:pingpong", "IMB:Barrier"]));
        let text = render("imb", &records);
        // From the output of IMB-MPI1 2021.11, but for the level, which it names on request.
        for lines in [
            "# Machine               : x86_64\n# System                : Linux\n\
             # Release               : 6.18.44-fc-v595\n\
             # Version               : #1 SMP PREEMPT_DYNAMIC @0\n\
             # MPI Version           : 3.1\n# MPI Thread Environment: MPI_THREAD_FUNNELED\n\n\n",
            "# Minimum message length in bytes:   0\n\
             # Maximum message length in bytes:   4194304\n#\n\
             # MPI_Datatype                   :   MPI_BYTE \n",
            "\n# List of Benchmarks to run:\n\n# PingPong\n# Barrier\n",
        ] {
            assert!(text.contains(lines), "{text}");
        }
    }

    #[test]
    fn a_megabyte_depends_on_the_version() {
        assert_eq!(Imb::NEW.rate(1, 1 << 20, 1.0), 1_048_576.0);
        assert_eq!(Imb::V3_2.rate(1, 1 << 20, 1.0), 1e6);
        assert_eq!(Imb::NEW.rate(2, 0, 1.0), 0.0);
    }

    #[test]
    fn a_rule_is_as_long_as_its_columns() {
        assert_eq!(rule(4).len(), 52);
    }
}
