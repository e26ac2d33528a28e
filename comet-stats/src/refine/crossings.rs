//! Crossings: sizes between those at which different curves are the lowest.

use std::collections::BTreeSet;

use super::Reading;

/// The search for the sizes at which another one of several curves becomes the lowest. It is done
/// when the two sizes about each change differ by a factor of 2 at most.
///
/// ```
/// use comet_stats::refine::{Crossings, Reading};
/// let reading = |size: u64, time_ns: f64| {
///     Reading { size, time_ns, half_width_ns: Some(0.0), n_slices: 10 }
/// };
/// // A latency of 1 us, and a bandwidth that is ten times as large: the same at 11.1 bytes.
/// let curves = |sizes: &[u64]| {
///     let slow = sizes.iter().map(|n| reading(*n, 100.0 * *n as f64)).collect();
///     let wide = sizes.iter().map(|n| reading(*n, 1000.0 + 10.0 * *n as f64)).collect();
///     vec![slow, wide]
/// };
/// let (mut crossings, mut sizes) = (Crossings::default(), vec![1, 64]);
/// while let Some(size) = crossings.next(&curves(&sizes)) {
///     sizes.push(size);
/// }
/// assert_eq!(sizes, [1, 64, 8, 32, 16]);
/// ```
#[derive(Debug, Default)]
pub struct Crossings {
    asked: BTreeSet<u64>,
}

impl Crossings {
    /// The next size to measure on all curves, given the readings of each; `None` if none is left. A
    /// size is asked for once.
    pub fn next(&mut self, curves: &[Vec<Reading>]) -> Option<u64> {
        let lowest = lowest(curves);
        let changes = lowest.windows(2).filter(|pair| pair[0].1 != pair[1].1);
        let between = changes.filter_map(|pair| middle(pair[0].0, pair[1].0));
        let size = between.into_iter().find(|size| !self.asked.contains(size))?;
        self.asked.insert(size);
        Some(size)
    }
}

/// A size between two that differ by more than a factor of 2, a power of two above the lower one, so
/// that it holds as many whole elements; the upper factor is at most the lower one.
fn middle(below: u64, above: u64) -> Option<u64> {
    let factor = above.checked_div(below).filter(|_| above > below.saturating_mul(2))?;
    Some(below << factor.ilog2().div_ceil(2))
}

/// The index of the lowest curve at each size, ascending. One that may be as low as the lowest, and
/// was the lowest before, stays it.
fn lowest(curves: &[Vec<Reading>]) -> Vec<(u64, usize)> {
    let sizes: BTreeSet<u64> = curves.iter().flatten().map(|reading| reading.size).collect();
    let mut found: Vec<(u64, usize)> = Vec::new();
    for size in sizes {
        let at = |curve: &Vec<Reading>| curve.iter().find(|reading| reading.size == size).copied();
        let here = curves.iter().enumerate().filter_map(|(index, curve)| Some((index, at(curve)?)));
        let here: Vec<(usize, Reading)> = here.collect();
        let least = here.iter().min_by(|a, b| a.1.time_ns.total_cmp(&b.1.time_ns));
        let Some((index, least)) = least else { continue };
        let stays = found.last().is_some_and(|(_, last)| {
            here.iter().any(|(index, reading)| index == last && may_equal(reading, least))
        });
        found.push((size, if stays { found[found.len() - 1].1 } else { *index }));
    }
    found
}

/// True unless the intervals of two readings lie apart.
fn may_equal(a: &Reading, b: &Reading) -> bool {
    let width_ns = a.half_width_ns.unwrap_or(0.0) + b.half_width_ns.unwrap_or(0.0);
    (a.time_ns - b.time_ns).abs() <= width_ns
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sizes that are asked for after `sizes`, of curves with these times.
    fn asked(sizes: &[u64], curves: &[fn(f64) -> f64], half_width_ns: f64) -> Vec<u64> {
        let (mut crossings, mut all) = (Crossings::default(), sizes.to_vec());
        let reading = |size: u64, curve: fn(f64) -> f64| Reading {
            size,
            time_ns: curve(size as f64),
            half_width_ns: Some(half_width_ns),
            n_slices: 5,
        };
        loop {
            let of = |curve: &fn(f64) -> f64| all.iter().map(|n| reading(*n, *curve)).collect();
            let curves: Vec<Vec<Reading>> = curves.iter().map(of).collect();
            match crossings.next(&curves) {
                Some(size) => all.push(size),
                None => return all.split_off(sizes.len()),
            }
        }
    }

    #[test]
    fn a_change_is_bracketed_by_a_factor_of_two() {
        let latency = |n: f64| 100.0 + 10.0 * n;
        let bandwidth = |n: f64| 4000.0 + n;
        // They cross at 433.3.
        assert_eq!(asked(&[8, 64, 4096], &[latency, bandwidth], 0.0), [512, 256]);
        assert_eq!(asked(&[256, 512], &[latency, bandwidth], 0.0), [0; 0]);
        assert_eq!(asked(&[200, 500], &[latency, bandwidth], 0.0), [400]);
    }

    #[test]
    fn nothing_is_asked_for_without_a_change_that_is_certain() {
        let low = |n: f64| 100.0 + n;
        let high = |n: f64| 101.0 + n;
        assert_eq!(asked(&[8, 4096], &[low, high], 0.0), [0; 0]);
        let nearly = |n: f64| 101.0 + 0.999 * n;
        assert_eq!(asked(&[8, 4096], &[low, nearly], 10.0), [0; 0]);
        assert_eq!(asked(&[0, 4096], &[|n| n, |_| 1.0], 0.0), [0; 0], "no factor above 0");
    }

    #[test]
    fn a_size_that_cannot_be_measured_is_asked_for_once() {
        let reading = |size, time_ns| Reading { size, time_ns, half_width_ns: None, n_slices: 1 };
        let curves =
            [vec![reading(8, 1.0), reading(64, 9.0)], vec![reading(8, 2.0), reading(64, 3.0)]];
        let mut crossings = Crossings::default();
        assert_eq!([(); 2].map(|()| crossings.next(&curves)), [Some(32), None]);
    }
}
