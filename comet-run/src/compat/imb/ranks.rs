//! Numbers of ranks, groups and the order of ranks of a command line of IMB.

use comet_report::format::ROWS_LABEL;
use comet_report::suite::Numbers;

use super::super::{Stop, Surroundings};
use super::Asked;

/// Ranks of a pair.
const PAIR: u64 = 2;

impl Asked {
    /// Decides the numbers of ranks: IMB runs a benchmark of all ranks on NPMIN of them, twice as
    /// many, and so on up to all, and one of two ranks once.
    pub(super) fn add_ranks(
        &mut self,
        has_pair: bool,
        has_all: bool,
        around: &Surroundings,
    ) -> Result<(), Stop> {
        let program = self.program.name;
        let all: Option<u64> = around.n_ranks.or_else(|| self.words.value("--ranks")?.parse().ok());
        // Between two halves the last of an odd number has no part.
        let is_of_halves = !self.has(|numbers| !matches!(numbers, Numbers::Windows(_)));
        let all = all.map(|all| if is_of_halves && all > 1 { all - all % 2 } else { all });
        if let Some(map) = self.map {
            self.words.set("--map", map);
            if !around.is_launched && all.is_none() {
                self.words.set("--ranks", map.n_ranks());
            }
        }
        // All ranks of the order are there, whichever take part.
        let has_all_ranks = around.is_launched || self.map.is_some();
        let is_known = has_all_ranks || all.is_some();
        let is_one_job = has_all_ranks || self.program.is_one_job;
        let is_below = |min| all.is_none_or(|all| min < all);
        // Ranks that this program starts are started anew for each number of them.
        let mixed = has_pair && has_all && !is_one_job && self.groups.is_none();
        match self.n_ranks {
            Some(min) if mixed && is_known && is_below(min) => {
                let all = all.map_or("P".into(), |all| all.to_string());
                return Err(Stop::Wrong(format!(
                    "{program}: -npmin {min} asks for runs on fewer than all ranks, which pairs do \
                     not need (write -npmin {all}, or name PingPong in a command of its own)"
                )));
            }
            None if mixed => self.notes.push(
                "collectives run on all ranks alone beside PingPong, as with -npmin of so many"
                    .into(),
            ),
            _ => (),
        }
        let min = self.n_ranks.unwrap_or(self.program.npmin);
        let min = if is_of_halves { min.next_multiple_of(2) } else { min };
        if let Some(rows) = self.groups.take() {
            if has_pair && has_all && (min < PAIR || (min > PAIR && !self.program.is_one_job)) {
                return Err(Stop::Wrong(format!(
                    "{program}: -multi {rows} -npmin {min} asks for groups of {min} or more ranks, \
                     and pairs have 2 (name PingPong in a command of its own)"
                )));
            }
            let procs = if has_all { format!("{min}..max*2,max") } else { PAIR.to_string() };
            self.words.axis(format!("procs={procs}"));
            self.words.axis("groups=max".into());
            self.words.label(format!("{ROWS_LABEL}={rows}"));
        } else if has_all && !mixed && is_below(min) {
            match all {
                _ if is_one_job => {
                    self.words.axis(format!("procs={min}..max*2,max"));
                }
                Some(all) => self.words.replace("--ranks", format!("{min}..{all}*2,{all}")),
                None => (),
            }
        }
        if let Some(n_ranks) = self.n_ranks.or((!has_all).then_some(PAIR))
            && !is_known
        {
            self.words.set("--ranks", n_ranks);
        }
        Ok(())
    }
}
