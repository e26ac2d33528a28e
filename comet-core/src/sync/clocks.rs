//! One time for all ranks: that of rank 0's clock, which the others learn by exchanges.
//!
//! ```text
//!   ranks that read one clock: a domain; its lowest rank leads      offset exactly 0
//!   leaders: 10 bursts of 100 exchanges, 0.2 s apart, with a leader that knows   offset and drift
//!   members of a domain: what their leader has learnt
//! ```

use crate::collective::{bytes, share, words};
use crate::error::{Result, TransportError, TransportErrorKind};
use crate::transport::{Rank, Source, Tag, Transport};

use comet_stats::whole;

use super::burst::{Burst, Exchanges, Teacher, learn, teach};
use super::domain::Domains;
use super::model::{Model, N_FIRST};
use super::tree::{self, Level};

/// From the start of one of the first bursts to the next: so far apart that the drift shows.
const PAUSE_NS: u64 = 200_000_000;
/// The largest drift that is believed: quartz is right to 100 parts in a million.
const MAX_DRIFT: f64 = 200e-6;

const MODEL: Tag = Tag::reserved(9);

/// One rank's way to the time of rank 0's clock.
///
/// ```
/// use comet_core::{local, sync::GlobalClock, transport::Transport};
/// let is_identity = local::run(3, |t| {
///     let clock = GlobalClock::agree(t)?;
///     let now_ns = t.now_ns();
///     assert_eq!((clock.n_domains(), clock.bound_ns()), (1, 0));
///     Ok::<_, comet_core::error::TransportError>(clock.to_global_ns(now_ns) == now_ns)
/// });
/// assert!(is_identity.into_iter().all(|result| result.unwrap()));
/// ```
#[derive(Clone, Debug)]
pub struct GlobalClock {
    domains: Domains,
    /// Levels of this rank as a leader.
    levels: Vec<Level>,
    /// Model of this rank's clock; `None` if it is that of rank 0.
    model: Option<Model>,
    bound_ns: i64,
    /// Offsets of the leaders' clocks, in the order of their ranks.
    offsets: Vec<ClockOffset>,
}

/// Offset of a clock from that of rank 0, as exchanges found it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClockOffset {
    /// The lowest rank that reads the clock.
    pub rank: Rank,
    /// Reading of the clock less that of rank 0's at the same moment, in nanoseconds, at the latest
    /// comparison.
    pub offset_ns: i64,
    /// Guaranteed error bound of the offset, in nanoseconds.
    pub bound_ns: u64,
    /// Drift of the clock against rank 0's, in millionths.
    pub drift_ppm: f64,
}

/// Reason that a clock has no place in global time.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Trouble {
    /// It was set meanwhile, or the clock that it was compared with.
    WasSet,
    /// It drifts by so many millionths.
    Drifts(u32),
}

impl GlobalClock {
    /// Finds out how the clocks of all ranks differ; all ranks call it.
    ///
    /// Takes 64 exchanges for each rank where all read one clock, and about 2 s more where they do
    /// not, for each level of leaders: one for up to 8, or else the logarithm of their number.
    ///
    /// # Errors
    /// [`Unsupported`](TransportErrorKind::Unsupported) on all ranks alike, if a clock was set
    /// meanwhile, or if it drifts by more than 200 ppm; others if the job has failed.
    pub fn agree<T: Transport>(t: &T) -> Result<Self> {
        // The domains of simulated clocks are what their machine says.
        let (clock, now_ns) = (t.clock(), || t.now_ns().cast_signed());
        t.annotate("finds the ranks that read one clock", 0);
        let domains = Domains::find(t, clock.domain, !clock.is_virtual, &now_ns)?;
        let levels = tree::levels(&domains.leaders, t.rank());
        let mut global = Self { domains, levels, model: None, bound_ns: 0, offsets: Vec::new() };
        if global.n_domains() > 1 {
            global.learn_first(t)?;
        }
        Ok(global)
    }

    /// Compares the clocks once more, so that times since the last comparison can be converted
    /// from both sides; all ranks call it. Costs nothing if all read one clock.
    ///
    /// # Errors
    /// [`Unsupported`](TransportErrorKind::Unsupported) on all ranks alike, if a clock was set since
    /// the last comparison or drifts by more than 200 ppm, so that its times are not to be trusted;
    /// others if the job has failed.
    pub fn refresh<T: Transport>(&mut self, t: &T) -> Result<()> {
        if self.n_domains() == 1 {
            return Ok(());
        }
        let mut outcome = Ok(0);
        for level in self.levels.clone() {
            if let Some(parent) = level.parent {
                outcome = self.learn_once(t, parent)?;
            }
            self.teach(t, &level)?;
        }
        self.settle(t, outcome)?;
        self.pass_on(t, 1)
    }

    /// The global time at which this rank's clock showed `local_ns`, in nanoseconds.
    ///
    /// Before the last comparison it lies between the comparisons before and after; later it goes on
    /// as the clock drifted of late. It is 0 where it would be less.
    pub fn to_global_ns(&self, local_ns: u64) -> u64 {
        let Some(model) = &self.model else { return local_ns };
        model.global_ns(local_ns.cast_signed()).max(0).cast_unsigned()
    }

    /// Reading of this rank's clock at the global time `global_ns`, which is still to come.
    pub fn to_local_ns(&self, global_ns: u64) -> u64 {
        let Some(model) = &self.model else { return global_ns };
        model.local_ns(global_ns.cast_signed()).max(0).cast_unsigned()
    }

    /// Error bound of the global time of a rank when clocks were compared, in nanoseconds: half of
    /// the widest interval that exchanges left, and that of the parents; 0 if all ranks read one
    /// clock.
    pub fn bound_ns(&self) -> u64 {
        self.bound_ns.cast_unsigned()
    }

    /// Offsets of all clocks from that of rank 0, one for each, rank 0's own first; empty on other
    /// ranks, and if all ranks read one clock.
    pub fn offsets(&self) -> &[ClockOffset] {
        &self.offsets
    }

    /// Number of different clocks that the ranks read.
    pub fn n_domains(&self) -> usize {
        self.domains.leaders.len()
    }

    /// True if exchanges have confirmed the reported clock domains; not asked for if clocks are
    /// simulated.
    pub fn is_verified(&self) -> bool {
        self.domains.is_verified
    }

    /// Bursts of the comparisons of this rank's clock; empty if it is that of rank 0.
    pub fn bursts(&self) -> &[Burst] {
        self.model.as_ref().map_or(&[], Model::bursts)
    }

    /// Drift of this rank's clock against that of rank 0, in nanoseconds for each nanosecond.
    pub fn drift(&self) -> f64 {
        self.model.as_ref().map_or(0.0, Model::drift)
    }

    /// All leaders learn the global time, and then all ranks.
    fn learn_first<T: Transport>(&mut self, t: &T) -> Result<()> {
        let (n_levels, n_pauses) = (self.levels.len() as u64, N_FIRST as u64);
        t.annotate("compares its clock with others", n_levels * n_pauses * PAUSE_NS);
        let mut outcome = Ok(0);
        for level in self.levels.clone() {
            let bursts = self.run_level(t, &level)?;
            if level.parent.is_some() {
                let model = first_model(&bursts);
                self.model = model.as_ref().ok().cloned();
                outcome = model.and(Ok(self.own_bound_ns()));
            }
        }
        self.settle(t, outcome)?;
        self.pass_on(t, N_FIRST)
    }

    /// The first bursts of a level, in which this rank learns, teaches or does nothing.
    fn run_level<T: Transport>(&self, t: &T, level: &Level) -> Result<Vec<Option<Exchanges>>> {
        let mut bursts = Vec::new();
        if *level == Level::default() {
            return Ok(bursts);
        }
        let start_ns = t.now_ns();
        for i in 0..N_FIRST as u64 {
            t.wait_until_ns(start_ns + i * PAUSE_NS);
            if let Some(parent) = level.parent {
                bursts.push(learn(t, parent, 0.0, &|| t.now_ns().cast_signed())?);
            }
            self.teach(t, level)?;
        }
        Ok(bursts)
    }

    fn learn_once<T: Transport>(&mut self, t: &T, parent: Rank) -> Result<Outcome> {
        let Some(model) = &mut self.model else { return Ok(Err(Trouble::WasSet)) };
        let drift = model.drift();
        let exchanges = learn(t, parent, drift, &|| t.now_ns().cast_signed())?;
        let Some(burst) = exchanges.and_then(|exchanges| Burst::of(&exchanges, drift)) else {
            return Ok(Err(Trouble::WasSet));
        };
        model.push(burst);
        Ok(believable(model.drift()).map(|()| burst.bound_ns()))
    }

    fn teach<T: Transport>(&self, t: &T, level: &Level) -> Result<()> {
        let global_ns = |local_ns| match &self.model {
            Some(model) => model.global_ns(local_ns),
            None => local_ns,
        };
        let now_ns = || t.now_ns().cast_signed();
        let bound_ns = self.own_bound_ns();
        let teacher = Teacher { now_ns: &now_ns, global_ns: &global_ns, bound_ns };
        level.children.iter().try_for_each(|child| teach(t, *child, &teacher))
    }

    /// The widest bound of this rank's own comparisons.
    fn own_bound_ns(&self) -> i64 {
        self.bursts().iter().map(Burst::bound_ns).max().unwrap_or(0)
    }

    /// Hears how all ranks fared, so that none goes on alone.
    fn settle<T: Transport>(&mut self, t: &T, outcome: Outcome) -> Result<()> {
        let offset_ns = self.bursts().last().map_or(0, Burst::offset_ns).cast_unsigned();
        let words = [encode(outcome), offset_ns, self.drift().to_bits()];
        self.offsets.clear();
        for (rank, [outcome, offset_ns, drift]) in share(t, words)?.into_iter().enumerate() {
            let bound_ns = decode(outcome).map_err(|trouble| trouble.of_rank(rank))?;
            self.bound_ns = self.bound_ns.max(bound_ns);
            // Rank 0 tells them.
            if t.rank() == 0 && self.domains.leaders.contains(&rank) {
                let (offset_ns, bound_ns) = (offset_ns.cast_signed(), bound_ns.cast_unsigned());
                let drift_ppm = f64::from_bits(drift) * 1e6;
                self.offsets.push(ClockOffset { rank, offset_ns, bound_ns, drift_ppm });
            }
        }
        Ok(())
    }

    /// Leaders tell their members the last `n_bursts` comparisons.
    fn pass_on<T: Transport>(&mut self, t: &T, n_bursts: usize) -> Result<()> {
        let Domains { leader, members, .. } = &self.domains;
        if *leader == 0 {
            // Its members have the global time.
            return Ok(());
        }
        if *leader == t.rank() {
            let bursts = self.bursts();
            let latest = &bursts[bursts.len().saturating_sub(n_bursts)..];
            let message = bytes(latest.iter().flat_map(|burst| burst.to_words()));
            return members.iter().try_for_each(|member| t.blocked_send(*member, MODEL, &message));
        }
        let mut message = vec![0; n_bursts * Burst::N_WORDS * size_of::<u64>()];
        let status = t.blocked_recv(Source::Rank(*leader), MODEL, &mut message)?;
        let words = words(&message[..status.length_bytes]);
        self.hear(words.as_chunks().0.iter().map(|words| Burst::from_words(*words)).collect());
        Ok(())
    }

    /// A member learns what its leader has learnt.
    fn hear(&mut self, bursts: Vec<Burst>) {
        match &mut self.model {
            Some(model) => bursts.into_iter().for_each(|burst| model.push(burst)),
            None if bursts.is_empty() => (),
            None => self.model = Some(Model::of(bursts)),
        }
    }
}

/// Outcome of a comparison: the error bound of its result in nanoseconds, or the reason that there
/// is none.
type Outcome = Result<i64, Trouble>;

/// The model of the first bursts: once for the drift, and once more without it.
fn first_model(bursts: &[Option<Exchanges>]) -> Result<Model, Trouble> {
    let model = |drift| {
        let burst = |exchanges: &Option<Exchanges>| Burst::of(exchanges.as_ref()?, drift);
        let bursts: Option<Vec<Burst>> = bursts.iter().map(burst).collect();
        Ok(Model::of(bursts.ok_or(Trouble::WasSet)?))
    };
    let drift = model(0.0)?.drift();
    believable(drift)?;
    model(drift)
}

fn believable(drift: f64) -> Result<(), Trouble> {
    if drift.abs() <= MAX_DRIFT {
        return Ok(());
    }
    let ppm = whole((drift.abs() * 1e6).ceil());
    Err(Trouble::Drifts(u32::try_from(ppm).unwrap_or(u32::MAX)))
}

impl Trouble {
    fn of_rank(self, rank: Rank) -> TransportError {
        let what = match self {
            Self::WasSet => "was set while it was compared with others".into(),
            Self::Drifts(ppm) => {
                format!("drifts by {ppm} ppm, and no quartz does by more than 200 ppm")
            }
        };
        let text = format!(
            "the clock of rank {rank} {what} (stop what sets the clocks, or start at a barrier)"
        );
        TransportError::new(TransportErrorKind::Unsupported, text)
    }
}

/// An outcome in one word: bounds are not negative.
fn encode(outcome: Outcome) -> u64 {
    match outcome {
        Ok(bound_ns) => bound_ns.cast_unsigned(),
        Err(Trouble::WasSet) => (-1i64).cast_unsigned(),
        Err(Trouble::Drifts(ppm)) => (-1 - i64::from(ppm)).cast_unsigned(),
    }
}

fn decode(word: u64) -> Outcome {
    match word.cast_signed() {
        -1 => Err(Trouble::WasSet),
        bound_ns @ 0.. => Ok(bound_ns),
        drift => Err(Trouble::Drifts(u32::try_from(-1 - drift).unwrap_or(u32::MAX))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outcome_survives_the_wire() {
        for outcome in [
            Ok(0),
            Ok(i64::MAX),
            Err(Trouble::WasSet),
            Err(Trouble::Drifts(201)),
            Err(Trouble::Drifts(u32::MAX)),
        ] {
            assert_eq!(decode(encode(outcome)), outcome);
        }
    }

    #[test]
    fn trouble_names_the_rank_and_a_remedy() {
        let check = |trouble: Trouble, expected: &str| {
            let error = trouble.of_rank(3);
            assert!(error.is_unsupported() && !error.ends_job());
            assert_eq!(error.to_string(), expected);
        };
        check(
            Trouble::WasSet,
            "the clock of rank 3 was set while it was compared with others (stop what sets the \
             clocks, or start at a barrier)",
        );
        check(
            Trouble::Drifts(412),
            "the clock of rank 3 drifts by 412 ppm, and no quartz does by more than 200 ppm (stop \
             what sets the clocks, or start at a barrier)",
        );
    }

    #[test]
    fn a_drift_that_no_quartz_has_is_refused() {
        assert_eq!(believable(199e-6), Ok(()));
        assert_eq!(believable(-200e-6), Ok(()));
        assert_eq!(believable(-412e-6), Err(Trouble::Drifts(412)));
    }
}
