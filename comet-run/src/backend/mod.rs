//! What moves the messages: one line per backend, and what each must be able to do.

mod shm;

use std::time::Duration;

use comet_core::topology::Topology;
use comet_core::transport::Rank;

use crate::exit;
use crate::session::Session;
use crate::values::Binding;

/// Every backend; `auto` takes the first.
pub(crate) const BACKENDS: &[&dyn Backend] = &[&shm::SharedMemory];

/// A way to start ranks that can talk to each other.
pub(crate) trait Backend: Sync {
    /// Name on the command line and in the record.
    fn name(&self) -> &'static str;

    /// What it is, in one line.
    fn summary(&self) -> &'static str;

    /// How many CPUs ranks of this process may use.
    fn usable_cpus(&self) -> usize;

    /// Whether all ranks may send long messages first and receive then.
    fn buffers_sends(&self) -> bool;

    /// What the record says about it for a run, units in the names.
    fn describe(&self, launch: &Launch) -> Vec<(&'static str, String)>;

    /// Starts the ranks, has each take part in `session`, and waits for them.
    ///
    /// # Errors
    /// If the ranks cannot be started.
    fn launch(&self, launch: &Launch, session: &Session<'_>) -> anyhow::Result<Ended>;
}

/// Which ranks to start.
#[derive(Debug)]
pub(crate) struct Launch {
    /// How many ranks, and how they are connected.
    pub(crate) topology: Topology,
    /// Where they run.
    pub(crate) bind: Binding,
    /// Time without progress after which the job is ended; `None` for never.
    pub(crate) watchdog: Option<Duration>,
}

/// How a job ended.
#[derive(Debug)]
pub(crate) enum Ended {
    /// All ranks returned; the exit code.
    Finished(u8),
    /// A rank died or hung.
    Failed {
        /// Which, where known.
        rank: Option<Rank>,
        /// Which kind of failure, as in the record: `rank_died`, `rank_stalled` …
        code: &'static str,
        /// One paragraph that says which, and in what.
        message: String,
    },
    /// The ranks were ended by a second signal; its name.
    Interrupted(&'static str),
}

/// The backend called `name`, or the first one for `auto`.
///
/// # Errors
/// If there is no such backend.
pub(crate) fn find(name: &str) -> anyhow::Result<&'static dyn Backend> {
    let found = BACKENDS.iter().copied().find(|backend| name == "auto" || backend.name() == name);
    found.ok_or_else(|| exit::usage(format!("there is no transport '{name}' (write -t auto)")))
}
