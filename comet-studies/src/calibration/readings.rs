//! Cases of a calibration, and the medians of their times.

use std::error::Error;
use std::path::Path;

use comet_core::event::{Event, Listener, Measurement};
use comet_core::kernel::{Axis, Case, HOPS, KernelInfo, LENGTH_BYTES, VECTOR_LENGTH, World};
use comet_core::topology::Topology;
use comet_report::read::read_records;
use comet_report::record::{Point, Record};
use comet_stats::{quantile, sorted};

use crate::{Refusal, simulated};

/// Message lengths in an octave of the echo; enough to tell protocols apart.
const PER_OCTAVE: u32 = 4;
/// Octaves of the echo: to 1 MiB.
const N_OCTAVES: u32 = 20;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Reading {
    pub(super) key: Key,
    pub(super) median_ns: f64,
    pub(super) n_samples: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) kernel: String,
    pub(super) series: String,
    /// Hops, where the kernel has that axis; likewise the others.
    pub(super) hops: Option<u64>,
    pub(super) length_bytes: Option<u64>,
    pub(super) vector_length: Option<u64>,
}

/// All numbers of a calibration, in the order of its cases.
#[derive(Clone, Debug, Default)]
pub(super) struct Readings {
    pub(super) all: Vec<Reading>,
    pub(super) clock_ns: Option<f64>,
}

impl Readings {
    /// Readings of a result file. Each case counts by the median over the launches.
    pub(super) fn of_file(path: &Path) -> anyhow::Result<Self> {
        let records = read_records(path)?.records;
        let clock_ns = records.iter().find_map(|record| match record {
            Record::Run(run) => run.clock.overhead_ns,
            _ => None,
        });
        let of_launches = records.iter().filter_map(|record| match record {
            Record::Point(point) => of_point(point),
            _ => None,
        });
        let all = joined(of_launches);
        if all.is_empty() {
            let sentence = format!("no case could be measured (see {})", path.display());
            return Err(Refusal::NothingMeasured(sentence).into());
        }
        Ok(Self { all, clock_ns })
    }

    /// Readings of the series `series` of the kernel `kernel`.
    pub(super) fn of<'a>(
        &'a self,
        kernel: &'a str,
        series: &'a str,
    ) -> impl Iterator<Item = &'a Reading> {
        self.all
            .iter()
            .filter(move |reading| reading.key.kernel == kernel && reading.key.series == series)
    }

    /// The times of messages of different lengths to a rank `hops` links away, by the echo.
    pub(super) fn echo(&self, hops: u64) -> Vec<&Reading> {
        self.of("comet/echo", "echo").filter(|reading| reading.key.hops == Some(hops)).collect()
    }
}

/// Keeps what is measured; of a run whose ranks live in this process.
impl Listener for Readings {
    fn event(&mut self, event: &Event<'_>) -> Result<(), Box<dyn Error + Send + Sync>> {
        if let Event::CaseFinished(measurement) = event {
            self.all.extend(of_measurement(measurement));
        }
        Ok(())
    }
}

/// The cases of a calibration on `topology`.
///
/// # Errors
/// [`Refusal::Unfit`] if a kernel does not admit one of them there.
pub fn cases(topology: &Topology) -> anyhow::Result<Vec<Case>> {
    let echo = echo_lengths();
    let parts: [(&str, &[&str]); 7] = [
        ("comet/echo", &["1", &echo]),
        ("comet/echo", &["0", "4Ki..1Mi*4"]),
        ("comet/exchange", &["1", "0,1..1Mi*2"]),
        ("naive/broadcast", &["0,8,64,512,4Ki,32Ki,256Ki"]),
        ("naive/reduction", &["1,8,64,512,4Ki,32Ki"]),
        ("naive/barrier", &[]),
        ("comet/overlap", &["0,4Ki,64Ki", "1000,4000,16000,64000"]),
    ];
    let cases = parts.iter().map(|(kernel, sweeps)| simulated::cases(kernel, sweeps));
    let cases = cases.collect::<anyhow::Result<Vec<_>>>()?.concat();
    let world = World::of(topology);
    let refusal = |case: &Case| Some((case.info.id(), (case.info.admits)(case, &world).err()?));
    match cases.iter().find_map(refusal) {
        Some((kernel, reason)) => {
            Err(Refusal::Unfit(format!("cannot calibrate: {kernel} {reason}")).into())
        }
        None => Ok(cases),
    }
}

/// 0, and lengths that grow by the same factor.
fn echo_lengths() -> String {
    let step = |i: u32| (f64::from(i) / f64::from(PER_OCTAVE)).exp2().round();
    let mut lengths: Vec<String> =
        (0..=N_OCTAVES * PER_OCTAVE).map(|i| step(i).to_string()).collect();
    lengths.dedup();
    format!("0,{}", lengths.join(","))
}

/// Readings of several launches, combined by case.
fn joined(of_launches: impl Iterator<Item = Reading>) -> Vec<Reading> {
    let mut cases: Vec<(Key, Vec<Reading>)> = Vec::new();
    for reading in of_launches {
        match cases.iter_mut().find(|(key, _)| *key == reading.key) {
            Some((_, found)) => found.push(reading),
            None => cases.push((reading.key.clone(), vec![reading])),
        }
    }
    let join = |(key, found): (Key, Vec<Reading>)| {
        let medians: Vec<f64> = found.iter().map(|reading| reading.median_ns).collect();
        let n_samples = found.iter().map(|reading| reading.n_samples).sum();
        Reading { key, median_ns: quantile(&sorted(&medians), 0.5), n_samples }
    };
    cases.into_iter().map(join).collect()
}

impl Key {
    fn new(kernel: String, series: &str, value: impl Fn(&Axis) -> Option<u64>) -> Self {
        let [hops, length_bytes, vector_length] = [&HOPS, &LENGTH_BYTES, &VECTOR_LENGTH].map(value);
        Self { kernel, series: series.to_owned(), hops, length_bytes, vector_length }
    }
}

/// The reading that a point of a result file holds, if it has numbers.
fn of_point(point: &Point) -> Option<Reading> {
    let time = &point.numbers()?.time_ns;
    let kernel = format!("{}/{}", point.suite, point.kernel);
    let key = Key::new(kernel, point.variant.as_ref()?, |axis| point.params.number(axis.name));
    Some(Reading { key, median_ns: time.median, n_samples: time.n })
}

/// The readings of a case, one for each of its series.
fn of_measurement(Measurement { case, series, .. }: &Measurement) -> impl Iterator<Item = Reading> {
    series.iter().map(|result| Reading {
        key: Key::new(KernelInfo::id(case.info), result.series.name, |axis| case.find(axis)),
        median_ns: result.summary.median,
        n_samples: result.summary.n,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(length_bytes: u64) -> Key {
        let (kernel, series) = ("comet/echo".to_owned(), "echo".to_owned());
        Key { kernel, series, hops: Some(1), length_bytes: Some(length_bytes), vector_length: None }
    }

    #[test]
    fn a_case_counts_by_the_median_over_the_launches() {
        let found =
            |length_bytes, median_ns| Reading { key: key(length_bytes), median_ns, n_samples: 10 };
        let of_launches = [found(0, 1.0), found(8, 5.0), found(0, 9.0), found(0, 2.0)];
        let expected = [
            Reading { key: key(0), median_ns: 2.0, n_samples: 30 },
            Reading { key: key(8), median_ns: 5.0, n_samples: 10 },
        ];
        assert_eq!(joined(of_launches.into_iter()), expected);
    }

    #[test]
    fn two_ranks_admit_every_case_and_one_does_not() {
        let cases_on = |n_ranks| cases(&Topology::hypercube(n_ranks));
        let echoes = cases_on(2).unwrap().iter().filter(|case| case.info.name == "echo").count();
        assert_eq!(echoes, 77 + 5, "0 and 76 different lengths, and 5 to itself");
        let error = cases_on(1).unwrap_err().to_string();
        assert!(error.starts_with("cannot calibrate: comet/echo no rank is 1 hop"), "{error}");
    }
}
