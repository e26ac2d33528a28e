//! Command lines of the OSU micro-benchmarks.

use comet_report::format::{COLUMNS_LABEL, percentiles};

use super::{Flag, Stop, Surroundings, Translation, Word, Words, count, doubling, flag, read};

/// The longest message of a test between two ranks, unless the user says so.
const MAX_BYTES: u64 = 4 << 20;
/// The longest message of a collective, likewise.
const MAX_COLLECTIVE_BYTES: u64 = 1 << 20;
/// Messages of a window.
const WINDOW: &str = "64";
/// Samples where single operations are to be timed, and nobody says how many: messages, and windows
/// of them.
const SAMPLES: u64 = 1000;
const WINDOW_SAMPLES: u64 = 100;

/// What a program measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Latency,
    Bandwidth,
    /// A collective over messages.
    Messages,
    Barrier,
}

/// The programs of OSU that have a kernel here.
const PROGRAMS: &[(&str, Kind)] = &[
    ("osu_latency", Kind::Latency),
    ("osu_bw", Kind::Bandwidth),
    ("osu_bcast", Kind::Messages),
    ("osu_barrier", Kind::Barrier),
];

/// The program that a kernel here resembles without being the same.
const ALLREDUCE: &str = "osu_allreduce";

const FLAGS: &[Flag] = &[
    flag("-m", "[MIN:]MAX", "lengths in bytes, doubling from MIN to MAX"),
    flag("-i", "N", "timed operations"),
    flag("-x", "N", "no effect: operations before them are as many as OSU's by default"),
    flag("-c", "", "a column with the outcome of the check, which is always made"),
    flag("-f", "", "columns with the least and the largest time, and the operations"),
    flag("-W", "N", "messages of a window: 64"),
    flag("-d", "DEVICE", "no effect: buffers are in host memory"),
    flag("-T", "TYPE", "no effect: messages are bytes"),
    flag("-u", "N", "no effect: data is checked before and after the timed operations"),
    flag("-z", "", "columns with percentiles, 50, 90 and 99 or as in -z50,95"),
];

/// Names of the programs that are here.
#[cfg(test)]
pub(super) fn programs() -> impl Iterator<Item = &'static str> {
    PROGRAMS.iter().map(|(name, _)| *name)
}

/// The command line `program words` in ours.
pub(super) fn translate(
    program: &str,
    words: &[String],
    around: &Surroundings,
) -> Result<Translation, Stop> {
    let known = PROGRAMS.iter().find(|(name, _)| *name == program);
    let Some((program, kind)) = known else { return Err(not_here(program)) };
    let mut asked = Asked::of(*kind);
    for word in read(program, words, FLAGS)? {
        match word {
            Word::Option(name, value) => asked.option(program, name, &value)?,
            Word::Ours(word) => asked.ours.push(word),
            Word::Plain(word) if word.chars().all(|c| "DHM".contains(c)) => asked.places.push(word),
            Word::Plain(word) => {
                return Err(Stop::Wrong(format!(
                    "{program}: '{word}' is no place of a buffer (write D or H)"
                )));
            }
        }
    }
    Ok(asked.translate(program, around))
}

fn not_here(program: &str) -> Stop {
    if program == ALLREDUCE {
        return Stop::Wrong(format!(
            "{program} is not here (comet-run reduction sums doubles in place, not chars into \
             another buffer)"
        ));
    }
    let names: Vec<&str> = PROGRAMS.iter().map(|(name, _)| *name).collect();
    let (last, others) = names.split_last().expect("some programs are here");
    Stop::Wrong(format!(
        "{program} is not here, but {} and {last} are (comet-run list shows all kernels)",
        others.join(", ")
    ))
}

/// What is done instead of what the option `name` asks for.
fn instead(name: &str) -> &'static str {
    match name {
        "-d" => "buffers are in host memory",
        "-T" => "messages are bytes",
        "-u" => "data is checked before and after the timed operations",
        _ => "as many operations as OSU has by default go before the timed ones",
    }
}

/// What a command line asks for.
#[derive(Debug)]
struct Asked {
    kind: Kind,
    /// Lengths in bytes.
    min: u64,
    max: u64,
    n_operations: Option<u64>,
    is_full: bool,
    is_validated: bool,
    percentiles: Vec<String>,
    places: Vec<String>,
    notes: Vec<String>,
    ours: Vec<String>,
}

impl Asked {
    /// What OSU does without options.
    fn of(kind: Kind) -> Self {
        let is_of_two = matches!(kind, Kind::Latency | Kind::Bandwidth);
        Self {
            kind,
            min: 1,
            max: if is_of_two { MAX_BYTES } else { MAX_COLLECTIVE_BYTES },
            n_operations: None,
            is_full: false,
            is_validated: false,
            percentiles: Vec::new(),
            places: Vec::new(),
            notes: Vec::new(),
            ours: Vec::new(),
        }
    }

    fn is_of_two(&self) -> bool {
        matches!(self.kind, Kind::Latency | Kind::Bandwidth)
    }

    /// Takes in one option.
    fn option(&mut self, program: &str, name: &str, value: &str) -> Result<(), Stop> {
        match name {
            "-m" => self.lengths(program, value)?,
            "-i" => self.n_operations = Some(count(program, name, value)?),
            "-c" => self.is_validated = true,
            "-f" if self.kind == Kind::Bandwidth => {
                return Err(Stop::Wrong(format!(
                    "{program}: -f adds columns of times, but it prints a rate (leave it out)"
                )));
            }
            "-f" => self.is_full = true,
            "-z" => self.percentiles(program, value)?,
            "-W" if value == WINDOW => (),
            "-W" => {
                return Err(Stop::Wrong(format!(
                    "{program}: '{value}' for -W: windows have {WINDOW} messages here (leave it \
                     out)"
                )));
            }
            _ => self.notes.push(format!("{name} {value} is not taken over: {}", instead(name))),
        }
        Ok(())
    }

    fn lengths(&mut self, program: &str, value: &str) -> Result<(), Stop> {
        let (min, max) = match value.split_once(':') {
            Some((min, max)) => (min.parse().ok(), max.parse().ok()),
            None => (Some(self.min), value.parse().ok()),
        };
        let lengths = min.zip(max).filter(|(min, max)| min <= max);
        (self.min, self.max) = lengths.ok_or_else(|| {
            Stop::Wrong(format!(
                "{program}: '{value}' for -m: lengths are [MIN:]MAX in bytes (write 1:4194304)"
            ))
        })?;
        Ok(())
    }

    fn percentiles(&mut self, program: &str, value: &str) -> Result<(), Stop> {
        let wanted = if value.is_empty() { "50,90,99" } else { value };
        let known: Vec<String> = percentiles().map(|number| number.to_string()).collect();
        if let Some(unknown) = wanted.split(',').find(|word| !known.iter().any(|k| k == word)) {
            return Err(Stop::Wrong(format!(
                "{program}: '{unknown}' for -z: percentiles are of {} (write -z50,99)",
                known.join(", ")
            )));
        }
        self.percentiles = wanted.split(',').map(|number| format!("p{number}")).collect();
        Ok(())
    }

    fn translate(mut self, program: &str, around: &Surroundings) -> Translation {
        let names = vec![format!("OSU:{program}")];
        let mut words = Words::new(names, std::mem::take(&mut self.ours));
        words.add("--rules", "osu");
        words.add("--format", "osu");
        if self.kind == Kind::Latency {
            words.add("--hops", 1);
        }
        if self.is_of_two() && !around.is_launched {
            words.add("--ranks", 2);
        }
        if self.kind != Kind::Barrier {
            words.add("--sizes", doubling(self.min, self.max));
        }
        if let Some((repetitions, samples)) = self.counts() {
            words.add("--repetitions", repetitions);
            words.add("--samples", samples);
        }
        let columns = self.columns();
        if !columns.is_empty() {
            words.add("--label", format!("{COLUMNS_LABEL}={}", columns.join(",")));
        }
        if !self.places.is_empty() {
            let places = self.places.join(" ");
            self.notes.push(format!("{places} is not taken over: buffers are in host memory"));
        }
        Translation { words: words.all(), notes: self.notes }
    }

    /// Operations of a sample, and samples, if they are not those of OSU's rules: one loop between
    /// two ranks, single operations of collectives and for percentiles.
    fn counts(&self) -> Option<(u64, u64)> {
        let is_single = !self.is_of_two() || !self.percentiles.is_empty();
        match self.n_operations {
            Some(n) if is_single => Some((1, n)),
            Some(n) => Some((n, 1)),
            None if self.kind == Kind::Bandwidth && is_single => Some((1, WINDOW_SAMPLES)),
            None if self.kind == Kind::Latency && is_single => Some((1, SAMPLES)),
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
