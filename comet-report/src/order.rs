//! Items in the order in which they are first met.

/// `items` without repetitions.
pub(crate) fn distinct<T: PartialEq>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let keys = items.into_iter().map(|item| (item, ()));
    grouped(keys).into_iter().map(|(item, _)| item).collect()
}

/// The values of each key.
pub(crate) fn grouped<K: PartialEq, V>(
    items: impl IntoIterator<Item = (K, V)>,
) -> Vec<(K, Vec<V>)> {
    let mut groups: Vec<(K, Vec<V>)> = Vec::new();
    for (key, value) in items {
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, values)) => values.push(value),
            None => groups.push((key, vec![value])),
        }
    }
    groups
}
