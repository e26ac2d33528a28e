//! The form of a machine file: which tables and keys there are, before any value is understood.
//!
//! Values keep their place in the text, so that an error can name its line.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use toml::Spanned;

/// A value and where it stands.
pub(super) type Entry = Spanned<Value>;

/// A whole file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileForm {
    pub(super) format: Spanned<u64>,
    pub(super) name: Spanned<String>,
    pub(super) summary: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) cite: Vec<String>,
    pub(super) ranks: Option<Spanned<usize>>,
    pub(super) max_ranks: Option<Spanned<usize>>,
    pub(super) envelope: Option<Entry>,
    pub(super) topology: Spanned<TopologyForm>,
    #[serde(default)]
    pub(super) protocol: Vec<Spanned<ProtocolForm>>,
    #[serde(default)]
    pub(super) node: NodeForm,
    #[serde(default)]
    pub(super) clock: ClockForm,
    #[serde(default)]
    pub(super) noise: NoiseForm,
    #[serde(default)]
    pub(super) fault: FaultForm,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TopologyForm {
    pub(super) kind: Kind,
    pub(super) dims: Option<Dims>,
    pub(super) radix: Option<usize>,
    pub(super) switching: Option<Switching>,
    pub(super) link: Option<Entry>,
    pub(super) source: Option<Source>,
    #[serde(rename = "note")]
    _note: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    Flat,
    Hypercube,
    Torus,
    FatTree,
}

#[derive(Clone, Deserialize)]
#[serde(untagged, expecting = "dims is neither a number such as 3 nor a list such as [8, 8, 8]")]
pub(super) enum Dims {
    Auto(usize),
    Given(Vec<usize>),
}

#[derive(Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Switching {
    Circuit,
    CutThrough,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ProtocolForm {
    pub(super) up_to: Option<Entry>,
    pub(super) kind: Protocol,
    pub(super) t0: Entry,
    pub(super) per_byte: Entry,
    pub(super) hop: Option<Entry>,
    pub(super) gap: Option<Entry>,
    pub(super) unexpected: Option<Entry>,
    #[serde(default)]
    pub(super) split: SplitForm,
    pub(super) source: Option<Source>,
    #[serde(rename = "note")]
    _note: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Protocol {
    Eager,
    Buffered,
    Rendezvous,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SplitForm {
    pub(super) o_send: Option<Entry>,
    pub(super) o_recv: Option<Entry>,
    pub(super) handshake: Option<Entry>,
    pub(super) send_per_byte: Option<Entry>,
    pub(super) recv_per_byte: Option<Entry>,
    pub(super) source: Option<Source>,
    #[serde(rename = "note")]
    _note: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NodeForm {
    pub(super) isend: Option<Entry>,
    pub(super) irecv: Option<Entry>,
    pub(super) wait: Option<Entry>,
    pub(super) poll: Option<Entry>,
    pub(super) copy: Option<Entry>,
    pub(super) copy_piece: Option<Entry>,
    pub(super) daxpy: Option<Entry>,
    pub(super) reduce: Option<Entry>,
    pub(super) source: Option<Source>,
    #[serde(rename = "note")]
    _note: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ClockForm {
    pub(super) resolution: Option<Entry>,
    pub(super) call_cost: Option<Entry>,
    pub(super) offset_spread: Option<Entry>,
    pub(super) drift: Option<Entry>,
    pub(super) source: Option<Source>,
    #[serde(rename = "note")]
    _note: Option<String>,
}

/// Values that each kind of `[[noise.source]]` needs are checked by its reader.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NoiseForm {
    #[serde(default)]
    pub(super) seed: u64,
    #[serde(default)]
    pub(super) source: Vec<Spanned<BTreeMap<String, Entry>>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FaultForm {
    #[serde(default)]
    pub(super) slow_rank: Vec<SlowRankForm>,
    #[serde(default)]
    pub(super) delay: Vec<DelayForm>,
    #[serde(default)]
    pub(super) dead_rank: Vec<DeadRankForm>,
    pub(super) drop: Option<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SlowRankForm {
    pub(super) rank: usize,
    pub(super) factor: Entry,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DelayForm {
    pub(super) rank: usize,
    pub(super) operation: u64,
    pub(super) delay: Entry,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DeadRankForm {
    pub(super) rank: usize,
    pub(super) at: Entry,
}

/// A value as it is written, `"79 us"` or `{ value = "79 us", source = "published" }`.
pub(super) struct Value {
    pub(super) text: String,
    pub(super) source: Option<Source>,
}

/// Source of a value.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Source {
    Published,
    Measured,
    Derived,
    Assumed,
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number with a unit such as \"79 us\"")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        Ok(Value { text: text.to_owned(), source: None })
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Value, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Value, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<Value, M::Error> {
        let table = ValueTable::deserialize(MapAccessDeserializer::new(map))?;
        Ok(Value { source: table.source, ..*table.value })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ValueTable {
    value: Box<Value>,
    source: Option<Source>,
    #[serde(rename = "note")]
    _note: Option<String>,
}
