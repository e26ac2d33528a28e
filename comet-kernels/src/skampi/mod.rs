//! The suite `skampi`: the patterns of SKaMPI (paper, section 3) by the calls that it names.

mod completion;
mod pingpong;

use comet_core::kernel::prelude::*;

use crate::Suite;
use completion::{Completion, WaitAny, WaitSome};
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
        ]
    }
}

/// Facts that all kernels of the suite share.
const SUITE: KernelInfo = KernelInfo::pair("skampi");
