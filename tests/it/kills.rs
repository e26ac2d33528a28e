//! Suites that are killed at random moments, and still end with every unit measured once.
//!
//! The moments are drawn from a seed. `scripts/kill-test.sh KILLS SEED` does as many as it is asked for.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::thread;
use std::time::Duration;

use crate::support::{Folder, Process, Records, Running, try_send, try_send_to_group};

/// Kills, and the seed of their moments, unless these variables say others.
const DEFAULTS: [(&str, u64); 2] = [("COMET_KILLS", 20), ("COMET_SEED_OF_KILLS", 1)];

/// Units of some hundredths of a second, of three kinds: messages, a collective, several launches. A key names
/// the start of the ranks, and windows are given up where other programs take the cores.
const SUITE: &str = include_str!("suites/kills.toml");

/// Steps and points of a file, as far as it has whole lines.
struct Journal(Records);

impl Journal {
    fn read(text: &str) -> Self {
        let whole = text.rfind('\n').map_or("", |last| &text[..=last]);
        Self(Records::parse(whole))
    }

    /// Number of steps of each unit that is in `state`.
    fn steps(&self, state: &str) -> BTreeMap<String, usize> {
        let mut steps = BTreeMap::new();
        for step in self.0.of_type("unit").filter(|step| step["state"] == state) {
            let unit = step["unit"].as_str().expect("a unit has a name");
            *steps.entry(unit.to_owned()).or_default() += 1;
        }
        steps
    }

    /// Unit, key and status of all points, sorted.
    fn points(&self) -> Vec<String> {
        let unit = |id: &serde_json::Value| {
            let run = self.0.of_type("run").find(|run| run["run_id"] == *id).expect("a run");
            run["of_suite"]["unit"].clone()
        };
        let points = self.0.points().map(|point| {
            format!("{} {} {}", unit(&point["run_id"]), point["key"], point["status"])
        });
        let mut points: Vec<String> = points.collect();
        points.sort();
        points
    }
}

/// Numbers that follow from a seed.
struct Draws(u64);

impl Draws {
    /// A number below `n`.
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) % n
    }
}

/// Kills one of the processes below `supervisor`, it itself, or the group of the launcher.
fn kill_one(supervisor: &Running, draws: &mut Draws) -> &'static str {
    let above = Process::find(supervisor.pid());
    let launcher = above.and_then(|of| of.children().first().copied());
    let ranks = launcher.map(Process::children).unwrap_or_default();
    let mut targets = vec![("supervisor", supervisor.pid())];
    targets.extend(launcher.iter().flat_map(|of| [("launcher", of.pid), ("group", of.pid)]));
    // A test before the fork has one child.
    targets.extend(["rank 0", "rank 1"].into_iter().zip(&ranks).map(|(name, of)| (name, of.pid)));
    let index = draws.below(targets.len() as u64);
    let mut others = targets.iter().skip(usize::try_from(index).expect("a small number"));
    let (name, pid) = *others.next().expect("one of them");
    if name == "group" {
        try_send_to_group("KILL", pid)
    } else {
        try_send("KILL", pid)
    }
    name
}

#[test]
fn a_suite_that_is_killed_at_random_moments_loses_nothing_and_measures_nothing_twice() {
    let [n_kills, seed] = DEFAULTS.map(|(name, number)| {
        std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(number)
    });
    let mut draws = Draws(seed);
    let mut kills: BTreeMap<&str, u64> = BTreeMap::new();
    let folder = Folder::new();
    folder.write("a.toml", SUITE);
    folder.run("suite run a.toml -o alone.jsonl -q --format none").success();
    let expected = Journal::read(&folder.read("alone.jsonl")).points();
    let mut n_suites = 0;
    let mut n_steps = 0;
    while kills.values().sum::<u64>() < n_kills {
        n_suites += 1;
        let folder = Folder::new();
        folder.write("a.toml", SUITE);
        let line = "suite run a.toml -o r.jsonl -q --format none --attempts 1000 --launch";
        let start = || {
            let mut command = folder.command(line);
            command.arg("{comet}");
            Running::new(command)
        };
        let mut supervisor = start();
        let mut before = String::new();
        let path = folder.path.join("r.jsonl");
        let read = || std::fs::read_to_string(&path).unwrap_or_default();
        let output = loop {
            if supervisor.status().is_some() {
                let output = supervisor.wait();
                if output.code.is_some() {
                    break output;
                }
                supervisor = start();
            }
            thread::sleep(Duration::from_micros(1000 + draws.below(250_000)));
            if kills.values().sum::<u64>() < n_kills {
                *kills.entry(kill_one(&supervisor, &mut draws)).or_default() += 1;
            }
            let now = read();
            let whole = before.rfind('\n').map_or("", |last| &before[..=last]);
            assert!(now.starts_with(whole), "seed {seed}: a whole line was lost or changed");
            before = now;
        };
        assert_eq!(output.code, Some(0), "seed {seed}: {output:#?}");
        let journal = Journal::read(&read());
        let done = journal.steps("done");
        assert!(done.values().all(|n| *n == 1) && done.len() == 6, "seed {seed}: {done:?}");
        assert!(journal.steps("gone").is_empty());
        n_steps += journal.steps("begun").values().sum::<usize>();
        folder.run("validate r.jsonl").success();
        // Whoever reads the file finds each point once: those of a suite that nobody has killed.
        let shown = folder.run("show r.jsonl --format jsonl").success().stdout;
        assert_eq!(Journal::read(&shown).points(), expected, "seed {seed}");
    }
    let told = format!("{n_suites} suites ended after {n_steps} attempts and kills of {kills:?}\n");
    std::io::stderr().write_all(told.as_bytes()).expect("standard error is open");
}
