//! Datatypes of a layout, constructed by the calls of MPI (sections 5.1.2 to 5.1.9).

use std::ffi::c_int;

use comet_core::layout::Datatype;
use mpi::ffi;

use super::collective::kind_of;
use super::comm::to_c;
use super::datatype::{Made, contiguous};
use super::{Outcome, outcome, written};

/// `of`, committed, with an extent of `extent_bytes` from the start of a message on.
pub(super) fn committed(of: &Datatype, extent_bytes: usize) -> Outcome<Made> {
    let made = constructed(of)?;
    let mut made =
        if of.extent_bytes() == extent_bytes { made } else { resized(&made, extent_bytes)? };
    // SAFETY: the type has just been made.
    outcome("MPI_Type_commit", unsafe { ffi::MPI_Type_commit(&raw mut made.0) })?;
    Ok(made)
}

/// The calls that construct and commit `of`, and free it again.
pub(crate) fn construct(of: &Datatype) -> Outcome {
    let mut made = constructed(of)?;
    // SAFETY: the type has just been made.
    outcome("MPI_Type_commit", unsafe { ffi::MPI_Type_commit(&raw mut made.0) })
}

/// Size and extent of the type that is constructed of `of`, in bytes.
pub(crate) fn facts(of: &Datatype) -> Outcome<[usize; 2]> {
    let made = constructed(of)?;
    // SAFETY: the type is alive; the call writes the number.
    let size = |size| unsafe { ffi::MPI_Type_size(made.0, size) };
    let size = usize::try_from(written("MPI_Type_size", 0, size)?).unwrap_or(0);
    let (_, extent) = extent(&made)?;
    Ok([size, usize::try_from(extent).unwrap_or(0)])
}

/// Lower bound and extent of a type.
fn extent(of: &Made) -> Outcome<(ffi::MPI_Aint, ffi::MPI_Aint)> {
    let (mut lower, mut extent) = (0, 0);
    // SAFETY: the type is alive; the call writes both numbers.
    let code = unsafe { ffi::MPI_Type_get_extent(of.0, &raw mut lower, &raw mut extent) };
    outcome("MPI_Type_get_extent", code)?;
    Ok((lower, extent))
}

/// `of` by the constructor of the same name. The types that it consists of are freed, and go on in it
/// (section 5.1.9).
fn constructed(of: &Datatype) -> Outcome<Made> {
    match of {
        Datatype::Element(element) => contiguous(1, kind_of(*element)).map(Made),
        Datatype::Contiguous { n, of } => with(of, |of| contiguous(to_c(*n), of).map(Made)),
        Datatype::Vector { n, block, stride, of } => {
            let [n, block, stride] = [*n, *block, *stride].map(to_c);
            with(of, |of| {
                // SAFETY: the type is alive; the call writes the handle of a new one.
                new("MPI_Type_vector", |made| unsafe {
                    ffi::MPI_Type_vector(n, block, stride, of, made)
                })
            })
        }
        Datatype::Hvector { n, block, stride_bytes, of } => {
            let ([n, block], stride) = ([*n, *block].map(to_c), address(*stride_bytes));
            with(of, |of| {
                // SAFETY: the type is alive; the call writes the handle of a new one.
                new("MPI_Type_create_hvector", |made| unsafe {
                    ffi::MPI_Type_create_hvector(n, block, stride, of, made)
                })
            })
        }
        Datatype::Indexed { .. }
        | Datatype::Hindexed { .. }
        | Datatype::IndexedBlock { .. }
        | Datatype::Struct(_) => from_the_start(listed(of)?, of),
        Datatype::Subarray { sizes, part, start, of } => {
            let [sizes, part, start] = [sizes, part, start]
                .map(|list| -> Vec<c_int> { list.iter().map(|n| to_c(*n)).collect() });
            let (n, order) = (to_c(sizes.len()), to_c(ffi::MPI_ORDER_C as usize));
            let (sizes, part, start) = (sizes.as_ptr(), part.as_ptr(), start.as_ptr());
            with(of, |of| {
                // SAFETY: the three arrays have an element for each dimension, and the type is alive; the call
                // writes the handle of a new one.
                new("MPI_Type_create_subarray", |made| unsafe {
                    ffi::MPI_Type_create_subarray(n, sizes, part, start, order, of, made)
                })
            })
        }
        Datatype::Resized { extent_bytes, of } => resized(&constructed(of)?, *extent_bytes),
    }
}

/// `of`, whose blocks stand in a list, with the bounds that MPI gives it; other types as [`constructed`].
fn listed(of: &Datatype) -> Outcome<Made> {
    let blocks = |blocks: &[(usize, usize)]| {
        let lengths: Vec<c_int> = blocks.iter().map(|(_, n)| to_c(*n)).collect();
        (to_c(blocks.len()), lengths)
    };
    match of {
        Datatype::Indexed { blocks: list, of: inner } => {
            let ((n, lengths), starts) = (blocks(list), list.iter().map(|(start, _)| to_c(*start)));
            let starts: Vec<c_int> = starts.collect();
            let (lengths, starts) = (lengths.as_ptr(), starts.as_ptr());
            with(inner, |of| {
                // SAFETY: there are as many lengths and starts as blocks, and the type is alive; the call writes
                // the handle of a new one.
                new("MPI_Type_indexed", |made| unsafe {
                    ffi::MPI_Type_indexed(n, lengths, starts, of, made)
                })
            })
        }
        Datatype::Hindexed { blocks: list, of: inner } => {
            let ((n, lengths), starts) =
                (blocks(list), list.iter().map(|(start, _)| address(*start)));
            let starts: Vec<ffi::MPI_Aint> = starts.collect();
            let (lengths, starts) = (lengths.as_ptr(), starts.as_ptr());
            with(inner, |of| {
                // SAFETY: there are as many lengths and starts as blocks, and the type is alive; the call writes
                // the handle of a new one.
                new("MPI_Type_create_hindexed", |made| unsafe {
                    ffi::MPI_Type_create_hindexed(n, lengths, starts, of, made)
                })
            })
        }
        Datatype::IndexedBlock { block, starts, of: inner } => {
            let starts: Vec<c_int> = starts.iter().map(|start| to_c(*start)).collect();
            let (n, block, starts) = (to_c(starts.len()), to_c(*block), starts.as_ptr());
            with(inner, |of| {
                // SAFETY: there are as many starts as blocks, and the type is alive; the call writes the handle of
                // a new one.
                new("MPI_Type_create_indexed_block", |made| unsafe {
                    ffi::MPI_Type_create_indexed_block(n, block, starts, of, made)
                })
            })
        }
        Datatype::Struct(fields) => {
            let lengths: Vec<c_int> = fields.iter().map(|(_, n, _)| to_c(*n)).collect();
            let starts: Vec<ffi::MPI_Aint> = fields.iter().map(|(at, ..)| address(*at)).collect();
            let inner: Vec<Made> =
                fields.iter().map(|(.., of)| constructed(of)).collect::<Outcome<_>>()?;
            let kinds: Vec<ffi::MPI_Datatype> = inner.iter().map(|made| made.0).collect();
            let (n, lengths, starts) = (to_c(fields.len()), lengths.as_ptr(), starts.as_ptr());
            // SAFETY: the three arrays have as many elements as there are blocks, and the types in them are
            // alive; the call writes the handle of a new one.
            new("MPI_Type_create_struct", |made| unsafe {
                ffi::MPI_Type_create_struct(n, lengths, starts, kinds.as_ptr(), made)
            })
        }
        _ => constructed(of),
    }
}

/// What `make` makes of the type `of`: one of MPI where that is an element.
fn with(of: &Datatype, make: impl FnOnce(ffi::MPI_Datatype) -> Outcome<Made>) -> Outcome<Made> {
    match of {
        Datatype::Element(element) => make(kind_of(*element)),
        _ => {
            let made = constructed(of)?;
            make(made.0)
        }
    }
}

/// The type whose handle `make` writes, which is the function `name`.
fn new(name: &'static str, make: impl FnOnce(*mut ffi::MPI_Datatype) -> c_int) -> Outcome<Made> {
    written(name, constant!(RSMPI_DATATYPE_NULL), make).map(Made)
}

/// `made`, which is `of`, with a lower bound of 0 and no padding behind its last block.
fn from_the_start(made: Made, of: &Datatype) -> Outcome<Made> {
    let extent_bytes = of.extent_bytes();
    if extent(&made)? == (0, address(extent_bytes)) {
        Ok(made)
    } else {
        resized(&made, extent_bytes)
    }
}

/// `of` with an extent of `extent_bytes` from 0 on.
fn resized(of: &Made, extent_bytes: usize) -> Outcome<Made> {
    // SAFETY: the type is alive; the call writes the handle of a new one.
    new("MPI_Type_create_resized", |made| unsafe {
        ffi::MPI_Type_create_resized(of.0, 0, address(extent_bytes), made)
    })
}

/// A distance in memory.
fn address(bytes: usize) -> ffi::MPI_Aint {
    ffi::MPI_Aint::try_from(bytes).unwrap_or(ffi::MPI_Aint::MAX)
}
