//! Processes of a job, seen and signalled from outside.

use std::fs;
use std::process::Command;

use crate::support::eventually;

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
        send("STOP", pid);
        eventually("a stop", || state(pid) == Some('T'));
        let is_computing = !in_system_call(pid);
        if !is_computing {
            send("CONT", pid);
        }
        is_computing
    });
}

/// Whether the process has not ended; one that nobody has waited for yet has.
pub(crate) fn is_alive(pid: u32) -> bool {
    state(pid).is_some_and(|state| !"ZX".contains(state))
}

/// Whether the system still knows the process, be it only for somebody to wait for it.
pub(crate) fn is_known(pid: u32) -> bool {
    state(pid).is_some()
}

/// Names of shared memory of CoMet's in the file system, where it would outlive a job.
pub(crate) fn shared_memory() -> Vec<String> {
    let Ok(entries) = fs::read_dir("/dev/shm") else { return Vec::new() };
    let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.contains("comet")).collect()
}

/// The letter that `/proc` has for the state of a process.
fn state(pid: u32) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name before it may hold anything but ends at the last parenthesis.
    stat.rsplit_once(") ")?.1.chars().next()
}

/// Whether a stopped process is in a system call; some systems do not tell.
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
