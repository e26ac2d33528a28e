//! The page that a rank shares with its guard: what the rank waits for, and in what; and one for each of
//! its lanes.
//!
//! The rank writes and the guard, another process, reads. There are no locks in it, since either
//! of the two may be killed at any time, and no pointers.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{
    AtomicBool, AtomicI32, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
};
use std::time::Duration;

use comet_core::transport::Rank;
use comet_core::waiting::Waiting;

/// Bits of a length in its word; the others number the wait.
const LENGTH_BITS: u32 = 40;
/// Marks an end whose code is below it.
const ENDS: u32 = 1 << 8;
/// The most lanes of a rank.
pub(crate) const MAX_LANES: usize = 64;
/// Readings of a text that changes meanwhile.
const N_TRIES: usize = 3;

/// The part of its life that a rank is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Phase {
    /// `MPI_Init`, and the first calls in which all ranks take part.
    Joining,
    /// Kernels and what is between them; each wait is noted.
    Running,
    /// `MPI_Finalize`.
    Leaving,
    /// The end after an error of its own.
    GivingUp,
}

/// The notes of a rank for its guard. Zeroed memory is one without a note.
// Relaxed throughout: the guard compares and quotes what it finds, and nothing else follows.
#[derive(Debug, Default)]
pub(crate) struct Vitals {
    /// The wait at hand (see [`Waiting::pack`]), or 0.
    what: AtomicU64,
    /// Length of the message, and the number of the wait.
    length: AtomicU64,
    /// Time that waits may last in addition to the watchdog's.
    allowance_ns: AtomicU64,
    /// The longest wait; 0 for any.
    watchdog_ns: AtomicU64,
    /// Number of the rank.
    rank: AtomicUsize,
    /// Number of ranks; 0 where nobody knows it yet.
    n_ranks: AtomicUsize,
    /// The number of the lane and 1 more; 0 for the rank itself.
    lane: AtomicUsize,
    /// Number of the thread of a lane in the system, or 0.
    thread: AtomicI32,
    /// Number of the signal that asked the job to end, or 0.
    signal: AtomicI32,
    /// [`ENDS`] and the exit code, once the guard has decided on the end.
    end: AtomicU32,
    /// [`ENDS`] and the exit code of a rank that has nothing left to do but to leave.
    own: AtomicU32,
    phase: AtomicU8,
    /// True once a keeper waits for the end of the rank.
    has_keeper: AtomicBool,
    /// Threads of the rank that hold still for its end.
    n_held: AtomicUsize,
    /// The kernel and case at hand.
    activity: Text<512>,
    /// Path of the result file.
    results: Text<2048>,
    /// Beginning of the paths of files that kernels make.
    files: Text<1024>,
}

const _: () = assert!(size_of::<Vitals>() <= 4096, "the notes fit into one page");

/// The notes of a rank and of its lanes. Pages of lanes that never were take no memory.
#[derive(Debug)]
pub(crate) struct Pages {
    pub(crate) of_rank: Vitals,
    pub(crate) of_lanes: [Vitals; MAX_LANES],
}

impl Vitals {
    /// Makes these the notes of lane number `lane` of the rank with the notes `of`, which runs from here on in
    /// the thread number `thread` of the system.
    pub(crate) fn begin_lane(&self, lane: usize, of: &Self, thread: i32) {
        self.lane.store(lane + 1, Ordering::Relaxed);
        self.thread.store(thread, Ordering::Relaxed);
        self.number(of.rank(), of.n_ranks().unwrap_or(0));
        self.limit(of.watchdog());
        self.keep(of.results().as_deref());
        self.annotate(&of.activity(), of.allowance_ns.load(Ordering::Relaxed));
        self.begin(Phase::Running);
    }

    /// The rank in a sentence, with its thread where it has several.
    pub(crate) fn name(&self) -> String {
        let Some(n_ranks) = self.n_ranks() else { return "a rank".into() };
        let rank = format!("rank {} of {n_ranks}", self.rank());
        match self.lane.load(Ordering::Relaxed) {
            0 => rank,
            lane => format!("{rank}, thread {},", lane - 1),
        }
    }

    /// Notes that the rank waits. Between [`enter`](Self::enter) and [`leave`](Self::leave) lies
    /// one MPI call.
    #[inline]
    pub(crate) fn enter(&self, waiting: Waiting) {
        self.enter_packed(Waiting::pack(Some(waiting)));
    }

    /// The same for a wait that [`Waiting::pack`] has packed.
    #[inline]
    pub(crate) fn enter_packed(&self, [what, length]: [u64; 2]) {
        let number = (self.length.load(Ordering::Relaxed) >> LENGTH_BITS) + 1;
        let length = length & ((1 << LENGTH_BITS) - 1);
        self.length.store(number << LENGTH_BITS | length, Ordering::Relaxed);
        self.what.store(what, Ordering::Relaxed);
    }

    /// Notes that the rank goes on.
    #[inline]
    pub(crate) fn leave(&self) {
        self.what.store(0, Ordering::Relaxed);
    }

    /// Notes what the rank does next, and how long waits may last in it beyond the watchdog's time.
    pub(crate) fn annotate(&self, activity: &str, allowance_ns: u64) {
        self.allowance_ns.store(allowance_ns, Ordering::Relaxed);
        self.activity.set(activity.as_bytes());
    }

    /// Notes which rank of how many this is.
    pub(crate) fn number(&self, rank: Rank, n_ranks: usize) {
        self.rank.store(rank, Ordering::Relaxed);
        self.n_ranks.store(n_ranks, Ordering::Relaxed);
    }

    /// Notes how long a wait may last; `None` for any time.
    pub(crate) fn limit(&self, watchdog: Option<Duration>) {
        let ns = watchdog.map_or(0, |time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
        self.watchdog_ns.store(ns, Ordering::Relaxed);
    }

    /// Notes where the results are kept; a path that is too long is none.
    pub(crate) fn keep(&self, results: Option<&Path>) {
        self.results.set(results.map_or(&[], |path| path.as_os_str().as_bytes()));
    }

    /// Notes the beginning of the paths of files that kernels make, on the rank whose guard has them swept; one
    /// that is too long is none.
    pub(crate) fn keep_files(&self, files: Option<&Path>) {
        self.files.set(files.map_or(&[], |path| path.as_os_str().as_bytes()));
    }

    /// Notes that a keeper waits for the end of the rank.
    pub(crate) fn begin_keeping(&self) {
        self.has_keeper.store(true, Ordering::Relaxed);
    }

    /// True once a keeper waits for the end of the rank.
    pub(crate) fn has_keeper(&self) -> bool {
        self.has_keeper.load(Ordering::Relaxed)
    }

    /// Notes the part of its life that the rank enters.
    pub(crate) fn begin(&self, phase: Phase) {
        self.phase.store(phase as u8, Ordering::Relaxed);
    }

    /// Notes the signal `number`, which asks the job to end.
    pub(crate) fn hear(&self, number: i32) {
        self.signal.store(number, Ordering::Relaxed);
    }

    /// Number of the thread of a lane in the system; 0 for the rank itself.
    pub(crate) fn thread(&self) -> i32 {
        self.thread.load(Ordering::Relaxed)
    }

    /// Notes that a thread of the rank holds still for its end.
    pub(crate) fn hold(&self) {
        self.n_held.fetch_add(1, Ordering::Relaxed);
    }

    /// Number of threads of the rank that hold still for its end.
    pub(crate) fn n_held(&self) -> usize {
        self.n_held.load(Ordering::Relaxed)
    }

    /// Decides that the rank ends with `code`.
    pub(crate) fn end(&self, code: u8) {
        self.end.store(ENDS | u32::from(code), Ordering::Relaxed);
    }

    /// The exit code, once the guard has decided on the end.
    pub(crate) fn end_code(&self) -> Option<u8> {
        let end = self.end.load(Ordering::Relaxed);
        (end & ENDS != 0).then(|| end.to_le_bytes()[0])
    }

    /// Notes the exit code of a rank whose work is done.
    pub(crate) fn end_with(&self, code: u8) {
        self.own.store(ENDS | u32::from(code), Ordering::Relaxed);
    }

    /// The exit code of a rank whose work is done.
    pub(crate) fn own_code(&self) -> Option<u8> {
        let own = self.own.load(Ordering::Relaxed);
        (own & ENDS != 0).then(|| own.to_le_bytes()[0])
    }

    /// The words that describe phase and wait; equal words are one wait.
    pub(crate) fn words(&self) -> [u64; 3] {
        let phase = self.phase.load(Ordering::Relaxed);
        [phase.into(), self.what.load(Ordering::Relaxed), self.length.load(Ordering::Relaxed)]
    }

    /// The phase and the wait that `words` describe.
    pub(crate) fn unpack([phase, what, length]: [u64; 3]) -> (Phase, Option<Waiting>) {
        const PHASES: [Phase; 3] = [Phase::Joining, Phase::Running, Phase::Leaving];
        let phase = PHASES.into_iter().find(|known| *known as u64 == phase);
        let waiting = Waiting::unpack([what, length & ((1 << LENGTH_BITS) - 1)]);
        (phase.unwrap_or(Phase::GivingUp), waiting)
    }

    /// Time that waits may last in addition to the watchdog's.
    pub(crate) fn allowance(&self) -> Duration {
        Duration::from_nanos(self.allowance_ns.load(Ordering::Relaxed))
    }

    /// The longest wait.
    pub(crate) fn watchdog(&self) -> Option<Duration> {
        let ns = self.watchdog_ns.load(Ordering::Relaxed);
        (ns > 0).then(|| Duration::from_nanos(ns))
    }

    /// Number of the rank; 0 where nobody knows it yet.
    pub(crate) fn rank(&self) -> Rank {
        self.rank.load(Ordering::Relaxed)
    }

    /// Number of ranks, where it is known.
    pub(crate) fn n_ranks(&self) -> Option<usize> {
        Some(self.n_ranks.load(Ordering::Relaxed)).filter(|n_ranks| *n_ranks > 0)
    }

    /// Number of the signal that asked the job to end, once one has come.
    pub(crate) fn signal(&self) -> Option<i32> {
        Some(self.signal.load(Ordering::Relaxed)).filter(|number| *number > 0)
    }

    /// The kernel and case at hand, or nothing.
    fn activity(&self) -> String {
        String::from_utf8_lossy(&self.activity.get()).into_owned()
    }

    /// ` during ACTIVITY`, or nothing.
    pub(crate) fn during(&self) -> String {
        let activity = self.activity();
        if activity.is_empty() { String::new() } else { format!(" during {activity}") }
    }

    /// Path of the result file.
    pub(crate) fn results(&self) -> Option<PathBuf> {
        self.results.path()
    }

    /// Beginning of the paths of files that kernels make.
    pub(crate) fn files(&self) -> Option<PathBuf> {
        self.files.path()
    }
}

/// A text of at most `N` bytes that one process writes and another reads.
#[derive(Debug)]
struct Text<const N: usize> {
    /// Odd while the text changes.
    version: AtomicU32,
    length: AtomicU32,
    bytes: [AtomicU8; N],
}

impl<const N: usize> Default for Text<N> {
    fn default() -> Self {
        let (version, length) = (AtomicU32::new(0), AtomicU32::new(0));
        Self { version, length, bytes: [const { AtomicU8::new(0) }; N] }
    }
}

impl<const N: usize> Text<N> {
    /// Writes `text`, or nothing if it is too long.
    fn set(&self, text: &[u8]) {
        let text = if text.len() > N { &[] } else { text };
        self.version.fetch_add(1, Ordering::Relaxed);
        // Pairs with the fence in `get`: a reader of new bytes finds the version odd or changed.
        fence(Ordering::Release);
        for (byte, value) in self.bytes.iter().zip(text) {
            byte.store(*value, Ordering::Relaxed);
        }
        self.length.store(u32::try_from(text.len()).unwrap_or(0), Ordering::Relaxed);
        // Release pairs with the Acquire in `get`: an even version comes after its bytes.
        self.version.fetch_add(1, Ordering::Release);
    }

    /// The text as a path; an empty one is none.
    fn path(&self) -> Option<PathBuf> {
        let text = self.get();
        (!text.is_empty()).then(|| PathBuf::from(OsStr::from_bytes(&text)))
    }

    /// The text; one that changes again and again is read in part.
    fn get(&self) -> Vec<u8> {
        let mut text = Vec::new();
        for _ in 0..N_TRIES {
            let before = self.version.load(Ordering::Acquire);
            let length = (self.length.load(Ordering::Relaxed) as usize).min(N);
            text = self.bytes[..length].iter().map(|byte| byte.load(Ordering::Relaxed)).collect();
            fence(Ordering::Acquire);
            if before.is_multiple_of(2) && self.version.load(Ordering::Relaxed) == before {
                break;
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use comet_core::transport::{Source, Tag};

    #[test]
    fn equal_waits_one_after_the_other_have_other_words() {
        let (vitals, waiting) = (Vitals::default(), Waiting::Recv(Source::Rank(1), Tag::new(7), 8));
        let mut seen = Vec::new();
        for _ in 0..3 {
            vitals.enter(waiting);
            seen.push(vitals.words());
            assert_eq!(Vitals::unpack(vitals.words()), (Phase::Joining, Some(waiting)));
            vitals.leave();
            assert_eq!(Vitals::unpack(vitals.words()), (Phase::Joining, None));
        }
        assert!(seen[0] != seen[1] && seen[1] != seen[2], "{seen:?}");
    }

    #[test]
    fn phases_survive_a_word() {
        let vitals = Vitals::default();
        for phase in [Phase::Joining, Phase::Running, Phase::Leaving, Phase::GivingUp] {
            vitals.begin(phase);
            assert_eq!(Vitals::unpack(vitals.words()).0, phase);
        }
    }

    #[test]
    fn a_text_is_read_as_it_was_written_and_one_that_is_too_long_is_none() {
        let vitals = Vitals::default();
        let paths = || (vitals.results(), vitals.files());
        assert_eq!((vitals.during(), paths()), (String::new(), (None, None)));
        for path in ["a longer path.jsonl", "short"] {
            vitals.keep(Some(Path::new(path)));
            vitals.keep_files(Some(Path::new("io/comet-io-7")));
            assert_eq!(paths(), (Some(path.into()), Some("io/comet-io-7".into())));
        }
        let too_long = "x".repeat(4000);
        vitals.keep(Some(Path::new(&too_long)));
        vitals.keep_files(Some(Path::new(&too_long)));
        assert_eq!(paths(), (None, None));
    }

    #[test]
    fn notes_of_a_lane_begin_with_those_of_its_rank() {
        let [rank, lane] = [(); 2].map(|()| Vitals::default());
        assert_eq!(rank.name(), "a rank");
        rank.number(1, 2);
        rank.limit(Some(Duration::from_secs(2)));
        rank.keep(Some(Path::new("r.jsonl")));
        rank.annotate("a case", 7);
        lane.begin_lane(0, &rank, 7);
        assert_eq!(lane.name(), "rank 1 of 2, thread 0,");
        assert_eq!((lane.during(), lane.allowance()), (rank.during(), rank.allowance()));
        assert_eq!((lane.thread(), rank.thread()), (7, 0));
        assert_eq!((lane.results(), lane.watchdog()), (rank.results(), rank.watchdog()));
        assert_eq!(Vitals::unpack(lane.words()), (Phase::Running, None));
    }

    #[test]
    fn an_end_has_a_code_even_if_that_is_0() {
        let vitals = Vitals::default();
        assert_eq!((vitals.end_code(), vitals.own_code()), (None, None));
        for code in [0, 1, 255] {
            vitals.end(code);
            vitals.end_with(255 - code);
            assert_eq!((vitals.end_code(), vitals.own_code()), (Some(code), Some(255 - code)));
        }
    }
}
