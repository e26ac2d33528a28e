//! The conformance suite over MPI, on as many ranks as this program was started with; with the word
//! `long_counts` only the checks that a rank of MPI has beyond it.
//!
//! Without libtest's harness: one process is one rank, and only its main thread calls MPI.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "this is a test runner")]

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{self, ExitCode};
use std::sync::Arc;
use std::time::Duration;
use std::{env, fs};

use comet_core::collective::{
    Collective, Element, Kind, Neighbours, Operator, Parts, Prepared, Reducer,
};
use comet_core::conformance;
use comet_core::error::TransportError;
use comet_core::error::TransportErrorKind::{
    InvalidArgument, OutOfResources, Storage, Unsupported,
};
use comet_core::file::{Cache, File, Folder, Plan, Pointer, Sharing, Together};
use comet_core::topology::Topology;
use comet_core::transport::{SendMode, Source, Tag, Transport};
use comet_core::window::{Fence, Memory, Remote, Window};
use comet_mpi::{JoinConfig, Mpi, RunConfig, join};

/// Most elements of a call in the test of long counts, and bytes of each of its parts.
const MAX_COUNT: usize = 100;
const PART_BYTES: usize = 4000;

/// Forms that a library without counts of 64 bits cannot carry out.
const REFUSED: [&str; 10] = [
    "allgather with places",
    "alltoall with places",
    "alltoall with types",
    "gather with places",
    "neighbor_allgather with places",
    "neighbor_alltoall with places",
    "neighbor_alltoall with types",
    "reduce_scatter",
    "reduce_scatter with places",
    "scatter with places",
];

/// Every form of every collective, with parts of so many bytes.
fn forms(t: &Mpi, neighbours: &Arc<Neighbours>) -> Vec<(String, Collective)> {
    let n = t.n_ranks();
    let by = Reducer::new(Element::I32, Operator::Sum).expect("integers have sums");
    let mut forms = Vec::new();
    for kind in Kind::ALL {
        let of = |parts| {
            let call = Collective::new(kind, parts).with_reducer(by);
            let root = if kind.is_rooted() { n / 2 } else { 0 };
            call.with_root(root).with_neighbours(Arc::clone(neighbours))
        };
        let name = kind.name();
        forms.push((name.to_owned(), of(Parts::Equal(PART_BYTES))));
        if kind.admits_in_place() {
            forms.push((name.to_owned(), of(Parts::Equal(PART_BYTES)).in_place()));
        }
        let packed = |n| Parts::packed(vec![PART_BYTES; n]).counted_in(Element::I32.bytes());
        let uneven = match kind {
            Kind::Gather | Kind::Scatter | Kind::Allgather | Kind::ReduceScatter => of(packed(n)),
            Kind::Alltoall => of(packed(n)),
            Kind::NeighbourAllgather => {
                of(packed(neighbours.sources().len())).with_sent(Parts::Equal(PART_BYTES))
            }
            Kind::NeighbourAlltoall => of(packed(neighbours.sources().len()))
                .with_sent(packed(neighbours.destinations().len())),
            _ => continue,
        };
        forms.push((format!("{name} with places"), uneven.clone()));
        if matches!(kind, Kind::Alltoall | Kind::NeighbourAlltoall) {
            forms.push((format!("{name} with types"), uneven.with_types()));
        }
    }
    forms
}

/// Messages between rank 0 and all others: if only its places are too great for an `int`, all ranks are
/// refused, or none. The first problem.
fn unequal_degrees(t: &Mpi) -> Result<(), String> {
    let (n, rank) = (t.n_ranks(), t.rank());
    let said = |error: TransportError| error.to_string();
    let around: Vec<usize> = if rank == 0 { (1..n).collect() } else { vec![0] };
    let neighbours = Neighbours::new(around.clone(), around.clone());
    let short = t.split(Some(0), rank as u64).map_err(said)?.ok_or("all ranks take part")?;
    short.limit_counts(MAX_COUNT);
    let star = short.with_neighbours(&neighbours).map_err(said)?.ok_or("there is a graph")?;
    let parts = || Parts::packed(vec![MAX_COUNT; around.len()]);
    let call = Collective::new(Kind::NeighbourAlltoall, parts()).with_sent(parts());
    let call = call.with_neighbours(neighbours);
    let (input, mut output) =
        (bytes(0, MAX_COUNT * around.len()), bytes(1, MAX_COUNT * around.len()));
    let is_refused = match star.collective(&call, &input, &mut output) {
        Ok(()) => false,
        Err(error) if error.kind == Unsupported => true,
        Err(error) => return Err(error.to_string()),
    };
    let mut n_refused = [f64::from(u8::from(is_refused))];
    t.global_sum_vector(&mut n_refused).map_err(said)?;
    match n_refused[0] {
        refused if refused == 0.0 || refused == n as f64 => Ok(()),
        refused => Err(format!("{refused} of {n} ranks refuse what rank 0 cannot count")),
    }
}

/// The bytes of a rank; those that arrive differ from those that were there.
fn bytes(rank: usize, n: usize) -> Vec<u8> {
    (0..n).map(|index| (index * 31 + rank * 7 + index / 256).to_le_bytes()[0]).collect()
}

/// The output of `call`, started and waited for, over what arrives from nobody.
fn started(t: &Mpi, call: &Collective, input: &[u8]) -> Result<Vec<u8>, TransportError> {
    let (n, rank) = (t.n_ranks(), t.rank());
    let mut prepared = Prepared::unblocked(t, call.clone(), None)?;
    let mut output = bytes(rank + n, call.output_bytes(rank, n));
    t.scope(|s| s.unblocked_collective(&mut prepared, input, &mut output)?.wait())?;
    Ok(output)
}

/// Every form as if an `int` held no more than a few elements: it gives the same as with integers that
/// hold them all, or is refused where the library has no others; started, it does so too, or is refused. The
/// number of refused forms that are not started, or the first problem.
fn long_counts(t: &Mpi) -> Result<usize, String> {
    let (n, rank) = (t.n_ranks(), t.rank());
    let mut around = vec![(rank + 1) % n, (rank + n - 1) % n];
    around.dedup();
    let neighbours = Neighbours::new(around.clone(), around);
    let (graph, short) = (t.with_neighbours(&neighbours), t.split(Some(0), rank as u64));
    let graph = graph.map_err(|error| error.to_string())?.ok_or("there is a graph")?;
    let short = short.map_err(|error| error.to_string())?.ok_or("all ranks take part")?;
    short.limit_counts(MAX_COUNT);
    let short_graph = short.with_neighbours(&neighbours).map_err(|error| error.to_string())?;
    let short_graph = short_graph.ok_or("there is a graph")?;
    let mut refused = BTreeSet::new();
    for (name, call) in forms(t, &neighbours) {
        let is_among_neighbours = call.kind().is_among_neighbours();
        let (whole, limited) =
            if is_among_neighbours { (&graph, &short_graph) } else { (t, &short) };
        let input = bytes(rank, call.input_bytes(rank, n));
        let mut expected = bytes(rank + n, call.output_bytes(rank, n));
        let mut found = expected.clone();
        match whole.collective(&call, &input, &mut expected) {
            // In place on another root than rank 0 (MPICH 4.0).
            Err(error) if error.kind == Unsupported && call.kind() == Kind::Reduce => continue,
            outcome => outcome.map_err(|error| error.to_string())?,
        }
        match started(limited, &call, &input) {
            Err(error) if error.kind == Unsupported && error.to_string().contains("2^31 - 1") => (),
            Err(error) => return Err(format!("{name}, started: {error}")),
            Ok(found) if found == expected => (),
            Ok(_) => return Err(format!("{name} of long counts, started, gives something else")),
        }
        match limited.collective(&call, &input, &mut found) {
            Err(error) if error.kind == Unsupported && error.to_string().contains("_c") => {
                refused.insert(name);
            }
            Err(error) => return Err(format!("{name}: {error}")),
            Ok(()) if found == expected => (),
            Ok(()) => return Err(format!("{name} of long counts gives something else")),
        }
    }
    unequal_degrees(t)?;
    let refused: Vec<&str> = refused.iter().map(String::as_str).collect();
    match refused.is_empty() || refused == REFUSED {
        true => Ok(refused.len()),
        false => Err(format!("{refused:?} are refused, {REFUSED:?} expected, or nothing")),
    }
}

/// Every form, and messages in a ring, over a communicator of integers: it gives the same as over one of
/// bytes. The first problem.
fn elements(t: &Mpi) -> Result<(), String> {
    let (n, rank, unit) = (t.n_ranks(), t.rank(), Element::I32.bytes());
    let said = |error: TransportError| error.to_string();
    let typed = t.with_datatype(Element::I32).map_err(said)?.ok_or("MPI has datatypes")?;
    let mut around = vec![(rank + 1) % n, (rank + n - 1) % n];
    around.dedup();
    let neighbours = Neighbours::new(around.clone(), around);
    let [graph, typed_graph] = [t, &typed].map(|t| t.with_neighbours(&neighbours));
    let graph = graph.map_err(said)?.ok_or("there is a graph")?;
    let typed_graph = typed_graph.map_err(said)?.ok_or("there is a graph")?;
    if t.graph_time_ns().is_none_or(|ns| ns <= 0.0) {
        return Err("the graph took no time".into());
    }
    for (name, call) in forms(t, &neighbours) {
        let is_among_neighbours = call.kind().is_among_neighbours();
        let both = if is_among_neighbours { [&graph, &typed_graph] } else { [t, &typed] };
        let input = bytes(rank, call.input_bytes(rank, n));
        let [expected, found] = both.map(|t| {
            let mut output = bytes(rank + n, call.output_bytes(rank, n));
            t.collective(&call, &input, &mut output).map(|()| output)
        });
        let is_lacking = |of: &Result<Vec<u8>, TransportError>| {
            of.as_ref().is_err_and(|error| error.kind == Unsupported)
        };
        if call.kind() == Kind::Reduce && is_lacking(&expected) && is_lacking(&found) {
            continue;
        }
        let (found, expected) = (found.map_err(said)?, expected.map_err(said)?);
        if found != expected {
            return Err(format!("{name} of integers gives something else"));
        }
        if started(both[1], &call, &input).map_err(said)? != expected {
            return Err(format!("{name} of integers, started, gives something else"));
        }
    }
    let uncounted = Collective::new(Kind::Allgather, Parts::packed(vec![unit; n]));
    let refused = typed.collective(&uncounted, &vec![0; unit], &mut vec![0; n * unit]);
    if !refused.is_err_and(|error| error.kind == InvalidArgument) {
        return Err("parts in bytes are not refused".into());
    }
    // Of 6 bytes there is no whole number of integers.
    for length_bytes in [0, 8, 6] {
        let (message, mut buffer) = (bytes(rank, length_bytes), vec![0; length_bytes]);
        let from = (rank + n - 1) % n;
        let exchange = typed.blocked_exchange(
            (rank + 1) % n,
            &message,
            Source::Rank(from),
            &mut buffer,
            Tag::new(1),
        );
        let status = exchange.map_err(said)?;
        if status.length_bytes != length_bytes || buffer != bytes(from, length_bytes) {
            return Err(format!("{length_bytes} bytes arrived as {status:?}"));
        }
    }
    Ok(())
}

/// Transfers of a window as if an `int` held no more than a few elements, each to the next rank. The first
/// problem.
fn long_transfers(t: &Mpi) -> Result<(), String> {
    if !t.promises().has_windows {
        return Ok(());
    }
    let said = |error: TransportError| error.to_string();
    for element in [Element::U8, Element::I32] {
        let short = t.with_datatype(element).map_err(said)?.ok_or("MPI has datatypes")?;
        short.limit_counts(MAX_COUNT);
        for memory in Memory::ALL {
            let problem = transfers(&short, memory).map_err(said)?;
            if let Some(what) = problem {
                return Err(format!("{what} of long counts differ ({memory:?}, {element:?})"));
            }
        }
    }
    Ok(())
}

fn transfers(t: &Mpi, memory: Memory) -> Result<Option<&'static str>, TransportError> {
    const N: usize = PART_BYTES;
    let (n, rank) = (t.n_ranks(), t.rank());
    let by = Reducer::new(Element::I32, Operator::Sum).expect("integers have sums");
    let next = Remote { rank: (rank + 1) % n, at: 0 };
    let mut window = Window::new(t, N, 3 * N, memory)?;
    window.open()?;
    let once = bytes(rank, N);
    window.origin()[..N].copy_from_slice(&once);
    window.fence(Fence::First)?;
    window.put(0..N, next)?;
    window.fence(Fence::Between)?;
    window.get(N..2 * N, next)?;
    window.fence(Fence::Between)?;
    window.accumulate(0..N, next, by)?;
    window.fence(Fence::Between)?;
    window.get_accumulate(0..N, 2 * N, next, by)?;
    window.fence(Fence::Last)?;
    let mut twice = once.clone();
    t.combine(by, &once, &mut twice)?;
    let got = [window.origin()[N..2 * N].to_vec(), window.origin()[2 * N..].to_vec()];
    let (mut part, before) = (vec![0; N], bytes((rank + n - 1) % n, N));
    window.read(0, &mut part);
    let mut thrice = before.clone();
    t.combine(by, &before, &mut thrice)?;
    t.combine(by, &before, &mut thrice)?;
    window.close()?;
    let found = [(&got[0], &once, "gets"), (&got[1], &twice, "fetches"), (&part, &thrice, "sums")];
    Ok(found.into_iter().find(|(found, expected, _)| found != expected).map(|(.., what)| what))
}

/// The checks of files, in the folder for temporary files. The number of failures.
fn files(t: &Mpi, report: &mut conformance::Report<'_>) -> Result<usize, TransportError> {
    let mut number = process::id().to_ne_bytes();
    t.blocked_broadcast(0, &mut number)?;
    let name = format!("comet-mpi-files-{}", u32::from_ne_bytes(number));
    let folder = env::temp_dir().join(name);
    // The first of them makes it.
    let made = fs::create_dir_all(&folder);
    let mut n_failed = conformance::run_files(t, &Folder::new(folder.clone(), u64::MAX, 0), report);
    let refused = made.map_err(|error| error.to_string()).and_then(|()| refusals(t, &folder));
    if t.rank() == 0 || refused.is_err() {
        report("what_the_library_refuses_is_an_error_of_storage", &refused);
    }
    n_failed += usize::from(refused.is_err());
    t.barrier()?;
    if t.rank() == 0 {
        let left = fs::read_dir(&folder).map_or(0, Iterator::count);
        let left = if left == 0 { Ok(()) } else { Err(format!("{left} files are left")) };
        report("no_file_is_left", &left);
        n_failed += usize::from(left.is_err());
        let _ = fs::remove_dir_all(&folder);
    }
    Ok(n_failed)
}

/// A folder that is not there, a hint without a key, and transfers past the system's memory: errors of the
/// file, which leave the transport usable. The first problem.
fn refusals(t: &Mpi, folder: &Path) -> Result<(), String> {
    let plan = |path: &str, cache, hints: &[(&str, &str)]| {
        let path = folder.join(path);
        let hints = hints.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
        Plan { path, sharing: Sharing::All, cache, hints }
    };
    let said = |error: TransportError| error.to_string();
    let missing = plan("no/such/file", Cache::Keep, &[]);
    let opened = File::new(t, &missing, 8, 1).map_err(said)?.open();
    match opened {
        Err(error) if error.kind == Storage && error.to_string().contains("no/such/file") => (),
        other => return Err(format!("a file in no folder: {other:?}")),
    }
    // Where one rank alone is refused the others do not wait for it.
    let is_last = t.rank() + 1 == t.n_ranks();
    let elsewhere = plan(if is_last { "no/such/file" } else { "elsewhere" }, Cache::Keep, &[]);
    let mut file = File::new(t, &elsewhere, 8, 1).map_err(said)?;
    match file.open() {
        Err(error) if error.kind == Storage && error.to_string().contains("No such file") => (),
        other => return Err(format!("a file that the last rank cannot open: {other:?}")),
    }
    file.remove().map_err(said)?;
    let direct = File::new(t, &plan("direct", Cache::Direct, &[]), 8, 1).map(drop);
    if !direct.is_err_and(|error| error.kind == Unsupported) {
        return Err("transfers past the system's memory are not refused".into());
    }
    let no_key = File::new(t, &plan("hint", Cache::Keep, &[("", "2")]), 8, 1).map(drop);
    if !no_key.is_err_and(|error| error.kind == InvalidArgument) {
        return Err("a hint without a key is not refused".into());
    }
    // Hints that a library does not know are for another.
    let hinted = plan("hinted", Cache::Drop, &[("comet_unknown", "1"), ("cb_nodes", "1")]);
    let mut file = File::new(t, &hinted, 8, 1).map_err(said)?;
    file.open().map_err(said)?;
    file.set_length(3).map_err(said)?;
    let short = file.read(0..8, Pointer::At(0), Together::Alone);
    if !short.is_err_and(|error| error.to_string().contains("3 bytes of 8 were moved")) {
        return Err("a short read is not noticed".into());
    }
    // A write of another rank makes the file longer.
    t.barrier().map_err(said)?;
    file.write(0..8, Pointer::At(0), Together::All).map_err(said)?;
    file.sync().map_err(said)?;
    file.close().and_then(|()| file.remove()).map_err(said)
}

/// A buffered message without room is refused, and so is room that no call of MPI can attach.
fn room(t: &Mpi) -> Result<(), String> {
    let message = [7; 1000];
    let said = |error: TransportError| error.to_string();
    let send = || t.blocked_send_in(SendMode::Buffered, t.rank(), Tag::new(1), &message);
    let is_refused = |result: comet_core::error::Result<()>| {
        let expected = |error: &TransportError| {
            error.kind == OutOfResources
                && error.to_string().starts_with("there is no room to buffer")
        };
        result.err().filter(expected).map(drop).ok_or("what has no room is not refused")
    };
    t.detach_buffer().map_err(said)?;
    is_refused(send())?;
    is_refused(t.attach_buffer(2, 1 << 30))?;
    is_refused(t.attach_buffer(usize::MAX, 8))?;
    t.attach_buffer(1, message.len()).and_then(|()| send()).map_err(said)?;
    let mut buffer = [0; 1000];
    t.blocked_recv(Source::Rank(t.rank()), Tag::ANY, &mut buffer).map_err(said)?;
    if buffer != message {
        return Err("a buffered message has changed".into());
    }
    t.detach_buffer().map_err(said)
}

fn rank_main(t: &Mpi) -> u8 {
    let verdict = |result: &Result<(), String>| match result {
        Ok(()) => "ok".to_owned(),
        Err(problem) => format!("FAILED: {problem}"),
    };
    let mut report = |name: &str, result: &Result<(), String>| {
        println!("test {name} with {} ranks ... {}", t.n_ranks(), verdict(result));
    };
    let is_all = !env::args().any(|word| word == "long_counts");
    let mut n_failed = 0;
    if is_all {
        n_failed += conformance::run_all(t, &mut report);
        n_failed += files(t, &mut report).expect("the ranks meet");
    }
    let long = long_counts(t);
    let refused = long.as_ref().map_or(0, |n_refused| *n_refused);
    let name = format!("long_counts_are_right_or_refused ({refused} forms)");
    println!(
        "test {name} on rank {} of {} ... {}",
        t.rank(),
        t.n_ranks(),
        verdict(&long.clone().map(drop))
    );
    let elements = elements(t);
    let name = "elements_move_as_many_bytes";
    println!("test {name} on rank {} of {} ... {}", t.rank(), t.n_ranks(), verdict(&elements));
    let transfers = long_transfers(t);
    let name = "long_transfers_of_windows_are_right";
    println!("test {name} on rank {} of {} ... {}", t.rank(), t.n_ranks(), verdict(&transfers));
    let room = room(t);
    let name = "buffered_messages_need_room";
    println!("test {name} on rank {} of {} ... {}", t.rank(), t.n_ranks(), verdict(&room));
    let has_failed = [long.is_err(), elements.is_err(), transfers.is_err(), room.is_err()];
    u8::from(n_failed > 0 || has_failed.contains(&true))
}

fn main() -> ExitCode {
    let watchdog = Some(Duration::from_secs(120));
    let config = JoinConfig::new(|failure, _| {
        eprintln!("{}", failure.message);
        1
    });
    let job = join(&config.with_watchdog(watchdog));
    let job = job.expect("MPI can be initialised");
    let topology = Topology::hypercube(job.n_ranks());
    let config = RunConfig::new(topology).with_watchdog(watchdog);
    ExitCode::from(job.run(&config, rank_main))
}
