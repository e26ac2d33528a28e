//! The environment: every field of the `run` records, side by side where there are several runs, and
//! the CPUs of each node with the ranks that were bound to them.
//!
//! Names are those of the record, so that nothing is missing here that the record knows, and all
//! of it can be looked up in its schema.

use serde_json::Value;

use super::html::{Html, NONE, details, element, row, table, tag};
use super::{Content, Section};
use crate::order::{distinct, grouped};
use crate::record::{RankEntry, Run};
use crate::runs::RunRecords;
use crate::units::memory;
use crate::words::count;

/// Fields with a place of their own elsewhere on the page, or that only programs care for.
const ELSEWHERE: &[&str] = &["world.ranks", "world.mesh.map", "world.hops.table", ".kernels"];

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

/// Group (`clock`; empty for the run itself) and name of a fact about a run, and its value.
type Fact = ([String; 2], Option<String>);

/// Name of a fact about all runs, and its value in each.
type Line = (String, Vec<Option<String>>);

pub(super) fn sections(content: &Content<'_>) -> Vec<Section> {
    if content.starts().next().is_none() {
        return Vec::new();
    }
    let all = groups(content.runs);
    let body =
        placement(content).with(tag("p", "Names are those of the record; units stand in names."));
    let body = if content.runs.len() == 1 {
        body.with(in_groups("groups", &[], all))
    } else {
        let (equal, differing) = parted(all);
        let n_equal: usize = equal.iter().map(|(_, lines)| lines.len()).sum();
        let summary = count(n_equal, "fact") + " that the runs have in common";
        let names: Vec<&str> = content.names.iter().map(String::as_str).collect();
        body.with(tag("h3", "Differences of the runs"))
            .with(in_groups("groups several", &names, differing))
            .with(details(&summary, in_groups("groups", &[], equal)))
    };
    vec![Section { id: "environment", title: "Environment", body, ..Section::default() }]
}

/// Facts of all runs by their groups.
type Groups = Vec<(String, Vec<Line>)>;

/// The facts that are equal in all runs, each with one value, and those that differ.
fn parted(groups: Groups) -> (Groups, Groups) {
    let (mut equal, mut differing) = (Groups::new(), Groups::new());
    for (name, lines) in groups {
        let is_equal = |(_, values): &Line| values.iter().all(|value| *value == values[0]);
        let (mut same, other): (Vec<Line>, Vec<Line>) = lines.into_iter().partition(is_equal);
        same.iter_mut().for_each(|(_, values)| values.truncate(1));
        equal.extend((!same.is_empty()).then(|| (name.clone(), same)));
        differing.extend((!other.is_empty()).then_some((name, other)));
    }
    (equal, differing)
}

/// A table for each of `groups`, with a column for each of `names`, or for the only value.
fn in_groups(class: &str, names: &[&str], groups: Groups) -> Html {
    let groups = groups.iter().map(|(name, lines)| group(names, &title(name), lines));
    element("div", &[("class", class)], groups.collect::<Html>())
}

/// The facts of all runs, each once, by their groups.
fn groups(runs: &[RunRecords]) -> Groups {
    let facts = runs.iter().enumerate().flat_map(|(index, run)| {
        facts(run).into_iter().map(move |(name, value)| (name, (index, value)))
    });
    let line = |([group, name], known): ([String; 2], Vec<(usize, Option<String>)>)| {
        let mut values = vec![None; runs.len()];
        known.into_iter().for_each(|(index, value)| values[index] = value);
        (group, (name, values))
    };
    grouped(grouped(facts).into_iter().map(line))
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
fn group(names: &[&str], title: &str, lines: &[Line]) -> Html {
    let is_known = |(_, values): &Line| values.iter().any(Option::is_some);
    let (known, unknown): (Vec<&Line>, Vec<&Line>) = lines.iter().partition(|line| is_known(line));
    let mut body = tag("h3", title);
    if !known.is_empty() {
        let corner = (!names.is_empty()).then_some("Fact");
        let heads = corner.into_iter().chain(names.iter().copied());
        body = body.with(table("facts", heads, known.into_iter().map(line)));
    }
    if !unknown.is_empty() {
        let names: Vec<&str> = unknown.iter().map(|(name, _)| name.as_str()).collect();
        let text = format!("Not known, or not set: {}.", names.join(", "));
        body = body.with(element("p", &[("class", "of")], text));
    }
    tag("div", body)
}

fn line((name, values): &Line) -> Html {
    let cells = values.iter().map(|value| tag("td", value.as_deref().unwrap_or(NONE)));
    let cells = tag("th", name).with(cells.collect::<Html>());
    tag("tr", cells).with(Html::trusted("\n"))
}

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
    facts.push(([String::new(), "command".into()], Some(command)));
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
                facts.push(([group.into(), name], Some(words("", value))));
            }
        }
        value => {
            let text = Some(words(name, value)).filter(|text| !text.is_empty());
            facts.push(([group.into(), name.into()], text));
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

/// The most ranks of which each is shown; the record has all.
const MAX_RANKS: usize = 1024;

/// Ranks that may run on the same CPUs: the node, one of them, which says for all where that is, and
/// their numbers.
type Seat<'a> = (&'a str, &'a RankEntry, Vec<usize>);

/// A map for each way of placing ranks among the runs.
fn placement(content: &Content<'_>) -> Html {
    let runs = content.runs.iter().zip(&content.names);
    let maps = grouped(runs.filter_map(|(run, name)| Some((of_run(run.run.as_deref()?), &**name))));
    let is_shared = content.runs.len() > 1;
    let titled = |(map, names): (Html, Vec<&str>)| {
        let names = names.join("; ");
        let head = if is_shared { tag("h4", names) } else { Html::new() };
        head.with(map)
    };
    tag("h3", "Placement").with(maps.into_iter().map(titled).collect::<Html>())
}

fn of_run(run: &Run) -> Html {
    let world = &run.world;
    if run.clock.is_virtual {
        let ranks = count(world.size, "rank");
        return tag("p", format!("The {ranks} were simulated, so none has a CPU.")).with(mesh(run));
    }
    let seats = seats(&world.ranks);
    let nodes = distinct(seats.iter().map(|(node, ..)| *node));
    let of_node = |name: &&str| {
        let cells = seats.iter().filter(|(node, ..)| node == name).map(seat);
        let cells = element("ul", &[("class", "seats")], cells.collect::<Html>());
        tag("div", element("p", &[("class", "node")], *name).with(cells))
    };
    nodes.iter().map(of_node).collect::<Html>().with(mesh(run))
}

fn seats<'a>(ranks: &'a [RankEntry]) -> Vec<Seat<'a>> {
    let place = |entry: &'a RankEntry| {
        let node = entry.node.as_deref().unwrap_or("unnamed node");
        ((node, &entry.cpus), entry)
    };
    let seats = grouped(ranks.iter().take(MAX_RANKS).map(place)).into_iter();
    let seat = |((node, _), entries): (_, Vec<&'a RankEntry>)| {
        (node, entries[0], entries.iter().map(|entry| entry.rank).collect())
    };
    seats.map(seat).collect()
}

fn seat((_, entry, ranks): &Seat<'_>) -> Html {
    let cpus = entry.cpus.as_deref().unwrap_or("unknown");
    let ranks: Vec<String> = ranks.iter().map(ToString::to_string).collect();
    let noun = if ranks.len() == 1 { "rank" } else { "ranks" };
    let class = if ranks.len() == 1 { "seat" } else { "seat shared" };
    let body = tag("b", format!("{noun} {}", ranks.join(", ")))
        .with(tag("span", format!("CPU {cpus}")))
        .with(tag("small", around(entry)));
    element("li", &[("class", class)], body)
}

/// Surroundings of the CPU of a rank, as far as the system reported them.
fn around(entry: &RankEntry) -> String {
    let parts = [
        entry.core.as_ref().map(|threads| format!("core {threads}")),
        entry.l3.as_ref().map(|cpus| format!("L3 {cpus}")),
        entry.numa.map(|node| format!("NUMA {node}")),
        entry.socket.map(|socket| format!("socket {socket}")),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

fn mesh(run: &Run) -> Html {
    let mesh = &run.world.mesh;
    let is_whole = mesh.rows * mesh.cols == mesh.map.len();
    if !is_whole || mesh.map.is_empty() || mesh.map.len() > MAX_RANKS {
        return Html::new();
    }
    let of_row = |ranks: &[usize]| row("td", ranks.iter().map(ToString::to_string));
    let rows = mesh.map.chunks(mesh.cols).map(of_row);
    let hops = &run.world.hops;
    let text = format!(
        "Mesh of {} × {}, {}; distances of a {}, at most {}:",
        mesh.rows,
        mesh.cols,
        filled(&mesh.order),
        hops.metric,
        count(hops.diameter, "hop"),
    );
    tag("p", text).with(table("mesh", [], rows))
}

fn filled(order: &str) -> String {
    match order {
        "gray" => "filled in Gray code, so that neighbours are one link apart".into(),
        "row" => "filled row by row".into(),
        "file" => "filled as a file says".into(),
        other => format!("filled by {other}"),
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
        let text =
            |([_, name], value): &Fact| format!("{name}: {}", value.as_deref().unwrap_or("-"));
        let mut found: Vec<String> = facts.iter().map(text).collect();
        let expected = [
            "a.flag: yes",
            "a.mem_bytes: 65536 (64 KiB)",
            "a.none: -",
            "caches.1: bytes 32768 (32 KiB), level 1",
            "list: 1, 2",
        ];
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
