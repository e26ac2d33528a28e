//! Messages that are lent: the sender changes its message once it may, and the receiver reads what
//! both have copied.

use std::sync::Arc;

use comet_core::transport::Tag;

use super::explore::{together, until};
use super::ring::{next_head, ring};
use crate::head::Body;
use crate::layout::ReceiptWord;
use crate::remote_copy::Place;
use crate::rendezvous::{Pieces, TOGETHER_BYTES};
use crate::sync::{AtomicU32, SharedCell};

const TAG: Tag = Tag::new(5);
/// A message of two pieces.
const LENGTH_BYTES: usize = TOGETHER_BYTES;
/// A message or a buffer: one number for each of its pieces.
type Memory = [SharedCell<u8>; 2];

fn memory() -> Arc<Memory> {
    Arc::new([SharedCell::new(0), SharedCell::new(0)])
}

fn read(cell: &SharedCell<u8>) -> u8 {
    // SAFETY: loom ends the model if somebody writes it meanwhile.
    cell.with(|value| unsafe { *value })
}

fn write(cell: &SharedCell<u8>, value: u8) {
    // SAFETY: loom ends the model if somebody else uses it meanwhile.
    cell.with_mut(|place| unsafe { *place = value });
}

/// Copies the piece that begins at `at`, which need not have bytes here.
fn copy(from: &Memory, to: &Memory, at: usize) {
    let index = usize::from(at > 0);
    write(&to[index], read(&from[index]));
}

pub(super) fn a_lent_message_is_changed_only_after_it_was_read() {
    let (mut producer, mut consumer) = ring();
    let message = memory();
    let lent = Arc::clone(&message);
    let produce = move || {
        for n in 1..=2 {
            write(&lent[0], n);
            let ticket = loop {
                match producer.push_lent(TAG, Place::Heap(64), 1) {
                    Some(ticket) => break ticket,
                    None => loom::thread::yield_now(),
                }
            };
            until(|| producer.rendezvous(ticket).is_copied(ticket.number));
        }
    };
    together(produce, move || {
        for n in 1..=2 {
            let head = next_head(&consumer);
            let Body::Lent(_, ticket) = head.body else { unreachable!() };
            consumer.consume_head(head.lane);
            assert_eq!(read(&message[0]), n);
            consumer.rendezvous(ticket).finish(ticket.number);
        }
    });
}

pub(super) fn a_message_that_is_held_is_changed_only_after_its_receipt() {
    let (mut producer, mut consumer) = ring();
    let word = || ReceiptWord { is_written: AtomicU32::new(0) };
    let (message, receipts) = (memory(), Arc::new([word(), word()]));
    let (held, awaited) = (Arc::clone(&message), Arc::clone(&receipts));
    let produce = move || {
        for n in 1..=2 {
            write(&held[0], n);
            let receipt = usize::from(n - 1);
            until(|| producer.push_held(TAG, (Place::Heap(64), 1), receipt));
            until(|| awaited[receipt].is_written());
        }
    };
    together(produce, move || {
        for n in 1..=2 {
            let head = next_head(&consumer);
            let Body::Held(_, receipt) = head.body else { unreachable!() };
            consumer.consume_head(head.lane);
            assert_eq!(read(&message[0]), n);
            receipts[receipt].write();
        }
    });
}

pub(super) fn a_message_that_both_copy_is_there_once_the_receiver_says_so() {
    assert_eq!(Pieces::of(LENGTH_BYTES, [Place::Heap(64); 2]).count(), 2);
    let (mut producer, mut consumer) = ring();
    let (message, buffer) = (memory(), memory());
    let (lent, target) = (Arc::clone(&message), Arc::clone(&buffer));
    let produce = move || {
        for n in 1..=2 {
            lent.iter().for_each(|piece| write(piece, n));
            let ticket = producer.push_lent(TAG, Place::Heap(64), LENGTH_BYTES);
            let ticket = ticket.expect("the message before is over");
            let rendezvous = producer.rendezvous(ticket);
            let mut may_help = true;
            until(|| {
                if may_help && rendezvous.opened(ticket.number).is_some() {
                    may_help = false;
                    while let Some((at, _)) =
                        rendezvous.take_back(Pieces::of(LENGTH_BYTES, [Place::Heap(64); 2]))
                    {
                        copy(&lent, &target, at);
                    }
                    rendezvous.helped(ticket.number);
                }
                rendezvous.is_copied(ticket.number)
            });
        }
    };
    together(produce, move || {
        for n in 1..=2 {
            let head = next_head(&consumer);
            let Body::Lent(_, ticket) = head.body else { unreachable!() };
            consumer.consume_head(head.lane);
            // The buffer is the caller's until the receive.
            buffer.iter().for_each(|piece| write(piece, 0));
            let rendezvous = consumer.rendezvous(ticket);
            rendezvous.open(ticket.number, Place::Heap(128));
            let mut n_copied = 0;
            while let Some((at, _)) =
                rendezvous.take_front(Pieces::of(LENGTH_BYTES, [Place::Heap(64); 2]))
            {
                copy(&message, &buffer, at);
                n_copied += 1;
            }
            if n_copied < Pieces::of(LENGTH_BYTES, [Place::Heap(64); 2]).count() {
                until(|| rendezvous.is_helped(ticket.number));
            }
            rendezvous.finish(ticket.number);
            assert!(buffer.iter().all(|piece| read(piece) == n));
        }
    });
}
