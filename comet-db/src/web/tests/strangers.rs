//! Facts about clients and submitters that nobody knows: what they may take, and what they learn.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::thread;

use comet_report::record::Record;

use super::*;

/// Time in which a test gives up.
const LONG: Duration = Duration::from_secs(60);
/// Time between the bytes of a slow client.
const PAUSE: Duration = Duration::from_millis(20);

fn connected(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    stream.set_write_timeout(Some(LONG)).unwrap();
    stream
}

/// True if `done` is that of a connection which the server has closed.
fn is_closed<T>(done: &std::io::Result<T>) -> bool {
    let kind = done.as_ref().err().map(std::io::Error::kind);
    assert_ne!(kind, Some(std::io::ErrorKind::WouldBlock), "the server waits without an end");
    kind.is_some()
}

/// Sends `start`, and then a byte now and then, until the server closes the connection; what it answered.
fn dribble(address: SocketAddr, start: &str) -> String {
    let mut stream = connected(address);
    let mut reader = stream.try_clone().unwrap();
    let reads = thread::spawn(move || {
        let mut answer = Vec::new();
        // A connection that is closed with bytes unread is reset.
        is_closed(&reader.read_to_end(&mut answer));
        String::from_utf8(answer).unwrap()
    });
    stream.write_all(start.as_bytes()).unwrap();
    while !is_closed(&stream.write_all(b"x")) {
        thread::sleep(PAUSE);
    }
    reads.join().unwrap()
}

/// Sends requests without reading an answer, until the server closes the connection.
fn read_nothing(address: SocketAddr) -> String {
    let mut stream = connected(address);
    while !is_closed(&stream.write_all(b"GET /style.css HTTP/1.1\r\nhost: x\r\n\r\n")) {}
    String::new()
}

/// The first line of the answer to a request for the state of the server.
fn health(address: SocketAddr) -> String {
    let mut stream = connected(address);
    stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.lines().next().unwrap_or_default().to_owned()
}

/// The head of a submission that is longer than what follows.
fn submission(served: &Served) -> String {
    let secret = served.submitter();
    format!(
        "POST /api/v1/runs HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\ncontent-length: 99999\r\n\
         expect: 100-continue\r\n\r\n",
        secret.reveal()
    )
}

/// A runtime like that of the server, and a port of this machine.
fn listening() -> (tokio::runtime::Runtime, TcpListener) {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.unwrap();
    let listener = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))).unwrap();
    (runtime, listener)
}

#[test]
fn slow_clients_end_and_others_are_answered_meanwhile() {
    let [head, request, connection] = [200, 400, 600].map(Duration::from_millis);
    let served = Served::within(Times { head, request, connection, ..TIMES }, &[]);
    let post = submission(&served);
    let (runtime, listener) = listening();
    let address = listener.local_addr().unwrap();
    runtime.spawn(accept(listener, served.site.clone(), std::future::pending()));
    let head = thread::spawn(move || dribble(address, "GET / HTTP/1.1\r\nx: "));
    let body = thread::spawn(move || dribble(address, &post));
    let answer = thread::spawn(move || read_nothing(address));
    let slow = [head, body, answer];
    let mut n_answered = 0;
    while !slow.iter().all(thread::JoinHandle::is_finished) {
        assert_eq!(health(address), "HTTP/1.1 200 OK");
        n_answered += 1;
    }
    let [head, body, _] = slow.map(|client| client.join().unwrap());
    assert!(n_answered > 1, "{n_answered} others are answered");
    assert!(!head.contains("200 OK"), "a head without an end: {head}");
    assert!(body.contains("HTTP/1.1 408 "), "a body without an end: {body}");
    assert!(body.contains("the request took too long (send it again)"), "{body}");
}

/// Every other limit of the client is longer than the test waits.
#[test]
fn a_slow_client_does_not_hold_a_server_that_stops() {
    let [head, request, connection] = [10 * LONG; 3];
    let stop = 10 * PAUSE;
    let served = Served::within(Times { head, request, connection, stop }, &[]);
    let (runtime, listener) = listening();
    let mut client = connected(listener.local_addr().unwrap());
    let (stops, stopped) = tokio::sync::oneshot::channel();
    let accepts = runtime.spawn(accept(listener, served.site.clone(), async {
        stopped.await.unwrap();
    }));
    client.write_all(submission(&served).as_bytes()).unwrap();
    let mut answer = [0; 25];
    client.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 100 Continue\r\n\r\n", "its request is at hand");
    stops.send(()).unwrap();
    let ended = runtime.block_on(async { timeout(LONG, accepts).await });
    assert!(ended.is_ok(), "the server waits for its client without an end");
    runtime.shutdown_timeout(LONG);
    assert_eq!(client.read(&mut answer).unwrap_or(0), 0, "its connection is closed");
}

#[test]
fn a_hundred_thousand_labels_are_refused_by_a_sentence() {
    let served = Served::new(&[]);
    let secret = served.submitter();
    let mut records = Example::default().records();
    let Record::Run(run) = &mut records[0] else { panic!("a run comes first") };
    run.labels = (0..100_000).map(|number| (number.to_string(), "value".into())).collect();
    let sent = served.send(Method::POST, "/api/v1/runs", secret.reveal(), file(&records));
    assert_eq!(sent.0, 422, "{}", sent.1);
    assert!(sent.1.contains(" has 100000 labels, expected at most 64"), "{}", sent.1);
    assert_eq!(served.runs(), []);
}

/// Pending runs are in no answer: not in a list or a figure, not in a search for what they alone have, not in
/// a count, and their own addresses are answered like those of nothing.
#[test]
fn answers_are_the_same_with_pending_runs_and_without_them() {
    let nights = (0..17).map(|number| night(number, if number < 12 { 100.0 } else { 120.0 }));
    let served = Served::new(&nights.collect::<Vec<_>>());
    served.site.refresh().unwrap();
    let (secret, runs) = (served.submitter(), served.runs());
    let pending = [("hawk", "2026-02-01"), ("secret", "2026-02-02")];
    let pending = pending.iter().zip(90..).map(|((machine, day), number)| {
        changed(&Example { number, machine, day, n_points: 5 }, |point| {
            let unknown = in_variants(&point, "secret", &["secret"]);
            unknown.into_iter().chain([point]).collect()
        })
    });
    let pending: Vec<Vec<u8>> = pending.collect();
    let series = served.series(&runs[..1])[0].series.id;
    let mut paths: Vec<String> = PAGES.iter().map(|of| of.path.to_owned()).collect();
    paths.extend(CALLS.iter().filter(|of| of.method == "get").map(|of| of.route.path.to_owned()));
    let fields =
        ["machine=secret", "title=secret", "label=machine=secret", "since=2026-02-01", "limit=500"];
    paths.extend(
        fields
            .iter()
            .flat_map(|of| ["/", "/compare", "/api/v1/runs"].map(|at| format!("{at}?{of}"))),
    );
    paths.extend(["secret", "hawk"].map(|name| format!("/trends?machine={name}&series={series}")));
    paths.push(format!("/compare?{}", served.query(&runs[..3])));
    // As they were before there was a pending run, whose ids and files are unknown.
    let of_blobs = pending.iter().flat_map(|bytes| {
        let blob = crate::id::BlobId::of(bytes).to_string();
        let run = Id::of("run", &[&blob, "0"]);
        let of_run = ["", "/report"].map(|end| format!("/runs/{run}{end}"));
        let of_api = ["", "/points"].map(|end| format!("/api/v1/runs/{run}{end}"));
        let others = [format!("/compare?run={run}"), format!("/files/{blob}.jsonl.gz")];
        of_run.into_iter().chain(of_api).chain(others)
    });
    paths.extend(of_blobs);
    paths.retain(|path| path != "/metrics");
    let all = || -> Vec<(u16, String)> {
        paths.iter().map(|path| served.send(Method::GET, path, "", Vec::new())).collect()
    };
    let before = all();
    for bytes in &pending {
        let sent = served.send(Method::POST, "/api/v1/runs", secret.reveal(), bytes.clone());
        assert_eq!(sent.0, 201, "{}", sent.1);
    }
    served.site.refresh().unwrap();
    for ((path, before), after) in paths.iter().zip(&before).zip(all()) {
        assert_eq!(*before, after, "{path}");
    }
    assert_eq!(served.runs().len(), runs.len() + pending.len());
    let counts = served.get("/metrics", 200);
    assert!(["comet_runs 17\n", "comet_machines 1\n"].iter().all(|line| counts.contains(line)));
}
