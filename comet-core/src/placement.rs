//! Stability of the cores of ranks 0 and 1, by the time of a cache line between them.
//!
//! The CPUs of a virtual machine change their places on the host within minutes, and two ranks on
//! hardware threads of one core exchange a line several times as fast as two on different cores. A
//! measurement partly in one place and partly in another belongs to neither.

use comet_stats::{quantile, sorted};

use crate::error::Result;
use crate::transport::Rank;

/// Times of a cache line from rank 0 to rank 1 around a measurement, in nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct LineTimes {
    /// In time order: the first before the measurement, the last after it.
    pub readings_ns: Vec<f64>,
}

impl LineTimes {
    /// Factor between two times of a line above which cores have moved. Readings in one place differ
    /// by 15 % to each side, which makes a factor of 1.35 at most. Places that guests were seen to
    /// change between take 10 ns to 30 ns and 104 ns to 123 ns on one host, presumably threads of one
    /// core and two cores, and 140 ns to 210 ns and 500 ns to 570 ns on another.
    pub const MAX_RATIO: f64 = 1.5;

    /// True if cores have moved meanwhile.
    pub fn differ(&self) -> bool {
        are_apart(&self.readings_ns)
    }

    /// One sentence about cores that have moved around `what`.
    pub fn describe(&self, what: &str) -> String {
        if let [before_ns, .., after_ns] = self.readings_ns[..]
            && are_apart(&[before_ns, after_ns])
        {
            return format!(
                "cores moved: a cache line took {before_ns:.0} ns before {what} and {after_ns:.0} \
                 ns after"
            );
        }
        let [least_ns, most_ns] = range(&self.readings_ns);
        format!("cores moved: a cache line took {least_ns:.0} ns to {most_ns:.0} ns during {what}")
    }
}

/// Windows, each of which gives a time; together they last 0.2 ms where a line takes 100 ns.
const N_WINDOWS: usize = 20;
/// Round trips in a window.
const N_ROUND_TRIPS: u32 = 50;
/// Looks at a line before the wait becomes an ordinary one.
const N_LOOKS: u32 = 1000;

/// The lines that ranks 0 and 1 pass to and fro, as one of the two has them.
///
/// ```text
///   rank 0   writes 1 ┐                  ┌ sees 1, writes 2 ┐                  ┌ sees 2, writes 3
///   rank 1            └ sees 1, writes 1 ┘                  └ sees 2, writes 2 ┘
/// ```
///
/// Each writes into a line of its own. One line travels each way in a round trip, and nothing else
/// does: the least that a message can cost.
pub trait Lines {
    /// The number in this rank's line, which it alone writes.
    fn own(&self) -> u64;

    /// Writes `number` into this rank's line.
    fn publish(&self, number: u64);

    /// True if `number` is in the peer's line.
    fn has_come(&self, number: u64) -> bool;

    /// Waits for that as for any message: the peer lost its core, or is late.
    ///
    /// # Errors
    /// If the job has failed.
    fn await_slowly(&self, number: u64) -> Result<()>;
}

/// Half of a round trip of `lines` between ranks 0 and 1, which both call it, in nanoseconds: the
/// lower quartile of many short windows, since an interrupt lengthens a few of them. `clock` reads
/// the transport's.
///
/// # Errors
/// If the job has failed.
///
/// # Panics
/// If called on another rank.
pub fn line_time_ns(rank: Rank, lines: &impl Lines, clock: impl Fn() -> u64) -> Result<f64> {
    assert!(rank < 2, "rank {rank} has no part in it");
    // Counted here from now on, since to read the line would fetch it back from the peer.
    let mut number = lines.own();
    let mut times_ns = [0.0; N_WINDOWS];
    for time_ns in &mut times_ns {
        let start_ns = clock();
        for _ in 0..N_ROUND_TRIPS {
            number += 1;
            if rank == 0 {
                lines.publish(number);
                await_peer(lines, number)?;
            } else {
                await_peer(lines, number)?;
                lines.publish(number);
            }
        }
        *time_ns = (clock() - start_ns) as f64 / f64::from(2 * N_ROUND_TRIPS);
    }
    Ok(quantile(&sorted(&times_ns), 0.25))
}

#[inline]
fn await_peer(lines: &impl Lines, number: u64) -> Result<()> {
    for _ in 0..N_LOOKS {
        if lines.has_come(number) {
            return Ok(());
        }
        std::hint::spin_loop();
    }
    lines.await_slowly(number)
}

/// True if times of a line are of different places.
fn are_apart(readings_ns: &[f64]) -> bool {
    let [least_ns, most_ns] = range(readings_ns);
    most_ns > LineTimes::MAX_RATIO * least_ns
}

/// The least and the greatest of `values`.
fn range(values: &[f64]) -> [f64; 2] {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    [least, values.iter().copied().fold(0.0, f64::max)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(readings_ns: &[f64], expected: Option<&str>) {
        let times = LineTimes { readings_ns: readings_ns.to_vec() };
        let found = times.differ().then(|| times.describe("comet/echo"));
        assert_eq!(found.as_deref(), expected, "{readings_ns:?}");
    }

    #[test]
    fn readings_of_one_place_may_differ_by_15_percent_to_each_side() {
        check(&[], None);
        check(&[112.0], None);
        check(&[112.0, 112.0], None);
        check(&[95.2, 112.0, 128.8, 104.0], None);
        check(&[20.4, 27.6], None);
    }

    #[test]
    fn cores_that_moved_are_described_by_the_ends_or_else_by_the_range() {
        let before_and_after =
            "cores moved: a cache line took 112 ns before comet/echo and 24 ns after";
        check(&[112.0, 24.0], Some(before_and_after));
        check(&[112.0, 110.0, 25.0, 24.0], Some(before_and_after));
        let during = "cores moved: a cache line took 24 ns to 113 ns during comet/echo";
        check(&[112.0, 24.0, 113.0], Some(during));
    }
}
