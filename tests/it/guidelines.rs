//! Guidelines on machines whose times are known: one with a slow protocol for short messages, which
//! violates some by construction, and one without.

use serde_json::Value;

use crate::support::{Folder, Running};

/// A machine on which messages of up to 64 bytes start in `t0`, and longer ones in 10 us.
fn machine(t0: &str) -> String {
    format!(
        "format = 1\nname = \"step\"\nranks = 4\n[topology]\nkind = \"flat\"\n\
         [[protocol]]\nup_to = \"64 B\"\nkind = \"eager\"\nt0 = \"{t0}\"\nper_byte = \"10 ns/B\"\n\
         [[protocol]]\nkind = \"eager\"\nt0 = \"10 us\"\nper_byte = \"10 ns/B\"\n"
    )
}

/// Guidelines of messages and of a broadcast at three lengths.
const LINE: &str =
    "guidelines pingpong_send_recv bcast --machine m.toml -s 8,32,128 --strict --quiet";

#[test]
fn a_slow_protocol_for_short_messages_violates_guidelines_by_the_ratio_of_its_times() {
    let folder = Folder::new();
    folder.write("m.toml", &machine("30 us"));
    let output = folder.run(&format!("{LINE} --out r.jsonl")).code(10);
    // Two messages of 32 B take 2 (30 + 0.32) us, two of 128 B 2 (10 + 1.28) us; so do the two
    // steps of a tree of 4 ranks.
    output
        .prints("violated: pingpong_send_recv(n) <= pingpong_send_recv(longer) at 32 B: 60.640 us against 22.560 us, 2.69 times (exact; Traff 2010)\n")
        .prints("violated: bcast(n) <= bcast(longer) at 32 B: 60.640 us against 22.560 us, 2.69 times");
    let judged =
        folder.run("guidelines pingpong_send_recv bcast --from r.jsonl --format json").success();
    let judged: Value = serde_json::from_str(&judged.stdout).expect("it is JSON");
    let findings = judged[0]["findings"].as_array().expect("there are findings");
    let violated: Vec<_> = findings.iter().filter(|of| of["verdict"] == "violated").collect();
    assert_eq!(violated.len(), 2, "{violated:?}");
    for finding in violated {
        for name in ["factor", "low", "high"] {
            let factor = finding[name].as_f64().expect("a number");
            assert!((factor / (30.32 / 11.28) - 1.0).abs() < 1e-9, "{name}: {factor}");
        }
    }
}

#[test]
fn a_machine_of_one_protocol_holds_them() {
    let folder = Folder::new();
    folder.write("m.toml", &machine("10 us"));
    folder
        .run(&format!("{LINE} --out r.jsonl"))
        .success()
        .prints(": 0 violated, 10 hold, 0 undecided");
    folder.run("guidelines scan --from r.jsonl").code(2).notes("r.jsonl holds no two sides of a");
}

#[test]
fn a_command_that_starts_the_ranks_is_launched_several_times() {
    let folder = Folder::new();
    folder.write("m.toml", &machine("30 us"));
    let line = "guidelines bcast -s 8,32,128 --launches 3 --out r.jsonl --strict --launch";
    let mut command = folder.command(line);
    command.arg("env {comet} --machine m.toml -n 4");
    let output = Running::new(command).wait().code(10);
    output
        .prints("# guidelines on 4 ranks over sim on step, 3 launches: 1 violated, ")
        .notes("launch 3 of 3");
    folder.run("validate r.jsonl").success();
}

#[test]
fn what_cannot_be_judged_is_refused() {
    let folder = Folder::new();
    let list = folder.run("guidelines allreduce --list").success();
    list.prints("allreduce <= reduce + bcast  ").prints("doi 10.1109/TPDS.2009.120\n");
    folder.run("guidelines send").code(2).notes("'send' is no operation with guidelines (they are");
    folder.run("guidelines --out none").code(2).notes("guidelines reads its result file");
    folder.run("guidelines -t sim -n 2..4*2").code(2).notes("takes one number of ranks, -n has 2");
}
