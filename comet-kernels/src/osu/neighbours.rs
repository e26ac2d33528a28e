//! Collectives among neighbours on a torus: time of one operation of all ranks, by the call of the
//! transport or by messages.
//!
//! **Source**: OSU micro-benchmarks 7.4, `osu_neighbor_*`, with `-N cart:dimensions:radius` or
//! `-N graph:file`; MPI-4.1 section 8.6.
//!
//! **Pattern**, ranks on a torus, row by row; the neighbours of a rank are all ranks at most `radius`
//! away from it in each dimension, in the order of their coordinates. With `--graph FILE` they are the
//! ends of its edges, in the order of the file
//! ```text
//!   neighbor_allgather(v)      each rank ==message==> its neighbours
//!   neighbor_alltoall(v, w)    each rank ==parts==> its neighbours, another one for each
//! ```
//! **Timed** (all ranks): one call. The graph of the neighbours (`MPI_Dist_graph_create_adjacent`),
//! buffers, plans and test data are made before.
//!
//! **Reports**: time from the first start to the last finish over all ranks. `graph_ns` is the time of the
//! one call that made the graph, the mean over the ranks, where the transport makes one.
//!
//! **Rate**: `length_bytes` / time, of one message.
//!
//! **Parameters**: `length_bytes` of one message. `dimensions` of the torus, whose sides are as equal as
//! the number of ranks lets them be, and `radius`: 1 and 1, a ring, in OSU; 0 and 0 with a graph of the
//! user. `algorithm`: that of the transport, or `linear`, all messages at once.
//!
//! **Verified by**: contents on every rank, over spoiled buffers with canaries on both sides; parts of
//! uneven lengths where the call admits them.
//!
//! **Caution**: a side has 2 x `radius` + 1 ranks at the least, so that all neighbours are different. The
//! forms with a v get parts of one length when they are timed, that with a w also parts of one type,
//! bytes, as in OSU. Sides are those of `MPI_Dims_create` in MPICH; that of Open MPI 4.1 makes some tori
//! longer, such as 12 x 6 of 72 ranks.

use std::sync::Arc;

use comet_core::collective::algorithm::Algorithm;
use comet_core::collective::data::{compare, fill};
use comet_core::collective::{Collective, Graph, Kind, Neighbours, Parts, Prepared};
use comet_core::kernel::prelude::*;
use comet_core::layout::Packing;
use comet_core::topology::{MAX_TORUS_DIMENSIONS, torus_sides};
use comet_core::words::count;

use crate::axes::DOUBLING;
use crate::calls::Form::{Even, Typed, Uneven};
use crate::calls::{
    BY_ALGORITHM, Blocked, Calls, Spec, admit_layout, algorithm, prove_one, spec, whole,
};
use crate::guarded::Guarded;
use crate::packed::PackedCalls;

/// Number of dimensions of the torus on which ranks have neighbours.
pub static DIMENSIONS: Axis =
    Axis::count("dimensions", "dimensions", "number of dimensions of the torus of neighbours");
/// Distance to the farthest neighbours, in each dimension.
pub static RADIUS: Axis =
    Axis::count("radius", "ranks", "distance to the farthest neighbours in each dimension");

#[rustfmt::skip] // One kernel a line.
const SPECS: [Spec; 5] = [
    spec("neighbor_allgather", Kind::NeighbourAllgather, Even, "A message of each rank to its neighbours", &["OSU:osu_neighbor_allgather"]),
    spec("neighbor_allgatherv", Kind::NeighbourAllgather, Uneven, "A message of each rank to its neighbours, lengths given", &["OSU:osu_neighbor_allgatherv"]),
    spec("neighbor_alltoall", Kind::NeighbourAlltoall, Even, "A part of each rank to each of its neighbours", &["OSU:osu_neighbor_alltoall"]),
    spec("neighbor_alltoallv", Kind::NeighbourAlltoall, Uneven, "A part of each rank to each of its neighbours, lengths given", &["OSU:osu_neighbor_alltoallv"]),
    spec("neighbor_alltoallw", Kind::NeighbourAlltoall, Typed, "A part of each rank to each of its neighbours, lengths and types given", &["OSU:osu_neighbor_alltoallw"]),
];

pub(super) const BY_DIMENSIONS: AxisUse = AxisUse::of(&DIMENSIONS, "1");
pub(super) const BY_RADIUS: AxisUse = AxisUse::of(&RADIUS, "1");

/// The kernel number `INDEX` of the family; see the [module](self).
pub(crate) struct Among<const INDEX: usize>;

/// The ranks at most `radius` away from `rank` in each dimension of a torus with these sides, without
/// itself.
fn on_torus(sides: &[usize], radius: usize, rank: Rank) -> Vec<Rank> {
    let width = 2 * radius + 1;
    let n_of_box = width.pow(u32::try_from(sides.len()).expect("there are few dimensions"));
    // The digits of a number of the box are steps, the last of them in the last dimension.
    let neighbour = |number: usize| {
        let (mut left, mut above, mut found, mut stride) = (rank, number, 0, 1);
        for side in sides.iter().rev() {
            let (place, step) = (left % side, above % width);
            found += (place + step + side - radius) % side * stride;
            (left, above, stride) = (left / side, above / width, stride * side);
        }
        found
    };
    (0..n_of_box).map(neighbour).filter(|found| *found != rank).collect()
}

/// The sides of the torus of `case`; a sentence if it has too few ranks.
fn torus(case: &Case, n_ranks: usize) -> Result<Vec<usize>, String> {
    let (n_dimensions, radius) = (case.length(&DIMENSIONS), case.length(&RADIUS));
    if !(1..=MAX_TORUS_DIMENSIONS).contains(&n_dimensions) {
        return Err(format!(
            "a torus of {n_dimensions} dimensions is not known (use 1 to {MAX_TORUS_DIMENSIONS})"
        ));
    }
    if radius == 0 {
        return Err("within a radius of 0 a rank has no neighbours (use 1 or more)".into());
    }
    let sides = torus_sides(n_ranks, n_dimensions);
    let shortest = sides.last().copied().unwrap_or(0);
    let width = radius.saturating_mul(2).saturating_add(1);
    if shortest < width {
        let names: Vec<String> = sides.iter().map(ToString::to_string).collect();
        return Err(format!(
            "a torus of {} ranks has a side of {shortest}, a radius of {radius} needs {width} (ask \
             for more ranks, or fewer dimensions)",
            names.join(" x ")
        ));
    }
    Ok(sides)
}

/// The neighbours of each rank in `case`: those on a torus or, where that has 0 dimensions, in the graph of
/// the user; a sentence if there are no such neighbours.
fn lists<'a>(
    case: &Case,
    world: &World<'a>,
) -> Result<impl Fn(Rank) -> Arc<Neighbours> + use<'a>, String> {
    let graph = world.graph.filter(|_| case.value(&DIMENSIONS) == 0);
    if let Some(last) = graph.map(Graph::last_rank).filter(|last| *last >= world.n_ranks) {
        let ranks = count(world.n_ranks, "rank");
        return Err(format!("the graph has an edge of rank {last}, which is not among {ranks}"));
    }
    let sides = if graph.is_some() { Vec::new() } else { torus(case, world.n_ranks)? };
    let radius = case.length(&RADIUS);
    Ok(move |rank| match graph {
        Some(graph) => graph.neighbours(rank),
        None => {
            let around = || on_torus(&sides, radius, rank);
            Neighbours::new(around(), around())
        }
    })
}

/// Number of neighbours of a rank in `case`, at the most.
fn n_neighbours(case: &Case, world: &World<'_>) -> u64 {
    if let Some(graph) = world.graph.filter(|_| case.value(&DIMENSIONS) == 0) {
        return graph.degree() as u64;
    }
    let width = case.value(&RADIUS).saturating_mul(2).saturating_add(1);
    let n_dimensions = u32::try_from(case.value(&DIMENSIONS)).unwrap_or(u32::MAX);
    width.saturating_pow(n_dimensions).saturating_sub(1)
}

fn admit(spec: &Spec, case: &Case, world: &World<'_>) -> Result<(), String> {
    world.require_ranks(2)?;
    admit_layout(case)?;
    lists(case, world).map(drop)?;
    algorithm(spec.kind, case).map(drop)
}

/// The collective of `spec` among `neighbours` of `rank`, in which messages have these lengths.
fn collective(
    spec: &Spec,
    case: &Case,
    neighbours: &Arc<Neighbours>,
    rank: Rank,
    length: impl Fn(Rank, Rank) -> usize,
) -> Collective {
    let (sources, destinations) = (neighbours.sources(), neighbours.destinations());
    let packed = |lengths| Parts::packed(lengths).counted_in(case.unit());
    let received = packed(sources.iter().map(|from| length(*from, rank)).collect());
    let sent = packed(destinations.iter().map(|to| length(rank, *to)).collect());
    let own = Parts::Equal(length(rank, rank));
    let call = match (spec.kind, spec.form) {
        (kind, Even) => Collective::new(kind, own),
        (kind @ Kind::NeighbourAllgather, _) => Collective::new(kind, received).with_sent(own),
        (kind, _) => Collective::new(kind, received).with_sent(sent),
    };
    let call = if spec.form == Typed { call.with_types() } else { call };
    call.with_neighbours(Arc::clone(neighbours))
}

/// True if the call of the transport carries `case` out, in the graph of the neighbours: algorithms over
/// messages need none, and one that the transport holds is of another case.
fn has_graph(spec: &Spec, case: &Case) -> bool {
    algorithm(spec.kind, case).is_ok_and(|by| by.is_none())
}

/// One rank's part.
pub(crate) struct Part<T: Transport> {
    at: (Rank, usize),
    /// The transport with the graph of neighbours, if it is another.
    graph: Option<T>,
    call: Prepared<T>,
    /// A call with uneven parts.
    proof: Option<Prepared<T>>,
    /// The call of packed messages, where the rank packs.
    packed: Option<PackedCalls<T>>,
    input: Guarded<T::Buffer>,
    output: Guarded<T::Buffer>,
}

impl<T: Transport> Part<T> {
    /// The part of this rank in `case`, whose calls `prepare` makes; all ranks make it.
    ///
    /// # Errors
    /// If there is no memory for the buffers, or if the transport fails.
    pub(super) fn new(
        spec: &Spec,
        cx: &Context<'_, T>,
        case: &Case,
        prepare: fn(&T, Collective, Option<&Algorithm>) -> Result<Prepared<T>>,
    ) -> Result<Self> {
        let (t, rank, n_ranks) = (cx.transport(), cx.rank(), cx.transport().n_ranks());
        let lists = lists(case, &cx.world());
        let neighbours = lists.expect("a case that is not admitted is not measured")(rank);
        let by = algorithm(spec.kind, case).ok().flatten();
        let graph = if has_graph(spec, case) { t.with_neighbours(&neighbours)? } else { None };
        let prepared = |call| prepare(graph.as_ref().unwrap_or(t), call, by);
        let (length, unit) = (case.length(&LENGTH_BYTES), case.unit());
        let shorter = |from: Rank, to: Rank| match spec.kind {
            Kind::NeighbourAllgather => whole(length, unit) * (from % 3) / 2 * unit,
            _ => whole(length, unit) * ((from + to) % 3) / 2 * unit,
        };
        let call = prepared(collective(spec, case, &neighbours, rank, |_, _| length))?;
        let proof = match spec.form {
            Even => None,
            _ => Some(prepared(collective(spec, case, &neighbours, rank, shorter))?),
        };
        let packed = cx.packed_bytes().map(|bytes| {
            let call = collective(spec, case, &neighbours, rank, |_, _| bytes);
            PackedCalls::new(cx, vec![call], |call, _| prepared(call))
        });
        let packed = packed.transpose()?;
        let input = Guarded::new(cx, call.call().input_bytes(rank, n_ranks))?;
        let output = Guarded::new(cx, call.call().output_bytes(rank, n_ranks))?;
        Ok(Self { at: (rank, n_ranks), graph, call, proof, packed, input, output })
    }
}

impl<T: Transport> Calls<T> for Part<T> {
    fn fill(&mut self, seeds: Seeds) {
        fill(self.call.call(), self.at, seeds, [self.input.bytes(), self.output.bytes()]);
    }

    #[inline]
    fn next<'a>(&'a mut self, t: &'a T) -> (&'a T, &'a mut Prepared<T>, [&'a mut [u8]; 2]) {
        let Self { graph, call, input, output, .. } = self;
        (graph.as_ref().unwrap_or(t), call, [input.bytes(), output.bytes()])
    }

    #[inline]
    fn run_in_pieces(
        &mut self,
        t: &T,
        packing: &Packing<'_, T>,
        run: impl FnOnce(&T, &mut Prepared<T>, [&mut [u8]; 2]) -> Result<()>,
    ) -> Result<()> {
        let Self { graph, call, packed: Some(packed), input, output, .. } = self else {
            return Ok(());
        };
        let (t, buffers) = (graph.as_ref().unwrap_or(t), [input.bytes(), output.bytes()]);
        packed.run((t, packing), (0, call.call()), buffers, |call, of| run(t, call, of))
    }

    fn check(&mut self, check: &mut Checker) {
        compare(self.call.call(), self.at, self.output.bytes(), check);
        self.input.check(check, "the input");
        self.output.check(check, "the output");
    }

    /// A call with uneven parts.
    fn prove(
        &mut self,
        t: &T,
        check: &mut Checker,
        mut run: impl FnMut(&T, &mut Prepared<T>, [&mut [u8]; 2]) -> Result<()>,
    ) -> Result<()> {
        let Self { at, graph, proof, input, output, .. } = self;
        let Some(call) = proof else { return Ok(()) };
        let t = graph.as_ref().unwrap_or(t);
        prove_one(call, *at, [input, output], check, |call, buffers| run(t, call, buffers))
    }
}

/// Facts about a kernel of `spec` among neighbours.
pub(super) trait Facts {
    /// The kernel.
    const SPEC: Spec;

    /// Its description, without series.
    const INFO: KernelInfo = KernelInfo {
        name: Self::SPEC.name,
        summary: Self::SPEC.summary,
        aliases: Self::SPEC.aliases,
        admits: |case, world| admit(&Self::SPEC, case, world),
        bytes_per_rank: |case, world| {
            let n_neighbours = n_neighbours(case, world);
            let n_parts = match Self::SPEC.kind {
                Kind::NeighbourAllgather => n_neighbours.saturating_add(1),
                _ => n_neighbours.saturating_mul(2),
            };
            case.value(&LENGTH_BYTES).saturating_mul(n_parts)
        },
        messages_per_op: |case, world| {
            (world.n_ranks as u64).saturating_mul(n_neighbours(case, world))
        },
        has_layouts: true,
        is_packed: true,
        ..KernelInfo::collective("osu")
    };

    /// The time of the graph that was made for `case`.
    fn noted<T: Transport>(case: &Case, t: &T) -> Vec<Derived> {
        vec![Derived::of(
            "graph_ns",
            "time of the one call that made the graph of neighbours, mean over the ranks",
            t.graph_time_ns().filter(|_| has_graph(&Self::SPEC, case)),
        )]
    }
}

impl<const INDEX: usize> Facts for Among<INDEX> {
    const SPEC: Spec = SPECS[INDEX];
}

impl<const INDEX: usize, T: Transport> Pattern<T> for Among<INDEX> {
    const INFO: KernelInfo = KernelInfo {
        file: include_str!("neighbours.rs"),
        axes: &[BY_ALGORITHM, BY_DIMENSIONS, BY_RADIUS, DOUBLING],
        series: &[Series::completion("call").moving(|case, _| Some(case.value(&LENGTH_BYTES)))],
        ..<Self as Facts>::INFO
    };
    type Part = Blocked<Part<T>>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        let part = Part::new(&SPECS[INDEX], cx, case, Prepared::new)?;
        Ok(Some((Duty::Together, Blocked(part))))
    }

    fn noted(&self, case: &Case, t: &T) -> Vec<Derived> {
        <Self as Facts>::noted(case, t)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_stand_in_the_order_of_their_coordinates() {
        assert_eq!(on_torus(&[5], 1, 0), [4, 1]);
        assert_eq!(on_torus(&[5], 2, 3), [1, 2, 4, 0]);
        // Rank 4 is in the middle of three rows.
        assert_eq!(on_torus(&[3, 3], 1, 4), [0, 1, 2, 3, 5, 6, 7, 8]);
        assert_eq!(on_torus(&[4, 3], 1, 0), [11, 9, 10, 2, 1, 5, 3, 4]);
    }

    #[test]
    fn an_edge_is_named_by_both_of_its_ends() {
        for (sides, radius) in [(&[7][..], 3), (&[5, 5], 2), (&[4, 3], 1), (&[3, 3, 3], 1)] {
            let n: usize = sides.iter().product();
            for rank in 0..n {
                let around = on_torus(sides, radius, rank);
                Neighbours::new(around.clone(), around.clone());
                for other in around {
                    assert!(on_torus(sides, radius, other).contains(&rank), "{sides:?}");
                }
            }
        }
    }

    /// The description of the first kernel.
    const INFO: &KernelInfo = &<Among<0> as Pattern<comet_core::local::Local>>::INFO;

    #[test]
    fn the_time_of_a_graph_is_one_of_the_call_of_the_transport() {
        let with = |algorithm| has_graph(&SPECS[0], &Case::new(INFO, &[algorithm, 1, 1, 8]));
        assert_eq!([0, 1].map(with), [true, false]);
    }

    #[test]
    fn a_torus_that_is_too_small_is_refused() {
        let check = |[dimensions, radius]: [u64; 2], n_ranks, expected: Result<&[usize], &str>| {
            let case = Case::new(INFO, &[0, dimensions, radius, 8]);
            let expected = expected.map(<[usize]>::to_vec).map_err(str::to_owned);
            assert_eq!(torus(&case, n_ranks), expected);
        };
        check([1, 1], 3, Ok(&[3]));
        check([2, 1], 9, Ok(&[3, 3]));
        check(
            [1, 1],
            2,
            Err(
                "a torus of 2 ranks has a side of 2, a radius of 1 needs 3 (ask for more ranks, or \
                 fewer dimensions)",
            ),
        );
        check(
            [2, 1],
            8,
            Err(
                "a torus of 4 x 2 ranks has a side of 2, a radius of 1 needs 3 (ask for more ranks, \
                 or fewer dimensions)",
            ),
        );
        let none = "within a radius of 0 a rank has no neighbours (use 1 or more)";
        check([1, 0], 3, Err(none));
        check([0, 1], 3, Err("a torus of 0 dimensions is not known (use 1 to 16)"));
    }
}
