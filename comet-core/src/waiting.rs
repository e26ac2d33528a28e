//! Wait of a rank, in words for people and packed into two machine words, so that another process
//! or thread can read it while the rank waits.

use std::fmt;
use std::ops::Range;

use crate::transport::{Rank, Source, Tag};

/// Wait of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// To hand over a message of so many bytes.
    Send(Rank, Tag, usize),
    /// For a message of at most so many bytes.
    Recv(Source, Tag, usize),
    /// For a message that probes see.
    Probe(Source, Tag),
    /// For a rank in a collective, or for any of them.
    Collective(Source),
    /// For something to do, which comes from a rank.
    Rest(Source),
    /// For a rank in an epoch of a window, or for any of them.
    Window(Source),
    /// For a file, or for any rank that uses it.
    File,
}

/// Any source, as a peer in a packed word.
const ANY: u64 = 0xffff_ffff;

impl Waiting {
    /// `waiting` as operation, peer and tag in one word (0 for no wait) and the length in another.
    #[inline(always)]
    pub fn pack(waiting: Option<Self>) -> [u64; 2] {
        let word = |kind: u64, peer: u64, tag: u16| kind << 56 | u64::from(tag) << 32 | peer & ANY;
        let peer = |source| match source {
            Source::Rank(rank) => rank as u64,
            Source::Any => ANY,
        };
        match waiting {
            None => [0, 0],
            Some(Self::Send(to, tag, length)) => [word(1, to as u64, tag.value()), length as u64],
            Some(Self::Recv(from, tag, length)) => {
                [word(2, peer(from), tag.value()), length as u64]
            }
            Some(Self::Collective(from)) => [word(3, peer(from), 0), 0],
            Some(Self::Rest(from)) => [word(4, peer(from), 0), 0],
            Some(Self::Window(from)) => [word(5, peer(from), 0), 0],
            Some(Self::File) => [word(6, ANY, 0), 0],
            Some(Self::Probe(from, tag)) => [word(7, peer(from), tag.value()), 0],
        }
    }

    /// Wait that [`pack`](Self::pack) packed. Words that were read while they changed give a
    /// mixture, which is good enough to be quoted.
    #[expect(clippy::cast_possible_truncation, reason = "each field is masked to its width")]
    pub fn unpack([what, length]: [u64; 2]) -> Option<Self> {
        let tag = Tag::from_wire((what >> 32) as u32 & 0x7fff);
        let (rank, length_bytes) = ((what & ANY) as Rank, length as usize);
        let source = if what & ANY == ANY { Source::Any } else { Source::Rank(rank) };
        match what >> 56 {
            1 => Some(Self::Send(rank, tag, length_bytes)),
            2 => Some(Self::Recv(source, tag, length_bytes)),
            3 => Some(Self::Collective(source)),
            4 => Some(Self::Rest(source)),
            5 => Some(Self::Window(source)),
            6 => Some(Self::File),
            7 => Some(Self::Probe(source, tag)),
            _ => None,
        }
    }

    /// The ranks that could end the wait, out of `0..n_ranks`.
    pub fn peers(self, n_ranks: usize) -> Range<Rank> {
        match self {
            Self::Send(rank, ..)
            | Self::Recv(Source::Rank(rank), ..)
            | Self::Probe(Source::Rank(rank), _)
            | Self::Collective(Source::Rank(rank))
            | Self::Rest(Source::Rank(rank))
            | Self::Window(Source::Rank(rank)) => rank..rank + 1,
            Self::Recv(Source::Any, ..)
            | Self::Probe(Source::Any, _)
            | Self::Collective(Source::Any)
            | Self::Rest(Source::Any)
            | Self::Window(Source::Any)
            | Self::File => 0..n_ranks,
        }
    }
}

impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Send(to, tag, length) => {
                write!(f, "waits to send {length} bytes to rank {to} (tag {tag})")
            }
            Self::Recv(Source::Any, tag, length) => {
                write!(f, "waits for up to {length} bytes from any rank (tag {tag})")
            }
            Self::Recv(Source::Rank(from), tag, length) => {
                write!(f, "waits for up to {length} bytes from rank {from} (tag {tag})")
            }
            Self::Probe(Source::Any, tag) => {
                write!(f, "probes for a message from any rank (tag {tag})")
            }
            Self::Probe(Source::Rank(from), tag) => {
                write!(f, "probes for a message from rank {from} (tag {tag})")
            }
            Self::Collective(Source::Rank(rank)) => {
                write!(f, "waits for rank {rank} in a collective")
            }
            Self::Collective(Source::Any) => {
                f.write_str("waits for the other ranks in a collective")
            }
            Self::Rest(Source::Rank(rank)) => {
                write!(f, "waits to hear from rank {rank} what comes next")
            }
            Self::Rest(Source::Any) => f.write_str("waits to hear what comes next"),
            Self::Window(Source::Rank(rank)) => {
                write!(f, "waits for rank {rank} in an epoch of a window")
            }
            Self::Window(Source::Any) => {
                f.write_str("waits for the other ranks in an epoch of a window")
            }
            Self::File => f.write_str("waits in a call on a file"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_rank_waits_for_survives_two_words() {
        let tag = Tag::new(7);
        for waiting in [
            None,
            Some(Waiting::Send(3, tag, 1 << 40)),
            Some(Waiting::Recv(Source::Any, tag, 0)),
            Some(Waiting::Recv(Source::Rank(65_535), Tag::new(Tag::MAX), 8)),
            Some(Waiting::Collective(Source::Rank(5))),
            Some(Waiting::Collective(Source::Any)),
            Some(Waiting::Rest(Source::Rank(0))),
            Some(Waiting::Window(Source::Rank(3))),
            Some(Waiting::Window(Source::Any)),
            Some(Waiting::File),
            Some(Waiting::Probe(Source::Rank(2), tag)),
        ] {
            assert_eq!(Waiting::unpack(Waiting::pack(waiting)), waiting);
        }
    }

    #[test]
    fn a_wait_in_an_epoch_names_the_rank_that_could_end_it() {
        let check = |with, expected: &str, peers| {
            let waiting = Waiting::Window(with);
            assert_eq!((waiting.to_string().as_str(), waiting.peers(4)), (expected, peers));
        };
        check(Source::Rank(3), "waits for rank 3 in an epoch of a window", 3..4);
        check(Source::Any, "waits for the other ranks in an epoch of a window", 0..4);
    }
}
