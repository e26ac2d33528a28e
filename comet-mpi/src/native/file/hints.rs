//! Hints for the library (chapter 10).

use std::ffi::CString;

use mpi::ffi;

use crate::native::{Failure, outcome};

/// Hints as the library takes them.
pub(super) struct Hints(pub(super) ffi::MPI_Info);

impl Hints {
    /// A handle for them, or the null handle where there is none.
    pub(super) fn new(hints: &[(String, String)]) -> Result<Self, String> {
        let mut all = Self(constant!(RSMPI_INFO_NULL));
        if hints.is_empty() {
            return Ok(all);
        }
        let said = |failure: Failure| failure.text();
        // SAFETY: the call writes the handle.
        call!(MPI_Info_create(&raw mut all.0)).map_err(said)?;
        for (key, value) in hints {
            let c = |text: &str| CString::new(text).map_err(|error| error.to_string());
            let (c_key, c_value) = (c(key)?, c(value)?);
            // SAFETY: both strings end with a zero, and are only read.
            call!(MPI_Info_set(all.0, c_key.as_ptr(), c_value.as_ptr()))
                .map_err(|failure| format!("{key}={value}: {}", failure.text()))?;
        }
        Ok(all)
    }
}

impl Drop for Hints {
    fn drop(&mut self) {
        if self.0 != constant!(RSMPI_INFO_NULL) && !mpi::environment::is_finalized() {
            // SAFETY: the handle was made by `new`, and MPI is not finalised. An error leaves a handle behind,
            // which nothing uses.
            unsafe { ffi::MPI_Info_free(&raw mut self.0) };
        }
    }
}
