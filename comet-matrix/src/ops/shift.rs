//! Shift: time in which all blocks move by one rank to the north or to the east.
//!
//! **Source**: thesis sections 3.3.9 and 4.3, figure 3.12.
//!
//! **Pattern**, a shift north; a shift east goes from `pred` to `succ` likewise
//! ```text
//!     top  <---- block with ring ---- this rank  <---- block with ring ---- bottom
//! ```
//! **Timed** (all ranks): one exchange of a whole block with its guard ring, after a barrier.
//!
//! **Reports**: completion time of one operation. Quadratic in `local_n`.
//!
//! **Rate**: 8 x (`local_n` + 2)^2 bytes / time, of the block that one rank sends.
//!
//! **Parameters**: `direction` (north, east), `local_n`.
//!
//! **Verified by**: every value of the block and of its ring: those of the neighbour's block,
//! which its place in the global matrix gives.
//!
//! **Caution**: the thesis sends the array and receives into the same one, relying on sends that
//! the system buffers. Here a second block receives, and the two change places.
//! A mesh of one row (north) or one column (east) is refused: every rank would send its block to
//! itself.

use comet_core::kernel::prelude::*;
use comet_core::topology::Neighbours;

use super::{MATRIX, Pair, Route, SIZES, admits, block_bytes, place, require_two};
use crate::check;
use crate::setup::{self, Place};

/// Values of [`DIRECTION`], with the thesis's names.
const NORTH: u64 = 0;
const EAST: u64 = 1;

/// Direction of the shift.
static DIRECTION: Axis =
    Axis::choice("direction", "side towards which the matrix is shifted", &["north", "east"]);

/// `matrix/shift`; see the [module](self).
pub(crate) struct Shift;

/// The blocks of one rank on their way.
pub(crate) struct Shifting<B> {
    at: Place,
    /// Rows of blocks to the north and columns of blocks to the east.
    by: [usize; 2],
    pair: Pair<B>,
    route: Route,
}

impl<T: Transport> Operation<T> for Shifting<T::Buffer> {
    fn fill(&mut self, _seeds: Seeds) {
        setup::fill(&mut self.pair.current, self.at);
    }

    #[inline]
    fn run(&mut self, t: &T) -> Result<()> {
        self.pair.exchange(t, self.route)?;
        self.pair.swap();
        Ok(())
    }

    fn check(&mut self, check: &mut Checker) {
        let (at, by, n_runs) = (self.at, self.by, check.n_runs());
        let expected = |row, col| check::after_shifts(at, by, n_runs, row, col);
        check::block(check, (&mut self.pair.current, at), expected, "shift");
    }
}

impl<T: Transport> Pattern<T> for Shift {
    const INFO: KernelInfo = KernelInfo {
        name: "shift",
        file: include_str!("shift.rs"),
        summary: "Move every block with its guard ring to the next rank north or east",
        axes: &[AxisUse::of(&DIRECTION, "0,1"), SIZES],
        series: &[Series::completion("shift").moving(|case, _| Some(block_bytes(case)))],
        admits: admits_direction,
        bytes_per_rank: |case, _| block_bytes(case).saturating_mul(2),
        ..MATRIX
    };
    type Part = Shifting<T::Buffer>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        let at = place(cx, cx.topology().mesh(), case);
        let Neighbours { top, bottom, pred, succ, .. } = cx.topology().mesh().neighbours(cx.rank());
        let (by, route) = match case.value(&DIRECTION) {
            NORTH => ([1, 0], Route { to: top, from: bottom }),
            _ => ([0, 1], Route { to: succ, from: pred }),
        };
        Ok(Some((Duty::Together, Shifting { at, by, pair: Pair::new(cx, case)?, route })))
    }
}

fn admits_direction(case: &Case, world: &World<'_>) -> Result<(), String> {
    let mesh = world.topology.mesh();
    match case.value(&DIRECTION) {
        NORTH => require_two(mesh, "shift north", false)?,
        EAST => require_two(mesh, "shift east", true)?,
        other => return Err(format!("direction must be 0 (north) or 1 (east), got {other}")),
    }
    admits(case, world)
}
