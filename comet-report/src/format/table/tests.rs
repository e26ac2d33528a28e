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
            variance_between: 0.0,
            variance_within: None,
            speeds: vec![own, speed(other_ns, [11.0, 12.0], 1)],
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
