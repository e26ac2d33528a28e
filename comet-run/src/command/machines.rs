//! `machines`: the machines that can be simulated; `reproduce`: published results beside theirs.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::Context as _;
use comet_sim::machine::{ALIASES, MACHINES, Machine, MachineFile, Shape};
use comet_studies::thesis::{self, Curves};

use crate::cli::{MachinesArgs, ReproduceArgs};
use crate::exit;
use crate::terminal;
use crate::world;

/// Prints one line per machine, or all of one.
pub(crate) fn machines(args: &MachinesArgs) -> anyhow::Result<u8> {
    let text = match &args.machine {
        Some(name) => details(&world::machine(name)?),
        None => list()?,
    };
    terminal::print(&text)?;
    Ok(exit::OK)
}

fn list() -> anyhow::Result<String> {
    let mut text = format!(
        "{:<16} {:<10} {:>6} {:>9} {:>9}  {}\n",
        "machine", "topology", "ranks", "t0 us", "MB/s", "what it is"
    );
    for (name, _) in MACHINES {
        let file = world::machine(name)?;
        let ranks = file.ranks.map_or_else(|| "any".to_owned(), |n| n.to_string());
        let (startup_us, megabytes_per_s) = (startup_us(&file), megabytes_per_s(&file));
        let (shape, summary) = (shape_name(&file), &file.summary);
        writeln!(
            text,
            "{name:<16} {shape:<10} {ranks:>6} {startup_us:>9.2} {megabytes_per_s:>9.1}  {summary}"
        )
        .expect("a string takes any text");
    }
    for (alias, name) in ALIASES {
        writeln!(text, "{alias:<16} = {name}").expect("a string takes any text");
    }
    Ok(text
        + "\nt0 is the startup time of an empty message between neighbours, MB/s the asymptotic \
           bandwidth.\nSources: comet-run machines NAME. Simulate one: comet-run all --machine NAME.\n")
}

fn details(file: &MachineFile) -> String {
    let [published, measured, derived, assumed, unstated] = file.sources;
    let mut text = format!(
        "{}: {}\n\nsha256   {}\nvalues   {published} published, {measured} measured, {derived} \
         derived, {assumed} assumed, {unstated} without a source\n\n",
        file.name, file.summary, file.hash
    );
    for citation in &file.cite {
        writeln!(text, "cites    {citation}").expect("a string takes any text");
    }
    text += "\nup to bytes  protocol     t0 us      us/B   us/hop\n";
    for segment in &file.machine.segments {
        let up_to = segment.up_to_bytes.map_or_else(|| "any".to_owned(), |n| n.to_string());
        let protocol = format!("{:?}", segment.protocol).to_lowercase();
        let (startup_us, hop_us) = (us(segment.startup_ps()), us(segment.hop_ps));
        let byte_us = segment.per_byte_ps() / 1e6;
        writeln!(
            text,
            "{up_to:>11}  {protocol:<10} {startup_us:>7.3} {byte_us:>9.6} {hop_us:>8.3}"
        )
        .expect("a string takes any text");
    }
    text + &transfers(&file.machine)
}

/// Costs of transfers of windows, by length as those of messages.
fn transfers(machine: &Machine) -> String {
    let how = if machine.rdma.is_emulated { "served in calls" } else { "served by interfaces" };
    let mut text =
        format!("\ntransfers of windows, {how}\nup to bytes  o us     L us      us/B   us/hop\n");
    for law in machine.transfer_segments() {
        let up_to = law.up_to_bytes.map_or_else(|| "any".to_owned(), |n| n.to_string());
        let [o_us, latency_us, hop_us] = [law.o_send_ps, law.latency_ps, law.hop_ps].map(us);
        let byte_us = law.per_byte_ps() / 1e6;
        writeln!(text, "{up_to:>11}  {o_us:>6.3} {latency_us:>7.3} {byte_us:>9.6} {hop_us:>8.3}")
            .expect("a string takes any text");
    }
    text
}

fn shape_name(file: &MachineFile) -> &'static str {
    match file.machine.network.shape {
        Shape::Flat => "flat",
        Shape::Hypercube => "hypercube",
        Shape::Torus(_) => "torus",
        Shape::FatTree { .. } => "fattree",
    }
}

/// Startup time of an empty message, in microseconds.
fn startup_us(file: &MachineFile) -> f64 {
    us(file.machine.segment(0).startup_ps())
}

/// Bandwidth of very long messages.
fn megabytes_per_s(file: &MachineFile) -> f64 {
    1e6 / file.machine.segment(u64::MAX / 2).per_byte_ps()
}

fn us(ps: u64) -> f64 {
    ps as f64 / 1e6
}

/// Regenerates the figures of the thesis, prints their table, and writes their curves; returns the
/// exit code.
pub(crate) fn reproduce(args: &ReproduceArgs) -> anyhow::Result<u8> {
    let machine = args.machine.as_deref().map(world::machine).transpose()?;
    let found = thesis::reproduce(machine.as_ref())?;
    terminal::print(&found.text)?;
    if let Some(dir) = &args.csv {
        write_curves(dir, &found.curves)?;
    }
    Ok(if found.n_off == 0 { exit::OK } else { exit::OFF })
}

/// Writes a file for each figure into the folder `dir`, which is made if it is not there.
fn write_curves(dir: &Path, curves: &[Curves]) -> anyhow::Result<()> {
    fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
    curves.iter().try_for_each(|curves| {
        let path = dir.join(format!("figure-{}.csv", curves.figure()));
        fs::write(&path, curves.csv()).with_context(|| format!("cannot write {}", path.display()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_machine_has_a_line() {
        let text = list().unwrap();
        for (name, _) in MACHINES {
            assert!(text.lines().any(|line| line.starts_with(name)), "{name}");
        }
        assert!(text.contains("\nipsc860          = ipsc860-fit\n"), "{text}");
        let of_thesis = text.lines().find(|line| line.starts_with("ipsc860-fit")).unwrap();
        let words: Vec<&str> = of_thesis.split_whitespace().take(5).collect();
        assert_eq!(words, ["ipsc860-fit", "hypercube", "16", "79.00", "2.4"]);
    }

    #[test]
    fn the_details_of_a_machine_name_its_sources() {
        let text = details(&world::machine("ipsc860").unwrap());
        for part in ["thesis", "published", "156.000  0.410000   25.000"] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
