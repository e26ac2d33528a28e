//! The conformance suite over MPI, on as many ranks as this program was started with.
//!
//! Without libtest's harness: one process is one rank, and only its main thread calls MPI.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "this is a test runner")]

use std::process::ExitCode;
use std::time::Duration;

use comet_core::conformance;
use comet_core::topology::Topology;
use comet_core::transport::Transport;
use comet_mpi::{JoinConfig, Mpi, RunConfig, join};

fn rank_main(t: &Mpi) -> u8 {
    let mut report = |name: &str, result: &Result<(), String>| {
        let verdict =
            result.as_ref().map_or_else(|problem| format!("FAILED: {problem}"), |()| "ok".into());
        println!("test {name} with {} ranks ... {verdict}", t.n_ranks());
    };
    u8::from(conformance::run_all(t, &mut report) > 0)
}

fn main() -> ExitCode {
    let watchdog = Some(Duration::from_secs(120));
    let config = JoinConfig::new(|failure, _| {
        eprintln!("{}", failure.message);
        1
    });
    let job = join(&config.with_watchdog(watchdog));
    let job = job.expect("MPI can be initialised");
    let topology = Topology::hypercube(job.n_ranks());
    let config = RunConfig::new(topology).with_watchdog(watchdog);
    ExitCode::from(job.run(&config, rank_main))
}
