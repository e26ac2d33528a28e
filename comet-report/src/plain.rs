//! Text of files that a terminal may show: control characters are escaped where a record is read.
//!
//! A result file may come from anywhere. What its strings hold reaches terminals through tables,
//! verdicts and messages, and would move the cursor, forge a line or change the title of a window.
//! A line of a file is JSON, so an escape in it (`\u001b`, `\n`) is turned into its own letters
//! before it is parsed. Records are as they were in all other respects.

use std::borrow::Cow;

/// The letters after a backslash that stand for a control character.
const SHORT_ESCAPES: &[u8] = b"bfnrt";

/// `line`, a line of JSON, with the control characters in its strings as letters.
pub(crate) fn json(line: &[u8]) -> Cow<'_, [u8]> {
    if ![b'\\', 0x7f, 0xc2].iter().any(|byte| line.contains(byte)) {
        return Cow::Borrowed(line);
    }
    let (mut plain, mut rest) = (Vec::with_capacity(line.len() + 16), line);
    while let Some((piece, after)) = next(rest) {
        match piece {
            [b'\\', c] if SHORT_ESCAPES.contains(c) => plain.extend([b'\\', b'\\', *c]),
            [b'\\', b'u', digits @ ..] if is_control(digits) => {
                plain.extend(b"\\\\u");
                plain.extend(digits);
            }
            [0x7f] => plain.extend(b"\\\\u007f"),
            [0xc2, c @ 0x80..=0x9f] => plain.extend(format!("\\\\u00{c:02x}").bytes()),
            piece => plain.extend(piece),
        }
        rest = after;
    }
    Cow::Owned(plain)
}

/// `text` with its control characters as letters.
pub(crate) fn text(text: &str) -> String {
    let letters = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.into() };
    text.chars().map(letters).collect()
}

/// The next escape, byte, or sign of two bytes that may be a control character, and the rest.
fn next(rest: &[u8]) -> Option<(&[u8], &[u8])> {
    let n_bytes = match rest {
        [] => return None,
        [b'\\', b'u', ..] => 6,
        [b'\\' | 0xc2, ..] => 2,
        _ => 1,
    };
    Some(rest.split_at(n_bytes.min(rest.len())))
}

/// True if four hexadecimal `digits` are the number of a control character.
fn is_control(digits: &[u8]) -> bool {
    let number = str::from_utf8(digits).ok().filter(|digits| digits.len() == 4);
    let number = number.and_then(|digits| u32::from_str_radix(digits, 16).ok());
    number.and_then(char::from_u32).is_some_and(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: &str) {
        let plain = json(line.as_bytes());
        let found: String = serde_json::from_slice(&plain).unwrap();
        assert_eq!(found, expected, "{line}");
        let again = serde_json::to_string(&found).unwrap();
        assert_eq!(json(again.as_bytes()), again.as_bytes(), "{line}: what is plain stays so");
    }

    #[test]
    fn control_characters_become_letters() {
        check(r#""\u001b]0;PWN\u0007""#, r"\u001b]0;PWN\u0007");
        check(r#""a\nFAKE LINE: complete\r""#, r"a\nFAKE LINE: complete\r");
        check("\"\u{7f}\u{9b}2J\"", r"\u007f\u009b2J");
        check(r#""\u009B""#, r"\u009B");
    }

    #[test]
    fn all_else_stays_as_it_is() {
        check(r#""C:\\new \"x\" \/ \u00b5s µs §""#, r#"C:\new "x" / µs µs §"#);
        check(r#""\ud83d\ude00\\u001b""#, "\u{1f600}\\u001b");
        assert_eq!(text("a\u{1b}b\n"), r"a\u{1b}b\n");
        assert_eq!(&*json(b"\"\\u00"), b"\"\\u00", "a line that was cut");
    }
}
