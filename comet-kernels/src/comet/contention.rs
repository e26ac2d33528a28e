//! Contention: how much slower an echo becomes while others load the links it uses.
//!
//! **Source**: thesis section 3.3.6, figures 3.6 and 3.7.
//!
//! **Pattern**
//! ```text
//!   at least 8 ranks, routes of the thesis:   0 ──LOAD──► (1) ──► (3) ──► 7
//!                                                          1 ◄──echo──► 3
//!   4 to 7 ranks:                             0 ──LOAD──► 3      1 ◄──echo──► 2
//!
//!   tester ──START──► source            the load begins
//!   source ══LOAD═══► sink              bursts without end, at most two on their way
//!   sink   ──CREDIT─► source            for each burst
//!   sink   ──RUNNING► tester            after the first message: the echoes begin
//!   tester ──STOP───► source            after the last echo
//!   source ──LOAD, 0 bytes──► sink ──DRAINED──► tester
//! ```
//! **Timed** (the tester): the echo, as in `comet/echo`; nothing else lies between the clock reads.
//!
//! **Reports**: one-way time of the echo without load, at half and at ninety per cent load, and
//! both slowdowns, as ratios of medians.
//!
//! **Parameters**: `length_bytes` of the echo. `load_50_bytes` and `load_90_bytes`, the lengths of
//! the messages that load the links, follow from `comet/echo`: the least that reach 50 % and 90 %
//! of its peak bandwidth at one hop (486 and 5000 bytes in the thesis).
//!
//! **Verified by**: contents, source and length of the echoes in both directions, and of every
//! message of the load.
//!
//! **Caution**: the routes are those of a hypercube. Where all ranks share one memory, the load
//! contends for caches and memory instead, and for cores where there are fewer than four.

use comet_core::context::Context;
use comet_core::definition::{Definition, Quantity};
use comet_core::error::{KernelError, Result};
use comet_core::kernel::{
    Axis, AxisUse, Case, Class, Derived, HOPS, History, Kernel, KernelInfo, LENGTH_BYTES,
    Participants, Series, World,
};
use comet_core::pattern;
use comet_core::transport::{Rank, Source, Status, Tag, Transport};
use comet_stats::Summary;

use crate::comet::echo;
use crate::roles::{check_arrival, seed};

const LOAD: Tag = Tag::new(5);
const START: Tag = Tag::new(6);
const RUNNING: Tag = Tag::new(7);
const STOP: Tag = Tag::new(8);
const DRAINED: Tag = Tag::new(9);
const CREDIT: Tag = Tag::new(10);

/// Messages of one burst. Two bursts may be on their way, so that the source never waits for a
/// sink that keeps up, and a sink that does not is not flooded.
const BURST: usize = 8;

/// Length of the messages that make half load.
pub static LOAD_50_BYTES: Axis = Axis::found_bytes(
    "load_50_bytes",
    "length in bytes of load messages at 50 % of the peak echo bandwidth",
);
/// Length of the messages that make ninety per cent load.
pub static LOAD_90_BYTES: Axis = Axis::found_bytes(
    "load_90_bytes",
    "length in bytes of load messages at 90 % of the peak echo bandwidth",
);

/// The kernel `comet/contention`; see the [module](self).
#[derive(Clone, Copy, Debug)]
pub struct Contention;

static INFO: KernelInfo = KernelInfo {
    name: "contention",
    summary: "Echo between two ranks while two others load the links",
    source: "thesis section 3.3.6, figures 3.6 and 3.7",
    class: Class::Contention,
    participants: Participants::Group,
    axes: &[
        AxisUse {
            axis: &LENGTH_BYTES,
            sweeps: [
                "0,1Ki",
                "0,8,100,1Ki,4Ki,16Ki,64Ki,256Ki",
                "0,8,50,100,101,150,256,512..4Ki+512,8Ki..1Mi*2",
            ],
        },
        AxisUse::of(&LOAD_50_BYTES, ""),
        AxisUse::of(&LOAD_90_BYTES, ""),
    ],
    series: &[one_way("idle"), one_way("half_load"), one_way("ninety_load")],
    admits: |_, world| world.require_ranks(4),
    bytes_per_rank: |case, _| {
        let load_bytes = case.value(&LOAD_50_BYTES).max(case.value(&LOAD_90_BYTES));
        load_bytes.max(2 * case.value(&LENGTH_BYTES))
    },
    requires: &["comet/echo"],
    ..KernelInfo::pair("comet")
};

const fn one_way(name: &'static str) -> Series {
    Series {
        name,
        quantity: Quantity::OneWayTime,
        definition: Definition::HalfRoundTrip,
        quote_minimum: false,
        bytes_per_op: |case, _| Some(case.value(&LENGTH_BYTES)),
    }
}

impl<T: Transport> Kernel<T> for Contention {
    fn info(&self) -> &'static KernelInfo {
        &INFO
    }

    fn resolve(&self, case: Case, _: &World<'_>, history: &History) -> Result<Case, String> {
        let curve = bandwidths(history);
        if curve.len() < 2 {
            return Err(format!(
                "the load follows from comet/echo at 1 hop, measured at {} lengths above 0: at \
                 least 2 are needed (measure comet/echo at more lengths)",
                curve.len()
            ));
        }
        let case = case.with(&LOAD_50_BYTES, length_reaching(&curve, 0.5));
        Ok(case.with(&LOAD_90_BYTES, length_reaching(&curve, 0.9)))
    }

    fn verify(&self, cx: &mut Context<'_, T>, case: &Case) -> Result<(), KernelError> {
        let cast = Cast::of(cx.topology().n_ranks());
        // All series run to their end before the first mismatch is reported.
        let results = loads(case).map(|load_bytes| verify_series(cx, cast, case, load_bytes));
        results.into_iter().collect()
    }

    fn measure(&self, cx: &mut Context<'_, T>, case: &Case) -> Result<(), KernelError> {
        let cast = Cast::of(cx.topology().n_ranks());
        for (series, load_bytes) in loads(case).into_iter().enumerate() {
            measure_series(cx, cast, case, (series, load_bytes))?;
        }
        Ok(())
    }

    fn derived(&self, _case: &Case, summaries: &[Summary]) -> Vec<Derived> {
        let [idle, half, ninety] = summaries else { return Vec::new() };
        let slowdown = |load: &Summary| (idle.median > 0.0).then(|| load.median / idle.median);
        vec![
            Derived {
                name: "slowdown_at_half_load",
                formula: "median(half_load) / median(idle)",
                value: slowdown(half),
            },
            Derived {
                name: "slowdown_at_ninety_load",
                formula: "median(ninety_load) / median(idle)",
                value: slowdown(ninety),
            },
        ]
    }
}

/// Which rank plays which part (nodes 1, 4, 2 and 3 of figure 3.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cast {
    source: Rank,
    sink: Rank,
    tester: Rank,
    partner: Rank,
}

impl Cast {
    fn of(n_ranks: usize) -> Self {
        if n_ranks >= 8 {
            Self { source: 0, sink: 7, tester: 1, partner: 3 }
        } else {
            Self { source: 0, sink: 3, tester: 1, partner: 2 }
        }
    }
}

/// Length of the load messages of each series, in bytes; 0 for no load.
fn loads(case: &Case) -> [usize; 3] {
    [0, case.length(&LOAD_50_BYTES), case.length(&LOAD_90_BYTES)]
}

fn measure_series<T: Transport>(
    cx: &mut Context<'_, T>,
    cast: Cast,
    case: &Case,
    (series, load_bytes): (usize, usize),
) -> Result<(), KernelError> {
    let (t, rank, length_bytes) = (cx.transport(), cx.rank(), case.length(&LENGTH_BYTES));
    if rank == cast.source {
        send_load(t, cast, &cx.message(load_bytes)?)?;
    } else if rank == cast.sink {
        take_load(t, cast, &mut cx.message(load_bytes)?, |_, _| ())?;
    } else if rank == cast.partner {
        let mut buffer = cx.message(length_bytes)?;
        cx.follow(series, |t| echo::send_back(t, cast.tester, &mut buffer))?;
    } else if rank == cast.tester {
        let mut message = cx.message(length_bytes)?;
        under_load(t, cast, load_bytes, || {
            Ok(cx.time(series, |t| echo::bounce(t, cast.partner, &mut message))?)
        })?;
    }
    Ok(())
}

fn verify_series<T: Transport>(
    cx: &Context<'_, T>,
    cast: Cast,
    case: &Case,
    load_bytes: usize,
) -> Result<(), KernelError> {
    let (t, rank, length_bytes) = (cx.transport(), cx.rank(), case.length(&LENGTH_BYTES));
    if rank == cast.source {
        let mut message = cx.message(load_bytes)?;
        pattern::fill(&mut message, seed(LOAD, rank));
        send_load(t, cast, &message)?;
    } else if rank == cast.sink {
        verify_load(cx, cast, load_bytes)?;
    } else if rank == cast.partner {
        echo::verify_partner(cx, cast.tester, length_bytes)?;
    } else if rank == cast.tester {
        under_load(t, cast, load_bytes, || echo::verify_tester(cx, cast.partner, length_bytes))?;
    }
    Ok(())
}

/// Runs the tester's `echoes` while the load runs; it is over and drained when this returns.
fn under_load<T: Transport>(
    t: &T,
    cast: Cast,
    load_bytes: usize,
    echoes: impl FnOnce() -> Result<(), KernelError>,
) -> Result<(), KernelError> {
    if load_bytes == 0 {
        return echoes();
    }
    t.blocked_send(cast.source, START, &[])?;
    t.blocked_recv(Source::Rank(cast.sink), RUNNING, &mut [])?;
    let result = echoes();
    t.blocked_send(cast.source, STOP, &[])?;
    t.blocked_recv(Source::Rank(cast.sink), DRAINED, &mut [])?;
    result
}

/// The source's part: sends `message` from START to STOP, and then an empty message as the end.
fn send_load<T: Transport>(t: &T, cast: Cast, message: &[u8]) -> Result<()> {
    if message.is_empty() {
        return Ok(());
    }
    let (tester, sink) = (Source::Rank(cast.tester), Source::Rank(cast.sink));
    t.blocked_recv(tester, START, &mut [])?;
    send_burst(t, cast, message)?;
    while t.probe(tester, STOP)?.is_none() {
        beside_credit(t, sink, || send_burst(t, cast, message))?;
    }
    t.blocked_recv(tester, STOP, &mut [])?;
    beside_credit(t, sink, || t.blocked_send(cast.sink, LOAD, &[]))
}

/// Does `send` and receives the credit for the burst before the last. The sink may be about to send
/// it, and receives no more until it is taken, where sends wait for their receives.
fn beside_credit<T: Transport>(
    t: &T,
    sink: Source,
    send: impl FnOnce() -> Result<()>,
) -> Result<()> {
    t.scope(|s| {
        let credit = s.unblocked_recv(sink, CREDIT, &mut [])?;
        send()?;
        credit.wait().map(drop)
    })
}

fn send_burst<T: Transport>(t: &T, cast: Cast, message: &[u8]) -> Result<()> {
    for _ in 0..BURST {
        t.blocked_send(cast.sink, LOAD, message)?;
    }
    Ok(())
}

/// The sink's part: receives into `buffer` until the empty message, and shows each other message
/// to `look`.
fn take_load<T: Transport>(
    t: &T,
    cast: Cast,
    buffer: &mut [u8],
    mut look: impl FnMut(&mut [u8], Status),
) -> Result<()> {
    if buffer.is_empty() {
        return Ok(());
    }
    let mut n_received: usize = 0;
    loop {
        let status = t.blocked_recv(Source::Rank(cast.source), LOAD, buffer)?;
        if status.length_bytes == 0 {
            return t.blocked_send(cast.tester, DRAINED, &[]);
        }
        n_received += 1;
        if n_received == 1 {
            t.blocked_send(cast.tester, RUNNING, &[])?;
        }
        if n_received.is_multiple_of(BURST) {
            t.blocked_send(cast.source, CREDIT, &[])?;
        }
        look(buffer, status);
    }
}

/// The sink's part, with a check of each message; all are received before one is reported.
fn verify_load<T: Transport>(
    cx: &Context<'_, T>,
    cast: Cast,
    load_bytes: usize,
) -> Result<(), KernelError> {
    let mut buffer = cx.message(load_bytes)?;
    let seed = seed(LOAD, cast.source);
    let mut result = Ok(());
    pattern::spoil(&mut buffer, seed);
    take_load(cx.transport(), cast, &mut buffer, |buffer, status| {
        let arrival = (status, cast.source);
        let checked = check_arrival(cx, arrival, (&mut *buffer, seed), "the load");
        if result.is_ok() {
            result = checked;
        }
        pattern::spoil(buffer, seed);
    })?;
    result
}

/// Lengths above 0 and bandwidths (bytes per nanosecond) of the echo at one hop, by length.
#[expect(clippy::cast_precision_loss, reason = "lengths are far below 2^53 bytes")]
fn bandwidths(history: &History) -> Vec<(f64, f64)> {
    let mut curve: Vec<(f64, f64)> = history
        .of("comet/echo")
        .filter(|(case, _)| case.find(&HOPS) == Some(1))
        .filter_map(|(case, summaries)| {
            let (length_bytes, time) = (case.value(&LENGTH_BYTES), summaries.first()?.median);
            (length_bytes > 0 && time > 0.0)
                .then(|| (length_bytes as f64, length_bytes as f64 / time))
        })
        .collect();
    curve.sort_by(|a, b| a.0.total_cmp(&b.0));
    curve
}

/// The least length that reaches `share` of the peak of `curve`; between two measured lengths the
/// bandwidth is taken to grow with the logarithm of the length.
///
/// # Panics
/// If `curve` is empty.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the length lies between two that were measured, which are whole numbers above 0"
)]
fn length_reaching(curve: &[(f64, f64)], share: f64) -> u64 {
    let peak = curve.iter().map(|point| point.1).fold(0.0, f64::max);
    let target = share * peak;
    let reached = curve.iter().position(|point| point.1 >= target);
    let index = reached.expect("the peak is one of the points");
    let (length_bytes, bandwidth) = curve[index];
    if index == 0 {
        return length_bytes as u64;
    }
    let (length_below, bandwidth_below) = curve[index - 1];
    let part = (target - bandwidth_below) / (bandwidth - bandwidth_below);
    let between = length_below * (length_bytes / length_below).powf(part);
    between.ceil().min(length_bytes) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness;

    #[test]
    fn contention_verifies_and_is_sampled_on_the_tester() {
        harness::check_kernel(&Contention);
    }

    #[test]
    fn contention_notices_a_corrupting_transport() {
        harness::check_corrupt_transport(&Contention);
    }

    #[test]
    fn a_load_that_is_corrupted_alone_is_found_by_the_sink() {
        let topology = comet_core::topology::Topology::hypercube(4);
        let case = Case::new(&INFO, &[0, 100, 1000]);
        let results = comet_core::local::run_with(topology, true, |t| {
            Contention.verify(&mut harness::context(t, &INFO, false), &case).is_ok()
        });
        assert_eq!(results, [true, true, true, false]);
    }

    #[test]
    fn the_parts_are_those_of_the_thesis_from_eight_ranks_on() {
        let check = |n_ranks, ranks: [Rank; 4]| {
            let [source, sink, tester, partner] = ranks;
            assert_eq!(Cast::of(n_ranks), Cast { source, sink, tester, partner });
        };
        check(4, [0, 3, 1, 2]);
        check(7, [0, 3, 1, 2]);
        check(8, [0, 7, 1, 3]);
        check(9, [0, 7, 1, 3]);
    }

    #[test]
    fn load_lengths_are_the_least_that_reach_their_share() {
        let check = |curve: &[(f64, f64)], expected: [u64; 2]| {
            assert_eq!([0.5, 0.9].map(|share| length_reaching(curve, share)), expected);
        };
        // Half of the peak lies half way from 100 to 10000 on a logarithmic scale.
        check(&[(100.0, 2.0), (10_000.0, 8.0), (20_000.0, 10.0)], [1000, 14_143]);
        check(&[(64.0, 10.0), (128.0, 8.0)], [64, 64]);
        check(&[(1.0, 5.0), (2.0, 10.0)], [1, 2]);
        // What comes after the first length that reaches the share does not matter.
        check(&[(8.0, 1.0), (16.0, 9.0), (32.0, 2.0), (64.0, 10.0)], [12, 16]);
    }

    #[test]
    fn without_an_echo_curve_the_case_is_skipped_with_a_reason() {
        let case = Case::new(&INFO, &[8]);
        let resolve = |history: &History| {
            let kernel: &dyn Kernel<comet_core::local::Local> = &Contention;
            kernel.resolve(case, &World::of(&comet_core::topology::Topology::hypercube(4)), history)
        };
        let refusal = resolve(&History::default()).unwrap_err();
        assert!(refusal.starts_with("the load follows from comet/echo at 1 hop"), "{refusal}");
        let resolved = resolve(&harness::echo_history()).unwrap();
        let loads = loads(&resolved);
        assert!(0 < loads[1] && loads[1] < loads[2], "{loads:?}");
    }

    #[test]
    fn slowdowns_are_ratios_of_medians() {
        let summaries = [2.0, 3.0, 5.0].map(|time| Summary::of(&[time]).unwrap());
        let kernel: &dyn Kernel<comet_core::local::Local> = &Contention;
        let figures = kernel.derived(&Case::new(&INFO, &[8]), &summaries);
        let values: Vec<_> = figures.iter().map(|figure| figure.value).collect();
        assert_eq!(values, [Some(1.5), Some(2.5)]);
    }
}
