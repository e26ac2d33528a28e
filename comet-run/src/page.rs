//! Page of a kernel: the header of its file with the facts of its description, as Markdown and as plain
//! text; and the index of all kernels, as in `docs/kernels.md`.

use std::fmt::Write as _;

use comet_core::definition::{Definition, Quantity};
use comet_core::event::Quote;
use comet_core::kernel::{AxisUse, KernelInfo, Profile, Series};

use crate::catalogue::{self, DEFAULT_SUITES};
use crate::cli::profile_name;
use crate::selection;

/// The page of `info` as Markdown; other kernels of the `catalogue` that are equivalents are named.
pub(crate) fn markdown(info: &'static KernelInfo, catalogue: &[&'static KernelInfo]) -> String {
    let mut page = format!("### {}\n\n{}.\n", info.id(), info.summary);
    for section in info.sections() {
        let text = section.text.trim_end();
        writeln!(page, "\n**{}**{text}", section.heading).expect(ANY_TEXT);
        match section.heading {
            "Reports" => page += &measured(info),
            "Rate" => page += &rates(info),
            "Parameters" => page += &axes(info),
            _ => {}
        }
    }
    let mut names = selection::words_of(info, catalogue);
    names.retain(|name| !info.aliases.contains(&&**name));
    for (heading, names) in
        [("Equivalents", equivalents(info, catalogue)), ("Names", names), ("Needs", needs(info))]
    {
        if !names.is_empty() {
            writeln!(page, "\n**{heading}**: `{}`.", names.join("`, `")).expect(ANY_TEXT);
        }
    }
    page
}

const ANY_TEXT: &str = "a string takes any text";

/// The series of `info` and their definitions.
fn measured(info: &KernelInfo) -> String {
    let mut text = "\n".to_owned();
    for series in info.series {
        let quantity = match series.quantity {
            Quantity::OneWayTime => "one-way time",
            Quantity::OpTime => "time of an operation",
        };
        writeln!(text, "- `{}`: {quantity}, {}", series.name, figure(series)).expect(ANY_TEXT);
    }
    text += "\n**Definition**\n\n";
    for definition in definitions(info) {
        writeln!(text, "- {}: {}", definition.name(), definition.summary()).expect(ANY_TEXT);
    }
    text
}

/// The rates of the series of `info` beside the bandwidth, with their formulas.
fn rates(info: &KernelInfo) -> String {
    let rates = info.series.iter().flat_map(|series| series.rates);
    let lines: String =
        rates.map(|of| format!("- `{}`: {}\n", of.kind.name(), of.formula)).collect();
    if lines.is_empty() { lines } else { format!("\n{lines}") }
}

/// Statistic of a series that is reported.
fn figure(series: &Series) -> &'static str {
    match series.quote {
        Quote::Median => "median",
        Quote::Min | Quote::LeastOf20 => "minimum",
        Quote::SliceMean | Quote::Mean | Quote::MiddleMean | Quote::Corrected => "mean",
    }
}

/// Definitions of the series, each once.
fn definitions(info: &KernelInfo) -> Vec<Definition> {
    let mut definitions: Vec<Definition> = Vec::new();
    for series in info.series {
        if !definitions.contains(&series.definition) {
            definitions.push(series.definition);
        }
    }
    definitions
}

/// Values of an axis that a line of a page has at most.
const VALUES_OF_A_LINE: usize = 4;

/// The axes of `info` with their default sweeps.
fn axes(info: &KernelInfo) -> String {
    let mut text = String::new();
    for used in info.axes {
        let axis = used.axis;
        let unit = if axis.unit.is_empty() { String::new() } else { format!(", {}", axis.unit) };
        let (name, kind, summary) = (axis.name, axis.kind.as_str(), axis.summary);
        writeln!(text, "- `{name}` ({kind}{unit}): {summary}").expect(ANY_TEXT);
        let labels =
            axis.labels.iter().enumerate().map(|(value, label)| format!("{value} = {label}"));
        let labels: Vec<String> = labels.collect();
        for (index, line) in labels.chunks(VALUES_OF_A_LINE).enumerate() {
            let start = if index == 0 { "  - values: " } else { ",\n    " };
            write!(text, "{start}{}", line.join(", ")).expect(ANY_TEXT);
        }
        text += if labels.is_empty() { "" } else { "\n" };
        text += &sweeps(used);
    }
    if text.is_empty() { text } else { format!("\n{text}") }
}

fn sweeps(used: &AxisUse) -> String {
    match used.sweeps {
        [_, "", _] => "  - found during the run\n".to_owned(),
        [quick, standard, full] if quick == standard && standard == full => {
            format!("  - all profiles: `{full}`\n")
        }
        _ => {
            let line = |profile| {
                Some(format!("  - {}: `{}`\n", profile_name(profile), used.sweep(profile)?))
            };
            [Profile::Quick, Profile::Standard, Profile::Full]
                .into_iter()
                .filter_map(line)
                .collect()
        }
    }
}

/// Aliases of `info`, and other kernels that share one.
fn equivalents(info: &KernelInfo, catalogue: &[&'static KernelInfo]) -> Vec<String> {
    let shares = |other: &&&KernelInfo| {
        other.id() != info.id() && other.aliases.iter().any(|alias| info.aliases.contains(alias))
    };
    let others = catalogue.iter().filter(shares).map(|other| other.id());
    info.aliases.iter().map(ToString::to_string).chain(others).collect()
}

/// Kernels that are measured before `info`.
fn needs(info: &KernelInfo) -> Vec<String> {
    info.requires.iter().map(ToString::to_string).collect()
}

/// `markdown` without its marks.
pub(crate) fn plain(markdown: &str) -> String {
    let is_text = |line: &&str| !line.starts_with("```");
    let line = |line: &str| {
        let line = line.strip_prefix("### ").unwrap_or(line);
        line.replace("**", "").replace('`', "") + "\n"
    };
    markdown.lines().filter(is_text).map(line).collect()
}

/// The index of the `catalogue`, a line for each kernel: the text of `docs/kernels.md`.
pub(crate) fn index(catalogue: &[&'static KernelInfo]) -> String {
    let mut text = format!(
        "# Kernels\n\nGenerated by `comet-run list --markdown` from the sources of the kernels.\n\
         `comet-run help NAME` prints the page of a kernel, with its pattern, axes, default sweeps \
         and other names.\n\
         The word `all` selects the suites `{}`.\n\n\
         A definition names the moments at which the clock is read. \
         If all ranks take part, `--definition` chooses another one:\n\n",
        DEFAULT_SUITES.join("` and `")
    );
    for definition in Definition::all() {
        writeln!(text, "- {}: {}", definition.name(), definition.summary()).expect(ANY_TEXT);
    }
    for suite in catalogue::suites(catalogue) {
        let about = catalogue::about(suite);
        write!(text, "\n## {suite}: {about}\n\n{HEAD}").expect(ANY_TEXT);
        catalogue.iter().filter(|info| info.suite == suite).for_each(|info| text += &row(info));
    }
    text
}

const HEAD: &str = "| kernel | what it measures | definition | axes |\n|---|---|---|---|\n";

/// The row of `info` in the index.
fn row(info: &KernelInfo) -> String {
    let short = |definition: Definition| definition.name().split(' ').next().unwrap_or_default();
    let definitions: Vec<&str> = definitions(info).into_iter().map(short).collect();
    let axes: Vec<String> = info.axes.iter().map(|used| format!("`{}`", used.axis.name)).collect();
    let (definitions, axes) = (definitions.join(", "), axes.join(" "));
    format!("| `{}` | {} | {definitions} | {axes} |\n", info.name, info.summary)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_ascii_and_fits_a_hundred_columns() {
        let catalogue = catalogue::infos();
        for info in &catalogue {
            let page = plain(&markdown(info, &catalogue));
            assert!(page.is_ascii() && !page.contains("```"), "{page}");
            for line in page.lines() {
                assert!(line.len() <= 100, "{}: {line}", info.id());
            }
        }
    }

    #[test]
    fn the_index_has_one_line_for_each_kernel() {
        let catalogue = catalogue::infos();
        let index = index(&catalogue);
        assert_eq!(index.matches("\n| `").count(), catalogue.len());
        for info in &catalogue {
            assert!(index.contains(&format!("\n| `{}` | {} | D", info.name, info.summary)));
        }
    }
}
