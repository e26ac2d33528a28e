//! Steps in a history: a level that holds, and the places at which it changes.
//!
//! The levels minimise the squares of the distances from them, in units of the deviation of a value, plus
//! a penalty for each step (optimal partitioning: Jackson and others, An algorithm for optimal partitioning
//! of data on an interval, IEEE Signal Processing Letters 12 (2005)). The penalty grows with the number of
//! values, so that a longer history does not give more false alarms. The last level may have begun with any
//! value, so that it never takes values of the level before; it is reported once it has lasted.
//!
//! The deviation is that of values near each other, which steps hardly touch, and the largest over a few
//! distances, so that values which follow each other a little are not taken for steady ones. Single values
//! that are far from their neighbours are drawn near, because one bad night is no change.

use crate::{median, real};

/// The fewest values of a history that can have a step.
pub const MIN_VALUES: usize = 10;
/// The fewest values of a level: a change is reported once it has lasted so long.
pub const MIN_LASTING: usize = 5;
/// Penalty of a step, in units of the squared deviation, for each unit of the logarithm of the number of
/// values, and in addition to that, so that of 100 histories of a year at most one shows a step that is none
/// on any of its nights, where values are normal, follow each other by up to 0.2, and one night of fifty is a
/// bad one: 11 of 4,000 did, and 3 of 4,000 whose values do not follow each other.
const PENALTY: [f64; 2] = [4.0, 24.0];
/// The farthest that a value may be from the median of its neighbours, in deviations.
const MAX_DISTANCE: f64 = 2.5;
/// Neighbours on either side.
const N_NEIGHBOURS: usize = 5;
/// Distances over which the deviation of values is looked at.
const MAX_LAG: usize = 3;
/// Standard deviation of a normal distribution whose median distance from 0 is 1.
const OF_MEDIAN: f64 = 1.4826;

/// The levels of a history, one after the other.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Levels {
    /// The changes from each to the next.
    pub steps: Vec<Step>,
    /// Number of values that belong to a level. Those that follow may belong to a new one, which has not lasted
    /// yet.
    pub n_values: usize,
}

/// A change of the level of a history.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// Index of the first value of the new level.
    pub at: usize,
    /// Median of the values since the step before.
    pub before: f64,
    /// Median of the values up to the next step, or to one that has not lasted yet.
    pub after: f64,
}

/// The levels of `values`, which are in time order; logarithms where they vary by factors. Values are taken
/// to deviate by `least_deviation` or more.
///
/// # Panics
/// If `least_deviation` is not above 0.
pub fn levels(values: &[f64], least_deviation: f64) -> Levels {
    assert!(least_deviation > 0.0, "a deviation is above 0, got {least_deviation}");
    if values.len() < MIN_VALUES {
        return Levels { steps: Vec::new(), n_values: values.len() };
    }
    let deviation = deviation(values).max(least_deviation);
    let mut starts = starts(&near(values, deviation), deviation);
    let mut end = values.len();
    if let [_, .., last] = starts[..]
        && end - last < MIN_LASTING
    {
        end = last;
        starts.pop();
    }
    let ends = starts.iter().copied().skip(1).chain([end]);
    let level = |(start, end): (&usize, usize)| median(&values[*start..end]).unwrap_or(f64::NAN);
    let levels: Vec<f64> = starts.iter().zip(ends).map(level).collect();
    let step =
        |(at, levels): (&usize, &[f64])| Step { at: *at, before: levels[0], after: levels[1] };
    let steps = starts[1..].iter().zip(levels.windows(2)).map(step).collect();
    Levels { steps, n_values: end }
}

/// The deviation of a value from those near it.
fn deviation(values: &[f64]) -> f64 {
    let of_lag = |lag: usize| {
        let differences = values.iter().zip(&values[lag..]).map(|(a, b)| (b - a).abs());
        median(&differences.collect::<Vec<_>>()).unwrap_or(0.0) * OF_MEDIAN / 2.0_f64.sqrt()
    };
    (1..=MAX_LAG).map(of_lag).fold(0.0, f64::max)
}

/// `values`, none of them far from its neighbours.
fn near(values: &[f64], deviation: f64) -> Vec<f64> {
    let near = |(index, value): (usize, &f64)| {
        let from = index.saturating_sub(N_NEIGHBOURS);
        let to = (index + N_NEIGHBOURS + 1).min(values.len());
        let middle = median(&values[from..to]).unwrap_or(*value);
        value.clamp(middle - MAX_DISTANCE * deviation, middle + MAX_DISTANCE * deviation)
    };
    values.iter().enumerate().map(near).collect()
}

/// Indices at which the levels of the cheapest partition of `values` start.
fn starts(values: &[f64], deviation: f64) -> Vec<usize> {
    let n = values.len();
    let penalty = PENALTY[0] * real(n as u64).ln() + PENALTY[1];
    // Sums from the start, of values less the first one, which keeps them small.
    let (mut sums, mut squares) = (vec![0.0], vec![0.0]);
    for value in values {
        let scaled = (value - values[0]) / deviation;
        sums.push(sums[sums.len() - 1] + scaled);
        squares.push(squares[squares.len() - 1] + scaled * scaled);
    }
    let cost = |from: usize, to: usize| {
        let sum = sums[to] - sums[from];
        squares[to] - squares[from] - sum * sum / real((to - from) as u64)
    };
    // Of each end the cheapest partition of what is before it: its cost, and the start of its last level.
    let mut best = vec![(f64::INFINITY, 0); n + 1];
    best[0] = (-penalty, 0);
    for to in MIN_LASTING..=n {
        let fewest = if to == n { 1 } else { MIN_LASTING };
        for from in 0..=to - fewest {
            let total = best[from].0 + cost(from, to) + penalty;
            if total < best[to].0 {
                best[to] = (total, from);
            }
        }
    }
    let mut starts = Vec::new();
    let mut end = n;
    while end > 0 {
        end = best[end].1;
        starts.push(end);
    }
    starts.reverse();
    starts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::normal;
    use oorandom::Rand64;

    fn steps(values: &[f64], least_deviation: f64) -> Vec<Step> {
        levels(values, least_deviation).steps
    }

    /// Nights of a year.
    const YEAR: usize = 365;
    /// Deviation of a night, as a logarithm.
    const NIGHT: f64 = 0.02;

    /// A history without a step: one night of fifty is a bad one, by up to a half.
    fn history(random: &mut Rand64, follows: f64) -> Vec<f64> {
        let mut last = normal(random);
        let night = |_| {
            last = follows * last + (1.0 - follows * follows).sqrt() * normal(random);
            let is_bad = random.rand_float() < 0.02;
            NIGHT * last + if is_bad { 0.4 * random.rand_float() } else { 0.0 }
        };
        (0..YEAR).map(night).collect()
    }

    /// Number of histories of a year, out of `n`, in which a step is seen on any night.
    fn false_alarms(n: usize, follows: f64) -> usize {
        let mut random = Rand64::new(1);
        let alarms = (0..n).filter(|_| {
            let values = history(&mut random, follows);
            (MIN_VALUES..=YEAR).any(|n| !steps(&values[..n], 0.005).is_empty())
        });
        alarms.count()
    }

    #[test]
    fn one_history_in_a_hundred_has_a_false_alarm_in_a_year_of_nights() {
        let counts = std::thread::scope(|scope| {
            let count = |follows| scope.spawn(move || false_alarms(300, follows));
            [0.0, 0.2].map(count).map(|counted| counted.join().unwrap())
        });
        assert!(counts.iter().all(|n| *n <= 3), "{counts:?} of 300");
    }

    #[test]
    fn a_fifth_more_is_seen_within_a_week_wherever_it_comes() {
        let mut random = Rand64::new(2);
        for at in [20, 100, 200, 350] {
            for _ in 0..20 {
                let mut values = history(&mut random, 0.0);
                values[at..].iter_mut().for_each(|value| *value += 1.2_f64.ln());
                let found = steps(&values[..at + 7], 0.005);
                let [step] = &found[..] else { panic!("{found:?} for a step at {at}") };
                assert!(step.at.abs_diff(at) <= 2, "{step:?} for a step at {at}");
                let ratio = (step.after - step.before).exp();
                assert!((1.12..1.28).contains(&ratio), "{ratio}");
            }
        }
    }

    #[test]
    fn a_step_is_reported_at_its_place_once_it_has_lasted() {
        let mut random = Rand64::new(3);
        for at in [8, 12, 50] {
            let mut values: Vec<f64> = (0..at + 20).map(|_| 0.001 * normal(&mut random)).collect();
            values[at..].iter_mut().for_each(|value| *value += 1.2_f64.ln());
            for n in 0..=values.len() {
                let places =
                    steps(&values[..n], 0.005).iter().map(|step| step.at).collect::<Vec<_>>();
                let expected = if n < at + MIN_LASTING { vec![] } else { vec![at] };
                assert_eq!(places, expected, "{n} values, a step at {at}");
            }
        }
    }

    #[test]
    fn steps_of_exact_values_are_found_at_their_places() {
        let mut values = [[1.0; 10], [1.2; 10], [1.1; 10]].concat();
        let step = |at, before, after| Step { at, before, after };
        assert_eq!(steps(&values, 0.005), [step(10, 1.0, 1.2), step(20, 1.2, 1.1)]);
        let of_all = |values: &[f64]| levels(values, 0.005).n_values;
        assert_eq!(of_all(&values), 30);
        values.truncate(24);
        assert_eq!(steps(&values, 0.005), [step(10, 1.0, 1.2)], "the other has not lasted");
        // The first of four new values is drawn near to its neighbours, most of which are old.
        assert_eq!([of_all(&values), of_all(&values[..14]), of_all(&values[..5])], [21, 11, 5]);
        values.truncate(10);
        assert_eq!(steps(&values, 0.005), []);
        assert_eq!(steps(&[1.0, 9.0], 0.005), []);
        let mut one_bad_night = vec![1.0; 30];
        one_bad_night[15] = 3.0;
        assert_eq!(steps(&one_bad_night, 0.005), []);
    }
}
