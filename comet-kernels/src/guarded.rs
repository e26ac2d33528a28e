//! Buffers of messages whose neighbourhood no operation may change.

use std::ops::DerefMut;

use comet_core::kernel::prelude::*;

/// Bytes on each side of a buffer that no operation may change.
const CANARY_BYTES: usize = 64;
const CANARY: u8 = 0xa5;

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
