//! Facilities of the system that ranks use, found out once before the fork, so that all use the
//! same; and the bond of a process to its parent, which it does not outlive.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::ptr;

use nix::errno::Errno;
use nix::libc;
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{Signal, kill, raise};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, fork, getpid, getppid};

use super::signals::Blocked;
use crate::futex::AsymmetricFence;
use crate::remote_copy::reread_private;

/// Facilities that ranks may rely on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facilities {
    /// Order between publishing and falling asleep.
    pub(crate) fences: AsymmetricFence,
    /// True if a rank reaches the private memory of another.
    pub(crate) has_private: bool,
}

impl Facilities {
    /// Asks the system; to be called while this process has one thread.
    pub(crate) fn find(wants_private: bool) -> Self {
        let has_private = wants_private && siblings_reach_each_other().unwrap_or(false);
        Self { fences: AsymmetricFence::available(), has_private }
    }

    /// Copy method for messages in private memory, in words.
    pub(crate) fn private_memory(&self) -> &'static str {
        if self.has_private { "process_vm_readv" } else { "payload ring" }
    }
}

/// Lets other children of `launcher` reach this memory, where Yama admits ancestors only.
pub(super) fn admit_siblings(launcher: Pid) {
    // SAFETY: the call takes numbers. A refusal means that the system knows no such rule.
    unsafe {
        libc::prctl(libc::PR_SET_PTRACER, libc::c_ulong::from(launcher.as_raw().cast_unsigned()))
    };
}

/// True if one child of this process can read and write the memory of another: security modules,
/// containers and their filters decide that in more ways than one could ask for.
fn siblings_reach_each_other() -> nix::Result<bool> {
    // No end of a child is missed, even if the parent of this process ignores SIGCHLD.
    let _signals = Blocked::new()?;
    let secret = Box::new(getpid().as_raw());
    let launcher = getpid();
    let read = fork_child(|| {
        if die_with(launcher).is_err() {
            return 1;
        }
        admit_siblings(launcher);
        let _ = raise(Signal::SIGSTOP);
        0
    })?;
    // Stopped: it has admitted its siblings, and lives.
    let stopped = waitpid(read, Some(WaitPidFlag::WUNTRACED));
    let found = stopped.and_then(|_| {
        let reader = fork_child(|| {
            // It makes two calls and ends, with or without its parent.
            i32::from(reread_private(read, ptr::from_ref(&*secret)) != Some(*secret))
        })?;
        waitpid(reader, None)
    });
    kill(read, Signal::SIGKILL)?;
    waitpid(read, None)?;
    Ok(matches!(found, Ok(WaitStatus::Exited(_, 0))))
}

/// A child that ends with the code of `main`.
fn fork_child(main: impl FnOnce() -> i32) -> nix::Result<Pid> {
    // SAFETY: this process has one thread, and the child makes a few system calls only.
    match unsafe { fork() }? {
        ForkResult::Parent { child } => Ok(child),
        ForkResult::Child => {
            let code = main();
            // SAFETY: ends the process without running what its parent has registered.
            unsafe { libc::_exit(code) }
        }
    }
}

/// Has the system kill this process as soon as `parent` ends.
///
/// # Errors
/// If the system refuses, or if `parent` has ended already.
pub(super) fn die_with(parent: Pid) -> Result<(), Errno> {
    set_pdeathsig(Signal::SIGKILL)?;
    // It may have died before the line above, and then nothing would ever come.
    if getppid() == parent { Ok(()) } else { Err(Errno::ESRCH) }
}

/// Has the system kill the process of `command` as soon as the thread ends that starts it.
pub fn bind_to_this_process(command: &mut Command) {
    let parent = getpid();
    let die = move || die_with(parent).map_err(io::Error::from);
    // SAFETY: between fork and exec the child makes two system calls and allocates nothing.
    unsafe { command.pre_exec(die) };
}
