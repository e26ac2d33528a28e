//! Distance of ranks 0 and 1: the time of one cache line from one to the other.
//!
//! ```text
//!   rank 0   writes 1 ┐                  ┌ sees 1, writes 2 ┐                  ┌ sees 2, writes 3
//!   rank 1            └ sees 1, writes 1 ┘                  └ sees 2, writes 2 ┘
//! ```
//!
//! Each writes into a line of its own. One line travels each way in a round trip, and nothing else
//! does: the least that a message can cost. The time is the lower quartile of many short windows,
//! since an interrupt lengthens a few of them.

use comet_core::error::Result;
use comet_core::transport::{Rank, Source};
use comet_core::waiting::Waiting;
use comet_stats::{quantile, sorted};

use crate::engine::Engine;
use crate::segment::Segment;
use crate::sync::{AtomicU64, Ordering};

/// Windows, each of which gives a time; together they last 0.2 ms where a line takes 100 ns.
const N_WINDOWS: usize = 20;
/// Round trips in a window.
const N_ROUND_TRIPS: u32 = 50;
/// Looks at a line before the wait becomes an ordinary one.
const N_LOOKS: u32 = 1000;

/// One of the two ranks that pass a line to and fro.
struct Player<'a> {
    engine: &'a Engine,
    peer: Rank,
    own_line: &'a AtomicU64,
    peers_line: &'a AtomicU64,
}

/// Half of a round trip between ranks 0 and 1, which both call it, in nanoseconds.
///
/// # Panics
/// If called on another rank.
pub(crate) fn line_time_ns(
    segment: &Segment,
    engine: &Engine,
    rank: Rank,
    now_ns: impl Fn() -> u64,
) -> Result<f64> {
    assert!(rank < 2, "rank {rank} has no part in it");
    let peer = 1 - rank;
    let line = |rank: Rank| &*segment.control(rank).ping;
    let player = Player { engine, peer, own_line: line(rank), peers_line: line(peer) };
    // Relaxed: only this rank writes its line. Counted here from now on, since to read the line
    // would fetch it back from the peer.
    let mut number = player.own_line.load(Ordering::Relaxed);
    let mut times_ns = [0.0; N_WINDOWS];
    for time_ns in &mut times_ns {
        let start_ns = now_ns();
        for _ in 0..N_ROUND_TRIPS {
            number += 1;
            if rank == 0 { player.serve(number)? } else { player.answer(number)? }
        }
        *time_ns = (now_ns() - start_ns) as f64 / f64::from(2 * N_ROUND_TRIPS);
    }
    // The peer may sleep until it sees the last number, for which nobody waits here.
    engine.waiter.wake(peer);
    Ok(quantile(&sorted(&times_ns), 0.25))
}

impl Player<'_> {
    fn serve(&self, number: u64) -> Result<()> {
        self.publish(number);
        self.await_peer(number)
    }

    fn answer(&self, number: u64) -> Result<()> {
        self.await_peer(number)?;
        self.publish(number);
        Ok(())
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

    #[inline]
    fn await_peer(&self, number: u64) -> Result<()> {
        for _ in 0..N_LOOKS {
            if self.has_come(number) {
                return Ok(());
            }
            std::hint::spin_loop();
        }
        self.await_slowly(number)
    }

    /// The peer lost its core, or is late: waits as for any message.
    #[cold]
    fn await_slowly(&self, number: u64) -> Result<()> {
        // It may have waited so long for the own line that it sleeps.
        self.engine.waiter.wake(self.peer);
        let waiting = || Waiting::Collective(Source::Rank(self.peer));
        self.engine.until(waiting, || self.has_come(number))
    }
}
