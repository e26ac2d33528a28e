//! Places of ranks, comparable pairs of them (those at equal distances), and attribution: ranks are
//! slow if most of their pairs are, hosts if most of their ranks are, and links if neither of their
//! ends is.
//!
//! The pairs of a round are measured together, and a healthy pair is slow that shares a link with
//! another one. At other lengths it rarely is, so that a pair alone is blamed only if it is slow at
//! several lengths, and at all that were measured.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use comet_core::topology::Topology;

use super::links::{OfLength, Pair};
use super::work::Work;
use crate::record::{RankEntry, Run};
use crate::units::bytes;
use crate::words::count;

#[derive(Debug)]
pub(crate) struct Places<'a> {
    run: Option<&'a Run>,
    n_hosts: usize,
}

/// Distance of two ranks. Times of pairs of one class can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Class {
    nearness: Nearness,
    hops: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Nearness {
    Core,
    Cache,
    Socket,
    Host,
    Nothing,
    /// Nobody knows.
    Unknown,
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nearness = match self.nearness {
            Nearness::Core => "one core",
            Nearness::Cache => "one cache",
            Nearness::Socket => "one socket",
            Nearness::Host => "one host",
            Nearness::Nothing => "two hosts",
            Nearness::Unknown => "any ranks",
        };
        match self.hops {
            None => f.write_str(nearness),
            Some(hops) if self.nearness == Nearness::Unknown => f.write_str(&count(hops, "hop")),
            Some(hops) => write!(f, "{nearness}, {}", count(hops, "hop")),
        }
    }
}

impl<'a> Places<'a> {
    /// The places of the ranks of `run`.
    pub(crate) fn of(run: Option<&'a Run>) -> Self {
        let ranks = run.iter().flat_map(|run| &run.world.ranks);
        let hosts: BTreeSet<&String> = ranks.filter_map(|entry| entry.node.as_ref()).collect();
        Self { run, n_hosts: hosts.len() }
    }

    pub(super) fn n_hosts(&self) -> usize {
        self.n_hosts
    }

    pub(super) fn host(&self, rank: usize) -> Option<&'a str> {
        let name = self.entry(rank)?.node.as_deref();
        name.filter(|_| self.n_hosts > 1)
    }

    /// The hosts of two ranks, if they are two of several, in the order of their names.
    pub(super) fn hosts(&self, ranks: [usize; 2]) -> Option<[&'a str; 2]> {
        let [a, b] = ranks.map(|rank| self.host(rank));
        let (a, b) = a.zip(b).filter(|(a, b)| a != b)?;
        Some([a.min(b), a.max(b)])
    }

    pub(super) fn ranks_of(&self, host: &str) -> Vec<usize> {
        let ranks = self.run.iter().flat_map(|run| &run.world.ranks);
        let on_host = ranks.filter(|entry| entry.node.as_deref() == Some(host));
        on_host.map(|entry| entry.rank).collect()
    }

    pub(super) fn class(&self, a: usize, b: usize) -> Class {
        let entries = self.entry(a).zip(self.entry(b));
        let nearness = entries.map_or(Nearness::Unknown, |(a, b)| nearness(a, b));
        Class { nearness, hops: self.hops(a, b) }
    }

    /// Nearness of rank 0 and the rank that kernels take at `hops` links, where the record names the
    /// places of both.
    pub(crate) fn at_hops(&self, hops: usize) -> Option<&'static str> {
        let world = &self.run?.world;
        let peer = match &world.hops.table {
            Some(table) => table.first()?.iter().position(|of| *of == hops),
            None => Topology::hypercube(world.size).hop_node(0, hops),
        };
        match nearness(self.entry(0)?, self.entry(peer?)?) {
            Nearness::Core => Some("same core"),
            Nearness::Cache => Some("same cache"),
            Nearness::Socket => Some("same socket"),
            Nearness::Host => Some("same host"),
            Nearness::Nothing => Some("other host"),
            Nearness::Unknown => None,
        }
    }

    fn entry(&self, rank: usize) -> Option<&'a RankEntry> {
        self.run?.world.ranks.get(rank).filter(|entry| entry.rank == rank)
    }

    /// Number of links, where the record tells those of a network: of a simulated one, or in a
    /// table of the user's. The hypercube on which CoMet numbers real ranks is no network.
    fn hops(&self, a: usize, b: usize) -> Option<usize> {
        let run = self.run?;
        let hops = &run.world.hops;
        if let Some(table) = &hops.table {
            return table.get(a)?.get(b).copied();
        }
        let is_network = run.clock.is_virtual && hops.metric == "hypercube";
        is_network.then(|| (a ^ b).count_ones() as usize)
    }
}

fn nearness(a: &RankEntry, b: &RankEntry) -> Nearness {
    let both = |field: fn(&RankEntry) -> Option<&String>| field(a).zip(field(b));
    let shares = |field| both(field).is_some_and(|(a, b)| a == b);
    let socket = a.socket.zip(b.socket);
    match both(|entry| entry.node.as_ref()) {
        None => Nearness::Unknown,
        Some((a, b)) if a != b => Nearness::Nothing,
        Some(_) if shares(|entry| entry.core.as_ref()) => Nearness::Core,
        Some(_) if shares(|entry| entry.l3.as_ref()) => Nearness::Cache,
        Some(_) if socket.is_some_and(|(a, b)| a == b) => Nearness::Socket,
        Some(_) => Nearness::Host,
    }
}

/// Something that stands out, and by what.
#[derive(Clone, Debug, PartialEq)]
pub struct Suspect {
    /// The part.
    pub part: Part,
    /// One clause for each reason.
    pub reasons: Vec<String>,
}

/// A part of the machine, from the largest to the smallest.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// All ranks of a host.
    Host(String),
    /// A rank, on the host that is named where there are several.
    Rank(usize, Option<String>),
    /// Link between two hosts.
    Link([String; 2]),
    /// Link between two ranks, with their hosts if there are several.
    Pair([usize; 2], Option<[String; 2]>),
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host(host) => write!(f, "host {host}"),
            Self::Rank(rank, None) => write!(f, "rank {rank}"),
            Self::Rank(rank, Some(host)) => write!(f, "rank {rank} on {host}"),
            Self::Link([a, b]) => write!(f, "link {a} - {b}"),
            Self::Pair([a, b], None) => write!(f, "link of ranks {a} - {b}"),
            Self::Pair([a, b], Some([host_a, host_b])) => {
                write!(f, "link of ranks {a} - {b} on {host_a} and {host_b}")
            }
        }
    }
}

#[derive(Debug)]
pub(super) struct Suspects<'a> {
    places: &'a Places<'a>,
    factor: f64,
    found: BTreeMap<Part, Vec<String>>,
}

impl<'a> Suspects<'a> {
    pub(super) fn new(places: &'a Places<'a>, factor: f64) -> Self {
        Self { places, factor, found: BTreeMap::new() }
    }

    /// Outliers, from the largest to the smallest; then outliers only at some of the `n_lengths`
    /// message lengths, which may have shared a link.
    pub(super) fn into_parts(self, n_lengths: usize) -> [Vec<Suspect>; 2] {
        let found = self.found.into_iter().map(|(part, reasons)| Suspect { part, reasons });
        let is_certain = |suspect: &Suspect| match suspect.part {
            Part::Pair(..) => n_lengths > 1 && suspect.reasons.len() == n_lengths,
            _ => true,
        };
        let (certain, uncertain) = found.partition(is_certain);
        [certain, uncertain]
    }

    pub(super) fn add_work(&mut self, work: &Work) {
        for (rank, excess) in &work.slow {
            self.blame(self.rank(*rank), format!("computes {excess:.2} times as long as others"));
        }
        for (rank, shares) in &work.noisy {
            let [own, others] = shares.map(|share| 100.0 * share);
            let reason = format!(
                "noise: {own:.1} % of its pieces of work take more than 1.5 times their median, on \
                 other ranks {others:.1} %"
            );
            self.blame(self.rank(*rank), reason);
        }
    }

    pub(super) fn add_pairs(&mut self, of_length: &OfLength) {
        let label = bytes(of_length.length_bytes);
        let all: Vec<&Pair> = of_length.pairs.iter().collect();
        // A host or a rank is not slow by its pairs with a slower host, nor a link by those with a slow
        // rank.
        let mut of_others: Vec<&Pair> = all.clone();
        while let Some(host) = self.slowest_host(&of_others) {
            let touches = |pair: &&Pair| self.touches(pair, host);
            let reason = self.share(all.iter().copied().filter(touches));
            self.blame(Part::Host(host.into()), format!("{label}: {reason}"));
            of_others.retain(|pair| !self.touches(pair, host));
        }
        let ranks = slow_ranks(&of_others);
        for rank in &ranks {
            let touches = |pair: &&&Pair| pair.ranks.contains(rank);
            let reason = self.share(of_others.iter().filter(touches).copied());
            self.blame(self.rank(*rank), format!("{label}: {reason}"));
        }
        let rest = |pair: &&Pair| !pair.ranks.iter().any(|rank| ranks.contains(rank));
        self.add_links(&of_others.into_iter().filter(rest).collect::<Vec<_>>(), &label);
    }

    /// Adds what lies between hosts or ranks that are not slow themselves.
    fn add_links(&mut self, pairs: &[&Pair], label: &str) {
        let mut links: BTreeMap<[&str; 2], Vec<&Pair>> = BTreeMap::new();
        for pair in pairs {
            if let Some(hosts) = self.places.hosts(pair.ranks) {
                links.entry(hosts).or_default().push(pair);
            }
        }
        links.retain(|_, of_link| of_link.len() > 1 && most_are_slow(of_link));
        for (hosts, of_link) in &links {
            let reason = self.share(of_link.iter().copied());
            self.blame(Part::Link(hosts.map(Into::into)), format!("{label}: {reason}"));
        }
        for pair in pairs {
            let hosts = self.places.hosts(pair.ranks);
            let Some(slowness) = pair.slowness else { continue };
            if !hosts.is_some_and(|hosts| links.contains_key(&hosts)) {
                let part = Part::Pair(pair.ranks, self.names(pair.ranks));
                self.blame(part, format!("{label}: {slowness:.2} times the median"));
            }
        }
    }

    /// Of the hosts most of whose ranks are slow, the one with the largest share of slow pairs.
    fn slowest_host(&self, pairs: &[&Pair]) -> Option<&'a str> {
        let slow = slow_ranks(pairs);
        let hosts: BTreeSet<&'a str> =
            slow.iter().filter_map(|rank| self.places.host(*rank)).collect();
        let is_slow = |host: &&str| {
            let ranks = self.places.ranks_of(host);
            let n_slow = ranks.iter().filter(|rank| slow.contains(rank)).count();
            2 * n_slow > ranks.len()
        };
        let share = |host: &str| {
            let of_host = || pairs.iter().filter(|pair| self.touches(pair, host));
            of_host().filter(|pair| pair.slowness.is_some()).count() as f64
                / of_host().count().max(1) as f64
        };
        hosts.into_iter().filter(is_slow).max_by(|a, b| share(a).total_cmp(&share(b)))
    }

    fn touches(&self, pair: &Pair, host: &str) -> bool {
        pair.ranks.into_iter().any(|rank| self.places.host(rank) == Some(host))
    }

    /// `9 of 31 pairs take more than 1.10 times the median, up to 1.34 times`.
    fn share<'p>(&self, pairs: impl Iterator<Item = &'p Pair>) -> String {
        let pairs: Vec<&Pair> = pairs.collect();
        let slow: Vec<f64> = pairs.iter().filter_map(|pair| pair.slowness).collect();
        let most = slow.iter().copied().fold(0.0, f64::max);
        let (n_slow, n, factor) = (slow.len(), pairs.len(), self.factor);
        format!(
            "{n_slow} of {n} pairs take more than {factor:.2} times the median, up to {most:.2}"
        )
    }

    /// `rank`, or its host if that has no other.
    fn rank(&self, rank: usize) -> Part {
        match self.places.host(rank) {
            Some(host) if self.places.ranks_of(host) == [rank] => Part::Host(host.into()),
            host => Part::Rank(rank, host.map(Into::into)),
        }
    }

    /// The hosts of two ranks, if they are two of several.
    fn names(&self, ranks: [usize; 2]) -> Option<[String; 2]> {
        self.places.hosts(ranks)?;
        Some(ranks.map(|rank| self.places.host(rank).unwrap_or_default().into()))
    }

    fn blame(&mut self, part: Part, reason: String) {
        self.found.entry(part).or_default().push(reason);
    }
}

/// Ranks most of whose pairs are slow, and more than one of them.
fn slow_ranks(pairs: &[&Pair]) -> BTreeSet<usize> {
    let mut of_ranks: BTreeMap<usize, Vec<&Pair>> = BTreeMap::new();
    for pair in pairs {
        pair.ranks.into_iter().for_each(|r| of_ranks.entry(r).or_default().push(pair));
    }
    of_ranks.retain(|_, of_rank| of_rank.len() > 1 && most_are_slow(of_rank));
    of_ranks.into_keys().collect()
}

fn most_are_slow(pairs: &[&Pair]) -> bool {
    2 * pairs.iter().filter(|pair| pair.slowness.is_some()).count() > pairs.len()
}

#[cfg(test)]
mod tests {
    use super::super::fixture;
    use super::*;

    fn entry(node: &str, socket: usize, l3: &str, core: &str) -> RankEntry {
        let mut records = fixture::pairs(2, |_, _| 100);
        let rank = fixture::run(&mut records).world.ranks.remove(0);
        let [node, l3, core] = [node, l3, core].map(|text| Some(text.to_owned()));
        RankEntry { node, l3, core, socket: Some(socket), ..rank }
    }

    #[test]
    fn the_nearest_thing_that_two_ranks_share_is_their_class() {
        let check = |other: RankEntry, expected: &str| {
            let nearness = nearness(&entry("a", 0, "0-3", "0"), &other);
            assert_eq!(Class { nearness, hops: None }.to_string(), expected);
        };
        check(entry("a", 0, "0-3", "0"), "one core");
        check(entry("a", 0, "0-3", "1"), "one cache");
        check(entry("a", 0, "4-7", "4"), "one socket");
        check(entry("a", 1, "8-11", "8"), "one host");
        check(entry("b", 0, "0-3", "0"), "two hosts");
        check(RankEntry { node: None, ..entry("a", 0, "0-3", "0") }, "any ranks");
        // A rank that may move shares nothing for certain.
        let floating = RankEntry { core: None, l3: None, socket: None, ..entry("a", 0, "", "") };
        check(floating, "one host");
    }

    #[test]
    fn distances_count_where_they_are_those_of_a_network() {
        let check = |is_virtual, metric: &str, table, expected: &str| {
            let mut records = fixture::pairs(4, |_, _| 100);
            let run = fixture::run(&mut records);
            run.clock.is_virtual = is_virtual;
            (run.world.hops.metric, run.world.hops.table) = (metric.into(), table);
            let found = Places::of(records.run.as_deref()).class(0, 3).to_string();
            assert_eq!(found, expected, "{metric}");
        };
        check(true, "hypercube", None, "2 hops");
        check(false, "hypercube", None, "any ranks");
        check(true, "flat", None, "any ranks");
        check(false, "table", Some(vec![vec![0, 1, 2, 1]]), "1 hop");
        check(true, "torus", Some(vec![vec![0, 1]]), "any ranks");
    }

    #[test]
    fn hosts_are_named_where_there_are_several() {
        let mut records = fixture::pairs(4, |_, _| 100);
        let host = |records: &crate::runs::RunRecords| {
            let places = Places::of(records.run.as_deref());
            (places.n_hosts(), places.host(3).map(str::to_owned))
        };
        assert_eq!(host(&records), (0, None));
        fixture::on_hosts(&mut records, 4);
        assert_eq!(host(&records), (1, None));
        fixture::on_hosts(&mut records, 2);
        assert_eq!(host(&records), (2, Some("node1".into())));
    }
}
