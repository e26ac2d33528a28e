//! Turns the entries of a machine file into numbers, counts their sources, and words its errors.

use toml::Spanned;

use super::form::{Entry, Source};
use super::{MachineError, SourceCounts};

/// A text that is being read.
pub(super) struct Reader<'a> {
    pub(super) text: &'a str,
    pub(super) origin: &'a str,
    pub(super) sources: SourceCounts,
}

impl<'a> Reader<'a> {
    /// Reads the entries of a table; `source` stands for those that name none.
    pub(super) fn table(&mut self, source: Option<Source>) -> Table<'_, 'a> {
        Table { reader: self, source }
    }

    /// The error `message` about what stands at the byte `offset`.
    pub(super) fn error(&self, offset: usize, message: impl Into<String>) -> MachineError {
        let before = &self.text.as_bytes()[..offset.min(self.text.len())];
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        MachineError::Text { origin: self.origin.to_owned(), line, message: message.into() }
    }

    /// The error about the value of `key`, which `problem` ends.
    pub(super) fn refuse(&self, key: &str, entry: &Entry, problem: &str) -> MachineError {
        let message = format!("{key} = \"{}\" {problem}", entry.get_ref().text);
        self.error(entry.span().start, message)
    }

    /// An error of the form, of which the TOML library knows place and cause.
    pub(super) fn form_error(&self, error: &toml::de::Error) -> MachineError {
        let offset = error.span().map_or(0, |span| span.start);
        let cause = error.message().replace('\n', ", ");
        self.error(offset, format!("{cause} (comet-sim/machines/README.md explains every key)"))
    }

    /// Of `value`, what `is_valid`.
    pub(super) fn ensure<T>(
        &self,
        value: &Spanned<T>,
        is_valid: bool,
        message: impl FnOnce(&T) -> String,
    ) -> Result<(), MachineError> {
        if is_valid {
            Ok(())
        } else {
            Err(self.error(value.span().start, message(value.get_ref())))
        }
    }
}

/// Conversion of a text to a number; the error ends a sentence that begins with key and value.
pub(super) type Convert<T> = fn(&str) -> Result<T, String>;

/// A table whose entries are being read.
pub(super) struct Table<'r, 'a> {
    pub(super) reader: &'r mut Reader<'a>,
    source: Option<Source>,
}

impl Table<'_, '_> {
    /// The value of `key`.
    pub(super) fn value<T>(
        &mut self,
        key: &str,
        entry: &Entry,
        convert: Convert<T>,
    ) -> Result<T, MachineError> {
        let value = entry.get_ref();
        self.reader.sources.count(value.source.or(self.source));
        convert(&value.text).map_err(|problem| self.reader.refuse(key, entry, &problem))
    }

    /// The value of `key`, if it is there.
    pub(super) fn optional<T>(
        &mut self,
        key: &str,
        entry: Option<&Entry>,
        convert: Convert<T>,
    ) -> Result<Option<T>, MachineError> {
        entry.map(|entry| self.value(key, entry, convert)).transpose()
    }

    /// The value of `key`, or nothing at all.
    pub(super) fn or_zero<T: Default>(
        &mut self,
        key: &str,
        entry: Option<&Entry>,
        convert: Convert<T>,
    ) -> Result<T, MachineError> {
        Ok(self.optional(key, entry, convert)?.unwrap_or_default())
    }
}
