//! Errors between two ranks, in one machine word.
//!
//! A [`TransportError`] boxes its details, so that the hot `Result` of a send or a
//! receive stays one word wide and the happy path tests one register.

use std::error::Error;
use std::fmt;
use std::ops::Deref;

use crate::transport::{Rank, Source, Tag};

/// Result of a transport call.
pub type Result<T, E = TransportError> = std::result::Result<T, E>;

/// The kind of a [`TransportError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TransportErrorKind {
    /// The message was longer than the buffer; it was consumed, and as much as fits was delivered.
    Truncated,
    /// Another rank died, or ended the job.
    PeerFailed,
    /// A call waited longer than the watchdog allows.
    TimedOut,
    /// The ranks of a collective disagree about its length.
    Disagreement,
    /// An argument is outside its range (a rank that does not exist); nothing was started.
    InvalidArgument,
    /// Memory, or another resource of the transport, is exhausted; nothing was started.
    OutOfResources,
    /// The transport cannot do this.
    Unsupported,
    /// The file system refuses; the transport stays usable.
    Storage,
    /// The library or the system below the transport reported an error.
    Backend,
}

/// Details of a [`TransportError`], as far as they are known.
#[derive(Debug)]
pub struct Details {
    /// Kind of the error.
    pub kind: TransportErrorKind,
    text: String,
    /// The rank on which the call was made.
    pub rank: Option<Rank>,
    /// The other end of the call.
    pub peer: Option<Source>,
    /// The tag of the call.
    pub tag: Option<Tag>,
    /// Length of the message in bytes.
    pub length_bytes: Option<usize>,
    /// Length of the buffer in bytes.
    pub capacity_bytes: Option<usize>,
}

impl Details {
    /// The attempt and its failure in words, without rank, peer and numbers.
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// An error of a transport call, with its [`Details`].
///
/// A message that was [too long](TransportErrorKind::Truncated) and a call that could not be started
/// leave the transport usable; every other kind ends the job (see [`ends_job`](Self::ends_job)).
#[derive(Debug)]
pub struct TransportError(Box<Details>);

impl Deref for TransportError {
    type Target = Details;

    fn deref(&self) -> &Details {
        &self.0
    }
}

impl TransportError {
    /// An error of `kind`; `text` says what was attempted and what went wrong, in lower case.
    #[cold]
    pub fn new(kind: TransportErrorKind, text: impl Into<String>) -> Self {
        let text = text.into();
        Self(Box::new(Details {
            kind,
            text,
            rank: None,
            peer: None,
            tag: None,
            length_bytes: None,
            capacity_bytes: None,
        }))
    }

    /// A message of `length_bytes` met a buffer of `capacity_bytes`.
    #[cold]
    pub fn truncated(source: Rank, tag: Tag, length_bytes: usize, capacity_bytes: usize) -> Self {
        let mut error = Self::new(TransportErrorKind::Truncated, "the message is too long");
        error.0.length_bytes = Some(length_bytes);
        error.0.capacity_bytes = Some(capacity_bytes);
        error.with_peer(Source::Rank(source), tag)
    }

    /// A rank outside `0..n_ranks` was named.
    #[cold]
    pub fn no_such_rank(rank: Rank, n_ranks: usize) -> Self {
        let text = format!("there is no rank {rank}: ranks are 0 to {}", n_ranks.saturating_sub(1));
        Self::new(TransportErrorKind::InvalidArgument, text)
    }

    /// A message of `length_bytes` was to be copied into `room_bytes` bytes.
    #[cold]
    pub fn no_room(length_bytes: usize, room_bytes: usize) -> Self {
        let text = format!(
            "an exchange in place of {length_bytes} bytes needs as much room, there are {room_bytes} \
             (make it by room_in_place)"
        );
        Self::new(TransportErrorKind::InvalidArgument, text)
    }

    /// Adds the rank on which the call was made.
    #[cold]
    #[must_use]
    pub fn on_rank(mut self, rank: Rank) -> Self {
        self.0.rank = Some(rank);
        self
    }

    /// Adds the other end of the call, and its tag.
    #[cold]
    #[must_use]
    pub fn with_peer(mut self, peer: Source, tag: Tag) -> Self {
        self.0.peer = Some(peer);
        self.0.tag = Some(tag);
        self
    }

    /// Adds the length of the buffer, in bytes.
    #[cold]
    #[must_use]
    pub fn with_capacity(mut self, capacity_bytes: usize) -> Self {
        self.0.capacity_bytes = Some(capacity_bytes);
        self
    }

    /// True if a message was longer than its buffer; the transport stays usable.
    pub fn is_truncated(&self) -> bool {
        self.kind == TransportErrorKind::Truncated
    }

    /// True if the transport lacks what was asked; the transport stays usable.
    pub fn is_unsupported(&self) -> bool {
        self.kind == TransportErrorKind::Unsupported
    }

    /// True if all ranks have this error, so that none waits for another; the transport stays usable.
    pub fn is_of_all(&self) -> bool {
        matches!(self.kind, TransportErrorKind::Unsupported | TransportErrorKind::Storage)
    }

    /// True if the transport cannot be used after this error.
    pub fn ends_job(&self) -> bool {
        use TransportErrorKind::{Backend, Disagreement, PeerFailed, TimedOut};
        matches!(self.kind, PeerFailed | TimedOut | Disagreement | Backend)
    }
}

impl fmt::Display for TransportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let details = &*self.0;
        f.write_str(&details.text)?;
        let mut separator = " (";
        let mut part = |f: &mut fmt::Formatter<'_>, text: String| {
            let result = write!(f, "{separator}{text}");
            separator = ", ";
            result
        };
        if let Some(rank) = details.rank {
            part(f, format!("on rank {rank}"))?;
        }
        match details.peer {
            Some(Source::Rank(peer)) => part(f, format!("peer rank {peer}"))?,
            Some(Source::Any) => part(f, "from any rank".into())?,
            None => (),
        }
        if let Some(tag) = details.tag {
            part(f, format!("tag {tag}"))?;
        }
        if let Some(length_bytes) = details.length_bytes {
            part(f, format!("{length_bytes} bytes sent"))?;
        }
        if let Some(capacity_bytes) = details.capacity_bytes {
            part(f, format!("{capacity_bytes} bytes expected"))?;
        }
        if separator == ", " { f.write_str(")") } else { Ok(()) }
    }
}

impl Error for TransportError {}

/// Failure of a kernel to verify or to measure a case.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KernelError {
    /// The transport failed.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// The data that arrived is not the data that was sent.
    #[error("{what}: expected {expected}, found {found}")]
    Mismatch {
        /// Object of the check (`byte 17 of the echo from rank 1`).
        what: String,
        /// Expected value.
        expected: String,
        /// Found value.
        found: String,
    },
}

impl KernelError {
    /// `what` should have been `expected` and was `found`.
    pub fn mismatch(
        what: impl Into<String>,
        expected: impl fmt::Display,
        found: impl fmt::Display,
    ) -> Self {
        let (expected, found) = (expected.to_string(), found.to_string());
        Self::Mismatch { what: what.into(), expected, found }
    }
}

// The hot result of a send stays one machine word.
const _: () = assert!(size_of::<Result<()>>() == size_of::<usize>());

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::Transport as _;

    #[test]
    fn a_truncated_receive_says_who_sent_how_much() {
        let error = TransportError::truncated(3, Tag::new(7), 64, 32).on_rank(1);
        assert_eq!(
            error.to_string(),
            "the message is too long (on rank 1, peer rank 3, tag 7, 64 bytes sent, 32 bytes expected)"
        );
        assert!(!error.ends_job());
    }

    #[test]
    fn an_exchange_in_place_without_room_is_refused() {
        let error = crate::local::run_alone(|t| {
            let (message, room) = (&mut [0; 8], &mut [0; 7]);
            t.blocked_exchange_in_place(0, Source::Any, Tag::new(1), message, room)
        });
        assert_eq!(
            error.unwrap_err().to_string(),
            "an exchange in place of 8 bytes needs as much room, there are 7 (make it by \
             room_in_place) (on rank 0)"
        );
    }

    #[test]
    fn an_error_without_details_is_its_text_alone() {
        let error = TransportError::new(TransportErrorKind::PeerFailed, "rank 2 died");
        assert_eq!(error.to_string(), "rank 2 died");
        assert!(error.ends_job());
    }
}
