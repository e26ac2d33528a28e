//! The server: pages for people, answers for programs, and the door for submissions.
//!
//! ```text
//!   connection ──► head within 10 s ──► request within 60 s ──► page or answer
//!                  (at most 256)         body at most 64 MiB      on a thread for blocking work
//! ```
//!
//! Every state of a page is its address. Pages load a style sheet and a script by their own addresses and
//! nothing else, and can be read without the script; templates escape all that comes from records. Runs
//! that are not published are in no answer.

mod api;
mod cache;
mod compare;
mod figure;
mod files;
pub mod kernels;
mod links;
mod metrics;
mod openapi;
mod pages;
pub mod publish;
mod rate;
mod routes;
mod site_folder;
mod trends;

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{self, HeaderValue};
use axum::http::{StatusCode, Uri};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{OwnedMutexGuard, OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use self::compare::Compared;
use self::kernels::Suite;
use self::links::Links;
use self::metrics::Counters;
use self::rate::{Peer, Rate};
use self::routes::{CALLS, PAGES};
use crate::alert::{Alert, alerts};
use crate::blobs::Blobs;
use crate::engine;
use crate::index::Index;
use crate::{Database, Error};

/// The most connections at a time; others wait.
const CONNECTIONS: usize = 256;
/// The most submissions at a time; others wait.
const UPLOADS: usize = 4;
/// The most reports and comparisons that are made or waited for at a time; others are sent away.
const WAITING: usize = 16;
/// The most that a client may take.
const TIMES: Times = Times {
    head: Duration::from_secs(10),
    request: Duration::from_secs(60),
    connection: Duration::from_secs(600),
    stop: Duration::from_secs(10),
};
/// Requests that an address may send at once, and each second after that; and submissions of a token.
const CLIENT: [f64; 2] = [300.0, 10.0];
const SUBMITTER: [f64; 2] = [100.0, 1.0];
/// Times between looks for changes of the database, and the multiple of its work that follows a look.
const LOOKS: [Duration; 2] = [Duration::from_secs(2), Duration::from_secs(60)];
const REST: u32 = 10;
/// Lowest priority of a thread.
const LOWEST: i32 = 19;
/// The most alerts of a page.
const ALERTS: usize = 10;
/// Threads that answer.
const WORKERS: usize = 2;
/// Threads that read the index and files.
const BLOCKING: usize = 8;
/// Policy of pages: styles and scripts of this server, forms and requests to it, and nothing else.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Times after which a client is given up.
#[derive(Clone, Copy, Debug)]
struct Times {
    /// Of the head of a request.
    head: Duration,
    /// Of a request, with its body, until the answer begins.
    request: Duration,
    /// Of a connection, however many requests it has, with all that is read of their answers.
    connection: Duration,
    /// Of requests at hand once the server stops.
    stop: Duration,
}

/// A database that is served.
struct Site {
    folder: PathBuf,
    times: Times,
    blobs: Blobs,
    writer: Mutex<Database>,
    readers: Mutex<Vec<Index>>,
    /// Places of submissions that hold a body in memory.
    uploads: Arc<Semaphore>,
    /// One submission at a time is examined: each takes many times its size.
    examinations: Arc<Semaphore>,
    reports: Turns,
    kernels: Arc<Vec<Suite>>,
    alerts: Mutex<Alerts>,
    compared: Mutex<Compared>,
    /// Addresses of proxies, which name their clients; those of this machine are believed in any case.
    proxies: Vec<IpAddr>,
    /// Requests of each address that is not this machine's.
    clients: Rate<IpAddr>,
    /// Submissions of each token, by its name.
    submitters: Rate<String>,
    counters: Counters,
}

/// Alerts of the database as of one revision of it.
#[derive(Clone, Default)]
struct Alerts {
    revision: Option<i64>,
    all: Arc<Vec<Alert>>,
}

type Shared = Arc<Site>;

impl Site {
    fn open(folder: &Path, proxies: Vec<IpAddr>, kernels: Vec<Suite>) -> Result<Self, Error> {
        Database::require(folder)?;
        engine::admit_many(folder)?;
        let database = Database::open(folder)?;
        Ok(Self {
            folder: folder.into(),
            times: TIMES,
            blobs: database.blobs().clone(),
            writer: Mutex::new(database),
            readers: Mutex::default(),
            uploads: Arc::new(Semaphore::new(UPLOADS)),
            examinations: Arc::new(Semaphore::new(1)),
            reports: Turns::new(),
            kernels: Arc::new(kernels),
            alerts: Mutex::default(),
            compared: Mutex::default(),
            proxies,
            clients: Rate::new(CLIENT[0], CLIENT[1]),
            submitters: Rate::new(SUBMITTER[0], SUBMITTER[1]),
            counters: Counters::default(),
        })
    }

    /// Does `work` with a connection of its own.
    fn read<T>(&self, work: impl FnOnce(&mut Index) -> Result<T, Error>) -> Result<T, Error> {
        let idle = lock(&self.readers).pop();
        let mut index = match idle {
            Some(index) => index,
            None => Database::reader(&self.folder)?,
        };
        let done = work(&mut index);
        lock(&self.readers).push(index);
        done
    }

    /// Links of a page that is made now.
    fn links(&self) -> Links {
        Links::served(&self.kernels)
    }

    /// The alerts as they were last looked for.
    fn alerts(&self) -> Arc<Vec<Alert>> {
        lock(&self.alerts).all.clone()
    }

    /// Those of them that no mark explains, a page of them.
    fn open_alerts(&self) -> Vec<Alert> {
        let all = self.alerts();
        all.iter().filter(|alert| alert.mark.is_none()).take(ALERTS).cloned().collect()
    }

    /// Looks for alerts, if the database has changed since it was last done; true if it has.
    fn refresh(&self) -> Result<bool, Error> {
        let known = lock(&self.alerts).revision;
        let revision = self.read(Index::revision)?;
        if known == Some(revision) {
            return Ok(false);
        }
        let all = Arc::new(self.read(alerts)?);
        *lock(&self.alerts) = Alerts { revision: Some(revision), all };
        Ok(true)
    }
}

/// Keeps the alerts of `site` and the reports of its latest runs up to date as long as it is served, and rests
/// most of the time.
fn watch(site: &Weak<Site>) {
    while let Some(site) = site.upgrade() {
        let before = Instant::now();
        let look = || {
            // On Linux the priority is that of the thread, which leaves the cores to all others.
            rustix::process::nice(LOWEST).ok();
            site.refresh()
        };
        // A failure is that of the index, which the pages tell of; a panic ends this look alone.
        if let Ok(Ok(true)) = thread::scope(|scope| scope.spawn(look).join()) {
            // Of the priority of all others, which wait for the turn of a report.
            drop(files::make_reports(&site));
        }
        drop(site);
        thread::sleep((before.elapsed() * REST).clamp(LOOKS[0], LOOKS[1]));
    }
}

/// A lock that a panic has not broken: what it protects is a connection, which rolls back.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Serves the database in `folder` at `address` until SIGTERM or SIGINT arrives, with the meaning of
/// `kernels`; `proxies` are believed in what they say of their clients, and `ready` receives the address at
/// which it listens.
///
/// # Errors
/// If the database cannot be opened, or the address is taken.
pub fn serve(
    folder: &Path,
    address: SocketAddr,
    proxies: Vec<IpAddr>,
    kernels: Vec<Suite>,
    ready: impl FnOnce(SocketAddr, &[String]),
) -> Result<(), Error> {
    let site = Arc::new(Site::open(folder, proxies, kernels)?);
    let problems = lock(&site.writer).problems().to_vec();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .max_blocking_threads(BLOCKING)
        .enable_all()
        .build()
        .map_err(Error::io("start threads for", folder, "close other programs"))?;
    let refused = || Error::io("listen at", address.to_string(), "choose another with --listen");
    let served = runtime.block_on(async {
        let listener = TcpListener::bind(address).await.map_err(refused())?;
        let address = listener.local_addr().map_err(refused())?;
        let [mut terminated, mut interrupted] = [
            signal(SignalKind::terminate()).map_err(refused())?,
            signal(SignalKind::interrupt()).map_err(refused())?,
        ];
        let watched = Arc::downgrade(&site);
        thread::spawn(move || watch(&watched));
        ready(address, &problems);
        let stopped = async {
            tokio::select! {
                _ = terminated.recv() => (),
                _ = interrupted.recv() => (),
            }
        };
        Ok(accept(listener, site, stopped).await)
    });
    // Work that nobody waits for any more has no end that is worth more time.
    let left =
        served.as_ref().map_or(Duration::ZERO, |end| end.saturating_duration_since(Instant::now()));
    runtime.shutdown_timeout(left);
    served.map(drop)
}

/// A place of `semaphore`, which the work that takes it keeps even if its request is given up.
async fn place(semaphore: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit, Failure> {
    semaphore.clone().acquire_owned().await.map_err(|_| busy("the server stops (try again later)"))
}

/// The failure of a request that may be sent again in a while.
fn busy(message: &str) -> Failure {
    Failure { retry: Some(TIMES.stop), ..Failure::new(StatusCode::SERVICE_UNAVAILABLE, message) }
}

/// Turns of reports and comparisons, one at a time: each takes a core and memory for a while.
struct Turns {
    /// Places of requests that wait, or have the turn.
    places: Arc<Semaphore>,
    one: Arc<tokio::sync::Mutex<()>>,
}

/// A turn, and the place of the request that has it.
type Turn = (OwnedSemaphorePermit, OwnedMutexGuard<()>);

impl Turns {
    fn new() -> Self {
        Self { places: Arc::new(Semaphore::new(WAITING)), one: Arc::default() }
    }

    /// The next turn, unless too many wait for theirs.
    async fn turn(&self) -> Result<Turn, Failure> {
        let waiting = self.places.clone().try_acquire_owned();
        let waiting = waiting.map_err(|_| busy("many reports are being made (try again later)"))?;
        Ok((waiting, self.one.clone().lock_owned().await))
    }
}

/// Answers connections until `stopped`, and then those at hand; the time at which all of them should have
/// ended.
async fn accept(listener: TcpListener, site: Shared, stopped: impl Future<Output = ()>) -> Instant {
    let Times { head, connection: most, stop, .. } = site.times;
    let router = router(site);
    let free = Arc::new(Semaphore::new(CONNECTIONS));
    let graceful = GracefulShutdown::new();
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(head).max_headers(64);
    let mut stopped = std::pin::pin!(stopped);
    loop {
        let next = async {
            let place = free.clone().acquire_owned().await.ok()?;
            // What fails here is one client, or the files of this process, of which others end soon.
            match listener.accept().await {
                Ok((stream, peer)) => Some((place, stream, peer.ip())),
                Err(_) => {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    None
                }
            }
        };
        let next = tokio::select! {
            next = next => next,
            () = &mut stopped => break,
        };
        let Some((place, stream, peer)) = next else { continue };
        let answers = TowerToHyperService::new(router.clone());
        let service = service_fn(move |mut request: hyper::Request<Incoming>| {
            request.extensions_mut().insert(Peer(peer));
            answers.call(request)
        });
        let connection = graceful.watch(http.serve_connection(TokioIo::new(stream), service));
        tokio::spawn(async move {
            // Its client sees what becomes of it.
            drop(timeout(most, connection).await);
            drop(place);
        });
    }
    drop(listener);
    let end = Instant::now() + stop;
    drop(timeout(stop, graceful.shutdown()).await);
    end
}

fn router(site: Shared) -> Router {
    let figures = figure::FORMS.into_iter().fold(Router::new(), |router, (end, _, form)| {
        let compare = get(move |site, fields| compare::figure(site, fields, form));
        let trends = get(move |site, fields| trends::figure(site, fields, form));
        router.route(&format!("/compare.{end}"), compare).route(&format!("/trends.{end}"), trends)
    });
    let calls = CALLS.iter().map(|call| &call.route);
    let all = PAGES.iter().chain(calls);
    all.fold(figures, |router, route| router.route(route.path, (route.handler)()))
        .fallback(nothing)
        .layer(middleware::from_fn_with_state(site.clone(), guard))
        .with_state(site)
}

/// The answer where no page and no call is: for people, or below the API for programs.
async fn nothing(uri: Uri) -> Response {
    if uri.path().starts_with("/api/") {
        return api::nothing();
    }
    pages::failure(StatusCode::NOT_FOUND, "there is no such page")
}

/// Limits the number of requests of a client and the time of each, counts them, and sets the headers that all
/// answers have.
async fn guard(State(site): State<Shared>, request: Request, next: Next) -> Response {
    let before = Instant::now();
    let client = rate::client(&request, &site.proxies);
    let wait = client.and_then(|client| site.clients.take(&client, before).err());
    let mut answer = match wait {
        Some(wait) => too_many(wait).into_response(),
        None => timeout(site.times.request, next.run(request)).await.unwrap_or_else(|_| {
            pages::failure(StatusCode::REQUEST_TIMEOUT, "the request took too long (send it again)")
        }),
    };
    site.counters.add(answer.status().as_u16(), before.elapsed());
    let headers = answer.headers_mut();
    let policy = HeaderValue::from_static(POLICY);
    headers.entry(header::CONTENT_SECURITY_POLICY).or_insert(policy);
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-cache"));
    answer
}

/// The failure of a request of a client that has to `wait`.
fn too_many(wait: Duration) -> Failure {
    let seconds = wait.as_secs() + 1;
    let message = format!("these are too many requests (try again in {seconds} s)");
    Failure { retry: Some(wait), ..Failure::new(StatusCode::TOO_MANY_REQUESTS, message) }
}

/// Does `work` on a thread that may wait. A panic in it ends the request, and nothing else.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Failure> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done.map_err(Failure::from),
        Err(_) => Err(Failure::new(StatusCode::INTERNAL_SERVER_ERROR, "the server failed")),
    }
}

/// A request that failed.
struct Failure {
    status: StatusCode,
    /// One sentence.
    message: String,
    /// Of a submission the lines that are wrong.
    problems: Option<serde_json::Value>,
    /// Time after which it may be sent again.
    retry: Option<Duration>,
}

impl Failure {
    fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), problems: None, retry: None }
    }

    fn unknown(message: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, message)
    }

    /// `answer` with the headers that belong to it.
    fn headed(&self, mut answer: Response) -> Response {
        let headers = answer.headers_mut();
        if let Some(retry) = self.retry {
            headers.insert(header::RETRY_AFTER, (retry.as_secs() + 1).into());
        }
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        answer
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let (status, lines) = match &error {
            Error::TooLarge(_) => (StatusCode::PAYLOAD_TOO_LARGE, None),
            Error::Invalid(problems) => {
                let line = |of: &comet_report::read::Problem| {
                    let line = (of.line > 0).then_some(of.line);
                    serde_json::json!({ "line": line, "message": of.message })
                };
                (StatusCode::UNPROCESSABLE_ENTITY, Some(problems.iter().map(line).collect()))
            }
            Error::Unknown(_) => (StatusCode::NOT_FOUND, None),
            Error::Forbidden(_) => (StatusCode::FORBIDDEN, None),
            // Paths of the server are nothing for its visitors.
            Error::Io { .. } | Error::Index(_) | Error::Damaged { .. } | Error::Unreachable(_) => {
                let message = "the database cannot answer (ask its operator)";
                return Self::new(StatusCode::INTERNAL_SERVER_ERROR, message);
            }
        };
        Self { problems: lines, ..Self::new(status, error.to_string()) }
    }
}

/// An answer with a body of this type.
fn answer(kind: &'static str, body: impl Into<Body>) -> Response {
    ([(header::CONTENT_TYPE, kind)], body.into()).into_response()
}

#[cfg(test)]
mod tests;
