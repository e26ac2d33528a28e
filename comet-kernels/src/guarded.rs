//! Buffers of messages whose neighbourhood no operation may change.

use std::ops::DerefMut;

use comet_core::kernel::prelude::*;

/// Bytes on each side of a buffer that no operation may change.
pub(crate) const CANARY_BYTES: usize = 64;
pub(crate) const CANARY: u8 = 0xa5;
/// Bytes of a page. Memory of transfers that are copies of the processor begins at one, as in OSU: where both
/// ends of a copy lie a few bytes apart within theirs, it takes four to ten times as long on some processors.
pub(crate) const PAGE_BYTES: usize = 4096;

/// Bytes from the start of `memory` to the first page that begins there.
pub(crate) fn to_page(memory: &[u8]) -> usize {
    memory.as_ptr().addr().wrapping_neg() % PAGE_BYTES
}

/// A buffer with canaries on both sides.
pub(crate) struct Guarded<B> {
    buffer: B,
    length: usize,
}

impl<B: DerefMut<Target = [u8]>> Guarded<B> {
    pub(crate) fn new<T: Transport<Buffer = B>>(
        cx: &Context<'_, T>,
        length: usize,
    ) -> Result<Self> {
        let mut buffer = cx.message(length + 2 * CANARY_BYTES)?;
        buffer[..CANARY_BYTES].fill(CANARY);
        buffer[CANARY_BYTES + length..].fill(CANARY);
        Ok(Self { buffer, length })
    }

    #[inline]
    pub(crate) fn bytes(&mut self) -> &mut [u8] {
        &mut self.buffer[CANARY_BYTES..CANARY_BYTES + self.length]
    }

    /// Checks that the canaries live.
    pub(crate) fn check(&mut self, check: &mut Checker, what: &str) {
        let (front, rest) = self.buffer.split_at_mut(CANARY_BYTES);
        for (side, canaries) in [("before", front), ("behind", &mut rest[self.length..])] {
            let expected = [CANARY; CANARY_BYTES];
            check.bytes(canaries, &expected, &format!("the {CANARY_BYTES} bytes {side} {what}"));
        }
    }
}
