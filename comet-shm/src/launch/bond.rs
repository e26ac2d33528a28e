//! The bond of a process to its parent: it does not outlive it.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use nix::errno::Errno;
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::unistd::{Pid, getpid, getppid};

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
