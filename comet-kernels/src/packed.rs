//! Messages that a rank packs where several are in flight, and calls of collectives whose parts it packs.

use comet_core::collective::{Collective, Kind, Prepared};
use comet_core::kernel::prelude::*;
use comet_core::layout::Packing;

/// Memory for messages in one piece each; none where the rank packs nothing.
pub(crate) struct Wires<B>(Vec<B>);

impl<B: std::ops::DerefMut<Target = [u8]>> Wires<B> {
    /// Memory for `n` messages.
    ///
    /// # Errors
    /// If there is not that much.
    pub(crate) fn new<T: Transport<Buffer = B>>(cx: &Context<'_, T>, n: usize) -> Result<Self> {
        let Some(bytes) = cx.packed_bytes() else { return Ok(Self(Vec::new())) };
        (0..n).map(|_| cx.message(bytes)).collect::<Result<_>>().map(Self)
    }

    /// The memory of each message.
    #[inline]
    pub(crate) fn all(&mut self) -> impl Iterator<Item = &mut [u8]> {
        self.0.iter_mut().map(|wire| &mut **wire)
    }
}

/// Calls of one rank whose messages are in one piece each, and memory for their input and their output.
pub(crate) struct PackedCalls<T: Transport> {
    /// The rank, and the number of all.
    at: (Rank, usize),
    calls: Vec<Prepared<T>>,
    wires: [T::Buffer; 2],
}

impl<T: Transport> PackedCalls<T> {
    /// The calls `all` with messages of the length of packed ones, each of which `prepare` makes for its buffers.
    pub(crate) fn new(
        cx: &Context<'_, T>,
        all: Vec<Collective>,
        prepare: impl Fn(Collective, [&mut [u8]; 2]) -> Result<Prepared<T>>,
    ) -> Result<Self> {
        let at = (cx.rank(), cx.transport().n_ranks());
        let longest = |side: usize| {
            cx.message(all.iter().map(|call| lengths(call, at)[side]).max().unwrap_or(0))
        };
        let mut wires = [longest(0)?, longest(1)?];
        let prepared = |call| {
            let buffers = pieces(&mut wires, &call, at);
            prepare(call, buffers)
        };
        let calls = all.into_iter().map(prepared).collect::<Result<_>>()?;
        Ok(Self { at, calls, wires })
    }

    /// Call number `index` by `run`, with the blocks of `input` packed before it and those of `output` unpacked
    /// after it, where these lie as those of `laid`.
    #[inline]
    pub(crate) fn run(
        &mut self,
        (t, packing): (&T, &Packing<'_, T>),
        (index, laid): (usize, &Collective),
        [input, output]: [&mut [u8]; 2],
        run: impl FnOnce(&mut Prepared<T>, [&mut [u8]; 2]) -> Result<()>,
    ) -> Result<()> {
        let Self { at, calls, wires } = self;
        let call = &mut calls[index];
        let [sent_bytes, received_bytes] = lengths(laid, *at);
        let [sent, received] = pieces(wires, call.call(), *at);
        // A broadcast sends what lies in the place of its output.
        let is_source = matches!(laid.kind(), Kind::Broadcast) && laid.root() == at.0;
        packing.pack_parts(t, &input[..sent_bytes], sent)?;
        if is_source {
            packing.pack_parts(t, &output[..received_bytes], received)?;
        }
        run(call, [&mut *sent, &mut *received])?;
        if is_source {
            return Ok(());
        }
        packing.unpack_parts(t, received, &mut output[..received_bytes])
    }
}

/// The parts of `wires` that are the buffers of `call`.
#[inline]
fn pieces<'a, B: std::ops::DerefMut<Target = [u8]>>(
    [input, output]: &'a mut [B; 2],
    call: &Collective,
    at: (Rank, usize),
) -> [&'a mut [u8]; 2] {
    let [sent, received] = lengths(call, at);
    [&mut input[..sent], &mut output[..received]]
}

/// Lengths of input and output of the rank `at` of so many, in bytes.
fn lengths(call: &Collective, (rank, n_ranks): (Rank, usize)) -> [usize; 2] {
    [call.input_bytes(rank, n_ranks), call.output_bytes(rank, n_ranks)]
}
