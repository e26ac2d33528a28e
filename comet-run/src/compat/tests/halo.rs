//! Command lines of IMB-HALO.

use super::*;

#[test]
fn command_lines_become_ours_or_are_refused() {
    check_rows(include_str!("halo.txt"));
    let noted = translated("IMB-HALO -stride 2 -malloc_align 4096").unwrap().notes;
    assert_eq!(
        noted,
        [
            "-stride 2 has no effect: neighbours follow from the grid, there as here",
            "-malloc_align 4096 has no effect: buffers begin at a cache line",
        ]
    );
}

#[test]
fn it_lists_its_benchmark() {
    let Err(Stop::Help(listed)) = translated("IMB-HALO -list") else { panic!("it measures") };
    assert_eq!(listed, "List of benchmarks:\nndim_halo_benchmark:\n    simple_halo\n");
    let Err(Stop::Help(nothing)) = translated("IMB-HALO -exclude simple_halo") else {
        panic!("it measures")
    };
    assert!(nothing.starts_with("# note: nothing is measured"), "{nothing}");
}
