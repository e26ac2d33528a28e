//! Places of ranks, and comparable pairs of them: those at equal distances.

use std::collections::BTreeSet;
use std::fmt;

use crate::record::{RankEntry, Run};
use crate::words::count;

#[derive(Debug)]
pub(super) struct Places<'a> {
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
    pub(super) fn of(run: Option<&'a Run>) -> Self {
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
