//! Ring: time in which the block of each rank travels once around all others, as particles do that
//! meet each other in pairs.
//!
//! **Source**: thesis section 6.1, which wishes for more patterns of scientific computing; the
//! systolic ring of n-body codes.
//!
//! **Pattern**, on all P ranks, P - 1 steps
//! ```text
//!   rank r  --> r+1     sends the block that it holds
//!           <-- r-1     and then holds the one that came: that of rank r-k after step k
//! ```
//! **Timed** (all ranks): P - 1 blocked exchanges, after a barrier.
//!
//! **Reports**: completion time of one operation.
//!
//! **Rate**: P (P-1) x `length_bytes` / time, of all ranks together.
//!
//! **Parameters**: `length_bytes` of one block.
//!
//! **Verified by**: other test data of each rank; contents, source and length of the block of every
//! step.
//!
//! **Caution**: a step of `imb/sendrecv` sends the same message each time; here what came is sent
//! next. Where no two messages share a link a step takes the time of one message on all ranks.

use comet_core::kernel::prelude::*;

use super::SUITE;
use crate::axes::DOUBLING;

/// `patterns/ring`; see the [module](self).
pub(crate) struct Ring;

/// One rank with the block that it holds.
pub(crate) struct Station<B> {
    rank: Rank,
    n_ranks: usize,
    /// The ranks before and after this one.
    peers: (Rank, Rank),
    tag: Tag,
    held: B,
    incoming: B,
    arrived_bytes: Option<usize>,
}

impl<B: std::ops::DerefMut<Target = [u8]>> Station<B> {
    #[inline]
    fn step<T: Transport<Buffer = B>>(&mut self, t: &T) -> Result<()> {
        let Self { peers: (from, to), tag, held, incoming, .. } = self;
        let status = t.blocked_exchange(*to, held, Source::Rank(*from), incoming, *tag)?;
        self.arrived_bytes = status.length_from(*from);
        std::mem::swap(held, incoming);
        Ok(())
    }

    /// Checks that the block of the rank `n_steps` before this one is held.
    fn check_held(&mut self, check: &mut Checker, n_steps: u64) {
        let n_steps = usize::try_from(n_steps % self.n_ranks as u64).unwrap_or(0);
        let origin = (self.rank + self.n_ranks - n_steps) % self.n_ranks;
        let seed = check.seeds().of(0, origin);
        check.arrival(
            self.arrived_bytes,
            (&mut self.held, seed),
            &format!("the block of rank {origin}"),
        );
    }
}

impl<T: Transport> Operation<T> for Station<T::Buffer> {
    fn fill(&mut self, seeds: Seeds) {
        pattern::fill(&mut self.held, seeds.of(0, self.rank));
        pattern::spoil(&mut self.incoming, seeds.of(0, self.peers.0));
    }

    #[inline]
    fn run(&mut self, t: &T) -> Result<()> {
        for _ in 1..self.n_ranks {
            self.step(t)?;
        }
        Ok(())
    }

    fn check(&mut self, check: &mut Checker) {
        let n_steps = check.n_runs().saturating_mul(self.n_ranks as u64 - 1);
        self.check_held(check, n_steps);
    }

    /// The steps of one run, with a check of each block.
    fn verify(&mut self, t: &T, check: &mut Checker) -> Result<()> {
        Operation::<T>::fill(self, check.seeds());
        for n_steps in 1..self.n_ranks {
            self.step(t)?;
            self.check_held(check, n_steps as u64);
            // Else the next block could be one that was held before.
            let next = (self.rank + self.n_ranks - n_steps - 1) % self.n_ranks;
            pattern::spoil(&mut self.incoming, check.seeds().of(0, next));
        }
        Ok(())
    }
}

impl<T: Transport> Pattern<T> for Ring {
    const INFO: KernelInfo = KernelInfo {
        name: "ring",
        file: include_str!("ring.rs"),
        summary: "The block of each rank travels once around the ring of all ranks",
        axes: &[DOUBLING],
        series: &[Series::completion("ring").moving(|case, world| {
            let n_messages = (world.n_ranks as u64).saturating_mul(world.n_ranks as u64 - 1);
            Some(n_messages.saturating_mul(case.value(&LENGTH_BYTES)))
        })],
        bytes_per_rank: |case, _| case.value(&LENGTH_BYTES).saturating_mul(2),
        messages_per_op: |_, world| (world.n_ranks * (world.n_ranks - 1)) as u64,
        ..SUITE
    };
    type Part = Station<T::Buffer>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        let length = case.length(&LENGTH_BYTES);
        let (held, incoming) = (cx.message(length)?, cx.message(length)?);
        let (rank, n_ranks, peers) = (cx.rank(), cx.transport().n_ranks(), cx.ring());
        let (tag, arrived_bytes) = (cx.tag(0), None);
        let part = Station { rank, n_ranks, peers, tag, held, incoming, arrived_bytes };
        Ok(Some((Duty::Together, part)))
    }
}
