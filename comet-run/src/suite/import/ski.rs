//! Scripts of `SKaMPI` 5: assignments, loops and measurements, without branches and functions of their
//! own.

use std::path::{Path, PathBuf};

use super::expression::{Counts, Cursor, Names, Range, Step, Token, Value};
use super::functions::{self, Function, OPERATORS, PAIR};
use super::{Bounds, Imported, Translated};
use crate::paths::text_of;
use crate::prepare;

/// Size of the buffer where a script sets none, in bytes.
const BUFFER_BYTES: f64 = 4.0 * 1024.0 * 1024.0;
/// The largest one, which is an `int`.
const MAX_BUFFER_BYTES: f64 = i32::MAX as f64;
/// Start of the names of assertions.
const ASSERTION: &str = "MPI_MODE_";
/// No hints for a window.
const NO_INFO: &str = "MPI_INFO_NULL";
/// The most files that include each other.
const MAX_DEPTH: usize = 10;

/// A script that is being read.
struct Reader {
    imported: Imported,
    names: Names,
    /// Name of the measurement that is being read.
    measurement: Option<String>,
    buffer_bytes: f64,
    /// True if each repetition takes the next part of the buffer, as it does by default: first what is sent, then
    /// what is received, and again from the start where two such parts no longer fit.
    is_cycling: bool,
    /// The bounds that the script has set, and those where it first measured.
    bounds: Bounds,
    first_bounds: Option<Bounds>,
    /// The file, as notes call it, and its folder.
    file: String,
    folder: PathBuf,
    depth: usize,
}

/// The entries of the script `path`.
pub(super) fn import(path: &Path) -> anyhow::Result<Imported> {
    let mut reader = Reader {
        imported: Imported::default(),
        names: Names::new(),
        measurement: None,
        buffer_bytes: BUFFER_BYTES,
        is_cycling: true,
        bounds: Bounds::default(),
        first_bounds: None,
        file: String::new(),
        folder: PathBuf::new(),
        depth: 0,
    };
    reader.read(path)?;
    reader.imported.stop = reader.first_bounds.unwrap_or_default().keys("error");
    Ok(reader.imported)
}

impl Reader {
    fn read(&mut self, path: &Path) -> anyhow::Result<()> {
        let text = text_of(path)?;
        let outer = (std::mem::take(&mut self.file), std::mem::take(&mut self.folder));
        self.file = path.display().to_string();
        self.folder = path.parent().unwrap_or(Path::new("")).to_owned();
        let mut cursor = Cursor::new(&text);
        while cursor.peek().is_some() {
            self.statements(&mut cursor)?;
            // A word that ends what has not begun.
            cursor.next();
            cursor.takes_word("measurement");
        }
        (self.file, self.folder) = outer;
        Ok(())
    }

    fn note(&mut self, line: usize, what: impl std::fmt::Display) {
        self.imported.note(&self.file, line, what);
    }

    /// Statements up to a word that ends them.
    fn statements(&mut self, cursor: &mut Cursor) -> anyhow::Result<()> {
        if !cursor.enter() {
            self.note(cursor.line(), "too many loops within each other");
        }
        let read = self.each_statement(cursor);
        cursor.leave();
        read
    }

    fn each_statement(&mut self, cursor: &mut Cursor) -> anyhow::Result<()> {
        while let Some(token) = cursor.peek().cloned() {
            let line = cursor.line();
            match token {
                Token::Word(word) if ["end", "od", "fi", "else"].contains(&&*word) => return Ok(()),
                Token::Word(word) => {
                    cursor.next();
                    self.statement(&word, line, cursor)?;
                }
                Token::Sign('@') => {
                    cursor.next();
                    cursor.takes_word("include");
                    match cursor.next() {
                        Some(Token::Text(name)) if self.depth < MAX_DEPTH => {
                            self.depth += 1;
                            self.read(&self.folder.join(name))?;
                            self.depth -= 1;
                        }
                        _ => self.note(line, "an include of no file, or of itself"),
                    }
                }
                _ => {
                    self.note(line, "no statement");
                    cursor.skip_line();
                }
            }
        }
        Ok(())
    }

    /// The statement that begins with `word`, which is behind.
    fn statement(&mut self, word: &str, line: usize, cursor: &mut Cursor) -> anyhow::Result<()> {
        match word {
            "begin" => {
                cursor.takes_word("measurement");
                if let Some(Token::Text(name)) = cursor.next() {
                    self.measurement = Some(name);
                }
                self.statements(cursor)?;
                cursor.takes_word("end");
                cursor.takes_word("measurement");
                self.measurement = None;
            }
            "for" | "autorefine" => self.repeated(word == "autorefine", line, cursor)?,
            "measure" => self.measured(line, cursor),
            "if" => {
                self.note(line, "a branch (if), which a suite file does not have");
                pass_branch(cursor);
            }
            _ if cursor.takes('=') => {
                let value = cursor.sum(&self.names);
                self.names.insert(word.to_owned(), value);
                // What an expression does not have.
                while cursor.line() == line && cursor.peek().is_some() {
                    cursor.next();
                }
            }
            _ if cursor.takes('(') => {
                let arguments = cursor.list(&self.names, ')');
                let number = match arguments.first() {
                    Some(Ok(Value::Counts(Counts::One(number)))) => Some(*number),
                    _ => None,
                };
                if !self.set(word, number, line) {
                    self.note(line, format_args!("{word}, which the rules decide or nothing does"));
                }
            }
            _ => {
                self.note(line, format_args!("'{word}', which begins no statement that is known"));
                cursor.skip_line();
            }
        }
        Ok(())
    }

    /// Takes in what the function `word` in `line` sets, to the first of its arguments; `false` for another
    /// function.
    fn set(&mut self, word: &str, number: Option<f64>, line: usize) -> bool {
        let (key, bound) = match (word, number) {
            ("switch_buffer_cycling_on" | "switch_buffer_cycling_off", _) => {
                self.is_cycling = word.ends_with("on");
                return true;
            }
            (_, Some(bytes)) if word.starts_with("set_skampi_buffer") => {
                let is_size = (1.0..=MAX_BUFFER_BYTES).contains(&bytes);
                if is_size {
                    self.buffer_bytes = bytes;
                }
                return is_size;
            }
            ("set_min_repetitions", Some(_)) => ("samples", &mut self.bounds.samples[0]),
            ("set_max_repetitions", Some(_)) => ("samples", &mut self.bounds.samples[1]),
            ("set_max_relative_standard_error", Some(_)) => ("error", &mut self.bounds.error),
            _ => return false,
        };
        *bound = number;
        if self.first_bounds.is_none() {
            self.imported.places.insert(key, format!("{}:{line}", self.file));
        }
        true
    }

    /// A loop, whose variable is a list of values within it.
    fn repeated(&mut self, refines: bool, line: usize, cursor: &mut Cursor) -> anyhow::Result<()> {
        let Some(Token::Word(name)) = cursor.next() else {
            self.note(line, "a loop without a variable");
            return Ok(());
        };
        let values = if !cursor.takes_word("in") {
            cursor.takes('=');
            self.range(cursor)
        } else if cursor.takes('[') {
            let members = cursor.list(&self.names, ']').into_iter().map(|value| match value? {
                Value::Counts(Counts::One(number)) => Ok(number),
                _ => Err("a list of other values than numbers".to_owned()),
            });
            members.collect::<Result<_, _>>().map(Counts::List)
        } else {
            // What a function yields, which may be anything.
            let _ = cursor.sum(&self.names);
            Err(format!("'{name}' of a loop over no list"))
        };
        while cursor.peek().is_some() && !cursor.takes_word("do") {
            cursor.next();
        }
        if refines {
            self.note(line, "autorefine, as of which refine = \"skampi\" is the whole suite's");
        }
        let before = self.names.insert(name.clone(), values.map(Value::Counts));
        self.statements(cursor)?;
        cursor.takes_word("od");
        match before {
            Some(value) => self.names.insert(name, value),
            None => self.names.remove(&name),
        };
        Ok(())
    }

    /// `A to B step *F multipleof M`, behind the variable.
    fn range(&self, cursor: &mut Cursor) -> Result<Counts, String> {
        let number = |value: Value| match value {
            Value::Counts(Counts::One(number)) => Ok(number),
            _ => Err("a loop whose start or step is no number".to_owned()),
        };
        let from = number(cursor.sum(&self.names)?)?;
        cursor.takes_word("to");
        let to = if cursor.peek() == Some(&Token::Open) {
            cursor.next();
            None
        } else {
            match cursor.sum(&self.names)? {
                Value::Counts(counts) => Some(counts),
                _ => return Err("a loop to no number".into()),
            }
        };
        let mut step = Step::Add(1.0);
        if cursor.takes_word("step") {
            let times = cursor.takes('*');
            cursor.takes('+');
            let value = number(cursor.sum(&self.names)?)?;
            step = if times { Step::Times(value) } else { Step::Add(value) };
        }
        let multiple_of = match cursor.takes_word("multipleof") {
            true => Some(number(cursor.sum(&self.names)?)?),
            false => None,
        };
        Ok(Counts::Range(Box::new(Range { from, to, step, multiple_of })))
    }

    /// `COMMUNICATOR : FUNCTION(ARGUMENTS)`.
    fn measured(&mut self, line: usize, cursor: &mut Cursor) {
        let ranks = cursor.sum(&self.names);
        cursor.takes(':');
        let Some(Token::Word(name)) = cursor.next() else {
            self.note(line, "a measurement of nothing");
            return;
        };
        let arguments = if cursor.takes('(') { cursor.list(&self.names, ')') } else { Vec::new() };
        let Some(function) = Function::of_script(&name) else {
            self.note(line, functions::refusal(&name));
            return;
        };
        let asserts = function.drops_assertions() && arguments.iter().any(is_assertion);
        match self.keys(&function, ranks, arguments) {
            Ok(mut keys) => {
                if *self.first_bounds.get_or_insert(self.bounds) != self.bounds {
                    keys.extend(self.bounds.keys("standard_error"));
                }
                let is_found = keys.iter().any(|(key, _)| *key == PAIR);
                let id = self.measurement.clone().unwrap_or(name);
                let (place, kernel) = (format!("{}:{line}", self.file), function.info.id());
                self.imported.push(Translated { place, id, kernel, keys });
                if function.is_of_pair() && !is_found {
                    self.note(line, "a pair of ranks, which is rank 0 and a neighbour here");
                }
                if asserts {
                    self.note(line, "an assertion, which SKaMPI 5 itself passes to no call");
                }
            }
            Err(reason) => self.note(line, format_args!("{name}: {reason}")),
        }
    }

    /// The keys of an entry for `function` on `ranks` with these `arguments`.
    fn keys(
        &self,
        function: &Function,
        ranks: Result<Value, String>,
        arguments: Vec<Result<Value, String>>,
    ) -> Result<Vec<(&'static str, String)>, String> {
        let mut keys = Vec::new();
        let procs = match ranks? {
            Value::SlowestPair if function.has(PAIR) => {
                keys.push((PAIR, "slowest_of_root".to_owned()));
                "max".to_owned()
            }
            Value::SlowestPair => "2".to_owned(),
            _ if function.is_of_pair() => "2".to_owned(),
            Value::Ranks(counts) => counts.sweep(1.0, f64::INFINITY)?,
            _ => return Err("measured on no communicator".into()),
        };
        keys.push(("procs", procs));
        if !function.algorithm.is_empty() {
            keys.push(("algorithm", function.algorithm.to_owned()));
        }
        if !function.has_length() {
            return Ok(keys);
        }
        let mut arguments = arguments.into_iter();
        let (Some(Value::Counts(counts)), Some(Value::Datatype(name, bytes))) =
            (arguments.next().transpose()?, arguments.next().transpose()?)
        else {
            return Err("the arguments are no count and no datatype of MPI".into());
        };
        keys.push(("length_bytes", counts.sweep(bytes as f64, self.buffer_bytes)?));
        let multiple_of = match &counts {
            Counts::Range(range) => range.multiple_of.unwrap_or(1.0),
            _ => 1.0,
        };
        let unit_bytes = multiple_of * bytes as f64;
        if unit_bytes > 1.0 {
            keys.push(("unit", format!("{unit_bytes:.0}")));
        }
        let axes = prepare::varied(&[function.info]);
        if bytes > 1 {
            let axis = if axes.contains("element") { "element" } else { "datatype" };
            keys.push((axis, name.to_owned()));
        }
        let mut numbers = Vec::new();
        for argument in arguments {
            let name = match argument? {
                Value::Name(name) if function.drops_assertions() && name.starts_with(ASSERTION) => {
                    numbers.push(Counts::One(0.0));
                    continue;
                }
                Value::Name(name) if name != NO_INFO => name,
                Value::Counts(counts) => {
                    numbers.push(counts);
                    continue;
                }
                // The count of what is received is that of what is sent.
                Value::Datatype(..) => {
                    numbers.pop();
                    continue;
                }
                _ => continue,
            };
            let known = OPERATORS.iter().find(|(of_mpi, _)| *of_mpi == name);
            match known.filter(|_| axes.contains("operator")) {
                Some((_, "sum")) => (),
                Some((_, ours)) => keys.push(("operator", (*ours).to_owned())),
                None => return Err(format!("the argument {name}")),
            }
        }
        if self.is_cycling && function.info.is_movable {
            keys.push(("buffers", format!("cycle:{:.0}", self.buffer_bytes)));
        }
        function.with_numbers(&numbers, keys)
    }
}

/// True for an assertion about an epoch.
fn is_assertion(argument: &Result<Value, String>) -> bool {
    matches!(argument, Ok(Value::Name(name)) if name.starts_with(ASSERTION))
}

/// Passes over a branch, and those in it.
fn pass_branch(cursor: &mut Cursor) {
    let mut depth = 1;
    while depth > 0
        && let Some(token) = cursor.next()
    {
        match token {
            Token::Word(word) if word == "if" => depth += 1,
            Token::Word(word) if word == "fi" => depth -= 1,
            _ => (),
        }
    }
}
