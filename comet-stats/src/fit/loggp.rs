//! The parameters of LogGP, from trains of messages that are answered once.
//!
//! A message of `s` bytes takes `o_s + L + o_r + (s-1) G`, and two follow each other after
//! `g + (s-1) G` (Alexandrov and others, SPAA 1995). Trains tell them apart (Hoefler, Lichei and
//! Rehm, IPDPS 2007): `PRTT(n, d, s)` is the time from the first of `n` messages, with a wait of
//! `d` between them, to the answer.
//!
//! ```text
//!   gap       [PRTT(n,0,s) - PRTT(1,0,s)] / (n-1)       = g + (s-1) G
//!   o_s       [PRTT(n,d,s) - PRTT(1,0,s)] / (n-1) - d   where d + o_s is above the gap
//!   o_r       time of a wait of d and a receive - d     the message is there by then
//!   L         PRTT(1,0,s) / 2 - o_s - o_r - (s-1) G     of the smallest s
//! ```
//!
//! All differences are taken within a slice, and the range of each parameter comes from resampling
//! the slices. A message that waits for its receiver has no `o_r`; fit each protocol alone.

use super::range::{Estimate, median};
use super::{FitError, Line, Weights, positive};

/// Times of one slice; the mean of its repetitions each.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrainTimes {
    /// One message and its answer: `PRTT(1,0,s)`.
    pub single: f64,
    /// A train without waits and its answer: `PRTT(n,0,s)`.
    pub train: f64,
    /// A train with waits and its answer: `PRTT(n,d,s)`.
    pub delayed: f64,
    /// One wait of `d` and one receive of a message that has arrived meanwhile.
    pub receive: f64,
}

/// Trains of messages of one size.
#[derive(Clone, Debug, PartialEq)]
pub struct Train {
    /// Size of a message in bytes (`s`), at least 1.
    pub size_bytes: f64,
    /// The wait between messages (`d`), about `PRTT(1,0,s)`.
    pub delay: f64,
    /// All slices of this size, as many as of any other, measured together by their index.
    pub slices: Vec<TrainTimes>,
}

/// Costs of one size: a row of the table of PLogP (Kielmann, Bal and Verstoep, 2000).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Overheads {
    /// Size of a message in bytes.
    pub size_bytes: f64,
    /// Time between two messages.
    pub gap: Estimate,
    /// Time of the sender (`o_s`).
    pub send: Estimate,
    /// Time of the receiver (`o_r`).
    pub receive: Estimate,
}

/// The parameters, in the unit of the times.
#[derive(Clone, Debug, PartialEq)]
pub struct LogGp {
    /// Time in the network (`L`).
    pub latency: Estimate,
    /// Time between two messages of one byte (`g`).
    pub gap: Estimate,
    /// Time for each byte more (`G`).
    pub gap_per_byte: Estimate,
    /// Costs of each size; the first row has the `o_s` and `o_r` that are named beside `L`.
    pub overheads: Vec<Overheads>,
    /// `PRTT(1,0,s) / 2` of the smallest size: what netgauge calls `L`, overheads included.
    pub latency_netgauge: Estimate,
}

impl LogGp {
    /// The parameters from `trains` of `n_messages`, by ascending size.
    ///
    /// # Errors
    /// [`FitError`] if there are fewer than four sizes or two messages, if sizes have no slices or
    /// different numbers of them, or if a delay is below the gap.
    pub fn fit(trains: &[Train], n_messages: u32) -> Result<Self, FitError> {
        let n_slices = check(trains, n_messages)?;
        let overheads: Vec<Overheads> =
            trains.iter().map(|train| overheads(train, n_messages)).collect::<Result<_, _>>()?;
        let slices: Vec<usize> = (0..n_slices).collect();
        line(trains, n_messages, &slices)?;
        // Slices may be drawn in which a train took no longer than one message: no line, no value.
        let parameter = |of: fn(&Line) -> f64| {
            let value = |drawn: &[usize]| line(trains, n_messages, drawn).map(|line| of(&line));
            Estimate::of(&slices, |drawn| value(drawn).unwrap_or(f64::NAN))
        };
        let gap_per_byte = parameter(|line| line.per_unit);
        Ok(Self {
            latency: latency(&trains[0], n_messages, gap_per_byte.value),
            gap: parameter(|line| line.t0),
            gap_per_byte,
            overheads,
            latency_netgauge: per_slice(&trains[0], |times| times.single / 2.0),
        })
    }

    /// True if the times separate `L` from the overheads: its range does not hold 0. `None` without
    /// a range.
    ///
    /// On shared memory they usually do not, as the overheads hold the copies and the polling.
    pub fn is_latency_identifiable(&self) -> Option<bool> {
        self.latency.range.map(|range| range.low > 0.0)
    }
}

/// The number of slices of each size, if all is as it should be.
fn check(trains: &[Train], n_messages: u32) -> Result<usize, FitError> {
    let too_few = |what, found, expected| Err(FitError::too_few(found, what, expected));
    if n_messages < 2 {
        return too_few("messages of a train", n_messages as usize, 2);
    }
    let n_slices = trains.first().map_or(0, |train| train.slices.len()).max(1);
    for train in trains {
        positive("size in bytes", train.size_bytes)?;
        if train.slices.len() != n_slices {
            return too_few("slices of a size", train.slices.len(), n_slices);
        }
    }
    Ok(n_slices)
}

/// The row of one size.
fn overheads(train: &Train, n_messages: u32) -> Result<Overheads, FitError> {
    let (delay, size) = (train.delay, train.size_bytes);
    let gap = per_slice(train, |times| gap(times, n_messages));
    let send = per_slice(train, |times| send(times, n_messages, delay));
    let receive = per_slice(train, |times| times.receive - delay);
    // Below the gap, the train would take no longer with the waits than without.
    if delay + send.value < gap.value || delay <= 0.0 {
        return Err(FitError(format!(
            "a delay of {delay} between messages of size {size} is below their gap of {} (wait for \
             the time of a round trip)",
            gap.value
        )));
    }
    Ok(Overheads { size_bytes: size, gap, send, receive })
}

/// The line of the gap over the bytes beyond the first, from these slices.
fn line(trains: &[Train], n_messages: u32, slices: &[usize]) -> Result<Line, FitError> {
    let point = |train: &Train| {
        let gaps = slices.iter().map(|slice| gap(&train.slices[*slice], n_messages));
        (train.size_bytes - 1.0, median(&gaps.collect::<Vec<_>>()))
    };
    Line::fit_robust(&trains.iter().map(point).collect::<Vec<_>>(), Weights::Relative)
}

fn latency(train: &Train, n_messages: u32, gap_per_byte: f64) -> Estimate {
    let rest = (train.size_bytes - 1.0) * gap_per_byte;
    per_slice(train, |times| {
        let overheads = send(times, n_messages, train.delay) + times.receive - train.delay;
        times.single / 2.0 - overheads - rest
    })
}

fn per_slice(train: &Train, value: impl Fn(&TrainTimes) -> f64) -> Estimate {
    Estimate::of_median(&train.slices.iter().map(value).collect::<Vec<_>>())
}

/// The time between two messages of a train.
fn gap(times: &TrainTimes, n_messages: u32) -> f64 {
    (times.train - times.single) / f64::from(n_messages - 1)
}

/// The time that a message takes its sender.
fn send(times: &TrainTimes, n_messages: u32, delay: f64) -> f64 {
    (times.delayed - times.single) / f64::from(n_messages - 1) - delay
}

#[cfg(test)]
mod tests {
    use oorandom::Rand64;

    use super::*;
    use crate::normal;

    const N: u32 = 16;
    /// `L`, `o_s`, `o_r`, `g` and `G` in us.
    const PLANTED: [f64; 5] = [5.0, 1.2, 1.5, 2.5, 0.004];

    /// Ten slices for each size, of which each is off by this share of itself.
    fn trains([l, o_s, o_r, g, per_byte]: [f64; 5], noise: f64) -> Vec<Train> {
        let mut random = Rand64::new(11);
        let mut train = |size_bytes: f64| {
            let rest = (size_bytes - 1.0) * per_byte;
            let single = 2.0 * (o_s + l + o_r + rest);
            let waits = f64::from(N - 1);
            let mut slice = || {
                let slow = 1.0 + noise * normal(&mut random);
                let mut time = |time: f64| time * slow * (1.0 + 0.1 * noise * normal(&mut random));
                TrainTimes {
                    single: time(single),
                    train: time(single + waits * (g + rest)),
                    delayed: time(single + waits * (o_s + single)),
                    receive: time(o_r + single),
                }
            };
            let slices = (0..10).map(|_| slice()).collect();
            Train { size_bytes, delay: single, slices }
        };
        [1.0, 8.0, 64.0, 256.0, 1024.0, 4096.0, 16_384.0].into_iter().map(&mut train).collect()
    }

    #[test]
    fn planted_parameters_come_back_within_their_ranges() {
        for (noise, tolerance) in [(0.0, 1e-9), (0.005, 0.05)] {
            let found = LogGp::fit(&trains(PLANTED, noise), N).unwrap();
            let Overheads { send, receive, .. } = found.overheads[0];
            let estimates = [found.latency, send, receive, found.gap, found.gap_per_byte];
            for (found, planted) in estimates.into_iter().zip(PLANTED) {
                assert!((found.value / planted - 1.0).abs() < tolerance, "{found:?}: {planted}");
                let range = found.range.unwrap();
                assert!(noise == 0.0 || range.contains(planted), "{found:?}: {planted}");
                assert!(range.contains(found.value), "{found:?}");
            }
            assert_eq!(found.is_latency_identifiable(), Some(true));
            assert!((found.latency_netgauge.value / 7.7 - 1.0).abs() < tolerance, "{found:?}");
            let is_near = |row: &Overheads| (row.send.value / 1.2 - 1.0).abs() < tolerance;
            // The differences of long trains are noisy.
            assert!(noise > 0.0 || found.overheads.iter().all(is_near), "{found:?}");
        }
    }

    #[test]
    fn a_latency_that_may_be_zero_is_not_identifiable() {
        let shared_memory = [0.0, 1.2, 1.5, 2.5, 0.004];
        let found = LogGp::fit(&trains(shared_memory, 0.02), N).unwrap();
        assert_eq!(found.is_latency_identifiable(), Some(false), "{found:?}");
        let few: Vec<_> = trains(PLANTED, 0.0)
            .into_iter()
            .map(|train| Train { slices: train.slices[..4].to_vec(), ..train })
            .collect();
        assert_eq!(LogGp::fit(&few, N).unwrap().is_latency_identifiable(), None);
    }

    #[test]
    fn trains_that_say_nothing_are_refused() {
        let check = |n_messages: u32, change: fn(&mut Vec<Train>), expected: &str| {
            let mut trains = trains(PLANTED, 0.0);
            change(&mut trains);
            let error = LogGp::fit(&trains, n_messages).unwrap_err().to_string();
            assert_eq!(error.split(" (").next(), Some(expected));
        };
        check(1, |_| (), "1 messages of a train are too few");
        check(N, |trains| trains.truncate(3), "3 points are too few");
        check(N, Vec::clear, "0 points are too few");
        check(N, |trains| trains[2].slices.clear(), "0 slices of a size are too few");
        let short = "a delay of 0 between messages of size 8 is below their gap of 2.528";
        check(N, |trains| trains[1].delay = 0.0, short);
    }
}
