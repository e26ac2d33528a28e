//! Figures: `comet-run plot`, and `comet-run show --plots`.

use crate::support::Folder;

/// A run of the benchmark of the thesis on its machine, with few sizes, in the file `thesis.jsonl`.
const THESIS: &str = "comet matrix -t sim --machine ipsc860-fit -n 4..16*2 --profile quick \
                      --vector-lengths 0,1,1000,20000 --format none -o thesis.jsonl";

/// A short run on the simulated machine, in the file `a.jsonl`.
const SHORT: &str = "echo -t sim -n 4 -s 0,8,64,1Ki,4Ki --format none -o a.jsonl";

#[test]
fn one_command_line_yields_all_figures_of_the_thesis() {
    let folder = Folder::new();
    folder.run(THESIS).success();
    let list = folder.run("plot thesis.jsonl --list").success().stdout;
    for number in 1..=16 {
        let words = format!(" 5.{number}  Figure 5.{number} of the thesis: ");
        assert!(list.contains(&words), "5.{number} is missing: {list}");
    }
    folder.run("plot thesis.jsonl").success().notes(" figures: comet-plots");
    let names: Vec<_> = list.lines().filter_map(|line| line.split(' ').next()).collect();
    for name in names {
        let svg = folder.read(&format!("comet-plots/{name}.svg"));
        assert!(svg.starts_with("<svg") && svg.contains("</svg>"), "{name}");
    }
}

#[test]
fn a_figure_is_written_as_the_name_of_its_file_says() {
    let folder = Folder::new();
    folder.run(SHORT).success();
    for (line, file, words) in [
        ("--figure 5.1 -o echo.svg", "echo.svg", "</svg>"),
        ("--figure comet-echo-time -o echo.csv", "echo.csv", "1 hop,"),
        ("--figure comet-echo-time -o echo.gp", "echo.gp", "plot "),
        ("--figure comet-echo-time -o dark.svg --dark", "dark.svg", "</svg>"),
        ("--format csv -o values", "values/figure-5.2.csv", "1 hop,"),
    ] {
        folder.run(&format!("plot a.jsonl {line}")).success();
        assert!(folder.read(file).contains(words), "{line}");
    }
    assert_ne!(folder.read("echo.svg"), folder.read("dark.svg"));
}

#[test]
fn what_cannot_be_drawn_is_refused_in_one_sentence() {
    let folder = Folder::new();
    folder.run(SHORT).success();
    for (line, words) in [
        (
            "a.jsonl --figure echo",
            "there is no figure 'echo'; the nearest are comet-echo-time, comet-echo-bandwidth",
        ),
        ("a.jsonl -o all.svg", "all.svg is a file for one figure, and these are 4: figure-5.1,"),
        ("a.jsonl --figure 5.1 --format csv -o a.svg", "--format csv does not go with a.svg"),
        ("none.jsonl", "none.jsonl"),
        ("a.jsonl -o a.pdf", "a.pdf is no name for a figure (end it in .svg"),
        ("a.jsonl -o ./a.jsonl", "./a.jsonl is one of the result files"),
    ] {
        folder.run(&format!("plot {line}")).code(2).notes(words);
    }
    folder.run("barrier -t sim -n 2 --format none -o one.jsonl").success();
    folder.run("plot one.jsonl").code(6).notes("nothing in one.jsonl makes a figure");
    assert_eq!(folder.names(), ["a.jsonl", "one.jsonl"]);
}

#[test]
fn figures_follow_the_tables_of_several_files() {
    let folder = Folder::new();
    folder.run(SHORT).success();
    folder.run(&SHORT.replace("a.jsonl", "b.jsonl --machine t3e")).success();
    let mut command = folder.command("show a.jsonl b.jsonl --plots");
    command.env("TERM", "dumb");
    let output = crate::support::Running::new(command).wait().success();
    assert!(output.stdout.is_ascii());
    let output = output.prints("# comet/echo, 4 ranks");
    output.prints("a 0 hops, a   b 1 hop, a   c 2 hops, a");
    folder.run("show a.jsonl --plots --format csv").code(2).notes("--plots goes with");
}
