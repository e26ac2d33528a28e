//! Values on the command line: texts that become a mesh, a time, a size, a list of CPUs.
//!
//! Each parser says what is wrong and how to write it; clap adds the option and the value.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use comet_core::driver::{LoopLimits, Multiples};
use comet_core::kernel::{FAULTS, Fault};
use comet_core::sweep;

/// Dimensions of a processor mesh, as in `2x4`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MeshShape {
    /// Number of rows.
    pub(crate) rows: usize,
    /// Number of columns.
    pub(crate) cols: usize,
}

impl fmt::Display for MeshShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.rows, self.cols)
    }
}

/// CPUs of the ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Binding {
    /// Each rank on one CPU, round robin.
    Core,
    /// Wherever the system puts them.
    None,
    /// The CPUs that the launcher chose before this program started; cannot be asked for.
    Launcher,
    /// On these CPUs, round robin.
    List(Vec<usize>),
}

impl Binding {
    /// Number of CPUs that the ranks share, of the `n_cpus` that they may use.
    pub(crate) fn n_cpus(&self, n_cpus: usize) -> usize {
        let Self::List(cpus) = self else { return n_cpus };
        cpus.iter().collect::<BTreeSet<_>>().len().min(n_cpus)
    }
}

impl fmt::Display for Binding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Core => f.write_str("core"),
            Self::None => f.write_str("none"),
            Self::Launcher => f.write_str("launcher"),
            Self::List(cpus) => {
                let cpus: Vec<String> = cpus.iter().map(usize::to_string).collect();
                f.write_str(&cpus.join(","))
            }
        }
    }
}

/// Reads `ROWSxCOLS`.
pub(crate) fn parse_mesh(text: &str) -> Result<MeshShape, String> {
    let dimension = |text: &str| text.parse().ok().filter(|n| (1..=MAX_RANKS).contains(n));
    let shape = text
        .split_once('x')
        .and_then(|(rows, cols)| Some(MeshShape { rows: dimension(rows)?, cols: dimension(cols)? }))
        .filter(|shape| shape.rows * shape.cols <= MAX_RANKS);
    shape.ok_or_else(|| {
        format!("a mesh is rows x columns of 1 to {MAX_RANKS} ranks in all (write 2x4)")
    })
}

/// The most ranks that one run may have; a backend may start fewer.
pub(crate) const MAX_RANKS: usize = 1 << 20;

/// Numbers of ranks, ascending: the selection is run with each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RankCounts(pub(crate) Vec<usize>);

/// Reads numbers of ranks such as `4`, `2,4,8` or `2..16*2`.
pub(crate) fn parse_ranks(text: &str) -> Result<RankCounts, String> {
    let remedy =
        || format!("a run has 1 to {MAX_RANKS} ranks (write -n 4, or -n 2..16*2 for several runs)");
    let counts = sweep::parse(text, None).map_err(|_| remedy())?;
    let count = |n: u64| usize::try_from(n).ok().filter(|n| (1..=MAX_RANKS).contains(n));
    counts.into_iter().map(count).collect::<Option<_>>().map(RankCounts).ok_or_else(remedy)
}

/// Number of samples of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SampleCount {
    /// So many.
    Exactly(u32),
    /// At least the first, at most the second.
    Within([u32; 2]),
}

impl SampleCount {
    /// The number, if it is one.
    pub(crate) fn exact(self) -> Option<u32> {
        match self {
            Self::Exactly(n) => Some(n),
            Self::Within(_) => None,
        }
    }

    /// The fewest and the most, if they are given.
    pub(crate) fn bounds(self) -> Option<[u32; 2]> {
        match self {
            Self::Exactly(_) => None,
            Self::Within(bounds) => Some(bounds),
        }
    }
}

/// The most samples of a case.
const MAX_SAMPLES: u32 = 1_000_000;

/// Reads a number of samples, or the fewest and the most of them such as `8..32`.
pub(crate) fn parse_samples(text: &str) -> Result<SampleCount, String> {
    let remedy = || {
        format!("samples are 1 to {MAX_SAMPLES}, or the fewest and the most (write 100, or 8..32)")
    };
    let count = |text: &str| -> Result<u32, String> {
        let n = text.trim().parse().ok().filter(|n| (1..=MAX_SAMPLES).contains(n));
        n.ok_or_else(remedy)
    };
    let Some((least, most)) = text.split_once("..") else {
        return count(text).map(SampleCount::Exactly);
    };
    let bounds = [count(least)?, count(most)?];
    Some(SampleCount::Within(bounds)).filter(|_| bounds[0] <= bounds[1]).ok_or_else(remedy)
}

/// Reads a time such as `200ms`, `1m 30s` or `0`.
pub(crate) fn parse_time(text: &str) -> Result<Duration, String> {
    if text.trim() == "0" {
        return Ok(Duration::ZERO);
    }
    let remedy = "a time is a number with a unit (write 200ms, 30s or 5m)";
    humantime::parse_duration(text).map_err(|_| remedy.to_owned())
}

/// Reads a time above zero.
pub(crate) fn parse_positive_time(text: &str) -> Result<Duration, String> {
    match parse_time(text)? {
        Duration::ZERO => Err("the time must be above zero (write 200ms, 30s or 5m)".into()),
        time => Ok(time),
    }
}

/// Reads limits of loops such as `40Mi,10s` or `40Mi,10s,210s`, where `none` stands for any of them,
/// and alone for all.
pub(crate) fn parse_loop_limits(text: &str) -> Result<LoopLimits, String> {
    let expected = "the limits are a size, a time, and a time of all lengths (write 40Mi,10s,210s, or \
                    none for any of them)";
    let words: Vec<&str> = text.split(',').map(str::trim).collect();
    let ns = |word: &str| match word {
        "none" => Ok(f64::INFINITY),
        _ => parse_positive_time(word).map(|time| time.as_secs_f64() * 1e9),
    };
    let (size, time, of_all) = match words[..] {
        ["none"] => return Ok(LoopLimits::NONE),
        [size, time] => (size, time, "none"),
        [size, time, of_all] => (size, time, of_all),
        _ => return Err(expected.into()),
    };
    let bytes = if size == "none" { u64::MAX } else { parse_bytes(size)? };
    Ok(LoopLimits { bytes, ns: ns(time)?, sweep_ns: ns(of_all)?, ..LoopLimits::NONE })
}

/// Reads the longest length of loops with a multiple of the number of ranks, such as `4Mi`, or
/// `4Mi,rooted`.
pub(crate) fn parse_multiples(text: &str) -> Result<Multiples, String> {
    let (size, kind) = text.split_once(',').map_or((text, None), |(a, b)| (a, Some(b.trim())));
    match kind {
        None | Some("rooted") => {
            let longest_bytes = parse_unit(size)?;
            Ok(Multiples { longest_bytes, of_rooted: kind.is_some() })
        }
        Some(kind) => Err(format!("'{kind}' is no kind of operations (write 4Mi or 4Mi,rooted)")),
    }
}

/// Reads an amount of memory such as `512Mi`.
pub(crate) fn parse_bytes(text: &str) -> Result<u64, String> {
    sweep::parse_count(text).map_err(|error| error.to_string())
}

/// Reads a length in bytes above zero.
pub(crate) fn parse_unit(text: &str) -> Result<u64, String> {
    match parse_bytes(text)? {
        0 => Err("there is no multiple of 0 bytes (write 4)".into()),
        bytes => Ok(bytes),
    }
}

/// Reads a date, with a time or without.
pub(crate) fn parse_date(text: &str) -> Result<std::time::SystemTime, String> {
    let expected = "expected a date (write 2024-05-06 or 2024-05-06T07:08:09Z)";
    comet_report::import::date(text).ok_or_else(|| format!("'{text}' is none, {expected}"))
}

/// Reads a label, `KEY=VALUE`.
pub(crate) fn parse_label(text: &str) -> Result<(String, String), String> {
    parse_pair(text, "a label is a key and a value (write machine=tiger)")
}

/// Reads an axis with its values, `NAME=VALUES`.
pub(crate) fn parse_axis(text: &str) -> Result<(String, String), String> {
    parse_pair(text, "an axis has a name and values (write hops=1..max)")
}

fn parse_pair(text: &str, remedy: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err(remedy.into()),
    }
}

/// Reads `core`, `none` or a list of CPUs such as `0,2,4..7`.
pub(crate) fn parse_binding(text: &str) -> Result<Binding, String> {
    match text {
        "core" => return Ok(Binding::Core),
        "none" => return Ok(Binding::None),
        _ => (),
    }
    let cpus = text.split(',').map(parse_cpus).collect::<Option<Vec<_>>>();
    let remedy = "ranks are bound to core, none or a list of CPUs (write 0,2,4..7)";
    Ok(Binding::List(cpus.ok_or(remedy)?.concat()))
}

fn parse_cpus(item: &str) -> Option<Vec<usize>> {
    let (first, last) = item.split_once("..").unwrap_or((item, item));
    let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
    (first <= last && last < 1 << 16).then(|| (first..=last).collect())
}

/// Reads `FAULT:KERNEL`.
pub(crate) fn parse_injection(text: &str) -> Result<(&'static Fault, String), String> {
    let (name, kernel) = text.split_once(':').unwrap_or((text, ""));
    match Fault::named(name).filter(|_| !kernel.is_empty()) {
        Some(fault) => Ok((fault, kernel.to_owned())),
        None => {
            let names = FAULTS.each_ref().map(|fault| fault.name).join(", ");
            Err(format!("write FAULT:KERNEL, as in corrupt:echo (faults are {names})"))
        }
    }
}

/// A factor that a healthy part may be slower by.
pub(crate) fn parse_factor(text: &str) -> Result<f64, String> {
    let factor = text.parse().ok().filter(|factor: &f64| factor.is_finite() && *factor > 1.0);
    factor.ok_or_else(|| "a ratio is a number above 1 (write 1.1)".to_owned())
}

/// Reads a share such as `5%` or `0.05`.
pub(crate) fn parse_share(text: &str) -> Result<f64, String> {
    let (number, unit) = text.trim().strip_suffix('%').map_or((text, 1.0), |number| (number, 0.01));
    let share = number.trim().parse::<f64>().ok().map(|number| unit * number);
    share
        .filter(|share| (0.0..1.0).contains(share))
        .ok_or_else(|| "a share is 0 to below 1 (write 5% or 0.05)".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Holds what `parse` makes of each text against the value beside it, if it has one.
    fn check<V: PartialEq + fmt::Debug>(
        parse: fn(&str) -> Result<V, String>,
        rows: impl IntoIterator<Item = (&'static str, Option<V>)>,
    ) {
        for (text, expected) in rows {
            assert_eq!(parse(text).ok(), expected, "{text}");
        }
    }

    #[test]
    fn limits_of_loops_are_two_or_three_each_of_which_may_be_none() {
        let limits =
            |bytes, ns, sweep_ns| Some(LoopLimits { bytes, ns, sweep_ns, ..LoopLimits::NONE });
        let none = f64::INFINITY;
        check(
            parse_loop_limits,
            [
                ("none", Some(LoopLimits::NONE)),
                ("40Mi,10s", limits(40 << 20, 10e9, none)),
                ("40Mi, 10s, 210s", Some(LoopLimits::IMB)),
                ("40Mi,0.00001s,0.00021s", limits(40 << 20, 10_000.0, 210_000.0)),
                ("none,none,210s", limits(u64::MAX, none, 210e9)),
                ("1Ki,none", limits(1024, none, none)),
            ],
        );
        check(
            parse_loop_limits,
            ["", "40Mi", "10s,40Mi", "1,1s,0s", "1,1s,1s,1s"].map(|t| (t, None)),
        );
        let multiples = |longest_bytes, of_rooted| Some(Multiples { longest_bytes, of_rooted });
        check(
            parse_multiples,
            [
                ("4Mi", multiples(4 << 20, false)),
                ("8,rooted", multiples(8, true)),
                ("0", None),
                ("4Mi,all", None),
            ],
        );
        check(parse_unit, [("4", Some(4)), ("1Ki", Some(1024)), ("0", None), ("-1", None)]);
    }

    #[test]
    fn texts_become_values_and_others_are_refused() {
        let shape = |rows, cols| Some(MeshShape { rows, cols });
        check(parse_mesh, [("2x4", shape(2, 4)), ("1x1", shape(1, 1))]);
        let none = ["", "4", "0x4", "2x", "2x-1", "2x4x8", "2048x1024", "99999999999x1"];
        check(parse_mesh, none.map(|text| (text, None)));
        let ms = |n| Some(Duration::from_millis(n));
        check(parse_time, [("0", ms(0)), ("200ms", ms(200)), ("1m 30s", ms(90_000))]);
        check(parse_time, [("5", None), ("soon", None)]);
        check(parse_positive_time, [("0s", None)]);
        let list = Binding::List(vec![3, 0, 1, 2]);
        check(parse_binding, [("core", Some(Binding::Core)), ("none", Some(Binding::None))]);
        check(parse_binding, [("3,0..2", Some(list))]);
        let none = ["", "cores", "launcher", "1,,2", "3..1", "0..99999999"];
        check(parse_binding, none.map(|text| (text, None)));
        let counts = |counts: &[usize]| Some(RankCounts(counts.to_vec()));
        check(parse_ranks, [("4", counts(&[4])), ("8,2..4", counts(&[2, 3, 4, 8]))]);
        check(parse_ranks, ["0", "-1", "1048577", "four"].map(|text| (text, None)));
        check(
            parse_label,
            [("a=b=c", Some(("a".into(), "b=c".into()))), ("=b", None), ("a", None)],
        );
        check(parse_share, [("5%", Some(0.05)), ("0.25", Some(0.25)), ("0", Some(0.0))]);
        check(parse_share, ["5", "-1%", "100%", "NaN", "much"].map(|text| (text, None)));
        check(parse_factor, [("1.25", Some(1.25))]);
        check(parse_factor, ["1", "0.9", "-2", "10%", "inf", "NaN", ""].map(|text| (text, None)));
        assert!(parse_factor("1").unwrap_err().contains("write 1.1"));
    }

    #[test]
    fn a_list_of_cpus_is_all_that_its_ranks_have() {
        assert_eq!(Binding::Core.n_cpus(8), 8);
        assert_eq!(Binding::List(vec![0, 3, 0]).n_cpus(8), 2);
        assert_eq!(Binding::List(vec![3, 0]).to_string(), "3,0");
    }
}
