//! Figures of merit, one a line, for harnesses that look for lines in standard output (ReFrame,
//! Ramble).
//!
//! ```text
//!   comet.fom comet/echo/hops=1/length_bytes=8/procs=2 latency 0.084 us lower
//!   comet.fom comet/echo/hops=1/length_bytes=8/procs=2 bandwidth 95.274 MB/s higher
//!   comet.fom imb/allreduce/algorithm=native/length_bytes=8/procs=4 bus_bandwidth 15.6 MB/s higher
//!   comet.fom comet/echo/hops=1/procs=2/fit r_inf 9001.2 MB/s higher
//!   comet.status pass points=24 failed=0 skipped=0 verdict=quotable
//! ```
//!
//! After `comet.fom` come case, metric, value, unit, and which direction is better.
//! A harness keeps one history for each name, so a command prints the same names in every run: of
//! the message lengths only a few fixed ones, and none that refinement asked for.
//! The rates that people compare (`algorithm_bandwidth`, `bus_bandwidth`, `message_rate`,
//! `bisection_bandwidth`) have a line each where the series has them, and none without a value.
//! The lines of a fit are there if its law describes the times: of several segments `t0` is that of
//! the shortest messages, and `r_inf` that of the longest.
//! The last line is there when a run has ended; after several it counts all of them, and has the
//! verdict of the worst.

use std::io::{self, Write};

use comet_core::kernel::RateKind;

use super::cases;
use crate::record::{
    End, EndStatus, FitGrade, Model, Name, Param, Parameter, Point, PointCounts, Record, Word,
};
use crate::sink::{RecordSink, Stream};
use crate::units::significant;

/// The message lengths, in bytes, that have lines if they were measured.
const LENGTHS_BYTES: [u64; 4] = [8, 4 << 10, 64 << 10, 4 << 20];
/// The parameters of a fit that have lines, and which direction is better.
const FITTED: [(&str, &str); 2] = [("r_inf", "higher"), ("t0", "lower")];
/// Digits of a value.
const DIGITS: usize = 5;

/// Writer of records into `out`.
pub(super) fn writer<'a>(out: Box<dyn Write + 'a>) -> Box<dyn RecordSink + 'a> {
    let mut verdict = Tally::default();
    Stream::boxed(out, true, move |record, out| match record {
        Record::Point(point) => {
            verdict.counts.add(point.status());
            write_point(point, out)
        }
        Record::Model(model) => write_model(model, out),
        Record::End(end) => verdict.write(end, out),
        Record::Run(_) | Record::Launch(_) | Record::Event(_) | Record::Unit(_) => Ok(()),
    })
}

/// Tally of all runs so far.
#[derive(Default)]
struct Tally {
    counts: PointCounts,
    is_cut_short: bool,
    worst: Option<Word>,
}

impl Tally {
    fn write(&mut self, end: &End, out: &mut dyn Write) -> io::Result<()> {
        self.is_cut_short |= end.status != EndStatus::Complete;
        let PointCounts { ok, skipped, .. } = self.counts;
        let n_failed = self.counts.failed + self.counts.check_failed;
        let passes = !self.is_cut_short && n_failed == 0 && ok > 0;
        let word = if passes { "pass" } else { "fail" };
        let n_points = self.counts.total();
        self.worst = self.worst.max(end.verdict.as_ref().map(|of| of.word));
        let verdict = self.worst.map_or(String::new(), |of| format!(" verdict={}", Name(of)));
        writeln!(
            out,
            "comet.status {word} points={n_points} failed={n_failed} skipped={skipped}{verdict}"
        )
    }
}

fn write_point(point: &Point, out: &mut dyn Write) -> io::Result<()> {
    if !cases::is_lasting(point) || !has_fixed_length(point) {
        return Ok(());
    }
    let case = cases::name_of(point);
    let is_one_way = point.value().is_some_and(|value| value.quantity == "one_way_time");
    let metric = if is_one_way { "latency" } else { "time" };
    if let Some(time_ns) = point.quoted_ns() {
        write_line(out, &case, metric, time_ns / 1e3, "us lower")?;
    }
    if let Some(bytes_per_s) = point.bytes_per_s() {
        write_line(out, &case, "bandwidth", bytes_per_s / 1e6, "MB/s higher")?;
    }
    for kind in RateKind::ALL {
        let Some(rate) = point.rate(kind).and_then(|rate| rate.value) else { continue };
        let is_of_bytes = kind.unit() == "bytes";
        let (rate, unit) = if is_of_bytes { (rate / 1e6, "MB/s") } else { (rate, "messages/s") };
        write_line(out, &case, &cases::rate_name(kind, "_"), rate, &format!("{unit} higher"))?;
    }
    Ok(())
}

/// True if `point` is about messages of a length that has lines, or not about messages at all.
fn has_fixed_length(point: &Point) -> bool {
    match point.params.get("length_bytes") {
        Some(Param::Number(length_bytes)) => LENGTHS_BYTES.contains(length_bytes),
        _ => true,
    }
}

/// The lines of the law of times over sizes that a table quotes.
fn write_model(model: &Model, out: &mut dyn Write) -> io::Result<()> {
    let id = [&*model.suite, &*model.kernel];
    let params = model.params.0.iter().map(|(name, value)| (name.as_str(), value));
    let case = cases::name(id, model.variant.as_deref(), params) + "/fit";
    for (name, better) in FITTED {
        if let Some(Parameter { value: Some(value), unit, .. }) = quoted(model, name) {
            // A unit is one word here, so that a line has as many words as any other.
            let unit = unit.replace("10^6 ", "M");
            write_line(out, &case, name, *value, &format!("{unit} {better}"))?;
        }
    }
    Ok(())
}

/// The parameter `name` of the line; where segments describe the times better, `t0` of the first
/// and `r_inf` of the last one. `None` of a law that does not describe the points.
fn quoted<'a>(model: &'a Model, name: &str) -> Option<&'a Parameter> {
    let line = model.fits.first().filter(|_| model.model == "line")?;
    let mut segments = model.fits.iter().filter(|fit| fit.name == "segment");
    let fit = match line.quality.verdict {
        FitGrade::Segment if name == "r_inf" => segments.rfind(|fit| fit.to == line.to)?,
        FitGrade::Segment => segments.next()?,
        _ => line,
    };
    let mut parameters = fit.parameters.iter().filter(|_| fit.quality.verdict != FitGrade::Poor);
    parameters.find(|parameter| parameter.name == name)
}

fn write_line(
    out: &mut dyn Write,
    case: &str,
    metric: &str,
    value: f64,
    unit_and_better: &str,
) -> io::Result<()> {
    let value = significant(value, DIGITS);
    writeln!(out, "comet.fom {case} {metric} {value} {unit_and_better}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::record::PointStatus;

    fn text(records: &[Record]) -> String {
        fixture::render("fom", records)
    }

    #[test]
    fn what_refinement_asked_for_has_no_line() {
        let mut records = fixture::records();
        let before = text(&records);
        for record in &mut records {
            if let Record::Point(point) = record
                && let Some(measured) = point.measured_mut()
            {
                measured.plan.is_refined = true;
            }
        }
        assert!(before.contains("comet.fom ") && before.contains("comet.status fail"), "{before}");
        assert_eq!(text(&records).lines().count(), 1);
    }

    #[test]
    fn a_law_that_does_not_describe_the_points_has_no_lines() {
        let points = crate::models::tests::thesis();
        let mut model = crate::models::models(&points.iter().collect::<Vec<_>>(), &[]).remove(0);
        for (verdict, n_lines) in [(FitGrade::Good, 2), (FitGrade::Poor, 0)] {
            model.fits[0].quality.verdict = verdict;
            let text = text(&[Record::Model(Box::new(model.clone()))]);
            assert_eq!(text.lines().count(), n_lines, "{text}");
        }
    }

    #[test]
    fn a_run_passes_if_it_is_whole_and_nothing_failed() {
        let status = |records: &[Record]| {
            text(records).lines().last().unwrap_or_default().replace("comet.status ", "")
        };
        let mut records = fixture::records();
        assert_eq!(status(&records), "fail points=7 failed=1 skipped=1 verdict=wrong");
        records.retain(|record| {
            !matches!(record, Record::Point(point) if point.status() == PointStatus::CheckFailed)
        });
        assert_eq!(status(&records), "pass points=6 failed=0 skipped=1 verdict=wrong");
        let twice = [fixture::records(), records.clone()].concat();
        assert_eq!(
            status(&twice),
            "fail points=13 failed=1 skipped=2 verdict=wrong",
            "of both runs"
        );
        if let Some(Record::End(end)) = records.last_mut() {
            end.status = EndStatus::Partial;
        }
        assert_eq!(status(&records), "fail points=6 failed=0 skipped=1 verdict=wrong");
        records.pop();
        assert!(!text(&records).contains("comet.status"), "a run without an end has no verdict");
    }
}
