//! A figure as an answer of its own.

use axum::http::header::{self, HeaderValue};
use axum::response::Response;
use comet_report::plot::{Figure, Style, csv, gnuplot, svg};
use comet_report::report::policy_of_pictures;

use super::answer;

/// Form of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// A picture in SVG.
    Picture,
    /// Its values as CSV.
    Values,
    /// A script for gnuplot that draws it.
    Script,
}

/// Ends of the addresses of a figure, and the forms that they stand for.
pub(super) const FORMS: [(&str, Form); 3] =
    [("svg", Form::Picture), ("csv", Form::Values), ("gp", Form::Script)];

/// `figure` in this form, on a dark ground if it is a picture and `is_dark`.
pub(super) fn figure(figure: &Figure, form: Form, is_dark: bool) -> Response {
    match form {
        Form::Picture => {
            let style = if is_dark { Style::Dark } else { Style::Light };
            let mut answer = answer("image/svg+xml; charset=utf-8", svg(figure, style));
            if let Ok(policy) = HeaderValue::from_str(&policy_of_pictures()) {
                answer.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
            }
            answer
        }
        Form::Values => answer("text/csv; charset=utf-8", csv(figure)),
        Form::Script => answer("text/plain; charset=utf-8", gnuplot(figure)),
    }
}
