//! Casts: the four ranks of a kernel that loads the links of an echo.

use std::str::FromStr;

use crate::topology::Topology;
use crate::transport::Rank;
use crate::words::count;

/// The most ranks among which all casts are tried.
const MAX_TRIED: usize = 8;

/// Ranks of a load and of an echo beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cast {
    /// Sender of the load.
    pub source: Rank,
    /// Receiver of the load.
    pub sink: Rank,
    /// Rank that begins the echo and takes times.
    pub tester: Rank,
    /// Rank that answers it.
    pub partner: Rank,
}

impl Cast {
    /// A cast whose load and echo share a link of `topology`: a load from rank 0 to one of the
    /// farthest ranks and an echo over an inner link of that route, or else the first of all casts
    /// of few ranks; `None` where there is none, or where routes are not known.
    pub fn on(topology: &Topology) -> Option<Self> {
        let n_ranks = topology.n_ranks();
        let sinks = (1..n_ranks).rev().filter(|sink| topology.hops(0, *sink) >= 3);
        let inner = |sink: Rank| {
            let route = topology.route(0, sink)?;
            let (tester, partner) = (route[1], route[2]);
            (tester.max(partner) < n_ranks).then_some(Self { source: 0, sink, tester, partner })
        };
        sinks.take(n_ranks).find_map(inner).or_else(|| Self::tried_on(topology))
    }

    /// The four ranks whose routes share a link of `topology`, or the sentence with a remedy.
    ///
    /// # Errors
    /// If there are none, or none that are known.
    pub(super) fn required_on(topology: &Topology) -> Result<Self, String> {
        Self::on(topology).ok_or_else(|| {
            let (ranks, metric) = (count(topology.n_ranks(), "rank"), topology.metric());
            format!(
                "no load between two of {ranks} is known to share a link with an echo between two \
                 others on the {metric} ({})",
                Self::remedy(topology)
            )
        })
    }

    /// A remedy where load and echo share no link of `topology`.
    fn remedy(topology: &Topology) -> String {
        let of_table = "on a real machine a table of hops with --topology";
        match (Self::on(topology), topology.metric()) {
            (Some(cast), _) => {
                let [source, sink, tester, partner] = cast.ranks();
                format!("use --cast {source},{sink},{tester},{partner}, or {of_table}")
            }
            (None, "hypercube") => {
                format!("use at least 8 ranks, or {of_table} and --cast 0,3,1,2")
            }
            (None, "torus") => "use a torus of at least 10 ranks".into(),
            (None, "flat") => "measure ranks that share none, with --cast 0,3,1,2".into(),
            (None, _) => "name the ranks of both, with --cast SOURCE,SINK,RANK,RANK".into(),
        }
    }

    fn tried_on(topology: &Topology) -> Option<Self> {
        let n_ranks = topology.n_ranks();
        let all = || 0..if n_ranks <= MAX_TRIED { n_ranks } else { 0 };
        all()
            .flat_map(|source| all().map(move |sink| (source, sink)))
            .flat_map(|(source, sink)| {
                let echoes = all().flat_map(|tester| all().map(move |partner| (tester, partner)));
                echoes.map(move |(tester, partner)| Self { source, sink, tester, partner })
            })
            .find(|cast| cast.is_of_four() && cast.shares_a_link(topology))
    }

    /// True if load and echo share a link of `topology`.
    pub fn shares_a_link(&self, topology: &Topology) -> bool {
        let links = |from, to| {
            let route = topology.route(from, to).unwrap_or_default();
            route.windows(2).map(|link| (link[0], link[1])).collect::<Vec<_>>()
        };
        let load = links(self.source, self.sink);
        let echo = [links(self.tester, self.partner), links(self.partner, self.tester)].concat();
        load.iter().any(|link| echo.contains(link))
    }

    /// The four ranks, in the order of the fields.
    pub fn ranks(&self) -> [Rank; 4] {
        [self.source, self.sink, self.tester, self.partner]
    }

    fn is_of_four(&self) -> bool {
        let ranks = self.ranks();
        (1..4).all(|i| !ranks[..i].contains(&ranks[i]))
    }

    /// Refuses a rank that is not on `topology`, and routes that are known and share no link.
    ///
    /// # Errors
    /// A sentence with the reason.
    pub fn admit_on(&self, topology: &Topology) -> Result<(), String> {
        let Self { source, sink, tester, partner } = *self;
        let n_ranks = topology.n_ranks();
        if let Some(rank) = self.ranks().into_iter().find(|rank| *rank >= n_ranks) {
            let ranks = count(n_ranks, "rank");
            return Err(format!("the cast names rank {rank}, which is not among {ranks}"));
        }
        if topology.route(source, sink).is_none() || self.shares_a_link(topology) {
            return Ok(());
        }
        Err(format!(
            "a load from {source} to {sink} shares no link with an echo between {tester} and \
             {partner} on the {} ({})",
            topology.metric(),
            Self::remedy(topology)
        ))
    }
}

impl FromStr for Cast {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let ranks: Option<Vec<Rank>> =
            text.split(',').map(|rank| rank.trim().parse().ok()).collect();
        let refuse = || format!("'{text}' names no four different ranks (write 0,7,1,3)");
        match ranks.as_deref() {
            Some(&[source, sink, tester, partner]) => {
                let cast = Self { source, sink, tester, partner };
                if cast.is_of_four() { Ok(cast) } else { Err(refuse()) }
            }
            _ => Err(refuse()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::{Mesh, Metric, torus_sides};

    fn cast([source, sink, tester, partner]: [Rank; 4]) -> Cast {
        Cast { source, sink, tester, partner }
    }

    #[test]
    fn eight_ranks_of_a_hypercube_have_the_parts_of_the_thesis() {
        assert_eq!(Cast::on(&Topology::hypercube(8)), Some(cast([0, 7, 1, 3])));
    }

    #[test]
    fn no_two_routes_of_four_ranks_share_a_link() {
        for n_ranks in 1..=4 {
            assert_eq!(Cast::on(&Topology::hypercube(n_ranks)), None, "{n_ranks} ranks");
        }
        assert!(!cast([0, 3, 1, 2]).shares_a_link(&Topology::hypercube(4)));
    }

    #[test]
    fn every_cast_that_is_found_shares_a_link() {
        for n_ranks in 5..=40 {
            let torus = Topology::with_metric(Mesh::gray(n_ranks), Metric::Torus(vec![n_ranks]));
            for topology in [Topology::hypercube(n_ranks), torus.unwrap()] {
                if let Some(cast) = Cast::on(&topology) {
                    assert!(cast.is_of_four() && cast.shares_a_link(&topology), "{cast:?}");
                    assert_eq!(cast.admit_on(&topology), Ok(()));
                }
                assert!(n_ranks < 8 || Cast::on(&topology).is_some(), "{n_ranks} ranks");
            }
        }
    }

    #[test]
    fn each_remedy_is_one() {
        let on = |metric, n_ranks| Topology::with_metric(Mesh::gray(n_ranks), metric).unwrap();
        let check = |topology: &Topology, expected: &str| {
            let refusal = Cast::required_on(topology).unwrap_err();
            assert!(refusal.contains(expected), "{refusal}");
        };
        check(&Topology::hypercube(4), "on the hypercube (use at least 8 ranks, or on a real");
        check(&on(Metric::Torus(vec![3, 3]), 9), "on the torus (use a torus of at least 10 ranks)");
        for (n_ranks, n_dims) in (10..=64).flat_map(|n| [1, 2, 3].map(|n_dims| (n, n_dims))) {
            let torus = on(Metric::Torus(torus_sides(n_ranks, n_dims)), n_ranks);
            assert!(Cast::required_on(&torus).is_ok(), "{n_ranks} ranks, {n_dims} dimensions");
        }
        // Without routes any cast of the user is measured.
        for (metric, remedy) in [
            (Metric::Flat, "(measure ranks that share none, with --cast 0,3,1,2)"),
            (Metric::FatTree { radix: 4 }, "(name the ranks of both, with --cast SOURCE,"),
        ] {
            let topology = on(metric, 16);
            check(&topology, remedy);
            assert_eq!(cast([0, 3, 1, 2]).admit_on(&topology), Ok(()));
        }
        let refusal = cast([0, 1, 2, 3]).admit_on(&Topology::hypercube(8)).unwrap_err();
        assert!(refusal.contains("(use --cast 0,7,1,3, or on a real machine"), "{refusal}");
    }

    #[test]
    fn a_users_cast_is_read_and_refused_with_a_reason() {
        assert_eq!("2, 3,0,1".parse(), Ok(cast([2, 3, 0, 1])));
        for text in ["0,1,2", "0,1,2,2", "a,b,c,d"] {
            let refusal = text.parse::<Cast>().unwrap_err();
            assert_eq!(refusal, format!("'{text}' names no four different ranks (write 0,7,1,3)"));
        }
        let four = Topology::hypercube(4);
        let refusal = cast([0, 7, 1, 3]).admit_on(&four).unwrap_err();
        assert_eq!(refusal, "the cast names rank 7, which is not among 4 ranks");
        assert_eq!(
            cast([0, 3, 1, 2]).admit_on(&four).unwrap_err(),
            "a load from 0 to 3 shares no link with an echo between 1 and 2 on the hypercube (use at \
             least 8 ranks, or on a real machine a table of hops with --topology and --cast 0,3,1,2)"
        );
        let hops = (0..4).map(|i| (0..4).map(|j| usize::from(i != j)).collect()).collect();
        let of_unknown_routes = Topology::new(Mesh::gray(4), Some(hops)).unwrap();
        assert_eq!(cast([0, 3, 1, 2]).admit_on(&of_unknown_routes), Ok(()));
    }
}
