//! `list`: the kernels, what they vary, and what others call them.

use std::fmt::Write as _;

use comet_core::kernel::{AxisUse, KernelInfo, Profile};
use serde_json::{Value, json};

use crate::catalogue::{self, DEFAULT_SUITES};
use crate::cli::ListArgs;
use crate::exit;
use crate::terminal;

/// Prints the kernels.
pub(crate) fn list(args: &ListArgs) -> anyhow::Result<u8> {
    let infos = catalogue::infos();
    let text = if args.json { json_text(&infos) } else { plain_text(&infos) };
    terminal::print(&text)?;
    Ok(exit::OK)
}

fn plain_text(infos: &[&'static KernelInfo]) -> String {
    let mut text = format!("all = {}\n", DEFAULT_SUITES.join(" + "));
    for suite in catalogue::suites(infos) {
        write!(text, "\n{suite}\n").expect("a string takes any text");
        for info in infos.iter().filter(|info| info.suite == suite) {
            text += &kernel_text(info);
        }
    }
    text + "\nSweeps are those of --profile quick | standard | full.\n"
}

fn kernel_text(info: &KernelInfo) -> String {
    let mut text = format!("  {:<15} {}\n", info.name, info.summary);
    let mut detail = |name: &str, value: String| {
        if !value.is_empty() {
            writeln!(text, "{:18}{name}: {value}", "").expect("a string takes any text");
        }
    };
    detail("source", info.source.to_owned());
    detail("also known as", info.aliases.join(", "));
    detail("needs", info.requires.join(", "));
    for used in info.axes {
        detail(used.axis.name, sweeps_text(used));
    }
    text
}

fn sweeps_text(used: &AxisUse) -> String {
    let labels = used.axis.labels.iter().enumerate().map(|(i, label)| format!("{i} = {label}"));
    let labels: Vec<String> = labels.collect();
    let names = if labels.is_empty() { String::new() } else { format!(" ({})", labels.join(", ")) };
    match sweeps(used) {
        Some(sweeps) => sweeps.join(" | ") + &names,
        None => "found during the run".into(),
    }
}

/// The default sweeps under each profile, or `None` for an axis that is found during the run.
fn sweeps(used: &AxisUse) -> Option<Vec<&'static str>> {
    [Profile::Quick, Profile::Standard, Profile::Full].map(|p| used.sweep(p)).into_iter().collect()
}

fn json_text(infos: &[&'static KernelInfo]) -> String {
    let kernels: Vec<Value> = infos.iter().map(|info| kernel_json(info)).collect();
    let list = json!({ "all": DEFAULT_SUITES, "kernels": kernels });
    format!("{list:#}\n")
}

fn kernel_json(info: &KernelInfo) -> Value {
    let axis = |used: &AxisUse| {
        json!({
            "name": used.axis.name,
            "kind": used.axis.kind.as_str(),
            "unit": used.axis.unit,
            "summary": used.axis.summary,
            "labels": used.axis.labels,
            "quick": used.sweep(Profile::Quick),
            "standard": used.sweep(Profile::Standard),
            "full": used.sweep(Profile::Full),
        })
    };
    let series = |series: &comet_core::kernel::Series| {
        json!({
            "name": series.name,
            "quantity": series.quantity.name(),
            "definition": series.definition.name(),
        })
    };
    json!({
        "id": info.id(),
        "suite": info.suite,
        "name": info.name,
        "summary": info.summary,
        "source": info.source,
        "class": info.class.as_str(),
        "aliases": info.aliases,
        "requires": info.requires,
        "axes": info.axes.iter().map(axis).collect::<Vec<_>>(),
        "series": info.series.iter().map(series).collect::<Vec<_>>(),
    })
}
