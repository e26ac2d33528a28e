//! Notes on the starts of samples: windows that were given up, and ranks that start apart.

/// Share of a time from which on a skew of the starts is noted.
pub(crate) const MAX_SKEW_SHARE: f64 = 0.05;

/// Note on the starts of the samples of one kernel.
#[derive(Clone, Debug, PartialEq)]
pub enum StartNote {
    /// Ranks did not start together in windows; all cases of the kernel start after barriers.
    WindowGivenUp {
        /// The case in which they did not.
        case: String,
    },
    /// Times from the first start to the last finish hold a skew of the starts above 5 %.
    Apart {
        /// Number of such cases.
        n_cases: usize,
        /// The case with the largest share.
        case: String,
        /// Median of its skews, in nanoseconds.
        skew_ns: f64,
        /// Median of its times, in nanoseconds.
        time_ns: f64,
    },
}

impl StartNote {
    /// Name as in the record.
    pub fn code(&self) -> &'static str {
        match self {
            Self::WindowGivenUp { .. } => "window_given_up",
            Self::Apart { .. } => "start_skew",
        }
    }

    /// One sentence.
    pub fn describe(&self) -> String {
        match self {
            Self::WindowGivenUp { case } => format!(
                "windows were given up at {case}: most of its starts lay too far apart, so that all \
                 cases of the kernel that are still to be written start after a barrier"
            ),
            Self::Apart { n_cases, case, skew_ns, time_ns } => {
                let percent = skew_ns / time_ns * 100.0;
                let cases = if *n_cases == 1 { "case" } else { "cases" };
                format!(
                    "ranks start apart by more than 5 % of the time in {n_cases} {cases}: by \
                     {skew_ns:.0} ns of {time_ns:.0} ns ({percent:.0} %) in {case}"
                )
            }
        }
    }

    /// Remedy.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::WindowGivenUp { .. } => {
                "give each rank a core of its own, or ask for --sync barrier"
            }
            Self::Apart { .. } => {
                "the time of ranks that start together lies between the value and the value less the \
                 skew; give each rank a core of its own, and start in windows"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_names_the_case_and_the_share() {
        let check = |note: StartNote, code, sentence: &str| {
            assert_eq!((note.code(), &*note.describe()), (code, sentence));
        };
        let case = || "comet/reduction vector_length=1".to_owned();
        check(
            StartNote::WindowGivenUp { case: case() },
            "window_given_up",
            "windows were given up at comet/reduction vector_length=1: most of its starts lay too \
             far apart, so that all cases of the kernel that are still to be written start after a \
             barrier",
        );
        check(
            StartNote::Apart { n_cases: 2, case: case(), skew_ns: 59.4, time_ns: 250.0 },
            "start_skew",
            "ranks start apart by more than 5 % of the time in 2 cases: by 59 ns of 250 ns (24 %) \
             in comet/reduction vector_length=1",
        );
    }
}
