//! Calls of one rank that wait for no other: time of each.
//!
//! **Source**: SKaMPI (R. Reussner, P. Sanders, J. L. Traff), section 3.1, types 24 to 28, the
//! simple pattern; MPI-4.1 sections 3.6, 3.8.1, 7.4.1 and 9.6.
//!
//! **Pattern**, with the number of the type
//! ```text
//!   rank 0   wtime            24   reads the clock                                   (Wtime)
//!            comm_rank        25   asks the library for its number                   (Comm_rank)
//!            comm_size        26   asks it for the number of ranks                   (Comm_size)
//!            iprobe           27   asks for a message of any rank; there is none     (Iprobe)
//!            buffer_attach    28   makes room for one buffered message, and gives it back
//!                                  (Buffer_attach, Buffer_detach)
//! ```
//! **Timed** (rank 0): the call. The other ranks are idle.
//!
//! **Reports**: time of one call; of buffer_attach that of both, with the memory of the room.
//!
//! **Rate**: none.
//!
//! **Parameters**: `length_bytes` of the message for which buffer_attach makes room.
//!
//! **Verified by**: readings that never go backwards; the numbers that were told; no message
//! found; a buffered message of the rank to itself, through room that is attached as it was
//! timed: its length and contents.
//!
//! **Caution**: wtime is the clock by which everything is measured here, and not MPI_Wtime; an
//! interval of n readings has that of its end too. Where no library holds the ranks, comm_rank
//! and comm_size read a number in memory. Over shared memory room is memory of the rank's heap,
//! and the simulator has room always: there the calls take no time. A memory copy, type 23, is
//! `model/memcpy`.

use std::hint::black_box;

use comet_core::kernel::prelude::*;
use comet_core::transport::SendMode;

/// One of the kernels, by its call; see the [module](self).
pub(crate) struct Local<C>(pub(crate) C);

/// A call of one rank.
pub(crate) trait Call: Sync + 'static {
    /// Name of the kernel.
    const NAME: &'static str;
    /// Its summary.
    const SUMMARY: &'static str;
    /// Its names in SKaMPI.
    const ALIASES: &'static [&'static str];
    /// Its axes.
    const AXES: &'static [AxisUse];
    /// The part of rank 0.
    type Part<T: Transport>: Operation<T>;

    /// Makes the part.
    ///
    /// # Errors
    /// If there is no memory for it.
    fn part<T: Transport>(cx: &Context<'_, T>, case: &Case) -> Result<Self::Part<T>>;
}

/// Reads the clock.
pub(crate) struct Wtime;

/// The last reading, and how many were less than the one before.
#[derive(Default)]
pub(crate) struct Readings {
    last_ns: u64,
    n_backwards: u64,
}

impl<T: Transport> Operation<T> for Readings {
    fn fill(&mut self, _: Seeds) {
        *self = Self::default();
    }

    #[inline]
    fn run(&mut self, t: &T) -> Result<()> {
        let now_ns = black_box(t.now_ns());
        self.n_backwards += u64::from(now_ns < self.last_ns);
        self.last_ns = now_ns;
        Ok(())
    }

    fn check(&mut self, check: &mut Checker) {
        none(self.n_backwards, "readings that are less than the one before", check);
    }
}

impl Call for Wtime {
    const NAME: &'static str = "wtime";
    const SUMMARY: &'static str = "A reading of the clock";
    const ALIASES: &'static [&'static str] = &["SKaMPI:24", "SKaMPI:Wtime"];
    const AXES: &'static [AxisUse] = &[];
    type Part<T: Transport> = Readings;

    fn part<T: Transport>(_: &Context<'_, T>, _: &Case) -> Result<Readings> {
        Ok(Readings::default())
    }
}

/// Asks the library for the number of this rank, or (`OF_ALL`) of all ranks.
pub(crate) struct Asks<const OF_ALL: bool>;

/// The number that is expected, and how many others were told.
pub(crate) struct Told<const OF_ALL: bool> {
    expected: usize,
    n_others: u64,
}

impl<const OF_ALL: bool, T: Transport> Operation<T> for Told<OF_ALL> {
    fn fill(&mut self, _: Seeds) {
        self.n_others = 0;
    }

    #[inline]
    fn run(&mut self, t: &T) -> Result<()> {
        let told = black_box(if OF_ALL { t.asked_n_ranks()? } else { t.asked_rank()? });
        self.n_others += u64::from(told != self.expected);
        Ok(())
    }

    fn check(&mut self, check: &mut Checker) {
        none(self.n_others, "numbers other than that of the transport", check);
    }
}

impl<const OF_ALL: bool> Call for Asks<OF_ALL> {
    const NAME: &'static str = if OF_ALL { "comm_size" } else { "comm_rank" };
    const SUMMARY: &'static str = if OF_ALL {
        "The number of ranks, as the library tells it"
    } else {
        "The number of this rank, as the library tells it"
    };
    const ALIASES: &'static [&'static str] = if OF_ALL { &["SKaMPI:26"] } else { &["SKaMPI:25"] };
    const AXES: &'static [AxisUse] = &[];
    type Part<T: Transport> = Told<OF_ALL>;

    fn part<T: Transport>(cx: &Context<'_, T>, _: &Case) -> Result<Told<OF_ALL>> {
        let expected = if OF_ALL { cx.transport().n_ranks() } else { cx.rank() };
        Ok(Told { expected, n_others: 0 })
    }
}

/// Asks for a message that is not there.
pub(crate) struct Iprobe;

/// The tag of no message, and how many were found.
pub(crate) struct Probes {
    tag: Tag,
    n_found: u64,
}

impl<T: Transport> Operation<T> for Probes {
    fn fill(&mut self, _: Seeds) {
        self.n_found = 0;
    }

    #[inline]
    fn run(&mut self, t: &T) -> Result<()> {
        self.n_found += u64::from(t.probe(Source::Any, self.tag)?.is_some());
        Ok(())
    }

    fn check(&mut self, check: &mut Checker) {
        none(self.n_found, "messages that nobody sent", check);
    }
}

impl Call for Iprobe {
    const NAME: &'static str = "iprobe";
    const SUMMARY: &'static str = "A probe for a message that is not there";
    const ALIASES: &'static [&'static str] = &["SKaMPI:27"];
    const AXES: &'static [AxisUse] = &[];
    type Part<T: Transport> = Probes;

    fn part<T: Transport>(cx: &Context<'_, T>, _: &Case) -> Result<Probes> {
        Ok(Probes { tag: cx.tag(0), n_found: 0 })
    }
}

/// Checks that there are 0 of `what`.
fn none(n: u64, what: &str, check: &mut Checker) {
    check.values(&mut [n as f64], |_| 0.0, |_| true, what);
}

/// Makes room for a buffered message, and gives it back.
pub(crate) struct BufferAttach;

/// A message of the rank to itself, which proves that there is room.
pub(crate) struct Attached<B> {
    rank: Rank,
    tag: Tag,
    message: B,
    buffer: B,
    arrived_bytes: Option<usize>,
}

impl<T: Transport> Operation<T> for Attached<T::Buffer> {
    fn fill(&mut self, seeds: Seeds) {
        let seed = seeds.of(0, self.rank);
        pattern::fill(&mut self.message, seed);
        pattern::spoil(&mut self.buffer, seed);
    }

    #[inline]
    fn run(&mut self, t: &T) -> Result<()> {
        t.attach_buffer(1, self.message.len())?;
        t.detach_buffer()
    }

    fn end(&mut self, t: &T) -> Result<()> {
        let Self { rank, tag, message, buffer, .. } = self;
        t.attach_buffer(1, message.len())?;
        t.blocked_send_in(SendMode::Buffered, *rank, *tag, message)?;
        let status = t.blocked_recv(Source::Rank(*rank), *tag, buffer)?;
        self.arrived_bytes = status.length_from(*rank);
        t.detach_buffer()
    }

    fn check(&mut self, check: &mut Checker) {
        let seed = check.seeds().of(0, self.rank);
        let what = "the buffered message to itself";
        check.arrival(self.arrived_bytes, (&mut self.buffer, seed), what);
    }
}

impl Call for BufferAttach {
    const NAME: &'static str = "buffer_attach";
    const SUMMARY: &'static str = "Room for a buffered message, attached and detached";
    const ALIASES: &'static [&'static str] = &["SKaMPI:28"];
    const AXES: &'static [AxisUse] =
        &[AxisUse { axis: &LENGTH_BYTES, sweeps: ["64", "64,64Ki", "64,4Ki,64Ki,1Mi"] }];
    type Part<T: Transport> = Attached<T::Buffer>;

    fn part<T: Transport>(cx: &Context<'_, T>, case: &Case) -> Result<Self::Part<T>> {
        let length = case.length(&LENGTH_BYTES);
        let (message, buffer) = (cx.message(length)?, cx.message(length)?);
        Ok(Attached { rank: cx.rank(), tag: cx.tag(0), message, buffer, arrived_bytes: None })
    }
}

impl<T: Transport, C: Call> Pattern<T> for Local<C> {
    const INFO: KernelInfo = KernelInfo {
        name: C::NAME,
        file: include_str!("local.rs"),
        summary: C::SUMMARY,
        aliases: C::ALIASES,
        axes: C::AXES,
        series: &[Series::on_test_node("call")],
        is_movable: false,
        bytes_per_rank: |case, _| case.find(&LENGTH_BYTES).unwrap_or(0).saturating_mul(3),
        ..KernelInfo::compute("skampi")
    };
    type Part = C::Part<T>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        if cx.rank() != cx.root() {
            return Ok(None);
        }
        Ok(Some((Duty::Times, C::part(cx, case)?)))
    }
}
