//! The rules of ARCHITECTURE.md and of the house style that a text search can decide.
//!
//! Sources and manifests are read as text, so that a change which breaks a rule fails with the
//! file and the line, whatever it compiles to. The rules are the tests, in the order in which
//! ARCHITECTURE.md states them; documents come last.

use std::fs;
use std::path::Path;

/// Crates of kernels.
const KERNELS: &[&str] = &["comet-kernels", "comet-matrix"];
/// Crates of backends, those that are planned included.
const BACKENDS: &[&str] = &["comet-shm", "comet-mpi", "comet-sim"];
/// Crates, and a module of one, in which `unsafe` may be written.
const UNSAFE: &[&str] = &["comet-shm/", "comet-mpi/", "comet-sim/src/fiber/"];
/// Names absent from a crate without files, terminals and processes. Imports are one to a line, so
/// that nothing hides in braces.
const IO: &[&str] =
    &["std::fs", "std::io", "std::net", "std::process", "std::{", "print!", "println!", "dbg!"];
/// Axes of kernels, which the record describes, and of those whose names are also other words the
/// calls that look a parameter up.
const AXES: &[&str] = &[
    "length_bytes",
    "vector_length",
    "local_n",
    "direction",
    "load_50_bytes",
    "load_90_bytes",
    "n_ranks",
];
const WORDS: &[&str] = &["hops", "pairs", "order", "round", "part"];
const LOOK_UPS: &[&str] = &["number(", "values(", "axis(", ".get("];
/// Files of comet-report that may name kernels and their axes: layouts of other benchmarks and of
/// exports, the thesis, and the reader of older records.
const NAMES_KERNELS: &[&str] =
    &["/figures/thesis.rs", "/format/", "/import/", "/older.rs", "/suite/"];
/// Ways to read a clock, and where they may be written. The date in a record is no measurement,
/// and the barrier's check asks who left before whom.
const CLOCKS: &[(&str, &[&str])] = &[
    (
        "now_ns(",
        &[
            "comet-core/src/conformance/",
            "comet-core/src/context.rs",
            "comet-core/src/driver/",
            "comet-core/src/local.rs",
            "comet-core/src/sync/",
            "comet-core/src/transport/",
            "comet-kernels/src/comet/barrier.rs",
            "comet-mpi/",
            "comet-shm/",
            "comet-sim/",
            "tests/it/truth/",
        ],
    ),
    (
        "Instant::now",
        &[
            "comet-core/src/local.rs",
            "comet-mpi/",
            "comet-run/src/gate.rs",
            "comet-shm/",
            "comet-sim/examples/",
            "comet-sim/src/job.rs",
            "tests/it/",
        ],
    ),
    (
        "SystemTime::now",
        &[
            "comet-run/src/command/import.rs",
            "comet-run/src/command/run.rs",
            "comet-run/src/execute.rs",
            "comet-run/src/results.rs",
        ],
    ),
    ("clock_gettime", &["comet-mpi/", "comet-shm/"]),
];
/// Words that open a question. A doc line names the item instead.
const QUESTIONS: &[&str] =
    &["What", "How", "Whether", "Who", "Whose", "Whom", "Those", "Where", "Why", "Which", "When"];
/// The most doc lines that may open with one, in percent.
const MAX_QUESTIONS_PERCENT: usize = 2;
/// The most lines of code in one file.
const MAX_LINES: usize = 500;

#[test]
fn kernels_know_no_backend_and_backends_no_kernel() {
    let check = |package: &str, strangers: &[&str]| {
        let found = dependencies(package).into_iter().find(|name| strangers.contains(&&**name));
        assert_eq!(found, None, "{package} depends on it");
    };
    KERNELS.iter().for_each(|package| check(package, BACKENDS));
    BACKENDS.iter().for_each(|package| check(package, KERNELS));
}

#[test]
fn the_report_names_kernels_and_axes_in_few_files() {
    let kernels = kernels();
    let is_ours = |file: &File| {
        let tests = ["fixture.rs", "tests.rs", "example.rs"];
        let is_test = tests.iter().any(|end| file.path.ends_with(end));
        file.path.starts_with("comet-report/src/")
            && !is_test
            && !NAMES_KERNELS.iter().any(|path| file.path.contains(path))
    };
    let quoted =
        |line: &str, names: &[&str]| names.iter().any(|name| line.contains(&format!("\"{name}\"")));
    let is_free = |line: &str| {
        let names_kernel = kernels.iter().any(|id| {
            let (suite, name) = id.split_once('/').expect("an id is suite/name");
            line.contains(id.as_str()) || quoted(line, &[suite]) && quoted(line, &[name])
        });
        let looks_up = LOOK_UPS.iter().any(|call| line.contains(call));
        !names_kernel && !quoted(line, AXES) && !(looks_up && quoted(line, WORDS))
    };
    for file in rust_files().filter(is_ours) {
        let text = file.text.split("#[cfg(test)]").next().unwrap_or_default();
        let named = text.lines().find(|line| doc_of(line).is_none() && !is_free(line));
        assert_eq!(named, None, "{} names a kernel or an axis", file.path);
    }
}

/// The ids of all kernels.
fn kernels() -> Vec<String> {
    let list = crate::support::Folder::new().run("list --json").success().stdout;
    let list: serde_json::Value = serde_json::from_str(&list).expect("it is JSON");
    let kernels = list["kernels"].as_array().expect("a list of kernels");
    kernels.iter().map(|kernel| kernel["id"].as_str().expect("an id is text").to_owned()).collect()
}

#[test]
fn the_core_does_no_file_terminal_or_process_io() {
    // Ending a process whose buffers are about to be freed is the one thing that threads can do.
    let is_exempt = |path: &str, line: &str| {
        path == "comet-core/src/local.rs" && line.contains("std::process::abort")
    };
    for file in files().iter().filter(|file| file.path.starts_with("comet-core/src/")) {
        file.forbid(|line| {
            IO.iter().any(|name| line.contains(name)) && !is_exempt(&file.path, line)
        });
    }
}

#[test]
fn only_the_report_serializes() {
    let check = |library: &str, expected: &[&str]| {
        let uses = |package: &&String| dependencies(package).iter().any(|name| name == library);
        let packages = packages();
        assert_eq!(packages.iter().filter(uses).collect::<Vec<_>>(), expected, "{library}");
    };
    // The simulation reads its machine files.
    check("serde", &["comet-report", "comet-sim"]);
    check("serde_json", &["comet-report", "comet-run"]);
    check("schemars", &["comet-report"]);
}

#[test]
fn unsafe_code_is_in_few_crates() {
    let keyword = ["un", "safe"].concat();
    for file in rust_files().filter(|file| !file.is_in(UNSAFE)) {
        file.forbid(|line| words(line).any(|word| word == keyword));
    }
}

#[test]
fn only_transports_and_the_driver_read_clocks() {
    for (call, places) in CLOCKS {
        for file in rust_files().filter(|file| !file.is_in(places)) {
            file.forbid(|line| line.contains(call));
        }
    }
}

#[test]
fn the_command_line_holds_values_only() {
    const ROOMS: &[&str] = &["crate::cli", "crate::exit", "crate::catalogue"];
    for file in rust_files().filter(|file| file.path.starts_with("comet-run/src/cli/")) {
        file.forbid(|line| line.contains("crate::") && !ROOMS.iter().any(|at| line.contains(at)));
    }
}

#[test]
fn files_are_short() {
    for file in rust_files() {
        let n_lines = file.code().lines().filter(|line| !line.trim().is_empty()).count();
        assert!(n_lines <= MAX_LINES, "{} has {n_lines} lines of code", file.path);
    }
}

#[test]
fn every_file_says_what_it_is_for() {
    for file in rust_files() {
        assert!(file.text.starts_with("//! "), "{} does not open with a comment", file.path);
    }
}

#[test]
fn doc_lines_begin_with_what_the_item_is() {
    let (mut n_lines, mut questions) = (0, Vec::new());
    for file in rust_files() {
        for (index, line) in file.text.lines().enumerate() {
            let Some(doc) = doc_of(line).filter(|doc| !doc.is_empty()) else { continue };
            n_lines += 1;
            if QUESTIONS.contains(&words(doc).next().unwrap_or_default()) {
                questions.push(format!("{}:{}: {doc}", file.path, index + 1));
            }
        }
    }
    let budget = n_lines * MAX_QUESTIONS_PERCENT / 100;
    assert!(
        questions.len() <= budget,
        "{} of {n_lines} doc lines open with a question word, {budget} may:\n{}",
        questions.len(),
        questions.join("\n")
    );
}

#[test]
fn every_dependency_says_why_it_is_there() {
    for package in packages() {
        let manifest = manifest(&package).expect("a package has a manifest");
        for (number, _) in dependency_lines(&manifest) {
            let above = manifest.lines().nth(number - 1).expect("a section has a head");
            let line = number + 1;
            assert!(above.starts_with('#'), "{package}/Cargo.toml, line {line} has no reason");
        }
    }
}

#[test]
fn no_file_depends_on_one_machine() {
    // Put together here, because this file is looked at too.
    let folders = ["work", "root", "home"].map(|folder| format!("/{folder}/"));
    let registries = [["crates", "io"], ["pypi", "org"], ["npmjs", "org"]].map(|at| at.join("."));
    for file in files() {
        let found = folders.iter().find(|name| file.text.contains(*name));
        assert_eq!(found, None, "in {}", file.path);
        // Cargo writes the name of its default registry there, whichever mirror it asks.
        let found = registries.iter().find(|name| file.text.contains(*name));
        assert!(found.is_none() || file.path == "Cargo.lock", "{found:?} in {}", file.path);
    }
}

#[test]
fn documents_name_files_that_exist() {
    let exists = |path: &str| root().join(path).exists();
    for file in documents() {
        for target in between(&file.text, "](", ")") {
            let path = target.split('#').next().unwrap_or_default();
            assert!(target.contains("://") || exists(path), "{} links to {target}", file.path);
        }
        for name in between(&file.text, "`", "`").into_iter().filter(|name| is_path(name)) {
            assert!(exists(name), "{} names {name}", file.path);
        }
    }
}

#[test]
fn the_readme_names_every_suite_and_every_exit_code() {
    let readme = fs::read_to_string(root().join("README.md")).expect("there is a README.md");
    let list = crate::support::Folder::new().run("list --json").success().stdout;
    let list: serde_json::Value = serde_json::from_str(&list).expect("it is JSON");
    for kernel in list["kernels"].as_array().expect("a list of kernels") {
        let suite = kernel["suite"].as_str().expect("a suite is text");
        assert!(readme.contains(&format!("`{suite}`")), "{suite} is missing");
    }
    let help = crate::support::Folder::new().run("--help").success().stdout;
    let codes = help.lines().skip_while(|line| *line != "Exit codes:").skip(1);
    for code in codes.filter_map(|line| line.split_whitespace().next()) {
        assert!(readme.contains(&format!("| {code} |")), "exit code {code} is missing");
    }
}

#[test]
fn the_architecture_can_be_read_at_one_sitting() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("it is there");
    assert!(text.lines().count() <= 200, "{} lines", text.lines().count());
}

#[test]
fn code_is_told_from_comments_and_texts() {
    let check = |text: &str, expected: &str| assert_eq!(code_of(text), expected);
    check("a // b\nc", "a \nc");
    check("a(\"b // \\\" c\", '\"') + d", "a(\"\", '') + d");
    check("x = r#\"a \" b\n\"#; /* c\n */ y", "x = \"\n\"; \n y");
    check("fn f<'a>(x: &'a str)", "fn f<'a>(x: &'a str)");
}

/// A text file of the repository.
struct File {
    /// From the root of the repository.
    path: String,
    text: String,
}

impl File {
    fn is_in(&self, places: &[&str]) -> bool {
        places.iter().any(|place| self.path.starts_with(place))
    }

    fn code(&self) -> String {
        code_of(&self.text)
    }

    /// Fails with the first line of code that `is_wrong`.
    #[track_caller]
    fn forbid(&self, is_wrong: impl Fn(&str) -> bool) {
        let code = self.code();
        if let Some((index, line)) = code.lines().enumerate().find(|(_, line)| is_wrong(line)) {
            panic!("{}, line {}: {}", self.path, index + 1, line.trim());
        }
    }
}

fn root() -> &'static Path {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().expect("the package lies in the workspace")
}

fn files() -> Vec<File> {
    let mut files = Vec::new();
    collect(root(), &mut files);
    files
}

fn rust_files() -> impl Iterator<Item = File> {
    files().into_iter().filter(|file| file.path.ends_with(".rs"))
}

fn documents() -> impl Iterator<Item = File> {
    files().into_iter().filter(|file| file.path.ends_with(".md"))
}

/// Adds the text files in `folder` and below, but for what git ignores and what editors leave.
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

/// `text` without comments and without what stands in literals; lines stay where they are.
fn code_of(text: &str) -> String {
    let (mut code, mut rest) = (String::new(), text);
    while let Some(first) = rest.chars().next() {
        let (n_bytes, stand_in) = passive(rest);
        let (skipped, after) = rest.split_at(n_bytes.max(first.len_utf8()));
        if n_bytes == 0 {
            code.push(first);
        } else {
            code += &stand_in[..stand_in.len() / 2];
            code.extend(skipped.chars().filter(|c| *c == '\n'));
            code += &stand_in[stand_in.len() / 2..];
        }
        rest = after;
    }
    code
}

/// Length of the comment or literal at the start of `rest` (0 if there is code), and what stands
/// for it.
fn passive(rest: &str) -> (usize, &'static str) {
    let up_to = |skip: usize, end: &str| {
        rest[skip..].find(end).map_or(rest.len(), |at| skip + at + end.len())
    };
    if rest.starts_with("//") {
        return (rest.find('\n').unwrap_or(rest.len()), "");
    }
    if rest.starts_with("/*") {
        return (up_to(2, "*/"), "");
    }
    if rest.starts_with("r#\"") {
        return (up_to(3, "\"#"), "\"\"");
    }
    if rest.starts_with("'\"'") {
        return (3, "''");
    }
    if rest.starts_with('"') {
        return (string_bytes(rest), "\"\"");
    }
    (0, "")
}

/// Length of the string literal at the start of `rest`.
fn string_bytes(rest: &str) -> usize {
    let mut is_escaped = false;
    for (index, c) in rest.char_indices().skip(1) {
        if c == '"' && !is_escaped {
            return index + 1;
        }
        is_escaped = c == '\\' && !is_escaped;
    }
    rest.len()
}

/// The text of a line of documentation, if it is one.
fn doc_of(line: &str) -> Option<&str> {
    let line = line.trim_start();
    line.strip_prefix("///").or_else(|| line.strip_prefix("//!")).map(str::trim)
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !c.is_alphanumeric() && c != '_')
}

/// Texts between each `open` and the `close` after it, on one line.
fn between<'a>(text: &'a str, open: &str, close: &str) -> Vec<&'a str> {
    let in_line = |line: &'a str| {
        let mut found = Vec::new();
        let mut rest = line;
        while let Some((_, after)) = rest.split_once(open) {
            let Some((inside, after)) = after.split_once(close) else { break };
            found.push(inside);
            rest = after;
        }
        found
    };
    text.lines().flat_map(in_line).collect()
}

/// True if the text in backticks is a path below the root, rather than a kernel or a command.
fn is_path(name: &str) -> bool {
    const FOLDERS: [&str; 4] = ["comet-", "tests/", "scripts/", ".ci/"];
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    FOLDERS.iter().any(|folder| name.starts_with(folder))
        && name.contains('/')
        && name.chars().all(is_plain)
        && !name.starts_with("comet-results/")
}

/// Names of the packages of the workspace, which are those of their folders.
fn packages() -> Vec<String> {
    let folders = fs::read_dir(root()).expect("the repository can be read");
    let name = |entry: std::io::Result<fs::DirEntry>| {
        entry.expect("the repository can be read").file_name().to_string_lossy().into_owned()
    };
    folders.map(name).filter(|name| manifest(name).is_some()).collect()
}

/// The manifest of `package`, if there is one.
fn manifest(package: &str) -> Option<String> {
    fs::read_to_string(root().join(package).join("Cargo.toml")).ok()
}

/// Dependencies of `package`, for tests and builds too; none if there is no such package.
fn dependencies(package: &str) -> Vec<String> {
    let manifest = manifest(package).unwrap_or_default();
    let name = |line: &str| line.split(['.', ' ', '=']).next().unwrap_or_default().to_owned();
    dependency_lines(&manifest).into_iter().map(|(_, line)| name(line)).collect()
}

/// Numbers from 0 and texts of the lines that name a dependency.
fn dependency_lines(manifest: &str) -> Vec<(usize, &str)> {
    let mut is_inside = false;
    let mut lines = Vec::new();
    for (number, line) in manifest.lines().enumerate() {
        if line.starts_with('[') {
            is_inside = line.ends_with("dependencies]");
        } else if is_inside && line.starts_with(|c: char| c.is_ascii_lowercase()) {
            lines.push((number, line));
        }
    }
    lines
}
