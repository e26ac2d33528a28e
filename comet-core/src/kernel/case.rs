//! Cases: the points of a kernel's sweeps; and the results of those that a run has measured.

use std::borrow::Cow;

use super::axis::{Axis, DATATYPE, ELEMENT, LENGTH_BYTES, Profile, THREADS};
use super::info::KernelInfo;
use super::world::World;
use crate::collective::Element;
use crate::layout::Blocks;
use crate::sweep::SweepError;
use crate::topology::Topology;
use crate::transport::Rank;
use comet_stats::Summary;

/// The most axes that one kernel may declare.
pub const MAX_AXES: usize = 16;

/// Ranks on which a case runs, by default all of the job in one group, and the datatype of its messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrangement {
    /// Number of ranks of a group; `None` for all of the job.
    pub procs: Option<usize>,
    /// Number of groups that run the case at once, on neighbouring ranks from rank 0 on.
    pub n_groups: usize,
    /// Type in which the transport counts messages; `None` for bytes, and for kernels that combine
    /// elements.
    pub datatype: Option<Element>,
    /// Number of the layouts of its messages among those of the run; `None` where they have no gaps and many
    /// elements.
    pub layout: Option<usize>,
}

impl Default for Arrangement {
    fn default() -> Self {
        Self::ALL
    }
}

impl Arrangement {
    /// All ranks of the job.
    pub const ALL: Self = Self { procs: None, n_groups: 1, datatype: None, layout: None };

    /// The first `procs` ranks.
    pub fn first(procs: usize) -> Self {
        Self { procs: Some(procs), ..Self::ALL }
    }

    /// The same ranks and datatype, whatever the layout.
    pub(crate) fn without_layout(self) -> Self {
        Self { layout: None, ..self }
    }

    /// Number of the group of `rank`; `None` if that takes no part.
    pub fn group_of(self, rank: Rank) -> Option<usize> {
        let group = self.procs.map_or(0, |procs| rank / procs);
        (group < self.n_groups).then_some(group)
    }
}

/// One point of a kernel's sweeps.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// The kernel.
    pub info: &'static KernelInfo,
    values: [u64; MAX_AXES],
    arrangement: Arrangement,
    /// True if a message is one element, whatever its length.
    has_one_element: bool,
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
        Self { info, values: all, arrangement: Arrangement::ALL, has_one_element: false }
    }

    /// The cases of `info` over the default values of its axes under `profile`, on ranks of
    /// `topology`; the last axis varies fastest.
    ///
    /// # Errors
    /// If the sweep of an axis cannot be understood.
    pub fn sweep(
        info: &'static KernelInfo,
        profile: Profile,
        topology: &Topology,
    ) -> Result<Vec<Self>, SweepError> {
        let mut cases = vec![Self::new(info, &[])];
        for used in info.axes {
            let values = used.values(profile, topology)?;
            let along = |case: Self| values.iter().map(move |value| case.with(used.axis, *value));
            cases = cases.into_iter().flat_map(along).collect();
        }
        cases.retain(Self::has_whole_elements);
        Ok(cases)
    }

    /// This case on other ranks.
    pub fn on(self, arrangement: Arrangement) -> Self {
        Self { arrangement, ..self }
    }

    /// The ranks that take part.
    pub fn arrangement(&self) -> Arrangement {
        self.arrangement
    }

    /// The topology of the first group, in a job on `job`.
    ///
    /// # Errors
    /// A sentence with both numbers, if the job has fewer ranks than all groups together.
    pub fn topology<'a>(&self, job: &'a Topology) -> Result<Cow<'a, Topology>, String> {
        let Arrangement { procs, n_groups, .. } = self.arrangement;
        let procs = procs.unwrap_or(job.n_ranks());
        World::of(job).require_ranks(procs.saturating_mul(n_groups))?;
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

    /// Number of threads of each rank that run it.
    pub fn n_threads(&self) -> usize {
        self.find(&THREADS).map_or(1, |n| usize::try_from(n).unwrap_or(usize::MAX))
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

    /// Type of the elements that it combines, if it does.
    fn combined(&self) -> Option<Element> {
        Element::ALL.get(usize::try_from(self.find(&ELEMENT)?).ok()?).copied()
    }

    /// Type of the elements of its messages: those that it combines, or those in which the transport counts
    /// them; `None` for bytes.
    pub fn element(&self) -> Option<Element> {
        self.combined().or(self.arrangement.datatype)
    }

    /// Bytes of an element of its messages, with the gaps of its layout if it has one; 0 where that has no
    /// block.
    pub fn unit(&self) -> usize {
        match self.has_one_element {
            true => self.length(&LENGTH_BYTES),
            false => self.element().map_or(1, Element::bytes),
        }
    }

    /// This case as its kernel sees it: each message is one element with these blocks.
    pub(crate) fn in_memory(self, blocks: &Blocks) -> Self {
        let extent = self.with(&LENGTH_BYTES, blocks.extent_bytes() as u64);
        Self { has_one_element: true, ..extent }
    }

    /// True if its messages are whole numbers of elements; sweeps leave others out.
    pub fn has_whole_elements(&self) -> bool {
        let unit = self.unit() as u64;
        self.find(&LENGTH_BYTES).is_none_or(|length| length.is_multiple_of(unit))
    }

    /// This case with its length rounded up to whole elements: those that it combines, or else some of
    /// `unit_bytes`.
    pub fn in_whole_elements(self, unit_bytes: u64) -> Self {
        let unit_bytes =
            self.combined().map_or(unit_bytes, |element| element.bytes() as u64).max(1);
        match self.find(&LENGTH_BYTES) {
            Some(length) => {
                self.with(&LENGTH_BYTES, length.div_ceil(unit_bytes).saturating_mul(unit_bytes))
            }
            None => self,
        }
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
        let Arrangement { procs, n_groups, datatype, layout } = self.arrangement;
        label += &layout.map_or(String::new(), |layout| format!(" layout={}", layout + 1));
        label += &procs.map_or(String::new(), |procs| format!(" procs={procs}"));
        label += &if n_groups > 1 { format!(" groups={n_groups}") } else { String::new() };
        let datatype = datatype.map(|datatype| format!(" {}={}", DATATYPE.name, datatype.name()));
        label + &datatype.unwrap_or_default()
    }
}

/// A number that follows from the series of one case together.
#[derive(Clone, Debug, PartialEq)]
pub struct Derived {
    /// Name with unit (`overlap_share`, `slowdown_at_half_load`).
    pub name: &'static str,
    /// Formula over the series.
    pub formula: &'static str,
    /// The number, or `None` where it cannot be formed.
    pub value: Option<f64>,
}

impl Derived {
    /// The number `name`, which `formula` makes.
    pub const fn of(name: &'static str, formula: &'static str, value: Option<f64>) -> Self {
        Self { name, formula, value }
    }
}

/// Results of a run so far, for kernels that build on those of others.
#[derive(Debug, Default)]
pub struct History {
    points: Vec<(Case, Vec<Summary>)>,
    /// Ranks of the cases that are shown.
    shown: Arrangement,
}

impl History {
    /// Adds the summaries of all series of a measured case.
    pub fn push(&mut self, case: Case, summaries: Vec<Summary>) {
        self.points.push((case, summaries));
    }

    /// Shows the cases that ran on the ranks of `case`, and no others.
    pub(crate) fn show_ranks_of(&mut self, case: &Case) {
        self.shown = case.arrangement();
    }

    /// Cases and summaries of the kernel `id` on the ranks of the case at hand, in the order in
    /// which they were measured.
    pub fn of<'a>(&'a self, id: &'a str) -> impl Iterator<Item = (&'a Case, &'a [Summary])> {
        let is_shown = move |case: &Case| case.info.id() == id && case.arrangement() == self.shown;
        self.points
            .iter()
            .filter(move |(case, _)| is_shown(case))
            .map(|(case, summaries)| (case, summaries.as_slice()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{AxisUse, HOPS, LENGTH_BYTES};

    static INFO: KernelInfo = KernelInfo {
        name: "test",
        axes: &[AxisUse::of(&HOPS, "1..max"), AxisUse::of(&LENGTH_BYTES, "0,8")],
        ..KernelInfo::pair("test")
    };

    #[test]
    fn the_last_axis_of_a_sweep_varies_fastest() {
        let cases = Case::sweep(&INFO, Profile::Quick, &Topology::hypercube(4)).unwrap();
        let values = cases.iter().map(|case| [case.value(&HOPS), case.value(&LENGTH_BYTES)]);
        assert_eq!(values.collect::<Vec<_>>(), [[1, 0], [1, 8], [2, 0], [2, 8]]);
    }
}
