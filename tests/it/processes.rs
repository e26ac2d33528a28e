//! Processes of a job, seen and signalled from outside.
//!
//! A test looks only at processes that it has started: a number alone may soon be that of another.

use std::fs;
use std::process::Command;

use crate::support::eventually;

/// One process, with the time of its start, so that no later one is taken for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    /// Its number.
    pub(crate) pid: u32,
    started: u64,
}

impl Process {
    /// The process `pid`, if there is one.
    pub(crate) fn find(pid: u32) -> Option<Self> {
        Some(Self { pid, started: stat(pid)?.started })
    }

    /// True until somebody has waited for its end.
    pub(crate) fn is_known(self) -> bool {
        Self::find(self.pid) == Some(self)
    }

    /// True until it ends; one that nobody has waited for yet has ended.
    pub(crate) fn is_alive(self) -> bool {
        self.is_known() && is_alive(self.pid)
    }

    /// Its children that have not ended.
    pub(crate) fn children(self) -> Vec<Self> {
        let path = format!("/proc/{0}/task/{0}/children", self.pid);
        let pids = fs::read_to_string(path).unwrap_or_default();
        let children = pids.split_whitespace().filter_map(|pid| Self::find(pid.parse().ok()?));
        children.filter(|child| child.is_alive()).collect()
    }

    /// Shared memory that it has mapped by a name, under which it would outlive a job.
    pub(crate) fn named_memory(self) -> Vec<String> {
        let maps = fs::read_to_string(format!("/proc/{}/maps", self.pid)).unwrap_or_default();
        maps.lines().filter(|line| line.contains("/dev/shm/")).map(str::to_owned).collect()
    }

    /// True if it has a handler for the signal `number`.
    pub(crate) fn catches(self, number: u32) -> bool {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid)).unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
        mask >> (number - 1) & 1 == 1
    }
}

/// Sends the signal `name` (`KILL`, `INT`) to one process.
pub(crate) fn send(name: &str, pid: u32) {
    kill(name, &pid.to_string());
}

/// Sends the signal `name` to all processes of a group, as a terminal does.
pub(crate) fn send_to_group(name: &str, group: u32) {
    kill(name, &format!("-{group}"));
}

/// Stops a process while it computes, rather than in a system call.
pub(crate) fn stop_in_computation(pid: u32) {
    eventually("a stop in a computation", || {
        stop(pid);
        let is_computing = !in_system_call(pid);
        if !is_computing {
            send("CONT", pid);
        }
        is_computing
    });
}

/// Stops a process, and waits until it has stopped.
pub(crate) fn stop(pid: u32) {
    send("STOP", pid);
    eventually("a stop", || stat(pid).is_none_or(|stat| "TZX".contains(stat.state)));
}

/// True until the process ends; one that nobody has waited for yet has ended.
pub(crate) fn is_alive(pid: u32) -> bool {
    stat(pid).is_some_and(|stat| !"ZX".contains(stat.state))
}

/// A line of `/proc/PID/stat`.
struct Stat {
    /// The letter of its state.
    state: char,
    /// Clock ticks from the start of the system to its own.
    started: u64,
}

fn stat(pid: u32) -> Option<Stat> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name before it may hold anything but ends at the last parenthesis.
    let words: Vec<&str> = stat.rsplit_once(") ")?.1.split_whitespace().collect();
    Some(Stat { state: words.first()?.chars().next()?, started: words.get(19)?.parse().ok()? })
}

/// True if a stopped process is in a system call; some systems do not say so.
fn in_system_call(pid: u32) -> bool {
    let call = fs::read_to_string(format!("/proc/{pid}/syscall"));
    call.is_ok_and(|call| !call.starts_with("-1 "))
}

/// The shell's own `kill` is there on every system, and needs no code that is unsafe.
fn kill(name: &str, target: &str) {
    let script = "kill -s \"$1\" -- \"$2\"";
    let status = Command::new("sh").args(["-c", script, "sh", name, target]).status();
    assert!(status.expect("there is a shell").success(), "cannot send SIG{name} to {target}");
}
