//! Launches that count for a point: one for each seed of a simulation, and those in which a cache
//! line takes as long between ranks 0 and 1.
//!
//! A simulation repeats its times with its seed, so two launches with one seed are one. The host of a
//! virtual machine moves its CPUs, and a message between two threads of one core costs a fraction of
//! one between two cores, so launches before and after a move are of two machines.

use std::collections::BTreeSet;

use super::evidence::Launch;
use crate::places::{self, Place};
use crate::record::Transport;

/// Launches of both sides, and the number of the others.
pub(super) struct Admitted<'a> {
    pub(super) base: Vec<Launch<'a>>,
    pub(super) new: Vec<Launch<'a>>,
    /// Launches that repeat the seed of an earlier one on the same side.
    pub(super) n_repeated: usize,
    /// Launches at another line time.
    pub(super) n_moved: usize,
    /// The shortest and the longest line time of all launches, in nanoseconds, where some are left out.
    pub(super) lines_ns: Option<[f64; 2]>,
}

/// The launches of `base` and `new` that count; pairs are those of one index, and count together.
///
/// All launches are left out if no line time is common to both sides.
pub(super) fn admit<'a>(base: &[Launch<'a>], new: &[Launch<'a>], are_pairs: bool) -> Admitted<'a> {
    let [base, new] = [base, new].map(of_each_seed);
    let n_repeated = base.1 + new.1;
    let (base, new) = (base.0, new.0);
    let are_pairs = are_pairs && base.len() == new.len();
    let n_all = base.len() + new.len();
    let lines: Vec<[f64; 2]> = base.iter().chain(&new).filter_map(Launch::line_ns).collect();
    let Some(all @ [_, _]) = places::apart(&lines) else {
        return Admitted { base, new, n_repeated, n_moved: 0, lines_ns: None };
    };
    let of_places = Place::starts(&lines).map(|place| of_place(place, [&base, &new], are_pairs));
    let size =
        |[base, new]: &[Vec<Launch<'a>>; 2]| (base.len().min(new.len()), base.len() + new.len());
    let [base, new] = of_places.max_by_key(size).unwrap_or_default();
    let n_moved = n_all - base.len() - new.len();
    Admitted { base, new, n_repeated, n_moved, lines_ns: Some(all) }
}

/// The first launch of each seed, and the number of the others.
fn of_each_seed<'a>(launches: &[Launch<'a>]) -> (Vec<Launch<'a>>, usize) {
    let mut seen: Vec<(&Transport, u64)> = Vec::new();
    let is_first = |launch: &&Launch<'a>| match launch.seed() {
        Some(seed) if seen.contains(&seed) => false,
        seed => {
            seen.extend(seed);
            true
        }
    };
    let first: Vec<Launch<'a>> = launches.iter().filter(is_first).copied().collect();
    let n_repeated = launches.len() - first.len();
    (first, n_repeated)
}

/// The launches of both sides that were measured at `place`.
fn of_place<'a>(place: Place, sides: [&[Launch<'a>]; 2], are_pairs: bool) -> [Vec<Launch<'a>>; 2] {
    let is_there =
        |launch: &Launch<'a>| launch.line_ns().is_none_or(|line_ns| place.holds(line_ns));
    let is_out = |side: &[Launch<'a>]| -> BTreeSet<usize> {
        (0..side.len()).filter(|index| !is_there(&side[*index])).collect()
    };
    let [mut of_base, mut of_new] = sides.map(is_out);
    if are_pairs {
        of_base.append(&mut of_new.clone());
        of_new.clone_from(&of_base);
    }
    let kept = |side: &[Launch<'a>], out: &BTreeSet<usize>| {
        let indices = (0..side.len()).filter(|index| !out.contains(index));
        indices.map(|index| side[index]).collect()
    };
    [kept(sides[0], &of_base), kept(sides[1], &of_new)]
}
