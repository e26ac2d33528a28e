//! The listener that makes the records of a run.

use std::error::Error;
use std::time::Duration;
use std::{fmt, io};

use comet_core::event::{ClockCalibration, Event, Listener, RunEnd, RunStart, Stop};

use crate::description::run;
use crate::environment::{Warning, between_hosts, given_up, moved, stolen, warnings};
use crate::glance::glance;
use crate::health;
use crate::models::models;
use crate::odd::odd;
use crate::points::{PointMaker, seconds};
use crate::record::{self, End, EndStatus, Noise, Point, Record, Run, timestamp};
use crate::sink::RecordSink;
use crate::verdict::Tally;

pub use crate::description::{Launch, RunDescription, argv, new_run_id};

/// Listener that makes the records of one run and passes them to its sinks.
pub struct Recorder {
    sinks: Vec<Box<dyn RecordSink>>,
    /// Receiver of all records of a launch, also of those that are of no use to others.
    carry: Option<Box<dyn RecordSink>>,
    description: RunDescription,
    maker: PointMaker,
    /// The run, once it has started.
    run: Option<Box<Run>>,
    /// Points so far, where a sink prints models: those of the suite `health` with their samples.
    points: Option<Vec<Point>>,
    tally: Tally,
    is_virtual: bool,
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").field("tally", &self.tally).finish_non_exhaustive()
    }
}

impl Recorder {
    /// A recorder of the run `description` for `sinks`, which take each record in their order.
    pub fn new(description: RunDescription, sinks: Vec<Box<dyn RecordSink>>) -> Self {
        let maker = PointMaker::new(&description.run_id, &description.topology);
        let mut maker = maker.over(&description.transport);
        maker.buffers = record::buffers(&description.config);
        maker.graph = record::graph(&description.config);
        maker.layouts = record::layouts(&description.config);
        maker.has_samples = sinks.iter().any(|sink| sink.has_samples());
        let has_models = sinks.iter().any(|sink| sink.has_models());
        Self {
            sinks,
            carry: None,
            description,
            maker,
            run: None,
            points: has_models.then(Vec::new),
            tally: Tally::default(),
            is_virtual: false,
        }
    }

    /// The same for one of several launches: `carry` gets all of its records, and the sinks those
    /// that the end of the run does not repeat.
    #[must_use]
    pub fn carrying(mut self, carry: Box<dyn RecordSink>) -> Self {
        self.maker.has_samples = true;
        Self { carry: Some(carry), points: None, ..self }
    }

    fn write(&mut self, record: &Record) -> io::Result<()> {
        let is_last = self.carry.is_some() && matches!(record, Record::End(_));
        self.sinks.iter_mut().filter(|_| !is_last).try_for_each(|sink| sink.record(record))?;
        self.carry.iter_mut().try_for_each(|carry| carry.record(record))
    }

    fn outputs(&mut self) -> impl Iterator<Item = &mut Box<dyn RecordSink>> {
        self.sinks.iter_mut().chain(&mut self.carry)
    }

    /// Time from the start of the run to that of this launch, in seconds.
    fn since_start_s(&self) -> f64 {
        self.description.launch.map_or(0.0, |launch| launch.since_start.as_secs_f64())
    }

    fn write_start(&mut self, start: &RunStart) -> io::Result<()> {
        self.maker.start(start);
        if self.description.launch.is_some_and(|launch| launch.number > 1) {
            self.is_virtual = start.clock.is_virtual;
            return Ok(());
        }
        self.is_virtual = start.clock.is_virtual;
        // The environment may be that of the process that made this one.
        let environment = &mut self.description.environment;
        let busy_cpus = environment.busy_cpus;
        environment.noise = (self.description.noise)().map(|noise| Noise { busy_cpus, ..noise });
        let run = run(&self.description, start);
        self.tally = Tally::of(Some(&run));
        let run = Box::new(run);
        self.run = self.points.as_ref().map(|_| run.clone());
        self.write(&Record::Run(run))?;
        if self.is_virtual {
            // Nothing that is wrong with this machine spoils times of another.
            return Ok(());
        }
        for warning in warnings(&self.description.environment, &self.description.placements) {
            self.warn(&warning, 0.0)?;
        }
        for message in ClockCalibration::warnings(&start.calibrations) {
            self.warn(&Warning { code: "clock", message, hint: "" }, 0.0)?;
        }
        match between_hosts(&self.description.environment, &self.description.placements) {
            None => Ok(()),
            Some(message) => {
                let link = Warning { code: "link_rate", message, hint: "" };
                self.note(&link, record::Level::Info, 0.0)
            }
        }
    }

    fn warn(&mut self, warning: &Warning, t_rel_s: f64) -> io::Result<()> {
        self.note(warning, record::Level::Warning, t_rel_s)
    }

    fn note(&mut self, warning: &Warning, level: record::Level, t_rel_s: f64) -> io::Result<()> {
        let t_rel_s = self.since_start_s() + t_rel_s;
        let run_id = Some(self.description.run_id.clone());
        let event = record::Event { level, ..warning.event(run_id, Some(t_rel_s)) };
        self.write(&Record::Event(event))
    }

    fn write_point(&mut self, mut point: Point) -> io::Result<()> {
        point.t_rel_s += self.since_start_s();
        point.launch = self.description.launch.map(|launch| launch.number);
        self.tally.add(&point);
        if let Some(points) = &mut self.points {
            let is_kept = health::needs_samples(&point);
            points.push(if is_kept { point.clone() } else { point.without_samples() });
        }
        let is_of_launch = point.launch.is_some();
        let point = Box::new(point);
        self.write(&if is_of_launch { Record::Launch(point) } else { Record::Point(point) })
    }

    /// Writes the models of all points, which are made once nothing is measured any more.
    fn write_models(&mut self, points: &[Point]) -> io::Result<()> {
        let models = models(&points.iter().collect::<Vec<_>>(), &[]).into_iter();
        models.map(|model| Record::Model(Box::new(model))).try_for_each(|model| self.write(&model))
    }

    fn write_end(&mut self, end: &RunEnd) -> io::Result<()> {
        let (run, points) = (self.run.take(), self.points.take().unwrap_or_default());
        let (glance, odd) = (glance(run.as_deref(), &points), odd(run.as_deref(), &points));
        self.write_models(&points)?;
        let RunDescription { started_at, date, noise, .. } = self.description;
        let real = || date().duration_since(started_at).unwrap_or_default();
        let since_start = self.description.launch.map(|launch| launch.since_start);
        let own = Duration::from_nanos(end.wall_ns);
        let wall = if self.is_virtual { real() } else { since_start.unwrap_or_default() + own };
        let after = noise();
        let before = self.description.environment.noise.as_ref();
        let warning = before.zip(after.as_ref()).and_then(|(before, after)| stolen(before, after));
        // The end of a run with several launches tells of all of them.
        let warning = warning.filter(|_| !self.is_virtual).into_iter();
        let told = warning.chain(self.tally.warnings()).filter(|_| since_start.is_none());
        for warning in told.collect::<Vec<_>>() {
            self.warn(&warning, wall.as_secs_f64())?;
        }
        let reason = end.stop.as_ref().map(|stop| match stop {
            Stop::Interrupted(words) => words.clone(),
            Stop::BudgetSpent => "time_limit".into(),
        });
        // Single points that failed do not make a run partial.
        let status = if reason.is_some() { EndStatus::Partial } else { EndStatus::Complete };
        self.write(&Record::End(Box::new(End {
            run_id: Some(self.description.run_id.clone()),
            status,
            ended_at: timestamp(started_at + wall),
            points: self.tally.counts,
            wall_s: Some(wall.as_secs_f64()),
            virtual_s: self.is_virtual.then_some(own.as_secs_f64()),
            verdict: self.tally.verdict(status, reason.as_deref()),
            glance,
            odd,
            reason,
            noise: after,
        })))
    }
}

impl Listener for Recorder {
    fn event(&mut self, event: &Event<'_>) -> Result<(), Box<dyn Error + Send + Sync>> {
        match event {
            Event::RunStarted(start) => self.write_start(start)?,
            Event::CaseStarted(_) | Event::PassStarted(_) => return Ok(()),
            Event::CaseFinished(measurement) => {
                for point in self.maker.measured(measurement) {
                    self.write_point(point)?;
                }
            }
            Event::CaseFailed(failure) => {
                let point = self.maker.failed(failure);
                self.write_point(point)?;
            }
            Event::WindowGivenUp(of_kernel) => {
                self.warn(&given_up(of_kernel), seconds(of_kernel.since_start_ns))?;
            }
            Event::CoresMoved(cores) => {
                self.warn(&moved(cores), seconds(cores.since_start_ns))?;
            }
            Event::RunFinished(end) => {
                self.write_end(end)?;
                return Ok(self.outputs().try_for_each(|sink| sink.finish())?);
            }
        }
        Ok(self.outputs().try_for_each(|sink| sink.flush())?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{self, Folder};
    use crate::read::{read_records, validate};
    use crate::record::{Level, PointCounts, PointStatus};
    use std::collections::BTreeSet;
    use std::time::UNIX_EPOCH;

    #[test]
    fn a_recorded_run_is_valid_and_complete() {
        let folder = Folder::new();
        let path = fixture::record_run(&folder);
        let validation = validate(&path).unwrap();
        assert_eq!(validation.problems, []);
        assert_eq!(validation.runs.len(), 1);
        assert_eq!(validation.runs[0].ending(), "complete");
        let expected = PointCounts { ok: 5, skipped: 1, check_failed: 1, failed: 0 };
        assert_eq!(validation.runs[0].points, expected);
    }

    #[test]
    fn points_hold_raw_samples_figures_reasons_and_keys() {
        let records = fixture::records();
        let barrier = fixture::points(&records).find(|point| point.kernel == "barrier").unwrap();
        let barrier = barrier.measured().unwrap();
        let samples = barrier.samples.as_ref().unwrap();
        assert_eq!((samples.shape, &samples.ranks[..]), ([2, 3], &[0, 1][..]));
        assert_eq!(samples.data, [4000, 4100, 4300, 4050, 4100, 4200]);
        assert_eq!(barrier.starts_ns.as_ref().unwrap(), &[0, 10_000, 20_000, 50, 10_050, 20_050]);
        let ranks = barrier.ranks_ns.as_ref().unwrap();
        assert_eq!((ranks.argmax, &ranks.per_rank[..]), (0, &[410.0, 410.0][..]));
        // Only the last series of a case carries the figures.
        let n_figures = |kernel: &str| -> Vec<usize> {
            let of_kernel = fixture::points(&records).filter(|point| point.kernel == kernel);
            of_kernel.map(|point| point.figures.len()).collect()
        };
        assert_eq!(n_figures("overlap"), [0, 2]);
        assert_eq!(n_figures("echo"), [0, 0, 0, 0]);
        // A case without numbers is a point without times.
        let is_wrong = |point: &&Point| point.status() == PointStatus::CheckFailed;
        let failed = fixture::points(&records).find(is_wrong).unwrap();
        assert_eq!((failed.numbers(), &failed.variant), (None, &None));
        let message = "rank 1: byte 3 of 8: expected 0x01, found 0x00";
        assert_eq!(failed.failure().unwrap().message, message);
        // Keys distinguish the points.
        let keys: BTreeSet<_> = fixture::points(&records).map(|point| &point.key[..]).collect();
        assert!(keys.iter().all(|key| key.len() == 16));
        assert_eq!(keys.len(), fixture::points(&records).count());
    }

    #[test]
    fn the_machine_and_its_warnings_stand_before_the_first_point() {
        let records = fixture::records();
        let Record::Run(run) = &records[0] else { panic!("the first record is the run") };
        assert_eq!((run.world.size, run.world.nodes, &run.world.ppn[..]), (2, Some(1), &[2][..]));
        assert_eq!((run.world.mesh.order.as_str(), run.world.hops.diameter), ("gray", 1));
        assert_eq!(run.transport.facts["shm"]["ring_bytes"], 65536);
        assert_eq!(run.started_at, "2001-09-09T01:46:40.000Z");
        assert!(matches!(&records[1], Record::Event(event) if event.code == "unbound"));
    }

    #[test]
    fn models_stand_behind_the_last_point() {
        let folder = Folder::new();
        let path = folder.path().join("sweep.jsonl");
        let mut recorder = fixture::recorder(&path);
        let sweep = [0, 8, 16, 32, 64].map(fixture::echo);
        let barrier = fixture::barrier();
        recorder.event(&Event::RunStarted(&fixture::start())).unwrap();
        for measurement in sweep.iter().chain([&barrier]) {
            recorder.event(&Event::CaseFinished(measurement)).unwrap();
        }
        let end = RunEnd { n_ok: 6, ..RunEnd::default() };
        recorder.event(&Event::RunFinished(&end)).unwrap();
        assert_eq!(validate(&path).unwrap().problems, []);
        let records = read_records(&path).unwrap().records;
        let kind = |record: &Record| serde_json::json!(record)["type"].clone();
        let mut kinds: Vec<_> = records.iter().map(kind).collect();
        kinds.dedup();
        assert_eq!(kinds, ["run", "event", "point", "model", "end"]);
    }

    #[test]
    fn points_carry_the_times_of_a_line_and_cores_that_moved_are_warned_of() {
        let records = fixture::records();
        let check = |kernel: &str, expected_ns: [f64; 2], expected_moved| {
            let point = fixture::points(&records).filter(|point| point.kernel == kernel).last();
            let quality = point.unwrap().quality().unwrap();
            assert_eq!(quality.line_ns.as_deref(), Some(&expected_ns[..]), "{kernel}");
            assert_eq!(quality.cores_moved, Some(expected_moved), "{kernel}");
        };
        check("barrier", [112.0, 24.0], true);
        check("overlap", [112.0, 110.5], false);
        let Record::Run(run) = &records[0] else { panic!("the first record is the run") };
        assert_eq!(run.line_ns, Some(112.0));
        let is_of_barrier = |r: &Record| matches!(r, Record::Point(p) if p.kernel == "barrier");
        let last = records.iter().rposition(is_of_barrier).unwrap();
        let Record::Event(event) = &records[last + 1] else { panic!("the warning comes next") };
        let message = "cores moved: a cache line took 112 ns before comet/barrier and 24 ns after";
        assert_eq!((event.code.as_str(), event.message.as_str()), ("cores_moved", message));
        assert_eq!((event.level, event.t_rel_s), (Level::Warning, Some(1.6)));
    }

    #[test]
    fn run_ids_sort_by_time() {
        let early = new_run_id(UNIX_EPOCH + Duration::from_secs(1_000));
        let late = new_run_id(UNIX_EPOCH + Duration::from_secs(2_000));
        assert!(early < late && early.len() == 36, "{early} {late}");
    }
}
