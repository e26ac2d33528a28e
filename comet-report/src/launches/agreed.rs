//! Points of launches that agree: each case has one outcome in all of them, and its samples start in
//! one way, so that no point is of some launches while another one is of the rest.

use std::collections::{BTreeMap, BTreeSet};

use crate::environment::Warning;
use crate::record::{Measured, Point, PointStatus, SampleSync};

/// The points of `of_launches` that count: of a case with a failure in one launch only failures, of
/// one that some launches skipped the others; and where windows were given up in a launch, only
/// what starts after a barrier.
pub(super) fn agreed(of_launches: &[Point]) -> Vec<&Point> {
    let outcome = |point: &Point| match point.status() {
        PointStatus::Skipped => 0,
        PointStatus::Ok => 1,
        PointStatus::CheckFailed | PointStatus::Failed | PointStatus::Interrupted => 2,
    };
    let all = foremost(of_launches.iter().collect(), case, outcome);
    let start = |point: &Point| u8::from(!has_window(point));
    foremost(all, |point| (case(point), point.variant.as_deref()), start)
}

/// Ids of the kernels among `points` that start after a barrier.
pub(super) fn after_barrier<'a>(points: impl Iterator<Item = &'a Point>) -> Vec<String> {
    let starts = points.filter(|of| starts(of) == Some(SampleSync::Barrier));
    BTreeSet::from_iter(starts.map(Point::id)).into_iter().collect()
}

/// Warnings about the kernels whose windows were given up in one launch, and held in others.
pub(super) fn given_up(of_launches: &[Point]) -> Vec<Warning> {
    let counted = agreed(of_launches);
    let keys: BTreeSet<&str> = counted.iter().map(|point| &*point.key).collect();
    let after_barrier = after_barrier(counted.iter().copied());
    let is_dropped = |point: &&Point| {
        has_window(point) && !keys.contains(&*point.key) && after_barrier.contains(&point.id())
    };
    let mut kernels: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    for point in of_launches.iter().filter(is_dropped) {
        let launches = kernels.entry(point.id()).or_default();
        launches.extend(point.launch.filter(|launch| !launches.contains(launch)));
    }
    kernels.into_iter().map(|(kernel, launches)| dropped(&kernel, &launches)).collect()
}

fn dropped(kernel: &str, launches: &[u32]) -> Warning {
    let numbers: Vec<String> = launches.iter().map(u32::to_string).collect();
    let plural = if launches.len() == 1 { "" } else { "es" };
    Warning {
        code: "window_given_up",
        message: format!(
            "{kernel} starts after a barrier in all launches: its windows were given up in one of \
             them, so that the times of launch{plural} {} are left out",
            numbers.join(", ")
        ),
        hint: "give each rank a core of its own, or ask for --sync barrier",
    }
}

/// True if the samples of `point` start in windows.
pub(super) fn has_window(point: &Point) -> bool {
    starts(point) == Some(SampleSync::Window)
}

/// Start of the samples of `point`.
fn starts(point: &Point) -> Option<SampleSync> {
    point.measured().map(|Measured { plan, .. }| plan.sync)
}

/// Suite, kernel and parameters.
fn case(point: &Point) -> (&str, &str, String) {
    (&point.suite, &point.kernel, point.params.to_string())
}

/// The `points` whose level is the highest among the points of their name.
fn foremost<'a, K: Ord>(
    points: Vec<&'a Point>,
    name: impl Fn(&'a Point) -> K,
    level: impl Fn(&Point) -> u8,
) -> Vec<&'a Point> {
    let mut highest: BTreeMap<K, u8> = BTreeMap::new();
    for point in &points {
        let known = highest.entry(name(point)).or_default();
        *known = level(point).max(*known);
    }
    points.into_iter().filter(|point| highest.get(&name(point)) == Some(&level(point))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::launches::Concluded;
    use crate::points::PointMaker;
    use crate::record::{Param, Record};
    use comet_core::definition::Definition;
    use comet_core::sync::StartSync;

    /// A barrier by D1 as the launch `number` measured it.
    fn barrier(number: u32, sync: StartSync) -> Point {
        let mut measurement = fixture::barrier();
        measurement.series[0].definition = Definition::Completion;
        measurement.pace.sync = sync;
        let point = PointMaker::new("id", &fixture::topology()).measured(&measurement).remove(0);
        Point { launch: Some(number), ..point }
    }

    #[test]
    fn a_window_that_is_given_up_in_one_launch_counts_in_none() {
        let all = [(1, StartSync::Window), (2, StartSync::Barrier), (3, StartSync::Barrier)];
        let all = all.map(|(number, sync)| barrier(number, sync));
        let launches: Vec<_> = agreed(&all).iter().map(|point| point.launch).collect();
        assert_eq!(launches, [Some(2), Some(3)]);
        let [warning] = &given_up(&all)[..] else { panic!("one kernel") };
        assert!(warning.message.ends_with("the times of launch 1 are left out"), "{warning:?}");
        for sync in [StartSync::Window, StartSync::Barrier] {
            let all = [1, 2].map(|number| barrier(number, sync));
            assert_eq!((agreed(&all).len(), given_up(&all).len()), (2, 0));
        }
    }

    #[test]
    fn launches_are_lacking_where_windows_were_given_up() {
        let all = [(1, StartSync::Window), (2, StartSync::Barrier)];
        let all = all.map(|(number, sync)| barrier(number, sync));
        let concluded = |points: &[Point]| {
            let points = crate::launches::merged(None, points);
            let after_barrier = after_barrier(points.iter());
            let tail = points.into_iter().map(|point| Record::Point(Box::new(point))).collect();
            Concluded { head: Vec::new(), tail, after_barrier }
        };
        let of_both = concluded(&all);
        let [point] = &of_both.points().collect::<Vec<_>>()[..] else { panic!("one point") };
        assert_eq!(of_both.after_barrier, ["comet/barrier"]);
        assert!(of_both.lacks_launches(point, 2) && !of_both.lacks_launches(point, 1));
        // Another case of the kernel, which no launch has measured after a barrier yet.
        let mut other = all[0].clone();
        other.params.0.push(("case".into(), Param::Number(1)));
        other.key = "other".into();
        let of_three = concluded(&[all[0].clone(), all[1].clone(), other]);
        let left_over = of_three.points().find(|point| has_window(point)).expect("it is there");
        assert!(of_three.lacks_launches(left_over, 1));
        assert!(concluded(&all[..1]).after_barrier.is_empty());
    }

    #[test]
    fn a_case_has_one_outcome_in_all_launches() {
        let records = fixture::records();
        let failed = |status| {
            let found = fixture::points(&records).find(|point| point.status() == status);
            let own = barrier(2, StartSync::Barrier);
            Point { outcome: found.unwrap().outcome.clone(), key: "other".into(), ..own }
        };
        let check = |status, expected: &[PointStatus]| {
            let all = [barrier(1, StartSync::Barrier), failed(status)];
            let found: Vec<_> = agreed(&all).iter().map(|point| point.status()).collect();
            assert_eq!(found, expected);
        };
        check(PointStatus::Skipped, &[PointStatus::Ok]);
        check(PointStatus::CheckFailed, &[PointStatus::CheckFailed]);
    }
}
