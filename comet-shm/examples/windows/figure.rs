//! Operations of a window, and the contents of the memory after them. `scripts/bench-shm/loops.c`
//! has the same operations in plain C.

use comet_core::error::Result;
use comet_core::transport::{Rank, Source, Tag, Transport};

const MESSAGE: Tag = Tag::new(1);
const ACKNOWLEDGEMENT: Tag = Tag::new(2);
/// Messages of a stream that one acknowledgement is for.
const STREAM_MESSAGES: u32 = 1000;

/// Measured operation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Figure {
    /// Ranks 0 and 1 echo; what they send stays as it is.
    Latency,
    /// Ranks 0 and 1 echo; what they receive they send back.
    LatencyInPlace,
    /// Many messages of rank 0 to rank 1, and one back.
    Stream,
    Barrier,
    Sum,
    /// Of rank 0, one after the other.
    Broadcast,
    /// Of rank 0, with a barrier after each, so that it cannot run ahead of the others.
    BroadcastAndBarrier,
}

/// All figures, by their names on the command line.
const FIGURES: [(&str, Figure); 7] = [
    ("latency", Figure::Latency),
    ("latency_in_place", Figure::LatencyInPlace),
    ("stream", Figure::Stream),
    ("barrier", Figure::Barrier),
    ("sum", Figure::Sum),
    ("broadcast", Figure::Broadcast),
    ("broadcast_and_barrier", Figure::BroadcastAndBarrier),
];

/// Buffers of the operations; only a latency needs the second message, only a sum the values.
pub(crate) struct Buffers<'a> {
    pub(crate) first: &'a mut [u8],
    pub(crate) second: &'a mut [u8],
    pub(crate) values: &'a mut [f64],
}

impl Figure {
    /// The figure that the command line calls `name`.
    pub(crate) fn named(name: &str) -> Option<Self> {
        FIGURES.iter().find(|(known, _)| *known == name).map(|(_, figure)| *figure)
    }

    pub(crate) fn name(self) -> &'static str {
        FIGURES[self as usize].0
    }

    /// True if ranks 0 and 1 do it alone.
    pub(crate) fn is_echo(self) -> bool {
        matches!(self, Self::Latency | Self::LatencyInPlace | Self::Stream)
    }

    /// Number of values of one operation.
    pub(crate) fn divisor(self) -> f64 {
        match self {
            Self::Latency | Self::LatencyInPlace => 2.0,
            Self::Stream => f64::from(STREAM_MESSAGES),
            _ => 1.0,
        }
    }

    /// Number of operations of a window without a time limit.
    pub(crate) fn fixed_operations(self, length_bytes: usize) -> usize {
        match length_bytes {
            _ if self == Self::Stream => 1,
            0..=4096 => 500,
            4097..=65_536 => 50,
            65_537..=1_048_576 => 5,
            _ => 2,
        }
    }

    /// Does it `n` times; ranks that have no part in it return at once.
    pub(crate) fn operate<T: Transport>(self, t: &T, b: &mut Buffers<'_>, n: usize) -> Result<()> {
        match (self, t.rank()) {
            (Self::Latency, 0) => bounce(t, b.first, b.second, n),
            (Self::Latency, 1) => send_back(t, b.first, b.second, n),
            (Self::LatencyInPlace, 0) => bounce_in_place(t, b.first, n),
            (Self::LatencyInPlace, 1) => send_back_in_place(t, b.first, n),
            (Self::Stream, 0) => stream(t, b.first, n),
            (Self::Stream, 1) => drain(t, b.first, n),
            (Self::Barrier, _) => (0..n).try_for_each(|_| t.barrier()),
            (Self::Sum, _) => sum(t, b.values, n),
            (Self::Broadcast, _) => (0..n).try_for_each(|_| t.blocked_broadcast(0, b.first)),
            (Self::BroadcastAndBarrier, _) => broadcast_and_barrier(t, b.first, n),
            _ => Ok(()),
        }
    }

    /// True if the memory of `rank` holds the result of one operation.
    pub(crate) fn is_right(self, b: &Buffers<'_>, rank: Rank, n_ranks: usize) -> bool {
        match self {
            Self::Barrier => true,
            Self::Sum => {
                let sum: f64 = (0..n_ranks).map(value).sum();
                b.values.iter().all(|value| *value == sum)
            }
            _ if self.is_echo() && rank > 1 => true,
            Self::Latency => holds(b.second, 1 - rank),
            _ => holds(b.first, 0),
        }
    }
}

impl Buffers<'_> {
    /// Makes them those of `rank`, which differ from all others.
    pub(crate) fn fill(&mut self, rank: Rank) {
        for (i, byte) in self.first.iter_mut().enumerate() {
            *byte = pattern(rank, i);
        }
        self.values.fill(value(rank));
    }
}

fn holds(message: &[u8], rank: Rank) -> bool {
    message.iter().enumerate().all(|(i, byte)| *byte == pattern(rank, i))
}

#[expect(clippy::cast_possible_truncation, reason = "any pattern will do")]
fn pattern(rank: Rank, i: usize) -> u8 {
    (7 * i + 31 * rank + 1) as u8
}

fn value(rank: Rank) -> f64 {
    (rank + 1) as f64
}

// ---- the operations ----

fn bounce<T: Transport>(t: &T, sent: &[u8], received: &mut [u8], n: usize) -> Result<()> {
    for _ in 0..n {
        t.blocked_send(1, MESSAGE, sent)?;
        t.blocked_recv(Source::Rank(1), MESSAGE, received)?;
    }
    Ok(())
}

fn send_back<T: Transport>(t: &T, sent: &[u8], received: &mut [u8], n: usize) -> Result<()> {
    for _ in 0..n {
        t.blocked_recv(Source::Rank(0), MESSAGE, received)?;
        t.blocked_send(0, MESSAGE, sent)?;
    }
    Ok(())
}

fn bounce_in_place<T: Transport>(t: &T, message: &mut [u8], n: usize) -> Result<()> {
    for _ in 0..n {
        t.blocked_send(1, MESSAGE, message)?;
        t.blocked_recv(Source::Rank(1), MESSAGE, message)?;
    }
    Ok(())
}

fn send_back_in_place<T: Transport>(t: &T, message: &mut [u8], n: usize) -> Result<()> {
    for _ in 0..n {
        t.blocked_recv(Source::Rank(0), MESSAGE, message)?;
        t.blocked_send(0, MESSAGE, message)?;
    }
    Ok(())
}

fn stream<T: Transport>(t: &T, message: &[u8], n: usize) -> Result<()> {
    for _ in 0..n {
        for _ in 0..STREAM_MESSAGES {
            t.blocked_send(1, MESSAGE, message)?;
        }
        t.blocked_recv(Source::Rank(1), ACKNOWLEDGEMENT, &mut [])?;
    }
    Ok(())
}

fn drain<T: Transport>(t: &T, message: &mut [u8], n: usize) -> Result<()> {
    for _ in 0..n {
        for _ in 0..STREAM_MESSAGES {
            t.blocked_recv(Source::Rank(0), MESSAGE, message)?;
        }
        t.blocked_send(0, ACKNOWLEDGEMENT, &[])?;
    }
    Ok(())
}

fn sum<T: Transport>(t: &T, values: &mut [f64], n: usize) -> Result<()> {
    for _ in 0..n {
        match values {
            [value] => *value = t.global_sum(*value)?,
            _ => t.global_sum_vector(values)?,
        }
    }
    Ok(())
}

fn broadcast_and_barrier<T: Transport>(t: &T, message: &mut [u8], n: usize) -> Result<()> {
    for _ in 0..n {
        t.blocked_broadcast(0, message)?;
        t.barrier()?;
    }
    Ok(())
}
