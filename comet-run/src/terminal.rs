//! Standard output and standard error: the only place that this program prints from.
//!
//! Of several processes that a launcher started, one prints and all others are silent: a line
//! stands there once, however many processes there are. Text from files and paths may hold control
//! characters, which a terminal would obey; here they are escaped.

use std::borrow::Cow;
use std::fmt::Display;
use std::io::{self, ErrorKind, IsTerminal as _, Write};
use std::mem::take;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use comet_report::format::Look;

use crate::cli::ColorArg;

/// The switch; a process prints unless it learns that it is not the first.
static IS_OUTPUT_RANK: AtomicBool = AtomicBool::new(true);

/// The look of tables on standard output, once the command line is known.
static LOOK: OnceLock<Look> = OnceLock::new();

/// Decides the look of tables on standard output: those on a terminal have its width, unless they
/// are to be `is_wide`, and colours by `color`. The terminals that launchers make for their processes
/// (`is_launched`) are none of the user's.
pub(crate) fn set_look(is_wide: bool, color: ColorArg, is_launched: bool) {
    let is_terminal = io::stdout().is_terminal() && !is_launched;
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let is_dumb = || variable("TERM").is_some_and(|term| term == "dumb");
    let shows_color = || variable("NO_COLOR").is_none() && !is_dumb();
    let width = terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| width.0.into());
    let look = Look {
        width: width.filter(|_| is_terminal && !is_wide),
        has_color: match color {
            ColorArg::Auto => is_terminal && shows_color(),
            ColorArg::Always => true,
            ColorArg::Never => false,
        },
    };
    LOOK.get_or_init(|| look);
}

/// The look of tables on standard output.
pub(crate) fn look() -> Look {
    LOOK.get().copied().unwrap_or_default()
}

/// Decides whether this process says anything from now on.
pub(crate) fn set_output_rank(is_output_rank: bool) {
    // Relaxed: the switch is all there is to see; it publishes nothing else.
    IS_OUTPUT_RANK.store(is_output_rank, Ordering::Relaxed);
}

/// True if this process prints.
pub(crate) fn is_output_rank() -> bool {
    IS_OUTPUT_RANK.load(Ordering::Relaxed)
}

/// Writes `text` to standard output, its control characters escaped but for newlines and tabs.
pub(crate) fn print(text: &str) -> io::Result<()> {
    print_bytes(printable(text).as_bytes())
}

/// `text` with its control characters escaped but for newlines and tabs.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    escaped(text, &['\n', '\t'])
}

/// `text` on one line, its control characters escaped.
pub(crate) fn one_line(text: impl Display) -> String {
    escaped(&text.to_string(), &[]).into_owned()
}

/// `text` with all control characters escaped but for those in `kept`.
fn escaped<'a>(text: &'a str, kept: &[char]) -> Cow<'a, str> {
    let is_escaped = |c: char| c.is_control() && !kept.contains(&c);
    if !text.contains(is_escaped) {
        return Cow::Borrowed(text);
    }
    let escape = |c: char| if is_escaped(c) { c.escape_default().to_string() } else { c.into() };
    Cow::Owned(text.chars().map(escape).collect())
}

/// Writes `bytes` to standard output as they are.
pub(crate) fn print_bytes(bytes: &[u8]) -> io::Result<()> {
    let mut out = stdout();
    out.write_all(bytes)?;
    out.flush()
}

/// Writes `text` to standard error as one paragraph: further lines are indented, and control
/// characters escaped. A failure is passed over, because nothing is left to report it to.
pub(crate) fn note(text: &str) {
    write_stderr(&format!("{}\n", escaped(text, &['\n']).replace('\n', "\n  ")));
}

/// Writes `text` to standard error as it is. There is nobody left to tell if that fails.
pub(crate) fn write_stderr(text: &str) {
    if is_output_rank() {
        let mut stderr = io::stderr();
        drop(stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush()));
    }
}

/// Lines on the terminal of standard error, which later ones replace.
#[derive(Debug, Default)]
pub(crate) struct Block {
    n_lines: usize,
}

impl Block {
    /// Writes `lines`, one beneath the other, each cut to the width of the terminal, where the lines
    /// before them were; the cursor is below those. Without a terminal, nothing.
    pub(crate) fn show(&mut self, lines: &[String]) {
        let Some((width, height)) = terminal_size::terminal_size_of(io::stderr()) else { return };
        let lines = &lines[..lines.len().min(usize::from(height.0).saturating_sub(2))];
        let mut text = match take(&mut self.n_lines) {
            0 => String::new(),
            // Up so many lines, and clear from there to the end of the screen.
            n_lines => format!("\r\x1b[{n_lines}A\x1b[J"),
        };
        for line in lines {
            text += &cut(&one_line(line), usize::from(width.0).saturating_sub(1));
            text.push('\n');
        }
        self.n_lines = lines.len();
        write_stderr(&text);
    }
}

/// `line` as far as it fits on the terminal of standard error; all of it where there is none.
pub(crate) fn fitting(line: &str) -> String {
    let size = terminal_size::terminal_size_of(io::stderr());
    size.map_or_else(|| line.into(), |(width, _)| cut(line, usize::from(width.0).saturating_sub(1)))
}

/// The first letters of `line`, at most `n`, without a number that does not fit.
fn cut(line: &str, n: usize) -> String {
    let mut letters: Vec<char> = line.chars().collect();
    if letters.len() > n && letters[n] != ' ' {
        let words = letters[..n].iter().rposition(|letter| *letter == ' ');
        letters.truncate(words.unwrap_or(n));
    }
    letters.into_iter().take(n).collect()
}

/// Standard error as a writer that never fails.
#[derive(Debug)]
pub(crate) struct Stderr;

impl Write for Stderr {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        write_stderr(&String::from_utf8_lossy(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes clap's help or error to standard output or standard error, whichever it belongs to.
pub(crate) fn explain(words: &clap::Error) -> io::Result<()> {
    if is_output_rank() {
        forgive(words.print().and_then(|()| io::stdout().flush()), ())
    } else {
        Ok(())
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
        let written = if is_output_rank() { self.0.write(bytes) } else { Ok(bytes.len()) };
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
    fn control_characters_are_escaped() {
        let check = |text, expected: &str| assert_eq!(one_line(text), expected);
        check("\x1b]0;PWN\x07", "\\u{1b}]0;PWN\\u{7}");
        check("a\nFAKE: complete\u{9b}", "a\\nFAKE: complete\\u{9b}");
        check("µs, 1 %", "µs, 1 %");
        assert_eq!(escaped("a\tb\n\x7f", &['\n', '\t']), "a\tb\n\\u{7f}");
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
