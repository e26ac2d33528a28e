//! `health`: what stands out among ranks, hosts and links, on machines whose faults are known.

use crate::support::{Folder, machine};

#[test]
fn nothing_stands_out_on_a_healthy_machine() {
    let folder = Folder::new();
    let line = "health --machine dahu-opa -n 9 -s 8,4Ki --profile quick -o a.jsonl";
    let output = folder.run(line).success().prints("# 9 ranks: 36 pairs in 9 rounds\n");
    let output = output.prints("0 of 36 pairs slow").prints("\nverdict: nothing stands out\n");
    assert_eq!(output.stderr, "results: a.jsonl\n");
    folder.run("validate a.jsonl").success();
}

#[test]
fn distances_are_told_from_faults() {
    let folder = Folder::new();
    for (name, class) in [("ipsc860", "3 hops"), ("t3e", "3 hops"), ("cm5", "3 hops")] {
        let line = format!("health --machine {name} -n 8 -s 8 --profile quick -o {name}.jsonl");
        folder.run(&line).success().prints(class);
    }
}

#[test]
fn pairs_that_share_links_are_noticed_and_not_blamed() {
    let folder = Folder::new();
    let output = folder.run("health --machine redstorm -n 16 -s 64Ki --profile quick -o a.jsonl");
    let output = output.success();
    output.prints("\nnoticed: link of ranks ").prints("\nverdict: nothing stands out but ");
}

#[test]
fn a_slow_rank_is_named_and_ends_with_code_10() {
    let folder = Folder::new();
    // Ranks take time for messages and for work.
    let slow = "split = { o_send = \"500 ns\", o_recv = \"500 ns\" }\n[node]\ndaxpy = \"1 ns\"\n\
                [fault]\nslow_rank = [{ rank = 5, factor = 3.0 }]\n";
    folder.write("slow.toml", &machine(1.0, slow));
    let output =
        folder.run("health --machine ./slow.toml -n 8 -s 8 --profile quick -o a.jsonl").code(10);
    let reasons = "\nsuspicious: rank 5: 8 B: 7 of 7 pairs take more than 1.10 times the median, \
                   up to 1.50; computes 3.00 times as long as others\n\
                   verdict: rank 5 stands out\n";
    let measured = output.prints(reasons).stdout;
    // A stored run gets the same verdict, and another one where more is tolerated.
    assert_eq!(folder.run("health a.jsonl").code(10).stdout, measured);
    folder.run("health a.jsonl --factor 4").success().prints("nothing stands out");
}

#[test]
fn two_ranks_are_described_and_not_compared() {
    let folder = Folder::new();
    let output = folder.run("health -n 2 -s 8 --bind none --profile quick -o a.jsonl").success();
    output.prints("# 2 ranks on 1 host: 1 pair in 1 round\n").prints("too few to compare");
    let kernels: Vec<String> = folder
        .records("a.jsonl")
        .points()
        .map(|point| format!("{}/{}", point["suite"], point["kernel"]).replace('"', ""))
        .collect();
    for id in ["health/pairs", "comet/barrier", "health/noise"] {
        assert!(kernels.iter().any(|kernel| kernel == id), "no {id} among {kernels:?}");
    }
}

#[test]
fn what_cannot_be_judged_is_refused_in_one_sentence() {
    let folder = Folder::new();
    folder.run("echo -n 2 --profile quick -s 8 --format none -o echo.jsonl").success();
    folder.refuses(&[
        ("health echo.jsonl", "echo.jsonl holds no times of health/pairs or health/noise (measure"),
        ("health none.jsonl", "none.jsonl"),
        ("health echo.jsonl -n 4", "cannot be used with"),
        ("health --out none", "--out none leaves nothing to judge"),
        ("health --factor 1", "a ratio is a number above 1"),
    ]);
}
