//! The guidelines, as data.

use std::fmt;

/// A statement that one operation takes no longer than others that do the same.
#[derive(Debug, PartialEq, Eq)]
pub struct Guideline {
    /// The operation: a kernel's id, with a layout of its messages behind a blank if it has one.
    pub left: &'static str,
    /// The bound.
    pub right: Bound,
    /// Publication that states it.
    pub source: Source,
}

/// Upper bound of the time of an operation of `n` bytes.
#[derive(Debug, PartialEq, Eq)]
pub enum Bound {
    /// The same operation of the next longer length.
    Longer,
    /// The same operation of a shorter length, as often as it takes to move `n` bytes.
    Pieces,
    /// Operations one after the other.
    Sum(&'static [Term]),
}

/// One operation of a bound.
#[derive(Debug, PartialEq, Eq)]
pub struct Term {
    /// The operation, likewise.
    pub kernel: &'static str,
    /// Its length.
    pub length: Length,
}

/// Length of an operation of a bound, on P ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// `n`.
    Same,
    /// `P n`: the parts of all ranks.
    All,
    /// `n / P`: the part of one rank.
    Part,
}

/// Publication of a guideline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Self-consistent performance guidelines.
    Traff2010,
    /// The same for the unblocked collectives of MPI 3, which are younger.
    AfterTraff2010,
    /// Their verification for collectives.
    Hunold2016,
    /// The same set extended to irregular collectives.
    Hunold2018,
}

impl Source {
    /// The publication.
    pub const fn cite(self) -> &'static str {
        match self {
            Self::Traff2010 => {
                "J. L. Traff, W. D. Gropp, R. Thakur, Self-consistent MPI performance guidelines, IEEE \
                 TPDS 21 (5), 2010, doi 10.1109/TPDS.2009.120"
            }
            Self::AfterTraff2010 => {
                "in analogy to the rules of Traff 2010 for unblocked sends, for collectives of MPI 3 (2012)"
            }
            Self::Hunold2016 => {
                "S. Hunold, A. Carpen-Amarie, F. D. Lubbe, J. L. Traff, PGMPI: automatically verifying \
                 self-consistent MPI performance guidelines, 2016"
            }
            Self::Hunold2018 => {
                "S. Hunold, A. Carpen-Amarie, Autotuning MPI collectives using performance guidelines, \
                 HPC Asia 2018, doi 10.1145/3149457.3149461"
            }
        }
    }

    /// A short name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Traff2010 => "Traff 2010",
            Self::AfterTraff2010 => "after Traff 2010",
            Self::Hunold2016 => "Hunold 2016",
            Self::Hunold2018 => "Hunold 2018",
        }
    }
}

impl Length {
    /// The length on `n_ranks` ranks beside an operation of `length` bytes; `None` if that is no whole
    /// number of bytes.
    pub(super) fn of(self, length: u64, n_ranks: u64) -> Option<u64> {
        match self {
            Self::Same => Some(length),
            Self::All => length.checked_mul(n_ranks),
            Self::Part => (length.checked_rem(n_ranks)? == 0).then(|| length / n_ranks),
        }
    }
}

impl Guideline {
    /// Its operations, the bounded one first: a kernel's id each, and a layout behind a blank if it has one.
    pub fn kernels(&self) -> impl Iterator<Item = &'static str> {
        let terms = match self.right {
            Bound::Sum(terms) => terms,
            Bound::Longer | Bound::Pieces => &[],
        };
        std::iter::once(self.left).chain(terms.iter().map(|term| term.kernel))
    }

    /// Name of the kernel of the operation that it bounds.
    pub fn operation(&self) -> &'static str {
        let name = name(self.left);
        name.split_once(' ').map_or(name, |(name, _)| name)
    }
}

impl fmt::Display for Guideline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let left = name(self.left);
        match self.right {
            Bound::Longer => write!(f, "{left}(n) <= {left}(longer)"),
            Bound::Pieces => write!(f, "{left}(k n) <= k {left}(n)"),
            Bound::Sum(terms) => {
                let terms: Vec<String> = terms.iter().map(Term::to_string).collect();
                write!(f, "{left} <= {}", terms.join(" + "))
            }
        }
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let length = match self.length {
            Length::Same => "",
            Length::All => "(P n)",
            Length::Part => "(n/P)",
        };
        write!(f, "{}{length}", name(self.kernel))
    }
}

/// An operation without the suite of its kernel.
fn name(id: &'static str) -> &'static str {
    id.split_once('/').map_or(id, |(_, name)| name)
}

const fn longer(left: &'static str) -> Guideline {
    Guideline { left, right: Bound::Longer, source: Source::Traff2010 }
}

const fn pieces(left: &'static str) -> Guideline {
    Guideline { left, right: Bound::Pieces, source: Source::Traff2010 }
}

const fn sum(left: &'static str, right: &'static [Term], source: Source) -> Guideline {
    Guideline { left, right: Bound::Sum(right), source }
}

const fn same(kernel: &'static str) -> Term {
    Term { kernel, length: Length::Same }
}

const fn all(kernel: &'static str) -> Term {
    Term { kernel, length: Length::All }
}

const fn part(kernel: &'static str) -> Term {
    Term { kernel, length: Length::Part }
}

use Source::{AfterTraff2010, Hunold2016, Hunold2018, Traff2010};

/// Every guideline: lengths, modes of sends, datatypes against packing, blocked and unblocked calls, regular and irregular
/// collectives, collectives by others.
#[rustfmt::skip]
pub const GUIDELINES: &[Guideline] = &[
    longer("skampi/pingpong_send_recv"),
    longer("imb/bcast"),
    longer("imb/reduce"),
    longer("imb/allreduce"),
    longer("imb/reduce_scatter_block"),
    longer("imb/scan"),
    longer("imb/gather"),
    longer("imb/scatter"),
    longer("imb/allgather"),
    longer("imb/alltoall"),
    pieces("skampi/pingpong_send_recv"),
    pieces("imb/bcast"),
    pieces("imb/reduce"),
    pieces("imb/allreduce"),
    pieces("imb/reduce_scatter_block"),
    pieces("imb/scan"),
    pieces("imb/gather"),
    pieces("imb/scatter"),
    pieces("imb/allgather"),
    pieces("imb/alltoall"),
    sum("skampi/pingpong_send_recv", &[same("skampi/pingpong_isend_recv")], Traff2010),
    sum("skampi/pingpong_send_recv", &[same("skampi/pingpong_send_irecv")], Traff2010),
    sum("skampi/pingpong_send_recv", &[same("skampi/pingpong_ssend_recv")], Traff2010),
    sum("skampi/pingpong_send_recv", &[same("skampi/pingpong_bsend_recv")], Traff2010),
    sum("skampi/pingpong_send_recv vector:8:16", &[same("skampi/pingpong_send_recv packed:vector:8:16")], Traff2010),
    sum("skampi/pingpong_send_recv vector:8:16", &[same("skampi/pingpong_send_recv mpi_packed:vector:8:16")], Traff2010),
    sum("imb/bcast", &[same("imb-nbc/ibcast_pure")], AfterTraff2010),
    sum("imb/reduce", &[same("imb-nbc/ireduce_pure")], AfterTraff2010),
    sum("imb/allreduce", &[same("imb-nbc/iallreduce_pure")], AfterTraff2010),
    sum("imb/reduce_scatter", &[same("imb-nbc/ireduce_scatter_pure")], AfterTraff2010),
    sum("imb/gather", &[same("imb-nbc/igather_pure")], AfterTraff2010),
    sum("imb/scatter", &[same("imb-nbc/iscatter_pure")], AfterTraff2010),
    sum("imb/allgather", &[same("imb-nbc/iallgather_pure")], AfterTraff2010),
    sum("imb/alltoall", &[same("imb-nbc/ialltoall_pure")], AfterTraff2010),
    sum("imb/gather", &[same("imb/gatherv")], Traff2010),
    sum("imb/scatter", &[same("imb/scatterv")], Traff2010),
    sum("imb/allgather", &[same("imb/allgatherv")], Traff2010),
    sum("imb/alltoall", &[same("imb/alltoallv")], Traff2010),
    sum("imb/reduce_scatter_block", &[same("imb/reduce_scatter")], Hunold2018),
    sum("imb/gather", &[same("imb/allgather")], Traff2010),
    sum("imb/gather", &[all("imb/reduce")], Hunold2016),
    sum("imb/scatter", &[all("imb/bcast")], Traff2010),
    sum("imb/bcast", &[part("imb/scatter"), part("imb/allgather")], Traff2010),
    sum("imb/allgather", &[same("imb/gather"), all("imb/bcast")], Traff2010),
    sum("imb/allgather", &[same("imb/alltoall")], Traff2010),
    sum("imb/allgather", &[all("imb/allreduce")], Hunold2016),
    sum("imb/reduce", &[same("imb/allreduce")], Traff2010),
    sum("imb/reduce", &[part("imb/reduce_scatter_block"), part("imb/gather")], Hunold2016),
    sum("imb/reduce", &[part("imb/reduce_scatter"), part("imb/gatherv")], Hunold2018),
    sum("imb/allreduce", &[same("skampi/reduce_bcast")], Traff2010),
    sum("imb/allreduce", &[same("imb/reduce"), same("imb/bcast")], Traff2010),
    sum("imb/allreduce", &[part("imb/reduce_scatter_block"), part("imb/allgather")], Hunold2016),
    sum("imb/allreduce", &[part("imb/reduce_scatter"), part("imb/allgatherv")], Hunold2018),
    sum("osu/reduce_scatter", &[same("skampi/reduce_scatterv")], Traff2010),
    sum("imb/reduce_scatter", &[all("imb/allreduce")], Hunold2016),
    sum("imb/reduce_scatter_block", &[all("imb/reduce"), same("imb/scatter")], Hunold2016),
    sum("imb/reduce_scatter_block", &[all("imb/allreduce")], Hunold2018),
    sum("imb/scan", &[same("imb/exscan"), same("imb/reduce_local")], Hunold2016),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guidelines_read_as_in_the_publications() {
        let texts: Vec<String> = GUIDELINES.iter().map(Guideline::to_string).collect();
        for expected in [
            "bcast <= scatter(n/P) + allgather(n/P)",
            "allgather <= gather + bcast(P n)",
            "allreduce(k n) <= k allreduce(n)",
            "bcast(n) <= bcast(longer)",
            "pingpong_send_recv <= pingpong_ssend_recv",
            "pingpong_send_recv vector:8:16 <= pingpong_send_recv packed:vector:8:16",
        ] {
            assert!(texts.iter().any(|text| text == expected), "{expected} in {texts:?}");
        }
        let mut distinct = texts.clone();
        distinct.sort();
        distinct.dedup();
        assert_eq!((distinct.len(), texts.len()), (58, 58));
    }

    #[test]
    fn lengths_are_whole_numbers_of_bytes() {
        assert_eq!(Length::All.of(8, 4), Some(32));
        assert_eq!(Length::Part.of(32, 4), Some(8));
        assert_eq!(Length::Part.of(8, 3), None);
        assert_eq!(Length::All.of(u64::MAX, 2), None);
    }
}
