//! The ranks of a run, as a description of a kernel sees them.

use super::Case;
use super::axis::LENGTH_BYTES;
use super::buffers::Buffers;
use super::cast::Cast;
use super::refusal;
use crate::collective::Graph;
use crate::file::Folder;
use crate::topology::Topology;

/// The ranks of a run: facts that a case needs beside its own values.
#[derive(Clone, Copy, Debug)]
pub struct World<'a> {
    /// Number of ranks.
    pub n_ranks: usize,
    /// Mesh and distances.
    pub topology: &'a Topology,
    /// The user's ranks of a load and of an echo beside it.
    pub given_cast: Option<Cast>,
    /// The user's graph of neighbours.
    pub graph: Option<&'a Graph>,
    /// The user's folder for files.
    pub files: Option<&'a Folder>,
    /// Memory limit of a case on one rank, in bytes.
    pub cap_bytes: u64,
    /// Buffers of the repetitions.
    pub buffers: Buffers,
}

impl<'a> World<'a> {
    /// The ranks of `topology`, with no cast, no graph, no folder and no limit.
    pub fn of(topology: &'a Topology) -> Self {
        let n_ranks = topology.n_ranks();
        let (cap_bytes, buffers) = (u64::MAX, Buffers::Same);
        Self { n_ranks, topology, given_cast: None, graph: None, files: None, cap_bytes, buffers }
    }

    /// Refuses a case that its kernel does not admit, or that exceeds the memory limit.
    ///
    /// # Errors
    /// A sentence with the reason.
    pub fn admit(&self, case: &Case) -> Result<(), String> {
        self.buffers.admit(case.info)?;
        if let Some(element) = case.element().filter(|_| !case.has_whole_elements()) {
            return Err(refusal::of_elements(case.value(&LENGTH_BYTES), element.name()));
        }
        (case.info.admits)(case, self)?;
        self.fits(case)
    }

    /// Refuses a case that exceeds the memory limit.
    ///
    /// # Errors
    /// A sentence with both numbers.
    pub fn fits(&self, case: &Case) -> Result<(), String> {
        let bytes = self.buffers.bytes((case.info.bytes_per_rank)(case, self));
        let cap_bytes = self.cap_bytes;
        if bytes <= cap_bytes {
            return Ok(());
        }
        Err(refusal::of_memory(bytes, cap_bytes))
    }

    /// The ranks of a load and of an echo beside it: the user's, or four whose routes share a link.
    ///
    /// # Errors
    /// A sentence with the reason, if there are none.
    pub fn cast(&self) -> Result<Cast, String> {
        self.require_ranks(4)?;
        if let Some(cast) = self.given_cast {
            return cast.admit_on(self.topology).map(|()| cast);
        }
        Cast::on(self.topology).ok_or_else(|| {
            format!(
                "no load between two of {} shares a link with an echo between two others on the \
                 {} (use at least 8 ranks, or --cast SOURCE,SINK,RANK,RANK)",
                count(self.n_ranks, "rank"),
                self.topology.metric()
            )
        })
    }

    /// Refuses fewer than `n_needed` ranks.
    ///
    /// # Errors
    /// A sentence with both numbers, and the option of launchers.
    pub fn require_ranks(&self, n_needed: usize) -> Result<(), String> {
        let are = if self.n_ranks == 1 { "is" } else { "are" };
        if self.n_ranks >= n_needed {
            return Ok(());
        }
        let n_ranks = self.n_ranks;
        Err(format!(
            "needs at least {n_needed} ranks, there {are} {n_ranks} (ask for -n {n_needed})"
        ))
    }

    /// Refuses a distance at which rank 0 has no partner.
    ///
    /// # Errors
    /// A sentence with the distance and the largest one there is.
    pub fn require_hops(&self, hops: usize) -> Result<(), String> {
        if self.topology.hop_node(0, hops).is_some() {
            return Ok(());
        }
        let (hops, reached) = (count(hops, "hop"), count(self.topology.max_hops(0), "hop"));
        let ranks = count(self.n_ranks, "rank");
        let verb = if self.n_ranks == 1 { "reaches" } else { "reach" };
        Err(format!("no rank is {hops} from rank 0: {ranks} {verb} {reached}"))
    }
}

/// `1 hop`, `2 hops`.
fn count(n: usize, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_say_what_is_missing() {
        let [one, three, four] = [1, 3, 4].map(Topology::hypercube);
        let [one, three, four] = [&one, &three, &four].map(World::of);
        let check = |found: Result<(), String>, expected: &str| {
            assert_eq!(found.unwrap_err(), expected);
        };
        check(one.require_ranks(2), "needs at least 2 ranks, there is 1 (ask for -n 2)");
        check(three.require_ranks(4), "needs at least 4 ranks, there are 3 (ask for -n 4)");
        check(four.require_hops(3), "no rank is 3 hops from rank 0: 4 ranks reach 2 hops");
        check(one.require_hops(1), "no rank is 1 hop from rank 0: 1 rank reaches 0 hops");
        assert_eq!(four.require_hops(2), Ok(()));
    }
}
