//! Command lines of the OSU micro-benchmarks.

use comet_report::format::{COLUMNS_LABEL, is_percentile};
use comet_report::suite::osu::{Numbers, SUITE};

use super::{Options, Reading, Stop, Surroundings, Translation, Word, Words};
use super::{count, doubling, not_here};

/// The longest message of a test between two ranks, unless the user chooses it.
const MAX_BYTES: u64 = 4 << 20;
/// The longest message of a collective, likewise.
const MAX_COLLECTIVE_BYTES: u64 = 1 << 20;
/// Samples where single operations are timed, and the user chooses no number: messages, and windows
/// of them.
const SAMPLES: u64 = 1000;
const WINDOW_SAMPLES: u64 = 100;

/// A command line of OSU.
#[derive(Debug)]
struct Asked<'a> {
    program: &'a str,
    numbers: Numbers,
    /// Lengths in bytes.
    min: u64,
    max: u64,
    n_operations: Option<u64>,
    n_warm_up: Option<u64>,
    mem_bytes: Option<u64>,
    is_full: bool,
    is_validated: bool,
    percentiles: Vec<String>,
}

/// The command line `program words` as one of comet-run.
pub(super) fn translate(
    program: &str,
    words: &[String],
    around: &Surroundings,
) -> Result<Translation, Stop> {
    let known = SUITE.find(program).filter(|found| found.kernel().is_some());
    let Some(known) = known else { return Err(not_here(&SUITE, "", program)) };
    let numbers = known.kind.numbers;
    let Reading { words, mut notes } =
        Options::of(program, SUITE.flags, numbers.letter()).read(words)?;
    let mut asked = Asked::of(program, numbers);
    let (mut ours, mut places) = (Vec::new(), Vec::new());
    for word in words {
        match word {
            Word::Option(name, value) => asked.option(name, &value)?,
            Word::Ours(word) => ours.push(word),
            Word::Plain(word) if word.chars().all(|c| "DHM".contains(c)) => places.push(word),
            Word::Plain(word) => {
                return Err(Stop::Wrong(format!(
                    "{program}: '{word}' is no place of a buffer (write D or H)"
                )));
            }
        }
    }
    if !places.is_empty() {
        notes.push(format!("{} has no effect: buffers are in host memory", places.join(" ")));
    }
    Ok(Translation { words: asked.words(ours, around), notes })
}

impl<'a> Asked<'a> {
    /// The defaults of OSU.
    fn of(program: &'a str, numbers: Numbers) -> Self {
        Self {
            program,
            numbers,
            min: 1,
            max: if numbers.is_of_two() { MAX_BYTES } else { MAX_COLLECTIVE_BYTES },
            n_operations: None,
            n_warm_up: None,
            mem_bytes: None,
            is_full: false,
            is_validated: false,
            percentiles: Vec::new(),
        }
    }

    /// Takes in one option.
    fn option(&mut self, name: &str, value: &str) -> Result<(), Stop> {
        let program = self.program;
        match name {
            "-m" => self.lengths(value)?,
            "-i" => self.n_operations = Some(count(program, name, value)?),
            "-x" if value == "0" => self.n_warm_up = Some(0),
            "-x" => self.n_warm_up = Some(count(program, name, value)?),
            "-M" => self.mem_bytes = Some(count(program, name, value)?),
            "-c" if !value.is_empty() => {
                return Err(Stop::Wrong(format!(
                    "{program}: -c{value} is not supported: the outcome of each check is in the \
                     result file (write -c, and --out FILE)"
                )));
            }
            "-c" => self.is_validated = true,
            "-f" => self.is_full = true,
            _ => self.percentiles(value)?,
        }
        Ok(())
    }

    fn lengths(&mut self, value: &str) -> Result<(), Stop> {
        let (min, max) = match value.split_once(':') {
            Some((min, "")) => (min.parse().ok(), Some(self.max)),
            Some((min, max)) => (min.parse().ok(), max.parse().ok()),
            None => (Some(self.min), value.parse().ok()),
        };
        let lengths = min.zip(max).filter(|(min, max)| min <= max);
        (self.min, self.max) = lengths.ok_or_else(|| {
            Stop::Wrong(format!(
                "{}: '{value}' for -m: lengths are [MIN:][MAX] in bytes (write 1:4194304)",
                self.program
            ))
        })?;
        Ok(())
    }

    fn percentiles(&mut self, value: &str) -> Result<(), Stop> {
        let wanted = if value.is_empty() { "50,90,99" } else { value };
        let is_known = |word: &&str| word.parse().is_ok_and(|number: u8| is_percentile(&number));
        if let Some(unknown) = wanted.split(',').find(|word| !is_known(word)) {
            return Err(Stop::Wrong(format!(
                "{}: '{unknown}' for -z: percentiles lie between 1 and 99 (write -z50,99)",
                self.program
            )));
        }
        self.percentiles = wanted.split(',').map(|number| format!("p{number}")).collect();
        Ok(())
    }

    fn words(&self, ours: Vec<String>, around: &Surroundings) -> Vec<String> {
        let mut words = Words::new(vec![format!("OSU:{}", self.program)], ours);
        words.add("--rules", "osu");
        words.add("--format", "osu");
        if self.numbers == Numbers::Latency {
            words.add("--hops", 1);
        }
        if self.numbers.is_of_two() && !around.is_launched {
            words.add("--ranks", 2);
        }
        if self.numbers != Numbers::Barrier {
            words.add("--sizes", doubling(self.min, self.max));
        }
        if let Some((repetitions, samples)) = self.counts() {
            words.add("--repetitions", repetitions);
            words.add("--samples", samples);
        }
        if let Some(n_warm_up) = self.n_warm_up {
            words.add("--warm-up", n_warm_up);
        }
        if let Some(mem_bytes) = self.mem_bytes {
            words.add("--mem", mem_bytes);
        }
        let columns = self.columns();
        if !columns.is_empty() {
            words.add("--label", format!("{COLUMNS_LABEL}={}", columns.join(",")));
        }
        words.all()
    }

    /// Operations of a sample, and samples, if they are not those of OSU's rules: one loop between
    /// two ranks, single operations of collectives and for percentiles.
    fn counts(&self) -> Option<(u64, u64)> {
        let is_single = !self.numbers.is_of_two() || !self.percentiles.is_empty();
        match self.n_operations {
            Some(n) if is_single => Some((1, n)),
            Some(n) => Some((n, 1)),
            None if self.numbers == Numbers::Bandwidth && is_single => Some((1, WINDOW_SAMPLES)),
            None if self.numbers == Numbers::Latency && is_single => Some((1, SAMPLES)),
            None => None,
        }
    }

    fn columns(&self) -> Vec<&str> {
        let full = self.is_full.then_some("full");
        let validation = self.is_validated.then_some("validation");
        let percentiles = self.percentiles.iter().map(String::as_str);
        full.into_iter().chain(validation).chain(percentiles).collect()
    }
}
