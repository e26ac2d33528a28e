//! Bytes and refusals of the kernels of the suite, whose data is verified with that of all others.

use comet_core::kernel::{Case, RateKind, World};
use comet_core::topology::Topology;

use crate::tests::kernel;

/// SK-90 and SK-91: rings, bisections and parts of uneven lengths.
#[test]
fn an_operation_moves_what_leaves_its_ranks() {
    let check = |name, n_ranks, values: &[u64], expected| {
        let info = kernel(&format!("patterns/{name}")).info();
        let (case, topology) = (Case::new(info, values), Topology::hypercube(n_ranks));
        let found = (info.series[0].bytes_per_op)(&case, &World::of(&topology));
        assert_eq!(found, Some(expected), "{name} on {n_ranks}");
    };
    check("ring", 4, &[1000], 12_000);
    check("ring_alltoallv", 4, &[1000], 4000);
    // A mesh of 2 x 2 ranks, on which all neighbours are other ones.
    check("halo9", 4, &[10], 4 * (320 + 32));
    // In a row of 3 ranks two edges and four corners leave.
    check("halo9", 3, &[10], 3 * (2 * 80 + 4 * 8));
    check("halo27", 8, &[10], 8 * (4800 + 960 + 64));
    check("sweep", 4, &[8, 1000], 8 * 4 * 1000);
    check("sweep", 8, &[1, 1000], 10 * 1000);
    // Rows of 4 ranks with parts of 2, and columns of 2 with parts of 4.
    check("fft_transpose", 8, &[0, 1000], 8 * (3 * 2 + 4) * 1000);
    let info = kernel("patterns/irregular").info();
    let (case, topology) = (Case::new(info, &[1, 4, 1000]), Topology::hypercube(2));
    let amounts = info.series[0].amounts_per_op(&case, &World::of(&topology));
    assert_eq!((info.series[0].rates[0].kind, amounts), (RateKind::Messages, vec![2.0]));
}

#[test]
fn values_that_make_no_case_are_refused_with_a_reason() {
    let check = |name, n_ranks, values: &[u64], expected: Result<(), &str>| {
        let info = kernel(&format!("patterns/{name}")).info();
        let (case, topology) = (Case::new(info, values), Topology::hypercube(n_ranks));
        let found = (info.admits)(&case, &World::of(&topology));
        assert_eq!(found, expected.map_err(str::to_owned), "{} on {n_ranks}", case.label());
    };
    let lone = "needs at least 2 ranks, there is 1 (ask for -n 2)";
    let large = "side 3000000000 is too large: the grid would have more than 2^53 cells, which doubles do \
                 not tell apart (try a smaller side)";
    check("ring", 1, &[8], Err(lone));
    check("ring_alltoallv", 1, &[8], Err(lone));
    check("halo9", 2, &[3_000_000_000], Err(large));
    check("halo27", 1, &[0], Err("side must be at least 1, got 0"));
    check("halo27", 1, &[1], Ok(()));
    check("sweep", 1, &[1, 8], Err(lone));
    let none = "a sweep has 1 to 32768 planes, got 0 (use 1 or 8)";
    check("sweep", 2, &[0, 8], Err(none));
    let none = "a rank sends 1 to 16384 messages, got 0 (use 4)";
    check("irregular", 2, &[1, 0, 8], Err(none));
    check("fft_transpose", 1, &[0, 8], Err(lone));
}
