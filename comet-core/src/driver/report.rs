//! What a rank reports to rank 0 after it has done what was decided.

use crate::collective;
use crate::error::Result;
use crate::kernel::KernelError;
use crate::sample::Sample;
use crate::transport::Transport;

/// How a rank fared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Report {
    /// All went well; the samples by series (empty after a verification).
    Done(Vec<Vec<Sample>>),
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
    pub(super) fn of(result: std::result::Result<Vec<Vec<Sample>>, KernelError>) -> Result<Self> {
        Ok(match result {
            Ok(samples) => Self::Done(samples),
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
            Self::Done(series) => {
                let mut bytes = vec![0];
                for samples in series {
                    bytes.extend((samples.len() as u64).to_le_bytes());
                    for sample in samples {
                        bytes.extend(sample.start_ns.to_le_bytes());
                        bytes.extend(sample.end_ns.to_le_bytes());
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
        let mut series = Vec::new();
        while let Some(n_samples) = words.next() {
            let mut sample = || Some(Sample { start_ns: words.next()?, end_ns: words.next()? });
            series.push((0..n_samples).map_while(|_| sample()).collect());
        }
        Self::Done(series)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_survives_the_wire() {
        let samples = vec![Sample { start_ns: 1, end_ns: u64::MAX }; 3];
        for report in [
            Report::Done(vec![samples.clone(), vec![], samples]),
            Report::Done(vec![]),
            Report::Mismatch("byte 3".into()),
            Report::Unsupported("needs windows".into()),
        ] {
            assert_eq!(Report::decode(&report.encode()), report);
        }
    }
}
