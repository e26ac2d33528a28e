//! The names that nearly every kernel uses.

pub use super::{
    Axis, AxisKind, AxisUse, Case, Checker, Class, Derived, Duty, Evaluation, HOPS, History,
    Kernel, KernelInfo, LENGTH_BYTES, LOCAL_N, Operation, Pairing, Participants, Pattern, Rate,
    RateKind, Role, Seeds, Series, Side, Timed, Timing, VECTOR_LENGTH, WINDOW, World,
};
pub use crate::context::{Context, Laps};
pub use crate::definition::{Definition, Quantity};
pub use crate::error::Result;
pub use crate::event::Quote;
pub use crate::pattern;
pub use crate::transport::{Rank, Source, Status, Tag, Transport};
pub use comet_stats::Summary;
