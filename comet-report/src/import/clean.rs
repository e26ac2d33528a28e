//! Texts as people keep them: encodings, colours, and what launchers, batch systems and mails put before
//! each line.

/// Starts of lines that begin a table.
const TITLES: [&str; 4] = ["# OSU ", "# Benchmarking ", "# SKaMPI Version ", "# begin result "];

/// The text in `bytes`: UTF-8, where other bytes are no obstacle, or UTF-16 with its mark, which is left out.
pub fn decoded(bytes: &[u8]) -> String {
    let of_pairs = |read: fn([u8; 2]) -> u16, bytes: &[u8]| {
        let (pairs, _) = bytes.as_chunks();
        String::from_utf16_lossy(&pairs.iter().map(|pair| read(*pair)).collect::<Vec<_>>())
    };
    match bytes {
        [0xFF, 0xFE, rest @ ..] => of_pairs(u16::from_le_bytes, rest),
        [0xFE, 0xFF, rest @ ..] => of_pairs(u16::from_be_bytes, rest),
        [0xEF, 0xBB, 0xBF, rest @ ..] => String::from_utf8_lossy(rest).into_owned(),
        _ => String::from_utf8_lossy(bytes).into_owned(),
    }
}

/// The text in `bytes`, as [`decoded`], without colours and without what stands before its first title and
/// before the lines of the same process.
pub fn clean(bytes: &[u8]) -> String {
    let text = decoded(bytes);
    let text = without_colours(&text.replace("\r\n", "\n").replace('\r', "\n"));
    match text.lines().find_map(Prefix::of) {
        Some(prefix) if text.lines().filter(|line| prefix.strip(line).is_some()).count() > 1 => {
            hashed(&prefix.strip_all(&text))
        }
        _ => hashed(&text),
    }
}

/// `text` with the marks of titles and heads of OSU that became headings of Markdown.
fn hashed(text: &str) -> String {
    let is_title = |line: &str| {
        (line.starts_with("OSU ") && line.contains(" Test")) || line.starts_with("Size ")
    };
    let mark = |line| if is_title(line) { format!("# {line}") } else { line.to_owned() };
    text.split('\n').map(mark).collect::<Vec<_>>().join("\n")
}

/// `text` without the sequences that terminals take for colours (`ESC [ 31 m`).
fn without_colours(text: &str) -> String {
    let mut pieces = text.split("\u{1b}[");
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |text, piece| {
        text + piece.trim_start_matches(|c: char| !c.is_ascii_alphabetic()).get(1..).unwrap_or("")
    })
}

/// What stands before a title, and so before the lines of the same process: words as they are, but for a date
/// or a time, each of whose words may be another.
struct Prefix<'a> {
    /// Up to the time and with it; empty if there is none.
    time: &'a str,
    rest: &'a str,
}

impl<'a> Prefix<'a> {
    /// Of a title that does not begin its line.
    fn of(line: &'a str) -> Option<Self> {
        let at = TITLES.iter().filter_map(|title| line.find(title)).min()?;
        let prefix = &line[..at];
        let is_of_time = |c: char| c.is_ascii_alphanumeric() || " -/.,+".contains(c);
        let colon = prefix.match_indices(':').map(|(at, _)| at).find(|at| {
            let digit = |at: usize| prefix.as_bytes().get(at).is_some_and(u8::is_ascii_digit);
            *at > 0 && digit(at - 1) && digit(at + 1) && digit(at + 2)
        });
        let n_time = colon.map_or(0, |at| {
            let rest = &prefix[at..];
            at + rest.find(|c: char| c != ':' && !is_of_time(c)).unwrap_or(rest.len())
        });
        let (time, rest) = prefix.split_at(n_time);
        (!prefix.trim().is_empty()).then_some(Self { time, rest })
    }

    /// `line` without the prefix, if it has it.
    fn strip<'b>(&self, line: &'b str) -> Option<&'b str> {
        let after = skip(self.time, line)?;
        let bare = self.rest.trim_end();
        // Editors cut blanks off at ends of lines.
        after
            .strip_prefix(self.rest)
            .or_else(|| after.strip_prefix(bare).filter(|_| after.trim() == bare))
    }

    /// `text` without the prefix of those lines that have it.
    fn strip_all(&self, text: &str) -> String {
        let lines = text.split('\n').map(|line| self.strip(line).unwrap_or(line));
        lines.collect::<Vec<_>>().join("\n")
    }
}

/// What follows in `line` after words in the places of those in `time`, and the same characters between them.
fn skip<'b>(time: &str, line: &'b str) -> Option<&'b str> {
    let Some(first) = time.chars().next() else { return Some(line) };
    let is_same = |c: char| if first.is_alphanumeric() { c.is_alphanumeric() } else { c == first };
    let rest = line.trim_start_matches(is_same);
    if rest.len() == line.len() { None } else { skip(time.trim_start_matches(is_same), rest) }
}
