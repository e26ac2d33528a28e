//! Calibration of the clocks before anything is measured with them, and warnings that follow from
//! it.

/// Calibration of a rank's clock at start-up, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClockCalibration {
    /// Cost of one reading: least mean of 11 batches.
    pub cost_ns: f64,
    /// Cost of one reading: median of their means.
    pub median_cost_ns: f64,
    /// Smallest positive difference of two readings, or `None` if all were equal.
    pub step_ns: Option<u64>,
    /// Median difference of two readings back to back: what an empty interval reads.
    pub pair_bias_ns: f64,
    /// Time of an empty loop, for each repetition: least mean of 11 batches.
    pub loop_ns: f64,
    /// Gaps in a row of readings; `None` of a simulated clock, which nothing interrupts.
    pub gaps: Option<ClockGaps>,
}

/// Gaps between consecutive readings of a clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClockGaps {
    /// Number of gaps.
    pub n: u64,
    /// Gaps in which the clock stood still.
    pub n_zero: u64,
    /// Gaps in which it went back, which no clock may do.
    pub n_backwards: u64,
    /// Gaps above 1 us: something else had the processor.
    pub n_above_1_us: u64,
    /// Gaps above 50 us.
    pub n_above_50_us: u64,
    /// The longest gap, in nanoseconds.
    pub longest_ns: u64,
}

/// Factor between the costs of two ranks' clocks above which the ranks do not compare.
const MAX_COST_RATIO: f64 = 2.0;
/// Cost and step of a clock above which it is too coarse for latencies, in nanoseconds.
const MAX_COARSENESS_NS: f64 = 1000.0;

impl ClockCalibration {
    /// Reasons to doubt times of these clocks, one sentence each.
    pub fn warnings(of_ranks: &[Self]) -> Vec<String> {
        let all = [unequal_costs(of_ranks), coarse_clock(of_ranks), backward_clock(of_ranks)];
        all.into_iter().flatten().collect()
    }
}

fn unequal_costs(of_ranks: &[ClockCalibration]) -> Option<String> {
    let costs_ns = || of_ranks.iter().map(|calibration| calibration.cost_ns);
    let (rank, most_ns) = costs_ns().enumerate().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let least_ns = costs_ns().min_by(f64::total_cmp)?;
    (most_ns > MAX_COST_RATIO * least_ns).then(|| {
        format!(
            "a reading of the clock takes {most_ns:.1} ns on rank {rank}, more than twice the \
             {least_ns:.1} ns of the quickest rank (bind ranks to cores of one kind)"
        )
    })
}

fn coarse_clock(of_ranks: &[ClockCalibration]) -> Option<String> {
    let coarseness_ns = |calibration: &ClockCalibration| {
        calibration.cost_ns.max(calibration.step_ns.unwrap_or(0) as f64)
    };
    let all_ns = of_ranks.iter().map(coarseness_ns).enumerate();
    let (rank, ns) = all_ns.max_by(|a, b| a.1.total_cmp(&b.1))?;
    (ns > MAX_COARSENESS_NS).then(|| {
        format!(
            "the clock of rank {rank} is no finer than {ns:.0} ns, and latencies need 1000 ns \
             (have the system use a quicker clock source)"
        )
    })
}

fn backward_clock(of_ranks: &[ClockCalibration]) -> Option<String> {
    let mut gaps = of_ranks.iter().map(|calibration| calibration.gaps).enumerate();
    let (rank, n) = gaps.find_map(|(rank, gaps)| {
        gaps.filter(|gaps| gaps.n_backwards > 0).map(|gaps| (rank, gaps.n_backwards))
    })?;
    Some(format!(
        "the clock of rank {rank} went back {n} times while it was calibrated, and times \
         measured with it are wrong (have the system use another clock source)"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: ClockCalibration = ClockCalibration {
        cost_ns: 20.0,
        median_cost_ns: 21.0,
        step_ns: Some(16),
        pair_bias_ns: 20.0,
        loop_ns: 0.3,
        gaps: None,
    };

    fn check_warnings(of_ranks: [ClockCalibration; 3], expected: &[&str]) {
        assert_eq!(ClockCalibration::warnings(&of_ranks), expected);
    }

    #[test]
    fn clocks_that_make_times_doubtful_are_named() {
        check_warnings([GOOD; 3], &[]);
        check_warnings([GOOD, ClockCalibration { cost_ns: 40.0, ..GOOD }, GOOD], &[]);
        check_warnings(
            [GOOD, ClockCalibration { cost_ns: 40.5, ..GOOD }, GOOD],
            &[
                "a reading of the clock takes 40.5 ns on rank 1, more than twice the 20.0 ns of the \
               quickest rank (bind ranks to cores of one kind)",
            ],
        );
        check_warnings(
            [GOOD, GOOD, ClockCalibration { step_ns: Some(4_000_000), ..GOOD }],
            &["the clock of rank 2 is no finer than 4000000 ns, and latencies need 1000 ns (have \
               the system use a quicker clock source)"],
        );
        let gaps = Some(ClockGaps { n_backwards: 7, ..ClockGaps::default() });
        check_warnings(
            [GOOD, GOOD, ClockCalibration { gaps, ..GOOD }],
            &["the clock of rank 2 went back 7 times while it was calibrated, and times measured \
               with it are wrong (have the system use another clock source)"],
        );
    }
}
