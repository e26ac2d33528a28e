//! Progress on standard error: between rows, never in a measurement, and gone before each row.

use std::io::{self, IsTerminal as _};
use std::time::Duration;

use comet_core::event::{Event, Pass};
use comet_core::kernel::Case;

use crate::cli::ProgressArg;
use crate::launches::Part;

/// Returns the cursor to the first column and clears the line.
const ERASE: &str = "\r\x1b[K";

/// Shows how far a run is.
#[derive(Debug)]
pub(crate) struct Progress {
    style: Style,
    n_cases: usize,
    n_done: usize,
    since_start_ns: u64,
    kernel: String,
    /// Number of this launch, from 0, and of all of them.
    launch: (usize, usize),
}

/// Form of progress reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    /// One line that is redrawn for each case.
    Line,
    /// One line for each kernel.
    Plain,
}

impl Progress {
    /// Progress as `arg` asks for it, or none.
    pub(crate) fn new(arg: ProgressArg, part: Option<&Part<'_>>) -> Option<Self> {
        let style = match arg {
            ProgressArg::Auto => io::stderr().is_terminal().then_some(Style::Line)?,
            ProgressArg::Plain => Style::Plain,
            ProgressArg::None => return None,
        };
        let launch = part.map_or((0, 1), |part| {
            let at = part.launch.number as usize - 1;
            (at, (part.n as usize).max(at + 1))
        });
        let kernel = String::new();
        Some(Self { style, n_cases: 0, n_done: 0, since_start_ns: 0, kernel, launch })
    }

    /// Text before `case` is measured.
    fn before(&mut self, case: &Case) -> String {
        let is_new = std::mem::replace(&mut self.kernel, case.info.id()) != self.kernel;
        match self.style {
            Style::Line => format!("{ERASE}{} {}{}", self.share(), case.label(), self.left()),
            Style::Plain if is_new => format!("{} {}{}\n", self.share(), self.kernel, self.left()),
            Style::Plain => String::new(),
        }
    }

    /// Text before cases that were started get another slice.
    fn during(&self, pass: &Pass) -> String {
        let Pass { info, number, n_open } = pass;
        let cases = if *n_open == 1 { "case" } else { "cases" };
        match self.style {
            Style::Line => {
                let id = info.id();
                format!("{ERASE}{} {id} pass {number}: {n_open} {cases}", self.share())
            }
            Style::Plain => String::new(),
        }
    }

    /// Text after a case.
    fn after(&mut self, since_start_ns: u64) -> &'static str {
        self.n_done += 1;
        self.since_start_ns = since_start_ns;
        if self.style == Style::Line { ERASE } else { "" }
    }

    fn share(&self) -> String {
        let (before, n_launches) = self.launch;
        let n_done = before * self.n_cases + self.n_done;
        let percent = n_done * 100 / (n_launches * self.n_cases).max(1);
        format!("[{percent:>3}%]")
    }

    /// Estimate of the remaining time, at the pace so far.
    fn left(&self) -> String {
        let Some(per_case_ns) = self.since_start_ns.checked_div(self.n_done as u64) else {
            return String::new();
        };
        let (before, n_launches) = self.launch;
        let n_left = (n_launches - before) * self.n_cases - self.n_done.min(self.n_cases);
        let n_left = n_left as u64;
        let left_s = per_case_ns.saturating_mul(n_left) / 1_000_000_000;
        format!("  {} left", humantime::format_duration(Duration::from_secs(left_s)))
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
            Event::CaseFinished(measurement) => self.after(measurement.since_start_ns).into(),
            Event::CaseFailed(failure) => self.after(failure.since_start_ns).into(),
            Event::StartsNoted(_) | Event::CoresMoved(_) | Event::RunFinished(_) => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue;

    fn progress(style: Style) -> Progress {
        Progress {
            style,
            n_cases: 4,
            n_done: 0,
            since_start_ns: 0,
            kernel: String::new(),
            launch: (0, 1),
        }
    }

    #[test]
    fn a_line_is_redrawn_and_erased() {
        let case = Case::new(catalogue::infos()[0], &[1, 8]);
        let mut progress = progress(Style::Line);
        assert_eq!(progress.before(&case), "\r\x1b[K[  0%] comet/echo hops=1 length_bytes=8");
        assert_eq!(progress.after(2_000_000_000), ERASE);
        assert!(
            progress.before(&case).ends_with("[ 25%] comet/echo hops=1 length_bytes=8  6s left")
        );
    }

    #[test]
    fn passes_are_counted_where_a_line_is_redrawn() {
        let pass = Pass { info: catalogue::infos()[0], number: 3, n_open: 1 };
        assert_eq!(progress(Style::Line).during(&pass), "\r\x1b[K[  0%] comet/echo pass 3: 1 case");
        assert_eq!(progress(Style::Plain).during(&pass), "");
    }

    #[test]
    fn plain_progress_is_one_line_per_kernel() {
        let case = Case::new(catalogue::infos()[0], &[1, 8]);
        let mut progress = progress(Style::Plain);
        assert_eq!(progress.before(&case), "[  0%] comet/echo\n");
        assert_eq!(progress.after(1), "");
        assert_eq!(progress.before(&case), "");
    }
}
