//! A small run with every kind of event, and folders for tests to write in.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use comet_core::context::Pace;
use comet_core::definition::{Definition, Quantity};
use comet_core::event::{
    CaseFailure, ClockCalibration, Event, Failure, Listener, Measurement, RankSamples, RunEnd,
    RunStart, SeriesResult,
};
use comet_core::kernel::{
    Axis, AxisUse, Case, Figure, HOPS, KernelInfo, LENGTH_BYTES, Series, Timing,
};
use comet_core::sample::Sample;
use comet_core::stats::Summary;
use comet_core::topology::Topology;
use comet_core::transport::ClockInfo;

use crate::environment::Environment;
use crate::placement::RankPlacement;
use crate::record::{Point, Record, Suite, Transport};
use crate::recorder::{Recorder, RunDescription};

/// A folder that is removed with its value.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static N_FOLDERS: AtomicUsize = AtomicUsize::new(0);
        let number = N_FOLDERS.fetch_add(1, Ordering::Relaxed);
        let name = format!("comet-report-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Writes `text` into the file `name`, in folders made if need be.
    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}

/// Checks that the file `path` holds `text`; with `COMET_BLESS=1`, writes it there instead.
pub(crate) fn check_golden(path: &Path, text: &str) {
    if std::env::var_os("COMET_BLESS").is_some() {
        std::fs::write(path, text).unwrap();
    }
    let committed = std::fs::read_to_string(path).unwrap();
    let name = path.file_name().unwrap().display();
    assert_eq!(committed, text, "{name} differs: look, then COMET_BLESS=1 cargo test");
}

/// Files of a machine of two cores with two threads each.
pub(crate) fn machine_files(folder: &Folder) {
    const CPU: &str = "sys/devices/system/cpu";
    for (path, text) in [
        (
            "proc/cpuinfo",
            "processor\t: 0\nmodel name\t: Example CPU\nmodel\t\t: 7\nflags\t\t: constant_tsc nonstop_tsc hypervisor\n",
        ),
        ("proc/meminfo", "MemFree: 1 kB\nMemTotal:       16 kB\n"),
        ("proc/loadavg", "0.50 0.25 0.10 1/100 4242\n"),
        ("proc/self/status", "Name:\tx\nCpus_allowed_list:\t0-3\n"),
        ("proc/sys/kernel/hostname", "host\n"),
        ("proc/sys/kernel/osrelease", "6.1.0\n"),
        ("etc/os-release", "NAME=Debian\nVERSION_ID=\"12\"\nID=debian\n"),
        ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
        ("sys/fs/cgroup/cpu.max", "200000 100000\n"),
        ("sys/devices/system/cpu/online", "0-3\n"),
        ("sys/devices/system/cpu/intel_pstate/no_turbo", "0\n"),
        ("sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "3500000\n"),
        ("sys/devices/system/cpu/cpu0/cache/index0/level", "1\n"),
        ("sys/devices/system/cpu/cpu0/cache/index0/type", "Data\n"),
        ("sys/devices/system/cpu/cpu0/cache/index0/size", "32K\n"),
        ("sys/devices/system/cpu/cpu0/cache/index0/coherency_line_size", "64\n"),
    ] {
        folder.write(path, text);
    }
    for cpu in 0..4 {
        let topology = format!("{CPU}/cpu{cpu}/topology");
        let core = cpu % 2;
        folder.write(&format!("{topology}/physical_package_id"), "0\n");
        folder.write(&format!("{topology}/core_id"), &format!("{core}\n"));
        let siblings = format!("{core},{}\n", core + 2);
        folder.write(&format!("{topology}/thread_siblings_list"), &siblings);
    }
}

/// The wall clock of the run: the billionth second.
pub(crate) fn started_at() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_000_000_000)
}

pub(crate) fn topology() -> Topology {
    Topology::hypercube(2)
}

/// Writes the whole run into a file of `folder`.
pub(crate) fn record_run(folder: &Folder) -> PathBuf {
    let path = folder.path().join("run.jsonl");
    tell(&mut Recorder::append_to(&path, description()).unwrap());
    path
}

/// The points among `records`.
pub(crate) fn points(records: &[Record]) -> impl Iterator<Item = &Point> {
    records.iter().filter_map(|record| match record {
        Record::Point(point) => Some(&**point),
        _ => None,
    })
}

/// Tells `listener` the whole run.
pub(crate) fn tell(listener: &mut impl Listener) {
    let skipped = failure(Failure::Skipped, None, "needs 4 ranks, there are 2", 3);
    let wrong = "byte 3 of 8: expected 0x01, found 0x00";
    let check_failed = failure(Failure::CheckFailed, Some(1), wrong, 1);
    let end = RunEnd {
        n_ok: 4,
        n_check_failed: 1,
        n_skipped: 1,
        wall_ns: 2_500_000_000,
        ..RunEnd::default()
    };
    for event in [
        Event::RunStarted(&start()),
        Event::CaseFailed(&skipped),
        Event::CaseFinished(&echo(0)),
        Event::CaseFinished(&echo(65_536)),
        Event::CaseFailed(&check_failed),
        Event::CaseFinished(&barrier()),
        Event::CaseFinished(&overlap()),
        Event::RunFinished(&end),
    ] {
        listener.event(&event).unwrap();
    }
}

fn description() -> RunDescription {
    let placement = |rank| RankPlacement {
        rank,
        node: Some("host".into()),
        pid: 100,
        cpus: Some("0-1".into()),
        ..RankPlacement::default()
    };
    RunDescription {
        run_id: "00000000-0000-7000-8000-000000000001".into(),
        started_at: started_at(),
        date: started_at,
        suite: Suite {
            name: "comet".into(),
            version: "0.1.0".into(),
            git_rev: None,
            rustc: Some("rustc 1.88.0".into()),
            opt_flags: "-C opt-level=3".into(),
            target: "x86_64-linux".into(),
            profile: "release".into(),
        },
        argv: vec!["comet-run".into(), "all".into()],
        config: [("case_budget_ns".into(), 1000.into())].into(),
        seed: None,
        labels: [("machine".into(), "example".into())].into(),
        transport: Transport::new("shm", [("ring_bytes".into(), 65536.into())].into()),
        launcher: None,
        placements: vec![placement(0), placement(1)],
        topology: topology(),
        environment: Environment::default(),
    }
}

pub(crate) fn start() -> RunStart {
    RunStart {
        n_ranks: 2,
        clock: ClockInfo {
            name: "CLOCK_MONOTONIC",
            is_global: true,
            is_virtual: false,
            step_ns: None,
        },
        calibration: ClockCalibration { cost_ns: 18.25, step_ns: Some(1), pair_bias_ns: 20.0 },
        n_cases: 6,
    }
}

/// The smallest description of a kernel.
const fn info(
    name: &'static str,
    class: &'static str,
    axes: &'static [AxisUse],
    series: &'static [Series],
) -> KernelInfo {
    KernelInfo {
        suite: "comet",
        name,
        summary: "a kernel of the tests",
        source: "none",
        class,
        aliases: &["IMB:Example"],
        axes,
        series,
        timing: Timing::Batched,
        admits: |_, _| Ok(()),
        bytes_per_rank: |_| 0,
        requires: &[],
    }
}

const fn series(name: &'static str, quantity: Quantity, definition: Definition) -> Series {
    Series { name, quantity, definition, quote_minimum: false, bytes_per_op: |_| None }
}

static ECHO: KernelInfo = info(
    "echo",
    "p2p",
    &[
        AxisUse { axis: &HOPS, sweeps: ["1", "1", "1"] },
        AxisUse { axis: &LENGTH_BYTES, sweeps: ["8", "8", "8"] },
    ],
    &[Series {
        bytes_per_op: |case| Some(case.value(&LENGTH_BYTES)),
        ..series("echo", Quantity::OneWayTime, Definition::HalfRoundTrip)
    }],
);

static BARRIER: KernelInfo = info(
    "barrier",
    "sync",
    &[],
    &[Series {
        quote_minimum: true,
        ..series("barrier", Quantity::OpTime, Definition::Completion)
    }],
);

static DIRECTION: Axis =
    Axis { name: "direction", summary: "where the blocks go", labels: &["row", "column"] };

static OVERLAP: KernelInfo = info(
    "overlap",
    "matrix",
    &[
        AxisUse { axis: &DIRECTION, sweeps: ["1", "1", "1"] },
        AxisUse { axis: &LENGTH_BYTES, sweeps: ["8", "8", "8"] },
    ],
    &[
        series("synchronous", Quantity::OpTime, Definition::TestNode),
        series("overlapped", Quantity::OpTime, Definition::TestNode),
    ],
);

/// An echo over messages of `length_bytes`; its one-way times are 500 ns to 530 ns.
pub(crate) fn echo(length_bytes: u64) -> Measurement {
    let case = Case::new(&ECHO, &[1, length_bytes]);
    measurement(case, vec![vec![&[10_000, 10_200, 10_600]]], Vec::new())
}

pub(crate) fn barrier() -> Measurement {
    let ranks: Vec<&[u64]> = vec![&[4000, 4100, 4300], &[4050, 4100, 4200]];
    measurement(Case::new(&BARRIER, &[]), vec![ranks], Vec::new())
}

pub(crate) fn overlap() -> Measurement {
    let figures = vec![
        Figure {
            name: "overlap_share",
            formula: "1 - overlapped / synchronous",
            value: Some(0.25),
        },
        Figure { name: "unknown_share", formula: "0 / 0", value: Some(f64::NAN) },
    ];
    let (synchronous, overlapped): (&[u64], &[u64]) = (&[80_000], &[60_000]);
    measurement(Case::new(&OVERLAP, &[1, 8]), vec![vec![synchronous], vec![overlapped]], figures)
}

/// A measurement with ten operations per sample, from the elapsed times of series and rank.
fn measurement(case: Case, elapsed_ns: Vec<Vec<&[u64]>>, figures: Vec<Figure>) -> Measurement {
    let pace = Pace { repetitions: 10, n_samples: 3, settle: [2; comet_core::kernel::MAX_SERIES] };
    let results = case.info.series.iter().zip(&elapsed_ns);
    Measurement {
        case,
        pace,
        n_rounds: 1,
        series: results.map(|(series, ranks)| series_result(series, ranks, pace)).collect(),
        figures,
        since_start_ns: 1_500_000_000,
    }
}

fn series_result(series: &'static Series, elapsed_ns: &[&[u64]], pace: Pace) -> SeriesResult {
    let sample = |rank: usize, index: usize, elapsed_ns: u64| {
        let start_ns = 1_000_000 + 10_000 * index as u64 + 50 * rank as u64;
        Sample { start_ns, end_ns: start_ns + elapsed_ns }
    };
    let of_rank = |(rank, elapsed_ns): (usize, &&[u64])| RankSamples {
        rank,
        samples: elapsed_ns.iter().enumerate().map(|(i, ns)| sample(rank, i, *ns)).collect(),
    };
    let ranks: Vec<RankSamples> = elapsed_ns.iter().enumerate().map(of_rank).collect();
    let value_ns = |index: usize| {
        let samples: Vec<_> = ranks.iter().map(|of_rank| of_rank.samples[index]).collect();
        series.definition.value_ns(&samples, pace.repetitions, true)
    };
    let values_ns: Vec<f64> = (0..elapsed_ns[0].len()).map(value_ns).collect();
    let summary = Summary::of(&values_ns).unwrap();
    SeriesResult { series, n_warmup: 5, ranks, values_ns, summary }
}

/// A case of the echo over 8 bytes that has no numbers.
fn failure(failure: Failure, rank: Option<usize>, message: &str, hops: u64) -> CaseFailure {
    let case = Case::new(&ECHO, &[hops, 8]);
    CaseFailure { case, failure, rank, message: message.into(), since_start_ns: 1_000_000_000 }
}
