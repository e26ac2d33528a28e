//! The processor mesh: which rank lies in which row and column.
//!
//! Source: thesis section 3.4.1, figures 4.1 and 4.2.

use crate::transport::Rank;
use crate::words::count;

/// The reflected Gray code of `index`.
pub const fn gray(index: usize) -> usize {
    index ^ (index >> 1)
}

/// A rank's four neighbours on the periodic mesh, and its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Neighbours {
    /// One row up (`NORTH`); row 0's is in the last row.
    pub top: Rank,
    /// One row down.
    pub bottom: Rank,
    /// One column back (west).
    pub pred: Rank,
    /// One column on (`EAST`).
    pub succ: Rank,
    /// Row of this rank.
    pub node_row: usize,
    /// Column of this rank.
    pub node_col: usize,
}

/// Ranks arranged in `rows` x `cols`, each exactly once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mesh {
    rows: usize,
    cols: usize,
    ranks: Vec<Rank>,
    /// Index of each rank in `ranks`, because every rank of a large machine asks for its own.
    indices: Vec<usize>,
}

impl Mesh {
    /// The default mesh of `n_ranks` ranks: near-square, filled with the Gray code.
    ///
    /// `cols` is the smallest divisor of `n_ranks` that is at least its square root: equal to
    /// `rows` for squares, twice `rows` for the other powers of two (the thesis's `proc_dim1`),
    /// and `n_ranks` itself for primes, which get a mesh of one row.
    pub fn gray(n_ranks: usize) -> Self {
        let n_ranks = n_ranks.max(1);
        let cols = (1..=n_ranks)
            .find(|cols| cols * cols >= n_ranks && n_ranks.is_multiple_of(*cols))
            .unwrap_or(n_ranks);
        Self::gray_with(n_ranks / cols, cols)
    }

    /// A mesh of `rows` x `cols` filled with the Gray code like a serpent: even rows from left to
    /// right, odd rows from right to left.
    ///
    /// ```text
    ///   2 x 4:   0 1 3 2        3 x 1:   0
    ///            4 5 7 6                 1
    ///                                    2
    /// ```
    ///
    /// If both dimensions are powers of two, neighbours differ in one bit, across the edges too.
    /// For other counts the codes that are no rank are left out, so that neighbours may differ in
    /// several bits.
    pub fn gray_with(rows: usize, cols: usize) -> Self {
        let n_ranks = rows * cols;
        let codes = (0..n_ranks.next_power_of_two()).map(gray).filter(|code| *code < n_ranks);
        let mut ranks: Vec<Rank> = codes.collect();
        for row in ranks.chunks_mut(cols.max(1)).skip(1).step_by(2) {
            row.reverse();
        }
        Self::of(rows, cols, ranks)
    }

    /// The mesh whose row `i`, column `j` is `table[i][j]`.
    ///
    /// # Errors
    /// A sentence that says what is wrong, if the rows differ in length, or if the table does not
    /// hold every rank below its number of entries exactly once.
    pub fn from_table(table: &[Vec<Rank>]) -> Result<Self, String> {
        let (rows, cols) = (table.len(), table.first().map_or(0, Vec::len));
        if rows * cols == 0 {
            return Err("the mesh is empty: it needs one row of ranks at least".into());
        }
        if let Some(row) = table.iter().position(|row| row.len() != cols) {
            let ranks = count(table[row].len(), "rank");
            return Err(format!("row {row} of the mesh has {ranks}, row 0 has {cols}"));
        }
        let ranks = table.concat();
        let n_ranks = ranks.len();
        let mut times = vec![0; n_ranks];
        ranks.iter().filter(|rank| **rank < n_ranks).for_each(|rank| times[*rank] += 1);
        if let Some(rank) = times.iter().position(|times| *times != 1) {
            let times = times[rank];
            return Err(format!(
                "the mesh of {n_ranks} ranks names rank {rank} {times} times, not once"
            ));
        }
        Ok(Self::of(rows, cols, ranks))
    }

    /// Number of rows (the thesis's `proc_dim2`).
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns (the thesis's `proc_dim1`).
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// The ranks, row by row.
    pub fn ranks(&self) -> &[Rank] {
        &self.ranks
    }

    /// The rank in row `row` and column `col`; both wrap around.
    pub fn rank_at(&self, row: usize, col: usize) -> Rank {
        self.ranks[(row % self.rows) * self.cols + col % self.cols]
    }

    /// Row and column of `rank`.
    ///
    /// # Panics
    /// If `rank` is not on the mesh.
    pub fn position(&self, rank: Rank) -> (usize, usize) {
        let index = *self.indices.get(rank).expect("every rank is on the mesh");
        (index / self.cols, index % self.cols)
    }

    /// The neighbours of `rank` (`get_adjacent_neighbors`). In a mesh of one row, `top` and
    /// `bottom` are the rank itself; in one of one column, `pred` and `succ` are.
    ///
    /// # Panics
    /// If `rank` is not on the mesh.
    pub fn neighbours(&self, rank: Rank) -> Neighbours {
        let (row, col) = self.position(rank);
        Neighbours {
            top: self.rank_at(row + self.rows - 1, col),
            bottom: self.rank_at(row + 1, col),
            pred: self.rank_at(row, col + self.cols - 1),
            succ: self.rank_at(row, col + 1),
            node_row: row,
            node_col: col,
        }
    }

    /// The mesh on which a transposed matrix lies: `cols` x `rows`.
    ///
    /// A square mesh is its own: rank (i, j) trades blocks with rank (j, i), as in the thesis.
    /// Any other is the same Gray serpent over the exchanged dimensions, or, for a table that is
    /// not such a serpent, the table with rows and columns exchanged.
    pub fn transposed(&self) -> Self {
        if self.rows == self.cols {
            return self.clone();
        }
        if *self == Self::gray_with(self.rows, self.cols) {
            return Self::gray_with(self.cols, self.rows);
        }
        let entry = |i: usize| self.ranks[(i % self.rows) * self.cols + i / self.rows];
        let ranks = (0..self.ranks.len()).map(entry).collect();
        Self::of(self.cols, self.rows, ranks)
    }

    /// The mesh of `ranks`, which are those below their number, row by row.
    fn of(rows: usize, cols: usize, ranks: Vec<Rank>) -> Self {
        let mut indices = vec![0; ranks.len()];
        ranks.iter().enumerate().for_each(|(index, rank)| indices[*rank] = index);
        Self { rows, cols, ranks, indices }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn power_of_two_meshes_are_those_of_the_thesis() {
        for (n_ranks, rows, cols) in
            [(1, 1, 1), (2, 1, 2), (4, 2, 2), (8, 2, 4), (16, 4, 4), (32, 4, 8)]
        {
            let mesh = Mesh::gray(n_ranks);
            assert_eq!((mesh.rows(), mesh.cols()), (rows, cols), "{n_ranks} ranks");
        }
        assert_eq!(Mesh::gray(8).ranks(), [0, 1, 3, 2, 4, 5, 7, 6]);
    }

    #[test]
    fn every_rank_count_has_a_mesh_of_all_its_ranks() {
        for n_ranks in 1..=100 {
            let mesh = Mesh::gray(n_ranks);
            assert!(mesh.rows() <= mesh.cols());
            let mut ranks = mesh.ranks().to_vec();
            ranks.sort_unstable();
            assert_eq!(ranks, (0..n_ranks).collect::<Vec<_>>());
        }
        assert_eq!((Mesh::gray(12).rows(), Mesh::gray(12).cols()), (3, 4));
        assert_eq!((Mesh::gray(7).rows(), Mesh::gray(7).cols()), (1, 7));
    }

    #[test]
    fn neighbours_are_mutual_and_wrap_around() {
        for n_ranks in 1..=32 {
            let mesh = Mesh::gray(n_ranks);
            for rank in 0..n_ranks {
                let n = mesh.neighbours(rank);
                assert_eq!(mesh.neighbours(n.top).bottom, rank);
                assert_eq!(mesh.neighbours(n.succ).pred, rank);
            }
        }
    }

    #[test]
    fn transposing_a_mesh_twice_gives_it_back() {
        for n_ranks in 1..=32 {
            let mesh = Mesh::gray(n_ranks);
            assert_eq!(mesh.transposed().transposed(), mesh);
        }
        let table = Mesh::from_table(&[vec![2, 1, 0], vec![3, 5, 4]]).unwrap();
        assert_eq!(table.transposed().ranks(), [2, 3, 1, 5, 0, 4]);
        assert_eq!(table.transposed().transposed(), table);
    }

    #[test]
    fn wrong_meshes_are_refused_with_a_reason() {
        let check = |table: &[Vec<Rank>], reason: &str| {
            assert_eq!(Mesh::from_table(table).unwrap_err(), reason);
        };
        check(&[], "the mesh is empty: it needs one row of ranks at least");
        check(&[vec![0, 1], vec![2]], "row 1 of the mesh has 1 rank, row 0 has 2");
        check(&[vec![0, 0]], "the mesh of 2 ranks names rank 0 2 times, not once");
    }
}
