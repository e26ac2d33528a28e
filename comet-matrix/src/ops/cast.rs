//! Broadcast along one line of the mesh, acknowledged by every receiver.
//!
//! ```text
//!                  owner       receivers: the other ranks of the line
//!    piece           ├────────────►│ │ │
//!    GOTIT, empty    │◄────────────┴─┴─┘      from whichever rank is ready first
//! ```
//!
//! Source: thesis figure 4.4, with ranks taken from the mesh table (the figure computes them as
//! `i*proc_dim1+node_col`, which names other ranks as soon as the mesh is a Gray code).

use comet_core::error::Result;
use comet_core::topology::Mesh;
use comet_core::transport::{Rank, Source, Tag, Transport};

/// Senders and receivers.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Cast {
    owner: Rank,
    receivers: Vec<Rank>,
    /// Tags of the piece and of GOTIT (figure 4.4).
    tags: [Tag; 2],
}

impl Cast {
    /// From the `owner_idx`-th rank of `line` to all the others, with messages of the first of `tags`.
    ///
    /// # Panics
    /// If `line` has no such rank.
    pub(super) fn new(mut line: Vec<Rank>, owner_idx: usize, tags: [Tag; 2]) -> Self {
        let owner = line.remove(owner_idx);
        Self { owner, receivers: line, tags }
    }

    /// True if `rank` has the piece that is broadcast.
    #[inline]
    pub(super) fn is_owner(&self, rank: Rank) -> bool {
        rank == self.owner
    }

    /// On the owner: sends `piece` to each receiver, then waits for as many acknowledgements.
    #[inline]
    pub(super) fn send<T: Transport>(&self, t: &T, piece: &[u8]) -> Result<()> {
        for receiver in &self.receivers {
            t.blocked_send(*receiver, self.tags[0], piece)?;
        }
        for _ in &self.receivers {
            t.blocked_recv(Source::Any, self.tags[1], &mut [])?;
        }
        Ok(())
    }

    /// On a receiver: receives the owner's piece into `piece`.
    #[inline]
    pub(super) fn receive<T: Transport>(&self, t: &T, piece: &mut [u8]) -> Result<()> {
        t.blocked_recv(Source::Rank(self.owner), self.tags[0], piece)?;
        Ok(())
    }

    /// On a receiver: tells the owner that the piece is in its place.
    #[inline]
    pub(super) fn acknowledge<T: Transport>(&self, t: &T) -> Result<()> {
        t.blocked_send(self.owner, self.tags[1], &[])
    }
}

/// The shape nearest to a single line into which the ranks of `mesh` go as two or more lines:
/// number of lines and their length. `None` for a single rank.
pub(super) fn two_or_more_lines(mesh: &Mesh) -> Option<(usize, usize)> {
    let n_ranks = mesh.ranks().len();
    let n_lines = (2..=n_ranks).find(|n_lines| n_ranks.is_multiple_of(*n_lines))?;
    Some((n_lines, n_ranks / n_lines))
}

/// Reason that a broadcast with at least one receiver cannot run on `mesh`; `lines` are rows or
/// columns, and `shape` is a mesh on which it could, if there is one.
pub(super) fn too_few(
    operation: &str,
    lines: &str,
    mesh: &Mesh,
    shape: Option<(usize, usize)>,
) -> String {
    let (rows, cols) = (mesh.rows(), mesh.cols());
    let remedy = match shape {
        Some((rows, cols)) => format!("try --mesh {rows}x{cols}"),
        None => "start at least 2 ranks".into(),
    };
    format!("{operation} needs a mesh of at least 2 {lines}, got {rows}x{cols} ({remedy})")
}
