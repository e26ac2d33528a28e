//! Communicators: time of making one, of every other rank or of all ranks.
//!
//! **Source**: SKaMPI (R. Reussner, P. Sanders, J. L. Traff), section 3.2, type 22, and version 5
//! (`coll.c`); MPI-4.1 section 7.4.2.
//!
//! **Pattern**
//! ```text
//!   all ranks, started together
//!
//!   comm_split   22   Comm_split into the ranks with even and with odd numbers
//!   comm_dup          Comm_dup
//! ```
//! **Timed** (all ranks): the call alone. What it has made is freed before the next interval.
//!
//! **Reports**: time from the start to the end, by the definition in effect: one that starts each
//! call together.
//!
//! **Rate**: none.
//!
//! **Parameters**: none beside the number of ranks.
//!
//! **Verified by**: number of this rank, and of the ranks, as the library tells them for the new
//! communicator.
//!
//! **Caution**: over MPI the time is that of one call, with the error handler of what it made.
//! Where no library holds the ranks, it is that of telling each rank who is in which part, which
//! needs memory; a simulated machine takes a barrier.

use comet_core::kernel::prelude::*;

use super::SUITE;

/// `skampi/comm_dup` if it `IS_WHOLE`, else `skampi/comm_split`; see the [module](self).
pub(crate) struct Communicator<const IS_WHOLE: bool>;

/// The part of one rank.
pub(crate) struct Making<T, const IS_WHOLE: bool> {
    rank: Rank,
    n_ranks: usize,
    /// A part that a split has made before.
    model: Option<T>,
    made: Option<T>,
}

impl<T: Transport, const IS_WHOLE: bool> Making<T, IS_WHOLE> {
    fn colour(rank: Rank) -> Option<u32> {
        Some(u32::from(rank % 2 == 1))
    }

    /// Number of this rank in what is made, and of the ranks there.
    fn expected(&self) -> [usize; 2] {
        match IS_WHOLE {
            true => [self.rank, self.n_ranks],
            false => [self.rank / 2, (self.n_ranks + 1 - self.rank % 2) / 2],
        }
    }

    fn found(&self) -> Option<[usize; 2]> {
        let made = self.made.as_ref()?;
        Some([made.asked_rank().ok()?, made.asked_n_ranks().ok()?])
    }
}

impl<T: Transport, const IS_WHOLE: bool> Operation<T> for Making<T, IS_WHOLE> {
    fn fill(&mut self, _: Seeds) {
        self.made = None;
    }

    #[inline]
    fn run(&mut self, t: &T) -> Result<()> {
        self.made = match IS_WHOLE {
            true => Some(t.duplicate()?),
            false => t.split_again(Self::colour(self.rank), 0, self.model.as_ref())?,
        };
        Ok(())
    }

    fn clear(&mut self, _: &T) -> Result<()> {
        self.made = None;
        Ok(())
    }

    fn check(&mut self, check: &mut Checker) {
        let (expected, found) = (self.expected(), self.found());
        let mut found = found.map_or([f64::NAN; 2], |found| found.map(|n| n as f64));
        let what = "number of the rank in the communicator, and of its ranks";
        check.values(&mut found, |i| expected[i] as f64, |_| true, what);
    }

    fn close(&mut self, _: &T) -> Result<()> {
        (self.made, self.model) = (None, None);
        Ok(())
    }
}

impl<T: Transport, const IS_WHOLE: bool> Pattern<T> for Communicator<IS_WHOLE> {
    const INFO: KernelInfo = KernelInfo {
        name: if IS_WHOLE { "comm_dup" } else { "comm_split" },
        file: include_str!("communicator.rs"),
        summary: match IS_WHOLE {
            true => "A communicator of the same ranks",
            false => "Communicators of the even and of the odd ranks",
        },
        aliases: match IS_WHOLE {
            true => &["SKaMPI:Comm_dup"],
            false => &["SKaMPI:22", "SKaMPI:Comm_split"],
        },
        class: Class::Synchronisation,
        axes: &[],
        series: &[Series::completion("call")],
        prepares_each: true,
        is_movable: false,
        ..KernelInfo::collective(SUITE.suite)
    };
    type Part = Making<T, IS_WHOLE>;

    fn part(&self, cx: &Context<'_, T>, _: &Case, _: usize) -> Result<Role<Self::Part>> {
        let (rank, t) = (cx.rank(), cx.transport());
        let model = match IS_WHOLE {
            true => None,
            false => t.split(Self::Part::colour(rank), 0)?,
        };
        let part = Making { rank, n_ranks: t.n_ranks(), model, made: None };
        Ok(Some((Duty::Together, part)))
    }
}
