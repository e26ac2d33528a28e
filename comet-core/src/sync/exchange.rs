//! The messages of a burst, as the rank that learns and the rank that answers see them.

use crate::collective::{bytes, words};
use crate::error::Result;
use crate::transport::{Rank, Source, Tag, Transport};

use super::burst::{Burst, Exchange, Exchanges};

/// Exchanges in a burst.
const N_EXCHANGES: usize = 100;

const READY: Tag = Tag::reserved(5);
const EXCHANGE: Tag = Tag::reserved(6);
const ANSWERS: Tag = Tag::reserved(7);
const VERDICT: Tag = Tag::reserved(8);

/// State of a rank that teaches.
pub(super) struct Teacher<'a> {
    /// Its clock.
    pub(super) now_ns: &'a dyn Fn() -> i64,
    /// The global time of a reading of it.
    pub(super) global_ns: &'a dyn Fn(i64) -> i64,
    /// By how much that may be wrong.
    pub(super) bound_ns: i64,
}

/// The exchanges of a burst with `parent`, which [`teach`]es meanwhile; `None` if they contradict
/// each other twice, because a clock is set again and again.
pub(super) fn learn<T: Transport>(
    t: &T,
    parent: Rank,
    drift: f64,
    now_ns: &dyn Fn() -> i64,
) -> Result<Option<Exchanges>> {
    for n in [N_EXCHANGES, N_EXCHANGES / 2] {
        let exchanges = ask(t, parent, n, now_ns)?;
        let is_usable = Burst::of(&exchanges, drift).is_some();
        t.blocked_send(parent, VERDICT, &[is_usable.into()])?;
        if is_usable {
            return Ok(Some(exchanges));
        }
    }
    Ok(None)
}

/// Answers `child`, which [`learn`]s meanwhile.
pub(super) fn teach<T: Transport>(t: &T, child: Rank, teacher: &Teacher<'_>) -> Result<()> {
    for n in [N_EXCHANGES, N_EXCHANGES / 2] {
        answer(t, child, n, teacher)?;
        let mut is_usable = [0];
        t.blocked_recv(Source::Rank(child), VERDICT, &mut is_usable)?;
        if is_usable != [0] {
            break;
        }
    }
    Ok(())
}

/// Makes `n` exchanges with `parent`, which [`answer`]s.
pub(super) fn ask<T: Transport>(
    t: &T,
    parent: Rank,
    n: usize,
    now_ns: &dyn Fn() -> i64,
) -> Result<Exchanges> {
    let from = Source::Rank(parent);
    let mut own = vec![(0, 0); n];
    // The parent may be busy with others.
    t.rest_until(from, READY)?;
    t.blocked_recv(from, READY, &mut [])?;
    for (sent_ns, back_ns) in &mut own {
        *sent_ns = now_ns();
        t.blocked_send(parent, EXCHANGE, &[])?;
        t.blocked_recv(from, EXCHANGE, &mut [])?;
        *back_ns = now_ns();
    }
    let mut message = vec![0; (n + 1) * size_of::<u64>()];
    t.blocked_recv(from, ANSWERS, &mut message)?;
    let mut answers = words(&message).into_iter().map(u64::cast_signed);
    let parent_bound_ns = answers.next().unwrap_or_default();
    let stamps = own.into_iter().zip(answers);
    let stamps =
        stamps.map(|((sent_ns, back_ns), answered_ns)| Exchange { sent_ns, answered_ns, back_ns });
    Ok(Exchanges { stamps: stamps.collect(), parent_bound_ns })
}

/// Answers `n` times to `child`, which [`ask`]s. What the stamps are by global time is worked out
/// afterwards, so that it does not lengthen the way back.
pub(super) fn answer<T: Transport>(
    t: &T,
    child: Rank,
    n: usize,
    teacher: &Teacher<'_>,
) -> Result<()> {
    let mut answered_ns = vec![0; n];
    t.blocked_send(child, READY, &[])?;
    for answered_ns in &mut answered_ns {
        t.blocked_recv(Source::Rank(child), EXCHANGE, &mut [])?;
        *answered_ns = (teacher.now_ns)();
        t.blocked_send(child, EXCHANGE, &[])?;
    }
    let answers = answered_ns.into_iter().map(teacher.global_ns);
    let message = std::iter::once(teacher.bound_ns).chain(answers).map(i64::cast_unsigned);
    t.blocked_send(child, ANSWERS, &bytes(message))
}
