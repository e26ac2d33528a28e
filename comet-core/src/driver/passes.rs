//! The order of the slices: every case of a kernel is visited once in each pass; and further message
//! lengths between those of a sweep, where its times bend or jump, or where another algorithm becomes
//! the fastest.
//!
//! ```text
//!   pass 1   check ── warm up ── slice   of each case, in ascending order, or shuffled as well
//!                                        in launches that follow another
//!   pass 2   slice                       of each case that is not done, in a shuffled order
//!   …
//!   at last  check ── tell               of each case, in ascending order
//! ```
//!
//! Samples that follow each other are not independent, so those of one case are spread over the
//! time that the whole kernel takes: slow changes of the machine reach all cases alike, and show in
//! the interval of each. All sweeps of a group that are refined take a step at a time together, so
//! that their slices lie between each other's as well.

use oorandom::Rand32;

use super::conductor::Entry;
use super::settings::Settings;
use crate::kernel::{ALGORITHM, Axis, Case, KernelInfo, LENGTH_BYTES};
use crate::sample::Sample;
use comet_stats::refine::{Crossings, Limits, Reading, Refiner, Rule, Step};

/// The longest time that the cases of one group may take, in nanoseconds: what is lost if the job
/// is killed in the middle of one.
const MAX_GROUP_NS: u64 = 60_000_000_000;

/// Memory that the samples of one group may take on rank 0, in bytes.
const MAX_GROUP_BYTES: u64 = 256 << 20;

/// The cases of `cases` that are measured together: of one kernel, and no more than fit into a
/// minute and into the memory of rank 0, unless one sweep of lengths takes more.
pub(super) fn groups<'a>(
    cases: &'a [Case],
    settings: &Settings,
    n_ranks: usize,
) -> Vec<&'a [Case]> {
    let in_time = MAX_GROUP_NS / settings.case_budget_ns.max(1);
    let of_slices = settings.slices.max.saturating_mul(settings.slices.max_samples);
    let n_samples = u64::from(settings.samples.unwrap_or(of_slices));
    let case_bytes = n_samples * (n_ranks * size_of::<Sample>()) as u64;
    let most = in_time.min(MAX_GROUP_BYTES / case_bytes.max(1));
    // Those that are held against each other stay together.
    let belong =
        if settings.refine == Some(Rule::Crossings) { are_of_one_race } else { are_of_one_sweep };
    let (mut groups, mut start, mut end) = (Vec::new(), 0, 0);
    for sweep in cases.chunk_by(belong) {
        let is_other = start < end && !cases[start].info.is_of_kernel(sweep[0].info);
        if is_other || (start < end && (end - start + sweep.len()) as u64 > most) {
            groups.push(&cases[start..end]);
            start = end;
        }
        end += sweep.len();
    }
    groups.extend((start < end).then(|| &cases[start..end]));
    groups
}

/// True if two cases on the same ranks differ in nothing but the message length.
pub(super) fn are_of_one_sweep(a: &Case, b: &Case) -> bool {
    differ_in(a, b, |axis| *axis == LENGTH_BYTES)
}

/// True if two cases on the same ranks differ in nothing but message length and algorithm.
fn are_of_one_race(a: &Case, b: &Case) -> bool {
    differ_in(a, b, |axis| *axis == LENGTH_BYTES || axis.name == ALGORITHM)
}

/// True if two cases of one kernel on the same ranks differ on no other axes than these.
fn differ_in(a: &Case, b: &Case, may_differ: impl Fn(&Axis) -> bool) -> bool {
    let same_values = || a.values().zip(b.values()).all(|(a, b)| may_differ(a.0) || a == b);
    a.info.is_of_kernel(b.info) && a.arrangement() == b.arrangement() && same_values()
}

/// The order in which the pass number `pass`, from 1, visits the cases `open` of a group.
pub(super) fn order(pass: u32, mut open: Vec<usize>, settings: &Settings) -> Vec<usize> {
    if settings.is_shuffled && (pass > 1 || settings.shuffles_first) {
        // Seeds of launches differ in their upper halves, so that a pass is a stream of its own.
        let mut random = Rand32::new_inc(settings.seed, u64::from(pass));
        for last in (1..open.len()).rev() {
            let bound = u32::try_from(last + 1).expect("a plan has fewer than 2^32 cases");
            open.swap(last, random.rand_range(0..bound) as usize);
        }
    }
    open
}

/// The fewest lengths of a sweep that can be refined: two lines need as many points.
const MIN_LENGTHS: usize = 4;

/// One sweep of message lengths and its refinement, or the sweeps of all algorithms.
pub(super) struct Sweep {
    first: Case,
    search: Search,
}

/// The search for further lengths.
enum Search {
    /// On a curve.
    Bends(Refiner),
    /// Between curves.
    Crossings(Crossings),
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
    if rule == Rule::Crossings {
        let races = entries.chunk_by(|a, b| are_of_one_race(&a.case, &b.case));
        let search = || Search::Crossings(Crossings::default());
        return races.map(|race| Sweep { first: race[0].case, search: search() }).collect();
    }
    let limits = Limits { max_slices: settings.slices.max, ..Limits::default() };
    let of_one_sweep = |a: &Entry, b: &Entry| are_of_one_sweep(&a.case, &b.case);
    let of_lengths = entries
        .chunk_by(of_one_sweep)
        .filter(|sweep| sweep.len() >= MIN_LENGTHS && sweep[0].case.find(&LENGTH_BYTES).is_some());
    let search = || Search::Bends(Refiner::new(rule, limits));
    of_lengths.map(|sweep| Sweep { first: sweep[0].case, search: search() }).collect()
}

/// The readings of these entries, with their numbers in the group.
fn readings<'e>(
    entries: &'e [Entry],
    is_own: impl Fn(&Case) -> bool + 'e,
) -> impl Iterator<Item = (usize, Reading)> + 'e {
    let own = entries.iter().enumerate().filter(move |(_, entry)| is_own(&entry.case));
    own.filter_map(|(index, entry)| Some((index, entry.state.as_ref().ok()?.reading()?)))
}

impl Sweep {
    /// Next requests, given all cases of the group; none if the sweep is done.
    pub(super) fn next(&mut self, entries: &[Entry]) -> Vec<Wish> {
        let first = self.first;
        let refiner = match &mut self.search {
            Search::Bends(refiner) => refiner,
            Search::Crossings(crossings) => return race(&first, crossings, entries),
        };
        let own: Vec<(usize, Reading)> =
            readings(entries, |case| are_of_one_sweep(case, &first)).collect();
        let readings: Vec<Reading> = own.iter().map(|(_, reading)| *reading).collect();
        match refiner.next(&readings) {
            Step::Done => vec![],
            Step::Measure(size) => vec![Wish::Case(first.with(&LENGTH_BYTES, size))],
            Step::MoreSlices(size) => {
                let found = own.iter().find(|(_, reading)| reading.size == size);
                vec![Wish::Slice(found.expect("a sweep asks for sizes that it has").0)]
            }
        }
    }
}

/// Cases of all algorithms at the next length, if there is one.
fn race(first: &Case, crossings: &mut Crossings, entries: &[Entry]) -> Vec<Wish> {
    let mut sweeps: Vec<Case> = Vec::new();
    for Entry { case, .. } in entries.iter().filter(|entry| are_of_one_race(&entry.case, first)) {
        if !sweeps.iter().any(|known| are_of_one_sweep(known, case)) {
            sweeps.push(*case);
        }
    }
    let of_sweep = |sweep: &Case| {
        let own = |case: &Case| are_of_one_sweep(case, sweep);
        readings(entries, own).map(|(_, reading)| reading).collect::<Vec<Reading>>()
    };
    let curves: Vec<Vec<Reading>> = sweeps.iter().map(of_sweep).collect();
    let Some(size) = crossings.next(&curves) else { return vec![] };
    // An algorithm that was refused at all lengths is refused here too.
    let raced = sweeps.iter().zip(&curves).filter(|(_, curve)| !curve.is_empty());
    let cases = raced.map(|(sweep, _)| sweep.with(&LENGTH_BYTES, size));
    cases.filter(Case::has_whole_elements).map(Wish::Case).collect()
}

/// The cases of a group in the order of the plan, with the new ones where their lengths belong.
pub(super) fn in_order(mut entries: Vec<Entry>) -> Vec<Entry> {
    let sweep_of = |entry: &Entry, all: &[Case]| {
        all.iter().position(|case| are_of_one_sweep(case, &entry.case))
    };
    let all: Vec<Case> = entries.iter().map(|entry| entry.case).collect();
    entries.sort_by_cached_key(|entry| (sweep_of(entry, &all), entry.case.find(&LENGTH_BYTES)));
    entries
}

/// The kernels of `cases`, each once.
pub(super) fn kernels(cases: &[Case]) -> Vec<&'static KernelInfo> {
    let groups = cases.chunk_by(|a, b| a.info.is_of_kernel(b.info));
    let mut infos: Vec<&'static KernelInfo> = Vec::new();
    for info in groups.map(|group| group[0].info) {
        if !infos.iter().any(|known| known.is_of_kernel(info)) {
            infos.push(info);
        }
    }
    infos
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Profile;

    #[test]
    fn the_first_pass_ascends_and_later_ones_are_shuffled_alike_for_one_seed() {
        let mut settings = Settings::of(Profile::Standard);
        let all: Vec<usize> = (0..50).collect();
        assert_eq!(order(1, all.clone(), &settings), all);
        let second = order(2, all.clone(), &settings);
        assert_eq!(order(2, all.clone(), &settings), second);
        assert_ne!(second, all);
        assert_ne!(order(3, all.clone(), &settings), second);
        let mut sorted = second.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, all);
        settings.seed += 1;
        assert_ne!(order(2, all.clone(), &settings), second);
        settings.is_shuffled = false;
        assert_eq!(order(2, all.clone(), &settings), all);
    }

    #[test]
    fn each_pass_of_each_launch_has_an_order_of_its_own() {
        let all: Vec<usize> = (0..20).collect();
        let of_launch = |launch: u64| {
            let mut settings = Settings::of(Profile::Standard);
            settings.seed += launch << 32;
            settings.shuffles_first = launch > 0;
            [1, 2, 3].map(|pass| order(pass, all.clone(), &settings))
        };
        let orders: std::collections::BTreeSet<_> = (0..4).flat_map(of_launch).collect();
        assert_eq!(orders.len(), 12);
        assert!(orders.contains(&all), "that of the first pass of the first launch");
        let settings =
            Settings { shuffles_first: true, is_shuffled: false, ..Settings::of(Profile::Quick) };
        assert_eq!(order(1, all.clone(), &settings), all);
    }
}
