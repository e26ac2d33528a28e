//! Contention in steps of the oracle, and its times: an echo whose link others load.

use comet_core::error::Result;
use comet_core::event::Measurement;
use comet_core::kernel::{Case, World};
use comet_core::transport::Source::Rank as From;
use comet_core::transport::{Rank, Tag, Transport as _};

use super::bench::{Bench, settings};
use super::machines;
use super::oracle::{Step, law, time_ps};
use super::recording::Recording;

/// Tags of the messages, from that of the load on, as the kernel has them.
const LOAD: Tag = Tag::new(3);
const START: Tag = Tag::new(4);
const RUNNING: Tag = Tag::new(5);
const STOP: Tag = Tag::new(6);
const DRAINED: Tag = Tag::new(7);
const CREDIT: Tag = Tag::new(8);

/// Messages of one burst of the load.
const BURST: usize = 8;

/// The part of a rank that loads the links, or takes the load, in all series of a case of the kernel
/// contention; `false` if the rank has another part. These go on as they find messages.
pub(super) fn serve(t: &Recording, case: &Case) -> Result<bool> {
    let world = World::of(&t.bench.topology);
    let ("contention", Ok(cast)) = (case.info.name, world.cast()) else { return Ok(false) };
    let [source, sink, tester, _] = cast.ranks();
    // The length of the echo is the first axis, those of the loads are the next two.
    for (_, load_bytes) in case.values().skip(1).filter(|_| [source, sink].contains(&t.rank())) {
        let load = vec![0; usize::try_from(load_bytes).expect("it fits into memory")];
        if t.rank() == source {
            send_load(t, [sink, tester], &load)?;
        } else {
            take_load(t, [source, tester])?;
        }
    }
    Ok([source, sink].contains(&t.rank()))
}

/// Bursts from START to STOP, of which the sink acknowledges each; an empty message is the end.
fn send_load(t: &Recording, [sink, tester]: [Rank; 2], load: &[u8]) -> Result<()> {
    let burst = || (0..BURST).try_for_each(|_| t.blocked_send(sink, LOAD, load));
    t.blocked_recv(From(tester), START, &mut [])?;
    burst()?;
    t.pay(|node| node.poll_ps);
    let look = t.steps.borrow().len();
    t.scope(|s| {
        let credit = s.unblocked_recv(From(sink), CREDIT, &mut [])?;
        burst()?;
        credit.wait().map(drop)
    })?;
    let n_steps = (t.steps.borrow().len() - look).cast_signed();
    let found = Step::GoIfHere { from: tester, label: STOP.value(), by: n_steps + 2 };
    t.steps.borrow_mut().insert(look, found);
    // Back to the look for STOP, which is two steps.
    t.steps.borrow_mut().push(Step::Go { by: -n_steps - 2 });
    t.blocked_recv(From(tester), STOP, &mut [])?;
    t.scope(|s| {
        let credit = s.unblocked_recv(From(sink), CREDIT, &mut [])?;
        t.blocked_send(sink, LOAD, &[])?;
        credit.wait().map(drop)
    })
}

fn take_load(t: &Recording, [source, tester]: [Rank; 2]) -> Result<()> {
    let take = |_| t.blocked_recv(From(source), LOAD, &mut []).map(drop);
    take(0)?;
    t.blocked_send(tester, RUNNING, &[])?;
    (1..BURST).try_for_each(take)?;
    t.blocked_send(source, CREDIT, &[])?;
    take(0)?;
    let look = t.steps.borrow().len();
    (1..BURST).try_for_each(take)?;
    t.blocked_send(source, CREDIT, &[])?;
    let n_steps = (t.steps.borrow().len() - look).cast_signed();
    t.steps.borrow_mut().insert(look, Step::GoIfEmpty { by: n_steps + 2 });
    // Back to the first receive of a burst, which is two steps, and the look at its length.
    t.steps.borrow_mut().push(Step::Go { by: -n_steps - 3 });
    t.blocked_send(tester, DRAINED, &[])
}

/// Samples of echoes of `n_bytes` bytes on eight ranks of an iPSC/860, without load, at half and at
/// ninety per cent load, and the lengths of the load's messages.
fn samples(n_bytes: u64) -> ([Vec<f64>; 3], [u64; 3]) {
    let bench = Bench::new(&machines::ipsc860(), 8);
    // The load follows from the echoes at these lengths.
    let cases = bench.cases(&[
        ("comet/echo", &[1, 100]),
        ("comet/echo", &[1, 486]),
        ("comet/echo", &[1, 5000]),
        ("comet/echo", &[1, 50_000]),
        ("comet/contention", &[n_bytes]),
    ]);
    let measurements = bench.measure(&cases, &settings(100, 1));
    let Some(Measurement { case, series, .. }) = measurements.last() else {
        panic!("no contention")
    };
    let samples = |i: usize| series[i].values_ns.clone();
    let load_bytes = |i| if i == 0 { 0 } else { case.values().nth(i).map_or(0, |value| value.1) };
    ([0, 1, 2].map(samples), [0, 1, 2].map(load_bytes))
}

/// Time that one message of the load has the link that it shares with the echo, in nanoseconds.
fn link_ns(load_bytes: u64) -> f64 {
    let machine = machines::ipsc860();
    let law = law(&machine, load_bytes);
    (law.hop_ps + time_ps(law.wire, load_bytes)) as f64 / 1000.0
}

#[test]
fn an_echo_waits_for_one_message_of_the_load_at_most() {
    for (n_bytes, idle_ns) in [(8, 84_040.0), (1024, 575_840.0), (4096, 1_835_360.0)] {
        let (samples_ns, load_bytes) = samples(n_bytes);
        assert_eq!(samples_ns[0], [idle_ns; 100], "{n_bytes} bytes without load");
        for i in [1, 2] {
            // Only the way out meets the load, and a sample is half of the way out and back.
            let most_ns = idle_ns + link_ns(load_bytes[i]) / 2.0;
            let is_between = |ns: &f64| (idle_ns..=most_ns).contains(ns);
            assert!(samples_ns[i].iter().all(is_between), "{n_bytes} bytes: {:?}", samples_ns[i]);
        }
        let [idle, half, ninety] = samples_ns.map(|ns| ns.iter().sum::<f64>());
        // Short messages of the load may fit between echoes that are long.
        assert!(idle <= half && half < ninety, "{n_bytes} bytes: {idle} {half} {ninety}");
    }
}
