//! Command lines of IMB-HALO and IMB-MT, which have options of their own: messages are counts of elements, and
//! loops have as many operations as the user says.

use comet_report::suite::imb::HALO;
use comet_report::suite::{Benchmark, Numbers};

use super::super::{Reading, Stop, Surroundings, Translation, Words, count, require_two, wrong};
use super::programs::Program;
use super::{add_once, lines};

/// Name of the benchmarks of IMB-HALO together, where they are listed.
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

/// A command line of one of them.
struct Asked {
    program: &'static Program,
    benchmarks: Vec<&'static Benchmark>,
    /// True if names stand outside of `-include`.
    is_named: bool,
    excluded: Vec<&'static str>,
    counts: String,
    datatype: (&'static str, u64),
    /// Ranks between partners.
    stride: Option<u32>,
    /// Messages of a window.
    window: Option<u64>,
    /// The thread level, where it is not that of one thread.
    level: Option<String>,
    words: Words,
    notes: Vec<String>,
}

/// The command line of `program` that `reading` is, as one of comet-run.
pub(super) fn translate(
    program: &'static Program,
    reading: Reading,
    around: &Surroundings,
) -> Result<Translation, Stop> {
    let Reading { options, ours, plain, notes } = reading;
    let mut asked = Asked {
        program,
        benchmarks: Vec::new(),
        is_named: !plain.is_empty(),
        excluded: Vec::new(),
        counts: COUNTS.into(),
        datatype: DATATYPES[0],
        stride: None,
        window: None,
        level: None,
        words: Words { ours, ..Words::default() },
        notes,
    };
    asked.words.set("--repetitions", OPERATIONS);
    asked.words.set("--warm-up", WARM_UP);
    plain.iter().try_for_each(|names| asked.include(names))?;
    options.iter().try_for_each(|(name, value)| asked.option(name, value))?;
    asked.translate(around)
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
            "-stride" => {
                let refuse =
                    |_| self.wrong(name, value, "it is a number of ranks (write 0 for half)");
                self.stride = Some(value.parse().map_err(refuse)?);
            }
            "-window_size" => self.window = Some(count(self.program.name, name, value)?),
            "-barrier" => match value {
                "on" => (),
                "off" => self.words.set("--sync", "none"),
                "special" => self.words.set("--sync", "dissemination"),
                _ => return Err(self.wrong(name, value, "it is on, off or special (write on)")),
            },
            "-thread_level" => self.level = Some(value.to_owned()).filter(|of| of != "single"),
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
                self.is_named = true;
                lines(&text).iter().try_for_each(|line| self.include(line))?;
            }
            _ => {
                let group =
                    if self.program.suite.id == HALO.id { GROUP } else { self.program.name };
                return Err(Stop::Help(self.program.listed(group)));
            }
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

    /// True if a benchmark has such numbers.
    fn has(&self, is_such: impl Fn(Numbers) -> bool) -> bool {
        self.benchmarks.iter().any(|benchmark| is_such(benchmark.numbers))
    }

    /// Adds what IMB-MT alone has.
    fn add_threads(&mut self, around: &Surroundings) -> Result<(), Stop> {
        let is_of_pairs =
            |of| matches!(of, Numbers::ParallelTrips | Numbers::Parallel(_) | Numbers::Bands(_));
        if self.has(is_of_pairs) {
            require_two(self.program.name, "a pair", &self.words, around)?;
        }
        if let Some(level) = &self.level {
            if level == "multiple" {
                self.words.set("--threads", around.n_threads);
            }
            self.words.set("--thread-level", level);
        }
        if let Some(stride) = self.stride {
            match self.has(is_of_pairs) {
                true => self.words.axis(format!("stride={stride}")),
                false => self.notes.push(format!(
                    "-stride {stride} has no effect: no benchmark between partners is named"
                )),
            }
        }
        if let Some(window) = self.window {
            match self.has(|numbers| matches!(numbers, Numbers::Bands(_))) {
                true => self.words.axis(format!("window={window}")),
                false => self.notes.push(format!(
                    "-window_size {window} has no effect: neither UniBandMT nor BiBandMT is named"
                )),
            }
        }
        Ok(())
    }

    fn translate(mut self, around: &Surroundings) -> Result<Translation, Stop> {
        let (name, bytes) = self.datatype;
        let length = |word: &str| {
            let n: u64 = word.trim().parse().ok().filter(|n| *n > 0)?;
            Some(n.checked_mul(bytes)?.to_string())
        };
        let sizes: Option<Vec<String>> = self.counts.split(',').map(length).collect();
        let expected =
            "counts of elements are numbers above 0 with commas between them (write 1,2,4,8)";
        let sizes = sizes.ok_or_else(|| self.wrong("-count", &self.counts, expected))?;
        self.words.set("--loop-limits", "none");
        if !self.is_named {
            let is_new =
                |of: &&Benchmark| self.benchmarks.iter().all(|known| known.name != of.name);
            let others = self.program.suite.benchmarks.iter().filter(is_new);
            self.benchmarks.extend(others.collect::<Vec<_>>());
        }
        self.benchmarks.retain(|benchmark| !self.excluded.contains(&benchmark.name));
        if self.benchmarks.is_empty() {
            let nothing = "# note: nothing is measured: -exclude names all benchmarks\n";
            return Err(Stop::Help(nothing.into()));
        }
        if self.has(Numbers::has_lengths) {
            self.words.set("--sizes", sizes.join(","));
        }
        let is_reduction = |numbers| numbers == Numbers::Reduction;
        if self.has(|numbers| numbers.has_lengths() && !is_reduction(numbers)) {
            self.words.axis(format!("datatype={name}"));
        }
        if self.has(is_reduction) {
            self.words.axis(format!("element={name}"));
        }
        if self.program.suite.id != HALO.id {
            self.add_threads(around)?;
        }
        let names = self.benchmarks.iter().map(|benchmark| benchmark.name);
        Ok(Translation { words: self.words.run(self.program.suite, names), notes: self.notes })
    }
}
