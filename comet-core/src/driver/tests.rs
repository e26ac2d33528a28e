//! Whole runs of small kernels over the local transport: what every rank and the listener see.

mod fake;

use std::sync::atomic::Ordering;

use super::{DriverError, LoopLimits, Pace, Rules, Settings, conductor};
use crate::error::{TransportError, TransportErrorKind};
use crate::event::{Failure, Measurement, SeriesResult, Stop};
use crate::kernel::{Arrangement, Case, FAULTS, LENGTH_BYTES, MAX_SERIES, Profile, refusal};
use crate::sync::StartSync;
use crate::transport::Rank;
use comet_stats::Summary;
use fake::{
    Collector, FIRST, FOR_THREE, Fake, LOOP, OF_FILES, SECOND, SINGLE, TOO_FLAT, TOO_LITTLE,
    Trouble, Verify, brief, cases, counts, drive, drive_cases, drive_with, is_wrong_on_rank_1,
    overflows, takes_long,
};

/// Checks that a kernel fails so, by the report of `rank`, and that the run then goes on.
fn check_failure(fake: Fake, failure: Failure, rank: Option<Rank>, message: &str) {
    let id = fake.info.id();
    let outcome = drive(3, &[fake, Fake::good(&SECOND)], &brief());
    let n = |kind| usize::from(failure == kind);
    let expected = [1, n(Failure::CheckFailed), n(Failure::Failed), n(Failure::Skipped)];
    assert_eq!(counts(&outcome.end()), expected, "{id}");
    let [found] = &outcome.heard.failures[..] else { panic!("{id} fails once") };
    assert_eq!((found.case.info.id(), found.failure, found.rank), (id, failure, rank));
    assert_eq!(found.message, message);
}

#[test]
fn all_ranks_end_with_the_same_counts_whatever_their_number() {
    for n_ranks in 1..=5 {
        let fakes = [
            Fake::good(&FIRST),
            Fake::checked_by(&SECOND, is_wrong_on_rank_1),
            Fake::good(&TOO_FLAT),
            Fake::good(&SINGLE),
        ];
        let end = drive(n_ranks, &fakes, &brief()).end();
        let n_wrong = usize::from(n_ranks > 1);
        assert_eq!(counts(&end), [3 - n_wrong, n_wrong, 0, 1], "{n_ranks} ranks");
        assert_eq!(end.stop, None);
    }
}

#[test]
fn a_plan_without_cases_starts_and_finishes() {
    let outcome = drive(2, &[], &brief());
    assert_eq!(counts(&outcome.end()), [0; 4]);
    assert_eq!(outcome.heard.log, ["run started", "run finished"]);
}

#[test]
fn events_come_in_order() {
    let fakes = [Fake::good(&FIRST), Fake::good(&TOO_FLAT), Fake::good(&SINGLE)];
    let heard = drive(2, &fakes, &brief()).heard;
    let expected = [
        "run started",
        "started first",
        "finished first",
        "started too_flat",
        "failed too_flat",
        "started single",
        "finished single",
        "run finished",
    ];
    assert_eq!(heard.log, expected);
    let start = heard.start.expect("the run started");
    assert_eq!((start.n_ranks, start.n_cases), (2, 3));
}

/// SK-40 and SK-41: the time of an empty interval, and the step of the clock.
#[test]
fn a_clock_has_a_cost_and_a_step() {
    let start = drive(1, &[], &brief()).heard.start.expect("the run started");
    assert!(start.calibration.cost_ns > 0.0, "{:?}", start.calibration);
    assert!(start.calibration.step_ns.is_some_and(|step_ns| step_ns > 0));
}

#[test]
fn samples_come_from_the_ranks_that_the_definition_names() {
    for n_ranks in 1..=4 {
        let heard = drive(n_ranks, &[Fake::good(&FIRST)], &brief()).heard;
        let ranks = |series: &SeriesResult| -> Vec<_> {
            series.ranks.iter().map(|of_rank| of_rank.rank).collect()
        };
        let [node, all] = &heard.measurements[0].series[..] else { panic!("two series") };
        assert_eq!(ranks(node), [0]);
        assert_eq!(ranks(all), (0..n_ranks).collect::<Vec<_>>());
        for of_rank in node.ranks.iter().chain(&all.ranks) {
            assert_eq!(of_rank.samples.len(), 4, "rank {} of {n_ranks}", of_rank.rank);
        }
    }
}

#[test]
fn a_case_runs_on_the_first_ranks_and_the_others_take_no_sample() {
    let [one, two, five, six] = [1, 2, 5, 6].map(Arrangement::first);
    let arrangements = [two, one, five, Arrangement::ALL, two, six];
    let fakes = [Fake::good(&FIRST), Fake::checked_by(&SECOND, is_wrong_on_rank_1)];
    let outcome =
        drive_cases(5, &cases(&fakes, &arrangements), &fakes, &brief(), Trouble::default());
    // The data of the second kernel is wrong wherever there is a rank 1.
    assert_eq!(counts(&outcome.end()), [6, 4, 0, 2]);
    let of_first = &outcome.heard.measurements[..5];
    for (measurement, arrangement) in of_first.iter().zip(arrangements) {
        assert_eq!(measurement.case.arrangement(), arrangement);
        let ranks = measurement.series[1].ranks.iter().map(|of_rank| of_rank.rank);
        assert_eq!(
            ranks.collect::<Vec<_>>(),
            (0..arrangement.procs.unwrap_or(5)).collect::<Vec<_>>()
        );
    }
    let skipped = &outcome.heard.failures[0];
    assert_eq!(skipped.case.label(), "fake/first procs=6");
    assert_eq!(skipped.message, "needs at least 6 ranks, there are 5 (ask for -n 6)");
}

#[test]
fn groups_run_a_case_at_once_and_the_slowest_makes_the_values() {
    let groups = |procs, n_groups| Arrangement { n_groups, ..Arrangement::first(procs) };
    let arrangements = [groups(2, 2), groups(2, 3)];
    let fakes = [Fake::good(&FIRST), Fake::checked_by(&SECOND, is_wrong_on_rank_1)];
    let cases = cases(&fakes, &arrangements);
    let outcome = drive_cases(5, &cases, &fakes, &brief(), Trouble::default());
    assert_eq!(counts(&outcome.end()), [1, 1, 0, 2]);
    let [node, all] = &outcome.heard.measurements[0].series[..] else { panic!("two series") };
    let ranks = |series: &SeriesResult| Vec::from_iter(series.ranks.iter().map(|of| of.rank));
    assert_eq!((ranks(node), ranks(all)), (vec![0, 2], vec![0, 1, 2, 3]));
    for (index, value_ns) in all.values_ns.iter().enumerate() {
        let of_rank = |rank: usize| all.ranks[rank].samples[index];
        let of_group = |first| all.definition.value_ns(&[of_rank(first), of_rank(first + 1)], 2);
        assert_eq!(*value_ns, f64::max(of_group(0), of_group(2)), "sample {index}");
    }
    let messages = outcome.heard.failures.iter().map(|failure| &*failure.message);
    let message = "needs at least 6 ranks, there are 5 (ask for -n 6)";
    assert_eq!(messages.filter(|found| *found == message).count(), 2);
    assert_eq!(outcome.heard.failures[0].case.label(), "fake/first procs=2 groups=3");
}

#[test]
fn a_kernel_is_judged_and_completed_on_the_ranks_of_its_case() {
    let arrangements = [2, 3].map(Arrangement::first);
    let kernels = [Fake::good(&FOR_THREE), Fake::good(&FIRST), Fake::building_on_first()];
    let outcome =
        drive_cases(4, &cases(&kernels, &arrangements), &kernels, &brief(), Trouble::default());
    assert_eq!(counts(&outcome.end()), [5, 0, 0, 1]);
    assert_eq!(
        outcome.heard.failures[0].message,
        "needs at least 3 ranks, there are 2 (ask for -n 3)"
    );
    let kernels = [Fake::good(&FIRST), Fake::building_on_first()];
    let cases = [(&kernels[0], Arrangement::first(2)), (&kernels[1], Arrangement::ALL)];
    let cases = cases.map(|(fake, arrangement)| Case::new(fake.info, &[]).on(arrangement));
    let outcome = drive_cases(4, &cases, &kernels, &brief(), Trouble::default());
    assert_eq!(outcome.heard.failures[0].message, "needs fake/first");
}

#[test]
fn completion_lasts_from_the_first_start_to_the_last_end_of_all_ranks() {
    let heard = drive(4, &[Fake::good(&FIRST)], &brief()).heard;
    let all = &heard.measurements[0].series[1];
    for (index, value_ns) in all.values_ns.iter().enumerate() {
        let samples: Vec<_> = all.ranks.iter().map(|of_rank| of_rank.samples[index]).collect();
        let first_ns = samples.iter().map(|sample| sample.start_ns).min().expect("ranks sampled");
        let last_ns = samples.iter().map(|sample| sample.end_ns).max().expect("ranks sampled");
        assert_eq!(*value_ns, (last_ns - first_ns) as f64 / 2.0, "sample {index}");
    }
}

#[test]
fn the_users_repetitions_and_samples_are_met_exactly() {
    for (repetitions, samples) in [(1, 1), (5, 7), (7, 5), (3, 10), (2, 12)] {
        let settings =
            Settings { repetitions: Some(repetitions), samples: Some(samples), ..brief() };
        let heard = drive(2, &[Fake::good(&FIRST), Fake::good(&SINGLE)], &settings).heard;
        let [batched, single] = &heard.measurements[..] else { panic!("both are measured") };
        assert_eq!((batched.pace.repetitions, single.pace.repetitions), (repetitions, 1));
        for measurement in [batched, single] {
            assert_eq!(measurement.n_slices, samples.div_ceil(measurement.pace.n_samples));
            for series in &measurement.series {
                assert_eq!(series.values_ns.len(), samples as usize);
                assert_eq!(Some(series.summary), Summary::of(&series.values_ns));
            }
        }
    }
}

#[test]
fn without_a_wish_the_driver_chooses_within_its_limits() {
    let fakes = [Fake::good(&FIRST), Fake::good(&SINGLE)];
    let heard = drive(2, &fakes, &Settings::of(Profile::Quick)).heard;
    let [batched, single] = &heard.measurements[..] else { panic!("both are measured") };
    assert!((1..=10_000).contains(&batched.pace.repetitions), "{:?}", batched.pace);
    assert_eq!(single.pace.repetitions, 1);
    for measurement in [batched, single] {
        let n_samples = measurement.series[0].values_ns.len();
        assert!((3..=100).contains(&n_samples), "{n_samples} samples");
    }
}

#[test]
fn every_operation_is_either_a_warm_up_or_in_a_sample() {
    for timing in [&FIRST, &SINGLE] {
        let fakes = [Fake::good(timing)];
        // Seven samples do not fill slices of one size.
        let heard = drive(2, &fakes, &Settings { samples: Some(7), ..brief() }).heard;
        let Measurement { pace, series, .. } = &heard.measurements[0];
        let n_warmup = series[0].n_warmup;
        let n_counted = pace.repetitions * 7;
        let n_operations = fakes[0].n_operations.load(Ordering::Relaxed);
        assert_eq!(n_operations, u64::from(n_warmup + n_counted), "{}", timing.id());
    }
}

/// Runs `fake` in a loop of `n` operations by the rules of IMB, by a clock that is `clock_factor` times too
/// fast; the number of operations before it.
fn n_before_loop(fake: Fake, n: u32, clock_factor: u64) -> u32 {
    let (rules, loop_limits) = (Rules::Imb, LoopLimits::NONE);
    let settings =
        Settings { rules, loop_limits, repetitions: Some(n), ..Settings::of(Profile::Quick) };
    let trouble = Trouble { clock_factor: Some(clock_factor), ..Trouble::default() };
    let fakes = [fake];
    let cases = cases(&fakes, &[Arrangement::ALL]);
    let heard = drive_cases(2, &cases, &fakes, &settings, trouble).heard;
    let n_warmup = heard.measurements[0].series[0].n_warmup;
    let n_operations = fakes[0].n_operations.load(Ordering::Relaxed);
    assert_eq!(n_operations, u64::from(n_warmup + n));
    n_warmup
}

#[test]
fn one_long_operation_goes_before_a_loop_of_files_by_the_rules_of_imb() {
    // A barrier takes longer than 2 ms.
    assert_eq!(n_before_loop(Fake::good(&OF_FILES), 3, 10_000), 1);
}

#[test]
fn probes_have_no_loop_of_the_users_by_the_rules_of_imb() {
    // A tenth goes before; three probed loops would be three times as many.
    let n_before = n_before_loop(Fake::good(&LOOP), 10_000, 1);
    assert!((1000..30_000).contains(&n_before), "{n_before}");
}

#[test]
fn derived_numbers_follow_from_the_summaries_of_the_case() {
    let heard = drive(2, &[Fake::good(&FIRST)], &brief()).heard;
    let Measurement { series, derived, .. } = &heard.measurements[0];
    let sum_ns = series[0].summary.median + series[1].summary.median;
    assert_eq!((derived.len(), derived[0].name, derived[0].value), (1, "sum_ns", Some(sum_ns)));
}

#[test]
fn a_case_that_fails_is_told_with_its_reason_and_the_run_goes_on() {
    use Failure::{CheckFailed, Failed, Skipped};
    let wrong = "the answer: expected 42, found 54";
    check_failure(Fake::checked_by(&FIRST, is_wrong_on_rank_1), CheckFailed, Some(1), wrong);
    // Its first check passes, and it leaves no number.
    check_failure(Fake::wrong_after_measuring(&FIRST), CheckFailed, Some(1), wrong);
    let too_long = "the message is too long \
                    (on rank 0, peer rank 0, tag 1, 8 bytes sent, 4 bytes expected)";
    check_failure(Fake::checked_by(&FIRST, overflows), CheckFailed, Some(0), too_long);
    let lacks: Verify =
        |_, _| Err(TransportError::new(TransportErrorKind::Unsupported, "no windows").into());
    check_failure(Fake::checked_by(&FIRST, lacks), Skipped, Some(0), "no windows");
    let refused = Fake::checked_by(&TOO_FLAT, |_, _| panic!("this case is not admitted"));
    check_failure(refused, Skipped, None, "needs a fourth dimension");
    check_failure(Fake::building_on_first(), Skipped, None, "needs fake/first");
    let message = "no rank took a sample of nobody";
    check_failure(Fake::good(&TOO_LITTLE), Failed, None, message);
}

#[test]
fn no_kernel_builds_on_a_number_whose_check_failed() {
    let fakes = [Fake::wrong_after_measuring(&FIRST), Fake::building_on_first()];
    let outcome = drive(2, &fakes, &brief());
    assert_eq!(counts(&outcome.end()), [0, 1, 0, 1]);
    assert_eq!(outcome.heard.failures[1].message, "needs fake/first");
}

#[test]
fn earlier_results_complete_a_case_on_every_rank() {
    let outcome = drive(3, &[Fake::good(&FIRST), Fake::building_on_first()], &brief());
    assert_eq!(counts(&outcome.end()), [2, 0, 0, 0]);
    assert_eq!(outcome.heard.measurements[1].case.value(&LENGTH_BYTES), 4);
}

#[test]
fn a_corrupted_kernel_alone_fails_its_check() {
    let settings = Settings { fault: Some((&FAULTS[0], "fake/second".into())), ..brief() };
    let fakes = [Fake::good(&FIRST), Fake::good(&SECOND), Fake::good(&SINGLE)];
    let outcome = drive(2, &fakes, &settings);
    assert_eq!(counts(&outcome.end()), [2, 1, 0, 0]);
    assert_eq!(outcome.heard.failures[0].case.info.id(), "fake/second");
}

#[test]
fn a_case_is_skipped_once_its_sweep_has_taken_all_its_time() {
    let loop_limits = LoopLimits { sweep_ns: 0.0, ..LoopLimits::NONE };
    for (rules, n_skipped) in [(Rules::Imb, 2), (Rules::Comet, 0)] {
        let settings = Settings { rules, loop_limits, ..brief() };
        let outcome = drive(2, &[Fake::good(&FIRST), Fake::good(&SECOND)], &settings);
        assert_eq!(counts(&outcome.end()), [2 - n_skipped, 0, 0, n_skipped], "{rules:?}");
        let failures = &outcome.heard.failures;
        assert!(failures.iter().all(|found| refusal::is_of_time(&found.message)), "{rules:?}");
    }
}

#[test]
fn a_spent_budget_stops_the_run_before_the_next_case() {
    let settings = Settings { run_budget_ns: Some(0), ..brief() };
    let outcome = drive(2, &[Fake::good(&FIRST)], &settings);
    let end = outcome.end();
    assert_eq!((counts(&end), end.stop), ([0; 4], Some(Stop::BudgetSpent)));
    assert_eq!(outcome.heard.log, ["run started", "run finished"]);
}

/// Interrupts a run of two cases of four slices each at the question `interrupts_at`.
fn check_interruption(interrupts_at: usize, slices: &[u32]) {
    let trouble = Trouble { interrupts_at: Some(interrupts_at), ..Trouble::default() };
    let fakes = [Fake::good(&FIRST), Fake::good(&SECOND)];
    let outcome = drive_with(2, &fakes, trouble);
    let end = outcome.end();
    assert_eq!(end.stop, Some(Stop::Interrupted("SIGINT".into())), "question {interrupts_at}");
    assert_eq!(counts(&end), [slices.len(), 0, 0, 0], "question {interrupts_at}");
    for (measurement, n_slices) in outcome.heard.measurements.iter().zip(slices) {
        assert_eq!(measurement.n_slices, *n_slices, "question {interrupts_at}");
        assert_eq!(measurement.series[1].values_ns.len(), *n_slices as usize);
    }
}

#[test]
fn an_interruption_stops_between_slices_and_cases_and_keeps_what_was_measured() {
    // Each case asks before it starts, and after each of its slices but the last.
    check_interruption(0, &[]);
    check_interruption(1, &[1]);
    check_interruption(3, &[3]);
    check_interruption(4, &[4]);
    check_interruption(6, &[4, 2]);
}

#[test]
fn an_interruption_stops_between_two_samples_of_a_case_that_takes_long() {
    // The first question comes before the case, the second after its check, and the others after
    // each sample of the first probe: two operations before it, and the sample.
    let check = |interrupts_at, n_operations| {
        let fakes = [Fake::checked_by(&FIRST, takes_long), Fake::good(&SECOND)];
        let trouble = Trouble { interrupts_at: Some(interrupts_at), ..Trouble::default() };
        let outcome = drive_with(2, &fakes, trouble);
        let end = outcome.end();
        assert_eq!(end.stop, Some(Stop::Interrupted("SIGINT".into())));
        assert_eq!(counts(&end), [0; 4], "question {interrupts_at}");
        let found = fakes[0].n_operations.load(Ordering::Relaxed);
        assert_eq!(found, n_operations, "question {interrupts_at}");
    };
    // Each sleeps.
    std::thread::scope(|scope| {
        for (interrupts_at, n_operations) in [(0, 0), (1, 0), (2, 3), (3, 6), (4, 9)] {
            scope.spawn(move || check(interrupts_at, n_operations));
        }
    });
}

#[test]
fn a_listener_that_fails_ends_the_run_on_all_ranks() {
    // Run started, case started, case finished, run finished.
    for fails_at in 0..4 {
        let trouble = Trouble { fails_at: Some(fails_at), ..Trouble::default() };
        let outcome = drive_with(3, &[Fake::good(&FIRST)], trouble);
        let [conductor, followers @ ..] = &outcome.results[..] else { panic!("three ranks") };
        assert!(matches!(conductor, Err(DriverError::Listener(_))), "{conductor:?}");
        assert!(followers.iter().all(Result::is_ok), "{followers:?}");
        assert_eq!(outcome.heard.log.len(), fails_at);
    }
}

/// SK-92: operations of all ranks begin in windows, as in SKaMPI 5, or behind a barrier.
#[test]
fn a_window_that_is_given_up_in_one_case_is_given_up_in_all_of_its_kernel() {
    let settings = Settings { sync: Some(StartSync::Window), has_core_each: true, ..brief() };
    let fakes = [Fake::good(&SINGLE)];
    let cases = cases(&fakes, &[Arrangement::first(2), Arrangement::ALL]);
    let trouble = Trouble { late_ranks: 3, ..Trouble::default() };
    let heard = drive_cases(3, &cases, &fakes, &settings, trouble).heard;
    assert_eq!(heard.given_up.len(), 1, "{:?}", heard.given_up);
    assert_eq!(heard.measurements.len(), 2);
    for measurement in &heard.measurements {
        assert_eq!(measurement.pace.sync, StartSync::Barrier, "{}", measurement.case.label());
        let all = &measurement.series[1];
        assert_eq!(all.values_ns.len(), 4);
        // What was measured in windows stays, and makes no value.
        let is_in_window = |index: &usize| all.ranks[0].samples[*index].due_ns.is_some();
        let in_window: Vec<usize> = (0..all.slice_lengths.len()).filter(is_in_window).collect();
        assert!(!in_window.is_empty());
        assert_eq!(all.invalid, in_window);
    }
}

#[test]
fn windows_that_an_earlier_launch_gave_up_are_not_tried_again() {
    let after_barrier = vec![SINGLE.id()];
    let settings =
        Settings { sync: Some(StartSync::Window), has_core_each: true, after_barrier, ..brief() };
    let fakes = [Fake::good(&SINGLE)];
    let trouble = Trouble { late_ranks: 3, ..Trouble::default() };
    let heard =
        drive_cases(3, &cases(&fakes, &[Arrangement::ALL]), &fakes, &settings, trouble).heard;
    assert!(heard.given_up.is_empty(), "{:?}", heard.given_up);
    let [measurement] = &heard.measurements[..] else { panic!("one case") };
    assert_eq!(measurement.pace.sync, StartSync::Barrier);
    assert!(measurement.series.iter().all(|series| series.invalid.is_empty()));
}

#[test]
fn cases_in_a_shuffled_first_pass_are_reported_in_the_order_of_the_plan() {
    let settings = Settings { shuffles_first: true, ..brief() };
    let fakes = [Fake::good(&SINGLE)];
    let arrangements = [1, 2, 3, 4].map(Arrangement::first);
    let cases = cases(&fakes, &arrangements);
    let heard = drive_cases(4, &cases, &fakes, &settings, Trouble::default()).heard;
    let found: Vec<_> = heard.measurements.iter().map(|of| of.case.arrangement()).collect();
    assert_eq!(found, arrangements);
}

#[test]
fn outputs_that_are_behind_stop_the_run_until_they_have_caught_up() {
    let trouble = Trouble { n_behind: 7, ..Trouble::default() };
    let outcome = drive_with(3, &[Fake::good(&FIRST), Fake::good(&SECOND)], trouble);
    assert_eq!(counts(&outcome.end()), [2, 0, 0, 0]);
    assert_eq!(outcome.heard.trouble.n_behind, 0, "all ranks idle while there is a backlog");
}

#[test]
fn a_signal_ends_the_wait_for_outputs() {
    let trouble = Trouble { n_behind: usize::MAX, interrupts_at: Some(20), ..Trouble::default() };
    let outcome = drive_with(2, &[Fake::good(&FIRST)], trouble);
    assert_eq!(counts(&outcome.end()), [1, 0, 0, 0]);
}

#[test]
fn a_transport_that_fails_on_all_ranks_ends_the_run_with_its_error() {
    let verify: Verify =
        |_, _| Err(TransportError::new(TransportErrorKind::PeerFailed, "rank 9 died").into());
    let outcome = drive(3, &[Fake::checked_by(&FIRST, verify)], &brief());
    for result in &outcome.results {
        let error = result.as_ref().expect_err("the job is over");
        assert!(matches!(error, DriverError::Transport(_)), "{error:?}");
        assert_eq!(error.to_string(), "rank 9 died");
    }
    assert_eq!(outcome.heard.log, ["run started", "started first"]);
}

/// Events of two kernels on three ranks, whose line takes these times by a clock that is so many
/// times too fast.
fn hear(script_ns: &'static [f64], clock_factor: u64) -> Collector {
    let clock_factor = Some(clock_factor);
    let trouble = Trouble { script_ns, clock_factor, ..Trouble::default() };
    let outcome = drive_with(3, &[Fake::good(&FIRST), Fake::good(&SECOND)], trouble);
    assert_eq!(counts(&outcome.end()), [2, 0, 0, 0]);
    outcome.heard
}

/// The times of the line around each measurement.
fn readings(heard: &Collector) -> Vec<Vec<f64>> {
    let of_measurement =
        |m: &Measurement| m.line_times.clone().map_or(Vec::new(), |times| times.readings_ns);
    heard.measurements.iter().map(of_measurement).collect()
}

#[test]
fn cores_that_move_are_told_of_after_the_kernel_that_they_spoil() {
    let heard = hear(&[112.0, 24.0], 1);
    let expected = [
        "run started",
        "started first",
        "finished first",
        "cores moved around first",
        "started second",
        "finished second",
        "run finished",
    ];
    assert_eq!(heard.log, expected);
    assert_eq!(heard.start.as_ref().and_then(|start| start.line_ns), Some(112.0));
    let readings = readings(&heard);
    assert_eq!((readings[0].first(), readings[0].last()), (Some(&112.0), Some(&24.0)));
    assert!(readings[1].len() >= 2 && readings[1].iter().all(|ns| *ns == 24.0), "{readings:?}");
}

#[test]
fn cores_that_stay_are_not_told_of() {
    let heard = hear(&[112.0, 120.0, 104.0], 1);
    assert!(heard.log.iter().all(|event| !event.starts_with("cores moved")), "{:?}", heard.log);
    assert!(readings(&heard).iter().all(|of_case| of_case.len() >= 2));
}

#[test]
fn a_long_group_is_looked_at_before_each_slice() {
    let heard = hear(&[112.0], 1_000_000);
    // Once before the group, four times before a slice, and once after the last.
    let n_readings: Vec<usize> = readings(&heard).iter().map(Vec::len).collect();
    assert!(n_readings.iter().all(|n| *n >= 6), "{n_readings:?}");
}

#[test]
fn where_the_transport_does_not_tell_nothing_is_asked_again() {
    let heard = hear(&[], 1);
    assert_eq!(heard.start.as_ref().and_then(|start| start.line_ns), None);
    assert!(heard.measurements.iter().all(|measurement| measurement.line_times.is_none()));
}

#[test]
fn a_number_of_operations_that_does_not_fit_is_the_largest_one() {
    let pace = Pace { n_discarded: 1, ..Pace::new(2_000_000_000, 3, 10) };
    let n_operations = conductor::added([5; MAX_SERIES], Pace { n_samples: 1, ..pace }, 1);
    assert_eq!(n_operations, [4_000_000_015; MAX_SERIES]);
    assert_eq!(conductor::added([5; MAX_SERIES], pace, 1), [u32::MAX; MAX_SERIES]);
}
