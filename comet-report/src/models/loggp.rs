//! Trains of messages: the parameters of LogGP, from the points of `model/injection`; its formulas
//! are in `comet_stats::fit::LogGp`.

use comet_stats::fit::{Estimate, Line, LogGp, Train, TrainTimes, Weights};

use super::sweep::{Sweep, real, slices_ns, time_us};
use super::wire::{fit, parameter};
use crate::record::{Fit, Model, Parameter, Point};

const LAW: &str = "t = o_s + L + o_r + (s - 1) G";

const N_MESSAGES: u32 = 16;

/// Warning that `L` may as well be 0; it usually may on shared memory, where the overheads hold the
/// copies and the polling.
const NO_LATENCY: &str = "latency_not_identifiable";
/// Warning that sizes were left out, whose delays were shorter than a round trip.
const SHORT_DELAY: &str = "short_delay";

/// The parameters over all sizes, and over those between the breakpoints; the points of `sweep` are
/// those of the first series, with and without a delay.
pub(super) fn model(sweep: Sweep<'_>, breakpoints: &[u64]) -> Option<Model> {
    let mut model = sweep.model("loggp", [&sweep.axes[0].name, "B"]);
    // All series together make the model, and none of their intervals weighs.
    (model.variant, model.weights) = (None, "relative".into());
    let mut warnings = Vec::new();
    let law = |part: &Sweep<'_>, name: &str, n_segments| {
        let (trains, n_left_out) = trains(part);
        let law = LogGp::fit(&trains, N_MESSAGES).ok()?;
        let is_unknown = law.is_latency_identifiable() == Some(false);
        let warned = [(is_unknown, NO_LATENCY), (n_left_out > 0, SHORT_DELAY)];
        warnings.push(warned.map(|(holds, warning)| holds.then_some(warning)));
        wire(name, &law, n_segments)
    };
    model.fits = sweep.fits("loggp", breakpoints, law)?;
    model.warnings.extend(warnings[0].iter().flatten().map(|warning| (*warning).into()));
    Some(model)
}

/// The trains of all sizes, ascending, whose delay is long enough, and how many have none such.
fn trains(sweep: &Sweep<'_>) -> (Vec<Train>, usize) {
    let cases: Vec<Times<'_>> =
        sweep.points.iter().filter_map(|point| Times::of_case(point, sweep)).collect();
    let n_slices = cases.iter().map(Times::n_slices).min().unwrap_or(0);
    let mut plain: Vec<&Times<'_>> =
        cases.iter().filter(|case| case.size > 0 && case.delay_us == 0.0).collect();
    plain.sort_by_key(|case| case.size);
    let delayed = |plain: &Times<'_>| {
        let of_size = cases.iter().filter(|case| case.size == plain.size && case.is_late());
        of_size.min_by(|a, b| a.delay_us.total_cmp(&b.delay_us))
    };
    let train = |plain: &&Times<'_>| Some(plain.train(delayed(plain)?, n_slices));
    let trains: Vec<Train> = plain.iter().filter_map(train).collect();
    let n_left_out = plain.len() - trains.len();
    (trains, n_left_out)
}

struct Times<'a> {
    size: u64,
    /// Time of one delay; 0 without one.
    delay_us: f64,
    round_trip_us: f64,
    /// Medians of the slices of each series, in nanoseconds.
    slices: [&'a [f64]; 4],
}

impl<'a> Times<'a> {
    fn of_case(first: &Point, sweep: &Sweep<'a>) -> Option<Self> {
        let [a, b, c, d] = [0, 1, 2, 3].map(|index| sweep.series(first, index));
        let series = [a?, b?, c?, d?];
        let [a, b, c, d] = series.map(slices_ns);
        let is_delayed = sweep.at(first, 1) > 0;
        Some(Self {
            size: sweep.at(first, 0),
            delay_us: if is_delayed { time_us(series[3])? / n_gaps() } else { 0.0 },
            round_trip_us: time_us(series[0])?,
            slices: [a?, b?, c?, d?],
        })
    }

    fn n_slices(&self) -> usize {
        self.slices.iter().map(|slices| slices.len()).min().unwrap_or(0)
    }

    /// True if the next message is there after a delay.
    fn is_late(&self) -> bool {
        self.delay_us >= self.round_trip_us
    }

    /// The train of this case without delays, and of `delayed`.
    ///
    /// Train of `delayed`: the cost of a delay is the difference within a slice, from which a
    /// disturbance of all of the slice falls out.
    fn train(&self, delayed: &Self, n_slices: usize) -> Train {
        let delay = delayed.delay_us;
        let slice = |index: usize| {
            let of = |case: &Self| case.slices.map(|series| series[index] / 1e3);
            let [single, train, ..] = of(self);
            let [round_trip, sends, receives, work] = of(delayed);
            TrainTimes {
                single,
                train,
                delayed: single + sends - round_trip - work + n_gaps() * delay,
                receive: (receives - round_trip - work) / n_gaps() + delay,
            }
        };
        Train { size_bytes: real(self.size), delay, slices: (0..n_slices).map(slice).collect() }
    }
}

fn n_gaps() -> f64 {
    f64::from(N_MESSAGES - 1)
}

/// The fit, with the quality of the line through the gaps.
fn wire(name: &str, law: &LogGp, n_segments: usize) -> Option<Fit> {
    let gaps: Vec<(f64, f64)> =
        law.overheads.iter().map(|row| (row.size_bytes, row.gap.value)).collect();
    let quality = Line::fit_robust(&gaps, Weights::Relative).ok()?.quality;
    let extent = [gaps[0].0, gaps[gaps.len() - 1].0];
    Some(fit([name, LAW], extent, parameters(law), &quality, n_segments))
}

/// The five, the overheads being those of the smallest size, and what netgauge calls `L`.
fn parameters(law: &LogGp) -> Vec<Parameter> {
    let of = |name, unit, of: Estimate| parameter(name, unit, Some(of.value), of.range);
    let smallest = law.overheads[0];
    vec![
        of("L", "us", law.latency),
        of("o_s", "us", smallest.send),
        of("o_r", "us", smallest.receive),
        of("g", "us", law.gap),
        of("G", "us/B", law.gap_per_byte),
        of("L_netgauge", "us", law.latency_netgauge),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::models;
    use super::*;
    use crate::fixture;
    use crate::older::described;
    use crate::points::PointMaker;
    use crate::record::{Param, Params};

    const SIZE: &str = "length_bytes";
    const DELAY: &str = "vector_length";
    const SERIES: [&str; 4] = ["round_trip", "sends", "receives", "work"];
    /// `L`, `o_s`, `o_r`, `g` in us and `G` in us/B.
    const PLANTED: [f64; 5] = [5.0, 1.2, 1.5, 2.5, 0.004];

    /// One series of a case, by its values on both axes.
    fn point(variant: &str, size: u64, n_values: u64, slices_us: &[f64]) -> Point {
        let mut points = PointMaker::new("id", &fixture::topology()).measured(&fixture::echo(8));
        let mut point = points.remove(0);
        (point.suite, point.kernel) = ("model".into(), "injection".into());
        point.variant = Some(variant.into());
        let param = |(name, value): (&str, u64)| (name.to_owned(), Param::Number(value));
        point.params = Params([(SIZE, size), (DELAY, n_values)].map(param).to_vec());
        point.quoted_ns = Some(1e3 * slices_us[slices_us.len() / 2]);
        let quality = point.quality.as_mut().unwrap();
        quality.slice_medians_ns = slices_us.iter().map(|time| 1e3 * time).collect();
        described(point)
    }

    /// The four series of a case whose delay takes this long, in slices that are slowed by these
    /// shares of their time.
    fn case(l: f64, size: u64, delay_us: f64, slowed: &[f64]) -> Vec<Point> {
        let [_, o_s, o_r, g, per_byte] = PLANTED;
        let rest = real(size - 1) * per_byte;
        let round_trip = 2.0 * (o_s + l + o_r + rest);
        let (send, receive) = match delay_us {
            0.0 => (g + rest, g + rest),
            delay => (o_s + delay, o_r + delay),
        };
        let gaps = [0.0, send, receive, delay_us].map(|each| n_gaps() * each);
        let times = [round_trip, round_trip + gaps[1], round_trip + gaps[2], gaps[3]];
        let slices = |time: f64| slowed.iter().map(|share| time * (1.0 + share)).collect();
        let slices = times.map(|time| -> Vec<f64> { slices(time) });
        let series = SERIES.iter().zip(slices);
        series.map(|(name, slices)| point(name, size, u64::from(delay_us > 0.0), &slices)).collect()
    }

    /// Sizes with and without this delay.
    fn points(l: f64, delay_us: f64) -> Vec<Point> {
        let slowed = [-0.02, -0.01, 0.0, 0.01, 0.02];
        let both = |size| [0.0, delay_us].map(|delay_us| case(l, size, delay_us, &slowed));
        [1, 64, 1024, 4096, 16_384].into_iter().flat_map(both).flatten().collect()
    }

    fn made(points: &[Point]) -> Vec<Model> {
        let all = models(&points.iter().collect::<Vec<_>>(), &[]);
        all.into_iter().filter(|model| model.model == "loggp").collect()
    }

    #[test]
    fn trains_tell_the_planted_parameters() {
        let made = made(&points(5.0, 200.0));
        assert_eq!((made.len(), made[0].fits.len(), &made[0].variant), (1, 1, &None));
        let netgauge = 7.7;
        for (found, planted) in made[0].fits[0]
            .parameters
            .iter()
            .zip([PLANTED[0], PLANTED[1], PLANTED[2], PLANTED[3], PLANTED[4], netgauge])
        {
            assert!((found.value.unwrap() / planted - 1.0).abs() < 1e-6, "{found:?}: {planted}");
            let (low, high) = (found.low.unwrap(), found.high.unwrap());
            assert!(low < planted && planted < high, "{found:?}");
        }
        assert_eq!(made[0].warnings, [""; 0]);
    }

    #[test]
    fn what_is_not_known_is_said() {
        let check = |l, delay_us, expected: &[&str]| {
            assert_eq!(made(&points(l, delay_us))[0].warnings, expected);
        };
        // On shared memory, what the sender does and what the receiver does overlap.
        check(-0.1, 200.0, &[NO_LATENCY]);
        // A round trip of 16 KiB takes 146 us.
        check(5.0, 100.0, &[SHORT_DELAY]);
    }

    #[test]
    fn few_sizes_or_delays_make_no_model() {
        let without = |is_out: &dyn Fn(&Point) -> bool| {
            made(&points(5.0, 200.0).into_iter().filter(|point| !is_out(point)).collect::<Vec<_>>())
        };
        assert_eq!(without(&|point| point.number(SIZE) > Some(1024)), []);
        assert_eq!(without(&|point| point.number(DELAY) == Some(1)), []);
        assert_eq!(without(&|point| point.variant.as_deref() == Some("work")), []);
    }
}
