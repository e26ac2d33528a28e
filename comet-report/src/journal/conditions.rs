//! Differences between the conditions of an earlier run of a suite and of one that would go on with it.

use serde_json::{Value, json};

use crate::fingerprint;
use crate::record::Run;
use crate::recorder::RunDescription;

/// The most characters of a value in a sentence.
const MAX_CHARACTERS: usize = 60;

/// One difference between the conditions of two runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Name of what differs (`program`, `machine cpu.model`).
    pub what: String,
    /// Its value in the earlier run.
    pub before: String,
    /// Its value here.
    pub here: String,
    /// True for what surrounds program and transport: processor, kernel, tuning variables.
    pub is_environment: bool,
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} was {}, here it is {}", self.what, self.before, self.here)
    }
}

/// The first difference of each kind between the conditions of the run `before` and those of a run that
/// `here` describes; placements are left out, which only ranks know.
pub fn differences(before: &Run, here: &RunDescription) -> Vec<Difference> {
    let mut program = here.suite.clone();
    program.binary_sha256.clone_from(&here.environment.binary_sha256);
    let is_virtual = before.clock.is_virtual;
    let facts = |facts: &Value| {
        let mut facts = facts.clone();
        // The seed of a simulation is in the plan.
        facts.as_object_mut().map(|facts| facts.remove("seed"));
        facts
    };
    let backend = |name: Option<&String>| json!(name.map_or("unknown", String::as_str));
    let of_backend = |transport: &crate::record::Transport| {
        let name = transport.backend.as_deref().unwrap_or_default();
        facts(transport.facts.get(name).unwrap_or(&Value::Null))
    };
    let machine = |machine| fingerprint::machine(machine);
    let machine_before = before.machines.first().map_or(Value::Null, machine);
    let here_transport = backend(here.transport.backend.as_ref());
    let kinds = [
        ("program", json!(before.suite), json!(program), false),
        ("transport", backend(before.transport.backend.as_ref()), here_transport, false),
        ("transport", of_backend(&before.transport), of_backend(&here.transport), !is_virtual),
        (
            "variable",
            fingerprint::lasting(&before.launcher.env),
            fingerprint::lasting(&here.environment.variables),
            true,
        ),
        ("launcher", json!(before.launcher.name), json!(here.launcher), true),
        ("machine", machine_before, machine(&here.environment.machine), true),
    ];
    // What surrounds a simulation changes none of its times.
    let kinds = kinds.into_iter().filter(|(.., is_environment)| !(is_virtual && *is_environment));
    kinds
        .filter_map(|(what, before, here, is_environment)| {
            let (path, before, here) = first_difference(&read_back(&before), &read_back(&here))?;
            let what = format!("{what} {}", path.join(".")).trim_end().to_owned();
            Some(Difference { what, before: words(&before), here: words(&here), is_environment })
        })
        .collect()
}

/// Name of the first condition of measured times in which `a` and `b` differ, and its two values.
pub(crate) fn between(a: &Run, b: &Run) -> Option<(String, [String; 2])> {
    let [of_a, of_b] = [a, b].map(|run| read_back(&fingerprint::conditions(run)));
    let (path, of_a, of_b) = first_difference(&of_a, &of_b)?;
    Some((path.join("."), [words(&of_a), words(&of_b)]))
}

/// `value` as it is once it was written and read, which may change the last digit of a number.
fn read_back(value: &Value) -> Value {
    serde_json::from_str(&value.to_string()).unwrap_or(Value::Null)
}

/// The names that lead to the first leaf that differs, and its two values.
fn first_difference(a: &Value, b: &Value) -> Option<(Vec<String>, Value, Value)> {
    match (a, b) {
        _ if a == b => None,
        (Value::Object(a), Value::Object(b)) => {
            let names = a.keys().chain(b.keys().filter(|name| !a.contains_key(*name)));
            let of = |map: &serde_json::Map<_, _>, name| map.get(name).cloned().unwrap_or_default();
            names.into_iter().find_map(|name: &String| {
                let (mut path, a, b) = first_difference(&of(a, name), &of(b, name))?;
                path.insert(0, name.clone());
                Some((path, a, b))
            })
        }
        _ => Some((Vec::new(), a.clone(), b.clone())),
    }
}

/// `value` in a sentence.
fn words(value: &Value) -> String {
    let text = match value {
        Value::Null => "unknown".into(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let mut start: String = text.chars().take(MAX_CHARACTERS).collect();
    if start.len() < text.len() {
        start += "...";
    }
    start
}
