//! Addresses of pages, on the server and in a published site: every link of a page is made here.
//!
//! | page | on the server | in a site |
//! |---|---|---|
//! | runs, those of a machine | `/`, `/?machine=NAME` | `index.html`, `machines/ID.html` |
//! | a run, its report, its file | `/runs/ID`, `/runs/ID/report`, `/files/NAME` | `runs/ID.html`, `reports/ID.html`, `files/NAME` |
//! | comparison | `/compare?QUERY` | `compare.html#QUERY` |
//! | trend of an alert | `/trends?QUERY` | `trends/ID.html` |
//! | kernels, one of them | `/kernels`, `/kernels/SUITE#NAME` | `kernels.html`, `kernels/SUITE.html#NAME` |

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use askama::filters::HtmlSafe;

use super::kernels::Suite;
use super::pages::escaped;
use crate::alert::{Alert, Number};
use crate::card::{now_ms, time_text};
use crate::id::{BlobId, Id};
use crate::rows::RunRow;

/// Policy of the pages of a site: its own files. Pages that are opened from a disk have no origin, so
/// that files are named by their scheme.
const POLICY: &str = "default-src 'none'; style-src 'self' file:; script-src 'self' file:; \
                      base-uri 'none'; form-action 'none'";

/// Reports and result files that a site holds.
#[derive(Debug, Default)]
pub(super) struct Held {
    pub(super) reports: BTreeSet<Id>,
    pub(super) files: BTreeSet<BlobId>,
}

/// The place of a page, and the addresses that it links to.
#[derive(Clone, Debug)]
pub(super) struct Links {
    place: Place,
    kernels: Arc<Vec<Suite>>,
}

#[derive(Clone, Debug)]
enum Place {
    /// On the server, as of this time in milliseconds since 1970.
    Server(i64),
    /// In a site, with the way up to its first page.
    Site(&'static str, Arc<Held>),
}

impl Links {
    /// Links of a page of the server, now.
    pub(super) fn served(kernels: &Arc<Vec<Suite>>) -> Self {
        Self { place: Place::Server(now_ms()), kernels: kernels.clone() }
    }

    /// Links of a page of a site, `up` from which its first page is (`../`).
    pub(super) fn site(up: &'static str, held: &Arc<Held>, kernels: &Arc<Vec<Suite>>) -> Self {
        Self { place: Place::Site(up, held.clone()), kernels: kernels.clone() }
    }

    /// `of_server`, or `of_site` from the place of the page.
    fn to(&self, of_server: impl FnOnce() -> String, of_site: impl FnOnce() -> String) -> String {
        match &self.place {
            Place::Server(_) => of_server(),
            Place::Site(up, _) => format!("{up}{}", of_site()),
        }
    }

    /// Page `name` of the server, or the file of a site that is called like it.
    fn page(&self, name: &str) -> String {
        self.to(|| format!("/{name}"), || format!("{name}.html"))
    }

    pub(super) fn is_served(&self) -> bool {
        matches!(self.place, Place::Server(_))
    }

    /// Policy that a page states itself, because no server does.
    pub(super) fn policy(&self) -> Option<&'static str> {
        (!self.is_served()).then_some(POLICY)
    }

    pub(super) fn runs(&self) -> String {
        self.to(|| "/".into(), || "index.html".into())
    }

    pub(super) fn runs_of(&self, machine: &str) -> String {
        self.to(
            || format!("/?machine={}", escaped(machine)),
            || format!("machines/{}.html", machine_id(machine)),
        )
    }

    pub(super) fn machines(&self) -> String {
        self.page("machines")
    }

    pub(super) fn run(&self, id: &Id) -> String {
        self.page(&format!("runs/{id}"))
    }

    pub(super) fn report(&self, run: &RunRow) -> Option<String> {
        match &self.place {
            Place::Site(_, held) if !held.reports.contains(&run.id) => None,
            _ => {
                let of_server = || format!("/runs/{}/report", run.id);
                Some(self.to(of_server, || format!("reports/{}.html", run.id)))
            }
        }
    }

    pub(super) fn file(&self, run: &RunRow) -> Option<String> {
        let name = format!("files/{}.jsonl.gz", run.blob);
        match &self.place {
            Place::Site(_, held) if !held.files.contains(&run.blob) => None,
            _ => Some(self.to(|| format!("/{name}"), || name.clone())),
        }
    }

    /// The comparison that `query` names; empty for one that is to be chosen.
    pub(super) fn compare(&self, query: &str) -> String {
        let behind = |mark: char| match query {
            "" => String::new(),
            query => format!("{mark}{query}"),
        };
        let of_site = || format!("compare.html{}", behind('#'));
        self.to(|| format!("/compare{}", behind('?')), of_site)
    }

    pub(super) fn trends(&self) -> String {
        self.page("trends")
    }

    /// The trend of the number that `alert` is about.
    pub(super) fn trend(&self, alert: &Alert) -> String {
        let of_server = || format!("/trends?{}", trend_query(alert));
        self.to(of_server, || format!("trends/{}.html", trend_id(alert)))
    }

    pub(super) fn kernels(&self) -> String {
        self.page("kernels")
    }

    pub(super) fn suite(&self, name: &str) -> String {
        self.page(&format!("kernels/{name}"))
    }

    /// The meaning of a kernel, if it is one of CoMet's own.
    pub(super) fn kernel(&self, suite: &str, name: &str) -> Option<String> {
        let of = self.kernels.iter().find(|of| of.name == suite)?;
        of.kernels.iter().find(|kernel| kernel.name == name)?;
        Some(format!("{}#{name}", self.suite(suite)))
    }

    /// A file of styles, scripts or data.
    pub(super) fn asset(&self, name: &str) -> String {
        self.to(|| format!("/{name}"), || name.to_owned())
    }

    /// A time to the minute, on the server with its age: a site does not know when it is read.
    pub(super) fn when(&self, ms: &i64) -> When {
        let now_ms = match self.place {
            Place::Server(now_ms) => Some(now_ms),
            Place::Site(..) => None,
        };
        When { ms: *ms, now_ms }
    }
}

/// Id of the list of runs of the machine called `name`, letter case aside.
pub(super) fn machine_id(name: &str) -> Id {
    Id::of("machine page", &[&name.to_ascii_lowercase()])
}

/// Id of the trend of the number that `alert` is about.
pub(super) fn trend_id(alert: &Alert) -> Id {
    Id::of("trend page", &[&trend_query(alert)])
}

/// The trend of the number that `alert` is about, as the end of an address.
fn trend_query(alert: &Alert) -> String {
    let Number { series, x, procs, kind } = &alert.worst;
    let number = |name: &str, value: &Option<i64>| {
        value.map(|value| format!("&{name}={value}")).unwrap_or_default()
    };
    format!(
        "machine={}&series={}{}{}&kind={}",
        escaped(&alert.machine),
        series.id,
        number("length", x),
        number("ranks", procs),
        kind.id()
    )
}

/// A time as markup; it holds digits and words of this file alone.
pub(super) struct When {
    ms: i64,
    now_ms: Option<i64>,
}

impl HtmlSafe for When {}

impl fmt::Display for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, minute) = (time_text(self.ms), super::pages::minute(&self.ms));
        match self.now_ms {
            None => write!(f, "<time datetime=\"{whole}\">{minute}</time>"),
            Some(now_ms) => write!(
                f,
                "{minute} <time class=\"age\" datetime=\"{whole}\" title=\"{minute} UTC\">{}</time>",
                age(now_ms - self.ms)
            ),
        }
    }
}

/// An age of `ms` in words.
fn age(ms: i64) -> String {
    let minutes = ms / 60_000;
    let (hours, days) = (minutes / 60, minutes / 1440);
    match () {
        () if minutes < 1 => "now".into(),
        () if hours < 1 => format!("{minutes} min ago"),
        () if days < 2 => format!("{hours} h ago"),
        () if days < 61 => format!("{days} days ago"),
        () if days < 731 => format!("{} months ago", days * 12 / 365),
        () => format!("{} years ago", days / 365),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_told_by_their_largest_unit() {
        let minute = 60_000;
        let ages = [-1, 0, 59, 60, 2 * 1440, 60 * 1440, 61 * 1440, 730 * 1440, 731 * 1440];
        let words = ages.map(|minutes| age(minutes * minute));
        let expected = [
            "now",
            "now",
            "59 min ago",
            "1 h ago",
            "2 days ago",
            "60 days ago",
            "2 months ago",
            "24 months ago",
            "2 years ago",
        ];
        assert_eq!(words, expected);
    }

    #[test]
    fn a_page_has_one_address_on_the_server_and_one_in_a_site() {
        let kernels = Arc::default();
        let (server, site) =
            (Links::served(&kernels), Links::site("../", &Arc::default(), &kernels));
        let id = Id::of("run", &["x"]);
        for (of, expected) in [
            (&server, ["/", &format!("/runs/{id}"), "/compare?run=1", "/kernels", "/style.css"]),
            (
                &site,
                [
                    "../index.html",
                    &format!("../runs/{id}.html"),
                    "../compare.html#run=1",
                    "../kernels.html",
                    "../style.css",
                ],
            ),
        ] {
            let found =
                [of.runs(), of.run(&id), of.compare("run=1"), of.kernels(), of.asset("style.css")];
            assert_eq!(found, expected);
        }
        assert_eq!(
            server.when(&0).to_string().matches("title=\"1970-01-01 00:00 UTC\"").count(),
            1
        );
        assert!(!site.when(&0).to_string().contains("ago"));
        assert_eq!(server.runs_of("a/b"), "/?machine=a%2Fb");
        assert_eq!(site.runs_of("A/b"), site.runs_of("a/B"));
    }
}
