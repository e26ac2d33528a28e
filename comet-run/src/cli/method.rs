//! Measurement method: definitions, synchronisation, rules and refinement, and their settings of the
//! driver.

use clap::Args;
use clap::builder::PossibleValuesParser;
use comet_core::definition::Definition;
use comet_core::driver::{Rules, Settings};
use comet_core::kernel::Cast;
use comet_core::sync::{Skew, StartSync};
use comet_stats::refine;

/// Measurement method.
#[derive(Debug, Args)]
#[command(next_help_heading = "Method")]
pub(crate) struct MethodArgs {
    /// Repetition and reporting rules: comet, imb (2021), osu, skampi (5) or thesis
    #[arg(long, value_name = "NAME", default_value = "comet", value_parser = rules())]
    pub(crate) rules: String,
    /// Combination of per-rank timings into one value: D1 to D9, or a name such as max_local, for operations of all ranks [default: by kernel, or by the rules]
    #[arg(long, value_name = "ID", value_parser = parse_definition)]
    pub(crate) definition: Option<Definition>,
    /// True if the definition is meant only for kernels that admit it; others get no note.
    #[arg(skip)]
    pub(crate) is_for_some: bool,
    /// Synchronisation before each sample: none, barrier, double-barrier, dissemination, window [default: window if each rank has a core, else barrier]
    #[arg(long, value_name = "HOW", value_parser = parse_sync)]
    pub(crate) sync: Option<StartSync>,
    /// Half width of the 95 % confidence interval at which a case is done, in percent of its median [default: 2.5, or 1 with --profile full]
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent)]
    pub(crate) target: Option<f64>,
    /// Order of a kernel's cases after the first pass
    #[arg(long, value_name = "HOW", default_value = "shuffled", value_parser = ["shuffled", "asc"])]
    pub(crate) order: String,
    /// Start ranks late on purpose, by up to SCALE times a case's own time: uniform, last or linear, as in last:0.5
    #[arg(long, value_name = "WHO[:SCALE]", value_parser = parse_skew)]
    pub(crate) skew: Option<(Skew, f64)>,
    /// Ranks of the load and of the echo in comet/contention: source, sink, and the two that echo [default: four whose routes share a link]
    #[arg(long, value_name = "S,K,A,B")]
    pub(crate) cast: Option<Cast>,
    /// Measure further message lengths where the times of a sweep bend or jump: verified, skampi, auto, or none [default: verified with --profile full, or else none]
    #[arg(long, value_name = "RULE", value_parser = parse_refinement)]
    pub(crate) refine: Option<Refinement>,
}

/// A rule of refinement, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refinement(pub(crate) Option<refine::Rule>);

impl MethodArgs {
    /// `settings` by this method; `is_thorough` says whether the profile refines by default.
    pub(crate) fn apply(&self, settings: &mut Settings, is_thorough: bool) {
        let of_name = |rules: &Rules| rules.name() == self.rules;
        settings.rules = Rules::ALL.into_iter().find(of_name).unwrap_or(Rules::Comet);
        settings.definition = self.definition;
        settings.sync = self.sync;
        settings.cast = self.cast;
        settings.is_shuffled = self.order == "shuffled";
        if let Some(percent) = self.target {
            settings.slices.target = Some(percent / 100.0);
            // An interval needs some slices.
            settings.slices.min = settings.slices.min.max(MIN_SLICES);
            settings.slices.max = settings.slices.max.max(2 * MIN_SLICES);
        }
        if let Some((skew, scale)) = self.skew {
            (settings.skew, settings.skew_scale) = (skew, scale);
        }
        let by_default = Refinement(is_thorough.then_some(refine::Rule::Verified));
        settings.refine = self.refine.unwrap_or(by_default).0;
    }
}

/// The fewest slices where the user asks for an interval.
const MIN_SLICES: u32 = 10;

fn rules() -> PossibleValuesParser {
    Rules::ALL.map(Rules::name).into()
}

fn parse_definition(text: &str) -> Result<Definition, String> {
    let names: Vec<&str> = Definition::all().map(Definition::name).collect();
    Definition::find(text).ok_or_else(|| {
        format!("no such definition (write an id or a name of: {})", names.join(", "))
    })
}

fn parse_sync(text: &str) -> Result<StartSync, String> {
    let names = StartSync::ALL.map(StartSync::name).join(", ");
    StartSync::from_name(text)
        .ok_or_else(|| format!("no such way to start (write one of: {names})"))
}

pub(super) fn parse_percent(text: &str) -> Result<f64, String> {
    let number: Option<f64> = text.trim_end_matches('%').parse().ok();
    let remedy = "not a share between 0.01 and 50 percent (write 2.5)";
    number.filter(|percent| (0.01..=50.0).contains(percent)).ok_or_else(|| remedy.to_owned())
}

fn parse_skew(text: &str) -> Result<(Skew, f64), String> {
    let remedy = || {
        "a skew is uniform, last or linear, and a scale from 0 to 100 (write last:0.5)".to_owned()
    };
    let (who, scale) = text.split_once(':').unwrap_or((text, "1"));
    let skew = match who {
        "uniform" => Skew::Uniform,
        "last" => Skew::Last,
        "linear" => Skew::Linear,
        _ => return Err(remedy()),
    };
    let scale = scale.parse().ok().filter(|scale| (0.0..=100.0).contains(scale));
    Ok((skew, scale.ok_or_else(remedy)?))
}

fn parse_refinement(text: &str) -> Result<Refinement, String> {
    if text == "none" {
        return Ok(Refinement(None));
    }
    let rule = refine::Rule::ALL.into_iter().find(|rule| rule.name() == text);
    rule.map(|rule| Refinement(Some(rule)))
        .ok_or_else(|| "no such rule (write verified, skampi, auto or none)".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_and_others_answered_with_what_is_known() {
        assert_eq!(parse_skew("last"), Ok((Skew::Last, 1.0)));
        assert_eq!(parse_skew("uniform:0.5"), Ok((Skew::Uniform, 0.5)));
        for text in ["first", "last:", "last:-1", "last:1e9", ""] {
            assert!(parse_skew(text).unwrap_err().contains("write last:0.5"), "{text}");
        }
        assert_eq!(["2.5", "2.5%"].map(parse_percent), [Ok(2.5), Ok(2.5)]);
        for text in ["0", "-1", "51", "few"] {
            assert!(parse_percent(text).unwrap_err().contains("write 2.5"), "{text}");
        }
        assert!(parse_definition("D11").unwrap_err().contains("D1 completion"));
        assert!(parse_sync("spin").unwrap_err().contains("double-barrier"));
        assert!(parse_refinement("all").unwrap_err().contains("verified"));
    }
}
