//! Groups: the ranks of one transport, and the context that keeps its messages apart.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;

use super::{Rank, Source, Status, Tag, Transport};
use crate::collective;
use crate::error::{Result, TransportError, TransportErrorKind};
use crate::topology::Topology;

/// The ranks of one transport, numbered anew, for backends that do their own matching.
///
/// A message carries the context of its group beside its tag, so that groups with common ranks
/// never take each other's messages. A group has its context until its last value is dropped: a rank
/// has received by then what was sent to it there, and another group has the context only once none of
/// its ranks is in this one any more.
///
/// A rank is in 64 groups at once whatever their order: each of their contexts is free with its group. Contexts behind
/// them, up to 16,383, are given out in ascending order, and each is free again once all later ones are.
#[derive(Clone, Debug)]
pub struct Group {
    rank: Rank,
    n_ranks: usize,
    context: u32,
    serial: u64,
    /// The ranks of the job by their numbers here; `None` for the whole job.
    members: Option<Rc<[Rank]>>,
    /// The contexts of this rank; `None` for that of the whole job.
    _lease: Option<Rc<Lease>>,
    contexts: Rc<Contexts>,
    /// Number of the next unblocked collective.
    n_calls: Rc<Cell<u16>>,
}

/// The contexts of the groups of a rank, and the least serial number that it has not seen.
#[derive(Debug)]
struct Contexts {
    in_use: RefCell<BTreeSet<u32>>,
    next_serial: Cell<u64>,
}

/// A context in use.
#[derive(Debug)]
struct Lease {
    context: u32,
    of: Rc<Contexts>,
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.of.in_use.borrow_mut().remove(&self.context);
    }
}

/// Contexts that ranks have in use, as they tell them to a split.
#[derive(Clone, Copy, Debug, Default)]
pub struct Taken {
    /// The first 64 contexts, a bit each.
    pub first: u64,
    /// The least context behind those from which on none is in use.
    pub rest: u64,
    /// The least serial number that the rank has not seen.
    pub next_serial: u64,
}

/// Number of contexts that have a bit each.
const N_FIRST: u32 = u64::BITS;

impl Taken {
    /// The contexts of both.
    pub fn and(self, other: Self) -> Self {
        Self {
            first: self.first | other.first,
            rest: self.rest.max(other.rest),
            next_serial: self.next_serial.max(other.next_serial),
        }
    }

    /// The least context that no rank is in, if one is left, and the serial number of a group in it.
    pub fn free(self) -> Option<(u32, u64)> {
        let first = self.first.trailing_ones();
        let context = if first < N_FIRST { first + 1 } else { u32::try_from(self.rest).ok()? };
        Some((context, self.next_serial)).filter(|_| context <= Tag::MAX_CONTEXT)
    }
}

impl Group {
    /// All `n_ranks` ranks of a job, as `rank` sees them.
    pub fn whole(rank: Rank, n_ranks: usize) -> Self {
        let (in_use, next_serial) = (RefCell::default(), Cell::new(1));
        Self {
            rank,
            n_ranks,
            context: 0,
            serial: 0,
            members: None,
            _lease: None,
            contexts: Rc::new(Contexts { in_use, next_serial }),
            n_calls: Rc::default(),
        }
    }

    /// The part with `members` in the context and with the serial number that are [free](Taken::free), in
    /// which this rank has number `rank`.
    pub fn part(&self, rank: Rank, members: Rc<[Rank]>, (context, serial): (u32, u64)) -> Self {
        let contexts = Rc::clone(&self.contexts);
        contexts.in_use.borrow_mut().insert(context);
        contexts.next_serial.set(contexts.next_serial.get().max(serial + 1));
        Self {
            rank,
            n_ranks: members.len(),
            context,
            serial,
            members: Some(members),
            _lease: Some(Rc::new(Lease { context, of: Rc::clone(&contexts) })),
            contexts,
            n_calls: Rc::default(),
        }
    }

    /// The contexts that this rank has in use.
    pub fn taken(&self) -> Taken {
        let Contexts { in_use, next_serial } = &*self.contexts;
        let in_use = in_use.borrow();
        let first = in_use.range(1..=N_FIRST).fold(0, |bits, context| bits | 1 << (context - 1));
        let rest = in_use.last().map_or(0, |context| context + 1).max(N_FIRST + 1);
        Taken { first, rest: u64::from(rest), next_serial: next_serial.get() }
    }

    /// Number of the next unblocked collective, which counts up.
    #[inline]
    pub fn next_call(&self) -> u16 {
        self.n_calls.replace(self.n_calls.get().wrapping_add(1))
    }

    /// Number of this rank.
    #[inline]
    pub fn rank(&self) -> Rank {
        self.rank
    }

    /// Number of ranks.
    #[inline]
    pub fn n_ranks(&self) -> usize {
        self.n_ranks
    }

    /// `true` for the whole job.
    #[inline]
    pub fn is_whole(&self) -> bool {
        self.members.is_none()
    }

    /// The context of the messages of this group.
    pub fn context(&self) -> u32 {
        self.context
    }

    /// Number of the split of which this group is a part; no other group with the same first rank has it.
    pub fn serial(&self) -> u64 {
        self.serial
    }

    /// Number of `rank` in the whole job.
    #[inline]
    pub fn global(&self, rank: Rank) -> Rank {
        self.members.as_ref().map_or(rank, |members| members[rank])
    }

    /// `source` in numbers of the whole job.
    #[inline]
    pub fn source(&self, source: Source) -> Source {
        match source {
            Source::Rank(rank) => Source::Rank(self.global(rank)),
            Source::Any => Source::Any,
        }
    }

    /// `tag` in the context of this group.
    #[inline]
    pub fn tag(&self, tag: Tag) -> Tag {
        tag.within(self.context)
    }

    /// `status`, which a receive from `source` found in the whole job, in numbers of this group.
    #[inline]
    pub fn status(&self, source: Source, status: Status) -> Status {
        let found = match (source, &self.members) {
            (Source::Rank(rank), _) => rank,
            (Source::Any, None) => status.source,
            (Source::Any, Some(members)) => {
                members.iter().position(|rank| *rank == status.source).unwrap_or(status.source)
            }
        };
        Status { source: found, tag: status.tag.within(0), ..status }
    }

    /// `error` of a call on this rank, with its ranks by their numbers in the whole job.
    #[cold]
    pub fn located(&self, error: TransportError) -> TransportError {
        let error = error.on_rank(self.global(self.rank));
        match (error.peer, error.tag) {
            (Some(peer), Some(tag)) => error.with_peer(self.source(peer), tag),
            _ => error,
        }
    }

    /// The topology of this group in a job on `topology`: that of as many first ranks if the ranks
    /// follow each other, so that groups side by side do the same; else a hypercube.
    pub fn topology(&self, topology: &Topology) -> Topology {
        let first = self.global(0);
        if (0..self.n_ranks).all(|rank| self.global(rank) == first + rank) {
            return topology.first(self.n_ranks).into_owned();
        }
        Topology::hypercube(self.n_ranks)
    }

    /// The part of this group whose ranks name `colour`, by `key` and then by rank; `None` on ranks
    /// that name none. All ranks of `t`, whose group this is, call it.
    ///
    /// # Errors
    /// If no context is left, or if the job has failed.
    pub fn split<T: Transport>(
        &self,
        t: &T,
        colour: Option<u32>,
        key: u64,
    ) -> Result<Option<Self>> {
        let colour = colour.map_or(0, |colour| u64::from(colour) + 1);
        let Taken { first, rest, next_serial } = self.taken();
        let entries = collective::share(t, [colour, key, first, rest, next_serial])?;
        let of_all = entries.iter().fold(Taken::default(), |all, entry| {
            let [_, _, first, rest, next_serial] = *entry;
            all.and(Taken { first, rest, next_serial })
        });
        let free = of_all.free().ok_or_else(|| self.no_context())?;
        if colour == 0 {
            return Ok(None);
        }
        let chosen = entries.iter().enumerate().filter(|(_, entry)| entry[0] == colour);
        let mut chosen: Vec<_> = chosen.map(|(rank, entry)| (entry[1], rank)).collect();
        chosen.sort_unstable();
        let rank = chosen.iter().position(|(_, rank)| *rank == self.rank).unwrap_or(0);
        let members = chosen.into_iter().map(|(_, rank)| self.global(rank)).collect();
        Ok(Some(self.part(rank, members, free)))
    }

    /// The error of a split where all contexts are in use.
    #[cold]
    pub fn no_context(&self) -> TransportError {
        let text = format!(
            "a rank has no context left of {}, of which those behind the first {N_FIRST} are free once all later ones \
             are (drop the latest groups before the next split)",
            Tag::MAX_CONTEXT
        );
        self.located(TransportError::new(TransportErrorKind::OutOfResources, text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_context_is_free_once_no_rank_is_in_its_group() {
        let [first, second] = [0, 1].map(|rank| Group::whole(rank, 2));
        let free = || first.taken().and(second.taken()).free();
        let part = |of: &Group, free| of.part(of.rank(), [0, 1].into(), free);
        assert_eq!(free(), Some((1, 1)));
        let of_first = part(&first, (1, 1));
        let (of_second, again) = (part(&second, (1, 1)), of_first.clone());
        assert_eq!(free(), Some((2, 2)));
        drop((of_first, of_second));
        // One value is left.
        assert_eq!(free(), Some((2, 2)));
        drop(again);
        assert_eq!(free(), Some((1, 2)));
    }

    #[test]
    fn contexts_behind_the_first_ones_are_found_and_the_last_one_is_the_end() {
        let whole = Group::whole(0, 1);
        let part = |context: u32| whole.part(0, [0].into(), (context, u64::from(context)));
        let mut parts: Vec<Group> = (1..=N_FIRST).map(part).collect();
        assert_eq!(whole.taken().free(), Some((65, 65)));
        parts.push(part(Tag::MAX_CONTEXT - 1));
        let last = whole.taken().free().unwrap();
        assert_eq!(last.0, Tag::MAX_CONTEXT);
        parts.push(part(last.0));
        assert_eq!(whole.taken().free(), None);
        parts.remove(6);
        assert_eq!(whole.taken().free().unwrap().0, 7);
    }
}
