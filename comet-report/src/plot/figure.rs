//! A figure.

/// A figure: what is shown, under which name.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Name for files and links, unique in a report: `a-z`, `0-9`, `-` and `.` (`echo-time`).
    pub id: String,
    /// Its number in the thesis (`5.1`), if it is one of those.
    pub number: Option<String>,
    /// Title, in a few words.
    pub title: String,
    /// Both axes, definitions and numbers of samples, in one sentence or two.
    pub caption: String,
    /// Meaning of marks, bars and bands, a sentence each; many figures have the same.
    pub notes: Vec<String>,
    /// The values.
    pub body: Body,
}

impl Figure {
    /// The caption with the notes, for a figure that stands alone.
    pub fn description(&self) -> String {
        let parts = std::iter::once(&self.caption).chain(&self.notes);
        parts.filter(|part| !part.is_empty()).cloned().collect::<Vec<_>>().join(" ")
    }
}

/// The values of a figure.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// Curves over two axes.
    Chart(Chart),
    /// A value for each pair of ranks.
    HeatMap(HeatMap),
}

/// Curves over two axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The curves, in the order of the legend; later ones are drawn above.
    pub series: Vec<Trace>,
    /// Single values on an axis worth a line through the figure: an asymptote, a break.
    pub marks: Vec<Mark>,
    /// Curves of relative errors in percent, drawn in a strip below over the same x; empty for
    /// none.
    pub residuals: Vec<Trace>,
}

/// One axis of a chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// Quantity, without the unit (`message length`).
    pub label: String,
    /// Quantity of its values; ticks are written in a fitting unit.
    pub quantity: Quantity,
    /// Scale of the values.
    pub scale: Scale,
}

/// Quantity of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Times in ns; ticks in ns, us, ms or s.
    TimeNs,
    /// Lengths in bytes; ticks in B, KiB, MiB, GiB.
    Bytes,
    /// Rates in bytes per second; ticks in B/s, kB/s, MB/s, GB/s (powers of 1000).
    BytesPerSecond,
    /// Rates of anything else per second; ticks with k, M, G (powers of 1000).
    PerSecond,
    /// Plain numbers: ranks, dimensions, vector lengths, numbers of samples.
    Count,
    /// Shares and errors, in percent.
    Percent,
    /// Ratios of two times or rates; 1 is no change.
    Ratio,
}

/// Scale of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// In proportion.
    Linear,
    /// By the logarithm, with ticks at powers of two; 0 has a place of its own, left of a break.
    Log2,
    /// By the logarithm, with ticks at powers of ten; 0 has a place of its own, below a break.
    Log10,
}

/// One curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// Its name in the legend.
    pub name: String,
    /// Kind of curve.
    pub kind: Kind,
    /// Number of its colour and its mark, from 0; a fit has that of its points.
    pub colour: usize,
    /// Number of its dashes, from 0 for a solid line.
    pub dashes: usize,
    /// Its points, in the order in which they are joined.
    pub points: Vec<Vertex>,
}

/// Kind of a curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Marks joined by lines, with a band or bars where points have intervals.
    Curve,
    /// A law: a line without marks.
    Fit,
    /// Marks alone.
    Scatter,
    /// A distribution: steps without marks.
    Steps,
}

/// One point of a curve.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Vertex {
    /// Place on the horizontal axis, in its base unit.
    pub x: f64,
    /// Place on the vertical axis, in its base unit.
    pub y: f64,
    /// The 95 % interval of `y`, where there is one.
    pub interval: Option<(f64, f64)>,
    /// The range of the middle half of the samples, where there is one.
    pub middle_half: Option<(f64, f64)>,
    /// True if it is drawn hollow: measured in addition to the sweep, or short of its target.
    pub is_hollow: bool,
    /// Remark beside its values, in a few words; may be empty.
    pub note: String,
    /// Value of a point beyond the axis: `y` is the end of the axis, at which an arrow stands with
    /// the value beside it.
    pub beyond: Option<f64>,
}

impl Vertex {
    /// The value, also of a point beyond the axis.
    pub(crate) fn value(&self) -> f64 {
        self.beyond.unwrap_or(self.y)
    }
}

/// A line through a chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    /// Label (`r∞ 8.3 GB/s`).
    pub label: String,
    /// True if it crosses the horizontal axis, at an x; else it is at a y.
    pub is_at_x: bool,
    /// Position.
    pub at: f64,
    /// Number of its colour.
    pub colour: usize,
}

/// A value for each pair of ranks.
#[derive(Clone, Debug, PartialEq)]
pub struct HeatMap {
    /// Names of rows and columns: the ranks, with their hosts.
    pub names: Vec<String>,
    /// Quantity of the values.
    pub quantity: Quantity,
    /// Row by row; `None` where nothing was measured.
    pub values: Vec<Option<f64>>,
    /// Indices before which a line is drawn: the first ranks of further nodes.
    pub borders: Vec<usize>,
    /// Labels of rows and columns (`from rank`, `to rank`).
    pub axes: [String; 2],
}
