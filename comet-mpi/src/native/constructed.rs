//! Datatypes of a layout, constructed by the calls of MPI (sections 5.1.2 to 5.1.9).

use std::ffi::c_int;

use comet_core::layout::Datatype;
use mpi::ffi;

use super::collective::kind_of;
use super::comm::to_c;
use super::datatype::{Made, contiguous};
use super::{Outcome, outcome, written};

/// Constructors of a datatype with their arguments as C wants them, so that a construction is their calls alone.
#[derive(Debug)]
pub(crate) struct Constructor(Node);

/// One constructor.
#[derive(Debug)]
enum Node {
    Element(ffi::MPI_Datatype),
    Contiguous(c_int, Box<Self>),
    Vector([c_int; 3], Box<Self>),
    Hvector([c_int; 2], ffi::MPI_Aint, Box<Self>),
    /// Lengths and starts of blocks.
    Indexed(Vec<c_int>, Vec<c_int>, Box<Self>),
    Hindexed(Vec<c_int>, Vec<ffi::MPI_Aint>, Box<Self>),
    IndexedBlock(c_int, Vec<c_int>, Box<Self>),
    /// Lengths, starts and types of blocks, and room for the handles of these.
    Struct(Vec<c_int>, Vec<ffi::MPI_Aint>, Vec<Self>, Vec<ffi::MPI_Datatype>),
    Subarray([Vec<c_int>; 3], Box<Self>),
    Resized(ffi::MPI_Aint, Box<Self>),
}

/// `of`, committed, with an extent of `extent_bytes` from the start of a message on.
pub(super) fn committed(of: &Datatype, extent_bytes: usize) -> Outcome<Made> {
    let mut node = Node::made_of(of)?;
    if of.extent_bytes() != extent_bytes {
        node = Node::Resized(address(extent_bytes), Box::new(node));
    }
    let mut made = Made(node.construct()?);
    // SAFETY: the type has just been made.
    outcome("MPI_Type_commit", unsafe { ffi::MPI_Type_commit(&raw mut made.0) })?;
    Ok(made)
}

impl Constructor {
    /// The constructors of `of`.
    pub(crate) fn of(of: &Datatype) -> Outcome<Self> {
        Node::made_of(of).map(Self)
    }

    /// The calls that construct and commit the type, and free it again.
    #[inline]
    pub(crate) fn run(&mut self) -> Outcome {
        let mut made = self.0.construct()?;
        // SAFETY: the type has just been made.
        outcome("MPI_Type_commit", unsafe { ffi::MPI_Type_commit(&raw mut made) })?;
        free(made)
    }

    /// Size and extent of the type that is constructed, in bytes.
    pub(crate) fn facts(&mut self) -> Outcome<[usize; 2]> {
        let made = Made(self.0.construct()?);
        // SAFETY: the type is alive; the call writes the number.
        let size = |size| unsafe { ffi::MPI_Type_size(made.0, size) };
        let size = usize::try_from(written("MPI_Type_size", 0, size)?).unwrap_or(0);
        let (_, extent) = extent(made.0)?;
        Ok([size, usize::try_from(extent).unwrap_or(0)])
    }
}

impl Node {
    /// The constructors of a type of its own, which is freed: an element is one of MPI.
    fn made_of(of: &Datatype) -> Outcome<Self> {
        Ok(match Self::of(of)? {
            Self::Element(kind) => Self::Contiguous(1, Box::new(Self::Element(kind))),
            other => other,
        })
    }

    /// Those of `of`, each by its name. A list of blocks begins at 0 and ends with its last block: where MPI has
    /// other bounds, it is resized.
    fn of(of: &Datatype) -> Outcome<Self> {
        let inner = |of: &Datatype| Self::of(of).map(Box::new);
        let blocks = |blocks: &[(usize, usize)]| blocks.iter().map(|(_, n)| to_c(*n)).collect();
        let mut node = match of {
            Datatype::Element(element) => Self::Element(kind_of(*element)),
            Datatype::Contiguous { n, of } => Self::Contiguous(to_c(*n), inner(of)?),
            Datatype::Vector { n, block, stride, of } => {
                Self::Vector([*n, *block, *stride].map(to_c), inner(of)?)
            }
            Datatype::Hvector { n, block, stride_bytes, of } => {
                Self::Hvector([*n, *block].map(to_c), address(*stride_bytes), inner(of)?)
            }
            Datatype::Indexed { blocks: list, of } => {
                let starts = list.iter().map(|(start, _)| to_c(*start)).collect();
                Self::Indexed(blocks(list), starts, inner(of)?)
            }
            Datatype::Hindexed { blocks: list, of } => {
                let starts = list.iter().map(|(start, _)| address(*start)).collect();
                Self::Hindexed(blocks(list), starts, inner(of)?)
            }
            Datatype::IndexedBlock { block, starts, of } => {
                let starts = starts.iter().map(|start| to_c(*start)).collect();
                Self::IndexedBlock(to_c(*block), starts, inner(of)?)
            }
            Datatype::Struct(fields) => {
                let lengths = fields.iter().map(|(_, n, _)| to_c(*n)).collect();
                let starts = fields.iter().map(|(start, ..)| address(*start)).collect();
                let types: Vec<Self> =
                    fields.iter().map(|(.., of)| Self::of(of)).collect::<Outcome<_>>()?;
                Self::Struct(lengths, starts, types, Vec::with_capacity(fields.len()))
            }
            Datatype::Subarray { sizes, part, start, of } => {
                let lists = [sizes, part, start];
                let lists = lists.map(|list| list.iter().map(|n| to_c(*n)).collect());
                Self::Subarray(lists, inner(of)?)
            }
            Datatype::Resized { extent_bytes, of } => {
                Self::Resized(address(*extent_bytes), inner(of)?)
            }
        };
        let extent_bytes = address(of.extent_bytes());
        if node.is_list() && extent(Made(node.construct()?).0)? != (0, extent_bytes) {
            node = Self::Resized(extent_bytes, Box::new(node));
        }
        Ok(node)
    }

    fn is_list(&self) -> bool {
        use Node::{Hindexed, Indexed, IndexedBlock, Struct};
        matches!(self, Indexed(..) | Hindexed(..) | IndexedBlock(..) | Struct(..))
    }

    /// The type, by one call of its constructor. Those that it consists of are constructed before, and freed: they
    /// go on in it (section 5.1.9).
    fn construct(&mut self) -> Outcome<ffi::MPI_Datatype> {
        match self {
            Self::Element(kind) => Ok(*kind),
            Self::Contiguous(n, of) => of.within(|of| contiguous(*n, of)),
            Self::Vector([n, block, stride], of) => of.within(|of| {
                // SAFETY: the type is alive; the call writes the handle of a new one.
                new("MPI_Type_vector", |made| unsafe {
                    ffi::MPI_Type_vector(*n, *block, *stride, of, made)
                })
            }),
            Self::Hvector([n, block], stride, of) => of.within(|of| {
                // SAFETY: the type is alive; the call writes the handle of a new one.
                new("MPI_Type_create_hvector", |made| unsafe {
                    ffi::MPI_Type_create_hvector(*n, *block, *stride, of, made)
                })
            }),
            Self::Indexed(lengths, starts, of) => of.within(|of| {
                let (n, lengths, starts) = (to_c(starts.len()), lengths.as_ptr(), starts.as_ptr());
                // SAFETY: there are as many lengths and starts as blocks, and the type is alive; the call writes
                // the handle of a new one.
                new("MPI_Type_indexed", |made| unsafe {
                    ffi::MPI_Type_indexed(n, lengths, starts, of, made)
                })
            }),
            Self::Hindexed(lengths, starts, of) => of.within(|of| {
                let (n, lengths, starts) = (to_c(starts.len()), lengths.as_ptr(), starts.as_ptr());
                // SAFETY: there are as many lengths and starts as blocks, and the type is alive; the call writes
                // the handle of a new one.
                new("MPI_Type_create_hindexed", |made| unsafe {
                    ffi::MPI_Type_create_hindexed(n, lengths, starts, of, made)
                })
            }),
            Self::IndexedBlock(block, starts, of) => of.within(|of| {
                let (n, starts) = (to_c(starts.len()), starts.as_ptr());
                // SAFETY: there are as many starts as blocks, and the type is alive; the call writes the handle of
                // a new one.
                new("MPI_Type_create_indexed_block", |made| unsafe {
                    ffi::MPI_Type_create_indexed_block(n, *block, starts, of, made)
                })
            }),
            Self::Struct(..) => self.construct_struct(),
            Self::Subarray([sizes, part, start], of) => of.within(|of| {
                let (n, order) = (to_c(sizes.len()), to_c(ffi::MPI_ORDER_C as usize));
                let (sizes, part, start) = (sizes.as_ptr(), part.as_ptr(), start.as_ptr());
                // SAFETY: the three arrays have an element for each dimension, and the type is alive; the call
                // writes the handle of a new one.
                new("MPI_Type_create_subarray", |made| unsafe {
                    ffi::MPI_Type_create_subarray(n, sizes, part, start, order, of, made)
                })
            }),
            Self::Resized(extent, of) => of.within(|of| {
                // SAFETY: the type is alive; the call writes the handle of a new one.
                new("MPI_Type_create_resized", |made| unsafe {
                    ffi::MPI_Type_create_resized(of, 0, *extent, made)
                })
            }),
        }
    }

    fn construct_struct(&mut self) -> Outcome<ffi::MPI_Datatype> {
        let Self::Struct(lengths, starts, types, handles) = self else { return self.construct() };
        handles.clear();
        for of in &mut *types {
            handles.push(of.construct()?);
        }
        let (n, lengths, starts) = (to_c(types.len()), lengths.as_ptr(), starts.as_ptr());
        // SAFETY: the three arrays have as many elements as there are blocks, and the types in them are alive; the
        // call writes the handle of a new one.
        let made = new("MPI_Type_create_struct", |made| unsafe {
            ffi::MPI_Type_create_struct(n, lengths, starts, handles.as_ptr(), made)
        })?;
        let freed = types.iter().zip(handles).try_for_each(|(of, handle)| of.free(*handle));
        freed.map(|()| made)
    }

    /// The type that `make` makes of this one, which is freed.
    #[inline]
    fn within(
        &mut self,
        make: impl FnOnce(ffi::MPI_Datatype) -> Outcome<ffi::MPI_Datatype>,
    ) -> Outcome<ffi::MPI_Datatype> {
        let own = self.construct()?;
        let made = make(own)?;
        self.free(own)?;
        Ok(made)
    }

    /// Frees the type `own` of this constructor; elements are of MPI.
    #[inline]
    fn free(&self, own: ffi::MPI_Datatype) -> Outcome {
        if matches!(self, Self::Element(_)) { Ok(()) } else { free(own) }
    }
}

/// Frees the type `made`, which was constructed.
#[inline]
fn free(mut made: ffi::MPI_Datatype) -> Outcome {
    // SAFETY: the type was made by a constructor, and nothing uses the handle after this call.
    outcome("MPI_Type_free", unsafe { ffi::MPI_Type_free(&raw mut made) })
}

/// Lower bound and extent of the type `of`.
fn extent(of: ffi::MPI_Datatype) -> Outcome<(ffi::MPI_Aint, ffi::MPI_Aint)> {
    let (mut lower, mut extent) = (0, 0);
    // SAFETY: callers name a type that is alive; the call writes both numbers.
    let code = unsafe { ffi::MPI_Type_get_extent(of, &raw mut lower, &raw mut extent) };
    outcome("MPI_Type_get_extent", code)?;
    Ok((lower, extent))
}

/// The type whose handle `make` writes, which is the function `name`.
#[inline]
fn new(
    name: &'static str,
    make: impl FnOnce(*mut ffi::MPI_Datatype) -> c_int,
) -> Outcome<ffi::MPI_Datatype> {
    written(name, constant!(RSMPI_DATATYPE_NULL), make)
}

/// A distance in memory.
fn address(bytes: usize) -> ffi::MPI_Aint {
    ffi::MPI_Aint::try_from(bytes).unwrap_or(ffi::MPI_Aint::MAX)
}
