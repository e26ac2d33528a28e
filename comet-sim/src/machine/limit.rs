//! The same machine with other messages buffered, and what a program needs of that.
//!
//! MPI leaves open which messages are buffered (MPI-4.1 section 3.5), so a program that completes
//! on one machine may deadlock on the next; the thesis's exchange is such a one (section 3.3.2).

use std::fmt;

use super::{Machine, Protocol, Segment};

/// Rule for buffered messages between two ranks, whose send does not wait for the receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Buffering {
    /// All.
    All,
    /// None.
    Nothing,
}

/// Effect of buffering on the completion of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BufferNeed {
    /// It completes whatever is buffered.
    Completes,
    /// It completes if messages of up to `up_to_bytes` are buffered, and not with one byte less.
    NeedsBuffers {
        /// The least limit that is enough, in bytes.
        up_to_bytes: u64,
    },
    /// It deadlocks even when all messages are buffered.
    Deadlocks,
}

impl fmt::Display for BufferNeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Completes => f.write_str("completes, whatever messages are buffered"),
            Self::NeedsBuffers { up_to_bytes } => write!(
                f,
                "depends on buffering: completes when messages of up to {up_to_bytes} bytes are \
                 buffered, deadlocks otherwise"
            ),
            Self::Deadlocks => f.write_str("deadlocks, even when all messages are buffered"),
        }
    }
}

impl Machine {
    /// This machine with other messages buffered.
    pub fn buffering(&self, buffering: Buffering) -> Self {
        match buffering {
            Buffering::All => self.with_segments(self.segments.iter().map(Segment::buffered)),
            Buffering::Nothing => {
                // What was eager has the handshake of the machine's own rendezvous, if it has one.
                let own = self.segments.iter().find(|s| s.protocol == Protocol::Rendezvous);
                let eager_ps = own.map_or(0, |segment| segment.handshake_ps);
                self.with_segments(self.segments.iter().map(|s| s.unbuffered(eager_ps)))
            }
        }
    }

    /// This machine with messages of up to `limit_bytes` bytes buffered and no others.
    pub fn with_eager_limit(&self, limit_bytes: u64) -> Self {
        let bound = limit_bytes.saturating_add(self.envelope_bytes);
        let is_within =
            |segment: &&Segment| segment.up_to_bytes.is_some_and(|up_to| up_to <= bound);
        let is_beyond = |segment: &&Segment| segment.up_to_bytes.is_none_or(|up_to| up_to > bound);
        let (all, nothing) = (self.buffering(Buffering::All), self.buffering(Buffering::Nothing));
        let cut = all.segments.iter().find(is_beyond).copied();
        let cut = cut.map(|segment| Segment { up_to_bytes: Some(bound), ..segment });
        let within = all.segments.iter().filter(is_within).copied().chain(cut);
        self.with_segments(within.chain(nothing.segments.iter().filter(is_beyond).copied()))
    }

    /// Buffering that a program needs: `completes` is true if it ends on the given machine.
    pub fn buffering_needed(&self, mut completes: impl FnMut(&Self) -> bool) -> BufferNeed {
        if !completes(&self.buffering(Buffering::All)) {
            return BufferNeed::Deadlocks;
        }
        if completes(&self.buffering(Buffering::Nothing)) {
            return BufferNeed::Completes;
        }
        let up_to_bytes = least(|limit_bytes| completes(&self.with_eager_limit(limit_bytes)));
        BufferNeed::NeedsBuffers { up_to_bytes }
    }

    fn with_segments(&self, segments: impl Iterator<Item = Segment>) -> Self {
        Self { segments: segments.collect(), ..self.clone() }
    }
}

impl Segment {
    /// A message that waits for its receive is granted a buffer instead, in the same time.
    fn buffered(&self) -> Self {
        match self.protocol {
            Protocol::Rendezvous => Self { protocol: Protocol::Buffered, ..*self },
            Protocol::Eager | Protocol::Buffered => *self,
        }
    }

    /// No message goes without its receive.
    fn unbuffered(&self, eager_ps: u64) -> Self {
        let is_eager = self.protocol == Protocol::Eager;
        let handshake_ps = if is_eager { eager_ps } else { self.handshake_ps };
        Self { protocol: Protocol::Rendezvous, handshake_ps, ..*self }
    }
}

/// The least number for which `suffices` holds, which it does from there on.
fn least(mut suffices: impl FnMut(u64) -> bool) -> u64 {
    // The first power of two is found from below, since trials are short where few bytes are sent.
    let (mut too_few, mut enough) = (None, 0);
    while enough < u64::MAX && !suffices(enough) {
        (too_few, enough) = (Some(enough), enough.saturating_mul(2).max(1));
    }
    let Some(mut too_few) = too_few else { return enough };
    while too_few + 1 < enough {
        let middle = too_few + (enough - too_few) / 2;
        *(if suffices(middle) { &mut enough } else { &mut too_few }) = middle;
    }
    enough
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::find;

    #[test]
    fn the_least_number_is_found() {
        for expected in [0, 1, 2, 3, 100, 8192, 8193, 1 << 40] {
            let mut n_trials = 0;
            let found = least(|n| {
                n_trials += 1;
                n >= expected
            });
            assert_eq!(found, expected);
            assert!(n_trials <= 100, "{n_trials} trials for {expected}");
        }
    }

    #[test]
    fn a_limit_divides_the_messages_and_leaves_their_times() {
        let file = find("sp2").unwrap();
        for limit_bytes in [0, 1, 77, 4096, 4097, 1 << 30] {
            let machine = file.machine.with_eager_limit(limit_bytes);
            for length_bytes in [0, 1, 77, 78, 4096, 4097, 1 << 29, 1 << 31] {
                let (own, other) =
                    (file.machine.segment(length_bytes), machine.segment(length_bytes));
                let waits = other.protocol == Protocol::Rendezvous;
                assert_eq!(waits, length_bytes > limit_bytes, "{length_bytes} of {limit_bytes}");
                assert_eq!((own.latency_ps, own.wire), (other.latency_ps, other.wire));
            }
        }
    }

    #[test]
    fn all_or_nothing_is_buffered() {
        let protocols = |buffering| {
            let machine = find("sp2").unwrap().machine.buffering(buffering);
            machine.segments.iter().map(|s| s.protocol).collect::<Vec<_>>()
        };
        assert!(!protocols(Buffering::All).contains(&Protocol::Rendezvous));
        assert!(protocols(Buffering::Nothing).iter().all(|p| *p == Protocol::Rendezvous));
    }
}
