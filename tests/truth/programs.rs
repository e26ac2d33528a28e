//! Random programs of all calls of the transport end when the oracle says, on every machine.

use std::cell::RefCell;

use comet_core::error::Result;
use comet_core::transport::{Rank, Source, Tag, Transport, Work};
use comet_sim::machine::Machine;

use super::bench::{Bench, Draws};
use super::machines;
use super::oracle::{Label, truth};
use super::recording::record;

const N_ACTS: usize = 60;
const CAPACITY: usize = 5000;

/// Of all messages that are received from a named rank.
const LABEL: Label = 1;
const TAG: Tag = Tag::new(LABEL);

/// Next act of a rank.
#[derive(Clone, Debug)]
enum Act {
    /// A computation on so many values.
    Compute(usize),
    /// To a rank, so many bytes, with a label.
    Send(Rank, usize, Label),
    /// From a rank, under [`LABEL`].
    Recv(Rank),
    /// With a rank, so many bytes.
    Exchange(Rank, usize),
    /// Unblocked sends to ranks, with their lengths, and receives from ranks, which are waited for in
    /// the order in which they are started.
    Scope(Vec<(Rank, usize)>, Vec<Rank>),
    /// So many messages with a label of their own, in the order in which they come.
    RecvAny(usize, Label),
}

/// Acts of each rank. One act after the other could be done, so that no rank waits for ever.
fn random_acts(draws: &mut Draws, n_ranks: usize) -> Vec<Vec<Act>> {
    let mut acts = vec![Vec::new(); n_ranks];
    for label in (LABEL + 1..).take(N_ACTS) {
        let (a, b) = two_ranks(draws, n_ranks);
        // Nobody does the same thing at the same time as another.
        for rank in [a, b] {
            acts[rank].push(Act::Compute(draws.below(3000)));
        }
        let n_bytes = random_length(draws);
        match draws.below(4) {
            0 => {
                acts[a].push(Act::Send(b, n_bytes, LABEL));
                acts[b].push(Act::Recv(a));
            }
            1 => {
                acts[a].push(Act::Exchange(b, n_bytes));
                acts[b].push(Act::Exchange(a, n_bytes));
            }
            2 => scope(draws, &mut acts),
            _ => {
                let senders = (0..n_ranks).filter(|rank| *rank != a);
                senders.for_each(|rank| acts[rank].push(Act::Send(a, n_bytes, label)));
                acts[a].push(Act::RecvAny(n_ranks - 1, label));
            }
        }
    }
    acts
}

/// Up to six messages between all ranks at once.
fn scope(draws: &mut Draws, acts: &mut [Vec<Act>]) {
    let mut sends = vec![Vec::new(); acts.len()];
    let mut receives = vec![Vec::new(); acts.len()];
    for _ in 0..=draws.below(6) {
        let (from, to) = two_ranks(draws, acts.len());
        sends[from].push((to, random_length(draws)));
        receives[to].push(from);
    }
    for ((own, sends), receives) in acts.iter_mut().zip(sends).zip(receives) {
        own.push(Act::Scope(sends, receives));
    }
}

fn two_ranks(draws: &mut Draws, n_ranks: usize) -> (Rank, Rank) {
    let (a, step) = (draws.below(n_ranks), 1 + draws.below(n_ranks - 1));
    (a, (a + step) % n_ranks)
}

/// A length on either side of the switches of protocols.
fn random_length(draws: &mut Draws) -> usize {
    let largest = [9, 120, 1100, CAPACITY][draws.below(4)];
    draws.below(largest)
}

fn perform<T: Transport>(t: &T, act: &Act) -> Result<()> {
    let (message, mut buffer) = ([0; CAPACITY], [0; CAPACITY]);
    match act {
        Act::Compute(n) => t.compute(Work::Daxpy { n: *n }, || ()),
        Act::Send(to, n_bytes, label) => {
            t.blocked_send(*to, Tag::new(*label), &message[..*n_bytes])?;
        }
        Act::Recv(from) => drop(t.blocked_recv(Source::Rank(*from), TAG, &mut buffer)?),
        Act::RecvAny(n_messages, label) => {
            for _ in 0..*n_messages {
                t.blocked_recv(Source::Any, Tag::new(*label), &mut buffer)?;
            }
        }
        Act::Exchange(peer, n_bytes) => {
            let message = &message[..*n_bytes];
            t.blocked_exchange(*peer, message, Source::Rank(*peer), &mut buffer, TAG)?;
        }
        Act::Scope(sends, receives) => {
            let mut buffers = vec![[0; CAPACITY]; receives.len()];
            t.scope(|s| {
                let send = |(to, n): &(Rank, usize)| s.unblocked_send(*to, TAG, &message[..*n]);
                let sends = sends.iter().map(send).collect::<Result<Vec<_>>>()?;
                let receives = receives.iter().zip(&mut buffers);
                let receives = receives
                    .map(|(from, buffer)| s.unblocked_recv(Source::Rank(*from), TAG, buffer))
                    .collect::<Result<Vec<_>>>()?;
                sends.into_iter().try_for_each(|send| send.wait())?;
                receives.into_iter().try_for_each(|receive| receive.wait().map(drop))
            })?;
        }
    }
    Ok(())
}

fn perform_all<T: Transport>(t: &T, acts: &[Act]) -> Result<Vec<u64>> {
    acts.iter().map(|act| perform(t, act).map(|()| t.now_ns())).collect()
}

/// Readings of all ranks' clocks after each act.
fn measured_ns(bench: &Bench, acts: &[Vec<Act>]) -> Vec<Vec<u64>> {
    let readings_ns = RefCell::new(vec![Vec::new(); acts.len()]);
    bench.run(|t| {
        readings_ns.borrow_mut()[t.rank()] =
            perform_all(t, &acts[t.rank()]).expect("no rank fails");
    });
    readings_ns.into_inner()
}

fn true_ns(bench: &Bench, acts: &[Vec<Act>]) -> Vec<Vec<u64>> {
    let program =
        |(rank, acts): (Rank, &Vec<Act>)| record(bench, rank, |t| perform_all(t, acts).map(drop));
    let programs: Vec<_> = acts.iter().enumerate().map(program).collect();
    truth(&bench.machine, &programs)
}

fn check(bench: &Bench, acts: &[Vec<Act>], label: &str) {
    assert_eq!(measured_ns(bench, acts), true_ns(bench, acts), "{label}: {acts:?}");
}

fn check_random(machine: Machine) {
    let mut machine = machines::unequal(machine);
    machine.node.daxpy_ps = 7013;
    for seed in 0..60 {
        let mut draws = Draws::new(seed);
        let n_ranks = 2 + draws.below(7);
        let acts = random_acts(&mut draws, n_ranks);
        check(&Bench::new(&machine, n_ranks), &acts, &format!("seed {seed}"));
    }
}

#[test]
fn random_programs_end_when_the_law_says_where_messages_never_wait_for_links() {
    check_random(machines::flat());
    check_random(machines::busy());
    check_random(machines::buffered());
    check_random(machines::rendezvous());
    check_random(machines::instant_rendezvous());
}

#[test]
fn random_programs_end_when_the_law_says_where_messages_wait_for_links() {
    check_random(machines::circuits());
    check_random(machines::cut_through());
}

#[test]
fn a_message_that_waits_for_its_receive_leaves_before_one_that_is_sent_later() {
    let bench = Bench::new(&machines::instant_rendezvous(), 2);
    // Whichever rank it is, since both are alike.
    for sender in [0, 1] {
        let receiver = 1 - sender;
        let mut acts = vec![Vec::new(); 2];
        acts[sender].push(Act::Scope(vec![(receiver, 2000), (receiver, 8)], Vec::new()));
        acts[receiver].push(Act::Scope(Vec::new(), vec![sender; 2]));
        check(&bench, &acts, "two messages");
    }
}

#[test]
fn a_receive_from_any_rank_delays_no_messages_of_other_tags() {
    // The second one is known before the first one is there.
    let sends = Act::Scope(vec![(0, 100), (0, 2000)], Vec::new());
    let receives = Act::Scope(Vec::new(), vec![1; 2]);
    let acts = [vec![Act::RecvAny(1, 2), receives], vec![Act::Send(0, 0, 2), sends]];
    check(&Bench::new(&machines::instant_rendezvous(), 2), &acts, "another tag");
}
