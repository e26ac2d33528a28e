//! The effective suite: one suite file without includes, with the layers and the options of the command
//! line in its entries. Measured without options, it measures the same; its hash is that of the plan.

use std::collections::BTreeMap;

use toml::{Table, Value};

use super::keys::VARY;

/// Entry of an effective suite.
#[derive(Debug)]
pub(super) struct Written {
    pub(super) id: String,
    pub(super) kernels: Vec<String>,
    /// Labels from the tables above it.
    pub(super) labels: BTreeMap<String, String>,
    /// Axes and options.
    pub(super) keys: BTreeMap<String, String>,
}

/// Keys that the command line gives to all entries.
#[derive(Debug, Default)]
pub(super) struct Flags {
    pub(super) options: BTreeMap<String, String>,
    /// Values from the environment, behind those of a file.
    pub(super) variables: BTreeMap<String, String>,
    pub(super) axes: BTreeMap<String, String>,
}

impl Flags {
    /// `keys` of an entry whose kernels have `axes`, with those of the command line.
    pub(super) fn over(
        &self,
        keys: BTreeMap<String, String>,
        axes: &[&str],
    ) -> BTreeMap<String, String> {
        let own = self.axes.iter().filter(|(axis, _)| axes.contains(&axis.as_str()));
        let mut all = self.variables.clone();
        all.extend(keys);
        all.extend(self.options.iter().chain(own).map(|(key, value)| (key.clone(), value.clone())));
        all
    }
}

/// The lines of the suite `name` of `entries`, which ends after a time of `limit`. Its keys are sorted, and
/// labels that not all entries have are left out: they are those of the runs.
pub(super) fn lines(name: &str, limit: Option<&str>, entries: Vec<Written>) -> Vec<String> {
    let common = |key: &String, value: &String| {
        entries.iter().all(|entry| entry.labels.get(key) == Some(value))
    };
    let first = entries.first().map(|entry| entry.labels.clone()).unwrap_or_default();
    let machine: Table = first
        .into_iter()
        .filter(|(key, value)| common(key, value))
        .map(|(key, value)| (key, Value::from(value)))
        .collect();
    let mut file = Table::new();
    file.insert("format".into(), Value::Integer(1));
    file.insert("name".into(), name.into());
    if !machine.is_empty() {
        file.insert("machine".into(), machine.into());
    }
    if let Some(limit) = limit {
        file.insert("stop".into(), Table::from_iter([("run".to_owned(), limit.into())]).into());
    }
    let measure = entries.into_iter().map(|entry| {
        let mut table: Table =
            entry.keys.into_iter().map(|(key, value)| (key, Value::from(value))).collect();
        table.insert("id".into(), entry.id.into());
        table.insert("kernel".into(), entry.kernels.into());
        Value::Table(table)
    });
    file.insert("measure".into(), Value::Array(measure.collect()));
    file.to_string().lines().map(str::to_owned).collect()
}

/// `keys` of an entry that varies its axes by turns, for an entry of one of its runs, which has the
/// values `axes`.
pub(super) fn by_turns(
    mut keys: BTreeMap<String, String>,
    axes: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    keys.remove(VARY);
    keys.extend(axes.clone());
    keys
}
