//! The master of `master_worker`: the pieces of its vector, which of them is where, and the ways to get them
//! back.

use std::ops::Range;

use comet_core::kernel::prelude::*;
use comet_core::transport::Room;

use super::completion::Wait;
use super::copy;
use super::master_worker::Form;

/// A vector in pieces, as even as they can be.
#[derive(Clone, Copy)]
pub(crate) struct Pieces {
    pub(crate) length: usize,
    pub(crate) n: usize,
}

impl Pieces {
    /// The place of a piece.
    #[inline]
    fn range(self, chunk: usize) -> Range<usize> {
        let (each, n_longer) = (self.length / self.n, self.length % self.n);
        let start = |chunk: usize| chunk * each + chunk.min(n_longer);
        start(chunk)..start(chunk + 1)
    }

    /// Length of the longest piece, which is the first.
    pub(crate) fn longest(self) -> usize {
        self.length.div_ceil(self.n)
    }
}

/// Tags of chunks on their way out and back, and of what a worker says about them.
#[derive(Clone, Copy)]
pub(crate) struct Tags {
    pub(crate) out: Tag,
    pub(crate) back: Tag,
    pub(crate) claim: Tag,
}

/// The rank that hands out.
pub(crate) struct Master<T: Transport> {
    rank: Rank,
    n_ranks: usize,
    tags: Tags,
    pieces: Pieces,
    vector: T::Buffer,
    result: T::Buffer,
    /// Room for a chunk whose place is not known yet.
    scratch: T::Buffer,
    books: Books,
    /// Memory of the sets of requests between two runs.
    sends: Room<T::SendOp<'static>>,
    receives: Room<T::RecvOp<'static>>,
    /// Workers without a chunk, each of which gets the next one.
    free: Vec<Rank>,
    /// Number of chunks that each rank says it had.
    claimed: Vec<f64>,
}

/// Places of the chunks.
struct Books {
    /// The worker that each chunk was handed to.
    given_to: Vec<Rank>,
    /// Length of each chunk as it came back from that worker.
    arrived_bytes: Vec<Option<usize>>,
    /// The chunk that each rank has.
    held: Vec<Option<usize>>,
    /// Answers of workers that had no chunk.
    n_strays: usize,
    n_out: usize,
    n_back: usize,
}

impl Books {
    fn of(n_chunks: usize, n_ranks: usize) -> Self {
        let (given_to, arrived_bytes) = (vec![0; n_chunks], vec![None; n_chunks]);
        Self {
            given_to,
            arrived_bytes,
            held: vec![None; n_ranks],
            n_strays: 0,
            n_out: 0,
            n_back: 0,
        }
    }

    /// The chunk that `worker` gets; `None` if there is none left.
    #[inline]
    fn hand_out(&mut self, worker: Rank) -> Option<usize> {
        let chunk = (self.n_out < self.given_to.len()).then_some(self.n_out)?;
        self.n_out += 1;
        self.given_to[chunk] = worker;
        self.held[worker] = Some(chunk);
        Some(chunk)
    }

    /// The chunk that came back with `status`; `None` if its worker had none.
    #[inline]
    fn take_back(&mut self, status: Status) -> Option<usize> {
        self.n_back += 1;
        let Some(chunk) = self.held[status.source].take() else {
            self.n_strays += 1;
            return None;
        };
        self.arrived_bytes[chunk] = Some(status.length_bytes);
        Some(chunk)
    }
}

impl<T: Transport> Master<T> {
    pub(crate) fn new(cx: &Context<'_, T>, pieces: Pieces, tags: Tags) -> Result<Self> {
        let (rank, n_ranks, n) = (cx.rank(), cx.transport().n_ranks(), pieces.n);
        Ok(Self {
            rank,
            n_ranks,
            tags,
            pieces,
            vector: cx.message(pieces.length)?,
            result: cx.message(pieces.length)?,
            scratch: cx.message(pieces.longest())?,
            books: Books::of(n, n_ranks),
            sends: Room::of(n),
            receives: Room::of(n),
            free: Vec::with_capacity(n_ranks),
            claimed: vec![0.0; n_ranks],
        })
    }

    /// Begins an operation.
    #[inline]
    fn open(&mut self) {
        (self.books.n_out, self.books.n_back) = (0, 0);
    }

    /// All chunks out by sends of the form `F` and back by receives of any source.
    #[inline]
    pub(crate) fn receive_any<F: Form>(&mut self, t: &T) -> Result<()> {
        self.open();
        let Self { n_ranks, tags, pieces, vector, result, scratch, books, sends, .. } = self;
        let (tags, pieces, vector) = (*tags, *pieces, &**vector);
        t.scope(|s| {
            let mut pending = s.requests_in(std::mem::take(sends));
            let mut serve = |books: &mut Books, worker| match books.hand_out(worker) {
                None => t.blocked_send(worker, tags.out, &[]),
                Some(chunk) if F::IS_UNBLOCKED => {
                    let chunk = &vector[pieces.range(chunk)];
                    pending.push(s.unblocked_send_in(F::MODE, worker, tags.out, chunk)?);
                    Ok(())
                }
                Some(chunk) => {
                    t.blocked_send_in(F::MODE, worker, tags.out, &vector[pieces.range(chunk)])
                }
            };
            (1..*n_ranks).try_for_each(|worker| serve(books, worker))?;
            while books.n_back < pieces.n {
                let status = t.blocked_recv(Source::Any, tags.back, scratch)?;
                if let Some(chunk) = books.take_back(status) {
                    let place = &mut result[pieces.range(chunk)];
                    copy(t, &scratch[..place.len()], place);
                }
                serve(books, status.source)?;
            }
            *sends = pending.into_room()?;
            Ok(())
        })
    }

    /// All chunks out by blocked sends and back into their places, by waits of the form `W`.
    #[inline]
    pub(crate) fn receive_placed<W: Wait>(&mut self, t: &T) -> Result<()> {
        self.open();
        let Self { n_ranks, tags, pieces, vector, result, books, receives, free, .. } = self;
        let mut places = &mut **result;
        free.extend(1..*n_ranks);
        t.scope(|s| {
            let mut pending = s.requests_in(std::mem::take(receives));
            loop {
                for worker in free.drain(..) {
                    let Some(chunk) = books.hand_out(worker) else {
                        t.blocked_send(worker, tags.out, &[])?;
                        continue;
                    };
                    // Places go out in their order, so that no two have a byte in common.
                    let range = pieces.range(chunk);
                    let (place, rest) = std::mem::take(&mut places).split_at_mut(range.len());
                    places = rest;
                    pending.push(s.unblocked_recv(Source::Rank(worker), tags.back, place)?);
                    t.blocked_send(worker, tags.out, &vector[range])?;
                }
                if books.n_back == pieces.n {
                    break;
                }
                W::wait(&mut pending, |_, status| {
                    books.take_back(status);
                    free.push(status.source);
                })?;
            }
            *receives = pending.into_room()?;
            Ok(())
        })
    }

    pub(crate) fn fill(&mut self, seeds: Seeds) {
        let seed = seeds.of(0, self.rank);
        pattern::fill(&mut self.vector, seed);
        pattern::spoil(&mut self.result, seed);
        pattern::spoil(&mut self.scratch, seed);
    }

    /// Learns how many chunks each worker had.
    pub(crate) fn hear(&mut self, t: &T) -> Result<()> {
        for worker in 1..self.n_ranks {
            let mut word = [0; 8];
            t.blocked_recv(Source::Rank(worker), self.tags.claim, &mut word)?;
            self.claimed[worker] = u64::from_le_bytes(word) as f64;
        }
        Ok(())
    }

    pub(crate) fn check(&mut self, check: &mut Checker) {
        let (seed, pieces) = (check.seeds().of(0, self.rank), self.pieces);
        let Books { given_to, arrived_bytes, n_strays, .. } = &self.books;
        for (chunk, (worker, arrived)) in given_to.iter().zip(arrived_bytes).enumerate() {
            let what = format!("chunk {chunk} from rank {worker}");
            check.length(*arrived, pieces.range(chunk).len(), &what);
        }
        check.message(&mut self.result, seed, "the vector that came back");
        let mut strays = [*n_strays as f64];
        check.values(&mut strays, |_| 0.0, |_| true, "answers of workers without a chunk");
    }

    /// Compares what the workers have said with what they got.
    pub(crate) fn check_claims(&mut self, check: &mut Checker) {
        let given_to = &self.books.given_to;
        let n_of = |worker| given_to.iter().filter(|of| **of == worker).count() as f64;
        check.values(&mut self.claimed, n_of, |worker| worker > 0, "chunks of each worker");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_follow_each_other_and_differ_by_a_byte() {
        let pieces = Pieces { length: 10, n: 4 };
        let ranges: Vec<_> = (0..4).map(|chunk| pieces.range(chunk)).collect();
        assert_eq!((ranges, pieces.longest()), (vec![0..3, 3..6, 6..8, 8..10], 3));
    }

    #[test]
    fn an_answer_of_a_worker_without_a_chunk_is_a_stray() {
        let mut books = Books::of(2, 3);
        let answer = |source| Status { source, tag: Tag::new(2), length_bytes: 5 };
        assert_eq!(
            [books.hand_out(2), books.hand_out(1), books.hand_out(2)],
            [Some(0), Some(1), None]
        );
        assert_eq!(books.take_back(answer(1)), Some(1));
        assert_eq!(books.take_back(answer(1)), None);
        assert_eq!((books.n_strays, books.n_back), (1, 2));
        assert_eq!((books.given_to, books.arrived_bytes), (vec![2, 1], vec![None, Some(5)]));
    }
}
