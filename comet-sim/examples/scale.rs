//! A barrier and a global sum with messages of 1 KiB on a simulated machine, on any number of ranks:
//! what `scripts/bench-sim.sh` holds against SimGrid's SMPI, for which `scripts/smpi-scale.c` does
//! the same.
//!
//! Usage: `scale MACHINE.toml RANKS [echo BYTES]`; an echo sends `BYTES` there and back instead, on
//! two ranks. Prints the virtual time in nanoseconds (of an echo one way), the number of messages,
//! the seconds that the simulation took, and the bytes of memory that it took for each rank beside
//! the message buffers.

use std::error::Error;
use std::fs;
use std::time::Instant;

use comet_core::error::Result;
use comet_core::topology::Topology;
use comet_core::transport::{Rank, Source, Tag, Transport};
use comet_sim::machine::MachineFile;
use comet_sim::{Outcome, RunConfig};

const BARRIER: Tag = Tag::new(1);
const SUM: Tag = Tag::new(2);
const ECHO: Tag = Tag::new(3);

/// Length of a message: 128 doubles.
const LENGTH_BYTES: usize = 1024;

#[expect(clippy::print_stdout, reason = "an example is a program")]
fn main() -> std::result::Result<(), Box<dyn Error>> {
    let (path, n_ranks, echo_bytes) = arguments()?;
    let machine = MachineFile::read(path.as_ref())?.machine;
    let config = RunConfig::new(machine, Topology::hypercube(n_ranks));
    let (start, start_bytes) = (Instant::now(), peak_bytes()?);
    let outcome = comet_sim::run(&config, |t| {
        let is_right = echo_bytes.map_or_else(|| barrier_and_sum(t), |n| echo(t, n));
        u8::from(!is_right.unwrap_or(false))
    })?;
    let (wall_s, bytes) = (start.elapsed().as_secs_f64(), peak_bytes()? - start_bytes);
    let Outcome::Finished { code: 0, statistics } = outcome else {
        return Err(format!("the simulation went wrong: {outcome:?}").into());
    };
    let n_ways = if echo_bytes.is_some() { 2 } else { 1 };
    let ps = statistics.end_ps / n_ways;
    let own_bytes = (bytes / n_ranks as u64).saturating_sub(2 * LENGTH_BYTES as u64);
    println!("{}.{:03} {} {wall_s:.6} {own_bytes}", ps / 1000, ps % 1000, statistics.n_messages);
    Ok(())
}

/// Path of the machine file, number of ranks, and length of an echo in bytes.
fn arguments() -> std::result::Result<(String, usize, Option<usize>), Box<dyn Error>> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let (path, n_ranks, echo_bytes) = match &arguments[..] {
        [path, ranks] => (path, ranks.parse()?, None),
        [path, ranks, word, bytes] if (&**ranks, &**word) == ("2", "echo") => {
            (path, 2, Some(bytes.parse()?))
        }
        _ => return Err("usage: scale MACHINE.toml RANKS [echo BYTES], an echo on 2 ranks".into()),
    };
    if !usize::is_power_of_two(n_ranks) {
        return Err(format!("the sum needs a power of two of ranks, got {n_ranks}").into());
    }
    Ok((path.clone(), n_ranks, echo_bytes))
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

/// 1, 2, 4 and so on, below `n_ranks`.
fn distances(n_ranks: usize) -> impl Iterator<Item = usize> {
    (0..usize::BITS).map(|bit| 1 << bit).take_while(move |distance| *distance < n_ranks)
}

fn doubles(message: &mut [u8]) -> &mut [f64] {
    bytemuck::cast_slice_mut(message)
}
