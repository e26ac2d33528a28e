//! `completions`: scripts by which a shell completes options, kernels, axes, machines and figures.
//!
//! The words of an argument are added to a copy of the command line alone: parsing, errors and help stay
//! as they are.

use clap::builder::PossibleValuesParser;
use clap::{Command, CommandFactory as _, ValueHint};
use clap_complete::Shell;
use comet_core::kernel::{AxisKind, DATATYPE, GROUPS, KernelInfo, PROCS};
use comet_sim::machine;

use crate::catalogue;
use crate::cli::{Cli, CompletionsArgs};
use crate::command::plot;
use crate::exit;
use crate::selection;
use crate::terminal;

/// Prints the script for a shell.
pub(crate) fn completions(args: &CompletionsArgs) -> anyhow::Result<u8> {
    let words = Words::new();
    let mut command = words.complete(Cli::command()).mut_subcommands(|sub| words.complete(sub));
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut command, "comet-run", &mut text);
    let text = String::from_utf8_lossy(&text);
    let text = match args.shell {
        // clap writes the hyphen of a program's name in two ways, and finds no subcommand.
        Shell::Bash => text.replace("comet__subcmd__run", "comet__run"),
        Shell::Fish => words.fish(&text, &command),
        Shell::Zsh => words.zsh(&text),
        _ => text.into_owned(),
    };
    terminal::print(&text)?;
    Ok(exit::OK)
}

/// Words of arguments, by the ids of these.
struct Words([(&'static str, Vec<String>); 5]);

/// The argument that names kernels, and that of `help`.
const SELECT: &str = "select";
const TOPICS: &str = "topics";
/// The argument whose words end in `=`.
const AXIS: &str = "axis";

impl Words {
    fn new() -> Self {
        let infos = catalogue::infos();
        let mut select = selection::words(&infos);
        // Shells take a colon for the end of a word.
        select.retain(|word| !word.contains(':'));
        let commands = Cli::command();
        let commands = commands.get_subcommands().map(|command| command.get_name().to_owned());
        let topics = commands.chain(select.iter().cloned()).collect();
        let machines = machine::names().map(str::to_owned).collect();
        Self([
            (SELECT, select),
            (TOPICS, topics),
            ("machine", machines),
            (AXIS, axes(&infos)),
            ("figure", plot::words(&infos)),
        ])
    }

    /// `command` with the words of its arguments.
    fn complete(&self, mut command: Command) -> Command {
        for (id, words) in &self.0 {
            if command.get_arguments().any(|arg| arg.get_id() == *id) {
                command = command.mut_arg(id, |arg| {
                    let hint = if *id == AXIS { ValueHint::Other } else { arg.get_value_hint() };
                    arg.value_parser(PossibleValuesParser::new(words)).value_hint(hint)
                });
            }
        }
        command
    }

    /// Words of the argument `id`.
    fn of(&self, id: &str) -> &[String] {
        self.0.iter().find(|(name, _)| *name == id).map_or(&[], |(_, words)| words)
    }

    /// `script` with the words of arguments without an option, which clap leaves out for fish, and
    /// with options of the program behind the first word.
    fn fish(&self, script: &str, command: &Command) -> String {
        let names = |is_wanted: &dyn Fn(&Command) -> bool| {
            let wanted = command.get_subcommands().filter(|command| is_wanted(command));
            wanted.map(Command::get_name).collect::<Vec<_>>().join(" ")
        };
        let has =
            |command: &Command, id: &str| command.get_arguments().any(|arg| *arg.get_id() == *id);
        let using = "__fish_comet_run_using_subcommand";
        let without_subcommand = format!("\"not {using} {}\"", names(&|_| true));
        let line = |line: &str| {
            let is_option = line.contains(" -l ");
            let anywhere = line.replace("\"__fish_comet_run_needs_command\"", &without_subcommand);
            (if is_option { anywhere } else { line.to_owned() }) + "\n"
        };
        let words = |condition: String, id: &str| {
            let words = self.of(id).join(" ");
            format!("complete -c comet-run -n \"{condition}\" -f -a \"{words}\"\n")
        };
        script.lines().map(line).collect::<String>()
            + &words(format!("not {using} {}", names(&|command| !has(command, SELECT))), SELECT)
            + &words(format!("{using} {}", names(&|command| has(command, TOPICS))), TOPICS)
            + &words(format!("{using} machines"), "machine")
    }

    /// `script` for zsh, in which the first word is a kernel or a subcommand, a kernel has the
    /// arguments of `run`, and options may follow files; clap takes a subcommand for a kernel.
    fn zsh(&self, script: &str) -> String {
        let select = self.of(SELECT);
        let described: String = select.iter().map(|word| format!("'{word}' \\\n")).collect();
        let lines = script.lines().filter(|line| !line.starts_with("'::select"));
        let script: String = lines.map(|line| line.to_owned() + "\n").collect();
        script
            .replace("$line[2]", "$line[1]")
            .replace("'*::", "'*:")
            .replacen("(run)\n", &format!("(run|{})\n", select.join("|")), 1)
            .replacen("commands=(\n'run:", &format!("commands=(\n{described}'run:"), 1)
    }
}

/// Names of all axes that take values, each with an equals sign.
fn axes(infos: &[&'static KernelInfo]) -> Vec<String> {
    let of_kernels = infos.iter().flat_map(|info| info.axes).map(|used| used.axis);
    let mut names: Vec<String> = of_kernels
        .chain([&PROCS, &GROUPS, &DATATYPE])
        .filter(|axis| axis.kind != AxisKind::Found)
        .map(|axis| format!("{}=", axis.name))
        .collect();
    names.sort();
    names.dedup();
    names
}
