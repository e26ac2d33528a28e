//! Calibration end to end: a machine whose numbers are known, because it is simulated, is measured
//! and written down again; and this one, whose numbers nobody knows.

use crate::support::Folder;

#[test]
fn a_known_machine_is_written_down_as_it_is() {
    let folder = Folder::new();
    let line = "calibrate -t sim --machine ipsc860 -n 2 -o m.toml --simgrid m.xml";
    let report = folder.run(line).success().stdout;
    assert!(report.contains("comet/exchange               11     0.0 %"), "{report}");
    assert_eq!(folder.names(), ["m.jsonl", "m.toml", "m.xml"]);
    folder.run("validate m.jsonl").success();
    let machine = folder.read("m.toml");
    for number in ["79000.000 ns", "630000.000 ps/B", "156000.000 ns", "410000.000 ps/B"] {
        let entry = format!("{{ value = \"{number}\", source = \"measured\" }}");
        assert!(machine.contains(&entry), "{entry} is not in\n{machine}");
    }
    assert!(folder.read("m.xml").contains("radical=\"0-1\""));
    folder.run("echo -t sim --machine m.toml -n 2 --hops 1 --profile quick --out none").success();
}

#[test]
fn ranks_in_other_processes_can_be_calibrated() {
    let folder = Folder::new();
    let report = folder.run("calibrate -t shm -n 2 --profile quick").success().stdout;
    for kernel in ["comet/echo", "comet/exchange", "naive/broadcast", "naive/reduction"] {
        assert!(report.contains(kernel), "{kernel} is not in\n{report}");
    }
    assert_eq!(folder.names(), ["host.jsonl", "host.toml"]);
}

#[test]
fn what_cannot_be_calibrated_is_refused_and_no_file_is_overwritten() {
    let folder = Folder::new();
    folder.write("host.toml", "mine");
    folder.refuses(&[
        (
            "calibrate -t shm -n 1 -o new.toml",
            "cannot calibrate: comet/echo no rank is 1 hop from rank 0",
        ),
        (
            "calibrate -t shm -n 2,4 -o new.toml",
            "a machine has one number of ranks, -n names 2 (write -n 2)",
        ),
        ("calibrate -t sim --machine ipsc860 -n 2", "host.toml is there already"),
    ]);
    assert_eq!(folder.read("host.toml"), "mine");
}
