//! Messages through a reply slot and a ring of two chunks and four lines, each used again and again.

use std::rc::Rc;

use comet_core::transport::Tag;

use super::explore::{together, until};
use super::segment::Fresh;
use crate::head::{Body, Head};
use crate::layout::{CHUNK_BYTES, INLINE_BYTES, N_LINES, Pair, RUN_LINE_BYTES};
use crate::reply_slot::ReplyEnd;
use crate::ring::{Consumer, Producer, run_lines};

const TAG: Tag = Tag::new(5);
/// One more message than there are lines.
const N: u8 = N_LINES as u8;

fn pair() -> &'static Pair {
    // Leaked, as a rank leaks its segment.
    Box::leak(Box::new(Pair::fresh()))
}

/// Both ends of a new ring, whose consumer keeps the reply slot.
pub(super) fn ring() -> (Producer, Consumer) {
    let pair = pair();
    let [first, second] = [true, false].map(|is_first| ReplyEnd::over(&pair.reply_slot, is_first));
    (Producer::over(pair, Rc::new(second), None), Consumer::new(pair, Rc::new(first)))
}

/// Two ranks that send to each other, of which the first holds the reply slot.
fn ranks() -> [(Producer, Consumer); 2] {
    let (there, back) = (pair(), pair());
    [(true, there, back), (false, back, there)].map(|(is_first, to, from)| {
        let reply_slot = Rc::new(ReplyEnd::over(&there.reply_slot, is_first));
        (Producer::over(to, Rc::clone(&reply_slot), None), Consumer::new(from, reply_slot))
    })
}

/// Sends in the reply slot if this end has it.
fn send(producer: &mut Producer, message: &[u8]) {
    if producer.has_reply_slot() {
        // SAFETY: the slice is readable for its length, which a reply slot holds.
        return unsafe { producer.pass_reply_slot(TAG, message.as_ptr(), message.len()) };
    }
    until(|| producer.has_lines(run_lines(message.len())));
    // SAFETY: the slice is readable for its length, and there is room.
    unsafe { producer.push_run(TAG, message.as_ptr(), message.len()) };
}

/// The first line of the next message, once it has arrived.
pub(super) fn next_head(consumer: &Consumer) -> Head {
    let mut head = None;
    until(|| {
        head = consumer.next_message();
        head.is_some()
    });
    head.expect("it has arrived")
}

fn recv(consumer: &mut Consumer) -> Vec<u8> {
    let head = next_head(consumer);
    assert_eq!((head.tag, head.body), (TAG, Body::Run));
    let mut message = consumer.first_data(head.lane, head.length_bytes).to_vec();
    consumer.consume_head(head.lane);
    while message.len() < head.length_bytes {
        until(|| consumer.ready());
        message.extend(consumer.run_data(head.length_bytes - message.len()));
        consumer.consume_line();
    }
    message
}

pub(super) fn a_line_is_read_whole_and_used_again_only_after_it_was_read() {
    let (mut producer, mut consumer) = ring();
    together(
        move || (0..=N).for_each(|n| send(&mut producer, &[n; 7])),
        move || (0..=N).for_each(|n| assert_eq!(recv(&mut consumer), [n; 7])),
    );
}

pub(super) fn a_run_of_lines_arrives_whole_and_in_order() {
    let (mut producer, mut consumer) = ring();
    let messages = [&[1; 2][..], &[2; INLINE_BYTES + RUN_LINE_BYTES + 5], &[3; INLINE_BYTES + 5]];
    together(
        move || messages.iter().for_each(|message| send(&mut producer, message)),
        move || messages.iter().for_each(|message| assert_eq!(recv(&mut consumer), *message)),
    );
}

pub(super) fn a_chunk_is_read_whole_and_used_again_only_after_it_was_read() {
    let (mut producer, mut consumer) = ring();
    let produce = move || {
        for n in 1..=3u8 {
            until(|| producer.has_chunk());
            let data = [n; CHUNK_BYTES];
            // SAFETY: the array is as long as a chunk, for which there is room.
            unsafe { producer.push_chunk(TAG, data.as_ptr(), data.len()) };
        }
    };
    together(produce, move || {
        for n in 1..=3u8 {
            until(|| consumer.ready());
            assert_eq!(consumer.chunk_data(), [n; CHUNK_BYTES]);
            consumer.consume_chunk();
        }
    });
}

pub(super) fn a_reply_slot_is_written_only_by_who_has_read_it() {
    let [(mut to_second, mut from_second), (mut to_first, mut from_first)] = ranks();
    // Short ones lie in its line, longer ones beside it.
    let messages = [[1; INLINE_BYTES + 2], [2; INLINE_BYTES + 2], [3; INLINE_BYTES + 2]];
    together(
        move || {
            send(&mut to_second, &messages[0]);
            assert_eq!(recv(&mut from_second), messages[1]);
            send(&mut to_second, &messages[2]);
        },
        move || {
            assert_eq!(recv(&mut from_first), messages[0]);
            send(&mut to_first, &messages[1]);
            assert_eq!(recv(&mut from_first), messages[2]);
        },
    );
}

pub(super) fn messages_in_the_ring_and_on_the_reply_slot_stay_in_order() {
    let [(mut to_second, mut from_second), (mut to_first, mut from_first)] = ranks();
    together(
        move || {
            send(&mut to_second, &[1]);
            send(&mut to_second, &[2]);
            assert_eq!(recv(&mut from_second), [9]);
            send(&mut to_second, &[3]);
            send(&mut to_second, &[4]);
        },
        move || {
            assert_eq!(recv(&mut from_first), [1]);
            send(&mut to_first, &[9]);
            (2..=4).for_each(|n| assert_eq!(recv(&mut from_first), [n]));
        },
    );
}
