//! Matching of messages and receives: a pure data structure, shared by the backends that do their
//! own matching.
//!
//! ```text
//!   a message arrives ──► posted receives, in posting order ──► no match ──► unexpected messages
//!   a receive is posted ──► unexpected messages, in arrival order ──► no match ──► posted receives
//! ```
//!
//! Because both lists are searched in order, the earliest receive that accepts a message gets it,
//! and messages from one rank with one tag are received in the order in which they arrived
//! (non-overtaking, MPI-4.1 section 3.5). The structure keeps no bytes and reads no clock: a
//! backend attaches to each entry whatever it needs.

use std::collections::{BTreeMap, HashMap, VecDeque};

use crate::transport::{Rank, Source, Tag};

/// Posted receives (of type `R`) and unexpected messages (of type `M`) of one rank.
#[derive(Debug)]
pub struct Matcher<R, M> {
    posted: List<Posted<R>>,
    unexpected: Kept<M>,
}

#[derive(Debug)]
struct Posted<R> {
    source: Source,
    tag: Tag,
    receive: R,
}

impl<R, M> Default for Matcher<R, M> {
    fn default() -> Self {
        Self { posted: List::EMPTY, unexpected: Kept::default() }
    }
}

impl<R, M> Matcher<R, M> {
    /// True if nothing is posted and nothing is unexpected.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.posted.is_empty() && self.unexpected.is_empty()
    }

    /// Takes the earliest unexpected message that `source` and `tag` accept, with its sender.
    pub fn take(&mut self, source: Source, tag: Tag) -> Option<(Rank, M)> {
        self.unexpected.take(source, tag)
    }

    /// Looks at the message that [`take`](Self::take) would take.
    pub fn peek(&self, source: Source, tag: Tag) -> Option<(Rank, &M)> {
        self.unexpected.peek(source, tag)
    }

    /// All unexpected messages that `source` and `tag` accept, with their senders, in the order in
    /// which they were kept.
    pub fn acceptable(&self, source: Source, tag: Tag) -> impl Iterator<Item = (Rank, &M)> {
        let accepted = move |(from, of_tag, _): &(Rank, Tag, &M)| {
            tag.accepts(*of_tag) && source.accepts(*from)
        };
        self.unexpected.iter().filter(accepted).map(|(from, _, message)| (from, message))
    }

    /// Takes out the unexpected messages for which `f` holds, in the order in which they were kept.
    pub fn extract_unexpected(&mut self, f: impl Fn(&M) -> bool) -> Vec<M> {
        self.unexpected.extract(f)
    }

    /// Posts a receive that nothing unexpected matched (see [`take`](Self::take)).
    pub fn post(&mut self, source: Source, tag: Tag, receive: R) {
        self.posted.push(Posted { source, tag, receive });
    }

    /// True if a receive of messages with `tag` from any rank is posted.
    pub fn awaits_any(&self, tag: Tag) -> bool {
        self.posted.iter().any(|p| tag.accepts(p.tag) && p.source == Source::Any)
    }

    /// All posted receives that accept a message from `source` with `tag`, in the order in which they were
    /// posted.
    pub fn posted(&self, source: Rank, tag: Tag) -> impl Iterator<Item = &R> {
        let accepts = move |p: &&Posted<R>| p.tag.accepts(tag) && p.source.accepts(source);
        self.posted.iter().filter(accepts).map(|p| &p.receive)
    }

    /// Takes the earliest posted receive that accepts a message from `source` with `tag`.
    pub fn claim(&mut self, source: Rank, tag: Tag) -> Option<R> {
        let found = self.posted.take(|p| p.tag.accepts(tag) && p.source.accepts(source))?;
        Some(found.receive)
    }

    /// Keeps a message that no posted receive accepts (see [`claim`](Self::claim)).
    pub fn keep(&mut self, source: Rank, tag: Tag, message: M) {
        self.unexpected.push(source, tag, message);
    }

    /// Shows each unexpected message, with its sender, to `f`, in arrival order.
    pub fn for_each_unexpected(&mut self, mut f: impl FnMut(Rank, &mut M)) {
        self.unexpected.iter_mut().for_each(|(source, message)| f(source, message));
    }

    /// The latest unexpected message from `source`, for a backend that fills it piece by piece.
    pub fn last_from(&mut self, source: Rank) -> Option<&mut M> {
        self.unexpected.iter_mut().rev().find(|(from, _)| *from == source).map(|(_, m)| m)
    }
}

/// The most messages in a list without an index.
const FEW: usize = if cfg!(test) { 4 } else { 64 };

#[derive(Debug)]
struct Unexpected<M> {
    source: Rank,
    tag: Tag,
    message: M,
}

/// Unexpected messages in the order in which they were kept: a few in a list, or very many with an
/// index, since a rank that gathers from all others has a message from each of them.
#[derive(Debug)]
struct Kept<M> {
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
    fn is_empty(&self) -> bool {
        self.few.is_empty() && self.many.is_none()
    }

    fn push(&mut self, source: Rank, tag: Tag, message: M) {
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
    fn take(&mut self, source: Source, tag: Tag) -> Option<(Rank, M)> {
        let found = match &mut self.many {
            None => self.few.take(|m| tag.accepts(m.tag) && source.accepts(m.source)),
            Some(many) => many.number(source, tag).map(|number| many.take(number)),
        };
        if self.many.as_ref().is_some_and(|many| many.messages.is_empty()) {
            self.many = None;
        }
        found.map(|m| (m.source, m.message))
    }

    /// Looks at the message that [`take`](Self::take) would take.
    fn peek(&self, source: Source, tag: Tag) -> Option<(Rank, &M)> {
        let found = match &self.many {
            None => self.few.iter().find(|m| tag.accepts(m.tag) && source.accepts(m.source)),
            Some(many) => many.number(source, tag).map(|number| &many.messages[&number]),
        };
        found.map(|m| (m.source, &m.message))
    }

    fn iter(&self) -> impl Iterator<Item = (Rank, Tag, &M)> {
        let many = self.many.iter().flat_map(|many| many.messages.values());
        self.few.iter().chain(many).map(|m| (m.source, m.tag, &m.message))
    }

    fn iter_mut(&mut self) -> impl DoubleEndedIterator<Item = (Rank, &mut M)> {
        let many = self.many.iter_mut().flat_map(|many| many.messages.values_mut());
        self.few.iter_mut().chain(many).map(|m| (m.source, &mut m.message))
    }

    /// Takes out the messages for which `f` holds.
    fn extract(&mut self, f: impl Fn(&M) -> bool) -> Vec<M> {
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
            Source::Rank(rank) if !tag.is_any() => self.numbers.get(&(rank, tag))?.front().copied(),
            _ => {
                let accepted = |m: &Unexpected<M>| tag.accepts(m.tag) && source.accepts(m.source);
                self.messages.iter().find(|(_, m)| accepted(m)).map(|(number, _)| *number)
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

/// A list whose first entry needs no memory of its own: mostly there is no second, and a simulation
/// has a million of these.
#[derive(Debug)]
struct List<T> {
    first: Option<T>,
    /// Empty where there is no first.
    rest: VecDeque<T>,
}

impl<T> List<T> {
    /// Length of an empty list that keeps its memory.
    const KEPT: usize = 4;
    const EMPTY: Self = Self { first: None, rest: VecDeque::new() };

    fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    fn push(&mut self, entry: T) {
        if self.first.is_none() {
            self.first = Some(entry);
        } else {
            self.rest.push_back(entry);
        }
    }

    fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.rest.len()
    }

    fn into_iter(self) -> impl Iterator<Item = T> {
        self.first.into_iter().chain(self.rest)
    }

    fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.first.iter().chain(&self.rest)
    }

    fn iter_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut T> {
        self.first.iter_mut().chain(&mut self.rest)
    }

    /// Takes out the first entry for which `f` holds.
    fn take(&mut self, mut f: impl FnMut(&T) -> bool) -> Option<T> {
        let taken = if self.first.as_ref().is_some_and(&mut f) {
            std::mem::replace(&mut self.first, self.rest.pop_front())
        } else {
            let index = self.rest.iter().position(f)?;
            self.rest.remove(index)
        };
        // A long list was an exception.
        if self.rest.is_empty() && self.rest.capacity() > Self::KEPT {
            self.rest = VecDeque::new();
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TAG: Tag = Tag::new(1);
    const OTHER: Tag = Tag::new(2);

    #[test]
    fn the_earliest_posted_receive_that_accepts_a_message_gets_it() {
        let mut matcher = Matcher::<&str, ()>::default();
        matcher.post(Source::Rank(1), TAG, "from 1");
        matcher.post(Source::Any, TAG, "from any");
        assert_eq!(matcher.claim(0, TAG), Some("from any"));
        assert_eq!(matcher.claim(1, OTHER), None);
        assert_eq!(matcher.claim(1, TAG), Some("from 1"));
        assert!(matcher.is_empty());
    }

    #[test]
    fn peeking_does_not_take() {
        let mut matcher = Matcher::<(), u8>::default();
        matcher.keep(3, TAG, 7);
        assert_eq!(matcher.peek(Source::Any, TAG), Some((3, &7)));
        assert_eq!(matcher.take(Source::Rank(2), TAG), None);
        assert_eq!(matcher.take(Source::Rank(3), TAG), Some((3, 7)));
        assert_eq!(matcher.peek(Source::Any, TAG), None);
    }

    #[test]
    fn only_receives_from_any_rank_await_any() {
        let mut matcher = Matcher::<(), ()>::default();
        matcher.post(Source::Rank(1), TAG, ());
        assert!(!matcher.awaits_any(TAG));
        matcher.post(Source::Any, TAG, ());
        assert!(matcher.awaits_any(TAG) && !matcher.awaits_any(OTHER));
        // The first message from rank 1 is for the first receive.
        matcher.claim(1, TAG);
        assert!(matcher.awaits_any(TAG));
        matcher.claim(1, TAG);
        assert!(!matcher.awaits_any(TAG));
    }

    #[test]
    fn any_tag_is_one_of_users_in_its_context() {
        let check = |tag: Tag, expected| assert_eq!(Tag::ANY.within(3).accepts(tag), expected);
        check(TAG.within(3), true);
        check(Tag::new(Tag::MAX).within(3), true);
        check(TAG, false);
        check(Tag::reserved(0).within(3), false);
        assert!(TAG.accepts(TAG) && !TAG.accepts(OTHER) && !TAG.accepts(Tag::ANY));
        assert_eq!(format!("{} {}", TAG, Tag::ANY), format!("{} any", TAG.value()));
    }

    /// One step of a random history: a message arrives, or a receive is posted.
    #[derive(Clone, Copy, Debug)]
    enum Step {
        Arrive(Rank, Tag),
        Post(Source, Tag),
    }

    fn step() -> impl Strategy<Value = Step> {
        let tag = prop_oneof![Just(TAG), Just(OTHER)];
        let source = prop_oneof![(0..3usize).prop_map(Source::Rank), Just(Source::Any)];
        prop_oneof![
            (0..3usize, tag.clone()).prop_map(|(rank, tag)| Step::Arrive(rank, tag)),
            (source, tag).prop_map(|(source, tag)| Step::Post(source, tag)),
            (0..3usize).prop_map(|rank| Step::Post(Source::Rank(rank), Tag::ANY)),
        ]
    }

    /// The rule stated once more, naively: at each step try all pairs, earliest receive first,
    /// then earliest message.
    fn naive_pairs(steps: &[Step]) -> Vec<(usize, usize)> {
        let (mut receives, mut messages, mut pairs) = (Vec::new(), Vec::new(), Vec::new());
        for (id, step) in steps.iter().enumerate() {
            match *step {
                Step::Arrive(rank, tag) => messages.push((id, rank, tag)),
                Step::Post(source, tag) => receives.push((id, source, tag)),
            }
            'search: for r in 0..receives.len() {
                for m in 0..messages.len() {
                    let ((receive, source, wanted), (message, rank, tag)) =
                        (receives[r], messages[m]);
                    if (wanted == tag || wanted == Tag::ANY) && Source::accepts(source, rank) {
                        pairs.push((receive, message));
                        receives.remove(r);
                        messages.remove(m);
                        break 'search;
                    }
                }
            }
        }
        pairs
    }

    proptest! {
        #[test]
        fn matching_agrees_with_the_naive_rule(steps in prop::collection::vec(step(), 0..100)) {
            let mut matcher = Matcher::default();
            let mut pairs = Vec::new();
            for (id, step) in steps.iter().enumerate() {
                match *step {
                    Step::Arrive(rank, tag) => match matcher.claim(rank, tag) {
                        Some(receive) => pairs.push((receive, id)),
                        None => matcher.keep(rank, tag, id),
                    },
                    Step::Post(source, tag) => match matcher.take(source, tag) {
                        Some((_, message)) => pairs.push((id, message)),
                        None => matcher.post(source, tag, id),
                    },
                }
            }
            prop_assert_eq!(pairs, naive_pairs(&steps));
        }
    }
}
