//! A JSON schema of suite files, for editors: made of the options of `run` and of the axes of kernels.

use clap::Arg;
use comet_core::kernel::Axis;
use serde_json::{Map, Value, json};

use super::keys::{Keys, OF_STOP, VARY};
use super::{FORMAT, VARIED, layouts};
use crate::catalogue;
use crate::selection;

/// The schema.
pub(crate) fn schema() -> Value {
    let keys = Keys::new();
    let options = keys.options();
    let mut settings: Map<String, Value> =
        options.iter().map(|(key, arg)| (key.clone(), option(arg))).collect();
    settings.insert(layouts::KEY.into(), of_layouts(options.get(layouts::KEY)));
    for (name, axis) in catalogue::axes() {
        settings.insert(name.to_owned(), of_axis(axis));
    }
    let vary =
        "all: every combination of the values; one: each list in turn, the others at their first";
    settings.insert(VARY.into(), json!({ "enum": VARIED, "description": vary }));
    let mut of_entry = settings.clone();
    of_entry
        .insert("id".into(), text("name of the entry, unique; the kernel where it is left out"));
    let infos = catalogue::infos();
    let names = selection::words(&infos);
    let named = json!({ "anyOf": [{ "enum": names }, { "type": "string" }] });
    of_entry.insert(
        "kernel".into(),
        json!({
            "description": "kernels: suites, ids, globs, names of other benchmarks",
            "anyOf": [named, { "type": "array", "items": named }],
        }),
    );
    let stop = OF_STOP.iter().map(|(key, name)| {
        let of_all = || text("time after which no further entry is begun");
        let arg = options.get(*name);
        ((*key).to_owned(), arg.map_or_else(of_all, |arg| option(arg)))
    });
    let format: Value = FORMAT.parse::<u64>().map_or(Value::Null, Value::from);
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Suite file of CoMet",
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "format": { "const": format, "description": "version of the form" },
            "name": text("label of the runs"),
            "about": text("contents in a phrase"),
            "include": {
                "description": "files whose entries come before those of this one",
                "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }],
            },
            "machine": {
                "description": "labels of every run",
                "type": "object",
                "additionalProperties": { "type": ["string", "number", "boolean"] },
            },
            "defaults": table("options of run, and axes of kernels", settings, &[]),
            "layout": {
                "description": "layouts by their names, for the key layout: vector(64,1,64,double), vector:1:2",
                "type": "object",
                "additionalProperties": { "type": "string" },
            },
            "stop": table("times and numbers of samples", stop.collect(), &[]),
            "measure": {
                "description": "the entries, in their order",
                "type": "array",
                "items": table("a command line of run", of_entry, &["kernel"]),
            },
        },
    })
}

fn text(description: &str) -> Value {
    json!({ "type": "string", "description": description })
}

fn table(description: &str, properties: Map<String, Value>, required: &[&str]) -> Value {
    json!({
        "description": description,
        "type": "object",
        "additionalProperties": false,
        "required": required,
        "properties": properties,
    })
}

/// The values of an option.
fn option(arg: &Arg) -> Value {
    let known = arg.get_possible_values();
    let known: Vec<&str> =
        known.iter().filter(|value| !value.is_hide_set()).map(|value| value.get_name()).collect();
    let mut schema = match known.is_empty() {
        true => json!({ "anyOf": [
            { "type": ["string", "number"] },
            { "type": "array", "items": { "type": ["string", "number"] } },
        ] }),
        false => json!({ "enum": known }),
    };
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    schema["description"] = help.into();
    schema
}

/// A layout, or a list of layouts and of pairs of the one that is sent and the one that is received.
fn of_layouts(arg: Option<&&Arg>) -> Value {
    let layout = json!({ "type": "string" });
    let pair = json!({ "type": "array", "items": layout, "minItems": 2, "maxItems": 2 });
    let help = arg.and_then(|arg| arg.get_help()).map(ToString::to_string).unwrap_or_default();
    json!({
        "description": help,
        "anyOf": [layout, { "type": "array", "items": { "anyOf": [layout, pair] } }],
    })
}

/// The values of an axis.
fn of_axis(axis: &Axis) -> Value {
    let one = match axis.labels {
        [] => json!({ "type": ["string", "integer"] }),
        labels => json!({ "anyOf": [{ "enum": labels }, { "type": "string", "pattern": "," }] }),
    };
    let description = format!("axis: {} {}", axis.summary, axis.unit);
    json!({
        "description": description.trim_end(),
        "anyOf": [one, { "type": "array", "items": one }],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::builtin;

    /// True if `schema` admits `value`, by the keywords that the schema of suite files has.
    fn admits(schema: &Value, value: &Value) -> bool {
        let is_of = |name: &Value| match name.as_str().unwrap() {
            "string" => value.is_string(),
            "number" => value.is_number(),
            "integer" => value.is_i64(),
            "boolean" => value.is_boolean(),
            "array" => value.is_array(),
            "object" => value.is_object(),
            other => panic!("no type {other}"),
        };
        let n_items = value.as_array().map_or(0, Vec::len) as u64;
        schema.as_object().unwrap().iter().all(|(keyword, of)| match keyword.as_str() {
            "$schema" | "title" | "description" => true,
            "type" => of.as_array().map_or_else(|| is_of(of), |names| names.iter().any(is_of)),
            "enum" => of.as_array().unwrap().contains(value),
            "const" => of == value,
            "anyOf" => of.as_array().unwrap().iter().any(|of| admits(of, value)),
            "pattern" => value.as_str().is_none_or(|text| text.contains(of.as_str().unwrap())),
            "items" => value.as_array().is_none_or(|all| all.iter().all(|item| admits(of, item))),
            "minItems" => n_items >= of.as_u64().unwrap(),
            "maxItems" => n_items <= of.as_u64().unwrap(),
            "required" => {
                of.as_array().unwrap().iter().all(|key| !value[key.as_str().unwrap()].is_null())
            }
            "properties" => of
                .as_object()
                .unwrap()
                .iter()
                .all(|(key, of)| value.get(key).is_none_or(|value| admits(of, value))),
            "additionalProperties" => value.as_object().is_none_or(|members| {
                let others =
                    members.iter().filter(|(key, _)| schema["properties"].get(key).is_none());
                others.clone().all(|(_, value)| of.as_bool().unwrap_or_else(|| admits(of, value)))
            }),
            other => panic!("no keyword {other}"),
        })
    }

    fn json_of(text: &str) -> Value {
        serde_json::to_value(text.parse::<toml::Table>().unwrap()).unwrap()
    }

    #[test]
    fn every_built_in_file_is_of_the_schema() {
        let schema = schema();
        for name in builtin::names() {
            assert!(admits(&schema, &json_of(builtin::text(name).unwrap())), "{name}");
        }
    }

    #[test]
    fn layouts_are_what_the_parser_reads() {
        let schema = schema();
        for (value, expected) in [
            ("'vector:1:2'", true),
            ("['contiguous', 'packed:vector:1:2']", true),
            ("['contiguous', ['column', 'contiguous'], 'packed:column']", true),
            ("[['contiguous']]", false),
            ("[['contiguous', 'struct', 'indexed']]", false),
            ("[[['contiguous', 'struct'], 'indexed']]", false),
            ("{ sent = 'contiguous', received = 'struct' }", false),
        ] {
            for table in ["[defaults]", "[[measure]]\nkernel = 'echo'"] {
                let text = format!("{table}\nlayout = {value}\n");
                assert_eq!(admits(&schema, &json_of(&text)), expected, "{text}");
                assert_eq!(crate::suite::table::read("a", &text).is_ok(), expected, "{text}");
            }
        }
        // Of other keys none is of pairs.
        let text = "[defaults]\nlength_bytes = [['8', '64']]\n";
        assert!(!admits(&schema, &json_of(text)));
        assert!(crate::suite::table::read("a", text).is_err());
    }

    #[test]
    fn the_keys_of_every_built_in_file_are_in_the_schema() {
        let schema = schema();
        let properties = &schema["properties"];
        for name in builtin::names() {
            let text = builtin::text(name).unwrap();
            let tables = crate::suite::table::read(name, text).unwrap();
            let check = |of: &Value, table: &crate::suite::table::Table| {
                for key in table.keys() {
                    assert!(of["properties"].get(key).is_some(), "{name}: {key}");
                }
            };
            check(&schema, &tables.head);
            check(&properties["defaults"], &tables.defaults);
            check(&properties["stop"], &tables.stop);
            tables
                .measure
                .iter()
                .for_each(|(_, entry)| check(&properties["measure"]["items"], entry));
        }
        let rules = &properties["defaults"]["properties"]["rules"];
        assert_eq!(rules["enum"][0], "comet");
        assert!(
            rules["description"].as_str().unwrap().starts_with("Repetition and reporting rules")
        );
        let stop = &properties["stop"]["properties"];
        assert_eq!(stop["case"], properties["defaults"]["properties"]["time"]);
    }
}
