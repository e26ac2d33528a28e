//! Stencils: time of messages that all ranks exchange at once with their neighbours on a torus.
//!
//! **Source**: IMB 2021, IMB-P2P, `Stencil2D`, `Stencil3D`.
//!
//! **Pattern**, on all ranks, for each dimension of a torus of 2 or 3
//! ```text
//!   rank at x-1  <--> rank at x <--> rank at x+1      posts a receive from each neighbour, then a
//!                                                     send to each, and waits for all
//! ```
//! **Timed** (all ranks): 4 or 6 receives and as many sends, in a loop. Buffers and test data are
//! made before.
//!
//! **Reports**: mean time of a round in a loop, on the slowest rank.
//!
//! **Rate**: 4 P (stencil2d) or 6 P (stencil3d) x `length_bytes` / time, of all ranks together.
//!
//! **Parameters**: `length_bytes` of one message.
//!
//! **Verified by**: other test data of each rank and message; contents, source and length of every
//! message on every rank; canaries about all buffers.
//!
//! **Caution**: sides of the torus are those of IMB-P2P, which finds none for a prime number of
//! ranks and for some others. Where a side has 2 ranks both neighbours are one. IMB-P2P prints as t
//! the mean time of the ranks divided by 4 or 6, and touches messages unless told otherwise
//! (`--buffers touched:lines`).

use comet_core::kernel::Touch;
use comet_core::kernel::prelude::*;
use comet_core::topology::stencil_sides;
use comet_core::transport::Room;
use comet_core::words::count;

use super::slot::{read, write};
use super::{SUITE, round};
use crate::guarded::Guarded;

/// The kernel on a torus of `N` dimensions.
pub(crate) struct Stencil<const N: usize>;

/// Neighbours of `rank` on a torus, the first dimension first: of each dimension the one before and the one
/// after.
fn neighbours(sides: &[usize], rank: Rank) -> Vec<Rank> {
    let mut stride = 1;
    let of_dimension = |side: &usize| {
        let (own, of_side) = (stride, *side);
        stride *= of_side;
        let place = rank / own % of_side;
        [of_side - 1, 1].map(|step| rank - place * own + (place + step) % of_side * own)
    };
    sides.iter().flat_map(of_dimension).collect()
}

/// One rank, with a message for each neighbour and room for one from each.
pub(crate) struct Node<T: Transport> {
    rank: Rank,
    tag: Tag,
    peers: Vec<Rank>,
    messages: Vec<Guarded<T::Buffer>>,
    buffers: Vec<Guarded<T::Buffer>>,
    /// Numbers at the neighbours of the messages that arrive.
    numbers: Vec<u16>,
    arrived_bytes: Vec<Option<usize>>,
    /// Memory of the sets of requests between two rounds.
    sends: Room<T::SendOp<'static>>,
    receives: Room<T::RecvOp<'static>>,
}

/// The number at neighbour `index` of the message that is received from it: messages between two ranks
/// arrive in the order in which they were sent.
fn number(sides: &[usize], rank: Rank, index: usize) -> u16 {
    let peers = neighbours(sides, rank);
    let peer = peers[index];
    let n_before = peers[..index].iter().filter(|other| **other == peer).count();
    let sent = (0..).zip(neighbours(sides, peer)).filter(|(_, to)| *to == rank);
    sent.map(|(number, _)| number).nth(n_before).unwrap_or(0)
}

impl<T: Transport> Node<T> {
    fn new(cx: &Context<'_, T>, length_bytes: usize, sides: &[usize]) -> Result<Self> {
        let (rank, peers) = (cx.rank(), neighbours(sides, cx.rank()));
        let n = peers.len();
        let guarded = || (0..n).map(|_| Guarded::new(cx, length_bytes)).collect::<Result<_>>();
        Ok(Self {
            rank,
            tag: cx.tag(0),
            peers,
            messages: guarded()?,
            buffers: guarded()?,
            numbers: (0..n).map(|index| number(sides, rank, index)).collect(),
            arrived_bytes: vec![None; n],
            sends: Room::of(n),
            receives: Room::of(n),
        })
    }

    #[inline]
    fn round(&mut self, t: &T, touch: Option<Touch>) -> Result<()> {
        let Self { tag, peers, messages, buffers, arrived_bytes, sends, receives, .. } = self;
        for message in &mut *messages {
            write(t, touch, message.bytes());
        }
        t.scope(|s| {
            let mut incoming = s.requests_in(std::mem::take(receives));
            let mut outgoing = s.requests_in(std::mem::take(sends));
            for (peer, buffer) in peers.iter().zip(&mut *buffers) {
                incoming.push(s.unblocked_recv(Source::Rank(*peer), *tag, buffer.bytes())?);
            }
            for (peer, message) in peers.iter().zip(messages) {
                outgoing.push(s.unblocked_send(*peer, *tag, message.bytes())?);
            }
            incoming.wait_each_with(&mut outgoing, |number, (status, _)| {
                arrived_bytes[number] = status.length_from(peers[number]);
            })?;
            (*sends, *receives) = (outgoing.into_room()?, incoming.into_room()?);
            Ok(())
        })?;
        for buffer in buffers {
            read(t, touch, buffer.bytes());
        }
        Ok(())
    }

    /// Seeds of the messages that arrive.
    fn arriving(&self, seeds: Seeds) -> impl Iterator<Item = u64> {
        self.peers.iter().zip(&self.numbers).map(move |(peer, number)| seeds.of(*number, *peer))
    }
}

impl<T: Transport> Operation<T> for Node<T> {
    fn fill(&mut self, seeds: Seeds) {
        for (number, message) in (0..).zip(&mut self.messages) {
            pattern::fill(message.bytes(), seeds.of(number, self.rank));
        }
        let arriving: Vec<u64> = self.arriving(seeds).collect();
        for (seed, buffer) in arriving.into_iter().zip(&mut self.buffers) {
            pattern::spoil(buffer.bytes(), seed);
        }
    }

    #[inline]
    fn run(&mut self, t: &T) -> Result<()> {
        self.round(t, None)
    }

    #[inline]
    fn run_touched(&mut self, t: &T, touch: Touch) -> Result<()> {
        self.round(t, Some(touch))
    }

    fn check(&mut self, check: &mut Checker) {
        let arriving: Vec<u64> = self.arriving(check.seeds()).collect();
        for (index, seed) in arriving.into_iter().enumerate() {
            let (peer, length_bytes) = (self.peers[index], self.arrived_bytes[index]);
            let what = format!("message {index} from rank {peer}");
            check.arrival(length_bytes, (self.buffers[index].bytes(), seed), &what);
            self.buffers[index].check(check, &what);
            self.messages[index].check(check, &format!("message {index} to rank {peer}"));
        }
    }
}

impl<const N: usize, T: Transport> Pattern<T> for Stencil<N> {
    const INFO: KernelInfo = KernelInfo {
        name: if N == 2 { "stencil2d" } else { "stencil3d" },
        file: include_str!("stencil.rs"),
        summary: if N == 2 {
            "All ranks exchange messages with 4 neighbours on a torus of 2 dimensions"
        } else {
            "All ranks exchange messages with 6 neighbours on a torus of 3 dimensions"
        },
        aliases: if N == 2 { &["IMB-P2P:Stencil2D"] } else { &["IMB-P2P:Stencil3D"] },
        series: if N == 2 {
            &[round::<4>(&[Rate {
                kind: RateKind::Messages,
                formula: "4 P / time",
                per_op: |_, world| 4.0 * world.n_ranks as f64,
            }])]
        } else {
            &[round::<6>(&[Rate {
                kind: RateKind::Messages,
                formula: "6 P / time",
                per_op: |_, world| 6.0 * world.n_ranks as f64,
            }])]
        },
        admits: |_, world| match stencil_sides(world.n_ranks, N) {
            Some(_) => Ok(()),
            None => Err(format!(
                "{} make no torus of {N} dimensions with sides of at least 2 (ask for -n {})",
                count(world.n_ranks, "rank"),
                1 << N
            )),
        },
        bytes_per_rank: |case, _| case.value(&LENGTH_BYTES).saturating_mul(4 * N as u64),
        messages_per_op: |_, world| 2 * (N * world.n_ranks) as u64,
        ..SUITE
    };
    type Part = Node<T>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        let Some(sides) = stencil_sides(cx.transport().n_ranks(), N) else { return Ok(None) };
        Ok(Some((Duty::Together, Node::new(cx, case.length(&LENGTH_BYTES), &sides)?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_the_ones_before_and_after_in_each_dimension() {
        assert_eq!(neighbours(&[4, 2], 5), [4, 6, 1, 1]);
        assert_eq!(neighbours(&[3, 4, 2], 0), [2, 1, 9, 3, 12, 12]);
        for sides in [&[2, 3][..], &[2, 2], &[4, 2, 2], &[3, 4, 2]] {
            for rank in 0..sides.iter().product() {
                for (index, peer) in neighbours(sides, rank).into_iter().enumerate() {
                    let back = neighbours(sides, peer)[usize::from(number(sides, rank, index))];
                    assert_eq!(back, rank, "{sides:?} {index}");
                }
            }
        }
    }
}
