//! Figure 5.5: the echo between nodes 1 and 3 while node 0 sends to node 7.
//!
//! The loads are messages of 486 and 5000 bytes, with which the thesis made its curves: it found
//! half and nine tenths of the peak bandwidth there. (The kernel, left alone, would take them from
//! the echo curve of the machine that it runs on.)
//!
//! Times vary by a tenth here. Ranks that repeat themselves exactly fall into step: at some lengths
//! each echo then comes just after a message of the load, and meets none. In the thesis that varied
//! from one iteration to the next, and so it does here, the same at each run.

use comet_core::event::Measurement;
use comet_core::kernel::LENGTH_BYTES;

use super::Findings;
use super::bench::{Bench, Points};
use super::claim::Claim;
use super::curve::Curves;

const N_RANKS: usize = 8;
const LENGTHS: &str = "0..100+20,101,128..1Ki+128,2Ki..8Ki+1Ki";
/// Lengths of the load messages in bytes, at 50 and 90 % load (section 5.1).
const LOADS: [&str; 2] = ["486", "5000"];

pub(super) fn findings(bench: &Bench) -> anyhow::Result<Findings> {
    let [half, ninety] = LOADS;
    let measured =
        bench.unsteady().measure(N_RANKS, "comet/contention", &[LENGTHS, half, ninety])?;
    // The series are idle, half load and ninety load.
    let [idle, half, ninety] = [0, 1, 2].map(|series| means(&measured, series));
    let slower =
        |quantity, published, curves| Claim::above("5.5", quantity, published, curves, "lengths");
    let claims = vec![
        slower("echo beside messages of 486 B", "slower than idle", [&half, &idle]),
        slower("echo beside messages of 5000 B", "slower than beside 486 B", [&ninety, &half]),
    ];
    let curves = [
        ("idle_round_trip_us", &idle),
        ("half_load_round_trip_us", &half),
        ("ninety_load_round_trip_us", &ninety),
    ];
    Ok(Findings { claims, curves: vec![Curves::new("5.5", "length_bytes", &curves)] })
}

/// Mean round trips in microseconds.
fn means(measured: &[Measurement], series: usize) -> Points {
    let point = |measurement: &Measurement| {
        let one_way_ns = measurement.series[series].summary.mean;
        (measurement.case.value(&LENGTH_BYTES) as f64, 2.0 * one_way_ns / 1e3)
    };
    measured.iter().map(point).collect()
}
