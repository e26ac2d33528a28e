//! The part of a window that backends write, and kernels never call.

use std::ops::Range;

use super::{Fence, Lock, Remote};
use crate::collective::{Element, Reducer};
use crate::error::{Result, TransportError, TransportErrorKind};
use crate::transport::Rank;

/// Gives the calls that a kernel makes on a window to the macro `$to`, each with its arguments; all may fail, and
/// [`Window`](super::Window) documents them. `compare_and_swap` has the places of the expected, the new and the
/// fetched value.
macro_rules! window_calls {
    ($to:ident) => {
        $to! {
            put(from: Range<usize>, to: Remote);
            get(into: Range<usize>, from: Remote);
            accumulate(from: Range<usize>, to: Remote, by: Reducer);
            get_accumulate(from: Range<usize>, fetched: usize, to: Remote, by: Reducer);
            fetch_and_op(from: usize, fetched: usize, to: Remote, by: Reducer);
            compare_and_swap(places: [usize; 3], to: Remote, of: Element);
            fence(fence: Fence);
            lock(target: Rank, lock: Lock);
            unlock(target: Rank);
            lock_all();
            unlock_all();
            flush(target: Rank);
            flush_local(target: Rank);
            flush_all();
            flush_local_all();
            post(origins: &Self::Peers);
            start(targets: &Self::Peers);
            complete();
            wait();
        }
    };
}
#[cfg(test)]
pub(crate) use window_calls;

/// Declares calls, which refer to those of [`Window`](super::Window).
macro_rules! declared {
    ($($call:ident($($argument:ident: $type:ty),*);)*) => {
        $(
            #[doc = concat!("See [`Window::", stringify!($call), "`](super::Window::", stringify!($call), ").")]
            ///
            /// # Errors
            /// If the job has failed.
            #[track_caller]
            fn $call(&self, $($argument: $type),*) -> Result<()>;
        )*
    };
}

/// One rank's side of a window, with its memory, as a backend makes it.
///
/// [`Window`](super::Window) alone has one and calls these methods, in an order that MPI allows and with
/// places that exist: a backend's unsafe code may rely on that. Each makes one call of the library
/// below. Ranks are those of the transport of which the window was made.
pub trait RawWindow: Sized {
    /// A group of ranks, as `post` and `start` need it.
    type Peers;

    /// Length of the origin in bytes.
    fn origin_bytes(&self) -> usize;

    /// Length of this rank's part in bytes.
    fn part_bytes(&self) -> usize;

    /// The origin; called while no transfer is in flight.
    fn origin(&mut self) -> &mut [u8];

    /// Copies from this rank's part.
    fn read(&self, at: usize, into: &mut [u8]);

    /// Copies into this rank's part.
    fn write(&mut self, at: usize, from: &[u8]);

    /// See [`Window::open`](super::Window::open).
    ///
    /// # Errors
    /// If the job has failed.
    #[track_caller]
    fn open(&mut self) -> Result<()>;

    /// See [`Window::close`](super::Window::close).
    ///
    /// # Errors
    /// If the job has failed.
    #[track_caller]
    fn close(&mut self) -> Result<()>;

    /// Keeps the memory to the end of the process, since others or transfers may still write to it.
    fn abandon(&self);

    window_calls!(declared);

    /// See [`Window::peers`](super::Window::peers).
    ///
    /// # Errors
    /// If the job has failed.
    fn peers(&self, ranks: &[Rank]) -> Result<Self::Peers>;

    /// See [`Window::test`](super::Window::test).
    ///
    /// # Errors
    /// If the job has failed.
    #[track_caller]
    fn test(&self) -> Result<bool>;
}

/// The window of a transport that has none.
#[derive(Clone, Copy, Debug)]
pub enum NoWindow {}

impl NoWindow {
    /// Error of a transport that has no windows.
    #[cold]
    pub fn unsupported() -> TransportError {
        let text = "this transport has no windows";
        TransportError::new(TransportErrorKind::Unsupported, text)
    }
}

impl RawWindow for NoWindow {
    type Peers = Self;

    fn origin_bytes(&self) -> usize {
        match *self {}
    }

    fn part_bytes(&self) -> usize {
        match *self {}
    }

    fn origin(&mut self) -> &mut [u8] {
        match *self {}
    }

    fn read(&self, _: usize, _: &mut [u8]) {
        match *self {}
    }

    fn write(&mut self, _: usize, _: &[u8]) {
        match *self {}
    }

    fn open(&mut self) -> Result<()> {
        match *self {}
    }

    fn close(&mut self) -> Result<()> {
        match *self {}
    }

    fn abandon(&self) {
        match *self {}
    }

    window_calls!(absent);

    fn peers(&self, _: &[Rank]) -> Result<Self::Peers> {
        match *self {}
    }

    fn test(&self) -> Result<bool> {
        match *self {}
    }
}
