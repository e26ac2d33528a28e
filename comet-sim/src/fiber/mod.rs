//! A stack for each rank, and switching between them: the only unsafe code of this crate.
//!
//! ```text
//!   one anonymous mapping, of which only touched pages take memory
//!   ┌─────────────────┬──────────┬──────────┬── ─ ─
//!   │ guard   rank 0  │ guard  1 │ guard  2 │            a stack grows down, towards its guard
//!   └─────────────────┴──────────┴──────────┴── ─ ─
//! ```
//!
//! All stacks lie in one mapping, because a process may have some 65 000 mappings only. Guards are
//! installed without splitting it where the kernel can do that (Linux 6.13), and by protection of
//! single pages elsewhere, which sets that limit to the number of ranks.
#![expect(unsafe_code, reason = "stacks and switches between them have no safe interface")]

mod overflow;

use std::cell::Cell;
use std::ffi::c_void;
use std::io;
use std::num::NonZeroUsize;
use std::ptr::NonNull;
use std::rc::Rc;

use corosensei::stack::{Stack, StackPointer};
use corosensei::{Coroutine, CoroutineResult, Yielder};
use nix::errno::Errno;
use nix::libc;
use nix::sys::mman::{self, MapFlags, MmapAdvise, ProtFlags};

use overflow::{Stacks, Watch};

/// Stack of rank 0, in bytes: it formats and keeps results too.
const FIRST_STACK_BYTES: usize = 4 << 20;
/// Stack of each other rank, in bytes. Only pages that are touched take memory.
const STACK_BYTES: usize = if cfg!(debug_assertions) { 256 << 10 } else { 64 << 10 };
/// Size of a page, and of a guard.
const PAGE_BYTES: usize = 4096;
/// `MADV_GUARD_INSTALL` of Linux 6.13.
const GUARD_INSTALL: libc::c_int = 102;

#[derive(Debug)]
struct Slab {
    start: NonNull<c_void>,
    length_bytes: usize,
}

impl Slab {
    /// Memory for the stacks of all ranks, the lowest page of each being its guard.
    fn of_stacks(n_ranks: usize) -> io::Result<Self> {
        let length_bytes = offset_bytes(n_ranks.max(1));
        let length = NonZeroUsize::new(length_bytes).ok_or(io::ErrorKind::InvalidInput)?;
        let flags = MapFlags::MAP_PRIVATE | MapFlags::MAP_NORESERVE;
        let access = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        // SAFETY: a new anonymous mapping, at an address that the kernel chooses, overlaps nothing.
        let start = unsafe { mman::mmap_anonymous(None, length, access, flags) }?;
        let slab = Self { start, length_bytes };
        // A huge page would make every stack of its two megabytes take memory.
        // SAFETY: the range is the whole of the mapping above; the advice changes no contents.
        unsafe { mman::madvise(start, length_bytes, MmapAdvise::MADV_NOHUGEPAGE) }
            .or_else(|errno| if errno == Errno::EINVAL { Ok(()) } else { Err(errno) })?;
        (0..n_ranks).try_for_each(|rank| slab.guard(offset_bytes(rank)))?;
        Ok(slab)
    }

    /// The stack of `rank`; valid as long as the slab.
    fn stack(&self, rank: usize) -> RankStack {
        let address =
            |bytes: usize| self.start.addr().checked_add(bytes).expect("the slab has an end");
        let end_bytes = offset_bytes(rank + 1);
        assert!(end_bytes <= self.length_bytes, "the stack lies in the slab");
        let base = address(end_bytes - colour_bytes(rank));
        RankStack { base, limit: address(offset_bytes(rank)) }
    }

    /// Makes the page at `offset_bytes` fault when it is touched.
    fn guard(&self, offset_bytes: usize) -> io::Result<()> {
        assert!(offset_bytes + PAGE_BYTES <= self.length_bytes, "the guard lies in the slab");
        // SAFETY: the offset is within the mapping.
        let page = unsafe { self.start.byte_add(offset_bytes) };
        // SAFETY: the page is part of the mapping, and no stack uses it, so nothing is lost.
        if unsafe { libc::madvise(page.as_ptr(), PAGE_BYTES, GUARD_INSTALL) } == 0 {
            return Ok(());
        }
        // SAFETY: as above.
        unsafe { mman::mprotect(page, PAGE_BYTES, ProtFlags::PROT_NONE) }?;
        Ok(())
    }
}

impl Drop for Slab {
    fn drop(&mut self) {
        // SAFETY: `of_stacks` made the mapping, and `Fibers` drops all that runs on its stacks before.
        let unmapped = unsafe { mman::munmap(self.start, self.length_bytes) };
        debug_assert_eq!(unmapped, Ok(()), "a mapping can be given back");
    }
}

/// The stack of one rank; a part of the slab.
#[derive(Debug)]
struct RankStack {
    base: StackPointer,
    limit: StackPointer,
}

// SAFETY: base and limit delimit a range of the slab that belongs to this stack alone, whose lowest
// page is a guard (see `Slab::of_stacks`), with far more than MIN_STACK_SIZE bytes above it; both are
// multiples of 64.
unsafe impl Stack for RankStack {
    fn base(&self) -> StackPointer {
        self.base
    }

    fn limit(&self) -> StackPointer {
        self.limit
    }
}

/// Start of the stack of `rank`, from the start of the slab.
fn offset_bytes(rank: usize) -> usize {
    rank.checked_sub(1).map_or(0, |others| FIRST_STACK_BYTES + others * STACK_BYTES)
}

/// The ranks of a job, each with a stack of its own.
pub(crate) struct Fibers {
    fibers: Vec<Coroutine<(), (), u8, RankStack>>,
    /// The memory of their stacks; dropped after them.
    slab: Slab,
    /// The rank that runs.
    running: Rc<Cell<usize>>,
}

/// No rank: its stack is not the one that runs.
const NOBODY: usize = usize::MAX;

/// Handle by which the code of a rank gives control back; passed to its main function.
#[derive(Clone, Debug)]
pub(crate) struct Suspender {
    yielder: *const Yielder<(), ()>,
    rank: usize,
    running: Rc<Cell<usize>>,
}

/// The time in which a rank runs; it ends also if the rank panics.
struct Running<'a>(&'a Cell<usize>);

impl<'a> Running<'a> {
    fn new(running: &'a Cell<usize>, rank: usize) -> Self {
        running.set(rank);
        Self(running)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.set(NOBODY);
    }
}

impl Suspender {
    /// Returns from [`Fibers::resume`] of this rank, and goes on when it is resumed next.
    ///
    /// # Panics
    /// If the rank does not run: its transport has got into other hands.
    pub(crate) fn suspend(&self) {
        assert_eq!(self.running.get(), self.rank, "a rank uses the transport of another");
        // SAFETY: the yielder lives as long as the main function of the rank runs. `resume` alone
        // sets `running`, to this rank only while it runs that function, and the cell is of this
        // job alone: so the function is on the stack that runs now.
        unsafe { (*self.yielder).suspend(()) };
    }
}

/// Has the cache fetch the `n_lines` lines from `address` on, which are wanted soon. The contents of
/// memory stay as they are, and so does what the program does.
#[inline]
pub(crate) fn prefetch(address: usize, n_lines: usize) {
    #[cfg(target_arch = "x86_64")]
    for line in 0..n_lines {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let address = std::ptr::without_provenance(address + 64 * line);
        // SAFETY: the instruction takes any address; it neither faults nor changes anything.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (address, n_lines);
}

impl Fibers {
    /// `n_ranks` ranks, each of which is about to call `main(rank, suspender)`, as `act` sees them.
    /// Ranks that have not returned when `act` has are abandoned: what their stacks own is leaked.
    ///
    /// # Errors
    /// If there is no memory for the stacks, or if they cannot be guarded.
    pub(crate) fn with<R>(
        n_ranks: usize,
        main: impl Fn(usize, Suspender) -> u8,
        act: impl FnOnce(&mut Self) -> R,
    ) -> io::Result<R> {
        let slab = Slab::of_stacks(n_ranks)?;
        let start = slab.start.addr().get();
        let _watch = Watch::new(Stacks { start, n_ranks })?;
        let main = &main;
        // Declared after `main`, so that it is dropped before.
        let running = Rc::new(Cell::new(NOBODY));
        let fibers = Vec::with_capacity(n_ranks);
        let mut fibers = Self { fibers, slab, running: Rc::clone(&running) };
        for rank in 0..n_ranks {
            let stack = fibers.slab.stack(rank);
            let running = Rc::clone(&running);
            let body = move |yielder: &Yielder<(), ()>, ()| {
                main(rank, Suspender { yielder, rank, running })
            };
            // SAFETY: the coroutine borrows `main`, which outlives it (see above), and it is reset
            // before it is dropped, so that no code of it runs any more after `act`.
            let fiber = unsafe { Coroutine::with_stack_unchecked(stack, body) };
            fibers.fibers.push(fiber);
        }
        Ok(act(&mut fibers))
    }

    /// Has `rank` go on until it suspends itself (`None`) or returns (its code).
    ///
    /// # Panics
    /// If it has returned before, or if it panics.
    pub(crate) fn resume(&mut self, rank: usize) -> Option<u8> {
        let _running = Running::new(&self.running, rank);
        match self.fibers[rank].resume(()) {
            CoroutineResult::Yield(()) => None,
            CoroutineResult::Return(code) => Some(code),
        }
    }
}

impl Drop for Fibers {
    fn drop(&mut self) {
        for fiber in self.fibers.iter_mut().filter(|fiber| fiber.started() && !fiber.done()) {
            // SAFETY: the frames of the rank are leaked, like values that are forgotten. Its
            // requests in flight are known to this job's engine alone, which keeps no pointers to
            // their buffers, and the memory of the stack lives until the slab is dropped.
            unsafe { fiber.force_reset() };
        }
    }
}

/// Distance from its end at which a stack begins: were all ends a multiple of a page, the busiest
/// lines of all stacks would share the same few sets of the cache.
fn colour_bytes(rank: usize) -> usize {
    rank * 5 % 32 * 64
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    #[test]
    fn ranks_take_turns_and_keep_their_state() {
        let said = RefCell::new(Vec::new());
        let main = |rank: usize, suspender: Suspender| {
            for round in 0..3 {
                said.borrow_mut().push((rank, round));
                suspender.suspend();
            }
            u8::try_from(rank).unwrap()
        };
        let codes = Fibers::with(2, main, |fibers| {
            let mut step = |rank| fibers.resume(rank);
            let early: Vec<_> = [0, 1, 0, 1, 1, 0].into_iter().map(&mut step).collect();
            assert_eq!(early, [None; 6]);
            [step(0), step(1)]
        });
        assert_eq!(codes.unwrap(), [Some(0), Some(1)]);
        let expected = [(0, 0), (1, 0), (0, 1), (1, 1), (1, 2), (0, 2)];
        assert_eq!(*said.borrow(), expected);
    }

    #[test]
    fn ranks_that_have_not_returned_are_abandoned() {
        let main = |_: usize, suspender: Suspender| {
            suspender.suspend();
            0
        };
        let first = Fibers::with(100, main, |fibers| fibers.resume(7)).unwrap();
        assert_eq!(first, None);
    }

    #[test]
    fn a_panic_reaches_whoever_resumed_the_rank() {
        let main = |_: usize, _: Suspender| panic!("on purpose");
        let resumed = Fibers::with(1, main, |fibers| {
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| fibers.resume(0))).is_err()
        });
        assert!(resumed.unwrap());
    }
}
