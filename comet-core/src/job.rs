//! Failure of a job, in the terms that all transports share.

use std::any::Any;

use crate::transport::Rank;

/// Failure that ended a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobFailure {
    /// The rank to blame, where it is one and known.
    pub rank: Option<Rank>,
    /// Kind of failure, as in records: `rank_died`, `rank_panicked`, `rank_gave_up`,
    /// `rank_stalled`, `deadlock`, `livelock`, `interrupted`.
    pub code: &'static str,
    /// Name of the signal that asked for the end, if one did.
    pub signal: Option<&'static str>,
    /// The rank and its peers, with their calls, kernel and case where they are known.
    pub message: String,
}

impl JobFailure {
    /// A failure that `rank` is to blame for.
    pub fn of_rank(rank: Rank, code: &'static str, message: String) -> Self {
        Self { rank: Some(rank), code, signal: None, message }
    }
}

/// Message of a panic with `payload`, whose destructor, code of a rank, is not run.
pub fn panic_text(payload: Box<dyn Any + Send>) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
    std::mem::forget(payload);
    text.unwrap_or_else(|| "without a message".into())
}

/// State of a process, as Linux tells it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessState {
    /// True if a signal has stopped it.
    pub is_stopped: bool,
    /// True if it has ended, whether or not its parent has taken note.
    pub has_ended: bool,
    /// CPU time that it has used, in ticks of 10 ms.
    pub cpu_ticks: u64,
}

impl ProcessState {
    /// The state in `stat`, the content of `/proc/PID/stat`; that of a process that has ended where there
    /// is none.
    pub fn of(stat: &str) -> Self {
        // The name before the state is in parentheses, and may hold some.
        let Some((_, fields)) = stat.rsplit_once(") ") else {
            return Self { has_ended: true, ..Self::default() };
        };
        // `utime` and `stime`, the fields 14 and 15 of proc(5), of which the state is the third.
        let ticks =
            fields.split(' ').skip(11).take(2).filter_map(|ticks| ticks.parse::<u64>().ok());
        Self {
            is_stopped: fields.starts_with('T'),
            has_ended: fields.starts_with(['Z', 'X']),
            cpu_ticks: ticks.sum(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_of_a_process_with_a_strange_name_is_found() {
        for (stat, is_stopped, has_ended, cpu_ticks) in [
            ("7 (comet) T 1", true, false, 0),
            ("7 (a) T 1) S 1", false, false, 0),
            ("7 (comet) R 1 2 3 4 5 6 7 8 9 10 110 12 13", false, false, 122),
            ("7 (comet) Z 1", false, true, 0),
            ("", false, true, 0),
        ] {
            let expected = ProcessState { is_stopped, has_ended, cpu_ticks };
            assert_eq!(ProcessState::of(stat), expected, "{stat}");
        }
    }
}
