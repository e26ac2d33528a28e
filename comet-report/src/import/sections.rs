//! Text of the OSU micro-benchmarks and of the Intel MPI Benchmarks, of any version, line by line: the programs
//! in it, and lines that are no rows.

use comet_core::kernel::{self, ELEMENT};

use super::text::{Block, DATATYPE, OPERATOR, Row, number_after};
use super::{ImportError, Surroundings, printed};
use crate::format::SKAMPI_MARKS;
use crate::format::foreign::GRAPH_NS;
use crate::record::{Derived, Param, Point};
use crate::suite::imb::{GPU, HALO, MT, SUITE as IMB};
use crate::suite::osu::{GRAPH_TIME, MODEL, SIDES};
use crate::suite::{self, Benchmark, Numbers, Suite, osu};

/// The refusal of a row without an end, whose last number may lack digits.
const UNENDED: &str =
    "the text ends within the row (is it cut off? A whole row has an end of line behind it)";
/// Words by which launchers and programs tell of an early end, without capitals, a line each.
const ENDINGS: &str = include_str!("endings.txt");
/// Last line of whole outputs of IMB.
const IMB_END: &str = "# All processes entering MPI_Finalize";
/// Starts of lines of the head of IMB about all messages, with their parameters and the values by default.
const TYPES: [(&str, &str, &str); 3] = [
    ("# MPI_Datatype  ", kernel::DATATYPE.name, "byte"),
    ("# MPI_Datatype for reductions ", ELEMENT.name, "float"),
    ("# MPI_Op ", OPERATOR, "sum"),
];
/// Line of one of the programs of a start, up to the number of ranks.
const STARTUP: &str = "nprocs: ";

/// The line that tells of an early end, with its number, if `line` does.
pub(super) fn ending(number: usize, line: &str) -> Option<String> {
    let lower = line.to_lowercase();
    let tells = ENDINGS.lines().any(|words| lower.contains(words));
    let short: String = line.trim().chars().take(120).collect();
    tells.then(|| format!("line {number} of the text tells of an early end: {short}"))
}

/// What one program printed: facts that hold for all of its points, and these.
#[derive(Debug)]
pub(super) struct Section {
    pub(super) suite: &'static Suite,
    /// Empty if the text names none.
    pub(super) version: String,
    /// True if the text is a layout of this program, which tells neither transport nor clock.
    pub(super) is_own: bool,
    /// True if the messages are those of another library than MPI.
    pub(super) is_foreign: bool,
    /// The date of its start, as it stands there.
    pub(super) date: Option<String>,
    /// The reason to doubt that the text is whole.
    pub(super) doubt: Option<String>,
    /// True behind the last line of a whole output.
    is_ended: bool,
    /// Lines that begin with a digit, and are no rows.
    pub(super) n_skipped: usize,
    pub(super) points: Vec<Point>,
    /// Parameters of its points, where their benchmarks have these.
    params: Vec<(String, Param)>,
}

impl Section {
    /// True if a build for GPUs printed it.
    pub(super) fn is_gpu(&self) -> bool {
        self.params.iter().any(|(name, _)| name == MODEL)
    }

    /// The types and the operator of its head, as settings, where they are not those by default.
    pub(super) fn types(&self) -> serde_json::Map<String, serde_json::Value> {
        let types = self.params.iter().filter(|(name, _)| name != MODEL);
        types.map(|(name, value)| (name.clone(), value.to_string().into())).collect()
    }

    fn of(suite: &'static Suite, version: String) -> Self {
        let params = Vec::new();
        Self {
            suite,
            version,
            is_own: false,
            is_foreign: false,
            date: None,
            doubt: None,
            is_ended: false,
            n_skipped: 0,
            points: Vec::new(),
            params,
        }
    }

    /// Takes in `next`, another table of the same program and version, if it is one.
    fn absorb(&mut self, next: &mut Self) -> bool {
        let facts = |of: &Self| (of.suite.id, of.version.clone(), of.is_own, of.is_foreign);
        if self.suite.family != osu::SUITE.family || facts(self) != facts(next) {
            return false;
        }
        self.points.append(&mut next.points);
        self.n_skipped += next.n_skipped;
        self.doubt = self.doubt.take().or(next.doubt.take());
        true
    }
}

/// The refusal of a row above the head of its table.
const HEADLESS: &str =
    "the row stands below no head of a table (add the line with the titles of its columns)";

/// Reads `text`, which is of `suite` where no title says otherwise: what each program in it printed, or those of
/// the family `only`.
///
/// # Errors
/// If a row does not fit the head of its table, has no head or no end of line, or if nobody says how many
/// ranks there were.
pub(super) fn parse(
    suite: &'static Suite,
    text: &str,
    around: &Surroundings,
    only: Option<&str>,
) -> Result<Vec<Section>, ImportError> {
    let start = Section::of(suite, String::new());
    let (block, graph) = (Block::of(suite, String::new()), Graph::default());
    let mut parser = Parser { around, only, sections: vec![start], block, graph };
    let n_ends = text.matches('\n').count();
    for (index, line) in text.lines().enumerate() {
        let refuse = |message| ImportError::Line { line: index + 1, message };
        let is_row = parser.line(index + 1, line.trim())?;
        if is_row && index == n_ends {
            return Err(refuse(UNENDED.into()));
        }
    }
    parser.begin(Block::of(suite, String::new()))?;
    let mut sections = parser.sections;
    sections.iter_mut().for_each(Section::require_end);
    sections.dedup_by(|next, last| last.absorb(next));
    sections.retain(|section| !section.points.is_empty());
    Ok(sections)
}

impl Section {
    /// Doubts an output without the last line of its program; IMB-MT prints none.
    fn require_end(&mut self) {
        let has_end = self.suite.family == IMB.family && self.suite.id != MT.id;
        if has_end && !self.is_ended && self.doubt.is_none() {
            self.doubt = Some(format!("the text lacks its last line '{IMB_END}'"));
        }
    }
}

/// The state between two lines.
struct Parser<'a> {
    around: &'a Surroundings,
    only: Option<&'a str>,
    /// The last one is being read.
    sections: Vec<Section>,
    block: Block,
    graph: Graph,
}

impl Parser<'_> {
    fn section(&mut self) -> &mut Section {
        self.sections.last_mut().expect("there is one from the start")
    }

    /// Ends the block, whose points go into the section, and begins `next`.
    fn begin(&mut self, next: Block) -> Result<(), ImportError> {
        let block = std::mem::replace(&mut self.block, next);
        let empty = block.n_title.filter(|_| block.rows.is_empty());
        let empty =
            empty.map(|line| format!("the table below line {line} of the text has no rows"));
        let is_asked = self.only.is_none_or(|family| family == block.suite.family);
        let points = if is_asked { block.points(self.around)? } else { Vec::new() };
        let section = self.section();
        section.doubt = section.doubt.take().or(empty);
        section.points.extend(points);
        let params = section.params.clone().into_iter();
        let own: Vec<_> = params.filter(|(name, _)| self.block.has(name)).collect();
        self.block.params.extend(own);
        Ok(())
    }

    /// Begins what another program printed.
    fn enter(&mut self, section: Section) -> Result<(), ImportError> {
        self.begin(Block::of(section.suite, String::new()))?;
        self.sections.push(section);
        Ok(())
    }

    /// Takes in a line, and says whether it is a row.
    fn line(&mut self, number: usize, line: &str) -> Result<bool, ImportError> {
        if let Some((banner, release)) = osu_title(line) {
            let mut block = std::mem::take(&mut self.graph).block(&osu::SUITE, banner);
            let section = Section::of(&osu::SUITE, version(release).unwrap_or_default());
            self.enter(section)?;
            self.section().is_foreign =
                block.model().is_some_and(|model| !model.starts_with("mpi"));
            block.n_title = Some(number);
            self.begin(block)?;
        } else if let Some(release) = title(line) {
            let is_of = |suite: &&Suite| suite.words.iter().any(|words| line.contains(words));
            let part = suite::family(IMB.family).find(is_of).unwrap_or(&IMB);
            self.enter(Section::of(part, release))?;
            if line.contains("(GPU)") {
                self.section().params.push((MODEL.into(), Param::Label(GPU.into())));
            }
        } else if let Some(name) = line.strip_prefix("# Benchmarking ") {
            // The sides of a torus stand behind some.
            let name = name.split(" (").next().unwrap_or(name).trim();
            self.benchmark(name)?;
        } else if line.starts_with(SKAMPI_MARKS[0]) {
            self.begin(Block::of(self.block.suite, String::new()))?;
        } else if line.starts_with('#') || line.starts_with("Group") {
            self.remark(line)?;
        } else if self.row(number, line)? {
            return Ok(true);
        } else {
            self.graph.note(line);
            // 15: Error Reduce_scatter,size = 4,sample #0
            let wrong =
                line.split_once(": Error ").and_then(|(_, rest)| number_after(rest, "size = "));
            self.block.wrong = wrong.or(self.block.wrong);
            let ending = ending(number, line);
            let section = self.section();
            section.doubt = section.doubt.take().or(ending);
            return Ok(false);
        }
        if line.starts_with('#') || line.starts_with("Group") {
            self.block.comment(line);
        }
        Ok(false)
    }

    /// Begins the table of the benchmark of IMB called `name`.
    fn benchmark(&mut self, name: &str) -> Result<(), ImportError> {
        let is_halo = HALO.words.iter().any(|words| words.contains(&format!(" {name} ")));
        let section = self.section();
        let part = if is_halo { &HALO } else { &IMB };
        if section.suite.family != IMB.family {
            self.enter(Section::of(part, String::new()))?;
        } else if is_halo {
            section.suite = part;
        }
        let suite = self.section().suite;
        self.begin(Block::of(suite, name.to_owned()))
    }

    /// Takes in a comment that begins another table of the same program, or is about all of them.
    fn remark(&mut self, line: &str) -> Result<(), ImportError> {
        let section = self.section();
        section.is_own |= line.starts_with("# note: ");
        section.is_ended |= line.starts_with(IMB_END);
        let of_type = TYPES.iter().find(|(start, ..)| line.starts_with(start));
        let value = line.rsplit_once("MPI_").map(|(_, value)| value.trim().to_lowercase());
        if let Some(((_, name, _), value)) =
            of_type.zip(value).filter(|((.., default), value)| value != default)
        {
            section.params.push(((*name).to_owned(), Param::Label(value)));
        }
        if let Some((_, date)) = line.split_once(": ").filter(|_| line.starts_with("# Date  ")) {
            section.date = Some(date.trim().to_owned());
        }
        if line.contains("MODE: ") {
            // The same benchmark goes on in another mode, with a table of its own.
            let n_ranks = self.block.n_ranks;
            let block = Block::of(self.block.suite, self.block.name.clone());
            self.begin(Block { n_ranks, ..block })?;
        } else if line.starts_with(DATATYPE) && !self.block.rows.is_empty() {
            let params = self.section().params.clone();
            let mut block = self.block.of_other_type();
            block.params.retain(|param| !params.contains(param));
            self.begin(block)?;
        }
        Ok(())
    }

    /// Takes in `line` if it is a row; one that is cut off or has no head is refused.
    fn row(&mut self, number: usize, line: &str) -> Result<bool, ImportError> {
        let refuse = |message| ImportError::Line { line: number, message };
        if line.starts_with(STARTUP) {
            let Some(row) = Row::of_startup(line) else { return Ok(false) };
            if self.block.name.is_empty() {
                self.begin(Block::of(&osu::SUITE, "osu_init".into()))?;
            }
            self.block.n_ranks = number_after(line, STARTUP);
            self.block.rows.push(row);
            return Ok(true);
        }
        if self.block.head.is_empty() {
            let is_row = !self.block.name.is_empty() && is_bare_row(line);
            return if is_row { Err(refuse(HEADLESS.into())) } else { Ok(false) };
        }
        let rows = self.block.rows_of(line).map_err(refuse)?;
        if rows.is_empty() {
            self.section().n_skipped += usize::from(line.starts_with(|c: char| c.is_ascii_digit()));
            return Ok(false);
        }
        let is_profile = self.block.is_profile;
        self.block.rows.extend(rows.into_iter().filter(|_| !is_profile));
        Ok(true)
    }
}

/// True if `line` is nothing but a whole number and numbers.
fn is_bare_row(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let is_whole = words.next().is_some_and(|word| word.parse::<u64>().is_ok());
    let mut others = words.peekable();
    is_whole && others.peek().is_some() && others.all(|word| word.parse::<f64>().is_ok())
}

/// The title of OSU that `line` is, and its version.
fn osu_title(line: &str) -> Option<(&str, &str)> {
    let banner = line.strip_prefix(osu::SUITE.title)?;
    let of_old = banner.split_once("(Version ").map(|(title, rest)| (title.trim(), rest));
    Some(of_old.or_else(|| banner.rsplit_once(" v")).unwrap_or((banner, "")))
}

/// The version of IMB, if `line` is the title of the text.
fn title(line: &str) -> Option<String> {
    let is_title = line.contains("MPI Benchmark") || line.contains("in the layout of IMB");
    let of_suite = line.rsplit_once("IMB").map_or(line, |(_, rest)| rest);
    if !is_title || !line.starts_with('#') {
        return None;
    }
    // The name of a part is the last word but one of some.
    let release = version(of_suite).or_else(|| version(line)).unwrap_or_default();
    let update = line.to_lowercase().split_once(" update ").and_then(|(_, rest)| version(rest));
    Some(update.map_or(release.clone(), |update| format!("{release} Update {update}")))
}

/// The first word of `text` that is a version: digits, after a `v` or nothing.
fn version(text: &str) -> Option<String> {
    let bare =
        |word: &str| word.trim_start_matches(['v', 'V']).trim_end_matches([',', ')']).to_owned();
    let is_version = |word: &String| word.starts_with(|c: char| c.is_ascii_digit());
    text.split_whitespace().map(bare).find(is_version)
}

/// The programming model before the `title` of a program, but for MPI, and the rest; a call is a part of it.
fn model_of<'a>(suite: &Suite, title: &'a str) -> (Option<String>, &'a str) {
    let bare = title.strip_prefix("One Sided ").unwrap_or(title);
    match bare.split_once(' ') {
        _ if suite.benchmarks.iter().any(|of| osu::normal(of.title) == osu::normal(bare)) => {
            (None, bare)
        }
        Some((model, _)) if model.contains('_') => (None, bare),
        Some(("MPI", rest)) => (None, rest),
        Some((model, rest)) => (Some(model.to_lowercase()), rest),
        None => (None, bare),
    }
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
    fn block(self, suite: &'static Suite, banner: &str) -> Block {
        let (model, title) = model_of(suite, banner);
        let wanted = osu::normal(title);
        let is_of_graph =
            |of: &&Benchmark| osu::normal(of.title) == wanted && of.numbers == Numbers::Neighbours;
        let benchmark = suite.benchmarks.iter().find(is_of_graph).filter(|_| self.time.is_some());
        let name = benchmark.map_or(title, |benchmark| benchmark.name);
        let n_ranks = self.sides.iter().copied().try_fold(1, u64::checked_mul);
        let dimensions = ("dimensions".to_owned(), Param::Number(self.sides.len() as u64));
        let mut block = Block::of(suite, name.to_owned());
        if !self.sides.is_empty() {
            block.n_ranks = n_ranks;
            block.params.push(dimensions);
        }
        block.params.extend(model.map(|model| (MODEL.into(), Param::Label(model))));
        block.figures = self.time.into_iter().collect();
        block
    }
}
