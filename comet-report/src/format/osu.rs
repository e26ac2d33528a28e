//! The layout of the OSU micro-benchmarks 7.4, for programs that read it.
//!
//! A row starts at column 0 with the length in bytes, and no other line starts with a digit.
//! Times are means, as OSU's are: of the test node, or over all ranks of the mean of each, where
//! all of them sampled. MB are 10^6 bytes.
//! Columns that OSU prints on request come with the label `osu_columns` of the run, which lists
//! `full` (its `-f`), `validation` (`-c`) and percentiles (`p50`, from its `-z`). There `windows` (`-V`)
//! asks for the rates of several pairs with a column for each window, and `no_message_rate` (`-R 0`) for
//! MB a second alone.

mod beside_work;

use std::io::Write;

use comet_core::collective::Element;
use comet_core::kernel::{DATATYPE, ELEMENT, WINDOW};
use comet_core::layout::DATA_BYTES;
use comet_core::topology::{MAX_TORUS_DIMENSIONS, torus_sides};
use comet_stats::quantile;

use super::foreign::{
    self, Block, GRAPH_NS, Layout, Means, figure, or_dash, percentile_figure, procs, repetitions,
    size_bytes, two_digits, whole,
};
use crate::record::{BUFFERS, CheckStatus, LAYOUT, Measured, Param, Point};
use crate::sink::RecordSink;
use crate::suite::Numbers;
use crate::suite::osu::{
    GRAPH_TIME, MEMORIES, MODEL, SEND_BUFFER, SIDES, SUITE, SYNCHRONIZATION, SYNCS,
    WINDOW_CREATION, model_title,
};

use beside_work::Values;

/// Width of the column with the length.
const SIZE_WIDTH: usize = 10;
/// Width of the others: OSU's `FIELD_WIDTH`, as its configure script sets it.
const WIDTH: usize = 18;
/// Width of the column with the repetitions.
const ITERATIONS_WIDTH: usize = 12;
/// Width of a time that has no length before it.
const ALONE_WIDTH: usize = 17;

/// Name of the label that asks for further columns.
pub const COLUMNS_LABEL: &str = "osu_columns";

/// Writer of records into `out`.
pub(super) fn writer<'a>(out: Box<dyn Write + 'a>) -> Box<dyn RecordSink + 'a> {
    foreign::writer(Osu::default(), out)
}

/// Windows of `osu_mbw_mr -V`.
pub const WINDOWS: [u64; 8] = [1, 2, 4, 8, 16, 32, 64, 128];
/// Width of their columns, behind two blanks, and of the length before them.
const WINDOW_WIDTH: usize = 10;
const SIZE_OF_WINDOWS_WIDTH: usize = 7;

/// The layout of the OSU micro-benchmarks.
#[derive(Default)]
struct Osu {
    /// Rates in MB a second by length and window, of the block at hand, with the bytes of a message.
    rates: Vec<(u64, u64, [Option<f64>; WINDOWS.len()])>,
    /// True if the last of these rows is not written yet.
    is_pending: bool,
    /// True if the message rates stand below.
    has_profile: bool,
    /// The case beside work at hand.
    open: beside_work::Open,
    /// The head of its block, if it is not written yet.
    late_head: Option<LateHead>,
}

/// A head that is written with the first row, and the first point of the block before, on the same ranks.
struct LateHead(Option<Point>);

impl Osu {
    /// Takes in the rate of `point`, and returns the row that is complete.
    fn add_window(&mut self, block: &Block<'_>, point: &Point) -> Option<String> {
        let size = size_bytes(point)?;
        let column = WINDOWS.iter().position(|n| Some(*n) == point.number(WINDOW.name))?;
        let mut text = String::new();
        if self.rates.last().is_none_or(|(last, ..)| *last != size) {
            text = self.pending();
            self.rates.push((size, sent_bytes(point)?, [None; WINDOWS.len()]));
        }
        (self.is_pending, self.has_profile) = (true, !has_word(block, NO_MESSAGE_RATE));
        let rate = point.numbers().and(megabytes_per_s(point, Means::of(point)));
        self.rates.last_mut()?.2[column] = rate;
        if column + 1 == WINDOWS.len() {
            text += &self.pending();
        }
        Some(text)
    }

    /// The row that is not written yet.
    fn pending(&mut self) -> String {
        let last = self.rates.last().filter(|_| self.is_pending);
        self.is_pending = false;
        last.map_or(String::new(), |(size, _, rates)| row_of_windows(*size, *rates))
    }
}

/// The row of `size` with a value for each window.
fn row_of_windows(size: u64, values: [Option<f64>; WINDOWS.len()]) -> String {
    let cells = values.map(|value| format!("  {:>WINDOW_WIDTH$}", two_digits(value)));
    format!("{size:<SIZE_OF_WINDOWS_WIDTH$}{}\n", cells.concat())
}

/// The head of the columns of all windows.
fn head_of_windows() -> String {
    let cells = WINDOWS.map(|window| format!("  {window:>WINDOW_WIDTH$}"));
    format!("{:<SIZE_OF_WINDOWS_WIDTH$}{}\n", "#", cells.concat())
}

impl Layout for Osu {
    fn family(&self) -> &'static str {
        SUITE.family
    }

    fn splits_by(&self, block: &Block<'_>) -> &'static [&'static str] {
        match block.benchmark.numbers {
            Numbers::MessageRate if !is_varied(block) => &["datatype", "window_buffers", "window"],
            Numbers::Neighbours => &["datatype", "dimensions", "radius", "graph"],
            numbers if numbers.is_remote() => &["memory", "sync", "element", "window"],
            _ => &["datatype", "element", "root", "first_root", "place", "window_buffers"],
        }
    }

    /// That of a block beside work comes with its first row: figures are on the last point of a case.
    fn head(&mut self, block: &Block<'_>, before: Option<&Point>) -> String {
        self.late_head = None;
        if block.benchmark.is_beside_work && block.first.measured().is_some() {
            self.late_head = Some(LateHead(before.map(Point::without_samples)));
            return String::new();
        }
        head_of(block, before)
    }

    fn row(&mut self, block: &Block<'_>, point: &Point) -> Option<String> {
        if is_varied(block) {
            return self.add_window(block, point);
        }
        let is_ok = point.numbers().is_some();
        if !is_ok && !has_word(block, VALIDATION) {
            return None;
        }
        if block.benchmark.numbers == Numbers::Startup {
            return Some(row_of_startup(block, point));
        }
        if !block.benchmark.is_beside_work {
            return Some(row_of(block, point));
        }
        let none = || (point.clone(), Values::default());
        let (point, values) = if is_ok { self.open.add(point)? } else { none() };
        let head = self.late_head.take().map_or(String::new(), |LateHead(before)| {
            head_of(&Block { first: &point, ..*block }, before.as_ref())
        });
        Some(head + &row_beside_work(block, &point, &values))
    }

    fn close(&mut self) -> String {
        let mut text = self.pending();
        let rates = std::mem::take(&mut self.rates);
        if !rates.is_empty() && self.has_profile {
            text += &format!("\n# Message Rate Profile\n{}", head_of_windows());
            text.extend(rates.into_iter().map(|(size, sent, rates)| {
                row_of_windows(size, rates.map(|rate| per_message(rate, Some(sent))))
            }));
        }
        text
    }
}

/// Text before the rows of `block`; `before` is the first point of the block before it, of the same
/// benchmark on the same ranks.
fn head_of(block: &Block<'_>, before: Option<&Point>) -> String {
    let origin = block.origin();
    let is_varied = is_varied(block);
    let window = |point: &Point| point.number(WINDOW.name).filter(|_| !is_varied);
    let graph = |point: &Point| ["dimensions", "radius"].map(|name| point.number(name));
    let place = |point: &Point| [MODEL, BUFFERS].map(|name| point.params.get(name).cloned());
    let of = |point: &Point| (window(point), graph(point), place(point));
    // The title of one-sided benchmarks stands above each table.
    let before = before.filter(|_| !block.benchmark.numbers.is_remote());
    let goes_on = before.is_some_and(|before| of(before) == of(block.first));
    let mut text = if goes_on { String::new() } else { banner(block) };
    let titles = titles(block);
    let size = printed_bytes(block, block.first);
    if size.is_some() && block.benchmark.name != NO_DATATYPE {
        text += &format!("# Datatype: {}.\n", datatype(block.first));
    }
    text += &format!("# note: {origin}\n");
    let is_made = |point: &Point| figure(point, GRAPH_NS).is_some() || point.numbers().is_none();
    if block.benchmark.numbers == Numbers::Neighbours && !is_made(block.first) {
        text += "# note: no graph is made, as messages need none on this transport\n";
    }
    if is_varied {
        return text + &head_of_windows();
    }
    if block.benchmark.numbers == Numbers::Startup {
        return text;
    }
    let width = if size.is_some() { WIDTH } else { 0 };
    text += &if size.is_some() { format!("{:<SIZE_WIDTH$}", "# Size") } else { "# ".into() };
    text.extend(titles.iter().map(|title| format!("{title:>width$}")));
    let of_times = times(block, block.first, None, &Values::default());
    let columns = columns(block, block.first, of_times).into_iter();
    text.extend(columns.map(|(title, width, _)| format!("{title:>width$}")));
    text + "\n"
}

/// The row of `point`, of a program whose cases are one series each.
fn row_of(block: &Block<'_>, point: &Point) -> String {
    let means = Means::of(point).filter(|_| point.numbers().is_some());
    let size = printed_bytes(block, point);
    let values = match block.benchmark.numbers {
        Numbers::Bandwidth | Numbers::RemoteRate => vec![megabytes_per_s(point, means)],
        Numbers::MessageRate => {
            let rate = megabytes_per_s(point, means);
            vec![rate, per_message(rate, sent_bytes(point))]
        }
        _ => vec![means.map(|means| means.avg_us)],
    };
    let width = if size.is_some() { WIDTH } else { ALONE_WIDTH };
    let mut text = size.map_or(String::new(), |size| format!("{size:<SIZE_WIDTH$}"));
    let values = values.into_iter().take(titles(block).len());
    text.extend(values.map(|value| format!("{:>width$}", two_digits(value))));
    let of_times = times(block, point, means, &Values::default());
    let columns = columns(block, point, of_times).into_iter();
    text.extend(columns.map(|(_, width, cell)| format!("{cell:>width$}")));
    text + "\n"
}

/// The line about a start: the number of ranks, with their times in whole milliseconds but where they only
/// say hello.
fn row_of_startup(block: &Block<'_>, point: &Point) -> String {
    let n_ranks = or_dash(procs(point));
    if block.benchmark.name == "osu_hello" {
        return format!("This is a test with {n_ranks} processes\n");
    }
    if let (None, Some(means)) = (point.measured(), Means::of(point)) {
        let [min, max, mean] = [means.min_us, means.max_us, means.avg_us].map(|us| whole(us / 1e3));
        return format!("nprocs: {n_ranks}, min: {min} ms, max: {max} ms, avg: {mean} ms\n");
    }
    let ms_of_ranks = Means::of_ranks(point, None).unwrap_or_default();
    let ms_of_ranks: Vec<u64> = ms_of_ranks.into_iter().map(|us| whole(us / 1e3)).collect();
    let n_sampled = ms_of_ranks.len().max(1) as u64;
    let mean = ms_of_ranks.iter().sum::<u64>() / n_sampled;
    let (min, max) = (ms_of_ranks.iter().min(), ms_of_ranks.iter().max());
    let (min, max) = (or_dash(min.copied()), or_dash(max.copied()));
    format!("nprocs: {n_ranks}, min: {min} ms, max: {max} ms, avg: {mean} ms\n")
}

/// The row of an unblocked collective: of `point`, with its times beside work, and the `values`.
fn row_beside_work(block: &Block<'_>, point: &Point, values: &Values) -> String {
    let size = printed_bytes(block, point);
    let width = if size.is_some() { WIDTH } else { beside_work::ALONE_WIDTH };
    let size = size.map_or(String::new(), |size| format!("{size:<SIZE_WIDTH$}"));
    let overall = two_digits(values.overall);
    let of_times = times(block, point, None, values);
    let others = columns(block, point, of_times).into_iter();
    let others: String = others.map(|(_, width, cell)| format!("{cell:>width$}")).collect();
    format!("{size}{overall:>width$}{others}\n")
}

/// Lines before the table: the title, which an empty line precedes but for rates of several pairs.
fn banner(block: &Block<'_>) -> String {
    let legend = if block.benchmark.is_beside_work { beside_work::LEGEND } else { "" };
    let model = block.first.params.get(MODEL).map(|model| model_title(&model.to_string()));
    let model = model.unwrap_or("MPI".into());
    let buffers = buffers(block).unwrap_or_default();
    let title = format!("# OSU {model} {} v7.4\n{buffers}{legend}", block.benchmark.title);
    match block.benchmark.numbers {
        Numbers::MessageRate => (),
        Numbers::Startup => return title,
        numbers if numbers.is_remote() => return title_of_remote(block),
        Numbers::Neighbours => return format!("{}\n{title}", graph(block.first)),
        _ => return format!("\n{title}"),
    }
    let pairs = or_dash(procs(block.first).map(|procs| procs / 2));
    let window = match is_varied(block) {
        true => "varied".into(),
        false => or_dash(block.first.number(WINDOW.name)),
    };
    let rates = if is_varied(block) { "\n# Uni-directional Bandwidth (MB/sec)\n" } else { "" };
    format!("{title}# [ pairs: {pairs} ] [ window size: {window} ]\n{rates}")
}

/// The line with the memories of both buffers, if a text told them.
fn buffers(block: &Block<'_>) -> Option<String> {
    let places = block.first.params.get(BUFFERS)?.to_string().to_uppercase();
    let (from, to) = places.split_once(':')?;
    let letters = [from, to].map(|place| place.chars().next().unwrap_or('-'));
    let [of_from, of_to] = letters;
    Some(format!("{SEND_BUFFER}{from} ({of_from}) and Receive Buffer on {to} ({of_to})\n"))
        .filter(|_| block.first.measured().is_none())
}

/// The one-sided program that prints no datatype.
const NO_DATATYPE: &str = "osu_get_acc_latency";

/// The title of a one-sided program, which starts with its call, and the calls of its window.
fn title_of_remote(block: &Block<'_>) -> String {
    let call = |param: &str, calls: &[(&str, &'static str)]| {
        let word = block.first.params.get(param).map_or("-".into(), Param::to_string);
        calls.iter().find(|(name, _)| *name == word).map_or(word, |(_, call)| (*call).into())
    };
    let title = block.benchmark.title;
    let (memory, sync) = (call("memory", &MEMORIES), call("sync", &SYNCS));
    let model = block.first.params.get(MODEL).map(|model| model_title(&model.to_string()) + " ");
    let (model, buffers) = (model.unwrap_or_default(), buffers(block).unwrap_or_default());
    format!(
        "# OSU {model}{title} v7.4\n{buffers}{WINDOW_CREATION}{memory}\n{SYNCHRONIZATION}{sync}\n"
    )
}

/// The length in the first column of the row of `point`, if it has one.
fn printed_bytes(block: &Block<'_>, point: &Point) -> Option<u64> {
    let of_element = || {
        let element = point.params.get(ELEMENT.name)?;
        Some(Element::find(&element.to_string())?.bytes() as u64)
    };
    match block.benchmark.numbers {
        Numbers::RemoteElement => size_bytes(point).or_else(of_element),
        _ => size_bytes(point),
    }
}

/// Lines about the graph of the neighbours of `point`: the sides of a torus, and the time to make it where
/// the transport made one.
fn graph(point: &Point) -> String {
    let count = |name| usize::try_from(point.number(name)?).ok().filter(|count| *count > 0);
    let dimensions = count("dimensions").filter(|count| *count <= MAX_TORUS_DIMENSIONS);
    let torus = count("procs").zip(dimensions);
    let sides = torus.map_or(Vec::new(), |(procs, dimensions)| torus_sides(procs, dimensions));
    let sides: String = sides.iter().map(|side| format!("{side} ")).collect();
    let sides = if sides.is_empty() { sides } else { format!("{SIDES}{sides}\n") };
    let time_us = figure(point, GRAPH_NS).map(|ns| ns / 1e3);
    format!("{sides}{GRAPH_TIME}{} us.\n", two_digits(time_us))
}

/// Titles of the columns that the program of `block` always has, beside the length.
fn titles(block: &Block<'_>) -> &'static [&'static str] {
    match block.benchmark.numbers {
        _ if block.benchmark.is_beside_work => &[beside_work::OVERALL],
        Numbers::Bandwidth | Numbers::RemoteRate => &["Bandwidth (MB/s)"],
        Numbers::Remote | Numbers::RemoteElement => &["Latency (us)"],
        Numbers::MessageRate if has_word(block, NO_MESSAGE_RATE) => &["MB/s"],
        Numbers::MessageRate => &["MB/s", "Messages/s"],
        _ => &["Avg Latency(us)"],
    }
}

/// Name in MPI of the type of messages of `point`, or of the elements of a reduction; characters else.
fn datatype(point: &Point) -> String {
    let name = [DATATYPE.name, ELEMENT.name].into_iter().find_map(|name| point.params.get(name));
    format!("MPI_{}", name.map_or("char".into(), Param::to_string).to_uppercase())
}

/// Bytes that travel in one message: all of its length, or those of the blocks of its layout.
fn sent_bytes(point: &Point) -> Option<u64> {
    figure(point, DATA_BYTES).map(whole).or_else(|| size_bytes(point))
}

/// Messages of `size` bytes a second, at a rate in MB a second; `None` for messages without bytes.
fn per_message(megabytes_per_s: Option<f64>, size: Option<u64>) -> Option<f64> {
    let size = size.filter(|size| *size > 0)?;
    Some(megabytes_per_s? * 1e6 / size as f64)
}

/// Rate of one operation, over its mean time.
fn megabytes_per_s(point: &Point, means: Option<Means>) -> Option<f64> {
    let bytes = point.value()?.bytes_per_op?;
    Some(bytes as f64 / means?.avg_us)
}

/// The percentile `number` over operations: of times in us, or of rates in MB/s from the other end.
fn percentile(point: &Point, number: u8, is_rate: bool) -> Option<f64> {
    let (name, unit) = percentile_figure(number, is_rate);
    if let Some(printed) = figure(point, &name) {
        return Some(printed / unit);
    }
    let Measured { numbers, reps, samples, .. } = point.measured()?;
    let samples = samples.as_ref().filter(|samples| samples.is_length(samples.data.len()))?;
    let [n_ranks, n_samples] = samples.shape;
    let divisor = f64::from(reps.inner) * f64::from(numbers.value.divisor) * n_ranks as f64;
    let of_ranks = |sample: usize| samples.data.iter().skip(sample).step_by(n_samples.max(1));
    let time_us = |sample| of_ranks(sample).map(|ns| *ns as f64).sum::<f64>() / divisor / 1e3;
    let mut times_us: Vec<f64> = (0..n_samples).map(time_us).collect();
    times_us.sort_by(f64::total_cmp);
    let share = f64::from(number) / 100.0;
    if times_us.is_empty() {
        None
    } else if is_rate {
        Some(numbers.value.bytes_per_op? as f64 / quantile(&times_us, 1.0 - share))
    } else {
        Some(quantile(&times_us, share))
    }
}

/// True if the program of `block` prints rates.
fn is_rate(block: &Block<'_>) -> bool {
    let numbers = block.benchmark.numbers;
    matches!(numbers, Numbers::Bandwidth | Numbers::MessageRate | Numbers::RemoteRate)
}

/// True if the columns of `block` are windows.
fn is_varied(block: &Block<'_>) -> bool {
    block.benchmark.numbers == Numbers::MessageRate && has_word(block, VARIED)
}

/// True if the label of the run has `word`.
fn has_word(block: &Block<'_>, word: &str) -> bool {
    requested(block).any(|other| other == word)
}

/// True if `number` is a percentile that OSU can print.
pub fn is_percentile(number: &u8) -> bool {
    (1..=99).contains(number)
}

/// Name of the column with the outcome of the check in the label of a run.
const VALIDATION: &str = "validation";
/// Words there of rates of several pairs: a column for each window, and no messages per second.
pub const VARIED: &str = "windows";
/// See [`VARIED`].
pub const NO_MESSAGE_RATE: &str = "no_message_rate";

/// The columns that the label of the run asks for.
fn requested<'a>(block: &Block<'a>) -> impl Iterator<Item = &'a str> + Clone {
    let label = block.run.and_then(|run| run.labels.get(COLUMNS_LABEL));
    label.map_or("", String::as_str).split(',')
}

/// A column: title, width, and the cell of a point.
type Cell = (String, usize, String);

/// The columns with more times than the first: the `values` beside work, or the `means` of a blocked program
/// on request.
fn times(block: &Block<'_>, point: &Point, means: Option<Means>, values: &Values) -> Vec<Cell> {
    let is_full = has_word(block, "full");
    if block.benchmark.is_beside_work {
        return values.columns(is_full);
    }
    let mean = |of: fn(Means) -> f64| two_digits(means.map(of));
    let columns = [
        ("Min Latency(us)".into(), WIDTH, mean(|means| means.min_us)),
        ("Max Latency(us)".into(), WIDTH, mean(|means| means.max_us)),
        ("Iterations".into(), ITERATIONS_WIDTH, or_dash(repetitions(point))),
    ];
    if is_full { columns.into() } else { Vec::new() }
}

/// The columns of `point` behind those of its length and of its first number: those with `times`, and those
/// that OSU prints on request, in its order.
fn columns(block: &Block<'_>, point: &Point, times: Vec<Cell>) -> Vec<Cell> {
    let (words, is_rate) = (requested(block), is_rate(block));
    let mut columns = times;
    if words.clone().any(|word| word == VALIDATION) {
        let outcome = match (point.check.status, block.benchmark.numbers.is_remote()) {
            (CheckStatus::Pass, false) => "Pass",
            (CheckStatus::Fail, false) => "Fail",
            (CheckStatus::Skipped, false) => "-",
            (CheckStatus::Pass, true) => "passed",
            (CheckStatus::Fail, true) => "failed",
            (CheckStatus::Skipped, true) => "skipped",
        };
        columns.push(("Validation".into(), WIDTH, outcome.into()));
    }
    let of = if is_rate { "BW(MB/s)" } else { "Lat(us)" };
    let numbers = words.filter_map(|word| word.strip_prefix('p')?.parse().ok());
    let has = |number: &u8| figure(block.first, &percentile_figure(*number, is_rate).0).is_some();
    let of_text = (1..=99).filter(has);
    columns.extend(numbers.filter(is_percentile).chain(of_text).map(|number| {
        let cell = two_digits(percentile(point, number, is_rate));
        (format!("P{number} Tail {of}"), WIDTH, cell)
    }));
    if block.first.params.get(LAYOUT).is_some() {
        let data_bytes = figure(point, DATA_BYTES).map(whole);
        columns.push(("Transmit Size".into(), WIDTH, or_dash(data_bytes)));
    }
    columns
}

#[cfg(test)]
mod tests;
