//! Error of a database.

use std::io;
use std::path::PathBuf;

use comet_report::read::Problem;

/// Error of a database.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The system refused.
    #[error("cannot {action} {}: {source} ({remedy})", path.display())]
    Io {
        /// Operation, as a verb (`write`).
        action: &'static str,
        /// File or folder.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
        /// Remedy.
        remedy: &'static str,
    },
    /// A file is larger than the limits admit.
    #[error("{0}")]
    TooLarge(String),
    /// A file is no valid result file, or cannot be indexed; never empty.
    #[error("{}", first(.0))]
    Invalid(Vec<Problem>),
    /// A file of the database does not hold what it should.
    #[error("{} is damaged: {message} (restore it from a backup)", path.display())]
    Damaged {
        /// File.
        path: PathBuf,
        /// Difference.
        message: String,
    },
    /// A token does not give the right.
    #[error("{0}")]
    Forbidden(String),
    /// A name of a run, a blob, a machine or a token that the database does not hold.
    #[error("{0}")]
    Unknown(String),
    /// A database at an address that does not answer, or fails.
    #[error("{0}")]
    Unreachable(String),
    /// The index refused.
    #[error("the index refused: {0}")]
    Index(String),
}

impl Error {
    /// The refusal of `path` by the system.
    pub(crate) fn io(
        action: &'static str,
        path: impl Into<PathBuf>,
        remedy: &'static str,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { action, path, source, remedy }
    }

    /// The refusal of a file for one reason that no line stands for.
    pub(crate) fn invalid(line: usize, message: impl Into<String>) -> Self {
        Self::Invalid(vec![Problem { line, message: message.into() }])
    }
}

/// The most problems that are reported: the reading of a file ends with them.
pub(crate) const MAX_PROBLEMS: usize = 20;

/// The first of `problems`, and the number of the others.
fn first(problems: &[Problem]) -> String {
    let Some(Problem { line, message }) = problems.first() else { return "invalid".into() };
    let more = match problems.len() - 1 {
        0 => String::new(),
        n if problems.len() >= MAX_PROBLEMS => format!(", and {n} other problems or more"),
        n => format!(", and {n} other problems"),
    };
    let place = if *line == 0 { String::new() } else { format!("line {line}: ") };
    format!("{place}{message}{more} (see comet-run validate)")
}
