//! The parameters of models on both sides: startup time, bandwidth, half-performance length.
//!
//! They are for information: each launch fits its own, and their intervals speak of one launch.

use std::collections::BTreeMap;

use comet_stats::median;
use serde::Serialize;

use crate::record::{Model, Parameter, Params};
use crate::runs::RunRecords;
use crate::words;

/// The parameters that are compared.
const NAMES: [&str; 3] = ["t0", "r_inf", "n_half"];

/// One parameter of the models of one sweep.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ParameterRow {
    /// Suite, kernel and series.
    pub kernel: String,
    /// Common parameters of all points of the sweep.
    pub params: Params,
    /// Its name (`t0`).
    pub name: String,
    /// Its unit (`us`).
    pub unit: String,
    /// In the base.
    pub base: Spread,
    /// In the new runs.
    pub new: Spread,
    /// New over base.
    pub ratio: Option<f64>,
    /// True if the intervals have values in common; `null` if one has no ends.
    pub overlap: Option<bool>,
}

/// A parameter over several launches: medians of what each of them says.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// The value.
    pub value: Option<f64>,
    /// Lower end of its 95 % interval.
    pub low: Option<f64>,
    /// Upper end of its 95 % interval.
    pub high: Option<f64>,
}

/// Key of a parameter of the models of a sweep.
type Key = (String, String, String);
/// Models with one parameter each.
type Found<'a> = BTreeMap<Key, Vec<(&'a Model, &'a Parameter)>>;

/// The parameters that both sides have.
pub(super) fn rows(base: &[RunRecords], new: &[RunRecords]) -> Vec<ParameterRow> {
    let (base, new) = (by_key(base), by_key(new));
    let both = base.iter().filter_map(|(key, of_base)| Some((of_base, new.get(key)?)));
    both.map(|(of_base, of_new)| row(of_base, of_new)).collect()
}

fn by_key(runs: &[RunRecords]) -> Found<'_> {
    let mut found: Found<'_> = BTreeMap::new();
    for model in runs.iter().flat_map(|records| &records.models) {
        // The first fit is the one to quote.
        let parameters = model.fits.first().map_or(&[][..], |fit| &fit.parameters);
        for parameter in parameters.iter().filter(|of| NAMES.contains(&&*of.name)) {
            let kernel = words::kernel(&model.suite, &model.kernel, model.variant.as_deref());
            let sweep = format!("{} {} {}", model.model, model.x, model.params);
            found
                .entry((kernel, sweep, parameter.name.clone()))
                .or_default()
                .push((model, parameter));
        }
    }
    found
}

fn row(base: &[(&Model, &Parameter)], new: &[(&Model, &Parameter)]) -> ParameterRow {
    let (model, parameter) = base[0];
    let (base, new) = (spread(base), spread(new));
    let ratio = |base: f64, new: f64| (base > 0.0 && new > 0.0).then(|| new / base);
    ParameterRow {
        kernel: words::kernel(&model.suite, &model.kernel, model.variant.as_deref()),
        params: model.params.clone(),
        name: parameter.name.clone(),
        unit: parameter.unit.clone(),
        base,
        new,
        ratio: base.value.zip(new.value).and_then(|(base, new)| ratio(base, new)),
        overlap: overlap(base, new),
    }
}

fn spread(launches: &[(&Model, &Parameter)]) -> Spread {
    let of = |value: fn(&Parameter) -> Option<f64>| {
        median(&launches.iter().filter_map(|(_, parameter)| value(parameter)).collect::<Vec<_>>())
    };
    Spread { value: of(|of| of.value), low: of(|of| of.low), high: of(|of| of.high) }
}

fn overlap(a: Spread, b: Spread) -> Option<bool> {
    Some(a.low? <= b.high? && b.low? <= a.high?)
}
