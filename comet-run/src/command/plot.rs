//! `plot`: single figures, or all of them in a folder.

use std::fs;
use std::path::Path;

use anyhow::Context as _;
use clap::ValueEnum as _;
use comet_report::figures::figures;
use comet_report::plot::{self, Figure, Style};
use strsim::levenshtein;

use crate::cli::{PlotArgs, PlotFormat};
use crate::command::files;
use crate::exit;
use crate::terminal;

/// Folder of the figures where none is named.
const FOLDER: &str = "comet-plots";
/// The most figures that are named instead of one that is not there.
const MAX_GUESSES: usize = 5;

/// Largest distance of a suggested figure beyond that of the nearest, in edits.
const MAX_EDITS: usize = 2;

impl PlotFormat {
    /// End of the names of its files.
    fn extension(self) -> &'static str {
        match self {
            Self::Svg => "svg",
            Self::Png => "png",
            Self::Csv => "csv",
            Self::Gnuplot => "gp",
        }
    }

    /// The format of the file `path`, if its name ends as one of them.
    fn of(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?;
        Self::value_variants().iter().copied().find(|format| format.extension() == extension)
    }

    /// `figure` in this format.
    fn write(self, figure: &Figure, style: Style) -> anyhow::Result<Vec<u8>> {
        Ok(match self {
            Self::Svg => plot::svg(figure, style).into_bytes(),
            Self::Png => plot::png(figure, style).map_err(|e| exit::usage(e.to_string()))?,
            Self::Csv => plot::csv(figure).into_bytes(),
            Self::Gnuplot => plot::gnuplot(figure).into_bytes(),
        })
    }
}

/// Writes figures of result files.
pub(crate) fn plot(args: &PlotArgs) -> anyhow::Result<u8> {
    let figures = figures(&files::runs(&args.files)?);
    if figures.is_empty() {
        let names: Vec<_> = args.files.iter().map(|path| path.display().to_string()).collect();
        return Err(exit::refuse(
            exit::NOTHING,
            format!("nothing in {} makes a figure (measure more sizes)", names.join(", ")),
        ));
    }
    let chosen = choose(&figures, &args.figure)?;
    if args.list {
        terminal::print(&list(&chosen))?;
        return Ok(exit::OK);
    }
    write_all(&chosen, args)?;
    Ok(exit::OK)
}

/// The figures with these names or numbers, in the order of both; all of them without names.
fn choose<'a>(figures: &'a [Figure], names: &[String]) -> anyhow::Result<Vec<&'a Figure>> {
    if names.is_empty() {
        return Ok(figures.iter().collect());
    }
    let mut chosen = Vec::new();
    for name in names {
        let is_meant =
            |figure: &&Figure| figure.id == *name || figure.number.as_ref() == Some(name);
        let before = chosen.len();
        chosen.extend(figures.iter().filter(is_meant));
        if chosen.len() == before {
            return Err(unknown(name, figures));
        }
    }
    Ok(chosen)
}

/// Says that there is no figure `name`, and which ones are near.
fn unknown(name: &str, figures: &[Figure]) -> anyhow::Error {
    let lower = name.to_lowercase();
    let distance = |figure: &&Figure| {
        let contains = figure.id.contains(&lower);
        if contains { 0 } else { levenshtein(&lower, &figure.id) }
    };
    let mut near: Vec<&Figure> = figures.iter().collect();
    near.sort_by_key(distance);
    let least = near.first().map_or(0, distance);
    near.retain(|figure| distance(figure) <= least + MAX_EDITS);
    let near: Vec<&str> = near.iter().take(MAX_GUESSES).map(|figure| &*figure.id).collect();
    exit::usage(format!(
        "there is no figure '{name}'; the nearest are {} (--list shows all {})",
        near.join(", "),
        figures.len()
    ))
}

/// A line for each figure: its name, its number in the thesis, its title.
fn list(figures: &[&Figure]) -> String {
    let width = figures.iter().map(|figure| figure.id.len()).max().unwrap_or(0);
    let line = |figure: &&Figure| {
        let number = figure.number.as_deref().unwrap_or("");
        format!("{:width$}  {number:>4}  {}\n", figure.id, figure.title)
    };
    figures.iter().map(line).collect()
}

/// Writes the figures into a folder, or the only one into a file.
fn write_all(figures: &[&Figure], args: &PlotArgs) -> anyhow::Result<()> {
    let style = if args.dark { Style::Dark } else { Style::Light };
    let folder = args.out.as_deref().unwrap_or(Path::new(FOLDER));
    files::keep(&args.files, folder)?;
    if let Some(format) = PlotFormat::of(folder) {
        let [figure] = figures else { return Err(too_many(figures, folder)) };
        let contradicts = args.format.filter(|given| *given != format);
        if let Some(given) = contradicts {
            return Err(contradiction(given, folder));
        }
        return files::write(folder, &format.write(figure, style)?);
    }
    refuse_other_formats(folder)?;
    let cannot =
        || format!("cannot make the folder {} (name another one with --out)", folder.display());
    fs::create_dir_all(folder).with_context(cannot)?;
    let format = args.format.unwrap_or(PlotFormat::Svg);
    for figure in figures {
        let path = folder.join(format!("{}.{}", figure.id, format.extension()));
        files::write(&path, &format.write(figure, style)?)?;
    }
    let plural = if figures.len() == 1 { "" } else { "s" };
    terminal::note(&format!("{} figure{plural}: {}", figures.len(), folder.display()));
    Ok(())
}

/// Refuses to make a folder whose name ends as that of a file in a format of others.
fn refuse_other_formats(folder: &Path) -> anyhow::Result<()> {
    let is_folder = folder.is_dir() || folder.as_os_str().as_encoded_bytes().ends_with(b"/");
    if is_folder || (folder.extension().is_none() && folder != Path::new("-")) {
        return Ok(());
    }
    Err(exit::usage(format!(
        "{} is no name for a figure (end it in .svg, .png, .csv or .gp, or name a folder, a new one \
         without a dot or with / at its end)",
        folder.display()
    )))
}

fn too_many(figures: &[&Figure], path: &Path) -> anyhow::Error {
    let names: Vec<&str> = figures.iter().take(MAX_GUESSES).map(|figure| &*figure.id).collect();
    let more = if figures.len() > names.len() { " …" } else { "" };
    exit::usage(format!(
        "{} is a file for one figure, and these are {}: {}{more} (choose one by --figure, or name \
         a folder)",
        path.display(),
        figures.len(),
        names.join(", ")
    ))
}

fn contradiction(format: PlotFormat, path: &Path) -> anyhow::Error {
    exit::usage(format!(
        "--format {0} does not go with {1} (name a file that ends in .{0}, or leave --format out)",
        format.extension(),
        path.display()
    ))
}
