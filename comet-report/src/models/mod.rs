//! Models: laws of the points of a sweep together.
//!
//! ```text
//!   line       t = t0 + n / r_inf              over message or vector lengths
//!   hops       t = t0 + n per_byte + (h-1) per_hop   over lengths and distances
//!   scaling    t = a + b f(P)                  over numbers of ranks, of all runs of a file
//!   intensity  r = r_hat / (1 + f_half / f)    over the work on each word (POLY1 to POLY3)
//!   loggp      t = o_s + L + o_r + (s-1) G     over lengths, from trains of messages
//!   max_rate   t = t0 + k n / min(R_N, k R_C)  over lengths and numbers of pairs
//!   overlap    the hidden share, four ways     of each case of messages beside work
//!   rates      r_inf of each P                 from the lines, of all runs of a file
//! ```
//!
//! The mathematics is in `comet_stats::fit`. Times are fitted in us, so that a rate in units of size
//! over us is one in 10^6 of them a second. `KINDS` chooses the model by the axes, the class and
//! the evaluation that the record states for a kernel.

mod laws;
mod ranges;
mod sizes;
mod slices;
pub(crate) mod sweep;

pub(crate) use laws::operations;
pub(crate) use slices::is_plausible;

use comet_core::kernel::{AxisKind, Class, Evaluation};

use self::sweep::{Sweep, Times, groups, is_ok};
use crate::older::N_RANKS;
use crate::order::grouped;
use crate::record::{AxisFacts, Fit, FitGrade, MESH, Model, Over, Parameter, Point, RANKS};
use crate::runs::{RunRecords, source_numbers};

/// The parameters that change with the number of ranks.
pub(crate) const FREE: [&str; 4] = [RANKS, N_RANKS, MESH[0], MESH[1]];

/// A kind of model: the axes of its sweeps, the points that it takes, and its fit to a sweep, with
/// breakpoints of the user's.
struct Kind {
    over: &'static [Over],
    takes: fn(&Point) -> bool,
    fit: fn(Sweep<'_>, &[u64]) -> Option<Model>,
}

const KINDS: [Kind; 8] = [
    Kind { over: &[Over::Message], takes: sizes::is_of_message, fit: sizes::model },
    Kind { over: &[Over::Vector], takes: sizes::is_of_vector, fit: sizes::model },
    Kind { over: &[Over::Message, DISTANCE], takes: goes_away, fit: laws::distance },
    Kind { over: &[Over::Vector, DISTANCE], takes: goes_away, fit: laws::distance },
    Kind { over: &[Over::Kind(AxisKind::Intensity)], takes: moves_words, fit: laws::intensity },
    Kind { over: &[Over::Message, Over::Vector], takes: is_train, fit: slices::loggp },
    Kind {
        over: &[Over::Message, Over::Kind(AxisKind::Pairs)],
        takes: |_| true,
        fit: laws::shared_rate,
    },
    Kind { over: &[], takes: is_overlap, fit: slices::overlap },
];
/// Number of the kinds before the growth with the number of ranks, which is one of all runs.
const BEFORE_GROWTH: usize = 4;

pub(crate) const DISTANCE: Over = Over::Kind(AxisKind::Distance);

fn goes_away(point: &Point) -> bool {
    point.on(DISTANCE) > Some(0)
}

/// True if words move between ranks; without, no intensity pays for them.
fn moves_words(point: &Point) -> bool {
    point.facts.class() != Some(Class::Compute)
}

fn is_train(point: &Point) -> bool {
    point.facts.evaluation == Evaluation::Trains && point.series() == Some(0)
}

fn is_overlap(point: &Point) -> bool {
    point.facts.class() == Some(Class::Overlap) && point.series() == Some(0)
}

/// The models of all sweeps among `points`; those without numbers are passed over.
///
/// The sweeps over sizes are cut at `breakpoints`, in the unit of the swept axis, or, without any,
/// where the points themselves show a break.
pub fn models(points: &[&Point], breakpoints: &[u64]) -> Vec<Model> {
    let points: Vec<&Point> = points.iter().copied().filter(|point| is_ok(point)).collect();
    let of_kinds = |kinds: &'static [Kind]| {
        kinds.iter().flat_map(|kind| kind.models(&points, breakpoints)).collect::<Vec<_>>()
    };
    let (first, second) = KINDS.split_at(BEFORE_GROWTH);
    let across = groups(points.iter().copied(), |_| FREE.to_vec(), false);
    let growth = across.into_iter().filter_map(|points| laws::growth(&points));
    let mut models: Vec<Model> =
        of_kinds(first).into_iter().chain(growth).chain(of_kinds(second)).collect();
    let rates: Vec<Model> =
        groups_of_lines(models.iter()).iter().map(|group| rates(group)).collect();
    models.extend(rates);
    models
}

impl Kind {
    /// The models of all sweeps of one run over the axes.
    fn models(&self, all: &[&Point], breakpoints: &[u64]) -> Vec<Model> {
        let is_on = |point: &Point| self.over.iter().all(|over| point.on(*over).is_some());
        let swept = all.iter().copied().filter(|point| is_on(point) && (self.takes)(point));
        let model = |points: Vec<&Point>| {
            let axes = self.axes(points[0]);
            (self.fit)(Sweep { points, axes, all, times: Times::default() }, breakpoints)
        };
        let sweeps = groups(swept, |point| self.names(point), true);
        sweeps.into_iter().filter_map(model).collect()
    }

    fn names<'a>(&self, point: &'a Point) -> Vec<&'a str> {
        self.axes(point).into_iter().map(|axis| &*axis.name).collect()
    }

    fn axes<'a>(&self, point: &'a Point) -> Vec<&'a AxisFacts> {
        self.over.iter().filter_map(|over| point.facts.over(*over)).collect()
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fitted {
    pub(crate) run: usize,
    pub(crate) source: usize,
    pub(crate) model: Model,
}

/// The models of `runs`, from all points of each source: the ones that tables and figures share.
pub(crate) fn of_runs(runs: &[RunRecords]) -> Vec<Fitted> {
    let sources = source_numbers(runs);
    let n_sources = sources.last().map_or(0, |last| last + 1);
    let of_source = |source: usize| {
        let indices = || (0..runs.len()).filter(|index| sources[*index] == source);
        let points: Vec<&Point> = indices().flat_map(|index| &runs[index].points).collect();
        let fitted = |model: Model| {
            let is_of_run = |index: &usize| {
                runs[*index].points.iter().any(|point| point.run_id == model.run_id)
            };
            Some(Fitted { run: indices().rfind(is_of_run)?, source, model })
        };
        models(&points, &[]).into_iter().filter_map(fitted).collect::<Vec<_>>()
    };
    (0..n_sources).flat_map(of_source).collect()
}

/// The lines of each sweep that was fitted on at least two numbers of ranks, ascending.
pub(crate) fn groups_of_lines<'m>(
    models: impl Iterator<Item = &'m Model>,
) -> Vec<Vec<(u64, &'m Model)>> {
    let lines = models.filter(|model| model.model == "line" && asymptotic(model).is_some());
    let groups = grouped(lines.filter_map(|model| {
        let key = (&model.suite, &model.kernel, &model.variant, &model.x);
        Some(((key, model.params.without(&FREE)), (model.params.ranks()?, model)))
    }));
    let mut groups: Vec<_> = groups.into_iter().map(|(_, group)| group).collect();
    groups.iter_mut().for_each(|group| group.sort_by_key(|(n_ranks, _)| *n_ranks));
    groups.retain(|group| group[0].0 < group[group.len() - 1].0);
    groups
}

/// The fit of the largest sizes, if its r_inf and n_half are published.
pub(crate) fn asymptotic(model: &Model) -> Option<&Fit> {
    let fit = *quoted(model).last().filter(|fit| fit.to == model.fits[0].to)?;
    values(fit, ["r_inf", "n_half"]).iter().all(Option::is_some).then_some(fit)
}

/// Asymptotic rates over numbers of ranks: r_inf of each line of one sweep, in a row for each P (COMMS3
/// of the PARKBENCH report is to be read so).
fn rates(group: &[(u64, &Model)]) -> Model {
    let (_, last) = group[group.len() - 1];
    let row = |(n_ranks, model): &(u64, &Model)| {
        Some(Fit { name: format!("P={n_ranks}"), ..asymptotic(model)?.clone() })
    };
    Model {
        params: last.params.without(&FREE),
        model: "rates".into(),
        fits: group.iter().filter_map(row).collect(),
        breakpoints: Vec::new(),
        marks: Vec::new(),
        warnings: Vec::new(),
        ..last.clone()
    }
}

/// The fits of `model` to quote: its first, or its segments where one law does not describe all
/// points.
pub(crate) fn quoted(model: &Model) -> Vec<&Fit> {
    let first = model.fits.first();
    if first.is_some_and(|fit| fit.quality.verdict == FitGrade::Segment) {
        return model.fits.iter().filter(|fit| fit.name == "segment").collect();
    }
    first.into_iter().collect()
}

pub(crate) fn value(parameters: &[Parameter], name: &str) -> Option<f64> {
    parameters.iter().find(|parameter| parameter.name == name)?.value
}

pub(crate) fn values<const N: usize>(fit: &Fit, names: [&str; N]) -> [Option<f64>; N] {
    names.map(|name| value(&fit.parameters, name))
}

#[cfg(test)]
pub(crate) mod tests;
