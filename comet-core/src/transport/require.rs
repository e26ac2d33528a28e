//! Refusals of ranks and tags that a call cannot have, which backends make before they start anything.

use super::{Rank, Source, Tag, Transport};
use crate::error::{Result, TransportError, TransportErrorKind};

/// Refuses a rank that does not exist; backends use this before they start anything.
///
/// # Errors
/// [`InvalidArgument`](crate::error::TransportErrorKind::InvalidArgument) if there is no such rank.
#[inline]
pub fn require_rank<T: Transport>(t: &T, rank: Rank) -> Result<()> {
    if rank < t.n_ranks() {
        return Ok(());
    }
    Err(TransportError::no_such_rank(rank, t.n_ranks()).on_rank(t.global_rank(t.rank())))
}

/// Refuses a destination that does not exist, and any tag, which no message has; see [`require_rank`].
///
/// # Errors
/// [`InvalidArgument`](crate::error::TransportErrorKind::InvalidArgument) in both cases.
#[inline]
pub fn require_destination<T: Transport>(t: &T, destination: Rank, tag: Tag) -> Result<()> {
    if tag.is_any() {
        let text = "a send names its tag, any tag is for receives and probes (use Tag::new)";
        return Err(refused(t, text));
    }
    require_rank(t, destination)
}

/// Refuses a source that does not exist, and any tag from any source; see [`require_rank`].
///
/// # Errors
/// [`InvalidArgument`](crate::error::TransportErrorKind::InvalidArgument) if there is no such rank, or if
/// neither source nor tag are named.
#[inline]
pub fn require_source<T: Transport>(t: &T, source: Source, tag: Tag) -> Result<()> {
    match source {
        Source::Rank(rank) => require_rank(t, rank),
        // It could take what the driver sends.
        Source::Any if tag.is_any() => {
            let text = "a receive of any tag names its source (use Source::Rank, or name the tag)";
            Err(refused(t, text))
        }
        Source::Any => Ok(()),
    }
}

/// Error of a call whose arguments do not go together.
#[cold]
fn refused<T: Transport>(t: &T, text: &'static str) -> TransportError {
    let error = TransportError::new(TransportErrorKind::InvalidArgument, text);
    error.on_rank(t.global_rank(t.rank()))
}
