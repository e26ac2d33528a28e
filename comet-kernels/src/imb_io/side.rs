//! One rank's side of the transfers of a case: its file, the places in it, and what they hold.

use comet_core::error::{TransportError, TransportErrorKind};
use comet_core::file::{Cache, File, Pointer, Sharing, Together, View};
use comet_core::kernel::prelude::*;

use super::numbered;
use super::spec::{N_READ_BACK, Place, Ranks, Spec, agree, keep, n_slots, open, portion};
use crate::guarded::{PAGE_BYTES, to_page};

/// One rank's side.
pub(crate) struct Side<T: Transport> {
    spec: &'static Spec,
    file: File<T>,
    /// Start of its memory for transfers, at a page.
    own_start: usize,
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
    drops_cached: bool,
    /// The next place of each: the blocks of each rank that were found, or the ends of those that each
    /// has read last.
    found: Vec<f64>,
    failed: Option<TransportError>,
}

impl<T: Transport> Side<T> {
    /// The side of this rank, with a new file, and its duty; all ranks make it.
    pub(super) fn new(
        cx: &Context<'_, T>,
        case: &Case,
        spec: &'static Spec,
        is_aggregate: bool,
    ) -> Result<(Duty, Self)> {
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
        let longest = if is_private { length } else { portion(total, 0, n_ranks).1 };
        let [length, longest] = [length, longest].map(|n| usize::try_from(n).unwrap_or(usize::MAX));
        let sharing = if is_private { Sharing::Private } else { Sharing::All };
        let mut file = cx.file(sharing, PAGE_BYTES + length + N_READ_BACK * longest, 1)?;
        open(t, &mut file)?;
        let own_start = to_page(file.memory());
        let side = Self {
            spec,
            file,
            own_start,
            rank,
            n_ranks,
            total,
            start,
            length,
            moves,
            is_aggregate: spec.writes && is_aggregate,
            n_slots: n_slots(total),
            next: 0,
            seeds: None,
            drops_cached: cx.cache() == Cache::Drop,
            found: Vec::new(),
            failed: None,
        };
        Ok((spec.duty(rank), side))
    }

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
        let seeds = self.seeds.unwrap_or(Seeds { n_runs: 1, lane: 0 });
        let stream = if self.spec.writes { 0 } else { 1 + slot % 1000 };
        seeds.of(u16::try_from(stream).unwrap_or(0), usize::try_from(rank).unwrap_or(0))
    }

    /// Memory of the transfers, and behind it that of what is read back.
    fn own(&self) -> std::ops::Range<usize> {
        self.own_start..self.own_start + self.length
    }

    /// The next place, behind which the file begins again.
    #[inline]
    fn place(&mut self) -> Result<Pointer> {
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
        Ok(pointer)
    }

    /// One transfer at the next place, from or into the own memory.
    #[inline]
    fn transfer(&mut self) -> Result<()> {
        let pointer = self.place()?;
        let (own, together) = (self.own(), self.together());
        if self.spec.writes {
            self.file.write(own, pointer, together)
        } else {
            self.file.read(own, pointer, together)
        }
    }

    /// One transfer at the next place, beside which `work` is done; an error of the file system is kept.
    #[inline]
    pub(super) fn transfer_beside(&mut self, work: impl FnOnce()) -> Result<()> {
        let started = self.place().and_then(|pointer| self.start(pointer));
        work();
        let ended = started.and_then(|()| match self.together() {
            Together::Alone => self.file.wait_all(),
            Together::All => self.file.end(),
        });
        ended.or_else(|error| keep(&mut self.failed, error))
    }

    #[inline]
    fn start(&self, pointer: Pointer) -> Result<()> {
        let own = self.own();
        match (self.spec.writes, self.together()) {
            (true, Together::Alone) => self.file.start_write(own, pointer),
            (true, Together::All) => self.file.begin_write(own, pointer),
            (false, Together::Alone) => self.file.start_read(own, pointer),
            (false, Together::All) => self.file.begin_read(own, pointer),
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

    /// Writes the contents of a file, as far as it is read or written over: a write that makes pages
    /// anew takes longer. So does a read while what was written before leaves a cache: the contents are
    /// read once, where they stay in the system's memory.
    fn write_contents(&mut self) -> Result<()> {
        let n_runs = self.seeds.map_or(1, |seeds| seeds.n_runs);
        let (writes, is_in_any_order, own) = (self.spec.writes, self.is_in_any_order(), self.own());
        let slots = 0..self.n_slots.min(n_runs);
        for slot in slots.clone() {
            let (seed, at) = (self.seed(self.rank, slot), self.at(self.rank, slot));
            let block = &mut self.file.memory()[own.clone()];
            match (writes, is_in_any_order) {
                // All are written over by the same data.
                (true, _) if slot > 0 => (),
                (true, _) => pattern::spoil(block, seed),
                (false, true) => numbered::fill(block, at),
                (false, false) => pattern::fill(block, seed),
            }
            self.file.write(own.clone(), Pointer::At(at), Together::Alone)?;
        }
        for slot in slots.filter(|_| !writes && !self.drops_cached) {
            let at = Pointer::At(self.at(self.rank, slot));
            self.file.read(own.clone(), at, Together::Alone)?;
        }
        Ok(())
    }

    /// Reads what the next rank has written into the first place, and into the last.
    fn read_back(&mut self) -> Result<()> {
        let other = self.checked_rank();
        let n = self.length_of(other);
        let places: [u64; N_READ_BACK] = [0, self.next.saturating_sub(1)];
        for (index, slot) in places.into_iter().enumerate() {
            let start = self.own().end + index * self.longest();
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
        let (mut at, start) = (0, self.own().end);
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
        self.found = n_found;
        Ok(())
    }

    /// Drops the file from the system's memory, if the user wants that. It comes back there where it is read.
    fn drop_cached(&self) -> Result<()> {
        let n_runs = self.seeds.map_or(1, |seeds| seeds.n_runs);
        if !self.drops_cached {
            return Ok(());
        }
        if !self.spec.writes && n_runs > self.n_slots {
            let text = format!(
                "{n_runs} reads of a file with {} places come to places again that the first have brought into the \
                 system's memory (ask for fewer --samples and --repetitions, or leave --io-cache drop out)",
                self.n_slots
            );
            return Err(TransportError::new(TransportErrorKind::Storage, text));
        }
        self.file.drop_cached()
    }

    /// Shares the end in the file of the block that each rank has read last: 0 where nothing tells.
    fn share_ends(&mut self, t: &T) -> Result<()> {
        let (own, read_bytes) = (self.own(), self.next * self.total);
        let block = &self.file.memory()[own];
        let places = numbered::places_of(block, self.total, read_bytes).unwrap_or_default();
        self.found = vec![0.0; t.n_ranks()];
        if let [only] = places[..] {
            self.found[t.rank()] = (only + block.len() as u64) as f64;
        }
        t.global_sum_vector(&mut self.found)
    }

    /// Checks that the ranks have read what follows each other, up to what all of them have read together, as far
    /// as their ends tell.
    fn check_ends(&mut self, check: &mut Checker) {
        let length = |rank: usize| self.length_of(rank as u64) as f64;
        let mut ends: Vec<_> = self.found.iter().copied().enumerate().collect();
        let n_moving = ends.iter().filter(|(rank, _)| length(*rank) > 0.0).count();
        ends.retain(|(_, end)| *end > 0.0);
        ends.sort_by(|(_, a), (_, b)| a.total_cmp(b));
        let mut overlaps: Vec<_> = ends
            .windows(2)
            .map(|pair| {
                let [(_, before), (rank, end)] = *pair else { return 0.0 };
                (before - (end - length(rank))).max(0.0)
            })
            .collect();
        check.values(&mut overlaps, |_| 0.0, |_| true, "the bytes that two ranks have read both");
        if let Some((_, last)) = ends.last().filter(|_| ends.len() == n_moving) {
            let all = (self.next * self.total) as f64;
            check.values(&mut [*last], |_| all, |_| true, "the end of what all ranks have read");
        }
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
        let behind = self.own().end;
        pattern::spoil(&mut self.file.memory()[behind..], seed);
    }

    fn begin(&mut self, t: &T) -> Result<()> {
        let shown = self.file.set_view(None);
        let written = match self.moves {
            true => shown.and_then(|()| self.write_contents()),
            false => shown,
        };
        let completed = self.file.sync();
        agree(t, written.and(completed))?;
        // What all have written is on the disk now, from where alone it can be dropped.
        agree(t, self.drop_cached())?;
        let shown = self.show();
        let (seed, own) = (self.seed(self.rank, 0), self.own());
        let (writes, is_in_any_order) = (self.spec.writes, self.is_in_any_order());
        let block = &mut self.file.memory()[own];
        match (writes, is_in_any_order) {
            (true, _) => pattern::fill(block, seed),
            (false, true) => block.fill(0),
            (false, false) => pattern::spoil(block, seed),
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
        agree(t, read)?;
        if self.is_in_any_order() && !self.spec.writes { self.share_ends(t) } else { Ok(()) }
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
            check.values(&mut self.found, expected, |_| true, "the blocks of each rank");
        } else if self.spec.writes {
            let other = self.checked_rank();
            let (n, seed) = (self.length_of(other), self.seed(other, 0));
            for index in 0..N_READ_BACK {
                let start = self.own().end + index * self.longest();
                let block = &mut self.file.memory()[start..start + n];
                check.message(block, seed, format!("what rank {other} has written"));
            }
        } else if self.is_in_any_order() {
            let read_bytes = self.next * self.total;
            let block = &mut self.file.memory()[own];
            let expected = numbered::expected_of(block, self.total, read_bytes);
            check.bytes(block, &expected, "a block of the file");
            self.check_ends(check);
        } else {
            let seed = self.seed(self.rank, last);
            let block = &mut self.file.memory()[own];
            check.message(block, seed, "a block of the file");
        }
    }

    fn close(&mut self, _: &T) -> Result<()> {
        let closed = self.file.close();
        closed.and(self.file.remove())
    }
}
