//! Standard output and standard error: the only place that this program speaks from.
//!
//! Of several processes that a launcher started, one speaks and all others are silent: what is
//! said stands there once, however many processes there are.

use std::io::{self, ErrorKind, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// The switch; a process speaks unless it learns that it is not the first.
static SPEAKS: AtomicBool = AtomicBool::new(true);

/// Decides whether this process says anything from now on.
pub(crate) fn speak(speaks: bool) {
    // Relaxed: the switch is all there is to see; it publishes nothing else.
    SPEAKS.store(speaks, Ordering::Relaxed);
}

/// Whether this process says anything.
pub(crate) fn speaks() -> bool {
    SPEAKS.load(Ordering::Relaxed)
}

/// Writes `text` to standard output.
///
/// # Errors
/// If standard output cannot be written, except that nobody may be reading it.
pub(crate) fn print(text: &str) -> io::Result<()> {
    print_bytes(text.as_bytes())
}

/// Writes `bytes` to standard output.
///
/// # Errors
/// If standard output cannot be written, except that nobody may be reading it.
pub(crate) fn print_bytes(bytes: &[u8]) -> io::Result<()> {
    let mut out = stdout();
    out.write_all(bytes)?;
    out.flush()
}

/// Writes one line to standard error. There is nobody left to tell if that fails.
pub(crate) fn note(text: &str) {
    write_stderr(&format!("{text}\n"));
}

/// Writes `text` to standard error as it is. There is nobody left to tell if that fails.
pub(crate) fn write_stderr(text: &str) {
    if speaks() {
        let mut stderr = io::stderr();
        drop(stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush()));
    }
}

/// Writes what clap has to say, help or an error, to where that belongs.
pub(crate) fn explain(words: &clap::Error) {
    if speaks() {
        // There is nobody left to tell if that fails.
        drop(words.print());
    }
}

/// Standard output that takes no offence at a reader who has gone (`comet-run all | head`).
pub(crate) fn stdout() -> Patient<io::Stdout> {
    Patient(io::stdout())
}

/// A writer for which a closed pipe is no error: what nobody reads is dropped, and so is all that
/// a silent process writes.
#[derive(Debug)]
pub(crate) struct Patient<W>(W);

impl<W: Write> Write for Patient<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = if speaks() { self.0.write(bytes) } else { Ok(bytes.len()) };
        forgive(written, bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        forgive(self.0.flush(), ())
    }
}

fn forgive<R>(result: io::Result<R>, instead: R) -> io::Result<R> {
    match result {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(instead),
        // The kind stays, because writers try again after some.
        Err(error) => {
            Err(io::Error::new(error.kind(), format!("cannot write to standard output: {error}")))
        }
        Ok(result) => Ok(result),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Closed(ErrorKind);

    impl Write for Closed {
        fn write(&mut self, _bytes: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Err(self.0.into())
        }
    }

    #[test]
    fn a_reader_who_has_gone_is_no_error() {
        let mut out = Patient(Closed(ErrorKind::BrokenPipe));
        assert!(out.write_all(b"row").is_ok() && out.flush().is_ok());
    }

    #[test]
    fn a_full_disk_is_an_error() {
        let error = Patient(Closed(ErrorKind::StorageFull)).write_all(b"row").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StorageFull);
        assert!(error.to_string().starts_with("cannot write to standard output: "), "{error}");
    }
}
