//! The offset of a clock from global time at any moment: a line forward, interpolation afterwards.

use super::burst::{Burst, distance, whole};

/// Bursts from which offset and drift are estimated first.
pub(super) const N_FIRST: usize = 10;

/// Model of a clock.
#[derive(Clone, Debug)]
pub(super) struct Model {
    /// In time order, at least [`N_FIRST`].
    bursts: Vec<Burst>,
    /// Through the first bursts.
    first: Line,
    /// Through the latest bursts.
    latest: Line,
}

impl Model {
    /// The model after the first bursts.
    pub(super) fn of(bursts: Vec<Burst>) -> Self {
        let first = Line::through(&bursts);
        Self { bursts, first, latest: first }
    }

    /// Learns of another burst.
    pub(super) fn push(&mut self, burst: Burst) {
        self.bursts.push(burst);
        // As many bursts and as long a time as at first: fewer make a poor drift, and with more
        // the drift is no longer that of now.
        let span_ns = self.bursts[N_FIRST - 1].local_ns - self.bursts[0].local_ns;
        let since_ns = burst.local_ns - span_ns;
        let n_before = self.bursts.partition_point(|burst| burst.local_ns < since_ns);
        let start = n_before.min(self.bursts.len() - N_FIRST);
        self.latest = Line::through(&self.bursts[start..]);
    }

    pub(super) fn bursts(&self) -> &[Burst] {
        &self.bursts
    }

    /// The drift of the clock, as it is now.
    pub(super) fn drift(&self) -> f64 {
        self.latest.drift
    }

    /// Global time at the local time `local_ns`.
    pub(super) fn global_ns(&self, local_ns: i64) -> i64 {
        local_ns - self.offset_ns(local_ns)
    }

    /// The offset at `local_ns`: between the bursts before and after it, if both are known.
    fn offset_ns(&self, local_ns: i64) -> i64 {
        let n_before = self.bursts.partition_point(|burst| burst.local_ns <= local_ns);
        if n_before < N_FIRST {
            return self.first.offset_ns(local_ns);
        }
        let Some(after) = self.bursts.get(n_before) else {
            return self.latest.offset_ns(local_ns);
        };
        let before = &self.bursts[n_before - 1];
        let part = distance(before.local_ns, local_ns) / distance(before.local_ns, after.local_ns);
        let grown_ns = part * distance(before.offset_ns(), after.offset_ns());
        before.offset_ns() + whole(grown_ns.round())
    }

    /// The local time at the global time `global_ns`, which is not long ago or still to come.
    pub(super) fn local_ns(&self, global_ns: i64) -> i64 {
        self.latest.local_ns(global_ns)
    }
}

/// An offset that grows evenly.
#[derive(Clone, Copy, Debug)]
struct Line {
    /// A moment by the local clock, and about the offset then.
    local_ns: i64,
    near_ns: i64,
    /// By how much the offset was larger than that.
    rest_ns: f64,
    /// By how much the local clock is too fast; 0 if the bursts were all at one time.
    drift: f64,
}

impl Line {
    /// The line through `bursts` (at least one) by least squares.
    fn through(bursts: &[Burst]) -> Self {
        let (local_ns, near_ns) = (bursts[0].local_ns, bursts[0].offset_ns());
        let points = bursts.iter().map(|burst| {
            (distance(local_ns, burst.local_ns), distance(near_ns, burst.offset_ns()))
        });
        let (n, x_sum, y_sum) =
            points.clone().fold((0.0, 0.0, 0.0), |(n, xs, ys), (x, y)| (n + 1.0, xs + x, ys + y));
        let (x_mean, y_mean) = (x_sum / n, y_sum / n);
        let (x_squares, products) = points.fold((0.0, 0.0), |(xx, xy), (x, y)| {
            (xx + (x - x_mean).powi(2), xy + (x - x_mean) * (y - y_mean))
        });
        let drift = if x_squares > 0.0 { products / x_squares } else { 0.0 };
        Self { local_ns, near_ns, rest_ns: y_mean - drift * x_mean, drift }
    }

    fn offset_ns(&self, local_ns: i64) -> i64 {
        let beyond_ns = self.rest_ns + self.drift * distance(self.local_ns, local_ns);
        self.near_ns + whole(beyond_ns.round())
    }

    fn local_ns(&self, global_ns: i64) -> i64 {
        let without_drift_ns = distance(self.local_ns - self.near_ns, global_ns) + self.rest_ns;
        self.local_ns + whole((without_drift_ns / (1.0 - self.drift)).round())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Local time of the first burst, beyond what a double holds exactly.
    const START_NS: i64 = 1_800_000_000_000_000_001;

    /// A burst that knows the offset exactly.
    fn exact(after_ns: i64, offset_ns: i64) -> Burst {
        Burst { local_ns: START_NS + after_ns, low_ns: offset_ns - 500, high_ns: offset_ns + 500 }
    }

    /// The offset of a clock that is 5 s behind and 50 ppm too fast.
    fn offset_ns(after_ns: i64) -> i64 {
        -5_000_000_000 + after_ns / 20_000
    }

    fn model() -> Model {
        let firsts = (0..10).map(|i| i * 200_000_000);
        Model::of(firsts.map(|after_ns| exact(after_ns, offset_ns(after_ns))).collect())
    }

    #[test]
    fn a_line_gives_the_global_time_before_and_after_its_bursts() {
        let model = model();
        assert!((model.drift() - 50e-6).abs() < 1e-12);
        for after_ns in [-1_000_000_000, 0, 777, 1_800_000_000, 11_800_000_000, 86_400_000_000_000]
        {
            let local_ns = START_NS + after_ns;
            let error_ns = model.global_ns(local_ns) - (local_ns - offset_ns(after_ns));
            assert!(error_ns.abs() <= 1, "{error_ns} ns after {after_ns} ns");
        }
    }

    #[test]
    fn a_global_time_and_its_local_time_belong_together() {
        let model = model();
        for after_ns in [1_800_000_001, 2_000_000_000, 3_600_000_000_007] {
            let local_ns = START_NS + after_ns;
            assert!((model.local_ns(model.global_ns(local_ns)) - local_ns).abs() <= 1);
        }
    }

    #[test]
    fn times_between_two_bursts_are_interpolated() {
        let mut model = model();
        // The clock stands 1 us beside its line at the second of two later bursts.
        for (after_ns, beside_ns) in [(3_000_000_000, 0), (4_000_000_000, 1000)] {
            model.push(exact(after_ns, offset_ns(after_ns) + beside_ns));
        }
        let check = |after_ns, beside_ns| {
            let local_ns = START_NS + after_ns;
            let found_ns = local_ns - model.global_ns(local_ns) - offset_ns(after_ns);
            assert_eq!(found_ns, beside_ns, "after {after_ns} ns");
        };
        check(2_400_000_000, 0);
        check(3_000_000_000, 0);
        check(3_500_000_000, 500);
        check(3_900_000_000, 900);
    }

    #[test]
    fn the_drift_is_that_of_the_latest_bursts() {
        let mut model = model();
        // From 2 s on the clock is right.
        for i in 0..100 {
            model.push(exact(2_000_000_000 + i * 20_000_000, offset_ns(2_000_000_000)));
        }
        assert!(model.drift().abs() < 1e-9, "{}", model.drift());
        assert_eq!(model.bursts().len(), 110);
    }

    #[test]
    fn bursts_of_one_time_have_no_drift() {
        assert_eq!(Model::of(vec![exact(0, 7); 10]).drift(), 0.0);
    }
}
