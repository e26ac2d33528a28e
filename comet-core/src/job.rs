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

/// True if a signal has stopped the process of which `stat` is the content of `/proc/PID/stat`.
pub fn is_stopped(stat: &str) -> bool {
    // The name before the state is in parentheses, and may hold some.
    stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stopped_process_is_told_from_one_with_a_strange_name() {
        for (stat, expected) in [
            ("7 (comet) T 1", true),
            ("7 (a) T 1) S 1", false),
            ("7 (comet) R 1", false),
            ("", false),
        ] {
            assert_eq!(is_stopped(stat), expected, "{stat}");
        }
    }
}
