//! Standard output and standard error: the only place that this program speaks from.

use std::io::{self, ErrorKind, Write};

/// Writes `text` to standard output.
///
/// # Errors
/// If standard output cannot be written, except that nobody may be reading it.
pub(crate) fn print(text: &str) -> io::Result<()> {
    let mut out = stdout();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Writes one line to standard error. There is nobody left to tell if that fails.
pub(crate) fn note(text: &str) {
    drop(writeln!(io::stderr(), "{text}"));
}

/// Standard output that takes no offence at a reader who has gone (`comet-run all | head`).
pub(crate) fn stdout() -> Patient<io::Stdout> {
    Patient(io::stdout())
}

/// A writer for which a closed pipe is no error: what nobody reads is dropped.
#[derive(Debug)]
pub(crate) struct Patient<W>(W);

impl<W: Write> Write for Patient<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        forgive(self.0.write(bytes), bytes.len())
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
