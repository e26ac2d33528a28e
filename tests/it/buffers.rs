//! Buffers of the repetitions, and memory copies beside rates.

use crate::support::Folder;

/// SK-63 and SK-94: whether messages lie in the cache is said and chosen.
#[test]
fn buffers_have_a_mode_in_key_headline_and_record() {
    let folder = Folder::new();
    let line = "echo barrier -t shm -n 2 -s 8,4Ki --hops 1 --profile quick --samples 3";
    folder.run(&format!("{line} -q --out same.jsonl")).success();
    let modes = ["offcache:64Ki", "cycle:64Ki", "touched"].map(|mode| {
        let file = mode.split(':').next().unwrap();
        let run = folder.run(&format!("{line} --buffers {mode} --out {file}.jsonl")).success();
        let name = mode.replace("64Ki", "65536");
        let found = run.prints(&format!("# comet/echo, 2 ranks, buffers {name}\n"));
        found.prints(&format!("(leave out --buffers {name})")).prints("2 ok, 1 skipped");
        folder.run(&format!("validate {file}.jsonl")).success();
        folder.read(&format!("{file}.jsonl"))
    });
    let keys = |text: &str| -> Vec<String> {
        let points = text.lines().map(|line| serde_json::from_str(line).unwrap());
        let ok = points.filter(|point: &serde_json::Value| point["status"] == "ok");
        ok.map(|point| point["key"].to_string()).collect()
    };
    let same = keys(&folder.read("same.jsonl"));
    let others = modes.map(|text| keys(&text));
    assert_eq!((same.len(), others.each_ref().map(Vec::len)), (3, [2; 3]));
    let mut all = [same, others.concat()].concat();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 9, "{all:?}");
}

#[test]
fn in_simulation_touched_messages_take_the_work_of_a_rank_longer_and_moved_ones_no_time_or_are_refused()
 {
    let folder = Folder::new();
    let line = "echo -t sim --machine ipsc860-fit -n 2 -s 8000 --hops 1 --format csv --out none -q";
    let us = |mode: &str| -> f64 {
        let text = folder.run(&format!("{line} --buffers {mode}")).success().stdout;
        let [head, row] = text.lines().collect::<Vec<_>>()[..] else { panic!("{text}") };
        let column = head.split(',').position(|name| name == "t_quoted_ns").unwrap();
        row.split(',').nth(column).unwrap().parse::<f64>().unwrap() / 1e3
    };
    // Each side copies 8000 bytes at 0.05 us and 0.4 us once, and adds up 1000 doubles at 0.16 us.
    let more = us("touched") - us("same");
    assert!((more - (400.4 + 160.0)).abs() < 1e-3, "{more}");
    assert_eq!(us("cycle:64Ki").to_bits(), us("same").to_bits(), "there are no caches");
    let refused = folder.run(&format!("{line} --buffers offcache:1Mi")).code(2);
    assert!(refused.stderr.contains("simulated memory has no caches"), "{}", refused.stderr);
}

#[test]
fn rates_stand_beside_the_copies_of_the_same_run() {
    let folder = Folder::new();
    let line = "echo -t sim --machine ipsc860-fit -n 2 -s 8000 --hops 1 --out none";
    let with = folder.run(&format!("{line} memcpy")).success().stdout;
    let at = |text: &str| with.find(text).unwrap_or_else(|| panic!("{text} in {with}"));
    assert!(at("# model/memcpy") < at("# comet/echo"), "{with}");
    assert!(
        with.contains("# %copy: rate in percent of that of a memory copy by one rank"),
        "{with}"
    );
    let rates: Vec<f64> = with
        .lines()
        .filter(|line| line.starts_with("  "))
        .map(|row| row.split_whitespace().last().unwrap().parse().unwrap())
        .collect();
    let [all, one, percent] = rates[..] else { panic!("{with}") };
    assert_eq!((all, one), (19.98, 19.98), "8000 bytes in 400.4 us");
    assert!(percent > 5.0 && percent < 50.0, "{with}");
    let without = folder.run(line).success().stdout;
    assert!(!without.contains("copy"), "{without}");
}
