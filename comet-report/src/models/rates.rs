//! Asymptotic rates over numbers of ranks: r_inf of each line of one sweep, in a row for each P (COMMS3
//! of the PARKBENCH report is to be read so).

use super::{FREE, quoted, values};
use crate::record::{Fit, Model};

/// The tables of all sweeps whose r_inf is known on at least two numbers of ranks.
pub(super) fn models(models: &[Model]) -> Vec<Model> {
    groups(models.iter()).iter().map(|group| table(group)).collect()
}

/// The lines of each sweep that was fitted on at least two numbers of ranks, ascending.
pub(crate) fn groups<'m>(models: impl Iterator<Item = &'m Model>) -> Vec<Vec<(u64, &'m Model)>> {
    let is_alike = |a: &Model, b: &Model| {
        (&a.suite, &a.kernel, &a.variant, &a.x) == (&b.suite, &b.kernel, &b.variant, &b.x)
            && a.params.without(&FREE) == b.params.without(&FREE)
    };
    let mut groups: Vec<Vec<(u64, &Model)>> = Vec::new();
    for model in models.filter(|model| model.model == "line" && asymptotic(model).is_some()) {
        let Some(n_ranks) = model.params.ranks() else { continue };
        match groups.iter_mut().find(|group| is_alike(group[0].1, model)) {
            Some(group) => group.push((n_ranks, model)),
            None => groups.push(vec![(n_ranks, model)]),
        }
    }
    groups.iter_mut().for_each(|group| group.sort_by_key(|(n_ranks, _)| *n_ranks));
    groups.retain(|group| group[0].0 < group[group.len() - 1].0);
    groups
}

/// The fit of the largest sizes, if its r_inf and n_half are published.
pub(crate) fn asymptotic(model: &Model) -> Option<&Fit> {
    let fit = *quoted(model).last()?;
    values(fit, ["r_inf", "n_half"]).iter().all(Option::is_some).then_some(fit)
}

fn table(group: &[(u64, &Model)]) -> Model {
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
