//! Times of the suite `patterns` against formulas of the numbers of the machine, beside those that the
//! oracle of `times` gives.

use comet_core::transport::Work;
use comet_sim::machine::Machine;

use super::bench::{Bench, settings};
use super::machines;
use super::oracle::law;
use super::oracle::time_ps;

/// One message of `n_bytes` on a machine without links, in nanoseconds.
fn message_ns(machine: &Machine, n_bytes: u64) -> f64 {
    let law = law(machine, n_bytes);
    let bytes_ps: u64 =
        [law.send, law.wire, law.recv].iter().map(|rate| time_ps(*rate, n_bytes)).sum();
    (law.startup_ps() + bytes_ps) as f64 / 1000.0
}

/// Time of the first series of the case of kernel `id` with `values`, in nanoseconds, the same in five samples.
#[track_caller]
fn time_ns((machine, n_ranks): (&Machine, usize), id: &str, values: &[u64]) -> f64 {
    let bench = Bench::new(machine, n_ranks);
    let case = bench.case(id, values).expect("the ranks admit it");
    let measured = bench.measure(&[case], &settings(5, 1));
    let found = &measured[0].series[0].values_ns;
    assert_eq!(found, &[found[0]; 5], "{} on {n_ranks}", case.label());
    found[0]
}

/// Bytes of a block with its ring, and the time to transpose it where it is, in nanoseconds.
fn block(machine: &Machine, local_n: u64) -> (u64, f64) {
    let side = usize::try_from(local_n + 2).expect("a small block");
    let (bytes, piece_bytes) = (8 * side * side, 8);
    let work = Work::Copy { bytes, piece_bytes, stride_bytes: 8 * side };
    (bytes as u64, machine.node.work_ps(work) as f64 / 1000.0)
}

/// CM-94: the thesis wishes for a transpose by divide and conquer (section 3.3.10).
#[test]
fn a_recursive_transpose_takes_a_message_for_each_half_where_a_direct_one_takes_one() {
    let machine = machines::flat();
    // Two squares of 2 x 2 ranks are transposed in one round, and change places in another.
    for (n_ranks, rounds) in [(4, 1.0), (8, 2.0), (16, 2.0), (64, 3.0)] {
        for local_n in [1, 12, 64] {
            let (bytes, transpose_ns) = block(&machine, local_n);
            let of = |id| time_ns((&machine, n_ranks), id, &[local_n]);
            let message_ns = message_ns(&machine, bytes);
            let expected_ns = rounds * message_ns + transpose_ns;
            assert_eq!(of("patterns/recursive_transpose"), expected_ns, "{local_n} {n_ranks}");
            assert_eq!(of("matrix/transpose"), message_ns + transpose_ns, "{local_n} {n_ranks}");
        }
    }
}

#[test]
fn a_recursive_transpose_of_long_blocks_wins_where_links_of_a_hypercube_are_shared() {
    let machine = machines::hypercube();
    for (n_ranks, local_n, wins) in [
        (16, 1, false),
        (16, 126, false),
        (64, 1, false),
        (64, 126, true),
        (256, 1, false),
        (256, 126, true),
    ] {
        let of = |id| time_ns((&machine, n_ranks), id, &[local_n]);
        let [recursive, direct] = [of("patterns/recursive_transpose"), of("matrix/transpose")];
        assert_eq!(recursive < direct, wins, "{n_ranks} {local_n}: {recursive} {direct}");
    }
}
