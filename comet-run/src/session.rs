//! The life of one rank: it reports its placement, takes part in the driver, and returns a code.

use std::error::Error;
use std::path::Path;

use comet_core::collective;
use comet_core::conformance;
use comet_core::driver::{self, DriverError, Settings};
use comet_core::error::{TransportError, TransportErrorKind};
use comet_core::event::{Event, Listener, RunEnd};
use comet_core::kernel::{Case, Kernel};
use comet_core::transport::Transport;
use comet_report::environment::have_cpu_each;
use comet_report::record::RankEntry;

use crate::catalogue;
use crate::exit;
use crate::gate::Gate;
use crate::limit::Limited;
use crate::signals::Signals;
use crate::terminal;

/// Work of the ranks; made before they are started, so that all of them have it.
pub(crate) struct Session<'a> {
    /// The cases, for rank 0.
    pub(crate) cases: Vec<Case>,
    /// Settings of the driver.
    pub(crate) settings: Settings,
    /// The most memory of one rank for one case, in bytes.
    pub(crate) cap_bytes: u64,
    /// Observer on rank 0.
    pub(crate) audience: &'a dyn Audience,
    /// Signals that end the run.
    pub(crate) signals: &'a Signals,
    /// Closed once the job has ended, so that nothing follows its end.
    pub(crate) gate: &'a Gate,
}

/// Observer of a session, on rank 0.
pub(crate) trait Audience {
    /// True if the transport is tested before the kernels run.
    fn wants_conformance(&self) -> bool {
        false
    }

    /// Takes note of a conformance check.
    fn checked(&self, name: &str, outcome: &Result<(), String>) {
        let _ = (name, outcome);
    }

    /// The file that results are written to, on the process that writes it.
    #[cfg(feature = "mpi")]
    fn results(&self) -> Option<&Path> {
        None
    }

    /// The listener for a run of ranks that run there.
    ///
    /// # Errors
    /// If the results cannot be kept.
    fn listener(&self, placements: Vec<RankEntry>) -> anyhow::Result<Box<dyn Listener>>;
}

/// Listener of a session, which a signal or the closing of its gate ends. One that could not be made
/// refuses the first event, so that the driver ends the run on all ranks.
struct SessionListener<'a> {
    listener: Result<Box<dyn Listener>, Option<anyhow::Error>>,
    signals: &'a Signals,
    gate: &'a Gate,
}

impl Listener for SessionListener<'_> {
    fn event(&mut self, event: &Event<'_>) -> Result<(), Box<dyn Error + Send + Sync>> {
        match &mut self.listener {
            Ok(listener) => self.gate.pass(|| listener.event(event)),
            Err(error) => error.take().map_or(Ok(()), |error| Err(error.into())),
        }
    }

    fn interrupted(&self) -> Option<String> {
        self.signals.arrived().map(str::to_owned)
    }

    fn is_behind(&mut self, max_bytes: usize) -> bool {
        self.listener.as_mut().is_ok_and(|listener| listener.is_behind(max_bytes))
    }
}

/// The life of one rank; returns the exit code.
pub(crate) fn rank_main<T: Transport + 'static>(t: &T, session: &Session<'_>) -> u8 {
    match take_part(t, session) {
        Ok(code) => code,
        Err(error) => give_up(t, error),
    }
}

fn take_part<T: Transport + 'static>(t: &T, session: &Session<'_>) -> Result<u8, DriverError> {
    let placements = placements(t)?;
    let has_core_each = has_core_each(t, &placements)?;
    let mut report = |name: &str, outcome: &_| session.audience.checked(name, outcome);
    let is_tested = session.audience.wants_conformance();
    let n_broken = if is_tested { conformance::run_all(t, &mut report) } else { 0 };
    let settings = Settings { has_core_each, ..session.settings.clone() };
    let end = drive(t, session, &settings, placements)?;
    let is_conductor = t.rank() == 0;
    Ok(match n_broken {
        0 if is_conductor => exit::code_of_run(&end),
        0 => exit::OK,
        _ => exit::CHECK_FAILED,
    })
}

/// Placements of all ranks, on rank 0; simulated ranks have none.
fn placements<T: Transport>(t: &T) -> Result<Vec<RankEntry>, TransportError> {
    if t.clock().is_virtual {
        return Ok(Vec::new());
    }
    let own = RankEntry::of_this_process(t.rank(), Path::new("/"));
    let decode = |bytes: Vec<u8>| {
        RankEntry::decode(&bytes).expect("a rank of this program describes itself well")
    };
    Ok(collective::gather(t, own.encode())?.into_iter().map(decode).collect())
}

/// True if each rank has a core to itself, as rank 0 finds; the same on all ranks.
fn has_core_each<T: Transport>(t: &T, placements: &[RankEntry]) -> Result<bool, TransportError> {
    if t.clock().is_virtual {
        return Ok(true);
    }
    let mut answer = [u8::from(have_cpu_each(placements) == Some(true))];
    t.blocked_broadcast(0, &mut answer)?;
    Ok(answer == [1])
}

fn drive<T: Transport + 'static>(
    t: &T,
    session: &Session<'_>,
    settings: &Settings,
    placements: Vec<RankEntry>,
) -> Result<RunEnd, DriverError> {
    let cap_bytes = session.cap_bytes;
    let limited: Vec<Limited<T>> =
        catalogue::kernels().into_iter().map(|kernel| Limited { kernel, cap_bytes }).collect();
    let kernels: Vec<&dyn Kernel<T>> = limited.iter().map(|kernel| kernel as _).collect();
    if t.rank() != 0 {
        return Ok(driver::follow(t, &kernels, settings)?);
    }
    let listener = session.audience.listener(placements).map_err(Some);
    let (signals, gate) = (session.signals, session.gate);
    let mut listener = SessionListener { listener, signals, gate };
    driver::conduct(t, &kernels, &session.cases, settings, &mut listener)
}

/// Ends this rank after an error, and the job with it if the others would wait for this one.
fn give_up<T: Transport>(t: &T, error: DriverError) -> u8 {
    match error {
        // The launcher speaks of the rank that failed first.
        DriverError::Transport(error) if error.kind() == TransportErrorKind::PeerFailed => (),
        DriverError::Transport(error) => t.fail_job(&format!("{:#}", anyhow::Error::new(error))),
        error => terminal::note(&format!("error: {:#}", anyhow::Error::new(error))),
    }
    exit::INTERNAL
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan;
    use comet_core::kernel::{Profile, World};
    use comet_core::local::{self, Local};
    use comet_core::topology::Topology;

    /// Keeps nothing, or cannot be made.
    struct Nobody {
        is_broken: bool,
    }

    impl Listener for Nobody {
        fn event(&mut self, _event: &Event<'_>) -> Result<(), Box<dyn Error + Send + Sync>> {
            Ok(())
        }
    }

    impl Audience for Nobody {
        fn listener(&self, placements: Vec<RankEntry>) -> anyhow::Result<Box<dyn Listener>> {
            let ranks: Vec<usize> = placements.iter().map(|placement| placement.rank).collect();
            assert_eq!(ranks, [0, 1], "rank 0 knows where all ranks run");
            anyhow::ensure!(!self.is_broken, "disk full");
            Ok(Box::new(Self { is_broken: false }))
        }
    }

    /// The codes of two ranks that run the quick cases of `comet/echo`.
    fn codes(corrupt: Option<&str>, cap_bytes: u64, is_broken: bool) -> Vec<u8> {
        let rank = |t: &Local| {
            let echo = catalogue::infos()[0];
            let plan = plan::plan(&[echo], &[], Profile::Quick, t.topology());
            let mut settings = Settings::of(Profile::Quick);
            (settings.repetitions, settings.samples) = (Some(1), Some(1));
            settings.corrupt = corrupt.map(str::to_owned);
            let cases = plan.expect("the defaults are in order").cases();
            let (audience, signals) = (&Nobody { is_broken }, &Signals::default());
            let gate = &Gate::default();
            rank_main(t, &Session { cases, settings, cap_bytes, audience, signals, gate })
        };
        local::run(2, rank)
    }

    #[test]
    fn rank_0_returns_the_code_of_the_run() {
        assert_eq!(codes(None, u64::MAX, false), [exit::OK, exit::OK]);
    }

    #[test]
    fn spoiled_data_is_a_failed_check() {
        assert_eq!(codes(Some("comet/echo"), u64::MAX, false), [exit::CHECK_FAILED, exit::OK]);
    }

    #[test]
    fn cases_beyond_the_memory_are_skipped() {
        let needs_some =
            |case: &Case| (case.info.bytes_per_rank)(case, &World::of(&Topology::hypercube(2))) > 0;
        assert!(needs_some(&Case::new(catalogue::infos()[0], &[1, 8])));
        assert_eq!(codes(None, 1, false), [exit::OK, exit::OK], "empty messages still run");
    }

    #[test]
    fn results_that_cannot_be_kept_end_the_run_on_all_ranks() {
        assert_eq!(codes(None, u64::MAX, true), [exit::INTERNAL, exit::OK]);
    }
}
