//! A backend for tests, which joins three ranks that a launcher started.

use comet_core::transport::Rank;

use super::{Backend, Ended, Job, Launch};
use crate::cli::WorldArgs;
use crate::launcher::Launcher;
use crate::session::Session;
use crate::world::Origin;

/// The part of one process in a job of three, whose first process ends with `first_code`.
#[derive(Clone, Copy)]
pub(crate) struct OneOfThree {
    pub(crate) rank: Rank,
    pub(crate) first_code: u8,
}

impl Backend for OneOfThree {
    fn name(&self) -> &'static str {
        "mpi"
    }

    fn summary(&self) -> &'static str {
        "three ranks that were there before"
    }

    fn is_launched(&self) -> bool {
        true
    }

    fn join(
        &self,
        _: &WorldArgs,
        _: &Origin,
        _: Option<&Launcher>,
    ) -> anyhow::Result<Box<dyn Job>> {
        Ok(Box::new(*self))
    }
}

impl Job for OneOfThree {
    fn rank(&self) -> Rank {
        self.rank
    }

    fn n_ranks(&self) -> Option<usize> {
        Some(3)
    }

    fn agree(&self, code: u8) -> u8 {
        if self.rank == 0 { code } else { self.first_code }
    }

    fn describe(&self, _: &Launch) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    fn launch(
        &self,
        _: &Launch,
        _: &Session<'_>,
        conclude: &(dyn Fn(&Ended) -> u8 + Sync),
    ) -> anyhow::Result<u8> {
        Ok(conclude(&Ok(self.first_code)))
    }
}
