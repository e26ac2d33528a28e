//! Oddities of a run: results that call for an explanation, each as a sentence with its points.
//!
//! ```text
//!   above law     a point far above the lines through the other lengths
//!   switch        a protocol switch: the lines of shorter and of longer messages are apart at it
//!   inversion     a length that takes longer than a larger one
//!   fall          a rate that the longest messages reach half of at most
//!   two speeds    points whose times have two levels, together
//!   naive         a collective slower than its naive form
//!   part          a rank, a host or a pair that stands out (suite `health`)
//! ```
//!
//! Two times differ where their 95 % intervals do. A time without an interval is no evidence, except
//! in a simulation, and for a fall, of which the two longest lengths tell.

use comet_core::kernel::{Class, Evaluation};
use comet_stats::fit::{Bounds, Segment, segments};

use crate::health::{FACTOR, Health};
use crate::models::sweep::{groups, real};
use crate::order::grouped;
use crate::plot::Quantity;
use crate::record::{BUFFERS, Launches, Oddity, Over, Param, Point, Run};
use crate::runs::RunRecords;
use crate::units::time;
use crate::words::{self, count};

/// Factor between a time and the line of the other lengths that puts it far above.
const FAR: f64 = 2.0;
/// The largest error of lines that a point is held against, relative to the times.
const MAX_ERROR: f64 = 0.1;
/// Step from the line on one side of a switch to a point on the other, relative to the longer time.
const MIN_STEP: f64 = 0.1;
/// Least ratio of two times, beyond their intervals, that is reported.
const SLOWER: f64 = 1.05;
/// Points, or kernels, that a sentence names at most; the record has the keys of all.
const MAX_NAMED: usize = 3;

/// Minor version of the schema from which the end of a run has its oddities.
const SCHEMA_MINOR: u32 = 10;

/// The oddities of `run`: those that its end has, or else those among its points.
pub fn of_run(run: &RunRecords) -> Vec<Oddity> {
    let facts = run.run.as_deref();
    let has_odd = facts.is_some_and(|facts| facts.schema_minor >= SCHEMA_MINOR);
    let ended = run.end.as_ref().filter(|_| has_odd).map(|end| end.odd.clone());
    ended.unwrap_or_else(|| odd(facts, &run.points))
}

/// The oddities among `points`, those of the run `run`.
pub(crate) fn odd(run: Option<&Run>, points: &[Point]) -> Vec<Oddity> {
    let is_virtual = run.is_some_and(|run| run.clock.is_virtual);
    let ok: Vec<&Point> = points.iter().filter(|of| of.numbers().is_some()).collect();
    let mut found: Vec<Oddity> = [Over::Message, Over::Vector]
        .iter()
        .flat_map(|over| Curve::all(&ok, *over, is_virtual))
        .flat_map(Curve::oddities)
        .collect();
    found.extend(Curve::all(&ok, Over::Message, true).iter().filter_map(Curve::fall));
    found.extend(two_speeds(&ok));
    found.extend(slower_than_naive(&ok, is_virtual));
    let health = Health::of_points(run, points, FACTOR);
    let parts = health.iter().flat_map(Health::outliers);
    found.extend(parts.map(|what| Oddity { what, keys: Vec::new() }));
    found
}

/// The 95 % interval of the figure of `point`; of a virtual time without one, the range of its times.
fn range_ns(point: &Point, is_virtual: bool) -> Option<[f64; 2]> {
    let of_all = || point.time_ns().filter(|_| is_virtual).map(|time| [time.min, time.max]);
    point.interval_ns().or_else(of_all)
}

/// The parameters of `point` but for those in `without`: `8 B, 1 hop`.
fn case(point: &Point, without: &[&str]) -> String {
    let axes = point.facts.axes.iter().rev().filter(|axis| !without.contains(&&*axis.name));
    let word = |value: &Param, name| words::parameter(&point.facts, name, value);
    let words = axes.filter_map(|axis| Some(word(point.params.get(&axis.name)?, &axis.name)));
    words.collect::<Vec<_>>().join(", ")
}

/// The kernel and the series of `point`, its ranks where all take part, and its parameters but for
/// those in `without`: `comet/echo, 1 hop`.
fn title(point: &Point, without: &[&str]) -> String {
    let is_of_all = point.facts.class().is_some_and(Class::takes_all_ranks);
    let ranks = point.params.ranks().filter(|_| is_of_all);
    let ranks = ranks.map_or(String::new(), |n_ranks| format!(" among {n_ranks}"));
    let kernel = words::kernel(&point.suite, &point.kernel, point.variant.as_deref());
    let case = case(point, without);
    let comma = if case.is_empty() { "" } else { ", " };
    format!("{kernel}{ranks}{comma}{case}")
}

fn keys(points: &[&Point]) -> Vec<String> {
    points.iter().map(|point| point.key.clone()).collect()
}

/// Times over lengths, ascending, of points that are equal in all else.
struct Curve<'a> {
    axis: &'a str,
    dots: Vec<Dot<'a>>,
}

#[derive(Clone, Copy)]
struct Dot<'a> {
    size: f64,
    ns: f64,
    range_ns: [f64; 2],
    point: &'a Point,
}

impl Dot<'_> {
    fn words(&self, axis: &str) -> String {
        let value = self.point.params.get(axis);
        value.map_or(String::new(), |value| words::parameter(&self.point.facts, axis, value))
    }
}

impl<'a> Curve<'a> {
    /// The curves among `points` whose times are those of messages or collectives alone.
    fn all(points: &[&'a Point], over: Over, is_virtual: bool) -> Vec<Self> {
        let is_plain = |of: &&&Point| {
            let class = of.facts.class();
            let classes = [Class::PointToPoint, Class::Exchange, Class::Collective].map(Some);
            classes.contains(&class) && of.facts.evaluation == Evaluation::Plain
        };
        let is_on = |of: &&&Point| of.on(over).is_some();
        let swept = points.iter().filter(is_plain).filter(is_on).copied();
        let axis = |of: &'a Point| of.facts.over(over).map_or("", |axis| &axis.name);
        let dot = |point: &'a Point| {
            Some(Dot {
                size: real(point.on(over)?),
                ns: point.quoted_ns()?,
                range_ns: range_ns(point, is_virtual)?,
                point,
            })
        };
        let curve = |points: Vec<&'a Point>| {
            let mut dots: Vec<Dot<'a>> = points.iter().filter_map(|point| dot(point)).collect();
            dots.sort_by(|a, b| a.size.total_cmp(&b.size));
            Self { axis: axis(points[0]), dots }
        };
        groups(swept, |of| of.facts.over(over).iter().map(|axis| &*axis.name).collect(), true)
            .into_iter()
            .map(curve)
            .collect()
    }

    fn oddities(mut self) -> Vec<Oddity> {
        let mut found = self.take_above_law();
        let (switches, parts) = self.switches();
        found.extend(switches);
        found.extend(self.inversion(&parts));
        found
    }

    fn oddity(&self, dots: &[Dot<'_>], text: &str) -> Oddity {
        let title = title(dots[0].point, &[self.axis]);
        let keys = dots.iter().map(|dot| dot.point.key.clone()).collect();
        Oddity { what: format!("{title}: {text}"), keys }
    }

    fn words(&self, dot: &Dot<'_>) -> String {
        format!("{} ({})", dot.words(self.axis), time(dot.ns))
    }

    /// The points far above the lines through all others, which leave the curve.
    fn take_above_law(&mut self) -> Vec<Oddity> {
        let mut found = Vec::new();
        let mut index = 1;
        while index < self.dots.len() {
            let Some(law_ns) = self.stands_out(index).then(|| self.law_ns(index)).flatten() else {
                index += 1;
                continue;
            };
            let dot = self.dots[index];
            if dot.range_ns[0] > FAR * law_ns {
                let (words, times) = (dot.words(self.axis), dot.ns / law_ns);
                let text = format!(
                    "{words} takes {}, {times:.1} times what the other lengths predict",
                    time(dot.ns)
                );
                found.push(self.oddity(&[dot], &text));
                self.dots.remove(index);
            } else {
                index += 1;
            }
        }
        found
    }

    /// True if point `index` is far above a line through its neighbours: between them, or beyond the
    /// two before the last.
    fn stands_out(&self, index: usize) -> bool {
        let dots = &self.dots;
        let [a, b] = match index + 1 {
            next if next < dots.len() => [dots[index - 1], dots[next]],
            _ if index >= 2 => [dots[index - 2], dots[index - 1]],
            _ => return false,
        };
        let slope = ((b.ns - a.ns) / (b.size - a.size)).max(0.0);
        dots[index].ns > FAR * (a.ns + slope * (dots[index].size - a.size))
    }

    /// The time of point `index` by the lines through all others; `None` if those do not lie on lines.
    fn law_ns(&self, index: usize) -> Option<f64> {
        let others: Vec<(f64, f64)> =
            self.pairs().enumerate().filter(|(i, _)| *i != index).map(|(_, pair)| pair).collect();
        let found = segments(&others, &Bounds::default()).ok()?;
        let line = |size: f64| found.iter().rfind(|of| of.from <= size).or(found.first());
        let is_near = |(size, ns): &(f64, f64)| {
            line(*size).is_some_and(|of| (of.line.at(*size) / ns - 1.0).abs() <= MAX_ERROR)
        };
        let size = self.dots[index].size;
        others.iter().all(is_near).then(|| line(size).map(|of| of.line.at(size))).flatten()
    }

    fn pairs(&self) -> impl Iterator<Item = (f64, f64)> {
        self.dots.iter().map(|dot| (dot.size, dot.ns))
    }

    /// The protocol switches, and the number of them below each point.
    fn switches(&self) -> (Vec<Oddity>, Vec<usize>) {
        let pairs: Vec<(f64, f64)> = self.pairs().collect();
        let parts = segments(&pairs, &Bounds::default()).unwrap_or_default();
        let (mut found, mut n_below) = (Vec::new(), vec![0; self.dots.len()]);
        for pair in parts.windows(2) {
            let Some((oddity, from)) = self.switch(&pair[0], &pair[1]) else { continue };
            found.push(oddity);
            n_below[from..].iter_mut().for_each(|n| *n += 1);
        }
        (found, n_below)
    }

    /// The switch between two neighbouring lines, and the first point above it: neither that point is
    /// near the line below, nor the last point below it near the line above.
    fn switch(&self, lower: &Segment, upper: &Segment) -> Option<(Oddity, usize)> {
        let from = self.dots.iter().position(|dot| dot.size == upper.from)?;
        let [last, first] = [self.dots[from.checked_sub(1)?], self.dots[from]];
        let steps = [first.ns - lower.line.at(first.size), upper.line.at(last.size) - last.ns];
        let least = steps[0].abs().min(steps[1].abs());
        let width = |dot: &Dot<'_>| dot.range_ns[1] - dot.range_ns[0];
        let is_step = steps[0] * steps[1] > 0.0
            && least > MIN_STEP * last.ns.max(first.ns)
            && least > width(&last).max(width(&first));
        let verb = if steps[0] > 0.0 { "costs" } else { "saves" };
        let is_of_all = first.point.facts.class().is_some_and(Class::takes_all_ranks);
        let kind = if is_of_all { "algorithm" } else { "protocol" };
        let text = format!(
            "{kind} switch between {} and {}, which {verb} {} against the line of shorter lengths",
            self.words(&last),
            self.words(&first),
            time(steps[0].abs())
        );
        is_step.then(|| (self.oddity(&[last, first], &text), from))
    }

    /// The best rate and that of the longest length, if the last two lengths have less than half of it.
    fn fall(&self) -> Option<Oddity> {
        let per_byte = |dot: &Dot<'_>, end: usize| dot.range_ns[end] / dot.size;
        let with_bytes = self.dots.iter().filter(|dot| dot.size > 0.0);
        let best = *with_bytes.min_by(|a, b| per_byte(a, 1).total_cmp(&per_byte(b, 1)))?;
        let [.., before, last] = self.dots[..] else { return None };
        let has_half = |dot: &Dot<'_>| per_byte(dot, 0) <= FAR * per_byte(&best, 1);
        if before.size <= best.size || has_half(&before) || has_half(&last) {
            return None;
        }
        let rate = |dot: &Dot<'_>| {
            let rate = Quantity::BytesPerSecond.write(dot.point.bytes_per_s()?);
            Some(format!("{rate} at {}", dot.words(self.axis)))
        };
        let remedy = match last.point.params.get(BUFFERS) {
            None => " (beyond a cache? --buffers rotate measures all lengths there)",
            Some(_) => "",
        };
        let text = format!("the rate falls from {} to {}{remedy}", rate(&best)?, rate(&last)?);
        Some(self.oddity(&[best, last], &text))
    }

    /// The worst of the points that take longer than a larger one with as many switches below it.
    fn inversion(&self, n_below: &[usize]) -> Option<Oddity> {
        let later = |index: usize| (index + 1..self.dots.len()).map(move |later| (index, later));
        let all = (0..self.dots.len()).flat_map(later);
        let is_one = |(a, b): &(usize, usize)| {
            let [low, high] = [self.dots[*a].range_ns[0], self.dots[*b].range_ns[1]];
            low > SLOWER * high && n_below[*a] == n_below[*b]
        };
        let ratio = |(a, b): &(usize, usize)| self.dots[*a].ns / self.dots[*b].ns;
        let (a, b) = all.filter(is_one).max_by(|a, b| ratio(a).total_cmp(&ratio(b)))?;
        let [short, long] = [self.dots[a], self.dots[b]];
        let text = format!("{} takes longer than {}", self.words(&short), self.words(&long));
        Some(self.oddity(&[short, long], &text))
    }
}

/// The points whose times had two levels.
fn two_speeds(points: &[&Point]) -> Option<Oddity> {
    let has_two = |point: &&Point| {
        let has_others = |of: &Launches| of.other_speeds().next().is_some();
        point.quality().is_some_and(|of| of.is_bimodal || of.has_regimes == Some(true))
            || point.launches.as_ref().is_some_and(has_others)
    };
    let two: Vec<&Point> = points.iter().copied().filter(has_two).collect();
    let kernels = grouped(two.iter().map(|of| (of.id(), *of))).into_iter();
    let named = match two.len() {
        0 => return None,
        n if n <= MAX_NAMED => named(two.iter().map(|of| title(of, &[])), "more"),
        _ => named(kernels.map(|(id, of)| format!("{} of {id}", of.len())), "more kernels"),
    };
    let what = format!("{} of {} at two speeds{named}", two.len(), count(points.len(), "point"));
    Some(Oddity { what, keys: keys(&two) })
}

/// The first of `cases` in words, behind a colon, and the number of the others, which are `more`.
fn named(cases: impl Iterator<Item = String>, more: &str) -> String {
    let mut cases: Vec<String> = cases.filter(|case| !case.is_empty()).collect();
    let n_more = cases.len().saturating_sub(MAX_NAMED);
    cases.truncate(MAX_NAMED);
    cases.extend((n_more > 0).then(|| format!("{n_more} {more}")));
    if cases.is_empty() { String::new() } else { format!(": {}", cases.join("; ")) }
}

/// Collectives that take longer than their naive form in the same case: of each kernel the worst one.
fn slower_than_naive(points: &[&Point], is_virtual: bool) -> Vec<Oddity> {
    let both = points.iter().filter_map(|naive| {
        let id = naive.facts.baseline_for.as_ref()?;
        let is_same = |of: &&&Point| {
            of.id() == *id && of.params == naive.params && of.series() == naive.series()
        };
        let own = points.iter().find(is_same)?;
        let ratio = own.quoted_ns()? / naive.quoted_ns()?;
        let is_slower = range_ns(own, is_virtual)?[0] > SLOWER * range_ns(naive, is_virtual)?[1];
        Some(((own.id(), own.params.ranks()), (ratio, is_slower, [*own, *naive])))
    });
    let oddity = |(_, cases): (_, Vec<(f64, bool, [&Point; 2])>)| {
        let slower: Vec<_> = cases.iter().filter(|(_, is_slower, _)| *is_slower).collect();
        let (ratio, _, [own, naive]) = slower.iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
        let what = format!(
            "{} takes {ratio:.2} times as long as {} ({} of {} slower)",
            title(own, &[]),
            naive.id(),
            slower.len(),
            count(cases.len(), "case"),
        );
        Some(Oddity { what, keys: slower.iter().flat_map(|(.., pair)| keys(pair)).collect() })
    };
    grouped(both).into_iter().filter_map(oddity).collect()
}

#[cfg(test)]
mod tests;
