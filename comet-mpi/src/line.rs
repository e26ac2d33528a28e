//! Two cache lines that ranks 0 and 1 share beside MPI, where they run on one machine: their time
//! tells how far apart the cores are.
//!
//! ```text
//!   rank 0   CPUs ──►◄── CPUs   makes the memory ── name ──►                    removes the name
//!   rank 1                                                 opens it ── done ──►
//! ```
//!
//! They are shared memory of the system and no window of MPI, which would start parts of a library
//! that a program without one-sided messages does not have.

use std::os::fd::OwnedFd;
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use comet_core::error::Result;
use comet_core::placement::Lines;
use comet_core::transport::{Rank, Source, Tag};
use nix::fcntl::OFlag;
use nix::sched::{CpuSet, sched_getaffinity};
use nix::sys::mman::{shm_open, shm_unlink};
use nix::sys::stat::Mode;
use nix::time::{ClockId, clock_gettime};
use nix::unistd::{Pid, ftruncate};

use crate::native::{self, Comm, Outcome};

/// The most CPUs of a machine that are told apart.
const N_CPUS: usize = 1024;
/// A bit for each CPU.
type Cpus = [u8; N_CPUS / 8];

/// Tag of the messages by which ranks 0 and 1 agree.
const AGREEING: Tag = Tag::new(1);

/// The memory of both ranks. Zeroed memory is that before the first round trip.
#[derive(Debug, Default)]
pub(crate) struct Shared([Line; 2]);

/// The line of one rank, with its neighbour: processors fetch two at a time.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Line(AtomicU64);

/// The lines as rank 0 or 1 has them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pair {
    shared: &'static Shared,
    rank: Rank,
}

impl Pair {
    /// Shares the lines of a job of `n_ranks` on one machine; ranks 0 and 1 both call it. `None` if
    /// they have no core each, or no memory in common, as in two containers.
    pub(crate) fn share(comm: &Comm, rank: Rank, n_ranks: usize) -> Outcome<Option<Self>> {
        let peer = 1 - rank;
        let (own, mut peers) = (cpus(), [0; N_CPUS / 8]);
        comm.exchange((&own, peer), (&mut peers, Source::Rank(peer)), AGREEING)
            .map_err(|(failure, _)| failure)?;
        if !have_core_each(&own, &peers, n_ranks) {
            return Ok(None);
        }
        let shared = if rank == 0 { offer(comm)? } else { take(comm)? };
        Ok(shared.map(|shared| Self { shared, rank }))
    }

    /// The other rank of the two.
    pub(crate) fn peer(self) -> Rank {
        1 - self.rank
    }

    /// The lines, with `pause` between two looks of a long wait.
    pub(crate) fn lines(self, pause: impl Fn() -> Result<()>) -> impl Lines {
        Player { pair: self, pause }
    }
}

/// The CPUs on which this process may run, a bit each; none where the system does not tell.
fn cpus() -> Cpus {
    let set = sched_getaffinity(Pid::from_raw(0)).unwrap_or_default();
    let mut cpus = [0; N_CPUS / 8];
    for cpu in (0..CpuSet::count().min(N_CPUS)).filter(|cpu| set.is_set(*cpu) == Ok(true)) {
        cpus[cpu / 8] |= 1 << (cpu % 8);
    }
    cpus
}

/// True if ranks with these CPUs have no common one, or as many as the job has ranks.
fn have_core_each(own: &Cpus, peers: &Cpus, n_ranks: usize) -> bool {
    let both = || own.iter().zip(peers);
    let n_cpus: u32 = both().map(|(own, peers)| (own | peers).count_ones()).sum();
    let are_apart = both().all(|(own, peers)| own & peers == 0) && n_cpus > 1;
    are_apart || n_cpus as usize >= n_ranks
}

/// Makes the memory on rank 0, until rank 1 has it or cannot.
fn offer(comm: &Comm) -> Outcome<Option<&'static Shared>> {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).ok();
    let nanos = now.and_then(|now| u32::try_from(now.tv_nsec()).ok()).unwrap_or(0);
    let name = [process::id().to_le_bytes(), nanos.to_le_bytes()].concat();
    let shared = open(&name, OFlag::O_CREAT | OFlag::O_EXCL).ok();
    comm.send(if shared.is_some() { &name } else { &[0; 8] }, 1, AGREEING)?;
    let mut is_taken = [0];
    receive(comm, &mut is_taken, 1)?;
    // It stays as long as it is mapped.
    let _ = shm_unlink(&*path(&name));
    Ok(shared.filter(|_| is_taken == [1]))
}

/// Opens the memory on rank 1.
fn take(comm: &Comm) -> Outcome<Option<&'static Shared>> {
    let mut name = [0; 8];
    receive(comm, &mut name, 0)?;
    let shared = open(&name, OFlag::empty()).ok();
    comm.send(&[u8::from(shared.is_some())], 0, AGREEING)?;
    Ok(shared)
}

/// Maps the memory of this name.
fn open(name: &[u8], how: OFlag) -> nix::Result<&'static Shared> {
    let file: OwnedFd = shm_open(&*path(name), how | OFlag::O_RDWR, Mode::S_IRUSR | Mode::S_IWUSR)?;
    let length = i64::try_from(size_of::<Shared>()).expect("two lines are short");
    ftruncate(&file, length)?;
    native::shared_lines(&file)
}

fn path(name: &[u8]) -> String {
    let digits: String = name.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("/comet-line-{digits}")
}

fn receive(comm: &Comm, buffer: &mut [u8], from: Rank) -> Outcome {
    comm.recv(buffer, Source::Rank(from), AGREEING).map(drop).map_err(|(failure, _)| failure)
}

/// One of the two ranks that pass a line to and fro.
struct Player<F> {
    pair: Pair,
    pause: F,
}

impl<F> Player<F> {
    #[inline]
    fn line(&self, rank: Rank) -> &AtomicU64 {
        &self.pair.shared.0[rank].0
    }
}

impl<F: Fn() -> Result<()>> Lines for Player<F> {
    fn own(&self) -> u64 {
        // Relaxed: only this rank writes its line.
        self.line(self.pair.rank).load(Ordering::Relaxed)
    }

    #[inline]
    fn publish(&self, number: u64) {
        // Relaxed: pairs with the load in `has_come`; the number is all there is to see.
        self.line(self.pair.rank).store(number, Ordering::Relaxed);
    }

    #[inline]
    fn has_come(&self, number: u64) -> bool {
        // Relaxed: pairs with the store in `publish`; no other data follows from the number.
        self.line(self.pair.peer()).load(Ordering::Relaxed) == number
    }

    #[cold]
    fn await_slowly(&self, number: u64) -> Result<()> {
        while !self.has_come(number) {
            (self.pause)()?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_have_a_core_each_if_they_share_none_or_there_are_enough() {
        let cpus = |bits: u8| {
            let mut cpus = [0; N_CPUS / 8];
            cpus[0] = bits;
            cpus
        };
        let check = |own, peers, n_ranks, expected| {
            assert_eq!(have_core_each(&cpus(own), &cpus(peers), n_ranks), expected);
        };
        check(0b01, 0b10, 8, true);
        check(0b11, 0b11, 2, true);
        check(0b11, 0b11, 3, false);
        check(0b01, 0b01, 2, false);
        check(0, 0, 2, false);
    }
}
