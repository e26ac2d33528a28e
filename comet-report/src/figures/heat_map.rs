//! Heat maps: a value for each pair of ranks, with borders between nodes.

use crate::pairs::{PairMatrix, matrices};
use crate::plot::{Body, Figure, HeatMap};
use crate::record::{Point, Run};

use super::sources::Sources;
use crate::words;

/// A figure for each message length of each source whose ranks were measured two by two.
pub(super) fn figures(sources: &Sources<'_>) -> Vec<Figure> {
    let Some(kernel) = sources.kernel("health/pairs") else { return Vec::new() };
    let of_source = |source: usize| {
        let points: Vec<&Point> =
            kernel.points.iter().filter(|m| m.source == source).map(|m| m.point).collect();
        let figure = |matrix: &PairMatrix| {
            let id = format!("health-pairs-{}-{}-{source}", matrix.n_ranks, matrix.length_bytes);
            heat_map(&id, matrix, sources.run(source, matrix.n_ranks))
        };
        matrices(&points).iter().map(figure).collect::<Vec<_>>()
    };
    (0..kernel.sources.len()).flat_map(of_source).collect()
}

/// The figure `id` of `matrix`; the hosts of ranks are those of `run`.
#[must_use]
pub(super) fn heat_map(id: &str, matrix: &PairMatrix, run: Option<&Run>) -> Figure {
    let nodes: Vec<Option<&str>> = (0..matrix.n_ranks).map(|rank| node(run, rank)).collect();
    let starts_node = |rank: &usize| nodes[*rank] != nodes[rank - 1];
    let name = |(rank, node): (usize, &Option<&str>)| {
        node.map_or_else(|| rank.to_string(), |node| format!("{rank} ({node})"))
    };
    let map = HeatMap {
        names: nodes.iter().enumerate().map(name).collect(),
        quantity: matrix.quantity,
        values: matrix.values.clone(),
        borders: (1..matrix.n_ranks).filter(starts_node).collect(),
        axes: ["from rank".into(), "to rank".into()],
    };
    let n_missing = matrix.values.iter().filter(|value| value.is_none()).count();
    let caption = format!(
        "{} from the rank of each row to that of each column, on {} ranks. Lines are borders of \
         nodes; {n_missing} of {} pairs have no value.",
        words::capital(&matrix.title),
        matrix.n_ranks,
        matrix.values.len(),
    );
    let title = matrix.title.clone();
    Figure { id: id.into(), number: None, title, caption, body: Body::HeatMap(map) }
}

fn node(run: Option<&Run>, rank: usize) -> Option<&str> {
    run?.world.ranks.iter().find(|entry| entry.rank == rank)?.node.as_deref()
}
