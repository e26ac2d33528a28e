//! Steps of the collectives that whole ranks hide from loom: a meeting without the fences of those
//! who wake sleepers, which cost nothing where the system has `membarrier` and order nothing then;
//! buffers in the heaps, which loom does not see, so that the cells stand for them; and pieces of
//! broadcasts, whose ring is one thing to loom that a root writes while the others read what lies
//! beside it, so that a cell stands for its one place too.

use std::sync::Arc;

use comet_core::transport::Rank;

use super::explore::{together, until};
use super::segment::Fresh;
use super::whole::{ranks, waiter};
use crate::collective::stream::{Position, Stream};
use crate::collective::{Act, Meeting};
use crate::engine::{Endpoint, Engine};
use crate::layout::{BROADCAST_RING_BYTES, Board, CELL_BYTES};
use crate::remote_copy::RemoteCopy;
use crate::segment::Segment;
use crate::sync::SharedCell;

/// Bytes of a piece: it fills the ring.
const PIECE_BYTES: usize = BROADCAST_RING_BYTES;

/// A buffer or a piece: the cell of a board.
type Piece = SharedCell<[u8; CELL_BYTES]>;

/// Writes the first byte of `piece`.
fn write(piece: &Piece, value: u8) {
    // SAFETY: loom ends the model if somebody else uses it meanwhile.
    piece.with_mut(|bytes| unsafe { (*bytes)[0] = value });
}

/// The first byte of `piece`.
fn read(piece: &Piece) -> u8 {
    // SAFETY: loom ends the model if somebody writes it meanwhile.
    piece.with(|bytes| unsafe { (*bytes)[0] })
}

pub(super) fn engine(segment: &'static Segment, rank: Rank) -> Engine {
    let endpoint = Endpoint::new(segment, RemoteCopy::new(segment, rank, false), rank);
    Engine::new(waiter(segment, rank), endpoint)
}

pub(super) fn what_a_rank_brings_to_a_meeting_is_there_once_it_has_come() {
    let board = Arc::new(Board::fresh());
    let own = Arc::clone(&board);
    let come = move || {
        own.bring(Act::END);
        own.bring_from(7);
        own.bring_into(8);
        own.reach(1);
    };
    together(come, move || {
        until(|| board.has_reached(1));
        assert_eq!((board.act(), board.brought_from(), board.brought_into()), (Act::END, 7, 8));
    });
}

/// A buffer of each rank, which the other reads between two meetings.
pub(super) fn a_buffer_is_changed_only_after_the_others_have_read_it() {
    ranks(2, |segment, rank| {
        let (meeting, engine) = (Meeting::new(segment, rank), engine(segment, rank));
        let buffer = |rank| &segment.boards(rank)[0].cell;
        for value in [1, 2] {
            write(buffer(rank), value);
            let number = meeting.begin(&engine).expect("the job goes on");
            meeting.hold(number, meeting.all(), &engine).expect("the job goes on");
            assert_eq!(read(buffer(1 - rank)), value);
            meeting.end(meeting.all(), &engine).expect("the job goes on");
        }
    });
}

/// A buffer of rank 0, into which rank 1 writes as soon as that is there; rank 1 waits for no end.
pub(super) fn a_buffer_is_read_only_after_the_others_have_written_it() {
    ranks(2, |segment, rank| {
        let (meeting, engine) = (Meeting::new(segment, rank), engine(segment, rank));
        let buffer = &segment.boards(0)[0].cell;
        for value in [1, 2] {
            if rank == 0 {
                write(buffer, 0);
            }
            let number = meeting.begin(&engine).expect("the job goes on");
            let needed = if rank == 0 { meeting.all() } else { 0..1 };
            meeting.hold(number, needed, &engine).expect("the job goes on");
            if rank == 1 {
                write(buffer, value);
            }
            let awaited = if rank == 0 { meeting.all() } else { 0..0 };
            meeting.end(awaited, &engine).expect("the job goes on");
            if rank == 0 {
                assert_eq!(read(buffer), value);
            }
        }
    });
}

/// Two vectors of two slices: each rank combines one slice of both, and writes it into both.
pub(super) fn a_slice_of_all_vectors_has_one_rank() {
    ranks(2, |segment, rank| {
        let (meeting, engine) = (Meeting::new(segment, rank), engine(segment, rank));
        let slice = |rank: Rank, slice: usize| &segment.boards(rank)[slice].cell;
        (0..2).for_each(|index| write(slice(rank, index), 1 + index as u8));
        let number = meeting.begin(&engine).expect("the job goes on");
        meeting.hold(number, meeting.all(), &engine).expect("the job goes on");
        let sum = read(slice(0, rank)) + read(slice(1, rank));
        (0..2).for_each(|vector| write(slice(vector, rank), sum));
        meeting.end(meeting.all(), &engine).expect("the job goes on");
        (0..2).for_each(|index| assert_eq!(read(slice(rank, index)), 2 * (1 + index as u8)));
    });
}

pub(super) fn a_place_in_the_ring_is_used_again_only_after_it_was_read() {
    ranks(2, |segment, rank| {
        let (stream, engine) = (Stream::new(segment, rank), engine(segment, rank));
        for value in [1, 2] {
            let end = stream.position().after(PIECE_BYTES);
            let piece = &segment.boards(0)[0].cell;
            if rank == 0 {
                send(&stream, end, piece, value, &engine);
            } else {
                assert_eq!(recv(&stream, end, piece, &engine), value);
            }
        }
    });
}

fn send(stream: &Stream, end: Position, piece: &Piece, value: u8, engine: &Engine) {
    stream.await_room(end, engine).expect("the job goes on");
    write(piece, value);
    stream.publish(end, PIECE_BYTES, 0, engine);
    stream.advance(end, engine);
}

fn recv(stream: &Stream, end: Position, piece: &Piece, engine: &Engine) -> u8 {
    stream.await_line(0, end, PIECE_BYTES, engine).expect("the job goes on");
    let value = read(piece);
    stream.advance(end, engine);
    value
}
