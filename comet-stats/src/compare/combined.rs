//! One number for many points of the same launches, such as all sizes of a kernel.

use oorandom::Rand64;

use super::{Launches, Verdict};
use crate::{drawn, median, student_quantile, variance};

/// Number of times that launches are resampled.
const N_RESAMPLES: usize = 1000;
/// The generator starts here, so that the same launches have the same interval.
const SEED: u128 = 0x5EED;

/// The median over points of the logarithm of their ratio, with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Combined {
    /// The median.
    pub log_ratio: f64,
    /// Lower and upper end of its interval; `None` below two launches a side.
    pub interval: Option<(f64, f64)>,
}

impl Combined {
    /// The number for `points`; `None` if none of them has launches on both sides.
    ///
    /// Launches are drawn, and not points, because what a launch brings with it is in all of them.
    /// So few draws vary less than launches do: their deviation is widened by the root of
    /// n / (n - 1), and the interval is that of Student's t.
    pub fn of(points: &[&Launches]) -> Option<Self> {
        let design = Design::of(points);
        let log_ratio = design.median_ratio(points, &design.all())?;
        let mut random = Rand64::new(SEED);
        let draws = (0..N_RESAMPLES)
            .filter_map(|_| design.median_ratio(points, &design.drawn(&mut random)));
        let interval = design.half_width(&draws.collect::<Vec<_>>());
        Some(Self {
            log_ratio,
            interval: interval.map(|half| (log_ratio - half, log_ratio + half)),
        })
    }

    /// Verdict, if a change of `margin`, a share, is of no interest, and larger values are worse.
    pub fn verdict(&self, margin: f64) -> Verdict {
        self.interval.map_or(Verdict::Inconclusive, |(low, high)| Verdict::of(low, high, margin))
    }
}

/// Numbers of launches, of the base and of the new side.
type Drawn = [Vec<usize>; 2];

/// Numbers of launches to draw from.
struct Design {
    n_base: usize,
    n_new: usize,
    is_paired: bool,
}

impl Design {
    fn of(points: &[&Launches]) -> Self {
        let most = |side: fn(&Launches) -> usize| points.iter().map(|of| side(of)).max();
        Self {
            n_base: most(|of| of.base.len()).unwrap_or(0),
            n_new: most(|of| of.new.len()).unwrap_or(0),
            is_paired: points.iter().all(|of| of.is_paired && of.base.len() == of.new.len()),
        }
    }

    /// Every launch once.
    fn all(&self) -> Drawn {
        [(0..self.n_base).collect(), (0..self.n_new).collect()]
    }

    /// As many launches of each side as there are, with replacement; pairs stay together.
    fn drawn(&self, random: &mut Rand64) -> Drawn {
        let mut of = |n: usize| (0..n).map(|_| drawn(n, random)).collect::<Vec<_>>();
        let base = of(self.n_base);
        let new = if self.is_paired { base.clone() } else { of(self.n_new) };
        [base, new]
    }

    /// Half the width of the interval, from what `draws` of launches gave.
    fn half_width(&self, draws: &[f64]) -> Option<f64> {
        let n_least = self.n_base.min(self.n_new);
        if n_least < 2 || draws.len() < 2 {
            return None;
        }
        let dof = if self.is_paired { n_least - 1 } else { self.n_base + self.n_new - 2 };
        let widening = n_least as f64 / (n_least - 1) as f64;
        Some(student_quantile(0.975, dof as f64) * (widening * variance(draws)).sqrt())
    }

    /// The median over the points that the drawn launches have on both sides; some may lack a point.
    fn median_ratio(&self, points: &[&Launches], [base, new]: &Drawn) -> Option<f64> {
        let values = |of: &[f64], drawn: &[usize]| {
            drawn.iter().filter_map(|index| of.get(*index).copied()).collect()
        };
        let ratio = |of: &&Launches| {
            let is_paired = self.is_paired;
            let drawn =
                Launches { base: values(&of.base, base), new: values(&of.new, new), is_paired };
            drawn.log_ratio_if(of.cuts())
        };
        median(&points.iter().filter_map(ratio).collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launches(base: &[f64], new: &[f64]) -> Launches {
        Launches { base: base.to_vec(), new: new.to_vec(), is_paired: false }
    }

    #[test]
    fn the_number_is_the_median_over_the_points() {
        let points = [
            launches(&[1.0, 1.0], &[1.1, 1.1]),
            launches(&[2.0, 2.0], &[2.2, 2.2]),
            launches(&[3.0, 3.0], &[9.0, 9.0]),
        ];
        let found = Combined::of(&points.each_ref()).unwrap();
        assert!((found.log_ratio - 0.2).abs() < 1e-12, "{found:?}");
        let (low, high) = found.interval.unwrap();
        assert!((low - 0.2).abs() < 1e-9 && (high - 0.2).abs() < 1e-9, "nothing varies: {found:?}");
        assert_eq!(found.verdict(0.05), Verdict::Slower);
    }

    #[test]
    fn what_a_launch_brings_to_all_points_is_in_the_interval() {
        let shift = [-0.1, 0.0, 0.1, 0.05, -0.05];
        let side: Vec<f64> = shift.to_vec();
        let one = launches(&side, &side);
        let alone = Combined::of(&[&one]).unwrap().interval.unwrap();
        let many = Combined::of(&[&one; 20]).unwrap().interval.unwrap();
        assert_eq!(alone, many, "twenty sizes of the same launches tell no more than one");
        // The interval of Welch's t has nearly the same width.
        let welch = one.difference().unwrap();
        assert!((alone.1 / welch.high - 1.0).abs() < 0.1, "{alone:?} {welch:?}");
    }

    #[test]
    fn pairs_stay_together() {
        let drift = [0.0, 0.5, 1.0, 1.5];
        let later = drift.map(|value| value + 0.2);
        let paired = Launches { is_paired: true, ..launches(&drift, &later) };
        let (low, high) = Combined::of(&[&paired]).unwrap().interval.unwrap();
        assert!((low - 0.2).abs() < 1e-9 && (high - 0.2).abs() < 1e-9, "{low} {high}");
    }

    #[test]
    fn single_launches_have_no_interval() {
        let found = Combined::of(&[&launches(&[1.0], &[2.0])]).unwrap();
        assert_eq!(found, Combined { log_ratio: 1.0, interval: None });
        assert_eq!(found.verdict(0.05), Verdict::Inconclusive);
        assert_eq!(Combined::of(&[]), None);
        assert_eq!(Combined::of(&[&launches(&[1.0], &[])]), None);
    }
}
