//! Busy work of a wanted length, beside which transfers go on: a counted loop without memory, whose rounds
//! depend on each other.
//!
//! ```text
//!   x  <-  A x + C  (mod 2^64), n times       n = wanted time / time of a round, found once per run
//! ```
//!
//! The number of rounds is found before, so no clock is read in the loop, and what it takes is measured
//! like any operation. After n rounds x has one value, which is computed in another way for the check.

use crate::kernel::Checker;
use crate::transport::{Transport, Work};

/// The factor and the summand of Knuth's MMIX generator.
const FACTOR: u64 = 6_364_136_223_846_793_005;
const SUMMAND: u64 = 1_442_695_040_888_963_407;
/// The first value.
const START: u64 = 1;

/// A piece of busy work, and the value that it has come to.
#[derive(Clone, Debug)]
pub struct Busy {
    ns: u64,
    n_rounds: u64,
    value: u64,
}

impl Busy {
    /// A piece of about `ns` nanoseconds, where so many rounds take a millisecond.
    pub(crate) fn new(ns: u64, rounds_per_ms: u64) -> Self {
        let n_rounds = u128::from(ns) * u128::from(rounds_per_ms) / 1_000_000;
        Self { ns, n_rounds: u64::try_from(n_rounds).unwrap_or(u64::MAX), value: START }
    }

    /// Begins again with the first value.
    pub fn reset(&mut self) {
        self.value = START;
    }

    /// Does the piece, as work that `t` knows of.
    #[inline]
    pub fn run<T: Transport>(&mut self, t: &T) {
        let Self { ns, n_rounds, value } = self;
        t.compute(Work::Busy { ns: *ns }, || *value = rounds(*value, *n_rounds));
    }

    /// Checks that so many pieces were done.
    pub fn check_after(&self, n_pieces: u64, check: &mut Checker) {
        let expected = after(n_pieces.wrapping_mul(self.n_rounds));
        check.bytes(&mut self.value.to_le_bytes(), &expected.to_le_bytes(), "the busy work");
    }
}

/// So many rounds from `value` on; one piece of code for all callers, since it is calibrated.
#[inline(never)]
pub(crate) fn rounds(mut value: u64, n: u64) -> u64 {
    for _ in 0..n {
        value = value.wrapping_mul(FACTOR).wrapping_add(SUMMAND);
    }
    value
}

/// The value after `n` rounds from the first, by repeated squaring of the map.
fn after(mut n: u64) -> u64 {
    let (mut factor, mut summand) = (FACTOR, SUMMAND);
    let mut value = START;
    while n > 0 {
        if n & 1 == 1 {
            value = value.wrapping_mul(factor).wrapping_add(summand);
        }
        summand = summand.wrapping_mul(factor.wrapping_add(1));
        factor = factor.wrapping_mul(factor);
        n >>= 1;
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Checker;
    use crate::local;
    use crate::topology::Topology;

    #[test]
    fn rounds_are_counted_one_by_one() {
        for n in [0, 1, 2, 3, 10, 1000, 4097] {
            assert_eq!(rounds(START, n), after(n), "{n} rounds");
        }
        assert_eq!(Busy::new(1000, 250_000).n_rounds, 250);
        // Simulated work has no rounds.
        assert_eq!(Busy::new(1_000_000, 0).n_rounds, 0);
    }

    #[test]
    fn a_piece_that_was_left_out_is_noticed() {
        local::run_with(Topology::hypercube(1), false, |t| {
            let mut busy = Busy::new(1000, 1_000_000);
            busy.run(t);
            busy.run(t);
            let outcome = |n_pieces| {
                let mut check = Checker::new(n_pieces, None);
                busy.check_after(n_pieces, &mut check);
                check.result()
            };
            assert!(outcome(2).is_ok());
            assert!(outcome(3).is_err());
            busy.reset();
            assert_eq!(busy.value, START);
        });
    }
}
