//! The Intel MPI Benchmarks 2021, part IMB-MPI1.

use comet_core::definition::Definition;

use super::Effect::{Obeyed, Only};
use super::FlagValue::{Needed, No};
use super::Numbers::{
    self, Barrier, Collective, Exchange, Latency, Neighbours, Parallel, Reduction, Windows,
};
use super::{Benchmark, Flag, Suite, flag};
use crate::record::RankStat;

/// Width of every column.
pub(crate) const WIDTH: usize = 13;

/// Titles of the columns of a benchmark.
pub(crate) fn titles(numbers: Numbers) -> &'static [&'static str] {
    const ALL: [&str; 6] =
        ["#bytes", "#repetitions", "t_min[usec]", "t_max[usec]", "t_avg[usec]", "Mbytes/sec"];
    match numbers {
        Parallel(_) => &ALL,
        Collective | Reduction | Neighbours => &ALL[..5],
        Barrier => &ALL[1..5],
        Windows(_) => &["#bytes", "#repetitions", "Mbytes/sec", "Msg/sec"],
        _ => &["#bytes", "#repetitions", "t[usec]", "Mbytes/sec"],
    }
}

/// The suite.
pub static SUITE: Suite = Suite {
    id: "imb",
    name: "IMB",
    title: "# Benchmarking ",
    benchmarks: BENCHMARKS,
    flags: FLAGS,
    of_all: Definition::LoopMean,
    rank_stat: RankStat::Max,
    megabytes: &[1e6, 1_048_576.0],
    n_messages: &[1, 2, 4],
};

const fn row(
    name: &'static str,
    numbers: Numbers,
    kernel: &'static str,
    definition: Definition,
) -> Benchmark {
    Benchmark { name, title: name, numbers, is_default: true, kernel, definition }
}

/// A benchmark that runs only when it is named.
const fn optional(
    name: &'static str,
    numbers: Numbers,
    kernel: &'static str,
    definition: Definition,
) -> Benchmark {
    Benchmark { is_default: false, ..row(name, numbers, kernel, definition) }
}

const BENCHMARKS: &[Benchmark] = &[
    row("PingPong", Latency, "comet/echo", Definition::HalfRoundTrip),
    optional(
        "PingPongSpecificSource",
        Latency,
        "imb/pingpong_specific_source",
        Definition::HalfRoundTrip,
    ),
    optional("PingPongAnySource", Latency, "imb/pingpong_any_source", Definition::HalfRoundTrip),
    row("PingPing", Exchange, "imb/pingping", Definition::TestNode),
    optional(
        "PingPingSpecificSource",
        Exchange,
        "imb/pingping_specific_source",
        Definition::TestNode,
    ),
    optional("PingPingAnySource", Exchange, "imb/pingping_any_source", Definition::TestNode),
    row("Sendrecv", Parallel(2), "imb/sendrecv", Definition::LoopMean),
    row("Exchange", Parallel(4), "imb/exchange", Definition::LoopMean),
    row("Allreduce", Reduction, "imb/allreduce", Definition::CallMean),
    row("Reduce", Reduction, "imb/reduce", Definition::CallMean),
    row("Reduce_local", Reduction, "imb/reduce_local", Definition::CallMean),
    row("Reduce_scatter", Reduction, "imb/reduce_scatter", Definition::CallMean),
    row("Reduce_scatter_block", Reduction, "imb/reduce_scatter_block", Definition::CallMean),
    row("Allgather", Collective, "imb/allgather", Definition::CallMean),
    row("Allgatherv", Collective, "imb/allgatherv", Definition::CallMean),
    row("Gather", Collective, "imb/gather", Definition::CallMean),
    row("Gatherv", Collective, "imb/gatherv", Definition::CallMean),
    row("Scatter", Collective, "imb/scatter", Definition::CallMean),
    row("Scatterv", Collective, "imb/scatterv", Definition::CallMean),
    row("Alltoall", Collective, "imb/alltoall", Definition::CallMean),
    row("Alltoallv", Collective, "imb/alltoallv", Definition::CallMean),
    row("Bcast", Collective, "imb/bcast", Definition::CallMean),
    row("Barrier", Barrier, "comet/barrier", Definition::LoopMean),
    optional("Uniband", Windows(1), "imb/uniband", Definition::LoopMean),
    optional("Biband", Windows(2), "imb/biband", Definition::LoopMean),
];

/// Values that switch an option on.
pub const ON: &[&str] = &["on", "1", "enable", "yes"];
/// Values that switch an option off.
pub const OFF: &[&str] = &["off", "0", "disable", "no"];

const FLAGS: &[Flag] = &[
    flag(&["-npmin"], Needed("P"), Obeyed, "collectives run on P ranks, twice as many, up to all"),
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
    flag(&["-mem"], Needed("GB"), Obeyed, "most memory of a rank: 1 GB"),
    flag(&["-warm_up"], Needed("on|off"), Obeyed, "a tenth of the operations goes before"),
    flag(&["-include"], Needed("NAMES"), Obeyed, "further benchmarks, with commas between them"),
    flag(&["-exclude"], Needed("NAMES"), Obeyed, "benchmarks to leave out"),
    flag(&["-list"], No, Obeyed, "print the names of the benchmarks"),
    flag(
        &["-time"],
        Needed("S"),
        Obeyed,
        "most time of a loop: 10 s; all lengths have so much less one",
    ),
    flag(&["-input"], Needed("FILE"), Obeyed, "benchmarks from a file, one name a line"),
    flag(
        &["-multi"],
        Needed("MODE"),
        Obeyed,
        "all groups of ranks run at once: 0, with a row for all; 1, with a row for each",
    ),
    flag(&["-window_size"], Needed("N"), Obeyed, "messages of a window of Uniband and Biband: 256"),
    flag(
        &["-off_cache"],
        Needed("MB"),
        Obeyed,
        "buffers leave a cache of so many MB; -1: the last",
    ),
    flag(
        &["-iter_policy"],
        Needed("NAME"),
        Obeyed,
        "dynamic: length and time limit operations; multiple_np: a multiple of the ranks; auto: that for \
         roots; off: -iter N alone",
    ),
    flag(
        &["-map"],
        Needed("PxQ"),
        Obeyed,
        "ranks fill P rows and Q columns down the columns, and are counted along the rows",
    ),
    flag(&["-root_shift"], Needed("on|off"), Obeyed, "each rank in turn is the root"),
    flag(&["-sync"], Needed("on|off"), Obeyed, "a barrier is between calls of a collective"),
    flag(
        &["-imb_barrier"],
        Needed("on|off"),
        Obeyed,
        "the barrier before each operation is a dissemination of messages",
    ),
    flag(
        &["-data_type"],
        Needed("TYPE"),
        Obeyed,
        "datatype of messages, of whole elements: byte, char, int, float, double",
    ),
    flag(
        &["-red_data_type"],
        Needed("TYPE"),
        Obeyed,
        "elements of reductions: char, int, float, double",
    ),
    flag(&["-contig_type"], Needed("TYPE"), Only(&["base"]), "messages are contiguous"),
    flag(&["-msg_pause"], Needed("on|off"), Obeyed, "a pause of 100 ms, or a tenth of a loop"),
    flag(&["-thread_level"], Needed("LEVEL"), Obeyed, "thread level of MPI: single"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_those_of_the_real_program() {
        // Heads of tables in the output of IMB-MPI1 2021.11.
        let check = |name: &str, head: &str| {
            let titles = titles(SUITE.find(name).unwrap().numbers);
            let line: String = titles.iter().map(|title| format!("{title:>WIDTH$}")).collect();
            assert_eq!(line, head, "{name}");
        };
        check("PingPong", "       #bytes #repetitions      t[usec]   Mbytes/sec");
        check(
            "Sendrecv",
            "       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]   Mbytes/sec",
        );
        check("Bcast", "       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]");
        check("Uniband", "       #bytes #repetitions   Mbytes/sec      Msg/sec");
        check("Barrier", " #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]");
    }
}
