//! One table for each foreign suite: its benchmarks, their columns, and its options. The command
//! line, the layout and the import of a suite share it.

pub mod imb;
pub mod osu;

use comet_core::definition::Definition;
use comet_core::kernel::Class;

use crate::record::{RankStat, Run};

/// A foreign suite, or a part of one that is a program of its own.
#[derive(Debug)]
pub struct Suite {
    /// Name of the suite in records of imports (`osu`).
    pub id: &'static str,
    /// Name of the suite in sentences, and before the names in aliases of kernels (`OSU`).
    pub name: &'static str,
    /// What stands before the names of its benchmarks where kernels are selected, if it is not the name.
    pub(crate) prefix: Option<&'static str>,
    /// Name of the layout and of the import, which parts of a suite share (`imb`).
    pub family: &'static str,
    /// Name of the rules by which its benchmarks are measured (`imb`).
    pub rules: &'static str,
    /// Words that its texts alone have among those of the family; none for what remains.
    pub(crate) words: &'static [&'static str],
    /// Name of its lengths in the head of its output.
    pub(crate) portion: &'static str,
    /// Unit in bytes of all of its lengths.
    pub unit_bytes: u64,
    /// Start of the titles in its output.
    pub(crate) title: &'static str,
    /// The benchmarks whose output is known.
    pub benchmarks: &'static [Benchmark],
    /// The options of its programs.
    pub flags: &'static [Flag],
    /// Definition of its times of operations of all ranks.
    pub(crate) of_all: Definition,
    /// Ranks that these times stand for.
    pub(crate) rank_stat: RankStat,
    /// Bytes of the MB of its versions.
    pub(crate) megabytes: &'static [f64],
    /// Numbers of messages of an operation that its rates may count.
    pub(crate) n_messages: &'static [u64],
}

/// A benchmark of a foreign suite.
#[derive(Clone, Copy, Debug)]
pub struct Benchmark {
    /// Its name there.
    pub name: &'static str,
    /// Title of its output, without what all titles of the suite have.
    pub title: &'static str,
    /// Its numbers.
    pub numbers: Numbers,
    /// True if a row has the times of the operation beside work, of the operation alone and of the work, and the
    /// hidden share: in IMB of the longer part, on the rank that takes longest beside work, in OSU of the
    /// operation, by the means over all ranks.
    pub is_beside_work: bool,
    /// True if a command line without names runs it.
    pub is_default: bool,
    /// The id of the kernel that stands for it: the same operation on the same ranks.
    pub kernel: &'static str,
    /// The definition of its times.
    pub(crate) definition: Definition,
}

/// The numbers of a benchmark beside the length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbers {
    /// Half of a round trip between two ranks.
    Latency,
    /// A time of two ranks that send at once.
    Exchange,
    /// A rate between two ranks.
    Bandwidth,
    /// Half of a round trip, the mean over several pairs.
    PairsLatency,
    /// A rate of several pairs, and messages per second.
    MessageRate,
    /// The same of half as many pairs as ranks, which have so many windows at once.
    Windows(u64),
    /// Times over ranks that send at once, and a rate that counts so many messages of a rank.
    Parallel(u64),
    /// Half of a round trip over ranks of which all pairs send at once, and a rate that counts one message.
    ParallelTrips,
    /// The mean time over all threads of all ranks of a message of windows of which so many run at once between two
    /// threads, and rates of all of them.
    Bands(u64),
    /// The time of one call over all ranks.
    Collective,
    /// The same of a reduction, whose lengths are whole numbers of elements.
    Reduction,
    /// The same of a barrier, which has no length.
    Barrier,
    /// The time of the start of all ranks: the least, the largest and the mean, or their number alone.
    Startup,
    /// The same of a collective among neighbours, below the time to make their graph.
    Neighbours,
    /// The time of a transfer to or from the memory of another rank, and its rate where there is one.
    Remote,
    /// The same of one element, whose length stands in the only row.
    RemoteElement,
    /// A rate of such transfers.
    RemoteRate,
    /// The time of transfers of one rank with all others, and a rate that counts one of them.
    RemoteAll,
    /// The time of a transfer into a rank that waits, and into one that computes.
    Passive,
    /// The time and the rate of one rank alone.
    Single,
    /// The mean over all ranks of half of a round trip of each pair, and rates of all messages.
    RoundTrips,
    /// The mean over all ranks of the time of each of so many messages that a rank sends in a round, and rates
    /// of all messages.
    Messages(u64),
    /// The mean over the ranks of a grid of the time of a round, and the rate of all messages that one of them
    /// sends and receives in it.
    Halo,
    /// Times of transfers beside work, of transfers alone and of work alone, and the hidden share.
    Overlapped,
}

impl Numbers {
    /// The letter of such programs in the table of options.
    pub fn letter(self) -> char {
        match self {
            Self::Latency | Self::PairsLatency | Self::Exchange => 'l',
            Self::Bandwidth | Self::Windows(_) | Self::Bands(_) => 'w',
            Self::MessageRate => 'm',
            Self::RoundTrips | Self::Messages(_) | Self::Halo => 'p',
            Self::Parallel(_) | Self::ParallelTrips | Self::Collective => 'c',
            Self::Reduction => 'r',
            Self::Barrier => 'b',
            Self::Startup => 's',
            Self::Neighbours => 'n',
            Self::Remote
            | Self::RemoteElement
            | Self::RemoteAll
            | Self::Passive
            | Self::Single
            | Self::Overlapped => 'o',
            Self::RemoteRate => 'u',
        }
    }

    /// True if the benchmark runs between two ranks.
    pub fn is_of_two(self) -> bool {
        let is_of_messages = matches!(self, Self::Latency | Self::Exchange | Self::Bandwidth);
        is_of_messages || (self.is_remote() && self != Self::RemoteAll)
    }

    /// True if the benchmark reaches the memory of other ranks.
    pub fn is_remote(self) -> bool {
        let is_of_one = matches!(self, Self::Remote | Self::RemoteElement | Self::RemoteRate);
        is_of_one || matches!(self, Self::RemoteAll | Self::Passive)
    }

    /// True if its rates count the messages of all ranks.
    pub(crate) fn counts_all(self) -> bool {
        matches!(self, Self::RoundTrips | Self::Messages(_))
    }

    /// True if one rank alone is timed with a file, or several beside work.
    pub(crate) fn is_of_file(self) -> bool {
        matches!(self, Self::Single | Self::Overlapped)
    }

    /// True if it has more than one length.
    pub fn has_lengths(self) -> bool {
        !matches!(self, Self::Barrier | Self::Startup | Self::RemoteElement)
    }

    /// The class of such kernels.
    pub(crate) fn class(self) -> Class {
        match self {
            Self::Latency
            | Self::PairsLatency
            | Self::Bandwidth
            | Self::MessageRate
            | Self::Remote
            | Self::RemoteElement
            | Self::RemoteRate
            | Self::RemoteAll
            | Self::Passive
            | Self::Single
            | Self::Overlapped => Class::PointToPoint,
            Self::Exchange => Class::Exchange,
            Self::Windows(_)
            | Self::Bands(_)
            | Self::Parallel(_)
            | Self::ParallelTrips
            | Self::Collective
            | Self::Reduction
            | Self::RoundTrips
            | Self::Messages(_)
            | Self::Halo
            | Self::Neighbours => Class::Collective,
            Self::Barrier | Self::Startup => Class::Synchronisation,
        }
    }
}

/// All suites; the part of a suite that needs no words of its own is the last, but for those of another version,
/// as which no text is read.
static ALL: [&Suite; 13] = [
    &osu::SUITE,
    &imb::NBC,
    &imb::MPI4,
    &imb::EXT,
    &imb::RMA,
    &imb::IO,
    &imb::P2P,
    &imb::HALO,
    &imb::MT,
    &imb::SUITE,
    &imb::EXT_3_2,
    &imb::IO_3_2,
    &imb::V3_2,
];

/// The parts of the suite `name`.
pub(crate) fn family(name: &str) -> impl Iterator<Item = &'static Suite> {
    ALL.into_iter().filter(move |suite| suite.family == name)
}

/// The suite that printed `text`, by the titles in it.
pub fn of_text(text: &str) -> Option<&'static Suite> {
    let is_title = |start: &str| text.lines().any(|line| line.trim_start().starts_with(start));
    let has_words = |words: &[&str]| words.is_empty() || words.iter().any(|of| text.contains(of));
    ALL.into_iter().find(|suite| is_title(suite.title) && has_words(suite.words))
}

/// The one of `suites` whose prefix `word` begins with, and its benchmark that follows.
fn of_word(
    suites: impl Iterator<Item = &'static Suite>,
    word: &str,
) -> Option<(&'static Suite, &'static Benchmark)> {
    let (prefix, benchmark) = word.split_once(':')?;
    let mut called = suites.filter(|suite| suite.prefix().eq_ignore_ascii_case(prefix));
    called.find_map(|suite| Some((suite, suite.find(benchmark)?)))
}

/// The id of the kernel that `word` stands for, as in `IMB-3.2:Reduce_scatter`.
pub fn kernel(word: &str) -> Option<&'static str> {
    of_word(ALL.into_iter(), word).map(|(_, benchmark)| benchmark.kernel)
}

/// The benchmarks of the suite `name` for which `run` was asked by their names.
pub(crate) fn asked(name: &str, run: &Run) -> Vec<(&'static Suite, &'static Benchmark)> {
    let words = run.config.get("select").and_then(|words| words.as_array());
    let words = words.into_iter().flatten().filter_map(|word| word.as_str());
    words.filter_map(|word| of_word(family(name), word)).collect()
}

impl Benchmark {
    /// True if a row has times of several series.
    pub(crate) fn has_series(&self) -> bool {
        self.is_beside_work || matches!(self.numbers, Numbers::Passive | Numbers::Overlapped)
    }
}

impl Suite {
    /// What stands before the names of its benchmarks where kernels are selected.
    pub fn prefix(&self) -> &'static str {
        self.prefix.unwrap_or(self.name)
    }

    /// The benchmark called `name`, in any case of letters.
    pub fn find(&self, name: &str) -> Option<&'static Benchmark> {
        self.benchmarks.iter().find(|benchmark| benchmark.name.eq_ignore_ascii_case(name))
    }

    /// The benchmark that the kernel `id` stands for.
    pub(crate) fn of_kernel(&self, id: &str) -> Option<&'static Benchmark> {
        self.benchmarks.iter().find(|benchmark| benchmark.kernel == id)
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

const fn of(
    programs: &'static str,
    names: &'static [&'static str],
    value: FlagValue,
    effect: Effect,
    meaning: &'static str,
) -> Flag {
    Flag { names, programs, value, effect, meaning }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(suite: &Suite) {
        for benchmark in suite.benchmarks {
            let is_same = |other: &&Benchmark| {
                other.name == benchmark.name || other.kernel == benchmark.kernel
            };
            let same = suite.benchmarks.iter().filter(is_same);
            assert_eq!(same.count(), 1, "{}", benchmark.name);
        }
        for flag in suite.flags {
            let is_same = |other: &&Flag| {
                let has_name = other.names.iter().any(|name| flag.names.contains(name));
                let of_all = flag.programs.is_empty() || other.programs.is_empty();
                has_name && (of_all || flag.programs.contains(|c| other.programs.contains(c)))
            };
            assert_eq!(suite.flags.iter().filter(is_same).count(), 1, "{:?}", flag.names);
        }
        for Flag { meaning, names, .. } in suite.flags {
            assert!(!meaning.is_empty() && !meaning.ends_with('.'), "{names:?}");
        }
    }

    #[test]
    fn names_kernels_and_options_are_unique_in_a_suite() {
        ALL.into_iter().for_each(check);
        // The line about the graph tells programs among neighbours from others.
        let title = |program: &Benchmark| (program.title, program.numbers == Numbers::Neighbours);
        let titles = osu::SUITE.benchmarks.iter().map(title);
        let unique: std::collections::BTreeSet<_> = titles.clone().collect();
        assert_eq!(unique.len(), titles.count());
    }
}
