//! The life of one rank: it reports its placement, takes part in the driver, and returns a code.

use std::error::Error;
use std::sync::{Mutex, PoisonError, TryLockError};
use std::thread;
use std::time::{Duration, Instant};

use comet_core::conformance::{Report, Verdict};
use comet_core::driver::{DriverError, Settings};
use comet_core::error::TransportErrorKind;
use comet_core::event::{Event, Listener};
use comet_core::file::Folder;
use comet_core::kernel::Case;
use comet_core::topology::RankGrid;
use comet_core::transport::Transport;
use comet_report::placement;
use comet_report::record::RankEntry;
use comet_suites::Suites;

use crate::exit;
use crate::signals::Signals;
use crate::terminal;

/// Work of the ranks; made before they are started, so that all of them have it.
pub(crate) struct Session<'a> {
    /// The cases, for rank 0.
    pub(crate) cases: Vec<Case>,
    /// Settings of the driver.
    pub(crate) settings: Settings,
    /// Another order of the ranks, if they are renumbered.
    pub(crate) map: Option<RankGrid>,
    /// True if the transport is tested before the kernels run.
    pub(crate) tests_transport: bool,
    /// The folder in which its files are tested.
    pub(crate) test_folder: Option<Folder>,
    /// The file that results are written to, on the process that writes it.
    #[cfg(feature = "mpi")]
    pub(crate) results: Option<&'a std::path::Path>,
    /// Makes the observer on rank 0.
    pub(crate) observe: &'a Observe<'a>,
    /// Signals that end the run.
    pub(crate) signals: &'a Signals,
    /// Closed once the job has ended, so that nothing follows its end.
    pub(crate) gate: &'a Gate,
}

impl Session<'_> {
    /// The folder in which the ranks make files, if they make any.
    pub(crate) fn folder(&self) -> Option<&Folder> {
        self.test_folder.as_ref().or(self.settings.files.as_ref())
    }
}

/// Maker of an observer, from the placements of all ranks.
pub(crate) type Observe<'a> = dyn Fn(Vec<RankEntry>) -> anyhow::Result<Box<dyn Observer>> + 'a;

/// Observer of a session, on rank 0.
pub(crate) trait Observer: Listener {
    /// Takes note of a conformance check.
    fn checked(&mut self, name: &str, outcome: &Result<(), String>) {
        let _ = (name, outcome);
    }
}

/// Observer without an output.
pub(crate) struct Silent;

impl Listener for Silent {
    fn event(&mut self, _event: &Event<'_>) -> Result<(), Box<dyn Error + Send + Sync>> {
        Ok(())
    }
}

impl Observer for Silent {}

/// Listener of a session, which a signal or the closing of its gate ends. An observer that could not
/// be made refuses the first event, so that the driver ends the run on all ranks.
struct SessionListener<'a> {
    observer: Result<Box<dyn Observer>, Option<anyhow::Error>>,
    signals: &'a Signals,
    gate: &'a Gate,
}

impl Listener for SessionListener<'_> {
    fn event(&mut self, event: &Event<'_>) -> Result<(), Box<dyn Error + Send + Sync>> {
        match &mut self.observer {
            Ok(observer) => self.gate.pass(|| observer.event(event)),
            Err(error) => error.take().map_or(Ok(()), |error| Err(error.into())),
        }
    }

    fn interrupted(&self) -> Option<String> {
        self.signals.arrived().map(str::to_owned)
    }

    fn is_behind(&mut self, max_bytes: usize) -> bool {
        self.observer.as_mut().is_ok_and(|observer| observer.is_behind(max_bytes))
    }
}

/// Time limit of an event that is under way: standard output may be stuck.
const PATIENCE: Duration = Duration::from_secs(1);

/// The gate that events of a run pass, one by one, until the job has ended.
///
/// A job may be ended from another thread while rank 0 is about to go on. What that thread writes
/// below the results is their end, so nothing may follow it.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    is_closed: Mutex<bool>,
}

impl Gate {
    /// Lets `event` pass, if the gate is open.
    ///
    /// # Errors
    /// The errors of `event`, and one if the gate is closed.
    pub(crate) fn pass(
        &self,
        event: impl FnOnce() -> Result<(), Box<dyn Error + Send + Sync>>,
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        let is_closed = self.is_closed.lock().unwrap_or_else(PoisonError::into_inner);
        if *is_closed { Err("the job has ended".into()) } else { event() }
    }

    /// Closes the gate behind an event that is passing, or a second later.
    pub(crate) fn close(&self) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.is_closed.try_lock() {
                Ok(mut is_closed) => *is_closed = true,
                Err(TryLockError::Poisoned(error)) => *error.into_inner() = true,
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                    thread::sleep(PATIENCE / 100);
                    continue;
                }
                Err(TryLockError::WouldBlock) => (),
            }
            return;
        }
    }
}

/// The life of one rank; returns the exit code.
pub(crate) fn rank_main<T: Suites>(t: &T, session: &Session<'_>) -> u8 {
    match take_part(t, session) {
        Ok(code) => code,
        Err(error) => give_up(t, error),
    }
}

/// Takes part in the order of the session.
fn take_part<T: Suites>(t: &T, session: &Session<'_>) -> Result<u8, DriverError> {
    let Some(map) = session.map.filter(|map| map.moves_ranks()) else {
        return take_place(t, session);
    };
    let number = map.number_of(t.rank()) as u64;
    let renumbered = t.split(Some(0), number)?;
    take_place(&renumbered.expect("all ranks name one colour"), session)
}

fn take_place<T: Suites>(t: &T, session: &Session<'_>) -> Result<u8, DriverError> {
    let placements = placement::gather(t)?;
    let has_core_each = placement::has_core_each(t, &placements)?;
    let mut settings = Settings { has_core_each, ..session.settings.clone() };
    let kernels = T::kernels();
    if t.rank() != 0 {
        let Verdict { n_failed, broken } = test_transport(t, session, &mut |_, _| ());
        settings.broken = broken;
        t.follow(&kernels, &settings)?;
        return Ok(if n_failed == 0 { exit::OK } else { exit::CHECK_FAILED });
    }
    let mut observer = (session.observe)(placements).map_err(Some);
    let Verdict { n_failed, broken } = test_transport(t, session, &mut |name, outcome| {
        if let Ok(observer) = &mut observer {
            observer.checked(name, outcome);
        }
    });
    settings.broken = broken;
    let (signals, gate) = (session.signals, session.gate);
    let mut listener = SessionListener { observer, signals, gate };
    let end = t.conduct(&kernels, &session.cases, &settings, &mut listener)?;
    Ok(if n_failed == 0 { exit::code_of_run(&end) } else { exit::CHECK_FAILED })
}

/// Tests the transport if that is wanted.
fn test_transport<T: Suites>(t: &T, session: &Session<'_>, report: &mut Report<'_>) -> Verdict {
    if !session.tests_transport {
        return Verdict::default();
    }
    t.test(session.folder(), report)
}

/// Ends this rank after an error, and the job with it if the others would wait for this one.
fn give_up<T: Transport>(t: &T, error: DriverError) -> u8 {
    match error {
        // The launcher reports the rank that failed first.
        DriverError::Transport(error) if error.kind == TransportErrorKind::PeerFailed => (),
        DriverError::Transport(error) => t.fail_job(&format!("{:#}", anyhow::Error::new(error))),
        error => terminal::note(&format!("error: {:#}", anyhow::Error::new(error))),
    }
    exit::INTERNAL
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prepare;
    use std::cell::RefCell;

    use comet_core::kernel::{FAULTS, Profile};
    use comet_core::topology::Topology;
    use comet_sim::{RunConfig, Sim, machine};

    /// The codes of two ranks that run the quick cases of `comet/echo`.
    fn codes(corrupt: Option<&str>, cap_bytes: u64, is_broken: bool) -> [u8; 2] {
        let observe = |placements: Vec<RankEntry>| -> anyhow::Result<Box<dyn Observer>> {
            assert_eq!(placements.len(), 0, "simulated ranks have no place");
            anyhow::ensure!(!is_broken, "disk full");
            Ok(Box::new(Silent))
        };
        let codes = RefCell::new([u8::MAX; 2]);
        let rank = |t: &Sim| {
            let echo = comet_suites::infos()[0];
            let plan = prepare::plan(&[echo], &[], Profile::Quick, t.topology());
            let mut settings = Settings { cap_bytes, ..Settings::of(Profile::Quick) };
            (settings.repetitions, settings.samples) = (Some(1), Some(1));
            settings.fault = corrupt.map(|id| (&FAULTS[0], id.to_owned()));
            let session = Session {
                cases: plan.expect("the defaults are in order").remove(0).cases,
                settings,
                map: None,
                tests_transport: false,
                test_folder: None,
                #[cfg(feature = "mpi")]
                results: None,
                observe: &observe,
                signals: &Signals::default(),
                gate: &Gate::default(),
            };
            let code = rank_main(t, &session);
            codes.borrow_mut()[t.rank()] = code;
            code
        };
        let machine = machine::find("ipsc860").expect("it is in the catalogue").machine;
        let config = RunConfig::new(machine, Topology::hypercube(2));
        comet_sim::run(&config, rank).expect("two ranks fit onto it");
        codes.into_inner()
    }

    #[test]
    fn rank_0_returns_the_code_of_the_run() {
        let check = |corrupt, cap_bytes, is_broken, code| {
            assert_eq!(codes(corrupt, cap_bytes, is_broken), [code, exit::OK]);
        };
        check(None, u64::MAX, false, exit::OK);
        // Spoiled data is a failed check.
        check(Some("comet/echo"), u64::MAX, false, exit::CHECK_FAILED);
        // Empty messages still run where no memory is allowed.
        check(None, 0, false, exit::OK);
        // Results that cannot be kept end the run on all ranks.
        check(None, u64::MAX, true, exit::INTERNAL);
    }

    #[test]
    fn events_pass_until_the_gate_is_closed() {
        let gate = Gate::default();
        assert!(gate.pass(|| Ok(())).is_ok());
        assert_eq!(gate.pass(|| Err("disk full".into())).unwrap_err().to_string(), "disk full");
        gate.close();
        let mut has_passed = false;
        let error = gate.pass(|| {
            has_passed = true;
            Ok(())
        });
        assert_eq!(error.unwrap_err().to_string(), "the job has ended");
        assert!(!has_passed);
    }

    #[test]
    fn an_event_that_never_passes_does_not_keep_the_gate_open_for_ever() {
        let gate = Gate::default();
        let _stuck = gate.is_closed.lock();
        thread::scope(|threads| threads.spawn(|| gate.close()).join()).expect("it ends");
    }
}
