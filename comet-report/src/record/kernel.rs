//! Wire types of the kernels of a run, so that a reader needs no table of kernels.

use comet_core::kernel::{self, AxisUse, Class, KernelInfo, Series};
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
    pub participants: Participants,
    /// Axes, slowest first.
    pub axes: Vec<AxisFacts>,
    /// Quantities that are measured at each case.
    pub series: Vec<SeriesFacts>,
}

/// The ranks that take part in one operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Participants {
    /// Rank 0 alone.
    One,
    /// Two ranks.
    Pair,
    /// More than two ranks, but not all.
    Group,
    /// All ranks of the run.
    #[default]
    All,
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
    pub kind: AxisKind,
    /// One line of description.
    pub summary: String,
}

/// Kind of the values of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum AxisKind {
    /// Amount of data in the axis' unit.
    Size,
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

impl KernelFacts {
    /// The axis `name`.
    #[must_use]
    pub fn axis(&self, name: &str) -> Option<&AxisFacts> {
        self.axes.iter().find(|axis| axis.name == name)
    }

    /// Names of the axes of sizes.
    pub(crate) fn sizes(&self) -> impl Iterator<Item = &str> {
        let sizes = self.axes.iter().filter(|axis| axis.kind == AxisKind::Size);
        sizes.map(|axis| axis.name.as_str())
    }

    /// Whether the parameter `name` was found during the run.
    pub(crate) fn is_found(&self, name: &str) -> bool {
        self.axis(name).is_some_and(|axis| axis.kind == AxisKind::Found)
    }

    /// The class, if it is one that kernels of CoMet have.
    pub(crate) fn class(&self) -> Option<Class> {
        Class::ALL.into_iter().find(|class| class.as_str() == self.class)
    }
}

impl From<&KernelInfo> for KernelFacts {
    fn from(info: &KernelInfo) -> Self {
        Self {
            id: info.id(),
            class: info.class.as_str().into(),
            participants: info.participants.into(),
            axes: info.axes.iter().map(AxisFacts::from).collect(),
            series: info.series.iter().map(SeriesFacts::from).collect(),
        }
    }
}

impl From<kernel::Participants> for Participants {
    fn from(participants: kernel::Participants) -> Self {
        match participants {
            kernel::Participants::One => Self::One,
            kernel::Participants::Pair => Self::Pair,
            kernel::Participants::Group => Self::Group,
            kernel::Participants::All => Self::All,
        }
    }
}

impl From<&AxisUse> for AxisFacts {
    fn from(used: &AxisUse) -> Self {
        let kernel::Axis { name, title, unit, kind, summary, .. } = *used.axis;
        let kind = match kind {
            kernel::AxisKind::Size => AxisKind::Size,
            kernel::AxisKind::Count => AxisKind::Count,
            kernel::AxisKind::Choice => AxisKind::Choice,
            kernel::AxisKind::Found => AxisKind::Found,
        };
        let [name, title, unit, summary] = [name, title, unit, summary].map(str::to_owned);
        Self { name, title, unit, kind, summary }
    }
}

impl From<&Series> for SeriesFacts {
    fn from(series: &Series) -> Self {
        Self {
            name: series.name.into(),
            quantity: series.quantity.name().into(),
            definition: series.definition.name().into(),
        }
    }
}
