//! POLY1: time of arithmetic on local data, the reference for POLY3.
//!
//! **Source**: PARKBENCH, low-level benchmark POLY1.
//!
//! **Pattern**
//! ```text
//!   rank 0 (test node)   y = p(x), a polynomial of `order` over a vector of doubles
//! ```
//! **Timed** (rank 0): one evaluation by Horner's rule. Vectors are made and filled before.
//!
//! **Reports**: time of one evaluation.
//!
//! **Rate**: 2 x `order` x `vector_length` / time, in flop/s.
//!
//! **Parameters**: `vector_length`; `order`, which is also the number of flops for each word read
//! or written.
//!
//! **Verified by**: values at arguments whose powers are exact, against their sums, to the last bit.
//!
//! **Caution**: a product and a sum are two operations, which are never fused. The compiler chooses the
//! number of elements that are worked on at once; it is the same here and in POLY3, which call the same
//! code.

use comet_core::kernel::prelude::*;

use crate::polynomial::{self, MAX_ORDER, Polynomial};

/// Order of a polynomial.
pub static ORDER: Axis =
    Axis::count("order", "operations for each word moved", "order of a polynomial")
        .of_kind(AxisKind::Intensity);

pub(super) const ORDERS: AxisUse = AxisUse { axis: &ORDER, sweeps: ["1,2,4,10", "1..10", "1..10"] };

/// The rates of long vectors are asked for; 100 000 doubles are long.
pub(super) const VECTOR_LENGTHS: AxisUse =
    AxisUse { axis: &VECTOR_LENGTH, sweeps: ["10000", "100000", "1000,10000,100000,1000000"] };

/// `parkbench/poly1`; see the [module](self).
pub(crate) struct Poly1;

/// Refuses an order for which there is no code.
pub(super) fn require_order(case: &Case) -> Result<(), String> {
    match case.value(&ORDER) {
        order if (1..=MAX_ORDER as u64).contains(&order) => Ok(()),
        order => Err(format!("a polynomial of order {order} is not known (use 1 to {MAX_ORDER})")),
    }
}

/// The rate of arithmetic, from the median of the only series.
pub(super) fn rate(case: &Case, summaries: &[Summary]) -> Vec<Derived> {
    let [evaluation] = summaries else { return Vec::new() };
    let n_flops = (2 * case.value(&ORDER) * case.value(&VECTOR_LENGTH)) as f64;
    let is_rate = n_flops > 0.0 && evaluation.median > 0.0;
    vec![Derived::of(
        "flops_per_s",
        "2 * order * vector_length / median",
        is_rate.then(|| n_flops / evaluation.median * 1e9),
    )]
}

/// A polynomial, its arguments, and room for its values.
pub(crate) struct Local<B> {
    polynomial: Polynomial,
    arguments: B,
    values: B,
}

impl<T: Transport> Operation<T> for Local<T::Buffer> {
    fn fill(&mut self, _seeds: Seeds) {
        polynomial::fill_arguments(&mut self.arguments);
        self.values.fill(u8::MAX);
    }

    #[inline]
    fn run(&mut self, t: &T) -> Result<()> {
        self.polynomial.run(t, &self.arguments, &mut self.values);
        Ok(())
    }

    fn check(&mut self, check: &mut Checker) {
        let expected = |index| self.polynomial.value(index);
        let values = &mut polynomial::doubles(&self.values);
        check.values(values, expected, |_| true, "the polynomial");
    }
}

impl<T: Transport> Pattern<T> for Poly1 {
    const INFO: KernelInfo = KernelInfo {
        name: "poly1",
        file: include_str!("poly1.rs"),
        summary: "Polynomial over a vector in the memory of the rank",
        aliases: &["PARKBENCH:POLY1"],
        axes: &[VECTOR_LENGTHS, ORDERS],
        series: &[Series::on_test_node("poly1")],
        admits: |case, _| require_order(case),
        bytes_per_rank: |case, _| case.value(&VECTOR_LENGTH).saturating_mul(16),
        ..KernelInfo::compute("parkbench")
    };
    type Part = Local<T::Buffer>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        if cx.rank() != cx.root() {
            return Ok(None);
        }
        let length_bytes = case.length(&VECTOR_LENGTH) * size_of::<f64>();
        let (arguments, values) = (cx.message(length_bytes)?, cx.message(length_bytes)?);
        let polynomial = Polynomial::new(case.length(&ORDER));
        Ok(Some((Duty::Times, Local { polynomial, arguments, values })))
    }

    fn derived(&self, case: &Case, summaries: &[Summary]) -> Vec<Derived> {
        rate(case, summaries)
    }
}
