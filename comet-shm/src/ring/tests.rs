//! Tests of one ring, without threads.

use super::*;
use crate::head::Body;
use std::collections::VecDeque;

pub(super) const TAG: Tag = Tag::new(5);

fn ring() -> (Producer, Consumer) {
    // SAFETY: a pair is valid when zeroed.
    let pair: Box<Pair> = unsafe { Box::<Pair>::new_zeroed().assume_init() };
    let pair: &'static Pair = Box::leak(pair);
    let ends = [true, false].map(|is_first| Rc::new(ReplyEnd::over(&pair.reply_slot, is_first)));
    let [first, second] = ends;
    (Producer::over(pair, first, None), Consumer::new(pair, second))
}

fn near_wrap(start: u32) -> (Producer, Consumer) {
    let (mut producer, mut consumer) = ring();
    start_at(start, &mut producer, &mut consumer);
    (producer, consumer)
}

/// Starts both ends at a position, such as one just before all wrap around.
pub(super) fn start_at(start: u32, producer: &mut Producer, consumer: &mut Consumer) {
    consumer.pair.credit.lines.store(start, Ordering::Relaxed);
    consumer.pair.credit.chunks.store(start, Ordering::Relaxed);
    (producer.lines, producer.lines_consumed) = (start, start);
    (producer.chunks, producer.chunks_consumed) = (start, start);
    (consumer.lines, consumer.lines_published) = (start, start);
    (consumer.chunks, consumer.chunks_published) = (start, start);
}

pub(super) fn push_run(producer: &mut Producer, message: &[u8]) -> bool {
    let has_room = producer.has_lines(run_lines(message.len()));
    if has_room {
        // SAFETY: the slice is readable for its length.
        unsafe { producer.push_run(TAG, message.as_ptr(), message.len()) };
    }
    has_room
}

pub(super) fn pop_run(consumer: &mut Consumer) -> Vec<u8> {
    let head = consumer.next_message().unwrap();
    assert_eq!((head.tag, head.body), (TAG, Body::Run));
    let mut message = consumer.first_data(head.lane, head.length_bytes).to_vec();
    consumer.consume_head(head.lane);
    while message.len() < head.length_bytes {
        assert!(consumer.ready());
        message.extend(consumer.run_data(head.length_bytes - message.len()));
        consumer.consume_line();
    }
    message
}

#[test]
fn runs_of_every_length_arrive_in_order_also_across_the_wrap() {
    for start in [0, 1, u32::MAX - 300] {
        let (mut producer, mut consumer) = near_wrap(start);
        for length in (0..RUN_BYTES).step_by(if cfg!(miri) { 509 } else { 1 }) {
            let message: Vec<u8> = (0..length).map(|i| (i * 7 + length).to_le_bytes()[0]).collect();
            assert!(push_run(&mut producer, &message), "{length} bytes");
            assert_eq!(pop_run(&mut consumer), message);
            assert!(!consumer.ready());
        }
    }
}

#[test]
fn a_full_ring_takes_no_more_and_recovers() {
    let (mut producer, mut consumer) = near_wrap(u32::MAX - 100);
    let mut expected = VecDeque::new();
    for step in 0..2000u32 {
        let message = step.to_le_bytes();
        if step % 700 < 600 && push_run(&mut producer, &message) {
            expected.push_back(message);
        }
        assert!(expected.len() <= N_LINES as usize);
        if step % 3 == 0 && !expected.is_empty() {
            assert_eq!(pop_run(&mut consumer), expected.pop_front().unwrap());
        }
    }
    assert_eq!(consumer.ready(), !expected.is_empty());
}

#[test]
fn chunks_carry_long_messages_and_are_reused() {
    let (mut producer, mut consumer) = near_wrap(u32::MAX - 20);
    for round in 0..100u8 {
        let data = vec![round; CHUNK_BYTES - usize::from(round)];
        assert!(producer.has_chunk());
        // SAFETY: the slice is readable for its length, which is that of a chunk at most.
        unsafe { producer.push_chunk(TAG, data.as_ptr(), data.len()) };
        assert!(consumer.ready());
        assert_eq!(consumer.chunk_data(), data);
        consumer.consume_chunk();
    }
    let n_free = (0..).take_while(|_| {
        let free = producer.has_chunk();
        if free {
            // SAFETY: one byte is readable.
            unsafe { producer.push_chunk(TAG, [1u8].as_ptr(), 1) };
        }
        free
    });
    // The consumer tells every quarter, so up to three consumed chunks are not yet known free.
    assert!((N_CHUNKS as usize - 3..=N_CHUNKS as usize).contains(&n_free.count()));
}

#[test]
fn a_lent_message_is_done_when_its_ticket_is() {
    let (mut producer, mut consumer) = ring();
    let place = Place::Heap(4096);
    let ticket = producer.push_lent(TAG, place, 1 << 33).unwrap();
    let head = consumer.next_message().unwrap();
    assert_eq!(head.length_bytes, 1 << 33);
    assert_eq!(head.body, Body::Lent(place, ticket));
    consumer.consume_head(head.lane);
    assert!(!producer.rendezvous(ticket).is_copied(ticket.number));
    consumer.rendezvous(ticket).finish(ticket.number);
    assert!(producer.rendezvous(ticket).is_copied(ticket.number));
    let lend = || producer.push_lent(TAG, Place::Private(64), 1);
    let tickets: Vec<_> = std::iter::from_fn(lend).collect();
    assert_eq!(tickets.len(), N_RENDEZVOUS);
    assert_ne!(tickets[0], ticket);
}
