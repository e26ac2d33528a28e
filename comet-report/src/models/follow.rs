//! Models while points come in: those of a kernel are made when the next kernel starts.

use super::models;
use crate::record::{Model, Point};

/// The points of the kernel that is being measured.
#[derive(Debug, Default)]
pub(crate) struct Follow {
    points: Vec<Point>,
}

impl Follow {
    /// The models that are complete before `next` comes.
    pub(crate) fn before(&mut self, next: &Point) -> Vec<Model> {
        let goes_on = self
            .points
            .last()
            .is_none_or(|last| (&last.suite, &last.kernel) == (&next.suite, &next.kernel));
        if goes_on { Vec::new() } else { self.finish() }
    }

    /// Takes note of `point`, but for its samples, which no model needs.
    pub(crate) fn add(&mut self, mut point: Point) {
        (point.samples, point.starts_ns) = (None, None);
        (point.late_ns, point.reference_ns) = (None, None);
        self.points.push(point);
    }

    /// The models of what there is.
    pub(crate) fn finish(&mut self) -> Vec<Model> {
        let points = std::mem::take(&mut self.points);
        models(&points.iter().collect::<Vec<_>>(), &[])
    }
}
