//! Collectives that are started, tested and waited for, alone and several at once.

use super::Check;
use super::toolkit::{
    Found, Memory, TAG, checks, poll_until, receive, round_the_ring, while_sending,
};
use crate::collective::{Collective, Kind, Operator, Parts, Prepared, Reducer, algorithm, data};
use crate::error::{Result, TransportErrorKind};
use crate::kernel::Seeds;
use crate::transport::{Rank, Source, Transport};

/// Lengths of a part in bytes: around the lines and pieces of transports, in whole doubles.
pub(super) const LENGTHS_BYTES: [usize; 5] = [0, 8, 48, 4096, 40_000];
/// Most ranks among which parts are long.
const MAX_LONG: usize = 8;
/// Collectives in flight at once.
const N_AT_ONCE: usize = 22;

pub(super) fn checks<T: Transport>() -> Vec<Check<T>> {
    checks![
        started_collectives_give_each_rank_what_they_say,
        a_started_collective_tests_true_without_a_wait,
        a_started_barrier_ends_after_the_last_rank_has_come,
        started_collectives_end_in_either_order,
        many_started_collectives_do_not_mix,
        a_started_collective_leaves_other_calls_alone,
        a_dropped_collective_is_waited_for,
        algorithms_give_the_same_when_they_are_started,
        a_start_with_wrong_arguments_is_refused,
    ]
}

/// A collective with test data on this rank.
pub(super) struct Trial<T: Transport> {
    pub(super) prepared: Prepared<T>,
    at: (Rank, usize),
    pub(super) input: Memory<T>,
    pub(super) output: Memory<T>,
}

impl<T: Transport> Trial<T> {
    /// `call` as the transport starts it; the memory of every other trial is the transport's.
    fn new(t: &T, call: Collective, index: usize) -> Result<Self> {
        Self::of(t, Prepared::unblocked(t, call, None)?, index)
    }

    fn of(t: &T, prepared: Prepared<T>, index: usize) -> Result<Self> {
        let call = prepared.call().clone();
        Self::made(t, &call, index, |_, _| Ok(prepared))
    }

    /// `call`, which `prepare` prepares for input and output.
    pub(super) fn made(
        t: &T,
        call: &Collective,
        index: usize,
        prepare: impl FnOnce(&[u8], &mut [u8]) -> Result<Prepared<T>>,
    ) -> Result<Self> {
        let at = (t.rank(), t.n_ranks());
        let [of_input, of_output] = [1, 2].map(|bit| index & bit != 0);
        let mut input = Memory::new(t, of_input, call.input_bytes(at.0, at.1))?;
        let mut output = Memory::new(t, of_output, call.output_bytes(at.0, at.1))?;
        data::fill(call, at, Seeds { n_runs: 1, lane: 0 }, [&mut input, &mut output]);
        let prepared = prepare(&input, &mut output)?;
        Ok(Self { prepared, at, input, output })
    }

    /// Puts the data of start number `round` into the buffers: other ones than before, and zeros into every
    /// second vector of a reduction.
    pub(super) fn refill(&mut self, round: u64) {
        let Self { prepared, at, input, output } = self;
        let call = prepared.call();
        data::fill(call, *at, Seeds { n_runs: round, lane: 0 }, [input, output]);
        if are_zeros(call, round) {
            input.fill(0);
            let place: &mut [u8] = if call.is_in_place_on(at.0) { output } else { &mut [] };
            place.fill(0);
        }
    }

    /// Starts the collective, and waits for it at once.
    pub(super) fn run(&mut self, t: &T, found: &Found) -> Result<()> {
        let Self { prepared, input, output, .. } = self;
        let name = prepared.call().kind().name();
        let run = t.scope(|s| s.unblocked_collective(prepared, input, output)?.wait());
        run.or_else(|error| found.survive(&format!("the started {name}"), error))
    }

    /// Starts the collective, and tests it until it has ended.
    pub(super) fn run_by_tests(&mut self, t: &T, found: &Found) -> Result<()> {
        let Self { prepared, input, output, .. } = self;
        t.scope(|s| {
            let mut request = s.unblocked_collective(prepared, input, output)?;
            let ended = poll_until(|| Ok(request.test()))?;
            found.require(ended, "a started collective never tested true");
            found.require(!ended || request.test(), "what had ended tested false");
            request.wait()
        })
    }

    /// Starts the collective, does what else ranks do meanwhile, and waits for it. Messages of all kinds go round
    /// the ring by `turn`, with a barrier and a sum.
    pub(super) fn run_beside_others(&mut self, t: &T, found: &Found, turn: usize) -> Result<()> {
        let Self { prepared, input, output, .. } = self;
        t.scope(|s| {
            let request = s.unblocked_collective(prepared, input, output)?;
            let (outgoing, incoming) = round_the_ring(t, turn, [(TAG, 5000)]);
            while_sending(t, &outgoing, || receive(t, found, &incoming[0], Source::Any))?;
            t.barrier()?;
            let sum = t.global_sum(1.0)?;
            found.require_eq("a sum beside a started collective", sum, t.n_ranks() as f64);
            request.wait()
        })
    }

    /// Starts the collective, and drops the request.
    pub(super) fn run_dropped(&mut self, t: &T) -> Result<()> {
        let Self { prepared, input, output, .. } = self;
        t.scope(|s| s.unblocked_collective(prepared, input, output).map(drop))
    }

    /// Starts both collectives, and waits for the first or for the second first.
    pub(super) fn run_both(t: &T, both: &mut [Self; 2], second_first: bool) -> Result<()> {
        let [first, second] = both;
        t.scope(|s| {
            let one =
                s.unblocked_collective(&mut first.prepared, &first.input, &mut first.output)?;
            let other =
                s.unblocked_collective(&mut second.prepared, &second.input, &mut second.output)?;
            let (sooner, later) = if second_first { (other, one) } else { (one, other) };
            sooner.wait()?;
            later.wait()
        })
    }

    /// Checks what has arrived.
    fn check(&mut self, found: &Found) {
        self.check_of(1, found);
    }

    /// The same after the start number `round`.
    pub(super) fn check_of(&mut self, round: u64, found: &Found) {
        let (call, (rank, n_ranks)) = (self.prepared.call(), self.at);
        let (name, n_bytes) = (call.kind().name(), call.parts().total(1));
        if are_zeros(call, round) {
            let gets = call.kind() != Kind::Exscan || rank > 0;
            let result = &self.output[..call.output_bytes(rank, n_ranks)];
            let place = match call.kind() {
                Kind::ReduceScatter if call.is_in_place_on(rank) => 0..call.parts().length(rank),
                _ => 0..result.len(),
            };
            let are_zeros = !gets || result[place].iter().all(|byte| *byte == 0);
            found.require(are_zeros, "a reduction of zeros is not zero");
        } else if let Err(error) =
            data::compare_with(call, self.at, Seeds { n_runs: round, lane: 0 }, &mut self.output)
        {
            found.note(format!("start {round} of {name} of {n_bytes} bytes: {error}"));
        }
    }
}

/// True if the vectors of start number `round` are zeros.
fn are_zeros(call: &Collective, round: u64) -> bool {
    call.kind().is_reduction() && round.is_multiple_of(2)
}

/// The kinds in which each rank has to do with all.
pub(super) fn kinds() -> impl Iterator<Item = Kind> {
    Kind::ALL.into_iter().filter(|kind| !kind.is_among_neighbours())
}

/// The collectives of `kind` with parts of `length`: of one length, of several, and in place.
pub(super) fn calls(kind: Kind, length: usize, n_ranks: usize) -> Vec<Collective> {
    let even = Collective::new(kind, Parts::Equal(length));
    let uneven = matches!(kind, Kind::Gather | Kind::Scatter | Kind::Allgather | Kind::Alltoall);
    let parts = || {
        let of_rank =
            |rank: Rank| if kind == Kind::Alltoall { length } else { length / 8 * rank % 7 };
        Parts::packed((0..n_ranks).map(of_rank).collect())
    };
    let uneven = uneven.then(|| Collective::new(kind, parts()));
    // Not all libraries reduce in place to another root.
    let in_place = kind.admits_in_place().then(|| even.clone().in_place());
    let last = kind.is_rooted().then(|| even.clone().with_root(n_ranks - 1));
    let product = Reducer::SUM.element();
    let least = Reducer::new(product, Operator::Min).filter(|_| kind.is_reduction());
    let least = least.map(|by| even.clone().with_reducer(by));
    [Some(even), uneven, in_place, last, least].into_iter().flatten().collect()
}

fn started_collectives_give_each_rank_what_they_say<T: Transport>(
    t: &T,
    found: &Found,
) -> Result<()> {
    let n_lengths = if t.n_ranks() <= MAX_LONG { LENGTHS_BYTES.len() } else { 3 };
    for kind in kinds() {
        for length in LENGTHS_BYTES.into_iter().take(n_lengths) {
            for (index, call) in calls(kind, length, t.n_ranks()).into_iter().enumerate() {
                let mut trial = Trial::new(t, call, t.rank() + index)?;
                trial.run(t, found)?;
                trial.check(found);
            }
        }
    }
    Ok(())
}

fn a_started_collective_tests_true_without_a_wait<T: Transport>(
    t: &T,
    found: &Found,
) -> Result<()> {
    for kind in kinds() {
        for (index, length) in [8, 20_000].into_iter().enumerate() {
            let call = Collective::new(kind, Parts::Equal(length));
            let mut trial = Trial::new(t, call, index)?;
            trial.run_by_tests(t, found)?;
            trial.check(found);
        }
    }
    Ok(())
}

fn a_started_barrier_ends_after_the_last_rank_has_come<T: Transport>(
    t: &T,
    found: &Found,
) -> Result<()> {
    for round in 0..20 {
        let last = round % t.n_ranks();
        let barrier = Collective::new(Kind::Barrier, Parts::Equal(0));
        let mut barrier = Prepared::unblocked(t, barrier, None)?;
        if t.rank() == last {
            for _ in 1..t.n_ranks() {
                t.blocked_recv(Source::Any, TAG, &mut [])?;
            }
        }
        t.scope(|s| {
            let mut request = s.unblocked_collective(&mut barrier, &[], &mut [])?;
            if t.rank() != last {
                for _ in 0..10 {
                    found.require(!request.test(), "a barrier ended before all had started it");
                }
                t.blocked_send(last, TAG, &[])?;
            }
            request.wait()
        })?;
    }
    Ok(())
}

/// The collectives of a pair that is in flight at once.
fn pair<T: Transport>(t: &T) -> Result<[Trial<T>; 2]> {
    let sum = Collective::new(Kind::Allreduce, Parts::Equal(4096));
    let gather = Collective::new(Kind::Allgather, Parts::Equal(48));
    Ok([Trial::new(t, sum, 0)?, Trial::new(t, gather, 3)?])
}

fn started_collectives_end_in_either_order<T: Transport>(t: &T, found: &Found) -> Result<()> {
    for round in 0..20 {
        let mut both = pair(t)?;
        Trial::run_both(t, &mut both, round % 2 != 0)?;
        both.iter_mut().for_each(|trial| trial.check(found));
    }
    Ok(())
}

fn many_started_collectives_do_not_mix<T: Transport>(t: &T, found: &Found) -> Result<()> {
    let kinds: Vec<Kind> = kinds().collect();
    let trial = |index: usize| {
        let length = [8, 0, 48, 2048][index % 4];
        let call = Collective::new(kinds[index * 7 % kinds.len()], Parts::Equal(length));
        Trial::new(t, call.with_root(index * 5 % t.n_ranks()), index)
    };
    for takes_any in [false, true] {
        let mut trials = (0..N_AT_ONCE).map(trial).collect::<Result<Vec<_>>>()?;
        t.scope(|s| {
            let mut set = s.requests();
            for Trial { prepared, input, output, .. } in &mut trials {
                set.push(s.unblocked_collective(prepared, input, output)?);
            }
            // In the order in which they end on this rank.
            let mut n_ended = 0;
            while takes_any && set.wait_any()?.is_some() {
                n_ended += 1;
            }
            found.require_eq(
                "collectives that ended",
                n_ended,
                if takes_any { N_AT_ONCE } else { 0 },
            );
            set.wait_all()
        })?;
        trials.iter_mut().for_each(|trial| trial.check(found));
    }
    Ok(())
}

fn a_started_collective_leaves_other_calls_alone<T: Transport>(t: &T, found: &Found) -> Result<()> {
    for (index, kind) in kinds().enumerate() {
        let mut trial = Trial::new(t, Collective::new(kind, Parts::Equal(4096)), index)?;
        trial.run_beside_others(t, found, index)?;
        trial.check(found);
    }
    Ok(())
}

fn a_dropped_collective_is_waited_for<T: Transport>(t: &T, found: &Found) -> Result<()> {
    for index in 0..4 {
        let call = Collective::new(Kind::Allgather, Parts::Equal(5000));
        let mut trial = Trial::new(t, call, index)?;
        trial.run_dropped(t)?;
        trial.check(found);
    }
    Ok(())
}

fn algorithms_give_the_same_when_they_are_started<T: Transport>(
    t: &T,
    found: &Found,
) -> Result<()> {
    let n = t.n_ranks();
    for kind in kinds() {
        let call = Collective::new(kind, Parts::Equal(4096)).with_root(n - 1);
        for algorithm in algorithm::of(kind).iter().filter(|of| of.admit(&call, n).is_ok()) {
            let prepared = Prepared::unblocked(t, call.clone(), Some(algorithm))?;
            let mut trial = Trial::of(t, prepared, 1)?;
            // Twice with the same plan.
            trial.run(t, found)?;
            trial.run(t, found)?;
            trial.check(found);
        }
    }
    Ok(())
}

fn a_start_with_wrong_arguments_is_refused<T: Transport>(t: &T, found: &Found) -> Result<()> {
    let n = t.n_ranks();
    let gather = Collective::new(Kind::Allgather, Parts::Equal(8));
    for (call, n_bytes) in [(gather.clone(), 8 * n - 1), (gather.with_root(n), 8 * n)] {
        let mut output = vec![0; n_bytes];
        let outcome = Prepared::unblocked(t, call, None).and_then(|mut prepared| {
            t.scope(|s| s.unblocked_collective(&mut prepared, &[0; 8], &mut output)?.wait())
        });
        let kind = outcome.err().map(|error| error.kind);
        found.require_eq("a start", kind, Some(TransportErrorKind::InvalidArgument));
    }
    let mut trial = Trial::new(t, Collective::new(Kind::Allgather, Parts::Equal(8)), 0)?;
    trial.run(t, found)?;
    trial.check(found);
    Ok(())
}
