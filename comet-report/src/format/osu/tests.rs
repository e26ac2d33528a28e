//! Tables of OSU as they look.

use super::*;
use crate::fixture::{check_golden, render};
use crate::format::foreign::tests::records;
use crate::record::Record;

/// The text of the small run with these columns beside the least.
fn text(columns: &str) -> String {
    let mut records = records("osu");
    let Record::Run(run) = &mut records[0] else { unreachable!() };
    run.labels.insert(COLUMNS_LABEL.into(), columns.into());
    render("osu", &records)
}

#[test]
fn it_looks_as_it_did() {
    let all = text("full,validation,p50,p99");
    check_golden("format-osu.txt", &(text("") + &text("validation") + &all));
}

/// The small run with points of `kernel` in place of its own, at these parameters.
fn points_of(kernel: &'static str, params: &[Vec<(&str, Param)>]) -> Vec<Record> {
    let all = records("osu");
    let is_point = |record: &Record| matches!(record, Record::Point(_));
    let is_model =
        |record: &Record| matches!(record, Record::Point(point) if point.kernel == "bcast");
    let Some(Record::Point(model)) = all.iter().find(|record| is_model(record)) else {
        unreachable!()
    };
    let point = |params: &Vec<(&str, Param)>| {
        let mut point = model.clone();
        (point.suite, point.kernel) = ("osu".into(), kernel.into());
        let own = params.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
        point.params.0 = own.collect();
        let [size, window] = ["length_bytes", "window"].map(|name| point.number(name));
        let bytes = size.map(|size| size * window.unwrap_or(1) * 2);
        point.measured_mut().unwrap().numbers.value.bytes_per_op = bytes;
        Record::Point(point)
    };
    let at = all.iter().position(is_point).unwrap();
    let points = params.iter().map(point);
    let [before, after] = [&all[..at], &all[at..]].map(<[Record]>::to_vec);
    let after = after.into_iter().filter(|record| !is_point(record));
    before.into_iter().chain(points).chain(after).collect()
}

fn numbers(names: [&'static str; 3], values: [u64; 3]) -> Vec<(&'static str, Param)> {
    names.into_iter().zip(values.map(Param::Number)).collect()
}

#[test]
fn several_pairs_and_datatypes_look_as_they_did() {
    let names = ["length_bytes", "window", "procs"];
    let lengths = [4, 8];
    let of_one = lengths.map(|length| numbers(names, [length, 64, 4]));
    let of_each = lengths.map(|length| WINDOWS.map(|window| numbers(names, [length, window, 4])));
    let with = |kernel: &'static str, params: &[Vec<(&str, Param)>], columns: &str| {
        let mut records = points_of(kernel, params);
        let Record::Run(run) = &mut records[0] else { unreachable!() };
        run.labels.insert(COLUMNS_LABEL.into(), columns.into());
        render("osu", &records)
    };
    let mut text = with("mbw_mr", &of_one, "");
    text += &with("mbw_mr", &of_one, "validation,no_message_rate");
    text += &with("mbw_mr", &of_one, "p50,p99");
    text += &with("mbw_mr", &of_each.concat(), "windows");
    // A run that ended early.
    text += &with("mbw_mr", &of_each.concat()[..11], "windows,no_message_rate");
    text += &with("multi_lat", &of_one, "");
    let of_elements = ["char", "int", "float"].into_iter().flat_map(|element| {
        lengths.map(|length| {
            let element = ("element", Param::Label(element.into()));
            let [length, procs] = [length, 4].map(Param::Number);
            vec![element, ("length_bytes", length), ("procs", procs)]
        })
    });
    text += &with("reduce_scatter_block", &of_elements.collect::<Vec<_>>(), "full");
    let laid = |window: u64| {
        let layout = ("layout", Param::Label("vect:8:4".into()));
        numbers(names, [32, window, 4]).into_iter().chain([layout]).collect::<Vec<_>>()
    };
    for (windows, columns) in [(&WINDOWS[6..7], "p50"), (&WINDOWS, "windows")] {
        let params: Vec<_> = windows.iter().map(|window| laid(*window)).collect();
        let mut records = points_of("mbw_mr", &params);
        for record in &mut records {
            let Record::Point(point) = record else { continue };
            let (name, formula) = (DATA_BYTES.to_owned(), "sum of the blocks".to_owned());
            point.figures = vec![crate::record::Derived { name, formula, value: Some(16.0) }];
        }
        let Record::Run(run) = &mut records[0] else { unreachable!() };
        run.labels.insert(COLUMNS_LABEL.into(), columns.into());
        text += &render("osu", &records);
    }
    check_golden("format-osu-pairs.txt", &text);
}

#[test]
fn the_graph_of_neighbours_stands_above_their_title() {
    let on = |dimensions: u64, radius: u64, datatype: Option<&str>| {
        [4, 8].map(|length| {
            let values = [dimensions, radius, length, 12].map(Param::Number);
            let names = ["dimensions", "radius", "length_bytes", "procs"];
            let datatype = datatype.map(|name| ("datatype", Param::Label(name.into())));
            names.into_iter().zip(values).chain(datatype).collect::<Vec<_>>()
        })
    };
    let records = |kernel: &'static str, params: &[Vec<(&str, Param)>], graph_ns| {
        let mut records = points_of(kernel, params);
        for record in &mut records {
            let Record::Point(point) = record else { continue };
            let (name, formula) = (GRAPH_NS.to_owned(), "mean over the ranks".to_owned());
            point.figures = vec![crate::record::Derived { name, formula, value: graph_ns }];
        }
        records
    };
    let tori = [on(1, 1, None), on(2, 1, None), on(2, 1, Some("int"))].concat();
    let mut text = render("osu", &records("neighbor_alltoallw", &tori, Some(12_345.0)));
    // A graph of the user, over a transport that makes none.
    text += &render("osu", &records("neighbor_allgather", &on(0, 0, None), None));
    check_golden("format-osu-neighbours.txt", &text);
}

#[test]
fn one_sided_programs_have_the_calls_of_their_window_above_each_table() {
    let with = |memory: &str, sync: &str, rest: &[(&'static str, Param)]| {
        let words = [("memory", memory), ("sync", sync)];
        let words = words.map(|(name, word)| (name, Param::Label(word.into())));
        let procs = ("procs", Param::Number(2));
        words.into_iter().chain(rest.iter().cloned()).chain([procs]).collect::<Vec<_>>()
    };
    let length = |bytes| ("length_bytes", Param::Number(bytes));
    let element = |name: &str| ("element", Param::Label(name.into()));
    let window = ("window", Param::Number(64));
    let of = |kernel, params: &[Vec<(&'static str, Param)>], columns: &str| {
        let mut records = points_of(kernel, params);
        for record in &mut records {
            let Record::Point(point) = record else { continue };
            point.measured_mut().unwrap().numbers.value.definition = "D3 test_node".into();
        }
        let Record::Run(run) = &mut records[0] else { unreachable!() };
        run.labels.insert(COLUMNS_LABEL.into(), columns.into());
        render("osu", &records)
    };
    let put = [4, 8].map(|n| with("allocate", "flush", &[length(n)]));
    let fenced = [4, 8].map(|n| with("create", "fence", &[length(n)]));
    let mut text = of("put_latency", &[put, fenced].concat(), "p50");
    let sums = ["char", "int"].map(|name| with("dynamic", "pscw", &[element(name)]));
    text += &of("fop_latency", &sums, "validation");
    text += &of("get_acc_latency", &[with("create", "lock", &[element("char"), length(4)])], "");
    text += &of("put_bibw", &[with("allocate", "pscw", &[window, length(4)])], "p99");
    check_golden("format-osu-remote.txt", &text);
}

#[test]
fn messages_without_bytes_have_no_rate_by_their_bytes() {
    let names = ["length_bytes", "window", "procs"];
    let params: Vec<_> = [0, 4]
        .into_iter()
        .flat_map(|length| WINDOWS.map(|window| numbers(names, [length, window, 4])))
        .collect();
    let mut records = points_of("mbw_mr", &params);
    let Record::Run(run) = &mut records[0] else { unreachable!() };
    run.labels.insert(COLUMNS_LABEL.into(), VARIED.into());
    let text = render("osu", &records);
    let (rates, messages) = text.split_once("# Message Rate Profile\n").unwrap();
    let row = |text: &str| -> Vec<String> {
        let row = text.lines().find(|line| line.starts_with("0 ")).unwrap();
        row.split_whitespace().skip(1).map(str::to_owned).collect()
    };
    assert_eq!((row(rates), row(messages)), (vec!["0.00".into(); 8], vec!["-".into(); 8]));
}

#[test]
fn another_window_has_a_table_of_its_own() {
    let names = ["length_bytes", "window", "procs"];
    let params = [32, 64].map(|window| numbers(names, [8, window, 5]));
    let text = render("osu", &points_of("mbw_mr", &params));
    for window in [32, 64] {
        let line = format!("# [ pairs: 2 ] [ window size: {window} ]\n");
        assert_eq!(text.matches(&line).count(), 1, "{text}");
    }
}

#[test]
fn only_rows_start_with_a_digit() {
    for line in text("full,validation").lines() {
        let is_comment = line.is_empty() || line.starts_with('#') || line.starts_with("     ");
        let is_row = line
            .split_whitespace()
            .nth(1)
            .is_some_and(|word| word == "-" || word.parse::<f64>().is_ok());
        assert!(is_comment || is_row, "{line}");
    }
}

#[test]
fn percentiles_of_rates_are_those_of_the_fastest_windows() {
    let point = records("osu").into_iter().find_map(|record| match record {
        Record::Point(point) if point.measured().is_some() => Some(point),
        _ => None,
    });
    let mut point = point.unwrap();
    let value = &mut point.measured_mut().unwrap().numbers.value;
    (value.bytes_per_op, value.divisor) = (Some(1000), 1);
    // Ten operations in 10.0, 10.2 and 10.6 us.
    let check = |number, expected: f64| {
        let found = percentile(&point, number, true).unwrap();
        assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
    };
    check(50, 1000.0 / 1.02);
    check(99, 1000.0 / 1.0004);
}

/// Points of `kernel` in each series and lap, with these times of two ranks in ns.
fn beside_work(kernel: &'static str, times_ns: [[u64; 2]; 6]) -> Vec<Record> {
    let names = ["length_bytes", "test_calls", "procs"];
    let params = numbers(names, [1024, 2, 2]);
    let params = params.into_iter().filter(|(name, _)| kernel != "ibarrier" || *name != names[0]);
    let mut records = points_of(kernel, &vec![params.collect(); 6]);
    let points = records.iter_mut().filter_map(|record| match record {
        Record::Point(point) => Some(point),
        _ => None,
    });
    let series = ["pure", "overlapped", "init", "compute", "test", "wait"];
    for ((point, name), times_ns) in points.zip(series).zip(times_ns) {
        point.variant = Some(name.into());
        let measured = point.measured_mut().unwrap();
        (measured.reps.inner, measured.reps.n) = (1, 1);
        let samples = measured.samples.as_mut().unwrap();
        (samples.ranks, samples.shape) = (vec![0, 1], [2, 1]);
        samples.data = times_ns.to_vec();
    }
    records
}

/// The text of `records` with these columns beside the least.
fn text_with(mut records: Vec<Record>, columns: &str) -> String {
    let Record::Run(run) = &mut records[0] else { unreachable!() };
    run.labels.insert(COLUMNS_LABEL.into(), columns.into());
    render("osu", &records)
}

/// Times of two ranks, the means of which are 8, 13, 0.5, 10, 1 and 1.5 us: 62.5 % of 8 us are hidden.
const BESIDE_WORK: [[u64; 2]; 6] =
    [[4000, 12_000], [14_000, 12_000], [1000, 0], [9000, 11_000], [2000, 0], [2000, 1000]];

#[test]
fn collectives_beside_work_have_one_row_of_all_series_and_laps() {
    let all = "full,validation,p50";
    let mut text = text_with(beside_work("ibcast", BESIDE_WORK), "");
    text += &text_with(beside_work("ibcast", BESIDE_WORK), all);
    text += &text_with(beside_work("ibarrier", BESIDE_WORK), "full");
    let row =
        "1024                   13.00             10.00              8.00             62.50\n";
    assert!(text.contains(row), "{text}");
    check_golden("format-osu-unblocked.txt", &text);
}

#[test]
fn a_case_beside_work_has_no_row_before_its_last_lap_and_a_failed_one_has_no_times() {
    let rows = |records| {
        let text = text_with(records, "validation");
        let is_row = |line: &&str| line.starts_with("1024 ");
        text.lines().filter(is_row).map(str::to_owned).collect::<Vec<_>>()
    };
    let records = beside_work("ireduce_scatter", BESIDE_WORK);
    let is_point = |record: &Record| matches!(record, Record::Point(_));
    let first = records.iter().position(is_point).unwrap();
    assert_eq!(rows(records[..first + 5].to_vec()), [""; 0]);
    assert_eq!(rows(records[..first + 6].to_vec()).len(), 1);
    let mut failed = records[..=first].to_vec();
    let Some(Record::Point(point)) = failed.last_mut() else { unreachable!() };
    point.check.status = CheckStatus::Fail;
    let message = "rank 1 got wrong data".to_owned();
    let failure =
        crate::record::Failure { status: crate::record::PointStatus::CheckFailed, message };
    point.outcome = crate::record::Outcome::Failed(failure);
    let cells: Vec<Vec<String>> = rows(failed)
        .iter()
        .map(|row| row.split_whitespace().map(str::to_owned).collect())
        .collect();
    assert_eq!(cells, [["1024", "-", "-", "-", "-", "Fail"]]);
}

#[test]
fn figures_of_a_case_beside_work_stand_on_its_last_point_and_are_printed() {
    let figure = |name: &str, value| crate::record::Derived {
        name: name.into(),
        formula: "as the transport says".into(),
        value: Some(value),
    };
    let with = |kernel, figures: Vec<crate::record::Derived>, layout: Option<&str>| {
        let mut records = beside_work(kernel, BESIDE_WORK);
        let points = records.iter_mut().filter_map(|record| match record {
            Record::Point(point) => Some(point),
            _ => None,
        });
        let mut last = None;
        for point in points {
            let layout = layout.map(|name| (LAYOUT.to_owned(), Param::Label(name.into())));
            point.params.0.extend(layout);
            last = Some(point);
        }
        last.expect("six points").figures = figures;
        text_with(records, "")
    };
    let text = with("ineighbor_alltoall", vec![figure(GRAPH_NS, 12_345.0)], None);
    let line =
        "Time took to create topology graph:12.35 us.\n\n# OSU MPI Non-blocking Neighborhood ";
    assert!(text.contains(line), "{text}");
    let text = with("ibcast", vec![figure(DATA_BYTES, 512.0)], Some("vect:8:4"));
    assert!(text.contains("  62.50               512\n"), "{text}");
}
