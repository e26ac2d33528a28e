//! The guard as a process: the page that it shares with its rank, its fork, and the signals
//! between the two; and the page that two ranks share.

use std::ffi::c_int;
use std::fs::{self, File};
use std::io;
use std::mem::MaybeUninit;
use std::num::NonZeroUsize;
use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::thread;
use std::time::Duration;

use comet_core::job::ProcessState;
use nix::fcntl::posix_fallocate;
use nix::libc;
use nix::sys::mman::{MapFlags, ProtFlags, mmap, mmap_anonymous};
use nix::sys::prctl;
use nix::sys::signal::{SigHandler, SigSet, SigmaskHow, Signal, kill, signal};
use nix::sys::wait::waitpid;
use nix::unistd::{
    ForkResult, Pid, alarm, dup2_stderr, dup2_stdin, dup2_stdout, getpid, getppid, setsid,
};
use signal_hook::low_level::register;

use super::exit_now;
use crate::line::Shared;
use crate::vitals::{Pages, Vitals};

/// Signals that ask a job to end, where its program catches them.
const ENDING: [Signal; 6] = [
    Signal::SIGINT,
    Signal::SIGTERM,
    Signal::SIGHUP,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
    Signal::SIGXCPU,
];
/// A further signal that people send to all processes of a group. None of these is for a guard,
/// which ends with its rank.
const FOREIGN: Signal = Signal::SIGQUIT;
/// Time for a rank to follow a signal of its guard.
const OBEYING: Duration = Duration::from_secs(1);
/// Time between two looks at a rank that is to follow.
const LOOK: Duration = Duration::from_millis(5);
/// Longest time in which a rank holds still without its guard.
const HOLDING: Duration = Duration::from_secs(15);
/// Longest time in seconds for what a guard does at the end; a reader of standard error may be
/// stuck.
const CONCLUDING_S: u32 = 10;

/// The pages of a rank and its guard; they stay as long as either of them.
pub(crate) fn shared_vitals() -> nix::Result<&'static Pages> {
    let length = NonZeroUsize::new(size_of::<Pages>()).expect("notes have a size");
    let access = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
    // SAFETY: a mapping at an address of the system's choice touches no other memory.
    let page = unsafe { mmap_anonymous(None, length, access, MapFlags::MAP_SHARED)? };
    // SAFETY: the mapping is as long as the notes, starts at a page, is never unmapped, and is all
    // zeros, which is a value of the atomic integers that notes are made of. Those may be written
    // by two processes.
    Ok(unsafe { page.cast::<Pages>().as_ref() })
}

/// The lines in the shared memory `file` of two ranks, which is as long as they are from here on.
pub(crate) fn shared_lines(file: OwnedFd) -> nix::Result<&'static Shared> {
    let length = NonZeroUsize::new(size_of::<Shared>()).expect("lines have a size");
    // It has its memory now, or this fails: a store beyond the memory of the system is a signal.
    posix_fallocate(&file, 0, i64::try_from(length.get()).expect("two lines are short"))?;
    let access = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
    // SAFETY: a mapping at an address of the system's choice touches no other memory.
    let page = unsafe { mmap(None, length, access, MapFlags::MAP_SHARED, file, 0)? };
    // SAFETY: the file is as long as the lines; CoMet never cuts it, and its mode keeps other users
    // from it. The mapping starts at a page, is never unmapped, and was all zeros, which is a value of
    // the atomic integers that lines are made of. Those may be written by two processes.
    Ok(unsafe { page.cast::<Shared>().as_ref() })
}

/// Forks the guard of this process, which has one thread; it does `watch` and ends.
pub(crate) fn fork(watch: impl FnOnce(&RankProcess)) -> nix::Result<GuardProcess> {
    let rank = getpid();
    // A signal before the guard ignores it would end the guard.
    let mask = SigSet::all().thread_swap_mask(SigmaskHow::SIG_SETMASK)?;
    // SAFETY: there is one thread, so that no lock is held by another in the copy: the guard may
    // allocate, print and write files. Nothing of MPI is initialised, and no memory registered.
    let forked = unsafe { nix::unistd::fork() };
    if matches!(forked, Ok(ForkResult::Child)) {
        // The frames above are those of the rank, and so not to be unwound.
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            settle(rank);
            watch(&RankProcess(rank));
        }));
        exit_now(u8::from(outcome.is_err()));
    }
    mask.thread_set_mask()?;
    match forked? {
        ForkResult::Parent { child } => Ok(GuardProcess(child)),
        ForkResult::Child => unreachable!("a guard ends above"),
    }
}

/// Makes this process, a copy of `rank`, its guard.
fn settle(rank: Pid) {
    // A rank that has ended before the first call sends no signal.
    if prctl::set_pdeathsig(Signal::SIGKILL).is_err() || getppid() != rank {
        exit_now(0);
    }
    for foreign in ENDING.into_iter().chain([FOREIGN]) {
        // SAFETY: no handler is installed, and none of this process's own is needed any more.
        unsafe { signal(foreign, SigHandler::SigIgn) }.ok();
    }
    // What fails here is a name that nobody sees, and pipes that end with the rank all the same.
    prctl::set_name(c"comet-guard").ok();
    give_up_files().ok();
    SigSet::empty().thread_set_mask().ok();
}

/// Closes all files but standard error: a launcher reads its pipes to their ends, and knows a rank
/// by a socket.
fn give_up_files() -> io::Result<()> {
    let null = File::options().read(true).write(true).open("/dev/null")?;
    dup2_stdin(&null)?;
    dup2_stdout(&null)?;
    drop(null);
    let number = |file: io::Result<fs::DirEntry>| file.ok()?.file_name().to_str()?.parse().ok();
    // The folder is closed before the others are.
    let numbers: Vec<c_int> = fs::read_dir("/proc/self/fd")?.filter_map(number).collect();
    for number in numbers.into_iter().filter(|number| *number > libc::STDERR_FILENO) {
        // SAFETY: what owns the file is a copy of an object of the rank, which this process neither
        // uses nor drops. The number of the folder is not in use any more.
        unsafe { libc::close(number) };
    }
    Ok(())
}

/// The guard, seen from its rank; it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct GuardProcess(Pid);

impl Drop for GuardProcess {
    fn drop(&mut self) {
        // Somebody may have killed it before; its number is not given away until it is waited for.
        kill(self.0, Signal::SIGKILL).ok();
        waitpid(self.0, None).ok();
    }
}

/// Number of this thread in the system.
pub(crate) fn thread_number() -> i32 {
    nix::unistd::gettid().as_raw()
}

/// The signal by which a guard holds its rank; libraries and batch systems use the lower ones.
fn hold_signal() -> c_int {
    libc::SIGRTMAX() - 1
}

/// Has this process hold still as soon as its guard asks for it, and end with the code in `vitals`
/// once there is one.
///
/// It is no stop: Open MPI's mpirun gives up its patience with the other ranks when one stops.
pub(crate) fn obey(vitals: &'static Vitals) -> io::Result<()> {
    let hold = move || {
        vitals.hold();
        for _ in 0..HOLDING.as_millis() / LOOK.as_millis() {
            if let Some(code) = vitals.end_code() {
                exit_now(code);
            }
            thread::sleep(LOOK);
        }
        exit_now(1);
    };
    // SAFETY: a handler may read and write atomic integers, sleep and call `_exit`.
    unsafe { register(hold_signal(), hold) }.map(drop)
}

/// Has each signal that asks for an end, and that this program catches, noted in `vitals` too.
pub(crate) fn listen(vitals: &'static Vitals) -> io::Result<()> {
    for ending in ENDING.map(|signal| signal as c_int).into_iter().filter(|n| is_caught(*n)) {
        // SAFETY: a handler may write an atomic integer.
        unsafe { register(ending, move || vitals.hear(ending)) }?;
    }
    Ok(())
}

/// True if a handler of this program is installed for the signal `number`.
fn is_caught(number: c_int) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: the call changes nothing, and writes the action.
    unsafe { libc::sigaction(number, ptr::null(), action.as_mut_ptr()) };
    // SAFETY: an action is made of integers and of a function that may be missing, so that zeros
    // are a value too.
    let handler = unsafe { action.assume_init() }.sa_sigaction;
    ![libc::SIG_DFL, libc::SIG_IGN].contains(&handler)
}

/// The rank, seen from its guard.
#[derive(Debug)]
pub(crate) struct RankProcess(Pid);

impl RankProcess {
    /// True while it is there. One that has ended is no parent any more.
    pub(crate) fn is_there(&self) -> bool {
        getppid() == self.0
    }

    /// Its state.
    pub(crate) fn state(&self) -> ProcessState {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.0));
        ProcessState::of(stat.as_deref().unwrap_or_default())
    }

    /// Holds its thread and those of its `lanes`, so that it writes nothing more; one that is stopped holds
    /// when it goes on.
    pub(crate) fn hold<'a>(&self, vitals: &Vitals, lanes: impl Iterator<Item = &'a Vitals>) {
        // A signal to the process is one to its first thread, unless that blocks it.
        self.send(hold_signal());
        let n_held = 1 + lanes.filter(|lane| self.hold_thread(lane.thread())).count();
        for _ in 0..OBEYING.as_millis() / LOOK.as_millis() {
            if vitals.n_held() >= n_held || self.state().is_stopped {
                return;
            }
            thread::sleep(LOOK);
        }
    }

    /// Asks its thread number `thread` to hold still; false if there is none.
    fn hold_thread(&self, thread: i32) -> bool {
        if thread <= 0 || !self.is_there() {
            return false;
        }
        let (process, signal) = (self.0.as_raw(), hold_signal());
        // SAFETY: the call touches no memory, and reaches no thread of another process.
        unsafe { libc::syscall(libc::SYS_tgkill, process, thread, signal) == 0 }
    }

    /// Forks a process that does `at_end` once the rank has ended. Signals to the group of the rank, by which
    /// launchers end jobs, do not reach it.
    pub(crate) fn fork_keeper(&self, at_end: impl FnOnce()) -> nix::Result<()> {
        let guard = getpid();
        // SAFETY: a guard has one thread, so that no lock is held by another in the copy, and has made no MPI
        // call.
        match unsafe { nix::unistd::fork() }? {
            ForkResult::Parent { .. } => Ok(()),
            ForkResult::Child => {
                let keep = || {
                    if self.outlast(guard).is_ok() {
                        at_end();
                    }
                };
                exit_now(u8::from(catch_unwind(AssertUnwindSafe(keep)).is_err()))
            }
        }
    }

    /// Makes this process, a copy of `guard`, one of a session of its own, and sleeps until the rank has ended.
    fn outlast(&self, guard: Pid) -> io::Result<()> {
        setsid()?;
        prctl::set_name(c"comet-keeper").ok();
        // A launcher reads its pipes to their ends.
        dup2_stderr(File::options().write(true).open("/dev/null")?)?;
        // The guard ends with its rank, or is killed with it.
        let end_of_guard = SigSet::from(Signal::SIGALRM);
        end_of_guard.thread_block()?;
        prctl::set_pdeathsig(Signal::SIGALRM)?;
        if getppid() == guard {
            end_of_guard.wait()?;
        }
        while !self.state().has_ended {
            thread::sleep(LOOK);
        }
        Ok(())
    }

    /// Kills it, and this process, unless both have ended in a while.
    pub(crate) fn kill_in_a_while(&self) {
        let rank = self.0.as_raw();
        let end = move || {
            // SAFETY: a handler may send a signal; the parent's number is its own as long as this
            // process, which ends with it, is there.
            unsafe { libc::kill(rank, libc::SIGKILL) };
            exit_now(1);
        };
        // SAFETY: a handler may call `kill` and `_exit`.
        drop(unsafe { register(libc::SIGALRM, end) });
        alarm::set(CONCLUDING_S);
    }

    /// Ends it with `code`, and this process, which the death signal does first.
    pub(crate) fn end(&self, vitals: &Vitals, code: u8) -> ! {
        vitals.end(code);
        self.send(hold_signal());
        self.send(Signal::SIGCONT as c_int);
        thread::sleep(OBEYING);
        self.send(Signal::SIGKILL as c_int);
        exit_now(code)
    }

    fn send(&self, number: c_int) {
        if self.is_there() {
            // SAFETY: the call touches no memory, and the number is that of the parent.
            unsafe { libc::kill(self.0.as_raw(), number) };
        }
    }
}
