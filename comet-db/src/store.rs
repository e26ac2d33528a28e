//! The engine that an index is kept in.
//!
//! An engine executes statements and converts values, and nothing else: statements and rows are those of
//! [`index`](crate::index), so that an engine is one file. Statements number their values `$1`, `$2`, … in
//! the order in which these first stand there, and say where NULL stands in an order of what may be NULL.

use std::borrow::Cow;
use std::vec;

use crate::Error;
use crate::card::State;
use crate::id::{BlobId, Id};

/// A value of a row or of a statement; what is missing is [`Value::Null`].
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    /// Nothing is known.
    Null,
    /// A whole number, an id, a time in milliseconds.
    Int(i64),
    /// A number.
    Real(f64),
    /// A text.
    Text(Cow<'a, str>),
}

/// An engine: it executes statements over one connection.
pub trait Store: Send {
    /// Words of its language for definitions of tables.
    fn dialect(&self) -> Dialect;

    /// Version of the schema; 0 in an empty database.
    ///
    /// # Errors
    /// If the engine refuses.
    fn version(&mut self) -> Result<i64, Error>;

    /// Notes the version of the schema.
    ///
    /// # Errors
    /// If the engine refuses.
    fn set_version(&mut self, version: i64) -> Result<(), Error>;

    /// Begins a transaction that excludes other writers.
    ///
    /// # Errors
    /// If the engine refuses.
    fn begin(&mut self) -> Result<(), Error>;

    /// Begins a transaction that sees the database as of one moment, and changes nothing.
    ///
    /// # Errors
    /// If the engine refuses.
    fn begin_reading(&mut self) -> Result<(), Error>;

    /// Ends the transaction, and keeps its changes.
    ///
    /// # Errors
    /// If the engine refuses.
    fn commit(&mut self) -> Result<(), Error>;

    /// Ends the transaction, and drops its changes.
    fn roll_back(&mut self);

    /// Executes the statements in `sql`, separated by semicolons.
    ///
    /// # Errors
    /// If the engine refuses.
    fn batch(&mut self, sql: &str) -> Result<(), Error>;

    /// Executes one statement with `values`; the number of rows that it changed.
    ///
    /// # Errors
    /// If the engine refuses.
    fn execute(&mut self, sql: &str, values: &[Value<'_>]) -> Result<usize, Error>;

    /// The rows that one statement with `values` finds.
    ///
    /// # Errors
    /// If the engine refuses.
    fn query(&mut self, sql: &str, values: &[Value<'_>]) -> Result<Vec<Row>, Error>;
}

/// Words of the language of an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dialect {
    /// Type of whole numbers of 64 bits.
    pub int: &'static str,
    /// Type of floating-point numbers of 64 bits.
    pub real: &'static str,
    /// Type of texts, which are compared and ordered by their bytes.
    pub text: &'static str,
    /// End of the definition of a table whose rows lie in the order of its key.
    pub clustered: &'static str,
}

impl Dialect {
    /// `sql` with the words of this dialect for `{int}`, `{real}`, `{text}` and `{clustered}`.
    pub(crate) fn apply(self, sql: &str) -> String {
        let Self { int, real, text, clustered } = self;
        let words =
            [("{int}", int), ("{real}", real), ("{text}", text), ("{clustered}", clustered)];
        words.iter().fold(sql.to_owned(), |sql, (name, word)| sql.replace(name, word))
    }
}

/// The values of one row, which are taken in the order of the columns.
#[derive(Debug)]
pub struct Row(vec::IntoIter<Value<'static>>);

impl From<Vec<Value<'static>>> for Row {
    fn from(values: Vec<Value<'static>>) -> Self {
        Self(values.into_iter())
    }
}

/// A value that is no value of its column, which means that another program wrote it.
fn strange(found: &Value<'_>, expected: &str) -> Error {
    Error::Index(format!("a row holds {found:?}, expected {expected} (run comet-run db reindex)"))
}

impl Row {
    /// The values of the columns that are left.
    pub(crate) fn into_values(self) -> Vec<Value<'static>> {
        self.0.collect()
    }

    fn next(&mut self) -> Value<'static> {
        self.0.next().unwrap_or(Value::Null)
    }

    pub(crate) fn maybe_int(&mut self) -> Result<Option<i64>, Error> {
        match self.next() {
            Value::Null => Ok(None),
            Value::Int(number) => Ok(Some(number)),
            other => Err(strange(&other, "a whole number")),
        }
    }

    pub(crate) fn int(&mut self) -> Result<i64, Error> {
        self.maybe_int()?.ok_or_else(|| strange(&Value::Null, "a whole number"))
    }

    pub(crate) fn maybe_real(&mut self) -> Result<Option<f64>, Error> {
        match self.next() {
            Value::Null => Ok(None),
            Value::Real(number) => Ok(Some(number)),
            other => Err(strange(&other, "a number")),
        }
    }

    pub(crate) fn maybe_text(&mut self) -> Result<Option<String>, Error> {
        match self.next() {
            Value::Null => Ok(None),
            Value::Text(text) => Ok(Some(text.into_owned())),
            other => Err(strange(&other, "a text")),
        }
    }

    pub(crate) fn text(&mut self) -> Result<String, Error> {
        self.maybe_text()?.ok_or_else(|| strange(&Value::Null, "a text"))
    }

    pub(crate) fn id(&mut self) -> Result<Id, Error> {
        Ok(Id::from_number(self.int()?))
    }

    pub(crate) fn blob(&mut self) -> Result<BlobId, Error> {
        let text = self.text()?;
        text.parse().map_err(|_| strange(&Value::from(&text), "the name of a blob"))
    }

    pub(crate) fn state(&mut self) -> Result<State, Error> {
        let text = self.text()?;
        State::find(&text).ok_or_else(|| strange(&Value::from(&text), "a state"))
    }
}

impl From<i64> for Value<'_> {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

impl From<f64> for Value<'_> {
    fn from(number: f64) -> Self {
        Self::Real(number)
    }
}

impl From<Id> for Value<'_> {
    fn from(id: Id) -> Self {
        Self::Int(id.number())
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text.into())
    }
}

impl<'a> From<&'a String> for Value<'a> {
    fn from(text: &'a String) -> Self {
        text.as_str().into()
    }
}

impl From<String> for Value<'_> {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}

impl<'a, T: Into<Value<'a>>> From<Option<T>> for Value<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}
