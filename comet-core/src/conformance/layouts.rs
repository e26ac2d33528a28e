//! Messages with layouts: by datatypes of the transport, by its library, and by loops of ours.

use std::sync::Arc;

use super::Check;
use super::toolkit::{Found, TAG, checks};
use crate::collective::Element;
use crate::error::Result;
use crate::layout::{Blocks, Construction as _, Layout, Layouts, Packing, Way};
use crate::pattern;
use crate::transport::{Source, Status, Transport};

/// Layouts, each of which is sent as itself and as the next one.
const WORDS: [&str; 14] = [
    "contiguous",
    "vector:2:4",
    "hvector:2:48",
    "indexed",
    "hindexed",
    "indexed_block:2",
    "struct",
    "subarray",
    "resized:2:3",
    "nested:2:3",
    "mixed",
    "late=indexed(3:2 9:6,double)",
    "turned=contiguous(2,struct(40:1:double,0:3:double))",
    "columns=resized(128,contiguous(4,resized(8,vector(4,1,4,double))))",
];
/// Data of a message in bytes: whole blocks of all of them.
const DATA_BYTES: usize = 96 * 8;

pub(super) fn checks<T: Transport>() -> Vec<Check<T>> {
    checks![blocks_of_every_layout_arrive_and_gaps_stay, every_datatype_is_constructed]
}

/// All pairs that are checked, each with the blocks of its messages.
fn pairs() -> impl Iterator<Item = Blocks> {
    let next = WORDS.iter().cycle().skip(1);
    let words = WORDS
        .iter()
        .zip(next)
        .flat_map(|(own, next)| [own.to_string(), format!("{own}:to:{next}")]);
    words.flat_map(|text| {
        let list = Layouts::list(&text, Layout::indx).expect("the words are layouts");
        list.into_iter().map(|layouts| Arc::new(layouts).of(DATA_BYTES, Element::F64))
    })
}

/// A message round the ring in each way that the transport has, and one of another length.
fn blocks_of_every_layout_arrive_and_gaps_stay<T: Transport>(t: &T, found: &Found) -> Result<()> {
    for blocks in pairs() {
        let laid = match t.with_layout(&blocks) {
            Ok(laid) => Some(laid),
            Err(error) if error.is_unsupported() => None,
            Err(error) => return Err(error),
        };
        let label = |way: &str| format!("{} {way}", blocks.layouts());
        if let Some(laid) = &laid {
            let check = |message: &mut [u8], source, place: &mut [u8], to| {
                laid.blocked_exchange(to, message, source, place, TAG)
            };
            around(t, &blocks, found, &label("as a datatype"), check)?;
            let check = |message: &mut [u8], source, place: &mut [u8], to| {
                laid.scope(|s| {
                    let receive = s.unblocked_recv(source, TAG, place)?;
                    s.unblocked_send(to, TAG, message)?.wait()?;
                    Ok(receive.wait()?.0)
                })
            };
            around(t, &blocks, found, &label("as a datatype in flight"), check)?;
            one_byte(laid, found)?;
        }
        for way in [Way::Packed, Way::PackedByLibrary] {
            if way == Way::PackedByLibrary && laid.is_none() {
                continue;
            }
            let mut packing = Packing::new(t, (laid.as_ref().unwrap_or(t), way), &blocks)?;
            let check = |message: &mut [u8], source, place: &mut [u8], to| {
                let [out, back] = packing.both(t, message, place)?;
                let status = t.blocked_exchange(to, out, source, back, TAG)?;
                packing.unpack(t, place)?;
                Ok(packing.whole(status))
            };
            around(t, &blocks, found, &label(&format!("{way:?}")), check)?;
        }
    }
    Ok(())
}

/// A message of `blocks` round the ring by `exchange`.
fn around<T: Transport>(
    t: &T,
    blocks: &Blocks,
    found: &Found,
    what: &str,
    exchange: impl FnOnce(&mut [u8], Source, &mut [u8], usize) -> Result<Status>,
) -> Result<()> {
    let (n, rank) = (t.n_ranks(), t.rank());
    let (from, to) = ((rank + n - 1) % n, (rank + 1) % n);
    let length_bytes = blocks.extent_bytes();
    let (mut message, mut place) =
        (t.message_buffer(length_bytes)?, t.message_buffer(length_bytes)?);
    pattern::fill(&mut message, rank as u64);
    pattern::spoil(&mut place, from as u64);
    let status = exchange(&mut message, Source::Rank(from), &mut place, to)?;
    found.require_eq(format!("the length of {what}"), status.length_bytes, length_bytes);
    found.require(*place == *blocks.arrived(from as u64), &format!("{what} arrived wrong"));
    Ok(())
}

/// A message of one byte round the ring, which has no layout.
fn one_byte<T: Transport>(laid: &T, found: &Found) -> Result<()> {
    let (n, rank) = (laid.n_ranks(), laid.rank());
    let (from, to) = ((rank + n - 1) % n, (rank + 1) % n);
    let byte = |rank: usize| rank.to_le_bytes()[0];
    let (message, mut place) = ([byte(rank)], [!byte(from)]);
    let status = laid.blocked_exchange(to, &message, Source::Rank(from), &mut place, TAG)?;
    found.require_eq("the length of a message without a layout", status.length_bytes, 1);
    found.require(place == [byte(from)], "a message without a layout arrived wrong");
    Ok(())
}

/// SK-95: construction by itself.
fn every_datatype_is_constructed<T: Transport>(t: &T, found: &Found) -> Result<()> {
    for blocks in pairs() {
        let of = blocks.sent();
        let mut construction = T::Construction::of(t, of)?;
        construction.run(t)?;
        let what = format!("size and extent of {}", blocks.layouts());
        found.require_eq(what, construction.found(t)?, [of.size_bytes(), of.extent_bytes()]);
    }
    Ok(())
}
