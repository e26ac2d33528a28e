//! Messages of both lanes between two ranks stay in order, in whatever mixture they are sent and
//! received; tested here without threads, also where the counts of lines and replies wrap around.

use proptest::prelude::*;

use super::tests::{TAG, pop_run, push_run, start_at};
use super::*;
use crate::layout::SLOT_BYTES;

/// One of two ranks: its end towards the other, and its end of what that sends.
struct Side {
    producer: Producer,
    consumer: Consumer,
    n_sent: usize,
    n_received: usize,
}

/// Next step of a rank, if it can take it.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// It sends in the reply slot.
    Pass,
    /// It sends in the ring, also if it has the reply slot.
    Push,
    Receive,
}

impl Side {
    fn send(&mut self, step: Step) {
        let message = message(self.n_sent);
        let sent = match step {
            Step::Pass => pass(&mut self.producer, &message),
            _ => push_run(&mut self.producer, &message),
        };
        self.n_sent += usize::from(sent);
    }

    /// Receives the next message, which is there if `peer` has sent it.
    fn receive(&mut self, peer: &Self) {
        let is_there = self.consumer.next_message().is_some();
        assert_eq!(is_there, self.n_received < peer.n_sent);
        if is_there {
            assert_eq!(pop_run(&mut self.consumer), message(self.n_received));
            self.n_received += 1;
        }
    }
}

/// Sends `message` in the reply slot, if it is there.
fn pass(producer: &mut Producer, message: &[u8]) -> bool {
    let has_reply_slot = producer.has_reply_slot();
    if has_reply_slot {
        // SAFETY: the slice is readable for its length, which a reply slot holds.
        unsafe { producer.pass_reply_slot(TAG, message.as_ptr(), message.len()) };
    }
    has_reply_slot
}

/// The message that is sent after `n` others: no two in a row are alike.
fn message(n: usize) -> Vec<u8> {
    let length = [0, 7, INLINE_BYTES, INLINE_BYTES + 1, 300, 1, RUN_BYTES][n % 7];
    (0..length).map(|i| (i + n).to_le_bytes()[0]).collect()
}

fn pair() -> &'static Pair {
    // SAFETY: a pair is valid when zeroed.
    Box::leak(unsafe { Box::<Pair>::new_zeroed().assume_init() })
}

/// Two ranks after `n_lines` lines and `n_passed` reply slots each; the first holds it.
fn ranks(n_lines: u32, n_passed: u32) -> [Side; 2] {
    let (there, back) = (pair(), pair());
    let side = |is_first, to, from| {
        let reply_slot = Rc::new(ReplyEnd::after(&there.reply_slot, is_first, n_passed));
        let producer = Producer::over(to, Rc::clone(&reply_slot), None);
        Side { producer, consumer: Consumer::new(from, reply_slot), n_sent: 0, n_received: 0 }
    };
    let [mut first, mut second] = [side(true, there, back), side(false, back, there)];
    start_at(n_lines, &mut first.producer, &mut second.consumer);
    start_at(n_lines, &mut second.producer, &mut first.consumer);
    [first, second]
}

#[test]
fn a_message_on_the_reply_slot_waits_for_those_sent_in_the_ring_before() {
    let [mut first, mut second] = ranks(0, 0);
    let steps = [Step::Push, Step::Push, Step::Pass];
    steps.into_iter().for_each(|step| first.send(step));
    for lane in [Lane::Ring, Lane::Ring, Lane::ReplySlot] {
        assert_eq!(second.consumer.next_message().map(|head| head.lane), Some(lane));
        second.receive(&first);
    }
}

#[test]
fn a_message_in_the_ring_waits_for_those_sent_on_the_reply_slot_before() {
    let [mut first, mut second] = ranks(0, 0);
    [Step::Pass, Step::Push].into_iter().for_each(|step| first.send(step));
    for lane in [Lane::ReplySlot, Lane::Ring] {
        assert_eq!(second.consumer.next_message().map(|head| head.lane), Some(lane));
        second.receive(&first);
    }
}

#[test]
fn the_reply_slot_is_at_one_rank_and_at_none_while_its_message_is_not_received() {
    let [mut first, mut second] = ranks(0, 0);
    let holders = |ranks: [&Side; 2]| ranks.map(|rank| rank.producer.has_reply_slot());
    assert_eq!(holders([&first, &second]), [true, false]);
    first.send(Step::Pass);
    assert_eq!(holders([&first, &second]), [false, false]);
    second.receive(&first);
    assert_eq!(holders([&first, &second]), [false, true]);
}

#[test]
fn the_reply_slot_takes_messages_longer_than_a_run() {
    let [mut first, mut second] = ranks(0, 0);
    let message: Vec<u8> = (0..SLOT_BYTES).map(|i| i.to_le_bytes()[0]).collect();
    assert!(pass(&mut first.producer, &message));
    assert_eq!(pop_run(&mut second.consumer), message);
}

proptest! {
    #[test]
    fn messages_stay_in_order_in_every_mixture_of_both_lanes(
        // Late enough that every line has been used before, as it is when the count wraps around.
        n_lines in prop_oneof![Just(0), u32::MAX - 800..u32::MAX - 256],
        // Numbers in the reply slot wrap around twice as often as its count.
        n_passed in prop_oneof![Just(0), (1u32 << 31) - 9..1 << 31, u32::MAX - 9..=u32::MAX],
        steps in prop::collection::vec((any::<bool>(), step()), 1..300),
    ) {
        let [mut first, mut second] = ranks(n_lines, n_passed);
        for (is_first, step) in steps {
            let (rank, peer) =
                if is_first { (&mut first, &second) } else { (&mut second, &first) };
            match step {
                Step::Receive => rank.receive(peer),
                _ => rank.send(step),
            }
        }
        while first.n_received < second.n_sent {
            first.receive(&second);
        }
        while second.n_received < first.n_sent {
            second.receive(&first);
        }
    }
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![Just(Step::Pass), Just(Step::Push), Just(Step::Receive), Just(Step::Receive)]
}
