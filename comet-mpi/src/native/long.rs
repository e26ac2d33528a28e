//! Functions with counts of 64 bits (MPI-4.1 section 19.2), which libraries before MPI-4 lack; and the
//! choice of one of them.
//!
//! ```text
//!   all counts and places fit into an int        MPI_Gatherv        the function itself
//!   the library has counts of 64 bits            MPI_Gatherv_c      the same with these
//!   parts of one length, data movement           MPI_Gather         one element of a made type
//!   MPI_Bcast, and reductions but for those      several calls
//!   with parts
//!   anything else                                refused
//! ```

use std::ffi::{CStr, c_int, c_void};
use std::mem;
use std::sync::OnceLock;

use comet_core::collective::Places;
use mpi::ffi;

use super::comm::to_c;

/// The address of the function `name` in the libraries of the program; null if none has it.
fn find(name: &CStr) -> *mut c_void {
    // SAFETY: the name ends with a zero; the call looks it up in what is loaded already.
    unsafe { nix::libc::dlsym(nix::libc::RTLD_DEFAULT, name.as_ptr()) }
}

/// Makes a function for each of the library's that returns it, if it is there; looked up once.
macro_rules! long_functions {
    ($($name:ident: $symbol:literal ($($type:ty),* $(,)?);)*) => {$(
        #[cold]
        pub(super) fn $name() -> Option<unsafe extern "C" fn($($type),*) -> c_int> {
            type Function = unsafe extern "C" fn($($type),*) -> c_int;
            static FOUND: OnceLock<Option<Function>> = OnceLock::new();
            // SAFETY: a pointer to a function is as large as one to data on all systems with `dlsym`, and
            // null is `None`. The types are those that the standard gives a function of this name.
            *FOUND.get_or_init(|| unsafe {
                mem::transmute::<*mut c_void, Option<Function>>(find($symbol))
            })
        }
    )*};
}

type In = *const c_void;
type Out = *mut c_void;
type Count = ffi::MPI_Count;
type Counts = *const ffi::MPI_Count;
type Starts = *const ffi::MPI_Aint;
type Kind = ffi::MPI_Datatype;
type Kinds = *const ffi::MPI_Datatype;
type Op = ffi::MPI_Op;
type Comm = ffi::MPI_Comm;

long_functions! {
    bcast: c"MPI_Bcast_c" (Out, Count, Kind, c_int, Comm);
    reduce: c"MPI_Reduce_c" (In, Out, Count, Kind, Op, c_int, Comm);
    allreduce: c"MPI_Allreduce_c" (In, Out, Count, Kind, Op, Comm);
    scan: c"MPI_Scan_c" (In, Out, Count, Kind, Op, Comm);
    exscan: c"MPI_Exscan_c" (In, Out, Count, Kind, Op, Comm);
    reduce_scatter_block: c"MPI_Reduce_scatter_block_c" (In, Out, Count, Kind, Op, Comm);
    reduce_scatter: c"MPI_Reduce_scatter_c" (In, Out, Counts, Kind, Op, Comm);
    gather: c"MPI_Gather_c" (In, Count, Kind, Out, Count, Kind, c_int, Comm);
    gatherv: c"MPI_Gatherv_c" (In, Count, Kind, Out, Counts, Starts, Kind, c_int, Comm);
    scatter: c"MPI_Scatter_c" (In, Count, Kind, Out, Count, Kind, c_int, Comm);
    scatterv: c"MPI_Scatterv_c" (In, Counts, Starts, Kind, Out, Count, Kind, c_int, Comm);
    allgather: c"MPI_Allgather_c" (In, Count, Kind, Out, Count, Kind, Comm);
    allgatherv: c"MPI_Allgatherv_c" (In, Count, Kind, Out, Counts, Starts, Kind, Comm);
    alltoall: c"MPI_Alltoall_c" (In, Count, Kind, Out, Count, Kind, Comm);
    alltoallv: c"MPI_Alltoallv_c" (In, Counts, Starts, Kind, Out, Counts, Starts, Kind, Comm);
    alltoallw: c"MPI_Alltoallw_c" (In, Counts, Starts, Kinds, Out, Counts, Starts, Kinds, Comm);
    neighbor_allgather: c"MPI_Neighbor_allgather_c" (In, Count, Kind, Out, Count, Kind, Comm);
    neighbor_allgatherv: c"MPI_Neighbor_allgatherv_c"
        (In, Count, Kind, Out, Counts, Starts, Kind, Comm);
    neighbor_alltoall: c"MPI_Neighbor_alltoall_c" (In, Count, Kind, Out, Count, Kind, Comm);
    neighbor_alltoallv: c"MPI_Neighbor_alltoallv_c"
        (In, Counts, Starts, Kind, Out, Counts, Starts, Kind, Comm);
    neighbor_alltoallw: c"MPI_Neighbor_alltoallw_c"
        (In, Counts, Starts, Kinds, Out, Counts, Starts, Kinds, Comm);
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

/// One call of the function `$name` of the library, or of `$start` under a request. The outcome.
///
/// Who uses it says why the call may be made with these arguments.
macro_rules! issued {
    ($request:expr, $name:ident | $start:ident ($($argument:expr),* $(,)?)) => {
        match $request {
            None => {
                // SAFETY: as said where the macro is used.
                let code = unsafe { ffi::$name($($argument),*) };
                outcome(stringify!($name), code)
            }
            Some(request) => {
                // SAFETY: as above; the call writes the request, which is borrowed.
                let code = unsafe { ffi::$start($($argument,)* request) };
                outcome(stringify!($start), code)
            }
        }
    };
}

/// One call of a function for parts of one length in bytes: with a count of `int`, with one of 64 bits
/// unless it is started only, or with one element of a type that is made for it. The outcome.
///
/// Each use says why the call may be made with these arguments, of which count and type stand for
/// that length in each case.
macro_rules! equal_parts {
    (
        $comm:expr, $length:expr, $request:expr, $name:ident | $start:ident, $long:ident,
        |$n:ident, $kind:ident| ($($argument:expr),* $(,)?)
    ) => {{
        let (length, request) = ($length, $request);
        let (n_elements, $kind) = $comm.counted(length);
        if let Some($n) = long::short_count(n_elements, $comm.max_count()) {
            issued!(request, $name | $start ($($argument),*))
        } else if request.is_none()
            && let Some(call) = long::$long()
        {
            let $n = long::count(n_elements);
            // SAFETY: as said where the macro is used.
            outcome(concat!(stringify!($name), "_c"), unsafe { call($($argument),*) })
        } else {
            $comm.with_long_type(length, |$n, $kind| match request {
                // SAFETY: as said where the macro is used.
                None => unsafe { ffi::$name($($argument),*) },
                // SAFETY: as above; the call writes the request, which is borrowed.
                Some(request) => unsafe { ffi::$start($($argument,)* request) },
            })
            .and_then(|code| outcome(stringify!($name), code))
        }
    }};
}

/// One call of a function for parts with lengths and places: with integers of `int`, or of 64 bits unless
/// it is started only. The outcome, or the refusal.
///
/// `own` is the length of the one part on the other side, if there is one. Who uses it says why the call
/// may be made with these arguments.
macro_rules! uneven_parts {
    (
        $comm:expr, $own:expr,
        [$($places:expr => $short:ident / $full:ident, $lengths:ident, $starts:ident;)+],
        $request:expr, $name:ident | $start:ident, $long:ident,
        |$n:ident| ($($argument:expr),* $(,)?)
    ) => {{
        let (own, limits) = ($comm.whole($own, stringify!($name))?, $comm.limits());
        let counted = |places| $comm.in_elements(places, stringify!($name));
        let request = $request;
        if let (Some($n), $(Some(($lengths, $starts))),+) =
            (long::short_count(own, limits.most), $(long::$short(counted($places)?, limits)),+)
        {
            Ok(issued!(request, $name | $start ($($argument),*))?)
        } else if request.is_some() {
            Err(Refused::TooLongToStart(stringify!($start)))
        } else if let Some(call) = long::$long() {
            let $n = long::count(own);
            $(let ($lengths, $starts) = long::$full(counted($places)?);)+
            // SAFETY: as said where the macro is used.
            Ok(outcome(concat!(stringify!($name), "_c"), unsafe { call($($argument),*) })?)
        } else {
            Err(Refused::TooLong(stringify!($name)))
        }
    }};
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
            let both = [&places; 2];
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
    fn functions_are_found_by_their_names_or_not_at_all() {
        // The linker leaves out the library of MPI where nothing calls it, as in this test.
        assert!(!find(c"malloc").is_null());
        assert!(find(c"MPI_No_such_function_c").is_null());
        // A library has all of them, or none.
        assert_eq!(bcast().is_some(), neighbor_alltoallw().is_some());
        assert_eq!(bcast().is_some(), !find(c"MPI_Gatherv_c").is_null());
    }
}
