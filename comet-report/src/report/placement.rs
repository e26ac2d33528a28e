//! Placement of the ranks: the CPUs of each node with the ranks that were bound to them.

use super::Content;
use super::html::{Html, element, row, table, tag};
use crate::record::{RankEntry, Run};
use crate::words::count;

/// The most ranks of which each is shown; the record has all.
const MAX_RANKS: usize = 1024;

/// Ranks that may run on the same CPUs.
struct Seat<'a> {
    node: &'a str,
    /// Of one of them, which says for all where that is.
    entry: &'a RankEntry,
    ranks: Vec<usize>,
}

/// A map for each way of placing ranks among the runs.
pub(super) fn map(content: &Content<'_>) -> Html {
    let mut maps: Vec<(Html, Vec<&str>)> = Vec::new();
    for (run, name) in content.runs.iter().zip(&content.names) {
        let Some(run) = run.run.as_deref() else { continue };
        let map = of_run(run);
        match maps.iter_mut().find(|(other, _)| *other == map) {
            Some((_, names)) => names.push(name),
            None => maps.push((map, vec![name])),
        }
    }
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
    let mut nodes: Vec<&str> = seats.iter().map(|seat| seat.node).collect();
    nodes.dedup();
    let of_node = |name: &&str| {
        let cells = seats.iter().filter(|seat| seat.node == *name).map(seat);
        let cells = element("ul", &[("class", "seats")], cells.collect::<Html>());
        tag("div", element("p", &[("class", "node")], *name).with(cells))
    };
    nodes.iter().map(of_node).collect::<Html>().with(mesh(run))
}

fn seats(ranks: &[RankEntry]) -> Vec<Seat<'_>> {
    let mut seats: Vec<Seat<'_>> = Vec::new();
    for entry in ranks.iter().take(MAX_RANKS) {
        let node = entry.node.as_deref().unwrap_or("unnamed node");
        let is_same = |seat: &&mut Seat<'_>| (seat.node, &seat.entry.cpus) == (node, &entry.cpus);
        match seats.iter_mut().find(is_same) {
            Some(seat) => seat.ranks.push(entry.rank),
            None => seats.push(Seat { node, entry, ranks: vec![entry.rank] }),
        }
    }
    seats.sort_by_key(|seat| {
        let first = ranks.iter().position(|entry| entry.node.as_deref() == Some(seat.node));
        (first, seat.node, seat.ranks[0])
    });
    seats
}

fn seat(seat: &Seat<'_>) -> Html {
    let cpus = seat.entry.cpus.as_deref().unwrap_or("unknown");
    let ranks: Vec<String> = seat.ranks.iter().map(ToString::to_string).collect();
    let noun = if ranks.len() == 1 { "rank" } else { "ranks" };
    let class = if ranks.len() == 1 { "seat" } else { "seat shared" };
    let body = tag("b", format!("{noun} {}", ranks.join(", ")))
        .with(tag("span", format!("CPU {cpus}")))
        .with(tag("small", around(seat.entry)));
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
