//! The part of a file that backends write, and kernels never call.

use std::ops::Range;
use std::path::Path;

use super::{Pointer, Together, View};
use crate::error::{Result, TransportError, TransportErrorKind};

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

    /// See [`File::remove`](super::File::remove).
    ///
    /// # Errors
    /// If the system refuses, or if the job has failed.
    fn remove(&self) -> Result<()>;

    /// See [`File::write`](super::File::write).
    ///
    /// # Errors
    /// If the system refuses, or if the job has failed.
    fn write(&self, from: Range<usize>, pointer: Pointer, together: Together) -> Result<()>;

    /// See [`File::read`](super::File::read).
    ///
    /// # Errors
    /// If the system refuses, or if the job has failed.
    fn read(&self, into: Range<usize>, pointer: Pointer, together: Together) -> Result<()>;

    /// See [`File::start_write`](super::File::start_write).
    ///
    /// # Errors
    /// If the system refuses, or if the job has failed.
    fn start_write(&self, from: Range<usize>, pointer: Pointer) -> Result<()>;

    /// See [`File::start_read`](super::File::start_read).
    ///
    /// # Errors
    /// If the system refuses, or if the job has failed.
    fn start_read(&self, into: Range<usize>, pointer: Pointer) -> Result<()>;

    /// See [`File::wait_all`](super::File::wait_all).
    ///
    /// # Errors
    /// If the system refuses, or if the job has failed.
    fn wait_all(&self) -> Result<()>;

    /// See [`File::begin_write`](super::File::begin_write).
    ///
    /// # Errors
    /// If the system refuses, or if the job has failed.
    fn begin_write(&self, from: Range<usize>, pointer: Pointer) -> Result<()>;

    /// See [`File::begin_read`](super::File::begin_read).
    ///
    /// # Errors
    /// If the system refuses, or if the job has failed.
    fn begin_read(&self, into: Range<usize>, pointer: Pointer) -> Result<()>;

    /// See [`File::end`](super::File::end).
    ///
    /// # Errors
    /// If the system refuses, or if the job has failed.
    fn end(&self) -> Result<()>;

    /// See [`File::set_view`](super::File::set_view).
    ///
    /// # Errors
    /// If the system refuses, or if the job has failed.
    fn set_view(&mut self, view: Option<View>) -> Result<()>;

    /// See [`File::rewind`](super::File::rewind).
    ///
    /// # Errors
    /// If the system refuses, or if the job has failed.
    fn rewind(&self, pointer: Pointer) -> Result<()>;

    /// See [`File::sync`](super::File::sync).
    ///
    /// # Errors
    /// If the system refuses, or if the job has failed.
    fn sync(&self) -> Result<()>;

    /// See [`File::drop_cached`](super::File::drop_cached).
    ///
    /// # Errors
    /// If the system refuses.
    fn drop_cached(&self) -> Result<()>;

    /// See [`File::set_length`](super::File::set_length).
    ///
    /// # Errors
    /// If the system refuses, or if the job has failed.
    fn set_length(&self, bytes: u64) -> Result<()>;

    /// See [`File::preallocate`](super::File::preallocate).
    ///
    /// # Errors
    /// If the system refuses, or if the job has failed.
    fn preallocate(&self, bytes: u64) -> Result<()>;
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

    fn remove(&self) -> Result<()> {
        match *self {}
    }

    fn write(&self, _: Range<usize>, _: Pointer, _: Together) -> Result<()> {
        match *self {}
    }

    fn read(&self, _: Range<usize>, _: Pointer, _: Together) -> Result<()> {
        match *self {}
    }

    fn start_write(&self, _: Range<usize>, _: Pointer) -> Result<()> {
        match *self {}
    }

    fn start_read(&self, _: Range<usize>, _: Pointer) -> Result<()> {
        match *self {}
    }

    fn wait_all(&self) -> Result<()> {
        match *self {}
    }

    fn begin_write(&self, _: Range<usize>, _: Pointer) -> Result<()> {
        match *self {}
    }

    fn begin_read(&self, _: Range<usize>, _: Pointer) -> Result<()> {
        match *self {}
    }

    fn end(&self) -> Result<()> {
        match *self {}
    }

    fn set_view(&mut self, _: Option<View>) -> Result<()> {
        match *self {}
    }

    fn rewind(&self, _: Pointer) -> Result<()> {
        match *self {}
    }

    fn sync(&self) -> Result<()> {
        match *self {}
    }

    fn drop_cached(&self) -> Result<()> {
        match *self {}
    }

    fn set_length(&self, _: u64) -> Result<()> {
        match *self {}
    }

    fn preallocate(&self, _: u64) -> Result<()> {
        match *self {}
    }
}
