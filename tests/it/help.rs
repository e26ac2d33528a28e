//! Help, pages of kernels, and the words that a shell completes.

use std::fs;
use std::path::Path;

use crate::support::Folder;

/// Standard output of `line`.
#[track_caller]
fn printed(line: &str) -> String {
    Folder::new().run(line).success().stdout
}

#[test]
fn a_kernel_has_one_page_under_all_of_its_names() {
    let page = printed("help comet/echo");
    for part in [
        "comet/echo\n\nOne-way time of a message",
        "\nPattern\n  rank 0 (test node)  --OUT-->  partner, hops links away\n",
        "\n- D4 half_round_trip: one way: ",
        "\nRate: length_bytes / one-way time.\n",
        "\n- length_bytes (size, B): length of one message in bytes\n  - quick: ",
        "\nCaution: ",
        "\nEquivalents: IMB:PingPong, OSU:osu_latency, parkbench/comms1.\n",
    ] {
        assert!(page.contains(part), "no '{part}' in\n{page}");
    }
    for name in ["echo", "latency", "PingPong", "OSU:osu_latency"] {
        assert_eq!(printed(&format!("help {name}")), page, "{name}");
    }
    let pages = printed("help naive barrier");
    let titles = ["naive/broadcast\n", "naive/reduction\n", "naive/barrier\n", "comet/barrier\n"];
    let at = titles.map(|title| pages.find(title).expect("a page"));
    assert!(at.is_sorted(), "{at:?}");
}

#[test]
fn the_help_of_a_subcommand_is_that_of_its_option() {
    for name in ["report", "health", "run"] {
        assert_eq!(printed(&format!("help {name}")), printed(&format!("{name} --help")));
    }
    assert_eq!(printed("help"), printed("--help"));
}

#[test]
fn an_unknown_topic_is_refused_as_in_a_run() {
    let folder = Folder::new();
    let of = |line: &str| folder.run(line).code(2).stderr;
    assert_eq!(of("help ecko"), of("ecko"));
}

#[test]
fn the_index_is_the_committed_one() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/kernels.md");
    let committed = fs::read_to_string(path).unwrap_or_default();
    let is_equal = printed("list --markdown") == committed;
    assert!(is_equal, "regenerate it: cargo run -- list --markdown > docs/kernels.md");
}

#[test]
fn the_short_help_fits_a_screen_and_the_list_a_hundred_columns() {
    let short = printed("-h");
    assert!(short.lines().count() <= 62, "{} lines:\n{short}", short.lines().count());
    assert!(short.matches("\n  comet-run ").count() == 5, "{short}");
    let long = printed("--help");
    for option in ["--watchdog", "--definition", "--mem"] {
        assert!(long.contains(option) && !short.contains(option), "{option}");
    }
    let list = printed("list");
    assert!(list.lines().all(|line| line.len() <= 100), "{list}");
}

#[test]
fn every_option_of_the_man_page_has_a_text() {
    let page = printed("man");
    let entries: Vec<&str> = page.split("\n.TP\n").skip(1).collect();
    assert!(entries.len() > 300, "{} entries", entries.len());
    for entry in entries {
        let text = entry.lines().nth(1).unwrap_or_default();
        assert!(!text.is_empty() && !text.starts_with('.'), "no text: {entry}");
    }
    assert!(page.contains(".SH \"COMMAND SUITE RUN\""), "{page}");
}

#[test]
fn the_list_of_one_kernel_and_the_version_are_short() {
    let list = printed("list latency");
    assert!(list.contains("  echo ") && !list.contains("  exchange "), "{list}");
    let version = printed("--version");
    assert!(version.starts_with("comet-run 0.1.0\ncommit: "), "{version}");
    assert!(version.contains("\nfeatures: "), "{version}");
}

/// Names of the subcommands, in the order of the help.
fn subcommands() -> Vec<String> {
    let help = printed("-h");
    let (_, list) = help.split_once("Commands:\n").expect("there are subcommands");
    let lines = list.lines().take_while(|line| !line.is_empty());
    lines.filter_map(|line| Some(line.split_whitespace().next()?.to_owned())).collect()
}

#[test]
fn subcommands_have_an_example_and_the_usual_ones_come_first() {
    let names = subcommands();
    assert_eq!(names[..6], ["run", "report", "compare", "health", "algorithms", "list"]);
    assert_eq!(names[names.len() - 3..], ["schema", "completions", "man"]);
    for name in names {
        let help = printed(&format!("{name} --help"));
        let (_, example) = help.split_once("Example:\n").unwrap_or_default();
        assert!(example.contains(&format!("comet-run {name}")), "{help}");
    }
}

/// Asks the completions of bash for the last word of a line.
const ASK: &str = "\
compopt() { :; }
source <(\"$1\" completions bash)
shift
COMP_WORDS=(\"$@\") COMP_CWORD=$(($# - 1))
_comet__run comet-run \"${@: -1}\" \"${@: -2:1}\"
printf '%s\\n' \"${COMPREPLY[@]}\"
";

#[test]
fn bash_completes_kernels_axes_machines_and_figures() {
    let folder = Folder::new();
    folder.write("ask.sh", ASK);
    let check = |line: &str, expected: &[&str]| {
        // The last word may be empty.
        let words: Vec<String> = line.split(' ').map(|word| format!("'{word}'")).collect();
        let script = format!("bash ask.sh \"$0\" {}", words.join(" "));
        let output = folder.start_shell(&script).wait().success();
        let found: Vec<&str> = output.stdout.lines().collect();
        assert_eq!(found, expected, "{line}: {}", output.stderr);
    };
    check("comet-run ec", &["echo"]);
    check(
        "comet-run echo barr",
        &["barrier", "barrier_persist", "barrier_persist_pure", "barrier_persistent"],
    );
    check("comet-run comet/e", &["comet/echo", "comet/exchange"]);
    check(
        "comet-run plan naive",
        &["naive", "naive/broadcast", "naive/reduction", "naive/barrier"],
    );
    check(
        "comet-run PingPong",
        &["PingPong", "PingPongSpecificSource", "PingPongAnySource", "PingPongMT"],
    );
    check("comet-run lat", &["latency_persistent", "latency"]);
    check("comet-run help rep", &["report", "reproduce"]);
    check("comet-run help transp", &["transpose"]);
    check("comet-run echo --axis lengt", &["length_bytes="]);
    check("comet-run echo --machine ipsc", &["ipsc860", "ipsc860-fit", "ipsc860-marks"]);
    check("comet-run machines t3", &["t3e"]);
    check("comet-run plot a.jsonl --figure band", &["bandwidth"]);
    check("comet-run echo --profile st", &["standard"]);
    check("comet-run echo -t s", &["shm", "sim"]);
}

#[test]
fn zsh_and_fish_have_the_words_as_well() {
    let check = |shell: &str, parts: &[&str]| {
        let script = printed(&format!("completions {shell}"));
        for part in parts {
            assert!(script.contains(part), "no '{part}' for {shell}");
        }
    };
    // The first word is a kernel with the arguments of run, or a subcommand.
    check("zsh", &["(run|all|comet|", "\n'echo' \\\n", "case $line[1] in", ":(ipsc860 "]);
    let other = "not __fish_comet_run_using_subcommand report compare ";
    check("fish", &[other, "\" -f -a \"all comet ", " -l machine ", "length_bytes="]);
}
