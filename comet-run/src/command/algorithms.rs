//! `algorithms`: measures the algorithms of a collective against each other, and says which is the
//! fastest at each length; or draws the messages of one.
//!
//! Measuring is a run like any other, of one kernel of the suite `imb`, with a result file of its
//! own. The answer is read from that file, so that a stored run gets the same one.

use std::collections::BTreeMap;
use std::path::Path;

use comet_core::collective::{Collective, Kind, Parts, Sent, algorithm, schedule};
use comet_core::sweep;
use comet_core::words::count;
use comet_report::algorithms::{Contest, contests, mpich_selection, openmpi_rules};
use comet_report::verdict::verdict;
use serde_json::Value;

use super::{files, study};
use crate::cli::{AlgorithmsArgs, RunArgs};
use crate::exit;
use crate::launcher::Launcher;
use crate::terminal;

/// Lengths that are measured unless the user says others.
const SIZES: &str = "8..1Mi*8";
/// Ranks and length of a drawing unless the user says others.
const DRAWN: (usize, usize) = (8, 64 << 10);

/// Measures unless there is a file or a drawing to make; returns the exit code.
pub(crate) fn algorithms(args: &AlgorithmsArgs, launcher: Option<&Launcher>) -> anyhow::Result<u8> {
    if let Some(path) = &args.from {
        return judge(path, args).map(|()| exit::OK);
    }
    let operation = args.operation.as_deref().unwrap_or_default();
    let kind = kind_of(operation)?;
    if let Some(name) = &args.show {
        let (n_ranks, length) = drawn(args)?;
        terminal::print(&drawing(kind, name, n_ranks, length)?)?;
        return Ok(exit::OK);
    }
    study::require_file(&args.study, "algorithms reads")?;
    let wanted = args.algorithm.iter().flat_map(|names| names.split(','));
    wanted.filter(|name| *name != "native").try_for_each(|name| known(kind, name).map(|_| ()))?;
    study::judged(&[run_args(args, operation, kind)], launcher, |path| {
        judge(path, args).map(|()| None)
    })
}

/// Suite and name of the kernel that measures `operation`. A barrier has its algorithms where it is unblocked.
fn kernel_of(operation: &str) -> (&'static str, &str) {
    if operation == Kind::Barrier.name() {
        ("imb-nbc", "ibarrier_pure")
    } else {
        ("imb", operation)
    }
}

/// The kind of the collective `operation`.
fn kind_of(operation: &str) -> anyhow::Result<Kind> {
    let kinds = || Kind::ALL.iter().filter(|kind| !kind.is_among_neighbours());
    kinds().find(|kind| kind.name() == operation).copied().ok_or_else(|| {
        let names: Vec<&str> = kinds().map(|kind| kind.name()).collect();
        exit::usage(format!(
            "'{operation}' is no operation with algorithms (they are {})",
            names.join(", ")
        ))
    })
}

/// The run that measures what is judged.
fn run_args(args: &AlgorithmsArgs, operation: &str, kind: Kind) -> RunArgs {
    let known = || algorithm::of(kind).iter().map(|known| known.name);
    let all = || std::iter::once("native").chain(known()).collect::<Vec<_>>().join(",");
    let names = args.algorithm.clone().unwrap_or_else(all);
    let (suite, name) = kernel_of(operation);
    let (kernel, axis) = (format!("{suite}/{name}"), format!("algorithm={names}"));
    let has_lengths = kind != Kind::Barrier;
    let words = [&*kernel, "--axis", &axis, "--refine", "crossings"];
    let words = words.into_iter().take(if has_lengths { 5 } else { 3 });
    let sizes = args.sizes.clone().or_else(|| has_lengths.then(|| SIZES.into()));
    study::run_of(words, (&args.world, args.profile, sizes), &args.study)
}

/// Prints what the runs of the file `path` say about algorithms, those of one operation if there is one in
/// `args`. What speaks against the use of the answer stands behind a table, and on standard error beside
/// what another program reads.
fn judge(path: &Path, args: &AlgorithmsArgs) -> anyhow::Result<()> {
    let runs = files::runs(&[path.into()])?;
    let is_wanted = |contest: &Contest| {
        args.operation.as_ref().is_none_or(|operation| contest.operation == kernel_of(operation).1)
    };
    let contests: Vec<Contest> = runs.iter().flat_map(contests).filter(is_wanted).collect();
    if contests.is_empty() {
        return Err(exit::usage(format!(
            "{} holds no {} with two algorithms (measure them with comet-run algorithms OPERATION)",
            path.display(),
            args.operation.as_deref().unwrap_or("collective")
        )));
    }
    let mut remarks: Vec<String> =
        runs.iter().filter_map(verdict).map(|of| of.to_string()).collect();
    if matches!(&*args.format, "openmpi" | "mpich") {
        let others = contests.iter().find(|contest| contest.transport != "mpi");
        let other =
            |contest: &Contest| format!("measured over {}, not over MPI", contest.transport);
        remarks.extend(others.map(other));
    }
    let text = match &*args.format {
        "json" => format!("{:#}\n", Value::from_iter(contests.iter().map(Contest::json))),
        "openmpi" => openmpi_rules(&contests, &remarks),
        "mpich" => mpich_selection(&contests),
        _ => {
            let tables: Vec<String> = contests.iter().map(Contest::to_string).collect();
            let remarks = remarks.drain(..).map(|remark| format!("# {remark}\n"));
            tables.join("\n") + &remarks.collect::<String>()
        }
    };
    terminal::print(&text)?;
    remarks.iter().for_each(|remark| terminal::note(remark));
    Ok(())
}

/// Ranks and length of the drawing that `args` ask for.
fn drawn(args: &AlgorithmsArgs) -> anyhow::Result<(usize, usize)> {
    let (n_ranks, length) = DRAWN;
    let length = match &args.sizes {
        None => length,
        Some(text) => {
            let lengths =
                sweep::parse(text, None).map_err(|error| exit::usage(error.to_string()))?;
            lengths.first().and_then(|length| usize::try_from(*length).ok()).unwrap_or(length)
        }
    };
    Ok((
        args.world.ranks.as_ref().and_then(|counts| counts.0.first().copied()).unwrap_or(n_ranks),
        length,
    ))
}

/// The algorithm `name` of the library.
fn known(kind: Kind, name: &str) -> anyhow::Result<&'static algorithm::Algorithm> {
    algorithm::find(kind, name).ok_or_else(|| {
        let names: Vec<&str> = algorithm::of(kind).iter().map(|known| known.name).collect();
        exit::usage(format!(
            "{} has no algorithm '{name}' (it has {})",
            kind.name(),
            names.join(", ")
        ))
    })
}

/// The messages of the algorithm `name`, a line for each step and length.
fn drawing(kind: Kind, name: &str, n_ranks: usize, length: usize) -> anyhow::Result<String> {
    let algorithm = known(kind, name)?;
    let call = Collective::new(kind, Parts::Equal(length));
    algorithm.admit(&call, n_ranks).map_err(exit::usage)?;
    let steps = schedule(algorithm, &call, n_ranks);
    let all = || steps.iter().flatten();
    let mut text = format!(
        "{} by {name} on {}, {length} B: {}\n{}, {}, {} B in all\n",
        kind.name(),
        count(n_ranks, "rank"),
        algorithm.summary,
        count(steps.len(), "step"),
        count(all().count(), "message"),
        all().map(|sent| sent.length).sum::<usize>()
    );
    let has_places = all().any(|sent| sent.start.is_some_and(|start| start > 0));
    if has_places {
        text += "FROM>TO@BYTE: the message begins at that byte of its sender's data\n";
    }
    for (index, step) in steps.iter().enumerate() {
        let mut title = format!("step {}", index + 1);
        for (length, messages) in by_length(step, has_places) {
            text += &format!("{title:<8} {:>8} B  {}\n", length, messages.join(" "));
            title.clear();
        }
    }
    Ok(text)
}

/// The messages of a step by their length; `a<>b` stands for one in each direction. Behind `@` stands
/// where one begins in its sender's data, if `has_places`.
fn by_length(step: &[Sent], has_places: bool) -> BTreeMap<usize, Vec<String>> {
    let mut lines: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for sent in step {
        let Sent { from, to, start, length } = *sent;
        let is_both = step.contains(&Sent { from: to, to: from, start, length });
        let arrow = match is_both {
            true if from > to => continue,
            true => "<>",
            false => ">",
        };
        let start = start.filter(|_| has_places).map_or(String::new(), |start| format!("@{start}"));
        lines.entry(length).or_default().push(format!("{from}{arrow}{to}{start}"));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drawing_has_a_line_for_each_step() {
        let text = drawing(Kind::Allreduce, "recursive_doubling", 4, 8).unwrap();
        let steps: Vec<&str> = text.lines().skip(1).collect();
        assert_eq!(
            steps,
            [
                "2 steps, 8 messages, 64 B in all",
                "step 1          8 B  0<>1 2<>3",
                "step 2          8 B  0<>2 1<>3"
            ]
        );
        let text = drawing(Kind::Allreduce, "ring", 2, 16).unwrap();
        let steps = "step 1          8 B  0>1@0 1>0@8\nstep 2          8 B  0>1@8 1>0@0\n";
        assert!(text.ends_with(steps), "{text}");
        let text = drawing(Kind::Broadcast, "binomial", 3, 8).unwrap();
        assert!(text.ends_with("step 2          8 B  0>1\n"), "{text}");
        let text = drawing(Kind::Broadcast, "binomial", 2, 8).unwrap();
        assert!(text.contains("\n1 step, 1 message, 8 B in all\n"), "{text}");
        let text = drawing(Kind::Broadcast, "binomial", 1, 8).unwrap();
        assert!(text.starts_with("bcast by binomial on 1 rank, 8 B: "), "{text}");
    }

    #[test]
    fn what_is_not_there_is_named_with_what_is() {
        let wrong = |error: anyhow::Error| (exit::code_of(&error), error.to_string());
        let (code, text) = wrong(kind_of("sum").unwrap_err());
        assert_eq!(code, exit::USAGE);
        assert!(
            text.starts_with("'sum' is no operation with algorithms (they are barrier, bcast,")
        );
        let (code, text) = wrong(drawing(Kind::Broadcast, "bruck", 4, 8).unwrap_err());
        assert_eq!(code, exit::USAGE);
        assert!(text.starts_with("bcast has no algorithm 'bruck' (it has linear, binomial,"));
        let (_, text) = wrong(drawing(Kind::Broadcast, "scatter_doubling", 3, 8).unwrap_err());
        assert_eq!(
            text,
            "the algorithm scatter_doubling needs a power of two of ranks, there are 3"
        );
    }
}
