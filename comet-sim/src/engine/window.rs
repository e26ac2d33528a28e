//! Windows: the parts and origins of their ranks, and what holds for all of them.

use std::collections::HashMap;

use comet_core::local::LocalBuffer;
use comet_core::transport::{Rank, Tag};
use slab::Slab;

use super::lock::Locks;
use super::{Engine, TransferId, WindowId};

/// Name of a window: that of a group, by its serial number and its first rank, with a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct WindowName {
    pub(crate) serial: u64,
    pub(crate) first: Rank,
    pub(crate) number: u32,
}

/// A window. Its ranks are named by their numbers in its group.
#[derive(Debug)]
pub(crate) struct Window {
    /// The numbers of its ranks in the job.
    pub(crate) ranks: Box<[Rank]>,
    /// Memory that the others reach; `None` until the rank has made it.
    pub(super) parts: Box<[Option<LocalBuffer>]>,
    /// Memory of the rank's own transfers, while there may be any.
    pub(super) origins: Box<[Option<LocalBuffer>]>,
    /// Transfers of the rank that have not ended, in no order.
    pub(super) in_flight: Box<[Vec<TransferId>]>,
    pub(crate) locks: Locks,
    /// Ranks that have not left it, and unlocks that are under way.
    pub(super) n_users: usize,
}

/// The windows of a job.
#[derive(Debug, Default)]
pub(crate) struct Windows {
    all: Slab<Window>,
    /// Windows that some ranks have not joined yet, and how many have.
    joining: HashMap<WindowName, (WindowId, usize)>,
}

/// Step of an epoch that a message without bytes stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Epoch {
    /// A rank lets another access its part.
    Post,
    /// A rank has ended its access.
    Complete,
}

/// The least tag of such messages; those below are reserved for collectives and for the driver.
const FIRST_TAG: u32 = Tag::MAX as u32 + 256;
/// So many tags are left, two for each window.
const MAX_WINDOWS: u32 = (Tag::ANY.value() as u32 - FIRST_TAG) / 2;

impl Epoch {
    /// Tag of the messages of this step in `window`.
    pub(crate) fn tag(self, window: WindowId) -> Tag {
        Tag::from_wire(FIRST_TAG + 2 * window + u32::from(self == Self::Complete))
    }
}

/// The step of an epoch for which a message with `tag` stands.
#[inline]
pub(crate) fn epoch_of(tag: Tag) -> Option<Epoch> {
    let number = u32::from(tag.value()).checked_sub(FIRST_TAG)?;
    Some(if number % 2 == 0 { Epoch::Post } else { Epoch::Complete })
}

impl Windows {
    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(crate) fn get(&self, id: WindowId) -> &Window {
        &self.all[id as usize]
    }

    pub(super) fn get_mut(&mut self, id: WindowId) -> &mut Window {
        &mut self.all[id as usize]
    }

    /// The window `name` of `ranks`, of which number `own` brings its part; `None` if there are too many
    /// windows.
    ///
    /// One that not all ranks join stays for ever.
    pub(crate) fn join(
        &mut self,
        name: WindowName,
        own: usize,
        part: LocalBuffer,
        ranks: impl FnOnce() -> Box<[Rank]>,
    ) -> Option<WindowId> {
        let (id, n_joined) = match self.joining.get_mut(&name) {
            Some(joining) => joining,
            None => {
                let id =
                    u32::try_from(self.all.vacant_key()).ok().filter(|id| *id < MAX_WINDOWS)?;
                self.all.insert(Window::new(ranks()));
                self.joining.entry(name).or_insert((id, 0))
            }
        };
        *n_joined += 1;
        let (id, n_joined) = (*id, *n_joined);
        let window = self.get_mut(id);
        window.parts[own] = Some(part);
        if n_joined == window.ranks.len() {
            self.joining.remove(&name);
        }
        Some(id)
    }

    /// A rank needs the window no more, or an unlock; it is gone once none does.
    pub(crate) fn leave(&mut self, id: WindowId) {
        let window = self.get_mut(id);
        window.n_users -= 1;
        if window.n_users == 0 {
            self.all.remove(id as usize);
        }
    }
}

impl Window {
    fn new(ranks: Box<[Rank]>) -> Self {
        let n_ranks = ranks.len();
        Self {
            ranks,
            parts: (0..n_ranks).map(|_| None).collect(),
            origins: (0..n_ranks).map(|_| None).collect(),
            in_flight: (0..n_ranks).map(|_| Vec::new()).collect(),
            locks: Locks::new(n_ranks),
            n_users: n_ranks,
        }
    }

    /// The part of a rank.
    pub(super) fn part(&mut self, rank: usize) -> &mut LocalBuffer {
        self.parts[rank].as_mut().expect("a window is opened once all ranks have made their parts")
    }

    /// A part and an origin.
    pub(super) fn both(&mut self, part: usize, origin: usize) -> (&mut [u8], &mut [u8]) {
        let part = self.parts[part].as_deref_mut();
        (
            part.expect("a window is opened once all ranks have made their parts"),
            self.origins[origin].as_deref_mut().expect("a transfer has brought it"),
        )
    }
}

impl Engine {
    /// Copies from the part of `own`.
    pub(crate) fn read_part(&mut self, id: WindowId, own: usize, at: usize, into: &mut [u8]) {
        into.copy_from_slice(&self.windows.get_mut(id).part(own)[at..at + into.len()]);
    }

    /// Copies into the part of `own`.
    pub(crate) fn write_part(&mut self, id: WindowId, own: usize, at: usize, from: &[u8]) {
        self.windows.get_mut(id).part(own)[at..at + from.len()].copy_from_slice(from);
    }

    /// Takes the origin of `own`, of which transfers may begin.
    pub(crate) fn lend_origin(&mut self, id: WindowId, own: usize, origin: LocalBuffer) {
        self.windows.get_mut(id).origins[own] = Some(origin);
    }

    /// Gives the origin of `own` back, of which no transfer needs anything more.
    pub(crate) fn return_origin(&mut self, id: WindowId, own: usize) -> Option<LocalBuffer> {
        self.windows.get_mut(id).origins[own].take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_of_epochs_belong_to_no_kernel_and_name_their_step() {
        for id in [0, 1, MAX_WINDOWS - 1] {
            for epoch in [Epoch::Post, Epoch::Complete] {
                let tag = epoch.tag(id);
                assert!(tag.value() > Tag::MAX);
                assert_eq!(epoch_of(tag.within(3)), Some(epoch));
                assert_eq!(Tag::from_wire(tag.to_wire()), tag);
            }
        }
        assert_eq!(epoch_of(Tag::new(Tag::MAX)), None);
    }
}
