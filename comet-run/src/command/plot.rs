//! `plot`: single figures, or all of them in a folder.

use std::fs;
use std::path::Path;

use anyhow::Context as _;
use clap::ValueEnum as _;
use comet_core::kernel::KernelInfo;
use comet_report::figures::figures;
use comet_report::plot::{self, Figure, Style};

use crate::catalogue;
use crate::cli::{PlotArgs, PlotFormat};
use crate::command::files;
use crate::exit;
use crate::selection;
use crate::terminal;

/// Words that stand for others in names of figures.
const WORDS: [(&str, &str); 1] = [("latency", "echo-time")];
/// Folder of the figures where none is named.
const FOLDER: &str = "comet-plots";
/// The most figures that are named where there is to be one.
const MAX_GUESSES: usize = 5;

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
    let mut chosen: Vec<&Figure> = Vec::new();
    for name in names {
        let found = meant(figures, name);
        if found.is_empty() {
            return Err(unknown(name, figures));
        }
        for figure in found {
            if chosen.iter().all(|other| other.id != figure.id) {
                chosen.push(figure);
            }
        }
    }
    Ok(chosen)
}

/// The figures that `name` means: the one with this name or number, or else all with these words in
/// their names, or else those of the kernel that it selects.
fn meant<'a>(figures: &'a [Figure], name: &str) -> Vec<&'a Figure> {
    let is_it = |figure: &&Figure| figure.id == name || figure.number.as_deref() == Some(name);
    let found: Vec<&Figure> = figures.iter().filter(is_it).collect();
    if !found.is_empty() {
        return found;
    }
    let with = |words: &str| -> Vec<&'a Figure> {
        let words = format!("-{}-", of_id(words));
        figures.iter().filter(|figure| format!("-{}-", figure.id).contains(&words)).collect()
    };
    let known = WORDS.iter().find(|(word, _)| word.eq_ignore_ascii_case(name));
    let found = with(known.map_or(name, |(_, words)| words));
    match selection::select_one(name, &catalogue::infos()) {
        Ok(kernel) if found.is_empty() => with(&kernel.id()),
        _ => found,
    }
}

/// `words` as in the names of figures: small letters, digits and hyphens.
fn of_id(words: &str) -> String {
    let is_kept = |c: char| c.is_ascii_alphanumeric() || c == '.';
    words.to_ascii_lowercase().replace(|c| !is_kept(c), "-")
}

/// Words that mean figures in most runs: kernels, and the kinds of their figures.
pub(crate) fn words(infos: &[&'static KernelInfo]) -> Vec<String> {
    let kinds = ["latency", "time", "bandwidth", "scaling", "distribution", "samples"];
    let mut names: Vec<&str> = infos.iter().map(|info| info.name).collect();
    names.sort_unstable();
    names.dedup();
    kinds.into_iter().chain(names).map(str::to_owned).collect()
}

/// Says that there is no figure `name`, and which ones are near.
fn unknown(name: &str, figures: &[Figure]) -> anyhow::Error {
    let guess = selection::guess(&of_id(name), figures.iter().map(|figure| &*figure.id));
    exit::usage(format!("there is no figure '{name}'{guess} (--list shows all {})", figures.len()))
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
