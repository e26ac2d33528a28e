//! The same machine with other messages buffered, and what a program needs of that.
//!
//! MPI leaves open which messages are buffered (MPI-4.1 section 3.5), so a program that completes
//! on one machine may deadlock on the next; the thesis's exchange is such a one (section 3.3.2).

use super::{Machine, Protocol, Segment};

impl Machine {
    /// This machine with all messages buffered: what waits for its receive is granted a buffer
    /// instead, in the same time.
    pub fn buffered(&self) -> Self {
        let mut machine = self.clone();
        for segment in &mut machine.segments {
            if segment.protocol == Protocol::Rendezvous {
                segment.protocol = Protocol::Buffered;
            }
        }
        machine
    }

    /// This machine with no message buffered: each waits for its receive.
    pub fn unbuffered(&self) -> Self {
        let mut machine = self.clone();
        // What was eager has the handshake of the machine's own rendezvous, if it has one.
        let own = self.segments.iter().find(|s| s.protocol == Protocol::Rendezvous);
        for segment in &mut machine.segments {
            if segment.protocol == Protocol::Eager {
                segment.handshake_ps = own.map_or(0, |segment| segment.handshake_ps);
            }
            segment.protocol = Protocol::Rendezvous;
        }
        machine
    }

    /// This machine with messages of up to `limit_bytes` bytes buffered and no others.
    pub fn with_eager_limit(&self, limit_bytes: u64) -> Self {
        let bound = limit_bytes.saturating_add(self.envelope_bytes);
        let is_within = |segment: &Segment| segment.up_to_bytes.is_some_and(|up_to| up_to <= bound);
        let (mut within, mut beyond) = (self.buffered().segments, self.unbuffered().segments);
        // The segment in which the limit lies is cut there.
        let n_within = within.iter().take_while(|segment| is_within(segment)).count();
        within.truncate(n_within + 1);
        if let Some(cut) = within.get_mut(n_within) {
            cut.up_to_bytes = Some(bound);
        }
        beyond.drain(..n_within);
        Self { segments: [within, beyond].concat(), ..self.clone() }
    }

    /// Sentence about the buffering with which a program `completes` on the given machine.
    pub fn buffering_needed(&self, mut completes: impl FnMut(&Self) -> bool) -> String {
        if !completes(&self.buffered()) {
            return "deadlocks, even when all messages are buffered".into();
        }
        if completes(&self.unbuffered()) {
            return "completes, whatever messages are buffered".into();
        }
        let up_to_bytes = least(|limit_bytes| completes(&self.with_eager_limit(limit_bytes)));
        format!(
            "depends on buffering: completes when messages of up to {up_to_bytes} bytes are \
             buffered, deadlocks otherwise"
        )
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
        let machine = find("sp2").unwrap().machine;
        let waits = |segment: &Segment| segment.protocol == Protocol::Rendezvous;
        assert!(!machine.buffered().segments.iter().any(waits));
        assert!(machine.unbuffered().segments.iter().all(waits));
    }
}
