//! A collective selection file of MPICH (`MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE`).
//!
//! The file is a tree of conditions with an algorithm at each leaf; the first condition that holds
//! is followed, so that `any` stands last. It takes the place of all that MPICH knows by itself, and a
//! collective that is missing in it ends the job of MPICH 4.0.2. So those that were not measured are
//! there too, each with an algorithm that fits all ranks.

use std::fmt::Write as _;

use super::Contest;

/// The condition of one group of ranks.
const INTRA: &str = "comm_type=intra/";

/// A collective that was measured.
struct Tuned {
    operation: &'static str,
    /// Collectives of MPICH that it decides.
    collectives: &'static [&'static str],
    /// Quantity in which MPICH counts a length: `avg_msg_size`, or `total_msg_size` of all ranks.
    size: &'static str,
    /// Condition under which the algorithms are admitted.
    condition: &'static str,
    /// Names here and there, and what an algorithm needs.
    algorithms: &'static [(&'static str, &'static str, Needs)],
}

/// Need of an algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Needs {
    Nothing,
    /// A power of two of ranks.
    PowerOfTwo,
    /// An operator of MPI, and an element for each rank; another algorithm else.
    BuiltIn(&'static str),
}

use Needs::{BuiltIn, Nothing, PowerOfTwo};

#[rustfmt::skip] // One algorithm a line.
const TUNED: [Tuned; 6] = [
    Tuned { operation: "allgather", collectives: &["allgather", "allgatherv"], size: "total_msg_size", condition: "", algorithms: &[
        ("bruck", "intra_brucks", Nothing),
        ("recursive_doubling", "intra_recursive_doubling", PowerOfTwo),
        ("ring", "intra_ring", Nothing),
    ] },
    Tuned { operation: "allreduce", collectives: &["allreduce"], size: "avg_msg_size", condition: "", algorithms: &[
        ("recursive_doubling", "intra_recursive_doubling", Nothing),
        ("rabenseifner", "intra_reduce_scatter_allgather", BuiltIn("intra_recursive_doubling")),
    ] },
    Tuned { operation: "alltoall", collectives: &["alltoall"], size: "avg_msg_size", condition: "is_sendbuf_inplace=no", algorithms: &[
        ("bruck", "intra_brucks", Nothing),
        ("pairwise", "intra_pairwise", Nothing),
        ("scattered", "intra_scattered", Nothing),
    ] },
    Tuned { operation: "bcast", collectives: &["bcast"], size: "avg_msg_size", condition: "", algorithms: &[
        ("binomial", "intra_binomial", Nothing),
        ("scatter_doubling", "intra_scatter_recursive_doubling_allgather", PowerOfTwo),
        ("scatter_ring", "intra_scatter_ring_allgather", Nothing),
    ] },
    Tuned { operation: "reduce", collectives: &["reduce"], size: "avg_msg_size", condition: "", algorithms: &[
        ("binomial", "intra_binomial", Nothing),
        ("rabenseifner", "intra_reduce_scatter_gather", BuiltIn("intra_binomial")),
    ] },
    Tuned { operation: "reduce_scatter", collectives: &["reduce_scatter", "reduce_scatter_block"], size: "total_msg_size", condition: "is_commutative=yes", algorithms: &[
        ("recursive_halving", "intra_recursive_halving", Nothing),
        ("pairwise", "intra_pairwise", Nothing),
    ] },
];

/// Collectives and what is done in each without a measurement: ways through the tree, a collective a line.
const REST: &str = include_str!("mpich-ways.txt");

/// The fastest algorithms of the library in `contests` as a collective selection file of MPICH 4.0.
/// An algorithm that MPICH does not have is left to the next fastest; collectives that were not
/// measured, or of which MPICH has one algorithm, get one that fits all lengths.
pub fn mpich_selection(contests: &[Contest]) -> String {
    let mut tree = Tree::default();
    for line in REST.lines() {
        let Some((collective, ways)) = line.split_once(' ') else { continue };
        let ways: Vec<&str> = ways.split(' ').collect();
        let tuned = TUNED.iter().find(|tuned| tuned.collectives.contains(&collective));
        let mut decided = tuned.map_or(vec![], |tuned| tuned.ways(contests, &ways));
        if decided.is_empty() {
            decided = ways.into_iter().map(str::to_owned).collect();
        }
        let mut name = collective.to_string();
        name[..1].make_ascii_uppercase();
        for way in decided {
            let (conditions, algorithm) = way.rsplit_once('/').unwrap_or(("", &way));
            let conditions = conditions.split('/').filter(|condition| !condition.is_empty());
            let keys = std::iter::once(format!("collective={collective}"))
                .chain(conditions.map(str::to_owned))
                .chain([format!("algorithm=MPIR_{name}_{algorithm}")]);
            tree.insert(keys);
        }
    }
    let mut text = String::new();
    tree.write(0, &mut text);
    text + "\n"
}

impl Tuned {
    /// Ways through the tree that the contests of this collective decide, and those of `rest` that
    /// they do not: under other conditions, and between two groups. None without such contests.
    fn ways(&self, contests: &[Contest], rest: &[&str]) -> Vec<String> {
        let is_own = |contest: &&Contest| {
            contest.operation == self.operation && !self.of_lengths(contest, |_| true).is_empty()
        };
        let mut own: Vec<&Contest> = contests.iter().filter(is_own).collect();
        own.sort_by_key(|contest| contest.n_ranks);
        own.dedup_by_key(|contest| contest.n_ranks);
        let mut ways = Vec::new();
        for (index, contest) in own.iter().enumerate() {
            // Numbers of ranks up to that of the contest; the last one decides all above it too.
            let ranks = match (own.len(), index + 1 == own.len()) {
                (1, _) => String::new(),
                (_, false) => format!("comm_size<={}/", contest.n_ranks),
                (_, true) => "comm_size=any/".into(),
            };
            let all = self.of_lengths(contest, |_| true);
            let mut others = self.of_lengths(contest, |needs| needs != PowerOfTwo);
            let own_group: Vec<String> =
                rest.iter().filter_map(|way| way.strip_prefix(INTRA)).map(str::to_owned).collect();
            if others.is_empty() {
                others.clone_from(&own_group);
            }
            let mut add = |rules: &[String], prefix: &str| {
                let way = |rule: &String| format!("{INTRA}{ranks}{prefix}{rule}");
                ways.extend(rules.iter().map(way));
            };
            if all == others {
                add(&all, "");
            } else {
                add(&all, "comm_size=pow2/");
                add(&others, "comm_size=any/");
            }
            let is_left =
                |way: &String| !self.condition.is_empty() && !way.starts_with(self.condition);
            add(&own_group.into_iter().filter(is_left).collect::<Vec<_>>(), "");
        }
        if !ways.is_empty() {
            let between = rest.iter().filter(|way| !way.starts_with(INTRA));
            ways.extend(between.map(|way| (*way).to_owned()));
        }
        ways
    }

    /// Ways from the condition on, for the lengths of `contest`, with algorithms of such needs.
    fn of_lengths(&self, contest: &Contest, admits: impl Fn(Needs) -> bool) -> Vec<String> {
        let find = |name: &str| {
            self.algorithms.iter().find(|(known, _, needs)| *known == name && admits(*needs))
        };
        let ranges = contest.ranges_among(|name| find(name).is_some());
        let factor = if self.size == "total_msg_size" { contest.n_ranks } else { 1 };
        let mut ways = Vec::new();
        for (index, range) in ranges.iter().enumerate() {
            let Some((_, name, needs)) = find(range.algorithm) else { continue };
            let mut length = match ranges.get(index + 1) {
                Some(next) => format!("{}<{}/", self.size, next.from_bytes.saturating_mul(factor)),
                None => format!("{}=any/", self.size),
            };
            if !self.condition.is_empty() {
                length = format!("{}/{length}", self.condition);
            }
            if let BuiltIn(other) = needs {
                ways.push(format!("{length}is_op_built_in=no/{other}"));
                ways.push(format!("{length}is_op_built_in=yes/count<pow2/{other}"));
                ways.push(format!("{length}is_op_built_in=yes/count=any/{name}"));
            } else {
                ways.push(format!("{length}{name}"));
            }
        }
        ways
    }
}

/// An object of objects, in the order in which they were added.
#[derive(Debug, Default)]
struct Tree(Vec<(String, Tree)>);

impl Tree {
    fn insert(&mut self, mut keys: impl Iterator<Item = String>) {
        let Some(key) = keys.next() else { return };
        let index = self.0.iter().position(|(known, _)| *known == key).unwrap_or_else(|| {
            self.0.push((key, Self::default()));
            self.0.len() - 1
        });
        self.0[index].1.insert(keys);
    }

    /// Writes it as JSON.
    fn write(&self, depth: usize, text: &mut String) {
        let (indent, outer) = ("  ".repeat(depth + 1), "  ".repeat(depth));
        if self.0.is_empty() {
            *text += "{}";
            return;
        }
        let mut separator = "{";
        for (key, tree) in &self.0 {
            write!(text, "{separator}\n{indent}\"{key}\": ").expect("a string takes all");
            tree.write(depth + 1, text);
            separator = ",";
        }
        write!(text, "\n{outer}}}").expect("a string takes all");
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::contest;
    use super::*;
    use serde_json::Value;

    /// The keys from `collective` on, the first at each depth that has one of `conditions`.
    fn found(text: &str, collective: &str, conditions: &[&str]) -> String {
        let tree: Value = serde_json::from_str(text).expect("it is JSON");
        let mut node = &tree[format!("collective={collective}")];
        for condition in conditions {
            node = &node[*condition];
        }
        let object = node.as_object().expect("it is there");
        object.keys().next().expect("it has a key").clone()
    }

    #[test]
    fn lengths_decide_in_ascending_order_and_all_collectives_are_there() {
        let allreduce = contest(
            "allreduce",
            &[
                (8, &[("native", 1.0), ("recursive_doubling", 2.0), ("rabenseifner", 3.0)]),
                (1024, &[("ring", 1.0), ("recursive_doubling", 4.0), ("rabenseifner", 3.0)]),
            ],
        );
        let text = mpich_selection(&[allreduce]);
        let expected = "  \"collective=allreduce\": {
    \"comm_type=intra\": {
      \"avg_msg_size<1024\": {
        \"algorithm=MPIR_Allreduce_intra_recursive_doubling\": {}
      },
      \"avg_msg_size=any\": {
        \"is_op_built_in=no\": {
          \"algorithm=MPIR_Allreduce_intra_recursive_doubling\": {}
        },
        \"is_op_built_in=yes\": {
          \"count<pow2\": {
            \"algorithm=MPIR_Allreduce_intra_recursive_doubling\": {}
          },
          \"count=any\": {
            \"algorithm=MPIR_Allreduce_intra_reduce_scatter_allgather\": {}
          }
        }
      }
    },
    \"comm_type=inter\": {
      \"algorithm=MPIR_Allreduce_inter_reduce_exchange_bcast\": {}
    }
  },
";
        assert!(text.contains(expected), "{text}");
        let tree: Value = serde_json::from_str(&text).expect("it is JSON");
        assert_eq!(tree.as_object().map(serde_json::Map::len), Some(REST.lines().count()));
        let of = found(&text, "neighbor_alltoallw", &[]);
        assert_eq!(of, "algorithm=MPIR_Neighbor_alltoallw_allcomm_nb");
    }

    #[test]
    fn an_algorithm_for_powers_of_two_has_one_for_other_ranks_beside_it() {
        let bcast = contest("bcast", &[(8, &[("scatter_doubling", 1.0), ("scatter_ring", 2.0)])]);
        let text = mpich_selection(&[bcast]);
        for (condition, algorithm) in [
            ("comm_size=pow2", "scatter_recursive_doubling_allgather"),
            ("comm_size=any", "scatter_ring_allgather"),
        ] {
            let of = found(&text, "bcast", &["comm_type=intra", condition, "avg_msg_size=any"]);
            assert_eq!(of, format!("algorithm=MPIR_Bcast_intra_{algorithm}"));
        }
    }

    #[test]
    fn ranks_and_bytes_are_those_of_the_library() {
        let times: [(u64, &[(&str, f64)]); 2] = [
            (8, &[("recursive_halving", 1.0), ("pairwise", 2.0)]),
            (64, &[("recursive_halving", 2.0), ("pairwise", 1.0)]),
        ];
        let four = contest("reduce_scatter", &times);
        let eight = Contest { n_ranks: 8, ..contest("reduce_scatter", &times[..1]) };
        let text = mpich_selection(&[eight, four]);
        for (collective, name) in
            [("reduce_scatter", "Reduce_scatter"), ("reduce_scatter_block", "Reduce_scatter_block")]
        {
            let at = |conditions: &[&str]| found(&text, collective, conditions);
            let [intra, commutes] = ["comm_type=intra", "is_commutative=yes"];
            // Bytes of all ranks.
            let short = at(&[intra, "comm_size<=4", commutes, "total_msg_size<256"]);
            assert_eq!(short, format!("algorithm=MPIR_{name}_intra_recursive_halving"));
            let long = at(&[intra, "comm_size<=4", commutes, "total_msg_size=any"]);
            assert_eq!(long, format!("algorithm=MPIR_{name}_intra_pairwise"));
            assert_eq!(at(&[intra, "comm_size=any", commutes]), "total_msg_size=any");
        }
    }
}
