//! The documents: links, the size of the README, and commands. Each command is run as printed, in
//! the order of its document; one that takes too long, or needs MPI, is parsed.

use std::collections::BTreeSet;
use std::path::Path;

use crate::architecture::{FILES, File, is_path, root, text_of};
use crate::support::{Folder, Output};

/// Commands that are parsed and not run: a part of each, and the reason.
const PARSED: &[[&str; 2]] = &[
    ["cargo build", "compiles for minutes"],
    ["cargo install", "compiles for minutes, and writes to the home folder"],
    ["cargo test", "runs this test"],
    ["cargo clippy", "compiles for minutes"],
    ["scripts/", "compiles, installs, or measures for minutes"],
    ["module load", "needs a cluster"],
    ["mpirun ", "needs MPI"],
    ["srun ", "needs Slurm"],
    ["ldd ", "needs a build with MPI"],
    ["comet-run all ", "measures for a minute"],
    ["comet-run all\n", "measures for a minute"],
    ["comet-run echo barrier -n 2\n", "measures for ten seconds"],
    ["comet-run echo -n 2 --hops 1 --sizes 0,1..4Mi*2", "measures for ten seconds"],
    ["comet-run 'matrix/*'", "measures for ten seconds"],
    ["comet-run parkbench", "measures for ten seconds"],
    ["comet-run comet matrix", "simulates for a minute"],
    ["comet-run plot thesis.jsonl", "needs that simulation"],
    ["comet-run fit mpi.jsonl", "needs a result over MPI"],
    ["comet-run report mpi.jsonl", "needs a result over MPI"],
    ["--buffers rotate", "fills the last-level cache for half a minute"],
    ["comet-run calibrate", "measures for minutes"],
    ["comet-run ab", "measures for minutes"],
    ["kill ", "ends a command that is not run"],
];

/// Bytes of the longest README that is read to its end.
const MAX_README_BYTES: usize = 9_000;

#[test]
fn the_readme_is_short() {
    let n_bytes = text_of("README.md").len();
    assert!(n_bytes <= MAX_README_BYTES, "{n_bytes} bytes");
}

#[test]
fn every_exit_code_is_documented() {
    let help = Folder::new().run("--help").success().stdout;
    let codes = help.lines().skip_while(|line| *line != "Exit codes:").skip(1);
    for code in codes.filter_map(|line| line.split_whitespace().next()) {
        let row = format!("| {code} |");
        assert!(text_of("docs/output.md").contains(&row), "exit code {code} is missing");
    }
}

#[test]
fn links_and_paths_name_what_exists() {
    for file in documents(|_| true) {
        let folder = Path::new(&file.path).parent().expect("a file lies in a folder");
        for line in outside_of_blocks(&file.text) {
            for target in links(line).filter(|target| !target.contains("://")) {
                let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
                let path = if path.is_empty() { file.path.clone() } else { join(folder, path) };
                assert!(root().join(&path).exists(), "{} links to {target}", file.path);
                let is_there = anchor.is_empty() || anchors(text_of(&path)).contains(anchor);
                assert!(is_there, "{} links to {target}: no such heading", file.path);
            }
        }
        for line in file.text.lines() {
            for name in line.split('`').skip(1).step_by(2).filter(|name| is_path(name)) {
                assert!(root().join(name).exists(), "{} names {name}", file.path);
            }
        }
    }
}

#[test]
fn commands_work_as_printed() {
    let mut unused: BTreeSet<&str> = PARSED.iter().map(|[part, _]| *part).collect();
    for file in documents(|path| path.starts_with("docs/") || !path.contains('/')) {
        let folder = Folder::new();
        std::os::unix::fs::symlink(root().join("docs"), folder.path.join("docs"))
            .expect("a link can be made");
        for command in commands(&file.text) {
            let line = format!("{}\n", command.line);
            let part = PARSED.iter().map(|[part, _]| *part).find(|part| line.contains(part));
            if let Some(part) = part {
                unused.remove(part);
                command.parse(&folder, &file.path);
            } else {
                command.run(&folder, &file.path);
            }
        }
    }
    assert!(unused.is_empty(), "no command is {unused:?}");
}

/// Markdown files whose paths `is_wanted`.
fn documents(is_wanted: impl Fn(&str) -> bool) -> impl Iterator<Item = &'static File> {
    FILES.iter().filter(move |file| file.path.ends_with(".md") && is_wanted(&file.path))
}

fn outside_of_blocks(text: &str) -> impl Iterator<Item = &str> {
    let mut is_inside = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_inside ^= is_fence;
        !is_inside && !is_fence
    })
}

/// Targets of the links and pictures in a line.
fn links(line: &str) -> impl Iterator<Item = &str> {
    let links = line.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    links.chain(line.split("src=\"").skip(1).filter_map(|rest| rest.split('"').next()))
}

/// `path` from the root, for a link to it in a document of `folder`.
fn join(folder: &Path, path: &str) -> String {
    let mut names: Vec<&str> = folder.iter().filter_map(|name| name.to_str()).collect();
    for name in path.split('/') {
        match name {
            ".." => drop(names.pop()),
            name => names.push(name),
        }
    }
    names.join("/")
}

/// Anchors of the headings, as GitHub makes them; no document has two headings of one text.
fn anchors(text: &str) -> BTreeSet<String> {
    let is_kept = |c: &char| c.is_alphanumeric() || " -_".contains(*c);
    let anchor = |title: &str| title.chars().filter(is_kept).collect::<String>();
    let headings = outside_of_blocks(text).filter(|line| line.starts_with('#'));
    let titles = headings.map(|line| line.trim_start_matches('#').trim().to_lowercase());
    titles.map(|title| anchor(&title).replace(' ', "-")).collect()
}

/// One command of a document.
#[derive(Debug)]
struct DocumentCommand {
    /// The command, with `comet-run` for each way to name the program.
    line: String,
    /// Exit codes that the comment on it or before it names, or 0.
    codes: Vec<i32>,
}

/// Commands in the blocks of a document that are marked `sh`, in order.
fn commands(text: &str) -> Vec<DocumentCommand> {
    let mut commands = Vec::new();
    for block in text.split("```sh\n").skip(1) {
        let block = block.split("```").next().unwrap_or_default();
        let mut lines = block.lines();
        let mut before = "";
        while let Some(line) = lines.next() {
            let (line, comment) = line.split_once('#').unwrap_or((line, ""));
            let codes = [before, comment].into_iter().flat_map(exit_codes).collect();
            before = if line.is_empty() { comment } else { "" };
            let mut line = with_plain_names(line.trim_end());
            if let Some((_, end)) = line.split_once("<<'").filter(|_| !line.is_empty()) {
                let end = end.trim_end_matches('\'').to_owned();
                let body = lines.by_ref().take_while(|text| *text != end);
                let body: String = body.map(|text| format!("{text}\n")).collect();
                line = format!("{line}\n{body}{end}");
            }
            if !line.is_empty() {
                commands.push(DocumentCommand { line, codes });
            }
        }
    }
    commands
}

/// The numbers of a comment that follow the words `exit code`.
fn exit_codes(comment: &str) -> Vec<i32> {
    let (_, after) = comment.split_once("exit code ").unwrap_or_default();
    let is_list = |word: &&str| word.parse::<i32>().is_ok() || *word == "or";
    let words = after.split([' ', ',', ':']).filter(|word| !word.is_empty()).take_while(is_list);
    words.filter_map(|word| word.parse().ok()).collect()
}

/// `line` with `comet-run` for paths to it and for the command that builds and runs it.
fn with_plain_names(line: &str) -> String {
    let line = line.replace("cargo run --release --", "comet-run");
    let plain = |word: &str| {
        let is_program = word.ends_with("/comet-run") && word.starts_with("target/");
        if is_program { "comet-run".to_owned() } else { word.to_owned() }
    };
    line.split(' ').map(plain).collect::<Vec<_>>().join(" ")
}

impl DocumentCommand {
    /// Asserts that it ends with a code that the document names.
    fn run(&self, folder: &Folder, document: &str) {
        let Output { code, stderr, .. } = shell(folder, &self.line);
        let is_named = code.is_some_and(|code| self.codes.contains(&code));
        let is_well = is_named || (self.codes.is_empty() && code == Some(0));
        assert!(is_well, "{document}: '{}' ended with {code:?}: {stderr}", self.line);
    }

    /// Asserts that the program accepts each of its calls in it, and that its scripts exist.
    fn parse(&self, folder: &Folder, document: &str) {
        let is_call = |call: &&str| !self.line.contains("cargo ") && !is_foreign(call);
        for call in self.line.split("comet-run ").skip(1).filter(is_call) {
            let end = call.find([';', '|', '>', '&', '\n']).unwrap_or(call.len());
            let words = call[..end].split(" -- ").next().unwrap_or_default();
            let Output { code, stderr, .. } = shell(folder, &format!("comet-run {words} --help"));
            assert_eq!(code, Some(0), "{document}: '{}': {stderr}", self.line);
        }
        for script in self.line.split_whitespace().filter(|word| word.starts_with("scripts/")) {
            assert!(root().join(script).exists(), "{document}: there is no {script}");
        }
    }
}

/// True for a command line of another benchmark, whose options have their own help.
fn is_foreign(call: &str) -> bool {
    call.starts_with("osu_") || call.starts_with("IMB-")
}

/// Runs `line` in `folder` as a reader would, with the program in `PATH`.
fn shell(folder: &Folder, line: &str) -> Output {
    let few_launches = "export COMET_LAUNCHES=2";
    folder.start_shell(&format!("PATH=\"${{0%/*}}:$PATH\"\n{few_launches}\n{line}")).wait()
}
