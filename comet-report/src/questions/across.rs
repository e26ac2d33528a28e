//! Orders of the ways of a question on several machines: the same everywhere, or not.

use std::fmt;

use super::words::short;
use super::{Question, Reply};
use crate::order::{distinct, grouped};
use crate::runs::Platform;
use crate::units::{bytes, significant};
use crate::words::{count, list};

/// The ways of a question on several platforms, the fastest first.
#[derive(Clone, Debug, PartialEq)]
pub struct Orders {
    /// The question.
    pub question: &'static Question,
    n_ranks: u64,
    /// The shortest and the longest of the lengths that all platforms have.
    lengths: [u64; 2],
    of_each: Vec<(Platform, Vec<Way>)>,
}

/// A way with its time over that of the first way: geometric mean over the lengths.
type Way = (&'static str, f64);

/// Returns the orders of each question and number of ranks that two platforms or more answer at a common length.
pub fn across(replies: &[Reply]) -> Vec<Orders> {
    let cells = replies.iter().flat_map(|reply| {
        let at = move |n_ranks| ((reply.question.id, n_ranks), reply);
        distinct(reply.cells.iter().map(|cell| cell.n_ranks)).into_iter().map(at)
    });
    let all = grouped(cells).into_iter();
    all.filter_map(|((_, n_ranks), replies)| Orders::of(n_ranks, &replies)).collect()
}

impl Orders {
    fn of(n_ranks: u64, replies: &[&Reply]) -> Option<Self> {
        let question = replies.first().filter(|_| replies.len() > 1)?.question;
        let cells = |reply: &'_ Reply| {
            let on_ranks = reply.cells.iter().filter(|cell| cell.n_ranks == n_ranks);
            on_ranks.copied().collect::<Vec<_>>()
        };
        let of_all: Vec<_> = replies.iter().map(|reply| cells(reply)).collect();
        let is_common = |of: &(&str, u64)| {
            of_all.iter().all(|cells| cells.iter().any(|c| (c.kernel, c.length_bytes) == *of))
        };
        let places = of_all[0].iter().map(|cell| (cell.kernel, cell.length_bytes));
        let common: Vec<(&str, u64)> = places.filter(is_common).collect();
        let lengths = common.iter().map(|(_, length)| *length);
        let lengths = [lengths.clone().min()?, lengths.max()?];
        let ways = |cells: &[super::Cell]| {
            let own = cells.iter().filter(|c| common.contains(&(c.kernel, c.length_bytes)));
            let of_ways = grouped(own.map(|cell| (cell.kernel, cell.compared)));
            let mean = |(kernel, all): (&'static str, Vec<super::Compared>)| {
                let log = |of: &super::Compared| (of.time_ns / of.bound_ns).ln();
                (kernel, comet_stats::mean(&all.iter().map(log).collect::<Vec<_>>()).exp())
            };
            let mut ways: Vec<Way> = vec![(question.kernels[0], 1.0)];
            ways.extend(of_ways.into_iter().map(mean));
            ways.sort_by(|(_, a), (_, b)| a.total_cmp(b));
            ways
        };
        let of_each = replies.iter().zip(&of_all);
        let of_each = of_each.map(|(reply, cells)| (reply.platform.clone(), ways(cells))).collect();
        Some(Self { question, n_ranks, lengths, of_each })
    }

    /// Returns a sentence on whether the order is the same everywhere, and the order on each platform.
    pub fn sentences(&self) -> Vec<String> {
        let names = |ways: &[Way]| ways.iter().map(|(kernel, _)| *kernel).collect::<Vec<_>>();
        let [from, to] = self.lengths.map(bytes);
        let span = if from == to { format!("at {from}") } else { format!("from {from} to {to}") };
        let place = format!("on {}, {span}", count(self.n_ranks, "rank"));
        let orders = grouped(self.of_each.iter().map(|(at, ways)| (names(ways), at.to_string())));
        let lead = match &orders[..] {
            [(_, all)] => format!("the order of the ways is the same over {}, {place}", list(all)),
            _ => format!("the order of the ways differs between platforms, {place}"),
        };
        let way = |(kernel, ratio): &Way| format!("{} {}", short(kernel), significant(*ratio, 3));
        let own = self.of_each.iter().map(|(platform, ways)| {
            let ways: Vec<String> = ways.iter().map(way).collect();
            format!("over {platform}, mean of the ratios {place}: {}", ways.join(", "))
        });
        std::iter::once(lead).chain(own).collect()
    }
}

impl fmt::Display for Orders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "# {} (across machines)", self.question.text)?;
        self.sentences().iter().try_for_each(|sentence| writeln!(f, "{sentence}"))
    }
}
