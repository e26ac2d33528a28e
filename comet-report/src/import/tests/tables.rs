//! Tables of other programs, row by row.

use super::*;

/// The points in `text`.
fn parsed(origin: &'static Suite, text: &str) -> Vec<Point> {
    let sections = sections::parse(origin, text, &around(Some(2)), None).unwrap();
    sections.into_iter().flat_map(|section| section.points).collect()
}

/// The points of a block of IMB on two processes with these lines after its head.
fn imb(name: &str, lines: &str) -> Vec<Point> {
    parsed(IMB, &block(name, lines))
}

/// Kernel, class, parameters, time in ns and bytes a second of a point.
fn facts(point: &Point) -> (&str, &str, String, Option<f64>, Option<f64>) {
    let rate = point.bytes_per_s().map(f64::round);
    let time_ns = point.quoted_ns().map(|ns| (ns * 1e3).round() / 1e3);
    (&point.kernel, &point.class, point.params.to_string(), time_ns, rate)
}

fn figures(point: &Point) -> Vec<(&str, Option<f64>)> {
    point.figures.iter().map(|figure| (&*figure.name, figure.value)).collect()
}

const TIMES: &str = "# bytes #repetitions t_min[usec] t_max[usec] t_avg[usec]\n";

#[test]
fn every_kind_of_table_of_imb_has_its_numbers() {
    let check = |name: &str, lines: &str, expected: &[(&str, &str, Option<f64>, Option<f64>)]| {
        let points = imb(name, lines);
        let found = points
            .iter()
            .map(facts)
            .map(|(_, class, params, time, rate)| (class, params, time, rate));
        let own = expected
            .iter()
            .map(|(class, params, time, rate)| (*class, (*params).to_owned(), *time, *rate));
        assert!(points.iter().all(|point| point.kernel == name.trim_start_matches("Multi-")));
        assert_eq!(found.collect::<Vec<_>>(), own.collect::<Vec<_>>());
    };
    check(
        "PingPong",
        &format!("{TRANSFER}  0  1000  0.51  0.00\n  1000000  40  250.00  4000.00"),
        &[
            ("p2p", "length_bytes=0 procs=2", Some(510.0), None),
            ("p2p", "length_bytes=1000000 procs=2", Some(250_000.0), Some(4e9)),
        ],
    );
    let row = format!("{TRANSFER} 8 1000 1.00 8.00");
    check("PingPing", &row, &[("exchange", "length_bytes=8 procs=2", Some(1e3), Some(8e6))]);
    let row = format!("{TIMES} 8 1000 1.00 3.00 2.00");
    check("Allreduce", &row, &[("collective", "length_bytes=8 procs=2", Some(3000.0), None)]);
    check(
        "Barrier",
        "#repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n 1000 1.00 3.00 2.00",
        &[("sync", "procs=2", Some(3000.0), None)],
    );
    check(
        "Uniband",
        "#bytes #repetitions Mbytes/sec Msg/sec\n 8 1000 16.00 2000000",
        &[("collective", "length_bytes=8 procs=2", Some(500.0), Some(16e6))],
    );
    check(
        "Ibcast",
        "#bytes #repetitions t_ovrl[usec] t_pure[usec] t_CPU[usec]  overlap[%]\n 8 1000 5.00 3.00 \
         2.50 20.00",
        &[("collective", "length_bytes=8 procs=2", Some(3000.0), None)],
    );
    check(
        "P_Write_Indv",
        "#\n#    MODE: AGGREGATE \n#\n #bytes #rep.s t_min[usec] t_max t_avg Mb/sec\n 8 50 5.00 \
         6.00 5.50 1.27",
        &[(
            "collective",
            "aggregate=aggregate length_bytes=8 procs=2",
            Some(6000.0),
            Some(1_331_692.0),
        )],
    );
    check(
        "Multi-PingPing",
        "# ( 3 groups of 2 processes each running simultaneous ) \n# Group 0: 0 3\n\
         Group #bytes #repetitions t_min[usec] t_max[usec] t_avg[usec] Mbytes/sec\n\n\
         0 100 1000 1.00 2.00 1.50 50.00\n1 100 1000 1.00 4.00 2.50 25.00",
        &[
            ("exchange", "groups=3 group=0 length_bytes=100 procs=2", Some(2000.0), Some(50e6)),
            ("exchange", "groups=3 group=1 length_bytes=100 procs=2", Some(4000.0), Some(25e6)),
        ],
    );
}

#[test]
fn further_columns_are_figures() {
    let check = |points: &[Point], expected: &[(&str, f64)]| {
        let expected: Vec<_> = expected.iter().map(|(name, value)| (*name, Some(*value))).collect();
        assert_eq!(figures(&points[0]), expected);
    };
    check(&imb("PingPong", &format!("{TRANSFER} 8 40 2.00 4.00")), &[(REPETITIONS, 40.0)]);
    let means = [(REPETITIONS, 1000.0), (RANKS_MIN_NS, 1000.0), (RANKS_AVG_NS, 2000.0)];
    check(&imb("Allreduce", &format!("{TIMES} 8 1000 1.00 3.00 2.00")), &means);
    let head = "#bytes #repetitions t_ovrl[usec] t_pure[usec] t_CPU[usec]  overlap[%]\n";
    let parts = [
        (REPETITIONS, 1000.0),
        ("overlapped_ns", 5000.0),
        ("compute_ns", 2500.0),
        ("overlap_percent", 20.0),
    ];
    check(&imb("Ibcast", &format!("{head} 8 1000 5.00 3.00 2.50 20.00")), &parts);
    let text = "# OSU MPI Allreduce Latency Test v7.4\n\
                # Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations\
                \x20       Validation  P50 Tail Lat(us)\n\
                4      10.50    9.00    12.00   1000   Pass   10.00\n\
                8      10.50    9.00    12.00   1000   Fail   10.00\n";
    let points = parsed(OSU, text);
    let figures = [(RANKS_MIN_NS, 9000.0), (RANKS_MAX_NS, 12_000.0), (REPETITIONS, 1000.0)];
    check(&points, &[&figures[..], &[("p50_ns", 10_000.0)]].concat());
    let check = |point: &Point, check, status| {
        assert_eq!((point.check.status, point.status()), (check, status));
        assert_eq!(point.quoted_ns().is_some(), status == PointStatus::Ok);
    };
    check(&points[0], CheckStatus::Pass, PointStatus::Ok);
    check(&points[1], CheckStatus::Fail, PointStatus::CheckFailed);
    let head = "#bytes #repetitions t[usec] Mbytes/sec defects\n";
    let points = imb("PingPong", &format!("{head} 8 10 1.00 8.00 0.00\n 16 10 1.00 16.00 2.00"));
    check(&points[0], CheckStatus::Pass, PointStatus::Ok);
    check(&points[1], CheckStatus::Fail, PointStatus::CheckFailed);
}

#[test]
fn every_kind_of_table_of_osu_has_its_numbers() {
    let check = |text: &str, expected: (&str, &str, &str, f64, Option<f64>)| {
        let points = parsed(OSU, text);
        let (kernel, class, params, time_ns, rate) = facts(&points[0]);
        let found = (kernel, class, &*params, time_ns.unwrap(), rate);
        assert_eq!(found, expected, "{text}");
    };
    for head in ["# Size          Latency (us)", "# Size       Avg Latency(us)"] {
        let text = format!("# OSU MPI Latency Test v5.9\n{head}\n8    1.42\n16      1.51\n");
        check(&text, ("osu_latency", "p2p", "length_bytes=8 procs=2", 1420.0, None));
    }
    check(
        "\n# OSU MPI Bandwidth Test v7.5\n# Datatype: MPI_CHAR.\n\
         # Size      Bandwidth (MB/s)\n1000000            250.00\n",
        ("osu_bw", "p2p", "length_bytes=1000000 procs=2", 4e6, Some(250e6)),
    );
    check(
        "# OSU MPI Barrier Latency Test v5.8\n# Avg Latency(us)\n            12.57\n",
        ("osu_barrier", "sync", "procs=2", 12_570.0, None),
    );
    let rates = "# OSU MPI Multiple Bandwidth / Message Rate Test v5.6.2\n\
                 # [ pairs: 2 ] [ window size: 64 ]\n# Size      MB/s   Messages/s\n\
                 2   15.93    7962625.43\n";
    let params = "window=64 length_bytes=2 procs=4";
    check(rates, ("osu_mbw_mr", "p2p", params, 125.587, Some(15_930_000.0)));
    let points = parsed(OSU, rates);
    let rate = &points[0].rates()[0];
    let found = (&*rate.name, &*rate.formula, rate.per_op, rate.value);
    assert_eq!(found, ("messages_per_s", "as printed under Messages/s", 1.0, Some(7_962_625.43)));
    check(
        "# OSU MPI_Put Latency Test v7.4\n# Window creation: MPI_Win_create\n\
         # Synchronization: MPI_Win_flush\n# Size          Latency (us)\n1 0.50\n",
        ("osu_put_latency", "p2p", "memory=create sync=flush length_bytes=1 procs=2", 500.0, None),
    );
}

#[test]
fn windows_of_several_pairs_have_a_point_each() {
    // What osu_mbw_mr 7.4 prints with -V, shortened.
    let text = "# OSU MPI Multiple Bandwidth / Message Rate Test v7.4\n\
                # [ pairs: 2 ] [ window size: varied ]\n\n\
                # Uni-directional Bandwidth (MB/sec)\n# Datatype: MPI_CHAR.\n\
                #                 1           2\n4              1.25        4.51\n\n\
                # Message Rate Profile\n#                 1           2\n\
                4         311993.01  1126316.38\n# Datatype: MPI_INT.\n\
                #                 1           2\n4              2.50        9.02\n";
    let points = parsed(OSU, text);
    let rates = points.iter().map(|point| (point.params.to_string(), point.bytes_per_s()));
    let of = |params: &str, rate| (params.to_owned(), Some(rate));
    let expected = [
        of("window=1 length_bytes=4 procs=4", 1.25e6),
        of("window=2 length_bytes=4 procs=4", 4.51e6),
        of("datatype=int window=1 length_bytes=4 procs=4", 2.5e6),
        of("datatype=int window=2 length_bytes=4 procs=4", 9.02e6),
    ];
    assert_eq!(rates.collect::<Vec<_>>(), expected);
    let cut = text.replace("4              1.25        4.51", "4              1.25");
    let error = sections::parse(OSU, &cut, &around(None), None).unwrap_err().to_string();
    assert!(error.starts_with("line 7: the row has 2 columns, the head of its table 3"), "{error}");
}

#[test]
fn bytes_that_travel_beside_a_layout_are_a_figure() {
    // What osu_bw 7.4 prints with -D vect:8:4.
    let text = "# OSU MPI Bandwidth Test v7.4\n# Datatype: MPI_CHAR.\n\
                # Size      Bandwidth (MB/s)     Transmit Size\n\
                32                    133.50                16\n";
    let point = parsed(OSU, text).remove(0);
    assert_eq!(point.bytes_per_s(), Some(133.5e6));
    let figure = point.figures.iter().find(|figure| figure.name == "data_bytes").unwrap();
    assert_eq!((figure.value, &*figure.formula), (Some(16.0), "as printed under Transmit Size"));
}

#[test]
fn tables_of_several_datatypes_are_told_apart() {
    let text = "# OSU MPI Allreduce Latency Test v7.4\n# Datatype: MPI_CHAR.\n\
                # Size       Avg Latency(us)\n4                       5.04\n\
                # Datatype: MPI_FLOAT.\n# Size       Avg Latency(us)\n\
                4                       0.83\n";
    let points = parsed(OSU, text);
    let found = points.iter().map(|point| (point.params.to_string(), point.quoted_ns()));
    let of = |params: &str, ns| (params.to_owned(), Some(ns));
    let expected =
        [of("length_bytes=4 procs=2", 5040.0), of("element=float length_bytes=4 procs=2", 830.0)];
    assert_eq!(found.collect::<Vec<_>>(), expected);
    let latency = "# OSU MPI Multi Latency Test v7.4\n# Datatype: MPI_CHAR.\n\
                   # Size       Avg Latency(us)\n4                       6.19\n";
    let point = parsed(OSU, latency).remove(0);
    let value = point.value().unwrap();
    assert_eq!((&*value.definition, value.divisor), ("D6 call_mean", 2));
}

#[test]
fn a_megabyte_is_what_fits_the_times() {
    let head = "#bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]   Mbytes/sec\n";
    let check = |name, rate: f64, n_messages: u64, bytes_per_s: f64| {
        let text = format!("{head} 1048576 40 990.00 1000.00 995.00 {rate:.2}");
        let found = imb(name, &text).remove(0);
        assert_eq!(found.value().unwrap().bytes_per_op, Some(n_messages << 20));
        assert!((found.bytes_per_s().unwrap() / bytes_per_s - 1.0).abs() < 1e-4);
        assert_eq!((found.quoted_ns(), &*found.class), (Some(1e6), "collective"));
    };
    check("Sendrecv", 2000.0, 2, 2.0 * 1.048_576e9);
    check("Sendrecv", 2097.15, 2, 2.0 * 1.048_576e9);
    check("Exchange", 4000.0, 4, 4.0 * 1.048_576e9);
}

#[test]
fn words_in_place_of_numbers_become_a_status() {
    for (words, status) in [
        ("out-of-mem.; needed X=   1.001 GB; use flag \"-mem X\"", PointStatus::Skipped),
        ("int-overflow; The production rank*size caused int overflow;", PointStatus::Skipped),
        ("time-out.; Time limit is over", PointStatus::Interrupted),
    ] {
        let found = imb("Alltoall", &format!("{TIMES}4194304 {words}")).remove(0);
        assert_eq!(found.failure(), Some(&Failure { status, message: words.into() }));
        assert_eq!(found.params.to_string(), "length_bytes=4194304 procs=2");
    }
    // A barrier has no length: the number there counts nothing.
    let head = "#repetitions t_min[usec] t_max[usec] t_avg[usec]\n";
    let found = imb("Barrier", &format!("{head}4194304 time-out.; Time limit is over")).remove(0);
    assert_eq!((found.params.to_string(), &*found.figures), ("procs=2".into(), &[][..]));
}

#[test]
fn the_title_holds_the_version() {
    let check = |origin: &'static Suite, line: &str, expected: &str| {
        let table = if origin.id == OSU.id {
            "# Size Latency (us)\n8 1.50\n".to_owned()
        } else {
            block("PingPong", &format!("{TRANSFER} 8 1000 1.00 8.0"))
        };
        let sections =
            sections::parse(origin, &format!("{line}\n{table}"), &around(Some(2)), None).unwrap();
        assert_eq!(sections[0].version, expected, "{line}");
    };
    check(IMB, "#    Intel (R) MPI Benchmark Suite V3.2, MPI-1 part", "3.2");
    check(IMB, "#    Intel(R) MPI Benchmarks 2021.3, MPI-1 part", "2021.3");
    check(IMB, "#    comet 0.1.0, in the layout of IMB 3.2, MB of 2^20 bytes", "3.2");
    check(OSU, "# OSU MPI Allreduce Latency Test v7.4", "7.4");
}

/// The table of `name` on `n_ranks`, in `mode` if it has one.
fn table(name: &str, n_ranks: u64, mode: Option<&str>, lines: &str) -> String {
    let mode = mode.map_or(String::new(), |mode| format!("#\n#    MODE: {mode} \n#\n"));
    format!("#----\n# Benchmarking {name} \n# #processes = {n_ranks} \n#----\n{mode}{lines}\n\n")
}

#[test]
fn tables_of_windows_have_their_part_and_the_ends_of_transfers() {
    let check = |part: &str, tables: &[String], id: &str, expected: &[(&str, &str, f64)]| {
        let title = format!("#----\n#    Intel(R) MPI Benchmarks 2021.11, {part}\n#----\n\n");
        let text = title + &tables.concat();
        let records = imported_alone(IMB, &text);
        let Record::Run(run) = &records[0] else { unreachable!() };
        assert_eq!((&*run.suite.name, &*run.suite.version), (id, "2021.11"));
        let points = points(&records);
        let found: Vec<_> = points.iter().map(|point| facts(point)).collect();
        let found =
            found.iter().map(|(kernel, _, params, ns, _)| (*kernel, &**params, ns.unwrap()));
        assert_eq!(found.collect::<Vec<_>>(), expected);
        // The layout prints them again.
        let rows = |text: &str| -> Vec<String> {
            let is_row = |line: &&str| line.trim_start().starts_with(|c: char| c.is_ascii_digit());
            let lines = text.lines().filter(|line| is_row(line) || line.contains("MODE"));
            lines.map(|line| Vec::from_iter(line.split_whitespace()).join(" ")).collect()
        };
        assert_eq!(rows(&render("imb", &records)), rows(&text));
    };
    let of_one = |row: &str| format!("{TRANSFER} {row}");
    let (all, each) = (Some("AGGREGATE"), Some("NON-AGGREGATE"));
    check(
        "MPI-2 part",
        &[
            table("Window", 4, None, &format!("{TIMES} 4 100 200.50 200.87 200.69")),
            table("Unidir_Put", 2, all, &of_one("8 1000 2.00 4.00")),
            table("Unidir_Put", 2, each, &of_one("8 100 4.00 2.00")),
        ],
        "imb-ext",
        &[
            ("Window", "length_bytes=4 procs=4", 200_870.0),
            ("Unidir_Put", "aggregate=aggregate length_bytes=8 procs=2", 2000.0),
            ("Unidir_Put", "aggregate=non_aggregate length_bytes=8 procs=2", 4000.0),
        ],
    );
    check(
        "MPI-RMA part",
        &[
            table("Unidir_put", 2, each, &of_one("8 100 4.00 2.00")),
            table("One_put_all", 4, None, &of_one("8 1000 4.00 2.00")),
            table("Compare_and_swap", 2, all, &of_one("4 1000 2.00 2.00")),
        ],
        "imb-rma",
        &[
            ("Unidir_put", "aggregate=non_aggregate length_bytes=8 procs=2", 4000.0),
            ("One_put_all", "length_bytes=8 procs=4", 4000.0),
            ("Compare_and_swap", "aggregate=aggregate length_bytes=4 procs=2", 2000.0),
        ],
    );
}

#[test]
fn short_times_with_few_digits_do_not_change_the_megabyte() {
    // 8 bytes in 0.0537 us and 65536 bytes in 2.1 us, with MB of 10^6 bytes and of 2^20.
    for (rows, rate) in [
        (" 8 3 0.05 149.07", 149.07e6),
        (" 8 3 0.05 149.07\n 65536 3 2.10 31207.62", 149.07e6),
        (" 8 3 0.05 142.16\n 65536 3 2.10 29761.90", 142.16 * 1_048_576.0),
    ] {
        let points = imb("PingPong", &format!("{TRANSFER}{rows}"));
        let found = points[0].bytes_per_s().unwrap();
        assert!((found - rate).abs() < 1.0, "{rows}: {found}");
    }
}

#[test]
fn types_of_a_head_are_in_the_keys_of_their_benchmarks_and_stand_in_the_layout_again() {
    let tables = [
        block("PingPong", &format!("{TRANSFER} 8 1000 1.00 8.00")),
        block("Allreduce", &format!("{TIMES} 8 1000 1.00 3.00 2.00")),
        block(
            "Barrier",
            "#repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n 1000 1.00 3.00 2.00",
        ),
    ];
    let head = |[datatype, element, operator]: [&str; 3]| {
        format!(
            "# MPI_Datatype                   :   MPI_{datatype} \n\
             # MPI_Datatype for reductions    :   MPI_{element} \n\
             # MPI_Op                         :   MPI_{operator}  \n"
        )
    };
    let keys = |text: &str| -> Vec<String> {
        parsed(IMB, text).into_iter().map(|point| point.key).collect()
    };
    let usual = keys(&tables.concat());
    for (words, differs) in [
        (["BYTE", "FLOAT", "SUM"], [false, false, false]),
        (["INT", "FLOAT", "SUM"], [true, false, false]),
        (["BYTE", "DOUBLE", "SUM"], [false, true, false]),
        (["BYTE", "FLOAT", "MAX"], [false, true, false]),
    ] {
        let title = "#    Intel(R) MPI Benchmarks 2021.10, MPI-1 part\n";
        let text = format!("{title}{}{}", head(words), tables.concat());
        let found = keys(&text);
        let others: Vec<bool> = found.iter().zip(&usual).map(|(own, of)| own != of).collect();
        assert_eq!(others, differs, "{words:?}");
        let again = render("imb", &imported(IMB, &text));
        assert!(again.contains(&head(words)), "{again}");
        // The layout has no other reductions than sums.
        let n = if words[2] == "SUM" { 3 } else { 1 };
        assert_eq!(keys(&again)[..n], found[..n], "{again}");
    }
}
