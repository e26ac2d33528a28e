//! From measured times to the parameters of a machine: fits, and what each of them rests on.

use std::collections::BTreeSet;

use anyhow::Context as _;
use comet_stats::fit::{Bounds, Estimate, Line, Range, Segment, Weights, segments};
use comet_stats::{median, real, whole};

use super::readings::{Key, Reading, Readings};

/// Segments that a machine may have, and lengths that each needs at least.
const RULES: Bounds = Bounds { min_points: 3, max_segments: 8, not_negative: true };

/// A machine as far as it was measured; times in nanoseconds.
#[derive(Debug)]
pub(super) struct Calibration {
    /// Costs of messages by length: ascending, the last without a bound.
    pub(super) protocols: Vec<Protocol>,
    /// Lengths of the echo in bytes that no line was fitted to: every fourth, and those beside the
    /// switch points.
    pub(super) left_out: BTreeSet<u64>,
    /// Share of a message's time hidden behind a computation of about its length, 0 to 1.
    pub(super) hidden_share: Option<f64>,
    pub(super) daxpy: Fitted,
    pub(super) copy: Fitted,
    pub(super) clock_ns: Option<f64>,
}

#[derive(Debug)]
pub(super) struct Protocol {
    /// The switch to the next protocol; `None` in the last.
    pub(super) switch: Option<Switch>,
    /// One way.
    pub(super) law: Fitted,
    /// A byte in addition, if its receiver is sending when it comes.
    pub(super) late_per_byte_ns: Option<f64>,
}

/// Switch between two protocols: the longest measured message below it, and the shortest above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Switch {
    pub(super) below: u64,
    pub(super) above: u64,
}

impl Switch {
    /// True if no length lies between the two.
    pub(super) fn is_measured(self) -> bool {
        self.above - self.below <= 1
    }

    /// Longest message of the protocol below in bytes. Between the two lengths it is the power of
    /// two, if there is one, because libraries change their protocols there, or else the middle.
    pub(super) fn up_to_bytes(self) -> u64 {
        let Self { below, above } = self;
        if self.is_measured() {
            return below;
        }
        let power = 1 << (above - 1).ilog2();
        let middle = whole((real(below) * real(above)).sqrt());
        if power >= below { power } else { middle }
    }
}

/// A line over elements or bytes, and its number of samples.
#[derive(Debug)]
pub(super) struct Fitted {
    /// Of several launches its startup time and its slope are the medians of theirs.
    pub(super) line: Line,
    pub(super) n_samples: usize,
    /// Number of launches, and the ranges of the two from one to the next.
    pub(super) launches: Option<(usize, [Option<Range>; 2])>,
}

impl Calibration {
    pub(super) fn of(readings: &Readings) -> anyhow::Result<Self> {
        let echo = readings.echo(1);
        let context = "cannot fit the times of the echo";
        let found = segments(&points(&echo, |key| key.length_bytes), &RULES).context(context)?;
        let left_out = left_out(&echo, &found);
        Ok(Self {
            protocols: protocols(readings, &found, &left_out).context(context)?,
            left_out,
            hidden_share: hidden_share(readings),
            daxpy: fitted(readings.of("comet/overlap", "daxpy"), |key| key.vector_length)
                .context("cannot fit the times of the DAXPY")?,
            copy: fitted(readings.echo(0).into_iter(), |key| key.length_bytes)
                .context("cannot fit the times of messages of a rank to itself")?,
            clock_ns: readings.clock_ns,
        })
    }
}

/// The switch between two segments.
fn switch(lower: &Segment, upper: &Segment) -> Switch {
    Switch { below: whole(lower.to), above: whole(upper.from) }
}

/// Every fourth length of `echo`, and the lengths beside the switches between the segments `found`:
/// the latter place the switches, and no line goes through them.
fn left_out(echo: &[&Reading], found: &[Segment]) -> BTreeSet<u64> {
    let every_fourth = echo.iter().skip(2).step_by(4).filter_map(|r| r.key.length_bytes);
    let switches = found.windows(2).map(|pair| switch(&pair[0], &pair[1]));
    every_fourth.chain(switches.flat_map(|s| [s.below, s.above])).collect()
}

/// True if the exchange of that number is left out of the fits: every second one.
pub(super) fn is_exchange_left_out(index: usize) -> bool {
    index % 2 == 1
}

fn protocols(
    readings: &Readings,
    found: &[Segment],
    left_out: &BTreeSet<u64>,
) -> anyhow::Result<Vec<Protocol>> {
    let echo = readings.echo(1);
    let exchange: Vec<&Reading> = readings.of("comet/exchange", "exchange").collect();
    let numbered = exchange.into_iter().enumerate();
    let exchange: Vec<&Reading> =
        numbered.filter(|(index, _)| !is_exchange_left_out(*index)).map(|(_, r)| r).collect();
    let protocol = |(index, segment): (usize, &Segment)| -> anyhow::Result<Protocol> {
        let upper = found.get(index + 1);
        let next = upper.map(|upper| upper.from);
        let (echoes, exchanges) =
            (within(&echo, segment.from, next), within(&exchange, segment.from, next));
        let law = law(&echoes, left_out)?;
        let exchanges = points(&exchanges, |key| key.length_bytes);
        Ok(Protocol {
            switch: upper.map(|upper| switch(segment, upper)),
            late_per_byte_ns: late_per_byte_ns(&law.line, &exchanges),
            law,
        })
    };
    found.iter().enumerate().map(protocol).collect()
}

/// The line through the `echoes` of a segment but for those that are `left_out`; through all of them
/// if too few are left.
fn law(echoes: &[&Reading], left_out: &BTreeSet<u64>) -> anyhow::Result<Fitted> {
    let is_kept = |r: &&Reading| r.key.length_bytes.is_some_and(|n| !left_out.contains(&n));
    let kept: Vec<&Reading> = echoes.iter().copied().filter(is_kept).collect();
    let chosen = if kept.len() < RULES.min_points { echoes } else { &kept };
    fitted(chosen.iter().copied(), |key| key.length_bytes)
}

/// The `readings` whose messages have at least `from` bytes, and fewer than `next`.
fn within<'a>(readings: &[&'a Reading], from: f64, next: Option<f64>) -> Vec<&'a Reading> {
    let is_within = |n: f64| n >= from && next.is_none_or(|next| n < next);
    readings.iter().copied().filter(|reading| is_within(length(reading))).collect()
}

/// Additional time of a byte whose receiver is sending when it arrives: in an exchange both ranks
/// send first and receive then, while in an echo one only receives. The median over `exchanges`,
/// lengths and times, or `None` if they take no longer than one way.
fn late_per_byte_ns(line: &Line, exchanges: &[(f64, f64)]) -> Option<f64> {
    let has_bytes = |(n, _): &&(f64, f64)| *n > 0.0;
    let excess_ns = |(n, ns): &(f64, f64)| (ns - line.at(*n)) / n;
    let excesses_ns: Vec<f64> = exchanges.iter().filter(has_bytes).map(excess_ns).collect();
    median(&excesses_ns).filter(|excess_ns| *excess_ns > 0.0)
}

/// Share of an exchange that a DAXPY hides, if the DAXPY takes longer, but not so much longer that
/// its own scatter counts: (t_c + t_w - t_o) / t_c, with the names of `comet/overlap`.
fn hidden_share(readings: &Readings) -> Option<f64> {
    let share = |exchange: &Reading| {
        let beside = |series| {
            let same = |r: &&Reading| {
                (r.key.length_bytes, r.key.vector_length)
                    == (exchange.key.length_bytes, exchange.key.vector_length)
            };
            readings.of("comet/overlap", series).find(same).map(|reading| reading.median_ns)
        };
        let (t_c, t_w, t_o) = (exchange.median_ns, beside("daxpy")?, beside("asynchronous")?);
        let is_alike = (1.0..=10.0).contains(&(t_w / t_c));
        is_alike.then(|| ((t_c + t_w - t_o) / t_c).clamp(0.0, 1.0))
    };
    let shares: Vec<f64> = readings.of("comet/overlap", "exchange").filter_map(share).collect();
    median(&shares)
}

fn fitted<'a>(
    readings: impl Iterator<Item = &'a Reading>,
    size: fn(&Key) -> Option<u64>,
) -> anyhow::Result<Fitted> {
    let readings: Vec<&Reading> = readings.collect();
    let mut line = Line::fit_not_negative(&points(&readings, size), Weights::Relative)?;
    let n_launches = readings.iter().map(|reading| reading.launches_ns.len()).min().unwrap_or(0);
    // The search for switches precedes the launches, and has some of their cases.
    let of_launch = |back: usize| -> anyhow::Result<Line> {
        let time = |r: &&Reading| {
            Some((size(&r.key)? as f64, r.launches_ns[r.launches_ns.len() - 1 - back]))
        };
        let points: Vec<(f64, f64)> = readings.iter().filter_map(time).collect();
        Ok(Line::fit_not_negative(&points, Weights::Relative)?)
    };
    let mut launches = None;
    if n_launches > 1 {
        let lines = (0..n_launches).map(of_launch).collect::<Result<Vec<Line>, _>>()?;
        let of = |value: fn(&Line) -> f64| {
            Estimate::of_launches(&lines.iter().map(value).collect::<Vec<_>>())
        };
        let (t0, per_unit) = (of(|line| line.t0), of(|line| line.per_unit));
        (line.t0, line.per_unit) = (t0.value, per_unit.value);
        launches = Some((n_launches, [t0.range, per_unit.range]));
    }
    let n_samples = readings.iter().map(|reading| reading.n_samples).sum();
    Ok(Fitted { line, n_samples, launches })
}

fn points(readings: &[&Reading], size: fn(&Key) -> Option<u64>) -> Vec<(f64, f64)> {
    let point = |reading: &&Reading| Some((size(&reading.key)? as f64, reading.median_ns));
    readings.iter().filter_map(point).collect()
}

fn length(reading: &Reading) -> f64 {
    reading.key.length_bytes.unwrap_or(0) as f64
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A machine of two protocols: 1 us + 1 ns/B to 1 KiB, and 3 us + 0.5 ns/B beyond.
    fn one_way_ns(n: f64) -> f64 {
        if n <= 1024.0 { 1000.0 + n } else { 3000.0 + 0.5 * n }
    }

    fn reading(kernel: &str, series: &str, sizes: [Option<u64>; 3], median_ns: f64) -> Reading {
        let [hops, length_bytes, vector_length] = sizes;
        let (kernel, series) = (kernel.to_owned(), series.to_owned());
        let key = Key { kernel, series, hops, length_bytes, vector_length };
        Reading { key, median_ns, launches_ns: Vec::new(), n_samples: 10 }
    }

    /// Readings of that machine, with slower exchanges, of which it hides a quarter.
    pub(in super::super) fn readings(late_per_byte_ns: f64) -> Readings {
        let mut all = Vec::new();
        let lengths = (0..20).flat_map(|octave| [2u32 << octave, 3 << octave]);
        let mut lengths: Vec<u32> = lengths.chain([1000, 1025, 1100]).collect();
        lengths.sort_unstable();
        for bytes in lengths {
            let (n, bytes) = (f64::from(bytes), Some(bytes.into()));
            all.push(reading("comet/echo", "echo", [Some(1), bytes, None], one_way_ns(n)));
            all.push(reading("comet/echo", "echo", [Some(0), bytes, None], 100.0 + 0.25 * n));
            let both_ns = one_way_ns(n) + late_per_byte_ns * n;
            all.push(reading("comet/exchange", "exchange", [Some(1), bytes, None], both_ns));
        }
        for vector in [1000, 4000, 16_000] {
            let mut push = |series, median_ns| {
                all.push(reading(
                    "comet/overlap",
                    series,
                    [None, Some(0), Some(vector)],
                    median_ns,
                ));
            };
            let work_ns = vector as f64;
            push("exchange", 1000.0);
            push("daxpy", work_ns);
            push("asynchronous", work_ns + 750.0);
        }
        Readings { all, clock_ns: Some(25.0) }
    }

    fn assert_near(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 1e-9, "{found} is not {expected}");
    }

    #[test]
    fn a_planted_machine_is_found() {
        let found = Calibration::of(&readings(0.0)).unwrap();
        let [short, long] = &found.protocols[..] else { panic!("{:?}", found.protocols) };
        let switch = Switch { below: 1024, above: 1025 };
        assert_eq!((short.switch, long.switch), (Some(switch), None));
        assert!(switch.is_measured() && found.left_out.is_superset(&[1024, 1025].into()));
        assert_near(short.law.line.t0, 1000.0);
        assert_near(short.law.line.per_unit, 1.0);
        assert_near(long.law.line.t0, 3000.0);
        assert_near(long.law.line.per_unit, 0.5);
        assert_near(found.daxpy.line.per_unit, 1.0);
        assert_near(found.copy.line.per_unit, 0.25);
        assert_eq!((found.hidden_share, found.clock_ns), (Some(0.25), Some(25.0)));
        assert_eq!(found.daxpy.n_samples, 30);
    }

    #[test]
    fn slow_exchanges_are_a_cost_of_late_receives() {
        let check = |per_byte_ns, expected: Option<f64>| {
            let found =
                Calibration::of(&readings(per_byte_ns)).unwrap().protocols[1].late_per_byte_ns;
            assert_eq!(found.map(|ns| (1e6 * ns).round() / 1e6), expected, "{per_byte_ns}");
        };
        check(-0.1, None);
        check(0.25, Some(0.25));
    }

    #[test]
    fn a_switch_between_two_lengths_is_at_a_power_of_two_if_it_can() {
        let check = |below, above, expected| {
            assert_eq!(Switch { below, above }.up_to_bytes(), expected, "{below} {above}");
        };
        check(301, 302, 301);
        check(1024, 1025, 1024);
        check(813, 1290, 1024);
        check(1024, 1290, 1024);
        check(1290, 1625, 1447);
        check(38, 54, 45);
        check(512, 1024, 512);
        check(0, 1, 0);
    }

    #[test]
    fn nothing_follows_from_nothing() {
        let error = Calibration::of(&Readings::default()).unwrap_err();
        let sentence = "cannot fit the times of the echo: 0 points do not determine";
        assert!(format!("{error:#}").starts_with(sentence), "{error:#}");
    }
}
