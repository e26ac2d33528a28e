//! Draws: numbers that look random, and are functions of what they are for.
//!
//! There is no generator with a state, so that no draw depends on the order in which the engine
//! comes by. The results are part of what a simulation prints: a change here changes recorded runs.

use std::f64::consts::TAU;

/// Streams of the offsets and drifts of clocks, and of the losses of messages.
pub(crate) const OFFSET: u64 = u64::MAX;
pub(crate) const DRIFT: u64 = u64::MAX - 1;
pub(crate) const LOST: u64 = u64::MAX - 2;

/// Coordinates of one random number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Draw {
    pub(crate) seed: u64,
    pub(crate) rank: usize,
    pub(crate) operation: u64,
    /// Draw within one operation: a constant above, or twice the index of a source of noise.
    pub(crate) stream: u64,
}

impl Draw {
    /// The other draw for the same.
    pub(crate) fn second(self) -> Self {
        Self { stream: self.stream + 1, ..self }
    }

    /// The draw for another operation.
    pub(crate) fn of_operation(self, operation: u64) -> Self {
        Self { operation, ..self }
    }

    /// The draw for the rank as a whole.
    pub(crate) fn of_rank(self) -> Self {
        Self { operation: 0, ..self }
    }

    pub(crate) fn bits(self) -> u64 {
        [self.rank as u64, self.operation, self.stream]
            .into_iter()
            .fold(mix(self.seed), |hash, word| mix(hash ^ word))
    }

    /// A whole number in `0..bound`, by the upper half of a product (Lemire, Fast random integer
    /// generation in an interval, ACM TOMACS 29, 2019, without its rejections: they would correct
    /// less than `bound / 2^64`).
    pub(crate) fn below(self, bound: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// A number between 0 and 1, neither of them.
    pub(crate) fn uniform(self) -> f64 {
        // With 52 bits and a half, nothing is rounded.
        ((self.bits() >> 12) as f64 + 0.5) / (1u64 << 52) as f64
    }

    pub(crate) fn happens(self, probability: f64) -> bool {
        self.uniform() < probability
    }

    /// A draw from the exponential distribution of mean 1.
    pub(crate) fn exponential(self) -> f64 {
        -libm::log(self.uniform())
    }

    /// A draw from the normal distribution of mean 0 and standard deviation 1 (Box and Muller, A
    /// note on the generation of random normal deviates, Ann. Math. Statist. 29, 1958); uses
    /// [`second`](Self::second) too.
    pub(crate) fn normal(self) -> f64 {
        let angle = TAU * self.second().uniform();
        (2.0 * self.exponential()).sqrt() * libm::cos(angle)
    }
}

/// One step of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
fn mix(state: u64) -> u64 {
    let sum = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let once = (sum ^ (sum >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let twice = (once ^ (once >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    twice ^ (twice >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The draws of the operations of one rank.
    fn draws() -> impl Iterator<Item = Draw> {
        (0..100_000).map(|operation| Draw { seed: 1, rank: 2, operation, stream: 4 })
    }

    fn mean(values: impl Iterator<Item = f64>) -> f64 {
        let (n, sum) = values.fold((0.0, 0.0), |(n, sum), value| (n + 1.0, sum + value));
        sum / n
    }

    #[test]
    fn mixing_is_that_of_the_source() {
        // The first two numbers of SplitMix64 with the state 0.
        assert_eq!(mix(0), 0xe220_a839_7b1d_cdaf);
        assert_eq!(mix(0x9e37_79b9_7f4a_7c15), 0x6e78_9e6a_a1b9_65f4);
    }

    #[test]
    fn draws_are_the_same_on_every_machine() {
        let draw = Draw { seed: 42, rank: 3, operation: 7, stream: 0 };
        assert_eq!(draw.bits(), 0xc6a5_886a_0708_5b69);
        assert_eq!(draw.normal().to_bits(), 0xbfc0_3537_9d78_2e91);
    }

    #[test]
    fn each_part_of_a_draw_matters() {
        let draw = Draw { seed: 1, rank: 2, operation: 3, stream: 4 };
        let others = [
            Draw { seed: 2, ..draw },
            Draw { rank: 1, ..draw },
            Draw { rank: 3, operation: 2, ..draw },
            Draw { operation: 4, stream: 3, ..draw },
            draw.second(),
            draw.of_rank(),
        ];
        assert!(others.iter().all(|other| other.bits() != draw.bits()));
        assert_eq!(draw.of_operation(9).of_operation(3).bits(), draw.bits());
    }

    #[test]
    fn draws_have_the_moments_of_their_distributions() {
        let check = |name, draw: fn(Draw) -> f64, expected: [f64; 3]| {
            for (power, expected) in (1..).zip(expected) {
                let found = mean(draws().map(|d| draw(d).powi(power)));
                assert!(
                    (found - expected).abs() < 0.02 * f64::from(power * power),
                    "{name} {found}"
                );
            }
        };
        check("uniform", Draw::uniform, [0.5, 1.0 / 3.0, 0.25]);
        check("exponential", Draw::exponential, [1.0, 2.0, 6.0]);
        check("normal", Draw::normal, [0.0, 1.0, 0.0]);
        check("below", |draw| draw.below(11) as f64, [5.0, 35.0, 275.0]);
    }

    #[test]
    fn draws_of_neighbours_do_not_correlate() {
        let check = |name, next: fn(Draw) -> Draw| {
            let found = mean(draws().map(|draw| draw.normal() * next(draw).normal()));
            assert!(found.abs() < 0.02, "{name}: {found}");
        };
        check("seed", |draw| Draw { seed: draw.seed + 1, ..draw });
        check("rank", |draw| Draw { rank: draw.rank + 1, ..draw });
        check("operation", |draw| draw.of_operation(draw.operation + 1));
        check("source", |draw| draw.second().second());
    }

    #[test]
    fn what_is_certain_happens_and_what_is_impossible_does_not() {
        let share =
            |probability| mean(draws().map(|draw| f64::from(u8::from(draw.happens(probability)))));
        assert_eq!((share(0.0), share(1.0)), (0.0, 1.0));
        assert!((share(0.25) - 0.25).abs() < 0.005);
    }
}
