//! `show`, `export`, `fit` and `report`: stored runs in another form; `validate`: a check that they are
//! whole and well formed.

use std::io::{BufWriter, Write};
use std::path::Path;
use std::slice;

use comet_core::words::count;
use comet_report::figures::figures;
use comet_report::format::{self, Format, MODELS};
use comet_report::glance::glance;
use comet_report::models::models;
use comet_report::odd;
use comet_report::plot::{self, Letters};
use comet_report::questions::{across, replies};
use comet_report::read::{self, RunSummary, Validation};
use comet_report::record::{EndStatus, Point, Record};
use comet_report::report::{self, Options};
use comet_report::runs::RunRecords;
use comet_report::verdict::verdict;

use crate::cli::{ExportArgs, FitArgs, ReportArgs, ShowArgs, ValidateArgs};
use crate::command::{compare, files};
use crate::exit;
use crate::paths;
use crate::terminal;

/// The format that figures may follow.
const TABLE: &str = "table";
/// Width and height of figures, in letters: they fit into the smallest terminal.
const FIGURE: [usize; 2] = [79, 16];

/// Prints result files in a format, and their figures if that is wanted.
pub(crate) fn show(args: &ShowArgs) -> anyhow::Result<u8> {
    let extra = [("--plots", args.plots), ("--questions", args.questions)];
    if let Some((option, _)) = extra.iter().find(|(_, is_set)| *is_set && args.format != TABLE) {
        return Err(exit::usage(format!(
            "{option} goes with --format {TABLE}, not with {} (leave one of them out, or take \
             comet-run plot)",
            args.format
        )));
    }
    let (mut records, mut runs) = (Vec::new(), Vec::new());
    for (path, of_file) in files::records(&args.files)? {
        if args.format == TABLE {
            runs.extend(files::split_runs(of_file.clone(), path));
        }
        records.extend(of_file);
    }
    for run in &runs {
        let (facts, points) = (run.run.as_deref(), &run.points);
        let answers = glance(facts, points).into_iter().map(|answer| format!("#   {answer}\n"));
        let odd = odd::of_run(run).into_iter().map(|oddity| format!("# odd: {oddity}\n"));
        let verdict = verdict(run).map(|verdict| format!("# {verdict}\n"));
        terminal::print(&verdict.into_iter().chain(answers).chain(odd).collect::<String>())?;
    }
    print(format_of(&args.format), &records)?;
    if args.questions {
        print_replies(&runs)?;
    }
    if args.plots {
        print_plots(&runs)?;
    }
    Ok(exit::OK)
}

fn print_replies(runs: &[RunRecords]) -> anyhow::Result<()> {
    let replies = replies(runs);
    if replies.is_empty() {
        terminal::note(
            "note: no question has two of its kernels here (measure builtin:skampi-1998)",
        );
    }
    let texts: String = replies.iter().map(|reply| format!("\n{reply}")).collect();
    let orders: String = across(&replies).iter().map(|orders| format!("\n{orders}")).collect();
    Ok(terminal::print(&(texts + &orders))?)
}

fn print_plots(runs: &[RunRecords]) -> anyhow::Result<()> {
    let figures = figures(runs);
    if figures.is_empty() {
        terminal::note("note: nothing was measured that makes a figure (measure more sizes)");
    }
    let ([width, height], letters) = (FIGURE, letters());
    let mut out = BufWriter::new(terminal::stdout());
    for figure in &figures {
        writeln!(out, "\n{}", plot::terminal(figure, width, height, letters))?;
    }
    Ok(out.flush()?)
}

/// The letters that the terminal of the user can show, by its locale.
fn letters() -> Letters {
    let variable = |name: &&str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(variable).unwrap_or_default();
    let is_utf_8 = locale.to_ascii_lowercase().replace('-', "").contains("utf8");
    let is_dumb = variable(&"TERM").is_some_and(|terminal| terminal == "dumb");
    if is_utf_8 && !is_dumb { Letters::Unicode } else { Letters::Ascii }
}

/// Writes the runs of all files, as if they were one, in the format of another program.
pub(crate) fn export(args: &ExportArgs) -> anyhow::Result<u8> {
    let records = files::records(&args.files)?.into_iter().flat_map(|(_, records)| records);
    let records: Vec<Record> = records.collect();
    let format = format_of(&args.format);
    let Some(path) = &args.out else { return print(format, &records) };
    files::keep(&args.files, path)?;
    let mut text = Vec::new();
    format.write(&records, &mut text)?;
    files::write(path, &text)?;
    Ok(exit::OK)
}

/// Prints the models of a result file, made anew from its points.
pub(crate) fn fit(args: &FitArgs) -> anyhow::Result<u8> {
    let runs = files::runs(slice::from_ref(&args.file))?;
    let points: Vec<&Point> = runs.iter().flat_map(|run| &run.points).collect();
    let models = models(&points, &args.breakpoints).into_iter();
    let models: Vec<Record> = models.map(|model| Record::Model(Box::new(model))).collect();
    if models.is_empty() {
        let path = args.file.display();
        terminal::note(&format!(
            "note: no sweep in {path} has the four points that a model needs (measure more sizes)"
        ));
    }
    print(if args.format == TABLE { &MODELS } else { format_of(&args.format) }, &models)
}

/// Writes a page of figures and tables about all runs of the files.
pub(crate) fn report(args: &ReportArgs) -> anyhow::Result<u8> {
    let (mut runs, new) = (files::runs(&args.files)?, files::runs(&args.to)?);
    files::keep(&[&args.files[..], &args.to].concat(), &args.out)?;
    let comparison = (!args.to.is_empty())
        .then(|| compare::admitted([&runs, &new], &Default::default(), args.allow_env_diff));
    let comparison = comparison.transpose()?;
    runs.extend(new);
    let options = Options { title: args.title.clone(), has_thesis: args.thesis, comparison };
    let page = report::report(&runs, &options);
    files::write(&args.out, page.as_bytes())?;
    if files::is_stdout(&args.out) {
        return Ok(exit::OK);
    }
    let noun = if runs.len() == 1 { "run" } else { "runs" };
    let path = terminal::one_line(args.out.display());
    let n_kilobytes = page.len().div_ceil(1000);
    terminal::print(&format!("report: {path} ({n_kilobytes} kB, {} {noun})\n", runs.len()))?;
    Ok(exit::OK)
}

fn format_of(name: &str) -> &'static Format {
    format::find(name).expect("clap accepts known formats only")
}

fn print(format: &Format, records: &[Record]) -> anyhow::Result<u8> {
    let mut out = BufWriter::new(terminal::stdout());
    if format.name() == TABLE {
        let mut table = format::table_for_terminal(Box::new(&mut out), false, terminal::look());
        records.iter().try_for_each(|record| table.record(record))?;
        table.finish()?;
    } else {
        format.write(records, &mut out)?;
    }
    out.flush()?;
    Ok(exit::OK)
}

/// Prints the runs of each file and its problems; returns the exit code.
pub(crate) fn validate(args: &ValidateArgs) -> anyhow::Result<u8> {
    let mut code = exit::OK;
    for path in &args.files {
        paths::refuse_device(path)?;
        let validation = read::validate(path).map_err(exit::bad_input)?;
        if validation == Validation::default() {
            return Err(files::without_run(path));
        }
        terminal::print(&validation_text(path, &validation))?;
        let is_complete =
            |run: &RunSummary| run.end == Some(EndStatus::Complete) || run.is_replaced;
        let is_partial = !validation.runs.iter().all(is_complete);
        if !validation.problems.is_empty() {
            code = exit::CHECK_FAILED;
        } else if is_partial && code == exit::OK {
            code = exit::PARTIAL;
        }
    }
    Ok(code)
}

fn validation_text(path: &Path, validation: &Validation) -> String {
    let path = terminal::one_line(path.display());
    let runs = validation.runs.iter().map(|run| format!("{path}: {}\n", run_text(run)));
    let problems = validation.problems.iter();
    let problems = problems.map(|p| format!("{path}: line {}: {}\n", p.line, p.message));
    runs.chain(problems).collect()
}

fn run_text(run: &RunSummary) -> String {
    let id = run.run_id.as_deref().unwrap_or("without an id");
    let points = run.points;
    format!(
        "run {id}: {}{} ({} ok, {} skipped, {} failed, {})",
        run.ending(),
        if run.is_replaced { ", replaced by a later attempt" } else { "" },
        count(points.ok, "point"),
        points.skipped,
        points.failed,
        count(points.check_failed, "wrong result")
    )
}
