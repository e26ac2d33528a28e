//! Files: every pointer, alone and together, blocked, unblocked and split; views; what is refused.

use std::thread::sleep;
use std::time::Duration;

use super::Check;
use super::toolkit::{Found, checks, next};
use crate::error::Result;
use crate::error::TransportErrorKind::{InvalidArgument, Storage};
use crate::file::{Cache, File, Folder, Plan, Pointer, Sharing, Together, View};
use crate::pattern;
use crate::transport::{Rank, Transport};

/// Lengths of a block of one rank in bytes.
const BLOCKS_BYTES: [usize; 4] = [1, 41, 4096, 70_000];
/// Blocks of each rank.
const N_BLOCKS: usize = 3;

/// The ways in which blocks go to a file and come from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Blocked(Together),
    Unblocked,
    Split,
}

const FORMS: [Form; 4] =
    [Form::Blocked(Together::Alone), Form::Blocked(Together::All), Form::Unblocked, Form::Split];

pub(super) fn checks<T: Transport>() -> Vec<Check<T>> {
    checks![in a folder:
        blocks_of_each_form_are_read_back_by_another_rank,
        blocks_at_the_own_pointer_follow_each_other_in_a_view,
        a_shared_pointer_gives_each_block_a_place_of_its_own,
        ordered_blocks_lie_in_the_order_of_the_ranks,
        an_ordered_block_does_not_lie_on_one_of_a_rank_alone,
        private_files_are_apart,
        a_file_keeps_its_contents_until_it_is_removed,
        what_a_file_refuses_leaves_it_usable,
    ]
}

/// Seed of block `index` of `rank`.
fn seed(rank: Rank, index: usize, form: usize) -> u64 {
    let word = ((rank as u64) << 32) ^ ((index as u64) << 8) ^ form as u64;
    word.wrapping_mul(0xd134_2543_de82_ef95)
}

/// A closed file with room for all blocks of a rank.
fn made<T: Transport>(t: &T, folder: &Folder, sharing: Sharing, n: usize) -> Result<File<T>> {
    // Past the system's memory go only blocks of some lengths.
    let plan = Plan { cache: Cache::Keep, ..folder.plan(t.global_rank(0), sharing) };
    File::new(t, &plan, N_BLOCKS * n, N_BLOCKS)
}

/// Brings what all ranks have written to all of them.
fn complete<T: Transport>(t: &T, file: &File<T>) -> Result<()> {
    file.sync()?;
    t.barrier()?;
    file.sync()
}

/// Puts the blocks of `rank` into the memory.
fn fill<T: Transport>(file: &mut File<T>, n: usize, rank: Rank, form: usize) {
    for (index, block) in file.memory().chunks_mut(n).enumerate() {
        pattern::fill(block, seed(rank, index, form));
    }
}

/// Checks that the memory holds the blocks of `rank`.
fn check<T: Transport>(found: &Found, file: &mut File<T>, (n, rank, form): (usize, Rank, usize)) {
    for (index, block) in file.memory().chunks(n).enumerate() {
        let what = format_args!("block {index} of {n} bytes of rank {rank} (way {form})");
        found.require_pattern(block, seed(rank, index, form), what);
    }
    file.memory().fill(0);
}

/// Writes (or reads) the blocks of the memory, each at the place that `place` gives it.
fn move_blocks<T: Transport>(
    file: &File<T>,
    writes: bool,
    form: Form,
    n: usize,
    place: impl Fn(usize) -> Pointer,
) -> Result<()> {
    for index in 0..N_BLOCKS {
        let (bytes, pointer) = (index * n..(index + 1) * n, place(index));
        match (form, writes) {
            (Form::Blocked(together), true) => file.write(bytes, pointer, together)?,
            (Form::Blocked(together), false) => file.read(bytes, pointer, together)?,
            (Form::Unblocked, true) => file.start_write(bytes, pointer)?,
            (Form::Unblocked, false) => file.start_read(bytes, pointer)?,
            (Form::Split, true) => file.begin_write(bytes, pointer).and_then(|()| file.end())?,
            (Form::Split, false) => file.begin_read(bytes, pointer).and_then(|()| file.end())?,
        }
    }
    if form == Form::Unblocked { file.wait_all() } else { Ok(()) }
}

/// Place of block `index` of `rank` where the blocks of all ranks take turns.
fn turn<T: Transport>(t: &T, rank: Rank, index: usize, n: usize) -> Pointer {
    Pointer::At(((index * t.n_ranks() + rank) * n) as u64)
}

fn blocks_of_each_form_are_read_back_by_another_rank<T: Transport>(
    t: &T,
    folder: &Folder,
    found: &Found,
) -> Result<()> {
    for n in BLOCKS_BYTES {
        let mut file = made(t, folder, Sharing::All, n)?;
        file.open()?;
        for (number, form) in FORMS.into_iter().enumerate() {
            fill(&mut file, n, t.rank(), number);
            move_blocks(&file, true, form, n, |index| turn(t, t.rank(), index, n))?;
            complete(t, &file)?;
            file.memory().fill(0);
            let other = next(t);
            move_blocks(&file, false, form, n, |index| turn(t, other, index, n))?;
            check(found, &mut file, (n, other, number));
            t.barrier()?;
        }
        file.close()?;
        file.remove()?;
    }
    Ok(())
}

fn blocks_at_the_own_pointer_follow_each_other_in_a_view<T: Transport>(
    t: &T,
    folder: &Folder,
    found: &Found,
) -> Result<()> {
    let n = 41;
    let mut file = made(t, folder, Sharing::All, n)?;
    file.open()?;
    for (number, form) in FORMS.into_iter().enumerate() {
        // Blocks shorter than a transfer, so that one has several pieces.
        let (block_bytes, stride_bytes) = (10, 10 * t.n_ranks() as u64);
        let view = View { start: 10 * t.rank() as u64, block_bytes, stride_bytes };
        file.set_view(Some(view))?;
        fill(&mut file, n, t.rank(), number);
        move_blocks(&file, true, form, n, |_| Pointer::Own)?;
        complete(t, &file)?;
        file.rewind(Pointer::Own)?;
        file.memory().fill(0);
        move_blocks(&file, false, form, n, |_| Pointer::Own)?;
        check(found, &mut file, (n, t.rank(), number));
        // The view of another rank shows what that one has written.
        file.set_view(Some(View { start: 10 * next(t) as u64, ..view }))?;
        move_blocks(&file, false, form, n, |_| Pointer::Own)?;
        check(found, &mut file, (n, next(t), number));
        t.barrier()?;
    }
    file.close()?;
    file.remove()
}

/// Each rank finds all blocks of all ranks, in any order.
fn a_shared_pointer_gives_each_block_a_place_of_its_own<T: Transport>(
    t: &T,
    folder: &Folder,
    found: &Found,
) -> Result<()> {
    for (n, form) in [(8, Form::Blocked(Together::Alone)), (4096, Form::Unblocked)] {
        let mut file = made(t, folder, Sharing::All, n)?;
        file.open()?;
        fill(&mut file, n, t.rank(), 0);
        move_blocks(&file, true, form, n, |_| Pointer::Shared)?;
        complete(t, &file)?;
        let all = (0..t.n_ranks()).flat_map(|rank| (0..N_BLOCKS).map(move |index| (rank, index)));
        find_each(found, &mut file, n, &all.collect::<Vec<_>>())?;
        t.barrier()?;
        file.close()?;
        file.remove()?;
    }
    Ok(())
}

/// Checks that the file begins with these blocks of `n` bytes, each a rank and an index, in any order.
fn find_each<T: Transport>(
    found: &Found,
    file: &mut File<T>,
    n: usize,
    blocks: &[(Rank, usize)],
) -> Result<()> {
    let mut is_there = vec![false; blocks.len()];
    for place in 0..blocks.len() {
        file.read(0..n, Pointer::At((place * n) as u64), Together::Alone)?;
        let bytes = &file.memory()[..n];
        let is_of = |(rank, index): &(Rank, usize)| {
            pattern::check(bytes, seed(*rank, *index, 0), "").is_ok()
        };
        match blocks.iter().position(is_of) {
            Some(number) => is_there[number] = true,
            None => found.note(format!("{n} bytes at block {place} are of no rank")),
        }
    }
    found.require(is_there.iter().all(|there| *there), "a block was overwritten by another");
    Ok(())
}

fn ordered_blocks_lie_in_the_order_of_the_ranks<T: Transport>(
    t: &T,
    folder: &Folder,
    found: &Found,
) -> Result<()> {
    let n = 100;
    for (number, form) in [Form::Blocked(Together::All), Form::Split].into_iter().enumerate() {
        let mut file = made(t, folder, Sharing::All, n)?;
        file.open()?;
        fill(&mut file, n, t.rank(), number);
        move_blocks(&file, true, form, n, |_| Pointer::Shared)?;
        complete(t, &file)?;
        file.memory().fill(0);
        let other = next(t);
        let alone = Form::Blocked(Together::Alone);
        move_blocks(&file, false, alone, n, |index| turn(t, other, index, n))?;
        check(found, &mut file, (n, other, number));
        // And the same way back.
        file.rewind(Pointer::Shared)?;
        move_blocks(&file, false, form, n, |_| Pointer::Shared)?;
        check(found, &mut file, (n, t.rank(), number));
        file.close()?;
        file.remove()?;
    }
    Ok(())
}

/// The last rank moves the pointer of all on by itself, while the others wait for it.
fn an_ordered_block_does_not_lie_on_one_of_a_rank_alone<T: Transport>(
    t: &T,
    folder: &Folder,
    found: &Found,
) -> Result<()> {
    let (n, last) = (8, t.n_ranks() - 1);
    let mut file = made(t, folder, Sharing::All, n)?;
    file.open()?;
    fill(&mut file, n, t.rank(), 0);
    if t.rank() == last {
        // Until the others are there.
        sleep(Duration::from_millis(20));
        file.write(0..n, Pointer::Shared, Together::Alone)?;
    }
    file.write(n..2 * n, Pointer::Shared, Together::All)?;
    complete(t, &file)?;
    let all = (0..=last).map(|rank| (rank, 1)).chain([(last, 0)]);
    find_each(found, &mut file, n, &all.collect::<Vec<_>>())?;
    t.barrier()?;
    file.close()?;
    file.remove()
}

fn private_files_are_apart<T: Transport>(t: &T, folder: &Folder, found: &Found) -> Result<()> {
    let n = 4096;
    let mut file = made(t, folder, Sharing::Private, n)?;
    file.open()?;
    for pointer in [Pointer::Own, Pointer::Shared] {
        fill(&mut file, n, t.rank(), 0);
        file.rewind(pointer)?;
        move_blocks(&file, true, FORMS[0], n, |_| pointer)?;
        complete(t, &file)?;
        file.rewind(pointer)?;
        file.memory().fill(0);
        move_blocks(&file, false, FORMS[0], n, |_| pointer)?;
        check(found, &mut file, (n, t.rank(), 0));
    }
    file.close()?;
    file.remove()
}

fn a_file_keeps_its_contents_until_it_is_removed<T: Transport>(
    t: &T,
    folder: &Folder,
    found: &Found,
) -> Result<()> {
    let n = 64;
    let mut file = made(t, folder, Sharing::All, n)?;
    file.open()?;
    file.preallocate((n * N_BLOCKS * t.n_ranks()) as u64)?;
    fill(&mut file, n, t.rank(), 0);
    move_blocks(&file, true, FORMS[0], n, |index| turn(t, t.rank(), index, n))?;
    complete(t, &file)?;
    file.close()?;
    file.open()?;
    file.memory().fill(0);
    move_blocks(&file, false, FORMS[0], n, |index| turn(t, next(t), index, n))?;
    check(found, &mut file, (n, next(t), 0));
    file.close()?;
    file.remove()?;
    file.open()?;
    let end = file.read(0..1, Pointer::At(0), Together::Alone);
    let is_empty = end.is_err_and(|error| error.kind == Storage);
    found.require(is_empty, "a file that was removed still has contents");
    t.barrier()?;
    file.close()?;
    file.remove()
}

fn what_a_file_refuses_leaves_it_usable<T: Transport>(
    t: &T,
    folder: &Folder,
    found: &Found,
) -> Result<()> {
    let n = 16;
    let mut file = made(t, folder, Sharing::All, n)?;
    let refused = |what, kind, result| found.require_refused(what, kind, result);
    let alone = Together::Alone;
    refused("a write to a closed file", InvalidArgument, file.write(0..n, Pointer::Own, alone))?;
    file.open()?;
    let beyond = N_BLOCKS * n..N_BLOCKS * n + 1;
    refused("a write of foreign memory", InvalidArgument, file.write(beyond, Pointer::Own, alone))?;
    refused("an end of nothing", InvalidArgument, file.end())?;
    refused("a read at the end", Storage, file.read(0..n, Pointer::At(1 << 20), alone))?;
    let view = View { start: 0, block_bytes: 8, stride_bytes: 4 };
    refused("a view that overlaps", InvalidArgument, file.set_view(Some(view)))?;
    fill(&mut file, n, t.rank(), 0);
    move_blocks(&file, true, FORMS[0], n, |index| turn(t, t.rank(), index, n))?;
    complete(t, &file)?;
    file.memory().fill(0);
    move_blocks(&file, false, FORMS[0], n, |index| turn(t, next(t), index, n))?;
    check(found, &mut file, (n, next(t), 0));
    t.barrier()?;
    file.close()?;
    file.remove()
}
