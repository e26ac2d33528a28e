//! Description of the API in OpenAPI, made from the list of its calls.

use axum::response::Response;
use serde_json::{Map, Value, json};

use super::answer;
use super::routes::{CALLS, Call};

/// The document.
pub(super) async fn document() -> Response {
    answer("application/json", format!("{:#}\n", value()))
}

/// The document as JSON.
fn value() -> Value {
    let mut paths = Map::new();
    for call in CALLS {
        let path = paths.entry(call.route.path).or_insert_with(|| json!({}));
        path[call.method] = operation(call);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Result database of CoMet",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "What is missing in an answer is null; other names may be added to it.",
        },
        "paths": paths,
        "components": {
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
            "schemas": {
                "Refusal": {
                    "type": "object",
                    "required": ["error", "problems"],
                    "properties": {
                        "error": { "type": "string" },
                        "problems": {
                            "type": "array",
                            "items": {
                                "type": "object",
                                "properties": {
                                    "line": { "type": ["integer", "null"] },
                                    "message": { "type": "string" },
                                },
                            },
                        },
                    },
                },
            },
        },
    })
}

fn operation(call: &Call) -> Value {
    let field = |(name, meaning): &(&str, &str)| {
        let schema = json!({ "type": "string" });
        json!({ "name": name, "in": "query", "description": meaning, "schema": schema })
    };
    let mut parameters: Vec<Value> = call.fields.iter().map(field).collect();
    if call.route.path.contains("{id}") {
        let schema = json!({ "type": "string", "pattern": "^[0-9a-f]{16}$" });
        parameters.push(json!({ "name": "id", "in": "path", "required": true, "schema": schema }));
    }
    let names = call.names.iter().map(|name| ((*name).to_owned(), json!({})));
    let schema = json!({
        "type": "object",
        "required": call.names,
        "properties": names.collect::<Map<_, _>>(),
    });
    let mut responses = Map::new();
    responses.insert("200".into(), response(call.summary, &schema));
    for (status, meaning) in call.statuses.iter().chain(&[(429, "too many requests")]) {
        let refusal = json!({ "$ref": "#/components/schemas/Refusal" });
        let schema = if *status < 300 { &schema } else { &refusal };
        responses.insert(status.to_string(), response(meaning, schema));
    }
    let mut value = json!({
        "summary": call.summary,
        "parameters": parameters,
        "responses": responses,
    });
    if call.method == "post" {
        let schema = json!({ "schema": { "type": "string", "format": "binary" } });
        let content = json!({ "application/gzip": schema, "application/jsonl": schema });
        value["requestBody"] = json!({ "required": true, "content": content });
        value["security"] = json!([{ "token": [] }]);
    }
    value
}

fn response(meaning: &str, schema: &Value) -> Value {
    json!({ "description": meaning, "content": { "application/json": { "schema": schema } } })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_is_described_once() {
        let document = value();
        let paths = document["paths"].as_object().unwrap();
        let n_calls: usize = paths.values().map(|path| path.as_object().unwrap().len()).sum();
        assert_eq!(n_calls, CALLS.len());
        assert!(paths["/api/v1/runs"]["post"]["responses"]["201"].is_object());
        for path in paths.values() {
            for call in path.as_object().unwrap().values() {
                assert!(call["responses"]["200"].is_object() && call["summary"].is_string());
            }
        }
    }
}
