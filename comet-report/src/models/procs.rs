//! Times over numbers of ranks: the laws of growth, each with its weight (SYNCH1 and COMMS3 of the
//! PARKBENCH report are to be read so), or that there is no growth.

use comet_stats::fit::{Candidate, Growth, Scaling};

use super::sweep::{groups, number, real, time_us};
use super::wire::{blank, fit, parameter};
use crate::record::{Fit, Model, Point};

/// The parameters that change with the number of ranks.
pub(crate) const FREE: &[&str] = &["procs", "n_ranks", "mesh_rows", "mesh_cols"];

/// The models of all cases that were measured on at least four numbers of ranks, in whatever runs.
pub(super) fn models(points: &[&Point], _breakpoints: &[u64]) -> Vec<Model> {
    groups(points, FREE, false).iter().filter_map(|points| model(points)).collect()
}

fn model(points: &[&Point]) -> Option<Model> {
    let pair = |point: &&Point| Some((real(number(point, "procs")?), time_us(point)?));
    let pairs: Vec<(f64, f64)> = points.iter().map(pair).collect::<Option<_>>()?;
    let scaling = Scaling::fit(&pairs).ok()?;
    let n_ranks = || pairs.iter().map(|(n_ranks, _)| *n_ranks);
    let extent = [n_ranks().fold(f64::INFINITY, f64::min), n_ranks().fold(0.0, f64::max)];
    let mut model = blank(points, FREE, "scaling", ["procs", ""]);
    model.fits = scaling.candidates.iter().map(|candidate| wire(candidate, extent)).collect();
    Some(model)
}

fn wire(candidate: &Candidate, extent: [f64; 2]) -> Fit {
    let Candidate { growth, line, weight } = candidate;
    let mut parameters = vec![parameter("a", "us", Some(line.t0), line.t0_range())];
    if *growth != Growth::None {
        parameters.push(parameter("b", "us", Some(line.per_unit), line.per_unit_range()));
        parameters.push(parameter("weight", "", Some(*weight), None));
    }
    let law = format!("t = {}", growth.formula());
    fit([growth.name(), &law], extent, parameters, &line.quality, 1)
}
