//! A value for each pair of ranks: times, and rates of long messages, with borders between nodes.

use super::sources::KernelPoints;
use crate::pairs::{PairMatrix, matrices};
use crate::plot::{Body, Figure, HeatMap, Quantity};
use crate::record::{Point, Run};
use crate::words;

/// A figure for each message length of each source of a kernel that takes each two ranks in rounds.
pub(super) fn of_pairs(kernel: &KernelPoints<'_>) -> Vec<Figure> {
    let of_source = |source: usize| {
        let figure = |matrix: PairMatrix| {
            let PairMatrix { n_ranks, length_bytes, .. } = matrix;
            let kind = if matrix.quantity == Quantity::BytesPerSecond { "-rate" } else { "" };
            let id = format!("{}-{n_ranks}-{length_bytes}-{source}{kind}", kernel.id());
            heat_map(&id, &matrix, kernel.run(source, n_ranks))
        };
        let points: Vec<&Point> = kernel.of(source).collect();
        let times = matrices(&points).into_iter();
        let all = times.flat_map(|times| [times.rates(), Some(times)]).flatten();
        all.map(figure).collect::<Vec<_>>()
    };
    (0..kernel.sources.len()).flat_map(of_source).collect()
}

/// The figure `id` of `matrix`; the hosts of ranks are those of `run`.
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
    Figure {
        id: id.into(),
        number: None,
        title,
        caption,
        notes: Vec::new(),
        body: Body::HeatMap(map),
    }
}

fn node(run: Option<&Run>, rank: usize) -> Option<&str> {
    run?.world.ranks.iter().find(|entry| entry.rank == rank)?.node.as_deref()
}
