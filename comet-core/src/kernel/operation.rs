//! Operations and patterns: a kernel author writes one operation, and the same operation on the
//! same buffers is verified and timed.

use std::mem;

use super::Kernel;
use super::buffers::{Buffers, Others, Touch};
use super::case::{Case, Derived, History};
use super::check::{Checker, Seeds};
use super::fault::Repeating;
use super::info::{Class, KernelInfo};
use super::world::World;
use crate::context::{Context, Laps, Repeated};
use crate::error::{KernelError, Result, TransportError};
use crate::layout::Packing;
use crate::transport::Transport;
use comet_stats::Summary;

/// One rank's part of an operation, with its buffers.
pub trait Operation<T: Transport> {
    /// Puts test data into all buffers: where this rank sends, the pattern of its seed; where it
    /// receives, anything else.
    fn fill(&mut self, seeds: Seeds);

    /// The operation once: all that lies between two clock reads. Allocates nothing.
    ///
    /// # Errors
    /// If the transport fails.
    fn run(&mut self, t: &T) -> Result<()>;

    /// The same with the end of each [lap](super::Series::lap) of its series; one piece of code with
    /// [`run`](Self::run), which is verified.
    ///
    /// # Errors
    /// If the transport fails.
    #[inline]
    fn run_in_laps(&mut self, t: &T, laps: &mut Laps) -> Result<()> {
        let _ = laps;
        self.run(t)
    }

    /// Work before the operations of an interval, ahead of its first clock read and of the common start: the end
    /// of what those of the interval before have made.
    ///
    /// # Errors
    /// If the transport fails.
    #[inline]
    fn clear(&mut self, _t: &T) -> Result<()> {
        Ok(())
    }

    /// The end of the operations of an interval, before its second clock read: a fence or a flush after many
    /// transfers. Allocates nothing.
    ///
    /// # Errors
    /// If the transport fails.
    #[inline]
    fn conclude(&mut self, _t: &T) -> Result<()> {
        Ok(())
    }

    /// The operation once, in which the rank [writes](Touch::write) each message before it sends it, and
    /// [reads](Touch::read) each one that it has received; for kernels that are
    /// [touchable](KernelInfo::is_touchable).
    ///
    /// # Errors
    /// If the transport fails.
    fn run_touched(&mut self, t: &T, touch: Touch) -> Result<()> {
        let _ = touch;
        self.run(t)
    }

    /// The operation once, in which the rank [packs](Packing::outgoing) the blocks of each message before it sends it,
    /// and [unpacks](Packing::unpack) each one that it has received; for kernels that are
    /// [packed](KernelInfo::is_packed).
    ///
    /// # Errors
    /// If the transport fails.
    fn run_packed(&mut self, t: &T, packing: &mut Packing<'_, T>) -> Result<()> {
        let _ = packing;
        self.run(t)
    }

    /// [`run_packed`](Self::run_packed) with the end of each lap, likewise.
    ///
    /// # Errors
    /// If the transport fails.
    #[inline]
    fn run_packed_in_laps(
        &mut self,
        t: &T,
        packing: &mut Packing<'_, T>,
        laps: &mut Laps,
    ) -> Result<()> {
        let _ = laps;
        self.run_packed(t, packing)
    }

    /// Compares all buffers with what they hold after `check.n_runs()` runs.
    fn check(&mut self, check: &mut Checker);

    /// Communication before the first run of a series and after the fill, outside of the clock.
    ///
    /// # Errors
    /// If the transport fails.
    fn begin(&mut self, _t: &T) -> Result<()> {
        Ok(())
    }

    /// Communication after the last run of a series and before the check, outside of the clock.
    ///
    /// # Errors
    /// If the transport fails.
    fn end(&mut self, _t: &T) -> Result<()> {
        Ok(())
    }

    /// Frees what all ranks free together, after the last check.
    ///
    /// # Errors
    /// If the transport fails.
    fn close(&mut self, _t: &T) -> Result<()> {
        Ok(())
    }

    /// Runs the operation once, with what goes before and after, and checks it. Replaced where one look at
    /// the buffers afterwards does not show every message; [`run`](Self::run) stays the code that is proved.
    ///
    /// # Errors
    /// If the transport fails.
    fn verify(&mut self, t: &T, check: &mut Checker) -> Result<()> {
        verify_by(self, t, check, |part| part.run(t))
    }

    /// [`verify`](Self::verify) of messages that the rank packs, by [`run_packed`](Self::run_packed).
    ///
    /// # Errors
    /// If the transport fails.
    fn verify_packed(
        &mut self,
        t: &T,
        packing: &mut Packing<'_, T>,
        check: &mut Checker,
    ) -> Result<()> {
        verify_by(self, t, check, |part| part.run_packed(t, packing))
    }
}

/// Runs `part` by `once`, with what goes before and after, and checks it.
pub(super) fn verify_by<T: Transport, P: Operation<T> + ?Sized>(
    part: &mut P,
    t: &T,
    check: &mut Checker,
    once: impl FnOnce(&mut P) -> Result<()>,
) -> Result<()> {
    part.fill(check.seeds());
    part.begin(t)?;
    once(part)?;
    part.conclude(t)?;
    part.end(t)?;
    part.check(check);
    Ok(())
}

/// The way in which a rank repeats its part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Duty {
    /// Repeats and takes times.
    Times,
    /// Repeats without a clock.
    Follows,
    /// Repeats with all ranks, and takes times as the definition in effect wants it.
    Together,
    /// Runs once for the whole series, beside ranks that repeat.
    Serves,
}

/// The duty of a rank and its part in an operation; `None` for a rank without one.
pub type Role<P> = Option<(Duty, P)>;

/// The parts of all ranks in one operation.
pub trait Pattern<T: Transport>: Sync {
    /// Description of the kernel.
    const INFO: KernelInfo;
    /// Part of one rank.
    type Part: Operation<T>;

    /// The role of this rank in series number `series` of `case`, with its buffers.
    ///
    /// # Errors
    /// If there is no memory for the buffers.
    fn part(&self, cx: &Context<'_, T>, case: &Case, series: usize) -> Result<Role<Self::Part>>;

    /// See [`Kernel::resolve`].
    ///
    /// # Errors
    /// One sentence with the reason to skip the case.
    fn resolve(&self, case: Case, world: &World<'_>, history: &History) -> Result<Case, String> {
        let _ = (world, history);
        Ok(case)
    }

    /// See [`Kernel::derived`].
    fn derived(&self, case: &Case, summaries: &[Summary]) -> Vec<Derived> {
        let _ = (case, summaries);
        Vec::new()
    }

    /// See [`Kernel::noted`].
    fn noted(&self, case: &Case, t: &T) -> Vec<Derived> {
        let _ = (case, t);
        Vec::new()
    }
}

/// The kernel of a pattern.
#[derive(Clone, Copy, Debug)]
pub struct Timed<P>(pub P);

impl<T: Transport, P: Pattern<T>> Kernel<T> for Timed<P> {
    fn info(&self) -> &'static KernelInfo {
        const { &P::INFO }
    }

    fn resolve(&self, case: Case, world: &World<'_>, history: &History) -> Result<Case, String> {
        self.0.resolve(case, world, history)
    }

    fn verify(&self, cx: &mut Context<'_, T>, case: &Case) -> Result<(), KernelError> {
        let mut check = cx.checker(1);
        for series in P::INFO.timed_series() {
            let Some((_, part)) = self.0.part(cx, case, series)? else { continue };
            if const { P::INFO.is_packed }
                && let Some(packing) = cx.packing()?
            {
                verify(cx, Packed { part, packing }, &mut check)?;
                continue;
            }
            match cx.buffers() {
                Buffers::Same => verify(cx, part, &mut check)?,
                _ => verify(cx, self.others(cx, case, series, 0)?, &mut check)?,
            }
        }
        check.result()
    }

    fn measure(&self, cx: &mut Context<'_, T>, case: &Case) -> Result<(), KernelError> {
        let mut found = Ok(());
        // Ranks that serve others beside a load are in the middle of their only run.
        if P::INFO.class != Class::Contention {
            cx.have_all_repeat();
        }
        for series in P::INFO.timed_series() {
            let role = self.0.part(cx, case, series)?;
            if const { P::INFO.is_packed }
                && let Some(packing) = cx.packing()?
            {
                found = found.and(match role {
                    Some((duty, part)) => measure(cx, series, duty, Packed { part, packing })?,
                    None => cx.stand_by(series).map(Ok)?,
                });
                continue;
            }
            match role {
                Some((duty, part)) if cx.buffers() == Buffers::Same => {
                    found = found.and(measure(cx, series, duty, part)?);
                }
                Some((duty, _)) => {
                    let others = self.others(cx, case, series, cx.n_runs(series))?;
                    found = found.and(measure(cx, series, duty, others)?);
                }
                None => cx.stand_by(series)?,
            }
        }
        found
    }

    fn derived(&self, case: &Case, summaries: &[Summary]) -> Vec<Derived> {
        self.0.derived(case, summaries)
    }

    fn noted(&self, case: &Case, t: &T) -> Vec<Derived> {
        self.0.noted(case, t)
    }
}

impl<P> Timed<P> {
    /// The parts of this rank for so many runs, on other buffers than the same ones.
    fn others<'p, T: Transport + 'p>(
        &self,
        cx: &Context<'_, T>,
        case: &Case,
        series: usize,
        n_runs: u64,
    ) -> Result<Others<'p, T>>
    where
        P: Pattern<T, Part: 'p>,
    {
        let part_bytes = (case.info.bytes_per_rank)(case, &cx.world());
        let has_caches = !cx.transport().clock().is_virtual;
        Others::of((cx.buffers(), part_bytes), n_runs, has_caches, || {
            let role = self.0.part(cx, case, series)?;
            Ok(role.expect("a rank with a part has it again").1)
        })
    }
}

/// Verifies one part.
fn verify<T: Transport>(
    cx: &Context<'_, T>,
    mut part: impl Operation<T>,
    check: &mut Checker,
) -> Result<()> {
    let t = cx.transport();
    let verified = match cx.n_times() {
        None => part.verify(t, check),
        Some(n_times) => Repeating { part: &mut part, n_times, class: cx.class() }.verify(t, check),
    };
    close_after(verified, t, part)
}

/// Closes `part` once `done` is done; an error that leaves the transport usable is one of all ranks, which
/// close together.
fn close_after<T: Transport>(done: Result<()>, t: &T, mut part: impl Operation<T>) -> Result<()> {
    if done.as_ref().is_err_and(TransportError::ends_job) {
        return done;
    }
    let closed = part.close(t);
    done.and(closed)
}

/// A part whose messages the rank packs. Its loops are compiled apart from those of the part alone, which have no
/// branch for it.
struct Packed<'a, T: Transport, P> {
    part: P,
    packing: Packing<'a, T>,
}

impl<T: Transport, P: Operation<T>> Operation<T> for Packed<'_, T, P> {
    fn fill(&mut self, seeds: Seeds) {
        self.part.fill(seeds);
    }

    #[inline]
    fn run(&mut self, t: &T) -> Result<()> {
        self.part.run_packed(t, &mut self.packing)
    }

    #[inline]
    fn run_in_laps(&mut self, t: &T, laps: &mut Laps) -> Result<()> {
        self.part.run_packed_in_laps(t, &mut self.packing, laps)
    }

    #[inline]
    fn clear(&mut self, t: &T) -> Result<()> {
        self.part.clear(t)
    }

    #[inline]
    fn conclude(&mut self, t: &T) -> Result<()> {
        self.part.conclude(t)
    }

    fn verify(&mut self, t: &T, check: &mut Checker) -> Result<()> {
        self.part.verify_packed(t, &mut self.packing, check)
    }

    fn check(&mut self, check: &mut Checker) {
        self.part.check(check);
    }

    fn begin(&mut self, t: &T) -> Result<()> {
        self.part.begin(t)
    }

    fn end(&mut self, t: &T) -> Result<()> {
        self.part.end(t)
    }

    fn close(&mut self, t: &T) -> Result<()> {
        self.part.close(t)
    }
}

/// The repetitions of a part.
struct OfPart<'a, P>(&'a mut P);

impl<T: Transport, P: Operation<T>> Repeated<T> for OfPart<'_, P> {
    #[inline]
    fn run(&mut self, t: &T) -> Result<()> {
        self.0.run(t)
    }

    #[inline]
    fn run_in_laps(&mut self, t: &T, laps: &mut Laps) -> Result<()> {
        self.0.run_in_laps(t, laps)
    }

    #[inline]
    fn clear(&mut self, t: &T) -> Result<()> {
        self.0.clear(t)
    }

    #[inline]
    fn conclude(&mut self, t: &T) -> Result<()> {
        self.0.conclude(t)
    }
}

/// Repeats `part` as its `duty` is.
#[inline]
fn repeat<T: Transport>(
    cx: &mut Context<'_, T>,
    series: usize,
    duty: Duty,
    part: &mut impl Operation<T>,
) -> Result<()> {
    match duty {
        Duty::Times => cx.time_repeated(series, &mut OfPart(part)),
        Duty::Follows => cx.follow_repeated(series, &mut OfPart(part)),
        Duty::Together => cx.time_repeated_together(series, &mut OfPart(part)),
        Duty::Serves => part.run(cx.transport()),
    }
}

/// Times one part, and checks what its last run before each look delivered; the mismatch is the inner error.
fn measure<T: Transport>(
    cx: &mut Context<'_, T>,
    series: usize,
    duty: Duty,
    mut part: impl Operation<T>,
) -> Result<Result<(), KernelError>> {
    let t = cx.transport();
    let mut found = Ok(());
    let ended = cx.in_stretches(|cx| {
        let n_runs = if duty == Duty::Serves { 1 } else { cx.n_runs(series) };
        let mut check = cx.checker(n_runs);
        part.fill(check.seeds());
        part.begin(t)?;
        match cx.n_times() {
            None => repeat(cx, series, duty, &mut part)?,
            Some(n_times) => {
                let class = cx.class();
                repeat(cx, series, duty, &mut Repeating { part: &mut part, n_times, class })?;
            }
        }
        part.end(t)?;
        part.check(&mut check);
        found = mem::replace(&mut found, Ok(())).and(check.result());
        Ok(())
    });
    close_after(ended, t, part).map(|()| found)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::context::Method;
    use crate::definition::{Definition, Quantity};
    use crate::driver::Pace;
    use crate::error::TransportErrorKind;
    use crate::kernel::{Series, harness};
    use crate::local::{self, Local};

    static INFO: KernelInfo = KernelInfo {
        name: "failing",
        series: &[Series::of("all", Quantity::OpTime, Definition::TestNode)],
        ..KernelInfo::collective("fake")
    };

    /// A part whose calls of these names fail, and which notes that it was closed.
    struct Failing<'a> {
        calls: &'a [&'static str],
        is_closed: &'a Cell<bool>,
    }

    impl Failing<'_> {
        fn call(&self, name: &'static str) -> Result<()> {
            let fails = self.calls.contains(&name);
            if fails { Err(TransportError::new(TransportErrorKind::Storage, name)) } else { Ok(()) }
        }
    }

    impl Operation<Local> for Failing<'_> {
        fn fill(&mut self, _: Seeds) {}

        fn run(&mut self, _: &Local) -> Result<()> {
            self.call("run")
        }

        fn check(&mut self, _: &mut Checker) {}

        fn begin(&mut self, _: &Local) -> Result<()> {
            self.call("begin")
        }

        fn end(&mut self, _: &Local) -> Result<()> {
            self.call("end")
        }

        fn close(&mut self, _: &Local) -> Result<()> {
            self.is_closed.set(true);
            self.call("close")
        }
    }

    /// A part that delivers wrong data for some of its runs, which it counts.
    struct Wavering(u64);

    impl Operation<Local> for Wavering {
        fn fill(&mut self, _: Seeds) {}

        fn run(&mut self, _: &Local) -> Result<()> {
            self.0 += 1;
            Ok(())
        }

        fn check(&mut self, check: &mut Checker) {
            let is_wrong = (3..6).contains(&self.0);
            check.bytes(&mut [u8::from(is_wrong)], &[0], "the data");
        }
    }

    #[test]
    fn wrong_data_that_is_right_again_at_the_end_is_noticed_by_a_look_before() {
        for (looks_after, is_noticed) in [(0, false), (1, false), (2, true), (4, true), (5, false)]
        {
            local::run(1, |t| {
                let pace = Pace { looks_after, n_discarded: 1, ..Pace::new(1, 8, 0) };
                let mut cx = Context::new(t, &INFO, pace, Method::default(), None);
                let found = measure(&mut cx, 0, Duty::Times, Wavering(0)).expect("no call fails");
                assert_eq!(found.is_err(), is_noticed, "a look after {looks_after} samples");
                assert_eq!(cx.into_samples()[0].len(), 8);
            });
        }
    }

    #[test]
    fn a_part_is_closed_wherever_its_measurement_fails_and_the_first_error_is_told() {
        for calls in [&["begin"][..], &["run"], &["end"], &["end", "close"], &["close"]] {
            local::run(1, |t| {
                let is_closed = Cell::new(false);
                let part = Failing { calls, is_closed: &is_closed };
                let mut cx = harness::context(t, &INFO, false);
                let error = measure(&mut cx, 0, Duty::Times, part).expect_err("a call fails");
                assert_eq!(error.to_string(), calls[0]);
                assert!(is_closed.get(), "{calls:?}");
            });
        }
    }
}
