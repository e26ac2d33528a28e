//! Handlers: time of a message to a rank that works, and of what handles it there.
//!
//! **Source**: thesis section 6.1, which wishes for interrupt-driven receives and active messages;
//! T. von Eicken et al., Active Messages (1992).
//!
//! **Pattern**, between rank 0 and a rank one hop away, whose thread 0 works
//! ```text
//!   interrupt_receive   rank 0  --OUT-->   thread 1: receives, counts, answers
//!                               <-BACK--   as long a message
//!   active_message      rank 0  --OUT-->   thread 1: receives, adds the message to an array of its
//!                               <-DONE--   rank, counts, answers with 0 bytes
//!   with threads=1                         one thread: a piece of work, then the same
//! ```
//! **Timed** (rank 0): from the send to the answer, in two series: `idle` without work, and `busy`.
//!
//! **Reports**: time of one operation. With threads=2 a second thread of the receiver waits for the
//! message and handles it while the first works, as an interrupt would: what `busy` takes beyond
//! `idle` is the price of that. With threads=1 the message waits until the work is done.
//!
//! **Rate**: none.
//!
//! **Parameters**: `threads` of each rank, 1 or 2; `work_us`, the wanted time of a piece of the work:
//! thread 0 looks between two pieces for the count of handled messages, and goes on with the next
//! operation when its message is counted. `length_bytes` of the message.
//!
//! **Verified by**: other test data in each direction; contents, source and length of messages; the
//! sum in the array; the count, which the thread that works reads without a receive of its own; the
//! value to which the rounds of the work have come.
//!
//! **Caution**: two threads need a transport that has them: MPI at `--thread-level multiple`. No
//! transport interrupts a rank: the second thread polls in the MPI library, on a core of its own if
//! there is one, and takes that of the work otherwise. Other threads than those named above wait.

use std::sync::atomic::Ordering;

use comet_core::busy::Busy;
use comet_core::kernel::THREADS;
use comet_core::kernel::prelude::*;
use comet_core::transport::Lane;

use super::SUITE;
use crate::axes::DOUBLING;
use crate::overlap::WORK_US;

/// Number of the series in which the receiver works.
const BUSY: usize = 1;
/// Most threads of a rank.
const MAX_THREADS: usize = 2;

/// `patterns/active_message` if `ACTIVE`, or else `patterns/interrupt_receive`; see the [module](self).
pub(crate) struct Handler<const ACTIVE: bool>;

/// The messages of one rank.
struct Messages<B> {
    rank: Rank,
    side: Side,
    tags: [Tag; 2],
    /// The message out, and the answer.
    message: B,
    answer: B,
    /// Sum to which the handler adds messages.
    sum: Vec<u8>,
    arrived_bytes: Option<usize>,
}

/// The work of a rank that receives.
struct Work {
    busy: Busy,
    n_pieces: u64,
    /// Messages that were counted before this operation.
    n_handled: u64,
    /// False in the series without work.
    is_on: bool,
}

/// One thread of one rank.
pub(crate) struct Thread<B, const ACTIVE: bool> {
    lane: Option<Lane>,
    messages: Option<Messages<B>>,
    work: Option<Work>,
}

impl<B: std::ops::DerefMut<Target = [u8]>> Messages<B> {
    /// The operation of the rank that begins.
    #[inline]
    fn send<T: Transport>(&mut self, t: &T) -> Result<()> {
        let Self { side: Side { peer, .. }, tags: [out, back], message, answer, .. } = self;
        t.blocked_send(*peer, *out, message)?;
        self.arrived_bytes = t.blocked_recv(Source::Rank(*peer), *back, answer)?.length_from(*peer);
        Ok(())
    }

    /// The receive, the handler, and its answer.
    #[inline]
    fn handle<T: Transport>(&mut self, t: &T, lane: Option<&Lane>) -> Result<()> {
        let Self { side: Side { peer, .. }, tags: [out, back], message, answer, sum, .. } = self;
        self.arrived_bytes = t.blocked_recv(Source::Rank(*peer), *out, message)?.length_from(*peer);
        for (sum, byte) in sum.iter_mut().zip(message.iter()) {
            *sum = sum.wrapping_add(*byte);
        }
        if let Some(lane) = lane {
            // Release: pairs with the load in `Work::run`.
            lane.word().fetch_add(1, Ordering::Release);
        }
        t.blocked_send(*peer, *back, answer)
    }
}

impl Work {
    /// Works until the next message is counted, or one piece where no other thread counts.
    #[inline]
    fn run<T: Transport>(&mut self, t: &T, lane: Option<&Lane>) {
        while self.is_on {
            self.busy.run(t);
            self.n_pieces += 1;
            let is_counted = |lane: &Lane| lane.word().load(Ordering::Acquire) > self.n_handled;
            if lane.is_none_or(is_counted) {
                self.n_handled += 1;
                return;
            }
        }
    }
}

impl<T: Transport, const ACTIVE: bool> Operation<T> for Thread<T::Buffer, ACTIVE> {
    fn fill(&mut self, seeds: Seeds) {
        if let Some(of) = &mut self.messages {
            let (own, theirs) = (of.rank, of.side.peer);
            let (out, back) = (&mut of.message, &mut of.answer);
            if of.side.leads {
                pattern::fill(out, seeds.of(0, own));
                pattern::spoil(back, seeds.of(1, theirs));
            } else {
                pattern::fill(back, seeds.of(1, own));
                pattern::spoil(out, seeds.of(0, theirs));
            }
            of.sum.fill(0);
        }
        if let Some(work) = &mut self.work {
            work.busy.reset();
            (work.n_pieces, work.n_handled) = (0, 0);
        }
        let first = self.lane.iter().filter(|lane| lane.number() == 0);
        first.for_each(|lane| lane.word().store(0, Ordering::Relaxed));
    }

    /// No message is counted before the count is 0.
    fn begin(&mut self, _: &T) -> Result<()> {
        self.lane.iter().for_each(Lane::meet);
        Ok(())
    }

    #[inline]
    fn run(&mut self, t: &T) -> Result<()> {
        let Self { lane, messages, work } = self;
        if let Some(work) = work {
            work.run(t, lane.as_ref());
        }
        match messages {
            Some(of) if of.side.leads => of.send(t),
            Some(of) => of.handle(t, lane.as_ref()),
            None => Ok(()),
        }
    }

    /// The count is whole.
    fn end(&mut self, _: &T) -> Result<()> {
        self.lane.iter().for_each(Lane::meet);
        Ok(())
    }

    fn check(&mut self, check: &mut Checker) {
        let (seeds, n_runs) = (check.seeds(), check.n_runs());
        if let Some(Messages {
            side: Side { peer, leads },
            message,
            answer,
            sum,
            arrived_bytes,
            ..
        }) = &mut self.messages
        {
            let (stream, buffer) = if *leads { (1, answer) } else { (0, &mut *message) };
            let seed = seeds.of(stream, *peer);
            let what = format!("the message from rank {peer}");
            check.arrival(*arrived_bytes, (buffer, seed), &what);
            if !sum.is_empty() {
                let mut expected = vec![0; sum.len()];
                pattern::fill(&mut expected, seed);
                let [n, ..] = n_runs.to_le_bytes();
                expected.iter_mut().for_each(|byte| *byte = byte.wrapping_mul(n));
                check.bytes(sum, &expected, "the sum of the messages");
            }
        }
        if let Some(work) = &self.work {
            work.busy.check_after(work.n_pieces, check);
            if let Some(lane) = &self.lane {
                let mut n_counted = lane.word().load(Ordering::Relaxed).to_le_bytes();
                check.bytes(&mut n_counted, &n_runs.to_le_bytes(), "the count of the messages");
            }
        }
    }
}

impl<T: Transport, const ACTIVE: bool> Pattern<T> for Handler<ACTIVE> {
    const INFO: KernelInfo = KernelInfo {
        name: if ACTIVE { "active_message" } else { "interrupt_receive" },
        file: include_str!("handler.rs"),
        summary: if ACTIVE {
            "A message whose handler adds it up on a rank that works"
        } else {
            "A message and its answer, to a rank that works"
        },
        axes: &[AxisUse::of(&THREADS, "1"), AxisUse::of(&WORK_US, "1"), DOUBLING],
        series: &[Series::on_test_node("idle"), Series::on_test_node("busy")],
        admits: |case, world| {
            world.require_ranks(2)?;
            match case.n_threads() {
                1..=MAX_THREADS => Ok(()),
                n => Err(format!(
                    "a rank has one thread, or a second one that receives, not {n} (use threads=2)"
                )),
            }
        },
        bytes_per_rank: |case, _| case.value(&LENGTH_BYTES).saturating_mul(3),
        is_movable: false,
        ..KernelInfo::pair(SUITE.suite)
    };
    type Part = Thread<T::Buffer, ACTIVE>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, series: usize) -> Result<Role<Self::Part>> {
        let Some(side) = cx.side(Pairing::ByHops(1)) else { return Ok(None) };
        let lane = cx.transport().lane().cloned();
        // The first thread works, and the last one has the messages.
        let number = lane.as_ref().map_or(0, Lane::number);
        let is_last = lane.as_ref().is_none_or(|lane| number + 1 == lane.n_lanes());
        let (length, work_ns) = (case.length(&LENGTH_BYTES), 1000 * case.value(&WORK_US));
        let messages = || {
            Ok(Messages {
                rank: cx.rank(),
                side,
                tags: [cx.tag(0), cx.tag(1)],
                message: cx.message(length)?,
                answer: cx.message(if ACTIVE { 0 } else { length })?,
                sum: vec![0; if ACTIVE && !side.leads { length } else { 0 }],
                arrived_bytes: None,
            })
        };
        let messages = is_last.then(messages).transpose()?;
        let is_on = series == BUSY;
        let work = (!side.leads && number == 0).then(|| Work {
            busy: cx.busy(work_ns),
            n_pieces: 0,
            n_handled: 0,
            is_on,
        });
        let duty = if messages.is_some() { side.duty() } else { Duty::Follows };
        Ok(Some((duty, Thread { lane, messages, work })))
    }

    fn derived(&self, _: &Case, summaries: &[Summary]) -> Vec<Derived> {
        let [idle, busy] = summaries else { return Vec::new() };
        let delay_ns = busy.median - idle.median;
        vec![Derived::of("delay_ns", "busy - idle, with the medians", Some(delay_ns))]
    }
}
