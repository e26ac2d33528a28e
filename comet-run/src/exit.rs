//! Exit codes: what the shell learns about a run. `--help` and the man page print [`TABLE`].

use std::fmt;

use comet_core::event::{RunEnd, Stop};

// Each is explained in `TABLE`.
pub(crate) const OK: u8 = 0;
pub(crate) const INTERNAL: u8 = 1;
pub(crate) const USAGE: u8 = 2;
pub(crate) const CHECK_FAILED: u8 = 3;
pub(crate) const PARTIAL: u8 = 4;
pub(crate) const TRANSPORT: u8 = 5;
pub(crate) const NOTHING: u8 = 6;
pub(crate) const OFF: u8 = 10;
pub(crate) const INCONCLUSIVE: u8 = 11;

/// Signals that end a run in order, of people and of batch systems, with their exit codes: 128 and
/// the number. The first counts as the worst.
pub(crate) const SIGNALS: [(u8, &str); 6] = [
    (129, "SIGHUP"),
    (130, "SIGINT"),
    (143, "SIGTERM"),
    (138, "SIGUSR1"),
    (140, "SIGUSR2"),
    (152, "SIGXCPU"),
];

/// Every code with its meaning.
pub(crate) const TABLE: &[(u8, &str)] = &[
    (OK, "everything was measured and verified"),
    (INTERNAL, "internal or I/O error, or a rank died or hung"),
    (USAGE, "the command line is wrong"),
    (CHECK_FAILED, "a verification failed: data arrived wrong"),
    (
        PARTIAL,
        "finished partly: the budget was spent, a case could not be run, or a unit was given up",
    ),
    (TRANSPORT, "the transport could not start its ranks, or the wrong launcher did"),
    (NOTHING, "nothing was selected, or nothing could be measured on these ranks"),
    (OFF, "regression, violated guideline, failed reproduction, or unhealthy machine"),
    (INCONCLUSIVE, "undecided comparison or guidelines under --strict"),
    (129, "ended early by SIGHUP"),
    (130, "ended early by SIGINT"),
    (138, "ended early by SIGUSR1"),
    (140, "ended early by SIGUSR2"),
    (143, "ended early by SIGTERM"),
    (152, "ended early by SIGXCPU"),
];

/// An error that has an exit code of its own.
#[derive(Debug)]
struct Refusal {
    code: u8,
    message: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Refusal {}

/// An error that ends the program with `code`.
pub(crate) fn refuse(code: u8, message: impl Into<String>) -> anyhow::Error {
    Refusal { code, message: message.into() }.into()
}

/// An error of whoever wrote the command line; `message` names the value, what was expected, and
/// a remedy.
pub(crate) fn usage(message: impl Into<String>) -> anyhow::Error {
    refuse(USAGE, message)
}

/// The error of a library about what the user gave: a file, a name.
pub(crate) fn bad_input(error: impl std::error::Error + Send + Sync + 'static) -> anyhow::Error {
    usage(format!("{:#}", anyhow::Error::new(error)))
}

/// The exit code for `error`.
pub(crate) fn code_of(error: &anyhow::Error) -> u8 {
    match error.downcast_ref::<comet_studies::Refusal>() {
        Some(comet_studies::Refusal::Unfit(_)) => USAGE,
        Some(comet_studies::Refusal::NothingMeasured(_)) => NOTHING,
        None => error.downcast_ref::<Refusal>().map_or(INTERNAL, |refusal| refusal.code),
    }
}

/// The exit code after the signal `name`.
pub(crate) fn code_of_signal(name: &str) -> u8 {
    let known = SIGNALS.iter().find(|(_, other)| *other == name);
    known.map_or(INTERNAL, |(code, _)| *code)
}

/// The signal that `code` tells of, if it does.
pub(crate) fn signal_of(code: u8) -> Option<&'static str> {
    SIGNALS.iter().find(|(other, _)| *other == code).map(|(_, name)| *name)
}

/// The exit code for a run that ended so: what was asked for from outside comes first, then what
/// is worst.
pub(crate) fn code_of_run(end: &RunEnd) -> u8 {
    match &end.stop {
        Some(Stop::Interrupted(signal)) => code_of_signal(signal),
        _ if end.n_check_failed > 0 => CHECK_FAILED,
        Some(Stop::BudgetSpent) => PARTIAL,
        None if end.n_ok == 0 => NOTHING,
        None if end.n_failed > 0 => PARTIAL,
        None => OK,
    }
}

/// The code for two runs together: the worse of the two, where a run that had nothing to measure
/// does not spoil one that had.
pub(crate) fn worse(a: u8, b: u8) -> u8 {
    let signals = SIGNALS.iter().map(|(code, _)| *code);
    let mut from_bad_to_good =
        signals.chain([INTERNAL, TRANSPORT, CHECK_FAILED, PARTIAL, OK, NOTHING]);
    from_bad_to_good.find(|code| [a, b].contains(code)).unwrap_or(INTERNAL)
}

/// True if a run that ended with `code` cancels the runs after it.
pub(crate) fn gives_up(code: u8) -> bool {
    matches!(code, INTERNAL | TRANSPORT) || signal_of(code).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_of_a_run_decides_its_code() {
        let check = |n_ok, n_check_failed, n_failed, stop, code| {
            let end = RunEnd { n_ok, n_check_failed, n_failed, stop, ..RunEnd::default() };
            assert_eq!(code_of_run(&end), code, "{end:?}");
        };
        check(5, 0, 0, None, OK);
        check(5, 1, 1, None, CHECK_FAILED);
        check(5, 0, 1, None, PARTIAL);
        check(0, 0, 0, None, NOTHING);
        check(5, 0, 0, Some(Stop::BudgetSpent), PARTIAL);
        check(5, 1, 0, Some(Stop::BudgetSpent), CHECK_FAILED);
        check(5, 0, 0, Some(Stop::Interrupted("SIGTERM".into())), 143);
    }

    #[test]
    fn of_two_runs_the_worse_decides() {
        assert_eq!(worse(OK, CHECK_FAILED), CHECK_FAILED);
        assert_eq!(worse(PARTIAL, 130), 130);
        assert_eq!(worse(NOTHING, OK), OK);
        assert_eq!(worse(NOTHING, NOTHING), NOTHING);
    }

    #[test]
    fn an_error_keeps_its_code_under_context() {
        use anyhow::Context as _;
        let error = Err::<(), _>(usage("no")).context("while reading").unwrap_err();
        assert_eq!(code_of(&error), USAGE);
        assert_eq!(code_of(&anyhow::anyhow!("disk full")), INTERNAL);
    }

    #[test]
    fn every_code_is_explained_once() {
        let mut codes: Vec<u8> = TABLE.iter().map(|(code, _)| *code).collect();
        codes.dedup();
        assert_eq!(codes.len(), TABLE.len());
    }
}
