//! Ranks as processes of one machine that exchange messages through shared memory.
//!
//! ```text
//!   launch ── forks ──► rank 0 … rank n-1, each a Shm over one anonymous segment
//!      │                   rings for messages, one for each direction of each pair
//!      │                   lines and pieces for collectives
//!      │                   heaps for message buffers
//!      └── watches: a rank that dies ends the job, and nothing is left behind
//! ```
//!
//! Protocols by length: a message that answers another goes into a slot, up to 64 KiB. Others take
//! one line up to 48 bytes and a run of lines up to 512; above that the message is lent, and copied
//! once from where it lies: by the receiver, from 32 KiB on together with the sender. Buffers that [`Transport::message_buffer`](comet_core::transport::Transport::message_buffer)
//! made are in memory that all ranks share. Private memory is reached through the kernel, from
//! 16 KiB on; shorter messages, and all where the system forbids it, go through chunks of a payload
//! ring. A blocked send of a lent message returns when the receiver has copied it, which it also
//! does when it waits for something else; all others return when the data is in the ring or on its
//! way there.
//!
//! A synchronous send leaves its message where others reach it, in a copy if need be, until its receive has
//! copied it and has written a receipt. A buffered one is over once the message is in the ring, or in a copy
//! of its own, and a ready one is a standard send: the queues of a receiver are its own, and whether a
//! receive is posted no sender can tell.
//!
//! Windows lie in the heaps: a transfer is a copy by its origin, which the target has no part in, and
//! epochs are words in front of each part.
//!
//! Unsafe code is here for a reason each time: memory that other processes write, buffers that
//! operations in flight use, and system calls.
#![expect(unsafe_code, reason = "memory shared between processes has no safe interface")]

mod collective;
mod engine;
mod failure;
mod file;
mod futex;
mod head;
mod heap;
mod inbox;
mod launch;
mod layout;
#[cfg(loom)]
mod models;
mod outbox;
mod placement;
mod receipt;
mod remote_copy;
mod rendezvous;
mod reply_slot;
mod ring;
#[cfg(not(loom))]
mod segment;
mod sync;
mod transport;
mod wait;
mod window;

#[cfg(loom)]
use models::segment;

pub use file::ShmFile;
pub use heap::ShmBuffer;
pub use launch::{
    Bind, LaunchConfig, LaunchError, MAX_RANKS, Outcome, bind_to_this_process, describe,
    is_ignored, launch, usable_cores, usable_cpus,
};
pub use transport::{Shm, ShmRecv, ShmSend};
pub use window::ShmWindow;
