//! The messages of a window with their buffers: one buffer for all, or one for each; and the ways to move them.

use comet_core::kernel::prelude::*;
use comet_core::layout::Packing;

use crate::axes::WINDOW_BUFFERS;

/// Messages of a window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// Their number.
    pub(crate) n_messages: usize,
    /// Length of each in bytes.
    length_bytes: usize,
    /// Buffers, of which each has as many of the messages.
    n_buffers: usize,
}

impl Shape {
    /// The window of `case`.
    pub(crate) fn of(case: &Case) -> Self {
        let (n_messages, length_bytes) = (case.length(&WINDOW), case.length(&LENGTH_BYTES));
        let n_buffers = if case.find(&WINDOW_BUFFERS) == Some(1) { n_messages } else { 1 };
        Self { n_messages, length_bytes, n_buffers }
    }

    /// One message of `length_bytes`.
    pub(crate) fn single(length_bytes: usize) -> Self {
        Self { n_messages: 1, length_bytes, n_buffers: 1 }
    }

    /// Refuses `case` on a rank alone, and windows without a message, in which nothing arrives.
    ///
    /// # Errors
    /// A sentence with the reason.
    pub(crate) fn admit(case: &Case, world: &World<'_>) -> Result<(), String> {
        world.require_ranks(2)?;
        match case.value(&WINDOW) {
            0 => Err("a window of 0 messages moves nothing (use 1 message or more)".into()),
            _ => Ok(()),
        }
    }

    /// Memory of the messages on one side, in bytes.
    pub(crate) fn bytes(self) -> u64 {
        (self.n_buffers as u64).saturating_mul(self.length_bytes as u64)
    }

    /// Memory of the packed messages on one side, of which each has its own, in bytes.
    pub(crate) fn packed_bytes(self) -> u64 {
        (self.n_messages as u64).saturating_mul(self.length_bytes as u64)
    }
}

/// The messages of a window in one direction, on one side.
pub(crate) struct Messages<B> {
    /// Their buffers.
    pub(crate) buffers: Vec<B>,
    /// Messages of one buffer.
    pub(crate) n_of_each: usize,
}

impl<B: std::ops::DerefMut<Target = [u8]>> Messages<B> {
    /// Messages of `shape`.
    pub(crate) fn new<T: Transport<Buffer = B>>(cx: &Context<'_, T>, shape: Shape) -> Result<Self> {
        let Shape { n_messages, length_bytes, n_buffers } = shape;
        let buffers = (0..n_buffers).map(|_| cx.message(length_bytes)).collect::<Result<_>>()?;
        Ok(Self { buffers, n_of_each: n_messages / n_buffers.max(1) })
    }

    /// Packs all messages into `wires`, each into its own, and shows it to `each`.
    ///
    /// # Errors
    /// If the library does not pack, or that of `each`.
    #[inline]
    pub(crate) fn pack<'w, T: Transport<Buffer = B>>(
        &self,
        (t, packing): (&T, &Packing<'_, T>),
        wires: impl Iterator<Item = &'w mut [u8]>,
        mut each: impl FnMut(&'w mut [u8]) -> Result<()>,
    ) -> Result<()> {
        for (number, wire) in wires.enumerate() {
            packing.pack_parts(t, &self.buffers[number / self.n_of_each], wire)?;
            each(wire)?;
        }
        Ok(())
    }

    /// Unpacks all messages from `wires`.
    ///
    /// # Errors
    /// If the library does not unpack.
    #[inline]
    pub(crate) fn unpack<'w, T: Transport<Buffer = B>>(
        &mut self,
        (t, packing): (&T, &Packing<'_, T>),
        wires: impl Iterator<Item = &'w mut [u8]>,
    ) -> Result<()> {
        for (number, wire) in wires.enumerate() {
            packing.unpack_parts(t, wire, &mut self.buffers[number / self.n_of_each])?;
        }
        Ok(())
    }

    /// The buffers, with the number of the stream of each: 1 is that of answers.
    fn streams(&mut self) -> impl Iterator<Item = (&mut B, u16)> {
        self.buffers.iter_mut().zip(std::iter::once(0).chain(2..=u16::MAX).cycle())
    }

    /// Fills the messages that `rank` sends.
    pub(crate) fn fill(&mut self, seeds: Seeds, rank: Rank) {
        self.streams().for_each(|(buffer, stream)| pattern::fill(buffer, seeds.of(stream, rank)));
    }

    /// Fills the places of the messages that `rank` sends with anything else.
    pub(crate) fn spoil(&mut self, seeds: Seeds, rank: Rank) {
        self.streams().for_each(|(buffer, stream)| pattern::spoil(buffer, seeds.of(stream, rank)));
    }

    /// Checks the lengths `arrived_bytes` of the messages of `peer`.
    pub(crate) fn check_lengths(
        &self,
        check: &mut Checker,
        peer: Rank,
        arrived_bytes: &[Option<usize>],
    ) {
        let (n, length_bytes) =
            (arrived_bytes.len(), self.buffers.first().map_or(0, |of| of.len()));
        for (number, length) in arrived_bytes.iter().enumerate() {
            let what = format!("message {number} of {n} from rank {peer}");
            check.length(*length, length_bytes, &what);
        }
    }

    /// Checks the contents of the messages of `peer`.
    pub(crate) fn check(&mut self, check: &mut Checker, peer: Rank) {
        let seeds = check.seeds();
        for (buffer, stream) in self.streams() {
            let what = format_args!("the messages of rank {peer}");
            check.message(buffer, seeds.of(stream, peer), what);
        }
    }
}

/// One side of the messages of a window in one direction.
pub(crate) trait Flow<T: Transport>: Sized {
    /// The messages of windows of `shape` to `peer`, or their places where they come from it.
    fn new(
        cx: &Context<'_, T>,
        peer: Rank,
        tag: Tag,
        is_sender: bool,
        shape: Shape,
    ) -> Result<Self>;

    /// The messages.
    fn messages(&mut self) -> &mut Messages<T::Buffer>;

    /// Moves the messages of one window, all at once, and waits for them.
    fn run(&mut self, t: &T) -> Result<()>;

    /// The same with messages that the rank packs before it sends them, and unpacks once all have arrived.
    fn run_packed(&mut self, t: &T, packing: &Packing<'_, T>) -> Result<()> {
        let _ = packing;
        self.run(t)
    }

    /// Checks the lengths of the last messages from `peer`, where they are known.
    fn check_lengths(&self, check: &mut Checker, peer: Rank);
}
