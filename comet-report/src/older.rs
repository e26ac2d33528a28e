//! Kernels of records before minor version 6, which do not describe them or describe less, and of imports.

use comet_core::kernel::{AxisKind, Class, Evaluation, Participants};

use crate::record::{AxisFacts, KernelFacts, MESH, Param, Point, RANKS, SeriesFacts, Value};

/// Name, title, unit and kind of the axes that kernels had before minor version 6.
const AXES: [(&str, &str, &str, AxisKind); 11] = [
    ("length_bytes", "message length", "B", AxisKind::Size),
    ("vector_length", "vector length in doubles", "doubles", AxisKind::Size),
    ("local_n", "dimension of the block of a rank", "doubles", AxisKind::Side),
    ("hops", "hops", "", AxisKind::Distance),
    ("pairs", "pairs of ranks at once", "", AxisKind::Pairs),
    ("order", "operations for each word moved", "", AxisKind::Intensity),
    ("round", "round", "", AxisKind::Round),
    ("part", "part", "", AxisKind::Count),
    ("n_ranks", "n_ranks", "", AxisKind::Found),
    ("load_50_bytes", "load_50_bytes", "B", AxisKind::Found),
    ("load_90_bytes", "load_90_bytes", "B", AxisKind::Found),
];
/// The parameter in which `parkbench/comms3` repeated the number of ranks.
pub(crate) const N_RANKS: &str = "n_ranks";

/// Series of the kernels in which their order has a meaning, and their evaluation.
const SERIES: [(&str, [&str; 4], Evaluation); 2] = [
    ("comet/overlap", ["exchange", "daxpy", "synchronous", "asynchronous"], Evaluation::Plain),
    ("model/injection", ["round_trip", "sends", "receives", "work"], Evaluation::Trains),
];

/// Description of the kernel of `point`, as far as the point shows it.
pub(crate) fn facts(point: &Point) -> KernelFacts {
    let is_axis = |name: &String| *name != RANKS && !MESH.contains(&name.as_str());
    let params = point.params.0.iter().filter(|(name, _)| is_axis(name));
    let id = point.id();
    let known = SERIES.iter().find(|(of, ..)| *of == id);
    let own = point.variant.as_deref().map(|own| vec![own]).unwrap_or_default();
    let names = known.map_or(own, |(_, names, _)| names.to_vec());
    let series = |value: &Value| {
        let of = |name: &str| SeriesFacts {
            name: name.into(),
            quantity: value.quantity.to_string(),
            definition: value.definition.to_string(),
        };
        names.iter().map(|name| of(name)).collect()
    };
    let evaluation = match &*id {
        "health/noise" => Evaluation::RankWork,
        _ => known.map_or(Evaluation::Plain, |(.., evaluation)| *evaluation),
    };
    let mut facts = KernelFacts {
        id,
        class: point.class.to_string(),
        participants: Participants::All,
        evaluation,
        baseline_for: None,
        axes: params.map(|(name, value)| axis(name, value)).collect(),
        series: point.value().map_or_else(Vec::new, series),
    };
    facts.participants = match facts.class() {
        Some(Class::PointToPoint | Class::Exchange | Class::Overlap) => Participants::Pair,
        Some(Class::Contention) => Participants::Group,
        Some(Class::Compute) => Participants::One,
        Some(Class::Collective | Class::Synchronisation | Class::Matrix) | None => {
            Participants::All
        }
    };
    facts
}

/// `point` with the description that its own fields give.
#[cfg(test)]
pub(crate) fn described(mut point: Point) -> Point {
    point.facts = facts(&point).into();
    point
}

fn axis(name: &str, value: &Param) -> AxisFacts {
    let known = AXES.into_iter().find(|(known, ..)| *known == name);
    let kind = if matches!(value, Param::Label(_)) { AxisKind::Choice } else { AxisKind::Count };
    let (_, title, unit, kind) = known.unwrap_or((name, name, "", kind));
    let [title, unit] = [title, unit].map(str::to_owned);
    AxisFacts { name: name.into(), title, unit, kind, summary: String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{self, Folder};
    use crate::read::parse_records;

    #[test]
    fn a_record_of_minor_version_4_is_described_by_its_points() {
        let text = std::fs::read_to_string(fixture::record_run(&Folder::new())).unwrap();
        let mut run: serde_json::Value =
            serde_json::from_str(text.lines().next().unwrap()).unwrap();
        run["schema_minor"] = 4.into();
        assert!(run.as_object_mut().unwrap().remove("kernels").is_some());
        let older = format!("{run}\n{}", text.split_once('\n').unwrap().1);
        let records = parse_records(older.as_bytes()).unwrap().records;
        let echo = fixture::points(&records).find(|point| point.variant.is_some()).unwrap();
        let described = fixture::records();
        let same = fixture::points(&described).find(|point| point.key == echo.key).unwrap();
        let names = |point: &Point| -> Vec<(String, AxisKind)> {
            point.facts.axes.iter().map(|axis| (axis.name.clone(), axis.kind)).collect()
        };
        assert_eq!(names(echo), names(same));
        assert_eq!(echo.facts.class(), Some(Class::PointToPoint));
        assert_eq!(echo.facts.participants, same.facts.participants);
    }

    #[test]
    fn what_a_kernel_found_is_no_axis_that_was_asked_for() {
        let check = |name, expected| assert_eq!(axis(name, &Param::Number(1)).kind, expected);
        check("load_50_bytes", AxisKind::Found);
        check("stride", AxisKind::Count);
        assert_eq!(axis("direction", &Param::Label("row".into())).kind, AxisKind::Choice);
    }
}
