//! Figures 5.8 to 5.12: an exchange beside a DAXPY, one after the other and overlapped.

use std::ops::RangeToInclusive;

use comet_core::kernel::{LENGTH_BYTES, VECTOR_LENGTH};

use super::Findings;
use super::bench::{Bench, N_RANKS, Points, at, points};
use super::claim::{Claim, Curves, linear, part};

/// Numbers of the series of the kernel.
const DAXPY: usize = 1;
const SYNCHRONOUS: usize = 2;
const ASYNCHRONOUS: usize = 3;

/// Lengths of the vectors in doubles, to the longest of the thesis (section 4.3).
const VECTORS: &str = "0..100+20,200..1000+200,2000..10000+2000,20000..140000+40000,200000";
/// The vectors of figure 5.11, the beginning of figure 5.10.
const ZOOMED: RangeToInclusive<f64> = ..=10_000.0;

pub(super) fn findings(bench: &Bench) -> anyhow::Result<Findings> {
    let work = bench.measure(4, "comet/overlap", &["0", "0..200000+40000"])?;
    let work = points(&work, &VECTOR_LENGTH, DAXPY);
    let law = linear(&work);
    let linear = Claim::law("5.8", "DAXPY on 4 ranks", "linear in vector length", law, 0.999);
    let overlap = bench.measure(N_RANKS, "comet/overlap", &["0,2536,85000", VECTORS])?;
    let times = [0, 2536, 85_000].map(|bytes| {
        let measured = at(&overlap, &LENGTH_BYTES, bytes);
        [SYNCHRONOUS, ASYNCHRONOUS].map(|series| points(&measured, &VECTOR_LENGTH, series))
    });
    let gains = times.each_ref().map(improvements);
    let [empty, medium, large] = &times;
    let zoomed = medium.each_ref().map(|curve| part(curve, ZOOMED));
    let figures = [("5.9", empty), ("5.10", medium), ("5.11", &zoomed), ("5.12", large)];
    let curves = figures.map(|(figure, [synchronous, asynchronous])| {
        let curves = [("synchronous_us", synchronous), ("asynchronous_us", asynchronous)];
        Curves::new(figure, "vector_length", &curves)
    });
    let daxpy = Curves::new("5.8", "vector_length", &[("daxpy_us", &work)]);
    Ok(Findings {
        claims: [linear].into_iter().chain(claims(&gains)).collect(),
        curves: [daxpy].into_iter().chain(curves).collect(),
    })
}

fn claims(gains: &[Points; 3]) -> Vec<Claim> {
    let [empty, medium, large] = gains;
    let without_work = gains.each_ref().map(|curve| curve[0].1);
    let percents = without_work.map(|percent| format!("{percent:.1}")).join(", ");
    let best = large.iter().map(|(_, percent)| *percent).fold(f64::NEG_INFINITY, f64::max);
    vec![
        Claim::statement(
            "5.9",
            "improvement, 0 B, without work",
            "overlapped slower",
            format!("{:.1} %", empty[0].1),
            ("below 0", empty[0].1 < 0.0),
        ),
        always_faster("5.10", "improvement, 2536 B", medium),
        always_faster("5.11", "improvement, 2536 B, vectors to 10000", &part(medium, ZOOMED)),
        always_faster("5.12", "improvement, 85000 B", large),
        Claim::statement(
            "5.12",
            "best improvement, 85000 B",
            "over 33 %",
            format!("{best:.1} %"),
            ("33 to 50 %", (33.0..=50.0).contains(&best)),
        ),
        Claim::statement(
            "5.12",
            "improvement without work, 0, 2536, 85000 B",
            "grows with length",
            format!("{percents} %"),
            ("ascending", without_work.is_sorted_by(|a, b| a < b)),
        ),
    ]
}

fn always_faster(figure: &'static str, quantity: &str, gains: &[(f64, f64)]) -> Claim {
    let percents = || gains.iter().map(|(_, percent)| *percent);
    let (least, most) =
        (percents().fold(f64::INFINITY, f64::min), percents().fold(f64::NEG_INFINITY, f64::max));
    let found = format!("{least:.1} to {most:.1} %");
    Claim::statement(figure, quantity, "overlapped faster", found, ("above 0", least > 0.0))
}

/// Vector lengths, and by how many per cent of the synchronous time the asynchronous one is less.
fn improvements([synchronous, asynchronous]: &[Points; 2]) -> Points {
    let percent = |(synchronous, asynchronous): (&(f64, f64), &(f64, f64))| {
        (synchronous.0, (synchronous.1 - asynchronous.1) / synchronous.1 * 100.0)
    };
    synchronous.iter().zip(asynchronous).map(percent).collect()
}
