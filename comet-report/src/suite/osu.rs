//! The OSU micro-benchmarks 7.4, those over MPI.

use comet_core::definition::Definition;

use super::Effect::{Noted, Obeyed, Only};
use super::FlagValue::{Attached, Needed, No};
use super::Numbers::{
    self, Bandwidth, Barrier, Collective, Latency, MessageRate, Neighbours, PairsLatency,
    Reduction, Remote, RemoteElement, RemoteRate, Startup,
};
use super::{Benchmark, Flag, REFUSED, Suite, of};
use crate::record::RankStat;

/// The suite.
pub static SUITE: Suite = Suite {
    id: "osu",
    name: "OSU",
    prefix: None,
    family: "osu",
    rules: "osu",
    words: &[],
    portion: "message length",
    unit_bytes: 1,
    title: "# OSU ",
    benchmarks: PROGRAMS,
    flags: FLAGS,
    of_all: Definition::CallMean,
    rank_stat: RankStat::Mean,
    megabytes: &[1e6],
    n_messages: &[1],
};

const fn row(
    name: &'static str,
    title: &'static str,
    numbers: Numbers,
    kernel: &'static str,
    definition: Definition,
) -> Benchmark {
    Benchmark { name, title, numbers, is_beside_work: false, is_default: true, kernel, definition }
}

/// A program whose times are means over all ranks.
const fn of_all(
    name: &'static str,
    title: &'static str,
    numbers: Numbers,
    kernel: &'static str,
) -> Benchmark {
    row(name, title, numbers, kernel, Definition::CallMean)
}

/// A program of an unblocked collective beside work.
const fn beside_work(
    name: &'static str,
    title: &'static str,
    numbers: Numbers,
    kernel: &'static str,
) -> Benchmark {
    Benchmark { is_beside_work: true, ..of_all(name, title, numbers, kernel) }
}

#[rustfmt::skip] // One program a line.
const PROGRAMS: &[Benchmark] = &[
    row("osu_latency", "Latency Test", Latency, "comet/echo", Definition::HalfRoundTrip),
    of_all("osu_multi_lat", "Multi Latency Test", PairsLatency, "osu/multi_lat"),
    row("osu_bw", "Bandwidth Test", Bandwidth, "osu/bw", Definition::TestNode),
    row("osu_bibw", "Bi-Directional Bandwidth Test", Bandwidth, "osu/bibw", Definition::TestNode),
    row("osu_latency_persistent", "Latency Persistent Test", Latency, "osu/latency_persistent", Definition::HalfRoundTrip),
    row("osu_bw_persistent", "Bandwidth Persistent Test", Bandwidth, "osu/bw_persistent", Definition::TestNode),
    row("osu_bibw_persistent", "Bi-Directional Bandwidth Persistent Test", Bandwidth, "osu/bibw_persistent", Definition::TestNode),
    of_all("osu_mbw_mr", "Multiple Bandwidth / Message Rate Test", MessageRate, "osu/mbw_mr"),
    of_all("osu_allgather", "Allgather Latency Test", Collective, "imb/allgather"),
    of_all("osu_allgatherv", "Allgatherv Latency Test", Collective, "imb/allgatherv"),
    of_all("osu_allreduce", "Allreduce Latency Test", Reduction, "imb/allreduce"),
    of_all("osu_alltoall", "All-to-All Personalized Exchange Latency Test", Collective, "imb/alltoall"),
    of_all("osu_bcast", "Broadcast Latency Test", Collective, "imb/bcast"),
    of_all("osu_barrier", "Barrier Latency Test", Barrier, "comet/barrier"),
    of_all("osu_alltoallv", "All-to-Allv Personalized Exchange Latency Test", Collective, "imb/alltoallv"),
    of_all("osu_alltoallw", "All-to-Allw Personalized Exchange Latency Test", Collective, "imb/alltoallw"),
    of_all("osu_gatherv", "Gatherv Latency Test", Collective, "imb/gatherv"),
    of_all("osu_scatterv", "Scatterv Latency Test", Collective, "imb/scatterv"),
    of_all("osu_gather", "Gather Latency Test", Collective, "imb/gather"),
    of_all("osu_reduce", "Reduce Latency Test", Reduction, "imb/reduce"),
    of_all("osu_reduce_scatter", "Reduce_scatter Latency Test", Reduction, "osu/reduce_scatter"),
    of_all("osu_reduce_scatter_block", "Reduce_scatter_block Latency Test", Reduction, "osu/reduce_scatter_block"),
    of_all("osu_scatter", "Scatter Latency Test", Collective, "imb/scatter"),
    beside_work("osu_iallgather", "Non-blocking Allgather Latency Test", Collective, "osu/iallgather"),
    beside_work("osu_iallgatherv", "Non-blocking Allgatherv Latency Test", Collective, "osu/iallgatherv"),
    beside_work("osu_iallreduce", "Non-blocking Allreduce Latency Test", Reduction, "osu/iallreduce"),
    beside_work("osu_ialltoall", "Non-blocking All-to-All Latency Test", Collective, "osu/ialltoall"),
    beside_work("osu_ialltoallv", "Non-blocking All-to-Allv Personalized Exchange Latency Test", Collective, "osu/ialltoallv"),
    beside_work("osu_ialltoallw", "Non-blocking All-to-Allw Personalized Exchange Latency Test", Collective, "osu/ialltoallw"),
    beside_work("osu_ibarrier", "Non-blocking Barrier Latency Test", Barrier, "osu/ibarrier"),
    beside_work("osu_ibcast", "Non-Blocking Broadcast Latency Test", Collective, "osu/ibcast"),
    beside_work("osu_igather", "Non-blocking Gather Latency Test", Collective, "osu/igather"),
    beside_work("osu_igatherv", "Non-blocking Gatherv Latency Test", Collective, "osu/igatherv"),
    beside_work("osu_ireduce", "Non-blocking Reduce Latency Test", Reduction, "osu/ireduce"),
    beside_work("osu_ireduce_scatter", "Non-blocking Reduce_scatter Latency Test", Reduction, "osu/ireduce_scatter"),
    beside_work("osu_ireduce_scatter_block", "Non-blocking Reduce_scatter_block Latency Test", Reduction, "osu/ireduce_scatter_block"),
    beside_work("osu_iscatter", "Non-blocking Scatter Latency Test", Collective, "osu/iscatter"),
    beside_work("osu_iscatterv", "Non-blocking Scatterv Latency Test", Collective, "osu/iscatterv"),
    of_all("osu_allgather_persistent", "Allgather Persistent Latency Test", Collective, "osu/allgather_persistent"),
    of_all("osu_allgatherv_persistent", "Allgatherv Persistent Latency Test", Collective, "osu/allgatherv_persistent"),
    of_all("osu_allreduce_persistent", "Allreduce Persistent Latency Test", Reduction, "osu/allreduce_persistent"),
    of_all("osu_alltoall_persistent", "All-to-All Personalized Exchange Persistent Latency Test", Collective, "osu/alltoall_persistent"),
    of_all("osu_alltoallv_persistent", "All-to-Allv Personalized Exchange Persistent Latency Test", Collective, "osu/alltoallv_persistent"),
    of_all("osu_alltoallw_persistent", "All-to-Allw Personalized Exchange Persistent Latency Test", Collective, "osu/alltoallw_persistent"),
    of_all("osu_barrier_persistent", "Barrier Persistent Latency Test", Barrier, "osu/barrier_persistent"),
    of_all("osu_bcast_persistent", "Broadcast Persistent Latency Test", Collective, "osu/bcast_persistent"),
    of_all("osu_gather_persistent", "Gather Persistent Latency Test", Collective, "osu/gather_persistent"),
    of_all("osu_gatherv_persistent", "Gatherv Persistent Latency Test", Collective, "osu/gatherv_persistent"),
    of_all("osu_reduce_persistent", "Reduce Persistent Latency Test", Reduction, "osu/reduce_persistent"),
    of_all("osu_reduce_scatter_persistent", "Reduce_scatter Persistent Latency Test", Reduction, "osu/reduce_scatter_persistent"),
    of_all("osu_scatter_persistent", "Scatter Persistent Latency Test", Collective, "osu/scatter_persistent"),
    of_all("osu_scatterv_persistent", "Scatterv Persistent Latency Test", Collective, "osu/scatterv_persistent"),
    of_all("osu_neighbor_allgather", "Neighborhood Allgather Latency Test", Neighbours, "osu/neighbor_allgather"),
    of_all("osu_neighbor_allgatherv", "Neighborhood Allgatherv Latency Test", Neighbours, "osu/neighbor_allgatherv"),
    of_all("osu_neighbor_alltoall", "Neighborhood Alltoall Latency Test", Neighbours, "osu/neighbor_alltoall"),
    of_all("osu_neighbor_alltoallv", "Neighborhood All-to-Allv Latency Test", Neighbours, "osu/neighbor_alltoallv"),
    of_all("osu_neighbor_alltoallw", "All-to-Allw Personalized Exchange Latency Test", Neighbours, "osu/neighbor_alltoallw"),
    beside_work("osu_ineighbor_allgather", "Non-blocking Neighborhood Allgather Latency Test", Neighbours, "osu/ineighbor_allgather"),
    beside_work("osu_ineighbor_allgatherv", "Non-blocking Neighborhood Allgatherv Latency Test", Neighbours, "osu/ineighbor_allgatherv"),
    beside_work("osu_ineighbor_alltoall", "Non-blocking Neighborhood Alltoall Latency Test", Neighbours, "osu/ineighbor_alltoall"),
    beside_work("osu_ineighbor_alltoallv", "Non-blocking Neighborhood Alltoallv Latency Test", Neighbours, "osu/ineighbor_alltoallv"),
    beside_work("osu_ineighbor_alltoallw", "Non-blocking Neighborhood Alltoallw Latency Test", Neighbours, "osu/ineighbor_alltoallw"),
    row("osu_put_latency", "MPI_Put Latency Test", Remote, "osu/put_latency", Definition::TestNode),
    row("osu_get_latency", "MPI_Get latency Test", Remote, "osu/get_latency", Definition::TestNode),
    row("osu_acc_latency", "MPI_Accumulate latency Test", Remote, "osu/acc_latency", Definition::TestNode),
    row("osu_get_acc_latency", "MPI_Get_accumulate latency Test", Remote, "osu/get_acc_latency", Definition::TestNode),
    row("osu_fop_latency", "MPI_Fetch_and_op latency Test", RemoteElement, "osu/fop_latency", Definition::TestNode),
    row("osu_cas_latency", "MPI_Compare_and_swap latency Test", RemoteElement, "osu/cas_latency", Definition::TestNode),
    row("osu_put_bw", "MPI_Put Bandwidth Test", RemoteRate, "osu/put_bw", Definition::TestNode),
    row("osu_get_bw", "MPI_Get Bandwidth Test", RemoteRate, "osu/get_bw", Definition::TestNode),
    row("osu_put_bibw", "MPI_Put Bi-directional Bandwidth Test", RemoteRate, "osu/put_bibw", Definition::TestNode),
    of_all("osu_init", "Init Test", Startup, "osu/init"),
    of_all("osu_hello", "Hello World Test", Startup, "osu/hello"),
];

/// Name of the parameter with the programming model of a title, if it is not MPI.
pub(crate) const MODEL: &str = "model";
/// Programming models whose names are not all capitals.
const MODELS: [&str; 3] = ["OpenSHMEM", "MPI-Java", "Java"];
/// Start of the line with the memories of both buffers.
pub(crate) const SEND_BUFFER: &str = "# Send Buffer on ";

/// The programming model `name` as it stands in titles.
pub(crate) fn model_title(name: &str) -> String {
    let known = MODELS.iter().find(|model| model.eq_ignore_ascii_case(name));
    known.map_or_else(|| name.to_uppercase(), |model| (*model).to_owned())
}

/// Titles of programs that measure two ranks and have no kernel here, and their names.
pub(crate) const BESIDE: [(&str, &str); 2] = [
    ("Multi-threaded Latency Test", "osu_latency_mt"),
    ("Multi-process Latency Test", "osu_latency_mp"),
];

/// What distinguishes `title` in all versions, which differ in capitals, blanks, hyphens, the place of
/// `Persistent`, and in words that say no more.
pub(crate) fn normal(title: &str) -> String {
    let letters = |c: &char| c.is_alphanumeric();
    let mut text: String = title.to_lowercase().chars().filter(letters).collect();
    for word in ["test", "latency", "personalizedexchange", "personalized", "persistent"] {
        text = text.replace(word, "");
    }
    let is_persistent = title.to_lowercase().contains("persistent");
    if is_persistent { text + " persistent" } else { text }
}

/// One-sided programs, and benchmarks of IMB, whose elements can be chosen.
const OF_ELEMENTS: [&str; 6] = [
    "osu_acc_latency",
    "osu_fop_latency",
    "osu_cas_latency",
    "Accumulate",
    "Get_accumulate",
    "Fetch_and_op",
];

/// Start of the line with the call that makes a window, and the words of `-w` with their calls.
pub const WINDOW_CREATION: &str = "# Window creation: ";
/// See [`WINDOW_CREATION`].
pub const MEMORIES: [(&str, &str); 3] = [
    ("create", "MPI_Win_create"),
    ("allocate", "MPI_Win_allocate"),
    ("dynamic", "MPI_Win_create_dynamic"),
];
/// Start of the line with the calls about a transfer, and the words of `-s` with their calls.
pub const SYNCHRONIZATION: &str = "# Synchronization: ";
/// See [`SYNCHRONIZATION`]; those in which the target takes part are the last [`N_ACTIVE`].
pub const SYNCS: [(&str, &str); 6] = [
    ("lock", "MPI_Win_lock/unlock"),
    ("flush", "MPI_Win_flush"),
    ("flush_local", "MPI_Win_flush_local"),
    ("lock_all", "MPI_Win_lock_all/unlock_all"),
    ("pscw", "MPI_Win_post/start/complete/wait"),
    ("fence", "MPI_Win_fence"),
];
/// See [`SYNCS`].
pub const N_ACTIVE: usize = 2;

/// Programs with a root that can be chosen.
const ROOTED: [&str; 10] = [
    "osu_gather",
    "osu_gatherv",
    "osu_reduce",
    "osu_scatter",
    "osu_scatterv",
    "osu_igather",
    "osu_igatherv",
    "osu_ireduce",
    "osu_iscatter",
    "osu_iscatterv",
];
/// Programs whose only buffer is a message, and holds no part for each rank.
const BROADCASTS: [&str; 3] = ["osu_bcast", "osu_ibcast", "osu_bcast_persistent"];

/// Start of the line with the time to make the graph of neighbours, in microseconds.
pub(crate) const GRAPH_TIME: &str = "Time took to create topology graph:";
/// Start of the line with the sides of their torus.
pub(crate) const SIDES: &str = "Dimensions size = ";

impl Benchmark {
    /// The line that a program of OSU prints first, also of its version.
    pub fn first_line(&self) -> String {
        let model = if self.numbers.is_remote() { "" } else { "MPI " };
        format!("# OSU {model}{} v7.4\n", self.title)
    }

    /// True if its messages are vectors of elements, or one element.
    pub fn has_elements(&self) -> bool {
        self.numbers == Reduction || OF_ELEMENTS.contains(&self.name)
    }

    /// True if it is a broadcast, whose only buffer is one message.
    pub fn is_broadcast(&self) -> bool {
        BROADCASTS.contains(&self.name)
    }
}

/// The kinds of `program` in the table of options, one letter each: that of its numbers, `k` with a root,
/// `i` where its input may lie in place, `e` where it has elements, `v` where it is overlapped with work.
pub fn kinds(program: &Benchmark) -> String {
    let is_of_all = matches!(program.numbers, Collective | Reduction);
    let letters = [
        (true, program.numbers.letter()),
        (ROOTED.contains(&program.name), 'k'),
        (is_of_all && !program.is_broadcast(), 'i'),
        (program.has_elements(), 'e'),
        (program.is_beside_work, 'v'),
    ];
    letters.into_iter().filter_map(|(has, letter)| has.then_some(letter)).collect()
}

/// An option of the kinds of `programs`.
#[rustfmt::skip] // One option a line, as far as it goes.
const FLAGS: &[Flag] = &[
    of("", &["-m", "--message-size"], Needed("[MIN:][MAX]"), Obeyed, "lengths in bytes, doubling"),
    of("", &["-i", "--iterations"], Needed("N"), Obeyed, "timed operations"),
    of("", &["-x", "--warmup"], Needed("N"), Obeyed, "operations before the timed ones"),
    of("lwmcen", &["-c", "--validation"], Attached(""), Obeyed, "a column with the outcome of the check, which is always made"),
    of("crbn", &["-f", "--full"], No, Obeyed, "all columns: the least and the largest time, and the operations or the parts of the time beside work"),
    of("", &["-z", "--tail-lat"], Attached("[LIST]"), Obeyed, "columns with percentiles, 50, 90 and 99 or as in -z50,95"),
    of("crbn", &["-M", "--mem-limit"], Needed("BYTES"), Obeyed, "most memory of a rank, which limits lengths: 536870912"),
    of("wmu", &["-W", "--window-size"], Needed("N"), Obeyed, "messages of a window: 64"),
    of("m", &["-V", "--vary-window"], No, Obeyed, "windows of 1, 2, 4 to 128 messages, a column each"),
    of("m", &["-R", "--print-rate"], Needed("0|1"), Obeyed, "messages per second too: 1"),
    of("m", &["-p", "--num-pairs"], Needed("N"), Obeyed, "pairs of ranks: half of the ranks"),
    of("wm", &["-b", "--buffer-num"], Needed("HOW"), Obeyed, "single: one buffer for all messages of a window; multiple: one for each"),
    of("l", &["-b", "--buffer-num"], Needed("HOW"), Only(&["single", "multiple"]), "each length has buffers of its own"),
    of("k", &["-k", "--root-rank"], Needed("ROOT"), Obeyed, "fixed:RANK, or rotate for each rank in turn: fixed:0"),
    of("n", &["-N", "--nhbr"], Needed("WHICH"), Obeyed, "neighbours: cart:DIMENSIONS:RADIUS, on a torus, or graph:FILE, with an edge SOURCE,DESTINATION a line: cart:1:1"),
    of("ou", &["-w", "--win-options"], Needed("HOW"), Obeyed, "memory of the other rank: create, allocate or dynamic: allocate, of osu_get_acc_latency create"),
    of("ou", &["-s", "--sync-option"], Needed("HOW"), Obeyed, "calls about a transfer: lock, flush, flush_local, lock_all, pscw or fence: flush, of osu_get_acc_latency lock, of osu_put_bibw pscw"),
    of("i", &["-l", "--in-place"], No, Obeyed, "the input lies where the output goes"),
    of("lwmcen", &["-T", "--type"], Needed("LIST"), Obeyed, "elements: some of mpi_char, mpi_int and mpi_float, or all, a table each: mpi_char"),
    of("", &["-u", "--validation-warmup"], Needed("N"), Obeyed, "0 to 10 operations before those that are checked, without effect: data is checked before and after the timed operations"),
    of("", &["-d", "--accelerator"], Needed("DEVICE"), REFUSED, "buffers are in host memory"),
    of("crbn", &["-a", "--array-size"], Needed("N"), Noted(&[]), "nothing is computed on a device"),
    of("wm", &["-t", "--num-test-calls"], Needed("N"), Noted(&[]), "nothing calls MPI_Test"),
    of("v", &["-t", "--num-test-calls"], Needed("N"), Obeyed, "calls of MPI_Test during the work: 0"),
    of("", &["-G", "--graph"], Needed("WHERE"), REFUSED, "comet-run plot draws a result file, which --out names"),
    of("lwmcn", &["-D", "--ddt"], Needed("TYPE"), Obeyed, "layout of messages in memory, over MPI: cont, vect:STRIDE:BLOCK or indx:FILE, with a block START,LENGTH a line; a column with the bytes that travel"),
    of("", &["-P", "--papi"], Needed("EVENTS"), REFUSED, "perf stat counts events of a whole run"),
    of("", &["-I", "--session"], No, REFUSED, "all ranks meet in the world of MPI_Init, which a session lacks"),
    of("", &["-v", "--version"], No, Obeyed, "the version of the layout and of this program"),
];
