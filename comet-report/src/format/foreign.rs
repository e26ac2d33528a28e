//! What the layouts of other benchmarks have in common: blocks of points that the other one would
//! have measured by one of its tests, and the means of the ranks, which they print.

use std::io::{self, Write};

use serde_json::Value;

use crate::record::{EndStatus, Param, Point, PointStatus, Record, Run};
use crate::sink::RecordSink;

/// Length of an element of our vectors.
const DOUBLE_BYTES: u64 = 8;

/// How another benchmark prints its tests.
pub(super) trait Layout {
    /// What its names start with among the aliases of kernels (`OSU:`).
    const PREFIX: &'static str;

    /// Whether it prints a test of this name.
    fn knows(&self, name: &str) -> bool;

    /// What comes before the blocks of a run.
    fn start(&self, run: &Run, out: &mut dyn Write) -> io::Result<()>;

    /// What comes before the rows of a block.
    fn head(&self, block: &Block<'_>, out: &mut dyn Write) -> io::Result<()>;

    /// The row of a point with numbers.
    fn row(&self, block: &Block<'_>, point: &Point, out: &mut dyn Write) -> io::Result<()>;

    /// The row of a point whose data arrived wrong, if there is such a row.
    fn wrong(&self, block: &Block<'_>, point: &Point, out: &mut dyn Write) -> io::Result<()>;

    /// What comes after the last block of a run.
    fn end(&self, out: &mut dyn Write) -> io::Result<()>;
}

/// Points that are one test of the other benchmark.
pub(super) struct Block<'a> {
    /// The run, where there is a record of it.
    pub(super) run: Option<&'a Run>,
    /// What the other one calls the test.
    pub(super) name: &'a str,
    /// The first point.
    pub(super) first: &'a Point,
}

impl Block<'_> {
    /// Whether `point` goes on with the block under the name `name`.
    fn holds(&self, name: &str, point: &Point) -> bool {
        let of = |point: &Point| (point.suite.clone(), point.kernel.clone(), procs(point));
        self.name == name && of(self.first) == of(point)
    }

    /// What was measured in truth, for a note beside the other one's title.
    pub(super) fn origin(&self) -> String {
        let Point { suite, kernel, value, .. } = self.first;
        let program = self.run.map_or(String::new(), |run| {
            format!(" of {} {}", run.suite.name, run.suite.version).trim_end().to_owned()
        });
        let by = value.as_ref().map_or(String::new(), |value| format!(", {}", value.definition));
        format!("{suite}/{kernel}{program}{by}")
    }
}

/// Writer of records in `layout`, into `out`.
pub(super) fn writer<'a, L: Layout + 'a>(
    layout: L,
    out: Box<dyn Write + 'a>,
) -> Box<dyn RecordSink + 'a> {
    Box::new(Blocks { layout, out, run: None, open: None, last_reason: None })
}

/// Writer of blocks, which knows the run and the block at hand.
struct Blocks<'a, L> {
    layout: L,
    out: Box<dyn Write + 'a>,
    run: Option<Box<Run>>,
    /// Name of the block, and its first point.
    open: Option<(String, Point)>,
    /// Why the last point was left out, if it was.
    last_reason: Option<String>,
}

impl<L: Layout> RecordSink for Blocks<'_, L> {
    fn record(&mut self, record: &Record) -> io::Result<()> {
        match record {
            Record::Run(run) => {
                (self.run, self.open, self.last_reason) = (Some(run.clone()), None, None);
                self.layout.start(run, &mut self.out)
            }
            Record::Point(point) => self.point(point),
            Record::End(end) => {
                let out = &mut self.out;
                if end.status != EndStatus::Complete {
                    writeln!(out, "# note: {}", end.reason.as_deref().unwrap_or("ended early"))?;
                }
                self.layout.end(out)
            }
            Record::Model(_) | Record::Event(_) => Ok(()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl<L: Layout> Blocks<'_, L> {
    fn point(&mut self, point: &Point) -> io::Result<()> {
        let Self { layout, out, run, open, last_reason } = self;
        let run = run.as_deref();
        let name = match name_of(layout, run, point) {
            Ok(name) => name,
            Err(reason) if last_reason.as_ref() == Some(&reason) => return Ok(()),
            Err(reason) => {
                writeln!(out, "# note: {reason}")?;
                *last_reason = Some(reason);
                return Ok(());
            }
        };
        let goes_on = open
            .as_ref()
            .is_some_and(|(open, first)| Block { run, name: open, first }.holds(name, point));
        if !goes_on {
            layout.head(&Block { run, name, first: point }, out)?;
            *open = Some((name.to_owned(), point.without_samples()));
        }
        let first = open.as_ref().map_or(point, |(_, first)| first);
        write_point(layout, &Block { run, name, first }, point, out)
    }
}

fn write_point(
    layout: &impl Layout,
    block: &Block<'_>,
    point: &Point,
    out: &mut dyn Write,
) -> io::Result<()> {
    match point.status {
        PointStatus::Ok => return layout.row(block, point, out),
        PointStatus::CheckFailed => layout.wrong(block, point, out)?,
        PointStatus::Skipped | PointStatus::Failed | PointStatus::Interrupted => (),
    }
    let size = size_bytes(point).map_or(String::new(), |size| format!(" {size} bytes:"));
    let message = point.message.as_deref().unwrap_or("no reason is known");
    writeln!(out, "# {}:{size} {message}", point.status.name())
}

/// What the other benchmark calls the test that `point` is of: the name that the user asked for, or
/// the first that it has; or else a sentence that says why there is none.
fn name_of<'a, L: Layout>(
    layout: &L,
    run: Option<&Run>,
    point: &'a Point,
) -> Result<&'a str, String> {
    let (id, suite) =
        (format!("{}/{}", point.suite, point.kernel), L::PREFIX.trim_end_matches(':'));
    let names = point.aliases.iter().filter_map(|alias| alias.strip_prefix(L::PREFIX));
    let known: Vec<&str> = names.filter(|name| layout.knows(name)).collect();
    let selected = known.iter().find(|name| is_selected(run, &format!("{}{name}", L::PREFIX)));
    let Some(name) = selected.or(known.first()) else {
        return Err(format!("{id} is left out: {suite} has no layout for it"));
    };
    match stray(point) {
        None => Ok(name),
        Some(stray) => Err(format!("{id} at {stray} is left out: {suite} has no such case")),
    }
}

/// Whether the user selected a kernel by `alias`.
fn is_selected(run: Option<&Run>, alias: &str) -> bool {
    let names = run.and_then(|run| run.config.get("select")?.as_array());
    let is_alias = |name: &Value| name.as_str().is_some_and(|n| n.eq_ignore_ascii_case(alias));
    names.is_some_and(|names| names.iter().any(is_alias))
}

/// The first parameter that other benchmarks do not vary; they know the neighbour alone.
fn stray(point: &Point) -> Option<String> {
    let is_known = |name: &str, value: &Param| match name {
        "length_bytes" | "vector_length" | "procs" => true,
        "hops" => *value == Param::Number(1),
        _ => false,
    };
    let mut strays = point.params.0.iter().filter(|(name, value)| !is_known(name, value));
    strays.next().map(|(name, value)| format!("{name}={value}"))
}

/// Number of ranks.
pub(super) fn procs(point: &Point) -> Option<u64> {
    point.params.number("procs")
}

/// Length of a message in bytes, or of a vector; `None` if there is neither.
pub(super) fn size_bytes(point: &Point) -> Option<u64> {
    let of_vector = || Some(point.params.number("vector_length")?.saturating_mul(DOUBLE_BYTES));
    point.params.number("length_bytes").or_else(of_vector)
}

/// How many operations were timed on a rank, where that is known.
pub(super) fn repetitions(point: &Point) -> Option<u64> {
    let of_reps = point.reps.as_ref().map(|reps| reps.n as u64 * u64::from(reps.inner));
    of_reps.or_else(|| Some(whole(figure(point, REPETITIONS)?)))
}

/// Names of the figures of points that were imported, and have no samples to take them from.
pub(crate) const REPETITIONS: &str = "repetitions";
/// Least mean of a rank.
pub(crate) const RANKS_MIN_NS: &str = "ranks_min_ns";
/// Mean of the means of the ranks.
pub(crate) const RANKS_AVG_NS: &str = "ranks_avg_ns";
/// Largest mean of a rank.
pub(crate) const RANKS_MAX_NS: &str = "ranks_max_ns";

fn figure(point: &Point, name: &str) -> Option<f64> {
    point.figures.iter().find(|figure| figure.name == name)?.value
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "repetitions are counted, and a cast saturates"
)]
fn whole(count: f64) -> u64 {
    count as u64
}

/// The mean of each rank over all of its operations: the least, the largest, and their mean, in us.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Means {
    pub(super) min_us: f64,
    pub(super) max_us: f64,
    pub(super) avg_us: f64,
}

impl Means {
    /// From the samples of the ranks that took any; without samples, from what else is known.
    pub(super) fn of(point: &Point) -> Option<Self> {
        Self::of_samples(point).or_else(|| Self::of_figures(point))
    }

    #[expect(clippy::cast_precision_loss, reason = "intervals are far shorter than 2^53 ns")]
    fn of_samples(point: &Point) -> Option<Self> {
        let (samples, reps) = (point.samples.as_ref()?, point.reps.as_ref()?);
        let [_, n_samples] = samples.shape;
        // What was subtracted from each sample is in no interval.
        if n_samples == 0 || point.reference_ns.is_some() {
            return None;
        }
        let divisor = f64::from(reps.inner) * f64::from(point.value.as_ref()?.divisor) * 1e3;
        let mean_us = |of_rank: &[u64]| {
            of_rank.iter().map(|ns| *ns as f64).sum::<f64>() / of_rank.len() as f64 / divisor
        };
        let means_us: Vec<f64> = samples.data.chunks_exact(n_samples).map(mean_us).collect();
        let min_us = means_us.iter().copied().reduce(f64::min)?;
        let max_us = means_us.iter().copied().reduce(f64::max)?;
        let avg_us = means_us.iter().sum::<f64>() / means_us.len() as f64;
        Some(Self { min_us, max_us, avg_us })
    }

    fn of_figures(point: &Point) -> Option<Self> {
        let mean_ns = point.time_ns.as_ref()?.mean;
        let us = |name| figure(point, name).unwrap_or(mean_ns) / 1e3;
        let (min_us, max_us) = (us(RANKS_MIN_NS), us(RANKS_MAX_NS));
        Some(Self { min_us, max_us, avg_us: us(RANKS_AVG_NS) })
    }
}

/// `value` with two digits, or `-` where there is none.
pub(super) fn two_digits(value: Option<f64>) -> String {
    value.map_or("-".into(), |value| format!("{value:.2}"))
}

/// `value`, or `-` where there is none.
pub(super) fn or_dash(value: Option<u64>) -> String {
    value.map_or("-".into(), |value| value.to_string())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::fixture::{self, Folder};
    use crate::format::Format;
    use crate::read::read_records;
    use crate::record::Params;

    /// The records of a small run whose kernels other suites have too: an echo with a case that is
    /// skipped and one whose data arrived wrong, a barrier of two ranks, and a reduction.
    pub(crate) fn records() -> Vec<Record> {
        let folder = Folder::new();
        let mut records = read_records(&fixture::record_run(&folder)).unwrap().records;
        for record in &mut records {
            let Record::Point(point) = record else { continue };
            point.aliases = match &*point.kernel {
                "echo" => vec!["IMB:PingPong".into(), "OSU:osu_latency".into()],
                "barrier" => vec!["IMB:Barrier".into(), "OSU:osu_barrier".into()],
                _ => Vec::new(),
            };
        }
        let is_barrier =
            |r: &Record| matches!(r, Record::Point(point) if point.kernel == "barrier");
        let at = records.iter().position(is_barrier).unwrap();
        let Record::Point(mut reduction) = records[at].clone() else { unreachable!() };
        reduction.kernel = "reduction".into();
        reduction.aliases = vec!["IMB:Allreduce".into(), "OSU:osu_allreduce".into()];
        let params = [("vector_length", 128), ("procs", 2)];
        let param = |(name, value): (&str, u64)| (name.to_owned(), Param::Number(value));
        reduction.params = Params(params.map(param).into());
        records.insert(at + 1, Record::Point(reduction));
        records
    }

    /// What `format` makes of `records`.
    pub(crate) fn render(format: &dyn Format, records: &[Record]) -> String {
        let mut text = Vec::new();
        format.write(records, &mut text).unwrap();
        String::from_utf8(text).unwrap()
    }

    /// Holds `text` against the golden file `name`.
    pub(crate) fn check_golden(name: &str, text: &str) {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/golden");
        fixture::check_golden(&std::path::Path::new(folder).join(name), text);
    }

    #[test]
    fn text_only_grows_as_records_are_added() {
        let records = records();
        for name in ["osu", "imb", "imb-3.2"] {
            let format = crate::format::find(name).unwrap();
            let mut before = String::new();
            for n in 0..=records.len() {
                let text = render(format, &records[..n]);
                assert!(text.starts_with(&before), "{name} with {n} records");
                before = text;
            }
        }
    }

    #[test]
    fn the_means_are_those_of_the_ranks() {
        // Two ranks, ten operations in each of three samples.
        let point = records().into_iter().find_map(|record| match record {
            Record::Point(point) if point.kernel == "barrier" => Some(point),
            _ => None,
        });
        let mut point = point.unwrap();
        let means = Means::of(&point).unwrap();
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} is not {b}");
        near(means.min_us, (4050.0 + 4100.0 + 4200.0) / 3e4);
        near(means.max_us, (4000.0 + 4100.0 + 4300.0) / 3e4);
        near(means.avg_us, f64::midpoint(means.min_us, means.max_us));
        point.samples = None;
        let mean_us = point.time_ns.as_ref().unwrap().mean / 1e3;
        let means = Means { min_us: mean_us, max_us: mean_us, avg_us: mean_us };
        assert_eq!(Means::of(&point), Some(means));
    }

    #[test]
    fn a_kernel_is_called_as_the_user_called_it() {
        let mut records = records();
        let Record::Run(run) = &mut records[0] else { unreachable!() };
        run.config.insert("select".into(), serde_json::json!(["imb:sendrecv"]));
        for record in &mut records {
            if let Record::Point(point) = record {
                point.aliases = vec!["IMB:PingPing".into(), "IMB:Sendrecv".into()];
            }
        }
        let text = render(crate::format::find("imb").unwrap(), &records);
        assert!(text.contains("# Benchmarking Sendrecv \n"), "{text}");
        assert!(!text.contains("PingPing"), "{text}");
    }
}
