//! Functions that only some libraries have, looked up by their names once.

use std::ffi::{CStr, c_int, c_void};

use mpi::ffi;

pub(super) type In = *const c_void;
pub(super) type Out = *mut c_void;
pub(super) type Counts = *const c_int;
pub(super) type LongCount = ffi::MPI_Count;
pub(super) type LongCounts = *const ffi::MPI_Count;
pub(super) type Starts = *const ffi::MPI_Aint;
pub(super) type Kind = ffi::MPI_Datatype;
pub(super) type Kinds = *const ffi::MPI_Datatype;
pub(super) type Op = ffi::MPI_Op;
pub(super) type Comm = ffi::MPI_Comm;

/// The address of the first of the functions `names` that the libraries of the program have; null if they
/// have none.
pub(super) fn find(names: &[&CStr]) -> *mut c_void {
    let address = |name: &&CStr| {
        // SAFETY: the name ends with a zero; the call looks it up in what is loaded already.
        unsafe { nix::libc::dlsym(nix::libc::RTLD_DEFAULT, name.as_ptr()) }
    };
    let mut addresses = names.iter().map(address);
    addresses.find(|address| !address.is_null()).unwrap_or(std::ptr::null_mut())
}

/// Makes a function for each of the library's that returns it under one of its names, if it is there; looked
/// up once.
macro_rules! optional_functions {
    ($($name:ident: $($symbol:literal)|+ ($($type:ty),* $(,)?);)*) => {$(
        #[cold]
        pub(super) fn $name() -> Option<unsafe extern "C" fn($($type),*) -> ::std::ffi::c_int> {
            type Function = unsafe extern "C" fn($($type),*) -> ::std::ffi::c_int;
            static FOUND: ::std::sync::OnceLock<Option<Function>> = ::std::sync::OnceLock::new();
            // SAFETY: a pointer to a function is as large as one to data on all systems with `dlsym`, and
            // null is `None`. The types are those that the standard gives a function of this name.
            *FOUND.get_or_init(|| unsafe {
                ::std::mem::transmute::<*mut ::std::ffi::c_void, Option<Function>>(
                    super::optional::find(&[$($symbol),+])
                )
            })
        }
    )*};
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_found_by_one_of_their_names_or_not_at_all() {
        // The linker leaves out the library of MPI where nothing calls it, as in this test.
        assert!(!find(&[c"malloc"]).is_null());
        assert_eq!(find(&[c"MPI_No_such_function", c"malloc"]), find(&[c"malloc"]));
        assert!(find(&[c"MPI_No_such_function_c"]).is_null());
    }
}
