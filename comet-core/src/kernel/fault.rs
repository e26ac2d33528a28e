//! Faults that are injected into one kernel, to show that its checks notice them.
//!
//! ```text
//!   what a check sees   spoiled, as if an operation had delivered it so
//!   an operation        left out, or carried out twice, on all ranks alike
//!   a barrier           that of each rank alone, before each sample
//! ```
//!
//! No timed loop has a branch for them: a check is outside of the clock, and operations that are left out or
//! done twice are those of a part around another, whose loop is compiled apart.

use super::check::{Checker, Seeds};
use super::info::Class;
use super::operation::{Operation, verify_by};
use crate::context::Laps;
use crate::error::Result;
use crate::sync::late;
use crate::transport::{Tag, Transport};

/// A fault of one kernel.
#[derive(Debug)]
pub struct Fault {
    /// Name on the command line.
    pub name: &'static str,
    effect: Effect,
}

#[derive(Debug)]
enum Effect {
    /// Data is spoiled where this is true of the number of operations since it was filled in, and of whether the
    /// slice goes on.
    Spoils(Spoil, fn(u64, bool) -> bool),
    /// Each operation is carried out so many times.
    Repeats(u32),
    /// Ranks meet at barriers of a rank alone.
    Meets,
}

/// Every fault.
pub static FAULTS: [Fault; 8] = [
    Fault { name: "corrupt", effect: Effect::Spoils(Spoil::Bit, |_, _| true) },
    Fault { name: "late", effect: Effect::Spoils(Spoil::Bit, |n_runs, _| n_runs > 1) },
    Fault { name: "within", effect: Effect::Spoils(Spoil::Bit, |_, goes_on| goes_on) },
    Fault { name: "swapped", effect: Effect::Spoils(Spoil::Halves, |_, _| true) },
    Fault { name: "stale", effect: Effect::Spoils(Spoil::Before, |_, _| true) },
    Fault { name: "lost", effect: Effect::Repeats(0) },
    Fault { name: "doubled", effect: Effect::Repeats(2) },
    Fault { name: "barrier", effect: Effect::Meets },
];

impl Fault {
    /// The fault of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        FAULTS.iter().find(|fault| fault.name == name)
    }

    /// Change of the data that is looked at after `n_runs` operations, in the middle of a slice that `goes_on` or
    /// at its end.
    pub(crate) fn spoil(&self, n_runs: u64, goes_on: bool) -> Option<Spoil> {
        match self.effect {
            Effect::Spoils(spoil, acts) if acts(n_runs, goes_on) => Some(spoil),
            _ => None,
        }
    }

    /// Times that each operation of a kernel of `class` is carried out, where it is another number than one.
    pub fn n_times(&self, class: Class) -> Option<u32> {
        match self.effect {
            Effect::Repeats(n) => Some(n),
            Effect::Meets => (class == Class::Synchronisation).then_some(0),
            Effect::Spoils(..) => None,
        }
    }

    /// True if the ranks are to meet at barriers of a rank alone, which hold nobody.
    pub(crate) fn empties_barriers(&self) -> bool {
        matches!(self.effect, Effect::Meets)
    }
}

/// A change of data that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spoil {
    /// One bit is another.
    Bit,
    /// Its two halves are swapped, as are blocks that went to the place of another.
    Halves,
    /// It is what was there before, as [`spoil`](crate::pattern::spoil) leaves it.
    Before,
}

impl Spoil {
    /// Changes `bytes`.
    pub(super) fn bytes(self, bytes: &mut [u8]) {
        match self {
            Self::Bit => bytes.last_mut().into_iter().for_each(|byte| *byte ^= 1),
            Self::Halves => bytes.rotate_left(bytes.len() / 2),
            Self::Before => bytes.iter_mut().for_each(|byte| *byte = !*byte),
        }
    }

    /// Changes `values`: the last that the operation `wrote`, or all.
    pub(super) fn values(self, values: &mut [f64], wrote: impl Fn(usize) -> bool) {
        let Some(last) = values.len().checked_sub(1) else { return };
        match self {
            Self::Bit => {
                values[(0..=last).rev().find(|index| wrote(*index)).unwrap_or(last)] += 1.0
            }
            Self::Halves => values.rotate_left(values.len() / 2),
            Self::Before => values.iter_mut().for_each(|value| *value = -1.0 - *value),
        }
    }
}

/// A part each of whose operations is carried out another number of times than once.
pub(super) struct Repeating<'p, T> {
    pub(super) part: &'p mut dyn Operation<T>,
    pub(super) n_times: u32,
    pub(super) class: Class,
}

impl<T: Transport> Operation<T> for Repeating<'_, T> {
    fn fill(&mut self, seeds: Seeds) {
        self.part.fill(seeds);
    }

    fn run(&mut self, t: &T) -> Result<()> {
        (0..self.n_times).try_for_each(|_| self.part.run(t))
    }

    fn run_in_laps(&mut self, t: &T, laps: &mut Laps) -> Result<()> {
        (0..self.n_times).try_for_each(|_| self.part.run_in_laps(t, laps))
    }

    fn clear(&mut self, t: &T) -> Result<()> {
        self.part.clear(t)
    }

    fn conclude(&mut self, t: &T) -> Result<()> {
        self.part.conclude(t)
    }

    fn check(&mut self, check: &mut Checker) {
        self.part.check(check);
    }

    fn begin(&mut self, t: &T) -> Result<()> {
        self.part.begin(t)
    }

    fn end(&mut self, t: &T) -> Result<()> {
        self.part.end(t)
    }

    /// A barrier that is left out leaves nothing else to look at than who comes late.
    fn verify(&mut self, t: &T, check: &mut Checker) -> Result<()> {
        verify_by(self, t, check, |part| part.run(t))?;
        if self.class != Class::Synchronisation || self.n_times > 0 {
            return Ok(());
        }
        late::prove(t, Tag::new(1), check, "the barrier", || self.run(t))
    }
}
