//! Messages of collective algorithms, counted beforehand and in simulation.

use comet_core::collective::algorithm::{self, Algorithm};
use comet_core::collective::{Collective, Kind, Parts, Running};
use comet_core::topology::Topology;
use comet_core::transport::Transport as _;
use comet_sim::machine::find;
use comet_sim::{Outcome, RunConfig, run};

/// Messages of `call` by `by` in simulation.
fn simulated(by: &Algorithm, call: &Collective, n_ranks: usize) -> u64 {
    let machine = find("tukey-ib").expect("a machine of that name").machine;
    let outcome = run(&RunConfig::new(machine, Topology::hypercube(n_ranks)), |t| {
        let rank = t.rank();
        let mut running = Running::new(t, by.plan(call, rank, n_ranks)).expect("memory");
        let input = vec![0; call.input_bytes(rank, n_ranks)];
        let mut output = vec![0; call.output_bytes(rank, n_ranks)];
        u8::from(running.run(t, &input, &mut output).is_err())
    });
    match outcome {
        Ok(Outcome::Finished { code: 0, statistics }) => statistics.n_messages,
        outcome => panic!("{} on {n_ranks} ranks: {outcome:?}", by.name),
    }
}

#[test]
fn the_messages_of_an_algorithm_are_those_of_its_simulation() {
    let kinds = [
        Kind::Barrier,
        Kind::Broadcast,
        Kind::Reduce,
        Kind::Allreduce,
        Kind::ReduceScatter,
        Kind::Scan,
        Kind::Exscan,
        Kind::Gather,
        Kind::Scatter,
        Kind::Allgather,
        Kind::Alltoall,
    ];
    for (n_ranks, tolerance) in [(1, 0.0), (2, 0.0), (5, 0.0), (16, 0.0), (33, 0.0), (128, 0.25)] {
        for kind in kinds {
            let root = if kind.is_rooted() { n_ranks / 2 } else { 0 };
            let call = Collective::new(kind, Parts::Equal(64)).with_root(root);
            let admitted = algorithm::of(kind).iter().filter(|by| by.admit(&call, n_ranks).is_ok());
            for by in admitted {
                let (counted, true_one) =
                    (by.n_messages(&call, n_ranks), simulated(by, &call, n_ranks));
                let is_near = counted.abs_diff(true_one) as f64 <= tolerance * true_one as f64;
                assert!(
                    is_near,
                    "{} of {kind:?} on {n_ranks} ranks: {counted}, {true_one}",
                    by.name
                );
            }
        }
    }
}
