//! Redaction: names of hosts, users and paths of a result file become pseudonyms.
//!
//! A pseudonym is the hash of a secret key and the name, so that equal names stay equal in all files that
//! are redacted with one key, and nobody without it can try names out. What identifies numbers, such as
//! kernels, parameters and keys, stays as it is.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::fingerprint::sha256_hex;
use crate::plain;
use crate::read::{ReadError, words};
use crate::record::{Outcome, Record, Run};

/// Label of a run that names the kinds of facts that were replaced.
const LABEL: &str = "redacted";
/// Labels that hold the name of a user.
const USERS: [&str; 2] = ["user", "contact"];
/// Fields of a run that hold no names of the machine.
const KEPT: [&str; 4] = ["schema", "run_id", "kernels", "fingerprint"];

/// Fields of a run that are maps, whose keys come from outside.
const MAPS: [&str; 2] = ["config", "transport"];
/// Parts of the names of variables that hold hosts, a cluster or a server.
const OF_HOSTS: [&str; 9] = [
    "NODELIST",
    "NODENAME",
    "NODEFILE",
    "HOST",
    "TOPOLOGY_ADDR",
    "CLUSTER_NAME",
    "IPADDR",
    "PBS_JOBID",
    "PBS_SERVER",
];

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

comet_core::named!(Fact: Hosts "hosts", User "user", Paths "paths");

/// A redacted file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Redacted {
    /// Its text.
    pub text: Vec<u8>,
    /// The names that were replaced, each with its pseudonym.
    pub names: BTreeMap<String, String>,
}

/// The result file `text` with pseudonyms for `facts`, made with the secret `key`. Fields that CoMet does
/// not know are left out, and so is a last line that was only written in part. A file whose runs have
/// pseudonyms for all of these already stays as it is.
///
/// # Errors
/// If a line is no record.
pub fn redact(text: &[u8], facts: &[Fact], key: &[u8]) -> Result<Redacted, ReadError> {
    let mut redaction = Redaction {
        facts,
        key,
        names: BTreeMap::new(),
        known: BTreeMap::new(),
        lengths: BTreeSet::new(),
    };
    let refused = |line, message| ReadError::Line { path: None, line, message };
    let (mut records, mut n_whole) = (Vec::new(), 0);
    for (line, text) in (1..).zip(text.split_inclusive(|byte| *byte == b'\n')) {
        match serde_json::from_slice::<Record>(&plain::json(text)) {
            Ok(record) => {
                n_whole += text.len();
                // All names are known before the first is replaced: a run may speak of another's host.
                if let Record::Run(run) = &record {
                    redaction.learn(run);
                }
                records.push((line, record));
            }
            Err(_) if !text.ends_with(b"\n") => (),
            Err(error) => return Err(refused(line, words(&error))),
        }
    }
    if is_redacted(records.iter().map(|(_, record)| record), facts) {
        return Ok(Redacted { text: text[..n_whole].to_vec(), ..Redacted::default() });
    }
    let mut found = Vec::new();
    for (line, record) in records {
        let record = redaction.record(record).map_err(|e| refused(line, e.to_string()))?;
        serde_json::to_writer(&mut found, &record).map_err(|e| refused(line, e.to_string()))?;
        found.push(b'\n');
    }
    Ok(Redacted { text: found, names: redaction.names })
}

/// True if `records` have runs, and the label of each says that all `facts` were replaced.
fn is_redacted<'a>(records: impl Iterator<Item = &'a Record>, facts: &[Fact]) -> bool {
    let labels = records.filter_map(|record| match record {
        Record::Run(run) => Some(run.labels.get(LABEL)),
        _ => None,
    });
    let mut labels = labels.peekable();
    let has = |label: &String, fact: &Fact| label.split(',').any(|name| name == fact.name());
    labels.peek().is_some()
        && labels.all(|label| label.is_some_and(|of| facts.iter().all(|fact| has(of, fact))))
}

struct Redaction<'a> {
    facts: &'a [Fact],
    key: &'a [u8],
    /// Names of hosts and users so far, lists of hosts, and paths, with their pseudonyms.
    names: BTreeMap<String, String>,
    /// The names of hosts and users in lower case, with their pseudonyms.
    known: BTreeMap<String, String>,
    /// Numbers of bytes of these.
    lengths: BTreeSet<usize>,
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
                if let Some(verdict) = &mut end.verdict {
                    verdict.reason = self.text(&verdict.reason);
                }
                end.odd.iter_mut().for_each(|oddity| oddity.what = self.text(&oddity.what));
            }
            Record::Unit(unit) => {
                // The run of the unit has the same name, in which names are replaced, too.
                unit.unit = self.text(&unit.unit);
                self.maybe(&mut unit.reason);
            }
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
        let mut value = serde_json::to_value(run)?;
        for (name, field) in value.as_object_mut().into_iter().flatten() {
            match name.as_str() {
                "labels" => self.labels(field),
                "argv" => self.words(field),
                name if KEPT.contains(&name) => (),
                name => self.value(field, MAPS.contains(&name)),
            }
        }
        // The configuration has other texts now.
        value["config_sha256"] = sha256_hex(&value["config"]).into();
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
                let pseudonym = self.host(host);
                self.know(host, &pseudonym);
                // Texts name a host without its domain, too; the first part of an address is a number.
                if let Some((name, _)) = host.split_once('.')
                    && !name.bytes().all(|byte| byte.is_ascii_digit())
                {
                    self.know(name, &pseudonym);
                }
            }
        }
        if self.facts.contains(&Fact::User) {
            for user in USERS.iter().filter_map(|name| run.labels.get(*name)) {
                let account = user.split_once('@').map(|(account, _)| account);
                for name in [user.as_str()].into_iter().chain(account) {
                    let pseudonym = format!("user-{}", self.letters(name));
                    self.know(name, &pseudonym);
                }
            }
        }
    }

    /// Takes down `name`, unless it is known; an empty one stands for nothing.
    fn know(&mut self, name: &str, pseudonym: &str) {
        if !name.trim().is_empty() {
            self.names.entry(name.to_owned()).or_insert_with(|| pseudonym.to_owned());
            self.known.entry(name.to_lowercase()).or_insert_with(|| pseudonym.to_owned());
            self.lengths.insert(name.len());
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

    /// Adds a word about the redaction to `labels`, and replaces names in them.
    fn labels(&mut self, labels: &mut Value) {
        let Some(labels) = labels.as_object_mut() else { return };
        // The name of a machine is the submitter's own.
        let machine = labels.remove_entry("machine");
        let mut others = Value::Object(std::mem::take(labels));
        self.value(&mut others, true);
        labels.extend(others.as_object_mut().map(std::mem::take).into_iter().flatten());
        labels.extend(machine);
        let facts: Vec<&str> = self.facts.iter().map(|fact| fact.name()).collect();
        labels.insert(LABEL.into(), facts.join(",").into());
    }

    /// Replaces names in the words of a command line.
    fn words(&mut self, words: &mut Value) {
        for word in words.as_array_mut().into_iter().flatten() {
            if let Value::String(word) = word {
                *word = self.replaced(word, true);
            }
        }
    }

    /// Replaces names in all texts of `value`; those of a map in its keys, too.
    fn value(&mut self, value: &mut Value, is_map: bool) {
        match value {
            Value::String(text) => *text = self.text(text),
            Value::Array(values) => values.iter_mut().for_each(|value| self.value(value, is_map)),
            Value::Object(fields) => {
                for (name, mut value) in std::mem::take(fields) {
                    match &mut value {
                        Value::String(text) if self.has_hosts(&name) => *text = self.list(text),
                        value => self.value(value, is_map || name == "env"),
                    }
                    let is_free = is_map && name != "backend";
                    fields.insert(if is_free { self.text(&name) } else { name }, value);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => (),
        }
    }

    /// True if the variable `name` holds hosts in a form of their own (`hawk-[001-004]`), which have to go.
    fn has_hosts(&self, name: &str) -> bool {
        self.facts.contains(&Fact::Hosts) && OF_HOSTS.iter().any(|part| name.contains(part))
    }

    /// The pseudonym of the whole `text`, a list of hosts.
    fn list(&mut self, text: &str) -> String {
        if text.is_empty() {
            return String::new();
        }
        let known = self.known.get(&text.to_lowercase()).cloned();
        let pseudonym = known.unwrap_or_else(|| format!("hosts-{}", self.letters(text)));
        self.names.insert(text.to_owned(), pseudonym.clone());
        pseudonym
    }

    fn text(&mut self, text: &str) -> String {
        self.replaced(text, false)
    }

    /// `text` with pseudonyms for its names; `is_word` says that it is one word of a command line.
    fn replaced(&mut self, text: &str, is_word: bool) -> String {
        if let Some(name) = self.known.get(&text.to_lowercase()) {
            return name.clone();
        }
        let has_paths = self.facts.contains(&Fact::Paths);
        let (mut found, mut at) = (String::new(), 0);
        while let Some(c) = text[at..].chars().next() {
            let n_path = if has_paths { path(text, at, is_word) } else { 0 };
            if n_path > 0 {
                let name = &text[at..at + n_path];
                let pseudonym = format!("path-{}", self.letters(name));
                found += &pseudonym;
                self.names.insert(name.to_owned(), pseudonym);
                at += n_path;
            } else if let Some((n_bytes, pseudonym)) = self.known_at(text, at) {
                found += pseudonym;
                at += n_bytes;
            } else {
                found.push(c);
                at += c.len_utf8();
            }
        }
        found
    }

    /// The longest known name at the byte `at` of `text`, letter case aside: its number of bytes, and its
    /// pseudonym. It is no part of a longer word, but may have other words behind a `-`.
    fn known_at(&self, text: &str, at: usize) -> Option<(usize, &str)> {
        if text[..at].ends_with(char::is_alphanumeric) {
            return None;
        }
        self.lengths.iter().rev().find_map(|n_bytes| {
            let name = text.get(at..at + n_bytes)?;
            let is_end = !text[at + n_bytes..].starts_with(char::is_alphanumeric);
            let pseudonym = self.known.get(&name.to_lowercase()).filter(|_| is_end)?;
            Some((*n_bytes, pseudonym.as_str()))
        })
    }
}

/// True if `c` may be a part of a name.
fn is_part(c: char) -> bool {
    c.is_alphanumeric() || "-_.".contains(c)
}

/// Number of bytes of the absolute path at the byte `at` of `text`; 0 if there is none. One that a whole
/// word starts with is all of it, whatever the word holds.
fn path(text: &str, at: usize, is_word: bool) -> usize {
    let rest = &text[at..];
    let is_end = |c: char| (c.is_whitespace() && !is_word) || ",:;'\"=()[]".contains(c);
    let is_name = |c: char| c != '/' && !c.is_whitespace() && !is_end(c);
    if !rest.strip_prefix('/').is_some_and(|rest| rest.starts_with(is_name)) {
        return 0;
    }
    let before = text[..at].rsplit(|c| !is_part(c)).next().unwrap_or_default();
    // Inside of a word it is a relative path, unless the word is an option (`-L/lib`).
    let is_option = before.strip_prefix('-').is_some_and(|option| !option.starts_with(is_digit));
    match before {
        "" if is_word && at == 0 => rest.len(),
        "" => rest.find(is_end).unwrap_or(rest.len()),
        _ if is_option => rest.find(is_end).unwrap_or(rest.len()),
        _ => 0,
    }
}

fn is_digit(c: char) -> bool {
    c.is_ascii_digit()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{self, Folder};
    use crate::read::parse_records;
    use crate::record::{Event, OfSuite, Unit, UnitState, Verdict, Word};

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
    fn the_hash_of_a_configuration_is_that_of_the_redacted_one() {
        let text = text().replace("\"config\":{", "\"config\":{\"io_dir\":\"/scratch/alice\",");
        let redacted = redact(text.as_bytes(), &Fact::ALL, b"key").unwrap();
        let Record::Run(run) = &parse_records(&redacted.text).unwrap().records[0] else {
            panic!("a run comes first")
        };
        let config = serde_json::to_value(&run.config).unwrap();
        assert!(config["io_dir"].as_str().unwrap().starts_with("path-"));
        assert_eq!(run.config_sha256, sha256_hex(&config));
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

    /// The redacted text of an example whose records were changed.
    fn redacted(change: impl FnOnce(&mut Vec<Record>)) -> String {
        let mut records = parse_records(text().as_bytes()).unwrap().records;
        change(&mut records);
        let text: String =
            records.iter().map(|record| serde_json::to_string(record).unwrap() + "\n").collect();
        String::from_utf8(redact(text.as_bytes(), &Fact::ALL, b"key").unwrap().text).unwrap()
    }

    fn run_in(records: &mut [Record]) -> &mut Run {
        let Record::Run(run) = &mut records[0] else { panic!("a run comes first") };
        run
    }

    #[test]
    fn variables_of_batch_systems_lose_their_hosts() {
        let found = redacted(|records| {
            let env = &mut run_in(records).launcher.env;
            for (name, value) in [
                ("SLURM_JOB_NODELIST", "hawk-[001-004]"),
                ("SLURM_TOPOLOGY_ADDR", "s0.s1.hawk-001"),
                ("SLURM_CLUSTER_NAME", "hawk-001"),
                ("PBS_JOBID", "7.hawk-001.site"),
                ("LSB_MCPU_HOSTS", "hawk-001 4"),
                ("SLURM_NTASKS", "4096"),
                ("LSB_HOSTS", ""),
            ] {
                env.insert(name.into(), value.into());
            }
        });
        assert!(!found.contains("hawk-0"), "{found}");
        assert!(
            found.contains("\"SLURM_NTASKS\":\"4096\"") && found.contains("\"LSB_HOSTS\":\"\"")
        );
    }

    #[test]
    fn names_are_found_in_any_case_and_inside_of_texts() {
        let found = redacted(|records| {
            let run = run_in(records);
            run.labels.insert("contact".into(), "carol@x.org".into());
            run.labels.insert("note".into(), "ask carol@x.org, CAROL".into());
            run.labels.insert("on node17".into(), "x".into());
            run.config.insert("of-alice".into(), "node17-ib0 NODE17 node17.lab node1700".into());
        });
        for name in
            ["carol", "CAROL", "node17-", "NODE17", "node17.", "node17\"", "-alice", "x.org"]
        {
            assert!(!found.contains(name), "{name}: {found}");
        }
        assert!(found.contains("node1700"), "it is another name: {found}");
    }

    #[test]
    fn paths_are_found_behind_options_and_with_blanks() {
        let found = redacted(|records| {
            run_in(records).argv = [
                "-L/users/bob/lib",
                "-o/users/bob/r.jsonl",
                "a,/users/bob/x",
                "f(/users/bob/y)",
                "/users/bob/my thesis=1/z",
                "--out=/users/bob/my thesis",
                "a/b",
                "-1/2",
            ]
            .map(String::from)
            .to_vec();
        });
        assert!(!found.contains("bob") && !found.contains("thesis"), "{found}");
        assert!(found.contains("\"a/b\",\"-1/2\""), "{found}");
    }

    #[test]
    fn names_of_later_runs_are_known_before() {
        let found = redacted(|records| {
            let mut second = records.clone();
            let run = run_in(&mut second);
            run.run_id = "second".into();
            run.machines[0].nodes = vec!["lumi9".into()];
            run_in(records).config.insert("x".into(), "lumi9".into());
            records.push(second.swap_remove(0));
        });
        assert!(!found.contains("lumi9"), "{found}");
    }

    #[test]
    fn units_of_suites_keep_one_name_and_reasons_lose_theirs() {
        let found = redacted(|records| {
            let run = run_in(records);
            let of_suite = OfSuite { unit: "on node17".into(), ..OfSuite::default() };
            let unit = Unit {
                run_id: run.run_id.clone(),
                suite_sha256: String::new(),
                unit: of_suite.unit.clone(),
                attempt: 1,
                state: UnitState::Begun,
                at: String::new(),
                reason: None,
            };
            run.of_suite = Some(of_suite);
            records.insert(0, Record::Unit(Box::new(unit)));
            let Some(Record::End(end)) = records.last_mut() else { panic!("an end comes last") };
            end.verdict = Some(Verdict {
                word: Word::Wrong,
                reason: "alice on node17".into(),
                precision: None,
            });
        });
        assert!(!found.contains("node17") && !found.contains("alice"), "{found}");
        let unit =
            |line: &str| line.split("\"unit\":\"on ").nth(1).map(|rest| rest[..12].to_owned());
        let units: Vec<_> = found.lines().filter_map(unit).collect();
        assert_eq!(units.len(), 2);
        assert_eq!(units[0], units[1]);
    }

    #[test]
    fn an_empty_label_is_no_name() {
        let found = redacted(|records| {
            run_in(records).labels.insert("user".into(), String::new());
            run_in(records).labels.insert("note".into(), String::new());
        });
        assert!(found.contains("\"note\":\"\""), "{found}");
    }

    #[test]
    fn pseudonyms_are_stable_and_depend_on_the_key() {
        let text = text();
        let [one, same, other] =
            [b"1", b"1", b"2"].map(|key| redact(text.as_bytes(), &Fact::ALL, key).unwrap());
        assert_eq!(one, same);
        assert_ne!(one.names["node17.lab"], other.names["node17.lab"]);
        for (facts, key) in [(&Fact::ALL[..], b"1"), (&[Fact::Hosts][..], b"2")] {
            let again = redact(&one.text, facts, key).unwrap();
            assert_eq!((again.text == one.text, again.names.len()), (true, 0), "it stays as it is");
        }
        let hosts = redact(text.as_bytes(), &[Fact::Hosts], b"1").unwrap();
        let all = redact(&hosts.text, &Fact::ALL, b"1").unwrap();
        assert!(all.names.contains_key("alice"), "other facts are left");
        let both = [&one.text[..], text.as_bytes()].concat();
        assert!(redact(&both, &Fact::ALL, b"1").unwrap().names.contains_key("alice"));
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
