//! Rows of a result file: what an index holds of it.
//!
//! The file is read by the reader of all commands, so that the database admits what `validate` does.
//! Nothing but the bytes decides about a row.

mod excerpt;

use std::collections::BTreeSet;

use comet_report::places::line_of;
use comet_report::read::{self, Bounds, Problem, ReadError};
use comet_report::record::{
    AxisFacts, EndStatus, KernelFacts, MESH, Name, Point, RANKS, Run, SampleSync,
};
use comet_report::runs::{RunRecords, split};
use comet_report::verdict::verdict;

use crate::Error;
use crate::alert::Kind;
use crate::card::{Card, time_ms};
use crate::error::MAX_PROBLEMS;
use crate::id::{BlobId, Id};
use crate::rows::{LabelRow, MachineRow, PointRow, RunRow, SeriesRow, Table};
use crate::store::Value;

pub(crate) use excerpt::{excerpt, is_point};

/// The most runs of a file.
const MAX_RUNS: usize = 10_000;
/// The most points of a run.
const MAX_POINTS: usize = 1_000_000;
/// The most labels of a run.
const MAX_LABELS: usize = 64;
/// The most bytes of a name or a label.
const MAX_TEXT: usize = 1000;
/// The most bytes of a title.
const MAX_TITLE: usize = 100;
/// The most points of launches of a file.
const MAX_LAUNCHES: usize = 1_000_000;
/// The most bytes of the figures of the launches of a point.
const MAX_FIGURES: usize = 100_000;
/// The most ranks, and the most rows or columns of a mesh.
const MAX_RANKS: u64 = 100_000;
/// The most ranks of a kernel in rounds.
const MAX_IN_ROUNDS: u64 = 10_000;
/// The most pairs of ranks in rounds, of all lengths of a run together: reports have a cell for each.
const MAX_PAIRS: u64 = 20_000_000;

/// Rows of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunRows {
    /// The run.
    pub run: RunRow,
    /// Its machine.
    pub machine: MachineRow,
    /// Its labels.
    pub labels: Vec<LabelRow>,
    /// The curves of its points, each once.
    pub series: Vec<SeriesRow>,
    /// Its points.
    pub points: Vec<PointRow>,
}

/// The runs in `bytes`, in the order of the file.
///
/// # Errors
/// If a line is no record, belongs to no run, or if there is no run; with all such lines.
pub fn runs(bytes: &[u8]) -> Result<Vec<RunRecords>, Error> {
    let bounds = Bounds { runs: MAX_RUNS, launches: MAX_LAUNCHES, problems: MAX_PROBLEMS };
    let read = match read::parse_bounded(bytes, bounds) {
        Ok(read) => read,
        Err(ReadError::Line { line, message, .. }) => {
            let mut problems = read::first_problems(bytes, MAX_PROBLEMS);
            if problems.is_empty() {
                problems.push(Problem { line, message });
            }
            return Err(Error::Invalid(problems));
        }
        Err(error) => return Err(Error::invalid(0, error.to_string())),
    };
    if !read.problems.is_empty() {
        let problems = read.problems.into_iter().take(MAX_PROBLEMS);
        return Err(Error::Invalid(problems.collect()));
    }
    let runs: Vec<RunRecords> =
        split(read.records).into_iter().filter(|run| run.run.is_some()).collect();
    if runs.is_empty() {
        return Err(Error::invalid(0, "there is no run in the file"));
    }
    Ok(runs)
}

/// The rows of the blob `id`, which holds `bytes` and has this `card`.
///
/// # Errors
/// As [`runs`], and if names or numbers of things in it are beyond what an index holds.
pub fn rows(id: BlobId, bytes: &[u8], card: &Card) -> Result<Vec<RunRows>, Error> {
    let runs = runs(bytes)?;
    let place = |(place, run): (usize, RunRecords)| rows_of(id, number(place), run, card);
    runs.into_iter().enumerate().map(place).collect()
}

/// The time in an id of version 7, in milliseconds since 1970.
fn id_ms(run_id: &str) -> Option<i64> {
    let digits: String = run_id.chars().filter(char::is_ascii_hexdigit).take(12).collect();
    i64::from_str_radix(&digits, 16).ok()
}

fn rows_of(blob: BlobId, place: i64, run: RunRecords, card: &Card) -> Result<RunRows, Error> {
    let facts = run.run.as_deref().expect("runs without facts are left out");
    check(facts, &run)?;
    let id = Id::of("run", &[&blob.to_string(), &place.to_string()]);
    // In lists an import that does not know its start stands where it was made.
    let is_dated = !facts.started_at.is_empty();
    let of_id = || if is_dated { None } else { id_ms(&facts.run_id) };
    let started_ms = time_ms(&facts.started_at).or_else(of_id).ok_or_else(|| {
        let found = short(&facts.started_at, MAX_TITLE);
        Error::invalid(
            0,
            format!("run {} started at {found}, expected an RFC 3339 time", facts.run_id),
        )
    })?;
    let machine = machine(facts);
    let count = |statuses: &[&str]| {
        let is_counted = |point: &&Point| statuses.contains(&&*Name(point.status()).to_string());
        number(run.points.iter().filter(is_counted).count())
    };
    let label = |name: &str| facts.labels.get(name).filter(|text| !text.is_empty()).cloned();
    let mut row = RunRow {
        id,
        blob,
        place,
        uuid: facts.run_id.clone(),
        started_ms,
        machine: machine.id,
        title: title(facts, &run.points),
        program: format!("{} {}", facts.suite.name, facts.suite.version),
        backend: facts.transport.backend.clone(),
        mpi: label("mpi").or_else(|| facts.transport.fact("library").map(first_line)),
        network: label("network").or_else(|| network(facts)),
        ranks: number(facts.world.size),
        // A simulation has none, as it says by a 0.
        nodes: facts.world.nodes.filter(|n| *n > 0).map(number),
        fingerprint: facts.fingerprint.clone(),
        ending: run.end.as_ref().map(|end| Name(end.status).to_string()),
        verdict: verdict(&run).map(|verdict| Name(verdict.word).to_string()),
        n_ok: count(&["ok"]),
        n_skipped: count(&["skipped"]),
        n_failed: count(&["failed", "interrupted"]),
        n_check_failed: count(&["check_failed"]),
        received_ms: card.received_ms,
        submitter: card.submitter.clone(),
        state: card.state,
        subject: id,
        is_dated,
    };
    let labels = facts.labels.iter().map(|(name, value)| LabelRow {
        run: id,
        name: name.clone(),
        value: value.clone(),
    });
    let (mut known, mut series, mut points) = (BTreeSet::new(), Vec::new(), Vec::new());
    for (place, point) in run.points.iter().enumerate() {
        let curve = curve(point);
        let setting = setting(facts, point);
        points.push(point_row((point, facts), id, number(place), &curve, setting));
        if known.insert(curve.id) {
            series.push(curve);
        }
    }
    row.subject = subject(&row, &points);
    let rows = RunRows { run: row, machine, labels: labels.collect(), series, points };
    check_rows(&rows)?;
    Ok(rows)
}

/// The subject of `run`, which has these points: what it measured, and where. One that is not complete, or has
/// no numbers or no start, is a subject of its own.
fn subject(run: &RunRow, points: &[PointRow]) -> Id {
    let numbered = points.iter().filter(|point| point.n.is_some());
    let numbers: BTreeSet<_> =
        numbered.map(|of| (of.series, of.x, of.procs, &of.setting)).collect();
    let has_number = run.is_dated && !numbers.is_empty();
    if !has_number || run.ending != Some(Name(EndStatus::Complete).to_string()) {
        return run.id;
    }
    let Kind { mpi, network, .. } = Kind::of(run, "");
    let of_run = format!("{} {} {:?}", run.machine, run.ranks, run.nodes);
    let text = |(series, x, procs, setting): (Id, Option<i64>, Option<i64>, &String)| {
        format!("{series} {x:?} {procs:?} {setting}\n")
    };
    let numbers: String = numbers.into_iter().map(text).collect();
    Id::of("subject", &[&of_run, &mpi, &network, &numbers])
}

/// Refuses what no run of CoMet has, and what would make an index slow.
fn check(facts: &Run, run: &RunRecords) -> Result<(), Error> {
    let counts =
        [("labels", facts.labels.len(), MAX_LABELS), ("points", run.points.len(), MAX_POINTS)];
    if let Some((what, found, most)) = counts.iter().find(|(_, found, most)| found > most) {
        let name = short(&facts.run_id, MAX_TITLE);
        return Err(Error::invalid(
            0,
            format!("run {name} has {found} {what}, expected at most {most}"),
        ));
    }
    check_ranks(facts, &run.points)?;
    let of_axes = facts.kernels.iter().flat_map(|kernel| &kernel.axes);
    let of_axes = of_axes.flat_map(|axis| [&*axis.name, &axis.unit]);
    let of_labels = facts.labels.iter().flat_map(|(name, value)| [name.as_str(), value]);
    let of_points = run.points.iter().flat_map(|point| {
        let variant = point.variant.as_deref().unwrap_or_default();
        [&*point.suite, &*point.kernel, &*point.class, variant, &*point.key]
    });
    let of_run = [&*facts.run_id, &facts.suite.name, &facts.suite.version, &facts.fingerprint];
    let mut texts = of_labels.chain(of_points).chain(of_run).chain(of_axes);
    texts.find(|text| text.len() > MAX_TEXT).map_or(Ok(()), |text| Err(too_long(text, MAX_TEXT)))
}

/// Refuses numbers of ranks for which a report would take too much memory.
fn check_ranks(facts: &Run, points: &[Point]) -> Result<(), Error> {
    let beyond = |what: &str, found: u64, most: u64| {
        let name = short(&facts.run_id, MAX_TITLE);
        let message = format!("run {name} has {found} {what}, expected at most {most}");
        Err(Error::invalid(0, message))
    };
    let mesh = &facts.world.mesh;
    for n in [facts.world.size, mesh.rows, mesh.cols].map(|n| n as u64) {
        if n > MAX_RANKS {
            return beyond("ranks, rows or columns", n, MAX_RANKS);
        }
    }
    let mut worlds = BTreeSet::new();
    for point in points {
        let numbers = [RANKS, MESH[0], MESH[1]].map(|name| point.params.number(name));
        let most = numbers.into_iter().flatten().max().unwrap_or(0);
        if most > MAX_RANKS {
            return beyond("ranks, rows or columns", most, MAX_RANKS);
        }
        let is_round = |axis: &AxisFacts| axis.kind.as_str() == "round";
        if let Some(n_ranks) = numbers[0].filter(|_| point.facts.axes.iter().any(is_round)) {
            if n_ranks > MAX_IN_ROUNDS {
                return beyond("ranks in rounds", n_ranks, MAX_IN_ROUNDS);
            }
            let length = length(&point.facts).and_then(|(name, _)| point.params.number(name));
            worlds.insert((n_ranks, length));
        }
    }
    let n_pairs = worlds.iter().map(|(n_ranks, _)| n_ranks * n_ranks).sum();
    if n_pairs > MAX_PAIRS {
        return beyond("pairs of ranks in rounds", n_pairs, MAX_PAIRS);
    }
    Ok(())
}

/// Refuses texts beyond what an index holds.
fn check_rows(rows: &RunRows) -> Result<(), Error> {
    let RunRows { run, machine, series, points, .. } = rows;
    check_row(run)?;
    check_row(machine)?;
    series.iter().try_for_each(check_row)?;
    let mut figures = points.iter().filter_map(|point| point.launches_ns.as_deref());
    let long = figures.find(|text| text.len() > MAX_FIGURES);
    long.map_or(Ok(()), |text| Err(too_long(text, MAX_FIGURES)))
}

fn check_row(row: &impl Table) -> Result<(), Error> {
    let is_long = |value: &Value<'_>| matches!(value, Value::Text(text) if text.len() > MAX_TEXT);
    match row.values().into_iter().find(is_long) {
        Some(Value::Text(text)) => Err(too_long(&text, MAX_TEXT)),
        _ => Ok(()),
    }
}

/// The refusal of `text`, which has more than `most` bytes.
fn too_long(text: &str, most: usize) -> Error {
    let n_bytes = text.len();
    let start = short(text, 30);
    Error::invalid(0, format!("the text {start}… has {n_bytes} bytes, expected at most {most}"))
}

/// The machine of the run `facts`.
fn machine(facts: &Run) -> MachineRow {
    let label = |name: &str| facts.labels.get(name).filter(|text| !text.is_empty()).cloned();
    let first = facts.machines.first();
    let is_simulated = facts.transport.backend.as_deref() == Some("sim");
    let name = facts.machine().unwrap_or_else(|| "unknown".into());
    let name = short(&name, MAX_TITLE).to_owned();
    let cpu = first.filter(|_| !is_simulated).and_then(|machine| machine.cpu.model.clone());
    let cpu = cpu.filter(|text| !text.is_empty());
    let site = label("site");
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let id = Id::of("machine", &[&name, &text(&cpu), &text(&site)]);
    MachineRow { id, name, cpu, site }
}

/// The network between the ranks of the run `facts`, as far as it says.
fn network(facts: &Run) -> Option<String> {
    if facts.transport.backend.as_deref() == Some("sim") {
        return Some("simulated".into());
    }
    if facts.world.nodes == Some(1) {
        return Some("within a node".into());
    }
    let machine = facts.machines.first()?;
    let port = machine
        .infiniband
        .iter()
        .find_map(|port| Some([port.link_layer.as_deref()?, port.rate.as_deref()?].join(" ")));
    port.or_else(|| {
        let is_up = |of: &&comet_report::record::Interface| of.state.as_deref() == Some("up");
        let fastest = machine.interfaces.iter().filter(is_up).max_by_key(|of| of.mbit_per_s)?;
        let rate = fastest.mbit_per_s.map(|rate| format!(" {rate} Mbit/s"));
        Some(format!("{}{}", fastest.driver.as_deref()?, rate.unwrap_or_default()))
    })
}

/// The label `name` of the run `facts`, or its kernels.
fn title(facts: &Run, points: &[Point]) -> String {
    if let Some(name) = facts.labels.get("name").filter(|name| !name.is_empty()) {
        return short(name, MAX_TITLE).into();
    }
    let mut kernels: Vec<&str> = facts.kernels.iter().map(|of| of.id.as_str()).collect();
    let of_points: Vec<String>;
    if kernels.is_empty() {
        of_points = points.iter().map(Point::id).collect();
        kernels = of_points.iter().map(String::as_str).collect();
        kernels.dedup();
    }
    let all = kernels.join(", ");
    if all.len() <= MAX_TITLE {
        return all;
    }
    format!("{} and {} more", short(kernels[0], MAX_TITLE), kernels.len() - 1)
}

/// The curve that `point` lies on.
fn curve(point: &Point) -> SeriesRow {
    let length = length(&point.facts);
    let numbers = point.numbers();
    let value = numbers.map(|numbers| &numbers.value);
    // An empty text would have the id of none.
    let filled = |text: Option<&str>| text.filter(|text| !text.is_empty()).map(str::to_owned);
    let mut others = vec![RANKS, MESH[0], MESH[1]];
    others.extend(length.map(|(name, _)| name));
    let mut series = SeriesRow {
        id: Id::from_number(0),
        suite: point.suite.to_string(),
        kernel: point.kernel.to_string(),
        variant: filled(point.variant.as_deref()),
        class: point.class.to_string(),
        quantity: filled(value.map(|value| &*value.quantity)),
        definition: filled(value.map(|value| &*value.definition)),
        rank_stat: value.map(|value| Name(value.rank_stat).to_string()),
        quote: value.map(|value| Name(value.quote).to_string()),
        params: point.params.without(&others).to_string(),
        x: length.map(|(name, _)| name.to_owned()),
        x_unit: length.map(|(_, unit)| unit.to_owned()),
    };
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let parts = [
        &series.suite,
        &series.kernel,
        &text(&series.variant),
        &series.class,
        &text(&series.quantity),
        &text(&series.definition),
        &text(&series.rank_stat),
        &text(&series.quote),
        &series.params,
        &text(&series.x),
        &text(&series.x_unit),
    ];
    series.id = Id::of("series", &parts.map(String::as_str));
    series
}

/// Name and unit of the length of a kernel: the first axis of bytes, or else of data in another unit.
fn length(facts: &KernelFacts) -> Option<(&str, &str)> {
    let unit = |name: &str| facts.axis(name).map_or("", |axis| axis.unit.as_str());
    let mut sizes = facts.sizes();
    let first = facts.sizes().next()?;
    let name = sizes.find(|name| unit(name) == "B").unwrap_or(first);
    Some((name, unit(name))).filter(|(name, _)| !name.is_empty())
}

/// What keeps the number of `point` in the run `facts` apart from others of its curve at the same length and
/// number of ranks, by its key: the mesh, the way in which ranks start together, and the level of threads; the
/// usual ones without words.
fn setting(facts: &Run, point: &Point) -> String {
    let [rows, cols] = MESH.map(|name| point.params.number(name));
    let mesh = rows.zip(cols).map(|(rows, cols)| format!("mesh {rows}x{cols}"));
    let sync = point.sync().filter(|sync| *sync != SampleSync::Window).map(Name);
    let threads = facts.transport.thread_level().filter(|level| *level != "single");
    let threads = threads.map(|level| format!("threads {}", short(level, MAX_TITLE)));
    let parts = [mesh, sync.map(|sync| format!("sync {sync}")), threads];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn point_row(
    (point, facts): (&Point, &Run),
    run: Id,
    place: i64,
    series: &SeriesRow,
    setting: String,
) -> PointRow {
    let numbers = point.numbers();
    let time = numbers.map(|numbers| &numbers.time_ns);
    let [low_ns, high_ns] = point.interval_ns().map_or([None; 2], |ends| ends.map(Some));
    let x = series.x.as_ref().and_then(|name| point.params.number(name));
    let launches = point
        .launches
        .as_ref()
        .map(|of| of.quoted_ns.iter().map(f64::to_string).collect::<Vec<_>>().join(" "));
    PointRow {
        run,
        place,
        series: series.id,
        x: x.and_then(|x| x.try_into().ok()),
        procs: point.params.ranks().and_then(|procs| procs.try_into().ok()),
        setting,
        key: point.key.clone(),
        status: Name(point.status()).to_string(),
        n: time.map(|time| number(time.n)),
        quoted_ns: numbers.and_then(|numbers| numbers.quoted_ns),
        low_ns,
        high_ns,
        min_ns: time.map(|time| time.min),
        p25_ns: time.map(|time| time.p25),
        median_ns: time.map(|time| time.median),
        p75_ns: time.map(|time| time.p75),
        p90_ns: time.map(|time| time.p90),
        p99_ns: time.map(|time| time.p99),
        max_ns: time.map(|time| time.max),
        mean_ns: time.map(|time| time.mean),
        stddev_ns: time.and_then(|time| time.stddev),
        bytes_per_s: numbers.and_then(|numbers| Some(numbers.rate.as_ref()?.bytes_per_s)),
        launches_ns: launches,
        line_ns: line_of(point, Some(facts)),
    }
}

fn first_line(text: &str) -> String {
    short(text.lines().next().unwrap_or_default(), MAX_TITLE).to_owned()
}

/// The start of `text`, of at most `most` bytes.
fn short(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or(0)]
}

fn number(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
