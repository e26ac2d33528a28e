//! Models: what the points of a sweep say together, beyond what each of them says.
//!
//! ```text
//!   sizes    t = t0 + n / r_inf                over message or vector lengths
//!   rates    r_inf of each P                   from those lines, of all runs of a file
//!   hops     t = t0 + n per_byte + (h-1) per_hop   over lengths and distances
//!   procs    t = a + b f(P)                    over numbers of ranks, of all runs of a file
//!   order    r = r_hat / (1 + f_half / f)      over the work on each word (POLY1 to POLY3)
//!   loggp    t = o_s + L + o_r + (s-1) G       over lengths, from trains of messages
//!   max_rate t = t0 + k n / min(R_N, k R_C)    over lengths and numbers of pairs
//!   overlap  the hidden share, four ways       of each case of comet/overlap
//! ```
//!
//! The mathematics is in `comet_stats::fit`. Times are fitted in us, so that a rate in units of size
//! over us is one in 10^6 of them a second.

mod hops;
mod loggp;
mod max_rate;
mod order;
mod overlap;
pub(crate) mod procs;
pub(crate) mod rates;
mod sizes;
pub(crate) mod sweep;
mod wire;

use crate::record::{Fit, Model, Parameter, Point, Verdict};
use crate::runs::{RunRecords, source_numbers};

/// Makes the models of one kind from points, with breakpoints of the user's.
type Maker = fn(&[&Point], &[u64]) -> Vec<Model>;

/// The kinds of models.
const MAKERS: &[Maker] = &[
    sizes::models,
    hops::models,
    procs::models,
    order::models,
    loggp::models,
    max_rate::models,
    overlap::models,
];

/// The models of all sweeps among `points`; those without numbers are passed over.
///
/// The sweeps over sizes are cut at `breakpoints`, in the unit of the swept axis, or, without any,
/// where the points themselves show a break.
#[must_use]
pub fn models(points: &[&Point], breakpoints: &[u64]) -> Vec<Model> {
    let mut models: Vec<Model> = MAKERS.iter().flat_map(|make| make(points, breakpoints)).collect();
    models.extend(rates::models(&models));
    models
}

/// A model, with the numbers of its run and of its source.
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

/// The fits of `model` to quote: its first, or its segments where one law does not describe all
/// points.
pub(crate) fn quoted(model: &Model) -> Vec<&Fit> {
    let first = model.fits.first();
    if first.is_some_and(|fit| fit.quality.verdict == Verdict::Segment) {
        return model.fits.iter().filter(|fit| fit.name == "segment").collect();
    }
    first.into_iter().collect()
}

/// The value of the parameter `name`, if it is published.
pub(crate) fn value(parameters: &[Parameter], name: &str) -> Option<f64> {
    parameters.iter().find(|parameter| parameter.name == name)?.value
}

#[cfg(test)]
pub(crate) mod tests;
