//! Wire types of the kernels of a run, so that a reader needs no table of kernels.

use comet_core::kernel::{self, AxisUse, Class, KernelInfo};
use serde::{Deserialize, Serialize};

/// Description of one kernel of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct KernelFacts {
    /// Suite and name (`comet/echo`).
    pub id: String,
    /// Kind of communication (`p2p`, `exchange`, `collective`, `sync` …).
    pub class: String,
    /// The ranks that take part in one operation.
    #[serde(with = "Participants")]
    #[cfg_attr(test, schemars(with = "Participants"))]
    pub participants: kernel::Participants,
    /// Evaluation of its points, beyond that of its class and its axes. Since minor version 6.
    #[serde(with = "Evaluation", default)]
    #[cfg_attr(test, schemars(with = "Evaluation"))]
    pub evaluation: kernel::Evaluation,
    /// Id of the collective of which this kernel is the naive form. Since minor version 10.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline_for: Option<String>,
    /// Axes, slowest first.
    pub axes: Vec<AxisFacts>,
    /// Quantities that are measured at each case.
    pub series: Vec<SeriesFacts>,
}

/// The ranks that take part in one operation.
#[derive(Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(remote = "kernel::Participants", rename_all = "lowercase")]
enum Participants {
    /// Rank 0 alone.
    One,
    /// Two ranks.
    Pair,
    /// More than two ranks, but not all.
    Group,
    /// All ranks of the run.
    All,
}

/// Evaluation of the points of a kernel.
#[derive(Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(remote = "kernel::Evaluation", rename_all = "snake_case")]
enum Evaluation {
    /// That of its class and its axes.
    Plain,
    /// `LogGP` from trains of messages.
    Trains,
    /// Comparison of the ranks, each of which does the same work.
    RankWork,
    /// Bound for the rates of messages of the same lengths. Since minor version 8.
    MemoryCopy,
}

/// Description of one axis of a kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AxisFacts {
    /// Name of the parameter (`length_bytes`).
    pub name: String,
    /// Title of the axis of a figure (`message length`).
    pub title: String,
    /// Unit of the values (`B`, `doubles`); empty for a pure number.
    pub unit: String,
    /// Kind of the values.
    #[serde(with = "AxisKind")]
    #[cfg_attr(test, schemars(with = "AxisKind"))]
    pub kind: kernel::AxisKind,
    /// One line of description.
    pub summary: String,
}

/// Kind of the values of an axis.
#[derive(Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(remote = "kernel::AxisKind", rename_all = "lowercase")]
enum AxisKind {
    /// Amount of data in the axis' unit.
    Size,
    /// Side of a square of data in the axis' unit.
    Side,
    /// Number of links between two ranks.
    Distance,
    /// Number of pairs of ranks that share the links of their nodes.
    Pairs,
    /// Operations for each word that moves.
    Intensity,
    /// Number of a round in which each rank meets another one.
    Round,
    /// Number of things.
    Count,
    /// One of several names.
    Choice,
    /// Value found during the run, which may differ between two runs of a command.
    Found,
}

/// Description of one series of a kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SeriesFacts {
    /// Name of the series.
    pub name: String,
    /// Meaning of the number (`one_way_time`, `op_time`).
    pub quantity: String,
    /// Rule by which samples of the ranks make one value, if the user asks for no other.
    pub definition: String,
}

/// The axes of a model or a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Over {
    /// Length of a message, in bytes.
    Message,
    /// Length of a vector, in another unit.
    Vector,
    /// The axis of this kind.
    Kind(kernel::AxisKind),
}

impl KernelFacts {
    /// The axis `name`.
    pub fn axis(&self, name: &str) -> Option<&AxisFacts> {
        self.axes.iter().find(|axis| axis.name == name)
    }

    /// The first axis of `over`.
    pub(crate) fn over(&self, over: Over) -> Option<&AxisFacts> {
        let is_size = |axis: &AxisFacts| axis.kind == kernel::AxisKind::Size;
        self.axes.iter().find(|axis| match over {
            Over::Message => is_size(axis) && axis.unit == "B",
            Over::Vector => is_size(axis) && axis.unit != "B",
            Over::Kind(kind) => axis.kind == kind,
        })
    }

    /// Names of the axes of amounts of data.
    pub fn sizes(&self) -> impl Iterator<Item = &str> {
        let is_size = |axis: &&AxisFacts| {
            matches!(axis.kind, kernel::AxisKind::Size | kernel::AxisKind::Side)
        };
        self.axes.iter().filter(is_size).map(|axis| axis.name.as_str())
    }

    /// True if the parameter `name` was found during the run.
    pub(crate) fn is_found(&self, name: &str) -> bool {
        self.axis(name).is_some_and(|axis| axis.kind == kernel::AxisKind::Found)
    }

    /// The class, if it is one that kernels of CoMet have.
    pub(crate) fn class(&self) -> Option<Class> {
        Class::ALL.into_iter().find(|class| class.as_str() == self.class)
    }
}

impl From<&KernelInfo> for KernelFacts {
    fn from(info: &KernelInfo) -> Self {
        let series = info.series.iter().map(|series| SeriesFacts {
            name: series.name.into(),
            quantity: series.quantity.name().into(),
            definition: series.definition.name().into(),
        });
        Self {
            id: info.id(),
            class: info.class.as_str().into(),
            participants: info.participants,
            evaluation: info.evaluation,
            baseline_for: info.baseline_for.map(Into::into),
            axes: info.axes.iter().map(AxisFacts::from).collect(),
            series: series.collect(),
        }
    }
}

impl From<&AxisUse> for AxisFacts {
    fn from(used: &AxisUse) -> Self {
        let kernel::Axis { name, title, unit, kind, summary, .. } = *used.axis;
        let [name, title, unit, summary] = [name, title, unit, summary].map(str::to_owned);
        Self { name, title, unit, kind, summary }
    }
}
