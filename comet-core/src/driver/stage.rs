//! One rank doing what was decided, and its report to rank 0.

use std::sync::OnceLock;

use super::decision::{Decision, Target, Trail};
use super::slowest::Slowest;
use super::start::Starts;
use super::step::Step;
use super::{Pace, Settings, clock};
use crate::collective;
use crate::context::{Context, Method};
use crate::definition::Definition;
use crate::error::{KernelError, Result};
use crate::event::{Failure, RunEnd};
use crate::file::Folder;
use crate::kernel::{Arrangement, Buffers, Case, Checker, Class, Fault, Kernel, KernelInfo, World};
use crate::layout::{Blocks, Way};
use crate::sample::Sample;
use crate::sync::{ClockOffset, GlobalClock, StartSync, late};
use crate::transport::{Tag, Transport, Usage};

/// Time to make and to check one byte of test data, in nanoseconds, at most.
const NS_PER_BYTE: u64 = 10;

/// The kernels of a run on one rank.
pub(super) struct Stage<'a, T: Transport> {
    pub(super) t: &'a T,
    pub(super) kernels: &'a [&'a dyn Kernel<T>],
    pub(super) settings: &'a Settings,
    /// The clock that all ranks share, if there is one.
    pub(super) clock: Option<GlobalClock>,
    /// Buffers of the repetitions, the same on all ranks.
    buffers: Buffers,
    /// The user's folder for files, the same on all ranks.
    files: Option<Folder>,
    /// Rounds of busy work per millisecond, once that is known.
    rounds_per_ms: OnceLock<u64>,
    /// Pairs with the longest round trip that were found.
    slowest: Slowest,
    /// Transports of groups and of datatypes, each made once; `None` on ranks that take no part, and
    /// where that of the job serves.
    parts: Vec<(Arrangement, Option<T>)>,
    /// The transport of the layout of the latest case, if it has one.
    laid: Option<Laid<T>>,
    /// That of this rank alone, whose barriers hold nobody, where a fault has ranks meet there.
    alone: Option<T>,
}

/// The transport of the layout of the messages of one length.
struct Laid<T> {
    arrangement: Arrangement,
    blocks: Blocks,
    /// True if its kernel can pack.
    is_packed: bool,
    /// `None` on ranks that take no part, and where ranks pack by loops of ours.
    t: Option<T>,
    /// Way in which messages are made of pieces.
    way: Way,
    /// Reason that there are no such messages, on all ranks alike.
    refusal: Option<String>,
}

impl<T: Transport> Laid<T> {
    /// `cx`, which is over `part`, with these messages.
    fn apply<'c>(&'c self, cx: Context<'c, T>, part: &'c T) -> Context<'c, T> {
        match (self.way, &self.t) {
            (Way::Datatype, Some(t)) => cx.with_layout(t, &self.blocks),
            (_, library) => {
                cx.with_packing(&self.blocks, library.as_ref().unwrap_or(part), self.way)
            }
        }
    }
}

impl<'a, T: Transport> Stage<'a, T> {
    /// The kernels over `t`, before [`set_up`](Self::set_up).
    pub(super) fn new(t: &'a T, kernels: &'a [&'a dyn Kernel<T>], settings: &'a Settings) -> Self {
        let (clock, buffers, files) = (None, settings.buffers, None);
        let (parts, laid, alone) = (Vec::new(), None, None);
        let (rounds_per_ms, slowest) = (OnceLock::new(), Slowest::default());
        Self {
            t,
            kernels,
            settings,
            clock,
            buffers,
            files,
            rounds_per_ms,
            slowest,
            parts,
            laid,
            alone,
        }
    }

    /// Sets up all ranks before the first case: they agree on a clock, and on the start of windows.
    pub(super) fn set_up(&mut self) -> Result<Starts> {
        self.buffers = self.buffers.agree(self.t)?;
        self.files = self.settings.files.as_ref().map(|files| files.agree(self.t)).transpose()?;
        if self.settings.fault.as_ref().is_some_and(|(fault, _)| fault.empties_barriers()) {
            let own = u32::try_from(self.t.rank()).expect("ranks are 32 bits");
            self.alone = self.t.split(Some(own), 0)?;
        }
        let clock = self.t.clock();
        // The simulator's clock is common by its making, and comparing it costs much of 65536 ranks.
        if !(clock.is_virtual && clock.is_global) {
            self.clock = match GlobalClock::agree(self.t) {
                Ok(clock) => Some(clock),
                // On all ranks alike: their clocks do not run evenly.
                Err(error) if error.is_unsupported() => None,
                Err(error) => return Err(error),
            };
        }
        let is_possible = |sync: &StartSync| *sync != StartSync::Window || self.can_have_windows();
        let wanted = self.settings.sync.or(self.settings.rules.sync());
        let sync = wanted.filter(is_possible).unwrap_or_else(|| self.default_sync());
        Starts::agree(self.t, sync, self.clock.as_ref())
    }

    /// A window where it is possible: ranks leave a barrier one after the other.
    fn default_sync(&self) -> StartSync {
        if self.can_have_windows() { StartSync::Window } else { StartSync::Barrier }
    }

    /// True if ranks can spin until the clock that they share shows the start.
    fn can_have_windows(&self) -> bool {
        let can_spin = self.settings.has_core_each || self.t.clock().is_virtual;
        can_spin && self.has_common_clock()
    }

    /// True if readings of two ranks can be compared, as they are or by their differences.
    pub(super) fn has_common_clock(&self) -> bool {
        self.clock.is_some() || self.t.clock().is_global
    }

    /// Number of clocks that the ranks read, and the error bound of a reading on the shared one.
    pub(super) fn clock_domains(&self) -> (usize, Option<u64>) {
        match &self.clock {
            Some(clock) => (clock.n_domains(), Some(clock.bound_ns())),
            None if self.t.clock().is_global => (1, Some(0)),
            None => (self.t.n_ranks(), None),
        }
    }

    /// Offsets of the unshared clocks from that of rank 0; empty if they were not compared.
    pub(super) fn clock_offsets(&self) -> Vec<ClockOffset> {
        self.clock.as_ref().map_or(Vec::new(), |clock| clock.offsets().to_vec())
    }

    /// Index of the kernel of `case`; `None` if it is not on this stage.
    pub(super) fn kernel_idx(&self, case: &Case) -> Option<usize> {
        self.kernels.iter().position(|kernel| kernel.info().is_of_kernel(case.info))
    }

    /// Takes samples of a case at a pace that is expected to take so many nanoseconds, or checks it,
    /// after a barrier of all ranks; those that take no part go on to the next decision, for which
    /// they wait without using the CPU.
    pub(super) fn run(&mut self, target: &Target, pace: Option<(Pace, u64)>) -> Result<Report> {
        self.split(target.arrangement)?;
        let (kernel, case) = self.set(target, pace.map_or(0, |(_, expected_ns)| expected_ns));
        let case = self.lay_out(case)?;
        let of_kernel = |fault: &&(_, String)| fault.1 == kernel.info().id();
        let fault = self.settings.fault.as_ref().filter(of_kernel).map(|(fault, _)| *fault);
        let alone = self.alone.as_ref().filter(|_| fault.is_some_and(Fault::empties_barriers));
        // Rank 0 has heard of the step before from all ranks; in virtual time nothing of it lasts.
        if pace.is_some() || !self.t.clock().is_virtual {
            self.t.barrier()?;
        }
        let Some(part) = self.part(target.arrangement) else { return Ok(Ok(Taken::default())) };
        if let Some(refusal) = self.laid.as_ref().and_then(|laid| laid.refusal.as_ref()) {
            return Ok(Err((Failure::Skipped, refusal.clone())));
        }
        let (pace, method) = (pace.map(|(pace, _)| pace), self.method(kernel));
        let step = Step { kernel, case, pace, method, fault };
        let n_threads = case.n_threads();
        let report = if n_threads > 1 {
            step.in_lanes(part, n_threads)?
        } else {
            let cx = step.context(part).with_meeting(alone.unwrap_or(part));
            report_of(step.take(match &self.laid {
                Some(laid) => laid.apply(cx, part),
                None => cx,
            }))?
        };
        // Behind the samples, whose ranks come to them from one moment.
        let proved = match pace {
            Some(pace) if pace.proves_barrier => {
                self.prove_barrier(kernel.info(), pace, part, alone.unwrap_or(part))?
            }
            _ => Ok(()),
        };
        let report = match proved {
            Ok(()) => report,
            Err(error) => report_of(Err(error))?,
        };
        // Kernels number the ranks of their group.
        let place = match part.global_rank(0) {
            0 => String::new(),
            first => format!(" (by ranks of the group that begins at rank {first})"),
        };
        let on_shared_clock = |taken| self.on_shared_clock(taken);
        Ok(report.map(on_shared_clock).map_err(|(failure, message)| (failure, message + &place)))
    }

    /// Proves the barrier of `meeting` at which the ranks of `part` meet before samples of `info`, or within them;
    /// windows are held against the clock instead.
    ///
    /// # Errors
    /// If the transport fails; the inner one if a rank left the barrier before another had entered it.
    fn prove_barrier(
        &self,
        info: &KernelInfo,
        pace: Pace,
        part: &T,
        meeting: &T,
    ) -> Result<std::result::Result<(), KernelError>> {
        let wanted = self.settings.definition(info);
        let starts = info.timed_series().any(|series| info.starts_together(series, wanted));
        let has_within = info.timed_series().any(|series| {
            let definition = info.definition_under(series, wanted);
            matches!(definition, Definition::ClosedByBarrier | Definition::BarrierSubtracted)
        });
        let is_at_library = matches!(pace.sync, StartSync::Barrier | StartSync::DoubleBarrier);
        let is_before_loop =
            self.settings.rules.n_barriers() > 0 && info.class != Class::Contention;
        let (name, barrier): (_, fn(&T) -> Result<()>) = match pace.sync {
            StartSync::Dissemination if starts => {
                ("the dissemination barrier before a sample", collective::barrier)
            }
            _ if starts && is_at_library => ("the barrier before a sample", T::barrier),
            _ if has_within => ("the barrier within a sample", T::barrier),
            _ if is_before_loop => ("the barrier before a loop", T::barrier),
            _ => return Ok(Ok(())),
        };
        // A rank that comes to the proof itself late would hide that others did not wait.
        collective::barrier(part)?;
        let mut check = Checker::new(1, None);
        late::prove(part, Tag::new(1), &mut check, name, || barrier(meeting))?;
        Ok(check.result())
    }

    /// Makes the transports of the groups and their datatypes, unless there are some; all ranks call it.
    fn split(&mut self, arrangement: Arrangement) -> Result<()> {
        let arrangement = arrangement.without_layout();
        let is_plain = self.is_whole(arrangement) && arrangement.datatype.is_none();
        if is_plain || self.parts.iter().any(|part| part.0 == arrangement) {
            return Ok(());
        }
        let part = if self.is_whole(arrangement) {
            None
        } else {
            let colour = arrangement.group_of(self.t.rank());
            let colour = colour.map(|group| u32::try_from(group).expect("ranks are 32 bits"));
            self.t.split(colour, 0)?
        };
        let whole = Some(self.t).filter(|_| self.is_whole(arrangement));
        let typed = match part.as_ref().or(whole).zip(arrangement.datatype) {
            Some((t, datatype)) => t.with_datatype(datatype)?,
            None => None,
        };
        self.parts.push((arrangement, typed.or(part)));
        Ok(())
    }

    /// Makes the transport of the layout of `case`, unless it is the latest; all ranks call it. The case
    /// as its kernel sees it.
    fn lay_out(&mut self, case: Case) -> Result<Case> {
        let arrangement = case.arrangement();
        let Some(blocks) = self.world(arrangement).blocks(&case) else {
            self.laid = None;
            return Ok(case);
        };
        let case = case.in_memory(&blocks);
        let is_packed = case.info.is_packed;
        let is_latest = |laid: &Laid<T>| {
            (laid.arrangement, laid.is_packed) == (arrangement, is_packed) && laid.blocks == blocks
        };
        if !self.laid.as_ref().is_some_and(is_latest) {
            self.laid = None;
            self.laid = Some(self.laid(arrangement, blocks, is_packed)?);
        }
        Ok(case)
    }

    /// The transport of messages with these blocks. Where the transport has no datatypes of its own the ranks
    /// pack, if the kernel `is_packed`.
    fn laid(&self, arrangement: Arrangement, blocks: Blocks, is_packed: bool) -> Result<Laid<T>> {
        let way = blocks.layouts().way();
        let mut laid = Laid { arrangement, blocks, is_packed, t: None, way, refusal: None };
        let Some(part) = self.part(arrangement).filter(|_| way != Way::Packed) else {
            return Ok(laid);
        };
        match part.with_layout(&laid.blocks) {
            Ok(t) => laid.t = Some(t),
            Err(error) if error.is_unsupported() && way == Way::Datatype && is_packed => {
                laid.way = Way::Packed;
            }
            Err(error) if error.is_unsupported() => laid.refusal = Some(error.to_string()),
            Err(error) => return Err(error),
        }
        Ok(laid)
    }

    /// The transport of the group of this rank; `None` on one that takes no part.
    pub(super) fn part(&self, arrangement: Arrangement) -> Option<&T> {
        let of_ranks = arrangement.without_layout();
        let made = self.parts.iter().find(|part| part.0 == of_ranks);
        let whole = Some(self.t).filter(|_| self.is_whole(arrangement));
        made.and_then(|part| part.1.as_ref()).or(whole)
    }

    /// The transport of the latest case, which is of the group of this rank; `None` on one that takes no
    /// part.
    pub(super) fn latest(&self, arrangement: Arrangement) -> Option<&T> {
        let laid = self.laid.as_ref().filter(|laid| laid.way == Way::Datatype);
        laid.map_or_else(|| self.part(arrangement), |laid| laid.t.as_ref())
    }

    /// True if the only group is the job.
    fn is_whole(&self, arrangement: Arrangement) -> bool {
        arrangement.procs.is_none_or(|procs| procs == self.t.n_ranks())
    }

    /// Compares the clocks again; all ranks do so at once. Why they cannot be trusted any more, on
    /// all ranks alike, if they cannot.
    pub(super) fn compare_clocks(&mut self) -> Result<Option<String>> {
        match self.clock.as_mut().map_or(Ok(()), |clock| clock.refresh(self.t)) {
            Ok(()) => Ok(None),
            Err(error) if error.is_unsupported() => Ok(Some(error.to_string())),
            Err(error) => Err(error),
        }
    }

    /// The samples on the clock that all ranks share, if there is one.
    fn on_shared_clock(&self, mut taken: Taken) -> Taken {
        let Some(clock) = &self.clock else { return taken };
        for sample in taken.series.iter_mut().flatten() {
            sample.start_ns = clock.to_global_ns(sample.start_ns);
            sample.end_ns = clock.to_global_ns(sample.end_ns);
        }
        taken
    }

    fn set(&self, target: &Target, expected_ns: u64) -> (&'a dyn Kernel<T>, Case) {
        let kernel = self.kernels[target.kernel_idx];
        let case = Case::new(kernel.info(), &target.values).on(target.arrangement);
        // Test data is made and looked at byte by byte, and the first probe knows nothing yet.
        let world = self.world(target.arrangement);
        let bytes = self.buffers.bytes(world.bytes_per_rank(&case));
        self.t.annotate(&case.label(), expected_ns.max(bytes.saturating_mul(NS_PER_BYTE)));
        (kernel, case)
    }

    /// The group of this rank, as descriptions of kernels see it.
    pub(super) fn world(&self, arrangement: Arrangement) -> World<'_> {
        self.settings.world(self.part(arrangement).unwrap_or(self.t).topology())
    }

    /// The settings for `kernel`.
    fn method(&self, kernel: &dyn Kernel<T>) -> Method<'_> {
        let Settings { skew, seed, cast, .. } = *self.settings;
        let info = kernel.info();
        let definition = self.settings.definition(info);
        let untouched = self.settings.are_untouched();
        let (clock, buffers) = (self.clock.as_ref(), self.buffers);
        let (graph, files) = (self.settings.graph.as_ref(), self.files.as_ref());
        let rules = self.settings.rules;
        Method {
            definition,
            clock,
            skew,
            seed,
            untouched,
            buffers,
            cast,
            n_barriers: rules.n_barriers(),
            laps_are_apart: rules.laps_are_apart(),
            graph,
            files,
            broken: Some(&self.settings.broken),
            rounds_per_ms: Some(&self.rounds_per_ms),
            slowest: Some(&self.slowest),
        }
    }
}

/// Does what rank 0 decides until it says that the run is over; returns how the run ended.
///
/// # Errors
/// If the transport fails. The other ranks may wait for this one then: the caller has to end the
/// job.
///
/// # Panics
/// If called on rank 0.
pub fn follow<T: Transport>(
    t: &T,
    kernels: &[&dyn Kernel<T>],
    settings: &Settings,
) -> Result<RunEnd> {
    assert_ne!(t.rank(), 0, "rank 0 conducts");
    clock::calibrate_all(t)?;
    let mut stage = Stage::new(t, kernels, settings);
    stage.set_up()?;
    t.line_time_ns()?;
    let trail = Trail::default();
    loop {
        match Decision::hear(t, &trail)? {
            Decision::Run(target, pace) => drop(gather(t, &stage.run(&target, pace)?)?),
            Decision::CompareClocks => drop(stage.compare_clocks()?),
            Decision::TimeLine => drop(t.line_time_ns()?),
            Decision::Pause => (),
            Decision::Finish(end) => return Ok(end),
        }
    }
}

/// Samples of a rank.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Taken {
    /// The samples by series, of one lane after the other; empty after a verification.
    pub(super) series: Vec<Vec<Sample>>,
    /// Resources used by the rank meanwhile, if the system reports them.
    pub(super) usage: Option<Usage>,
}

/// Outcome of a rank's step: its samples, or the reason that the case has none.
pub(super) type Report = std::result::Result<Taken, (Failure, String)>;

/// The report for a kernel's result.
///
/// # Errors
/// The transport's error, unless it is one that the other ranks need not know of to go on.
pub(super) fn report_of(result: std::result::Result<Taken, KernelError>) -> Result<Report> {
    match result {
        Ok(taken) => Ok(Ok(taken)),
        Err(KernelError::Transport(error)) if error.is_unsupported() => {
            Ok(Err((Failure::Skipped, error.to_string())))
        }
        Err(KernelError::Transport(error)) if error.is_of_all() => {
            Ok(Err((Failure::Failed, error.to_string())))
        }
        // What this rank did not do, another may wait for.
        Err(KernelError::Transport(error)) if !error.is_truncated() => Err(error),
        // A message of the wrong length is wrong data.
        Err(error) => Ok(Err((Failure::CheckFailed, error.to_string()))),
    }
}

/// Sends `report` to rank 0, which gets those of all ranks, its own first; the others get nothing.
pub(super) fn gather<T: Transport>(t: &T, report: &Report) -> Result<Vec<Report>> {
    let gathered = collective::gather(t, encode(report))?;
    Ok(gathered.iter().map(|bytes| decode(bytes)).collect())
}

fn encode(report: &Report) -> Vec<u8> {
    let Taken { series, usage } = match report {
        Err((failure, message)) => return [&[1 + *failure as u8], message.as_bytes()].concat(),
        Ok(taken) => taken,
    };
    let mut bytes = vec![if usage.is_some() { MEASURED } else { 0 }];
    let usage =
        usage.map(|usage| [usage.involuntary_switches, usage.page_faults, usage.major_faults]);
    bytes.extend(collective::bytes(usage.into_iter().flatten()));
    for samples in series {
        bytes.extend((samples.len() as u64).to_le_bytes());
        bytes.extend(samples.iter().flat_map(to_words).flat_map(u64::to_le_bytes));
    }
    bytes
}

fn decode(bytes: &[u8]) -> Report {
    let (kind, rest) = bytes.split_first().expect("a report has a kind");
    let failures = [Failure::Skipped, Failure::CheckFailed, Failure::Failed];
    if let Some(failure) = failures.into_iter().find(|failure| 1 + *failure as u8 == *kind) {
        return Err((failure, String::from_utf8_lossy(rest).into_owned()));
    }
    let mut words = collective::words(rest).into_iter();
    let mut count = || words.next().unwrap_or(0);
    let usage = (*kind == MEASURED).then(|| Usage {
        involuntary_switches: count(),
        page_faults: count(),
        major_faults: count(),
    });
    let mut series = Vec::new();
    while let Some(n_samples) = words.next() {
        let mut sample = || {
            let [start, end, due, reference] = std::array::from_fn(|_| words.next());
            Some(from_words([start?, end?, due?, reference?]))
        };
        series.push((0..n_samples).map_while(|_| sample()).collect());
    }
    Ok(Taken { series, usage })
}

/// First byte of samples with resources used.
const MEASURED: u8 = u8::MAX;
/// Stands for a time that was not taken.
const NONE: u64 = u64::MAX;
/// Added to a start to say that it was skewed: clocks count less than 2^63 ns, 292 years.
const SKEWED: u64 = 1 << 63;
/// Bytes of a sample on the wire.
pub const SAMPLE_BYTES: usize = 32;

fn to_words(sample: &Sample) -> [u64; 4] {
    let skewed = if sample.is_skewed { SKEWED } else { 0 };
    let [due, reference] = [sample.due_ns, sample.reference_ns].map(|ns| ns.unwrap_or(NONE));
    [sample.start_ns | skewed, sample.end_ns, due, reference]
}

fn from_words([start, end, due, reference]: [u64; 4]) -> Sample {
    let [due_ns, reference_ns] = [due, reference].map(|ns| Some(ns).filter(|ns| *ns != NONE));
    let is_skewed = start & SKEWED != 0;
    Sample { start_ns: start & !SKEWED, end_ns: end, due_ns, reference_ns, is_skewed }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_survives_the_wire() {
        let plain = Sample { start_ns: 1, end_ns: u64::MAX, ..Sample::default() };
        let due = Sample { due_ns: Some(0), is_skewed: true, ..plain };
        let samples = vec![plain, due, Sample { reference_ns: Some(7), ..plain }];
        for report in [
            Ok(Taken { series: vec![samples.clone(), vec![], samples], usage: None }),
            Ok(Taken {
                series: vec![],
                usage: Some(Usage { involuntary_switches: 3, page_faults: 2, major_faults: 1 }),
            }),
            Err((Failure::CheckFailed, "byte 3".into())),
            Err((Failure::Skipped, "no windows".into())),
        ] {
            assert_eq!(decode(&encode(&report)), report);
        }
    }
}
