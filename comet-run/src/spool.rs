//! Outputs that are written in the background, so that a reader who pauses, or a disk that stalls,
//! never keeps rank 0 from serving the job.
//!
//! ```text
//!   rank 0:  write ──► flush ──► queue ──► writer thread ──► file, terminal, pipe
//!               waits a moment, until all is written        may block for as long as it likes
//! ```
//!
//! In a run whose outputs are read, rank 0 goes on once its bytes are written, so that the thread
//! sleeps while samples are taken. A thread that is blocked in a call takes no processor time.
//! In virtual time the thread disturbs no sample: bytes gather for a moment, and rank 0 goes on.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use comet_core::words::no_thread;

/// The longest wait for bytes that have just been queued.
const PATIENCE: Duration = Duration::from_millis(100);
/// The longest wait for the rest when a run is given up.
const LAST_PATIENCE: Duration = Duration::from_secs(1);

/// A writer thread and its queue.
pub(crate) struct Spool(Arc<Queue>);

/// Outputs of one thread.
type Targets = Vec<Box<dyn Write + Send>>;

#[derive(Default)]
struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Indices of targets, and what each is to get.
    waiting: VecDeque<(usize, Vec<u8>)>,
    /// Bytes that are not written yet.
    n_bytes: usize,
    /// Time for which bytes gather before they are written.
    pause: Duration,
    /// True while somebody waits for them to be written, so that they gather no longer.
    is_awaited: bool,
    /// The first error of a target, until it is reported.
    error: Option<io::Error>,
    is_closed: bool,
}

impl Spool {
    /// A thread that writes to `targets`, in the order in which bytes are queued.
    pub(crate) fn new(targets: Targets) -> io::Result<Self> {
        let queue = Arc::<Queue>::default();
        let own = Arc::clone(&queue);
        let writer = thread::Builder::new().name("comet-writer".into());
        let started = writer.spawn(move || own.serve(targets));
        started.map_err(|error| io::Error::other(no_thread(error)))?;
        Ok(Self(queue))
    }

    /// A writer to the target `index`.
    pub(crate) fn outlet(&self, index: usize) -> Outlet {
        Outlet { queue: Arc::clone(&self.0), index, bytes: Vec::new() }
    }

    /// True if more than `max_bytes` are not written yet, even after a moment.
    pub(crate) fn is_behind(&self, max_bytes: usize) -> bool {
        let mut state = self.0.lock();
        if state.n_bytes <= max_bytes {
            return false;
        }
        state.is_awaited = true;
        drop(state);
        self.0.changed.notify_all();
        let mut state = self.0.settle(max_bytes, PATIENCE);
        state.is_awaited = false;
        state.n_bytes > max_bytes
    }

    /// Lets bytes gather for `pause` before they are written, until [`drain`](Self::drain).
    pub(crate) fn gather(&self, pause: Duration) {
        self.0.lock().pause = pause;
    }

    /// Waits until all is written, for as long as that takes.
    pub(crate) fn drain(&self) -> io::Result<()> {
        self.0.lock().pause = Duration::ZERO;
        self.0.changed.notify_all();
        loop {
            let mut state = self.0.settle(0, PATIENCE);
            if let Some(error) = state.error.take() {
                return Err(error);
            }
            if state.n_bytes == 0 {
                return Ok(());
            }
        }
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        self.gather(Duration::ZERO);
        self.0.changed.notify_all();
        self.0.settle(0, LAST_PATIENCE).is_closed = true;
        self.0.changed.notify_all();
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until at most `max_bytes` are left to write or a target has failed, but no longer than
    /// `patience`.
    fn settle(&self, max_bytes: usize, patience: Duration) -> MutexGuard<'_, State> {
        let is_unsettled = |state: &mut State| state.n_bytes > max_bytes && state.error.is_none();
        let waited = self.changed.wait_timeout_while(self.lock(), patience, is_unsettled);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Adds `bytes` for the target `index`, and gives the thread a moment to write them unless they
    /// are to gather. Bytes behind others that are stuck wait in the queue.
    fn push(&self, index: usize, bytes: Vec<u8>) -> io::Result<()> {
        let mut state = self.lock();
        let is_first = state.n_bytes == 0;
        state.n_bytes += bytes.len();
        match state.waiting.back_mut() {
            Some((last, waiting)) if *last == index => waiting.extend(bytes),
            _ => state.waiting.push_back((index, bytes)),
        }
        // The thread looks for more before it sleeps.
        if is_first {
            self.changed.notify_all();
        }
        if is_first && state.pause.is_zero() {
            drop(state);
            state = self.settle(0, PATIENCE);
        }
        state.error.take().map_or(Ok(()), Err)
    }

    /// Writes what is queued until the queue is closed.
    fn serve(&self, mut targets: Targets) {
        let mut state = self.lock();
        loop {
            let gathers = |state: &mut State| !state.pause.is_zero() && !state.is_awaited;
            if !state.waiting.is_empty() && gathers(&mut state) {
                let pause = state.pause;
                let waited = self.changed.wait_timeout_while(state, pause, gathers);
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
            let waiting = std::mem::take(&mut state.waiting);
            if !waiting.is_empty() {
                drop(state);
                let n_bytes: usize = waiting.iter().map(|(_, bytes)| bytes.len()).sum();
                let results = waiting.into_iter().map(|(index, bytes)| {
                    let target = &mut targets[index];
                    target.write_all(&bytes).and_then(|()| target.flush())
                });
                let result = results.fold(Ok(()), io::Result::and);
                state = self.lock();
                state.n_bytes -= n_bytes;
                state.error = state.error.take().or(result.err());
                self.changed.notify_all();
            } else if state.is_closed {
                return;
            } else {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }
}

/// Writer that queues its bytes with each flush.
pub(crate) struct Outlet {
    queue: Arc<Queue>,
    index: usize,
    bytes: Vec<u8>,
}

impl Outlet {
    /// Queues `bytes` unless others are stuck before them, in which case nobody needs them.
    pub(crate) fn offer(&self, bytes: &[u8]) {
        let is_taken = |state: &State| state.n_bytes == 0 || !state.pause.is_zero();
        if !bytes.is_empty() && is_taken(&self.queue.lock()) {
            // A run does not end because nobody sees how far it is.
            drop(self.queue.push(self.index, bytes.to_vec()));
        }
    }
}

impl Write for Outlet {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let bytes = std::mem::take(&mut self.bytes);
        if bytes.is_empty() { Ok(()) } else { self.queue.push(self.index, bytes) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    /// Writer that takes bytes once it is let go.
    struct Held(mpsc::Receiver<()>, Arc<Mutex<Vec<u8>>>);

    impl Write for Held {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            // It fails once the other end is gone.
            let _ = self.0.recv();
            self.1.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_writer_that_is_stuck_keeps_nobody_waiting_and_loses_nothing() {
        let (let_go, held) = mpsc::channel();
        let written = Arc::<Mutex<Vec<u8>>>::default();
        let spool = Spool::new(vec![Box::new(Held(held, Arc::clone(&written)))]).unwrap();
        let mut outlet = spool.outlet(0);
        for row in ["one ", "two ", "three"] {
            outlet.write_all(row.as_bytes()).unwrap();
            outlet.flush().unwrap();
        }
        outlet.offer(b"progress");
        assert!(spool.is_behind(12) && !spool.is_behind(13));
        drop(let_go);
        spool.drain().unwrap();
        assert_eq!(*written.lock().unwrap(), b"one two three");
    }

    #[test]
    fn bytes_that_gather_are_written_at_once() {
        struct Pieces(Arc<Mutex<Vec<Vec<u8>>>>);
        impl Write for Pieces {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.0.lock().unwrap().push(bytes.to_vec());
                Ok(bytes.len())
            }

            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let written = Arc::<Mutex<Vec<Vec<u8>>>>::default();
        let spool = Spool::new(vec![Box::new(Pieces(Arc::clone(&written)))]).unwrap();
        spool.gather(Duration::MAX);
        let mut outlet = spool.outlet(0);
        for row in ["one ", "two ", "three"] {
            outlet.write_all(row.as_bytes()).unwrap();
            outlet.flush().unwrap();
        }
        outlet.offer(b" progress");
        assert!(written.lock().unwrap().is_empty());
        spool.drain().unwrap();
        assert_eq!(*written.lock().unwrap(), [b"one two three progress"]);
        // Who waits for them waits for the writer, and not for others to gather.
        spool.gather(Duration::MAX);
        outlet.offer(b"the last");
        while spool.is_behind(0) {}
        assert_eq!(written.lock().unwrap()[1], b"the last");
    }

    #[test]
    fn an_error_is_reported_with_the_flush_that_met_it() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _bytes: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::StorageFull.into())
            }

            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let spool = Spool::new(vec![Box::new(Full)]).unwrap();
        let mut outlet = spool.outlet(0);
        outlet.write_all(b"row").unwrap();
        assert_eq!(outlet.flush().unwrap_err().kind(), io::ErrorKind::StorageFull);
    }
}
