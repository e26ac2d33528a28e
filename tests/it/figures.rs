//! Figures: `comet-run plot`, and `comet-run show --plots`.

use comet_report::figures::figures;
use comet_report::models::models;
use comet_report::plot::{Body, Kind, Mark, Quantity, Trace, Vertex};
use comet_report::record::{Fit, Model};
use comet_report::runs::read_runs;
use comet_stats::fit::Growth;

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
        ("-o made.v2/", "made.v2/figure-5.1.svg", "</svg>"),
        ("--format csv -o made.v2", "made.v2/figure-5.1.csv", "1 hop,"),
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
    folder.refuses(
        "
        plot a.jsonl --figure echo    => there is no figure 'echo'; the nearest are comet-echo-time, comet-echo-bandwidth
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
    if let Some(label) = series.name.strip_prefix("n/t0, t0 ") {
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
    let fits = models.iter().flat_map(|model| &model.fits);
    let mut values = fits.filter_map(|fit| value(fit, words[0]));
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
        for figure in figures(&runs) {
            let Body::Chart(chart) = &figure.body else { continue };
            let is_of_kernel = |model: &&Model| {
                let name = format!("{}-{}-", model.suite, model.kernel).replace('_', "-");
                figure.id.starts_with(&name) || figure.number.is_some()
            };
            let models: Vec<&Model> = models.iter().filter(is_of_kernel).collect();
            let is_rate = chart.y.quantity == Quantity::BytesPerSecond;
            for law in chart.series.iter().filter(|series| series.kind == Kind::Fit) {
                assert!(is_of_table(law, &models, is_rate), "{}: {}", figure.id, law.name);
                n_laws += 1;
            }
            for mark in chart.marks.iter().filter(|_| is_rate) {
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
    let all = figures(&read_runs(&folder.path.join("sizes.jsonl")).unwrap());
    let figure = all.iter().find(|figure| figure.id == "parkbench-comms1-bandwidth").unwrap();
    let Body::Chart(chart) = &figure.body else { panic!("{} is no chart", figure.id) };
    let labels: Vec<&str> = chart.marks.iter().map(|mark| &*mark.label).collect();
    assert_eq!(labels, ["r_inf 2.439 MB/s", "n_half 380.5 B"]);
    assert!(chart.series.iter().any(|series| series.name == "n/t0, t0 79 µs"));
}

#[test]
fn the_barrier_is_found_by_the_name_of_its_figure() {
    let folder = Folder::new();
    folder.run("barrier -t sim -n 2..16*2 --format none -o a.jsonl").success();
    folder.run("plot a.jsonl --figure figure-5.6 -o by-name.svg").success();
    folder.run("plot a.jsonl --figure 5.6").success();
    assert_eq!(folder.read("comet-plots/figure-5.6.svg"), folder.read("by-name.svg"));
}
