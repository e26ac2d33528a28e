//! A published site: the pages as files, for any web server or none.
//!
//! ```text
//!   index ──► pages of runs, machines, alerts, kernels ──┐
//!         └─► data/ID.js, for the comparison             ├─► part beside the site ──► exchanged for it
//!   blobs ──► reports, result files, the latest first,   │
//!             as far as the site has room for them ──────┘
//! ```
//!
//! The pages are those of the server, with other links (module `links`) and without forms. The comparison
//! alone is a script: it draws the figure from data that it loads as scripts, because a browser reads no
//! other file next to a page on a disk. Equal databases make equal sites, to the byte.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use askama::Template;
use serde_json::{Value, json};

use super::files::{figure_script, packed, report_of, style_sheet};
use super::kernels::{KernelsPage, Suite, SuitePage};
use super::links::{Held, Links, machine_id, trend_id};
use super::pages::{self, MachinesPage, RunPage, RunsPage};
use super::site_folder::{SiteFolder, rendered, script};
use super::trends::TrendsPage;
use crate::alert::{Alert, alerts};
use crate::card::State;
use crate::id::{BlobId, Id};
use crate::index::{Filter, Index, Later, MAX_ROWS};
use crate::overlay::{self, Of, words};
use crate::rows::{PointRow, SeriesRow};
use crate::{Database, Error, answer};

/// Runs on a page.
const RUNS: usize = 200;
/// Room for the links of a run to its report and its file.
const LINKS: u64 = 300;

/// Contents of a site that was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Published {
    /// Number of runs.
    pub n_runs: usize,
    /// Number of files of the site.
    pub n_files: usize,
    /// Size of all of them.
    pub n_bytes: u64,
    /// Number of reports in the site; the other runs have none there.
    pub n_reports: usize,
    /// Number of result files in the site, and of all that have published runs.
    pub n_results: [usize; 2],
}

/// Writes the published runs of the database in `folder` as a site into `to`, a new folder or a site, with
/// the meaning of `kernels`. Reports and then result files are in it, the latest first, as far as it stays
/// below `most_bytes`. The site that was there is whole until the new one is.
///
/// # Errors
/// If `to` holds something else, or cannot be written, or the database cannot be read.
pub fn publish(
    folder: &Path,
    to: &Path,
    kernels: Vec<Suite>,
    most_bytes: u64,
) -> Result<Published, Error> {
    let mut database = Database::existing(folder)?;
    let blobs = database.blobs().clone();
    let mut files = SiteFolder::begin(to)?;
    // Of one moment: what is published meanwhile would be links to pages that are not there.
    let mut site = database.index().read(|index| {
        let site = Site::of(index, kernels)?;
        site.put_lists(index, &mut files)?;
        site.put_data(index, &mut files)?;
        Ok(site)
    })?;
    let of_runs = site.run_pages(database.index(), |_, page| Ok(page.len() as u64 + LINKS))?;
    let mut held = Held::default();
    // A file that is not held takes a letter more than one that is.
    let of_list = script("runs", &site.choices(&held)).len() as u64;
    let used = files.n_bytes + of_list + of_runs.iter().sum::<u64>();
    let mut room = most_bytes.saturating_sub(used);
    for (run, _) in &site.runs {
        let report = report_of(folder, &blobs, run)?;
        if !take(&mut room, report.len()) {
            break;
        }
        files.put(&format!("reports/{}.html", run.id), &report)?;
        held.reports.insert(run.id);
    }
    let results = results(&site.runs);
    for id in &results {
        let bytes = packed(&blobs, *id)?;
        if !take(&mut room, bytes.len()) {
            break;
        }
        files.put(&format!("files/{id}.jsonl.gz"), &bytes)?;
        held.files.insert(*id);
    }
    files.put_script("data/runs.js", "runs", &site.choices(&held))?;
    let (n_reports, n_results) = (held.reports.len(), [held.files.len(), results.len()]);
    site.held = Arc::new(held);
    site.run_pages(database.index(), |id, page| {
        files.put(&format!("runs/{id}.html"), page.as_bytes())
    })?;
    let published = Published {
        n_runs: site.runs.len(),
        n_files: files.n_files,
        n_bytes: files.n_bytes,
        n_reports,
        n_results,
    };
    files.finish()?;
    Ok(published)
}

/// True if `room` had `n_bytes`, which it has no more.
fn take(room: &mut u64, n_bytes: usize) -> bool {
    let left = room.checked_sub(n_bytes as u64);
    *room = left.unwrap_or(*room);
    left.is_some()
}

/// The result files of `runs`, each once, in the order of their first runs.
fn results(runs: &[Of]) -> Vec<BlobId> {
    let mut known = BTreeSet::new();
    runs.iter().map(|(run, _)| run.blob).filter(|blob| known.insert(*blob)).collect()
}

/// The contents of a site.
struct Site {
    kernels: Arc<Vec<Suite>>,
    held: Arc<Held>,
    /// Published runs, the latest first.
    runs: Vec<Of>,
    /// Superseded runs among them, each with the run that supersedes it.
    superseded: BTreeMap<Id, Later>,
    /// Alerts of these runs.
    alerts: Vec<Alert>,
}

#[derive(Template)]
#[template(path = "comparison.html")]
struct ComparisonPage {
    links: Links,
}

impl Site {
    fn of(index: &mut Index, kernels: Vec<Suite>) -> Result<Self, Error> {
        let filter = Filter { state: Some(State::Published), ..Filter::default() };
        let (mut runs, mut superseded, mut after) = (Vec::new(), BTreeMap::new(), None);
        loop {
            let page = index.runs(&filter, after, MAX_ROWS)?;
            superseded.extend(index.superseded(&pages::ids(&page.runs))?);
            runs.extend(page.runs);
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        let alerts = alerts(index)?;
        Ok(Self { kernels: Arc::new(kernels), held: Arc::default(), runs, superseded, alerts })
    }

    fn links(&self, up: &'static str) -> Links {
        Links::site(up, &self.held, &self.kernels)
    }

    /// Lists of runs and machines, alerts with their trends, kernels, the comparison, styles and scripts.
    fn put_lists(&self, index: &mut Index, files: &mut SiteFolder) -> Result<(), Error> {
        self.put_runs(files, None)?;
        for name in index.machine_names()? {
            self.put_runs(files, Some(&name))?;
        }
        let machines = index.machines(State::Published)?;
        let facts = json!({
            "runs": pages_of(index, &self.runs)?,
            "machines": machines.iter().map(answer::machine).collect::<Vec<_>>(),
            "alerts": self.alerts.iter().map(answer::alert).collect::<Vec<_>>(),
        });
        files.put("data/runs.json", format!("{facts}\n").as_bytes())?;
        files.put_page("machines.html", &MachinesPage { links: self.links(""), machines })?;
        let trends = TrendsPage::of_alerts(self.alerts.clone(), self.links(""));
        files.put_page("trends.html", &trends)?;
        // Alerts of one number have one page.
        let of_trends = self.alerts.iter().map(|alert| (trend_id(alert), alert));
        for (id, alert) in of_trends.collect::<BTreeMap<_, _>>() {
            let page = TrendsPage::of_alert(index, alert, self.links("../"))?;
            files.put_page(&format!("trends/{id}.html"), &page)?;
        }
        let page = KernelsPage { links: self.links(""), suites: &self.kernels };
        files.put_page("kernels.html", &page)?;
        for suite in self.kernels.iter() {
            let page = SuitePage { links: self.links("../"), suite };
            files.put_page(&format!("kernels/{}.html", suite.name), &page)?;
        }
        files.put_page("compare.html", &ComparisonPage { links: self.links("") })?;
        files.put("style.css", style_sheet().as_bytes())?;
        files.put("plot.js", figure_script().as_bytes())?;
        let script = include_str!("../../templates/comparison.js");
        files.put("compare.js", comet_report::plot::script_with(script).as_bytes())
    }

    /// The list of the runs of `machine`, or of all, in pages.
    fn put_runs(&self, files: &mut SiteFolder, machine: Option<&str>) -> Result<(), Error> {
        let is_of = |(_, of): &&Of| machine.is_none_or(|name| of.name.eq_ignore_ascii_case(name));
        let runs: Vec<Of> = self.runs.iter().filter(is_of).cloned().collect();
        let (folder, up, first) = match machine {
            None => ("", "", "index".to_owned()),
            Some(name) => ("machines/", "../", machine_id(name).to_string()),
        };
        let name = |number: usize| match number {
            0 => format!("{first}.html"),
            number => format!("{first}-{}.html", number + 1),
        };
        let n_pages = runs.len().div_ceil(RUNS).max(1);
        for number in 0..n_pages {
            let start = number * RUNS;
            let runs = runs[start..runs.len().min(start + RUNS)].to_vec();
            let is_first = machine.is_none() && number == 0;
            let open = self.alerts.iter().filter(|alert| is_first && alert.mark.is_none());
            let page = RunsPage {
                links: self.links(up),
                title: machine.map_or_else(|| "Runs".into(), |name| format!("Runs on {name}")),
                superseded: self.superseded.clone(),
                runs,
                machines: Vec::new(),
                fields: Vec::new(),
                next: (number + 1 < n_pages).then(|| name(number + 1)),
                alerts: open.cloned().collect(),
            };
            files.put_page(&format!("{folder}{}", name(number)), &page)?;
        }
        Ok(())
    }

    /// The list of runs to choose from, whose result files may be in what the site has `held`.
    fn choices(&self, held: &Held) -> Value {
        let choice = |(run, machine): &Of| {
            json!({
                "id": run.id.to_string(),
                "file": run.blob.to_string(),
                "has_file": held.files.contains(&run.blob),
                "ranks": run.ranks,
                "conditions": run.fingerprint,
                "traits": [
                    machine.name,
                    run.mpi.as_ref().or(run.backend.as_ref()),
                    run.start(),
                    run.title,
                    format!("{} ranks", run.ranks),
                ],
            })
        };
        self.runs.iter().map(choice).collect()
    }

    /// Scripts with the curves of each run.
    fn put_data(&self, index: &mut Index, files: &mut SiteFolder) -> Result<(), Error> {
        let links = self.links("");
        for (run, _) in &self.runs {
            let series: Vec<SeriesRow> = overlay::distinct(&index.series(&[run.id])?)
                .into_iter()
                .map(|(of, _)| of)
                .collect();
            let numbers: BTreeMap<Id, usize> =
                series.iter().enumerate().map(|(number, of)| (of.id, number)).collect();
            let points = index.points(&[run.id], &[])?.into_iter().filter_map(|point| {
                let number = numbers.get(&point.series)?;
                let ns = point.quoted_ns?;
                let bytes = overlay::bytes(&point, &series[*number]);
                // A rate that was rounded gives whole bytes again.
                let bytes = bytes.map(|bytes| (bytes * 1e3).round() / 1e3);
                let PointRow { x, procs, low_ns, high_ns, .. } = point;
                Some(json!([number, x, procs, ns, low_ns, high_ns, bytes]))
            });
            let points: Vec<Value> = points.collect();
            let curve = |of: &SeriesRow| {
                json!({
                    "id": of.id.to_string(),
                    "name": words(of),
                    "unit": of.x_unit,
                    "kernel": links.kernel(&of.suite, &of.kernel),
                })
            };
            let curves: Vec<Value> = series.iter().map(curve).collect();
            let value = json!({ "series": curves, "points": points });
            files.put_script(&format!("data/{}.js", run.id), &run.id.to_string(), &value)?;
        }
        Ok(())
    }

    /// Results of `work` with the page of each run.
    fn run_pages<T>(
        &self,
        index: &mut Index,
        mut work: impl FnMut(Id, &str) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        let mut made = Vec::new();
        for (run, _) in &self.runs {
            let mut page = RunPage::of(index, &run.id.to_string(), self.links("../"))?;
            page.superseded = self.superseded.get(&run.id).copied();
            made.push(work(run.id, &rendered(&page)?)?);
        }
        Ok(made)
    }
}

/// `runs` as JSON.
fn pages_of(index: &mut Index, runs: &[Of]) -> Result<Vec<Value>, Error> {
    let mut values = Vec::new();
    for part in runs.chunks(MAX_ROWS) {
        values.extend(pages::answers(index, part)?);
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Arrival;
    use crate::fixture::{Example, Folder, night, token};
    use crate::limits::Limits;
    use crate::token::Scope;
    use std::fs;
    use std::path::PathBuf;

    /// Files below `folder` with their contents, in the order of their names.
    fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
        let mut found = Vec::new();
        let mut folders = vec![folder.to_owned()];
        while let Some(next) = folders.pop() {
            for entry in fs::read_dir(next).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    found.push((
                        path.strip_prefix(folder).unwrap().into(),
                        fs::read(&path).unwrap(),
                    ));
                }
            }
        }
        found.sort();
        found
    }

    fn text(bytes: &[u8]) -> String {
        String::from_utf8_lossy(bytes).into_owned()
    }

    /// A database of nights with a change, and of a pending run.
    fn changed(folder: &Path) -> Database {
        let mut database = Database::open(folder).unwrap();
        let mut lab = token("lab", &[Scope::Submit], "*");
        lab.sha256 = database.add_token(lab.clone()).unwrap().sha256();
        let pending = Example { number: 99, machine: "secret", ..Example::default() }.file();
        let times = (0..17).map(|number| night(number, if number < 12 { 100.0 } else { 120.0 }));
        let files = times.map(|bytes| (bytes, None)).chain([(pending, Some(&lab))]);
        for (bytes, token) in files.collect::<Vec<_>>() {
            database.add(Arrival { bytes: &bytes, limits: Limits::OWN, token }).unwrap();
        }
        database
    }

    #[test]
    fn two_sites_are_equal_and_hold_what_is_published_alone() {
        let folder = Folder::new();
        drop(changed(&folder.path().join("d")));
        let [one, two] = ["one", "two"].map(|name| folder.path().join(name));
        let done = [&one, &two, &two].map(|to| {
            publish(&folder.path().join("d"), to, super::super::tests::suites(), u64::MAX).unwrap()
        });
        assert_eq!((done[0].n_runs, done[0].n_reports, done[0].n_results), (17, 17, [17, 17]));
        let files = contents(&one);
        assert_eq!(files, contents(&two));
        assert_eq!(done[0].n_files, files.len());
        let size = files.iter().map(|(_, bytes)| bytes.len() as u64).sum::<u64>();
        assert_eq!(done[0].n_bytes, size);
        assert!(files.iter().all(|(_, bytes)| !text(bytes).contains("secret")));
        let front = text(&fs::read(one.join("index.html")).unwrap());
        assert!(front.contains("20.0 % slower</strong> on hawk since 2026-01-13"), "{front}");
        let trend = front.split('"').find(|text| text.starts_with("trends/")).unwrap();
        let trend = text(&fs::read(one.join(trend)).unwrap());
        assert!(trend.contains("<svg") && trend.contains("href=\"../compare.html#run="), "{trend}");
    }

    #[test]
    fn two_changes_of_a_number_have_one_page_which_is_counted_once() {
        let folder = Folder::new();
        let mut database = Database::open(&folder.path().join("d")).unwrap();
        for (number, time_ns) in (0..).zip([[100.0; 10], [120.0; 10], [150.0; 10]].as_flattened()) {
            let bytes = night(number, *time_ns);
            database.add(Arrival { bytes: &bytes, limits: Limits::OWN, token: None }).unwrap();
        }
        let found = alerts(database.index()).unwrap();
        assert_eq!(found.len(), 2);
        assert_eq!(trend_id(&found[0]), trend_id(&found[1]));
        drop(database);
        let to = folder.path().join("site");
        let done = publish(&folder.path().join("d"), &to, Vec::new(), u64::MAX).unwrap();
        let files = contents(&to);
        let n_bytes = files.iter().map(|(_, bytes)| bytes.len() as u64).sum::<u64>();
        assert_eq!((done.n_files, done.n_bytes), (files.len(), n_bytes));
    }

    /// Every link of a page leads to a file of the site, and every page has a policy without inline code.
    #[test]
    fn links_of_a_site_stay_within_it() {
        let folder = Folder::new();
        drop(changed(&folder.path().join("d")));
        let to = folder.path().join("site");
        publish(&folder.path().join("d"), &to, super::super::tests::suites(), u64::MAX).unwrap();
        let (mut n_links, pages) = (0, contents(&to));
        let is_page = |path: &Path| path.extension().is_some_and(|end| end == "html");
        let is_own = |path: &Path| is_page(path) && !path.starts_with("reports");
        for (path, bytes) in pages.iter().filter(|(path, _)| is_own(path)) {
            let page = text(bytes);
            assert!(page.contains("Content-Security-Policy") && !page.contains("unsafe"), "{page}");
            assert!(!page.contains(" style=\"") && !page.contains("<script>"), "{page}");
            for attribute in [" href=\"", " src=\""] {
                for target in page.split(attribute).skip(1) {
                    let target = target.split(['"', '#']).next().unwrap();
                    let at = to.join(path).parent().unwrap().join(target);
                    assert!(target.is_empty() || at.exists(), "{}: {target}", path.display());
                    n_links += 1;
                }
            }
        }
        assert!(n_links > 100, "{n_links}");
    }

    #[test]
    fn a_site_has_as_much_as_it_has_room_for() {
        let folder = Folder::new();
        drop(changed(&folder.path().join("d")));
        let to = folder.path().join("site");
        let of = |most| {
            publish(&folder.path().join("d"), &to, super::super::tests::suites(), most).unwrap()
        };
        let all = of(u64::MAX);
        let n_named = || {
            let list = fs::read(to.join("data/runs.js")).unwrap();
            text(&list).matches("\"has_file\":true").count()
        };
        assert_eq!(n_named(), 17);
        let some = of(all.n_bytes - 1);
        assert_eq!((some.n_reports, n_named()), (17, some.n_results[0]));
        assert!((8..17).contains(&some.n_results[0]), "{some:?}");
        let none = of(0);
        assert_eq!((none.n_reports, none.n_results, n_named()), (0, [0, 17], 0));
        let page = contents(&to.join("runs")).remove(0);
        assert!(!text(&page.1).contains("Report"));
        let half = of(none.n_bytes + (all.n_bytes - none.n_bytes) / 2);
        assert!(half.n_bytes <= none.n_bytes + (all.n_bytes - none.n_bytes) / 2);
        assert!((1..17).contains(&half.n_reports), "{half:?}");
    }
}
