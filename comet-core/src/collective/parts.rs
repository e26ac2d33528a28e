//! Lengths and places of the parts of a message, and the ranks at the ends of them.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::ops::Range;
use std::sync::Arc;

use crate::transport::Rank;

/// Lengths and places of the parts of all ranks in a message, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parts {
    /// Parts of one length, one behind the other (`MPI_Gather`).
    Equal(usize),
    /// Parts of any lengths, at any places that do not overlap (`MPI_Gatherv`); calls with other roots share
    /// them.
    Uneven(Arc<Places>),
}

/// Parts of any lengths, at any places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    lengths: Vec<usize>,
    starts: Vec<usize>,
    end: usize,
    /// The greatest length, and the greatest start.
    greatest: [usize; 2],
    digest: u64,
    /// Lengths and starts as integers of C, if they fit.
    as_ints: [Option<Vec<i32>>; 2],
    /// The same parts in elements of so many bytes.
    counted: Option<(usize, Arc<Places>)>,
}

impl Places {
    /// Parts of these lengths, which begin at `starts`.
    ///
    /// # Panics
    /// If there are not as many starts as lengths, or if two parts overlap: ranks write to parts at once.
    pub fn new(lengths: Vec<usize>, starts: Vec<usize>) -> Arc<Self> {
        assert_eq!(lengths.len(), starts.len(), "each part has a length and a start");
        assert!(are_apart(&lengths, &starts), "parts of {lengths:?} at {starts:?} overlap");
        Arc::new(Self::apart(lengths, starts))
    }

    /// Parts that are known not to overlap.
    fn apart(lengths: Vec<usize>, starts: Vec<usize>) -> Self {
        // A part that ends beyond all memory is refused with the others that fit into no buffer.
        let end_of = |(start, length): (&usize, &usize)| start.saturating_add(*length);
        let end = starts.iter().zip(&lengths).map(end_of).max();
        let ints = |values: &[usize]| -> Option<Vec<i32>> {
            values.iter().map(|value| i32::try_from(*value).ok()).collect()
        };
        let greatest = [&lengths, &starts].map(|values| values.iter().copied().max().unwrap_or(0));
        let as_ints = [ints(&lengths), ints(&starts)];
        let mut hasher = DefaultHasher::new();
        (&lengths, &starts).hash(&mut hasher);
        let (end, digest) = (end.unwrap_or(0), hasher.finish());
        Self { lengths, starts, end, greatest, digest, as_ints, counted: None }
    }

    /// These parts, counted in elements of `unit` bytes too, if all are whole numbers of them: one element
    /// each, if these have no bytes.
    fn counted_in(self: Arc<Self>, unit: usize) -> Arc<Self> {
        let all = || self.lengths.iter().chain(&self.starts);
        if unit == 1 || !all().all(|value| value.is_multiple_of(unit)) {
            return self;
        }
        let [lengths, starts] = [&self.lengths, &self.starts].map(|values| {
            values.iter().map(|value| value.checked_div(unit).unwrap_or(1)).collect()
        });
        // Elements without bytes overlap in no byte.
        let counted = Some((unit, Arc::new(Self::apart(lengths, starts))));
        Arc::new(Self { counted, ..Arc::unwrap_or_clone(self) })
    }

    /// The same parts with lengths and starts in elements of `unit` bytes; `None` where they were not
    /// [counted](Parts::counted_in) in them.
    #[inline]
    pub fn in_elements(&self, unit: usize) -> Option<&Self> {
        match &self.counted {
            _ if unit == 1 => Some(self),
            Some((counted, parts)) if *counted == unit => Some(parts),
            _ => None,
        }
    }

    /// Length of each part.
    pub fn lengths(&self) -> &[usize] {
        &self.lengths
    }

    /// Start of each part.
    pub fn starts(&self) -> &[usize] {
        &self.starts
    }

    /// The greatest length, and the greatest start.
    #[inline]
    pub fn greatest(&self) -> [usize; 2] {
        self.greatest
    }

    /// A digest of lengths and starts, by which ranks of one program see that theirs are equal.
    #[inline]
    pub fn digest(&self) -> u64 {
        self.digest
    }

    /// Lengths and starts as integers of C; `None` where one of them does not fit.
    #[inline]
    pub fn as_ints(&self) -> [Option<&[i32]>; 2] {
        let [lengths, starts] = &self.as_ints;
        [lengths.as_deref(), starts.as_deref()]
    }
}

/// True if no two parts of these lengths at these places have a byte in common.
fn are_apart(lengths: &[usize], starts: &[usize]) -> bool {
    let parts = starts.iter().zip(lengths).filter(|(_, length)| **length > 0);
    let mut parts: Vec<(&usize, &usize)> = parts.collect();
    parts.sort_unstable();
    parts.windows(2).all(|pair| pair[0].0.saturating_add(*pair[0].1) <= *pair[1].0)
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

    /// These parts, for a transport that counts messages in elements of `unit` bytes: lengths and places are
    /// whole numbers of them.
    pub fn counted_in(self, unit: usize) -> Self {
        match self {
            Self::Uneven(places) => Self::Uneven(places.counted_in(unit)),
            equal => equal,
        }
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
            Self::Uneven(places) => {
                let start = places.starts[rank];
                start..start + places.lengths[rank]
            }
        }
    }

    /// Length of a message with the parts of `n_ranks` ranks.
    #[inline]
    pub fn total(&self, n_ranks: usize) -> usize {
        match self {
            Self::Equal(length) => n_ranks.saturating_mul(*length),
            Self::Uneven(places) => places.end,
        }
    }

    /// True if all parts have one length, and lie one behind the other.
    pub fn is_equal(&self) -> bool {
        matches!(self, Self::Equal(_))
    }

    /// True if they lie one behind the other, from the first byte on.
    pub(super) fn are_packed(&self) -> bool {
        let Self::Uneven(places) = self else { return true };
        let Places { lengths, starts, .. } = &**places;
        let mut end = 0;
        starts.iter().zip(lengths).all(|(start, length)| {
            let is_next = *start == end;
            end += length;
            is_next
        })
    }

    /// True if there are `n` parts; as many as are asked for, if they are equal.
    #[inline]
    pub(super) fn are(&self, n: usize) -> bool {
        match self {
            Self::Equal(_) => true,
            Self::Uneven(places) => places.lengths.len() == n,
        }
    }
}

/// The ranks that send to a rank, and those that it sends to, in collectives among neighbours (MPI-4.1
/// section 8.5.4).
///
/// An edge is named by both of its ends: `b` is a destination of `a` where `a` is a source of `b`. A rank
/// may be its own neighbour.
///
/// ```
/// use comet_core::collective::Neighbours;
/// // Rank 1 of a chain of three ranks that pass messages up.
/// let neighbours = Neighbours::new(vec![0], vec![2]);
/// assert_eq!((neighbours.sources(), neighbours.destinations()), (&[0][..], &[2][..]));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neighbours {
    sources: Vec<Rank>,
    destinations: Vec<Rank>,
    /// The least number of ranks that has all of them.
    n_ranks: usize,
}

impl Neighbours {
    /// The neighbours of a rank, in the order of the parts of its output and input.
    ///
    /// # Panics
    /// If a rank stands twice in a list: MPI leaves open which of two messages of a pair is which.
    pub fn new(sources: Vec<Rank>, destinations: Vec<Rank>) -> Arc<Self> {
        for list in [&sources, &destinations] {
            let mut sorted = list.clone();
            sorted.sort_unstable();
            sorted.dedup();
            assert_eq!(sorted.len(), list.len(), "a neighbour stands twice in {list:?}");
        }
        let last = sources.iter().chain(&destinations).max();
        let n_ranks = last.map_or(0, |last| last.saturating_add(1));
        Arc::new(Self { sources, destinations, n_ranks })
    }

    /// True if all of them are among `n_ranks` ranks.
    #[inline]
    pub(super) fn are_among(&self, n_ranks: usize) -> bool {
        self.n_ranks <= n_ranks
    }

    /// The ranks that send to this one.
    #[inline]
    pub fn sources(&self) -> &[Rank] {
        &self.sources
    }

    /// The ranks that this one sends to.
    #[inline]
    pub fn destinations(&self) -> &[Rank] {
        &self.destinations
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_parts_lie_one_behind_the_other() {
        let parts = Parts::packed(vec![3, 0, 2]);
        let places = [0, 1, 2].map(|rank| parts.of(rank));
        assert_eq!((places, parts.total(3)), ([0..3, 3..3, 3..5], 5));
        let at = |starts: [usize; 3]| {
            Parts::Uneven(Places::new(vec![3, 0, 2], starts.into())).are_packed()
        };
        assert!(parts.are_packed() && Parts::Equal(3).are_packed() && at([0, 3, 3]));
        assert!(!at([0, 3, 4]) && !at([2, 5, 0]) && !at([1, 4, 4]));
    }

    #[test]
    fn parts_with_bytes_in_common_are_refused() {
        let check = |parts: &[(usize, usize)], expected| {
            let (starts, lengths): (Vec<usize>, Vec<usize>) = parts.iter().copied().unzip();
            assert_eq!(are_apart(&lengths, &starts), expected, "{parts:?}");
        };
        check(&[], true);
        check(&[(8, 8), (0, 8), (4, 0)], true);
        check(&[(0, 8), (7, 1)], false);
        check(&[(4, 4), (0, 8)], false);
        check(&[(usize::MAX, 8), (0, 8)], true);
        check(&[(8, 1), (8, 1)], false);
    }

    #[test]
    #[should_panic(expected = "parts of [8, 8] at [0, 4] overlap")]
    fn overlapping_parts_make_no_places() {
        Places::new(vec![8, 8], vec![0, 4]);
    }

    #[test]
    fn places_beyond_the_integers_of_c_are_known_by_their_numbers() {
        const LONG: usize = 3 << 30;
        let places = Places::new(vec![8, 8], vec![0, LONG]);
        assert_eq!(places.greatest(), [8, LONG]);
        assert_eq!(places.as_ints(), [Some(&[8, 8][..]), None]);
        assert_eq!(Parts::Uneven(places).total(2), LONG + 8);
    }

    #[test]
    fn parts_are_counted_in_elements_that_they_are_whole_numbers_of() {
        let of = |lengths: Vec<usize>| {
            let Parts::Uneven(places) = Parts::packed(lengths).counted_in(4) else {
                unreachable!()
            };
            let empty = Places::new(vec![0; 2], vec![0; 2]).counted_in(0);
            assert_eq!(empty.in_elements(0).map(Places::lengths), Some(&[1, 1][..]));
            let counted = places.in_elements(4);
            let counted = counted.map(|of| (of.lengths().to_vec(), of.starts().to_vec()));
            (counted, places.in_elements(1) == Some(&places), places.in_elements(8).is_none())
        };
        assert_eq!(of(vec![8, 0, 4]), (Some((vec![2, 0, 1], vec![0, 2, 2])), true, true));
        assert_eq!(of(vec![8, 2]), (None, true, true));
    }

    #[test]
    #[should_panic(expected = "a neighbour stands twice in [1, 2, 1]")]
    fn a_neighbour_stands_once_in_a_list() {
        Neighbours::new(vec![], vec![1, 2, 1]);
    }
}
