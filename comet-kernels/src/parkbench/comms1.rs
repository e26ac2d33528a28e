//! COMMS1: the basic properties of communication, by a message that goes to and fro.
//!
//! **Source**: PARKBENCH, low-level benchmark COMMS1 (from Genesis).
//!
//! **Pattern**
//! ```text
//!   rank 0 (master)  ──OUT──►  rank 1 (slave), one hop away
//!                    ◄──BACK─
//! ```
//! **Timed** (rank 0): blocked send, blocked receive. Buffers are made before.
//!
//! **Reports**: T, half of the round trip, and `length_bytes` / T. The law T = (n + n½) / r∞ is
//! fitted to a sweep over `length_bytes`.
//!
//! **Parameters**: `length_bytes`.
//!
//! **Verified by**: other test data in each direction; contents, source and length on both sides.
//!
//! **Caution**: the same operation as `comet/echo` at one hop, and by the same code; what differs
//! is the sweep, which is that of a fit.

use comet_core::context::Context;
use comet_core::definition::{Definition, Quantity};
use comet_core::error::KernelError;
use comet_core::kernel::{AxisUse, Case, Kernel, KernelInfo, LENGTH_BYTES, Series, World};
use comet_core::transport::Transport;

use crate::comet::echo;
use crate::roles::Role;

/// Distance of the slave.
const HOPS: usize = 1;

/// Message lengths of both kernels of two ranks. PARKBENCH fits a straight line, so that steps by
/// factors do; 100 and 101 bytes lie at the break of its example, the iPSC/860.
pub(super) const LENGTHS: AxisUse = AxisUse {
    axis: &LENGTH_BYTES,
    sweeps: [
        "0,100,1Ki,8Ki,64Ki",
        "0,8,64,100,101,256,512,1Ki..64Ki*2,256Ki,1Mi,4Mi",
        "0,1..4Mi*2,100,101,192,384,768,1536..3Mi*2",
    ],
};

/// The kernel `parkbench/comms1`; see the [module](self).
#[derive(Clone, Copy, Debug)]
pub struct Comms1;

static INFO: KernelInfo = KernelInfo {
    name: "comms1",
    summary: "Ping-pong: half of the time of a message that is returned at once",
    source: "PARKBENCH low-level benchmarks, COMMS1",
    aliases: &["PARKBENCH:COMMS1", "IMB:PingPong"],
    axes: &[LENGTHS],
    series: &[Series {
        bytes_per_op: |case, _| Some(case.value(&LENGTH_BYTES)),
        ..Series::of("comms1", Quantity::OneWayTime, Definition::HalfRoundTrip)
    }],
    admits: admits_pair,
    ..KernelInfo::pair("parkbench")
};

/// Refuses a rank alone.
pub(super) fn admits_pair(_case: &Case, world: &World<'_>) -> Result<(), String> {
    world.require_ranks(2)?;
    world.require_hops(HOPS)
}

impl<T: Transport> Kernel<T> for Comms1 {
    fn info(&self) -> &'static KernelInfo {
        &INFO
    }

    fn verify(&self, cx: &mut Context<'_, T>, case: &Case) -> Result<(), KernelError> {
        let length_bytes = case.length(&LENGTH_BYTES);
        match Role::of(cx.rank(), cx.topology(), HOPS) {
            Some(Role::Tester(slave)) => echo::verify_tester(cx, slave, length_bytes),
            Some(Role::Partner(master)) => echo::verify_partner(cx, master, length_bytes),
            Some(Role::Alone) | None => Ok(()),
        }
    }

    fn measure(&self, cx: &mut Context<'_, T>, case: &Case) -> Result<(), KernelError> {
        let mut message = cx.message(case.length(&LENGTH_BYTES))?;
        match Role::of(cx.rank(), cx.topology(), HOPS) {
            Some(Role::Tester(slave)) => cx.time(0, |t| echo::bounce(t, slave, &mut message))?,
            Some(Role::Partner(master)) => {
                cx.follow(0, |t| echo::send_back(t, master, &mut message))?;
            }
            Some(Role::Alone) | None => (),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness;
    use comet_core::topology::Topology;

    #[test]
    fn comms1_verifies_and_is_sampled_on_the_master() {
        harness::check_kernel(&Comms1);
    }

    #[test]
    fn comms1_notices_a_corrupting_transport() {
        harness::check_corrupt_transport(&Comms1);
    }

    #[test]
    fn a_master_needs_a_slave() {
        let refusal =
            admits_pair(&Case::new(&INFO, &[8]), &World::of(&Topology::hypercube(1))).unwrap_err();
        assert_eq!(refusal, "needs at least 2 ranks, there is 1");
    }
}
