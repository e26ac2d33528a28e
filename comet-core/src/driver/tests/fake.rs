//! Small kernels and a transport that behave as told, a listener that keeps all it hears, and a run
//! of them.

use std::borrow::Cow;
use std::cell::Cell;
use std::error::Error;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::super::{DriverError, Settings, Slices, conduct, follow};
use crate::conformance::twisted::{Twist, Twisted};
use crate::context::Context;
use crate::definition::{Definition, Quantity};
use crate::error::{KernelError, TransportError};
use crate::event::{CaseFailure, Event, Listener, Measurement, RunEnd, RunStart};
use crate::kernel::{
    Arrangement, AxisUse, Case, Class, Derived, History, Kernel, KernelInfo, LENGTH_BYTES, Profile,
    Series, Timing, World,
};
use crate::local::{self, Local};
use crate::pattern;
use crate::transport::{Rank, Source, Tag, Transport};
use comet_stats::Summary;

const SEED: u64 = 7;

const fn series(name: &'static str, definition: Definition) -> Series {
    Series::of(name, Quantity::OpTime, definition)
}

/// Series of every kernel here, and one that none measures.
static SERIES: [Series; 3] = [
    series("node", Definition::TestNode),
    series("all", Definition::Completion),
    series("nobody", Definition::TestNode),
];

const fn info(name: &'static str) -> KernelInfo {
    KernelInfo {
        name,
        summary: "a barrier on the test node and on all ranks",
        class: Class::Synchronisation,
        series: SERIES.split_at(2).0,
        timing: Timing::Batched,
        admits: |_, _| Ok(()),
        bytes_per_rank: |_, _| 8,
        ..KernelInfo::collective("fake")
    }
}

/// Kernels that nothing is special about.
pub(super) static FIRST: KernelInfo = info("first");
pub(super) static SECOND: KernelInfo = info("second");
/// A kernel whose operations would run into each other.
pub(super) static SINGLE: KernelInfo = KernelInfo { timing: Timing::Single, ..info("single") };
/// A kernel whose loops are timed as such by the rules of IMB, and one of files.
pub(super) static LOOP: KernelInfo = KernelInfo { timing: Timing::Pipelined, ..info("loop") };
pub(super) static OF_FILES: KernelInfo =
    KernelInfo { timing: Timing::Pipelined, is_of_files: true, ..info("of_files") };
/// A kernel that no topology suits.
pub(super) static TOO_FLAT: KernelInfo =
    KernelInfo { admits: |_, _| Err("needs a fourth dimension".into()), ..info("too_flat") };
/// A kernel for three ranks at least.
pub(super) static FOR_THREE: KernelInfo =
    KernelInfo { admits: |_, world| world.require_ranks(3), ..info("for_three") };
/// A kernel that promises more series than it measures.
pub(super) static TOO_LITTLE: KernelInfo = KernelInfo { series: &SERIES, ..info("too_little") };
/// Its axis is filled in from the results of [`FIRST`].
static BUILDS_ON_FIRST: KernelInfo = KernelInfo {
    axes: &[AxisUse::of(&LENGTH_BYTES, "")],
    requires: &["fake/first"],
    ..info("builds_on_first")
};

/// The local transport, whose ranks 0 and 1 move between cores as a script has it.
pub(super) type Moving<'a> = Twisted<'a, Script>;

/// Times of a cache line that the test chooses.
#[derive(Clone, Debug)]
pub(super) struct Script {
    trouble: Trouble,
    n_readings: Cell<usize>,
    n_broadcasts: Cell<usize>,
}

impl Twist for Script {
    fn now_ns(&self, inner: &Local) -> u64 {
        inner.now_ns() * self.trouble.clock_factor.unwrap_or(1)
    }

    fn line_time_ns(&self, inner: &Local) -> Result<Option<f64>, TransportError> {
        // All ranks are to take part in each reading.
        inner.barrier()?;
        let (index, script_ns) = (self.n_readings.get(), self.trouble.script_ns);
        self.n_readings.set(index + 1);
        let has_part = inner.rank() < 2;
        Ok(script_ns.get(index).or(script_ns.last()).copied().filter(|_| has_part))
    }

    fn blocked_broadcast(
        &self,
        inner: &Local,
        root: Rank,
        message: &mut [u8],
    ) -> Result<(), TransportError> {
        inner.blocked_broadcast(root, message)?;
        let n_broadcasts = self.n_broadcasts.replace(self.n_broadcasts.get() + 1);
        // Later than the broadcasts by which the window is chosen.
        let is_late = self.trouble.late_ranks == inner.n_ranks() && n_broadcasts >= 20;
        if is_late && inner.rank() == 1 {
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        Ok(())
    }
}

/// Proof of a kernel that its data arrives.
pub(super) type Verify = fn(&Context<'_, Moving<'_>>, &Case) -> Result<(), KernelError>;

/// A kernel of barriers that behaves as told.
pub(super) struct Fake {
    pub(super) info: &'static KernelInfo,
    resolve: fn(Case, &History) -> Result<Case, String>,
    verify: Verify,
    /// Takes the place of `verify` after this kernel has measured.
    verify_again: Verify,
    has_measured: AtomicBool,
    /// Operations of the first series on the test node.
    pub(super) n_operations: AtomicU64,
}

impl Fake {
    /// A kernel that finds nothing wrong.
    pub(super) fn good(info: &'static KernelInfo) -> Self {
        Self::checked_by(info, arrives)
    }

    pub(super) fn checked_by(info: &'static KernelInfo, verify: Verify) -> Self {
        Self {
            info,
            resolve: |case, _| Ok(case),
            verify,
            verify_again: verify,
            has_measured: AtomicBool::new(false),
            n_operations: AtomicU64::new(0),
        }
    }

    /// A kernel that passes its first check and fails the one after measuring, on rank 1.
    pub(super) fn wrong_after_measuring(info: &'static KernelInfo) -> Self {
        Self { verify_again: is_wrong_on_rank_1, ..Self::good(info) }
    }

    /// A kernel whose length is the number of samples that [`FIRST`] took.
    pub(super) fn building_on_first() -> Self {
        let verify: Verify = |_, case| expect("the length", 4, case.value(&LENGTH_BYTES));
        Self { resolve: length_of_first, ..Self::checked_by(&BUILDS_ON_FIRST, verify) }
    }
}

impl<'a> Kernel<Moving<'a>> for Fake {
    fn info(&self) -> &'static KernelInfo {
        self.info
    }

    fn resolve(&self, case: Case, _: &World<'_>, history: &History) -> Result<Case, String> {
        (self.resolve)(case, history)
    }

    fn verify(&self, cx: &mut Context<'_, Moving<'a>>, case: &Case) -> Result<(), KernelError> {
        let again = self.has_measured.load(Ordering::Relaxed);
        (if again { self.verify_again } else { self.verify })(cx, case)
    }

    fn measure(&self, cx: &mut Context<'_, Moving<'a>>, _case: &Case) -> Result<(), KernelError> {
        self.has_measured.store(true, Ordering::Relaxed);
        cx.time_on(0, 0, |t| {
            self.n_operations.fetch_add(u64::from(t.rank() == 0), Ordering::Relaxed);
            t.barrier()
        })?;
        cx.time(1, Transport::barrier)?;
        Ok(())
    }

    fn derived(&self, _case: &Case, summaries: &[Summary]) -> Vec<Derived> {
        let sum: f64 = summaries.iter().map(|summary| summary.median).sum();
        vec![Derived::of("sum_ns", "median(node) + median(all)", Some(sum))]
    }
}

/// A broadcast from rank 0 arrives.
fn arrives(cx: &Context<'_, Moving<'_>>, _case: &Case) -> Result<(), KernelError> {
    let mut message = cx.message(8)?;
    if cx.rank() == 0 {
        pattern::fill(&mut message, SEED);
    }
    cx.transport().blocked_broadcast(0, &mut message)?;
    let mut check = cx.checker(1);
    check.message(&mut message, SEED, "the broadcast");
    check.result()
}

/// Finds wrong data on rank 1 alone.
pub(super) fn is_wrong_on_rank_1(
    cx: &Context<'_, Moving<'_>>,
    case: &Case,
) -> Result<(), KernelError> {
    arrives(cx, case)?;
    if cx.rank() == 1 { Err(KernelError::mismatch("the answer", 42, 6 * 9)) } else { Ok(()) }
}

/// Finds nothing wrong, after more than a second.
pub(super) fn takes_long(cx: &Context<'_, Moving<'_>>, case: &Case) -> Result<(), KernelError> {
    std::thread::sleep(std::time::Duration::from_millis(1100));
    arrives(cx, case)
}

/// Every rank sends itself a message that is longer than the buffer.
pub(super) fn overflows(cx: &Context<'_, Moving<'_>>, _case: &Case) -> Result<(), KernelError> {
    let t = cx.transport();
    t.blocked_send(t.rank(), Tag::new(1), &[0; 8])?;
    t.blocked_recv(Source::Rank(t.rank()), Tag::new(1), &mut [0; 4])?;
    Ok(())
}

fn expect(what: &str, expected: u64, found: u64) -> Result<(), KernelError> {
    if found == expected { Ok(()) } else { Err(KernelError::mismatch(what, expected, found)) }
}

fn length_of_first(case: Case, history: &History) -> Result<Case, String> {
    let (_, summaries) = history.of("fake/first").next().ok_or("needs fake/first")?;
    Ok(case.with(&LENGTH_BYTES, summaries[0].n as u64))
}

/// Errors of the listener, and the script of the transport.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Trouble {
    /// The question, counted from 0, from which on the listener asks to stop.
    pub(super) interrupts_at: Option<usize>,
    /// The event, counted from 0, that cannot be kept.
    pub(super) fails_at: Option<usize>,
    /// Number of backlog questions that the listener answers with yes.
    pub(super) n_behind: usize,
    /// Times of a cache line to come, in nanoseconds; the last one stays.
    pub(super) script_ns: &'static [f64],
    /// Factor by which the clock is too fast.
    pub(super) clock_factor: Option<u64>,
    /// Number of ranks of the case in which rank 1 learns of the opening of a window too late.
    pub(super) late_ranks: usize,
}

/// Keeps all that it hears.
#[derive(Default)]
pub(super) struct Collector {
    pub(super) trouble: Trouble,
    n_questions: Cell<usize>,
    /// Names of the events, in the order of their arrival.
    pub(super) log: Vec<String>,
    /// Events that it received.
    pub(super) start: Option<RunStart>,
    pub(super) measurements: Vec<Measurement>,
    pub(super) failures: Vec<CaseFailure>,
    /// Cases at which windows were given up.
    pub(super) given_up: Vec<String>,
    end: Option<RunEnd>,
}

impl Listener for Collector {
    fn event(&mut self, event: &Event<'_>) -> Result<(), Box<dyn Error + Send + Sync>> {
        if let Event::WindowGivenUp(given_up) = event {
            self.given_up.push(given_up.case.clone());
        }
        if matches!(event, Event::PassStarted(_) | Event::WindowGivenUp(_)) {
            return Ok(());
        }
        if self.trouble.fails_at == Some(self.log.len()) {
            return Err("the disk is full".into());
        }
        let name = match event {
            Event::RunStarted(start) => {
                self.start = Some((*start).clone());
                "run started".into()
            }
            Event::CaseStarted(case) => format!("started {}", case.info.name),
            Event::PassStarted(_) | Event::WindowGivenUp(_) => unreachable!("left out above"),
            Event::CaseFinished(measurement) => {
                self.measurements.push((*measurement).clone());
                format!("finished {}", measurement.case.info.name)
            }
            Event::CaseFailed(failure) => {
                self.failures.push((*failure).clone());
                format!("failed {}", failure.case.info.name)
            }
            Event::CoresMoved(moved) => format!("cores moved around {}", moved.info.name),
            Event::RunFinished(end) => {
                self.end = Some((*end).clone());
                "run finished".into()
            }
        };
        self.log.push(name);
        Ok(())
    }

    fn is_behind(&mut self, _max_bytes: usize) -> bool {
        let n_left = self.trouble.n_behind;
        self.trouble.n_behind = n_left.saturating_sub(1);
        n_left > 0
    }

    fn interrupted(&self) -> Option<String> {
        let question = self.n_questions.replace(self.n_questions.get() + 1);
        self.trouble.interrupts_at.filter(|first| question >= *first).map(|_| "SIGINT".into())
    }
}

/// Outcome of a run.
pub(super) struct Outcome {
    /// Results of each rank.
    pub(super) results: Vec<Result<RunEnd, DriverError>>,
    /// Events that rank 0's listener received.
    pub(super) heard: Collector,
}

impl Outcome {
    /// End of the run, by rank 0; the other ranks must return the same.
    pub(super) fn end(&self) -> RunEnd {
        let ends: Vec<&RunEnd> =
            self.results.iter().map(|result| result.as_ref().expect("the run ended")).collect();
        for (rank, end) in ends.iter().enumerate() {
            assert_eq!(counts(end), counts(ends[0]), "rank {rank} of {}", ends.len());
            assert_eq!(end.wall_ns, ends[0].wall_ns, "rank {rank} of {}", ends.len());
            assert_eq!(end.stop.is_some(), ends[0].stop.is_some(), "rank {rank}");
        }
        assert_eq!(self.heard.end.as_ref(), Some(ends[0]));
        ends[0].clone()
    }
}

/// Measured, check failed, failed, skipped.
pub(super) fn counts(end: &RunEnd) -> [usize; 4] {
    [end.n_ok, end.n_check_failed, end.n_failed, end.n_skipped]
}

/// Four samples of two operations per case, in a slice each.
pub(super) fn brief() -> Settings {
    let settings = Settings::of(Profile::Quick);
    let slices = Slices { min: 4, ..settings.slices };
    Settings { repetitions: Some(2), samples: Some(4), slices, ..settings }
}

/// A case of each kernel on each arrangement.
pub(super) fn cases(fakes: &[Fake], arrangements: &[Arrangement]) -> Vec<Case> {
    let on_each = |fake: &Fake| {
        let case = Case::new(fake.info, &[]);
        arrangements.iter().map(move |arrangement| case.on(*arrangement))
    };
    fakes.iter().flat_map(on_each).collect()
}

/// Runs one case of each kernel, without trouble.
pub(super) fn drive(n_ranks: usize, fakes: &[Fake], settings: &Settings) -> Outcome {
    drive_cases(n_ranks, &cases(fakes, &[Arrangement::ALL]), fakes, settings, Trouble::default())
}

/// A [`brief`] run of one case of each kernel with `trouble`.
pub(super) fn drive_with(n_ranks: usize, fakes: &[Fake], trouble: Trouble) -> Outcome {
    drive_cases(n_ranks, &cases(fakes, &[Arrangement::ALL]), fakes, &brief(), trouble)
}

/// [`drive`] with the caller's cases.
pub(super) fn drive_cases(
    n_ranks: usize,
    cases: &[Case],
    fakes: &[Fake],
    settings: &Settings,
    trouble: Trouble,
) -> Outcome {
    let ranks = local::run(n_ranks, |inner| {
        let twist = Script { trouble, n_readings: Cell::new(0), n_broadcasts: Cell::new(0) };
        let t = Moving { inner: Cow::Borrowed(inner), twist };
        let kernels: Vec<&dyn Kernel<Moving<'_>>> = fakes.iter().map(|fake| fake as _).collect();
        let mut heard = Collector { trouble, ..Collector::default() };
        let result = if t.rank() == 0 {
            conduct(&t, &kernels, cases, settings, &mut heard)
        } else {
            follow(&t, &kernels, settings).map_err(DriverError::from)
        };
        (result, heard)
    });
    let (results, heard): (Vec<_>, Vec<_>) = ranks.into_iter().unzip();
    Outcome { results, heard: heard.into_iter().next().expect("there is a rank 0") }
}
