//! Times of a measurement, read from its record.

use std::fmt;
use std::sync::Arc;

use comet_report::read::parse_records;
use comet_report::record::{Measured, Point, Record};

use crate::error::Error;

/// Times of one series of a case, for one operation.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Times {
    /// The median of the medians of the slices in nanoseconds, or of their means where a kernel reports
    /// the mean; of one that reports another statistic that of all samples.
    pub median_ns: f64,
    /// The 95 % interval of the median within this launch, in nanoseconds; `None` below 5 slices.
    pub interval_ns: Option<[f64; 2]>,
    /// True if the interval is as narrow as the settings want it; `None` if they want none.
    pub is_converged: Option<bool>,
    /// Bytes per second, where bytes are moved.
    pub bytes_per_s: Option<f64>,
    /// Number of samples of each rank that sampled.
    pub n_samples: usize,
    /// Operations between two clock reads.
    pub repetitions: u32,
    /// The samples of each rank that sampled, in nanoseconds for one operation.
    pub samples_ns: Vec<Vec<f64>>,
    /// The point of the record: parameters, definition, percentiles, quality.
    pub point: Point,
    /// The record of the run, as JSON Lines: the content of a result file of `comet-run`.
    pub record: Arc<str>,
}

impl Times {
    /// The times of all points of a record.
    pub(crate) fn of_record(text: &[u8]) -> Result<Vec<Self>, Error> {
        let record: Arc<str> = String::from_utf8_lossy(text).into();
        let points = parse_records(text)?.records.into_iter().filter_map(|record| match record {
            Record::Point(point) => Some(*point),
            _ => None,
        });
        points.map(|point| Self::of(point, &record)).collect()
    }

    fn of(point: Point, record: &Arc<str>) -> Result<Self, Error> {
        let Some(measured) = point.measured() else {
            let message = point.failure().map(|failure| failure.message.clone());
            let (kernel, status) = (point.id(), point.status());
            return Err(Error::NoTimes { kernel, status, message: message.unwrap_or_default() });
        };
        let Measured { numbers, reps, quality, .. } = measured;
        let interval = quality.as_ref().and_then(|quality| quality.interval_ns.as_ref());
        Ok(Self {
            median_ns: numbers
                .quoted_ns
                .filter(|_| numbers.value.quote.is_of_slices())
                .unwrap_or(numbers.time_ns.median),
            interval_ns: interval.map(|interval| [interval.low, interval.high]),
            is_converged: quality.as_ref().and_then(|quality| quality.converged),
            bytes_per_s: numbers.rate.as_ref().map(|rate| rate.bytes_per_s),
            n_samples: reps.n,
            repetitions: reps.inner,
            samples_ns: samples_ns(measured),
            record: Arc::clone(record),
            point,
        })
    }
}

/// The samples of each rank for one operation.
fn samples_ns(measured: &Measured) -> Vec<Vec<f64>> {
    let Some(samples) = &measured.samples else { return Vec::new() };
    let n_operations = f64::from(measured.reps.inner * measured.numbers.value.divisor);
    let of_one = |elapsed_ns: &u64| *elapsed_ns as f64 / n_operations;
    let of_rank = |of_rank: &[u64]| of_rank.iter().map(of_one).collect();
    samples.data.chunks(samples.shape[1].max(1)).map(of_rank).collect()
}

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.0} ns (", self.median_ns)?;
        if let Some([low, high]) = self.interval_ns {
            write!(f, "95 % interval {low:.0} to {high:.0} ns, ")?;
        }
        write!(f, "{} samples)", self.n_samples)
    }
}
