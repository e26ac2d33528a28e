//! The time of each rank, as bars: the chart of node times of SKaMPI, for runs by its rules.

use super::caption::Caption;
use super::chart::{self, axis, size};
use super::curve::evenly;
use super::sources::{KernelPoints, Measured};
use crate::models::sweep::real;
use crate::plot::{Figure, Kind, Quantity, Scale, Trace, Vertex};
use crate::record::Point;
use crate::words;

/// The most lengths of a figure.
const MOST: usize = 3;
/// The rules whose runs have these figures.
const RULES: &str = "skampi";

/// The times of the ranks of `kernel` on the most ranks, at a few lengths, if it ran by those rules.
pub(super) fn nodes(kernel: &KernelPoints<'_>) -> Option<Figure> {
    let kernel = kernel.on_most_ranks();
    let kernel =
        kernel.only_measured(|of| is_of_rules(&kernel, of) && ranks_ns(of.point).is_some());
    let x = size(&kernel);
    let lengths = x.map_or(Vec::new(), |x| evenly(&kernel.values(x), MOST));
    let is_shown = |point: &Point| {
        x.is_none_or(|x| point.number(x).is_some_and(|length| lengths.contains(&length)))
    };
    let kernel = kernel.only(is_shown);
    let drawn: Vec<Trace> =
        kernel.points.iter().take(MOST).enumerate().filter_map(|of| bars(&kernel, x, of)).collect();
    if drawn.is_empty() {
        return None;
    }
    let x_axis = axis("rank", Quantity::Count, Scale::Linear);
    let chart = chart::chart(x_axis, chart::times("time of the rank", Scale::Linear), drawn);
    let what =
        format!("Time of each rank in {}: a step is a rank, beginning at its number", kernel.name);
    Some(kernel.figure("nodes", "time of each rank", Caption::of(&what, &kernel), chart))
}

fn is_of_rules(kernel: &KernelPoints<'_>, of: &Measured<'_>) -> bool {
    let n_ranks = of.point.params.ranks().and_then(|n| usize::try_from(n).ok());
    let run = n_ranks.and_then(|n| kernel.run(of.source, n));
    run.and_then(|run| run.config.get("rules")?.as_str()) == Some(RULES)
}

/// The times of two ranks or more.
fn ranks_ns(point: &Point) -> Option<&[f64]> {
    let ranks_ns = point.measured()?.ranks_ns.as_ref()?;
    Some(&ranks_ns.per_rank[..]).filter(|all| all.len() > 1)
}

/// The steps of one point, from 0 and back.
fn bars(
    kernel: &KernelPoints<'_>,
    x: Option<&str>,
    (number, of): (usize, &Measured<'_>),
) -> Option<Trace> {
    let all = ranks_ns(of.point)?;
    let at = |rank: usize, y: f64| Vertex { x: real(rank as u64), y, ..Vertex::default() };
    let points: Vec<Vertex> = std::iter::once(at(0, 0.0))
        .chain(all.iter().enumerate().map(|(rank, ns)| at(rank, *ns)))
        .chain(all.last().map(|ns| at(all.len(), *ns)))
        .chain([at(all.len(), 0.0)])
        .collect();
    let value = x.and_then(|x| Some((x, of.point.params.get(x)?)));
    let name = value.map_or_else(
        || kernel.name.clone(),
        |(x, value)| words::parameter(&of.point.facts, x, value),
    );
    let look = kernel.look(number, of.source);
    let name = kernel.named(&name, of.source);
    Some(Trace { name, kind: Kind::Steps, colour: look.colour, dashes: look.dashes, points })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::figures::figures;
    use crate::fixture;
    use crate::plot::{Body, Figure};
    use crate::record::RanksNs;
    use crate::runs::{RunRecords, split};

    /// A run of collectives on 4 ranks by `rules`, each of which has a time of its own.
    fn run(rules: &str) -> RunRecords {
        let mut run = split(fixture::records()).remove(0);
        run.points = fixture::collectives("allgather", 4);
        let per_rank = vec![1000.0, 4000.0, 2000.0, 3000.0];
        for point in &mut run.points {
            let measured = point.measured_mut().unwrap();
            let of_ranks =
                RanksNs { min: 1e3, max: 4e3, avg: 2.5e3, argmax: 1, per_rank: per_rank.clone() };
            measured.ranks_ns = Some(of_ranks);
        }
        let facts = run.run.as_mut().unwrap();
        facts.world.size = 4;
        facts.config.insert("rules".into(), json!(rules));
        run
    }

    fn nodes(rules: &str) -> Option<Figure> {
        figures(&[run(rules)]).into_iter().find(|figure| figure.id.ends_with("-nodes"))
    }

    #[test]
    fn sk_71_times_of_nodes_are_bars_of_runs_by_the_rules_of_skampi() {
        let figure = nodes("skampi").expect("there is such a figure");
        let Body::Chart(chart) = &figure.body else { panic!("{figure:?}") };
        let names: Vec<&str> = chart.series.iter().map(|series| &*series.name).collect();
        assert_eq!(names, ["0 B", "1000 B", "2000 B"]);
        let places: Vec<(f64, f64)> =
            chart.series[0].points.iter().map(|point| (point.x, point.y)).collect();
        let bars =
            [(0.0, 0.0), (0.0, 1e3), (1.0, 4e3), (2.0, 2e3), (3.0, 3e3), (4.0, 3e3), (4.0, 0.0)];
        assert_eq!(places, bars);
        assert_eq!(nodes("comet"), None);
    }
}
