//! Judgements as text and as JSON.

use std::fmt;

use serde_json::{Value, json};

use super::{Finding, Guideline, Holds, Judgement};
use crate::launches;
use crate::order::grouped;
use crate::units::{bytes, fixed_us, significant};
use crate::words::{aligned, count};

/// Heads of the table.
const HEADS: [&str; 7] = ["guideline", "lengths", "violated", "undecided", "factor", "95 %", "at"];

impl Judgement {
    /// The findings of each guideline, in the order of the table.
    fn by_guideline(&self) -> Vec<(String, Vec<&Finding>)> {
        grouped(self.findings.iter().map(|finding| (finding.guideline.to_string(), finding)))
    }

    /// Number of guidelines that some finding violates, that hold at all lengths, and the others.
    fn counts(&self) -> [usize; 3] {
        let mut counts = [0; 3];
        for (_, findings) in self.by_guideline() {
            let has = |verdict| findings.iter().any(|finding| finding.verdict == verdict);
            let at = match () {
                () if has(Holds::No) => 0,
                () if has(Holds::Open) => 2,
                () => 1,
            };
            counts[at] += 1;
        }
        counts
    }

    /// The judgement as a JSON object, with all findings.
    pub fn json(&self) -> Value {
        let unjudged = |(guideline, reason): &(&'static Guideline, String)| json!({ "guideline": guideline.to_string(), "reason": reason });
        json!({
            "transport": self.platform.transport,
            "machine": self.platform.machine,
            "ranks": self.n_ranks,
            "launches": self.n_launches,
            "findings": self.findings.iter().map(Finding::json).collect::<Vec<_>>(),
            "not_judged": self.unjudged.iter().map(unjudged).collect::<Vec<_>>(),
        })
    }
}

impl Finding {
    fn json(&self) -> Value {
        json!({
            "guideline": self.guideline.to_string(),
            "source": self.guideline.source.cite(),
            "bytes": self.length_bytes,
            "us": self.time_ns / 1e3,
            "bound_us": self.bound_ns / 1e3,
            "factor": self.factor,
            "low": self.interval.map(|[low, _]| low),
            "high": self.interval.map(|[_, high]| high),
            "margin": self.margin,
            "launches": self.n_launches,
            "verdict": self.verdict.name(),
            "why": self.why,
        })
    }

    /// The interval in words: `1.22 to 1.4`.
    fn interval(&self) -> String {
        self.interval.map_or("-".into(), |[low, high]| {
            let [low, high] = [low, high].map(times);
            if low == high { "exact".into() } else { format!("{low} to {high}") }
        })
    }

    /// A violation in one sentence.
    fn sentence(&self) -> String {
        format!(
            "{} at {}: {} against {}, {} times ({}; {})",
            self.guideline,
            bytes(self.length_bytes),
            us(self.time_ns),
            us(self.bound_ns),
            times(self.factor),
            self.interval(),
            self.guideline.source.name()
        )
    }
}

/// `factor` with three digits, or as many more as show its difference from 1; one beyond nine is of rounding.
fn times(factor: f64) -> String {
    let mut texts = (3..=9).map(|n_digits| significant(factor, n_digits));
    texts.find(|text| text != "1").unwrap_or_else(|| "1".into())
}

/// A time in us.
fn us(ns: f64) -> String {
    format!("{} us", fixed_us(ns))
}

/// The row of the findings of one guideline: the worst of those that violate it, or of all.
fn row(name: &str, findings: &[&Finding]) -> Vec<String> {
    let n = |verdict| findings.iter().filter(|finding| finding.verdict == verdict).count();
    let is_worst = |of: &&&Finding| n(Holds::No) == 0 || of.verdict == Holds::No;
    let worst = findings.iter().filter(is_worst).max_by(|a, b| a.factor.total_cmp(&b.factor));
    let mut row = vec![name.to_owned()];
    row.extend([findings.len(), n(Holds::No), n(Holds::Open)].map(|n| n.to_string()));
    row.extend(worst.map_or([const { String::new() }; 3], |worst| {
        [times(worst.factor), worst.interval(), bytes(worst.length_bytes)]
    }));
    row
}

impl fmt::Display for Judgement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [violated, hold, undecided] = self.counts();
        writeln!(
            f,
            "# guidelines on {} over {}, {}: {violated} violated, {hold} hold, {undecided} undecided, \
             {} not judged",
            count(self.n_ranks, "rank"),
            self.platform,
            launches::count(self.n_launches),
            self.unjudged.len()
        )?;
        writeln!(f, "# factor: time / bound at the worst length; n is the length, P the ranks")?;
        let mut rows = vec![HEADS.map(str::to_owned).to_vec()];
        rows.extend(self.by_guideline().iter().map(|(name, findings)| row(name, findings)));
        for row in &rows {
            writeln!(f, "{}", aligned(row, &rows, |column| column > 0).trim_end())?;
        }
        self.violations().try_for_each(|of| writeln!(f, "violated: {}", of.sentence()))?;
        let reasons = self.unjudged.iter().map(|(guideline, why)| (why, guideline));
        for (why, guidelines) in grouped(reasons) {
            writeln!(f, "not judged: {}: {why}", count(guidelines.len(), "guideline"))?;
        }
        Ok(())
    }
}
