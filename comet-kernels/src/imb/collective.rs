//! Collectives: time of one operation of all ranks, by the call of the transport or by an algorithm
//! over messages.
//!
//! **Source**: IMB 2021, IMB-MPI1, section "Collective Benchmarks"; OSU micro-benchmarks 7.4, blocking
//! collectives; MPI-4.1 chapter 6.
//!
//! **Pattern**
//! ```text
//!   bcast            root ==> all            reduce           all ==+==> root
//!   scatter(v)       root ==parts==> all     gather(v)        all ==parts==> root
//!   allreduce        all ==+==> all          allgather(v)     all ==parts==> all
//!   reduce_scatter   all ==+==> parts        alltoall(v, w)   all ==parts==> all, other ones for each
//!   scan, exscan     ranks below ==+==> each
//! ```
//! **Timed** (all ranks): one call. Buffers, plans and test data are made before.
//!
//! **Reports**: time from the first start to the last finish over all ranks.
//!
//! **Rate**: `length_bytes` / time, of one message. The algorithm bandwidth is the longest buffer of
//! any rank / time, the bus bandwidth that times the factor of the operation in nccl-tests, of which
//! scan and exscan have none.
//!
//! **Parameters**: `length_bytes` of one message: the vector of a reduction, the part of a rank; a
//! reduce_scatter of `imb` has a part of that length for each rank, as IMB 2021 has; one of `osu`
//! shares a vector of that length out, as OSU and IMB 3.2 do, so that IMB-MPI1 in the layout
//! `imb-3.2` measures `osu/reduce_scatter`. `root` of rooted ones: `first_root` alone, or each rank
//! in turn from it on. `place` of the input: a buffer of its own, or that of the output
//! (MPI_IN_PLACE). `element` and `operator` of reductions. `algorithm`: that of the transport, or
//! one of the library.
//!
//! **Verified by**: contents on every rank, over spoiled buffers with canaries on both sides; the
//! first root, the middle and the last one, but for those that the transport refuses and nothing
//! times; parts of uneven lengths where the call admits them. Reductions by integers that every
//! element type holds exactly, in any order.
//!
//! **Caution**: the forms with a v get parts of one length when they are timed, that with a w also
//! parts of one type, bytes; it is a way of its own in MPI libraries, and alltoallv elsewhere. In
//! place each call begins with what the one before left, so that contents are compared after a
//! single call, before and after those that are timed. An equal part of a vector of OSU leaves out
//! the elements beyond a whole number for each rank, and may be empty.

use comet_core::collective::{Kind, Prepared};
use comet_core::kernel::prelude::*;

use crate::axes::DOUBLING;
use crate::calls::Form::{Even, Typed, Uneven};
use crate::calls::{
    self, BY_ALGORITHM, BY_ELEMENT, BY_FIRST_ROOT, BY_OPERATOR, BY_PLACE, BY_ROOT, Blocked, Part,
    Spec, VECTORS, moved_bytes, shared, spec,
};

#[rustfmt::skip] // One kernel a line.
const SPECS: [Spec; 18] = [
    spec("bcast", Kind::Broadcast, Even, "One message of the root to all ranks", &["IMB:Bcast", "OSU:osu_bcast", "SKaMPI:17"]),
    spec("reduce", Kind::Reduce, Even, "Sum of the vectors of all ranks, on the root", &["IMB:Reduce", "OSU:osu_reduce", "SKaMPI:19"]),
    spec("allreduce", Kind::Allreduce, Even, "Sum of the vectors of all ranks, on each", &["IMB:Allreduce", "OSU:osu_allreduce", "SKaMPI:36"]),
    spec("reduce_scatter", Kind::ReduceScatter, Uneven, "Sum of the vectors of all ranks, a part on each, lengths given", &["IMB:Reduce_scatter"]),
    spec("reduce_scatter_block", Kind::ReduceScatter, Even, "Sum of the vectors of all ranks, an equal part on each", &["IMB:Reduce_scatter_block"]),
    spec("scan", Kind::Scan, Even, "Sum of the vectors of the ranks up to each", &["SKaMPI:21", "SKaMPI:MPI_Scan"]),
    spec("exscan", Kind::Exscan, Even, "Sum of the vectors of the ranks below each", &[]),
    spec("gather", Kind::Gather, Even, "A part of each rank to the root", &["IMB:Gather", "OSU:osu_gather", "SKaMPI:33"]),
    spec("gatherv", Kind::Gather, Uneven, "A part of each rank to the root, lengths given", &["IMB:Gatherv", "OSU:osu_gatherv", "SKaMPI:41"]),
    spec("scatter", Kind::Scatter, Even, "A part of the root's message to each rank", &["IMB:Scatter", "OSU:osu_scatter", "SKaMPI:35"]),
    spec("scatterv", Kind::Scatter, Uneven, "A part of the root's message to each rank, lengths given", &["IMB:Scatterv", "OSU:osu_scatterv", "SKaMPI:40"]),
    spec("allgather", Kind::Allgather, Even, "A part of each rank to all ranks", &["IMB:Allgather", "OSU:osu_allgather", "SKaMPI:39"]),
    spec("allgatherv", Kind::Allgather, Uneven, "A part of each rank to all ranks, lengths given", &["IMB:Allgatherv", "OSU:osu_allgatherv", "SKaMPI:42"]),
    spec("alltoall", Kind::Alltoall, Even, "A part of each rank to each rank", &["IMB:Alltoall", "OSU:osu_alltoall", "SKaMPI:20"]),
    spec("alltoallv", Kind::Alltoall, Uneven, "A part of each rank to each rank, lengths given", &["IMB:Alltoallv", "OSU:osu_alltoallv", "SKaMPI:43"]),
    spec("alltoallw", Kind::Alltoall, Typed, "A part of each rank to each rank, lengths and types given", &["OSU:osu_alltoallw"]),
    shared("reduce_scatter", Uneven, "Sum of the vectors of all ranks, shared out, lengths given", &["OSU:osu_reduce_scatter", "SKaMPI:38"]),
    shared("reduce_scatter_block", Even, "Sum of the vectors of all ranks, shared out in equal parts", &["OSU:osu_reduce_scatter_block"]),
];

/// Axes of a kernel of a collective alone.
pub(crate) const fn axes(kind: Kind) -> &'static [AxisUse] {
    match (kind.is_rooted(), kind.is_reduction()) {
        _ if matches!(kind, Kind::Barrier) => const { &[BY_ALGORITHM] },
        (true, false) if matches!(kind, Kind::Broadcast) => {
            const { &[BY_ALGORITHM, BY_ROOT, BY_FIRST_ROOT, DOUBLING] }
        }
        (false, false) => const { &[BY_ALGORITHM, BY_PLACE, DOUBLING] },
        (true, false) => const { &[BY_ALGORITHM, BY_ROOT, BY_FIRST_ROOT, BY_PLACE, DOUBLING] },
        (false, true) => const { &[BY_ALGORITHM, BY_PLACE, BY_ELEMENT, BY_OPERATOR, VECTORS] },
        (true, true) => {
            const { &[BY_ALGORITHM, BY_ROOT, BY_FIRST_ROOT, BY_PLACE, BY_ELEMENT, BY_OPERATOR, VECTORS] }
        }
    }
}

/// The kernel number `INDEX` of the family; see the [module](self).
pub(crate) struct Plain<const INDEX: usize>;

impl<const INDEX: usize, T: Transport> Pattern<T> for Plain<INDEX> {
    const INFO: KernelInfo = KernelInfo {
        name: SPECS[INDEX].name,
        file: include_str!("collective.rs"),
        summary: SPECS[INDEX].summary,
        aliases: SPECS[INDEX].aliases,
        axes: axes(SPECS[INDEX].kind),
        series: &[Series::completion("call")
            .moving(|case, world| Some(moved_bytes(&SPECS[INDEX], case, world.n_ranks)))
            .rated(calls::rates_of(&SPECS[INDEX]))],
        admits: |case, world| calls::admit(&SPECS[INDEX], case, world),
        bytes_per_rank: |case, world| calls::bytes_per_rank(&SPECS[INDEX], case, world),
        messages_per_op: |case, world| calls::messages_per_op(&SPECS[INDEX], case, world),
        has_layouts: !SPECS[INDEX].kind.is_reduction(),
        is_packed: !SPECS[INDEX].kind.is_reduction(),
        ..KernelInfo::collective(if SPECS[INDEX].is_shared { "osu" } else { "imb" })
    };
    type Part = Blocked<Part<T>>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        let part = Part::new(&SPECS[INDEX], cx, case, Prepared::new)?;
        Ok(Some((Duty::Together, Blocked(part))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::{Calls as _, FIRST_ROOT, ROOT, collective, part_bytes};
    use comet_core::error::{TransportError, TransportErrorKind};
    use comet_core::kernel::{ELEMENT, harness};
    use comet_core::local::{self, Local};
    use comet_core::topology::Topology;

    #[test]
    fn roots_are_the_first_one_or_each_rank_from_it_on() {
        let info = const { &<Plain<7> as Pattern<Local>>::INFO };
        let roots = |rotates, first_root| {
            let of_ranks = local::run_with(Topology::hypercube(3), false, |t| {
                let case = Case::new(info, &[]).with(&ROOT, rotates).with(&FIRST_ROOT, first_root);
                let cx = harness::context(t, info, false);
                Part::new(&SPECS[7], &cx, &case, Prepared::new).unwrap().roots()
            });
            assert!(of_ranks.iter().all(|of_rank| *of_rank == of_ranks[0]), "{of_ranks:?}");
            of_ranks[0].clone()
        };
        assert_eq!(roots(0, 0), [0]);
        assert_eq!(roots(0, 2), [2]);
        assert_eq!(roots(1, 0), [0, 1, 2]);
        assert_eq!(roots(1, 2), [2, 0, 1]);
    }

    #[test]
    fn a_root_that_is_refused_and_not_timed_refuses_nothing() {
        let info = const { &<Plain<1> as Pattern<Local>>::INFO };
        for (rotates, is_refused) in [(0, false), (calls::ROTATING, true)] {
            let proved = local::run_with(Topology::hypercube(3), false, |t| {
                let case = Case::new(info, &[]).with(&LENGTH_BYTES, 8).with(&ELEMENT, 1);
                let cx = harness::context(t, info, false);
                let case = case.with(&ROOT, rotates);
                let mut part = Part::new(&SPECS[1], &cx, &case, Prepared::new)?;
                let mut check = cx.checker(1);
                let proved = part.prove(t, &mut check, |t, call, of| match call.call().root() {
                    0 => call.run(t, of),
                    _ => Err(TransportError::new(TransportErrorKind::Unsupported, "use root 0")),
                });
                check.result().expect("what is not refused is right");
                proved
            });
            assert!(proved.iter().all(|of_rank| of_rank.is_err() == is_refused), "{proved:?}");
        }
    }

    #[test]
    fn parts_of_a_vector_are_shared_out_as_osu_does() {
        let check = |spec: &Spec, length_bytes, element, n_ranks: usize, expected: &[usize]| {
            let info = if spec.form != Even {
                const { &<Plain<16> as Pattern<Local>>::INFO }
            } else {
                const { &<Plain<17> as Pattern<Local>>::INFO }
            };
            let case = Case::new(info, &[]);
            let case = case.with(&LENGTH_BYTES, length_bytes).with(&ELEMENT, element);
            let parts: Vec<_> =
                (0..n_ranks).map(|rank| part_bytes(spec, &case, rank, n_ranks)).collect();
            assert_eq!(parts, expected, "{length_bytes} bytes");
            let call = collective(spec, &case, |rank| parts[rank], n_ranks);
            let sum: usize = parts.iter().sum();
            assert_eq!(call.input_bytes(0, n_ranks), sum);
        };
        let (uneven, equal) = (&SPECS[16], &SPECS[17]);
        check(uneven, 8, 1, 4, &[2; 4]);
        check(uneven, 2, 1, 4, &[1, 1, 0, 0]);
        check(uneven, 44, 2, 4, &[12, 12, 12, 8]);
        check(equal, 8, 1, 4, &[2; 4]);
        check(equal, 2, 1, 4, &[0; 4]);
        check(equal, 44, 2, 4, &[8; 4]);
        check(&SPECS[3], 8, 1, 2, &[8; 2]);
    }
}
