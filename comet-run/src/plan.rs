//! From kernels and sweeps to cases, and what they need: memory, time, and ranks that admit them.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::Context as _;
use comet_core::driver::Settings;
use comet_core::kernel::{Axis, AxisKind, AxisUse, Case, KernelInfo, PROCS, Profile};
use comet_core::sweep;
use comet_core::topology::Topology;

use crate::exit;

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
    /// True if an axis that no selected kernel varies is refused; shorthands get a note.
    pub(crate) is_required: bool,
}

impl Override {
    /// The values on ranks of `topology`, ascending.
    ///
    /// # Errors
    /// One sentence with the option, if it holds no values of the axis.
    fn parse(&self, topology: &Topology) -> anyhow::Result<Vec<u64>> {
        match self.axis.kind {
            AxisKind::Choice => labelled(&self.values, self.axis.labels),
            AxisKind::Found => {
                Err("the kernels find its values during the run (leave it out)".into())
            }
            _ => sweep::parse(&self.values, max(self.axis, topology)).map_err(|e| e.to_string()),
        }
        .map_err(|error| self.refuse(&error))
    }

    /// Refuses values that mean nothing on one of `topologies`, and any above the largest value on
    /// all of them. Values up to the word `max` follow the ranks.
    fn require_values(&self, topologies: &[Topology]) -> anyhow::Result<()> {
        let mut largest = None;
        for topology in topologies {
            largest = largest.max(self.parse(topology)?.last().copied());
        }
        let max = topologies.iter().filter_map(|topology| max(self.axis, topology)).max();
        if *self.axis == PROCS && self.parse(&topologies[0])?.contains(&0) {
            return Err(self.refuse("no case runs on 0 ranks (write 1..max)"));
        }
        match largest.zip(max).filter(|_| !self.values.contains("max")) {
            Some((value, max)) if value > max => Err(self
                .refuse(&format!("{value} is above the largest value here, {max} (write 0..max)"))),
            _ => Ok(()),
        }
    }

    fn refuse(&self, reason: &str) -> anyhow::Error {
        exit::usage(format!("{}: {reason}", self.option))
    }
}

/// The values with the names in `text`, ascending.
fn labelled(text: &str, labels: &[&str]) -> Result<Vec<u64>, String> {
    let value = |word: &str| {
        let value = labels.iter().position(|label| *label == word.trim());
        value.map(|value| value as u64).ok_or_else(|| {
            format!("'{}' is not one of {} (write some of these)", word.trim(), labels.join(", "))
        })
    };
    Ok(text.split(',').map(value).collect::<Result<BTreeSet<_>, _>>()?.into_iter().collect())
}

/// Planned cases of one kernel.
#[derive(Debug)]
pub(crate) struct KernelPlan {
    /// The kernel.
    pub(crate) info: &'static KernelInfo,
    /// Its cases; the first axis varies slowest.
    pub(crate) cases: Vec<Case>,
}

impl KernelPlan {
    /// Reasons for which cases will be skipped, one each.
    pub(crate) fn refusals(&self, topology: &Topology, settings: &Settings) -> Vec<String> {
        self.cases.iter().filter_map(|case| admit_case(case, topology, settings).err()).collect()
    }

    /// Cases that run.
    pub(crate) fn running(
        &self,
        topology: &Topology,
        settings: &Settings,
    ) -> impl Iterator<Item = &Case> {
        self.cases.iter().filter(move |case| admit_case(case, topology, settings).is_ok())
    }

    /// The most memory that one rank needs for a case that runs, in bytes.
    pub(crate) fn bytes_per_rank(&self, topology: &Topology, settings: &Settings) -> u64 {
        let bytes = self.cases.iter().filter_map(|case| admit_case(case, topology, settings).ok());
        bytes.max().unwrap_or(0)
    }
}

/// Memory that one rank needs for `case`, in bytes, if ranks of `topology` admit it.
fn admit_case(case: &Case, topology: &Topology, settings: &Settings) -> Result<u64, String> {
    let topology = case.topology(topology)?;
    let world = settings.world(&topology);
    world.admit(case).map(|()| (case.info.bytes_per_rank)(case, &world))
}

/// Judges `overrides` for runs of `kernels` on `topologies`; returns a sentence for each that has no
/// effect.
///
/// # Errors
/// One sentence with the option, if an axis has values from two options, if its values mean nothing
/// or are out of range, or if no kernel varies an axis that is required.
pub(crate) fn admit(
    overrides: &[Override],
    kernels: &[&'static KernelInfo],
    topologies: &[Topology],
) -> anyhow::Result<Vec<String>> {
    let axes = kernels.iter().flat_map(|info| info.axes).map(|used| used.axis.name);
    let varied: BTreeSet<_> = axes.chain([PROCS.name]).collect();
    let mut notes = Vec::new();
    for (index, change) in overrides.iter().enumerate() {
        // Also where no kernel varies the axis: a typing error is no value.
        change.require_values(topologies)?;
        let Override { option, axis, .. } = change;
        if let Some(other) = overrides[index + 1..].iter().find(|other| other.axis == *axis) {
            return Err(
                change.refuse(&format!("{} has other values for it (give one)", other.option))
            );
        }
        if varied.contains(axis.name) {
            continue;
        }
        if change.is_required {
            let varied = Vec::from_iter(varied).join(", ");
            return Err(
                change.refuse(&format!("no selected kernel varies it (they vary {varied})"))
            );
        }
        let name = axis.name;
        notes.push(format!("note: {option} has no effect: no selected kernel varies {name}"));
    }
    Ok(notes)
}

/// The cases of `kernels` on ranks of `topology`: the sweeps of `profile`, but for the axes that
/// `overrides` name.
///
/// # Errors
/// One sentence with the option, if a sweep cannot be understood or makes too many cases.
pub(crate) fn plan(
    kernels: &[&'static KernelInfo],
    overrides: &[Override],
    profile: Profile,
    topology: &Topology,
) -> anyhow::Result<Vec<KernelPlan>> {
    let plan = |info: &&'static KernelInfo| {
        Ok(KernelPlan { info, cases: cases(info, overrides, profile, topology)? })
    };
    kernels.iter().map(plan).collect()
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
    let bytes = admit_case(case, topology, settings).unwrap_or(0);
    Duration::from_secs(bytes).mul_f64(ns_per_byte * 1e-9)
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
    static ELSEWHERE: Axis = Axis::count("elsewhere", "elsewhere", "s");
    static FOUND: Axis = Axis::found_bytes("found", "s");
    static PLACE: Axis = Axis::choice("place", "s", &["a", "b"]);

    fn change(option: &str, axis: &'static Axis, values: &str) -> Override {
        let (option, values) = (option.to_owned(), values.to_owned());
        Override { is_required: option.starts_with("--axis"), option, axis, values }
    }

    fn of_echo(overrides: &[Override], profile: Profile, n_ranks: usize) -> Vec<Case> {
        let topology = Topology::hypercube(n_ranks);
        let plan = plan(&[&ECHO], overrides, profile, &topology).unwrap();
        plan.into_iter().flat_map(|kernel| kernel.cases).collect()
    }

    #[test]
    fn cases_are_those_of_the_profile_and_of_the_options_the_first_axis_slowest() {
        let check = |n_ranks, overrides: &[Override], profile, expected: &[[u64; 2]]| {
            let cases = of_echo(overrides, profile, n_ranks);
            let pair = |case: &Case| [case.value(&HOPS), case.value(&LENGTH_BYTES)];
            assert_eq!(cases.iter().map(pair).collect::<Vec<_>>(), expected, "{overrides:?}");
            let found = |case: &Case| case.value(&LOCAL_N);
            assert!(cases.iter().all(|case| found(case) == 0), "found during the run");
        };
        check(4, &[], Profile::Quick, &[[1, 0], [1, 8], [2, 0], [2, 8]]);
        check(2, &[], Profile::Full, &[[0, 0], [1, 0]]);
        let sizes = [change("--sizes", &LENGTH_BYTES, "4Ki")];
        check(2, &sizes, Profile::Standard, &[[0, 4096], [1, 4096]]);
        // A kernel that needs a second rank is planned, and refused, on one.
        check(1, &[], Profile::Quick, &[[1, 0], [1, 8]]);
        let hops = [change("--axis hops", &HOPS, "1..max")];
        check(4, &hops, Profile::Full, &[[1, 0], [2, 0]]);
    }

    #[test]
    fn the_largest_value_of_an_axis_follows_the_ranks() {
        // Half of the ranks make pairs; the last pairs of a round robin meet in its last round.
        for (n_ranks, pairs, rounds) in [(8, 4, 7), (5, 2, 5), (1, 0, 0)] {
            let topology = Topology::hypercube(n_ranks);
            let found = [&PAIRS, &ROUND].map(|axis| max(axis, &topology));
            assert_eq!(found, [Some(pairs), Some(rounds)], "{n_ranks} ranks");
        }
    }

    #[test]
    fn options_are_judged_by_one_rule_and_refused_by_name() {
        let topologies = [2, 4].map(Topology::hypercube);
        let admit = |overrides: &[Override]| {
            admit(overrides, &[&ECHO], &topologies).map_err(|error| error.to_string())
        };
        let backwards = "'8..4' runs backwards (write 4..8)";
        let above = "3 is above the largest value here, 2 (write 0..max)";
        for (axis, values, expected) in [
            (&LENGTH_BYTES, "8..4", backwards),
            (&LENGTH_BYTES, "max", "'max' has no meaning on this axis"),
            (&HOPS, "1,3", above),
            (
                &ELSEWHERE,
                "x2",
                "'x2' has an unknown unit (write a count like 4096, 4Ki, 1.5M or 2kB)",
            ),
            (&PROCS, "0..2", "no case runs on 0 ranks (write 1..max)"),
            (&PROCS, "16", "16 is above the largest value here, 4 (write 0..max)"),
            (&FOUND, "8", "the kernels find its values during the run (leave it out)"),
            (&PLACE, "a,c", "'c' is not one of a, b (write some of these)"),
        ] {
            for option in ["--shorthand", "--axis x"] {
                let found = admit(&[change(option, axis, values)]);
                assert_eq!(found, Err(format!("{option}: {expected}")));
            }
        }
        // The distance is there on the larger number of ranks, and the other one skips it.
        assert_eq!(admit(&[change("--hops", &HOPS, "2")]), Ok(vec![]));
        assert_eq!(labelled("b, a", &["a", "b"]), Ok(vec![0, 1]));
        let note = "note: --elsewhere has no effect: no selected kernel varies elsewhere";
        assert_eq!(admit(&[change("--elsewhere", &ELSEWHERE, "1")]), Ok(vec![note.into()]));
        let sentence =
            "no selected kernel varies it (they vary hops, length_bytes, local_n, procs)";
        let found = admit(&[change("--axis elsewhere", &ELSEWHERE, "1")]);
        assert_eq!(found, Err(format!("--axis elsewhere: {sentence}")));
        let twice = ["--sizes", "--axis length_bytes"].map(|o| change(o, &LENGTH_BYTES, "8"));
        let sentence = "--sizes: --axis length_bytes has other values for it (give one)";
        assert_eq!(admit(&twice), Err(sentence.into()));
    }

    #[test]
    fn cases_are_planned_and_judged_on_the_ranks_that_they_are_for() {
        let cases = of_echo(&[change("--axis procs", &PROCS, "2..max*2")], Profile::Quick, 8);
        let of_case = |case: &Case| (case.procs(), case.value(&HOPS));
        let mut found: Vec<_> = cases.iter().map(of_case).collect();
        found.dedup();
        let on = |procs, n_hops: u64| (1..=n_hops).map(move |hops| (procs, hops));
        let expected = on(Some(2), 1).chain(on(Some(4), 2)).chain(on(None, 3));
        assert_eq!(found, Vec::from_iter(expected));
        let few = |case: &&Case| case.topology(&Topology::hypercube(2)).is_ok();
        assert_eq!(cases.iter().filter(few).count(), 2 + 6);
    }

    #[test]
    fn too_many_cases_are_refused() {
        let many = [&HOPS, &LENGTH_BYTES].map(|axis| change("-x", axis, "1..9999"));
        let error = plan(&[&ECHO], &many, Profile::Quick, &Topology::hypercube(2)).unwrap_err();
        let error = error.to_string();
        assert!(error.starts_with("test/echo has more than 100000 cases"), "{error}");
    }

    #[test]
    fn what_does_not_fit_is_refused_with_a_reason() {
        let topology = Topology::hypercube(4);
        let plan = plan(&[&ECHO], &[], Profile::Quick, &topology).unwrap();
        let settings = |cap_bytes| Settings { cap_bytes, ..Settings::of(Profile::Quick) };
        let memory = "needs 8 bytes of memory on each rank, 4 are allowed (see --mem)";
        assert_eq!(plan[0].refusals(&topology, &settings(4)), [memory, "too far", "too far"]);
        let bytes = |cap_bytes| plan[0].bytes_per_rank(&topology, &settings(cap_bytes));
        assert_eq!([1024, 4].map(bytes), [8, 0]);
    }

    #[test]
    fn time_is_bounded_by_the_budget_and_unknown_for_fixed_samples() {
        let mut settings = Settings::of(Profile::Quick);
        let topology = Topology::hypercube(2);
        let time = |settings: &Settings, length_bytes| {
            let cases = [Case::new(&ECHO, &[1, length_bytes]); 4];
            time(cases.iter(), &topology, settings)
        };
        assert_eq!(time(&settings, 8), Some(Duration::from_millis(100)));
        // 18 operations at 4 GB/s, and 4 ns for each byte that is checked.
        let long_s = time(&settings, 1 << 30).unwrap().as_secs_f64();
        assert!((long_s - 4.0 * 9.13).abs() < 0.04, "{long_s}");
        settings.run_budget_ns = Some(1_000_000);
        assert_eq!(time(&settings, 8), Some(Duration::from_millis(1)));
        settings.samples = Some(3);
        assert_eq!(time(&settings, 8), None);
    }

    #[test]
    fn every_kernel_has_a_plan_on_every_number_of_ranks() {
        for n_ranks in [1, 2, 3, 4, 7, 8] {
            for profile in [Profile::Quick, Profile::Standard, Profile::Full] {
                let topology = Topology::hypercube(n_ranks);
                let plan = plan(&catalogue::infos(), &[], profile, &topology).unwrap();
                for kernel in &plan {
                    assert!(!kernel.cases.is_empty(), "{} on {n_ranks} ranks", kernel.info.id());
                }
            }
        }
    }
}
