//! The run at a glance, and oddities of simulated machines, each of which has one that is known.

use crate::support::{self, Folder};

/// A machine on which a message of n bytes takes 2 us + n ns, but for what `protocols` say of shorter
/// ones, with `more` below.
fn machine(protocols: &str, more: &str) -> String {
    const LAST: &str = "[[protocol]]";
    support::machine(1.0, more).replacen(LAST, &format!("{protocols}{LAST}"), 1)
}

/// A protocol of messages up to `up_to`.
fn protocol(up_to: &str, t0: &str, per_byte: &str) -> String {
    format!(
        "[[protocol]]\nup_to = \"{up_to}\"\nkind = \"eager\"\nt0 = \"{t0}\"\n\
         per_byte = \"{per_byte}\"\n"
    )
}

/// The sentences of `comet-run WORDS` on the machine `text`: equal in table, record and `show`.
fn oddities(text: &str, words: &str) -> Vec<String> {
    let folder = Folder::new();
    folder.write("mine.toml", text);
    let run = folder.run(&format!("{words} --machine ./mine.toml -o a.jsonl")).success();
    let records = folder.records("a.jsonl");
    let end = records.of_type("end").next().expect("an end");
    let odd = end["odd"].as_array().expect("a list");
    let what = |of: &serde_json::Value| of["what"].as_str().expect("a text").replace('µ', "u");
    let found: Vec<String> = odd.iter().map(what).collect();
    for oddity in odd {
        let keys = oddity["keys"].as_array().expect("a list");
        for key in keys {
            assert!(records.points().any(|point| point["key"] == *key), "{oddity}");
        }
    }
    for line in &found {
        assert!(run.stdout.contains(&format!("#   {line}\n")), "{line}\n{}", run.stdout);
    }
    assert_eq!(run.stdout.contains("# odd\n"), !found.is_empty());
    let shown = folder.run("show a.jsonl").success().stdout;
    let shown: Vec<&str> = shown.lines().filter_map(|line| line.strip_prefix("# odd: ")).collect();
    assert_eq!(shown, found);
    found
}

#[test]
fn a_clean_machine_has_none() {
    assert_eq!(oddities(&machine("", ""), "all naive -n 8"), [""; 0]);
    let noise = "[noise]\nseed = 1\n[[noise.source]]\nkind = \"log_normal\"\nsigma = \"1 %\"\n";
    let few = "echo exchange --hops 1 -n 2 --time 2ms";
    assert_eq!(oddities(&machine("", noise), few), [""; 0]);
    assert_eq!(oddities(&machine("", ""), "health/* -n 8 --profile quick"), [""; 0]);
}

#[test]
fn a_protocol_switch_has_its_length_and_its_cost() {
    let dearer = machine(&protocol("4096 B", "1 us", "0.9 ns/B"), "");
    assert_eq!(
        oddities(&dearer, "echo -n 2 --hops 1"),
        [
            "comet/echo, 1 hop: protocol switch between 4 KiB (4.686 us) and 4097 B (6.097 us), which \
          costs 1.41 us against the line of shorter lengths"
        ]
    );
    let cheaper = machine(&protocol("4096 B", "2 us", "4 ns/B"), "");
    assert_eq!(
        oddities(&cheaper, "echo -n 2 --hops 1"),
        [
            "comet/echo, 1 hop: protocol switch between 4 KiB (18.38 us) and 4097 B (6.097 us), which \
          saves 12.29 us against the line of shorter lengths"
        ]
    );
}

#[test]
fn a_length_far_above_its_law_is_named() {
    let fast = |up_to| protocol(up_to, "2 us", "1 ns/B");
    let text = machine(&(fast("6 KiB") + &protocol("9 KiB", "100 us", "1 ns/B")), "");
    assert_eq!(
        oddities(&text, "echo -n 2 --hops 1"),
        ["comet/echo, 1 hop: 8 KiB takes 108.2 us, 10.6 times what the other lengths predict"]
    );
}

#[test]
fn a_length_that_takes_longer_than_a_larger_one_is_named() {
    let text = machine(&protocol("4096 B", "2 us", "20 ns/B"), "");
    assert_eq!(
        oddities(&text, "echo -n 2 --hops 1 -s 0,8,1Ki,4Ki,16Ki,64Ki"),
        ["comet/echo, 1 hop: 4 KiB (83.92 us) takes longer than 16 KiB (18.38 us)"]
    );
}

#[test]
fn two_speeds_of_a_machine_are_named() {
    let regimes =
        "[noise]\nseed = 1\n[[noise.source]]\nkind = \"regimes\"\nsojourn = 1000\nratio = 1.5\n";
    assert_eq!(
        oddities(&machine("", regimes), "echo -n 2 --hops 1 -s 8,1Ki --launches 1"),
        ["2 of 2 points at two speeds: comet/echo, 8 B, 1 hop; comet/echo, 1 KiB, 1 hop"]
    );
}

#[test]
fn a_slow_rank_is_named_with_the_verdict_of_health() {
    let fault = "split = { o_send = \"0.5 us\", o_recv = \"0.5 us\" }\n[node]\ndaxpy = \"1 ns\"\n\
                 [fault]\nslow_rank = [{ rank = 3, factor = 4.0 }]\n";
    assert_eq!(
        oddities(&machine("", fault), "health/* -n 8 --profile quick"),
        [
            "suspicious: rank 3: 8 B: 7 of 7 pairs take more than 1.10 times the median, up to 1.75; \
          computes 4.00 times as long as others"
        ]
    );
}

/// The answers of the run in `name`, with their units.
fn answers(folder: &Folder, name: &str) -> Vec<(String, String)> {
    let records = folder.records(name);
    let end = records.of_type("end").next().expect("an end");
    let text = |of: &serde_json::Value| of.as_str().expect("a text").to_owned();
    let glance = end["glance"].as_array().expect("a list");
    glance.iter().map(|of| (text(&of["what"]), text(&of["unit"]))).collect()
}

#[test]
fn the_glance_has_the_hidden_share_and_the_slowdown_under_load() {
    let folder = Folder::new();
    let line = "overlap contention --machine ipsc860 -n 8 --profile quick -o a.jsonl -q";
    let table = folder.run(line).success().stdout;
    let found = answers(&folder, "a.jsonl");
    for (what, unit) in
        [("hidden share, 85000 B, 20000 doubles", "%"), ("slowdown under load, 0 B", "x")]
    {
        assert!(found.contains(&(what.into(), unit.into())), "{found:?}");
        assert!(table.contains(&format!("#   {what}")), "{table}");
    }
}

#[test]
fn a_latency_names_the_place_of_both_ranks() {
    let folder = Folder::new();
    folder.run("echo -n 2 -s 8 --profile quick -o a.jsonl -q").success();
    let found = answers(&folder, "a.jsonl");
    assert_eq!(found[0].0, "latency of 8 B, to itself");
    assert!(found[1].0.starts_with("latency of 8 B, same "), "{found:?}");
}
