//! Client of a database: sends a result file.

use std::io::Write as _;
use std::thread;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;
use ureq::Agent;

use crate::Error;
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
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    let packed = packed.write_all(text).and_then(|()| packed.finish());
    packed.map_err(Error::io("pack", "the file", "send a smaller one"))
}

/// Sends the `packed` file to the database at `url`, several times if it does not answer.
///
/// # Errors
/// If the database refuses, or does not answer.
pub fn send(url: &str, secret: &Secret, packed: &[u8]) -> Result<Receipt, Error> {
    let is_local = ["http://127.0.0.1", "http://localhost", "http://[::1]"];
    if !url.starts_with("https://") && !is_local.iter().any(|start| url.starts_with(start)) {
        return Err(Error::Unknown(format!(
            "{url} does not start with https:// (a token would travel as it is)"
        )));
    }
    let base = url.trim_end_matches('/');
    let agent: Agent = Agent::config_builder()
        .http_status_as_error(false)
        .timeout_global(Some(ATTEMPT))
        .max_redirects(0)
        .build()
        .into();
    let mut pauses = PAUSES.iter();
    loop {
        let (status, failure) = match attempt(&agent, base, secret, packed) {
            Ok((status @ (200 | 201), answer)) => return receipt(base, status == 201, &answer),
            Ok((status, answer)) => (status, words(status, &answer)),
            Err(error) => (0, error.to_string()),
        };
        let is_passing = matches!(status, 0 | 408 | 429 | 500..);
        match pauses.next().filter(|_| is_passing) {
            Some(pause) => thread::sleep(*pause),
            None => return Err(Error::Unknown(format!("{base} refused: {failure}"))),
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
    let error = answer["error"].as_str().unwrap_or("no reason was given");
    let problems = answer["problems"].as_array().into_iter().flatten();
    let lines = problems.filter_map(|of| {
        Some(format!("\nline {}: {}", of["line"].as_u64()?, of["message"].as_str()?))
    });
    format!("{error} (status {status}){}", lines.collect::<String>())
}
