//! Pairs of threads: time of messages between partners, by all threads of all ranks at once.
//!
//! **Source**: IMB 2021, IMB-MT, `PingPongMT`, `PingPingMT`.
//!
//! **Pattern**, in each thread t of a rank r that leads, S ranks before its partner
//! ```text
//!   pingpong  rank r, thread t  --OUT-->   rank r + S, thread t  blocked sends, blocked receives
//!                               <-BACK--
//!   pingping  rank r, thread t  --OUT-->   rank r + S, thread t  each posts its send, receives, and
//!                               <-BACK--                         waits for the send
//! ```
//! **Timed** (all threads of all ranks): one round trip, or the three calls, in a loop. The threads
//! of a rank meet before it; in it they share nothing. Buffers and test data are made before.
//!
//! **Reports**: mean time in a loop on the slowest thread of any rank, of half a round trip
//! (pingpong) or of the three calls (pingping). IMB-MT prints the least, the largest and the mean
//! over all threads of all ranks.
//!
//! **Rate**: `threads` x `length_bytes` / time, of all threads of a rank in one direction.
//!
//! **Parameters**: `threads` of each rank; `stride`, which is S, or 0 for half of the ranks;
//! `length_bytes` of one message of one thread, where IMB-MT prints that of all threads.
//!
//! **Verified by**: other test data of each rank and thread; contents, source and length of every
//! message.
//!
//! **Caution**: several threads need a transport that has them: MPI at `--thread-level multiple`,
//! which takes locks that ranks of one thread do without. A rank in no pair takes no part; IMB-MT
//! counts its time as 0 there, and prints that as the least.

use comet_core::kernel::prelude::*;

use super::{OF_PARTNERS, side, threads};
use crate::imb::pingping::Crossed;
use crate::pattern::Bounce;

/// `imb-mt/pingpong`; see the [module](self).
pub(crate) struct PingPong;

/// `imb-mt/pingping`; see the [module](self).
pub(crate) struct PingPing;

const fn series(quantity: Quantity, name: &'static str) -> Series {
    Series::of(name, quantity, Definition::LoopMean)
        .moving(|case, _| Some(threads(case) * case.value(&LENGTH_BYTES)))
}

impl<T: Transport> Pattern<T> for PingPong {
    const INFO: KernelInfo = KernelInfo {
        name: "pingpong",
        file: include_str!("pairs.rs"),
        summary: "Half round trips between partners, in all threads at once",
        aliases: &["IMB-MT:PingPongMT"],
        series: &[series(Quantity::OneWayTime, "trip")],
        ..OF_PARTNERS
    };
    type Part = Bounce<T::Buffer>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        let Some(side) = side(cx, case) else { return Ok(None) };
        Ok(Some((Duty::Together, Bounce::new(cx, side, case.length(&LENGTH_BYTES))?)))
    }
}

impl<T: Transport> Pattern<T> for PingPing {
    const INFO: KernelInfo = KernelInfo {
        name: "pingping",
        file: include_str!("pairs.rs"),
        summary: "Messages both ways between partners, in all threads at once",
        aliases: &["IMB-MT:PingPingMT"],
        series: &[series(Quantity::OpTime, "round")],
        ..OF_PARTNERS
    };
    type Part = Crossed<T, false>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        let Some(Side { peer, .. }) = side(cx, case) else { return Ok(None) };
        Ok(Some((Duty::Together, Crossed::new(cx, peer, case.length(&LENGTH_BYTES))?)))
    }
}
