//! Contention in steps of the oracle, and its times: an echo whose link others load.

use comet_core::driver::Pace;
use comet_core::event::Measurement;
use comet_core::kernel::{Case, LENGTH_BYTES, World};
use comet_core::transport::Rank;
use comet_core::transport::Source::Rank as From;

use super::bench::{Bench, settings};
use super::machines;
use super::oracle::{Label, Step, law, time_ps};
use super::script::Script;

const ECHO: Label = 20;
const LOAD: Label = 21;
const START: Label = 22;
const RUNNING: Label = 23;
const STOP: Label = 24;
const DRAINED: Label = 25;
const CREDIT: Label = 26;

/// Messages of one burst of the load.
const BURST: usize = 8;

/// Adds the steps of a rank for all series of a case; the numbers of its samples.
pub(super) fn round(script: &mut Script<'_>, case: &Case, pace: Pace) -> Vec<usize> {
    let mut of_series = |number| {
        let n_before = script.steps.len();
        series(script, case, pace, number);
        script.steps[n_before..].iter().filter(|step| matches!(step, Step::Read)).count() / 2
    };
    (0..case.info.series.len()).map(&mut of_series).collect()
}

/// Steps of a rank for one series of a case.
fn series(script: &mut Script<'_>, case: &Case, pace: Pace, series: usize) {
    let cast = World::of(&script.bench.topology).cast().expect("the ranks admit the case");
    let [source, sink, tester, partner] = cast.ranks();
    let n_bytes = case.value(&LENGTH_BYTES);
    let load_bytes = match series {
        0 => 0,
        // The length of the echo is the first axis, those of the loads are the next two.
        loaded => case.values().nth(loaded).map_or(0, |(_, value)| value),
    };
    let mut echo = Script::new(script.bench, script.rank);
    if script.rank == tester {
        echo.send(partner, ECHO, n_bytes);
        echo.recv(From(partner), ECHO);
    } else if script.rank == partner {
        echo.recv(From(tester), ECHO);
        echo.send(tester, ECHO, n_bytes);
    }
    let is_tester = script.rank == tester;
    if is_tester && load_bytes > 0 {
        script.send(source, START, 0);
        script.recv(From(sink), RUNNING);
    }
    script.timed(&echo.steps, case.info.timing, (pace, series), is_tester);
    if is_tester && load_bytes > 0 {
        script.send(source, STOP, 0);
        script.recv(From(sink), DRAINED);
    }
    if script.rank == source && load_bytes > 0 {
        send_load(script, [sink, tester], load_bytes);
    } else if script.rank == sink && load_bytes > 0 {
        take_load(script, [source, tester]);
    }
}

/// Bursts from START to STOP, of which the sink acknowledges each; an empty message is the end.
fn send_load(script: &mut Script<'_>, [sink, tester]: [Rank; 2], load_bytes: u64) {
    script.recv(From(tester), START);
    (0..BURST).for_each(|_| script.send(sink, LOAD, load_bytes));
    let mut again = Script::new(script.bench, script.rank);
    again.unblocked_recv(From(sink), CREDIT);
    (0..BURST).for_each(|_| again.send(sink, LOAD, load_bytes));
    again.wait_recv();
    let n_steps = again.steps.len().cast_signed();
    script.go_if_here(tester, STOP, n_steps + 2);
    script.steps.extend(again.steps);
    // Back to the look for STOP, which is two steps.
    script.steps.push(Step::Go { by: -n_steps - 2 });
    script.recv(From(tester), STOP);
    script.unblocked_recv(From(sink), CREDIT);
    script.send(sink, LOAD, 0);
    script.wait_recv();
}

fn take_load(script: &mut Script<'_>, [source, tester]: [Rank; 2]) {
    let source_of_load = From(source);
    script.recv(source_of_load, LOAD);
    script.send(tester, RUNNING, 0);
    (1..BURST).for_each(|_| script.recv(source_of_load, LOAD));
    script.send(source, CREDIT, 0);
    let mut rest = Script::new(script.bench, script.rank);
    (1..BURST).for_each(|_| rest.recv(source_of_load, LOAD));
    rest.send(source, CREDIT, 0);
    let n_steps = rest.steps.len().cast_signed();
    script.recv(source_of_load, LOAD);
    script.steps.push(Step::GoIfEmpty { by: n_steps + 2 });
    script.steps.extend(rest.steps);
    // Back to the first receive of a burst, which is two steps, and the look at its length.
    script.steps.push(Step::Go { by: -n_steps - 3 });
    script.send(tester, DRAINED, 0);
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
