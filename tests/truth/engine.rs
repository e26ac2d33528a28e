//! The measuring engine against the truth: it ends whatever the noise, all ranks agree whatever
//! their delays, and definitions are what they say. Comparisons of launches, each with noise of its
//! own, find a change that is in the machine.

use comet_core::definition::Definition;
use comet_core::driver::{Rules, Settings};
use comet_core::event::{Measurement, SeriesResult};
use comet_core::kernel::{Case, Profile};
use comet_core::sample::Sample;
use comet_core::sync::{Skew, StartSync};
use comet_sim::machine::{Delay, Machine, NoiseSource};
use comet_stats::compare::{Launches, MARGIN, Verdict};
use comet_stats::real;

use super::bench::{Bench, Draws, machine, settings};
use super::machines;

/// Number of random schedules; `COMET_TRUTH_SEEDS` asks for more.
fn n_seeds() -> u64 {
    std::env::var("COMET_TRUTH_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(100)
}

/// The settings of the default profile, with as little to do for each slice as can be.
fn standard() -> Settings {
    let mut settings = Settings::of(Profile::Standard);
    settings.slices.max_samples = 20;
    settings.repetitions = Some(1);
    settings
}

/// A case of each kind of start.
const CASES: [(&str, &[u64]); 3] =
    [("comet/echo", &[1, 100]), ("comet/reduction", &[8]), ("comet/barrier", &[])];

/// Checks that the case ended by one of the permitted reasons.
#[track_caller]
fn check_end(measurement: &Measurement, settings: &Settings) {
    let (slices, n_slices) = (settings.slices, measurement.n_slices);
    assert!((slices.min..=slices.max).contains(&n_slices), "{n_slices} slices");
    let is_narrow = measurement.series.iter().all(|series| {
        let (interval, median) = (series.interval.unwrap(), series.told().median);
        interval.half_width() <= 0.025 * median.max(1.0)
    });
    let label = measurement.case.label();
    assert_eq!(measurement.converged, Some(is_narrow), "{label}");
    let sampled_ns: f64 = measurement.series.iter().map(|s| s.values_ns.iter().sum::<f64>()).sum();
    let is_spent = sampled_ns >= 0.5 * settings.case_budget_ns as f64;
    assert!(is_narrow || n_slices == slices.max || is_spent, "{label} stopped early");
}

#[test]
fn the_stop_rule_ends_for_every_kind_of_noise() {
    let sources = [
        NoiseSource::LogNormal { sigma: 0.02 },
        NoiseSource::LogNormal { sigma: 0.5 },
        NoiseSource::Spike { probability: 0.02, mean_ps: 50_000_000 },
        NoiseSource::Outlier { probability: 0.01, scale: 50.0 },
        NoiseSource::Ar1 { phi: 0.8, sigma: 0.05 },
        NoiseSource::Regimes { sojourn: 150.0, ratio: 1.5 },
        NoiseSource::StartUp { amplitude: 6.0, tau: 30.0 },
        NoiseSource::Detour { period_ps: 3_000_000_000, length_ps: 20_000_000 },
    ];
    let all = (0..=sources.len()).map(|n| match sources.get(n) {
        Some(source) => vec![*source],
        None => sources.to_vec(),
    });
    for sources in all {
        let bench = Bench::new(&machines::noisy(machines::flat(), 5, &sources), 4);
        let settings = standard();
        let measurements = bench.measure(&bench.cases(&CASES), &settings);
        assert_eq!(measurements.len(), 3, "{sources:?}");
        measurements.iter().for_each(|measurement| check_end(measurement, &settings));
    }
}

#[test]
fn all_ranks_agree_however_they_are_delayed() {
    let mut draws = Draws::new(11);
    for _ in 0..n_seeds() {
        let n_ranks = draws.below(6) + 2;
        let (seed, noise) = (draws.below(1 << 30), NoiseSource::LogNormal { sigma: 0.1 });
        let mut machine = machines::noisy(machines::flat(), seed as u64, &[noise]);
        for _ in 0..draws.below(8) {
            machine.faults.delays.push(Delay {
                rank: draws.below(n_ranks),
                operation: draws.below(3000) as u64,
                delay_ps: draws.below(2_000_000_000) as u64,
            });
        }
        let bench = Bench::new(&machine, n_ranks);
        let cases = bench.cases(&CASES);
        let mut settings = standard();
        settings.slices.max_samples = 2;
        settings.slices.max = 12;
        // A rank that had heard other decisions than rank 0 took would end the simulation.
        assert_eq!(bench.measure(&cases, &settings).len(), cases.len());
    }
}

/// The only value of the first series of `case` by `definition`, after starts by `sync`.
fn value_ns(bench: &Bench, case: Case, definition: Definition, sync: StartSync) -> f64 {
    let settings = Settings {
        definition: Some(definition),
        sync: Some(sync),
        ..settings(3, if definition.starts_together() { 1 } else { 10 })
    };
    let measured = bench.measure(&[case], &settings);
    let series = &measured[0].series[0];
    assert_eq!(series.definition, definition);
    assert_eq!(series.summary.min, series.summary.max, "without noise, all values are one");
    series.summary.median
}

#[test]
fn definitions_of_one_broadcast_differ_by_what_they_say() {
    let bench = Bench::new(&machines::flat(), 8);
    let case = bench.case("comet/broadcast", &[96]).expect("8 ranks broadcast");
    let value = |definition, sync| value_ns(&bench, case, definition, sync);
    // Three levels of a tree of messages of 10 us and 8 ns a byte, and of barriers of 10 us.
    let (down_ns, barrier_ns) = (3.0 * 10_768.0, 3.0 * 10_000.0);
    assert_eq!(value(Definition::Completion, StartSync::Window), down_ns);
    // Ranks that enter a barrier one after the other leave it so, and D1 counts from the first.
    for sync in [StartSync::Barrier, StartSync::Dissemination] {
        let skewed_ns = value(Definition::Completion, sync);
        assert!(skewed_ns >= down_ns, "{sync:?}: {skewed_ns}");
    }
    assert_eq!(value(Definition::MaxLocal, StartSync::Window), down_ns);
    assert_eq!(value(Definition::ClosedByBarrier, StartSync::Barrier), down_ns + barrier_ns);
    // The root is done when it has sent; so is the loop of all, since nothing holds the root back.
    let sent_ns = value(Definition::TestNode, StartSync::Barrier);
    assert!(sent_ns < down_ns, "{sent_ns}");
    // The next barrier waits for all who have not received yet, as far as it does not hide that.
    let between_ns = value(Definition::BarrierSubtracted, StartSync::Barrier);
    assert!((sent_ns..=down_ns).contains(&between_ns), "{between_ns}");
    let mean_ns = value(Definition::CallMean, StartSync::Window);
    let middle_ns = value(Definition::Release, StartSync::Window);
    assert!(sent_ns < mean_ns && mean_ns < down_ns, "{mean_ns}");
    assert!(sent_ns < middle_ns && middle_ns <= down_ns, "{middle_ns}");
}

#[test]
fn a_rank_without_a_part_is_in_the_barriers_that_a_definition_times() {
    // Of three ranks the last has no partner.
    let bench = Bench::new(&machines::flat(), 3);
    for id in ["imb/uniband", "imb/biband", "model/bisection"] {
        let case = bench.case(id, &[4, 96]).expect("two of the ranks are a pair");
        let time_ns = |definition| {
            let settings = Settings { definition: Some(definition), ..settings(3, 10) };
            let series = &bench.measure(&[case], &settings)[0].series[0];
            assert_eq!((series.definition, series.ranks.len()), (definition, 1), "{id}");
            series.summary.median
        };
        let closed_ns = time_ns(Definition::ClosedByBarrier);
        let alone_ns = time_ns(Definition::BarrierSubtracted);
        assert!(0.0 < alone_ns && alone_ns < closed_ns, "{id}: {alone_ns} {closed_ns}");
    }
}

#[test]
fn a_skew_of_the_starts_is_no_part_of_the_completion() {
    let bench = Bench::new(&machines::flat(), 4);
    let case = bench.case("comet/barrier", &[]).expect("4 ranks have a barrier");
    let skewed = |skew| {
        let settings = Settings {
            definition: Some(Definition::Completion),
            sync: Some(StartSync::Window),
            skew,
            ..settings(3, 1)
        };
        bench.measure(&[case], &settings)[0].series[0].summary.median
    };
    let together_ns = skewed(Skew::None);
    assert_eq!(together_ns, 20_000.0);
    // What the last one waits for is there when it comes, or comes while it sends.
    let last_ns = skewed(Skew::Last);
    assert!(last_ns <= together_ns, "{last_ns}");
}

/// Mean over seeds of the logarithm of a figure of the barrier, on ranks whose messages vary by 20 %.
fn mean_log(profile: Profile, figure_ns: fn(&Measurement) -> f64) -> f64 {
    let log_ns = |seed| {
        let source = NoiseSource::LogNormal { sigma: 0.2 };
        let bench = Bench::new(&machines::noisy(machines::flat(), seed, &[source]), 2);
        let case = bench.case("comet/barrier", &[]).expect("two ranks have a barrier");
        figure_ns(&bench.measure(&[case], &Settings::of(profile))[0]).ln()
    };
    comet_stats::mean(&(0..12).map(log_ns).collect::<Vec<f64>>())
}

#[test]
fn the_reported_least_value_does_not_depend_on_how_long_one_measures() {
    let difference = |figure_ns: fn(&Measurement) -> f64| {
        mean_log(Profile::Quick, figure_ns) - mean_log(Profile::Standard, figure_ns)
    };
    let reported = difference(|measured| measured.series[0].quoted_ns.expect("a least value"));
    assert!(reported.abs() < 0.01, "{reported}");
    let least = difference(|measured| measured.series[0].summary.min);
    assert!(least > 0.03, "the least of all: {least}");
}

#[test]
fn rules_of_other_benchmarks_repeat_and_quote_as_they_do() {
    let bench = Bench::new(&machines::flat(), 2);
    let measure = |rules, id: &str, values: &[u64]| {
        let settings = Settings { rules, ..Settings::of(Profile::Standard) };
        let case = bench.case(id, values).expect("two ranks admit the case");
        bench.measure(&[case], &settings).remove(0)
    };
    let counts = |m: &Measurement| (m.pace.repetitions, m.series[0].values_ns.len());
    let echo_ns = 10_064.0;
    for (rules, expected) in
        [(Rules::Imb, (1000, 1)), (Rules::Osu, (10_000, 1)), (Rules::Thesis, (1000, 1))]
    {
        let measured = measure(rules, "comet/echo", &[1, 8]);
        assert_eq!(counts(&measured), expected, "{rules:?}");
        assert_eq!(measured.series[0].quoted_ns, Some(echo_ns), "{rules:?}");
    }
    for (length_bytes, n_windows) in [(8, 100), (65_536, 20)] {
        let measured = measure(Rules::Osu, "osu/bw", &[64, 0, length_bytes]);
        assert_eq!(counts(&measured), (n_windows, 1), "{length_bytes} bytes");
    }
    // Several pairs have a time of each operation; windows are as many at every length.
    for (id, length_bytes, n_samples) in [
        ("osu/mbw_mr", 8, 100),
        ("osu/mbw_mr", 65_536, 100),
        ("osu/multi_lat", 8192, 10_000),
        ("osu/multi_lat", 65_536, 1000),
    ] {
        let values = [length_bytes, 0, 8];
        let n_values = if id == "osu/mbw_mr" { 3 } else { 1 };
        let measured = measure(Rules::Osu, id, &values[..n_values]);
        assert_eq!(counts(&measured), (1, n_samples), "{id} of {length_bytes} bytes");
    }
    let (n_reps, n_samples) = counts(&measure(Rules::Skampi, "comet/echo", &[1, 8]));
    assert_eq!((n_reps, n_samples), (1, 8));
    let of_sum = |rules| measure(rules, "comet/reduction", &[1]);
    for (rules, definition, expected) in [
        (Rules::Imb, Definition::CallMean, (1, 1000)),
        (Rules::Osu, Definition::CallMean, (1, 1000)),
        (Rules::Skampi, Definition::MaxLocal, (1, 8)),
    ] {
        let measured = of_sum(rules);
        assert_eq!(measured.series[0].definition, definition);
        assert_eq!(counts(&measured), expected, "{rules:?}");
    }
    let barrier = measure(Rules::Imb, "comet/barrier", &[]);
    assert_eq!(barrier.series[0].definition, Definition::LoopMean);
    assert_eq!((counts(&barrier), barrier.pace.settle[0]), ((1000, 1), 100));
}

#[test]
fn windows_of_a_slice_follow_each_other_under_the_rules_of_skampi_alone() {
    let bench = Bench::new(&machines::flat(), 3);
    let cases = [
        (Rules::Skampi, Skew::None, true),
        (Rules::Comet, Skew::None, false),
        (Rules::Skampi, Skew::Last, false),
    ];
    let sync = Some(StartSync::Window);
    for (rules, skew, follow) in cases {
        let settings = Settings { rules, skew, skew_scale: 10.0, sync, ..standard() };
        let case = bench.case("comet/reduction", &[8]).expect("three ranks admit the case");
        let measured = bench.measure(&[case], &settings).remove(0);
        let series = &measured.series[0];
        let mut samples = series.ranks[0].samples.iter();
        for &length in &series.slice_lengths {
            let of_slice: Vec<_> = samples.by_ref().take(length).collect();
            let due_ns = |sample: &Sample| sample.due_ns.expect("it started in a window");
            let gaps: Vec<u64> =
                of_slice.windows(2).map(|pair| due_ns(pair[1]) - due_ns(pair[0])).collect();
            let ends_before = of_slice.windows(2).all(|pair| pair[0].end_ns < due_ns(pair[1]));
            assert!(length > 1 && ends_before, "{rules:?}: {gaps:?}");
            // An eighth of the window, and twice the operation on the slowest rank.
            let period_ns = real(measured.pace.window_ns / 8) + 2.0 * series.summary.min;
            let has_period = |gap: &u64| real(*gap) == period_ns;
            assert_eq!(gaps.iter().all(has_period), follow, "{rules:?}: {gaps:?}, {period_ns}");
        }
    }
}

/// Other ranks put and complete before the window, and rank 0 would not know how long that takes.
#[test]
fn what_goes_before_each_operation_is_over_before_its_window() {
    let bench = Bench::new(&machines::flat(), 3);
    let of_test = |rules| {
        let settings = Settings { rules, sync: Some(StartSync::Window), ..standard() };
        let case =
            bench.case("skampi/win_test", &[0, 1 << 20]).expect("three ranks admit the case");
        let measured = bench.measure(&[case], &settings).remove(0);
        [measured.series[0].summary.min, measured.series[0].summary.max]
    };
    assert_eq!(of_test(Rules::Skampi), of_test(Rules::Comet));
}

#[test]
fn laps_are_apart_by_a_clock_read_under_the_rules_of_osu_alone() {
    let machine = machines::busy();
    let read_ns = machine.clock.call_cost_ps as f64 / 1000.0;
    let bench = Bench::new(&machine, 2);
    for (rules, n_reads) in [(Rules::Comet, 1.0), (Rules::Osu, 4.0)] {
        let settings = Settings { rules, ..standard() };
        let case = bench.case("osu/ibarrier", &[0, 0, 0]).expect("two ranks admit the case");
        let measured = bench.measure(&[case], &settings).remove(0);
        let [_, whole, init, compute, _, wait] = &measured.series[..] else { panic!("six series") };
        let ns = |series: &SeriesResult| series.summary.mean;
        // The read that ends the interval, and those that begin the three laps behind the first.
        assert_eq!(ns(whole), ns(init) + ns(compute) + ns(wait) + n_reads * read_ns, "{rules:?}");
    }
}

/// Comparisons of twelve points.
const N_COMPARISONS: u64 = 30;
/// Launches of one side.
const N_LAUNCHES: u64 = 5;
/// Lengths of echoes: six of each protocol.
const LENGTHS: [u64; 12] = [0, 1, 8, 64, 128, 256, 1024, 2048, 4096, 8192, 16_384, 65_536];
/// Number of them that belong to the protocol of short messages.
const N_SHORT: usize = 6;

/// A machine whose long messages take `change` times as long. Launches differ by 5 %: the standard
/// deviation of one message, of which an echo is two.
fn noisy(change: f64, seed: u64) -> Machine {
    let (t0_us, per_byte_ns) = (15.0 * change, 2.0 * change);
    let lines = format!(
        "topology = {{ kind = \"flat\" }}\n\
         [[protocol]]\nup_to = \"512 B\"\nkind = \"eager\"\nt0 = \"10 us\"\nper_byte = \"8 ns/B\"\n\
         [[protocol]]\nkind = \"eager\"\nt0 = \"{t0_us} us\"\nper_byte = \"{per_byte_ns} ns/B\"\n",
    );
    machines::noisy(machine(&lines), seed, &[NoiseSource::LogNormal { sigma: 0.07 }])
}

/// The logarithm of each echo in the launch number `seed`.
fn launch(change: f64, seed: u64) -> Vec<f64> {
    let bench = Bench::new(&noisy(change, seed), 2);
    let cases = LENGTHS.map(|n| bench.case("comet/echo", &[1, n]).expect("two ranks echo"));
    let measurements = bench.measure(&cases, &settings(1, 1));
    let quoted = |m: &Measurement| m.series[0].quoted_ns.expect("it is quoted");
    measurements.iter().map(|measurement| quoted(measurement).ln()).collect()
}

/// One comparison for each length, of which the long ones have changed; `number` chooses the seeds.
fn comparison(number: u64) -> Vec<Launches> {
    let first = 2 * N_LAUNCHES * number + 1;
    let side = |change: f64, first: u64| -> Vec<Vec<f64>> {
        (first..first + N_LAUNCHES).map(|seed| launch(change, seed)).collect()
    };
    let (base, new) = (side(1.0, first), side(1.2, first + N_LAUNCHES));
    let of = |side: &[Vec<f64>], index: usize| side.iter().map(|launch| launch[index]).collect();
    let point = |index| Launches { base: of(&base, index), new: of(&new, index), is_paired: false };
    (0..LENGTHS.len()).map(point).collect()
}

/// The share of `points` that are called slower.
fn slower<'a>(points: impl Iterator<Item = &'a Launches>) -> f64 {
    let verdicts = points.map(|point| point.difference().expect("there are launches"));
    let slower: Vec<bool> =
        verdicts.map(|found| found.verdict(MARGIN) == Verdict::Slower).collect();
    slower.iter().filter(|is_slower| **is_slower).count() as f64 / slower.len() as f64
}

#[test]
fn messages_that_take_a_fifth_longer_are_found_and_others_rarely_called_slower() {
    let points: Vec<_> = (0..N_COMPARISONS).map(comparison).collect();
    let unchanged = slower(points.iter().flat_map(|of_one| &of_one[..N_SHORT]));
    let changed = slower(points.iter().flat_map(|of_one| &of_one[N_SHORT..]));
    assert!(unchanged <= 0.01 && changed >= 0.90, "{unchanged} and {changed} are called slower");
    let points = points.iter().flatten();
    let deviations: Vec<f64> =
        points.map(|point| point.deviation().expect("there are launches")).collect();
    let mean = deviations.iter().sum::<f64>() / deviations.len() as f64;
    assert!((0.03..0.07).contains(&mean), "launches are to differ by 5 %, and do by {mean}");
}
