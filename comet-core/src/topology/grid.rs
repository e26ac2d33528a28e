//! Ranks in another order: a grid that is filled down its columns and counted along its rows.

use std::fmt;
use std::str::FromStr;

use crate::transport::Rank;

/// An order of all ranks: they fill `n_rows x n_columns` places down the columns, and are numbered
/// anew along the rows, as `-map PxQ` of IMB does. With as many rows as ranks of a node, neighbours
/// in the new order are on different nodes.
///
/// ```
/// use comet_core::topology::RankGrid;
/// let grid: RankGrid = "3x2".parse()?;
/// // 0 3
/// // 1 4
/// // 2 5
/// let order: Vec<usize> = (0..6).map(|number| grid.rank_of(number)).collect();
/// assert_eq!(order, [0, 3, 1, 4, 2, 5]);
/// assert!((0..6).all(|rank| grid.number_of(grid.rank_of(rank)) == rank));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankGrid {
    n_rows: usize,
    n_columns: usize,
}

impl RankGrid {
    /// Number of places.
    pub fn n_ranks(self) -> usize {
        self.n_rows * self.n_columns
    }

    /// Number of rows.
    pub fn n_rows(self) -> usize {
        self.n_rows
    }

    /// True unless it keeps the order.
    pub fn moves_ranks(self) -> bool {
        self.n_rows > 1 && self.n_columns > 1
    }

    /// Number in the new order of `rank` of the job, which has as many ranks as there are places.
    pub fn number_of(self, rank: Rank) -> Rank {
        rank % self.n_rows * self.n_columns + rank / self.n_rows
    }

    /// Rank of the job with the number `number` in the new order.
    pub fn rank_of(self, number: Rank) -> Rank {
        number % self.n_columns * self.n_rows + number / self.n_columns
    }
}

impl FromStr for RankGrid {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let sides = text.split_once('x');
        let side = |text: &str| text.parse().ok().filter(|side| (1..=1 << 20).contains(side));
        let sides = sides.and_then(|(rows, columns)| Some((side(rows)?, side(columns)?)));
        let (n_rows, n_columns) =
            sides.ok_or("not a grid of ranks PxQ (write 2x4 for 4 columns of 2 ranks)")?;
        Ok(Self { n_rows, n_columns })
    }
}

impl fmt::Display for RankGrid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.n_rows, self.n_columns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_imb() {
        for (p, q) in [(2, 2), (2, 3), (3, 2), (4, 4), (7, 3)] {
            let grid: RankGrid = format!("{p}x{q}").parse().unwrap();
            for rank in 0..p * q {
                // The key by which IMB splits its communicator.
                let key =
                    if rank == 0 || rank + 1 == p * q { rank } else { q * rank % (p * q - 1) };
                assert_eq!(grid.number_of(rank), key, "{rank} of {grid}");
            }
        }
    }

    #[test]
    fn a_grid_of_one_row_or_column_keeps_the_order() {
        for text in ["1x6", "6x1", "1x1"] {
            let grid: RankGrid = text.parse().unwrap();
            assert!(!grid.moves_ranks() && (0..grid.n_ranks()).all(|i| grid.rank_of(i) == i));
        }
        for text in ["", "2", "0x2", "2x", "2x2x2", "2*2"] {
            assert!(text.parse::<RankGrid>().is_err(), "{text}");
        }
    }
}
