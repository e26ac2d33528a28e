//! Suite files: layers, keys, faults, and those that are built in.

use clap::Parser as _;
use comet_core::driver::StopRule;

use super::*;
use crate::backend;
use crate::cli::{Cli, Command};
use crate::prepare::prepare;

/// A folder that is removed with its files.
struct Files(PathBuf);

impl Files {
    /// Suite files with these names and texts.
    fn new(test: &str, files: &[(&str, &str)]) -> Self {
        let folder =
            std::env::temp_dir().join(format!("comet-suite-{test}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        files.iter().for_each(|(name, text)| fs::write(folder.join(name), text).unwrap());
        Self(folder)
    }

    fn read(&self, name: &str, flags: &str) -> anyhow::Result<Suite> {
        let flags: Vec<OsString> = flags.split_whitespace().map(Into::into).collect();
        read(&self.0.join(name).display().to_string(), &flags)
    }

    /// The error of a file of this text, without the folder.
    fn refusal(test: &str, text: &str) -> String {
        let files = Self::new(test, &[("a.toml", text)]);
        let error = files.read("a.toml", "-t sim -n 4").and_then(|suite| {
            let first = &suite.entries[0];
            prepare(&first.args.plan, &origin(first)).map_err(|error| first.explain(&error))
        });
        let error = error.map(|_| ()).unwrap_err();
        assert_eq!(exit::code_of(&error), exit::USAGE);
        error.to_string().replace(&format!("{}/", files.0.display()), "")
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

fn origin(entry: &Entry) -> crate::world::Origin {
    let world = &entry.args.plan.world;
    backend::find(world, None).unwrap().origin(world, None).unwrap()
}

fn run_args(line: &str) -> RunArgs {
    let words = line.split_whitespace();
    match Cli::try_parse_from(["comet-run", "run"].into_iter().chain(words)).unwrap().command {
        Some(Command::Run(args)) => args,
        other => panic!("{other:?}"),
    }
}

/// SK-14: default suites.
#[test]
fn every_built_in_file_can_be_planned() {
    let flags: Vec<OsString> = ["-t", "sim", "-n", "8"].map(Into::into).into();
    for name in builtin::names() {
        let suite = read(&format!("builtin:{name}"), &flags).unwrap();
        assert_eq!(suite.name, name);
        assert!(!suite.about.is_empty());
        for entry in &suite.entries {
            let prepared = prepare(&entry.args.plan, &origin(entry));
            let [of_run] = &prepared.unwrap()[..] else { panic!("one number of ranks") };
            let settings = crate::prepare::settings(&entry.args.plan, &origin(entry));
            let hindrance = of_run.hindrance(&settings);
            // Simulated machines have no files.
            assert_eq!(hindrance.is_some(), name == "imb-io", "{name} {}: {hindrance:?}", entry.id);
        }
    }
}

/// Kernels and settings of each run of `suite`.
fn plans(suite: &Suite) -> Vec<String> {
    suite.entries.iter().map(|entry| format!("{:?}", entry.args.plan)).collect()
}

#[test]
fn the_effective_suite_is_a_file_that_measures_the_same_without_options() {
    let check = |test: &str, name: &str, folder: &Path, flags: &str| {
        let words: Vec<OsString> = flags.split_whitespace().map(Into::into).collect();
        let suite = read(&folder.join(name).display().to_string(), &words).unwrap();
        let files =
            Files::new(&format!("effective-{test}"), &[("a.toml", &suite.lines.join("\n"))]);
        let again = files.read("a.toml", "").unwrap();
        assert_eq!(again.lines, suite.lines, "{name} {flags}");
        assert_eq!(again.limit, suite.limit);
        // The environment of the tests gives no values.
        assert_eq!(plans(&again), plans(&suite), "{name} {flags}");
    };
    for name in builtin::names() {
        check(name, &format!("builtin:{name}"), Path::new(""), "");
        check(
            name,
            &format!("builtin:{name}"),
            Path::new(""),
            "-t sim -n 3 --rules osu --samples 7",
        );
    }
    let text =
        "include = 'more.toml'\n[machine]\n'a \"key\"' = 'x'\n[stop]\nrun = '2s'\ncase = '1s'\n";
    let more = "[defaults]\nlength_bytes = '8,16'\nwarm_up = 3\n[[measure]]\nid = 'turns'\n\
                kernel = ['imb/bcast', 'imb/reduce']\nvary = 'one'\nprocs = ['max', 2]\nroot = 'first,rotate'\n\
                [[measure]]\nkernel = 'barrier'\n";
    let files = Files::new("effective-of", &[("a.toml", text), ("more.toml", more)]);
    check("layers", "a.toml", &files.0, "-t sim -n 4");
}

/// SK-02, SK-06 and SK-13: labels of the machine, operations before, and the time of a case.
#[test]
fn an_entry_is_a_command_line() {
    let text = "name = 'n'\n[machine]\nnetwork = 'ndr 200'\n[defaults]\nrules = 'osu'\nwarm_up = 5\n\
                local_n = 8\n[stop]\nsamples = 9\ncase = '1s'\n[[measure]]\nid = 'a'\n\
                kernel = ['echo', 'imb/bcast']\nlength_bytes = ['0', '8..64*2']\nhops = 1\n\
                warm_up = 6\nroot = 'rotate'\n";
    let files = Files::new("line", &[("a.toml", text)]);
    let suite = files.read("a.toml", "-n 4 --samples 3 --label x=y -o r.jsonl").unwrap();
    let mut expected = run_args(
        "echo imb/bcast --label suite=n --label entry=a --label x=y --rules osu --warm-up 6 \
         --samples 3 --time 1s --axis hops=1 --axis length_bytes=0,8..64*2 --axis root=rotate \
         -n 4 -o r.jsonl",
    );
    expected.output.label.insert(0, ("network".into(), "ndr 200".into()));
    let [entry] = &suite.entries[..] else { panic!("one entry") };
    assert_eq!(format!("{:?}", entry.args), format!("{expected:?}"));
}

/// SK-09 and SK-42 to SK-45: the bounds of repetitions, and the standard error.
#[test]
fn sk_09_a_suite_stops_by_the_bounds_and_the_error_that_it_names() {
    let text = "[defaults]\nrules = 'skampi'\n[stop]\nsamples = '8..16'\nerror = '3 %'\n\
                [[measure]]\nkernel = 'echo'\n[[measure]]\nkernel = 'barrier'\nsamples = 5\nstandard_error = 1\n";
    let files = Files::new("stop-rule", &[("a.toml", text)]);
    let suite = files.read("a.toml", "-t sim -n 2").unwrap();
    let settings = |entry: &Entry| crate::prepare::settings(&entry.args.plan, &origin(entry));
    let [first, second] = &suite.entries[..] else { panic!("two entries") };
    prepare(&first.args.plan, &origin(first)).unwrap();
    assert_eq!(settings(first).stop, StopRule { samples: [8, 16], error: 0.03 });
    let second = settings(second);
    assert_eq!(
        (second.samples, second.stop),
        (Some(5), StopRule { error: 0.01, ..StopRule::SKAMPI })
    );
}

/// SK-15
#[test]
fn one_axis_varies_at_a_time() {
    let text = "[[measure]]\nkernel = 'imb/bcast'\nvary = 'one'\nlength_bytes = '256,0..64Ki*2'\n\
                procs = 'max,2..max'\nroot = 'first'\n";
    let files = Files::new("vary", &[("a.toml", text)]);
    let suite = files.read("a.toml", "").unwrap();
    let found = suite.entries.iter().map(|entry| {
        let axes =
            entry.args.plan.cases.axis.iter().map(|(name, values)| format!("{name}={values}"));
        (entry.varied.as_deref().unwrap(), Vec::from_iter(axes).join(" "))
    });
    assert_eq!(
        Vec::from_iter(found),
        [
            ("length_bytes", "length_bytes=256,0..64Ki*2 procs=max root=first".to_owned()),
            ("procs", "length_bytes=256 procs=max,2..max root=first".to_owned()),
        ]
    );
    assert_eq!(suite.entries[1].id, "imb/bcast");
}

#[test]
fn the_defaults_of_a_file_go_before_those_of_files_that_it_includes() {
    let outer = "include = ['b.toml', 'builtin:parkbench']\n[defaults]\nrules = 'imb'\n[stop]\nrun = '5s'\n\
                 [[measure]]\nkernel = 'echo'\nrules = 'osu'\n";
    let inner = "[machine]\nmachine = 'm'\n[defaults]\nrules = 'thesis'\nwarm_up = 3\n[stop]\nrun = '1h'\n\
                 [[measure]]\nid = 'inner'\nkernel = 'barrier'\n";
    let files = Files::new("include", &[("a.toml", outer), ("b.toml", inner)]);
    let suite = files.read("a.toml", "").unwrap();
    let facts = |entry: &Entry| {
        let plan = &entry.args.plan;
        (entry.id.clone(), plan.method.rules.clone(), plan.effort.warm_up)
    };
    let found: Vec<_> = suite.entries.iter().map(facts).collect();
    assert_eq!(found[0], ("inner".into(), "imb".into(), Some(3)));
    assert_eq!(found[1], ("comms".into(), "imb".into(), None));
    assert_eq!(*found.last().unwrap(), ("echo".into(), "osu".into(), None));
    assert_eq!((suite.limit, &*suite.name), (Some(Duration::from_secs(5)), "a"));
}

#[test]
fn faults_are_told_with_their_line_and_what_is_possible() {
    // Each has a word, the text of a file, and the start of its refusal.
    for fault in include_str!("faults.txt").split("== ").skip(1) {
        let (test, rest) = fault.split_once('\n').unwrap();
        let (text, expected) = rest.trim_end().split_once("\n=> ").unwrap();
        let found = Files::refusal(test, text);
        assert!(found.starts_with(expected), "{test}: {found}");
    }
}
