//! Command lines of the Intel MPI Benchmarks.

use comet_core::sweep::parse_count;
use comet_report::suite::Benchmark;
use comet_report::suite::imb::{Columns, Kind, OFF, ON, SUITE};

use super::{Options, Reading, Stop, Surroundings, Translation, Word, Words};
use super::{count, doubling, not_here};

/// The only program of IMB that has kernels here.
const PROGRAM: &str = "IMB-MPI1";
/// The longest message, as a power of two.
const MAX_LOG: u32 = 22;
/// Operations for each length by the rules of IMB.
const OPERATIONS: u64 = 1000;
/// Bytes of a GB of IMB.
const GB: f64 = 1_073_741_824.0;

/// A command line of IMB.
#[derive(Debug)]
struct Asked {
    benchmarks: Vec<&'static Benchmark<Kind>>,
    excluded: Vec<&'static str>,
    n_ranks: Option<u64>,
    /// Lengths in bytes, without 0.
    lengths: String,
    has_zero: bool,
    has_warm_up: bool,
    n_operations: u64,
    mem_bytes: Option<String>,
    thread_level: Option<String>,
    notes: Vec<String>,
}

/// The command line `program words` as one of comet-run.
pub(super) fn translate(
    program: &str,
    words: &[String],
    around: &Surroundings,
) -> Result<Translation, Stop> {
    if program != PROGRAM {
        let sentence = format!("{program} is not here, but {PROGRAM} is (write {PROGRAM})");
        return Err(Stop::Wrong(sentence));
    }
    let Reading { words, notes } = Options::of(program, SUITE.flags, ' ').read(words)?;
    let mut asked = Asked {
        benchmarks: Vec::new(),
        excluded: Vec::new(),
        n_ranks: None,
        lengths: doubling(1, 1 << MAX_LOG),
        has_zero: true,
        has_warm_up: true,
        n_operations: OPERATIONS,
        mem_bytes: None,
        thread_level: None,
        notes,
    };
    let mut ours = Vec::new();
    for word in words {
        match word {
            Word::Option(name, value) => asked.option(name, &value)?,
            Word::Ours(word) => ours.push(word),
            Word::Plain(word) => asked.include(&word)?,
        }
    }
    asked.complete();
    asked.translate(ours, around)
}

/// The benchmark `word`, which a kernel stands for.
fn benchmark(word: &str) -> Result<&'static Benchmark<Kind>, Stop> {
    let found = SUITE.find(word).filter(|benchmark| benchmark.kernel().is_some());
    found.ok_or_else(|| not_here(&SUITE, &format!("{PROGRAM}: "), word))
}

fn wrong(option: &str, value: &str, expected: &str) -> Stop {
    Stop::Wrong(format!("{PROGRAM}: '{value}' for {option}: {expected}"))
}

/// The meaning of a switch of IMB.
fn is_on(option: &str, value: &str) -> Result<bool, Stop> {
    match value {
        _ if ON.contains(&value) => Ok(true),
        _ if OFF.contains(&value) => Ok(false),
        _ => Err(wrong(option, value, "it is a switch (write on or off)")),
    }
}

/// A length of IMB in bytes: a number, with a k or M behind it.
fn length(word: &str) -> Option<u64> {
    let word = word.replace(' ', "").to_uppercase();
    let binary = word.strip_suffix(['K', 'M']).map(|_| format!("{word}i"));
    parse_count(&binary.unwrap_or(word)).ok()
}

impl Asked {
    /// Takes in one option.
    fn option(&mut self, name: &'static str, value: &str) -> Result<(), Stop> {
        match name {
            "-npmin" => self.n_ranks = Some(count(PROGRAM, name, value)?),
            "-msglog" => {
                let (min, max) = value.split_once(':').unwrap_or(("0", value));
                let log = |text: &str| text.parse().ok().filter(|log: &u32| *log < 31);
                let logs = log(min).zip(log(max)).filter(|(min, max)| min <= max);
                let (min, max) = logs.ok_or_else(|| {
                    wrong(name, value, "powers of two are [MIN:]MAX below 31 (write 0:22)")
                })?;
                self.lengths = doubling(1 << min, 1 << max);
            }
            "-msglen" => {
                let text = std::fs::read_to_string(value)
                    .map_err(|error| wrong(name, value, &format!("{error} (does it exist?)")))?;
                self.list(name, value, text.lines().filter(|line| !line.starts_with('#')))?;
            }
            "-msgsize" => self.list(name, value, value.split(','))?,
            "-zero_size" => self.has_zero = is_on(name, value)?,
            "-warm_up" => self.has_warm_up = is_on(name, value)?,
            "-iter" => {
                let n = value.split(',').next().unwrap_or(value);
                self.n_operations = count(PROGRAM, name, n)?;
                if n != value {
                    let note =
                        format!("{name} {value}: a loop moves at most 40 MiB, as by default");
                    self.notes.push(note);
                }
            }
            "-mem" => {
                let gb: Option<f64> = value.parse().ok().filter(|gb| *gb > 0.0);
                let gb = gb.ok_or_else(|| wrong(name, value, "it is a number of GB (write 1)"))?;
                self.mem_bytes = Some(format!("{:.0}", gb * GB));
            }
            "-thread_level" if value == "single" => (),
            "-thread_level" => self.thread_level = Some(value.to_owned()),
            "-exclude" => {
                for word in value.split(',') {
                    self.excluded.push(benchmark(word)?.name);
                }
            }
            "-list" => {
                let names = SUITE.here().map(|benchmark| format!("{}\n", benchmark.name));
                return Err(Stop::Help(names.collect()));
            }
            _ => self.include(value)?,
        }
        Ok(())
    }

    /// Adds the benchmarks `words`, which have commas between them, each once.
    fn include(&mut self, words: &str) -> Result<(), Stop> {
        for word in words.split(',') {
            let benchmark = benchmark(word)?;
            if self.benchmarks.iter().all(|other| other.name != benchmark.name) {
                self.benchmarks.push(benchmark);
            }
        }
        Ok(())
    }

    /// Takes the lengths `words` in the value of `option`.
    fn list<'a>(
        &mut self,
        option: &str,
        value: &str,
        words: impl Iterator<Item = &'a str>,
    ) -> Result<(), Stop> {
        let words = words.map(str::trim).filter(|word| !word.is_empty());
        let lengths: Option<Vec<String>> =
            words.map(|word| length(word).map(|length| length.to_string())).collect();
        let lengths = lengths.filter(|lengths| !lengths.is_empty());
        let expected = "lengths are numbers of bytes, with k or M behind (write 8 or 64k)";
        self.lengths = lengths.ok_or_else(|| wrong(option, value, expected))?.join(",");
        self.has_zero = false;
        Ok(())
    }

    /// Takes all benchmarks if none is named, with a note on those without a kernel.
    fn complete(&mut self) {
        if self.benchmarks.is_empty() {
            self.benchmarks = SUITE.here().collect();
            let missing: Vec<&str> = SUITE
                .benchmarks
                .iter()
                .filter(|benchmark| benchmark.kernel().is_none() && benchmark.kind.is_default)
                .map(|benchmark| benchmark.name)
                .collect();
            let note = format!("benchmarks without a kernel are left out: {}", missing.join(" "));
            self.notes.push(note);
        }
        self.benchmarks.retain(|benchmark| !self.excluded.contains(&benchmark.name));
    }

    fn has(&self, columns: Columns) -> bool {
        self.benchmarks.iter().any(|benchmark| benchmark.kind.columns == columns)
    }

    fn translate(mut self, ours: Vec<String>, around: &Surroundings) -> Result<Translation, Stop> {
        let names = self.benchmarks.iter().map(|benchmark| format!("IMB:{}", benchmark.name));
        let mut words = Words::new(names.collect(), ours);
        words.add("--rules", "imb");
        words.add("--format", "imb");
        if self.has(Columns::SingleTransfer) {
            words.add("--hops", 1);
        }
        if self.has(Columns::SingleTransfer) || self.has(Columns::Collective) {
            let zero = if self.has_zero { "0," } else { "" };
            words.add("--sizes", format!("{zero}{}", self.lengths));
        }
        self.add_ranks(&mut words, around)?;
        if self.n_operations != OPERATIONS {
            words.add("--repetitions", self.n_operations);
        }
        if !self.has_warm_up {
            words.add("--warm-up", 0);
        }
        if let Some(mem_bytes) = self.mem_bytes.take() {
            words.add("--mem", mem_bytes);
        }
        if let Some(thread_level) = self.thread_level.take() {
            words.add("--thread-level", thread_level);
        }
        Ok(Translation { words: words.all(), notes: self.notes })
    }

    /// Decides the number of ranks. IMB runs on NPMIN ranks, twice as many, and so on up to all;
    /// all are the only number here.
    fn add_ranks(&mut self, words: &mut Words, around: &Surroundings) -> Result<(), Stop> {
        let is_of_two = !self.has(Columns::Collective) && !self.has(Columns::Synchronisation);
        let all = around.n_ranks.or_else(|| words.value("--ranks")?.parse().ok());
        if let (Some(min), Some(all)) = (self.n_ranks, all)
            && min < all
            && !is_of_two
        {
            return Err(Stop::Wrong(format!(
                "{PROGRAM}: -npmin {min} asks for runs on fewer than all {all} ranks (write -npmin \
                 {all}, and start again on fewer ranks)"
            )));
        }
        if self.n_ranks.is_none() && !is_of_two {
            let note = "collectives run on all ranks alone, as IMB does with -npmin of so many";
            self.notes.push(note.into());
        }
        if let Some(n_ranks) = self.n_ranks.or(is_of_two.then_some(2))
            && !around.is_launched
        {
            words.add("--ranks", n_ranks);
        }
        Ok(())
    }
}
