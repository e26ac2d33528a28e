//! Values that the thesis publishes, which stand in its figures beside those of a run, and with which
//! the study of the thesis compares.

use super::chart::{level, place};
use crate::plot::{Chart, Kind, Trace, Vertex};

/// Startup times of an echo up to the change of protocol and beyond, in µs (figure 5.1).
pub const STARTUP_US: [f64; 2] = [79.0, 156.0];
/// Times per byte of both protocols, in µs (figure 5.1).
pub const US_PER_BYTE: [f64; 2] = [0.63, 0.41];
/// Length of the longest message of the first protocol, in bytes (section 4.2).
pub const SHORT_BYTES: f64 = 100.0;
/// Peak of the bandwidth between adjacent nodes, in MB/s (figure 5.2).
pub const PEAK_MB_PER_S: f64 = 2.5;
/// Lengths that reach half and nine tenths of the peak, in bytes (figure 5.2).
pub const LENGTHS_OF_PEAK: [f64; 2] = [486.0, 5000.0];

/// Number of the colour of what is published, which few curves have.
const COLOUR: usize = 6;
/// Begin of the names of what is published.
const NAME: &str = "published";

/// Adds to `chart` what is published of the figure `number`: the law of round trips, or the marks on
/// the bandwidth.
pub(super) fn add(number: &str, chart: &mut Chart) {
    match number {
        "5.1" => {
            let points = chart.series.iter().flat_map(|series| &series.points);
            let last = points.map(|point| point.x).fold(0.0, f64::max);
            let ends = [[0.0, SHORT_BYTES.min(last)], [SHORT_BYTES, last]];
            let laws = (0..2).filter(|part| ends[*part][0] < ends[*part][1]);
            chart.series.extend(laws.map(|part| round_trips(part, ends[part])));
        }
        "5.2" => {
            let peak = format!("{NAME} peak {PEAK_MB_PER_S} MB/s");
            chart.marks.push(level(peak, 1e6 * PEAK_MB_PER_S, COLOUR));
            for (words, bytes) in ["half of it", "90 % of it"].into_iter().zip(LENGTHS_OF_PEAK) {
                chart.marks.push(place(format!("{NAME} {words} {bytes} B"), bytes, COLOUR));
            }
        }
        _ => {}
    }
}

/// The law of round trips over one hop in one of the protocols, from the first to the last of `ends`.
fn round_trips(part: usize, ends: [f64; 2]) -> Trace {
    let (start, per_byte) = (STARTUP_US[part], US_PER_BYTE[part]);
    let at = |x: f64| Vertex { x, y: 2e3 * (start + per_byte * x), ..Vertex::default() };
    Trace {
        name: format!("{NAME}: 2 ({start} µs + {per_byte} µs/B)"),
        kind: Kind::Fit,
        colour: COLOUR,
        dashes: part + 1,
        points: ends.map(at).to_vec(),
    }
}
