//! The collectives: barrier, sums and broadcast.
//!
//! ```text
//!   meeting     all ranks wait for all: the barrier, and the sum of one number for each
//!   exchange    all others of short messages: what each gives in a cell, and one meeting
//!   vector      sums of vectors: every rank adds up one slice for all, between two meetings
//!   broadcast   messages of one root for all others
//!   stream      the lines and the ring through which they go
//! ```
//!
//! All ranks call the collectives in the same order, so whatever they count they count alike, and
//! no rank has to be told which place or number comes next.

mod broadcast;
mod exchange;
mod meeting;
pub(crate) mod stream;
mod vector;

use comet_core::error::{Result, TransportErrorKind};
use comet_core::transport::{Rank, Source};
use comet_core::waiting::Waiting;

use crate::engine::Engine;
use crate::remote_copy::RemoteCopy;
use crate::segment::Segment;

use broadcast::Broadcasts;
use meeting::Meeting;
use vector::Vectors;

/// One rank's part in the collectives.
pub(crate) struct Collectives {
    pub(crate) meeting: Meeting,
    pub(crate) vectors: Vectors,
    pub(crate) broadcasts: Broadcasts,
}

impl Collectives {
    pub(crate) fn new(segment: &'static Segment, remote: RemoteCopy, rank: Rank) -> Self {
        Self {
            meeting: Meeting::new(segment, rank),
            vectors: Vectors::new(segment, rank),
            broadcasts: Broadcasts::new(segment, remote, rank),
        }
    }
}

/// Waits for `rank` until `condition` holds; looks at that alone `patience` times, since messages
/// can wait for the time that a line takes from core to core.
#[inline]
fn wait_for(
    rank: Rank,
    condition: impl Fn() -> bool,
    patience: u32,
    engine: &Engine,
) -> Result<()> {
    for _ in 0..patience {
        if condition() {
            return Ok(());
        }
        std::hint::spin_loop();
    }
    engine.until(|| Waiting::Collective(Source::Rank(rank)), condition)
}

/// Ends the job if `rank` has another length for the same collective than this rank.
#[inline]
fn require_same_length(
    (rank, found_bytes): (Rank, u64),
    (this_rank, length_bytes): (Rank, usize),
    engine: &Engine,
) -> Result<()> {
    if found_bytes == length_bytes as u64 {
        return Ok(());
    }
    let text = format!(
        "the ranks of a collective disagree about its length: rank {rank} says {found_bytes} \
         bytes, rank {this_rank} {length_bytes}"
    );
    Err(engine.waiter.give_up(TransportErrorKind::Disagreement, text))
}
