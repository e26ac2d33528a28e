//! Captions: what is plotted, by which definition and from how many samples; and notes on the meaning
//! of marks, bands and bars. All of it is read from the points.

use comet_core::definition::Definition;

use super::curve::plotted;
use super::samples::Sampled;
use super::sources::KernelPoints;
use crate::models::sweep::quote;
use crate::order::distinct;
use crate::plot::Vertex;
use crate::record::{Launches, Point, Quote, RANKS};
use crate::words;

/// The most numbers of ranks that a caption names.
const MAX_NUMBERS: usize = 8;

/// Text below one figure, and notes that many figures have in common.
#[derive(Clone, Debug, Default)]
pub(super) struct Caption {
    pub(super) text: String,
    pub(super) notes: Vec<String>,
}

impl Caption {
    /// The caption of `what` is plotted from the points of `kernel`.
    pub(super) fn of(what: &str, kernel: &KernelPoints<'_>) -> Self {
        let points: Vec<&Point> = kernel.points.iter().map(|measured| measured.point).collect();
        let definitions = definitions(&points);
        let samples = n_samples(points.iter().filter_map(|of| Some(of.measured()?.reps.n)));
        let basis: Vec<String> = definitions.iter().cloned().chain(samples).collect();
        let text = format!("{what}{}{}.", on_ranks(kernel), in_brackets(&basis));
        let notes = definitions.iter().map(|name| definition(name));
        let notes = notes.chain(marks(&points)).chain(ranges_of(&points)).collect();
        let hides_some = points.iter().any(|point| !kernel.shows(point));
        Self { text, notes }.noted(hides_some, "Messages of a rank to itself are left out.")
    }

    pub(super) fn of_ratio(what: &str, kernel: &KernelPoints<'_>) -> Self {
        let note = "Ratios, shares and costs follow from medians; their bars are 95 % intervals.";
        Self { text: format!("{what}{}.", on_ranks(kernel)), notes: vec![note.into()] }
    }

    pub(super) fn of_samples(what: &str, sampled: &[Sampled<'_>]) -> Self {
        let points: Vec<&Point> = sampled.iter().map(|sampled| sampled.point).collect();
        let definitions = definitions(&points);
        let samples = n_samples(sampled.iter().map(|sampled| sampled.values_ns.len()));
        let basis: Vec<String> = definitions.iter().cloned().chain(samples).collect();
        let text = format!("{what}, for one operation{}.", in_brackets(&basis));
        Self { text, notes: definitions.iter().map(|name| definition(name)).collect() }
    }

    /// This caption with a note more, if it `holds`.
    pub(super) fn noted(mut self, holds: bool, note: &str) -> Self {
        self.notes.extend(holds.then(|| note.into()));
        self
    }

    /// This caption with a note on fitted laws, if there are any.
    pub(super) fn with_fits(self, has_fits: bool) -> Self {
        let note = "Lines without marks are fitted laws; the strip below shows by how many percent \
                    the points are off.";
        self.noted(has_fits, note)
    }
}

fn in_brackets(basis: &[String]) -> String {
    if basis.is_empty() { String::new() } else { format!(" ({})", basis.join("; ")) }
}

fn n_samples(numbers: impl Iterator<Item = usize> + Clone) -> Option<String> {
    let (least, most) = (numbers.clone().min()?, numbers.max()?);
    let least_to = if least == most { String::new() } else { format!("{least} to ") };
    Some(format!("{least_to}{} each", words::count(most, "sample")))
}

fn on_ranks(kernel: &KernelPoints<'_>) -> String {
    let numbers: Vec<String> = kernel.values(RANKS).iter().map(u64::to_string).collect();
    if numbers.is_empty() || numbers.len() > MAX_NUMBERS {
        return String::new();
    }
    format!(", on {} rank{}", words::list(&numbers), if numbers == ["1"] { "" } else { "s" })
}

/// Names of the definitions of `points`.
fn definitions(points: &[&Point]) -> Vec<String> {
    distinct(points.iter().filter_map(|point| Some((*point.value()?.definition).to_owned())))
}

fn definition(name: &str) -> String {
    match Definition::find(name) {
        Some(definition) => format!("{name}: {}.", definition.summary()),
        None => format!("{name}."),
    }
}

fn marks(points: &[&Point]) -> Option<String> {
    let names = points.iter().filter_map(|point| plural(point));
    let names: Vec<String> = distinct(names).into_iter().map(Into::into).collect();
    (!names.is_empty()).then(|| format!("Marks are {}.", words::list(&names)))
}

fn plural(point: &Point) -> Option<&'static str> {
    Some(match quote(point)? {
        // Older files and other programs have the median of all samples alone.
        Quote::Median if point.quoted_ns().is_none() => "medians",
        Quote::Median => "medians of slice medians",
        Quote::Min | Quote::LeastOf20 => "least values",
        Quote::SliceMean | Quote::Mean => "means",
        Quote::MiddleMean => "means of the middle half",
        Quote::Corrected => "means less an empty loop",
    })
}

fn ranges_of(points: &[&Point]) -> Vec<String> {
    let vertices = points.iter().map(|point| plotted(point, 0.0, Some).map(|of| (of, *point)));
    let all: Vec<(Vertex, &Point)> = vertices.flatten().collect();
    let with_bars: Vec<&Point> = all
        .iter()
        .filter(|(vertex, _)| vertex.interval.is_some())
        .map(|(_, point)| *point)
        .collect();
    let of_launches = Launches::words(with_bars.iter().flat_map(|point| &point.launches));
    let within = "Bars are 95 % intervals of the median within one launch";
    let has_single = with_bars.iter().any(|point| point.launches.is_none());
    let bars = match of_launches {
        Some(words) if has_single => Some(format!("{within}, or from launch to launch ({words}).")),
        Some(words) => Some(format!("Bars are 95 % intervals from launch to launch, {words}.")),
        None => has_single.then(|| format!("{within}.")),
    };
    let is_any = |holds: fn(&Vertex) -> bool| all.iter().any(|(vertex, _)| holds(vertex));
    let bands = is_any(|of| of.middle_half.is_some())
        .then(|| "Bands hold the middle half of the samples.".into());
    let hollow = is_any(|of| of.is_hollow).then(|| {
        "Hollow marks were measured in addition to the sweep, have a wider interval than asked for, \
         or the machine changed its speed."
            .into()
    });
    [bars, bands, hollow].into_iter().flatten().collect()
}
