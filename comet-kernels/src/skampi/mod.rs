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
        &[
            &Timed(PingPong(Plain)),
            &Timed(PingPong(RecvAnyTag)),
            &Timed(PingPong(Irecv)),
            &Timed(PingPong(Iprobe)),
            &Timed(PingPong(Ssend)),
            &Timed(PingPong(Isend)),
            &Timed(PingPong(Bsend)),
            &Timed(PingPong(Sendrecv)),
            &Timed(Replaced),
            &Timed(PingPong(Issend)),
            &Timed(PingPong(Rsend)),
            &Timed(Completion(WaitAny)),
            &Timed(Completion(WaitSome)),
            &Timed(MasterWorker(WaitSome)),
            &Timed(MasterWorker(WaitAny)),
            &Timed(MasterWorker(master_worker::RecvAny)),
            &Timed(MasterWorker(master_worker::Ssend)),
            &Timed(MasterWorker(master_worker::Isend)),
            &Timed(MasterWorker(master_worker::Bsend)),
            &Timed(Compound(compound::ReduceBcast)),
            &Timed(Compound(compound::ReduceScatterv)),
            &Timed(Compound(compound::Gather::<false>)),
            &Timed(Compound(compound::Gather::<true>)),
            &Timed(Delayed::<0>),
            &Timed(Delayed::<1>),
            &Timed(Local(local::Wtime)),
            &Timed(Local(local::Asks::<false>)),
            &Timed(Local(local::Asks::<true>)),
            &Timed(Local(local::Iprobe)),
            &Timed(Local(local::BufferAttach)),
            &Timed(Commit),
            &Timed(Pack),
            &Timed(Communicator::<false>),
            &Timed(Communicator::<true>),
            &Timed(OneSided::<0>),
            &Timed(OneSided::<1>),
            &Timed(OneSided::<2>),
            &Timed(OneSided::<3>),
            &Timed(OneSided::<4>),
            &Timed(OneSided::<5>),
            &Timed(OneSided::<6>),
            &Timed(OneSided::<7>),
            &Timed(OneSided::<8>),
            &Timed(OneSided::<9>),
            &Timed(OneSided::<10>),
            &Timed(OneSided::<11>),
            &Timed(OneSided::<12>),
            &Timed(OneSided::<13>),
            &Timed(OneSided::<14>),
            &Timed(OneSided::<15>),
            &Timed(OneSided::<16>),
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
