//! The suite `skampi`: the patterns of SKaMPI (paper, section 3) by the calls that it names.

mod commit;
mod communicator;
mod completion;
mod compound;
mod delayed;
mod local;
mod master;
mod master_worker;
mod one_sided;
mod pack;
mod pingpong;

use comet_core::kernel::prelude::*;
use comet_core::transport::Work;

use crate::Suite;
use commit::Commit;
use communicator::Communicator;
use completion::{Completion, WaitAny, WaitSome};
use compound::Compound;
use delayed::Delayed;
use local::Local;
use master_worker::MasterWorker;
use one_sided::OneSided;
use pack::Pack;
use pingpong::{
    Bsend, Iprobe, Irecv, Isend, Issend, PingPong, Plain, RecvAnyTag, Replaced, Rsend, Sendrecv,
    Ssend,
};

/// The kernels of the suite.
pub fn kernels<T: Transport>() -> Suite<T> {
    const {
        timed![
            PingPong(Plain),
            PingPong(RecvAnyTag),
            PingPong(Irecv),
            PingPong(Iprobe),
            PingPong(Ssend),
            PingPong(Isend),
            PingPong(Bsend),
            PingPong(Sendrecv),
            Replaced,
            PingPong(Issend),
            PingPong(Rsend),
            Completion(WaitAny),
            Completion(WaitSome),
            MasterWorker(WaitSome),
            MasterWorker(WaitAny),
            MasterWorker(master_worker::RecvAny),
            MasterWorker(master_worker::Ssend),
            MasterWorker(master_worker::Isend),
            MasterWorker(master_worker::Bsend),
            Compound(compound::ReduceBcast),
            Compound(compound::ReduceScatterv),
            Compound(compound::Gather::<false>),
            Compound(compound::Gather::<true>),
            Delayed::<0 | 1>,
            Local(local::Wtime),
            Local(local::Asks::<false>),
            Local(local::Asks::<true>),
            Local(local::Iprobe),
            Local(local::BufferAttach),
            Commit,
            Pack,
            Communicator::<false>,
            Communicator::<true>,
            OneSided::<0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 | 12 | 13 | 14 | 15 | 16>,
        ]
    }
}

/// Copies `from` to `to`, which is as long.
#[inline]
fn copy<T: Transport>(t: &T, from: &[u8], to: &mut [u8]) {
    t.compute(Work::copy(from.len()), || to.copy_from_slice(from));
}

/// Facts that all kernels of the suite share.
const SUITE: KernelInfo = KernelInfo::pair("skampi");
