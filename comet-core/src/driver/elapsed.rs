//! Time that passes between cases, and the most that all lengths of a benchmark take by IMB's rules.

use super::conductor::{Conductor, Interruption, Refusal};
use super::passes::are_of_one_sweep;
use super::point::CaseState;
use crate::event::Failure;
use crate::kernel::{Case, refusal};
use crate::transport::Transport;
use comet_stats::real;

/// Share of the time of a loop for which a pause lasts at least, as that of `-msg_pause` of IMB does.
const PAUSE_SHARE: u64 = 10;

/// Times that cases of the run have taken so far.
#[derive(Default)]
pub(super) struct Elapsed {
    /// Of the samples of the last case, in nanoseconds.
    loop_ns: u64,
    /// A case of each sweep of lengths, and the time of all of them in nanoseconds.
    sweeps: Vec<(Case, u64)>,
}

impl Elapsed {
    /// Takes in that `case` has taken `ns` nanoseconds, `loop_ns` of them for its samples.
    fn add(&mut self, case: Case, ns: u64, loop_ns: u64) {
        self.loop_ns = loop_ns;
        match self.sweeps.iter_mut().find(|(known, _)| are_of_one_sweep(known, &case)) {
            Some((_, spent_ns)) => *spent_ns += ns,
            None => self.sweeps.push((case, ns)),
        }
    }

    /// The time that the sweep of `case` has taken, in nanoseconds.
    fn of_sweep_ns(&self, case: &Case) -> u64 {
        let of_sweep = self.sweeps.iter().find(|(known, _)| are_of_one_sweep(known, case));
        of_sweep.map_or(0, |(_, spent_ns)| *spent_ns)
    }

    /// The pause before the next case, where one of `least_ns` is asked for.
    fn pause_ns(&self, least_ns: u64) -> u64 {
        if least_ns == 0 { 0 } else { least_ns.max(self.loop_ns / PAUSE_SHARE) }
    }
}

impl<T: Transport> Conductor<'_, T> {
    /// Lets the pause before a case pass: rank 0 waits, and the others for it.
    pub(super) fn pause(&self) {
        let (t, pause_ns) = (self.stage.t, self.elapsed.pause_ns(self.settings.pause_ns));
        if pause_ns > 0 && !t.clock().is_virtual {
            t.wait_until_ns(t.now_ns() + pause_ns);
        }
    }

    /// Takes in the time of `case`, which began at `begun_ns` and is in `state` after its first slice.
    pub(super) fn spend(
        &mut self,
        case: Case,
        begun_ns: u64,
        state: Option<&Result<Box<CaseState>, Refusal>>,
    ) {
        let point = state.and_then(|state| state.as_ref().ok());
        let loop_ns = point.map_or(0, |point| point.spent_ns);
        self.elapsed.add(case, self.stage.t.now_ns() - begun_ns, loop_ns);
    }

    /// Refuses `case`, which began at `begun_ns`, if its sweep has taken all its time.
    pub(super) fn require_time(&self, case: &Case, begun_ns: u64) -> Result<(), Interruption> {
        let limit_ns = self.settings.loop_limits.sweep_ns;
        let own_ns = self.stage.t.now_ns() - begun_ns;
        let spent_ns = real(self.elapsed.of_sweep_ns(case) + own_ns);
        if self.settings.rules.loop_limits().is_none() || spent_ns <= limit_ns {
            return Ok(());
        }
        Err(Interruption::refuse(Failure::Skipped, None, refusal::of_time(spent_ns, limit_ns)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_lasts_for_a_tenth_of_a_long_loop() {
        let mut elapsed = Elapsed::default();
        assert_eq!([elapsed.pause_ns(0), elapsed.pause_ns(100)], [0, 100]);
        elapsed.loop_ns = 999;
        assert_eq!(elapsed.pause_ns(100), 100);
        elapsed.loop_ns = 2000;
        assert_eq!([elapsed.pause_ns(0), elapsed.pause_ns(100)], [0, 200]);
    }
}
