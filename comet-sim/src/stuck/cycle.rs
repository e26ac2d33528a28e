//! The shortest chain of ranks that wait for each other.

use comet_core::transport::{Rank, Source};

use super::{Kind, Stand, words};

/// The most ranks of a chain that are all shown.
const MAX_SHOWN: usize = 8;

/// Ranks of which each waits for the next, and the last for the first.
#[derive(Debug)]
pub(super) struct Cycle<'s, 'e> {
    stands: Vec<&'s Stand<'e>>,
}

/// The shortest cycle, if there is one.
///
/// A rank that waits for any rank waits for all others, and counts only if there is no cycle of
/// ranks that wait for one: of such a cycle each rank is the cause.
pub(super) fn shortest<'s, 'e>(stands: &'s [Stand<'e>], n_ranks: usize) -> Option<Cycle<'s, 'e>> {
    let mut stand_of = vec![None; n_ranks];
    stands.iter().for_each(|stand| stand_of[stand.rank] = Some(stand));
    let named = shortest_named(stands, &stand_of);
    named.or_else(|| through_any(stands, &stand_of)).map(Cycle::from_lowest)
}

/// Shortest cycle of ranks that each wait for one: a walk from each unmet rank finds all.
fn shortest_named<'s, 'e>(
    stands: &'s [Stand<'e>],
    stand_of: &[Option<&'s Stand<'e>>],
) -> Option<Vec<&'s Stand<'e>>> {
    // In which walk each rank was met, and after how many others.
    let mut met = vec![None; stand_of.len()];
    let mut shortest: Option<Vec<_>> = None;
    for (walk, start) in stands.iter().enumerate() {
        let (mut path, mut at) = (Vec::new(), Some(start));
        while let Some(stand) = at.filter(|stand| met[stand.rank].is_none()) {
            met[stand.rank] = Some((walk, path.len()));
            path.push(stand);
            at = peer(stand).and_then(|peer| stand_of[peer]);
        }
        let Some((met_by, index)) = at.and_then(|stand| met[stand.rank]) else { continue };
        if met_by == walk {
            let cycle = path.split_off(index);
            shortest = shortest.take_if(|found| found.len() <= cycle.len()).or(Some(cycle));
        }
    }
    shortest
}

/// A rank that waits for any, and one that waits for it.
fn through_any<'s, 'e>(
    stands: &'s [Stand<'e>],
    stand_of: &[Option<&'s Stand<'e>>],
) -> Option<Vec<&'s Stand<'e>>> {
    let waits_for_any =
        |stand: &&Stand<'_>| stand.want.is_some_and(|want| want.peer == Source::Any);
    let named = stands.iter().find_map(|stand| {
        let target = stand_of[peer(stand)?].filter(waits_for_any)?;
        Some(vec![stand, target])
    });
    let mut any = stands.iter().filter(waits_for_any);
    named.or_else(|| Some(vec![any.next()?, any.next()?]))
}

fn peer(stand: &Stand<'_>) -> Option<Rank> {
    match stand.want?.peer {
        Source::Rank(peer) => Some(peer),
        Source::Any => None,
    }
}

impl<'s, 'e> Cycle<'s, 'e> {
    fn from_lowest(mut stands: Vec<&'s Stand<'e>>) -> Self {
        let lowest = (0..stands.len()).min_by_key(|index| stands[*index].rank).unwrap_or(0);
        stands.rotate_left(lowest);
        Self { stands }
    }

    pub(super) fn first(&self) -> &'s Stand<'e> {
        self.stands[0]
    }

    pub(super) fn sentence(&self) -> String {
        let mut ranks: Vec<_> = self.stands.iter().map(|stand| stand.rank).collect();
        ranks.sort_unstable();
        match ranks.as_slice() {
            [rank] => format!("rank {rank} waits for itself for ever"),
            _ => format!("{} wait for each other for ever", words::ranks(&ranks)),
        }
    }

    /// The chain, with what each rank wants of the next.
    pub(super) fn line(&self) -> String {
        let first = self.first();
        let alike = |stand: &&&Stand<'_>| like(stand) == like(first);
        let n_ranks = self.stands.len();
        if n_ranks == 1 || self.stands.iter().filter(alike).count() < n_ranks {
            return format!("cycle: {}{}", self.chain(label), self.size());
        }
        let (lengths, tags) = first.want.map_or_else(Default::default, |want| {
            (want.length_bytes.to_string(), words::tag(want.tag))
        });
        let is_any = first.want.is_some_and(|want| want.peer == Source::Any);
        let next = if is_any { "any rank" } else { "the next" };
        let each = first.phrase(false, &lengths, next, &tags);
        format!("cycle: {}{}: each {each}", self.chain(|_| String::new()), self.size())
    }

    /// `0 -> 1 -> 0`, with `label` on each arrow; without its middle if it is long.
    fn chain(&self, label: impl Fn(&Stand<'_>) -> String) -> String {
        let link = |stand: &&Stand<'_>| format!("{} -{}> ", stand.rank, label(stand));
        let links: String = match self.stands.len() {
            n if n > MAX_SHOWN => {
                let (start, end) = (&self.stands[..3], &self.stands[n - 2..]);
                start
                    .iter()
                    .map(link)
                    .chain(["... -> ".into()])
                    .chain(end.iter().map(link))
                    .collect()
            }
            _ => self.stands.iter().map(link).collect(),
        };
        format!("{links}{}", self.first().rank)
    }

    /// Number of ranks, if they are not all shown.
    fn size(&self) -> String {
        let n_ranks = self.stands.len();
        if n_ranks > MAX_SHOWN { format!(" ({n_ranks} ranks)") } else { String::new() }
    }

    /// A message that a rank of the cycle waits to send, of how many bytes.
    pub(super) fn unbuffered_bytes(&self) -> Option<usize> {
        let wants = self.stands.iter().filter_map(|stand| stand.want);
        wants.filter(|want| want.kind == Kind::Send).map(|want| want.length_bytes).min()
    }
}

/// Key of equal ranks in a cycle.
fn like(stand: &Stand<'_>) -> impl PartialEq {
    let want = stand.want.map(|want| (want.kind, want.tag, want.length_bytes));
    (want, peer(stand).is_none(), stand.collective)
}

/// Label of the arrow to the next rank: the wanted operation.
fn label(stand: &Stand<'_>) -> String {
    let Some(want) = stand.want else { return String::new() };
    if let Some(collective) = stand.collective {
        return format!("[{}]-", collective.name);
    }
    let (tag, bytes) = (words::tag(want.tag), want.length_bytes);
    let any = if want.peer == Source::Any { " from any" } else { "" };
    match want.kind {
        Kind::Send | Kind::TestSend => format!("[send, {tag}, {bytes} bytes]-"),
        Kind::Probe => format!("[probe{any}, {tag}]-"),
        Kind::Post => "[post]-".into(),
        Kind::Complete => "[complete]-".into(),
        Kind::Lock(Some(target), _) => format!("[lock of rank {target}]-"),
        Kind::Lock(None, _) => "[lock of all]-".into(),
        Kind::Transfers => "[transfers]-".into(),
        Kind::Receive | Kind::TestReceive => format!("[receive{any}, {tag}, up to {bytes} bytes]-"),
    }
}
