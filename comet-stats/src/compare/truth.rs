//! Comparisons against planted truth: how often they are wrong, and how often they find a change.
//!
//! A longer look is `COMET_TRUTH_SEEDS=20000 cargo test -p comet-stats compare::truth`.

use oorandom::Rand64;

use super::{FALSE_SHARE, Launches, MARGIN, Verdict, adjusted};
use crate::truth::n_trials;
use crate::{mean, normal};

/// Comparisons of each test, unless the environment says otherwise.
const N_TRIALS: u32 = 1000;
/// Standard deviation from launch to launch, of the logarithm of a time.
const SPREAD: f64 = 0.05;
/// Launches of one side.
const N_LAUNCHES: usize = 5;

/// Launches of a point that is `change` times slower in half of them.
fn launches(change: f64, random: &mut Rand64) -> Launches {
    let mut side = |shift: f64| -> Vec<f64> {
        (0..N_LAUNCHES).map(|_| shift + SPREAD * normal(random)).collect()
    };
    Launches { base: side(0.0), new: side(change.ln()), is_paired: false }
}

/// The share of comparisons of a point with this change, for which `verdict` comes out.
fn share(change: f64, is_paired: bool, verdict: Verdict) -> f64 {
    let mut random = Rand64::new(1);
    let found = (0..n_trials(N_TRIALS)).filter(|_| {
        let launches = Launches { is_paired, ..launches(change, &mut random) };
        launches.difference().expect("there are launches").verdict(MARGIN) == verdict
    });
    found.count() as f64 / f64::from(n_trials(N_TRIALS))
}

#[test]
fn a_point_that_did_not_change_is_rarely_called_slower() {
    for is_paired in [false, true] {
        let found = share(1.0, is_paired, Verdict::Slower);
        assert!(found <= 0.01, "{found} of all comparisons, in pairs: {is_paired}");
    }
}

#[test]
fn a_change_of_a_fifth_is_found_by_five_launches() {
    let found = share(1.2, false, Verdict::Slower);
    assert!(found >= 0.90, "{found} of all comparisons");
    let found = share(1.0 / 1.2, false, Verdict::Faster);
    assert!(found >= 0.90, "{found} of all comparisons");
}

/// The verdict of looks at 5, 10 and 20 pairs, of which the first that decides ends the comparison;
/// a launch is `far` off with a probability of a tenth.
fn sequential(change: f64, spread: f64, far: f64, random: &mut Rand64) -> Verdict {
    let mut launch = |shift: f64| {
        let far = if random.rand_float() < 0.1 { far } else { 1.0 };
        shift + far.ln() + spread * normal(random)
    };
    let mut side =
        |shift: f64| -> Vec<f64> { (0..4 * N_LAUNCHES).map(|_| launch(shift)).collect() };
    let (base, new) = (side(0.0), side(change.ln()));
    let look = |n: usize| {
        let [base, new] = [&base, &new].map(|all| all[..n].to_vec());
        let launches = Launches { base, new, is_paired: true };
        launches.difference().expect("there are launches").verdict(MARGIN)
    };
    let looks = [1, 2, 4].map(|factor| look(factor * N_LAUNCHES));
    let decided = looks.into_iter().find(|verdict| *verdict != Verdict::Inconclusive);
    decided.unwrap_or(Verdict::Inconclusive)
}

#[test]
fn launches_that_are_added_until_points_are_decided_find_more_and_little_that_is_false() {
    let share = |change, spread, far, verdict| {
        let mut random = Rand64::new(4);
        let is_it = |_: &u32| sequential(change, spread, far, &mut random) == verdict;
        let n_trials = n_trials(N_TRIALS);
        (0..n_trials).filter(is_it).count() as f64 / f64::from(n_trials)
    };
    for spread in [SPREAD, 2.0 * SPREAD] {
        for (far, most) in [(1.0, 0.01), (1.4, 0.02)] {
            let found = share(1.0, spread, far, Verdict::Slower);
            assert!(found <= most, "{found} of all comparisons at {spread}, {far}");
        }
    }
    let found = share(1.15, SPREAD, 1.0, Verdict::Slower);
    assert!(found >= 0.90, "{found} of all comparisons");
    let found = share(1.15, SPREAD / 2.0, 1.4, Verdict::Slower);
    assert!(found >= 0.90, "{found} of all comparisons, some far off");
}

#[test]
fn the_interval_holds_the_true_ratio() {
    let mut random = Rand64::new(2);
    let held = (0..n_trials(N_TRIALS)).filter(|_| {
        let found = launches(1.1, &mut random).difference().expect("there are launches");
        (found.low..=found.high).contains(&1.1f64.ln())
    });
    let share = held.count() as f64 / f64::from(n_trials(N_TRIALS));
    assert!((0.93..=0.975).contains(&share), "{share} of all intervals");
}

#[test]
fn of_what_is_discovered_among_many_points_little_is_false() {
    // Of 100 points 20 have changed, none of them by more than the launches can barely see.
    let mut random = Rand64::new(3);
    let false_share = |random: &mut Rand64| {
        let changes = (0..100).map(|point| if point < 20 { 1.12 } else { 1.0 });
        let p: Vec<f64> =
            changes.map(|change| launches(change, random).difference().unwrap().p(0.0)).collect();
        let discovered: Vec<usize> =
            adjusted(&p).iter().enumerate().filter(|(_, q)| **q <= 0.05).map(|(i, _)| i).collect();
        let n_false = discovered.iter().filter(|point| **point >= 20).count();
        n_false as f64 / discovered.len().max(1) as f64
    };
    let shares: Vec<f64> = (0..n_trials(N_TRIALS) / 5).map(|_| false_share(&mut random)).collect();
    let found = mean(&shares);
    assert!(found <= 0.05, "{found} of all discoveries are false");
}

#[test]
fn among_many_changes_just_at_the_margin_few_comparisons_call_any_slower() {
    let mut random = Rand64::new(5);
    let finds_any = |_: &u32| {
        let found: Vec<_> = (0..100)
            .map(|_| launches(1.0 + MARGIN, &mut random).difference().expect("there are launches"))
            .collect();
        let q = adjusted(&found.iter().map(|of| of.p_slower(MARGIN)).collect::<Vec<_>>());
        let mut all = found.iter().zip(q);
        all.any(|(of, q)| of.verdict(MARGIN) == Verdict::Slower && q <= FALSE_SHARE)
    };
    let n_trials = n_trials(N_TRIALS) / 5;
    let found = (0..n_trials).filter(finds_any).count() as f64 / f64::from(n_trials);
    assert!(found <= 0.10, "{found} of all comparisons");
}
