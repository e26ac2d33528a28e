//! Words and values of scripts of `SKaMPI` 5.

use std::collections::HashMap;
use std::f64::consts::SQRT_2;

use super::functions::DATATYPES;

/// The most values of a loop that are written one by one.
const MAX_VALUES: usize = 10_000;

/// A word of a script.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Number(f64),
    Word(String),
    Text(String),
    Sign(char),
    /// `...`, the end of a loop that goes on for as long as it may.
    Open,
}

/// The words of `text`, each with its line; comments are left out.
fn tokens(text: &str) -> Vec<(usize, Token)> {
    let mut tokens = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let mut rest = line.trim_start();
        while let Some(first) = rest.chars().next().filter(|first| *first != '#') {
            let of = |is_part: fn(char) -> bool| rest.find(|c| !is_part(c)).unwrap_or(rest.len());
            let (token, length) = if first.is_ascii_digit() {
                let length = of(|c| c.is_ascii_alphanumeric() || c == '.');
                // The dots of an open end may follow at once.
                let length = rest[..length].find("..").unwrap_or(length);
                match number(&rest[..length]) {
                    Some(number) => (Token::Number(number), length),
                    None => (Token::Word(rest[..length].into()), length),
                }
            } else if first.is_alphabetic() || first == '_' {
                let length = of(|c| c.is_alphanumeric() || c == '_');
                (Token::Word(rest[..length].into()), length)
            } else if let Some(after) = rest.strip_prefix('"') {
                let end = after.find('"').unwrap_or(after.len());
                (Token::Text(after[..end].into()), (end + 2).min(rest.len()))
            } else if rest.starts_with("...") {
                (Token::Open, 3)
            } else {
                (Token::Sign(first), first.len_utf8())
            };
            tokens.push((index + 1, token));
            rest = rest[length..].trim_start();
        }
    }
    tokens
}

/// A number with a unit of 1024, if `text` is one.
fn number(text: &str) -> Option<f64> {
    if let Some(digits) = text.strip_prefix("0x") {
        return u32::from_str_radix(digits, 16).ok().map(f64::from);
    }
    let end = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let factor = match text[end..].to_ascii_lowercase().as_str() {
        "" => 1.0,
        "kb" | "kib" => 1024.0,
        "mb" | "mib" => f64::from(1 << 20),
        "gb" | "gib" => f64::from(1 << 30),
        _ => return None,
    };
    text[..end].parse().ok().map(|number: f64| number * factor)
}

/// Numbers of elements or of ranks.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Counts {
    One(f64),
    /// As many as there are.
    Max,
    /// One less, which is the last rank.
    Last,
    List(Vec<f64>),
    Range(Box<Range>),
}

/// A loop over numbers.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Range {
    pub(super) from: f64,
    /// `None` for as far as the buffer admits.
    pub(super) to: Option<Counts>,
    pub(super) step: Step,
    /// Number of which all are multiples.
    pub(super) multiple_of: Option<f64>,
}

/// The way from one number to the next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Step {
    Add(f64),
    Times(f64),
}

/// A value in a script.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Counts(Counts),
    /// A communicator of so many ranks.
    Ranks(Counts),
    /// Rank 0 and the one with the longest round trip from it.
    SlowestPair,
    Datatype(&'static str, u64),
    /// A constant of MPI.
    Name(String),
}

impl Counts {
    /// The numbers as a sweep, each times `scale`, up to `open` where they go on.
    pub(super) fn sweep(&self, scale: f64, open: f64) -> Result<String, String> {
        match self {
            Self::One(n) => Ok(whole(n * scale)),
            Self::Max if scale > 1.0 => Err("a length that depends on the number of ranks".into()),
            Self::Max => Ok("max".into()),
            Self::Last => Err("one less than the number of ranks".into()),
            Self::List(list) => Ok(Vec::from_iter(list.iter().map(|n| whole(n * scale))).join(",")),
            Self::Range(range) => range.sweep(scale, open),
        }
    }
}

impl Range {
    fn sweep(&self, scale: f64, open: f64) -> Result<String, String> {
        let to = match &self.to {
            None => whole(open),
            Some(to @ (Counts::One(_) | Counts::Max)) => to.sweep(scale, open)?,
            Some(_) => return Err("a loop that ends where another one is".into()),
        };
        let last: Option<f64> = to.parse().ok();
        if last.is_some_and(|last| !last.is_finite()) {
            return Err("a loop without an end".into());
        }
        let from = whole(self.from * scale);
        let is_whole = |number: f64| number.fract() == 0.0;
        let is_backward = last.is_some_and(|last| self.from * scale > last);
        match self.step {
            _ if is_backward || !is_whole(self.from) => self.written(scale, last),
            Step::Add(1.0) if scale <= 1.0 => Ok(format!("{from}..{to}")),
            Step::Add(step) if step >= 1.0 && is_whole(step) => {
                Ok(format!("{from}..{to}+{}", whole(step * scale)))
            }
            Step::Times(factor) if (factor - SQRT_2).abs() < 1e-3 && self.from > 0.0 => {
                Ok(format!("{from}..{to}*sqrt2"))
            }
            Step::Times(factor) if factor >= 2.0 && is_whole(factor) && self.from > 0.0 => {
                Ok(format!("{from}..{to}*{factor}"))
            }
            _ => self.written(scale, last),
        }
    }

    /// Each value, times `scale`, up or down to `last`; `None`: to the number of ranks.
    fn written(&self, scale: f64, last: Option<f64>) -> Result<String, String> {
        let last = last.ok_or("a loop to the number of ranks in steps that no sweep has")?;
        let next = |value: &f64| match self.step {
            Step::Add(step) => value + step,
            Step::Times(factor) => value * factor,
        };
        let falls = next(&self.from) < self.from;
        let values = std::iter::successors(Some(self.from), |value| Some(next(value)));
        let values = values.map(|value| value.round() * scale).take(MAX_VALUES + 1);
        let is_within = |value: &f64| if falls { *value >= last } else { *value <= last };
        let mut values: Vec<f64> = values.take_while(is_within).collect();
        match &values[..] {
            [] => Err("a loop without a value".into()),
            [.., value] if *value < 0.0 => Err(format!("a loop to {value}, which is below 0")),
            _ if values.len() > MAX_VALUES => {
                Err(format!("a loop with more than {MAX_VALUES} values, or that never ends"))
            }
            _ => {
                values.dedup();
                Ok(Vec::from_iter(values.into_iter().map(whole)).join(","))
            }
        }
    }
}

/// A number without a fraction, as text.
fn whole(number: f64) -> String {
    format!("{number:.0}")
}

/// Names with their values, or why they have none.
pub(super) type Names = HashMap<String, Result<Value, String>>;

/// Words that are read one after the other.
pub(super) struct Cursor {
    tokens: Vec<(usize, Token)>,
    at: usize,
    /// Brackets and loops around the next word.
    depth: usize,
}

/// The most brackets and loops within each other.
const MAX_DEPTH: usize = 64;

impl Cursor {
    /// A cursor before the first word of `text`.
    pub(super) fn new(text: &str) -> Self {
        Self { tokens: tokens(text), at: 0, depth: 0 }
    }

    /// Goes into brackets or a loop; false, and past all words, if there are too many.
    pub(super) fn enter(&mut self) -> bool {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            self.at = self.tokens.len();
        }
        self.depth <= MAX_DEPTH
    }

    /// Comes out of brackets or of a loop.
    pub(super) fn leave(&mut self) {
        self.depth -= 1;
    }

    pub(super) fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|(_, token)| token)
    }

    /// Line of the next word, or of the last.
    pub(super) fn line(&self) -> usize {
        self.tokens.get(self.at).or(self.tokens.last()).map_or(1, |(line, _)| *line)
    }

    pub(super) fn next(&mut self) -> Option<Token> {
        let token = self.peek().cloned();
        self.at += 1;
        token
    }

    /// Passes over the sign `sign`, if it is next.
    pub(super) fn takes(&mut self, sign: char) -> bool {
        let is_next = self.peek() == Some(&Token::Sign(sign));
        self.at += usize::from(is_next);
        is_next
    }

    /// Passes over the word `word`, if it is next.
    pub(super) fn takes_word(&mut self, word: &str) -> bool {
        let is_next = matches!(self.peek(), Some(Token::Word(next)) if next == word);
        self.at += usize::from(is_next);
        is_next
    }

    /// Passes over the rest of the line.
    pub(super) fn skip_line(&mut self) {
        let line = self.line();
        while self.tokens.get(self.at).is_some_and(|(of, _)| *of == line) {
            self.at += 1;
        }
    }

    /// The values between brackets, the first of which is behind.
    pub(super) fn list(&mut self, names: &Names, end: char) -> Vec<Result<Value, String>> {
        let mut values = Vec::new();
        while self.peek().is_some() && !self.takes(end) {
            values.push(self.sum(names));
            // Beyond what no expression has.
            while self
                .peek()
                .is_some_and(|token| ![Token::Sign(','), Token::Sign(end)].contains(token))
            {
                self.at += 1;
            }
            self.takes(',');
        }
        values
    }

    /// A sum of products.
    pub(super) fn sum(&mut self, names: &Names) -> Result<Value, String> {
        let mut value = self.product(names)?;
        loop {
            if self.takes('+') {
                value = calculated(value, self.product(names)?, |a, b| a + b)?;
            } else if self.takes('-') {
                value = match (value, self.product(names)?) {
                    (Value::Counts(Counts::Max), Value::Counts(Counts::One(1.0))) => {
                        Value::Counts(Counts::Last)
                    }
                    (a, b) => calculated(a, b, |a, b| a - b)?,
                };
            } else {
                return Ok(value);
            }
        }
    }

    fn product(&mut self, names: &Names) -> Result<Value, String> {
        let mut value = self.factor(names)?;
        loop {
            if self.takes('*') {
                value = calculated(value, self.factor(names)?, |a, b| a * b)?;
            } else if self.takes('/') {
                value = calculated(value, self.factor(names)?, |a, b| a / b)?;
            } else {
                return Ok(value);
            }
        }
    }

    fn factor(&mut self, names: &Names) -> Result<Value, String> {
        let value = if self.enter() { self.inner(names) } else { Err("too many brackets".into()) };
        self.leave();
        value
    }

    fn inner(&mut self, names: &Names) -> Result<Value, String> {
        match self.next() {
            Some(Token::Number(number)) => Ok(Value::Counts(Counts::One(number))),
            Some(Token::Text(text)) => Ok(Value::Name(text)),
            Some(Token::Sign('-')) => {
                calculated(Value::Counts(Counts::One(0.0)), self.factor(names)?, |a, b| a - b)
            }
            Some(Token::Sign('(')) => {
                let value = self.sum(names);
                self.takes(')');
                value
            }
            Some(Token::Word(word)) if self.takes('(') => called(&word, self.list(names, ')')),
            Some(Token::Word(word)) => named(&word, names),
            other => Err(format!("an expression with {other:?}")),
        }
    }
}

/// The value of the name `word`.
fn named(word: &str, names: &Names) -> Result<Value, String> {
    if let Some(known) = names.get(word) {
        return known.clone();
    }
    if let Some((_, name, bytes)) = DATATYPES.iter().find(|(name, ..)| *name == word) {
        return Ok(Value::Datatype(name, *bytes));
    }
    match word {
        "MPI_COMM_WORLD" => Ok(Value::Ranks(Counts::Max)),
        _ if word.starts_with("MPI_") => Ok(Value::Name(word.to_owned())),
        _ => Err(format!("'{word}', which has no value")),
    }
}

/// The value of a call of the function `word`.
fn called(word: &str, arguments: Vec<Result<Value, String>>) -> Result<Value, String> {
    let first = arguments.into_iter().next();
    let number = |value: Option<Result<Value, String>>| match value.transpose()? {
        Some(Value::Counts(counts)) => Ok(counts),
        _ => Err(format!("{word} of no number")),
    };
    match word {
        "get_np" | "get_comm_size" => Ok(Value::Counts(Counts::Max)),
        "comm" => Ok(Value::Ranks(number(first)?)),
        "comm2_max_latency_with_root" => Ok(Value::SlowestPair),
        _ if word.starts_with("comm2") || word == "comm_from_to" => {
            Ok(Value::Ranks(Counts::One(2.0)))
        }
        "sqrt" => match number(first)? {
            Counts::One(number) => Ok(Value::Counts(Counts::One(number.sqrt()))),
            _ => Err("a root of several numbers".into()),
        },
        _ => Err(format!("the function {word}")),
    }
}

/// Two numbers in an operation.
fn calculated(a: Value, b: Value, operation: fn(f64, f64) -> f64) -> Result<Value, String> {
    match (a, b) {
        (Value::Counts(Counts::One(a)), Value::Counts(Counts::One(b))) => {
            Ok(Value::Counts(Counts::One(operation(a, b))))
        }
        _ => Err("arithmetic with a loop or with the number of ranks".into()),
    }
}
