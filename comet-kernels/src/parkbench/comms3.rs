//! COMMS3: time of a message from every rank to every other; the bandwidth of the saturated system.
//!
//! **Source**: PARKBENCH, low-level benchmark COMMS3.
//!
//! **Pattern**, the same on all P ranks
//! ```text
//!   rank r  --> r+1, r+2, ... r-1      posts its P-1 sends
//!           <-- r-1, r-2, ... r+1      receives its P-1 messages
//!           waits for its sends
//! ```
//! **Timed** (all ranks): one such round, which ends when all have received all. A barrier before
//! it is not timed.
//!
//! **Reports**: time from the first start to the last finish over all ranks, in which P (P-1)
//! messages were sent. Fitted over these bytes, r_inf is the total saturation bandwidth, a function of
//! P.
//!
//! **Rate**: P (P-1) x `length_bytes` / time, of all P ranks together.
//!
//! **Parameters**: `length_bytes`.
//!
//! **Verified by**: other test data of each rank; contents, source and length of every message on
//! every rank.
//!
//! **Caution**: the P-1 messages of a rank are one and the same, which its cache holds after the
//! first. All go in the same order of distance, so that no rank is the target of all at once.

use comet_core::kernel::prelude::*;
use comet_core::transport::Room;

const LENGTHS: AxisUse = AxisUse {
    axis: &LENGTH_BYTES,
    sweeps: [
        "0,100,1Ki,16Ki",
        "0,8,64,256,1Ki,2Ki,4Ki,8Ki,16Ki,64Ki,256Ki,1Mi",
        "0,1..1Mi*2,100,101,192,384,768,1536..768Ki*2",
    ],
};

/// `parkbench/comms3`; see the [module](self).
pub(crate) struct Comms3;

/// One rank's message, and room for those of the others.
pub(crate) struct Saturation<T: Transport> {
    rank: Rank,
    n_ranks: usize,
    tag: Tag,
    message: T::Buffer,
    buffer: T::Buffer,
    arrived_bytes: Option<usize>,
    /// Memory of the set of sends between two rounds.
    sends: Room<T::SendOp<'static>>,
}

/// The rank so far before `rank` among so many, which sends it the message of that number.
fn source_at(rank: Rank, n_ranks: usize, distance: usize) -> Rank {
    (rank + n_ranks - distance) % n_ranks
}

impl<T: Transport> Saturation<T> {
    /// The source of the message of that number, from 1 on.
    fn source(&self, distance: usize) -> Rank {
        source_at(self.rank, self.n_ranks, distance)
    }

    /// One round: sends the message to all others, shows the message of each to `look`, and waits
    /// for the sends.
    #[inline]
    fn round(&mut self, t: &T, mut look: impl FnMut(&mut T::Buffer, Status)) -> Result<()> {
        let Self { rank, n_ranks, tag, message, buffer, arrived_bytes, sends } = self;
        let (rank, n_ranks) = (*rank, *n_ranks);
        t.scope(|s| {
            let mut pending = s.requests_in(std::mem::take(sends));
            for distance in 1..n_ranks {
                pending.push(s.unblocked_send((rank + distance) % n_ranks, *tag, message)?);
            }
            for distance in 1..n_ranks {
                let source = source_at(rank, n_ranks, distance);
                let status = t.blocked_recv(Source::Rank(source), *tag, buffer)?;
                *arrived_bytes = status.length_from(source);
                look(buffer, status);
            }
            *sends = pending.into_room()?;
            Ok(())
        })
    }
}

impl<T: Transport> Operation<T> for Saturation<T> {
    fn fill(&mut self, seeds: Seeds) {
        pattern::fill(&mut self.message, seeds.of(0, self.rank));
        let last = self.source(self.n_ranks - 1);
        pattern::spoil(&mut self.buffer, seeds.of(0, last));
    }

    #[inline]
    fn run(&mut self, t: &T) -> Result<()> {
        self.round(t, |_, _| ())
    }

    fn check(&mut self, check: &mut Checker) {
        let source = self.source(self.n_ranks - 1);
        let seed = check.seeds().of(0, source);
        let what = format!("the message from rank {source}");
        check.arrival(self.arrived_bytes, (&mut self.buffer, seed), &what);
    }

    /// The round with a check of every message.
    fn verify(&mut self, t: &T, check: &mut Checker) -> Result<()> {
        let (seeds, rank, n_ranks) = (check.seeds(), self.rank, self.n_ranks);
        self.fill(seeds);
        let first = self.source(1);
        pattern::spoil(&mut self.buffer, seeds.of(0, first));
        let mut distances = 1..n_ranks;
        self.round(t, |buffer, status| {
            let seed_of = |distance| seeds.of(0, source_at(rank, n_ranks, distance));
            let (source, what) =
                (status.source, format!("the message from rank {}", status.source));
            check.arrival(Some(status.length_bytes), (buffer, seeds.of(0, source)), &what);
            distances.next();
            pattern::spoil(buffer, seed_of(distances.start.min(n_ranks - 1)));
        })
    }
}

impl<T: Transport> Pattern<T> for Comms3 {
    const INFO: KernelInfo = KernelInfo {
        name: "comms3",
        file: include_str!("comms3.rs"),
        summary: "Saturation: every rank sends a message to every other",
        aliases: &["PARKBENCH:COMMS3"],
        axes: &[LENGTHS],
        series: &[Series::completion("comms3").moving(|case, world| {
            let n_ranks = world.n_ranks as u64;
            Some(n_ranks * n_ranks.saturating_sub(1) * case.value(&LENGTH_BYTES))
        })],
        bytes_per_rank: |case, _| case.value(&LENGTH_BYTES).saturating_mul(2),
        has_layouts: true,
        ..KernelInfo::collective("parkbench")
    };
    type Part = Saturation<T>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        let length_bytes = case.length(&LENGTH_BYTES);
        let (message, buffer) = (cx.message(length_bytes)?, cx.message(length_bytes)?);
        let (rank, n_ranks) = (cx.rank(), cx.transport().n_ranks());
        let (tag, sends) = (cx.tag(0), Room::of(n_ranks));
        let part = Saturation { rank, n_ranks, tag, message, buffer, arrived_bytes: None, sends };
        Ok(Some((Duty::Together, part)))
    }
}
