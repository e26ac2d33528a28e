//! Tests of all matrix kernels together, over ranks that are threads.

use std::collections::HashSet;

use comet_core::context::{Context, Method};
use comet_core::driver::Pace;
use comet_core::error::KernelError;
use comet_core::kernel::{Case, Kernel, LOCAL_N, Profile, World};
use comet_core::local::{self, Corrupt, Local};
use comet_core::sample::Sample;
use comet_core::sweep;
use comet_core::topology::{Mesh, Topology};

const PACE: Pace = Pace::new(2, 3, 1);

/// Rank counts up to 9 and 16, and meshes that are not the default ones.
fn topologies() -> Vec<Topology> {
    let table = |rows: &[Vec<usize>]| Mesh::from_table(rows).unwrap();
    let meshes = [
        Mesh::gray_with(2, 3),
        Mesh::gray_with(3, 2),
        Mesh::gray_with(1, 4),
        Mesh::gray_with(4, 1),
        Mesh::gray_with(2, 1),
        table(&[vec![2, 1, 0], vec![3, 5, 4]]),
        table(&[vec![3, 1], vec![0, 2]]),
    ];
    let hypercubes = (1..=9).chain([16]).map(Topology::hypercube);
    hypercubes.chain(meshes.map(|mesh| Topology::new(mesh, None).unwrap())).collect()
}

/// The cases of `kernel` with blocks of `local_n` that `topology` admits.
fn cases(kernel: &dyn Kernel<Local>, local_n: u64, topology: &Topology) -> Vec<Case> {
    let info = kernel.info();
    let first = &info.axes[0];
    let values = if first.axis == &LOCAL_N { vec![local_n] } else { vec![0, 1] };
    let cases = values
        .iter()
        .map(|value| Case::new(info, &[]).with(&LOCAL_N, local_n).with(first.axis, *value));
    cases.filter(|case| (info.admits)(case, &World::of(topology)).is_ok()).collect()
}

/// Outcome of each rank's verification of `case`.
fn verify(
    kernel: &dyn Kernel<Local>,
    case: &Case,
    topology: &Topology,
    spoil: Spoil,
) -> Vec<Result<(), KernelError>> {
    local::run_with(topology.clone(), spoil == Spoil::Messages, |t| {
        let corrupt = spoil == Spoil::Checked;
        let mut cx = Context::new(t, case.info, PACE, Method::default(), corrupt);
        kernel.verify(&mut cx, case)
    })
}

/// Injected errors.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Spoil {
    Nothing,
    /// The values that the kernel checks.
    Checked,
    /// The last byte of every message.
    Messages,
}

fn is_mismatch(result: &Result<(), KernelError>) -> bool {
    matches!(result, Err(KernelError::Mismatch { .. }))
}

/// Calls `check` with every kernel, case and topology.
fn for_all(local_ns: &[u64], check: impl Fn(&dyn Kernel<Local>, &Case, &Topology)) {
    for topology in topologies() {
        for kernel in crate::matrix::<Local>() {
            for local_n in local_ns {
                for case in cases(*kernel, *local_n, &topology) {
                    check(*kernel, &case, &topology);
                }
            }
        }
    }
}

#[test]
fn every_kernel_verifies_on_every_mesh() {
    for_all(&[1, 2, 5], |kernel, case, topology| {
        for (rank, result) in verify(kernel, case, topology, Spoil::Nothing).iter().enumerate() {
            assert!(result.is_ok(), "{} on rank {rank}: {result:?}", case.label());
        }
    });
}

#[test]
fn every_kernel_notices_spoiled_values_on_every_rank() {
    for_all(&[3], |kernel, case, topology| {
        let results = verify(kernel, case, topology, Spoil::Checked);
        assert!(results.iter().all(is_mismatch), "{}: {results:?}", case.label());
    });
}

#[test]
fn every_kernel_that_sends_notices_spoiled_messages() {
    for_all(&[3], |kernel, case, topology| {
        let results = verify(kernel, case, topology, Spoil::Messages);
        // A single rank fills its guard ring by messages to itself.
        assert!(results.iter().any(is_mismatch), "{}", case.label());
        assert!(results.iter().all(|result| result.is_ok() || is_mismatch(result)));
    });
}

#[test]
fn every_kernel_notices_repeated_messages_that_arrive_wrong() {
    for_all(&[3], |kernel, case, topology| {
        let results = local::run_corrupting(topology.clone(), Corrupt::Repeated, |t| {
            let mut cx = Context::new(t, case.info, PACE, Method::default(), false);
            kernel.measure(&mut cx, case)
        });
        assert!(results.iter().any(is_mismatch), "{}", case.label());
    });
}

#[test]
fn a_spoiled_value_is_one_that_the_operation_wrote() {
    let topology = Topology::hypercube(4);
    for (kernel, element) in crate::matrix::<Local>().iter().zip([34, 35, 35, 10, 25]) {
        let case = Case::new(kernel.info(), &[]).with(&LOCAL_N, 4);
        let results = verify(*kernel, &case, &topology, Spoil::Checked);
        let texts: Vec<String> = results.into_iter().map(|r| r.unwrap_err().to_string()).collect();
        let start = format!("element {element} of 36 ");
        assert!(texts.iter().any(|text| text.starts_with(&start)), "{}: {texts:?}", case.label());
    }
}

#[test]
fn every_rank_takes_every_sample() {
    let sample_all = |kernel: &dyn Kernel<Local>, case: &Case, topology: &Topology| {
        local::run_with(topology.clone(), false, |t| {
            let mut cx = Context::new(t, case.info, PACE, Method::default(), false);
            kernel.measure(&mut cx, case).unwrap();
            cx.into_samples()
        })
    };
    for_all(&[4], |kernel, case, topology| {
        for samples in sample_all(kernel, case, topology) {
            assert_eq!(samples.iter().map(Vec::<Sample>::len).collect::<Vec<_>>(), [3]);
        }
    });
}

#[test]
fn operations_leave_no_message_behind() {
    use comet_core::transport::{Source, Tag, Transport};
    for_all(&[2], |kernel, case, topology| {
        local::run_with(topology.clone(), false, |t| {
            let mut cx = Context::new(t, case.info, PACE, Method::default(), false);
            kernel.measure(&mut cx, case).unwrap();
            t.barrier().unwrap();
            for tag in (0..100).map(Tag::new) {
                assert_eq!(t.probe(Source::Any, tag).unwrap(), None, "{}", case.label());
            }
        });
    });
}

#[test]
fn default_meshes_admit_every_kernel_that_has_a_receiver() {
    for kernel in crate::matrix::<Local>() {
        let info = kernel.info();
        let case = Case::new(info, &[]).with(&LOCAL_N, 4);
        assert_eq!(
            (info.admits)(&case, &World::of(&Topology::hypercube(4))),
            Ok(()),
            "{}",
            info.id()
        );
    }
}

#[test]
fn blocks_of_no_element_or_too_many_are_refused() {
    for kernel in crate::matrix::<Local>() {
        let info = kernel.info();
        let admits = |local_n| {
            let case = Case::new(info, &[]).with(&LOCAL_N, local_n);
            (info.admits)(&case, &World::of(&Topology::hypercube(4))).unwrap_err()
        };
        assert_eq!(admits(0), "local_n must be at least 1, got 0");
        assert!(admits(1 << 26).starts_with("local_n 67108864 is too large"));
        assert!(admits(u64::MAX).starts_with("local_n 18446744073709551615 is too large"));
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
    ];
    let topology = Topology::hypercube(4);
    let world = &World::of(&topology);
    for (kernel, expected) in crate::matrix::<Local>().iter().zip(expected) {
        let info = kernel.info();
        let case = Case::new(info, &[]).with(&LOCAL_N, 8);
        let bytes_per_op = (info.series[0].bytes_per_op)(&case, world);
        assert_eq!((info.name, (info.bytes_per_rank)(&case, world), bytes_per_op), expected);
    }
}

#[test]
fn the_list_is_sane() {
    let mut ids = HashSet::new();
    for info in crate::matrix::<Local>().iter().map(|kernel| kernel.info()) {
        let id = info.id();
        assert!(id.starts_with("matrix/") && ids.insert(id.clone()), "{id} is there twice");
        let summary = info.summary;
        assert!(summary.chars().count() <= 72 && !summary.ends_with('.'), "{id}: {summary}");
        assert!(!info.source.is_empty(), "{id}");
        for used in info.axes {
            for profile in [Profile::Quick, Profile::Standard, Profile::Full] {
                let text = used.sweep(profile).expect("every axis has default values");
                assert!(sweep::parse(text, None).is_ok_and(|values| !values.is_empty()), "{text}");
            }
        }
    }
}

#[test]
fn neither_setup_nor_check_uses_an_operation() {
    for source in [include_str!("setup.rs"), include_str!("check.rs")] {
        assert!(!source.contains("ops"));
    }
}
