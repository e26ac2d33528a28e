//! Rings of threads: time of messages that all ranks send at once to the ranks before and behind
//! them, in all of their threads.
//!
//! **Source**: IMB 2021, IMB-MT, `SendRecvMT`, `ExchangeMT`.
//!
//! **Pattern**, in each thread t of each rank r of P ranks, modulo P
//! ```text
//!   sendrecv    rank r  --> r+S     by one blocked exchange
//!                       <-- r-S
//!   exchange    rank r  --> r-S     posts two sends of one buffer
//!                       --> r+S
//!                       <-- r-S     receives both messages, each into a buffer of its own
//!                       <-- r+S
//!                       waits for its sends
//! ```
//! **Timed** (all threads of all ranks): one such round, in a loop. The threads of a rank meet
//! before it; in it they share nothing. Buffers and test data are made before.
//!
//! **Reports**: mean time of a round in a loop, on the slowest thread of any rank. IMB-MT prints
//! the least, the largest and the mean over all threads of all ranks.
//!
//! **Rate**: `threads` x 2 (sendrecv) or 4 (exchange) x `length_bytes` / time: what one rank sends
//! and receives.
//!
//! **Parameters**: `threads` of each rank; `stride`, which is S, or 0 for half of the ranks;
//! `length_bytes` of one message of one thread, where IMB-MT prints that of all threads.
//!
//! **Verified by**: other test data of each rank and thread; contents, source and length of every
//! message.
//!
//! **Caution**: several threads need a transport that has them: MPI at `--thread-level multiple`.
//! On an even number of ranks without a stride of its own both neighbours are the same rank.

use comet_core::kernel::prelude::*;
use comet_core::transport::Room;

use super::{OF_PARTNERS, stride, threads};
use crate::imb::parallel::Neighbours;

/// `imb-mt/sendrecv`; see the [module](self).
pub(crate) struct SendRecv;

/// `imb-mt/exchange`; see the [module](self).
pub(crate) struct Exchange;

/// A round in which a rank sends and receives `N` messages in each thread.
const fn round<const N: u64>() -> Series {
    Series::of("round", Quantity::OpTime, Definition::LoopMean)
        .moving(|case, _| Some(N * threads(case) * case.value(&LENGTH_BYTES)))
}

/// The ranks before and behind this one.
fn neighbours<T: Transport>(cx: &Context<'_, T>, case: &Case) -> [Rank; 2] {
    let (rank, n_ranks) = (cx.rank(), cx.transport().n_ranks());
    let stride = stride(case, n_ranks).unwrap_or(0);
    [(rank + n_ranks - stride) % n_ranks, (rank + stride) % n_ranks]
}

impl<T: Transport> Pattern<T> for SendRecv {
    const INFO: KernelInfo = KernelInfo {
        name: "sendrecv",
        file: include_str!("ring.rs"),
        summary: "All ranks send a stride further at once, in all threads",
        aliases: &["IMB-MT:SendRecvMT"],
        series: &[round::<2>()],
        ..OF_PARTNERS
    };
    type Part = Neighbours<T, false>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        let neighbours = neighbours(cx, case);
        Ok(Some((Duty::Together, Neighbours::new(cx, neighbours, case.length(&LENGTH_BYTES))?)))
    }
}

/// One rank's message, and those of its neighbours.
pub(crate) struct Crossroads<T: Transport> {
    rank: Rank,
    neighbours: [Rank; 2],
    tag: Tag,
    message: T::Buffer,
    buffers: [T::Buffer; 2],
    arrived_bytes: [Option<usize>; 2],
    /// Memory of the set of sends between two rounds.
    sends: Room<T::SendOp<'static>>,
}

impl<T: Transport> Operation<T> for Crossroads<T> {
    fn fill(&mut self, seeds: Seeds) {
        pattern::fill(&mut self.message, seeds.of(0, self.rank));
        for (buffer, from) in self.buffers.iter_mut().zip(self.neighbours) {
            pattern::spoil(buffer, seeds.of(0, from));
        }
    }

    #[inline]
    fn run(&mut self, t: &T) -> Result<()> {
        let Self { neighbours, tag, message, buffers, arrived_bytes, sends, .. } = self;
        let (neighbours, tag) = (*neighbours, *tag);
        t.scope(|s| {
            let mut pending = s.requests_in(std::mem::take(sends));
            for to in neighbours {
                pending.push(s.unblocked_send(to, tag, message)?);
            }
            for (index, buffer) in buffers.iter_mut().enumerate() {
                let from = neighbours[index];
                let status = t.blocked_recv(Source::Rank(from), tag, buffer)?;
                arrived_bytes[index] = status.length_from(from);
            }
            *sends = pending.into_room()?;
            Ok(())
        })
    }

    fn check(&mut self, check: &mut Checker) {
        let Self { neighbours, buffers, arrived_bytes, .. } = self;
        for ((from, buffer), length_bytes) in neighbours.iter().zip(buffers).zip(arrived_bytes) {
            let seed = check.seeds().of(0, *from);
            let what = format!("the message from rank {from}");
            check.arrival(*length_bytes, (buffer, seed), &what);
        }
    }
}

impl<T: Transport> Pattern<T> for Exchange {
    const INFO: KernelInfo = KernelInfo {
        name: "exchange",
        file: include_str!("ring.rs"),
        summary: "All ranks send a stride further and back at once, in all threads",
        aliases: &["IMB-MT:ExchangeMT"],
        series: &[round::<4>()],
        bytes_per_rank: |case, _| (3 * threads(case)).saturating_mul(case.value(&LENGTH_BYTES)),
        messages_per_op: |case, world| 2 * threads(case) * world.n_ranks as u64,
        ..OF_PARTNERS
    };
    type Part = Crossroads<T>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        let length = case.length(&LENGTH_BYTES);
        let part = Crossroads {
            rank: cx.rank(),
            neighbours: neighbours(cx, case),
            tag: cx.tag(0),
            message: cx.message(length)?,
            buffers: [cx.message(length)?, cx.message(length)?],
            arrived_bytes: [None; 2],
            sends: Room::of(2),
        };
        Ok(Some((Duty::Together, part)))
    }
}
