//! Markup: what comes from a record is text, and text is escaped when it becomes markup.
//!
//! Numbers that are missing are a dash. Only [`Html::trusted`] takes markup as it is; it is for pictures and scripts of this crate.

/// Markup that may stand in the body of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Html(String);

impl Html {
    pub(super) fn new() -> Self {
        Self::default()
    }

    pub(super) fn trusted(markup: impl Into<String>) -> Self {
        Self(markup.into())
    }

    pub(super) fn with(mut self, more: impl Into<Html>) -> Self {
        self.0 += &more.into().0;
        self
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn into_string(self) -> String {
        self.0
    }
}

impl<T: AsRef<str>> From<T> for Html {
    fn from(text: T) -> Self {
        let mut html = String::with_capacity(text.as_ref().len());
        escape(text.as_ref(), false, &mut html);
        Self(html)
    }
}

impl FromIterator<Html> for Html {
    fn from_iter<I: IntoIterator<Item = Html>>(parts: I) -> Self {
        Self(parts.into_iter().map(|part| part.0).collect())
    }
}

pub(super) fn tag(name: &str, content: impl Into<Html>) -> Html {
    element(name, &[], content)
}

/// The element `name` with attributes, around `content`.
pub(super) fn element(name: &str, attributes: &[(&str, &str)], content: impl Into<Html>) -> Html {
    let mut html = format!("<{name}");
    for (attribute, value) in attributes {
        html += &format!(" {attribute}=\"");
        escape(value, true, &mut html);
        html.push('"');
    }
    let Html(content) = content.into();
    html.reserve(content.len() + name.len() + 4);
    for part in [">", &content, "</", name, ">"] {
        html += part;
    }
    Html(html)
}

/// A row of cells of the kind `cell` (`td`, `th`). The next cell ends one, and the next row a row: a page
/// has thousands, and HTML needs no end tags there.
pub(super) fn row<C: Into<Html>>(cell: &str, cells: impl IntoIterator<Item = C>) -> Html {
    let open = Html::trusted(format!("<{cell}>"));
    let cells = cells.into_iter().map(|content| open.clone().with(content));
    Html::trusted("<tr>").with(cells.collect::<Html>()).with(Html::trusted("\n"))
}

/// A table with column heads, in a box that scrolls sideways where it is too wide.
pub(super) fn table<'h>(
    class: &str,
    heads: impl IntoIterator<Item = &'h str>,
    rows: impl IntoIterator<Item = Html>,
) -> Html {
    let rows: Html = rows.into_iter().collect();
    let body = tag("thead", row("th", heads)).with(tag("tbody", rows));
    let body = element("table", &[("class", class)], body);
    // Only what can have the focus can be scrolled by keys.
    element("div", &[("class", "scroll"), ("tabindex", "0")], body)
}

/// A part of the page under the heading `title`, which links lead to by `id`.
pub(super) fn section(id: &str, title: &str, content: impl Into<Html>) -> Html {
    element("section", &[("id", id)], tag("h2", title).with(content)).with(Html::trusted("\n"))
}

pub(super) fn details(summary: &str, content: impl Into<Html>) -> Html {
    tag("details", tag("summary", summary).with(content))
}

/// Appends `text` to `html`, in an element or between the quotation marks of an attribute.
fn escape(text: &str, is_attribute: bool, html: &mut String) {
    for c in text.chars() {
        match c {
            '&' => *html += "&amp;",
            '<' => *html += "&lt;",
            '>' => *html += "&gt;",
            '"' if is_attribute => *html += "&quot;",
            c if is_unseen(c) => html.push(char::REPLACEMENT_CHARACTER),
            c => html.push(c),
        }
    }
}

/// True if `c` has no place in a page: it controls a terminal, or the order in which text is read.
fn is_unseen(c: char) -> bool {
    let reorders = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    reorders || (c.is_control() && c != '\n' && c != '\t')
}

/// Mark of a missing number.
pub(super) const NONE: &str = "—";

pub(super) fn or_none(text: Option<String>) -> String {
    text.filter(|text| !text.is_empty()).unwrap_or_else(|| NONE.into())
}

/// The least and the largest of `values` (`3 to 20`), or one if they are equal.
pub(super) fn range<T: Ord + ToString>(values: impl IntoIterator<Item = T>) -> Option<String> {
    let mut values: Vec<T> = values.into_iter().collect();
    values.sort();
    let (least, largest) = (values.first()?, values.last()?);
    let (from, to) = (least.to_string(), largest.to_string());
    Some(if from == to { from } else { format!("{from} to {to}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped_in_content_and_in_attributes() {
        let check = |html: Html, expected: &str| assert_eq!(html.into_string(), expected);
        check("<script>alert(1)</script>".into(), "&lt;script&gt;alert(1)&lt;/script&gt;");
        let hostile = "\" onclick='x' & \u{1b}[0m\u{202e}";
        check(
            element("p", &[("title", hostile)], "a\nb"),
            "<p title=\"&quot; onclick='x' &amp; \u{fffd}[0m\u{fffd}\">a\nb</p>",
        );
    }

    #[test]
    fn markup_is_not_escaped_twice() {
        let html = tag("b", "<").with(" & ").with(Html::trusted("<br>"));
        assert_eq!(html.into_string(), "<b>&lt;</b> &amp; <br>");
    }

    #[test]
    fn rows_hold_a_cell_for_each_value() {
        assert_eq!(row("td", ["1", "2"]).into_string(), "<tr><td>1<td>2\n");
    }

    #[test]
    fn ranges_of_equal_values_are_one_value() {
        assert_eq!(range([3, 10, 20]).as_deref(), Some("3 to 20"));
        assert_eq!(range([3, 3]).as_deref(), Some("3"));
        assert_eq!(range::<u32>([]), None);
    }
}
