//! The wire types of `comet.record/1`: what one line of a result file may be.
//!
//! A file holds one `run`, then points, models and events in the order in which they happened, and
//! last an `end`; one that was killed has no `end` and is valid all the same. Files concatenate.
//! Where ranks were started several times, `launch` lines precede the points: what each launch
//! measured, with its samples. Between the runs of a suite stand `unit` lines, its journal.
//! Times, lengths and rates carry their unit in their name, or in that of the object around them.
//! What was not measured is `null`. Readers ignore fields that they do not know.

mod kernel;
mod launches;
mod machine;
mod model;
mod outcome;
mod params;
mod point;
mod run;
mod unit;

pub(crate) use kernel::Over;
pub use kernel::{AxisFacts, KernelFacts, SeriesFacts};
pub use launches::*;
pub use machine::*;
pub use model::*;
pub use outcome::{Failure, Measured, Numbers, Outcome};
pub(crate) use params::{BUFFERS, CONTIGUOUS, GRAPH, LAYOUT, buffers, graph, layouts};
pub use params::{MESH, Param, Params, RANKS};
pub use point::*;
pub use run::*;
pub use unit::*;

use std::fmt;

use serde::{Deserialize, Serialize};

/// Name and major version of the format; a changed meaning raises the number.
pub const SCHEMA: &str = "comet.record/1";
/// JSON Schema 2020-12 of one line of a result file; `COMET_BLESS=1` and the tests rewrite it.
pub const JSON_SCHEMA: &str = include_str!("../../schema/comet.record-1.schema.json");
/// Minor version of the format; each new optional field raises it.
pub const SCHEMA_MINOR: u32 = 13;

/// Text of a point: one that the program itself has is not copied.
pub(crate) type Text = std::borrow::Cow<'static, str>;

/// One line of a result file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Record {
    /// Facts needed to understand and to repeat the run.
    Run(Box<Run>),
    /// One series of one case in one of several launches; its point follows with all of them.
    /// Since minor version 8.
    Launch(Box<Point>),
    /// One series of one case.
    Point(Box<Point>),
    /// The laws that the points of a sweep follow. Since minor version 2.
    Model(Box<Model>),
    /// Something worth knowing that is no measurement.
    Event(Event),
    /// End of the run.
    End(Box<End>),
    /// A step of a unit of a suite; it stands between runs. Since minor version 12.
    Unit(Box<Unit>),
}

/// Something worth knowing that is no measurement: a warning about the machine, a lost rank.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Event {
    /// Id of the run, or `null` if it died before it wrote one.
    pub run_id: Option<String>,
    /// Seconds since the start of the run, where known.
    pub t_rel_s: Option<f64>,
    /// Severity.
    pub level: Level,
    /// Kind, in one word that programs can look for (`governor`, `rank_died`).
    pub code: String,
    /// The rank that it happened to, if it is about one.
    pub rank: Option<usize>,
    /// One sentence.
    pub message: String,
    /// Remedy, if there is one.
    pub hint: Option<String>,
}

/// Severity of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Good to know.
    Info,
    /// The numbers may be worse than the machine.
    Warning,
    /// The run could not go on.
    Error,
}

/// The last line of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct End {
    /// Id of the run, or `null` if it died before it wrote one.
    pub run_id: Option<String>,
    /// Status of the run.
    pub status: EndStatus,
    /// End of the run: RFC 3339, UTC, milliseconds.
    pub ended_at: String,
    /// Numbers of points in the file for this run.
    pub points: PointCounts,
    /// Length of the run in seconds, where its start is known.
    pub wall_s: Option<f64>,
    /// Length of a simulated run in seconds of its virtual time. Since minor version 10.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub virtual_s: Option<f64>,
    /// Reason of an early end (`time_limit`, the name of a signal, an error); `null` otherwise.
    pub reason: Option<String>,
    /// Load of the machine until the end; `null` if the run died. Since minor version 2.
    pub noise: Option<Noise>,
    /// Verdict on the run; `null` if it is imported. Since minor version 9.
    #[serde(default)]
    pub verdict: Option<Verdict>,
    /// The run at a glance; empty if nothing of it was measured. Since minor version 9.
    #[serde(default)]
    pub glance: Vec<Answer>,
    /// Its oddities. Since minor version 10.
    #[serde(default)]
    pub odd: Vec<Oddity>,
}

/// A result that calls for an explanation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Oddity {
    /// One sentence, without a full stop.
    pub what: String,
    /// Keys of the points that it is read off; none where all points of a suite show it together.
    pub keys: Vec<String>,
}

/// One figure of a run at a glance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Answer {
    /// Time, rate or length, in words (`latency of 8 B, 1 hop`).
    pub what: String,
    /// The figure.
    pub value: f64,
    /// Its unit: `ns`, `B/s`, `B`, and since minor version 10 `%` or `x` (a ratio of two times).
    pub unit: String,
    /// Lower end of its 95 % interval, where there is one.
    pub low: Option<f64>,
    /// Upper end of its interval.
    pub high: Option<f64>,
    /// Key of the point that it is read off.
    pub key: String,
}

/// Verdict on a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Verdict {
    /// Use that can be made of its numbers.
    pub word: Word,
    /// Precision, disturbances and a remedy, in words.
    pub reason: String,
    /// The precision that was reached; absent where nothing was measured. Since minor version 13.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision: Option<Precision>,
}

/// Precision of the points of a run: half widths of their 95 % intervals, relative to their figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Precision {
    /// Half width that half of the points keep to; `null` if more of them have no interval.
    pub half: Option<f64>,
    /// Half width that nine of ten points keep to; `null` if more of them have no interval.
    pub nine_of_ten: Option<f64>,
    /// Number of launches, of the point that has the fewest.
    pub launches: usize,
    /// Seconds from the first launch to the last; `null` for one launch, and in simulation.
    pub period_s: Option<f64>,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", Name(self.word), self.reason)
    }
}

/// Use that can be made of the numbers of a run; the more, the less.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Word {
    /// Nine of ten points are known as well as wanted, and nothing disturbed them.
    Quotable,
    /// They are known less well, or something disturbed them.
    #[serde(alias = "indicative")]
    Rough,
    /// A tenth of them is not known to 25 %, or cores moved.
    #[serde(alias = "not usable")]
    Unsure,
    /// Data arrived wrong or is missing, or ranks shared CPUs.
    Wrong,
}

/// Status of a run at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum EndStatus {
    /// It went through its whole plan; single points may have failed.
    Complete,
    /// It was stopped in an orderly way before the end of its plan.
    Partial,
    /// It died.
    Failed,
}

/// Numbers of points of each kind that a run wrote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PointCounts {
    /// Points with numbers.
    pub ok: usize,
    /// Cases whose data arrived wrong.
    pub check_failed: usize,
    /// Cases that could not be run, or were cut short.
    pub failed: usize,
    /// Cases that these ranks or this transport do not admit.
    pub skipped: usize,
}

impl PointCounts {
    /// Counts one point of `status`.
    pub fn add(&mut self, status: PointStatus) {
        let count = match status {
            PointStatus::Ok => &mut self.ok,
            PointStatus::CheckFailed => &mut self.check_failed,
            PointStatus::Failed | PointStatus::Interrupted => &mut self.failed,
            PointStatus::Skipped => &mut self.skipped,
        };
        *count += 1;
    }

    /// Points of every kind together.
    pub fn total(&self) -> usize {
        // Those that a file states may be any.
        [self.ok, self.check_failed, self.failed, self.skipped]
            .into_iter()
            .fold(0, usize::saturating_add)
    }
}

/// Name of a value of an enumeration, as in the record.
#[derive(Clone, Copy, Debug)]
pub struct Name<T>(pub T);

impl<T: Serialize> fmt::Display for Name<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.serialize(f)
    }
}

/// `time` as the record writes it: RFC 3339, UTC, milliseconds.
pub(crate) fn timestamp(time: std::time::SystemTime) -> String {
    humantime::format_rfc3339_millis(time).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_any_file_have_a_total() {
        let counts = PointCounts { ok: usize::MAX, failed: 1, ..PointCounts::default() };
        assert_eq!(counts.total(), usize::MAX);
    }

    #[test]
    fn the_committed_schema_is_the_generated_one_of_all_kinds_of_lines() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/schema/comet.record-1.schema.json");
        let generated = serde_json::to_string_pretty(&schemars::schema_for!(Record)).unwrap();
        crate::fixture::check_golden(path, &(generated + "\n"));
        let schema: serde_json::Value = serde_json::from_str(JSON_SCHEMA).unwrap();
        let kinds = schema["oneOf"].as_array().unwrap().iter();
        let names: Vec<_> = kinds.map(|kind| &kind["properties"]["type"]["const"]).collect();
        assert_eq!(names, ["run", "launch", "point", "model", "event", "end", "unit"]);
    }

    #[test]
    fn launcher_and_machine_of_the_first_minor_versions_know_less() {
        let launcher: Launcher = serde_json::from_str(r#"{"env":{}}"#).unwrap();
        assert_eq!(launcher, Launcher::default());
        let text =
            r#"{"id":"m0","nodes":[],"cpu":{"arch":"x86_64"},"caches":[],"os":{},"settings":{}}"#;
        let machine: Machine = serde_json::from_str(text).unwrap();
        let cpu = Cpu { arch: "x86_64".into(), ..Cpu::default() };
        assert_eq!(machine, Machine { id: "m0".into(), cpu, ..Machine::default() });
    }
}
