//! Text in XML: in JUnit files and in pictures.

/// `text` for the value of an attribute, in which a bare end of line would be read as a blank.
pub(crate) fn attribute(text: &str) -> String {
    escape(text).replace('\n', "&#10;")
}

/// `text` for the inside of an element. Control characters have no place in XML, not even escaped,
/// and are replaced.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\n' => escaped.push(c),
            '\u{fffe}' | '\u{ffff}' => escaped.push(char::REPLACEMENT_CHARACTER),
            c if c.is_control() => escaped.push(char::REPLACEMENT_CHARACTER),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_xml_reads_as_its_own_is_escaped() {
        let check = |text: &str, expected: &str| assert_eq!(escape(text), expected);
        check("a <b> & \"c\"\n", "a &lt;b&gt; &amp; &quot;c&quot;\n");
        check("</text><script>a(\"1\")", "&lt;/text&gt;&lt;script&gt;a(&quot;1&quot;)");
        check("\u{1b}[31m\u{ffff}", "\u{fffd}[31m\u{fffd}");
        assert_eq!(attribute("<\n"), "&lt;&#10;");
    }
}
