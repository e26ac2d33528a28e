//! The ways to do one thing in one figure: over lengths on the most ranks, and over numbers of ranks at
//! one length, as figures 6 and 7 of SKaMPI (Scientific Programming 10, 2002).

use super::caption::Caption;
use super::chart::{self, along, ranks, series, size};
use super::curve::{Curve, MAX_CURVES, curves};
use super::sources::{KernelPoints, Look, Sources};
use crate::order::{distinct, grouped};
use crate::plot::{Axis, Body, Figure, Scale, Trace};
use crate::questions::{QUESTIONS, Question};
use crate::record::{Over, Point, RANKS};
use crate::units::bytes;

/// The figures of all questions that two kernels or more of a single source answer.
pub(super) fn of_questions(all: &Sources<'_>) -> Vec<Figure> {
    QUESTIONS.iter().flat_map(|question| of_question(all, question)).collect()
}

fn of_question(all: &Sources<'_>, question: &Question) -> Vec<Figure> {
    let way = |of: &&'static str| {
        let kernel = all.kernel(of.split_once(' ').map_or(of, |(id, _)| id))?;
        let mut way = kernel.only(|point| point.operation() == **of);
        way.name = (*of).to_owned();
        (!way.points.is_empty()).then_some(way)
    };
    let kernels: Vec<KernelPoints<'_>> = question.kernels.iter().filter_map(way).collect();
    if kernels.len() < 2 || kernels[0].sources.len() > 1 {
        return Vec::new();
    }
    over_lengths(question, &kernels).into_iter().chain(over_ranks(question, &kernels)).collect()
}

/// The times of `kernels` against the length of a message.
fn over_lengths(question: &Question, kernels: &[KernelPoints<'_>]) -> Option<Figure> {
    let kernels: Vec<KernelPoints<'_>> = kernels.iter().map(KernelPoints::on_most_ranks).collect();
    let x = size(&kernels[0])?;
    let x_axis = along(&kernels[0], x, Scale::Log2);
    figure(question, "", &kernels, (x, x_axis), "the length of a message")
}

/// The times of `kernels` against the number of ranks, at the length that was measured on the most numbers.
fn over_ranks(question: &Question, kernels: &[KernelPoints<'_>]) -> Option<Figure> {
    let length = |point: &Point| point.on(Over::Message);
    let all = || kernels.iter().flat_map(|kernel| &kernel.points);
    let at = all().filter_map(|of| Some((length(of.point)?, of.point.number(RANKS)?)));
    let mut by_length: Vec<(u64, usize)> =
        grouped(at).into_iter().map(|(length, all)| (length, distinct(all).len())).collect();
    by_length.sort_by_key(|(length, n)| (std::cmp::Reverse(*n), *length));
    let (chosen, n) = *by_length.first()?;
    if n < 2 {
        return None;
    }
    let kernels: Vec<KernelPoints<'_>> =
        kernels.iter().map(|kernel| kernel.only(|point| length(point) == Some(chosen))).collect();
    let what = format!("the number of ranks, at {}", bytes(chosen));
    figure(question, "-scaling", &kernels, (RANKS, ranks(Scale::Log2)), &what)
}

fn figure(
    question: &Question,
    end: &str,
    kernels: &[KernelPoints<'_>],
    (x, x_axis): (&str, Axis),
    what: &str,
) -> Option<Figure> {
    let trace = |(number, kernel): (usize, &KernelPoints<'_>)| -> Option<Trace> {
        let curve = curves(kernel, x).into_iter().find(|curve| curve.points.len() > 1)?;
        let name = kernel.name.clone();
        let look = Look { colour: number % MAX_CURVES, dashes: number / MAX_CURVES };
        Some(series(&Curve { name, look, ..curve }, x, chart::time))
    };
    let drawn: Vec<Trace> = kernels.iter().enumerate().filter_map(trace).collect();
    if drawn.len() < 2 {
        return None;
    }
    let chart = chart::chart(x_axis, chart::times("time of an operation", Scale::Log10), drawn);
    Some(Figure {
        id: format!("{}{end}", question.id),
        number: None,
        title: question.text.trim_end_matches('?').to_owned(),
        caption: format!("{} Times against {what}.", question.text),
        notes: Caption::of("", &kernels[0]).notes,
        body: Body::Chart(chart),
    })
}
