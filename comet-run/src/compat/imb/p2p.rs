//! Command lines of IMB-P2P, which have options of their own.

use comet_core::kernel::{Buffers, Touch};
use comet_core::sweep::parse_count;
use comet_report::suite::Benchmark;

use super::super::{Reading, Stop, Translation, Words, doubling, wrong};
use super::programs::Program;
use super::{add_once, lines};

/// The longest message, as a power of two.
const MAX_LOG: u32 = 47;
/// The longest message without options, likewise.
const STANDARD_LOG: u32 = 22;
/// Pause before each length without options, in microseconds.
const PAUSE_US: u64 = 100_000;
/// Values of switches.
const ON: [&str; 5] = ["1", "on", "enable", "yes", "true"];
const OFF: [&str; 5] = ["0", "off", "disable", "no", "false"];

/// A command line of IMB-P2P.
struct Asked {
    program: &'static Program,
    benchmarks: Vec<&'static Benchmark>,
    /// Lengths in bytes, each a value or a range.
    sizes: Vec<String>,
    /// True if messages are written before they are sent, and read after they were received.
    writes: bool,
    reads: bool,
    pause_us: u64,
    words: Words,
}

/// The command line of `program` that `reading` is, as one of comet-run.
pub(super) fn translate(program: &'static Program, reading: Reading) -> Result<Translation, Stop> {
    let Reading { options, ours, plain, mut notes } = reading;
    let mut asked = Asked {
        program,
        benchmarks: Vec::new(),
        sizes: Vec::new(),
        writes: true,
        reads: true,
        pause_us: PAUSE_US,
        words: Words { ours, ..Words::default() },
    };
    for name in plain.iter().flat_map(|names| names.split(',')).filter(|name| !name.is_empty()) {
        add_once(program.benchmark(name)?, &mut asked.benchmarks, &mut notes);
    }
    options.iter().try_for_each(|(name, value)| asked.option(name, value))?;
    Ok(Translation { words: asked.translate(), notes })
}

/// A length of IMB-P2P in bytes: a number, with a k, m or g behind it.
fn length(word: &str) -> Option<u64> {
    let word = word.trim().to_uppercase();
    let binary = word.strip_suffix(['K', 'M', 'G']).map(|_| format!("{word}i"));
    parse_count(&binary.unwrap_or(word)).ok()
}

impl Asked {
    fn wrong(&self, option: &str, value: &str, expected: &str) -> Stop {
        wrong(self.program.name, option, value, expected)
    }

    fn is_on(&self, option: &str, value: &str) -> Result<bool, Stop> {
        let is_one_of =
            |words: [&str; 5]| words.iter().any(|word| word.eq_ignore_ascii_case(value));
        match is_one_of(ON) {
            is_on if is_on || is_one_of(OFF) => Ok(is_on),
            _ => Err(self.wrong(option, value, "it is a switch (write on or off)")),
        }
    }

    /// Takes in one option.
    fn option(&mut self, name: &str, value: &str) -> Result<(), Stop> {
        match name {
            "-msgwr" => self.writes = self.is_on(name, value)?,
            "-msgrd" => self.reads = self.is_on(name, value)?,
            "-msgsz" => self.add_length(name, value)?,
            "-msglog" => self.sizes = vec![self.powers(value)?],
            "-msglen" => {
                self.sizes.clear();
                let text = std::fs::read_to_string(value).map_err(|error| {
                    self.wrong(name, value, &format!("{error} (name a file of text)"))
                })?;
                lines(&text).iter().try_for_each(|line| self.add_length(name, line))?;
            }
            "-iter" => self.operations(value)?,
            "-pause" => {
                let expected = "it is a number of microseconds (write 100000)";
                self.pause_us = value.parse().map_err(|_| self.wrong(name, value, expected))?;
            }
            _ => return Err(Stop::Help(listed(self.program))),
        }
        Ok(())
    }

    /// Adds a length in the value of `option`.
    fn add_length(&mut self, option: &str, word: &str) -> Result<(), Stop> {
        let most = 1_u64 << MAX_LOG;
        let expected =
            "a length is a number of bytes up to 128T, with k, m or g behind (write 64k)";
        let length = length(word).filter(|length| *length <= most);
        let length = length.ok_or_else(|| self.wrong(option, word, expected))?;
        self.sizes.push(length.to_string());
        Ok(())
    }

    /// The lengths that are powers of two: 0 goes before those of which the least is not named.
    fn powers(&self, value: &str) -> Result<String, Stop> {
        let log = |text: &str| text.parse().ok().filter(|log: &u32| *log <= MAX_LOG);
        let sizes = match value.split_once(':') {
            None => log(value).map(|max| doubling(0, 1 << max)),
            Some((min, max)) => {
                let logs = log(min).zip(log(max)).filter(|(min, max)| min <= max);
                logs.map(|(min, max)| doubling(1 << min, 1 << max))
            }
        };
        let expected =
            "powers of two are [MIN:]MAX up to 47 (write 22, or 0:22 without a length of 0)";
        sizes.ok_or_else(|| self.wrong("-msglog", value, expected))
    }

    /// Takes in how many operations a loop has, and how much data it moves.
    fn operations(&mut self, value: &str) -> Result<(), Stop> {
        let (most, volume) = match value.split_once(',') {
            Some((most, volume)) => (most, Some(volume)),
            None => (value, None),
        };
        let number = |word: &str| word.parse::<u32>().ok().filter(|n| *n > 0);
        let refuse =
            || self.wrong("-iter", value, "it is N[,VOLUME], both above 0 (write 100000,800)");
        let most = number(most).ok_or_else(refuse)?;
        let volume = volume.map(|volume| number(volume).ok_or_else(refuse)).transpose()?;
        self.words.set("--repetitions", most);
        if let Some(volume) = volume {
            self.words.set("--loop-limits", format!("{volume}Mi,none,none"));
        }
        Ok(())
    }

    fn translate(mut self) -> Vec<String> {
        let touch = match (self.writes, self.reads) {
            (true, true) => Buffers::Touched(Touch::Lines),
            (true, false) => Buffers::Touched(Touch::Sent),
            (false, true) => Buffers::Touched(Touch::Received),
            (false, false) => Buffers::Same,
        };
        self.words.set("--buffers", touch.name());
        if self.pause_us > 0 {
            self.words.set("--pause", format!("{}us", self.pause_us));
        }
        if self.sizes.is_empty() {
            self.sizes.push(doubling(0, 1 << STANDARD_LOG));
        }
        self.words.set("--sizes", self.sizes.join(","));
        let suite = self.program.suite;
        if self.benchmarks.is_empty() {
            self.benchmarks = suite.benchmarks.iter().collect();
        }
        self.words.run(suite, self.benchmarks.iter().map(|benchmark| benchmark.name))
    }
}

/// The names of the benchmarks, as IMB-P2P lists them.
fn listed(program: &Program) -> String {
    let names: String =
        program.suite.benchmarks.iter().map(|of| format!("# {}\n", of.name)).collect();
    format!("# List of Benchmarks to run:\n#\n{names}#\n")
}
