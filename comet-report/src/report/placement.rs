//! Placement of the ranks: the CPUs of each node with the ranks that were bound to them.

use super::Content;
use super::html::{Html, element, row, table, tag};
use crate::order::{distinct, grouped};
use crate::record::{RankEntry, Run};
use crate::words::count;

/// The most ranks of which each is shown; the record has all.
const MAX_RANKS: usize = 1024;

/// Ranks that may run on the same CPUs: the node, one of them, which says for all where that is, and
/// their numbers.
type Seat<'a> = (&'a str, &'a RankEntry, Vec<usize>);

/// A map for each way of placing ranks among the runs.
pub(super) fn map(content: &Content<'_>) -> Html {
    let runs = content.runs.iter().zip(&content.names);
    let maps = grouped(runs.filter_map(|(run, name)| Some((of_run(run.run.as_deref()?), &**name))));
    let is_shared = content.runs.len() > 1;
    let titled = |(map, names): (Html, Vec<&str>)| {
        let names = names.join("; ");
        let head = if is_shared { tag("h4", names) } else { Html::new() };
        head.with(map)
    };
    tag("h3", "Placement").with(maps.into_iter().map(titled).collect::<Html>())
}

fn of_run(run: &Run) -> Html {
    let world = &run.world;
    if run.clock.is_virtual {
        let ranks = count(world.size, "rank");
        return tag("p", format!("The {ranks} were simulated, so none has a CPU.")).with(mesh(run));
    }
    let seats = seats(&world.ranks);
    let nodes = distinct(seats.iter().map(|(node, ..)| *node));
    let of_node = |name: &&str| {
        let cells = seats.iter().filter(|(node, ..)| node == name).map(seat);
        let cells = element("ul", &[("class", "seats")], cells.collect::<Html>());
        tag("div", element("p", &[("class", "node")], *name).with(cells))
    };
    nodes.iter().map(of_node).collect::<Html>().with(mesh(run))
}

fn seats<'a>(ranks: &'a [RankEntry]) -> Vec<Seat<'a>> {
    let place = |entry: &'a RankEntry| {
        let node = entry.node.as_deref().unwrap_or("unnamed node");
        ((node, &entry.cpus), entry)
    };
    let seats = grouped(ranks.iter().take(MAX_RANKS).map(place)).into_iter();
    let seat = |((node, _), entries): (_, Vec<&'a RankEntry>)| {
        (node, entries[0], entries.iter().map(|entry| entry.rank).collect())
    };
    seats.map(seat).collect()
}

fn seat((_, entry, ranks): &Seat<'_>) -> Html {
    let cpus = entry.cpus.as_deref().unwrap_or("unknown");
    let ranks: Vec<String> = ranks.iter().map(ToString::to_string).collect();
    let noun = if ranks.len() == 1 { "rank" } else { "ranks" };
    let class = if ranks.len() == 1 { "seat" } else { "seat shared" };
    let body = tag("b", format!("{noun} {}", ranks.join(", ")))
        .with(tag("span", format!("CPU {cpus}")))
        .with(tag("small", around(entry)));
    element("li", &[("class", class)], body)
}

/// Surroundings of the CPU of a rank, as far as the system reported them.
fn around(entry: &RankEntry) -> String {
    let parts = [
        entry.core.as_ref().map(|threads| format!("core {threads}")),
        entry.l3.as_ref().map(|cpus| format!("L3 {cpus}")),
        entry.numa.map(|node| format!("NUMA {node}")),
        entry.socket.map(|socket| format!("socket {socket}")),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

fn mesh(run: &Run) -> Html {
    let mesh = &run.world.mesh;
    let is_whole = mesh.rows * mesh.cols == mesh.map.len();
    if !is_whole || mesh.map.is_empty() || mesh.map.len() > MAX_RANKS {
        return Html::new();
    }
    let of_row = |ranks: &[usize]| row("td", ranks.iter().map(ToString::to_string));
    let rows = mesh.map.chunks(mesh.cols).map(of_row);
    let hops = &run.world.hops;
    let text = format!(
        "Mesh of {} × {}, {}; distances of a {}, at most {}:",
        mesh.rows,
        mesh.cols,
        filled(&mesh.order),
        hops.metric,
        count(hops.diameter, "hop"),
    );
    tag("p", text).with(table("mesh", [], rows))
}

fn filled(order: &str) -> String {
    match order {
        "gray" => "filled in Gray code, so that neighbours are one link apart".into(),
        "row" => "filled row by row".into(),
        "file" => "filled as a file says".into(),
        other => format!("filled by {other}"),
    }
}
