//! The small words of message passing: rank, tag, source, status, work, clock.

use std::fmt;

/// Number of a process, `0..n_ranks` (the thesis's node number, MPI's rank).
pub type Rank = usize;

/// Label of a message; a receive takes only messages with exactly its tag, unless that is [`Tag::ANY`].
///
/// Users have `0..=Tag::MAX`; the values above, up to MPI's guaranteed bound of 32 767
/// (MPI-4.1 section 9.1.2), are kept for the collectives and the driver.
///
/// On its way a tag carries the context of its [`Group`](super::Group) above its 15 bits, so that
/// one comparison keeps groups apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tag(u32);

/// Bits of the number of a tag.
const TAG_BITS: u32 = 15;

impl Tag {
    /// The largest tag that a kernel may use.
    pub const MAX: u16 = 32_000;

    /// The tag `value`.
    ///
    /// # Panics
    /// If `value` is above [`Tag::MAX`]; in a constant this is a compile error.
    pub const fn new(value: u16) -> Self {
        assert!(value <= Self::MAX, "tags above Tag::MAX are reserved");
        Self(value as u32)
    }

    /// Any tag of users, in receives and probes that name their source (`MPI_ANY_TAG`). No message has it.
    /// Over MPI such a receive takes messages of collectives by an algorithm of the library too, so that none of
    /// these may be in flight.
    pub const ANY: Self = Self((1 << TAG_BITS) - 1);

    /// True if a receive with this tag takes a message with `tag`: the same tag, or any tag of users of the
    /// same context for [`ANY`](Self::ANY).
    #[inline]
    pub const fn accepts(self, tag: Self) -> bool {
        self.0 == tag.0
            || (self.is_any() && tag.value() <= Self::MAX && self.context() == tag.context())
    }

    /// True for [`ANY`](Self::ANY), in any context.
    #[inline]
    pub const fn is_any(self) -> bool {
        self.value() == Self::ANY.value()
    }

    /// The `index`-th reserved tag.
    pub(crate) const fn reserved(index: u16) -> Self {
        assert!(index < Self::ANY.value() - Self::MAX - 1, "there is no such reserved tag");
        Self((Self::MAX + 1 + index) as u32)
    }

    /// The largest context that fits beside a tag.
    pub const MAX_CONTEXT: u32 = (1 << 14) - 1;

    /// The number of this tag, `0..=32_767`.
    #[inline]
    pub const fn value(self) -> u16 {
        (self.0 & ((1 << TAG_BITS) - 1)) as u16
    }

    /// The context that the tag carries; 0 for the whole job.
    pub const fn context(self) -> u32 {
        self.0 >> TAG_BITS
    }

    /// This tag in `context`, `0..=MAX_CONTEXT`, instead of its own.
    #[inline]
    pub const fn within(self, context: u32) -> Self {
        Self(self.value() as u32 | context << TAG_BITS)
    }

    /// Tag and context in 29 bits, as a message header carries them.
    #[inline]
    pub const fn to_wire(self) -> u32 {
        self.0
    }

    /// The tag whose [`to_wire`](Self::to_wire) was carried in a message header.
    #[inline]
    pub const fn from_wire(word: u32) -> Self {
        Self(word & ((1 << 29) - 1))
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_any() { f.pad("any") } else { self.value().fmt(f) }
    }
}

/// Source of the message of a receive or a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// This rank only.
    Rank(Rank),
    /// Whichever rank's message arrived first (the thesis's `blocked_recv` always does this).
    Any,
}

impl Source {
    /// True if a message of `rank` may be taken.
    pub fn accepts(self, rank: Rank) -> bool {
        match self {
            Self::Rank(wanted) => wanted == rank,
            Self::Any => true,
        }
    }
}

/// Mode of a send, which sets its end (MPI-4.1 section 3.4).
///
/// Kernels name it as a constant, so that the code of each mode is compiled for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SendMode {
    /// It ends when the message may be changed again: with or without its receive, as the transport does it.
    Standard,
    /// It ends after its receive has begun, at the earliest.
    Synchronous,
    /// It ends without its receive: the message is copied into room that was
    /// [attached](super::Transport::attach_buffer).
    Buffered,
    /// Its receive is posted already, so that nothing has to be agreed on. Without one it is an error of the
    /// program, which a simulated transport reports; others send the message as a standard one, as MPI allows.
    Ready,
}

impl SendMode {
    /// Every mode.
    pub const ALL: [Self; 4] = [Self::Standard, Self::Synchronous, Self::Buffered, Self::Ready];
}

/// Envelope of a message that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// The rank that sent the message.
    pub source: Rank,
    /// The tag of the message.
    pub tag: Tag,
    /// Length of the message in bytes.
    pub length_bytes: usize,
}

impl Status {
    /// Length in bytes of a message from `source`; `None` if another rank sent it.
    ///
    /// A timed loop keeps this rather than the status: a copy of the whole reads two words at once
    /// that were written one by one, which no store buffer forwards.
    #[inline]
    pub fn length_from(&self, source: Rank) -> Option<usize> {
        (self.source == source).then_some(self.length_bytes)
    }
}

/// Guarantees of a transport beyond the least of MPI; the conformance suite checks them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Promises {
    /// All ranks may send messages of any length first and receive then. (In MPI a send may wait
    /// for its receive: MPI-4.1 section 3.5.)
    pub buffers_sends: bool,
    /// A message that is longer than its buffer is an error of the receive and of nothing else. (In
    /// MPI it is an error of the program, and what follows is open: MPI-4.1 sections 3.2.4 and 9.3.
    /// Open MPI 4.1 writes beyond the end of the buffer.)
    pub survives_truncation: bool,
    /// There are [windows](crate::window). (MPI has them from version 3.0 on as they are here.)
    pub has_windows: bool,
    /// There are [files](crate::file). (MPI has them from version 2.0 on.)
    pub has_files: bool,
}

/// Computation that a kernel does between its messages.
///
/// Real transports run the closure beside it; the simulated one charges its cost in virtual time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// `y = a x + y` over vectors of `n` doubles.
    Daxpy {
        /// Number of elements.
        n: usize,
    },
    /// A copy of `bytes` bytes in pieces that lie `stride_bytes` apart
    /// (equal to the piece for a contiguous copy).
    Copy {
        /// Bytes copied.
        bytes: usize,
        /// Length of one contiguous piece in bytes.
        piece_bytes: usize,
        /// Distance between the starts of two pieces in bytes.
        stride_bytes: usize,
    },
    /// Work without memory, which takes a time that the caller has measured (see [`Busy`](crate::busy::Busy)).
    Busy {
        /// That time in nanoseconds.
        ns: u64,
    },
    /// An element-by-element sum of `n` doubles into another vector.
    Reduce {
        /// Number of elements.
        n: usize,
    },
}

impl Work {
    /// A copy of `bytes` bytes in one piece.
    pub const fn copy(bytes: usize) -> Self {
        Self::Copy { bytes, piece_bytes: bytes, stride_bytes: bytes }
    }
}

/// Clock quality of a transport.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClockInfo {
    /// Name of the clock, as in the record (`CLOCK_MONOTONIC`).
    pub name: &'static str,
    /// True if two ranks that read it at the same moment read the same value, so that a
    /// difference of two ranks' readings is an elapsed time.
    pub is_global: bool,
    /// Identity of the clock: ranks with equal domains read one clock, so that the
    /// offset between them is exactly 0 (see [`GlobalClock`](crate::sync::GlobalClock)).
    pub domain: u64,
    /// True if the clock counts simulated time.
    pub is_virtual: bool,
    /// Its step in nanoseconds, where the transport knows that; it is looked for otherwise.
    pub step_ns: Option<u64>,
}

impl ClockInfo {
    /// The clock `name` of one machine, on which all ranks are.
    pub const fn of_machine(name: &'static str) -> Self {
        Self { name, is_global: true, domain: 0, is_virtual: false, step_ns: None }
    }
}

/// Disturbances of a rank by the system; counts since some fixed moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Preemptions: switches to another program that the rank did not ask for.
    pub involuntary_switches: u64,
    /// Page faults, minor and major.
    pub page_faults: u64,
    /// Page faults among them that read from a disk.
    pub major_faults: u64,
}

impl Usage {
    /// Counts since `earlier`.
    pub fn since(self, earlier: Self) -> Self {
        Self {
            involuntary_switches: self.involuntary_switches - earlier.involuntary_switches,
            page_faults: self.page_faults - earlier.page_faults,
            major_faults: self.major_faults - earlier.major_faults,
        }
    }

    /// Both together.
    pub fn plus(self, other: Self) -> Self {
        Self {
            involuntary_switches: self.involuntary_switches + other.involuntary_switches,
            page_faults: self.page_faults + other.page_faults,
            major_faults: self.major_faults + other.major_faults,
        }
    }
}
