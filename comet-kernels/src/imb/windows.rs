//! Bandwidth of all pairs: time of windows of messages between the two halves of the ranks.
//!
//! **Source**: IMB 2021, IMB-MPI1, `Uniband` and `Biband`.
//!
//! **Pattern**, W messages in a window, for each rank r of the first half of P ranks
//! ```text
//!   uniband  rank r  --OUT--> --OUT--> ... --OUT-->   rank r + P/2: W unblocked sends and receives
//!                    <------------ ACK -------------  one byte, when all W have arrived
//!   biband   rank r  --OUT--> ... --OUT-->            rank r + P/2: both post W receives, then W
//!                    <-BACK-- ... <-BACK--            sends, and wait for all at once
//!                    <------------ ACK -------------  one byte
//! ```
//! **Timed** (all ranks): one window and its answer, in a loop. Buffers are made before.
//!
//! **Reports**: mean time of a window in a loop, on the slowest rank.
//!
//! **Rate**: W x P/2 (uniband) or 2 W x P/2 (biband) x `length_bytes` / time, of all pairs together.
//! Answers are no messages of it.
//!
//! **Parameters**: `window`, which is W (256 in IMB), `length_bytes` of one message.
//!
//! **Verified by**: other test data of each rank; contents of the buffers and of the answer; source
//! and length of every message.
//!
//! **Caution**: of an odd number of ranks the last takes no part, and is not counted. All messages of
//! a window are of one buffer and go into one, as in IMB.

use comet_core::kernel::prelude::*;
use comet_core::layout::Packing;

use crate::osu::bibw::{Crossing, Waits};
use crate::osu::bw::{ANSWER, PlainFlow, Window};
use crate::osu::messages::Shape;
use crate::rates;

/// `imb/uniband`; see the [module](self).
pub(crate) struct Uniband;

/// `imb/biband`; see the [module](self).
pub(crate) struct Biband;

/// The side of this rank, of which there is one for all ranks but an odd last one.
fn side<T: Transport>(cx: &Context<'_, T>) -> Option<Side> {
    cx.side(Pairing::Halves(cx.transport().n_ranks() / 2))
}

const AXES: [AxisUse; 2] = [
    AxisUse::of(&WINDOW, "256"),
    AxisUse { axis: &LENGTH_BYTES, sweeps: ["1,1Ki,64Ki", "1..4Mi*4", "0,1..4Mi*2"] },
];

/// The common part of both kernels, for `N` windows of each pair at once.
struct Windows<const N: u64>;

impl<const N: u64> Windows<N> {
    const SERIES: [Series; 1] = [Series::of("window", Quantity::OpTime, Definition::LoopMean)
        .moving(|case, world| {
            Some(N * rates::messages_of_halves(case, world) * case.value(&LENGTH_BYTES))
        })
        .rated(if N == 1 { &[rates::HALVES_ONE_WAY] } else { &[rates::HALVES_BOTH_WAYS] })];
    const INFO: KernelInfo = KernelInfo {
        file: include_str!("windows.rs"),
        axes: &AXES,
        series: &Self::SERIES,
        timing: Timing::Pipelined,
        is_of_halves: true,
        admits: Shape::admit,
        bytes_per_rank: |case, _| Shape::of(case).bytes().saturating_mul(N),
        has_layouts: true,
        is_packed: true,
        packed_bytes_per_rank: |case, _| Shape::of(case).packed_bytes().saturating_mul(N),
        ..KernelInfo::collective("imb")
    };
}

impl<T: Transport> Pattern<T> for Uniband {
    const INFO: KernelInfo = KernelInfo {
        name: "uniband",
        summary: "Windows of messages from the first half of the ranks to the second",
        aliases: &["IMB:Uniband"],
        ..Windows::<1>::INFO
    };
    type Part = Window<PlainFlow<T>>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        let Some(side) = side(cx) else { return Ok(None) };
        Ok(Some((Duty::Together, Window::new(cx, side.peer, side.leads, Shape::of(case))?)))
    }
}

/// One side of a window in both directions, which the second half answers.
pub(crate) struct Answered<T: Transport> {
    crossing: Crossing<T>,
    rank: Rank,
    peer: Rank,
    leads: bool,
    tag: Tag,
    answer: [u8; ANSWER],
    answered_bytes: Option<usize>,
}

impl<T: Transport> Answered<T> {
    /// The `side` of windows of `shape`.
    pub(crate) fn new(
        cx: &Context<'_, T>,
        Side { peer, leads }: Side,
        shape: Shape,
    ) -> Result<Self> {
        let crossing = Crossing::new(cx, peer, shape, Waits::Both)?;
        let (rank, tag, answer) = (cx.rank(), cx.tag(1), [0; ANSWER]);
        Ok(Self { crossing, rank, peer, leads, tag, answer, answered_bytes: None })
    }

    /// The answer to a window.
    #[inline]
    fn answer(&mut self, t: &T) -> Result<()> {
        if self.leads {
            let status = t.blocked_recv(Source::Rank(self.peer), self.tag, &mut self.answer)?;
            self.answered_bytes = status.length_from(self.peer);
            return Ok(());
        }
        t.blocked_send(self.peer, self.tag, &self.answer)
    }
}

impl<T: Transport> Operation<T> for Answered<T> {
    fn fill(&mut self, seeds: Seeds) {
        self.crossing.fill(seeds);
        if self.leads {
            pattern::spoil(&mut self.answer, seeds.of(1, self.peer));
        } else {
            pattern::fill(&mut self.answer, seeds.of(1, self.rank));
        }
    }

    #[inline]
    fn run(&mut self, t: &T) -> Result<()> {
        self.crossing.run(t)?;
        self.answer(t)
    }

    #[inline]
    fn run_packed(&mut self, t: &T, packing: &mut Packing<'_, T>) -> Result<()> {
        self.crossing.run_packed(t, packing)?;
        self.answer(t)
    }

    fn check(&mut self, check: &mut Checker) {
        self.crossing.check(check);
        if self.leads {
            let (peer, seed) = (self.peer, check.seeds().of(1, self.peer));
            let what = format!("the answer of rank {peer}");
            check.arrival(self.answered_bytes, (&mut self.answer, seed), &what);
        }
    }
}

impl<T: Transport> Pattern<T> for Biband {
    const INFO: KernelInfo = KernelInfo {
        name: "biband",
        summary: "Windows of messages both ways between the two halves of the ranks",
        aliases: &["IMB:Biband"],
        ..Windows::<2>::INFO
    };
    type Part = Answered<T>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        let Some(side) = side(cx) else { return Ok(None) };
        Ok(Some((Duty::Together, Answered::new(cx, side, Shape::of(case))?)))
    }
}
