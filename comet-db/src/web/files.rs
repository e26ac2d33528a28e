//! Files behind the pages: reports, result files, styles and scripts.

use std::fs::{self, File};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path as FilePath;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::header::{self, HeaderValue};
use axum::response::{IntoResponse, Response};
use comet_report::plot;
use comet_report::report::{Options, policy, report as page_of};
use tokio_util::io::ReaderStream;

use super::pages::{self, HTML, Page, published};
use super::{Shared, Site, answer, blocking, cache};
use crate::blobs::Blobs;
use crate::card;
use crate::id::BlobId;
use crate::index::Filter;
use crate::rows::RunRow;
use crate::{Error, examine};

/// Type of scripts.
const SCRIPT: &str = "text/javascript; charset=utf-8";
/// Bytes of a file that memory holds for a client that reads it.
const CHUNK: usize = 64 << 10;

/// The report of `run`, from the cache of the database in `folder` if it is there.
pub(super) fn report_of(folder: &FilePath, blobs: &Blobs, run: &RunRow) -> Result<Vec<u8>, Error> {
    let path = cache::path(folder, run.id);
    if let Ok(page) = fs::read(&path) {
        return Ok(page);
    }
    let place = usize::try_from(run.place).unwrap_or(usize::MAX);
    let runs = examine::runs(&blobs.read(run.blob)?)?;
    let one = runs.get(place..=place).unwrap_or_default();
    let page = page_of(one, &Options::default()).into_bytes();
    cache::keep(&path, &page);
    Ok(page)
}

/// Makes the reports of the latest runs, which are looked at first, each in a turn of its own.
pub(super) fn make_reports(site: &Site) -> Result<(), Error> {
    let filter = Filter { state: Some(card::State::Published), ..Filter::default() };
    let latest = site.read(|index| index.runs(&filter, None, pages::RUNS))?;
    let is_new = |run: &RunRow| !cache::path(&site.folder, run.id).exists();
    for (run, _) in latest.runs.iter().filter(|(run, _)| is_new(run)) {
        let _turn = site.reports.one.blocking_lock();
        // A damaged file has no report, as its page says; a panic ends this report alone.
        drop(catch_unwind(AssertUnwindSafe(|| report_of(&site.folder, &site.blobs, run))));
    }
    Ok(())
}

/// The report of a run, as `comet-run report` makes it; it is made once for each version of CoMet.
pub(super) async fn report(State(site): State<Shared>, Path(id): Path<String>) -> Page {
    let known = {
        let site = site.clone();
        blocking(move || {
            let (run, _) = site.read(|index| published(index, &id))?;
            Ok((File::open(cache::path(&site.folder, run.id)).ok(), run))
        })
    };
    let page = match known.await? {
        (Some(page), _) => chunks(page),
        (None, run) => {
            // Waiting requests take no thread, and hold no file.
            let turn = site.reports.turn().await?;
            blocking(move || {
                let _turn = turn;
                let page = report_of(&site.folder, &site.blobs, &run)?;
                let kept = File::open(cache::path(&site.folder, run.id));
                Ok(kept.map_or_else(|_| page.into(), chunks))
            })
            .await?
        }
    };
    let mut answer = answer(HTML, page);
    // The page has styles and a script of its own, each admitted by its hash.
    if let Ok(policy) = HeaderValue::from_str(&format!("{}; frame-ancestors 'none'", policy())) {
        answer.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    Ok(answer)
}

/// A body with the contents of `file`, of which memory holds a part at a time.
pub(super) fn chunks(file: File) -> Body {
    Body::from_stream(ReaderStream::with_capacity(tokio::fs::File::from_std(file), CHUNK))
}

/// The packed form of the blob `id`.
pub(super) fn packed(blobs: &Blobs, id: BlobId) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    let read = std::io::Read::read_to_end(&mut blobs.packed(id)?, &mut bytes);
    read.map_err(Error::io("read", id.to_string(), "restore it from a backup"))?;
    Ok(bytes)
}

/// A result file, packed.
pub(super) async fn file(State(site): State<Shared>, Path(id): Path<String>) -> Page {
    let file = blocking(move || {
        let unknown = || Error::Unknown("there is no such file".into());
        let id: BlobId =
            id.strip_suffix(".jsonl.gz").unwrap_or(&id).parse().map_err(|_| unknown())?;
        if !site.read(|index| index.is_published(id))? {
            return Err(unknown());
        }
        let file = site.blobs.packed(id)?;
        let size = file.metadata().map_err(Error::io("read", id.to_string(), "is it a file?"))?;
        Ok((file, size.len()))
    });
    let (file, size) = file.await?;
    let headers = [
        (header::CONTENT_TYPE, "application/gzip"),
        (header::CONTENT_DISPOSITION, "attachment"),
        (header::CACHE_CONTROL, "public, max-age=31536000, immutable"),
    ];
    Ok((headers, [(header::CONTENT_LENGTH, size)], chunks(file)).into_response())
}

/// The style sheet of all pages, with the rules of figures.
pub(super) fn style_sheet() -> String {
    format!("{}\n{}", plot::css(), include_str!("../../templates/style.css"))
}

/// The script of pages with one figure.
pub(super) fn figure_script() -> String {
    plot::script_with(include_str!("../../templates/zoom.js"))
}

pub(super) async fn style() -> Response {
    answer("text/css; charset=utf-8", style_sheet())
}

pub(super) async fn script() -> Response {
    answer(SCRIPT, figure_script())
}
