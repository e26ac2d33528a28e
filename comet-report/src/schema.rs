//! The JSON Schema of the record, generated from the types that write it.
//!
//! The file `schema/comet.record-1.schema.json` holds it for everybody else, and a test holds the
//! file against the types. After a change, `COMET_BLESS=1 cargo test -p comet-report` writes it anew.

use crate::record::Record;

/// The schema as committed: JSON Schema 2020-12 of one line of a result file.
pub const COMMITTED: &str = include_str!("../schema/comet.record-1.schema.json");

/// The schema that follows from the types, as pretty JSON.
///
/// # Panics
/// Never: a schema can always be written as JSON.
#[must_use]
pub fn generate() -> String {
    let schema = schemars::schema_for!(Record);
    let text = serde_json::to_string_pretty(&schema);
    text.expect("a schema can be written as JSON") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn the_committed_schema_is_the_generated_one() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/schema/comet.record-1.schema.json");
        fixture::check_golden(path.as_ref(), &generate());
    }

    #[test]
    fn the_schema_names_the_five_kinds_of_lines() {
        let schema: serde_json::Value = serde_json::from_str(COMMITTED).unwrap();
        let kinds = schema["oneOf"].as_array().unwrap().iter();
        let names: Vec<_> = kinds.map(|kind| &kind["properties"]["type"]["const"]).collect();
        assert_eq!(names, ["run", "point", "model", "event", "end"]);
    }
}
