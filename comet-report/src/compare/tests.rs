//! Comparisons of runs that differ in known ways, and how they look.

use super::*;
use crate::fixture::{self, Folder};
use crate::record::{CheckStatus, Failure, Measured, Outcome, Point, PointStatus, Transport};
use crate::recorder::RunDescription;
use crate::runs::read_runs;

/// Launches of one side.
const N_LAUNCHES: usize = 5;
/// Differences of single launches from their mean, which is 0.
const JITTER: [f64; N_LAUNCHES] = [0.004, -0.006, 0.001, 0.006, -0.005];

/// The run of the fixture, with times of some ten microseconds.
fn run() -> RunRecords {
    let folder = Folder::new();
    let mut run = read_runs(&fixture::record_run(&folder)).unwrap().remove(0);
    run.path = None;
    // Its cores move at one point.
    set_line(&mut run, &[110.0]);
    scale(&mut run, |_| 100.0);
    run
}

/// Multiplies the times of each point.
fn scale(run: &mut RunRecords, factor: impl Fn(&Point) -> f64) {
    for point in &mut run.points {
        let factor = factor(point);
        if let Some(Measured { numbers, .. }) = point.measured_mut() {
            numbers.quoted_ns = numbers.quoted_ns.map(|ns| factor * ns);
            numbers.time_ns.min *= factor;
            numbers.time_ns.p10 = numbers.time_ns.p10.map(|ns| factor * ns);
        }
    }
}

/// So many launches that started at `first`, and every 4 minutes after it.
fn launches(n: usize, first: usize, factor: impl Fn(&Point) -> f64) -> Vec<RunRecords> {
    let launch = |index: usize| {
        let mut launch = run();
        scale(&mut launch, |point| factor(point) * JITTER[index % N_LAUNCHES].exp());
        let minute = first + 4 * index;
        launch.run.as_mut().unwrap().started_at = format!("2026-01-01T00:{minute:02}:00.000Z");
        launch
    };
    (0..n).map(launch).collect()
}

/// Launches of the base, of which the next ones are no neighbours.
fn base() -> Vec<RunRecords> {
    launches(N_LAUNCHES, 0, |_| 1.0)
}

/// Launches long after those of the base.
fn later(factor: impl Fn(&Point) -> f64) -> Vec<RunRecords> {
    launches(N_LAUNCHES, 30, factor)
}

/// Factor for the long messages alone.
fn long(point: &Point, factor: f64) -> f64 {
    if point.number("length_bytes") == Some(65_536) { factor } else { 1.0 }
}

fn row<'a>(comparison: &'a Comparison, words: &str) -> &'a PointRow {
    let is_row = |row: &&PointRow| format!("{} {}", row.kernel, row.params).contains(words);
    comparison.points.iter().find(is_row).unwrap()
}

/// The launches of the base against `new` ones.
fn against(new: &[RunRecords]) -> Comparison {
    compare(&base(), new, &Options::default())
}

/// The launches of the base against later ones with this factor for long messages.
fn against_long(factor: f64) -> Comparison {
    against(&later(|point| long(point, factor)))
}

/// The point of long messages.
const LONG: &str = "length_bytes=65536";

#[test]
fn runs_of_the_same_program_are_the_same() {
    let found = against_long(1.0);
    assert_eq!(found.count(Verdict::Same), found.points.len());
    assert_eq!(found.points.len(), 5);
    assert!(!found.is_worse() && !found.failures.is_empty(), "what always fails is no loss");
    assert!(found.environment.is_empty() && found.missing.is_empty());
    let kernel = &found.kernels[0];
    assert_eq!((&*kernel.kernel, kernel.n_points), ("comet/echo", 2));
    assert_eq!(kernel.verdict, Verdict::Same);
}

#[test]
fn a_slower_point_is_found_and_a_faster_one_is_no_loss() {
    let found = against_long(1.3);
    let slower = row(&found, LONG);
    assert_eq!((slower.verdict, slower.method), (Verdict::Slower, Some("welch")));
    assert!((slower.ratio.unwrap() - 1.3).abs() < 1e-9 && slower.q.unwrap() < 1e-6, "{slower:?}");
    assert_eq!((found.count(Verdict::Slower), found.is_worse()), (1, true));
    let found = against_long(0.7);
    assert_eq!((found.count(Verdict::Faster), found.is_worse()), (1, false));
}

#[test]
fn a_change_near_the_margin_is_called_changed_and_leaves_the_comparison_open() {
    let found = against_long(1.05);
    let changed = row(&found, LONG);
    assert_eq!(changed.verdict, Verdict::Changed);
    let (low, high) = (changed.low.unwrap(), changed.high.unwrap());
    assert!(1.0 < low && low < 1.05 && high > 1.05, "{low} {high}");
    assert_eq!((found.n_undecided(), found.is_open(), found.is_worse()), (1, true, false));
    let text = render(&found, "text").unwrap();
    assert!(text.contains("0 slower, 0 faster, 1 changed, "), "{text}");
    assert!(against_long(1.0).count(Verdict::Changed) == 0);
}

#[test]
fn a_point_of_which_more_is_better_is_judged_the_other_way_round() {
    let turned = |mut runs: Vec<RunRecords>| {
        let points = runs.iter_mut().flat_map(|run| &mut run.points);
        let measured = points.filter_map(Point::measured_mut);
        measured.for_each(|measured| measured.numbers.value.better = "higher".into());
        runs
    };
    let new = turned(later(|point| long(point, 1.3)));
    let found = compare(&turned(base()), &new, &Options::default());
    assert_eq!(row(&found, LONG).verdict, Verdict::Faster);
}

/// A run over MPI at the thread level `level`.
fn at_level(level: &str) -> Vec<RunRecords> {
    let (folder, details) = (Folder::new(), [("thread_level".into(), level.into())].into());
    let transport = Transport::new("mpi", details);
    let description = RunDescription { transport, ..fixture::description() };
    let path = folder.path().join("run.jsonl");
    fixture::tell(&mut fixture::recorder_of(&path, description));
    read_runs(&path).unwrap()
}

#[test]
fn points_of_two_thread_levels_are_no_pair() {
    let single = at_level("single");
    assert!(!compare(&single, &at_level("single"), &Options::default()).points.is_empty());
    let found = compare(&single, &at_level("funneled"), &Options::default());
    assert!(found.points.is_empty() && !found.missing.is_empty());
    assert!(found.environment.iter().any(|change| change.what == "transport mpi thread level"));
}

#[test]
fn launches_that_took_turns_are_pairs() {
    let check = |first, expected| {
        let found = against(&launches(N_LAUNCHES, first, |_| 1.0));
        assert_eq!(found.points[0].method, Some(expected), "from minute {first}");
    };
    check(1, "paired");
    check(30, "welch");
    check(0, "welch");
    let forced = Options { is_paired: true, ..Options::default() };
    let found = compare(&base(), &later(|_| 1.0), &forced);
    assert_eq!(found.points[0].method, Some("paired"));
}

#[test]
fn fast_samples_that_agree_take_back_a_loss() {
    let mut new = later(|point| long(point, 1.3));
    for point in new.iter_mut().flat_map(|run| &mut run.points) {
        let factor = long(point, 1.3);
        if let Some(of) = point.measured_mut() {
            let p10 = &mut of.numbers.time_ns.p10;
            *p10 = p10.map(|p10| p10 / factor);
        }
    }
    let found = against(&new);
    let doubted = row(&found, LONG);
    assert_eq!(doubted.verdict, Verdict::Inconclusive);
    assert!(doubted.why.as_ref().unwrap().contains("fast samples agree"), "{doubted:?}");
}

#[test]
fn one_launch_a_side_tells_nothing_unless_its_samples_may() {
    let [mut base, mut new] = [launches(1, 0, |_| 1.0), launches(1, 1, |point| long(point, 1.3))];
    let found = compare(&base, &new, &Options::default());
    assert_eq!(found.count(Verdict::Inconclusive), found.points.len());
    assert_eq!(found.points[0].low, None);
    let single = Options { allows_single: true, ..Options::default() };
    let found = compare(&base, &new, &single);
    assert_eq!(found.count(Verdict::Inconclusive), found.points.len(), "there are no intervals");
    base.iter_mut().chain(&mut new).flat_map(|run| &mut run.points).for_each(add_interval);
    let found = compare(&base, &new, &single);
    let slower = row(&found, LONG);
    assert_eq!((slower.verdict, slower.method), (Verdict::Slower, Some("samples")));
    // Each interval is 1 % to both sides, so theirs together is the root of 2 of that.
    let high = 1.3 * (2.0f64.sqrt() * 1.01f64.ln()).exp();
    assert!((slower.high.unwrap() - high).abs() < 1e-6, "{slower:?}");
}

/// Gives a point an interval of 1 % to both sides.
fn add_interval(point: &mut Point) {
    let Some(Measured { numbers, quality, .. }) = point.measured_mut() else { return };
    let (quoted_ns, quality) = (numbers.quoted_ns.unwrap(), quality.as_mut().unwrap());
    quality.interval_ns = Some(crate::record::Interval {
        low: quoted_ns / 1.01,
        high: quoted_ns * 1.01,
        level: 0.95,
        method: "order_statistics".into(),
    });
}

/// A simulated launch without noise.
fn simulated(factor: f64) -> Vec<RunRecords> {
    let mut run = run();
    scale(&mut run, |_| factor);
    run.run.as_mut().unwrap().clock.is_virtual = true;
    for measured in run.points.iter_mut().filter_map(Point::measured_mut) {
        measured.numbers.time_ns.max = measured.numbers.time_ns.min;
    }
    vec![run]
}

#[test]
fn times_of_a_simulation_without_noise_are_compared_exactly() {
    let check = |factor, margin, expected| {
        let options = Options { margin, ..Options::default() };
        let found = compare(&simulated(1.0), &simulated(factor), &options);
        assert_eq!(found.count(expected), found.points.len(), "{factor} {margin:?}");
        assert_eq!(found.kernels[0].verdict, expected);
        found.points[0].ratio
    };
    assert_eq!(check(1.0, None, Verdict::Same), Some(1.0));
    check(1.001, None, Verdict::Slower);
    check(0.999, None, Verdict::Faster);
    check(1.001, Some(0.01), Verdict::Same);
}

/// Simulated launches with noise: times that differ by `factor`, and by what each seed draws.
fn noisy(seeds: [u64; 3], minute: usize, factor: f64) -> Vec<RunRecords> {
    let mut runs = launches(seeds.len(), minute, |_| factor);
    for (records, seed) in runs.iter_mut().zip(seeds) {
        let run = records.run.as_mut().unwrap();
        (run.clock.is_virtual, run.seed) = (true, Some(seed));
        run.transport = Transport::new("sim", [("seed".into(), seed.into())].into());
    }
    runs
}

#[test]
fn simulated_launches_of_one_seed_are_one_launch() {
    let compare =
        |base, new| compare(&noisy(base, 0, 1.0), &noisy(new, 30, 1.2), &Options::default());
    let found = compare([1, 1, 1], [4, 4, 4]);
    assert_eq!(found.count(Verdict::Inconclusive), found.points.len());
    let row = &found.points[0];
    assert_eq!((row.n_base, row.n_new, row.n_repeated, row.low), (1, 1, 4, None));
    assert!(row.why.as_ref().unwrap().contains("single seeds") && found.n_undecided() == 0);
    assert!(found.notes[0].starts_with("4 simulated launches repeat the seed"), "{found:?}");
    let found = compare([1, 2, 3], [4, 5, 6]);
    assert_eq!((found.count(Verdict::Slower), &*found.notes), (found.points.len(), &[][..]));
}

/// Sets the times of a cache line of `run`.
fn set_line(run: &mut RunRecords, line_ns: &[f64]) {
    for measured in run.points.iter_mut().filter_map(Point::measured_mut) {
        measured.quality.as_mut().unwrap().line_ns = Some(line_ns.to_vec());
    }
}

#[test]
fn launches_of_one_line_time_are_compared_and_the_others_left_out() {
    let mut base = base();
    let mut new = later(|point| long(point, 1.3));
    base.iter_mut().chain(&mut new).for_each(|run| set_line(run, &[108.0, 121.0]));
    // In one launch the cores were together, in another they came together.
    for (run, lines) in [(&mut base[1], [11.0, 11.5]), (&mut new[2], [110.0, 11.0])] {
        scale(run, |_| 0.4);
        set_line(run, &lines);
    }
    let found = compare(&base, &new, &Options::default());
    let slower = row(&found, LONG);
    assert_eq!((slower.n_base, slower.n_new, slower.n_moved), (4, 4, 2));
    assert_eq!(slower.verdict, Verdict::Slower, "{slower:?}");
    assert!((slower.ratio.unwrap() / 1.3 - 1.0).abs() < 0.01, "{slower:?}");
    assert_eq!(found.count(Verdict::Same), found.points.len() - 1);
    assert!(found.notes[0].contains("takes 11 to 121 ns"), "{:?}", found.notes);
    let paired = Options { is_paired: true, ..Options::default() };
    let row = &compare(&base, &new, &paired).points[0];
    assert_eq!((row.n_base, row.n_new, row.method), (4, 4, Some("welch")), "pairs lost one");
}

#[test]
fn a_change_is_looked_for_again_at_the_line_time_at_which_it_was_seen() {
    let mut base = base();
    let mut new = later(|point| long(point, 1.3));
    base.iter_mut().chain(&mut new).for_each(|run| set_line(run, &[60.0, 66.0]));
    let mut first = compare(&base, &new, &Options::default());
    let changes = first.changes();
    assert_eq!(changes.values().copied().collect::<Vec<_>>(), [Some(63.0)]);
    let options = Options { changes: Some(changes), ..Options::default() };
    // Where the cores are further apart, the change is not seen, and that tells nothing.
    let mut again = later(|_| 1.0);
    again.iter_mut().for_each(|run| set_line(run, &[220.0, 230.0]));
    let found = compare(&base, &again, &options);
    assert_eq!((found.points[0].verdict, found.n_undecided()), (Verdict::Inconclusive, 1));
    assert_eq!((found.points[0].ratio, &found.kernels[..]), (None, &[][..]));
    first.confirm(&found);
    let row = row(&first, LONG);
    let why = "was slower once; then a cache line takes 60 to 230 ns between ranks 0 and 1, and 63 \
               ns in no launch of one side (measure again)";
    assert_eq!((row.confirmation, row.why.as_deref()), (None, Some(why)));
    // Launches there are left out, even if most are.
    let mut base = [base.clone(), base].concat();
    let new = [new, again.clone(), again].concat();
    base[5..].iter_mut().for_each(|run| set_line(run, &[220.0, 230.0]));
    let row = &compare(&base, &new, &options).points[0];
    assert_eq!((row.n_base, row.n_new, row.verdict), (5, 5, Verdict::Slower), "{row:?}");
}

#[test]
fn launches_without_a_line_time_in_common_are_refused() {
    let (mut base, mut new) = (base(), later(|_| 2.4));
    base.iter_mut().for_each(|run| set_line(run, &[11.0]));
    new.iter_mut().for_each(|run| set_line(run, &[110.0]));
    let found = compare(&base, &new, &Options::default());
    assert_eq!(found.count(Verdict::Inconclusive), found.points.len());
    assert!(!found.is_worse() && found.n_undecided() == found.points.len());
    let why = found.points[0].why.as_ref().unwrap();
    assert_eq!(
        why,
        "a cache line takes 11 to 110 ns between ranks 0 and 1, and no time is common to both sides \
         (measure again)"
    );
}

#[test]
fn ranks_that_started_in_another_way_are_no_pair() {
    let mut new = later(|_| 1.0);
    let barriers = new.iter_mut().flat_map(|run| &mut run.points);
    for measured in
        barriers.filter(|point| point.kernel == "barrier").filter_map(Point::measured_mut)
    {
        measured.plan.sync = crate::record::SampleSync::DoubleBarrier;
    }
    let found = against(&new);
    assert!(found.points.iter().all(|row| row.kernel != "comet/barrier"));
    assert_eq!(found.missing.len(), 2, "{:?}", found.missing);
    let why = found.missing[1].message.as_ref().unwrap();
    assert!(why.contains("ranks start after two barriers in the other runs"), "{why}");
}

#[test]
fn the_power_of_launches_is_counted() {
    let found = against_long(1.0);
    let powers: Vec<_> = found.power.iter().map(|power| (power.change, power.n_points)).collect();
    let n = found.points.len();
    assert_eq!(powers, [(0.1, n), (0.2, n), (0.5, n)]);
    let single = compare(&launches(1, 0, |_| 1.0), &launches(1, 1, |_| 1.0), &Options::default());
    assert!(single.power.iter().all(|power| power.n_points == 0));
    assert_eq!(compare(&simulated(1.0), &simulated(1.0), &Options::default()).power, []);
}

#[test]
fn a_case_that_fails_now_is_a_loss_of_its_own() {
    let mut new = later(|_| 1.0);
    let point = new[3].points.iter_mut().find(|point| point.kernel == "barrier").unwrap();
    let (status, message) = (PointStatus::CheckFailed, "rank 1: byte 3".into());
    point.outcome = Outcome::Failed(Failure { status, message });
    point.check.status = CheckStatus::Fail;
    (point.variant, point.key) = (None, "other".into());
    let found = against(&new);
    let failure = found.failures.iter().find(|row| row.kernel == "comet/barrier").unwrap();
    assert!(failure.is_regression && found.is_worse(), "{failure:?}");
    assert!(found.points.iter().all(|row| row.kernel != "comet/barrier"));
    assert_eq!(found.missing, []);
    let back = compare(&new, &base(), &Options::default());
    assert!(!back.is_worse(), "what failed before is no loss");
}

#[test]
fn what_one_side_lacks_is_listed() {
    let mut new = later(|_| 1.0);
    new.iter_mut().for_each(|run| run.points.retain(|point| point.kernel != "overlap"));
    let found = against(&new);
    let missing: Vec<_> = found.missing.iter().map(|row| (&*row.kernel, row.missing_in)).collect();
    let expected = [("comet/overlap synchronous", "new"), ("comet/overlap overlapped", "new")];
    assert_eq!(missing, expected);
    let none = against(&[]);
    assert!(none.is_empty() && none.points.is_empty());
}

#[test]
fn conditions_that_differ_are_named() {
    let mut new = later(|_| 1.0);
    for run in new.iter_mut().filter_map(|records| records.run.as_mut()) {
        run.machines[0].cpu.governor = Some("powersave".into());
        run.fingerprint = "another".into();
    }
    let found = against(&new).environment;
    let expected =
        Change { what: "machines 0 cpu governor".into(), from: None, to: Some("powersave".into()) };
    assert_eq!(found, [expected]);
}

#[test]
fn conditions_are_those_of_runs_with_as_many_ranks() {
    let with_ranks = |minute, n_ranks: usize| {
        let mut runs = launches(1, minute, |_| 1.0);
        let run = runs[0].run.as_mut().unwrap();
        (run.world.size, run.fingerprint) = (n_ranks, format!("of {n_ranks}"));
        runs.remove(0)
    };
    let mut new = [with_ranks(2, 2), with_ranks(3, 4)];
    let base = [with_ranks(0, 2), with_ranks(1, 4)];
    assert_eq!(compare(&base, &new, &Options::default()).environment, []);
    new[1].run.as_mut().unwrap().fingerprint = "another".into();
    let found = compare(&base, &new, &Options::default()).environment;
    assert_eq!(found[0].from.as_deref(), Some("of 4"), "{found:?}");
}

#[test]
fn a_change_counts_if_other_launches_show_it_too() {
    let mut found = against_long(1.3);
    found.confirm(&against_long(1.25));
    assert_eq!(found.count(Verdict::Slower), 1);
    let confirmation = row(&found, LONG).confirmation.unwrap();
    assert!((confirmation.ratio - 1.25).abs() < 1e-9);
    for again in [1.0, 0.7] {
        let mut found = against_long(1.3);
        found.confirm(&against_long(again));
        assert_eq!((found.count(Verdict::Slower), found.is_worse()), (0, false));
        assert!(row(&found, LONG).why.as_ref().unwrap().contains("was slower once"));
    }
}

#[test]
fn a_machine_that_differs_from_itself_gives_hints_only() {
    let mut found = against(&later(|_| 1.5));
    found.set_control(&against_long(1.0));
    assert!(!found.is_advisory());
    found.set_control(&against_long(0.7));
    assert!(found.is_advisory() && found.is_worse());
    assert_eq!(found.control.as_ref().unwrap().n_changed, 1);
}

#[test]
fn only_the_points_that_are_asked_for_are_compared() {
    let all = against_long(1.3);
    let options = Options { changes: Some(all.changes()), ..Options::default() };
    let some = compare(&base(), &later(|_| 1.0), &options);
    assert_eq!(some.points.len(), 1);
}

/// A comparison with something of every kind.
fn rich() -> Comparison {
    let mut new = later(|point| match &*point.kernel {
        "barrier" => 1.08,
        "overlap" => 0.9,
        _ => long(point, 1.3),
    });
    for (index, run) in new.iter_mut().enumerate() {
        let shift = if index % 2 == 0 { 1.15 } else { 0.85 };
        scale(run, |point| if point.kernel == "barrier" { shift } else { 1.0 });
        run.points.retain(|point| point.variant.as_deref() != Some("overlapped"));
        run.run.as_mut().unwrap().machines[0].cpu.governor = Some("powersave".into());
        run.run.as_mut().unwrap().fingerprint = "another".into();
    }
    let mut base = base();
    let models = |factor: f64| {
        let points = crate::models::tests::thesis();
        let mut model = crate::models::models(&points.iter().collect::<Vec<_>>(), &[]).remove(0);
        for parameter in &mut model.fits[0].parameters {
            parameter.value = parameter.value.map(|value| factor * value);
            parameter.low = parameter.value.map(|value| 0.95 * value);
            parameter.high = parameter.value.map(|value| 1.05 * value);
        }
        vec![model]
    };
    base.iter_mut().for_each(|run| run.models = models(1.0));
    new.iter_mut().for_each(|run| run.models = models(1.3));
    let mut found = compare(&base, &new, &Options::default());
    found.set_control(&compare(&base, &launches(3, 40, |_| 1.0), &Options::default()));
    found
}

#[test]
fn comparisons_look_as_they_did() {
    for (name, end) in [("text", "txt"), ("markdown", "md"), ("junit", "xml")] {
        fixture::check_golden(format!("compare-{name}.{end}"), &render(&rich(), name).unwrap());
    }
}

#[test]
fn a_json_comparison_has_the_numbers_that_it_had() {
    let text = render(&rich(), "json").unwrap();
    assert!(text.contains("\"schema\": \"comet.comparison/1\""), "{text}");
    let rounded: Vec<String> = text.lines().map(rounded).collect();
    fixture::check_golden("compare-json.json", &(rounded.join("\n") + "\n"));
}

/// `line` with six digits of its number: logarithms differ in their last ones between systems.
fn rounded(line: &str) -> String {
    let number = line.split_once(": ").map(|(_, value)| value.trim_end_matches(','));
    let Some(number) = number.filter(|number| number.contains('.')) else { return line.into() };
    let Ok(value) = number.parse::<f64>() else { return line.into() };
    let short = if value.abs() < 1e-9 { "0.0".into() } else { format!("{value:.5e}") };
    line.replace(number, &short)
}

#[test]
fn what_xml_reads_as_its_own_is_escaped() {
    let mut found = rich();
    found.points[0].verdict = Verdict::Inconclusive;
    found.points[0].why = Some("a < b & \"c\"\u{1b}\u{fffe}".into());
    let text = render(&found, "junit").unwrap();
    assert!(text.contains("message=\"a &lt; b &amp; &quot;c&quot;\u{fffd}\u{fffd}\""), "{text}");
}
