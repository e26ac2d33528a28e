//! Ranks at the same line of the kernel, in one line of the report.

use std::collections::HashMap;
use std::hash::Hash;

use comet_core::transport::{Rank, Source};

use super::{Stand, words};

const MAX_LINES: usize = 24;
/// So few ranks have a line each.
const FEW: usize = 4;
/// So many kinds of waits at one line of the kernel are told apart.
const MAX_PARTS: usize = 12;
/// Relations that a rank and its peer may share with other pairs, the plainest first: the peer, its
/// distance above the rank, and the bits in which they differ.
const RELATIONS: [fn(Rank, Rank, usize) -> usize; 3] = [
    |_, peer, _| peer,
    |rank, peer, n_ranks| (peer + n_ranks - rank) % n_ranks,
    |rank, peer, _| rank ^ peer,
];

/// One line per group of ranks, by first rank; `activity` is known to the reader.
pub(super) fn lines(stands: &[Stand<'_>], n_ranks: usize, activity: &str) -> Vec<String> {
    let groups = grouped(stands.iter(), place);
    let parts = groups.into_iter().flat_map(|group| parts(group, n_ranks));
    let lines = parts.map(|part| line(&part, n_ranks, activity)).collect();
    words::capped(lines, MAX_LINES, "groups of ranks")
}

/// Key of the ranks of one group.
fn place<'e>(stand: &&Stand<'e>) -> impl Hash + Eq + use<'e> {
    let want = stand.want.map(|want| (want.kind, want.peer == Source::Any));
    (stand.site, stand.collective, stand.activity, want)
}

/// A group in parts that one sentence describes exactly, or the whole where these are too many.
fn parts<'s, 'e>(group: Vec<&'s Stand<'e>>, n_ranks: usize) -> Vec<Vec<&'s Stand<'e>>> {
    if group.len() <= FEW {
        return group.into_iter().map(|stand| vec![stand]).collect();
    }
    let by = |relation: fn(Rank, Rank, usize) -> usize| {
        grouped(group.iter().copied(), |stand| {
            let want = stand.want?;
            Some((want.tag, want.length_bytes, related(stand, n_ranks, relation)))
        })
    };
    let plainest = RELATIONS.into_iter().map(by).min_by_key(Vec::len);
    plainest.filter(|parts| parts.len() <= MAX_PARTS).unwrap_or_else(|| vec![group])
}

fn related(
    stand: &Stand<'_>,
    n_ranks: usize,
    relation: fn(Rank, Rank, usize) -> usize,
) -> Option<usize> {
    match stand.want?.peer {
        Source::Rank(peer) => Some(relation(stand.rank, peer, n_ranks)),
        Source::Any => None,
    }
}

fn line(part: &[&Stand<'_>], n_ranks: usize, activity: &str) -> String {
    let first = part[0];
    let ranks: Vec<_> = part.iter().map(|stand| stand.rank).collect();
    let wants = || part.iter().filter_map(|stand| stand.want);
    let lengths = span(wants().map(|want| want.length_bytes as u64), |length| length.to_string());
    let peers = peers(part, n_ranks);
    let phrase = first.phrase(part.len() > 1, &lengths, &peers, &tags(part));
    let place = first.site.map_or(String::new(), |site| format!(" at {}", words::site(site)));
    let during = if first.activity == activity { "" } else { &words::during(first.activity) };
    let times = span(part.iter().map(|stand| stand.clock_ps), words::time);
    let cause = first.cause(&peers);
    format!("{} {phrase}{place}{cause}{during}, t = {times}", words::ranks(&ranks))
}

/// The peers of a part, by what they have in common if they do.
fn peers(part: &[&Stand<'_>], n_ranks: usize) -> String {
    let common = |relation| {
        let mut values = part.iter().map(|stand| related(stand, n_ranks, relation));
        let first = values.next()??;
        values.all(|value| value == Some(first)).then_some(first)
    };
    let [same, ahead, differing] = RELATIONS;
    if let Some(peer) = common(same) {
        return format!("rank {peer}");
    }
    if let Some(n_ahead) = common(ahead) {
        return neighbour(part, n_ahead, n_ranks);
    }
    if let Some(bits) = common(differing) {
        return format!("rank r xor {bits}");
    }
    let mut peers: Vec<_> = part.iter().filter_map(|stand| related(stand, n_ranks, same)).collect();
    peers.sort_unstable();
    peers.dedup();
    if peers.is_empty() { "any rank".into() } else { words::ranks(&peers) }
}

/// The peer that is `n_ahead` ranks above each, or fewer below.
fn neighbour(part: &[&Stand<'_>], n_ahead: usize, n_ranks: usize) -> String {
    let n_behind = n_ranks - n_ahead;
    let (relative, wraps) = if n_ahead <= n_behind {
        let wraps = part.iter().any(|stand| stand.rank + n_ahead >= n_ranks);
        (format!("rank r+{n_ahead}"), wraps)
    } else {
        (format!("rank r-{n_behind}"), part.iter().any(|stand| stand.rank < n_behind))
    };
    if wraps { format!("{relative} (mod {n_ranks})") } else { relative }
}

fn tags(part: &[&Stand<'_>]) -> String {
    let mut tags: Vec<_> = part.iter().filter_map(|stand| Some(stand.want?.tag)).collect();
    tags.sort_unstable();
    tags.dedup();
    match tags.as_slice() {
        [] => String::new(),
        [tag] => words::tag(*tag),
        _ => {
            let values: Vec<_> = tags.iter().map(|tag| usize::from(tag.value())).collect();
            format!("tags {}", words::ranges(&values))
        }
    }
}

/// The least and the largest of `values`, or the only one.
fn span(values: impl Iterator<Item = u64> + Clone, text: fn(u64) -> String) -> String {
    match (values.clone().min(), values.max()) {
        (Some(least), Some(largest)) if least < largest => {
            format!("{} to {}", text(least), text(largest))
        }
        (Some(only), _) => text(only),
        _ => String::new(),
    }
}

/// Groups with equal keys, in the order in which the first of each comes.
pub(super) fn grouped<T: Copy, K: Hash + Eq>(
    items: impl Iterator<Item = T>,
    key: impl Fn(&T) -> K,
) -> Vec<Vec<T>> {
    let (mut groups, mut index_of) = (Vec::<Vec<T>>::new(), HashMap::new());
    for item in items {
        let index = *index_of.entry(key(&item)).or_insert(groups.len());
        if index == groups.len() {
            groups.push(Vec::new());
        }
        groups[index].push(item);
    }
    groups
}
