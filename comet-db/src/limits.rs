//! Limits on files that come from anywhere, the unpacking that keeps to them, and the packing.

use std::borrow::Cow;
use std::io::{Read as _, Write as _};

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;

use crate::Error;
use crate::examine::is_point;

/// Start of a gzip file.
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// Bytes up to which a file may be packed at any ratio.
const SMALL: usize = 1 << 20;

/// The most that a file may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a file, unpacked.
    pub bytes: usize,
    /// Bytes unpacked for each packed byte, of a file above 1 MiB.
    pub ratio: usize,
    /// Bytes of a line.
    pub line_bytes: usize,
    /// Values in all lines but those of points: a value of a record takes many times the bytes of its text.
    pub values: usize,
}

impl Limits {
    /// Those for files of the operator.
    pub const OWN: Self =
        Self { bytes: 1 << 30, ratio: 1000, line_bytes: 256 << 20, values: 50_000_000 };
    /// Those for files that others submit.
    pub const FOREIGN: Self =
        Self { bytes: 64 << 20, ratio: 100, line_bytes: 16 << 20, values: 1_000_000 };

    /// The text in `bytes`, unpacked if it is packed by gzip. No more memory is taken than the limits
    /// admit, whatever the bytes hold.
    ///
    /// # Errors
    /// If the text is larger than a limit, or the packed form is not whole.
    pub fn unpack<'a>(&self, bytes: &'a [u8]) -> Result<Cow<'a, [u8]>, Error> {
        let text = if bytes.starts_with(&GZIP) {
            Cow::Owned(self.unpack_gzip(bytes)?)
        } else {
            Cow::Borrowed(bytes)
        };
        if text.len() > self.bytes {
            return Err(too_large("file", text.len(), self.bytes));
        }
        let longest = text.split(|byte| *byte == b'\n').map(<[u8]>::len).max().unwrap_or(0);
        if longest > self.line_bytes {
            return Err(too_large("line", longest, self.line_bytes));
        }
        // A comma lies between two values, and the first one of a list or an object has its bracket alone.
        let values = |line: &[u8]| line.iter().filter(|byte| b",[{".contains(byte)).count();
        let others = text.split(|byte| *byte == b'\n').filter(|line| !is_point(line));
        let n_values: usize = others.map(values).sum();
        if n_values > self.values {
            return Err(Error::TooLarge(format!(
                "the records of runs have {n_values} values or more, expected at most {} (split the file by runs)",
                self.values
            )));
        }
        Ok(text)
    }

    fn unpack_gzip(&self, packed: &[u8]) -> Result<Vec<u8>, Error> {
        let of_ratio = packed.len().saturating_mul(self.ratio).max(SMALL);
        let most = self.bytes.min(of_ratio);
        let mut text = Vec::new();
        let mut unpacked = MultiGzDecoder::new(packed).take(most as u64 + 1);
        unpacked.read_to_end(&mut text).map_err(|error| {
            Error::invalid(0, format!("the gzip file is not whole: {error} (send it again)"))
        })?;
        if text.len() <= most {
            return Ok(text);
        }
        Err(if most < self.bytes {
            Error::TooLarge(format!(
                "the file unpacks to more than {} times its packed size (send it as it is)",
                self.ratio
            ))
        } else {
            too_large("file", text.len(), self.bytes)
        })
    }
}

/// `text` packed by gzip at this `level`.
///
/// # Errors
/// None that memory could give.
pub(crate) fn pack(text: &[u8], level: Compression) -> Result<Vec<u8>, Error> {
    let mut packed = GzEncoder::new(Vec::new(), level);
    let packed = packed.write_all(text).and_then(|()| packed.finish());
    packed.map_err(Error::io("pack", "the file", "split it by runs"))
}

/// The refusal of a `part` of `found` bytes or more.
fn too_large(part: &str, found: usize, most: usize) -> Error {
    Error::TooLarge(format!(
        "a {part} has {found} bytes or more, expected at most {most} (measure fewer samples, or split the file by runs)"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { bytes: 4 << 20, ratio: 10, line_bytes: 2 << 20, values: 1000 };

    fn packed(text: &[u8]) -> Vec<u8> {
        pack(text, Compression::best()).unwrap()
    }

    fn refusal(bytes: &[u8]) -> String {
        LIMITS.unpack(bytes).unwrap_err().to_string()
    }

    #[test]
    fn files_are_unpacked_where_they_are_packed() {
        assert_eq!(LIMITS.unpack(b"a\nb").unwrap(), &b"a\nb"[..]);
        assert_eq!(LIMITS.unpack(&packed(b"a\nb")).unwrap(), &b"a\nb"[..]);
        let two = [packed(b"a\n"), packed(b"b\n")].concat();
        assert_eq!(LIMITS.unpack(&two).unwrap(), &b"a\nb\n"[..], "members follow each other");
        assert_eq!(LIMITS.unpack(b"").unwrap(), &b""[..]);
    }

    #[test]
    fn bombs_and_what_is_too_large_are_refused() {
        let zeros = vec![b'\n'; 3 << 20];
        let expected = "the file unpacks to more than 10 times its packed size (send it as it is)";
        assert_eq!(refusal(&packed(&zeros)), expected);
        assert!(LIMITS.unpack(&packed(&zeros[..1 << 20])).is_ok(), "a small one");
        let expected = "a file has 4194305 bytes or more, expected at most 4194304";
        assert!(refusal(&vec![b'\n'; (4 << 20) + 1]).starts_with(expected));
        let expected = "a line has 2097153 bytes or more, expected at most 2097152";
        assert!(refusal(&vec![b' '; (2 << 20) + 1]).starts_with(expected));
    }

    #[test]
    fn values_that_take_many_times_their_text_are_counted() {
        let line = |start: &str| format!("{start}\"x\":[{}0]}}\n", "0,".repeat(600)).into_bytes();
        let run = line("{\"type\":\"run\",");
        assert!(LIMITS.unpack(&run).is_ok());
        let expected = "the records of runs have 1206 values or more, expected at most 1000";
        assert!(refusal(&[run.clone(), run].concat()).starts_with(expected));
        for nested in ["[".repeat(999) + &"]".repeat(999), "[{}]".repeat(500), "{\"\":".repeat(999)]
        {
            let run = format!("{{\"type\":\"run\",\"x\":{nested}}}\n");
            let expected = "the records of runs have 100";
            assert!(refusal(run.as_bytes()).starts_with(expected), "{run}");
        }
        assert!(LIMITS.unpack(&line("{\"type\":\"point\",").repeat(9)).is_ok());
    }

    #[test]
    fn a_packed_file_that_was_cut_or_changed_is_refused() {
        let whole = packed(b"some text\n");
        for n_bytes in 2..whole.len() {
            let error = refusal(&whole[..n_bytes]);
            assert!(error.starts_with("the gzip file is not whole: "), "{n_bytes}: {error}");
        }
        let mut changed = whole.clone();
        let check = whole.len() - 8;
        changed[check] ^= 1;
        assert!(refusal(&changed).starts_with("the gzip file is not whole: "));
        assert!(LIMITS.unpack(&[&whole[..], b"x"].concat()).is_err(), "text behind the end");
    }
}
