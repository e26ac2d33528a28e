//! The lines of ranks 0 and 1, whose time tells how far apart their cores are.

use comet_core::error::Result;
use comet_core::placement::{self, Lines};
use comet_core::transport::{Rank, Source};
use comet_core::waiting::Waiting;

use crate::engine::Engine;
use crate::segment::Segment;
use crate::sync::{AtomicU64, Ordering};

/// One of the two ranks that pass a line to and fro.
struct Player<'a> {
    engine: &'a Engine,
    peer: Rank,
    own_line: &'a AtomicU64,
    peers_line: &'a AtomicU64,
}

/// The time of a line between ranks 0 and 1, which both call it, in nanoseconds.
///
/// # Panics
/// If called on another rank.
pub(crate) fn line_time_ns(
    segment: &Segment,
    engine: &Engine,
    rank: Rank,
    now_ns: impl Fn() -> u64,
) -> Result<f64> {
    let peer = 1 - rank;
    let line = |rank: Rank| &*segment.control(rank).ping;
    let player = Player { engine, peer, own_line: line(rank), peers_line: line(peer) };
    let time_ns = placement::line_time_ns(rank, &player, now_ns)?;
    // The peer may sleep until it sees the last number, for which nobody waits here.
    engine.waiter.wake(peer);
    Ok(time_ns)
}

impl Lines for Player<'_> {
    fn own(&self) -> u64 {
        // Relaxed: only this rank writes its line.
        self.own_line.load(Ordering::Relaxed)
    }

    #[inline]
    fn publish(&self, number: u64) {
        // Relaxed: pairs with the load in `has_come`; the number is all there is to see.
        self.own_line.store(number, Ordering::Relaxed);
    }

    #[inline]
    fn has_come(&self, number: u64) -> bool {
        // Relaxed: pairs with the store in `publish`; no other data follows from the number.
        self.peers_line.load(Ordering::Relaxed) == number
    }

    #[cold]
    fn await_slowly(&self, number: u64) -> Result<()> {
        // It may have waited so long for the own line that it sleeps.
        self.engine.waiter.wake(self.peer);
        let waiting = || Waiting::Collective(Source::Rank(self.peer));
        self.engine.until(waiting, || self.has_come(number))
    }
}
