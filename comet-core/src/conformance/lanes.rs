//! Lanes: threads of a rank, each with messages and collectives of its own.

use std::cell::Cell;

use super::Check;
use super::toolkit::{Found, TAG, checks, next, previous};
use crate::error::Result;
use crate::transport::{Lane, Rank, Source, Transport};

/// Lanes of each rank.
const N_LANES: usize = 2;
/// Messages of each lane, of lengths that take different ways through a transport, in bytes.
const MIXED_BYTES: [usize; 4] = [8, 100_000, 1, 5000];
/// Rounds of all of them.
const N_ROUNDS: usize = 5;

pub(super) fn checks<T: Transport>() -> Vec<Check<T>> {
    checks![messages_and_collectives_of_two_lanes_never_meet]
}

/// The byte of which message `number` of `rank` in `lane` is made.
fn byte(lane: usize, rank: Rank, number: usize) -> u8 {
    let bytes = [lane * 101, rank * 7, number * 13];
    bytes.iter().sum::<usize>().to_le_bytes()[0]
}

/// Messages round the ring and sums in the lane of `t`, which is number `lane`, at once with those of the others
/// and with the same tags; the first problem.
fn in_lane<T: Transport>(t: &T, lane: usize) -> Result<Option<String>> {
    let problem = Cell::new(None::<String>);
    let note = |text: String| problem.set(problem.take().or(Some(text)));
    for (number, length_bytes) in MIXED_BYTES.into_iter().cycle().take(N_ROUNDS * 4).enumerate() {
        // Lanes meet now and then, so that messages of both are in flight.
        t.lane().iter().for_each(|lane| lane.meet());
        let message = vec![byte(lane, t.rank(), number); length_bytes];
        let mut buffer = vec![!message[0]; length_bytes];
        let source = if number % 3 == 0 { Source::Any } else { Source::Rank(previous(t)) };
        let status = t.blocked_exchange(next(t), &message, source, &mut buffer, TAG)?;
        let expected = byte(lane, previous(t), number);
        if status.length_bytes != length_bytes || buffer.iter().any(|found| *found != expected) {
            note(format!("message {number} of lane {lane} is not the one that was sent there"));
        }
        let sum = t.global_sum((lane + 1) as f64)?;
        if sum != ((lane + 1) * t.n_ranks()) as f64 {
            note(format!("the sum of lane {lane} over {} ranks is {sum}", t.n_ranks()));
        }
    }
    Ok(problem.take())
}

fn messages_and_collectives_of_two_lanes_never_meet<T: Transport>(
    t: &T,
    found: &Found,
) -> Result<()> {
    let own = |t: &T| in_lane(t, t.lane().map_or(N_LANES, Lane::number));
    let of_lanes = match t.on_lanes(N_LANES, own) {
        Err(error) if error.is_unsupported() => return Ok(()),
        of_lanes => of_lanes?,
    };
    found.require_eq("lanes", of_lanes.len(), N_LANES);
    for problem in of_lanes {
        problem?.into_iter().for_each(|problem| found.note(problem));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local;

    #[test]
    fn lanes_that_cross_are_noticed() {
        let problems = local::run(2, |t| {
            let crossed = t.on_lanes(N_LANES, |t| {
                let lane = t.lane().map_or(0, Lane::number);
                in_lane(t, lane ^ t.rank()).unwrap()
            });
            crossed.unwrap()
        });
        for problem in problems.concat() {
            assert!(problem.unwrap().ends_with("is not the one that was sent there"));
        }
    }
}
