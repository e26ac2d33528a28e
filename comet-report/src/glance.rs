//! A run at a glance: the few times and rates that say what communication on a machine is like, each
//! read off one point.
//!
//! ```text
//!   messages     8 B at each distance; the best rate, and the length that reaches half of it
//!   both ways    the best rate of an exchange
//!   all ranks    the shortest operation and the best rate of each collective; barriers
//! ```
//!
//! Kernels are chosen by their class and their axes; of several for messages, or for exchanges, the
//! first of the run counts.

use std::fmt;

use comet_core::kernel::{AxisKind, Class};

use crate::order::grouped;
use crate::plot::Quantity;
use crate::record::{Answer, Over, Point, PointStatus};
use crate::units::bytes;
use crate::words::{self, count};

/// The message length whose time is the latency, in bytes.
const SHORT_BYTES: u64 = 8;
/// The quantity of kernels whose times are latencies.
const ONE_WAY: &str = "one_way_time";

/// The answers of `points`, those of one run.
pub fn glance(points: &[Point]) -> Vec<Answer> {
    let ok: Vec<&Point> = points.iter().filter(|of| of.status() == PointStatus::Ok).collect();
    let of_class =
        |class: Class| ok.iter().copied().filter(move |of| of.facts.class() == Some(class));
    let messages = kernels(of_class(Class::PointToPoint).filter(|of| is_one_way(of)));
    let messages = messages.into_iter().next().unwrap_or_default();
    let exchanges = kernels(of_class(Class::Exchange)).into_iter().next().unwrap_or_default();
    let far: Vec<&Point> = messages.iter().copied().filter(|of| hops(of) != Some(0)).collect();
    let mut answers: Vec<Answer> = messages.iter().filter_map(|of| latency(of)).collect();
    answers.extend(best_rate(&far, "bandwidth"));
    answers.extend(half_length(&far));
    answers.extend(best_rate(&exchanges, "both ways at once"));
    for kernel in kernels(of_class(Class::Synchronisation).filter(|of| is_first_series(of))) {
        answers.extend(kernel.first().map(|point| time(point, of_ranks(point))));
    }
    for kernel in kernels(of_class(Class::Collective).filter(|of| is_first_series(of))) {
        answers.extend(shortest(&kernel));
        answers.extend(best_rate(&kernel, &of_ranks(kernel[0])));
    }
    answers
}

fn is_one_way(point: &Point) -> bool {
    point.value().is_some_and(|value| value.quantity == ONE_WAY)
}

/// Distance of the two ranks of `point`, in links, where its kernel has one.
fn hops(point: &Point) -> Option<u64> {
    point.on(Over::Kind(AxisKind::Distance))
}

fn is_first_series(point: &Point) -> bool {
    point.series().unwrap_or(0) == 0
}

/// The points of each kernel.
fn kernels<'a>(points: impl Iterator<Item = &'a Point>) -> Vec<Vec<&'a Point>> {
    let kernels = grouped(points.map(|of| ((&of.suite, &of.kernel), of)));
    kernels.into_iter().map(|(_, points)| points).collect()
}

/// The latency of `point`, if its message is short.
fn latency(point: &Point) -> Option<Answer> {
    (point.on(Over::Message)? == SHORT_BYTES).then(|| {
        let place = match hops(point) {
            None => String::new(),
            Some(0) => ", to itself".into(),
            Some(hops) => format!(", {}", count(hops, "hop")),
        };
        time(point, format!("latency of {}{place}", bytes(SHORT_BYTES)))
    })
}

/// The time of the shortest operation of `points` that moves data.
fn shortest(points: &[&Point]) -> Option<Answer> {
    let sized = points.iter().filter_map(|of| Some((size(of).filter(|size| *size > 0)?, *of)));
    let (_, point) = sized.min_by_key(|(size, _)| *size)?;
    Some(time(point, format!("{}, {}", of_ranks(point), words_of_size(point)?)))
}

/// The best rate of `points`, of the kind `what`.
fn best_rate(points: &[&Point], what: &str) -> Option<Answer> {
    let (rate, point) = fastest(points)?;
    let quoted_ns = point.quoted_ns()?;
    let of_time = |ns: f64| rate * quoted_ns / ns;
    let [low, high] = match point.interval_ns() {
        Some([low_ns, high_ns]) if low_ns > 0.0 => [of_time(high_ns), of_time(low_ns)].map(Some),
        _ => [None; 2],
    };
    let what = format!("{what}, best at {}", words_of_size(point)?);
    Some(Answer { what, value: rate, unit: "B/s".into(), low, high, key: point.key.clone() })
}

/// The shortest message of `points` that reaches half of their best rate.
fn half_length(points: &[&Point]) -> Option<Answer> {
    let (best, _) = fastest(points)?;
    let is_half = |of: &&&Point| of.bytes_per_s().is_some_and(|rate| 2.0 * rate >= best);
    let point = points.iter().filter(is_half).min_by_key(|of| of.on(Over::Message))?;
    Some(Answer {
        what: "half of that from".into(),
        value: point.on(Over::Message)? as f64,
        unit: "B".into(),
        low: None,
        high: None,
        key: point.key.clone(),
    })
}

fn fastest<'a>(points: &[&'a Point]) -> Option<(f64, &'a Point)> {
    let rates = points.iter().filter_map(|of| Some((of.bytes_per_s()?, *of)));
    rates.max_by(|(a, _), (b, _)| a.total_cmp(b))
}

fn time(point: &Point, what: String) -> Answer {
    let [low, high] = point.interval_ns().map_or([None; 2], |interval_ns| interval_ns.map(Some));
    let value = point.quoted_ns().unwrap_or(f64::NAN);
    Answer { what, value, unit: "ns".into(), low, high, key: point.key.clone() }
}

/// The kernel of `point` and its ranks: `broadcast among 4`.
fn of_ranks(point: &Point) -> String {
    let ranks = point.params.ranks().map_or(String::new(), |n| format!(" among {n}"));
    format!("{}{ranks}", point.kernel)
}

/// Amount of data of one operation, in the unit of its axis.
fn size(point: &Point) -> Option<u64> {
    point.on(Over::Message).or_else(|| point.on(Over::Vector))
}

fn words_of_size(point: &Point) -> Option<String> {
    let of = |over| {
        let axis = point.facts.over(over)?;
        Some(words::parameter(&point.facts, &axis.name, point.params.get(&axis.name)?))
    };
    of(Over::Message).or_else(|| of(Over::Vector))
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Tables are ASCII.
        let value = self.value().replace('µ', "u");
        write!(f, "{:<38} {value:>12}", self.what)?;
        self.half_width_percent().map_or(Ok(()), |percent| write!(f, "  +-{percent:.1} %"))
    }
}

impl Answer {
    /// The figure with its unit.
    pub(crate) fn value(&self) -> String {
        let Self { value, unit, .. } = self;
        match &**unit {
            "ns" => Quantity::TimeNs.write(*value),
            "B/s" => Quantity::BytesPerSecond.write(*value),
            _ => Quantity::Bytes.write(*value),
        }
    }

    /// Half of its interval, in percent of it.
    pub(crate) fn half_width_percent(&self) -> Option<f64> {
        let (low, high) = self.low.zip(self.high)?;
        Some(50.0 * (high - low) / self.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::record::Record;

    #[test]
    fn answers_are_those_of_their_points() {
        let records = fixture::records();
        let mut points: Vec<Point> = fixture::points(&records).cloned().collect();
        let topology = fixture::topology();
        let mut maker = crate::points::PointMaker::new("id", &topology);
        points.extend(maker.measured(&fixture::echo(8)));
        let found = glance(&points);
        let lines: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(
            lines,
            [
                "latency of 8 B, 1 hop                        510 ns",
                "bandwidth, best at 64 KiB                128.5 GB/s",
                "half of that from                            64 KiB",
                "barrier among 2                              410 ns",
            ]
        );
        for answer in &found {
            let point = points.iter().find(|point| point.key == answer.key).unwrap();
            let is_of_it = match &*answer.unit {
                "ns" => point.quoted_ns() == Some(answer.value),
                "B/s" => point.bytes_per_s() == Some(answer.value),
                _ => point.on(Over::Message) == Some(65536) && answer.value == 65536.0,
            };
            assert!(is_of_it, "{answer}");
        }
        let Some(Record::End(end)) = records.last() else { panic!("the last record is the end") };
        assert_eq!(end.glance[..], found[1..], "the fixture has no echo of 8 B");
    }

    #[test]
    fn the_interval_of_a_rate_is_that_of_its_time() {
        let records = fixture::records();
        let rated = fixture::points(&records).find(|point| point.bytes_per_s().is_some());
        let mut point = rated.unwrap().clone();
        let (rate, quoted_ns) = (point.bytes_per_s().unwrap(), point.quoted_ns().unwrap());
        let numbers = &mut point.measured_mut().unwrap().numbers;
        numbers.time_ns.ci95 = Some([quoted_ns / 1.25, quoted_ns * 2.0]);
        let found = best_rate(&[&point], "bandwidth").unwrap();
        let expected = [rate / 2.0, rate, rate * 1.25].map(Some);
        assert_eq!([found.low, Some(found.value), found.high], expected);
        assert!(found.to_string().ends_with("  +-37.5 %"), "{found}");
    }

    #[test]
    fn what_was_not_measured_has_no_answer() {
        let records = fixture::records();
        let skipped = fixture::points(&records).filter(|point| point.numbers().is_none()).cloned();
        assert_eq!(glance(&skipped.collect::<Vec<_>>()), []);
        assert_eq!(glance(&[]), []);
    }
}
