//! Figures 5.1, 5.2 and 5.4: echo and pairwise exchange on 16 nodes; and figure 5.5: the echo between
//! nodes 1 and 3 while node 0 sends to node 7.
//!
//! The loads are messages of 486 and 5000 bytes, with which the thesis made its curves: it found
//! half and nine tenths of the peak bandwidth there. (The kernel, left alone, would take them from
//! the echo curve of the machine that it runs on.)
//!
//! Times vary by a tenth there. Ranks that repeat themselves exactly fall into step: at some lengths
//! each echo then comes just after a message of the load, and meets none. In the thesis that varied
//! from one iteration to the next, and so it does here, the same at each run.

use std::ops::{RangeFrom, RangeToInclusive};

use comet_core::event::Measurement;
use comet_core::kernel::{HOPS, LENGTH_BYTES};
use comet_report::figures::published::{LENGTHS_OF_PEAK, PEAK_MB_PER_S, STARTUP_US, US_PER_BYTE};
use comet_stats::fit::{Bounds, HopLine, Line, Marks, segments, size_at_rate};

use super::Findings;
use super::bench::{Bench, N_RANKS, Points, at, points};
use super::claim::{Claim, Curves, WEIGHTS, four_digits, part};

/// Message lengths: dense about the change of protocol, and where the bandwidth rises.
pub(super) const LENGTHS: &str = "0..90+10,96..104,120..240+20,256..960+64,1Ki..3840+256,\
                                  2536,4Ki..5Ki+128,6Ki..16Ki+2Ki,20000..80000+20000,85000";
/// Lengths in bytes of the messages of the first protocol (section 4.2).
pub(super) const SHORT_BYTES: RangeToInclusive<f64> = ..=100.0;
/// Lengths in bytes of those of the other one.
pub(super) const LONG_BYTES: RangeFrom<f64> = 101.0..;

/// Law of the machine above 100 bytes: the thesis gives two, which contradict each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Law {
    /// The line that the thesis fitted.
    Fit,
    /// The line that its marks on the bandwidth curve lie on.
    Marks,
}

/// The echo curves with their fits.
pub(super) struct Echo {
    near: Points,
    far: Points,
    short: Option<Line>,
    long: Option<HopLine>,
    /// Lengths at half and at nine tenths of the published peak.
    marks: [Option<f64>; 2],
}

impl Echo {
    pub(super) fn measure(bench: &Bench) -> anyhow::Result<Self> {
        let echo = bench.measure(N_RANKS, "comet/echo", &["1,4", LENGTHS])?;
        let [near, far] = [1, 4].map(|hops| points(&at(&echo, &HOPS, hops), &LENGTH_BYTES, 0));
        let mark = |share| size_at_rate(&near, share * PEAK_MB_PER_S);
        Ok(Self {
            short: Line::fit(&part(&near, SHORT_BYTES), WEIGHTS).ok(),
            long: HopLine::fit(&long_over_hops(&near, &far), WEIGHTS).ok(),
            marks: [mark(0.5), mark(0.9)],
            near,
            far,
        })
    }

    /// Claims of figures 5.1 and 5.2, by one of the laws.
    pub(super) fn claims(&self, law: Law) -> Vec<Claim> {
        let Self { near, far, short, long, marks: [half, ninety] } = self;
        let number = Claim::number;
        let is_fit = law == Law::Fit;
        let short = |of: fn(Line) -> f64| short.map(of);
        let long = |of: fn(HopLine) -> f64| long.map(of);
        let peak = Marks::of(near).map(|marks| marks.peak);
        let (above, below) = ("bandwidth over 4 hops", "below that over 1 hop");
        let mut claims = vec![
            number("5.1", "startup time up to 100 B", (STARTUP_US[0], "us"), short(|l| l.t0), 1.0),
            number(
                "5.1",
                "time per byte up to 100 B",
                (US_PER_BYTE[0], "us/B"),
                short(|l| l.per_unit),
                1.0,
            ),
        ];
        if is_fit {
            claims.push(number(
                "5.1",
                "startup time above 100 B",
                (STARTUP_US[1], "us"),
                long(|l| l.t0),
                1.0,
            ));
        }
        // The fitted line and the mark at half of the peak contradict each other.
        let percent_at_half = if is_fit { 25.0 } else { 5.0 };
        claims.extend([
            number(
                "5.1",
                "time per byte above 100 B",
                (US_PER_BYTE[1], "us/B"),
                long(|l| l.per_unit),
                1.0,
            ),
            number("5.1", "overhead per hop above 100 B", (25.0, "us"), long(|l| l.per_hop), 1.0),
            jump("5.1", near),
            number("5.2", "peak bandwidth, 1 hop", (PEAK_MB_PER_S, "MB/s"), peak, 3.0),
            number(
                "5.2",
                "length at half of 2.5 MB/s",
                (LENGTHS_OF_PEAK[0], "B"),
                *half,
                percent_at_half,
            ),
            number("5.2", "length at 90 % of 2.5 MB/s", (LENGTHS_OF_PEAK[1], "B"), *ninety, 10.0),
            Claim::above("5.2", above, below, [far, near], "lengths"),
        ]);
        claims
    }

    pub(super) fn curves(&self) -> Vec<Curves> {
        let (near, far) = (&self.near, &self.far);
        let round_trip = |curve: &[(f64, f64)]| map(curve, |_, us| 2.0 * us);
        let bandwidth = |curve: &[(f64, f64)]| map(curve, |bytes, us| bytes / us);
        let figure = |figure, unit: &str, [near, far]: [Points; 2]| {
            let names = [format!("hops_1_{unit}"), format!("hops_4_{unit}")];
            Curves::new(figure, "length_bytes", &[(&names[0], &near), (&names[1], &far)])
        };
        vec![
            figure("5.1", "round_trip_us", [round_trip(near), round_trip(far)]),
            figure("5.2", "mb_per_s", [bandwidth(near), bandwidth(far)]),
        ]
    }
}

/// The sentence that says how the published fit and the published marks contradict each other.
pub(super) fn contradiction(fit: &Echo, marks: &Echo) -> String {
    let mark = |mark: Option<f64>| mark.map_or("no".into(), |bytes| format!("{bytes:.0}"));
    let law = marks.long.map_or("no line".into(), |line| {
        format!("{} us + {:.3} us/B", four_digits(line.t0), line.per_unit)
    });
    format!(
        "The published fit and the published marks contradict each other above 100 B: by the \
         fit, half and nine\ntenths of 2.5 MB/s are reached at {} and {} B, not at 486 and about \
         5000 B; by these marks, the line\nis {law}, not 156 us + 0.41 us/B. No line has both.\n",
        mark(fit.marks[0]),
        mark(fit.marks[1]),
    )
}

/// Figure 5.4, beside the echo times of the same lengths.
pub(super) fn exchange(bench: &Bench, echo: &Echo) -> anyhow::Result<Findings> {
    let exchange = bench.measure(N_RANKS, "comet/exchange", &["1,4", LENGTHS])?;
    let [near, far] = [1, 4].map(|hops| points(&at(&exchange, &HOPS, hops), &LENGTH_BYTES, 0));
    // The overlap posts its receive before the message comes.
    let overlap = bench.times(N_RANKS, "comet/overlap", &["2536", "0"], &LENGTH_BYTES)?;
    let (posted_first, posted_last) = (overlap[0].1, time_at(&near, 2536.0));
    let claims = vec![
        faster_than_echo("pairwise exchange, 1 hop", &near, &echo.near),
        faster_than_echo("pairwise exchange, 4 hops", &far, &echo.far),
        Claim::statement(
            "5.4",
            "exchange of 2536 B, receive posted first",
            "at some points a lot faster",
            format!("{} against {} us", four_digits(posted_first), four_digits(posted_last)),
            ("faster", posted_first < posted_last),
        ),
    ];
    let curves = [("hops_1_us", &near), ("hops_4_us", &far)];
    Ok(Findings { claims, curves: vec![Curves::new("5.4", "length_bytes", &curves)] })
}

fn faster_than_echo(quantity: &str, exchange: &[(f64, f64)], echo: &[(f64, f64)]) -> Claim {
    let ratios = exchange.iter().zip(echo).map(|(exchange, echo)| exchange.1 / (2.0 * echo.1));
    let (least, most) = ratios
        .fold((f64::INFINITY, 0.0f64), |(least, most), ratio| (least.min(ratio), most.max(ratio)));
    Claim::statement(
        "5.4",
        quantity,
        "faster than the echo",
        format!("{least:.3} to {most:.3} of it"),
        ("below 1 at all", most < 1.0),
    )
}

/// The thesis saw `curve` jump at around 100 bytes.
pub(super) fn jump(figure: &'static str, curve: &[(f64, f64)]) -> Claim {
    let segments = segments(curve, &Bounds::default()).unwrap_or_default();
    let found = segments.windows(2).map(|pair| (pair[0].to, pair[1].from)).next();
    Claim::statement(
        figure,
        "first jump of the times",
        "at around 100 B",
        found.map_or("none".into(), |(to, from)| format!("between {to} and {from} B")),
        ("96 to 104 B", found.is_some_and(|(to, from)| to >= 96.0 && from <= 104.0)),
    )
}

/// Lengths above 100 bytes with hops and times.
fn long_over_hops(near: &[(f64, f64)], far: &[(f64, f64)]) -> Vec<(f64, f64, f64)> {
    let with_hops = |(curve, hops)| {
        part(curve, LONG_BYTES).into_iter().map(move |(bytes, us)| (bytes, hops, us))
    };
    [(near, 1.0), (far, 4.0)].into_iter().flat_map(with_hops).collect()
}

/// The time of `curve` at `x`; `NaN`, than which nothing is faster, where there is none.
fn time_at(curve: &[(f64, f64)], x: f64) -> f64 {
    curve.iter().find(|point| point.0 == x).map_or(f64::NAN, |point| point.1)
}

fn map(curve: &[(f64, f64)], y: impl Fn(f64, f64) -> f64) -> Points {
    curve.iter().map(|(x, us)| (*x, y(*x, *us))).collect()
}

const N_LOADED_RANKS: usize = 8;
const ECHO_LENGTHS: &str = "0..100+20,101,128..1Ki+128,2Ki..8Ki+1Ki";
/// Lengths of the load messages in bytes, at 50 and 90 % load (section 5.1).
const LOADS: [&str; 2] = ["486", "5000"];

/// Figure 5.5.
pub(super) fn contention(bench: &Bench) -> anyhow::Result<Findings> {
    let [half, ninety] = LOADS;
    let measured = bench.unsteady().measure(
        N_LOADED_RANKS,
        "comet/contention",
        &[ECHO_LENGTHS, half, ninety],
    )?;
    // The series are idle, half load and ninety load.
    let [idle, half, ninety] = [0, 1, 2].map(|series| means(&measured, series));
    let slower =
        |quantity, published, curves| Claim::above("5.5", quantity, published, curves, "lengths");
    let claims = vec![
        slower("echo beside messages of 486 B", "slower than idle", [&half, &idle]),
        slower("echo beside messages of 5000 B", "slower than beside 486 B", [&ninety, &half]),
    ];
    let curves = [
        ("idle_round_trip_us", &idle),
        ("half_load_round_trip_us", &half),
        ("ninety_load_round_trip_us", &ninety),
    ];
    Ok(Findings { claims, curves: vec![Curves::new("5.5", "length_bytes", &curves)] })
}

/// Mean round trips in microseconds.
fn means(measured: &[Measurement], series: usize) -> Points {
    let point = |measurement: &Measurement| {
        let one_way_ns = measurement.series[series].summary.mean;
        (measurement.case.value(&LENGTH_BYTES) as f64, 2.0 * one_way_ns / 1e3)
    };
    measured.iter().map(point).collect()
}
