//! End of a job: the waits of each rank, and the first rank that noticed the failure.

#[cfg(not(loom))]
use std::thread;
#[cfg(not(loom))]
use std::time::{Duration, Instant};

use comet_core::transport::Rank;
use comet_core::waiting::Waiting;

use crate::layout::{Text, WaitingLine};
use crate::segment::Segment;
use crate::sync::{AtomicU64, Ordering};

impl<const N_WORDS: usize> Text<N_WORDS> {
    /// Replaces the text; what does not fit is cut off.
    pub(crate) fn set(&self, text: &str) {
        let bytes = text.as_bytes();
        for (index, word) in self.words.iter().enumerate() {
            let rest = bytes.get(index * 8..).unwrap_or_default();
            let mut chunk = [0u8; 8];
            let n = rest.len().min(8);
            chunk[..n].copy_from_slice(&rest[..n]);
            // Relaxed: a reader only quotes the text, and takes a mixture as it comes.
            word.store(u64::from_le_bytes(chunk), Ordering::Relaxed);
        }
    }

    /// The text.
    pub(crate) fn get(&self) -> String {
        let words = self.words.iter();
        let bytes: Vec<u8> =
            words.flat_map(|word| word.load(Ordering::Relaxed).to_le_bytes()).collect();
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        String::from_utf8_lossy(&bytes[..end]).into_owned()
    }
}

/// In `RankControl::ended`: the rank did not end by itself.
pub(crate) const KILLED: u32 = u32::MAX;

/// Longest wait for others to stop copying from the rank's memory, a matter of microseconds.
#[cfg(not(loom))]
const OUTLAST_FOR: Duration = Duration::from_secs(1);

/// Cause of the end of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// The launcher saw the rank end: killed by a signal, or with an exit code.
    Died,
    /// The rank panicked, or gave up with a reason.
    GaveUp,
    /// The rank waited longer than the watchdog allows.
    Stalled,
}

impl Cause {
    const ALL: [Self; 3] = [Self::Died, Self::GaveUp, Self::Stalled];

    /// Name as in records.
    pub(crate) fn code(self) -> &'static str {
        match self {
            Self::Died => "rank_died",
            Self::GaveUp => "rank_gave_up",
            Self::Stalled => "rank_stalled",
        }
    }
}

/// Ends the job, unless it has ended already; `reason` is kept if this was the first to notice.
pub(crate) fn poison(segment: &Segment, rank: Rank, cause: Cause, reason: &str) {
    let header = segment.header();
    let word = ((cause as u64 + 1) << 32) | rank as u64;
    // Relaxed: nothing is published with it; the launcher reads the reason when all ranks have ended.
    // Only the first cause is kept.
    let first = header.poison.compare_exchange(0, word, Ordering::Relaxed, Ordering::Relaxed);
    if first.is_ok() {
        header.reason.set(reason);
    }
}

/// The rank that ended the job, and the cause, if the job has ended.
#[inline]
pub(crate) fn poisoned(segment: &Segment) -> Option<(Rank, Cause)> {
    // Relaxed: the word says everything.
    match segment.header().poison.load(Ordering::Relaxed) {
        0 => None,
        word => Some(decode(word)),
    }
}

#[cold]
fn decode(word: u64) -> (Rank, Cause) {
    let rank = usize::try_from(word & 0xffff_ffff).unwrap_or(0);
    let cause = usize::try_from(word >> 32).ok().and_then(|n| Cause::ALL.get(n.wrapping_sub(1)));
    (rank, *cause.unwrap_or(&Cause::GaveUp))
}

/// True if `rank` is out of the job: it has ended, or has noticed the failure.
pub(crate) fn is_out(segment: &Segment, rank: Rank) -> bool {
    let control = segment.control(rank);
    // Acquire: pairs with the Release stores in `Waiter::leave` and the launcher's `ended` and
    // `killed`; what the rank wrote to the memory of others, it has written.
    control.left.load(Ordering::Acquire) != 0 || control.ended.load(Ordering::Acquire) != 0
}

/// After a failure: waits until `is_over`, as another rank may still be writing into memory that
/// this one is about to hand back. If it does not end (a stopped rank), neither may this call.
#[cfg(not(loom))]
pub(crate) fn outlast(is_over: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_over() {
        if start.elapsed() > OUTLAST_FOR {
            // Without unwinding: the memory must not be used again. The launcher does the rest.
            std::process::abort();
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// Jobs do not fail in models.
#[cfg(loom)]
pub(crate) fn outlast(_is_over: impl Fn() -> bool) {}

/// Publishes what this rank waits for, or that it does not wait.
pub(crate) fn publish(waiting: Option<Waiting>, line: &WaitingLine) {
    let [what, length_bytes] = Waiting::pack(waiting);
    // Relaxed: only quoted in failure reports.
    line.length_bytes.store(length_bytes, Ordering::Relaxed);
    line.what.store(what, Ordering::Relaxed);
}

/// Wait of the rank of `line`, if it waits.
pub(crate) fn published(line: &WaitingLine) -> Option<Waiting> {
    // Relaxed: see `publish`.
    let word = |word: &AtomicU64| word.load(Ordering::Relaxed);
    Waiting::unpack([word(&line.what), word(&line.length_bytes)])
}

/// One sentence a rank on what all ranks were doing, for the report of a failed job.
pub(crate) fn describe_ranks(segment: &Segment) -> String {
    let describe = |rank| {
        let control = segment.control(rank);
        let state = match published(&control.waiting) {
            Some(waiting) => waiting.to_string(),
            None => "is not in a transport call that waits".into(),
        };
        format!("rank {rank} {state}{}", during(&control.activity.get()))
    };
    // Long jobs: the first ranks tell the story.
    let (n_ranks, n_told) = (segment.n_ranks(), segment.n_ranks().min(16));
    let mut text = (0..n_told).map(describe).collect::<Vec<_>>().join("; ");
    if n_told < n_ranks {
        text += &format!("; and {} more ranks", n_ranks - n_told);
    }
    text
}

/// The ranks that are not in a call that waits: in a job that stalls, those that do not answer.
pub(crate) fn silent_ranks(segment: &Segment) -> Vec<Rank> {
    let is_silent = |rank: &Rank| published(&segment.control(*rank).waiting).is_none();
    (0..segment.n_ranks()).filter(is_silent).collect()
}

/// ` during ACTIVITY`, or nothing if there was none.
pub(crate) fn during(activity: &str) -> String {
    if activity.is_empty() { String::new() } else { format!(" during {activity}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Layout;
    use comet_core::transport::Tag;

    fn segment() -> Segment {
        Segment::create(Layout::new(2, 4096).unwrap()).unwrap()
    }

    #[test]
    fn texts_are_kept_and_cut_where_they_do_not_fit() {
        let segment = segment();
        let activity = &segment.control(0).activity;
        for text in ["", "echo", "comet/echo hops=1 length_bytes=4096"] {
            activity.set(text);
            assert_eq!(activity.get(), text);
        }
        activity.set(&"x".repeat(1000));
        assert_eq!(activity.get(), "x".repeat(crate::layout::ACTIVITY_BYTES));
    }

    #[test]
    fn the_first_cause_of_a_failure_is_kept() {
        let segment = segment();
        assert_eq!(poisoned(&segment), None);
        poison(&segment, 1, Cause::Stalled, "first");
        poison(&segment, 0, Cause::Died, "second");
        assert_eq!(poisoned(&segment), Some((1, Cause::Stalled)));
        assert_eq!(segment.header().reason.get(), "first");
    }

    #[test]
    fn what_a_rank_waits_for_can_be_read_by_another() {
        let segment = segment();
        let line = &segment.control(1).waiting;
        for waiting in [None, Some(Waiting::Send(3, Tag::new(7), 1 << 40)), None] {
            publish(waiting, line);
            assert_eq!(published(line), waiting);
        }
    }
}
