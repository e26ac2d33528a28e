//! The suite passes on the local transport, and notices one that is broken.

use std::borrow::Cow;
use std::cell::Cell;
use std::sync::Mutex;

use super::toolkit::Outcome;
use super::twisted::{Twist, Twisted};
use super::{Check, checks, files, promised_checks, run, run_all, run_one, windows};
use crate::collective::{Collective, Kind};
use crate::error::{Result, TransportError};
use crate::local::{self, Local};
use crate::topology::Topology;
use crate::transport::{Promises, Rank, SendMode, Status, Tag, Transport};

const ALL: Promises = Promises {
    buffers_sends: true,
    survives_truncation: true,
    has_windows: true,
    has_files: false,
};

/// Fault of a [`Broken`] transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    BarrierReturnsAtOnce,
    BroadcastForgetsTheLastByte,
    SumsDifferBetweenRanks,
    SumsAreRounded,
    ProbeReportsAWrongLength,
    ReceivesReportAWrongSource,
    TruncationGoesUnnoticed,
    TestsAreAlwaysTrue,
    ClockGoesBackwards,
    ClockIsNotGlobal,
    StrangersReportNoRank,
    ExchangesInPlaceKeepTheirMessage,
    LineTimeIsToldToOneRank,
    NeighboursChangePlaces,
    MessagesOfNeighboursAreStale,
    PartsWithTypesLoseTheirLastByte,
    StartedCallsDoNothing,
    PreparedCallsDoNothing,
    SynchronousSendsAreStandard,
    BufferedSendsAreSynchronous,
    WindowsForget(&'static str),
}

/// The local transport with one fault.
type Broken<'a> = Twisted<'a, Flaw>;

/// One fault, and what it needs to know.
#[derive(Clone, Debug)]
struct Flaw {
    fault: Fault,
    n_readings: Cell<u64>,
}

impl<'a> Broken<'a> {
    fn new(inner: &'a Local, fault: Fault) -> Self {
        Self { inner: Cow::Borrowed(inner), twist: Flaw { fault, n_readings: Cell::new(0) } }
    }
}

impl Flaw {
    fn has(&self, fault: Fault) -> bool {
        self.fault == fault
    }
}

impl Twist for Flaw {
    fn poll_recv(&self, is_complete: bool) -> bool {
        is_complete || self.has(Fault::TestsAreAlwaysTrue)
    }

    fn received(&self, result: Result<Status>, capacity_bytes: usize) -> Result<Status> {
        match result {
            Err(error) if error.is_truncated() && self.has(Fault::TruncationGoesUnnoticed) => {
                let tag = error.tag.unwrap();
                Ok(Status { source: 0, tag, length_bytes: capacity_bytes })
            }
            Ok(status) if self.has(Fault::ReceivesReportAWrongSource) => {
                Ok(Status { source: status.source ^ 1, ..status })
            }
            result => result,
        }
    }

    fn now_ns(&self, inner: &Local) -> u64 {
        let now_ns = inner.now_ns();
        let n_readings = self.n_readings.replace(self.n_readings.get() + 1);
        match self.fault {
            Fault::ClockGoesBackwards if n_readings % 100 == 99 => now_ns / 2,
            Fault::ClockIsNotGlobal => now_ns + (inner.rank() as u64) * 1_000_000_000_000,
            _ => now_ns,
        }
    }

    fn line_time_ns(&self, inner: &Local) -> Result<Option<f64>> {
        Ok((self.has(Fault::LineTimeIsToldToOneRank) && inner.rank() == 0).then_some(100.0))
    }

    fn probed(&self, status: Status) -> Status {
        let wrong = usize::from(self.has(Fault::ProbeReportsAWrongLength));
        Status { length_bytes: status.length_bytes + wrong, ..status }
    }

    fn blocked_send(&self, inner: &Local, to: Rank, tag: Tag, message: &[u8]) -> Result<()> {
        if self.has(Fault::StrangersReportNoRank) && to >= inner.n_ranks() {
            return Err(TransportError::no_such_rank(to, inner.n_ranks()));
        }
        inner.blocked_send(to, tag, message)
    }

    fn barrier(&self, inner: &Local) -> Result<()> {
        if self.has(Fault::BarrierReturnsAtOnce) { Ok(()) } else { inner.barrier() }
    }

    fn blocked_broadcast(&self, inner: &Local, root: Rank, message: &mut [u8]) -> Result<()> {
        let last = message.last().copied();
        inner.blocked_broadcast(root, message)?;
        if let (true, Some(last)) = (self.has(Fault::BroadcastForgetsTheLastByte), last) {
            message[message.len() - 1] = last;
        }
        Ok(())
    }

    fn global_sum_vector(&self, inner: &Local, values: &mut [f64]) -> Result<()> {
        inner.global_sum_vector(values)?;
        let Some(value) = values.last_mut() else { return Ok(()) };
        if self.has(Fault::SumsDifferBetweenRanks) && value.fract() != 0.0 && inner.rank() == 1 {
            *value = value.next_up();
        }
        if self.has(Fault::SumsAreRounded) {
            *value = value.next_down();
        }
        Ok(())
    }

    fn exchanged_in_place(&self, sent: &[u8], message: &mut [u8]) {
        if self.has(Fault::ExchangesInPlaceKeepTheirMessage) {
            message.copy_from_slice(sent);
        }
    }

    fn mode(&self, mode: SendMode) -> SendMode {
        match (self.fault, mode) {
            (Fault::SynchronousSendsAreStandard, SendMode::Synchronous) => SendMode::Standard,
            (Fault::BufferedSendsAreSynchronous, SendMode::Buffered) => SendMode::Synchronous,
            _ => mode,
        }
    }

    fn collected(&self, call: &Collective, output: &mut [u8]) {
        match (self.fault, call.kind()) {
            (Fault::NeighboursChangePlaces, Kind::NeighbourAllgather) => {
                output.rotate_left(output.len() / 2);
            }
            (Fault::MessagesOfNeighboursAreStale, Kind::NeighbourAlltoall) => output.fill(0),
            (Fault::PartsWithTypesLoseTheirLastByte, _) if call.has_types() => {
                if let Some(last) = output.last_mut() {
                    *last = !*last;
                }
            }
            _ => (),
        }
    }

    fn starts_nothing(&self) -> bool {
        self.has(Fault::StartedCallsDoNothing)
    }

    fn prepares_nothing(&self) -> bool {
        self.has(Fault::PreparedCallsDoNothing)
    }

    fn forgets(&self, call: &'static str) -> bool {
        self.has(Fault::WindowsForget(call))
    }
}

/// Runs the whole suite: the names and problems of the checks that failed, as rank 0 was told, and
/// the number of failures that each rank returned.
fn failures(n_ranks: usize, corrupt: bool) -> (Vec<(String, String)>, Vec<usize>) {
    let failed = Mutex::new(Vec::new());
    let counts = local::run_with(Topology::hypercube(n_ranks), corrupt, |t| {
        run_all(t, &mut |name, outcome| {
            assert_eq!(t.rank(), 0, "only rank 0 reports");
            if let Err(problem) = outcome {
                failed.lock().unwrap().push((name.to_string(), problem.clone()));
            }
        })
    });
    (failed.into_inner().unwrap(), counts)
}

/// All checks but those of files, which this transport has not.
fn all<T: Transport>() -> impl Iterator<Item = Check<T>> {
    checks().into_iter().chain(promised_checks(ALL)).chain(windows::checks())
}

/// Outcomes of the check called `name` on three ranks with `fault`.
fn outcomes(name: &str, fault: Fault) -> Vec<Outcome> {
    local::run(3, |t| {
        let t = Broken::new(t, fault);
        let mut all = all();
        let check = all.find(|check| check.name == name);
        run_one(&t, &check.unwrap(), None).unwrap()
    })
}

#[test]
fn the_local_transport_conforms_on_any_number_of_ranks() {
    for n_ranks in [1, 2, 3, 5] {
        let (failed, counts) = failures(n_ranks, false);
        assert_eq!(failed, [], "{n_ranks} ranks");
        assert_eq!(counts, vec![0; n_ranks]);
    }
}

#[test]
fn corrupted_messages_are_noticed_and_the_suite_ends() {
    for n_ranks in [1, 2] {
        let (failed, counts) = failures(n_ranks, true);
        assert_eq!(counts, vec![failed.len(); n_ranks]);
        let names: Vec<_> = failed.iter().map(|(name, _)| name.as_str()).collect();
        assert!(names.contains(&"messages_of_every_length_arrive_unchanged"), "{names:?}");
        assert!(names.contains(&"requests_may_be_waited_for_in_reverse_order"), "{names:?}");
        // Reserved tags are spared, so collectives work, and so do empty messages.
        assert!(!names.contains(&"every_rank_can_be_the_root_of_a_broadcast"), "{names:?}");
        // A problem names each rank and its message.
        let wanted = "messages_of_every_length_arrive_unchanged";
        let problem = &failed.iter().find(|(name, _)| name == wanted).unwrap().1;
        let of_rank = |rank: usize| {
            let from = n_ranks - 1 - rank;
            format!("rank {rank}: byte 0 of 1 of message 0 from rank {from} to rank {rank} (tag 1")
        };
        assert!(problem.starts_with(&of_rank(0)), "{problem}");
        assert!((0..n_ranks).all(|rank| problem.contains(&of_rank(rank))), "{problem}");
    }
}

#[test]
fn every_fault_is_noticed() {
    let check = |fault, name: &str| {
        let outcomes = outcomes(name, fault);
        assert!(outcomes.iter().all(Result::is_err), "{fault:?}: {outcomes:?}");
    };
    check(Fault::BarrierReturnsAtOnce, "a_barrier_holds_all_ranks_until_the_last");
    check(Fault::BroadcastForgetsTheLastByte, "every_rank_can_be_the_root_of_a_broadcast");
    check(Fault::SumsDifferBetweenRanks, "global_sums_have_the_same_bits_on_every_rank");
    check(Fault::SumsAreRounded, "global_sums_of_integers_are_exact");
    check(Fault::ProbeReportsAWrongLength, "probe_sees_a_message_before_it_is_received");
    check(Fault::ReceivesReportAWrongSource, "a_receive_takes_the_message_of_its_source");
    check(Fault::TruncationGoesUnnoticed, "an_expected_message_is_cut_to_its_buffer");
    check(Fault::TestsAreAlwaysTrue, "test_becomes_true_without_a_wait");
    check(Fault::ClockGoesBackwards, "the_clock_never_goes_backwards");
    check(Fault::ClockIsNotGlobal, "a_global_clock_reads_no_earlier_on_arrival");
    let name = "two_ranks_learn_the_time_of_a_line_or_none";
    check(Fault::LineTimeIsToldToOneRank, name);
    let name = "an_exchange_in_place_leaves_what_arrived";
    check(Fault::ExchangesInPlaceKeepTheirMessage, name);
    check(Fault::StrangersReportNoRank, "ranks_that_do_not_exist_are_refused");
    let name = "neighbours_get_the_message_of_each_source";
    check(Fault::NeighboursChangePlaces, name);
    let name = "neighbours_get_what_each_source_sends_to_them";
    check(Fault::MessagesOfNeighboursAreStale, name);
    check(Fault::PartsWithTypesLoseTheirLastByte, "parts_may_have_types_of_their_own");
    let name = "a_synchronous_send_does_not_end_before_its_receive";
    check(Fault::SynchronousSendsAreStandard, name);
    check(Fault::BufferedSendsAreSynchronous, "a_buffered_send_ends_without_its_receive");
}

#[test]
fn prepared_collectives_that_do_nothing_are_noticed() {
    for name in [
        "prepared_collectives_do_the_same_at_each_start",
        "a_prepared_collective_may_be_started_many_times",
        "a_prepared_collective_tests_true_without_a_wait",
        "prepared_collectives_end_in_either_order",
        "a_dropped_request_of_a_prepared_collective_is_waited_for",
    ] {
        let outcomes = outcomes(name, Fault::PreparedCallsDoNothing);
        assert!(outcomes.iter().all(Result::is_err), "{name}: {outcomes:?}");
    }
}

#[test]
fn started_collectives_that_do_nothing_are_noticed() {
    for name in [
        "started_collectives_give_each_rank_what_they_say",
        "a_started_collective_tests_true_without_a_wait",
        "started_collectives_end_in_either_order",
        "many_started_collectives_do_not_mix",
        "a_started_collective_leaves_other_calls_alone",
        "a_dropped_collective_is_waited_for",
        "a_start_with_wrong_arguments_is_refused",
    ] {
        let outcomes = outcomes(name, Fault::StartedCallsDoNothing);
        assert!(outcomes.iter().all(Result::is_err), "{name}: {outcomes:?}");
    }
    // The last rank to come finds nothing.
    let name = "a_started_barrier_ends_after_the_last_rank_has_come";
    let outcomes = outcomes(name, Fault::StartedCallsDoNothing);
    assert!(outcomes.iter().any(Result::is_err), "{outcomes:?}");
}

#[test]
fn calls_on_windows_that_do_nothing_are_noticed() {
    let check = |call, name: &str| {
        let outcomes = outcomes(name, Fault::WindowsForget(call));
        assert!(outcomes.iter().any(Result::is_err), "{call}: {outcomes:?}");
    };
    for call in ["fence", "put", "get"] {
        check(call, "puts_and_gets_end_at_a_fence");
    }
    check("wait", "accesses_end_with_those_who_started_them");
    for call in ["test", "wait"] {
        check(call, "a_test_ends_what_was_posted_once_all_have_completed");
    }
    check("lock", "exclusive_locks_exclude");
    check("accumulate", "accumulations_of_all_ranks_add_up");
    for call in ["fetch_and_op", "get_accumulate"] {
        check(call, "fetched_values_are_each_another");
    }
}

#[test]
fn what_is_not_promised_is_not_checked() {
    let check = |[buffers_sends, survives_truncation]: [bool; 2], n_checks| {
        let promises = Promises { buffers_sends, survives_truncation, ..ALL };
        assert_eq!(promised_checks::<Local>(promises).len(), n_checks, "{promises:?}");
    };
    check([false; 2], 0);
    check([true, false], 2);
    check([false, true], 3);
}

#[test]
fn checks_are_named_as_facts_once_each() {
    let mut names: Vec<_> = all::<Local>().map(|check| check.name).collect();
    names.extend(files::checks::<Local>().iter().map(|check| check.name));
    let is_plain = |name: &&str| name.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    assert!(names.iter().all(is_plain), "{names:?}");
    let n_names = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), n_names);
}

#[test]
fn a_capability_that_fails_is_broken_and_the_rest_is_not() {
    let verdicts = local::run(2, |t| {
        let t = Broken::new(t, Fault::WindowsForget("put"));
        run(&t, None, &mut |_, _| ())
    });
    for (rank, verdict) in verdicts.iter().enumerate() {
        assert!(verdict.n_failed > 0 && verdict.broken.files.is_none(), "{verdict:?}");
        let problem = verdict.broken.windows.as_deref().unwrap_or_default();
        assert!(rank > 0 || problem.starts_with("puts and gets end at a fence: "), "{problem}");
    }
    let verdicts = local::run(2, |t| run(t, None, &mut |_, _| ()));
    assert!(verdicts.iter().all(|verdict| verdict.broken.windows.is_none()));
}
