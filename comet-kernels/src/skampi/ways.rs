//! Calls by which a ping-pong goes, each set one kernel.

use comet_core::kernel::prelude::*;
use comet_core::transport::SendMode;

/// Messages of a ping-pong in flight from one rank, as the library may see it: it frees the room of a
/// message when it looks for room for another.
pub(super) const N_BUFFERED: usize = 4;

/// The other rank of a ping-pong, and the tags of what this one sends and receives.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ends {
    pub(super) peer: Rank,
    pub(super) sent: Tag,
    pub(super) received: Tag,
}

impl Ends {
    fn source(self) -> Source {
        Source::Rank(self.peer)
    }
}

/// Calls of one ping-pong.
pub(crate) trait Way: Sync + 'static {
    /// Name of the kernel.
    const NAME: &'static str;
    /// Its summary.
    const SUMMARY: &'static str;
    /// Its names in SKaMPI: the number of its type, and the name in version 5.
    const ALIASES: &'static [&'static str];
    /// True if both ranks send at once.
    const IS_EXCHANGE: bool = false;
    /// Messages for which there has to be room.
    const N_BUFFERED: usize = 0;

    /// Sends `message`.
    ///
    /// # Errors
    /// If the transport fails.
    #[inline]
    fn send<T: Transport>(t: &T, ends: Ends, message: &[u8]) -> Result<()> {
        t.blocked_send(ends.peer, ends.sent, message)
    }

    /// Receives into `buffer`.
    ///
    /// # Errors
    /// If the transport fails.
    #[inline]
    fn receive<T: Transport>(t: &T, ends: Ends, buffer: &mut [u8]) -> Result<Status> {
        t.blocked_recv(ends.source(), ends.received, buffer)
    }

    /// The calls of the rank that begins.
    ///
    /// # Errors
    /// If the transport fails.
    #[inline]
    fn begin<T: Transport>(t: &T, ends: Ends, [message, buffer]: [&mut [u8]; 2]) -> Result<Status> {
        Self::send(t, ends, message)?;
        Self::receive(t, ends, buffer)
    }

    /// The calls of the rank that answers.
    ///
    /// # Errors
    /// If the transport fails.
    #[inline]
    fn answer<T: Transport>(
        t: &T,
        ends: Ends,
        [message, buffer]: [&mut [u8]; 2],
    ) -> Result<Status> {
        let status = Self::receive(t, ends, buffer)?;
        Self::send(t, ends, message)?;
        Ok(status)
    }
}

/// Blocked send, blocked receive.
pub(crate) struct Plain;

impl Way for Plain {
    const NAME: &'static str = "pingpong_send_recv";
    const SUMMARY: &'static str = "Round trip by blocked sends and receives";
    const ALIASES: &'static [&'static str] = &["SKaMPI:1", "SKaMPI:Pingpong_Send_Recv"];
}

/// Receives of any tag.
pub(crate) struct RecvAnyTag;

impl Way for RecvAnyTag {
    const NAME: &'static str = "pingpong_send_recv_any_tag";
    const SUMMARY: &'static str = "Round trip whose messages are received with any tag";
    const ALIASES: &'static [&'static str] = &["SKaMPI:2", "SKaMPI:Pingpong_Send_Recv_AnyTag"];

    #[inline]
    fn receive<T: Transport>(t: &T, ends: Ends, buffer: &mut [u8]) -> Result<Status> {
        t.blocked_recv(ends.source(), Tag::ANY, buffer)
    }
}

/// Unblocked receives, each waited for at once.
pub(crate) struct Irecv;

impl Way for Irecv {
    const NAME: &'static str = "pingpong_send_irecv";
    const SUMMARY: &'static str = "Round trip by unblocked receives";
    const ALIASES: &'static [&'static str] = &["SKaMPI:3", "SKaMPI:Pingpong_Send_Irecv"];

    #[inline]
    fn receive<T: Transport>(t: &T, ends: Ends, buffer: &mut [u8]) -> Result<Status> {
        t.scope(|s| Ok(s.unblocked_recv(ends.source(), ends.received, buffer)?.wait()?.0))
    }
}

/// Probes until the message is there, and then a receive.
pub(crate) struct Iprobe;

impl Way for Iprobe {
    const NAME: &'static str = "pingpong_send_iprobe_recv";
    const SUMMARY: &'static str = "Round trip whose messages are probed for, and then received";
    const ALIASES: &'static [&'static str] = &["SKaMPI:4", "SKaMPI:Pingpong_Send_Iprobe_Recv"];

    #[inline]
    fn receive<T: Transport>(t: &T, ends: Ends, buffer: &mut [u8]) -> Result<Status> {
        while t.probe(ends.source(), ends.received)?.is_none() {}
        t.blocked_recv(ends.source(), ends.received, buffer)
    }
}

/// Synchronous sends.
pub(crate) struct Ssend;

impl Way for Ssend {
    const NAME: &'static str = "pingpong_ssend_recv";
    const SUMMARY: &'static str = "Round trip by synchronous sends";
    const ALIASES: &'static [&'static str] = &["SKaMPI:5", "SKaMPI:Pingpong_Ssend_Recv"];

    #[inline]
    fn send<T: Transport>(t: &T, ends: Ends, message: &[u8]) -> Result<()> {
        t.blocked_send_in(SendMode::Synchronous, ends.peer, ends.sent, message)
    }
}

/// Buffered sends.
pub(crate) struct Bsend;

impl Way for Bsend {
    const NAME: &'static str = "pingpong_bsend_recv";
    const SUMMARY: &'static str = "Round trip by buffered sends";
    const ALIASES: &'static [&'static str] = &["SKaMPI:7", "SKaMPI:Pingpong_Bsend_Recv"];
    const N_BUFFERED: usize = N_BUFFERED;

    #[inline]
    fn send<T: Transport>(t: &T, ends: Ends, message: &[u8]) -> Result<()> {
        t.blocked_send_in(SendMode::Buffered, ends.peer, ends.sent, message)
    }
}

/// Unblocked sends, around the receive on the rank that begins.
pub(crate) struct Isend;

impl Way for Isend {
    const NAME: &'static str = "pingpong_isend_recv";
    const SUMMARY: &'static str = "Round trip by unblocked sends";
    const ALIASES: &'static [&'static str] = &["SKaMPI:6", "SKaMPI:Pingpong_Isend_Recv"];

    #[inline]
    fn send<T: Transport>(t: &T, ends: Ends, message: &[u8]) -> Result<()> {
        t.scope(|s| s.unblocked_send(ends.peer, ends.sent, message)?.wait())
    }

    #[inline]
    fn begin<T: Transport>(t: &T, ends: Ends, [message, buffer]: [&mut [u8]; 2]) -> Result<Status> {
        t.scope(|s| {
            let sending = s.unblocked_send(ends.peer, ends.sent, message)?;
            let status = Self::receive(t, ends, buffer)?;
            sending.wait()?;
            Ok(status)
        })
    }
}

/// Unblocked synchronous sends, around the receive on the rank that begins.
pub(crate) struct Issend;

impl Way for Issend {
    const NAME: &'static str = "pingpong_issend_recv";
    const SUMMARY: &'static str = "Round trip by unblocked synchronous sends";
    const ALIASES: &'static [&'static str] = &["SKaMPI:34", "SKaMPI:Pingpong_Issend_Recv"];

    #[inline]
    fn send<T: Transport>(t: &T, ends: Ends, message: &[u8]) -> Result<()> {
        let mode = SendMode::Synchronous;
        t.scope(|s| s.unblocked_send_in(mode, ends.peer, ends.sent, message)?.wait())
    }

    #[inline]
    fn begin<T: Transport>(t: &T, ends: Ends, [message, buffer]: [&mut [u8]; 2]) -> Result<Status> {
        t.scope(|s| {
            let mode = SendMode::Synchronous;
            let sending = s.unblocked_send_in(mode, ends.peer, ends.sent, message)?;
            let status = Self::receive(t, ends, buffer)?;
            sending.wait()?;
            Ok(status)
        })
    }
}

/// Answers by ready sends, for which the rank that begins posts its receive before it sends.
pub(crate) struct Rsend;

impl Way for Rsend {
    const NAME: &'static str = "pingpong_rsend_recv";
    const SUMMARY: &'static str = "Round trip whose answer is a ready send";
    const ALIASES: &'static [&'static str] = &[];

    #[inline]
    fn begin<T: Transport>(t: &T, ends: Ends, [message, buffer]: [&mut [u8]; 2]) -> Result<Status> {
        t.scope(|s| {
            let receiving = s.unblocked_recv(ends.source(), ends.received, buffer)?;
            t.blocked_send(ends.peer, ends.sent, message)?;
            Ok(receiving.wait()?.0)
        })
    }

    #[inline]
    fn answer<T: Transport>(
        t: &T,
        ends: Ends,
        [message, buffer]: [&mut [u8]; 2],
    ) -> Result<Status> {
        let status = Self::receive(t, ends, buffer)?;
        t.blocked_send_in(SendMode::Ready, ends.peer, ends.sent, message)?;
        Ok(status)
    }
}

/// One exchange on both ranks.
pub(crate) struct Sendrecv;

impl Way for Sendrecv {
    const NAME: &'static str = "pingpong_sendrecv";
    const SUMMARY: &'static str = "Two ranks exchange messages, each by one call";
    const ALIASES: &'static [&'static str] = &["SKaMPI:8", "SKaMPI:Pingpong_Sendrecv"];
    const IS_EXCHANGE: bool = true;

    #[inline]
    fn begin<T: Transport>(t: &T, ends: Ends, [message, buffer]: [&mut [u8]; 2]) -> Result<Status> {
        t.blocked_exchange(ends.peer, message, ends.source(), buffer, ends.sent)
    }

    #[inline]
    fn answer<T: Transport>(t: &T, ends: Ends, parts: [&mut [u8]; 2]) -> Result<Status> {
        Self::begin(t, ends, parts)
    }
}
