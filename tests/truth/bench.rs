//! Simulations of the truth tests: machines of whole nanoseconds, runs of the driver on them, whose
//! measurements are kept, and numbers that look random and are the same every day.

use std::cell::RefCell;
use std::collections::BTreeSet;

use comet_core::driver::{Settings, Slices};
use comet_core::event::{Event, Measurement};
use comet_core::kernel::{Axis, Case, KernelInfo, Profile, World};
use comet_core::topology::{Mesh, Topology};
use comet_core::transport::Transport as _;
use comet_sim::machine::{Machine, MachineFile};
use comet_sim::route::Routes;
use comet_sim::{Outcome, RunConfig, Sim, Statistics};
use comet_suites::Suites as _;

#[derive(Clone, Debug)]
pub(crate) struct Bench {
    pub(crate) machine: Machine,
    pub(crate) topology: Topology,
}

impl Bench {
    /// So many ranks on `machine`, on the default mesh.
    pub(crate) fn new(machine: &Machine, n_ranks: usize) -> Self {
        let routes = Routes::new(&machine.network.shape, n_ranks).expect("the ranks fit");
        let topology = Topology::with_metric(Mesh::gray(n_ranks), routes.metric().clone());
        Self { machine: machine.clone(), topology: topology.expect("the ranks fit") }
    }

    /// Runs `rank_main` on all ranks, none of which may fail.
    #[track_caller]
    pub(crate) fn run(&self, rank_main: impl Fn(&Sim)) -> Statistics {
        let config = RunConfig::new(self.machine.clone(), self.topology.clone());
        let outcome = comet_sim::run(&config, |t| {
            rank_main(t);
            0
        });
        let Ok(Outcome::Finished { statistics, .. }) = outcome else { panic!("{outcome:?}") };
        statistics
    }

    /// Takes the driver through `cases`, all of which have to be measured.
    pub(crate) fn measure(&self, cases: &[Case], settings: &Settings) -> Vec<Measurement> {
        let measurements = RefCell::new(Vec::new());
        self.run(|t| {
            let kernels = Sim::kernels();
            if t.rank() > 0 {
                t.follow(&kernels, settings).expect("no rank fails");
                return;
            }
            let mut listener = |event: &Event<'_>| {
                match event {
                    Event::CaseFinished(found) => measurements.borrow_mut().push((*found).clone()),
                    Event::CaseFailed(of) => panic!("{}: {}", of.case.label(), of.message),
                    _ => (),
                }
                Ok(())
            };
            t.conduct(&kernels, cases, settings, &mut listener).expect("no rank fails");
        });
        measurements.into_inner()
    }

    /// The case of the kernel `id` with `values`, if the ranks admit it.
    pub(crate) fn case(&self, id: &str, values: &[u64]) -> Option<Case> {
        let case = Case::new(info(id), values);
        World::of(&self.topology).admit(&case).is_ok().then_some(case)
    }

    /// Those of these cases that the ranks admit.
    pub(crate) fn cases(&self, wanted: &[(&str, &[u64])]) -> Vec<Case> {
        wanted.iter().filter_map(|(id, values)| self.case(id, values)).collect()
    }
}

pub(crate) fn info(id: &str) -> &'static KernelInfo {
    comet_suites::infos()
        .into_iter()
        .find(|info| info.id() == id)
        .expect("the kernel is in a suite")
}

/// The values of a choice; the usual one of those that decide no message.
pub(crate) fn choices(axis: &Axis) -> Vec<u64> {
    match axis.name {
        // Whole numbers, which every kernel with elements has.
        "element" => vec![2],
        "operator" => vec![0],
        _ => (0..axis.labels.len() as u64).collect(),
    }
}

/// Those of `cases` that bring a value of an axis of their kernel which none before has, and all of kernels
/// that others build on: on few ranks each value meets all of the others.
pub(crate) fn each_value_once(mut cases: Vec<Case>) -> Vec<Case> {
    let required: BTreeSet<_> = cases.iter().flat_map(|case| case.info.requires).collect();
    let mut seen = BTreeSet::new();
    cases.retain(|case| {
        if required.contains(&case.info.id().as_str()) {
            return true;
        }
        let values = case.values().map(|(axis, value)| (axis.name, value)).chain([("", 0)]);
        let new = values.filter(|value| seen.insert((case.info.id(), *value)));
        new.count() > 0
    });
    cases
}

/// So many samples of so many repetitions, in five slices.
pub(crate) fn settings(n_samples: u32, repetitions: u32) -> Settings {
    let (samples, repetitions) = (Some(n_samples), Some(repetitions));
    let quick = Settings::of(Profile::Quick);
    let slices = Slices { min: 5, ..quick.slices };
    Settings { samples, repetitions, slices, ..quick }
}

/// A machine whose file has these lines after its name.
pub(crate) fn machine(lines: &str) -> Machine {
    let text = format!("format = 1\nname = \"truth\"\n{lines}");
    MachineFile::parse(&text, "truth").expect("the lines describe a machine").machine
}

#[derive(Debug)]
pub(crate) struct Draws(u64);

impl Draws {
    /// The numbers that belong to `seed`.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `bound`, by Marsaglia's xorshift generator (J. Stat. Softw. 8, 2003).
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as usize % bound
    }
}
