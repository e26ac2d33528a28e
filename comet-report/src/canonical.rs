//! Canonical JSON (sorted keys, no blanks) and its SHA-256: the identity of points and machines.

use serde_json::Value;
use sha2::{Digest, Sha256};

/// SHA-256 of the canonical JSON of `value`, as 64 hex digits.
pub(crate) fn sha256_hex(value: &Value) -> String {
    let mut text = String::new();
    write_canonical(value, &mut text);
    sha256_of(text.as_bytes())
}

/// SHA-256 of `bytes`, as 64 hex digits.
pub(crate) fn sha256_of(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Sorts keys itself, because a feature of the JSON library may keep them in another order.
fn write_canonical(value: &Value, text: &mut String) {
    match value {
        Value::Object(object) => {
            let mut entries: Vec<_> = object.iter().collect();
            entries.sort_by_key(|(name, _)| *name);
            write_list(text, ['{', '}'], entries, |(name, value), text| {
                *text += &Value::from(name.as_str()).to_string();
                text.push(':');
                write_canonical(value, text);
            });
        }
        Value::Array(values) => write_list(text, ['[', ']'], values, write_canonical),
        plain => *text += &plain.to_string(),
    }
}

fn write_list<T>(
    text: &mut String,
    [open, close]: [char; 2],
    items: impl IntoIterator<Item = T>,
    write: impl Fn(T, &mut String),
) {
    text.push(open);
    for (index, item) in items.into_iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        write(item, text);
    }
    text.push(close);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn canonical_json_is_sorted_and_without_blanks() {
        let mut text = String::new();
        write_canonical(&json!({"b": [1, null, "x y"], "a": {"d": 0.5, "c": true}}), &mut text);
        assert_eq!(text, r#"{"a":{"c":true,"d":0.5},"b":[1,null,"x y"]}"#);
    }

    #[test]
    fn the_hash_is_that_of_the_text() {
        // printf '{}' | sha256sum
        let expected = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a";
        assert_eq!(sha256_hex(&json!({})), expected);
    }
}
