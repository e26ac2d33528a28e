//! The text of a suite file as tables, each key and value with its line.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::rc::Rc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::layouts;
use crate::exit;
use crate::selection;

/// A line of a suite file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The file, as its user calls it.
    pub(super) file: Rc<str>,
    /// The line, from 1.
    pub(super) line: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

impl Place {
    /// Refuses what stands here.
    pub(super) fn refuse(&self, reason: impl fmt::Display) -> anyhow::Error {
        exit::usage(format!("{self}: {reason}"))
    }
}

/// The value of a key: texts, as they would stand on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Item {
    pub(super) place: Place,
    /// The key, as it is written.
    pub(super) key: String,
    /// The members of a list, or the one value.
    pub(super) values: Vec<String>,
}

impl Item {
    /// The value as one word of the command line.
    pub(super) fn word(&self) -> String {
        self.values.join(",")
    }

    /// True if it has, or may have, more values than one, as the key `key`.
    pub(super) fn is_several(&self, key: &str) -> bool {
        if key == layouts::KEY {
            return self.values.len() > 1;
        }
        let word = self.word();
        word.contains(',') || word.contains("..")
    }

    /// Its first value as the key `key`, as it is written.
    pub(super) fn first(&self, key: &str) -> Self {
        if key == layouts::KEY {
            let values = self.values.first().cloned().into_iter().collect();
            return Self { values, ..self.clone() };
        }
        let word = self.word();
        let item = word.split(',').next().unwrap_or_default();
        let first = item.split("..").next().unwrap_or_default().trim();
        Self { values: vec![first.to_owned()], ..self.clone() }
    }
}

/// Keys of a table with their values.
pub(super) type Table = BTreeMap<String, Item>;

/// Tables of one suite file, as they are written.
#[derive(Debug, Default)]
pub(super) struct Tables {
    /// Keys that stand above all tables.
    pub(super) head: Table,
    pub(super) machine: Table,
    pub(super) defaults: Table,
    pub(super) stop: Table,
    /// Datatypes of the user's, by their names.
    pub(super) layout: Table,
    /// The entries, each with its first line.
    pub(super) measure: Vec<(Place, Table)>,
}

/// Separator of the two layouts of a pair.
pub(super) const TO: &str = ":to:";
/// Keys of the head of a file.
const HEAD: [&str; 4] = ["format", "name", "about", "include"];
/// Tables of a file.
const TABLES: [&str; 5] = ["machine", "defaults", "stop", "layout", "measure"];

/// A text that is taken apart.
struct Reader<'a> {
    file: Rc<str>,
    text: &'a str,
}

/// The tables in `text` of the file that its user calls `file`.
pub(super) fn read(file: &str, text: &str) -> anyhow::Result<Tables> {
    let reader = Reader { file: file.into(), text };
    let document = DeTable::parse(text).map_err(|error| {
        let place = reader.place(&error.span().unwrap_or_default());
        place.refuse(format_args!("no TOML: {}", error.message().replace('\n', ", ")))
    })?;
    let mut tables = Tables::default();
    for (key, value) in document.get_ref() {
        let name = &**key.get_ref();
        match name {
            "machine" => tables.machine = reader.table(value)?,
            "defaults" => tables.defaults = reader.table(value)?,
            "stop" => tables.stop = reader.table(value)?,
            "layout" => tables.layout = reader.table(value)?,
            "measure" => tables.measure = reader.entries(value)?,
            _ if HEAD.contains(&name) => {
                tables.head.insert(name.to_owned(), reader.item(name, value)?);
            }
            _ => {
                let known = HEAD.into_iter().chain(TABLES);
                let guess = selection::guess(name, known.clone());
                let known = Vec::from_iter(known).join(", ");
                return Err(reader.place(&key.span()).refuse(format_args!(
                    "'{name}' is no key of a suite file{guess} (it has {known})"
                )));
            }
        }
    }
    Ok(tables)
}

impl Reader<'_> {
    fn place(&self, span: &Range<usize>) -> Place {
        let before = self.text.get(..span.start).unwrap_or_default();
        Place { file: Rc::clone(&self.file), line: before.matches('\n').count() + 1 }
    }

    fn table(&self, value: &Spanned<DeValue<'_>>) -> anyhow::Result<Table> {
        let DeValue::Table(table) = value.get_ref() else {
            return Err(self
                .place(&value.span())
                .refuse("not a table (write [NAME] above its keys)"));
        };
        let item = |(key, value): (&Spanned<_>, &Spanned<DeValue<'_>>)| {
            let key: &Spanned<toml::de::DeString<'_>> = key;
            Ok((key.get_ref().to_string(), self.item(key.get_ref(), value)?))
        };
        table.iter().map(item).collect()
    }

    fn entries(&self, value: &Spanned<DeValue<'_>>) -> anyhow::Result<Vec<(Place, Table)>> {
        let DeValue::Array(entries) = value.get_ref() else {
            let place = self.place(&value.span());
            return Err(place.refuse("one table (write [[measure]] above each entry)"));
        };
        let entry = |value| Ok((self.place(&Spanned::span(value)), self.table(value)?));
        entries.iter().map(entry).collect()
    }

    fn item(&self, key: &str, value: &Spanned<DeValue<'_>>) -> anyhow::Result<Item> {
        let place = self.place(&value.span());
        let values = match value.get_ref() {
            DeValue::Array(members) => {
                let text = |member: &Spanned<DeValue<'_>>| match key {
                    layouts::KEY => self.layout(member),
                    _ => self.text(member),
                };
                members.iter().map(text).collect::<anyhow::Result<_>>()?
            }
            _ => vec![self.text(value)?],
        };
        Ok(Item { place, key: key.to_owned(), values })
    }

    /// A member of a list of layouts: a text, or a pair of them, `[SENT, RECEIVED]`.
    fn layout(&self, value: &Spanned<DeValue<'_>>) -> anyhow::Result<String> {
        match value.get_ref() {
            DeValue::Array(pair) if pair.len() == 2 => {
                let texts = pair.iter().map(|layout| self.text(layout));
                Ok(texts.collect::<anyhow::Result<Vec<_>>>()?.join(TO))
            }
            _ => self.text(value),
        }
    }

    fn text(&self, value: &Spanned<DeValue<'_>>) -> anyhow::Result<String> {
        Ok(match value.get_ref() {
            DeValue::String(text) => text.to_string(),
            DeValue::Integer(number) => number.to_string(),
            DeValue::Float(number) => number.to_string(),
            DeValue::Boolean(is_true) => is_true.to_string(),
            other => {
                let found = other.type_str();
                return Err(self.place(&value.span()).refuse(format_args!(
                    "a value is a text, a number or a list of them, not a {found} (write \"1..8\" or [1, 8])"
                )));
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_values_have_their_lines() {
        let text = "name = 'a'\n[defaults]\n\nwarm_up = 5\n[[measure]]\nkernel = ['x', 'y']\n[[measure]]\n";
        let tables = read("a.toml", text).unwrap();
        assert_eq!(tables.head["name"].word(), "a");
        let warm_up = &tables.defaults["warm_up"];
        assert_eq!((warm_up.word(), warm_up.place.to_string()), ("5".into(), "a.toml:4".into()));
        let [(first, entry), (second, _)] = &tables.measure[..] else { panic!("two entries") };
        assert_eq!((first.line, second.line), (5, 7));
        assert_eq!(entry["kernel"].values, ["x", "y"]);
    }

    #[test]
    fn what_is_no_suite_file_is_refused_with_its_line() {
        for (text, expected) in [
            ("a = \n", "a.toml:1: no TOML: "),
            (
                "\nmashine = 1",
                "a.toml:2: 'mashine' is no key of a suite file; did you mean machine? (it has ",
            ),
            ("[measure]\nid = 1", "a.toml:1: one table (write [[measure]] above each entry)"),
            ("stop = 1", "a.toml:1: not a table (write [NAME] above its keys)"),
            (
                "[stop]\ncase = { s = 1 }",
                "a.toml:2: a value is a text, a number or a list of them, not a table",
            ),
        ] {
            let error = read("a.toml", text).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn the_first_value_is_the_first_that_is_written() {
        let item = |text: &str| Item {
            place: Place { file: "a".into(), line: 1 },
            key: "length_bytes".into(),
            values: text.split('|').map(str::to_owned).collect(),
        };
        for (text, first, is_several) in [
            ("256,0..64Ki*2", "256", true),
            ("1..max", "1", true),
            ("b|a", "b", true),
            ("8", "8", false),
        ] {
            let key = "length_bytes";
            let found = (item(text).first(key).word(), item(text).is_several(key));
            assert_eq!(found, (first.to_owned(), is_several));
        }
    }
}
