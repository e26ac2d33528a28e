//! The Intel MPI Benchmarks 2021, part IMB-MPI1.

use comet_core::definition::Definition;

use super::Counterpart::{Missing, Same, Similar};
use super::Effect::{Noted, Obeyed, Only};
use super::FlagValue::{Needed, No};
use super::{Benchmark, Counterpart, Flag, REFUSED, Suite, flag};

/// Width of every column.
pub(crate) const WIDTH: usize = 13;

/// The columns of a benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Columns {
    /// Two processes: one time, and a rate.
    SingleTransfer,
    /// All processes at once: times over the processes, and a rate.
    ParallelTransfer,
    /// Times over the processes.
    Collective,
    /// Times over the processes, and no length.
    Synchronisation,
}

impl Columns {
    /// Titles of the columns.
    pub(crate) fn titles(self) -> &'static [&'static str] {
        const ALL: [&str; 6] =
            ["#bytes", "#repetitions", "t_min[usec]", "t_max[usec]", "t_avg[usec]", "Mbytes/sec"];
        match self {
            Self::SingleTransfer => &["#bytes", "#repetitions", "t[usec]", "Mbytes/sec"],
            Self::ParallelTransfer => &ALL,
            Self::Collective => ALL.split_at(5).0,
            Self::Synchronisation => ALL.split_at(5).0.split_at(1).1,
        }
    }
}

/// Columns of a benchmark of IMB.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// Its columns.
    pub columns: Columns,
    /// True if a command line without names runs it.
    pub is_default: bool,
    /// Messages that a process sends and receives in one operation, for the rate; 0 without one.
    pub n_messages: u64,
}

/// The suite.
pub const SUITE: Suite<Kind> =
    Suite { id: "imb", name: "IMB", benchmarks: BENCHMARKS, flags: FLAGS };

const fn row(
    name: &'static str,
    (columns, n_messages): (Columns, u64),
    counterpart: Counterpart,
) -> Benchmark<Kind> {
    Benchmark {
        name,
        kind: Kind { columns, is_default: true, n_messages },
        counterpart,
        caution: "",
    }
}

/// A pair that runs only when it is named.
const fn optional(name: &'static str) -> Benchmark<Kind> {
    let kind = Kind { columns: Columns::SingleTransfer, is_default: false, n_messages: 1 };
    Benchmark { name, kind, counterpart: Missing, caution: "" }
}

const PAIR: (Columns, u64) = (Columns::SingleTransfer, 1);
const COLLECTIVE: (Columns, u64) = (Columns::Collective, 0);

const BENCHMARKS: &[Benchmark<Kind>] = &[
    row("PingPong", PAIR, Same("comet/echo", Definition::HalfRoundTrip)),
    optional("PingPongSpecificSource"),
    optional("PingPongAnySource"),
    row(
        "PingPing",
        PAIR,
        Similar("comet-run exchange is MPI_Sendrecv of two ranks, not MPI_Isend around MPI_Recv"),
    ),
    optional("PingPingSpecificSource"),
    optional("PingPingAnySource"),
    row(
        "Sendrecv",
        (Columns::ParallelTransfer, 2),
        Similar("comet-run exchange is MPI_Sendrecv of two ranks, not of a ring of all"),
    ),
    row("Exchange", (Columns::ParallelTransfer, 4), Missing),
    row(
        "Allreduce",
        COLLECTIVE,
        Similar("comet-run reduction sums doubles in place, not floats into another buffer"),
    ),
    row("Reduce", COLLECTIVE, Missing),
    row("Reduce_local", COLLECTIVE, Missing),
    row("Reduce_scatter", COLLECTIVE, Missing),
    row("Reduce_scatter_block", COLLECTIVE, Missing),
    row("Allgather", COLLECTIVE, Missing),
    row("Allgatherv", COLLECTIVE, Missing),
    row("Gather", COLLECTIVE, Missing),
    row("Gatherv", COLLECTIVE, Missing),
    row("Scatter", COLLECTIVE, Missing),
    row("Scatterv", COLLECTIVE, Missing),
    row("Alltoall", COLLECTIVE, Missing),
    row("Alltoallv", COLLECTIVE, Missing),
    row("Bcast", COLLECTIVE, Same("comet/broadcast", Definition::CallMean)),
    row("Barrier", (Columns::Synchronisation, 0), Same("comet/barrier", Definition::LoopMean)),
];

/// Values that switch an option on.
pub const ON: &[&str] = &["on", "1", "enable", "yes"];
/// Values that switch an option off.
pub const OFF: &[&str] = &["off", "0", "disable", "no"];

const FLAGS: &[Flag] = &[
    flag(&["-npmin"], Needed("P"), Obeyed, "all ranks, which are P where no launcher decides it"),
    flag(
        &["-msglog"],
        Needed("[MIN:]MAX"),
        Obeyed,
        "lengths in bytes: 0, and powers of two from 2^MIN to 2^MAX",
    ),
    flag(&["-msglen"], Needed("FILE"), Obeyed, "lengths in bytes from a file, one a line"),
    flag(&["-msgsize"], Needed("LIST"), Obeyed, "lengths in bytes, with commas between them"),
    flag(&["-zero_size"], Needed("on|off"), Obeyed, "begin with a length of 0"),
    flag(&["-iter"], Needed("N[,VOL]"), Obeyed, "most operations of a length: 1000"),
    flag(&["-mem"], Needed("GB"), Obeyed, "most memory of a rank"),
    flag(&["-warm_up"], Needed("on|off"), Obeyed, "a tenth of the operations goes before"),
    flag(&["-include"], Needed("NAMES"), Obeyed, "further benchmarks, with commas between them"),
    flag(&["-exclude"], Needed("NAMES"), Obeyed, "benchmarks to leave out"),
    flag(&["-list"], No, Obeyed, "print the names of the benchmarks"),
    flag(&["-time"], Needed("S"), Noted(&["10", "10.0"]), "a length takes at most 10 s"),
    flag(&["-input"], Needed("FILE"), REFUSED, "benchmarks are named in the command line"),
    flag(&["-multi"], Needed("MODE"), Only(&["-1"]), "one group of ranks runs at a time"),
    flag(&["-window_size"], Needed("N"), Noted(&[]), "only Uniband and Biband have windows"),
    flag(&["-off_cache"], Needed("MB"), REFUSED, "one buffer is sent again and again"),
    flag(&["-iter_policy"], Needed("NAME"), Only(&["dynamic"]), "length and time limit operations"),
    flag(&["-map"], Needed("PxQ"), REFUSED, "the launcher places the ranks"),
    flag(&["-root_shift"], Needed("on|off"), Only(OFF), "the root is rank 0"),
    flag(&["-sync"], Needed("on|off"), Only(ON), "a barrier is behind each call of a collective"),
    flag(&["-imb_barrier"], Needed("on|off"), Only(OFF), "the barrier is that of the transport"),
    flag(&["-data_type"], Needed("TYPE"), Only(&["byte"]), "messages are MPI_BYTE"),
    flag(&["-red_data_type"], Needed("TYPE"), Noted(&["float"]), "no reduction is here"),
    flag(&["-contig_type"], Needed("TYPE"), Only(&["base"]), "messages are contiguous"),
    flag(&["-msg_pause"], Needed("MS"), Only(OFF), "nothing pauses between lengths"),
    flag(&["-thread_level"], Needed("LEVEL"), Obeyed, "thread level of MPI: single"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_those_of_the_real_program() {
        // Heads of tables in the output of IMB-MPI1 2021.11.
        let check = |name: &str, head: &str| {
            let titles = SUITE.find(name).unwrap().kind.columns.titles();
            let line: String = titles.iter().map(|title| format!("{title:>WIDTH$}")).collect();
            assert_eq!(line, head, "{name}");
        };
        check("PingPong", "       #bytes #repetitions      t[usec]   Mbytes/sec");
        check(
            "Sendrecv",
            "       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]   Mbytes/sec",
        );
        check("Bcast", "       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]");
        check("Barrier", " #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]");
    }
}
