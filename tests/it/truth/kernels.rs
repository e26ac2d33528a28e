//! Operations of the kernels, by their descriptions: one of each, in steps of the oracle.
//!
//! The pictures are those of the thesis, sections 3.3.1 to 3.3.11, as the files of the kernels draw
//! them, and those of PARKBENCH; contention, whose ranks do not repeat one operation, is in
//! `contention.rs`.

use comet_core::driver::Pace;
use comet_core::kernel::{Case, HOPS, LENGTH_BYTES, LOCAL_N, Timing, VECTOR_LENGTH};
use comet_core::rounds;
use comet_core::topology::Neighbours;
use comet_core::transport::Rank;
use comet_kernels::health::pairs::ROUND;
use comet_kernels::model::pairs::PAIRS;
use comet_kernels::parkbench::poly1::ORDER;

use super::contention;
use super::oracle::{Label, Step};
use super::script::Script;

const MESSAGE: Label = 10;
const GOT_IT: Label = 11;
const NORTHWARD: Label = 12;
const SOUTHWARD: Label = 13;
const EASTWARD: Label = 14;
const WESTWARD: Label = 15;

/// Steps of a rank in one round of a case: it receives the decision, takes its samples of each
/// series, and reports them.
pub(crate) fn round(script: &mut Script<'_>, case: &Case, pace: Pace) {
    script.decision(case.info.axes.len());
    let samples = (0..case.info.series.len()).map(|series| {
        let n_before = script.steps.len();
        measure(script, case, (pace, series));
        let is_reading = |step: &&Step| matches!(step, Step::Read);
        script.steps[n_before..].iter().filter(is_reading).count() as u64 / 2
    });
    let samples: Vec<u64> = samples.collect();
    script.report(samples.into_iter());
}

/// Steps of a rank for one series of a case.
fn measure(script: &mut Script<'_>, case: &Case, (pace, series): (Pace, usize)) {
    let of_series = &case.info.series[series];
    if case.info.name == "contention" {
        contention::series(script, case, pace, series);
    } else if let Some(operation) = operation(script, case, of_series.name) {
        // A rank without a pair only starts with the others.
        let is_idle = case.info.name == "pairs" && operation.is_empty();
        let reads = script.rank == 0 || !(is_idle || of_series.definition.is_of_one_rank());
        timed(script, &operation, case.info.timing, (pace, series), reads);
    }
}

/// The timed loop of CoMet, in which the rank `reads` its clock or only takes part.
pub(crate) fn timed(
    script: &mut Script<'_>,
    operation: &[Step],
    timing: Timing,
    (pace, series): (Pace, usize),
    reads: bool,
) {
    let reading = reads.then_some(Step::Read);
    for n_sample in 0..pace.settle[series] + pace.n_samples {
        let is_sample = n_sample >= pace.settle[series];
        if timing == Timing::Single {
            script.barrier();
        }
        script.steps.extend(reading.filter(|_| is_sample));
        for _ in 0..if is_sample { pace.repetitions } else { 1 } {
            script.steps.extend(operation);
        }
        script.steps.extend(reading.filter(|_| is_sample));
    }
}

/// One operation of a series, if the rank has a part in it.
fn operation(script: &Script<'_>, case: &Case, series: &str) -> Option<Vec<Step>> {
    let mut script = Script::new(script.bench, script.rank);
    let length = |axis| case.find(axis).unwrap_or(0);
    let (n_bytes, n_values, n) = (length(&LENGTH_BYTES), length(&VECTOR_LENGTH), length(&LOCAL_N));
    match (case.info.suite, series) {
        (_, "echo") => echo(&mut script, length(&HOPS), n_bytes)?,
        ("comet", "exchange") if case.info.name == "overlap" => {
            let peer = peer(&script, 1)?;
            unblocked(&mut script, peer, n_bytes, None);
        }
        (_, "exchange") => {
            let peer = peer(&script, length(&HOPS))?;
            script.exchange(peer, peer, MESSAGE, n_bytes);
        }
        (_, "broadcast") => {
            script.broadcast(n_bytes);
            script.barrier();
        }
        (_, "reduction") => script.global_sum(n_values),
        ("comet", "barrier") => script.barrier(),
        ("naive", "barrier") => script.dissemination(),
        (_, "daxpy") => peer(&script, 1).map(|_| script.daxpy(n_values))?,
        (_, "synchronous") => {
            let peer = peer(&script, 1)?;
            script.exchange(peer, peer, MESSAGE, n_bytes);
            script.daxpy(n_values);
        }
        (_, "asynchronous") => {
            let peer = peer(&script, 1)?;
            unblocked(&mut script, peer, n_bytes, Some(n_values));
        }
        ("health", "pairs") => {
            let peer = rounds::partner(script.rank, script.n_ranks(), case.length(&ROUND))?;
            round_trip(&mut script, peer, n_bytes);
        }
        // 400 sums of 1000 doubles.
        ("health", "noise") => script.daxpy(400_000),
        (_, "pairs") => pairs(&mut script, case.length(&PAIRS), n_bytes),
        ("model", train) => {
            injection(&mut script, train, n_bytes, n_values)?;
        }
        ("parkbench", _) => parkbench(&mut script, case, n_bytes)?,
        (_, "update_guard") => update_guard(&mut script, n),
        (_, "shift") => shift(&mut script, case.values().next()?.1 == 0, n),
        (_, "transpose") => transpose(&mut script, n),
        (_, "row_broadcast") => row_broadcast(&mut script, n),
        (_, "col_broadcast") => col_broadcast(&mut script, n),
        (_, other) => panic!("no description of {other}"),
    }
    Some(script.steps)
}

/// The other one of rank 0 and the rank at `hops` hops from it.
fn peer(script: &Script<'_>, hops: u64) -> Option<Rank> {
    let partner = script.bench.topology.hop_node(0, usize::try_from(hops).ok()?)?;
    match script.rank {
        0 => Some(partner),
        rank => (rank == partner).then_some(0),
    }
}

fn echo(script: &mut Script<'_>, hops: u64, n_bytes: u64) -> Option<()> {
    let peer = peer(script, hops)?;
    if peer == script.rank {
        script.exchange(peer, peer, MESSAGE, n_bytes);
        script.exchange(peer, peer, MESSAGE, n_bytes);
    } else {
        round_trip(script, peer, n_bytes);
    }
    Some(())
}

/// A message from the lower one of two ranks to the other one, and back.
fn round_trip(script: &mut Script<'_>, peer: Rank, n_bytes: u64) {
    if script.rank < peer {
        script.send(peer, MESSAGE, n_bytes);
        script.recv(peer, MESSAGE);
    } else {
        script.recv(peer, MESSAGE);
        script.send(peer, MESSAGE, n_bytes);
    }
}

/// Round trips of so many pairs, between the first and the second half of the ranks; the other
/// ranks do nothing.
fn pairs(script: &mut Script<'_>, n_pairs: usize, n_bytes: u64) {
    let half = script.n_ranks() / 2;
    match script.rank {
        rank if rank < n_pairs => round_trip(script, rank + half, n_bytes),
        rank if (half..half + n_pairs).contains(&rank) => round_trip(script, rank - half, n_bytes),
        _ => (),
    }
}

/// An exchange by unblocked calls around a DAXPY.
fn unblocked(script: &mut Script<'_>, peer: Rank, n_bytes: u64, n_values: Option<u64>) {
    script.unblocked_send(peer, MESSAGE, n_bytes);
    script.unblocked_recv(peer, MESSAGE);
    n_values.into_iter().for_each(|n_values| script.daxpy(n_values));
    script.wait_send();
    script.wait_recv();
}

/// A series of trains of 16 messages, with a DAXPY between any two.
fn injection(script: &mut Script<'_>, series: &str, n_bytes: u64, n_values: u64) -> Option<()> {
    let peer = peer(script, 1)?;
    let (n_out, n_back) = match series {
        "round_trip" => (1, 1),
        "sends" => (16, 1),
        "receives" => (1, 16),
        _ if script.rank == 0 => {
            (1..16).for_each(|_| script.daxpy(n_values));
            return Some(());
        }
        _ => return None,
    };
    if script.rank == 0 {
        apart(script, n_out, n_values, |script| script.send(peer, MESSAGE, n_bytes));
        apart(script, n_back, n_values, |script| script.recv(peer, MESSAGE));
    } else {
        (0..n_out).for_each(|_| script.recv(peer, MESSAGE));
        script.send(peer, MESSAGE, n_bytes);
        if n_back > 1 {
            apart(script, n_back - 1, n_values, |script| script.send(peer, MESSAGE, n_bytes));
        }
    }
    Some(())
}

/// `n` times `step`, with a DAXPY between any two.
fn apart(script: &mut Script<'_>, n: u64, n_values: u64, step: impl Fn(&mut Script<'_>)) {
    step(script);
    for _ in 1..n {
        script.daxpy(n_values);
        step(script);
    }
}

/// The kernels of PARKBENCH, each of which has one series.
fn parkbench(script: &mut Script<'_>, case: &Case, n_bytes: u64) -> Option<()> {
    match case.info.name {
        "comms1" => echo(script, 1, n_bytes)?,
        "comms2" => {
            let peer = peer(script, 1)?;
            script.exchange(peer, peer, MESSAGE, n_bytes);
            script.exchange(peer, peer, MESSAGE, n_bytes);
        }
        "comms3" => saturation(script, n_bytes),
        "poly1" if script.rank == 0 => polynomial(script, case),
        "poly1" => return None,
        "poly3" => poly3(script, case)?,
        "synch1" => script.barrier(),
        other => panic!("no description of {other}"),
    }
    Some(())
}

/// A message to every other rank, and one from each.
fn saturation(script: &mut Script<'_>, n_bytes: u64) {
    let (rank, n_ranks) = (script.rank, script.n_ranks());
    let others = 1..n_ranks;
    for distance in others.clone() {
        script.unblocked_send((rank + distance) % n_ranks, MESSAGE, n_bytes);
    }
    for distance in others.clone() {
        script.recv((rank + n_ranks - distance) % n_ranks, MESSAGE);
    }
    others.for_each(|_| script.wait_send());
}

/// Two flops for each order and element, as fast as those of a DAXPY.
fn polynomial(script: &mut Script<'_>, case: &Case) {
    script.daxpy(case.value(&ORDER) * case.value(&VECTOR_LENGTH));
}

fn poly3(script: &mut Script<'_>, case: &Case) -> Option<()> {
    let (peer, n_bytes) = (peer(script, 1)?, 8 * case.value(&VECTOR_LENGTH));
    if script.rank == 0 {
        script.send(peer, MESSAGE, n_bytes);
        script.recv(peer, MESSAGE);
    } else {
        script.recv(peer, MESSAGE);
        polynomial(script, case);
        script.send(peer, MESSAGE, n_bytes);
    }
    Some(())
}

fn update_guard(script: &mut Script<'_>, n: u64) {
    let Neighbours { top, bottom, pred, succ, .. } = script.mesh().neighbours(script.rank);
    // A row is one piece, and a column one for each element.
    let leaving =
        [(top, NORTHWARD, 1), (bottom, SOUTHWARD, 1), (succ, EASTWARD, n), (pred, WESTWARD, n)];
    let arriving =
        [(top, SOUTHWARD, 1), (bottom, NORTHWARD, 1), (succ, WESTWARD, n), (pred, EASTWARD, n)];
    for (to, label, n_pieces) in leaving {
        script.copy(8 * n, n_pieces);
        script.unblocked_send(to, label, 8 * n);
    }
    for (from, label, _) in arriving {
        script.unblocked_recv(from, label);
    }
    leaving.iter().for_each(|_| script.wait_send());
    arriving.iter().for_each(|_| script.wait_recv());
    for (_, _, n_pieces) in arriving {
        script.copy(8 * n, n_pieces);
    }
}

fn shift(script: &mut Script<'_>, is_north: bool, n: u64) {
    let Neighbours { top, bottom, pred, succ, .. } = script.mesh().neighbours(script.rank);
    let (to, from) = if is_north { (top, bottom) } else { (succ, pred) };
    script.exchange(to, from, MESSAGE, block_bytes(n));
}

/// Block (i, j) goes to the rank at (j, i) of the transposed mesh.
fn transpose(script: &mut Script<'_>, n: u64) {
    let (mesh, transposed) = (script.mesh(), script.mesh().transposed());
    let (row, col) = mesh.position(script.rank);
    let (new_row, new_col) = transposed.position(script.rank);
    let (to, from) = (transposed.rank_at(col, row), mesh.rank_at(new_col, new_row));
    if to != script.rank {
        script.exchange(to, from, MESSAGE, block_bytes(n));
    }
    script.copy(block_bytes(n), block_bytes(n) / 8);
}

fn row_broadcast(script: &mut Script<'_>, n: u64) {
    let mesh = script.mesh();
    let (_, col) = mesh.position(script.rank);
    let line = (0..mesh.rows()).map(|row| mesh.rank_at(row, col)).collect();
    cast(script, line, n, |_| ());
}

fn col_broadcast(script: &mut Script<'_>, n: u64) {
    let mesh = script.mesh();
    let (row, _) = mesh.position(script.rank);
    let line = (0..mesh.cols()).map(|col| mesh.rank_at(row, col)).collect();
    // Packed by the owner, and unpacked by the others.
    cast(script, line, n, |script| script.copy(8 * n, n));
}

/// The rank that has the middle one of the rows or columns of a line of the mesh sends its piece to
/// the others, and each of them tells it when the piece is in its place.
fn cast(script: &mut Script<'_>, mut line: Vec<Rank>, n: u64, copy: impl Fn(&mut Script<'_>)) {
    let owner = line.remove(line.len() / 2);
    if script.rank == owner {
        copy(script);
        line.iter().for_each(|receiver| script.send(*receiver, MESSAGE, 8 * n));
        return line.iter().for_each(|_| script.recv_any(GOT_IT));
    }
    script.recv(owner, MESSAGE);
    copy(script);
    script.send(owner, GOT_IT, 0);
}

/// A block with its guard ring.
fn block_bytes(n: u64) -> u64 {
    8 * (n + 2) * (n + 2)
}
