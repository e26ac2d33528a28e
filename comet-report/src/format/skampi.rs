//! Results in the layout of `SKaMPI` 5 and 6 (`.sko`), for the programs that read it.
//!
//! ```text
//!   # begin result "skampi-17"
//!   count= 8        8       2.1       0.1       16       1.4       2.1
//!   # end result "skampi-17"
//!   # duration = 0.02 sec
//! ```
//!
//! A row has the values of the loops, the length of a message in bytes, the time in us, the standard error
//! of the mean of the middle half (`---` where the record has neither it nor the samples), the number of
//! samples, and the time of each node. What varies within a result is what the
//! run was asked to vary; anything else begins another result. Its name is that of the entry of a
//! suite file, or else that of the kernel there (`Pingpong_Send_Recv`) or here. A kernel of several series
//! has a result for each, the first as it is measured and the others behind it.
//!
//! `SKaMPI` prints the mean of the middle half of its samples; where another figure is quoted, a note
//! names it (`--rules skampi` quotes that one).

use std::io::Write;

use comet_core::collective::Element;
use comet_stats::{mean, sorted};

use super::foreign::{REPETITIONS, figure, procs, whole};
use crate::figures::values_ns;
use crate::record::{End, Failure, Name, Param, Point, Quote, RANKS, Record, Run};
use crate::sink::{RecordSink, Stream};
use crate::words;

/// Name of the loop variable of messages, which counts elements.
pub(crate) const COUNT: &str = "count";
/// Parameter with the length of a message.
const LENGTH: &str = "length_bytes";
/// Standard error of an imported time.
pub(crate) const ERROR_NS: &str = "standard_error_ns";
/// Start of the names of the times of imported nodes, which their numbers follow.
pub(crate) const NODE_NS: &str = "node_ns_";
/// Start of the line that opens a result, and of that which closes it.
pub(crate) const MARKS: [&str; 2] = ["# begin result ", "# end result "];
/// Word of a number that there is none of.
pub(crate) const MISSING: &str = "---";
/// Start of the aliases of kernels.
const PREFIX: &str = "SKaMPI:";

/// Writer of records into `out`.
pub(super) fn writer<'a>(out: Box<dyn Write + 'a>) -> Box<dyn RecordSink + 'a> {
    let mut results = Results::default();
    Stream::boxed(out, false, move |record, out| out.write_all(results.text(record).as_bytes()))
}

/// Text of results, with the run and the result at hand.
#[derive(Default)]
struct Results {
    run: Option<Box<Run>>,
    open: Option<Open>,
    /// Seconds from the start of the run to the end of the last result.
    closed_s: f64,
    is_begun: bool,
}

/// The results of a kernel that are not closed.
struct Open {
    /// Kernel and parameters that their rows share.
    key: String,
    /// Seconds from the start of the run to their last row.
    last_s: f64,
    /// Name of the result of each series, and its text, of which that of the first is written already.
    results: Vec<(String, String)>,
}

impl Results {
    fn text(&mut self, record: &Record) -> String {
        match record {
            Record::Run(run) => {
                let closed = self.close();
                self.closed_s = 0.0;
                self.run = Some(run.clone());
                let title = if std::mem::replace(&mut self.is_begun, true) {
                    String::new()
                } else {
                    format!(
                        "# {} {}, in the layout of SKaMPI 6\n\n# Started at {}\n\n\n",
                        run.suite.name, run.suite.version, run.started_at
                    )
                };
                closed + &title
            }
            Record::Point(point) => self.point(point),
            Record::End(end) => self.close() + &ending(end),
            Record::Launch(_) | Record::Model(_) | Record::Event(_) | Record::Unit(_) => {
                String::new()
            }
        }
    }

    fn point(&mut self, point: &Point) -> String {
        let varied = varied(self.run.as_deref(), point);
        let name = self.name(point);
        let others: Vec<&str> =
            varied.iter().map(|(name, _)| name.as_str()).chain([LENGTH]).collect();
        let key = format!("{}/{} {}", point.suite, point.kernel, point.params.without(&others));
        let mut text = String::new();
        if self.open.as_ref().is_none_or(|open| open.key != key) {
            text = self.close();
        }
        let row = row(point, &varied);
        let open = self.open.get_or_insert_with(|| Open { key, last_s: 0.0, results: Vec::new() });
        open.last_s = point.t_rel_s;
        // A case that failed has no series.
        let is_own = |(of, _): &(String, String)| *of == name || point.variant.is_none();
        match open.results.iter().position(is_own) {
            Some(0) => text += &row,
            Some(index) => open.results[index].1 += &row,
            None => {
                let head = format!("{}\"{name}\"\n{}{row}", MARKS[0], note(point));
                let (now, later) =
                    if open.results.is_empty() { (head, String::new()) } else { ("".into(), head) };
                open.results.push((name, later));
                text += &now;
            }
        }
        text
    }

    /// The name of the result of `point`, with that of its series where the kernel has several.
    fn name(&self, point: &Point) -> String {
        let entry = self.run.as_ref().and_then(|run| run.labels.get("entry"));
        let aliases = point.aliases.iter().filter_map(|alias| alias.strip_prefix(PREFIX));
        let alias = aliases.clone().find(|alias| alias.parse::<u32>().is_err());
        let own = || {
            let is_import = self.run.as_ref().is_some_and(|run| run.suite.name == "skampi");
            let id = words::kernel(&point.suite, &point.kernel, point.variant.as_deref());
            if is_import { point.kernel.to_string() } else { id }
        };
        let series = point.variant.as_deref().filter(|_| point.facts.series.len() > 1);
        let of_series = |name: &str| match series {
            Some(series) => format!("{name} {series}"),
            None => name.to_owned(),
        };
        entry.map(String::as_str).or(alias).map(of_series).unwrap_or_else(own)
    }

    /// The lines behind the last row of the results of a kernel.
    fn close(&mut self) -> String {
        let Some(open) = self.open.take() else { return String::new() };
        let duration_s = (open.last_s - self.closed_s).max(0.0);
        self.closed_s = open.last_s;
        let closed = |(name, text): &(String, String)| {
            format!("{text}{}\"{name}\"\n# duration = {duration_s:.2} sec\n\n", MARKS[1])
        };
        open.results.iter().map(closed).collect()
    }
}

/// The last lines of a run.
fn ending(end: &End) -> String {
    let reason = end.reason.as_ref().map(|reason| format!("# note: {reason}\n"));
    let seconds = end.wall_s.unwrap_or(0.0);
    format!(
        "{}\n# Finished at {}\n# Total runtime {seconds:.0} seconds\n\n",
        reason.unwrap_or_default(),
        end.ended_at
    )
}

/// A note for a figure that `SKaMPI` does not print.
fn note(point: &Point) -> String {
    let quote = point.value().map_or(Quote::MiddleMean, |value| value.quote);
    match quote {
        Quote::MiddleMean => String::new(),
        other => format!("# note: {}, not the mean of the middle half\n", Name(other)),
    }
}

/// Names and values of what `point` varies of what `run` was asked to, in the words of a script.
fn varied(run: Option<&Run>, point: &Point) -> Vec<(String, u64)> {
    let is_import = run.is_some_and(|run| run.config.contains_key("imported_from"));
    let is_varied = |name: &str| is_import || run.is_none_or(|run| is_sweep(run, name));
    let mut found = Vec::new();
    for (name, value) in &point.params.0 {
        let Param::Number(number) = value else { continue };
        match name.as_str() {
            LENGTH if is_import => (),
            LENGTH if is_varied(name) => found.push((COUNT.to_owned(), number / unit(point))),
            RANKS if is_import => (),
            name if is_varied(name) => found.push((name.to_owned(), *number)),
            _ => (),
        }
    }
    found
}

/// True if `run` was asked for several values of `name`, or for those by default of a length.
fn is_sweep(run: &Run, name: &str) -> bool {
    let of_axis = run.config.get("axis").and_then(|axes| axes.get(name)?.as_str());
    let own =
        || run.config.get("sizes").and_then(|sizes| sizes.as_str()).filter(|_| name == LENGTH);
    match of_axis.or_else(own) {
        Some(values) => values.contains(',') || values.contains(".."),
        None => name == LENGTH,
    }
}

/// Bytes of an element of the messages of `point`.
fn unit(point: &Point) -> u64 {
    let named = ["element", "datatype"].iter().find_map(|name| point.params.get(name));
    let element = named.and_then(|name| Element::find(&name.to_string()));
    element.map_or(1, |element| element.bytes().max(1) as u64)
}

/// The row of `point`, or a comment with the reason why there is none.
fn row(point: &Point, varied: &[(String, u64)]) -> String {
    let loops: Vec<String> =
        varied.iter().map(|(name, value)| format!("{name}= {value}")).collect();
    let loops = loops.join(" ");
    if let Some(Failure { status, message }) = point.failure() {
        return format!("# {}: {loops} {message}\n", Name(status));
    }
    let Some(time_ns) = point.quoted_ns() else {
        return format!("# no time: {loops} nothing is left of the samples\n");
    };
    let us = |ns: f64| format!(" {:9.1}", ns / 1e3);
    let bytes = format!("{:8}", point.params.number(LENGTH).unwrap_or(0));
    let lead = if loops.is_empty() { bytes } else { format!("{loops} {bytes}") };
    let time = us(time_ns);
    let nodes: String = nodes_ns(point).into_iter().map(us).collect();
    let error = error_ns(point).map_or_else(|| format!(" {MISSING:>9}"), us);
    format!("{lead}{time}{error} {:8}{nodes}\n", n_samples(point))
}

/// The standard error of the mean of the middle half by the formula of SKaMPI, in which no sample was cut. The
/// rules `skampi` stop by the Winsorised error, which is larger. `None` of one sample.
fn error_ns(point: &Point) -> Option<f64> {
    let of_samples = || {
        let values = sorted(&values_ns(point)?);
        let n_cut = values.len() / 4;
        let middle = &values[n_cut..values.len() - n_cut];
        let (mean, k) = (mean(middle), middle.len() as f64);
        let squares: f64 = middle.iter().map(|value| (value - mean).powi(2)).sum();
        (middle.len() > 1).then(|| (squares / (k * (k - 1.0))).sqrt())
    };
    figure(point, ERROR_NS).or_else(of_samples)
}

fn n_samples(point: &Point) -> u64 {
    let of_import = figure(point, REPETITIONS).map(whole);
    of_import.or_else(|| Some(point.time_ns()?.n as u64)).unwrap_or(0)
}

/// The time of each rank that took samples.
fn nodes_ns(point: &Point) -> Vec<f64> {
    if let Some(ranks_ns) = point.measured().and_then(|of| of.ranks_ns.as_ref()) {
        return ranks_ns.per_rank.clone();
    }
    let of_node = |number: u64| figure(point, &format!("{NODE_NS}{number}"));
    (0..procs(point).unwrap_or(0)).map_while(of_node).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::fixture::{self, render};
    use crate::record::{KernelFacts, Measured, Param, Record};

    #[test]
    fn results_of_several_series_have_their_names() {
        let name = |n_series| {
            let mut point = fixture::collectives("allgather", 4).remove(1);
            point.aliases = vec!["SKaMPI:Allgather".into()];
            let mut facts = KernelFacts::clone(&point.facts);
            facts.series = vec![facts.series[0].clone(); n_series];
            point.facts = Arc::new(facts);
            let text = render("skampi", &[Record::Point(Box::new(point))]);
            text.split('"').nth(1).unwrap().to_owned()
        };
        assert_eq!([1, 2].map(name), ["Allgather", "Allgather call"]);
    }

    /// The record has the series of a case side by side, then those of the next one.
    #[test]
    fn each_series_has_one_result_over_all_lengths() {
        let of_length = |length: u64| {
            ["call", "puts"].map(|series| {
                let mut point = fixture::collectives("allgather", 4).remove(1);
                point.variant = Some(series.into());
                let mut facts = KernelFacts::clone(&point.facts);
                facts.series = vec![facts.series[0].clone(); 2];
                point.facts = Arc::new(facts);
                point.params.0.retain(|(name, _)| name != "length_bytes");
                point.params.0.push(("length_bytes".into(), Param::Number(length)));
                Record::Point(Box::new(point))
            })
        };
        let mut records = [8, 64].map(of_length).concat();
        let Record::Point(last) = &mut records[3] else { unreachable!("a point") };
        last.measured_mut().unwrap().numbers.quoted_ns = None;
        records.extend(fixture::records().pop());
        let text = render("skampi", &records);
        let is_row = |line: &&str| {
            ["# begin", "# end", "procs=", "# no"].iter().any(|of| line.starts_with(of))
        };
        let rows = text.lines().filter(is_row).filter(|line| !line.contains("note"));
        let words = |line: &str| line.split_whitespace().take(5).collect::<Vec<_>>().join(" ");
        assert_eq!(
            rows.map(words).collect::<Vec<_>>(),
            [
                "# begin result \"comet/allgather call\"",
                "procs= 4 count= 8 8",
                "procs= 4 count= 64 64",
                "# end result \"comet/allgather call\"",
                "# begin result \"comet/allgather puts\"",
                "procs= 4 count= 8 8",
                "# no time: procs= 4",
                "# end result \"comet/allgather puts\"",
            ]
        );
    }

    #[test]
    fn the_error_is_that_of_the_middle_half_of_the_samples() {
        let error = |change: &dyn Fn(&mut Measured)| {
            let mut point = fixture::collectives("allgather", 4).remove(1);
            change(point.measured_mut().unwrap());
            let text = render("skampi", &[Record::Point(Box::new(point))]);
            let row = text.lines().find(|line| line.starts_with("count=")).unwrap();
            // Behind the last loop stand its value, the bytes and the time.
            let numbers = row.rsplit_once("= ").unwrap().1;
            numbers.split_whitespace().nth(3).unwrap().to_owned()
        };
        // Samples of 10 operations of 1 to 8 us, of which 3, 4, 5 and 6 are left: sqrt(5 / (4 x 3)).
        let eight = |of: &mut Measured| {
            let samples = of.samples.as_mut().unwrap();
            (samples.shape, samples.data) = ([1, 8], (1..=8).map(|i| 10_000 * i).collect());
            of.starts_ns = Some((0..8).map(|i| 100_000 * i).collect());
        };
        assert_eq!(error(&eight), "0.6");
        assert_eq!(error(&|_| ()), "---", "one sample");
        assert_eq!(error(&|of| of.samples = None), "---", "stripped");
    }
}
