//! A measurement inside of an MPI program, over a communicator of it.
//!
//! `cargo build --release -p comet-measure --features mpi --example inside_mpi`, and then
//! `mpirun -n 2 target/release/examples/inside_mpi`
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "an example prints its result")]

use comet::comet_mpi::mpi;
use comet::{MpiRanks, Ranks as _, Transport as _};
use mpi::topology::SimpleCommunicator;

fn main() -> Result<(), comet::Error> {
    // The program's own life with MPI; `universe` finalises it at the end.
    let universe = mpi::initialize().expect("MPI is initialised once");
    let ranks = MpiRanks::of(&SimpleCommunicator::world(), |failure, _| {
        eprintln!("error: {}", failure.message);
        1
    })?;
    let times =
        ranks.pattern(|t| t.message_buffer(1024), |t, message| t.blocked_broadcast(0, message));
    let times = times.named("broadcast").moving(1024).measure()?;
    if ranks.rank() == 0 {
        println!("{times}");
    }
    // All ranks have the record.
    assert!(times.record.contains("own\",\"kernel\":\"broadcast"));
    drop(ranks);
    drop(universe);
    Ok(())
}
