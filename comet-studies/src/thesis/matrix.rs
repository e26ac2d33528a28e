//! Figures 5.13 to 5.16: operations on a matrix that is spread over 16 nodes.

use std::ops::RangeFrom;

use comet_core::kernel::LOCAL_N;

use super::Findings;
use super::bench::{Bench, N_RANKS, Points};
use super::claim::{Claim, Curves, linear, part, quadratic};

/// Dimensions of the block of one rank: a quarter of those of the matrix on a mesh of 4 x 4.
const BLOCKS: &str = "4,8,16..64+16,96,128,192";
/// Ranks along one side of the mesh.
const SIDE: f64 = 4.0;
/// Dimensions of the matrices whose times follow one law; smaller ones take the other protocol.
const LAWFUL: RangeFrom<f64> = 64.0..;

pub(super) fn findings(bench: &Bench) -> anyhow::Result<Findings> {
    // Dimensions of the matrix, and times.
    let measure = |id: &str, sweeps: &[&str]| -> anyhow::Result<Points> {
        let of_blocks = bench.times(N_RANKS, id, sweeps, &LOCAL_N)?;
        Ok(of_blocks.into_iter().map(|(local_n, us)| (SIDE * local_n, us)).collect())
    };
    let guard = measure("matrix/update_guard", &[BLOCKS])?;
    // The values of the shift's axis are directions.
    let north = measure("matrix/shift", &["0", BLOCKS])?;
    let east = measure("matrix/shift", &["1", BLOCKS])?;
    let row = measure("matrix/row_broadcast", &[BLOCKS])?;
    let col = measure("matrix/col_broadcast", &[BLOCKS])?;
    let transpose = measure("matrix/transpose", &[BLOCKS])?;
    let mut claims = vec![is_linear("5.13", "update_guard", &guard)];
    claims.extend(is_quadratic("5.14", "shift north", &north));
    claims.extend(is_quadratic("5.14", "shift east", &east));
    claims.push(is_linear("5.15", "row broadcast", &row));
    claims.push(is_linear("5.15", "column broadcast", &col));
    let (quantity, published) = ("column broadcast", "slower than that of a row");
    claims.push(Claim::above("5.15", quantity, published, [&col, &row], "dimensions"));
    claims.extend(is_quadratic("5.16", "transpose", &transpose));
    let curves = |figure, curves: &[_]| Curves::new(figure, "dimension", curves);
    let curves = vec![
        curves("5.13", &[("update_guard_us", &guard)]),
        curves("5.14", &[("shift_north_us", &north), ("shift_east_us", &east)]),
        curves("5.15", &[("row_broadcast_us", &row), ("col_broadcast_us", &col)]),
        curves("5.16", &[("transpose_us", &transpose)]),
    ];
    Ok(Findings { claims, curves })
}

fn is_linear(figure: &'static str, quantity: &str, times: &[(f64, f64)]) -> Claim {
    Claim::law(figure, quantity, "linear in dimension", linear(&part(times, LAWFUL)), 0.999)
}

/// Quadratic, and not just as well linear.
fn is_quadratic(figure: &'static str, quantity: &str, times: &[(f64, f64)]) -> [Claim; 2] {
    let times = part(times, LAWFUL);
    let (curved, straight) = (quadratic(&times), linear(&times));
    [
        Claim::law(figure, quantity, "quadratic in dimension", curved, 0.9999),
        Claim::statement(
            figure,
            &format!("{quantity}, by a straight line"),
            "not linear",
            straight.map_or("none".into(), |found| format!("R^2 {found:.6}")),
            ("R^2 lower", straight < curved),
        ),
    ]
}
