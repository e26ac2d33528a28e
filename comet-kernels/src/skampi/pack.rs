//! Packing: time of the copies that make one message of the blocks of a layout, and blocks of
//! it again, on one rank.
//!
//! **Source**: SKaMPI (R. Reussner, P. Sanders, J. L. Traff), section 3.2: types against
//! packing by hand; MPI-4.1 section 5.2.
//!
//! **Pattern**
//! ```text
//!   rank 0   packs the blocks of a message of `--layout`     (MPI_Pack, or loops of CoMet)
//!            unpacks them into those of a place              (MPI_Unpack, or loops of CoMet)
//! ```
//! **Timed** (rank 0): both. The other ranks are idle. The packed message lies in a message
//! buffer, which over shared memory is that from which others take it.
//!
//! **Reports**: time of both.
//!
//! **Rate**: 2 x `length_bytes` / time, of the data without its gaps.
//!
//! **Parameters**: `length_bytes` of the data of the message.
//!
//! **Verified by**: the blocks of the place against those of the message, and its gaps, which
//! stay as they were.
//!
//! **Caution**: without a layout both are plain copies, a bound for those of blocks. Over MPI
//! the library packs, and loops do with `--layout packed:LAYOUT`.

use comet_core::kernel::prelude::*;
use comet_core::layout::Packing;

use super::copy;

/// `skampi/pack`; see the [module](self).
pub(crate) struct Pack;

/// A message, and a place for its blocks.
pub(crate) struct Packed<T: Transport> {
    message: T::Buffer,
    wire: T::Buffer,
    place: T::Buffer,
    /// True if the library packs.
    by_library: bool,
}

impl<T: Transport> Operation<T> for Packed<T> {
    fn fill(&mut self, seeds: Seeds) {
        pattern::fill(&mut self.message, seeds.of(0, 0));
        pattern::spoil(&mut self.wire, seeds.of(0, 0));
        pattern::spoil(&mut self.place, seeds.of(0, 0));
    }

    #[inline]
    fn run(&mut self, t: &T) -> Result<()> {
        let Self { message, wire, place, by_library } = self;
        if *by_library {
            t.pack(message, wire)?;
            return t.unpack(wire, place);
        }
        copy(t, message, wire);
        copy(t, wire, place);
        Ok(())
    }

    #[inline]
    fn run_packed(&mut self, t: &T, packing: &mut Packing<'_, T>) -> Result<()> {
        packing.pack_parts(t, &self.message, &mut self.wire)?;
        packing.unpack_parts(t, &self.wire, &mut self.place)
    }

    fn check(&mut self, check: &mut Checker) {
        let seed = check.seeds().of(0, 0);
        check.message(&mut self.place, seed, "the message that was packed");
    }
}

impl<T: Transport> Pattern<T> for Pack {
    const INFO: KernelInfo = KernelInfo {
        name: "pack",
        file: include_str!("pack.rs"),
        summary: "Blocks of a layout into one message, and out of it",
        axes: &[AxisUse { axis: &LENGTH_BYTES, sweeps: ["1Ki,64Ki", "64..1Mi*4", "8..4Mi*2"] }],
        series: &[
            Series::on_test_node("pack").moving(|case, _| Some(2 * case.value(&LENGTH_BYTES)))
        ],
        is_movable: false,
        bytes_per_rank: |case, _| case.value(&LENGTH_BYTES).saturating_mul(3),
        has_layouts: true,
        is_packed: true,
        ..KernelInfo::compute("skampi")
    };
    type Part = Packed<T>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        if cx.rank() != cx.root() {
            return Ok(None);
        }
        let length = case.length(&LENGTH_BYTES);
        let data_bytes = cx.data_bytes().unwrap_or(length);
        let by_library = cx.data_bytes().is_some() && cx.packed_bytes().is_none();
        Ok(Some((
            Duty::Times,
            Packed {
                message: cx.message(length)?,
                wire: cx.message(data_bytes)?,
                place: cx.message(length)?,
                by_library,
            },
        )))
    }
}
