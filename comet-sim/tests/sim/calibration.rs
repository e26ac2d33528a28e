//! The calibration of clocks in virtual time, where their cost is known.

use std::cell::RefCell;
use std::error::Error;

use comet_core::calibration::ClockCalibration;
use comet_core::driver::{self, Settings};
use comet_core::event::{Event, Listener, RunStart};
use comet_core::kernel::Profile;
use comet_core::topology::Topology;
use comet_core::transport::Transport as _;
use comet_sim::machine::find;
use comet_sim::{Outcome, RunConfig, run};

/// Keeps what is known when a run starts.
struct Start(Option<RunStart>);

impl Listener for Start {
    fn event(&mut self, event: &Event<'_>) -> Result<(), Box<dyn Error + Send + Sync>> {
        if let Event::RunStarted(start) = event {
            self.0 = Some((*start).clone());
        }
        Ok(())
    }
}

/// The start record of a run whose clocks have this resolution and cost of a reading.
fn start(resolution_ps: u64, call_cost_ps: u64) -> RunStart {
    let mut machine = find("ipsc860").expect("it comes with the program").machine;
    machine.clock.resolution_ps = resolution_ps;
    machine.clock.call_cost_ps = call_cost_ps;
    let listener = RefCell::new(Start(None));
    let outcome = run(&RunConfig::new(machine, Topology::hypercube(4)), |t| {
        let settings = Settings::of(Profile::Quick);
        if t.rank() > 0 {
            driver::follow(t, &[], &settings).expect("no rank fails");
        } else {
            let listener = &mut *listener.borrow_mut();
            driver::conduct(t, &[], &[], &settings, listener).expect("no rank fails");
        }
        0
    });
    assert!(matches!(outcome, Ok(Outcome::Finished { .. })), "{outcome:?}");
    listener.into_inner().0.expect("the run has started")
}

#[test]
fn the_cost_of_a_clock_is_found() {
    let check = |resolution_ps, call_cost_ps, cost_ns: f64, step_ns: u32| {
        let start = start(resolution_ps, call_cost_ps);
        // Simulated clocks are alike.
        assert_eq!(start.calibrations.len(), 1);
        let found = start.calibrations[0];
        let error_ns = (found.cost_ns - cost_ns).abs() + (found.median_cost_ns - cost_ns).abs();
        assert!(error_ns <= 0.01 * cost_ns, "{found:?}");
        // What is shown is rounded to steps.
        assert!((found.pair_bias_ns - cost_ns).abs() <= f64::from(step_ns), "{found:?}");
        assert_eq!((found.step_ns, found.gaps), (Some(step_ns.into()), None));
    };
    check(1000, 0, 0.0, 1);
    check(1000, 37_000, 37.0, 1);
    check(1000, 2_500_000, 2500.0, 1);
    check(10_000, 25_000, 25.0, 10);
}

#[test]
fn clocks_too_coarse_for_latencies_are_named() {
    let warnings =
        |call_cost_ps| ClockCalibration::warnings(&start(1000, call_cost_ps).calibrations);
    assert_eq!(warnings(40_000), [""; 0]);
    let warnings = warnings(2_500_000);
    let [warning] = &warnings[..] else { panic!("{warnings:?}") };
    assert!(warning.starts_with("the clock of rank 0 is no finer than 2500 ns"), "{warning}");
}
