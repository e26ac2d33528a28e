//! Reads result files: tolerant of what a killed run leaves behind, strict about everything else.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufRead as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::journal::{self, Attempts};
use crate::launches;
use crate::older;
use crate::plain;
use crate::record::{EndStatus, KernelFacts, Name, PointCounts, Record, SCHEMA};

/// All bytes of `file`, whose position its writers share and which stays where it is.
///
/// # Errors
/// If the file cannot be read.
pub fn whole_file(file: &File) -> io::Result<Vec<u8>> {
    let n_bytes = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
    let mut bytes = vec![0; n_bytes];
    file.read_exact_at(&mut bytes, 0)?;
    Ok(bytes)
}

/// The records of one file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Records {
    /// The records, in the order of the file.
    pub records: Vec<Record>,
    /// Number, from 1, of a last line that was only written in part, because the run was killed or
    /// is still running; it is not among the records.
    pub incomplete_line: Option<usize>,
    /// Records that belong to no run, to another one, or after its end, in the order of the lines.
    pub problems: Vec<Problem>,
}

/// A file that is no result file, or cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The system refused.
    #[error("cannot read {} (does it exist, and may you read it?)", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// A line is no record.
    #[error("{}line {line}: {message} {REMEDY}", prefix(path))]
    Line {
        /// The file, where it is one.
        path: Option<PathBuf>,
        /// Number of the line, from 1.
        line: usize,
        /// The error.
        message: String,
    },
}

impl ReadError {
    /// This error, which is about the file `path`.
    pub(crate) fn of_file(self, path: &Path) -> Self {
        match self {
            Self::Line { line, message, .. } => {
                Self::Line { path: Some(path.into()), line, message }
            }
            other => other,
        }
    }
}

/// Reads the file `path`.
///
/// # Errors
/// If the file cannot be read, or if a line other than the last is no record of
/// `comet.record/1`.
pub fn read_records(path: &Path) -> Result<Records, ReadError> {
    parse_records(&read(path)?).map_err(|error| error.of_file(path))
}

/// Reads the text of a result file. A run that died among its launches gets the points that they
/// make, and all points get the samples of their launches. Of a suite that was taken up again, each unit
/// has one run: the attempt that is done, or else the last one.
///
/// # Errors
/// If a line is no record of `comet.record/1`, unless it is the last and lacks its newline.
pub fn parse_records(text: &[u8]) -> Result<Records, ReadError> {
    Ok(parse_lines(text)?.completed())
}

/// Reads the text of a stranger's result file as [`parse_records`] does. One with problems gets no further
/// than to these, and one beyond `bounds` no further than to the line that is.
///
/// # Errors
/// As [`parse_records`], and if the file holds more than `bounds`.
pub fn parse_bounded(text: &[u8], bounds: Bounds) -> Result<Records, ReadError> {
    let found = parse_within(text, bounds)?;
    Ok(if found.problems.is_empty() { found.completed() } else { found })
}

/// The most that a file may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Runs.
    pub runs: usize,
    /// Points of launches.
    pub launches: usize,
    /// Problems; those that follow are not found.
    pub problems: usize,
}

impl Bounds {
    /// No bounds.
    const NONE: Self = Self { runs: usize::MAX, launches: usize::MAX, problems: usize::MAX };

    /// Takes `record` off; otherwise the bound that it is beyond.
    fn take(&mut self, record: &Record) -> Option<&'static str> {
        let (left, what) = match record {
            Record::Run(_) => (&mut self.runs, "runs"),
            Record::Launch(_) => (&mut self.launches, "points of launches"),
            _ => return None,
        };
        let is_beyond = *left == 0;
        *left = left.saturating_sub(1);
        is_beyond.then_some(what)
    }
}

impl Records {
    fn completed(mut self) -> Self {
        self.records = launches::completed(journal::counted(self.records));
        self
    }
}

/// Number, from 1, of a last line of `text` that was only written in part.
pub fn incomplete_line(text: &[u8]) -> Option<usize> {
    let (number, last) = (1..).zip(text.split(|byte| *byte == b'\n')).last()?;
    (!last.is_empty() && parse(last).is_err()).then_some(number)
}

/// The records of a result file as they are.
pub(crate) fn parse_lines(text: &[u8]) -> Result<Records, ReadError> {
    parse_within(text, Bounds::NONE)
}

fn parse_within(text: &[u8], bounds: Bounds) -> Result<Records, ReadError> {
    let mut left = bounds;
    let (mut found, mut kernels) = (Records::default(), BTreeMap::new());
    let mut checker = Checker::default();
    for line in lines(text) {
        match line.record {
            Ok(mut record) => {
                if let Some(what) = left.take(&record) {
                    let message = format!("the file has more {what} than are admitted");
                    return Err(ReadError::Line { path: None, line: line.number, message });
                }
                checker.record(line.number, &record);
                if checker.validation.problems.len() >= bounds.problems {
                    break;
                }
                describe(&mut record, &mut kernels);
                found.records.push(record);
            }
            Err(_) if line.lacks_newline => found.incomplete_line = Some(line.number),
            Err(message) => {
                return Err(ReadError::Line { path: None, line: line.number, message });
            }
        }
    }
    found.problems = checker.validation.problems;
    Ok(found)
}

/// Takes the descriptions of the kernels of a run, by id, and gives each point that of its kernel.
fn describe(record: &mut Record, kernels: &mut BTreeMap<String, Arc<KernelFacts>>) {
    match record {
        Record::Run(run) => {
            // Those of minor version 5 have fewer kinds of axes, and no evaluation.
            let known = run.kernels.iter().filter(|_| run.schema_minor >= 6);
            *kernels = known.map(|facts| (facts.id.clone(), Arc::new(facts.clone()))).collect();
        }
        Record::Launch(point) | Record::Point(point) => {
            let known = kernels.get(&point.id()).cloned();
            point.facts = known.unwrap_or_else(|| Arc::new(older::facts(point)));
        }
        Record::Model(_) | Record::Event(_) | Record::End(_) | Record::Unit(_) => (),
    }
}

/// Runs and problems of a result file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Validation {
    /// The runs in the file.
    pub runs: Vec<RunSummary>,
    /// Errors, in the order of the lines; none, if the file is valid.
    pub problems: Vec<Problem>,
}

/// One run of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct RunSummary {
    /// Its id, or `None` if it died before it wrote one.
    pub run_id: Option<String>,
    /// Its points.
    pub points: PointCounts,
    /// Status of the run as its `end` says; `None` if there is no `end`.
    pub end: Option<EndStatus>,
    /// True if another attempt at its unit of a suite counts instead.
    pub is_replaced: bool,
}

/// Ending of a run without an `end`.
pub(crate) const NO_END: &str = "no end: the run was killed or is still running";

impl RunSummary {
    /// Ending of the run in a few words.
    pub fn ending(&self) -> String {
        self.end.map_or(NO_END.into(), |status| Name(status).to_string())
    }
}

/// What may help where a line is no record.
const REMEDY: &str = "(is this a file that comet-run wrote?)";

/// One thing that is wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Number of the line, from 1.
    pub line: usize,
    /// The error.
    pub message: String,
}

/// Checks every line of the file `path`: that it is a record, that each run starts with `run`,
/// stops at `end`, and that all of its lines name the same run. A last line that was only written
/// in part is no problem.
///
/// # Errors
/// If the file cannot be read.
pub fn validate(path: &Path) -> Result<Validation, ReadError> {
    Ok(validate_text(&read(path)?))
}

/// Checks every line of `text` in the same way.
pub fn validate_text(text: &[u8]) -> Validation {
    validate_until(text, usize::MAX)
}

/// The first `most` problems of `text`, in the same way; what follows them is not read.
pub fn first_problems(text: &[u8], most: usize) -> Vec<Problem> {
    let mut problems = validate_until(text, most).problems;
    problems.truncate(most);
    problems
}

fn validate_until(text: &[u8], most: usize) -> Validation {
    let mut checker = Checker::default();
    for line in lines(text) {
        if checker.validation.problems.len() >= most {
            break;
        }
        match line.record {
            Ok(record) => checker.record(line.number, &record),
            Err(_) if line.lacks_newline => (),
            Err(message) => checker.problem(line.number, format!("{message} {REMEDY}")),
        }
    }
    let Checker { mut validation, attempts, .. } = checker;
    for run in &mut validation.runs {
        run.is_replaced = run.run_id.as_ref().is_some_and(|id| attempts.replaced.contains(id));
    }
    validation
}

/// Follows the order rules through a file.
#[derive(Debug, Default)]
struct Checker {
    validation: Validation,
    /// The keys of points with numbers so far, with the number of their launch.
    keys: BTreeSet<(Option<u32>, String)>,
    attempts: Attempts,
}

impl Checker {
    fn record(&mut self, line: usize, record: &Record) {
        if let Some(message) = self.attempts.record(record) {
            self.problem(line, message);
        }
        match record {
            Record::Run(run) => {
                let (run_id, points) = (Some(run.run_id.clone()), PointCounts::default());
                self.push(run_id, points);
                self.keys.clear();
            }
            Record::Launch(point) | Record::Point(point) => {
                let key = (point.launch, point.key.clone());
                if point.numbers().is_some() && !self.keys.insert(key) {
                    let message = format!("the point with key {} is there twice", point.key);
                    self.problem(line, message);
                }
                let run = self.open_run(line, Some(&point.run_id));
                // The end counts what all launches make together.
                if point.launch.is_none() {
                    run.points.add(point.status());
                }
            }
            Record::Model(model) => {
                self.open_run(line, Some(&model.run_id));
            }
            Record::Event(event) => {
                self.open_run(line, event.run_id.as_ref());
            }
            Record::Unit(_) => (),
            Record::End(end) => {
                let run = self.open_run(line, end.run_id.as_ref());
                run.end = Some(end.status);
                if run.points != end.points {
                    let (counted, stated) = (run.points.total(), end.points.total());
                    let message = format!("the end states {stated} points, there are {counted}");
                    self.problem(line, message);
                }
            }
        }
    }

    fn push(&mut self, run_id: Option<String>, points: PointCounts) {
        let run = RunSummary { run_id, points, end: None, is_replaced: false };
        self.validation.runs.push(run);
    }

    /// The run that a line naming `run_id` belongs to.
    fn open_run(&mut self, line: usize, run_id: Option<&String>) -> &mut RunSummary {
        let last = self.validation.runs.last();
        let problem = match last {
            // A run that died at once leaves an event and an end without an id.
            None if run_id.is_none() => None,
            None => Some("there is no run record before this line".to_owned()),
            Some(run) if run.end.is_some() => {
                Some("this line comes after the end of its run".to_owned())
            }
            Some(run) if run.run_id.as_ref() != run_id => {
                let name = |id: Option<&String>| id.map_or("no run".into(), Clone::clone);
                let (found, expected) = (name(run_id), name(run.run_id.as_ref()));
                Some(format!("this line is of {found}, the run before it is {expected}"))
            }
            Some(_) => None,
        };
        if last.is_none() {
            let (run_id, points) = (run_id.cloned(), PointCounts::default());
            self.push(run_id, points);
        }
        if let Some(message) = problem {
            self.problem(line, message);
        }
        self.validation.runs.last_mut().expect("a run was pushed if there was none")
    }

    fn problem(&mut self, line: usize, message: String) {
        self.validation.problems.push(Problem { line, message });
    }
}

/// One line of a file.
struct Line {
    number: usize,
    lacks_newline: bool,
    record: Result<Record, String>,
}

fn lines(text: &[u8]) -> impl Iterator<Item = Line> {
    (1..).zip(pieces(text)).map(|(number, piece)| Line {
        number,
        lacks_newline: !piece.ends_with(b"\n"),
        record: parse(piece),
    })
}

/// The lines of `text`, each with its newline; a slice that is split by a closure is looked at byte by byte.
fn pieces(mut text: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (line, mut rest) = (text, text);
        rest.skip_until(b'\n').ok()?;
        text = rest;
        Some(&line[..line.len() - rest.len()]).filter(|line| !line.is_empty())
    })
}

/// Starts of the lines of points and of those of launches, as CoMet writes them.
pub const STARTS_OF_POINTS: [&[u8]; 2] = [b"{\"type\":\"point\",", b"{\"type\":\"launch\","];

fn parse(line: &[u8]) -> Result<Record, String> {
    let text = &*plain::json(line);
    if !text.trim_ascii_start().starts_with(b"{") {
        return Err("not a record, which is an object of JSON".into());
    }
    // Nearly all lines: serde keeps an object whose kind it does not know in memory first, which takes twice
    // the time.
    let [is_point, is_launch] = STARTS_OF_POINTS.map(|start| text.starts_with(start));
    let record = match (is_point, is_launch) {
        (true, _) => serde_json::from_slice(text).map(Record::Point),
        (_, true) => serde_json::from_slice(text).map(Record::Launch),
        _ => serde_json::from_slice(text),
    };
    let record = record.map_err(|error| words(&error))?;
    match &record {
        Record::Run(run) if run.schema != SCHEMA => {
            Err(format!("the format is {}, expected {SCHEMA}", run.schema))
        }
        _ => Ok(record),
    }
}

/// The words of `error` without its position, which counts from the start of the line.
pub(crate) fn words(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let text = plain::text(text.split(" at line ").next().unwrap_or(&text));
    let is_json = !error.is_syntax() && !error.is_eof();
    if is_json { text } else { format!("no line of a result file of comet-run: {text}") }
}

fn read(path: &Path) -> Result<Vec<u8>, ReadError> {
    std::fs::read(path).map_err(|source| ReadError::Io { path: path.into(), source })
}

fn prefix(path: &Option<PathBuf>) -> String {
    path.as_ref().map_or(String::new(), |path| format!("{}, ", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{self, Folder};

    fn recorded() -> (Folder, PathBuf, String) {
        let folder = Folder::new();
        let path = fixture::record_run(&folder);
        let text = std::fs::read_to_string(&path).unwrap();
        (folder, path, text)
    }

    #[test]
    fn a_partial_last_line_is_reported_and_not_an_error() {
        let (_folder, path, text) = recorded();
        std::fs::write(&path, &text[..text.len() - 30]).unwrap();
        let found = read_records(&path).unwrap();
        let n_lines = text.lines().count();
        assert_eq!((found.records.len(), found.incomplete_line), (n_lines - 1, Some(n_lines)));
        let incomplete = |n_bytes: usize| incomplete_line(&text.as_bytes()[..text.len() - n_bytes]);
        assert_eq!([30, 1, 0].map(incomplete), [Some(n_lines), None, None]);
        let validation = validate(&path).unwrap();
        assert_eq!(validation.problems, []);
        let ending = validation.runs[0].ending();
        assert_eq!(ending, "no end: the run was killed or is still running");
    }

    #[test]
    fn validation_words_a_foreign_line_as_readers_do() {
        for text in ["{}\n", "[1]\n", "hello\n"] {
            let problem = &validate_text(text.as_bytes()).problems[0];
            let error = parse_records(text.as_bytes()).unwrap_err().to_string();
            assert_eq!(format!("line {}: {}", problem.line, problem.message), error);
        }
    }

    #[test]
    fn errors_name_the_line_and_what_is_wrong() {
        let check = |text: &str, expected: &str| {
            let error = parse_records(text.as_bytes()).unwrap_err().to_string();
            assert_eq!(error, format!("{expected} (is this a file that comet-run wrote?)"));
        };
        check("{}\n", "line 1: missing field `type`");
        check("{\"type\":\"end\"}\n", "line 1: missing field `status`");
        check("# text\n", "line 1: not a record, which is an object of JSON");
        check("[1]\n", "line 1: not a record, which is an object of JSON");
        let (_folder, _, text) = recorded();
        let foreign = text.replace(SCHEMA, "comet.record/9");
        check(&foreign, "line 1: the format is comet.record/9, expected comet.record/1");
        let hops = "\"params\":{\"hops\":";
        let line = 1 + text.lines().position(|line| line.contains(hops)).unwrap();
        let negative = text.replacen(hops, &format!("{hops}-"), 1);
        let expected = "a parameter is neither a whole number from 0 nor a text";
        check(&negative, &format!("line {line}: {expected}"));
    }

    #[test]
    fn no_string_of_a_file_holds_a_control_character() {
        let (_folder, path, text) = recorded();
        let run_id = fixture::description().run_id;
        std::fs::write(&path, text.replace(&run_id, r"\u001b[2J\nFAKE: complete")).unwrap();
        let validation = validate(&path).unwrap();
        let ids: Vec<_> = validation.runs.iter().map(|run| run.run_id.as_deref()).collect();
        assert_eq!(ids, [Some(r"\u001b[2J\nFAKE: complete")]);
        let error = parse_records(b"{\"type\":\"\\u001b[2J\"}\n").unwrap_err().to_string();
        assert!(error.starts_with(r"line 1: unknown variant `\u001b[2J`"), "{error}");
    }

    #[test]
    fn validation_finds_broken_order() {
        let (_folder, path, text) = recorded();
        let lines: Vec<_> = text.lines().collect();
        let n = lines.len();
        let check = |lines: Vec<&str>, expected: &str| {
            std::fs::write(&path, lines.join("\n") + "\n").unwrap();
            let problems = validate(&path).unwrap().problems;
            let found = problems.iter().any(|problem| problem.message.contains(expected));
            assert!(found, "{expected}: {problems:?}");
            if let Ok(read) = read_records(&path) {
                assert_eq!(read.problems, problems, "whoever reads the file is told");
            }
        };
        check(lines[1..].to_vec(), "there is no run record before this line");
        check([&lines[..], &lines[n - 2..]].concat(), "after the end of its run");
        check([&lines[..n - 1], &lines[n - 2..]].concat(), "is there twice");
        check([&lines[..n - 2], &lines[n - 1..]].concat(), "the end states 7 points, there are 6");
        let foreign = lines[n - 2].replace(&fixture::description().run_id, "other");
        check([&lines[..n - 2], &[&foreign]].concat(), "this line is of other, the run before");
        check([&["{}"], &lines[..]].concat(), "missing field `type`");
    }

    #[test]
    fn the_first_problems_are_those_of_all_and_bounds_end_the_reading() {
        let all = validate_text(&[b'\n'; 50]).problems;
        assert_eq!((all.len(), &first_problems(&[b'\n'; 50], 3)[..]), (50, &all[..3]));
        let (_folder, _, text) = recorded();
        let bounds = |runs, launches| Bounds { runs, launches, problems: 2 };
        let twice = [&*text, &*text].concat();
        let read = |text: &str, bounds| parse_bounded(text.as_bytes(), bounds);
        assert_eq!(read(&text, bounds(1, 0)).unwrap(), parse_records(text.as_bytes()).unwrap());
        let error = read(&twice, bounds(1, 0)).unwrap_err().to_string();
        let line = text.lines().count() + 1;
        assert!(error.starts_with(&format!("line {line}: the file has more runs than")), "{error}");
        let launch = text.replace("{\"type\":\"point\"", "{\"type\":\"launch\"");
        let error = read(&launch, bounds(1, 1)).unwrap_err().to_string();
        assert!(error.contains("the file has more points of launches than"), "{error}");
        let last = text.lines().last().unwrap().to_owned() + "\n";
        let ends = [&*text, &last.repeat(9)].concat();
        assert_eq!(read(&ends, bounds(1, 0)).unwrap().problems.len(), 2);
    }

    #[test]
    fn a_missing_file_is_a_sentence() {
        let text = read_records(Path::new("nowhere.jsonl")).unwrap_err().to_string();
        assert_eq!(text, "cannot read nowhere.jsonl (does it exist, and may you read it?)");
    }
}
