//! The head of a text of IMB, and the lines between the rules above a table.

use std::ops::Range;

use comet_core::kernel::{DATATYPE, ELEMENT};
use comet_core::sweep;
use comet_core::topology::RankGrid;

use super::super::foreign::{Block, n_groups, procs};
use super::{Imb, LENGTHS_LABEL, ROWS_LABEL, mt, p2p};
use crate::record::{Machine, Run};
use crate::suite::imb::{
    self, AGGREGATE, GPU, HALO, IO, MT, P2P, SUITE, V3_2, WIDTH, only_mode, remarks,
};
use crate::suite::{self, Numbers, Suite};

/// The lines before the first table of `run`, in this layout.
pub(super) fn start(run: &Run, &Imb { family, version, .. }: &Imb) -> String {
    let program = format!("{} {}", run.suite.name, run.suite.version);
    let (program, part) = (program.trim_end(), part(run, family));
    let gpu = if run.config.contains_key(GPU) { " (GPU)" } else { "" };
    let is_3_2 = family == V3_2.family;
    let words = part.words.first().filter(|_| is_3_2).map_or(String::new(), |of| format!(", {of}"));
    let title = format!("#    {program}, in the layout of {} {version}{words}{gpu}", part.name);
    if part.id == MT.id {
        return mt::start(&title);
    }
    if [P2P.id, HALO.id].contains(&part.id) {
        return p2p::start(run, &title);
    }
    let rule = rule(5);
    let mut text = format!("{rule}\n{title}\n{rule}\n");
    text += &format!("# Date                  : {}\n{}", run.started_at, system(run));
    text += if is_3_2 { RUN_TIME_CONTROL } else { "" };
    text += &format!("\n\n# Calling sequence was: \n\n# {}\n\n", run.argv.join(" "));
    text += &sizes(run).map_or(String::new(), |sizes| lengths(part, sizes));
    text += &types(run, part);
    text += &mode(run, family);
    let asked = suite::asked(family, run);
    if !asked.is_empty() {
        text += "\n# List of Benchmarks to run:\n\n";
    }
    let multi = if is_3_2 && run.labels.contains_key(ROWS_LABEL) { "(Multi-)" } else { "" };
    for (_, benchmark) in asked {
        text += &format!("# {multi}{}\n", benchmark.name);
        for remark in remarks(benchmark) {
            text += &format!("#     {remark}\n");
        }
    }
    text
}

/// What the head of version 3.2 says of its loops.
const RUN_TIME_CONTROL: &str = "\n# New default behavior from Version 3.2 on:\n\n\
    # the number of iterations per message size is cut down\n\
    # dynamically when a certain run time (per message size sample)\n\
    # is expected to be exceeded. Time limit is defined by variable\n\
    # \"SECS_PER_SAMPLE\" (=> IMB_settings.h)\n\
    # or through the flag => -time\n";

/// Lines with the types of messages and of reductions, which files have not.
fn types(run: &Run, part: &Suite) -> String {
    if part.id == IO.id {
        return "#\n#\n".into();
    }
    let by_default = [(DATATYPE.name, "byte"), (ELEMENT.name, "float"), ("operator", "sum")];
    let [datatype, element, operator] = by_default.map(|(axis, name)| chosen(run, axis, name));
    format!(
        "# MPI_Datatype                   :   {datatype} \n\
         # MPI_Datatype for reductions    :   {element} \n\
         # MPI_Op                         :   {operator}  \n# \n# \n"
    )
}

/// The part of the suite `family` whose benchmarks alone `run` was asked for; that of messages if there is
/// none.
pub(super) fn part(run: &Run, family: &str) -> &'static Suite {
    let asked = suite::asked(family, run);
    let first = asked.first().map_or(&SUITE, |(suite, _)| *suite);
    if asked.iter().all(|(suite, _)| suite.id == first.id) { first } else { &SUITE }
}

/// Lines with the ends of the transfers of a table, where the original names them.
pub(super) fn aggregation(block: &Block<'_>) -> String {
    let of_case = block.first.params.get(AGGREGATE).map(ToString::to_string);
    let mode = of_case.or_else(|| only_mode(block.benchmark).map(str::to_owned));
    let mode = mode.map(|mode| mode.to_uppercase().replace('_', "-"));
    mode.map_or(String::new(), |mode| format!("#\n#    MODE: {mode} \n#\n"))
}

/// The facts of the system and of MPI that the record holds, under the titles of IMB.
pub(super) fn system(run: &Run) -> String {
    let machine = run.machines.first();
    let of_machine = |fact: fn(&Machine) -> Option<&String>| fact(machine?).map(String::as_str);
    let of_mpi = |name: &str| run.transport.facts.get("mpi")?.get(name)?.as_str();
    let level = of_mpi("thread_level").map(|level| format!("MPI_THREAD_{}", level.to_uppercase()));
    let facts = [
        ("Machine               ", of_machine(|m| Some(&m.cpu.arch))),
        ("System                ", of_machine(|m| m.os.kernel.as_ref()).map(|_| "Linux")),
        ("Release               ", of_machine(|m| m.os.kernel.as_ref())),
        ("Version               ", of_machine(|m| m.kernel.build.as_ref())),
        ("MPI Version           ", of_mpi("standard").map(|name| name.trim_start_matches("MPI "))),
        ("MPI Thread Environment", level.as_deref()),
    ];
    let known = facts.into_iter().filter_map(|(title, fact)| Some((title, fact?)));
    let known = known.filter(|(_, fact)| !fact.is_empty());
    known.map(|(title, fact)| format!("# {title}: {fact}\n")).collect()
}

/// The lengths of a run.
pub(super) fn sizes(run: &Run) -> Option<&str> {
    let of_barriers = run.labels.get(LENGTHS_LABEL).map(String::as_str);
    of_barriers.or_else(|| run.config.get("sizes")?.as_str())
}

/// The least and the largest length of a range; `None` for a list.
fn range(sizes: &str) -> Option<[u64; 2]> {
    let values = sweep::parse(sizes, None).ok().filter(|_| sizes.contains(".."))?;
    Some([*values.first()?, *values.last()?])
}

/// Lines with the least and the largest length of `part` in bytes of a range, or about a list.
fn lengths(part: &Suite, sizes: &str) -> String {
    let portion = part.portion;
    match range(sizes) {
        Some([min, max]) => format!(
            "# Minimum {portion} in bytes:   {min}\n\
             # Maximum {portion} in bytes:   {max}\n#\n"
        ),
        None if part.id == IO.id => "# IO lengths were user defined\n#\n".into(),
        None => "# Message lengths were user defined\n#\n".into(),
    }
}

/// The largest length of a run, if that is a range, or else that of the standard mode.
pub(super) fn longest_bytes(run: Option<&Run>) -> u64 {
    run.and_then(|run| range(sizes(run)?)).map_or(STANDARD_LONGEST, |[_, max]| max)
}

/// The largest length of most runs in standard mode.
const STANDARD_LONGEST: u64 = 4_194_304;

/// A line with the mode of a run by the rules of `family`: standard, whose results are comparable, or
/// optional, with what the user has changed.
fn mode(run: &Run, family: &str) -> String {
    let number = |name: &str, part: &str| run.config.get(name)?.get(part)?.as_f64();
    let text = |name: &str| run.config.get(name).and_then(|value| value.as_str());
    if text("rules") != Some(family) {
        return String::new();
    }
    // The time of all lengths follows from that of one and from the lengths.
    let limits = ["bytes", "s"].map(|part| number("loop_limits", part));
    let is_set = |name: &str| run.config.get(name).is_some_and(|value| !value.is_null());
    let asked = suite::asked(family, run);
    let part = part(run, family);
    let standard = imb::standard(part);
    let has_lengths = asked.is_empty() || asked.iter().any(|(_, of)| of.numbers.has_lengths());
    let has = |part: &str| run.config.get("loop_limits").is_some_and(|of| of.get(part).is_some());
    let sizes = format!("0,{}..{}*2", part.unit_bytes, 1u64 << standard.max_log);
    let limits_of_standard = [(standard.volume_mib << 20) as f64, TIME_S].map(Some);
    let operations = run.config.get("repetitions").and_then(|n| n.as_u64());
    let completed = run.config.get("loop_limits").and_then(|of| of.get("completed")?.as_u64());
    let are_others = operations.unwrap_or(OPERATIONS) != standard.operations
        || completed.is_some_and(|n| n != standard.completed);
    let others = [
        ("lengths", has_lengths && text("sizes") != Some(&sizes)),
        ("operations", are_others || is_set("warm_up")),
        ("limits", limits != limits_of_standard || has("multiples")),
    ];
    let others: Vec<&str> = others.iter().filter(|(_, is)| *is).map(|(what, _)| *what).collect();
    match others[..] {
        [] => "# note: standard mode: lengths, operations and limits are those of IMB\n".into(),
        _ => format!("# note: optional mode: other {} than those of IMB\n", others.join(", ")),
    }
}

/// Most time of a loop of such a run, in seconds.
const TIME_S: f64 = 10.0;
/// Operations of a loop at most, unless the run says otherwise.
const OPERATIONS: u64 = 1000;

/// The name in MPI of the type or the operator that the user chose on `axis`, or else of `default`.
fn chosen(run: &Run, axis: &str, default: &str) -> String {
    let chosen = run.config.get("axis").and_then(|axes| axes.get(axis)?.as_str());
    format!("MPI_{}", chosen.unwrap_or(default).to_uppercase())
}

/// The order of the ranks, if they were renumbered.
fn map(block: &Block<'_>) -> Option<RankGrid> {
    let map: RankGrid = block.run?.config.get("map")?.as_str()?.parse().ok()?;
    Some(map).filter(|map| map.moves_ranks())
}

/// Rank of the job with the number `number` in the order of `map`.
fn rank_of(map: RankGrid, number: u64) -> u64 {
    usize::try_from(number).map_or(number, |number| map.rank_of(number) as u64)
}

/// Lines with the number of processes that take part, and of the others.
pub(super) fn processes(block: &Block<'_>) -> String {
    let own = procs(block.first);
    let of_group = if block.benchmark.numbers.is_of_two() { Some(2) } else { own };
    let Some(of_group) = of_group else { return String::new() };
    let n_groups = n_groups(block.first);
    let active = n_groups * of_group;
    let world = block.run.map(|run| run.world.size as u64).or(own).unwrap_or(active);
    // Between two halves IMB does not count the last of an odd number.
    let is_of_halves = matches!(block.benchmark.numbers, Numbers::Windows(_));
    let world = if is_of_halves { world - world % 2 } else { world };
    let others = match world.saturating_sub(active) {
        0 => String::new(),
        1 => "# ( 1 additional process waiting in MPI_Barrier)\n".into(),
        n => format!("# ( {n} additional processes waiting in MPI_Barrier)\n"),
    };
    let map = map(block);
    let ranks = |numbers: Range<u64>| -> String {
        let rank = |number| map.map_or(number, |map| rank_of(map, number));
        numbers.map(|number| format!("{:>5}", rank(number))).collect()
    };
    if n_groups == 1 {
        let Some(map) = map else { return format!("# #processes = {active} \n{others}") };
        let row = (map.n_ranks() / map.n_rows()) as u64;
        let starts = (0..active).step_by(map.n_ranks() / map.n_rows());
        let rows = starts.map(|start| format!("# {}\n# \n", ranks(start..active.min(start + row))));
        let rows: String = rows.collect();
        return format!("# #processes = {active}; rank order (rowwise): \n{rows}{others}");
    }
    let ranks = |group| {
        let ranks = ranks(group * of_group..(group + 1) * of_group);
        format!("# Group {group:>2}: {ranks}\n# \n")
    };
    let groups: String = (0..n_groups).map(ranks).collect();
    format!(
        "# ( {n_groups} groups of {of_group} processes each running simultaneous ) \n{groups}{others}"
    )
}

/// A line as long as so many columns.
pub(super) fn rule(n_columns: usize) -> String {
    format!("#{}", "-".repeat(n_columns * WIDTH - 1))
}
