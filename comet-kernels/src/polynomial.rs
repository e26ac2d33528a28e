//! A polynomial by Horner's rule, the computation of PARKBENCH's POLY1 and POLY3: two flops for
//! each order and element, one word read and one written.

use std::hint::black_box;

use comet_core::transport::{Transport, Work};

/// The highest order that there is code for.
pub(crate) const MAX_ORDER: usize = 10;

/// Length of a double in bytes.
const WORD: usize = size_of::<f64>();

/// Coefficients `c_k = 2^-(k+1)`: the values at arguments from 0 to 1 lie in that range again, and
/// stay normal numbers however often values become arguments.
const COEFFICIENTS: [f64; MAX_ORDER + 1] = {
    let (mut coefficients, mut k) = ([0.5; MAX_ORDER + 1], 1);
    while k <= MAX_ORDER {
        coefficients[k] = coefficients[k - 1] / 2.0;
        k += 1;
    }
    coefficients
};

/// Puts the values at the arguments in the first buffer into the second.
type Evaluation = fn(&[u8], &mut [u8]);

/// One evaluation for each order from 1: loops of fixed length, which the compiler unrolls.
const EVALUATIONS: [Evaluation; MAX_ORDER] = [
    horner::<1>,
    horner::<2>,
    horner::<3>,
    horner::<4>,
    horner::<5>,
    horner::<6>,
    horner::<7>,
    horner::<8>,
    horner::<9>,
    horner::<10>,
];

/// A polynomial of one order, over doubles that lie in message buffers.
///
/// It is called through a pointer, so that local and remote data are worked on by the very same
/// instructions, however the code around them is compiled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Polynomial {
    order: usize,
    evaluate: Evaluation,
}

impl Polynomial {
    /// The polynomial of `order`.
    ///
    /// # Panics
    /// If `order` is not in `1..=MAX_ORDER`.
    pub(crate) fn new(order: usize) -> Self {
        Self { order, evaluate: EVALUATIONS[order - 1] }
    }

    /// Computes `values = p(arguments)` once, as work that `t` knows of.
    #[inline]
    pub(crate) fn run<T: Transport>(self, t: &T, arguments: &[u8], values: &mut [u8]) {
        // A DAXPY has two flops for each element too.
        let work = Work::Daxpy { n: self.order * (arguments.len() / WORD) };
        t.compute(work, || (self.evaluate)(black_box(arguments), values));
        black_box(values);
    }

    /// The value at `argument(index)`, by the sum of powers; all of its terms are exact.
    pub(crate) fn value(self, index: usize) -> f64 {
        let x = argument(index);
        let with_power = |(c, power): (&f64, i32)| c * x.powi(power);
        COEFFICIENTS[..=self.order].iter().zip(0..).map(with_power).sum()
    }

    /// The four values that the four arguments have become after so many evaluations, each of the
    /// values of the one before.
    pub(crate) fn values_after(self, n_evaluations: u64) -> [f64; 4] {
        let mut x = [0; 4 * WORD];
        fill_arguments(&mut x);
        for _ in 0..n_evaluations {
            let mut y = [0; 4 * WORD];
            (self.evaluate)(&x, &mut y);
            if x == y {
                break;
            }
            x = y;
        }
        std::array::from_fn(|index| doubles(&x)[index])
    }
}

/// Fills `message` with the arguments [`argument`].
pub(crate) fn fill_arguments(message: &mut [u8]) {
    for (index, word) in message.as_chunks_mut().0.iter_mut().enumerate() {
        *word = argument(index).to_ne_bytes();
    }
}

/// A multiple of 1/4 up to 1, so that powers and their sums are exact to the last bit.
pub(crate) fn argument(index: usize) -> f64 {
    [0.25, 0.5, 0.75, 1.0][index % 4]
}

/// The doubles in `message`.
pub(crate) fn doubles(message: &[u8]) -> Vec<f64> {
    message.as_chunks().0.iter().map(|word| f64::from_ne_bytes(*word)).collect()
}

fn horner<const ORDER: usize>(arguments: &[u8], values: &mut [u8]) {
    let arguments = arguments.as_chunks().0;
    for (x, value) in arguments.iter().zip(values.as_chunks_mut().0) {
        let x = f64::from_ne_bytes(*x);
        let mut sum = COEFFICIENTS[ORDER];
        for c in COEFFICIENTS[..ORDER].iter().rev() {
            sum = sum * x + c;
        }
        *value = sum.to_ne_bytes();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_agree_with_a_hand_computation() {
        let check = |order, index, expected: f64| {
            assert_eq!(Polynomial::new(order).value(index), expected, "order {order}");
        };
        check(1, 3, 0.75);
        check(1, 1, 0.625);
        check(2, 1, 0.65625);
        check(10, 3, 2047.0 / 2048.0);
    }

    #[test]
    fn horners_rule_gives_the_sum_of_powers_in_each_order() {
        let mut arguments = [0; 7 * WORD];
        fill_arguments(&mut arguments);
        comet_core::local::run_alone(|t| {
            for order in 1..=MAX_ORDER {
                let (polynomial, mut values) = (Polynomial::new(order), [0; 7 * WORD]);
                polynomial.run(t, &arguments, &mut values);
                let expected: Vec<f64> = (0..7).map(|index| polynomial.value(index)).collect();
                assert_eq!(doubles(&values), expected, "order {order}");
            }
        });
    }

    #[test]
    fn values_that_become_arguments_stay_between_one_half_and_one() {
        for evaluate in EVALUATIONS {
            let (mut x, mut y) = (0f64.to_ne_bytes(), [0; WORD]);
            for _ in 0..1000 {
                evaluate(&x, &mut y);
                x = y;
            }
            assert!((0.5..1.0).contains(&f64::from_ne_bytes(x)));
        }
    }
}
