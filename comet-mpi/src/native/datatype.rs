//! Datatypes in which messages are counted: those of MPI, and those that a layout makes of them.

use std::ffi::c_int;
use std::rc::Rc;

use comet_core::collective::Element;
use comet_core::layout::Blocks;
use mpi::ffi;

use super::collective::kind_of;
use super::comm::to_c;
use super::constructed;
use super::{Outcome, outcome, written};

/// The part of a message above 2^31 - 1 bytes that is one element of its type, in bytes.
const LONG_ELEMENT_BYTES: c_int = 1 << 30;

/// A type in which messages are counted.
#[derive(Clone)]
pub(super) struct Kind {
    pub(super) raw: ffi::MPI_Datatype,
    /// The type in which messages are received.
    pub(super) received: ffi::MPI_Datatype,
    /// Bytes of an element in memory.
    pub(super) unit: usize,
    /// Bytes of an element that travel.
    pub(super) data_bytes: usize,
    /// The type by which what has arrived is counted, and its bytes.
    pub(super) arrived: (ffi::MPI_Datatype, usize),
    /// Bits that are set in no whole number of elements; all bits of a type of which a message holds one.
    pub(super) rest: usize,
    /// Binary logarithm of the unit, for whole numbers of elements.
    pub(super) shift: u32,
    /// The types that were made, which last as long as this.
    made: Option<Rc<[Made]>>,
}

/// A type that was made, which is freed.
pub(super) struct Made(pub(super) ffi::MPI_Datatype);

impl Drop for Made {
    fn drop(&mut self) {
        if !std::thread::panicking() && !mpi::environment::is_finalized() {
            // SAFETY: the type was made below, and MPI is not finalised. Operations that use it go on
            // (section 5.1.9). An error leaves a handle behind, which nothing uses.
            unsafe { ffi::MPI_Type_free(&raw mut self.0) };
        }
    }
}

impl Kind {
    /// The type of `element`.
    pub(super) fn of(element: Element) -> Self {
        let (unit, raw) = (element.bytes(), kind_of(element));
        let (rest, shift) = (unit - 1, unit.trailing_zeros());
        let (received, data_bytes, arrived) = (raw, unit, (raw, unit));
        Self { raw, received, unit, data_bytes, arrived, rest, shift, made: None }
    }

    /// True if the type was made, and is shared by all that have it.
    pub(super) fn is_made(&self) -> bool {
        self.made.is_some()
    }

    /// The types of both sides of a message of `blocks`.
    pub(super) fn made(blocks: &Blocks) -> Outcome<Self> {
        let (unit, data_bytes) = (blocks.extent_bytes(), blocks.data_bytes());
        let sent = constructed::committed(blocks.sent(), unit)?;
        let mut made = vec![sent];
        if blocks.received() != blocks.sent() {
            made.push(constructed::committed(blocks.received(), unit)?);
        }
        let (raw, received) = (made[0].0, made[made.len() - 1].0);
        let (arrived, rest, shift) = ((kind_of(Element::U8), 1), usize::MAX, 0);
        let made = Some(made.into());
        Ok(Self { raw, received, unit, data_bytes, arrived, rest, shift, made })
    }
}

/// A type of `n` elements of `kind`, one behind the other.
pub(super) fn contiguous(n: c_int, kind: ffi::MPI_Datatype) -> Outcome<ffi::MPI_Datatype> {
    // SAFETY: the type is alive; the call writes the handle of a new one.
    let make = |made| unsafe { ffi::MPI_Type_contiguous(n, kind, made) };
    written("MPI_Type_contiguous", constant!(RSMPI_DATATYPE_NULL), make)
}

/// Makes `call` with a count and a type that describe `length_bytes` bytes of memory.
#[inline]
pub(super) fn with_bytes(
    length_bytes: usize,
    call: impl FnOnce(c_int, ffi::MPI_Datatype) -> Outcome,
) -> Outcome {
    let byte = constant!(RSMPI_UINT8_T);
    if let Ok(n) = c_int::try_from(length_bytes) {
        return call(n, byte);
    }
    let made = Made(long_type(length_bytes, byte)?);
    call(1, made.0)
}

/// Makes `call` with a committed type of a block of bytes and the gap behind it: the distance of two blocks
/// is its extent.
pub(super) fn in_blocks(
    block_bytes: u64,
    stride_bytes: u64,
    call: impl FnOnce(ffi::MPI_Datatype) -> Outcome,
) -> Outcome {
    let block_bytes = usize::try_from(block_bytes).unwrap_or(usize::MAX);
    let extent = ffi::MPI_Aint::try_from(stride_bytes).unwrap_or(ffi::MPI_Aint::MAX);
    with_bytes(block_bytes, |n, kind| {
        let block = Made(contiguous(n, kind)?);
        // SAFETY: the type is alive; the call writes the handle of a new one.
        let make = |made| unsafe { ffi::MPI_Type_create_resized(block.0, 0, extent, made) };
        let null = constant!(RSMPI_DATATYPE_NULL);
        let mut made = Made(written("MPI_Type_create_resized", null, make)?);
        // SAFETY: the type has just been made.
        outcome("MPI_Type_commit", unsafe { ffi::MPI_Type_commit(&raw mut made.0) })?;
        call(made.0)
    })
}

/// A type of `length_bytes` bytes, for lengths that an `int` does not hold (section 5.1.2):
/// elements of 1 GiB, and the rest.
#[cold]
pub(super) fn long_type(
    length_bytes: usize,
    byte: ffi::MPI_Datatype,
) -> Outcome<ffi::MPI_Datatype> {
    let mut element = contiguous(LONG_ELEMENT_BYTES, byte)?;
    let element_bytes = LONG_ELEMENT_BYTES as usize;
    let n_elements = length_bytes / element_bytes;
    let lengths = [to_c(n_elements), to_c(length_bytes % element_bytes)];
    let offset = ffi::MPI_Aint::try_from(n_elements * element_bytes);
    let offsets = [0, offset.expect("no memory is longer than half of the address space")];
    let kinds = [element, byte];
    let make = |kind| {
        let (lengths, offsets) = (lengths.as_ptr(), offsets.as_ptr());
        // SAFETY: the three arrays have two elements each, and the types in them are alive.
        unsafe { ffi::MPI_Type_create_struct(2, lengths, offsets, kinds.as_ptr(), kind) }
    };
    let mut kind = written("MPI_Type_create_struct", constant!(RSMPI_DATATYPE_NULL), make)?;
    // SAFETY: the type has just been made.
    outcome("MPI_Type_commit", unsafe { ffi::MPI_Type_commit(&raw mut kind) })?;
    // SAFETY: the type was made above; those that contain it go on (section 5.1.9).
    outcome("MPI_Type_free", unsafe { ffi::MPI_Type_free(&raw mut element) })?;
    Ok(kind)
}
