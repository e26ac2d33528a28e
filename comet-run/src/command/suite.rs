//! `suite`: plans and runs suite files, and prints those that are built in.

mod supervise;
mod units;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::time::Duration;

use comet_core::words::count;

use super::files;
use super::plan;
use crate::backend;
use crate::cli::{PlanArgs, SuiteCommand, SuiteImportArgs, SuiteRunArgs};
use crate::exit;
use crate::launcher::Launcher;
use crate::prepare::{self, Prepared};
use crate::results::create_new;
use crate::suite::{self, Entry, Suite, builtin, schema};
use crate::terminal;

/// Does what the command line says about suite files; returns the exit code.
pub(crate) fn suite(command: &SuiteCommand, launcher: Option<&Launcher>) -> anyhow::Result<u8> {
    match command {
        SuiteCommand::Run(args) => run(args, launcher),
        SuiteCommand::Plan(args) => plan(args, launcher),
        SuiteCommand::List => list(),
        SuiteCommand::Show(args) => {
            terminal::print(&suite::text(&args.file)?)?;
            Ok(exit::OK)
        }
        SuiteCommand::Import(args) => import(args),
        SuiteCommand::Schema => {
            terminal::print(&format!("{:#}\n", schema::schema()))?;
            Ok(exit::OK)
        }
    }
}

/// The suite that `args` name, for the command `name`, with the other words of the command line behind
/// each of its entries.
fn read(args: &PlanArgs, name: &str) -> anyhow::Result<Suite> {
    let mut words = std::env::args_os().skip_while(|word| word != "suite");
    words.find(|word| word == name);
    let flags: Vec<OsString> = words.collect();
    suite::read(&args.select.concat(), &flags)
}

/// Measures the units of a suite, or has a command do that.
fn run(args: &SuiteRunArgs, launcher: Option<&Launcher>) -> anyhow::Result<u8> {
    // A fault of the file is told before anything is started.
    let suite = read(&args.run.plan, "run")?;
    match &args.journal.launch {
        Some(command) => supervise::supervise(command, args, launcher),
        None => units::measure(&suite, args, launcher),
    }
}

/// Prints the plan of all entries, and starts and joins nothing.
fn plan(args: &PlanArgs, launcher: Option<&Launcher>) -> anyhow::Result<u8> {
    let Suite { name, about, entries, limit, .. } = read(args, "plan")?;
    let world = &entries[0].args.plan.world;
    let backend = backend::find(world, launcher)?;
    let origin = backend.origin(world, launcher)?;
    let width = entries.iter().map(|entry| entry.id.len()).max().unwrap_or(0).max(5);
    let prepare = |entry: &Entry| {
        let prepared = prepare::prepare(&entry.args.plan, &origin);
        prepared.map_err(|error| entry.explain(&error))
    };
    let prepared: Vec<_> = entries.iter().map(prepare).collect::<anyhow::Result<_>>()?;
    let of_kernel = plan::width(prepared.iter().flatten().flat_map(|prepared| &prepared.plan));
    let titles = plan::titles(of_kernel);
    let mut text = format!("suite {name}: {about}\n\n{:<width$} {:>6} {titles}", "entry", "ranks");
    let (mut n_cases, mut most_bytes, mut time) = (0, 0, Some(Duration::ZERO));
    let mut notes = BTreeSet::new();
    for (entry, prepared) in entries.iter().zip(prepared) {
        let run = plan::Run::of(&entry.args.plan, &origin).map_err(|e| entry.explain(&e))?;
        for Prepared { plan, topology, notes: own, .. } in prepared {
            notes.extend(own);
            for kernel in &plan {
                let n_ranks = topology.n_ranks();
                write!(text, "{:<width$} {n_ranks:>6} ", entry.id)
                    .expect("a string takes any text");
                text += &run.kernel_text(kernel, &topology, of_kernel);
                n_cases += kernel.running(&topology, &run.settings).count();
                most_bytes = most_bytes.max(kernel.bytes_per_rank(&topology, &run.settings));
            }
            time = time.zip(run.time(&plan, &topology)).map(|(all, own)| all + own);
        }
    }
    let time = plan::total_text(time, limit, "[stop] run");
    writeln!(
        text,
        "\nin all {n_cases} cases of {}, {time}; {} MiB per rank",
        count(entries.len(), "run"),
        plan::mebibytes(most_bytes)
    )
    .expect("a string takes any text");
    plan::introduce(backend, launcher)?;
    notes.iter().for_each(|note| terminal::note(note));
    terminal::print(&text)?;
    Ok(exit::OK)
}

/// Writes a suite of `SKaMPI` as a suite file, and a note for each part without an equal.
fn import(args: &SuiteImportArgs) -> anyhow::Result<u8> {
    let imported = suite::import::import(&args.file)?;
    imported.notes.iter().for_each(|note| terminal::note(&format!("note: {note}")));
    let stem = args.file.file_stem().unwrap_or_default().to_string_lossy();
    let text = imported.suite_file(&stem)?;
    if !files::is_stdout(&args.out) {
        create_new(&args.out)?;
    }
    files::write(&args.out, text.as_bytes())?;
    let measurements = count(imported.n_entries(), "measurement");
    let notes = count(imported.notes.len(), "note");
    terminal::note(&format!("note: {measurements} translated, with {notes}"));
    Ok(exit::OK)
}

/// Prints the built-in files, a line each.
fn list() -> anyhow::Result<u8> {
    let line = |name| {
        let Suite { about, entries, .. } = suite::read(&format!("builtin:{name}"), &[])?;
        Ok(format!("builtin:{name:<14} {:>3} runs  {about}\n", entries.len()))
    };
    let lines: anyhow::Result<String> = builtin::names().map(line).collect();
    terminal::print(&lines?)?;
    Ok(exit::OK)
}
