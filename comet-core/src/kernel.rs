//! What a kernel is: a value that knows its description, proves that its data arrives, and
//! measures one case.

use crate::context::Context;
use crate::definition::{Definition, Quantity};
use crate::error::TransportError;
use crate::event::History;
use crate::topology::Topology;
use crate::transport::Transport;
use comet_stats::Summary;

/// The most axes that one kernel may declare.
pub const MAX_AXES: usize = 8;
/// The most series that one kernel may measure.
pub const MAX_SERIES: usize = 4;

/// One quantity that a kernel varies; a kernel with a new one declares it in its own file.
#[derive(Debug, PartialEq, Eq)]
pub struct Axis {
    /// Name with unit, as in the record and in table heads (`length_bytes`).
    pub name: &'static str,
    /// What it is, in one line.
    pub summary: &'static str,
    /// Names of the values 0, 1, 2 … of an axis that is no number; empty otherwise.
    pub labels: &'static [&'static str],
}

/// Length of one message in bytes.
pub static LENGTH_BYTES: Axis =
    Axis { name: "length_bytes", summary: "length of one message in bytes", labels: &[] };
/// Number of links between the two ranks.
pub static HOPS: Axis =
    Axis { name: "hops", summary: "number of links between the two ranks", labels: &[] };
/// Length of a vector in doubles.
pub static VECTOR_LENGTH: Axis =
    Axis { name: "vector_length", summary: "length of a vector in doubles", labels: &[] };
/// Dimension of the square matrix block of one rank, in doubles.
pub static LOCAL_N: Axis = Axis {
    name: "local_n",
    summary: "dimension of the square matrix block of one rank, in doubles",
    labels: &[],
};

/// How thoroughly to measure.
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
    /// Which axis.
    pub axis: &'static Axis,
    /// Values under [`Profile::Quick`], `Standard` and `Full`. All empty for an axis that
    /// [`Kernel::resolve`] fills in during the run.
    pub sweeps: [&'static str; 3],
}

impl AxisUse {
    /// The default values under `profile`, or `None` if the kernel finds them during the run.
    #[must_use]
    pub fn sweep(&self, profile: Profile) -> Option<&'static str> {
        Some(self.sweeps[profile as usize]).filter(|text| !text.is_empty())
    }
}

/// How operations follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timing {
    /// A repetition on the test node starts when the one before has ended on all ranks, so that
    /// any number of them may lie between two clock reads.
    Batched,
    /// Another rank may be one repetition ahead of the test node: several lie between two clock
    /// reads, or their phase would be measured rather than their time.
    Pipelined,
    /// Repetitions would run into each other: one operation between two clock reads, before which
    /// all ranks start together.
    Single,
}

impl Timing {
    /// Whether the ranks start each sample together.
    #[must_use]
    pub fn starts_together(self) -> bool {
        self == Self::Single
    }
}

/// One quantity that a kernel measures at each case.
#[derive(Debug)]
pub struct Series {
    /// Name, unique within its kernel (`echo`, `synchronous`).
    pub name: &'static str,
    /// What the number is.
    pub quantity: Quantity,
    /// How samples of the ranks make one value, if the user asks for nothing else.
    pub definition: Definition,
    /// Whether the least value is the figure to quote, rather than the median.
    pub quote_minimum: bool,
    /// Bytes that one operation moves, for the bandwidth; `None` where there is none.
    pub bytes_per_op: fn(&Case) -> Option<u64>,
}

/// Everything about a kernel that needs no running transport.
#[derive(Debug)]
pub struct KernelInfo {
    /// Name of the suite (`comet`).
    pub suite: &'static str,
    /// Name within the suite (`echo`); no command of `comet-run` is called so.
    pub name: &'static str,
    /// One line of at most 72 characters, without a full stop.
    pub summary: &'static str,
    /// Where it comes from: seed and section.
    pub source: &'static str,
    /// Kind of communication, as in the record: `p2p`, `exchange`, `contention`, `overlap`,
    /// `compute`; and
    /// those in which all ranks take part in one operation, `collective`, `sync` and `matrix`, which
    /// use [`Context::time_collective`] and so can be measured by other definitions than their own.
    pub class: &'static str,
    /// What other suites call it (`IMB:PingPong`).
    pub aliases: &'static [&'static str],
    /// What may vary, slowest first.
    pub axes: &'static [AxisUse],
    /// What is measured at each case.
    pub series: &'static [Series],
    /// How operations follow each other.
    pub timing: Timing,
    /// Whether a case can run on these ranks; if not, why, as one sentence.
    pub admits: fn(&Case, &Topology) -> Result<(), String>,
    /// Memory that one rank needs for a case, in bytes.
    pub bytes_per_rank: fn(&Case) -> u64,
    /// Ids of kernels whose results this one needs from the same run.
    pub requires: &'static [&'static str],
}

impl KernelInfo {
    /// `suite/name`.
    #[must_use]
    pub fn id(&self) -> String {
        format!("{}/{}", self.suite, self.name)
    }

    /// Whether both describe one kernel.
    #[must_use]
    pub(crate) fn is_of_kernel(&self, other: &Self) -> bool {
        (self.suite, self.name) == (other.suite, other.name)
    }

    /// Whether `definition` makes sense here: all but D4 where all ranks take part in one
    /// operation, without the two that need another barrier if it is a barrier itself; elsewhere
    /// the kernel's own alone.
    #[must_use]
    pub fn admits_definition(&self, definition: Definition) -> bool {
        let needs_barrier =
            matches!(definition, Definition::ClosedByBarrier | Definition::BarrierSubtracted);
        match self.class {
            "collective" | "matrix" => definition != Definition::HalfRoundTrip,
            "sync" => definition != Definition::HalfRoundTrip && !needs_barrier,
            _ => false,
        }
    }

    /// The definition of a series if `wanted` is asked for.
    #[must_use]
    pub fn definition_under(&self, series: usize, wanted: Option<Definition>) -> Definition {
        let own = self.series[series].definition;
        wanted.filter(|definition| self.admits_definition(*definition)).unwrap_or(own)
    }

    /// How operations follow each other if the definition `wanted` is asked for.
    #[must_use]
    pub fn timing_under(&self, wanted: Option<Definition>) -> Timing {
        match wanted.filter(|definition| self.admits_definition(*definition)) {
            None => self.timing,
            Some(definition) if definition.starts_together() => Timing::Single,
            Some(Definition::ClosedByBarrier | Definition::BarrierSubtracted) => Timing::Batched,
            Some(_) => Timing::Pipelined,
        }
    }
}

/// One point of a kernel's sweeps.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// The kernel.
    pub info: &'static KernelInfo,
    values: [u64; MAX_AXES],
}

impl Case {
    /// The case of `info` with `values` in the order of its axes; missing ones are 0.
    ///
    /// # Panics
    /// If there are more values than axes.
    #[must_use]
    pub fn new(info: &'static KernelInfo, values: &[u64]) -> Self {
        assert!(values.len() <= info.axes.len(), "{} has fewer axes", info.id());
        let mut all = [0; MAX_AXES];
        all[..values.len()].copy_from_slice(values);
        Self { info, values: all }
    }

    /// Value on `axis`.
    ///
    /// # Panics
    /// If the kernel does not declare `axis`.
    #[must_use]
    pub fn value(&self, axis: &Axis) -> u64 {
        self.find(axis).unwrap_or_else(|| panic!("{} has no {}", self.info.id(), axis.name))
    }

    /// Value on `axis` as a length in memory.
    ///
    /// # Panics
    /// If the kernel does not declare `axis`, or if memory cannot hold that much.
    #[must_use]
    pub fn length(&self, axis: &Axis) -> usize {
        usize::try_from(self.value(axis)).expect("plans hold lengths that fit into memory")
    }

    /// Value on `axis`, if the kernel declares it.
    #[must_use]
    pub fn find(&self, axis: &Axis) -> Option<u64> {
        let index = self.info.axes.iter().position(|used| used.axis == axis)?;
        Some(self.values[index])
    }

    /// This case with another value on `axis`.
    ///
    /// # Panics
    /// If the kernel does not declare `axis`.
    #[must_use]
    pub fn with(mut self, axis: &Axis, value: u64) -> Self {
        let index = self.info.axes.iter().position(|used| used.axis == axis);
        self.values[index.expect("a kernel sets only axes that it declares")] = value;
        self
    }

    /// Axes and values, in the kernel's order.
    pub fn values(&self) -> impl Iterator<Item = (&'static Axis, u64)> {
        self.info.axes.iter().map(|used| used.axis).zip(self.values)
    }

    /// The values alone, as they travel between ranks.
    #[must_use]
    pub(crate) fn raw_values(&self) -> &[u64; MAX_AXES] {
        &self.values
    }

    /// `kernel axis=value axis=value`, for messages.
    #[must_use]
    pub fn label(&self) -> String {
        let mut label = self.info.id();
        for (axis, value) in self.values() {
            let index = usize::try_from(value).ok();
            match index.and_then(|index| axis.labels.get(index)) {
                Some(name) => label += &format!(" {}={name}", axis.name),
                None => label += &format!(" {}={value}", axis.name),
            }
        }
        label
    }
}

/// Why a kernel could not verify or measure a case.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KernelError {
    /// The transport failed.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// The data that arrived is not the data that was sent.
    #[error("{what}: expected {expected}, found {found}")]
    Mismatch {
        /// What was looked at (`byte 17 of the echo from rank 1`).
        what: String,
        /// What it should have been.
        expected: String,
        /// What it was.
        found: String,
    },
    /// The transport lacks something that the kernel needs; its cases are skipped.
    #[error("needs {needs}, which this transport lacks")]
    Unsupported {
        /// What is missing.
        needs: &'static str,
    },
}

impl KernelError {
    /// The transport lacks `needs` (see [`capability`](crate::capability)).
    #[must_use]
    pub fn unsupported(needs: &'static str) -> Self {
        Self::Unsupported { needs }
    }

    /// `what` should have been `expected` and was `found`.
    pub fn mismatch(
        what: impl Into<String>,
        expected: impl std::fmt::Display,
        found: impl std::fmt::Display,
    ) -> Self {
        let (expected, found) = (expected.to_string(), found.to_string());
        Self::Mismatch { what: what.into(), expected, found }
    }
}

/// A number that follows from the series of one case together.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Name with unit (`overlap_share`, `slowdown_at_half_load`).
    pub name: &'static str,
    /// How it follows from the series.
    pub formula: &'static str,
    /// The number, or `None` where it cannot be formed.
    pub value: Option<f64>,
}

/// A kernel over transport `T`. See `CONTRIBUTING.md` for how to add one.
///
/// All ranks call [`verify`](Self::verify) and [`measure`](Self::measure) together, with the same
/// case; a rank that has no part in it returns at once.
pub trait Kernel<T: Transport>: Sync {
    /// Description of the kernel; the same on every transport.
    fn info(&self) -> &'static KernelInfo;

    /// Completes a case with what earlier kernels of the run found; rank 0 asks just before the
    /// case. The default changes nothing.
    ///
    /// # Errors
    /// One sentence that says why the case has to be skipped.
    fn resolve(&self, case: Case, history: &History) -> Result<Case, String> {
        let _ = history;
        Ok(case)
    }

    /// Runs the operation of every series once and proves that its data arrived: contents, source
    /// and length. It ends its communication before it reports a mismatch, so that no other rank
    /// waits for ever.
    ///
    /// # Errors
    /// [`KernelError::Mismatch`] on the rank that found wrong data.
    fn verify(&self, cx: &mut Context<'_, T>, case: &Case) -> Result<(), KernelError>;

    /// Times the operation of every series through [`Context::time`].
    ///
    /// # Errors
    /// If the transport fails.
    fn measure(&self, cx: &mut Context<'_, T>, case: &Case) -> Result<(), KernelError>;

    /// Numbers that follow from the summaries of all series (in their order) of one case.
    fn figures(&self, case: &Case, summaries: &[Summary]) -> Vec<Figure> {
        let _ = (case, summaries);
        Vec::new()
    }
}
