//! Dates of foreign texts.

use std::time::SystemTime;

/// Names of months, as `asctime` writes them.
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// The time that `text` is: RFC 3339, a date alone, or as `asctime` writes it, which names no zone and is
/// taken for UTC.
pub fn of_text(text: &str) -> Option<SystemTime> {
    let of_asctime = || {
        let words: Vec<&str> = text.split_whitespace().collect();
        let [_, month, day, time, .., year] = words[..] else { return None };
        let month = MONTHS.iter().position(|name| *name == month)? + 1;
        humantime::parse_rfc3339(&format!("{year}-{month:02}-{day:0>2}T{time}Z")).ok()
    };
    let of_day = || humantime::parse_rfc3339(&format!("{text}T00:00:00Z")).ok();
    humantime::parse_rfc3339_weak(text).ok().or_else(of_day).or_else(of_asctime)
}
