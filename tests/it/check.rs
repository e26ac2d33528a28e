//! `check`: message passing and every kernel prove themselves on this machine.

use crate::support::Folder;

#[test]
fn the_checks_pass_on_any_number_of_ranks() {
    for n_ranks in [1, 4] {
        let output = Folder::new().run(&format!("check -n {n_ranks}")).success();
        let lines: Vec<&str> = output.stdout.lines().collect();
        let n_of = |start: &str| lines.iter().filter(|line| line.starts_with(start)).count();
        assert!(n_of("ok       transport: ") > 30, "{output:#?}");
        let n_kernels = n_of("ok       kernel ") + n_of("skipped  kernel ");
        assert_eq!((n_kernels, n_of("FAILED")), (12, 0), "{output:#?}");
    }
}

#[test]
fn a_check_that_sees_spoiled_data_fails() {
    let output = Folder::new().run("check echo barrier -n 2 --inject corrupt:echo").code(3);
    let output =
        output.prints("FAILED   case comet/echo hops=1 length_bytes=8: rank 0: byte 7 of 8");
    output.prints("FAILED   kernel comet/echo: ").prints("ok       kernel comet/barrier: ");
}

#[test]
fn what_these_ranks_do_not_admit_is_skipped_with_the_reason() {
    let folder = Folder::new();
    let output = folder.run("check contention -n 2").success();
    output.prints("skipped  kernel comet/contention: needs at least 4 ranks, there are 2");
    assert_eq!(folder.names(), [""; 0], "a check leaves no file");
}
