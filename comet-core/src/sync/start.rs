//! Start of a sample on all ranks.

use crate::collective;
use crate::error::Result;
use crate::transport::Transport;
use comet_stats::{quantile, real, sorted, whole};

use super::GlobalClock;

/// The shortest window, in nanoseconds.
const MIN_WINDOW_NS: u64 = 20_000;
/// A window holds so many broadcasts of the start.
const N_BROADCASTS: f64 = 4.0;
/// Broadcasts by which their time is found out.
const N_TRIALS: usize = 11;

/// Synchronisation of the ranks before a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartSync {
    /// Not at all: each when it is ready.
    None,
    /// After the barrier of the transport.
    Barrier,
    /// After two of them: the first has the ranks enter the second together.
    DoubleBarrier,
    /// After the dissemination barrier of [`collective`], whatever the transport.
    Dissemination,
    /// At a moment that rank 0 names, by global time.
    Window,
}

named! {
    StartSync: None "none", Barrier "barrier", DoubleBarrier "double-barrier",
    Dissemination "dissemination", Window "window"
}

impl StartSync {
    /// Number of barriers of all ranks in a start.
    pub fn n_barriers(self) -> u32 {
        match self {
            Self::None => 0,
            Self::Barrier | Self::Dissemination | Self::Window => 1,
            Self::DoubleBarrier => 2,
        }
    }

    /// Returns when this rank is to start; all ranks call it. The global time in nanoseconds at
    /// which that was due, for windows: a rank that heard of it too late starts later.
    ///
    /// From the moment at which rank 0 names a start to the start of a window it is `window_ns`, by
    /// the time of `clock`, or by the one clock that all ranks read.
    ///
    /// # Errors
    /// If the job has failed.
    #[inline]
    pub fn start<T: Transport>(
        self,
        t: &T,
        window_ns: u64,
        clock: Option<&GlobalClock>,
    ) -> Result<Option<u64>> {
        match self {
            Self::None => (),
            Self::Barrier => barrier_of_threads(t, T::barrier)?,
            Self::DoubleBarrier => {
                barrier_of_threads(t, T::barrier)?;
                barrier_of_threads(t, T::barrier)?;
            }
            Self::Dissemination => barrier_of_threads(t, collective::barrier)?,
            Self::Window => return await_window(t, window_ns, clock).map(Some),
        }
        Ok(None)
    }
}

/// A barrier of all threads of all ranks: one thread of each rank takes part in `barrier`, between two
/// meetings with the others, as in IMB-MT. In that of each thread they would meet at the lock of the library.
///
/// # Errors
/// If the job has failed; the other threads of the rank learn it from their next call.
#[inline]
pub(crate) fn barrier_of_threads<T: Transport>(
    t: &T,
    barrier: impl FnOnce(&T) -> Result<()>,
) -> Result<()> {
    let Some(lane) = t.lane() else { return barrier(t) };
    lane.meet();
    let result = if lane.number() == 0 { barrier(t) } else { Ok(()) };
    lane.meet();
    result
}

#[inline]
fn await_window<T: Transport>(t: &T, window_ns: u64, clock: Option<&GlobalClock>) -> Result<u64> {
    barrier_of_threads(t, T::barrier)?;
    let mut message = [0; size_of::<u64>()];
    if t.rank() == 0 {
        let now_ns = clock.map_or(t.now_ns(), |clock| clock.to_global_ns(t.now_ns()));
        message = (now_ns + window_ns).to_le_bytes();
    }
    t.blocked_broadcast(0, &mut message)?;
    let due_ns = u64::from_le_bytes(message);
    await_due(t, due_ns, clock);
    Ok(due_ns)
}

/// Waits until `due_ns` by the time of `clock`, or by the one clock that all ranks read.
#[inline]
pub(crate) fn await_due<T: Transport>(t: &T, due_ns: u64, clock: Option<&GlobalClock>) {
    t.wait_until_ns(clock.map_or(due_ns, |clock| clock.to_local_ns(due_ns)));
}

/// The window to begin with, in nanoseconds: 20 us, or four times what the broadcast of a start
/// takes on all but the slowest ranks (95 % of them). All ranks call it, and get the same. In virtual
/// time one broadcast is timed instead of eleven: many ranks take long to simulate.
///
/// # Errors
/// If the job has failed.
pub fn window_ns<T: Transport>(t: &T) -> Result<u64> {
    let n_trials = if t.clock().is_virtual { 1 } else { N_TRIALS };
    let mut trials_ns = vec![0; n_trials];
    for trial_ns in &mut trials_ns {
        t.barrier()?;
        let start_ns = t.now_ns();
        t.blocked_broadcast(0, &mut [0; size_of::<u64>()])?;
        *trial_ns = t.now_ns() - start_ns;
    }
    trials_ns.sort_unstable();
    let of_ranks = collective::gather(t, collective::bytes([trials_ns[n_trials / 2]]))?.concat();
    // Rank 0 alone has the times of all: a table on each of many ranks takes their square.
    let mut window_ns = [0; size_of::<u64>()];
    if t.rank() == 0 {
        window_ns = window_of(&collective::words(&of_ranks)).to_le_bytes();
    }
    t.blocked_broadcast(0, &mut window_ns)?;
    Ok(u64::from_le_bytes(window_ns))
}

/// The window for ranks on which a broadcast takes `broadcasts_ns`.
fn window_of(broadcasts_ns: &[u64]) -> u64 {
    let broadcasts_ns: Vec<f64> = broadcasts_ns.iter().copied().map(real).collect();
    let long_ns = quantile(&sorted(&broadcasts_ns), 0.95);
    MIN_WINDOW_NS.max(whole((N_BROADCASTS * long_ns).ceil()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local;

    #[test]
    fn a_way_to_start_is_found_by_its_name() {
        for sync in StartSync::ALL {
            assert_eq!(StartSync::find(sync.name()), Some(sync));
        }
        assert_eq!(StartSync::find("together"), None);
    }

    #[test]
    fn a_window_holds_four_broadcasts() {
        let check =
            |broadcasts_ns: &[u64], expected| assert_eq!(window_of(broadcasts_ns), expected);
        check(&[1000], 20_000);
        check(&[5001, 5001], 20_004);
        // One rank of many that is slow does not count.
        let mut broadcasts_ns = vec![10_000; 99];
        broadcasts_ns.push(1_000_000);
        check(&broadcasts_ns, 40_000);
    }

    #[test]
    fn only_windows_name_a_moment_and_it_is_the_same_for_all() {
        for sync in StartSync::ALL {
            let dues = local::run(3, |t| {
                let clock = Some(GlobalClock::agree(t).unwrap());
                let window_ns = window_ns(t).unwrap();
                let due_ns = sync.start(t, window_ns, clock.as_ref()).unwrap();
                assert!(due_ns.is_none_or(|due_ns| t.now_ns() >= due_ns), "{sync:?}");
                due_ns
            });
            assert_eq!(dues[0].is_some(), sync == StartSync::Window);
            assert_eq!(dues, vec![dues[0]; 3]);
        }
    }
}
