//! Graphs of neighbours, by their edges.

use std::collections::HashSet;
use std::str::FromStr;
use std::sync::Arc;

use super::parts::Neighbours;
use crate::transport::Rank;

/// Edges from ranks to ranks, from which the neighbours of each follow.
///
/// Its text has an edge a line, `SOURCE,DESTINATION`; lines that begin with `#` are comments, as in the
/// adjacency lists of the OSU micro-benchmarks.
///
/// ```
/// use comet_core::collective::Graph;
/// let graph: Graph = "# a chain\n0, 1\n1, 2\n".parse().unwrap();
/// let neighbours = graph.neighbours(1);
/// assert_eq!((neighbours.sources(), neighbours.destinations()), (&[0][..], &[2][..]));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    edges: Vec<[Rank; 2]>,
}

impl Graph {
    /// Source and destination of each edge, in the order of the text.
    pub fn edges(&self) -> &[[Rank; 2]] {
        &self.edges
    }

    /// The neighbours of `rank`, each list in the order of the edges.
    pub fn neighbours(&self, rank: Rank) -> Arc<Neighbours> {
        let ends = |of: usize| {
            let edges = self.edges.iter().filter(move |edge| edge[of] == rank);
            edges.map(move |edge| edge[1 - of]).collect()
        };
        Neighbours::new(ends(1), ends(0))
    }

    /// The greatest rank of an edge.
    pub fn last_rank(&self) -> Rank {
        self.edges.iter().flatten().copied().max().unwrap_or(0)
    }

    /// The greatest number of sources or destinations of a rank.
    pub fn degree(&self) -> usize {
        let degrees = (0..=self.last_rank()).map(|rank| {
            let n_edges = |of: usize| self.edges.iter().filter(|edge| edge[of] == rank).count();
            n_edges(0).max(n_edges(1))
        });
        degrees.max().unwrap_or(0)
    }
}

impl FromStr for Graph {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (mut edges, mut known) = (Vec::new(), HashSet::new());
        for (index, line) in text.lines().enumerate() {
            if line.starts_with('#') {
                continue;
            }
            let ends = line.split_once(',');
            let edge = ends.and_then(|(from, to)| {
                Some([from.trim().parse::<Rank>().ok()?, to.trim().parse().ok()?])
            });
            let number = index + 1;
            let Some(edge) = edge else {
                return Err(format!("line {number}: '{line}' is no edge (write 0,1)"));
            };
            if !known.insert(edge) {
                let [from, to] = edge;
                return Err(format!(
                    "line {number}: the edge {from},{to} stands twice (leave one out)"
                ));
            }
            edges.push(edge);
        }
        if edges.is_empty() {
            return Err("there is no edge in it (write an edge a line, as in 0,1)".into());
        }
        Ok(Self { edges })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_stand_in_the_order_of_the_edges() {
        let graph: Graph =
            "# Source, Destination\n2, 0\n0, 1\n1, 2\n2, 3\n1,3\n0,3".parse().unwrap();
        let of = |rank| {
            let neighbours = graph.neighbours(rank);
            (neighbours.sources().to_vec(), neighbours.destinations().to_vec())
        };
        assert_eq!(of(0), (vec![2], vec![1, 3]));
        assert_eq!(of(3), (vec![2, 1, 0], vec![]));
        assert_eq!(of(4), (vec![], vec![]));
        assert_eq!((graph.last_rank(), graph.degree()), (3, 3));
    }

    #[test]
    fn a_line_that_is_no_edge_is_refused_by_its_number() {
        let check = |text: &str, expected: &str| {
            assert_eq!(text.parse::<Graph>(), Err(expected.to_owned()));
        };
        check("0,1\n\n", "line 2: '' is no edge (write 0,1)");
        check("0,1\n1;2", "line 2: '1;2' is no edge (write 0,1)");
        check("0,-1", "line 1: '0,-1' is no edge (write 0,1)");
        check("0,1\n1,0\n0, 1", "line 3: the edge 0,1 stands twice (leave one out)");
        check("# nothing\n", "there is no edge in it (write an edge a line, as in 0,1)");
    }
}
