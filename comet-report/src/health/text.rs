//! The health of a machine as text: a table of what was measured, who stands out, and a verdict.

use std::fmt;

use comet_core::rounds;
use comet_stats::Summary;

use super::{Barrier, Health, OfClass, OfLength, Suspect, Work};
use crate::pairs::LONG_BYTES;
use crate::units::{bytes, fixed};
use crate::words::count;

/// Suspects of a kind that are named at most; the record has the times of all.
const MAX_SUSPECTS: usize = 20;

impl fmt::Display for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "# {}", self.head())?;
        writeln!(f, "#             of        among             min     median        max  unit")?;
        for of_length in &self.lengths {
            of_length.classes.iter().try_for_each(|class| of_class(f, of_length, class))?;
        }
        self.barrier.iter().try_for_each(|barrier| of_barrier(f, barrier))?;
        self.work.iter().try_for_each(|work| of_work(f, work))?;
        self.outliers().iter().try_for_each(|line| writeln!(f, "{line}"))?;
        writeln!(f, "verdict: {}", self.verdict())
    }
}

impl Health {
    /// A line for each outlier.
    pub(crate) fn outliers(&self) -> Vec<String> {
        // Times that include scheduling blame nobody.
        let word = if self.advisory.is_none() { "suspicious" } else { "noticed" };
        let mut lines = lines(word, &self.suspects);
        lines.extend(self::lines("noticed", &self.noticed));
        lines
    }

    fn head(&self) -> String {
        let n_pairs = self.n_ranks * self.n_ranks.saturating_sub(1) / 2;
        let ranks = count(self.n_ranks, "rank");
        let hosts = match self.n_hosts {
            0 => String::new(),
            n_hosts => format!(" on {}", count(n_hosts, "host")),
        };
        let rounds = count(rounds::count(self.n_ranks), "round");
        format!("{ranks}{hosts}: {} in {rounds}", count(n_pairs, "pair"))
    }

    pub(crate) fn verdict(&self) -> String {
        let found = match (&self.suspects[..], self.noticed.len()) {
            ([], _) if !self.is_comparison() => {
                format!("nothing to compare among {}", count(self.n_ranks, "rank"))
            }
            ([], 0) => "no outliers".into(),
            ([], n_noticed) => format!(
                "no outliers but {} at some lengths, which may share a link with others \
                 (measure two such ranks alone)",
                count(n_noticed, "pair")
            ),
            ([suspect], _) => format!("{} is an outlier", suspect.part),
            (several, _) => format!("{} parts of the machine are outliers", several.len()),
        };
        match &self.advisory {
            None => found,
            Some(reason) => format!("{found}, but {reason}"),
        }
    }
}

fn lines(word: &str, suspects: &[Suspect]) -> Vec<String> {
    let line =
        |Suspect { part, reasons }: &Suspect| format!("{word}: {part}: {}", reasons.join("; "));
    let n_more = suspects.len().saturating_sub(MAX_SUSPECTS);
    let more = (n_more > 0).then(|| format!("{word}: {n_more} more"));
    suspects.iter().take(MAX_SUSPECTS).map(line).chain(more).collect()
}

fn of_class(f: &mut fmt::Formatter<'_>, of_length: &OfLength, of_class: &OfClass) -> fmt::Result {
    let OfClass { class, one_way_ns, n_slow } = of_class;
    let slow = match n_slow {
        None => "too few to compare".into(),
        Some(n_slow) => format!("{n_slow} of {} slow", count(one_way_ns.n, "pair")),
    };
    let length_bytes = of_length.length_bytes;
    let names = [bytes(length_bytes), class.to_string()];
    if length_bytes < LONG_BYTES {
        return row(f, "latency", &names, in_us(*one_way_ns), "us", &slow);
    }
    let rate = |time_ns: f64| length_bytes as f64 / time_ns;
    // The longest time is the least rate.
    let rates = [one_way_ns.max, one_way_ns.median, one_way_ns.min].map(rate);
    row(f, "bandwidth", &names, rates, "GB/s", &slow)
}

fn of_barrier(f: &mut fmt::Formatter<'_>, barrier: &Barrier) -> fmt::Result {
    let last = barrier.last.map(|rank| format!("rank {rank} is last"));
    let names = [String::new(), "ranks".into()];
    row(f, "barrier", &names, in_us(barrier.medians_ns), "us", &last.unwrap_or_default())
}

fn of_work(f: &mut fmt::Formatter<'_>, work: &Work) -> fmt::Result {
    let names = [String::new(), "ranks".into()];
    let slow = format!("{} slow", count(work.slow.len(), "rank"));
    row(f, "work", &names, in_us(work.medians_ns), "us", &slow)?;
    let Summary { min, median, max, .. } = work.tails;
    let noisy = format!("{} noisy", count(work.noisy.len(), "rank"));
    row(f, "noise", &names, [min, median, max], "p99/median", &noisy)
}

fn row(
    f: &mut fmt::Formatter<'_>,
    quantity: &str,
    [of, among]: &[String; 2],
    values: [f64; 3],
    unit: &str,
    note: &str,
) -> fmt::Result {
    let [min, median, max] = values.map(fixed);
    let line = format!(
        "{quantity:<13} {of:<9} {among:<12} {min:>10} {median:>10} {max:>10}  {unit:<10}  {note}"
    );
    writeln!(f, "{}", line.trim_end())
}

fn in_us(of: Summary) -> [f64; 3] {
    [of.min, of.median, of.max].map(|ns| ns / 1000.0)
}
