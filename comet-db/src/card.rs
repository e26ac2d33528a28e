//! Card of a blob: the facts about it that are not in it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

/// Name of the format of cards.
const FORMAT: &str = "comet.card/1";

/// Facts about a blob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Card {
    /// Arrival, in milliseconds since 1970, UTC.
    pub received_ms: i64,
    /// Name of the token of the submitter, or [`OPERATOR`].
    pub submitter: String,
    /// State of the runs of the blob.
    pub state: State,
}

/// The submitter of files that were added on the machine of the database.
pub const OPERATOR: &str = "operator";

/// State of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It waits for the operator, and is shown to nobody else.
    Pending,
    /// It is shown to all.
    Published,
}

impl State {
    /// Both of them.
    pub const ALL: [Self; 2] = [Self::Pending, Self::Published];

    /// Name in cards, listings and filters.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Published => "published",
        }
    }

    /// The state called `name`.
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }
}

impl Card {
    /// The card as text.
    pub(crate) fn to_text(&self) -> String {
        let card = json!({
            "format": FORMAT,
            "received_at": time_text(self.received_ms),
            "submitter": self.submitter,
            "state": self.state.name(),
        });
        format!("{card}\n")
    }

    /// The card in `text`; otherwise the difference.
    pub(crate) fn parse(text: &[u8]) -> Result<Self, String> {
        let card: Value = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        let field = |name: &str| {
            card[name].as_str().ok_or_else(|| format!("there is no text in its field {name}"))
        };
        let format = field("format")?;
        if format != FORMAT {
            return Err(format!("its format is {format}, expected {FORMAT}"));
        }
        let (received_at, state) = (field("received_at")?, field("state")?);
        Ok(Self {
            received_ms: time_ms(received_at).ok_or_else(|| format!("{received_at} is no time"))?,
            submitter: field("submitter")?.to_owned(),
            state: State::find(state).ok_or_else(|| format!("{state} is no state"))?,
        })
    }
}

/// The present, in milliseconds since 1970.
pub fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// `ms` milliseconds since 1970 as RFC 3339, UTC; times before 1970 and after 9999 as the nearest.
pub fn time_text(ms: i64) -> String {
    // The last millisecond of 9999.
    const LAST_MS: u64 = 253_402_300_799_999;
    let ms = u64::try_from(ms).unwrap_or(0).min(LAST_MS);
    humantime::format_rfc3339_millis(UNIX_EPOCH + Duration::from_millis(ms)).to_string()
}

/// Milliseconds of a day.
pub const DAY_MS: i64 = 24 * 3_600_000;

/// The milliseconds from 1970 to the RFC 3339 time `text`, or to the start of the day `text`.
pub fn time_ms(text: &str) -> Option<i64> {
    let is_day = text.len() == 10;
    let time = if is_day { format!("{text}T00:00:00Z") } else { text.to_owned() };
    let time = humantime::parse_rfc3339(&time).ok()?;
    i64::try_from(time.duration_since(UNIX_EPOCH).ok()?.as_millis()).ok()
}

/// The milliseconds from 1970 to the RFC 3339 time `text`, or to the end of the day `text`.
pub fn end_ms(text: &str) -> Option<i64> {
    let is_day = text.len() == 10;
    time_ms(text).map(|ms| if is_day { ms + DAY_MS } else { ms })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_is_read_back() {
        let card = Card {
            received_ms: 1_764_000_000_123,
            submitter: "a \"b\"".into(),
            state: State::Pending,
        };
        assert_eq!(Card::parse(card.to_text().as_bytes()), Ok(card));
        assert!(Card::parse(b"{").is_err());
        assert_eq!(Card::parse(b"{}").unwrap_err(), "there is no text in its field format");
    }

    #[test]
    fn times_are_days_or_rfc_3339() {
        assert_eq!(time_ms("2026-11-26"), time_ms("2026-11-26T00:00:00Z"));
        assert_eq!(
            time_text(time_ms("2026-11-26T01:02:03.004Z").unwrap()),
            "2026-11-26T01:02:03.004Z"
        );
        assert_eq!(end_ms("2026-11-26"), time_ms("2026-11-27"));
        assert_eq!(end_ms("2026-11-26T01:00:00Z"), time_ms("2026-11-26T01:00:00Z"));
        for text in ["", "2026", "2026-13-01", "26.11.2026", "1969-12-31"] {
            assert_eq!(time_ms(text), None, "{text}");
        }
        assert_eq!(time_text(i64::MAX), "9999-12-31T23:59:59.999Z");
        assert_eq!(time_text(-1), "1970-01-01T00:00:00.000Z");
    }
}
