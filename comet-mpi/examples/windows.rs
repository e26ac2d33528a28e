//! Windows of communication over MPI by way of CoMet, for `scripts/bench-shm.sh`.
//!
//! Usage: `mpiexec -n RANKS windows LINE_FILE LINE_NS WINDOW_US CASE_MS [private] FIGURE:BYTES ...`, as
//! in `scripts/bench-shm/loops.c`; `private` puts messages into the program's own memory.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "an example is a program")]
#![expect(unsafe_code, reason = "the line is memory that two processes share")]

#[path = "../../comet-shm/examples/windows/loops.rs"]
mod loops;

use std::error::Error;
use std::process::ExitCode;

use comet_core::topology::Topology;
use comet_mpi::{JoinConfig, Mpi, RunConfig, ThreadLevel, join};
use loops::Plan;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let plan = Plan::parse(&arguments)?;
    let job = join(&JoinConfig {
        level: ThreadLevel::Single,
        watchdog: None,
        number: None,
        on_failure: |failure, _| {
            eprintln!("{}", failure.message);
            1
        },
    })?;
    let topology = Topology::hypercube(job.n_ranks());
    let config = RunConfig { topology, watchdog: None, results: None };
    Ok(ExitCode::from(job.run(&config, |t| rank_main(t, &plan))))
}

fn rank_main(t: &Mpi, plan: &Plan) -> u8 {
    let result = loops::run(t, plan, |line| println!("{line}"));
    if let Err(problem) = &result {
        eprintln!("error: {problem}");
    }
    u8::from(result.is_err())
}
