//! `db demo`: a small database of runs on simulated machines.
//!
//! Times are those of the simulator, by machine files that cite their values, with noise from a fixed seed.
//! Dates are made up, and two machines have a slower startup from some week on. A run says so in its labels,
//! and two demos of one build are equal to the byte.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};
use comet_db::card::time_text;
use comet_db::limits::Limits;
use comet_db::{Arrival, Database};
use comet_report::format::JSONL;
use comet_report::read::parse_records;
use comet_report::record::Record;
use comet_sim::machine::MACHINES;

use super::db::refused;
use crate::exit;
use crate::terminal;

/// Start of the first week: Monday, 2025-01-06, 02:00 UTC.
const FIRST_MS: i64 = 1_736_128_800_000;
/// Milliseconds of a week.
const WEEK_MS: i64 = 7 * 24 * 3_600_000;
/// Weeks.
const N_WEEKS: u32 = 20;
/// Ranks of a run, but for those over several numbers of ranks.
const RANKS: &str = "8";
/// Note in the labels of each run.
const NOTE: &str = "simulated for db demo; its date is made up";

/// Machines with a run each week.
const WATCHED: [&str; 3] = ["hbv2-hdr", "t3e", "tofud"];
/// Machines with one run of many kernels.
const COMPARED: [&str; 4] = ["redstorm", "sp2", "t3e", "xe6"];
/// Kernels that are run each week.
const WEEKLY: &[&str] = &["comet/echo", "comet/broadcast", "imb/allreduce"];
/// Kernels of figures 5 and 6 of the paper on SKaMPI, and those of figure 7.
const PINGPONGS: &[&str] = &[
    "skampi/pingpong_send_recv",
    "skampi/pingpong_isend_recv",
    "skampi/pingpong_send_irecv",
    "skampi/pingpong_sendrecv",
];
const GATHERS: &[&str] = &["imb/gatherv", "skampi/gatherv_send_recv", "skampi/gatherv_isend_irecv"];

/// Options of the ping-pongs, and of the gathers.
const REFINED: &[&str] = &["--sizes", "1..1M*2", "--refine", "skampi"];
const AT_256: &[&str] = &["--sizes", "256"];
/// Option of the weekly runs, so that the demo is there in seconds.
const NEAREST: &[&str] = &["--hops", "1"];

/// A change of a machine: from a week on, `from` in its file is `to`.
struct Change {
    machine: &'static str,
    week: u32,
    from: &'static str,
    to: &'static str,
}

/// Startup times that become a fifth and a quarter longer.
const CHANGES: [Change; 2] = [
    Change { machine: "t3e", week: 12, from: "value = \"5 us\"", to: "value = \"6 us\"" },
    Change { machine: "tofud", week: 8, from: "value = \"0.49 us\"", to: "value = \"0.61 us\"" },
];

/// A file of the demo.
struct Plan {
    machine: &'static str,
    title: &'static str,
    week: u32,
    kernels: &'static [&'static str],
    ranks: &'static str,
    options: &'static [&'static str],
}

/// The files, in the order of their dates.
fn plans() -> Vec<Plan> {
    let weekly = |week| {
        let of = move |machine| {
            let (title, kernels) = ("weekly", WEEKLY);
            Plan { machine, title, week, kernels, ranks: RANKS, options: NEAREST }
        };
        WATCHED.map(of)
    };
    let week = N_WEEKS - 1;
    let compared = COMPARED.into_iter().flat_map(|machine| {
        let pingpongs = ("modes of the ping-pong", PINGPONGS, "2", REFINED);
        let gathers = ("gathers over ranks", GATHERS, "2,4,8,16,32", AT_256);
        [pingpongs, gathers].map(|(title, kernels, ranks, options)| Plan {
            machine,
            title,
            week,
            kernels,
            ranks,
            options,
        })
    });
    (0..N_WEEKS).flat_map(weekly).chain(compared).collect()
}

/// Makes the database in `folder`, which must be new or empty.
pub(super) fn demo(folder: &Path) -> anyhow::Result<u8> {
    if fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some()) {
        let folder = terminal::one_line(folder.display());
        return Err(exit::usage(format!("{folder} holds something already (name a new folder)")));
    }
    let scratch = Scratch::new()?;
    let mut database = Database::open(folder).map_err(refused)?;
    let (mut n_files, mut n_runs) = (0, 0);
    for (number, plan) in (1..).zip(plans()) {
        let bytes = plan.file(number, &scratch)?;
        let arrival = Arrival { bytes: &bytes, limits: Limits::OWN, token: None };
        n_runs += database.add(arrival).map_err(refused)?.runs.len();
        n_files += 1;
    }
    let folder = terminal::one_line(folder.display());
    terminal::print(&format!("{folder}: {n_files} files with {n_runs} simulated runs\n"))?;
    terminal::note(&format!("note: look at it with comet-run serve {folder}"));
    Ok(exit::OK)
}

impl Plan {
    /// The file number `number`.
    fn file(&self, number: u32, scratch: &Scratch) -> anyhow::Result<Vec<u8>> {
        let out = scratch.0.join(format!("{number}.jsonl"));
        let mut command = Command::new(std::env::current_exe().context("cannot find comet-run")?);
        command.env_clear().stdin(Stdio::null()).args(self.kernels).arg("--machine");
        match self.changed() {
            Some(text) => {
                // The name is in the file, and is to be the same each time: that of no folder.
                let name = format!("{}-changed.toml", self.machine);
                let path = scratch.0.join(&name);
                fs::write(&path, text).with_context(|| cannot("write", &path))?;
                command.current_dir(&scratch.0).arg(name)
            }
            None => command.arg(self.machine),
        };
        command.args(["-n", self.ranks, "--profile", "quick", "--launches", "3"]);
        command.args(["--unsteady", "2", "--format", "none", "--quiet"]);
        command.args(["--seed", &number.to_string()]).arg("--out").arg(&out);
        command.args(self.options);
        for (name, value) in [("machine", self.machine), ("name", self.title), ("note", NOTE)] {
            command.args(["--label", &format!("{name}={value}")]);
        }
        let ended = command.output().context("cannot start comet-run")?;
        if !ended.status.success() {
            let words = String::from_utf8_lossy(&ended.stderr);
            bail!("the run on {} failed: {}", self.machine, words.trim());
        }
        let bytes = fs::read(&out).with_context(|| cannot("read", &out))?;
        let mut records = parse_records(&bytes)?.records;
        self.date(number, &mut records);
        let mut text = Vec::new();
        JSONL.write(&records, &mut text)?;
        Ok(text)
    }

    /// The file of its machine, if it has changed by then.
    fn changed(&self) -> Option<String> {
        let is_it = |change: &&Change| change.machine == self.machine && change.week <= self.week;
        let change = CHANGES.iter().find(is_it).filter(|_| self.title == "weekly")?;
        let (_, text) = MACHINES.iter().find(|(name, _)| *name == self.machine)?;
        Some(text.replace(change.from, change.to))
    }

    /// Gives `records` the date of the plan, and takes from them what is of this moment and this host.
    fn date(&self, number: u32, records: &mut [Record]) {
        let date = time_text(FIRST_MS + i64::from(self.week) * WEEK_MS);
        let (mut id, mut n_runs) = (String::new(), 0);
        for record in records {
            match record {
                Record::Run(run) => {
                    n_runs += 1;
                    id = format!("00000000-0000-7000-8000-{number:06}{n_runs:06}");
                    (run.run_id, run.started_at) = (id.clone(), date.clone());
                    run.argv = ["comet-run", "db", "demo"].map(str::to_owned).into();
                    run.machines.clear();
                    run.noise = None;
                }
                Record::Launch(point) | Record::Point(point) => {
                    (point.run_id, point.t_rel_s) = (id.clone(), 0.0);
                    if let Some(launches) = &mut point.launches {
                        launches.period_s = 0.0;
                    }
                }
                Record::Model(model) => model.run_id.clone_from(&id),
                Record::Event(event) => (event.run_id, event.t_rel_s) = (Some(id.clone()), None),
                Record::End(end) => {
                    (end.run_id, end.ended_at) = (Some(id.clone()), date.clone());
                    (end.wall_s, end.noise) = (None, None);
                }
                Record::Unit(_) => (),
            }
        }
    }
}

fn cannot(what: &str, path: &Path) -> String {
    format!("cannot {what} {} (free some space)", path.display())
}

/// A folder that is removed with its value.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> anyhow::Result<Self> {
        let path = std::env::temp_dir().join(format!("comet-demo-{}", std::process::id()));
        fs::create_dir(&path).with_context(|| cannot("make", &path))?;
        Ok(Self(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use comet_sim::machine::find;

    #[test]
    fn every_change_is_one_of_its_machine_file() {
        let scratch = Scratch::new().unwrap();
        for change in CHANGES {
            let (_, text) = MACHINES.iter().find(|(name, _)| *name == change.machine).unwrap();
            assert_eq!(text.matches(change.from).count(), 1, "{}", change.machine);
            let of = |week| {
                plans().into_iter().find(|plan| {
                    (plan.machine, plan.week, plan.title) == (change.machine, week, "weekly")
                })
            };
            assert_eq!(of(change.week - 1).unwrap().changed(), None);
            let path = scratch.0.join("changed.toml");
            fs::write(&path, of(change.week).unwrap().changed().unwrap()).unwrap();
            let changed = find(path.to_str().unwrap()).unwrap().machine;
            assert_ne!(changed, find(change.machine).unwrap().machine);
        }
    }

    #[test]
    fn dates_are_in_the_past_and_in_order() {
        assert_eq!(time_text(FIRST_MS), "2025-01-06T02:00:00.000Z");
        let weeks: Vec<u32> = plans().iter().map(|plan| plan.week).collect();
        assert!(weeks.is_sorted() && weeks.len() == 68);
    }
}
