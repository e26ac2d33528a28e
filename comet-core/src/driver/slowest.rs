//! The pair of ranks with the longest round trip, which a kernel looks for before it is timed.

use std::sync::Mutex;

use crate::collective::share;
use crate::error::Result;
use crate::rounds;
use crate::transport::{Rank, Source, Tag, Transport};

/// Round trips of a pair, of which the shortest counts; few in virtual time, which repeats.
const N_TRIPS: u32 = 20;

/// A number of ranks, and whether rank 0 is one of the pair.
type Among = (usize, bool);

/// Pairs that were found.
#[derive(Debug, Default)]
pub(crate) struct Slowest(Mutex<Vec<(Among, [Rank; 2])>>);

impl Slowest {
    /// The two ranks between which an empty message and its answer take longest, the lower one first: of all
    /// pairs or, if `of_root`, of those of rank 0. All ranks call it, and the first call looks for them.
    pub(crate) fn pair<T: Transport>(&self, t: &T, tag: Tag, of_root: bool) -> Result<[Rank; 2]> {
        let key = (t.n_ranks(), of_root);
        let known = || self.0.lock().expect("no holder panics");
        if let Some((_, pair)) = known().iter().find(|(of, _)| *of == key) {
            return Ok(*pair);
        }
        let pair = find(t, tag, of_root)?;
        known().push((key, pair));
        Ok(pair)
    }
}

/// The pair; the lowest ranks of several that take as long.
fn find<T: Transport>(t: &T, tag: Tag, of_root: bool) -> Result<[Rank; 2]> {
    let (rank, n_ranks) = (t.rank(), t.n_ranks());
    // The longest time with a higher rank, and that rank.
    let mut longest = (0, u64::MAX);
    for round in 1..=rounds::count(n_ranks) {
        let Some(peer) = rounds::partner(rank, n_ranks, round) else { continue };
        if of_root && rank.min(peer) > 0 {
            continue;
        }
        let ns = shortest_ns(t, peer, tag)?;
        let is_longer = ns > longest.0 || (ns == longest.0 && (peer as u64) < longest.1);
        if rank < peer && is_longer {
            longest = (ns, peer as u64);
        }
    }
    let of_ranks = share(t, [longest.0, longest.1])?.into_iter().enumerate();
    let pairs = of_ranks.filter(|(_, [_, peer])| *peer != u64::MAX);
    let slowest = pairs.reduce(|best, next| if next.1[0] > best.1[0] { next } else { best });
    let (rank, [_, peer]) = slowest.expect("rank 0 has a pair");
    Ok([rank, usize::try_from(peer).expect("it was a rank")])
}

/// The shortest time of a round trip with `peer`; the lower rank of the two begins.
fn shortest_ns<T: Transport>(t: &T, peer: Rank, tag: Tag) -> Result<u64> {
    let mut least_ns = u64::MAX;
    for _ in 0..if t.clock().is_virtual { 3 } else { N_TRIPS } {
        let start_ns = t.now_ns();
        if t.rank() < peer {
            t.blocked_send(peer, tag, &[])?;
        }
        t.blocked_recv(Source::Rank(peer), tag, &mut [])?;
        if t.rank() > peer {
            t.blocked_send(peer, tag, &[])?;
        }
        least_ns = least_ns.min(t.now_ns().saturating_sub(start_ns));
    }
    Ok(least_ns)
}
