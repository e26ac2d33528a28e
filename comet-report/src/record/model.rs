//! Wire types of a `model` line: the laws that the points of one sweep follow.
//!
//! A model follows from points before it, and can be made from them again; since minor version 2.

use serde::{Deserialize, Serialize};

use super::{Params, Text};

/// The laws that were fitted to the points of one sweep: equal in all but the swept parameter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Model {
    /// Id of the run; of the last one, if the sweep is over several.
    pub run_id: String,
    /// Name of the suite.
    pub suite: Text,
    /// Name of the kernel within the suite.
    pub kernel: Text,
    /// Name of the series.
    pub variant: Option<Text>,
    /// The parameters that all points have in common.
    pub params: Params,
    /// Kind of law: `line`, `hops`, `scaling`, `intensity`, `loggp` or `max_rate`.
    pub model: String,
    /// Quantity that varies from point to point: a parameter, or `bytes_per_op`.
    pub x: String,
    /// Unit of `x`; also that of all sizes below.
    pub x_unit: String,
    /// Weights of the points: `interval` (by their confidence intervals), or `relative` (all have
    /// the same relative error).
    pub weights: String,
    /// Number of launches, each with fits of its own: good fits have the medians of their parameters,
    /// and the intervals from one launch to the next. `null` where one fit gives both, with the
    /// scatter around it. Since minor version 13.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launches: Option<usize>,
    /// The fits, the one to quote first.
    pub fits: Vec<Fit>,
    /// Boundaries between segments.
    pub breakpoints: Vec<Breakpoint>,
    /// Figures of the points themselves, which need no law.
    pub marks: Vec<Parameter>,
    /// Warnings, in words that programs can look for (`t0_nonpositive`).
    pub warnings: Vec<String>,
}

/// One law over one range.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Fit {
    /// Its name: `line` (robust, over all points), `segment` (robust, over some),
    /// `parkbench_ols` (all points count the same), or that of the law.
    pub name: String,
    /// Its formula.
    pub law: String,
    /// The smallest `x` of its points.
    pub from: f64,
    /// The largest `x` of its points.
    pub to: f64,
    /// Its parameters.
    pub parameters: Vec<Parameter>,
    /// Quality of the fit.
    pub quality: FitQuality,
}

/// A number that was fitted or read off, with its 95 % interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Parameter {
    /// Its name (`r_inf`).
    pub name: String,
    /// Its unit (`MB/s`, with 10^6 bytes); empty for a plain number.
    pub unit: String,
    /// The number; `null` if the points say nothing about it.
    pub value: Option<f64>,
    /// Lower end of its interval, where there is one.
    pub low: Option<f64>,
    /// Upper end of its interval, where there is one.
    pub high: Option<f64>,
}

/// Quality of a fit; errors are relative to the times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FitQuality {
    /// Number of points.
    pub n_points: usize,
    /// Points beyond those that the parameters need.
    pub dof: usize,
    /// Squares of the errors in standard errors of the points, for each of these: 1 if the points
    /// scatter as their intervals say; `null` if an interval is not known. Before minor version 8
    /// no standard error counted as less than 0.5 % of its time.
    pub chi2_red: Option<f64>,
    /// Root of the mean square of the errors.
    pub relative_rmse: f64,
    /// The largest error.
    pub max_relative_residual: f64,
    /// The size at which it is.
    pub max_at: f64,
    /// Probability of so few changes of sign if the law is right; `null` if there are none.
    pub runs_p: Option<f64>,
    /// Bayesian information criterion; only differences for the same points mean anything.
    pub bic: f64,
    /// Use that the fit permits.
    pub verdict: FitGrade,
}

/// Use that a fit permits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "Verdict"))]
#[serde(rename_all = "lowercase")]
pub enum FitGrade {
    /// It describes the points.
    Good,
    /// It does not, but several segments do.
    Segment,
    /// It does not.
    Poor,
}

/// Boundary between two segments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Breakpoint {
    /// The largest size of the lower segment.
    pub at: f64,
    /// Origin.
    pub how: BreakpointSource,
    /// Lower end of the 95 % interval of its place; `null` if it was given.
    pub low: Option<f64>,
    /// Upper end of that interval.
    pub high: Option<f64>,
}

/// Origin of a breakpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum BreakpointSource {
    /// The user (PARKBENCH report, COMMS1: a breakpoint may be read in).
    Given,
    /// The segmented regression.
    Searched,
}
