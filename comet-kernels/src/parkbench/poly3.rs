//! POLY3: time of arithmetic on the data of another rank; the work on each word above which
//! communication is no bottleneck.
//!
//! **Source**: PARKBENCH, low-level benchmark POLY3.
//!
//! **Pattern**
//! ```text
//!   rank 0 (test node)  --x, N doubles-->  rank 1, one hop away
//!    holds the data                         y = p(x), a polynomial of `order`
//!                       <--y, N doubles--
//! ```
//! **Timed** (rank 0): blocked send, blocked receive; rank 1 receives, evaluates and sends between
//! them. The clock is read where the data is, because an evaluation begins and ends there.
//!
//! **Reports**: time T of the whole. Two words are moved for each element, so that the order q is also
//! the number of flops for each word. From the rates R of a sweep over `order`,
//! 1/R = 1/r_peak (1 + f_half / q): f_half is the intensity at which arithmetic and communication take
//! the same time.
//!
//! **Rate**: 2 x `order` x `vector_length` / time, in flop/s.
//!
//! **Parameters**: `vector_length` is N, `order` is q.
//!
//! **Verified by**: arguments whose powers are exact, checked on rank 1 as they come, and their
//! values, checked on rank 0 to the last bit; source and length of both messages.
//!
//! **Caution**: the values that come back are the next x, so that every message is freshly written;
//! they stay between 0 and 1. See `parkbench/poly1` for the arithmetic, which runs through the same
//! code.

use comet_core::kernel::prelude::*;

use crate::parkbench::poly1::{ORDER, ORDERS, VECTOR_LENGTHS, rate, require_order};
use crate::pattern::Bounce;
use crate::polynomial::{self, Polynomial};

/// `parkbench/poly3`; see the [module](self).
pub(crate) struct Poly3;

fn admits(case: &Case, world: &World<'_>) -> Result<(), String> {
    world.require_ranks(2)?;
    world.require_hops(1)?;
    require_order(case)
}

/// One side: the data, and where it is evaluated also room for the values.
pub(crate) struct Remote<B> {
    polynomial: Polynomial,
    x: Bounce<B>,
    y: Option<B>,
    /// True if values become arguments, since what arrived is sent next.
    resends: bool,
}

impl<T: Transport> Operation<T> for Remote<T::Buffer> {
    fn fill(&mut self, _seeds: Seeds) {
        self.x.incoming().fill(u8::MAX);
        if self.y.is_none() {
            polynomial::fill_arguments(&mut self.x.message);
        }
    }

    #[inline]
    fn run(&mut self, t: &T) -> Result<()> {
        let Some(y) = &mut self.y else { return self.x.run(t) };
        self.x.receive(t)?;
        self.polynomial.run(t, self.x.incoming(), y);
        self.x.send_from(t, y)
    }

    fn check(&mut self, check: &mut Checker) {
        let (peer, is_owner) = (self.x.side.peer, self.y.is_none());
        let n_runs = if self.resends { check.n_runs() } else { 1 };
        let what =
            format!("the {} from rank {peer}", if is_owner { "values" } else { "arguments" });
        let arrived_bytes = self.x.arrived_bytes;
        let x = self.x.incoming();
        check.length(arrived_bytes, x.len(), &what);
        let expected = self.polynomial.values_after(if is_owner { n_runs } else { n_runs - 1 });
        check.values(&mut polynomial::doubles(x), |index| expected[index % 4], |_| true, &what);
    }

    /// The two halves of [`run`](Operation::run), with the data spoiled before it returns.
    fn verify(&mut self, t: &T, check: &mut Checker) -> Result<()> {
        Operation::<T>::fill(self, check.seeds());
        if self.y.is_none() {
            self.x.send(t)?;
            self.x.incoming().fill(u8::MAX);
            self.x.receive(t)?;
        } else {
            self.run(t)?;
        }
        Operation::<T>::check(self, check);
        Ok(())
    }
}

impl<T: Transport> Pattern<T> for Poly3 {
    const INFO: KernelInfo = KernelInfo {
        name: "poly3",
        file: include_str!("poly3.rs"),
        summary: "Polynomial over a vector that lies on the neighbouring rank",
        aliases: &["PARKBENCH:POLY3"],
        axes: &[VECTOR_LENGTHS, ORDERS],
        series: &[Series::on_test_node("poly3")],
        admits,
        bytes_per_rank: |case, _| case.value(&VECTOR_LENGTH).saturating_mul(16),
        ..KernelInfo::pair("parkbench")
    };
    type Part = Remote<T::Buffer>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        let length_bytes = case.length(&VECTOR_LENGTH) * size_of::<f64>();
        let role = Bounce::part(cx, Pairing::ByHops(1), length_bytes)?;
        let Some((duty, x)) = role else { return Ok(None) };
        let y = if x.side.leads { None } else { Some(cx.message(length_bytes)?) };
        let (polynomial, resends) = (Polynomial::new(case.length(&ORDER)), cx.resends());
        Ok(Some((duty, Remote { polynomial, x, y, resends })))
    }

    fn derived(&self, case: &Case, summaries: &[Summary]) -> Vec<Derived> {
        rate(case, summaries)
    }
}
