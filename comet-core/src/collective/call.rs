//! Collective operations as values: kind, root, lengths, element type and operator.

use std::sync::Arc;

use super::parts::{Neighbours, Parts};
use super::reducer::Reducer;
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
    /// The messages of the sources of each rank (section 8.6.1).
    NeighbourAllgather,
    /// From each rank a part of its own for each of its destinations (section 8.6.2).
    NeighbourAlltoall,
}

named! {
    Kind: Barrier "barrier", Broadcast "bcast", Reduce "reduce", Allreduce "allreduce",
    ReduceScatter "reduce_scatter", Scan "scan", Exscan "exscan", Gather "gather", Scatter "scatter",
    Allgather "allgather", Alltoall "alltoall", NeighbourAllgather "neighbor_allgather",
    NeighbourAlltoall "neighbor_alltoall"
}

impl Kind {
    /// True if one rank has another part in it than the others.
    pub const fn is_rooted(self) -> bool {
        matches!(self, Self::Broadcast | Self::Reduce | Self::Gather | Self::Scatter)
    }

    /// True if each rank names its [`Neighbours`].
    #[inline]
    pub const fn is_among_neighbours(self) -> bool {
        matches!(self, Self::NeighbourAllgather | Self::NeighbourAlltoall)
    }

    /// True if its data may lie where its result goes (`MPI_IN_PLACE`).
    pub const fn admits_in_place(self) -> bool {
        !matches!(self, Self::Barrier | Self::Broadcast) && !self.is_among_neighbours()
    }

    /// True if it combines elements.
    pub const fn is_reduction(self) -> bool {
        matches!(
            self,
            Self::Reduce | Self::Allreduce | Self::ReduceScatter | Self::Scan | Self::Exscan
        )
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
    has_types: bool,
    neighbours: Option<Arc<Neighbours>>,
    /// Elements of the uneven parts of a reduction, as integers of C.
    counts: Option<Vec<i32>>,
    /// Needs of one rank, if they are known.
    needs: Option<Needs>,
}

/// Lengths of the buffers of one rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Needs {
    /// The rank, and the number of ranks.
    at: (Rank, usize),
    input_bytes: usize,
    output_bytes: usize,
}

impl Collective {
    /// The operation `kind` of `parts`: root 0, sums of doubles.
    pub fn new(kind: Kind, parts: Parts) -> Self {
        let (by, root, is_in_place, has_types) = (Reducer::SUM, 0, false, false);
        let (sent, neighbours, counts, needs) = (None, None, None, None);
        Self { kind, root, parts, sent, by, is_in_place, has_types, neighbours, counts, needs }
            .counted()
    }

    /// This operation with the numbers of elements of its parts.
    fn counted(mut self) -> Self {
        let unit = self.by.element().bytes();
        let count = |length: &usize| i32::try_from(length / unit).ok();
        self.counts = match &self.parts {
            Parts::Uneven(places) if self.kind.is_reduction() => {
                places.lengths().iter().map(count).collect()
            }
            _ => None,
        };
        self
    }

    /// This operation with another root.
    pub fn with_root(self, root: Rank) -> Self {
        Self { root, needs: None, ..self }
    }

    /// This operation with other elements or another operator.
    pub fn with_reducer(self, by: Reducer) -> Self {
        Self { by, needs: None, ..self }.counted()
    }

    /// This operation, in which each rank sends other parts than it receives (`MPI_Alltoallv`), or
    /// another message to its neighbours than one as long as the first that it receives.
    pub fn with_sent(self, sent: Parts) -> Self {
        Self { sent: Some(sent), needs: None, ..self }
    }

    /// This operation among `neighbours`, which are those of one rank.
    pub fn with_neighbours(self, neighbours: Arc<Neighbours>) -> Self {
        Self { neighbours: Some(neighbours), needs: None, ..self }
    }

    /// This all-to-all of [`Parts::Uneven`], in which each part has a type of its own (`MPI_Alltoallw`:
    /// MPI-4.1 section 6.8); each is a type of bytes.
    pub fn with_types(self) -> Self {
        Self { has_types: true, needs: None, ..self }
    }

    /// This operation on data that lie where its result goes (`MPI_IN_PLACE`): on every rank, on the
    /// root of a rooted one. There is no input then.
    pub fn in_place(self) -> Self {
        Self { is_in_place: true, needs: None, ..self }
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

    /// Parts of what is received; of what is sent, where a root sends. Among neighbours there is one for
    /// each source.
    #[inline]
    pub fn parts(&self) -> &Parts {
        &self.parts
    }

    /// Parts of what each rank of an all-to-all sends. Among neighbours there is one for each destination,
    /// or one for all.
    #[inline]
    pub fn sent(&self) -> &Parts {
        self.sent.as_ref().unwrap_or(&self.parts)
    }

    /// True if each part has a type of its own.
    #[inline]
    pub fn has_types(&self) -> bool {
        self.has_types
    }

    /// The neighbours of the rank that calls it, where it is among neighbours.
    #[inline]
    pub fn neighbours(&self) -> Option<&Arc<Neighbours>> {
        self.neighbours.as_ref()
    }

    /// The ranks that send to this one, among neighbours.
    #[inline]
    pub fn sources(&self) -> &[Rank] {
        self.neighbours.as_ref().map_or(&[], |neighbours| neighbours.sources())
    }

    /// The ranks that this one sends to, among neighbours.
    #[inline]
    pub fn destinations(&self) -> &[Rank] {
        self.neighbours.as_ref().map_or(&[], |neighbours| neighbours.destinations())
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

    /// True if the data lie where the result goes, on `rank`.
    #[inline]
    pub fn is_in_place_on(&self, rank: Rank) -> bool {
        self.is_in_place
            && self.kind.admits_in_place()
            && (!self.kind.is_rooted() || rank == self.root)
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
            Kind::NeighbourAllgather => self.message_bytes(),
            Kind::NeighbourAlltoall => self.sent().total(self.destinations().len()),
        }
    }

    /// Length of the message of this rank to its neighbours.
    fn message_bytes(&self) -> usize {
        match self.sent() {
            Parts::Equal(length) => *length,
            Parts::Uneven(places) => places.lengths().first().copied().unwrap_or(0),
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
            Kind::NeighbourAllgather | Kind::NeighbourAlltoall => {
                self.parts.total(self.sources().len())
            }
        }
    }

    /// True if there is a part for each rank or neighbour, on both sides.
    #[inline]
    fn has_all_parts(&self, n_ranks: usize) -> bool {
        match self.kind {
            Kind::NeighbourAllgather => self.parts.are(self.sources().len()),
            Kind::NeighbourAlltoall => {
                self.parts.are(self.sources().len()) && self.sent().are(self.destinations().len())
            }
            Kind::Alltoall => self.parts.are(n_ranks) && self.sent().are(n_ranks),
            _ => self.parts.are(n_ranks),
        }
    }

    /// True unless it shares a vector out in parts with gaps or in another order, which MPI does not.
    fn has_places(&self) -> bool {
        self.kind != Kind::ReduceScatter || self.parts.are_packed()
    }

    /// The first neighbour that is none of `n_ranks` ranks.
    fn stranger(&self, n_ranks: usize) -> Option<Rank> {
        let all = self.sources().iter().chain(self.destinations());
        all.copied().find(|rank| *rank >= n_ranks)
    }

    /// The same call, ready on `rank` of `n_ranks`: [`admit`](Self::admit) compares lengths alone there.
    pub fn ready_on(mut self, rank: Rank, n_ranks: usize) -> Self {
        self.needs = self.needs((rank, n_ranks));
        self
    }

    /// Needs of `rank` of `n_ranks`; `None` if the call cannot be made there.
    fn needs(&self, at: (Rank, usize)) -> Option<Needs> {
        let (rank, n_ranks) = at;
        let is_possible = self.root < n_ranks
            && self.has_all_parts(n_ranks)
            && self.has_places()
            && self.neighbours.as_ref().is_none_or(|of_rank| of_rank.are_among(n_ranks))
            && self.to_itself(rank).is_none_or(|[sent, received]| sent == received);
        let lengths = || (self.input_bytes(rank, n_ranks), self.output_bytes(rank, n_ranks));
        let (input_bytes, output_bytes) = is_possible.then(lengths)?;
        Some(Needs { at, input_bytes, output_bytes })
    }

    /// Refuses what [`admit`](Self::admit) does with buffers of any length.
    pub(super) fn require_possible(&self, at: (Rank, usize)) -> Result<()> {
        self.needs(at).map(drop).ok_or_else(|| self.refusal(at, [usize::MAX; 2]))
    }

    /// Refuses buffers that are too short on `rank` of `n_ranks`, a root or a neighbour that does not
    /// exist, another number of parts than there are ranks or neighbours, a reduce-scatter of parts that
    /// do not lie one behind the other, and an all-to-all in which the rank sends itself another length
    /// than it expects.
    ///
    /// # Errors
    /// [`InvalidArgument`](TransportErrorKind::InvalidArgument) with what was found and expected.
    #[inline]
    pub fn admit(&self, at: (Rank, usize), input: &[u8], output: &[u8]) -> Result<()> {
        let needs = self.needs.filter(|needs| needs.at == at).or_else(|| self.needs(at));
        match needs {
            Some(Needs { input_bytes, output_bytes, .. })
                if input.len() >= input_bytes && output.len() >= output_bytes =>
            {
                Ok(())
            }
            _ => Err(self.refusal(at, [input.len(), output.len()])),
        }
    }

    /// Length of what `rank` sends to itself, and of what it expects from itself, in an all-to-all.
    #[inline]
    fn to_itself(&self, rank: Rank) -> Option<[usize; 2]> {
        let is_alltoall = self.kind == Kind::Alltoall;
        is_alltoall.then(|| [self.sent().length(rank), self.parts.length(rank)])
    }

    #[cold]
    fn refusal(&self, (rank, n_ranks): (Rank, usize), found: [usize; 2]) -> TransportError {
        let stranger = (self.root >= n_ranks).then_some(self.root);
        if let Some(stranger) = stranger.or_else(|| self.stranger(n_ranks)) {
            return TransportError::no_such_rank(stranger, n_ranks);
        }
        let name = self.kind.name();
        let text = if !self.has_all_parts(n_ranks) {
            let expected = if self.kind.is_among_neighbours() { "neighbour" } else { "rank" };
            format!("{name} on rank {rank} of {n_ranks}: one part for each {expected} expected")
        } else if !self.has_places() {
            format!(
                "{name} on rank {rank} of {n_ranks}: parts with gaps or in another order than that of \
                 the ranks (make them with Parts::packed)"
            )
        } else {
            let wanted = [self.input_bytes(rank, n_ranks), self.output_bytes(rank, n_ranks)];
            let short = (0..2).find(|which| found[*which] < wanted[*which]);
            match (short, self.to_itself(rank)) {
                (None, Some([sent, received])) => format!(
                    "{name} on rank {rank} of {n_ranks}: the rank sends {sent} bytes to itself, and \
                     expects {received} (give both parts the same length)"
                ),
                (which, _) => {
                    let which = which.unwrap_or(1);
                    let (buffer, found, wanted) =
                        (["input", "output"][which], found[which], wanted[which]);
                    format!(
                        "{name} on rank {rank} of {n_ranks}: an {buffer} of {found} bytes, {wanted} \
                         expected"
                    )
                }
            }
        };
        TransportError::new(TransportErrorKind::InvalidArgument, text)
    }
}

#[cfg(test)]
mod tests {
    use super::super::parts::Places;
    use super::*;

    #[test]
    fn buffers_that_are_too_short_are_refused_with_both_lengths() {
        let scatter = Collective::new(Kind::Scatter, Parts::Equal(8)).with_root(1);
        scatter.admit((0, 2), &[], &[0; 8]).unwrap();
        let scatter = scatter.ready_on(1, 2);
        scatter.admit((1, 2), &[0; 16], &[0; 8]).unwrap();
        // Ready on another rank, it needs there what it needs there.
        scatter.admit((0, 2), &[], &[0; 8]).unwrap();
        let error = scatter.admit((1, 2), &[0; 15], &[0; 8]).unwrap_err().to_string();
        let expected = "scatter on rank 1 of 2: an input of 15 bytes, 16 expected";
        assert!(error.contains(expected), "{error}");
        assert!(scatter.with_root(2).admit((0, 2), &[], &[0; 8]).is_err());
    }

    #[test]
    fn a_rank_expects_from_itself_what_it_sends() {
        let parts = |lengths: [usize; 2]| Parts::packed(lengths.into());
        let call = |sent| Collective::new(Kind::Alltoall, parts([4, 8])).with_sent(parts(sent));
        call([4, 1]).admit((0, 2), &[0; 5], &[0; 12]).unwrap();
        let error = call([1, 4]).admit((1, 2), &[0; 5], &[0; 12]).unwrap_err();
        assert_eq!(error.kind, TransportErrorKind::InvalidArgument);
        let expected =
            "alltoall on rank 1 of 2: the rank sends 4 bytes to itself, and expects 8 (give";
        assert!(error.to_string().contains(expected), "{error}");
    }

    #[test]
    fn a_vector_is_shared_out_in_parts_one_behind_the_other() {
        let call = |starts: [usize; 2]| {
            let places = Places::new(vec![8, 8], starts.into());
            Collective::new(Kind::ReduceScatter, Parts::Uneven(places))
        };
        call([0, 8]).admit((0, 2), &[0; 16], &[0; 8]).unwrap();
        for starts in [[8, 0], [0, 16], [8, 16]] {
            let error = call(starts).admit((0, 2), &[0; 24], &[0; 8]).unwrap_err();
            assert_eq!(error.kind, TransportErrorKind::InvalidArgument);
            let expected = "reduce_scatter on rank 0 of 2: parts with gaps or in another order";
            assert!(error.to_string().contains(expected), "{error}");
        }
    }

    #[test]
    fn parts_are_as_many_as_ranks_or_neighbours() {
        let gather = Collective::new(Kind::Gather, Parts::packed(vec![1; 2]));
        gather.admit((0, 2), &[0], &[0; 2]).unwrap();
        let error = gather.admit((0, 3), &[0], &[0; 3]).unwrap_err().to_string();
        let expected = "gather on rank 0 of 3: one part for each rank expected";
        assert!(error.contains(expected), "{error}");
        let neighbours = Neighbours::new(vec![1], vec![0, 1]);
        let among = |parts| {
            let call = Collective::new(Kind::NeighbourAlltoall, parts);
            call.with_neighbours(Arc::clone(&neighbours))
        };
        among(Parts::Equal(4)).admit((0, 2), &[0; 8], &[0; 4]).unwrap();
        assert!(among(Parts::Equal(4)).admit((0, 2), &[0; 7], &[0; 4]).is_err());
        assert!(among(Parts::packed(vec![4])).admit((0, 2), &[0; 8], &[0; 4]).is_err());
        let error = among(Parts::Equal(4)).admit((0, 1), &[0; 8], &[0; 4]).unwrap_err();
        assert_eq!(error.kind, TransportErrorKind::InvalidArgument);
        assert!(error.to_string().contains("rank 1"), "{error}");
    }
}
