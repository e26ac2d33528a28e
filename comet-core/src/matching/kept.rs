//! Unexpected messages: a few in a list, or very many with an index.
//!
//! A rank that gathers from all others, or verifies what all have sent it, has a message from each
//! of them. Were each receive to look through all, that would take the square of the number of ranks.

use std::collections::{BTreeMap, HashMap, VecDeque};

use super::List;
use crate::transport::{Rank, Source, Tag};

/// The most messages in a list without an index.
const FEW: usize = if cfg!(test) { 4 } else { 64 };

#[derive(Debug)]
struct Unexpected<M> {
    source: Rank,
    tag: Tag,
    message: M,
}

/// Unexpected messages in the order in which they were kept.
#[derive(Debug)]
pub(super) struct Kept<M> {
    /// All of them, unless there are many.
    few: List<Unexpected<M>>,
    many: Option<Box<Many<M>>>,
}

/// Messages by number, and the numbers of each source and tag.
#[derive(Debug)]
struct Many<M> {
    messages: BTreeMap<u64, Unexpected<M>>,
    numbers: HashMap<(Rank, Tag), VecDeque<u64>>,
    next_number: u64,
}

impl<M> Default for Kept<M> {
    fn default() -> Self {
        Self { few: List::EMPTY, many: None }
    }
}

impl<M> Kept<M> {
    pub(super) fn is_empty(&self) -> bool {
        self.few.is_empty() && self.many.is_none()
    }

    pub(super) fn push(&mut self, source: Rank, tag: Tag, message: M) {
        let entry = Unexpected { source, tag, message };
        if let Some(many) = &mut self.many {
            return many.push(entry);
        }
        self.few.push(entry);
        if self.few.len() > FEW {
            let few = std::mem::replace(&mut self.few, List::EMPTY);
            let mut many = Box::new(Many::default());
            few.into_iter().for_each(|entry| many.push(entry));
            self.many = Some(many);
        }
    }

    /// Takes out the earliest message that `source` and `tag` accept.
    pub(super) fn take(&mut self, source: Source, tag: Tag) -> Option<(Rank, M)> {
        let found = match &mut self.many {
            None => self.few.take(|m| m.tag == tag && source.accepts(m.source)),
            Some(many) => many.number(source, tag).map(|number| many.take(number)),
        };
        if self.many.as_ref().is_some_and(|many| many.messages.is_empty()) {
            self.many = None;
        }
        found.map(|m| (m.source, m.message))
    }

    /// Looks at the message that [`take`](Self::take) would take.
    pub(super) fn peek(&self, source: Source, tag: Tag) -> Option<(Rank, &M)> {
        let found = match &self.many {
            None => self.few.iter().find(|m| m.tag == tag && source.accepts(m.source)),
            Some(many) => many.number(source, tag).map(|number| &many.messages[&number]),
        };
        found.map(|m| (m.source, &m.message))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (Rank, Tag, &M)> {
        let many = self.many.iter().flat_map(|many| many.messages.values());
        self.few.iter().chain(many).map(|m| (m.source, m.tag, &m.message))
    }

    pub(super) fn iter_mut(&mut self) -> impl DoubleEndedIterator<Item = (Rank, &mut M)> {
        let many = self.many.iter_mut().flat_map(|many| many.messages.values_mut());
        self.few.iter_mut().chain(many).map(|m| (m.source, &mut m.message))
    }

    /// Takes out the messages for which `f` holds.
    pub(super) fn extract(&mut self, f: impl Fn(&M) -> bool) -> Vec<M> {
        let all = std::mem::take(self);
        let many = all.many.into_iter().flat_map(|many| many.messages.into_values());
        let (taken, left): (Vec<_>, Vec<_>) =
            all.few.into_iter().chain(many).partition(|m| f(&m.message));
        left.into_iter().for_each(|m| self.push(m.source, m.tag, m.message));
        taken.into_iter().map(|m| m.message).collect()
    }
}

impl<M> Default for Many<M> {
    fn default() -> Self {
        Self { messages: BTreeMap::new(), numbers: HashMap::new(), next_number: 0 }
    }
}

impl<M> Many<M> {
    fn push(&mut self, entry: Unexpected<M>) {
        let number = self.next_number;
        self.next_number += 1;
        self.numbers.entry((entry.source, entry.tag)).or_default().push_back(number);
        self.messages.insert(number, entry);
    }

    /// Number of the earliest message that `source` and `tag` accept.
    fn number(&self, source: Source, tag: Tag) -> Option<u64> {
        match source {
            Source::Rank(rank) => self.numbers.get(&(rank, tag))?.front().copied(),
            Source::Any => {
                self.messages.iter().find(|(_, m)| m.tag == tag).map(|(number, _)| *number)
            }
        }
    }

    /// Takes out the message `number`, which is the earliest of its source and tag.
    fn take(&mut self, number: u64) -> Unexpected<M> {
        let entry = self.messages.remove(&number).expect("a number in use");
        let key = (entry.source, entry.tag);
        let numbers = self.numbers.get_mut(&key).expect("every message is in the index");
        numbers.pop_front();
        if numbers.is_empty() {
            self.numbers.remove(&key);
        }
        entry
    }
}
