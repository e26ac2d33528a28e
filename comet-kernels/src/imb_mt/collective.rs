//! Collectives of threads: time of one operation of all ranks in each thread, by all threads at
//! once.
//!
//! **Source**: IMB 2021, IMB-MT, `BcastMT`, `ReduceMT`, `AllReduceMT`.
//!
//! **Pattern**, in each thread among the same threads of all ranks
//! ```text
//!   bcast   root ==> all        reduce   all ==+==> root        allreduce   all ==+==> all
//! ```
//! **Timed** (all threads of all ranks): one call, after a barrier of the ranks by the first
//! thread of each, between two meetings of its threads. Buffers, plans and test data are made
//! before.
//!
//! **Reports**: time from the first start to the last finish over all threads of all ranks; under
//! the rules of IMB the mean time of one call over all threads. IMB-MT prints the least, the
//! largest and the mean, over all threads of all ranks, of their mean times of a call.
//!
//! **Rate**: `threads` x `length_bytes` / time, of one message of each thread.
//!
//! **Parameters**: `threads` of each rank; `algorithm`: that of the transport, or one of the
//! library; `element` of reductions; `length_bytes` of one message of one thread, where IMB-MT
//! prints that of all threads.
//!
//! **Verified by**: contents on every rank and in every thread, over spoiled buffers with canaries
//! on both sides; roots 0, middle and last. Other test data of each rank and, but for reductions,
//! of each thread.
//!
//! **Caution**: several threads need a transport that has them: MPI at `--thread-level multiple`.
//! IMB-MT has five barriers between two calls.

use comet_core::collective::{Kind, Prepared};
use comet_core::kernel::ELEMENT;
use comet_core::kernel::prelude::*;

use super::{BY_THREADS, OF_PARTNERS, require_threads, threads};
use crate::calls::Form::Even;
use crate::calls::{self, BY_ALGORITHM, Blocked, Part, Spec, VECTORS, spec};

#[rustfmt::skip] // One kernel a line.
const SPECS: [Spec; 3] = [
    spec("bcast", Kind::Broadcast, Even, "One message of the root to all ranks, in each thread", &["IMB-MT:BcastMT"]),
    spec("reduce", Kind::Reduce, Even, "Sum of the vectors of all ranks on the root, in each thread", &["IMB-MT:ReduceMT"]),
    spec("allreduce", Kind::Allreduce, Even, "Sum of the vectors of all ranks on each, in each thread", &["IMB-MT:AllReduceMT"]),
];

/// Integers, as in IMB-MT.
const BY_ELEMENT: AxisUse = AxisUse::of(&ELEMENT, "2");

/// The kernel number `INDEX` of the family; see the [module](self).
pub(crate) struct OfThreads<const INDEX: usize>;

impl<const INDEX: usize, T: Transport> Pattern<T> for OfThreads<INDEX> {
    const INFO: KernelInfo = KernelInfo {
        name: SPECS[INDEX].name,
        file: include_str!("collective.rs"),
        summary: SPECS[INDEX].summary,
        aliases: SPECS[INDEX].aliases,
        axes: if SPECS[INDEX].kind.is_reduction() {
            &[BY_THREADS, BY_ALGORITHM, BY_ELEMENT, VECTORS]
        } else {
            &[BY_THREADS, BY_ALGORITHM, VECTORS]
        },
        series: &[Series::completion("call")
            .moving(|case, _| Some(threads(case) * case.value(&LENGTH_BYTES)))],
        timing: KernelInfo::collective("imb-mt").timing,
        admits: |case, world| {
            require_threads(case)?;
            calls::admit(&SPECS[INDEX], case, world)
        },
        bytes_per_rank: |case, world| {
            threads(case).saturating_mul(calls::bytes_per_rank(&SPECS[INDEX], case, world))
        },
        messages_per_op: |case, world| {
            threads(case) * calls::messages_per_op(&SPECS[INDEX], case, world)
        },
        ..OF_PARTNERS
    };
    type Part = Blocked<Part<T>>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        let part = Part::new(&SPECS[INDEX], cx, case, Prepared::new)?;
        Ok(Some((Duty::Together, Blocked(part))))
    }
}
