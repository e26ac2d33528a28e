//! Command lines of IMB-HALO.

use super::*;

/// The words of a run with `rest` behind the operations.
fn run(rest: &str) -> String {
    format!("run IMB-HALO:simple_halo --rules imb-p2p --format imb {rest}")
}

#[test]
fn grids_counts_and_loops_are_options_of_ours() {
    let loops = "--repetitions 1000 --warm-up 100";
    let sizes = "--loop-limits none --sizes 4,8,16,32 --axis datatype=int";
    for (line, expected) in [
        ("IMB-HALO", run(&format!("{loops} {sizes}"))),
        ("IMB-HALO SIMPLE_HALO --ranks=4", run(&format!("{loops} {sizes} --ranks=4"))),
        (
            "IMB-HALO -topo 2.1.3 -repeat 20 -warmup 0",
            run(&format!(
                "--axis topo_1=2 --axis topo_2=1 --axis topo_3=3 --repetitions 20 --warm-up 0 {sizes}"
            )),
        ),
        (
            "IMB-HALO -count 1,3 -datatype char -stride 0 -malloc_align 64 -thread_level single",
            run(&format!("{loops} --loop-limits none --sizes 1,3 --axis datatype=char")),
        ),
    ] {
        check(line, &expected);
    }
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
fn it_lists_its_benchmark_and_refuses_what_it_does_not_have() {
    let Err(Stop::Help(listed)) = translated("IMB-HALO -list") else { panic!("it measures") };
    assert_eq!(listed, "List of benchmarks:\nndim_halo_benchmark:\n    simple_halo\n");
    let Err(Stop::Help(nothing)) = translated("IMB-HALO -exclude simple_halo") else {
        panic!("it measures")
    };
    assert!(nothing.starts_with("# note: nothing is measured"), "{nothing}");
    let topo = "proportions of 1 to 4 sides are numbers above 0 with points between them (write 2.2 \
                for a square)";
    for (line, sentence) in [
        (
            "IMB-HALO simple_hallo",
            "IMB-HALO: simple_hallo is not supported; did you mean simple_halo? (IMB-HALO -list shows all)",
        ),
        ("IMB-HALO -topo 0.1", &*format!("IMB-HALO: '0.1' for -topo: {topo}")),
        ("IMB-HALO -topo 1.1.1.1.1", &format!("IMB-HALO: '1.1.1.1.1' for -topo: {topo}")),
        (
            "IMB-HALO -count 1,0",
            "IMB-HALO: '1,0' for -count: counts of elements are numbers above 0 with commas between them \
             (write 1,2,4,8)",
        ),
        (
            "IMB-HALO -datatype float",
            "IMB-HALO: 'float' for -datatype: elements are int, char (write int)",
        ),
        (
            "IMB-HALO -repeat 0",
            "IMB-HALO: '0' for -repeat: it is a number above 0 (write 1 or more)",
        ),
        ("IMB-HALO -warmup x", "IMB-HALO: 'x' for -warmup: it is a number (write 100)"),
        (
            "IMB-HALO -thread_level multiple",
            "IMB-HALO: -thread_level multiple is not supported: one thread of each rank sends (leave it out)",
        ),
    ] {
        assert_eq!(refusal(line), sentence, "{line}");
    }
}
