//! A bench: kernels on the ranks of a simulated machine, measured by the driver that measures
//! everywhere. What a figure needs to know of the machine, it learns here and nowhere else.

use anyhow::Context as _;
use comet_core::context::Context;
use comet_core::driver::Settings;
use comet_core::error::KernelError;
use comet_core::event::{Event, Measurement};
use comet_core::kernel::{Axis, Case, Derived, Kernel, KernelInfo, Profile};
use comet_core::topology::Topology;
use comet_sim::Sim;
use comet_sim::machine::{Machine, MachineFile, NoiseSource, Shape};
use comet_stats::Summary;
use comet_suites::Suites as _;

use crate::{Refusal, simulated};

pub(super) const N_RANKS: usize = 16;

/// Operations in a sample; even, since ranks that exchange messages may lead in turn.
const REPETITIONS: u32 = 10;
/// Standard deviation of the times of an unsteady machine, as a share of them.
const UNSTEADINESS: f64 = 0.1;
/// Samples of a case on an unsteady machine.
const N_UNSTEADY_SAMPLES: u32 = 30;

pub(super) struct Bench {
    machine: Machine,
    /// Samples of a case; one is as good as any number where nothing disturbs the ranks.
    n_samples: u32,
}

impl Bench {
    /// The machine that `file` describes.
    pub(super) fn new(file: &MachineFile) -> anyhow::Result<Self> {
        let machine = file.machine.clone();
        let is_large = file.max_ranks.is_none_or(|max_ranks| max_ranks >= N_RANKS);
        if machine.network.shape == Shape::Hypercube && is_large && machine.is_exact() {
            return Ok(Self { machine, n_samples: 1 });
        }
        let sentence = format!(
            "the figures of the thesis need a hypercube of {N_RANKS} ranks without noise, which \
             {} is not (try --machine ipsc860)",
            file.name
        );
        Err(Refusal::Unfit(sentence).into())
    }

    /// The same machine with times that vary by [`UNSTEADINESS`], and more samples.
    pub(super) fn unsteady(&self) -> Self {
        let mut machine = self.machine.clone();
        machine.noise.sources = vec![NoiseSource::LogNormal { sigma: UNSTEADINESS }];
        Self { machine, n_samples: N_UNSTEADY_SAMPLES }
    }

    /// Measures the kernel `id` on `n_ranks` ranks, over the product of the `sweeps` of its axes.
    pub(super) fn measure(
        &self,
        n_ranks: usize,
        id: &str,
        sweeps: &[&str],
    ) -> anyhow::Result<Vec<Measurement>> {
        let cases = simulated::cases(id, sweeps)?;
        let kernels: Vec<Complete> = Sim::kernels().into_iter().map(Complete).collect();
        let kernels: Vec<&dyn Kernel<Sim>> = kernels.iter().map(|kernel| kernel as _).collect();
        let mut settings = Settings::of(Profile::Quick);
        (settings.samples, settings.repetitions) = (Some(self.n_samples), Some(REPETITIONS));
        // What became of each case, in their order.
        let mut results = Vec::new();
        let mut listener = |event: &Event<'_>| {
            match event {
                Event::CaseFinished(measurement) => results.push(Ok((*measurement).clone())),
                Event::CaseFailed(failure) => {
                    let label = failure.case.label();
                    results.push(Err(anyhow::anyhow!("{label}: {}", failure.message)));
                }
                _ => (),
            }
            Ok(())
        };
        let (machine, topology) = (self.machine.clone(), Topology::hypercube(n_ranks));
        simulated::measure(machine, topology, &kernels, &cases, &settings, &mut listener)
            .with_context(|| format!("{id} ended early"))?;
        results.into_iter().collect()
    }

    /// The times in microseconds of the only series of the kernel `id` over `axis`.
    pub(super) fn times(
        &self,
        n_ranks: usize,
        id: &str,
        sweeps: &[&str],
        axis: &Axis,
    ) -> anyhow::Result<Points> {
        Ok(points(&self.measure(n_ranks, id, sweeps)?, axis, 0))
    }
}

/// Values with times or other quantities.
pub(super) type Points = Vec<(f64, f64)>;

/// Points of the series number `series` over `axis`: values, and times in microseconds.
pub(super) fn points(measurements: &[Measurement], axis: &Axis, series: usize) -> Points {
    let point = |measurement: &Measurement| {
        (measurement.case.value(axis) as f64, quoted_us(measurement, series))
    };
    measurements.iter().map(point).collect()
}

/// The figure of a series that is quoted, in microseconds.
pub(super) fn quoted_us(measurement: &Measurement, series: usize) -> f64 {
    measurement.series[series].quoted_ns.expect("nothing was corrected away") / 1e3
}

/// The measurements whose case has `value` on `axis`.
pub(super) fn at(measurements: &[Measurement], axis: &Axis, value: u64) -> Vec<Measurement> {
    measurements.iter().filter(|m| m.case.value(axis) == value).cloned().collect()
}

/// A kernel whose cases are complete as they are: the loads of the contention kernel are those of
/// the thesis here, and do not follow from what was measured before.
struct Complete(&'static dyn Kernel<Sim>);

impl Kernel<Sim> for Complete {
    fn info(&self) -> &'static KernelInfo {
        self.0.info()
    }

    fn verify(&self, cx: &mut Context<'_, Sim>, case: &Case) -> Result<(), KernelError> {
        self.0.verify(cx, case)
    }

    fn measure(&self, cx: &mut Context<'_, Sim>, case: &Case) -> Result<(), KernelError> {
        self.0.measure(cx, case)
    }

    fn derived(&self, case: &Case, summaries: &[Summary]) -> Vec<Derived> {
        self.0.derived(case, summaries)
    }
}
