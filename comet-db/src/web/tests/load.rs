//! Facts about what requests take of the server, and about addresses of what lies far back.

use std::pin::Pin;

use hyper::body::Body as _;

use super::*;

#[test]
fn a_file_is_sent_in_parts() {
    let folder = Folder::new();
    let text = "x".repeat(1 << 20);
    let path = folder.write("file", &text);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let sizes = runtime.block_on(async {
        let mut body = files::chunks(std::fs::File::open(path).unwrap());
        let mut sizes = Vec::new();
        while let Some(frame) =
            std::future::poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await
        {
            sizes.push(frame.unwrap().into_data().unwrap().len());
        }
        sizes
    });
    assert_eq!(sizes.iter().sum::<usize>(), text.len());
    assert!(sizes.iter().all(|size| *size <= 64 << 10), "{sizes:?}");
    let served = Served::new(&[Example::default().file()]);
    let blob = crate::id::BlobId::of(&Example::default().file());
    let (_, body) = served.send(Method::GET, &format!("/files/{blob}.jsonl.gz"), "", Vec::new());
    let kept = files::packed(&served.site.blobs, blob).unwrap();
    assert_eq!(body, String::from_utf8_lossy(&kept));
}

#[test]
fn comparisons_are_kept_and_few_wait_for_their_turn() {
    let files = [0, 1].map(|number| Example { number, ..Example::default() }.file());
    let served = Served::new(&files);
    let query = served.query(&served.runs());
    let first = served.get(&format!("/compare.json?{query}"), 200);
    // All turns are taken from here on.
    let places = served.site.reports.places.clone();
    let _taken = places.try_acquire_many_owned(u32::try_from(WAITING).unwrap()).unwrap();
    assert_eq!(served.get(&format!("/compare.json?{query}"), 200), first);
    assert!(served.get(&format!("/compare?{query}"), 200).contains(" against "));
    for path in [format!("/compare.json?{query}&from=2"), format!("/compare?{query}&from=2")] {
        assert!(served.get(&path, 503).contains("many reports are being made (try again later)"));
    }
    served.get(&format!("/runs/{}/report", served.runs()[0]), 503);
}

/// What the server makes before somebody asks takes a core and memory like what is asked for.
#[test]
fn reports_that_nobody_asked_for_wait_for_their_turn_and_pass_over_damaged_files() {
    let of = |number, day| Example { number, day, ..Example::default() }.file();
    let (early, late) = (of(0, "2026-01-01"), of(1, "2026-01-02"));
    let served = Served::new(&[early, late.clone()]);
    let name = crate::id::BlobId::of(&late).to_string();
    let blob = served.site.folder.join("data").join(&name[..2]).join(name + ".jsonl.gz");
    std::fs::write(blob, "damaged").unwrap();
    let path = cache::path(&served.site.folder, served.runs()[0]);
    let turn = served.site.reports.one.clone().blocking_lock_owned();
    thread::scope(|scope| {
        let makes = scope.spawn(|| files::make_reports(&served.site));
        for _ in 0..20 {
            thread::sleep(Duration::from_millis(10));
            assert!(!makes.is_finished() && !path.exists(), "another has the turn");
        }
        drop(turn);
        makes.join().unwrap().unwrap();
    });
    assert!(path.exists(), "the file before the damaged one is whole");
}

/// An alert is about any of the latest 500 runs of a machine, and about those of one library.
#[test]
fn the_link_of_an_alert_leads_to_its_number_however_far_back_it_lies() {
    let mut files: Vec<Vec<u8>> =
        (0..17).map(|number| night(number, if number < 12 { 100.0 } else { 120.0 })).collect();
    let other = String::from_utf8(night(20, 500.0)).unwrap();
    files.push(other.replace("Open MPI v", "Another Open MPI v").into_bytes());
    files.extend((0..25).map(|number| {
        let example = Example { number: 100 + number, day: "2026-02-01", ..Example::default() };
        changed(&example, |point| in_variants(&point, "pingpong", &["Send-Recv"]))
    }));
    let served = Served::new(&files);
    served.site.refresh().unwrap();
    let page = served.get("/", 200);
    let link = page.split('"').find(|text| text.starts_with("/trends?machine=hawk")).unwrap();
    let link = link.replace("&#38;", "&");
    let page = served.get(&link, 200);
    assert!(page.contains("<strong>20.0 % slower</strong> since 2026-01-13"), "{page}");
    let data = served.get(&link.replace("/trends", "/trends.json"), 200);
    let data: serde_json::Value = serde_json::from_str(&data).unwrap();
    assert_eq!(data["runs"].as_array().unwrap().len(), 17, "the other library is another history");
    let to = Folder::new();
    let site = to.path().join("site");
    publish::publish(&served.site.folder, &site, suites(), 0).unwrap();
    let front = std::fs::read_to_string(site.join("index.html")).unwrap();
    let trend = front.split('"').find(|text| text.starts_with("trends/")).unwrap();
    assert!(std::fs::read_to_string(site.join(trend)).unwrap().contains("<svg"));
}
