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
//! suite file, or else that of the kernel there (`Pingpong_Send_Recv`) or here.
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

/// A result that is not closed.
struct Open {
    name: String,
    /// Name and parameters that its rows share.
    key: String,
    /// Seconds from the start of the run to its last row.
    last_s: f64,
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
        let key = format!("{name} {}", point.params.without(&others));
        let mut text = String::new();
        if self.open.as_ref().is_none_or(|open| open.key != key) {
            text += &self.close();
            text += &format!("{}\"{name}\"\n", MARKS[0]);
            text += &note(point);
            self.open = Some(Open { name, key, last_s: point.t_rel_s });
        }
        if let Some(open) = &mut self.open {
            open.last_s = point.t_rel_s;
        }
        text + &row(point, &varied)
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

    /// The lines behind the last row of a result.
    fn close(&mut self) -> String {
        let Some(open) = self.open.take() else { return String::new() };
        let duration_s = (open.last_s - self.closed_s).max(0.0);
        self.closed_s = open.last_s;
        format!("{}\"{}\"\n# duration = {duration_s:.2} sec\n\n", MARKS[1], open.name)
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
    let us = |ns: f64| format!(" {:9.1}", ns / 1e3);
    let bytes = format!("{:8}", point.params.number(LENGTH).unwrap_or(0));
    let lead = if loops.is_empty() { bytes } else { format!("{loops} {bytes}") };
    let time = us(point.quoted_ns().unwrap_or(0.0));
    let nodes: String = nodes_ns(point).into_iter().map(us).collect();
    let error = error_ns(point).map_or_else(|| format!(" {MISSING:>9}"), us);
    format!("{lead}{time}{error} {:8}{nodes}\n", n_samples(point))
}

/// The standard error of the mean of the middle half as SKaMPI prints it, as if no sample had been cut; that by
/// which `--rules skampi` stop is larger. `None` of one sample.
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
    use crate::record::{KernelFacts, Measured, Record};

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
