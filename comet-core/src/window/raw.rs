//! The part of a window that backends write, and kernels never call.

use std::ops::Range;

use super::{Fence, Lock, Remote};
use crate::collective::{Element, Reducer};
use crate::error::{Result, TransportError, TransportErrorKind};
use crate::transport::Rank;

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

    /// See [`Window::put`](super::Window::put).
    ///
    /// # Errors
    /// If the job has failed.
    #[track_caller]
    fn put(&self, from: Range<usize>, to: Remote) -> Result<()>;

    /// See [`Window::get`](super::Window::get).
    ///
    /// # Errors
    /// If the job has failed.
    #[track_caller]
    fn get(&self, into: Range<usize>, from: Remote) -> Result<()>;

    /// See [`Window::accumulate`](super::Window::accumulate).
    ///
    /// # Errors
    /// If the job has failed.
    #[track_caller]
    fn accumulate(&self, from: Range<usize>, to: Remote, by: Reducer) -> Result<()>;

    /// See [`Window::get_accumulate`](super::Window::get_accumulate).
    ///
    /// # Errors
    /// If the job has failed.
    #[track_caller]
    fn get_accumulate(
        &self,
        from: Range<usize>,
        fetched: usize,
        to: Remote,
        by: Reducer,
    ) -> Result<()>;

    /// See [`Window::fetch_and_op`](super::Window::fetch_and_op).
    ///
    /// # Errors
    /// If the job has failed.
    #[track_caller]
    fn fetch_and_op(&self, from: usize, fetched: usize, to: Remote, by: Reducer) -> Result<()>;

    /// See [`Window::compare_and_swap`](super::Window::compare_and_swap): expected, new and fetched value.
    ///
    /// # Errors
    /// If the job has failed.
    #[track_caller]
    fn compare_and_swap(&self, places: [usize; 3], to: Remote, of: Element) -> Result<()>;

    /// See [`Window::fence`](super::Window::fence).
    ///
    /// # Errors
    /// If the job has failed.
    #[track_caller]
    fn fence(&self, fence: Fence) -> Result<()>;

    /// See [`Window::lock`](super::Window::lock).
    ///
    /// # Errors
    /// If the job has failed.
    #[track_caller]
    fn lock(&self, target: Rank, lock: Lock) -> Result<()>;

    /// See [`Window::unlock`](super::Window::unlock).
    ///
    /// # Errors
    /// If the job has failed.
    #[track_caller]
    fn unlock(&self, target: Rank) -> Result<()>;

    /// See [`Window::lock_all`](super::Window::lock_all).
    ///
    /// # Errors
    /// If the job has failed.
    #[track_caller]
    fn lock_all(&self) -> Result<()>;

    /// See [`Window::unlock_all`](super::Window::unlock_all).
    ///
    /// # Errors
    /// If the job has failed.
    #[track_caller]
    fn unlock_all(&self) -> Result<()>;

    /// See [`Window::flush`](super::Window::flush).
    ///
    /// # Errors
    /// If the job has failed.
    #[track_caller]
    fn flush(&self, target: Rank) -> Result<()>;

    /// See [`Window::flush_local`](super::Window::flush_local).
    ///
    /// # Errors
    /// If the job has failed.
    #[track_caller]
    fn flush_local(&self, target: Rank) -> Result<()>;

    /// See [`Window::flush_all`](super::Window::flush_all).
    ///
    /// # Errors
    /// If the job has failed.
    #[track_caller]
    fn flush_all(&self) -> Result<()>;

    /// See [`Window::flush_local_all`](super::Window::flush_local_all).
    ///
    /// # Errors
    /// If the job has failed.
    #[track_caller]
    fn flush_local_all(&self) -> Result<()>;

    /// See [`Window::peers`](super::Window::peers).
    ///
    /// # Errors
    /// If the job has failed.
    fn peers(&self, ranks: &[Rank]) -> Result<Self::Peers>;

    /// See [`Window::post`](super::Window::post).
    ///
    /// # Errors
    /// If the job has failed.
    #[track_caller]
    fn post(&self, origins: &Self::Peers) -> Result<()>;

    /// See [`Window::start`](super::Window::start).
    ///
    /// # Errors
    /// If the job has failed.
    #[track_caller]
    fn start(&self, targets: &Self::Peers) -> Result<()>;

    /// See [`Window::complete`](super::Window::complete).
    ///
    /// # Errors
    /// If the job has failed.
    #[track_caller]
    fn complete(&self) -> Result<()>;

    /// See [`Window::wait`](super::Window::wait).
    ///
    /// # Errors
    /// If the job has failed.
    #[track_caller]
    fn wait(&self) -> Result<()>;

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

    fn put(&self, _: Range<usize>, _: Remote) -> Result<()> {
        match *self {}
    }

    fn get(&self, _: Range<usize>, _: Remote) -> Result<()> {
        match *self {}
    }

    fn accumulate(&self, _: Range<usize>, _: Remote, _: Reducer) -> Result<()> {
        match *self {}
    }

    fn get_accumulate(&self, _: Range<usize>, _: usize, _: Remote, _: Reducer) -> Result<()> {
        match *self {}
    }

    fn fetch_and_op(&self, _: usize, _: usize, _: Remote, _: Reducer) -> Result<()> {
        match *self {}
    }

    fn compare_and_swap(&self, _: [usize; 3], _: Remote, _: Element) -> Result<()> {
        match *self {}
    }

    fn fence(&self, _: Fence) -> Result<()> {
        match *self {}
    }

    fn lock(&self, _: Rank, _: Lock) -> Result<()> {
        match *self {}
    }

    fn unlock(&self, _: Rank) -> Result<()> {
        match *self {}
    }

    fn lock_all(&self) -> Result<()> {
        match *self {}
    }

    fn unlock_all(&self) -> Result<()> {
        match *self {}
    }

    fn flush(&self, _: Rank) -> Result<()> {
        match *self {}
    }

    fn flush_local(&self, _: Rank) -> Result<()> {
        match *self {}
    }

    fn flush_all(&self) -> Result<()> {
        match *self {}
    }

    fn flush_local_all(&self) -> Result<()> {
        match *self {}
    }

    fn peers(&self, _: &[Rank]) -> Result<Self::Peers> {
        match *self {}
    }

    fn post(&self, _: &Self::Peers) -> Result<()> {
        match *self {}
    }

    fn start(&self, _: &Self::Peers) -> Result<()> {
        match *self {}
    }

    fn complete(&self) -> Result<()> {
        match *self {}
    }

    fn wait(&self) -> Result<()> {
        match *self {}
    }

    fn test(&self) -> Result<bool> {
        match *self {}
    }
}
