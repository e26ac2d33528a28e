//! Two or three ranks of the whole transport. Each may fall asleep at every wait, without a limit:
//! a message, a collective or some room that nobody is woken for ends the model as a deadlock.

use comet_core::collective::{Collective, Element, Kind, Operator, Parts, Reducer};
use comet_core::topology::Topology;
use comet_core::transport::{Rank, Source, Tag, Transport};
use loom::thread::{Builder, JoinHandle};

use crate::futex::AsymmetricFence;
use crate::layout::{Layout, N_BOARDS, N_BROADCASTS};
use crate::remote_copy::RemoteCopy;
use crate::segment::Segment;
use crate::sync::Ordering;
use crate::transport::Shm;
use crate::wait::{Cores, Waiter, ring_all};

const HEAP_BYTES: usize = 4096;

/// Length of a message that goes through no cell.
const LONG_BYTES: usize = 40;

/// Words of the stack of a thread that holds a whole transport.
const STACK_WORDS: usize = 1 << 16;

/// Runs rank 0 and rank 1.
fn two_ranks(first: fn(&Shm), second: fn(&Shm)) {
    ranks(2, move |segment, rank| if rank == 0 { first } else { second }(&shm(segment, rank)));
}

/// Runs `main` as each of the ranks, with the segment that they share.
pub(super) fn ranks(n_ranks: usize, main: impl Fn(&'static Segment, Rank) + Copy + Send + 'static) {
    let all = spawn(move || {
        let layout = Layout::new(n_ranks, HEAP_BYTES).expect("it is small");
        let segment = Box::into_raw(Box::new(Segment::create(layout).expect("there is memory")));
        // SAFETY: all ranks are gone when it is freed below.
        let shared: &'static Segment = unsafe { &*segment };
        let start = |rank: Rank| spawn(move || run(shared, rank, main));
        let others: Vec<_> = (1..n_ranks).map(start).collect();
        run(shared, 0, main);
        for other in others {
            other.join().expect("a panic ends the model before");
        }
        // SAFETY: the pointer is that of the box, and nobody uses the segment any more.
        drop(unsafe { Box::from_raw(segment) });
    });
    all.join().expect("a panic ends the model before");
}

fn spawn(f: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
    Builder::new().stack_size(STACK_WORDS).spawn(f).expect("a model has few threads")
}

fn run(segment: &'static Segment, rank: Rank, main: impl Fn(&'static Segment, Rank)) {
    main(segment, rank);
    // What the launcher does when a process has ended. Relaxed: a rank fences after what it has
    // published, which the launcher cannot rely on.
    segment.control(rank).ended.store(1, Ordering::Relaxed);
    ring_all(segment);
}

/// Waiter of `rank`.
pub(super) fn waiter(segment: &'static Segment, rank: Rank) -> Waiter {
    let cores = Cores { n_usable: segment.n_ranks(), mates: Vec::new(), look_pauses: 1 };
    Waiter::new(segment, rank, cores, AsymmetricFence::Symmetric, None)
}

fn shm(segment: &'static Segment, rank: Rank) -> Shm {
    let (waiter, remote) = (waiter(segment, rank), RemoteCopy::new(segment, rank, false));
    Shm::new(segment, rank, Topology::hypercube(segment.n_ranks()), waiter, remote)
}

fn send(t: &Shm, tag: u16, value: u8) {
    t.blocked_send(1 - t.rank(), Tag::new(tag), &[value; 3]).expect("the job goes on");
}

fn recv(t: &Shm, tag: u16) -> [u8; 3] {
    let mut message = [0; 3];
    let from = Source::Rank(1 - t.rank());
    t.blocked_recv(from, Tag::new(tag), &mut message).expect("the job goes on");
    message
}

pub(super) fn a_rank_that_waits_for_a_message_gets_it() {
    two_ranks(|t| send(t, 1, 7), |t| assert_eq!(recv(t, 1), [7; 3]));
}

pub(super) fn messages_of_two_tags_are_received_in_the_other_order() {
    let sender = |t: &Shm| (1..=2).for_each(|tag| send(t, tag, 7));
    two_ranks(sender, |t| [2, 1].into_iter().for_each(|tag| assert_eq!(recv(t, tag), [7; 3])));
}

pub(super) fn a_rank_that_waits_for_room_gets_it() {
    let sender = |t: &Shm| (1..=5).for_each(|n| send(t, 1, n));
    two_ranks(sender, |t| (1..=5).for_each(|n| assert_eq!(recv(t, 1), [n; 3])));
}

pub(super) fn what_was_sent_before_a_barrier_is_there_after_it() {
    let main = |t: &Shm| {
        send(t, 1, 7);
        t.barrier().expect("the job goes on");
        let from = Source::Rank(1 - t.rank());
        assert!(t.probe(from, Tag::new(1)).expect("the job goes on").is_some());
    };
    two_ranks(main, main);
}

pub(super) fn both_ranks_get_the_sum() {
    let sum = |t: &Shm| {
        for n in 1..=3u8 {
            let value = if t.rank() == 0 { f64::from(n) } else { 10.0 };
            assert_eq!(t.global_sum(value).expect("the job goes on"), f64::from(n) + 10.0);
        }
    };
    two_ranks(sum, sum);
}

pub(super) fn both_ranks_get_the_sums_of_vectors() {
    // The third uses the cell of the first again.
    let sum = |t: &Shm| {
        for n in 1..=3u8 {
            let mut values = [f64::from(n), 10.0];
            t.global_sum_vector(&mut values).expect("the job goes on");
            assert_eq!(values, [2.0 * f64::from(n), 20.0]);
        }
    };
    two_ranks(sum, sum);
}

/// Input of each rank to `call`: its bytes are its number and those after.
fn give(t: &Shm, call: &Collective) -> Vec<u8> {
    let [input, mut output] =
        [call.input_bytes(t.rank(), t.n_ranks()), call.output_bytes(t.rank(), t.n_ranks())]
            .map(|length| t.message_buffer(length).expect("there is room"));
    let mut input = input;
    (0..).zip(&mut *input).for_each(|(n, byte)| *byte = n + 100 * t.rank() as u8);
    t.collective(call, &input, &mut output).expect("the job goes on");
    output.to_vec()
}

pub(super) fn a_cell_is_written_again_only_after_the_root_has_read_it() {
    // Rank 1 waits for nobody until it needs a cell again.
    let main = |t: &Shm| {
        for length in 1..=N_BOARDS + 1 {
            let found = give(t, &Collective::new(Kind::Gather, Parts::Equal(length)));
            let of = |rank: u8| (0..length).map(move |n| 100 * rank + n as u8);
            let expected: Vec<u8> = of(0).chain(of(1)).collect();
            assert_eq!(found, if t.rank() == 0 { expected } else { Vec::new() });
        }
    };
    two_ranks(main, main);
}

pub(super) fn long_parts_are_taken_from_where_they_lie() {
    let main = |t: &Shm| {
        let parts = Parts::Equal(LONG_BYTES);
        let of = |rank: u8| (0..LONG_BYTES).map(move |n| 100 * rank + n as u8);
        let all: Vec<u8> = of(0).chain(of(1)).collect();
        assert_eq!(give(t, &Collective::new(Kind::Allgather, parts.clone())), all);
        let found = give(t, &Collective::new(Kind::Gather, parts.clone()).with_root(1));
        assert_eq!(found, if t.rank() == 1 { all } else { Vec::new() });
        let found = give(t, &Collective::new(Kind::Scatter, parts).with_root(1));
        assert!(
            found.into_iter().eq((0..LONG_BYTES).map(|n| (100 + t.rank() * LONG_BYTES + n) as u8))
        );
    };
    two_ranks(main, main);
}

pub(super) fn long_vectors_are_combined_where_they_lie() {
    let main = |t: &Shm| {
        let by = Reducer::new(Element::U8, Operator::Sum).expect("bytes have sums");
        let parts = Parts::Equal(LONG_BYTES);
        let found = give(t, &Collective::new(Kind::Allreduce, parts).with_reducer(by));
        assert!(found.into_iter().eq((0..LONG_BYTES).map(|n| 100 + 2 * n as u8)));
    };
    two_ranks(main, main);
}

pub(super) fn three_ranks_leave_a_barrier_only_when_all_have_come() {
    ranks(3, |segment, rank| {
        // Each writes its cell before and reads those of all afterwards, as loom sees.
        let cell = |rank| &segment.boards(rank)[0].cell;
        // SAFETY: loom ends the model if somebody uses it meanwhile.
        cell(rank).with_mut(|bytes| unsafe { (*bytes)[0] = 7 });
        shm(segment, rank).barrier().expect("the job goes on");
        for other in 0..3 {
            // SAFETY: as above.
            assert_eq!(cell(other).with(|bytes| unsafe { (*bytes)[0] }), 7);
        }
    });
}

/// Broadcasts `value` from `root`.
fn broadcast(t: &Shm, root: Rank, value: u8) {
    let mut message = if t.rank() == root { [value; 3] } else { [0; 3] };
    t.blocked_broadcast(root, &mut message).expect("the job goes on");
    assert_eq!(message, [value; 3]);
}

pub(super) fn broadcasts_of_either_root_arrive() {
    let main = |t: &Shm| [0, 1].into_iter().for_each(|root| broadcast(t, root, 7));
    two_ranks(main, main);
}

pub(super) fn a_line_of_broadcasts_is_used_again_only_after_it_was_read() {
    let main = |t: &Shm| (0..=N_BROADCASTS as u8).for_each(|n| broadcast(t, 0, n));
    two_ranks(main, main);
}
