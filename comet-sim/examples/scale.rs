//! A barrier and a global sum with messages of 1 KiB on a simulated machine, on any number of ranks:
//! what `scripts/bench-sim.sh` holds against SimGrid's SMPI, for which `scripts/smpi-scale.c` does
//! the same.
//!
//! Usage: `scale MACHINE.toml RANKS [WHAT BYTES]`. With `echo` two ranks send `BYTES` there and back
//! instead; with `allreduce=ring`, or another operation and algorithm of the library, all ranks carry
//! that out once, with parts of `BYTES`, which are doubles; with `puts` each rank puts `BYTES` into the
//! part of each other one, between two fences. Prints the virtual time in nanoseconds (of
//! an echo one way), the number of messages, the seconds that the simulation took, and the bytes of
//! memory that it took for each rank beside two buffers of 1 KiB.

use std::error::Error;
use std::fs;
use std::time::Instant;

use comet_core::collective::algorithm::{self, Algorithm};
use comet_core::collective::{Collective, Kind, Parts, Reducer, Running};
use comet_core::error::Result;
use comet_core::topology::Topology;
use comet_core::transport::{Rank, Source, Tag, Transport};
use comet_core::window::{Fence, Memory, Remote, Window};
use comet_sim::machine::MachineFile;
use comet_sim::{Outcome, RunConfig};

const BARRIER: Tag = Tag::new(1);
const SUM: Tag = Tag::new(2);
const ECHO: Tag = Tag::new(3);

/// Length of a message: 128 doubles.
const LENGTH_BYTES: usize = 1024;

#[expect(clippy::print_stdout, reason = "an example is a program")]
fn main() -> std::result::Result<(), Box<dyn Error>> {
    let (path, n_ranks, program) = arguments()?;
    let machine = MachineFile::read(path.as_ref())?.machine;
    let config = RunConfig::new(machine, Topology::hypercube(n_ranks));
    let (start, start_bytes) = (Instant::now(), peak_bytes()?);
    let outcome = comet_sim::run(&config, |t| {
        let is_right = match &program {
            Program::BarrierAndSum => barrier_and_sum(t),
            Program::Echo(length_bytes) => echo(t, *length_bytes),
            Program::Puts(length_bytes) => puts(t, *length_bytes),
            Program::Collective(by, call) => collective(t, by, call),
        };
        u8::from(!is_right.unwrap_or(false))
    })?;
    let (wall_s, bytes) = (start.elapsed().as_secs_f64(), peak_bytes()? - start_bytes);
    let Outcome::Finished { code: 0, statistics } = outcome else {
        return Err(format!("the simulation went wrong: {outcome:?}").into());
    };
    let n_ways = if matches!(program, Program::Echo(_)) { 2 } else { 1 };
    let ps = statistics.end_ps / n_ways;
    let own_bytes = (bytes / n_ranks as u64).saturating_sub(2 * LENGTH_BYTES as u64);
    println!("{}.{:03} {} {wall_s:.6} {own_bytes}", ps / 1000, ps % 1000, statistics.n_messages);
    Ok(())
}

/// The program of each rank.
enum Program {
    BarrierAndSum,
    /// There and back, with so many bytes.
    Echo(usize),
    /// To all others, of so many bytes.
    Puts(usize),
    /// One collective by an algorithm of the library.
    Collective(&'static Algorithm, Box<Collective>),
}

/// Path of the machine file, number of ranks, and program.
fn arguments() -> std::result::Result<(String, usize, Program), Box<dyn Error>> {
    const USAGE: &str = "usage: scale MACHINE.toml RANKS [echo|puts|OPERATION=ALGORITHM BYTES], \
                         an echo on 2 ranks";
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let (path, ranks, what) = match &arguments[..] {
        [path, ranks] => (path, ranks, None),
        [path, ranks, what, bytes] => (path, ranks, Some((&**what, bytes.parse()?))),
        _ => return Err(USAGE.into()),
    };
    let n_ranks: usize = ranks.parse()?;
    if !n_ranks.is_power_of_two() {
        return Err(format!("the sum needs a power of two of ranks, got {n_ranks}").into());
    }
    let program = match what {
        None => Program::BarrierAndSum,
        Some(("echo", length_bytes)) if n_ranks == 2 => Program::Echo(length_bytes),
        Some(("puts", length_bytes)) => Program::Puts(length_bytes),
        Some((what, length_bytes)) => {
            let (operation, name) = what.split_once('=').ok_or(USAGE)?;
            let mut kinds = Kind::ALL.iter().filter(|kind| kind.name() == operation);
            let by = kinds.next().and_then(|kind| Some((*kind, algorithm::find(*kind, name)?)));
            let (kind, by) = by.ok_or_else(|| format!("there is no algorithm {what}"))?;
            let call = Collective::new(kind, Parts::Equal(length_bytes)).with_reducer(Reducer::SUM);
            by.admit(&call, n_ranks)?;
            Program::Collective(by, Box::new(call))
        }
    };
    Ok((path.clone(), n_ranks, program))
}

/// The most memory that this process has had so far (Linux, proc(5)).
fn peak_bytes() -> std::result::Result<u64, Box<dyn Error>> {
    let status = fs::read_to_string("/proc/self/status")?;
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .ok_or("there is no VmHWM in /proc/self/status (Linux has it)")?;
    Ok(1024 * peak.trim_end_matches("kB").trim().parse::<u64>()?)
}

/// True if the sum is right.
fn barrier_and_sum<T: Transport>(t: &T) -> Result<bool> {
    let mut values = t.message_buffer(LENGTH_BYTES)?;
    let mut received = t.message_buffer(LENGTH_BYTES)?;
    doubles(&mut values).fill(t.rank() as f64);
    barrier(t, &values, &mut received)?;
    global_sum(t, &mut values, &mut received)?;
    let expected = (t.n_ranks() * (t.n_ranks() - 1) / 2) as f64;
    Ok(doubles(&mut values).iter().all(|value| *value == expected))
}

/// A dissemination barrier (Hensgen, Finkel and Manber 1988) of messages that have a length.
fn barrier<T: Transport>(t: &T, message: &[u8], buffer: &mut [u8]) -> Result<()> {
    let (rank, n_ranks) = (t.rank(), t.n_ranks());
    for distance in distances(n_ranks) {
        let to = (rank + distance) % n_ranks;
        let from = (rank + n_ranks - distance) % n_ranks;
        t.blocked_exchange(to, message, Source::Rank(from), buffer, BARRIER)?;
    }
    Ok(())
}

/// Recursive doubling (Thakur, Rabenseifner and Gropp 2005, section 4.5).
fn global_sum<T: Transport>(t: &T, values: &mut [u8], received: &mut [u8]) -> Result<()> {
    for distance in distances(t.n_ranks()) {
        let partner: Rank = t.rank() ^ distance;
        t.blocked_exchange(partner, values, Source::Rank(partner), received, SUM)?;
        for (sum, value) in doubles(values).iter_mut().zip(doubles(received)) {
            *sum += *value;
        }
    }
    Ok(())
}

/// A message to rank 1 and back.
fn echo<T: Transport>(t: &T, length_bytes: usize) -> Result<bool> {
    let mut message = t.message_buffer(length_bytes)?;
    let peer = 1 - t.rank();
    if t.rank() == 0 {
        t.blocked_send(peer, ECHO, &message)?;
    }
    t.blocked_recv(Source::Rank(peer), ECHO, &mut message)?;
    if t.rank() == 1 {
        t.blocked_send(peer, ECHO, &message)?;
    }
    Ok(true)
}

/// A put of this rank's bytes to each other rank. True if theirs have come.
fn puts<T: Transport>(t: &T, length_bytes: usize) -> Result<bool> {
    let (rank, n_ranks) = (t.rank(), t.n_ranks());
    let byte = |rank: Rank| rank.to_le_bytes()[0] | 1;
    let mut window = Window::new(t, n_ranks * length_bytes, length_bytes, Memory::Created)?;
    window.open()?;
    window.origin().fill(byte(rank));
    window.fence(Fence::First)?;
    for ahead in 1..n_ranks {
        let to = Remote { rank: (rank + ahead) % n_ranks, at: rank * length_bytes };
        window.put(0..length_bytes, to)?;
    }
    window.fence(Fence::Last)?;
    let mut part = vec![0; n_ranks * length_bytes];
    window.read(0, &mut part);
    let is_right = |(from, bytes): (Rank, &[u8])| {
        from == rank || bytes.iter().all(|found| *found == byte(from))
    };
    let are_right = part.chunks_exact(length_bytes.max(1)).enumerate().all(is_right);
    window.close()?;
    Ok(are_right)
}

/// `call` once, by the algorithm `by`, of messages whose doubles are the number of their rank. True if
/// the result is right, as far as all operations agree: sums, or parts by their senders.
fn collective<T: Transport>(t: &T, by: &Algorithm, call: &Collective) -> Result<bool> {
    let (rank, n_ranks) = (t.rank(), t.n_ranks());
    let mut running = Running::new(t, by.plan(call, rank, n_ranks))?;
    let mut input = t.message_buffer(call.input_bytes(rank, n_ranks))?;
    let mut output = t.message_buffer(call.output_bytes(rank, n_ranks))?;
    doubles(&mut input).fill(rank as f64);
    doubles(&mut output).fill(rank as f64);
    running.run(t, &input, &mut output)?;
    let part_of = |index: usize| match call.kind() {
        Kind::Broadcast => call.root() as f64,
        kind if kind.is_reduction() => (n_ranks * (n_ranks - 1) / 2) as f64,
        _ => (index / (call.parts().length(0) / size_of::<f64>())) as f64,
    };
    let output = doubles(&mut output);
    Ok(output.iter().enumerate().all(|(index, value)| *value == part_of(index)))
}

/// 1, 2, 4 and so on, below `n_ranks`.
fn distances(n_ranks: usize) -> impl Iterator<Item = usize> {
    (0..usize::BITS).map(|bit| 1 << bit).take_while(move |distance| *distance < n_ranks)
}

fn doubles(message: &mut [u8]) -> &mut [f64] {
    bytemuck::cast_slice_mut(message)
}
