//! Tokens: secrets by which others submit, and the rights that they give.

use std::fmt;
use std::fs::File;
use std::io::Read as _;

use sha2::{Digest, Sha256};

use crate::Error;

/// Start of every token.
const START: &str = "comet_";
/// Random bytes of a token.
const BYTES: usize = 32;
/// Letters that stand for these bytes.
const LETTERS: usize = (BYTES * 8).div_ceil(5);
/// Letters of the checksum, which finds a token that was not copied as a whole.
const CHECK: usize = 6;
/// Base 32 of RFC 4648 in lower case.
const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// A token as its owner has it. The database holds its SHA-256 alone: 256 random bits cannot be guessed
/// from it, nor found by the time that a look-up of the hash takes.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// A new token.
    ///
    /// # Errors
    /// If the system gives no random bytes.
    pub fn new() -> Result<Self, Error> {
        Ok(Self::of(&random_bytes()?))
    }

    fn of(bytes: &[u8; BYTES]) -> Self {
        let letters = base32(bytes);
        let check = checksum(&letters);
        Self(format!("{START}{letters}{check}"))
    }

    /// The token in `text`, with blanks around it.
    ///
    /// # Errors
    /// If it is none, or a part of it is missing.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let text = text.trim();
        let is_whole = text.strip_prefix(START).is_some_and(|rest| {
            let letters =
                rest.len() == LETTERS + CHECK && rest.bytes().all(|b| ALPHABET.contains(&b));
            letters && checksum(&rest[..LETTERS]) == rest[LETTERS..]
        });
        if is_whole {
            return Ok(Self(text.into()));
        }
        Err(Error::Unknown(format!(
            "this is no token, or a part of it is missing (a token is {START} and {} letters and digits; \
             comet-run db token add makes one)",
            LETTERS + CHECK
        )))
    }

    /// The token as text, which only its owner should see.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Its SHA-256 in hex digits.
    pub fn sha256(&self) -> String {
        let digest: [u8; 32] = Sha256::digest(&self.0).into();
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// The start alone.
impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{START}…")
    }
}

/// Bytes that nobody can guess.
///
/// # Errors
/// If the system gives none.
pub fn random_bytes<const N: usize>() -> Result<[u8; N], Error> {
    const SOURCE: &str = "/dev/urandom";
    let mut bytes = [0; N];
    let read = File::open(SOURCE).and_then(|mut source| source.read_exact(&mut bytes));
    read.map_err(Error::io("read", SOURCE, "is there a /dev?"))?;
    Ok(bytes)
}

/// A right that a token gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// To submit runs, which then wait for the operator.
    Submit,
    /// To publish runs: its own are published at once.
    Publish,
    /// All of it, for any machine.
    Admin,
}

impl Scope {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Submit, Self::Publish, Self::Admin];

    /// Name on the command line and in the index.
    pub fn name(self) -> &'static str {
        match self {
            Self::Submit => "submit",
            Self::Publish => "publish",
            Self::Admin => "admin",
        }
    }

    /// The scope called `name`.
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.name() == name)
    }
}

/// True if `name` has the form of `pattern`, in which `*` stands for any letters and `?` for one.
pub fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n) = (0, 0);
    // The last star, and the part of the name that it has taken so far.
    let mut star = None;
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(c) if *c == '?' || *c == name[n] => {
                p += 1;
                n += 1;
            }
            _ => {
                let Some((at, taken)) = star else { return false };
                star = Some((at, taken + 1));
                (p, n) = (at + 1, taken + 1);
            }
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

fn checksum(letters: &str) -> String {
    base32(&Sha256::digest(letters))[..CHECK].to_owned()
}

/// `bytes` in base 32, without padding.
fn base32(bytes: &[u8]) -> String {
    let mut text = String::new();
    let (mut bits, mut n_bits) = (0_u32, 0);
    for byte in bytes {
        bits = bits << 8 | u32::from(*byte);
        n_bits += 8;
        while n_bits >= 5 {
            n_bits -= 5;
            text.push(char::from(ALPHABET[(bits >> n_bits & 31) as usize]));
        }
        bits &= (1 << n_bits) - 1;
    }
    if n_bits > 0 {
        text.push(char::from(ALPHABET[(bits << (5 - n_bits) & 31) as usize]));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_32_is_that_of_the_standard() {
        let check = |bytes: &str, expected| assert_eq!(base32(bytes.as_bytes()), expected);
        check("", "");
        check("f", "my");
        check("fo", "mzxq");
        check("foo", "mzxw6");
        check("fooba", "mzxw6ytb");
        check("foobar", "mzxw6ytboi");
    }

    #[test]
    fn a_token_is_read_back_and_a_changed_one_refused() {
        let (secret, other) = (Secret::new().unwrap(), Secret::new().unwrap());
        assert_ne!(secret, other);
        let text = secret.reveal();
        assert_eq!(text.len(), START.len() + LETTERS + CHECK);
        assert_eq!(Secret::parse(&format!(" {text}\n")).unwrap(), secret);
        for end in 0..text.len() {
            assert!(Secret::parse(&text[..end]).is_err(), "{end}");
        }
        let fixed = Secret::of(&[0; BYTES]);
        assert!(Secret::parse(&fixed.reveal().replacen("_a", "_b", 1)).is_err(), "a wrong letter");
        assert!(Secret::parse("comet_é").is_err());
        assert_eq!(format!("{secret:?}"), "comet_…", "it is in no log");
        assert_eq!(secret.sha256().len(), 64);
    }

    #[test]
    fn patterns_match_names() {
        let check = |pattern: &str, name: &str, expected| {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        };
        check("*", "", true);
        check("hawk-*", "hawk-gpu", true);
        check("hawk-*", "hawk", false);
        check("*-*-b", "a-b-c-b", true);
        check("a?c", "abc", true);
        check("a?c", "ac", false);
        check("", "a", false);
        // Any other algorithm takes a second for this one.
        let (pattern, name) = ("*a".repeat(20), "a".repeat(1000));
        assert!(matches(&pattern, &name));
        assert!(!matches(&(pattern + "b"), &name));
    }
}
