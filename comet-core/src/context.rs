//! The view of a kernel while it runs: its transport, buffers, and the timed loop.

mod laps;
mod made;

use std::sync::OnceLock;

use crate::collective::Graph;
use crate::conformance::Broken;
use crate::definition::Definition;
use crate::driver::{Pace, Slowest};
use crate::error::{Result, TransportError, TransportErrorKind};
use crate::file::Folder;
use crate::kernel::{Buffers, Cast, Checker, Class, Fault, KernelInfo, Pairing, Side, World};
use crate::layout::{Blocks, Packing, Way};
use crate::sample::Sample;
use crate::sync::{self, GlobalClock, Skew};
use crate::topology::Topology;
use crate::transport::{Lane, Rank, Tag, Transport, Usage};

pub use laps::Laps;

/// The rank whose times count where those of one rank do.
const TEST_NODE: Rank = 0;

/// Settings of all cases of a run, on all ranks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Method<'a> {
    /// The definition asked for, in place of that of the kernels which admit it.
    pub definition: Option<Definition>,
    /// The clock that all ranks share; `None` where there is no such clock.
    pub clock: Option<&'a GlobalClock>,
    /// Ranks that are made to start late.
    pub skew: Skew,
    /// Seed of the skew.
    pub seed: u64,
    /// True if messages are sent from buffers into which nothing is received, as those of IMB and OSU are;
    /// otherwise what arrived is sent next.
    pub untouched: bool,
    /// Buffers of the repetitions.
    pub buffers: Buffers,
    /// The user's ranks of a load and of an echo beside it.
    pub cast: Option<Cast>,
    /// Barriers between the operations that go before and the first clock read, as IMB has them.
    pub n_barriers: u32,
    /// True if each lap begins by a clock read of its own, as in OSU.
    pub laps_are_apart: bool,
    /// The user's graph of neighbours.
    pub graph: Option<&'a Graph>,
    /// The user's folder for files.
    pub files: Option<&'a Folder>,
    /// Capabilities that the transport promises and lacks.
    pub broken: Option<&'a Broken>,
    /// Rounds of busy work per millisecond, once that is known.
    pub rounds_per_ms: Option<&'a OnceLock<u64>>,
    /// Pairs with the longest round trip that the run has found.
    pub(crate) slowest: Option<&'a Slowest>,
}

/// Repetitions of a rank between two clock reads.
pub(crate) trait Repeated<T> {
    /// One repetition.
    fn run(&mut self, t: &T) -> Result<()>;

    /// One repetition, which ends its laps.
    #[inline]
    fn run_in_laps(&mut self, t: &T, _laps: &mut Laps) -> Result<()> {
        self.run(t)
    }

    /// Work before the common start of an interval.
    #[inline]
    fn clear(&mut self, _t: &T) -> Result<()> {
        Ok(())
    }

    /// The end of all repetitions of an interval, inside of it.
    fn conclude(&mut self, t: &T) -> Result<()>;
}

/// Repetitions that need no common end.
struct Calls<F>(F);

impl<T, F: FnMut(&T) -> Result<()>> Repeated<T> for Calls<F> {
    #[inline]
    fn run(&mut self, t: &T) -> Result<()> {
        (self.0)(t)
    }

    #[inline]
    fn conclude(&mut self, _: &T) -> Result<()> {
        Ok(())
    }
}

/// Repetitions with a barrier after each.
struct BeforeBarrier<'a, R>(&'a mut R);

impl<T: Transport, R: Repeated<T>> Repeated<T> for BeforeBarrier<'_, R> {
    #[inline]
    fn run(&mut self, t: &T) -> Result<()> {
        self.0.run(t)?;
        t.barrier()
    }

    #[inline]
    fn run_in_laps(&mut self, t: &T, laps: &mut Laps) -> Result<()> {
        self.0.run_in_laps(t, laps)?;
        t.barrier()
    }

    #[inline]
    fn clear(&mut self, t: &T) -> Result<()> {
        self.0.clear(t)
    }

    #[inline]
    fn conclude(&mut self, t: &T) -> Result<()> {
        self.0.conclude(t)
    }
}

/// One rank's view of the case at hand.
#[derive(Debug)]
pub struct Context<'a, T: Transport> {
    transport: &'a T,
    /// The transport by which the ranks meet: messages of that above may have a layout.
    meeting: &'a T,
    /// The blocks of each message, if they have a layout.
    blocks: Option<&'a Blocks>,
    /// The transport whose library packs them, and the way, where a rank packs them itself.
    packing: Option<(&'a T, Way)>,
    info: &'static KernelInfo,
    pace: Pace,
    method: Method<'a>,
    fault: Option<&'static Fault>,
    /// True if all ranks repeat the operation or [follow](Self::follow), so that they can meet.
    all_repeat: bool,
    samples: Vec<Vec<Sample>>,
    usage: Option<Usage>,
}

impl<'a, T: Transport> Context<'a, T> {
    /// A context for the kernel `info`, with a `fault` that its checks are to notice.
    pub fn new(
        transport: &'a T,
        info: &'static KernelInfo,
        pace: Pace,
        method: Method<'a>,
        fault: Option<&'static Fault>,
    ) -> Self {
        let reserved = |_| {
            // Touched before, so that no page fault delays a rank between two samples.
            let mut samples = vec![Sample::default(); pace.n_batches() as usize];
            std::hint::black_box(&mut samples).clear();
            samples
        };
        let samples = info.series.iter().map(reserved).collect();
        let (meeting, usage, all_repeat) = (transport, None, false);
        let (blocks, packing) = (None, None);
        Self {
            transport,
            meeting,
            blocks,
            packing,
            info,
            pace,
            method,
            fault,
            all_repeat,
            samples,
            usage,
        }
    }

    /// The same with ranks that meet by `meeting`.
    pub(crate) fn with_meeting(self, meeting: &'a T) -> Self {
        Self { meeting, ..self }
    }

    /// The same with messages of these blocks over `transport`, which was made for them.
    pub(crate) fn with_layout(self, transport: &'a T, blocks: &'a Blocks) -> Self {
        Self { transport, blocks: Some(blocks), ..self }
    }

    /// The same with messages of these blocks, which the rank packs and unpacks between its calls: by the library
    /// of `laid`, or by loops of ours.
    pub(crate) fn with_packing(self, blocks: &'a Blocks, laid: &'a T, way: Way) -> Self {
        Self { blocks: Some(blocks), packing: Some((laid, way)), ..self }
    }

    /// Memory and loops for the messages that the rank packs; `None` where it packs none.
    ///
    /// # Errors
    /// If there is not that much memory, or for [buffers](Buffers) other than the same ones.
    pub(crate) fn packing(&self) -> Result<Option<Packing<'a, T>>> {
        let Some(((laid, way), blocks)) = self.packing.zip(self.blocks) else { return Ok(None) };
        if self.method.buffers != Buffers::Same {
            let text = "messages are packed from the same buffers (leave --buffers out)";
            return Err(TransportError::new(TransportErrorKind::Unsupported, text));
        }
        Packing::new(self.transport, (laid, way), blocks).map(Some)
    }

    /// Bytes of data of a message that the rank packs; `None` where it packs none.
    pub fn packed_bytes(&self) -> Option<usize> {
        self.blocks.filter(|_| self.packing.is_some()).map(Blocks::data_bytes)
    }

    /// Bytes of data of a message that has a layout; `None` of others.
    pub fn data_bytes(&self) -> Option<usize> {
        self.blocks.map(Blocks::data_bytes)
    }

    /// The transport.
    pub fn transport(&self) -> &'a T {
        self.transport
    }

    /// This rank.
    pub fn rank(&self) -> Rank {
        self.transport.rank()
    }

    /// Mesh and hops.
    pub fn topology(&self) -> &'a Topology {
        self.transport.topology()
    }

    /// The ranks of the run, as descriptions of kernels see them.
    pub fn world(&self) -> World<'a> {
        let Method { cast: given_cast, graph, files, .. } = self.method;
        World { given_cast, graph, files, ..World::of(self.topology()) }
    }

    /// The root of operations that have one.
    pub fn root(&self) -> Rank {
        TEST_NODE
    }

    /// Tag number `index` of the case.
    ///
    /// # Panics
    /// If a case has more than 1000 tags.
    pub fn tag(&self, index: u16) -> Tag {
        assert!(index < 1000, "a case has tags 0 to 999");
        Tag::new(1 + index)
    }

    /// The ranks before and after this one in a ring of all ranks.
    pub fn ring(&self) -> (Rank, Rank) {
        let (rank, n_ranks) = (self.rank(), self.transport.n_ranks());
        ((rank + n_ranks - 1) % n_ranks, (rank + 1) % n_ranks)
    }

    /// The side of this rank in `pairing`; `None` if it is in no pair.
    pub fn side(&self, pairing: Pairing) -> Option<Side> {
        pairing.side(self.rank(), self.topology())
    }

    /// True if what arrived is sent next, rather than a buffer into which nothing is received.
    pub fn resends(&self) -> bool {
        !self.method.untouched
    }

    /// Buffers of the repetitions.
    pub(crate) fn buffers(&self) -> Buffers {
        self.method.buffers
    }

    /// Checks after `n_runs` runs of an operation.
    pub fn checker(&self, n_runs: u64) -> Checker {
        let lane = self.transport.lane().map_or(0, Lane::number);
        let spoil = self.fault.and_then(|fault| fault.spoil(n_runs, self.pace.looks_after > 0));
        Checker::new(n_runs, spoil).of_blocks(self.blocks).in_lane(lane)
    }

    /// Times that each operation is carried out by a fault, where it is another number than one.
    pub(crate) fn n_times(&self) -> Option<u32> {
        self.fault.and_then(|fault| fault.n_times(self.info.class))
    }

    /// Kind of communication of the kernel.
    pub(crate) fn class(&self) -> Class {
        self.info.class
    }

    /// Runs of the operation of `series` in one measurement.
    pub(crate) fn n_runs(&self, series: usize) -> u64 {
        let Pace { repetitions, settle, .. } = self.pace;
        let n_batches = u64::from(self.pace.n_batches());
        u64::from(settle[series]) + u64::from(repetitions) * n_batches
    }

    /// Does `run` for all samples, or for those before and then those behind a look at what arrived.
    ///
    /// # Errors
    /// The first error of `run`.
    pub(crate) fn in_stretches(
        &mut self,
        mut run: impl FnMut(&mut Self) -> Result<()>,
    ) -> Result<()> {
        let (whole, is_virtual) = (self.pace, self.transport.clock().is_virtual);
        let done = whole.stretches(is_virtual).try_for_each(|pace| {
            self.pace = pace;
            run(self)
        });
        self.pace = whole;
        done
    }

    /// Times `op` as series `series`: the only timed loop of CoMet.
    ///
    /// Between the two clock reads lie the operations and their counter, nothing else.
    ///
    /// # Errors
    /// The first error of `op`.
    #[inline]
    pub fn time(&mut self, series: usize, op: impl FnMut(&T) -> Result<()>) -> Result<()> {
        self.time_repeated(series, &mut Calls(op))
    }

    #[inline]
    pub(crate) fn time_repeated(&mut self, series: usize, op: &mut impl Repeated<T>) -> Result<()> {
        let (t, pace) = (self.transport, self.pace);
        self.settle(series, op)?;
        let before = t.usage();
        let mut due_ns = None;
        for index in 0..pace.n_batches() {
            op.clear(t)?;
            due_ns = self.start_together(series, index, due_ns)?;
            let mut laps = Laps::new(self.method.laps_are_apart);
            let start_ns = t.now_ns();
            laps.start(start_ns);
            for _ in 0..pace.repetitions {
                op.run_in_laps(t, &mut laps)?;
            }
            op.conclude(t)?;
            let end_ns = t.now_ns();
            self.keep(series, Sample { start_ns, end_ns, due_ns, ..Sample::default() }, &laps);
        }
        self.discard_first(series);
        self.note_usage(before);
        Ok(())
    }

    /// Runs `op` as often as [`time`](Self::time) does, without a clock: for the partners of the
    /// test node, whose times are not asked for.
    ///
    /// # Errors
    /// The first error of `op`.
    #[inline]
    pub fn follow(&mut self, series: usize, op: impl FnMut(&T) -> Result<()>) -> Result<()> {
        self.follow_repeated(series, &mut Calls(op))
    }

    #[inline]
    pub(crate) fn follow_repeated(
        &mut self,
        series: usize,
        op: &mut impl Repeated<T>,
    ) -> Result<()> {
        let (t, pace) = (self.transport, self.pace);
        self.settle(series, op)?;
        let before = t.usage();
        let mut due_ns = None;
        for index in 0..pace.n_batches() {
            op.clear(t)?;
            due_ns = self.start_together(series, index, due_ns)?;
            for _ in 0..pace.repetitions {
                op.run(t)?;
            }
            op.conclude(t)?;
        }
        self.note_usage(before);
        Ok(())
    }

    /// [`time`](Self::time) on the rank `test_node`, [`follow`](Self::follow) on the others.
    ///
    /// # Errors
    /// The first error of `op`.
    #[inline]
    pub fn time_on(
        &mut self,
        test_node: Rank,
        series: usize,
        op: impl FnMut(&T) -> Result<()>,
    ) -> Result<()> {
        self.time_repeated_on(test_node, series, &mut Calls(op))
    }

    #[inline]
    fn time_repeated_on(
        &mut self,
        test_node: Rank,
        series: usize,
        op: &mut impl Repeated<T>,
    ) -> Result<()> {
        if self.rank() == test_node {
            self.time_repeated(series, op)
        } else {
            self.follow_repeated(series, op)
        }
    }

    /// Times `op`, in which all ranks take part, as the definition in effect wants it: on the test
    /// node or on all ranks, one by one or in a loop, with a barrier after it, or beside a loop of
    /// barriers alone.
    ///
    /// # Errors
    /// The first error of `op`, or of a barrier.
    #[inline]
    pub fn time_collective(
        &mut self,
        series: usize,
        op: impl FnMut(&T) -> Result<()>,
    ) -> Result<()> {
        self.time_repeated_together(series, &mut Calls(op))
    }

    #[inline]
    pub(crate) fn time_repeated_together(
        &mut self,
        series: usize,
        op: &mut impl Repeated<T>,
    ) -> Result<()> {
        match self.definition(series) {
            Definition::ClosedByBarrier => {
                self.time_repeated_on(TEST_NODE, series, &mut BeforeBarrier(op))
            }
            Definition::BarrierSubtracted => self.time_beside_barriers(series, op),
            definition if definition.is_of_one_rank() => {
                self.time_repeated_on(TEST_NODE, series, op)
            }
            _ => self.time_repeated(series, op),
        }
    }

    /// A loop of barriers and operations, and one of barriers alone, for each sample.
    #[inline]
    fn time_beside_barriers(&mut self, series: usize, op: &mut impl Repeated<T>) -> Result<()> {
        let (t, pace) = (self.transport, self.pace);
        self.settle(series, op)?;
        for _ in 0..pace.n_batches() {
            t.barrier()?;
            let mut laps = Laps::new(self.method.laps_are_apart);
            let start_ns = t.now_ns();
            laps.start(start_ns);
            // The barrier after the last operation is within too: what other ranks still do would
            // otherwise be part of the loop that is subtracted.
            for _ in 0..pace.repetitions {
                op.run_in_laps(t, &mut laps)?;
                t.barrier()?;
            }
            op.conclude(t)?;
            let end_ns = t.now_ns();
            for _ in 0..pace.repetitions {
                t.barrier()?;
            }
            let reference_ns = Some(t.now_ns() - end_ns);
            if self.rank() == TEST_NODE {
                let sample = Sample { start_ns, end_ns, reference_ns, ..Sample::default() };
                self.keep(series, sample, &laps);
            }
        }
        self.discard_first(series);
        Ok(())
    }

    /// Takes the [start](Transport::startup_ns) of this rank, which is over, as each sample of `series`.
    ///
    /// # Errors
    /// [`Unsupported`](TransportErrorKind::Unsupported) if nobody read the clock then.
    pub fn recall_startup(&mut self, series: usize) -> Result<()> {
        let Some([start_ns, end_ns]) = self.transport.startup_ns() else {
            let text = "needs the time of the start, which this transport does not take";
            return Err(TransportError::new(TransportErrorKind::Unsupported, text));
        };
        for _ in 0..self.pace.n_samples {
            let sample = Sample { start_ns, end_ns, ..Sample::default() };
            self.keep(series, sample, &Laps::default());
        }
        Ok(())
    }

    /// The definition by which the samples of `series` make a value.
    pub fn definition(&self, series: usize) -> Definition {
        self.info.definition_under(series, self.method.definition)
    }

    /// Mean time of an operation of `series` on this rank in the samples taken so far, in nanoseconds;
    /// `None` where it took none.
    pub fn mean_ns(&self, series: usize) -> Option<u64> {
        let samples = &self.samples[series];
        let n_operations = samples.len() as u64 * u64::from(self.pace.repetitions);
        samples.iter().map(|sample| sample.elapsed_ns()).sum::<u64>().checked_div(n_operations)
    }

    /// Work of the system on this rank while samples were taken, if it is known.
    pub fn usage(&self) -> Option<Usage> {
        self.usage
    }

    /// The samples taken, by series; empty where this rank took none.
    pub fn into_samples(self) -> Vec<Vec<Sample>> {
        self.samples
    }

    /// Adds what the system has done to this rank since `before`.
    fn note_usage(&mut self, before: Option<Usage>) {
        let since = self.transport.usage().zip(before).map(|(now, before)| now.since(before));
        self.usage = since.map(|since| since.plus(self.usage.unwrap_or_default()));
    }

    /// Keeps a sample in the reserved buffer, and one of each lap.
    #[inline]
    fn keep(&mut self, series: usize, sample: Sample, laps: &Laps) {
        let is_skewed = self.pace.skew_ns > 0 && self.starts_together(series);
        let sample = Sample { is_skewed, ..sample };
        self.samples[series].push(sample);
        for (index, of_lap) in self.info.laps_of(series).enumerate() {
            let end_ns = sample.start_ns + laps.ns(index);
            self.samples[of_lap].push(Sample { end_ns, reference_ns: None, ..sample });
        }
    }

    /// Drops the batches that are slow because they are the first.
    fn discard_first(&mut self, series: usize) {
        let (n_batches, n_discarded) = (self.pace.n_batches(), self.pace.n_discarded as usize);
        for samples in &mut self.samples[series..self.info.laps_of(series).end] {
            let first = samples.len().saturating_sub(n_batches as usize);
            samples.drain(first..samples.len().min(first + n_discarded));
        }
    }

    #[inline]
    fn settle(&self, series: usize, op: &mut impl Repeated<T>) -> Result<()> {
        for index in 0..self.pace.settle[series] {
            self.start_together(series, index, None)?;
            op.run(self.transport)?;
        }
        op.conclude(self.transport)?;
        self.line_up(series)
    }

    /// Notes that all ranks of the kernel repeat its operation, or follow.
    pub(crate) fn have_all_repeat(&mut self) {
        self.all_repeat = true;
    }

    /// Takes part in the barriers of `series`, of which this rank has no part: those of a common start,
    /// those before a loop, and those that the definition times with an operation of all ranks.
    pub(crate) fn stand_by(&mut self, series: usize) -> Result<()> {
        let has_barriers = self.all_repeat && self.method.n_barriers > 0;
        self.in_stretches(|cx| match cx.definition(series) {
            Definition::ClosedByBarrier | Definition::BarrierSubtracted => {
                cx.time_collective(series, |_| Ok(()))
            }
            _ if has_barriers || cx.starts_together(series) => cx.follow(series, |_| Ok(())),
            _ => Ok(()),
        })
    }

    /// A meeting of all threads of the rank, and barriers of all ranks before the first clock read: as many
    /// as the method wants, with those of a common start.
    #[inline]
    fn line_up(&self, series: usize) -> Result<()> {
        self.transport.lane().iter().for_each(|lane| lane.meet());
        let n_barriers = if self.all_repeat { self.method.n_barriers } else { 0 };
        let of_start = if self.starts_together(series) { self.pace.sync.n_barriers() } else { 0 };
        let barrier = |_| sync::barrier_of_threads(self.meeting, T::barrier);
        (of_start..n_barriers).try_for_each(barrier)
    }

    pub(crate) fn starts_together(&self, series: usize) -> bool {
        self.info.starts_together(series, self.method.definition)
    }

    /// Has all ranks begin at once, where the definition wants it; says when they were to begin, on the shared
    /// clock, if a window was opened. The one before was opened at `before_ns`, if there was one.
    #[inline]
    fn start_together(
        &self,
        series: usize,
        index: u32,
        before_ns: Option<u64>,
    ) -> Result<Option<u64>> {
        if !self.starts_together(series) {
            return Ok(None);
        }
        let (t, pace, method) = (self.meeting, self.pace, self.method);
        let next_ns =
            before_ns.filter(|_| pace.period_ns > 0).map(|due_ns| due_ns + pace.period_ns);
        let due_ns = match next_ns {
            Some(due_ns) => {
                sync::await_due(t, due_ns, method.clock);
                Some(due_ns)
            }
            None => pace.sync.start(t, pace.window_ns, method.clock)?,
        };
        if pace.skew_ns > 0 {
            let number = u64::from(pace.slice) << 32 | u64::from(index);
            let (rank, n_ranks) = (t.rank(), t.n_ranks());
            let late_ns = method.skew.delay_ns(rank, n_ranks, pace.skew_ns, method.seed, number);
            t.wait_until_ns(t.now_ns() + late_ns);
        }
        Ok(due_ns)
    }
}

#[cfg(test)]
mod tests;
