//! Collectives: time of one operation of all ranks, by the call of the transport or by an algorithm
//! over messages.
//!
//! **Source**: IMB 2021, IMB-MPI1, section "Collective Benchmarks"; OSU micro-benchmarks 7.4, blocking
//! collectives; MPI-4.1 chapter 6.
//!
//! **Pattern**
//! ```text
//!   bcast            root ==> all            reduce           all ==+==> root
//!   scatter(v)       root ==parts==> all     gather(v)        all ==parts==> root
//!   allreduce        all ==+==> all          allgather(v)     all ==parts==> all
//!   reduce_scatter   all ==+==> parts        alltoall(v, w)   all ==parts==> all, other ones for each
//!   scan, exscan     ranks below ==+==> each
//! ```
//! **Timed** (all ranks): one call. Buffers, plans and test data are made before.
//!
//! **Reports**: time from the first start to the last finish over all ranks.
//!
//! **Rate**: `length_bytes` / time, of one message. The algorithm bandwidth is the longest buffer of
//! any rank / time, the bus bandwidth that times the factor of the operation in nccl-tests, of which
//! scan and exscan have none.
//!
//! **Parameters**: `length_bytes` of one message: the vector of a reduction, the part of a rank; a
//! reduce_scatter of IMB has a part of that length for each rank, one of OSU shares a vector of
//! that length out. `root` of rooted ones: `first_root` alone, or each rank in turn from it on.
//! `place` of the input: a buffer of its own, or that of the output (MPI_IN_PLACE). `element` and
//! `operator` of reductions. `algorithm`: that of the transport, or one of the library.
//!
//! **Verified by**: contents on every rank, over spoiled buffers with canaries on both sides; roots 0,
//! middle and last; parts of uneven lengths where the call admits them. Reductions by integers that
//! every element type holds exactly, in any order.
//!
//! **Caution**: the forms with a v get parts of one length when they are timed, that with a w also
//! parts of one type, bytes; it is a way of its own in MPI libraries, and alltoallv elsewhere. In
//! place each call begins with what the one before left, so that contents are compared after a
//! single call, before and after those that are timed. An equal part of a vector of OSU leaves out
//! the elements beyond a whole number for each rank, and may be empty.

use comet_core::collective::algorithm::{self, Algorithm};
use comet_core::collective::data::{compare, fill};
use comet_core::collective::{Collective, Element, Kind, Operator, Parts, Reducer, Running};
use comet_core::kernel::ELEMENT;
use comet_core::kernel::prelude::*;
use comet_core::words::count;

use crate::axes::DOUBLING;
use crate::guarded::Guarded;
use crate::rates;

/// The way in which a collective is carried out: the transport's own, or one of the library.
pub static ALGORITHM: Axis = Axis::choice(
    comet_core::kernel::ALGORITHM,
    "algorithm of a collective: that of the transport, or one of the library",
    &ALGORITHMS,
);
/// Ranks that have another part than the others: the first root, or each in turn.
pub static ROOT: Axis = Axis::choice(
    comet_core::kernel::ROOT,
    "roots of a collective: the first one alone, or each rank in turn from it on",
    &["first", "rotate"],
);
/// The first of these ranks.
pub static FIRST_ROOT: Axis = Axis::count("first_root", "rank", "first root of a collective")
    .up_to(|topology| topology.n_ranks().saturating_sub(1) as u64);
/// Place of the input.
pub static PLACE: Axis = Axis::choice(
    "place",
    "place of the input of a collective: a buffer of its own, or that of the output",
    &["separate", "in_place"],
);
/// Operator of a reduction.
pub static OPERATOR: Axis = Axis::choice("operator", "operator of a reduction", Operator::LABELS);

/// Words of the algorithms; the first is the transport's own.
const ALGORITHMS: [&str; 21] = [
    "native",
    "linear",
    "linear_sync",
    "binomial",
    "tree",
    "chain",
    "ring",
    "segmented_ring",
    "recursive_doubling",
    "recursive_halving",
    "rabenseifner",
    "bruck",
    "pairwise",
    "dissemination",
    "neighbour_exchange",
    "scattered",
    "scatter_doubling",
    "scatter_ring",
    "gather_bcast",
    "reduce_bcast",
    "reduce_scatterv",
];

pub(crate) const VECTORS: AxisUse =
    AxisUse { axis: &LENGTH_BYTES, sweeps: ["0,1Ki,64Ki", "0,4..4Mi*4", "0,4..4Mi*2"] };
pub(crate) const BY_ALGORITHM: AxisUse = AxisUse::of(&ALGORITHM, "0");
const BY_ROOT: AxisUse = AxisUse::of(&ROOT, "0");
const BY_FIRST_ROOT: AxisUse = AxisUse::of(&FIRST_ROOT, "0");
const BY_PLACE: AxisUse = AxisUse::of(&PLACE, "0");
/// Floats, as in IMB.
pub(crate) const BY_ELEMENT: AxisUse = AxisUse::of(&ELEMENT, "4");
pub(super) const BY_OPERATOR: AxisUse = AxisUse::of(&OPERATOR, "0");

/// The form of the parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Parts of one length.
    Even,
    /// A length and a place for each.
    Uneven,
    /// A length, a place and a type for each.
    Typed,
}
use Form::{Even, Typed, Uneven};

/// A collective of a family.
pub(crate) struct Spec {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) form: Form,
    /// True if the parts share the vector out; otherwise each is as long as the vector.
    is_shared: bool,
    pub(crate) summary: &'static str,
    pub(crate) aliases: &'static [&'static str],
}

pub(crate) const fn spec(
    name: &'static str,
    kind: Kind,
    form: Form,
    summary: &'static str,
    aliases: &'static [&'static str],
) -> Spec {
    Spec { name, kind, form, is_shared: false, summary, aliases }
}

/// A reduce_scatter of OSU.
const fn shared(
    name: &'static str,
    form: Form,
    summary: &'static str,
    aliases: &'static [&'static str],
) -> Spec {
    Spec { is_shared: true, ..spec(name, Kind::ReduceScatter, form, summary, aliases) }
}

#[rustfmt::skip] // One kernel a line.
const SPECS: [Spec; 18] = [
    spec("bcast", Kind::Broadcast, Even, "One message of the root to all ranks", &["IMB:Bcast", "OSU:osu_bcast"]),
    spec("reduce", Kind::Reduce, Even, "Sum of the vectors of all ranks, on the root", &["IMB:Reduce", "OSU:osu_reduce"]),
    spec("allreduce", Kind::Allreduce, Even, "Sum of the vectors of all ranks, on each", &["IMB:Allreduce", "OSU:osu_allreduce"]),
    spec("reduce_scatter", Kind::ReduceScatter, Uneven, "Sum of the vectors of all ranks, a part on each, lengths given", &["IMB:Reduce_scatter"]),
    spec("reduce_scatter_block", Kind::ReduceScatter, Even, "Sum of the vectors of all ranks, an equal part on each", &["IMB:Reduce_scatter_block"]),
    spec("scan", Kind::Scan, Even, "Sum of the vectors of the ranks up to each", &["SKaMPI:MPI_Scan"]),
    spec("exscan", Kind::Exscan, Even, "Sum of the vectors of the ranks below each", &[]),
    spec("gather", Kind::Gather, Even, "A part of each rank to the root", &["IMB:Gather", "OSU:osu_gather"]),
    spec("gatherv", Kind::Gather, Uneven, "A part of each rank to the root, lengths given", &["IMB:Gatherv", "OSU:osu_gatherv"]),
    spec("scatter", Kind::Scatter, Even, "A part of the root's message to each rank", &["IMB:Scatter", "OSU:osu_scatter"]),
    spec("scatterv", Kind::Scatter, Uneven, "A part of the root's message to each rank, lengths given", &["IMB:Scatterv", "OSU:osu_scatterv"]),
    spec("allgather", Kind::Allgather, Even, "A part of each rank to all ranks", &["IMB:Allgather", "OSU:osu_allgather"]),
    spec("allgatherv", Kind::Allgather, Uneven, "A part of each rank to all ranks, lengths given", &["IMB:Allgatherv", "OSU:osu_allgatherv"]),
    spec("alltoall", Kind::Alltoall, Even, "A part of each rank to each rank", &["IMB:Alltoall", "OSU:osu_alltoall"]),
    spec("alltoallv", Kind::Alltoall, Uneven, "A part of each rank to each rank, lengths given", &["IMB:Alltoallv", "OSU:osu_alltoallv"]),
    spec("alltoallw", Kind::Alltoall, Typed, "A part of each rank to each rank, lengths and types given", &["OSU:osu_alltoallw"]),
    shared("reduce_scatter", Uneven, "Sum of the vectors of all ranks, shared out, lengths given", &["OSU:osu_reduce_scatter"]),
    shared("reduce_scatter_block", Even, "Sum of the vectors of all ranks, shared out in equal parts", &["OSU:osu_reduce_scatter_block"]),
];

/// The kernel number `INDEX` of the family; see the [module](self).
pub(crate) struct Plain<const INDEX: usize>;

/// Length of the part of `rank` in bytes, in `case` on `n_ranks` ranks.
fn part_bytes(spec: &Spec, case: &Case, rank: Rank, n_ranks: usize) -> usize {
    let length = case.length(&LENGTH_BYTES);
    if !spec.is_shared {
        return length;
    }
    let unit = case.unit();
    let n_elements = length / unit;
    let has_one_more = spec.form != Even && rank < n_elements % n_ranks;
    (n_elements / n_ranks + usize::from(has_one_more)) * unit
}

/// Number of elements of `unit` bytes in `length`; 0 of elements without bytes.
pub(crate) fn whole(length: usize, unit: usize) -> usize {
    length.checked_div(unit).unwrap_or(0)
}

/// Length of one message in bytes; of a vector that is shared out in equal parts, without what these
/// leave out.
fn moved_bytes(spec: &Spec, case: &Case, n_ranks: usize) -> u64 {
    match (spec.is_shared, spec.form) {
        (true, Even) => (n_ranks * part_bytes(spec, case, 0, n_ranks)) as u64,
        _ => case.value(&LENGTH_BYTES),
    }
}

/// The collective of `spec` in `case`, with parts of these lengths.
fn collective(
    spec: &Spec,
    case: &Case,
    length: impl Fn(Rank) -> usize,
    n_ranks: usize,
) -> Collective {
    let parts = match spec.form {
        Even => Parts::Equal(length(0)),
        Uneven | Typed => Parts::packed((0..n_ranks).map(length).collect()).counted_in(case.unit()),
    };
    let by = if spec.kind.is_reduction() { reducer(case).ok() } else { None };
    let call = Collective::new(spec.kind, parts).with_reducer(by.unwrap_or(Reducer::SUM));
    let call = if spec.form == Typed { call.with_types() } else { call };
    if is_in_place(case) { call.in_place() } else { call }
}

/// True if the input lies where the output goes.
fn is_in_place(case: &Case) -> bool {
    case.find(&PLACE) == Some(1)
}

/// The algorithm of the library that `case` names; `None` for the transport's own.
pub(crate) fn algorithm(kind: Kind, case: &Case) -> Result<Option<&'static Algorithm>, String> {
    let name = ALGORITHMS[case.length(&ALGORITHM)];
    if name == ALGORITHMS[0] {
        return Ok(None);
    }
    let found = algorithm::find(kind, name);
    let known =
        || algorithm::of(kind).iter().map(|known| known.name).collect::<Vec<_>>().join(", ");
    found.map(Some).ok_or_else(|| {
        format!("{} has no algorithm {name} (it has native, {})", kind.name(), known())
    })
}

/// The elements and the operator of `case`; a sentence if they do not fit each other.
pub(crate) fn reducer(case: &Case) -> Result<Reducer, String> {
    let element = case.length(&ELEMENT);
    let operator = case.find(&OPERATOR).map_or(0, |_| case.length(&OPERATOR));
    let (element_name, operator_name) = (Element::LABELS[element], Operator::LABELS[operator]);
    Reducer::new(Element::ALL[element], Operator::ALL[operator])
        .ok_or_else(|| format!("{operator_name} is no operator on {element_name}"))
}

/// Refuses messages with a layout where a place of one has not been spoiled before, or where they are not
/// one element each.
pub(crate) fn admit_layout(case: &Case, world: &World<'_>) -> Result<(), String> {
    let is_other = |axis: &&Axis| case.find(axis).is_some_and(|value| value != 0);
    let other = [&ALGORITHM, &ROOT, &PLACE].into_iter().filter(|_| world.layout.is_some());
    let Some(axis) = other.clone().find(is_other) else { return Ok(()) };
    let value = axis.label(case.value(axis)).unwrap_or_default();
    let (name, usual) = (axis.name, axis.labels[0]);
    Err(format!("{name}={value} has no messages with a layout (take {name}={usual})"))
}

fn admit(spec: &Spec, case: &Case, world: &World<'_>) -> Result<(), String> {
    if spec.kind.is_reduction() {
        reducer(case)?;
    }
    admit_layout(case, world)?;
    let n_ranks = world.n_ranks;
    if let Some(root) = case.find(&FIRST_ROOT).filter(|root| *root >= n_ranks as u64) {
        let (ranks, last) = (count(n_ranks, "rank"), n_ranks - 1);
        return Err(format!("there is no rank {root} among {ranks} (use 0 to {last})"));
    }
    let length = |rank| part_bytes(spec, case, rank, n_ranks);
    match algorithm(spec.kind, case)? {
        Some(algorithm) => algorithm.admit(&collective(spec, case, length, n_ranks), n_ranks),
        None => Ok(()),
    }
}

fn bytes_per_rank(spec: &Spec, case: &Case, world: &World<'_>) -> u64 {
    let (length, n_ranks) = (case.value(&LENGTH_BYTES), world.n_ranks as u64);
    let (one, all) = (length, length.saturating_mul(n_ranks));
    let of_buffers = match spec.kind {
        Kind::Barrier => 0,
        Kind::Broadcast => one,
        Kind::Reduce | Kind::Allreduce | Kind::Scan | Kind::Exscan => one.saturating_mul(2),
        Kind::ReduceScatter if spec.is_shared => one.saturating_mul(2),
        Kind::Gather | Kind::Scatter | Kind::Allgather | Kind::ReduceScatter => {
            all.saturating_add(one)
        }
        Kind::Alltoall | Kind::NeighbourAllgather | Kind::NeighbourAlltoall => {
            all.saturating_mul(2)
        }
    };
    // Plans have scratch memory of the same size.
    let n_copies = if case.value(&ALGORITHM) == 0 { 1 } else { 3 };
    of_buffers.saturating_mul(n_copies)
}

/// Number of messages of the algorithm that carries the call out where the transport has no way of its
/// own.
fn messages_per_op(spec: &Spec, case: &Case, world: &World<'_>) -> u64 {
    let n_ranks = world.n_ranks;
    let call = collective(spec, case, |rank| part_bytes(spec, case, rank, n_ranks), n_ranks);
    let by = algorithm(spec.kind, case).ok().flatten();
    by.unwrap_or_else(|| algorithm::automatic(&call, n_ranks)).n_messages(&call, n_ranks)
}

/// One call, and its plan if an algorithm carries it out.
pub(crate) struct Prepared<T: Transport> {
    pub(crate) call: Collective,
    running: Option<Running<T>>,
}

impl<T: Transport> Prepared<T> {
    /// `call` by an algorithm of the library, or as the transport does it.
    pub(crate) fn new(t: &T, call: Collective, by: Option<&Algorithm>) -> Result<Self> {
        let (rank, n_ranks) = (t.rank(), t.n_ranks());
        let of_library = || algorithm::automatic(&call, n_ranks);
        let by = by.or_else(|| (!t.has_own(&call)).then(of_library));
        let plan = by.map(|algorithm| algorithm.plan(&call, rank, n_ranks));
        let running = plan.map(|plan| Running::new(t, plan)).transpose()?;
        Ok(Self { call: call.ready_on(rank, n_ranks), running })
    }

    /// Carries the call out.
    #[inline]
    pub(crate) fn run(&mut self, t: &T, [input, output]: [&mut [u8]; 2]) -> Result<()> {
        match &mut self.running {
            Some(running) => running.run(t, input, output),
            None => t.collective(&self.call, input, output),
        }
    }
}

/// One rank's part.
pub(crate) struct Part<T: Transport> {
    rank: Rank,
    n_ranks: usize,
    is_in_place: bool,
    /// One call for each root.
    calls: Vec<Prepared<T>>,
    /// Number of the call at hand.
    next: usize,
    /// Calls of a proof: other roots, and uneven parts.
    proofs: Vec<Prepared<T>>,
    input: Guarded<T::Buffer>,
    output: Guarded<T::Buffer>,
}

impl<T: Transport> Part<T> {
    fn new(spec: &Spec, cx: &Context<'_, T>, case: &Case) -> Result<Self> {
        let (t, rank, n_ranks) = (cx.transport(), cx.rank(), cx.transport().n_ranks());
        let length = |rank| part_bytes(spec, case, rank, n_ranks);
        let is_in_place = is_in_place(case);
        let by = algorithm(spec.kind, case).ok().flatten();
        let prepared = |call: Collective| Prepared::new(t, call, by);
        let even = |root| collective(spec, case, length, n_ranks).with_root(root);
        let first_root = case.find(&FIRST_ROOT).map_or(0, |_| case.length(&FIRST_ROOT));
        let n_roots = if case.find(&ROOT) == Some(1) { n_ranks } else { 1 };
        let roots = (first_root..first_root + n_roots).map(|root| root % n_ranks);
        let calls: Vec<Prepared<T>> = roots.map(even).map(prepared).collect::<Result<_>>()?;
        let other_roots = [n_ranks / 2, n_ranks - 1];
        let is_rooted = spec.kind.is_rooted();
        let others = other_roots.into_iter().filter(|_| is_rooted).map(even);
        let unit = case.unit();
        // Of parts that share a vector out the last is the shortest.
        let shorter = |rank: Rank| whole(length(n_ranks - 1), unit) * (rank % 3) / 2 * unit;
        // In place each rank gets so much of another as it sends to it.
        let admits_uneven = spec.form != Even && !(is_in_place && spec.kind == Kind::Alltoall);
        let uneven = admits_uneven.then(|| {
            let call = collective(spec, case, shorter, n_ranks);
            match spec.kind {
                // Each rank gets so much of another as that one sends to all.
                Kind::Alltoall => {
                    let sent = Parts::packed(vec![shorter(rank); n_ranks]);
                    call.with_sent(sent.counted_in(unit))
                }
                _ => call,
            }
        });
        let proofs: Vec<Prepared<T>> = others.chain(uneven).map(prepared).collect::<Result<_>>()?;
        let longest = |bytes: fn(&Collective, Rank, usize) -> usize| {
            let all = calls.iter().chain(&proofs).map(|of| bytes(&of.call, rank, n_ranks));
            all.max().unwrap_or(0)
        };
        let input = Guarded::new(cx, longest(Collective::input_bytes))?;
        let output = Guarded::new(cx, longest(Collective::output_bytes))?;
        Ok(Self { rank, n_ranks, is_in_place, calls, next: 0, proofs, input, output })
    }
}

impl<T: Transport> Operation<T> for Part<T> {
    fn fill(&mut self, seeds: Seeds) {
        self.next = 0;
        let Self { rank, n_ranks, calls, input, output, .. } = self;
        fill(&calls[0].call, (*rank, *n_ranks), seeds, [input.bytes(), output.bytes()]);
    }

    #[inline]
    fn run(&mut self, t: &T) -> Result<()> {
        let Self { calls, next, input, output, .. } = self;
        let index = *next;
        *next = if index + 1 == calls.len() { 0 } else { index + 1 };
        calls[index].run(t, [input.bytes(), output.bytes()])
    }

    fn check(&mut self, check: &mut Checker) {
        let Self { rank, n_ranks, is_in_place, calls, next, input, output, .. } = self;
        let last = &calls[(*next + calls.len() - 1) % calls.len()].call;
        if !*is_in_place || check.n_runs() == 1 {
            compare(last, (*rank, *n_ranks), output.bytes(), check);
        }
        input.check(check, "the input");
        output.check(check, "the output");
    }

    /// The call that is timed, and those with other roots and uneven parts.
    fn verify(&mut self, t: &T, check: &mut Checker) -> Result<()> {
        self.fill(check.seeds());
        self.run(t)?;
        self.check(check);
        let Self { rank, n_ranks, proofs, input, output, .. } = self;
        let at = (*rank, *n_ranks);
        for proof in proofs {
            fill(&proof.call, at, check.seeds(), [input.bytes(), output.bytes()]);
            proof.run(t, [input.bytes(), output.bytes()])?;
            compare(&proof.call, at, output.bytes(), check);
            input.check(check, "the input");
            output.check(check, "the output");
        }
        Ok(())
    }
}

impl<const INDEX: usize> Plain<INDEX> {
    /// Rates of a reduce-scatter that shares a vector out, by what is moved of it.
    const RATES_OF_SHARED: [Rate; 2] = [
        Rate {
            kind: RateKind::Algorithm,
            formula: "length_bytes / time",
            per_op: |case, world| moved_bytes(&SPECS[INDEX], case, world.n_ranks) as f64,
        },
        Rate {
            kind: RateKind::Bus,
            formula: "(P-1)/P x length_bytes / time",
            per_op: |case, world| {
                let share = rates::others(world) / world.n_ranks as f64;
                share * moved_bytes(&SPECS[INDEX], case, world.n_ranks) as f64
            },
        },
    ];
}

impl<const INDEX: usize, T: Transport> Pattern<T> for Plain<INDEX> {
    const INFO: KernelInfo = KernelInfo {
        name: SPECS[INDEX].name,
        file: include_str!("collective.rs"),
        summary: SPECS[INDEX].summary,
        aliases: SPECS[INDEX].aliases,
        axes: match (SPECS[INDEX].kind.is_rooted(), SPECS[INDEX].kind.is_reduction()) {
            (true, false) if matches!(SPECS[INDEX].kind, Kind::Broadcast) => {
                &[BY_ALGORITHM, BY_ROOT, BY_FIRST_ROOT, DOUBLING]
            }
            (false, false) => &[BY_ALGORITHM, BY_PLACE, DOUBLING],
            (true, false) => &[BY_ALGORITHM, BY_ROOT, BY_FIRST_ROOT, BY_PLACE, DOUBLING],
            (false, true) => &[BY_ALGORITHM, BY_PLACE, BY_ELEMENT, BY_OPERATOR, VECTORS],
            (true, true) => {
                &[BY_ALGORITHM, BY_ROOT, BY_FIRST_ROOT, BY_PLACE, BY_ELEMENT, BY_OPERATOR, VECTORS]
            }
        },
        series: &[Series::completion("call")
            .moving(|case, world| Some(moved_bytes(&SPECS[INDEX], case, world.n_ranks)))
            .rated(match SPECS[INDEX].is_shared {
                true => &Self::RATES_OF_SHARED,
                false => rates::of_collective(SPECS[INDEX].kind),
            })],
        admits: |case, world| admit(&SPECS[INDEX], case, world),
        bytes_per_rank: |case, world| bytes_per_rank(&SPECS[INDEX], case, world),
        messages_per_op: |case, world| messages_per_op(&SPECS[INDEX], case, world),
        has_layouts: !SPECS[INDEX].kind.is_reduction(),
        ..KernelInfo::collective(if SPECS[INDEX].is_shared { "osu" } else { "imb" })
    };
    type Part = Part<T>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        Ok(Some((Duty::Together, Part::new(&SPECS[INDEX], cx, case)?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use comet_core::kernel::harness;
    use comet_core::local::{self, Local};
    use comet_core::topology::Topology;

    #[test]
    fn roots_are_the_first_one_or_each_rank_from_it_on() {
        let info = const { &<Plain<7> as Pattern<Local>>::INFO };
        let roots = |rotates, first_root| {
            let of_ranks = local::run_with(Topology::hypercube(3), false, |t| {
                let case = Case::new(info, &[]).with(&ROOT, rotates).with(&FIRST_ROOT, first_root);
                let cx = harness::context(t, info, false);
                let part = Part::new(&SPECS[7], &cx, &case).unwrap();
                part.calls.iter().map(|of| of.call.root()).collect::<Vec<_>>()
            });
            assert!(of_ranks.iter().all(|of_rank| *of_rank == of_ranks[0]), "{of_ranks:?}");
            of_ranks[0].clone()
        };
        assert_eq!(roots(0, 0), [0]);
        assert_eq!(roots(0, 2), [2]);
        assert_eq!(roots(1, 0), [0, 1, 2]);
        assert_eq!(roots(1, 2), [2, 0, 1]);
    }

    #[test]
    fn parts_of_a_vector_are_shared_out_as_osu_does() {
        let check = |spec: &Spec, length_bytes, element, n_ranks: usize, expected: &[usize]| {
            let info = if spec.form != Even {
                const { &<Plain<16> as Pattern<Local>>::INFO }
            } else {
                const { &<Plain<17> as Pattern<Local>>::INFO }
            };
            let case = Case::new(info, &[]);
            let case = case.with(&LENGTH_BYTES, length_bytes).with(&ELEMENT, element);
            let parts: Vec<_> =
                (0..n_ranks).map(|rank| part_bytes(spec, &case, rank, n_ranks)).collect();
            assert_eq!(parts, expected, "{length_bytes} bytes");
            let call = collective(spec, &case, |rank| parts[rank], n_ranks);
            let sum: usize = parts.iter().sum();
            assert_eq!(call.input_bytes(0, n_ranks), sum);
        };
        let (uneven, equal) = (&SPECS[16], &SPECS[17]);
        check(uneven, 8, 1, 4, &[2; 4]);
        check(uneven, 2, 1, 4, &[1, 1, 0, 0]);
        check(uneven, 44, 2, 4, &[12, 12, 12, 8]);
        check(equal, 8, 1, 4, &[2; 4]);
        check(equal, 2, 1, 4, &[0; 4]);
        check(equal, 44, 2, 4, &[8; 4]);
        check(&SPECS[3], 8, 1, 2, &[8; 2]);
    }
}
