//! Steps of a rank in the oracle: the calls of the transport, its collectives, and the timed loop.

use comet_core::driver::Pace;
use comet_core::kernel::Timing;
use comet_core::transport::{Rank, Source, Work};
use comet_sim::machine::Protocol;

use super::bench::Bench;
use super::oracle::{Label, Step, time_ps};

/// Labels beyond those of the tags of kernels.
const BARRIER: Label = Label::MAX;
const BROADCAST: Label = Label::MAX - 1;
const SUM: Label = Label::MAX - 2;
const REPORT: Label = Label::MAX - 3;

/// Steps of one rank, written call by call.
#[derive(Debug)]
pub(crate) struct Script<'a> {
    pub(crate) bench: &'a Bench,
    pub(crate) rank: Rank,
    pub(crate) steps: Vec<Step>,
}

impl<'a> Script<'a> {
    /// A rank that does nothing yet.
    pub(crate) fn new(bench: &'a Bench, rank: Rank) -> Self {
        Self { bench, rank, steps: Vec::new() }
    }

    pub(crate) fn n_ranks(&self) -> usize {
        self.bench.topology.n_ranks()
    }

    pub(crate) fn start(&mut self, to: Rank, label: Label, n_bytes: u64) {
        self.steps.push(Step::Start { to, label, n_bytes });
    }

    pub(crate) fn post(&mut self, source: Source, label: Label) {
        let from = if let Source::Rank(rank) = source { Some(rank) } else { None };
        self.steps.push(Step::Post { from, label });
    }

    pub(crate) fn send(&mut self, to: Rank, label: Label, n_bytes: u64) {
        self.start(to, label, n_bytes);
        self.steps.push(Step::EndSend);
    }

    pub(crate) fn recv(&mut self, source: Source, label: Label) {
        self.post(source, label);
        self.steps.push(Step::EndRecv);
    }

    /// Both send before they receive where sends are buffered; a rank whose sends may have to wait
    /// posts its receive first.
    pub(crate) fn exchange(&mut self, to: Rank, from: Source, label: Label, n_bytes: u64) {
        let segments = &self.bench.machine.segments;
        if segments.iter().any(|segment| segment.protocol == Protocol::Rendezvous) {
            self.post(from, label);
            self.send(to, label, n_bytes);
            return self.steps.push(Step::EndRecv);
        }
        self.send(to, label, n_bytes);
        self.recv(from, label);
    }

    pub(crate) fn unblocked_send(&mut self, to: Rank, label: Label, n_bytes: u64) {
        self.steps.push(Step::Busy(self.bench.machine.node.isend_ps));
        self.start(to, label, n_bytes);
    }

    pub(crate) fn unblocked_recv(&mut self, from: Source, label: Label) {
        self.steps.push(Step::Busy(self.bench.machine.node.irecv_ps));
        self.post(from, label);
    }

    pub(crate) fn wait_send(&mut self) {
        self.steps.extend([Step::Busy(self.bench.machine.node.wait_ps), Step::EndSend]);
    }

    pub(crate) fn wait_recv(&mut self) {
        self.steps.extend([Step::Busy(self.bench.machine.node.wait_ps), Step::EndRecv]);
    }

    /// A look for a message; goes on `by` steps further if there is one.
    pub(crate) fn go_if_here(&mut self, from: Rank, label: Label, by: isize) {
        let poll_ps = self.bench.machine.node.poll_ps;
        self.steps.extend([Step::Busy(poll_ps), Step::GoIfHere { from, label, by }]);
    }

    pub(crate) fn work(&mut self, work: Work) {
        let node = &self.bench.machine.node;
        self.steps.push(Step::Work(match work {
            Work::Daxpy { n } => node.daxpy_ps * n as u64,
            Work::Reduce { n } => node.reduce_ps * n as u64,
            Work::Copy { bytes, piece_bytes, .. } => {
                let n_pieces = bytes / piece_bytes;
                time_ps(node.copy, bytes as u64) + node.copy_piece_ps * n_pieces as u64
            }
        }));
    }

    /// The timed loop of CoMet, in which the rank `reads` its clock or only takes part.
    pub(crate) fn timed(
        &mut self,
        operation: &[Step],
        timing: Timing,
        (pace, series): (Pace, usize),
        reads: bool,
    ) {
        let reading = reads.then_some(Step::Read);
        for n_sample in 0..pace.settle[series] + pace.n_samples {
            let is_sample = n_sample >= pace.settle[series];
            if timing == Timing::Single {
                self.barrier();
            }
            self.steps.extend(reading.filter(|_| is_sample));
            for _ in 0..if is_sample { pace.repetitions } else { 1 } {
                self.steps.extend(operation);
            }
            self.steps.extend(reading.filter(|_| is_sample));
        }
    }

    /// The barrier of the simulated transport: pairwise over the dimensions of a hypercube, and by
    /// dissemination where there is none.
    pub(crate) fn barrier(&mut self) {
        if !self.n_ranks().is_power_of_two() {
            return self.dissemination();
        }
        for dim in 0..self.n_ranks().ilog2() {
            let partner = self.rank ^ (1 << dim);
            self.exchange(partner, Source::Rank(partner), BARRIER, 0);
        }
    }

    /// In round `i` each rank signals the rank `2^i` above it.
    pub(crate) fn dissemination(&mut self) {
        let n_ranks = self.n_ranks();
        for distance in (0..).map(|round| 1 << round).take_while(|distance| *distance < n_ranks) {
            let to = (self.rank + distance) % n_ranks;
            let from = Source::Rank((self.rank + n_ranks - distance) % n_ranks);
            self.exchange(to, from, BARRIER, 0);
        }
    }

    /// Along the binomial tree from rank 0: a rank has its message from the rank without its lowest
    /// bit, and passes it on to those with one lower bit more, the highest first.
    pub(crate) fn broadcast(&mut self, n_bytes: u64) {
        let (rank, n_ranks) = (self.rank, self.n_ranks());
        let lowest =
            if rank == 0 { n_ranks.next_power_of_two() } else { rank & rank.wrapping_neg() };
        if rank != 0 {
            self.recv(Source::Rank(rank - lowest), BROADCAST);
        }
        for dim in (0..lowest.ilog2()).rev().filter(|dim| rank + (1 << dim) < n_ranks) {
            self.send(rank + (1 << dim), BROADCAST, n_bytes);
        }
    }

    /// Along the binomial tree to rank 0 and back: at once if it is short, or else in pieces of
    /// 1024.
    pub(crate) fn global_sum(&mut self, n_values: u64) {
        if n_values <= 32 {
            return self.sum_piece(n_values);
        }
        for piece in 0..n_values.div_ceil(1024) {
            self.sum_piece((n_values - 1024 * piece).min(1024));
        }
    }

    fn sum_piece(&mut self, n_values: u64) {
        let (rank, n_ranks) = (self.rank, self.n_ranks());
        for bit in (0..).map(|dim| 1 << dim).take_while(|bit| *bit < n_ranks) {
            if rank & bit != 0 {
                self.send(rank - bit, SUM, 8 * n_values);
                break;
            }
            if rank + bit < n_ranks {
                self.recv(Source::Rank(rank + bit), SUM);
                self.steps.push(Step::Work(self.bench.machine.node.reduce_ps * n_values));
            }
        }
        self.broadcast(8 * n_values);
    }

    /// Rank 0 sends the others what to do with a case on so many axes, and they meet.
    pub(crate) fn decision(&mut self, n_axes: usize) {
        self.broadcast(comet_core::driver::decision_bytes(n_axes) as u64);
        self.barrier();
    }

    /// The others send rank 0 their samples, so many of each series, and before them how long that
    /// report is. Ranks without a part do so while the others still measure.
    pub(crate) fn report(&mut self, n_samples: &[usize]) {
        if self.rank == 0 {
            return (1..self.n_ranks()).for_each(|rank| {
                self.recv(Source::Rank(rank), REPORT);
                self.recv(Source::Rank(rank), REPORT);
            });
        }
        let sample_bytes = comet_core::driver::SAMPLE_BYTES as u64;
        self.send(0, REPORT, 8);
        let of_series = n_samples.iter().map(|n| 8 + sample_bytes * *n as u64);
        self.send(0, REPORT, 1 + of_series.sum::<u64>());
    }
}
