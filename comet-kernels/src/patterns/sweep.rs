//! Sweep: time of a wavefront that crosses the mesh from one corner to the other, plane by plane.
//!
//! **Source**: thesis section 6.1; the wavefronts of transport codes (Koch, Baker and Alcouffe
//! 1992) and of triangular solvers.
//!
//! **Pattern**, on all ranks of the mesh, which has edges here; `planes` times
//! ```text
//!   (0,0) --> (0,1) --> (0,2)       each rank receives from the north, then from the west,
//!     |         |         |         then sends to the south, then to the east;
//!     v         v         v         edges have no such neighbour
//!   (1,0) --> (1,1) --> (1,2)
//! ```
//! A plane follows the one before it at a distance of one rank, so that ranks on a diagonal work at
//! once.
//!
//! **Timed** (all ranks): the blocked calls of all planes, after a barrier.
//!
//! **Reports**: completion time of one sweep: of R x C ranks about (R + C - 2 + `planes` - 1)
//! stages, each of one message and its calls.
//!
//! **Rate**: `planes` x (R (C-1) + C (R-1)) x `length_bytes` / time, of all ranks together.
//!
//! **Parameters**: `planes` that follow each other, `length_bytes` of one message.
//!
//! **Verified by**: other test data of each rank, plane and direction; contents, source and length
//! of every message on every rank; canaries about all buffers.
//!
//! **Caution**: no work lies between receives and sends, so that this is the least time of such a
//! sweep. The transfer rate is low by nature: most ranks wait until the front comes.

use comet_core::kernel::prelude::*;

use super::SUITE;
use crate::axes::DOUBLING;
use crate::guarded::Guarded;

/// Planes of a sweep.
pub(super) static PLANES: Axis =
    Axis::count("planes", "planes", "planes of a sweep, which follow each other");

/// Most planes: each has two streams of test data.
const MAX_PLANES: u64 = 1 << 15;

/// `patterns/sweep`; see the [module](self).
pub(crate) struct Sweep;

/// Messages of all planes to or from one neighbour.
struct Edge<B> {
    peer: Rank,
    /// 0 for messages to the south, 1 for those to the east.
    direction: usize,
    messages: Vec<Guarded<B>>,
    /// Lengths of those that arrived from there.
    arrived_bytes: Vec<Option<usize>>,
}

impl<B: std::ops::DerefMut<Target = [u8]>> Edge<B> {
    /// Stream of the message of a plane at its sender.
    fn stream(&self, plane: usize) -> u16 {
        u16::try_from(2 * plane + self.direction).expect("admitted sweeps have no more planes")
    }
}

/// One rank.
pub(crate) struct Crossed<B> {
    rank: Rank,
    tag: Tag,
    n_planes: usize,
    /// From the north and the west.
    incoming: Vec<Edge<B>>,
    /// To the south and the east.
    outgoing: Vec<Edge<B>>,
}

impl<T: Transport> Operation<T> for Crossed<T::Buffer> {
    fn fill(&mut self, seeds: Seeds) {
        let (rank, n_planes) = (self.rank, self.n_planes);
        for plane in 0..n_planes {
            for edge in &mut self.outgoing {
                let seed = seeds.of(edge.stream(plane), rank);
                pattern::fill(edge.messages[plane].bytes(), seed);
            }
            for edge in &mut self.incoming {
                let seed = seeds.of(edge.stream(plane), edge.peer);
                pattern::spoil(edge.messages[plane].bytes(), seed);
            }
        }
    }

    #[inline]
    fn run(&mut self, t: &T) -> Result<()> {
        let Self { tag, n_planes, incoming, outgoing, .. } = self;
        for plane in 0..*n_planes {
            for Edge { peer, messages, arrived_bytes, .. } in &mut *incoming {
                let buffer = messages[plane].bytes();
                let status = t.blocked_recv(Source::Rank(*peer), *tag, buffer)?;
                arrived_bytes[plane] = status.length_from(*peer);
            }
            for Edge { peer, messages, .. } in &mut *outgoing {
                t.blocked_send(*peer, *tag, messages[plane].bytes())?;
            }
        }
        Ok(())
    }

    fn check(&mut self, check: &mut Checker) {
        for plane in 0..self.n_planes {
            for edge in &mut self.incoming {
                let (peer, seed) = (edge.peer, check.seeds().of(edge.stream(plane), edge.peer));
                let what = format!("the message of plane {plane} from rank {peer}");
                let message = &mut edge.messages[plane];
                check.arrival(edge.arrived_bytes[plane], (message.bytes(), seed), &what);
                message.check(check, &what);
            }
            for edge in &mut self.outgoing {
                let what = format!("the message of plane {plane} to rank {}", edge.peer);
                edge.messages[plane].check(check, &what);
            }
        }
    }
}

/// Messages of a plane on all ranks.
fn n_messages(world: &World<'_>) -> u64 {
    let mesh = world.topology.mesh();
    let (rows, cols) = (mesh.rows() as u64, mesh.cols() as u64);
    rows * (cols - 1) + cols * (rows - 1)
}

impl<T: Transport> Pattern<T> for Sweep {
    const INFO: KernelInfo = KernelInfo {
        name: "sweep",
        file: include_str!("sweep.rs"),
        summary: "A wavefront crosses the mesh from one corner to the other",
        class: Class::Matrix,
        axes: &[AxisUse::of(&PLANES, "1,8"), DOUBLING],
        series: &[Series::completion("sweep").moving(|case, world| {
            let n_messages = n_messages(world).saturating_mul(case.value(&PLANES));
            Some(n_messages.saturating_mul(case.value(&LENGTH_BYTES)))
        })],
        admits: |case, world| match case.value(&PLANES) {
            1..=MAX_PLANES => world.require_ranks(2),
            n => Err(format!("a sweep has 1 to {MAX_PLANES} planes, got {n} (use 1 or 8)")),
        },
        bytes_per_rank: |case, _| {
            case.value(&LENGTH_BYTES).saturating_mul(4).saturating_mul(case.value(&PLANES))
        },
        messages_per_op: |case, world| n_messages(world).saturating_mul(case.value(&PLANES)),
        ..SUITE
    };
    type Part = Crossed<T::Buffer>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        let (mesh, n_planes) = (cx.topology().mesh(), case.length(&PLANES));
        let (row, col) = mesh.position(cx.rank());
        let edge = |(direction, peer)| -> Result<_> {
            let message = || Guarded::new(cx, case.length(&LENGTH_BYTES));
            let messages = (0..n_planes).map(|_| message()).collect::<Result<_>>()?;
            Ok(Edge { peer, direction, messages, arrived_bytes: vec![None; n_planes] })
        };
        let north = (row > 0).then(|| (0, mesh.rank_at(row - 1, col)));
        let west = (col > 0).then(|| (1, mesh.rank_at(row, col - 1)));
        let south = (row + 1 < mesh.rows()).then(|| (0, mesh.rank_at(row + 1, col)));
        let east = (col + 1 < mesh.cols()).then(|| (1, mesh.rank_at(row, col + 1)));
        let edges = |of: [Option<_>; 2]| of.into_iter().flatten().map(edge).collect::<Result<_>>();
        let (incoming, outgoing) = (edges([north, west])?, edges([south, east])?);
        let part = Crossed { rank: cx.rank(), tag: cx.tag(0), n_planes, incoming, outgoing };
        Ok(Some((Duty::Together, part)))
    }
}
