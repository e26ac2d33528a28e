//! Times of the suite `patterns` against formulas of the numbers of the machine, beside those that the
//! oracle of `times` gives.

use comet_core::transport::Work;
use comet_sim::machine::Machine;

use super::bench::{Bench, settings};
use super::closed_forms::{algorithm, message_ns};
use super::machines;
use super::oracle::law;

/// Time of the first series of the case of kernel `id` with `values`, in nanoseconds, the same in five samples.
#[track_caller]
pub(super) fn time_ns(on: (&Machine, usize), id: &str, values: &[u64]) -> f64 {
    times_ns(on, id, values)[0]
}

/// Those of all series.
#[track_caller]
pub(super) fn times_ns(
    (machine, n_ranks): (&Machine, usize),
    id: &str,
    values: &[u64],
) -> Vec<f64> {
    let bench = Bench::new(machine, n_ranks);
    let case = bench.case(id, values).expect("the ranks admit it");
    let measured = bench.measure(&[case], &settings(5, 1));
    let of_series = measured[0].series.iter().map(|series| {
        let found = &series.values_ns;
        assert_eq!(found, &[found[0]; 5], "{} on {n_ranks}", case.label());
        found[0]
    });
    of_series.collect()
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
            let of_block_ns = message_ns(&machine, 1, bytes);
            let expected_ns = rounds * of_block_ns + transpose_ns;
            assert_eq!(of("patterns/recursive_transpose"), expected_ns, "{local_n} {n_ranks}");
            assert_eq!(of("matrix/transpose"), of_block_ns + transpose_ns, "{local_n} {n_ranks}");
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

/// CM-92: the thesis wishes for more patterns of scientific computing (section 6.1).
#[test]
fn a_ring_and_a_sweep_along_a_row_take_a_message_for_each_step() {
    let machine = machines::flat();
    for n_ranks in [2, 3, 5, 8] {
        for n_bytes in [0, 8, 20_000] {
            let expected_ns = (n_ranks - 1) as f64 * message_ns(&machine, 1, n_bytes);
            assert_eq!(time_ns((&machine, n_ranks), "patterns/ring", &[n_bytes]), expected_ns);
            // A prime number of ranks is one row.
            if n_ranks < 8 {
                let found_ns = time_ns((&machine, n_ranks), "patterns/sweep", &[1, n_bytes]);
                assert_eq!(found_ns, expected_ns, "{n_bytes} {n_ranks}");
            }
        }
    }
}

#[test]
fn a_sweep_has_its_planes_behind_each_other() {
    // On two ranks, the second of which receives a plane while the first sends the next one.
    let machine = machines::flat();
    let o_send_ns = law(&machine, 8).o_send_ps as f64 / 1000.0;
    for planes in [1_u64, 2, 8] {
        let expected_ns = message_ns(&machine, 1, 8) + (planes - 1) as f64 * o_send_ns;
        assert_eq!(time_ns((&machine, 2), "patterns/sweep", &[planes, 8]), expected_ns, "{planes}");
    }
}

#[test]
fn transposes_of_pencils_take_the_messages_of_a_row_and_of_a_column() {
    let machine = machines::flat();
    let copy_ns = |bytes: u64, piece_bytes: u64| {
        let [bytes, piece_bytes] =
            [bytes, piece_bytes].map(|bytes| usize::try_from(bytes).expect("a length in memory"));
        let work = Work::Copy { bytes, piece_bytes, stride_bytes: piece_bytes };
        machine.node.work_ps(work) as f64 / 1000.0
    };
    // The own part is copied, and each other one takes a message.
    let alltoall_ns = |n_ranks: u64, part_bytes: u64| {
        let messages_ns = (n_ranks - 1) as f64 * message_ns(&machine, 1, part_bytes);
        copy_ns(part_bytes, part_bytes) + messages_ns
    };
    let pairwise = algorithm("patterns/fft_transpose", "pairwise");
    for (rows, cols) in [(2, 2), (2, 4), (4, 4)] {
        for n_bytes in [1, 8, 1000] {
            let turn_ns = copy_ns(rows * cols * n_bytes, n_bytes);
            let of_lines_ns = alltoall_ns(cols, rows * n_bytes) + alltoall_ns(rows, cols * n_bytes);
            let n_ranks = usize::try_from(rows * cols).expect("a few ranks");
            let at = (&machine, n_ranks);
            let found_ns = time_ns(at, "patterns/fft_transpose", &[pairwise, n_bytes]);
            assert_eq!(found_ns, of_lines_ns + 2.0 * turn_ns, "{rows} x {cols}: {n_bytes}");
        }
    }
}
