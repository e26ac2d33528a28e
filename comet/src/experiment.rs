//! A measurement before it is taken: ranks, a kernel, settings; and the part of each rank in it.

use std::fs::File;
use std::io;
use std::time::SystemTime;

use comet_core::definition::Definition;
use comet_core::driver::{self, DriverError, Settings};
use comet_core::error::{Result, TransportErrorKind};
use comet_core::kernel::{Case, Checker, Kernel, Profile, Seeds};
use comet_core::transport::Transport;
use comet_report::format::JSONL;
use comet_report::placement;
use comet_report::read::whole_file;
use comet_report::record::Suite;
use comet_report::recorder::{Recorder, RunDescription};
use nix::sys::memfd::{MFdFlags, memfd_create};

use crate::error::Error;
use crate::own::Own;
use crate::ranks::Ranks;
use crate::times::Times;

/// A measurement that has not been taken yet: a pattern or a kernel `K` on ranks `R`, and settings.
#[derive(Debug)]
#[must_use = "nothing is measured before `measure` or `sweep`"]
pub struct Experiment<R, K> {
    ranks: R,
    subject: K,
    profile: Profile,
    settings: Settings,
}

impl<R, K> Experiment<R, K> {
    /// `subject` on `ranks`, by the standard profile.
    pub(crate) fn new(ranks: R, subject: K) -> Self {
        let profile = Profile::Standard;
        Self { ranks, subject, profile, settings: Settings::of(profile) }
    }

    /// This measurement by the settings of `profile`, which replace all others.
    pub fn profile(self, profile: Profile) -> Self {
        Self { profile, settings: Settings::of(profile), ..self }
    }

    /// This measurement with settings that `change` has changed.
    ///
    /// ```
    /// use comet::{Ranks as _, Simulation, Transport as _};
    /// let barrier = Simulation::new("cm5", 4)?.pattern(|_| Ok(()), |t, ()| t.barrier());
    /// let times = barrier.with(|settings| settings.samples = Some(5)).measure()?;
    /// assert_eq!(times.n_samples, 5);
    /// # Ok::<(), comet::Error>(())
    /// ```
    pub fn with(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(&mut self.settings);
        self
    }

    /// This measurement by `definition`, which combines the times of the ranks into one value: by
    /// default [`Completion`](Definition::Completion), from the common start of all ranks to the last
    /// end; [`LoopMean`](Definition::LoopMean) is that of a loop, as most benchmarks have it.
    pub fn definition(self, definition: Definition) -> Self {
        self.with(|settings| settings.definition = Some(definition))
    }
}

impl<R: Ranks, S, B, O, F, C> Experiment<R, Own<S, B, O, F, C>>
where
    B: Fn(&R::Transport) -> Result<S> + Send + Sync,
    O: Fn(&R::Transport, &mut S) -> Result<()> + Send + Sync,
    F: Fn(&mut S, Seeds) + Send + Sync,
    C: Fn(&mut S, &mut Checker) + Send + Sync,
{
    /// The pattern under the name `name` in the record, as `own/name`; it is `own/pattern` by default.
    pub fn named(mut self, name: &str) -> Self {
        self.subject.name = name.into();
        self
    }

    /// The pattern with the number of bytes that one operation moves, of which a rate follows.
    pub fn moving(mut self, bytes: u64) -> Self {
        self.subject.bytes = Some(bytes);
        self
    }

    /// The pattern with a check before and after its measurement: `fill` puts test data into the
    /// buffers of a rank, `check` compares them with what they hold after
    /// [`n_runs`](Checker::n_runs) operations. Wrong data is an error, and no time.
    pub fn checked<G, D>(self, fill: G, check: D) -> Experiment<R, Own<S, B, O, G, D>>
    where
        G: Fn(&mut S, Seeds) + Send + Sync,
        D: Fn(&mut S, &mut Checker) + Send + Sync,
    {
        let Self { ranks, subject, profile, settings } = self;
        Experiment { ranks, subject: subject.checked(fill, check), profile, settings }
    }

    /// Measures the pattern.
    ///
    /// # Errors
    /// If the ranks cannot be started, if one of them fails, or if data was wrong.
    ///
    /// # Panics
    /// Never: a run in order has a point for its case.
    pub fn measure(self) -> std::result::Result<Times, Error> {
        let Self { ranks, subject, mut settings, .. } = self;
        let kernel = subject.kernel();
        let times = take(&ranks, &kernel, &[kernel.case()], &mut settings)?;
        Ok(times.into_iter().next().expect("a case with a series has times"))
    }
}

impl<R: Ranks, K: Kernel<R::Transport>> Experiment<R, K> {
    /// Measures the kernel over the values that its axes take under the profile; times are in the
    /// order of cases and series.
    ///
    /// # Errors
    /// If the ranks cannot be started, if one of them fails, or if a case has no times.
    pub fn sweep(mut self) -> std::result::Result<Vec<Times>, Error> {
        let info = self.subject.info();
        let cases = Case::sweep(info, self.profile, &self.ranks.topology())?;
        take(&self.ranks, &self.subject, &cases, &mut self.settings)
    }
}

/// Measures `cases` of `kernel` on `ranks`.
fn take<R: Ranks>(
    ranks: &R,
    kernel: &dyn Kernel<R::Transport>,
    cases: &[Case],
    settings: &mut Settings,
) -> std::result::Result<Vec<Times>, Error> {
    ranks.prepare(settings);
    let (transport, topology) = (ranks.describe(), ranks.topology());
    let description =
        RunDescription::of_this_process(SystemTime::now, this_build(), transport, topology);
    let record =
        File::from(memfd_create("comet-record", MFdFlags::MFD_CLOEXEC).map_err(io::Error::from)?);
    let run = Run { kernel, cases, settings, description, record: &record };
    ranks.run(&record, &|t| run.rank_main(t))?;
    Times::of_record(&whole_file(&record)?)
}

/// A measurement under way, as each rank has it.
struct Run<'a, T: Transport> {
    kernel: &'a dyn Kernel<T>,
    cases: &'a [Case],
    settings: &'a Settings,
    description: RunDescription,
    /// The file that rank 0 writes.
    record: &'a File,
}

impl<T: Transport> Run<'_, T> {
    /// The life of one rank; returns its exit code.
    fn rank_main(&self, t: &T) -> u8 {
        match self.take_part(t) {
            Ok(()) => 0,
            // The first rank that fails is the one that is reported.
            Err(DriverError::Transport(error)) if error.kind == TransportErrorKind::PeerFailed => 1,
            Err(error) => t.fail_job(&words(&error)),
        }
    }

    fn take_part(&self, t: &T) -> std::result::Result<(), DriverError> {
        let placements = placement::gather(t)?;
        let has_core_each = placement::has_core_each(t, &placements)?;
        let settings = Settings { has_core_each, ..self.settings.clone() };
        let kernels = [self.kernel];
        if t.rank() != 0 {
            driver::follow(t, &kernels, &settings)?;
            return Ok(());
        }
        let out = self.record.try_clone().map_err(|error| DriverError::Listener(error.into()))?;
        let description = RunDescription { placements, ..self.description.clone() };
        let mut recorder = Recorder::new(description, vec![JSONL.writer(Box::new(out))]);
        driver::conduct(t, &kernels, self.cases, &settings, &mut recorder)?;
        Ok(())
    }
}

/// The error with its causes, in one line.
fn words(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// The program that measures, as far as a library can describe it.
fn this_build() -> Suite {
    let profile = if cfg!(debug_assertions) { "debug" } else { "release" };
    Suite {
        name: "comet".into(),
        version: env!("CARGO_PKG_VERSION").into(),
        target: std::env::consts::ARCH.into(),
        profile: profile.into(),
        ..Suite::default()
    }
}
