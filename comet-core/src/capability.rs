//! What only some transports can do, and how a kernel asks for it.
//!
//! A transport names one type per capability and hands out a reference to it, or `None`.
//! One that lacks a capability names [`Never`], which has no values: the code behind the `Some` is
//! then removed by the compiler, and one kernel list serves all backends.
//! A kernel that meets a `None` returns
//! [`KernelError::unsupported`](crate::kernel::KernelError::unsupported) from its `verify`, and its
//! cases are skipped with that reason.
//!
//! The operations of a capability are declared by the first backend that offers it.

/// Remote memory access: windows, put, get, accumulate and their synchronisation
/// (MPI-4.1 chapter 12, the IMB-EXT suite).
pub trait OneSided {}

/// Files that all ranks read and write together (MPI-4.1 chapter 14, the IMB-IO suite).
pub trait ParallelFile {}

/// Messages of non-contiguous data described by a type (MPI-4.1 chapter 5, SKaMPI's datatypes).
pub trait Layouts {}

/// Communication among a part of the ranks (MPI-4.1 chapter 7, IMB's Multi- benchmarks).
pub trait Groups {}

/// The capability of a transport that lacks it: a type without values.
#[derive(Debug, Clone, Copy)]
pub enum Never {}

impl OneSided for Never {}
impl ParallelFile for Never {}
impl Layouts for Never {}
impl Groups for Never {}
