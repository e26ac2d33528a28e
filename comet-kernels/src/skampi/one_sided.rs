//! Calls of one-sided epochs, one by one: time of a call alone, the rest of whose epoch goes before or after.
//!
//! **Source**: SKaMPI 5 (`onesided.c`), whose names the aliases are; MPI-4.1 sections 12.2.1,
//! 12.3.1 and 12.5.
//!
//! **Pattern**
//! ```text
//!                        before                      timed
//!   win_create                                       Win_create
//!   win_free             Win_create                  Win_free
//!   win_fence_open                                   fence, none before
//!   win_fence_close      fence, put to itself        fence, none after
//!   win_fence_both       fence, put to itself        fence
//!   win_post                                         post for all others
//!   win_start            others post                 rank 0 start
//!   win_complete         rank 0 start, put to all    rank 0 complete        others delay, wait
//!   win_wait             others start, put           rank 0 wait            others delay, complete
//!   put_call             fences                      rank 0 put
//!   put_fence            fences                      rank 0 put; fence
//!   put_dedicated        rank 0 start, rank 1 post   rank 0 put, complete   rank 1 wait
//!   put_passive          rank 0 locks rank 1         rank 0 put, unlock
//!   accumulate_dedicated rank 0 start, rank 1 post   rank 0 accumulate, complete   rank 1 wait
//!   pingpong_put         fences                      rank 0 put; fence; rank 1 put; fence
//! ```
//! **Timed** (all ranks, started together; rank 0 alone in `win_start`, `win_complete`, `win_wait`,
//! `put_call` and `put_passive`, as by SKaMPI): the calls in the last columns; what is left of an
//! epoch follows before the next interval. One window serves all of them but the first two, where
//! SKaMPI makes another each time.
//!
//! **Reports**: time from the start to the end, by the definition in effect: one that starts each
//! call together.
//!
//! **Rate**: none.
//!
//! **Parameters**: `length_bytes` of each put, of up to 4 B of which those to itself are, and of
//! the part of a rank; `delay_us` of the other ranks, which are busy in between; `element` and
//! `operator` of an accumulation.
//!
//! **Verified by**: contents of every part that is put to, over spoiled bytes; every element of what is
//! accumulated; canaries on both sides.
//!
//! **Caution**: a call that returns need not have waited for anything: a put may be under way, and an
//! access begin with its first transfer.

use comet_core::busy::Busy;
use comet_core::collective::Reducer;
use comet_core::collective::data::{combined_operands, fill_operand};
use comet_core::kernel::prelude::*;
use comet_core::window::{Fence, Lock, Memory, Peers};

use super::delayed::DELAY_US;
use crate::axes::DOUBLING;
use crate::calls::{BY_ELEMENT, BY_OPERATOR, VECTORS, reducer};
use crate::window::{Blocks, bytes_of_blocks};

/// A call, with what goes before and after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    Create,
    Free,
    FenceOpen,
    FenceClose,
    FenceBoth,
    Post,
    Start,
    Complete,
    Wait,
    Put,
    PutFence,
    PutDedicated,
    PutPassive,
    PingPong,
    Accumulate,
}

impl Call {
    /// Every call, in the order of [`SPECS`].
    const ALL: [Self; 15] = [
        Self::Create,
        Self::Free,
        Self::FenceOpen,
        Self::FenceClose,
        Self::FenceBoth,
        Self::Post,
        Self::Start,
        Self::Complete,
        Self::Wait,
        Self::Put,
        Self::PutFence,
        Self::PutDedicated,
        Self::PutPassive,
        Self::PingPong,
        Self::Accumulate,
    ];

    const fn of(index: usize) -> Self {
        Self::ALL[index]
    }

    /// True if it is one of two ranks.
    const fn is_of_pair(self) -> bool {
        use Call::{Accumulate, PingPong, Put, PutDedicated, PutFence, PutPassive};
        matches!(self, Put | PutFence | PutDedicated | PutPassive | PingPong | Accumulate)
    }

    /// True if ranks put data that are looked at.
    const fn moves(self) -> bool {
        use Call::{Complete, FenceBoth, FenceClose, Wait};
        self.is_of_pair() || matches!(self, FenceClose | FenceBoth | Complete | Wait)
    }

    /// True if rank 0 alone takes times.
    const fn is_of_first(self) -> bool {
        matches!(self, Self::Start | Self::Complete | Self::Wait | Self::Put | Self::PutPassive)
    }

    /// True if each rank puts to itself.
    const fn is_own(self) -> bool {
        matches!(self, Self::FenceClose | Self::FenceBoth)
    }

    /// True if other ranks than rank 0 may be late.
    const fn has_delay(self) -> bool {
        matches!(self, Self::Complete | Self::Wait)
    }

    /// The ranks that put to the part of `rank` of `n_ranks`.
    fn origins(self, rank: Rank, n_ranks: usize) -> Vec<Rank> {
        match (self, rank) {
            _ if self.is_own() => vec![rank],
            _ if self.is_of_pair() && rank > 1 => Vec::new(),
            (Self::Wait, 0) => (1..n_ranks).collect(),
            (Self::PingPong, 0) => vec![1],
            (Self::Wait, _) | (_, 0) => Vec::new(),
            _ if self.moves() => vec![0],
            _ => Vec::new(),
        }
    }

    /// The ranks to whose parts `rank` of `n_ranks` puts.
    fn targets(self, rank: Rank, n_ranks: usize) -> Vec<Rank> {
        (0..n_ranks).filter(|target| self.origins(*target, n_ranks).contains(&rank)).collect()
    }
}

/// Name, summary and aliases of each kernel.
type Named = (&'static str, &'static str, &'static [&'static str]);

#[rustfmt::skip] // One kernel a line.
const SPECS: [Named; 15] = [
    ("win_create", "A window of all ranks is made", &["SKaMPI:Win_create"]),
    ("win_free", "A window of all ranks is ended", &["SKaMPI:Win_free"]),
    ("win_fence_open", "A fence before which nothing goes", &["SKaMPI:Win_fence_open"]),
    ("win_fence_close", "A fence behind a put, after which nothing goes", &["SKaMPI:Win_fence_close"]),
    ("win_fence_both", "A fence behind a put, before another epoch", &["SKaMPI:Win_fence_openclose"]),
    ("win_post", "Each rank lets all others access its part", &["SKaMPI:Win_post"]),
    ("win_start", "Rank 0 begins to access the parts of all others", &["SKaMPI:Win_start"]),
    ("win_complete", "Rank 0 ends its access to the parts of all others", &["SKaMPI:Win_complete", "SKaMPI:Win_complete_delayed_wait"]),
    ("win_wait", "Rank 0 waits for all others to end their access", &["SKaMPI:Win_wait", "SKaMPI:Win_wait_delayed_complete"]),
    ("put_call", "The call of a put between two fences", &["SKaMPI:Put"]),
    ("put_fence", "A put and a fence", &["SKaMPI:Put_fence"]),
    ("put_dedicated", "A put and the end of its access", &["SKaMPI:Put_dedicated"]),
    ("put_passive", "A put and the end of its lock", &["SKaMPI:Put_passive"]),
    ("pingpong_put", "Puts there and back, a fence after each", &["SKaMPI:Pingpong_Put_Put"]),
    ("accumulate_dedicated", "An accumulation and the end of its access", &["SKaMPI:Accumulate"]),
];

/// Bytes of a put of a rank to itself.
const OWN_BYTES: usize = 4;

/// The kernel number `INDEX`; see the [module](self).
pub(crate) struct OneSided<const INDEX: usize>;

/// One rank's side of the epochs of a call.
pub(crate) struct Side<T: Transport> {
    call: Call,
    /// Elements of an accumulation, and the operator on them; none of puts.
    by: Option<Reducer>,
    blocks: Blocks<T>,
    /// The other ranks of an access.
    peers: Option<Peers<T>>,
    origins: Vec<Rank>,
    targets: Vec<Rank>,
    delay: Option<Busy>,
    /// True if what goes before a call is done.
    is_ready: bool,
    /// True if what follows it is left.
    is_left: bool,
}

impl<T: Transport> Side<T> {
    fn leads(&self) -> bool {
        self.blocks.rank() == 0
    }

    /// Number of the block in which the put of `origin` arrives.
    fn index(&self, origin: Rank) -> usize {
        if self.call == Call::Wait { origin - 1 } else { 0 }
    }

    #[inline]
    fn put(&self) -> Result<()> {
        let Self { blocks, targets, .. } = self;
        for target in targets {
            let place = blocks.of(*target, self.index(blocks.rank()));
            match self.by {
                Some(by) => blocks.window().accumulate(blocks.own(0), place, by)?,
                None => blocks.window().put(blocks.own(0), place)?,
            }
        }
        Ok(())
    }

    fn post(&self) -> Result<()> {
        self.peers.as_ref().map_or(Ok(()), |peers| self.blocks.window().post(peers))
    }

    fn wait(&self) -> Result<()> {
        self.peers.as_ref().map_or(Ok(()), |_| self.blocks.window().wait())
    }

    fn start(&self) -> Result<()> {
        self.peers.as_ref().map_or(Ok(()), |peers| self.blocks.window().start(peers))
    }

    /// The calls before the one that is timed.
    fn prepare(&mut self) -> Result<()> {
        let leads = self.leads();
        match self.call {
            Call::Create => self.blocks.close()?,
            Call::Free | Call::FenceOpen | Call::Post => (),
            Call::Put | Call::PutFence | Call::PingPong => self.fence(Fence::First)?,
            Call::FenceClose | Call::FenceBoth => {
                self.fence(Fence::First)?;
                self.put()?;
            }
            Call::PutPassive if leads => self.blocks.window().lock(1, Lock::Exclusive)?,
            Call::PutPassive => (),
            Call::Start if leads => (),
            Call::Complete if leads => {
                self.start()?;
                self.put()?;
            }
            Call::Wait if !leads => {
                self.start()?;
                self.put()?;
            }
            Call::PutDedicated | Call::Accumulate if leads => self.start()?,
            Call::Start | Call::Complete | Call::Wait | Call::PutDedicated | Call::Accumulate => {
                self.post()?;
            }
        }
        self.is_ready = true;
        Ok(())
    }

    /// The rest of the last epoch.
    fn finish(&mut self) -> Result<()> {
        if !std::mem::take(&mut self.is_left) {
            return Ok(());
        }
        let leads = self.leads();
        match self.call {
            Call::Free => self.blocks.open(),
            Call::FenceOpen | Call::FenceBoth | Call::Put | Call::PingPong => {
                self.fence(Fence::Last)
            }
            Call::Post => {
                self.start()?;
                self.blocks.window().complete()?;
                self.wait()
            }
            Call::Start if leads => self.blocks.window().complete(),
            Call::Start => self.wait(),
            _ => Ok(()),
        }
    }

    #[inline]
    fn fence(&self, fence: Fence) -> Result<()> {
        self.blocks.window().fence(fence)
    }

    #[inline]
    fn call(&mut self, t: &T) -> Result<()> {
        if let Some(delay) = &mut self.delay {
            delay.run(t);
        }
        let leads = self.leads();
        match self.call {
            Call::Create => self.blocks.open(),
            Call::Free => self.blocks.close(),
            Call::FenceOpen => self.fence(Fence::First),
            Call::FenceClose => self.fence(Fence::Last),
            Call::FenceBoth => self.fence(Fence::Between),
            Call::Post => self.post(),
            Call::Start if leads => self.start(),
            Call::Start => Ok(()),
            Call::Complete if leads => self.blocks.window().complete(),
            Call::Wait if !leads => self.blocks.window().complete(),
            Call::Complete | Call::Wait => self.wait(),
            Call::Put => self.put(),
            Call::PutFence => {
                self.put()?;
                self.fence(Fence::Last)
            }
            Call::PutDedicated | Call::Accumulate if leads => {
                self.put()?;
                self.blocks.window().complete()
            }
            Call::PutDedicated | Call::Accumulate => self.wait(),
            Call::PutPassive if leads => {
                self.put()?;
                self.blocks.window().unlock(1)
            }
            Call::PutPassive => Ok(()),
            Call::PingPong => {
                if leads {
                    self.put()?;
                }
                self.fence(Fence::Between)?;
                if !leads {
                    self.put()?;
                }
                self.fence(Fence::Between)
            }
        }
    }
}

impl<T: Transport> Operation<T> for Side<T> {
    fn fill(&mut self, seeds: Seeds) {
        self.delay.iter_mut().for_each(Busy::reset);
        if let Some(by) = self.by {
            let rank = self.blocks.rank();
            fill_operand(by, rank, self.blocks.origin(0));
            self.blocks.write(0, |part| fill_operand(by, rank, part));
            return;
        }
        let own = seeds.of(1, self.blocks.rank());
        pattern::fill(self.blocks.origin(0), own);
        for origin in self.origins.clone() {
            let index = self.index(origin);
            self.blocks.write(index, |part| pattern::spoil(part, seeds.of(1, origin)));
        }
    }

    /// Nobody puts before the parts are filled.
    fn begin(&mut self, t: &T) -> Result<()> {
        t.barrier()
    }

    fn clear(&mut self, _: &T) -> Result<()> {
        self.finish()?;
        self.prepare()
    }

    #[inline]
    fn run(&mut self, t: &T) -> Result<()> {
        if !self.is_ready {
            self.clear(t)?;
        }
        (self.is_ready, self.is_left) = (false, true);
        self.call(t)
    }

    fn end(&mut self, t: &T) -> Result<()> {
        self.finish()?;
        t.barrier()
    }

    fn check(&mut self, check: &mut Checker) {
        if let Some(delay) = &self.delay {
            delay.check_after(check.n_runs(), check);
        }
        let seeds = check.seeds();
        for origin in self.origins.clone() {
            let (index, what) = (self.index(origin), format!("what rank {origin} has put"));
            let mut found = self.blocks.read(index);
            if let Some(by) = self.by {
                let (rank, others) = (self.blocks.rank(), origin..origin + 1);
                let sum = combined_operands(by, rank, others, check.n_runs(), &found);
                check.bytes(&mut found, &sum, &what);
                continue;
            }
            check.message(&mut found, seeds.of(1, origin), what);
        }
        self.blocks.check(check);
    }

    fn close(&mut self, _: &T) -> Result<()> {
        self.blocks.close()
    }
}

impl<const INDEX: usize, T: Transport> Pattern<T> for OneSided<INDEX> {
    const INFO: KernelInfo = KernelInfo {
        name: SPECS[INDEX].0,
        file: include_str!("one_sided.rs"),
        summary: SPECS[INDEX].1,
        aliases: SPECS[INDEX].2,
        class: if Call::of(INDEX).moves() { Class::Collective } else { Class::Synchronisation },
        axes: match Call::of(INDEX) {
            Call::Accumulate => const { &[BY_ELEMENT, BY_OPERATOR, VECTORS] },
            call if call.has_delay() => const { &[AxisUse::of(&DELAY_US, "0"), DOUBLING] },
            _ => const { &[DOUBLING] },
        },
        admits: match Call::of(INDEX) {
            Call::Accumulate => |case, world| world.require_ranks(2).and(reducer(case).map(drop)),
            _ => KernelInfo::collective("skampi").admits,
        },
        series: &[Series::completion("call")],
        n_ranks: if Call::of(INDEX).is_of_pair() { Some(2) } else { None },
        prepares_each: true,
        is_movable: false,
        bytes_per_rank: |case, world| bytes_of_blocks(case, 1 + world.n_ranks as u64),
        ..KernelInfo::collective("skampi")
    };
    type Part = Side<T>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        let (call, rank) = (Call::of(INDEX), cx.rank());
        let (n_ranks, length) = (cx.transport().n_ranks(), case.length(&LENGTH_BYTES));
        let block_bytes = if call.is_own() { length.min(OWN_BYTES) } else { length };
        let n_in_part = match call {
            Call::Wait if rank == 0 => n_ranks - 1,
            _ if call.is_own() => length.div_ceil(OWN_BYTES).max(1),
            _ => 1,
        };
        let blocks = Blocks::new(cx, block_bytes, [n_in_part, 1], Memory::Created)?;
        let n_members = if call.is_of_pair() { n_ranks.min(2) } else { n_ranks };
        let all_others: Vec<Rank> = (0..n_members).filter(|other| *other != rank).collect();
        let peers: Vec<Rank> = match call {
            Call::Post => all_others,
            Call::Start | Call::Complete | Call::Wait | Call::PutDedicated | Call::Accumulate
                if rank == 0 =>
            {
                all_others
            }
            Call::Start | Call::Complete | Call::Wait => vec![0],
            Call::PutDedicated | Call::Accumulate if rank == 1 => vec![0],
            _ => Vec::new(),
        };
        let has_peers = !peers.is_empty();
        let is_late = call.has_delay() && rank > 0 && case.value(&DELAY_US) > 0;
        let part = Side {
            peers: has_peers.then(|| blocks.window().peers(&peers)).transpose()?,
            blocks,
            call,
            by: if call == Call::Accumulate { reducer(case).ok() } else { None },
            origins: if length > 0 { call.origins(rank, n_ranks) } else { Vec::new() },
            targets: if length > 0 { call.targets(rank, n_ranks) } else { Vec::new() },
            delay: is_late.then(|| cx.busy(case.value(&DELAY_US).saturating_mul(1000))),
            is_ready: false,
            is_left: false,
        };
        let duty = match (call.is_of_first(), rank) {
            (false, _) => Duty::Together,
            (true, 0) => Duty::Times,
            (true, _) => Duty::Follows,
        };
        Ok(Some((duty, part)))
    }
}
