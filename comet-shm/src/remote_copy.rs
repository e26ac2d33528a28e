//! Copying from and to the memory of other ranks: through the shared heaps, or through the kernel
//! (`process_vm_readv`) where memory is private and the system lets one rank reach another's.

use std::io::{IoSlice, IoSliceMut};
use std::ptr;
use std::slice;

use comet_core::transport::Rank;
use nix::errno::Errno;
use nix::sys::uio::{RemoteIoVec, process_vm_readv, process_vm_writev};
use nix::unistd::Pid;

use crate::failure::{Cause, is_out, poisoned};
use crate::segment::Segment;
use crate::sync::Ordering;
use crate::wait::end_job;

/// Shortest message lent from private memory, where each copy is a call of the kernel.
const LENT_PRIVATE_BYTES: usize = 16 * 1024;

/// Place of some memory of a rank, valid on other ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// At this offset from the start of the segment, in one of the heaps.
    Heap(usize),
    /// At this address of the rank's own memory.
    Private(usize),
}

/// Marks a private address in a word; no process has addresses that large.
const PRIVATE: u64 = 1 << 63;

impl Place {
    /// As a word of the segment.
    pub(crate) fn pack(self) -> u64 {
        match self {
            Self::Heap(offset) => offset as u64,
            Self::Private(address) => address as u64 | PRIVATE,
        }
    }

    /// From a word of the segment.
    pub(crate) fn unpack(word: u64) -> Self {
        let place = usize::try_from(word & !PRIVATE).expect("places are of this machine");
        if word & PRIVATE == 0 { Self::Heap(place) } else { Self::Private(place) }
    }
}

/// The process of the other rank is gone before the end of a copy; the launcher ends the job.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Gone;

/// One rank's way to the memory of the others.
#[derive(Clone, Copy)]
pub(crate) struct RemoteCopy {
    segment: &'static Segment,
    rank: Rank,
    /// True if the system lets ranks reach each other's private memory.
    has_private: bool,
}

impl RemoteCopy {
    pub(crate) fn new(segment: &'static Segment, rank: Rank, has_private: bool) -> Self {
        Self { segment, rank, has_private }
    }

    /// Place of `length_bytes` from `start` on for other ranks; `None` if they cannot reach it.
    pub(crate) fn place_of(&self, start: *const u8, length_bytes: usize) -> Option<Place> {
        match self.segment.heap_offset(start, length_bytes) {
            Some(offset) => Some(Place::Heap(offset)),
            None => self.has_private.then(|| Place::Private(start.addr())),
        }
    }

    /// Offset of `length_bytes` from `start` on from the start of the segment, if they lie in the heaps.
    pub(crate) fn heap_offset(&self, start: *const u8, length_bytes: usize) -> Option<usize> {
        self.segment.heap_offset(start, length_bytes)
    }

    /// Place from which others can copy a message, if that is better than to carry it to them.
    pub(crate) fn lendable(&self, message: *const u8, length_bytes: usize) -> Option<Place> {
        match self.place_of(message, length_bytes)? {
            Place::Private(_) if length_bytes < LENT_PRIVATE_BYTES => None,
            place => Some(place),
        }
    }

    /// Copies `length_bytes` that lie `at` bytes after `place` of `peer` to `to`.
    ///
    /// # Safety
    /// They can be written there, by nobody else, and `peer` leaves them alone where it has them,
    /// as long as the job has not failed.
    pub(crate) unsafe fn read(
        &self,
        (peer, place): (Rank, Place),
        at: usize,
        to: *mut u8,
        length_bytes: usize,
    ) -> Result<(), Gone> {
        let address = match place {
            Place::Heap(offset) => {
                let from = self.segment.heap_pointer(offset + at, length_bytes);
                // SAFETY: `from` lies in the heaps, and by the caller's word nobody changes it; two
                // borrowed buffers do not overlap.
                unsafe { ptr::copy_nonoverlapping(from, to, length_bytes) };
                return Ok(());
            }
            Place::Private(address) => address + at,
        };
        // SAFETY: the caller's word; the kernel initialises what it says that it has copied.
        let to = unsafe { slice::from_raw_parts_mut(to, length_bytes) };
        self.piecewise(peer, length_bytes, |pid, done| {
            let remote = RemoteIoVec { base: address + done, len: length_bytes - done };
            process_vm_readv(pid, &mut [IoSliceMut::new(&mut to[done..])], &[remote])
        })
    }

    /// Copies `length_bytes` from `from` to `at` bytes after `place` of `peer`.
    ///
    /// # Safety
    /// They can be read there, and `peer` has them borrowed for this, and waits until it is over.
    pub(crate) unsafe fn write(
        &self,
        (peer, place): (Rank, Place),
        at: usize,
        from: *const u8,
        length_bytes: usize,
    ) -> Result<(), Gone> {
        let address = match place {
            Place::Heap(offset) => {
                let to = self.segment.heap_pointer(offset + at, length_bytes).cast_mut();
                // SAFETY: `to` lies in the heaps, by the caller's word it is for this copy alone, and
                // two borrowed buffers do not overlap.
                unsafe { ptr::copy_nonoverlapping(from, to, length_bytes) };
                return Ok(());
            }
            Place::Private(address) => address + at,
        };
        // SAFETY: the caller's word.
        let from = unsafe { slice::from_raw_parts(from, length_bytes) };
        self.piecewise(peer, length_bytes, |pid, done| {
            let remote = RemoteIoVec { base: address + done, len: length_bytes - done };
            process_vm_writev(pid, &[IoSlice::new(&from[done..])], &[remote])
        })
    }

    /// Calls `copy` with what is done until all is.
    fn piecewise(
        &self,
        peer: Rank,
        length_bytes: usize,
        mut copy: impl FnMut(Pid, usize) -> nix::Result<usize>,
    ) -> Result<(), Gone> {
        // Relaxed: the rank wrote it before it published the place, which was acquired.
        let pid = self.segment.control(peer).pid.load(Ordering::Relaxed);
        let pid = Pid::from_raw(pid.cast_signed());
        let mut done = 0;
        while done < length_bytes {
            // The number of a process that has ended may be that of another by now.
            if is_out(self.segment, peer) {
                return Err(Gone);
            }
            match copy(pid, done) {
                Ok(n) => done += n,
                Err(Errno::EINTR) => (),
                Err(Errno::ESRCH) => return Err(Gone),
                // What a process that is about to end has taken back, or no longer allows.
                Err(Errno::EFAULT | Errno::EPERM) if poisoned(self.segment).is_some() => {
                    return Err(Gone);
                }
                Err(errno) => self.give_up(peer, errno),
            }
        }
        Ok(())
    }

    /// Ends the job, because the system no longer copies.
    #[cold]
    fn give_up(&self, peer: Rank, errno: Errno) -> ! {
        let Self { segment, rank, .. } = *self;
        let reason = format!(
            "rank {rank} reached the memory of rank {peer} at the start, not now: {errno} (free \
             some memory, or send shorter messages)"
        );
        end_job(segment, rank, Cause::GaveUp, &reason);
        // Without unwinding: the buffers of this rank may be in use by others.
        std::process::abort()
    }
}

/// The number at `place` of the process `pid`, if it can be read there, and written back.
pub(crate) fn reread_private(pid: Pid, place: *const i32) -> Option<i32> {
    let mut bytes = [0u8; 4];
    let remote = RemoteIoVec { base: place.addr(), len: bytes.len() };
    let read = process_vm_readv(pid, &mut [IoSliceMut::new(&mut bytes)], &[remote]);
    let written = process_vm_writev(pid, &[IoSlice::new(&bytes)], &[remote]);
    (read == Ok(bytes.len()) && written == read).then(|| i32::from_ne_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Layout;
    use nix::unistd::getpid;

    #[test]
    fn places_travel_as_words() {
        for place in [Place::Heap(0), Place::Heap(1 << 40), Place::Private(0x7fff_1234_5678)] {
            assert_eq!(Place::unpack(place.pack()), place);
        }
    }

    #[test]
    fn private_memory_of_a_process_is_read_and_written_through_the_kernel() {
        let segment = Segment::create(Layout::new(1, 4096).unwrap()).unwrap();
        let segment: &'static Segment = Box::leak(Box::new(segment));
        segment.control(0).pid.store(getpid().as_raw().cast_unsigned(), Ordering::Relaxed);
        let remote = RemoteCopy::new(segment, 0, true);
        let (source, mut copy) = (vec![7u8; 100_000], vec![0u8; 100_000]);
        let place = remote.place_of(source.as_ptr(), source.len()).unwrap();
        // SAFETY: two vectors of this test.
        let read = unsafe { remote.read((0, place), 5, copy.as_mut_ptr(), 99_995) };
        assert_eq!((read, &copy[..99_995], copy[99_995]), (Ok(()), &source[5..], 0));
        let place = remote.place_of(copy.as_ptr(), copy.len()).unwrap();
        // SAFETY: two vectors of this test.
        let written = unsafe { remote.write((0, place), 99_995, source.as_ptr(), 5) };
        assert_eq!((written, copy), (Ok(()), source));
        assert_eq!(RemoteCopy::new(segment, 0, false).place_of([0u8].as_ptr(), 1), None);
    }

    #[test]
    fn nothing_is_copied_from_a_rank_that_has_ended() {
        let segment = Segment::create(Layout::new(2, 4096).unwrap()).unwrap();
        let segment: &'static Segment = Box::leak(Box::new(segment));
        // Its number is that of a process that is still there: this one.
        segment.control(1).pid.store(getpid().as_raw().cast_unsigned(), Ordering::Relaxed);
        segment.control(1).ended.store(1, Ordering::Relaxed);
        let remote = RemoteCopy::new(segment, 0, true);
        let (source, mut copy) = (vec![7u8; 100], vec![0u8; 100]);
        let place = remote.place_of(source.as_ptr(), source.len()).unwrap();
        // SAFETY: two vectors of this test.
        let read = unsafe { remote.read((1, place), 0, copy.as_mut_ptr(), 100) };
        assert_eq!((read, copy), (Err(Gone), vec![0; 100]));
    }
}
