//! Master and workers: time in which a master hands the pieces of a vector out to whichever
//! worker is free, and gets all of them back.
//!
//! **Source**: SKaMPI (R. Reussner, P. Sanders, J. L. Traff), section 3.1, types 10 to 16;
//! MPI-4.1 sections 3.4 (modes), 3.5 (any source) and 3.7.5 (completion of several requests).
//!
//! **Pattern**, with C chunks of X / C bytes and the number of the type
//! ```text
//!   rank 0, the master  --chunk-->  each other rank, a worker     the next chunk goes to the
//!                       <--chunk--                                worker that returned one
//!                       --empty-->                                once there is none left
//!
//!   master_worker_waitsome    10   Irecv for each chunk, Send; Waitsome
//!   master_worker_waitany     11   Irecv for each chunk, Send; Waitany
//!   master_worker_recv_any    12   Send; Recv of any source, copy to its place
//!                             13   the same, as blocked Send
//!   master_worker_ssend       14   Ssend; Recv of any source, copy
//!   master_worker_isend       15   Isend; Recv of any source, copy; Waitall at the end
//!   master_worker_bsend       16   Bsend; Recv of any source, copy
//! ```
//! **Timed** (rank 0): all chunks out and back, and the empty messages, which end the work.
//! Workers return a chunk as it came, by a send of the same mode. Buffers, test data, memory of
//! requests and room of buffered sends are made before.
//!
//! **Reports**: time on the master.
//!
//! **Rate**: 2 x `length_bytes` / time, of both directions.
//!
//! **Parameters**: `chunks`, which is C: as many pieces as even as they can be; `length_bytes` of
//! the vector, at least one byte for each chunk.
//!
//! **Verified by**: the vector that came back, which was spoiled before; length and source of
//! every chunk, each of which comes back once and from the worker that has it; before and
//! after the measurement also the number of chunks that each worker says it had.
//!
//! **Caution**: a receive of any source does not know the place of its chunk, so that the copy is
//! a part of these forms; receives for each chunk have places of their own. A wait looks at the
//! receives of all chunks that were handed out. A master with one worker is a ping-pong. Times of
//! one form do not say which worker had how many chunks: the fastest has the most. The empty
//! messages of an operation may arrive while the next one begins.

use std::marker::PhantomData;

use comet_core::kernel::prelude::*;
use comet_core::transport::SendMode;
use comet_core::words::count;

use super::completion::{WaitAny, WaitSome};
use super::master::{Master, Pieces, Tags};

/// One of the kernels, by its calls; see the [module](self).
pub(crate) struct MasterWorker<F>(pub(crate) F);

/// Number of pieces of a vector.
static CHUNKS: Axis = Axis::count("chunks", "chunks", "pieces of a vector that a master hands out");

/// The pieces of the vector of `case`.
fn pieces_of(case: &Case) -> Pieces {
    Pieces { length: case.length(&LENGTH_BYTES), n: case.length(&CHUNKS) }
}

/// Messages from one rank to another for which a buffered send finds room, as the library may see it.
const N_BUFFERED: usize = 4;

/// A rank that returns what it gets.
pub(crate) struct Worker<T: Transport> {
    master: Rank,
    tags: Tags,
    chunk: T::Buffer,
    /// Chunks of the last operation.
    n_chunks: u64,
}

impl<T: Transport> Worker<T> {
    /// Returns chunks by sends of the form `F`, until an empty message comes.
    #[inline]
    fn serve<F: Form>(&mut self, t: &T) -> Result<()> {
        let Self { master, tags, chunk, n_chunks } = self;
        *n_chunks = 0;
        loop {
            let status = t.blocked_recv(Source::Rank(*master), tags.out, chunk)?;
            if status.length_bytes == 0 {
                return Ok(());
            }
            *n_chunks += 1;
            let answer = &chunk[..status.length_bytes];
            if F::IS_UNBLOCKED {
                t.scope(|s| s.unblocked_send_in(F::MODE, *master, tags.back, answer)?.wait())?;
            } else {
                t.blocked_send_in(F::MODE, *master, tags.back, answer)?;
            }
        }
    }
}

/// One rank.
enum Side<T: Transport> {
    Master(Box<Master<T>>),
    Worker(Worker<T>),
}

/// The part of one rank by calls of the form `F`.
pub(crate) struct Hand<T: Transport, F> {
    side: Side<T>,
    form: PhantomData<F>,
}

impl<T: Transport, F: Form> Operation<T> for Hand<T, F> {
    fn fill(&mut self, seeds: Seeds) {
        match &mut self.side {
            Side::Master(master) => master.fill(seeds),
            Side::Worker(worker) => pattern::spoil(&mut worker.chunk, seeds.of(0, worker.master)),
        }
    }

    #[inline]
    fn run(&mut self, t: &T) -> Result<()> {
        match &mut self.side {
            Side::Master(master) => F::collect(master, t),
            Side::Worker(worker) => worker.serve::<F>(t),
        }
    }

    fn check(&mut self, check: &mut Checker) {
        if let Side::Master(master) = &mut self.side {
            master.check(check);
        }
    }

    /// One run, after which the workers say how many chunks they had.
    fn verify(&mut self, t: &T, check: &mut Checker) -> Result<()> {
        Operation::<T>::fill(self, check.seeds());
        self.run(t)?;
        match &mut self.side {
            Side::Master(master) => master.hear(t)?,
            Side::Worker(Worker { master, tags, n_chunks, .. }) => {
                t.blocked_send(*master, tags.claim, &n_chunks.to_le_bytes())?;
            }
        }
        Operation::<T>::check(self, check);
        if let Side::Master(master) = &mut self.side {
            master.check_claims(check);
        }
        Ok(())
    }

    fn close(&mut self, t: &T) -> Result<()> {
        if F::MODE == SendMode::Buffered { t.detach_buffer() } else { Ok(()) }
    }
}

impl<T: Transport, F: Form> Pattern<T> for MasterWorker<F> {
    const INFO: KernelInfo = KernelInfo {
        name: F::NAME,
        file: include_str!("master_worker.rs"),
        summary: F::SUMMARY,
        aliases: F::ALIASES,
        timing: Timing::Batched,
        axes: &[
            AxisUse::of(&CHUNKS, "16"),
            AxisUse { axis: &LENGTH_BYTES, sweeps: ["64,64Ki", "64..4Mi*4", "64..4Mi*2"] },
        ],
        series: &[Series::on_test_node("master")
            .moving(|case, _| Some(case.value(&LENGTH_BYTES).saturating_mul(2)))],
        admits: |case, world| {
            world.require_ranks(2)?;
            admit_chunks(case)
        },
        bytes_per_rank: |case, world| {
            let chunk = case.value(&LENGTH_BYTES).div_ceil(case.value(&CHUNKS).max(1));
            let n_buffered = (N_BUFFERED * world.n_ranks) as u64;
            let n_more = if F::MODE == SendMode::Buffered { n_buffered + 1 } else { 1 };
            let vectors = case.value(&LENGTH_BYTES).saturating_mul(2);
            vectors.saturating_add(chunk.saturating_mul(n_more))
        },
        messages_per_op: |case, world| {
            case.value(&CHUNKS).saturating_mul(2).saturating_add(world.n_ranks as u64)
        },
        ..KernelInfo::collective("skampi")
    };
    type Part = Hand<T, F>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        let (t, pieces, master) = (cx.transport(), pieces_of(case), cx.root());
        let tags = Tags { out: cx.tag(0), back: cx.tag(1), claim: cx.tag(2) };
        let is_master = cx.rank() == master;
        if F::MODE == SendMode::Buffered {
            let n_peers = if is_master { t.n_ranks() - 1 } else { 1 };
            t.attach_buffer(N_BUFFERED * n_peers, pieces.longest())?;
        }
        let side = if is_master {
            Side::Master(Box::new(Master::new(cx, pieces, tags)?))
        } else {
            let chunk = cx.message(pieces.longest())?;
            Side::Worker(Worker { master, tags, chunk, n_chunks: 0 })
        };
        Ok(Some((Duty::Together, Hand { side, form: PhantomData })))
    }
}

/// Refuses chunks without a byte, which no message tells from the end of the work.
fn admit_chunks(case: &Case) -> Result<(), String> {
    let (length, n) = (case.value(&LENGTH_BYTES), case.value(&CHUNKS));
    if n == 0 {
        return Err("0 chunks are no work (use 1 chunk or more)".into());
    }
    if length < n {
        let (bytes, chunks) = (count(length, "byte"), count(n, "chunk"));
        return Err(format!("{bytes} make no {chunks} (use a vector of {n} bytes or more)"));
    }
    Ok(())
}

/// Calls of one form.
pub(crate) trait Form: Sync + 'static {
    /// Name of the kernel.
    const NAME: &'static str;
    /// Its summary.
    const SUMMARY: &'static str;
    /// Its names in SKaMPI: the numbers of its types.
    const ALIASES: &'static [&'static str];
    /// Mode of the sends of chunks, both ways.
    const MODE: SendMode = SendMode::Standard;
    /// True if these sends are unblocked.
    const IS_UNBLOCKED: bool = false;

    /// The calls of the master.
    #[inline]
    fn collect<T: Transport>(master: &mut Master<T>, t: &T) -> Result<()>
    where
        Self: Sized,
    {
        master.receive_any::<Self>(t)
    }
}

/// Blocked sends, receives of any source.
pub(crate) struct RecvAny;

impl Form for RecvAny {
    const NAME: &'static str = "master_worker_recv_any";
    const SUMMARY: &'static str =
        "Chunks out by blocked sends and back from whichever worker answers";
    const ALIASES: &'static [&'static str] = &["SKaMPI:12", "SKaMPI:13"];
}

/// Synchronous sends.
pub(crate) struct Ssend;

impl Form for Ssend {
    const NAME: &'static str = "master_worker_ssend";
    const SUMMARY: &'static str = "Chunks out and back by synchronous sends";
    const ALIASES: &'static [&'static str] = &["SKaMPI:14"];
    const MODE: SendMode = SendMode::Synchronous;
}

/// Unblocked sends, which the master waits for at the end.
pub(crate) struct Isend;

impl Form for Isend {
    const NAME: &'static str = "master_worker_isend";
    const SUMMARY: &'static str = "Chunks out and back by unblocked sends";
    const ALIASES: &'static [&'static str] = &["SKaMPI:15"];
    const IS_UNBLOCKED: bool = true;
}

/// Buffered sends.
pub(crate) struct Bsend;

impl Form for Bsend {
    const NAME: &'static str = "master_worker_bsend";
    const SUMMARY: &'static str = "Chunks out and back by buffered sends";
    const ALIASES: &'static [&'static str] = &["SKaMPI:16"];
    const MODE: SendMode = SendMode::Buffered;
}

impl Form for WaitSome {
    const NAME: &'static str = "master_worker_waitsome";
    const SUMMARY: &'static str =
        "Chunks out and back into places, waited for as some of those out";
    const ALIASES: &'static [&'static str] = &["SKaMPI:10"];

    #[inline]
    fn collect<T: Transport>(master: &mut Master<T>, t: &T) -> Result<()> {
        master.receive_placed::<Self>(t)
    }
}

impl Form for WaitAny {
    const NAME: &'static str = "master_worker_waitany";
    const SUMMARY: &'static str = "Chunks out and back into places, waited for as any of those out";
    const ALIASES: &'static [&'static str] = &["SKaMPI:11"];

    #[inline]
    fn collect<T: Transport>(master: &mut Master<T>, t: &T) -> Result<()> {
        master.receive_placed::<Self>(t)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use comet_core::topology::Topology;

    #[test]
    fn chunks_without_a_byte_are_refused() {
        let check = |n_ranks, values: &[u64], expected: Result<(), &str>| {
            let info = crate::tests::kernel("skampi/master_worker_waitany").info();
            let topology = Topology::hypercube(n_ranks);
            let found = (info.admits)(&Case::new(info, values), &World::of(&topology));
            assert_eq!(found, expected.map_err(str::to_owned), "{values:?}");
        };
        check(4, &[4, 4], Ok(()));
        check(1, &[1, 8], Err("needs at least 2 ranks, there is 1 (ask for -n 2)"));
        check(2, &[0, 8], Err("0 chunks are no work (use 1 chunk or more)"));
        let short = "3 bytes make no 4 chunks (use a vector of 4 bytes or more)";
        check(2, &[4, 3], Err(short));
    }
}
