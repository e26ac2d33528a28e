//! Bounds of rates: memory copies of the same lengths, where the run measured them.
//!
//! An operation of two ranks is held against the copy of one rank. One of more ranks is held against
//! copies of all ranks at once: as many of them as it moves messages, at most one on each rank.

use std::collections::BTreeMap;

use comet_core::kernel::{Class, Evaluation, GROUPS, Participants};

use crate::models::sweep::real;
use crate::record::{Over, Point};

/// Ranks that copy at once; the numbers are those of the series of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Copiers {
    All,
    One,
}

/// Ranks of a group, number of groups, and ranks that copy.
type Place = (u64, u64, Copiers);

/// Rates of the memory copies of a run, in bytes per second of one rank, by length.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bounds(BTreeMap<Place, BTreeMap<u64, f64>>);

impl Bounds {
    /// The copies among `points`.
    pub(crate) fn of<'a>(points: impl Iterator<Item = &'a Point>) -> Self {
        let mut bounds = Self::default();
        points.for_each(|point| bounds.note(point));
        bounds
    }

    /// Adds `point` if it is a copy with a rate.
    pub(crate) fn note(&mut self, point: &Point) {
        let copiers = point.series().and_then(|series| [Copiers::All, Copiers::One].get(series));
        let found = copiers.zip(point.on(Over::Message)).zip(point.bytes_per_s());
        let Some(((copiers, length), rate)) = found.filter(|_| is_copy(point)) else { return };
        self.0.entry(place(point, *copiers)).or_default().insert(length, rate);
    }

    /// True if there is a bound for the kernel of `point` on its ranks.
    pub(crate) fn hold_for(&self, point: &Point) -> bool {
        self.copies(point).is_some()
    }

    /// Rate of `point` in percent of its bound; `None` where either was not measured.
    pub(crate) fn percent(&self, point: &Point) -> Option<f64> {
        let (rates, n_copies) = self.copies(point)?;
        let rate = rates.get(&point.on(Over::Message)?)?;
        Some(100.0 * point.bytes_per_s()? / (rate * n_copies))
    }

    /// The bound of the kernel of `point`, on its ranks: lengths and bytes per second.
    pub(crate) fn line(&self, point: &Point) -> Vec<(u64, f64)> {
        let Some((rates, n_copies)) = self.copies(point) else { return Vec::new() };
        rates.iter().map(|(length, rate)| (*length, rate * n_copies)).collect()
    }

    /// Rates of the copies that bound the kernel of `point`, and their number.
    fn copies(&self, point: &Point) -> Option<(&BTreeMap<u64, f64>, f64)> {
        let moves = point.facts.class().is_some_and(Class::moves_messages);
        let bytes = point.value().filter(|_| moves)?.bytes_per_op?;
        let length = point.on(Over::Message)?;
        let copiers = copiers(point);
        let rates = self.0.get(&place(point, copiers))?;
        let n_messages = bytes.checked_div(length).unwrap_or(1);
        let n_ranks = point.params.ranks().unwrap_or(1);
        let n_copies = if copiers == Copiers::All { n_messages.clamp(1, n_ranks) } else { 1 };
        Some((rates, real(n_copies)))
    }
}

/// Ranks whose copies bound the kernel of `point`.
pub(crate) fn copiers(point: &Point) -> Copiers {
    match point.facts.participants {
        Participants::One | Participants::Pair => Copiers::One,
        Participants::Group | Participants::All => Copiers::All,
    }
}

impl Copiers {
    /// Name of the bound in tables and figures.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::All => "memory copy by all ranks at once",
            Self::One => "memory copy by one rank",
        }
    }
}

fn is_copy(point: &Point) -> bool {
    point.facts.evaluation == Evaluation::MemoryCopy
}

fn place(point: &Point, copiers: Copiers) -> Place {
    let ranks = point.params.ranks().unwrap_or(0);
    (ranks, point.number(GROUPS.name).unwrap_or(1), copiers)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::figures::figures;
    use crate::plot::Body;
    use crate::points::PointMaker;
    use crate::record::{KernelFacts, Param, Record, SeriesFacts};
    use crate::runs::RunRecords;
    use crate::{fixture, format};

    /// A point of an echo of `length` bytes at `bytes_per_s`.
    fn echo(length: u64, bytes_per_s: f64) -> Point {
        let mut points = PointMaker::new("id", &fixture::topology());
        let mut point = points.measured(&fixture::echo(length)).remove(0);
        let numbers = &mut point.measured_mut().unwrap().numbers;
        if let Some(rate) = &mut numbers.rate {
            rate.bytes_per_s = bytes_per_s;
        }
        point
    }

    /// A copy of `length` bytes by one rank or by all, at `bytes_per_s` for each.
    fn copy(copiers: Copiers, length: u64, bytes_per_s: f64) -> Point {
        let mut point = echo(length, bytes_per_s);
        let names = ["all_ranks", "one_rank"];
        let [quantity, definition] = ["op_time", "D3 test_node"].map(str::to_owned);
        let series = |name: &str| SeriesFacts {
            name: name.into(),
            quantity: quantity.clone(),
            definition: definition.clone(),
        };
        let facts = KernelFacts {
            id: "model/memcpy".into(),
            class: Class::Compute.as_str().into(),
            participants: Participants::All,
            evaluation: Evaluation::MemoryCopy,
            series: names.map(series).into(),
            ..KernelFacts::clone(&point.facts)
        };
        (point.suite, point.kernel) = ("model".into(), "memcpy".into());
        (point.variant, point.facts) = (Some(names[copiers as usize].into()), Arc::new(facts));
        point.class = Class::Compute.as_str().into();
        point.params.0.retain(|(name, _)| name != "hops");
        point
    }

    fn of_all_ranks(mut point: Point, bytes_per_op: u64) -> Point {
        let facts = KernelFacts {
            class: Class::Collective.as_str().into(),
            participants: Participants::All,
            ..KernelFacts::clone(&point.facts)
        };
        point.facts = Arc::new(facts);
        point.measured_mut().unwrap().numbers.value.bytes_per_op = Some(bytes_per_op);
        point
    }

    #[test]
    fn a_table_has_the_shares_and_a_figure_the_line_of_a_copy_that_was_measured() {
        let lengths = [(1000, 6.1e9), (2000, 5e9)];
        let echoes = || lengths.map(|(length, rate)| echo(length, rate));
        let copies = || [1000, 2000].map(|length| copy(Copiers::One, length, 10e9));
        let table = |points: Vec<Point>| {
            let records: Vec<_> =
                points.into_iter().map(|point| Record::Point(Box::new(point))).collect();
            let mut text = Vec::new();
            format::find("table").unwrap().write(&records, &mut text).unwrap();
            String::from_utf8(text).unwrap()
        };
        let text = table(copies().into_iter().chain(echoes()).collect());
        assert!(text.contains("%copy: rate in percent of that of a memory copy by one rank"));
        let ends = |end: &str| text.lines().any(|line| line.ends_with(end));
        assert!(ends("   6100.0   61.0") && ends("   5000.0   50.0"), "{text}");
        assert!(!table(echoes().into()).contains("%copy"));

        let lines = |points: Vec<Point>| -> Vec<Vec<f64>> {
            let run = RunRecords { points, ..RunRecords::default() };
            let figures = figures(&[run]);
            let figure = figures.iter().find(|figure| figure.id == "comet-echo-bandwidth").unwrap();
            let Body::Chart(chart) = &figure.body else { panic!("a chart") };
            let bounds =
                chart.series.iter().filter(|series| series.name.starts_with("memory copy"));
            bounds.map(|series| series.points.iter().map(|point| point.y).collect()).collect()
        };
        assert_eq!(lines(copies().into_iter().chain(echoes()).collect()), [[10e9, 10e9]]);
        assert!(lines(echoes().into()).is_empty());
    }

    #[test]
    fn a_rate_is_held_against_copies_of_its_length_by_as_many_ranks() {
        let copies = [copy(Copiers::All, 1000, 8e9), copy(Copiers::One, 1000, 10e9)];
        let bounds = Bounds::of(copies.iter());
        let check = |point: &Point, expected| assert_eq!(bounds.percent(point), expected);
        check(&echo(1000, 6.1e9), Some(61.0));
        check(&echo(2000, 6.1e9), None);
        // The rate at which each rank gets its copy, and that of all messages of two ranks.
        check(&of_all_ranks(echo(1000, 4e9), 1000), Some(50.0));
        check(&of_all_ranks(echo(1000, 4e9), 12_000), Some(25.0));
        check(&copies[0], None);
        let mut elsewhere = echo(1000, 6.1e9);
        elsewhere.params.0.retain(|(name, _)| name != "procs");
        elsewhere.params.0.push(("procs".into(), Param::Number(7)));
        check(&elsewhere, None);
        assert!(bounds.hold_for(&echo(0, 1.0)) && !bounds.hold_for(&elsewhere));
        assert!(!Bounds::default().hold_for(&echo(1000, 1.0)));
    }
}
