//! Usual times between hosts, by the effect of each host: `ln t(a, b) = m + e(a) + e(b) + rest`.
//!
//! One slow host of three is at an end of two pairs of hosts in three, so that the median of all pairs
//! is a slow one. The effects are never negative, as few as explain the times, and found by least
//! absolute values, so that a slow link between two hosts stays a rest.
//!
//! ```text
//!   A ── B  slow          e(B) explains both slow links     A ── B  slow     a rest of one link
//!   B ── C  slow    ──►   by one part                       B ── C      ──►  costs less than the
//!   A ── C                                                  A ── C           effects of A and B
//! ```

use std::collections::BTreeMap;

use comet_stats::median;

use super::links::MIN_VALUES;

/// The fewest hosts whose effects can be told from those of the links between them.
const MIN_HOSTS: usize = 3;
/// Cost of an effect, in rests of one link: below 1, so that a host with two slow links is found, and
/// above one half, so that one slow link is no effect of its two hosts.
const EFFECT_COST: f64 = 0.75;
/// Number of rests at which their deviation is doubled, lest a few that agree by chance blame others:
/// without it 10 of 1000 healthy clusters of three hosts were blamed.
const FEW_RESTS: f64 = 6.0;
/// Rests below this count by their squares: a half percent.
const MIN_REST: f64 = 0.005;
/// Factor of the rest that counts by its square, from one step of the fit to the next.
const NARROWING: f64 = 0.95;
/// Steps beyond those in which that rest narrows to [`MIN_REST`].
const N_FINAL_STEPS: usize = 200;

/// A time between ranks of two hosts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Between<C> {
    /// Class of their distance.
    pub(super) class: C,
    /// The hosts, by number.
    pub(super) hosts: [usize; 2],
    /// Logarithm of the time.
    pub(super) ln: f64,
}

/// Usual time of a class, and its spread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Level {
    /// Logarithm of the time between two hosts without an effect.
    pub(super) ln: f64,
    /// Median absolute deviation of that logarithm, by the rests and by the effects of the hosts.
    pub(super) mad: f64,
}

/// Levels of the classes of `pairs`; `None` if there are too few hosts, or too few pairs to tell their
/// effects.
pub(super) fn levels<C: Ord + Copy>(pairs: &[Between<C>]) -> Option<BTreeMap<C, Level>> {
    let n_hosts = pairs.iter().flat_map(|pair| pair.hosts).max()? + 1;
    let is_enough = pairs.len() >= MIN_VALUES.max(2 * n_hosts);
    if n_hosts < MIN_HOSTS || !is_enough {
        return None;
    }
    let mut fit = Fit::new(pairs, n_hosts);
    fit.run();
    Some(fit.levels(pairs))
}

/// Fit of all classes at once: the effects are those of the hosts.
struct Fit<C> {
    /// One time for each two hosts and class: the lower median, so that most of the pairs are slow
    /// where it is.
    links: Vec<Between<C>>,
    /// Numbers of the links of each host.
    of_hosts: Vec<Vec<usize>>,
    usual: BTreeMap<C, f64>,
    effects: Vec<f64>,
}

impl<C: Ord + Copy> Fit<C> {
    fn new(pairs: &[Between<C>], n_hosts: usize) -> Self {
        let mut of_links: BTreeMap<(C, [usize; 2]), Vec<f64>> = BTreeMap::new();
        for Between { class, hosts: [a, b], ln } in pairs {
            of_links.entry((*class, [*a.min(b), *a.max(b)])).or_default().push(*ln);
        }
        let lower = |((class, hosts), mut of_link): ((C, [usize; 2]), Vec<f64>)| {
            of_link.sort_by(f64::total_cmp);
            Between { class, hosts, ln: of_link[(of_link.len() - 1) / 2] }
        };
        let links: Vec<Between<C>> = of_links.into_iter().map(lower).collect();
        let mut of_hosts = vec![Vec::new(); n_hosts];
        for (index, link) in links.iter().enumerate() {
            link.hosts.iter().for_each(|host| of_hosts[*host].push(index));
        }
        let mut of_classes: BTreeMap<C, Vec<f64>> = BTreeMap::new();
        links.iter().for_each(|link| of_classes.entry(link.class).or_default().push(link.ln));
        let usual = of_classes.into_iter().filter_map(|(class, lns)| Some((class, median(&lns)?)));
        Self { usual: usual.collect(), effects: vec![0.0; n_hosts], links, of_hosts }
    }

    /// Descends, coordinate by coordinate, while ever smaller rests count by their absolute values.
    fn run(&mut self) {
        let widest = self.links.iter().map(|link| self.rest(link).abs()).fold(MIN_REST, f64::max);
        let mut square = widest;
        let mut n_final = 0;
        while n_final < N_FINAL_STEPS {
            self.step(square);
            n_final += usize::from(square == MIN_REST);
            square = (NARROWING * square).max(MIN_REST);
        }
    }

    fn step(&mut self, square: f64) {
        let weights: Vec<f64> =
            self.links.iter().map(|link| 1.0 / self.rest(link).abs().max(square)).collect();
        let mut sums: BTreeMap<C, (f64, f64)> = BTreeMap::new();
        for (link, weight) in self.links.iter().zip(&weights) {
            let sum = sums.entry(link.class).or_default();
            *sum = (sum.0 + weight * self.rest(link), sum.1 + weight);
        }
        for (class, usual) in &mut self.usual {
            let (rests, weight) = sums[class];
            *usual += rests / weight;
        }
        for host in 0..self.effects.len() {
            let (mut rests, mut weight) = (0.0, 0.0);
            for index in &self.of_hosts[host] {
                let w = weights[*index];
                (rests, weight) = (rests + w * self.rest(&self.links[*index]), weight + w);
            }
            if weight > 0.0 {
                let effect = self.effects[host] + (rests - EFFECT_COST) / weight;
                self.effects[host] = effect.max(0.0);
            }
        }
    }

    /// Part of a time that neither its class nor its hosts explain.
    fn rest(&self, Between { class, hosts: [a, b], ln }: &Between<C>) -> f64 {
        ln - self.usual[class] - self.effects[*a] - self.effects[*b]
    }

    fn levels(&self, pairs: &[Between<C>]) -> BTreeMap<C, Level> {
        let rests: Vec<f64> = pairs.iter().map(|pair| self.rest(pair).abs()).collect();
        let middle = median(&self.effects).unwrap_or(0.0);
        let from_middle: Vec<f64> = self.effects.iter().map(|e| (e - middle).abs()).collect();
        let [of_rests, of_effects] = [&rests, &from_middle].map(|of| median(of).unwrap_or(0.0));
        // Parameters take their part of the rests, and few rests may be small by chance.
        let n_effects = self.effects.iter().filter(|effect| **effect > 0.0).count();
        let n_parameters = self.usual.len() + n_effects;
        let n_free = pairs.len().saturating_sub(n_parameters).max(1) as f64;
        let of_rests = of_rests * (pairs.len() as f64 / n_free).sqrt() * (1.0 + FEW_RESTS / n_free);
        let mad = of_rests.hypot(std::f64::consts::SQRT_2 * of_effects);
        let level = |usual: &f64| Level { ln: usual + 2.0 * middle, mad };
        self.usual.iter().map(|(class, usual)| (*class, level(usual))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pairs of `n_hosts` hosts with `per_host` ranks each, and the logarithms `ln(a, b)`.
    fn pairs(
        n_hosts: usize,
        per_host: usize,
        mut ln: impl FnMut(usize, usize) -> f64,
    ) -> Vec<Between<u8>> {
        let n_ranks = n_hosts * per_host;
        let all = (0..n_ranks).flat_map(|a| (a + 1..n_ranks).map(move |b| (a, b)));
        let between = all.map(|(a, b)| (a / per_host, b / per_host)).filter(|(a, b)| a != b);
        between.map(|(a, b)| Between { class: 0, hosts: [a, b], ln: ln(a, b) }).collect()
    }

    fn usual(n_hosts: usize, per_host: usize, ln: impl FnMut(usize, usize) -> f64) -> f64 {
        levels(&pairs(n_hosts, per_host, ln)).unwrap()[&0].ln
    }

    #[test]
    fn the_usual_time_is_that_of_healthy_hosts_although_most_pairs_are_slow() {
        for (n_hosts, per_host) in [(3, 2), (3, 8), (4, 2), (6, 1), (6, 2), (16, 2)] {
            for factor in [1.2_f64, 2.0, 10.0, 1000.0] {
                let of_host = |a, b| if [a, b].contains(&1) { factor.ln() } else { 0.0 };
                let found = usual(n_hosts, per_host, of_host);
                assert!(found.abs() < 0.01, "{n_hosts} x {per_host}, {factor}: {found}");
                let of_link = |a, b| if [a, b] == [0, 1] { factor.ln() } else { 0.0 };
                let found = usual(n_hosts, per_host, of_link);
                assert!(found.abs() < 0.01, "link, {n_hosts} x {per_host}, {factor}: {found}");
            }
        }
    }

    #[test]
    fn the_spread_is_that_of_what_nothing_explains() {
        let mut index = 0;
        let alternating = |_: usize, _: usize| {
            index += 1;
            if index % 2 == 0 { 0.03 } else { -0.03 }
        };
        let level = levels(&pairs(6, 2, alternating)).unwrap()[&0];
        assert!((0.02..0.06).contains(&level.mad), "{level:?}");
        // Half of the hosts are far away: that is their way, and no fault.
        let far = |a: usize, b: usize| 0.3 * ((a % 2) + (b % 2)) as f64;
        assert!(levels(&pairs(6, 2, far)).unwrap()[&0].mad > 0.15);
    }

    #[test]
    fn of_few_hosts_or_pairs_no_effect_is_told() {
        for (n_hosts, per_host) in [(1, 4), (2, 4), (3, 1), (4, 1)] {
            assert!(levels(&pairs(n_hosts, per_host, |_, _| 0.0)).is_none(), "{n_hosts}");
        }
    }
}
