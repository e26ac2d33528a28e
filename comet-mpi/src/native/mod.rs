//! The C interface of MPI, and the only unsafe code of this crate.
//!
//! [`Comm`] makes the calls, [`MpiSend`] and [`MpiRecv`] are those
//! that go on in the background, [`MpiBuffer`] is memory of
//! the library, [`Library`] its life from initialisation to its end. Calls return their code as a
//! [`Failure`]: what it means is for the transport to say. The module `process` forks the guard.
//!
//! Two things are taken for granted that no binding of MPI can check for free. A message is not
//! longer than the buffer that receives it, and collectives have the same length on all ranks;
//! otherwise the program is erroneous (sections 3.2.4 and 6.4). Libraries report the first as
//! `MPI_ERR_TRUNCATE`, but Open MPI 4.1 and 5.0 write what they read through the memory of
//! another process beyond the end of the buffer before they do. So the transport does not promise
//! to survive it (`Promises`), and kernels check the lengths of what they send.
//! Numbers of sections are those of the MPI standard, version 4.1.

/// Reads a constant of the library.
macro_rules! constant {
    ($name:ident) => {{
        // SAFETY: the binding exports it as a constant that is initialised when the program is
        // loaded, and never written.
        unsafe { ::mpi::ffi::$name }
    }};
}

#[macro_use]
mod optional;
#[macro_use]
mod issue;

mod collective;
mod comm;
mod constructed;
mod datatype;
mod file;
mod init;
mod lane;
mod long;
mod memory;
mod modes;
mod neighbours;
mod partitioned;
mod peers;
mod prepared;
mod process;
mod refused;
mod request;
mod window;

pub(crate) use comm::{Arrived, Comm};
pub(crate) use constructed::Constructor;
pub use file::MpiFile;
pub(crate) use lane::LaneComm;
pub use memory::MpiBuffer;
pub(crate) use memory::{LINE_BYTES, PAGE_BYTES};
pub(crate) use modes::Room;
pub use peers::MpiPeers;
pub use prepared::MpiPrepared;
pub(crate) use process::{
    GuardProcess, RankProcess, fork, listen, obey, shared_lines, shared_vitals, thread_number,
};
pub(crate) use refused::Refused;
pub(crate) use request::{End, Request, Set};
pub use request::{MpiCall, MpiRecv, MpiSend};
pub use window::MpiWindow;
pub(crate) use window::Parts;

use std::ffi::{c_char, c_int};

use comet_core::transport::Source;
use comet_core::waiting::Waiting;
use mpi::environment::Universe;
use mpi::{environment, ffi};

use crate::level::ThreadLevel;
use crate::vitals::{Phase, Vitals};

/// Code of a rank that panicked, as Rust programs have it.
const PANICKED: u8 = 101;

/// Result of an MPI call.
pub(crate) type Outcome<R = ()> = Result<R, Failure>;

/// An MPI call that did not succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    /// Name of the function.
    pub(crate) call: &'static str,
    /// Code that it returned (section 9.4).
    pub(crate) code: c_int,
}

/// Code of an MPI call as a result.
#[inline]
fn outcome(call: &'static str, code: c_int) -> Outcome {
    if code == ffi::MPI_SUCCESS.cast_signed() { Ok(()) } else { Err(Failure { call, code }) }
}

impl Failure {
    /// True if a message was longer than its buffer.
    pub(crate) fn is_truncation(self) -> bool {
        self.class() == ffi::MPI_ERR_TRUNCATE.cast_signed()
    }

    /// True if a buffered message has found no room.
    pub(crate) fn is_of_buffer(self) -> bool {
        self.class() == ffi::MPI_ERR_BUFFER.cast_signed()
    }

    /// `true` if each operation of the call has a code of its own in its status.
    fn is_in_status(self) -> bool {
        self.class() == ffi::MPI_ERR_IN_STATUS.cast_signed()
    }

    /// The class of the code, which is one of the standard's (section 9.4).
    fn class(self) -> c_int {
        let mut class = self.code;
        // SAFETY: the call only writes the class; if it fails, the code stands for its class.
        unsafe { ffi::MPI_Error_class(self.code, &raw mut class) };
        class
    }

    /// The library's message about it.
    pub(crate) fn text(self) -> String {
        let mut text = vec![0u8; ffi::MPI_MAX_ERROR_STRING as usize];
        let mut length: c_int = 0;
        let start = text.as_mut_ptr().cast::<c_char>();
        // SAFETY: the library writes at most as many characters as the vector has (section 9.4),
        // and how many they are.
        unsafe { ffi::MPI_Error_string(self.code, start, &raw mut length) };
        text.truncate(usize::try_from(length).unwrap_or(0));
        String::from_utf8_lossy(&text).into_owned()
    }
}

/// The library, from its initialisation until this is dropped; communicators and memory hold it.
pub(crate) struct Library {
    /// The thread level that the library grants.
    pub(crate) level: ThreadLevel,
    vitals: &'static Vitals,
    /// Memory of buffered sends; freed before MPI is finalised.
    pub(crate) room: Room,
    /// Finalises MPI when it is dropped; `None` where the program does.
    universe: Option<Universe>,
    /// Ends after the library; a library of the program has none.
    _guard: Option<GuardProcess>,
}

impl Library {
    /// Initialises MPI at the thread level `asked` (section 11.6) under `guard`, and has errors
    /// returned; `None` if it was initialised before.
    pub(crate) fn initialise(
        asked: ThreadLevel,
        vitals: &'static Vitals,
        guard: GuardProcess,
    ) -> Option<Self> {
        let (universe, granted) = environment::initialize_with_threading(asked.to_mpi())?;
        let returned = constant!(RSMPI_ERRORS_RETURN);
        for comm in [constant!(RSMPI_COMM_WORLD), constant!(RSMPI_COMM_SELF)] {
            // SAFETY: both communicators exist from initialisation on (section 9.3.1). Errors that
            // belong to no communicator are raised on one of them.
            unsafe { ffi::MPI_Comm_set_errhandler(comm, returned) };
        }
        let level = ThreadLevel::of_mpi(granted);
        Some(Self {
            level,
            vitals,
            room: Room::default(),
            universe: Some(universe),
            _guard: Some(guard),
        })
    }

    /// The library that the program has initialised, and finalises; `None` before and after.
    pub(crate) fn of_program(vitals: &'static Vitals) -> Option<Self> {
        let is_there = environment::is_initialized() && !environment::is_finalized();
        let level = is_there.then(|| ThreadLevel::of_mpi(environment::threading_support()))?;
        Some(Self { level, vitals, room: Room::default(), universe: None, _guard: None })
    }

    /// True if the program initialises and finalises the library.
    pub(crate) fn is_of_program(&self) -> bool {
        self.universe.is_none()
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        if self.is_of_program() {
            return;
        }
        // To finalise is to wait for all ranks, which may wait for this one in something else.
        if std::thread::panicking() {
            abort(PANICKED);
        }
        // The last case is over, and with it the time that it may take.
        self.vitals.annotate("", 0);
        self.vitals.begin(Phase::Running);
        // Rank 0 may still write; from here on no rank has anything to do but to finalise.
        self.vitals.enter(Waiting::Rest(Source::Rank(0)));
        let world = constant!(RSMPI_COMM_WORLD);
        // SAFETY: the world exists until it is finalised, and all ranks come here (section 6.3).
        unsafe { ffi::MPI_Barrier(world) };
        self.vitals.leave();
        self.vitals.begin(Phase::Leaving);
    }
}

/// Ends all processes of the job, this one first, with `code` (section 9.7.1, `MPI_Abort`).
pub(crate) fn abort(code: u8) -> ! {
    let world = constant!(RSMPI_COMM_WORLD);
    // SAFETY: the world exists; nothing is assumed of the process afterwards.
    unsafe { ffi::MPI_Abort(world, c_int::from(code)) };
    exit_now(code)
}

/// Ends this process without any cleaning up, which could wait for a library that is stuck. The
/// launcher notices that a process ended without a word, and ends the others.
pub(crate) fn exit_now(code: u8) -> ! {
    // SAFETY: the call may be made from any thread at any time, and does not return.
    unsafe { nix::libc::_exit(c_int::from(code)) }
}

/// The `value` that the MPI call `f`, which is `call`, has written.
#[inline]
fn written<V>(call: &'static str, mut value: V, f: impl FnOnce(*mut V) -> c_int) -> Outcome<V> {
    outcome(call, f(&raw mut value)).map(|()| value)
}

/// A status for the library to write.
#[inline]
pub(crate) fn empty_status() -> ffi::MPI_Status {
    // SAFETY: all of its fields are integers, for which zeros are values.
    unsafe { std::mem::zeroed() }
}
