//! Windows of communication over shared memory, for `scripts/bench-shm.sh`.
//!
//! Usage: `windows RANKS LINE_FILE LINE_NS WINDOW_US CASE_MS [private] FIGURE:BYTES ...`, as in
//! `scripts/bench-shm/loops.c`; `private` puts messages into the program's own memory.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "an example is a program")]
#![expect(unsafe_code, reason = "the line is memory that two processes share")]

mod loops;

use std::error::Error;

use comet_core::topology::Topology;
use comet_shm::{Bind, LaunchConfig, Outcome, Shm, launch};
use loops::Plan;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let ranks = arguments.first().ok_or("usage: windows RANKS LINE_FILE ...")?;
    let (topology, plan) = (Topology::hypercube(ranks.parse()?), Plan::parse(&arguments[1..])?);
    let config = LaunchConfig { topology, bind: Bind::Core, watchdog: None, single_copy: true };
    match launch(&config, |t| rank_main(t, &plan))? {
        Outcome::Finished { code: 0 } => Ok(()),
        outcome => Err(format!("the ranks ended with {outcome:?}").into()),
    }
}

fn rank_main(t: &Shm, plan: &Plan) -> u8 {
    let result = loops::run(t, plan, |line| println!("{line}"));
    if let Err(problem) = &result {
        eprintln!("error: {problem}");
    }
    u8::from(result.is_err())
}
