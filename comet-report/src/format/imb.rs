//! The layouts of the Intel MPI Benchmarks, for programs that read theirs: of today, with MB of
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
//! Columns are 13 characters wide. Times are the mean of each rank over its repetitions: the least,
//! the largest, and their mean, over the ranks that sampled. Rates follow from the largest.

use std::io::{self, Write};

use super::Format;
use super::foreign::{
    self, Block, Layout, Means, or_dash, procs, repetitions, size_bytes, two_digits,
};
use crate::record::{Point, Run};
use crate::sink::RecordSink;

/// Width of every column.
const WIDTH: usize = 13;

/// Which columns a benchmark of IMB has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// Two processes: one time, and a rate.
    SingleTransfer,
    /// All processes at once: times over the processes, and a rate.
    ParallelTransfer,
    /// Times over the processes.
    Collective,
    /// Times over the processes, and no length.
    Synchronisation,
}

impl Class {
    /// Titles of its columns.
    fn columns(self) -> &'static [&'static str] {
        match self {
            Self::SingleTransfer => &["#bytes", "#repetitions", "t[usec]", "Mbytes/sec"],
            Self::ParallelTransfer => &[
                "#bytes",
                "#repetitions",
                "t_min[usec]",
                "t_max[usec]",
                "t_avg[usec]",
                "Mbytes/sec",
            ],
            Self::Collective => {
                &["#bytes", "#repetitions", "t_min[usec]", "t_max[usec]", "t_avg[usec]"]
            }
            Self::Synchronisation => &["#repetitions", "t_min[usec]", "t_max[usec]", "t_avg[usec]"],
        }
    }
}

/// A benchmark of IMB.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Test {
    /// Its name.
    pub(crate) name: &'static str,
    /// Its columns.
    pub(crate) class: Class,
    /// How many messages a process sends and receives in one operation, for the rate; 0 without one.
    pub(crate) n_messages: u64,
}

const fn test(name: &'static str, class: Class, n_messages: u64) -> Test {
    Test { name, class, n_messages }
}

/// The benchmarks of IMB-MPI1 that have blocks of these kinds.
pub(crate) const TESTS: &[Test] = &[
    test("PingPong", Class::SingleTransfer, 1),
    test("PingPing", Class::SingleTransfer, 1),
    test("Sendrecv", Class::ParallelTransfer, 2),
    test("Exchange", Class::ParallelTransfer, 4),
    test("Bcast", Class::Collective, 0),
    test("Allgather", Class::Collective, 0),
    test("Allgatherv", Class::Collective, 0),
    test("Gather", Class::Collective, 0),
    test("Gatherv", Class::Collective, 0),
    test("Scatter", Class::Collective, 0),
    test("Scatterv", Class::Collective, 0),
    test("Alltoall", Class::Collective, 0),
    test("Alltoallv", Class::Collective, 0),
    test("Reduce", Class::Collective, 0),
    test("Reduce_scatter", Class::Collective, 0),
    test("Allreduce", Class::Collective, 0),
    test("Barrier", Class::Synchronisation, 0),
];

/// The benchmark called `name`, in any case of letters.
pub(crate) fn find(name: &str) -> Option<&'static Test> {
    TESTS.iter().find(|test| test.name.eq_ignore_ascii_case(name))
}

/// The layout of the Intel MPI Benchmarks.
#[derive(Clone, Copy, Debug)]
pub struct Imb {
    name: &'static str,
    summary: &'static str,
    /// What the first line says of the layout.
    version: &'static str,
    /// What a MB is.
    bytes_per_mb: f64,
}

impl Imb {
    /// That of the versions since 2017.
    pub const NEW: Self = Self {
        name: "imb",
        summary: "the layout of IMB 2021, MB of 10^6 bytes",
        version: "IMB 2021, MB of 10^6 bytes",
        bytes_per_mb: 1e6,
    };

    /// That of version 3.2.
    pub const V3_2: Self = Self {
        name: "imb-3.2",
        summary: "the layout of IMB 3.2, MB of 2^20 bytes",
        version: "IMB 3.2, MB of 2^20 bytes",
        bytes_per_mb: 1_048_576.0,
    };

    /// The rate of `n_messages` of `size` bytes in `time_us`, in its MB a second; 0 without bytes
    /// or time, as IMB has it.
    #[expect(clippy::cast_precision_loss, reason = "messages are far shorter than 2^53 bytes")]
    fn rate(&self, n_messages: u64, size: u64, time_us: f64) -> f64 {
        if time_us > 0.0 {
            n_messages.saturating_mul(size) as f64 / time_us * 1e6 / self.bytes_per_mb
        } else {
            0.0
        }
    }
}

impl Format for Imb {
    fn name(&self) -> &'static str {
        self.name
    }

    fn summary(&self) -> &'static str {
        self.summary
    }

    fn writer<'a>(&self, out: Box<dyn Write + 'a>) -> Box<dyn RecordSink + 'a> {
        foreign::writer(*self, out)
    }
}

impl Layout for Imb {
    const PREFIX: &'static str = "IMB:";

    fn knows(&self, name: &str) -> bool {
        find(name).is_some()
    }

    fn start(&self, run: &Run, out: &mut dyn Write) -> io::Result<()> {
        let rule = rule(4);
        let program = format!("{} {}", run.suite.name, run.suite.version);
        writeln!(
            out,
            "{rule}\n#    {}, in the layout of {}\n{rule}",
            program.trim_end(),
            self.version
        )?;
        writeln!(out, "# Date                  : {}", run.started_at)?;
        let arch = run.machines.first().map(|machine| &machine.cpu.arch);
        if let Some(arch) = arch.filter(|arch| !arch.is_empty()) {
            writeln!(out, "# Machine               : {arch}")?;
        }
        writeln!(out, "\n\n# Calling sequence was: \n\n# {}\n", run.argv.join(" "))?;
        writeln!(out, "# MPI_Datatype                   :   MPI_BYTE ")?;
        writeln!(out, "# MPI_Datatype for reductions    :   MPI_DOUBLE")?;
        writeln!(out, "# MPI_Op                         :   MPI_SUM  \n#")
    }

    fn head(&self, block: &Block<'_>, out: &mut dyn Write) -> io::Result<()> {
        let Some(test) = find(block.name) else { return Ok(()) };
        let columns = test.class.columns();
        let rule = rule(columns.len());
        writeln!(out, "\n# note: {}\n\n{rule}\n# Benchmarking {} ", block.origin(), test.name)?;
        write_procs(block.first, out)?;
        let head: String = columns.iter().map(|title| format!("{title:>WIDTH$}")).collect();
        writeln!(out, "{rule}\n{head}")
    }

    fn row(&self, block: &Block<'_>, point: &Point, out: &mut dyn Write) -> io::Result<()> {
        let (Some(test), Some(means)) = (find(block.name), Means::of(point)) else {
            return Ok(());
        };
        let Means { min_us, max_us, avg_us } = means;
        let size = size_bytes(point);
        let of_import = point.rate.as_ref().filter(|_| point.samples.is_none());
        let rate = match of_import {
            Some(rate) => Some(rate.bytes_per_s / self.bytes_per_mb),
            None => size.map(|size| self.rate(test.n_messages, size, max_us)),
        };
        let numbers = match test.class {
            Class::SingleTransfer => vec![Some(max_us), rate],
            Class::ParallelTransfer => vec![Some(min_us), Some(max_us), Some(avg_us), rate],
            Class::Collective | Class::Synchronisation => {
                vec![Some(min_us), Some(max_us), Some(avg_us)]
            }
        };
        let size = size.filter(|_| test.class != Class::Synchronisation);
        let size = size.map_or(String::new(), |size| format!("{size:>WIDTH$}"));
        let numbers: String =
            numbers.into_iter().map(|n| format!("{:>WIDTH$}", two_digits(n))).collect();
        writeln!(out, "{size}{:>WIDTH$}{numbers}", or_dash(repetitions(point)))
    }

    fn wrong(&self, _: &Block<'_>, _: &Point, _: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }

    fn end(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "\n\n# All processes entering MPI_Finalize\n")
    }
}

/// How many processes take part, and how many others there are.
fn write_procs(point: &Point, out: &mut dyn Write) -> io::Result<()> {
    let world = procs(point);
    let active = if matches!(&*point.class, "p2p" | "exchange") { Some(2) } else { world };
    let Some(active) = active else { return Ok(()) };
    writeln!(out, "# #processes = {active} ")?;
    match world.unwrap_or(active).saturating_sub(active) {
        0 => Ok(()),
        1 => writeln!(out, "# ( 1 additional process waiting in MPI_Barrier)"),
        n => writeln!(out, "# ( {n} additional processes waiting in MPI_Barrier)"),
    }
}

/// A line of as many characters as so many columns.
fn rule(n_columns: usize) -> String {
    format!("#{}", "-".repeat(n_columns * WIDTH - 1))
}

#[cfg(test)]
mod tests {
    use super::super::foreign::tests::{check_golden, records, render};
    use super::*;

    #[test]
    fn it_looks_as_it_did() {
        check_golden("format-imb.txt", &render(&Imb::NEW, &records()));
        check_golden("format-imb-3.2.txt", &render(&Imb::V3_2, &records()));
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
