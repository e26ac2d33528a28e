//! Thread levels: how many threads of a process may call MPI.

use std::fmt;

use mpi::Threading;

/// A thread level, in the order of what it allows (section 11.6 of the MPI standard).
///
/// CoMet makes its calls from one thread whatever the level is, but for the threads of a rank in lanes, which
/// need [`Multiple`](Self::Multiple). Some libraries take locks, and are
/// slower, above [`Single`](Self::Single).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum ThreadLevel {
    /// `MPI_THREAD_SINGLE`, as with `MPI_Init`: the process has one thread.
    #[default]
    Single,
    /// `MPI_THREAD_FUNNELED`: the main thread alone makes calls.
    Funneled,
    /// `MPI_THREAD_SERIALIZED`: one thread at a time makes calls.
    Serialized,
    /// `MPI_THREAD_MULTIPLE`: any thread makes calls at any time.
    Multiple,
}

/// Each level, in order, with its name and that of the binding.
const LEVELS: [(ThreadLevel, &str, Threading); 4] = [
    (ThreadLevel::Single, "single", Threading::Single),
    (ThreadLevel::Funneled, "funneled", Threading::Funneled),
    (ThreadLevel::Serialized, "serialized", Threading::Serialized),
    (ThreadLevel::Multiple, "multiple", Threading::Multiple),
];

impl ThreadLevel {
    /// The level called `name`: `single`, `funneled`, `serialized` or `multiple`.
    pub fn find(name: &str) -> Option<Self> {
        LEVELS.into_iter().find(|level| level.1 == name).map(|level| level.0)
    }

    /// Name in records and on command lines.
    pub fn name(self) -> &'static str {
        LEVELS[self as usize].1
    }

    pub(crate) fn to_mpi(self) -> Threading {
        LEVELS[self as usize].2
    }

    pub(crate) fn of_mpi(level: Threading) -> Self {
        LEVELS.into_iter().find(|known| known.2 == level).map_or(Self::Single, |known| known.0)
    }
}

impl fmt::Display for ThreadLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_survive_their_names_and_those_of_the_library() {
        for (level, ..) in LEVELS {
            assert_eq!(ThreadLevel::find(level.name()), Some(level));
            assert_eq!(ThreadLevel::of_mpi(level.to_mpi()), level);
        }
        assert_eq!(ThreadLevel::find("Single"), None);
        assert!(LEVELS.is_sorted_by_key(|level| level.0));
    }
}
