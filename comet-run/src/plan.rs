//! From kernels and sweeps to cases, and what they need: memory, time, and ranks that admit them.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::Context as _;
use comet_core::driver::Settings;
use comet_core::kernel::{Axis, AxisKind, AxisUse, Case, KernelInfo, PROCS, Profile, World};
use comet_core::sweep;
use comet_core::topology::Topology;

use crate::exit;
use crate::limit;

/// The most cases of one kernel.
const MAX_CASES: usize = 100_000;

/// Time of a case beside its samples, as a share of theirs: two checks, two probes.
const OVERHEAD_SHARE: f64 = 0.25;
/// Samples of the probe of a long operation.
const N_PROBED: u32 = 3;
/// Time of an operation for each byte of memory that a rank needs for it, in nanoseconds: about that
/// of a machine with 4 GB/s.
const OPERATION_NS_PER_BYTE: f64 = 0.25;
/// Time to make and to look at one byte in two checks, in nanoseconds.
const CHECKS_NS_PER_BYTE: f64 = 4.0;

/// Values from the command line for an axis, instead of those of the profile.
#[derive(Debug)]
pub(crate) struct Override {
    /// The option that holds them (`--sizes`, `--axis hops`).
    pub(crate) option: String,
    /// The axis.
    pub(crate) axis: &'static Axis,
    /// The values, in the form of [`sweep`], or labels of the axis.
    pub(crate) values: String,
    /// Refuses what a shorthand such as `--hops` leaves to the kernels: an axis that none of them
    /// has, and values above its range.
    pub(crate) is_strict: bool,
}

impl Override {
    /// The values on ranks of `topology`, ascending.
    ///
    /// # Errors
    /// One sentence with the option, if it holds no values of the axis.
    fn parse(&self, topology: &Topology) -> anyhow::Result<Vec<u64>> {
        let refuse = |error| exit::usage(format!("{}: {error}", self.option));
        match self.axis.kind {
            AxisKind::Choice => labelled(&self.values, self.axis.labels),
            AxisKind::Found if self.is_strict => {
                Err("the kernels find its values during the run (leave it out)".into())
            }
            _ => self.numbers(max(self.axis, topology)),
        }
        .map_err(refuse)
    }

    /// The numbers, at most `max`.
    fn numbers(&self, max: Option<u64>) -> Result<Vec<u64>, String> {
        let values = sweep::parse(&self.values, max).map_err(|error| error.to_string())?;
        // Values up to the word `max` follow the ranks, and the kernels refuse what is left.
        let bound = max.filter(|_| self.is_strict && !self.values.contains("max"));
        match (values.last(), bound) {
            _ if *self.axis == PROCS && values.contains(&0) => {
                Err("no case runs on 0 ranks (write 1..max)".into())
            }
            (Some(value), Some(max)) if *value > max => {
                Err(format!("{value} is above the largest value here, {max} (write 0..max)"))
            }
            _ => Ok(values),
        }
    }
}

/// The values with the names in `text`, ascending.
fn labelled(text: &str, labels: &[&str]) -> Result<Vec<u64>, String> {
    let mut values = Vec::new();
    for word in text.split(',').map(str::trim) {
        let value = labels.iter().position(|label| *label == word);
        let value = value.ok_or_else(|| {
            format!("'{word}' is not one of {} (write some of these)", labels.join(", "))
        })?;
        values.push(value as u64);
    }
    values.sort_unstable();
    values.dedup();
    Ok(values)
}

/// Planned cases.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The kernels with their cases.
    pub(crate) kernels: Vec<KernelPlan>,
    /// One sentence for each option that has no effect.
    pub(crate) notes: Vec<String>,
}

/// The cases of one kernel.
#[derive(Debug)]
pub(crate) struct KernelPlan {
    /// The kernel.
    pub(crate) info: &'static KernelInfo,
    /// Its cases; the first axis varies slowest.
    pub(crate) cases: Vec<Case>,
}

impl Plan {
    /// All cases, in the order in which they run.
    pub(crate) fn cases(&self) -> Vec<Case> {
        self.kernels.iter().flat_map(|kernel| &kernel.cases).copied().collect()
    }
}

impl KernelPlan {
    /// Cases that will be skipped on these ranks, with the reason.
    pub(crate) fn refused(&self, topology: &Topology, cap_bytes: u64) -> Vec<(Case, String)> {
        let refused = |case: &Case| Some((*case, refusal(case, topology, cap_bytes)?));
        self.cases.iter().filter_map(refused).collect()
    }

    /// Cases that run on these ranks.
    pub(crate) fn running(
        &self,
        topology: &Topology,
        cap_bytes: u64,
    ) -> impl Iterator<Item = &Case> {
        self.cases.iter().filter(move |case| refusal(case, topology, cap_bytes).is_none())
    }

    /// The most memory that one rank needs for a case that runs, in bytes.
    pub(crate) fn bytes_per_rank(&self, topology: &Topology, cap_bytes: u64) -> u64 {
        let running = self.running(topology, cap_bytes);
        running.map(|case| bytes_per_rank(case, topology)).max().unwrap_or(0)
    }
}

/// Reason for which `case` will be skipped, if it will be.
fn refusal(case: &Case, topology: &Topology, cap_bytes: u64) -> Option<String> {
    let admits = |topology: Cow<'_, Topology>| {
        let world = &World::of(&topology);
        (case.info.admits)(case, world).and_then(|()| limit::fits(case, world, cap_bytes))
    };
    case.topology(topology).and_then(admits).err()
}

/// Memory that one rank needs for `case`, in bytes; 0 where the ranks do not suffice.
fn bytes_per_rank(case: &Case, topology: &Topology) -> u64 {
    let of_ranks = case.topology(topology);
    of_ranks.map_or(0, |topology| (case.info.bytes_per_rank)(case, &World::of(&topology)))
}

/// The cases of `kernels`: the sweeps of `profile`, but for the axes that `overrides` name.
///
/// # Errors
/// One sentence with the option, if a sweep cannot be understood or makes too many cases.
pub(crate) fn plan(
    kernels: &[&'static KernelInfo],
    overrides: &[Override],
    profile: Profile,
    topology: &Topology,
) -> anyhow::Result<Plan> {
    for change in overrides {
        // Also one that no kernel varies along: a typing error is no value.
        change.parse(topology)?;
        require_axis(change, kernels, overrides)?;
    }
    let planned = kernels
        .iter()
        .map(|info| Ok(KernelPlan { info, cases: cases(info, overrides, profile, topology)? }))
        .collect::<anyhow::Result<Vec<_>>>()?;
    let varies = |info: &KernelInfo, axis: &Axis| info.axes.iter().any(|used| used.axis == axis);
    let used = |axis: &Axis| *axis == PROCS || kernels.iter().any(|info| varies(info, axis));
    let notes = overrides.iter().filter(|change| !used(change.axis)).map(|change| {
        let Override { option, axis, .. } = change;
        format!("note: {option} has no effect: no selected kernel varies {}", axis.name)
    });
    Ok(Plan { kernels: planned, notes: notes.collect() })
}

/// About how long `cases` take, or `None` if the number of samples is fixed.
pub(crate) fn time<'a>(
    cases: impl Iterator<Item = &'a Case>,
    topology: &Topology,
    settings: &Settings,
) -> Option<Duration> {
    if settings.samples.is_some() {
        return None;
    }
    let budget = Duration::from_nanos(settings.case_budget_ns).mul_f64(1.0 + OVERHEAD_SHARE);
    let all = cases.map(|case| budget.max(least_time(case, topology, settings))).sum();
    let budget = settings.run_budget_ns.map(Duration::from_nanos);
    Some(budget.map_or(all, |budget| all.min(budget)))
}

/// About how long `case` takes if its samples are as few as may be: long messages are checked twice,
/// warmed up and sampled a few times whatever the budget.
fn least_time(case: &Case, topology: &Topology, settings: &Settings) -> Duration {
    // A sample follows two operations that are not timed.
    let n_operations = 3 * (N_PROBED + settings.slices.min);
    let ns_per_byte = f64::from(n_operations) * OPERATION_NS_PER_BYTE + CHECKS_NS_PER_BYTE;
    Duration::from_secs(bytes_per_rank(case, topology)).mul_f64(ns_per_byte * 1e-9)
}

/// Refuses a named axis that none of `kernels` varies, and one with values from two options.
fn require_axis(
    change: &Override,
    kernels: &[&'static KernelInfo],
    overrides: &[Override],
) -> anyhow::Result<()> {
    let Override { option, axis, .. } = change;
    let is_other = |other: &&Override| other.axis == *axis && !std::ptr::eq(*other, change);
    if let Some(other) = overrides.iter().find(is_other) {
        let text = format!("{option}: {} has other values for it (give one)", other.option);
        return Err(exit::usage(text));
    }
    let axes = kernels.iter().flat_map(|info| info.axes).map(|used| used.axis.name);
    let axes: BTreeSet<_> = axes.chain([PROCS.name]).collect();
    if axes.contains(axis.name) || !change.is_strict {
        return Ok(());
    }
    let varied = Vec::from_iter(axes).join(", ");
    Err(exit::usage(format!("{option}: no selected kernel varies it (they vary {varied})")))
}

/// The cases of one kernel on each number of ranks, in the order of its axes, slowest first.
fn cases(
    info: &'static KernelInfo,
    overrides: &[Override],
    profile: Profile,
    topology: &Topology,
) -> anyhow::Result<Vec<Case>> {
    let mut cases = Vec::new();
    for procs in procs(overrides, topology)? {
        let part = topology.first(procs.unwrap_or(topology.n_ranks()));
        let mut of_part = vec![Case::new(info, &[]).on_first(procs)];
        for used in info.axes {
            let values = values(info, used, overrides, profile, &part)?;
            let along = |case: Case| values.iter().map(move |value| case.with(used.axis, *value));
            if of_part.len().saturating_mul(values.len()) + cases.len() > MAX_CASES {
                return Err(exit::usage(format!(
                    "{} has more than {MAX_CASES} cases (use fewer values, as in 1..1Mi*2)",
                    info.id()
                )));
            }
            of_part = of_part.into_iter().flat_map(along).collect();
        }
        cases.extend(of_part);
    }
    Ok(cases)
}

/// The numbers of ranks on which each case runs; `None` for all.
fn procs(overrides: &[Override], topology: &Topology) -> anyhow::Result<Vec<Option<usize>>> {
    let Some(change) = overrides.iter().find(|change| *change.axis == PROCS) else {
        return Ok(vec![None]);
    };
    let numbers = change.parse(topology)?.into_iter();
    let part = |n| usize::try_from(n).ok().filter(|procs| *procs != topology.n_ranks());
    Ok(numbers.map(part).collect())
}

/// The values of one axis; a single 0 where the kernel finds them during the run.
fn values(
    info: &KernelInfo,
    used: &AxisUse,
    overrides: &[Override],
    profile: Profile,
    topology: &Topology,
) -> anyhow::Result<Vec<u64>> {
    if let Some(change) = overrides.iter().find(|change| change.axis == used.axis) {
        return change.parse(topology);
    }
    let Some(default) = used.sweep(profile) else { return Ok(vec![0]) };
    sweep::parse(default, max(used.axis, topology))
        .with_context(|| format!("the default of {} for {} is wrong", info.id(), used.axis.name))
}

/// The value of `max` on `axis`, where the word has a meaning.
fn max(axis: &Axis, topology: &Topology) -> Option<u64> {
    axis.max.map(|max| max(topology))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue;
    use comet_core::kernel::{HOPS, LENGTH_BYTES, LOCAL_N};
    use comet_kernels::health::pairs::ROUND;
    use comet_kernels::model::pairs::PAIRS;

    static ECHO: KernelInfo = KernelInfo {
        name: "echo",
        summary: "s",
        source: "s",
        axes: &[
            AxisUse { axis: &HOPS, sweeps: ["1..max", "0..max", "0..max"] },
            AxisUse { axis: &LENGTH_BYTES, sweeps: ["0,8", "0,8,16", "0"] },
            AxisUse { axis: &LOCAL_N, sweeps: ["", "", ""] },
        ],
        series: &[],
        admits: |case, _| if case.value(&HOPS) < 2 { Ok(()) } else { Err("too far".into()) },
        bytes_per_rank: |case, _| case.value(&LENGTH_BYTES),
        ..KernelInfo::pair("test")
    };

    fn sizes(values: &str) -> Vec<Override> {
        vec![change("--sizes", &LENGTH_BYTES, values)]
    }

    fn change(option: &str, axis: &'static Axis, values: &str) -> Override {
        Override { option: option.into(), axis, values: values.into(), is_strict: false }
    }

    fn check(n_ranks: usize, overrides: &[Override], profile: Profile, expected: &[[u64; 2]]) {
        let plan = plan(&[&ECHO], overrides, profile, &Topology::hypercube(n_ranks)).unwrap();
        let pair = |case: &Case| [case.value(&HOPS), case.value(&LENGTH_BYTES)];
        let found: Vec<_> = plan.cases().iter().map(pair).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn the_first_axis_varies_slowest() {
        check(4, &[], Profile::Quick, &[[1, 0], [1, 8], [2, 0], [2, 8]]);
        check(2, &[], Profile::Full, &[[0, 0], [1, 0]]);
    }

    #[test]
    fn an_option_replaces_the_sweep_of_its_axis() {
        check(2, &sizes("4Ki"), Profile::Standard, &[[0, 4096], [1, 4096]]);
    }

    #[test]
    fn a_kernel_that_needs_a_second_rank_is_planned_and_refused_on_one() {
        check(1, &[], Profile::Quick, &[[1, 0], [1, 8]]);
    }

    #[test]
    fn the_most_pairs_are_half_of_the_ranks() {
        let check = |n_ranks, expected| {
            assert_eq!(PAIRS.max.map(|max| max(&Topology::hypercube(n_ranks))), expected);
        };
        check(8, Some(4));
        check(5, Some(2));
        check(1, Some(0));
    }

    #[test]
    fn the_last_round_is_that_in_which_the_last_pairs_meet() {
        let check = |n_ranks, expected| {
            assert_eq!(ROUND.max.map(|max| max(&Topology::hypercube(n_ranks))), expected);
        };
        check(8, Some(7));
        check(5, Some(5));
        check(1, Some(0));
    }

    #[test]
    fn an_axis_that_is_found_during_the_run_has_one_value() {
        let plan = plan(&[&ECHO], &[], Profile::Quick, &Topology::hypercube(2)).unwrap();
        assert!(plan.cases().iter().all(|case| case.value(&LOCAL_N) == 0));
    }

    #[test]
    fn a_wrong_sweep_is_refused_with_its_option() {
        let refused = |overrides: &[Override]| {
            plan(&[&ECHO], overrides, Profile::Quick, &Topology::hypercube(2))
                .unwrap_err()
                .to_string()
        };
        assert_eq!(refused(&sizes("8..4")), "--sizes: '8..4' runs backwards (write 4..8)");
        assert_eq!(refused(&sizes("max")), "--sizes: 'max' has no meaning on this axis");
        let many = |axis| change("-x", axis, "1..9999");
        let error = refused(&[many(&HOPS), many(&LENGTH_BYTES)]);
        assert!(error.starts_with("test/echo has more than 100000 cases"), "{error}");
    }

    #[test]
    fn an_option_without_effect_is_noted() {
        let overrides = [change("--elsewhere", &ELSEWHERE, "1")];
        let plan = plan(&[&ECHO], &overrides, Profile::Quick, &Topology::hypercube(2)).unwrap();
        assert_eq!(
            plan.notes,
            ["note: --elsewhere has no effect: no selected kernel varies elsewhere"]
        );
    }

    #[test]
    fn values_without_effect_are_parsed_all_the_same() {
        let overrides = [change("--elsewhere", &ELSEWHERE, "x2")];
        let error = plan(&[&ECHO], &overrides, Profile::Quick, &Topology::hypercube(2));
        let error = error.unwrap_err().to_string();
        assert!(error.starts_with("--elsewhere: 'x2' has an unknown unit"), "{error}");
    }

    #[test]
    fn a_named_axis_takes_values_in_its_range_and_labels() {
        let named = |axis: &'static Axis, values: &str| {
            let option = format!("--axis {}", axis.name);
            Override { option, axis, values: values.into(), is_strict: true }
        };
        let of_four = |overrides: &[Override]| {
            plan(&[&ECHO], overrides, Profile::Quick, &Topology::hypercube(4))
        };
        let check = |overrides: &[Override], expected: &str| {
            assert_eq!(of_four(overrides).unwrap_err().to_string(), expected);
        };
        check(
            &[named(&ELSEWHERE, "1")],
            "--axis elsewhere: no selected kernel varies it (they vary hops, length_bytes, \
             local_n, procs)",
        );
        check(
            &[named(&HOPS, "1,3")],
            "--axis hops: 3 is above the largest value here, 2 (write 0..max)",
        );
        check(&[named(&HOPS, "2..1")], "--axis hops: '2..1' runs backwards (write 1..2)");
        check(
            &[change("--sizes", &LENGTH_BYTES, "8"), named(&LENGTH_BYTES, "16")],
            "--sizes: --axis length_bytes has other values for it (give one)",
        );
        let plan = of_four(&[named(&HOPS, "1..max")]).unwrap();
        let found: Vec<_> = plan.cases().iter().map(|case| case.value(&HOPS)).collect();
        assert_eq!(found, [1, 1, 2, 2]);
        assert_eq!(labelled("b, a", &["a", "b"]), Ok(vec![0, 1]));
        let error = "'c' is not one of a, b (write some of these)";
        assert_eq!(labelled("a,c", &["a", "b"]), Err(error.into()));
    }

    #[test]
    fn cases_are_planned_and_judged_on_the_ranks_that_they_are_for() {
        let plan_on = |values: &str| {
            let (option, values) = ("--axis procs".into(), values.into());
            let procs = Override { option, axis: &PROCS, values, is_strict: true };
            plan(&[&ECHO], &[procs], Profile::Quick, &Topology::hypercube(8))
        };
        let plan = plan_on("2..max*2").unwrap();
        let of_case = |case: &Case| (case.procs(), case.value(&HOPS));
        let mut found: Vec<_> = plan.cases().iter().map(of_case).collect();
        found.dedup();
        let on = |procs, n_hops: u64| (1..=n_hops).map(move |hops| (procs, hops));
        let expected = on(Some(2), 1).chain(on(Some(4), 2)).chain(on(None, 3));
        assert_eq!(found, Vec::from_iter(expected));
        let few = |case: &&Case| case.topology(&Topology::hypercube(2)).is_ok();
        assert_eq!(plan.cases().iter().filter(few).count(), 2 + 6);
        let refusal = |values| plan_on(values).unwrap_err().to_string();
        assert_eq!(refusal("0..2"), "--axis procs: no case runs on 0 ranks (write 1..max)");
        let expected = "--axis procs: 16 is above the largest value here, 8 (write 0..max)";
        assert_eq!(refusal("16"), expected);
    }

    static ELSEWHERE: Axis = Axis::count("elsewhere", "elsewhere", "s");

    #[test]
    fn what_does_not_fit_is_refused_with_a_reason() {
        let topology = Topology::hypercube(4);
        let plan = plan(&[&ECHO], &[], Profile::Quick, &topology).unwrap();
        let refused = plan.kernels[0].refused(&topology, 4);
        let reasons: Vec<_> = refused.iter().map(|(_, reason)| reason.as_str()).collect();
        let memory = "needs 8 bytes of memory on each rank, 4 are allowed (see --mem)";
        assert_eq!(reasons, [memory, "too far", "too far"]);
        assert_eq!(plan.kernels[0].bytes_per_rank(&topology, 1024), 8);
        assert_eq!(plan.kernels[0].bytes_per_rank(&topology, 4), 0);
    }

    #[test]
    fn time_is_bounded_by_the_budget_and_unknown_for_fixed_samples() {
        let mut settings = Settings::of(Profile::Quick);
        let cases = [Case::new(&ECHO, &[1, 8]); 4];
        let topology = Topology::hypercube(2);
        let time = |settings: &Settings| time(cases.iter(), &topology, settings);
        assert_eq!(time(&settings), Some(Duration::from_millis(100)));
        settings.run_budget_ns = Some(1_000_000);
        assert_eq!(time(&settings), Some(Duration::from_millis(1)));
        settings.samples = Some(3);
        assert_eq!(time(&settings), None);
    }

    #[test]
    fn long_messages_are_planned_with_their_checks_and_fewest_samples() {
        let settings = Settings { case_budget_ns: 2_000_000, ..Settings::of(Profile::Quick) };
        let time = |length_bytes| {
            let case = Case::new(&ECHO, &[1, length_bytes]);
            time([case].iter(), &Topology::hypercube(2), &settings).unwrap().as_secs_f64()
        };
        // 18 operations at 4 GB/s, and 4 ns for each byte that is checked.
        assert!((time(1 << 30) - 9.13).abs() < 0.01, "{}", time(1 << 30));
        assert!((time(8) - 0.0025).abs() < 1e-9, "{}", time(8));
    }

    #[test]
    fn every_kernel_has_a_plan_on_every_number_of_ranks() {
        for n_ranks in [1, 2, 3, 4, 7, 8] {
            for profile in [Profile::Quick, Profile::Standard, Profile::Full] {
                let topology = Topology::hypercube(n_ranks);
                let plan = plan(&catalogue::infos(), &[], profile, &topology).unwrap();
                for kernel in &plan.kernels {
                    assert!(!kernel.cases.is_empty(), "{} on {n_ranks} ranks", kernel.info.id());
                }
            }
        }
    }
}
