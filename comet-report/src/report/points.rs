//! The points: all that have numbers in one table, and those without, with the reason; and their
//! models: the parameters of each sweep, and the other models in tables of their own.

use super::html::{Html, NONE, details, element, or_none, tag};
use super::{Content, Section, slug};
use crate::format::models::warning;
use crate::format::{is_unsteady, misses_target};
use crate::models::quoted;
use crate::order::{distinct, grouped};
use crate::record::{
    Derived, Fit, Launches, Measured, Model, Name, Param, Parameter, Params, Point, RANKS, Summary,
};
use crate::units::{DIGITS, SIZE_DIGITS, Scaled, bytes, fixed, fixed_us, significant, time};
use crate::verdict::half_width;
use crate::words;

pub(super) fn sections(content: &Content<'_>) -> Vec<Section> {
    let of_status =
        |is_ok: bool| content.points().filter(move |(_, point)| point.numbers().is_some() == is_ok);
    let heads = "What became of it|Kernel|Cases|Reason".split('|');
    let alike = grouped(of_status(false).map(|(index, point)| {
        let message = point.failure().map_or(NONE, |failure| &*failure.message);
        ((index, point.status(), point.id(), message), point)
    }));
    let rows = alike.iter().map(|((index, ..), points)| (*index, reason(points)));
    let left_out = content.table("left-out", heads, rows);
    let heads = "Kernel|Parameters|Ranks|Quoted µs|± %|Launches|p25 µs|p75 µs|Least µs|MB/s|Samples|\
                 Flags";
    let rows = of_status(true).map(|(index, point)| (index, cells(point)));
    let mut body = content.table("sortable points", heads.split('|'), rows);
    if !body.is_empty() {
        let summary = words::count(of_status(true).count(), "point") + " with numbers";
        body = tag("p", EXPLANATION).with(details(&summary, body)).with(figures(content));
    }
    vec![
        Section {
            id: "left-out",
            title: "Skipped and failed",
            body: left_out,
            ..Section::default()
        },
        Section { id: "points", title: "Points", body, ..Section::default() },
    ]
}

const EXPLANATION: &str = "Times are those of one operation. The quoted time (t_quoted_ns of the \
     CSV) is the one that the kernel is known by, for most the median of slice medians; t_median_ns \
     is the median of all samples. Beside it stands half of its 95 % interval in percent, and \
     the launches that it is of: from one launch to the next in the time between the first and the \
     last, or within this launch alone. MB are 10^6 bytes. Samples are intervals between two clock readings, times the operations in each. \
     Flags: wide, if the interval missed its target; unsteady, if the machine changed its speed \
     meanwhile; warming, if no steady state was seen before.";

fn cells(point: &Point) -> Vec<Html> {
    let time = point.time_ns();
    let of = |value: fn(&Summary) -> f64| us(time.map(value));
    let ranks = point.params.ranks().map(|ranks| ranks.to_string());
    let reps = point.measured().map(|Measured { reps, .. }| format!("{} × {}", reps.n, reps.inner));
    let rate = point.bytes_per_s().map(|rate| fixed(rate / 1e6));
    vec![
        words::kernel(&point.suite, &point.kernel, point.variant.as_deref()).into(),
        params(&point.params.without(&[RANKS])).into(),
        or_none(ranks).into(),
        us(point.quoted_ns()),
        or_none(spread(point)).into(),
        or_none(launches(point)).into(),
        of(|time| time.p25),
        of(|time| time.p75),
        of(|time| time.min),
        or_none(rate).into(),
        or_none(reps).into(),
        flags(point).into(),
    ]
}

fn us(ns: Option<f64>) -> Html {
    or_none(ns.map(fixed_us)).into()
}

/// Half of the 95 % interval, in percent of the figure to quote.
fn spread(point: &Point) -> Option<String> {
    Some(format!("{:.1}", 100.0 * half_width(point)?))
}

/// Number of the launches of the interval, and the time from the first to the last.
fn launches(point: &Point) -> Option<String> {
    let of_one = || point.measured().map(|_| "this launch".to_owned());
    Launches::words(point.launches.iter()).or_else(of_one)
}

fn flags(point: &Point) -> String {
    let is_warming = point.quality().is_some_and(|quality| !quality.is_steady);
    let flags =
        [(misses_target(point), "wide"), (is_unsteady(point), "unsteady"), (is_warming, "warming")];
    let raised = flags.into_iter().filter(|(is_raised, _)| *is_raised).map(|(_, name)| name);
    raised.collect::<Vec<_>>().join(", ")
}

/// Figures derived from the series of each case together: a table for each kernel that has such.
fn figures(content: &Content<'_>) -> Html {
    let with_figures = content.points().filter(|(_, point)| !point.figures.is_empty());
    let kernels = grouped(with_figures.map(|(index, point)| (point.id(), (index, point))));
    kernels.iter().map(|(kernel, cases)| figures_of(content, kernel, cases)).collect()
}

/// The figures of the cases of `kernel`, a row for each case, and how they follow.
fn figures_of(content: &Content<'_>, kernel: &str, cases: &[(usize, &Point)]) -> Html {
    let figures = || cases.iter().take(1).flat_map(|(_, point)| &point.figures);
    let names: Vec<&str> = figures().map(|figure| &*figure.name).collect();
    let formula =
        |figure: &Derived| tag("li", tag("code", format!("{} = {}", figure.name, figure.formula)));
    let rows = cases.iter().map(|(index, point)| {
        let cells = names.iter().map(|name| figure(point, name).into());
        (*index, std::iter::once(params(&point.params).into()).chain(cells).collect())
    });
    let heads = ["Parameters"].into_iter().chain(names.iter().copied());
    let table = content.table("sortable", heads, rows);
    let formulas = tag("ul", figures().map(formula).collect::<Html>());
    details(&format!("Figures of {kernel}"), formulas.with(table))
}

fn figure(point: &Point, name: &str) -> String {
    let found = point.figures.iter().find(|figure| figure.name == name);
    or_none(found.and_then(|figure| figure.value).map(|value| significant(value, DIGITS)))
}

/// The `points` of one kernel that have no numbers for one reason.
fn reason(points: &[&Point]) -> Vec<Html> {
    let point = points[0];
    let cases = match points {
        [_] => params(&point.params),
        _ => format!("{} cases, the first {}", points.len(), params(&point.params)),
    };
    let status = Name(point.status()).to_string();
    let reason = point.failure().map_or(NONE, |failure| &failure.message);
    vec![
        element("span", &[("class", &format!("status {status}"))], status.replace('_', " ")),
        point.id().into(),
        cases.into(),
        reason.into(),
    ]
}

/// Errors below so many percent are all the same.
const LEAST_PERCENT: f64 = 0.01;
/// The most rows of a table that is open from the start.
const MAX_OPEN_ROWS: usize = 16;

/// The kinds of models beside the lines over sizes, with a table each: the name in the record, the
/// heading, and the sentence below.
const KINDS: [[&str; 3]; 7] = [
    ["hops", "Distance", "What each hop between the ranks adds to a message."],
    [
        "scaling",
        "Growth with the number of ranks",
        "The laws that may describe it, each with its Akaike weight, or a constant where no growth \
         is seen; none is to be used beyond twice the largest number of ranks.",
    ],
    [
        "rates",
        "Asymptotic rates and the number of ranks",
        "The line over the largest sizes on each number of ranks P: r∞ as a function of P.",
    ],
    ["loggp", "LogGP", "Latency, overheads and gaps, from trains of messages."],
    [
        "max_rate",
        "Pairs that share a rate",
        "The rate of one pair of ranks, and the one that all pairs share.",
    ],
    [
        "intensity",
        "Computational intensity",
        "The operations for each word that reach half of the highest rate (f½), 4 f½, and the edges \
         of regions with that intensity.",
    ],
    [
        "overlap",
        "Overlap",
        "Which share of the shorter part is hidden behind the other one, as four sources define \
         it; 1 is all of it.",
    ],
];

pub(super) fn laws(content: &Content<'_>) -> Vec<Section> {
    let kinds: Html = KINDS.iter().map(|kind| other(content, *kind)).collect();
    let mut body = lines(content).with(barriers(content)).with(kinds);
    if !body.is_empty() {
        let n_laws = content.models.len();
        let summary =
            if n_laws == 0 { "Barriers".into() } else { words::count(n_laws, "fitted law") };
        body = details(&summary, body);
    }
    vec![Section { id: "laws", title: "Fitted laws", body, ..Section::default() }]
}

fn models<'c>(content: &'c Content<'_>, kind: &str) -> impl Iterator<Item = (usize, &'c Model)> {
    let all = content.models.iter().map(|fitted| (fitted.run, &fitted.model));
    all.filter(move |(_, model)| model.model == kind)
}

/// Hockney's four parameters, a row for each sweep or each of its segments.
fn lines(content: &Content<'_>) -> Html {
    let rows = models(content, "line").flat_map(|(index, model)| {
        let fits = quoted(model).into_iter().enumerate();
        fits.map(move |(number, fit)| (index, line(content, model, number, fit)))
    });
    let heads = "Sweep|Range|t₀|π₀|Intercept|r∞|n½|Best rate|Worst error|Fit";
    let table = content.table("wide laws", heads.split('|'), rows);
    if table.is_empty() {
        return table;
    }
    let explanation = "The line t = t₀ + n / r∞ over message or vector lengths, with 95 % \
                       intervals (k, M and G are powers of 1000); n½ = t₀ r∞ and π₀ = r∞ / n½, so \
                       two of the four are independent. A sweep that one line does not describe \
                       has a row for each segment; only the first has a startup time, \
                       the others an intercept with its inverse π₀.";
    tag("p", explanation).with(table)
}

/// The cells of fit `number` of a sweep, of which only the first says whose it is.
fn line(content: &Content<'_>, model: &Model, number: usize, fit: &Fit) -> Vec<Html> {
    let best = model.marks.iter().find(|mark| mark.name == "best_rate").filter(|_| number == 0);
    let mut cells = vec![Html::new(), extent(model, fit).into()];
    cells.extend(values(&fit.parameters, &["t0", "pi0", "intercept", "r_inf", "n_half"]));
    cells.push(best.map_or(Html::new(), with_interval));
    cells.extend([worst(model, fit).into(), verdict(fit)]);
    if number == 0 {
        cells[0] = sweep(content, model);
        cells[9] = verdict(fit).with(warnings(model));
    }
    cells
}

fn warnings(model: &Model) -> Html {
    let warning = |text: &String| Html::from(" ").with(tag("small", warning(text)));
    model.warnings.iter().map(warning).collect()
}

/// The table of one other kind; nothing if there is no such model.
fn other(content: &Content<'_>, [kind, title, explanation]: [&str; 3]) -> Html {
    let models: Vec<(usize, &Model)> = models(content, kind).collect();
    let names = parameter_names(&models);
    if names.is_empty() {
        return Html::new();
    }
    let has_laws = models.iter().any(|(_, model)| !model.fits.is_empty());
    let rows = models.iter().flat_map(|(index, model)| {
        let rows = if has_laws {
            laws_of(content, model, &names)
        } else {
            vec![[sweep(content, model)].into_iter().chain(values(&model.marks, &names)).collect()]
        };
        rows.into_iter().map(|cells| (*index, cells))
    });
    let rows: Vec<(usize, Vec<Html>)> = rows.collect();
    let symbols: Vec<String> = names.iter().map(|name| words::symbol(name)).collect();
    let mut heads = vec!["Sweep"];
    heads.extend(has_laws.then_some("Law"));
    heads.extend(symbols.iter().map(String::as_str));
    heads.extend(if has_laws { &["Worst error", "Fit"][..] } else { &[] });
    let n_rows = rows.len();
    let table = content.table("wide", heads, rows);
    let is_long = n_rows > MAX_OPEN_ROWS;
    let table = if is_long { details(&words::count(n_rows, "row"), table) } else { table };
    tag("h3", title).with(tag("p", explanation)).with(table)
}

/// Names of all parameters of `models`, in the order in which they are first met.
fn parameter_names<'m>(models: &[(usize, &'m Model)]) -> Vec<&'m str> {
    distinct(models.iter().flat_map(|(_, model)| {
        let fits = model.fits.iter().flat_map(|fit| &fit.parameters);
        let marks = if model.fits.is_empty() { &model.marks[..] } else { &[] };
        fits.chain(marks).map(|parameter| parameter.name.as_str())
    }))
}

/// A row for each law of `model` that is worth one: of rivals all, of others those that hold.
fn laws_of(content: &Content<'_>, model: &Model, names: &[&str]) -> Vec<Vec<Html>> {
    let all = ["scaling", "rates"].contains(&model.model.as_str());
    let fits = if all { model.fits.iter().collect() } else { quoted(model) };
    let cells = |fit: &Fit| {
        let law = if model.model == "rates" { &fit.name } else { &fit.law };
        let mut cells = vec![sweep(content, model), words::formula(law).into()];
        cells.extend(values(&fit.parameters, names));
        cells.extend([worst(model, fit).into(), verdict(fit)]);
        cells
    };
    fits.into_iter().map(cells).collect()
}

fn values(parameters: &[Parameter], names: &[&str]) -> Vec<Html> {
    let cell = |name: &&str| {
        let found = parameters.iter().find(|parameter| parameter.name == *name);
        found.map_or(NONE.into(), with_interval)
    };
    names.iter().map(cell).collect()
}

/// Barriers have no sweep: their least time, and how many there are in a second (SYNCH1).
fn barriers(content: &Content<'_>) -> Html {
    let is_barrier =
        |(_, point): &(usize, &Point)| point.class == "sync" && point.quoted_ns().is_some();
    let rows = content.points().filter(is_barrier).map(|(index, point)| (index, barrier(point)));
    let table = content.table("", "Kernel|Ranks|Time|Barriers per second".split('|'), rows);
    if table.is_empty() { table } else { tag("h3", "Barriers").with(table) }
}

fn barrier(point: &Point) -> Vec<Html> {
    let ranks = point.params.ranks().map(|ranks| ranks.to_string());
    let per_second =
        point.quoted_ns().filter(|ns| *ns > 0.0).map(|ns| significant(1e9 / ns, DIGITS));
    vec![
        point.id().into(),
        or_none(ranks).into(),
        point.quoted_ns().map_or(NONE.into(), time).into(),
        or_none(per_second).into(),
    ]
}

/// The name of a sweep: its kernel, which leads to its first figure, and below it what all of its
/// points have in common.
fn sweep(content: &Content<'_>, model: &Model) -> Html {
    let start = slug(&format!("{}/{}-", model.suite, model.kernel));
    let figure = content.figures.iter().find(|figure| figure.id.starts_with(&start));
    let name = Html::from(words::kernel(&model.suite, &model.kernel, model.variant.as_deref()));
    let link = |id: &String| element("a", &[("href", &format!("#{id}"))], name.clone());
    let kernel = tag("b", figure.map_or(name.clone(), |figure| link(&figure.id)));
    kernel.with(element("span", &[("class", "of")], params(&model.params)))
}

/// Names and values of parameters, in a line (`hops 1, P = 4`).
pub(super) fn params(params: &Params) -> String {
    let text = |(name, value): &(String, Param)| match name.as_str() {
        RANKS => format!("P = {value}"),
        name => format!("{name} {value}"),
    };
    params.0.iter().map(text).collect::<Vec<_>>().join(", ")
}

fn extent(model: &Model, fit: &Fit) -> String {
    match [fit.from, fit.to].map(|end| size(end, &model.x_unit)) {
        [from, to] if model.x_unit == "B" => format!("{from} to {to}"),
        [from, to] => format!("{from} to {to} {}", model.x_unit).trim_end().to_owned(),
    }
}

/// A size, with the unit if it is in bytes.
fn size(value: f64, unit: &str) -> String {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is whole")]
    if unit == "B" && value >= 0.0 && value.fract() == 0.0 {
        return bytes(value as u64);
    }
    significant(value, SIZE_DIGITS)
}

fn worst(model: &Model, fit: &Fit) -> String {
    let quality = &fit.quality;
    let at = size(quality.max_at, &model.x_unit);
    let percent = 100.0 * quality.max_relative_residual;
    if percent < LEAST_PERCENT {
        return format!("below {LEAST_PERCENT} %");
    }
    let percent = significant(percent, 2);
    let unit = if model.x_unit == "B" { "" } else { &model.x_unit };
    format!("{percent} % at {at} {unit}").trim_end().to_owned()
}

fn verdict(fit: &Fit) -> Html {
    let name = Name(fit.quality.verdict).to_string();
    element("span", &[("class", &format!("fit {name}"))], name)
}

/// A parameter with its unit and, below, its interval, if that is wider than its digits.
fn with_interval(parameter: &Parameter) -> Html {
    let Parameter { value: Some(value), low, high, unit, .. } = parameter else {
        return NONE.into();
    };
    let unit = Scaled::fitting(*value, unit);
    let digits = unit.digits(*value);
    let html = Html::from(format!("{digits} {}", unit.name).trim_end());
    if low.is_none() && high.is_none() {
        return html;
    }
    let [low, high] = [low, high].map(|end| end.map_or(NONE.into(), |end| unit.digits(end)));
    if low == digits && high == digits {
        return html;
    }
    html.with(" ").with(tag("small", format!("{low} … {high}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_without_a_value_is_a_dash() {
        let parameter =
            |value, low| Parameter { name: "t0".into(), unit: "us".into(), value, low, high: None };
        let check = |value, low, expected: &str| {
            assert_eq!(with_interval(&parameter(value, low)).into_string(), expected);
        };
        check(None, None, "—");
        check(Some(79.0), None, "79 µs");
        check(Some(79.0), Some(78.06), "79 µs <small>78.06 … —</small>");
    }
}
