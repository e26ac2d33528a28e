//! Shift: all blocks move by one rank to the north or to the east.
//!
//! **Source** Thesis sections 3.3.9 and 4.3, figure 3.12.
//!
//! **Pattern** A shift north; a shift east goes from `pred` to `succ` likewise.
//!
//! ```text
//!     top  ◄──── block with ring ──── this rank  ◄──── block with ring ──── bottom
//! ```
//!
//! **Timed** One exchange of a whole block with its guard ring, after a barrier, on every rank.
//!
//! **Reports** Completion time of one operation (D1), and the bandwidth of the block that one
//! rank sends: (`local_n` + 2)^2 doubles. Quadratic in `local_n`.
//!
//! **Parameters** `direction` (north, east), `local_n`.
//!
//! **Verified by** Every value of the block and of its ring: those of the neighbour's block,
//! which its place in the global matrix gives.
//!
//! **Caution** The thesis sends the array and receives into the same one, relying on sends that
//! the system buffers. Here a second block receives, and the two change places.
//! A mesh of one row (north) or one column (east) is refused: every rank would send its block to
//! itself.

use comet_core::context::Context;
use comet_core::error::{KernelError, Result};
use comet_core::kernel::{Axis, AxisUse, Case, Class, Kernel, KernelInfo, World};
use comet_core::topology::Neighbours;
use comet_core::transport::{Tag, Transport};

use super::cast::{too_few, two_or_more_lines};
use super::pair::{Pair, Route};
use super::{SIZES, admits, block_bytes, place, series};
use crate::check;

const SHIFT: Tag = Tag::new(20);
/// Values of [`DIRECTION`], with the thesis's names.
const NORTH: u64 = 0;
const EAST: u64 = 1;

/// Direction of the shift.
static DIRECTION: Axis =
    Axis::choice("direction", "side towards which the matrix is shifted", &["north", "east"]);

static INFO: KernelInfo = KernelInfo {
    name: "shift",
    summary: "Move every block with its guard ring to the next rank north or east",
    source: "CoMet thesis (1993), sections 3.3.9 and 4.3, figure 3.12",
    class: Class::Matrix,
    axes: &[AxisUse::of(&DIRECTION, "0,1"), SIZES],
    series: &[series("shift", |case, _| Some(block_bytes(case)))],
    admits: admits_direction,
    bytes_per_rank: |case, _| block_bytes(case).saturating_mul(2),
    ..KernelInfo::collective("matrix")
};

/// The kernel.
#[derive(Debug)]
pub(crate) struct Shift;

impl<T: Transport> Kernel<T> for Shift {
    fn info(&self) -> &'static KernelInfo {
        &INFO
    }

    fn verify(&self, cx: &mut Context<'_, T>, case: &Case) -> Result<(), KernelError> {
        let mut pair = Pair::new(cx, case)?;
        shift(cx.transport(), route(cx, case), &mut pair)?;
        let at = place(cx, cx.topology().mesh(), case);
        let by = if case.value(&DIRECTION) == NORTH { [1, 0] } else { [0, 1] };
        let expected = |row, col| check::after_shift(at, by, row, col);
        check::block(cx, &mut pair.current, expected, "shift")
    }

    fn measure(&self, cx: &mut Context<'_, T>, case: &Case) -> Result<(), KernelError> {
        let mut pair = Pair::new(cx, case)?;
        let route = route(cx, case);
        cx.time_collective(0, |t| shift(t, route, &mut pair))?;
        Ok(())
    }
}

#[inline]
fn shift<T: Transport>(t: &T, route: Route, pair: &mut Pair<T::Buffer>) -> Result<()> {
    pair.exchange(t, route, SHIFT)?;
    pair.swap();
    Ok(())
}

fn route<T: Transport>(cx: &Context<'_, T>, case: &Case) -> Route {
    let Neighbours { top, bottom, pred, succ, .. } = cx.topology().mesh().neighbours(cx.rank());
    if case.value(&DIRECTION) == NORTH {
        Route { to: top, from: bottom }
    } else {
        Route { to: succ, from: pred }
    }
}

fn admits_direction(case: &Case, world: &World<'_>) -> Result<(), String> {
    let direction = case.value(&DIRECTION);
    if direction > EAST {
        return Err(format!("direction must be 0 (north) or 1 (east), got {direction}"));
    }
    let mesh = world.topology.mesh();
    if direction == NORTH && mesh.rows() < 2 {
        return Err(too_few("shift north", "rows", mesh, two_or_more_lines(mesh)));
    }
    if direction == EAST && mesh.cols() < 2 {
        let shape = two_or_more_lines(mesh).map(|(cols, rows)| (rows, cols));
        return Err(too_few("shift east", "columns", mesh, shape));
    }
    admits(case, world)
}

#[cfg(test)]
mod tests {
    use super::*;
    use comet_core::topology::Topology;

    #[test]
    fn other_directions_are_refused() {
        let refusal =
            admits_direction(&Case::new(&INFO, &[2, 4]), &World::of(&Topology::hypercube(4)));
        assert_eq!(refusal.unwrap_err(), "direction must be 0 (north) or 1 (east), got 2");
    }

    #[test]
    fn a_mesh_whose_ranks_would_send_to_themselves_is_refused() {
        let row = Topology::hypercube(2);
        let admitted =
            |direction| admits_direction(&Case::new(&INFO, &[direction, 4]), &World::of(&row));
        assert_eq!(
            admitted(NORTH).unwrap_err(),
            "shift north needs a mesh of at least 2 rows, got 1x2 (try --mesh 2x1)"
        );
        assert_eq!(admitted(EAST), Ok(()));
    }
}
