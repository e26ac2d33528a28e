//! The environment: every field of the `run` records, side by side where there are several runs.
//!
//! Names are those of the record, so that nothing is missing here that the record knows, and all
//! of it can be looked up in its schema.

use serde_json::Value;

use super::html::{Html, NONE, element, table, tag};
use super::{Content, Section, placement};
use crate::record::Run;
use crate::runs::RunRecords;
use crate::units::memory;

/// Fields with a place of their own elsewhere on the page, or that only programs care for.
const ELSEWHERE: &[&str] = &["world.ranks", "world.mesh.map", "world.hops.table"];

const GROUPS: &[(&str, &str)] = &[
    ("labels", "Labels"),
    ("suite", "Program"),
    ("transport", "Transport"),
    ("launcher", "Launcher and its variables"),
    ("world", "Ranks"),
    ("machines", "Machine"),
    ("clock", "Clock of rank 0"),
    ("noise", "Load before the run"),
    ("end", "Load after the run"),
    ("config", "Configuration"),
];

struct Fact {
    /// Group (`clock`); empty for the run itself.
    group: String,
    name: String,
    value: Option<String>,
}

struct Line {
    group: String,
    name: String,
    values: Vec<Option<String>>,
}

/// The one section, if any run says where it ran.
pub(super) fn sections(content: &Content<'_>) -> Vec<Section> {
    if content.starts().next().is_none() {
        return Vec::new();
    }
    let lines = lines(content.runs);
    let body = placement::map(content).with(intro(content)).with(groups(content, &lines));
    vec![Section { id: "environment", title: "Environment", body }]
}

fn intro(content: &Content<'_>) -> Html {
    let marked =
        if content.runs.len() > 1 { " Lines in which the runs differ are marked." } else { "" };
    tag("p", format!("Names are those of the record; units stand in names.{marked}"))
}

/// A table for each group, in the order in which they are first met.
fn groups(content: &Content<'_>, lines: &[Line]) -> Html {
    let mut names: Vec<&str> = Vec::new();
    for line in lines {
        if !names.contains(&line.group.as_str()) {
            names.push(&line.group);
        }
    }
    let group = |name: &&str| {
        let of_group: Vec<&Line> = lines.iter().filter(|line| line.group == *name).collect();
        group(content, &title(name), &of_group)
    };
    let class = if content.runs.len() > 1 { "groups several" } else { "groups" };
    element("div", &[("class", class)], names.iter().map(group).collect::<Html>())
}

/// The title of the group `name` (`machines 0 cpu` is the processor of the first machine).
fn title(name: &str) -> String {
    let (field, rest) = name.split_once(' ').unwrap_or((name, ""));
    let known = GROUPS.iter().find(|(group, _)| *group == field);
    let title = known.map_or("Run", |(_, title)| *title);
    let rest = rest.trim_start_matches('0').trim_start();
    if rest.is_empty() { title.into() } else { format!("{title}: {rest}") }
}

/// Known facts in a table, and the names of unknown ones in one line.
fn group(content: &Content<'_>, title: &str, lines: &[&Line]) -> Html {
    let is_known = |line: &&&Line| line.values.iter().any(Option::is_some);
    let rows: Vec<Html> = lines.iter().filter(is_known).map(|line| known(line)).collect();
    let unknown: Vec<&str> =
        lines.iter().filter(|line| !is_known(line)).map(|line| line.name.as_str()).collect();
    let mut body = tag("h3", title);
    if !rows.is_empty() {
        let heads = if content.runs.len() > 1 { content.names.as_slice() } else { &[] };
        let corner = (!heads.is_empty()).then_some("");
        let heads = corner.into_iter().chain(heads.iter().map(String::as_str));
        body = body.with(table("facts", heads, rows));
    }
    if !unknown.is_empty() {
        let text = format!("Not known, or not set: {}.", unknown.join(", "));
        body = body.with(element("p", &[("class", "of")], text));
    }
    tag("div", body)
}

fn known(line: &Line) -> Html {
    let values = line.values.iter();
    let cells = values.map(|value| tag("td", value.as_deref().unwrap_or(NONE)));
    let cells = tag("th", &line.name).with(cells.collect::<Html>());
    let differs = line.values.iter().any(|value| *value != line.values[0]);
    let class = if differs { "differs" } else { "" };
    element("tr", &[("class", class)], cells).with(Html::trusted("\n"))
}

/// The facts of all runs, each once.
fn lines(runs: &[RunRecords]) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for (index, run) in runs.iter().enumerate() {
        for Fact { group, name, value } in facts(run) {
            let known = lines.iter().position(|line| (&line.group, &line.name) == (&group, &name));
            let place = known.unwrap_or_else(|| {
                lines.push(Line { group, name, values: vec![None; runs.len()] });
                lines.len() - 1
            });
            lines[place].values[index] = value;
        }
    }
    lines
}

/// The facts of one run, those about the run itself first.
fn facts(run: &RunRecords) -> Vec<Fact> {
    let mut facts = run.run.as_deref().map_or(Vec::new(), start);
    let noise = run.end.as_ref().and_then(|end| end.noise.as_ref());
    if let Some(noise) = noise.and_then(|noise| serde_json::to_value(noise).ok()) {
        flatten("end", "", &noise, &mut facts);
    }
    facts
}

fn start(run: &Run) -> Vec<Fact> {
    let mut facts = Vec::new();
    let Ok(Value::Object(fields)) = serde_json::to_value(run) else { return facts };
    let command = run.argv.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
    facts.push(Fact { group: String::new(), name: "command".into(), value: Some(command) });
    let is_group = |name: &str| GROUPS.iter().any(|(group, _)| *group == name);
    let plain = fields.iter().filter(|(name, _)| !is_group(name) && *name != "argv");
    plain.for_each(|(name, value)| flatten("", name, value, &mut facts));
    for (name, _) in GROUPS {
        match fields.get(*name) {
            Some(Value::Array(machines)) => {
                for (index, machine) in machines.iter().enumerate() {
                    flatten(&format!("{name} {index}"), "", machine, &mut facts);
                }
            }
            Some(group) => flatten(name, "", group, &mut facts),
            None => (),
        }
    }
    facts
}

/// A word of a command line as a shell takes it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,=+%@^".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.into();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Adds the field `name` of `group`, or, if it holds others, those.
fn flatten(group: &str, name: &str, value: &Value, facts: &mut Vec<Fact>) {
    let inner = |key: &str| if name.is_empty() { key.into() } else { format!("{name}.{key}") };
    if ELSEWHERE.contains(&format!("{group}.{name}").as_str()) {
        return;
    }
    // A machine has so many parts that each is a group.
    let is_machine = group.starts_with("machines");
    match value {
        Value::Object(fields) if is_machine && !name.is_empty() => {
            let group = format!("{group} {name}");
            fields.iter().for_each(|(key, value)| flatten(&group, key, value, facts));
        }
        Value::Object(fields) => {
            fields.iter().for_each(|(key, value)| flatten(group, &inner(key), value, facts));
        }
        Value::Array(values) if values.iter().any(Value::is_object) => {
            for (index, value) in values.iter().enumerate() {
                let name = inner(&(index + 1).to_string());
                facts.push(Fact { group: group.into(), name, value: Some(words("", value)) });
            }
        }
        value => {
            let text = Some(words(name, value)).filter(|text| !text.is_empty());
            facts.push(Fact { group: group.into(), name: name.into(), value: text });
        }
    }
}

/// The value of the field `name` in a line; empty for null.
fn words(name: &str, value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Bool(is_so) => if *is_so { "yes" } else { "no" }.into(),
        Value::Number(number) => {
            let binary = number.as_u64().filter(|n| name.ends_with("bytes") && *n >= 1024);
            binary.map_or(number.to_string(), |n| format!("{n} ({})", memory(n)))
        }
        Value::String(text) => text.clone(),
        Value::Array(values) => {
            values.iter().map(|value| words(name, value)).collect::<Vec<_>>().join(", ")
        }
        Value::Object(fields) => {
            let texts = fields.iter().filter(|(_, value)| !value.is_null());
            let text = |(key, value): (&String, &Value)| format!("{key} {}", words(key, value));
            texts.map(text).collect::<Vec<_>>().join(", ")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fields_are_named_by_their_way() {
        let mut facts = Vec::new();
        let value = json!({
            "a": {"mem_bytes": 65536, "flag": true, "none": null},
            "caches": [{"level": 1, "bytes": 32768, "shared": null}],
            "list": [1, 2],
        });
        flatten("group", "", &value, &mut facts);
        let lines: Vec<_> = facts
            .iter()
            .map(|fact| format!("{}: {}", fact.name, fact.value.as_deref().unwrap_or("-")))
            .collect();
        let expected = [
            "a.flag: yes",
            "a.mem_bytes: 65536 (64 KiB)",
            "a.none: -",
            "caches.1: bytes 32768 (32 KiB), level 1",
            "list: 1, 2",
        ];
        let mut found = lines;
        found.sort();
        assert_eq!(found, expected);
    }

    #[test]
    fn commands_can_be_given_to_a_shell() {
        let check = |word, expected: &str| assert_eq!(quoted(word), expected);
        check("--sizes=0,8", "--sizes=0,8");
        check("", "''");
        check("it's; rm", "'it'\\''s; rm'");
    }
}
