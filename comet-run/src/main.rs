//! `comet-run`: measures message passing from the command line.
//!
//! ```text
//!   argv ──► cli ──► command ──► prepare ───────► execute ───► session, on every rank
//!           values    one file   selection, world,  backend       driver, observer
//!            only     for each   cases, settings    starts or
//!                                                   joins ranks
//! ```
//!
//! `list`, `plan` and `--help` end at the plan, and start and join no rank.

mod backend;
mod catalogue;
mod cli;
mod command;
mod compat;
mod execute;
mod exit;
mod launcher;
mod launches;
mod limits;
mod page;
mod paths;
mod prepare;
mod progress;
mod results;
mod selection;
mod session;
mod signals;
mod spool;
mod suite;
mod terminal;
mod world;

use std::process::ExitCode;
use std::time::Duration;

use cli::{Cli, Command};
use command::{
    ab, algorithms, calibrate, check, compare, completions, guidelines, health, help, import, list,
    machines, merge, plan, plot, run, show, suite as suites,
};
use launcher::Launcher;

fn main() -> ExitCode {
    match limits::require_stack() {
        Ok(()) => called(),
        Err(error) => reported(&error).into(),
    }
}

/// Prints `error`, and returns its exit code.
fn reported(error: &anyhow::Error) -> u8 {
    terminal::note(&format!("error: {error:#}"));
    exit::code_of(error)
}

/// Reads the command line, does what it says, and reports an error in one sentence.
#[inline(never)] // Its variables do not fit a stack that is refused.
fn called() -> ExitCode {
    if let Err(error) = limits::outlive_file_sizes() {
        terminal::note(&format!("note: a limit of file sizes will end this process: {error}"));
    }
    let launcher = Launcher::of_this_process();
    let launcher = launcher.as_ref();
    terminal::set_output_rank(launcher.is_none_or(|launcher| launcher.rank == 0));
    let is_launched = launcher.is_some();
    let parsed = compat::arguments(launcher).and_then(|args| cli::parse(args, is_launched));
    let code = match parsed {
        Ok(cli) => {
            terminal::set_look(cli.wide, cli.color, is_launched);
            dispatch(&cli, launcher).unwrap_or_else(|error| reported(&error))
        }
        Err(words) => match terminal::explain(&words) {
            _ if words.use_stderr() => exit::USAGE,
            Ok(()) => exit::OK,
            Err(error) => {
                terminal::note(&format!("error: {error}"));
                exit::INTERNAL
            }
        },
    };
    if code != exit::OK && !terminal::is_output_rank() {
        std::thread::sleep(LAST_WORDS);
    }
    ExitCode::from(code)
}

/// Time that a failed silent process stays alive. Launchers end a job as soon as one process fails,
/// and the first one may not have printed its error yet.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// Does what the command line says, in a process that `launcher` started; returns the exit code.
fn dispatch(cli: &Cli, launcher: Option<&Launcher>) -> anyhow::Result<u8> {
    match &cli.command {
        None => run::run(&cli.run, launcher),
        Some(Command::Run(args)) => run::run(args, launcher),
        Some(Command::List(args)) => list::list(args),
        Some(Command::Machines(args)) => machines::machines(args),
        Some(Command::Plan(args)) => plan::plan(args, launcher),
        Some(Command::Suite(command)) => suites::suite(command, launcher),
        Some(Command::Check(args)) => check::check(args, launcher),
        Some(Command::Reproduce(args)) => machines::reproduce(args),
        Some(Command::Calibrate(args)) => calibrate::calibrate(args, launcher),
        Some(Command::Validate(args)) => show::validate(args),
        Some(Command::Show(args)) => show::show(args),
        Some(Command::Fit(args)) => show::fit(args),
        Some(Command::Report(args)) => show::report(args),
        Some(Command::Plot(args)) => plot::plot(args),
        Some(Command::Compare(args)) => compare::compare(args),
        Some(Command::Ab(args)) => ab::ab(args, launcher),
        Some(Command::Launches(args)) => command::launches::launches(args, launcher),
        Some(Command::Algorithms(args)) => algorithms::algorithms(args, launcher),
        Some(Command::Guidelines(args)) => guidelines::guidelines(args, launcher),
        Some(Command::Health(args)) => health::health(args, launcher),
        Some(Command::Export(args)) => show::export(args),
        Some(Command::Import(args)) => import::import(args),
        Some(Command::Merge(args)) => merge::merge(args),
        #[cfg(feature = "db")]
        Some(Command::Db(args)) => command::db::db(args),
        #[cfg(feature = "db")]
        Some(Command::Serve(args)) => command::serve::serve(args),
        #[cfg(feature = "db")]
        Some(Command::Submit(args)) => command::submit::submit(args),
        #[cfg(not(feature = "db"))]
        Some(Command::Db(args)) => command::no_db::refuse("db", args),
        #[cfg(not(feature = "db"))]
        Some(Command::Serve(args)) => command::no_db::refuse("serve", args),
        #[cfg(not(feature = "db"))]
        Some(Command::Submit(args)) => command::no_db::refuse("submit", args),
        Some(Command::Help(args)) => help::help(args),
        Some(Command::Schema) => list::schema(),
        Some(Command::Completions(args)) => completions::completions(args),
        Some(Command::Man) => list::man(),
    }
}
