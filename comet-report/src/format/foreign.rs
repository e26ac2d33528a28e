//! Parts that the layouts of foreign suites share: blocks of points that are one benchmark there,
//! and the means of the ranks, which the suites print.

use std::io::Write;

use comet_core::kernel::GROUPS;

use crate::record::{EndStatus, Failure, Measured, Name, Param, Point, PointStatus, Record, Run};
use crate::sink::{RecordSink, Stream};
use crate::suite::{self, Benchmark, osu};

/// Length of an element of our vectors.
const DOUBLE_BYTES: u64 = 8;

/// The text of a foreign suite.
pub(super) trait Layout {
    /// Name of the suite, whose parts are all printed.
    fn family(&self) -> &'static str;

    /// Text before the blocks of a run.
    fn start(&mut self, _run: &Run) -> String {
        String::new()
    }

    /// Parameters beside the ranks whose values begin a new block.
    fn splits_by(&self, _block: &Block<'_>) -> &'static [&'static str] {
        &[]
    }

    /// The lines of a block in place of its head and of all its rows, where the suite has some for a
    /// benchmark that cannot run as `point` was to.
    fn refused(&self, _block: &Block<'_>, _point: &Point) -> Option<String> {
        None
    }

    /// Text before the rows of a block; the first point of the block before it where that is the same
    /// benchmark on the same ranks. It may come with the first row, where that needs several points.
    fn head(&mut self, block: &Block<'_>, before: Option<&Point>) -> String;

    /// The lines that become complete with a point with numbers, or with one whose data arrived wrong
    /// where there is such a row.
    fn row(&mut self, block: &Block<'_>, point: &Point) -> Option<String>;

    /// The lines for a case that has no numbers for the reason `message`, where the suite has some.
    fn left_out(&mut self, _: &Block<'_>, _: &Point, _message: &str) -> Option<String> {
        None
    }

    /// The lines that a block lacks behind its last point.
    fn close(&mut self) -> String {
        String::new()
    }

    /// Text after the last block of a run.
    fn end(&self) -> &'static str {
        ""
    }
}

/// Points that are one benchmark of the suite.
pub(super) struct Block<'a> {
    /// The run, where there is a record of it.
    pub(super) run: Option<&'a Run>,
    /// The benchmark.
    pub(super) benchmark: &'static Benchmark,
    /// The first point.
    pub(super) first: &'a Point,
}

impl Block<'_> {
    /// True if `point` as `benchmark` is on the same ranks.
    fn is_like(&self, benchmark: &Benchmark, point: &Point) -> bool {
        let of = |point: &Point| {
            (point.suite.clone(), point.kernel.clone(), procs(point), n_groups(point))
        };
        self.benchmark.name == benchmark.name && of(self.first) == of(point)
    }

    /// True if `point` has the same values of `params`.
    fn holds(&self, params: &[&str], point: &Point) -> bool {
        params.iter().all(|name| self.first.params.get(name) == point.params.get(name))
    }

    /// The kernel, program and definition of the points, for a note beside the foreign title.
    pub(super) fn origin(&self) -> String {
        let (Point { suite, kernel, .. }, value) = (self.first, self.first.value());
        let program = self.run.map_or(String::new(), |run| {
            format!(" of {} {}", run.suite.name, run.suite.version).trim_end().to_owned()
        });
        let by = value.map_or(String::new(), |value| format!(", {}", value.definition));
        let rules = self.run.and_then(|run| run.config.get("rules")?.as_str());
        let rules = rules.map_or(String::new(), |rules| format!(", by the rules of {rules}"));
        format!("{suite}/{kernel}{program}{by}{rules}")
    }
}

/// Writer of records in `layout`, into `out`.
pub(super) fn writer<'a>(
    layout: impl Layout + 'a,
    out: Box<dyn Write + 'a>,
) -> Box<dyn RecordSink + 'a> {
    let mut blocks = Blocks { layout, run: None, open: None, is_refused: false, last_reason: None };
    Stream::boxed(out, false, move |record, out| out.write_all(blocks.text(record).as_bytes()))
}

/// Text of blocks, with the run and the block at hand.
struct Blocks<L> {
    layout: L,
    run: Option<Box<Run>>,
    /// Benchmark of the block, and its first point.
    open: Option<(&'static Benchmark, Point)>,
    /// True if other lines stand in its place.
    is_refused: bool,
    /// Reason why the last point was left out, if it was.
    last_reason: Option<String>,
}

impl<L: Layout> Blocks<L> {
    fn text(&mut self, record: &Record) -> String {
        match record {
            Record::Run(run) => {
                (self.run, self.open, self.last_reason) = (Some(run.clone()), None, None);
                self.layout.close() + &self.layout.start(run) + medium(run)
            }
            Record::Point(point) => self.point(point),
            Record::End(end) if end.status != EndStatus::Complete => {
                let reason = end.reason.as_deref().unwrap_or("ended early");
                let rest = self.layout.close();
                format!("{rest}# note: {reason}\n{}", self.layout.end())
            }
            Record::End(_) => self.layout.close() + self.layout.end(),
            Record::Launch(_) | Record::Model(_) | Record::Event(_) | Record::Unit(_) => {
                String::new()
            }
        }
    }

    fn point(&mut self, point: &Point) -> String {
        let Self { layout, run, open, is_refused, last_reason } = self;
        let run = run.as_deref();
        let benchmark = match benchmark_of(layout.family(), point) {
            Ok(benchmark) => benchmark,
            Err(reason) if last_reason.as_ref() == Some(&reason) => return String::new(),
            Err(reason) => return format!("# note: {}\n", last_reason.insert(reason)),
        };
        let before = open.as_ref().map(|(open, first)| Block { run, benchmark: open, first });
        let before = before.filter(|block| block.is_like(benchmark, point));
        let goes_on = before.as_ref().is_some_and(|of| of.holds(layout.splits_by(of), point));
        let mut text = String::new();
        if !goes_on {
            text = layout.close();
            let block = Block { run, benchmark, first: point };
            let refused = layout.refused(&block, point);
            *is_refused = refused.is_some();
            let head = || layout.head(&block, before.map(|block| block.first));
            text += &refused.unwrap_or_else(head);
            *open = Some((benchmark, point.without_samples()));
        }
        if *is_refused {
            return text;
        }
        let first = open.as_ref().map_or(point, |(_, first)| first);
        if matches!(point.status(), PointStatus::Ok | PointStatus::CheckFailed)
            && let Some(row) = layout.row(&Block { run, benchmark, first }, point)
        {
            text += &row;
        }
        if let Some(Failure { status, message }) = point.failure() {
            let of_suite = layout.left_out(&Block { run, benchmark, first }, point, message);
            text += &of_suite.unwrap_or_else(|| {
                let size = size_bytes(point).map(|size| format!(" {size} bytes:"));
                format!("# {}:{} {message}\n", Name(status), size.unwrap_or_default())
            });
        }
        text
    }
}

/// A line that tells messages of `run` from those of an MPI, which the suites measure, where they are none, or
/// else their types from those of the suites.
fn medium(run: &Run) -> &'static str {
    match run.transport.backend.as_deref() {
        Some("shm") => "# note: messages in shared memory, without an MPI\n",
        Some("sim") => "# note: messages of a simulated machine, without an MPI\n",
        Some("mpi") => {
            "# note: calls have types of fixed size: MPI_UINT8_T where no datatype is chosen, MPI_INT8_T for \
             MPI_CHAR, MPI_INT32_T for MPI_INT\n"
        }
        _ => "",
    }
}

/// The benchmark of the suite `family` that `point` is of, by its kernel and definition, or by its name where
/// it was imported; or else a sentence with the reason why there is none.
fn benchmark_of(family: &str, point: &Point) -> Result<&'static Benchmark, String> {
    let id = format!("{}/{}", point.suite, point.kernel);
    let of_kernel = suite::family(family).find_map(|suite| suite.of_kernel(&id));
    let of_import =
        || suite::family(family).find(|suite| point.suite == suite.id)?.find(&point.kernel);
    let name = family.to_uppercase();
    let Some(benchmark) = of_kernel.or_else(of_import) else {
        return Err(format!("{id} is left out: {name} has no layout for it"));
    };
    let wanted = benchmark.definition.name();
    if let Some(value) = point.value()
        && of_kernel.is_some()
        && value.definition != wanted
    {
        return Err(format!(
            "{id} by {} is left out: {} of {name} is by {wanted} (add --rules {family})",
            value.definition, benchmark.name
        ));
    }
    match stray(family, point) {
        None => Ok(benchmark),
        Some(stray) => Err(format!("{id} at {stray} is left out: {name} has no such case")),
    }
}

/// The first parameter that foreign suites do not vary; their partner is the neighbour.
fn stray(family: &str, point: &Point) -> Option<String> {
    let is_known = |name: &str, value: &Param| match name {
        "length_bytes" | "vector_length" | "window" | "procs" | "datatype" | "element" | "root" => {
            true
        }
        "groups" | "aggregate" | "sections" | "buffers" | "threads" | "stride"
            if family != osu::SUITE.family =>
        {
            true
        }
        "buffers" => value.to_string().contains("host") || value.to_string().contains("device"),
        "model" => true,
        "topo_1" | "topo_2" | "topo_3" | "topo_4" => family != osu::SUITE.family,
        // Those of IMB are of a grid.
        "dimensions" | "work_us" => true,
        "first_root" | "place" | "window_buffers" | "radius" | "graph" | "layout" | "memory"
        | "sync" | "test_calls"
            if family == osu::SUITE.family =>
        {
            true
        }
        "first_root" => *value == Param::Number(0),
        "place" => value.to_string() == "separate",
        "window_buffers" => value.to_string() == "single",
        "algorithm" => value.to_string() == "native",
        "operator" => value.to_string() == "sum",
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

/// Number of groups of ranks that ran at once.
pub(super) fn n_groups(point: &Point) -> u64 {
    point.params.number(GROUPS.name).unwrap_or(1)
}

/// Length of a message in bytes, or of a vector; `None` if there is neither.
pub(super) fn size_bytes(point: &Point) -> Option<u64> {
    let of_vector = || Some(point.params.number("vector_length")?.saturating_mul(DOUBLE_BYTES));
    point.params.number("length_bytes").or_else(of_vector)
}

/// Number of operations that were timed on a rank, where it is known.
pub(super) fn repetitions(point: &Point) -> Option<u64> {
    let of_reps =
        point.measured().map(|of| (of.reps.n as u64).saturating_mul(u64::from(of.reps.inner)));
    of_reps.or_else(|| Some(whole(figure(point, REPETITIONS)?)))
}

/// Names of the figures of points that were imported, and have no samples to take them from.
pub(crate) const REPETITIONS: &str = "repetitions";
/// Name of the figure with the percentile `number` of an import, of times or of rates, and the units of it
/// that make one printed.
pub(crate) fn percentile_figure(number: u8, is_rate: bool) -> (String, f64) {
    if is_rate { (format!("p{number}_bytes_per_s"), 1e6) } else { (format!("p{number}_ns"), 1e3) }
}

/// Least mean of a rank.
pub(crate) const RANKS_MIN_NS: &str = "ranks_min_ns";
/// Mean of the means of the ranks.
pub(crate) const RANKS_AVG_NS: &str = "ranks_avg_ns";
/// Largest mean of a rank.
pub(crate) const RANKS_MAX_NS: &str = "ranks_max_ns";

/// Mean over the ranks of the time to make the graph of neighbours.
pub(crate) const GRAPH_NS: &str = "graph_ns";

pub(super) fn figure(point: &Point, name: &str) -> Option<f64> {
    point.figures.iter().find(|figure| figure.name == name)?.value
}

/// A count that the record holds as a figure.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "what is counted is whole, and a cast saturates"
)]
pub(super) fn whole(count: f64) -> u64 {
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
        Self::of_samples(point, |_| true).or_else(|| Self::of_figures(point))
    }

    /// From the samples of the ranks of the group `group`.
    pub(super) fn of_group(point: &Point, group: u64) -> Option<Self> {
        let procs = procs(point)?.max(1);
        Self::of_samples(point, |rank| rank / procs == group)
    }

    /// The mean of each rank, of all or of those of `group`; one alone, the largest, without samples.
    pub(super) fn of_ranks(point: &Point, group: Option<u64>) -> Option<Vec<f64>> {
        let procs = procs(point).unwrap_or(1).max(1);
        let is_of = |rank: u64| group.is_none_or(|group| rank / procs == group);
        let largest = || Self::of_figures(point).filter(|_| group.is_none());
        Self::each(point, is_of).or_else(|| Some(vec![largest()?.max_us]))
    }

    fn of_samples(point: &Point, is_of: impl Fn(u64) -> bool) -> Option<Self> {
        let means_us = Self::each(point, is_of)?;
        let min_us = means_us.iter().copied().reduce(f64::min)?;
        let max_us = means_us.iter().copied().reduce(f64::max)?;
        let avg_us = means_us.iter().sum::<f64>() / means_us.len() as f64;
        Some(Self { min_us, max_us, avg_us })
    }

    /// The mean of each rank that took samples, in us.
    fn each(point: &Point, is_of: impl Fn(u64) -> bool) -> Option<Vec<f64>> {
        let Measured { numbers, reps, samples, reference_ns, .. } = point.measured()?;
        let samples = samples.as_ref()?;
        let [_, n_samples] = samples.shape;
        // What was subtracted from each sample is in no interval.
        if n_samples == 0 || reference_ns.is_some() {
            return None;
        }
        let divisor = f64::from(reps.inner) * f64::from(numbers.value.divisor) * 1e3;
        let mean_us = |of_rank: &[u64]| {
            of_rank.iter().map(|ns| *ns as f64).sum::<f64>() / of_rank.len() as f64 / divisor
        };
        let of_ranks = samples.ranks.iter().zip(samples.data.chunks_exact(n_samples));
        let of_ranks = of_ranks.filter(|(rank, _)| is_of(**rank as u64));
        Some(of_ranks.map(|(_, of_rank)| mean_us(of_rank)).collect())
    }

    fn of_figures(point: &Point) -> Option<Self> {
        let mean_ns = point.time_ns()?.mean;
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
    use crate::fixture::{self, render};
    use crate::record::Params;
    use comet_core::definition::Definition;

    /// The records of a small run by the definitions of `suite`: an echo with a case that is skipped
    /// and one whose data arrived wrong, a barrier of two ranks, and a broadcast.
    pub(crate) fn records(suite: &str) -> Vec<Record> {
        let mut records = fixture::records();
        let is_barrier =
            |r: &Record| matches!(r, Record::Point(point) if point.kernel == "barrier");
        let at = records.iter().position(is_barrier).unwrap();
        let Record::Point(barrier) = &mut records[at] else { unreachable!() };
        let define = |point: &mut Point, definition: Definition| {
            point.measured_mut().unwrap().numbers.value.definition = definition.name().into();
        };
        let mut broadcast = barrier.clone();
        let of_barrier = if suite == "osu" { Definition::CallMean } else { Definition::LoopMean };
        define(barrier, of_barrier);
        define(&mut broadcast, if suite == "imb-3.2" { of_barrier } else { Definition::CallMean });
        (broadcast.suite, broadcast.kernel) = ("imb".into(), "bcast".into());
        let params = [("length_bytes", 1024), ("procs", 2)];
        let param = |(name, value): (&str, u64)| (name.to_owned(), Param::Number(value));
        broadcast.params = Params(params.map(param).into());
        if suite != "osu" {
            let mut windows = broadcast.clone();
            define(&mut windows, Definition::LoopMean);
            windows.kernel = "uniband".into();
            let params = [("length_bytes", 1024), ("procs", 4), ("window", 256)];
            windows.params = Params(params.map(param).into());
            records.insert(at + 1, Record::Point(windows));
        }
        records.insert(at + 1, Record::Point(broadcast));
        records
    }

    #[test]
    fn text_only_grows_as_records_are_added() {
        for name in ["osu", "imb", "imb-3.2"] {
            let records = records(name);
            let mut before = String::new();
            for n in 0..=records.len() {
                let text = render(name, &records[..n]);
                assert!(text.starts_with(&before), "{name} with {n} records");
                before = text;
            }
        }
    }

    #[test]
    fn a_head_over_mpi_names_the_types_of_the_calls() {
        for name in ["osu", "imb", "imb-3.2"] {
            let mut records = records(name);
            let Record::Run(run) = &mut records[0] else { unreachable!() };
            run.transport.backend = Some("mpi".into());
            let text = render(name, &records);
            assert!(
                text.contains("# note: calls have types of fixed size: MPI_UINT8_T "),
                "{text}"
            );
        }
    }

    #[test]
    fn the_means_are_those_of_the_ranks() {
        // Two ranks, ten operations in each of three samples.
        let point = records("imb").into_iter().find_map(|record| match record {
            Record::Point(point) if point.kernel == "barrier" => Some(point),
            _ => None,
        });
        let mut point = point.unwrap();
        let means = Means::of(&point).unwrap();
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} is not {b}");
        near(means.min_us, (4050.0 + 4100.0 + 4200.0) / 3e4);
        near(means.max_us, (4000.0 + 4100.0 + 4300.0) / 3e4);
        near(means.avg_us, f64::midpoint(means.min_us, means.max_us));
        point.measured_mut().unwrap().samples = None;
        let mean_us = point.time_ns().unwrap().mean / 1e3;
        let means = Means { min_us: mean_us, max_us: mean_us, avg_us: mean_us };
        assert_eq!(Means::of(&point), Some(means));
    }

    #[test]
    fn a_name_is_printed_over_its_kernel_by_its_definition_alone() {
        let mut records = records("imb");
        for record in &mut records {
            let Record::Point(point) = record else { continue };
            match &*point.kernel {
                "barrier" => {
                    point.measured_mut().unwrap().numbers.value.definition = "D3 test_node".into()
                }
                "echo" => point.kernel = "exchange".into(),
                _ => (),
            }
        }
        let text = render("imb", &records);
        assert!(!text.contains("# Benchmarking P"), "{text}");
        assert!(!text.contains("# Benchmarking Barrier"), "{text}");
        for note in [
            "# note: comet/exchange is left out: IMB has no layout for it\n",
            "# note: comet/barrier by D3 test_node is left out: Barrier of IMB is by D5 loop_mean \
             (add --rules imb)\n",
        ] {
            assert!(text.contains(note), "{text}");
        }
    }
}
