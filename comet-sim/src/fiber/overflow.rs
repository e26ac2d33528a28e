//! Names the rank whose stack has overflowed, which would be a bare segmentation fault otherwise.
//!
//! ```text
//!   a rank touches the guard below its stack ──► SIGSEGV, handled on a stack of its own
//!     the address is in a guard of this thread's ranks    say which, and end the process
//!     any other                                           to whoever handled it before
//! ```
//!
//! Code in a signal handler may neither allocate nor wait for a lock.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::io;
use std::io::Write;
use std::ptr;
use std::sync::{Mutex, PoisonError};

use nix::errno::Errno;
use nix::libc;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, raise, sigaction};

use super::{PAGE_BYTES, StackSizes};

/// Stack of the handler, in bytes: also for one that was there before, and prints.
const HANDLER_STACK_BYTES: usize = 64 << 10;

/// Address range of the stacks of a job.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stacks {
    /// The lowest address.
    pub(super) start: usize,
    pub(super) n_ranks: usize,
    pub(super) sizes: StackSizes,
}

impl Stacks {
    /// The rank whose guard `address` is in, and the size of its stack in bytes.
    fn overflowed(self, address: usize) -> Option<(usize, usize)> {
        let StackSizes { first_bytes, other_bytes } = self.sizes;
        let offset_bytes = address.checked_sub(self.start)?;
        let (rank, height_bytes, size_bytes) = match offset_bytes.checked_sub(first_bytes) {
            None => (0, offset_bytes, first_bytes),
            Some(above) => (1 + above / other_bytes, above % other_bytes, other_bytes),
        };
        (rank < self.n_ranks && height_bytes < PAGE_BYTES).then_some((rank, size_bytes))
    }
}

thread_local! {
    /// The job that this thread runs; without a destructor, so that a handler can read it.
    static STACKS: Cell<Option<Stacks>> = const { Cell::new(None) };
}

/// The handler of this process, which the jobs of all its threads share.
struct Installed {
    n_users: usize,
    /// Handler that was installed before the first of them.
    before: Option<SigAction>,
}

static INSTALLED: Mutex<Installed> = Mutex::new(Installed { n_users: 0, before: None });

/// Watches over the stacks of the job that this thread runs, until it is dropped.
pub(super) struct Watch {
    stacks_before: Option<Stacks>,
    handler_stack_before: libc::stack_t,
    /// Keeps the stack of the handler.
    _handler_stack: Vec<u8>,
}

impl Watch {
    /// # Errors
    /// If the system refuses, as it does in a signal handler.
    pub(super) fn new(stacks: Stacks) -> io::Result<Self> {
        let mut memory = vec![0; HANDLER_STACK_BYTES];
        let handler_stack =
            libc::stack_t { ss_sp: memory.as_mut_ptr().cast(), ss_flags: 0, ss_size: memory.len() };
        let handler_stack_before = exchange_handler_stack(&handler_stack)?;
        let stacks_before = STACKS.replace(Some(stacks));
        install();
        Ok(Self { stacks_before, handler_stack_before, _handler_stack: memory })
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        uninstall();
        STACKS.set(self.stacks_before);
        let restored = exchange_handler_stack(&self.handler_stack_before);
        assert!(restored.is_ok(), "a stack that was valid still is, and no handler runs");
    }
}

/// Has signals of this thread handled on `stack`; returns what they were handled on before.
fn exchange_handler_stack(stack: &libc::stack_t) -> io::Result<libc::stack_t> {
    let mut before = libc::stack_t { ss_sp: ptr::null_mut(), ss_flags: 0, ss_size: 0 };
    // SAFETY: `Watch` keeps the memory of its stack until it has put back the one before, whose
    // memory belongs to whoever had set it, and who cannot have taken it away meanwhile: a thread
    // ends after its job.
    let code = unsafe { libc::sigaltstack(stack, &raw mut before) };
    Errno::result(code)?;
    Ok(before)
}

/// Has the handler installed, for one more user.
fn install() {
    let mut installed = INSTALLED.lock().unwrap_or_else(PoisonError::into_inner);
    if installed.n_users == 0 {
        let flags = SaFlags::SA_SIGINFO | SaFlags::SA_ONSTACK;
        let handler = SigAction::new(SigHandler::SigAction(on_fault), flags, SigSet::empty());
        // SAFETY: the handler does only what may be done in one, see there.
        let before = unsafe { sigaction(Signal::SIGSEGV, &handler) };
        installed.before = Some(before.expect("the system takes any handler of this signal"));
    }
    installed.n_users += 1;
}

/// One user less; after the last one, what was there before is there again.
fn uninstall() {
    let mut installed = INSTALLED.lock().unwrap_or_else(PoisonError::into_inner);
    installed.n_users -= 1;
    if let (0, Some(before)) = (installed.n_users, &installed.before) {
        // SAFETY: this was the action until `install`, and whoever set it holds it ready.
        let restored = unsafe { sigaction(Signal::SIGSEGV, before) };
        debug_assert!(restored.is_ok(), "an action that was valid still is");
    }
}

/// Handles a segmentation fault of this thread.
extern "C" fn on_fault(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the system gives a handler that was installed with SA_SIGINFO a valid pointer.
    let fault = unsafe { &*info };
    // SAFETY: for SIGSEGV the field is the address. In a signal that another process has sent other
    // numbers are there, which are as good as an address in nobody's guard.
    let address = unsafe { fault.si_addr() }.addr();
    match STACKS.get().and_then(|stacks| stacks.overflowed(address)) {
        Some((rank, size_bytes)) => end(rank, size_bytes),
        None => hand_on(signal, info, context),
    }
}

/// Says that a stack has overflowed, and ends the process.
fn end(rank: usize, size_bytes: usize) -> ! {
    let mut text = [0; 200];
    let mut rest = text.as_mut_slice();
    let written = writeln!(
        rest,
        "error: rank {rank} overflowed its stack of {} KiB (keep large arrays on the heap, and \
         recursion shallow)",
        size_bytes >> 10
    );
    let n_left = if written.is_ok() { rest.len() } else { 0 };
    let n_bytes = text.len() - n_left;
    // SAFETY: the bytes are those of `text`, and write(2) may be called in a handler.
    unsafe { libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), n_bytes) };
    // SAFETY: _exit(2) may be called in a handler; it runs nothing of this process any more.
    unsafe { libc::_exit(1) }
}

/// Has the signal handled as if there were no ranks.
fn hand_on(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // Whoever has the lock may be the thread that this handler interrupts, so it does not wait.
    let before = INSTALLED.try_lock().ok().and_then(|installed| installed.before);
    match before.map(|before| before.handler()) {
        Some(SigHandler::SigAction(handler)) => handler(signal, info, context),
        Some(SigHandler::Handler(handler)) => handler(signal),
        Some(SigHandler::SigDfl | SigHandler::SigIgn) | None => end_by_signal(),
    }
}

/// The signal comes again when this handler has returned, and ends the process.
fn end_by_signal() {
    let default = SigAction::new(SigHandler::SigDfl, SaFlags::empty(), SigSet::empty());
    // SAFETY: the default action needs no handler.
    let set = unsafe { sigaction(Signal::SIGSEGV, &default) };
    if set.and_then(|_| raise(Signal::SIGSEGV)).is_err() {
        // SAFETY: abort(3) may be called in a handler.
        unsafe { libc::abort() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_guard_belongs_to_the_rank_above_it() {
        let sizes = StackSizes { first_bytes: 0x8000, other_bytes: 0x4000 };
        let stacks = Stacks { start: 0x10_0000, n_ranks: 3, sizes };
        let check = |address, expected| assert_eq!(stacks.overflowed(address), expected);
        check(0xf_ffff, None);
        check(0x10_0000, Some((0, 0x8000)));
        check(0x10_0fff, Some((0, 0x8000)));
        check(0x10_1000, None);
        check(0x10_8000, Some((1, 0x4000)));
        check(0x10_bfff, None);
        check(0x10_c123, Some((2, 0x4000)));
        check(0x11_0000, None);
    }
}
