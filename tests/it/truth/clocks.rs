//! Clocks: coarse ones give the same times through repetitions, and those that differ are not
//! compared with each other.

use comet_core::definition::Definition;
use comet_core::driver::Settings;
use comet_core::event::Measurement;
use comet_core::kernel::Profile;
use comet_core::transport::Transport;
use comet_sim::machine::Machine;

use super::bench::{Bench, settings};
use super::machines;

/// The iPSC/860 with a clock of this resolution, which takes so long to read.
fn coarse(resolution_ps: u64, call_cost_ps: u64) -> Machine {
    let mut machine = machines::ipsc860();
    machine.clock.resolution_ps = resolution_ps;
    machine.clock.call_cost_ps = call_cost_ps;
    machine
}

/// The medians of echoes, for which the driver chooses how often it repeats them.
fn echoes_ns(machine: &Machine) -> Vec<f64> {
    let bench = Bench::new(machine, 2);
    let cases = bench.cases(&[("comet/echo", &[1, 100]), ("comet/echo", &[1, 101])]);
    let mut settings = Settings::of(Profile::Quick);
    (settings.case_budget_ns, settings.slices.max_samples) = (20_000_000_000, 2);
    let median_ns = |measurement: &Measurement| measurement.series[0].summary.median;
    bench.measure(&cases, &settings).iter().map(median_ns).collect()
}

#[test]
fn coarse_clocks_give_the_same_times_through_repetitions() {
    let expected = [142_000.0, 197_410.0];
    assert_eq!(echoes_ns(&machines::ipsc860()), expected);
    // A clock of a quarter of a millisecond takes so long to read that the calibration sees its step.
    for machine in [coarse(1_000_000, 10_000), coarse(250_000_000, 250_000)] {
        for (found_ns, expected_ns) in echoes_ns(&machine).into_iter().zip(expected) {
            let share = found_ns / expected_ns;
            assert!((share - 1.0).abs() <= 0.01, "{share} times {expected_ns} ns");
        }
    }
}

/// The only measurement of a global sum of 8 values on 6 ranks.
fn global_sum(machine: &Machine) -> Measurement {
    let bench = Bench::new(machine, 6);
    let case = bench.case("comet/reduction", &[8]).expect("six ranks are enough");
    bench.measure(&[case], &settings(10, 1)).remove(0)
}

#[test]
fn clocks_that_differ_are_compared_by_messages() {
    let is_global = |machine: &Machine| {
        Bench::new(machine, 2).run(|t| {
            let differs = machine.clock.offset_spread_ps > 0 || machine.clock.drift_ppm > 0.0;
            assert_eq!(t.clock().is_global, !differs);
        });
    };
    let mut apart = machines::flat();
    is_global(&apart);
    apart.clock.offset_spread_ps = 1_000_000_000;
    is_global(&apart);
    let mut drifting = machines::flat();
    drifting.clock.drift_ppm = 50.0;
    is_global(&drifting);

    let (together, apart) = (global_sum(&machines::flat()), global_sum(&apart));
    assert_eq!(apart.series[0].definition, Definition::Completion);
    let pairs = apart.series[0].values_ns.iter().zip(&together.series[0].values_ns);
    for (apart_ns, together_ns) in pairs {
        // Both ways of a message take the same time here, and so the offset is found exactly.
        assert!((apart_ns - together_ns).abs() <= 3.0, "{apart_ns} {together_ns}");
    }
}
