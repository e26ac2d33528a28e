//! Two cache lines that ranks 0 and 1 share beside MPI, where all ranks run on one machine: their
//! time tells how far apart the cores are.
//!
//! ```text
//!   rank 0   makes the memory ── name ──►                    removes the name
//!   rank 1                              opens it ── done ──►
//! ```
//!
//! They are shared memory of the system and no window of MPI, which would start parts of a library
//! that a program without one-sided messages does not have.

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
use nix::unistd::Pid;

use crate::native::{self, Comm, Outcome};

/// The most CPUs of a machine that are told apart.
const N_CPUS: usize = 1024;
/// Number of ranks that may run on each CPU.
type Cpus = [f64; N_CPUS];

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
    /// Shares the lines of a job of several ranks on one machine; all of them call it. `None` if rank
    /// 0 or 1 has no core of its own, if they have no memory in common, as in two containers, and on
    /// all other ranks.
    pub(crate) fn share(comm: &Comm, rank: Rank) -> Outcome<Option<Self>> {
        let own = cpus();
        let mut of_all = own;
        comm.sum(&mut of_all)?;
        let has_core = has_core(&own, &of_all);
        let shared = match rank {
            0 => offer(comm, has_core)?,
            1 => take(comm, has_core)?,
            _ => None,
        };
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

/// The CPUs on which this process may run; none where the system does not tell.
fn cpus() -> Cpus {
    let set = sched_getaffinity(Pid::from_raw(0)).unwrap_or_default();
    let mut cpus = [0.0; N_CPUS];
    for cpu in (0..CpuSet::count().min(N_CPUS)).filter(|cpu| set.is_set(*cpu) == Ok(true)) {
        cpus[cpu] = 1.0;
    }
    cpus
}

/// True if a rank with the CPUs `own` shares them with no more ranks than they are, of those that
/// run on the CPUs `of_all`.
fn has_core(own: &Cpus, of_all: &Cpus) -> bool {
    let n_cpus: f64 = own.iter().sum();
    let n_ranks = own.iter().zip(of_all).map(|(own, of_all)| own * of_all).fold(0.0, f64::max);
    n_cpus > 0.0 && n_ranks <= n_cpus
}

/// Makes the memory on rank 0, until rank 1 has it or cannot.
fn offer(comm: &Comm, has_core: bool) -> Outcome<Option<&'static Shared>> {
    let made = if has_core { make().ok() } else { None };
    comm.send(made.as_ref().map_or(&[], |(name, _)| &name.0), 1, AGREEING)?;
    let mut is_taken = [0];
    receive(comm, &mut is_taken, 1)?;
    Ok(made.map(|(_, shared)| shared).filter(|_| is_taken == [1]))
}

/// Opens the memory on rank 1, if rank 0 has made it.
fn take(comm: &Comm, has_core: bool) -> Outcome<Option<&'static Shared>> {
    let mut name = [0; 8];
    let is_made = receive(comm, &mut name, 0)? == name.len();
    let shared = if is_made && has_core { open(&path(&name), OFlag::empty()).ok() } else { None };
    comm.send(&[u8::from(shared.is_some())], 0, AGREEING)?;
    Ok(shared)
}

/// The name of shared memory that this process has made, which is removed with it; the memory stays
/// as long as it is mapped.
struct Name([u8; 8]);

impl Drop for Name {
    fn drop(&mut self) {
        let _ = shm_unlink(&*path(&self.0));
    }
}

fn make() -> nix::Result<(Name, &'static Shared)> {
    let nanos = clock_gettime(ClockId::CLOCK_MONOTONIC)?.tv_nsec();
    let name = (u64::from(process::id()) << 32 | nanos.unsigned_abs()).to_le_bytes();
    let shared = open(&path(&name), OFlag::O_CREAT | OFlag::O_EXCL)?;
    Ok((Name(name), shared))
}

/// Maps the memory at `path`.
fn open(path: &str, how: OFlag) -> nix::Result<&'static Shared> {
    let file = shm_open(path, how | OFlag::O_RDWR, Mode::S_IRUSR | Mode::S_IWUSR)?;
    native::shared_lines(file)
}

fn path(name: &[u8; 8]) -> String {
    format!("/comet-line-{:016x}", u64::from_le_bytes(*name))
}

/// Receives a message; returns its length in bytes.
fn receive(comm: &Comm, buffer: &mut [u8], from: Rank) -> Outcome<usize> {
    let arrived = comm.recv(buffer, Source::Rank(from), AGREEING);
    arrived.map(|status| status.length_bytes).map_err(|(failure, _)| failure)
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
    use comet_core::placement::line_time_ns;

    #[test]
    fn a_rank_has_a_core_if_as_many_as_its_cpus_share_them() {
        let cpus = |n_ranks: [f64; 3]| {
            let mut cpus = [0.0; N_CPUS];
            cpus[..3].copy_from_slice(&n_ranks);
            cpus
        };
        let check = |own, of_all, expected| {
            assert_eq!(has_core(&cpus(own), &cpus(of_all)), expected, "{own:?} {of_all:?}");
        };
        // Bound to one of three, alone or beside ranks on the same one.
        check([1.0, 0.0, 0.0], [1.0, 1.0, 1.0], true);
        check([1.0, 0.0, 0.0], [1.0, 4.0, 4.0], true);
        check([1.0, 0.0, 0.0], [4.0, 4.0, 0.0], false);
        check([1.0, 0.0, 0.0], [2.0, 0.0, 0.0], false);
        // Free on two of them, beside one other rank or two.
        check([1.0, 1.0, 0.0], [2.0, 2.0, 0.0], true);
        check([1.0, 1.0, 0.0], [3.0, 3.0, 0.0], false);
        // The system does not tell.
        check([0.0, 0.0, 0.0], [1.0, 0.0, 0.0], false);
    }

    #[test]
    fn two_ranks_time_the_lines_that_they_share() {
        let shared: &'static Shared = Box::leak(Box::default());
        let start = std::time::Instant::now();
        let time_ns = |rank| {
            let pause = || {
                std::thread::yield_now();
                Ok(())
            };
            let now_ns = || u64::try_from(start.elapsed().as_nanos()).unwrap();
            line_time_ns(rank, &Pair { shared, rank }.lines(pause), now_ns).unwrap()
        };
        let times_ns = std::thread::scope(|threads| {
            let peer = threads.spawn(|| time_ns(1));
            [time_ns(0), peer.join().unwrap()]
        });
        assert!(times_ns.iter().all(|ns| *ns > 0.0), "{times_ns:?}");
        let n_round_trips = shared.0.each_ref().map(|line| line.0.load(Ordering::Relaxed));
        assert!(n_round_trips[0] > 0 && n_round_trips[0] == n_round_trips[1], "{n_round_trips:?}");
    }

    #[test]
    fn memory_is_shared_under_a_name_that_goes() {
        let (name, own) = make().unwrap();
        let path = path(&name.0);
        let peers = open(&path, OFlag::empty()).unwrap();
        own.0[0].0.store(7, Ordering::Relaxed);
        assert_eq!(peers.0[0].0.load(Ordering::Relaxed), 7);
        drop(name);
        assert!(open(&path, OFlag::empty()).is_err());
    }
}
