//! Laps: the parts of a timed interval that a kernel tells apart, one after the other.
//!
//! ```text
//!   clock ── start ── lap 0 ── work ── lap 1 ── wait ── lap 2 ── clock
//!            |<----- 0 ----->|<-- 1 -->|<--- 2 ---->|
//!   |<--------------------- the interval ----------------------->|
//! ```
//!
//! Each lap ends by a clock read inside of the interval, which its series counts as well. Where laps are apart,
//! as those of OSU, the next one begins by a read of its own, which lies in the interval and in no lap.

use crate::kernel::MAX_SERIES;
use crate::transport::Transport;

/// Times of the laps of one interval, in nanoseconds; a lap that ends several times has their sum.
#[derive(Debug, Default)]
pub struct Laps {
    /// The end of the last lap, or the start of the interval.
    last_ns: u64,
    of_each_ns: [u64; MAX_SERIES],
    are_apart: bool,
}

impl Laps {
    /// Laps of which each begins when the one before ends, or, if they `are_apart`, by a clock read of its own.
    #[inline]
    pub(super) fn new(are_apart: bool) -> Self {
        Self { are_apart, ..Self::default() }
    }

    /// Starts the first lap at `start_ns`, by one store: all else was made before the interval.
    #[inline]
    pub(super) fn start(&mut self, start_ns: u64) {
        self.last_ns = start_ns;
    }

    /// Ends lap number `index`, and begins the next one.
    #[inline]
    pub fn end<T: Transport>(&mut self, t: &T, index: usize) {
        let now_ns = t.now_ns();
        self.of_each_ns[index] += now_ns.saturating_sub(self.last_ns);
        self.last_ns = if self.are_apart { t.now_ns() } else { now_ns };
    }

    /// Time of lap number `index`.
    pub(super) fn ns(&self, index: usize) -> u64 {
        self.of_each_ns[index]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::{Context, Method, Repeated};
    use crate::definition::{Definition, Quantity};
    use crate::driver::Pace;
    use crate::error::Result;
    use crate::kernel::{KernelInfo, Series};
    use crate::local::{self, Local};

    static INFO: KernelInfo = KernelInfo {
        series: &[
            Series::of("alone", Quantity::OpTime, Definition::CallMean),
            Series::of("parted", Quantity::OpTime, Definition::CallMean),
            Series::lap("first"),
            Series::lap("second"),
        ],
        ..KernelInfo::collective("test")
    };

    /// A repetition of two laps, the first of which ends twice.
    struct Parted;

    impl Repeated<Local> for Parted {
        fn run(&mut self, _: &Local) -> Result<()> {
            Ok(())
        }

        fn run_in_laps(&mut self, t: &Local, laps: &mut Laps) -> Result<()> {
            [0, 1, 0].into_iter().for_each(|lap| laps.end(t, lap));
            Ok(())
        }

        fn conclude(&mut self, _: &Local) -> Result<()> {
            Ok(())
        }
    }

    #[test]
    fn laps_are_parts_of_the_intervals_of_their_series() {
        assert_eq!(INFO.timed_series().collect::<Vec<_>>(), [0, 1]);
        assert_eq!([0, 1].map(|series| INFO.laps_of(series)), [1..1, 2..4]);
        assert_eq!([0, 1, 2, 3].map(|series| INFO.timed_with(series)), [0, 1, 1, 1]);
        // Loops alone, a barrier behind each operation, and a loop of barriers beside it.
        for (wanted, repetitions) in [
            (None, 1),
            (Some(Definition::ClosedByBarrier), 3),
            (Some(Definition::BarrierSubtracted), 3),
        ] {
            let pace = Pace { n_discarded: 1, ..Pace::new(repetitions, 4, 2) };
            local::run(1, |t| {
                let method = Method { definition: wanted, ..Method::default() };
                let mut cx = Context::new(t, &INFO, pace, method, None);
                cx.time_repeated_together(1, &mut Parted).expect("no rank fails");
                let own = wanted.unwrap_or(Definition::CallMean);
                assert_eq!(cx.definition(1), own);
                assert_eq!(cx.definition(2), Definition::CallMean);
                let of_each = cx.into_samples();
                assert_eq!(of_each.iter().map(Vec::len).collect::<Vec<_>>(), [0, 4, 4, 4]);
                for ((whole, first), second) in of_each[1].iter().zip(&of_each[2]).zip(&of_each[3])
                {
                    assert_eq!([first.start_ns, second.start_ns], [whole.start_ns; 2]);
                    assert!(first.elapsed_ns() + second.elapsed_ns() <= whole.elapsed_ns());
                }
            });
        }
    }
}
