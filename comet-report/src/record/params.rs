//! Parameters of a point: an object whose entries keep the kernel's order.

use std::collections::BTreeMap;
use std::fmt;

use comet_core::kernel::Buffers;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::fingerprint::sha256_hex;

/// Names and values of a point's parameters, slowest axis first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Params(pub Vec<(String, Param)>);

/// Name of the parameter with the number of ranks, which is no axis of a kernel.
pub const RANKS: &str = "procs";
/// Name of the parameter with the mode of the buffers, which is there if it is not the default.
pub(crate) const BUFFERS: &str = "buffers";
/// Name of the parameter with a word for the graph of neighbours, which is there if the user gave one.
pub(crate) const GRAPH: &str = "graph";
/// Name of the parameter with the layout of the messages, which is there if the user gave one.
pub(crate) const LAYOUT: &str = "layout";
/// The layout without gaps.
pub(crate) const CONTIGUOUS: &str = "contiguous";
/// Names of the parameters with the numbers of rows and columns of the mesh.
pub const MESH: [&str; 2] = ["mesh_rows", "mesh_cols"];

/// The mode of the buffers in the settings `config` of a run, if it is not the default.
pub(crate) fn buffers(config: &BTreeMap<String, serde_json::Value>) -> Option<String> {
    let mode = config.get("buffer_mode")?.as_str()?;
    Some(mode.to_owned()).filter(|mode| *mode != Buffers::Same.name())
}

/// A word for the graph of neighbours in the settings `config` of a run, if there is one: the start of the
/// digest of its edges.
pub(crate) fn graph(config: &BTreeMap<String, serde_json::Value>) -> Option<String> {
    let edges = config.get("graph").filter(|edges| edges.is_array())?;
    Some(sha256_hex(edges)[..8].to_owned())
}

/// The layouts of the messages in the settings `config` of a run: their names.
pub(crate) fn layouts(config: &BTreeMap<String, serde_json::Value>) -> Vec<String> {
    let names = config.get("layout").and_then(serde_json::Value::as_array);
    names.into_iter().flatten().filter_map(|name| name.as_str().map(str::to_owned)).collect()
}

impl Params {
    /// The value of `name`, if there is one.
    pub fn get(&self, name: &str) -> Option<&Param> {
        self.0.iter().find(|(other, _)| other == name).map(|(_, value)| value)
    }

    /// The number of ranks.
    pub fn ranks(&self) -> Option<u64> {
        self.number(RANKS)
    }

    /// The parameters but for those in `names`.
    pub fn without(&self, names: &[&str]) -> Self {
        let is_kept = |(name, _): &&(String, Param)| !names.contains(&name.as_str());
        Self(self.0.iter().filter(is_kept).cloned().collect())
    }

    /// The value of `name`, if there is one and it is a number.
    pub fn number(&self, name: &str) -> Option<u64> {
        match self.get(name)? {
            Param::Number(number) => Some(*number),
            Param::Label(_) => None,
        }
    }
}

/// All of them in a line: `hops=1 length_bytes=8`.
impl fmt::Display for Params {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = self.0.iter().map(|(name, value)| format!("{name}={value}"));
        f.write_str(&words.collect::<Vec<_>>().join(" "))
    }
}

/// Value of one parameter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged, expecting = "a parameter is neither a whole number from 0 nor a text")]
pub enum Param {
    /// A number, in the unit that the parameter's name says.
    Number(u64),
    /// Name of a value on an axis that is no number.
    Label(String),
}

impl fmt::Display for Param {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Label(label) => label.fmt(f),
        }
    }
}

impl Serialize for Params {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

impl<'de> Deserialize<'de> for Params {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Entries)
    }
}

/// Reads an object entry by entry.
struct Entries;

impl<'de> Visitor<'de> for Entries {
    type Value = Params;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of numbers and labels")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Params, M::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Params(entries))
    }
}

#[cfg(test)]
impl schemars::JsonSchema for Params {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Params".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        std::collections::BTreeMap::<String, Param>::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::points::PointMaker;

    #[test]
    fn a_mode_of_the_buffers_is_a_parameter_and_so_in_the_key_where_it_is_not_the_default() {
        let point = |mode: &str| {
            let config = [("buffer_mode".to_owned(), mode.into())].into();
            let mut maker = PointMaker::new("id", &fixture::topology());
            maker.buffers = buffers(&config);
            maker.measured(&fixture::echo(8)).remove(0)
        };
        let [same, rotate, other] = ["same", "rotate", "offcache:64"].map(point);
        assert_eq!(same.params.to_string(), "hops=1 length_bytes=8 procs=2");
        assert_eq!(rotate.params.to_string(), "hops=1 length_bytes=8 procs=2 buffers=rotate");
        assert!(same.key != rotate.key && rotate.key != other.key);
        assert_eq!(buffers(&BTreeMap::new()), None, "records before minor version 8");
    }

    #[test]
    fn parameters_keep_their_order_and_their_kinds() {
        let text = r#"{"hops":1,"direction":"row","length_bytes":8}"#;
        let params: Params = serde_json::from_str(text).unwrap();
        assert_eq!(params.get("direction"), Some(&Param::Label("row".into())));
        assert_eq!(params.get("length_bytes"), Some(&Param::Number(8)));
        assert_eq!(params.get("bytes"), None);
        assert_eq!((params.number("hops"), params.number("direction")), (Some(1), None));
        assert_eq!(params.to_string(), "hops=1 direction=row length_bytes=8");
        assert_eq!(serde_json::to_string(&params).unwrap(), text);
    }
}
