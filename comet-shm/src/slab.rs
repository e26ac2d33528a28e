//! Operations in flight, each under a number that stays valid until it is removed.

/// Values under small numbers.
#[derive(Debug)]
pub(crate) struct Slab<V> {
    entries: Vec<Option<V>>,
    free: Vec<usize>,
}

impl<V> Default for Slab<V> {
    fn default() -> Self {
        Self { entries: Vec::new(), free: Vec::new() }
    }
}

impl<V> Slab<V> {
    /// Adds `value` and says its number.
    pub(crate) fn insert(&mut self, value: V) -> usize {
        match self.free.pop() {
            Some(id) => {
                self.entries[id] = Some(value);
                id
            }
            None => {
                self.entries.push(Some(value));
                self.entries.len() - 1
            }
        }
    }

    /// The value under `id`.
    pub(crate) fn get(&self, id: usize) -> &V {
        self.entries[id].as_ref().expect("an operation in flight keeps its number")
    }

    /// The value under `id`, to change.
    pub(crate) fn get_mut(&mut self, id: usize) -> &mut V {
        self.entries[id].as_mut().expect("an operation in flight keeps its number")
    }

    /// Removes the value under `id`; the number may be given again.
    pub(crate) fn remove(&mut self, id: usize) -> V {
        let value = self.entries[id].take().expect("an operation ends once");
        self.free.push(id);
        value
    }
}
