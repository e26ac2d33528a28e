//! The figures of the thesis under their numbers, over its own axes: linear, and with round trips
//! where it plots those.
//!
//! Each is made from the run with the thesis's number of ranks, or, without one, from that with the
//! most. Figure 5.6 is the scaling of the barrier, which has its axes. What the thesis publishes of
//! a figure in numbers is drawn beside the curves.

use super::caption::Caption;
use super::chart::{self, Y, along, axis, series_at};
use super::curve::curves;
use super::growth::scaling;
use super::published;
use super::sizes::rates;
use super::sources::{KernelPoints, Sources};
use crate::models::sweep::real;
use crate::plot::{Axis, Figure, Quantity, Scale, Trace};
use crate::record::{MESH, Point, RANKS};
use crate::words;

const LENGTH: &str = "length_bytes";
const VECTOR: &str = "vector_length";
const BLOCK: &str = "local_n";

/// Quantity of a figure.
#[derive(Clone, Copy)]
enum Shows {
    /// The time, as it is quoted.
    Time,
    /// The time of a round trip, of which one way was quoted.
    RoundTrip,
    Bandwidth,
}
use Shows::{Bandwidth, RoundTrip, Time};

impl Shows {
    /// The vertical axis, and the value of a point on it.
    fn y(self) -> (Axis, Y) {
        match self {
            Time => (chart::times("time", Scale::Linear), chart::time),
            RoundTrip => {
                (chart::times("time of a round trip", Scale::Linear), |_, ns| Some(2.0 * ns))
            }
            Bandwidth => (rates(), chart::rate),
        }
    }
}

/// Points of a figure.
#[derive(Clone, Copy)]
enum Slice {
    /// Message lengths, to where breaks show.
    Lengths,
    /// Sums of one double over numbers of ranks.
    OneDouble,
    /// Sums of vectors, to where breaks show.
    Vectors,
    /// The work of an overlap alone.
    Daxpy,
    /// Exchanges of so many bytes beside vectors of at most a length.
    Overlap(u64, u64),
    /// Blocks of a matrix.
    Blocks,
}
use Slice::{Blocks, Daxpy, Lengths, OneDouble, Overlap, Vectors};

impl Slice {
    /// The parameter of the horizontal axis.
    fn x(self) -> &'static str {
        match self {
            Lengths => LENGTH,
            OneDouble => RANKS,
            Vectors | Daxpy | Overlap(..) => VECTOR,
            Blocks => BLOCK,
        }
    }

    fn holds(self, point: &Point) -> bool {
        let is = |name, value| point.number(name) == Some(value);
        let at_most = |name, most| point.number(name).is_some_and(|value| value <= most);
        let variant = point.variant.as_deref();
        match self {
            Lengths => at_most(LENGTH, 8192),
            OneDouble => is(VECTOR, 1),
            Vectors => at_most(VECTOR, 1024),
            Daxpy => variant == Some("daxpy") && is(LENGTH, 0),
            Overlap(length, longest) => {
                let is_together = ["synchronous", "asynchronous"].map(Some).contains(&variant);
                is_together && is(LENGTH, length) && at_most(VECTOR, longest)
            }
            Blocks => true,
        }
    }
}

/// One figure of the thesis: its number, its title, the kernels whose points it has, the number of
/// ranks if not all, the points, and the quantity.
struct Entry(&'static str, &'static str, &'static [&'static str], Option<u64>, Slice, Shows);

const ENTRIES: [Entry; 16] = [
    Entry("5.1", "echo, round trip", &["comet/echo"], Some(16), Lengths, RoundTrip),
    Entry("5.2", "echo, bandwidth", &["comet/echo"], Some(16), Lengths, Bandwidth),
    Entry("5.3", "broadcast time", &["comet/broadcast"], None, Lengths, Time),
    Entry("5.4", "pairwise exchange time", &["comet/exchange"], Some(16), Lengths, Time),
    Entry("5.5", "echo under load, round trip", &["comet/contention"], Some(8), Lengths, RoundTrip),
    Entry("5.7", "global sum of one double", &["comet/reduction"], None, OneDouble, Time),
    Entry("5.7", "global sum of vectors", &["comet/reduction"], None, Vectors, Time),
    Entry("5.8", "DAXPY time", &["comet/overlap"], Some(4), Daxpy, Time),
    overlap("5.9", "exchange of 0 B and DAXPY, with and without overlap", 0, u64::MAX),
    overlap("5.10", "exchange of 2536 B and DAXPY, with and without overlap", 2536, u64::MAX),
    // The beginning of figure 5.10.
    overlap(
        "5.11",
        "exchange of 2536 B and DAXPY of short vectors, with and without overlap",
        2536,
        10_000,
    ),
    overlap("5.12", "exchange of 85000 B and DAXPY, with and without overlap", 85_000, u64::MAX),
    matrix("5.13", "update guard", &["matrix/update_guard"]),
    matrix("5.14", "shift", &["matrix/shift"]),
    matrix("5.15", "row and column broadcast", &["matrix/row_broadcast", "matrix/col_broadcast"]),
    matrix("5.16", "transpose", &["matrix/transpose"]),
];

const fn overlap(number: &'static str, title: &'static str, length: u64, longest: u64) -> Entry {
    Entry(number, title, &["comet/overlap"], Some(16), Overlap(length, longest), Time)
}

const fn matrix(
    number: &'static str,
    title: &'static str,
    kernels: &'static [&'static str],
) -> Entry {
    Entry(number, title, kernels, Some(16), Blocks, Time)
}

/// The figures that `sources` has points for, two at least.
pub(super) fn figures(sources: &Sources<'_>) -> Vec<Figure> {
    let barrier = sources.kernel("comet/barrier").and_then(|kernel| scaling(&kernel));
    let barrier = barrier.map(|one| with_number(one, "figure-5.6".into(), "5.6", "barrier time"));
    ENTRIES.iter().filter_map(|entry| entry.figure(sources)).chain(barrier).collect()
}

impl Entry {
    fn figure(&self, sources: &Sources<'_>) -> Option<Figure> {
        let Self(number, title, _, _, slice, shows) = *self;
        let kernel = self.kernel(sources)?;
        if kernel.values(slice.x()).len() < 2 {
            return None;
        }
        let (y_axis, y) = shows.y();
        let curves = curves(&kernel, slice.x());
        let drawn = curves.iter().map(|curve| series_at(curve, |point| self.place(point), y));
        let drawn: Vec<Trace> = drawn.collect();
        let x_axis = match slice.x() {
            BLOCK => axis("dimension of the matrix", Quantity::Count, Scale::Linear),
            RANKS => chart::ranks(Scale::Log2),
            x => along(&kernel, x, Scale::Linear),
        };
        let mut chart = chart::chart(x_axis, y_axis, drawn);
        published::add(number, &mut chart);
        let what = format!("{}, against {}", words::capital(title), chart.x.label);
        let part = if matches!(slice, Vectors) { "-by-length" } else { "" };
        let id = format!("figure-{number}{part}");
        let caption = Caption::of(&what, &kernel);
        Some(with_number(kernel.figure("", "", caption, chart), id, number, title))
    }

    /// The points of the figure, as if they were of one kernel.
    fn kernel<'a>(&self, sources: &'a Sources<'_>) -> Option<KernelPoints<'a>> {
        let Self(_, _, kernels, n_ranks, slice, _) = *self;
        let mut kernels = kernels.iter().filter_map(|name| sources.kernel(name));
        let mut kernel = kernels.next()?;
        kernels.for_each(|other| kernel.points.extend(other.points));
        let kernel = kernel.only(|point| slice.holds(point));
        Some(near_and_far(&n_ranks.map_or_else(|| kernel.clone(), |n| kernel.on(n))))
    }

    /// Place of `point` on the horizontal axis: by the dimension of all of the matrix, or of a
    /// square one of its size.
    fn place(&self, point: &Point) -> Option<f64> {
        let Self(_, _, _, _, slice, _) = self;
        let value = real(point.number(slice.x())?);
        if slice.x() != BLOCK {
            return Some(value);
        }
        let [rows, cols] = MESH.map(|name| point.number(name).map(real));
        Some(value * (rows? * cols?).sqrt())
    }
}

fn with_number(figure: Figure, id: String, number: &str, title: &str) -> Figure {
    let title = format!("Figure {number} of the thesis: {title}");
    Figure { id, number: Some(number.into()), title, ..figure }
}

/// The points of `kernel` over one hop and over the most, as the thesis has them; all where hops
/// are no parameter.
fn near_and_far<'a>(kernel: &KernelPoints<'a>) -> KernelPoints<'a> {
    let hops = kernel.values("hops");
    let is_end = |n_hops: u64| n_hops == 1 || (n_hops > 1 && hops.last() == Some(&n_hops));
    kernel.only(|point| point.number("hops").is_none_or(is_end))
}
