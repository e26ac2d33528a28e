//! Suite files: a TOML file is another way to write command lines of `run`, one for each entry.
//!
//! ```text
//!   builtin:NAME, FILE ──► table ──► layers ──────────────────► words of run ──► RunArgs, one
//!     and what they        keys and   included < including file   as on the        for each entry
//!     include              lines      < entry < command line      command line
//! ```
//!
//! Keys are the options of `run` and the axes of kernels (`keys`), so that what the command line learns
//! a suite file knows. Every value is read by the reader of its option, before a rank is started.

pub(crate) mod builtin;
mod effective;
pub(crate) mod import;
pub(crate) mod journal;
mod keys;
mod layouts;
pub(crate) mod schema;
mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use comet_core::kernel::KernelInfo;

use crate::catalogue;
use crate::cli::RunArgs;
use crate::cli::values::parse_positive_time;
use crate::exit;
use crate::paths;
use crate::selection;
use effective::{Flags, Written};
use keys::{Keys, OF_DEFAULTS, OF_ENTRY, OF_STOP, VARY};
use layouts::Datatypes;
use table::{Item, Place, Table, Tables};

/// Version of the form of suite files.
const FORMAT: &str = "1";
/// The most files of which each includes the next.
const MAX_DEPTH: usize = 16;
/// Start of the names of built-in files.
const BUILT_IN: &str = "builtin:";
/// Refusal of an entry without a kernel.
const NO_KERNEL: &str =
    "an entry without a kernel (write kernel = \"NAME\"; comet-run list has all)";
/// Words of the key [`VARY`]: each list of values in turn, the others at their first one, or all together.
const VARIED: [&str; 2] = ["one", "all"];

/// A suite, ready to run.
#[derive(Debug)]
pub(crate) struct Suite {
    pub(crate) name: String,
    /// Its contents in a phrase.
    pub(crate) about: String,
    pub(crate) entries: Vec<Entry>,
    /// The effective suite: a file without includes that measures the same without options.
    pub(crate) lines: Vec<String>,
    /// Time after which no further entry is started.
    pub(crate) limit: Option<Duration>,
}

/// A run of a suite.
#[derive(Debug)]
pub(crate) struct Entry {
    /// Name of the entry, which several runs share where each varies another axis.
    pub(crate) id: String,
    /// The axis that this run varies, where the entry varies one at a time.
    pub(crate) varied: Option<String>,
    pub(crate) args: RunArgs,
    place: Place,
    /// Its keys, as options and axes are called.
    items: Table,
}

impl Entry {
    /// Name of the run, which no other one of the suite has.
    pub(crate) fn name(&self) -> String {
        let varied = self.varied.as_ref().map(|axis| format!(", varied: {axis}"));
        self.id.clone() + &varied.unwrap_or_default()
    }

    /// `error` about the entry, with the line that it is about.
    pub(crate) fn explain(&self, error: &anyhow::Error) -> anyhow::Error {
        let text = format!("{error:#}");
        let axis = text.strip_prefix("--axis ").and_then(|rest| rest.split_once(": "));
        let of_axis = axis.and_then(|(name, rest)| Some((self.items.get(name)?, name, rest)));
        let option = text.strip_prefix("--").and_then(|rest| rest.split_once(' '));
        let option = option.map(|(name, rest)| (name.replace('-', "_"), rest));
        let of_option = option.and_then(|(key, rest)| Some((self.items.get(&key)?, rest)));
        let sentence = match (of_axis, of_option) {
            (Some((item, name, rest)), _) => format!("{}: {name}: {rest}", item.place),
            (None, Some((item, rest))) => format!("{}: {} {rest}", item.place, item.key),
            (None, None) => format!("{}: {text}", self.place),
        };
        exit::refuse(exit::code_of(error), sentence)
    }
}

/// Contents of the tables above an entry.
#[derive(Clone, Debug, Default)]
struct Layer {
    labels: BTreeMap<String, String>,
    given: Table,
    datatypes: Datatypes,
}

impl Layer {
    /// This layer, but for what `above` has too.
    fn under(mut self, above: Self) -> Self {
        self.labels.extend(above.labels);
        self.given.extend(above.given);
        self
    }
}

/// An entry as it is written, and the layer below it.
struct Raw {
    place: Place,
    own: Table,
    layer: Layer,
}

/// Reads a file, and what it includes.
struct Reader {
    keys: Keys,
    /// The files that are being read, each included by the one before.
    open: Vec<String>,
    raw: Vec<Raw>,
}

/// The suite in the file or built-in file `name`, each entry with the user's `flags` of `run` behind.
pub(crate) fn read(name: &str, flags: &[OsString]) -> anyhow::Result<Suite> {
    read_opened(name, open(name, Path::new(""))?, flags)
}

/// The suite in an `opened` file, as [`read`] reads that of this name.
fn read_opened(name: &str, opened: Opened, flags: &[OsString]) -> anyhow::Result<Suite> {
    let mut reader = Reader { keys: Keys::new(), open: Vec::new(), raw: Vec::new() };
    let (head, limit) = reader.read(opened, &Layer::default())?;
    let word = |key: &str| head.get(key).map(Item::word);
    let stem = || Path::new(name).file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let suite = word("name").or_else(stem).unwrap_or_else(|| name.to_owned());
    let given =
        reader.keys.given(flags).map_err(|error| exit::usage(keys::sentence(&error, "", "")))?;
    let mut entries: Vec<Entry> = Vec::new();
    let mut written = Vec::new();
    let mut names: BTreeMap<String, Place> = BTreeMap::new();
    for raw in std::mem::take(&mut reader.raw) {
        let (of_entry, own) = reader.lower(&suite, raw, flags, &given)?;
        written.extend(own);
        let Some(Entry { id, place, args, .. }) = of_entry.first() else { continue };
        let own = of_entry.iter().map(Entry::name).chain([id.clone()]);
        for name in own.collect::<BTreeSet<_>>() {
            if let Some(other) = names.insert(name.clone(), place.clone()) {
                return Err(place.refuse(format_args!(
                    "'{name}' is a name of the entry in {other} too (give it another: id = \"NAME\")"
                )));
            }
        }
        if let Some(first) = entries.first() {
            require_one_job(&first.args, args).map_err(|reason| place.refuse(reason))?;
        }
        entries.extend(of_entry);
    }
    if entries.is_empty() {
        let reason =
            "measures nothing (write [[measure]] with kernel = \"NAME\", or include others)";
        return Err(exit::usage(format!("{name} {reason}")));
    }
    let word_of_limit = limit.as_ref().map(Item::word);
    let lines = effective::lines(&suite, word_of_limit.as_deref(), written);
    let limit = limit
        .map(|item| parse_positive_time(&item.word()).map_err(|reason| item.place.refuse(reason)));
    Ok(Suite {
        name: suite,
        about: word("about").unwrap_or_default(),
        entries,
        lines,
        limit: limit.transpose()?,
    })
}

impl Reader {
    /// Reads a file that was opened, under the layer of the file that includes it; returns its head and the
    /// time of all entries.
    fn read(
        &mut self,
        (file, folder, text): Opened,
        above: &Layer,
    ) -> anyhow::Result<(Table, Option<Item>)> {
        let mut tables = table::read(&file, &text)?;
        let datatypes = layouts::read(std::mem::take(&mut tables.layout), &above.datatypes)?;
        let of_entries = tables.measure.iter_mut().map(|(_, entry)| entry);
        for table in of_entries.chain([&mut tables.defaults]) {
            layouts::resolve(table, &datatypes);
        }
        let Tables { head, machine, defaults, stop, measure, .. } = tables;
        if let Some(format) = head.get("format").filter(|format| format.word() != FORMAT) {
            let found = format.word();
            return Err(format.place.refuse(format_args!(
                "format {found} is not known, this comet-run reads {FORMAT} (write format = {FORMAT})"
            )));
        }
        let axes: Vec<&str> = catalogue::axes().into_keys().collect();
        self.keys.admit(&defaults, &OF_DEFAULTS, &axes, "[defaults]")?;
        let mut given = defaults;
        let mut limit = None;
        for (key, item) in stop {
            match OF_STOP.iter().find(|(name, _)| *name == key) {
                Some(("run", _)) => limit = Some(item),
                Some((_, option)) => {
                    self.keys.admit_option(option, &item)?;
                    given.insert((*option).to_owned(), item);
                }
                None => {
                    let known = OF_STOP.map(|(name, _)| name);
                    let guess = selection::guess(&key, known.into_iter());
                    return Err(item.place.refuse(format_args!(
                        "'{key}' is no key of [stop]{guess} (it has {})",
                        known.join(", ")
                    )));
                }
            }
        }
        let labels = machine.into_iter().map(|(key, item)| (key, item.word())).collect();
        let layer = Layer { labels, given, datatypes }.under(above.clone());
        self.open.push(file);
        if let Some(include) = head.get("include") {
            for other in &include.values {
                let is_open = self.open.contains(&file_name(other, &folder));
                if is_open || self.open.len() >= MAX_DEPTH {
                    return Err(include.place.refuse(format_args!(
                        "{other} includes itself, by way of {} (leave one include out)",
                        self.open.join(", ")
                    )));
                }
                let opened = open(other, &folder);
                let opened = opened.map_err(|e| include.place.refuse(format_args!("{e:#}")))?;
                self.read(opened, &layer)?;
            }
        }
        self.open.pop();
        let raw = measure.into_iter().map(|(place, own)| Raw { place, own, layer: layer.clone() });
        self.raw.extend(raw);
        Ok((head, limit))
    }

    /// The keys `given` that have an effect on kernels with `axes`, as the effective suite has them.
    fn written_keys(&self, given: &Table, axes: &[&str]) -> BTreeMap<String, String> {
        let has_effect = |key: &str| {
            let is_option = !self.keys.is_axis(key) && !OF_ENTRY.contains(&key);
            is_option || axes.contains(&key) || key == VARY
        };
        let written = given.iter().filter(|(key, _)| has_effect(key));
        written.map(|(key, item)| (key.clone(), item.word())).collect()
    }

    /// The runs of an entry of `suite`, one for each axis that it varies alone, with the user's `flags`,
    /// which give the keys of `by_flags`; and the entry as the effective suite has it.
    fn lower(
        &mut self,
        suite: &str,
        raw: Raw,
        flags: &[OsString],
        by_flags: &Flags,
    ) -> anyhow::Result<(Vec<Entry>, Vec<Written>)> {
        let Raw { place, own, layer } = raw;
        let kernel = own.get("kernel").ok_or_else(|| place.refuse(NO_KERNEL))?;
        let kernels = kernels(kernel)?;
        let axes = self.keys.axes_of(&kernels);
        self.keys.admit(&own, &OF_ENTRY, &axes, &format!("an entry of {}", kernel.word()))?;
        let id = own.get("id").unwrap_or(kernel).word();
        let mut given = layer.given;
        given.extend(own.clone());
        let is_by_turns = is_by_turns(&given)?;
        let mut words: Vec<String> = kernel.values.clone();
        let of_suite = [("suite".into(), suite.to_owned())];
        let labels = layer.labels.clone().into_iter().chain(of_suite);
        words.extend(labels.map(|(key, value)| format!("--label={key}={value}")));
        let mut of_axes: Vec<(String, Item)> = Vec::new();
        let keys = self.written_keys(&given, &axes);
        let items = given.clone();
        for (key, item) in given {
            if axes.contains(&&*key) || key == layouts::KEY {
                // The values of the command line stand behind, and win.
                if !by_flags.axes.contains_key(&key) && !by_flags.options.contains_key(&key) {
                    of_axes.push((key, item));
                }
            } else if !OF_ENTRY.contains(&&*key) && !self.keys.is_axis(&key) {
                words.push(keys::option(&key, &item));
            }
        }
        let varied = turns(&of_axes, is_by_turns);
        // With values of the command line an entry by turns is no entry of a file any more.
        let is_apart = is_by_turns
            && (axes.iter().any(|axis| by_flags.axes.contains_key(*axis))
                || by_flags.options.contains_key(layouts::KEY));
        let write = |id: &str, keys| Written {
            id: id.to_owned(),
            kernels: kernel.values.clone(),
            labels: layer.labels.clone(),
            keys: by_flags.over(keys, &axes),
        };
        let mut written = Vec::new();
        let mut entries = Vec::new();
        for varied in varied {
            let mut own_axes = BTreeMap::new();
            let mut words = words.clone();
            let (id, label) = match &varied {
                Some(axis) if is_apart => (format!("{id}.{axis}"), None),
                label => (id.clone(), label.clone()),
            };
            words.push(format!("--label=entry={id}"));
            words.extend(label.iter().map(|key| format!("--label=varied={key}")));
            for (key, item) in &of_axes {
                let is_held = varied.as_ref().is_some_and(|varied| varied != key);
                let values = if is_held { item.first(key).word() } else { item.word() };
                let option = if key == layouts::KEY { "" } else { "axis=" };
                words.push(format!("--{option}{key}={values}"));
                own_axes.insert(key.clone(), values);
            }
            if is_apart {
                written.push(write(&id, effective::by_turns(keys.clone(), &own_axes)));
            }
            let mut args = self
                .keys
                .parse(&words, flags)
                .map_err(|error| place.refuse(keys::sentence(&error, "", "")))?;
            // Behind the kernels stands what selected the suite.
            args.plan.select.truncate(kernel.values.len());
            let (place, items) = (place.clone(), items.clone());
            entries.push(Entry { id, varied: label, args, place, items });
        }
        if !is_apart {
            written.push(write(&id, keys));
        }
        Ok((entries, written))
    }
}

/// True if an entry with the keys `given` varies its axes by turns.
fn is_by_turns(given: &Table) -> anyhow::Result<bool> {
    match given.get(VARY).map(|item| (item.word(), &item.place)) {
        None => Ok(false),
        Some((word, _)) if VARIED.contains(&&*word) => Ok(word == VARIED[0]),
        Some((word, place)) => {
            let known = VARIED.join(" or ");
            Err(place.refuse(format_args!("'{word}' for vary: it is {known}")))
        }
    }
}

/// The axis that each run of an entry varies alone, of those with several values.
fn turns(of_axes: &[(String, Item)], is_by_turns: bool) -> Vec<Option<String>> {
    let lists = of_axes.iter().filter(|(key, item)| item.is_several(key));
    let lists: Vec<_> = lists.map(|(key, _)| Some(key.clone())).collect();
    if is_by_turns && !lists.is_empty() { lists } else { vec![None] }
}

/// The kernels that the key `kernel` names.
fn kernels(kernel: &Item) -> anyhow::Result<Vec<&'static KernelInfo>> {
    let infos = catalogue::infos();
    let find = |name: &String| selection::find(name, &infos);
    let found: Result<Vec<_>, _> = kernel.values.iter().map(find).collect();
    let found = found.map_err(|error| kernel.place.refuse(format_args!("{error:#}")))?;
    Ok(found.concat())
}

/// Refuses an entry whose ranks are started in another way than those of the first.
fn require_one_job(first: &RunArgs, other: &RunArgs) -> Result<(), String> {
    let facts = |args: &RunArgs| {
        let world = &args.plan.world;
        [
            ("transport", Some(world.transport.clone())),
            ("machine", world.machine.clone()),
            ("seed", world.seed.map(|seed| seed.to_string())),
            ("unsteady", world.unsteady.map(|percent| percent.to_string())),
            ("thread_level", world.thread_level.clone()),
        ]
    };
    let word = |value: Option<String>| value.unwrap_or_else(|| "none".into());
    match facts(first).into_iter().zip(facts(other)).find(|(first, other)| first != other) {
        None => Ok(()),
        Some(((key, first), (_, other))) => Err(format!(
            "{key} is {} here and {} in the first entry, but one for all entries (write it in the \
             [defaults] of the file that includes the others)",
            word(other),
            word(first)
        )),
    }
}

/// The file that `name` means in `folder`, as its user calls it.
fn file_name(name: &str, folder: &Path) -> String {
    match name.starts_with(BUILT_IN) {
        true => name.to_owned(),
        false => folder.join(name).display().to_string(),
    }
}

/// A file as its user calls it, its folder, and its text.
type Opened = (String, PathBuf, String);

/// The file `name` in `folder`.
fn open(name: &str, folder: &Path) -> anyhow::Result<Opened> {
    let file = file_name(name, folder);
    if let Some(built_in) = name.strip_prefix(BUILT_IN) {
        return Ok((file, PathBuf::new(), builtin::text(built_in)?.to_owned()));
    }
    let path = Path::new(&file);
    paths::refuse_device(path)?;
    let text = fs::read_to_string(path).map_err(|error| {
        let known: BTreeSet<&str> = builtin::names().collect();
        let instead = match known.contains(name) {
            true => format!("write {BUILT_IN}{name} for the built-in one"),
            false => paths::remedy(&error).into(),
        };
        exit::usage(format!("cannot read {file}: {error} ({instead})"))
    })?;
    let folder = path.parent().unwrap_or(Path::new("")).to_owned();
    Ok((file, folder, text))
}

/// The text of the file or built-in file `name`.
pub(crate) fn text(name: &str) -> anyhow::Result<String> {
    Ok(open(name, Path::new(""))?.2)
}

#[cfg(test)]
mod tests;
