//! The figures of the thesis under their numbers, over its own axes: linear, and with round trips
//! where it plots those.
//!
//! Each is made from the run with the thesis's number of ranks, or, without one, from that with the
//! most. Figure 5.6 is the scaling of the barrier, which has its axes.

use super::caption;
use super::chart::{self, Y, along, axis, series_at};
use super::curve::curves;
use super::sizes::rates;
use super::sources::{KernelPoints, Measured, Sources};
use crate::models::sweep::real;
use crate::plot::{Axis, Figure, Quantity, Scale, Trace};
use crate::record::{MESH, Point, RANKS};
use crate::words;

const LENGTH: &str = "length_bytes";
const VECTOR: &str = "vector_length";

/// The longest messages and vectors of the figures over them: breaks show up to here.
const LONGEST_BYTES: u64 = 8192;
const LONGEST_SUM: u64 = 1024;
/// The longest vectors of figure 5.11, the beginning of figure 5.10.
const ZOOMED: u64 = 10_000;

enum Ranks {
    All,
    Number(u64),
}

#[derive(Clone, Copy)]
enum Shows {
    Time,
    /// The time of a round trip, of which one way was quoted.
    RoundTrip,
    Bandwidth,
}

impl Shows {
    fn y(self) -> Y {
        match self {
            Self::Time => chart::time,
            Self::RoundTrip => |_, one_way_ns| Some(2.0 * one_way_ns),
            Self::Bandwidth => chart::rate,
        }
    }

    fn axis(self) -> Axis {
        match self {
            Self::Time => chart::times("time", Scale::Linear),
            Self::RoundTrip => chart::times("time of a round trip", Scale::Linear),
            Self::Bandwidth => rates(),
        }
    }
}

/// One figure of the thesis.
struct Entry {
    number: &'static str,
    /// Suffix of its id, if there are two of one number.
    part: &'static str,
    title: &'static str,
    kernels: &'static [&'static str],
    ranks: Ranks,
    keep: fn(&Point) -> bool,
    x: &'static str,
    shows: Shows,
}

const ENTRIES: &[Entry] = &[
    Entry {
        title: "echo, round trip",
        kernels: &["comet/echo"],
        shows: Shows::RoundTrip,
        ..entry("5.1", "")
    },
    Entry {
        title: "echo, bandwidth",
        kernels: &["comet/echo"],
        shows: Shows::Bandwidth,
        ..entry("5.2", "")
    },
    Entry {
        title: "broadcast time",
        kernels: &["comet/broadcast"],
        ranks: Ranks::All,
        ..entry("5.3", "")
    },
    Entry { title: "pairwise exchange time", kernels: &["comet/exchange"], ..entry("5.4", "") },
    Entry {
        title: "echo under load, round trip",
        kernels: &["comet/contention"],
        ranks: Ranks::Number(8),
        shows: Shows::RoundTrip,
        ..entry("5.5", "")
    },
    Entry {
        title: "global sum of one double",
        kernels: &["comet/reduction"],
        ranks: Ranks::All,
        keep: |point| point.number(VECTOR) == Some(1),
        x: RANKS,
        ..entry("5.7", "")
    },
    Entry {
        title: "global sum of vectors",
        kernels: &["comet/reduction"],
        ranks: Ranks::All,
        keep: |point| number_at_most(point, VECTOR, LONGEST_SUM),
        x: VECTOR,
        ..entry("5.7", "-by-length")
    },
    Entry {
        title: "DAXPY time",
        kernels: &["comet/overlap"],
        ranks: Ranks::Number(4),
        keep: |point| point.variant.as_deref() == Some("daxpy") && is_of_messages(point, 0),
        x: VECTOR,
        ..entry("5.8", "")
    },
    Entry {
        title: "exchange of 0 B and DAXPY, with and without overlap",
        keep: |point| is_together(point) && is_of_messages(point, 0),
        ..overlap("5.9")
    },
    Entry {
        title: "exchange of 2536 B and DAXPY, with and without overlap",
        keep: |point| is_together(point) && is_of_messages(point, 2536),
        ..overlap("5.10")
    },
    Entry {
        title: "exchange of 2536 B and DAXPY of short vectors, with and without overlap",
        keep: |point| {
            is_together(point)
                && is_of_messages(point, 2536)
                && number_at_most(point, VECTOR, ZOOMED)
        },
        ..overlap("5.11")
    },
    Entry {
        title: "exchange of 85000 B and DAXPY, with and without overlap",
        keep: |point| is_together(point) && is_of_messages(point, 85_000),
        ..overlap("5.12")
    },
    Entry { title: "update guard", kernels: &["matrix/update_guard"], ..matrix("5.13") },
    Entry { title: "shift", kernels: &["matrix/shift"], ..matrix("5.14") },
    Entry {
        title: "row and column broadcast",
        kernels: &["matrix/row_broadcast", "matrix/col_broadcast"],
        ..matrix("5.15")
    },
    Entry { title: "transpose", kernels: &["matrix/transpose"], ..matrix("5.16") },
];

/// The times of message lengths on 16 ranks; what is not said of a figure.
const fn entry(number: &'static str, part: &'static str) -> Entry {
    Entry {
        number,
        part,
        title: "",
        kernels: &[],
        ranks: Ranks::Number(16),
        keep: |point| number_at_most(point, LENGTH, LONGEST_BYTES),
        x: LENGTH,
        shows: Shows::Time,
    }
}

const fn overlap(number: &'static str) -> Entry {
    Entry { kernels: &["comet/overlap"], x: VECTOR, ..entry(number, "") }
}

const fn matrix(number: &'static str) -> Entry {
    Entry { keep: |_| true, x: "local_n", ..entry(number, "") }
}

fn number_at_most(point: &Point, name: &str, most: u64) -> bool {
    point.number(name).is_some_and(|value| value <= most)
}

fn is_of_messages(point: &Point, length: u64) -> bool {
    point.number(LENGTH) == Some(length)
}

/// True if `point` is of an exchange and a DAXPY, with or without overlap.
fn is_together(point: &Point) -> bool {
    ["synchronous", "asynchronous"].map(Some).contains(&point.variant.as_deref())
}

/// The figures that `sources` has points for, two at least.
pub(super) fn figures(sources: &Sources<'_>) -> Vec<Figure> {
    ENTRIES.iter().filter_map(|entry| entry.figure(sources)).collect()
}

impl Entry {
    fn figure(&self, sources: &Sources<'_>) -> Option<Figure> {
        let kernel = self.kernel(sources)?;
        if kernel.values(self.x).len() < 2 {
            return None;
        }
        let curves = curves(&kernel, self.x);
        let drawn =
            curves.iter().map(|curve| series_at(curve, |point| self.place(point), self.shows.y()));
        let drawn: Vec<Trace> = drawn.collect();
        let chart = chart::chart(self.x_axis(&kernel), self.shows.axis(), drawn);
        let what = format!("{}, against {}", words::capital(self.title), chart.x.label);
        let id = format!("figure-{}{}", self.number, self.part);
        let caption = caption::of(&what, &kernel);
        Some(with_number(kernel.figure("", "", caption, chart), id, self.number, self.title))
    }

    /// The points of the figure, as if they were of one kernel.
    fn kernel<'a>(&self, sources: &'a Sources<'_>) -> Option<KernelPoints<'a>> {
        let mut kernels = self.kernels.iter().filter_map(|name| sources.kernel(name));
        let mut kernel = kernels.next()?;
        for other in kernels {
            kernel.points.extend::<Vec<Measured<'a>>>(other.points);
        }
        let kernel = kernel.only(self.keep);
        Some(near_and_far(&match self.ranks {
            Ranks::All => kernel,
            Ranks::Number(n_ranks) => kernel.on(n_ranks),
        }))
    }

    /// Place of `point` on the horizontal axis: by the dimension of all of the matrix, or of a
    /// square one of its size.
    fn place(&self, point: &Point) -> Option<f64> {
        let value = real(point.number(self.x)?);
        if self.x != "local_n" {
            return Some(value);
        }
        let [rows, cols] = MESH.map(|name| point.number(name).map(real));
        Some(value * (rows? * cols?).sqrt())
    }

    fn x_axis(&self, kernel: &KernelPoints<'_>) -> Axis {
        match self.x {
            "local_n" => axis("dimension of the matrix", Quantity::Count, Scale::Linear),
            RANKS => chart::ranks(Scale::Log2),
            _ => along(kernel, self.x, Scale::Linear),
        }
    }
}

/// `figure` with its number in the thesis, if it is the scaling of the barrier.
pub(super) fn numbered(figure: Figure, kernel: &KernelPoints<'_>) -> Figure {
    match &*kernel.name {
        "comet/barrier" => with_number(figure, "figure-5.6".into(), "5.6", "barrier time"),
        _ => figure,
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
