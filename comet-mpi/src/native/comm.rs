//! A communicator, and the calls on it.

use std::cell::{Cell, OnceCell};
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr;

use comet_core::collective::Element;
use comet_core::layout::Blocks;
use comet_core::transport::{Rank, SendMode, Source, Status, Tag};
use mpi::ffi;
use mpi::raw::AsRaw as _;
use mpi::topology::SimpleCommunicator;

use super::collective::place;
use super::datatype::{Kind, long_type};
use super::long::Limits;
use super::{Failure, Outcome, empty_status, long, outcome, written};

/// The most elements of one call of a collective with a count of `int`.
const MAX_COUNT: usize = c_int::MAX as usize;

/// A duplicate of the world, a part of it, or a duplicate of a communicator of the program, on which
/// errors are returned.
///
/// Every method makes one MPI call, unless it says more; ranks are those of the job, and have been
/// checked by the caller.
pub(crate) struct Comm {
    raw: ffi::MPI_Comm,
    byte: ffi::MPI_Datatype,
    /// The type in which messages are counted.
    kind: Kind,
    /// `true` if it ends before the library does.
    is_part: bool,
    /// The most elements of one call of a collective with a count of `int`; fewer in tests.
    max_count: Cell<usize>,
    /// The most neighbours of any rank, where the ranks have neighbours; 0 elsewhere.
    pub(super) max_degree: usize,
    /// The type of the parts of each rank, for calls that want an array.
    kinds: OnceCell<[Vec<ffi::MPI_Datatype>; 2]>,
}

impl Comm {
    /// Duplicates the world (section 7.4.2); all processes of the job do. It is never freed: it
    /// ends with the library.
    pub(crate) fn duplicate_world() -> Outcome<Self> {
        Self::duplicate(constant!(RSMPI_COMM_WORLD), false, Kind::of(Element::U8))
    }

    /// Duplicates a communicator of the program; all of its ranks do. It is freed when it is dropped.
    pub(crate) fn duplicate_of(comm: &SimpleCommunicator) -> Outcome<Self> {
        Self::duplicate(comm.as_raw(), true, Kind::of(Element::U8))
    }

    /// A duplicate of this communicator, on which messages are counted in elements of this type; all ranks
    /// call it.
    pub(crate) fn with_datatype(&self, datatype: Element) -> Outcome<Self> {
        self.with_kind(Kind::of(datatype))
    }

    /// A duplicate of this communicator, on which a message of the extent of `blocks` is sent as one element of
    /// the type of one side of them, and received as one of the other; all ranks call it.
    pub(crate) fn with_layout(&self, blocks: &Blocks) -> Outcome<Self> {
        self.with_kind(Kind::made(blocks)?)
    }

    /// `MPI_Pack` (section 5.2) of `message`, in the type in which this communicator sends it.
    #[inline]
    pub(crate) fn pack(&self, message: &[u8], packed: &mut [u8]) -> Outcome {
        let (n, kind) = self.counted(message.len());
        let (from, into, mut at) = (message.as_ptr().cast(), packed.as_mut_ptr().cast(), 0);
        let (n, room) = (to_c(n), to_c(packed.len()));
        // SAFETY: the message is borrowed for the whole call, which reads no more than its length, and writes no
        // more than there is room for, and the place behind.
        let code = unsafe { ffi::MPI_Pack(from, n, kind, into, room, &raw mut at, self.raw) };
        outcome("MPI_Pack", code)
    }

    /// `MPI_Unpack` into `place`, in the type in which this communicator receives it.
    #[inline]
    pub(crate) fn unpack(&self, packed: &[u8], place: &mut [u8]) -> Outcome {
        let (n, kind) = self.counted_to_arrive(place.len());
        let (from, into, mut at) = (packed.as_ptr().cast(), place.as_mut_ptr().cast(), 0);
        let (n, length) = (to_c(n), to_c(packed.len()));
        // SAFETY: the place is borrowed for the whole call, which writes no more than its length, and reads no
        // more than what is packed.
        let code = unsafe { ffi::MPI_Unpack(from, length, &raw mut at, into, n, kind, self.raw) };
        outcome("MPI_Unpack", code)
    }

    /// A duplicate of this communicator; all ranks call it.
    pub(crate) fn again(&self) -> Outcome<Self> {
        self.with_kind(self.kind.clone())
    }

    fn with_kind(&self, kind: Kind) -> Outcome<Self> {
        let comm = Self::duplicate(self.raw, true, kind)?;
        comm.limit_counts(self.max_count());
        Ok(comm)
    }

    fn duplicate(of: ffi::MPI_Comm, is_part: bool, kind: Kind) -> Outcome<Self> {
        let duplicate = |comm| {
            // SAFETY: the library is initialised and the communicator alive; the call writes the
            // handle of a new one.
            unsafe { ffi::MPI_Comm_dup(of, comm) }
        };
        let raw = written("MPI_Comm_dup", constant!(RSMPI_COMM_NULL), duplicate)?;
        Self::new(raw, is_part, MAX_COUNT, kind)
    }

    /// The communicator `raw`, which has just been made; errors on it are returned.
    fn new(raw: ffi::MPI_Comm, is_part: bool, max_count: usize, kind: Kind) -> Outcome<Self> {
        let returned = constant!(RSMPI_ERRORS_RETURN);
        // SAFETY: the communicator has just been made.
        let code = unsafe { ffi::MPI_Comm_set_errhandler(raw, returned) };
        outcome("MPI_Comm_set_errhandler", code)?;
        let (byte, max_count) = (constant!(RSMPI_UINT8_T), Cell::new(max_count));
        let is_byte = kind.raw == byte;
        let (max_degree, kinds) = (0, OnceCell::new());
        let comm = Self { raw, byte, kind, is_part, max_count, max_degree, kinds };
        if !is_byte {
            // So that no call makes them while it is timed.
            comm.kinds_of_each(0);
        }
        Ok(comm)
    }

    /// Another value for this communicator, which does not end it; `None` if its messages are of a type that
    /// was made.
    pub(super) fn alias(&self) -> Option<Self> {
        let kind = Some(self.kind.clone()).filter(|kind| !kind.is_made())?;
        let (max_count, kinds) = (self.max_count.clone(), self.kinds.clone());
        Some(Self { kind, is_part: false, max_count, kinds, ..*self })
    }

    /// So many duplicates that nothing uses; all ranks call it.
    pub(crate) fn spares(&self, n: usize) -> Outcome<Vec<Self>> {
        (0..n).map(|_| Self::duplicate(self.raw, true, self.kind.clone())).collect()
    }

    /// The communicator `raw`, which has just been made of ranks of this one.
    pub(super) fn part(&self, raw: ffi::MPI_Comm) -> Outcome<Self> {
        Self::new(raw, true, self.max_count(), self.kind.clone())
    }

    /// The communicator of the ranks with the same number in `place`, in the order of the other
    /// (section 7.4.2, `MPI_Comm_split`); none on ranks without a place. All ranks call it.
    pub(crate) fn split(&self, place: Option<(Rank, Rank)>) -> Outcome<Option<Self>> {
        let undefined = (ffi::MPI_UNDEFINED, 0);
        let (colour, key) = place.map_or(undefined, |(colour, key)| (to_c(colour), to_c(key)));
        let null = constant!(RSMPI_COMM_NULL);
        let split = |comm| {
            // SAFETY: the communicator is alive; the call writes the handle of a new one, or null.
            unsafe { ffi::MPI_Comm_split(self.raw, colour, key, comm) }
        };
        let raw = written("MPI_Comm_split", null, split)?;
        if raw == null {
            return Ok(None);
        }
        self.part(raw).map(Some)
    }

    /// The handle.
    #[inline]
    pub(super) fn raw(&self) -> ffi::MPI_Comm {
        self.raw
    }

    /// The type of the elements in which messages are counted.
    #[inline]
    pub(super) fn kind(&self) -> ffi::MPI_Datatype {
        self.kind.raw
    }

    /// The bytes of such an element in memory.
    #[inline]
    pub(super) fn unit(&self) -> usize {
        self.kind.unit
    }

    /// The number of elements of `length_bytes` bytes, and their type: bytes where that is no whole number
    /// of others.
    #[inline]
    pub(super) fn counted(&self, length_bytes: usize) -> (usize, ffi::MPI_Datatype) {
        self.counted_in(length_bytes, self.kind.raw)
    }

    /// The same for a message that is received, whose type may be another.
    #[inline]
    pub(super) fn counted_to_arrive(&self, length_bytes: usize) -> (usize, ffi::MPI_Datatype) {
        self.counted_in(length_bytes, self.kind.received)
    }

    #[inline]
    fn counted_in(
        &self,
        length_bytes: usize,
        raw: ffi::MPI_Datatype,
    ) -> (usize, ffi::MPI_Datatype) {
        let Kind { unit, rest, shift, .. } = self.kind;
        if length_bytes == unit {
            (1, raw)
        } else if length_bytes & rest == 0 {
            (length_bytes >> shift, raw)
        } else {
            (length_bytes, self.byte)
        }
    }

    /// The same with the types of both sides.
    #[inline]
    pub(super) fn counted_both(&self, length_bytes: usize) -> (usize, [ffi::MPI_Datatype; 2]) {
        let (n_elements, sent) = self.counted(length_bytes);
        (n_elements, [sent, self.counted_to_arrive(length_bytes).1])
    }

    /// The types of the elements of what is sent and of what is received.
    #[inline]
    pub(super) fn kinds(&self) -> [ffi::MPI_Datatype; 2] {
        [self.kind.raw, self.kind.received]
    }

    /// Each of them `n` times, which are as many as ranks or fewer.
    #[inline]
    pub(super) fn kinds_of_each(&self, n: usize) -> [&[ffi::MPI_Datatype]; 2] {
        let all = |kind| vec![kind; self.n_ranks().unwrap_or(0)];
        let kinds = self.kinds.get_or_init(|| self.kinds().map(all));
        kinds.each_ref().map(|kinds| &kinds[..n])
    }

    /// The most elements of one call of a collective with a count of `int`.
    #[inline]
    pub(super) fn max_count(&self) -> usize {
        self.max_count.get()
    }

    /// Limits of one call of a collective with parts of several lengths, on all ranks alike.
    #[inline]
    pub(super) fn limits(&self) -> Limits {
        Limits { most: self.max_count(), n_parts: self.max_degree }
    }

    /// Makes collectives of more than `max_count` elements as if an `int` held no more.
    pub(crate) fn limit_counts(&self, max_count: usize) {
        self.max_count.set(max_count.min(MAX_COUNT));
    }

    /// Number of this rank (section 7.4.1).
    pub(crate) fn rank(&self) -> Outcome<Rank> {
        // SAFETY: the communicator is alive; the call writes the number.
        let number = |rank| unsafe { ffi::MPI_Comm_rank(self.raw, rank) };
        let rank = written("MPI_Comm_rank", 0, number)?;
        Ok(from_c(rank))
    }

    /// Number of ranks (section 7.4.1).
    pub(crate) fn n_ranks(&self) -> Outcome<usize> {
        size(self.raw)
    }

    /// Number of ranks that share the memory of this one (section 7.4.2); all ranks call it.
    pub(crate) fn n_ranks_here(&self) -> Outcome<usize> {
        let (kind, info) = (constant!(RSMPI_COMM_TYPE_SHARED), constant!(RSMPI_INFO_NULL));
        let split = |comm| {
            // SAFETY: the communicator is alive; the call writes the handle of a new one.
            unsafe { ffi::MPI_Comm_split_type(self.raw, kind, 0, info, comm) }
        };
        let mut here = written("MPI_Comm_split_type", constant!(RSMPI_COMM_NULL), split)?;
        let n_ranks = size(here)?;
        // SAFETY: the communicator was made above, and nothing uses it any more.
        outcome("MPI_Comm_free", unsafe { ffi::MPI_Comm_free(&raw mut here) })?;
        Ok(n_ranks)
    }

    /// `MPI_Send` (section 3.2.1).
    #[inline]
    pub(crate) fn send(&self, message: &[u8], to: Rank, tag: Tag) -> Outcome {
        self.send_in(SendMode::Standard, message, to, tag)
    }

    /// `MPI_Recv` (section 3.2.4).
    #[inline]
    pub(crate) fn recv(&self, buffer: &mut [u8], from: Source, tag: Tag) -> Arrived {
        let mut status = empty_status();
        let (from, tag) = (source_to_c(from), tag_to_c(tag));
        let (start, written) = (buffer.as_mut_ptr().cast(), &raw mut status);
        let code = self.with_type_to_arrive(buffer.len(), move |count, kind| {
            // SAFETY: the buffer is borrowed for the whole call, which writes no more than its
            // length, and the status.
            unsafe { ffi::MPI_Recv(start, count, kind, from, tag, self.raw, written) }
        });
        self.arrived("MPI_Recv", code, &status)
    }

    /// `MPI_Sendrecv` (section 3.10).
    #[inline]
    pub(crate) fn exchange(
        &self,
        (message, to): (&[u8], Rank),
        (buffer, from): (&mut [u8], Source),
        tag: Tag,
    ) -> Arrived {
        let mut status = empty_status();
        let (out, back) = (message.as_ptr().cast(), buffer.as_mut_ptr().cast());
        let (to, from, tag) = (to_c(to), source_to_c(from), c_int::from(tag.value()));
        let written = &raw mut status;
        let code = self.with_type(message.len(), |n_out, out_kind| {
            let both = |n_back, back_kind| {
                // SAFETY: message and buffer are borrowed for the whole call and do not overlap; it
                // reads and writes no more than their lengths, and writes the status.
                unsafe {
                    ffi::MPI_Sendrecv(
                        out, n_out, out_kind, to, tag, back, n_back, back_kind, from, tag,
                        self.raw, written,
                    )
                }
            };
            self.with_type_to_arrive(buffer.len(), both).unwrap_or_else(|failure| failure.code)
        });
        self.arrived("MPI_Sendrecv", code, &status)
    }

    /// `MPI_Sendrecv_replace` (section 3.10).
    #[inline]
    pub(crate) fn exchange_in_place(
        &self,
        message: &mut [u8],
        (to, from): (Rank, Source),
        tag: Tag,
    ) -> Arrived {
        let mut status = empty_status();
        let code = self.with_type(message.len(), |count, kind| {
            let (place, written) = (message.as_mut_ptr().cast(), &raw mut status);
            let (to, from, tag) = (to_c(to), source_to_c(from), c_int::from(tag.value()));
            // SAFETY: the message is borrowed for the whole call, which reads and writes no more than
            // its length, and writes the status.
            unsafe {
                ffi::MPI_Sendrecv_replace(place, count, kind, to, tag, from, tag, self.raw, written)
            }
        });
        self.arrived("MPI_Sendrecv_replace", code, &status)
    }

    /// `MPI_Iprobe` (section 3.8.1).
    #[inline]
    pub(crate) fn probe(&self, from: Source, tag: Tag) -> Outcome<Option<Status>> {
        let (mut found, mut status) = (0, empty_status());
        let (from, tag) = (source_to_c(from), tag_to_c(tag));
        let (flag, written) = (&raw mut found, &raw mut status);
        // SAFETY: the call writes the flag, and the status if the flag is set.
        let code = unsafe { ffi::MPI_Iprobe(from, tag, self.raw, flag, written) };
        outcome("MPI_Iprobe", code)?;
        if found == 0 {
            return Ok(None);
        }
        self.status(&status).map(Some)
    }

    /// `MPI_Barrier` (section 6.3).
    #[inline]
    pub(crate) fn barrier(&self) -> Outcome {
        // SAFETY: the communicator is alive.
        outcome("MPI_Barrier", unsafe { ffi::MPI_Barrier(self.raw) })
    }

    /// `MPI_Bcast` (section 6.4), several times for a message of more than 2^31 - 1 bytes where the
    /// library has no counts of 64 bits.
    #[inline]
    pub(crate) fn broadcast(&self, message: &mut [u8], root: Rank, is_root: bool) -> Outcome {
        let (n_elements, [sent, received]) = self.counted_both(message.len());
        let kind = if is_root { sent } else { received };
        if n_elements <= self.max_count() {
            let (start, n) = (place(message), to_c(n_elements));
            // SAFETY: the message is borrowed for the whole call, which reads it on the root and writes
            // it on the others, and no more than its length.
            let code = unsafe { ffi::MPI_Bcast(start, n, kind, to_c(root), self.raw) };
            return outcome("MPI_Bcast", code);
        }
        if let Some(bcast) = long::bcast() {
            let (start, n) = (message.as_mut_ptr().cast(), long::count(n_elements));
            // SAFETY: as above.
            let code = unsafe { bcast(start, n, kind, to_c(root), self.raw) };
            return outcome("MPI_Bcast_c", code);
        }
        in_pieces(message, self.max_count(), |piece, count| {
            let start = piece.cast();
            // SAFETY: the piece is borrowed for the whole call, which reads it on the root and
            // writes it on the others, and no more than its length.
            let code = unsafe { ffi::MPI_Bcast(start, count, self.byte, to_c(root), self.raw) };
            outcome("MPI_Bcast", code)
        })
    }

    /// `MPI_Allreduce` of sums in place (section 6.9.6), several times for a vector of more than
    /// 2^31 - 1 elements.
    #[inline]
    pub(crate) fn sum(&self, values: &mut [f64]) -> Outcome {
        let (kind, op) = (constant!(RSMPI_DOUBLE), constant!(RSMPI_SUM));
        in_pieces(values, self.max_count(), |piece, count| {
            let start = piece.cast();
            // SAFETY: the piece is borrowed for the whole call, which reads and writes it.
            let code = unsafe { ffi::MPI_Allreduce(in_place(), start, count, kind, op, self.raw) };
            outcome("MPI_Allreduce", code)
        })
    }

    /// The largest `value` of all ranks (section 6.9.6); all ranks call it.
    pub(crate) fn largest(&self, value: c_int) -> Outcome<c_int> {
        let mut largest = value;
        let (kind, op) = (constant!(RSMPI_INT32_T), constant!(RSMPI_MAX));
        let start = (&raw mut largest).cast();
        // SAFETY: the call reads and writes one integer, which lives here.
        let code = unsafe { ffi::MPI_Allreduce(in_place(), start, 1, kind, op, self.raw) };
        outcome("MPI_Allreduce", code)?;
        Ok(largest)
    }

    /// Envelope in `status` of a message of any length (sections 3.2.5 and 5.1.11).
    #[inline]
    pub(super) fn status(&self, status: &ffi::MPI_Status) -> Outcome<Status> {
        let Kind { arrived: (kind, unit), data_bytes, .. } = self.kind;
        let mut count = 0;
        // SAFETY: the status was written by the library; the call writes the count.
        let code = unsafe { ffi::MPI_Get_count(status, kind, &raw mut count) };
        outcome("MPI_Get_count", code)?;
        let sent_bytes = match usize::try_from(count) {
            Ok(n_elements) => n_elements * unit,
            Err(_) => self.long_length(status)?,
        };
        // The bytes between the blocks of a layout have not been sent.
        let length_bytes = if sent_bytes == data_bytes { self.unit() } else { sent_bytes };
        let (source, tag) = envelope(status);
        Ok(Status { source, tag, length_bytes })
    }

    /// The length of a message that an `int` does not hold, or that is no whole number of elements.
    #[cold]
    fn long_length(&self, status: &ffi::MPI_Status) -> Outcome<usize> {
        let count = |count| {
            // SAFETY: the status was written by the library; the call writes the count.
            unsafe { ffi::MPI_Get_elements_x(status, self.byte, count) }
        };
        let count = written("MPI_Get_elements_x", 0, count)?;
        Ok(usize::try_from(count).unwrap_or(0))
    }

    /// Result of a receive whose call returned `code`.
    #[inline]
    fn arrived(
        &self,
        call: &'static str,
        code: Outcome<c_int>,
        status: &ffi::MPI_Status,
    ) -> Arrived {
        match code.and_then(|code| outcome(call, code)) {
            Ok(()) => self.status(status).map_err(|failure| (failure, envelope(status))),
            Err(failure) => Err((failure, envelope(status))),
        }
    }

    /// Makes `call` with a count and a type that describe `length_bytes` bytes.
    #[inline]
    pub(super) fn with_type(
        &self,
        length_bytes: usize,
        call: impl FnOnce(c_int, ffi::MPI_Datatype) -> c_int,
    ) -> Outcome<c_int> {
        self.with_count(length_bytes, self.counted(length_bytes), call)
    }

    /// The same for a message that is received, whose type may be another.
    #[inline]
    pub(super) fn with_type_to_arrive(
        &self,
        length_bytes: usize,
        call: impl FnOnce(c_int, ffi::MPI_Datatype) -> c_int,
    ) -> Outcome<c_int> {
        self.with_count(length_bytes, self.counted_to_arrive(length_bytes), call)
    }

    #[inline]
    fn with_count(
        &self,
        length_bytes: usize,
        (n_elements, kind): (usize, ffi::MPI_Datatype),
        call: impl FnOnce(c_int, ffi::MPI_Datatype) -> c_int,
    ) -> Outcome<c_int> {
        match c_int::try_from(n_elements) {
            Ok(count) => Ok(call(count, kind)),
            Err(_) => self.with_long_type(length_bytes, call),
        }
    }

    /// Makes `call` with one element of a type of `length_bytes` bytes.
    #[cold]
    pub(super) fn with_long_type(
        &self,
        length_bytes: usize,
        call: impl FnOnce(c_int, ffi::MPI_Datatype) -> c_int,
    ) -> Outcome<c_int> {
        let mut kind = long_type(length_bytes, self.byte)?;
        let code = call(1, kind);
        // SAFETY: the type was made above; operations that use it go on (section 5.1.9). Whatever
        // becomes of the handle, what `call` has started is started.
        unsafe { ffi::MPI_Type_free(&raw mut kind) };
        Ok(code)
    }
}

impl Drop for Comm {
    fn drop(&mut self) {
        // During a panic the job is about to be ended, and the others may not come to this call.
        let is_alive = !std::thread::panicking() && !mpi::environment::is_finalized();
        if self.is_part && is_alive {
            // SAFETY: the communicator was made by `split` or as a duplicate, and MPI is not finalised, which
            // has just been asked: the thread that finalises it waits for those of lanes before. Requests end
            // before the transport that started them is dropped. An error leaves a handle behind, which
            // nothing uses.
            unsafe { ffi::MPI_Comm_free(&raw mut self.raw) };
        }
    }
}

/// Result of a receive: the message, or the failure and whose message it was.
pub(crate) type Arrived = Result<Status, (Failure, (Rank, Tag))>;

/// Source and tag of a message.
#[inline]
pub(super) fn envelope(status: &ffi::MPI_Status) -> (Rank, Tag) {
    let tag = u16::try_from(status.MPI_TAG).unwrap_or(0);
    (from_c(status.MPI_SOURCE), Tag::from_wire(u32::from(tag & 0x7fff)))
}

/// Number of ranks of `comm`.
fn size(comm: ffi::MPI_Comm) -> Outcome<usize> {
    // SAFETY: callers name a communicator that is alive; the call writes the size.
    let size = written("MPI_Comm_size", 0, |size| unsafe { ffi::MPI_Comm_size(comm, size) })?;
    Ok(from_c(size))
}

/// Makes `call` with the start and the count of pieces of `values`, of `most` at the most; also once if
/// there are none, because the other ranks wait for the call.
#[inline]
fn in_pieces<V>(
    values: &mut [V],
    most: usize,
    mut call: impl FnMut(*mut V, c_int) -> Outcome,
) -> Outcome {
    if values.is_empty() {
        // The address of an empty slice is a small number, which might be `MPI_IN_PLACE`.
        let mut nothing = MaybeUninit::<V>::uninit();
        return call(nothing.as_mut_ptr(), 0);
    }
    if values.len() <= most {
        return call(values.as_mut_ptr(), to_c(values.len()));
    }
    values.chunks_mut(most).try_for_each(|piece| call(piece.as_mut_ptr(), to_c(piece.len())))
}

/// True for libraries whose handles are integers (MPICH and its family); those of others are pointers
/// (Open MPI, and the ABI of MPI-5).
const HANDLES_ARE_INTEGERS: bool = size_of::<ffi::MPI_Comm>() == size_of::<c_int>();

/// `MPI_IN_PLACE`, which is a macro that the binding cannot translate: -1 where handles are integers,
/// and 1 elsewhere.
pub(super) fn in_place() -> *const c_void {
    ptr::without_provenance(if HANDLES_ARE_INTEGERS { usize::MAX } else { 1 })
}

#[inline]
pub(super) fn source_to_c(source: Source) -> c_int {
    match source {
        Source::Rank(rank) => to_c(rank),
        Source::Any => constant!(RSMPI_ANY_SOURCE),
    }
}

/// The tag of a receive or a probe. The library takes reserved ones for any too: a rank sends none to another
/// before all messages of a kernel to it, of which the receive takes the earliest.
#[inline]
pub(super) fn tag_to_c(tag: Tag) -> c_int {
    if tag.is_any() { constant!(RSMPI_ANY_TAG) } else { c_int::from(tag.value()) }
}

/// A rank or a count, which the caller has compared with one that came from C.
#[inline]
#[expect(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "see above")]
pub(super) fn to_c(value: usize) -> c_int {
    debug_assert!(c_int::try_from(value).is_ok(), "{value} is not below 2^31");
    value as c_int
}

/// A rank or a count that came from C.
#[inline]
pub(super) fn from_c(value: c_int) -> usize {
    usize::try_from(value).unwrap_or(0)
}
