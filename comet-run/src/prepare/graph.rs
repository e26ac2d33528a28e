//! The user's graph of neighbours, in place of a torus.

use comet_core::collective::Graph;

use super::{Override, axis};
use crate::exit;
use crate::world::ranks;

/// Values of the axes of the torus: it has none where there is a graph.
pub(super) fn overrides(graph: Option<&Graph>) -> anyhow::Result<Vec<Override>> {
    let names = graph.map_or(&[][..], |_| &["dimensions", "radius"]);
    let change = |name: &&str| {
        let (option, values, axis) = ("--graph".into(), "0".into(), axis(name)?);
        Ok(Override { option, axis, values, is_required: false, unit_bytes: None })
    };
    names.iter().map(change).collect()
}

/// Refuses edges of ranks that there are not among `n_ranks`.
pub(super) fn admit(graph: Option<&Graph>, n_ranks: usize) -> anyhow::Result<()> {
    let last = graph.map(Graph::last_rank).filter(|last| *last >= n_ranks);
    let Some(last) = last else { return Ok(()) };
    let needed = last + 1;
    Err(exit::usage(format!(
        "--graph has an edge of rank {last}, which is not among {} (start {needed}, or leave the \
         edge out)",
        ranks(n_ranks)
    )))
}
