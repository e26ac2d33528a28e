//! Columns of times, and lines about other speeds.

use super::columns::{quoted, times};
use super::*;

#[test]
fn another_speed_is_told_where_it_differs() {
    let speed = |quoted_ns, line_ns, launches| Speed {
        line_ns,
        launches,
        share: 0.5,
        quoted_ns,
        interval_ns: None,
    };
    let told = |other_ns| {
        let records = crate::fixture::records();
        let points = records.into_iter().filter_map(|record| match record {
            Record::Point(point) => Some(*point),
            _ => None,
        });
        let mut point = { points }.next().expect("there is a point");
        let own = speed(150.0, [104.0, 118.0], 4);
        point.launches = Some(crate::record::Launches {
            quoted_ns: vec![150.0; 4],
            slices: vec![2; 4],
            period_s: 2.0,
            speeds: vec![own, speed(other_ns, [11.0, 12.0], 1)],
            ..Default::default()
        });
        other_speeds(&point)
    };
    assert_eq!(told(60.0), "#   0.0600 us in 1 launch with a cache line of 11 ns to 12 ns\n");
    assert_eq!(told(140.0), "");
}

#[test]
fn the_time_to_quote_is_the_first() {
    let names = |quote| -> Vec<&str> {
        [quoted(quote)].into_iter().chain(times(quote).map(|(name, _)| name)).collect()
    };
    assert_eq!(names(Quote::Median), ["median_us", "p25_us", "p75_us", "min_us", "mean_us"]);
    assert_eq!(names(Quote::Min), ["min_us", "median_us", "p25_us", "p75_us", "mean_us"]);
    assert_eq!(names(Quote::Corrected)[..2], ["corrected_us", "median_us"]);
}

/// The table of the run of the fixture for a terminal that looks like `look`.
fn table(look: Look) -> String {
    let mut text = Vec::new();
    let mut sink = for_terminal(Box::new(&mut text), false, look);
    crate::fixture::records().iter().for_each(|record| sink.record(record).unwrap());
    sink.finish().unwrap();
    drop(sink);
    String::from_utf8(text).unwrap()
}

#[test]
fn rows_fit_into_a_terminal_and_keep_the_figure_to_quote() {
    let rows = |text: &str| -> Vec<String> {
        let is_row =
            |line: &&str| line.starts_with(' ') || line.starts_with("# ") && line.contains("_us");
        text.lines().filter(is_row).map(str::to_owned).collect()
    };
    let wide = rows(&table(Look::default()));
    assert!(wide.iter().any(|row| row.len() > 110));
    for width in [60, 80, 100] {
        let narrow = rows(&table(Look { width: Some(width), has_color: false }));
        assert_eq!(narrow.len(), wide.len());
        assert!(narrow.iter().all(|row| row.len() <= width), "{narrow:#?}");
    }
    let text = table(Look { width: Some(60), has_color: false });
    assert!(text.contains("median_us") && !text.contains("mean_us"), "{text}");
}

#[test]
fn marks_errors_and_the_verdict_have_colours_where_the_terminal_shows_them() {
    let text = table(Look { width: None, has_color: true });
    assert!(text.contains("\x1b[31mwrong\x1b[0m: 1 case with wrong data"), "{text}");
    assert!(text.contains("\x1b[31m# "), "{text}");
    let plain: String = text.replace("\x1b[31m", "").replace("\x1b[33m", "").replace("\x1b[0m", "");
    assert_eq!(plain, table(Look::default()));
}

#[test]
fn rates_have_columns_and_formulas_where_the_terminal_has_room() {
    let table = |width| {
        let mut text = Vec::new();
        let look = Look { width, has_color: false };
        let mut sink = for_terminal(Box::new(&mut text), false, look);
        for point in crate::fixture::collectives("allgather", 4) {
            sink.record(&Record::Point(Box::new(point))).unwrap();
        }
        sink.finish().unwrap();
        drop(sink);
        String::from_utf8(text).unwrap()
    };
    let wide = table(None);
    let formulas = "# alg_MB/s: algorithm bandwidth, P x length_bytes / time\n\
                    # bus_MB/s: bus bandwidth, (P-1)/P x P x length_bytes / time\n";
    assert!(wide.contains(formulas), "{wide}");
    let last_cells = |line: &str| -> Vec<String> {
        line.split_whitespace().rev().take(2).map(str::to_owned).collect()
    };
    let rows: Vec<_> = wide.lines().filter(|line| line.starts_with("  ")).map(last_cells).collect();
    assert_eq!(rows, [["-", "-"], ["3000.0", "4000.0"], ["6000.0", "8000.0"]]);
    let narrow = table(Some(80));
    assert!(!narrow.contains("alg_MB/s") && !narrow.contains("bus_MB/s"), "{narrow}");
}
