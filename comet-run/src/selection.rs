//! From names on the command line to kernels.
//!
//! ```text
//!   all             suites comet and matrix         comet/echo     one kernel
//!   matrix          a suite                         *_broadcast    every name like this
//!   echo            a kernel of any suite           IMB:PingPong   what another suite calls it
//!   latency         what people call it             PingPong       the same without the suite
//! ```

use std::collections::HashSet;
use std::ops::Range;

use comet_core::kernel::{Evaluation, KernelInfo};
use comet_report::suite;
use strsim::levenshtein;

use crate::catalogue::{self, DEFAULT_SUITES};
use crate::exit;

/// Names of quantities and of operations of MPI, and the kernels that measure them.
const COMMON: [(&str, &str); 2] = [("latency", "comet/echo"), ("bandwidth", "osu/bw")];
/// Suites whose names mean kernels of other suites that have them too, those of the last one at last.
const LAST_SUITES: [&str; 2] = ["imb-p2p", "imb-mt"];
/// The most names that are suggested instead of one that is not there.
const MAX_GUESSES: usize = 3;
/// Operations that no kernel measures, and the nearest kernel with what it does.
const ABSENT: [(&str, &str, &str); 2] = [
    ("ibcast", "imb/bcast", "the call that blocks"),
    ("iallreduce", "imb/allreduce", "the call that blocks"),
];

/// Kernels to measure.
#[derive(Debug)]
pub(crate) struct Selection {
    /// The kernels, each once, in the order in which they were named.
    pub(crate) kernels: Vec<&'static KernelInfo>,
    /// Kernels that were added because others need them, and one sentence for each.
    pub(crate) bases: Vec<&'static KernelInfo>,
    pub(crate) notes: Vec<String>,
}

/// Kernels of the `catalogue` that `names` stand for, and before each those it requires.
pub(crate) fn select(
    names: &[String],
    catalogue: &[&'static KernelInfo],
) -> anyhow::Result<Selection> {
    if names.is_empty() {
        let message = "nothing is selected (name kernels, a suite or all, as in: comet-run all)";
        return Err(exit::refuse(exit::NOTHING, message));
    }
    let mut named = Vec::new();
    for name in names {
        named.extend(find(name, catalogue)?);
    }
    Ok(with_required(&named, catalogue))
}

/// The one kernel that `name` stands for.
pub(crate) fn select_one(
    name: &str,
    catalogue: &[&'static KernelInfo],
) -> anyhow::Result<&'static KernelInfo> {
    match find(name, catalogue)?.as_slice() {
        [info] => Ok(info),
        infos => Err(ambiguous(name, infos)),
    }
}

/// Kernels that `name` stands for, in the order of the catalogue.
pub(crate) fn find(
    name: &str,
    catalogue: &[&'static KernelInfo],
) -> anyhow::Result<Vec<&'static KernelInfo>> {
    let matching = |accepts: &dyn Fn(&KernelInfo) -> bool| -> Vec<&'static KernelInfo> {
        catalogue.iter().copied().filter(|info| accepts(info)).collect()
    };
    let suites = matching(&|info| {
        info.suite == name || (name == "all" && DEFAULT_SUITES.contains(&info.suite))
    });
    if !suites.is_empty() {
        return Ok(suites);
    }
    if name.contains('*') {
        return find_glob(name, &matching(&|info| glob_accepts(name, info)));
    }
    match called(name, catalogue).as_slice() {
        [] => Err(unknown(name, catalogue)),
        [info] => Ok(vec![info]),
        several => Err(ambiguous(name, several)),
    }
}

/// Kernels that `name` means as their name, their id or one of their aliases: those of the suites that go
/// before others.
fn called(name: &str, catalogue: &[&'static KernelInfo]) -> Vec<&'static KernelInfo> {
    let common = COMMON.iter().find(|(word, _)| word.eq_ignore_ascii_case(name)).map(|of| of.1);
    let id = common.or_else(|| suite::kernel(name)).unwrap_or(name);
    let is_called = |info: &&&'static KernelInfo| {
        let is_name = |alias: &str| alias.eq_ignore_ascii_case(name);
        let is_alias =
            |alias: &&str| is_name(alias) || alias.split_once(':').is_some_and(|of| is_name(of.1));
        info.id().eq_ignore_ascii_case(id)
            || is_name(info.name)
            || info.aliases.iter().any(is_alias)
    };
    let called: Vec<_> = catalogue.iter().filter(is_called).copied().collect();
    let called = prefer(&called, |suite| DEFAULT_SUITES.contains(&suite));
    LAST_SUITES.iter().rev().fold(called, |called, last| prefer(&called, |suite| suite != *last))
}

fn find_glob(
    pattern: &str,
    matches: &[&'static KernelInfo],
) -> anyhow::Result<Vec<&'static KernelInfo>> {
    if matches.is_empty() {
        let message = format!("no kernel matches '{pattern}' (comet-run list shows all kernels)");
        return Err(exit::refuse(exit::NOTHING, message));
    }
    // A pattern that names a suite means what it says.
    Ok(if pattern.contains('/') {
        matches.to_vec()
    } else {
        prefer(matches, |suite| DEFAULT_SUITES.contains(&suite))
    })
}

/// The kernels among `infos` whose suites are preferred, or all if none is.
fn prefer(
    infos: &[&'static KernelInfo],
    is_preferred: impl Fn(&str) -> bool,
) -> Vec<&'static KernelInfo> {
    let preferred: Vec<_> = infos.iter().copied().filter(|info| is_preferred(info.suite)).collect();
    if preferred.is_empty() { infos.to_vec() } else { preferred }
}

/// `named`, each once, and before each the kernels that it requires; bounds come first.
fn with_required(named: &[&'static KernelInfo], catalogue: &[&'static KernelInfo]) -> Selection {
    let mut selection = Selection { kernels: Vec::new(), bases: Vec::new(), notes: Vec::new() };
    for info in named {
        for required in catalogue.iter().filter(|other| info.requires.contains(&&*other.id())) {
            if !contains(named, required) && !contains(&selection.kernels, required) {
                let note = measured_first(required);
                selection.notes.push(format!("{note}: {} needs it", info.id()));
                selection.bases.push(required);
            }
            push(&mut selection.kernels, required);
        }
        push(&mut selection.kernels, info);
    }
    // Rates are printed with the shares of their bounds as soon as they are measured.
    selection.kernels.sort_by_key(|info| info.evaluation != Evaluation::MemoryCopy);
    selection
}

/// Start of the note about a kernel that is measured because another needs it.
pub(crate) fn measured_first(base: &KernelInfo) -> String {
    format!("note: {} is measured first", base.id())
}

fn push(infos: &mut Vec<&'static KernelInfo>, info: &'static KernelInfo) {
    if !contains(infos, info) {
        infos.push(info);
    }
}

fn contains(infos: &[&'static KernelInfo], info: &KernelInfo) -> bool {
    infos.iter().any(|other| other.id() == info.id())
}

fn ambiguous(name: &str, infos: &[&'static KernelInfo]) -> anyhow::Error {
    let ids: Vec<String> = infos.iter().map(|info| info.id()).collect();
    exit::usage(format!(
        "'{name}' means {} kernels: {} (write one of them)",
        ids.len(),
        ids.join(", ")
    ))
}

fn unknown(name: &str, catalogue: &[&'static KernelInfo]) -> anyhow::Error {
    if let Some((_, id, does)) = ABSENT.iter().find(|(word, ..)| word.eq_ignore_ascii_case(name)) {
        return exit::usage(format!(
            "no kernel measures {name}; the nearest is {id}: {does} (comet-run list shows all \
             kernels)"
        ));
    }
    let words = words(catalogue);
    let guess = guess(name, words.iter().map(String::as_str));
    let foreign = if name.eq_ignore_ascii_case("imb") { "write IMB-MPI1 PingPong; " } else { "" };
    let suites = catalogue::suites(catalogue).join(", ");
    exit::usage(format!(
        "'{name}' is no kernel, suite or alias{guess} ({foreign}suites are {suites}; comet-run list \
         shows all kernels)"
    ))
}

/// Words that select kernels, each once whatever its letters: suites, and what kernels are called.
pub(crate) fn words(catalogue: &[&'static KernelInfo]) -> Vec<String> {
    let mut words = vec!["all".to_owned()];
    words.extend(catalogue::suites(catalogue).into_iter().map(str::to_owned));
    words.extend(names(catalogue, catalogue));
    each_once(words)
}

/// Words that select `info` and no other kernel.
pub(crate) fn words_of(
    info: &'static KernelInfo,
    catalogue: &[&'static KernelInfo],
) -> Vec<String> {
    let mut words = each_once(names(&[info], catalogue));
    words.retain(|word| {
        let is_suite = catalogue.iter().any(|other| other.suite == word);
        !is_suite && matches!(called(word, catalogue)[..], [one] if one.id() == info.id())
    });
    words
}

/// Words for `infos`: names, words of [`COMMON`], ids, and aliases with and without their suite.
fn names(infos: &[&'static KernelInfo], catalogue: &[&'static KernelInfo]) -> Vec<String> {
    let aliases = || infos.iter().flat_map(|info| info.aliases).copied();
    let short = aliases().map(|alias| alias.split_once(':').map_or(alias, |of| of.1));
    // Some names mean kernels of other suites, of which they are aliases.
    let is_own = |info: &&&KernelInfo| contains(&called(info.name, catalogue), info);
    let own = infos.iter().filter(is_own).map(|info| info.name);
    let common = COMMON.iter().filter(|(_, id)| infos.iter().any(|info| info.id() == *id));
    let mut names: Vec<String> =
        own.chain(common.map(|(word, _)| *word)).map(str::to_owned).collect();
    names.extend(infos.iter().map(|info| info.id()));
    names.extend(aliases().chain(short).map(str::to_owned));
    names
}

/// The first of `words` that are equal but for the case of their letters.
fn each_once(mut words: Vec<String>) -> Vec<String> {
    let mut seen = HashSet::new();
    words.retain(|word| seen.insert(word.to_ascii_lowercase()));
    words
}

/// `; did you mean A or B?`: the part of a sentence with up to [`MAX_GUESSES`] of `names` that are few
/// edits away from `word`, nearest first; empty if none is. Words that dashes join in a name count
/// alone and together, and neither case nor leading dashes do.
pub(crate) fn guess<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> String {
    let bare = |text: &str| text.trim_start_matches('-').to_ascii_lowercase();
    let word = bare(word);
    let n_edits = |name: &str| {
        let name = bare(name);
        let ends = || name.match_indices('-').map(|(at, _)| at).chain([name.len()]);
        let starts = [0].into_iter().chain(name.match_indices('-').map(|(at, _)| at + 1));
        let runs = starts
            .flat_map(|start| ends().filter_map(move |end| (start < end).then_some(start..end)));
        let near = |run: Range<usize>| {
            let run = &name[run];
            let shorter = word.len().min(run.len());
            let n = levenshtein(&word, run);
            (n <= shorter.div_ceil(3) && n < shorter).then_some(n)
        };
        runs.filter_map(near).min()
    };
    let mut ranked: Vec<_> =
        names.filter_map(|name| n_edits(name).map(|n_edits| (n_edits, name))).collect();
    ranked.sort_by_key(|(n_edits, _)| *n_edits);
    let nearest: Vec<&str> = ranked.into_iter().take(MAX_GUESSES).map(|(_, name)| name).collect();
    if nearest.is_empty() {
        return String::new();
    }
    format!("; did you mean {}?", nearest.join(" or "))
}

/// True if a pattern matches the kernel's name or id.
fn glob_accepts(pattern: &str, info: &KernelInfo) -> bool {
    glob(pattern, info.name) || glob(pattern, &info.id())
}

/// True if `text` matches `pattern`, in which each `*` stands for any text.
fn glob(pattern: &str, text: &str) -> bool {
    let Some((head, tail)) = pattern.split_once('*') else { return pattern == text };
    let Some(rest) = text.strip_prefix(head) else { return false };
    (0..=rest.len()).filter(|at| rest.is_char_boundary(*at)).any(|at| glob(tail, &rest[at..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLANK: KernelInfo = KernelInfo {
        name: "echo",
        summary: "s",
        aliases: &["IMB:PingPong"],
        axes: &[],
        series: &[],
        admits: |_, _| Ok(()),
        bytes_per_rank: |_, _| 0,
        ..KernelInfo::pair("comet")
    };
    static ECHO: KernelInfo = BLANK;
    static BARRIER: KernelInfo = KernelInfo { name: "barrier", aliases: &["IMB:Barrier"], ..BLANK };
    static CONTENTION: KernelInfo =
        KernelInfo { name: "contention", aliases: &[], requires: &["comet/echo"], ..BLANK };
    static SHIFT: KernelInfo = KernelInfo { suite: "matrix", name: "shift", aliases: &[], ..BLANK };
    static ROW: KernelInfo =
        KernelInfo { suite: "matrix", name: "row_broadcast", aliases: &[], ..BLANK };
    static NAIVE: KernelInfo =
        KernelInfo { suite: "naive", name: "barrier", aliases: &["IMB:Barrier"], ..BLANK };
    static COPY: KernelInfo = KernelInfo {
        suite: "model",
        name: "memcpy",
        aliases: &[],
        evaluation: Evaluation::MemoryCopy,
        ..BLANK
    };
    static IMB: KernelInfo = KernelInfo { suite: "imb", name: "twice", aliases: &[], ..BLANK };
    static OSU: KernelInfo = KernelInfo { suite: "osu", name: "twice", aliases: &[], ..BLANK };
    static ONCE: KernelInfo = KernelInfo { suite: "imb", name: "once", aliases: &[], ..BLANK };
    static P2P: KernelInfo = KernelInfo {
        suite: "imb-p2p",
        name: "pingpong",
        aliases: &["IMB-P2P:PingPong", "IMB-P2P:Once"],
        ..BLANK
    };
    static CATALOGUE: [&KernelInfo; 11] =
        [&ECHO, &BARRIER, &CONTENTION, &SHIFT, &ROW, &NAIVE, &COPY, &IMB, &ONCE, &OSU, &P2P];

    fn selected(names: &str) -> anyhow::Result<Selection> {
        let names: Vec<String> = names.split_whitespace().map(str::to_owned).collect();
        select(&names, &CATALOGUE)
    }

    #[test]
    fn names_stand_for_kernels_each_once_in_their_order() {
        for (names, expected) in [
            ("matrix", "matrix/shift matrix/row_broadcast"),
            ("naive", "naive/barrier"),
            ("all", "comet/echo comet/barrier comet/contention matrix/shift matrix/row_broadcast"),
            ("shift echo comet/echo shift", "matrix/shift comet/echo"),
            // A bare name means the kernel of a default suite.
            ("barrier", "comet/barrier"),
            ("naive/barrier", "naive/barrier"),
            ("IMB:Barrier", "comet/barrier"),
            ("imb:pingpong", "comet/echo"),
            ("pingpong", "comet/echo"),
            ("Latency", "comet/echo"),
            ("once", "imb/once"),
            ("IMB-P2P:Once", "imb-p2p/pingpong"),
            // A star stands for any text.
            ("*_broadcast", "matrix/row_broadcast"),
            ("naive/*", "naive/barrier"),
            ("b*r", "comet/barrier"),
            ("*/barrier", "comet/barrier naive/barrier"),
            // A required kernel comes first.
            ("contention", "comet/echo comet/contention"),
            ("contention echo", "comet/echo comet/contention"),
            // A bound comes before what it bounds.
            ("contention memcpy shift", "model/memcpy comet/echo comet/contention matrix/shift"),
        ] {
            let kernels = selected(names).unwrap().kernels;
            let found: Vec<String> = kernels.iter().map(|info| info.id()).collect();
            assert_eq!(found.join(" "), expected, "{names}");
        }
        let note = "note: comet/echo is measured first: comet/contention needs it";
        assert_eq!(selected("contention").unwrap().notes, [note]);
        assert!(selected("contention echo").unwrap().notes.is_empty());
    }

    #[test]
    fn the_words_of_a_kernel_select_it_alone() {
        let check = |info: &'static KernelInfo, expected: &[&str]| {
            assert_eq!(words_of(info, &CATALOGUE), expected, "{}", info.id());
        };
        check(&ECHO, &["echo", "latency", "comet/echo", "IMB:PingPong", "PingPong"]);
        check(&NAIVE, &["naive/barrier"]);
        check(&IMB, &["imb/twice"]);
        check(&P2P, &["imb-p2p/pingpong", "IMB-P2P:PingPong", "IMB-P2P:Once"]);
    }

    #[test]
    fn names_in_several_suites_of_imb_mean_the_kernel_of_one() {
        for (name, id) in [
            ("bcast", "imb/bcast"),
            ("pingping", "imb/pingping"),
            ("sendrecv", "imb/sendrecv"),
            ("uniband", "imb/uniband"),
            ("unirandom", "imb-p2p/unirandom"),
            ("pingpingmt", "imb-mt/pingping"),
        ] {
            assert_eq!(select_one(name, &catalogue::infos()).unwrap().id(), id, "{name}");
        }
    }

    #[test]
    fn what_is_suggested_is_few_edits_away() {
        let names = ["Reduce", "Allreduce", "-msglen", "-m", "-x", "comet-echo-bandwidth"];
        for (word, expected) in [
            ("allredcue", "; did you mean Allreduce?"),
            ("Reduces", "; did you mean Reduce?"),
            ("-msglne", "; did you mean -msglen?"),
            // One letter is as near to any other.
            ("-k", ""),
            ("bandwith", "; did you mean comet-echo-bandwidth?"),
            ("echo-bandwith", "; did you mean comet-echo-bandwidth?"),
            ("noise", ""),
            ("", ""),
        ] {
            assert_eq!(guess(word, names.into_iter()), expected, "{word}");
        }
    }

    #[test]
    fn a_name_of_no_or_of_several_kernels_is_refused_with_what_it_may_mean() {
        let tail = "(comet-run list shows all kernels)";
        let suites = "suites are comet, matrix, naive, model, imb, osu, imb-p2p; comet-run list shows all kernels)";
        let unknown = "is no kernel, suite or alias";
        for (name, message, code) in [
            ("x*", format!("no kernel matches 'x*' {tail}"), exit::NOTHING),
            (
                "",
                "nothing is selected (name kernels, a suite or all, as in: comet-run all)".into(),
                exit::NOTHING,
            ),
            (
                "twice",
                "'twice' means 2 kernels: imb/twice, osu/twice (write one of them)".into(),
                exit::USAGE,
            ),
            ("ecko", format!("'ecko' {unknown}; did you mean echo? ({suites}"), exit::USAGE),
            ("quicksort", format!("'quicksort' {unknown} ({suites}"), exit::USAGE),
            (
                "iallreduce",
                "no kernel measures iallreduce; the nearest is imb/allreduce: the call that blocks \
                 (comet-run list shows all kernels)"
                    .into(),
                exit::USAGE,
            ),
        ] {
            let error = selected(name).unwrap_err();
            assert_eq!((error.to_string(), exit::code_of(&error)), (message, code));
        }
    }
}
