//! Measurement method: definitions, synchronisation, rules and refinement, and their settings of the
//! driver.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use clap::Args;
use clap::builder::PossibleValuesParser;
use comet_core::collective::Graph;
use comet_core::definition::Definition;
use comet_core::driver::{Rules, Settings};
use comet_core::kernel::{Buffers, Cast, Touch};
use comet_core::layout::{Layout, Layouts};
use comet_core::sync::{Skew, StartSync};
use comet_report::environment;
use comet_stats::refine;

use super::storage::StorageArgs;
use super::values::parse_bytes;

/// Measurement method.
#[derive(Debug, Args)]
#[command(next_help_heading = "Method")]
pub(crate) struct MethodArgs {
    /// Repetition and reporting rules: comet, imb (2021), imb-3.2, imb-p2p (2021), osu, skampi (5) or thesis
    #[arg(long, value_name = "NAME", default_value = "comet", value_parser = rules(), hide_short_help = true)]
    pub(crate) rules: String,
    /// Combination of per-rank timings into one value: D1 to D9, or a name such as max_local, for operations of all ranks [default: by kernel, or by the rules]
    #[arg(long, value_name = "ID", value_parser = parse_definition, hide_short_help = true)]
    pub(crate) definition: Option<Definition>,
    /// True if the definition is meant only for kernels that admit it; others get no note.
    #[arg(skip)]
    pub(crate) is_for_some: bool,
    /// Synchronisation before each sample: none, barrier, double-barrier, dissemination, window [default: window if each rank has a core, else barrier]
    #[arg(long, value_name = "HOW", value_parser = parse_sync, hide_short_help = true)]
    pub(crate) sync: Option<StartSync>,
    /// Half width of the 95 % confidence interval at which a case is done, in percent of its median [default: 2.5, or 1 with --profile full]
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent, hide_short_help = true)]
    pub(crate) target: Option<f64>,
    /// Order of a kernel's cases after the first pass
    #[arg(long, value_name = "HOW", default_value = "shuffled", value_parser = ["shuffled", "asc"], hide_short_help = true)]
    pub(crate) order: String,
    /// Start ranks late on purpose, by up to SCALE times a case's own time: uniform, last or linear, as in last:0.5
    #[arg(long, value_name = "WHO[:SCALE]", value_parser = parse_skew, hide_short_help = true)]
    pub(crate) skew: Option<(Skew, f64)>,
    /// Buffers of the repetitions: same, rotate (through an arena of twice the last-level cache), offcache:SIZE (the same for a cache of that size), cycle:SIZE (through memory of that size and up to 32 sets of buffers, as SKaMPI 5), or touched (written before each send, read after each receive; touched:lines reads a byte of each cache line, touched:sent and touched:received do one of both)
    #[arg(long, value_name = "MODE", default_value = "same", value_parser = parse_buffers, hide_short_help = true)]
    pub(crate) buffers: Buffers,
    /// Ranks of the load and of the echo in comet/contention: source, sink, and the two that echo [default: four whose routes share a link]
    #[arg(long, value_name = "S,K,A,B", hide_short_help = true)]
    pub(crate) cast: Option<Cast>,
    /// File with the graph of the neighbours in osu/neighbor_*, an edge SOURCE,DESTINATION a line [default: a torus]
    #[arg(long, value_name = "FILE", value_parser = parse_graph, hide_short_help = true)]
    pub(crate) graph: Option<Graph>,
    #[command(flatten)]
    pub(crate) storage: StorageArgs,
    /// Layouts of the messages of pairs of ranks and of collectives that move data, in elements of --axis datatype, as in contiguous,vector:1:2,packed:vector:1:2 (docs/usage.md has all) [default: no derived datatype]
    #[arg(long, value_name = "LAYOUTS", value_parser = parse_layouts, hide_short_help = true)]
    pub(crate) layout: Option<LayoutList>,
    /// Measure further message lengths where the times of a sweep bend or jump: verified, skampi, auto; where another algorithm becomes the fastest: crossings; or none [default: verified with --profile full, or else none]
    #[arg(long, value_name = "RULE", value_parser = parse_refinement, hide_short_help = true)]
    pub(crate) refine: Option<Refinement>,
}

/// A rule of refinement, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refinement(pub(crate) Option<refine::Rule>);

/// Layouts of messages, each of which is measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LayoutList(Vec<Arc<Layouts>>);

impl MethodArgs {
    /// The layouts of the messages, none without gaps.
    pub(crate) fn layouts(&self) -> Vec<Arc<Layouts>> {
        self.layout.clone().map_or(Vec::new(), |list| list.0)
    }

    /// `settings` by this method; `is_thorough` says whether the profile refines by default.
    pub(crate) fn apply(&self, settings: &mut Settings, is_thorough: bool) {
        let of_name = |rules: &Rules| rules.name() == self.rules;
        settings.rules = Rules::ALL.into_iter().find(of_name).unwrap_or(Rules::Comet);
        settings.definition = self.definition;
        settings.sync = self.sync;
        settings.cast = self.cast;
        settings.graph.clone_from(&self.graph);
        settings.files = self.storage.folder();
        settings.layouts = self.layouts();
        settings.buffers = self.buffers;
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

/// The largest cache that buffers can be moved out of, and the most memory that they go through.
const MAX_CACHE_BYTES: u64 = 1 << 40;

fn rules() -> PossibleValuesParser {
    Rules::ALL.map(Rules::name).into()
}

fn parse_graph(path: &str) -> Result<Graph, String> {
    let text = fs::read_to_string(path);
    text.map_err(|error| format!("cannot be read: {error} (name a file of edges)"))?.parse()
}

fn parse_layouts(text: &str) -> Result<LayoutList, String> {
    let list = Layouts::list(text, |path| {
        let text = fs::read_to_string(path);
        let text =
            text.map_err(|error| format!("cannot be read: {error} (name a file of blocks)"))?;
        Layout::indx(&text)
    })?;
    Ok(LayoutList(list.into_iter().map(Arc::new).collect()))
}

fn parse_definition(text: &str) -> Result<Definition, String> {
    let names: Vec<&str> = Definition::all().map(Definition::name).collect();
    Definition::find(text).ok_or_else(|| {
        format!("no such definition (write an id or a name of: {})", names.join(", "))
    })
}

fn parse_sync(text: &str) -> Result<StartSync, String> {
    let names = StartSync::ALL.map(StartSync::name).join(", ");
    StartSync::find(text).ok_or_else(|| format!("no such way to start (write one of: {names})"))
}

pub(super) fn parse_percent(text: &str) -> Result<f64, String> {
    let number: Option<f64> = text.trim_end_matches('%').trim_end().parse().ok();
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

fn parse_buffers(text: &str) -> Result<Buffers, String> {
    let expected = || {
        let largest = MAX_CACHE_BYTES >> 30;
        format!(
            "not a mode, or not a size up to {largest}Gi (write same, rotate, offcache:32Mi, cycle:4Mi, \
             touched or touched:lines)"
        )
    };
    if let Some(touch) = Touch::ALL.into_iter().find(|touch| touch.name() == text) {
        return Ok(Buffers::Touched(touch));
    }
    match text {
        "same" => Ok(Buffers::Same),
        "rotate" => {
            let bytes = environment::last_level_cache_bytes(Path::new("/"));
            let unknown = "the size of the last-level cache is unknown (write offcache:SIZE)";
            bytes.map(Buffers::Rotate).ok_or_else(|| unknown.to_owned())
        }
        _ => {
            let (mode, size): (fn(u64) -> Buffers, _) = match text.split_once(':') {
                Some(("offcache", size)) => (Buffers::OffCache, size),
                Some(("cycle", size)) => (Buffers::Cycle, size),
                _ => return Err(expected()),
            };
            let bytes = parse_bytes(size).ok();
            let possible = bytes.filter(|bytes| (1..=MAX_CACHE_BYTES).contains(bytes));
            possible.map(mode).ok_or_else(expected)
        }
    }
}

fn parse_refinement(text: &str) -> Result<Refinement, String> {
    if text == "none" {
        return Ok(Refinement(None));
    }
    let rule = refine::Rule::ALL.into_iter().find(|rule| rule.name() == text);
    rule.map(|rule| Refinement(Some(rule)))
        .ok_or_else(|| "no such rule (write verified, skampi, auto, crossings or none)".to_owned())
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
        assert_eq!(["2.5", "2.5%", "2.5 %"].map(parse_percent), [Ok(2.5), Ok(2.5), Ok(2.5)]);
        for text in ["0", "-1", "51", "few"] {
            assert!(parse_percent(text).unwrap_err().contains("write 2.5"), "{text}");
        }
        assert!(parse_definition("D11").unwrap_err().contains("D1 completion"));
        assert!(parse_sync("spin").unwrap_err().contains("double-barrier"));
        assert!(parse_refinement("all").unwrap_err().contains("verified"));
        assert_eq!(parse_buffers("offcache:2Mi"), Ok(Buffers::OffCache(2 << 20)));
        assert_eq!(parse_buffers("cycle:64Ki"), Ok(Buffers::Cycle(64 << 10)));
        for (text, touch) in [("touched", Touch::Bytes), ("touched:sent", Touch::Sent)] {
            assert_eq!(parse_buffers(text), Ok(Buffers::Touched(touch)));
        }
        for text in ["cold", "offcache", "offcache:0", "offcache:2Ti", "cycle", "cycle:0"] {
            assert!(parse_buffers(text).unwrap_err().contains("offcache:32Mi"), "{text}");
        }
    }
}
