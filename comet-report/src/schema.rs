//! The JSON Schema of the record.
//!
//! The file `schema/comet.record-1.schema.json` holds it, and a test compares the file with the
//! types that write records. After a change, `COMET_BLESS=1 cargo test -p comet-report` rewrites it.

/// The schema as committed: JSON Schema 2020-12 of one line of a result file.
pub const COMMITTED: &str = include_str!("../schema/comet.record-1.schema.json");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::record::Record;

    #[test]
    fn the_committed_schema_is_the_generated_one() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/schema/comet.record-1.schema.json");
        let generated = serde_json::to_string_pretty(&schemars::schema_for!(Record)).unwrap();
        fixture::check_golden(path, &(generated + "\n"));
    }

    #[test]
    fn the_schema_names_the_five_kinds_of_lines() {
        let schema: serde_json::Value = serde_json::from_str(COMMITTED).unwrap();
        let kinds = schema["oneOf"].as_array().unwrap().iter();
        let names: Vec<_> = kinds.map(|kind| &kind["properties"]["type"]["const"]).collect();
        assert_eq!(names, ["run", "point", "model", "event", "end"]);
    }
}
