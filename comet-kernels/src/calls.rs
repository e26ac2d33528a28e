//! Collectives as several families of kernels measure them: their axes, lengths and limits, and one
//! rank's part with its buffers.

use comet_core::collective::algorithm::{self, Algorithm};
use comet_core::collective::data::{compare, fill};
use comet_core::collective::{Collective, Element, Kind, Operator, Parts, Prepared, Reducer};
use comet_core::kernel::ELEMENT;
use comet_core::kernel::prelude::*;
use comet_core::layout::Packing;
use comet_core::sync::late::LINGER_VECTOR_LENGTH;
use comet_core::words::count;

use crate::guarded::Guarded;
use crate::packed::PackedCalls;
use crate::rates;

/// The way in which a collective is carried out: the transport's own, or one of the library.
pub(crate) static ALGORITHM: Axis = Axis::choice(
    comet_core::kernel::ALGORITHM,
    "algorithm of a collective: that of the transport, or one of the library",
    &ALGORITHMS,
);
/// Ranks that have another part than the others: the first root, or each in turn.
pub(crate) static ROOT: Axis = Axis::choice(
    comet_core::kernel::ROOT,
    "roots of a collective: the first one alone, or each rank in turn from it on",
    &["first", "rotate"],
);
/// Value of that axis where each rank in turn is one.
pub(crate) const ROTATING: u64 = 1;
/// The first of these ranks.
pub(crate) static FIRST_ROOT: Axis =
    Axis::count("first_root", "rank", "first root of a collective")
        .up_to(|topology| topology.n_ranks().saturating_sub(1) as u64);
/// Place of the input.
pub(crate) static PLACE: Axis = Axis::choice(
    "place",
    "place of the input of a collective: a buffer of its own, or that of the output",
    &["separate", "in_place"],
);
/// Operator of a reduction.
pub(crate) static OPERATOR: Axis =
    Axis::choice("operator", "operator of a reduction", Operator::LABELS);

/// Words of the algorithms; the first is the transport's own.
const ALGORITHMS: [&str; 22] = [
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
    "binary",
];

pub(crate) const VECTORS: AxisUse =
    AxisUse { axis: &LENGTH_BYTES, sweeps: ["0,1Ki,64Ki", "0,4..4Mi*4", "0,4..4Mi*2"] };
pub(crate) const BY_ALGORITHM: AxisUse = AxisUse::of(&ALGORITHM, "0");
pub(crate) const BY_ROOT: AxisUse = AxisUse::of(&ROOT, "0");
pub(crate) const BY_FIRST_ROOT: AxisUse = AxisUse::of(&FIRST_ROOT, "0");
pub(crate) const BY_PLACE: AxisUse = AxisUse::of(&PLACE, "0");
/// Floats, as in IMB.
pub(crate) const BY_ELEMENT: AxisUse = AxisUse::of(&ELEMENT, "4");
pub(crate) const BY_OPERATOR: AxisUse = AxisUse::of(&OPERATOR, "0");

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
#[derive(Clone, Copy)]
pub(crate) struct Spec {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) form: Form,
    /// True if the parts share the vector out; otherwise each is as long as the vector.
    pub(crate) is_shared: bool,
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

/// A reduce_scatter whose vector is shared out, as OSU and SKaMPI have it.
pub(crate) const fn shared(
    name: &'static str,
    form: Form,
    summary: &'static str,
    aliases: &'static [&'static str],
) -> Spec {
    Spec { is_shared: true, ..spec(name, Kind::ReduceScatter, form, summary, aliases) }
}

/// True if the collective of `kind` moves data as it is.
pub(crate) const fn moves(kind: Kind) -> bool {
    !matches!(kind, Kind::Barrier) && !kind.is_reduction()
}

/// Length of a message or of a vector in bytes; 0 of barriers.
fn length_bytes(case: &Case) -> u64 {
    case.find(&LENGTH_BYTES).unwrap_or(0)
}

/// Length of the part of `rank` in bytes, in `case` on `n_ranks` ranks.
pub(crate) fn part_bytes(spec: &Spec, case: &Case, rank: Rank, n_ranks: usize) -> usize {
    let length = usize::try_from(length_bytes(case)).unwrap_or(usize::MAX);
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
pub(crate) fn moved_bytes(spec: &Spec, case: &Case, n_ranks: usize) -> u64 {
    match (spec.is_shared, spec.form) {
        (true, Even) => (n_ranks * part_bytes(spec, case, 0, n_ranks)) as u64,
        _ => length_bytes(case),
    }
}

/// Rates of a reduce-scatter that shares a vector out in parts of the form of `SPEC`, by what is moved of it.
struct OfShared<const IS_EVEN: bool>;

impl<const IS_EVEN: bool> OfShared<IS_EVEN> {
    const SPEC: Spec = shared("", if IS_EVEN { Even } else { Uneven }, "", &[]);
    const RATES: [Rate; 2] = [
        Rate {
            kind: RateKind::Algorithm,
            formula: "length_bytes / time",
            per_op: |case, world| moved_bytes(&Self::SPEC, case, world.n_ranks) as f64,
        },
        Rate {
            kind: RateKind::Bus,
            formula: "(P-1)/P x length_bytes / time",
            per_op: |case, world| {
                let share = rates::others(world) / world.n_ranks as f64;
                share * moved_bytes(&Self::SPEC, case, world.n_ranks) as f64
            },
        },
    ];
}

/// The rates of the collective of `spec`.
pub(crate) const fn rates_of(spec: &Spec) -> &'static [Rate] {
    match (spec.is_shared, spec.form) {
        (true, Even) => const { &OfShared::<true>::RATES },
        (true, _) => const { &OfShared::<false>::RATES },
        _ => rates::of_collective(spec.kind),
    }
}

/// The collective of `spec` in `case`, with parts of these lengths.
pub(crate) fn collective(
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
pub(crate) fn admit_layout(case: &Case) -> Result<(), String> {
    let is_other = |axis: &&Axis| case.find(axis).is_some_and(|value| value != 0);
    let other =
        [&ALGORITHM, &ROOT, &PLACE].into_iter().filter(|_| case.arrangement().layout.is_some());
    let Some(axis) = other.clone().find(is_other) else { return Ok(()) };
    let value = axis.label(case.value(axis)).unwrap_or_default();
    let (name, usual) = (axis.name, axis.labels[0]);
    Err(format!("{name}={value} has no messages with a layout (take {name}={usual})"))
}

pub(crate) fn admit(spec: &Spec, case: &Case, world: &World<'_>) -> Result<(), String> {
    if spec.kind.is_reduction() {
        reducer(case)?;
    }
    admit_layout(case)?;
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

pub(crate) fn bytes_per_rank(spec: &Spec, case: &Case, world: &World<'_>) -> u64 {
    let (length, n_ranks) = (length_bytes(case), world.n_ranks as u64);
    let (one, all) = (length, length.saturating_mul(n_ranks));
    let of_buffers = match spec.kind {
        // What a rank lingers with before it enters, when the call is proved.
        Kind::Barrier => 16 * LINGER_VECTOR_LENGTH as u64,
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
pub(crate) fn messages_per_op(spec: &Spec, case: &Case, world: &World<'_>) -> u64 {
    let n_ranks = world.n_ranks;
    let call = collective(spec, case, |rank| part_bytes(spec, case, rank, n_ranks), n_ranks);
    let by = algorithm(spec.kind, case).ok().flatten();
    by.unwrap_or_else(|| algorithm::automatic(&call, n_ranks)).n_messages(&call, n_ranks)
}

/// Calls of one rank in turn, with their buffers.
pub(crate) trait Calls<T: Transport> {
    /// Puts test data into the buffers, and begins with the first call.
    fn fill(&mut self, seeds: Seeds);

    /// The next call with the transport that carries it out, its input and its output.
    fn next<'a>(&'a mut self, t: &'a T) -> (&'a T, &'a mut Prepared<T>, [&'a mut [u8]; 2]);

    /// The next call by `run`, with the blocks of its input packed before, and those of its output unpacked after
    /// it, where they have gaps.
    #[inline]
    fn run_packed(
        &mut self,
        t: &T,
        packing: &mut Packing<'_, T>,
        run: impl FnOnce(&T, &mut Prepared<T>, [&mut [u8]; 2]) -> Result<()>,
    ) -> Result<()> {
        if packing.is_direct() {
            let (t, call, buffers) = self.next(t);
            return run(t, call, buffers);
        }
        self.run_in_pieces(t, packing, run)
    }

    /// The same of blocks with gaps.
    fn run_in_pieces(
        &mut self,
        t: &T,
        packing: &Packing<'_, T>,
        run: impl FnOnce(&T, &mut Prepared<T>, [&mut [u8]; 2]) -> Result<()>,
    ) -> Result<()>;

    /// Compares the output with what the last call puts there.
    fn check(&mut self, check: &mut Checker);

    /// Carries other calls, which are never timed, out by `run`, and checks them.
    fn prove(
        &mut self,
        t: &T,
        check: &mut Checker,
        run: impl FnMut(&T, &mut Prepared<T>, [&mut [u8]; 2]) -> Result<()>,
    ) -> Result<()>;
}

/// Carries `call` out once by `run`, over test data for the rank `at` of so many, and checks what it leaves in
/// the buffers.
pub(crate) fn prove_one<T: Transport>(
    call: &mut Prepared<T>,
    at: (Rank, usize),
    [input, output]: [&mut Guarded<T::Buffer>; 2],
    check: &mut Checker,
    run: impl FnOnce(&mut Prepared<T>, [&mut [u8]; 2]) -> Result<()>,
) -> Result<()> {
    fill(call.call(), at, check.seeds(), [input.bytes(), output.bytes()]);
    run(call, [input.bytes(), output.bytes()])?;
    compare(call.call(), at, output.bytes(), check);
    input.check(check, "the input");
    output.check(check, "the output");
    Ok(())
}

/// Blocked calls of one rank.
pub(crate) struct Blocked<C>(pub(crate) C);

impl<T: Transport, C: Calls<T>> Operation<T> for Blocked<C> {
    fn fill(&mut self, seeds: Seeds) {
        self.0.fill(seeds);
    }

    #[inline]
    fn run(&mut self, t: &T) -> Result<()> {
        let (t, call, buffers) = self.0.next(t);
        call.run(t, buffers)
    }

    #[inline]
    fn run_packed(&mut self, t: &T, packing: &mut Packing<'_, T>) -> Result<()> {
        self.0.run_packed(t, packing, |t, call, buffers| call.run(t, buffers))
    }

    fn check(&mut self, check: &mut Checker) {
        self.0.check(check);
    }

    /// The call that is timed, and those that are not.
    fn verify(&mut self, t: &T, check: &mut Checker) -> Result<()> {
        self.0.fill(check.seeds());
        self.run(t)?;
        self.0.check(check);
        self.0.prove(t, check, |t, call, buffers| call.run(t, buffers))
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
    /// The calls of packed messages, where the rank packs.
    packed: Option<PackedCalls<T>>,
    input: Guarded<T::Buffer>,
    output: Guarded<T::Buffer>,
}

impl<T: Transport> Part<T> {
    /// The part of this rank in `case`, whose calls `prepare` makes.
    pub(crate) fn new(
        spec: &Spec,
        cx: &Context<'_, T>,
        case: &Case,
        prepare: fn(&T, Collective, Option<&Algorithm>) -> Result<Prepared<T>>,
    ) -> Result<Self> {
        Self::made(spec, cx, case, |call, by, _| prepare(cx.transport(), call, by))
    }

    /// The same of calls that are started again and again.
    ///
    /// # Errors
    /// If there is no memory for the buffers, or if the library lacks the call that prepares it.
    pub(crate) fn persistent(spec: &Spec, cx: &Context<'_, T>, case: &Case) -> Result<Self> {
        Self::made(spec, cx, case, |call, by, [input, output]| {
            Prepared::persistent(cx.transport(), call, by, input, output)
        })
    }

    /// The part of this rank in `call` alone.
    pub(crate) fn of(cx: &Context<'_, T>, call: Collective) -> Result<Self> {
        let (rank, n_ranks) = (cx.rank(), cx.transport().n_ranks());
        let input = Guarded::new(cx, call.input_bytes(rank, n_ranks))?;
        let output = Guarded::new(cx, call.output_bytes(rank, n_ranks))?;
        let calls = vec![Prepared::new(cx.transport(), call, None)?];
        let (is_in_place, next, proofs, packed) = (false, 0, Vec::new(), None);
        Ok(Self { rank, n_ranks, is_in_place, calls, next, proofs, packed, input, output })
    }

    /// The same of calls that `prepare` makes for the buffers.
    fn made(
        spec: &Spec,
        cx: &Context<'_, T>,
        case: &Case,
        prepare: impl Fn(Collective, Option<&Algorithm>, [&mut [u8]; 2]) -> Result<Prepared<T>>,
    ) -> Result<Self> {
        let (rank, n_ranks) = (cx.rank(), cx.transport().n_ranks());
        let length = |rank| part_bytes(spec, case, rank, n_ranks);
        let is_in_place = is_in_place(case);
        let by = algorithm(spec.kind, case).ok().flatten();
        let call = collective(spec, case, length, n_ranks);
        let even = |root| call.clone().with_root(root);
        let first_root = case.find(&FIRST_ROOT).map_or(0, |_| case.length(&FIRST_ROOT));
        let n_roots = if case.find(&ROOT) == Some(ROTATING) { n_ranks } else { 1 };
        let roots = (first_root..first_root + n_roots).map(|root| root % n_ranks);
        let calls: Vec<Collective> = roots.map(even).collect();
        let other_roots = [n_ranks / 2, n_ranks - 1];
        let is_rooted = spec.kind.is_rooted();
        let others = other_roots.into_iter().filter(|_| is_rooted).map(even);
        let unit = case.unit();
        // Of parts that share a vector out the last is the shortest.
        let shorter = |rank: Rank| whole(length(n_ranks - 1), unit) * (rank % 3) / 2 * unit;
        // In place each rank gets so much of another as it sends to it.
        let admits_uneven = spec.form != Even && !(is_in_place && spec.kind == Kind::Alltoall);
        let uneven = admits_uneven.then(|| {
            let call = collective(spec, case, shorter, n_ranks).with_root(first_root);
            match spec.kind {
                // Each rank gets so much of another as that one sends to all.
                Kind::Alltoall => {
                    let sent = Parts::packed(vec![shorter(rank); n_ranks]);
                    call.with_sent(sent.counted_in(unit))
                }
                _ => call,
            }
        });
        let proofs: Vec<Collective> = others.chain(uneven).collect();
        let longest = |bytes: fn(&Collective, Rank, usize) -> usize| {
            let all = calls.iter().chain(&proofs).map(|call| bytes(call, rank, n_ranks));
            all.max().unwrap_or(0)
        };
        let mut input = Guarded::new(cx, longest(Collective::input_bytes))?;
        let mut output = Guarded::new(cx, longest(Collective::output_bytes))?;
        let packed = cx.packed_bytes().map(|bytes| {
            let packed = case.with(&LENGTH_BYTES, bytes as u64);
            let length = |rank| part_bytes(spec, &packed, rank, n_ranks);
            let call = collective(spec, &packed, length, n_ranks);
            let all = calls.iter().map(|of| call.clone().with_root(of.root()));
            PackedCalls::new(cx, all.collect(), |call, buffers| prepare(call, by, buffers))
        });
        let packed = packed.transpose()?;
        let mut prepared = |call| prepare(call, by, [input.bytes(), output.bytes()]);
        let calls = calls.into_iter().map(&mut prepared).collect::<Result<_>>()?;
        let proofs = proofs.into_iter().map(prepared).collect::<Result<_>>()?;
        Ok(Self { rank, n_ranks, is_in_place, calls, next: 0, proofs, packed, input, output })
    }

    /// Roots of the calls, in turn.
    #[cfg(test)]
    pub(crate) fn roots(&self) -> Vec<Rank> {
        self.calls.iter().map(|of| of.call().root()).collect()
    }
}

impl<T: Transport> Calls<T> for Part<T> {
    fn fill(&mut self, seeds: Seeds) {
        self.next = 0;
        let Self { rank, n_ranks, calls, input, output, .. } = self;
        fill(calls[0].call(), (*rank, *n_ranks), seeds, [input.bytes(), output.bytes()]);
    }

    #[inline]
    fn next<'a>(&'a mut self, t: &'a T) -> (&'a T, &'a mut Prepared<T>, [&'a mut [u8]; 2]) {
        let Self { calls, next, input, output, .. } = self;
        let index = turn(next, calls.len());
        (t, &mut calls[index], [input.bytes(), output.bytes()])
    }

    #[inline]
    fn run_in_pieces(
        &mut self,
        t: &T,
        packing: &Packing<'_, T>,
        run: impl FnOnce(&T, &mut Prepared<T>, [&mut [u8]; 2]) -> Result<()>,
    ) -> Result<()> {
        let Self { calls, packed: Some(packed), next, input, output, .. } = self else {
            return Ok(());
        };
        let index = turn(next, calls.len());
        let (laid, buffers) = (calls[index].call(), [input.bytes(), output.bytes()]);
        packed.run((t, packing), (index, laid), buffers, |call, of| run(t, call, of))
    }

    fn check(&mut self, check: &mut Checker) {
        let Self { rank, n_ranks, is_in_place, calls, next, input, output, .. } = self;
        let last = calls[(*next + calls.len() - 1) % calls.len()].call();
        if !*is_in_place || check.n_runs() == 1 {
            compare(last, (*rank, *n_ranks), output.bytes(), check);
        }
        input.check(check, "the input");
        output.check(check, "the output");
    }

    /// Calls with other roots, as far as the transport has them, and with uneven parts.
    fn prove(
        &mut self,
        t: &T,
        check: &mut Checker,
        mut run: impl FnMut(&T, &mut Prepared<T>, [&mut [u8]; 2]) -> Result<()>,
    ) -> Result<()> {
        let Self { rank, n_ranks, calls, proofs, input, output, .. } = self;
        let at = (*rank, *n_ranks);
        for proof in proofs {
            let root = proof.call().root();
            let is_timed = calls.iter().any(|call| call.call().root() == root);
            match prove_one(proof, at, [&mut *input, output], check, |call, of| run(t, call, of)) {
                // On all ranks alike; the case does without this root.
                Err(error) if !is_timed && error.is_unsupported() => (),
                proved => proved?,
            }
        }
        Ok(())
    }
}

/// The place at hand of `n`; `next` goes on to the one behind it, and from the last to the first.
#[inline]
pub(crate) fn turn(next: &mut usize, n: usize) -> usize {
    let index = *next;
    *next = if index + 1 == n { 0 } else { index + 1 };
    index
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_axis_has_every_algorithm_of_the_library() {
        for algorithm in Kind::ALL.into_iter().flat_map(algorithm::of) {
            assert!(ALGORITHMS.contains(&algorithm.name), "{}", algorithm.name);
        }
    }
}
