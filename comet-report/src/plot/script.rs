//! The script that makes figures of a page live.

/// Zoom, values under the pointer, curves to hide, and downloads, for each `figure.plot` of a page
/// that holds a figure in [`Style::Page`](super::Style::Page).
///
/// It stands at the end of a page, leaves no name behind, and passes over what is missing.
pub fn script() -> &'static str {
    concat!(
        "\"use strict\";\n{\n",
        include_str!("script/axis.js"),
        include_str!("script/panel.js"),
        include_str!("script/plot.js"),
        "}\n"
    )
}
