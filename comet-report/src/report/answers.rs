//! The figures that answer first, and stand open at the top of the page: times, bandwidths, collectives,
//! growth with the ranks, overlap, and the distribution at the worst point.
//!
//! They are chosen by the class of their kernel and the end of their id, one of each kind; where pairs of
//! ranks were measured, their maps come first.

use comet_core::kernel::Class;

use super::figures::{Classes, class_of, is_of_samples};
use crate::figures::WORST;
use crate::plot::{Body, Figure};

/// The most figures that are open.
const MOST: usize = 8;
/// With fewer that answer, others are open as well.
const LEAST: usize = 6;

/// Choice of one figure among those of classes of kernels.
type Choice = fn(Option<Class>, &Figure) -> bool;

const CHOICES: [Choice; 11] = [
    |_, figure| is_map(figure) && !ends(figure, "-rate"),
    |_, figure| is_map(figure) && ends(figure, "-rate"),
    |class, figure| class == Some(Class::PointToPoint) && ends(figure, "-time"),
    |class, figure| class == Some(Class::PointToPoint) && ends(figure, "-bandwidth"),
    |class, figure| class == Some(Class::Collective) && ends(figure, "-time"),
    |class, figure| class == Some(Class::Synchronisation) && ends(figure, "-scaling"),
    |class, figure| class == Some(Class::Collective) && ends(figure, "-scaling"),
    |class, figure| class == Some(Class::Overlap) && ends(figure, "-share"),
    |_, figure| figure.id == WORST,
    |class, figure| class == Some(Class::Exchange) && ends(figure, "-bandwidth"),
    |class, figure| class == Some(Class::Contention) && ends(figure, "-slowdown"),
];

/// The figures among `figures` that stand open, in the order in which they are read.
pub(super) fn chosen<'a>(figures: &'a [Figure], classes: &Classes) -> Vec<&'a Figure> {
    let plain: Vec<&Figure> = figures.iter().filter(|figure| figure.number.is_none()).collect();
    let of_choice = |choice: &Choice| {
        plain.iter().copied().find(|figure| choice(class_of(figure, classes), figure))
    };
    let mut chosen: Vec<&Figure> = CHOICES.iter().filter_map(of_choice).take(MOST).collect();
    let others = plain.iter().copied().filter(|figure| !is_of_samples(figure));
    for figure in others {
        if chosen.len() < LEAST && !chosen.iter().any(|known| known.id == figure.id) {
            chosen.push(figure);
        }
    }
    chosen
}

fn ends(figure: &Figure, end: &str) -> bool {
    figure.id.ends_with(end)
}

fn is_map(figure: &Figure) -> bool {
    matches!(figure.body, Body::HeatMap(_))
}
