//! Folders for tests to write in, and result files.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use comet_report::record::{
    AxisFacts, End, EndStatus, KernelFacts, Numbers, Outcome, Param, Params, Point, PointCounts,
    Quote, RankStat, Record, Run, SCHEMA, SCHEMA_MINOR, Suite, Summary, Transport, World,
};

use crate::engine::{self, Server};
use crate::index::access::TokenRow;
use crate::token::Scope;

/// Variable with the address of a database of PostgreSQL (`host=HOST dbname=NAME`): with it the tests keep
/// their indexes there, each in a schema of its own.
const SERVER: &str = "COMET_TEST_POSTGRES";

/// A folder that is removed with its value.
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// An empty folder.
    pub(crate) fn new() -> Self {
        static N_FOLDERS: AtomicUsize = AtomicUsize::new(0);
        let number = N_FOLDERS.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("comet-db-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// A folder for a database on the engine that is tested.
    pub(crate) fn on_engine() -> Self {
        let folder = Self::new();
        if let Some(address) = folder.address() {
            folder.write(engine::POSTGRES, &address);
        }
        folder
    }

    /// The address of a schema of its own, which is made, if there is a server.
    pub(crate) fn address(&self) -> Option<String> {
        let (server, schema) = (std::env::var(SERVER).ok()?, self.schema());
        let place = Server { address: server.clone(), certificates: None };
        engine::postgres(&place).unwrap().batch(&format!("CREATE SCHEMA {schema}")).unwrap();
        Some(format!("{server} options='-c search_path={schema}'"))
    }

    /// Removes the index of the database in it.
    pub(crate) fn remove_index(&self) {
        if self.0.join(engine::POSTGRES).exists() {
            let schema = self.schema();
            let sql = format!("DROP SCHEMA {schema} CASCADE; CREATE SCHEMA {schema}");
            engine::open(&self.0).unwrap().batch(&sql).unwrap();
        }
        for file in ["index.sqlite", "index.sqlite-wal", "index.sqlite-shm"] {
            drop(fs::remove_file(self.0.join(file)));
        }
    }

    /// Name of its schema.
    fn schema(&self) -> String {
        self.0.file_name().unwrap().to_str().unwrap().replace('-', "_")
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Writes `text` into the file `name`, in folders made if need be.
    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if self.0.join(engine::POSTGRES).exists() {
            let sql = format!("DROP SCHEMA {} CASCADE", self.schema());
            engine::open(&self.0).unwrap().batch(&sql).unwrap();
        }
        fs::remove_dir_all(&self.0).unwrap();
    }
}

/// A run whose points are given.
pub(crate) struct Example {
    /// Distinguishes runs.
    pub(crate) number: u32,
    /// The label `machine`.
    pub(crate) machine: &'static str,
    /// Start, as a day.
    pub(crate) day: &'static str,
    /// Number of lengths, from 1 B by powers of two.
    pub(crate) n_points: usize,
}

impl Default for Example {
    fn default() -> Self {
        Self { number: 0, machine: "hawk", day: "2026-01-01", n_points: 3 }
    }
}

impl Example {
    /// Its records.
    pub(crate) fn records(&self) -> Vec<Record> {
        let run_id = format!("00000000-0000-7000-8000-{:012}", self.number);
        let axis = AxisFacts {
            name: "length_bytes".into(),
            title: "message length".into(),
            unit: "B".into(),
            kind: comet_core::kernel::AxisKind::Size,
            summary: "length".into(),
        };
        let facts = KernelFacts {
            id: "comet/echo".into(),
            class: "p2p".into(),
            axes: vec![axis],
            ..KernelFacts::default()
        };
        let run = Run {
            schema: SCHEMA.into(),
            schema_minor: SCHEMA_MINOR,
            run_id: run_id.clone(),
            started_at: format!("{}T00:00:00.000Z", self.day),
            suite: Suite { name: "comet".into(), version: "1".into(), ..Suite::default() },
            labels: [("machine".into(), self.machine.into())].into(),
            transport: Transport::stated("mpi", [("library", "Open MPI v5.0.8".into())]),
            world: World { size: 2, nodes: Some(2), ..World::default() },
            kernels: vec![facts],
            ..Run::default()
        };
        let points = (0..self.n_points).map(|index| self.point(&run_id, index));
        let counts = PointCounts { ok: self.n_points, ..PointCounts::default() };
        let end = End {
            run_id: Some(run_id.clone()),
            status: EndStatus::Complete,
            ended_at: run.started_at.clone(),
            points: counts,
            wall_s: None,
            virtual_s: None,
            reason: None,
            noise: None,
            verdict: None,
            glance: Vec::new(),
            odd: Vec::new(),
        };
        let start = [Record::Run(Box::new(run))].into_iter();
        start.chain(points).chain([Record::End(Box::new(end))]).collect()
    }

    fn point(&self, run_id: &str, index: usize) -> Record {
        let bytes = 1_u64 << index;
        let params = [("hops", 1), ("length_bytes", bytes), ("procs", 2)];
        let params = params.map(|(name, value)| (name.to_owned(), Param::Number(value)));
        #[expect(clippy::cast_precision_loss, reason = "lengths are short")]
        let time_ns = 100.0 + bytes as f64 / 3.0;
        let summary =
            Summary { n: 1, median: time_ns, min: time_ns, max: time_ns, ..Summary::default() };
        let value = comet_report::record::Value {
            quantity: "one_way_time".into(),
            definition: "D4 half_round_trip".into(),
            divisor: 2,
            rank_stat: RankStat::Root,
            bytes_per_op: Some(bytes),
            better: "lower".into(),
            quote: Quote::Median,
        };
        let numbers = Numbers {
            value,
            time_ns: summary,
            quoted_ns: Some(time_ns),
            rounding_ns: None,
            rate: None,
            rates: Vec::new(),
        };
        Record::Point(Box::new(Point {
            run_id: run_id.to_owned(),
            seq: index as u64,
            suite: "comet".into(),
            kernel: "echo".into(),
            variant: Some("echo".into()),
            class: "p2p".into(),
            params: Params(params.into()),
            key: format!("{index:016x}"),
            outcome: Outcome::Imported(Box::new(numbers)),
            ..Point::default()
        }))
    }

    /// Its file.
    pub(crate) fn file(&self) -> Vec<u8> {
        file(&self.records())
    }
}

/// The file of the run on the day `number` of January 2026 in which each of two points takes `time_ns`.
pub(crate) fn night(number: u32, time_ns: f64) -> Vec<u8> {
    let mut records = Example { number, n_points: 2, ..Example::default() }.records();
    for record in &mut records {
        match record {
            Record::Run(run) => {
                run.started_at = format!("2026-01-{:02}T00:00:00.000Z", number + 1);
            }
            Record::Point(point) => {
                let Outcome::Imported(numbers) = &mut point.outcome else { panic!("an import") };
                numbers.quoted_ns = Some(time_ns);
            }
            _ => (),
        }
    }
    file(&records)
}

/// The file with `records`.
pub(crate) fn file(records: &[Record]) -> Vec<u8> {
    let mut text = Vec::new();
    comet_report::format::find("jsonl").unwrap().write(records, &mut text).unwrap();
    text
}

/// A token without an end.
pub(crate) fn token(name: &str, scopes: &[Scope], machine: &str) -> TokenRow {
    TokenRow {
        name: name.into(),
        scopes: scopes.to_vec(),
        machine: machine.into(),
        ..TokenRow::default()
    }
}
