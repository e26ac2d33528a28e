//! DAXPY, `y = a x + y` over doubles: the computation beside which messages travel (thesis
//! section 3.3.7).

use std::hint::black_box;

use comet_core::transport::{Transport, Work};

/// The factor `a`: small, so that `y` grows slowly, and a power of two, so that it grows exactly.
const A: f64 = 1.0 / 1024.0;

/// The two vectors of a DAXPY.
#[derive(Debug)]
pub(crate) struct Daxpy {
    x: Vec<f64>,
    y: Vec<f64>,
}

impl Daxpy {
    /// Vectors of `n` doubles.
    ///
    /// All elements start at 1, and those of `y` grow by [`A`] at each run until they are so large
    /// that rounding takes it away, so that no number of runs makes them overflow.
    pub(crate) fn new(n: usize) -> Self {
        Self { x: vec![1.0; n], y: vec![1.0; n] }
    }

    /// Computes `y = a x + y` once, as work that `t` knows of.
    #[inline]
    pub(crate) fn run<T: Transport>(&mut self, t: &T) {
        self.run_often(t, 1);
    }

    /// Computes `y = a x + y` so many times, as one piece of work that `t` knows of.
    #[inline]
    pub(crate) fn run_often<T: Transport>(&mut self, t: &T, n_runs: usize) {
        let work = Work::Daxpy { n: n_runs * self.x.len() };
        t.compute(work, || {
            for _ in 0..n_runs {
                // The black boxes hide the factor and make the sum needed, so that no run is left
                // out.
                daxpy(black_box(A), &self.x, &mut self.y);
                black_box(&mut self.y);
            }
        });
    }

    /// What every element of `y` is after so many runs, while that is exact.
    #[expect(clippy::cast_precision_loss, reason = "a number of runs is far below 2^53")]
    pub(crate) fn value_after(n_runs: usize) -> f64 {
        1.0 + A * n_runs as f64
    }

    /// The vector `y`.
    pub(crate) fn into_sum(self) -> Vec<f64> {
        self.y
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
            let mut daxpy = Daxpy::new(3);
            for _ in 0..24 {
                daxpy.run(t);
            }
            daxpy.run_often(t, 1000);
            assert_eq!(Daxpy::value_after(1024), 2.0);
            assert_eq!(daxpy.into_sum(), [2.0; 3]);
        });
    }

    #[test]
    fn elements_that_have_grown_large_stay_finite() {
        let mut y = [2f64.powi(53)];
        daxpy(A, &[1.0], &mut y);
        assert_eq!(y, [2f64.powi(53)]);
    }
}
