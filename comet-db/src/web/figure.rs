//! A figure within a page, and as an answer of its own.

use std::fmt;

use askama::filters::HtmlSafe;
use axum::http::header::{self, HeaderValue};
use axum::response::Response;
use comet_report::plot::{Figure, HAS_PNG, Style, csv, gnuplot, png, svg};
use comet_report::report::policy_of_pictures;

use super::answer;
use crate::Error;

/// Form of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// A picture in SVG.
    Picture,
    /// The same in PNG, if the program was built with it.
    Pixels,
    /// Its values as CSV.
    Values,
    /// A script for gnuplot that draws it.
    Script,
}

/// Ends of the addresses of a figure, their names, and the forms that they stand for.
pub(super) const FORMS: [(&str, &str, Form); 4] = [
    ("svg", "SVG", Form::Picture),
    ("png", "PNG", Form::Pixels),
    ("csv", "CSV", Form::Values),
    ("gp", "gnuplot", Form::Script),
];

/// Ends and names of the forms that this program has.
pub(super) fn offered() -> impl Iterator<Item = (&'static str, &'static str)> {
    let is_built = |(_, _, form): &&(_, _, Form)| HAS_PNG || *form != Form::Pixels;
    FORMS.iter().filter(is_built).map(|(end, name, _)| (*end, *name))
}

/// A figure as markup: text within it was escaped when it was drawn.
pub(super) struct Inline(String);

impl HtmlSafe for Inline {}

impl fmt::Display for Inline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// `figure` in a page, whose caption says what it shows.
pub(super) fn inline(figure: &Figure) -> Inline {
    let drawn = Figure { caption: String::new(), notes: Vec::new(), ..figure.clone() };
    Inline(svg(&drawn, Style::Wide))
}

/// `figure` in this form, on a dark ground if it is a picture and `is_dark`.
///
/// # Errors
/// If the program has no such form.
pub(super) fn figure(figure: &Figure, form: Form, is_dark: bool) -> Result<Response, Error> {
    let style = if is_dark { Style::Dark } else { Style::Light };
    Ok(match form {
        Form::Picture => {
            let mut answer = answer("image/svg+xml; charset=utf-8", svg(figure, style));
            if let Ok(policy) = HeaderValue::from_str(&policy_of_pictures()) {
                answer.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
            }
            answer
        }
        Form::Pixels => {
            let picture = png(figure, style).map_err(|error| Error::Unknown(error.to_string()))?;
            answer("image/png", picture)
        }
        Form::Values => answer("text/csv; charset=utf-8", csv(figure)),
        Form::Script => answer("text/plain; charset=utf-8", gnuplot(figure)),
    })
}
