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
//!   win_start            others post                 rank 0 start           late ranks delay, post
//!   win_complete         rank 0 start, put to all    rank 0 complete        others delay, wait
//!   win_wait             others start, put           rank 0 wait            others delay, complete
//!   win_test             others start, put           rank 0 test, once      others delay, complete
//!                        others complete, if not late
//!   put_call             fences                      rank 0 put
//!   put_fence            fences                      rank 0 put; fence
//!   put_fence_behind     fences                      rank 0 puts; fence
//!   put_dedicated        rank 0 start, rank 1 post   rank 0 puts, complete   rank 1 wait
//!   put_passive          rank 0 locks rank 1         rank 0 put, unlock
//!   accumulate_dedicated rank 0 start, rank 1 post   rank 0 accumulate, complete   rank 1 wait
//!   pingpong_put         fences                      rank 0 put; fence; rank 1 put; fence
//! ```
//! **Timed** (all ranks, started together; rank 0 alone in `win_start`, `win_complete`, `win_wait`,
//! `win_test`, `put_call` and `put_passive`, as by SKaMPI): the calls in the last columns; what is
//! left of an epoch follows before the next interval. One window serves all of them but the first
//! two, where SKaMPI makes another each time.
//!
//! **Reports**: time from the start to the end, by the definition in effect: one that starts each
//! call together. The laps of `put_fence_behind`, puts and fence, are the longest of any rank (D2).
//! SKaMPI prints the fence, which is the whole interval on rank 1.
//!
//! **Rate**: none.
//!
//! **Parameters**: `length_bytes` of each put, of up to 4 B of which those to itself are, and of
//! the part of a rank; `window`, the number of puts, one behind the other in the part; `delay_us` of
//! the other ranks, which are busy in between, 0 if none is late; `late_rank`, the one of them that
//! is late, 0 for all; `element` and `operator` of an accumulation.
//!
//! **Verified by**: contents of every part that is put to, over spoiled bytes; every element of what is
//! accumulated; canaries on both sides.
//!
//! **Caution**: a call that returns need not have waited for anything: a put may be under way, and an
//! access begin with its first transfer. A test is true where the library of rank 0 has seen the end of
//! all others, which MPICH looks for after it has answered, and false where they are late; a wait
//! follows a false one. Its time depends on which it is.

mod call;

use comet_core::busy::Busy;
use comet_core::collective::Reducer;
use comet_core::collective::data::{combined_operands, fill_operand};
use comet_core::kernel::ELEMENT;
use comet_core::kernel::prelude::*;
use comet_core::window::{Fence, Lock, Memory, Peers};

use super::delayed::{DELAY_US, LATE_RANK, admit_late_rank};
use crate::axes::DOUBLING;
use crate::calls::{BY_ELEMENT, BY_OPERATOR, VECTORS, reducer};
use crate::osu::messages::Shape;
use crate::window::{Blocks, bytes_of_blocks};
use call::Call;

/// Call, name, summary and aliases of a kernel.
type Named = (Call, &'static str, &'static str, &'static [&'static str]);

#[rustfmt::skip] // One kernel a line.
const SPECS: [Named; 17] = [
    (Call::Create, "win_create", "A window of all ranks is made", &["SKaMPI:Win_create"]),
    (Call::Free, "win_free", "A window of all ranks is ended", &["SKaMPI:Win_free"]),
    (Call::FenceOpen, "win_fence_open", "A fence before which nothing goes", &["SKaMPI:Win_fence_open"]),
    (Call::FenceClose, "win_fence_close", "A fence behind a put, after which nothing goes", &["SKaMPI:Win_fence_close"]),
    (Call::FenceBoth, "win_fence_both", "A fence behind a put, before another epoch", &["SKaMPI:Win_fence_openclose"]),
    (Call::Post, "win_post", "Each rank lets all others access its part", &["SKaMPI:Win_post"]),
    (Call::Start, "win_start", "Rank 0 begins to access the parts of all others", &["SKaMPI:Win_start", "SKaMPI:Win_start_delayed_post"]),
    (Call::Complete, "win_complete", "Rank 0 ends its access to the parts of all others", &["SKaMPI:Win_complete", "SKaMPI:Win_complete_delayed_wait"]),
    (Call::Wait, "win_wait", "Rank 0 waits for all others to end their access", &["SKaMPI:Win_wait", "SKaMPI:Win_wait_delayed_complete"]),
    (Call::Test, "win_test", "Rank 0 tests once if all others have ended their access", &["SKaMPI:Win_test", "SKaMPI:Win_test_delayed"]),
    (Call::Put, "put_call", "The call of a put between two fences", &["SKaMPI:Put"]),
    (Call::PutFence, "put_fence", "A put and a fence", &["SKaMPI:Put_fence"]),
    (Call::FenceBehind, "put_fence_behind", "A fence at once behind the calls of puts", &["SKaMPI:Combining_Put_fence"]),
    (Call::PutDedicated, "put_dedicated", "Puts and the end of their access", &["SKaMPI:Put_dedicated", "SKaMPI:Combining_Put_dedicated"]),
    (Call::PutPassive, "put_passive", "A put and the end of its lock", &["SKaMPI:Put_passive"]),
    (Call::PingPong, "pingpong_put", "Puts there and back, a fence after each", &["SKaMPI:Pingpong_Put_Put"]),
    (Call::Accumulate, "accumulate_dedicated", "An accumulation and the end of its access", &["SKaMPI:Accumulate"]),
];

/// The call of the kernel number `index`.
const fn call_of(index: usize) -> Call {
    SPECS[index].0
}

/// Bytes of a put of a rank to itself.
const OWN_BYTES: usize = 4;

/// No rank is late.
const NO_DELAY: AxisUse = AxisUse::of(&DELAY_US, "0");

/// The kernel number `INDEX`; see the [module](self).
pub(crate) struct OneSided<const INDEX: usize>;

/// One rank's side of the epochs of a call.
pub(crate) struct Side<T: Transport> {
    call: Call,
    /// Elements of an accumulation, and the operator on them; none of puts.
    by: Option<Reducer>,
    blocks: Blocks<T>,
    /// Puts to a target, which fill a block, and the length of each in bytes.
    n_puts: usize,
    put_bytes: usize,
    /// The other ranks of an access.
    peers: Option<Peers<T>>,
    origins: Vec<Rank>,
    targets: Vec<Rank>,
    /// The work of a late rank.
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

    /// Number of the block in which the puts of `origin` arrive.
    fn index(&self, origin: Rank) -> usize {
        if self.call.gathers() { origin - 1 } else { 0 }
    }

    #[inline]
    fn put(&self) -> Result<()> {
        let Self { blocks, targets, put_bytes, .. } = self;
        for target in targets {
            let mut from = blocks.own(0).start;
            let mut to = blocks.of(*target, self.index(blocks.rank()));
            for _ in 0..self.n_puts {
                let own = from..from + put_bytes;
                match self.by {
                    Some(by) => blocks.window().accumulate(own, to, by)?,
                    None => blocks.window().put(own, to)?,
                }
                from += put_bytes;
                to.at += put_bytes;
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

    #[inline]
    fn complete(&self) -> Result<()> {
        self.blocks.window().complete()
    }

    #[inline]
    fn fence(&self, fence: Fence) -> Result<()> {
        self.blocks.window().fence(fence)
    }

    /// The calls before the one that is timed.
    fn prepare(&mut self) -> Result<()> {
        let is_late = self.delay.is_some();
        match (self.call, self.leads()) {
            (Call::Create, _) => self.blocks.close()?,
            (Call::Put | Call::PutFence | Call::FenceBehind | Call::PingPong, _) => {
                self.fence(Fence::First)?;
            }
            (Call::FenceClose | Call::FenceBoth, _) => {
                self.fence(Fence::First)?;
                self.put()?;
            }
            (Call::PutPassive, true) => self.blocks.window().lock(1, Lock::Exclusive)?,
            (Call::Complete, true) | (Call::Wait, false) => {
                self.start()?;
                self.put()?;
            }
            (Call::Test, false) => {
                self.start()?;
                self.put()?;
                if !is_late {
                    self.complete()?;
                }
            }
            (Call::PutDedicated | Call::Accumulate, true) => self.start()?,
            (Call::Start, false) if is_late => (),
            (Call::Start | Call::Complete | Call::PutDedicated | Call::Accumulate, false)
            | (Call::Wait | Call::Test, true) => self.post()?,
            (Call::Free | Call::FenceOpen | Call::Post, _)
            | (Call::Start, true)
            | (Call::PutPassive, false) => (),
        }
        self.is_ready = true;
        Ok(())
    }

    /// The rest of the last epoch.
    fn finish(&mut self) -> Result<()> {
        if !std::mem::take(&mut self.is_left) {
            return Ok(());
        }
        match (self.call, self.leads()) {
            (Call::Free, _) => self.blocks.open(),
            (Call::FenceOpen | Call::FenceBoth | Call::Put | Call::PingPong, _) => {
                self.fence(Fence::Last)
            }
            (Call::Post, _) => {
                self.start()?;
                self.complete()?;
                self.wait()
            }
            (Call::Start, true) => self.complete(),
            (Call::Start, false) | (Call::Test, true) => self.wait(),
            _ => Ok(()),
        }
    }

    /// The call that is timed, with the ends of its laps, of which one has any.
    #[inline]
    fn call(&mut self, t: &T, mut end_lap: impl FnMut(usize)) -> Result<()> {
        if let Some(delay) = &mut self.delay {
            delay.run(t);
        }
        let is_late = self.delay.is_some();
        match (self.call, self.leads()) {
            (Call::Create, _) => self.blocks.open(),
            (Call::Free, _) => self.blocks.close(),
            (Call::FenceOpen, _) => self.fence(Fence::First),
            (Call::FenceClose, _) => self.fence(Fence::Last),
            (Call::FenceBoth, _) => self.fence(Fence::Between),
            (Call::Post, _) => self.post(),
            (Call::Start, true) => self.start(),
            (Call::Start, false) if is_late => self.post(),
            (Call::Complete, true) | (Call::Wait, false) => self.complete(),
            (Call::Test, false) if is_late => self.complete(),
            (Call::Test, true) => {
                self.is_left = !self.blocks.window().test()?;
                Ok(())
            }
            (Call::Complete | Call::PutDedicated | Call::Accumulate, false)
            | (Call::Wait, true) => self.wait(),
            (Call::Put, _) => self.put(),
            (Call::PutFence, _) => {
                self.put()?;
                self.fence(Fence::Last)
            }
            (Call::FenceBehind, _) => {
                self.put()?;
                end_lap(0);
                self.fence(Fence::Last)?;
                end_lap(1);
                Ok(())
            }
            (Call::PutDedicated | Call::Accumulate, true) => {
                self.put()?;
                self.complete()
            }
            (Call::PutPassive, true) => {
                self.put()?;
                self.blocks.window().unlock(1)
            }
            (Call::Start | Call::Test | Call::PutPassive, false) => Ok(()),
            (Call::PingPong, leads) => {
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

    #[inline]
    fn run_to(&mut self, t: &T, end_lap: impl FnMut(usize)) -> Result<()> {
        if !self.is_ready {
            self.clear(t)?;
        }
        (self.is_ready, self.is_left) = (false, true);
        self.call(t, end_lap)
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
        self.run_to(t, |_| ())
    }

    #[inline]
    fn run_in_laps(&mut self, t: &T, laps: &mut Laps) -> Result<()> {
        self.run_to(t, |lap| laps.end(t, lap))
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

/// Refuses `case` on a rank alone, with a late rank that is not there, without a put, or with an operator that
/// its elements do not have.
fn admit(case: &Case, world: &World<'_>) -> Result<(), String> {
    world.require_ranks(2)?;
    if case.find(&LATE_RANK).is_some() {
        admit_late_rank(case, world)?;
    }
    if case.find(&WINDOW).is_some() {
        Shape::admit(case, world)?;
    }
    if case.find(&ELEMENT).is_some() {
        reducer(case)?;
    }
    Ok(())
}

/// The longest lap of any rank.
const fn longest(name: &'static str) -> Series {
    Series { definition: Definition::MaxLocal, ..Series::lap(name) }
}

impl<const INDEX: usize, T: Transport> Pattern<T> for OneSided<INDEX> {
    const INFO: KernelInfo = KernelInfo {
        name: SPECS[INDEX].1,
        file: include_str!("one_sided.rs"),
        summary: SPECS[INDEX].2,
        aliases: SPECS[INDEX].3,
        class: if call_of(INDEX).moves() { Class::Collective } else { Class::Synchronisation },
        axes: match call_of(INDEX) {
            Call::Accumulate => const { &[BY_ELEMENT, BY_OPERATOR, VECTORS] },
            Call::Start => const { &[NO_DELAY, AxisUse::of(&LATE_RANK, "0"), DOUBLING] },
            Call::PutDedicated => const { &[AxisUse::of(&WINDOW, "1"), DOUBLING] },
            Call::FenceBehind => const { &[AxisUse::of(&WINDOW, "16"), DOUBLING] },
            call if call.has_delay() => const { &[NO_DELAY, DOUBLING] },
            _ => const { &[DOUBLING] },
        },
        admits: admit,
        series: match call_of(INDEX) {
            Call::FenceBehind => {
                const { &[Series::completion("call"), longest("puts"), longest("fence")] }
            }
            _ => &[Series::completion("call")],
        },
        n_ranks: if call_of(INDEX).is_of_pair() { Some(2) } else { None },
        prepares_each: true,
        is_movable: false,
        bytes_per_rank: |case, world| {
            let n_blocks = case.find(&WINDOW).unwrap_or(1).saturating_mul(2);
            bytes_of_blocks(case, n_blocks.max(1 + world.n_ranks as u64))
        },
        ..KernelInfo::collective("skampi")
    };
    type Part = Side<T>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        let (call, rank) = (call_of(INDEX), cx.rank());
        let (n_ranks, length) = (cx.transport().n_ranks(), case.length(&LENGTH_BYTES));
        let put_bytes = if call.is_own() { length.min(OWN_BYTES) } else { length };
        let n_puts = case.find(&WINDOW).map_or(1, |_| case.length(&WINDOW));
        let n_in_part = match call {
            _ if call.gathers() && rank == 0 => n_ranks - 1,
            _ if call.is_own() => length.div_ceil(OWN_BYTES).max(1),
            _ => 1,
        };
        let blocks = Blocks::new(cx, n_puts * put_bytes, [n_in_part, 1], Memory::Created)?;
        let peers = call.peers(rank, n_ranks);
        let delay_us = if call.has_delay() { case.value(&DELAY_US) } else { 0 };
        let late_rank = case.find(&LATE_RANK).map_or(0, |_| case.length(&LATE_RANK));
        let is_late = delay_us > 0 && rank > 0 && [0, rank].contains(&late_rank);
        let part = Side {
            peers: (!peers.is_empty()).then(|| blocks.window().peers(&peers)).transpose()?,
            blocks,
            call,
            by: if call == Call::Accumulate { reducer(case).ok() } else { None },
            n_puts,
            put_bytes,
            origins: if length > 0 { call.origins(rank, n_ranks) } else { Vec::new() },
            targets: if length > 0 { call.targets(rank, n_ranks) } else { Vec::new() },
            delay: is_late.then(|| cx.busy(delay_us.saturating_mul(1000))),
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
