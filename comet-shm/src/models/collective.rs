//! Steps of the collectives that whole ranks hide from loom: a meeting without the fences of those
//! who wake sleepers, which cost nothing where the system has `membarrier` and order nothing then;
//! and pieces of broadcasts, whose ring is one thing to loom that a root writes while the others
//! read what lies beside it, so that something else stands for its one place here.

use std::sync::Arc;

use super::explore::{together, until};
use super::segment::Fresh;
use super::whole::{ranks, waiter};
use crate::collective::stream::{Position, Stream};
use crate::engine::{Endpoint, Engine};
use crate::layout::{BROADCAST_RING_BYTES, CELL_VALUES, CollectiveLine};
use crate::remote_copy::RemoteCopy;
use crate::sync::SharedCell;

/// Bytes of a piece: it fills the ring.
const PIECE_BYTES: usize = BROADCAST_RING_BYTES;

/// Place of a piece: a cell of a vector sum.
type Piece = SharedCell<[f64; CELL_VALUES]>;

pub(super) fn what_a_rank_brings_to_a_meeting_is_there_once_it_has_come() {
    let line = Arc::new(CollectiveLine::fresh());
    let own = Arc::clone(&line);
    let come = move || {
        own.bring(7);
        own.bring_length(56);
        own.reach(1);
    };
    together(come, move || {
        until(|| line.has_reached(1));
        assert_eq!((line.brought(), line.brought_length()), (7, 56));
    });
}

pub(super) fn a_place_in_the_ring_is_used_again_only_after_it_was_read() {
    ranks(2, |segment, rank| {
        let stream = Stream::new(segment, rank);
        let endpoint = Endpoint::new(segment, RemoteCopy::new(segment, rank, false), rank);
        let engine = Engine::new(waiter(segment, rank), endpoint);
        for value in [1.0, 2.0] {
            let end = stream.position().after(PIECE_BYTES);
            let piece = &segment.cells(0).values[0];
            if rank == 0 {
                send(&stream, end, piece, value, &engine);
            } else {
                assert_eq!(recv(&stream, end, piece, &engine), value);
            }
        }
    });
}

fn send(stream: &Stream, end: Position, piece: &Piece, value: f64, engine: &Engine) {
    stream.await_room(end, engine).expect("the job goes on");
    // SAFETY: loom ends the model if somebody else uses it meanwhile.
    piece.with_mut(|values| unsafe { (*values)[0] = value });
    stream.publish(end, PIECE_BYTES, 0, engine);
    stream.advance(end, engine);
}

fn recv(stream: &Stream, end: Position, piece: &Piece, engine: &Engine) -> f64 {
    stream.await_line(0, end, PIECE_BYTES, engine).expect("the job goes on");
    // SAFETY: loom ends the model if somebody writes it meanwhile.
    let value = piece.with(|values| unsafe { (*values)[0] });
    stream.advance(end, engine);
    value
}
