//! Overlap: share of an exchange that is hidden behind a computation.
//!
//! **Source**: thesis section 3.3.7, figures 3.8 and 3.9; its figure 5.8 for the DAXPY alone.
//!
//! **Pattern**, the same on rank 0 (test node) and on its partner at one hop
//! ```text
//!   exchange       post send, post receive, wait for both
//!   daxpy                                                   y = a x + y
//!   synchronous    send, receive                          , y = a x + y
//!   asynchronous   post send, post receive, y = a x + y, wait for both
//! ```
//! **Timed** (rank 0): one line of the drawing each. Buffers and vectors are made before.
//!
//! **Reports**: the times t_c (exchange), t_w (daxpy), t_s (synchronous) and t_o (asynchronous). From
//! their medians follow the gain of the thesis, (t_s - t_o) / t_s, in percent, and the hidden share of
//! the shorter part, (t_c + t_w - t_o) / min(t_c, t_w): 1 if all of it is hidden, 0 if none is, below
//! 0 if the overlap costs more than it saves. The shares of IMB-NBC and OSU are given as well: of the
//! longer part, and of the exchange, clipped as there. OSU subtracts calls that test for progress;
//! there are none here.
//!
//! **Rate**: 2 x `length_bytes` / time, of the exchange alone.
//!
//! **Parameters**: `length_bytes`, `vector_length`.
//!
//! **Verified by**: other test data in each direction in all three exchanges; contents, source and
//! length on both ranks.
//!
//! **Caution**: t_c is taken with unblocked calls, which are the ones that may be hidden; t_s has
//! blocked ones, as in the thesis. Both send before they receive (see `comet/exchange`).
//! A transport that makes progress only inside its calls hides little.

use comet_core::kernel::prelude::*;
use comet_stats::fit::{self, OverlapTimes};

use crate::daxpy::Daxpy;
use crate::overlap;
use crate::pattern::Crossing;

/// Formulas of the hidden shares.
const SHARES: [&str; 3] = [
    "(t_c + t_w - t_o) / min(t_c, t_w), with the medians of exchange, daxpy and asynchronous",
    "(t_c + t_w - t_o) / max(t_c, t_w), clipped to 0..1, with those medians",
    "1 - (t_o - t_w) / t_c, clipped at 0, with those medians",
];

/// Numbers of the series.
const EXCHANGE: usize = 0;
const DAXPY: usize = 1;
const SYNCHRONOUS: usize = 2;

/// `comet/overlap`; see the [module](self).
pub(crate) struct Overlap;

/// One side of one series.
pub(crate) struct Overlapped<B> {
    series: usize,
    crossing: Crossing<B>,
    daxpy: Daxpy,
}

impl<T: Transport> Operation<T> for Overlapped<T::Buffer> {
    fn fill(&mut self, seeds: Seeds) {
        Operation::<T>::fill(&mut self.crossing, seeds);
        self.daxpy.reset();
    }

    #[inline]
    fn run(&mut self, t: &T) -> Result<()> {
        let Self { series, crossing, daxpy } = self;
        match *series {
            EXCHANGE => crossing.unblocked(t, || ()),
            DAXPY => daxpy.run(t),
            SYNCHRONOUS => {
                crossing.run(t)?;
                daxpy.run(t)
            }
            _ => crossing.unblocked(t, || daxpy.compute(t)),
        }
    }

    fn check(&mut self, check: &mut Checker) {
        if self.series != DAXPY {
            Operation::<T>::check(&mut self.crossing, check);
        }
        if self.series != EXCHANGE {
            self.daxpy.check_after(check.n_runs(), check);
        }
    }
}

impl<T: Transport> Pattern<T> for Overlap {
    const INFO: KernelInfo = KernelInfo {
        name: "overlap",
        file: include_str!("overlap.rs"),
        summary: "Exchange beside a DAXPY: one after the other, and overlapped",
        class: Class::Overlap,
        axes: &[
            AxisUse {
                axis: &LENGTH_BYTES,
                sweeps: [
                    "0,2536,85000",
                    "0,512,2536,10000,40000,85000",
                    "0..85000+5000,100,512,1024,2536",
                ],
            },
            AxisUse {
                axis: &VECTOR_LENGTH,
                sweeps: [
                    "1000,20000",
                    "0,2000,20000,80000,200000",
                    "0..200000+20000,1000,2000,5000,10000",
                ],
            },
        ],
        series: &[
            Series::on_test_node("exchange").moving(|case, _| Some(2 * case.value(&LENGTH_BYTES))),
            Series::on_test_node("daxpy"),
            Series::on_test_node("synchronous"),
            Series::on_test_node("asynchronous"),
        ],
        timing: Timing::Pipelined,
        bytes_per_rank: |case, _| {
            let of_messages = case.value(&LENGTH_BYTES).saturating_mul(2);
            of_messages.saturating_add(case.value(&VECTOR_LENGTH).saturating_mul(16))
        },
        has_layouts: true,
        ..KernelInfo::pair("comet")
    };
    type Part = Overlapped<T::Buffer>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, series: usize) -> Result<Role<Self::Part>> {
        let role = Crossing::part(cx, Pairing::ByHops(1), case.length(&LENGTH_BYTES))?;
        let daxpy = Daxpy::new(case.length(&VECTOR_LENGTH));
        Ok(role.map(|(duty, crossing)| (duty, Overlapped { series, crossing, daxpy })))
    }

    fn derived(&self, case: &Case, summaries: &[Summary]) -> Vec<Derived> {
        let [exchange, daxpy, synchronous, asynchronous] = summaries else { return Vec::new() };
        let (t_c, t_w) = (exchange.median, daxpy.median);
        let (t_s, t_o) = (synchronous.median, asynchronous.median);
        let times = OverlapTimes {
            communication: t_c,
            work: t_w,
            test: 0.0,
            overlapped: t_o,
            sequential: t_s,
        };
        // Without elements there is no work, and its time is that of an empty loop.
        let has_work = case.value(&VECTOR_LENGTH) > 0;
        let shares = has_work.then(|| fit::Overlap::of(&[times]).ok()).flatten();
        let improvement = Derived::of(
            "improvement_percent",
            "(t_s - t_o) / t_s * 100, with the medians of synchronous and \
             asynchronous",
            (t_s > 0.0).then(|| (t_s - t_o) / t_s * 100.0),
        );
        std::iter::once(improvement).chain(overlap::figures(shares, SHARES)).collect()
    }
}
