//! Cases: the points of a kernel's sweeps.

use std::borrow::Cow;

use super::axis::Axis;
use super::info::KernelInfo;
use super::world::World;
use crate::topology::Topology;

/// The most axes that one kernel may declare.
pub const MAX_AXES: usize = 16;

/// One point of a kernel's sweeps.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// The kernel.
    pub info: &'static KernelInfo,
    values: [u64; MAX_AXES],
    procs: Option<usize>,
}

impl Case {
    /// The case of `info` with `values` in the order of its axes; missing ones are 0.
    ///
    /// # Panics
    /// If there are more values than axes.
    pub fn new(info: &'static KernelInfo, values: &[u64]) -> Self {
        assert!(values.len() <= info.axes.len(), "{} has fewer axes", info.id());
        let mut all = [0; MAX_AXES];
        all[..values.len()].copy_from_slice(values);
        Self { info, values: all, procs: None }
    }

    /// This case on the first `procs` ranks alone; all take part otherwise.
    pub fn on_first(self, procs: Option<usize>) -> Self {
        Self { procs, ..self }
    }

    /// Number of ranks that take part; `None` for all.
    pub fn procs(&self) -> Option<usize> {
        self.procs
    }

    /// The topology of the ranks that take part, in a job on `job`.
    ///
    /// # Errors
    /// A sentence with both numbers, if the job has fewer ranks.
    pub fn topology<'a>(&self, job: &'a Topology) -> Result<Cow<'a, Topology>, String> {
        let procs = self.procs.unwrap_or(job.n_ranks());
        World::of(job).require_ranks(procs)?;
        Ok(job.first(procs))
    }

    /// Value on `axis`.
    ///
    /// # Panics
    /// If the kernel does not declare `axis`.
    pub fn value(&self, axis: &Axis) -> u64 {
        self.find(axis).unwrap_or_else(|| panic!("{} has no {}", self.info.id(), axis.name))
    }

    /// Value on `axis` as a length in memory.
    ///
    /// # Panics
    /// If the kernel does not declare `axis`, or if memory cannot hold that much.
    pub fn length(&self, axis: &Axis) -> usize {
        usize::try_from(self.value(axis)).expect("plans hold lengths that fit into memory")
    }

    /// Value on `axis`, if the kernel declares it.
    pub fn find(&self, axis: &Axis) -> Option<u64> {
        let index = self.info.axes.iter().position(|used| used.axis == axis)?;
        Some(self.values[index])
    }

    /// This case with another value on `axis`.
    ///
    /// # Panics
    /// If the kernel does not declare `axis`.
    pub fn with(mut self, axis: &Axis, value: u64) -> Self {
        let index = self.info.axes.iter().position(|used| used.axis == axis);
        self.values[index.expect("a kernel sets only axes that it declares")] = value;
        self
    }

    /// Axes and values, in the kernel's order.
    pub fn values(&self) -> impl Iterator<Item = (&'static Axis, u64)> {
        self.info.axes.iter().map(|used| used.axis).zip(self.values)
    }

    /// `kernel axis=value axis=value`, for messages.
    pub fn label(&self) -> String {
        let mut label = self.info.id();
        for (axis, value) in self.values() {
            let name = axis.label(value).map_or(value.to_string(), str::to_owned);
            label += &format!(" {}={name}", axis.name);
        }
        label + &self.procs.map_or(String::new(), |procs| format!(" procs={procs}"))
    }
}
