//! The kinds of communication, and what follows from the kind of a kernel.

use std::fmt;

use crate::definition::Definition;

/// Kind of communication of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// Messages from one rank to another.
    PointToPoint,
    /// Messages in both directions at once.
    Exchange,
    /// Messages beside a load of other messages on the same links.
    Contention,
    /// Messages beside arithmetic.
    Overlap,
    /// Arithmetic alone: no rank sends anything, and no rate or latency of messages follows.
    Compute,
    /// One operation of all ranks that moves data.
    Collective,
    /// One operation of all ranks that moves none.
    Synchronisation,
    /// One operation of all ranks on a distributed matrix.
    Matrix,
}

impl Class {
    /// Every class.
    pub const ALL: [Self; 8] = [
        Self::PointToPoint,
        Self::Exchange,
        Self::Contention,
        Self::Overlap,
        Self::Compute,
        Self::Collective,
        Self::Synchronisation,
        Self::Matrix,
    ];

    /// Word in the record.
    pub const fn as_str(self) -> &'static str {
        ["p2p", "exchange", "contention", "overlap", "compute", "collective", "sync", "matrix"]
            [self as usize]
    }

    /// Whether all ranks of the run take part in one operation.
    pub const fn takes_all_ranks(self) -> bool {
        matches!(self, Self::Collective | Self::Synchronisation | Self::Matrix)
    }

    /// Whether messages travel between ranks.
    pub const fn moves_messages(self) -> bool {
        !matches!(self, Self::Compute)
    }

    /// Whether `definition` makes sense for an operation of all ranks: all but D4, and for a
    /// barrier none that needs a second barrier. Other classes admit the kernel's own alone.
    pub fn admits(self, definition: Definition) -> bool {
        let needs_barrier =
            matches!(definition, Definition::ClosedByBarrier | Definition::BarrierSubtracted);
        self.takes_all_ranks()
            && definition != Definition::HalfRoundTrip
            && !(self == Self::Synchronisation && needs_barrier)
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_barrier_admits_no_definition_with_a_second_barrier() {
        let check = |class: Class, definition, expected| {
            assert_eq!(class.admits(definition), expected, "{class} {definition:?}");
        };
        check(Class::Collective, Definition::ClosedByBarrier, true);
        check(Class::Synchronisation, Definition::ClosedByBarrier, false);
        check(Class::Synchronisation, Definition::Completion, true);
        check(Class::Matrix, Definition::HalfRoundTrip, false);
        check(Class::PointToPoint, Definition::Completion, false);
    }
}
