//! Figures 5.3, 5.6 and 5.7: broadcast, barrier and global sum over numbers of ranks.

use comet_core::kernel::{LENGTH_BYTES, VECTOR_LENGTH};

use super::Findings;
use super::bench::{Bench, points, quoted_us};
use super::claim::{Claim, linear, linear_in_log2};
use super::curve::{Curves, part};
use super::point_to_point::{LENGTHS, LONG_BYTES, SHORT_BYTES, jump};

/// The numbers of ranks of the figures with a curve for each.
const CURVES: [usize; 3] = [4, 8, 16];
/// The numbers of ranks that the thesis measured on.
const CUBES: [usize; 4] = [2, 4, 8, 16];
/// The length in bytes of the broadcast that is compared between numbers of ranks.
const COMPARED: &str = "1024";
/// Lengths of the summed vectors in doubles; more than 12 of them take the other protocol.
const VECTORS: &str = "1..12,13..101+8,128..1024+128";

pub(super) fn findings(bench: &Bench) -> anyhow::Result<Findings> {
    let mut findings = broadcast(bench)?;
    findings.extend(barrier(bench)?);
    findings.extend(global_sum(bench)?);
    Ok(findings)
}

fn broadcast(bench: &Bench) -> anyhow::Result<Findings> {
    let by_length = |n_ranks| {
        let measured = bench.measure(n_ranks, "comet/broadcast", &[LENGTHS])?;
        Ok(points(&measured, &LENGTH_BYTES, 0))
    };
    let curves = CURVES.iter().map(|n| by_length(*n)).collect::<anyhow::Result<Vec<_>>>()?;
    let law =
        |quantity, r_squared| Claim::law("5.3", quantity, "linear in length", r_squared, 0.999);
    let on_16 = &curves[2];
    let mut claims = vec![
        jump("5.3", on_16),
        law("broadcast up to 100 B, 16 ranks", linear(&part(on_16, SHORT_BYTES))),
        law("broadcast above 100 B, 16 ranks", linear(&part(on_16, LONG_BYTES))),
    ];
    let times = over_cubes(|n_ranks| {
        let measured = bench.measure(n_ranks, "comet/broadcast", &[COMPARED])?;
        Ok(points(&measured, &LENGTH_BYTES, 0))
    })?;
    let r_squared = linear_in_log2(&times);
    claims.push(Claim::law("5.3", "broadcast of 1024 B", "linear in log2 P", r_squared, 0.999));
    Ok(Findings { claims, curves: vec![by_ranks("5.3", "length_bytes", &curves)] })
}

fn barrier(bench: &Bench) -> anyhow::Result<Findings> {
    let times = over_cubes(|n_ranks| {
        let measured = bench.measure(n_ranks, "comet/barrier", &[])?;
        Ok(vec![(0.0, quoted_us(&measured[0], 0))])
    })?;
    let r_squared = linear_in_log2(&times);
    let claims = vec![Claim::law("5.6", "barrier", "about linear in log2 P", r_squared, 0.99)];
    Ok(Findings { claims, curves: vec![Curves::new("5.6", "ranks", &[("barrier_us", &times)])] })
}

fn global_sum(bench: &Bench) -> anyhow::Result<Findings> {
    let by_length = |n_ranks, lengths| {
        let measured = bench.measure(n_ranks, "comet/reduction", &[lengths])?;
        Ok(points(&measured, &VECTOR_LENGTH, 0))
    };
    let times = over_cubes(|n_ranks| by_length(n_ranks, "1"))?;
    let r_squared = linear_in_log2(&times);
    let published = "almost linear in log2 P";
    let claims = vec![Claim::law("5.7", "global sum of one double", published, r_squared, 0.999)];
    // The caption speaks of curves for 4, 8 and 16 nodes, the text of the number of nodes alone.
    let curves =
        CURVES.iter().map(|n| by_length(*n, VECTORS)).collect::<anyhow::Result<Vec<_>>>()?;
    let curves = vec![
        Curves::new("5.7", "ranks", &[("global_sum_us", &times)]),
        by_ranks("5.7-by-length", "vector_length", &curves),
    ];
    Ok(Findings { claims, curves })
}

/// The first time of `measure` on each of [`CUBES`].
fn over_cubes(
    measure: impl Fn(usize) -> anyhow::Result<Vec<(f64, f64)>>,
) -> anyhow::Result<Vec<(f64, f64)>> {
    let point = |n_ranks: &usize| Ok((*n_ranks as f64, measure(*n_ranks)?[0].1));
    CUBES.iter().map(point).collect()
}

/// A curve for each of [`CURVES`].
fn by_ranks(figure: &'static str, x: &str, curves: &[Vec<(f64, f64)>]) -> Curves {
    let names = CURVES.map(|n_ranks| format!("ranks_{n_ranks}_us"));
    let named: Vec<_> =
        names.iter().map(String::as_str).zip(curves.iter().map(Vec::as_slice)).collect();
    Curves::new(figure, x, &named)
}
