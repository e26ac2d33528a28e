//! Parameter files of the first `SKaMPI`: a preamble of `@KEY value`, then suites, each a name and
//! `{ key = value; }`.

use std::f64::consts::SQRT_2;
use std::path::Path;

use super::expression::{Counts, Range, Step};
use super::functions::{DATATYPES, Function, PAIR};
use super::{Bounds, Imported, Translated};
use crate::paths::text_of;

/// Keys of the preamble, and the labels that they are.
const LABELS: [(&str, &str); 5] = [
    ("MACHINE", "machine"),
    ("NODE", "node"),
    ("NETWORK", "network"),
    ("MPIVERSION", "mpi"),
    ("USER", "user"),
];
/// Values that leave a key to the program.
const OPEN: [&str; 2] = ["Default_Value", "Invalid_Value"];
/// Message length where none is given, in bytes.
const LENGTH_BYTES: &str = "256";
/// The longest one.
const MAX_BYTES: f64 = 4.0 * 1024.0 * 1024.0;
/// Word of an end that is as large as can be.
const MAX: &str = "Max_Value";
/// Axis of the pieces of the work of a master.
const CHUNKS: &str = "chunks";
/// The most of them.
const MAX_CHUNKS: f64 = 64.0;

/// Keys without an equal, each with the reason or the remedy; `@` is before those of the preamble.
const REASONS: [(&str, &str); 9] = [
    ("@OUTFILE", "the result file is that of `suite run --out FILE`"),
    ("@LOGFILE", "events are in the result file"),
    ("@POSTPROC", "several runs are joined by `comet-run merge`"),
    ("Send_Datatype_Number", TYPE_PATTERN),
    ("Receive_Datatype_Number", TYPE_PATTERN),
    ("Cut_Quantile", "a quarter is cut at either end"),
    ("Max_Steps", "a refinement ends where the curve is straight (give an entry a `budget`)"),
    ("Min_Distance", "a refinement ends where the curve is straight"),
    ("Max_Distance", "the sweep has the longest distance (give a smaller Stepwidth)"),
];
/// Reason for numbers of datatypes.
const TYPE_PATTERN: &str =
    "the program alone knows its type patterns by number (add a `layout` such as vector:8:16)";

/// The entries of the file `path`.
pub(super) fn import(path: &Path) -> anyhow::Result<Imported> {
    let text = text_of(path)?;
    let file = path.display().to_string();
    let mut imported = Imported::default();
    let (mut name, mut base_types) = (String::new(), Vec::new());
    let mut suite: Option<Suite> = None;
    for (index, line) in text.lines().enumerate() {
        let line_number = index + 1;
        let line = line.split('#').next().unwrap_or_default().trim();
        if let Some(pair) = line.strip_prefix('@') {
            preamble(pair, (&file, line_number), &mut imported, &mut base_types);
            continue;
        }
        for part in line.split_inclusive([';', '{', '}']).map(str::trim) {
            match (part, &mut suite) {
                (part, None) if part.ends_with('{') => {
                    let own = part.trim_end_matches('{').trim();
                    let id =
                        if own.is_empty() { std::mem::take(&mut name) } else { own.to_owned() };
                    suite = Some(Suite { id, line: line_number, keys: Vec::new() });
                }
                (part, None) => name = part.to_owned(),
                ("}", Some(_)) => {
                    if let Some(suite) = suite.take() {
                        suite.translate(&file, &base_types, &mut imported);
                    }
                }
                (part, Some(suite)) => {
                    let pair = part.trim_end_matches(';').split_once('=');
                    let pair =
                        pair.map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned()));
                    suite.keys.extend(pair.map(|(key, value)| (line_number, key, value)));
                }
            }
        }
    }
    Ok(imported)
}

/// The reason for which `key` is not translated, or `otherwise`.
fn reason(key: &str, otherwise: &'static str) -> &'static str {
    REASONS.iter().find(|(name, _)| *name == key).map_or(otherwise, |(_, reason)| reason)
}

/// Number of a base type, and its name in MPI.
type BaseType = (String, String);

/// Takes in a key of the preamble, or a base type.
fn preamble(
    pair: &str,
    (file, line): (&str, usize),
    imported: &mut Imported,
    base_types: &mut Vec<BaseType>,
) {
    let (key, value) = pair.split_once(char::is_whitespace).unwrap_or((pair, ""));
    let value = value.trim();
    if let Some((_, label)) = LABELS.iter().find(|(name, _)| *name == key) {
        imported.labels.push(((*label).to_owned(), value.to_owned()));
        return;
    }
    let number = key.get(..8).filter(|start| start.eq_ignore_ascii_case("BASETYPE"));
    let mut default = |key, value| {
        imported.places.insert(key, format!("{file}:{line}"));
        imported.defaults.push((key, value));
    };
    match key {
        "MEASUREMENTS" => (),
        "POSTPROC" if value == "no" => (),
        key if number.is_some() => base_types.push((key[8..].to_owned(), value.to_owned())),
        "MEMORY" => default("mem", format!("{value}Ki")),
        "CACHEWARMUP" => default("warm_up", value.to_owned()),
        _ => {
            let reason = reason(&format!("@{key}"), "no key of a suite file is it");
            imported.note(file, line, format_args!("@{key} {value} is not translated: {reason}"));
        }
    }
}

/// Keys of a suite that are translated.
const READ: [&str; 16] = [
    "Min_Repetition",
    "Max_Repetition",
    "Standard_error",
    "Type",
    "Variation",
    "Scale",
    "Start_Argument",
    "End_Argument",
    "Stepwidth",
    "Default_Message_length",
    "Multiple_of",
    "Node_Times",
    "Basetype_Number",
    "Time_Suite",
    "Time_Measurement",
    "Default_Chunks",
];
/// Keys of entries for times in minutes.
const TIMES: [(&str, &str); 2] = [("Time_Suite", "budget"), ("Time_Measurement", "time")];

/// A suite of the file.
struct Suite {
    id: String,
    line: usize,
    keys: Vec<(usize, String, String)>,
}

impl Suite {
    /// The value of `key`, unless it leaves that to the program.
    fn value(&self, key: &str) -> Option<&str> {
        let found = self.keys.iter().find(|(_, name, _)| name == key);
        found.map(|(.., value)| &**value).filter(|value| !OPEN.contains(value))
    }

    fn translate(self, file: &str, base_types: &[BaseType], imported: &mut Imported) {
        let number = self.value("Type").and_then(|number| number.parse().ok()).unwrap_or(0);
        let Some(function) = Function::of_type(number) else {
            imported.note(
                file,
                self.line,
                format_args!("type {number} of {}, for which no kernel stands", self.id),
            );
            return;
        };
        let mut keys = match self.sweeps(&function) {
            Ok(keys) => keys,
            Err(reason) => {
                return imported.note(file, self.line, format_args!("{}: {reason}", self.id));
            }
        };
        if !function.has_length() {
            keys.retain(|(key, _)| *key != "length_bytes");
        }
        if !function.algorithm.is_empty() {
            keys.push(("algorithm", function.algorithm.to_owned()));
        }
        if self.value("Scale").is_some_and(|scale| scale.starts_with("Dynamic")) {
            keys.push(("refine", "skampi".to_owned()));
        }
        if let Some(unit) = self.multiple_of().filter(|_| self.varies_length()) {
            keys.push(("unit", unit.to_string()));
        }
        let number = self.value("Basetype_Number");
        let base = base_types.iter().find(|(own, _)| Some(&**own) == number).map(|(_, of)| &**of);
        match base.map(|base| DATATYPES.iter().find(|(name, ..)| *name == base)) {
            Some(Some((_, name, _))) if function.has_length() => {
                let axis = if function.has("element") { "element" } else { "datatype" };
                keys.push((axis, (*name).to_owned()));
            }
            Some(None) => {
                let base = base.unwrap_or_default();
                let what =
                    format_args!("{}: base type {base}, which is none that is known", self.id);
                imported.note(file, self.line, what);
            }
            _ => (),
        }
        for (key, own) in TIMES {
            keys.extend(self.value(key).map(|minutes| (own, format!("{minutes}min"))));
        }
        let chunks = self.value("Default_Chunks").filter(|n| *n != "0" && function.has(CHUNKS));
        if let Some(n) = chunks.filter(|_| keys.iter().all(|(key, _)| *key != CHUNKS)) {
            keys.push((CHUNKS, n.to_owned()));
        }
        let number = |key| self.value(key).and_then(|value| value.parse().ok());
        let samples = ["Min_Repetition", "Max_Repetition"].map(number);
        keys.extend(Bounds { samples, error: number("Standard_error") }.keys("standard_error"));
        for (line, key, value) in &self.keys {
            if !READ.contains(&&**key) && !OPEN.contains(&&**value) {
                imported.note(
                    file,
                    *line,
                    format_args!(
                        "{key} = {value} is not translated: {}",
                        reason(key, "the rules decide it")
                    ),
                );
            }
        }
        let (place, kernel) = (format!("{file}:{}", self.line), function.info.id());
        imported.push(Translated { place, id: self.id, kernel, keys });
    }

    /// The number of which all values are multiples, if it is not 1.
    fn multiple_of(&self) -> Option<u32> {
        self.value("Multiple_of")?.parse().ok().filter(|unit| *unit > 1)
    }

    /// True if the length of the message varies.
    fn varies_length(&self) -> bool {
        self.value("Variation").is_none_or(|variation| variation == "Length")
    }

    /// The numbers of ranks and the lengths; a reason for a variation or values of another kind.
    fn sweeps(&self, function: &Function) -> Result<Vec<(&'static str, String)>, String> {
        match self.value("Variation").unwrap_or("Length") {
            "Length" => {
                let lengths = self.sweep(1.0, Counts::One(MAX_BYTES))?;
                if function.has(PAIR) {
                    let pair = (PAIR, "slowest".to_owned());
                    return Ok(vec![("procs", "max".into()), pair, ("length_bytes", lengths)]);
                }
                let procs = if function.is_of_pair() { "2" } else { "max" };
                Ok(vec![("procs", procs.to_owned()), ("length_bytes", lengths)])
            }
            "Chunks" if function.has(CHUNKS) => {
                let length = self.value("Default_Message_length").unwrap_or(LENGTH_BYTES);
                let chunks = (CHUNKS, self.sweep(1.0, Counts::One(MAX_CHUNKS))?);
                Ok(vec![("procs", "max".into()), ("length_bytes", length.into()), chunks])
            }
            "Nodes" => {
                let length = self.value("Default_Message_length").unwrap_or(LENGTH_BYTES);
                let procs = self.sweep(2.0, Counts::Max)?;
                Ok(vec![("procs", procs), ("length_bytes", length.to_owned())])
            }
            other => Err(format!("variation {other}")),
        }
    }

    /// The values of what varies, from `least` to `most` where the file leaves that open.
    fn sweep(&self, least: f64, most: Counts) -> Result<String, String> {
        let number = |key| {
            let number = self.value(key).map(|word| {
                word.parse().map_err(|_| format!("{key} = {word}, which is no number"))
            });
            number.transpose()
        };
        let from: f64 = number("Start_Argument")?.unwrap_or(least);
        let to = match self.value("End_Argument") {
            Some(MAX) => most,
            _ => number("End_Argument")?.map_or(most, Counts::One),
        };
        let step = number("Stepwidth")?;
        let is_log = self.value("Scale").is_some_and(|scale| scale.contains("log"));
        let step = match is_log {
            true => Step::Times(step.unwrap_or(SQRT_2)),
            false => Step::Add(step.unwrap_or(1.0)),
        };
        // No factor leads on from 0.
        let has_zero = is_log && from == 0.0;
        let from = if has_zero { 1.0 } else { from };
        // Lengths are rounded by the unit of the entry.
        let unit = self.multiple_of().filter(|_| !self.varies_length()).map_or(1.0, f64::from);
        let up = |number: f64| (number / unit).ceil() * unit;
        let (from, step) = match step {
            Step::Add(step) => (up(from), Step::Add(if unit > 1.0 { up(step) } else { step })),
            Step::Times(_) if unit > 1.0 => {
                return Err(format!("Multiple_of = {unit} and a factor, which no sweep has"));
            }
            step => (from, step),
        };
        let range = Range { from, to: Some(to), step, multiple_of: None };
        let values = Counts::Range(Box::new(range)).sweep(1.0, f64::INFINITY)?;
        Ok(if has_zero { format!("0,{values}") } else { values })
    }
}
