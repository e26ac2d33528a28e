//! Report of a rank to rank 0 after each decision.

use crate::collective;
use crate::error::KernelError;
use crate::error::Result;
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

/// Outcome of a rank's step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Report {
    /// All went well.
    Done(Taken),
    /// The data was wrong.
    Mismatch(String),
    /// The transport lacks something; the case is to be skipped.
    Unsupported(String),
}

impl Report {
    /// The report for a kernel's result.
    ///
    /// # Errors
    /// The transport's error, unless it is one that the other ranks need not know of to go on.
    pub(super) fn of(result: std::result::Result<Taken, KernelError>) -> Result<Self> {
        Ok(match result {
            Ok(taken) => Self::Done(taken),
            // A message of the wrong length is wrong data.
            Err(KernelError::Transport(error)) if error.is_truncated() => {
                Self::Mismatch(error.to_string())
            }
            Err(KernelError::Transport(error)) if error.is_unsupported() => {
                Self::Unsupported(error.to_string())
            }
            // What this rank did not do, another may wait for.
            Err(KernelError::Transport(error)) => return Err(error),
            Err(error @ KernelError::Mismatch { .. }) => Self::Mismatch(error.to_string()),
            Err(error @ KernelError::Unsupported { .. }) => Self::Unsupported(error.to_string()),
        })
    }

    /// Sends this report to rank 0, which gets those of all ranks, its own first; the others get
    /// nothing.
    pub(super) fn gather<T: Transport>(&self, t: &T) -> Result<Vec<Self>> {
        let gathered = collective::gather(t, self.encode())?;
        Ok(gathered.iter().map(|bytes| Self::decode(bytes)).collect())
    }

    fn encode(&self) -> Vec<u8> {
        let text = |kind: u8, text: &str| [&[kind], text.as_bytes()].concat();
        match self {
            Self::Mismatch(message) => text(1, message),
            Self::Unsupported(message) => text(2, message),
            Self::Done(Taken { series, usage }) => {
                let mut bytes = vec![if usage.is_some() { 3 } else { 0 }];
                let usage = usage.map(|usage| [usage.involuntary_switches, usage.page_faults]);
                bytes.extend(usage.iter().flatten().flat_map(|word| word.to_le_bytes()));
                for samples in series {
                    bytes.extend((samples.len() as u64).to_le_bytes());
                    for sample in samples {
                        bytes.extend(to_words(sample).iter().flat_map(|word| word.to_le_bytes()));
                    }
                }
                bytes
            }
        }
    }

    fn decode(bytes: &[u8]) -> Self {
        let (kind, rest) = bytes.split_first().expect("a report has a kind");
        let text = || String::from_utf8_lossy(rest).into_owned();
        match kind {
            1 => return Self::Mismatch(text()),
            2 => return Self::Unsupported(text()),
            _ => (),
        }
        let mut words = rest.as_chunks().0.iter().map(|chunk| u64::from_le_bytes(*chunk));
        let mut count = || words.next().unwrap_or(0);
        let usage =
            (*kind == 3).then(|| Usage { involuntary_switches: count(), page_faults: count() });
        let mut series = Vec::new();
        while let Some(n_samples) = words.next() {
            let mut sample = || {
                let [start, end, due, reference] = std::array::from_fn(|_| words.next());
                Some(from_words([start?, end?, due?, reference?]))
            };
            series.push((0..n_samples).map_while(|_| sample()).collect());
        }
        Self::Done(Taken { series, usage })
    }
}

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
            Report::Done(Taken { series: vec![samples.clone(), vec![], samples], usage: None }),
            Report::Done(Taken {
                series: vec![],
                usage: Some(Usage { involuntary_switches: 3, page_faults: 0 }),
            }),
            Report::Mismatch("byte 3".into()),
            Report::Unsupported("needs windows".into()),
        ] {
            assert_eq!(Report::decode(&report.encode()), report);
        }
    }
}
