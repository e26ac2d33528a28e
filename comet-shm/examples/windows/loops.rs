//! Windows of communication over any transport, for `scripts/bench-shm.sh`, which holds transports
//! against each other and against `scripts/bench-shm/loops.c`; that does the same in plain C.
//!
//! A window is a number of operations between two clock reads. Disturbances only lengthen windows,
//! and their lower quartile repeats better from launch to launch than the mean or the median.

#[path = "figure.rs"]
mod figure;
#[path = "line.rs"]
mod line;

use std::error::Error;

use comet_core::error::Result;
use comet_core::transport::Transport;
use figure::{Buffers, Figure};
use line::Line;

const MIN_WINDOWS: u64 = 40;
const MAX_WINDOWS: u64 = 200;
const MAX_OPERATIONS: usize = 1 << 20;
/// Largest number of measurements of a case.
const MAX_TRIES: usize = 3;
/// Largest deviation of the line from its usual time, as a factor: a guest's processors are moved
/// now and then, mostly soon after they begin to work.
const LINE_TOLERANCE: f64 = 1.2;
/// Total time that a launch waits for the line to take its usual time.
const PATIENCE_NS: u64 = 2_000_000_000;

/// Results with errors of the transport or of the example.
type AnyResult<T> = std::result::Result<T, Box<dyn Error>>;

/// Options of the command line.
pub(crate) struct Plan {
    /// A fresh file of 4096 zeros for the line, if there is to be one.
    line_file: Option<String>,
    /// Usual time of the line; ranks wait for it, and measure again without it.
    line_ns: f64,
    /// The least length of a window; 0 for the same number of operations whatever they take.
    window_ns: u64,
    /// The time for the windows of a case.
    case_ns: u64,
    /// True if messages are in the program's own memory rather than in that of the transport.
    is_private: bool,
    /// Figures and lengths in bytes.
    cases: Vec<(Figure, usize)>,
}

/// Measures all cases; `report` gets `figure bytes ns line_before line_after` for each on rank 0.
pub(crate) fn run<T: Transport>(t: &T, plan: &Plan, report: impl Fn(&str)) -> AnyResult<()> {
    let path = plan.line_file.as_ref().filter(|_| t.rank() < 2);
    let line = path.map(|path| Line::open(path, t.rank())).transpose()?;
    let mut bench = Bench { t, plan, line, patience_ns: PATIENCE_NS };
    for (figure, length_bytes) in &plan.cases {
        let [ns, before_ns, after_ns] = bench.case(*figure, *length_bytes)?;
        if t.rank() == 0 {
            let name = figure.name();
            report(&format!("{name} {length_bytes} {ns:.1} {before_ns:.1} {after_ns:.1}"));
        }
    }
    Ok(())
}

impl Plan {
    /// Of the arguments `LINE_FILE LINE_NS WINDOW_US CASE_MS [private] FIGURE:BYTES ...`, which
    /// `loops.c` explains; `private` puts messages into the program's own memory.
    pub(crate) fn parse(arguments: &[String]) -> AnyResult<Self> {
        let [line_file, line_ns, window_us, case_ms, cases @ ..] = arguments else {
            let form = "LINE_FILE LINE_NS WINDOW_US CASE_MS [private] FIGURE:BYTES ...";
            return Err(format!("the arguments are {form}, got {}", arguments.join(" ")).into());
        };
        let is_private = cases.first().is_some_and(|word| word == "private");
        let cases = &cases[usize::from(is_private)..];
        Ok(Self {
            line_file: (line_file != "-").then(|| line_file.clone()),
            line_ns: line_ns.parse()?,
            window_ns: 1000 * window_us.parse::<u64>()?,
            case_ns: 1_000_000 * case_ms.parse::<u64>()?,
            is_private,
            cases: cases.iter().map(|case| parse_case(case)).collect::<AnyResult<_>>()?,
        })
    }
}

fn parse_case(case: &str) -> AnyResult<(Figure, usize)> {
    let unknown = || format!("a case is FIGURE:BYTES, as in latency:8, got {case}");
    let (name, bytes) = case.split_once(':').ok_or_else(unknown)?;
    Ok((Figure::named(name).ok_or_else(unknown)?, bytes.parse()?))
}

/// State of a rank's measurements.
struct Bench<'a, T> {
    t: &'a T,
    plan: &'a Plan,
    line: Option<Line>,
    patience_ns: u64,
}

impl<T: Transport> Bench<'_, T> {
    /// The time of a case, and of the line before and after it.
    fn case(&mut self, figure: Figure, length_bytes: usize) -> AnyResult<[f64; 3]> {
        let n_values = length_bytes / size_of::<f64>();
        if self.plan.is_private {
            let [mut first, mut second] = [vec![0; length_bytes], vec![0; length_bytes]];
            let values = &mut vec![0.0; n_values][..];
            return self
                .verified(figure, Buffers { first: &mut first, second: &mut second, values });
        }
        let mut first = self.t.message_buffer(length_bytes)?;
        let mut second = self.t.message_buffer(length_bytes)?;
        let mut third = self.t.message_buffer(n_values * size_of::<f64>())?;
        let values: &mut [f64] = bytemuck::cast_slice_mut(&mut third);
        self.verified(figure, Buffers { first: &mut first, second: &mut second, values })
    }

    fn verified(&mut self, figure: Figure, mut b: Buffers<'_>) -> AnyResult<[f64; 3]> {
        self.verify(figure, &mut b)?;
        let times_ns = self.undisturbed(figure, &mut b)?;
        self.verify(figure, &mut b)?;
        Ok(times_ns)
    }

    /// One operation whose result is looked at; never timed.
    fn verify(&self, figure: Figure, b: &mut Buffers<'_>) -> AnyResult<()> {
        let rank = self.t.rank();
        b.fill(rank);
        self.window_ns(figure, b, 1)?;
        if !figure.is_right(b, rank, self.t.n_ranks()) {
            return Err(format!("rank {rank} has wrong data after {}", figure.name()).into());
        }
        b.values.fill(0.0);
        Ok(())
    }

    /// Measures until the line takes its usual time before and after, or for the last time.
    fn undisturbed(&mut self, figure: Figure, b: &mut Buffers<'_>) -> Result<[f64; 3]> {
        let mut n_tries = 0;
        loop {
            let before_ns = self.settle()?;
            let ns = self.measure(figure, b)?;
            let after_ns = self.line_ns();
            let is_disturbed = self.is_unusual(before_ns) || self.is_unusual(after_ns);
            n_tries += 1;
            if !self.is_for_rank_0(is_disturbed)? || n_tries == MAX_TRIES {
                return Ok([ns, before_ns, after_ns]);
            }
        }
    }

    /// Time of the line once it is the usual one, or when patience ends.
    fn settle(&mut self) -> Result<f64> {
        let start_ns = self.t.now_ns();
        loop {
            let ns = self.line_ns();
            let waited_ns = self.t.now_ns() - start_ns;
            if !self.is_for_rank_0(self.is_unusual(ns) && waited_ns < self.patience_ns)? {
                self.patience_ns = self.patience_ns.saturating_sub(waited_ns);
                return Ok(ns);
            }
        }
    }

    /// One-way time of the line; 0 without one.
    fn line_ns(&mut self) -> f64 {
        self.line.as_mut().map_or(0.0, Line::one_way_ns)
    }

    fn is_unusual(&self, line_ns: f64) -> bool {
        let ratio = line_ns / self.plan.line_ns;
        self.line.is_some() && !(1.0 / LINE_TOLERANCE..=LINE_TOLERANCE).contains(&ratio)
    }

    /// The lower quartile of the windows, for one value.
    fn measure(&self, figure: Figure, b: &mut Buffers<'_>) -> Result<f64> {
        let n = match self.plan.window_ns {
            0 => figure.fixed_operations(b.first.len()),
            _ => self.enough_operations(figure, b)?,
        };
        self.window_ns(figure, b, n)?;
        let n_windows = self.plan.case_ns / (self.window_ns(figure, b, n)? + 1);
        let mut ns = Vec::new();
        for _ in 0..self.as_rank_0(n_windows.clamp(MIN_WINDOWS, MAX_WINDOWS))? {
            ns.push(self.window_ns(figure, b, n)? as f64 / n as f64 / figure.divisor());
        }
        Ok(lower_quartile(&mut ns))
    }

    /// The fewest operations, as a power of two, that fill a window.
    fn enough_operations(&self, figure: Figure, b: &mut Buffers<'_>) -> Result<usize> {
        let mut n = 1;
        while n < MAX_OPERATIONS
            && self.is_for_rank_0(self.window_ns(figure, b, n)? < self.plan.window_ns)?
        {
            n *= 2;
        }
        Ok(n)
    }

    /// Time of one window. All ranks begin together if more than two have a part in it, and
    /// broadcasts have ended when all ranks have the last.
    fn window_ns(&self, figure: Figure, b: &mut Buffers<'_>, n: usize) -> Result<u64> {
        if !figure.is_echo() || self.t.n_ranks() > 2 {
            self.t.barrier()?;
        }
        let start_ns = self.t.now_ns();
        figure.operate(self.t, b, n)?;
        if figure == Figure::Broadcast {
            self.t.barrier()?;
        }
        Ok(self.t.now_ns() - start_ns)
    }

    /// Rank 0's number on all ranks.
    fn as_rank_0(&self, number: u64) -> Result<u64> {
        let mut bytes = number.to_ne_bytes();
        self.t.blocked_broadcast(0, &mut bytes)?;
        Ok(u64::from_ne_bytes(bytes))
    }

    /// Rank 0's answer on all ranks.
    fn is_for_rank_0(&self, answer: bool) -> Result<bool> {
        Ok(self.as_rank_0(u64::from(answer))? == 1)
    }
}

/// A quarter of `values` is below it; sorts them.
fn lower_quartile(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 4]
}
