//! Ids that follow from content: a database that is made anew has the same.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest, Sha256};

/// Name of a blob: the SHA-256 of its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlobId([u8; 32]);

impl BlobId {
    /// The name of a blob that holds `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }
}

/// 64 hex digits.
impl fmt::Display for BlobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for BlobId {
    type Err = NoId;

    fn from_str(text: &str) -> Result<Self, NoId> {
        let mut bytes = [0; 32];
        if text.len() != 64 || !text.bytes().all(is_digit) {
            return Err(NoId);
        }
        for (byte, digits) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
            let digits = str::from_utf8(digits).map_err(|_| NoId)?;
            *byte = u8::from_str_radix(digits, 16).map_err(|_| NoId)?;
        }
        Ok(Self(bytes))
    }
}

/// Id of a row: 63 bits of the SHA-256 of what the row stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id(i64);

impl Id {
    /// The id of a row of `kind` that `parts` identify.
    pub fn of(kind: &str, parts: &[&str]) -> Self {
        let mut hash = Sha256::new();
        for part in [kind].iter().chain(parts) {
            // The length in front keeps ("a", "b") and ("ab", "") apart.
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part.as_bytes());
        }
        let digest: [u8; 32] = hash.finalize().into();
        let [first, ..] = digest.as_chunks().0 else { unreachable!("a digest has 32 bytes") };
        // Without the sign, so that databases hold it as it is.
        Self(i64::from_be_bytes(*first) & i64::MAX)
    }

    /// The id with the number `number`, as an index holds it.
    pub(crate) fn from_number(number: i64) -> Self {
        Self(number)
    }

    /// Its number.
    pub(crate) fn number(self) -> i64 {
        self.0
    }
}

/// 16 hex digits.
impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl FromStr for Id {
    type Err = NoId;

    fn from_str(text: &str) -> Result<Self, NoId> {
        if text.len() != 16 || !text.bytes().all(is_digit) {
            return Err(NoId);
        }
        i64::from_str_radix(text, 16).map(Self).map_err(|_| NoId)
    }
}

/// A text that is no id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an id has 16 lower-case hex digits, and the name of a blob 64 (see comet-run db list)")]
pub struct NoId;

fn is_digit(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'f')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back_and_other_texts_refused() {
        let blob = BlobId::of(b"");
        // printf '' | sha256sum
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(blob.to_string(), empty);
        assert_eq!(empty.parse(), Ok(blob));
        let id = Id::of("run", &["a", "b"]);
        assert_eq!(id.to_string().parse(), Ok(id));
        for text in
            ["", "../../etc/passwd", &empty.to_uppercase(), "+123456789abcdef", &empty[..63]]
        {
            assert_eq!(text.parse::<BlobId>(), Err(NoId), "{text}");
            assert_eq!(text.parse::<Id>(), Err(NoId), "{text}");
        }
        assert_eq!("ffffffffffffffff".parse::<Id>(), Err(NoId), "above 63 bits");
    }

    #[test]
    fn parts_do_not_run_into_each_other() {
        let ids =
            [Id::of("a", &["b"]), Id::of("ab", &[]), Id::of("", &["ab"]), Id::of("a", &["b", ""])];
        for (index, id) in ids.iter().enumerate() {
            assert!(!ids[..index].contains(id), "{index}");
        }
    }
}
