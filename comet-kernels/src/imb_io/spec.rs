//! The kernels of files: which ranks move what, at which pointer, and the portions of each.

use comet_core::error::{TransportError, TransportErrorKind};
use comet_core::file::{Cache, DIRECT_UNIT_BYTES, File};
use comet_core::kernel::prelude::*;

use super::numbered::UNIT_BYTES;
use crate::guarded::PAGE_BYTES;
use crate::window::AGGREGATE;

/// The ranks that move something, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ranks {
    One,
    Each,
    Together,
}

/// The pointer of a transfer, and the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Own,
    Given,
    Shared,
    Private,
}

/// One way to move bytes between ranks and files; two kernels, of which the first waits in its call, and the
/// second works meanwhile.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spec {
    pub(super) names: [&'static str; 2],
    pub(super) aliases: [&'static str; 2],
    pub(super) summaries: [&'static str; 2],
    pub(super) ranks: Ranks,
    pub(super) place: Place,
    pub(super) writes: bool,
}

macro_rules! specs {
    ($($class:literal $imb_class:literal $call:literal $imb_call:literal $pointer:literal $imb_pointer:literal
       $ranks:ident $place:ident $writes:literal $summary:literal;)*) => {
        [$(Spec {
            names: [
                concat!($class, "_", $call, "_", $pointer),
                concat!($class, "_i", $call, "_", $pointer),
            ],
            aliases: [
                concat!("IMB-IO:", $imb_class, "_", $imb_call, "_", $imb_pointer),
                concat!("IMB-IO:", $imb_class, "_I", $imb_call, "_", $imb_pointer),
            ],
            summaries: [$summary, concat!($summary, ", beside busy work")],
            ranks: Ranks::$ranks,
            place: Place::$place,
            writes: $writes,
        }),*]
    };
}

#[rustfmt::skip] // One way a line.
pub(super) const SPECS: [Spec; 18] = specs! {
    "s" "S" "write" "Write" "indv" "Indv" One Own true "Writes of rank 0 at its own pointer";
    "s" "S" "read" "Read" "indv" "Indv" One Own false "Reads of rank 0 at its own pointer";
    "s" "S" "write" "Write" "expl" "Expl" One Given true "Writes of rank 0 at given places";
    "s" "S" "read" "Read" "expl" "Expl" One Given false "Reads of rank 0 at given places";
    "p" "P" "write" "Write" "indv" "Indv" Each Own true "Writes of each rank at its own pointer";
    "p" "P" "read" "Read" "indv" "Indv" Each Own false "Reads of each rank at its own pointer";
    "p" "P" "write" "Write" "expl" "Expl" Each Given true "Writes of each rank at given places";
    "p" "P" "read" "Read" "expl" "Expl" Each Given false "Reads of each rank at given places";
    "p" "P" "write" "Write" "shared" "Shared" Each Shared true "Writes of each rank at one pointer";
    "p" "P" "read" "Read" "shared" "Shared" Each Shared false "Reads of each rank at one pointer";
    "p" "P" "write" "Write" "priv" "Priv" Each Private true "Writes of each rank to its own file";
    "p" "P" "read" "Read" "priv" "Priv" Each Private false "Reads of each rank from its own file";
    "c" "C" "write" "Write" "indv" "Indv" Together Own true "Writes of all ranks in one call";
    "c" "C" "read" "Read" "indv" "Indv" Together Own false "Reads of all ranks in one call";
    "c" "C" "write" "Write" "expl" "Expl" Together Given true "Writes of all ranks in one call, at given places";
    "c" "C" "read" "Read" "expl" "Expl" Together Given false "Reads of all ranks in one call, at given places";
    "c" "C" "write" "Write" "shared" "Shared" Together Shared true "Writes of all ranks in one call, in their order";
    "c" "C" "read" "Read" "shared" "Shared" Together Shared false "Reads of all ranks in one call, in their order";
};

/// Places of a file that are read back.
pub(super) const N_READ_BACK: usize = 2;

/// Blocks for which a rank has memory: its own, and those that are read back.
const N_BLOCKS: u64 = 1 + N_READ_BACK as u64;

/// Transfers for which a file has room, fewest and most, and its length between the two: that of IMB, since
/// what fits into a cache is read faster.
const MIN_SLOTS: u64 = 16;
const MAX_SLOTS: u64 = 4096;
const FILE_BYTES: u64 = 40 << 20;

/// Memory of a rank whose longest portion has so many bytes.
fn memory_bytes(portion: u64) -> u64 {
    portion.saturating_mul(N_BLOCKS).saturating_add(PAGE_BYTES as u64)
}

/// Start and length of the portion of `rank` in `total` bytes of `n_ranks` ranks.
pub(super) fn portion(total: u64, rank: u64, n_ranks: u64) -> (u64, u64) {
    let units = total.div_ceil(UNIT_BYTES);
    let (each, more) = (units / n_ranks, units % n_ranks);
    let first = |rank: u64| ((rank * each + rank.min(more)) * UNIT_BYTES).min(total);
    (first(rank), first(rank + 1) - first(rank))
}

/// Transfers for which the file of a case has room.
pub(super) fn n_slots(total: u64) -> u64 {
    (FILE_BYTES / total.max(1)).clamp(MIN_SLOTS, MAX_SLOTS)
}

/// Lengths of the portions of a case, from that of rank 0 on, which is the longest.
fn portions(case: &Case, world: &World<'_>) -> impl Iterator<Item = u64> {
    let (total, n_ranks) = (case.value(&LENGTH_BYTES), world.n_ranks as u64);
    (0..n_ranks).map(move |rank| portion(total, rank, n_ranks).1)
}

/// Bytes of the files of a case.
pub(super) fn file_bytes(case: &Case) -> u64 {
    let total = case.value(&LENGTH_BYTES);
    total.saturating_mul(n_slots(total))
}

/// Refuses a case without a folder, without room in it for twice `needed_bytes`, or with `lengths` of transfers
/// that cannot go past the system's memory where they are to.
pub(super) fn require_folder(
    world: &World<'_>,
    needed_bytes: u64,
    mut lengths: impl Iterator<Item = u64>,
) -> Result<(), String> {
    let Some(files) = world.files else {
        return Err("needs a folder for its files (name one with --io-dir)".into());
    };
    let is_odd = |length: &u64| !length.is_multiple_of(DIRECT_UNIT_BYTES as u64);
    if let (Cache::Direct, Some(length)) = (files.cache, lengths.find(is_odd)) {
        return Err(format!(
            "has transfers of {length} bytes, and direct ones have multiples of {DIRECT_UNIT_BYTES} (name a length \
             whose portions are, or another --io-cache)"
        ));
    }
    let (needed_bytes, free_bytes) = (needed_bytes.saturating_mul(2), files.free_bytes);
    if needed_bytes <= free_bytes {
        return Ok(());
    }
    Err(format!(
        "needs {needed_bytes} bytes in {}, {free_bytes} are free (name another --io-dir)",
        files.path.display()
    ))
}

/// The result of all ranks: an error of one is one of all, which none waits for, in the words of the first.
pub(super) fn agree<T: Transport>(t: &T, own: Result<()>) -> Result<()> {
    if own.as_ref().is_err_and(TransportError::ends_job) {
        return own;
    }
    let mut failed = vec![0.0; t.n_ranks()];
    failed[t.rank()] = f64::from(u8::from(own.is_err()));
    t.global_sum_vector(&mut failed)?;
    let Some(first) = failed.iter().position(|failed| *failed > 0.0) else { return Ok(()) };
    let text = own.err().map_or(String::new(), |error| error.text().to_owned());
    let mut length = (text.len() as u64).to_le_bytes();
    t.blocked_broadcast(first, &mut length)?;
    let mut words = text.into_bytes();
    words.resize(usize::try_from(u64::from_le_bytes(length)).unwrap_or(0), 0);
    t.blocked_broadcast(first, &mut words)?;
    let text = String::from_utf8_lossy(&words);
    let error = TransportError::new(TransportErrorKind::Storage, text);
    // Who reports it names itself.
    Err(if first == t.rank() { error } else { error.on_rank(t.global_rank(first)) })
}

/// Opens `file` on all ranks; if that fails, none has it open, and it is removed.
pub(super) fn open<T: Transport>(t: &T, file: &mut File<T>) -> Result<()> {
    let opened = file.open();
    let is_open = opened.is_ok();
    let agreed = agree(t, opened);
    if agreed.as_ref().is_err_and(|error| !error.ends_job()) {
        let closed = if is_open { file.close() } else { Ok(()) };
        // The first error says more.
        let _ = closed.and(file.remove());
    }
    agreed
}

/// Keeps the first error that leaves the transport usable, and gives others back.
pub(super) fn keep(failed: &mut Option<TransportError>, error: TransportError) -> Result<()> {
    if error.ends_job() {
        return Err(error);
    }
    failed.get_or_insert(error);
    Ok(())
}

/// Bytes of one transfer of all ranks.
pub(super) const TRANSFERS: AxisUse =
    AxisUse { axis: &LENGTH_BYTES, sweeps: ["0,4Ki,1Mi", "0,4Ki..16Mi*4", "0,1Ki..64Mi*2"] };

/// A series of times of transfers.
pub(super) const fn transfers(name: &'static str, ranks: Ranks) -> Series {
    works(name, ranks).moving(|case, _| Some(case.value(&LENGTH_BYTES)))
}

/// A series of times in which nothing is moved.
pub(super) const fn works(name: &'static str, ranks: Ranks) -> Series {
    match ranks {
        Ranks::One => Series::on_test_node(name),
        _ => Series::of(name, Quantity::OpTime, Definition::LoopMean),
    }
}

impl Spec {
    /// The duty of `rank`.
    pub(super) fn duty(&self, rank: u64) -> Duty {
        match (self.ranks, rank) {
            (Ranks::One, 0) => Duty::Times,
            (Ranks::One, _) => Duty::Follows,
            _ => Duty::Together,
        }
    }

    /// Facts that both kernels of this way have in common; `kernel` is the number of one.
    pub(super) const fn info(&'static self, kernel: usize) -> KernelInfo {
        KernelInfo {
            name: self.names[kernel],
            summary: self.summaries[kernel],
            class: match self.ranks {
                Ranks::Together => Class::Collective,
                _ => Class::PointToPoint,
            },
            participants: match self.ranks {
                Ranks::One => Participants::One,
                _ => Participants::All,
            },
            n_ranks: match self.ranks {
                Ranks::One => Some(1),
                _ => None,
            },
            timing: Timing::Pipelined,
            completes_each: |case| case.find(&AGGREGATE) == Some(0),
            admits: match self.ranks {
                Ranks::One => |case, world| {
                    let lengths = std::iter::once(case.value(&LENGTH_BYTES));
                    require_folder(world, file_bytes(case), lengths)
                },
                _ => |case, world| require_folder(world, file_bytes(case), portions(case, world)),
            },
            bytes_per_rank: match self.ranks {
                Ranks::One => |case, _| memory_bytes(case.value(&LENGTH_BYTES)),
                _ => |case, world| memory_bytes(portions(case, world).next().unwrap_or(0)),
            },
            is_of_files: true,
            is_movable: false,
            begins_again: false,
            ..KernelInfo::collective("imb-io")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn portions_follow_each_other_and_are_those_of_imb() {
        for n_ranks in 1..7 {
            for total in [0, 1, 3, 4, 5, 17, 100, 4096] {
                let portions: Vec<_> =
                    (0..n_ranks).map(|rank| portion(total, rank, n_ranks)).collect();
                let ends = portions.iter().map(|(start, length)| start + length);
                assert!(
                    portions
                        .iter()
                        .skip(1)
                        .map(|(start, _)| *start)
                        .eq(ends.take(portions.len() - 1))
                );
                assert_eq!(portions.iter().map(|(_, length)| length).sum::<u64>(), total);
            }
        }
        assert_eq!([0, 1, 2].map(|rank| portion(17, rank, 3)), [(0, 8), (8, 8), (16, 1)]);
    }
}
