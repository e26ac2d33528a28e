//! The heart of CoMet: what a transport and a kernel are, and the driver that brings them together.
//!
//! ```text
//!   kernel crates ──implement──► Kernel<T>          Transport ◄──implement── backends
//!                                    └─────► driver ◄─────┘
//!                                               │
//!                                             Event ──► Listener (results, tables)
//! ```
//!
//! This crate opens no file, prints nothing, starts no process and holds no unsafe code.
//! Only a transport reads a clock.
//!
//! A round trip on the transport of threads that serves examples and tests:
//!
//! ```
//! use comet_core::transport::{Source, Tag, Transport};
//! const ECHO: Tag = Tag::new(1);
//! let replies = comet_core::local::run(2, |t| {
//!     let mut message = *b"ping";
//!     if t.rank() == 0 {
//!         t.blocked_send(1, ECHO, &message)?;
//!         t.blocked_recv(Source::Rank(1), ECHO, &mut message)?;
//!     } else {
//!         t.blocked_recv(Source::Rank(0), ECHO, &mut message)?;
//!         t.blocked_send(0, ECHO, b"pong")?;
//!     }
//!     Ok::<_, comet_core::error::TransportError>(message)
//! });
//! assert_eq!(&replies[0].as_ref().unwrap()[..], b"pong");
//! ```
#![forbid(unsafe_code)]

/// Gives an enum the words of its values: a value and its word in the order of the declaration.
///
/// ```
/// #[derive(Clone, Copy, Debug, PartialEq)]
/// pub enum Coin {
///     Heads,
///     Tails,
/// }
/// comet_core::named!(Coin: Heads "heads", Tails "tails");
/// assert_eq!((Coin::find("tails"), Coin::Heads.name()), (Some(Coin::Tails), "heads"));
/// ```
#[macro_export]
macro_rules! named {
    ($enum:ident: $($value:ident $word:literal),+ $(,)?) => {
        impl $enum {
            /// Every value, in the order of [`LABELS`](Self::LABELS).
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$value),+];
            /// Words of the values on the command line and in the record.
            pub const LABELS: &'static [&'static str] = &[$($word),+];

            /// Its word.
            pub const fn name(self) -> &'static str {
                Self::LABELS[self as usize]
            }

            /// The value of this word.
            pub fn find(word: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|value| value.name() == word)
            }
        }
    };
}

/// Shows a type, whose generics stand before it, by its name and some of its fields.
macro_rules! shown {
    ([$($generics:tt)*] $type:ty, $name:literal $(, |$this:ident| $($field:ident: $value:expr),+)?) => {
        impl<$($generics)*> ::std::fmt::Debug for $type {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                $(let $this = self;)?
                let shown = &mut f.debug_struct($name);
                shown$($(.field(stringify!($field), &$value))+)?.finish_non_exhaustive()
            }
        }
    };
}

/// Methods of a type that has no value.
macro_rules! absent {
    ($($call:ident($($argument:ident: $type:ty),*);)*) => {
        $(fn $call(&self, $(_: $type),*) -> Result<()> {
            match *self {}
        })*
    };
}

pub mod busy;
pub mod calibration;
pub mod collective;
pub mod conformance;
pub mod context;
pub mod definition;
pub mod driver;
pub mod error;
pub mod event;
pub mod file;
pub mod job;
pub mod kernel;
pub mod layout;
pub mod local;
pub mod matching;
pub mod pattern;
pub mod placement;
pub mod rounds;
pub mod sample;
pub mod sweep;
pub mod sync;
pub mod topology;
pub mod transport;
pub mod waiting;
pub mod window;
pub mod words;
