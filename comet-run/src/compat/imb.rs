//! Command lines of the Intel MPI Benchmarks.

use super::{Flag, Stop, Surroundings, Translation, Word, Words, count, doubling, flag, read};

/// The only program of IMB that has kernels here.
const PROGRAM: &str = "IMB-MPI1";
/// The longest message, as a power of two.
const MAX_LOG: u32 = 22;
/// Operations for each length by the rules of IMB.
const OPERATIONS: u64 = 1000;
/// Seconds for each length by the rules of IMB.
const SECONDS: f64 = 10.0;
/// Bytes of a GB of IMB.
const GB: f64 = 1_073_741_824.0;

/// What a benchmark sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Messages between two ranks.
    Pair,
    /// Messages among all ranks.
    Messages,
    /// Nothing.
    Barrier,
}

/// The benchmarks of IMB that have a kernel here.
const BENCHMARKS: &[(&str, Kind)] =
    &[("PingPong", Kind::Pair), ("Bcast", Kind::Messages), ("Barrier", Kind::Barrier)];

/// The benchmarks of IMB that a kernel here resembles without being the same, and the difference.
const SIMILAR: &[(&str, &str)] = &[
    ("PingPing", "comet-run exchange is MPI_Sendrecv of two ranks, not MPI_Isend around MPI_Recv"),
    ("Sendrecv", "comet-run exchange is MPI_Sendrecv of two ranks, not of a ring of all"),
    ("Allreduce", "comet-run reduction sums doubles in place, not floats into another buffer"),
];

const FLAGS: &[Flag] = &[
    flag(
        "-npmin",
        "P",
        "as many as there are ranks, which are so many where no launcher decides it",
    ),
    flag("-msglog", "[MIN:]MAX", "lengths in bytes: 0, and powers of two from 2^MIN to 2^MAX"),
    flag("-iter", "N[,VOL[,M]]", "timed operations; 1000 are fewer for long messages"),
    flag("-time", "S", "most seconds for one length: 10"),
    flag("-mem", "GB", "most memory of a rank"),
];

/// Names of the benchmarks that are here.
#[cfg(test)]
pub(super) fn benchmarks() -> impl Iterator<Item = &'static str> {
    BENCHMARKS.iter().map(|(name, _)| *name)
}

/// What a command line asks for.
#[derive(Debug)]
struct Asked {
    benchmarks: Vec<(&'static str, Kind)>,
    n_ranks: Option<u64>,
    min: u64,
    max: u64,
    n_operations: u64,
    mem_bytes: Option<String>,
    notes: Vec<String>,
    ours: Vec<String>,
}

/// The command line `program words` in ours.
pub(super) fn translate(
    program: &str,
    words: &[String],
    around: &Surroundings,
) -> Result<Translation, Stop> {
    if program != PROGRAM {
        let sentence = format!("{program} is not here, but {PROGRAM} is (write {PROGRAM})");
        return Err(Stop::Wrong(sentence));
    }
    let mut asked = Asked {
        benchmarks: Vec::new(),
        n_ranks: None,
        min: 1,
        max: 1 << MAX_LOG,
        n_operations: OPERATIONS,
        mem_bytes: None,
        notes: Vec::new(),
        ours: Vec::new(),
    };
    for word in read(program, words, FLAGS)? {
        match word {
            Word::Option(name, value) => asked.option(name, &value)?,
            Word::Ours(word) => asked.ours.push(word),
            Word::Plain(word) => asked.benchmarks.push(benchmark(&word)?),
        }
    }
    if asked.benchmarks.is_empty() {
        asked.benchmarks = BENCHMARKS.to_vec();
    }
    asked.translate(around)
}

fn benchmark(word: &str) -> Result<(&'static str, Kind), Stop> {
    let known = BENCHMARKS.iter().find(|(name, _)| name.eq_ignore_ascii_case(word));
    let similar = SIMILAR.iter().find(|(name, _)| name.eq_ignore_ascii_case(word));
    if let Some((name, difference)) = similar {
        return Err(Stop::Wrong(format!("{PROGRAM}: {name} is not here ({difference})")));
    }
    known.copied().ok_or_else(|| {
        let names: Vec<&str> = BENCHMARKS.iter().map(|(name, _)| *name).collect();
        let (last, others) = names.split_last().expect("some benchmarks are here");
        Stop::Wrong(format!(
            "{PROGRAM}: {word} is not here, but {} and {last} are (comet-run list shows all \
             kernels)",
            others.join(", ")
        ))
    })
}

fn wrong(option: &str, value: &str, expected: &str) -> Stop {
    Stop::Wrong(format!("{PROGRAM}: '{value}' for {option}: {expected}"))
}

impl Asked {
    /// Takes in one option.
    fn option(&mut self, name: &str, value: &str) -> Result<(), Stop> {
        match name {
            "-npmin" => self.n_ranks = Some(count(PROGRAM, name, value)?),
            "-msglog" => {
                let (min, max) = value.split_once(':').unwrap_or(("0", value));
                let log = |text: &str| text.parse().ok().filter(|log: &u32| *log < 40);
                let logs = log(min).zip(log(max)).filter(|(min, max)| min <= max);
                let (min, max) = logs.ok_or_else(|| {
                    wrong(name, value, "powers of two are [MIN:]MAX below 40 (write 0:22)")
                })?;
                (self.min, self.max) = (1 << min, 1 << max);
            }
            "-iter" => {
                let n = value.split(',').next().unwrap_or(value);
                self.n_operations = count(PROGRAM, name, n)?;
                if n != value {
                    self.note(name, value, "volume and other counts are those of IMB 3.2");
                }
            }
            "-mem" => {
                let gb: Option<f64> = value.parse().ok().filter(|gb| *gb > 0.0);
                let gb = gb.ok_or_else(|| wrong(name, value, "it is a number of GB (write 1)"))?;
                self.mem_bytes = Some(format!("{:.0}", gb * GB));
            }
            _ if value.parse() == Ok(SECONDS) => (),
            _ => self.note(name, value, "one length takes at most 10 s, as IMB has it by default"),
        }
        Ok(())
    }

    fn note(&mut self, name: &str, value: &str, why: &str) {
        self.notes.push(format!("{name} {value} is not taken over: {why}"));
    }

    fn has(&self, kinds: &[Kind]) -> bool {
        self.benchmarks.iter().any(|(_, kind)| kinds.contains(kind))
    }

    fn translate(mut self, around: &Surroundings) -> Result<Translation, Stop> {
        let names: Vec<String> =
            self.benchmarks.iter().map(|(name, _)| format!("IMB:{name}")).collect();
        let mut words = Words::new(names, std::mem::take(&mut self.ours));
        words.add("--rules", "imb");
        words.add("--format", "imb");
        if self.has(&[Kind::Pair]) {
            words.add("--hops", 1);
        }
        if self.has(&[Kind::Pair, Kind::Messages]) {
            words.add("--sizes", format!("0,{}", doubling(self.min, self.max)));
        }
        self.add_ranks(&mut words, around)?;
        if self.n_operations != OPERATIONS {
            words.add("--repetitions", self.n_operations);
        }
        if let Some(mem_bytes) = self.mem_bytes.take() {
            words.add("--mem", mem_bytes);
        }
        Ok(Translation { words: words.all(), notes: self.notes })
    }

    /// Decides the number of ranks. IMB runs on NPMIN ranks, twice as many, and so on up to all;
    /// all are the only number here.
    fn add_ranks(&mut self, words: &mut Words, around: &Surroundings) -> Result<(), Stop> {
        let is_of_two = !self.has(&[Kind::Messages, Kind::Barrier]);
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
