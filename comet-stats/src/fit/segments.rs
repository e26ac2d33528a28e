//! Segmented regression: how many lines a sweep of sizes needs, and where one ends.
//!
//! All ways to cut the sweep are compared by dynamic programming. A further segment must pay for
//! its parameters: each costs two of a line, one of its position and one of the search for it
//! (`(4 m - 2) ln n`, against `3 m ln n` of the plain Bayesian criterion, which finds breaks that
//! are not there), and lines that agree within 2 % are one.
//! The errors are relative; with absolute ones, the noise of the longest messages makes breaks.
//!
//! A sweep of more than [`MAX_BLOCKS`] sizes is cut between blocks of equal length first; each cut
//! is then moved to the best size of the two blocks around it. Time and memory grow with the number
//! of points, and not with its square.

use super::quality::NOISE_FLOOR;
use super::{FitError, Line, Weights};

/// By how much the score must fall for one segment more.
const MIN_SCORE_DROP: f64 = 10.0;

/// The least relative jump or change of slope between two segments.
const MIN_CHANGE: f64 = 0.02;

/// Blocks that a sweep is cut into: every sweep of up to so many sizes is searched exactly.
const MAX_BLOCKS: usize = 128;
/// Passes over the cuts of a longer sweep, of which each moves every cut once.
const N_MOVES: usize = 2;

/// Limits on segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Fewest points of a segment, at least 2.
    pub min_points: usize,
    /// Most segments.
    pub max_segments: usize,
    /// True if neither an intercept nor a slope may be negative.
    pub not_negative: bool,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { min_points: 4, max_segments: 6, not_negative: false }
    }
}

/// One line and the sizes that it holds for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Segment {
    /// Its smallest size.
    pub from: f64,
    /// Its largest size.
    pub to: f64,
    /// Its law.
    pub line: Line,
}

/// The segments of `points`, pairs of a size and a time with ascending sizes, under relative
/// weights.
///
/// # Errors
/// [`FitError`] if there are fewer than `rules.min_points` points or two sizes, or if a time is not
/// positive.
pub fn segments(points: &[(f64, f64)], rules: &Bounds) -> Result<Vec<Segment>, FitError> {
    let min_points = rules.min_points.max(2);
    let search = Search::of(points, rules)?;
    let mut best: Option<(f64, Vec<Segment>)> = None;
    for n_segments in 1..=rules.max_segments.min(points.len() / min_points) {
        let Some(cuts) = search.cuts(n_segments) else { continue };
        let score = search.score(&cuts);
        let pays = best.as_ref().is_none_or(|(least, _)| score <= least - MIN_SCORE_DROP);
        if !pays {
            continue;
        }
        let found = lines(points, &cuts, rules)?;
        if found.windows(2).all(|pair| differ(&pair[0], &pair[1])) {
            best = Some((score, found));
        }
    }
    let undetermined = || FitError::undetermined(points.len(), min_points);
    best.map(|(_, segments)| segments).ok_or_else(undetermined)
}

/// The first point of each of so many segments, and the end, whether they pay or not.
pub(super) fn cuts(
    points: &[(f64, f64)],
    n_segments: usize,
    rules: &Bounds,
) -> Result<Vec<usize>, FitError> {
    let rules = Bounds { max_segments: n_segments, ..*rules };
    let n_parameters = n_segments * rules.min_points.max(2);
    let undetermined = || FitError::undetermined(points.len(), n_parameters);
    Search::of(points, &rules)?.cuts(n_segments).ok_or_else(undetermined)
}

/// The search for the best cuts of a sweep.
struct Search<'a> {
    points: &'a [(f64, f64)],
    weights: Vec<f64>,
    rules: &'a Bounds,
    /// Indices of the points at which a block begins, and the number of points.
    places: Vec<usize>,
    /// Moments of each block.
    blocks: Vec<Moments>,
    /// `[segments - 1][end]`: least error up to block `end`, and first block of the last segment.
    best: Vec<Vec<(f64, usize)>>,
}

impl<'a> Search<'a> {
    fn of(points: &'a [(f64, f64)], rules: &'a Bounds) -> Result<Self, FitError> {
        let weights = Weights::Relative.of(points)?;
        let places = places(points);
        let block =
            |pair: &[usize]| Moments::of(&points[pair[0]..pair[1]], &weights[pair[0]..pair[1]]);
        let blocks = places.windows(2).map(block).collect();
        let mut search = Self { points, weights, rules, places, blocks, best: Vec::new() };
        search.fill();
        Ok(search)
    }

    /// Fills the table, up to the most segments that the rules allow.
    fn fill(&mut self) {
        let costs = self.costs();
        let n_places = self.places.len();
        self.best.push((0..n_places).map(|end| (costs[0][end], 0)).collect());
        for _ in 1..self.rules.max_segments {
            let shorter = &self.best[self.best.len() - 1];
            let at_end = |end: usize| {
                let sums = (0..end).map(|cut| (shorter[cut].0 + costs[cut][end], cut));
                sums.min_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or((f64::INFINITY, 0))
            };
            let longer = (0..n_places).map(at_end).collect();
            self.best.push(longer);
        }
    }

    /// `[from][end]`: error of one line through these blocks; infinite where no segment may be.
    fn costs(&self) -> Vec<Vec<f64>> {
        let n_places = self.places.len();
        let mut costs = vec![vec![f64::INFINITY; n_places]; n_places];
        for (from, row) in costs.iter_mut().enumerate() {
            let mut moments = Moments::default();
            for (index, block) in self.blocks.iter().enumerate().skip(from) {
                moments.merge(block);
                let n_points = self.places[index + 1] - self.places[from];
                row[index + 1] = self.error(&moments, n_points);
            }
        }
        costs
    }

    /// The error of one line through points with these moments; infinite if they are too few.
    fn error(&self, moments: &Moments, n_points: usize) -> f64 {
        let is_long = n_points >= self.rules.min_points.max(2);
        if is_long { moments.error_of_line(self.rules.not_negative) } else { f64::INFINITY }
    }

    /// The error of one line through the points `from..end`, however few they are.
    fn error_between(&self, from: usize, end: usize) -> f64 {
        self.moments(from, end).error_of_line(self.rules.not_negative)
    }

    /// Moments of the points `from..end`, from whole blocks as far as there are any.
    fn moments(&self, from: usize, end: usize) -> Moments {
        let first = self.places.partition_point(|place| *place < from);
        let last = self.places.partition_point(|place| *place <= end) - 1;
        let of = |from: usize, end: usize| {
            Moments::of(&self.points[from..end], &self.weights[from..end])
        };
        if first > last {
            return of(from, end);
        }
        let mut moments = of(from, self.places[first]);
        self.blocks[first..last].iter().for_each(|block| moments.merge(block));
        moments.merge(&of(self.places[last], end));
        moments
    }

    /// The score of the segments between `cuts`; less is better.
    fn score(&self, cuts: &[usize]) -> f64 {
        let (n, m) = (self.points.len() as f64, (cuts.len() - 1) as f64);
        let error: f64 = cuts.windows(2).map(|pair| self.error_between(pair[0], pair[1])).sum();
        n * (error / n).max(NOISE_FLOOR.powi(2)).ln() + (4.0 * m - 2.0) * n.ln()
    }

    /// The first point of each of so many segments, and the end; `None` if there are not so many.
    fn cuts(&self, n_segments: usize) -> Option<Vec<usize>> {
        let mut blocks = vec![self.places.len() - 1];
        if !self.best[n_segments - 1][blocks[0]].0.is_finite() {
            return None;
        }
        for row in self.best[..n_segments].iter().rev() {
            blocks.push(row[blocks[blocks.len() - 1]].1);
        }
        let mut cuts: Vec<usize> =
            blocks.into_iter().rev().map(|block| self.places[block]).collect();
        if self.blocks.len() == MAX_BLOCKS {
            for index in (0..N_MOVES).flat_map(|_| 1..n_segments) {
                cuts[index] = self.moved(cuts[index - 1], cuts[index], cuts[index + 1]);
            }
        }
        for index in 1..n_segments {
            cuts[index] = self.released(&cuts, index);
        }
        Some(cuts)
    }

    /// The place of this cut, which the least length of a segment may have kept from its own: two points
    /// are enough beside it, if the score speaks for them as for a segment.
    fn released(&self, cuts: &[usize], index: usize) -> usize {
        let (before, cut, after) = (cuts[index - 1], cuts[index], cuts[index + 1]);
        let min_points = self.rules.min_points.max(2);
        let shorter = (cut - before == min_points).then_some(before + 2..cut);
        let later = (after - cut == min_points).then_some(cut + 1..after - 1);
        let with = |place: usize| {
            let mut moved = cuts.to_vec();
            moved[index] = place;
            (self.score(&moved), place)
        };
        // Equal sizes stay together.
        let is_first = |place: &usize| self.points[place - 1].0 < self.points[*place].0;
        let places = shorter.into_iter().chain(later).flatten().filter(is_first);
        let best = places.map(with).min_by(|a, b| a.0.total_cmp(&b.0));
        let kept = self.score(cuts);
        best.filter(|(score, _)| *score <= kept - MIN_SCORE_DROP).map_or(cut, |(_, place)| place)
    }

    /// The best point for `cut` among those of the two blocks around it, between the cuts beside it.
    fn moved(&self, before: usize, cut: usize, after: usize) -> usize {
        let place = self.places.partition_point(|place| *place <= cut) - 1;
        let low = self.places[place.saturating_sub(1)].max(before + 1);
        let high = self.places[(place + 2).min(self.places.len() - 1)].min(after);
        let mut below = self.moments(before, low);
        // Above a cut, moments grow downwards.
        let mut above = vec![self.moments(high, after)];
        for index in (low..high).rev() {
            let mut moments = above[above.len() - 1];
            moments.add(self.points[index], self.weights[index]);
            above.push(moments);
        }
        let mut least = (f64::INFINITY, cut);
        for index in low..high {
            let above = &above[high - index];
            let error = self.error(&below, index - before) + self.error(above, after - index);
            // Equal sizes stay together.
            if self.points[index - 1].0 < self.points[index].0 && error < least.0 {
                least = (error, index);
            }
            below.add(self.points[index], self.weights[index]);
        }
        least.1
    }
}

/// Indices of the points at which blocks begin, and the number of points. Equal sizes stay together.
fn places(points: &[(f64, f64)]) -> Vec<usize> {
    let is_first = |index: &usize| *index == 0 || points[index - 1].0 < points[*index].0;
    let sizes: Vec<usize> = (0..points.len()).filter(is_first).collect();
    let n_blocks = sizes.len().min(MAX_BLOCKS);
    let begin = |block: usize| sizes[block * sizes.len() / n_blocks];
    (0..n_blocks).map(begin).chain([points.len()]).collect()
}

/// Weighted moments about the mean, which grow point by point, so that nothing cancels.
#[derive(Clone, Copy, Debug, Default)]
struct Moments {
    weight: f64,
    mean_x: f64,
    mean_y: f64,
    xx: f64,
    xy: f64,
    yy: f64,
}

impl Moments {
    /// Sums of `points`.
    fn of(points: &[(f64, f64)], weights: &[f64]) -> Self {
        let mut moments = Self::default();
        points.iter().zip(weights).for_each(|(point, weight)| moments.add(*point, *weight));
        moments
    }

    /// Adds those of further points (Chan, Golub and LeVeque, The American Statistician 37, 1983).
    fn merge(&mut self, other: &Self) {
        let weight = self.weight + other.weight;
        if other.weight <= 0.0 {
            return;
        }
        let (dx, dy) = (other.mean_x - self.mean_x, other.mean_y - self.mean_y);
        let share = other.weight / weight;
        let between = self.weight * share;
        self.mean_x += dx * share;
        self.mean_y += dy * share;
        self.xx += other.xx + between * dx * dx;
        self.xy += other.xy + between * dx * dy;
        self.yy += other.yy + between * dy * dy;
        self.weight = weight;
    }

    /// Adds a point (West, Communications of the ACM 22, 1979).
    fn add(&mut self, (x, y): (f64, f64), weight: f64) {
        self.weight += weight;
        let (dx, dy) = (x - self.mean_x, y - self.mean_y);
        self.mean_x += dx * weight / self.weight;
        self.mean_y += dy * weight / self.weight;
        self.xx += weight * dx * (x - self.mean_x);
        self.xy += weight * dx * (y - self.mean_y);
        self.yy += weight * dy * (y - self.mean_y);
    }

    /// The weighted sum of squares that the best line leaves; infinite for a single size.
    fn error_of_line(&self, not_negative: bool) -> f64 {
        if self.xx <= 0.0 {
            return f64::INFINITY;
        }
        let slope = self.xy / self.xx;
        let intercept = self.mean_y - slope * self.mean_x;
        let error = if not_negative && intercept < 0.0 {
            let xx = self.xx + self.weight * self.mean_x.powi(2);
            let xy = self.xy + self.weight * self.mean_x * self.mean_y;
            self.yy + self.weight * self.mean_y.powi(2) - xy * xy / xx
        } else if not_negative && slope < 0.0 {
            self.yy
        } else {
            self.yy - slope * self.xy
        };
        error.max(0.0)
    }
}

/// The lines between `cuts`.
fn lines(points: &[(f64, f64)], cuts: &[usize], rules: &Bounds) -> Result<Vec<Segment>, FitError> {
    let fit = if rules.not_negative { Line::fit_not_negative } else { Line::fit };
    let between = |pair: &[usize]| {
        let part = &points[pair[0]..pair[1]];
        let (from, to) = (part[0].0, part[part.len() - 1].0);
        Ok(Segment { from, to, line: fit(part, Weights::Relative)? })
    };
    cuts.windows(2).map(between).collect()
}

/// True for a jump from `a` to `b`, or a change of slope.
fn differ(a: &Segment, b: &Segment) -> bool {
    let change = |old: f64, new: f64| (new - old).abs() >= MIN_CHANGE * old.abs().max(new.abs());
    let is_jump = change(a.line.at(b.from), b.line.at(b.from));
    is_jump || (a.line.per_unit != b.line.per_unit && change(a.line.per_unit, b.line.per_unit))
}

#[cfg(test)]
mod tests {
    use super::super::truth::ipsc860;
    use super::*;

    fn law(sizes: &[f64], t: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
        sizes.iter().map(|n| (*n, t(*n))).collect()
    }

    /// Sizes of a sweep with `per_octave` sizes an octave, with 0, 100 and 101 among them.
    fn sweep(per_octave: f64) -> Vec<f64> {
        let mut sizes: Vec<f64> = (0..)
            .map(|i| (f64::from(i) / per_octave).exp2().round())
            .take_while(|n| *n < 1e5)
            .collect();
        sizes.extend([0.0, 100.0, 101.0]);
        sizes.sort_by(f64::total_cmp);
        sizes.dedup();
        sizes
    }

    /// A number in -1..1 that differs from point to point, the same at each run.
    fn wobble(index: usize) -> f64 {
        let mixed = (index as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
        mixed as f64 / f64::from(1 << 23) - 1.0
    }

    #[test]
    fn the_law_of_the_ipsc860_is_found_to_the_byte() {
        for per_octave in [1.0, 2.0, 4.0] {
            let found = segments(&law(&sweep(per_octave), ipsc860), &Bounds::default()).unwrap();
            assert_eq!(found.len(), 2, "{per_octave} sizes an octave");
            assert_eq!((found[0].to, found[1].from), (100.0, 101.0));
            let parameters = found.iter().flat_map(|s| [s.line.t0, s.line.per_unit]);
            for (found, planted) in parameters.zip([79.0, 0.63, 156.0, 0.41]) {
                assert!((found / planted - 1.0f64).abs() < 1e-9, "{found} is not {planted}");
            }
        }
    }

    #[test]
    fn noise_makes_no_segments() {
        let sizes = sweep(2.0);
        for percent in [0.5, 2.0, 5.0] {
            let noisy = |law: fn(f64) -> f64| -> Vec<(f64, f64)> {
                let factor = |index| 1.0 + percent / 100.0 * wobble(index);
                sizes.iter().enumerate().map(|(i, n)| (*n, law(*n) * factor(i))).collect()
            };
            let check = |law, n_segments| {
                let found = segments(&noisy(law), &Bounds::default()).unwrap();
                assert_eq!(found.len(), n_segments, "{percent} %");
            };
            check(|n| 156.0 + 0.41 * n, 1);
            check(ipsc860, 2);
        }
    }

    #[test]
    fn a_change_of_slope_alone_is_found() {
        let bent = |n: f64| {
            if n <= 512.0 { 10.0 + 0.1 * n } else { 10.0 + 0.1 * 512.0 + 0.05 * (n - 512.0) }
        };
        let found = segments(&law(&sweep(2.0), bent), &Bounds::default()).unwrap();
        assert_eq!(found.len(), 2);
        assert!((found[1].line.per_unit - 0.05).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn lines_that_nearly_agree_are_one() {
        let sizes: Vec<f64> = (0..300).map(f64::from).collect();
        let nearly = |n: f64| if n < 150.0 { 100.0 + n } else { 101.0 + n };
        let found = segments(&law(&sizes, nearly), &Bounds::default()).unwrap();
        assert_eq!(found.len(), 1, "a jump of half a percent");
    }

    #[test]
    fn a_long_sweep_is_cut_to_the_byte() {
        for step in [50.0, 3.0] {
            let sizes: Vec<f64> = (0..2001).map(|i| f64::from(i) * step).collect();
            let bend = 917.0 * step;
            let bent = |n: f64| if n <= bend { 79.0 + 0.63 * n } else { 156.0 + 0.41 * n };
            let found = segments(&law(&sizes, bent), &Bounds::default()).unwrap();
            assert_eq!(found.len(), 2, "{found:?}");
            assert_eq!((found[0].to, found[1].from), (bend, bend + step));
        }
    }

    #[test]
    fn memory_for_a_sweep_does_not_grow_with_the_square_of_its_points() {
        let sizes: Vec<f64> = (0..50_000).map(f64::from).collect();
        let points = law(&sizes, ipsc860);
        let rules = Bounds::default();
        let search = Search::of(&points, &rules).unwrap();
        assert_eq!((search.blocks.len(), search.best[0].len()), (MAX_BLOCKS, MAX_BLOCKS + 1));
        assert_eq!(search.cuts(2), Some(vec![0, 101, 50_000]));
    }

    #[test]
    fn segments_have_at_least_as_many_points_as_the_rules_say() {
        let sizes = [0.0, 50.0, 100.0, 101.0, 200.0, 400.0, 800.0];
        let check = |min_points, expected: usize| {
            let rules = Bounds { min_points, ..Bounds::default() };
            assert_eq!(segments(&law(&sizes, ipsc860), &rules).unwrap().len(), expected);
        };
        check(3, 2);
        check(4, 1);
    }

    #[test]
    fn a_jump_beside_two_points_is_found_to_the_byte() {
        let check = |sizes: &[f64], limit: f64, next: f64| {
            let jump = |n: f64| if n <= limit { 0.99 + 0.0072 * n } else { 1.31 + 0.0002 * n };
            let found = segments(&law(sizes, jump), &Bounds::default()).unwrap();
            let ends: Vec<_> = found.windows(2).map(|pair| (pair[0].to, pair[1].from)).collect();
            assert_eq!(ends, [(limit, next)]);
        };
        check(&[0.0, 8.0, 9.0, 10.0, 11.0, 13.0, 16.0, 32.0, 64.0, 128.0], 8.0, 9.0);
        check(&[0.0, 8.0, 9.0, 10.0, 11.0, 13.0, 16.0, 32.0, 64.0, 128.0], 32.0, 64.0);
    }

    #[test]
    fn no_parameter_is_negative_if_the_rules_forbid_it() {
        let steep = |n: f64| if n < 64.0 { 8.0 + n } else { 3.0 * n - 128.0 };
        let points = law(&sweep(2.0), steep);
        let least = |rules: &Bounds| {
            let found = segments(&points, rules).unwrap();
            found.iter().map(|s| s.line.t0.min(s.line.per_unit)).fold(f64::INFINITY, f64::min)
        };
        assert!(least(&Bounds::default()) < 0.0);
        assert!(least(&Bounds { not_negative: true, ..Bounds::default() }) >= 0.0);
    }

    #[test]
    fn equal_sizes_stay_together() {
        let points = [(0.0, 1.0), (8.0, 1.0), (8.0, 9.0), (8.0, 1.0), (8.0, 9.0), (16.0, 9.0)];
        let rules = Bounds { min_points: 2, ..Bounds::default() };
        assert_eq!(segments(&points, &rules).unwrap().len(), 1);
    }

    #[test]
    fn points_that_make_no_segment_are_refused() {
        let check = |points: &[(f64, f64)]| {
            let refused = segments(points, &Bounds::default());
            let n_points = points.len();
            assert_eq!(refused, Err(FitError::undetermined(n_points, 4)));
        };
        check(&[]);
        check(&[(0.0, 1.0), (1.0, 2.0), (2.0, 3.0)]);
        check(&[(8.0, 1.0), (8.0, 2.0), (8.0, 3.0), (8.0, 4.0)]);
        let negative = segments(&[(0.0, -1.0)], &Bounds::default());
        assert_eq!(negative, Err(FitError::not_positive("time", -1.0)));
    }
}
