//! Recording: the calls that one rank of a real kernel makes, as steps of the oracle.
//!
//! No message travels: each rank is recorded alone, and a receive gives back what is in its buffer.
//! The oracle then knows how long the calls take, so that a kernel needs no description here; what
//! a kernel has to do is held by its check of the data and, for most, by a formula in
//! `closed_forms.rs`. Two ranks of contention, which go on as they find messages, are written out in
//! `contention.rs`.

use std::cell::RefCell;

use comet_core::collective::{self, NoCall};
use comet_core::context::{Context, Method};
use comet_core::driver::{self, Pace};
use comet_core::error::{KernelError, Result};
use comet_core::file::NoFile;
use comet_core::kernel::Case;
use comet_core::local::LocalBuffer;
use comet_core::topology::Topology;
use comet_core::transport::{
    ClockInfo, Group, Lease, NoPrepared, Outgoing, Pending, Place, Rank, RawTransport, SendMode,
    Source, Status, Tag, Transport, Work,
};
use comet_core::window::{Memory, NoWindow};
use comet_sim::machine::{Node, Protocol};

use super::bench::Bench;
use super::contention;
use super::machines;
use super::oracle::{Step, time_ps};

/// Steps of a rank in one round of a case: the decision, its samples of each series, its report.
pub(crate) fn round(bench: &Bench, rank: Rank, case: &Case, pace: Pace) -> Vec<Step> {
    record(bench, rank, |t| {
        t.blocked_broadcast(0, &mut vec![0; driver::decision_bytes(case.info.axes.len())])?;
        t.barrier()?;
        let mut cx = Context::new(t, case.info, pace, Method::default(), None);
        if !contention::serve(t, case)? {
            let of_matrix = [comet_matrix::kernels(), comet_matrix::wished()];
            let suites = [&of_matrix, &comet_kernels::suites()[..]].concat();
            let kernel =
                suites.concat().into_iter().find(|kernel| kernel.info().id() == case.info.id());
            match kernel.expect("the kernel is in a suite").measure(&mut cx, case) {
                Ok(()) | Err(KernelError::Mismatch { .. }) => (),
                Err(error) => panic!("{}: {error}", case.label()),
            }
        }
        let of_series = |samples: &Vec<_>| 8 + driver::SAMPLE_BYTES * samples.len();
        let report_bytes = 1 + cx.into_samples().iter().map(of_series).sum::<usize>();
        collective::gather(t, vec![0; report_bytes]).map(drop)
    })
}

/// Steps of `rank` in `program`.
pub(crate) fn record(
    bench: &Bench,
    rank: Rank,
    program: impl FnOnce(&Recording) -> Result<()>,
) -> Vec<Step> {
    let group = Group::whole(rank, bench.topology.n_ranks());
    let t = Recording { bench: bench.clone(), group, steps: RefCell::default() };
    program(&t).expect("nothing fails that does not happen");
    t.steps.into_inner()
}

#[derive(Debug)]
pub(crate) struct Recording {
    pub(crate) bench: Bench,
    group: Group,
    pub(crate) steps: RefCell<Vec<Step>>,
}

impl Recording {
    fn push(&self, step: Step) {
        self.steps.borrow_mut().push(step);
    }

    pub(crate) fn pay(&self, busy_ps: fn(&Node) -> u64) {
        self.push(Step::Busy(busy_ps(&self.bench.machine.node)));
    }

    fn start(&self, to: Rank, tag: Tag, message: &[u8]) {
        let n_bytes = message.len() as u64;
        self.push(Step::Start { to, label: tag.value(), n_bytes });
    }

    fn post(&self, source: Source, tag: Tag) {
        let from = if let Source::Rank(rank) = source { Some(rank) } else { None };
        self.push(Step::Post { from, label: tag.value() });
    }

    fn status(source: Source, tag: Tag, length_bytes: usize) -> Status {
        let source = if let Source::Rank(rank) = source { rank } else { 0 };
        Status { source, tag, length_bytes }
    }
}

/// An operation that was started, by the step that ends it and its result.
pub(crate) struct Started<O>(Step, O);

impl<O> Pending<Recording> for Started<O> {
    type Out = O;

    fn poll(&mut self, _t: &Recording) -> bool {
        panic!("no step knows when a request that is polled ends")
    }

    fn finish(self, t: &Recording) -> Result<O> {
        t.pay(|node| node.wait_ps);
        t.push(self.0);
        Ok(self.1)
    }
}

impl RawTransport for Recording {
    type SendOp<'env> = Started<()>;
    type RecvOp<'env> = Started<(Status, &'env mut [u8])>;
    type OwnCall<'env> = NoCall;
    type PreparedOp = NoPrepared;
    type Window = NoWindow;
    type File = NoFile;
    type Construction = comet_core::layout::PieceSearch;

    fn start_send_in(
        &self,
        _: Lease<Self>,
        mode: SendMode,
        to: Rank,
        tag: Tag,
        message: &[u8],
    ) -> Result<Started<()>> {
        assert_eq!(mode, SendMode::Standard, "no step knows another mode");
        self.pay(|node| node.isend_ps);
        self.start(to, tag, message);
        Ok(Started(Step::EndSend, ()))
    }

    fn start_send_from(
        &self,
        lease: Lease<Self>,
        to: Rank,
        tag: Tag,
        message: Outgoing<'_>,
    ) -> Result<Started<()>> {
        self.start_send(lease, to, tag, &message.to_vec())
    }

    fn group(&self) -> &Group {
        &self.group
    }

    fn start_recv<'env>(
        &self,
        _: Lease<Self>,
        source: Source,
        tag: Tag,
        place: Place<'env>,
    ) -> Result<Self::RecvOp<'env>> {
        self.pay(|node| node.irecv_ps);
        self.post(source, tag);
        let status = Self::status(source, tag, place.length_bytes());
        Ok(Started(Step::EndRecv, (status, place.into_buffer())))
    }

    fn make_window(&self, _: Lease<Self>, _: usize, _: usize, _: Memory) -> Result<NoWindow> {
        Err(NoWindow::unsupported())
    }

    fn fail_job(&self, reason: &str) -> ! {
        panic!("{reason}")
    }
}

impl Transport for Recording {
    type Buffer = LocalBuffer;

    fn split(&self, _colour: Option<u32>, _key: u64) -> Result<Option<Self>> {
        panic!("no program has parts of the ranks")
    }

    fn now_ns(&self) -> u64 {
        self.push(Step::Read);
        0
    }

    fn clock(&self) -> ClockInfo {
        let name = "steps";
        ClockInfo { name, is_global: true, domain: 0, is_virtual: true, step_ns: None }
    }

    fn topology(&self) -> &Topology {
        &self.bench.topology
    }

    fn message_buffer(&self, length_bytes: usize) -> Result<LocalBuffer> {
        Ok(LocalBuffer::new(length_bytes).expect("there is memory for a test"))
    }

    fn probe(&self, _source: Source, _tag: Tag) -> Result<Option<Status>> {
        panic!("a rank that goes on as it finds messages needs steps of its own")
    }

    fn blocked_send(&self, to: Rank, tag: Tag, message: &[u8]) -> Result<()> {
        self.start(to, tag, message);
        self.push(Step::EndSend);
        Ok(())
    }

    fn blocked_recv(&self, source: Source, tag: Tag, buffer: &mut [u8]) -> Result<Status> {
        self.post(source, tag);
        self.push(Step::EndRecv);
        Ok(Self::status(source, tag, buffer.len()))
    }

    /// Both send before they receive where sends are buffered; else they post their receive first.
    fn blocked_exchange(
        &self,
        to: Rank,
        message: &[u8],
        source: Source,
        buffer: &mut [u8],
        tag: Tag,
    ) -> Result<Status> {
        let segments = &self.bench.machine.segments;
        if segments.iter().all(|segment| segment.protocol != Protocol::Rendezvous) {
            self.blocked_send(to, tag, message)?;
            return self.blocked_recv(source, tag, buffer);
        }
        self.post(source, tag);
        self.blocked_send(to, tag, message)?;
        self.push(Step::EndRecv);
        Ok(Self::status(source, tag, buffer.len()))
    }

    /// Pairwise over the dimensions of a hypercube, and by dissemination where there is none.
    fn barrier(&self) -> Result<()> {
        if self.n_ranks().is_power_of_two() {
            return collective::pairwise_barrier(self);
        }
        collective::barrier(self)
    }

    fn compute(&self, work: Work, _body: impl FnOnce()) {
        let node = &self.bench.machine.node;
        self.push(Step::Work(match work {
            Work::Daxpy { n } => node.daxpy_ps * n as u64,
            Work::Reduce { n } => node.reduce_ps * n as u64,
            Work::Busy { ns } => 1000 * ns,
            Work::Copy { bytes, piece_bytes, .. } => {
                let n_pieces = bytes.checked_div(piece_bytes).unwrap_or(0);
                time_ps(node.copy, bytes as u64) + node.copy_piece_ps * n_pieces as u64
            }
        }));
    }
}

/// A message of a collective, with its bytes, or a computation, in picoseconds.
#[derive(Clone, Debug, PartialEq)]
enum Action {
    To(Rank, u64),
    From(Option<Rank>),
    Work(u64),
}

type Program = fn(&Recording) -> Result<()>;

/// Actions of `program` on one rank, in order.
fn actions(bench: &Bench, rank: Rank, program: Program) -> Vec<Action> {
    let action = |step| match step {
        Step::Start { to, n_bytes, .. } => Some(Action::To(to, n_bytes)),
        Step::Post { from, .. } => Some(Action::From(from)),
        Step::Work(ps) => Some(Action::Work(ps)),
        _ => None,
    };
    record(bench, rank, program).into_iter().filter_map(action).collect()
}

/// A rank has a broadcast from the rank without its lowest bit, and passes it on to those with one
/// lower bit more, the highest first; sums go the other way before, in pieces of 1024 values. In
/// round `i` of a dissemination each rank signals the rank `2^i` above it, of a pairwise barrier the
/// one with another bit `i`.
#[test]
fn collectives_have_their_trees() {
    const REDUCE_PS: u64 = 7;
    let (to, from) = (Action::To, |rank| Action::From(Some(rank)));
    let mut machine = machines::flat();
    machine.node.reduce_ps = REDUCE_PS;
    for (n_ranks, rank) in
        (1..=17).flat_map(|n_ranks| (0..n_ranks).map(move |rank| (n_ranks, rank)))
    {
        let (bench, place) = (Bench::new(&machine, n_ranks), format!("rank {rank} of {n_ranks}"));
        let bits = (0..usize::BITS).map(|dim| 1 << dim).take_while(|bit| *bit < n_ranks);
        let parent = bits.clone().find(|bit| rank & bit != 0).map(|bit| rank - bit);
        let lower = bits.clone().take_while(|bit| rank & bit == 0 && rank + bit < n_ranks);
        let children = Vec::from_iter(lower.map(|bit| rank + bit));
        let down = |n_bytes| {
            let passed = children.iter().rev().map(move |rank| to(*rank, n_bytes));
            Vec::from_iter(parent.map(from).into_iter().chain(passed))
        };
        let piece = |n_values| {
            let added = |rank: &Rank| [from(*rank), Action::Work(REDUCE_PS * n_values)];
            let up = parent.map(|parent| to(parent, 8 * n_values));
            [children.iter().flat_map(added).chain(up).collect(), down(8 * n_values)].concat()
        };
        let broadcast = actions(&bench, rank, |t| t.blocked_broadcast(0, &mut [0; 3]));
        assert_eq!(broadcast, down(3), "{place}");
        let sums: [(Program, &[u64]); 3] = [
            (|t| t.global_sum_vector(&mut [0.0]), &[1]),
            (|t| t.global_sum_vector(&mut [0.0; 33]), &[33]),
            (|t| t.global_sum_vector(&mut [0.0; 2049]), &[1024, 1024, 1]),
        ];
        for (sum, pieces) in sums {
            let expected: Vec<_> = pieces.iter().flat_map(|n_values| piece(*n_values)).collect();
            assert_eq!(actions(&bench, rank, sum), expected, "{place}: {pieces:?}");
        }
        let signals = bits.clone().flat_map(|bit| {
            [to((rank + bit) % n_ranks, 0), from((rank + n_ranks - bit) % n_ranks)]
        });
        let barrier = actions(&bench, rank, collective::barrier);
        assert_eq!(barrier, Vec::from_iter(signals), "{place}");
        if n_ranks.is_power_of_two() {
            let pairs = bits.flat_map(|bit| [to(rank ^ bit, 0), from(rank ^ bit)]);
            let barrier = actions(&bench, rank, collective::pairwise_barrier);
            assert_eq!(barrier, Vec::from_iter(pairs), "{place}");
        }
    }
}
