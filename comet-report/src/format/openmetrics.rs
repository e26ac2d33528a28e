//! OpenMetrics text, for Prometheus and for the metrics reports of GitLab.
//!
//! Values have three digits: GitLab compares their texts, and what is about equal should be equal.
//! All samples of a family stand together, and nothing may follow the last line, so that the text
//! is made from whole runs.
//! Rates that people compare have a family each; the label `formula` of a sample is its formula, as
//! that differs from kernel to kernel.

use std::io::{self, Write};

use comet_core::kernel::RateKind;

use super::cases::{Launches, launches, rate_name, settled};
use crate::record::{PointCounts, Record, Text};

/// Name of a family of samples, its unit, with which the name ends, and its help.
type Family<'a> = [&'a str; 3];

const TIME: Family<'static> =
    ["comet_time_seconds", "seconds", "Time of one operation, the figure to quote."];
const BANDWIDTH: Family<'static> = [
    "comet_bandwidth_bytes_per_second",
    "bytes_per_second",
    "Bytes that an operation moves over its time.",
];
const POINTS: Family<'static> = ["comet_points", "", "Points by what became of them."];

/// Writes the document of `records`.
pub(super) fn write(records: &[Record], out: &mut dyn Write) -> io::Result<()> {
    let cases = launches(records);
    let sample = |case: &Launches<'_>, value: f64| (labels(case), format!("{value:.2e}"));
    let time = |case: &Launches<'_>| Some(sample(case, case.time_ns()? / 1e9));
    let bandwidth = |case: &Launches<'_>| Some(sample(case, case.bytes_per_s()?));
    family(TIME, &cases.values().filter_map(time).collect::<Vec<_>>(), out)?;
    family(BANDWIDTH, &cases.values().filter_map(bandwidth).collect::<Vec<_>>(), out)?;
    for kind in RateKind::ALL {
        let [name, unit, help] = &of_rate(kind);
        let rate = |case: &Launches<'_>| {
            let (value, formula) = case.rate(kind)?;
            let (labels, value) = sample(case, value);
            Some((format!("{labels},formula=\"{}\"", escaped(formula)), value))
        };
        family([name, unit, help], &cases.values().filter_map(rate).collect::<Vec<_>>(), out)?;
    }
    family(POINTS, &counts(records), out)?;
    writeln!(out, "# EOF")
}

/// The family of the rates of `kind`.
fn of_rate(kind: RateKind) -> [String; 3] {
    let unit = format!("{}_per_second", kind.unit());
    let name = format!("comet_{}_{unit}", rate_name(kind, "_"));
    let words = kind.words();
    let (first, rest) = words.split_at(1);
    [name, unit, format!("{}{rest}, by its formula.", first.to_uppercase())]
}

/// Writes the head of a family, and a sample for each pair of labels and value.
fn family(of: Family<'_>, samples: &[(String, String)], out: &mut dyn Write) -> io::Result<()> {
    let [name, unit, help] = of;
    if samples.is_empty() {
        return Ok(());
    }
    writeln!(out, "# TYPE {name} gauge")?;
    if !unit.is_empty() {
        writeln!(out, "# UNIT {name} {unit}")?;
    }
    writeln!(out, "# HELP {name} {help}")?;
    samples.iter().try_for_each(|(labels, value)| writeln!(out, "{name}{{{labels}}} {value}"))
}

fn labels(case: &Launches<'_>) -> String {
    let point = case.points[0];
    let own = [
        ("suite", point.suite.clone()),
        ("kernel", point.kernel.clone()),
        ("series", point.variant.clone().unwrap_or_default()),
    ];
    let params = settled(point).map(|(name, value)| (name, Text::from(value.to_string())));
    let transport = [("transport", case.transport.unwrap_or_default().to_owned().into())];
    let all = own.into_iter().chain(params).chain(transport);
    let texts = all.map(|(name, value)| format!("{}=\"{}\"", label_name(name), escaped(&value)));
    texts.collect::<Vec<_>>().join(",")
}

/// `name` with what a name of a label may hold.
fn label_name(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn counts(records: &[Record]) -> Vec<(String, String)> {
    let mut counts = PointCounts::default();
    for record in records {
        if let Record::Point(point) = record {
            counts.add(point.status());
        }
    }
    let PointCounts { ok, check_failed, failed, skipped } = counts;
    let of_status =
        [("ok", ok), ("check_failed", check_failed), ("failed", failed), ("skipped", skipped)];
    of_status.map(|(status, n)| (format!("status=\"{status}\""), n.to_string())).to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_labels_are_escaped() {
        let check = |value: &str, expected: &str| assert_eq!(escaped(value), expected);
        check("north", "north");
        check("a \"b\"\\\n", "a \\\"b\\\"\\\\\\n");
    }

    #[test]
    fn families_end_with_their_unit() {
        let of_rates = RateKind::ALL.map(of_rate);
        let names = of_rates.iter().map(|[name, unit, _]| [&**name, &**unit]);
        let all = names.chain([TIME, BANDWIDTH].map(|[name, unit, _]| [name, unit]));
        for [name, unit] in all {
            assert!(name.ends_with(&format!("_{unit}")), "{name}");
        }
    }

    #[test]
    fn without_a_point_there_is_an_end_all_the_same() {
        let text = crate::fixture::render("openmetrics", &[]);
        assert!(text.ends_with("comet_points{status=\"skipped\"} 0\n# EOF\n"));
    }
}
