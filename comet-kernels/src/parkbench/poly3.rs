//! POLY3: how much arithmetic a word has to be worth before communication is no bottleneck.
//!
//! **Source**: PARKBENCH, low-level benchmark POLY3.
//!
//! **Pattern**
//! ```text
//!   rank 0 (test node)  ──x, N doubles──►  rank 1, one hop away
//!    where the data is                      y = p(x), a polynomial of `order`
//!                       ◄──y, N doubles──
//! ```
//! **Timed** (rank 0): blocked send, blocked receive; rank 1 receives, evaluates and sends between
//! them. The clock is read where the data is, because an evaluation there begins and ends.
//!
//! **Reports**: time T of the whole, and the rate R(q) = 2 q N / T of order q. Two words are moved
//! for each element, so that q is also the flops for each word. From the rates of a sweep over
//! `order`, 1/R = 1/r̂ (1 + f½ / q): f½ is the intensity at which arithmetic and communication take
//! the same time.
//!
//! **Parameters**: `vector_length` is N, `order` is q.
//!
//! **Verified by**: arguments whose powers are exact, checked on rank 1 as they come, and their
//! values, checked on rank 0 to the last bit; source and length of both messages.
//!
//! **Caution**: what comes back is the next x, so that every message is freshly written; it stays
//! between 0 and 1. See `parkbench/poly1` for the arithmetic, which runs through the same code.

use comet_core::context::Context;
use comet_core::error::{KernelError, Result};
use comet_core::kernel::{Case, Derived, Kernel, KernelInfo, VECTOR_LENGTH, World};
use comet_core::pattern;
use comet_core::transport::{Rank, Source, Status, Transport};
use comet_stats::Summary;

use crate::comet::echo::{self, BACK, OUT};
use crate::parkbench::comms1::admits_pair;
use crate::parkbench::poly1::{ORDER, ORDERS, VECTOR_LENGTHS, evaluation, rate, require_order};
use crate::polynomial::{self, Polynomial};
use crate::roles::Role;

/// Distance of the rank that evaluates.
const HOPS: usize = 1;

/// The kernel `parkbench/poly3`; see the [module](self).
#[derive(Clone, Copy, Debug)]
pub struct Poly3;

static INFO: KernelInfo = KernelInfo {
    name: "poly3",
    summary: "Polynomial over a vector that lies on the neighbouring rank",
    source: "PARKBENCH low-level benchmarks, POLY3",
    aliases: &["PARKBENCH:POLY3"],
    axes: &[VECTOR_LENGTHS, ORDERS],
    series: &[evaluation("poly3")],
    admits,
    bytes_per_rank: |case, _| 16 * case.value(&VECTOR_LENGTH),
    ..KernelInfo::pair("parkbench")
};

fn admits(case: &Case, world: &World<'_>) -> Result<(), String> {
    admits_pair(case, world)?;
    require_order(case)
}

impl<T: Transport> Kernel<T> for Poly3 {
    fn info(&self) -> &'static KernelInfo {
        &INFO
    }

    fn verify(&self, cx: &mut Context<'_, T>, case: &Case) -> Result<(), KernelError> {
        let (polynomial, length_bytes) = of_case(case);
        match Role::of(cx.rank(), cx.topology(), HOPS) {
            Some(Role::Tester(peer)) => verify_owner(cx, peer, polynomial, length_bytes),
            Some(Role::Partner(peer)) => verify_evaluator(cx, peer, polynomial, length_bytes),
            Some(Role::Alone) | None => Ok(()),
        }
    }

    fn measure(&self, cx: &mut Context<'_, T>, case: &Case) -> Result<(), KernelError> {
        let (polynomial, length_bytes) = of_case(case);
        let mut x = cx.message(length_bytes)?;
        match Role::of(cx.rank(), cx.topology(), HOPS) {
            Some(Role::Tester(peer)) => cx.time(0, |t| echo::bounce(t, peer, &mut x))?,
            Some(Role::Partner(peer)) => {
                let mut y = cx.message(length_bytes)?;
                cx.follow(0, |t| evaluate(t, peer, polynomial, (&mut x, &mut y)).map(|_| ()))?;
            }
            Some(Role::Alone) | None => (),
        }
        Ok(())
    }

    fn derived(&self, case: &Case, summaries: &[Summary]) -> Vec<Derived> {
        rate(case, summaries)
    }
}

/// The polynomial of a case, and the length of both messages.
fn of_case(case: &Case) -> (Polynomial, usize) {
    let length_bytes = polynomial::length_bytes(case.length(&VECTOR_LENGTH));
    (Polynomial::new(case.length(&ORDER)), length_bytes)
}

/// The evaluating rank's part: receives the arguments of `peer`, and returns their values.
#[inline]
fn evaluate<T: Transport>(
    t: &T,
    peer: Rank,
    polynomial: Polynomial,
    (x, y): (&mut [u8], &mut [u8]),
) -> Result<Status> {
    let status = t.blocked_recv(Source::Rank(peer), OUT, x)?;
    polynomial.run(t, x, y);
    t.blocked_send(peer, BACK, y)?;
    Ok(status)
}

fn verify_owner<T: Transport>(
    cx: &Context<'_, T>,
    peer: Rank,
    polynomial: Polynomial,
    length_bytes: usize,
) -> Result<(), KernelError> {
    let t = cx.transport();
    let (mut x, mut y) = (cx.message(length_bytes)?, cx.message(length_bytes)?);
    polynomial::fill_arguments(&mut x);
    y.fill(u8::MAX);
    t.blocked_send(peer, OUT, &x)?;
    let status = t.blocked_recv(Source::Rank(peer), BACK, &mut y)?;
    let what = format!("the values from rank {peer}");
    pattern::check_status(status, peer, length_bytes, &what)?;
    cx.check_values(&mut polynomial::doubles(&y), |index| polynomial.value(index), &what)
}

fn verify_evaluator<T: Transport>(
    cx: &Context<'_, T>,
    peer: Rank,
    polynomial: Polynomial,
    length_bytes: usize,
) -> Result<(), KernelError> {
    let (mut x, mut y) = (cx.message(length_bytes)?, cx.message(length_bytes)?);
    x.fill(u8::MAX);
    let status = evaluate(cx.transport(), peer, polynomial, (&mut x, &mut y))?;
    let what = format!("the arguments from rank {peer}");
    pattern::check_status(status, peer, length_bytes, &what)?;
    cx.check_values(&mut polynomial::doubles(&x), polynomial::argument, &what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness;
    use comet_core::topology::Topology;

    #[test]
    fn poly3_verifies_and_is_sampled_on_the_test_node() {
        harness::check_kernel(&Poly3);
    }

    #[test]
    fn poly3_notices_a_corrupting_transport_on_both_ranks() {
        let case = Case::new(&INFO, &[100, 3]);
        let results = comet_core::local::run_with(Topology::hypercube(2), true, |t| {
            Poly3.verify(&mut harness::context(t, &INFO, false), &case)
        });
        let is_mismatch = |result| matches!(result, Err(KernelError::Mismatch { .. }));
        assert_eq!(results.into_iter().map(is_mismatch).collect::<Vec<_>>(), [true; 2]);
    }

    #[test]
    fn a_neighbour_and_an_order_are_needed() {
        let check = |n_ranks, order, expected: &str| {
            let case = Case::new(&INFO, &[100, order]);
            assert_eq!(
                admits(&case, &World::of(&Topology::hypercube(n_ranks))).unwrap_err(),
                expected
            );
        };
        check(1, 3, "needs at least 2 ranks, there is 1");
        check(2, 11, "a polynomial of order 11 is not known (use 1 to 10)");
    }
}
