//! The programs of IMB: what their command lines have that the others have not.

use comet_report::suite::imb::{
    EXT, EXT_3_2, HALO, IO, IO_3_2, MPI4, MT, NBC, P2P, RMA, SUITE, V3_2, remarks,
};
use comet_report::suite::{Benchmark, Suite};

use super::super::{Stop, not_here};

/// A program of IMB, with what its runs have without options.
pub(super) struct Program {
    /// Its name.
    pub(super) name: &'static str,
    /// Its part of the suite.
    pub(super) suite: &'static Suite,
    /// Its letter in the table of options.
    pub(super) letter: &'static str,
    /// True if some operations are complete before the next one begins.
    pub(super) completes_each: bool,
    /// The least number of ranks, unless the user chooses it.
    pub(super) npmin: u64,
    /// True if its benchmarks need a folder for their files.
    pub(super) has_files: bool,
    /// True if one job runs its benchmarks of two ranks and of all, on all numbers of ranks.
    pub(super) is_one_job: bool,
}

/// All that have kernels here.
static PROGRAMS: [Program; 9] = [
    Program { name: "IMB-MPI1", suite: &SUITE, letter: "m", ..OF_MESSAGES },
    Program { name: "IMB-NBC", suite: &NBC, letter: "n", ..OF_MESSAGES },
    // Its options are those of IMB-NBC.
    Program { name: "IMB-MPI4", suite: &MPI4, letter: "n", ..OF_MESSAGES },
    Program { name: "IMB-EXT", suite: &EXT, letter: "e", ..OF_WINDOWS },
    Program { name: "IMB-RMA", suite: &RMA, letter: "r", ..OF_WINDOWS },
    Program { name: "IMB-IO", suite: &IO, letter: "i", npmin: 1, has_files: true, ..OF_WINDOWS },
    Program { name: "IMB-P2P", suite: &P2P, ..OF_WINDOWS },
    Program { name: "IMB-HALO", suite: &HALO, letter: "h", ..OF_MESSAGES },
    Program { name: "IMB-MT", suite: &MT, letter: "t", ..OF_MESSAGES },
];

/// The programs of version 3.2.
static OF_3_2: [Program; 3] = [
    Program { name: "IMB-MPI1", suite: &V3_2, letter: "m", ..OF_MESSAGES },
    Program { name: "IMB-EXT", suite: &EXT_3_2, letter: "e", ..OF_WINDOWS },
    Program {
        name: "IMB-IO",
        suite: &IO_3_2,
        letter: "i",
        npmin: 1,
        has_files: true,
        ..OF_WINDOWS
    },
];

/// Defaults of the programs of messages and collectives.
const OF_MESSAGES: Program = Program {
    name: "",
    suite: &SUITE,
    letter: "",
    completes_each: false,
    npmin: 2,
    has_files: false,
    is_one_job: false,
};

/// Defaults of the programs of windows.
const OF_WINDOWS: Program =
    Program { suite: &EXT, completes_each: true, is_one_job: true, ..OF_MESSAGES };

impl Program {
    /// The programs of the version whose suite is `family`.
    fn of(family: &str) -> &'static [Self] {
        if family == V3_2.family { &OF_3_2 } else { &PROGRAMS }
    }

    /// The program called `name` of the version whose layout is `family`.
    pub(super) fn find(name: &str, family: &str) -> Result<&'static Self, Stop> {
        let programs = Self::of(family);
        programs.iter().find(|program| program.name == name).ok_or_else(|| {
            let names: Vec<&str> = programs.iter().map(|program| program.name).collect();
            let (last, others) = names.split_last().unwrap_or((&"", &[]));
            let layout = if family == V3_2.family { " in the layout imb-3.2" } else { "" };
            let (first, others) = (programs[0].name, others.join(", "));
            Stop::Wrong(format!(
                "{name} is not supported{layout}, but {others} and {last} are (write {first})"
            ))
        })
    }

    /// True for a program of version 3.2.
    pub(super) fn is_3_2(&self) -> bool {
        self.suite.family == V3_2.family
    }

    /// The benchmark `word`.
    pub(super) fn benchmark(&self, word: &str) -> Result<&'static Benchmark, Stop> {
        let (whose, list) = (format!("{}: ", self.name), format!("{} -list shows all", self.name));
        let mut programs = Self::of(self.suite.family).iter();
        let unknown = || match programs.find(|program| program.suite.find(word).is_some()) {
            Some(Self { name, .. }) => {
                Stop::Wrong(format!("{whose}{word} is a benchmark of {name} (write {name} {word})"))
            }
            None => not_here(self.suite, &whose, word, &list),
        };
        self.suite.find(word).ok_or_else(unknown)
    }

    /// The names of the benchmarks, as IMB lists them below the name of the `group`.
    pub(super) fn listed(&self, group: &str) -> String {
        let mut benchmarks: Vec<_> = self.suite.benchmarks.iter().collect();
        benchmarks.sort_by_key(|benchmark| benchmark.name);
        let line = |of: &&Benchmark| {
            let mark = if of.is_default { "" } else { " (non-default)" };
            let remarks = remarks(of).iter().map(|remark| format!("        {remark}\n"));
            let below: String = remarks.collect();
            format!("    {}{mark}\n{below}", of.name)
        };
        let lines: String = benchmarks.iter().map(line).collect();
        format!("List of benchmarks:\n{group}:\n{lines}")
    }
}
