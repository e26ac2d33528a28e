//! A list that is mostly empty or has one entry.

use std::collections::VecDeque;

/// A list whose first entry needs no memory of its own: mostly there is no second, and a simulation
/// has a million of these.
#[derive(Debug)]
pub(super) struct List<T> {
    first: Option<T>,
    /// Empty where there is no first.
    rest: VecDeque<T>,
}

impl<T> List<T> {
    /// Length of an empty list that keeps its memory.
    const KEPT: usize = 4;
    pub(super) const EMPTY: Self = Self { first: None, rest: VecDeque::new() };

    pub(super) fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    pub(super) fn push(&mut self, entry: T) {
        if self.first.is_none() {
            self.first = Some(entry);
        } else {
            self.rest.push_back(entry);
        }
    }

    pub(super) fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.rest.len()
    }

    pub(super) fn into_iter(self) -> impl Iterator<Item = T> {
        self.first.into_iter().chain(self.rest)
    }

    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.first.iter().chain(&self.rest)
    }

    pub(super) fn iter_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut T> {
        self.first.iter_mut().chain(&mut self.rest)
    }

    /// Takes out the first entry for which `f` holds.
    pub(super) fn take(&mut self, mut f: impl FnMut(&T) -> bool) -> Option<T> {
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
