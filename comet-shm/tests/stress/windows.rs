//! One window from its making to its end: parts and locks under transfers of all ranks.

use comet_core::collective::{Element, Operator, Reducer};
use comet_core::error::Result;
use comet_core::pattern;
use comet_core::transport::{Rank, Transport};
use comet_core::window::{Fence, Lock, Memory, Remote, Window};
use comet_shm::Shm;
use oorandom::Rand64;

use crate::schedule::below;

/// Bytes at the start of each part: a counter under exclusive locks, one that is added to, one that is also
/// fetched, and a word that nobody may touch.
const HEAD_BYTES: usize = 32;
const LOCKED: usize = 0;
const ADDED: usize = 8;
const FETCHED: usize = 16;
const UNTOUCHED: usize = 24;
/// Bytes at the start of the origin: the values of a counter before and after.
const OWN_BYTES: usize = 16;
/// Updates of each counter by each rank.
const N_UPDATES: usize = 4;
/// Epochs with transfers to the slots.
const N_EPOCHS: usize = 4;

/// A window and its slots.
struct Slots<'a> {
    t: &'a Shm,
    window: Window<Shm>,
    slot_bytes: usize,
    pattern: u64,
}

/// Makes, uses and ends a window, on all ranks; says what is wrong with what came.
pub(crate) fn play(
    t: &Shm,
    slot_bytes: usize,
    pattern: u64,
    random: &mut Rand64,
) -> Result<Option<String>> {
    let n_slots_bytes = t.n_ranks() * slot_bytes;
    let part_bytes = HEAD_BYTES + n_slots_bytes;
    let mut window = Window::new(t, part_bytes, OWN_BYTES + n_slots_bytes, Memory::Created)?;
    window.open()?;
    let mut slots = Slots { t, window, slot_bytes, pattern };
    let mut problem = None;
    for epoch in 0..N_EPOCHS {
        slots.put_to_all(epoch, random)?;
        problem = problem.or(slots.wrong_slot(epoch));
        // Before anybody writes to them again.
        t.barrier()?;
    }
    let fetched = slots.count(random)?;
    let is_rising = fetched.windows(2).all(|pair| pair[0] < pair[1]);
    slots.window.fence(Fence::First)?;
    problem = problem.or(slots.wrong_counter());
    slots.window.fence(Fence::Last)?;
    slots.window.close()?;
    let lost = || format!("values of a counter that do not rise: {fetched:?}");
    Ok(problem.or_else(|| (!is_rising).then(lost)).map(|problem| format!("window: {problem}")))
}

impl Slots<'_> {
    fn seed(&self, writer: Rank, target: Rank, epoch: usize) -> u64 {
        self.pattern ^ ((writer as u64) << 40) ^ ((target as u64) << 20) ^ epoch as u64
    }

    /// Place of this rank's slot in the part of `target`, and of its data in the origin.
    fn place(&self, target: Rank) -> (Remote, std::ops::Range<usize>) {
        let at = HEAD_BYTES + self.t.rank() * self.slot_bytes;
        let start = OWN_BYTES + target * self.slot_bytes;
        (Remote { rank: target, at }, start..start + self.slot_bytes)
    }

    /// Puts a slot into every part, in an epoch of a kind that all ranks have in common.
    fn put_to_all(&mut self, epoch: usize, random: &mut Rand64) -> Result<()> {
        let (rank, all) = (self.t.rank(), 0..self.t.n_ranks());
        for target in all.clone() {
            let (_, own) = self.place(target);
            let seed = self.seed(rank, target, epoch);
            pattern::fill(&mut self.window.origin()[own], seed);
        }
        let put = |target: Rank| {
            let (remote, own) = self.place(target);
            self.window.put(own, remote)
        };
        // Everybody begins with another rank.
        let first = below(random, all.len());
        let n_ranks = all.len();
        let mut targets = all.clone().map(|rank| (first + rank) % n_ranks);
        match epoch % N_EPOCHS {
            0 => {
                self.window.fence(Fence::First)?;
                targets.try_for_each(put)?;
                self.window.fence(Fence::Last)
            }
            1 => {
                targets.try_for_each(|target| {
                    let kind = [Lock::Shared, Lock::Exclusive][(rank + target) % 2];
                    self.window.lock(target, kind)?;
                    put(target)?;
                    self.window.unlock(target)
                })?;
                self.t.barrier()
            }
            2 => {
                let peers = self.window.peers(&all.collect::<Vec<_>>())?;
                self.window.post(&peers)?;
                self.window.start(&peers)?;
                targets.try_for_each(put)?;
                self.window.complete()?;
                self.window.wait()
            }
            _ => {
                self.window.lock_all()?;
                targets.try_for_each(put)?;
                self.window.unlock_all()?;
                self.t.barrier()
            }
        }
    }

    /// A slot of this rank's part that holds something else than what was put there.
    fn wrong_slot(&self, epoch: usize) -> Option<String> {
        let mut slot = vec![0; self.slot_bytes];
        (0..self.t.n_ranks()).find_map(|writer| {
            self.window.read(HEAD_BYTES + writer * self.slot_bytes, &mut slot);
            let what = format!("the slot of rank {writer} in epoch {epoch}");
            let seed = self.seed(writer, self.t.rank(), epoch);
            pattern::check(&slot, seed, &what).err().map(|error| error.to_string())
        })
    }

    /// Adds to all counters of all parts; the values of that of rank 0 that this rank has fetched.
    fn count(&mut self, random: &mut Rand64) -> Result<Vec<u64>> {
        let by = Reducer::new(Element::I64, Operator::Sum).expect("whole numbers have sums");
        let (n_ranks, mut fetched) = (self.t.n_ranks(), Vec::new());
        for _ in 0..N_UPDATES {
            let first = below(random, n_ranks);
            for rank in (0..n_ranks).map(|rank| (first + rank) % n_ranks) {
                let at = |at| Remote { rank, at };
                self.window.lock(rank, Lock::Exclusive)?;
                self.window.get(0..8, at(LOCKED))?;
                self.window.flush_all()?;
                let value = self.own(0);
                self.window.origin()[..8].copy_from_slice(&(value + 1).to_ne_bytes());
                self.window.put(0..8, at(LOCKED))?;
                self.window.unlock(rank)?;
                self.window.origin()[..8].copy_from_slice(&1u64.to_ne_bytes());
                self.window.lock(rank, Lock::Shared)?;
                self.window.accumulate(0..8, at(ADDED), by)?;
                self.window.fetch_and_op(0, 8, at(FETCHED), by)?;
                self.window.unlock(rank)?;
                if rank == 0 {
                    fetched.push(self.own(8));
                }
            }
        }
        Ok(fetched)
    }

    /// The number at byte `at` of the origin.
    fn own(&mut self, at: usize) -> u64 {
        u64::from_ne_bytes(self.window.origin()[at..at + 8].try_into().expect("it has 8 bytes"))
    }

    /// A counter of this rank's part that has lost an update, or a word that was written.
    fn wrong_counter(&self) -> Option<String> {
        let n_updates = (self.t.n_ranks() * N_UPDATES) as u64;
        let expected = [n_updates, n_updates, n_updates, 0];
        [LOCKED, ADDED, FETCHED, UNTOUCHED].into_iter().zip(expected).find_map(|(at, expected)| {
            let mut bytes = [0; 8];
            self.window.read(at, &mut bytes);
            let found = u64::from_ne_bytes(bytes);
            let text = || format!("counter at byte {at}: expected {expected}, got {found}");
            (found != expected).then(text)
        })
    }
}
