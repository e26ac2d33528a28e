//! Ranks in virtual time, on a machine that a file describes.

use std::rc::Rc;

use comet_sim::machine::{Machine, MachineFile, NoiseSource};
use comet_sim::{Outcome, RunConfig};

use super::{Backend, Ended, Job, Launch};
use crate::cli::WorldArgs;
use crate::exit;
use crate::launcher::Launcher;
use crate::session::{self, Session};
use crate::world::{self, Origin};

/// The machine that is simulated if nobody names one: that of the thesis.
const DEFAULT_MACHINE: &str = "ipsc860";

/// The simulated backend.
pub(super) struct Simulation;

impl Backend for Simulation {
    fn name(&self) -> &'static str {
        "sim"
    }

    fn summary(&self) -> &'static str {
        "ranks in virtual time, on the machine that --machine names"
    }

    fn origin(&self, asked: &WorldArgs, _: Option<&Launcher>) -> anyhow::Result<Origin> {
        let name = asked.machine.as_deref().unwrap_or(DEFAULT_MACHINE);
        let mut file = world::machine(name)?;
        if let Some(seed) = asked.seed {
            file.machine.noise.seed = seed;
        }
        let sigma = asked.unsteady.map(|percent| percent / 100.0);
        let added = sigma.map(|sigma| NoiseSource::LogNormal { sigma });
        file.machine.noise.sources.extend(added);
        Ok(Origin::Simulated(Rc::new(file)))
    }

    fn join(
        &self,
        _: &WorldArgs,
        origin: &Origin,
        _: Option<&Launcher>,
    ) -> anyhow::Result<Box<dyn Job>> {
        let Origin::Simulated(file) = origin else { anyhow::bail!("there is nothing to simulate") };
        Ok(Box::new(Simulated(Rc::clone(file))))
    }
}

/// A job whose ranks are simulated when it is launched.
struct Simulated(Rc<MachineFile>);

impl Simulated {
    /// A job on `machine` instead of that of `file`.
    fn on(file: &MachineFile, machine: Machine) -> Self {
        Self(Rc::new(MachineFile { machine, ..file.clone() }))
    }
}

impl Job for Simulated {
    fn again(&self, number: u32) -> Option<Box<dyn Job>> {
        let mut machine = self.0.machine.clone();
        machine.noise.seed = comet_report::launches::seed(machine.noise.seed, number);
        Some(Box::new(Self::on(&self.0, machine)))
    }

    fn describe(&self, _launch: &Launch) -> Vec<(&'static str, String)> {
        comet_sim::describe(&self.0)
    }

    fn variants(&self) -> Vec<(&'static str, Box<dyn Job>)> {
        let machine = &self.0.machine;
        let job = |machine| -> Box<dyn Job> { Box::new(Self::on(&self.0, machine)) };
        vec![
            ("all messages buffered", job(machine.buffered())),
            ("no message buffered", job(machine.unbuffered())),
        ]
    }

    fn verdict(&self, completes: &mut dyn FnMut(&dyn Job) -> bool) -> Option<String> {
        let mut completes_on = |machine: &Machine| completes(&Self::on(&self.0, machine.clone()));
        Some(self.0.machine.buffering_needed(&mut completes_on))
    }

    fn launch(
        &self,
        launch: &Launch,
        session: &Session<'_>,
        conclude: &(dyn Fn(&Ended) -> u8 + Sync),
    ) -> anyhow::Result<u8> {
        let signal = || session.signals.arrived();
        let config = RunConfig::new(self.0.machine.clone(), launch.topology.clone());
        let config = config.with_signal(&signal);
        let outcome = comet_sim::run(&config, |t| session::rank_main(t, session));
        let outcome = outcome.map_err(|error| {
            exit::refuse(exit::TRANSPORT, format!("{:#}", anyhow::Error::new(error)))
        })?;
        Ok(conclude(&match outcome {
            Outcome::Finished { code, .. } => Ok(code),
            Outcome::Failed(failure) => Err(failure),
        }))
    }
}
