//! Sections of a comparison, in the order of their weight: tables and sentences that text and
//! Markdown set in their own ways.

use comet_stats::compare::Verdict;

use crate::compare::{
    Change, Comparison, FailureRow, KernelRow, MissingRow, ParameterRow, PointRow, Spread,
};

use crate::record::Name;
use crate::units::{DIGITS, fixed_us, significant};
use crate::words;

/// Most rows or sentences of a kind; JSON has all of them.
const MAX_ROWS: usize = 20;

/// A table below a title, with sentences below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Title; empty for the first.
    pub title: String,
    /// Rows of cells, first the names of the columns; nothing without a table.
    pub table: Vec<Vec<String>>,
    /// Sentences.
    pub lines: Vec<String>,
}

/// Everything that people are told about `comparison`.
pub(crate) fn sections(comparison: &Comparison) -> Vec<Section> {
    let all = [
        power(comparison),
        kernels(comparison),
        points(comparison, "slower or faster", Verdict::is_change),
        points(comparison, "changed near the margin", |verdict| verdict == Verdict::Changed),
        points(comparison, "inconclusive", |verdict| verdict == Verdict::Inconclusive),
        sentences("failing in the new runs", &comparison.failures, failure),
        sentences("on one side only", &comparison.missing, missing),
        parameters(comparison),
        sentences("environment differs", &comparison.environment, environment),
        conclusion(comparison),
    ];
    all.into_iter()
        .filter(|section| !section.table.is_empty() || !section.lines.is_empty())
        .collect()
}

/// Change of a point's time, in one sentence.
pub(super) fn change(row: &PointRow) -> String {
    let (base, new) = (fixed_us(row.base_ns), fixed_us(row.new_ns));
    let interval = interval(row.low, row.high);
    let ratio = ratio(row.ratio);
    format!("{ratio} times the base ({interval}), {base} us before and {new} us now")
}

/// The changes that the launches could show, and the launches that do not count.
fn power(comparison: &Comparison) -> Section {
    let n_all = comparison.points.len();
    let sizes = comparison
        .power
        .iter()
        .map(|power| format!("{:.0} % at {}", 100.0 * power.change, power.n_points));
    let sizes = sizes.collect::<Vec<_>>().join(", ");
    let seen = format!("power: of {n_all} points a change would have been seen of {sizes}");
    let lines = (!sizes.is_empty()).then_some(seen);
    let lines =
        lines.into_iter().chain(comparison.notes.iter().map(|note| format!("note: {note}")));
    Section { title: String::new(), table: Vec::new(), lines: lines.collect() }
}

fn kernels(comparison: &Comparison) -> Section {
    let names = ["kernel", "points", "ratio", "95 % CI", "verdict", "worst"];
    let row = |row: &KernelRow| {
        vec![
            row.kernel.clone(),
            row.n_points.to_string(),
            format!("{:.3}", row.ratio),
            interval(row.low, row.high),
            row.verdict.name().to_owned(),
            format!("{:.3} at {}", row.worst_ratio, row.worst_at),
        ]
    };
    let table = table(&names, comparison.kernels.iter().map(row).collect());
    Section { title: String::new(), table, lines: Vec::new() }
}

/// The points whose verdict `is_one`, worst first.
fn points(comparison: &Comparison, title: &str, is_one: impl Fn(Verdict) -> bool) -> Section {
    let names = ["verdict", "ratio", "95 % CI", "base_us", "new_us", "q", "point", "note"];
    let mut rows: Vec<&PointRow> =
        comparison.points.iter().filter(|row| is_one(row.verdict)).collect();
    let order = |row: &PointRow| row.ratio.unwrap_or(0.0);
    rows.sort_by(|a, b| order(b).total_cmp(&order(a)));
    let n_rows = rows.len();
    let cells = rows.into_iter().take(MAX_ROWS).map(point).collect();
    Section { title: title.into(), table: table(&names, cells), lines: left_out(n_rows) }
}

fn point(row: &PointRow) -> Vec<String> {
    let again = row.confirmation.map(|again| format!("again: ratio {:.3}", again.ratio));
    let note = row.why.clone().or(again).unwrap_or_default();
    vec![
        row.verdict.name().to_owned(),
        ratio(row.ratio),
        interval(row.low, row.high),
        fixed_us(row.base_ns),
        fixed_us(row.new_ns),
        row.q.map_or("-".into(), |q| format!("{q:.2e}")),
        format!("{} {}", row.kernel, row.params),
        note,
    ]
}

fn ratio(ratio: Option<f64>) -> String {
    ratio.map_or("-".into(), |ratio| format!("{ratio:.3}"))
}

fn failure(row: &FailureRow) -> String {
    let message = row.message.as_deref().unwrap_or("no reason is given");
    let base = if row.is_regression { "; the base measured it" } else { "" };
    format!("{} {}: {}: {message}{base}", row.kernel, row.params, Name(row.status))
}

fn missing(row: &MissingRow) -> String {
    let reason = row.message.as_deref().unwrap_or("not measured");
    let (kernel, params) = (&row.kernel, &row.params);
    format!("{kernel} {params}: not in the {} runs: {reason}", row.missing_in)
}

fn environment(change: &Change) -> String {
    let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "unknown".into());
    format!("{}: {} -> {}", change.what, value(&change.from), value(&change.to))
}

/// The parameters whose intervals lie apart; the others are counted.
fn parameters(comparison: &Comparison) -> Section {
    let names = ["parameter", "base", "new", "ratio", "sweep"];
    let apart: Vec<&ParameterRow> =
        comparison.parameters.iter().filter(|row| row.overlap == Some(false)).collect();
    let n_overlapping =
        comparison.parameters.iter().filter(|row| row.overlap == Some(true)).count();
    let cells = apart.iter().take(MAX_ROWS).map(|row| parameter(row)).collect();
    let mut lines = left_out(apart.len());
    if n_overlapping > 0 {
        lines.push(format!("intervals of {n_overlapping} fitted parameters overlap"));
    }
    let title = "fitted parameters, for information";
    Section { title: title.into(), table: table(&names, cells), lines }
}

fn parameter(row: &ParameterRow) -> Vec<String> {
    let spread = |of: Spread| {
        let [value, low, high] = [of.value, of.low, of.high]
            .map(|number| number.map_or("-".into(), |number| significant(number, DIGITS)));
        format!("{value} [{low}, {high}]")
    };
    vec![
        format!("{}_{}", row.name, row.unit),
        spread(row.base),
        spread(row.new),
        ratio(row.ratio),
        format!("{} {}", row.kernel, row.params),
    ]
}

/// Method and result of the comparison.
fn conclusion(comparison: &Comparison) -> Section {
    let mut lines = vec![how(comparison)];
    if let Some(control) = &comparison.control {
        let (changed, all) = (control.n_changed, control.n_points);
        lines.push(format!(
            "control: {changed} of {all} points of the base differ from the base itself"
        ));
    }
    if comparison.is_advisory() {
        lines.push(
            "ADVISORY: this machine is too unsteady for verdicts; what is slower fails nothing"
                .into(),
        );
    }
    lines.push(verdict(comparison));
    Section { title: String::new(), table: Vec::new(), lines }
}

fn how(comparison: &Comparison) -> String {
    let Comparison { n_base_runs, n_new_runs, margin, .. } = comparison;
    let uses = |method| comparison.points.iter().any(|row| row.method == Some(method));
    let mut text = format!("{} against {n_base_runs}", words::count(*n_new_runs, "measurement"));
    if uses("paired") {
        text += ", in pairs";
    }
    if uses("samples") {
        text +=
            ", by the samples of single launches: what changes from launch to launch is not seen";
    }
    if comparison.is_confirmed {
        text += "; changes were looked for again in other launches";
    }
    if comparison.points.iter().all(|row| row.method == Some("exact")) && uses("exact") {
        return text + "; times are exact, and every difference counts";
    }
    let (share, short) = (100.0 * margin, 200.0 * margin);
    text + &format!("; changes below {share:.3} % ({short:.3} % below 1 us) or 20 ns do not count")
        .replace(".000", "")
}

fn verdict(comparison: &Comparison) -> String {
    let count = |verdict| comparison.count(verdict);
    let n_points = comparison.points.len();
    let mut text = format!(
        "verdict: of {} {} slower, {} faster, {} changed, {} same, {} inconclusive",
        words::count(n_points, "point"),
        count(Verdict::Slower),
        count(Verdict::Faster),
        count(Verdict::Changed),
        count(Verdict::Same),
        count(Verdict::Inconclusive)
    );
    if n_points == 0 {
        text = "verdict: no points to compare".into();
    }
    let n_failing = comparison.failures.iter().filter(|row| row.is_regression).count();
    if n_failing > 0 {
        let cases = words::count(n_failing, "case");
        text += &format!("; of what the base measured {cases} failed");
    }
    text
}

fn sentences<R>(title: &str, rows: &[R], sentence: impl Fn(&R) -> String) -> Section {
    let mut lines: Vec<String> = rows.iter().take(MAX_ROWS).map(sentence).collect();
    lines.extend(left_out(rows.len()));
    Section { title: title.into(), table: Vec::new(), lines }
}

fn left_out(n_rows: usize) -> Vec<String> {
    let more = n_rows.checked_sub(MAX_ROWS).filter(|more| *more > 0);
    more.map(|more| format!("and {more} more (--format json has all)")).into_iter().collect()
}

/// `rows` below the names of their columns; nothing without any.
fn table(names: &[&str], rows: Vec<Vec<String>>) -> Vec<Vec<String>> {
    if rows.is_empty() {
        return rows;
    }
    let head = names.iter().map(|name| (*name).to_owned()).collect();
    std::iter::once(head).chain(rows).collect()
}

fn interval(low: Option<f64>, high: Option<f64>) -> String {
    match (low, high) {
        (Some(low), Some(high)) => format!("{low:.3}-{high:.3}"),
        _ => "-".into(),
    }
}
