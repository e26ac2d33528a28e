//! Recording: the calls that one rank of a real kernel makes, as steps of the oracle.
//!
//! No message travels: each rank is recorded alone, and a receive gives back what is in its buffer.
//! The oracle then knows how long the calls take, so that a kernel needs no description here; what
//! a kernel has to do is held by its check of the data and, for most, by a formula in
//! `closed_forms.rs`. Contention, whose load follows from what it finds, is in `contention.rs`.

use std::cell::RefCell;

use comet_core::context::{Context, Method};
use comet_core::driver::Pace;
use comet_core::error::{KernelError, Result};
use comet_core::kernel::Case;
use comet_core::local::LocalBuffer;
use comet_core::topology::Topology;
use comet_core::transport::{
    ClockInfo, Lease, Pending, Place, Rank, RawTransport, Source, Status, Tag, Transport, Work,
};

use super::bench::{Bench, kernels};
use super::contention;
use super::oracle::Step;
use super::script::Script;

/// Steps of a rank in one round of a case: it receives the decision, takes its samples of each
/// series, and reports them.
pub(crate) fn round(bench: &Bench, rank: Rank, case: &Case, pace: Pace) -> Vec<Step> {
    let mut script = Script::new(bench, rank);
    script.decision(case.info.axes.len());
    let n_samples = if case.info.name == "contention" {
        contention::round(&mut script, case, pace)
    } else {
        let t = Recording { bench: bench.clone(), rank, steps: RefCell::default() };
        let mut cx = Context::new(&t, case.info, pace, Method::default(), false);
        let kernel = kernels().into_iter().find(|kernel| kernel.info().id() == case.info.id());
        match kernel.expect("the kernel is in a suite").measure(&mut cx, case) {
            Ok(()) | Err(KernelError::Mismatch { .. }) => (),
            Err(error) => panic!("{}: {error}", case.label()),
        }
        let n_samples = cx.into_samples().iter().map(Vec::len).collect();
        script.steps.append(&mut t.steps.take());
        n_samples
    };
    script.report(&n_samples);
    script.steps
}

/// A rank that writes its calls down.
#[derive(Debug)]
struct Recording {
    bench: Bench,
    rank: Rank,
    steps: RefCell<Vec<Step>>,
}

impl Recording {
    /// Adds the steps of one call.
    fn write(&self, call: impl FnOnce(&mut Script<'_>)) {
        let mut script = Script { bench: &self.bench, rank: self.rank, steps: self.steps.take() };
        call(&mut script);
        self.steps.replace(script.steps);
    }

    fn status(source: Source, tag: Tag, length_bytes: usize) -> Status {
        let source = if let Source::Rank(rank) = source { rank } else { 0 };
        Status { source, tag, length_bytes }
    }
}

/// A send that was started.
struct Sent;

/// A receive that was started.
struct Received<'env>(Status, &'env mut [u8]);

impl Pending<Recording> for Sent {
    type Out = ();

    fn poll(&mut self, _t: &Recording) -> bool {
        panic!("no script knows when a request that is polled ends")
    }

    fn finish(self, t: &Recording) -> Result<()> {
        t.write(|script| script.wait_send());
        Ok(())
    }
}

impl<'env> Pending<Recording> for Received<'env> {
    type Out = (Status, &'env mut [u8]);

    fn poll(&mut self, _t: &Recording) -> bool {
        panic!("no script knows when a request that is polled ends")
    }

    fn finish(self, t: &Recording) -> Result<Self::Out> {
        t.write(|script| script.wait_recv());
        Ok((self.0, self.1))
    }
}

impl RawTransport for Recording {
    type SendOp<'env> = Sent;
    type RecvOp<'env> = Received<'env>;

    fn start_send(&self, _: Lease<Self>, to: Rank, tag: Tag, message: &[u8]) -> Result<Sent> {
        self.write(|script| script.unblocked_send(to, tag.value(), message.len() as u64));
        Ok(Sent)
    }

    fn start_recv<'env>(
        &self,
        _: Lease<Self>,
        source: Source,
        tag: Tag,
        place: Place<'env>,
    ) -> Result<Received<'env>> {
        self.write(|script| script.unblocked_recv(source, tag.value()));
        Ok(Received(Self::status(source, tag, place.length_bytes()), place.into_buffer()))
    }

    fn fail_job(&self, reason: &str) -> ! {
        panic!("{reason}")
    }
}

impl Transport for Recording {
    type Buffer = LocalBuffer;

    fn rank(&self) -> Rank {
        self.rank
    }

    fn n_ranks(&self) -> usize {
        self.bench.topology.n_ranks()
    }

    fn split(&self, _colour: Option<u32>, _key: u64) -> Result<Option<Self>> {
        panic!("no script has parts of the ranks")
    }

    fn global_rank(&self, rank: Rank) -> Rank {
        rank
    }

    fn now_ns(&self) -> u64 {
        self.steps.borrow_mut().push(Step::Read);
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
        panic!("a kernel that goes on as it finds messages needs a script of its own")
    }

    fn blocked_send(&self, to: Rank, tag: Tag, message: &[u8]) -> Result<()> {
        self.write(|script| script.send(to, tag.value(), message.len() as u64));
        Ok(())
    }

    fn blocked_recv(&self, source: Source, tag: Tag, buffer: &mut [u8]) -> Result<Status> {
        self.write(|script| script.recv(source, tag.value()));
        Ok(Self::status(source, tag, buffer.len()))
    }

    fn blocked_exchange(
        &self,
        to: Rank,
        message: &[u8],
        source: Source,
        buffer: &mut [u8],
        tag: Tag,
    ) -> Result<Status> {
        self.write(|script| script.exchange(to, source, tag.value(), message.len() as u64));
        Ok(Self::status(source, tag, buffer.len()))
    }

    fn barrier(&self) -> Result<()> {
        self.write(|script| script.barrier());
        Ok(())
    }

    fn blocked_broadcast(&self, _root: Rank, message: &mut [u8]) -> Result<()> {
        self.write(|script| script.broadcast(message.len() as u64));
        Ok(())
    }

    fn global_sum_vector(&self, values: &mut [f64]) -> Result<()> {
        self.write(|script| script.global_sum(values.len() as u64));
        Ok(())
    }

    fn compute(&self, work: Work, _body: impl FnOnce()) {
        self.write(|script| script.work(work));
    }
}
