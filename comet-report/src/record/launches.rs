//! Wire types of the launches of a `point` line.

use serde::{Deserialize, Serialize};

use super::Interval;
use crate::launches::count;
use crate::words::period;

/// Launches of which the numbers of a point are: its interval holds from one to the next.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Launches {
    /// The figure of each, for one operation, in time order.
    pub quoted_ns: Vec<f64>,
    /// Their numbers, from 1; empty where all launches count, from the first on. Since minor version 13.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub numbers: Vec<u32>,
    /// Number of slices of each.
    pub slices: Vec<usize>,
    /// Seconds from the end of the case in the first launch to its end in the last.
    pub period_s: f64,
    /// True if a period of under 15 s makes the interval one of this moment: machines change their
    /// speed more slowly. Absent if false, as in simulations. Since minor version 13.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_of_moment: bool,
    /// Variance of the logarithms of their figures.
    pub variance_between: f64,
    /// Variance that the slices of a launch give the logarithm of its figure, in the mean; `null`
    /// where a launch has a single slice.
    pub variance_within: Option<f64>,
    /// Figures at each time of a cache line between ranks 0 and 1, where cores have moved between
    /// launches: the first is that of the point.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub speeds: Vec<Speed>,
}

/// Figure of the launches at one place: those in which a cache line takes about as long.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Speed {
    /// The shortest and the longest time of a cache line between ranks 0 and 1.
    pub line_ns: [f64; 2],
    /// Number of launches.
    pub launches: usize,
    /// Their share of the slices of all launches, 0 to 1.
    pub share: f64,
    /// The median of their figures, for one operation.
    pub quoted_ns: f64,
    /// Its interval from one launch to the next; `null` for one launch.
    pub interval_ns: Option<Interval>,
}

/// Factor between two speeds of a point that are worth a word.
const SPEEDS_DIFFER: f64 = 1.1;

impl Launches {
    /// The number of each launch and its figure, for one operation in nanoseconds.
    pub(crate) fn figures_ns(&self) -> impl Iterator<Item = (u32, f64)> {
        let number = |index: u32| *self.numbers.get(index as usize).unwrap_or(&(index + 1));
        (0..).map(number).zip(self.quoted_ns.iter().copied())
    }

    /// Speeds that differ from that of the point.
    pub(crate) fn other_speeds(&self) -> impl Iterator<Item = &Speed> {
        let own_ns = self.speeds.first().map_or(0.0, |own| own.quoted_ns);
        let differs = move |speed: &&Speed| {
            (speed.quoted_ns / own_ns).ln().abs() > SPEEDS_DIFFER.ln() && own_ns > 0.0
        };
        self.speeds.iter().filter(differs)
    }

    /// Number and period of `several` points' launches: `3 to 5 launches in up to 2.4 s`, and
    /// `of this moment` where that is short.
    pub(crate) fn words<'a>(several: impl Iterator<Item = &'a Self> + Clone) -> Option<String> {
        let numbers = several.clone().map(|launches| launches.slices.len());
        let (least, most) = (numbers.clone().min()?, numbers.max()?);
        let moment =
            if several.clone().any(|of| of.is_of_moment) { ", of this moment" } else { "" };
        let longest = several.map(|of| of.period_s).max_by(f64::total_cmp).map(period)?;
        Some(if least == most {
            format!("{} in {longest}{moment}", count(most))
        } else {
            format!("{least} to {} in up to {longest}{moment}", count(most))
        })
    }
}
