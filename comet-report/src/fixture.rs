//! A small run with every kind of event, and folders for tests to write in.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use comet_core::definition::{Definition, Quantity};
use comet_core::driver::Pace;
use comet_core::event::{
    CaseFailure, ClockCalibration, CoresMoved, Event, Failure, LineTimes, Listener, Measurement,
    Quote, RankSamples, RunEnd, RunStart, SeriesResult, WarmUpTimes,
};
use comet_core::kernel::{
    Axis, AxisUse, Case, Class, Derived, HOPS, KernelInfo, LENGTH_BYTES, Rate, RateKind, Series,
    World,
};
use comet_core::sample::Sample;
use comet_core::topology::Topology;
use comet_core::transport::ClockInfo;
use comet_stats::{Diagnosis, Summary};

use crate::environment::Environment;
use crate::format::{self, Format, JSONL};
use crate::points::PointMaker;
use crate::read::read_records;
use crate::record::{Point, RankEntry, Record, Suite, Transport};
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

/// Checks that the golden file `name` holds `text`; with `COMET_BLESS=1`, writes it there instead.
pub(crate) fn check_golden(name: impl AsRef<Path>, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden").join(name);
    if std::env::var_os("COMET_BLESS").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap();
    let name = path.file_name().unwrap().display();
    assert_eq!(committed, text, "{name} differs: look, then COMET_BLESS=1 cargo test");
}

/// Writes files of a machine of two cores with two threads each.
pub(crate) fn machine_files(folder: &Folder) {
    const CPU: &str = "sys/devices/system/cpu";
    folder.write("proc/self/exe", "program");
    // What is there once, each text below its path.
    for file in include_str!("machine-files.txt").split("== ").skip(1) {
        let (path, text) = file.split_once('\n').unwrap();
        folder.write(path, text);
    }
    for cpu in 0..4 {
        let throttles = format!("{CPU}/cpu{cpu}/thermal_throttle/core_throttle_count");
        folder.write(&throttles, if cpu == 0 { "5\n" } else { "0\n" });
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
    tell(&mut recorder(&path));
    path
}

/// A recorder of [`description`] into the new file `path`.
pub(crate) fn recorder(path: &Path) -> Recorder {
    recorder_of(path, description())
}

/// A recorder of `description` into the new file `path`.
pub(crate) fn recorder_of(path: &Path, description: RunDescription) -> Recorder {
    let file = std::fs::File::create_new(path).unwrap();
    Recorder::new(description, vec![JSONL.writer(Box::new(file))])
}

/// The records of the whole run.
pub(crate) fn records() -> Vec<Record> {
    read_records(&record_run(&Folder::new())).unwrap().records
}

/// Text of `records` in the format `name`.
pub(crate) fn render(name: &str, records: &[Record]) -> String {
    text_of(format::find(name).unwrap(), records)
}

/// Text of `records` in `format`.
pub(crate) fn text_of(format: &Format, records: &[Record]) -> String {
    let mut text = Vec::new();
    format.write(records, &mut text).unwrap();
    String::from_utf8(text).unwrap()
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
    let end = RunEnd { n_ok: 4, n_check_failed: 1, n_skipped: 1, ..RunEnd::default() };
    let end = RunEnd { wall_ns: 2_500_000_000, ..end };
    for event in [
        Event::RunStarted(&start()),
        Event::CaseFailed(&skipped),
        Event::CaseFinished(&echo(0)),
        Event::CaseFinished(&echo(65_536)),
        Event::CaseFailed(&check_failed),
        Event::CaseFinished(&barrier()),
        Event::CoresMoved(&cores_moved()),
        Event::CaseFinished(&overlap()),
        Event::RunFinished(&end),
    ] {
        listener.event(&event).unwrap();
    }
}

pub(crate) fn description() -> RunDescription {
    let placement = |rank| RankEntry {
        rank,
        node: Some("host".into()),
        pid: 100,
        cpus: Some("0-1".into()),
        ..RankEntry::default()
    };
    RunDescription {
        run_id: "00000000-0000-7000-8000-000000000001".into(),
        started_at: started_at(),
        date: started_at,
        noise: || None,
        suite: Suite {
            name: "comet".into(),
            version: "0.1.0".into(),
            rustc: Some("rustc 1.88.0".into()),
            opt_flags: "-C opt-level=3".into(),
            target: "x86_64-linux".into(),
            profile: "release".into(),
            ..Suite::default()
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
        launch: None,
        of_suite: None,
    }
}

const CALIBRATION: ClockCalibration = ClockCalibration {
    cost_ns: 18.25,
    median_cost_ns: 19.0,
    step_ns: Some(1),
    pair_bias_ns: 20.0,
    loop_ns: 0.25,
    gaps: None,
};

pub(crate) fn start() -> RunStart {
    RunStart {
        n_ranks: 2,
        clock: ClockInfo::of_machine("CLOCK_MONOTONIC"),
        calibration: CALIBRATION,
        calibrations: vec![CALIBRATION; 2],
        n_clock_domains: 1,
        clock_bound_ns: Some(0),
        clock_offsets: Vec::new(),
        line_ns: Some(112.0),
        n_cases: 6,
        kernels: vec![&ECHO, &BARRIER, &OVERLAP],
    }
}

/// The smallest description of a kernel.
const fn info(
    name: &'static str,
    class: Class,
    axes: &'static [AxisUse],
    series: &'static [Series],
) -> KernelInfo {
    KernelInfo {
        name,
        summary: "a kernel of the tests",
        class,
        aliases: &["IMB:Example"],
        axes,
        series,
        admits: |_, _| Ok(()),
        bytes_per_rank: |_, _| 0,
        ..KernelInfo::pair("comet")
    }
}

const fn series(name: &'static str, quantity: Quantity, definition: Definition) -> Series {
    Series::of(name, quantity, definition)
}

static ECHO: KernelInfo = info(
    "echo",
    Class::PointToPoint,
    &[AxisUse::of(&HOPS, "1"), AxisUse::of(&LENGTH_BYTES, "8")],
    &[Series {
        bytes_per_op: |case, _| Some(case.value(&LENGTH_BYTES)),
        ..series("echo", Quantity::OneWayTime, Definition::HalfRoundTrip)
    }],
);

static BARRIER: KernelInfo = info(
    "barrier",
    Class::Synchronisation,
    &[],
    &[Series { quote: Quote::Min, ..series("barrier", Quantity::OpTime, Definition::Completion) }],
);

static DIRECTION: Axis = Axis::choice("direction", "where the blocks go", &["row", "column"]);

static OVERLAP: KernelInfo = info(
    "overlap",
    Class::Matrix,
    &[AxisUse::of(&DIRECTION, "1"), AxisUse::of(&LENGTH_BYTES, "8")],
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
    let steady = measurement(Case::new(&BARRIER, &[]), vec![ranks], Vec::new());
    Measurement { line_times: Some(cores_moved().line_times), ..steady }
}

pub(crate) fn overlap() -> Measurement {
    let share = |name, formula, value| Derived { name, formula, value: Some(value) };
    let derived = vec![
        share("overlap_share", "1 - overlapped / synchronous", 0.25),
        share("unknown_share", "0 / 0", f64::NAN),
    ];
    let (synchronous, overlapped): (&[u64], &[u64]) = (&[80_000], &[60_000]);
    measurement(Case::new(&OVERLAP, &[1, 8]), vec![vec![synchronous], vec![overlapped]], derived)
}

static IALLREDUCE: KernelInfo = info(
    "iallreduce",
    Class::Collective,
    &[AxisUse::of(&LENGTH_BYTES, "8")],
    &[
        series("pure", Quantity::OpTime, Definition::Completion),
        series("overlapped", Quantity::OpTime, Definition::Completion),
    ],
);

/// An unblocked collective of `length_bytes`, of which this share hides behind work.
pub(crate) fn iallreduce(length_bytes: u64, share: f64) -> Measurement {
    let (name, formula) = ("overlap_share_osu", "1 - (t_ovrl - t_CPU) / t_pure");
    let derived = vec![Derived { name, formula, value: Some(share) }];
    let case = Case::new(&IALLREDUCE, &[length_bytes]);
    measurement(case, vec![vec![&[8000]], vec![&[9000]]], derived)
}

/// The points of collectives `name` over parts of 0, 1000 and 2000 bytes on so many ranks, of 1000 ns
/// each; the bus bandwidth counts all parts but one.
pub(crate) fn collectives(name: &'static str, n_ranks: usize) -> Vec<Point> {
    const RATES: [Rate; 2] = [
        Rate {
            kind: RateKind::Algorithm,
            formula: "P x length_bytes / time",
            per_op: |case, world| world.n_ranks as f64 * case.value(&LENGTH_BYTES) as f64,
        },
        Rate {
            kind: RateKind::Bus,
            formula: "(P-1)/P x P x length_bytes / time",
            per_op: |case, world| (world.n_ranks as f64 - 1.0) * case.value(&LENGTH_BYTES) as f64,
        },
    ];
    const SERIES: [Series; 1] =
        [series("call", Quantity::OpTime, Definition::Completion).rated(&RATES)];
    const AXES: [AxisUse; 1] = [AxisUse::of(&LENGTH_BYTES, "8")];
    static GATHER: KernelInfo = info("allgather", Class::Collective, &AXES, &SERIES);
    static ALLTOALL: KernelInfo = info("alltoall", Class::Collective, &AXES, &SERIES);
    rated(if name == GATHER.name { &GATHER } else { &ALLTOALL }, &[0, 1000, 2000], n_ranks)
}

/// The points of windows of 64 messages of 0 and 4096 bytes both ways between two halves of so many
/// ranks, of 1000 ns each.
pub(crate) fn halves(n_ranks: usize) -> Vec<Point> {
    const RATES: [Rate; 2] = [
        Rate {
            kind: RateKind::Messages,
            formula: "2 x 64 x floor(P/2) / time",
            per_op: |_, world| 64.0 * world.n_ranks as f64,
        },
        Rate {
            kind: RateKind::Bisection,
            formula: "2 x 64 x floor(P/2) x length_bytes / time",
            per_op: |case, world| 64.0 * (world.n_ranks as u64 * case.value(&LENGTH_BYTES)) as f64,
        },
    ];
    const SERIES: [Series; 1] =
        [series("window", Quantity::OpTime, Definition::Completion).rated(&RATES)];
    const AXES: [AxisUse; 1] = [AxisUse::of(&LENGTH_BYTES, "8")];
    static HALVES: KernelInfo = info("halves", Class::Collective, &AXES, &SERIES);
    rated(&HALVES, &[0, 4096], n_ranks)
}

/// The points of `info`, which has one series with rates, over these lengths on so many ranks, of 1000
/// ns each.
fn rated(info: &'static KernelInfo, lengths_bytes: &[u64], n_ranks: usize) -> Vec<Point> {
    let topology = Topology::hypercube(n_ranks);
    let mut points = PointMaker::new("id", &topology);
    let of_length = |length_bytes: &u64| {
        let case = Case::new(info, &[*length_bytes]);
        let mut found = measurement(case, vec![vec![&[10_000][..]; 1]], Vec::new());
        let amounts = info.series[0].amounts_per_op(&case, &World::of(&topology));
        found.series[0].amounts_per_op = amounts;
        points.measured(&found)
    };
    lengths_bytes.iter().flat_map(of_length).collect()
}

/// Event of the driver about cores that moved around [`barrier`].
fn cores_moved() -> CoresMoved {
    let line_times = LineTimes { readings_ns: vec![112.0, 24.0] };
    CoresMoved { info: &BARRIER, line_times, since_start_ns: 1_600_000_000 }
}

/// A measurement with ten operations per sample, from the elapsed times of series and rank.
fn measurement(case: Case, elapsed_ns: Vec<Vec<&[u64]>>, derived: Vec<Derived>) -> Measurement {
    let pace = Pace::new(10, 3, 2);
    let topology = topology();
    let world = World::of(&topology);
    let result = |(series, ranks): (&'static Series, &Vec<&[u64]>)| SeriesResult {
        bytes_per_op: (series.bytes_per_op)(&case, &world),
        amounts_per_op: series.amounts_per_op(&case, &world),
        ..series_result(series, ranks, pace)
    };
    let series = case.info.series.iter().zip(&elapsed_ns).map(result).collect();
    Measurement {
        case,
        is_refined: false,
        pace,
        n_slices: 1,
        converged: None,
        is_steady: true,
        usage: None,
        n_disturbed: 0,
        line_times: Some(LineTimes { readings_ns: vec![112.0, 110.5] }),
        series,
        derived,
        since_start_ns: 1_500_000_000,
    }
}

fn series_result(series: &'static Series, elapsed_ns: &[&[u64]], pace: Pace) -> SeriesResult {
    let sample = |rank: usize, index: usize, elapsed_ns: u64| {
        let start_ns = 1_000_000 + 10_000 * index as u64 + 50 * rank as u64;
        Sample { start_ns, end_ns: start_ns + elapsed_ns, ..Sample::default() }
    };
    let of_rank = |(rank, elapsed_ns): (usize, &&[u64])| RankSamples {
        rank,
        samples: elapsed_ns.iter().enumerate().map(|(i, ns)| sample(rank, i, *ns)).collect(),
    };
    let ranks: Vec<RankSamples> = elapsed_ns.iter().enumerate().map(of_rank).collect();
    let batch = |index: usize| ranks.iter().map(|of_rank| of_rank.samples[index]).collect();
    let n_values = u64::from(pace.repetitions * series.quantity.divisor());
    let of_batch = |batch: Vec<Sample>| series.definition.value_ns(&batch, n_values);
    let value_ns = |index: usize| of_batch(batch(index));
    let values_ns: Vec<f64> = (0..elapsed_ns[0].len()).map(value_ns).collect();
    let summary = Summary::of(&values_ns).unwrap();
    let quote = series.quote;
    let is_min = quote == Quote::Min;
    SeriesResult {
        series,
        definition: series.definition,
        bytes_per_op: None,
        amounts_per_op: Vec::new(),
        n_warmup: 5,
        warm_up: WarmUpTimes {
            block_medians_ns: vec![summary.median, summary.min],
            operation_ns: Some(summary.median),
        },
        ranks,
        slice_lengths: vec![values_ns.len()],
        invalid: Vec::new(),
        slice_medians_ns: vec![summary.median],
        interval: None,
        p90_interval: None,
        p99_interval: None,
        diagnosis: Diagnosis::of(&[&values_ns]),
        quote,
        quoted_ns: Some(if is_min { summary.min } else { summary.median }),
        values_ns,
        summary,
    }
}

/// A case of the echo over 8 bytes that has no numbers.
fn failure(failure: Failure, rank: Option<usize>, message: &str, hops: u64) -> CaseFailure {
    let case = Case::new(&ECHO, &[hops, 8]);
    CaseFailure { case, failure, rank, message: message.into(), since_start_ns: 1_000_000_000 }
}
