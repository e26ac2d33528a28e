//! Ranks that look for messages without waiting: when a job in which all only look never ends.

use comet_core::transport::Rank;

use super::message::UNKNOWN_PS;
use super::{Block, Engine, Event, Poll, RankState};

/// So many probes and tests in a row that find nothing are a job that never ends, if nothing is
/// under way. A kernel that gives up after a time of its own must do so before.
const MAX_VAIN_POLLS: u64 = 10_000_000;
/// And so many more for each rank.
const MAX_VAIN_POLLS_A_RANK: u64 = 10_000;

impl Engine {
    /// Notes that `rank` looks for something; whether the job does so in vain for ever.
    pub(crate) fn polls_in_vain(&mut self, rank: Rank, poll: Poll) -> bool {
        self.ranks[rank].poll = Some(poll);
        self.n_vain_polls += 1;
        let n_ranks = self.ranks.len() as u64;
        if self.n_vain_polls <= MAX_VAIN_POLLS + n_ranks * MAX_VAIN_POLLS_A_RANK {
            return false;
        }
        self.n_vain_polls = 0;
        !self.is_under_way(self.ranks[rank].clock_ps)
    }

    /// Notes that `rank` has found something.
    pub(crate) fn note_found(&mut self, rank: Rank) {
        self.ranks[rank].poll = None;
        self.n_vain_polls = 0;
    }

    /// True if anything other than a poll will happen after `now_ps`.
    fn is_under_way(&self, now_ps: u64) -> bool {
        let is_later = |at_ps: u64| at_ps != UNKNOWN_PS && at_ps > now_ps;
        // One that waits for a message goes on only when something else has happened.
        let goes_on = |rank: &RankState| {
            let is_held = matches!(rank.block, Some(Block::Receive(_) | Block::Send(_)));
            !rank.is_finished && !is_held && rank.poll.is_none()
        };
        self.messages.iter().any(|(_, m)| is_later(m.known_ps) || is_later(m.arrival_ps))
            || self.sends.iter().any(|(_, send)| send.done_ps.is_some_and(is_later))
            || self.ranks.iter().any(goes_on)
            || self.queue.events().any(|event| !matches!(event, Event::Turn(_)))
    }
}
