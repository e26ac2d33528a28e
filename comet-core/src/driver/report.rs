//! Report of a rank to rank 0 after each decision.

use crate::collective;
use crate::error::{KernelError, TransportError};
use crate::event::Failure;
use crate::sample::Sample;
use crate::transport::{Transport, Usage};

/// Samples of a rank.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Taken {
    /// The samples by series; empty after a verification.
    pub(super) series: Vec<Vec<Sample>>,
    /// Resources used by the rank meanwhile, if the system reports them.
    pub(super) usage: Option<Usage>,
}

/// Outcome of a rank's step: its samples, or the reason that the case has none.
pub(super) type Report = Result<Taken, (Failure, String)>;

/// The report for a kernel's result.
///
/// # Errors
/// The transport's error, unless it is one that the other ranks need not know of to go on.
pub(super) fn of(result: Result<Taken, KernelError>) -> Result<Report, TransportError> {
    match result {
        Ok(taken) => Ok(Ok(taken)),
        Err(KernelError::Transport(error)) if error.is_unsupported() => {
            Ok(Err((Failure::Skipped, error.to_string())))
        }
        // What this rank did not do, another may wait for.
        Err(KernelError::Transport(error)) if !error.is_truncated() => Err(error),
        // A message of the wrong length is wrong data.
        Err(error) => Ok(Err((Failure::CheckFailed, error.to_string()))),
    }
}

/// Sends `report` to rank 0, which gets those of all ranks, its own first; the others get nothing.
pub(super) fn gather<T: Transport>(t: &T, report: &Report) -> Result<Vec<Report>, TransportError> {
    let gathered = collective::gather(t, encode(report))?;
    Ok(gathered.iter().map(|bytes| decode(bytes)).collect())
}

fn encode(report: &Report) -> Vec<u8> {
    let Taken { series, usage } = match report {
        Err((failure, message)) => return [&[1 + *failure as u8], message.as_bytes()].concat(),
        Ok(taken) => taken,
    };
    let mut bytes = vec![if usage.is_some() { MEASURED } else { 0 }];
    let usage = usage.map(|usage| [usage.involuntary_switches, usage.page_faults]);
    bytes.extend(collective::bytes(usage.into_iter().flatten()));
    for samples in series {
        bytes.extend((samples.len() as u64).to_le_bytes());
        bytes.extend(samples.iter().flat_map(to_words).flat_map(u64::to_le_bytes));
    }
    bytes
}

fn decode(bytes: &[u8]) -> Report {
    let (kind, rest) = bytes.split_first().expect("a report has a kind");
    let failures = [Failure::Skipped, Failure::CheckFailed, Failure::Failed];
    if let Some(failure) = failures.into_iter().find(|failure| 1 + *failure as u8 == *kind) {
        return Err((failure, String::from_utf8_lossy(rest).into_owned()));
    }
    let mut words = collective::words(rest).into_iter();
    let mut count = || words.next().unwrap_or(0);
    let usage =
        (*kind == MEASURED).then(|| Usage { involuntary_switches: count(), page_faults: count() });
    let mut series = Vec::new();
    while let Some(n_samples) = words.next() {
        let mut sample = || {
            let [start, end, due, reference] = std::array::from_fn(|_| words.next());
            Some(from_words([start?, end?, due?, reference?]))
        };
        series.push((0..n_samples).map_while(|_| sample()).collect());
    }
    Ok(Taken { series, usage })
}

/// First byte of samples with resources used.
const MEASURED: u8 = u8::MAX;
/// Stands for a time that was not taken.
const NONE: u64 = u64::MAX;
/// Added to a start to say that it was skewed: clocks count less than 2^63 ns, 292 years.
const SKEWED: u64 = 1 << 63;
/// Bytes of a sample on the wire.
pub const SAMPLE_BYTES: usize = 32;

fn to_words(sample: &Sample) -> [u64; 4] {
    let skewed = if sample.is_skewed { SKEWED } else { 0 };
    let [due, reference] = [sample.due_ns, sample.reference_ns].map(|ns| ns.unwrap_or(NONE));
    [sample.start_ns | skewed, sample.end_ns, due, reference]
}

fn from_words([start, end, due, reference]: [u64; 4]) -> Sample {
    let [due_ns, reference_ns] = [due, reference].map(|ns| Some(ns).filter(|ns| *ns != NONE));
    let is_skewed = start & SKEWED != 0;
    Sample { start_ns: start & !SKEWED, end_ns: end, due_ns, reference_ns, is_skewed }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_survives_the_wire() {
        let plain = Sample { start_ns: 1, end_ns: u64::MAX, ..Sample::default() };
        let due = Sample { due_ns: Some(0), is_skewed: true, ..plain };
        let samples = vec![plain, due, Sample { reference_ns: Some(7), ..plain }];
        for report in [
            Ok(Taken { series: vec![samples.clone(), vec![], samples], usage: None }),
            Ok(Taken {
                series: vec![],
                usage: Some(Usage { involuntary_switches: 3, page_faults: 0 }),
            }),
            Err((Failure::CheckFailed, "byte 3".into())),
            Err((Failure::Skipped, "no windows".into())),
        ] {
            assert_eq!(decode(&encode(&report)), report);
        }
    }
}
