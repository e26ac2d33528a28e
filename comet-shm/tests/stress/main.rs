//! Random traffic across processes, of which every byte is checked: seconds here, minutes with
//! `scripts/stress-shm.sh`.
//!
//! A seed says everything about a job: how many ranks there are, whether they share one core, which
//! messages, collectives and windows there are, and in what order each rank calls what. All ranks derive the
//! same traffic from it. What still differs between two runs is the timing.
//!
//! Without libtest's harness: ranks are forked, and only a process with one thread may fork.
#![expect(clippy::print_stdout, reason = "this is a test runner")]

mod player;
mod schedule;
mod windows;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use comet_core::topology::Topology;
use comet_core::transport::Transport;
use comet_shm::{Bind, LaunchConfig, Outcome, Shm, launch};
use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::Pid;

use schedule::Round;

/// Default jobs: each number of ranks, on all cores and on one, with and without single copies.
const N_SEEDS: usize = 4 * N_RANKS.len();
const N_RANKS: [usize; 5] = [2, 3, 5, 8, 12];
/// Number of runs of a requested seed: failures depend on the timing too.
const N_REPEATS: usize = 20;
/// Rounds of a job.
const N_ROUNDS: usize = 8;
/// No wait of a working transport lasts as long, however busy the machine is.
const WATCHDOG: Duration = Duration::from_secs(30);

/// The job of `seed`; true if it ended well.
fn passes(seed: usize) -> bool {
    let n_ranks = N_RANKS[seed % N_RANKS.len()];
    let shares_a_core = seed / N_RANKS.len() % 2 == 1;
    let single_copy = (seed / (2 * N_RANKS.len())).is_multiple_of(2);
    let topology = Topology::hypercube(n_ranks);
    let bind = if shares_a_core { Bind::List(vec![first_cpu()]) } else { Bind::None };
    let config = LaunchConfig::new(topology)
        .with_bind(bind)
        .with_watchdog(Some(WATCHDOG))
        .with_single_copy(single_copy);
    let outcome = launch(&config, |t| rank_main(t, seed));
    let passed = matches!(outcome, Ok(Outcome::Finished { code: 0, .. }));
    let place = if shares_a_core { "on one core" } else { "on all cores" };
    let copies = if single_copy { "" } else { " without single copies" };
    let verdict = if passed { "ok" } else { "FAILED" };
    println!("test seed {seed}: {n_ranks} ranks {place}{copies} ... {verdict}");
    if !passed {
        println!("  ended with {outcome:?}\n  repeat it with: scripts/stress-shm.sh --seed {seed}");
    }
    passed
}

/// On each rank. A panic ends the job and names the rank.
fn rank_main(t: &Shm, seed: usize) -> u8 {
    for number in 0..N_ROUNDS {
        t.annotate(&format!("round {number} of seed {seed}"), 0);
        let round = Round::new(seed, number, t.n_ranks());
        if let Err(problem) = player::play(t, &round) {
            panic!("round {number}: {problem}");
        }
    }
    0
}

/// A cpu that this process may use.
fn first_cpu() -> usize {
    let allowed = sched_getaffinity(Pid::from_raw(0)).expect("a process knows its cpus");
    let is_allowed = |cpu: &usize| allowed.is_set(*cpu).unwrap_or(false);
    (0..CpuSet::count()).find(is_allowed).expect("a process runs on some cpu")
}

/// The number in the environment variable `name`, if it is set.
///
/// # Panics
/// If it holds no number.
fn number_in(name: &str) -> Option<usize> {
    let text = std::env::var(name).ok()?;
    let number = text.parse();
    Some(number.unwrap_or_else(|_| panic!("{name} is a whole number, got \"{text}\": set it to 1")))
}

fn main() -> ExitCode {
    let (seed, minutes) = (number_in("COMET_STRESS_SEED"), number_in("COMET_STRESS_MINUTES"));
    let passed = match (seed, minutes) {
        (None, None) => (0..N_SEEDS).all(passes),
        (Some(seed), None) => std::iter::repeat_n(seed, N_REPEATS).all(passes),
        (first, Some(minutes)) => {
            let (start, limit) = (Instant::now(), Duration::from_secs(60 * minutes as u64));
            let seeds = first.unwrap_or(N_SEEDS)..;
            seeds.take_while(|_| start.elapsed() < limit).all(passes)
        }
    };
    if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
