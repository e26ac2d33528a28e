//! Thread levels: how many threads of a process may call MPI.

use std::fmt;

use mpi::Threading;

/// A thread level, in the order of what it allows (section 11.6 of the MPI standard).
///
/// CoMet makes its calls from one thread whatever the level is. Some libraries take locks, and are
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

impl ThreadLevel {
    const ALL: [Self; 4] = [Self::Single, Self::Funneled, Self::Serialized, Self::Multiple];

    /// The level called `name`: `single`, `funneled`, `serialized` or `multiple`.
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.name() == name)
    }

    /// Name in records and on command lines.
    pub fn name(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Funneled => "funneled",
            Self::Serialized => "serialized",
            Self::Multiple => "multiple",
        }
    }

    pub(crate) fn to_mpi(self) -> Threading {
        match self {
            Self::Single => Threading::Single,
            Self::Funneled => Threading::Funneled,
            Self::Serialized => Threading::Serialized,
            Self::Multiple => Threading::Multiple,
        }
    }

    pub(crate) fn of_mpi(level: Threading) -> Self {
        match level {
            Threading::Single => Self::Single,
            Threading::Funneled => Self::Funneled,
            Threading::Serialized => Self::Serialized,
            Threading::Multiple => Self::Multiple,
        }
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
        for level in ThreadLevel::ALL {
            assert_eq!(ThreadLevel::find(level.name()), Some(level));
            assert_eq!(ThreadLevel::of_mpi(level.to_mpi()), level);
        }
        assert_eq!(ThreadLevel::find("Single"), None);
        assert!(ThreadLevel::ALL.is_sorted());
    }
}
