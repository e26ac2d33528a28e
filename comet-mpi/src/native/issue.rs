//! One call of the library for a collective: blocked, started or prepared, with integers that hold its lengths.
//!
//! ```text
//!   all counts and places fit into an int        MPI_Gatherv        the function itself
//!   the library has counts of 64 bits            MPI_Gatherv_c      the same with these
//!   parts of one length, data movement           MPI_Gather         one element of a made type
//!   MPI_Bcast, and reductions but for those      several calls
//!   with parts
//!   anything else                                refused
//! ```
//!
//! The choice is that of blocked calls. What is started has integers of an int, or one element of a made type;
//! what is prepared an int alone.

use mpi::ffi;

/// Way in which a collective is called.
#[derive(Clone, Copy, Debug)]
pub(super) enum Way {
    /// To its end.
    Blocked,
    /// It goes on under this request.
    Started(*mut ffi::MPI_Request),
    /// It is started by this request, again and again.
    Prepared(*mut ffi::MPI_Request),
}

impl Way {
    /// True if the call carries the collective out to its end.
    #[inline]
    pub(super) fn is_blocked(self) -> bool {
        matches!(self, Self::Blocked)
    }
}

/// One call of the function `$name` of the library, of `$start` under a request, or of that which
/// [`init`](super::init) has as `$init`. The outcome, or the refusal.
///
/// Who uses it says why the call may be made with these arguments.
macro_rules! issued {
    ($way:expr, $name:ident | $start:ident | $init:ident ($($argument:expr),* $(,)?)) => {
        match $way {
            Way::Blocked => {
                // SAFETY: as said where the macro is used.
                let code = unsafe { ffi::$name($($argument),*) };
                outcome(stringify!($name), code).map_err(Refused::from)
            }
            Way::Started(request) => {
                // SAFETY: as above; the call writes the request, which is borrowed.
                let code = unsafe { ffi::$start($($argument,)* request) };
                outcome(stringify!($start), code).map_err(Refused::from)
            }
            Way::Prepared(request) => {
                let name = concat!(stringify!($name), "_init");
                let init = $crate::native::init::$init().ok_or(Refused::Lacking(name))?;
                let info = constant!(RSMPI_INFO_NULL);
                // SAFETY: as above.
                let code = unsafe { init($($argument,)* info, request) };
                outcome(name, code).map_err(Refused::from)
            }
        }
    };
}

/// One call of a function for parts of one length in bytes: with a count of `int`, with one of 64 bits
/// where it is blocked, or with one element of a type that is made for it. The outcome, or the refusal.
///
/// Each use says why the call may be made with these arguments, of which the count and the types, of what is sent
/// and of what is received, stand for that length in each case.
macro_rules! equal_parts {
    (
        $comm:expr, $length:expr, $way:expr, $name:ident | $start:ident | $other:ident,
        |$n:ident, [$sent:ident, $received:ident $(,)?]| ($($argument:expr),* $(,)?)
    ) => {{
        let (length, way) = ($length, $way);
        let (n_elements, [$sent, $received]) = $comm.counted_both(length);
        if let Some($n) = long::short_count(n_elements, $comm.max_count()) {
            issued!(way, $name | $start | $other ($($argument),*))
        } else if way.is_blocked()
            && let Some(call) = long::$other()
        {
            let $n = long::count(n_elements);
            // SAFETY: as said where the macro is used.
            let code = unsafe { call($($argument),*) };
            outcome(concat!(stringify!($name), "_c"), code).map_err(Refused::from)
        } else if let Way::Prepared(_) = way {
            Err(Refused::TooLongToStart(concat!(stringify!($name), "_init")))
        } else {
            $comm.with_long_type(length, |$n, kind| {
                let [$sent, $received] = [kind; 2];
                match way {
                    // SAFETY: as above; the call writes the request, which is borrowed.
                    Way::Started(request) => unsafe { ffi::$start($($argument,)* request) },
                    // SAFETY: as said where the macro is used.
                    _ => unsafe { ffi::$name($($argument),*) },
                }
            })
            .and_then(|code| outcome(stringify!($name), code))
            .map_err(Refused::from)
        }
    }};
}

/// One call of a function for parts with lengths and places: with integers of `int`, or of 64 bits where it
/// is blocked. The outcome, or the refusal.
///
/// `own` is the length of the one part on the other side, if there is one. Who uses it says why the call
/// may be made with these arguments.
macro_rules! uneven_parts {
    (
        $comm:expr, $own:expr,
        [$($places:expr => $short:ident / $full:ident, $lengths:ident, $starts:ident;)+],
        $way:expr, $name:ident | $start:ident | $other:ident,
        |$n:ident| ($($argument:expr),* $(,)?)
    ) => {{
        let (own, limits) = ($comm.whole($own, stringify!($name))?, $comm.limits());
        let counted = |places| $comm.in_elements(places, stringify!($name));
        let way = $way;
        if let (Some($n), $(Some(($lengths, $starts))),+) =
            (long::short_count(own, limits.most), $(long::$short(counted($places)?, limits)),+)
        {
            issued!(way, $name | $start | $other ($($argument),*))
        } else if !way.is_blocked() {
            Err(Refused::TooLongToStart(stringify!($start)))
        } else if let Some(call) = long::$other() {
            let $n = long::count(own);
            $(let ($lengths, $starts) = long::$full(counted($places)?);)+
            // SAFETY: as said where the macro is used.
            let code = unsafe { call($($argument),*) };
            outcome(concat!(stringify!($name), "_c"), code).map_err(Refused::from)
        } else {
            Err(Refused::TooLong(stringify!($name)))
        }
    }};
}
