//! The page and the twelve rules for reporting results of parallel computing.
//!
//! The rules: Hoefler and Belli, Scientific Benchmarking of Parallel Computing Systems, SC 2015;
//! they are told here in other words.

use super::Content;
use super::html::{Html, row, table};
use super::method::{measured, qualities};
use super::number::counted;
use crate::record::PointStatus;

/// A rule, and the answer of this page.
type Rule = (&'static str, fn(&Content<'_>) -> String);

/// The rules, from the first to the twelfth.
const RULES: &[Rule] = &[
    ("Give the base of each speedup.", |_| {
        "Times and rates are absolute; there are no speedups here.".into()
    }),
    ("Say why only a part was measured.", left_out),
    ("Use means that fit: of costs, of rates.", |_| {
        "Times are summarised, and rates follow from their summary.".into()
    }),
    ("Do not average ratios.", |_| "There is no score, and no mean over kernels.".into()),
    ("Say whether values are deterministic, or give intervals.", intervals),
    ("Do not take for granted that values are normal.", |_| {
        "Medians and their intervals come from order, not from a distribution.".into()
    }),
    ("Compare by sound statistics.", comparison),
    ("See whether the median is the right figure.", |_| {
        "Quartiles and the least value stand beside it, and the record has further percentiles \
         and all samples."
            .into()
    }),
    ("Tell all factors and the setup.", |_| {
        "They stand under Environment, with command line and fingerprint.".into()
    }),
    ("Tell how times were taken, started together and summarised.", |_| {
        "Each point has a definition; this section says the rest.".into()
    }),
    ("Show bounds, where there are any.", |_| {
        "r∞ and the best rate that was seen bound what a program can reach.".into()
    }),
    ("Plot what is needed to judge, and join points only where that means something.", |_| {
        "Figures have intervals and the middle half of the samples; models are drawn over their \
         range alone."
            .into()
    }),
];

/// A row for each rule.
pub(super) fn list(content: &Content<'_>) -> Html {
    let rows = RULES.iter().enumerate().map(|(index, (rule, answer))| {
        row("td", [format!("{}", index + 1), (*rule).into(), answer(content)])
    });
    table("", &["", "Rule", "Here"], rows.collect::<Html>())
}

fn left_out(content: &Content<'_>) -> String {
    let is_out = |status| !matches!(status, PointStatus::Ok);
    let n_out = content.points().filter(|(_, point)| is_out(point.status)).count();
    let planned: usize = content.starts().map(|run| run.n_cases).sum();
    let cases = counted(planned, "case was", "cases were");
    let points = counted(n_out, "point has", "points have");
    format!("{cases} planned; {points} no numbers, and each says why.")
}

fn intervals(content: &Content<'_>) -> String {
    if content.starts().any(|run| run.clock.is_virtual) {
        return "Simulated times are deterministic; those with noise have intervals.".into();
    }
    let points = measured(content);
    let n_with = qualities(&points).filter(|quality| quality.interval_ns.is_some()).count();
    format!("{n_with} of {} have a 95 % interval.", counted(points.len(), "point", "points"))
}

fn comparison(content: &Content<'_>) -> String {
    if content.runs.len() < 2 {
        return "One run is shown; comet-run compare decides between several launches.".into();
    }
    "Runs are overlaid to be looked at; whether they differ, comet-run compare decides.".into()
}
