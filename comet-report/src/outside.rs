//! Launches that were jobs of their own, as those of one run: the records of each in the form in which
//! a run writes those of its launches.
//!
//! ```text
//!   job 1   run, event, point, …, end  ┐    run, event, launch, …,
//!   job 2   run, event, point, …, end  ├─►  launch, …,              ─► points, models, end
//!   job 3   run, event, point, …, end  ┘    launch, …
//! ```

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::fingerprint::sha256_hex;
use crate::record::{EndStatus, Event, Point, Record, Run};
use crate::recorder::Launch;
use crate::runs::RunRecords;
use crate::words::count;

/// Codes of the events that the end of all launches makes anew.
const OF_END: [&str; 4] = ["steal", "preempted", "page_faults", "major_faults"];

/// Maker of the records of one run from those of jobs.
#[derive(Debug)]
pub struct Outside {
    argv: Vec<String>,
    config: BTreeMap<String, Value>,
    /// The run of the first job, which is that of all.
    first: Option<Box<Run>>,
    /// Status and reason of the first job that ended early.
    partial: Option<(EndStatus, Option<String>)>,
}

/// Results that are no launch of a run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Unfit {
    /// They are of another number of runs than one.
    #[error("it measured {0} runs, expected 1 (give the command one number of ranks)")]
    Runs(usize),
    /// They have no `run` record.
    #[error("its results have no run record (let comet-run measure, not import)")]
    Nameless,
    /// They are of several launches already.
    #[error("it made several launches itself, expected 1 (leave --launches out of the command)")]
    Launches,
    /// They are those of an earlier launch.
    #[error("it left the results of the first launch once more (let each launch measure)")]
    Twin,
    /// They are of a simulation that repeats the first.
    #[error(
        "it repeated the seed {0} of the first launch, expected its own (leave --seed out of the \
         command)"
    )]
    Seed(u64),
    /// They are of other ranks than those of the first launch.
    #[error("it ran on {own}, the first launch on {first} (start the same ranks each time)")]
    World {
        /// The ranks of the launch.
        own: String,
        /// Ranks of the first.
        first: String,
    },
}

impl Outside {
    /// A run of launches that the command line `argv` starts, with these settings beside those of the
    /// first.
    pub fn new(argv: Vec<String>, config: BTreeMap<String, Value>) -> Self {
        Self { argv, config, first: None, partial: None }
    }

    /// The records of `launch`, whose job has left `runs`. Only its `end` does not belong into the
    /// file of all.
    ///
    /// # Errors
    /// If they are no launch of this run.
    pub fn records(
        &mut self,
        mut runs: Vec<RunRecords>,
        launch: Launch,
    ) -> Result<Vec<Record>, Unfit> {
        let n_runs = runs.len();
        let Some(mut job) = runs.pop().filter(|_| n_runs == 1) else {
            return Err(Unfit::Runs(n_runs));
        };
        let run = job.run.take().ok_or(Unfit::Nameless)?;
        if !job.launches.is_empty() {
            return Err(Unfit::Launches);
        }
        let is_first = self.first.is_none();
        let first = match &self.first {
            Some(first) => agrees(first, &run).map(|()| first)?,
            None => self.first.insert(self.run_of_all(*run)),
        };
        let since_start_s = launch.since_start.as_secs_f64();
        let place = Place { run_id: &first.run_id, before: launch.number - 1, since_start_s };
        let facts = is_first.then(|| Record::Run(first.clone()));
        let mut records: Vec<Record> = facts.into_iter().collect();
        records.extend(place.events(&job.events, is_first));
        records.extend(place.points(&job));
        records.extend(job.end.map(|mut end| {
            end.run_id = Some(first.run_id.clone());
            end.wall_s = end.wall_s.map(|wall_s| since_start_s + wall_s);
            if end.status != EndStatus::Complete {
                self.partial.get_or_insert((end.status, end.reason.clone()));
            }
            if let Some(partial) = &self.partial {
                (end.status, end.reason) = partial.clone();
            }
            Record::End(Box::new(end))
        }));
        Ok(records)
    }

    fn run_of_all(&self, mut first: Run) -> Box<Run> {
        first.argv.clone_from(&self.argv);
        first.config.extend(self.config.clone());
        first.config_sha256 = sha256_hex(&json!(first.config));
        Box::new(first)
    }
}

/// Place of a job among the launches of a run.
pub(crate) struct Place<'a> {
    /// Id of the run.
    pub(crate) run_id: &'a str,
    /// Number of the launches before it.
    pub(crate) before: u32,
    /// Seconds from the start of the first job to its own.
    pub(crate) since_start_s: f64,
}

impl Place<'_> {
    /// Events of the job that the end of all launches does not make anew; those about the machine, at
    /// the start, are kept of the first job alone.
    pub(crate) fn events(&self, of_job: &[Event], is_first: bool) -> Vec<Record> {
        let is_kept = |event: &&Event| {
            let is_own = is_first || event.t_rel_s.is_none_or(|t_rel_s| t_rel_s > 0.0);
            is_own && !OF_END.contains(&&*event.code)
        };
        let event = |event: &Event| {
            let t_rel_s = event.t_rel_s.map(|t_rel_s| self.since_start_s + t_rel_s);
            Record::Event(Event { run_id: Some(self.run_id.into()), t_rel_s, ..event.clone() })
        };
        of_job.iter().filter(is_kept).map(event).collect()
    }

    /// The points of each launch of the job, or its points as those of one launch.
    pub(crate) fn points(&self, job: &RunRecords) -> Vec<Record> {
        let own = if job.launches.is_empty() { &job.points } else { &job.launches };
        let point = |point: &Point| {
            let launch = Some(self.before + point.launch.unwrap_or(1));
            let (run_id, t_rel_s) = (self.run_id.to_owned(), self.since_start_s + point.t_rel_s);
            Record::Launch(Box::new(Point { run_id, launch, t_rel_s, ..point.clone() }))
        };
        own.iter().map(point).collect()
    }
}

/// Succeeds if `run` is another launch of what `first` measured.
///
/// # Errors
/// If it is the same run, of other ranks, or a simulation that repeats the first.
pub(crate) fn agrees(first: &Run, run: &Run) -> Result<(), Unfit> {
    if run.run_id == first.run_id {
        return Err(Unfit::Twin);
    }
    if world(run) != world(first) {
        return Err(Unfit::World { own: world(run), first: world(first) });
    }
    match run.seed.filter(|_| run.seed == first.seed) {
        Some(seed) => Err(Unfit::Seed(seed)),
        None => Ok(()),
    }
}

/// The ranks of `run` in words.
fn world(run: &Run) -> String {
    let hosts = run.world.nodes.map(|n| format!(" on {}", count(n, "host")));
    let ranks = count(run.world.size, "rank");
    format!("{ranks} over {}{}", run.transport.name(), hosts.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::launches::{Concluded, carry};
    use crate::runs::split;
    use std::time::Duration;

    /// The results of the job `number`, changed by `change`.
    fn job(number: u32, change: impl FnOnce(&mut RunRecords)) -> Vec<RunRecords> {
        let mut job = split(fixture::records()).remove(0);
        job.points.retain(|point| point.measured().is_some());
        let run = job.run.as_mut().unwrap();
        (run.run_id, run.seed) = (format!("id-{number}"), None);
        change(&mut job);
        vec![job]
    }

    fn launch(number: u32) -> Launch {
        Launch { number, since_start: Duration::from_secs(100 * u64::from(number - 1)) }
    }

    fn outside() -> Outside {
        let argv = vec!["comet-run".into(), "launches".into()];
        Outside::new(argv, [("launches".to_owned(), json!(3))].into())
    }

    #[test]
    fn jobs_make_the_records_of_one_run() {
        let (mut outside, mut text) = (outside(), Vec::new());
        let mut carry = carry(Box::new(&mut text), false);
        let mut n_points = 0;
        for number in 1..=3 {
            let records = outside.records(job(number, |_| ()), launch(number)).unwrap();
            let is_run = |record: &&Record| matches!(record, Record::Run(_));
            assert_eq!(records.iter().filter(is_run).count(), usize::from(number == 1));
            let is_point = |record: &&Record| matches!(record, Record::Launch(_));
            n_points = records.iter().filter(is_point).count();
            records.iter().for_each(|record| carry.record(record).unwrap());
        }
        drop(carry);
        let concluded = Concluded::of(&text, None, None).unwrap();
        let Some(Record::Run(run)) = concluded.head.first() else { panic!("{:?}", concluded.head) };
        assert_eq!((&*run.run_id, &run.config["launches"]), ("id-1", &json!(3)));
        assert_eq!(run.argv, ["comet-run", "launches"]);
        assert_eq!(concluded.points().count(), n_points);
        for point in concluded.points() {
            assert_eq!((&*point.run_id, point.launch), ("id-1", None));
            let launches = point.launches.as_ref().unwrap();
            assert_eq!((launches.quoted_ns.len(), launches.period_s), (3, 200.0));
        }
        let Some(Record::End(end)) = concluded.tail.last() else { panic!("{:?}", concluded.tail) };
        let own_s = split(fixture::records())[0].end.as_ref().and_then(|end| end.wall_s).unwrap();
        assert_eq!((end.points.ok, end.wall_s), (n_points, Some(200.0 + own_s)));
    }

    #[test]
    fn what_is_no_launch_of_the_run_is_refused() {
        let check = |change: fn(&mut RunRecords), expected: &str| {
            let mut outside = outside();
            outside
                .records(job(1, |of| of.run.as_mut().unwrap().seed = Some(7)), launch(1))
                .unwrap();
            let error = outside.records(job(2, change), launch(2)).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        };
        check(|of| of.run = None, "its results have no run record");
        check(|of| of.launches = of.points.clone(), "it made several launches itself");
        check(|of| of.run.as_mut().unwrap().run_id = "id-1".into(), "it left the results of");
        check(|of| of.run.as_mut().unwrap().seed = Some(7), "it repeated the seed 7");
        check(|of| of.run.as_mut().unwrap().world.size = 3, "it ran on 3 ranks over ");
        check(|of| of.run.as_mut().unwrap().world.nodes = Some(9), "it ran on ");
        check(|of| of.run.as_mut().unwrap().transport.backend = None, "it ran on ");
        let none = outside().records(Vec::new(), launch(1)).unwrap_err().to_string();
        assert!(none.starts_with("it measured 0 runs, expected 1"), "{none}");
    }
}
