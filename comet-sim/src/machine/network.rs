//! Network of a machine file: its topology, and the costs of messages by length.

use super::reader::{Result, Table};
use super::units;
use super::{Network, PerByte, Protocol, Segment, Shape, Switching, TorusDims};

/// More dimensions than any torus was built with.
const MOST_DIMS: usize = 6;

/// The segments of the `[[protocol]]` tables: each message belongs to one of them.
pub(super) fn segments(file: &Table<'_>) -> Result<Vec<Segment>> {
    let tables = file.tables("protocol")?;
    if tables.is_empty() {
        return Err(file.error("there is no [[protocol]] (write one, with kind, t0 and per_byte)"));
    }
    let last = tables.len() - 1;
    let mut segments: Vec<Segment> = Vec::new();
    for (index, table) in tables.into_iter().enumerate() {
        let before = segments.last().and_then(|segment| segment.up_to_bytes);
        segments.push(table.read(|table| segment(table, index == last, before))?);
    }
    Ok(segments)
}

/// The topology, whose links are at least as quick as `wire`, the quickest of all protocols and of
/// transfers.
pub(super) fn network(table: &Table<'_>, wire: PerByte) -> Result<Network> {
    table.read_source()?;
    let switching = table.plain("switching")?;
    let shape = shape(table, switching)?;
    let link_per_byte = table.optional("link", units::per_byte)?.unwrap_or(wire);
    if link_per_byte > wire {
        let wire = per_byte_text(wire);
        let problem = format!("is slower than a protocol's wire, {wire} (raise link, or per_byte)");
        return Err(table.refuse("link", &problem));
    }
    Ok(Network { shape, switching, link_per_byte })
}

/// One `[[protocol]]`; `before` is the longest message of the one before.
fn segment(table: &Table<'_>, is_last: bool, before: Option<u64>) -> Result<Segment> {
    table.read_source()?;
    let (t0_ps, per_byte) =
        (table.value("t0", units::time_ps)?, table.value("per_byte", units::per_byte)?);
    let mut segment = table.table("split")?.read(split)?;
    segment.protocol = table.needed("kind")?;
    segment.up_to_bytes = bound(table, is_last, before)?;
    segment.hop_ps = table.or_zero("hop", units::time_ps)?;
    segment.gap_ps = table.or_zero("gap", units::time_ps)?;
    segment.unexpected = table.or_zero("unexpected", units::per_byte)?;
    if segment.protocol == Protocol::Eager && segment.handshake_ps > 0 {
        let problem = "belongs to no eager message (write kind = \"buffered\" or \"rendezvous\")";
        return Err(table.table("split")?.refuse("handshake", problem));
    }
    let cpu_ps = segment.o_send_ps.saturating_add(segment.o_recv_ps);
    let spent_ps = cpu_ps.saturating_add(segment.handshake_ps);
    segment.latency_ps = t0_ps.checked_sub(spent_ps).ok_or_else(|| {
        let spent = time_text(spent_ps);
        let problem = format!(
            "is less than o_send + o_recv + handshake, {spent} (raise t0 or lower the split)"
        );
        table.refuse("t0", &problem)
    })?;
    let spent = PerByte(segment.send.0.saturating_add(segment.recv.0));
    segment.wire = per_byte.0.checked_sub(spent.0).map(PerByte).ok_or_else(|| {
        let problem = format!(
            "is less than send_per_byte + recv_per_byte, {} (raise per_byte or lower the split)",
            per_byte_text(spent)
        );
        table.refuse("per_byte", &problem)
    })?;
    Ok(segment)
}

/// The parts of sender and receiver; all else is nothing yet.
fn split(table: &Table<'_>) -> Result<Segment> {
    table.read_source()?;
    Ok(Segment {
        o_send_ps: table.or_zero("o_send", units::time_ps)?,
        o_recv_ps: table.or_zero("o_recv", units::time_ps)?,
        handshake_ps: table.or_zero("handshake", units::time_ps)?,
        send: table.or_zero("send_per_byte", units::per_byte)?,
        recv: table.or_zero("recv_per_byte", units::per_byte)?,
        ..Segment::default()
    })
}

/// The longest message of a protocol; `None` for the last.
fn bound(table: &Table<'_>, is_last: bool, before: Option<u64>) -> Result<Option<u64>> {
    match table.optional("up_to", units::size_bytes)? {
        Some(_) if is_last => Err(table.refuse(
            "up_to",
            "leaves longer messages without a cost (leave it out of the last [[protocol]])",
        )),
        None if !is_last => Err(table.error(
            "this [[protocol]] is not the last, but has no up_to (write one, in ascending order)",
        )),
        up_to if !is_last && up_to <= before => Err(table.refuse(
            "up_to",
            "is not above the one before (write each [[protocol]] in ascending order)",
        )),
        up_to => Ok(up_to),
    }
}

fn shape(table: &Table<'_>, switching: Option<Switching>) -> Result<Shape> {
    let kind: String = table.needed("kind")?;
    let shape = match (&*kind, table.plain("dims")?, table.plain("radix")?) {
        ("flat", None, None) => Ok(Shape::Flat),
        ("hypercube", None, None) => Ok(Shape::Hypercube),
        ("torus", Some(dims), None) => torus_dims(dims).map(Shape::Torus),
        ("fattree", None, Some(radix)) if radix >= 2 => Ok(Shape::FatTree { radix }),
        ("torus", ..) => Err("a torus has dims alone (write dims = 3 or dims = [8, 8, 8])"),
        ("fattree", ..) => Err("a fattree has a radix of at least 2 alone (write radix = 16)"),
        ("flat" | "hypercube", ..) => {
            Err("only a torus has dims and only a fattree a radix (leave them out)")
        }
        _ => {
            let problem = "is no topology (write one of flat, hypercube, torus, fattree)";
            return Err(table.refuse("kind", problem));
        }
    };
    match shape {
        // A ring of circuits, each waiting for the next, would never be released.
        Ok(Shape::Torus(_)) if switching == Some(Switching::Circuit) => Err(table.error(
            "circuits block each other for ever on the rings of a torus (write switching = \
             \"cut-through\")",
        )),
        shape => shape.map_err(|message| table.error(message)),
    }
}

fn torus_dims(dims: TorusDims) -> Result<TorusDims, &'static str> {
    match dims {
        TorusDims::Auto(n) if (1..=MOST_DIMS).contains(&n) => Ok(dims),
        TorusDims::Given(ref given) if is_torus(given) => Ok(dims),
        _ => Err("a torus has 1 to 6 dims of at least 1 (write dims = 3 or dims = [8, 8, 8])"),
    }
}

fn is_torus(dims: &[usize]) -> bool {
    let product = dims.iter().try_fold(1_usize, |product, dim| product.checked_mul(*dim));
    (1..=MOST_DIMS).contains(&dims.len()) && product.is_some_and(|product| product > 0)
}

fn time_text(ps: u64) -> String {
    format!("{} us", ps as f64 / 1e6)
}

fn per_byte_text(per_byte: PerByte) -> String {
    format!("{:.6} us/B", per_byte.0 as f64 / (1e6 * f64::from(1 << 20)))
}

#[cfg(test)]
mod tests {
    use crate::machine::file::tests::check_errors;
    use crate::machine::{MachineFile, Network, PerByte, Shape, Switching, TorusDims};

    const EAGER: &str = "kind = \"eager\"\nt0 = \"10 us\"\nper_byte = \"1 us/B\"\n";

    fn file(topology: &str, protocols: &[&str]) -> String {
        let protocols: String = protocols.iter().map(|p| format!("[[protocol]]\n{p}\n")).collect();
        format!("format = 1\nname = \"mine\"\n[topology]\n{topology}\n{protocols}")
    }

    fn network(topology: &str) -> Network {
        MachineFile::parse(&file(topology, &[EAGER]), "my.toml").unwrap().machine.network
    }

    #[test]
    fn a_topology_is_one_of_four() {
        let check = |topology, shape| assert_eq!(network(topology).shape, shape, "{topology}");
        check("kind = \"flat\"", Shape::Flat);
        check("kind = \"hypercube\"", Shape::Hypercube);
        check("kind = \"torus\"\ndims = 3", Shape::Torus(TorusDims::Auto(3)));
        check("kind = \"torus\"\ndims = [4, 3]", Shape::Torus(TorusDims::Given(vec![4, 3])));
        check("kind = \"fattree\"\nradix = 16", Shape::FatTree { radix: 16 });
    }

    #[test]
    fn links_are_as_quick_as_the_wire_unless_they_are_quicker() {
        let check = |topology: &str, switching, link_per_byte| {
            let network = network(&format!("kind = \"hypercube\"\n{topology}"));
            assert_eq!((network.switching, network.link_per_byte), (switching, link_per_byte));
        };
        let wire = PerByte(1_000_000 << 20);
        check("", None, wire);
        check("switching = \"circuit\"", Some(Switching::Circuit), wire);
        check("switching = \"cut-through\"\nlink = \"1 MB/s\"", Some(Switching::CutThrough), wire);
        check("link = \"2 MB/s\"", None, PerByte(500_000 << 20));
    }

    #[test]
    fn a_torus_of_given_dimensions_has_that_many_ranks() {
        let text = file("kind = \"torus\"\ndims = [4, 3]", &[EAGER]);
        assert_eq!(MachineFile::parse(&text, "my.toml").unwrap().ranks, Some(12));
        check_errors(
            |ranks| text.replace("format = 1", &format!("format = 1\n{ranks}")),
            "ranks = 13 => 2: ranks = 13 is not the product of dims (leave ranks out, or write dims = 3)",
        );
    }

    #[test]
    fn a_topology_that_cannot_be_is_refused() {
        check_errors(|topology| file(topology, &[EAGER]), include_str!("tests/topologies.txt"));
    }

    #[test]
    fn each_length_belongs_to_one_protocol_and_a_split_is_no_more_than_the_whole() {
        let eager = format!("[[protocol]]\n{}", EAGER.trim_end());
        let file =
            |protocols: &str| file("kind = \"flat\"", &[]) + &protocols.replace("EAGER", &eager);
        check_errors(file, include_str!("tests/protocols.txt"));
    }
}
