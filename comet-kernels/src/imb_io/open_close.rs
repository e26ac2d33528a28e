//! Life of a file: time to open it, to write one byte, and to close it.
//!
//! **Source**: IMB 2021, IMB-IO, `Open_Close`; MPI-4.1 sections 14.2.1 and 14.2.2.
//!
//! **Pattern**
//! ```text
//!   all ranks    open -- write one byte at the own pointer -- close
//! ```
//! **Timed** (all ranks): the three calls, in a loop. The file is there before.
//!
//! **Reports**: mean time of a round in a loop, on the slowest rank.
//!
//! **Rate**: none.
//!
//! **Parameters**: none.
//!
//! **Verified by**: the byte, which is read back.
//!
//! **Caution**: all ranks write the same place of one file, as in IMB. The write keeps a file
//! system from leaving out what nobody uses.

use comet_core::error::TransportError;
use comet_core::file::{File, Pointer, Sharing, Together};
use comet_core::kernel::prelude::*;

use super::spec::{agree, keep, open, require_folder};

/// `imb-io/open_close`; see the [module](self).
pub(crate) struct OpenClose;

/// A file of all ranks, which is open for the time of an operation.
pub(crate) struct Life<T: Transport> {
    file: File<T>,
    /// The first error of the file system, after which the rank goes on with the others.
    failed: Option<TransportError>,
}

/// The byte that is written, and the one that is read back.
const WRITTEN: std::ops::Range<usize> = 0..1;
const FOUND: std::ops::Range<usize> = 1..2;

impl<T: Transport> Operation<T> for Life<T> {
    fn fill(&mut self, seeds: Seeds) {
        let (written, found) = self.file.memory().split_at_mut(WRITTEN.end);
        pattern::fill(written, seeds.of(1, 0));
        pattern::spoil(found, seeds.of(1, 0));
    }

    #[inline]
    fn run(&mut self, _: &T) -> Result<()> {
        let opened = self.file.open();
        let written = opened.and_then(|()| self.file.write(WRITTEN, Pointer::Own, Together::Alone));
        let closed = self.file.close();
        written.and(closed).or_else(|error| keep(&mut self.failed, error))
    }

    fn end(&mut self, t: &T) -> Result<()> {
        agree(t, self.failed.take().map_or(Ok(()), Err))?;
        open(t, &mut self.file)?;
        let read = self.file.read(FOUND, Pointer::At(0), Together::Alone);
        self.file.close()?;
        agree(t, read)
    }

    fn check(&mut self, check: &mut Checker) {
        let seed = check.seeds().of(1, 0);
        check.message(&mut self.file.memory()[FOUND], seed, "the file");
    }

    fn close(&mut self, _: &T) -> Result<()> {
        self.file.remove()
    }
}

impl<T: Transport> Pattern<T> for OpenClose {
    const INFO: KernelInfo = KernelInfo {
        name: "open_close",
        file: include_str!("open_close.rs"),
        summary: "A file is opened by all ranks, written to and closed",
        aliases: &["IMB-IO:Open_Close"],
        class: Class::Synchronisation,
        series: &[Series::of("life", Quantity::OpTime, Definition::LoopMean)],
        timing: Timing::Pipelined,
        completes_each: |_| true,
        admits: |_, world| require_folder(world, 1, std::iter::once(WRITTEN.end as u64)),
        is_of_files: true,
        is_movable: false,
        ..KernelInfo::collective("imb-io")
    };
    type Part = Life<T>;

    fn part(&self, cx: &Context<'_, T>, _: &Case, _: usize) -> Result<Role<Self::Part>> {
        let t = cx.transport();
        let mut file = cx.file(Sharing::All, FOUND.end, 1)?;
        // It is there before.
        open(t, &mut file)?;
        file.close()?;
        Ok(Some((Duty::Together, Life { file, failed: None })))
    }
}
