//! Bencher Metric Format: one JSON object with the benchmarks by name, each with its measures.
//!
//! `latency` is Bencher's own measure in nanoseconds, here of every operation; `bandwidth` is in
//! bytes per second, and is to be made in Bencher once, like `algorithm-bandwidth`, `bus-bandwidth` and
//! `bisection-bandwidth` in bytes per second, and `message-rate` in messages per second.
//! A case has a measure for each of its rates; a rate without a value has none.
//! The bounds are the 95 % interval of a run, from one of its launches to the next if it has several.
//! Of several runs the middle one counts, and the least and the largest are the bounds.

use std::io::{self, Write};

use comet_core::kernel::RateKind;
use serde_json::{Map, Value, json};

use super::cases::{Launches, launches, rate_name};
use crate::record::Record;

/// Writes the document of `records`.
pub(super) fn write(records: &[Record], out: &mut dyn Write) -> io::Result<()> {
    let benchmarks: Map<String, Value> = launches(records)
        .into_iter()
        .map(|(name, launches)| (name, Value::Object(measures(&launches))))
        .collect();
    serde_json::to_writer_pretty(&mut *out, &benchmarks)?;
    out.write_all(b"\n")
}

fn measures(launches: &Launches<'_>) -> Map<String, Value> {
    let mut measures = Map::new();
    if let Some(time_ns) = launches.time_ns() {
        let mut latency = json!({ "value": time_ns });
        if let Some([low_ns, high_ns]) = launches.bounds_ns() {
            latency["lower_value"] = json!(low_ns);
            latency["upper_value"] = json!(high_ns);
        }
        measures.insert("latency".into(), latency);
    }
    if let Some(bytes_per_s) = launches.bytes_per_s() {
        measures.insert("bandwidth".into(), json!({ "value": bytes_per_s }));
    }
    for kind in RateKind::ALL {
        if let Some((value, _)) = launches.rate(kind) {
            measures.insert(rate_name(kind, "-"), json!({ "value": value }));
        }
    }
    measures
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    /// The latency of the barrier over launches that took so long, in ns.
    fn latency(times_ns: &[f64], ci95: Option<[f64; 2]>) -> Value {
        let records = fixture::records();
        let echo = fixture::points(&records).find(|point| point.numbers().is_some()).unwrap();
        let launch = |time_ns: &f64| {
            let mut point = echo.clone();
            let numbers = &mut point.measured_mut().unwrap().numbers;
            (numbers.quoted_ns, numbers.time_ns.ci95) = (Some(*time_ns), ci95);
            Record::Point(Box::new(point))
        };
        let text = fixture::render("bmf", &times_ns.iter().map(launch).collect::<Vec<_>>());
        let benchmarks: Value = serde_json::from_str(&text).unwrap();
        let name = "comet/echo/hops=1/length_bytes=0/procs=2/transport=unknown";
        benchmarks[name]["latency"].clone()
    }

    #[test]
    fn bounds_are_the_interval_of_a_launch_or_the_range_of_several() {
        let check = |times_ns: &[f64], ci95, expected: Value| {
            assert_eq!(latency(times_ns, ci95), expected);
        };
        check(&[5.0], None, json!({"value": 5.0}));
        let bounded =
            |value, low, high| json!({"value": value, "lower_value": low, "upper_value": high});
        check(&[5.0], Some([4.0, 6.0]), bounded(5.0, 4.0, 6.0));
        check(&[5.0, 9.0, 6.0], Some([4.0, 6.0]), bounded(6.0, 5.0, 9.0));
    }

    #[test]
    fn a_rate_of_several_runs_is_the_middle_one_and_one_without_a_value_is_absent() {
        let of_runs = |values: [Option<f64>; 3]| {
            let run = |value| {
                let mut point = fixture::collectives("allgather", 4).remove(1);
                point.measured_mut().unwrap().numbers.rates[1].value = value;
                Record::Point(Box::new(point))
            };
            let text = fixture::render("bmf", &values.map(run));
            let benchmarks: Value = serde_json::from_str(&text).unwrap();
            let (_, measures) = benchmarks.as_object().unwrap().iter().next().unwrap();
            assert_eq!(measures["algorithm-bandwidth"]["value"], 4e9);
            measures.get("bus-bandwidth").map(|measure| measure["value"].clone())
        };
        assert_eq!(of_runs([Some(3e9), Some(1e9), Some(2e9)]), Some(json!(2e9)));
        assert_eq!(of_runs([None, Some(1e9), None]), Some(json!(1e9)));
        assert_eq!(of_runs([None; 3]), None);
    }
}
