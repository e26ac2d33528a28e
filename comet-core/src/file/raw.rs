//! The part of a file that backends write, and kernels never call.

use std::ops::Range;
use std::path::Path;

use super::{Pointer, Together, View};
use crate::error::{Result, TransportError, TransportErrorKind};

/// Gives the calls that a kernel makes on an open file to the macro `$to`, each with its arguments; all may fail,
/// and [`File`](super::File) documents them.
macro_rules! file_calls {
    ($to:ident) => {
        $to! {
            remove();
            write(from: Range<usize>, pointer: Pointer, together: Together);
            read(into: Range<usize>, pointer: Pointer, together: Together);
            start_write(from: Range<usize>, pointer: Pointer);
            start_read(into: Range<usize>, pointer: Pointer);
            wait_all();
            begin_write(from: Range<usize>, pointer: Pointer);
            begin_read(into: Range<usize>, pointer: Pointer);
            end();
            rewind(pointer: Pointer);
            sync();
            set_length(bytes: u64);
            preallocate(bytes: u64);
        }
    };
}

/// Declares calls, which refer to those of [`File`](super::File).
macro_rules! declared {
    ($($call:ident($($argument:ident: $type:ty),*);)*) => {
        $(
            #[doc = concat!("See [`File::", stringify!($call), "`](super::File::", stringify!($call), ").")]
            ///
            /// # Errors
            /// If the system refuses, or if the job has failed.
            fn $call(&self, $($argument: $type),*) -> Result<()>;
        )*
    };
}

/// One rank's side of a file, with the memory of its transfers, as a backend makes it.
///
/// [`File`](super::File) alone has one and calls these methods, in an order that MPI allows and with bytes
/// that the memory has: a backend's unsafe code may rely on that. Each makes one call of the library below.
pub trait RawFile: Sized {
    /// Path of the file that this rank uses.
    fn path(&self) -> &Path;

    /// Length of the memory in bytes.
    fn memory_bytes(&self) -> usize;

    /// The most unblocked transfers in flight at once.
    fn max_in_flight(&self) -> usize;

    /// The memory; called while no transfer is in flight.
    fn memory(&mut self) -> &mut [u8];

    /// Keeps the memory to the end of the process, since a transfer may still use it.
    fn abandon(&self);

    /// See [`File::open`](super::File::open).
    ///
    /// # Errors
    /// If the system refuses, or if the job has failed.
    fn open(&mut self) -> Result<()>;

    /// See [`File::close`](super::File::close).
    ///
    /// # Errors
    /// If the system refuses, or if the job has failed.
    fn close(&mut self) -> Result<()>;

    file_calls!(declared);

    /// See [`File::set_view`](super::File::set_view).
    ///
    /// # Errors
    /// If the system refuses, or if the job has failed.
    fn set_view(&mut self, view: Option<View>) -> Result<()>;

    /// See [`File::drop_cached`](super::File::drop_cached).
    ///
    /// # Errors
    /// If the system refuses.
    fn drop_cached(&self) -> Result<()>;
}

/// The file of a transport that has none.
#[derive(Clone, Copy, Debug)]
pub enum NoFile {}

impl NoFile {
    /// Error of a transport that has no files.
    #[cold]
    pub fn unsupported() -> TransportError {
        let text = "needs a file system, which this transport lacks";
        TransportError::new(TransportErrorKind::Unsupported, text)
    }
}

impl RawFile for NoFile {
    fn path(&self) -> &Path {
        match *self {}
    }

    fn memory_bytes(&self) -> usize {
        match *self {}
    }

    fn max_in_flight(&self) -> usize {
        match *self {}
    }

    fn memory(&mut self) -> &mut [u8] {
        match *self {}
    }

    fn abandon(&self) {
        match *self {}
    }

    fn open(&mut self) -> Result<()> {
        match *self {}
    }

    fn close(&mut self) -> Result<()> {
        match *self {}
    }

    file_calls!(absent);

    fn set_view(&mut self, _: Option<View>) -> Result<()> {
        match *self {}
    }

    fn drop_cached(&self) -> Result<()> {
        match *self {}
    }
}
