//! From the command line to values: the cases of the selected kernels on each number of ranks, what
//! they need, and the settings by which they are measured. Nothing is started here.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::Context as _;
use comet_core::driver::{Rules, Settings};
use comet_core::kernel::{
    Axis, AxisKind, AxisUse, Case, Class, DATATYPE, Fault, GROUPS, HOPS, KernelInfo, LENGTH_BYTES,
    LOCAL_N, PROCS, Participants, Profile, THREADS, VECTOR_LENGTH,
};
use comet_core::sweep;
use comet_core::topology::Topology;

mod arrangements;
mod graph;
mod layouts;
pub(crate) mod simulated;

use crate::catalogue;
use crate::cli::values::{Binding, SampleCount};
use crate::cli::{CaseArgs, EffortArgs, PlanArgs, WorldArgs};
use crate::exit;
use crate::selection;
use crate::world::{self, Origin};

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

/// Selected kernels with their cases, and the ranks that they are for.
#[derive(Clone)]
pub(crate) struct Prepared {
    pub(crate) topology: Topology,
    pub(crate) bind: Binding,
    /// Number of CPUs that the ranks share, if known.
    pub(crate) n_cpus: Option<usize>,
    pub(crate) plan: Vec<KernelPlan>,
    /// Kernels that are measured because others need them.
    pub(crate) bases: Vec<&'static KernelInfo>,
    /// Sentences for standard error.
    pub(crate) notes: Vec<String>,
}

impl Prepared {
    /// All cases, in the order in which they run.
    pub(crate) fn cases(&self) -> Vec<Case> {
        self.plan.iter().flat_map(|kernel| &kernel.cases).copied().collect()
    }

    /// Takes out what is measured for others only, none of which runs, and the notes about it.
    pub(crate) fn leave_bases_out(&mut self) {
        for base in self.bases.drain(..) {
            let note = selection::measured_first(base);
            self.plan.retain(|kernel| kernel.info.id() != base.id());
            self.notes.retain(|other| !other.starts_with(&note));
        }
    }

    /// The reason why no case of a selected kernel runs, if none does.
    pub(crate) fn hindrance(&self, settings: &Settings) -> Option<String> {
        let is_base = |kernel: &&KernelPlan| self.bases.iter().any(|b| b.id() == kernel.info.id());
        let mut wanted = self.plan.iter().filter(|kernel| !is_base(kernel)).peekable();
        let first = wanted.peek()?.refusals(&self.topology, settings).into_iter().next();
        first.filter(|_| wanted.all(|k| k.running(&self.topology, settings).next().is_none()))
    }
}

/// Plans what `args` select on ranks from `origin`, one run for each number of ranks.
pub(crate) fn prepare(args: &PlanArgs, origin: &Origin) -> anyhow::Result<Vec<Prepared>> {
    let PlanArgs { select, world, cases, effort, method, .. } = args;
    let pause = effort.pause.unwrap_or_default();
    if let Some(limit) = world.watchdog.filter(|limit| !limit.is_zero() && pause >= *limit) {
        return Err(exit::usage(format!(
            "--pause {} is as long as --watchdog {}, which ends a job that waits for longer (give \
             the watchdog more time, or 0 for any)",
            humantime::format_duration(pause),
            humantime::format_duration(limit)
        )));
    }
    admit_stop_rule(effort, &method.rules)?;
    let mut changes = overrides(cases)?;
    changes.extend(graph::overrides(method.graph.as_ref())?);
    let mut prepared = plan_each(select, world, &changes, cases.profile, origin)?;
    let most = prepared.iter().map(|prepared| prepared.topology.n_ranks()).max().unwrap_or(0);
    let cast = method.cast.map_or([0; 4], |cast| cast.ranks());
    if let Some(rank) = cast.into_iter().find(|rank| *rank >= most) {
        let (last, needed) = (most.saturating_sub(1), rank + 1);
        return Err(exit::usage(format!(
            "--cast names rank {rank}, but ranks are 0 to {last} (start {needed}, or name others)"
        )));
    }
    graph::admit(method.graph.as_ref(), most)?;
    if method.buffers.cache_bytes().is_some() && origin.machine().is_some() {
        return Err(exit::usage(format!(
            "--buffers {} moves nothing in simulation: simulated memory has no caches (leave it out, \
             or try touched)",
            method.buffers.name()
        )));
    }
    let of_messages = method.layouts();
    for Prepared { topology, n_cpus, plan, notes, .. } in &mut prepared {
        layouts::admit(&of_messages, plan, origin)?;
        plan.iter_mut().for_each(|kernel| layouts::vary(kernel, &of_messages));
        world::admit_map(world, topology, origin)?;
        notes.extend(world::oversubscription(topology.n_ranks(), *n_cpus));
        notes.extend(world::enlargement(topology.n_ranks(), origin));
        notes.extend(phase_lock(plan, origin));
        notes.extend(portable_collectives(plan, topology.n_ranks(), origin));
    }
    Ok(prepared)
}

/// A note for contention between ranks that repeat themselves exactly.
fn phase_lock(plan: &[KernelPlan], origin: &Origin) -> Option<String> {
    let is_exact = origin.machine().is_some_and(|file| file.machine.is_exact());
    let contends = plan.iter().any(|kernel| kernel.info.class == Class::Contention);
    (is_exact && contends).then(|| {
        "note: without noise an echo and the load of contention are phase-locked, so that all \
         echoes meet the same part of a load message, or none (use --unsteady 10)"
            .into()
    })
}

/// A note for collectives of a part of the ranks over shared memory, which has its own for all.
fn portable_collectives(plan: &[KernelPlan], n_ranks: usize, origin: &Origin) -> Option<String> {
    let is_part = |case: &Case| case.arrangement().procs.is_some_and(|procs| procs < n_ranks);
    let is_collective = |kernel: &&KernelPlan| {
        matches!(kernel.info.class, Class::Collective | Class::Synchronisation)
    };
    let mut cases = plan.iter().filter(is_collective).flat_map(|kernel| &kernel.cases);
    (matches!(origin, Origin::Here { .. }) && cases.any(is_part)).then(|| {
        "note: over shared memory the collectives of fewer than all ranks are point-to-point \
         algorithms, as in suite naive (start as many ranks instead, as with -n 2..8*2)"
            .into()
    })
}

/// The cases of `select` for each number of ranks.
pub(crate) fn plan_each(
    select: &[String],
    world: &WorldArgs,
    overrides: &[Override],
    profile: Profile,
    origin: &Origin,
) -> anyhow::Result<Vec<Prepared>> {
    let selection = selection::select(select, &catalogue::infos())?;
    let bind = origin.binding(world.bind.as_ref())?;
    let topologies = world::topologies(world, origin)?;
    let no_effect = admit(overrides, &selection.kernels, &topologies)?;
    let notes = [selection.notes, no_effect].concat();
    let counts: Vec<usize> = topologies.iter().map(Topology::n_ranks).collect();
    let prepared = topologies.into_iter().map(|topology| {
        let mut plan = plan(&selection.kernels, overrides, profile, &topology)?;
        leave_repeated_out(&mut plan, topology.n_ranks(), &counts);
        let (bind, n_cpus, notes) = (bind.clone(), origin.n_cpus(&bind), notes.clone());
        Ok(Prepared { topology, bind, n_cpus, plan, bases: selection.bases.clone(), notes })
    });
    prepared.collect()
}

/// Takes out of the `plan` for an odd number of ranks what runs on one rank less, where another run has as many,
/// unless that is all.
fn leave_repeated_out(plan: &mut Vec<KernelPlan>, n_ranks: usize, counts: &[usize]) {
    let is_odd = n_ranks % 2 == 1 && counts.contains(&(n_ranks - 1));
    if is_odd && !plan.iter().all(|kernel| kernel.info.is_of_halves) {
        plan.retain(|kernel| !kernel.info.is_of_halves);
    }
}

/// The axes with values from the command line.
fn overrides(cases: &CaseArgs) -> anyhow::Result<Vec<Override>> {
    let shorthands = [
        ("--sizes", &LENGTH_BYTES, &cases.sizes),
        ("--vector-lengths", &VECTOR_LENGTH, &cases.vector_lengths),
        ("--local-n", &LOCAL_N, &cases.local_n),
        ("--hops", &HOPS, &cases.hops),
        ("--threads", &THREADS, &cases.threads),
    ];
    let shorthands = shorthands.into_iter().filter_map(|(option, axis, values)| {
        let (option, values) = (option.into(), values.clone()?);
        let unit_bytes = cases.unit.filter(|_| *axis == LENGTH_BYTES);
        Some(Ok(Override { option, axis, values, is_required: false, unit_bytes }))
    });
    let named = cases.axis.iter().map(|(name, values)| {
        let (option, values) = (format!("--axis {name}"), values.clone());
        let axis = axis(name)?;
        Ok(Override { option, axis, values, is_required: true, unit_bytes: None })
    });
    shorthands.chain(named).collect()
}

/// The axis of any kernel with this name.
fn axis(name: &str) -> anyhow::Result<&'static Axis> {
    let axes = catalogue::axes();
    axes.get(name).copied().ok_or_else(|| {
        let guess = selection::guess(name, axes.keys().copied());
        let names = Vec::from_iter(axes.into_keys()).join(", ");
        exit::usage(format!("--axis {name}: no kernel varies it{guess} (they vary {names})"))
    })
}

/// The most slices of one case, however much time there is: all of them stay in memory, and an
/// interval from more is narrower than the machine is steady.
const MAX_SLICES: u32 = 1000;

/// Settings of the driver for ranks from `origin`.
pub(crate) fn settings(args: &PlanArgs, origin: &Origin) -> Settings {
    let PlanArgs { cases, effort, method, .. } = args;
    let mut settings = Settings { cap_bytes: cases.mem, ..Settings::of(cases.profile) };
    let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    if let Some(time) = effort.time {
        settings.case_budget_ns = ns(time);
        // Who gives more time wants more slices.
        let in_time = settings.case_budget_ns / settings.slices.length_ns;
        let in_time = u32::try_from(in_time).unwrap_or(u32::MAX).min(MAX_SLICES);
        settings.slices.max = settings.slices.max.max(in_time);
    }
    settings.run_budget_ns = effort.budget.map(ns);
    settings.pause_ns = effort.pause.map_or(0, ns);
    settings.repetitions = effort.repetitions;
    settings.warm_up = effort.warm_up;
    settings.samples = effort.samples.and_then(SampleCount::exact);
    settings.stop = effort.stop_rule();
    let has_bounds = effort.samples.and_then(SampleCount::bounds).is_some();
    if effort.time.is_none() && !has_bounds {
        simulated::sample_exactly(&mut settings, origin, simulated::most_ranks(&args.world));
    }
    method.apply(&mut settings, cases.profile == Profile::Full);
    settings.loop_limits = effort.loop_limits(settings.rules);
    settings
}

/// Refuses bounds that the rules `name` do not stop by.
fn admit_stop_rule(effort: &EffortArgs, name: &str) -> anyhow::Result<()> {
    let by = Rules::Skampi.name();
    let bounds = effort.samples.and_then(SampleCount::bounds);
    let given = match (bounds, effort.standard_error) {
        _ if name == by => return Ok(()),
        (Some([least, most]), _) => format!("--samples {least}..{most}"),
        (None, Some(percent)) => format!("--standard-error {percent}"),
        (None, None) => return Ok(()),
    };
    Err(exit::usage(format!(
        "{given} is a rule of --rules {by}, and the rules are {name} (write --rules {by}, or for other \
         rules one number of --samples, or --target)"
    )))
}

/// The fault that is injected, with the id of its kernel.
pub(crate) fn fault(
    inject: Option<&(&'static Fault, String)>,
) -> anyhow::Result<Option<(&'static Fault, String)>> {
    let Some((fault, name)) = inject else { return Ok(None) };
    let info = selection::select_one(name, &catalogue::infos())?;
    if info.class == Class::Contention && fault.n_times(info.class).is_some() {
        let name = fault.name;
        return Err(exit::usage(format!(
            "--inject {name}:{} is refused: its load goes on until its echo ends it, so none of \
             the two can be {name} alone (write corrupt)",
            info.id()
        )));
    }
    Ok(Some((*fault, info.id())))
}

/// Axes that every kernel has and none declares: the ranks.
static ARRANGEMENT: [&Axis; 2] = [&PROCS, &GROUPS];

/// Values from the command line for an axis, instead of those of the profile.
#[derive(Clone, Debug)]
pub(crate) struct Override {
    /// The option that holds them (`--sizes`, `--axis hops`).
    pub(crate) option: String,
    /// The axis.
    pub(crate) axis: &'static Axis,
    /// The values, in the form of [`sweep`], or labels of the axis.
    pub(crate) values: String,
    /// True if an axis that no selected kernel varies is refused; shorthands get a note.
    pub(crate) is_required: bool,
    /// Unit in bytes of which lengths are rounded up to a whole number, if they are.
    pub(crate) unit_bytes: Option<u64>,
}

impl Override {
    /// The values on ranks of `topology`, ascending.
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
        let is_arrangement = ARRANGEMENT.contains(&self.axis);
        if is_arrangement && self.parse(&topologies[0])?.contains(&0) {
            return Err(self.refuse("no case runs on 0 ranks (write 1..max)"));
        }
        let is_open = self.values.contains("max") && !is_arrangement;
        match largest.zip(max).filter(|_| !is_open) {
            Some((value, max)) if value > max => {
                let min = u64::from(is_arrangement);
                Err(self.refuse(&format!(
                    "{value} is above the largest value here, {max} (write {min}..max)"
                )))
            }
            _ => Ok(()),
        }
    }

    /// Refuses several threads beside kernels that have one: the thread level is that of the run.
    fn require_alone(
        &self,
        kernels: &[&'static KernelInfo],
        topologies: &[Topology],
    ) -> anyhow::Result<()> {
        let varies = |info: &&KernelInfo| info.axes.iter().any(|used| used.axis == self.axis);
        let Some(other) = kernels.iter().find(|info| !varies(info)) else { return Ok(()) };
        if *self.axis != THREADS || self.parse(&topologies[0])?.iter().all(|n| *n < 2) {
            return Ok(());
        }
        let other = other.id();
        Err(self.refuse(&format!(
            "{other} has one thread, and is not measured beside kernels of several (select kernels of imb-mt alone)"
        )))
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
#[derive(Clone, Debug)]
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
    world.admit(case).map(|()| world.bytes_per_rank(case))
}

/// Names of the axes of `kernels`, with those that none declares.
pub(crate) fn varied(kernels: &[&'static KernelInfo]) -> BTreeSet<&'static str> {
    let axes = kernels.iter().flat_map(|info| info.axes).map(|used| used.axis.name);
    let has_datatype = kernels.iter().any(|info| arrangements::has_datatype(info));
    let datatype = has_datatype.then_some(DATATYPE.name);
    axes.chain(ARRANGEMENT.map(|axis| axis.name)).chain(datatype).collect()
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
    let varied = varied(kernels);
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
            change.require_alone(kernels, topologies)?;
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

/// About how long `cases` take without a budget, or `None` if the number of samples is fixed and the
/// ranks are real.
pub(crate) fn time<'a>(
    cases: impl Iterator<Item = &'a Case>,
    topology: &Topology,
    settings: &Settings,
    origin: &Origin,
) -> Option<Duration> {
    if origin.machine().is_some()
        && let Some(time_of) = simulated::time(settings)
    {
        return Some(cases.map(|case| time_of(case, topology)).sum());
    }
    if settings.samples.is_some() {
        return None;
    }
    let budget = Duration::from_nanos(settings.case_budget_ns).mul_f64(1.0 + OVERHEAD_SHARE);
    Some(cases.map(|case| budget.max(least_time(case, topology, settings))).sum())
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
    for arrangement in arrangements::of(info, overrides, topology)? {
        let part = topology.first(arrangement.procs.unwrap_or(topology.n_ranks()));
        let mut of_part = vec![Case::new(info, &[]).on(arrangement)];
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
        if let Some(unit_bytes) = overrides.iter().find_map(|change| change.unit_bytes) {
            let whole = of_part.into_iter().map(|case| case.in_whole_elements(unit_bytes));
            let mut known = BTreeSet::new();
            of_part = whole.filter(|case| known.insert(case.label())).collect();
        }
        // Where none is left, the reason is told for each.
        if of_part.iter().any(Case::has_whole_elements) {
            of_part.retain(Case::has_whole_elements);
        }
        cases.extend(of_part);
    }
    let of_groups = overrides.iter().find(|change| *change.axis == GROUPS);
    let is_better: fn(usize, usize) -> bool = match of_groups.map(|change| change.values.as_str()) {
        _ if info.participants != Participants::Pair => return Ok(cases),
        None => |n_ranks, best| n_ranks > best,
        // The smallest groups are the most pairs.
        Some("max") => |n_ranks, best| n_ranks < best,
        Some(_) => return Ok(cases),
    };
    Ok(arrangements::on_one_number(cases, is_better))
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
    used.values(profile, topology)
        .with_context(|| format!("the default of {} for {} is wrong", info.id(), used.axis.name))
}

/// The value of `max` on `axis`, where the word has a meaning.
fn max(axis: &Axis, topology: &Topology) -> Option<u64> {
    axis.max.map(|max| max(topology))
}

#[cfg(test)]
mod tests;
