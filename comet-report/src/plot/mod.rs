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
//! `scale` places values along an axis and `tick` labels it; `panel` is one plot area with its
//! axes, `curve` and `rule` are what lies in it, `legend` what stands above it. `chart` and
//! `heat_map` put these together, `style` has the colours, and `script` what a page adds.

mod chart;
mod csv;
mod curve;
mod figure;
mod gnuplot;
mod grid;
mod heat_map;
mod legend;
mod panel;
mod png;
mod rule;
mod scale;
mod script;
mod style;
mod svg;
mod terminal;
mod text;
mod tick;

#[cfg(test)]
mod example;

pub use self::csv::csv;
pub use figure::{Axis, Body, Chart, Figure, HeatMap, Kind, Mark, Quantity, Scale, Trace, Vertex};
pub use gnuplot::{gnuplot, gnuplot_frame};
pub use png::{PngError, png};
pub use script::script;
pub use style::{Style, css};
pub use svg::svg;
pub use terminal::{Letters, terminal};
