//! Numbers that look random, for tests that say the same every day.

/// A generator of random numbers.
#[derive(Debug)]
pub(crate) struct Draws(u64);

impl Draws {
    /// The numbers that belong to `seed`.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `bound`, by Marsaglia's xorshift generator (J. Stat. Softw. 8, 2003).
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as usize % bound
    }
}
