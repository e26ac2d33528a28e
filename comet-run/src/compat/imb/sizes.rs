//! Operations, lengths and elements of a command line of IMB.

use comet_core::collective::Element;
use comet_report::format::LENGTHS_LABEL;
use comet_report::suite::Numbers;
use comet_report::suite::imb::{EXT, has_modes};

use super::{Asked, ELEMENTS, doubling};

/// The limits of loops, and of all lengths, that the rules of 2021 and of 3.2 have anyway.
const LOOP_LIMITS: [&str; 2] = ["40Mi,10s,210s", "40Mi,10s,none"];
/// Operations of a loop at most, likewise.
const OPERATIONS: u64 = 1000;
/// The same where each is complete before the next one.
const COMPLETED: u64 = 100;

/// A time in seconds, in whole nanoseconds.
fn seconds(s: f64) -> String {
    format!("{}s", (s * 1e9).round() / 1e9)
}

impl Asked {
    /// Adds what limits a loop, and since version 2021 all lengths of a benchmark: so many times the time of a
    /// loop.
    pub(super) fn limit_loops(&mut self) {
        let n_listed = u32::try_from(self.list.as_ref().map_or(0, Vec::len)).unwrap_or(u32::MAX);
        let n_loops = n_listed.max(self.logs.1 - self.logs.0).saturating_sub(1).max(1);
        let of_all = match self.program.is_3_2() {
            true => "none".into(),
            false => seconds(self.time_s * f64::from(n_loops)),
        };
        let of_loop = format!("{}Mi,{}", self.volume, seconds(self.time_s));
        let limits = if self.is_unlimited { "none,none".into() } else { of_loop };
        let limits = format!("{limits},{of_all}");
        if !LOOP_LIMITS.contains(&&*limits) {
            self.words.set("--loop-limits", limits);
        }
        if let Some(kind) = self.multiples {
            self.words.set("--loop-multiples", format!("{}{kind}", 1u64 << self.logs.1));
        }
    }

    /// Adds how many operations a length has at most.
    pub(super) fn add_operations(&mut self) {
        if self.operations != OPERATIONS {
            self.words.set("--repetitions", self.operations);
        }
        if let Some(completed) = self.most_completed()
            && completed != if self.operations == OPERATIONS { COMPLETED } else { self.operations }
        {
            self.words.set("--loop-completed", completed);
        }
    }

    /// Operations of a length at most where each is complete before the next one.
    fn most_completed(&self) -> Option<u64> {
        let completed = self.completed?;
        match self.list {
            _ if self.is_unlimited => Some(self.operations),
            // A loop is no longer than that of the length before, which begins with the longest.
            None => Some(completed.min(self.operations)),
            Some(_) => Some(completed),
        }
    }

    /// Adds the lengths: whole numbers of elements, and none above the longest.
    pub(super) fn add_lengths(&mut self) {
        let (min, max) = self.logs;
        let has_lengths = self.has(Numbers::has_lengths);
        let own_bytes = self.program.suite.unit_bytes;
        let unit_bytes = Element::find(self.data_type).map_or(1, |of| of.bytes() as u64);
        let has_sums = self.has(|numbers| numbers == Numbers::Reduction || numbers.is_remote());
        let has_list = self.list.is_some() && (own_bytes > 1 || has_sums);
        if has_lengths && (unit_bytes > 1 || has_list) {
            self.words.set("--unit", unit_bytes.max(own_bytes));
        }
        let sizes = match &self.list {
            Some(list) => {
                let most: u64 = 1 << max;
                let longer = list.iter().find(|length| has_lengths && **length > most);
                self.notes.extend(longer.map(|longer| {
                    format!(
                        "lengths end at {most} bytes, which {longer} becomes, unless -msglog says \
                         otherwise"
                    )
                }));
                let lengths = list.iter().map(|length| (*length).min(most).to_string());
                lengths.collect::<Vec<_>>().join(",")
            }
            None => {
                let zero = if self.has_zero { "0," } else { "" };
                // Where all lengths have a unit, it is the least, whatever the powers of two.
                let least = if own_bytes > 1 { own_bytes } else { 1 << min };
                if least > 1 << max {
                    "0".into()
                } else {
                    format!("{zero}{}", doubling(least, 1 << max))
                }
            }
        };
        if has_lengths {
            self.words.set("--sizes", sizes);
        } else {
            // The head names them.
            self.words.label(format!("{LENGTHS_LABEL}={sizes}"));
        }
    }

    /// Adds the datatype of messages and the elements of reductions.
    pub(super) fn add_elements(&mut self) {
        let has_reductions = self.has(|numbers| numbers == Numbers::Reduction);
        let moves = self.has(|numbers| !matches!(numbers, Numbers::Barrier | Numbers::Reduction));
        match self.data_type {
            name if name == ELEMENTS[0] => (),
            name if moves => self.words.axis(format!("datatype={name}")),
            name => self
                .notes
                .push(format!("-data_type {name} has no effect: only reductions are named")),
        }
        match self.element {
            Some(element) if has_reductions => self.words.axis(format!("element={element}")),
            Some(element) => self
                .notes
                .push(format!("-red_data_type {element} has no effect: no reduction is named")),
            None => (),
        }
    }

    /// Adds the places of transfers and their ends.
    pub(super) fn add_mode(&mut self) {
        let are_there = self.benchmarks.iter().any(|benchmark| has_modes(benchmark));
        if self.program.is_3_2() && self.program.suite.id == EXT.id && are_there {
            self.words.axis("sections=disjoint".into());
        }
        let Some(mode) = self.mode else { return };
        match are_there {
            true => self.words.axis(format!("aggregate={mode}")),
            false => self.notes.push(format!(
                "-aggregate_mode {mode} has no effect: transfers of what is named end in one way"
            )),
        }
    }
}
