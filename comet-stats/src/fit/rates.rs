//! Points of a curve of rates: its peak, and half and nine tenths of it.
//!
//! These marks need no law, so they stand beside the fitted n½ (thesis section 5.1, which gives
//! both, and they differ).

/// The best rate of a sweep, and the sizes at which parts of it are reached.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Marks {
    /// The best rate, in units of size over units of time.
    pub peak: f64,
    /// The size at which it was measured.
    pub peak_at: f64,
    /// The size at 50 % of it; `None` if the smallest size is faster already.
    pub half_at: Option<f64>,
    /// The size at 90 % of it, likewise.
    pub ninety_at: Option<f64>,
}

impl Marks {
    /// Marks of `points` (size, time) with ascending sizes; `None` if none of them has a rate.
    pub fn of(points: &[(f64, f64)]) -> Option<Self> {
        let rates = rates(points);
        let (peak_at, peak) = rates.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1))?;
        let (half_at, ninety_at) = (crossing(&rates, 0.5 * peak), crossing(&rates, 0.9 * peak));
        Some(Self { peak, peak_at, half_at, ninety_at })
    }
}

/// The smallest size at which `points`, with ascending sizes, reach `rate`: between two sizes the
/// rate is taken to be linear in the logarithm of the size. `None` if they never do, or if the
/// smallest is faster already.
pub fn size_at_rate(points: &[(f64, f64)], rate: f64) -> Option<f64> {
    crossing(&rates(points), rate)
}

fn crossing(rates: &[(f64, f64)], rate: f64) -> Option<f64> {
    let crosses = |pair: &&[(f64, f64)]| pair[0].1 < rate && pair[1].1 >= rate;
    let pair = rates.windows(2).find(crosses)?;
    let ((n0, r0), (n1, r1)) = (pair[0], pair[1]);
    Some(n0 * (n1 / n0).powf((rate - r0) / (r1 - r0)))
}

/// Sizes and rates; a size of 0 has none.
fn rates(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let has_rate = |(n, t): &&(f64, f64)| *n > 0.0 && *t > 0.0;
    points.iter().filter(has_rate).map(|(n, t)| (*n, n / t)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_peak_is_near_n_half_of_the_law() {
        // 156 us + 0.41 us a byte, whose n½ is 380 bytes.
        let sizes = (0..2000).map(|i| 100.0 * 1.01f64.powi(i));
        let points: Vec<_> = sizes.map(|n| (n, 156.0 + 0.41 * n)).collect();
        let marks = Marks::of(&points).unwrap();
        assert!((marks.peak * 0.41 - 1.0).abs() < 1e-6, "{marks:?}");
        assert!((marks.half_at.unwrap() / (156.0 / 0.41) - 1.0).abs() < 1e-3, "{marks:?}");
        assert!((marks.ninety_at.unwrap() / (9.0 * 156.0 / 0.41) - 1.0).abs() < 1e-3, "{marks:?}");
    }

    #[test]
    fn between_two_sizes_the_logarithm_counts() {
        let check = |points: &[(f64, f64)], rate, expected: Option<f64>| {
            assert_eq!(size_at_rate(points, rate), expected, "{points:?}");
        };
        check(&[(1.0, 1.0), (4.0, 4.0 / 3.0)], 2.0, Some(2.0));
        check(&[(0.0, 1.0), (4.0, 1.0), (16.0, 2.0)], 6.0, Some(8.0));
        check(&[(1.0, 1.0), (4.0, 1.0)], 0.5, None);
        check(&[(1.0, 1.0), (4.0, 1.0)], 5.0, None);
        check(&[], 1.0, None);
    }

    #[test]
    fn empty_messages_have_no_peak() {
        assert_eq!(Marks::of(&[(0.0, 1.0)]), None);
        let one = Marks::of(&[(8.0, 2.0)]).unwrap();
        assert_eq!((one.peak, one.peak_at, one.half_at, one.ninety_at), (4.0, 8.0, None, None));
    }
}
