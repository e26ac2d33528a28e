//! Transfers between the origin of a rank and the parts of others.

use std::ops::Range;

use super::{Access, RawWindow, Remote, Window};
use crate::collective::{Element, Reducer};
use crate::error::{Result, TransportError};
use crate::transport::Transport;

impl<T: Transport> Window<T> {
    /// Copies the bytes `from` of the origin to `to` (MPI-4.1 section 12.3.1).
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::error::TransportErrorKind::InvalidArgument) if there is no such
    /// place, or if this rank has no access to it now, and nothing was started; other kinds if the
    /// job has failed.
    #[inline]
    #[track_caller]
    pub fn put(&self, from: Range<usize>, to: Remote) -> Result<()> {
        self.begin(&from, to, 1)?;
        self.raw.put(from, to)
    }

    /// Copies as many bytes as `into` has, which is in the origin, from `from` (MPI-4.1 section
    /// 12.3.2).
    ///
    /// # Errors
    /// Those of [`put`](Self::put).
    #[inline]
    #[track_caller]
    pub fn get(&self, into: Range<usize>, from: Remote) -> Result<()> {
        self.begin(&into, from, 1)?;
        self.raw.get(into, from)
    }

    /// Combines the bytes at `to` with those `from` the origin, element by element, each at once
    /// with regard to other accumulations (MPI-4.1 section 12.3.4).
    ///
    /// # Errors
    /// Those of [`put`](Self::put), and if the length or the place is no whole number of elements.
    #[inline]
    #[track_caller]
    pub fn accumulate(&self, from: Range<usize>, to: Remote, by: Reducer) -> Result<()> {
        self.begin(&from, to, by.element().bytes())?;
        self.raw.accumulate(from, to, by)
    }

    /// [`accumulate`](Self::accumulate), after what was there has been copied to the origin at byte
    /// `fetched` (MPI-4.1 section 12.3.4).
    ///
    /// # Errors
    /// Those of [`accumulate`](Self::accumulate), and if the two parts of the origin overlap.
    #[inline]
    #[track_caller]
    pub fn get_accumulate(
        &self,
        from: Range<usize>,
        fetched: usize,
        to: Remote,
        by: Reducer,
    ) -> Result<()> {
        let (start, n, element_bytes) = (from.start, from.len(), by.element().bytes());
        self.require_apart(&[start, fetched], n, element_bytes)?;
        self.begin(&from, to, element_bytes)?;
        self.raw.get_accumulate(from, fetched, to, by)
    }

    /// [`get_accumulate`](Self::get_accumulate) of one element (MPI-4.1 section 12.3.4).
    ///
    /// # Errors
    /// Those of [`get_accumulate`](Self::get_accumulate).
    #[inline]
    #[track_caller]
    pub fn fetch_and_op(&self, from: usize, fetched: usize, to: Remote, by: Reducer) -> Result<()> {
        let n = by.element().bytes();
        self.require_apart(&[from, fetched], n, n)?;
        self.begin(&(from..from.saturating_add(n)), to, n)?;
        self.raw.fetch_and_op(from, fetched, to, by)
    }

    /// Copies the element at `to` to the origin at byte `fetched`, and replaces it by the one at
    /// `new` if it equals that at `expected`; at once with regard to other accumulations (MPI-4.1
    /// section 12.3.4).
    ///
    /// # Errors
    /// Those of [`get_accumulate`](Self::get_accumulate), and for elements that are no integers.
    #[inline]
    #[track_caller]
    pub fn compare_and_swap(
        &self,
        [expected, new, fetched]: [usize; 3],
        to: Remote,
        of: Element,
    ) -> Result<()> {
        let n = of.bytes();
        let is_integer = !matches!(of, Element::F32 | Element::F64);
        self.require(is_integer, "asked to compare reals", "name elements that are integers")?;
        self.require_apart(&[expected, new, fetched], n, n)?;
        self.begin(&(expected..expected.saturating_add(n)), to, n)?;
        self.raw.compare_and_swap([expected, new, fetched], to, of)
    }

    /// Checks a transfer between `own` bytes of the origin and as many at `other`, which are
    /// elements of so many bytes.
    #[inline]
    fn begin(&self, own: &Range<usize>, other: Remote, element_bytes: usize) -> Result<()> {
        let has_access = match self.access.get() {
            Access::None => false,
            Access::Fenced | Access::AllLocked => true,
            Access::Locked | Access::Started => {
                self.reached.borrow().get(other.rank).is_some_and(|reached| *reached)
            }
        };
        let n = own.end.wrapping_sub(own.start);
        let holds = |part_bytes: &usize| other.at <= *part_bytes && n <= *part_bytes - other.at;
        let fits = own.start <= own.end
            && own.end <= self.raw.origin_bytes()
            && self.part_bytes.get(other.rank).is_some_and(holds)
            && (n | other.at | own.start) & (element_bytes - 1) == 0;
        if !(has_access && fits) {
            return Err(self.refuse(own, other, element_bytes, has_access));
        }
        self.is_busy.set(true);
        Ok(())
    }

    #[cold]
    fn refuse(
        &self,
        own: &Range<usize>,
        Remote { rank, at }: Remote,
        element_bytes: usize,
        has_access: bool,
    ) -> TransportError {
        if rank >= self.n_ranks() {
            return TransportError::no_such_rank(rank, self.n_ranks()).on_rank(self.rank_of_job);
        }
        if !has_access {
            let text = format!(
                "a transfer to rank {rank} outside of an epoch (fence, lock or start an access before)"
            );
            return self.invalid(text);
        }
        self.invalid(format!(
            "a transfer of bytes {own:?} of an origin of {} bytes to byte {at} of a part of {} bytes \
             (both hold it, at multiples of {element_bytes})",
            self.raw.origin_bytes(),
            self.part_bytes[rank],
        ))
    }

    /// Refuses places of `n` bytes in the origin that overlap, or go beyond it.
    #[inline]
    fn require_apart(&self, starts: &[usize], n: usize, element_bytes: usize) -> Result<()> {
        let origin_bytes = self.raw.origin_bytes();
        let are_apart = starts.iter().enumerate().all(|(index, start)| {
            *start <= origin_bytes
                && n <= origin_bytes - start
                && start & (element_bytes - 1) == 0
                && starts[..index].iter().all(|other| start.abs_diff(*other) >= n)
        });
        self.require(
            are_apart,
            "asked for such places",
            "name elements of its origin that do not overlap",
        )
    }
}
