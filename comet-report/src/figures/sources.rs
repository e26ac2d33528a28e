//! Sources of curves: overlaid runs, and the points of each kernel in them.

use std::sync::LazyLock;

use comet_core::kernel::{AxisKind, Class};

use super::caption::Caption;
use crate::bounds::Bounds;
use crate::models::{DISTANCE, Fitted};
use crate::order::grouped;
use crate::plot::{Body, Chart, Figure};
use crate::record::{KernelFacts, Over, Point, Run};
use crate::runs::{RunRecords, source_numbers};

/// A point with numbers, and the number of its source.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measured<'a> {
    pub(super) source: usize,
    pub(super) point: &'a Point,
}

/// Numbers of the colour, with its mark, and of the dashes of a curve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Look {
    pub(super) colour: usize,
    pub(super) dashes: usize,
}

#[derive(Debug)]
pub(super) struct Sources<'a> {
    names: Vec<String>,
    points: Vec<Measured<'a>>,
    /// The description of each run, with the number of its source.
    runs: Vec<(usize, &'a Run)>,
    /// Bounds of the rates, by source.
    bounds: Vec<Bounds>,
    models: &'a [Fitted],
}

#[derive(Clone, Debug)]
pub(super) struct KernelPoints<'a> {
    pub(super) name: String,
    pub(super) points: Vec<Measured<'a>>,
    pub(super) sources: &'a [String],
    pub(super) models: &'a [Fitted],
    /// The description of each run, with the number of its source.
    runs: &'a [(usize, &'a Run)],
    /// Bounds of the rates, by source.
    pub(super) bounds: &'a [Bounds],
}

impl<'a> Sources<'a> {
    /// The sources of `runs`: a file's runs over different numbers of ranks are one.
    pub(super) fn of(runs: &'a [RunRecords], models: &'a [Fitted]) -> Self {
        let numbers = source_numbers(runs);
        let points = numbers.iter().zip(runs).flat_map(|(source, run)| {
            let ok = run.points.iter().filter(|point| point.numbers().is_some());
            ok.map(|point| Measured { source: *source, point })
        });
        let known = numbers.iter().zip(runs);
        let points: Vec<Measured<'a>> = points.collect();
        let names = names(runs, &numbers);
        let of = |source| points.iter().filter(move |measured| measured.source == source);
        let bounds = (0..names.len()).map(|source| Bounds::of(of(source).map(|m| m.point)));
        Self {
            bounds: bounds.collect(),
            names,
            points,
            runs: known.filter_map(|(source, run)| Some((*source, run.run.as_deref()?))).collect(),
            models,
        }
    }

    pub(super) fn kernels(&self) -> Vec<KernelPoints<'_>> {
        let kernels = grouped(self.points.iter().map(|measured| (measured.point.id(), *measured)));
        kernels.into_iter().map(|(name, points)| self.of_kernel(name, points)).collect()
    }

    pub(super) fn kernel(&self, name: &str) -> Option<KernelPoints<'_>> {
        let points = self.points.iter().filter(|measured| measured.point.is_of(name));
        let points: Vec<Measured<'a>> = points.copied().collect();
        (!points.is_empty()).then(|| self.of_kernel(name.to_owned(), points))
    }

    fn of_kernel(&self, name: String, points: Vec<Measured<'a>>) -> KernelPoints<'_> {
        KernelPoints {
            name,
            points,
            sources: &self.names,
            models: self.models,
            runs: &self.runs,
            bounds: &self.bounds,
        }
    }
}

impl<'a> KernelPoints<'a> {
    /// Its name as the beginning of figures' ids.
    pub(super) fn id(&self) -> String {
        let is_kept = |c: char| c.is_ascii_alphanumeric() || c == '.';
        let letters = self.name.to_ascii_lowercase();
        letters.chars().map(|c| if is_kept(c) { c } else { '-' }).collect()
    }

    pub(super) fn facts(&self) -> &'a KernelFacts {
        static NONE: LazyLock<KernelFacts> = LazyLock::new(KernelFacts::default);
        self.points.first().map_or(&NONE, |measured| &measured.point.facts)
    }

    /// True if its curves show `point`: in figures of many sources, messages of a rank to itself would
    /// only hide the others.
    pub(super) fn shows(&self, point: &Point) -> bool {
        self.sources.len() <= 2 || point.on(DISTANCE) != Some(0)
    }

    pub(super) fn over(&self, over: Over) -> Option<&'a str> {
        Some(&*self.facts().over(over)?.name)
    }

    /// The figure with `end` behind the kernel's name in its id, without a number.
    pub(super) fn figure(&self, end: &str, title: &str, caption: Caption, chart: Chart) -> Figure {
        Figure {
            id: format!("{}-{end}", self.id()),
            number: None,
            title: format!("{}: {title}", self.name),
            caption: caption.text,
            notes: caption.notes,
            body: Body::Chart(chart),
        }
    }

    /// The look of a curve of the kind number `kind` of `source`: colours and marks tell apart the
    /// sources where there are several, and kinds of curves where there is one.
    pub(super) fn look(&self, kind: usize, source: usize) -> Look {
        match self.sources {
            [_] => Look { colour: kind, dashes: 0 },
            _ => Look { colour: source, dashes: kind },
        }
    }

    /// `words`, with the name of `source` where there are several.
    pub(super) fn named(&self, words: &str, source: usize) -> String {
        match self.sources {
            [_] => words.into(),
            sources => format!("{words}, {}", sources[source]),
        }
    }

    pub(super) fn of(&self, source: usize) -> impl Iterator<Item = &'a Point> {
        let points = self.points.iter().filter(move |measured| measured.source == source);
        points.map(|measured| measured.point)
    }

    pub(super) fn run(&self, source: usize, n_ranks: usize) -> Option<&'a Run> {
        let is_it = |(of, run): &&(usize, &Run)| *of == source && run.world.size == n_ranks;
        self.runs.iter().find(is_it).map(|(_, run)| *run)
    }

    pub(super) fn class(&self) -> Option<Class> {
        self.facts().class()
    }

    /// True if all ranks take part in it, so that its times depend on their number.
    pub(super) fn is_of_all_ranks(&self) -> bool {
        self.class().is_none_or(Class::takes_all_ranks)
    }

    /// True if it takes each two ranks in rounds, so that no point stands for the others.
    pub(super) fn is_of_pairs_in_rounds(&self) -> bool {
        self.over(Over::Kind(AxisKind::Round)).is_some()
    }

    pub(super) fn only(&self, keep: impl Fn(&Point) -> bool) -> Self {
        self.only_measured(|measured| keep(measured.point))
    }

    pub(super) fn only_measured(&self, keep: impl Fn(&Measured<'_>) -> bool) -> Self {
        let points = self.points.iter().copied().filter(keep);
        Self { points: points.collect(), ..self.clone() }
    }

    /// The points of the run with `n_ranks` ranks of each source; where it has none, of that with
    /// the most.
    pub(super) fn on(&self, n_ranks: u64) -> Self {
        let ranks = |measured: &Measured<'_>| measured.point.params.ranks().unwrap_or(0);
        let chosen = |source: usize| {
            let all = self.points.iter().filter(|measured| measured.source == source).map(ranks);
            let is_there = all.clone().any(|ranks| ranks == n_ranks);
            if is_there { Some(n_ranks) } else { all.max() }
        };
        let of_sources: Vec<Option<u64>> = (0..self.sources.len()).map(chosen).collect();
        let is_kept = |m: &Measured<'_>| of_sources.get(m.source) == Some(&Some(ranks(m)));
        Self { points: self.points.iter().copied().filter(is_kept).collect(), ..self.clone() }
    }

    pub(super) fn on_most_ranks(&self) -> Self {
        self.on(u64::MAX)
    }

    /// True if a source has points on several numbers of ranks; else the number adds nothing to the
    /// name of the source.
    pub(super) fn is_on_several_numbers_of_ranks(&self) -> bool {
        let is_one = |source| {
            let mut ranks = self.of(source).filter_map(|point| point.params.ranks());
            let first = ranks.next();
            ranks.all(|other| Some(other) == first)
        };
        !(0..self.sources.len()).all(is_one)
    }

    pub(super) fn values(&self, name: &str) -> Vec<u64> {
        let mut values: Vec<u64> =
            self.points.iter().filter_map(|measured| measured.point.number(name)).collect();
        values.sort_unstable();
        values.dedup();
        values
    }
}

/// Names of the sources: what the user calls their first runs, or, where that does not tell them
/// apart, their files.
fn names(runs: &[RunRecords], numbers: &[usize]) -> Vec<String> {
    let is_first = |index: &usize| *index == 0 || numbers[*index] != numbers[*index - 1];
    let first: Vec<&RunRecords> =
        (0..runs.len()).filter(is_first).map(|index| &runs[index]).collect();
    let labels: Option<Vec<String>> = first.iter().map(|run| run.label()).collect();
    let distinct = labels.filter(|labels| unique(labels.clone()) == *labels);
    distinct.unwrap_or_else(|| unique(first.iter().map(|run| run.file()).collect()))
}

/// `names`, with numbers behind those that are there twice.
fn unique(names: Vec<String>) -> Vec<String> {
    let numbered = |(index, name): (usize, &String)| {
        let n_before = names[..index].iter().filter(|other| *other == name).count();
        let is_alone = names.iter().filter(|other| *other == name).count() == 1;
        if is_alone { name.clone() } else { format!("{name} ({})", n_before + 1) }
    };
    names.iter().enumerate().map(numbered).collect()
}
