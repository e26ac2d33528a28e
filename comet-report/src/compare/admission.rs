//! Launches that count for a point: one for each seed of a simulation, and those in which a cache
//! line takes as long between ranks 0 and 1.
//!
//! A simulation repeats its times with its seed, so two launches with one seed are one. The host of a
//! virtual machine moves its CPUs, and a message between two threads of one core costs a fraction of
//! one between two cores, so launches before and after a move are of two machines.

use super::evidence::Launch;
use crate::places::{self, Place};
use crate::record::Transport;

/// Launches of both sides, and the number of the others.
pub(super) struct Admitted<'a> {
    pub(super) base: Vec<Launch<'a>>,
    pub(super) new: Vec<Launch<'a>>,
    /// Launches that repeat the seed or the text of an earlier one on the same side.
    pub(super) n_repeated: usize,
    /// Launches at another line time.
    pub(super) n_moved: usize,
    /// The shortest and the longest line time of all launches, in nanoseconds, where some are left out.
    pub(super) lines_ns: Option<[f64; 2]>,
}

/// The launches of `base` and `new` that count: those at the line time `at`, in nanoseconds, or at
/// that which most have in common.
///
/// All launches are left out if no line time is common to both sides.
pub(super) fn admit<'a>(base: &[Launch<'a>], new: &[Launch<'a>], at: Option<f64>) -> Admitted<'a> {
    let [base, new] = [base, new].map(of_each_seed);
    let n_repeated = base.1 + new.1;
    let (base, new) = (base.0, new.0);
    let lines: Vec<[f64; 2]> = base.iter().chain(&new).filter_map(Launch::line_ns).collect();
    let places: Vec<Place> = match at {
        Some(ns) => vec![Place::at(ns)],
        None if places::apart(&lines).is_some() => Place::starts(&lines).collect(),
        None => return Admitted { base, new, n_repeated, n_moved: 0, lines_ns: None },
    };
    let of_places = places.into_iter().map(|place| [&base, &new].map(|side| of_place(place, side)));
    let size =
        |[base, new]: &[Vec<Launch<'a>>; 2]| (base.len().min(new.len()), base.len() + new.len());
    let counted = of_places.max_by_key(size).unwrap_or_default();
    let n_moved = base.len() + new.len() - counted.iter().map(Vec::len).sum::<usize>();
    let lines_ns = places::around(&lines).filter(|_| n_moved > 0);
    let [base, new] = counted;
    Admitted { base, new, n_repeated, n_moved, lines_ns }
}

/// The first launch of each seed and of each imported text, and the number of the others.
fn of_each_seed<'a>(launches: &[Launch<'a>]) -> (Vec<Launch<'a>>, usize) {
    let mut seen: Vec<(&Transport, u64)> = Vec::new();
    let mut texts: Vec<&str> = Vec::new();
    let is_first = |launch: &&Launch<'a>| match (launch.seed(), launch.text()) {
        (Some(seed), _) if seen.contains(&seed) => false,
        (_, Some(text)) if texts.contains(&text) => false,
        (seed, text) => {
            seen.extend(seed);
            texts.extend(text);
            true
        }
    };
    let first: Vec<Launch<'a>> = launches.iter().filter(is_first).copied().collect();
    let n_repeated = launches.len() - first.len();
    (first, n_repeated)
}

/// The launches of one side that were measured at `place`.
fn of_place<'a>(place: Place, side: &[Launch<'a>]) -> Vec<Launch<'a>> {
    let is_there =
        |launch: &&Launch<'a>| launch.line_ns().is_none_or(|line_ns| place.holds(line_ns));
    side.iter().filter(is_there).copied().collect()
}
