//! One row for each kernel: a number over all of its points, and the worst of them.

use comet_stats::compare::{Combined, Launches, Verdict};
use comet_stats::median;
use serde::Serialize;

use super::PointRow;

/// All points of one series of a kernel together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KernelRow {
    /// Suite, kernel and series.
    pub kernel: String,
    /// Number of points that were compared.
    pub n_points: usize,
    /// Median over the points of the ratio of times, new over base.
    pub ratio: f64,
    /// Lower end of its 95 % interval, by drawing launches anew; `null` below two launches a side.
    pub low: Option<f64>,
    /// Upper end of that interval.
    pub high: Option<f64>,
    /// Verdict on the kernel as a whole.
    #[serde(serialize_with = "super::name")]
    pub verdict: Verdict,
    /// The ratio of the point that lost most.
    pub worst_ratio: f64,
    /// The parameters of that point.
    pub worst_at: String,
}

/// The kernels of `points`, in their order; `launches` are those of the points.
pub(super) fn rows(points: &[PointRow], launches: &[Launches]) -> Vec<KernelRow> {
    let mut names: Vec<&str> = Vec::new();
    for point in points {
        if !names.contains(&&*point.kernel) {
            names.push(&point.kernel);
        }
    }
    let of_kernel = |name: &&str| {
        let all = points.iter().zip(launches).filter(|(point, _)| point.kernel == *name);
        row(&all.collect::<Vec<_>>())
    };
    names.iter().filter_map(of_kernel).collect()
}

fn row(points: &[(&PointRow, &Launches)]) -> Option<KernelRow> {
    let combined = combined(points)?;
    let margins: Vec<f64> = points.iter().map(|(point, _)| point.margin).collect();
    let loss = |point: &PointRow| if point.higher_is_better { -point.ratio } else { point.ratio };
    let worst = points.iter().map(|(point, _)| *point);
    let worst = worst.max_by(|a, b| loss(a).total_cmp(&loss(b)))?;
    let verdict = combined.verdict(median(&margins)?);
    Some(KernelRow {
        kernel: worst.kernel.clone(),
        n_points: points.len(),
        ratio: combined.log_ratio.exp(),
        low: combined.interval.map(|(low, _)| low.exp()),
        high: combined.interval.map(|(_, high)| high.exp()),
        verdict: if worst.higher_is_better { verdict.reversed() } else { verdict },
        worst_ratio: worst.ratio,
        worst_at: worst.params.to_string(),
    })
}

/// The number over all points; where none of them varies, it does not either.
fn combined(points: &[(&PointRow, &Launches)]) -> Option<Combined> {
    if points.iter().all(|(point, _)| point.method == Some("exact")) {
        let log_ratios: Vec<f64> = points.iter().map(|(point, _)| point.ratio.ln()).collect();
        let log_ratio = median(&log_ratios)?;
        return Some(Combined { log_ratio, interval: Some((log_ratio, log_ratio)) });
    }
    Combined::of(&points.iter().map(|(_, launches)| *launches).collect::<Vec<_>>())
}
