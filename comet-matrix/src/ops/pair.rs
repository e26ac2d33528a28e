//! Whole blocks on their way: two blocks per rank, one that leaves and one that arrives.
//!
//! The thesis receives into the array that it has just sent (section 3.3.9), which is right only
//! where a send returns after the system has copied the message.
//! A second block makes the operation right on every transport, without that copy.

use std::mem;

use comet_core::kernel::prelude::*;

use super::new_block;
use crate::block::{Block, Memory};

/// Destination of a rank's block, and source of its next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Route {
    /// The rank that receives this rank's block.
    pub(super) to: Rank,
    /// The rank whose block this rank receives.
    pub(super) from: Rank,
}

/// The block that a rank holds, and the one into which it receives.
pub(super) struct Pair<B> {
    /// The block that the rank holds.
    pub(super) current: Block<B>,
    /// Room for the block that arrives.
    pub(super) incoming: Block<B>,
    tag: Tag,
}

impl<B: Memory> Pair<B> {
    /// Room for two blocks.
    pub(super) fn new<T: Transport<Buffer = B>>(cx: &Context<'_, T>, case: &Case) -> Result<Self> {
        Ok(Self { current: new_block(cx, case)?, incoming: new_block(cx, case)?, tag: cx.tag(0) })
    }

    /// Sends the current block along `route` while the next one comes in.
    #[inline]
    pub(super) fn exchange<T: Transport>(&mut self, t: &T, route: Route) -> Result<()> {
        let (message, buffer) = (self.current.bytes(), self.incoming.bytes_mut());
        t.blocked_exchange(route.to, message, Source::Rank(route.from), buffer, self.tag).map(drop)
    }

    /// Makes the block that came in the current one; no data moves.
    #[inline]
    pub(super) fn swap(&mut self) {
        mem::swap(&mut self.current, &mut self.incoming);
    }
}
