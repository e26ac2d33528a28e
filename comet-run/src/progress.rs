//! Progress on standard error: between rows, never in a measurement, and gone before each row.

use std::io::{self, IsTerminal as _};
use std::time::{Duration, Instant};

use comet_core::event::{Event, Pass};
use comet_core::kernel::Case;

use crate::cli::ProgressArg;
use crate::launches::Part;
use crate::terminal::fitting;

/// Returns the cursor to the first column and clears the line.
const ERASE: &str = "\r\x1b[K";

/// Time between two lines where no terminal shows them.
const PAUSE: Duration = Duration::from_secs(30);

/// Progress of a run, in time.
#[derive(Debug)]
pub(crate) struct Progress {
    style: Style,
    start: Instant,
    /// Time that the run takes, where the plan or the launches so far say it.
    total: Option<Duration>,
    n_cases: usize,
    n_done: usize,
    /// Kernel of the last case.
    kernel: String,
    last_line: Instant,
}

/// Form of progress reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    /// One line that is redrawn for each case.
    Line,
    /// One line for each kernel.
    Plain,
    /// One line now and then.
    Rare,
}

impl Progress {
    /// Progress as `arg` asks for it, or none, of a run that is planned to take `planned`.
    pub(crate) fn new(
        arg: ProgressArg,
        part: Option<&Part<'_>>,
        planned: Option<Duration>,
    ) -> Option<Self> {
        let style = match arg {
            ProgressArg::Auto if io::stderr().is_terminal() => Style::Line,
            ProgressArg::Auto => Style::Rare,
            ProgressArg::Plain => Style::Plain,
            ProgressArg::None => return None,
        };
        let launch = part.map(|part| (part.launch, part.n));
        let since_start = launch.map_or(Duration::ZERO, |(launch, _)| launch.since_start);
        let by_launches = launch.filter(|(launch, _)| launch.number > 1).map(|(launch, n)| {
            let n_before = launch.number - 1;
            since_start * n.max(launch.number) / n_before
        });
        let now = Instant::now();
        let total = by_launches.or(planned);
        let start = now.checked_sub(since_start).unwrap_or(now);
        Some(Self {
            style,
            start,
            total,
            n_cases: 0,
            n_done: 0,
            kernel: String::new(),
            last_line: now,
        })
    }

    /// Text before `case` is measured.
    fn before(&mut self, case: &Case) -> String {
        let is_new = std::mem::replace(&mut self.kernel, case.info.id()) != self.kernel;
        match self.style {
            Style::Line => self.redrawn(&case.label()),
            Style::Plain if is_new => self.line(),
            Style::Rare => self.now_and_then(),
            Style::Plain => String::new(),
        }
    }

    /// Text before cases that were started get another slice.
    fn during(&mut self, pass: &Pass) -> String {
        let Pass { info, number, n_open } = pass;
        let cases = if *n_open == 1 { "case" } else { "cases" };
        match self.style {
            Style::Line => self.redrawn(&format!("{} pass {number}: {n_open} {cases}", info.id())),
            Style::Rare => self.now_and_then(),
            Style::Plain => String::new(),
        }
    }

    fn now_and_then(&mut self) -> String {
        if self.last_line.elapsed() < PAUSE {
            return String::new();
        }
        self.last_line = Instant::now();
        self.line()
    }

    /// The line that takes the place of the one before it, cut to the width of the terminal: one that
    /// wraps could not be erased.
    fn redrawn(&self, what: &str) -> String {
        format!("{ERASE}{}", fitting(&format!("{}{}  {what}", self.share(), self.left())))
    }

    fn line(&self) -> String {
        format!("{} {}{}\n", self.share(), self.kernel, self.left())
    }

    /// Text after a case.
    fn after(&mut self) -> &'static str {
        self.n_done += 1;
        if self.style == Style::Line { ERASE } else { "" }
    }

    /// Time so far, and that of all: by the plan, or at the pace of the cases so far.
    fn times(&self) -> Option<(Duration, Duration)> {
        let elapsed = self.start.elapsed();
        let by_pace = || {
            let share = self.n_cases as f64 / self.n_done as f64;
            (self.n_done > 0).then(|| elapsed.mul_f64(share))
        };
        Some((elapsed, self.total.or_else(by_pace)?))
    }

    fn share(&self) -> String {
        let share = |(elapsed, total): (Duration, Duration)| {
            100.0 * elapsed.as_secs_f64() / total.as_secs_f64().max(1e-9)
        };
        // A run that takes longer than planned is not over.
        format!("[{:>3.0}%]", self.times().map_or(0.0, share).floor().min(99.0))
    }

    /// Estimate of the remaining time.
    fn left(&self) -> String {
        let left = self.times().and_then(|(elapsed, total)| total.checked_sub(elapsed));
        let words = |left: Duration| {
            let seconds = Duration::from_secs(left.as_secs() + u64::from(left.subsec_nanos() > 0));
            format!("  {} left", humantime::format_duration(seconds))
        };
        left.map_or(String::new(), words)
    }

    /// Text that shows `event`.
    pub(crate) fn text(&mut self, event: &Event<'_>) -> String {
        match event {
            Event::RunStarted(start) => {
                self.n_cases = start.n_cases;
                String::new()
            }
            Event::CaseStarted(case) => self.before(case),
            Event::PassStarted(pass) => self.during(pass),
            Event::CaseFinished(_) | Event::CaseFailed(_) => self.after().into(),
            Event::WindowGivenUp(_) | Event::CoresMoved(_) | Event::RunFinished(_) => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue;

    /// Progress of a run of four cases that began two seconds ago.
    fn progress(style: Style, total_s: Option<u64>) -> Progress {
        let start = Instant::now().checked_sub(Duration::from_secs(2)).unwrap();
        let total = total_s.map(Duration::from_secs);
        let kernel = String::new();
        Progress { style, start, total, n_cases: 4, n_done: 0, kernel, last_line: start }
    }

    #[test]
    fn a_line_is_redrawn_and_erased() {
        let case = Case::new(catalogue::infos()[0], &[1, 8]);
        let mut progress = progress(Style::Line, None);
        assert_eq!(progress.before(&case), "\r\x1b[K[  0%]  comet/echo hops=1 length_bytes=8");
        assert_eq!(progress.after(), ERASE);
        let line = progress.before(&case);
        assert!(line.starts_with("\r\x1b[K[ 25%]  "), "{line}");
        assert!(line.ends_with("s left  comet/echo hops=1 length_bytes=8"), "{line}");
    }

    #[test]
    fn a_plan_says_how_long_the_rest_takes() {
        let case = Case::new(catalogue::infos()[0], &[1, 8]);
        let of = |total_s| progress(Style::Plain, Some(total_s)).before(&case);
        assert_eq!(of(200), "[  1%] comet/echo  3m 18s left\n");
        assert_eq!(of(1), "[ 99%] comet/echo\n", "longer than planned");
    }

    #[test]
    fn passes_are_counted_where_a_line_is_redrawn() {
        let pass = Pass { info: catalogue::infos()[0], number: 3, n_open: 1 };
        let during = |style| progress(style, None).during(&pass);
        assert_eq!(during(Style::Line), "\r\x1b[K[  0%]  comet/echo pass 3: 1 case");
        assert_eq!(during(Style::Plain), "");
    }

    #[test]
    fn plain_progress_is_one_line_per_kernel() {
        let case = Case::new(catalogue::infos()[0], &[1, 8]);
        let mut progress = progress(Style::Plain, None);
        assert_eq!(progress.before(&case), "[  0%] comet/echo\n");
        assert_eq!(progress.after(), "");
        assert_eq!(progress.before(&case), "");
    }

    #[test]
    fn a_log_gets_a_line_now_and_then() {
        let case = Case::new(catalogue::infos()[0], &[1, 8]);
        let mut progress = progress(Style::Rare, Some(200));
        assert_eq!(progress.before(&case), "");
        progress.last_line = Instant::now().checked_sub(PAUSE).unwrap();
        assert_eq!(progress.before(&case), "[  1%] comet/echo  3m 18s left\n");
        assert_eq!(progress.before(&case), "");
    }
}
