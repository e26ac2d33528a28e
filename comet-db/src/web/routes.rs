//! All addresses of the server: the router and the description of the API are made from these lists.

use axum::routing::{MethodRouter, get, post};

use super::{Shared, api, compare, files, kernels, metrics, openapi, pages, trends};

/// An address of a page or of the API.
pub(super) struct Route {
    /// Path, with names of its parts in braces.
    pub(super) path: &'static str,
    /// The function that answers.
    pub(super) handler: fn() -> MethodRouter<Shared>,
}

/// An address of the API with its description.
pub(super) struct Call {
    /// Path and function.
    pub(super) route: Route,
    /// Method, in lower case.
    pub(super) method: &'static str,
    /// Summary of the answer.
    pub(super) summary: &'static str,
    /// Fields of the address, each with its meaning.
    pub(super) fields: &'static [(&'static str, &'static str)],
    /// Names in the object that is the answer.
    pub(super) names: &'static [&'static str],
    /// Statuses beside 200, each with its meaning.
    pub(super) statuses: &'static [(u16, &'static str)],
}

/// Pages and files.
pub(super) const PAGES: &[Route] = &[
    Route { path: "/", handler: || get(pages::runs) },
    Route { path: "/machines", handler: || get(pages::machines) },
    Route { path: "/runs/{id}", handler: || get(pages::run) },
    Route { path: "/runs/{id}/report", handler: || get(files::report) },
    Route { path: "/compare", handler: || get(compare::page) },
    Route { path: "/compare.json", handler: || get(compare::data) },
    Route { path: "/trends", handler: || get(trends::page) },
    Route { path: "/trends.json", handler: || get(trends::data) },
    Route { path: "/files/{id}", handler: || get(files::file) },
    Route { path: "/kernels", handler: || get(kernels::list) },
    Route { path: "/kernels/{suite}", handler: || get(kernels::suite) },
    Route { path: "/plot.js", handler: || get(files::script) },
    Route { path: "/style.css", handler: || get(files::style) },
    Route { path: "/metrics", handler: || get(metrics::page) },
    Route { path: "/api/v1/openapi.json", handler: || get(openapi::document) },
];

/// Statuses of calls that name a run, and of all that have fields.
const NO_RUN: (u16, &str) = (404, "no published run has this id");
const WRONG: (u16, &str) = (400, "a field has a wrong value, or is none of the call");

/// The API.
pub(super) const CALLS: &[Call] = &[
    Call {
        route: Route { path: "/api/v1/runs", handler: || get(api::runs) },
        method: "get",
        summary: "Published runs, the latest first",
        fields: &[
            ("machine", "name of the machine, letter case aside"),
            ("mpi", "part of the version of the MPI library, or of the transport"),
            ("network", "part of the network"),
            ("title", "part of the title"),
            ("label", "label with its value, as in night=3, or its name alone; at most 8 times"),
            ("since", "first day, as in 2026-01-31, or RFC 3339 time"),
            ("until", "last day, or RFC 3339 time before which runs started"),
            ("superseded", "hide for runs that no later one supersedes"),
            ("after", "value of next of the page before"),
            ("limit", "most runs, 1 to 500 (default: 50)"),
        ],
        names: &["runs", "next"],
        statuses: &[WRONG],
    },
    Call {
        route: Route { path: "/api/v1/runs", handler: || post(api::submit) },
        method: "post",
        summary: "Submission of a result file, packed by gzip or not",
        fields: &[],
        names: &["file", "is_new", "runs"],
        statuses: &[
            (201, "the file is new; after 200 it was there"),
            (401, "there is no valid token"),
            (403, "the token does not give the right"),
            (413, "the file is larger than the limits admit"),
            (422, "the file is wrong, with the lines in problems"),
        ],
    },
    Call {
        route: Route { path: "/api/v1/runs/{id}", handler: || get(api::run) },
        method: "get",
        summary: "A published run with its first 500 curves",
        fields: &[],
        names: &[
            "id",
            "file",
            "run_id",
            "started_at",
            "machine",
            "points",
            "series",
            "more_series",
        ],
        statuses: &[NO_RUN],
    },
    Call {
        route: Route { path: "/api/v1/runs/{id}/points", handler: || get(api::points) },
        method: "get",
        summary: "Points of a published run, 5,000 at a time",
        fields: &[
            ("series", "ids of curves, with commas between them"),
            ("after", "value of next of the page before"),
        ],
        names: &["points", "next"],
        statuses: &[WRONG, NO_RUN],
    },
    Call {
        route: Route { path: "/api/v1/machines", handler: || get(api::machines) },
        method: "get",
        summary: "Machines with published runs",
        fields: &[],
        names: &["machines"],
        statuses: &[],
    },
    Call {
        route: Route { path: "/api/v1/alerts", handler: || get(api::alerts) },
        method: "get",
        summary: "Changes of machines, the latest first",
        fields: &[],
        names: &["alerts"],
        statuses: &[],
    },
    Call {
        route: Route { path: "/healthz", handler: || get(api::health) },
        method: "get",
        summary: "State of the server: ok if the index answers",
        fields: &[],
        names: &["status"],
        statuses: &[(500, "the index does not answer")],
    },
];
