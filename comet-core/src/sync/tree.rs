//! Order in which ranks learn the global time: all from the first leader, or along a binomial tree.

use crate::transport::Rank;

/// The most leaders that all learn from the first one, one after the other.
const MAX_STAR: usize = 8;

/// Part of a leader in one level, in which no leader has two parents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Level {
    /// From whom it learns.
    pub(super) parent: Option<Rank>,
    /// Leaders that learn from it, in this order.
    pub(super) children: Vec<Rank>,
}

/// The levels of `leaders`, whose first has the global time, as `rank` takes part in them: in each,
/// only those learn whose parent has learnt before.
///
/// The tree has the form of HCA3 (Hunold and Carpen-Amarie, Hierarchical clock synchronization in
/// MPI, CLUSTER 2018): as errors add up, it is only as deep as it has to be.
pub(super) fn levels(leaders: &[Rank], rank: Rank) -> Vec<Level> {
    let level = |pairs: &[(Rank, Rank)]| Level {
        parent: pairs.iter().find(|(_, child)| *child == rank).map(|(parent, _)| *parent),
        children: pairs.iter().filter(|(parent, _)| *parent == rank).map(|(_, c)| *c).collect(),
    };
    pairs(leaders).iter().map(|pairs| level(pairs)).collect()
}

/// Parents and children of each level.
fn pairs(leaders: &[Rank]) -> Vec<Vec<(Rank, Rank)>> {
    let Some((first, others)) = leaders.split_first() else { return Vec::new() };
    if leaders.len() <= MAX_STAR {
        return vec![others.iter().map(|other| (*first, *other)).collect()];
    }
    let widths = std::iter::successors(Some(1), |width| Some(2 * width));
    let of_width = |width: usize| {
        let parents = leaders[..width].iter().copied();
        parents.zip(leaders[width..].iter().copied()).collect()
    };
    widths.take_while(|width| *width < leaders.len()).map(of_width).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_leaders_learn_from_the_first() {
        assert_eq!(pairs(&[0]), [vec![]]);
        assert_eq!(pairs(&[0, 4, 6]), [vec![(0, 4), (0, 6)]]);
        let root = Level { parent: None, children: vec![4, 6] };
        let leaf = Level { parent: Some(0), children: vec![] };
        assert_eq!(levels(&[0, 4, 6], 0), [root]);
        assert_eq!(levels(&[0, 4, 6], 6), [leaf]);
        assert_eq!(levels(&[0, 4, 6], 5), [Level::default()]);
    }

    #[test]
    fn many_leaders_learn_once_each_from_one_that_has_learnt() {
        for n_leaders in 9..70 {
            let leaders: Vec<Rank> = (0..n_leaders).map(|i| 3 * i).collect();
            let pairs = pairs(&leaders);
            assert_eq!(pairs.len(), n_leaders.next_power_of_two().trailing_zeros() as usize);
            let mut knowing = vec![0];
            for level in pairs {
                let (parents, children): (Vec<_>, Vec<_>) = level.into_iter().unzip();
                assert!(parents.iter().all(|parent| knowing.contains(parent)), "{n_leaders}");
                assert!(!children.iter().any(|child| knowing.contains(child)), "{n_leaders}");
                knowing.extend(children);
            }
            knowing.sort_unstable();
            assert_eq!(knowing, leaders);
        }
    }
}
