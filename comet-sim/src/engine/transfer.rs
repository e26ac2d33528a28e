//! Transfers of windows: the way to the target, what is done there, and the way back.
//!
//! ```text
//!   put, accumulate     o ──── L + n·G ────► served ──── L ────► ended at the origin
//!   get                 o ──── L ──────────► served ── L + n·G ► ended
//!   lock                o ──── L ──────────► granted ─── L ────► ended
//! ```
//!
//! Ways with data, and requests, are messages to the network. What only says that something was done
//! takes its latency and waits for nothing. Elements are combined by the target's interface, one after
//! the other.
//!
//! The engine has the parts and, while transfers are in flight, the origins; so a way carries no bytes,
//! and data move once, at the virtual time at which they are visible.

use std::mem;

use comet_core::collective::Reducer;
use comet_core::transport::{Rank, Tag};

use super::state::{UNKNOWN_PS, Way};
use super::{Engine, Event, Message, TransferId, WindowId, short};
use crate::noise;

/// Operation of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Put,
    Get,
    Accumulate(Reducer),
    /// After what was there is copied to `into` in the origin; a single element travels in the head of
    /// the messages.
    Fetch {
        by: Reducer,
        into: usize,
        is_single: bool,
    },
    /// Of the element that the origin expects by that at `new`, after a copy to `into`.
    Swap {
        new: usize,
        into: usize,
    },
    /// Of the part of the target, or of all parts, which their first rank grants.
    Lock {
        is_exclusive: bool,
        of_all: bool,
    },
    /// Once so many transfers have been served.
    Unlock {
        of_all: bool,
        n_before: u32,
    },
}

/// Stage of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// On its way to the target.
    Out,
    /// There, at the moment in which the target calls the library.
    Called,
    /// There, until its elements are combined.
    Atomic,
    /// Served, and on its way back.
    Back,
}

/// Part of a transfer that its origin waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Awaited {
    Nothing,
    /// That the interface has taken the bytes.
    Taken,
    /// That it has ended.
    End,
}

/// A transfer, from the call that starts it to its end at the origin.
#[derive(Debug)]
pub(crate) struct Transfer {
    pub(crate) window: WindowId,
    /// Origin and target, by their numbers in the window.
    pub(crate) origin: u32,
    pub(crate) target: u32,
    pub(crate) operation: Operation,
    /// Place in the part of the target.
    pub(super) at: usize,
    /// Place in the origin.
    pub(super) own: usize,
    pub(super) length_bytes: usize,
    /// The bytes of the origin, if it may be used again.
    pub(super) kept: Option<Box<[u8]>>,
    /// Time at which the interface has taken the bytes; [`UNKNOWN_PS`] until known.
    pub(super) taken_ps: u64,
    /// Number of its costs among the laws.
    pub(super) law: u16,
    pub(super) stage: Stage,
    pub(super) awaited: Awaited,
    /// Place among the transfers of its origin.
    pub(super) index: u32,
    /// An unlock that waits until it has been served.
    pub(super) unlock: Option<TransferId>,
}

/// A transfer that a rank asks for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    pub(crate) window: WindowId,
    /// Origin and target, by their numbers in the window.
    pub(crate) origin: usize,
    pub(crate) target: usize,
    /// Place in the part of the target.
    pub(crate) at: usize,
    /// Place in the origin.
    pub(crate) own: usize,
    pub(crate) length_bytes: usize,
}

impl Operation {
    /// Bytes of so many that go to the target, and that come back; `None` for an answer without data.
    pub(super) fn bytes(self, length_bytes: usize) -> (usize, Option<usize>) {
        match self {
            Self::Put | Self::Accumulate(_) => (length_bytes, None),
            Self::Get => (0, Some(length_bytes)),
            Self::Fetch { is_single: false, .. } => (length_bytes, Some(length_bytes)),
            Self::Fetch { .. } | Self::Swap { .. } | Self::Lock { .. } | Self::Unlock { .. } => {
                (0, None)
            }
        }
    }

    /// Elements that the target's interface combines.
    pub(super) fn n_elements(self, length_bytes: usize) -> u64 {
        match self {
            Self::Accumulate(by) | Self::Fetch { by, .. } => {
                (length_bytes / by.element().bytes()) as u64
            }
            Self::Swap { .. } => 1,
            _ => 0,
        }
    }

    /// True if nothing of it comes to the origin.
    pub(super) fn is_one_way(self) -> bool {
        matches!(self, Self::Put | Self::Accumulate(_))
    }

    pub(super) fn is_lock(self) -> bool {
        matches!(self, Self::Lock { .. } | Self::Unlock { .. })
    }
}

impl Transfer {
    /// True for a lock of all ranks.
    pub(crate) fn is_of_all(&self) -> bool {
        matches!(self.operation, Operation::Lock { of_all: true, .. })
    }
}

impl Engine {
    /// Number of the costs of a message of `length_bytes` bytes among the laws.
    pub(super) fn law_index(&self, length_bytes: usize) -> u16 {
        u16::try_from(self.machine.segment_index(length_bytes as u64))
            .expect("a machine has fewer than 2^15 segments")
    }

    /// Number of the costs of a transfer of `length_bytes` bytes among the laws.
    fn transfer_law_index(&self, length_bytes: usize) -> u16 {
        let n_segments = self.laws.len() / 2;
        self.law_index(length_bytes) + u16::try_from(n_segments).expect("there are fewer than 2^15")
    }

    /// Starts a transfer of `rank`, whose CPU is busy with it for a moment.
    pub(crate) fn transfer(
        &mut self,
        rank: Rank,
        asked: Asked,
        operation: Operation,
    ) -> TransferId {
        let law = self.transfer_law_index(asked.length_bytes);
        let started_ps = self.ranks[rank].clock_ps;
        let number = self.begin(rank);
        let ready_ps = self.spend(rank, self.laws[usize::from(law)].o_send_ps);
        let id = self.note_transfer(asked, operation, law);
        let extra_ps = self.transfer_noise_ps(rank, id, number, started_ps);
        let (out_bytes, _) = operation.bytes(asked.length_bytes);
        self.send_way(id, false, out_bytes, ready_ps, extra_ps);
        id
    }

    fn note_transfer(&mut self, asked: Asked, operation: Operation, law: u16) -> TransferId {
        let Asked { window, origin, target, at, own, length_bytes } = asked;
        let transfer = Transfer {
            window,
            origin: short(origin),
            target: short(target),
            operation,
            at,
            own,
            length_bytes,
            kept: None,
            taken_ps: UNKNOWN_PS,
            law,
            stage: Stage::Out,
            awaited: Awaited::Nothing,
            index: 0,
            unlock: None,
        };
        let id = short(self.transfers.insert(transfer));
        if !operation.is_lock() {
            let in_flight = &mut self.windows.get_mut(window).in_flight[origin];
            self.transfers[id as usize].index = short(in_flight.len());
            in_flight.push(id);
        }
        id
    }

    /// Time that noise adds to a transfer, beyond what the law gives.
    fn transfer_noise_ps(&self, rank: Rank, id: TransferId, number: u64, started_ps: u64) -> i64 {
        if self.machine.noise.sources.is_empty() {
            return 0;
        }
        let Transfer { operation, length_bytes, law, .. } = self.transfers[id as usize];
        let segment = self.laws[usize::from(law)];
        let (out_bytes, back_bytes) = operation.bytes(length_bytes);
        let wire_ps = segment.wire.times((out_bytes + back_bytes.unwrap_or(0)) as u64);
        let n_ways = if operation.is_one_way() { 1 } else { 2 };
        let undisturbed_ps = segment.o_send_ps + n_ways * segment.latency_ps + wire_ps;
        noise::extra_ps(&self.machine.noise, rank, number, started_ps, undisturbed_ps)
    }

    /// Gives one way of a transfer to the network at `at_ps`: out, or back.
    pub(super) fn send_way(
        &mut self,
        id: TransferId,
        is_back: bool,
        n_bytes: usize,
        at_ps: u64,
        extra_ps: i64,
    ) {
        let law = self.transfers[id as usize].law;
        let (source, destination) = self.ends(id, is_back);
        let message = Message {
            way: Way::new(source, destination, Tag::new(0)),
            body: Box::default(),
            wire_bytes: self.wire_bytes(n_bytes),
            transfer: Some(id),
            sent_ps: at_ps,
            known_ps: UNKNOWN_PS,
            arrival_ps: UNKNOWN_PS,
            extra_ps,
            send: None,
            receive: None,
            next: None,
            n_taken: 0,
            law,
            n_hops: u16::try_from(self.routes.hops(source, destination))
                .expect("a way has fewer than 2^16 links"),
            is_started: false,
            is_coming: false,
            is_here: false,
        };
        let message = short(self.messages.insert(message));
        self.launch(message, at_ps);
    }

    /// The ranks of the job between which a transfer goes: from the origin, or back.
    pub(super) fn ends(&self, id: TransferId, is_back: bool) -> (Rank, Rank) {
        let Transfer { window, origin, target, .. } = self.transfers[id as usize];
        let ranks = &self.windows.get(window).ranks;
        let (origin, target) = (ranks[origin as usize], ranks[target as usize]);
        if is_back { (target, origin) } else { (origin, target) }
    }

    /// Time of an answer without data from the target to the origin.
    pub(super) fn answer_ps(&self, id: TransferId) -> u64 {
        let (target, origin) = self.ends(id, true);
        if target == origin {
            return 0;
        }
        self.way_ps(&self.laws[usize::from(self.transfers[id as usize].law)], target, origin)
    }

    /// Notes that `rank` waits for its transfers in a window to one target, or to all; whether there
    /// are any. It waits for their ends on both sides, or for those on its own.
    pub(crate) fn await_transfers(
        &mut self,
        rank: Rank,
        (window, origin): (WindowId, usize),
        target: Option<usize>,
        is_local: bool,
    ) -> bool {
        self.ranks[rank].is_computing = false;
        let mut n_awaited = 0;
        for id in &self.windows.get(window).in_flight[origin] {
            let transfer = &mut self.transfers[*id as usize];
            if !goes_to(transfer, target) {
                continue;
            }
            transfer.awaited = match transfer.taken_ps {
                _ if !(is_local && transfer.operation.is_one_way()) => Awaited::End,
                UNKNOWN_PS => Awaited::Taken,
                taken_ps => {
                    let clock_ps = &mut self.ranks[rank].clock_ps;
                    *clock_ps = (*clock_ps).max(taken_ps);
                    continue;
                }
            };
            n_awaited += 1;
        }
        self.ranks[rank].n_awaited = n_awaited;
        n_awaited > 0
    }

    /// A rank of the job to which transfers go that `rank` waits for.
    pub(crate) fn awaited_target(&self, rank: Rank, window: WindowId) -> Option<Rank> {
        let window = self.windows.get(window);
        let own = window.ranks.iter().position(|other| *other == rank)?;
        let mut in_flight = window.in_flight[own].iter().map(|id| &self.transfers[*id as usize]);
        let awaited = in_flight.find(|transfer| transfer.awaited != Awaited::Nothing)?;
        Some(window.ranks[awaited.target as usize])
    }

    /// Keeps the bytes of transfers in flight from the origin, which may be used again.
    pub(crate) fn keep_bytes(&mut self, window: WindowId, origin: usize, target: Option<usize>) {
        let window = self.windows.get(window);
        for id in &window.in_flight[origin] {
            let transfer = &mut self.transfers[*id as usize];
            let is_needed = matches!(transfer.stage, Stage::Out | Stage::Called | Stage::Atomic);
            if !is_needed || transfer.kept.is_some() || !goes_to(transfer, target) {
                continue;
            }
            let bytes = window.origins[origin].as_deref().expect("a transfer has brought it");
            transfer.kept = Some(bytes[transfer.own..][..transfer.length_bytes].into());
        }
    }

    /// Sends an unlock after the transfers of `rank` to one target or to all.
    pub(crate) fn unlock(&mut self, rank: Rank, asked: Asked, of_all: bool) {
        self.ranks[rank].is_computing = false;
        let law = self.transfer_law_index(0);
        let id = self.note_transfer(asked, Operation::Unlock { of_all, n_before: 0 }, law);
        self.windows.get_mut(asked.window).n_users += 1;
        let at_ps = self.ranks[rank].clock_ps + self.answer_ps(id);
        self.queue.push(at_ps, Event::Serve(id));
    }

    /// Has `rank` compute from `start_ps` to `end_ps`: transfers to it may have to wait for its next call.
    pub(crate) fn compute_until(&mut self, rank: Rank, start_ps: u64, end_ps: u64) {
        let state = &mut self.ranks[rank];
        state.clock_ps = end_ps;
        let was_computing = mem::replace(&mut state.is_computing, true);
        if !self.machine.rdma.is_emulated || end_ps <= start_ps {
            return;
        }
        match state.computed.last_mut() {
            Some((_, to_ps)) if was_computing && *to_ps == start_ps => *to_ps = end_ps,
            _ => {
                let now_ps = self.queue.now_ps();
                state.computed.retain(|(_, to_ps)| *to_ps > now_ps);
                state.computed.push((start_ps, end_ps));
            }
        }
    }
}

/// True for a transfer to `target`, if there is one.
pub(super) fn goes_to(transfer: &Transfer, target: Option<usize>) -> bool {
    target.is_none_or(|target| target == transfer.target as usize)
}
