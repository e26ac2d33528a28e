//! A kernel of one's own: a ring in which each rank sends to the next, over message lengths, with a
//! check; over shared memory, and on a simulated machine.
//!
//! `cargo run --release -p comet-measure --example own_kernel [FILE]` keeps the record in FILE, for
//! `comet-run show FILE`.
#![expect(clippy::print_stdout, reason = "an example prints its result")]

use comet::kernel::prelude::*;
use comet::{Profile, Ranks as _, SharedMemory, Simulation};

/// The kernel.
struct Ring;

/// The part of one rank: the ranks before and after it, and its buffers.
struct Part<B> {
    tag: Tag,
    neighbours: (Rank, Rank),
    rank: Rank,
    sent: B,
    received: B,
    length_bytes: Option<usize>,
}

impl<T: Transport> Pattern<T> for Ring {
    const INFO: KernelInfo = KernelInfo {
        name: "ring",
        summary: "Each rank sends to the next and receives from the one before",
        axes: &[AxisUse::of(&LENGTH_BYTES, "8,1Ki,64Ki")],
        series: &[Series::completion("ring").moving(|case, _| Some(case.value(&LENGTH_BYTES)))],
        bytes_per_rank: |case, _| 2 * case.value(&LENGTH_BYTES),
        ..KernelInfo::collective("own")
    };
    type Part = Part<T::Buffer>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, _: usize) -> Result<Role<Self::Part>> {
        let n = case.length(&LENGTH_BYTES);
        let (sent, received) = (cx.message(n)?, cx.message(n)?);
        let (tag, neighbours, rank) = (cx.tag(0), cx.ring(), cx.rank());
        let part = Part { tag, neighbours, rank, sent, received, length_bytes: None };
        Ok(Some((Duty::Together, part)))
    }
}

impl<T: Transport> Operation<T> for Part<T::Buffer> {
    fn fill(&mut self, seeds: Seeds) {
        pattern::fill(&mut self.sent, seeds.of(0, self.rank));
        pattern::spoil(&mut self.received, seeds.of(0, self.neighbours.0));
    }

    fn run(&mut self, t: &T) -> Result<()> {
        let (before, after) = self.neighbours;
        let from = Source::Rank(before);
        let status = t.blocked_exchange(after, &self.sent, from, &mut self.received, self.tag)?;
        self.length_bytes = status.length_from(before);
        Ok(())
    }

    fn check(&mut self, check: &mut Checker) {
        let seed = check.seeds().of(0, self.neighbours.0);
        check.arrival(self.length_bytes, (&mut self.received, seed), "the message");
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let real = SharedMemory::new(2).kernel(Timed(Ring)).profile(Profile::Quick).sweep()?;
    let simulated = Simulation::new("t3e", 64)?.kernel(Timed(Ring)).sweep()?;
    for (real, simulated) in real.iter().zip(&simulated) {
        let length = real.point.params.number("length_bytes").unwrap_or(0);
        println!("{length:>6} B: {real}; on 64 nodes of a T3E {:.0} ns", simulated.median_ns);
    }
    if let Some(path) = std::env::args_os().nth(1) {
        std::fs::write(path, &*real[0].record)?;
    }
    Ok(())
}
