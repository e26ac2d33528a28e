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
//!
//! `scale` places values and ticks along an axis; `panel` is one plot area with its axes, and `curve`
//! what lies in it. `chart` and `heat_map` put these together; `style` has colours and the script.

mod chart;
mod curve;
mod figure;
mod gnuplot;
mod heat_map;
mod panel;
mod png;
mod scale;
mod style;
mod svg;
mod terminal;

#[cfg(test)]
mod example;

pub use self::gnuplot::csv;
pub use figure::{Axis, Body, Chart, Figure, HeatMap, Kind, Mark, Quantity, Scale, Trace, Vertex};
pub use gnuplot::{gnuplot, gnuplot_frame};
pub use png::{HAS_PNG, PngError, png};
pub use style::{Style, css, script, script_with};
pub use svg::svg;
pub use terminal::{Letters, terminal};
