//! Content policy of the page: it runs its own script and uses its own styles, and loads nothing.
//!
//! Styles and scripts are allowed by their SHA-256 alone (Content Security Policy, level 2), so
//! that whatever a record may hold is never run.

use sha2::{Digest, Sha256};

use crate::plot::Style;

/// The policy of a page whose style elements hold `styles` and whose script elements `scripts`.
pub(super) fn policy(styles: &[&str], scripts: &[&str]) -> String {
    format!(
        "default-src 'none'; style-src {}; script-src {}; base-uri 'none'; form-action 'none'",
        sources(styles),
        sources(scripts)
    )
}

/// The policy of an answer that is a picture in SVG: it uses the styles within it, and loads nothing.
pub fn policy_of_pictures() -> String {
    let rules: Vec<String> =
        [Style::Light, Style::Dark].into_iter().filter_map(Style::rules).collect();
    let rules: Vec<&str> = rules.iter().map(String::as_str).collect();
    format!("default-src 'none'; style-src {}; frame-ancestors 'none'", sources(&rules))
}

fn sources(texts: &[&str]) -> String {
    texts.iter().map(|text| source(text)).collect::<Vec<_>>().join(" ")
}

/// `text` as a source of the policy.
pub(super) fn source(text: &str) -> String {
    format!("'sha256-{}'", base64(&Sha256::digest(text.as_bytes())))
}

/// `bytes` in base64, filled up with `=` (RFC 4648, section 4).
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let byte = |index: usize| u32::from(chunk.get(index).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for (index, shift) in [18, 12, 6, 0].into_iter().enumerate() {
            let digit = DIGITS[(bits >> shift & 63) as usize];
            text.push(if index <= chunk.len() { char::from(digit) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_the_standard() {
        let check = |bytes: &str, expected| assert_eq!(base64(bytes.as_bytes()), expected);
        check("", "");
        check("f", "Zg==");
        check("fo", "Zm8=");
        check("foo", "Zm9v");
        check("foobar", "Zm9vYmFy");
    }

    #[test]
    fn a_source_is_the_hash_of_its_text() {
        let empty = "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='";
        assert_eq!(source(""), empty);
        let policy = policy(&["", ""], &[""]);
        assert!(policy.contains(&format!("style-src {empty} {empty}; script-src {empty};")));
    }
}
