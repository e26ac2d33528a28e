//! JSON Lines for Extra-P, which models how times grow.
//!
//! Extra-P (4.2) wants every call path at every coordinate, so that there is one parameter: the
//! number of ranks `p` if it varies, or else the length of a message. What else differs is part of
//! the call path, and sweeps that lack a coordinate are left out, as are empty messages: Extra-P
//! takes logarithms. Its models want five coordinates or more.
//! The values are the figures of all launches, or the medians of the slices of a single one.

use std::collections::{BTreeMap, BTreeSet};
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
    let n_ranks: BTreeSet<_> = points.iter().filter_map(|p| coordinate(p, RANKS[0])).collect();
    let [param, parameter] = if n_ranks.len() > 1 { RANKS } else { LENGTH };
    // The values of points that differ in the parameter alone, in the order of their first.
    let mut sweeps: Vec<(String, BTreeMap<u64, Vec<f64>>)> = Vec::new();
    for (point, at) in points.iter().filter_map(|p| Some((p, coordinate(p, param)?))) {
        let callpath = callpath(point, param);
        let known = sweeps.iter().position(|(other, _)| *other == callpath);
        let index = known.unwrap_or(sweeps.len());
        if known.is_none() {
            sweeps.push((callpath, BTreeMap::new()));
        }
        sweeps[index].1.entry(at).or_default().extend(values_ns(point));
    }
    let Some((_, longest)) = sweeps.iter().rev().max_by_key(|(_, values)| values.len()) else {
        return Ok(());
    };
    for (callpath, values) in sweeps.iter().filter(|(_, values)| values.keys().eq(longest.keys())) {
        for (coordinate, value) in values {
            let params = json!({ parameter: coordinate });
            let line = json!({
                "callpath": callpath, "metric": "time_ns", "params": params, "value": value,
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

/// `suite->kernel->series->param=value`.
fn callpath(point: &Point, param: &str) -> String {
    let mut path = vec![&*point.suite, &*point.kernel];
    path.extend(point.variant.as_deref().filter(|series| *series != point.kernel));
    let others = cases::settled(point).filter(|(name, _)| *name != param);
    let others: Vec<_> = others.map(|(name, value)| format!("{name}={value}")).collect();
    path.extend(others.iter().map(String::as_str));
    path.join("->")
}

/// The figures of the launches of `point`, the medians of the slices of a single one, or what is
/// quoted where there are none.
fn values_ns(point: &Point) -> Vec<f64> {
    if let Some(launches) = &point.launches {
        return launches.quoted_ns.clone();
    }
    let medians_ns = point.quality().map(|quality| quality.slice_medians_ns.clone());
    let medians_ns = medians_ns.filter(|medians| !medians.is_empty());
    medians_ns.unwrap_or_else(|| point.quoted_ns().into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::record::{Param, Params};
    use serde_json::Value;

    /// Echoes over some lengths on some numbers of ranks.
    fn echoes(cases: &[(u64, u64)]) -> Vec<Record> {
        let records = fixture::records();
        let echo = fixture::points(&records).find(|point| point.variant.is_some()).unwrap();
        let of_case = |(length_bytes, procs): &(u64, u64)| {
            let params = [("hops", 1), ("length_bytes", *length_bytes), ("procs", *procs)];
            let params = params.map(|(name, value)| (name.to_owned(), Param::Number(value)));
            Record::Point(Box::new(Point { params: Params(params.into()), ..echo.clone() }))
        };
        cases.iter().map(of_case).collect()
    }

    fn check(cases: &[(u64, u64)], expected: &[(&str, Value)]) {
        let text = fixture::render("extrap", &echoes(cases));
        let line = |line: &str| serde_json::from_str::<Value>(line).unwrap();
        let pair = |line: Value| (line["callpath"].clone(), line["params"].clone());
        let found: Vec<_> = text.lines().map(line).map(pair).collect();
        let expected: Vec<_> =
            expected.iter().map(|(path, of)| (json!(path), of.clone())).collect();
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
