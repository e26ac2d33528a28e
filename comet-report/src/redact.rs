//! Redaction: names of hosts, users and paths of a result file become pseudonyms.
//!
//! A pseudonym is the hash of a secret key and the name, so that equal names stay equal in all files that
//! are redacted with one key, and nobody without it can try names out. What identifies numbers, such as
//! kernels, parameters and keys, stays as it is.

use std::collections::BTreeMap;

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::plain;
use crate::read::ReadError;
use crate::record::{Outcome, Record, Run};

/// Label of a run that names the kinds of facts that were replaced.
const LABEL: &str = "redacted";
/// Labels that hold the name of a user.
const USERS: [&str; 2] = ["user", "contact"];
/// Fields of a run that hold no names of the machine.
const KEPT: [&str; 4] = ["schema", "run_id", "kernels", "fingerprint"];

/// Facts to replace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fact {
    /// Names of hosts.
    Hosts,
    /// Names of users: the labels `user` and `contact`.
    User,
    /// Absolute paths.
    Paths,
}

impl Fact {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Hosts, Self::User, Self::Paths];

    /// Name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hosts => "hosts",
            Self::User => "user",
            Self::Paths => "paths",
        }
    }
}

/// A redacted file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Redacted {
    /// Its text.
    pub text: Vec<u8>,
    /// The names that were replaced, each with its pseudonym.
    pub names: BTreeMap<String, String>,
}

/// The result file `text` with pseudonyms for `facts`, made with the secret `key`. Fields that CoMet does
/// not know are left out, and so is a last line that was only written in part.
///
/// # Errors
/// If a line is no record.
pub fn redact(text: &[u8], facts: &[Fact], key: &[u8]) -> Result<Redacted, ReadError> {
    let mut redaction = Redaction { facts, key, names: BTreeMap::new() };
    let mut found = Vec::new();
    for (index, line) in text.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let refused = |message: String| ReadError::Line { path: None, line: index + 1, message };
        match serde_json::from_slice::<Record>(&plain::json(line)) {
            Ok(record) => {
                let record = redaction.record(record).map_err(|e| refused(e.to_string()))?;
                serde_json::to_writer(&mut found, &record).map_err(|e| refused(e.to_string()))?;
                found.push(b'\n');
            }
            Err(_) if !line.ends_with(b"\n") => (),
            Err(error) => return Err(refused(error.to_string())),
        }
    }
    Ok(Redacted { text: found, names: redaction.names })
}

struct Redaction<'a> {
    facts: &'a [Fact],
    key: &'a [u8],
    /// Names of hosts and users so far, and paths, with their pseudonyms.
    names: BTreeMap<String, String>,
}

impl Redaction<'_> {
    fn record(&mut self, mut record: Record) -> serde_json::Result<Record> {
        match &mut record {
            Record::Run(run) => **run = self.run(run)?,
            Record::Event(event) => {
                event.message = self.text(&event.message);
                self.maybe(&mut event.hint);
            }
            Record::End(end) => {
                self.maybe(&mut end.reason);
                end.odd.iter_mut().for_each(|oddity| oddity.what = self.text(&oddity.what));
            }
            Record::Unit(unit) => self.maybe(&mut unit.reason),
            Record::Point(point) | Record::Launch(point) => {
                if let Outcome::Failed(failure) = &mut point.outcome {
                    failure.message = self.text(&failure.message);
                }
            }
            Record::Model(_) => (),
        }
        Ok(record)
    }

    fn run(&mut self, run: &Run) -> serde_json::Result<Run> {
        self.learn(run);
        let mut value = serde_json::to_value(run)?;
        for (name, field) in value.as_object_mut().into_iter().flatten() {
            if name == "labels" {
                self.labels(field);
            } else if !KEPT.contains(&name.as_str()) {
                self.value(field);
            }
        }
        serde_json::from_value(value)
    }

    fn maybe(&mut self, text: &mut Option<String>) {
        if let Some(text) = text {
            *text = self.text(text);
        }
    }

    /// Takes down the names that `run` states.
    fn learn(&mut self, run: &Run) {
        if self.facts.contains(&Fact::Hosts) {
            let of_machines = run.machines.iter().flat_map(|machine| &machine.nodes);
            let of_ranks = run.world.ranks.iter().filter_map(|entry| entry.node.as_ref());
            for host in of_machines.chain(of_ranks) {
                self.names.insert(host.clone(), self.host(host));
            }
        }
        if self.facts.contains(&Fact::User) {
            for user in USERS.iter().filter_map(|name| run.labels.get(*name)) {
                self.names.insert(user.clone(), format!("user-{}", self.letters(user)));
            }
        }
    }

    /// The pseudonym of `host`: hosts of one cluster differ in the digits at its end.
    fn host(&self, host: &str) -> String {
        let name = host.split('.').next().unwrap_or(host);
        let cluster = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let number = u32::from_be_bytes(*self.hash(host).first_chunk().expect("32 bytes"));
        format!("host-{}{number:010}", self.letters(cluster))
    }

    fn hash(&self, name: &str) -> [u8; 32] {
        let hash = Sha256::new().chain_update(Sha256::digest(self.key));
        hash.chain_update(name.as_bytes()).finalize().into()
    }

    /// Eight letters for `name`.
    fn letters(&self, name: &str) -> String {
        let bytes = self.hash(name);
        bytes[..4]
            .iter()
            .flat_map(|byte| [byte >> 4, byte & 15])
            .map(|n| char::from(b'a' + n))
            .collect()
    }

    /// Adds a word about the redaction to `labels`, and replaces names in their values.
    fn labels(&mut self, labels: &mut Value) {
        let Some(labels) = labels.as_object_mut() else { return };
        for (name, value) in labels.iter_mut() {
            // The name of a machine is the submitter's own.
            if name != "machine" {
                self.value(value);
            }
        }
        let facts: Vec<&str> = self.facts.iter().map(|fact| fact.name()).collect();
        labels.insert(LABEL.into(), facts.join(",").into());
    }

    /// Replaces names in all texts of `value`.
    fn value(&mut self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.text(text),
            Value::Array(values) => values.iter_mut().for_each(|value| self.value(value)),
            Value::Object(fields) => fields.values_mut().for_each(|value| self.value(value)),
            Value::Null | Value::Bool(_) | Value::Number(_) => (),
        }
    }

    fn text(&mut self, text: &str) -> String {
        // A whole text may be a name with blanks.
        if let Some(name) = self.names.get(text) {
            return name.clone();
        }
        let mut found = String::new();
        let mut rest = text;
        while !rest.is_empty() {
            let is_begin = !found.ends_with(is_part);
            let n_path = if is_begin && self.facts.contains(&Fact::Paths) { path(rest) } else { 0 };
            let n_word = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
            if n_path > 0 {
                let name = &rest[..n_path];
                let pseudonym = format!("path-{}", self.letters(name));
                found += &pseudonym;
                self.names.insert(name.to_owned(), pseudonym);
                rest = &rest[n_path..];
            } else if n_word > 0 {
                let (word, after) = rest.split_at(n_word);
                let bare = word.trim_end_matches('.');
                match self.names.get(bare) {
                    Some(name) => found += &(name.clone() + &word[bare.len()..]),
                    None => found += word,
                }
                rest = after;
            } else {
                let n_bytes = rest.chars().next().map_or(1, char::len_utf8);
                found += &rest[..n_bytes];
                rest = &rest[n_bytes..];
            }
        }
        found
    }
}

/// True if `c` may be a part of a name.
fn is_part(c: char) -> bool {
    c.is_alphanumeric() || "-_.".contains(c)
}

/// Number of bytes of the absolute path that `text` starts with; 0 if there is none.
fn path(text: &str) -> usize {
    let is_path = text.strip_prefix('/').is_some_and(|rest| rest.starts_with(|c: char| is_part(c)));
    let end = text.find(|c: char| c.is_whitespace() || ",:;'\"=()[]".contains(c));
    if is_path { end.unwrap_or(text.len()) } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{self, Folder};
    use crate::read::parse_records;
    use crate::record::Event;

    /// The text of a run on the host `node17.lab`, by the user `alice`.
    fn text() -> String {
        let folder = Folder::new();
        let text = std::fs::read(fixture::record_run(&folder)).unwrap();
        let mut records = parse_records(&text).unwrap().records;
        let Record::Run(run) = &mut records[0] else { panic!("a run comes first") };
        run.machines[0].nodes = vec!["node17.lab".into()];
        run.labels.insert("user".into(), "alice".into());
        run.labels.insert("machine".into(), "hawk".into());
        run.argv =
            vec!["/opt/alice/bin/comet-run".into(), "--out=/tmp/x.jsonl".into(), "a/b".into()];
        let run_id = Some(run.run_id.clone());
        let message = "node17.lab is slow, says alice (see /var/log/x).".into();
        let event = Event {
            run_id,
            t_rel_s: None,
            level: crate::record::Level::Info,
            code: "x".into(),
            rank: None,
            message,
            hint: None,
        };
        records.insert(1, Record::Event(event));
        records.iter().map(|record| serde_json::to_string(record).unwrap() + "\n").collect()
    }

    #[test]
    fn names_are_replaced_everywhere_and_numbers_stay() {
        let text = text();
        let redacted = redact(text.as_bytes(), &Fact::ALL, b"key").unwrap();
        let found = String::from_utf8(redacted.text.clone()).unwrap();
        for name in ["node17", "alice", "/opt", "/tmp", "/var"] {
            assert!(!found.contains(name), "{name}: {found}");
        }
        assert!(found.contains("\"a/b\"") && found.contains("hawk"));
        assert!(found.contains("\"redacted\":\"hosts,user,paths\""));
        let [before, after] =
            [text.as_bytes(), &redacted.text].map(|text| parse_records(text).unwrap());
        assert_eq!(after.problems, []);
        let points = |records: &[Record]| fixture::points(records).cloned().collect::<Vec<_>>();
        assert_eq!(points(&before.records), points(&after.records));
        assert!(redacted.names["node17.lab"].starts_with("host-"));
    }

    #[test]
    fn pseudonyms_are_stable_and_depend_on_the_key() {
        let text = text();
        let [one, same, other] =
            [b"1", b"1", b"2"].map(|key| redact(text.as_bytes(), &Fact::ALL, key).unwrap());
        assert_eq!(one, same);
        assert_ne!(one.names["node17.lab"], other.names["node17.lab"]);
        let again = redact(&one.text, &Fact::ALL, b"1").unwrap();
        assert!(!again.names.keys().any(|name| name.contains("node17")));
    }

    #[test]
    fn without_facts_a_file_keeps_its_names() {
        let text = text();
        let redacted = redact(text.as_bytes(), &[], b"").unwrap();
        assert_eq!(redacted.names.len(), 0);
        assert!(
            String::from_utf8(redacted.text).unwrap().contains("node17.lab is slow, says alice")
        );
    }
}
