//! Histories and alerts of nights in which a machine measures many numbers, under several conditions.

use comet_report::record::{Outcome, Params};
use serde_json::Value;

use super::*;

/// The file of the run of the night `number`, with these times in ns by numbers of hops, as `change` leaves it.
fn night_of(number: u32, times: &[(u64, f64)], change: impl Fn(&mut Record)) -> Vec<u8> {
    let mut records = Example { number, n_points: 1, ..Example::default() }.records();
    let Record::Point(point) = records.remove(1) else { panic!("a point follows the run") };
    for (seq, (hops, time_ns)) in times.iter().enumerate().rev() {
        let seq = seq as u64;
        let mut point = Point { seq, key: format!("{hops:016x}"), ..(*point).clone() };
        set(&mut point.params, "hops", *hops);
        let Outcome::Imported(numbers) = &mut point.outcome else { panic!("an import") };
        numbers.quoted_ns = Some(*time_ns);
        records.insert(1, Record::Point(Box::new(point)));
    }
    for record in &mut records {
        match record {
            Record::Run(run) => run.started_at = format!("2026-01-{:02}T00:00:00.000Z", number + 1),
            Record::End(end) => end.points.ok = times.len(),
            _ => (),
        }
        change(record);
    }
    file(&records)
}

fn set(params: &mut Params, name: &str, value: u64) {
    params.0.retain(|(other, _)| other != name);
    params.0.push((name.into(), Param::Number(value)));
    params.0.sort_by(|(one, _), (other, _)| one.cmp(other));
}

/// Gives a run another id.
fn rename(record: &mut Record, id: &str) {
    match record {
        Record::Run(run) => run.run_id = id.into(),
        Record::Point(point) => point.run_id = id.into(),
        Record::End(end) => end.run_id = Some(id.into()),
        _ => (),
    }
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// The alerts of `served`.
fn alerts_of(served: &Served) -> Vec<Value> {
    served.site.refresh().unwrap();
    json(&served.get("/api/v1/alerts", 200))["alerts"].as_array().unwrap().clone()
}

/// The address of the number of one hop behind `/trends` and its end.
fn trend(served: &Served) -> String {
    let series = served.series(&served.runs()[..1])[0].series.id;
    format!("machine=hawk&series={series}")
}

/// Numbers of runs and of changes in the trend at this address.
fn counts(served: &Served, query: &str) -> [usize; 2] {
    let data = json(&served.get(&format!("/trends.json?{query}"), 200));
    ["runs", "changes"].map(|name| data[name].as_array().unwrap().len())
}

/// The values of the options of the select `name` of `page`, each with its text.
fn options(page: &str, name: &str) -> Vec<(String, String)> {
    let Some((_, select)) = page.split_once(&format!("<select name=\"{name}\">")) else {
        return Vec::new();
    };
    let select = select.split_once("</select>").unwrap().0;
    let option = |text: &str| {
        let (value, text) = text.split_once('>')?;
        Some((value.split('"').next()?.into(), text.split('<').next()?.into()))
    };
    select.split("<option value=\"").filter_map(option).collect()
}

/// A suite has a run for each of its units.
#[test]
fn a_suite_of_sixty_runs_a_night_raises_an_alert_and_all_its_series_can_be_chosen() {
    let unit = |number: u32, unit: u64| {
        let is_slow = unit == 7 && number >= 12;
        let id = format!("00000000-0000-7000-8000-{number:06}{unit:06}");
        night_of(number, &[(unit, if is_slow { 120.0 } else { 100.0 })], |of| rename(of, &id))
    };
    let night = |number| (0..60).flat_map(|of| unit(number, of)).collect();
    let served = Served::new(&(0..20).map(night).collect::<Vec<_>>());
    let found = alerts_of(&served);
    let [alert] = &found[..] else { panic!("{found:?}") };
    assert_eq!(alert["numbers"], serde_json::json!({ "changed": 1, "all": 60 }));
    assert_eq!(alert["series"]["params"], "hops=7");
    assert_eq!(alert["started_at"], "2026-01-13T00:00:00.000Z");
    let series = options(&served.get("/trends?machine=hawk", 200), "series");
    let names: Vec<&str> = series.iter().map(|(_, name)| name.as_str()).collect();
    assert_eq!((names.len(), names[0]), (61, "choose"));
    assert!(names[1..].iter().all(|name| name.starts_with("comet/echo hops=")), "{names:?}");
}

#[test]
fn meshes_are_numbers_of_their_own() {
    let night = |number: u32| {
        let (rows, time_ns) = if number < 14 { (2_u32, 100.0) } else { (3, 150.0) };
        night_of(number, &[(1, time_ns)], |record| {
            if let Record::Point(point) = record {
                set(&mut point.params, "mesh_rows", u64::from(rows));
                set(&mut point.params, "mesh_cols", u64::from(6 / rows));
                point.key = format!("{rows:016x}");
            }
        })
    };
    let served = Served::new(&(0..28).map(night).collect::<Vec<_>>());
    assert_eq!(alerts_of(&served), Vec::<Value>::new());
    let query = trend(&served);
    assert_eq!(counts(&served, &query), [14, 0]);
    let runs = served.runs();
    let superseded = served.site.read(|index| index.superseded(&runs)).unwrap();
    let is_latest = |number: &usize| !superseded.contains_key(&runs[*number]);
    assert_eq!((0..28).filter(is_latest).collect::<Vec<_>>(), [13, 27]);
    let page = served.get(&format!("/trends?{query}"), 200);
    assert!(page.contains("mesh 3x2, on hawk</h2>"), "{page}");
    let kinds = options(&page, "kind");
    let names: Vec<&str> = kinds.iter().map(|(_, name)| name.as_str()).collect();
    assert_eq!(names, ["Open MPI, mesh 2x3", "Open MPI, mesh 3x2"]);
    let data = json(&served.get(&format!("/trends.json?{query}&kind={}", kinds[0].0), 200));
    assert_eq!(data["runs"][0]["median_ns"], 100.0);
}

#[test]
fn a_run_in_two_files_counts_once() {
    let night = |number: u32, label: &str, is_cut: bool| {
        let time_ns = if number < 12 { 100.0 } else { 120.0 };
        let mut bytes = night_of(number, &[(1, time_ns)], |record| {
            if let Record::Run(run) = record {
                run.labels.insert("copy".into(), label.into());
            }
        });
        if is_cut {
            let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
            bytes = lines[..lines.len() - 1].concat();
        }
        bytes
    };
    let firsts = (0..15).map(|number| night(number, "first", number == 14));
    let seconds = (12..15).map(|number| night(number, "second", false));
    let served = Served::new(&firsts.chain(seconds).collect::<Vec<_>>());
    assert_eq!(alerts_of(&served), Vec::<Value>::new(), "the new level has lasted three runs");
    assert_eq!(counts(&served, &trend(&served)), [15, 0]);
    let latest = json(&served.get("/api/v1/runs?superseded=hide", 200));
    let latest = latest["runs"].as_array().unwrap();
    assert_eq!(latest.len(), 1, "the file of a killed run is superseded by the whole one");
    let runs = served.runs();
    let superseded = served.site.read(|index| index.superseded(&runs)).unwrap();
    assert_eq!(superseded.len(), 17);
}

#[test]
fn a_trend_is_of_one_library_and_the_form_offers_the_others() {
    let night = |number: u32| {
        let (library, time_ns) =
            [("MPICH Version: 4.3", 150.0), ("Open MPI v5.0.8", 100.0)][usize::from(number < 14)];
        night_of(number, &[(1, time_ns)], |record| {
            if let Record::Run(run) = record {
                run.labels.insert("mpi".into(), library.into());
                run.labels.insert("network".into(), "InfiniBand".into());
            }
        })
    };
    let served = Served::new(&(0..28).map(night).collect::<Vec<_>>());
    let query = trend(&served);
    assert_eq!(counts(&served, &query), [14, 0]);
    let page = served.get(&format!("/trends?{query}&network=infini"), 200);
    assert!(page.contains("<input name=\"network\" value=\"infini\">"), "{page}");
    let kinds = options(&page, "kind");
    let names: Vec<&str> = kinds.iter().map(|(_, name)| name.as_str()).collect();
    assert_eq!(names, ["MPICH, InfiniBand", "Open MPI, InfiniBand"]);
    assert!(page.contains(&format!("<option value=\"{}\" selected>MPICH", kinds[0].0)), "{page}");
    let page = served.get(&format!("/trends?{query}&kind={}", kinds[1].0), 200);
    assert!(
        page.contains(&format!("<option value=\"{}\" selected>Open MPI", kinds[1].0)),
        "{page}"
    );
    let none = served.get(&format!("/trends?{query}&kind={:016x}", 1), 200);
    assert!(none.contains("no run has a time of this number kind 0000000000000001"), "{none}");
    assert_eq!(options(&none, "kind").len(), 2);
}

/// A number that is measured every other night has its neighbours farther away, and with them another mark.
#[test]
fn a_mark_explains_an_alert_by_its_largest_change() {
    for [worst, other] in [[1, 2], [2, 1]] {
        let night = |number: u32| {
            let is_new = number >= 12;
            let of_worst = (worst, if is_new { 150.0 } else { 100.0 });
            let of_other = (other, if is_new { 120.0 } else { 100.0 });
            let times = [of_worst, of_other];
            night_of(number, &times[..if number.is_multiple_of(2) { 2 } else { 1 }], |_| ())
        };
        let served = Served::new(&(0..29).map(night).collect::<Vec<_>>());
        let noon = crate::card::time_ms("2026-01-10T12:00:00Z").unwrap();
        let add = |at_ms| {
            let mark = MarkRow::new("hawk", at_ms, "a new switch", "operator");
            lock(&served.site.writer).add_mark(&mark).unwrap();
        };
        add(noon);
        let found = alerts_of(&served);
        let [alert] = &found[..] else { panic!("{found:?}") };
        assert_eq!(alert["numbers"]["changed"], 2);
        assert_eq!(alert["mark"], Value::Null, "it lies three nights before the largest change");
        add(noon + 2 * crate::card::DAY_MS);
        assert_eq!(alerts_of(&served)[0]["mark"], "a new switch");
    }
}

#[test]
fn a_long_history_is_its_latest_values() {
    let n_runs = crate::index::MAX_VALUES + 10;
    let run = |number: usize| {
        let id = format!("00000000-0000-7000-8000-{number:012}");
        night_of(0, &[(1, 100.0)], |record| {
            rename(record, &id);
            if let Record::Run(run) = record {
                let [hour, minute, second] = [number / 3600, number / 60 % 60, number % 60];
                run.started_at = format!("2026-01-01T{hour:02}:{minute:02}:{second:02}.000Z");
            }
        })
    };
    let served = Served::new(&[(0..n_runs).flat_map(run).collect()]);
    let query = trend(&served);
    let data = json(&served.get(&format!("/trends.json?{query}"), 200));
    let runs = data["runs"].as_array().unwrap();
    assert_eq!((runs.len(), &runs[0]["started_at"]), (5000, &"2026-01-01T00:00:10.000Z".into()));
    let page = served.get(&format!("/trends?{query}"), 200);
    assert!(page.contains("At most the latest 5000 values are read."));
}
