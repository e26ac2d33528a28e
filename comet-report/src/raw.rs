//! Raw samples of a measurement, as the record keeps them.

use comet_core::event::RankSamples;
use comet_core::sample::Sample;

use crate::record::Samples;

/// Intervals of all ranks, in time order.
pub(crate) fn samples(ranks: &[RankSamples]) -> Samples {
    let n_samples = ranks.first().map_or(0, |of_rank| of_rank.samples.len());
    let all = ranks.iter().flat_map(|of_rank| &of_rank.samples);
    Samples {
        unit: "ns".into(),
        axis: ["rank".into(), "rep".into()],
        ranks: ranks.iter().map(|of_rank| of_rank.rank).collect(),
        shape: [ranks.len(), n_samples],
        order: "time".into(),
        enc: "list".into(),
        data: all.map(|sample| sample.elapsed_ns()).collect(),
    }
}

/// Starts relative to the earliest: many readers of JSON hold no number beyond 2^53.
pub(crate) fn starts_ns(ranks: &[RankSamples]) -> Vec<u64> {
    let all = ranks.iter().flat_map(|of_rank| &of_rank.samples).map(|sample| sample.start_ns);
    let first_ns = all.clone().min().unwrap_or(0);
    all.map(|start_ns| start_ns - first_ns).collect()
}

/// A value of each sample, if all of them have it.
pub(crate) fn each(
    ranks: &[RankSamples],
    value: impl Fn(&Sample) -> Option<u64>,
) -> Option<Vec<u64>> {
    ranks.iter().flat_map(|of_rank| &of_rank.samples).map(value).collect()
}
