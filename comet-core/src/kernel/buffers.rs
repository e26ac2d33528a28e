//! Buffers of repetitions: the same ones again and again, an arena that is larger than the caches, memory
//! of a given size, or messages that the ranks write and read between calls.
//!
//! ```text
//!   same        part ── run ── run ── run ── run …             one part, with its buffers
//!   moving      part 0 ── part 1 ── … ── part n-1 ── part 0 …  parts of equal size, each with its own
//!   touched     part ── write, send ─ receive, read …          one part, whose messages are touched
//! ```
//!
//! The other modes are an operation around the part of a rank, so that their timed loop is compiled
//! apart, and that of the same buffers has no branch for them.

use std::hint::black_box;

use super::check::{Checker, Seeds};
use super::info::KernelInfo;
use super::operation::Operation;
use crate::context::Laps;
use crate::error::Result;
use crate::transport::{Transport, Work};

/// Length of a cache line in bytes.
const LINE_BYTES: usize = 64;
/// Least memory of a part in an arena, in bytes: two buffers of a transport.
const MIN_PART_BYTES: u64 = 256;
/// Parts that a verification looks at, and the fewest that take turns.
const N_VERIFIED: u64 = 2;
/// The most parts that lie in memory of a given size: repetitions of a case in the scripts of `SKaMPI`, each of
/// which begins again at the start of its buffer.
const MAX_CYCLED: u64 = 32;

/// Buffers of the repetitions of an operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Buffers {
    /// The same buffers for each repetition.
    #[default]
    Same,
    /// Other buffers for each repetition, from an arena of at least twice the last-level cache of so
    /// many bytes.
    Rotate(u64),
    /// The same for a cache size of the user's, in bytes (`-off_cache` of IMB).
    OffCache(u64),
    /// Other buffers for each repetition, side by side in memory of so many bytes, and then the first ones again
    /// (`set_skampi_buffer` and `switch_buffer_cycling_on` of `SKaMPI` 5): as many as fit, from 2 to 32.
    Cycle(u64),
    /// The same buffers; messages are written before they are sent and read after they were received.
    Touched(Touch),
}

/// Work of a rank on its messages between its calls: it writes to each cache line of a message before it
/// sends it, and reads one that it has received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touch {
    /// Lines are written, and each byte is read.
    Bytes,
    /// Lines are written, and a byte of each is read (`-msgwr` and `-msgrd` of IMB-P2P).
    Lines,
    /// Lines are written alone.
    Sent,
    /// A byte of each line is read alone.
    Received,
}

impl Buffers {
    /// Name in the record and on the command line (`same`, `rotate`, `offcache:33554432`,
    /// `cycle:4194304`, `touched`, `touched:lines`).
    pub fn name(self) -> String {
        match self {
            Self::Same => "same".into(),
            Self::Rotate(_) => "rotate".into(),
            Self::OffCache(bytes) => format!("offcache:{bytes}"),
            Self::Cycle(bytes) => format!("cycle:{bytes}"),
            Self::Touched(touch) => touch.name().into(),
        }
    }

    /// Size of the cache that buffers have to leave, in bytes; `None` if they may stay in it.
    pub fn cache_bytes(self) -> Option<u64> {
        match self {
            Self::Same | Self::Cycle(_) | Self::Touched(_) => None,
            Self::Rotate(bytes) | Self::OffCache(bytes) => Some(bytes),
        }
    }

    /// This mode with the size of rank 0; all ranks call it.
    pub(crate) fn agree<T: Transport>(self, t: &T) -> Result<Self> {
        let (mode, bytes): (fn(u64) -> Self, u64) = match self {
            Self::Same | Self::Touched(_) => return Ok(self),
            Self::Rotate(bytes) => (Self::Rotate, bytes),
            Self::OffCache(bytes) => (Self::OffCache, bytes),
            Self::Cycle(bytes) => (Self::Cycle, bytes),
        };
        let mut of_first = bytes.to_le_bytes();
        t.blocked_broadcast(0, &mut of_first)?;
        Ok(mode(u64::from_le_bytes(of_first)))
    }

    /// Number of parts of `part_bytes` bytes each in an arena, or in memory of a given size; 1 if buffers stay.
    ///
    /// A part may hold no more than half of `part_bytes` on a rank, so the arena has four caches.
    pub(crate) fn n_parts(self, part_bytes: u64) -> u64 {
        let part_bytes = part_bytes.max(MIN_PART_BYTES);
        match self {
            Self::Same | Self::Touched(_) => 1,
            Self::Rotate(bytes) | Self::OffCache(bytes) => {
                bytes.max(part_bytes).saturating_mul(4).div_ceil(part_bytes)
            }
            Self::Cycle(bytes) => (bytes / part_bytes).clamp(N_VERIFIED, MAX_CYCLED),
        }
    }

    /// Memory that is written between the filling of the parts and their first run, in bytes: twice the cache
    /// that they have to leave.
    fn other_bytes(self) -> u64 {
        self.cache_bytes().unwrap_or(0).saturating_mul(2)
    }

    /// Memory of one rank for a case that needs `part_bytes` bytes with the same buffers.
    pub(crate) fn bytes(self, part_bytes: u64) -> u64 {
        self.n_parts(part_bytes).saturating_mul(part_bytes).saturating_add(self.other_bytes())
    }

    /// Refuses a kernel that cannot be measured in this mode.
    ///
    /// # Errors
    /// A sentence with its name.
    pub(crate) fn admit(self, info: &KernelInfo) -> std::result::Result<(), String> {
        let (is_admitted, reason) = match self {
            Self::Same => return Ok(()),
            Self::Rotate(_) | Self::OffCache(_) | Self::Cycle(_) => {
                (info.is_movable, "has no buffers that other repetitions could replace")
            }
            Self::Touched(_) => (info.is_touchable, "does not touch messages between its calls"),
        };
        if is_admitted {
            return Ok(());
        }
        Err(format!("{} {reason} (leave out --buffers {})", info.id(), self.name()))
    }
}

named! {
    Touch: Bytes "touched", Lines "touched:lines", Sent "touched:sent", Received "touched:received"
}

impl Touch {
    /// Writes to each cache line of `message`, which keeps its contents: the work of a rank that makes a
    /// message. A simulated machine charges a copy.
    #[inline]
    pub fn write<T: Transport>(self, t: &T, message: &mut [u8]) {
        if self == Self::Received {
            return;
        }
        t.compute(Work::copy(message.len()), || {
            // The compiler does not know that it is the same byte.
            let same = black_box(0);
            for line in message.chunks_mut(LINE_BYTES) {
                line[0] ^= same;
            }
        });
    }

    /// Reads each byte of `message`, or one of each cache line: the work of a rank that uses one. A
    /// simulated machine charges a sum of as many doubles, or of one for each line.
    #[inline]
    pub fn read<T: Transport>(self, t: &T, message: &[u8]) {
        let sum = |sum: u8, byte: &u8| sum.wrapping_add(*byte);
        match self {
            Self::Bytes => {
                t.compute(Work::Reduce { n: message.len().div_ceil(size_of::<f64>()) }, || {
                    black_box(message.iter().fold(0, sum));
                });
            }
            Self::Lines | Self::Received => {
                t.compute(Work::Reduce { n: message.len().div_ceil(LINE_BYTES) }, || {
                    black_box(message.iter().step_by(LINE_BYTES).fold(0, sum));
                });
            }
            Self::Sent => (),
        }
    }
}

/// Parts of a rank that take turns, or one part whose messages are touched.
///
/// All ranks have the same number of parts, so that a message goes from a part to its counterpart.
/// Calls are dynamic: one loop for all kernels is compiled beside those of the same buffers.
pub(super) struct Others<'p, T> {
    parts: Vec<Box<dyn Operation<T> + 'p>>,
    /// Number of the next part to run.
    next: usize,
    buffers: Buffers,
    /// True if each part runs once before the first of a series: `SKaMPI` has been through its buffer before.
    are_run_before: bool,
    /// Memory that is written once all parts are filled, in bytes.
    other_bytes: usize,
}

impl<'p, T: Transport> Others<'p, T> {
    /// Parts that `make` makes for `n_runs` runs of a case that needs `part_bytes` bytes, 0 if they are verified
    /// alone; in virtual time there are no caches.
    ///
    /// # Errors
    /// The first error of `make`.
    pub(super) fn of<P: Operation<T> + 'p>(
        (buffers, part_bytes): (Buffers, u64),
        n_runs: u64,
        has_caches: bool,
        make: impl Fn() -> Result<P>,
    ) -> Result<Self> {
        let are_run_before = has_caches && matches!(buffers, Buffers::Cycle(_));
        let n_runs = if are_run_before && n_runs > 0 { u64::MAX } else { n_runs };
        let part = |_| Ok(Box::new(make()?) as Box<dyn Operation<T> + 'p>);
        let parts = (0..n_parts(buffers, part_bytes, n_runs)).map(part).collect::<Result<_>>()?;
        let other_bytes = if has_caches { buffers.other_bytes() } else { 0 };
        let other_bytes = usize::try_from(other_bytes).unwrap_or(0);
        Ok(Self { parts, next: 0, buffers, are_run_before, other_bytes })
    }

    /// The part whose turn it is.
    #[inline]
    fn next(&mut self) -> &mut (dyn Operation<T> + 'p) {
        let index = self.next;
        self.next = if index + 1 == self.parts.len() { 0 } else { index + 1 };
        &mut *self.parts[index]
    }
}

/// Number of parts for `n_runs` runs of a case that needs `part_bytes` bytes: no more than there are
/// runs.
fn n_parts(buffers: Buffers, part_bytes: u64, n_runs: u64) -> u64 {
    buffers.n_parts(part_bytes).min(n_runs.max(N_VERIFIED))
}

impl<T: Transport> Operation<T> for Others<'_, T> {
    /// Fills all parts, and then writes what takes them out of the caches.
    fn fill(&mut self, seeds: Seeds) {
        self.parts.iter_mut().for_each(|part| part.fill(seeds));
        self.next = 0;
        let mut other = vec![0u8; self.other_bytes];
        other.iter_mut().step_by(LINE_BYTES).for_each(|byte| *byte = 1);
        black_box(&mut other);
    }

    #[inline]
    fn run(&mut self, t: &T) -> Result<()> {
        let (buffers, part) = (self.buffers, self.next());
        match buffers {
            Buffers::Touched(touch) => part.run_touched(t, touch),
            _ => part.run(t),
        }
    }

    /// Kernels whose messages are touched have no laps.
    #[inline]
    fn run_in_laps(&mut self, t: &T, laps: &mut Laps) -> Result<()> {
        match self.buffers {
            Buffers::Touched(_) => self.run(t),
            _ => self.next().run_in_laps(t, laps),
        }
    }

    /// Those of a kernel whose buffers move have no common end.
    #[inline]
    fn conclude(&mut self, t: &T) -> Result<()> {
        self.parts[0].conclude(t)
    }

    /// Checks each part that ran, after its own number of runs.
    fn check(&mut self, check: &mut Checker) {
        let (n_runs, n_parts) = (check.n_runs(), self.parts.len() as u64);
        let n_before = u64::from(self.are_run_before);
        for (index, part) in (0..).zip(&mut self.parts) {
            let n_of_part = n_before + (n_runs + n_parts - 1 - index) / n_parts;
            if n_of_part > 0 {
                check.after(n_of_part, |check| part.check(check));
            }
        }
    }

    fn begin(&mut self, t: &T) -> Result<()> {
        self.parts[0].begin(t)?;
        if self.are_run_before {
            self.parts.iter_mut().try_for_each(|part| part.run(t))?;
            self.parts[0].conclude(t)?;
        }
        Ok(())
    }

    fn end(&mut self, t: &T) -> Result<()> {
        self.parts[0].end(t)
    }

    fn close(&mut self, t: &T) -> Result<()> {
        self.parts.iter_mut().try_for_each(|part| part.close(t))
    }

    /// The verification of each part, and one run of touched messages.
    fn verify(&mut self, t: &T, check: &mut Checker) -> Result<()> {
        for part in &mut self.parts {
            part.verify(t, check)?;
            if let Buffers::Touched(touch) = self.buffers {
                part.fill(check.seeds());
                part.begin(t)?;
                part.run_touched(t, touch)?;
                part.conclude(t)?;
                part.end(t)?;
                part.check(check);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local;

    #[test]
    fn an_arena_has_twice_the_cache_also_where_a_rank_uses_half_of_a_part() {
        let check = |buffers: Buffers, part_bytes, expected| {
            assert_eq!(buffers.n_parts(part_bytes), expected, "{buffers:?} {part_bytes}");
            assert!(buffers == Buffers::Same || buffers.bytes(part_bytes) / 2 >= 2 * part_bytes);
        };
        check(Buffers::Same, 1 << 20, 1);
        check(Buffers::Rotate(1 << 20), 1 << 10, 4096);
        check(Buffers::OffCache(1 << 20), 1 << 24, 4);
        check(Buffers::OffCache(1 << 10), 0, 16);
        assert_eq!(n_parts(Buffers::Rotate(1 << 20), 1 << 10, 100), 100);
        assert_eq!(n_parts(Buffers::Rotate(1 << 20), 1 << 10, 1), N_VERIFIED);
    }

    #[test]
    fn memory_of_a_given_size_holds_up_to_32_parts_and_at_least_two() {
        let buffers = Buffers::Cycle(4 << 20);
        let check = |part_bytes, expected| {
            assert_eq!(n_parts(buffers, part_bytes, u64::MAX), expected, "{part_bytes}");
        };
        // Short messages go through little of it, long ones through all.
        check(8, MAX_CYCLED);
        check(1 << 16, MAX_CYCLED);
        check(1 << 18, 16);
        check(1 << 23, N_VERIFIED);
        assert_eq!(buffers.bytes(1 << 18), 4 << 20);
        assert_eq!(buffers.cache_bytes(), None);
    }

    /// Number of runs since the fill, which a check has to know.
    #[derive(Default)]
    struct Counted(u64);

    impl<T: Transport> Operation<T> for Counted {
        fn fill(&mut self, _: Seeds) {
            self.0 = 0;
        }

        fn run(&mut self, _: &T) -> Result<()> {
            self.0 += 1;
            Ok(())
        }

        fn check(&mut self, check: &mut Checker) {
            assert_eq!(self.0, check.n_runs());
        }
    }

    #[test]
    fn parts_in_memory_of_a_given_size_have_run_before_the_first_run_of_a_series() {
        local::run_alone(|t| {
            // Of arenas those parts are checked that have run.
            for (buffers, has_caches, expected) in [
                (Buffers::Cycle(4 << 20), true, vec![2, 2, 2, 1, 1, 1, 1, 1]),
                (Buffers::Cycle(4 << 20), false, vec![1, 1, 1]),
                (Buffers::Rotate(1 << 20), true, vec![1, 1, 1]),
            ] {
                let make = || Ok(Counted::default());
                let mut others = Others::of((buffers, 1 << 19), 3, has_caches, make).unwrap();
                let mut check = Checker::new(3, None);
                Operation::<local::Local>::fill(&mut others, check.seeds());
                others.begin(t).unwrap();
                (0..3).try_for_each(|_| others.run(t)).unwrap();
                assert_eq!(others.parts.len(), expected.len(), "{buffers:?}");
                let verified = Others::<local::Local>::of((buffers, 1 << 19), 0, has_caches, make);
                assert_eq!(verified.unwrap().parts.len() as u64, N_VERIFIED);
                others.check(&mut check);
                for (part, n_runs) in others.parts.iter_mut().zip(expected) {
                    part.check(&mut Checker::new(n_runs, None));
                }
            }
        });
    }

    #[test]
    fn a_touched_message_keeps_its_contents() {
        local::run_alone(|t| {
            let mut message: Vec<u8> = (0..=255).collect();
            for touch in Touch::ALL {
                touch.write(t, &mut message);
                touch.read(t, &message);
                assert_eq!(message, (0..=255).collect::<Vec<u8>>());
            }
        });
    }
}
