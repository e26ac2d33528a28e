//! Contention: slowdown of an echo under load on the links that it uses.
//!
//! **Source**: thesis section 3.3.6, figures 3.6 and 3.7.
//!
//! **Pattern**
//! ```text
//!   8 ranks, routes of the thesis:   0 --LOAD--> (1) --> (3) --> 7
//!                                                 1 <--echo--> 3
//!
//!   tester --START--> source            the load begins
//!   source ==LOAD===> sink              bursts without end, at most two on their way
//!   sink   --CREDIT-> source            for each burst
//!   sink   --RUNNING> tester            after the first message: the echoes begin
//!   tester --STOP---> source            after the last echo
//!   source --LOAD, 0 bytes--> sink --DRAINED--> tester
//! ```
//! **Timed** (the tester): the echo, as in `comet/echo`; nothing else lies between the clock reads.
//!
//! **Reports**: mean one-way time of the echo without load, at 50 % and at 90 % load, and both slowdowns,
//! as ratios of these. An echo waits for a message of the load or for none, so that the median of a few
//! follows from their number.
//!
//! **Rate**: `length_bytes` / one-way time.
//!
//! **Parameters**: `length_bytes` of the echo. `load_50_bytes` and `load_90_bytes`, the lengths of
//! the messages that load the links, follow from `comet/echo`: the lengths of its sweep that come
//! nearest to 50 % and 90 % of its peak bandwidth at one hop (486 and 5000 bytes in the thesis).
//!
//! **Verified by**: contents, source and length of the echoes in both directions, and of every
//! message of the load.
//!
//! **Caution**: source, sink and pair are ranks whose routes share a link by the topology, or those
//! of `--cast`; a run whose routes share none is skipped. Where all ranks share one memory, the
//! load contends for caches and memory instead, and for cores where there are fewer than four.

use comet_core::kernel::Cast;
use comet_core::kernel::prelude::*;

use crate::pattern::Bounce;

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

/// `comet/contention`; see the [module](self).
pub(crate) struct Contention;

const INFO: KernelInfo = KernelInfo {
    name: "contention",
    file: include_str!("contention.rs"),
    summary: "Echo between two ranks while two others load the links",
    class: Class::Contention,
    begins_again: false,
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
    series: &[
        Series::one_way("idle").by_mean(),
        Series::one_way("half_load").by_mean(),
        Series::one_way("ninety_load").by_mean(),
    ],
    timing: Timing::Pipelined,
    admits: |_, world| world.cast().map(drop),
    bytes_per_rank: |case, _| {
        let load_bytes = case.value(&LOAD_50_BYTES).max(case.value(&LOAD_90_BYTES));
        load_bytes.max(case.value(&LENGTH_BYTES).saturating_mul(2))
    },
    requires: &["comet/echo"],
    is_movable: false,
    ..KernelInfo::pair("comet")
};

/// One rank's part.
pub(crate) enum Part<B> {
    /// The rank that takes times, and starts and stops the load if there is one.
    Tester(Bounce<B>, Option<Signals>),
    /// Its partner.
    Partner(Bounce<B>),
    Source(Load<B>),
    Sink(Load<B>),
}

/// One end of the load.
pub(crate) struct Load<B> {
    signals: Signals,
    /// The message that is repeated, or room for it.
    message: B,
    /// Seed of the messages, if the sink looks at each.
    seed: Option<u64>,
    /// Messages whose contents or length were wrong.
    n_wrong: u32,
}

/// The four ranks, and the tags by which they start and stop the load.
#[derive(Clone, Copy)]
pub(crate) struct Signals {
    cast: Cast,
    load: Tag,
    start: Tag,
    running: Tag,
    stop: Tag,
    drained: Tag,
    credit: Tag,
}

impl Signals {
    fn of<T: Transport>(cx: &Context<'_, T>, cast: Cast) -> Self {
        let [load, start, running, stop, drained, credit] = [2, 3, 4, 5, 6, 7].map(|i| cx.tag(i));
        Self { cast, load, start, running, stop, drained, credit }
    }

    /// The tester's signal to the source, and the answer of the sink.
    fn signal<T: Transport>(&self, t: &T, [out, back]: [Tag; 2]) -> Result<()> {
        t.blocked_send(self.cast.source, out, &[])?;
        t.blocked_recv(Source::Rank(self.cast.sink), back, &mut []).map(drop)
    }

    /// The source's part: sends `message` from START to STOP, and then an empty message as the end.
    fn send_load<T: Transport>(&self, t: &T, message: &[u8]) -> Result<()> {
        let tester = Source::Rank(self.cast.tester);
        t.blocked_recv(tester, self.start, &mut [])?;
        self.send_burst(t, message)?;
        while t.probe(tester, self.stop)?.is_none() {
            self.beside_credit(t, || self.send_burst(t, message))?;
        }
        t.blocked_recv(tester, self.stop, &mut [])?;
        self.beside_credit(t, || t.blocked_send(self.cast.sink, self.load, &[]))
    }

    /// Does `send` and receives the credit for the burst before the last. The sink may be about to
    /// send it, and receives no more until it is taken, where sends wait for their receives.
    fn beside_credit<T: Transport>(&self, t: &T, send: impl FnOnce() -> Result<()>) -> Result<()> {
        t.scope(|s| {
            let sink = Source::Rank(self.cast.sink);
            let credit = s.unblocked_recv(sink, self.credit, &mut [])?;
            send()?;
            credit.wait().map(drop)
        })
    }

    fn send_burst<T: Transport>(&self, t: &T, message: &[u8]) -> Result<()> {
        (0..BURST).try_for_each(|_| t.blocked_send(self.cast.sink, self.load, message))
    }

    /// The sink's part: receives into `buffer` until the empty message, and shows each other
    /// message with its length to `look`.
    fn take_load<T: Transport>(
        &self,
        t: &T,
        buffer: &mut [u8],
        mut look: impl FnMut(&mut [u8], usize),
    ) -> Result<()> {
        for n_received in 1.. {
            let status = t.blocked_recv(Source::Rank(self.cast.source), self.load, buffer)?;
            if status.length_bytes == 0 {
                break;
            }
            if n_received == 1 {
                t.blocked_send(self.cast.tester, self.running, &[])?;
            }
            if n_received % BURST == 0 {
                t.blocked_send(self.cast.source, self.credit, &[])?;
            }
            look(buffer, status.length_bytes);
        }
        t.blocked_send(self.cast.tester, self.drained, &[])
    }
}

impl<T: Transport> Operation<T> for Part<T::Buffer> {
    fn fill(&mut self, seeds: Seeds) {
        match self {
            Self::Tester(echo, _) | Self::Partner(echo) => Operation::<T>::fill(echo, seeds),
            Self::Source(Load { message, signals, .. }) => {
                pattern::fill(message, seeds.of(2, signals.cast.source));
            }
            Self::Sink(load) => load.message.fill(0),
        }
    }

    #[inline]
    fn run(&mut self, t: &T) -> Result<()> {
        match self {
            Self::Tester(echo, _) | Self::Partner(echo) => echo.run(t),
            Self::Source(load) => load.signals.send_load(t, &load.message),
            Self::Sink(Load { signals, message, seed, n_wrong }) => {
                let capacity = message.len();
                signals.take_load(t, message, |message, n| {
                    let Some(seed) = *seed else { return };
                    let is_right = n == capacity && pattern::check(message, seed, "").is_ok();
                    *n_wrong += u32::from(!is_right);
                    pattern::spoil(message, seed);
                })
            }
        }
    }

    fn begin(&mut self, t: &T) -> Result<()> {
        let Self::Tester(_, Some(signals)) = self else { return Ok(()) };
        signals.signal(t, [signals.start, signals.running])
    }

    fn end(&mut self, t: &T) -> Result<()> {
        let Self::Tester(_, Some(signals)) = self else { return Ok(()) };
        signals.signal(t, [signals.stop, signals.drained])
    }

    fn check(&mut self, check: &mut Checker) {
        match self {
            Self::Tester(echo, _) | Self::Partner(echo) => Operation::<T>::check(echo, check),
            Self::Source(_) => (),
            Self::Sink(Load { seed: Some(_), n_wrong, .. }) => {
                let (found, what) = (f64::from(*n_wrong), "the wrong messages of the load");
                check.values(&mut [found], |_| 0.0, |_| true, what);
            }
            Self::Sink(Load { message, signals, .. }) => {
                let seed = check.seeds().of(2, signals.cast.source);
                check.message(message, seed, "the last message of the load");
            }
        }
    }

    /// The operation, in which the sink looks at every message.
    fn verify(&mut self, t: &T, check: &mut Checker) -> Result<()> {
        match self {
            Self::Tester(..) => {
                self.begin(t)?;
                let Self::Tester(echo, _) = self else { return Ok(()) };
                echo.verify(t, check)?;
                return self.end(t);
            }
            Self::Partner(echo) => return echo.verify(t, check),
            Self::Source(load) | Self::Sink(load) => {
                load.seed = Some(check.seeds().of(2, load.signals.cast.source));
            }
        }
        Operation::<T>::fill(self, check.seeds());
        self.run(t)?;
        Operation::<T>::check(self, check);
        Ok(())
    }
}

impl<T: Transport> Pattern<T> for Contention {
    const INFO: KernelInfo = INFO;
    type Part = Part<T::Buffer>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, series: usize) -> Result<Role<Self::Part>> {
        let Ok(cast) = cx.world().cast() else { return Ok(None) };
        let (rank, load_bytes) = (cx.rank(), loads(case)[series]);
        let signals = Signals::of(cx, cast);
        let echo = |peer, leads| Bounce::new(cx, Side { peer, leads }, case.length(&LENGTH_BYTES));
        let load = || {
            let message = cx.message(load_bytes)?;
            Ok(Load { signals, message, seed: None, n_wrong: 0 })
        };
        Ok(if rank == cast.tester {
            let signals = (load_bytes > 0).then_some(signals);
            Some((Duty::Times, Part::Tester(echo(cast.partner, true)?, signals)))
        } else if rank == cast.partner {
            Some((Duty::Follows, Part::Partner(echo(cast.tester, false)?)))
        } else if rank == cast.source && load_bytes > 0 {
            Some((Duty::Serves, Part::Source(load()?)))
        } else if rank == cast.sink && load_bytes > 0 {
            Some((Duty::Serves, Part::Sink(load()?)))
        } else {
            None
        })
    }

    fn resolve(&self, case: Case, _: &World<'_>, history: &History) -> Result<Case, String> {
        // An earlier launch of the run found them: one point has one load.
        if case.find(&LOAD_50_BYTES).is_some_and(|load_bytes| load_bytes > 0) {
            return Ok(case);
        }
        let curve = bandwidths(history);
        if curve.len() < 2 {
            return Err(format!(
                "the load follows from comet/echo at 1 hop, measured at {} lengths above 0: at \
                 least 2 are needed (measure comet/echo at more lengths)",
                curve.len()
            ));
        }
        let case = case.with(&LOAD_50_BYTES, length_near(&curve, 0.5));
        Ok(case.with(&LOAD_90_BYTES, length_near(&curve, 0.9)))
    }

    fn derived(&self, _case: &Case, summaries: &[Summary]) -> Vec<Derived> {
        let [idle, half, ninety] = summaries else { return Vec::new() };
        // Of what was quoted: of several slices the middle one.
        let slowdown = |load: &Summary| (idle.median > 0.0).then(|| load.median / idle.median);
        vec![
            Derived::of("slowdown_at_half_load", "mean(half_load) / mean(idle)", slowdown(half)),
            Derived::of(
                "slowdown_at_ninety_load",
                "mean(ninety_load) / mean(idle)",
                slowdown(ninety),
            ),
        ]
    }
}

/// Length of the load messages of each series, in bytes; 0 for no load.
fn loads(case: &Case) -> [usize; 3] {
    [0, case.length(&LOAD_50_BYTES), case.length(&LOAD_90_BYTES)]
}

/// Lengths above 0 and bandwidths (bytes per nanosecond) of the echo at one hop, by length.
fn bandwidths(history: &History) -> Vec<(u64, f64)> {
    let mut curve: Vec<(u64, f64)> = history
        .of("comet/echo")
        .filter(|(case, _)| case.find(&HOPS) == Some(1))
        .filter_map(|(case, summaries)| {
            let (length_bytes, time) = (case.value(&LENGTH_BYTES), summaries.first()?.median);
            (length_bytes > 0 && time > 0.0).then(|| (length_bytes, length_bytes as f64 / time))
        })
        .collect();
    curve.sort_by_key(|point| point.0);
    curve
}

/// The length nearest to `share` of the peak of `curve`, of the least that reaches it and the one
/// before: runs of one machine find the same, and a length between two would differ.
///
/// # Panics
/// If `curve` is empty.
fn length_near(curve: &[(u64, f64)], share: f64) -> u64 {
    let target = share * curve.iter().map(|point| point.1).fold(0.0, f64::max);
    let reached = curve.iter().position(|point| point.1 >= target);
    let index = reached.expect("the peak is one of the points");
    let (below, above) = (curve[index.saturating_sub(1)], curve[index]);
    if target - below.1 < above.1 - target { below.0 } else { above.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::echo_history;
    use comet_core::kernel::harness;
    use comet_core::local::{self, Local};
    use comet_core::topology::Topology;

    #[test]
    fn a_load_that_is_corrupted_alone_is_found_by_the_sink() {
        let case = Case::new(&INFO, &[0, 100, 1000]);
        let results = local::run_with(Topology::hypercube(8), true, |t| {
            Timed(Contention).verify(&mut harness::context(t, &INFO, false), &case).is_ok()
        });
        let wrong: Vec<Rank> = (0..8).filter(|rank| !results[*rank]).collect();
        assert_eq!(wrong, [7]);
    }

    #[test]
    fn four_ranks_are_refused_since_no_routes_share_a_link() {
        let topology = Topology::hypercube(4);
        let world = World::of(&topology);
        let refusal = (INFO.admits)(&Case::new(&INFO, &[8]), &world).unwrap_err();
        assert!(
            refusal.starts_with("no load between two of 4 ranks is known to share"),
            "{refusal}"
        );
        let given_cast = Some("0,3,1,2".parse().unwrap());
        let refusal = World { given_cast, ..world }.admit(&Case::new(&INFO, &[8])).unwrap_err();
        assert!(refusal.starts_with("a load from 0 to 3 shares no link"), "{refusal}");
    }

    #[test]
    fn load_lengths_are_those_of_the_sweep_nearest_to_their_share() {
        let check = |curve: &[(u64, f64)], expected: [u64; 2]| {
            assert_eq!([0.5, 0.9].map(|share| length_near(curve, share)), expected);
        };
        check(&[(100, 3.0), (10_000, 8.0), (20_000, 10.0)], [100, 20_000]);
        // A bandwidth on either side of the half is the nearest all the same.
        check(&[(64, 0.04), (4096, 0.503), (65_536, 1.0)], [4096, 65_536]);
        check(&[(64, 0.04), (4096, 0.497), (65_536, 1.0)], [4096, 65_536]);
        check(&[(64, 10.0), (128, 8.0)], [64, 64]);
        check(&[(1, 5.0), (2, 10.0)], [1, 2]);
        // What comes after the first length that reaches the share does not matter.
        check(&[(8, 2.0), (16, 9.0), (32, 5.0), (64, 10.0)], [8, 16]);
    }

    #[test]
    fn without_an_echo_curve_the_case_is_skipped_with_a_reason() {
        let case = Case::new(&INFO, &[8]);
        let resolve = |history: &History| {
            let topology = Topology::hypercube(8);
            Pattern::<Local>::resolve(&Contention, case, &World::of(&topology), history)
        };
        let refusal = resolve(&History::default()).unwrap_err();
        assert!(refusal.starts_with("the load follows from comet/echo at 1 hop"), "{refusal}");
        let resolved = resolve(&echo_history()).unwrap();
        let loads = loads(&resolved);
        assert!(0 < loads[1] && loads[1] < loads[2], "{loads:?}");
    }
}
