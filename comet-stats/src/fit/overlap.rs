//! Share of a transfer that is hidden behind work: four shares, by the definitions of four sources.
//!
//! ```text
//!   imb_min      (t_c + t_w - t_o) / min(t_c, t_w)   Intel MPI Benchmarks 3.2, and IMB-IO
//!   imb_nbc      (t_c + t_w - t_o) / max(t_c, t_w)   IMB-NBC
//!   osu          1 - (t_o - (t_w - t_test)) / t_c    OSU Micro-Benchmarks
//!   thesis_gain  (t_s - t_o) / t_s                   thesis section 5.5; at most one half
//! ```

use super::range::{Estimate, median};
use super::{FitError, positive};

/// The times of one slice, all in the same unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OverlapTimes {
    /// The transfer alone (`t_c`).
    pub communication: f64,
    /// The work alone (`t_w`), with the calls for progress in it.
    pub work: f64,
    /// Time of the test calls alone (`t_test`); 0 without them.
    pub test: f64,
    /// The transfer started, the work, the transfer waited for (`t_o`).
    pub overlapped: f64,
    /// The transfer, then the work (`t_s`).
    pub sequential: f64,
}

/// The four shares. They are not clipped: below 0, overlapping costs more than it hides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Overlap {
    /// The hidden share of the shorter of transfer and work; the default.
    pub imb_min: Estimate,
    /// Of the longer; IMB-NBC clips it to 0..1.
    pub imb_nbc: Estimate,
    /// The hidden share of the transfer; OSU clips it at 0.
    pub osu: Estimate,
    /// The saved share of the time one after the other.
    pub thesis_gain: Estimate,
}

impl Overlap {
    /// The shares from the medians of `slices`, whose times were measured close together.
    ///
    /// # Errors
    /// [`FitError`] if there is no slice, or if a time is not positive.
    pub fn of(slices: &[OverlapTimes]) -> Result<Self, FitError> {
        if slices.is_empty() {
            return Err(FitError::too_few(0, "slices", 1));
        }
        for slice in slices {
            for time in [slice.communication, slice.work, slice.overlapped, slice.sequential] {
                positive("time", time)?;
            }
        }
        let of = |share: fn(&OverlapTimes) -> f64| Estimate::of(slices, |s| share(&medians(s)));
        Ok(Self {
            imb_min: of(|t| hidden(t) / t.communication.min(t.work)),
            imb_nbc: of(|t| hidden(t) / t.communication.max(t.work)),
            osu: of(|t| 1.0 - (t.overlapped - (t.work - t.test)) / t.communication),
            thesis_gain: of(|t| (t.sequential - t.overlapped) / t.sequential),
        })
    }
}

/// The time that was hidden.
fn hidden(times: &OverlapTimes) -> f64 {
    times.communication + times.work - times.overlapped
}

/// The median of each time.
fn medians(slices: &[OverlapTimes]) -> OverlapTimes {
    let of = |time: fn(&OverlapTimes) -> f64| median(&slices.iter().map(time).collect::<Vec<_>>());
    OverlapTimes {
        communication: of(|t| t.communication),
        work: of(|t| t.work),
        test: of(|t| t.test),
        overlapped: of(|t| t.overlapped),
        sequential: of(|t| t.sequential),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A transfer of which this share is hidden behind the work.
    fn times(communication: f64, work: f64, share: f64) -> OverlapTimes {
        let sequential = communication + work;
        let overlapped = sequential - share * communication.min(work);
        OverlapTimes { communication, work, test: 0.0, overlapped, sequential }
    }

    #[track_caller]
    fn check(slices: &[OverlapTimes], expected: [f64; 4]) {
        let found = Overlap::of(slices).unwrap();
        let found = [found.imb_min, found.imb_nbc, found.osu, found.thesis_gain];
        for (found, expected) in found.into_iter().zip(expected) {
            assert!((found.value - expected).abs() < 1e-12, "{found:?} is not {expected}");
        }
    }

    #[test]
    fn a_transfer_that_is_wholly_hidden_has_the_shares_of_its_sources() {
        check(&[times(100.0, 50.0, 1.0)], [1.0, 0.5, 0.5, 1.0 / 3.0]);
        check(&[times(100.0, 200.0, 1.0)], [1.0, 0.5, 1.0, 1.0 / 3.0]);
        check(&[times(100.0, 100.0, 1.0)], [1.0, 1.0, 1.0, 0.5]);
    }

    #[test]
    fn a_transfer_that_is_not_hidden_has_no_overlap() {
        check(&[times(100.0, 200.0, 0.0)], [0.0; 4]);
        check(&[times(100.0, 200.0, -0.1)], [-0.1, -0.05, -0.1, -10.0 / 300.0]);
    }

    #[test]
    fn calls_for_progress_are_no_work() {
        let times = OverlapTimes { test: 20.0, ..times(100.0, 200.0, 0.5) };
        check(&[times], [0.5, 0.25, 0.3, 50.0 / 300.0]);
    }

    #[test]
    fn a_disturbance_of_whole_slices_does_not_widen_the_range() {
        let slow = |factor: f64| times(100.0 * factor, 200.0 * factor, 0.8);
        let slices: Vec<_> = (0..10).map(|i| slow(1.0 + 0.05 * f64::from(i))).collect();
        let found = Overlap::of(&slices).unwrap().imb_min;
        let range = found.range.unwrap();
        assert!((found.value - 0.8).abs() < 1e-12 && range.high - range.low < 1e-12, "{found:?}");
        assert_eq!(Overlap::of(&slices[..4]).unwrap().imb_min.range, None);
    }

    #[test]
    fn times_that_make_no_share_are_refused() {
        let check = |slices: &[OverlapTimes], expected: &str| {
            let error = Overlap::of(slices).unwrap_err().to_string();
            assert_eq!(error.split(" (").next(), Some(expected));
        };
        check(&[], "0 slices are too few");
        check(&[times(0.0, 1.0, 0.0)], "a time of 0 is no positive number");
    }
}
