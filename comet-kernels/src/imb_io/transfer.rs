//! Writes and reads of files: of one rank, of each to its own file, of all to one, and of all
//! together.
//!
//! **Source**: IMB 2021, IMB-IO, `S_write_indv` to `C_read_shared`; MPI-4.1 sections 14.4.2 to
//! 14.4.4 and 14.6.1. Thesis section 6.1 wishes for such a kernel: basic characteristics of the
//! ranks of a machine and its Input/Output subsystem.
//!
//! **Pattern**, X bytes in all, of which each rank moves its portion
//! ```text
//!   s_*        rank 0 alone, in a file of its own            *_indv     at the own pointer, in a view
//!   p_*        all ranks, each when it wants to              *_expl     at places that are given
//!   c_*        all ranks in a call of all                    *_shared   at the pointer of all ranks
//!              s, p: a file of each rank or one of all       *_priv     in a file of each rank
//! ```
//! **Timed** (the ranks that move something): the transfer, in a loop; after each write, or
//! (aggregate) after all of them, a sync, a barrier and a sync, so that all ranks would find
//! it. File, view and contents, which writes go over, are made before.
//!
//! **Reports**: mean time of a transfer in a loop, on the slowest rank.
//!
//! **Rate**: `length_bytes` / time, of all ranks together.
//!
//! **Parameters**: `length_bytes`, which is X, the bytes of all ranks in one transfer;
//! `aggregate` of writes: each is completed, or all between two clock reads at once.
//!
//! **Verified by**: what was written, read back by the next rank, or by the same where each has
//! a file; what was read; other test data of each rank and place. Of blocks at a pointer that each
//! rank moves on, rank 0 counts those of each rank, and no two ranks may read the same.
//!
//! **Caution**: without a disk behind it, or with a cache in front, the cache is measured; the
//! record has `--io-cache`. With `drop` the file leaves the system's memory before the first
//! transfer, reads that come to a place again are refused, and short ones find what the system has
//! read ahead. Without it a file has been read once since it was written, as in IMB: writes that
//! leave a cache meanwhile slow a read by a third. A file has 40 MiB, as in IMB, for 16 to 4096
//! transfers, and begins again at its start. It has its length before the first clock read, where
//! IMB-IO makes it longer in the first loop of a length: writes of 64 KiB take nearly twice as long
//! there on tmpfs, and as long as here in the next loop. A portion is a multiple of 4 bytes, as in
//! IMB. At a shared pointer any rank reads any block.

use comet_core::kernel::prelude::*;

use super::side::Side;
use super::spec::{SPECS, TRANSFERS, transfers};
use crate::window::{AGGREGATE, AGGREGATE_FIRST};

/// Kernel number `INDEX` of [`SPECS`].
pub(crate) struct Transfer<const INDEX: usize>;

impl<T: Transport, const INDEX: usize> Pattern<T> for Transfer<INDEX> {
    const INFO: KernelInfo = KernelInfo {
        file: include_str!("transfer.rs"),
        aliases: const { &[SPECS[INDEX].aliases[0]] },
        axes: if SPECS[INDEX].writes { &[AGGREGATE_FIRST, TRANSFERS] } else { &[TRANSFERS] },
        series: const { &[transfers("transfer", SPECS[INDEX].ranks)] },
        ..SPECS[INDEX].info(0)
    };
    type Part = Side<T>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        let spec = const { &SPECS[INDEX] };
        let is_aggregate = spec.writes && case.value(&AGGREGATE) == 1;
        Side::new(cx, case, spec, is_aggregate).map(Some)
    }
}
