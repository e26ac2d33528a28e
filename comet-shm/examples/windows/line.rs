//! A cache line that two ranks pass to and fro: the bare speed of the cores that they run on, taken
//! in the same processes and at the same moment as what is held against it.

use std::error::Error;
use std::fs::File;
use std::num::NonZeroUsize;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use comet_core::transport::Rank;
use nix::sys::mman::{MapFlags, ProtFlags, mmap};

use super::lower_quartile;

const LENGTH: NonZeroUsize = NonZeroUsize::new(4096).unwrap();
const N_WINDOWS: usize = 10;
const N_ROUND_TRIPS: u32 = 500;

/// Each written by one side; the processor fetches lines in pairs.
#[repr(C)]
struct Words {
    ping: Padded,
    pong: Padded,
}

#[repr(C, align(128))]
struct Padded(AtomicU32);

/// One end of the line.
pub(crate) struct Line {
    words: NonNull<Words>,
    is_first: bool,
    turn: u32,
}

impl Line {
    /// The end of rank 0 or 1, over a file of 4096 zeros.
    pub(crate) fn open(path: &str, rank: Rank) -> Result<Self, Box<dyn Error>> {
        let file = File::options().read(true).write(true).open(path)?;
        let (access, kind) = (ProtFlags::PROT_READ | ProtFlags::PROT_WRITE, MapFlags::MAP_SHARED);
        // SAFETY: a new mapping, at an address that the system chooses, overlaps nothing.
        let start = unsafe { mmap(None, LENGTH, access, kind, &file, 0) }?;
        Ok(Self { words: start.cast(), is_first: rank == 0, turn: 0 })
    }

    /// One-way time of the line in ns, lower quartile of windows; that of the first end counts.
    pub(crate) fn one_way_ns(&mut self) -> f64 {
        let mut ns = [0.0; N_WINDOWS];
        for window_ns in &mut ns {
            let start = Instant::now();
            for _ in 0..N_ROUND_TRIPS {
                self.round_trip();
            }
            *window_ns = start.elapsed().as_secs_f64() * 1e9 / f64::from(2 * N_ROUND_TRIPS);
        }
        lower_quartile(&mut ns)
    }

    fn round_trip(&mut self) {
        // SAFETY: the mapping is never taken away, and longer than the words, whose alignment is
        // less than that of a page; any bytes are atomic integers, and both processes access them
        // as such only.
        let Words { ping, pong } = unsafe { self.words.as_ref() };
        self.turn = self.turn.wrapping_add(1);
        // Release pairs with the Acquire of the other end, as they would in any transport.
        if self.is_first {
            ping.0.store(self.turn, Ordering::Release);
        }
        let awaited = if self.is_first { &pong.0 } else { &ping.0 };
        while awaited.load(Ordering::Acquire) != self.turn {
            std::hint::spin_loop();
        }
        if !self.is_first {
            pong.0.store(self.turn, Ordering::Release);
        }
    }
}
