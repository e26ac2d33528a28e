//! Injection: how fast one rank can send message after message, and what each costs the CPUs of
//! sender and receiver; what the model `LogGP` needs.
//!
//! **Source**: Hoefler, Lichei and Rehm, "Low-Overhead `LogGP` Parameter Assessment for Modern
//! Interconnection Networks" (2007), for the sender; the receiver in the same way.
//!
//! **Pattern**, n = 16 messages of s bytes, d = one DAXPY
//! ```text
//!   round_trip   rank 0  ──OUT──►  rank 1             ◄──BACK── rank 1       PRTT(1, 0, s)
//!   sends        rank 0  ──OUT──► d ──OUT──► d … ──OUT──►   ◄──BACK──        PRTT(n, d, s)
//!   receives     rank 0  ──OUT──►   ◄──BACK── d ◄──BACK── d … ◄──BACK──      rank 1 is one ahead
//!   work         rank 0             d d … d, n - 1 times
//! ```
//! **Timed** (rank 0): one line of the drawing each. Buffers and vectors are made before.
//!
//! **Reports**: the four times, and from their medians, where there is no delay, the gap between
//! two messages, (sends - round_trip) / (n - 1); where the delay is at least a round trip, the
//! overheads o_s = (sends - round_trip - work) / (n - 1), and o_r with receives in place of sends.
//!
//! **Parameters**: `length_bytes` is s, at most 16 KiB, so that all n messages fit into the eager
//! buffers of common libraries; `vector_length` of the DAXPY, 0 for no delay.
//!
//! **Verified by**: other test data in each message; contents, source and length on both sides.
//!
//! **Caution**: d has to be longer than a round trip, or else the next message is not there yet;
//! where it is not, there are no overheads (take longer vectors). Above the eager limit of a
//! library a receive waits for its data, and o_r means nothing.

use comet_core::context::Context;
use comet_core::definition::{Definition, Quantity};
use comet_core::error::{KernelError, Result};
use comet_core::kernel::{
    AxisUse, Case, Derived, Kernel, KernelInfo, LENGTH_BYTES, Series, VECTOR_LENGTH, World,
};
use comet_core::pattern;
use comet_core::transport::{Rank, Source, Tag, Transport};
use comet_stats::Summary;

use crate::daxpy::Daxpy;
use crate::roles::{Role, check_arrival, seed};

const OUT: Tag = Tag::new(11);
const BACK: Tag = Tag::new(12);

/// Distance of the partner.
const HOPS: usize = 1;
/// Messages of a train.
const N_MESSAGES: usize = 16;
/// The most bytes of a train.
const MAX_TRAIN_BYTES: usize = 256 * 1024;

/// Messages out and back in the first three series, by their numbers; the last is the work alone.
const TRAINS: [(usize, usize); 3] = [(1, 1), (N_MESSAGES, 1), (1, N_MESSAGES)];
const WORK: usize = 3;

/// The kernel `model/injection`; see the [module](self).
#[derive(Clone, Copy, Debug)]
pub struct Injection;

static INFO: KernelInfo = KernelInfo {
    name: "injection",
    summary: "Trains of messages to a partner, back to back and with delays",
    source: "Hoefler et al. 2007, Low-Overhead LogGP Parameter Assessment",
    aliases: &["netgauge:loggp"],
    axes: &[
        AxisUse {
            axis: &LENGTH_BYTES,
            sweeps: ["1,1Ki", "1,64,1Ki,4Ki,16Ki", "1..16Ki*2,100,101,192,384,768,1536,3Ki"],
        },
        AxisUse { axis: &VECTOR_LENGTH, sweeps: ["0,20000", "0,20000", "0,20000,200000"] },
    ],
    series: &[
        on_test_node("round_trip"),
        on_test_node("sends"),
        on_test_node("receives"),
        on_test_node("work"),
    ],
    admits,
    bytes_per_rank: |case, _| 2 * case.value(&LENGTH_BYTES) + 16 * case.value(&VECTOR_LENGTH),
    ..KernelInfo::pair("model")
};

const fn on_test_node(name: &'static str) -> Series {
    Series {
        name,
        quantity: Quantity::OpTime,
        definition: Definition::TestNode,
        quote_minimum: false,
        bytes_per_op: |_, _| None,
    }
}

fn admits(case: &Case, world: &World<'_>) -> Result<(), String> {
    world.require_ranks(2)?;
    world.require_hops(HOPS)?;
    let (length_bytes, longest) = (case.length(&LENGTH_BYTES), MAX_TRAIN_BYTES / N_MESSAGES);
    if length_bytes <= longest {
        return Ok(());
    }
    Err(format!(
        "a train of {N_MESSAGES} messages of {length_bytes} bytes fills buffers on its way (use at \
         most {longest} bytes)"
    ))
}

impl<T: Transport> Kernel<T> for Injection {
    fn info(&self) -> &'static KernelInfo {
        &INFO
    }

    fn verify(&self, cx: &mut Context<'_, T>, case: &Case) -> Result<(), KernelError> {
        let Some(role) = Role::of(cx.rank(), cx.topology(), HOPS) else { return Ok(()) };
        let length_bytes = case.length(&LENGTH_BYTES);
        // All trains run to their end before the first mismatch is reported.
        let results = TRAINS.map(|train| verify_trains(cx, role, train, length_bytes));
        results.into_iter().collect()
    }

    fn measure(&self, cx: &mut Context<'_, T>, case: &Case) -> Result<(), KernelError> {
        let role = Role::of(cx.rank(), cx.topology(), HOPS);
        let mut message = cx.message(case.length(&LENGTH_BYTES))?;
        match role {
            Some(Role::Tester(peer)) => {
                let mut daxpy = Daxpy::new(case.length(&VECTOR_LENGTH));
                measure_tester(cx, peer, &mut message, &mut daxpy)?;
            }
            Some(Role::Partner(peer)) => {
                let mut daxpy = Daxpy::new(case.length(&VECTOR_LENGTH));
                for (series, train) in TRAINS.into_iter().enumerate() {
                    cx.follow(series, |t| answer(t, peer, train, &mut message, || daxpy.run(t)))?;
                }
            }
            Some(Role::Alone) | None => (),
        }
        Ok(())
    }

    fn derived(&self, case: &Case, summaries: &[Summary]) -> Vec<Derived> {
        let [round_trip, sends, receives, work] = summaries else { return Vec::new() };
        let each = |time_ns: f64| time_ns / (N_MESSAGES - 1) as f64;
        let beyond = |train: &Summary| each(train.median - round_trip.median);
        let is_delayed = case.value(&VECTOR_LENGTH) > 0;
        let delay_ns = each(work.median);
        let is_late = is_delayed && delay_ns >= round_trip.median;
        vec![
            Derived {
                name: "gap_ns",
                formula: "(sends - round_trip) / 15, with medians and no delay",
                value: (!is_delayed).then(|| beyond(sends)),
            },
            Derived {
                name: "send_overhead_ns",
                formula: "(sends - round_trip - work) / 15, with medians, if work / 15 >= \
                          round_trip",
                value: is_late.then(|| beyond(sends) - delay_ns),
            },
            Derived {
                name: "receive_overhead_ns",
                formula: "(receives - round_trip - work) / 15, with medians, if work / 15 >= \
                          round_trip",
                value: is_late.then(|| beyond(receives) - delay_ns),
            },
        ]
    }
}

fn measure_tester<T: Transport>(
    cx: &mut Context<'_, T>,
    peer: Rank,
    message: &mut [u8],
    daxpy: &mut Daxpy,
) -> Result<()> {
    for (series, train) in TRAINS.into_iter().enumerate() {
        cx.time(series, |t| send_and_receive(t, peer, train, message, || daxpy.run(t)))?;
    }
    cx.time(WORK, |t| {
        (1..N_MESSAGES).for_each(|_| daxpy.run(t));
        Ok(())
    })
}

/// The test node's part: `n_out` messages to `peer`, and `n_back` from it, with `delay` between
/// any two in the same direction. What comes back is sent next, so that messages are freshly
/// written.
#[inline]
fn send_and_receive<T: Transport>(
    t: &T,
    peer: Rank,
    (n_out, n_back): (usize, usize),
    message: &mut [u8],
    mut delay: impl FnMut(),
) -> Result<()> {
    t.blocked_send(peer, OUT, message)?;
    for _ in 1..n_out {
        delay();
        t.blocked_send(peer, OUT, message)?;
    }
    t.blocked_recv(Source::Rank(peer), BACK, message)?;
    for _ in 1..n_back {
        delay();
        t.blocked_recv(Source::Rank(peer), BACK, message)?;
    }
    Ok(())
}

/// The partner's part: all `n_out` messages of `peer`, and then `n_back` to it, with `delay` between
/// all but the first two: each is there a delay before it is received, and the partner does not go
/// to sleep meanwhile.
#[inline]
fn answer<T: Transport>(
    t: &T,
    peer: Rank,
    (n_out, n_back): (usize, usize),
    message: &mut [u8],
    mut delay: impl FnMut(),
) -> Result<()> {
    for _ in 0..n_out {
        t.blocked_recv(Source::Rank(peer), OUT, message)?;
    }
    for number in 0..n_back {
        if number > 1 {
            delay();
        }
        t.blocked_send(peer, BACK, message)?;
    }
    Ok(())
}

fn verify_trains<T: Transport>(
    cx: &Context<'_, T>,
    role: Role,
    (n_out, n_back): (usize, usize),
    length_bytes: usize,
) -> Result<(), KernelError> {
    match role {
        Role::Tester(peer) => {
            send_train(cx, (peer, OUT), n_out, length_bytes)?;
            receive_train(cx, (peer, BACK), n_back, length_bytes)
        }
        Role::Partner(peer) => {
            let received = receive_train(cx, (peer, OUT), n_out, length_bytes);
            send_train(cx, (peer, BACK), n_back, length_bytes)?;
            received
        }
        Role::Alone => Ok(()),
    }
}

fn send_train<T: Transport>(
    cx: &Context<'_, T>,
    (peer, tag): (Rank, Tag),
    n_messages: usize,
    length_bytes: usize,
) -> Result<(), KernelError> {
    let mut message = cx.message(length_bytes)?;
    for number in 0..n_messages {
        pattern::fill(&mut message, numbered_seed(tag, cx.rank(), number));
        cx.transport().blocked_send(peer, tag, &message)?;
    }
    Ok(())
}

/// Receives all messages of a train before it reports the first mismatch.
fn receive_train<T: Transport>(
    cx: &Context<'_, T>,
    (peer, tag): (Rank, Tag),
    n_messages: usize,
    length_bytes: usize,
) -> Result<(), KernelError> {
    let mut buffer = cx.message(length_bytes)?;
    let mut found = Ok(());
    for number in 0..n_messages {
        let seed = numbered_seed(tag, peer, number);
        pattern::spoil(&mut buffer, seed);
        let status = cx.transport().blocked_recv(Source::Rank(peer), tag, &mut buffer)?;
        let what = format!("message {number} of {n_messages} from rank {peer}");
        found = found.and(check_arrival(cx, (status, peer), (&mut buffer, seed), &what));
    }
    found
}

/// Seed of the test data of one message of a train, above the bits that tag and rank take.
fn numbered_seed(tag: Tag, sender: Rank, number: usize) -> u64 {
    seed(tag, sender) | (number as u64) << 48
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness;
    use comet_core::topology::Topology;

    #[test]
    fn injection_verifies_and_is_sampled_on_the_test_node() {
        harness::check_kernel(&Injection);
    }

    #[test]
    fn injection_notices_a_corrupting_transport() {
        harness::check_corrupt_transport(&Injection);
    }

    #[test]
    fn trains_that_fill_buffers_are_refused() {
        let check = |n_ranks, length_bytes, expected: Result<(), &str>| {
            let case = Case::new(&INFO, &[length_bytes]);
            let found = admits(&case, &World::of(&Topology::hypercube(n_ranks)));
            assert_eq!(found, expected.map_err(str::to_owned));
        };
        check(2, 16_384, Ok(()));
        check(1, 8, Err("needs at least 2 ranks, there is 1"));
        let full = "a train of 16 messages of 16385 bytes fills buffers on its way (use at most \
                    16384 bytes)";
        check(2, 16_385, Err(full));
    }

    #[test]
    fn the_parameters_agree_with_a_hand_computation() {
        let check = |vector_length, times: [f64; 4], expected: [Option<f64>; 3]| {
            let summaries = times.map(|time| Summary::of(&[time]).unwrap());
            let kernel: &dyn Kernel<comet_core::local::Local> = &Injection;
            let figures = kernel.derived(&Case::new(&INFO, &[8, vector_length]), &summaries);
            let found: Vec<_> = figures.iter().map(|figure| figure.value).collect();
            assert_eq!(found, expected, "{times:?}");
        };
        // Times of round trip, sends, receives and work: 15 delays of 1200 each.
        check(0, [1000.0, 1750.0, 2000.0, 0.0], [Some(50.0), None, None]);
        check(9, [1000.0, 19_450.0, 19_600.0, 18_000.0], [None, Some(30.0), Some(40.0)]);
        // A delay that is shorter than a round trip.
        check(9, [1000.0, 19_450.0, 19_600.0, 1500.0], [None, None, None]);
    }
}
