//! `schema`, `completions` and `man`: descriptions of result files and of the command line.

use clap::{Command, CommandFactory as _};
use clap_mangen::Man;

use crate::cli::{self, Cli, CompletionsArgs};
use crate::exit;
use crate::terminal;

/// Prints the JSON schema of result files.
pub(crate) fn schema() -> anyhow::Result<u8> {
    terminal::print(comet_report::record::JSON_SCHEMA)?;
    Ok(exit::OK)
}

/// Prints completions for a shell.
pub(crate) fn completions(args: &CompletionsArgs) -> anyhow::Result<u8> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "comet-run", &mut text);
    terminal::print(&String::from_utf8_lossy(&text))?;
    Ok(exit::OK)
}

/// Prints the man page.
pub(crate) fn man() -> anyhow::Result<u8> {
    let mut command = Cli::command();
    command.build();
    let mut page = Vec::new();
    let man = Man::new(command.clone());
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    let mut page = String::from_utf8_lossy(&page).into_owned();
    for subcommand in command.get_subcommands().filter(|command| command.get_name() != "help") {
        page += &command_section(subcommand)?;
    }
    page += &verbatim_section("EXAMPLES", cli::EXAMPLES);
    page += &verbatim_section("EXIT STATUS", &cli::exit_codes());
    terminal::print(&page)?;
    Ok(exit::OK)
}

/// Description, synopsis and options of a command.
fn command_section(command: &Command) -> std::io::Result<String> {
    let man = Man::new(command.clone());
    let mut section = Vec::new();
    man.render_description_section(&mut section)?;
    man.render_synopsis_section(&mut section)?;
    // The options of run are those of the program itself.
    if command.get_name() != "run" {
        man.render_options_section(&mut section)?;
    }
    let below = String::from_utf8_lossy(&section).replace("\n.SH ", "\n.SS ");
    Ok(format!(".SH \"COMMAND {}\"\n{below}", command.get_name().to_uppercase()))
}

/// A section whose lines stay as they are.
fn verbatim_section(name: &str, text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    format!(".SH \"{name}\"\n.nf\n{text}.fi\n")
}
