//! Reasons for which a collective does not go on.

use comet_core::error::TransportErrorKind;

use super::Failure;

/// Reason for which a collective does not go on.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Refused {
    /// The library has failed.
    Failed(Failure),
    /// Lengths or places that the integers of the call do not hold, in a library without others.
    TooLong(&'static str),
    /// The same for a call that is started only.
    TooLongToStart(&'static str),
    /// A function that the library lacks.
    Lacking(&'static str),
    /// Parts of one length on one side, and with places on the other.
    Mixed(&'static str),
    /// Parts whose lengths are not counted in the elements of the communicator.
    Uncounted(&'static str),
    /// Data in place on another root than rank 0, in a library that takes its mark for an address.
    LateInPlace,
    /// A prepared collective, in a library whose waits for it do not wait.
    EarlyEnd,
}

impl Refused {
    /// Kind and text of the error.
    ///
    /// # Errors
    /// The failure of the library, if that is the reason.
    #[cold]
    pub(crate) fn reason(self) -> Result<(TransportErrorKind, String), Failure> {
        use TransportErrorKind::{InvalidArgument, Unsupported};
        Ok(match self {
            Self::Failed(failure) => return Err(failure),
            Self::TooLong(name) => {
                let text = format!(
                    "{name} has integers of 32 bits, and this library lacks {name}_c for lengths and \
                     places above 2^31 - 1 (use shorter parts, or a library of MPI-4)"
                );
                (Unsupported, text)
            }
            Self::TooLongToStart(name) => {
                let text = format!(
                    "{name} has lengths and places of at most 2^31 - 1 here (use shorter parts, or the \
                     blocked call)"
                );
                (Unsupported, text)
            }
            Self::Lacking(name) => (Unsupported, lacking(name, &crate::library_version())),
            Self::Mixed(name) => {
                let text = format!(
                    "{name} has parts of one length on both sides, or parts with lengths and places \
                     on both (give both sides such parts)"
                );
                (InvalidArgument, text)
            }
            Self::Uncounted(name) => {
                let text = format!(
                    "{name} has parts in bytes, and the communicator counts other elements (count the \
                     parts in them)"
                );
                (InvalidArgument, text)
            }
            Self::LateInPlace => {
                let text = "MPICH 4.0 cannot reduce in place to another rank than 0: it takes MPI_IN_PLACE \
                            for an address (use root 0, or reduce from another buffer)";
                (Unsupported, text.into())
            }
            Self::EarlyEnd => {
                let text = "MPICH 4.0 ends its prepared collectives before they have moved their data (use \
                            another library, or an algorithm of comet-run)";
                (Unsupported, text.into())
            }
        })
    }
}

/// The sentence about the function `name` that `library` lacks.
fn lacking(name: &str, library: &str) -> String {
    format!("{library} lacks {name} (use a library of MPI-4, or an algorithm of comet-run)")
}

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_that_is_lacking_is_named_with_its_library() {
        let text = lacking("MPI_Allreduce_init", "Open MPI v3.1.6");
        assert!(text.starts_with("Open MPI v3.1.6 lacks MPI_Allreduce_init ("), "{text}");
    }
}
