//! DAXPY, `y = a x + y` over doubles: the computation beside which messages travel (thesis
//! section 3.3.7).

use std::hint::black_box;

use comet_core::kernel::prelude::*;
use comet_core::transport::Work;

/// The factor `a`: small, so that `y` grows slowly, and a power of two, so that it grows exactly.
const A: f64 = 1.0 / 1024.0;

/// A DAXPY of two vectors, as an operation without messages.
pub(crate) struct Daxpy {
    x: Vec<f64>,
    y: Vec<f64>,
    n_runs: usize,
}

impl Daxpy {
    /// Vectors of `n` doubles.
    ///
    /// All elements start at 1, and those of `y` grow by [`A`] at each run until they are so large
    /// that rounding takes it away, so that no number of runs makes them overflow.
    pub(crate) fn new(n: usize) -> Self {
        Self::in_one_piece(n, 1)
    }

    /// Vectors of `n` doubles, and `n_runs` sums of them as one piece of work.
    pub(crate) fn in_one_piece(n: usize, n_runs: usize) -> Self {
        Self { x: vec![1.0; n], y: vec![1.0; n], n_runs }
    }

    /// Computes `y = a x + y` as work that `t` knows of.
    #[inline]
    pub(crate) fn compute<T: Transport>(&mut self, t: &T) {
        let work = Work::Daxpy { n: self.n_runs * self.x.len() };
        t.compute(work, || self.sum());
    }

    /// The sums, compiled once for all transports.
    fn sum(&mut self) {
        for _ in 0..self.n_runs {
            // The black boxes hide the factor and make the sum needed, so that no run is left out.
            daxpy(black_box(A), &self.x, &mut self.y);
            black_box(&mut self.y);
        }
    }

    /// Gives all elements their values at the start.
    pub(crate) fn reset(&mut self) {
        self.y.fill(1.0);
    }

    /// Checks `y` after so many pieces of work.
    pub(crate) fn check_after(&mut self, n_pieces: u64, check: &mut Checker) {
        let expected = 1.0 + A * (n_pieces * self.n_runs as u64) as f64;
        check.values(&mut self.y, |_| expected, |_| true, "the piece of work");
    }
}

impl<T: Transport> Operation<T> for Daxpy {
    fn fill(&mut self, _seeds: Seeds) {
        self.reset();
    }

    #[inline]
    fn run(&mut self, t: &T) -> Result<()> {
        self.compute(t);
        Ok(())
    }

    fn check(&mut self, check: &mut Checker) {
        self.check_after(check.n_runs(), check);
    }
}

#[inline]
fn daxpy(a: f64, x: &[f64], y: &mut [f64]) {
    for (x, y) in x.iter().zip(y) {
        *y += a * x;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn daxpy_agrees_with_a_hand_computation() {
        let mut y = [1.0, 2.0, 3.0];
        daxpy(0.5, &[4.0, 6.0, 8.0], &mut y);
        assert_eq!(y, [3.0, 5.0, 7.0]);
    }

    #[test]
    fn each_run_adds_the_factor_once() {
        comet_core::local::run_alone(|t| {
            let mut daxpy = Daxpy::in_one_piece(3, 512);
            daxpy.compute(t);
            daxpy.compute(t);
            assert_eq!(daxpy.y, [2.0; 3]);
        });
    }

    #[test]
    fn elements_that_have_grown_large_stay_finite() {
        let mut y = [2f64.powi(53)];
        daxpy(A, &[1.0], &mut y);
        assert_eq!(y, [2f64.powi(53)]);
    }
}
