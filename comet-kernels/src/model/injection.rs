//! Injection: time between consecutive messages of one rank, and the CPU time that each costs sender
//! and receiver; the parameters of the model `LogGP`.
//!
//! **Source**: Hoefler, Lichei and Rehm, "Low-Overhead `LogGP` Parameter Assessment for Modern
//! Interconnection Networks" (2007), for the sender; the receiver in the same way.
//!
//! **Pattern**, n = 16 messages of s bytes, d = one DAXPY
//! ```text
//!   round_trip   rank 0  --OUT-->  rank 1              <--BACK-- rank 1       PRTT(1, 0, s)
//!   sends        rank 0  --OUT--> d --OUT--> d ... --OUT-->   <--BACK--       PRTT(n, d, s)
//!   receives     rank 0  --OUT-->   <--BACK-- d <--BACK-- d ... <--BACK--     rank 1 is one ahead
//!   work         rank 0             d d ... d, n - 1 times
//! ```
//! **Timed** (rank 0): one line of the drawing each. Buffers and vectors are made before.
//!
//! **Reports**: the four times. From their medians follow, without a delay, the gap between two
//! messages, (sends - round_trip) / (n - 1); with a delay of at least a round trip, the overheads
//! o_s = (sends - round_trip - work) / (n - 1), and o_r with receives in place of sends.
//!
//! **Rate**: none.
//!
//! **Parameters**: `length_bytes` is s, at most 16 KiB, so that all n messages fit into the eager
//! buffers of common libraries; `vector_length` of the DAXPY, 0 for no delay.
//!
//! **Verified by**: other test data in each message; contents, source and length on both sides.
//!
//! **Caution**: d must be longer than a round trip, or else the next message has not arrived; where it
//! is shorter, there are no overheads (take longer vectors). Above the eager limit of a library a
//! receive waits for its data, and o_r has no meaning.

use comet_core::kernel::prelude::*;

use crate::daxpy::Daxpy;
use crate::pattern::Bounce;

/// Messages of a train.
const N_MESSAGES: usize = 16;
/// The most bytes of a train.
const MAX_TRAIN_BYTES: usize = 256 * 1024;

/// Messages out and back in the first three series, by their numbers; the last is the work alone.
const TRAINS: [(usize, usize); 3] = [(1, 1), (N_MESSAGES, 1), (1, N_MESSAGES)];

/// `model/injection`; see the [module](self).
pub(crate) struct Injection;

fn admits(case: &Case, world: &World<'_>) -> Result<(), String> {
    world.require_ranks(2)?;
    world.require_hops(1)?;
    let (length_bytes, longest) = (case.length(&LENGTH_BYTES), MAX_TRAIN_BYTES / N_MESSAGES);
    if length_bytes <= longest {
        return Ok(());
    }
    Err(format!(
        "a train of {N_MESSAGES} messages of {length_bytes} bytes fills buffers on its way (use at \
         most {longest} bytes)"
    ))
}

/// One side of the trains of one series, or the work alone.
pub(crate) struct Train<B> {
    series: usize,
    bounce: Bounce<B>,
    daxpy: Daxpy,
}

impl<B: std::ops::DerefMut<Target = [u8]>> Train<B> {
    /// The rank that leads: all messages out, and then those that come back, with a delay between
    /// any two in the same direction; each of the latter is shown to `look`.
    #[inline]
    fn send_and_receive<T: Transport<Buffer = B>>(
        &mut self,
        t: &T,
        (n_out, n_back): (usize, usize),
        mut look: impl FnMut(&mut Bounce<B>, usize),
    ) -> Result<()> {
        let Self { bounce, daxpy, .. } = self;
        bounce.send(t)?;
        for _ in 1..n_out {
            daxpy.compute(t);
            bounce.send(t)?;
        }
        look(bounce, 0);
        for number in 1..=n_back {
            if number > 1 {
                daxpy.compute(t);
            }
            bounce.receive(t)?;
            look(bounce, number);
        }
        Ok(())
    }

    /// The other rank: all messages, and then those back, with a delay between all but the first
    /// two: each is there a delay before it is received, and the rank does not sleep meanwhile.
    #[inline]
    fn answer<T: Transport<Buffer = B>>(
        &mut self,
        t: &T,
        (n_out, n_back): (usize, usize),
        mut look: impl FnMut(&mut Bounce<B>, usize),
    ) -> Result<()> {
        let Self { bounce, daxpy, .. } = self;
        for number in 1..=n_out {
            bounce.receive(t)?;
            look(bounce, number);
        }
        for number in 0..n_back {
            if number > 1 {
                daxpy.compute(t);
            }
            bounce.send(t)?;
        }
        Ok(())
    }

    /// The operation, with each message that arrives shown to `look`.
    #[inline]
    fn run_looking<T: Transport<Buffer = B>>(
        &mut self,
        t: &T,
        look: impl FnMut(&mut Bounce<B>, usize),
    ) -> Result<()> {
        match TRAINS.get(self.series) {
            Some(train) if self.bounce.side.leads => self.send_and_receive(t, *train, look),
            Some(train) => self.answer(t, *train, look),
            None => {
                (1..N_MESSAGES).for_each(|_| self.daxpy.compute(t));
                Ok(())
            }
        }
    }
}

impl<T: Transport> Operation<T> for Train<T::Buffer> {
    fn fill(&mut self, seeds: Seeds) {
        Operation::<T>::fill(&mut self.bounce, seeds);
        self.daxpy.reset();
    }

    #[inline]
    fn run(&mut self, t: &T) -> Result<()> {
        self.run_looking(t, |_, _| ())
    }

    fn check(&mut self, check: &mut Checker) {
        if self.series < TRAINS.len() {
            Operation::<T>::check(&mut self.bounce, check);
        }
    }

    /// [`run`](Operation::run), with a check of each message that arrives. The buffer is spoiled
    /// before the next one, but for the last, which the rank that answers sends on.
    fn verify(&mut self, t: &T, check: &mut Checker) -> Result<()> {
        Operation::<T>::fill(self, check.seeds());
        let (n_out, n_back) = TRAINS.get(self.series).copied().unwrap_or_default();
        let n_arriving = if self.bounce.side.leads { n_back } else { n_out };
        self.run_looking(t, |bounce, number| {
            if number > 0 {
                Operation::<T>::check(bounce, check);
            }
            if number < n_arriving {
                let seed = bounce.arriving(check.seeds());
                pattern::spoil(bounce.incoming(), seed);
            }
        })
    }
}

impl<T: Transport> Pattern<T> for Injection {
    const INFO: KernelInfo = KernelInfo {
        name: "injection",
        file: include_str!("injection.rs"),
        summary: "Trains of messages to a partner, back to back and with delays",
        aliases: &["netgauge:loggp"],
        axes: &[
            AxisUse {
                axis: &LENGTH_BYTES,
                sweeps: ["1,1Ki", "1,64,1Ki,4Ki,16Ki", "1..16Ki*2,100,101,192,384,768,1536,3Ki"],
            },
            AxisUse { axis: &VECTOR_LENGTH, sweeps: ["0,20000", "0,20000", "0,20000,200000"] },
        ],
        series: &[
            Series::on_test_node("round_trip"),
            Series::on_test_node("sends"),
            Series::on_test_node("receives"),
            Series::on_test_node("work"),
        ],
        admits,
        evaluation: Evaluation::Trains,
        bytes_per_rank: |case, _| {
            let of_messages = case.value(&LENGTH_BYTES).saturating_mul(2);
            of_messages.saturating_add(case.value(&VECTOR_LENGTH).saturating_mul(16))
        },
        has_layouts: true,
        ..KernelInfo::pair("model")
    };
    type Part = Train<T::Buffer>;

    fn part(&self, cx: &Context<'_, T>, case: &Case, series: usize) -> Result<Role<Self::Part>> {
        let role = Bounce::part(cx, Pairing::ByHops(1), case.length(&LENGTH_BYTES))?;
        let daxpy = Daxpy::new(case.length(&VECTOR_LENGTH));
        // Nobody follows the work alone.
        let role = role.filter(|(duty, _)| series < TRAINS.len() || *duty == Duty::Times);
        Ok(role.map(|(duty, bounce)| (duty, Train { series, bounce, daxpy })))
    }

    fn derived(&self, case: &Case, summaries: &[Summary]) -> Vec<Derived> {
        let [round_trip, sends, receives, work] = summaries else { return Vec::new() };
        let each = |time_ns: f64| time_ns / (N_MESSAGES - 1) as f64;
        let beyond = |train: &Summary| each(train.median - round_trip.median);
        let is_delayed = case.value(&VECTOR_LENGTH) > 0;
        let delay_ns = each(work.median);
        let is_late = is_delayed && delay_ns >= round_trip.median;
        vec![
            Derived::of(
                "gap_ns",
                "(sends - round_trip) / 15, with medians and no delay",
                (!is_delayed).then(|| beyond(sends)),
            ),
            Derived::of(
                "send_overhead_ns",
                "(sends - round_trip - work) / 15, with medians, if work / 15 >= \
                          round_trip",
                is_late.then(|| beyond(sends) - delay_ns),
            ),
            Derived::of(
                "receive_overhead_ns",
                "(receives - round_trip - work) / 15, with medians, if work / 15 >= \
                          round_trip",
                is_late.then(|| beyond(receives) - delay_ns),
            ),
        ]
    }
}
