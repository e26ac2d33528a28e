//! Collective operations as values: kind, root, lengths, element type and operator.

use std::ops::Range;

use crate::error::{Result, TransportError, TransportErrorKind};
use crate::transport::Rank;

/// Kind of a collective operation (MPI-4.1 chapter 6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// All ranks leave after all have come.
    Barrier,
    /// The message of the root, on every rank.
    Broadcast,
    /// The combination of all vectors, on the root.
    Reduce,
    /// The combination of all vectors, on every rank.
    Allreduce,
    /// The combination of all vectors, of which each rank gets its part.
    ReduceScatter,
    /// The combination of the vectors of all ranks up to and with the own one.
    Scan,
    /// The combination of the vectors of all ranks below the own one; nothing on rank 0.
    Exscan,
    /// The parts of all ranks, on the root.
    Gather,
    /// The parts of the root's message, one on each rank.
    Scatter,
    /// The parts of all ranks, on every rank.
    Allgather,
    /// From each rank a part of its own for each rank.
    Alltoall,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 11] = [
        Self::Barrier,
        Self::Broadcast,
        Self::Reduce,
        Self::Allreduce,
        Self::ReduceScatter,
        Self::Scan,
        Self::Exscan,
        Self::Gather,
        Self::Scatter,
        Self::Allgather,
        Self::Alltoall,
    ];

    /// Its word on the command line and in the record.
    pub const fn name(self) -> &'static str {
        [
            "barrier",
            "bcast",
            "reduce",
            "allreduce",
            "reduce_scatter",
            "scan",
            "exscan",
            "gather",
            "scatter",
            "allgather",
            "alltoall",
        ][self as usize]
    }

    /// Whether one rank has another part in it than the others.
    pub const fn is_rooted(self) -> bool {
        matches!(self, Self::Broadcast | Self::Reduce | Self::Gather | Self::Scatter)
    }

    /// Whether it combines elements.
    pub const fn is_reduction(self) -> bool {
        matches!(
            self,
            Self::Reduce | Self::Allreduce | Self::ReduceScatter | Self::Scan | Self::Exscan
        )
    }
}

/// Type of the elements of a reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// 8 bits without a sign (`MPI_UINT8_T`, `MPI_BYTE`).
    U8,
    /// 8 bits with a sign (`MPI_INT8_T`, `MPI_SIGNED_CHAR`).
    I8,
    /// 32 bits with a sign (`MPI_INT`).
    I32,
    /// 64 bits with a sign (`MPI_LONG`).
    I64,
    /// Single precision (`MPI_FLOAT`).
    F32,
    /// Double precision (`MPI_DOUBLE`).
    F64,
}

impl Element {
    /// Every type, in the order of [`LABELS`](Self::LABELS).
    pub const ALL: [Self; 6] = [Self::U8, Self::I8, Self::I32, Self::I64, Self::F32, Self::F64];
    /// Words of the types on the command line and in the record.
    pub const LABELS: &'static [&'static str] = &["byte", "char", "int", "long", "float", "double"];

    /// Length in bytes.
    pub const fn bytes(self) -> usize {
        match self {
            Self::U8 | Self::I8 => 1,
            Self::I32 | Self::F32 => 4,
            Self::I64 | Self::F64 => 8,
        }
    }
}

/// Operator of a reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// Sum; integers wrap.
    Sum,
    /// Product; integers wrap.
    Product,
    /// Least value.
    Min,
    /// Greatest value.
    Max,
    /// Bits that are set in all, of integers.
    And,
    /// Bits that are set in any, of integers.
    Or,
    /// Bits that are set in an odd number, of integers.
    Xor,
}

impl Operator {
    /// Every operator, in the order of [`LABELS`](Self::LABELS).
    pub const ALL: [Self; 7] =
        [Self::Sum, Self::Product, Self::Min, Self::Max, Self::And, Self::Or, Self::Xor];
    /// Words of the operators on the command line and in the record.
    pub const LABELS: &'static [&'static str] =
        &["sum", "product", "min", "max", "and", "or", "xor"];
}

/// An element type and an operator that fits it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reducer {
    element: Element,
    operator: Operator,
}

/// Combines `into` with `other`, element by element.
macro_rules! combined {
    ($type:ty, $into:expr, $other:expr, $combine:expr) => {{
        let combine: fn($type, $type) -> $type = $combine;
        let others = $other.as_chunks::<{ size_of::<$type>() }>().0;
        let elements = $into.as_chunks_mut::<{ size_of::<$type>() }>().0;
        for (element, other) in elements.iter_mut().zip(others) {
            let (a, b) = (<$type>::from_ne_bytes(*element), <$type>::from_ne_bytes(*other));
            *element = combine(a, b).to_ne_bytes();
        }
    }};
}

macro_rules! combined_integers {
    ($type:ty, $operator:expr, $into:expr, $other:expr) => {
        match $operator {
            Operator::Sum => combined!($type, $into, $other, |a, b| a.wrapping_add(b)),
            Operator::Product => combined!($type, $into, $other, |a, b| a.wrapping_mul(b)),
            Operator::Min => combined!($type, $into, $other, |a, b| a.min(b)),
            Operator::Max => combined!($type, $into, $other, |a, b| a.max(b)),
            Operator::And => combined!($type, $into, $other, |a, b| a & b),
            Operator::Or => combined!($type, $into, $other, |a, b| a | b),
            Operator::Xor => combined!($type, $into, $other, |a, b| a ^ b),
        }
    };
}

macro_rules! combined_reals {
    ($type:ty, $operator:expr, $into:expr, $other:expr) => {
        match $operator {
            Operator::Sum => combined!($type, $into, $other, |a, b| a + b),
            Operator::Product => combined!($type, $into, $other, |a, b| a * b),
            Operator::Min => combined!($type, $into, $other, |a, b| a.min(b)),
            Operator::Max => combined!($type, $into, $other, |a, b| a.max(b)),
            Operator::And | Operator::Or | Operator::Xor => unreachable!("`new` refuses them"),
        }
    };
}

impl Reducer {
    /// The sum of doubles.
    pub const SUM: Self = Self { element: Element::F64, operator: Operator::Sum };

    /// `operator` on `element`; `None` for bits of floating-point numbers.
    pub fn new(element: Element, operator: Operator) -> Option<Self> {
        let is_of_bits = matches!(operator, Operator::And | Operator::Or | Operator::Xor);
        let is_real = matches!(element, Element::F32 | Element::F64);
        (!(is_of_bits && is_real)).then_some(Self { element, operator })
    }

    /// The element type.
    pub fn element(self) -> Element {
        self.element
    }

    /// The operator.
    pub fn operator(self) -> Operator {
        self.operator
    }

    /// Replaces each element of `into` by its combination with that of `other`.
    pub fn combine(self, into: &mut [u8], other: &[u8]) {
        match self.element {
            Element::U8 => combined_integers!(u8, self.operator, into, other),
            Element::I8 => combined_integers!(i8, self.operator, into, other),
            Element::I32 => combined_integers!(i32, self.operator, into, other),
            Element::I64 => combined_integers!(i64, self.operator, into, other),
            Element::F32 => combined_reals!(f32, self.operator, into, other),
            Element::F64 => combined_reals!(f64, self.operator, into, other),
        }
    }
}

/// Lengths and places of the parts of all ranks in a message, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parts {
    /// Parts of one length, one behind the other (`MPI_Gather`).
    Equal(usize),
    /// Parts of any lengths, at any places that do not overlap (`MPI_Gatherv`).
    Uneven(Places),
}

/// Parts of any lengths, at any places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    lengths: Vec<usize>,
    starts: Vec<usize>,
    end: usize,
    /// Lengths and starts as integers of C, if they fit.
    as_ints: Option<[Vec<i32>; 2]>,
}

impl Places {
    /// Parts of these lengths, which begin at `starts`.
    ///
    /// # Panics
    /// If there are not as many starts as lengths.
    pub fn new(lengths: Vec<usize>, starts: Vec<usize>) -> Self {
        assert_eq!(lengths.len(), starts.len(), "each part has a length and a start");
        let end = starts.iter().zip(&lengths).map(|(start, length)| start + length).max();
        let ints = |values: &[usize]| -> Option<Vec<i32>> {
            values.iter().map(|value| i32::try_from(*value).ok()).collect()
        };
        let as_ints = ints(&lengths).zip(ints(&starts)).map(|(lengths, starts)| [lengths, starts]);
        Self { lengths, starts, end: end.unwrap_or(0), as_ints }
    }

    /// Lengths and starts as integers of C; `None` if one of them does not fit.
    pub fn as_ints(&self) -> Option<&[Vec<i32>; 2]> {
        self.as_ints.as_ref()
    }
}

impl Parts {
    /// Parts of these lengths, one behind the other.
    pub fn packed(lengths: Vec<usize>) -> Self {
        let mut end = 0;
        let starts = lengths.iter().map(|length| {
            end += length;
            end - length
        });
        let starts = starts.collect();
        Self::Uneven(Places::new(lengths, starts))
    }

    /// Length of the part of `rank`.
    #[inline]
    pub fn length(&self, rank: Rank) -> usize {
        match self {
            Self::Equal(length) => *length,
            Self::Uneven(places) => places.lengths[rank],
        }
    }

    /// Place of the part of `rank`.
    #[inline]
    pub fn of(&self, rank: Rank) -> Range<usize> {
        match self {
            Self::Equal(length) => rank * length..(rank + 1) * length,
            Self::Uneven(Places { lengths, starts, .. }) => {
                starts[rank]..starts[rank] + lengths[rank]
            }
        }
    }

    /// Length of a message with the parts of `n_ranks` ranks.
    #[inline]
    pub fn total(&self, n_ranks: usize) -> usize {
        match self {
            Self::Equal(length) => n_ranks * length,
            Self::Uneven(places) => places.end,
        }
    }

    /// Whether all parts have one length, and lie one behind the other.
    pub fn is_equal(&self) -> bool {
        matches!(self, Self::Equal(_))
    }
}

/// A collective operation of all ranks of a transport; made once, carried out many times.
///
/// Vectors of reductions are parts of length [`Parts::Equal`]; a broadcast has one part, its message.
///
/// ```
/// use comet_core::collective::{Collective, Kind, Parts};
/// let gather = Collective::new(Kind::Gather, Parts::Equal(8)).with_root(2);
/// assert_eq!((gather.input_bytes(0, 4), gather.output_bytes(0, 4)), (8, 0));
/// assert_eq!(gather.output_bytes(2, 4), 32);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collective {
    kind: Kind,
    root: Rank,
    /// Parts of what is received, and sent unless `sent` says otherwise.
    parts: Parts,
    sent: Option<Parts>,
    by: Reducer,
    is_in_place: bool,
    /// Elements of the uneven parts of a reduction, as integers of C.
    counts: Option<Vec<i32>>,
}

impl Collective {
    /// The operation `kind` of `parts`: root 0, sums of doubles.
    pub fn new(kind: Kind, parts: Parts) -> Self {
        let (sent, counts) = (None, None);
        Self { kind, root: 0, parts, sent, by: Reducer::SUM, is_in_place: false, counts }.counted()
    }

    /// This operation with the numbers of elements of its parts.
    fn counted(mut self) -> Self {
        let unit = self.by.element().bytes();
        let count = |length: &usize| i32::try_from(length / unit).ok();
        self.counts = match &self.parts {
            Parts::Uneven(places) if self.kind.is_reduction() => {
                places.lengths.iter().map(count).collect()
            }
            _ => None,
        };
        self
    }

    /// This operation with another root.
    pub fn with_root(self, root: Rank) -> Self {
        Self { root, ..self }
    }

    /// This operation with other elements or another operator.
    pub fn with_reducer(self, by: Reducer) -> Self {
        Self { by, ..self }.counted()
    }

    /// This operation, in which each rank sends other parts than it receives (`MPI_Alltoallv`).
    pub fn with_sent(self, sent: Parts) -> Self {
        Self { sent: Some(sent), ..self }
    }

    /// This operation on data that lie where its result goes (`MPI_IN_PLACE`): on every rank, on the
    /// root of a rooted one. There is no input then.
    pub fn in_place(self) -> Self {
        Self { is_in_place: true, ..self }
    }

    /// Its kind.
    #[inline]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Its root.
    #[inline]
    pub fn root(&self) -> Rank {
        self.root
    }

    /// Parts of what is received; of what is sent, where a root sends.
    #[inline]
    pub fn parts(&self) -> &Parts {
        &self.parts
    }

    /// Parts of what each rank of an all-to-all sends.
    #[inline]
    pub fn sent(&self) -> &Parts {
        self.sent.as_ref().unwrap_or(&self.parts)
    }

    /// Elements and operator of a reduction.
    #[inline]
    pub fn by(&self) -> Reducer {
        self.by
    }

    /// Elements of the uneven parts of a reduction, as integers of C; `None` where one does not fit.
    #[inline]
    pub fn counts(&self) -> Option<&[i32]> {
        self.counts.as_deref()
    }

    /// Whether the data lie where the result goes, on `rank`.
    #[inline]
    pub fn is_in_place_on(&self, rank: Rank) -> bool {
        self.is_in_place && (!self.kind.is_rooted() || rank == self.root)
    }

    /// Length of the input of `rank` of `n_ranks`, in bytes.
    pub fn input_bytes(&self, rank: Rank, n_ranks: usize) -> usize {
        if self.is_in_place_on(rank) && self.kind != Kind::Scatter {
            return 0;
        }
        match self.kind {
            Kind::Barrier | Kind::Broadcast => 0,
            Kind::Reduce | Kind::Allreduce | Kind::Scan | Kind::Exscan => self.parts.length(0),
            Kind::Gather | Kind::Allgather => self.parts.length(rank),
            Kind::ReduceScatter => self.parts.total(n_ranks),
            Kind::Scatter if rank == self.root => self.parts.total(n_ranks),
            Kind::Scatter => 0,
            Kind::Alltoall => self.sent().total(n_ranks),
        }
    }

    /// Length of the output of `rank` of `n_ranks`, in bytes.
    pub fn output_bytes(&self, rank: Rank, n_ranks: usize) -> usize {
        let is_root = rank == self.root;
        match self.kind {
            Kind::Barrier => 0,
            Kind::Broadcast | Kind::Allreduce | Kind::Scan | Kind::Exscan => self.parts.length(0),
            Kind::Reduce => {
                if is_root {
                    self.parts.length(0)
                } else {
                    0
                }
            }
            Kind::ReduceScatter if self.is_in_place => self.parts.total(n_ranks),
            Kind::Scatter if self.is_in_place_on(rank) => 0,
            Kind::ReduceScatter | Kind::Scatter => self.parts.length(rank),
            Kind::Gather => {
                if is_root {
                    self.parts.total(n_ranks)
                } else {
                    0
                }
            }
            Kind::Allgather | Kind::Alltoall => self.parts.total(n_ranks),
        }
    }

    /// Refuses buffers that are too short on `rank` of `n_ranks`, and a root that does not exist.
    ///
    /// # Errors
    /// [`InvalidArgument`](TransportErrorKind::InvalidArgument) with both lengths.
    #[inline]
    pub fn admit(&self, (rank, n_ranks): (Rank, usize), input: &[u8], output: &[u8]) -> Result<()> {
        let (wanted_in, wanted_out) =
            (self.input_bytes(rank, n_ranks), self.output_bytes(rank, n_ranks));
        if input.len() >= wanted_in && output.len() >= wanted_out && self.root < n_ranks {
            return Ok(());
        }
        Err(self.refusal((rank, n_ranks), [input.len(), output.len()], [wanted_in, wanted_out]))
    }

    #[cold]
    fn refusal(
        &self,
        (rank, n_ranks): (Rank, usize),
        found: [usize; 2],
        wanted: [usize; 2],
    ) -> TransportError {
        if self.root >= n_ranks {
            return TransportError::no_such_rank(self.root, n_ranks);
        }
        let which = usize::from(found[0] >= wanted[0]);
        let text = format!(
            "{} on rank {rank} of {n_ranks}: an {} of {} bytes, {} expected",
            self.kind.name(),
            ["input", "output"][which],
            found[which],
            wanted[which]
        );
        TransportError::new(TransportErrorKind::InvalidArgument, text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operator_combines_elements_of_every_type_that_it_fits() {
        for element in Element::ALL {
            for operator in Operator::ALL {
                let Some(by) = Reducer::new(element, operator) else {
                    assert!(matches!(element, Element::F32 | Element::F64), "{element:?}");
                    continue;
                };
                let expected = match operator {
                    Operator::Sum => 9,
                    Operator::Product => 18,
                    Operator::Min | Operator::And => [3, 2][usize::from(operator == Operator::And)],
                    Operator::Max => 6,
                    Operator::Or => 7,
                    Operator::Xor => 5,
                };
                let mut into = number(element, 3).repeat(3);
                by.combine(&mut into, &number(element, 6).repeat(2));
                let unchanged = number(element, 3);
                let expected = [number(element, expected).repeat(2), unchanged].concat();
                assert_eq!(into, expected, "{element:?} {operator:?}");
            }
        }
        let wrapping = Reducer::new(Element::U8, Operator::Sum).unwrap();
        let mut into = [200];
        wrapping.combine(&mut into, &[100]);
        assert_eq!(into, [44]);
    }

    /// `value` as an element.
    fn number(element: Element, value: u8) -> Vec<u8> {
        match element {
            Element::U8 | Element::I8 => vec![value],
            Element::I32 => i32::from(value).to_ne_bytes().to_vec(),
            Element::I64 => i64::from(value).to_ne_bytes().to_vec(),
            Element::F32 => f32::from(value).to_ne_bytes().to_vec(),
            Element::F64 => f64::from(value).to_ne_bytes().to_vec(),
        }
    }

    #[test]
    fn packed_parts_lie_one_behind_the_other() {
        let parts = Parts::packed(vec![3, 0, 2]);
        let places = [0, 1, 2].map(|rank| parts.of(rank));
        assert_eq!((places, parts.total(3)), ([0..3, 3..3, 3..5], 5));
    }

    #[test]
    fn buffers_that_are_too_short_are_refused_with_both_lengths() {
        let scatter = Collective::new(Kind::Scatter, Parts::Equal(8)).with_root(1);
        scatter.admit((0, 2), &[], &[0; 8]).unwrap();
        let error = scatter.admit((1, 2), &[0; 15], &[0; 8]).unwrap_err().to_string();
        let expected = "scatter on rank 1 of 2: an input of 15 bytes, 16 expected";
        assert!(error.contains(expected), "{error}");
        assert!(scatter.with_root(2).admit((0, 2), &[], &[0; 8]).is_err());
    }
}
