//! The default sweeps that several kernels share.

use comet_core::kernel::{Axis, AxisUse, Case, HOPS, LENGTH_BYTES, WINDOW, World};

/// Every distance from the test node, starting with the test node itself.
pub(crate) const HOPS_FROM_0: AxisUse = AxisUse::of(&HOPS, "0..max");

/// Every distance from the test node to another rank.
pub(crate) const HOPS_FROM_1: AxisUse = AxisUse::of(&HOPS, "1..max");

/// Refuses `case` where no other rank lies its number of hops from rank 0.
///
/// # Errors
/// A sentence with the reason.
pub(crate) fn admit_partner(case: &Case, world: &World<'_>) -> Result<(), String> {
    world.require_ranks(2)?;
    match case.length(&HOPS) {
        0 => Err("0 hops lead to no partner (use 1 hop or more)".into()),
        hops => world.require_hops(hops),
    }
}

/// Windows of 64 messages, as OSU has them.
pub(crate) const WINDOW_OF_OSU: AxisUse = AxisUse::of(&WINDOW, "64");

/// Buffers of the messages of a window.
pub(crate) static WINDOW_BUFFERS: Axis = Axis::choice(
    "window_buffers",
    "buffers of a window on each side: one for all messages, or one for each",
    &["single", "multiple"],
);

/// One buffer for all messages of a window, as OSU has it.
pub(crate) const ONE_BUFFER: AxisUse = AxisUse::of(&WINDOW_BUFFERS, "0");

/// Message lengths in powers of two, as IMB and OSU have them.
pub(crate) const DOUBLING: AxisUse =
    AxisUse { axis: &LENGTH_BYTES, sweeps: ["0,1Ki,64Ki", "0,1..4Mi*4", "0,1..4Mi*2"] };

/// Lengths of the messages of a window of OSU.
pub(crate) const OF_WINDOWS: AxisUse = AxisUse {
    axis: &LENGTH_BYTES,
    sweeps: ["1,1Ki,64Ki", "1..4Mi*4", "1..4Mi*2,100,101,192,384,768,1536,3Ki"],
};

/// Message lengths in linear steps to a page size, because the thesis found its breaks at 100,
/// 2048 and 4096 bytes (section 5.1), and in powers of two above it.
pub(crate) const MESSAGE_LENGTHS: AxisUse = AxisUse {
    axis: &LENGTH_BYTES,
    sweeps: [
        "0,8,100,1Ki,4Ki,64Ki",
        "0,8,50,100,101,150,256,512..4Ki+512,2049,4097,8Ki..1Mi*2,4Mi",
        "0..256+16,99,100,101,256..8Ki+256,2047,2049,4095,4097,1..4Mi*2",
    ],
};
