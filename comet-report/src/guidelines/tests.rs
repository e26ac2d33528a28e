//! Guidelines that hold, that are violated, and that launches leave open.

use super::*;
use crate::fixture;
use crate::record::{Param, Params, Point, Record};
use crate::runs::split;

/// A point of `kernel` on 4 ranks in the launch `launch`; `ns` is the time of one operation.
fn point(kernel: &str, length: u64, launch: u32, ns: f64) -> Point {
    let mut point = fixture::collectives("allgather", 4).remove(1);
    let (suite, name) = kernel.split_once('/').unwrap();
    (point.suite, point.kernel) = (suite.to_owned().into(), name.to_owned().into());
    let params = [("length_bytes", length), ("procs", 4)];
    point.params = Params(params.map(|(name, of)| (name.to_owned(), Param::Number(of))).into());
    (point.key, point.launch) = (format!("{kernel} {length}"), Some(launch));
    let numbers = &mut point.measured_mut().unwrap().numbers;
    numbers.quoted_ns = Some(ns);
    (numbers.time_ns.min, numbers.time_ns.max) = (ns, ns);
    point
}

/// A run of launches, each with these times of kernels at lengths in us; those of launch `i` are longer
/// by `i` times a thousandth.
pub(crate) fn run(n_launches: u32, times: &[(&str, u64, f64)]) -> RunRecords {
    let mut run = split(fixture::records()).remove(0);
    let of = |launch: u32| {
        let longer = 1e3 * (1.0 + f64::from(launch) / 1e3);
        times.iter().map(move |(kernel, length, us)| point(kernel, *length, launch, us * longer))
    };
    run.launches = (1..=n_launches).flat_map(of).collect();
    run.points = of(1).map(|point| Point { launch: None, ..point }).collect();
    let launches = split(fixture::records().into_iter().filter(is_run).collect()).remove(0);
    run.run = launches.run;
    for point in &mut run.points {
        point.launches = Some(crate::record::Launches::default());
    }
    run
}

fn is_run(record: &Record) -> bool {
    matches!(record, Record::Run(_))
}

#[track_caller]
fn found<'a>(judgement: &'a Judgement, guideline: &str) -> Vec<&'a Finding> {
    judgement.findings.iter().filter(|of| of.guideline.to_string() == guideline).collect()
}

const SCATTER_ALLGATHER: &str = "bcast <= scatter(n/P) + allgather(n/P)";

#[test]
fn bounds_are_sums_at_the_lengths_that_do_the_same() {
    let times = [("imb/bcast", 64, 30.0), ("imb/scatter", 16, 8.0), ("imb/allgather", 16, 12.0)];
    let run = run(5, &times);
    let [judgement] = &judge(&[run], &[], None)[..] else { panic!("one world") };
    let [finding] = &found(judgement, SCATTER_ALLGATHER)[..] else { panic!("{judgement:?}") };
    assert!((finding.factor - 1.5).abs() < 1e-9, "{finding:?}");
    assert_eq!((finding.verdict, finding.n_launches, finding.length_bytes), (Holds::No, 5, 64));
    let text = judgement.to_string();
    let sentence = "violated: bcast <= scatter(n/P) + allgather(n/P) at 64 B: 30.090 us \
                    against 20.060 us, 1.5 times (exact; Traff 2010)\n";
    assert!(text.contains(sentence), "{text}");
    assert_eq!(judgement.json()["findings"][1]["verdict"], "violated");
    for why in [
        "imb/reduce_scatter_block was not measured: no run has it",
        "skampi/pingpong_send_recv vector:8:16 was not measured: its layout is about a library (measure over MPI)",
    ] {
        assert!(judgement.unjudged.iter().any(|(_, reason)| reason == why), "{judgement:?}");
    }
}

#[test]
fn longer_messages_take_no_less_and_no_more_than_their_pieces() {
    let times = [("imb/gather", 8, 10.0), ("imb/gather", 32, 41.0), ("imb/gather", 40, 20.0)];
    let [judgement] = &judge(&[run(3, &times)], &["gather".into()], None)[..] else {
        panic!("one world")
    };
    let verdicts = |name| -> Vec<_> {
        let found = found(judgement, name);
        found.iter().map(|of| (of.length_bytes, of.verdict)).collect()
    };
    assert_eq!(verdicts("gather(n) <= gather(longer)"), [(8, Holds::Yes), (32, Holds::No)]);
    // 41 us are within 5 % of 4 times 10 us; 40 bytes are no multiple of 32.
    assert_eq!(verdicts("gather(k n) <= k gather(n)"), [(32, Holds::Yes), (40, Holds::Yes)]);
}

#[test]
fn launches_that_vary_or_are_few_decide_nothing() {
    let times = [("imb/gather", 8, 13.0), ("imb/allgather", 8, 10.0)];
    let single = judge(&[run(1, &times)], &[], None);
    let [finding] = &found(&single[0], "gather <= allgather")[..] else { panic!("one length") };
    assert_eq!((finding.verdict, finding.interval), (Holds::Open, None));
    assert!(single[0].is_open());
    let mut varies = run(3, &times);
    for (point, ns) in
        varies.launches.iter_mut().filter(|of| &*of.kernel == "gather").zip([13e3, 8e3, 19e3])
    {
        point.measured_mut().unwrap().numbers.quoted_ns = Some(ns);
    }
    let varies = judge(&[varies], &[], None);
    let [finding] = &found(&varies[0], "gather <= allgather")[..] else { panic!("one length") };
    assert_eq!(finding.verdict, Holds::Open, "{finding:?}");
    assert_eq!(varies[0].violations().count(), 0);
}

#[test]
fn simulated_times_need_no_launches_and_a_violation_exceeds_one_percent() {
    let check = |us: f64, expected: Holds| {
        let mut run = run(0, &[("imb/gather", 8, us), ("imb/allgather", 8, 10.0)]);
        run.points.iter_mut().for_each(|point| point.launches = None);
        run.run.as_mut().unwrap().clock.is_virtual = true;
        let judged = judge(&[run], &[], None);
        let [finding] = &found(&judged[0], "gather <= allgather")[..] else { panic!("one") };
        assert_eq!(finding.verdict, expected, "{finding:?}");
        assert_eq!(judged[0].violations().count(), usize::from(expected == Holds::No));
        judged[0].to_string()
    };
    check(10.0, Holds::Yes);
    check(10.099, Holds::Yes);
    assert!(check(10.2, Holds::No).contains(" us, 1.02 times (exact; "));
    check(9.0, Holds::Yes);
}

#[test]
fn sides_that_start_in_different_ways_are_not_held_against_each_other() {
    let mut run = run(3, &[("imb/gather", 8, 20.0), ("imb/allgather", 8, 10.0)]);
    for point in run.launches.iter_mut().filter(|of| &*of.kernel == "gather") {
        point.measured_mut().unwrap().plan.sync = crate::record::SampleSync::Window;
    }
    assert_eq!(judge(std::slice::from_ref(&run), &["gather".into()], None), Vec::new());
    let mut longer = point("imb/gather", 16, 1, 2e4);
    longer.measured_mut().unwrap().plan.sync = crate::record::SampleSync::Window;
    run.points.push(Point { launch: None, ..longer.clone() });
    run.launches.push(longer);
    let judged = judge(&[run], &[], None);
    let all = judged[0].unjudged.iter();
    let reasons: Vec<_> = all.filter(|(of, _)| of.to_string() == "gather <= allgather").collect();
    let why = &reasons[0].1;
    assert!(
        why.starts_with("imb/gather is measured by D1 completion, ranks start in a window and "),
        "{why}"
    );
}

#[test]
fn machines_are_judged_apart() {
    let of = |machine: &str, us: f64| {
        let mut run = run(5, &[("imb/gather", 8, us), ("imb/allgather", 8, 10.0)]);
        let labels = &mut run.run.as_mut().unwrap().labels;
        labels.insert("machine".into(), machine.into());
        run
    };
    let judged = judge(&[of("t3e", 20.0), of("sp2", 5.0)], &[], None);
    let verdicts = judged.iter().map(|of| (&*of.platform.machine, of.violations().count()));
    assert_eq!(verdicts.collect::<Vec<_>>(), [("t3e", 1), ("sp2", 0)]);
    assert!(
        judged[1].to_string().starts_with("# guidelines on 4 ranks over shm on sp2, 5 launches")
    );
}
