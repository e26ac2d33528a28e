//! Client of a database: sends a result file.

use std::fmt::Display;
use std::io::ErrorKind;
use std::thread;
use std::time::Duration;

use flate2::Compression;
use serde_json::Value;
use ureq::Agent;
use ureq::http::Uri;
pub use ureq::tls::RootCerts;
use ureq::tls::{Certificate, PemItem, TlsConfig, parse_pem};

use crate::Error;
use crate::limits;
use crate::token::Secret;

/// Times between attempts; a file that arrived twice is one file.
const PAUSES: [Duration; 3] =
    [Duration::from_secs(1), Duration::from_secs(3), Duration::from_secs(9)];
/// Time for one attempt.
const ATTEMPT: Duration = Duration::from_secs(120);
/// The most bytes of an answer.
const ANSWER: u64 = 1 << 20;

/// Answer of a database to a submission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// Name of the blob.
    pub file: String,
    /// True if it was not there before.
    pub is_new: bool,
    /// Addresses of its runs, each with its state.
    pub runs: Vec<(String, String)>,
}

/// `text` packed by gzip, as it is sent.
///
/// # Errors
/// None that memory could give.
pub fn pack(text: &[u8]) -> Result<Vec<u8>, Error> {
    limits::pack(text, Compression::default())
}

/// The certificates in the text `pem`, which may vouch for a server.
///
/// # Errors
/// If there is none, or one is damaged.
pub fn certificates(pem: &[u8]) -> Result<Vec<Certificate<'static>>, Error> {
    let mut found = Vec::new();
    for item in parse_pem(pem) {
        if let PemItem::Certificate(one) = item.map_err(no_certificates)? {
            found.push(one);
        }
    }
    if found.is_empty() {
        return Err(no_certificates("there is no certificate in the file"));
    }
    Ok(found)
}

/// The refusal of a text that holds no certificates.
pub(crate) fn no_certificates(reason: impl Display) -> Error {
    Error::Unknown(format!("{reason} (expected certificates in PEM, as in BEGIN CERTIFICATE)"))
}

/// Sends the `packed` file to the database at `url`, several times if it does not answer; one of `roots` has
/// to vouch for its certificate. `again` receives a sentence before each pause.
///
/// # Errors
/// If the database refuses, or does not answer.
pub fn send(
    url: &str,
    roots: RootCerts,
    secret: &Secret,
    packed: &[u8],
    again: impl Fn(&str),
) -> Result<Receipt, Error> {
    let reach = Reach::of(url)?;
    let base = url.trim_end_matches('/');
    let config = Agent::config_builder();
    // A proxy would see the token, which is not encrypted on the way to this machine.
    let config = if reach == Reach::Local { config.proxy(None) } else { config };
    let agent: Agent = config
        .http_status_as_error(false)
        .timeout_global(Some(ATTEMPT))
        .max_redirects(0)
        .tls_config(TlsConfig::builder().root_certs(roots).build())
        .build()
        .into();
    let mut pauses = PAUSES.iter();
    loop {
        let (status, failure) = match attempt(&agent, base, secret, packed) {
            Ok((status @ (200 | 201), answer)) => return receipt(base, status == 201, &answer),
            Ok((status, answer)) => (status, words(status, &answer)),
            Err(error) => (0, passing(base, &error)?),
        };
        match pauses.next().filter(|_| is_passing(status)) {
            Some(pause) => {
                let seconds = pause.as_secs();
                again(&format!("{base} does not take the file: {failure} (again in {seconds} s)"));
                thread::sleep(*pause);
            }
            None => return Err(refusal(base, status, &failure)),
        }
    }
}

/// True if another attempt may succeed; 0 stands for no answer.
fn is_passing(status: u16) -> bool {
    matches!(status, 0 | 408 | 429 | 500..)
}

/// The words of `error`, behind which another attempt may succeed.
///
/// # Errors
/// If none does: what answers has no TLS, or another certificate.
fn passing(base: &str, error: &ureq::Error) -> Result<String, Error> {
    match error {
        ureq::Error::Io(error) if error.kind() == ErrorKind::InvalidData => {
            Err(Error::Unknown(format!(
                "{base} cannot be reached by TLS: {error} (http or https? see --ca for certificates)"
            )))
        }
        error => Ok(error.to_string()),
    }
}

/// The failure of the last attempt.
fn refusal(base: &str, status: u16, failure: &str) -> Error {
    if is_passing(status) {
        Error::Unreachable(format!("{base} does not take the file: {failure} (try again later)"))
    } else {
        Error::Unknown(format!("{base} refused: {failure}"))
    }
}

/// Way to a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    /// By TLS.
    Encrypted,
    /// Within this machine.
    Local,
}

impl Reach {
    /// The way to `url`; refuses one on which a token would be read by others.
    fn of(url: &str) -> Result<Self, Error> {
        let refused = |reason: &str| {
            Error::Unknown(format!("{url} {reason} (as in https://results.example)"))
        };
        let parsed: Uri = url.parse().map_err(|_| refused("is no address"))?;
        let (Some(scheme), Some(authority)) = (parsed.scheme_str(), parsed.authority()) else {
            return Err(refused("is no address with scheme and host"));
        };
        if authority.as_str().contains('@') {
            return Err(refused("names a user"));
        }
        let is_local = ["127.0.0.1", "localhost", "[::1]"].contains(&authority.host());
        match scheme {
            "http" if is_local => Ok(Self::Local),
            "https" => Ok(Self::Encrypted),
            _ => Err(refused("is not encrypted: others could read the token")),
        }
    }
}

fn attempt(
    agent: &Agent,
    base: &str,
    secret: &Secret,
    packed: &[u8],
) -> Result<(u16, Value), ureq::Error> {
    let mut answer = agent
        .post(format!("{base}/api/v1/runs"))
        .header("authorization", format!("Bearer {}", secret.reveal()))
        .header("content-type", "application/gzip")
        .send(packed)?;
    let status = answer.status().as_u16();
    let text = answer.body_mut().with_config().limit(ANSWER).read_to_string()?;
    Ok((status, serde_json::from_str(&text).unwrap_or(Value::Null)))
}

fn receipt(base: &str, is_new: bool, answer: &Value) -> Result<Receipt, Error> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let runs =
        answer["runs"].as_array().into_iter().flatten().filter_map(|run| {
            Some((format!("{base}{}", run["url"].as_str()?), text(&run["state"])?))
        });
    let file = text(&answer["file"]);
    let file = file.ok_or_else(|| Error::Unknown(format!("{base} is no database of CoMet")))?;
    Ok(Receipt { file, is_new, runs: runs.collect() })
}

/// The words of a refusal.
fn words(status: u16, answer: &Value) -> String {
    let none = match is_passing(status) {
        true => "no reason was given",
        false => "no reason was given, is this the address of a database?",
    };
    let error = answer["error"].as_str().unwrap_or(none);
    let problems = answer["problems"].as_array().into_iter().flatten();
    let lines = problems.filter_map(|of| {
        Some(format!("\nline {}: {}", of["line"].as_u64()?, of["message"].as_str()?))
    });
    format!("{error} (status {status}){}", lines.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;

    #[test]
    fn a_token_goes_to_encrypted_and_local_addresses_alone() {
        let reach = |url: &str| Reach::of(url).ok();
        assert_eq!(reach("https://results.example/comet"), Some(Reach::Encrypted));
        for url in ["http://127.0.0.1:8910", "http://localhost/", "http://[::1]:8910"] {
            assert_eq!(reach(url), Some(Reach::Local), "{url}");
        }
        for url in [
            "http://127.0.0.1.evil.example",
            "http://localhost.evil.example",
            "http://127.0.0.1@evil.example",
            "http://127.0.0.1:80@evil.example/",
            "https://user@results.example",
            "http://results.example",
            "ftp://127.0.0.1",
            "results.example",
            "",
        ] {
            assert_eq!(reach(url), None, "{url}");
        }
    }

    #[test]
    fn files_without_certificates_vouch_for_nobody() {
        for text in ["", "hello", "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n"] {
            let error = certificates(text.as_bytes()).unwrap_err().to_string();
            assert!(
                error.ends_with("(expected certificates in PEM, as in BEGIN CERTIFICATE)"),
                "{error}"
            );
        }
    }

    #[test]
    fn a_database_that_does_not_answer_is_no_fault_of_the_file() {
        for (status, is_fault) in
            [(0, false), (408, false), (429, false), (503, false), (401, true), (422, true)]
        {
            let error = refusal("https://x", status, "words");
            assert_eq!(matches!(error, Error::Unknown(_)), is_fault, "{status}");
            assert_eq!(matches!(error, Error::Unreachable(_)), !is_fault, "{status}");
        }
        assert_eq!(words(503, &Value::Null), "no reason was given (status 503)");
        let other = "no reason was given, is this the address of a database? (status 404)";
        assert_eq!(words(404, &Value::Null), other);
    }

    #[test]
    fn an_answer_without_tls_is_final_and_a_pause_is_announced() {
        let [invalid, refused] = [ErrorKind::InvalidData, ErrorKind::ConnectionRefused]
            .map(|kind| passing("https://x", &ureq::Error::Io(kind.into())));
        let error = invalid.unwrap_err();
        assert!(matches!(error, Error::Unknown(_)), "{error}");
        assert!(error.to_string().contains(" (http or https? "), "{error}");
        assert!(refused.is_ok());
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let server = thread::spawn(move || {
            for status in ["503 Busy", "404 Nothing"] {
                let (mut client, _) = listener.accept().unwrap();
                let (mut request, mut byte) = (Vec::new(), [0]);
                while !request.ends_with(b"\r\n\r\nbody") {
                    client.read_exact(&mut byte).unwrap();
                    request.extend(byte);
                }
                let head = "connection: close\r\ncontent-length: 0";
                write!(client, "HTTP/1.1 {status}\r\n{head}\r\n\r\n").unwrap();
            }
        });
        let notes = RefCell::new(Vec::new());
        let again = |note: &str| notes.borrow_mut().push(note.to_owned());
        let secret = Secret::new().unwrap();
        let error = send(&url, RootCerts::WebPki, &secret, b"body", again).unwrap_err();
        server.join().unwrap();
        assert!(error.to_string().ends_with("address of a database? (status 404)"), "{error}");
        let note = "does not take the file: no reason was given (status 503) (again in 1 s)";
        assert_eq!(notes.take(), [format!("{url} {note}")]);
    }
}
