//! Figures: what they show, apart from how they are drawn.
//!
//! ```text
//!   runs ──► figures ──► Figure ──┬─► svg        the page, files, PNG
//!                                 ├─► terminal   show --plots
//!                                 └─► csv, gnuplot
//! ```
//!
//! A figure holds values in the base units of the record (ns, bytes, bytes/s); axes choose the
//! unit in which ticks are written. Equal figures are drawn to equal bytes.

mod figure;

pub use figure::{Axis, Body, Chart, Figure, HeatMap, Kind, Mark, Point, Quantity, Scale, Series};
