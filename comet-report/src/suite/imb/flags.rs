//! The options of the programs of IMB.

use super::super::Effect::{Noted, Obeyed, Only};
use super::super::FlagValue::{Needed, No};
use super::super::{Flag, REFUSED, of};
use super::{OFF, ON};

/// The options of IMB-HALO (h) and of IMB-MT (t).
#[rustfmt::skip] // One option a line.
pub(super) const COUNTED_FLAGS: &[Flag] = &[
    of("h", &["-topo"], Needed("A[.B[.C[.D]]]"), Obeyed, "proportions of the sides of the grid of ranks: 1, a ring of all"),
    of("", &["-count"], Needed("LIST"), Obeyed, "elements of a message, with commas between them: 1,2,4,8"),
    of("", &["-datatype"], Needed("int|char"), Obeyed, "datatype of messages: int"),
    of("", &["-repeat"], Needed("N"), Obeyed, "operations of a length: 1000"),
    of("", &["-warmup"], Needed("N"), Obeyed, "operations that go before: 100"),
    of("", &["-include"], Needed("NAMES"), Obeyed, "further benchmarks, with commas between them"),
    of("", &["-exclude"], Needed("NAMES"), Obeyed, "benchmarks to leave out"),
    of("", &["-input"], Needed("FILE"), Obeyed, "benchmarks from a file, one name a line"),
    of("", &["-list"], No, Obeyed, "print the names of the benchmarks"),
    of("h", &["-stride"], Needed("N"), Noted(&["0"]), "neighbours follow from the grid, there as here"),
    of("t", &["-stride"], Needed("N"), Obeyed, "ranks between partners: 0, half of all"),
    of("t", &["-window_size"], Needed("N"), Obeyed, "messages of a window of UniBandMT and BiBandMT: 64"),
    of("t", &["-barrier"], Needed("on|off|special"), Obeyed, "barriers before calls of a collective: of MPI, none, or a dissemination of messages"),
    of("t", &["-malloc_algo"], Needed("NAME"), Noted(&["parallel"]), "each thread makes its buffers itself"),
    of("t", &["-check"], Needed("BOOL"), Noted(&["true", "yes", "on", "1"]), "all data are checked, before and after the measurement"),
    of("t", &["-noheader"], No, Noted(&[]), "the head says what measured"),
    of("", &["-malloc_align"], Needed("BYTES"), Noted(&["64"]), "buffers begin at a cache line"),
    of("h", &["-thread_level"], Needed("LEVEL"), Only(&["single"]), "one thread of each rank sends"),
    of("t", &["-thread_level"], Needed("LEVEL"), Obeyed, "thread level of MPI: single; at multiple there are OMP_NUM_THREADS threads of each rank, or as many as CPUs"),
];

/// The options of IMB-P2P.
#[rustfmt::skip] // One option a line.
pub(super) const P2P_FLAGS: &[Flag] = &[
    of("", &["-msglog"], Needed("[MIN:]MAX"), Obeyed, "lengths in bytes: 0 (without MIN), and powers of two from 2^MIN to 2^MAX"),
    of("", &["-msglen"], Needed("FILE"), Obeyed, "lengths in bytes from a file, one a line, with K, M or G behind"),
    of("", &["-msgsz"], Needed("SIZE"), Obeyed, "one more length in bytes, with K, M or G behind"),
    of("", &["-iter"], Needed("N[,VOL]"), Obeyed, "most operations of a length: 100000; and most MiB of a loop: 800"),
    of("", &["-msgwr"], Needed("on|off"), Obeyed, "each cache line of a message is written before its send: on"),
    of("", &["-msgrd"], Needed("on|off"), Obeyed, "a byte of each cache line is read after a receive: on"),
    of("", &["-pause"], Needed("US"), Obeyed, "pause before each length, or a tenth of a loop: 100000 us"),
    of("", &["-list", "-l"], No, Obeyed, "print the names of the benchmarks"),
];

/// The options; a letter of `programs` stands for a part: m for MPI1, n for NBC, e for EXT,
/// r for RMA, i for IO.
#[rustfmt::skip] // One option a line.
pub(super) const FLAGS: &[Flag] = &[
    of("", &["-npmin"], Needed("P"), Obeyed, "what all ranks do runs on P ranks, twice as many, up to all"),
    of("", &["-msglog"], Needed("[MIN:]MAX"), Obeyed, "lengths in bytes: 0, and powers of two from 2^MIN to 2^MAX"),
    of("", &["-msglen"], Needed("FILE"), Obeyed, "lengths in bytes from a file, one a line"),
    of("m", &["-msgsize"], Needed("LIST"), Obeyed, "lengths in bytes, with commas between them"),
    of("mn", &["-zero_size"], Needed("on|off"), Obeyed, "begin with a length of 0"),
    of("mn", &["-iter"], Needed("N[,VOL]"), Obeyed, "most operations of a length: 1000"),
    of("eri", &["-iter"], Needed("N[,VOL[,N]]"), Obeyed, "most operations of a length: 1000; most MiB of a loop: 40; and most where each is complete before the next one: 100"),
    of("eri", &["-aggregate_mode"], Needed("MODE"), Obeyed, "ends of transfers: aggregate, all of a loop at once; non_aggregate, each; multi, a table of either"),
    of("", &["-mem"], Needed("GB"), Obeyed, "most memory of a rank: 1 GB"),
    of("", &["-warm_up"], Needed("on|off"), Obeyed, "a tenth of the operations goes before"),
    of("", &["-include"], Needed("NAMES"), Obeyed, "further benchmarks, with commas between them"),
    of("", &["-exclude"], Needed("NAMES"), Obeyed, "benchmarks to leave out"),
    of("", &["-list"], No, Obeyed, "print the names of the benchmarks"),
    of("", &["-time"], Needed("S"), Obeyed, "most time of a loop: 10 s; all lengths have so much less one"),
    of("", &["-input"], Needed("FILE"), Obeyed, "benchmarks from a file, one name a line"),
    of("", &["-multi"], Needed("MODE"), Obeyed, "all groups of ranks run at once: 0, with a row for all; 1, with a row for each"),
    of("m", &["-window_size"], Needed("N"), Obeyed, "messages of a window of Uniband and Biband: 256"),
    of("mn", &["-off_cache"], Needed("MB"), Obeyed, "buffers leave a cache of so many MB; -1: the last"),
    of("e", &["-off_cache"], Needed("MB"), REFUSED, "transfers go to one place, or to disjoint ones of 40 MiB with --axis sections=disjoint"),
    of("r", &["-off_cache"], Needed("MB"), REFUSED, "all transfers of a window go to one place"),
    of("i", &["-off_cache"], Needed("MB"), Noted(&["-1"]), "no transfer of a file has a cache of its own to leave"),
    of("", &["-iter_policy"], Needed("NAME"), Obeyed, "dynamic: length and time limit operations; multiple_np: a multiple of the ranks; auto: that for roots; off: -iter N alone"),
    of("", &["-map"], Needed("PxQ"), Obeyed, "ranks fill P rows and Q columns down the columns, and are counted along the rows"),
    of("mn", &["-root_shift"], Needed("on|off"), Obeyed, "each rank in turn is the root"),
    of("r", &["-root_shift"], Needed("on|off"), Noted(OFF), "no operation has a root"),
    of("mn", &["-sync"], Needed("on|off"), Obeyed, "a barrier is between calls of a collective"),
    of("r", &["-sync"], Needed("on|off"), Noted(ON), "no barrier is between the operations of a loop"),
    of("", &["-imb_barrier"], Needed("on|off"), Obeyed, "the barrier before each operation is a dissemination of messages"),
    of("m", &["-data_type"], Needed("TYPE"), Obeyed, "datatype of messages, of whole elements: byte, char, int, float, double"),
    of("m", &["-red_data_type"], Needed("TYPE"), Obeyed, "elements of reductions: char, int, float, double"),
    of("m", &["-contig_type"], Needed("TYPE"), Only(&["base"]), "messages are contiguous"),
    of("", &["-dump"], Needed("FILE"), REFUSED, "--out FILE keeps all settings of a run, in JSON Lines"),
    of("", &["-load"], Needed("FILE"), REFUSED, "settings come from the command line, or from a suite file of comet-run"),
    of("", &["-mem_alloc_type"], Needed("WHERE"), Only(&["cpu", "host"]), "buffers are in host memory"),
    of("", &["-msg_pause"], Needed("on|off"), Obeyed, "a pause of 100 ms, or a tenth of a loop"),
    of("", &["-thread_level"], Needed("LEVEL"), Obeyed, "thread level of MPI: single"),
];
