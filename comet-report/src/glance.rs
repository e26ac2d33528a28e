//! A run at a glance: the few times and rates that say what communication on a machine is like, each
//! read off one point.
//!
//! ```text
//!   messages     8 B at each class of distance; the best rate, and the length that reaches half of it
//!   both ways    the best rate of an exchange
//!   all ranks    the shortest operation and the best rate of each collective; barriers
//!   overlap      the share of the longest exchange that hides behind work, and that of each unblocked
//!                collective
//!   load         the largest slowdown of messages beside others on their links
//! ```
//!
//! Kernels are chosen by their class and their axes; of several for messages, or for exchanges, the
//! first of the run counts.

use std::fmt;
use std::ops::RangeInclusive;

use comet_core::kernel::{AxisKind, Class};

use crate::health::Places;
use crate::models::models;
use crate::models::sweep::quoted_ns;
use crate::order::grouped;
use crate::plot::Quantity;
use crate::record::{Answer, Oddity, Over, Parameter, Point, PointStatus, Run};
use crate::units::{bytes, significant};
use crate::words::{self, count};

/// The message length whose time is the latency, in bytes.
const SHORT_BYTES: u64 = 8;
/// Classes of distance that are all told apart: a rank itself, a cache, a host, and other hosts.
const MAX_CLASSES: usize = 4;
/// The quantity of kernels whose times are latencies.
const ONE_WAY: &str = "one_way_time";
/// The model of overlaps, and its share of the shorter of messages and work.
const HIDDEN: [&str; 2] = ["overlap", "overlap_share"];

/// The share of an unblocked collective that hides behind work, and the formula that it is named by.
const HIDDEN_CALL: [&str; 2] = ["overlap_share_osu", "OSU's formula"];

/// Shares of a whole.
const SHARES: RangeInclusive<f64> = 0.0..=1.0;

/// The answers of `points`, those of the run `run`.
pub fn glance(run: Option<&Run>, points: &[Point]) -> Vec<Answer> {
    let ok: Vec<&Point> = points.iter().filter(|of| of.status() == PointStatus::Ok).collect();
    let of_class =
        |class: Class| ok.iter().copied().filter(move |of| of.facts.class() == Some(class));
    let messages = kernels(of_class(Class::PointToPoint).filter(|of| is_one_way(of)));
    let messages = messages.into_iter().next().unwrap_or_default();
    let exchanges = kernels(of_class(Class::Exchange)).into_iter().next().unwrap_or_default();
    let far: Vec<&Point> = messages.iter().copied().filter(|of| hops(of) != Some(0)).collect();
    let mut answers = latencies(run, &messages);
    answers.extend(best_rate(&far, "bandwidth"));
    answers.extend(half_length(&far));
    answers.extend(best_rate(&exchanges, "both ways at once"));
    for kernel in kernels(of_class(Class::Synchronisation).filter(|of| is_first_series(of))) {
        answers.extend(kernel.first().map(|point| time(point, of_ranks(point, &ok))));
    }
    for kernel in kernels(of_class(Class::Collective).filter(|of| is_first_series(of))) {
        let name = of_ranks(kernel[0], &ok);
        answers.extend(shortest(&kernel, &name));
        answers.extend(best_rate(&kernel, &name));
    }
    let calls = of_class(Class::Synchronisation).chain(of_class(Class::Collective));
    answers.extend(kernels(calls).iter().filter_map(|kernel| hidden_call(kernel)));
    answers.extend(hidden(&of_class(Class::Overlap).collect::<Vec<_>>()));
    answers.extend(slowdown(&of_class(Class::Contention).collect::<Vec<_>>()));
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

/// The latencies of short messages, the first of each class of distance; of more classes than
/// [`MAX_CLASSES`] the two nearest and the farthest.
fn latencies(run: Option<&Run>, messages: &[&Point]) -> Vec<Answer> {
    let places = Places::of(run);
    let class = |point: &Point| match hops(point) {
        None => String::new(),
        Some(0) => ", to itself".into(),
        Some(hops) => {
            let class = usize::try_from(hops).ok().and_then(|hops| places.at_hops(hops));
            format!(", {}", class.map_or_else(|| count(hops, "hop"), Into::into))
        }
    };
    let short = messages.iter().filter(|of| of.on(Over::Message) == Some(SHORT_BYTES));
    let mut classes = grouped(short.map(|of| (class(of), *of)));
    if classes.len() > MAX_CLASSES {
        classes.drain(2..classes.len() - 1);
    }
    let answer = |(class, points): (String, Vec<&Point>)| {
        time(points[0], format!("latency of {}{class}", bytes(SHORT_BYTES)))
    };
    classes.into_iter().map(answer).collect()
}

/// The time of the shortest operation of `points`, those of `name`, that moves data.
fn shortest(points: &[&Point], name: &str) -> Option<Answer> {
    let sized = points.iter().filter_map(|of| Some((size(of).filter(|size| *size > 0)?, *of)));
    let (_, point) = sized.min_by_key(|(size, _)| *size)?;
    Some(time(point, format!("{name}, {}", words_of_size(point)?)))
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

/// The length from which the messages of `points` stay above half of their best rate, and the
/// shortest that reaches it, if that is another; none of a single length.
fn half_length(points: &[&Point]) -> Option<Answer> {
    let (best, fastest) = fastest(points)?;
    let beside = points.iter().filter(|of| hops(of) == hops(fastest));
    let mut rated: Vec<(u64, bool, &Point)> = beside
        .filter_map(|of| Some((of.on(Over::Message)?, 2.0 * of.bytes_per_s()? >= best, *of)))
        .collect();
    rated.sort_by_key(|(length, ..)| *length);
    let (shortest, ..) = *rated.first()?;
    let (first, ..) = *rated.iter().find(|(_, is_half, _)| *is_half)?;
    let above = rated.iter().rposition(|(_, is_half, _)| !is_half).map_or(0, |below| below + 1);
    let (for_good, _, point) = *rated.get(above).filter(|_| rated[rated.len() - 1].0 > shortest)?;
    let what = match first < for_good {
        true => format!("half of that: first at {}, for good from", bytes(first)),
        false => "half of that from".into(),
    };
    Some(Answer {
        what,
        value: for_good as f64,
        unit: "B".into(),
        low: None,
        high: None,
        key: point.key.clone(),
    })
}

/// The hidden share of the longest exchange beside the longest work of `points`; none that lies
/// outside of 0 to 1, or is not known better than that.
fn hidden(points: &[&Point]) -> Option<Answer> {
    let size = |of: &Point| of.on(Over::Message).zip(of.on(Over::Vector));
    let messages = points.iter().filter(|of| of.series() == Some(0) && size(of) > Some((0, 0)));
    let point = *messages.max_by_key(|of| size(of))?;
    let case: Vec<&Point> = points.iter().copied().filter(|of| of.params == point.params).collect();
    let model = models(&case, &[]).into_iter().find(|model| model.model == HIDDEN[0])?;
    let Parameter { value, low, high, .. } =
        model.marks.into_iter().find(|mark| mark.name == HIDDEN[1])?;
    let value = value.filter(|share| SHARES.contains(share))?;
    if low.zip(high).is_some_and(|(low, high)| high - low > SHARES.end() - SHARES.start()) {
        return None;
    }
    let [low, high] = [low, high].map(|end| end.map(|share| 100.0 * share));
    let [message, work] = [Over::Message, Over::Vector].map(|over| words_on(point, over));
    let what = format!("hidden share, {}, {}", message?, work?);
    let key = case.last()?.key.clone();
    Some(Answer { what, value: 100.0 * value, unit: "%".into(), low, high, key })
}

/// The hidden share of the longest operation of a kernel of `points`, if it was measured beside work.
fn hidden_call(points: &[&Point]) -> Option<Answer> {
    let [name, formula] = HIDDEN_CALL;
    let share = |of: &Point| {
        let figure = of.figures.iter().find(|figure| figure.name == name)?;
        figure.value.filter(|share| SHARES.contains(share))
    };
    let shares = points.iter().filter_map(|of| Some((share(of)?, *of)));
    let (share, point) = shares.max_by_key(|(_, of)| size(of))?;
    let length = words_of_size(point).map_or(String::new(), |length| format!(" of {length}"));
    Some(Answer {
        what: format!("{}{length} hides ({formula})", point.kernel),
        value: 100.0 * share,
        unit: "%".into(),
        low: None,
        high: None,
        key: point.key.clone(),
    })
}

/// The largest factor between the times of one message, with the heaviest load and without any.
fn slowdown(points: &[&Point]) -> Option<Answer> {
    let idle = points.iter().filter(|of| is_first_series(of));
    let ratios = idle.filter_map(|idle| {
        let is_loaded = |of: &&&Point| of.params == idle.params && of.series() > Some(0);
        let loaded = points.iter().filter(is_loaded).max_by_key(|of| of.series())?;
        Some((loaded.quoted_ns()? / idle.quoted_ns()?, idle, loaded))
    });
    let (value, idle, loaded) = ratios.max_by(|a, b| a.0.total_cmp(&b.0))?;
    let ranges = idle.interval_ns().zip(loaded.interval_ns());
    let ends = ranges.map(|(idle, loaded)| [loaded[0] / idle[1], loaded[1] / idle[0]]);
    let [low, high] = ends.map_or([None; 2], |ends| ends.map(Some));
    let what = format!("slowdown under load, {}", words_of_size(loaded)?);
    Some(Answer { what, value, unit: "x".into(), low, high, key: loaded.key.clone() })
}

fn fastest<'a>(points: &[&'a Point]) -> Option<(f64, &'a Point)> {
    let rates = points.iter().filter_map(|of| Some((of.bytes_per_s()?, *of)));
    rates.max_by(|(a, _), (b, _)| a.total_cmp(b))
}

fn time(point: &Point, what: String) -> Answer {
    let [low, high] = point.interval_ns().map_or([None; 2], |interval_ns| interval_ns.map(Some));
    let value = quoted_ns(point).unwrap_or_default();
    Answer { what, value, unit: "ns".into(), low, high, key: point.key.clone() }
}

/// The kernel of `point` and its ranks, with the suite if `all` have another kernel of that name:
/// `broadcast among 4`, `naive/barrier among 2`.
fn of_ranks(point: &Point, all: &[&Point]) -> String {
    let ranks = point.params.ranks().map_or(String::new(), |n| format!(" among {n}"));
    let is_other = |of: &&Point| of.kernel == point.kernel && of.suite != point.suite;
    let name = if all.iter().any(is_other) { point.id() } else { point.kernel.to_string() };
    format!("{name}{ranks}")
}

/// Amount of data of one operation, in the unit of its axis.
fn size(point: &Point) -> Option<u64> {
    point.on(Over::Message).or_else(|| point.on(Over::Vector))
}

fn words_of_size(point: &Point) -> Option<String> {
    words_on(point, Over::Message).or_else(|| words_on(point, Over::Vector))
}

/// The place of `point` on the axis `over`.
fn words_on(point: &Point, over: Over) -> Option<String> {
    let axis = point.facts.over(over)?;
    Some(words::parameter(&point.facts, &axis.name, point.params.get(&axis.name)?))
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = ascii(&self.value());
        write!(f, "{:<38} {value:>12}", self.what)?;
        self.half_width().map_or(Ok(()), |half| write!(f, "  +-{half}"))
    }
}

impl fmt::Display for Oddity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&ascii(&self.what))
    }
}

/// `text` in the letters of tables.
fn ascii(text: &str) -> String {
    text.replace('µ', "u")
}

impl Answer {
    /// The figure with its unit.
    pub(crate) fn value(&self) -> String {
        let Self { value, unit, .. } = self;
        match &**unit {
            "%" | "x" => format!("{} {unit}", significant(*value, 3)),
            "ns" => Quantity::TimeNs.write(*value),
            "B/s" => Quantity::BytesPerSecond.write(*value),
            _ => Quantity::Bytes.write(*value),
        }
    }

    /// Half of its interval, in percent of it; of a share, in percent of the whole.
    pub(crate) fn half_width(&self) -> Option<String> {
        let (low, high) = self.low.zip(self.high).filter(|_| self.value > 0.0)?;
        let whole = if self.unit == "%" { 100.0 } else { self.value };
        Some(format!("{:.1} %", 50.0 * (high - low) / whole))
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
        let found = glance(None, &points);
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
        let without_8_bytes = [&found[1], &found[3]];
        assert!(end.glance.iter().eq(without_8_bytes), "one length has no half: {:?}", end.glance);
    }

    /// Echoes of these lengths and rates in bytes a second.
    fn echoes(rates: &[(u64, f64)]) -> Vec<Point> {
        let topology = fixture::topology();
        let mut maker = crate::points::PointMaker::new("id", &topology);
        let echo = |(length, rate): &(u64, f64)| {
            let mut points = maker.measured(&fixture::echo(*length));
            let numbers = &mut points[0].measured_mut().unwrap().numbers;
            numbers.rate.as_mut().unwrap().bytes_per_s = *rate;
            points
        };
        rates.iter().flat_map(echo).collect()
    }

    #[test]
    fn half_of_the_best_rate_counts_from_where_it_stays() {
        let check = |rates: &[(u64, f64)], expected: Option<(&str, f64)>| {
            let points = echoes(rates);
            let found = half_length(&points.iter().collect::<Vec<_>>());
            let found = found.as_ref().map(|answer| (&*answer.what, answer.value));
            assert_eq!(found, expected);
        };
        let dip = [(64, 1e9), (1536, 7e9), (4096, 2e9), (32_768, 8e9), (65_536, 13e9)];
        let twice = "half of that: first at 1536 B, for good from";
        check(&dip, Some((twice, 32_768.0)));
        check(&[(64, 1e9), (4096, 7e9), (65_536, 13e9)], Some(("half of that from", 4096.0)));
        check(&[(64, 13e9)], None);
    }

    #[test]
    fn kernels_of_one_name_are_told_apart() {
        let records = fixture::records();
        let barrier = fixture::points(&records).find(|of| of.kernel == "barrier").unwrap();
        let other = Point { suite: "naive".into(), ..barrier.clone() };
        let found = glance(None, &[barrier.clone(), other]);
        let names: Vec<_> = found.iter().map(|answer| &*answer.what).collect();
        assert_eq!(names, ["comet/barrier among 2", "naive/barrier among 2"]);
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
    fn the_longest_call_beside_work_has_its_hidden_share_and_the_name_of_the_formula() {
        let topology = fixture::topology();
        let lines = |shares: &[(u64, f64)]| {
            let mut maker = crate::points::PointMaker::new("id", &topology);
            let points: Vec<Point> = shares
                .iter()
                .flat_map(|(length, share)| maker.measured(&fixture::iallreduce(*length, *share)))
                .collect();
            let answers = glance(None, &points);
            let of_shares = answers.iter().filter(|answer| answer.unit == "%");
            of_shares.map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(
            lines(&[(65536, 0.8), (8, 0.25)]),
            ["iallreduce of 64 KiB hides (OSU's formula)         80 %"]
        );
        // No share of a whole, and none of what was not measured beside work.
        assert!(lines(&[(8, f64::NAN)]).is_empty() && lines(&[]).is_empty());
    }

    #[test]
    fn what_was_not_measured_has_no_answer() {
        let records = fixture::records();
        let skipped = fixture::points(&records).filter(|point| point.numbers().is_none()).cloned();
        assert_eq!(glance(None, &skipped.collect::<Vec<_>>()), []);
        assert_eq!(glance(None, &[]), []);
    }
}
