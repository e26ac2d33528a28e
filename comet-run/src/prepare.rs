//! From the command line to values: the selected cases on each number of ranks, and the settings by
//! which they are measured. Nothing is started here.

use std::collections::BTreeMap;
use std::time::Duration;

use comet_core::driver::Settings;
use comet_core::kernel::{
    Axis, Case, Class, HOPS, KernelInfo, LENGTH_BYTES, LOCAL_N, PROCS, Profile, VECTOR_LENGTH,
};
use comet_core::topology::Topology;

use crate::catalogue;
use crate::cli::values::Binding;
use crate::cli::{CaseArgs, EffortArgs, MethodArgs, WorldArgs};
use crate::exit;
use crate::plan::{self, KernelPlan, Override};
use crate::selection;
use crate::world::{self, Origin};

/// Selected kernels with their cases, and the ranks that they are for.
pub(crate) struct Prepared {
    pub(crate) topology: Topology,
    pub(crate) bind: Binding,
    /// Number of CPUs that the ranks share, if known.
    pub(crate) n_cpus: Option<usize>,
    pub(crate) plan: Vec<KernelPlan>,
    /// Sentences for standard error.
    pub(crate) notes: Vec<String>,
}

impl Prepared {
    /// All cases, in the order in which they run.
    pub(crate) fn cases(&self) -> Vec<Case> {
        self.plan.iter().flat_map(|kernel| &kernel.cases).copied().collect()
    }
}

/// Plans `select` on ranks from `origin`, one run for each number of ranks that `world` asks for.
pub(crate) fn prepare(
    select: &[String],
    world: &WorldArgs,
    cases: &CaseArgs,
    origin: &Origin,
) -> anyhow::Result<Vec<Prepared>> {
    let (overrides, profile) = (overrides(cases)?, cases.profile.profile());
    let mut prepared = plan_each(select, world, &overrides, profile, origin)?;
    for Prepared { topology, n_cpus, plan, notes, .. } in &mut prepared {
        notes.extend(world::oversubscription(topology.n_ranks(), *n_cpus));
        notes.extend(world::enlargement(topology.n_ranks(), origin));
        notes.extend(phase_lock(plan, origin));
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
    let no_effect = plan::admit(overrides, &selection.kernels, &topologies)?;
    let notes = [selection.notes, no_effect].concat();
    let prepared = topologies.into_iter().map(|topology| {
        let plan = plan::plan(&selection.kernels, overrides, profile, &topology)?;
        let (bind, n_cpus, notes) = (bind.clone(), origin.n_cpus(&bind), notes.clone());
        Ok(Prepared { topology, bind, n_cpus, plan, notes })
    });
    prepared.collect()
}

/// The axes with values from the command line.
fn overrides(cases: &CaseArgs) -> anyhow::Result<Vec<Override>> {
    let shorthands = [
        ("--sizes", &LENGTH_BYTES, &cases.sizes),
        ("--vector-lengths", &VECTOR_LENGTH, &cases.vector_lengths),
        ("--local-n", &LOCAL_N, &cases.local_n),
        ("--hops", &HOPS, &cases.hops),
    ];
    let shorthands = shorthands.into_iter().filter_map(|(option, axis, values)| {
        let (option, values) = (option.into(), values.clone()?);
        Some(Ok(Override { option, axis, values, is_required: false }))
    });
    let named = cases.axis.iter().map(|(name, values)| {
        let (option, values) = (format!("--axis {name}"), values.clone());
        Ok(Override { option, axis: axis(name)?, values, is_required: true })
    });
    shorthands.chain(named).collect()
}

/// The axis of any kernel with this name.
fn axis(name: &str) -> anyhow::Result<&'static Axis> {
    let axes = catalogue::infos().into_iter().flat_map(|info| info.axes).map(|used| used.axis);
    let axes: BTreeMap<_, _> = axes.chain([&PROCS]).map(|axis| (axis.name, axis)).collect();
    axes.get(name).copied().ok_or_else(|| {
        let names = Vec::from_iter(axes.into_keys()).join(", ");
        exit::usage(format!("--axis {name}: no kernel varies it (they vary {names})"))
    })
}

/// Samples of a case, and repetitions in each, where all of them are the same: a machine without
/// noise. An even number of repetitions, since ranks that exchange messages may lead in turn.
const EXACT: (u32, u32) = (3, 10);

/// The most slices of one case, however much time there is: all of them stay in memory, and an
/// interval from more is narrower than the machine is steady.
const MAX_SLICES: u32 = 1000;

/// Settings of the driver for ranks from `origin`.
pub(crate) fn settings(
    cases: &CaseArgs,
    effort: &EffortArgs,
    method: &MethodArgs,
    origin: &Origin,
) -> Settings {
    let mut settings = Settings { cap_bytes: cases.mem, ..Settings::of(cases.profile.profile()) };
    let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    if let Some(time) = effort.time {
        settings.case_budget_ns = ns(time);
        // Who gives more time wants more slices.
        let in_time = settings.case_budget_ns / settings.slices.length_ns;
        let in_time = u32::try_from(in_time).unwrap_or(u32::MAX).min(MAX_SLICES);
        settings.slices.max = settings.slices.max.max(in_time);
    }
    settings.run_budget_ns = effort.budget.map(ns);
    settings.repetitions = effort.repetitions;
    settings.warm_up = effort.warm_up;
    settings.samples = effort.samples;
    if effort.time.is_none() {
        sample_exactly(&mut settings, origin);
    }
    method.apply(&mut settings, cases.profile.profile() == Profile::Full);
    settings
}

/// Takes the samples that tell all on a machine without noise, unless other numbers are set.
pub(crate) fn sample_exactly(settings: &mut Settings, origin: &Origin) {
    if origin.machine().is_some_and(|file| file.machine.is_exact()) {
        let (samples, repetitions) = EXACT;
        settings.samples.get_or_insert(samples);
        settings.repetitions.get_or_insert(repetitions);
    }
}

/// The id of the kernel whose check is to be spoiled.
///
/// # Errors
/// If there is no such kernel.
pub(crate) fn corrupt(inject: Option<&str>) -> anyhow::Result<Option<String>> {
    let infos = catalogue::infos();
    inject.map(|name| selection::select_one(name, &infos).map(KernelInfo::id)).transpose()
}
