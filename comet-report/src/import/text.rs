//! Text of the OSU micro-benchmarks and of the Intel MPI Benchmarks, of any version: every kind of
//! table, groups, modes, columns on request, and the words that stand where numbers are missing.

use comet_core::definition::{Definition, Quantity};
use comet_core::kernel::{self, Class, RateKind, THREADS};

use super::table::{Column, Head};
use super::{ImportError, RANKS, Surroundings, printed, require_measured, single};
use crate::format::foreign::GRAPH_NS;
use crate::record::{
    self, Check, CheckStatus, Derived, Failure, NamedRate, Outcome, Param, Params, Point,
    PointStatus, Quote, RankStat, Rate, Value,
};
use crate::suite::imb::{AGGREGATE, MT};
use crate::suite::osu::{GRAPH_TIME, MEMORIES, SIDES, SYNCHRONIZATION, SYNCS, WINDOW_CREATION};
use crate::suite::{Benchmark, Numbers, Suite};
use crate::{fingerprint, older};

/// Words in place of numbers, and what they mean for the point.
const FAILURES: &[(&str, PointStatus)] = &[
    ("out-of-mem.", PointStatus::Skipped),
    ("int-overflow", PointStatus::Skipped),
    ("time-out.", PointStatus::Interrupted),
];
/// Numbers in comments that distinguish a table from others of its benchmark.
const COUNTS: &[(&str, &str)] = &[
    ("window size: ", "window"),
    ("window_size = ", "window"),
    ("(threads: ", THREADS.name),
    ("( ", "groups"),
    ("; dimensions: ", "dimensions"),
];
/// Number of pairs, which are half of the ranks.
const PAIRS: &str = "pairs: ";
/// Datatype of the messages of a table of OSU.
const DATATYPE: &str = "# Datatype: MPI_";
/// Title of a table with the same numbers again, per message.
const PROFILE: &str = "# Message Rate Profile";
/// Words in comments, likewise.
const LABELS: &[(&str, &str)] =
    &[(WINDOW_CREATION, "memory"), (SYNCHRONIZATION, "sync"), ("MODE: ", AGGREGATE)];
/// Numbers of processes in comments.
const PROCESSES: &[&str] = &["#processes = ", "groups of ", "(processes: "];

/// The refusal of a row without an end, whose last number may lack digits.
const UNENDED: &str =
    "the text ends within the row (is it cut off? A whole row has an end of line behind it)";

/// Reads `text` of `suite`: its version, empty if it names none, and the points of its rows.
///
/// # Errors
/// If a row does not fit the head of its table or has no end of line, or if nobody says how many ranks
/// there were.
pub(super) fn parse(
    suite: &'static Suite,
    text: &str,
    around: &Surroundings,
) -> Result<(String, Vec<Point>), ImportError> {
    let (mut found, mut points) = (String::new(), Vec::new());
    let mut block = Block::of(suite, String::new());
    let mut graph = Graph::default();
    let n_ends = text.matches('\n').count();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        let mut next = None;
        if let Some(name) = line.strip_prefix("# Benchmarking ") {
            // The sides of a torus stand behind some.
            let name = name.split(" (").next().unwrap_or(name);
            next = Some(Block::of(suite, name.trim().to_owned()));
        } else if let Some(banner) = line.strip_prefix("# OSU ") {
            let (title, release) = banner.rsplit_once(" v").unwrap_or((banner, ""));
            found = version(release).unwrap_or(found);
            // A title starts with the programming model (`MPI`, `MPI-CUDA`) or with a call (`MPI_Put`).
            let title = match title.split_once(' ') {
                Some((model, title)) if !model.contains('_') => title,
                _ => title,
            };
            next = Some(std::mem::take(&mut graph).block(suite, title));
        } else if line.starts_with('#') || line.starts_with("Group") {
            found = title(line).unwrap_or(found);
            if line.contains("MODE: ") {
                // The same benchmark goes on in another mode, with a table of its own.
                let n_ranks = block.n_ranks;
                next = Some(Block { n_ranks, ..Block::of(suite, block.name.clone()) });
            } else if line.starts_with(DATATYPE) && !block.rows.is_empty() {
                next = Some(block.of_other_type());
            }
        } else if line.starts_with(|c: char| c.is_ascii_digit()) && !block.head.is_empty() {
            let refuse = |message| ImportError::Line { line: index + 1, message };
            let rows = block.rows_of(line).map_err(refuse)?;
            if index == n_ends {
                return Err(refuse(UNENDED.into()));
            }
            block.rows.extend(rows.into_iter().filter(|_| !block.is_profile));
        } else {
            graph.note(line);
        }
        if let Some(next) = next {
            points.extend(std::mem::replace(&mut block, next).points(around)?);
        }
        if line.starts_with('#') || line.starts_with("Group") {
            block.comment(line);
        }
    }
    points.extend(block.points(around)?);
    Ok((found, points))
}

/// The version of IMB, if `line` is the title of the text.
fn title(line: &str) -> Option<String> {
    let is_title = line.contains("MPI Benchmark") || line.contains("in the layout of IMB");
    let of_suite = line.rsplit_once("IMB").map_or(line, |(_, rest)| rest);
    // The name of a part is the last word but one of some.
    if is_title { version(of_suite).or_else(|| version(line)) } else { None }
}

/// The first word of `text` that is a version: digits, after a `v` or nothing.
fn version(text: &str) -> Option<String> {
    let bare = |word: &str| word.trim_start_matches(['v', 'V']).trim_end_matches(',').to_owned();
    let is_version = |word: &String| word.starts_with(|c: char| c.is_ascii_digit());
    text.split_whitespace().map(bare).find(is_version)
}

/// The first number in `text` after `start`.
fn number_after(text: &str, start: &str) -> Option<u64> {
    let (_, rest) = text.split_once(start)?;
    let digits: String = rest.trim_start().chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

/// Facts about the graph of neighbours, which stand before the title of their benchmark.
#[derive(Default)]
struct Graph {
    /// Sides of a torus.
    sides: Vec<u64>,
    /// Time to make the graph; without one there is none.
    time: Option<Derived>,
}

impl Graph {
    /// Takes in a line that is no row and no comment.
    fn note(&mut self, line: &str) {
        if let Some(sides) = line.strip_prefix(SIDES.trim_end()) {
            self.sides = sides.split_whitespace().map_while(|side| side.parse().ok()).collect();
        } else if let Some(time) = line.strip_prefix(GRAPH_TIME) {
            let time_us = time.split_whitespace().next().and_then(|us| us.parse::<f64>().ok());
            let value = time_us.filter(|us| us.is_finite()).map(|us| us * 1e3);
            let title = GRAPH_TIME.trim_end_matches(':');
            self.time = Some(Derived { value, ..printed(GRAPH_NS, title, 0.0) });
        }
    }

    /// The block with this title, which programs among neighbours share with others.
    fn block(self, suite: &'static Suite, title: &str) -> Block {
        let is_of_graph = |of: &&Benchmark| of.title == title && of.numbers == Numbers::Neighbours;
        let benchmark = suite.benchmarks.iter().find(is_of_graph).filter(|_| self.time.is_some());
        let name = benchmark.map_or(title, |benchmark| benchmark.name);
        let n_ranks = self.sides.iter().copied().try_fold(1, u64::checked_mul);
        let dimensions = ("dimensions".to_owned(), Param::Number(self.sides.len() as u64));
        let mut block = Block::of(suite, name.to_owned());
        if !self.sides.is_empty() {
            block.n_ranks = n_ranks;
            block.params.push(dimensions);
        }
        block.figures = self.time.into_iter().collect();
        block
    }
}

/// The block whose rows are being read.
struct Block {
    suite: &'static Suite,
    /// Name of the benchmark, or the title of one that is unknown.
    name: String,
    benchmark: Option<&'static Benchmark>,
    n_ranks: Option<u64>,
    /// Parameters that distinguish it from others of the same benchmark.
    params: Vec<(String, Param)>,
    /// Figures of all of its points.
    figures: Vec<Derived>,
    head: Head,
    /// True behind the title of a table with the same numbers again.
    is_profile: bool,
    rows: Vec<Row>,
}

/// One row, still in the units of the text.
struct Row {
    group: Option<u64>,
    /// Messages of a window, where they have a column each.
    window: Option<u64>,
    size: Option<u64>,
    time_us: Option<f64>,
    rate: Option<f64>,
    message_rate: Option<f64>,
    check: CheckStatus,
    figures: Vec<Derived>,
    failure: Option<(PointStatus, String)>,
}

impl Row {
    /// The time of an operation in us, or that of one message by their rate.
    fn time_us(&self) -> Option<f64> {
        let of_messages = || Some(1e6 / self.message_rate.filter(|rate| *rate > 0.0)?);
        self.time_us.or_else(of_messages)
    }
}

impl Block {
    /// An empty block of the benchmark of `suite` with this name or title.
    fn of(suite: &'static Suite, name: String) -> Self {
        let is_named = |benchmark: &&Benchmark| {
            benchmark.title == name || benchmark.name.eq_ignore_ascii_case(&name)
        };
        let benchmark = suite.benchmarks.iter().find(is_named);
        let is_of_two = benchmark.is_some_and(|benchmark| benchmark.numbers.is_of_two());
        let name = match benchmark {
            Some(benchmark) if benchmark.title == name => benchmark.name.to_owned(),
            _ => name,
        };
        let (params, figures, rows) = (Vec::new(), Vec::new(), Vec::new());
        let (n_ranks, head, is_profile) = (is_of_two.then_some(2), Head::default(), false);
        Self { suite, name, benchmark, n_ranks, params, figures, head, is_profile, rows }
    }

    /// An empty block of the same benchmark with messages of another datatype.
    fn of_other_type(&self) -> Self {
        let other = |(name, _): &&(String, Param)| name != self.type_name();
        let params = self.params.iter().filter(other).cloned().collect();
        let (n_ranks, figures) = (self.n_ranks, self.figures.clone());
        Self { n_ranks, params, figures, ..Self::of(self.suite, self.name.clone()) }
    }

    /// Name of the parameter with the datatype.
    fn type_name(&self) -> &'static str {
        match self.benchmark {
            Some(benchmark) if benchmark.has_elements() => kernel::ELEMENT.name,
            _ => kernel::DATATYPE.name,
        }
    }

    /// Threads of each rank, whose messages a length counts together.
    fn n_threads(&self) -> u64 {
        let threads = self.params.iter().find(|(name, _)| name == THREADS.name);
        let n = threads.and_then(|(_, n)| if let Param::Number(n) = n { Some(*n) } else { None });
        n.unwrap_or(1).max(1)
    }

    /// Takes in a line that is no row: the head of the table, or a fact about the benchmark.
    fn comment(&mut self, line: &str) {
        let n_ranks = PROCESSES.iter().find_map(|start| number_after(line, start));
        let of_pairs = || number_after(line, PAIRS)?.checked_mul(2);
        self.n_ranks = n_ranks.or_else(of_pairs).or(self.n_ranks);
        self.is_profile |= line.starts_with(PROFILE);
        let counts = COUNTS.iter().filter_map(|(start, name)| {
            let is_fact = *name != "groups" || line.contains("groups of ");
            Some((*name, Param::Number(number_after(line, start).filter(|_| is_fact)?)))
        });
        let labels = LABELS.iter().filter_map(|(start, name)| {
            let word = line.split_once(start)?.1.trim();
            let mode = word.to_lowercase().replace('-', "_");
            let of_call = MEMORIES.iter().chain(&SYNCS).find(|(_, call)| *call == word);
            let word = of_call.map_or(word, |(word, _)| word);
            Some((*name, Param::Label(if *name == AGGREGATE { mode } else { word.into() })))
        });
        // Messages are characters, unless the text says otherwise.
        let datatype = line.strip_prefix(DATATYPE).map(|rest| rest.trim_end_matches('.'));
        let datatype = datatype.filter(|name| *name != "CHAR").map(str::to_lowercase);
        let datatype = datatype.map(|name| (self.type_name(), Param::Label(name)));
        let own = counts.chain(labels).chain(datatype);
        self.params.extend(own.map(|(name, value)| (name.to_owned(), value)));
        if let Some(head) = Head::of(line) {
            self.head = head;
        }
    }

    /// The rows that `line` is: one for each window where these have columns of their own.
    fn rows_of(&self, line: &str) -> Result<Vec<Row>, String> {
        let Some(windows) = self.head.windows() else { return Ok(vec![self.row(line)?]) };
        let words = self.head.words(line)?;
        require_measured(&words)?;
        let size = self.head.count(&words, Column::Size)?;
        let row = |window: u64| {
            let rate = self.head.number(&words, Column::Window(window))?;
            let (time_us, message_rate, figures) = (None, None, Vec::new());
            let (group, check, failure) = (None, CheckStatus::Skipped, None);
            let window = Some(window);
            Ok(Row { group, window, size, time_us, rate, message_rate, check, figures, failure })
        };
        windows.map(row).collect()
    }

    /// One row, or a sentence that says why it is none.
    fn row(&self, line: &str) -> Result<Row, String> {
        let failure = FAILURES.iter().find_map(|(word, status)| {
            let at = line.find(word)?;
            Some((at, (*status, line[at..].to_owned())))
        });
        let n_bytes = failure.as_ref().map_or(line.len(), |(at, _)| *at);
        let words = match self.head.words(&line[..n_bytes]) {
            Err(_) if failure.is_some() => line[..n_bytes].split_whitespace().collect(),
            words => words?,
        };
        require_measured(&words)?;
        let number = |wanted| self.head.number(&words, wanted);
        let defects = number(Column::Defects)?;
        let check = match (self.head.word(&words, Column::Validation), defects) {
            (Some("Pass" | "passed"), _) => CheckStatus::Pass,
            (Some("Fail" | "failed"), _) => CheckStatus::Fail,
            (_, Some(defects)) if defects > 0.0 => CheckStatus::Fail,
            (_, Some(_)) => CheckStatus::Pass,
            _ => CheckStatus::Skipped,
        };
        Ok(Row {
            group: self.head.count(&words, Column::Group)?,
            window: None,
            size: self.head.count(&words, Column::Size)?.map(|size| size / self.n_threads()),
            time_us: number(Column::Time)?,
            rate: number(Column::Rate)?,
            message_rate: number(Column::MessageRate)?,
            check,
            // A number before words is a length, or stands for one.
            figures: if failure.is_some() { Vec::new() } else { self.head.figures(&words) },
            failure: failure.map(|(_, failure)| failure),
        })
    }

    /// The points of the rows, but for their numbers and their run.
    fn points(self, around: &Surroundings) -> Result<Vec<Point>, ImportError> {
        if self.rows.is_empty() {
            return Ok(Vec::new());
        }
        let n_ranks = self.n_ranks.filter(|n_ranks| RANKS.contains(n_ranks)).or(around.n_ranks);
        let Some(n_ranks) = n_ranks else { return Err(ImportError::Ranks { kernel: self.name }) };
        let unit = match self.benchmark.map(|benchmark| benchmark.numbers) {
            Some(Numbers::RoundTrips) => (n_ranks / 2, self.suite.megabytes[0]),
            Some(numbers) if numbers.counts_all() => (n_ranks, self.suite.megabytes[0]),
            Some(Numbers::Parallel(n)) if self.suite.id == MT.id => {
                (n * self.n_threads(), self.suite.megabytes[0])
            }
            Some(Numbers::ParallelTrips) => (self.n_threads(), self.suite.megabytes[0]),
            _ => unit(self.suite, &self.rows),
        };
        Ok(self.rows.iter().map(|row| self.point(row, unit, n_ranks)).collect())
    }

    fn point(&self, row: &Row, (n_messages, bytes_per_mb): (u64, f64), n_ranks: u64) -> Point {
        let bytes = row.size.map(|size| size.saturating_mul(n_messages));
        let bytes_per_s = row.rate.map(|rate| rate * bytes_per_mb).filter(|rate| *rate > 0.0);
        // Without a time, that of one operation follows from the rate.
        let of_rate = || Some(real(bytes?) / bytes_per_s? * 1e9);
        let time_ns = row.time_us().map(|us| us * 1e3).or_else(of_rate);
        let suite = self.suite.name;
        let failed = |status, message| Outcome::Failed(Failure { status, message });
        let outcome = match (&row.failure, row.check, time_ns) {
            (Some((status, words)), ..) => failed(*status, words.clone()),
            (None, CheckStatus::Fail, _) => {
                failed(PointStatus::CheckFailed, format!("{suite} found that data arrived wrong"))
            }
            (None, _, None) => failed(PointStatus::Failed, format!("{suite} printed no time")),
            (None, _, Some(time_ns)) => Outcome::Imported(Box::new(record::Numbers {
                value: self.value(bytes),
                time_ns: single(time_ns),
                quoted_ns: Some(time_ns),
                rate: bytes_per_s.map(|bytes_per_s| Rate { bytes_per_s, basis: Quote::Mean }),
                rates: self.message_rate(row).into_iter().collect(),
            })),
        };
        let is_ok = matches!(outcome, Outcome::Imported(_));
        let mut point = Point {
            suite: self.suite.id.into(),
            variant: is_ok.then(|| self.name.clone().into()),
            kernel: self.name.clone().into(),
            class: self.class().map_or("other", Class::as_str).into(),
            params: self.params(row, n_ranks),
            check: Check { status: row.check },
            figures: row.figures.iter().chain(&self.figures).cloned().collect(),
            outcome,
            ..Point::default()
        };
        point.key = fingerprint::key(&point, None);
        point.facts = older::facts(&point).into();
        point
    }

    /// The message rate of `row`, by the time of one message.
    fn message_rate(&self, row: &Row) -> Option<NamedRate> {
        let value = row.message_rate.filter(|rate| *rate > 0.0)?;
        let title = self.head.title(Column::MessageRate)?;
        Some(NamedRate {
            name: RateKind::Messages.name().into(),
            formula: super::as_printed(title).into(),
            per_op: 1.0,
            value: Some(value),
        })
    }

    fn params(&self, row: &Row, n_ranks: u64) -> Params {
        let numbers = [
            ("group", row.group),
            ("window", row.window),
            ("length_bytes", row.size),
            ("procs", Some(n_ranks)),
        ];
        let number = |(name, value): (&str, Option<u64>)| {
            value.map(|value| (name.to_owned(), Param::Number(value)))
        };
        let own = numbers.into_iter().filter_map(number);
        Params(self.params.iter().cloned().chain(own).collect())
    }

    /// The class by the table of the suite, or else by the columns of IMB.
    fn class(&self) -> Option<Class> {
        let has_size = self.head.has(Column::Size);
        let of_head = if has_size { Class::Collective } else { Class::Synchronisation };
        let is_imb = self.suite.family == crate::suite::imb::SUITE.family;
        let known = self.benchmark.map(|benchmark| benchmark.numbers.class());
        known.or(is_imb.then_some(of_head))
    }

    /// Meaning of the numbers, which are means, by the definitions of the suite.
    fn value(&self, bytes_per_op: Option<u64>) -> Value {
        let numbers = self.benchmark.map(|benchmark| benchmark.numbers);
        let (definition, quantity) = match numbers {
            Some(Numbers::Latency) => (Definition::HalfRoundTrip, Quantity::OneWayTime),
            Some(Numbers::RoundTrips | Numbers::ParallelTrips) => {
                (self.suite.of_all, Quantity::OneWayTime)
            }
            Some(Numbers::PairsLatency) => (self.suite.of_all, Quantity::OneWayTime),
            Some(Numbers::Bandwidth) => (Definition::TestNode, Quantity::OpTime),
            Some(numbers) if numbers.is_remote() || numbers.is_of_file() => {
                let own =
                    self.benchmark.map_or(self.suite.of_all, |benchmark| benchmark.definition);
                (own, Quantity::OpTime)
            }
            _ => (self.suite.of_all, Quantity::OpTime),
        };
        let is_of_one = definition.is_of_one_rank() && self.suite.rank_stat == RankStat::Mean;
        Value {
            quantity: quantity.name().into(),
            definition: definition.name().into(),
            divisor: quantity.divisor(),
            rank_stat: if is_of_one { RankStat::Root } else { self.suite.rank_stat },
            bytes_per_op,
            better: "lower".into(),
            quote: Quote::Mean,
        }
    }
}

/// The number of messages of an operation that the rates of `rows` count, and the bytes of their
/// MB: the first that explain the row with the most digits within these digits, or else those that fit it
/// best. IMB changed its MB, but not its heads.
fn unit(suite: &Suite, rows: &[Row]) -> (u64, f64) {
    let first = (suite.n_messages[0], suite.megabytes[0]);
    let exact = rows.iter().filter_map(Rated::of).min_by(|a, b| a.rounding.total_cmp(&b.rounding));
    let Some(row) = exact else { return first };
    let of = |n: &u64| suite.megabytes.iter().map(|mb| (*n, *mb)).collect::<Vec<_>>();
    let units = suite.n_messages.iter().flat_map(of);
    let best = || units.clone().min_by(|a, b| row.error(*a).total_cmp(&row.error(*b)));
    let explained = units.clone().find(|unit| row.error(*unit) <= row.rounding);
    explained.or_else(best).unwrap_or(first)
}

/// A row with a rate and a time.
struct Rated {
    rate: f64,
    size: u64,
    time_us: f64,
    /// Share by which rounding may have changed one over the other.
    rounding: f64,
}

/// Half of the last digit of times in us and of rates.
const ROUNDING: f64 = 0.005;

impl Rated {
    /// Of a row with a length and a rate above 0.
    fn of(row: &Row) -> Option<Self> {
        let (rate, size, time_us) = (row.rate?, row.size?, row.time_us()?);
        let of_messages = || Some(0.5 / row.message_rate?);
        let of_time = row.time_us.map(|us| ROUNDING / us).or_else(of_messages)?;
        let rounding = ROUNDING / rate + of_time;
        (rate > 0.0 && time_us > 0.0).then_some(Self { rate, size, time_us, rounding })
    }

    /// Distance of the rate from that of so many messages in MB of so many bytes, as a logarithm.
    fn error(&self, (n_messages, mb): (u64, f64)) -> f64 {
        (real(n_messages) * real(self.size) / self.time_us * 1e6 / mb / self.rate).ln().abs()
    }
}

fn real(size: u64) -> f64 {
    size as f64
}
