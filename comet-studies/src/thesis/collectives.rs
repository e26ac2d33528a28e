//! Figures 5.3, 5.6 and 5.7: broadcast, barrier and global sum over numbers of ranks.

use comet_core::kernel::{LENGTH_BYTES, VECTOR_LENGTH};

use super::Findings;
use super::bench::{Bench, Points, quoted_us};
use super::claim::{Claim, Curves, linear, linear_in_log2, part};
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
    let broadcast = |n, lengths| bench.times(n, "comet/broadcast", &[lengths], &LENGTH_BYTES);
    let sum = |n, lengths| bench.times(n, "comet/reduction", &[lengths], &VECTOR_LENGTH);
    let by_length = on_each(&CURVES, |n| broadcast(n, LENGTHS))?;
    let by_vector = on_each(&CURVES, |n| sum(n, VECTORS))?;
    let on_16 = &by_length[2];
    let [short, long] = [part(on_16, SHORT_BYTES), part(on_16, LONG_BYTES)];
    let broadcasts = over_cubes(|n| Ok(broadcast(n, COMPARED)?[0].1))?;
    let barriers = over_cubes(|n| Ok(quoted_us(&bench.measure(n, "comet/barrier", &[])?[0], 0)))?;
    let sums = over_cubes(|n| Ok(sum(n, "1")?[0].1))?;
    let law = |figure, quantity, published, r_squared| {
        let least = if figure == "5.6" { 0.99 } else { 0.999 };
        Claim::law(figure, quantity, published, r_squared, least)
    };
    let by_log = linear_in_log2;
    let published = "linear in length";
    let claims = vec![
        jump("5.3", on_16),
        law("5.3", "broadcast up to 100 B, 16 ranks", published, linear(&short)),
        law("5.3", "broadcast above 100 B, 16 ranks", published, linear(&long)),
        law("5.3", "broadcast of 1024 B", "linear in log2 P", by_log(&broadcasts)),
        law("5.6", "barrier", "about linear in log2 P", by_log(&barriers)),
        law("5.7", "global sum of one double", "almost linear in log2 P", by_log(&sums)),
    ];
    // The caption speaks of curves for 4, 8 and 16 nodes, the text of the number of nodes alone.
    let curves = vec![
        by_ranks("5.3", "length_bytes", &by_length),
        Curves::new("5.6", "ranks", &[("barrier_us", &barriers)]),
        Curves::new("5.7", "ranks", &[("global_sum_us", &sums)]),
        by_ranks("5.7-by-length", "vector_length", &by_vector),
    ];
    Ok(Findings { claims, curves })
}

/// The results of `measure` on each of `numbers` of ranks.
fn on_each<T>(
    numbers: &[usize],
    measure: impl Fn(usize) -> anyhow::Result<T>,
) -> anyhow::Result<Vec<T>> {
    numbers.iter().map(|n_ranks| measure(*n_ranks)).collect()
}

/// The times of `measure` on each of [`CUBES`].
fn over_cubes(measure: impl Fn(usize) -> anyhow::Result<f64>) -> anyhow::Result<Points> {
    on_each(&CUBES, |n_ranks| Ok((n_ranks as f64, measure(n_ranks)?)))
}

/// A curve for each of [`CURVES`].
fn by_ranks(figure: &'static str, x: &str, curves: &[Points]) -> Curves {
    let names = CURVES.map(|n_ranks| format!("ranks_{n_ranks}_us"));
    let named: Vec<_> = names.iter().map(String::as_str).zip(curves).collect();
    Curves::new(figure, x, &named)
}
