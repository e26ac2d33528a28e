//! `list`: the kernels; `schema` and `man`: descriptions of result files and of the command line.

use std::fmt::Write as _;

use clap::{Command, CommandFactory as _};
use clap_mangen::Man;
use comet_core::kernel::{AxisUse, KernelInfo, Profile};
use serde_json::{Value, json};

use crate::catalogue::{self, DEFAULT_SUITES};
use crate::cli::{self, Cli, ListArgs};
use crate::exit;
use crate::page;
use crate::selection;
use crate::terminal;

/// Prints the kernels.
pub(crate) fn list(args: &ListArgs) -> anyhow::Result<u8> {
    let mut infos = catalogue::infos();
    if !args.kernels.is_empty() {
        let found: Result<Vec<_>, _> =
            args.kernels.iter().map(|name| selection::find(name, &infos)).collect();
        infos = found?.concat();
    }
    let text = match args {
        ListArgs { json: true, .. } => json_text(&infos),
        ListArgs { markdown: true, .. } => page::index(&infos),
        _ => plain_text(&infos),
    };
    terminal::print(&text)?;
    Ok(exit::OK)
}

/// A line for each kernel, by suites.
fn plain_text(infos: &[&'static KernelInfo]) -> String {
    let mut text = format!("all = {}\n", DEFAULT_SUITES.join(" + "));
    for suite in catalogue::suites(infos) {
        writeln!(text, "\n{suite}: {}", catalogue::about(suite)).expect("a string takes any text");
        for info in infos.iter().filter(|info| info.suite == suite) {
            writeln!(text, "  {:<15} {}", info.name, info.summary)
                .expect("a string takes any text");
        }
    }
    text + "\nPattern, axes, default sweeps and aliases of a kernel: comet-run help NAME.\n"
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
        "source": info.sentence("Source"),
        "class": info.class.as_str(),
        "aliases": info.aliases,
        "requires": info.requires,
        "axes": info.axes.iter().map(axis).collect::<Vec<_>>(),
        "series": info.series.iter().map(series).collect::<Vec<_>>(),
    })
}

/// Prints the JSON schema of result files.
pub(crate) fn schema() -> anyhow::Result<u8> {
    terminal::print(comet_report::record::JSON_SCHEMA)?;
    Ok(exit::OK)
}

/// Prints the man page.
pub(crate) fn man() -> anyhow::Result<u8> {
    let mut command = in_full(Cli::command());
    command.build();
    let mut page = Vec::new();
    let man = Man::new(command.clone());
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    let mut page = String::from_utf8_lossy(&page).into_owned();
    page += &command_sections(&command, "COMMAND")?;
    page += &verbatim_section("EXAMPLES", cli::EXAMPLES);
    page += &verbatim_section("EXIT STATUS", &cli::exit_codes());
    terminal::print(&page)?;
    Ok(exit::OK)
}

/// Returns `command` with all options in the short help as well: a man page has the text of no others.
fn in_full(command: Command) -> Command {
    command.mut_args(|arg| arg.hide_short_help(false)).mut_subcommands(in_full)
}

/// Returns the sections of the subcommands of `command`, at any depth, whose titles begin with `title`.
fn command_sections(command: &Command, title: &str) -> std::io::Result<String> {
    let is_help = |of: &&Command| of.get_name() == "help" && title != "COMMAND";
    let mut text = String::new();
    for subcommand in command.get_subcommands().filter(|of| !is_help(of)) {
        let title = format!("{title} {}", subcommand.get_name().to_uppercase());
        text += &command_section(subcommand, &title)?;
        text += &command_sections(subcommand, &title)?;
    }
    Ok(text)
}

/// Returns description, synopsis and options of a command.
fn command_section(command: &Command, title: &str) -> std::io::Result<String> {
    let man = Man::new(command.clone());
    let mut section = Vec::new();
    man.render_description_section(&mut section)?;
    man.render_synopsis_section(&mut section)?;
    // The options of run are those of the program itself.
    if command.get_name() != "run" {
        man.render_options_section(&mut section)?;
    }
    let below = String::from_utf8_lossy(&section).replace("\n.SH ", "\n.SS ");
    Ok(format!(".SH \"{title}\"\n{below}"))
}

/// A section whose lines stay as they are.
fn verbatim_section(name: &str, text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    format!(".SH \"{name}\"\n.nf\n{text}.fi\n")
}
