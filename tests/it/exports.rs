//! Exports for other programs, from one launch and from several: figures of merit, Bencher's JSON,
//! OpenMetrics, JUnit and Extra-P; and figures, by `plot` and `show --plots`.

use std::collections::BTreeSet;

use comet_report::figures;
use comet_report::models::models;
use comet_report::plot::{Body, Kind, Mark, Quantity, Trace, Vertex};
use comet_report::record::{Fit, Model};
use comet_report::runs::read_runs;
use comet_stats::fit::Growth;
use serde_json::Value;

use crate::support::Folder;

/// A run in virtual time, in which every number is the same each time.
const RUN: &str = "echo barrier contention --machine ipsc860 -n 8 --profile quick";

/// Keeps [`RUN`] in `r.jsonl`, and returns what `export` makes of it.
fn export(folder: &Folder, format: &str) -> String {
    folder.run(&format!("{RUN} --format none --out r.jsonl")).success();
    folder.run(&format!("export {format} r.jsonl")).success().stdout
}

/// The lines of figures of merit in `text`, in words.
fn figures(text: &str) -> Vec<Vec<&str>> {
    let lines = text.lines().filter(|line| line.starts_with("comet.fom "));
    lines.map(|line| line.split(' ').collect()).collect()
}

#[test]
fn figures_of_merit_are_printed_live_and_their_last_line_is_the_verdict() {
    let folder = Folder::new();
    let live = folder.run(&format!("{RUN} --format fom --out r.jsonl")).success().stdout;
    assert_eq!(live, folder.run("show r.jsonl --format fom").success().stdout);
    let last = live.lines().last().expect("there are lines");
    assert!(last.starts_with("comet.status pass points="), "{last}");
    let figures = figures(&live);
    assert_eq!(figures.len() + 1, live.lines().count());
    for words in &figures {
        let [_, case, _, value, _, better] = words[..] else { panic!("{words:?}") };
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_/=.-".contains(c);
        assert!(case.chars().all(is_plain), "{case}");
        assert!(value.parse::<f64>().is_ok_and(|value| value > 0.0), "{words:?}");
        assert!(["lower", "higher"].contains(&better), "{words:?}");
    }
    let names: BTreeSet<_> = figures.iter().map(|words| (words[1], words[2])).collect();
    assert_eq!(names.len(), figures.len(), "each name is there once");
    assert!(names.contains(&("comet/echo/hops=1/length_bytes=4096/procs=8", "bandwidth")));
    assert!(names.contains(&("comet/echo/hops=0/procs=8/fit", "t0")));
    assert!(!names.contains(&("comet/echo/hops=1/procs=8/fit", "t0")), "its law is poor");
}

#[test]
fn refinement_changes_no_name() {
    let folder = Folder::new();
    let sweep = "echo --machine ipsc860 -n 2 --hops 1 -s 0,4,10,64,128,256,1Ki,8Ki --profile quick";
    let names = |options: &str| -> BTreeSet<String> {
        let text = folder.run(&format!("{sweep} {options} --format fom")).success().stdout;
        figures(&text).iter().map(|words| words[1..3].join(" ")).collect()
    };
    assert_eq!(names("--out plan.jsonl"), names("--refine verified --out refined.jsonl"));
    let is_refined = |name: &str| {
        let records = folder.records(name);
        records.points().filter(|point| point["plan"]["is_refined"] == true).count()
    };
    assert_eq!(is_refined("plan.jsonl"), 0);
    assert!(is_refined("refined.jsonl") > 0);
}

#[test]
fn wrong_data_fails_the_verdict_and_the_test_of_its_kernel() {
    let folder = Folder::new();
    let run = "echo barrier --machine ipsc860 -n 2 --profile quick --inject corrupt:barrier";
    let printed = folder.run(&format!("{run} --format fom --out r.jsonl")).code(3);
    assert!(printed.stdout.contains("\ncomet.status fail points="), "{}", printed.stdout);
    let junit = folder.run("export junit r.jsonl").success().stdout;
    assert!(junit.contains("<testsuites tests=\"3\" failures=\"1\" errors=\"0\""), "{junit}");
    assert!(junit.contains("name=\"barrier on 2 ranks over sim\""), "{junit}");
}

#[test]
fn a_document_is_not_printed_while_a_run_goes_on() {
    let folder = Folder::new();
    for format in ["bmf", "openmetrics", "junit", "extrap"] {
        let output = folder.run(&format!("{RUN} --format {format} --out r.jsonl")).code(2);
        assert!(output.notes(&format!("comet-run export {format} FILE")).stdout.is_empty());
    }
    assert!(folder.names().is_empty(), "nothing was started");
}

#[test]
fn launches_of_a_command_are_one_benchmark_with_bounds() {
    let folder = Folder::new();
    for (name, machine) in [("a", "ipsc860"), ("b", "paragon-osf"), ("c", "t3e")] {
        let run = format!("echo --machine {machine} -n 2 --hops 1 -s 8,1Ki --profile quick");
        folder.run(&format!("{run} --format none --out {name}.jsonl")).success();
    }
    let text = folder.run("export bmf a.jsonl b.jsonl c.jsonl").success().stdout;
    let benchmarks: Value = serde_json::from_str(&text).expect("it is JSON");
    let name = "comet/echo/hops=1/length_bytes=8/procs=2/transport=sim";
    let latency = &benchmarks[name]["latency"];
    let [low, middle, high] = ["lower_value", "value", "upper_value"]
        .map(|name| latency[name].as_f64().expect("a number"));
    assert!(low < middle && middle < high, "{latency}");
    assert!(benchmarks[name]["bandwidth"]["value"].as_f64().is_some_and(|rate| rate > 0.0));
    assert_eq!(benchmarks.as_object().map(serde_json::Map::len), Some(2));
}

#[test]
fn metrics_end_with_their_last_line_and_have_each_sample_once() {
    let text = export(&Folder::new(), "openmetrics");
    assert!(text.ends_with("\n# EOF\n"), "{text}");
    assert_eq!(text.matches("# EOF").count(), 1);
    let names: Vec<&str> = text.lines().filter_map(|line| line.split("} ").next()).collect();
    let once: BTreeSet<&str> = names.iter().copied().collect();
    assert_eq!(once.len(), names.len());
    assert!(!text.contains("load_50_bytes"), "it differs from run to run");
}

#[test]
fn extra_p_gets_every_call_path_on_every_number_of_ranks() {
    let folder = Folder::new();
    let run = "echo barrier reduction --machine ipsc860 -n 2..32*2 --profile quick";
    folder.run(&format!("{run} --format none --out r.jsonl")).success();
    let text = folder.run("export extrap r.jsonl").success().stdout;
    let lines: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect();
    let ranks_of = |callpath: &Value| -> Vec<u64> {
        let own = lines.iter().filter(|line| line["callpath"] == *callpath);
        own.filter_map(|line| line["params"]["p"].as_u64()).collect()
    };
    for line in &lines {
        assert_eq!(ranks_of(&line["callpath"]), [2, 4, 8, 16, 32], "{line}");
        assert!(line["value"].as_array().is_some_and(|values| !values.is_empty()), "{line}");
    }
    assert_eq!(ranks_of(&"comet->barrier".into()).len(), 5);
}

#[test]
fn an_export_goes_into_a_file_that_is_no_result_file() {
    let folder = Folder::new();
    let text = export(&folder, "csv");
    let line = "export csv r.jsonl --out points.csv";
    folder.run(line).success();
    assert_eq!(folder.run(line).success().stdout, "", "also if it is there");
    assert_eq!(folder.read("points.csv"), text);
    assert_eq!(folder.run("show r.jsonl --format csv").success().stdout, text);
    folder.run("export csv r.jsonl --out ./r.jsonl").code(2).notes("would be overwritten");
    folder.run("export csv r.jsonl --out no/r.csv").code(1).notes("cannot write no/r.csv");
    folder.run("export csv points.csv").code(2).notes("is this a file that comet-run wrote?");
    folder.run("export xml r.jsonl").code(2).notes("openmetrics");
}

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
        ("-o made.v2/", "made.v2/figure-5.1.svg", "</svg>"),
        ("--format csv -o made.v2", "made.v2/figure-5.1.csv", "1 hop,"),
    ] {
        folder.run(&format!("plot a.jsonl {line}")).success();
        assert!(folder.read(file).contains(words), "{line}");
    }
    assert_ne!(folder.read("echo.svg"), folder.read("dark.svg"));
}

#[test]
fn a_figure_is_chosen_by_the_words_of_its_name() {
    let folder = Folder::new();
    folder.run(SHORT).success();
    let check = |word: &str, expected: &str| {
        let list = folder.run(&format!("plot a.jsonl --list --figure {word}")).success().stdout;
        let names: Vec<&str> = list.lines().filter_map(|line| line.split(' ').next()).collect();
        assert_eq!(names.join(" "), expected, "{word}");
    };
    check("latency", "comet-echo-time");
    check("bandwidth", "comet-echo-bandwidth");
    for word in ["echo", "comet/echo", "PingPong", "echo,bandwidth"] {
        let list = folder.run(&format!("plot a.jsonl --list --figure {word}")).success().stdout;
        assert!(
            list.lines().all(|line| line.starts_with("comet-echo-")) && list.lines().count() > 1
        );
    }
}

#[test]
fn what_cannot_be_drawn_is_refused_in_one_sentence() {
    let folder = Folder::new();
    folder.run(SHORT).success();
    folder.refuses(
        "
        plot a.jsonl --figure bandwith => there is no figure 'bandwith'; did you mean comet-echo-bandwidth? (--list
        plot a.jsonl --figure noise   => there is no figure 'noise' (--list shows all
        plot a.jsonl -o all.svg       => all.svg is a file for one figure, and these are 4: figure-5.1,
        plot a.jsonl --figure 5.1 --format csv -o a.svg => --format csv does not go with a.svg
        plot none.jsonl               => none.jsonl
        plot a.jsonl -o a.pdf         => a.pdf is no name for a figure (end it in .svg
        plot a.jsonl -o a.xyz         => a.xyz is no name for a figure (end it in .svg, .png, .csv or .gp
        plot a.jsonl -o -             => - is no name for a figure
        plot a.jsonl -o ./a.jsonl     => ./a.jsonl is one of the result files
        ",
    );
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

/// The value of the parameter `name` of `fit`, if it is published.
fn value(fit: &Fit, name: &str) -> Option<f64> {
    fit.parameters.iter().find(|parameter| parameter.name == name)?.value
}

fn is_near(found: f64, expected: f64, tolerance: f64) -> bool {
    (found / expected - 1.0).abs() < tolerance
}

/// The value at `x` by `fit` of `model`, in the unit of a figure of rates or of times in ns. The
/// last point of the drawn law gives what its axis does not: the bytes for each unit of `x`, or the
/// length of the messages of all pairs.
fn by_law(model: &Model, fit: &Fit, x: f64, last: &Vertex, is_rate: bool) -> Option<f64> {
    let of = |name| value(fit, name);
    let rate_or_time = |bytes: f64, us: f64| if is_rate { 1e6 * bytes / us } else { 1e3 * us };
    match &*model.model {
        "line" => {
            let factor = fit.to / last.x;
            let start = of("t0").or_else(|| of("intercept"))?;
            Some(rate_or_time(x * factor, start + x * factor / of("r_inf")?))
        }
        "scaling" => {
            let growth = Growth::ALL.into_iter().find(|growth| growth.name() == fit.name);
            Some(1e3 * (of("a")? + of("b").zip(growth).map_or(0.0, |(b, growth)| b * growth.of(x))))
        }
        "max_rate" => {
            let (pair, node) = (of("per_pair")?, of("per_node").unwrap_or(f64::INFINITY));
            let us_per_byte = |pairs: f64| pairs / node.min(pairs * pair);
            let length = of("t0")? / (1e6 * last.x / last.y - us_per_byte(last.x));
            Some(1e6 * x * length / (of("t0")? + length * us_per_byte(x)))
        }
        "intensity" => Some(1e6 * of("r_hat")? / (1.0 + of("f_half")? / x)),
        _ => None,
    }
}

/// True if `series` is the line n/t0 of one of `models`, or one of their laws.
fn is_of_table(series: &Trace, models: &[&Model], is_rate: bool) -> bool {
    let fits = || models.iter().flat_map(|model| model.fits.iter().map(move |fit| (model, fit)));
    if let Some(label) = series.name.strip_prefix("n/t₀, t₀ ") {
        let t0: f64 = label.strip_suffix(" µs").unwrap().parse().unwrap();
        return fits().any(|(_, fit)| value(fit, "t0").is_some_and(|of| is_near(t0, of, 5e-4)));
    }
    fits().any(|(model, fit)| {
        let last = &series.points[series.points.len() - 1];
        series.points.iter().all(|point| {
            let expected = by_law(model, fit, point.x, last, is_rate);
            expected.is_some_and(|expected| is_near(point.y, expected, 1e-9))
        })
    })
}

/// True if the number in the label of `mark` is a parameter of one of `models`.
fn is_parameter(mark: &Mark, models: &[&Model]) -> bool {
    let words: Vec<&str> = mark.label.split(' ').collect();
    let number: f64 = words[1].parse().unwrap();
    let name = if words[0] == "r∞" { "r_inf" } else { "n_half" };
    let fits = models.iter().flat_map(|model| &model.fits);
    let mut values = fits.filter_map(|fit| value(fit, name));
    values.any(|value| is_near(number, value, 5e-4))
}

#[test]
fn every_law_and_every_number_in_a_figure_stands_in_the_table() {
    let folder = Folder::new();
    let all = "all -t sim -n 2..5 --profile quick --format none -o all.jsonl";
    folder.run(all).success();
    let sizes = "-s 0,8,32,64,100,101,256,1Ki,16Ki,1Mi --format none -o sizes.jsonl";
    folder.run(&format!("comms1 comms3 echo -t sim -n 2 {sizes}")).success();
    let (mut n_laws, mut n_marks) = (0, 0);
    for file in ["all.jsonl", "sizes.jsonl"] {
        let runs = read_runs(&folder.path.join(file)).unwrap();
        let models = models(&runs.iter().flat_map(|run| &run.points).collect::<Vec<_>>(), &[]);
        for figure in figures::figures(&runs) {
            let Body::Chart(chart) = &figure.body else { continue };
            let is_of_kernel = |model: &&Model| {
                let name = format!("{}-{}-", model.suite, model.kernel).replace('_', "-");
                figure.id.starts_with(&name) || figure.number.is_some()
            };
            let models: Vec<&Model> = models.iter().filter(is_of_kernel).collect();
            let is_rate = chart.y.quantity == Quantity::BytesPerSecond;
            let is_found = |name: &str| !name.starts_with("published");
            let laws = chart.series.iter().filter(|series| series.kind == Kind::Fit);
            for law in laws.filter(|law| is_found(&law.name)) {
                assert!(is_of_table(law, &models, is_rate), "{}: {}", figure.id, law.name);
                n_laws += 1;
            }
            for mark in chart.marks.iter().filter(|mark| is_rate && is_found(&mark.label)) {
                assert!(is_parameter(mark, &models), "{}: {}", figure.id, mark.label);
                n_marks += 1;
            }
        }
    }
    assert!(n_laws > 40 && n_marks > 10, "{n_laws} laws and {n_marks} marks are few");
}

#[test]
fn the_known_machine_has_its_own_parameters_in_the_figure() {
    let folder = Folder::new();
    let sizes = "-s 0,8,32,64,100,101,256,1Ki,16Ki,1Mi --format none -o sizes.jsonl";
    folder.run(&format!("comms1 -t sim -n 2 {sizes}")).success();
    let all = figures::figures(&read_runs(&folder.path.join("sizes.jsonl")).unwrap());
    let figure = all.iter().find(|figure| figure.id == "parkbench-comms1-bandwidth").unwrap();
    let Body::Chart(chart) = &figure.body else { panic!("{} is no chart", figure.id) };
    let labels: Vec<&str> = chart.marks.iter().map(|mark| &*mark.label).collect();
    assert_eq!(labels, ["r∞ 2.439 MB/s", "n½ 380.5 B"]);
    assert!(chart.series.iter().any(|series| series.name == "n/t₀, t₀ 79 µs"));
}

#[test]
fn the_barrier_is_found_by_the_name_of_its_figure() {
    let folder = Folder::new();
    folder.run("barrier -t sim -n 2..16*2 --format none -o a.jsonl").success();
    folder.run("plot a.jsonl --figure figure-5.6 -o by-name.svg").success();
    folder.run("plot a.jsonl --figure 5.6").success();
    assert_eq!(folder.read("comet-plots/figure-5.6.svg"), folder.read("by-name.svg"));
}
