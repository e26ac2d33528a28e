//! The parts of the layout that IMB-HALO has of its own: its title, and rows that name their columns.

use super::super::foreign::{Block, Means, or_dash, procs, size_bytes};
use super::per_s;
use crate::record::Point;
use crate::units::significant;

/// Significant digits of a number, those of a stream of C++.
const DIGITS: usize = 6;

/// The lines over the rows of `block`.
pub(super) fn head(block: &Block<'_>) -> String {
    let (name, origin) = (block.benchmark.name, block.origin());
    let (n_ranks, n_dimensions) = (or_dash(n_ranks(block.first)), n_dimensions(block.first));
    format!(
        "\n# note: {origin}\n\n# Benchmarking {name} (processes: {n_ranks}; threads: 1; dimensions: \
         {n_dimensions})\n"
    )
}

/// The row of a point with these times, in MB of so many bytes.
pub(super) fn row(point: &Point, means: Means, mb: f64) -> String {
    let size = size_bytes(point).unwrap_or(0);
    let bytes = point.value().and_then(|value| value.bytes_per_op).unwrap_or(0);
    let n_messages = bytes.checked_div(size).unwrap_or(0);
    let of_import = point.bytes_per_s().filter(|_| point.measured().is_none());
    let rate = of_import.unwrap_or_else(|| per_s(bytes as f64, means.avg_us)) / mb;
    let [time, rate] = [means.avg_us, rate].map(general);
    format!("{size}(x{n_messages})(bytes) {time}(usec) {rate}(Mb/s)")
}

/// Ranks that took part, where it is known, or else all.
fn n_ranks(point: &Point) -> Option<u64> {
    let sampled = point.measured().and_then(|measured| measured.samples.as_ref());
    sampled.map(|samples| samples.ranks.len() as u64).or_else(|| procs(point))
}

/// Dimensions of the grid of `point`, from its proportions or as it was imported.
fn n_dimensions(point: &Point) -> u64 {
    let topo = ["topo_1", "topo_2", "topo_3", "topo_4"];
    let sides = topo.into_iter().filter_map(|name| point.params.number(name));
    let n_sides = sides.filter(|side| *side > 0).count() as u64;
    point.params.number("dimensions").unwrap_or(n_sides)
}

/// `value` as a stream of C++ writes it: as `%g` of C.
fn general(value: f64) -> String {
    let text = format!("{value:.*e}", DIGITS - 1);
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..6).contains(&exponent) || value == 0.0 {
        return significant(text.parse().unwrap_or(value), DIGITS);
    }
    let digits = digits.trim_end_matches('0').trim_end_matches('.');
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_look_as_those_of_a_stream() {
        for (value, text) in [
            (0.0, "0"),
            (0.5, "0.5"),
            (12.345_678_9, "12.3457"),
            (1234.0, "1234"),
            (123_456.7, "123457"),
            (999_999.7, "1e+06"),
            (1_234_567.0, "1.23457e+06"),
            (0.000_123_456_7, "0.000123457"),
            (0.000_012, "1.2e-05"),
        ] {
            assert_eq!(general(value), text);
        }
    }
}
