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
use std::sync::OnceLock;

use nix::errno::Errno;
use nix::libc;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, raise, sigaction};

use super::{FIRST_STACK_BYTES, PAGE_BYTES, STACK_BYTES};

/// Stack of the handler, in bytes: also for one that was there before, and prints.
const HANDLER_STACK_BYTES: usize = 64 << 10;

/// Address range of the stacks of a job, from the lowest address on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stacks {
    pub(super) start: usize,
    pub(super) n_ranks: usize,
}

impl Stacks {
    /// The rank whose guard `address` is in, and the size of its stack in bytes.
    fn overflowed(self, address: usize) -> Option<(usize, usize)> {
        let offset_bytes = address.checked_sub(self.start)?;
        let (rank, height_bytes, size_bytes) = match offset_bytes.checked_sub(FIRST_STACK_BYTES) {
            None => (0, offset_bytes, FIRST_STACK_BYTES),
            Some(above) => (1 + above / STACK_BYTES, above % STACK_BYTES, STACK_BYTES),
        };
        (rank < self.n_ranks && height_bytes < PAGE_BYTES).then_some((rank, size_bytes))
    }
}

thread_local! {
    /// The job that this thread runs; without a destructor, so that a handler can read it.
    static STACKS: Cell<Option<Stacks>> = const { Cell::new(None) };
}

/// Handler that was there before that of this module, which stays once a job has installed it.
static BEFORE: OnceLock<SigAction> = OnceLock::new();

/// Watches over the stacks of the job that this thread runs, until it is dropped.
pub(super) struct Watch {
    stacks_before: Option<Stacks>,
    handler_stack_before: libc::stack_t,
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
        BEFORE.get_or_init(install);
        Ok(Self { stacks_before, handler_stack_before, _handler_stack: memory })
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
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

fn install() -> SigAction {
    let flags = SaFlags::SA_SIGINFO | SaFlags::SA_ONSTACK;
    let handler = SigAction::new(SigHandler::SigAction(on_fault), flags, SigSet::empty());
    // SAFETY: the handler does only what may be done in one, see there.
    let before = unsafe { sigaction(Signal::SIGSEGV, &handler) };
    before.expect("the system takes any handler of this signal")
}

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
    match BEFORE.get().map(SigAction::handler) {
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
        let stacks = Stacks { start: 0x10_0000, n_ranks: 3 };
        let check = |offset_bytes, expected| {
            assert_eq!(stacks.overflowed(0x10_0000 + offset_bytes), expected);
        };
        let (first, other) = (FIRST_STACK_BYTES, STACK_BYTES);
        assert_eq!(stacks.overflowed(0xf_ffff), None);
        check(0, Some((0, first)));
        check(0xfff, Some((0, first)));
        check(0x1000, None);
        check(first, Some((1, other)));
        check(first + other - 1, None);
        check(first + other + 0x123, Some((2, other)));
        check(first + 2 * other, None);
    }
}
