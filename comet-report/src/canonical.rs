//! Canonical JSON (sorted keys, no blanks) and its SHA-256: the identity of points and machines.

use serde_json::Value;
use sha2::{Digest, Sha256};

/// SHA-256 of the canonical JSON of `value`, as 64 hex digits.
pub(crate) fn sha256_hex(value: &Value) -> String {
    sha256_of(canonical(value.clone()).as_bytes())
}

/// SHA-256 of `bytes`, as 64 hex digits.
pub(crate) fn sha256_of(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Sorts keys, because a feature of the JSON library may keep them in another order.
fn canonical(mut value: Value) -> String {
    value.sort_all_objects();
    value.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn canonical_json_is_sorted_and_without_blanks() {
        let text = canonical(json!({"b": [1, null, "x y"], "a": {"d": 0.5, "c": true}}));
        assert_eq!(text, r#"{"a":{"c":true,"d":0.5},"b":[1,null,"x y"]}"#);
    }

    #[test]
    fn the_hash_is_that_of_the_text() {
        // printf '{}' | sha256sum
        let expected = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a";
        assert_eq!(sha256_hex(&json!({})), expected);
    }
}
