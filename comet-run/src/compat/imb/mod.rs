//! Command lines of the Intel MPI Benchmarks.

mod counted;
mod p2p;
mod programs;
mod ranks;
mod sizes;

use comet_core::sweep::parse_count;
use comet_core::topology::RankGrid;
use comet_report::suite::imb::{HALO, MPI4, MT, OFF, ON, P2P, standard};
use comet_report::suite::{Benchmark, Numbers};

use self::programs::Program;
use super::{Options, Reading, Stop, Surroundings, Translation, Words};
use super::{count, doubling, require_two, wrong};

/// Time that a loop takes at most, in seconds.
const TIME_S: f64 = 10.0;
/// The least pause of `-msg_pause`.
const PAUSE: &str = "100ms";
/// Types of elements of messages; all but the first are those of reductions.
const ELEMENTS: [&str; 5] = ["byte", "char", "int", "float", "double"];
/// Benchmarks whose root may be another than rank 0, by the names of the blocked ones.
const ROOTED: [&str; 6] = ["Bcast", "Reduce", "Gather", "Gatherv", "Scatter", "Scatterv"];
/// Values of `-aggregate_mode`, and of the axis with the ends of transfers, whose default is both.
const MODES: [(&str, Option<&str>); 3] =
    [("multi", None), ("aggregate", Some("aggregate")), ("non_aggregate", Some("non_aggregate"))];
/// Bytes of a GB of IMB.
const GB: f64 = 1_073_741_824.0;
/// Bytes of a MB of IMB.
const MB: f64 = 1_048_576.0;

/// A command line of IMB.
struct Asked {
    program: &'static Program,
    benchmarks: Vec<&'static Benchmark>,
    /// Those of `-include`, which go before the others.
    included: Vec<&'static Benchmark>,
    excluded: Vec<&'static str>,
    /// The value of `-npmin`.
    n_ranks: Option<u64>,
    /// The values of `-msglog`.
    logs: (u32, u32),
    /// Lengths in bytes that the user lists.
    list: Option<Vec<u64>>,
    has_zero: bool,
    /// Datatype of messages.
    data_type: &'static str,
    /// Type of the elements of reductions.
    element: Option<&'static str>,
    /// True if each rank in turn is the root.
    rotates: bool,
    /// The ends of transfers that `-aggregate_mode` names, if they are of one kind.
    mode: Option<&'static str>,
    /// Operations of a length at most, and where each is complete before the next one.
    operations: u64,
    completed: Option<u64>,
    /// Most data that a loop moves, in MiB.
    volume: String,
    /// Most time of a loop, in seconds.
    time_s: f64,
    /// True if neither limits a loop.
    is_unlimited: bool,
    /// The end of the option for loops with a multiple of the ranks, behind the longest length.
    multiples: Option<&'static str>,
    /// Messages of a window.
    window: Option<u64>,
    /// True if barriers are between calls, and true if they are those of IMB.
    has_barriers: bool,
    has_own_barriers: bool,
    /// The value of `-map`, if it moves ranks.
    map: Option<RankGrid>,
    /// The value of `-multi`, if several groups run at once.
    groups: Option<String>,
    words: Words,
    notes: Vec<String>,
}

/// The command line `program words` as one of comet-run.
pub(super) fn translate(
    program: &str,
    words: &[String],
    around: &Surroundings,
) -> Result<Translation, Stop> {
    let layout = words.iter().rev().find_map(|word| word.strip_prefix("--format="));
    let program = Program::find(program, layout.unwrap_or_default())?;
    let reading = Options::of(program.name, program.suite.flags, program.letter).read(words)?;
    if program.suite.id == P2P.id {
        return p2p::translate(program, reading);
    }
    if [HALO.id, MT.id].contains(&program.suite.id) {
        return counted::translate(program, reading, around);
    }
    let Reading { options, ours, plain, notes } = reading;
    let standard = standard(program.suite);
    let mut asked = Asked {
        program,
        benchmarks: Vec::new(),
        included: Vec::new(),
        excluded: Vec::new(),
        n_ranks: None,
        logs: (0, standard.max_log),
        list: None,
        has_zero: true,
        data_type: ELEMENTS[0],
        element: None,
        rotates: program.is_3_2(),
        mode: None,
        operations: standard.operations,
        completed: program.completes_each.then_some(standard.completed),
        volume: standard.volume_mib.to_string(),
        time_s: TIME_S,
        is_unlimited: false,
        multiples: None,
        window: None,
        has_barriers: true,
        has_own_barriers: false,
        map: None,
        groups: None,
        words: Words { ours, ..Words::default() },
        notes,
    };
    plain.iter().try_for_each(|names| asked.include(names))?;
    options.iter().try_for_each(|(name, value)| asked.option(name, value))?;
    asked.complete();
    if asked.benchmarks.is_empty() {
        return Err(Stop::Help(
            "# note: nothing is measured: -exclude names all benchmarks\n".into(),
        ));
    }
    asked.translate(around)
}

/// The lines of `text` without blank ones and comments.
fn lines(text: &str) -> Vec<String> {
    let lines = text.lines().map(str::trim);
    lines.filter(|line| !line.is_empty() && !line.starts_with('#')).map(str::to_owned).collect()
}

/// True if the root of `benchmark` may be another than rank 0.
fn is_rooted(benchmark: &Benchmark) -> bool {
    let blocked = benchmark.name.trim_start_matches('I').trim_end_matches("_pure");
    ROOTED.iter().any(|name| name.eq_ignore_ascii_case(blocked))
}

/// A length of IMB in bytes: a number, with a k or M behind it.
fn length(word: &str) -> Option<u64> {
    let word = word.replace(' ', "").to_uppercase();
    let binary = word.strip_suffix(['K', 'M']).map(|_| format!("{word}i"));
    parse_count(&binary.unwrap_or(word)).ok()
}

/// Adds `benchmark` unless it is there, or else a note: a run has no two points of one case.
fn add_once(
    benchmark: &'static Benchmark,
    benchmarks: &mut Vec<&'static Benchmark>,
    notes: &mut Vec<String>,
) {
    if benchmarks.iter().all(|other| other.name != benchmark.name) {
        benchmarks.push(benchmark);
        return;
    }
    let again =
        format!("{} is measured once, where IMB prints a table for each mention", benchmark.name);
    if !notes.contains(&again) {
        notes.push(again);
    }
}

impl Asked {
    /// The refusal of the value of an option.
    fn wrong(&self, option: &str, value: &str, expected: &str) -> Stop {
        wrong(self.program.name, option, value, expected)
    }

    /// The meaning of a switch of IMB.
    fn is_on(&self, option: &str, value: &str) -> Result<bool, Stop> {
        match value {
            _ if ON.contains(&value) => Ok(true),
            _ if OFF.contains(&value) => Ok(false),
            _ => Err(self.wrong(option, value, "it is a switch (write on or off)")),
        }
    }

    /// A positive number in the value of `option`.
    fn count(&self, option: &str, value: &str) -> Result<u64, Stop> {
        count(self.program.name, option, value)
    }

    /// The lines of the file `path`, the value of `option`, without blank ones and comments.
    fn lines(&self, option: &str, path: &str) -> Result<Vec<String>, Stop> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| self.wrong(option, path, &format!("{error} (name a file of text)")))?;
        match lines(&text) {
            none if none.is_empty() => {
                Err(self.wrong(option, path, "the file names nothing (one name or length a line)"))
            }
            lines => Ok(lines),
        }
    }

    /// The one of the types `known` that the value of `option` names.
    fn element(
        &self,
        option: &str,
        value: &str,
        known: &[&'static str],
    ) -> Result<&'static str, Stop> {
        let found = known.iter().find(|name| **name == value).copied();
        // Where MPI defines such types, which Open MPI does not and MPICH cannot always reduce.
        let theirs = match value {
            "float16" | "bfloat16" => {
                "IMB has it over MPICH alone, and float in its place elsewhere; "
            }
            _ => "",
        };
        let expected = || format!("{theirs}elements are {} (write float)", known.join(", "));
        found.ok_or_else(|| self.wrong(option, value, &expected()))
    }

    /// Takes in one option.
    fn option(&mut self, name: &str, value: &str) -> Result<(), Stop> {
        let program = self.program;
        let refuse = |expected: &str| wrong(program.name, name, value, expected);
        match name {
            "-npmin" => self.n_ranks = Some(self.count(name, value)?),
            "-msglog" => {
                let (min, max) = value.split_once(':').unwrap_or(("0", value));
                let log = |text: &str| text.parse().ok().filter(|log: &u32| *log < 31);
                let logs = log(min).zip(log(max)).filter(|(min, max)| min <= max);
                let expected = "powers of two are [MIN:]MAX below 31 (write 0:22)";
                self.logs = logs.ok_or_else(|| refuse(expected))?;
            }
            "-msglen" => self.list(self.lines(name, value)?.iter().map(String::as_str), refuse)?,
            "-msgsize" => {
                if value.contains(['k', 'K', 'm', 'M']) {
                    self.notes.push(format!(
                        "-msgsize {value} is obeyed: IMB takes the numbers in it without k and M"
                    ));
                }
                self.list(value.split(','), refuse)?;
            }
            "-zero_size" => self.has_zero = self.is_on(name, value)?,
            "-root_shift" => self.rotates = self.is_on(name, value)?,
            "-data_type" => self.data_type = self.element(name, value, &ELEMENTS)?,
            "-red_data_type" => self.element = Some(self.element(name, value, &ELEMENTS[1..])?),
            "-warm_up" if self.is_on(name, value)? => (),
            "-warm_up" => self.words.set("--warm-up", 0),
            "-iter" => self.operations(value)?,
            "-iter_policy" => self.policy(value)?,
            "-time" => {
                let time = value.parse().ok().filter(|s: &f64| (1e-9..1e9).contains(s));
                let expected = "it is a number of seconds, at least 1e-9 (write 10)";
                self.time_s = time.ok_or_else(|| refuse(expected))?;
            }
            "-window_size" => self.window = Some(self.count(name, value)?),
            "-map" => {
                let map: RankGrid = value.parse().map_err(|expected: String| refuse(&expected))?;
                self.map = Some(map).filter(|map| map.moves_ranks());
            }
            "-msg_pause" if self.is_on(name, value)? => self.words.set("--pause", PAUSE),
            "-msg_pause" => (),
            "-imb_barrier" => self.has_own_barriers = self.is_on(name, value)?,
            "-sync" => self.has_barriers = self.is_on(name, value)?,
            "-multi" => match value {
                "-1" => (),
                "0" | "1" => self.groups = Some(value.to_owned()),
                _ => return Err(refuse("it is 0, a row for all groups, or 1, a row for each")),
            },
            "-input" => {
                for line in self.lines(name, value)? {
                    self.include(&line)?;
                }
            }
            "-mem" | "-off_cache" => self.memory(name, value)?,
            "-thread_level" if value == "single" => (),
            "-thread_level" => self.words.set("--thread-level", value),
            "-exclude" => {
                for word in value.split(',') {
                    self.excluded.push(program.benchmark(word)?.name);
                }
            }
            "-aggregate_mode" => {
                let mode = MODES.into_iter().find(|(mode, _)| *mode == value);
                let expected =
                    "it is aggregate, non_aggregate or multi, which is both (write multi)";
                self.mode = mode.ok_or_else(|| refuse(expected))?.1;
            }
            "-list" => return Err(Stop::Help(program.listed(program.name))),
            _ => self.ahead(value)?,
        }
        Ok(())
    }

    /// Takes the benchmarks of `-include`, which go before the others.
    fn ahead(&mut self, names: &str) -> Result<(), Stop> {
        for name in names.split(',') {
            add_once(self.program.benchmark(name)?, &mut self.included, &mut self.notes);
        }
        Ok(())
    }

    /// Takes in the most memory, or the cache that buffers leave.
    fn memory(&mut self, name: &str, value: &str) -> Result<(), Stop> {
        if name == "-mem" {
            let gb = value.parse().ok().filter(|gb: &f64| *gb > 0.0 && gb.is_finite());
            let refuse = || self.wrong(name, value, "it is a number of GB (write 1)");
            let gb = gb.ok_or_else(refuse)?;
            self.words.set("--mem", format!("{:.0}", gb * GB));
            return Ok(());
        }
        let mb = value.split(',').next().and_then(|mb| mb.parse().ok());
        let mb = mb.filter(|mb: &f64| *mb > 0.0 || *mb == -1.0);
        let expected = "it is a number of MB, or -1 for the last-level cache (write 32)";
        let mb = mb.ok_or_else(|| self.wrong(name, value, expected))?;
        let of_size = || format!("offcache:{:.0}", mb * MB);
        self.words.set("--buffers", if mb > 0.0 { of_size() } else { "rotate".into() });
        Ok(())
    }

    /// Takes in how many operations a loop has.
    fn operations(&mut self, value: &str) -> Result<(), Stop> {
        let words: Vec<&str> = value.splitn(4, ',').collect();
        if words.iter().skip(1).take(2).any(|word| word.parse::<u32>().is_err()) {
            let expected = "it is N[,VOLUME[,N[,POLICY]]] (write 1000,40)";
            return Err(self.wrong("-iter", value, expected));
        }
        // The rules take fewer where a loop would move too much.
        self.operations = self.count("-iter", words[0])?;
        if let Some(volume) = words.get(1) {
            self.volume = (*volume).to_owned();
        }
        if let (Some(completed), Some(word)) = (&mut self.completed, words.get(2)) {
            *completed = word.parse().unwrap_or(*completed).max(1);
        }
        words.get(3).map_or(Ok(()), |policy| self.policy(policy))
    }

    /// Takes in the law by which a loop has its operations.
    fn policy(&mut self, name: &str) -> Result<(), Stop> {
        (self.is_unlimited, self.multiples) = match name {
            "dynamic" => (false, None),
            "off" => (true, None),
            "multiple_np" => (false, Some("")),
            "auto" => (false, Some(",rooted")),
            _ => {
                let expected = "operations are limited by length and time, a multiple of the number of \
                                ranks, one or the other, or not limited (write dynamic, multiple_np, \
                                auto or off)";
                return Err(self.wrong("-iter_policy", name, expected));
            }
        };
        Ok(())
    }

    /// Adds the benchmarks `words`, which have commas between them.
    fn include(&mut self, words: &str) -> Result<(), Stop> {
        for word in words.split(',') {
            let benchmark = self.program.benchmark(word)?;
            add_once(benchmark, &mut self.benchmarks, &mut self.notes);
        }
        Ok(())
    }

    /// Takes the lengths `words`.
    fn list<'a>(
        &mut self,
        words: impl Iterator<Item = &'a str>,
        refuse: impl Fn(&str) -> Stop,
    ) -> Result<(), Stop> {
        let words = words.map(str::trim).filter(|word| !word.is_empty());
        let lengths: Option<Vec<u64>> = words.map(length).collect();
        let lengths = lengths.filter(|lengths| !lengths.is_empty());
        let expected = "lengths are numbers of bytes, with k or M behind (write 8 or 64k)";
        self.list = Some(lengths.ok_or_else(|| refuse(expected))?);
        Ok(())
    }

    /// Takes the benchmarks of IMB if none is named, behind those of `-include`.
    fn complete(&mut self) {
        if self.benchmarks.is_empty() {
            let all = self.program.suite.benchmarks.iter();
            let is_new = |of: &&Benchmark| self.included.iter().all(|known| known.name != of.name);
            self.benchmarks = all.filter(|of| of.is_default).filter(is_new).collect();
        }
        for benchmark in std::mem::replace(&mut self.benchmarks, std::mem::take(&mut self.included))
        {
            add_once(benchmark, &mut self.benchmarks, &mut self.notes);
        }
        self.benchmarks.retain(|benchmark| !self.excluded.contains(&benchmark.name));
    }

    /// True if a benchmark has such numbers.
    fn has(&self, is_such: impl Fn(Numbers) -> bool) -> bool {
        self.benchmarks.iter().any(|benchmark| is_such(benchmark.numbers))
    }

    fn translate(mut self, around: &Surroundings) -> Result<Translation, Stop> {
        let has_pair = self.has(Numbers::is_of_two);
        let has_all = self.has(|numbers| !numbers.is_of_two());
        if has_pair {
            require_two(self.program.name, "a pair", &self.words, around)?;
        }
        if self.program.has_files && self.words.value("--io-dir").is_none() {
            return Err(Stop::Wrong(format!(
                "{}: no folder is named for its files (add --io-dir=FOLDER)",
                self.program.name
            )));
        }
        match (self.has_barriers, self.has_own_barriers) {
            (false, _) => self.words.set("--sync", "none"),
            (true, true) => self.words.set("--sync", "dissemination"),
            (true, false) => (),
        }
        self.add_operations();
        if self.benchmarks.iter().any(|benchmark| benchmark.kernel == "comet/echo") {
            self.words.set("--hops", 1);
        }
        self.limit_loops();
        if let Some(window) = self.window {
            match self.has(|numbers| matches!(numbers, Numbers::Windows(_))) {
                true => self.words.axis(format!("window={window}")),
                false => self.notes.push(format!(
                    "-window_size {window} has no effect: neither Uniband nor Biband is named"
                )),
            }
        }
        if self.list.is_some() && self.has(|numbers| numbers == Numbers::RemoteElement) {
            self.notes.push(
                "-iter counts the operations on one element too, of which IMB takes 100 beside -msglen"
                    .into(),
            );
        }
        self.add_lengths();
        self.add_elements();
        self.add_mode();
        if self.rotates {
            match self.benchmarks.iter().any(|of| is_rooted(of)) {
                true => self.words.axis("root=rotate".into()),
                false if self.program.is_3_2() => (),
                false if self.program.suite.id == MPI4.id => self.notes.push(
                    "-root_shift on has no effect: a prepared collective keeps its root".into(),
                ),
                false => self.notes.push("-root_shift on has no effect: no root is there".into()),
            }
        }
        self.add_ranks(has_pair, has_all, around)?;
        let names = self.benchmarks.iter().map(|benchmark| benchmark.name);
        Ok(Translation { words: self.words.run(self.program.suite, names), notes: self.notes })
    }
}
