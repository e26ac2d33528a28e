//! Facts about the server as a whole, by requests without a network.

mod load;
mod strangers;
mod trends;
mod words;

use axum::body::to_bytes;
use axum::http::Method;
use comet_report::record::{Param, Point, Record};
use hyper::service::Service as _;

use super::*;
use crate::fixture::{Example, Folder, file, night, token};
use crate::index::marks::MarkRow;
use crate::index::{Filter, SeriesUse};
use crate::limits::Limits;
use crate::overlay;
use crate::token::{Scope, Secret};
use crate::{Arrival, id::Id};

/// The kernels of a program that has one.
pub(super) fn suites() -> Vec<Suite> {
    let page = "### comet/echo\n\nOne way.\n\n**Source**: the thesis\n".into();
    let echo = kernels::Kernel { name: "echo".into(), summary: "One way".into(), page };
    vec![Suite { name: "comet".into(), about: "kernels".into(), kernels: vec![echo] }]
}

/// A database with its pages.
struct Served {
    site: Shared,
    // After the site, which holds files in it.
    _folder: Folder,
}

impl Served {
    /// A database of published `files`.
    fn new(files: &[Vec<u8>]) -> Self {
        Self::within(TIMES, files)
    }

    /// A database of published `files`, whose clients may take these `times`.
    fn within(times: Times, files: &[Vec<u8>]) -> Self {
        let folder = Folder::on_engine();
        drop(Database::open(folder.path()).unwrap());
        let site = Site::open(folder.path(), Vec::new(), suites()).unwrap();
        let site = Arc::new(Site { times, ..site });
        for bytes in files {
            let arrival = Arrival { bytes, limits: Limits::OWN, token: None };
            lock(&site.writer).add(arrival).unwrap();
        }
        Self { site, _folder: folder }
    }

    /// The secret of a token `lab`, which submits.
    fn submitter(&self) -> Secret {
        lock(&self.site.writer).add_token(token("lab", &[Scope::Submit], "*")).unwrap()
    }

    fn send(&self, method: Method, path: &str, secret: &str, body: Vec<u8>) -> (u16, String) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let request = Request::builder().method(method).uri(path);
            let request = request.header(header::AUTHORIZATION, format!("Bearer {secret}"));
            let service = TowerToHyperService::new(router(self.site.clone()));
            let answer = service.call(request.body(Body::from(body)).unwrap()).await.unwrap();
            let status = answer.status().as_u16();
            let policy = answer.headers()[header::CONTENT_SECURITY_POLICY].to_str().unwrap();
            assert!(policy.starts_with("default-src 'none'"), "{path}: {policy}");
            assert!(!policy.contains("unsafe"), "{path}: {policy}");
            let body = to_bytes(answer.into_body(), usize::MAX).await.unwrap();
            (status, String::from_utf8_lossy(&body).into_owned())
        })
    }

    /// The answer at `path`, which has to have this status.
    #[track_caller]
    fn get(&self, path: &str, expected: u16) -> String {
        let (status, body) = self.send(Method::GET, path, "", Vec::new());
        assert_eq!(status, expected, "{path}: {body}");
        body
    }

    /// Ids of all runs, the earliest first, pending ones among them.
    fn runs(&self) -> Vec<Id> {
        let page = self.site.read(|index| index.runs(&Filter::default(), None, 100)).unwrap();
        page.runs.iter().rev().map(|(run, _)| run.id).collect()
    }

    /// The series of `runs`.
    fn series(&self, runs: &[Id]) -> Vec<SeriesUse> {
        self.site.read(|index| index.series(runs)).unwrap()
    }

    /// The end of the address with all `runs` and all of their series.
    fn query(&self, runs: &[Id]) -> String {
        let of_runs = runs.iter().map(|id| format!("run={id}"));
        let series = overlay::distinct(&self.series(runs)).into_iter();
        let series = series.map(|(series, _)| format!("series={}", series.id));
        of_runs.chain(series).collect::<Vec<_>>().join("&")
    }
}

/// The file of `example` with the points that `change` makes of each of its own.
fn changed(example: &Example, change: impl Fn(Point) -> Vec<Point>) -> Vec<u8> {
    let (mut records, mut n_points) = (Vec::new(), 0);
    for record in example.records() {
        match record {
            Record::Point(point) => {
                for point in change(*point) {
                    let (seq, key) = (n_points as u64, format!("{}{n_points:x}", point.key));
                    records.push(Record::Point(Box::new(Point { seq, key, ..point })));
                    n_points += 1;
                }
            }
            Record::End(mut end) => {
                end.points.ok = n_points;
                records.push(Record::End(end));
            }
            other => records.push(other),
        }
    }
    file(&records)
}

/// The points of `point` in each of `variants` of `kernel`.
fn in_variants(point: &Point, kernel: &str, variants: &[&str]) -> Vec<Point> {
    let of = |variant: &&str| Point {
        kernel: kernel.to_owned().into(),
        variant: Some((*variant).to_owned().into()),
        ..point.clone()
    };
    variants.iter().map(of).collect()
}

/// SK-80: detailed reports of all runs, and the files.
#[test]
fn every_published_run_has_its_report_and_its_file() {
    let served = Served::new(&[Example::default().file()]);
    let id = served.runs()[0];
    let page = served.get(&format!("/runs/{id}"), 200);
    let link = page.split('"').find(|text| text.starts_with("/files/")).unwrap();
    served.get(link, 200);
    assert!(served.get(&format!("/runs/{id}/report"), 200).contains("<svg"));
}

#[test]
fn reports_of_the_latest_runs_are_made_before_somebody_asks() {
    let served = Served::new(&[Example::default().file()]);
    let path = cache::path(&served.site.folder, served.runs()[0]);
    files::make_reports(&served.site).unwrap();
    std::fs::write(&path, "as it was made").unwrap();
    files::make_reports(&served.site).unwrap();
    let page = served.get(&format!("/runs/{}/report", served.runs()[0]), 200);
    assert_eq!(page, "as it was made", "once");
}

/// SK-81: machines and runs, then series, then one plot of all, zoom, and files of the figure.
#[test]
fn runs_are_chosen_then_series_then_there_is_one_figure() {
    let days = [("hawk", "2026-01-01"), ("lumi", "2026-01-02"), ("hawk", "2026-01-03")];
    let numbered = days.iter().zip(0..);
    let files =
        numbered.map(|((machine, day), number)| Example { number, machine, day, n_points: 8 });
    let files: Vec<Vec<u8>> = files.map(|example| example.file()).collect();
    let served = Served::new(&files);
    let runs = served.runs();
    let page = served.get("/compare?machine=hawk&mpi=&network=", 200);
    let is_listed = |id: &Id| page.contains(&format!("value=\"{id}\""));
    assert_eq!(runs.iter().map(is_listed).collect::<Vec<_>>(), [true, false, true]);
    let page = served.get(&format!("/compare?run={}&run={}", runs[0], runs[1]), 200);
    let series = served.series(&runs)[0].series.id;
    assert!(
        page.contains(&format!("name=\"series\" value=\"{series}\"")) && !page.contains("<svg")
    );
    let query = served.query(&runs[..2]);
    let page = served.get(&format!("/compare?{query}"), 200);
    assert!(
        page.contains(&format!("href=\"/compare.svg?{}\"", query.replace('&', "&#38;"))),
        "{page}"
    );
    assert!(page.contains("<svg") && page.contains("href=\"/kernels/comet#echo\""), "{page}");
    assert!(page.contains("lumi against hawk") && page.contains("comet/echo"), "{page}");
    let csv = |end: &str| served.get(&format!("/compare.csv?{query}{end}"), 200);
    assert_eq!(csv("").lines().count(), 1 + 16);
    assert_eq!(csv("&from=2&to=8").lines().count(), 1 + 6, "a zoom is an address");
    assert!(served.get(&format!("/compare.svg?{query}&dark=1"), 200).starts_with("<svg"));
    assert!(served.get(&format!("/compare.gp?{query}"), 200).contains("plot"));
    let data = served.get(&format!("/compare.json?{query}"), 200);
    let data: serde_json::Value = serde_json::from_str(&data).unwrap();
    assert_eq!(data["points"].as_array().unwrap().len(), 16);
    let rows = &data["comparisons"][0]["comparison"]["points"];
    assert_eq!((rows.as_array().unwrap().len(), &rows[0]["ratio"]), (8, &serde_json::json!(1.0)));
}

#[test]
fn a_comparison_warns_of_environments_that_differ() {
    let one = Example::default().records();
    let mut two = Example { number: 1, ..Example::default() }.records();
    let Record::Run(run) = &mut two[0] else { panic!("a run comes first") };
    run.fingerprint = "other".into();
    let served = Served::new(&[file(&one), file(&two)]);
    let query = served.query(&served.runs());
    let page = served.get(&format!("/compare?{query}"), 200);
    assert!(page.contains("Environments differ:") && page.contains("<li>fingerprint: "), "{page}");
    let same = Served::new(&[file(&one)]);
    let page = same.get(&format!("/compare?{}", same.query(&same.runs())), 200);
    assert!(!page.contains("Environments differ:"));
}

/// SK-82: results of others, with their machine and its age, once the operator has looked at them.
#[test]
fn a_submission_is_in_no_comparison_until_it_is_published() {
    let served = Served::new(&[Example::default().file()]);
    let secret = served.submitter();
    let example = Example { number: 1, machine: "cluster", day: "2025-12-24", n_points: 3 };
    let sent = served.send(Method::POST, "/api/v1/runs", secret.reveal(), example.file());
    assert_eq!(sent.0, 201, "{}", sent.1);
    let runs = served.runs();
    let query = served.query(&runs);
    assert!(!served.get("/compare", 200).contains("cluster"));
    for end in ["", ".svg", ".csv", ".gp", ".json"] {
        let body = served.get(&format!("/compare{end}?{query}"), 404);
        assert!(body.contains("there is no such run") && !body.contains("cluster"), "{body}");
    }
    let blob = crate::id::BlobId::of(&example.file());
    lock(&served.site.writer).publish(blob, "operator").unwrap();
    let page = served.get(&format!("/compare?{query}"), 200);
    assert!(page.contains("cluster, 2025-12-24 00:00 <time class=\"age\""), "{page}");
}

/// SK-83: figure 5 of the paper, one series of several machines over the length, where lengths that were
/// measured in addition are further points.
#[test]
fn one_series_of_several_machines_is_a_figure_over_lengths() {
    let of = |number, machine, n_points| {
        Example { number, machine, n_points, ..Example::default() }.file()
    };
    let served = Served::new(&[of(0, "t3e", 5), of(1, "sp2", 9)]);
    let csv = served.get(&format!("/compare.csv?{}", served.query(&served.runs())), 200);
    let n = |name: &str| csv.lines().filter(|line| line.contains(name)).count();
    assert_eq!((n("t3e"), n("sp2")), (5, 9), "{csv}");
}

/// SK-84: figure 6, several series on one machine.
#[test]
fn several_series_of_one_machine_are_a_figure() {
    let names = ["Send-Recv", "Isend-Recv", "Send-Irecv", "Sendrecv"];
    let bytes = changed(&Example::default(), |point| in_variants(&point, "pingpong", &names));
    let served = Served::new(&[bytes]);
    let query = served.query(&served.runs());
    let csv = served.get(&format!("/compare.csv?{query}"), 200);
    for name in names {
        let name = format!("comet/pingpong {name} hops=1");
        assert_eq!(csv.lines().filter(|line| line.contains(&name)).count(), 3, "{csv}");
    }
    assert!(served.get(&format!("/compare?{query}"), 200).contains("<h2>4 series</h2>"));
}

/// SK-85: figure 7, gathers over the number of ranks at 256 B.
#[test]
fn gathers_are_a_figure_over_ranks_at_one_length() {
    let bytes = changed(&Example::default(), |point| {
        let at = |procs: u64, bytes: u64| {
            let mut point = point.clone();
            for (name, value) in &mut point.params.0 {
                match name.as_str() {
                    "procs" => *value = Param::Number(procs),
                    "length_bytes" => *value = Param::Number(bytes),
                    _ => (),
                }
            }
            in_variants(&point, "gather", &["library", "one by one", "tree"])
        };
        let is_first = point.seq == 0;
        let all = [2, 4, 8, 16].into_iter().flat_map(|procs| [at(procs, 256), at(procs, 512)]);
        if is_first { all.flatten().collect() } else { Vec::new() }
    });
    let served = Served::new(&[bytes]);
    let query = format!("{}&x=ranks&at=256", served.query(&served.runs()));
    let csv = served.get(&format!("/compare.csv?{query}"), 200);
    assert_eq!(csv.lines().count(), 1 + 3 * 4, "{csv}");
    assert!(served.get(&format!("/compare.svg?{query}"), 200).contains("number of ranks P"));
}

#[test]
fn runs_of_one_file_over_different_numbers_of_ranks_are_one_curve() {
    let of = |number, ranks: u64| {
        let mut records = Example { number, n_points: 1, ..Example::default() }.records();
        for record in &mut records {
            match record {
                Record::Run(run) => run.world.size = usize::try_from(ranks).unwrap(),
                Record::Point(point) => {
                    let params = &mut point.params.0;
                    params.retain(|(name, _)| name != "procs");
                    params.push(("procs".into(), Param::Number(ranks)));
                    point.key = format!("{ranks:016x}");
                }
                _ => (),
            }
        }
        file(&records)
    };
    let sweep = |first: u32| (0..3_u32).flat_map(|n| of(first + n, 2 << n)).collect::<Vec<u8>>();
    let served = Served::new(&[sweep(0), sweep(10)]);
    let (runs, query) = (served.runs(), served.query(&served.runs()));
    assert_eq!(runs.len(), 6);
    let csv = served.get(&format!("/compare.csv?{query}"), 200);
    assert_eq!(csv.lines().count(), 1 + 6, "{csv}");
    let data = served.get(&format!("/compare.json?{query}"), 200);
    let data: serde_json::Value = serde_json::from_str(&data).unwrap();
    let comparisons = data["comparisons"].as_array().unwrap();
    assert_eq!((comparisons.len(), comparisons[0]["runs"].as_array().unwrap().len()), (1, 3));
}

#[test]
fn requests_that_name_nothing_are_answered_by_a_sentence() {
    let served = Served::new(&[Example::default().file()]);
    served.get("/compare", 200);
    served.get("/compare.csv", 404);
    for fields in ["title=%00x", "machine=%00", "label=%0A"] {
        assert!(served.get(&format!("/?{fields}"), 400).contains("expected no control character"));
    }
    assert!(served.get("/compare?x=sideways", 400).contains("expected length or ranks"));
    assert!(served.get("/compare?state=pending", 400).contains("expected a field of this page"));
    assert!(served.get("/compare?run=0000000000000001", 404).contains("there is no such run"));
}

#[test]
fn names_in_a_comparison_are_text() {
    const HOSTILE: &str = "\"><script>alert(1)</script>";
    let mut records = Example::default().records();
    let Record::Run(run) = &mut records[0] else { panic!("a run comes first") };
    run.labels.insert("machine".into(), HOSTILE.into());
    let mut other = records.clone();
    let Record::Run(run) = &mut other[0] else { panic!("a run comes first") };
    (run.run_id, run.fingerprint) = (run.run_id.replace('0', "1"), HOSTILE.into());
    let id = run.run_id.clone();
    for record in &mut other {
        match record {
            Record::Point(point) => point.run_id.clone_from(&id),
            Record::End(end) => end.run_id = Some(id.clone()),
            _ => (),
        }
    }
    for record in records.iter_mut().chain(&mut other) {
        if let Record::Point(point) = record {
            (point.kernel, point.variant) =
                (HOSTILE.to_owned().into(), Some(HOSTILE.to_owned().into()));
        }
    }
    let served = Served::new(&[file(&records), file(&other)]);
    let query = served.query(&served.runs());
    for path in ["/compare", "/compare.svg"] {
        let page = served.get(&format!("{path}?{query}"), 200);
        let page = page.replace("<script src=\"/plot.js\">", "");
        assert!(page.contains("script") && !page.contains("<script"), "{page}");
    }
}

#[test]
fn a_change_is_seen_in_the_trend_of_its_machine() {
    let files: Vec<Vec<u8>> =
        (0..20).map(|number| night(number, if number < 12 { 100.0 } else { 120.0 })).collect();
    let served = Served::new(&files);
    let runs = served.runs();
    let series = served.series(&runs[..1])[0].series.id;
    assert!(served.get("/trends", 200).contains("<option>hawk</option>"));
    assert!(served.get("/trends?machine=hawk", 200).contains(&series.to_string()));
    let query = format!("machine=hawk&series={series}&length=2&ranks=2");
    let page = served.get(&format!("/trends?{query}"), 200);
    assert!(page.contains("<strong>20.0 % slower</strong> since 2026-01-13"), "{page}");
    assert!(page.contains(&format!("/compare?run={}&#38;run={}", runs[11], runs[12])), "{page}");
    let data = served.get(&format!("/trends.json?{query}"), 200);
    let data: serde_json::Value = serde_json::from_str(&data).unwrap();
    assert_eq!((data["runs"].as_array().unwrap().len(), &data["x"]), (20, &2.into()));
    assert_eq!(data["changes"][0]["run"], runs[12].to_string());
    assert!(served.get(&format!("/trends.svg?{query}"), 200).contains("20.0 % slower"));
    assert!(served.get(&format!("/trends.csv?{query}"), 200).lines().count() > 20);
    let part = served.get(&format!("/trends.json?{query}&until=2026-01-06"), 200);
    let part: serde_json::Value = serde_json::from_str(&part).unwrap();
    assert_eq!(part["runs"].as_array().unwrap().len(), 6, "until is the last day");
    served.get("/trends.svg?machine=hawk", 404);
    served.get("/trends?machine=nobody", 200);
    assert!(served.get("/trends?machine=hawk&length=x", 400).contains("expected a whole number"));
}

#[test]
fn an_alert_is_on_the_front_page_until_a_mark_explains_it() {
    let served = Served::new(&(0..12).map(|number| night(number, 100.0)).collect::<Vec<_>>());
    served.site.refresh().unwrap();
    assert!(!served.get("/", 200).contains("Alerts"));
    for number in 12..17 {
        assert!(!served.get("/", 200).contains("Alerts"), "before night {number}");
        let bytes = night(number, 120.0);
        let arrival = Arrival { bytes: &bytes, limits: Limits::OWN, token: None };
        lock(&served.site.writer).add(arrival).unwrap();
        assert!(served.site.refresh().unwrap() && !served.site.refresh().unwrap());
    }
    for path in ["/", "/trends"] {
        let page = served.get(path, 200);
        assert!(page.contains("20.0 % slower</strong> on hawk since 2026-01-13"), "{page}");
        let link = page.split('"').find(|text| text.starts_with("/trends?machine=hawk")).unwrap();
        let page = served.get(&link.replace("&#38;", "&"), 200);
        assert!(page.contains("<strong>20.0 % slower</strong> since 2026-01-13"), "{page}");
    }
    let data = served.get("/api/v1/alerts", 200);
    let data: serde_json::Value = serde_json::from_str(&data).unwrap();
    assert_eq!(data["alerts"][0]["numbers"], serde_json::json!({ "changed": 2, "all": 2 }));
    let (day_ms, note) = (crate::card::time_ms("2026-01-12").unwrap(), "<script>a new switch");
    let mark = MarkRow::new("hawk", day_ms, note, "operator");
    lock(&served.site.writer).add_mark(&mark).unwrap();
    served.site.refresh().unwrap();
    assert!(!served.get("/", 200).contains("Alerts"));
    let series = served.series(&served.runs()[..1])[0].series.id;
    for end in ["", ".svg"] {
        let page = served.get(&format!("/trends{end}?machine=hawk&series={series}"), 200);
        let page = page.replace("<script src=\"/plot.js\">", "");
        assert!(page.contains("a new switch") && !page.contains("<script"), "{page}");
    }
}

#[test]
fn calls_answer_with_what_their_description_names() {
    let served = Served::new(&[Example::default().file()]);
    let id = served.runs()[0].to_string();
    let document: serde_json::Value =
        serde_json::from_str(&served.get("/api/v1/openapi.json", 200)).unwrap();
    let nothing = served.get("/api/v1/nothing", 404);
    assert!(nothing.starts_with("{\"error\":\"the API has no such path (see "), "{nothing}");
    assert_eq!(document["openapi"], "3.1.0");
    for call in CALLS.iter().filter(|call| call.method == "get") {
        let path = call.route.path.replace("{id}", &id);
        let answer: serde_json::Value = serde_json::from_str(&served.get(&path, 200)).unwrap();
        for name in call.names {
            assert!(answer.get(name).is_some(), "{path} has no {name}: {answer}");
        }
        for (name, _) in call.fields {
            served.get(&format!("{path}?{name}="), 200);
        }
        if !call.fields.is_empty() {
            served.get(&format!("{path}?nothing=1"), 400);
        }
    }
}

#[test]
fn a_token_that_submits_too_much_waits() {
    let served = Served::new(&[]);
    let secret = served.submitter();
    let send = || served.send(Method::POST, "/api/v1/runs", secret.reveal(), b"x\n".to_vec());
    assert_eq!(send().0, 422);
    let now = std::time::Instant::now();
    while served.site.submitters.take(&"lab".to_owned(), now).is_ok() {}
    let (status, body) = send();
    assert_eq!(status, 429, "{body}");
    assert!(body.contains("these are too many requests (try again in "), "{body}");
    let answer = too_many(std::time::Duration::from_millis(1500)).into_response();
    assert_eq!(answer.headers()[header::RETRY_AFTER], "2");
}

#[test]
fn a_run_is_superseded_by_the_latest_published_one_of_its_subject() {
    let of = |number, machine, day| Example { number, machine, day, n_points: 2 }.file();
    let days = [
        ("hawk", "2026-01-01"),
        ("lumi", "2026-01-02"),
        ("hawk", "2026-01-03"),
        ("hawk", "2026-01-04"),
    ];
    let files: Vec<Vec<u8>> =
        days.iter().zip(0..).map(|((machine, day), number)| of(number, machine, day)).collect();
    let served = Served::new(&files);
    let secret = served.submitter();
    let sent =
        served.send(Method::POST, "/api/v1/runs", secret.reveal(), of(9, "hawk", "2026-01-05"));
    assert_eq!(sent.0, 201);
    let runs = served.runs();
    let superseded = served.site.read(|index| index.superseded(&runs)).unwrap();
    let by = |number: usize| superseded.get(&runs[number]).map(|(id, _)| *id);
    let latest = Some(runs[3]);
    assert_eq!(
        [0, 1, 2, 3].map(by),
        [latest, None, latest, None],
        "the pending one supersedes none"
    );
    let page = served.get(&format!("/runs/{}", runs[0]), 200);
    assert!(page.contains(&format!("Superseded by <a href=\"/runs/{}\">", runs[3])), "{page}");
    assert_eq!(served.get("/", 200).matches("class=\"old\"").count(), 2);
    let page = served.get("/?superseded=hide", 200);
    assert_eq!((page.matches("class=\"old\"").count(), page.matches("<tr>").count()), (0, 3));
    assert!(served.get("/?superseded=never", 400).contains("expected hide"));
    let data = served.get("/api/v1/runs?limit=1&superseded=hide", 200);
    let data: serde_json::Value = serde_json::from_str(&data).unwrap();
    assert_eq!(data["runs"][0]["superseded_by"], serde_json::Value::Null);
}

#[test]
fn kernels_of_the_program_have_pages_and_links_to_them() {
    let served = Served::new(&[Example::default().file()]);
    assert!(served.get("/kernels", 200).contains("href=\"/kernels/comet#echo\""));
    assert!(served.get("/kernels/comet", 200).contains("<dt>Source</dt><dd>the thesis</dd>"));
    served.get("/kernels/other", 404);
    let page = served.get(&format!("/runs/{}", served.runs()[0]), 200);
    assert!(page.contains("<a href=\"/kernels/comet#echo\">comet/echo</a>"), "{page}");
}

#[test]
fn figures_have_the_forms_that_the_program_was_built_with() {
    let served = Served::new(&[Example::default().file()]);
    let query = served.query(&served.runs());
    let page = served.get(&format!("/compare?{query}"), 200);
    assert_eq!(page.contains("/compare.png?"), comet_report::plot::HAS_PNG);
    let status = if comet_report::plot::HAS_PNG { 200 } else { 404 };
    served.get(&format!("/compare.png?{query}"), status);
    served.get("/plot.js", 200);
}

#[test]
fn counters_are_open_metrics_and_know_nothing_of_pending_runs() {
    let served = Served::new(&[Example::default().file()]);
    served.get("/", 200);
    served.get("/nothing", 404);
    let text = served.get("/metrics", 200);
    let lines = ["comet_requests_total{status=\"2xx\"} 1", "comet_runs 1", "comet_machines 1"];
    for line in lines.iter().chain(&["comet_requests_total{status=\"4xx\"} 1"]) {
        assert!(text.lines().any(|other| other == *line), "{line} is not in {text}");
    }
    assert!(text.ends_with("# EOF\n") && !text.contains("pending"), "{text}");
}
