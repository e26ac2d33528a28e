//! Axes: the quantities that kernels vary, and their default values.

use crate::collective::Element;
use crate::sweep::{self, SweepError};
use crate::topology::Topology;

/// Name of the axis whose values are ways to carry out the same operation.
pub const ALGORITHM: &str = "algorithm";

/// Name of the axis with the ranks that are roots in turn.
pub const ROOT: &str = "root";

/// One quantity that a kernel varies; a kernel with a new one declares it in its own file.
///
/// ```
/// use comet_core::kernel::Axis;
/// static STRIDE: Axis = Axis::count("stride", "stride", "ranks between sender and receiver");
/// ```
#[derive(Debug)]
pub struct Axis {
    /// Name with unit, as in the record and in table heads (`length_bytes`); unique.
    pub name: &'static str,
    /// Title of the axis of a figure (`message length`).
    pub title: &'static str,
    /// Unit of the values (`B`, `doubles`); empty for a pure number.
    pub unit: &'static str,
    /// Kind of the values.
    pub kind: AxisKind,
    /// One line of description.
    pub summary: &'static str,
    /// Names of the values 0, 1, 2 … of a [`Choice`](AxisKind::Choice); empty otherwise.
    pub labels: &'static [&'static str],
    /// Value of the word `max` in a sweep; `None` where the word has no meaning.
    pub max: Option<fn(&Topology) -> u64>,
}

/// Kind of the values of an axis, by which readers choose models and figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AxisKind {
    /// Amount of data in the axis' unit, over which times are fitted.
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
    /// Value found by [`Kernel::resolve`](super::Kernel::resolve) during the run, from the values
    /// of other axes.
    Found,
}

impl AxisKind {
    /// Word in the record.
    pub const fn as_str(self) -> &'static str {
        ["size", "side", "distance", "pairs", "intensity", "round", "count", "choice", "found"]
            [self as usize]
    }
}

impl Axis {
    /// An amount of data in `unit`.
    pub const fn size(
        name: &'static str,
        title: &'static str,
        unit: &'static str,
        summary: &'static str,
    ) -> Self {
        Self { name, title, unit, kind: AxisKind::Size, summary, labels: &[], max: None }
    }

    /// This axis with values of the kind `kind`.
    pub const fn of_kind(self, kind: AxisKind) -> Self {
        Self { kind, ..self }
    }

    /// A number of things.
    pub const fn count(name: &'static str, title: &'static str, summary: &'static str) -> Self {
        Self { kind: AxisKind::Count, ..Self::size(name, title, "", summary) }
    }

    /// One of `labels`.
    pub const fn choice(
        name: &'static str,
        summary: &'static str,
        labels: &'static [&'static str],
    ) -> Self {
        Self { kind: AxisKind::Choice, labels, ..Self::size(name, name, "", summary) }
    }

    /// A number of bytes that is found during the run.
    pub const fn found_bytes(name: &'static str, summary: &'static str) -> Self {
        Self { kind: AxisKind::Found, ..Self::size(name, name, "B", summary) }
    }

    /// This axis with `max` as the value of the word `max`.
    pub const fn up_to(self, max: fn(&Topology) -> u64) -> Self {
        Self { max: Some(max), ..self }
    }

    /// Name of the value `value`, if the axis is a choice.
    pub fn label(&self, value: u64) -> Option<&'static str> {
        self.labels.get(usize::try_from(value).ok()?).copied()
    }
}

impl PartialEq for Axis {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Axis {}

/// Length of one message in bytes.
pub static LENGTH_BYTES: Axis =
    Axis::size("length_bytes", "message length", "B", "length of one message in bytes");
/// Number of messages of a window, all in flight at once.
pub static WINDOW: Axis = Axis::count("window", "messages", "number of messages in flight at once");
/// Number of links between the two ranks.
pub static HOPS: Axis = Axis::count("hops", "hops", "number of links between the two ranks")
    .of_kind(AxisKind::Distance)
    .up_to(|topology| topology.max_hops(0) as u64);
/// Number of ranks on which a case runs, from rank 0 on: an axis of every kernel, which none declares.
pub static PROCS: Axis =
    Axis::count("procs", "ranks", "number of ranks on which a case runs, from rank 0 on")
        .up_to(|topology| topology.n_ranks() as u64);
/// Number of groups of `procs` ranks that run a case at once: an axis as [`PROCS`].
pub static GROUPS: Axis =
    Axis::count("groups", "groups", "number of groups of procs ranks that run a case at once")
        .up_to(|topology| topology.n_ranks() as u64);
/// Number of threads of each rank that run a case at once, each with messages of its own.
pub static THREADS: Axis =
    Axis::count("threads", "threads", "threads of each rank, each with messages of its own");
/// Type in which messages are counted, in the order of [`Element::ALL`]: an axis of every kernel whose
/// messages have lengths, but for those that combine elements, and which none declares.
pub static DATATYPE: Axis =
    Axis::choice("datatype", "type in which messages are counted", Element::LABELS);
/// Type of the elements of a reduction, in the order of [`Element::ALL`].
pub static ELEMENT: Axis =
    Axis::choice("element", "type of the elements of a reduction", Element::LABELS);
/// Length of a vector in doubles.
pub static VECTOR_LENGTH: Axis = Axis::size(
    "vector_length",
    "vector length in doubles",
    "doubles",
    "length of a vector in doubles",
);
/// Dimension of the square matrix block of one rank, in doubles.
pub static LOCAL_N: Axis = Axis::size(
    "local_n",
    "dimension of the block of a rank",
    "doubles",
    "dimension of the square matrix block of one rank, in doubles",
)
.of_kind(AxisKind::Side);

/// Extent of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// Everything once over, within 10 s on two cores.
    Quick,
    /// The default: within 2 minutes on two cores.
    Standard,
    /// Dense sweeps and long samples.
    Full,
}

/// An axis of a kernel with the values that it takes by default, in the form of
/// [`sweep`](crate::sweep).
#[derive(Debug)]
pub struct AxisUse {
    /// The axis.
    pub axis: &'static Axis,
    /// Values under [`Profile::Quick`], `Standard` and `Full`; empty for an axis of kind
    /// [`Found`](AxisKind::Found).
    pub sweeps: [&'static str; 3],
}

impl AxisUse {
    /// `axis` with the same default values under every profile.
    pub const fn of(axis: &'static Axis, sweep: &'static str) -> Self {
        Self { axis, sweeps: [sweep; 3] }
    }

    /// The default values under `profile`, or `None` if the kernel finds them during the run.
    pub fn sweep(&self, profile: Profile) -> Option<&'static str> {
        Some(self.sweeps[profile as usize]).filter(|text| !text.is_empty())
    }

    /// The default values under `profile` on ranks of `topology`, ascending, but for choices, which keep
    /// their order; a single 0 if the kernel finds them during the run.
    ///
    /// # Errors
    /// If the sweep cannot be understood.
    pub fn values(&self, profile: Profile, topology: &Topology) -> Result<Vec<u64>, SweepError> {
        let max = self.axis.max.map(|max| max(topology));
        match self.sweep(profile) {
            None => Ok(vec![0]),
            Some(text) if self.axis.kind == AxisKind::Choice => {
                let items = text.split(',').map(|item| sweep::parse(item, max));
                Ok(items.collect::<Result<Vec<_>, _>>()?.concat())
            }
            Some(text) => sweep::parse(text, max),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_keep_the_order_of_their_defaults_and_numbers_ascend() {
        static MODE: Axis = Axis::choice("mode", "one of three", &["a", "b", "c"]);
        let check = |axis, text, expected: &[u64]| {
            let values = AxisUse::of(axis, text).values(Profile::Quick, &Topology::hypercube(2));
            assert_eq!(values.unwrap(), expected, "{text}");
        };
        check(&MODE, "2,0..1", &[2, 0, 1]);
        check(&WINDOW, "2,0..1", &[0, 1, 2]);
    }
}
