//! Command lines of the OSU micro-benchmarks.

use comet_core::kernel::{DATATYPE, ELEMENT};
use comet_core::layout::Layout;
use comet_core::topology::MAX_TORUS_DIMENSIONS;
use comet_core::words;
use comet_report::format::{COLUMNS_LABEL, NO_MESSAGE_RATE, VARIED, WINDOWS, is_percentile};
use comet_report::suite::osu::{MEMORIES, N_ACTIVE, SUITE, SYNCS, kinds};
use comet_report::suite::{Benchmark, Numbers};

use super::{Options, Reading, Stop, Surroundings, Translation, Words};
use super::{count, doubling, not_here, require_two, wrong};

/// The longest message of a test between two ranks, unless the user chooses it.
const MAX_BYTES: u64 = 4 << 20;
/// The longest message of a collective, likewise.
const MAX_COLLECTIVE_BYTES: u64 = 1 << 20;
/// Samples where single operations are timed, and the user chooses no number: messages, and windows
/// of them.
const SAMPLES: u64 = 1000;
const WINDOW_SAMPLES: u64 = 100;
/// Samples of an unblocked barrier, and operations before them, likewise: those of long messages.
const UNBLOCKED_BARRIERS: u64 = 100;
const BEFORE_UNBLOCKED_BARRIERS: u64 = 10;
/// Memory of the messages of a collective on a rank, unless the user chooses it, and the least of it.
const MEMORY_BYTES: u64 = 512 << 20;
const LEAST_MEMORY_BYTES: u64 = 1 << 20;
/// The most operations before those that are checked.
const MAX_VALIDATIONS: u64 = 10;
/// Datatypes by their names there, and elements by their names here.
const ELEMENTS: [(&str, &str); 3] =
    [("mpi_char", "char"), ("mpi_int", "int"), ("mpi_float", "float")];

/// Starts of the names of programs that have no kernel, with the reason and what comes near.
const ABSENT: [(&str, &str); 5] = [
    (
        "osu_bw_fan_",
        "no kernel has the ranks of one host on one side and those of all others on the other (take \
         osu_mbw_mr, with ranks of two hosts)",
    ),
    (
        "osu_partitioned_",
        "OSU 7.4 has no such program (comet-run patterns/partitioned measures messages in parts)",
    ),
    (
        "osu_latency_mt",
        "no kernel has one thread that sends to several receiving ones (take IMB-MT PingPongMT)",
    ),
    (
        "osu_latency_mp",
        "it forks its ranks after MPI has begun, which libraries do not promise to bear (take \
         osu_multi_lat, or IMB-MT PingPongMT)",
    ),
    (
        "osu_xccl_",
        "no buffer is in device memory (take the program without xccl, which has host memory)",
    ),
];

/// Programs that ignore `-l` there.
const WITHOUT_PLACES: [&str; 4] = [
    "osu_allreduce_persistent",
    "osu_gather_persistent",
    "osu_gatherv_persistent",
    "osu_reduce_persistent",
];

/// A command line of OSU.
struct Asked<'a> {
    program: &'a str,
    numbers: Numbers,
    /// True if its messages are vectors of elements, or one element.
    has_elements: bool,
    /// True if it is an unblocked collective beside work.
    is_beside_work: bool,
    /// True if the program has such options of a collective whose buffers hold a part for each rank.
    has_parts: bool,
    /// Number of ranks, where it is known.
    n_ranks: Option<u64>,
    /// Lengths in bytes.
    min: u64,
    max: u64,
    n_operations: Option<u64>,
    /// The value of `-M`.
    memory_bytes: Option<u64>,
    /// Messages of a window, with commas between them.
    windows: Option<String>,
    /// Values of axes of the last `-w` and `-s`.
    memory: Option<String>,
    sync: Option<String>,
    /// Options for the neighbours of the last `-N`.
    neighbours: Vec<(&'static str, String)>,
    /// Datatypes of messages, or elements of a reduction.
    elements: Vec<&'static str>,
    /// The value of `-p`.
    n_pairs: Option<u64>,
    /// Columns on request, the percentiles last.
    columns: Vec<String>,
    has_percentiles: bool,
    words: Words,
    notes: Vec<String>,
}

/// True if a buffer of the collective `program` holds a part for each rank.
fn has_parts(program: &Benchmark) -> bool {
    match program.numbers {
        Numbers::Collective => !program.is_broadcast(),
        numbers => numbers == Numbers::Neighbours,
    }
}

/// The command line `program words` as one of comet-run.
pub(super) fn translate(
    program: &str,
    words: &[String],
    around: &Surroundings,
) -> Result<Translation, Stop> {
    if let Some((_, reason)) = ABSENT.iter().find(|(start, _)| program.starts_with(start)) {
        return Err(Stop::Wrong(format!("{program} is not supported: {reason}")));
    }
    let unknown = || not_here(&SUITE, "", program, "comet-run list shows all kernels");
    let known = SUITE.find(program).ok_or_else(unknown)?;
    let numbers = known.numbers;
    let Reading { options, ours, plain: places, notes } =
        Options::of(program, SUITE.flags, &kinds(known)).read(words)?;
    let of_pairs = is_of_pairs(numbers);
    let is_place = |word: &&String| of_pairs && word.chars().all(|c| "DHM".contains(c));
    if let Some(word) = places.iter().find(|word| !is_place(word)) {
        let sentence = format!(
            "{program}: '{word}' belongs to no option ({program} -h shows all options; those of \
             comet-run are written --name=value)"
        );
        return Err(Stop::Wrong(sentence));
    }
    if places.iter().any(|word| word.contains(['D', 'M'])) {
        return Err(Stop::Wrong(format!(
            "{program}: '{}' asks for device memory, and buffers are in host memory (write H H, or leave \
             it out)",
            places.join(" ")
        )));
    }
    let words = Words { ours, ..Words::default() };
    let mut asked = Asked {
        program,
        numbers,
        has_elements: known.has_elements(),
        is_beside_work: known.is_beside_work,
        has_parts: has_parts(known),
        n_ranks: around.n_ranks.or_else(|| words.value("--ranks")?.parse().ok()),
        min: 1,
        max: if is_of_pairs(numbers) { MAX_BYTES } else { MAX_COLLECTIVE_BYTES },
        n_operations: None,
        memory_bytes: None,
        windows: None,
        memory: None,
        sync: None,
        neighbours: Vec::new(),
        elements: Vec::new(),
        n_pairs: None,
        columns: Vec::new(),
        has_percentiles: false,
        words,
        notes,
    };
    if asked.is_beside_work && numbers == Numbers::Barrier {
        asked.words.set("--warm-up", BEFORE_UNBLOCKED_BARRIERS);
    }
    if numbers == Numbers::Startup
        && let Some((name, _)) = options.first()
    {
        let sentence = format!("{program}: {name} has no meaning for a start (leave it out)");
        return Err(Stop::Wrong(sentence));
    }
    options.iter().try_for_each(|(name, value)| asked.option(name, value))?;
    let what = if of_pairs { "a pair" } else { "a collective of OSU" };
    if numbers != Numbers::Startup {
        require_two(program, what, &asked.words, around)?;
    }
    asked.translation(known.name, around)
}

/// True if messages go from one rank to another.
fn is_of_pairs(numbers: Numbers) -> bool {
    numbers.is_of_two() || matches!(numbers, Numbers::PairsLatency | Numbers::MessageRate)
}

impl Asked<'_> {
    /// Takes in one option.
    fn option(&mut self, name: &str, value: &str) -> Result<(), Stop> {
        let program = self.program;
        match name {
            "-m" => self.lengths(value)?,
            "-v" => {
                let version = env!("CARGO_PKG_VERSION");
                let title = SUITE.find(program).map_or(String::new(), Benchmark::first_line);
                let ours = format!("# note: comet-run {version}, in the layout of OSU 7.4\n");
                return Err(Stop::Help(title + &ours));
            }
            "-i" => self.n_operations = Some(count(program, name, value)?),
            "-x" if value == "0" => self.words.set("--warm-up", 0),
            "-x" => self.words.set("--warm-up", count(program, name, value)?),
            "-W" | "-V" if self.windows.is_some() => {
                let sentence =
                    format!("{program}: windows are those of -W or of -V (leave one out)");
                return Err(Stop::Wrong(sentence));
            }
            "-w" => self.memory = Some(self.call("-w", value, "memory", &MEMORIES)?),
            "-s" if self.program == "osu_put_bibw" => {
                let active = &SYNCS[SYNCS.len() - N_ACTIVE..];
                self.sync = Some(self.call("-s", value, "sync", active)?);
            }
            "-s" => self.sync = Some(self.call("-s", value, "sync", &SYNCS)?),
            "-W" => self.windows = Some(count(program, name, value)?.to_string()),
            "-V" => {
                self.windows = Some(WINDOWS.map(|n| n.to_string()).join(","));
                self.columns.push(VARIED.into());
            }
            "-R" if value == "0" => self.columns.push(NO_MESSAGE_RATE.into()),
            "-R" if value == "1" => (),
            "-R" => return Err(wrong(program, name, value, "it is a switch (write 0 or 1)")),
            "-u" => {
                let n = value.parse().ok().filter(|n: &u64| *n <= MAX_VALIDATIONS);
                let expected = format!("it is a number from 0 to {MAX_VALIDATIONS} (write 5)");
                let n = n.ok_or_else(|| wrong(program, name, value, &expected))?;
                self.notes.push(format!(
                    "-u {n} has no effect: data is checked before and after the timed operations"
                ));
            }
            "-p" => self.n_pairs = Some(count(program, name, value)?),
            "-t" => {
                let n: Option<u64> = value.parse().ok();
                let n = n.ok_or_else(|| wrong(program, name, value, "it is a number (write 0)"))?;
                self.words.axis(format!("test_calls={n}"));
            }
            "-b" => match value {
                "single" => (),
                "multiple" => self.words.axis("window_buffers=multiple".into()),
                _ => return Err(wrong(program, name, value, "write single or multiple")),
            },
            "-k" => self.root(value)?,
            "-N" => self.neighbours(value)?,
            "-l" => self.place(),
            "-T" => self.elements(value)?,
            "-D" => self.layout(value)?,
            "-M" => self.memory_bytes = Some(count(program, name, value)?),
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

    /// The word `value` of `calls` as the value of an axis.
    fn call(
        &self,
        option: &str,
        value: &str,
        axis: &str,
        calls: &[(&str, &str)],
    ) -> Result<String, Stop> {
        let known = calls.iter().find(|(word, _)| word.eq_ignore_ascii_case(value));
        let words: Vec<&str> = calls.iter().map(|(word, _)| *word).collect();
        let (last, others) = words.split_last().expect("there are several");
        let expected = format!("write {} or {last}", others.join(", "));
        let (word, _) = known.ok_or_else(|| wrong(self.program, option, value, &expected))?;
        Ok(format!("{axis}={word}"))
    }

    fn root(&mut self, value: &str) -> Result<(), Stop> {
        let expected = "a root is fixed:RANK or rotate (write fixed:0)";
        let rank = value.strip_prefix("fixed:").and_then(|rank| rank.parse::<u64>().ok());
        match rank {
            _ if value == "rotate" => self.words.axis("root=rotate".into()),
            Some(0) => (),
            Some(rank) if self.n_ranks.is_some_and(|n_ranks| rank >= n_ranks) => {
                let last = self.n_ranks.unwrap_or(1) - 1;
                let expected = format!("the last rank is {last} (write fixed:{last})");
                return Err(wrong(self.program, "-k", value, &expected));
            }
            Some(rank) => self.words.axis(format!("first_root={rank}")),
            None => return Err(wrong(self.program, "-k", value, expected)),
        }
        Ok(())
    }

    /// Takes in that the input lies where the output goes.
    fn place(&mut self) {
        self.words.axis("place=in_place".into());
        if WITHOUT_PLACES.contains(&self.program) {
            self.notes.push(format!(
                "-l is obeyed: {} of OSU 7.4 has a buffer for the input whatever it says",
                self.program
            ));
        }
    }

    fn neighbours(&mut self, value: &str) -> Result<(), Stop> {
        let expected = format!(
            "neighbours are cart:DIMENSIONS:RADIUS, 1 to {MAX_TORUS_DIMENSIONS} and 1 or more, or \
             graph:FILE (write cart:1:1)"
        );
        let refuse = || wrong(self.program, "-N", value, &expected);
        let number = |text: &str| text.parse::<u64>().ok().filter(|number| *number > 0);
        let (kind, rest) = value.split_once(':').ok_or_else(refuse)?;
        if kind.eq_ignore_ascii_case("graph") && !rest.is_empty() {
            self.neighbours = vec![("--graph", rest.into())];
        } else if kind.eq_ignore_ascii_case("cart")
            && let Some((dimensions, radius)) = rest.split_once(':')
            && let Some((dimensions, radius)) = number(dimensions).zip(number(radius))
            && dimensions <= MAX_TORUS_DIMENSIONS as u64
        {
            let values = [format!("dimensions={dimensions}"), format!("radius={radius}")];
            self.neighbours = values.map(|values| ("--axis", values)).into();
        } else {
            return Err(refuse());
        }
        Ok(())
    }

    fn elements(&mut self, value: &str) -> Result<(), Stop> {
        for word in value.split(',') {
            let is_all = word.eq_ignore_ascii_case("all");
            let is_named = |(name, _): &&(&str, _)| is_all || word.eq_ignore_ascii_case(name);
            let before = self.elements.len();
            self.elements.extend(ELEMENTS.iter().filter(is_named).map(|(_, element)| *element));
            if self.elements.len() == before {
                let expected = "types are mpi_char, mpi_int, mpi_float, and all for these three (write \
                                one, or several with commas between them)";
                return Err(wrong(self.program, "-T", word, expected));
            }
        }
        Ok(())
    }

    fn layout(&mut self, value: &str) -> Result<(), Stop> {
        let (kind, rest) = value.split_once(':').unwrap_or((value, ""));
        let layout = match kind.to_lowercase().as_str() {
            "cont" => "cont".into(),
            "vect" if format!("vect:{rest}").parse::<Layout>().is_ok() => {
                format!("vect:{rest}")
            }
            "indx" if !rest.is_empty() => {
                let refuse = |error| {
                    let expected =
                        format!("{error} (name a file with a block START,LENGTH a line)");
                    wrong(self.program, "-D", value, &expected)
                };
                std::fs::File::open(rest).map_err(refuse)?;
                format!("indx:{rest}")
            }
            _ => {
                let expected = "layouts are cont, vect:STRIDE:BLOCK with a block of 1 to STRIDE elements, and indx:FILE (write vect:8:4)";
                return Err(wrong(self.program, "-D", value, expected));
            }
        };
        self.words.set("--layout", layout);
        Ok(())
    }

    /// Words for the elements of messages: those of a reduction are characters by default, and others
    /// bytes, which the layout calls so.
    fn set_elements(&mut self) {
        if self.has_elements && self.elements.is_empty() {
            self.elements.push("char");
        }
        if self.has_elements || self.elements.iter().any(|name| *name != "char") {
            let axis = if self.has_elements { &ELEMENT } else { &DATATYPE };
            self.words.axis(format!("{}={}", axis.name, self.elements.join(",")));
        }
    }

    /// Ends the lengths of a collective where messages would take more memory than a rank may have.
    fn limit_lengths(&mut self) {
        let wanted_bytes = self.memory_bytes.unwrap_or(MEMORY_BYTES);
        let memory_bytes = wanted_bytes.max(LEAST_MEMORY_BYTES);
        if wanted_bytes < memory_bytes {
            self.notes.push(format!("-M {wanted_bytes} is too low: {memory_bytes} in its place"));
        }
        let n_parts = if self.has_parts { self.n_ranks } else { Some(1) };
        let Some(n_parts) = n_parts else {
            // Cases that take more are left out then, once the ranks are known.
            if self.memory_bytes.is_some() {
                self.words.set("--mem", memory_bytes);
            }
            return;
        };
        let max = memory_bytes / n_parts.max(1);
        if max < self.max {
            self.max = max;
            self.min = self.min.min(max);
            self.notes.push(format!(
                "lengths end at {max} bytes: {memory_bytes} bytes of memory hold no more (raise -M)"
            ));
        }
    }

    /// Decides the ranks of programs of pairs: those of `-p`, or two.
    fn set_ranks(&mut self, around: &Surroundings) -> Result<(), Stop> {
        let program = self.program;
        if self.numbers.is_of_two() && !around.is_launched {
            self.words.set("--ranks", 2);
        }
        let Some(n_pairs) = self.n_pairs else { return Ok(()) };
        let n_needed = n_pairs.saturating_mul(2);
        match self.n_ranks {
            Some(n_ranks) if n_needed > n_ranks => {
                let most = n_ranks / 2;
                let (ranks, pairs) = (words::count(n_ranks, "rank"), words::count(most, "pair"));
                let expected = format!("{ranks} make {pairs} (write {most})");
                return Err(wrong(program, "-p", &n_pairs.to_string(), &expected));
            }
            None if !around.is_launched => self.words.set("--ranks", n_needed),
            Some(n_ranks) if n_needed < n_ranks => {
                self.words.axis(format!("procs={n_needed}"));
                let all = n_ranks / 2;
                if all > n_pairs {
                    self.notes.push(format!(
                        "-p {n_pairs} is obeyed: OSU 7.4 measures {all} pairs whatever it says"
                    ));
                }
            }
            None => self.words.axis(format!("procs={n_needed}")),
            Some(_) => (),
        }
        Ok(())
    }

    fn lengths(&mut self, value: &str) -> Result<(), Stop> {
        let (min, max) = match value.split_once(':') {
            Some((min, "")) => (min.parse().ok(), Some(self.max)),
            Some(("", max)) => (Some(self.min), max.parse().ok()),
            Some((min, max)) => (min.parse().ok(), max.parse().ok()),
            None => (Some(self.min), value.parse().ok()),
        };
        let lengths = min.zip(max).filter(|(min, max)| min <= max);
        let expected =
            "lengths are MAX, :MAX, MIN: or MIN:MAX in bytes, MIN not above MAX (write 1:4194304)";
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

    fn translation(
        mut self,
        name: &'static str,
        around: &Surroundings,
    ) -> Result<Translation, Stop> {
        let counts = self.counts();
        if matches!(self.numbers, Numbers::Collective | Numbers::Reduction | Numbers::Neighbours) {
            self.limit_lengths();
        }
        if self.numbers == Numbers::Latency {
            self.words.set("--hops", 1);
        }
        self.set_ranks(around)?;
        let words = &mut self.words;
        words.options.append(&mut self.neighbours);
        [&mut self.memory, &mut self.sync].into_iter().filter_map(Option::take).for_each(|value| {
            words.axis(value);
        });
        if let Some(windows) = self.windows.take() {
            words.axis(format!("window={windows}"));
        }
        if self.numbers.has_lengths() {
            words.set("--sizes", doubling(self.min, self.max));
        }
        self.set_elements();
        let words = &mut self.words;
        if let Some((repetitions, samples)) = counts {
            words.set("--repetitions", repetitions);
            words.set("--samples", samples);
        }
        if !self.columns.is_empty() {
            words.label(format!("{COLUMNS_LABEL}={}", self.columns.join(",")));
        }
        let words = self.words.run(&SUITE, std::iter::once(name));
        Ok(Translation { words, notes: self.notes })
    }

    /// Operations of a sample, and samples, if they are not those of OSU's rules: one loop between
    /// two ranks, single operations of collectives and for percentiles.
    fn counts(&self) -> Option<(u64, u64)> {
        let is_single = !self.numbers.is_of_two() || self.has_percentiles;
        match self.n_operations {
            Some(n) if is_single => Some((1, n)),
            Some(n) => Some((n, 1)),
            None if self.is_beside_work && self.numbers == Numbers::Barrier => {
                Some((1, UNBLOCKED_BARRIERS))
            }
            None if self.has_percentiles => match self.numbers {
                Numbers::Bandwidth | Numbers::RemoteRate => Some((1, WINDOW_SAMPLES)),
                numbers => numbers.is_of_two().then_some((1, SAMPLES)),
            },
            None => None,
        }
    }
}
