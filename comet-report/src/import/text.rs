//! Tables of the OSU micro-benchmarks and of the Intel MPI Benchmarks, of any version: every kind of
//! table, groups, modes, columns on request, and the words that stand where numbers are missing.

use comet_core::definition::{Definition, Quantity};
use comet_core::kernel::{self, Class, RateKind, THREADS};

use super::table::{Column, Head};
use super::{ImportError, RANKS, Surroundings, printed, require_measured, single};
use crate::format::foreign::{RANKS_MAX_NS, RANKS_MIN_NS};
use crate::record::{
    self, BUFFERS, Check, CheckStatus, Derived, Failure, NamedRate, Outcome, Param, Params, Point,
    PointStatus, Quote, RankStat, Rate, Value,
};
use crate::suite::imb::{AGGREGATE, MT};
use crate::suite::osu::{MEMORIES, MODEL, SEND_BUFFER, SYNCHRONIZATION, SYNCS, WINDOW_CREATION};
use crate::suite::{Benchmark, Numbers, Suite, osu};
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
    ("Sender threads: ", "sender_threads"),
    ("Receiver threads: ", "receiver_threads"),
    ("processes in sender: ", "sender_processes"),
    ("processes in receiver: ", "receiver_processes"),
    ("( ", "groups"),
    ("; dimensions: ", "dimensions"),
];
/// Number of pairs, which are half of the ranks.
const PAIRS: &str = "pairs: ";
/// Datatype of the messages of a table of OSU.
pub(super) const DATATYPE: &str = "# Datatype: MPI_";
/// Name of the parameter with the operator of reductions.
pub(super) const OPERATOR: &str = "operator";
/// Title of a table with the same numbers again, per message.
const PROFILE: &str = "# Message Rate Profile";
/// Words in comments, likewise.
const LABELS: &[(&str, &str)] =
    &[(WINDOW_CREATION, "memory"), (SYNCHRONIZATION, "sync"), ("MODE: ", AGGREGATE)];
/// The memories of both buffers, if `line` tells them: `device:host`.
fn buffers_of(line: &str) -> Option<String> {
    let places = line.strip_prefix(SEND_BUFFER)?.split(" and Receive Buffer on ");
    let places: Vec<_> = places.filter_map(|place| place.split_whitespace().next()).collect();
    Some(places.join(":").to_lowercase())
}

/// Numbers of processes in comments.
const PROCESSES: &[&str] = &["#processes = ", "groups of ", "(processes: "];

/// The first number in `text` after `start`.
pub(super) fn number_after(text: &str, start: &str) -> Option<u64> {
    let (_, rest) = text.split_once(start)?;
    let digits: String = rest.trim_start().chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

/// The block whose rows are being read.
pub(super) struct Block {
    pub(super) suite: &'static Suite,
    /// Name of the benchmark, or the title of one that is unknown.
    pub(super) name: String,
    pub(super) benchmark: Option<&'static Benchmark>,
    pub(super) n_ranks: Option<u64>,
    /// Parameters that distinguish it from others of the same benchmark.
    pub(super) params: Vec<(String, Param)>,
    /// Figures of all of its points.
    pub(super) figures: Vec<Derived>,
    pub(super) head: Head,
    /// True behind the title of a table with the same numbers again.
    pub(super) is_profile: bool,
    /// Number of the line with its title, if it has one of its own.
    pub(super) n_title: Option<usize>,
    /// Length of the messages in which IMB found wrong data, in the lines before their row.
    pub(super) wrong: Option<u64>,
    pub(super) rows: Vec<Row>,
}

/// One row, still in the units of the text.
pub(super) struct Row {
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
    /// The row of the time of a start, in whole milliseconds.
    pub(super) fn of_startup(line: &str) -> Option<Self> {
        let us = |name| Some(number_after(line, name)? as f64 * 1e3);
        let ends = [("min: ", RANKS_MIN_NS), ("max: ", RANKS_MAX_NS)].into_iter();
        let figures = ends.filter_map(|(title, name)| Some(printed(name, title, us(title)? * 1e3)));
        Some(Self {
            group: None,
            window: None,
            size: None,
            time_us: Some(us("avg: ")?),
            rate: None,
            message_rate: None,
            check: CheckStatus::Skipped,
            figures: figures.collect(),
            failure: None,
        })
    }

    /// The most that rounding to the printed digits may have changed a time of `time_ns`, which is printed or
    /// follows from a rate.
    fn rounding_ns(&self, time_ns: f64) -> f64 {
        let of_rate = self.message_rate.or(self.rate);
        match (self.time_us, of_rate) {
            (None, Some(rate)) => time_ns * ROUNDING / rate,
            _ => ROUNDING * 1e3,
        }
    }

    /// The time of an operation in us, or that of one message by their rate.
    fn time_us(&self) -> Option<f64> {
        let of_messages = || Some(1e6 / self.message_rate.filter(|rate| *rate > 0.0)?);
        self.time_us.or_else(of_messages)
    }
}

impl Block {
    /// An empty block of the benchmark of `suite` with this name or title.
    pub(super) fn of(suite: &'static Suite, name: String) -> Self {
        let is_osu = suite.family == osu::SUITE.family;
        let wanted = osu::normal(&name);
        // Several groups of ranks at once, whose number stands below.
        let bare = name.strip_prefix("Multi-").filter(|_| !is_osu).unwrap_or(&name);
        let is_named = |benchmark: &&Benchmark| {
            let has_title = is_osu && osu::normal(benchmark.title) == wanted;
            has_title || benchmark.name.eq_ignore_ascii_case(bare)
        };
        let benchmark = suite.benchmarks.iter().find(is_named).filter(|_| !name.is_empty());
        let beside = osu::BESIDE.iter().find(|(title, _)| is_osu && osu::normal(title) == wanted);
        let is_of_two = benchmark.is_some_and(|benchmark| benchmark.numbers.is_of_two());
        let n_ranks = (is_of_two || beside.is_some()).then_some(2);
        let name = match (benchmark, beside) {
            (Some(benchmark), _) => benchmark.name.to_owned(),
            (None, Some((_, name))) => (*name).to_owned(),
            _ => name,
        };
        let (params, figures, rows) = (Vec::new(), Vec::new(), Vec::new());
        Self {
            suite,
            name,
            benchmark,
            n_ranks,
            params,
            figures,
            head: Head::default(),
            is_profile: false,
            n_title: None,
            wrong: None,
            rows,
        }
    }

    /// The programming model in its title, if it is not MPI in host memory.
    pub(super) fn model(&self) -> Option<&str> {
        let model = self.params.iter().find(|(name, _)| name == MODEL);
        model.and_then(
            |(_, model)| if let Param::Label(model) = model { Some(&**model) } else { None },
        )
    }

    /// An empty block of the same benchmark with messages of another datatype, below the same head until
    /// another follows.
    pub(super) fn of_other_type(&self) -> Self {
        let other = |(name, _): &&(String, Param)| name != self.type_name();
        let params = self.params.iter().filter(other).cloned().collect();
        let (n_ranks, figures, head) = (self.n_ranks, self.figures.clone(), self.head.clone());
        Self { n_ranks, params, figures, head, ..Self::of(self.suite, self.name.clone()) }
    }

    /// Name of the parameter with the datatype.
    fn type_name(&self) -> &'static str {
        match self.benchmark {
            Some(benchmark) if benchmark.has_elements() => kernel::ELEMENT.name,
            _ => kernel::DATATYPE.name,
        }
    }

    /// True if its points have the parameter `name` of the head of their program.
    pub(super) fn has(&self, name: &str) -> bool {
        let has_elements = self.type_name() == kernel::ELEMENT.name;
        let has_lengths = self.benchmark.is_none_or(|of| of.numbers.has_lengths());
        if [OPERATOR, kernel::ELEMENT.name].contains(&name) {
            return has_elements;
        }
        name != kernel::DATATYPE.name || (has_lengths && !has_elements)
    }

    /// Threads of each rank, whose messages a length counts together.
    fn n_threads(&self) -> u64 {
        let threads = self.params.iter().find(|(name, _)| name == THREADS.name);
        let n = threads.and_then(|(_, n)| if let Param::Number(n) = n { Some(*n) } else { None });
        n.unwrap_or(1).max(1)
    }

    /// Takes in a line that is no row: the head of the table, or a fact about the benchmark.
    pub(super) fn comment(&mut self, line: &str) {
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
        let buffers = buffers_of(line).map(|places| (BUFFERS, Param::Label(places)));
        let own = counts.chain(labels).chain(datatype).chain(buffers);
        self.params.extend(own.map(|(name, value)| (name.to_owned(), value)));
        if let Some(head) = Head::of(line) {
            self.head = head;
        }
    }

    /// The rows that `line` is: one for each window where these have columns of their own.
    pub(super) fn rows_of(&self, line: &str) -> Result<Vec<Row>, String> {
        let Some(windows) = self.head.windows() else {
            return Ok(self.row(line)?.into_iter().collect());
        };
        let Some(words) = self.head.words(line)? else { return Ok(Vec::new()) };
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

    /// The row that `line` is, if it is one, or a sentence that says what is wrong with it.
    fn row(&self, line: &str) -> Result<Option<Row>, String> {
        let failure = FAILURES.iter().find_map(|(word, status)| {
            let at = line.find(word)?;
            Some((at, (*status, line[at..].to_owned())))
        });
        let n_bytes = failure.as_ref().map_or(line.len(), |(at, _)| *at);
        let is_failure = failure.is_some() && line.starts_with(|c: char| c.is_ascii_digit());
        let words = match self.head.words(&line[..n_bytes]) {
            Err(_) if is_failure => line[..n_bytes].split_whitespace().collect(),
            words => match words? {
                Some(words) => words,
                None => return Ok(None),
            },
        };
        require_measured(&words)?;
        let number = |wanted| self.head.number(&words, wanted);
        let defects = number(Column::Defects)?;
        let size = self.head.count(&words, Column::Size)?;
        let check = match (self.head.word(&words, Column::Validation), defects) {
            _ if size.is_some() && size == self.wrong => CheckStatus::Fail,
            (Some("Pass" | "passed"), _) => CheckStatus::Pass,
            (Some("Fail" | "failed"), _) => CheckStatus::Fail,
            (_, Some(defects)) if defects > 0.0 => CheckStatus::Fail,
            (_, Some(_)) => CheckStatus::Pass,
            _ => CheckStatus::Skipped,
        };
        Ok(Some(Row {
            group: self.head.count(&words, Column::Group)?,
            window: None,
            size: size.map(|size| size / self.n_threads()),
            time_us: number(Column::Time)?,
            rate: number(Column::Rate)?,
            message_rate: number(Column::MessageRate)?,
            check,
            // A number before words is a length, or stands for one.
            figures: if failure.is_some() { Vec::new() } else { self.head.figures(&words) },
            failure: failure.map(|(_, failure)| failure),
        }))
    }

    /// The points of the rows, but for their numbers and their run.
    pub(super) fn points(self, around: &Surroundings) -> Result<Vec<Point>, ImportError> {
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
                rounding_ns: Some(row.rounding_ns(time_ns)),
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
