//! Functions with counts of 64 bits (MPI-4.1 section 19.2), which libraries before MPI-4 lack; the choice of
//! one of them is in `issue`.

use std::ffi::c_int;

use comet_core::collective::Places;
use mpi::ffi;

use super::comm::to_c;
use super::optional::{Comm, In, Kind, Kinds, LongCount, LongCounts, Op, Out, Starts};

optional_functions! {
    bcast: c"MPI_Bcast_c" (Out, LongCount, Kind, c_int, Comm);
    reduce: c"MPI_Reduce_c" (In, Out, LongCount, Kind, Op, c_int, Comm);
    allreduce: c"MPI_Allreduce_c" (In, Out, LongCount, Kind, Op, Comm);
    scan: c"MPI_Scan_c" (In, Out, LongCount, Kind, Op, Comm);
    exscan: c"MPI_Exscan_c" (In, Out, LongCount, Kind, Op, Comm);
    reduce_scatter_block: c"MPI_Reduce_scatter_block_c" (In, Out, LongCount, Kind, Op, Comm);
    reduce_scatter: c"MPI_Reduce_scatter_c" (In, Out, LongCounts, Kind, Op, Comm);
    gather: c"MPI_Gather_c" (In, LongCount, Kind, Out, LongCount, Kind, c_int, Comm);
    gatherv: c"MPI_Gatherv_c" (In, LongCount, Kind, Out, LongCounts, Starts, Kind, c_int, Comm);
    scatter: c"MPI_Scatter_c" (In, LongCount, Kind, Out, LongCount, Kind, c_int, Comm);
    scatterv: c"MPI_Scatterv_c" (In, LongCounts, Starts, Kind, Out, LongCount, Kind, c_int, Comm);
    allgather: c"MPI_Allgather_c" (In, LongCount, Kind, Out, LongCount, Kind, Comm);
    allgatherv: c"MPI_Allgatherv_c" (In, LongCount, Kind, Out, LongCounts, Starts, Kind, Comm);
    alltoall: c"MPI_Alltoall_c" (In, LongCount, Kind, Out, LongCount, Kind, Comm);
    alltoallv: c"MPI_Alltoallv_c" (In, LongCounts, Starts, Kind, Out, LongCounts, Starts, Kind, Comm);
    alltoallw: c"MPI_Alltoallw_c" (In, LongCounts, Starts, Kinds, Out, LongCounts, Starts, Kinds, Comm);
    neighbor_allgather: c"MPI_Neighbor_allgather_c" (In, LongCount, Kind, Out, LongCount, Kind, Comm);
    neighbor_allgatherv: c"MPI_Neighbor_allgatherv_c"
        (In, LongCount, Kind, Out, LongCounts, Starts, Kind, Comm);
    neighbor_alltoall: c"MPI_Neighbor_alltoall_c" (In, LongCount, Kind, Out, LongCount, Kind, Comm);
    neighbor_alltoallv: c"MPI_Neighbor_alltoallv_c"
        (In, LongCounts, Starts, Kind, Out, LongCounts, Starts, Kind, Comm);
    neighbor_alltoallw: c"MPI_Neighbor_alltoallw_c"
        (In, LongCounts, Starts, Kinds, Out, LongCounts, Starts, Kinds, Comm);
}

/// Parts with lengths and starts in elements, and the same in bytes.
pub(super) type Counted<'a> = [&'a Places; 2];

/// The lengths of parts, and their starts, as C wants them.
pub(super) type Pointers<C, S> = (*const C, *const S);

/// The integers of a call with counts of `int`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// The greatest of them.
    pub(super) most: usize,
    /// The most parts that any rank has, where they differ in number; 0 elsewhere.
    pub(super) n_parts: usize,
}

/// Lengths and starts as integers of C; `None` if one of them is above the limit, here or, with parts of the
/// same length, on the rank that has the most.
#[inline]
pub(super) fn short(parts: Counted<'_>, limits: Limits) -> Option<Pointers<c_int, c_int>> {
    let [places, _] = parts;
    let [length, start] = places.greatest();
    let last = length.saturating_mul(limits.n_parts.saturating_sub(1));
    if length.max(start).max(last) > limits.most {
        return None;
    }
    let [lengths, starts] = places.as_ints();
    Some((lengths?.as_ptr(), starts?.as_ptr()))
}

/// The lengths of `counts` and the starts of `places` as integers of C: calls with a type for each part
/// have starts in bytes. `None` if one of them is above the limit.
#[inline]
pub(super) fn short_of_types(
    [counts, places]: Counted<'_>,
    Limits { most, .. }: Limits,
) -> Option<Pointers<c_int, c_int>> {
    if counts.greatest()[0] > most || places.greatest()[1] > most {
        return None;
    }
    Some((counts.as_ints()[0]?.as_ptr(), places.as_ints()[1]?.as_ptr()))
}

/// The same with starts as addresses; `None` if a length is above the limit.
#[inline]
pub(super) fn half_short_of_types(
    [counts, places]: Counted<'_>,
    Limits { most, .. }: Limits,
) -> Option<Pointers<c_int, ffi::MPI_Aint>> {
    if counts.greatest()[0] > most {
        return None;
    }
    Some((counts.as_ints()[0]?.as_ptr(), long([places; 2]).1))
}

/// The same as integers of 64 bits.
#[inline]
pub(super) fn long_of_types(
    [counts, places]: Counted<'_>,
) -> Pointers<ffi::MPI_Count, ffi::MPI_Aint> {
    (long([counts; 2]).0, long([places; 2]).1)
}

/// Lengths and starts as integers of 64 bits. None of those that a call looks at is negative: a part
/// ends where a buffer does, or before.
#[inline]
pub(super) fn long([places, _]: Counted<'_>) -> Pointers<ffi::MPI_Count, ffi::MPI_Aint> {
    const {
        assert!(size_of::<usize>() == size_of::<ffi::MPI_Count>(), "a count holds any length");
        assert!(size_of::<usize>() == size_of::<ffi::MPI_Aint>(), "an address holds any start");
    }
    (places.lengths().as_ptr().cast(), places.starts().as_ptr().cast())
}

/// A length, which is one of memory, as a count of 64 bits.
#[expect(clippy::cast_possible_wrap, reason = "no memory is longer than half of all addresses")]
pub(super) fn count(length: usize) -> ffi::MPI_Count {
    length as ffi::MPI_Count
}

/// A length as a count of the function itself; `None` if it is greater than `most`.
#[inline]
pub(super) fn short_count(length: usize, most: usize) -> Option<c_int> {
    (length <= most).then(|| to_c(length))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: usize = c_int::MAX as usize;
    const LIMITS: Limits = Limits { most: MOST, n_parts: 0 };

    #[test]
    fn places_that_fit_are_integers_of_c_and_others_are_not() {
        let check = |lengths: [usize; 2], starts: [usize; 2], is_short, is_half_short| {
            let places = Places::new(lengths.into(), starts.into());
            assert_eq!(short([&places; 2], LIMITS).is_some(), is_short, "{places:?}");
            let both: Counted<'_> = [&places; 2];
            assert_eq!(short_of_types(both, LIMITS).is_some(), is_short, "{places:?}");
            assert_eq!(half_short_of_types(both, LIMITS).is_some(), is_half_short, "{places:?}");
            let (long_lengths, long_starts) = long([&places; 2]);
            let is_same = long_lengths.addr() == places.lengths().as_ptr().addr()
                && long_starts.addr() == places.starts().as_ptr().addr();
            assert!(is_same, "the integers are those of the places");
        };
        check([8, 8], [0, 8], true, true);
        check([MOST, 8], [0, MOST], true, true);
        check([8, 8], [0, MOST + 1], false, true);
        check([8, MOST + 1], [0, 8], false, false);
        // Of three parts on another rank the last starts behind two.
        let half = Places::new([MOST / 2 + 1].into(), [0].into());
        let is_short = |n_parts| short([&half; 2], Limits { n_parts, ..LIMITS }).is_some();
        assert_eq!([0, 1, 2, 3].map(is_short), [true, true, true, false]);
        assert_eq!(short_count(MOST, MOST), Some(c_int::MAX));
        assert_eq!(short_count(MOST + 1, MOST), None);
        assert_eq!(short_count(9, 8), None);
        assert_eq!(count(3 << 30), 3 << 30);
    }

    #[test]
    fn a_library_has_all_of_these_functions_or_none() {
        assert_eq!(bcast().is_some(), neighbor_alltoallw().is_some());
    }
}
