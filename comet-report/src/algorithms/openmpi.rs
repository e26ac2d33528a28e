//! Dynamic rules of Open MPI's component `tuned`.

use super::{Contest, NATIVE, Range};
use crate::order::grouped;

/// Number of the algorithm that stands for the choice of Open MPI.
const OWN_CHOICE: u32 = 0;

/// A collective as the rules of Open MPI's component `tuned` know it.
struct Tuned {
    operation: &'static str,
    number: u32,
    /// True if a rule counts the bytes of all ranks.
    counts_all: bool,
    /// Numbers of algorithms, and the segments in bytes that they are to use.
    algorithms: &'static [(&'static str, u32, u32)],
}

/// Numbers of `coll_base_functions.h` and of `ompi_info --param coll tuned --level 9`.
#[rustfmt::skip] // One collective a line.
const TUNED: [Tuned; 8] = [
    Tuned { operation: "allgather", number: 0, counts_all: true, algorithms: &[("bruck", 2, 0), ("recursive_doubling", 3, 0), ("ring", 4, 0), ("neighbour_exchange", 5, 0)] },
    Tuned { operation: "allreduce", number: 2, counts_all: false, algorithms: &[("linear", 1, 0), ("reduce_bcast", 2, 0), ("recursive_doubling", 3, 0), ("ring", 4, 0), ("segmented_ring", 5, 65536), ("rabenseifner", 6, 0)] },
    Tuned { operation: "alltoall", number: 3, counts_all: true, algorithms: &[("linear", 1, 0), ("pairwise", 2, 0), ("bruck", 3, 0)] },
    Tuned { operation: "bcast", number: 7, counts_all: false, algorithms: &[("linear", 1, 0), ("chain", 3, 65536), ("binomial", 6, 0), ("scatter_doubling", 8, 0), ("scatter_ring", 9, 0)] },
    Tuned { operation: "gather", number: 9, counts_all: true, algorithms: &[("linear", 1, 0), ("binomial", 2, 0), ("linear_sync", 3, 0)] },
    Tuned { operation: "reduce", number: 11, counts_all: false, algorithms: &[("linear", 1, 0), ("chain", 3, 65536), ("binomial", 5, 0), ("rabenseifner", 7, 0)] },
    Tuned { operation: "reduce_scatter", number: 12, counts_all: true, algorithms: &[("reduce_scatterv", 1, 0), ("recursive_halving", 2, 0), ("ring", 3, 0)] },
    Tuned { operation: "scatter", number: 15, counts_all: true, algorithms: &[("linear", 1, 0), ("binomial", 2, 0)] },
];

/// The fastest algorithms of the library in `contests` as a file of dynamic rules for Open MPI's
/// component `tuned` (`coll_tuned_dynamic_rules_filename`), each collective once, with all numbers of ranks
/// on which it was measured. Where the transport's own is the fastest, the choice is left to Open MPI; what
/// it does not have is left to the next fastest, and collectives without rules are left out. Each of
/// `remarks` is a line of comment.
pub fn openmpi_rules(contests: &[Contest], remarks: &[String]) -> String {
    let of_ranks = contests.iter().filter_map(|contest| {
        let tuned = TUNED.iter().find(|tuned| tuned.operation == contest.operation)?;
        let rules = rules(contest, tuned);
        (!rules.is_empty()).then_some(((tuned.number, tuned.operation), (contest.n_ranks, rules)))
    });
    let known = grouped(of_ranks);
    let mut text: String = remarks.iter().map(|remark| format!("# {remark}\n")).collect();
    text += &format!("{} # number of collectives\n", known.len());
    for ((number, operation), mut sizes) in known {
        // Ascending, of several contests on as many ranks the first, as the library takes one of a size.
        sizes.sort_by_key(|(n_ranks, _)| *n_ranks);
        sizes.dedup_by_key(|(n_ranks, _)| *n_ranks);
        text +=
            &format!("{number} # {operation}\n{} # number of communicator sizes\n", sizes.len());
        for (n_ranks, rules) in sizes {
            text += &format!("{n_ranks} # ranks\n{} # number of message sizes\n", rules.len());
            for (from_bytes, name, number, segment) in rules {
                text += &format!("{from_bytes} {number} 0 {segment} # {name}\n");
            }
        }
    }
    text
}

/// The rules of one collective: bytes from which it holds, name and number of the algorithm, segment.
fn rules<'a>(contest: &'a Contest, tuned: &Tuned) -> Vec<(u64, &'a str, u32, u32)> {
    let own = (NATIVE, OWN_CHOICE, 0);
    let all = || tuned.algorithms.iter().copied().chain([own]);
    let number = |name: &str| all().find(|(known, ..)| *known == name);
    let ranges = contest.ranges_among(|name| number(name).is_some());
    let rule = |(index, range): (usize, &Range<'a>)| {
        let (_, number, segment) = number(range.algorithm)?;
        let factor = if tuned.counts_all { contest.n_ranks } else { 1 };
        // The first rule of a size must hold from 0 on.
        let from_bytes = if index == 0 { 0 } else { range.from_bytes.saturating_mul(factor) };
        Some((from_bytes, range.algorithm, number, segment))
    };
    ranges.iter().enumerate().filter_map(rule).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{contest, example};
    use super::*;

    #[test]
    fn rules_name_algorithms_that_open_mpi_has_by_their_numbers() {
        let text = openmpi_rules(
            &[example(), contest("scan", &[(8, &[("native", 1.0)])])],
            &["measured over mpi".into()],
        );
        let expected = "\
# measured over mpi
1 # number of collectives
2 # allreduce
1 # number of communicator sizes
4 # ranks
2 # number of message sizes
0 0 0 0 # native
65536 4 0 0 # ring
";
        assert_eq!(text, expected);
        let alltoall = contest(
            "alltoall",
            &[
                (8, &[("bruck", 1.0), ("pairwise", 2.0)]),
                (1024, &[("bruck", 2.0), ("pairwise", 1.0)]),
            ],
        );
        // One entry for a collective, whose sizes are ascending.
        let of_ranks = |n_ranks| Contest { n_ranks, ..example() };
        let text = openmpi_rules(&[of_ranks(8), of_ranks(2), alltoall.clone(), of_ranks(2)], &[]);
        let lines: Vec<&str> = text.lines().filter(|line| !line.contains("message")).collect();
        let expected = [
            "2 # number of collectives",
            "2 # allreduce",
            "2 # number of communicator sizes",
            "2 # ranks",
            "0 0 0 0 # native",
            "65536 4 0 0 # ring",
            "8 # ranks",
            "0 0 0 0 # native",
            "65536 4 0 0 # ring",
            "3 # alltoall",
        ];
        assert_eq!(lines[..expected.len()], expected);
        // Bytes of all ranks.
        assert!(
            openmpi_rules(&[alltoall], &[]).ends_with("0 3 0 0 # bruck\n4096 2 0 0 # pairwise\n")
        );
    }
}
