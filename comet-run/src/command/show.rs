//! `show`: stored runs in another form, and their figures in letters.

use std::io::{BufWriter, Write};

use comet_report::figures::figures;
use comet_report::format;
use comet_report::plot::{self, Letters};
use comet_report::record::Record;
use comet_report::runs::RunRecords;

use crate::cli::ShowArgs;
use crate::command::files;
use crate::exit;
use crate::terminal;

/// The format that figures may follow.
const TABLE: &str = "table";
/// Width and height of figures, in letters: they fit into the smallest terminal.
const FIGURE: [usize; 2] = [79, 16];

/// Prints result files in a format, and their figures if that is wanted.
///
/// # Errors
/// If a file cannot be read, or holds something else, if figures were to follow what is no table,
/// or if standard output cannot be written.
pub(super) fn show(args: &ShowArgs) -> anyhow::Result<u8> {
    if args.plots && args.format != TABLE {
        return Err(exit::usage(format!(
            "--plots goes with --format {TABLE}, not with {} (leave one of them out, or take \
             comet-run plot)",
            args.format
        )));
    }
    let (records, runs) = read_all(args)?;
    let format = format::find(&args.format).expect("clap accepts known formats only");
    let mut out = BufWriter::new(terminal::stdout());
    format.write(&records, &mut out)?;
    if args.plots {
        write_plots(&runs, &mut out)?;
    }
    out.flush()?;
    Ok(exit::OK)
}

/// The records of all files, and the runs that they make.
fn read_all(args: &ShowArgs) -> anyhow::Result<(Vec<Record>, Vec<RunRecords>)> {
    let (mut all, mut runs) = (Vec::new(), Vec::new());
    for path in &args.files {
        let records = files::records(path)?;
        if args.plots {
            runs.extend(files::split_runs(records.clone(), path));
        }
        all.extend(records);
    }
    Ok((all, runs))
}

fn write_plots(runs: &[RunRecords], out: &mut impl Write) -> anyhow::Result<()> {
    let figures = figures(runs);
    if figures.is_empty() {
        terminal::note("note: nothing was measured that makes a figure (measure more sizes)");
    }
    let [width, height] = FIGURE;
    for figure in &figures {
        writeln!(out, "\n{}", plot::terminal(figure, width, height, letters()))?;
    }
    Ok(())
}

/// The letters that the terminal of the user can show, by its locale.
fn letters() -> Letters {
    let variable = |name: &&str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(variable).unwrap_or_default();
    let is_utf_8 = locale.to_ascii_lowercase().replace('-', "").contains("utf8");
    let is_dumb = variable(&"TERM").is_some_and(|terminal| terminal == "dumb");
    if is_utf_8 && !is_dumb { Letters::Unicode } else { Letters::Ascii }
}
