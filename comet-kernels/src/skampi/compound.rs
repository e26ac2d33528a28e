//! Collectives by hand: time of two calls, or of messages, that do what one call of the library
//! does.
//!
//! **Source**: SKaMPI (R. Reussner, P. Sanders, J. L. Traff), section 3.1, types 37, 44, 45 and
//! 46; MPI-4.1 sections 6.5, 6.9 and 6.10.
//!
//! **Pattern**, with the number of the type and the kernel of the one call
//! ```text
//!   reduce_bcast         37   Reduce to rank 0; Bcast from it                imb/allreduce
//!   reduce_scatterv      44   Reduce to rank 0; Scatterv of the sum          osu/reduce_scatter
//!   gatherv_send_recv    45   each rank Send; rank 0 Recv, in their order    imb/gatherv
//!   gatherv_isend_irecv  46   each rank Isend, Wait; rank 0 Irecv of each, Waitall
//! ```
//! **Timed** (all ranks): the calls. Buffers, plans and test data are made before. The part of
//! rank 0 in a gather lies in its place already, as in SKaMPI.
//!
//! **Reports**: time from the first start to the last finish over all ranks.
//!
//! **Rate**: `length_bytes` / time, and the algorithm and bus bandwidths, as of the one call.
//!
//! **Parameters**: `length_bytes` as in the one call: of a vector that is reduced, which
//! reduce_scatterv shares out, and of the part of each rank in a gather. `element` and
//! `operator` of reductions.
//!
//! **Verified by**: contents on every rank as of the one call, over spoiled buffers with canaries
//! on both sides; parts of uneven lengths; length and source of each message of a gather.
//!
//! **Caution**: reduce and bcast are the calls of the transport; `imb/allreduce` with the
//! algorithm reduce_bcast, and `osu/reduce_scatter` with reduce_scatterv, are the same by
//! messages of a binomial tree. A gather by blocked receives takes messages in the order of their
//! ranks, whichever arrives first; the gather of a library copies the part of its root too. In
//! reduce_scatterv SKaMPI 5 scatters into the buffer that the next repetition reduces from, so that
//! with the same buffers kept its root reads lines that another core has just written: 20.0 us at
//! 64 KiB over Open MPI on 2 ranks, and 14.8 us here, where input and output are apart.

use comet_core::collective::data::{compare, fill};
use comet_core::collective::{Collective, Kind, Parts, Prepared};
use comet_core::kernel::prelude::*;
use comet_core::transport::Room;

use crate::axes::DOUBLING;
use crate::calls::Form::{Even, Uneven};
use crate::calls::{
    BY_ELEMENT, BY_OPERATOR, Spec, VECTORS, collective, moved_bytes, part_bytes, rates_of, reducer,
    shared, spec, whole,
};
use crate::guarded::Guarded;

/// One of the kernels, by its steps; see the [module](self).
pub(crate) struct Compound<S>(pub(crate) S);

/// The steps of one kernel.
pub(crate) trait Steps: Sync + 'static {
    /// The one call that does the same, with the name of the kernel.
    const SPEC: Spec;
    /// State of its steps between two runs.
    type Made<T: Transport>;

    /// The steps that do `call`.
    fn make<T: Transport>(cx: &Context<'_, T>, call: &Collective) -> Result<Self::Made<T>>;

    /// Puts in its place in the output what lies there before.
    fn place<T: Transport>(made: &Self::Made<T>, memory: [&mut [u8]; 2]) {
        let _ = (made, memory);
    }

    /// Carries them out, from input to output, with memory between.
    fn run<T: Transport>(t: &T, made: &mut Self::Made<T>, memory: [&mut [u8]; 3]) -> Result<()>;

    /// Checks what the output does not show.
    fn check<T: Transport>(made: &Self::Made<T>, check: &mut Checker) {
        let _ = (made, check);
    }
}

/// Reduce and broadcast.
pub(crate) struct ReduceBcast;

impl Steps for ReduceBcast {
    const SPEC: Spec = spec(
        "reduce_bcast",
        Kind::Allreduce,
        Even,
        "Sum of the vectors of all ranks on each, by a reduce and a broadcast",
        &["SKaMPI:37", "SKaMPI:MPI_Allreduce_using_Reduce_Bcast"],
    );
    type Made<T: Transport> = [Prepared<T>; 2];

    fn make<T: Transport>(cx: &Context<'_, T>, call: &Collective) -> Result<Self::Made<T>> {
        let of = |kind| Collective::new(kind, call.parts().clone()).with_reducer(call.by());
        let t = cx.transport();
        Ok([
            Prepared::new(t, of(Kind::Reduce), None)?,
            Prepared::new(t, of(Kind::Broadcast), None)?,
        ])
    }

    #[inline]
    fn run<T: Transport>(
        t: &T,
        [reduce, broadcast]: &mut Self::Made<T>,
        [input, _, output]: [&mut [u8]; 3],
    ) -> Result<()> {
        reduce.run(t, [input, &mut *output])?;
        broadcast.run(t, [&mut [], output])
    }
}

/// Reduce and scatter.
pub(crate) struct ReduceScatterv;

impl Steps for ReduceScatterv {
    const SPEC: Spec = shared(
        "reduce_scatterv",
        Uneven,
        "Sum of all vectors, a part on each rank, by a reduce and a scatter",
        &["SKaMPI:44", "SKaMPI:MPI_Reduce_Scatterv"],
    );
    type Made<T: Transport> = [Prepared<T>; 2];

    fn make<T: Transport>(cx: &Context<'_, T>, call: &Collective) -> Result<Self::Made<T>> {
        let (t, parts) = (cx.transport(), call.parts());
        let vector = Parts::Equal(parts.total(t.n_ranks()));
        let reduce = Collective::new(Kind::Reduce, vector).with_reducer(call.by());
        let scatter = Collective::new(Kind::Scatter, parts.clone());
        Ok([Prepared::new(t, reduce, None)?, Prepared::new(t, scatter, None)?])
    }

    #[inline]
    fn run<T: Transport>(
        t: &T,
        [reduce, scatter]: &mut Self::Made<T>,
        [input, between, output]: [&mut [u8]; 3],
    ) -> Result<()> {
        reduce.run(t, [input, &mut *between])?;
        scatter.run(t, [between, output])
    }
}

/// Messages of a gather.
pub(crate) struct Messages<T: Transport> {
    rank: Rank,
    root: Rank,
    parts: Parts,
    tag: Tag,
    /// Lengths of what arrived from each rank, on the root.
    arrived_bytes: Vec<Option<usize>>,
    /// Memory of the receives between two runs.
    receives: Room<T::RecvOp<'static>>,
}

impl<T: Transport> Messages<T> {
    fn new(cx: &Context<'_, T>, call: &Collective) -> Self {
        let (n_ranks, parts) = (cx.transport().n_ranks(), call.parts().clone());
        let (rank, root, tag) = (cx.rank(), call.root(), cx.tag(0));
        Self {
            rank,
            root,
            parts,
            tag,
            arrived_bytes: vec![None; n_ranks],
            receives: Room::of(n_ranks),
        }
    }

    /// The part that this rank gives.
    fn own<'a>(&self, input: &'a [u8]) -> &'a [u8] {
        &input[..self.parts.length(self.rank)]
    }

    /// The root's: each message by a blocked receive.
    #[inline]
    fn receive_in_turn(&mut self, t: &T, output: &mut [u8]) -> Result<()> {
        let Self { root, parts, tag, arrived_bytes, .. } = self;
        for (from, arrived) in arrived_bytes.iter_mut().enumerate().filter(|(from, _)| from != root)
        {
            let status = t.blocked_recv(Source::Rank(from), *tag, &mut output[parts.of(from)])?;
            *arrived = status.length_from(from);
        }
        Ok(())
    }

    /// The root's: a receive for each message.
    #[inline]
    fn receive_at_once(&mut self, t: &T, output: &mut [u8]) -> Result<()> {
        let Self { parts, tag, arrived_bytes, receives, .. } = self;
        // The root is rank 0, so that its part is the first, and the parts follow each other.
        let (_, mut places) = output.split_at_mut(parts.length(0));
        t.scope(|s| {
            let mut pending = s.requests_in(std::mem::take(receives));
            for from in 1..arrived_bytes.len() {
                let (place, rest) = std::mem::take(&mut places).split_at_mut(parts.length(from));
                places = rest;
                pending.push(s.unblocked_recv(Source::Rank(from), *tag, place)?);
            }
            pending.wait_each(|number, (status, _)| {
                arrived_bytes[number + 1] = status.length_from(number + 1);
            })?;
            *receives = pending.into_room()?;
            Ok(())
        })
    }

    fn check(&self, check: &mut Checker) {
        let of_others =
            self.arrived_bytes.iter().enumerate().filter(|(from, _)| *from != self.root);
        for (from, arrived) in of_others.filter(|_| self.rank == self.root) {
            check.length(*arrived, self.parts.length(from), &format!("the part of rank {from}"));
        }
    }
}

/// A gather by messages: blocked ones in their order, or (`UNBLOCKED`) all at once.
pub(crate) struct Gather<const UNBLOCKED: bool>;

impl<const UNBLOCKED: bool> Steps for Gather<UNBLOCKED> {
    const SPEC: Spec = if UNBLOCKED {
        spec(
            "gatherv_isend_irecv",
            Kind::Gather,
            Uneven,
            "A part of each rank to the root, by unblocked messages, all at once",
            &["SKaMPI:46", "SKaMPI:MPI_Gather_using_Isend_Irecv_Waitall"],
        )
    } else {
        spec(
            "gatherv_send_recv",
            Kind::Gather,
            Uneven,
            "A part of each rank to the root, by blocked messages in their order",
            &["SKaMPI:45", "SKaMPI:MPI_Gather_using_Send_Recv"],
        )
    };
    type Made<T: Transport> = Messages<T>;

    fn make<T: Transport>(cx: &Context<'_, T>, call: &Collective) -> Result<Self::Made<T>> {
        Ok(Messages::new(cx, call))
    }

    fn place<T: Transport>(made: &Self::Made<T>, [input, output]: [&mut [u8]; 2]) {
        if made.rank == made.root {
            output[made.parts.of(made.root)].copy_from_slice(made.own(input));
        }
    }

    #[inline]
    fn run<T: Transport>(
        t: &T,
        made: &mut Self::Made<T>,
        [input, _, output]: [&mut [u8]; 3],
    ) -> Result<()> {
        let (own, to, tag) = (made.own(input), made.root, made.tag);
        match (made.rank == to, UNBLOCKED) {
            (false, false) => t.blocked_send(to, tag, own),
            (false, true) => t.scope(|s| s.unblocked_send(to, tag, own)?.wait()),
            (true, false) => made.receive_in_turn(t, output),
            (true, true) => made.receive_at_once(t, output),
        }
    }

    fn check<T: Transport>(made: &Self::Made<T>, check: &mut Checker) {
        made.check(check);
    }
}

/// A call, and the steps that do the same.
type WithSteps<T, S> = (Collective, <S as Steps>::Made<T>);

/// One rank's part.
pub(crate) struct Part<T: Transport, S: Steps> {
    at: (Rank, usize),
    /// The calls that are timed, and the same with uneven parts.
    timed: WithSteps<T, S>,
    uneven: Option<WithSteps<T, S>>,
    input: Guarded<T::Buffer>,
    output: Guarded<T::Buffer>,
    /// Memory between two steps, on the root.
    between: T::Buffer,
}

impl<T: Transport, S: Steps> Part<T, S> {
    fn new(cx: &Context<'_, T>, case: &Case) -> Result<Self> {
        let (rank, n_ranks) = (cx.rank(), cx.transport().n_ranks());
        let length = |of: Rank| part_bytes(&S::SPEC, case, of, n_ranks);
        let unit = case.unit();
        let shorter = |of: Rank| whole(length(of), unit) * (of % 3) / 2 * unit;
        let of = |length: &dyn Fn(Rank) -> usize| -> Result<WithSteps<T, S>> {
            let call = collective(&S::SPEC, case, length, n_ranks);
            let made = S::make(cx, &call)?;
            Ok((call, made))
        };
        let timed = of(&length)?;
        let uneven = (S::SPEC.form == Uneven).then(|| of(&shorter)).transpose()?;
        let input_bytes = timed.0.input_bytes(rank, n_ranks);
        let is_between = S::SPEC.kind == Kind::ReduceScatter && rank == cx.root();
        Ok(Self {
            at: (rank, n_ranks),
            input: Guarded::new(cx, input_bytes)?,
            output: Guarded::new(cx, timed.0.output_bytes(rank, n_ranks))?,
            between: cx.message(if is_between { input_bytes } else { 0 })?,
            timed,
            uneven,
        })
    }

    fn check_of(&mut self, is_timed: bool, check: &mut Checker) {
        let of = if is_timed { Some(&self.timed) } else { self.uneven.as_ref() };
        let Some((call, made)) = of else { return };
        compare(call, self.at, self.output.bytes(), check);
        S::check(made, check);
        self.input.check(check, "the input");
        self.output.check(check, "the output");
    }
}

impl<T: Transport, S: Steps> Operation<T> for Part<T, S> {
    fn fill(&mut self, seeds: Seeds) {
        let Self { timed: (call, made), input, output, .. } = self;
        fill(call, self.at, seeds, [input.bytes(), output.bytes()]);
        S::place(made, [input.bytes(), output.bytes()]);
        pattern::spoil(&mut self.between, seeds.of(0, self.at.0));
    }

    #[inline]
    fn run(&mut self, t: &T) -> Result<()> {
        let Self { timed: (_, made), input, output, between, .. } = self;
        S::run(t, made, [input.bytes(), between, output.bytes()])
    }

    fn check(&mut self, check: &mut Checker) {
        self.check_of(true, check);
    }

    /// The calls that are timed, and the same with uneven parts.
    fn verify(&mut self, t: &T, check: &mut Checker) -> Result<()> {
        Operation::<T>::fill(self, check.seeds());
        self.run(t)?;
        self.check_of(true, check);
        let Self { at, uneven, input, output, between, .. } = self;
        if let Some((call, made)) = uneven {
            fill(call, *at, check.seeds(), [input.bytes(), output.bytes()]);
            S::place(made, [input.bytes(), output.bytes()]);
            S::run(t, made, [input.bytes(), between, output.bytes()])?;
        }
        self.check_of(false, check);
        Ok(())
    }
}

impl<T: Transport, S: Steps> Pattern<T> for Compound<S> {
    const INFO: KernelInfo = KernelInfo {
        name: S::SPEC.name,
        file: include_str!("compound.rs"),
        summary: S::SPEC.summary,
        aliases: S::SPEC.aliases,
        axes: if S::SPEC.kind.is_reduction() {
            const { &[BY_ELEMENT, BY_OPERATOR, VECTORS] }
        } else {
            const { &[DOUBLING] }
        },
        series: &[Series::completion("call")
            .moving(|case, world| Some(moved_bytes(&S::SPEC, case, world.n_ranks)))
            .rated(rates_of(&S::SPEC))],
        admits: |case, world| {
            world.require_ranks(2)?;
            if S::SPEC.kind.is_reduction() { reducer(case).map(drop) } else { Ok(()) }
        },
        bytes_per_rank: |case, world| {
            let n_vectors = match S::SPEC.kind {
                Kind::Allreduce => 2,
                Kind::ReduceScatter => 3,
                _ => world.n_ranks as u64 + 1,
            };
            case.value(&LENGTH_BYTES).saturating_mul(n_vectors)
        },
        ..KernelInfo::collective("skampi")
    };
    type Part = Part<T, S>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        Ok(Some((Duty::Together, Part::new(cx, case)?)))
    }
}
