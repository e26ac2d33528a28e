//! JSON Lines for Extra-P, which models how times grow.
//!
//! ```text
//!   {"callpath":"comet->barrier","metric":"time_ns","params":{"p":4},"value":[158000.0,158000.0]}
//! ```
//!
//! Extra-P (4.2) wants every call path at every coordinate, so that there is one parameter: the
//! number of ranks `p` if it varies, or else the length of a message. What else differs is part of
//! the call path, and sweeps that lack a coordinate are left out, as are empty messages: Extra-P
//! takes logarithms. Its models want five coordinates or more.
//! The values are the medians of the slices of all launches.

use std::io::{self, Write};

use serde_json::json;

use super::cases;
use crate::record::{Point, Record};

/// The number of ranks, in the record and for Extra-P.
const RANKS: [&str; 2] = ["procs", "p"];
/// The length of a message.
const LENGTH: [&str; 2] = ["length_bytes", "length_bytes"];

/// Writes the document of `records`.
pub(super) fn write(records: &[Record], out: &mut dyn Write) -> io::Result<()> {
    let points: Vec<&Point> = records.iter().filter_map(lasting).collect();
    let [param, parameter] = if coordinates(&points, RANKS[0]).len() > 1 { RANKS } else { LENGTH };
    let sweeps = sweeps(&points, param);
    let of = |(_, points): &(String, Vec<&Point>)| coordinates(points, param);
    let longest = sweeps.iter().rev().map(of).max_by_key(Vec::len).unwrap_or_default();
    for (callpath, points) in sweeps.iter().filter(|sweep| of(sweep) == longest) {
        for coordinate in &longest {
            let line = json!({
                "callpath": callpath,
                "metric": "time_ns",
                "params": { parameter: coordinate },
                "value": values_ns(points, param, *coordinate),
            });
            writeln!(out, "{line}")?;
        }
    }
    Ok(())
}

fn lasting(record: &Record) -> Option<&Point> {
    match record {
        Record::Point(point) => Some(&**point).filter(|point| cases::is_lasting(point)),
        _ => None,
    }
}

/// The value of `param`, where it is a number above 0.
fn coordinate(point: &Point, param: &str) -> Option<u64> {
    point.params.number(param).filter(|number| *number > 0)
}

/// All values of `param`, ascending, each once.
fn coordinates(points: &[&Point], param: &str) -> Vec<u64> {
    let mut found: Vec<u64> = points.iter().filter_map(|p| coordinate(p, param)).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// Points that differ in `param` alone, by their call path, in the order of their first.
fn sweeps<'a>(points: &[&'a Point], param: &str) -> Vec<(String, Vec<&'a Point>)> {
    let mut sweeps: Vec<(String, Vec<&Point>)> = Vec::new();
    for point in points.iter().filter(|point| coordinate(point, param).is_some()) {
        let callpath = callpath(point, param);
        match sweeps.iter_mut().find(|(other, _)| *other == callpath) {
            Some((_, points)) => points.push(point),
            None => sweeps.push((callpath, vec![point])),
        }
    }
    sweeps
}

/// `suite->kernel->series->param=value`.
fn callpath(point: &Point, param: &str) -> String {
    let mut path = vec![point.suite.clone(), point.kernel.clone()];
    path.extend(point.variant.clone().filter(|series| *series != point.kernel));
    let others = cases::settled(point).filter(|(name, _)| *name != param);
    path.extend(others.map(|(name, value)| format!("{name}={value}")));
    path.join("->")
}

/// The medians of the slices of `points` at `at`, or what is quoted where there are none.
fn values_ns(points: &[&Point], param: &str, at: u64) -> Vec<f64> {
    let there = points.iter().filter(|point| coordinate(point, param) == Some(at));
    let of_point = |point: &&Point| {
        let medians_ns = point.quality.as_ref().map(|quality| quality.slice_medians_ns.clone());
        medians_ns.filter(|medians| !medians.is_empty()).or(Some(vec![point.quoted_ns?]))
    };
    there.filter_map(of_point).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::record::Param;
    use serde_json::Value;

    /// Echoes over some lengths on some numbers of ranks.
    fn echoes(cases: &[(u64, u64)]) -> Vec<Record> {
        let records = fixture::records();
        let echo = fixture::points(&records).find(|point| point.variant.is_some()).unwrap();
        let of_case = |(length_bytes, procs): &(u64, u64)| {
            let mut point = echo.clone();
            for (name, value) in &mut point.params.0 {
                match name.as_str() {
                    "length_bytes" => *value = Param::Number(*length_bytes),
                    "procs" => *value = Param::Number(*procs),
                    _ => (),
                }
            }
            Record::Point(Box::new(point))
        };
        cases.iter().map(of_case).collect()
    }

    fn check(cases: &[(u64, u64)], expected: &[(&str, Value)]) {
        let text = fixture::render("extrap", &echoes(cases));
        let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let found: Vec<(String, Value)> = lines
            .map(|line| (line["callpath"].as_str().unwrap().into(), line["params"].clone()))
            .collect();
        let expected: Vec<(String, Value)> =
            expected.iter().map(|(path, params)| ((*path).into(), params.clone())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn on_one_number_of_ranks_lengths_vary_but_for_empty_messages() {
        let path = "comet->echo->hops=1->procs=2";
        let expected = [(path, json!({"length_bytes": 1})), (path, json!({"length_bytes": 8}))];
        check(&[(0, 2), (1, 2), (8, 2)], &expected);
    }

    #[test]
    fn sweeps_that_lack_a_number_of_ranks_are_left_out() {
        let path = "comet->echo->hops=1->length_bytes=8";
        let expected = [(path, json!({"p": 2})), (path, json!({"p": 4}))];
        check(&[(8, 2), (64, 2), (8, 4)], &expected);
    }
}
