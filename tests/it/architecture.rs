//! The rules of ARCHITECTURE.md and of the house style that a text search can decide.
//!
//! Sources and manifests are read as text, so that a change which breaks a rule fails with the
//! file and the line, whatever it compiles to.

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use crate::support::Folder;

const KERNELS: &[&str] = &["comet-kernels", "comet-matrix"];
const BACKENDS: &[&str] = &["comet-shm", "comet-mpi", "comet-sim"];
/// Axes of kernels, which the record describes, and of those whose names are also other words the
/// calls that look a parameter up.
const AXES: &str =
    "length_bytes vector_length local_n direction load_50_bytes load_90_bytes n_ranks";
const WORDS: &str = "hops pairs order round part";
const LOOK_UPS: &[&str] = &["number(", "values(", "axis(", ".get("];
/// Files of comet-report that may name kernels and their axes: layouts of other benchmarks and of
/// exports, the thesis, tables of what is held against what, and the reader of older records.
const NAMES_KERNELS: &[&str] = &[
    "/figures/thesis.rs",
    "/format/",
    "/guidelines/table.rs",
    "/import/",
    "/older.rs",
    "/questions/table.rs",
    "/suite/",
];

/// Words that stand in few places: start of the paths below which they are looked for, the words,
/// and starts of the paths that may hold them; behind a bar what the line holds besides.
const RULES: &[[&str; 3]] = &[
    // The core does no file, terminal or process I/O: ending a process whose buffers are about to
    // be freed is the one thing that threads can do. Imports are one to a line, so that nothing
    // hides in braces; a lint of the workspace denies printing.
    [
        "comet-core/src/",
        "std::fs std::io std::net std::process std::{",
        "comet-core/src/local.rs|std::process::abort",
    ],
    // A workspace lint denies unsafe code wherever no attribute admits it.
    ["", "expect(unsafe_code allow(unsafe_code", "comet-shm/ comet-mpi/ comet-sim/src/fiber/"],
    // Transports and the driver read clocks, and one kernel measures a reading.
    [
        "",
        "now_ns(",
        "comet-core/src/conformance/ comet-core/src/context.rs comet-core/src/context/laps.rs \
         comet-core/src/driver/ comet-core/src/local.rs comet-core/src/sync/ comet-core/src/transport/ \
         comet-kernels/src/skampi/local.rs comet-mpi/ comet-shm/ comet-sim/ tests/truth/",
    ],
    [
        "",
        "Instant::now",
        "comet-core/src/local.rs comet-db/src/web/ comet-mpi/ comet-run/src/launches.rs \
         comet-run/src/progress.rs comet-run/src/session.rs \
         comet-shm/ comet-sim/examples/ comet-sim/src/job.rs tests/it/",
    ],
    // The date in a record is no measurement.
    [
        "",
        "SystemTime::now",
        "comet/src/experiment.rs comet-db/src/blobs.rs comet-db/src/card.rs comet-run/src/command/import.rs \
         comet-run/src/command/launches.rs comet-run/src/command/merge.rs comet-run/src/command/run.rs \
         comet-run/src/command/suite/ comet-run/src/execute.rs comet-run/src/results.rs \
         comet-run/src/suite/journal.rs",
    ],
    ["", "clock_gettime", "comet-mpi/ comet-shm/"],
    // The command line holds values only.
    ["comet-run/src/cli/", "crate::", "|crate::cli |crate::exit |crate::catalogue"],
];

/// Words that open a question. A doc line names the item instead.
const QUESTIONS: &[&str] =
    &["What", "How", "Whether", "Who", "Whose", "Whom", "Those", "Where", "Why", "Which", "When"];
/// The most doc lines that may open with one, in percent.
const MAX_QUESTIONS_PERCENT: usize = 2;
/// The most lines of code in one file.
const MAX_LINES: usize = 500;

#[test]
fn words_stand_where_the_rules_admit_them() {
    for [within, words, places] in RULES {
        let is_place = |place: &str, path: &str, line: &str| {
            let (start, besides) = place.split_once('|').unwrap_or((place, ""));
            path.starts_with(start) && line.contains(besides)
        };
        for (path, line) in rust_files().filter(|file| file.path.starts_with(within)).flat_map(code)
        {
            let word = words.split(' ').find(|word| line.contains(word));
            let may = word.is_none() || places.split(' ').any(|place| is_place(place, path, line));
            assert!(may, "{path} holds '{word:?}': {line}");
        }
    }
}

#[test]
fn kernels_know_no_backend_and_backends_no_kernel() {
    for (crates, strangers) in [(KERNELS, BACKENDS), (BACKENDS, KERNELS)] {
        for package in crates {
            let names = dependencies(package);
            assert!(!names.iter().any(|name| strangers.contains(&&**name)), "{package}: {names:?}");
        }
    }
}

#[test]
fn the_report_names_kernels_and_axes_in_few_files() {
    let kernels = kernels();
    let is_ours = |file: &&File| {
        let tests = ["fixture.rs", "tests.rs", "example.rs"];
        let is_test = tests.iter().any(|end| file.path.ends_with(end));
        file.path.starts_with("comet-report/src/")
            && !is_test
            && !NAMES_KERNELS.iter().any(|path| file.path.contains(path))
    };
    let quoted = |line: &str, names: &str| {
        names.split(' ').any(|name| line.contains(&format!("\"{name}\"")))
    };
    let is_free = |line: &str| {
        let names_kernel = kernels.iter().any(|id| {
            let (suite, name) = id.split_once('/').expect("an id is suite/name");
            line.contains(id.as_str()) || quoted(line, suite) && quoted(line, name)
        });
        let looks_up = LOOK_UPS.iter().any(|call| line.contains(call));
        !(names_kernel || quoted(line, AXES) || looks_up && quoted(line, WORDS))
    };
    for file in rust_files().filter(is_ours) {
        let text = file.text.split("#[cfg(test)]").next().unwrap_or_default();
        let mut code = text.lines().map(str::trim_start).filter(|line| !line.starts_with("//"));
        let named = code.find(|line| !is_free(line));
        assert_eq!(named, None, "{} names a kernel or an axis", file.path);
    }
}

fn kernels() -> Vec<String> {
    let list = Folder::new().run("list --json").success().stdout;
    let list: serde_json::Value = serde_json::from_str(&list).expect("it is JSON");
    let kernels = list["kernels"].as_array().expect("a list of kernels");
    kernels.iter().map(|kernel| kernel["id"].as_str().expect("an id is text").to_owned()).collect()
}

#[test]
fn only_the_report_serializes() {
    let check = |library: &str, expected: &[&str]| {
        let packages = packages().map(|(package, _)| package);
        let uses = |package: &&str| dependencies(package).contains(&library.to_owned());
        let mut found: Vec<&str> = packages.filter(uses).collect();
        found.sort_unstable();
        assert_eq!(found, expected, "{library}");
    };
    // The simulation reads its machine files; the database writes cards and answers, but no record.
    check("serde", &["comet-report", "comet-sim"]);
    check("serde_json", &["comet-db", "comet-report", "comet-run"]);
    check("schemars", &["comet-report"]);
}

#[test]
fn files_are_short_and_open_with_their_purpose() {
    for file in rust_files() {
        assert!(file.text.starts_with("//! "), "{} does not open with a comment", file.path);
        let n_lines = code(file).count();
        assert!(n_lines <= MAX_LINES, "{} has {n_lines} lines of code", file.path);
    }
}

#[test]
fn doc_lines_begin_with_what_the_item_is() {
    let doc = |line: &'static str| {
        let line = line.trim_start();
        let text = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"))?.trim();
        (!text.is_empty()).then_some(text)
    };
    let docs: Vec<(&str, &str)> = rust_files()
        .flat_map(|file| file.text.lines().filter_map(doc).map(|text| (&*file.path, text)))
        .collect();
    let asks = |(_, text): &&(&str, &str)| {
        let first = text.split(|c: char| !c.is_alphanumeric()).next();
        first.is_some_and(|word| QUESTIONS.contains(&word))
    };
    let questions: Vec<_> = docs.iter().filter(asks).collect();
    let budget = docs.len() * MAX_QUESTIONS_PERCENT / 100;
    let n_questions = questions.len();
    assert!(n_questions <= budget, "{n_questions} question words, {budget} may: {questions:#?}");
}

#[test]
fn every_package_has_the_lints_and_every_dependency_a_reason() {
    for (package, manifest) in packages() {
        assert!(manifest.contains("[lints]\nworkspace = true"), "{package} has lints of its own");
        for (number, line) in dependency_lines(manifest) {
            let above = manifest.lines().nth(number - 1).expect("a section has a head");
            assert!(above.starts_with('#'), "{package}/Cargo.toml has no reason for {line}");
        }
    }
}

#[test]
fn no_file_depends_on_one_machine() {
    // Put together here, because this file is looked at too.
    let folders = ["work", "root", "home"].map(|folder| format!("/{folder}/"));
    let registries = [["crates", "io"], ["pypi", "org"], ["npmjs", "org"]].map(|at| at.join("."));
    for file in &*FILES {
        let found = folders.iter().find(|name| file.text.contains(*name));
        assert_eq!(found, None, "in {}", file.path);
        // Cargo writes the name of its default registry there, whichever mirror it asks.
        let found = registries.iter().find(|name| file.text.contains(*name));
        assert!(found.is_none() || file.path == "Cargo.lock", "{found:?} in {}", file.path);
    }
}

#[test]
fn the_architecture_can_be_read_at_one_sitting() {
    let n_lines = text_of("ARCHITECTURE.md").lines().count();
    assert!(n_lines <= 200, "{n_lines} lines");
}

pub(crate) struct File {
    /// From the root of the repository.
    pub(crate) path: String,
    pub(crate) text: String,
}

/// The text files of the repository, but for what git ignores and what editors leave.
pub(crate) static FILES: LazyLock<Vec<File>> = LazyLock::new(|| {
    let mut files = Vec::new();
    collect(root(), &mut files);
    files
});

pub(crate) fn root() -> &'static Path {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().expect("the package lies in the workspace")
}

fn collect(folder: &Path, files: &mut Vec<File>) {
    for entry in fs::read_dir(folder).expect("the repository can be read") {
        let path = entry.expect("the repository can be read").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let is_hidden = name.starts_with('.') && name != ".ci";
        let is_ignored = name == "comet-results" || name == "shared";
        // Cargo marks its output so.
        if is_hidden || is_ignored || path.join("CACHEDIR.TAG").exists() || path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            collect(&path, files);
        } else if let Ok(text) = fs::read_to_string(&path) {
            let path = path.strip_prefix(root()).expect("it is below the root");
            files.push(File { path: path.to_string_lossy().into_owned(), text });
        }
    }
}

pub(crate) fn text_of(path: &str) -> &'static str {
    &FILES.iter().find(|file| file.path == path).expect("the file is there").text
}

fn rust_files() -> impl Iterator<Item = &'static File> {
    FILES.iter().filter(|file| file.path.ends_with(".rs"))
}

/// Path and text of each line of `file` that is neither empty nor a comment; none of this file,
/// which names what it looks for.
fn code(file: &'static File) -> impl Iterator<Item = (&'static str, &'static str)> {
    let is_code = |line: &&str| !line.is_empty() && !line.starts_with("//");
    let is_this = file.path == "tests/it/architecture.rs";
    let lines = file.text.lines().map(str::trim_start).filter(is_code);
    lines.filter(move |_| !is_this).map(|line| (&*file.path, line))
}

/// True if the text in backticks is a path below the root, rather than a kernel or a command.
pub(crate) fn is_path(name: &str) -> bool {
    const FOLDERS: [&str; 5] = ["comet-", "docs/", "tests/", "scripts/", ".ci/"];
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    FOLDERS.iter().any(|folder| name.starts_with(folder))
        && name.contains('/')
        && name.chars().all(is_plain)
        && !name.starts_with("comet-results/")
}

/// Names of the packages, which are those of their folders, and their manifests.
fn packages() -> impl Iterator<Item = (&'static str, &'static str)> {
    let package = |file: &'static File| Some((file.path.strip_suffix("/Cargo.toml")?, &*file.text));
    FILES.iter().filter_map(package)
}

/// Dependencies of `package`, for tests and builds too.
fn dependencies(package: &str) -> Vec<String> {
    let manifest = text_of(&format!("{package}/Cargo.toml"));
    let name = |line: &str| line.split(['.', ' ', '=']).next().unwrap_or_default().to_owned();
    dependency_lines(manifest).into_iter().map(|(_, line)| name(line)).collect()
}

/// Numbers from 0 and texts of the lines that name a dependency.
fn dependency_lines(manifest: &str) -> Vec<(usize, &str)> {
    let mut is_inside = false;
    let is_dependency = |(_, line): &(usize, &str)| {
        let is_head = line.starts_with('[');
        is_inside = if is_head { line.ends_with("dependencies]") } else { is_inside };
        is_inside && line.starts_with(|c: char| c.is_ascii_lowercase())
    };
    manifest.lines().enumerate().filter(is_dependency).collect()
}
