//! Command lines of IMB-HALO, which have options of their own.

use comet_report::suite::Benchmark;

use super::super::{Reading, Stop, Translation, Words, count, wrong};
use super::programs::Program;
use super::{add_once, lines};

/// Name of the benchmarks together, where they are listed.
const GROUP: &str = "ndim_halo_benchmark";
/// Elements of a message without options, and their datatypes with their bytes.
const COUNTS: &str = "1,2,4,8";
const DATATYPES: [(&str, u64); 2] = [("int", 4), ("char", 1)];
/// Operations that are timed, and those that go before, likewise.
const OPERATIONS: u64 = 1000;
const WARM_UP: u32 = 100;
/// Most dimensions of a grid.
const N_DIMENSIONS: usize = 4;
/// Axes with the proportions of the sides.
const AXES: [&str; N_DIMENSIONS] = ["topo_1", "topo_2", "topo_3", "topo_4"];

/// A command line of IMB-HALO.
struct Asked {
    program: &'static Program,
    benchmarks: Vec<&'static Benchmark>,
    excluded: Vec<&'static str>,
    counts: String,
    datatype: (&'static str, u64),
    words: Words,
    notes: Vec<String>,
}

/// The command line of `program` that `reading` is, as one of comet-run.
pub(super) fn translate(program: &'static Program, reading: Reading) -> Result<Translation, Stop> {
    let Reading { options, ours, plain, notes } = reading;
    let mut asked = Asked {
        program,
        benchmarks: Vec::new(),
        excluded: Vec::new(),
        counts: COUNTS.into(),
        datatype: DATATYPES[0],
        words: Words { ours, ..Words::default() },
        notes,
    };
    asked.words.set("--repetitions", OPERATIONS);
    asked.words.set("--warm-up", WARM_UP);
    plain.iter().try_for_each(|names| asked.include(names))?;
    options.iter().try_for_each(|(name, value)| asked.option(name, value))?;
    asked.translate()
}

impl Asked {
    fn wrong(&self, option: &str, value: &str, expected: &str) -> Stop {
        wrong(self.program.name, option, value, expected)
    }

    /// Adds the benchmarks `words`, which have commas between them.
    fn include(&mut self, words: &str) -> Result<(), Stop> {
        for word in words.split(',').filter(|word| !word.is_empty()) {
            add_once(self.program.benchmark(word)?, &mut self.benchmarks, &mut self.notes);
        }
        Ok(())
    }

    /// Takes in one option.
    fn option(&mut self, name: &str, value: &str) -> Result<(), Stop> {
        match name {
            "-topo" => self.grid(value)?,
            "-count" => self.counts = value.to_owned(),
            "-datatype" => {
                let found = DATATYPES.into_iter().find(|(datatype, _)| *datatype == value);
                let refuse = || self.wrong(name, value, "elements are int, char (write int)");
                self.datatype = found.ok_or_else(refuse)?;
            }
            "-repeat" => {
                let n = count(self.program.name, name, value)?;
                self.words.set("--repetitions", n);
            }
            "-warmup" => {
                let refuse = |_| self.wrong(name, value, "it is a number (write 100)");
                let n: u32 = value.parse().map_err(refuse)?;
                self.words.set("--warm-up", n);
            }
            "-include" => self.include(value)?,
            "-exclude" => {
                for word in value.split(',') {
                    self.excluded.push(self.program.benchmark(word)?.name);
                }
            }
            "-input" => {
                let refuse =
                    |error| self.wrong(name, value, &format!("{error} (name a file of text)"));
                let text = std::fs::read_to_string(value).map_err(refuse)?;
                lines(&text).iter().try_for_each(|line| self.include(line))?;
            }
            _ => return Err(Stop::Help(self.program.listed(GROUP))),
        }
        Ok(())
    }

    /// Takes in the proportions of the sides of the grid.
    fn grid(&mut self, value: &str) -> Result<(), Stop> {
        let side = |word: &str| word.parse().ok().filter(|side: &u32| *side > 0);
        let sides: Option<Vec<u32>> = value.split('.').map(side).collect();
        let sides = sides.filter(|sides| sides.len() <= N_DIMENSIONS);
        let expected = "proportions of 1 to 4 sides are numbers above 0 with points between them \
                        (write 2.2 for a square)";
        let sides = sides.ok_or_else(|| self.wrong("-topo", value, expected))?;
        for (axis, side) in AXES.into_iter().zip(sides) {
            self.words.axis(format!("{axis}={side}"));
        }
        Ok(())
    }

    fn translate(mut self) -> Result<Translation, Stop> {
        let (name, bytes) = self.datatype;
        let length = |word: &str| {
            let n: u64 = word.trim().parse().ok().filter(|n| *n > 0)?;
            Some(n.checked_mul(bytes)?.to_string())
        };
        let sizes: Option<Vec<String>> = self.counts.split(',').map(length).collect();
        let expected =
            "counts of elements are numbers above 0 with commas between them (write 1,2,4,8)";
        let sizes = sizes.ok_or_else(|| self.wrong("-count", &self.counts, expected))?;
        self.words.set("--sizes", sizes.join(","));
        self.words.set("--loop-limits", "none");
        self.words.axis(format!("datatype={name}"));
        if self.benchmarks.is_empty() {
            self.benchmarks = self.program.suite.benchmarks.iter().collect();
        }
        self.benchmarks.retain(|benchmark| !self.excluded.contains(&benchmark.name));
        if self.benchmarks.is_empty() {
            let nothing = "# note: nothing is measured: -exclude names all benchmarks\n";
            return Err(Stop::Help(nothing.into()));
        }
        let names = self.benchmarks.iter().map(|benchmark| benchmark.name);
        Ok(Translation { words: self.words.run(self.program.suite, names), notes: self.notes })
    }
}
