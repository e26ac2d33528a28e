//! The layouts of the Intel MPI Benchmarks, for programs that read them: of version 2021, with MB of
//! 10^6 bytes, and of version 3.2, with MB of 2^20.
//!
//! Times are the mean of each rank over its repetitions: the least, the largest, and their mean, over
//! the ranks that sampled. Rates follow from the largest.

mod halo;
mod head;
mod mt;
mod p2p;
mod series;

use std::io::Write;

use comet_core::collective::Element;
use comet_core::kernel::{ELEMENT, WINDOW, refusal};

use self::head::{aggregation, longest_bytes, processes, rule};
use self::series::Open;
use super::foreign::{
    self, Block, Layout, Means, n_groups, or_dash, procs, repetitions, size_bytes, two_digits,
};
use crate::record::{Point, Run};
use crate::sink::RecordSink;
use crate::suite::Numbers;
use crate::suite::imb::{AGGREGATE, MT, SUITE, V3_2, WIDTH, titles};

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
    /// Name of the suite.
    family: &'static str,
    /// Version and MB, for the first line.
    version: &'static str,
    /// Bytes of a MB.
    bytes_per_mb: f64,
    /// Kernel, ranks, groups and mode of the benchmark whose last row says that longer messages are left
    /// out.
    ended: Option<(&'static str, Option<u64>, u64, Option<String>)>,
    /// Times of the series of the case at hand, where a row has several.
    open: Open,
    /// The last lines.
    end: &'static str,
}

/// The last lines of IMB-MT and of the other parts.
const END_OF_THREADS: &str = "\n";
const END: &str = "\n\n# All processes entering MPI_Finalize\n\n";

impl Imb {
    const NEW: Self = Self::of(SUITE.family, "2021, MB of 10^6 bytes", 1e6);
    const V3_2: Self = Self::of(V3_2.family, "3.2, MB of 2^20 bytes", 1_048_576.0);

    const fn of(family: &'static str, version: &'static str, bytes_per_mb: f64) -> Self {
        Self { family, version, bytes_per_mb, ended: None, open: Open::NONE, end: END }
    }

    /// The rate of `n_messages` of `size` bytes in MB a second; 0 without bytes or time.
    fn rate(&self, n_messages: u64, size: u64, time_us: f64) -> f64 {
        per_s(n_messages.saturating_mul(size) as f64, time_us) / self.bytes_per_mb
    }
}

/// `n` in so many microseconds, a second; 0 without time, as IMB prints it (`IMB_output.c`).
fn per_s(n: f64, time_us: f64) -> f64 {
    if time_us > 0.0 { n / time_us * 1e6 } else { 0.0 }
}

impl Layout for Imb {
    fn family(&self) -> &'static str {
        self.family
    }

    fn start(&mut self, run: &Run) -> String {
        self.ended = None;
        self.end = if head::part(run, self.family).id == MT.id { END_OF_THREADS } else { END };
        head::start(run, self)
    }

    fn splits_by(&self, block: &Block<'_>) -> &'static [&'static str] {
        const TOPO_AND_MODE: [&str; 5] = [AGGREGATE, "topo_1", "topo_2", "topo_3", "topo_4"];
        if mt::is_of(block) { &mt::SPLITS } else { &TOPO_AND_MODE }
    }

    fn refused(&self, block: &Block<'_>, point: &Point) -> Option<String> {
        match block.benchmark.numbers {
            _ if mt::is_of(block) => mt::refused(block, point),
            numbers if numbers.counts_all() => p2p::refused(block, point),
            _ => None,
        }
    }

    fn head(&mut self, block: &Block<'_>, _: Option<&Point>) -> String {
        match block.benchmark.numbers {
            Numbers::Halo => return halo::head(block),
            _ if mt::is_of(block) => return mt::head(block),
            numbers if numbers.counts_all() => return p2p::head(block),
            _ => (),
        }
        let mut titles = titles(numbers(block), block.benchmark.is_beside_work).to_vec();
        if has_row_for_each(block) {
            titles.insert(0, "Group");
        }
        let (rule, name) = (rule(titles.len()), block.benchmark.name);
        let multi = if n_groups(block.first) > 1 { "Multi-" } else { "" };
        let (origin, processes) = (block.origin(), processes(block));
        let mode = aggregation(block);
        let head: String = titles.iter().map(|title| format!("{title:>WIDTH$}")).collect();
        format!(
            "\n# note: {origin}\n\n{rule}\n# Benchmarking {multi}{name} \n{processes}{rule}\n{mode}{head}\n"
        )
    }

    fn row(&mut self, block: &Block<'_>, point: &Point) -> Option<String> {
        let groups = has_row_for_each(block).then(|| n_groups(point));
        let cells: Vec<String> = if block.benchmark.has_series() {
            self.open.rows(block, point, groups)?
        } else if let Some(n_groups) = groups {
            let of_group = |group| Some(self.cells(block, point, Means::of_group(point, group)?));
            (0..n_groups).map(of_group).collect::<Option<_>>()?
        } else {
            vec![self.cells(block, point, Means::of(point)?)]
        };
        if groups.is_none() || cells.is_empty() {
            return Some(cells.iter().map(|cells| format!("{cells}\n")).collect());
        }
        let rows = cells.iter().enumerate();
        let rows: String = rows.map(|(group, row)| format!("{group:>WIDTH$}{row}\n")).collect();
        Some(format!("\n{rows}"))
    }

    fn left_out(&mut self, block: &Block<'_>, point: &Point, message: &str) -> Option<String> {
        let reason = left_out(message)?;
        let mode = point.params.get(AGGREGATE).map(ToString::to_string);
        let of_block = Some((block.benchmark.kernel, procs(point), n_groups(point), mode));
        if self.ended == of_block {
            return Some(String::new());
        }
        self.ended = of_block;
        // A barrier has no length; IMB prints the longest one there.
        let size = size(block, point).unwrap_or_else(|| longest_bytes(block.run));
        let row = format!("{size:>WIDTH$}{reason}");
        if !has_row_for_each(block) {
            return Some(row + "\n");
        }
        let of_group = |group| format!("{group:>WIDTH$}{row}\n");
        Some(format!("\n{}", (0..n_groups(point)).map(of_group).collect::<String>()))
    }

    fn end(&self) -> &'static str {
        self.end
    }
}

impl Imb {
    /// The columns of a row with these times.
    fn cells(&self, block: &Block<'_>, point: &Point, means: Means) -> String {
        match block.benchmark.numbers {
            Numbers::Halo => return halo::row(point, means, self.bytes_per_mb),
            _ if mt::is_of(block) => return mt::cells(block, point, means, self.bytes_per_mb),
            numbers if numbers.counts_all() => {
                return p2p::cells(block, point, means, self.bytes_per_mb);
            }
            _ => (),
        }
        let Means { min_us, max_us, avg_us } = means;
        let (numbers, size) = (numbers(block), size(block, point));
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
            columns.push(format!("{:.0}", per_s(n_messages as f64, max_us)));
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

/// The length in the row of `point`; none in those of barriers.
fn size(block: &Block<'_>, point: &Point) -> Option<u64> {
    match block.benchmark.numbers {
        Numbers::Barrier => None,
        Numbers::RemoteElement => size_bytes(point).or_else(|| Some(element_bytes(point))),
        _ => size_bytes(point),
    }
}

/// Length of an element of `point`, in bytes.
fn element_bytes(point: &Point) -> u64 {
    let name = point.params.get(ELEMENT.name).map(ToString::to_string);
    let element = name.and_then(|name| Element::find(&name));
    // A swap is one of int.
    element.unwrap_or(Element::I32).bytes() as u64
}

/// True if a row has the time of one rank.
fn is_of_one(numbers: Numbers) -> bool {
    numbers.is_of_two() || numbers == Numbers::Single
}

/// The numbers of a row: several pairs, or ranks with a file each, at once have the times of transfers of all ranks.
fn numbers(block: &Block<'_>) -> Numbers {
    match block.benchmark.numbers {
        Numbers::Passive => Numbers::Passive,
        of_one if is_of_one(of_one) && rows(block) == Some("0") => Numbers::Parallel(1),
        numbers => numbers,
    }
}

#[cfg(test)]
mod tests;
