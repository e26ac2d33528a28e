//! Clocks that differ: what ranks find out about them, held against what the machine gave them.
//!
//! The truth of a clock is read from a run without noise: its reading at the start is its offset,
//! and another one after a time that is known gives its rate. Neither depends on noise, since the
//! seed alone decides them.
//!
//! `COMET_TRUTH_SEEDS` sets the number of seeds. What the calibration finds is held against the cost
//! that clocks were given.

use std::cell::RefCell;

use comet_core::calibration::ClockCalibration;
use comet_core::driver::{self, Settings};
use comet_core::event::{Event, RunStart};
use comet_core::kernel::Profile;
use comet_core::sync::{GlobalClock, StartSync, window_ns};
use comet_core::topology::Topology;
use comet_core::transport::{Rank, Transport, Work};
use comet_sim::machine::{Machine, MachineFile, find};
use comet_sim::{Outcome, RunConfig, Sim, run};

/// Messages with queues: most wait, a few for very long.
const QUEUES: &str = include_str!("machines/queues.toml");

const SECOND_NS: u64 = 1_000_000_000;

/// A machine with messages of `t0_ns`. A third of it is CPU time of the sender, so that the way from
/// a rank that is slower by three tenths is longer than that to it by a tenth.
fn machine(t0_ns: u64, seed: u64, clock: &str, noise: &str) -> Machine {
    let o_send_ns = t0_ns / 3;
    let text = format!(
        "format = 1\nname = \"clocks\"\n\
         [topology]\nkind = \"flat\"\n\
         [[protocol]]\nkind = \"eager\"\nt0 = \"{t0_ns} ns\"\nper_byte = \"1 ns/B\"\n\
         split = {{ o_send = \"{o_send_ns} ns\" }}\n\
         [node]\ndaxpy = \"1 us\"\n\
         [clock]\n{clock}\n\
         [noise]\nseed = {seed}\n{noise}"
    );
    MachineFile::parse(&text, "clocks").expect("the text describes a machine").machine
}

/// Clocks within 5 s of each other's mean, which drift by up to 50 ppm, on noisy links.
fn apart(t0_ns: u64, seed: u64) -> Machine {
    machine(t0_ns, seed, "offset_spread = \"10 s\"\ndrift = \"50 ppm\"", QUEUES)
}

/// Number of seeds; `usual` unless the environment gives one.
fn n_seeds(usual: u64) -> u64 {
    let said = std::env::var("COMET_TRUTH_SEEDS").ok();
    said.map_or(usual, |text| text.parse().expect("COMET_TRUTH_SEEDS is a number"))
}

fn of_ranks<R>(machine: &Machine, n_ranks: usize, rank_main: impl Fn(&Sim) -> R) -> Vec<R> {
    let results: RefCell<Vec<Option<R>>> = RefCell::new((0..n_ranks).map(|_| None).collect());
    let config = RunConfig::new(machine.clone(), Topology::hypercube(n_ranks));
    let outcome = run(&config, |t| {
        let result = rank_main(t);
        results.borrow_mut()[t.rank()] = Some(result);
        0
    });
    assert!(matches!(outcome, Ok(Outcome::Finished { .. })), "{outcome:?}");
    results.into_inner().into_iter().map(|result| result.expect("all ranks return")).collect()
}

/// True parameters of a machine's clocks.
struct Truth(Vec<[u64; 2]>);

impl Truth {
    /// Between the two readings of each clock.
    const SPAN_NS: f64 = 1e12;

    fn of(machine: &Machine, n_ranks: usize) -> Self {
        let mut quiet = machine.clone();
        quiet.noise.sources.clear();
        quiet.faults.slow_ranks.clear();
        Self(of_ranks(&quiet, n_ranks, |t| {
            let start_ns = t.now_ns();
            t.compute(Work::Daxpy { n: 1_000_000_000 }, || ());
            [start_ns, t.now_ns()]
        }))
    }

    fn rate(&self, rank: Rank) -> f64 {
        let [start_ns, end_ns] = self.0[rank];
        (end_ns - start_ns) as f64 / Self::SPAN_NS
    }

    /// Reading of rank 0's clock at the moment when that of `rank` shows `local_ns`.
    fn global_ns(&self, rank: Rank, local_ns: i64) -> f64 {
        let since_start_ns = (local_ns - self.0[rank][0].cast_signed()) as f64;
        self.0[0][0] as f64 + since_start_ns / self.rate(rank) * self.rate(0)
    }

    /// By how much a conversion of `local_ns` is wrong.
    fn error_ns(&self, rank: Rank, local_ns: u64, found_ns: u64) -> f64 {
        found_ns as f64 - self.global_ns(rank, local_ns.cast_signed())
    }
}

/// The `q`-quantile of the sizes of `errors_ns`.
fn quantile(errors_ns: &[f64], q: f64) -> f64 {
    let sizes: Vec<f64> = errors_ns.iter().map(|ns| ns.abs()).collect();
    comet_stats::quantile(&comet_stats::sorted(&sizes), q)
}

fn agree(t: &Sim) -> GlobalClock {
    GlobalClock::agree(t).expect("these clocks have a common time")
}

/// A reading a second after the ranks have agreed, and what became of it.
fn predict(t: &Sim) -> (GlobalClock, u64, u64) {
    let clock = agree(t);
    t.wait_until_ns(t.now_ns() + SECOND_NS);
    let local_ns = t.now_ns();
    let global_ns = clock.to_global_ns(local_ns);
    (clock, local_ns, global_ns)
}

/// Errors of the centres of all bursts, whose intervals hold the true offset.
fn burst_errors(truth: &Truth, rank: Rank, clock: &GlobalClock) -> Vec<f64> {
    let errors = clock.bursts().iter().map(|burst| {
        let offset_ns = burst.local_ns as f64 - truth.global_ns(rank, burst.local_ns);
        // Readings are whole.
        let (low_ns, high_ns) = (burst.low_ns as f64 - 1.0, burst.high_ns as f64 + 1.0);
        assert!((low_ns..=high_ns).contains(&offset_ns), "{offset_ns} is not in {burst:?}");
        burst.offset_ns() as f64 - offset_ns
    });
    errors.collect()
}

#[test]
fn offsets_and_drifts_of_all_clocks_are_known_on_rank_0() {
    for seed in 0..n_seeds(10) {
        let machine = apart(20_000, seed);
        let truth = Truth::of(&machine, 4);
        let found = of_ranks(&machine, 4, agree);
        assert_eq!(found[0].offsets().len(), 4);
        assert!(found[1..].iter().all(|clock| clock.offsets().is_empty()));
        for (offset, clock) in found[0].offsets().iter().zip(&found) {
            let Some(last) = clock.bursts().last() else {
                assert_eq!((offset.rank, offset.offset_ns, offset.bound_ns), (0, 0, 0));
                continue;
            };
            let true_ns = last.local_ns as f64 - truth.global_ns(offset.rank, last.local_ns);
            let error_ns = offset.offset_ns as f64 - true_ns;
            assert!(error_ns.abs() <= offset.bound_ns as f64 + 1.0, "{error_ns} ns, {offset:?}");
            let drift_ppm = (truth.rate(offset.rank) / truth.rate(0) - 1.0) * 1e6;
            assert!((offset.drift_ppm - drift_ppm).abs() < 1.0, "{drift_ppm} ppm, {offset:?}");
        }
    }
}

/// Checks predictions for a second ahead on links of `t0_ns`, on ranks that all learn from rank 0.
fn check_prediction(t0_ns: u64, limit_ns: f64) {
    const N_RANKS: usize = 5;
    let (mut errors_ns, mut first_ns, mut later_ns) = (Vec::new(), Vec::new(), Vec::new());
    for seed in 0..n_seeds(25) {
        let machine = apart(t0_ns, seed);
        let truth = Truth::of(&machine, N_RANKS);
        let found = of_ranks(&machine, N_RANKS, predict);
        for (rank, (clock, local_ns, global_ns)) in found.iter().enumerate().skip(1) {
            errors_ns.push(truth.error_ns(rank, *local_ns, *global_ns));
            let of_bursts_ns = burst_errors(&truth, rank, clock);
            first_ns.push(of_bursts_ns[0]);
            later_ns.extend(&of_bursts_ns[1..]);
        }
    }
    let p95_ns = quantile(&errors_ns, 0.95);
    assert!(p95_ns <= limit_ns, "{t0_ns} ns: {p95_ns} ns");
    // The first burst is biased in tools that have no round trip to compare with yet.
    let (first_ns, later_ns) = (quantile(&first_ns, 0.5), quantile(&later_ns, 0.75));
    assert!(first_ns <= later_ns, "{t0_ns} ns: {first_ns} ns at first, {later_ns} ns later");
}

#[test]
fn a_second_ahead_the_time_is_right_to_50_ns_on_links_of_1500_ns() {
    check_prediction(1500, 50.0);
}

#[test]
fn a_second_ahead_the_time_is_right_to_400_ns_on_links_of_20_us() {
    check_prediction(20_000, 400.0);
}

#[test]
fn unequal_ways_shift_the_centre_and_do_not_break_the_bound() {
    for seed in 0..n_seeds(10) {
        for t0_ns in [1500, 20_000] {
            let mut machine = apart(t0_ns, seed);
            machine.faults.slow_ranks = vec![(0, 1.3)];
            let truth = Truth::of(&machine, 3);
            let found = of_ranks(&machine, 3, predict);
            for (rank, (clock, local_ns, global_ns)) in found.iter().enumerate() {
                burst_errors(&truth, rank, clock);
                let error_ns = truth.error_ns(rank, *local_ns, *global_ns);
                assert!(error_ns.abs() <= clock.bound_ns() as f64, "{error_ns} ns");
            }
        }
    }
}

#[test]
fn the_first_call_is_no_worse_than_later_ones() {
    let (mut first_ns, mut later_ns) = (Vec::new(), Vec::new());
    for seed in 0..n_seeds(25) {
        let machine = apart(1500, seed);
        let truth = Truth::of(&machine, 4);
        let found = of_ranks(&machine, 4, |t| [predict(t), predict(t), predict(t)]);
        for (rank, calls) in found.iter().enumerate().skip(1) {
            let error_ns = |(_, local_ns, global_ns): &(GlobalClock, u64, u64)| {
                truth.error_ns(rank, *local_ns, *global_ns)
            };
            first_ns.push(error_ns(&calls[0]));
            later_ns.extend(calls[1..].iter().map(error_ns));
        }
    }
    let (first_ns, later_ns) = (quantile(&first_ns, 0.5), quantile(&later_ns, 0.75));
    assert!(first_ns <= later_ns, "{first_ns} ns at first, {later_ns} ns later");
}

#[test]
fn times_between_two_comparisons_are_known_better_than_times_ahead() {
    let (mut between_ns, mut bounds_ns) = (Vec::new(), Vec::new());
    for seed in 0..n_seeds(10) {
        let machine = apart(1500, seed);
        let truth = Truth::of(&machine, 4);
        let found = of_ranks(&machine, 4, |t| {
            let mut clock = agree(t);
            let mut locals_ns = Vec::new();
            for _ in 0..20 {
                t.wait_until_ns(t.now_ns() + 50_000_000);
                locals_ns.push(t.now_ns());
                t.wait_until_ns(t.now_ns() + 50_000_000);
                clock.refresh(t).expect("no rank fails");
            }
            (clock, locals_ns)
        });
        for (rank, (clock, locals_ns)) in found.iter().enumerate().skip(1) {
            burst_errors(&truth, rank, clock);
            bounds_ns.push(clock.bound_ns());
            between_ns.extend(
                locals_ns.iter().map(|ns| truth.error_ns(rank, *ns, clock.to_global_ns(*ns))),
            );
        }
    }
    let p95_ns = quantile(&between_ns, 0.95);
    assert!(p95_ns <= 30.0, "{p95_ns} ns");
    assert!(bounds_ns.iter().all(|ns| (1000..3000).contains(ns)), "{bounds_ns:?}");
}

#[test]
fn many_ranks_learn_along_a_tree_and_the_bound_grows_with_its_levels() {
    for n_ranks in [8, 9, 13] {
        let machine = apart(1500, n_ranks as u64);
        let truth = Truth::of(&machine, n_ranks);
        let found = of_ranks(&machine, n_ranks, |t| {
            let (mut clock, local_ns, global_ns) = predict(t);
            clock.refresh(t).expect("no rank fails");
            (clock, local_ns, global_ns)
        });
        let bounds_ns: Vec<u64> = found.iter().map(|(clock, ..)| clock.bound_ns()).collect();
        assert_eq!(bounds_ns, vec![bounds_ns[0]; n_ranks], "all ranks know the bound");
        let n_levels = if n_ranks <= 8 { 1.0 } else { 4.0 };
        assert!(
            (0.5..=1.1).contains(&(bounds_ns[0] as f64 / (1500.0 * n_levels))),
            "{bounds_ns:?}"
        );
        for (rank, (clock, local_ns, global_ns)) in found.iter().enumerate() {
            burst_errors(&truth, rank, clock);
            assert_eq!((clock.n_domains(), clock.is_verified()), (n_ranks, false));
            let error_ns = truth.error_ns(rank, *local_ns, *global_ns);
            assert!(error_ns.abs() <= 200.0, "{error_ns} ns on rank {rank} of {n_ranks}");
        }
    }
}

#[test]
fn ranks_with_one_clock_need_no_comparison() {
    let machine = machine(1500, 0, "", QUEUES);
    for (clock, local_ns, global_ns) in of_ranks(&machine, 5, predict) {
        assert_eq!((clock.n_domains(), clock.bound_ns(), local_ns), (1, 0, global_ns));
    }
}

#[test]
fn clocks_that_drift_too_much_have_no_common_time_on_any_rank() {
    let machine = machine(1500, 1, "drift = \"2000 ppm\"", QUEUES);
    let refusals = of_ranks(&machine, 5, |t| {
        GlobalClock::agree(t).map(|_| ()).expect_err("these clocks run too unevenly").to_string()
    });
    assert_eq!(refusals, vec![refusals[0].clone(); 5]);
    assert!(refusals[0].contains("no quartz does by more than 200 ppm"), "{}", refusals[0]);
}

#[test]
fn a_window_opens_for_all_ranks_at_once_and_those_that_heard_late_know_it() {
    let mut n_late = 0;
    for seed in 0..n_seeds(5) {
        let machine = apart(1500, seed);
        let truth = Truth::of(&machine, 5);
        let found = of_ranks(&machine, 5, |t| {
            let clock = agree(t);
            let window_ns = window_ns(t).expect("no rank fails");
            let start = |_| {
                let due_ns = StartSync::Window.start(t, window_ns, Some(&clock));
                let due_ns = due_ns.expect("no rank fails").expect("a window");
                let local_ns = t.now_ns();
                (local_ns, clock.to_global_ns(local_ns), due_ns)
            };
            (0..50).map(start).collect::<Vec<_>>()
        });
        for (rank, starts) in found.iter().enumerate() {
            for (local_ns, global_ns, due_ns) in starts {
                let error_ns = truth.error_ns(rank, *local_ns, *global_ns);
                assert!(error_ns.abs() < 100.0 && *global_ns + 1 >= *due_ns, "{error_ns} ns");
                n_late += u64::from(*global_ns > due_ns + 100);
            }
        }
    }
    // A broadcast that is hit by an outlier takes longer than the window.
    let n_starts = n_seeds(5) * 5 * 50;
    assert!((1..n_starts / 5).contains(&n_late), "{n_late} of {n_starts}");
}

/// The start record of a run whose clocks have this resolution and cost of a reading.
fn start(resolution_ps: u64, call_cost_ps: u64) -> RunStart {
    let mut machine = find("ipsc860").expect("it comes with the program").machine;
    machine.clock.resolution_ps = resolution_ps;
    machine.clock.call_cost_ps = call_cost_ps;
    let found = RefCell::new(None);
    let outcome = run(&RunConfig::new(machine, Topology::hypercube(4)), |t| {
        let settings = Settings::of(Profile::Quick);
        if t.rank() > 0 {
            driver::follow(t, &[], &settings).expect("no rank fails");
        } else {
            let mut listener = |event: &Event<'_>| {
                if let Event::RunStarted(start) = event {
                    found.replace(Some((*start).clone()));
                }
                Ok(())
            };
            driver::conduct(t, &[], &[], &settings, &mut listener).expect("no rank fails");
        }
        0
    });
    assert!(matches!(outcome, Ok(Outcome::Finished { .. })), "{outcome:?}");
    found.into_inner().expect("the run has started")
}

#[test]
fn the_cost_of_a_clock_is_found() {
    let check = |resolution_ps, call_cost_ps, cost_ns: f64, step_ns: u32| {
        let start = start(resolution_ps, call_cost_ps);
        // Simulated clocks are alike.
        assert_eq!(start.calibrations.len(), 1);
        let found = start.calibrations[0];
        let error_ns = (found.cost_ns - cost_ns).abs() + (found.median_cost_ns - cost_ns).abs();
        assert!(error_ns <= 0.01 * cost_ns, "{found:?}");
        // What is shown is rounded to steps.
        assert!((found.pair_bias_ns - cost_ns).abs() <= f64::from(step_ns), "{found:?}");
        assert_eq!((found.step_ns, found.gaps), (Some(step_ns.into()), None));
    };
    check(1000, 0, 0.0, 1);
    check(1000, 37_000, 37.0, 1);
    check(1000, 2_500_000, 2500.0, 1);
    check(10_000, 25_000, 25.0, 10);
}

#[test]
fn clocks_too_coarse_for_latencies_are_named() {
    let warnings =
        |call_cost_ps| ClockCalibration::warnings(&start(1000, call_cost_ps).calibrations);
    assert_eq!(warnings(40_000), [""; 0]);
    let warnings = warnings(2_500_000);
    let [warning] = &warnings[..] else { panic!("{warnings:?}") };
    assert!(warning.starts_with("the clock of rank 0 is no finer than 2500 ns"), "{warning}");
}
