//! Command lines of the Intel MPI Benchmarks.

use comet_core::collective::Element;
use comet_core::sweep::parse_count;
use comet_core::topology::RankGrid;
use comet_report::format::{LENGTHS_LABEL, ROWS_LABEL};
use comet_report::suite::imb::{OFF, ON, SUITE};
use comet_report::suite::{Benchmark, Numbers};

use super::{Options, Reading, Stop, Surroundings, Translation, Words};
use super::{count, doubling, not_here, require_two, wrong};

/// The only program of IMB that has kernels here.
const PROGRAM: &str = "IMB-MPI1";
/// The shortest message of at least a byte and the longest, as powers of two.
const LOGS: (u32, u32) = (0, 22);
/// Operations for each length by the rules of IMB.
const OPERATIONS: u64 = 1000;
/// Data that a loop moves at most by the rules of IMB, in MiB.
const VOLUME_MIB: &str = "40";
/// Time that a loop takes at most, in seconds.
const TIME_S: f64 = 10.0;
/// The limits of loops, and of all lengths, that the rules have anyway.
const LOOP_LIMITS: &str = "40Mi,10s,210s";
/// The least pause of `-msg_pause`.
const PAUSE: &str = "100ms";
/// Types of elements of messages; all but the first are those of reductions.
const ELEMENTS: [&str; 5] = ["byte", "char", "int", "float", "double"];
/// Benchmarks whose root may be another than rank 0.
const ROOTED: [&str; 6] = ["Bcast", "Reduce", "Gather", "Gatherv", "Scatter", "Scatterv"];
/// The least number of ranks, unless the user chooses it.
const NPMIN: u64 = 2;
/// Bytes of a GB of IMB.
const GB: f64 = 1_073_741_824.0;
/// Bytes of a MB of IMB.
const MB: f64 = 1_048_576.0;

/// A command line of IMB.
struct Asked {
    benchmarks: Vec<&'static Benchmark>,
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
    /// Most data that a loop moves, in MiB.
    volume: String,
    /// Most time of a loop, in seconds.
    time_s: f64,
    /// True if neither limits a loop.
    is_unlimited: bool,
    /// What follows the longest length in the option for loops with a multiple of the ranks.
    multiples: Option<&'static str>,
    /// Messages of a window.
    window: Option<u64>,
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
    if program != PROGRAM {
        let sentence = format!("{program} is not here, but {PROGRAM} is (write {PROGRAM})");
        return Err(Stop::Wrong(sentence));
    }
    let Reading { options, ours, plain, notes } =
        Options::of(program, SUITE.flags, "").read(words)?;
    let mut asked = Asked {
        benchmarks: Vec::new(),
        excluded: Vec::new(),
        n_ranks: None,
        logs: LOGS,
        list: None,
        has_zero: true,
        data_type: ELEMENTS[0],
        element: None,
        rotates: false,
        volume: VOLUME_MIB.into(),
        time_s: TIME_S,
        is_unlimited: false,
        multiples: None,
        window: None,
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

/// The benchmark `word`.
fn benchmark(word: &str) -> Result<&'static Benchmark, Stop> {
    SUITE.find(word).ok_or_else(|| not_here(&SUITE, &format!("{PROGRAM}: "), word))
}

/// The names of the benchmarks, as IMB lists them.
fn listed() -> String {
    let mut benchmarks: Vec<_> = SUITE.benchmarks.iter().collect();
    benchmarks.sort_by_key(|benchmark| benchmark.name);
    let line = |of: &&Benchmark| {
        let mark = if of.is_default { "" } else { " (non-default)" };
        format!("    {}{mark}\n", of.name)
    };
    let lines: String = benchmarks.iter().map(line).collect();
    format!("List of benchmarks:\n{PROGRAM}:\n{lines}")
}

/// The meaning of a switch of IMB.
fn is_on(option: &str, value: &str) -> Result<bool, Stop> {
    match value {
        _ if ON.contains(&value) => Ok(true),
        _ if OFF.contains(&value) => Ok(false),
        _ => Err(wrong(PROGRAM, option, value, "it is a switch (write on or off)")),
    }
}

/// The lines of the file `path`, the value of `option`, without blank ones and comments.
fn lines(option: &str, path: &str) -> Result<Vec<String>, Stop> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| wrong(PROGRAM, option, path, &format!("{error} (name a file of text)")))?;
    let lines = text.lines().map(str::trim);
    let lines: Vec<String> = lines
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(str::to_owned)
        .collect();
    match lines.is_empty() {
        true => {
            Err(wrong(PROGRAM, option, path, "the file names nothing (one name or length a line)"))
        }
        false => Ok(lines),
    }
}

/// The one of the types `known` that the value of `option` names.
fn element(option: &str, value: &str, known: &[&'static str]) -> Result<&'static str, Stop> {
    let found = known.iter().find(|name| **name == value).copied();
    // Where MPI defines such types, which Open MPI does not and MPICH cannot always reduce.
    let theirs = match value {
        "float16" | "bfloat16" => "IMB has it over MPICH alone, and float in its place elsewhere; ",
        _ => "",
    };
    let expected = || format!("{theirs}elements are {} (write float)", known.join(", "));
    found.ok_or_else(|| wrong(PROGRAM, option, value, &expected()))
}

/// A time in seconds, in whole nanoseconds.
fn seconds(s: f64) -> String {
    format!("{}s", (s * 1e9).round() / 1e9)
}

/// A length of IMB in bytes: a number, with a k or M behind it.
fn length(word: &str) -> Option<u64> {
    let word = word.replace(' ', "").to_uppercase();
    let binary = word.strip_suffix(['K', 'M']).map(|_| format!("{word}i"));
    parse_count(&binary.unwrap_or(word)).ok()
}

impl Asked {
    /// Takes in one option.
    fn option(&mut self, name: &str, value: &str) -> Result<(), Stop> {
        let refuse = |expected: &str| wrong(PROGRAM, name, value, expected);
        match name {
            "-npmin" => self.n_ranks = Some(count(PROGRAM, name, value)?),
            "-msglog" => {
                let (min, max) = value.split_once(':').unwrap_or(("0", value));
                let log = |text: &str| text.parse().ok().filter(|log: &u32| *log < 31);
                let logs = log(min).zip(log(max)).filter(|(min, max)| min <= max);
                let expected = "powers of two are [MIN:]MAX below 31 (write 0:22)";
                self.logs = logs.ok_or_else(|| refuse(expected))?;
            }
            "-msglen" => self.list(lines(name, value)?.iter().map(String::as_str), refuse)?,
            "-msgsize" => self.list(value.split(','), refuse)?,
            "-zero_size" => self.has_zero = is_on(name, value)?,
            "-root_shift" => self.rotates = is_on(name, value)?,
            "-data_type" => self.data_type = element(name, value, &ELEMENTS)?,
            "-red_data_type" => self.element = Some(element(name, value, &ELEMENTS[1..])?),
            "-warm_up" if is_on(name, value)? => (),
            "-warm_up" => self.words.set("--warm-up", 0),
            "-iter" => self.operations(value)?,
            "-iter_policy" => self.policy(value)?,
            "-time" => {
                let time = value.parse().ok().filter(|s: &f64| (1e-9..1e9).contains(s));
                let expected = "it is a number of seconds, at least 1e-9 (write 10)";
                self.time_s = time.ok_or_else(|| refuse(expected))?;
            }
            "-window_size" => self.window = Some(count(PROGRAM, name, value)?),
            "-map" => {
                let map: RankGrid = value.parse().map_err(|expected: String| refuse(&expected))?;
                self.map = Some(map).filter(|map| map.moves_ranks());
            }
            "-msg_pause" if is_on(name, value)? => self.words.set("--pause", PAUSE),
            "-msg_pause" => (),
            "-imb_barrier" if is_on(name, value)? => self.words.set("--sync", "dissemination"),
            "-sync" if !is_on(name, value)? => self.words.set("--sync", "none"),
            "-imb_barrier" | "-sync" => (),
            "-multi" => match value {
                "-1" => (),
                "0" | "1" => self.groups = Some(value.to_owned()),
                _ => return Err(refuse("it is 0, a row for all groups, or 1, a row for each")),
            },
            "-input" => {
                for line in lines(name, value)? {
                    self.include(&line)?;
                }
            }
            "-mem" => {
                let gb = value.parse().ok().filter(|gb: &f64| *gb > 0.0 && gb.is_finite());
                let gb = gb.ok_or_else(|| refuse("it is a number of GB (write 1)"))?;
                self.words.set("--mem", format!("{:.0}", gb * GB));
            }
            "-off_cache" => {
                let mb = value.split(',').next().and_then(|mb| mb.parse().ok());
                let mb = mb.filter(|mb: &f64| *mb > 0.0 || *mb == -1.0);
                let expected = "it is a number of MB, or -1 for the last-level cache (write 32)";
                let mb = mb.ok_or_else(|| refuse(expected))?;
                let of_size = || format!("offcache:{:.0}", mb * MB);
                self.words.set("--buffers", if mb > 0.0 { of_size() } else { "rotate".into() });
            }
            "-thread_level" if value == "single" => (),
            "-thread_level" => self.words.set("--thread-level", value),
            "-exclude" => {
                for word in value.split(',') {
                    self.excluded.push(benchmark(word)?.name);
                }
            }
            "-list" => return Err(Stop::Help(listed())),
            _ => self.include(value)?,
        }
        Ok(())
    }

    /// Takes in how many operations a loop has.
    fn operations(&mut self, value: &str) -> Result<(), Stop> {
        let words: Vec<&str> = value.splitn(4, ',').collect();
        if words.iter().skip(1).take(2).any(|word| word.parse::<u32>().is_err()) {
            let expected = "it is N[,VOLUME[,N[,POLICY]]] (write 1000,40)";
            return Err(wrong(PROGRAM, "-iter", value, expected));
        }
        // The rules take fewer where a loop would move too much.
        match count(PROGRAM, "-iter", words[0])? {
            OPERATIONS => (),
            n => self.words.set("--repetitions", n),
        }
        if let Some(volume) = words.get(1) {
            self.volume = (*volume).to_owned();
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
                return Err(wrong(PROGRAM, "-iter_policy", name, expected));
            }
        };
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

    /// Takes the benchmarks of IMB if none is named.
    fn complete(&mut self) {
        if self.benchmarks.is_empty() {
            self.benchmarks =
                SUITE.benchmarks.iter().filter(|benchmark| benchmark.is_default).collect();
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
            require_two(PROGRAM, "a pair", &self.words, around)?;
        }
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
        self.add_lengths();
        self.add_elements();
        if self.rotates {
            let is_rooted = |of: &&'static Benchmark| ROOTED.contains(&of.name);
            match self.benchmarks.iter().any(is_rooted) {
                true => self.words.axis("root=rotate".into()),
                false => self.notes.push("-root_shift on has no effect: no root is there".into()),
            }
        }
        self.add_ranks(has_pair, has_all, around)?;
        let names = self.benchmarks.iter().map(|benchmark| benchmark.name);
        Ok(Translation { words: self.words.run(&SUITE, names), notes: self.notes })
    }

    /// Adds what limits a loop, and all lengths of a benchmark: so many times the time of a loop.
    fn limit_loops(&mut self) {
        let n_listed = u32::try_from(self.list.as_ref().map_or(0, Vec::len)).unwrap_or(u32::MAX);
        let n_loops = n_listed.max(self.logs.1 - self.logs.0).saturating_sub(1).max(1);
        let of_all = seconds(self.time_s * f64::from(n_loops));
        let of_loop = format!("{}Mi,{}", self.volume, seconds(self.time_s));
        let limits = if self.is_unlimited { "none,none".into() } else { of_loop };
        let limits = format!("{limits},{of_all}");
        if limits != LOOP_LIMITS {
            self.words.set("--loop-limits", limits);
        }
        if let Some(kind) = self.multiples {
            self.words.set("--loop-multiples", format!("{}{kind}", 1u64 << self.logs.1));
        }
    }

    /// Adds the lengths: whole numbers of elements, and none above the longest.
    fn add_lengths(&mut self) {
        let (min, max) = self.logs;
        let has_lengths = self.has(|numbers| numbers != Numbers::Barrier);
        let unit_bytes = Element::find(self.data_type).map_or(1, Element::bytes);
        let has_list = self.list.is_some() && self.has(|numbers| numbers == Numbers::Reduction);
        if has_lengths && (unit_bytes > 1 || has_list) {
            self.words.set("--unit", unit_bytes);
        }
        let sizes = match &self.list {
            Some(list) => {
                let most: u64 = 1 << max;
                let longer = list.iter().find(|length| has_lengths && **length > most);
                self.notes.extend(longer.map(|longer| {
                    format!(
                        "lengths end at {most} bytes, which {longer} becomes, unless -msglog says \
                         otherwise"
                    )
                }));
                let lengths = list.iter().map(|length| (*length).min(most).to_string());
                lengths.collect::<Vec<_>>().join(",")
            }
            None => {
                let zero = if self.has_zero { "0," } else { "" };
                format!("{zero}{}", doubling(1 << min, 1 << max))
            }
        };
        if has_lengths {
            self.words.set("--sizes", sizes);
        } else {
            // The head names them.
            self.words.label(format!("{LENGTHS_LABEL}={sizes}"));
        }
    }

    /// Adds the datatype of messages and the elements of reductions.
    fn add_elements(&mut self) {
        let has_reductions = self.has(|numbers| numbers == Numbers::Reduction);
        let moves = self.has(|numbers| !matches!(numbers, Numbers::Barrier | Numbers::Reduction));
        match self.data_type {
            name if name == ELEMENTS[0] => (),
            name if moves => self.words.axis(format!("datatype={name}")),
            name => self
                .notes
                .push(format!("-data_type {name} has no effect: only reductions are named")),
        }
        match self.element {
            Some(element) if has_reductions => self.words.axis(format!("element={element}")),
            Some(element) => self
                .notes
                .push(format!("-red_data_type {element} has no effect: no reduction is named")),
            None => (),
        }
    }

    /// Decides the numbers of ranks: IMB runs a benchmark of all ranks on NPMIN of them, twice as
    /// many, and so on up to all, and one of two ranks once.
    fn add_ranks(
        &mut self,
        has_pair: bool,
        has_all: bool,
        around: &Surroundings,
    ) -> Result<(), Stop> {
        let all = around.n_ranks.or_else(|| self.words.value("--ranks")?.parse().ok());
        if let Some(map) = self.map {
            self.words.set("--map", map);
            if !around.is_launched && all.is_none() {
                self.words.set("--ranks", map.n_ranks());
            }
        }
        // All ranks of the order are there, whichever take part.
        let is_one_job = around.is_launched || self.map.is_some();
        let is_known = is_one_job || all.is_some();
        let is_below = |min| all.is_none_or(|all| min < all);
        // Ranks that this program starts are started anew for each number of them.
        let mixed = has_pair && has_all && !is_one_job && self.groups.is_none();
        match self.n_ranks {
            Some(min) if mixed && is_known && is_below(min) => {
                let all = all.map_or("P".into(), |all| all.to_string());
                return Err(Stop::Wrong(format!(
                    "{PROGRAM}: -npmin {min} asks for runs on fewer than all ranks, which pairs do \
                     not need (write -npmin {all}, or name PingPong in a command of its own)"
                )));
            }
            None if mixed => self.notes.push(
                "collectives run on all ranks alone beside PingPong, as with -npmin of so many"
                    .into(),
            ),
            _ => (),
        }
        let min = self.n_ranks.unwrap_or(NPMIN);
        if let Some(rows) = self.groups.take() {
            if has_pair && has_all && min > NPMIN {
                return Err(Stop::Wrong(format!(
                    "{PROGRAM}: -multi {rows} -npmin {min} asks for groups of {min} ranks, and \
                     pairs have 2 (name PingPong in a command of its own)"
                )));
            }
            let procs = if has_all { format!("{min}..max*2,max") } else { NPMIN.to_string() };
            self.words.axis(format!("procs={procs}"));
            self.words.axis("groups=max".into());
            self.words.label(format!("{ROWS_LABEL}={rows}"));
        } else if has_all && !mixed && is_below(min) {
            match all {
                _ if is_one_job => {
                    self.words.axis(format!("procs={min}..max*2,max"));
                }
                Some(all) => self.words.replace("--ranks", format!("{min}..{all}*2,{all}")),
                None => (),
            }
        }
        if let Some(n_ranks) = self.n_ranks.or((!has_all).then_some(NPMIN))
            && !is_known
        {
            self.words.set("--ranks", n_ranks);
        }
        Ok(())
    }
}
