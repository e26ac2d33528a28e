//! Tests of all matrix kernels together, over ranks that are threads.

use comet_core::kernel::harness::{self, Trial};
use comet_core::kernel::prelude::*;
use comet_core::local::{Corrupt, Local};
use comet_core::topology::{Mesh, Topology};

/// Rank counts up to 9 and 16, and meshes that are not the default ones.
fn topologies() -> Vec<Topology> {
    let table = |rows: &[Vec<usize>]| Mesh::from_table(rows).unwrap();
    let meshes = [
        Mesh::gray_with(2, 3),
        Mesh::gray_with(3, 2),
        Mesh::gray_with(1, 4),
        Mesh::gray_with(4, 1),
        Mesh::gray_with(2, 1),
        Mesh::gray_with(4, 2),
        Mesh::gray_with(6, 2),
        table(&[vec![2, 1, 0], vec![3, 5, 4]]),
        table(&[vec![3, 1], vec![0, 2]]),
    ];
    let hypercubes = (1..=9).chain([16]).map(Topology::hypercube);
    hypercubes.chain(meshes.map(|mesh| Topology::new(mesh, None).unwrap())).collect()
}

/// The kernels of the suite `matrix`, and those beside it.
fn all_kernels() -> Vec<&'static dyn Kernel<Local>> {
    [crate::kernels(), crate::wished()].concat()
}

/// Every kernel and direction on every topology that admits it.
fn trials(local_ns: &[u64]) -> Vec<Trial> {
    let of_axis = |used: &AxisUse| match used.axis == &LOCAL_N {
        true => local_ns.to_vec(),
        false => vec![0, 1],
    };
    let on = |topology: Topology| {
        let kernels = all_kernels().into_iter();
        let of = |kernel| harness::trials(kernel, &topology, &History::default(), of_axis);
        kernels.flat_map(of).collect::<Vec<_>>()
    };
    topologies().into_iter().flat_map(on).collect()
}

#[test]
fn every_kernel_verifies_on_every_mesh() {
    trials(&[1, 2, 5]).iter().for_each(|trial| trial.passes(0));
}

#[test]
fn every_kernel_notices_spoiled_values_on_every_rank() {
    for trial in trials(&[3]) {
        let outcome = trial.outcome(false, Corrupt::Nothing, true);
        assert!(!outcome.mismatches.contains(&false), "{trial:?}: {outcome:?}");
    }
}

#[test]
fn every_kernel_notices_messages_that_arrive_wrong() {
    // A single rank fills its guard ring by messages to itself.
    for trial in trials(&[3]) {
        let (name, resends) = (trial.case.info.name, trial.notices_wrong_messages());
        assert!(resends || name != "shift", "{trial:?}");
    }
}

#[test]
fn a_spoiled_value_is_one_that_the_operation_wrote() {
    let topology = Topology::hypercube(4);
    for (kernel, element) in all_kernels().into_iter().zip([34, 35, 35, 10, 25, 35]) {
        let case = Case::new(kernel.info(), &[]).with(&LOCAL_N, 4);
        let results = comet_core::local::run_with(topology.clone(), false, |t| {
            kernel.verify(&mut harness::context(t, case.info, true), &case)
        });
        let texts: Vec<String> = results.into_iter().map(|r| r.unwrap_err().to_string()).collect();
        let start = format!("element {element} of 36 ");
        assert!(texts.iter().any(|text| text.starts_with(&start)), "{}: {texts:?}", case.label());
    }
}

#[test]
fn default_meshes_admit_every_kernel_and_refuse_blocks_of_no_element_or_too_many() {
    for info in all_kernels().iter().map(|kernel| kernel.info()) {
        let admits = |local_n| {
            let case = Case::new(info, &[]).with(&LOCAL_N, local_n);
            (info.admits)(&case, &World::of(&Topology::hypercube(4)))
        };
        assert_eq!(admits(4), Ok(()), "{}", info.id());
        assert_eq!(admits(0).unwrap_err(), "local_n must be at least 1, got 0");
        assert!(admits(1 << 26).unwrap_err().starts_with("local_n 67108864 is too large"));
        let refusal = admits(u64::MAX).unwrap_err();
        assert!(refusal.starts_with("local_n 18446744073709551615 is too large"), "{refusal}");
    }
}

#[test]
fn meshes_on_which_no_block_leaves_its_rank_are_refused_with_a_remedy() {
    let check = |name, (rows, cols), values: &[u64], expected: Result<(), &str>| {
        let all = all_kernels();
        let mut infos = all.iter().map(|kernel| kernel.info());
        let info = infos.find(|info| info.name == name).unwrap();
        let topology = Topology::new(Mesh::gray_with(rows, cols), None).unwrap();
        let found = (info.admits)(&Case::new(info, values), &World::of(&topology));
        assert_eq!(found, expected.map_err(str::to_owned), "{name} on {rows}x{cols}");
    };
    for (n, of_rows, of_columns) in [
        (1, "start at least 2 ranks", "start at least 2 ranks"),
        (3, "try --mesh 3x1", "try --mesh 1x3"),
        (4, "try --mesh 2x2", "try --mesh 2x2"),
        (6, "try --mesh 2x3", "try --mesh 3x2"),
    ] {
        let needs = "row broadcast needs a mesh of at least 2 rows";
        check("row_broadcast", (1, n), &[4], Err(&format!("{needs}, got 1x{n} ({of_rows})")));
        let needs = "column broadcast needs a mesh of at least 2 columns";
        check("col_broadcast", (n, 1), &[4], Err(&format!("{needs}, got {n}x1 ({of_columns})")));
    }
    let needs = "shift north needs a mesh of at least 2 rows, got 1x2 (try --mesh 2x1)";
    check("shift", (1, 2), &[0, 4], Err(needs));
    check("shift", (1, 2), &[1, 4], Ok(()));
    let direction = "direction must be 0 (north) or 1 (east), got 2";
    check("shift", (2, 2), &[2, 4], Err(direction));
    for (rows, cols) in [(1, 5), (5, 1)] {
        let nothing = "transpose moves no block between the ranks of a";
        let expected = format!("{nothing} {rows}x{cols} mesh (start 4 or 6 ranks)");
        check("transpose", (rows, cols), &[4], Err(&expected));
        check("recursive_transpose", (rows, cols), &[4], Err(&expected));
    }
    for (rows, cols, remedy) in [
        (2, 3, "start 4, 8 or 16 ranks"),
        (3, 3, "start 4, 8 or 16 ranks"),
        (3, 4, "try --mesh 2x6"),
        (4, 12, "try --mesh 4x12"),
        (6, 6, "try --mesh 2x18"),
        (4, 6, "try --mesh 2x12"),
    ] {
        let halves = "recursive transpose halves squares of ranks whose side is a power of two";
        let expected = format!("{halves}, which make no {rows}x{cols} mesh ({remedy})");
        let is_refused = (rows, cols) != (4, 12);
        let expected = if is_refused { Err(&*expected) } else { Ok(()) };
        check("recursive_transpose", (rows, cols), &[4], expected);
    }
}

#[test]
fn memory_and_bandwidth_follow_from_the_block() {
    let expected = [
        ("update_guard", 800 + 8 * 64, Some(4 * 64)),
        ("shift", 2 * 800, Some(800)),
        ("transpose", 2 * 800, None),
        ("row_broadcast", 800, None),
        ("col_broadcast", 800 + 64, None),
        ("recursive_transpose", 2 * 800, None),
    ];
    let topology = Topology::hypercube(4);
    let world = &World::of(&topology);
    for (kernel, expected) in all_kernels().into_iter().zip(expected) {
        let info = kernel.info();
        let case = Case::new(info, &[]).with(&LOCAL_N, 8);
        let bytes_per_op = (info.series[0].bytes_per_op)(&case, world);
        assert_eq!((info.name, (info.bytes_per_rank)(&case, world), bytes_per_op), expected);
    }
}

#[test]
fn only_edges_that_leave_their_rank_count_as_bandwidth() {
    let info = crate::kernels::<Local>()[0].info();
    for (rows, cols, n_edges) in [(1, 1, 0), (1, 4, 2), (4, 1, 2), (2, 2, 4)] {
        let topology = Topology::new(Mesh::gray_with(rows, cols), None).unwrap();
        let (case, world) = (Case::new(info, &[8]), World::of(&topology));
        let bytes = (info.series[0].bytes_per_op)(&case, &world);
        assert_eq!(bytes, Some(n_edges * 64), "{rows}x{cols}");
    }
}

#[test]
fn the_list_is_sane() {
    harness::check_descriptions(&all_kernels());
}

#[test]
fn neither_setup_nor_check_uses_an_operation() {
    for source in [include_str!("setup.rs"), include_str!("check.rs")] {
        assert!(!source.contains("ops"));
    }
}
