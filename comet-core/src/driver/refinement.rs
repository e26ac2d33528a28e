//! Further message lengths between those of a sweep, where its times bend or jump.
//!
//! All sweeps of a group take a step at a time together, so that their slices lie between each
//! other's as those of the plan do.

use super::conductor::Entry;
use super::passes;
use super::settings::Settings;
use crate::kernel::{Case, LENGTH_BYTES};
use comet_stats::refine::{Limits, Reading, Refiner, Rule, Step};

/// The fewest lengths of a sweep that can be refined: two lines need as many points.
const MIN_LENGTHS: usize = 4;

/// One sweep of message lengths, and its refinement.
pub(super) struct Sweep {
    first: Case,
    refiner: Refiner,
}

/// Next request of a sweep.
pub(super) enum Wish {
    /// A case that is not measured yet.
    Case(Case),
    /// A slice more of the case with this number in the group.
    Slice(usize),
}

/// The sweeps among the cases of a group that `rule` can refine.
pub(super) fn sweeps(entries: &[Entry], rule: Rule, settings: &Settings) -> Vec<Sweep> {
    let limits = Limits { max_slices: settings.slices.max, ..Limits::default() };
    let of_one_sweep = |a: &Entry, b: &Entry| passes::are_of_one_sweep(&a.case, &b.case);
    let of_lengths = entries
        .chunk_by(of_one_sweep)
        .filter(|sweep| sweep.len() >= MIN_LENGTHS && sweep[0].case.find(&LENGTH_BYTES).is_some());
    of_lengths
        .map(|sweep| Sweep { first: sweep[0].case, refiner: Refiner::new(rule, limits) })
        .collect()
}

impl Sweep {
    /// Next request, given all cases of the group; `None` if the sweep is done.
    pub(super) fn next(&mut self, entries: &[Entry]) -> Option<Wish> {
        let is_own = |entry: &Entry| passes::are_of_one_sweep(&entry.case, &self.first);
        let own: Vec<(usize, Reading)> = entries
            .iter()
            .enumerate()
            .filter(|(_, entry)| is_own(entry))
            .filter_map(|(index, entry)| Some((index, entry.state.as_ref().ok()?.reading()?)))
            .collect();
        let readings: Vec<Reading> = own.iter().map(|(_, reading)| *reading).collect();
        match self.refiner.next(&readings) {
            Step::Done => None,
            Step::Measure(size) => Some(Wish::Case(self.first.with(&LENGTH_BYTES, size))),
            Step::MoreSlices(size) => {
                let found = own.iter().find(|(_, reading)| reading.size == size);
                Some(Wish::Slice(found.expect("a sweep asks for sizes that it has").0))
            }
        }
    }
}

/// The cases of a group in the order of the plan, with the new ones where their lengths belong.
pub(super) fn in_order(mut entries: Vec<Entry>) -> Vec<Entry> {
    let sweep_of = |entry: &Entry, all: &[Case]| {
        all.iter().position(|case| passes::are_of_one_sweep(case, &entry.case))
    };
    let all: Vec<Case> = entries.iter().map(|entry| entry.case).collect();
    entries.sort_by_cached_key(|entry| (sweep_of(entry, &all), entry.case.find(&LENGTH_BYTES)));
    entries
}
