//! Groups: the ranks of one transport, and the context that keeps its messages apart.

use std::cell::Cell;
use std::rc::Rc;

use super::{Rank, Source, Status, Tag, Transport};
use crate::collective;
use crate::error::{Result, TransportError, TransportErrorKind};
use crate::topology::Topology;

/// The ranks of one transport, numbered anew, for backends that do their own matching.
///
/// A message carries the context of its group beside its tag, so that groups with common ranks
/// never take each other's messages.
#[derive(Clone, Debug)]
pub struct Group {
    rank: Rank,
    n_ranks: usize,
    context: u32,
    /// The ranks of the job by their numbers here; `None` for the whole job.
    members: Option<Rc<[Rank]>>,
    /// The least context that this rank has not seen in use, in all of its groups.
    free_context: Rc<Cell<u32>>,
    /// Number of the next unblocked collective.
    n_calls: Rc<Cell<u16>>,
}

impl Group {
    /// All `n_ranks` ranks of a job, as `rank` sees them.
    pub fn whole(rank: Rank, n_ranks: usize) -> Self {
        let (free_context, n_calls) = (Rc::new(Cell::new(1)), Rc::default());
        Self { rank, n_ranks, context: 0, members: None, free_context, n_calls }
    }

    /// The part with `members` in `context`, in which this rank has number `rank`.
    pub fn part(&self, rank: Rank, members: Rc<[Rank]>, context: u32) -> Self {
        let (n_ranks, free_context) = (members.len(), Rc::clone(&self.free_context));
        let n_calls = Rc::default();
        Self { rank, n_ranks, context, members: Some(members), free_context, n_calls }
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

    /// How many ranks there are.
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
        let own = [colour, key, u64::from(self.free_context.get())];
        let entries = collective::share(t, own)?;
        let context = entries.iter().map(|[_, _, free]| *free).max().unwrap_or(0);
        let context = u32::try_from(context).unwrap_or(u32::MAX);
        if context > Tag::MAX_CONTEXT {
            let text = format!("a job has at most {} splits", Tag::MAX_CONTEXT);
            let error = TransportError::new(TransportErrorKind::OutOfResources, text);
            return Err(self.located(error));
        }
        self.free_context.set(context + 1);
        if colour == 0 {
            return Ok(None);
        }
        let chosen = entries.iter().enumerate().filter(|(_, entry)| entry[0] == colour);
        let mut chosen: Vec<_> = chosen.map(|(rank, entry)| (entry[1], rank)).collect();
        chosen.sort_unstable();
        let rank = chosen.iter().position(|(_, rank)| *rank == self.rank).unwrap_or(0);
        let members = chosen.into_iter().map(|(_, rank)| self.global(rank)).collect();
        Ok(Some(self.part(rank, members, context)))
    }
}
