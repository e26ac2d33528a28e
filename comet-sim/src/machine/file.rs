//! Machine files: TOML in which each value has a unit and may name its source.
//!
//! `machines/README.md` explains every key. A file describes a [`Machine`] by what can be observed
//! (startup time, time for a byte, time for a hop) and the split of that between sender, network
//! and receiver. Anything else, or a contradiction, is an error that names the line.

use std::cell::Cell;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use toml::de::DeTable;

use super::reader::{Reader, Result, Table};
use super::{Clock, Machine, Node, Shape, TorusDims, disturbance, network, rdma, units};

/// A machine, and what its file says about it.
#[derive(Clone, Debug, PartialEq)]
pub struct MachineFile {
    /// Name, which a user chooses it by.
    pub name: String,
    /// One line of description; empty if the file has none.
    pub summary: String,
    /// The documents that its published values are from.
    pub cite: Vec<String>,
    /// Default number of ranks.
    pub ranks: Option<usize>,
    /// Largest number of ranks.
    pub max_ranks: Option<usize>,
    /// The machine.
    pub machine: Machine,
    /// Number of its values by source, in the order of [`SOURCES`].
    pub sources: [usize; 5],
    /// SHA-256 of the text, in hex.
    pub hash: String,
}

/// Sources of values, as the record of a simulated run names their numbers: a document that the file
/// cites; a calibration; arithmetic, from published or measured values; none (plausible, no more);
/// and one that the file does not state.
pub const SOURCES: [&str; 5] = [
    "n_values_published",
    "n_values_measured",
    "n_values_derived",
    "n_values_assumed",
    "n_values_unstated",
];

/// A machine that cannot be read; displays as one sentence.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MachineError {
    /// The system refused to read this file.
    #[error("cannot read the machine file {} (does it exist, and may you read it?)", .0.display())]
    Io(PathBuf, #[source] io::Error),
    /// No machine of this name is among the names that are listed.
    #[error("there is no machine {0:?} (choose {1}, or give the path of a file such as ./my.toml)")]
    Unknown(String, String),
    /// The text of this file does not describe a machine, by this line (from 1) and for this reason.
    #[error("{0}, line {1}: {2}")]
    Text(String, usize, String),
}

impl MachineFile {
    /// Reads the file `path`.
    ///
    /// # Errors
    /// If the file cannot be read or does not describe a machine.
    pub fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| MachineError::Io(path.into(), source))?;
        Self::parse(&text, &path.to_string_lossy())
    }

    /// Reads `text`, which errors call `origin`.
    ///
    /// ```
    /// # use comet_sim::machine::MachineFile;
    /// let text = r#"
    ///     format = 1
    ///     name = "mine"
    ///     topology = { kind = "flat" }
    ///     [[protocol]]
    ///     kind = "eager"
    ///     t0 = "1.6 us"
    ///     per_byte = { value = "12 GB/s", source = "measured" }
    /// "#;
    /// let file = MachineFile::parse(text, "mine.toml")?;
    /// assert_eq!(file.machine.segment(0).latency_ps, 1_600_000);
    /// assert_eq!(file.sources, [0, 1, 0, 0, 1]);
    /// # Ok::<(), comet_sim::machine::MachineError>(())
    /// ```
    ///
    /// # Errors
    /// If the text does not describe a machine.
    pub fn parse(text: &str, origin: &str) -> Result<Self> {
        let reader = Reader { text, origin, sources: Cell::default() };
        let root = DeTable::parse(text).map_err(|error| reader.toml_error(&error))?;
        let mut file = Table::root(&reader, &root).read(file)?;
        file.sources = reader.sources.get();
        file.hash = Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(file)
    }
}

/// The file without the facts about its text.
fn file(table: &Table<'_>) -> Result<MachineFile> {
    let format: u64 = table.needed("format")?;
    if format != 1 {
        let message = format!("format = {format} is not known (this version reads format = 1)");
        return Err(table.error_at("format", message));
    }
    let name: String = table.needed("name")?;
    if name.trim().is_empty() {
        let message = "name is empty (write the name that users choose the machine by)";
        return Err(table.error_at("name", message));
    }
    let summary: String = table.plain("summary")?.unwrap_or_default();
    if summary.contains('\n') {
        let message = "summary has several lines (write one, and the rest in comments)";
        return Err(table.error_at("summary", message));
    }
    let machine = machine(table, &name)?;
    Ok(MachineFile {
        name,
        summary,
        cite: table.plain("cite")?.unwrap_or_default(),
        ranks: ranks(table, &machine)?,
        max_ranks: table.plain("max_ranks")?,
        machine,
        sources: [0; 5],
        hash: String::new(),
    })
}

fn machine(table: &Table<'_>, name: &str) -> Result<Machine> {
    let topology = table.needed_table("topology")?;
    let segments = network::segments(table)?;
    let rdma = table.table("rdma")?.read(rdma::rdma)?;
    let wires = segments.iter().map(|segment| segment.wire).chain(rdma.per_byte);
    let wire = wires.min().unwrap_or_default();
    Ok(Machine {
        name: name.to_owned(),
        network: topology.read(|table| network::network(table, wire))?,
        segments,
        rdma,
        node: table.table("node")?.read(node)?,
        clock: table.table("clock")?.read(clock)?,
        noise: table.table("noise")?.read(disturbance::noise)?,
        faults: table.table("fault")?.read(disturbance::faults)?,
        envelope_bytes: table.or_zero("envelope", units::size_bytes)?,
    })
}

fn node(table: &Table<'_>) -> Result<Node> {
    const POLL_PS: u64 = 100_000;
    table.read_source()?;
    let node = Node {
        isend_ps: table.or_zero("isend", units::time_ps)?,
        irecv_ps: table.or_zero("irecv", units::time_ps)?,
        wait_ps: table.or_zero("wait", units::time_ps)?,
        poll_ps: table.optional("poll", units::time_ps)?.unwrap_or(POLL_PS),
        copy: table.or_zero("copy", units::per_byte)?,
        copy_piece_ps: table.or_zero("copy_piece", units::time_ps)?,
        daxpy_ps: table.or_zero("daxpy", units::time_ps)?,
        reduce_ps: table.or_zero("reduce", units::time_ps)?,
    };
    if node.poll_ps == 0 {
        let problem = "would let a loop of probes last for ever (write at least \"1 ps\")";
        return Err(table.refuse("poll", problem));
    }
    Ok(node)
}

fn clock(table: &Table<'_>) -> Result<Clock> {
    const PS_PER_NS: u64 = 1_000;
    table.read_source()?;
    let clock = Clock {
        resolution_ps: table.optional("resolution", units::time_ps)?.unwrap_or(PS_PER_NS),
        call_cost_ps: table.or_zero("call_cost", units::time_ps)?,
        offset_spread_ps: table.or_zero("offset_spread", units::time_ps)?,
        drift_ppm: table.or_zero("drift", units::ppm)?,
    };
    if clock.resolution_ps < PS_PER_NS {
        let problem = "is finer than the readings of clocks are (write at least \"1 ns\")";
        return Err(table.refuse("resolution", problem));
    }
    Ok(clock)
}

/// The number of ranks that the file names, or that the dimensions of its torus make.
fn ranks(table: &Table<'_>, machine: &Machine) -> Result<Option<usize>> {
    let torus_ranks = match &machine.network.shape {
        Shape::Torus(TorusDims::Given(dims)) => Some(dims.iter().product()),
        _ => None,
    };
    let Some(ranks) = table.plain("ranks")? else { return Ok(torus_ranks) };
    let most = table.plain("max_ranks")?.unwrap_or(usize::MAX);
    let message = if ranks == 0 {
        "ranks = 0 (write at least 1)".to_owned()
    } else if ranks > most {
        format!("ranks = {ranks} is more than max_ranks = {most} (raise one or lower the other)")
    } else if torus_ranks.is_some_and(|product| product != ranks) {
        format!("ranks = {ranks} is not the product of dims (leave ranks out, or write dims = 3)")
    } else {
        return Ok(Some(ranks));
    };
    Err(table.error_at("ranks", message))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::machine::{Faults, Network, Noise, PerByte, Protocol, Segment, Switching};

    /// The least that a file contains, with `head` in line 3 and `tables` from line 10 on.
    fn file(head: &str, tables: &str) -> String {
        format!(
            "format = 1\nname = \"mine\"\n{head}\n[topology]\nkind = \"flat\"\n[[protocol]]\n\
             kind = \"eager\"\nt0 = \"10 us\"\nper_byte = \"1 us/B\"\n{tables}\n"
        )
    }

    fn parse(text: &str) -> MachineFile {
        MachineFile::parse(text, "my.toml").unwrap()
    }

    /// End of an error about the form.
    pub(in super::super) const README: &str = "(comet-sim/machines/README.md explains every key)";

    /// Checks rows `TEXT => ERROR`: the file with the text, in which `; ` ends a line, is refused with
    /// the error, which begins with the number of a line; `README` stands for [`README`].
    #[track_caller]
    pub(in super::super) fn check_errors(file: impl Fn(&str) -> String, rows: &str) {
        for row in rows.lines().map(str::trim).filter(|row| !row.is_empty()) {
            let (text, expected) = row.split_once("=>").expect("a row has an arrow");
            let text = file(&text.trim().replace("; ", "\n"));
            let error = MachineFile::parse(&text, "my.toml").unwrap_err();
            let expected = expected.trim().replace("README", README);
            assert_eq!(error.to_string(), format!("my.toml, line {expected}"), "{row}");
        }
    }

    #[test]
    fn what_a_file_leaves_out_costs_nothing() {
        let file = parse(&file("", ""));
        let machine = &file.machine;
        assert_eq!((file.ranks, file.max_ranks, file.summary.as_str()), (None, None, ""));
        assert_eq!(machine.node, Node { poll_ps: 100_000, ..Node::default() });
        let clock =
            Clock { resolution_ps: 1_000, call_cost_ps: 0, offset_spread_ps: 0, drift_ppm: 0.0 };
        assert_eq!(machine.clock, clock);
        assert_eq!(machine.network.switching, None);
        assert_eq!((&machine.noise, &machine.faults), (&Noise::default(), &Faults::default()));
        assert_eq!(machine.envelope_bytes, 0);
        assert_eq!(file.sources, [0, 0, 0, 0, 2]);
    }

    const ALL: &str = include_str!("tests/all.toml");

    #[test]
    fn every_key_arrives() {
        let file = parse(ALL);
        assert_eq!((file.name.as_str(), file.summary.as_str()), ("all", "all keys"));
        assert_eq!((file.ranks, file.max_ranks, file.cite.len()), (Some(8), Some(16), 2));
        assert_eq!(file.sources, [2, 1, 4, 4, 13]);
        let Machine { name, network, segments, node, clock, envelope_bytes, .. } = file.machine;
        assert_eq!((&*name, envelope_bytes, segments.len()), ("all", 16, 1));
        let us = |us: u64| us * 1_000_000;
        let ps_per_byte = |ps: u64| PerByte(ps << 20);
        let expected = Segment {
            up_to_bytes: None,
            protocol: Protocol::Buffered,
            o_send_ps: us(10),
            o_recv_ps: us(20),
            handshake_ps: us(30),
            latency_ps: us(40),
            hop_ps: us(3),
            gap_ps: us(4),
            send: ps_per_byte(100_000),
            wire: ps_per_byte(700_000),
            recv: ps_per_byte(200_000),
            unexpected: ps_per_byte(5_000),
        };
        assert_eq!(segments[0], expected);
        let Node { isend_ps, irecv_ps, wait_ps, poll_ps, copy_piece_ps, .. } = node;
        let times = [isend_ps, irecv_ps, wait_ps, poll_ps, copy_piece_ps];
        assert_eq!(times, [1, 2, 3, 4, 6].map(us));
        assert_eq!((node.daxpy_ps, node.reduce_ps, node.copy), (us(7), us(8), ps_per_byte(5_000)));
        assert_eq!((clock.resolution_ps, clock.call_cost_ps), (us(1), 10_000));
        assert_eq!((clock.offset_spread_ps, clock.drift_ppm), (us(1000), 50.0));
        let switching = Some(Switching::Circuit);
        let link_per_byte = ps_per_byte(500_000);
        assert_eq!(network, Network { shape: Shape::Hypercube, switching, link_per_byte });
    }

    #[test]
    fn the_example_for_users_is_a_machine() {
        let readme = include_str!("../../machines/README.md");
        let (_, example) = readme.split_once("```toml\n").unwrap();
        let (example, _) = example.split_once("```").unwrap();
        let machine = parse(example).machine;
        assert_eq!((machine.name.as_str(), machine.segments.len()), ("my", 2));
    }

    #[test]
    fn the_hash_is_that_of_the_text() {
        let hash = |line| parse(&file(line, "")).hash;
        assert_eq!(hash("").len(), 64);
        assert_eq!(hash(""), hash(""));
        assert_ne!(hash(""), hash("# A comment."));
    }

    #[test]
    fn an_error_names_line_value_and_remedy() {
        check_errors(|tables| file("", tables), include_str!("tests/tables.txt"));
        check_errors(|head| file(head, ""), include_str!("tests/heads.txt"));
        check_errors(str::to_owned, include_str!("tests/texts.txt"));
    }
}
