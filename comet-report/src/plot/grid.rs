//! The rows and columns of a heat map, put together where there are too many to be drawn.

use super::figure::HeatMap;

/// More rows than this are put together, so that pictures of many ranks stay small.
pub(super) const MOST_ROWS: usize = 64;

/// A map whose rows are few enough to be drawn.
#[derive(Debug, PartialEq)]
pub(super) struct Grid {
    /// Names of rows and columns.
    pub(super) names: Vec<String>,
    /// Row by row.
    pub(super) values: Vec<Option<f64>>,
    /// Number of ranks of each row.
    pub(super) n_together: usize,
}

impl Grid {
    /// `map` as it is, or with medians of so many ranks that it has at most `most_rows` rows.
    pub(super) fn of(map: &HeatMap, most_rows: usize) -> Self {
        let n_ranks = map.names.len();
        let n_together = n_ranks.div_ceil(most_rows).max(1);
        let ranks: Vec<usize> = (0..n_ranks).collect();
        let groups: Vec<_> = ranks.chunks(n_together).collect();
        let pairs =
            groups.iter().flat_map(|rows| groups.iter().map(move |columns| (rows, columns)));
        let value = |(rows, columns): (&&[usize], &&[usize])| median_of(map, rows, columns);
        let values = pairs.map(value).collect();
        let name = |ranks: &&[usize]| match ranks {
            [only] => map.names[*only].clone(),
            [first, .., last] => format!("{}–{}", first_word(&map.names[*first]), map.names[*last]),
            [] => String::new(),
        };
        Self { names: groups.iter().map(name).collect(), values, n_together }
    }

    /// Number of rows and columns.
    pub(super) fn n_rows(&self) -> usize {
        self.names.len()
    }

    /// Row, column and value of the cells that have one.
    pub(super) fn cells(&self) -> impl Iterator<Item = (usize, usize, f64)> {
        let n_rows = self.n_rows().max(1);
        let cells = self.values.iter().enumerate();
        cells.filter_map(move |(index, value)| Some((index / n_rows, index % n_rows, (*value)?)))
    }
}

fn median_of(map: &HeatMap, rows: &[usize], columns: &[usize]) -> Option<f64> {
    let cells = rows.iter().flat_map(|row| columns.iter().map(move |column| (row, column)));
    let value = |(row, column)| *map.values.get(row * map.names.len() + column)?;
    let values: Vec<f64> = cells.filter_map(value).filter(|value| value.is_finite()).collect();
    comet_stats::median(&values)
}

/// The number of a rank, without its host.
pub(super) fn first_word(name: &str) -> &str {
    name.split_whitespace().next().unwrap_or(name)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::plot::Quantity;

    /// Numbers between ranks on nodes of eight.
    pub(in super::super) fn map(n_ranks: usize) -> HeatMap {
        let value = |index: usize| (index / n_ranks != index % n_ranks).then_some(index as f64);
        HeatMap {
            names: (0..n_ranks).map(|rank| format!("{rank} node{}", rank / 8)).collect(),
            quantity: Quantity::TimeNs,
            values: (0..n_ranks * n_ranks).map(value).collect(),
            borders: (8..n_ranks).step_by(8).collect(),
            axes: ["from rank".into(), "to rank".into()],
        }
    }

    #[test]
    fn many_ranks_are_put_together_by_medians() {
        let grid = Grid::of(&map(130), MOST_ROWS);
        assert_eq!((grid.n_together, grid.n_rows()), (3, 44));
        assert_eq!(grid.names[0], "0–2 node0");
        // Of the pairs 0-3, 0-4, 0-5, 1-3 … 2-5.
        assert_eq!(grid.values[1], Some(134.0));
        // The last group has one rank, which was not measured with itself.
        assert_eq!(grid.values.last(), Some(&None));
    }

    #[test]
    fn few_ranks_stay_as_they_are() {
        let grid = Grid::of(&map(4), MOST_ROWS);
        assert_eq!((grid.n_together, grid.names.len(), grid.values[0]), (1, 4, None));
    }
}
