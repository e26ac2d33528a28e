//! Bandwidth of threads: time of windows of messages between partners, in all threads of all ranks
//! at once.
//!
//! **Source**: IMB 2021, IMB-MT, `UniBandMT` and `BiBandMT`.
//!
//! **Pattern**, W messages in a window, in each thread of a rank r that leads, S ranks before its
//! partner
//! ```text
//!   uniband  rank r  --OUT--> --OUT--> ... --OUT-->   rank r + S: W unblocked sends and receives
//!                    <------------ ACK -------------  one byte, when all W have arrived
//!   biband   rank r  --OUT--> ... --OUT-->            rank r + S: both post W receives, then W
//!                    <-BACK-- ... <-BACK--            sends, and wait for all at once
//!                    <------------ ACK -------------  one byte
//! ```
//! **Timed** (all threads of all ranks): one window and its answer, in a loop. The threads of a
//! rank meet before it; in it they share nothing. Buffers are made before.
//!
//! **Reports**: mean time of a window in a loop, on the slowest thread of any rank. IMB-MT prints
//! the mean over all threads of all ranks, of one message.
//!
//! **Rate**: W (uniband) or 2 W (biband) x pairs x `threads` x `length_bytes` / time, of all
//! threads of all ranks together. Answers are no messages of it. IMB-MT takes bytes by the slowest
//! thread, and messages by the mean.
//!
//! **Parameters**: `threads` of each rank; `stride`, which is S, or 0 for half of the ranks;
//! `window`, which is W (64 in IMB-MT); `length_bytes` of one message of one thread.
//!
//! **Verified by**: other test data of each rank and thread; contents of the buffers and of the
//! answer; source and length of every message.
//!
//! **Caution**: several threads need a transport that has them: MPI at `--thread-level multiple`.
//! All messages of a window are of one buffer and go into one, as in IMB-MT.

use comet_core::kernel::prelude::*;

use super::{BY_STRIDE, BY_THREADS, OF_PARTNERS, pairs_of_threads, side, threads};
use crate::axes::WINDOW_OF_OSU;
use crate::calls::VECTORS;
use crate::imb::windows::Answered;
use crate::osu::bw::{PlainFlow, Window};
use crate::osu::messages::Shape;

/// `imb-mt/uniband`; see the [module](self).
pub(crate) struct UniBand;

/// `imb-mt/biband`; see the [module](self).
pub(crate) struct BiBand;

/// Messages of the windows of all threads, where each has `N` at once.
fn messages<const N: u64>(case: &Case, world: &World<'_>) -> u64 {
    N * case.value(&WINDOW) * pairs_of_threads(case, world)
}

/// The common part of both kernels, for `N` windows of each pair at once.
const fn info<const N: u64>() -> KernelInfo {
    KernelInfo {
        file: include_str!("bands.rs"),
        axes: &[BY_THREADS, BY_STRIDE, WINDOW_OF_OSU, VECTORS],
        series: const {
            &[Series::of("window", Quantity::OpTime, Definition::LoopMean)
                .moving(|case, world| Some(messages::<N>(case, world) * case.value(&LENGTH_BYTES)))
                .rated(
                    const {
                        &[Rate {
                            kind: RateKind::Messages,
                            formula: if N == 1 {
                                "window x pairs x threads / time"
                            } else {
                                "2 x window x pairs x threads / time"
                            },
                            per_op: |case, world| messages::<N>(case, world) as f64,
                        }]
                    },
                )]
        },
        admits: |case, world| {
            Shape::admit(case, world)?;
            (OF_PARTNERS.admits)(case, world)
        },
        bytes_per_rank: |case, _| (N * threads(case)).saturating_mul(Shape::of(case).bytes()),
        messages_per_op: messages::<N>,
        ..OF_PARTNERS
    }
}

impl<T: Transport> Pattern<T> for UniBand {
    const INFO: KernelInfo = KernelInfo {
        name: "uniband",
        summary: "Windows of messages to partners, in all threads at once",
        aliases: &["IMB-MT:UniBandMT"],
        ..info::<1>()
    };
    type Part = Window<PlainFlow<T>>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        let Some(Side { peer, leads }) = side(cx, case) else { return Ok(None) };
        Ok(Some((Duty::Together, Window::new(cx, peer, leads, Shape::of(case))?)))
    }
}

impl<T: Transport> Pattern<T> for BiBand {
    const INFO: KernelInfo = KernelInfo {
        name: "biband",
        summary: "Windows of messages both ways between partners, in all threads",
        aliases: &["IMB-MT:BiBandMT"],
        ..info::<2>()
    };
    type Part = Answered<T>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        let Some(side) = side(cx, case) else { return Ok(None) };
        Ok(Some((Duty::Together, Answered::new(cx, side, Shape::of(case))?)))
    }
}
