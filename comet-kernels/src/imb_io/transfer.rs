//! Writes and reads of files: of one rank, of each to its own file, of all to one, and of all
//! together.
//!
//! **Source**: IMB 2021, IMB-IO, `S_write_indv` to `C_read_shared`; MPI-4.1 sections 14.4.2 to
//! 14.4.4 and 14.6.1.
//!
//! **Pattern**, X bytes in all, of which each rank moves its portion
//! ```text
//!   s_*        rank 0 alone, in a file of its own            *_indv     at the own pointer, in a view
//!   p_*        all ranks, each when it wants to              *_expl     at places that are given
//!   c_*        all ranks in a call of all                    *_shared   at the pointer of all ranks
//!              s, p: a file of each rank or one of all       *_priv     in a file of each rank
//! ```
//! **Timed** (the ranks that move something): the transfer, in a loop; after each write, or
//! (aggregate) after all of them, a sync, a barrier and a sync, so that all ranks would find
//! it. File, view and contents are made before.
//!
//! **Reports**: mean time of a transfer in a loop, on the slowest rank.
//!
//! **Rate**: `length_bytes` / time, of all ranks together.
//!
//! **Parameters**: `length_bytes`, which is X, the bytes of all ranks in one transfer;
//! `aggregate` of writes: each is completed, or all between two clock reads at once.
//!
//! **Verified by**: what was written, read back by the next rank; what was read; other test
//! data of each rank and place.
//!
//! **Caution**: without a disk behind it, or with a cache in front, the cache is measured; the
//! record has `--io-cache`. A file has room for 50 transfers or more, and begins again at its
//! start. A portion is a multiple of 4 bytes, as in IMB. At a shared pointer any rank reads any
//! block.

use comet_core::error::{TransportError, TransportErrorKind};
use comet_core::file::{File, Pointer, Sharing, Together, View};
use comet_core::kernel::prelude::*;

use super::open_close::keep;
use crate::window::AGGREGATE;

/// The ranks that move something, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ranks {
    One,
    Each,
    Together,
}

/// The pointer of a transfer, and the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Own,
    Given,
    Shared,
    Private,
}

/// One kernel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spec {
    name: &'static str,
    alias: &'static str,
    summary: &'static str,
    ranks: Ranks,
    place: Place,
    writes: bool,
}

macro_rules! specs {
    ($($name:literal $alias:literal $ranks:ident $place:ident $writes:literal $summary:literal;)*) => {
        [$(Spec {
            name: $name,
            alias: $alias,
            summary: $summary,
            ranks: Ranks::$ranks,
            place: Place::$place,
            writes: $writes,
        }),*]
    };
}

const SPECS: [Spec; 18] = specs! {
    "s_write_indv" "IMB-IO:S_Write_indv" One Own true "Writes of rank 0 at its own pointer";
    "s_read_indv" "IMB-IO:S_Read_indv" One Own false "Reads of rank 0 at its own pointer";
    "s_write_expl" "IMB-IO:S_Write_expl" One Given true "Writes of rank 0 at given places";
    "s_read_expl" "IMB-IO:S_Read_expl" One Given false "Reads of rank 0 at given places";
    "p_write_indv" "IMB-IO:P_Write_indv" Each Own true "Writes of each rank at its own pointer";
    "p_read_indv" "IMB-IO:P_Read_indv" Each Own false "Reads of each rank at its own pointer";
    "p_write_expl" "IMB-IO:P_Write_expl" Each Given true "Writes of each rank at given places";
    "p_read_expl" "IMB-IO:P_Read_expl" Each Given false "Reads of each rank at given places";
    "p_write_shared" "IMB-IO:P_Write_shared" Each Shared true "Writes of each rank at one pointer";
    "p_read_shared" "IMB-IO:P_Read_shared" Each Shared false "Reads of each rank at one pointer";
    "p_write_priv" "IMB-IO:P_Write_priv" Each Private true "Writes of each rank to its own file";
    "p_read_priv" "IMB-IO:P_Read_priv" Each Private false "Reads of each rank from its own file";
    "c_write_indv" "IMB-IO:C_Write_indv" Together Own true "Writes of all ranks in one call";
    "c_read_indv" "IMB-IO:C_Read_indv" Together Own false "Reads of all ranks in one call";
    "c_write_expl" "IMB-IO:C_Write_expl" Together Given true
        "Writes of all ranks in one call, at given places";
    "c_read_expl" "IMB-IO:C_Read_expl" Together Given false
        "Reads of all ranks in one call, at given places";
    "c_write_shared" "IMB-IO:C_Write_shared" Together Shared true
        "Writes of all ranks in one call, in their order";
    "c_read_shared" "IMB-IO:C_Read_shared" Together Shared false
        "Reads of all ranks in one call, in their order";
};

/// Kernel number `INDEX` of [`SPECS`].
pub(crate) struct Transfer<const INDEX: usize>;

/// Bytes of which portions are multiples.
const UNIT_BYTES: u64 = 4;
/// Fewest and most transfers for which a file has room, and its length from which on there are the fewest.
const MIN_SLOTS: u64 = 50;
const MAX_SLOTS: u64 = 4096;
const FEW_FROM_BYTES: u64 = 64 << 20;

/// Places of a file that are read back.
const N_READ_BACK: usize = 2;

/// Bytes after which the contents of a file come again whose blocks any rank may read.
const PERIOD: u64 = 251;

/// The byte at `at` of such a file.
fn byte_at(at: u64) -> u8 {
    u8::try_from(at % PERIOD).unwrap_or(0)
}

/// Start and length of the portion of `rank` in `total` bytes of `n_ranks` ranks.
fn portion(total: u64, rank: u64, n_ranks: u64) -> (u64, u64) {
    let units = total.div_ceil(UNIT_BYTES);
    let (each, more) = (units / n_ranks, units % n_ranks);
    let first = |rank: u64| ((rank * each + rank.min(more)) * UNIT_BYTES).min(total);
    (first(rank), first(rank + 1) - first(rank))
}

/// Transfers for which the file of a case has room.
fn n_slots(total: u64) -> u64 {
    (FEW_FROM_BYTES / total.max(1)).clamp(MIN_SLOTS, MAX_SLOTS)
}

/// Bytes of the files of a case.
fn file_bytes(case: &Case) -> u64 {
    let total = case.value(&LENGTH_BYTES);
    total.saturating_mul(n_slots(total))
}

/// Refuses a case without a folder, or without room in it for twice `needed_bytes`.
pub(super) fn require_folder(world: &World<'_>, needed_bytes: u64) -> Result<(), String> {
    let Some(files) = world.files else {
        return Err("needs a folder for its files (name one with --io-dir)".into());
    };
    let (needed_bytes, free_bytes) = (needed_bytes.saturating_mul(2), files.free_bytes);
    if needed_bytes <= free_bytes {
        return Ok(());
    }
    Err(format!(
        "needs {needed_bytes} bytes in {}, {free_bytes} are free (name another --io-dir)",
        files.path.display()
    ))
}

/// The result of all ranks: an error of one is one of all, which none waits for, in the words of the first.
pub(super) fn agree<T: Transport>(t: &T, own: Result<()>) -> Result<()> {
    if own.as_ref().is_err_and(TransportError::ends_job) {
        return own;
    }
    let mut failed = vec![0.0; t.n_ranks()];
    failed[t.rank()] = f64::from(u8::from(own.is_err()));
    t.global_sum_vector(&mut failed)?;
    let Some(first) = failed.iter().position(|failed| *failed > 0.0) else { return Ok(()) };
    let text = own.err().map_or(String::new(), |error| error.to_string());
    let mut length = (text.len() as u64).to_le_bytes();
    t.blocked_broadcast(first, &mut length)?;
    let mut words = text.into_bytes();
    words.resize(usize::try_from(u64::from_le_bytes(length)).unwrap_or(0), 0);
    t.blocked_broadcast(first, &mut words)?;
    let text = String::from_utf8_lossy(&words);
    Err(TransportError::new(TransportErrorKind::Storage, text))
}

/// One rank's side.
pub(crate) struct Side<T: Transport> {
    spec: &'static Spec,
    file: File<T>,
    rank: u64,
    n_ranks: u64,
    total: u64,
    /// Start and length of this rank's portion of each transfer.
    start: u64,
    length: usize,
    moves: bool,
    is_aggregate: bool,
    /// Transfers for which the file has room, and the place of the next.
    n_slots: u64,
    next: u64,
    seeds: Option<Seeds>,
    /// Blocks of each rank that were found where each takes the next place.
    n_found: Vec<f64>,
    failed: Option<TransportError>,
}

impl<T: Transport> Side<T> {
    fn together(&self) -> Together {
        if self.spec.ranks == Ranks::Together { Together::All } else { Together::Alone }
    }

    /// Length of one transfer in the file of this rank.
    fn stride(&self) -> u64 {
        if self.is_private() { self.length as u64 } else { self.total }
    }

    fn is_private(&self) -> bool {
        self.spec.place == Place::Private || self.spec.ranks == Ranks::One
    }

    /// True if each rank takes the next place at a pointer of all.
    fn is_in_any_order(&self) -> bool {
        self.spec.place == Place::Shared && self.spec.ranks == Ranks::Each
    }

    /// Place of the portion of `rank` in slot `slot`, in the whole file.
    fn at(&self, rank: u64, slot: u64) -> u64 {
        let start = if self.is_private() { 0 } else { portion(self.total, rank, self.n_ranks).0 };
        slot * self.stride() + start
    }

    /// Seed of what `rank` writes; of what is read, also by `slot`.
    fn seed(&self, rank: u64, slot: u64) -> u64 {
        let seeds = self.seeds.unwrap_or(Seeds { n_runs: 1 });
        let stream = if self.spec.writes { 0 } else { 1 + slot % 1000 };
        seeds.of(u16::try_from(stream).unwrap_or(0), usize::try_from(rank).unwrap_or(0))
    }

    /// Memory of the transfers, and behind it that of what is read back.
    fn own(&self) -> std::ops::Range<usize> {
        0..self.length
    }

    /// One transfer at the next place, from or into the own memory.
    #[inline]
    fn transfer(&mut self) -> Result<()> {
        if self.next == self.n_slots {
            self.next = 0;
            match self.spec.place {
                Place::Own | Place::Private => self.file.rewind(Pointer::Own)?,
                Place::Shared => self.file.rewind(Pointer::Shared)?,
                Place::Given => (),
            }
        }
        let pointer = match self.spec.place {
            Place::Own | Place::Private => Pointer::Own,
            Place::Shared => Pointer::Shared,
            Place::Given => Pointer::At(self.start + self.next * self.stride()),
        };
        self.next += 1;
        let (own, together) = (self.own(), self.together());
        if self.spec.writes {
            self.file.write(own, pointer, together)
        } else {
            self.file.read(own, pointer, together)
        }
    }

    /// Lets all ranks find what was written.
    #[inline]
    fn complete(&self, t: &T) -> Result<()> {
        let before = self.file.sync();
        if !self.is_private() {
            t.barrier()?;
        }
        before.and(self.file.sync())
    }

    /// Shows this rank what it moves, from the start of the file on.
    fn show(&mut self) -> Result<()> {
        self.next = 0;
        let is_seen = self.spec.place == Place::Own && !self.is_private() && self.length > 0;
        let (block_bytes, stride_bytes) = (self.length as u64, self.total);
        self.file.set_view(is_seen.then_some(View { start: self.start, block_bytes, stride_bytes }))
    }

    /// Writes the contents of a file that is read.
    fn write_contents(&mut self) -> Result<()> {
        for slot in 0..self.n_slots {
            let (seed, at, own) =
                (self.seed(self.rank, slot), self.at(self.rank, slot), self.own());
            let is_in_any_order = self.is_in_any_order();
            let block = &mut self.file.memory()[own.clone()];
            if is_in_any_order {
                (at..).zip(block).for_each(|(at, byte)| *byte = byte_at(at));
            } else {
                pattern::fill(block, seed);
            }
            self.file.write(own, Pointer::At(at), Together::Alone)?;
        }
        Ok(())
    }

    /// Reads what the next rank has written into the first place, and into the last.
    fn read_back(&mut self) -> Result<()> {
        let other = self.checked_rank();
        let n = self.length_of(other);
        let places: [u64; N_READ_BACK] = [0, self.next.saturating_sub(1)];
        for (index, slot) in places.into_iter().enumerate() {
            let start = self.length + index * self.longest();
            let at = Pointer::At(self.at(other, slot));
            self.file.read(start..start + n, at, Together::Alone)?;
        }
        Ok(())
    }

    /// Rank 0 counts the blocks of each rank since the start of the file, which lie there in any order.
    fn count_blocks(&mut self) -> Result<()> {
        if self.rank > 0 {
            return Ok(());
        }
        let mut n_found = vec![0.0; usize::try_from(self.n_ranks).unwrap_or(0)];
        let (mut at, start) = (0, self.length);
        while at < self.next * self.total {
            let left = usize::try_from(self.next * self.total - at).unwrap_or(usize::MAX);
            let n = self.longest().min(left);
            self.file.read(start..start + n, Pointer::At(at), Together::Alone)?;
            let block = |rank: &u64| {
                let n_of_rank = self.length_of(*rank);
                (n_of_rank > 0 && n_of_rank <= n).then_some(start..start + n_of_rank)
            };
            let candidates: Vec<_> = (0..self.n_ranks)
                .filter_map(|rank| Some((rank, block(&rank)?, self.seed(rank, 0))))
                .collect();
            let memory = self.file.memory();
            let is_of = |(_, block, seed): &&(u64, std::ops::Range<usize>, u64)| {
                pattern::check(&memory[block.clone()], *seed, "").is_ok()
            };
            let Some((rank, block, _)) = candidates.iter().find(is_of) else { break };
            n_found[usize::try_from(*rank).unwrap_or(0)] += 1.0;
            at += block.len() as u64;
        }
        self.n_found = n_found;
        Ok(())
    }

    /// The rank whose data this one checks: the next where it can.
    fn checked_rank(&self) -> u64 {
        if self.is_private() { self.rank } else { (self.rank + 1) % self.n_ranks }
    }

    fn length_of(&self, rank: u64) -> usize {
        if self.is_private() {
            return self.length;
        }
        usize::try_from(portion(self.total, rank, self.n_ranks).1).unwrap_or(0)
    }

    /// The longest portion of any rank.
    fn longest(&self) -> usize {
        self.length_of(0)
    }
}

impl<T: Transport> Operation<T> for Side<T> {
    fn fill(&mut self, seeds: Seeds) {
        self.seeds = Some(seeds);
        let seed = self.seed(self.rank, 0);
        let length = self.length;
        let (own, back) = self.file.memory().split_at_mut(length);
        pattern::fill(own, seed);
        pattern::spoil(back, seed);
    }

    fn begin(&mut self, t: &T) -> Result<()> {
        let shown = self.file.set_view(None);
        let written = match self.spec.writes || !self.moves {
            true => shown,
            false => shown.and_then(|()| self.write_contents()),
        };
        let completed = self.file.sync();
        agree(t, written.and(completed))?;
        let shown = self.show();
        if !self.spec.writes {
            let (seed, own) = (self.seed(self.rank, 0), self.own());
            pattern::spoil(&mut self.file.memory()[own], seed);
        }
        agree(t, shown)
    }

    #[inline]
    fn run(&mut self, t: &T) -> Result<()> {
        if !self.moves {
            return Ok(());
        }
        let mut done = self.transfer();
        if self.spec.writes && !self.is_aggregate {
            done = done.and(self.complete(t));
        }
        done.or_else(|error| keep(&mut self.failed, error))
    }

    #[inline]
    fn conclude(&mut self, t: &T) -> Result<()> {
        if !(self.moves && self.spec.writes && self.is_aggregate) {
            return Ok(());
        }
        self.complete(t).or_else(|error| keep(&mut self.failed, error))
    }

    fn end(&mut self, t: &T) -> Result<()> {
        agree(t, self.failed.take().map_or(Ok(()), Err))?;
        let shown = self.file.set_view(None);
        let read = match (self.spec.writes && self.moves, self.is_in_any_order()) {
            (false, _) => shown,
            (true, true) => shown.and_then(|()| self.count_blocks()),
            (true, false) => shown.and_then(|()| self.read_back()),
        };
        agree(t, read)
    }

    fn check(&mut self, check: &mut Checker) {
        if !self.moves {
            return;
        }
        let (own, last) = (self.own(), self.next.saturating_sub(1));
        if self.spec.writes && self.is_in_any_order() {
            let blocks: Vec<bool> =
                (0..self.n_ranks).map(|rank| self.length_of(rank) > 0).collect();
            let n = self.next as f64;
            let expected = |rank: usize| if blocks[rank] { n } else { 0.0 };
            check.values(&mut self.n_found, expected, |_| true, "the blocks of each rank");
        } else if self.spec.writes {
            let other = self.checked_rank();
            let (n, seed) = (self.length_of(other), self.seed(other, 0));
            for index in 0..N_READ_BACK {
                let start = self.length + index * self.longest();
                let block = &mut self.file.memory()[start..start + n];
                check.message(block, seed, format!("what rank {other} has written"));
            }
        } else if self.is_in_any_order() {
            let block = &mut self.file.memory()[own];
            let first = u64::from(block.first().copied().unwrap_or(0));
            let expected: Vec<u8> = (first..).map(byte_at).take(block.len()).collect();
            check.bytes(block, &expected, "a block of the file");
        } else {
            let seed = self.seed(self.rank, last);
            let block = &mut self.file.memory()[own];
            check.message(block, seed, "a block of the file");
        }
    }

    fn close(&mut self, _: &T) -> Result<()> {
        self.file.close()?;
        self.file.remove()
    }
}

impl<T: Transport, const INDEX: usize> Pattern<T> for Transfer<INDEX> {
    const INFO: KernelInfo = {
        let spec = &SPECS[INDEX];
        KernelInfo {
            name: spec.name,
            file: include_str!("transfer.rs"),
            summary: spec.summary,
            aliases: const { &[SPECS[INDEX].alias] },
            class: match spec.ranks {
                Ranks::Together => Class::Collective,
                _ => Class::PointToPoint,
            },
            participants: match spec.ranks {
                Ranks::One => Participants::One,
                _ => Participants::All,
            },
            axes: if spec.writes {
                &[AxisUse::of(&AGGREGATE, "0,1"), TRANSFERS]
            } else {
                &[TRANSFERS]
            },
            series: match spec.ranks {
                Ranks::One => &[Series::on_test_node("transfer")
                    .moving(|case, _| Some(case.value(&LENGTH_BYTES)))],
                _ => &[Series::of("transfer", Quantity::OpTime, Definition::LoopMean)
                    .moving(|case, _| Some(case.value(&LENGTH_BYTES)))],
            },
            timing: Timing::Pipelined,
            admits: |case, world| require_folder(world, file_bytes(case)),
            bytes_per_rank: |case, _| case.value(&LENGTH_BYTES).saturating_mul(3),
            is_movable: false,
            ..KernelInfo::collective("imb-io")
        }
    };
    type Part = Side<T>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        let spec = &SPECS[INDEX];
        let t = cx.transport();
        let (rank, n_ranks) = (cx.rank() as u64, t.n_ranks() as u64);
        let total = case.value(&LENGTH_BYTES);
        let is_one = spec.ranks == Ranks::One;
        let moves = !is_one || rank == 0;
        let (start, length) = match is_one {
            true => (0, if moves { total } else { 0 }),
            false => portion(total, rank, n_ranks),
        };
        let is_private = is_one || spec.place == Place::Private;
        let start = if is_private { 0 } else { start };
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let longest = case.length(&LENGTH_BYTES).max(length);
        let sharing = if is_private { Sharing::Private } else { Sharing::All };
        let mut file = cx.file(sharing, length + N_READ_BACK * longest, 1)?;
        agree(t, file.open())?;
        let part = Side {
            spec,
            file,
            rank,
            n_ranks,
            total,
            start,
            length,
            moves,
            is_aggregate: spec.writes && case.value(&AGGREGATE) == 1,
            n_slots: n_slots(total),
            next: 0,
            seeds: None,
            n_found: Vec::new(),
            failed: None,
        };
        let duty = match (is_one, moves) {
            (false, _) => Duty::Together,
            (true, true) => Duty::Times,
            (true, false) => Duty::Follows,
        };
        Ok(Some((duty, part)))
    }
}

/// Bytes of one transfer of all ranks.
const TRANSFERS: AxisUse =
    AxisUse { axis: &LENGTH_BYTES, sweeps: ["0,4Ki,1Mi", "0,4Ki..16Mi*4", "0,1Ki..64Mi*2"] };

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn portions_follow_each_other_and_are_those_of_imb() {
        for n_ranks in 1..7 {
            for total in [0, 1, 3, 4, 5, 17, 100, 4096] {
                let portions: Vec<_> =
                    (0..n_ranks).map(|rank| portion(total, rank, n_ranks)).collect();
                let ends = portions.iter().map(|(start, length)| start + length);
                assert!(
                    portions
                        .iter()
                        .skip(1)
                        .map(|(start, _)| *start)
                        .eq(ends.take(portions.len() - 1))
                );
                assert_eq!(portions.iter().map(|(_, length)| length).sum::<u64>(), total);
            }
        }
        assert_eq!([0, 1, 2].map(|rank| portion(17, rank, 3)), [(0, 8), (8, 8), (16, 1)]);
    }
}
