//! Version 1 of the API: JSON, with cursors for long lists.

use std::time::Instant;

use axum::body::to_bytes;
use axum::extract::{Path, Query, Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::pages::{self, Fields};
use super::{Failure, Shared, answer as respond, blocking, lock, place, too_many};
use crate::answer;
use crate::card::{self, now_ms};
use crate::id::Id;
use crate::limits::Limits;
use crate::token::{Scope, Secret};
use crate::{Arrival, Database, Error};

/// Type of all answers.
const JSON: &str = "application/json";

/// An answer of the API.
type Answer = Result<Json, Refusal>;

/// JSON with its status.
pub(super) struct Json(StatusCode, Value);

impl IntoResponse for Json {
    fn into_response(self) -> Response {
        (self.0, respond(JSON, format!("{}\n", self.1))).into_response()
    }
}

/// A failure as JSON.
pub(super) struct Refusal(Failure);

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        Self(failure)
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self(error.into())
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let none = Value::Array(Vec::new());
        let problems = self.0.problems.as_ref().unwrap_or(&none);
        let body = json!({ "error": self.0.message, "problems": problems });
        self.0.headed(Json(self.0.status, body).into_response())
    }
}

fn ok(value: Value) -> Answer {
    Ok(Json(StatusCode::OK, value))
}

/// The refusal of a path that the API does not have.
pub(super) fn nothing() -> Response {
    let failure = Failure::unknown("the API has no such path (see /api/v1/openapi.json)");
    Refusal(failure).into_response()
}

/// True if the index answers.
pub(super) async fn health(State(site): State<Shared>) -> Answer {
    blocking(move || site.read(|index| index.audit(1).map(drop))).await?;
    ok(json!({ "status": "ok" }))
}

/// Published runs, the latest first.
pub(super) async fn runs(State(site): State<Shared>, Query(fields): Query<Fields>) -> Answer {
    let wanted = pages::wanted(&fields)?;
    let value = blocking(move || {
        site.read(|index| {
            let page = index.runs(&wanted.filter, wanted.after, wanted.n)?;
            let runs = pages::answers(index, &page.runs)?;
            Ok(json!({ "runs": runs, "next": page.next.map(|next| next.to_string()) }))
        })
    });
    ok(value.await?)
}

/// A published run with its curves.
pub(super) async fn run(State(site): State<Shared>, Path(id): Path<String>) -> Answer {
    let value = blocking(move || {
        site.read(|index| {
            let (run, machine) = pages::published(index, &id)?;
            let (series, n_more) = index.first_series(run.id)?;
            let mut value = pages::answers(index, &[(run, machine)])?.remove(0);
            value["series"] = series.iter().map(answer::series).collect();
            value["more_series"] = n_more.into();
            Ok(value)
        })
    });
    ok(value.await?)
}

/// The points of a published run behind the place `after`, of the curves `series=ID,ID` or of all.
pub(super) async fn points(
    State(site): State<Shared>,
    Path(id): Path<String>,
    Query(fields): Query<Fields>,
) -> Answer {
    let (series, after) = wanted_points(&fields)?;
    let value = blocking(move || {
        site.read(|index| {
            let (run, _) = pages::published(index, &id)?;
            let (points, next) = index.points_behind(run.id, &series, after)?;
            let points: Vec<Value> = points.iter().map(answer::point).collect();
            Ok(json!({ "points": points, "next": next.map(|next| next.to_string()) }))
        })
    });
    ok(value.await?)
}

/// The curves and the place that `fields` name.
fn wanted_points(fields: &Fields) -> Result<(Vec<Id>, Option<i64>), Failure> {
    let (mut series, mut after) = (Vec::new(), None);
    for (name, value) in fields.iter().filter(|(_, value)| !value.is_empty()) {
        let wrong = |expected: &str| pages::wrong(name, value, expected);
        match name.as_str() {
            "series" => {
                let ids: Result<Vec<Id>, _> = value.split(',').map(str::parse).collect();
                series = ids.map_err(|_| wrong("ids of curves, with commas between them"))?;
            }
            "after" => after = Some(value.parse().map_err(|_| wrong("a place"))?),
            _ => return Err(wrong("series or after")),
        }
    }
    Ok((series, after))
}

/// Machines with published runs.
pub(super) async fn machines(State(site): State<Shared>) -> Answer {
    let value = blocking(move || {
        let machines = site.read(|index| index.machines(card::State::Published))?;
        Ok(json!({ "machines": machines.iter().map(answer::machine).collect::<Vec<_>>() }))
    });
    ok(value.await?)
}

/// Alerts, the latest first, those that marks explain among them.
pub(super) async fn alerts(State(site): State<Shared>) -> Answer {
    ok(json!({ "alerts": site.alerts().iter().map(answer::alert).collect::<Vec<_>>() }))
}

/// A submission: 201 for a new file, 200 for one that is there.
///
/// The token is looked at before the body, so that nobody else takes memory with one.
pub(super) async fn submit(State(site): State<Shared>, request: Request) -> Answer {
    let secret = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let secret = secret.and_then(|value| Secret::parse(value.strip_prefix("Bearer ")?).ok());
    let unknown = || {
        let message = "a submission needs a valid token (ask the operator for one)";
        Failure::new(StatusCode::UNAUTHORIZED, message)
    };
    let secret = secret.ok_or_else(unknown)?;
    let owner = {
        let site = site.clone();
        blocking(move || site.read(|index| index.token(&secret, now_ms()))).await?
    };
    let token = owner.ok_or_else(unknown)?;
    if !token.may(Scope::Submit) && !token.may(Scope::Publish) {
        let message = format!("the token {} does not give the right to submit", token.name);
        return Err(Failure::new(StatusCode::FORBIDDEN, message).into());
    }
    site.submitters.take(&token.name, Instant::now()).map_err(too_many)?;
    let place = place(&site.uploads).await?;
    let bytes = to_bytes(request.into_body(), Limits::FOREIGN.bytes).await.map_err(|_| {
        let most = Limits::FOREIGN.bytes;
        let message =
            format!("the body has more than {most} bytes, or was cut off (pack it by gzip)");
        Failure::new(StatusCode::PAYLOAD_TOO_LARGE, message)
    })?;
    let turn = super::place(&site.examinations).await?;
    let added = blocking(move || {
        let _places = [place, turn];
        let arrival = Arrival { bytes: &bytes, limits: Limits::FOREIGN, token: Some(&token) };
        let prepared = Database::prepare(arrival)?;
        lock(&site.writer).keep(prepared)
    });
    let added = added.await?;
    let runs = added.runs.iter().map(|run| {
        json!({ "id": run.id.to_string(), "url": format!("/runs/{}", run.id), "state": run.state.name() })
    });
    let value = json!({
        "file": added.blob.to_string(),
        "is_new": added.is_new,
        "runs": runs.collect::<Vec<_>>(),
    });
    Ok(Json(if added.is_new { StatusCode::CREATED } else { StatusCode::OK }, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_fields_of_points_are_the_fault_of_the_request() {
        let own = |name: &str, value: &str| vec![(name.to_owned(), value.to_owned())];
        for (name, value) in [("series", "x"), ("after", "x"), ("limit", "1")] {
            let refusal = wanted_points(&own(name, value)).err().unwrap();
            assert_eq!(refusal.status, StatusCode::BAD_REQUEST, "{name}: {}", refusal.message);
        }
        let ids = "0000000000000001,0000000000000002";
        assert_eq!(wanted_points(&own("series", ids)).ok().unwrap().0.len(), 2);
        assert_eq!(wanted_points(&own("after", "7")).ok().unwrap().1, Some(7));
    }
}
