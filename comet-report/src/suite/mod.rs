//! One table for each foreign suite: its benchmarks, their columns, and its options. The command
//! line, the layout and the import of a suite share it.

pub mod imb;
pub mod osu;

use comet_core::definition::Definition;

/// A foreign suite.
#[derive(Debug)]
pub struct Suite<K: 'static> {
    /// Name of the suite in records of imports (`osu`).
    pub id: &'static str,
    /// Name of the suite in sentences, and before the names in aliases of kernels (`OSU`).
    pub name: &'static str,
    /// The benchmarks whose output is known.
    pub benchmarks: &'static [Benchmark<K>],
    /// The options of its programs.
    pub flags: &'static [Flag],
}

/// A benchmark of a foreign suite.
#[derive(Clone, Copy, Debug)]
pub struct Benchmark<K> {
    /// Its name there.
    pub name: &'static str,
    /// Its columns, and what else the suites do not share.
    pub kind: K,
    /// The kernel that stands for it.
    pub counterpart: Counterpart,
    /// A difference of the kernel that changes times, for the note in its block; empty without one.
    pub caution: &'static str,
}

/// The kernel that stands for a foreign benchmark.
#[derive(Clone, Copy, Debug)]
pub enum Counterpart {
    /// The id of a kernel that is the same operation on the same ranks, and the definition by which
    /// its times are the same.
    Same(&'static str, Definition),
    /// A kernel that is another operation, and the difference, in a sentence.
    Similar(&'static str),
    /// No kernel.
    Missing,
}

impl<K> Suite<K> {
    /// The benchmark called `name`, in any case of letters.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&'static Benchmark<K>> {
        self.benchmarks.iter().find(|benchmark| benchmark.name.eq_ignore_ascii_case(name))
    }

    /// The benchmarks that a kernel stands for.
    pub fn here(&self) -> impl Iterator<Item = &'static Benchmark<K>> {
        self.benchmarks.iter().filter(|benchmark| benchmark.kernel().is_some())
    }

    /// The benchmark that the kernel `id` stands for, and the definition of its times.
    pub(crate) fn of_kernel(&self, id: &str) -> Option<(&'static Benchmark<K>, Definition)> {
        self.benchmarks.iter().find_map(|benchmark| match benchmark.counterpart {
            Counterpart::Same(kernel, definition) if kernel == id => Some((benchmark, definition)),
            _ => None,
        })
    }
}

impl<K: Copy> Benchmark<K> {
    const fn cautious(self, caution: &'static str) -> Self {
        Self { caution, ..self }
    }
}

impl<K> Benchmark<K> {
    /// The id of the kernel that stands for it, if there is one.
    #[must_use]
    pub fn kernel(&self) -> Option<&'static str> {
        match self.counterpart {
            Counterpart::Same(kernel, _) => Some(kernel),
            Counterpart::Similar(_) | Counterpart::Missing => None,
        }
    }
}

/// An option of a foreign program.
#[derive(Debug)]
pub struct Flag {
    /// Its names, the short one first.
    pub names: &'static [&'static str],
    /// The kinds of programs that have it, one letter each; all if there is none.
    pub programs: &'static str,
    /// Its value.
    pub value: FlagValue,
    /// Effect.
    pub effect: Effect,
    /// The meaning of an option that is obeyed, or the reason why it is not.
    pub meaning: &'static str,
}

/// The value of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlagValue {
    /// None.
    No,
    /// The word behind the option.
    Needed(&'static str),
    /// The rest of the word, if there is any.
    Attached(&'static str),
}

/// Effect of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It means what it means there.
    Obeyed,
    /// It has no effect, which is noted unless its value is one of these.
    Noted(&'static [&'static str]),
    /// It is understood with these values, which change nothing, and refused with others.
    Only(&'static [&'static str]),
}

/// No value of an option: it is refused.
const REFUSED: Effect = Effect::Only(&[]);

const fn flag(
    names: &'static [&'static str],
    value: FlagValue,
    effect: Effect,
    meaning: &'static str,
) -> Flag {
    Flag { names, programs: "", value, effect, meaning }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<K>(suite: &Suite<K>) {
        for benchmark in suite.benchmarks {
            let same = suite.benchmarks.iter().filter(|other| {
                let kernel = benchmark.kernel();
                other.name == benchmark.name || kernel.is_some() && other.kernel() == kernel
            });
            assert_eq!(same.count(), 1, "{}", benchmark.name);
        }
        let names: Vec<&str> = suite.flags.iter().flat_map(|flag| flag.names).copied().collect();
        for name in &names {
            assert_eq!(names.iter().filter(|other| *other == name).count(), 1, "{name}");
        }
        for Flag { meaning, names, .. } in suite.flags {
            assert!(!meaning.is_empty() && !meaning.ends_with('.'), "{names:?}");
        }
    }

    #[test]
    fn names_kernels_and_options_are_unique_in_a_suite() {
        check(&imb::SUITE);
        check(&osu::SUITE);
        let titles = osu::SUITE.benchmarks.iter().map(|program| program.kind.title);
        let unique: std::collections::BTreeSet<_> = titles.clone().collect();
        assert_eq!(unique.len(), titles.count());
    }
}
