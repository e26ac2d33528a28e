//! Conditions in which runs differ: everything that is in their fingerprints, by its name.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

use crate::fingerprint::conditions;
use crate::record::Run;
use crate::runs::RunRecords;

/// Most characters of a value in a sentence; hashes are longer.
const MAX_LENGTH: usize = 48;

/// One condition in which a run differs from the first with as many ranks.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Change {
    /// Name of the condition, in words (`machines 0 cpu governor`).
    pub what: String,
    /// Value in the first run; `null` if unknown.
    pub from: Option<String>,
    /// Value in another run.
    pub to: Option<String>,
}

/// Conditions in which `runs` differ from the first of them with as many ranks, by fingerprint.
pub(super) fn changes<'a>(runs: impl Iterator<Item = &'a RunRecords>) -> Vec<Change> {
    let mut firsts: BTreeMap<usize, &Run> = BTreeMap::new();
    let mut found = BTreeSet::new();
    for run in runs.filter_map(|records| records.run.as_deref()) {
        let first = *firsts.entry(run.world.size).or_insert(run);
        if run.fingerprint != first.fingerprint {
            found.extend(of_two(first, run));
        }
    }
    found.into_iter().collect()
}

fn of_two(first: &Run, other: &Run) -> Vec<Change> {
    let [from, to] = [first, other].map(|run| {
        let mut values = BTreeMap::new();
        flatten(&conditions(run), "", &mut values);
        values
    });
    let names: BTreeSet<&String> = from.keys().chain(to.keys()).collect();
    let differing = names.into_iter().filter(|name| from.get(*name) != to.get(*name));
    let change = |name: &String| {
        let value = |values: &BTreeMap<String, String>| values.get(name).map(|text| short(text));
        Change { what: name.clone(), from: value(&from), to: value(&to) }
    };
    let changes: Vec<Change> = differing.map(change).collect();
    if !changes.is_empty() {
        return changes;
    }
    // Another version of the program may have looked at more.
    let fingerprint = |run: &Run| Some(short(&run.fingerprint));
    let what = "fingerprint".to_owned();
    vec![Change { what, from: fingerprint(first), to: fingerprint(other) }]
}

/// Adds every plain value in `value` with the names and numbers that lead to it.
fn flatten(value: &Value, path: &str, values: &mut BTreeMap<String, String>) {
    let below = |name: &str| format!("{path} {}", name.replace('_', " ")).trim_start().to_owned();
    match value {
        Value::Null => (),
        Value::Object(object) => {
            object.iter().for_each(|(name, value)| flatten(value, &below(name), values));
        }
        Value::Array(list) => {
            let numbered = list.iter().enumerate();
            numbered.for_each(|(i, value)| flatten(value, &below(&i.to_string()), values));
        }
        Value::String(text) => drop(values.insert(path.to_owned(), text.clone())),
        plain => drop(values.insert(path.to_owned(), plain.to_string())),
    }
}

/// `text`, cut if it is long.
fn short(text: &str) -> String {
    let cut: String = text.chars().take(MAX_LENGTH).collect();
    if cut.len() < text.len() { cut + "…" } else { cut }
}
