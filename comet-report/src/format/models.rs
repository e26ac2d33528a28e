//! Tables of models for people: one block per sweep, one row per fit.
//!
//! Beside a number stands its 95 % interval.
//! Of t0, r∞, n½ and π₀ none is ever printed alone, because each of them can be had at the cost of
//! another; two of the four are independent (PARKBENCH report, COMMS1).

use std::fmt::Write as _;
use std::io::Write;

use crate::launches::count;
use crate::record::{Breakpoint, BreakpointSource, Fit, FitGrade, Model, Name, Parameter, Record};
use crate::sink::{RecordSink, Stream};
use crate::units::{DIGITS, SIZE_DIGITS, significant};
use crate::words::aligned;

/// A number that there is not.
const NONE: &str = "-";

/// Writer of records into `out`.
pub(super) fn writer<'a>(out: Box<dyn Write + 'a>) -> Box<dyn RecordSink + 'a> {
    Stream::boxed(out, true, |record, out| match record {
        Record::Model(model) => out.write_all(block(model).as_bytes()),
        _ => Ok(()),
    })
}

/// One line about `model`: the fit to quote, and whether to trust it.
pub(super) fn summary(model: &Model) -> String {
    let Some(fit) = model.fits.first() else { return "none".into() };
    let worst = 100.0 * fit.quality.max_relative_residual;
    let at = significant(fit.quality.max_at, SIZE_DIGITS) + " " + &unit(model);
    let (at, verdict) = (at.trim_end(), Name(fit.quality.verdict));
    let breaks = breakpoints(model).map_or(String::new(), |text| format!("; {text}"));
    let parameters = known(fit);
    if fit.quality.verdict == FitGrade::Segment {
        return format!("{}: one law is off by up to {worst:.0} % (at {at}){breaks}", fit.law);
    }
    format!("{}: {parameters}; worst error {worst:.1} % at {at}; {verdict}{breaks}", fit.law)
}

/// A line for each segment of `model`, where they describe what one law does not.
pub(super) fn segments(model: &Model) -> Vec<String> {
    let is_segmented = model.fits.first().map(|fit| fit.quality.verdict) == Some(FitGrade::Segment);
    let segments = model.fits.iter().filter(|fit| is_segmented && fit.name == "segment");
    let line = |fit: &Fit| {
        let [from, to] = [fit.from, fit.to].map(|size| significant(size, SIZE_DIGITS));
        let verdict = Name(fit.quality.verdict);
        format!("  {from} to {to} {}: {}; {verdict}", unit(model), known(fit))
    };
    segments.map(line).collect()
}

/// The parameters of `fit` that are known.
fn known(fit: &Fit) -> String {
    let known = fit.parameters.iter().filter(|parameter| parameter.value.is_some());
    let known: Vec<String> = known.map(plain).collect();
    if known.is_empty() { "no parameter is known".into() } else { known.join(", ") }
}

/// The unit of sizes, which says so where they count all bytes of an operation.
fn unit(model: &Model) -> String {
    if model.x == "bytes_per_op" { "B moved".into() } else { model.x_unit.clone() }
}

fn block(model: &Model) -> String {
    let Some(first) = model.fits.first() else { return figures(model) };
    let params = model.params.0.iter().map(|(name, value)| format!(" {name}={value}"));
    let sweep =
        model.variant.as_deref().unwrap_or_default().to_owned() + &params.collect::<String>();
    let mut text =
        format!("# {}/{}, {}: {}", model.suite, model.kernel, sweep.trim_start(), first.law);
    write!(text, ", weights: {}", model.weights).expect("a string takes any text");
    let mut parameters = model.fits.iter().flat_map(|fit| &fit.parameters);
    if parameters.any(|parameter| parameter.low.is_some()) {
        let ranges = match model.launches {
            Some(launches) => format!("fits of {}", count(launches)),
            None => "the scatter around one fit".into(),
        };
        text += &format!(", ranges: {ranges}");
    }
    text.push('\n');
    let columns = columns(model);
    let rows = model.fits.iter().map(|fit| row(fit, &columns));
    let rows: Vec<Vec<String>> = std::iter::once(head(model, &columns)).chain(rows).collect();
    for (index, row) in rows.iter().enumerate() {
        let mark = if index == 0 { '#' } else { ' ' };
        text += &format!("{mark} {}\n", aligned(row, &rows, |column| column > 0));
    }
    for note in notes(model) {
        text += &format!("# {note}\n");
    }
    text + "\n"
}

/// The lines of a model without a law: its figures with their intervals.
fn figures(model: &Model) -> String {
    let params = model.params.0.iter().map(|(name, value)| format!(" {name}={value}"));
    let marks = model.marks.iter().map(|mark| format!("  {} {}", mark.name, with_interval(mark)));
    let (params, marks) = (params.collect::<String>(), marks.collect::<String>());
    let warnings = model.warnings.iter().map(|of| format!("# warning: {}\n", warning(of)));
    let warnings = warnings.collect::<String>();
    format!("# {}/{},{params}:{marks}\n{warnings}\n", model.suite, model.kernel)
}

/// The parameters of all fits of `model`, in the order in which they first come.
pub(crate) fn columns(model: &Model) -> Vec<&Parameter> {
    let mut columns: Vec<&Parameter> = Vec::new();
    for parameter in model.fits.iter().flat_map(|fit| &fit.parameters) {
        if !columns.iter().any(|column| column.name == parameter.name) {
            columns.push(parameter);
        }
    }
    columns
}

fn head(model: &Model, columns: &[&Parameter]) -> Vec<String> {
    let with_unit = |name: &str, unit: &str| {
        if unit.is_empty() { name.to_owned() } else { format!("{name}_{unit}") }
    };
    let extent = ["from", "to"].map(|name| with_unit(name, &model.x_unit));
    let parameters = columns.iter().map(|of| with_unit(&of.name, &of.unit));
    let quality = ["rmse_%", "worst_%", "verdict"].map(str::to_owned);
    let name = ["fit".to_owned()];
    let points = ["points".to_owned()];
    name.into_iter().chain(extent).chain(points).chain(parameters).chain(quality).collect()
}

fn row(fit: &Fit, columns: &[&Parameter]) -> Vec<String> {
    let quality = &fit.quality;
    let percent = |share: f64| format!("{:.2}", 100.0 * share);
    let mut cells = vec![
        fit.name.clone(),
        significant(fit.from, SIZE_DIGITS),
        significant(fit.to, SIZE_DIGITS),
        quality.n_points.to_string(),
    ];
    cells.extend(columns.iter().map(|column| {
        let found = fit.parameters.iter().find(|parameter| parameter.name == column.name);
        found.map_or(NONE.into(), with_interval)
    }));
    cells.extend([percent(quality.relative_rmse), percent(quality.max_relative_residual)]);
    cells.push(Name(quality.verdict).to_string());
    cells
}

/// Notes below the rows of `model`.
fn notes(model: &Model) -> Vec<String> {
    let mut notes = Vec::new();
    if model.model == "line" {
        notes.push(
            "two of t0, r_inf, n_half and pi0 are independent: n_half = t0 r_inf, \
             pi0 = r_inf / n_half, in each fit"
                .to_owned(),
        );
    }
    notes.extend(breakpoints(model));
    if !model.marks.is_empty() {
        let marks: Vec<String> = model.marks.iter().map(plain).collect();
        notes.push(format!("measured: {}", marks.join(", ")));
    }
    notes.extend(model.warnings.iter().map(|of| format!("warning: {}", warning(of))));
    notes
}

/// The warning of a record in words; what follows its name stays.
pub(crate) fn warning(of_record: &str) -> String {
    let (name, rest) = of_record.split_once(": ").unwrap_or((of_record, ""));
    let words = match name {
        "t0_nonpositive" => {
            "none of t0, r_inf, n_half and pi0 is known: the line is 0 above size 0"
        }
        "rate_not_identifiable" => {
            "none of t0, r_inf, n_half and pi0 is known: the times show no rate"
        }
        "no_segment" | "no_segments" => "a segment is left out:",
        "no_parkbench_ols" => "a fit of PARKBENCH is left out:",
        "clock_share" => "two readings of the clock are",
        "store_and_forward" => "each node on the way seems to take the whole message first",
        "no_shared_rate" => "the times show no rate that the pairs share",
        "latency_not_identifiable" => "L may be 0: the overheads hide it",
        "short_delay" => "sizes are left out, because their delays are shorter than a round trip",
        "overlap_not_identifiable" => {
            "a share is far outside of 0 to 1: the four times do not belong together, or differ by \
             their scatter alone"
        }
        _ => return of_record.into(),
    };
    format!("{words} {rest}").trim_end().to_owned()
}

/// Breakpoints of `model`, if any.
fn breakpoints(model: &Model) -> Option<String> {
    let unit = &unit(model);
    let text = |breakpoint: &Breakpoint| {
        let at = significant(breakpoint.at, SIZE_DIGITS);
        let how = match breakpoint.how {
            BreakpointSource::Given => ", given".into(),
            BreakpointSource::Searched => interval(breakpoint.low, breakpoint.high, SIZE_DIGITS),
        };
        format!("{at} {unit}{how}")
    };
    let texts: Vec<String> = model.breakpoints.iter().map(text).collect();
    let n_segments = texts.len() + 1;
    (n_segments > 1).then(|| format!("{n_segments} segments, break after {}", texts.join(" and ")))
}

/// A parameter in a sentence.
fn plain(parameter: &Parameter) -> String {
    let Parameter { name, unit, value, .. } = parameter;
    let value = value.map_or(NONE.into(), |value| significant(value, DIGITS));
    format!("{name} {value} {}", unit).trim_end().to_owned()
}

/// A parameter in a cell.
fn with_interval(parameter: &Parameter) -> String {
    let Parameter { value, low, high, .. } = *parameter;
    let Some(value) = value else { return NONE.into() };
    significant(value, DIGITS) + &interval(low, high, DIGITS)
}

fn interval(low: Option<f64>, high: Option<f64>, n_digits: usize) -> String {
    if low.is_none() && high.is_none() {
        return String::new();
    }
    let [low, high] =
        [low, high].map(|end| end.map_or("-".into(), |end| significant(end, n_digits)));
    format!(" [{low}, {high}]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_are_words() {
        let names = [
            "t0_nonpositive",
            "rate_not_identifiable",
            "no_segment: no line from 64 to 101: 3 points are too few",
            "no_parkbench_ols: a time of 0",
            "clock_share: up to 3 % of a time (at 0 B)",
            "store_and_forward",
            "no_shared_rate",
            "latency_not_identifiable",
            "short_delay",
            "overlap_not_identifiable",
        ];
        for name in names {
            let words = warning(name).replace("r_inf", "").replace("n_half", "");
            assert!(!words.contains('_') && words.contains(' '), "{words}");
        }
        let words = warning(names[4]);
        assert_eq!(words, "two readings of the clock are up to 3 % of a time (at 0 B)");
    }
}
