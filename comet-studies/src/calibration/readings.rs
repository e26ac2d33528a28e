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

/// Message lengths from which the search for switch points starts.
const ECHO_BYTES: &str = "0,1..1Mi*2";

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Reading {
    pub(super) key: Key,
    pub(super) median_ns: f64,
    /// The median of each launch.
    pub(super) launches_ns: Vec<f64>,
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

    /// The times of messages of ascending lengths to a rank `hops` links away, by the echo.
    pub(super) fn echo(&self, hops: u64) -> Vec<&Reading> {
        let of_hops = |reading: &&Reading| reading.key.hops == Some(hops);
        let mut echo: Vec<&Reading> = self.of("comet/echo", "echo").filter(of_hops).collect();
        echo.sort_by_key(|reading| reading.key.length_bytes);
        echo
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

/// The cases from which the search for switch points on `topology` starts.
///
/// # Errors
/// [`Refusal::Unfit`] if the echo does not admit one of them there.
pub fn search_cases(topology: &Topology) -> anyhow::Result<Vec<Case>> {
    admitted(simulated::cases("comet/echo", &["1", ECHO_BYTES])?, topology)
}

/// The message lengths of the echo in the record `path`, ascending.
///
/// # Errors
/// If the record cannot be read; [`Refusal::NothingMeasured`] if it has no numbers.
pub fn echo_bytes(path: &Path) -> anyhow::Result<Vec<u64>> {
    let readings = Readings::of_file(path)?;
    Ok(readings.echo(1).iter().filter_map(|reading| reading.key.length_bytes).collect())
}

/// The cases of a calibration on `topology`, with an echo of each of `echo_bytes`, or of the lengths
/// of the search if there are none.
///
/// # Errors
/// [`Refusal::Unfit`] if a kernel does not admit one of them there.
pub fn cases(topology: &Topology, echo_bytes: &[u64]) -> anyhow::Result<Vec<Case>> {
    let echo = match echo_bytes {
        [] => ECHO_BYTES.to_owned(),
        _ => echo_bytes.iter().map(u64::to_string).collect::<Vec<_>>().join(","),
    };
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
    admitted(cases.collect::<anyhow::Result<Vec<_>>>()?.concat(), topology)
}

fn admitted(cases: Vec<Case>, topology: &Topology) -> anyhow::Result<Vec<Case>> {
    let world = World::of(topology);
    let refusal = |case: &Case| Some((case.info.id(), world.admit(case).err()?));
    match cases.iter().find_map(refusal) {
        Some((kernel, reason)) => {
            Err(Refusal::Unfit(format!("cannot calibrate: {kernel} {reason}")).into())
        }
        None => Ok(cases),
    }
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
        let launches_ns: Vec<f64> = found.iter().map(|reading| reading.median_ns).collect();
        let n_samples = found.iter().map(|reading| reading.n_samples).sum();
        let median_ns = quantile(&sorted(&launches_ns), 0.5);
        Reading { key, median_ns, launches_ns, n_samples }
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
    Some(Reading { key, median_ns: time.median, launches_ns: Vec::new(), n_samples: time.n })
}

/// The readings of a case, one for each of its series.
fn of_measurement(Measurement { case, series, .. }: &Measurement) -> impl Iterator<Item = Reading> {
    series.iter().map(|result| Reading {
        key: Key::new(KernelInfo::id(case.info), result.series.name, |axis| case.find(axis)),
        median_ns: result.summary.median,
        launches_ns: Vec::new(),
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
        let joined_of = |length_bytes, median_ns, launches_ns, n_samples| Reading {
            key: key(length_bytes),
            median_ns,
            launches_ns,
            n_samples,
        };
        let found = |length_bytes, median_ns| joined_of(length_bytes, median_ns, Vec::new(), 10);
        let of_launches = [found(0, 1.0), found(8, 5.0), found(0, 9.0), found(0, 2.0)];
        let expected =
            [joined_of(0, 2.0, vec![1.0, 9.0, 2.0], 30), joined_of(8, 5.0, vec![5.0], 10)];
        assert_eq!(joined(of_launches.into_iter()), expected);
    }

    #[test]
    fn two_ranks_admit_every_case_and_one_does_not() {
        let cases = cases(&Topology::hypercube(2), &[0, 8, 301]).unwrap();
        let echoes = cases.iter().filter(|case| case.info.name == "echo").count();
        assert_eq!(echoes, 3 + 5, "3 lengths, and 5 to itself");
        assert_eq!(search_cases(&Topology::hypercube(2)).unwrap().len(), 22);
        let error = search_cases(&Topology::hypercube(1)).unwrap_err().to_string();
        assert!(error.starts_with("cannot calibrate: comet/echo no rank is 1 hop"), "{error}");
    }
}
