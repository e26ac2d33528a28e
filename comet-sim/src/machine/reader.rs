//! Tables of a machine file: values by key, each with its source, and errors that name a line.

use std::cell::{Cell, RefCell};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeTable, DeValue, ValueDeserializer};

use super::MachineError;

/// Source of a value, in the order of [`SOURCES`](super::SOURCES).
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Source {
    Published,
    Measured,
    Derived,
    Assumed,
}

/// Conversion of a text to a number; the error ends a sentence that begins with key and value.
pub(super) type Convert<T> = fn(&str) -> Result<T, String>;

/// Result of reading a machine file.
pub(super) type Result<T, E = MachineError> = std::result::Result<T, E>;

/// A value and its place in the text.
type Entry<'a> = &'a Spanned<DeValue<'a>>;

/// The text of a file, its name in errors, and the sources of the values read so far.
pub(super) struct Reader<'a> {
    pub(super) text: &'a str,
    pub(super) origin: &'a str,
    pub(super) sources: Cell<[usize; 5]>,
}

impl Reader<'_> {
    /// The error `message` at the byte `offset` of the text.
    fn error(&self, offset: usize, message: String) -> MachineError {
        let before = &self.text.as_bytes()[..offset.min(self.text.len())];
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        MachineError::Text(self.origin.to_owned(), line, message)
    }

    /// An error of the form: an unknown key, or a value of the wrong type.
    fn form_error(&self, offset: usize, cause: &str) -> MachineError {
        let cause = cause.replace('\n', ", ");
        self.error(offset, format!("{cause} (comet-sim/machines/README.md explains every key)"))
    }

    pub(super) fn toml_error(&self, error: &toml::de::Error) -> MachineError {
        self.form_error(error.span().map_or(0, |span| span.start), error.message())
    }
}

/// A table of the file; an absent one has no entries.
pub(super) struct Table<'a> {
    reader: &'a Reader<'a>,
    entries: Option<&'a DeTable<'a>>,
    offset: usize,
    /// Source of the values that name none.
    source: Cell<Option<Source>>,
    /// The keys of the table, as far as they have been asked for.
    keys: RefCell<Vec<&'static str>>,
}

impl<'a> Table<'a> {
    pub(super) fn root(reader: &'a Reader<'a>, root: &'a Spanned<DeTable<'a>>) -> Self {
        Self::new(reader, Some(root.get_ref()), root.span().start, None)
    }

    fn new(
        reader: &'a Reader<'a>,
        entries: Option<&'a DeTable<'a>>,
        offset: usize,
        source: Option<Source>,
    ) -> Self {
        Self { reader, entries, offset, source: Cell::new(source), keys: RefCell::default() }
    }

    /// The result of `read`, which asks for every key that the table may have.
    ///
    /// # Errors
    /// The error of `read`, and an entry whose key it did not ask for.
    pub(super) fn read<T>(self, read: impl FnOnce(&Self) -> Result<T>) -> Result<T> {
        let found = read(&self)?;
        let keys = self.keys.take();
        let unknown = |key: &&Spanned<_>| !keys.contains(&AsRef::<str>::as_ref(key.get_ref()));
        let Some(key) = self.entries.into_iter().flat_map(DeTable::keys).find(unknown) else {
            return Ok(found);
        };
        let cause =
            format!("unknown field `{}`, expected one of `{}`", key.get_ref(), keys.join("`, `"));
        Err(self.reader.form_error(key.span().start, &cause))
    }

    fn get(&self, key: &'static str) -> Option<Entry<'a>> {
        let mut keys = self.keys.borrow_mut();
        if !keys.contains(&key) {
            keys.push(key);
        }
        self.entries?.get(key)
    }

    /// Reads `source`, the source of all values that name none, and `note`.
    pub(super) fn read_source(&self) -> Result<()> {
        self.plain::<String>("note")?;
        self.source.set(self.plain("source")?.or(self.source.get()));
        Ok(())
    }

    /// The table `key`, which must be there.
    pub(super) fn needed_table(&self, key: &'static str) -> Result<Self> {
        self.get(key).map_or_else(|| Err(self.missing(key)), |entry| self.inner(key, entry))
    }

    pub(super) fn table(&self, key: &'static str) -> Result<Self> {
        match self.get(key) {
            Some(entry) => self.inner(key, entry),
            None => Ok(Self::new(self.reader, None, self.offset, self.source.get())),
        }
    }

    /// The tables of the list `key`.
    pub(super) fn tables(&self, key: &'static str) -> Result<Vec<Self>> {
        match self.get(key).map(|entry| (entry, entry.get_ref())) {
            None => Ok(Vec::new()),
            Some((_, DeValue::Array(list))) => {
                list.iter().map(|entry| self.inner(key, entry)).collect()
            }
            Some((entry, _)) => Err(self.form_error(entry, &format!("{key} is no list"))),
        }
    }

    fn inner(&self, key: &str, entry: Entry<'a>) -> Result<Self> {
        let DeValue::Table(table) = entry.get_ref() else {
            return Err(self.form_error(entry, &format!("{key} is no table")));
        };
        Ok(Self::new(self.reader, Some(table), entry.span().start, self.source.get()))
    }

    /// The value of `key` that has no unit, if it is there.
    pub(super) fn plain<T: DeserializeOwned>(&self, key: &'static str) -> Result<Option<T>> {
        let Some(entry) = self.get(key) else { return Ok(None) };
        let value = T::deserialize(ValueDeserializer::from(entry.clone()));
        let refuse = |error: toml::de::Error| self.form_error(entry, error.message());
        value.map(Some).map_err(refuse)
    }

    pub(super) fn needed<T: DeserializeOwned>(&self, key: &'static str) -> Result<T> {
        self.plain(key)?.ok_or_else(|| self.missing(key))
    }

    /// The value of `key` that has a unit, if it is there.
    pub(super) fn optional<T>(&self, key: &'static str, convert: Convert<T>) -> Result<Option<T>> {
        let Some(entry) = self.get(key) else { return Ok(None) };
        let (text, source) = self.text(key, entry)?;
        let mut sources = self.reader.sources.get();
        sources[source.map_or(4, |source| source as usize)] += 1;
        self.reader.sources.set(sources);
        convert(&text).map(Some).map_err(|problem| self.refuse(key, &problem))
    }

    pub(super) fn value<T>(&self, key: &'static str, convert: Convert<T>) -> Result<T> {
        self.optional(key, convert)?.ok_or_else(|| self.missing(key))
    }

    /// The value of `key` that has a unit, or nothing at all.
    pub(super) fn or_zero<T: Default>(&self, key: &'static str, convert: Convert<T>) -> Result<T> {
        Ok(self.optional(key, convert)?.unwrap_or_default())
    }

    /// Text and source of `"79 us"` or `{ value = "79 us", source = "published" }`.
    fn text(&self, key: &str, entry: Entry<'a>) -> Result<(String, Option<Source>)> {
        let text = match entry.get_ref() {
            DeValue::String(text) => text.to_string(),
            DeValue::Integer(number) => number.to_string(),
            DeValue::Float(number) => number.to_string(),
            DeValue::Table(_) => {
                return self.inner(key, entry)?.read(|table| {
                    table.read_source()?;
                    let value = table.get("value").ok_or_else(|| table.missing("value"))?;
                    table.text(key, value)
                });
            }
            _ => {
                let cause = format!("{key} is no number with a unit such as \"79 us\"");
                return Err(self.form_error(entry, &cause));
            }
        };
        Ok((text, self.source.get()))
    }

    fn form_error(&self, entry: Entry<'_>, cause: &str) -> MachineError {
        self.reader.form_error(entry.span().start, cause)
    }

    fn missing(&self, key: &str) -> MachineError {
        self.reader.form_error(self.offset, &format!("missing field `{key}`"))
    }

    /// An error of the table as a whole.
    pub(super) fn error(&self, message: impl Into<String>) -> MachineError {
        self.reader.error(self.offset, message.into())
    }

    pub(super) fn error_at(&self, key: &'static str, message: impl Into<String>) -> MachineError {
        let offset = self.get(key).map_or(self.offset, |entry| entry.span().start);
        self.reader.error(offset, message.into())
    }

    /// An error of the entry `key`: its key and value, and the `problem` that ends the sentence.
    pub(super) fn refuse(&self, key: &'static str, problem: &str) -> MachineError {
        let text = self.get(key).and_then(|entry| self.text(key, entry).ok());
        let (text, _) = text.unwrap_or_default();
        self.error_at(key, format!("{key} = \"{text}\" {problem}"))
    }
}
