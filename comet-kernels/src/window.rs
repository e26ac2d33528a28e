//! Windows of kernels: blocks in the part and in the origin of a rank, between bytes that no transfer may
//! change.

use std::ops::Range;

use comet_core::kernel::prelude::*;
use comet_core::window::{Memory, Remote, Window};

use crate::guarded::{CANARY, CANARY_BYTES, PAGE_BYTES, to_page};

/// Ends of transfers: of each by itself, or of all between two clock reads at once.
pub(crate) static AGGREGATE: Axis = Axis::choice(
    "aggregate",
    "transfers that one synchronisation ends: each, or all between two clock reads",
    &["non_aggregate", "aggregate"],
);

/// Both modes, in the order of IMB-RMA.
pub(crate) const BY_AGGREGATE: AxisUse = AxisUse::of(&AGGREGATE, "0,1");
/// Both modes, in the order of IMB-EXT.
pub(crate) const AGGREGATE_FIRST: AxisUse = AxisUse::of(&AGGREGATE, "1,0");

/// Places of the transfers: one for all, or one for each of a loop of IMB.
pub(crate) static SECTIONS: Axis = Axis::choice(
    "sections",
    "places of transfers: one for all, or disjoint ones in turn, 40 MiB at most",
    &["one", "disjoint"],
);

/// One place for all transfers.
pub(crate) const BY_SECTIONS: AxisUse = AxisUse::of(&SECTIONS, "0");

/// Number of places of the transfers of `case`: so many transfers has a loop of IMB.
pub(crate) fn n_sections(case: &Case) -> usize {
    const VOLUME: usize = 40 << 20;
    match case.value(&SECTIONS) {
        0 => 1,
        _ => (VOLUME / case.length(&LENGTH_BYTES).max(1)).clamp(1, 1000),
    }
}

/// True if each transfer of `case` is ended by itself.
pub(crate) fn completes_each(case: &Case) -> bool {
    case.value(&AGGREGATE) == 0
}

/// An open window with blocks of one length in the part of each rank and in its origin.
pub(crate) struct Blocks<T: Transport> {
    window: Window<T>,
    rank: Rank,
    block_bytes: usize,
    n_in_part: usize,
    n_in_origin: usize,
    /// Start of the first block of the origin, at a page.
    own_start: usize,
}

impl<T: Transport> Blocks<T> {
    /// An open window; all ranks make it.
    pub(crate) fn new(
        cx: &Context<'_, T>,
        block_bytes: usize,
        [n_in_part, n_in_origin]: [usize; 2],
        memory: Memory,
    ) -> Result<Self> {
        let part_bytes = PAGE_BYTES + n_in_part * block_bytes + CANARY_BYTES;
        let origin_bytes = 2 * PAGE_BYTES + n_in_origin * block_bytes + CANARY_BYTES;
        let mut window = cx.window(part_bytes, origin_bytes, memory)?;
        window.open()?;
        // Behind the room of a canary, as the blocks of a part are, which keep their place within a page.
        let own_start = PAGE_BYTES + to_page(window.origin());
        let rank = cx.rank();
        let mut blocks = Self { window, rank, block_bytes, n_in_part, n_in_origin, own_start };
        for at in blocks.canaries(PAGE_BYTES, n_in_part) {
            blocks.window.write(at, &[CANARY; CANARY_BYTES]);
        }
        for at in blocks.canaries(own_start, n_in_origin) {
            blocks.window.origin()[at..at + CANARY_BYTES].fill(CANARY);
        }
        Ok(blocks)
    }

    /// The window.
    #[inline]
    pub(crate) fn window(&self) -> &Window<T> {
        &self.window
    }

    /// This rank.
    pub(crate) fn rank(&self) -> Rank {
        self.rank
    }

    /// Makes the window again after its end; all ranks do.
    pub(crate) fn open(&mut self) -> Result<()> {
        self.window.open()
    }

    /// Ends the window; all ranks do.
    pub(crate) fn close(&mut self) -> Result<()> {
        self.window.close()
    }

    /// Block number `index` of the origin.
    #[inline]
    pub(crate) fn own(&self, index: usize) -> Range<usize> {
        let start = self.own_start + index * self.block_bytes;
        start..start + self.block_bytes
    }

    /// Block number `index` in the part of `rank`.
    #[inline]
    pub(crate) fn of(&self, rank: Rank, index: usize) -> Remote {
        Remote { rank, at: PAGE_BYTES + index * self.block_bytes }
    }

    /// Block number `index` of the origin, between two epochs.
    pub(crate) fn origin(&mut self, index: usize) -> &mut [u8] {
        let block = self.own(index);
        &mut self.window.origin()[block]
    }

    /// Replaces block number `index` of this rank's part.
    pub(crate) fn write(&mut self, index: usize, fill: impl FnOnce(&mut [u8])) {
        let mut block = vec![0; self.block_bytes];
        fill(&mut block);
        let Remote { at, .. } = self.of(self.rank, index);
        self.window.write(at, &block);
    }

    /// A copy of block number `index` of this rank's part.
    pub(crate) fn read(&self, index: usize) -> Vec<u8> {
        let mut block = vec![0; self.block_bytes];
        self.window.read(self.of(self.rank, index).at, &mut block);
        block
    }

    /// Checks that the canaries of both memories live.
    pub(crate) fn check(&mut self, check: &mut Checker) {
        let n_canaries = format!("the {CANARY_BYTES} bytes");
        let of_part = self.canaries(PAGE_BYTES, self.n_in_part);
        for (at, side) in of_part.into_iter().zip(["before", "behind"]) {
            let mut found = [0; CANARY_BYTES];
            self.window.read(at, &mut found);
            let what = format!("{n_canaries} {side} what others reach");
            check.bytes(&mut found, &[CANARY; CANARY_BYTES], &what);
        }
        let of_origin = self.canaries(self.own_start, self.n_in_origin);
        for (at, side) in of_origin.into_iter().zip(["before", "behind"]) {
            let found = &mut self.window.origin()[at..at + CANARY_BYTES];
            check.bytes(found, &[CANARY; CANARY_BYTES], &format!("{n_canaries} {side} the origin"));
        }
    }

    /// Places of the canaries about `n` blocks from `start` on.
    fn canaries(&self, start: usize, n: usize) -> [usize; 2] {
        [start - CANARY_BYTES, start + n * self.block_bytes]
    }
}

/// The other rank of a pair, seen from one of both.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ends {
    /// That rank, where this one makes transfers to or from its part.
    pub(crate) target: Option<Rank>,
    /// That rank, where it makes transfers to or from the part of this one.
    pub(crate) origin: Option<Rank>,
}

impl Ends {
    /// Of ranks 0 and 1; those make transfers of which `makes` says so.
    pub(crate) fn of_first_two(rank: Rank, makes: impl Fn(Rank) -> bool) -> Self {
        let peer = (rank < 2).then(|| 1 - rank);
        Self { target: peer.filter(|_| makes(rank)), origin: peer.filter(|peer| makes(*peer)) }
    }

    /// Fills what puts or (`GETS`) gets read, and spoils what they write, in each block.
    pub(crate) fn fill<const GETS: bool, T: Transport>(self, blocks: &mut Blocks<T>, seeds: Seeds) {
        for index in 0..blocks.n_in_part {
            let own = seeds.of(stream(index), blocks.rank());
            if GETS {
                blocks.write(index, |part| pattern::fill(part, own));
                if let Some(target) = self.target {
                    pattern::spoil(blocks.origin(index), seeds.of(stream(index), target));
                }
            } else {
                pattern::fill(blocks.origin(index), own);
                if let Some(origin) = self.origin {
                    let of_origin = seeds.of(stream(index), origin);
                    blocks.write(index, |part| pattern::spoil(part, of_origin));
                }
            }
        }
    }

    /// Starts the transfer of this rank from or to block number `index`, if it makes any.
    #[inline]
    pub(crate) fn start<const GETS: bool, T: Transport>(
        self,
        blocks: &Blocks<T>,
        index: usize,
    ) -> Result<()> {
        let Some(target) = self.target else { return Ok(()) };
        let (own, to) = (blocks.own(index), blocks.of(target, index));
        if GETS { blocks.window.get(own, to) } else { blocks.window.put(own, to) }
    }

    /// Starts `n` transfers of `length_bytes`, one behind the other in the block, if this rank makes any.
    #[inline]
    pub(crate) fn start_each<const GETS: bool, T: Transport>(
        self,
        blocks: &Blocks<T>,
        length_bytes: usize,
        n: usize,
    ) -> Result<()> {
        let Some(target) = self.target else { return Ok(()) };
        let (mut from, mut to) = (blocks.own(0).start, blocks.of(target, 0));
        for _ in 0..n {
            let own = from..from + length_bytes;
            if GETS { blocks.window.get(own, to) } else { blocks.window.put(own, to) }?;
            from += length_bytes;
            to.at += length_bytes;
        }
        Ok(())
    }

    /// Checks what was written, and all about it: a run for each block, in turn.
    pub(crate) fn check<const GETS: bool, T: Transport>(
        self,
        blocks: &mut Blocks<T>,
        check: &mut Checker,
    ) {
        let (seeds, n_runs) =
            (check.seeds(), usize::try_from(check.n_runs()).unwrap_or(usize::MAX));
        for index in 0..blocks.n_in_part.min(n_runs) {
            if GETS {
                if let Some(target) = self.target {
                    let what = format!("the part of rank {target}");
                    check.message(blocks.origin(index), seeds.of(stream(index), target), what);
                }
            } else if let Some(origin) = self.origin {
                let what = format!("what rank {origin} has put");
                check.message(&mut blocks.read(index), seeds.of(stream(index), origin), what);
            }
        }
        blocks.check(check);
    }
}

/// Stream of the test data of block number `index`.
fn stream(index: usize) -> u16 {
    u16::try_from(1 + index).expect("a window has at most 1000 blocks")
}

/// Memory of a rank with so many blocks of the length of a case in part and origin together.
pub(crate) fn bytes_of_blocks(case: &Case, n: u64) -> u64 {
    n.saturating_mul(case.value(&LENGTH_BYTES))
        .saturating_add((3 * PAGE_BYTES + 2 * CANARY_BYTES) as u64)
}
