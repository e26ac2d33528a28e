//! The curves of a figure, as CSV that any program can plot.

use std::fmt::Write as _;
use std::ops::RangeBounds;

use super::bench::Points;

/// The points of `curve` whose x is in `range`.
pub(super) fn part(curve: &[(f64, f64)], range: impl RangeBounds<f64>) -> Points {
    curve.iter().filter(|(x, _)| range.contains(x)).copied().collect()
}

/// The curves of one figure, over the same values of x.
#[derive(Clone, Debug, PartialEq)]
pub struct Curves {
    /// Number of the figure (`5.1`).
    figure: &'static str,
    /// Names with units: x first, then each curve.
    head: Vec<String>,
    /// Values: x first, then each curve.
    rows: Vec<Vec<f64>>,
}

impl Curves {
    /// Curves over `x`, each a name with points.
    ///
    /// # Panics
    /// If the curves have not the same values of x.
    pub(super) fn new(figure: &'static str, x: &str, curves: &[(&str, &Points)]) -> Self {
        let head = std::iter::once(x).chain(curves.iter().map(|(name, _)| *name));
        let xs = |points: &Points| points.iter().map(|(x, _)| *x).collect::<Vec<_>>();
        let (_, first) = curves[0];
        assert!(
            curves.iter().all(|(_, points)| xs(points) == xs(first)),
            "figure {figure} needs one x for all its curves"
        );
        let ys = |row: usize| curves.iter().map(move |(_, points)| points[row].1);
        let row =
            |(row, (x, _)): (usize, &(f64, f64))| std::iter::once(*x).chain(ys(row)).collect();
        Self {
            figure,
            head: head.map(str::to_owned).collect(),
            rows: first.iter().enumerate().map(row).collect(),
        }
    }

    /// Number of the figure (`5.1`).
    pub fn figure(&self) -> &'static str {
        self.figure
    }

    /// The curves as CSV, with a line of names.
    pub fn csv(&self) -> String {
        let mut text = self.head.join(",") + "\n";
        for row in &self.rows {
            let values: Vec<String> = row.iter().map(|value| rounded(*value).to_string()).collect();
            writeln!(text, "{}", values.join(",")).expect("a string takes any text");
        }
        text
    }
}

/// `value` without what rounding left behind: the simulated clocks know picoseconds.
fn rounded(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_stand_beside_each_other_over_one_x() {
        let near = vec![(0.0, 79.0), (8.0, 84.04)];
        let far = vec![(0.0, 104.0), (8.0, 0.1 + 0.2)];
        let curves = Curves::new("5.1", "length_bytes", &[("near_us", &near), ("far_us", &far)]);
        assert_eq!(curves.csv(), "length_bytes,near_us,far_us\n0,79,104\n8,84.04,0.3\n");
    }

    #[test]
    #[should_panic(expected = "figure 5.1 needs one x for all its curves")]
    fn curves_over_different_x_are_refused() {
        let [a, b] = [vec![(0.0, 1.0)], vec![(1.0, 1.0)]];
        drop(Curves::new("5.1", "x", &[("a", &a), ("b", &b)]));
    }
}
