//! The layouts of the Intel MPI Benchmarks, for programs that read them: of version 2021, with MB of
//! 10^6 bytes, and of version 3.2, with MB of 2^20.
//!
//! Times are the mean of each rank over its repetitions: the least, the largest, and their mean, over
//! the ranks that sampled. Rates follow from the largest.

use std::io::Write;
use std::ops::Range;

use comet_core::kernel::{Axis, DATATYPE, ELEMENT, WINDOW, refusal};
use comet_core::sweep;
use comet_core::topology::RankGrid;

use super::foreign::{
    self, Block, Layout, Means, n_groups, or_dash, procs, repetitions, size_bytes, two_digits,
};
use crate::record::{Machine, Point, Run};
use crate::sink::RecordSink;
use crate::suite::imb::{SUITE, WIDTH, titles};
use crate::suite::{Numbers, Suite};

/// Writer of records into `out`, as IMB since 2017.
pub(super) fn writer<'a>(out: Box<dyn Write + 'a>) -> Box<dyn RecordSink + 'a> {
    foreign::writer(Imb::NEW, out)
}

/// Writer of records into `out`, as version 3.2.
pub(super) fn writer_3_2<'a>(out: Box<dyn Write + 'a>) -> Box<dyn RecordSink + 'a> {
    foreign::writer(Imb::V3_2, out)
}

/// The layout of the Intel MPI Benchmarks.
struct Imb {
    /// Version and MB, for the first line.
    version: &'static str,
    /// Bytes of a MB.
    bytes_per_mb: f64,
    /// Name, ranks and groups of the benchmark whose last row says that longer messages are left out.
    ended: Option<(&'static str, Option<u64>, u64)>,
}

impl Imb {
    const NEW: Self =
        Self { version: "IMB 2021, MB of 10^6 bytes", bytes_per_mb: 1e6, ended: None };
    const V3_2: Self =
        Self { version: "IMB 3.2, MB of 2^20 bytes", bytes_per_mb: 1_048_576.0, ended: None };

    /// The rate of `n_messages` of `size` bytes in MB a second; 0 without bytes or time.
    fn rate(&self, n_messages: u64, size: u64, time_us: f64) -> f64 {
        per_s(n_messages.saturating_mul(size), time_us) / self.bytes_per_mb
    }
}

/// `n` in so many microseconds, a second; 0 without time, as IMB prints it (`IMB_output.c`).
fn per_s(n: u64, time_us: f64) -> f64 {
    if time_us > 0.0 { n as f64 / time_us * 1e6 } else { 0.0 }
}

impl Layout for Imb {
    fn suite(&self) -> &'static Suite {
        &SUITE
    }

    fn start(&mut self, run: &Run) -> String {
        self.ended = None;
        let (rule, version) = (rule(5), self.version);
        let program = format!("{} {}", run.suite.name, run.suite.version);
        let program = program.trim_end();
        let mut text = format!("{rule}\n#    {program}, in the layout of {version}\n{rule}\n");
        text += &format!("# Date                  : {}\n{}", run.started_at, system(run));
        text += &format!("\n\n# Calling sequence was: \n\n# {}\n\n", run.argv.join(" "));
        text += &sizes(run).map_or(String::new(), lengths);
        let [datatype, element] =
            [(&DATATYPE, "byte"), (&ELEMENT, "float")].map(|(axis, name)| chosen(run, axis, name));
        text += &format!("# MPI_Datatype                   :   {datatype} \n");
        text += &format!("# MPI_Datatype for reductions    :   {element} \n");
        text += "# MPI_Op                         :   MPI_SUM  \n# \n# \n";
        text += &mode(run);
        let names = SUITE.asked(run);
        if !names.is_empty() {
            text += &format!("\n# List of Benchmarks to run:\n\n# {}\n", names.join("\n# "));
        }
        text
    }

    fn head(&self, block: &Block<'_>, _: Option<&Point>) -> String {
        let mut titles = titles(numbers(block)).to_vec();
        if has_row_for_each(block) {
            titles.insert(0, "Group");
        }
        let (rule, name) = (rule(titles.len()), block.benchmark.name);
        let multi = if n_groups(block.first) > 1 { "Multi-" } else { "" };
        let (origin, processes) = (block.origin(), processes(block));
        let head: String = titles.iter().map(|title| format!("{title:>WIDTH$}")).collect();
        format!(
            "\n# note: {origin}\n\n{rule}\n# Benchmarking {multi}{name} \n{processes}{rule}\n{head}\n"
        )
    }

    fn row(&mut self, block: &Block<'_>, point: &Point) -> Option<String> {
        if !has_row_for_each(block) {
            return Some(self.cells(block, point, Means::of(point)?) + "\n");
        }
        let of_group = |group| {
            let cells = self.cells(block, point, Means::of_group(point, group)?);
            Some(format!("{group:>WIDTH$}{cells}"))
        };
        let rows: Option<Vec<String>> = (0..n_groups(point)).map(of_group).collect();
        Some(format!("\n{}\n", rows?.join("\n")))
    }

    fn left_out(&mut self, block: &Block<'_>, point: &Point, message: &str) -> Option<String> {
        let reason = left_out(message)?;
        let of_block = (block.benchmark.name, procs(point), n_groups(point));
        if self.ended.replace(of_block) == Some(of_block) {
            return Some(String::new());
        }
        // A barrier has no length; IMB prints the longest one there.
        let size = match numbers(block) {
            Numbers::Barrier => Some(longest_bytes(block.run)),
            _ => size_bytes(point),
        };
        let row = format!("{:>WIDTH$}{reason}", or_dash(size));
        if !has_row_for_each(block) {
            return Some(row + "\n");
        }
        let of_group = |group| format!("{group:>WIDTH$}{row}\n");
        Some(format!("\n{}", (0..n_groups(point)).map(of_group).collect::<String>()))
    }

    fn end(&self) -> &'static str {
        "\n\n# All processes entering MPI_Finalize\n\n"
    }
}

impl Imb {
    /// The columns of a row with these times.
    fn cells(&self, block: &Block<'_>, point: &Point, means: Means) -> String {
        let Means { min_us, max_us, avg_us } = means;
        let numbers = numbers(block);
        let size = size_bytes(point).filter(|_| numbers != Numbers::Barrier);
        let of_import = point.bytes_per_s().filter(|_| point.measured().is_none());
        let rate = |n_messages| match of_import {
            Some(bytes_per_s) => Some(bytes_per_s / self.bytes_per_mb),
            None => size.map(|size| self.rate(n_messages, size, max_us)),
        };
        let times = [min_us, max_us, avg_us].map(Some);
        let in_flight =
            |n: u64| n * point.number(WINDOW.name).unwrap_or(1) * (procs(point).unwrap_or(0) / 2);
        let values = match numbers {
            Numbers::Parallel(n) => times.into_iter().chain([rate(n)]).collect(),
            Numbers::Collective | Numbers::Reduction | Numbers::Barrier | Numbers::Neighbours => {
                times.into()
            }
            Numbers::Windows(n) => vec![rate(in_flight(n))],
            _ => vec![Some(max_us), rate(1)],
        };
        let mut columns: Vec<String> = size.iter().map(u64::to_string).collect();
        columns.push(or_dash(repetitions(point)));
        columns.extend(values.into_iter().map(two_digits));
        if let Numbers::Windows(n) = numbers {
            // The time of an import is that of one message.
            let n_messages = if of_import.is_some() { 1 } else { in_flight(n) };
            columns.push(format!("{:.0}", per_s(n_messages, max_us)));
        }
        columns.iter().map(|column| format!("{column:>WIDTH$}")).collect()
    }
}

/// Bytes of a GB of IMB.
const GB: f64 = 1_073_741_824.0;

/// The words of IMB for a length that a limit of memory or time leaves out, and with it all longer ones;
/// `None` for another `message`.
fn left_out(message: &str) -> Option<String> {
    // As it was imported.
    if ["out-of-mem.", "time-out.", "int-overflow"].iter().any(|word| message.starts_with(word)) {
        return Some(format!(" {message}"));
    }
    if refusal::is_of_time(message) {
        return Some(
            " time-out.; Time limit (secs_per_sample * msg_sizes_list_len) is over; use \"-time X\" or \
             SECS_PER_SAMPLE=X (IMB_settings.h) to increase time limit."
                .into(),
        );
    }
    let gb = refusal::needed_bytes(message)? as f64 / GB;
    // So that the number, with three digits, is enough.
    Some(format!(
        " out-of-mem.; needed X={:8.3} GB; use flag \"-mem X\" or MAX_MEM_USAGE>=X (IMB_mem_info.h)",
        gb + 0.001
    ))
}

/// Name of the label with the value of `-multi`: 0 for a row of all groups, 1 for a row of each.
pub const ROWS_LABEL: &str = "imb_multi";

/// Name of the label with the lengths of a run of barriers, which have none.
pub const LENGTHS_LABEL: &str = "imb_lengths";

/// The value of the first label.
fn rows<'a>(block: &Block<'a>) -> Option<&'a str> {
    block.run?.labels.get(ROWS_LABEL).map(String::as_str)
}

fn has_row_for_each(block: &Block<'_>) -> bool {
    rows(block) == Some("1")
}

/// The numbers of a row: several pairs at once have the times of transfers of all ranks.
fn numbers(block: &Block<'_>) -> Numbers {
    match block.benchmark.numbers {
        of_pair if of_pair.is_of_two() && rows(block) == Some("0") => Numbers::Parallel(1),
        numbers => numbers,
    }
}

/// The facts of the system and of MPI that the record holds, under the titles of IMB.
fn system(run: &Run) -> String {
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
fn sizes(run: &Run) -> Option<&str> {
    let of_barriers = run.labels.get(LENGTHS_LABEL).map(String::as_str);
    of_barriers.or_else(|| run.config.get("sizes")?.as_str())
}

/// The least and the largest length of a range; `None` for a list.
fn range(sizes: &str) -> Option<[u64; 2]> {
    let values = sweep::parse(sizes, None).ok().filter(|_| sizes.contains(".."))?;
    Some([*values.first()?, *values.last()?])
}

/// Lines with the least and the largest length in bytes of a range, or about a list.
fn lengths(sizes: &str) -> String {
    match range(sizes) {
        Some([min, max]) => format!(
            "# Minimum message length in bytes:   {min}\n\
             # Maximum message length in bytes:   {max}\n#\n"
        ),
        None => "# Message lengths were user defined\n#\n".into(),
    }
}

/// The largest length of a run, if that is a range, or else that of the standard mode.
fn longest_bytes(run: Option<&Run>) -> u64 {
    run.and_then(|run| range(sizes(run)?)).map_or(STANDARD_LONGEST, |[_, max]| max)
}

/// Lengths of a run in standard mode.
const STANDARD_SIZES: &str = "0,1..4194304*2";
/// The largest of them.
const STANDARD_LONGEST: u64 = 4_194_304;

/// A line with the mode of a run by the rules of IMB: standard, whose results are comparable, or
/// optional, with what the user has changed.
fn mode(run: &Run) -> String {
    let number = |name: &str, part: &str| run.config.get(name)?.get(part)?.as_f64();
    let text = |name: &str| run.config.get(name).and_then(|value| value.as_str());
    if text("rules") != Some(SUITE.id) {
        return String::new();
    }
    // The time of all lengths follows from that of one and from the lengths.
    let limits = ["bytes", "s"].map(|part| number("loop_limits", part));
    let is_set = |name: &str| run.config.get(name).is_some_and(|value| !value.is_null());
    let names = SUITE.asked(run);
    let has_lengths = names.is_empty() || names.iter().any(|name| *name != "Barrier");
    let has_law = run.config.get("loop_limits").is_some_and(|of| of.get("multiples").is_some());
    let others = [
        ("lengths", has_lengths && text("sizes") != Some(STANDARD_SIZES)),
        ("operations", is_set("repetitions") || is_set("warm_up")),
        ("limits", limits != STANDARD_LIMITS.map(Some) || has_law),
    ];
    let others: Vec<&str> = others.iter().filter(|(_, is)| *is).map(|(what, _)| *what).collect();
    match others[..] {
        [] => "# note: standard mode: lengths, operations and limits are those of IMB\n".into(),
        _ => format!("# note: optional mode: other {} than those of IMB\n", others.join(", ")),
    }
}

/// Limits of the loops of such a run: data in bytes, and time in seconds.
const STANDARD_LIMITS: [f64; 2] = [41_943_040.0, 10.0];

/// The name in MPI of the type that the user chose on `axis`, or else of the type `default`.
fn chosen(run: &Run, axis: &Axis, default: &str) -> String {
    let chosen = run.config.get("axis").and_then(|axes| axes.get(axis.name)?.as_str());
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
fn processes(block: &Block<'_>) -> String {
    let own = procs(block.first);
    let of_group = if block.benchmark.numbers.is_of_two() { Some(2) } else { own };
    let Some(of_group) = of_group else { return String::new() };
    let n_groups = n_groups(block.first);
    let active = n_groups * of_group;
    let world = block.run.map(|run| run.world.size as u64).or(own).unwrap_or(active);
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
fn rule(n_columns: usize) -> String {
    format!("#{}", "-".repeat(n_columns * WIDTH - 1))
}

#[cfg(test)]
mod tests {
    use super::super::foreign::tests::records;
    use super::*;
    use crate::fixture::{check_golden, render};
    use crate::record::{Failure, Outcome, Param, PointStatus, Record};

    #[test]
    fn it_looks_as_it_did() {
        check_golden("format-imb.txt", &render("imb", &records("imb")));
        check_golden("format-imb-3.2.txt", &render("imb-3.2", &records("imb")));
    }

    #[test]
    fn the_head_has_the_lines_of_the_real_program() {
        let mut records = records("imb");
        let Record::Run(run) = &mut records[0] else { unreachable!() };
        let mut machine = Machine::default();
        machine.cpu.arch = "x86_64".into();
        machine.os.kernel = Some("6.18.44-fc-v595".into());
        machine.kernel.build = Some("#1 SMP PREEMPT_DYNAMIC @0".into());
        run.machines = vec![machine];
        let facts = serde_json::json!({"standard": "MPI 3.1", "thread_level": "funneled"});
        run.transport.facts = [("mpi".to_owned(), facts)].into();
        run.config.insert("sizes".into(), "0,1..4194304*2".into());
        run.config.insert("select".into(), serde_json::json!(["imb:pingpong", "IMB:Barrier"]));
        let text = render("imb", &records);
        // From the output of IMB-MPI1 2021.11, but for the level, which it names on request.
        for lines in [
            "# Machine               : x86_64\n# System                : Linux\n\
             # Release               : 6.18.44-fc-v595\n\
             # Version               : #1 SMP PREEMPT_DYNAMIC @0\n\
             # MPI Version           : 3.1\n# MPI Thread Environment: MPI_THREAD_FUNNELED\n\n\n",
            "# Minimum message length in bytes:   0\n\
             # Maximum message length in bytes:   4194304\n#\n\
             # MPI_Datatype                   :   MPI_BYTE \n",
            "\n# List of Benchmarks to run:\n\n# PingPong\n# Barrier\n",
        ] {
            assert!(text.contains(lines), "{text}");
        }
    }

    /// The first point of `kernel` at `length_bytes`, left out with the reason `message`.
    fn refused(records: &[Record], kernel: &str, length_bytes: u64, message: &str) -> Record {
        let points = records.iter().filter_map(|record| match record {
            Record::Point(point) if point.kernel == kernel => Some(point.clone()),
            _ => None,
        });
        let mut point = points.into_iter().next().unwrap();
        let (name, length) = ("length_bytes".to_owned(), Param::Number(length_bytes));
        point.params.0.retain(|(known, _)| *known != name);
        point.params.0.push((name, length));
        let (status, message) = (PointStatus::Skipped, message.to_owned());
        point.outcome = Outcome::Failed(Failure { status, message });
        Record::Point(point)
    }

    #[test]
    fn the_first_length_without_memory_or_time_has_a_row_and_longer_ones_have_none() {
        let records = records("imb");
        let memory = refusal::of_memory(3 << 30, 1 << 30);
        let time = refusal::of_time(2e9, 1e9);
        let of_mem = " out-of-mem.; needed X=   3.001 GB; use flag \"-mem X\" or MAX_MEM_USAGE>=X \
                      (IMB_mem_info.h)\n";
        let time_out = " time-out.; Time limit (secs_per_sample * msg_sizes_list_len) is over; use \
                        \"-time X\" or SECS_PER_SAMPLE=X (IMB_settings.h) to increase time limit.\n";
        let no_ranks = "needs 4 ranks, there are 2";
        for (kernel, message, length, row) in [
            ("bcast", &*memory, 2048, format!("\n         2048{of_mem}")),
            ("uniband", &*time, 2048, format!("\n         2048{time_out}")),
            ("barrier", &*time, 0, format!("\n      4194304{time_out}")),
            ("bcast", no_ranks, 2048, format!("\n# skipped: 2048 bytes: {no_ranks}\n")),
            // As import has them.
            ("bcast", of_mem.trim(), 2048, format!("\n         2048{of_mem}")),
        ] {
            let points = [length, 4096].map(|length| refused(&records, kernel, length, message));
            let text = render("imb", &[&records[..1], &points].concat());
            assert!(text.contains(&row), "{kernel}: {text}");
            assert_eq!(text.contains("4096"), message == no_ranks, "{kernel}: {text}");
        }
    }

    #[test]
    fn each_group_has_a_row_without_memory_where_each_has_one_with_numbers() {
        let mut records = records("imb");
        let Record::Run(run) = &mut records[0] else { unreachable!() };
        run.labels.insert(ROWS_LABEL.into(), "1".into());
        let memory = refusal::of_memory(8, 4);
        let Record::Point(mut point) = refused(&records, "bcast", 8, &memory) else {
            unreachable!()
        };
        point.params.0.push((comet_core::kernel::GROUPS.name.into(), Param::Number(2)));
        let text = render("imb", &[records.swap_remove(0), Record::Point(point)]);
        for group in
            ["\n\n            0            8 out-of-mem.;", "\n            1            8 out"]
        {
            assert!(text.contains(group), "{text}");
        }
    }

    #[test]
    fn the_head_names_the_mode_and_the_types() {
        let mut records = records("imb");
        let Record::Run(run) = &mut records[0] else { unreachable!() };
        let limits = serde_json::json!({"bytes": 41_943_040, "s": 10.0, "all_lengths_s": 210.0});
        run.config.insert("rules".into(), "imb".into());
        run.config.insert("loop_limits".into(), limits);
        run.config.insert("sizes".into(), "0,1..4194304*2".into());
        let standard = "# note: standard mode: lengths, operations and limits are those of IMB\n";
        assert!(render("imb", &records).contains(standard));
        let Record::Run(run) = &mut records[0] else { unreachable!() };
        run.config.insert("repetitions".into(), 5.into());
        run.config.insert("sizes".into(), "8".into());
        run.config.insert("axis".into(), serde_json::json!({"datatype": "int"}));
        let text = render("imb", &records);
        for line in [
            "# note: optional mode: other lengths, operations than those of IMB\n",
            "# MPI_Datatype                   :   MPI_INT \n\
             # MPI_Datatype for reductions    :   MPI_FLOAT \n",
        ] {
            assert!(text.contains(line), "{text}");
        }
    }

    #[test]
    fn a_megabyte_depends_on_the_version() {
        assert_eq!(Imb::NEW.rate(1, 1 << 20, 1.0), 1_048_576.0);
        assert_eq!(Imb::V3_2.rate(1, 1 << 20, 1.0), 1e6);
        assert_eq!(Imb::NEW.rate(2, 0, 1.0), 0.0);
    }

    #[test]
    fn without_time_rates_are_0() {
        assert_eq!([per_s(3, 0.0), per_s(3, 1.5), Imb::NEW.rate(1, 8, 0.0)], [0.0, 2e6, 0.0]);
    }

    #[test]
    fn a_rule_is_as_long_as_its_columns() {
        assert_eq!(rule(4).len(), 52);
    }
}
