//! Command lines of the OSU micro-benchmarks.

use comet_report::format::{COLUMNS_LABEL, is_percentile};
use comet_report::suite::Numbers;
use comet_report::suite::osu::SUITE;

use super::{Options, Reading, Stop, Surroundings, Translation, Words};
use super::{count, doubling, not_here, require_pair, wrong};

/// The longest message of a test between two ranks, unless the user chooses it.
const MAX_BYTES: u64 = 4 << 20;
/// The longest message of a collective, likewise.
const MAX_COLLECTIVE_BYTES: u64 = 1 << 20;
/// Samples where single operations are timed, and the user chooses no number: messages, and windows
/// of them.
const SAMPLES: u64 = 1000;
const WINDOW_SAMPLES: u64 = 100;

/// A command line of OSU.
struct Asked<'a> {
    program: &'a str,
    numbers: Numbers,
    /// Lengths in bytes.
    min: u64,
    max: u64,
    n_operations: Option<u64>,
    /// Columns on request, the percentiles last.
    columns: Vec<String>,
    has_percentiles: bool,
    words: Words,
}

/// The command line `program words` as one of comet-run.
pub(super) fn translate(
    program: &str,
    words: &[String],
    around: &Surroundings,
) -> Result<Translation, Stop> {
    let known = SUITE.find(program).filter(|found| found.kernel().is_some());
    let Some(known) = known else { return Err(not_here(&SUITE, "", program)) };
    let numbers = known.numbers;
    let Reading { options, ours, plain: places, mut notes } =
        Options::of(program, SUITE.flags, numbers.letter()).read(words)?;
    let is_place = |word: &&String| word.chars().all(|c| "DHM".contains(c));
    if let Some(word) = places.iter().find(|word| !is_place(word)) {
        let sentence = format!("{program}: '{word}' is no place of a buffer (write D or H)");
        return Err(Stop::Wrong(sentence));
    }
    if !places.is_empty() {
        notes.push(format!("{} has no effect: buffers are in host memory", places.join(" ")));
    }
    let mut asked = Asked {
        program,
        numbers,
        min: 1,
        max: if numbers.is_of_two() { MAX_BYTES } else { MAX_COLLECTIVE_BYTES },
        n_operations: None,
        columns: Vec::new(),
        has_percentiles: false,
        words: Words { ours, ..Words::default() },
    };
    options.iter().try_for_each(|(name, value)| asked.option(name, value))?;
    if numbers.is_of_two() {
        require_pair(program, &asked.words, around)?;
    }
    Ok(Translation { words: asked.words(known.name, around), notes })
}

impl Asked<'_> {
    /// Takes in one option.
    fn option(&mut self, name: &str, value: &str) -> Result<(), Stop> {
        let program = self.program;
        match name {
            "-m" => self.lengths(value)?,
            "-i" => self.n_operations = Some(count(program, name, value)?),
            "-x" if value == "0" => self.words.set("--warm-up", 0),
            "-x" => self.words.set("--warm-up", count(program, name, value)?),
            "-W" => self.words.axis(format!("window={}", count(program, name, value)?)),
            "-M" => self.words.set("--mem", count(program, name, value)?),
            "-c" if !value.is_empty() => {
                return Err(Stop::Wrong(format!(
                    "{program}: -c{value} is not supported: the outcome of each check is in the \
                     result file (write -c, and --out FILE)"
                )));
            }
            "-c" => self.columns.insert(0, "validation".into()),
            "-f" => self.columns.insert(0, "full".into()),
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
        let expected = "lengths are [MIN:][MAX] in bytes (write 1:4194304)";
        (self.min, self.max) = lengths.ok_or_else(|| wrong(self.program, "-m", value, expected))?;
        Ok(())
    }

    fn percentiles(&mut self, value: &str) -> Result<(), Stop> {
        let wanted = if value.is_empty() { "50,90,99" } else { value };
        let is_known = |word: &&str| word.parse().is_ok_and(|number: u8| is_percentile(&number));
        if let Some(unknown) = wanted.split(',').find(|word| !is_known(word)) {
            let expected = "percentiles lie between 1 and 99 (write -z50,99)";
            return Err(wrong(self.program, "-z", unknown, expected));
        }
        self.has_percentiles = true;
        self.columns.extend(wanted.split(',').map(|number| format!("p{number}")));
        Ok(())
    }

    fn words(mut self, name: &'static str, around: &Surroundings) -> Vec<String> {
        let counts = self.counts();
        let words = &mut self.words;
        if self.numbers == Numbers::Latency {
            words.set("--hops", 1);
        }
        if self.numbers.is_of_two() && !around.is_launched {
            words.set("--ranks", 2);
        }
        if self.numbers != Numbers::Barrier {
            words.set("--sizes", doubling(self.min, self.max));
        }
        if self.numbers == Numbers::Reduction {
            words.axis("element=char".into());
        }
        if let Some((repetitions, samples)) = counts {
            words.set("--repetitions", repetitions);
            words.set("--samples", samples);
        }
        if !self.columns.is_empty() {
            words.label(format!("{COLUMNS_LABEL}={}", self.columns.join(",")));
        }
        self.words.run(&SUITE, std::iter::once(name))
    }

    /// Operations of a sample, and samples, if they are not those of OSU's rules: one loop between
    /// two ranks, single operations of collectives and for percentiles.
    fn counts(&self) -> Option<(u64, u64)> {
        let is_single = !self.numbers.is_of_two() || self.has_percentiles;
        match self.n_operations {
            Some(n) if is_single => Some((1, n)),
            Some(n) => Some((n, 1)),
            None if self.numbers == Numbers::Bandwidth && is_single => Some((1, WINDOW_SAMPLES)),
            None if self.numbers == Numbers::Latency && is_single => Some((1, SAMPLES)),
            None => None,
        }
    }
}
