//! Small files of `/proc` and `/sys`, read below a root that tests can choose.

use std::collections::BTreeSet;
use std::path::Path;
use std::str::FromStr;

use crate::fingerprint::sha256_of_file;

/// The root of a file system; what is absent or unreadable there is `None`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Files<'a>(pub(crate) &'a Path);

impl Files<'_> {
    /// The text of `path` without blanks around it, unless it is empty.
    pub(crate) fn text(self, path: &str) -> Option<String> {
        let text = std::fs::read_to_string(self.0.join(path)).ok()?;
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    }

    /// The value in `path`.
    pub(crate) fn value<V: FromStr>(self, path: &str) -> Option<V> {
        self.text(path)?.parse().ok()
    }

    /// The value after `name` and `separator` in the first line of `path` that starts with both.
    pub(crate) fn field(self, path: &str, name: &str, separator: char) -> Option<String> {
        let text = self.text(path)?;
        let value = |line: &str| {
            let (found, value) = line.split_once(separator)?;
            (found.trim() == name).then(|| value.trim().trim_matches('"').to_owned())
        };
        text.lines().find_map(value).filter(|value| !value.is_empty())
    }

    /// Names of the entries of the folder `path`, in ascending order.
    pub(crate) fn names(self, path: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.join(path)).into_iter().flatten().flatten();
        let names: BTreeSet<String> =
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.into_iter().collect()
    }

    /// Numbers n of the entries `prefix`n of the folder `path`, in ascending order.
    pub(crate) fn numbered(self, path: &str, prefix: &str) -> Vec<usize> {
        let number = |name: String| name.strip_prefix(prefix)?.parse().ok();
        let numbers: BTreeSet<usize> = self.names(path).into_iter().filter_map(number).collect();
        numbers.into_iter().collect()
    }

    /// Target of the link `path`.
    pub(crate) fn target(self, path: &str) -> Option<String> {
        let target = std::fs::read_link(self.0.join(path)).ok()?;
        Some(target.to_str()?.to_owned())
    }

    /// True if there is anything at `path`.
    pub(crate) fn exists(self, path: &str) -> bool {
        self.0.join(path).exists()
    }

    /// SHA-256 of the file `path`.
    pub(crate) fn sha256(self, path: &str) -> Option<String> {
        sha256_of_file(std::fs::File::open(self.0.join(path)).ok()?).ok()
    }
}

/// The word in brackets of a list such as `always [madvise] never`.
pub(crate) fn chosen(text: String) -> Option<String> {
    let (_, rest) = text.split_once('[')?;
    Some(rest.split_once(']')?.0.to_owned())
}

/// The numbers of a list such as `0-3,8`, or `None` if it is no such list.
pub(crate) fn parse_list(text: &str) -> Option<BTreeSet<usize>> {
    let mut numbers = BTreeSet::new();
    for item in text.split(',') {
        let (first, last) = item.split_once('-').unwrap_or((item, item));
        let first: usize = first.trim().parse().ok()?;
        let last: usize = last.trim().parse().ok()?;
        numbers.extend(first..=last);
    }
    Some(numbers)
}

/// Bytes from a size such as `32K` or `16384 kB`, with factors of 1024.
pub(crate) fn parse_bytes(text: &str) -> Option<u64> {
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let factor = match unit.trim() {
        "" => 1,
        "K" | "kB" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_single_numbers_and_ranges() {
        let check = |text: &str, expected: Option<&[usize]>| {
            assert_eq!(parse_list(text), expected.map(|e| e.iter().copied().collect()), "{text}");
        };
        check("0", Some(&[0]));
        check("0-2,8", Some(&[0, 1, 2, 8]));
        check("", None);
        check("a-b", None);
    }

    #[test]
    fn sizes_have_binary_units() {
        let check = |text: &str, expected: Option<u64>| assert_eq!(parse_bytes(text), expected);
        check("32K", Some(32_768));
        check("16 kB", Some(16_384));
        check("2M", Some(2_097_152));
        check("7", Some(7));
        check("7 apples", None);
    }
}
