//! Records of older minor versions: what they lack is missing, and the rest is read as before.

use serde_json::Value;

use crate::support::Folder;

/// Names that a record has since a minor version of its schema.
const SINCE: &[(&str, u32)] = &[
    ("cores_moved", 3),
    ("evaluation", 6),
    ("interfaces", 2),
    ("is_refined", 4),
    ("kernels", 5),
    ("late_ns", 2),
    ("line_ns", 3),
    ("memory", 2),
    ("p10", 2),
    ("p999", 2),
    ("quality", 2),
    ("quoted_ns", 2),
    ("skew_ns", 2),
    ("target_features", 2),
    ("window_ns", 2),
];

/// Takes all names out of `value` that are younger than `minor`.
fn age(value: &mut Value, minor: u32) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| {
                !SINCE.iter().any(|(young, since)| young == name && *since > minor)
            });
            if fields.contains_key("schema_minor") {
                fields.insert("schema_minor".into(), minor.into());
            }
            fields.values_mut().for_each(|value| age(value, minor));
        }
        // Kinds of axes that were sizes and counts.
        Value::String(kind) if minor < 6 && kind == "side" => *kind = "size".into(),
        Value::String(kind) if minor < 6 && ["distance", "pairs", "round"].contains(&&**kind) => {
            *kind = "count".into();
        }
        Value::Array(values) => values.iter_mut().for_each(|value| age(value, minor)),
        _ => (),
    }
}

#[test]
fn records_of_every_minor_version_are_read() {
    let folder = Folder::new();
    folder.run("echo barrier -t sim -n 4 --sizes 0,1..64Ki*2 -q --out now.jsonl").success();
    let text = folder.read("now.jsonl");
    let fit = folder.run("fit now.jsonl").success().prints("r_inf").stdout;
    for minor in 0..=6 {
        let records = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        // Models came with minor version 2, whole.
        let known = records.filter(|record| minor >= 2 || record["type"] != "model");
        let aged = known.map(|mut record| {
            age(&mut record, minor);
            format!("{record}\n")
        });
        folder.write("old.jsonl", &String::from_iter(aged));
        folder.run("validate old.jsonl").success();
        folder.run("show old.jsonl").success().prints("65536");
        assert_eq!(folder.run("fit old.jsonl").success().stdout, fit, "minor version {minor}");
        folder.run("report old.jsonl -o old.html").success();
        folder.run("plot old.jsonl -o figures").success();
    }
}
