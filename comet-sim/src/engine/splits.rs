//! Splits of groups, which all ranks of a group ask for before any of them learns its part.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use comet_core::transport::{Rank, Tag};

/// Which split: that of a group, by its context and its first rank, with a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SplitName {
    pub(crate) context: u32,
    pub(crate) first: Rank,
    pub(crate) number: u32,
}

/// The colour and the key of one rank, its number in the group, and in the job.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    pub(crate) colour: Option<u32>,
    pub(crate) key: u64,
    pub(crate) order: Rank,
    pub(crate) rank: Rank,
}

/// The context of all parts of a split, `None` if none was left, and the ranks of the job in the part
/// of each colour, in order.
type Parts = (Option<u32>, HashMap<u32, Rc<[Rank]>>);

/// One split: all that ranks ask for, and then the parts.
#[derive(Debug, Default)]
struct Split {
    asked: Vec<Asked>,
    parts: Option<Parts>,
    n_answered: usize,
}

/// The splits that some ranks have not heard of yet.
#[derive(Debug, Default)]
pub(crate) struct Splits {
    open: HashMap<SplitName, Split>,
    n_contexts: u32,
}

impl Splits {
    /// A rank takes part in a split.
    pub(crate) fn ask(&mut self, name: SplitName, asked: Asked) {
        self.open.entry(name).or_default().asked.push(asked);
    }

    /// Context and ranks of the part of a rank that named `colour`, after all `n_ranks` ranks have
    /// asked.
    pub(crate) fn part(
        &mut self,
        name: SplitName,
        colour: Option<u32>,
        n_ranks: usize,
    ) -> (Option<u32>, Option<Rc<[Rank]>>) {
        let split = self.open.entry(name).or_default();
        let (context, by_colour) = split.parts.get_or_insert_with(|| {
            self.n_contexts += 1;
            let context = Some(self.n_contexts).filter(|context| *context <= Tag::MAX_CONTEXT);
            (context, by_colour(std::mem::take(&mut split.asked)))
        });
        let part = (*context, colour.and_then(|colour| by_colour.get(&colour)).map(Rc::clone));
        split.n_answered += 1;
        if split.n_answered == n_ranks {
            self.open.remove(&name);
        }
        part
    }
}

/// The ranks of each colour, by key and then by their numbers in the group.
fn by_colour(mut asked: Vec<Asked>) -> HashMap<u32, Rc<[Rank]>> {
    asked.sort_unstable_by_key(|asked| (asked.key, asked.order));
    let mut ranks: BTreeMap<u32, Vec<Rank>> = BTreeMap::new();
    for Asked { colour, rank, .. } in asked {
        if let Some(colour) = colour {
            ranks.entry(colour).or_default().push(rank);
        }
    }
    ranks.into_iter().map(|(colour, ranks)| (colour, ranks.into())).collect()
}
