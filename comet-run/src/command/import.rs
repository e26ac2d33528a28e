//! `import`: what another benchmark printed, as a result file.

use std::fs::File;
use std::io::{BufWriter, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use comet_report::import::{Origin, RANKS, Surroundings, import as records_of, write};

use crate::exit;
use crate::result_file::create_new;
use crate::terminal;

/// What `import` takes.
#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// Whose output it is
    #[arg(value_name = "BENCHMARK")]
    benchmark: Benchmark,
    /// What it printed, or - for standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Result file to make, instead of standard output
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Number of ranks, where the text does not tell (OSU's does not for collectives)
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u64).range(RANKS))]
    ranks: Option<u64>,
}

/// A benchmark whose output can be imported.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Benchmark {
    /// OSU micro-benchmarks
    Osu,
    /// Intel MPI Benchmarks
    Imb,
    /// Whichever the titles in the text belong to
    Auto,
}

/// Writes the records of a text.
///
/// # Errors
/// If the text cannot be read or understood, or if the records cannot be written.
pub(super) fn import(args: &ImportArgs) -> anyhow::Result<u8> {
    let text = read(&args.file)?;
    let origin = match args.benchmark {
        Benchmark::Osu => Some(Origin::Osu),
        Benchmark::Imb => Some(Origin::Imb),
        Benchmark::Auto => Origin::of(&text),
    };
    let name = args.file.display();
    let origin = origin.ok_or_else(|| {
        exit::usage(format!("{name} has no title of osu or imb (write import osu or import imb)"))
    })?;
    let around = Surroundings {
        n_ranks: args.ranks,
        argv: std::env::args_os().map(|arg| arg.to_string_lossy().into_owned()).collect(),
        imported_at: SystemTime::now(),
    };
    let records = records_of(origin, &text, &around)
        .map_err(|error| exit::usage(format!("{name}: {error}")))?;
    let Some(path) = &args.out else {
        let mut out = BufWriter::new(terminal::stdout());
        write(&records, &mut out)?;
        out.flush()?;
        return Ok(exit::OK);
    };
    create_new(path)?;
    let cannot = || format!("cannot write {}", path.display());
    let mut out = BufWriter::new(File::create(path).with_context(cannot)?);
    write(&records, &mut out).and_then(|()| out.flush()).with_context(cannot)?;
    Ok(exit::OK)
}

/// Text of the file `path`, or of standard input; other bytes than UTF-8 are no obstacle.
fn read(path: &Path) -> anyhow::Result<String> {
    let mut text = Vec::new();
    let result = if path == Path::new("-") {
        std::io::stdin().read_to_end(&mut text)
    } else {
        File::open(path).and_then(|mut file| file.read_to_end(&mut text))
    };
    result.map_err(|error| {
        let name = path.display();
        exit::usage(format!("cannot read {name}: {error} (does it exist, and may you read it?)"))
    })?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}
