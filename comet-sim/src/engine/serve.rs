//! Service of transfers at their targets, and their ends at their origins.

use std::mem;

use comet_core::transport::Rank;

use super::transfer::{Awaited, Operation, Stage, Transfer, goes_to};
use super::{Block, Engine, Event, TransferId};
use crate::fiber;

/// Lines of the cache that hold a transfer.
const TRANSFER_LINES: usize = size_of::<Transfer>().div_ceil(64);

impl Engine {
    /// The interface of the sender has taken one way of a transfer at `taken_ps`.
    pub(super) fn transfer_taken(&mut self, id: TransferId, taken_ps: u64) {
        let transfer = &mut self.transfers[id as usize];
        if transfer.stage != Stage::Out {
            return;
        }
        transfer.taken_ps = taken_ps;
        if transfer.awaited == Awaited::Taken {
            transfer.awaited = Awaited::Nothing;
            self.count_down(id, taken_ps);
        }
    }

    /// A transfer is at its target, or back at its origin.
    pub(super) fn serve(&mut self, id: TransferId, now_ps: u64) {
        let stage = self.transfers[id as usize].stage;
        match stage {
            Stage::Out if self.machine.rdma.is_emulated => {
                let (_, target) = self.ends(id, false);
                match self.next_call_ps(target, now_ps) {
                    Some(call_ps) => {
                        self.transfers[id as usize].stage = Stage::Called;
                        self.queue.push(call_ps, Event::Serve(id));
                    }
                    None => self.begin_service(id, now_ps),
                }
            }
            Stage::Out | Stage::Called => self.begin_service(id, now_ps),
            Stage::Atomic => self.end_service(id, now_ps),
            Stage::Back => self.end_transfer(id, now_ps),
        }
    }

    fn begin_service(&mut self, id: TransferId, now_ps: u64) {
        let Transfer { operation, length_bytes, .. } = self.transfers[id as usize];
        match operation {
            Operation::Lock { .. } => return self.ask_for_lock(id, now_ps),
            Operation::Unlock { .. } => return self.reach_unlock(id, now_ps),
            _ => (),
        }
        let atomics_ps = operation.n_elements(length_bytes) * self.machine.atomic_ps();
        let (_, target) = self.ends(id, false);
        if operation.n_elements(length_bytes) == 0 {
            return self.end_service(id, now_ps);
        }
        let free_ps = &mut self.ranks[target].atomics_free_ps;
        *free_ps = (*free_ps).max(now_ps) + atomics_ps;
        let done_ps = *free_ps;
        self.transfers[id as usize].stage = Stage::Atomic;
        if done_ps > now_ps {
            self.queue.push(done_ps, Event::Serve(id));
        } else {
            self.end_service(id, now_ps);
        }
    }

    /// The data of a transfer move, and its origin gets an answer.
    fn end_service(&mut self, id: TransferId, now_ps: u64) {
        self.move_data(id);
        let transfer = &mut self.transfers[id as usize];
        transfer.stage = Stage::Back;
        let (operation, length_bytes) = (transfer.operation, transfer.length_bytes);
        let unlock = transfer.unlock.take();
        match operation.bytes(length_bytes) {
            (_, Some(back_bytes)) => self.send_way(id, true, back_bytes, now_ps, 0),
            (_, None) => self.answer(id, now_ps),
        }
        if let Some(unlock) = unlock {
            self.unlock_waits_for_one_less(unlock, now_ps);
        }
    }

    /// The origin hears at once, or after the way back, that its transfer was served or granted.
    pub(super) fn answer(&mut self, id: TransferId, now_ps: u64) {
        self.transfers[id as usize].stage = Stage::Back;
        let end_ps = now_ps + self.answer_ps(id);
        if end_ps > now_ps {
            self.queue.push(end_ps, Event::Serve(id));
        } else {
            self.end_transfer(id, now_ps);
        }
    }

    fn move_data(&mut self, id: TransferId) {
        let transfer = &mut self.transfers[id as usize];
        let Transfer { window, origin, target, operation, at, own, length_bytes, .. } = *transfer;
        let kept = transfer.kept.take();
        let window = self.windows.get_mut(window);
        let part = window.part(target as usize);
        if let (Some(kept), true) = (&kept, operation.is_one_way()) {
            let part = &mut part[at..at + length_bytes];
            match operation {
                Operation::Accumulate(by) => by.combine(part, kept),
                _ => part.copy_from_slice(kept),
            }
            return;
        }
        let (part, origin) = window.both(target as usize, origin as usize);
        let part = &mut part[at..at + length_bytes];
        let from = own..own + length_bytes;
        match operation {
            Operation::Put => part.copy_from_slice(&origin[from]),
            Operation::Get => origin[from].copy_from_slice(part),
            Operation::Accumulate(by) => by.combine(part, &origin[from]),
            Operation::Fetch { by, into, .. } => {
                origin[into..into + length_bytes].copy_from_slice(part);
                by.combine(part, &origin[from]);
            }
            Operation::Swap { new, into, .. } => {
                origin[into..into + length_bytes].copy_from_slice(part);
                if *part == origin[from] {
                    part.copy_from_slice(&origin[new..new + length_bytes]);
                }
            }
            Operation::Lock { .. } | Operation::Unlock { .. } => (),
        }
    }

    /// The origin of a transfer has its answer.
    fn end_transfer(&mut self, id: TransferId, now_ps: u64) {
        if self.transfers[id as usize].operation.is_lock() {
            return self.end_lock(id, now_ps);
        }
        if mem::replace(&mut self.transfers[id as usize].awaited, Awaited::Nothing)
            != Awaited::Nothing
        {
            self.count_down(id, now_ps);
        }
        let Transfer { window, origin, index, .. } = self.transfers.remove(id as usize);
        let in_flight = &mut self.windows.get_mut(window).in_flight[origin as usize];
        in_flight.swap_remove(index as usize);
        if let Some(moved) = in_flight.get(index as usize) {
            self.transfers[*moved as usize].index = index;
        }
    }

    /// One transfer less that its origin waits for, at `at_ps`.
    fn count_down(&mut self, id: TransferId, at_ps: u64) {
        let (origin, _) = self.ends(id, false);
        let state = &mut self.ranks[origin];
        state.n_awaited -= 1;
        state.clock_ps = state.clock_ps.max(at_ps);
        if state.n_awaited == 0 && matches!(state.block, Some(Block::Transfers(_))) {
            self.wake(origin);
        }
    }

    /// An unlock is there, maybe before transfers that it comes after.
    fn reach_unlock(&mut self, id: TransferId, now_ps: u64) {
        let Transfer { window, origin, target, operation, .. } = self.transfers[id as usize];
        let Operation::Unlock { of_all, .. } = operation else { return };
        let target = (!of_all).then_some(target as usize);
        let mut n_before = 0;
        for other in &self.windows.get(window).in_flight[origin as usize] {
            let other = &mut self.transfers[*other as usize];
            if other.stage != Stage::Back && goes_to(other, target) {
                other.unlock = Some(id);
                n_before += 1;
            }
        }
        self.transfers[id as usize].operation = Operation::Unlock { of_all, n_before };
        if n_before == 0 {
            self.release_lock(id, now_ps);
        }
    }

    fn unlock_waits_for_one_less(&mut self, id: TransferId, now_ps: u64) {
        let Operation::Unlock { n_before, .. } = &mut self.transfers[id as usize].operation else {
            return;
        };
        *n_before -= 1;
        if *n_before == 0 {
            self.release_lock(id, now_ps);
        }
    }

    /// Time at which `rank` calls the library next, if it computes at `now_ps`.
    fn next_call_ps(&self, rank: Rank, now_ps: u64) -> Option<u64> {
        let is_within = |(from_ps, to_ps): &&(u64, u64)| (*from_ps..*to_ps).contains(&now_ps);
        self.ranks[rank].computed.iter().find(is_within).map(|(_, to_ps)| *to_ps)
    }

    /// Prefetches the transfer that an event is about.
    pub(super) fn prefetch_transfer(&self, event: Option<&Event>) {
        if let Some(Event::Serve(id)) = event {
            fiber::prefetch((&raw const self.transfers[*id as usize]).addr(), TRANSFER_LINES);
        }
    }

    /// Prefetches the beginning of what such a transfer copies.
    pub(super) fn prefetch_data(&self, event: Option<&Event>) {
        let Some(Event::Serve(id)) = event else { return };
        let Transfer { window, origin, target, stage, at, own, .. } = self.transfers[*id as usize];
        if stage != Stage::Out {
            return;
        }
        let window = self.windows.get(window);
        let part = window.parts[target as usize].as_deref().and_then(|part| part.get(at));
        let origin = window.origins[origin as usize].as_deref().and_then(|bytes| bytes.get(own));
        for byte in part.into_iter().chain(origin) {
            fiber::prefetch((&raw const *byte).addr(), 1);
        }
    }
}
