//! Units of evidence of one side: its runs, or the launches of a single one for each number of ranks.
//!
//! Launches of one run share its minutes, in which the host moves the cores and other guests come and
//! go; two runs of a second each seem to differ where nothing has changed.

use std::collections::BTreeSet;

use crate::runs::{RunRecords, by_launch, n_ranks};

/// Seconds over which the launches of a single run have to lie to stand for the machine.
const MIN_PERIOD_S: f64 = 60.0;

/// The runs of a side, or the launches of its runs where each number of ranks has one alone.
pub(super) fn of(runs: &[RunRecords]) -> Vec<RunRecords> {
    if are_alone(runs) { by_launch(runs) } else { runs.to_vec() }
}

/// True if no two of `runs` have the same number of ranks, so that no run measures the points of another.
fn are_alone(runs: &[RunRecords]) -> bool {
    runs.iter().map(n_ranks).collect::<BTreeSet<_>>().len() == runs.len()
}

/// True if the launches of a run that stands alone lie too close to each other.
pub(super) fn are_hasty(runs: &[RunRecords]) -> bool {
    are_alone(runs) && runs.iter().any(is_hasty)
}

/// True if the launches of `run` lie too close to each other. Those of a simulation have seeds of their
/// own, and no minutes.
fn is_hasty(run: &RunRecords) -> bool {
    let is_virtual = run.run.as_ref().is_some_and(|run| run.clock.is_virtual);
    let ends_s = || run.launches.iter().map(|point| point.t_rel_s);
    let first_s = ends_s().fold(f64::INFINITY, f64::min);
    let last_s = ends_s().fold(f64::NEG_INFINITY, f64::max);
    !is_virtual && last_s - first_s < MIN_PERIOD_S && !run.launches.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::record::Point;
    use crate::runs::split;

    #[test]
    fn the_launches_of_a_single_run_count_if_they_lie_apart() {
        let run = |period_s: f64| {
            let mut run = split(fixture::records()).remove(0);
            let point = run.points[0].clone();
            let launch = |number: u32| {
                let t_rel_s = period_s / 4.0 * f64::from(number - 1);
                Point { launch: Some(number), t_rel_s, ..point.clone() }
            };
            run.launches = (1..=5).map(launch).collect();
            run
        };
        assert!(are_hasty(&[run(2.0)]) && !are_hasty(&[run(300.0)]));
        assert!(!are_hasty(&[run(2.0), run(2.0)]) && !are_hasty(&[]));
        assert_eq!((of(&[run(2.0)]).len(), of(&[run(2.0), run(2.0)]).len()), (5, 2));
        let mut simulated = run(2.0);
        simulated.run.as_mut().unwrap().clock.is_virtual = true;
        assert!(!are_hasty(&[simulated]));
        let mut larger = run(300.0);
        larger.run.as_mut().unwrap().world.size += 1;
        assert_eq!(
            of(&[run(300.0), larger.clone()]).len(),
            10,
            "runs over different numbers of ranks"
        );
        assert!(are_hasty(&[run(2.0), larger]));
    }
}
