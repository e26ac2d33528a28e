//! Reads the network of a machine file: its topology, and what messages cost by length.

use toml::Spanned;

use super::form::{self, Dims, Entry, Kind, ProtocolForm, SplitForm, TopologyForm};
use super::reader::Reader;
use super::units;
use super::{MachineError, Network, PerByte, Protocol, Segment, Shape, Switching, TorusDims};

/// More dimensions than any torus was built with.
const MOST_DIMS: usize = 6;

/// Reads the segments, and checks that each message belongs to one of them.
pub(super) fn segments(
    reader: &mut Reader<'_>,
    forms: &[Spanned<ProtocolForm>],
) -> Result<Vec<Segment>, MachineError> {
    let segments: Vec<_> =
        forms.iter().map(|form| segment(reader, form.get_ref())).collect::<Result<_, _>>()?;
    check_bounds(reader, forms, &segments)?;
    Ok(segments)
}

/// Reads the topology; `segments` say how quick its links must be.
pub(super) fn network(
    reader: &mut Reader<'_>,
    form: &Spanned<TopologyForm>,
    segments: &[Segment],
) -> Result<Network, MachineError> {
    let shape =
        shape(form.get_ref()).map_err(|message| reader.error(form.span().start, message))?;
    let form = form.get_ref();
    let switching = form.switching.map(|switching| match switching {
        form::Switching::Circuit => Switching::Circuit,
        form::Switching::CutThrough => Switching::CutThrough,
    });
    let wire = segments.iter().map(|segment| segment.wire).min().unwrap_or_default();
    let link = reader.table(form.source).optional("link", form.link.as_ref(), units::per_byte)?;
    match &form.link {
        Some(entry) if link > Some(wire) => {
            let problem = format!(
                "is slower than a protocol's wire, {} (raise link, or per_byte)",
                per_byte_text(wire)
            );
            Err(reader.refuse("link", entry, &problem))
        }
        _ => Ok(Network { shape, switching, link_per_byte: link.unwrap_or(wire) }),
    }
}

fn segment(reader: &mut Reader<'_>, form: &ProtocolForm) -> Result<Segment, MachineError> {
    let mut table = reader.table(form.source);
    let t0_ps = table.value("t0", &form.t0, units::time_ps)?;
    let per_byte = table.value("per_byte", &form.per_byte, units::per_byte)?;
    let segment = Segment {
        up_to_bytes: table.optional("up_to", form.up_to.as_ref(), units::size_bytes)?,
        protocol: match form.kind {
            form::Protocol::Eager => Protocol::Eager,
            form::Protocol::Buffered => Protocol::Buffered,
            form::Protocol::Rendezvous => Protocol::Rendezvous,
        },
        latency_ps: t0_ps,
        hop_ps: table.or_zero("hop", form.hop.as_ref(), units::time_ps)?,
        gap_ps: table.or_zero("gap", form.gap.as_ref(), units::time_ps)?,
        wire: per_byte,
        unexpected: table.or_zero("unexpected", form.unexpected.as_ref(), units::per_byte)?,
        o_send_ps: 0,
        o_recv_ps: 0,
        handshake_ps: 0,
        send: PerByte(0),
        recv: PerByte(0),
    };
    split(reader, form, segment)
}

/// Divides what `whole` gives to the network between sender, network and receiver.
fn split(
    reader: &mut Reader<'_>,
    form: &ProtocolForm,
    whole: Segment,
) -> Result<Segment, MachineError> {
    let SplitForm { o_send, o_recv, handshake, send_per_byte, recv_per_byte, .. } = &form.split;
    let mut table = reader.table(form.split.source.or(form.source));
    let mut segment = Segment {
        o_send_ps: table.or_zero("o_send", o_send.as_ref(), units::time_ps)?,
        o_recv_ps: table.or_zero("o_recv", o_recv.as_ref(), units::time_ps)?,
        handshake_ps: table.or_zero("handshake", handshake.as_ref(), units::time_ps)?,
        send: table.or_zero("send_per_byte", send_per_byte.as_ref(), units::per_byte)?,
        recv: table.or_zero("recv_per_byte", recv_per_byte.as_ref(), units::per_byte)?,
        ..whole
    };
    check_handshake(reader, handshake.as_ref(), &segment)?;
    let cpu_ps = segment.o_send_ps.saturating_add(segment.o_recv_ps);
    let spent_ps = cpu_ps.saturating_add(segment.handshake_ps);
    segment.latency_ps = whole.latency_ps.checked_sub(spent_ps).ok_or_else(|| {
        let problem = format!(
            "is less than o_send + o_recv + handshake, {} (raise t0 or lower the split)",
            time_text(spent_ps)
        );
        reader.refuse("t0", &form.t0, &problem)
    })?;
    let spent = PerByte(segment.send.0.saturating_add(segment.recv.0));
    segment.wire = whole.wire.0.checked_sub(spent.0).map(PerByte).ok_or_else(|| {
        let problem = format!(
            "is less than send_per_byte + recv_per_byte, {} (raise per_byte or lower the split)",
            per_byte_text(spent)
        );
        reader.refuse("per_byte", &form.per_byte, &problem)
    })?;
    Ok(segment)
}

fn check_handshake(
    reader: &Reader<'_>,
    handshake: Option<&Entry>,
    segment: &Segment,
) -> Result<(), MachineError> {
    match handshake {
        Some(entry) if segment.protocol == Protocol::Eager && segment.handshake_ps > 0 => {
            let problem =
                "belongs to no eager message (write kind = \"buffered\" or \"rendezvous\")";
            Err(reader.refuse("handshake", entry, problem))
        }
        _ => Ok(()),
    }
}

fn check_bounds(
    reader: &Reader<'_>,
    forms: &[Spanned<ProtocolForm>],
    segments: &[Segment],
) -> Result<(), MachineError> {
    let bounds = segments.iter().map(|segment| segment.up_to_bytes);
    let Some((last, shorter)) = forms.split_last() else {
        let message = "there is no [[protocol]] (write one, with kind, t0 and per_byte)";
        return Err(reader.error(0, message));
    };
    if let Some(up_to) = &last.get_ref().up_to {
        let problem =
            "leaves longer messages without a cost (leave it out of the last [[protocol]])";
        return Err(reader.refuse("up_to", up_to, problem));
    }
    let mut before = None;
    for (form, bound) in shorter.iter().zip(bounds) {
        let Some(up_to) = &form.get_ref().up_to else {
            let message = "this [[protocol]] is not the last, but has no up_to (write one, in \
                           ascending order)";
            return Err(reader.error(form.span().start, message));
        };
        if bound <= before {
            let problem =
                "is not above the one before (write each [[protocol]] in ascending order)";
            return Err(reader.refuse("up_to", up_to, problem));
        }
        before = bound;
    }
    Ok(())
}

fn shape(form: &TopologyForm) -> Result<Shape, &'static str> {
    let shape = match (form.kind, form.dims.clone(), form.radix) {
        (Kind::Flat, None, None) => Shape::Flat,
        (Kind::Hypercube, None, None) => Shape::Hypercube,
        (Kind::Torus, Some(dims), None) => Shape::Torus(torus_dims(dims)?),
        (Kind::FatTree, None, Some(radix)) if radix >= 2 => Shape::FatTree { radix },
        (Kind::Torus, ..) => {
            return Err("a torus has dims alone (write dims = 3 or dims = [8, 8, 8])");
        }
        (Kind::FatTree, ..) => {
            return Err("a fattree has a radix of at least 2 alone (write radix = 16)");
        }
        _ => return Err("only a torus has dims and only a fattree a radix (leave them out)"),
    };
    // A ring of circuits, each waiting for the next, would never be released.
    if form.kind == Kind::Torus && form.switching == Some(form::Switching::Circuit) {
        return Err("circuits block each other for ever on the rings of a torus (write switching \
                    = \"cut-through\")");
    }
    Ok(shape)
}

fn torus_dims(dims: Dims) -> Result<TorusDims, &'static str> {
    match dims {
        Dims::Auto(n) if (1..=MOST_DIMS).contains(&n) => Ok(TorusDims::Auto(n)),
        Dims::Given(dims) if is_torus(&dims) => Ok(TorusDims::Given(dims)),
        _ => Err("a torus has 1 to 6 dims of at least 1 (write dims = 3 or dims = [8, 8, 8])"),
    }
}

fn is_torus(dims: &[usize]) -> bool {
    let product = dims.iter().try_fold(1_usize, |product, dim| product.checked_mul(*dim));
    (1..=MOST_DIMS).contains(&dims.len()) && product.is_some_and(|product| product > 0)
}

#[expect(clippy::cast_precision_loss, reason = "an error message shows a few digits")]
fn time_text(ps: u64) -> String {
    format!("{} us", ps as f64 / 1e6)
}

#[expect(clippy::cast_precision_loss, reason = "an error message shows a few digits")]
fn per_byte_text(per_byte: PerByte) -> String {
    format!("{:.6} us/B", per_byte.0 as f64 / (1e6 * f64::from(1 << 20)))
}

#[cfg(test)]
mod tests {
    use crate::machine::{MachineFile, Network, PerByte, Shape, Switching, TorusDims};

    const EAGER: &str = "kind = \"eager\"\nt0 = \"10 us\"\nper_byte = \"1 us/B\"\n";

    fn file(topology: &str, protocols: &[&str]) -> String {
        let protocols: String = protocols.iter().map(|p| format!("[[protocol]]\n{p}\n")).collect();
        format!("format = 1\nname = \"mine\"\n[topology]\n{topology}\n{protocols}")
    }

    fn network(topology: &str) -> Network {
        MachineFile::parse(&file(topology, &[EAGER]), "my.toml").unwrap().machine.network
    }

    #[track_caller]
    fn check_error(text: &str, expected: &str) {
        let error = MachineFile::parse(text, "my.toml").unwrap_err();
        assert_eq!(error.to_string(), format!("my.toml, line {expected}"));
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
        check_error(
            &text.replace("format = 1", "format = 1\nranks = 13"),
            "2: ranks = 13 is not the product of dims (leave ranks out, or write dims = 3)",
        );
    }

    #[test]
    fn a_topology_that_cannot_be_is_refused() {
        let check = |topology: &str, expected: &str| {
            check_error(&file(topology, &[EAGER]), expected);
        };
        let torus = "3: a torus has dims alone (write dims = 3 or dims = [8, 8, 8])";
        check("kind = \"torus\"", torus);
        check("kind = \"torus\"\ndims = 3\nradix = 2", torus);
        let dims = "3: a torus has 1 to 6 dims of at least 1 (write dims = 3 or dims = [8, 8, 8])";
        check("kind = \"torus\"\ndims = 0", dims);
        check("kind = \"torus\"\ndims = []", dims);
        check("kind = \"torus\"\ndims = [2, 0]", dims);
        let radix = "3: a fattree has a radix of at least 2 alone (write radix = 16)";
        check("kind = \"fattree\"", radix);
        check("kind = \"fattree\"\nradix = 1", radix);
        check(
            "kind = \"flat\"\nradix = 4",
            "3: only a torus has dims and only a fattree a radix (leave them out)",
        );
        check(
            "kind = \"torus\"\ndims = 2\nswitching = \"circuit\"",
            "3: circuits block each other for ever on the rings of a torus (write switching = \
             \"cut-through\")",
        );
        check(
            "kind = \"flat\"\nlink = \"0.9 MB/s\"",
            "5: link = \"0.9 MB/s\" is slower than a protocol's wire, 1.000000 us/B (raise link, \
             or per_byte)",
        );
        let readme = "(comet-sim/machines/README.md explains every key)";
        check(
            "kind = \"dragonfly\"",
            &format!(
                "4: unknown variant `dragonfly`, expected one of `flat`, `hypercube`, `torus`, \
                 `fattree` {readme}"
            ),
        );
        check(
            "kind = \"torus\"\ndims = \"3\"",
            &format!("5: dims is neither a number such as 3 nor a list such as [8, 8, 8] {readme}"),
        );
    }

    #[test]
    fn each_length_belongs_to_one_protocol() {
        let check = |protocols: &[&str], expected| {
            check_error(&file("kind = \"flat\"", protocols), expected);
        };
        let up_to = |size: &str| format!("{EAGER}up_to = \"{size}\"");
        check(&[], "1: there is no [[protocol]] (write one, with kind, t0 and per_byte)");
        check(
            &[&up_to("1 KiB")],
            "9: up_to = \"1 KiB\" leaves longer messages without a cost (leave it out of the last \
             [[protocol]])",
        );
        check(
            &[EAGER, EAGER],
            "5: this [[protocol]] is not the last, but has no up_to (write one, in ascending \
             order)",
        );
        check(
            &[&up_to("2 KiB"), &up_to("1 KiB"), EAGER],
            "14: up_to = \"1 KiB\" is not above the one before (write each [[protocol]] in \
             ascending order)",
        );
    }

    #[test]
    fn a_split_is_no_more_than_the_whole() {
        let check = |line: &str, expected| {
            check_error(&file("kind = \"flat\"", &[&format!("{EAGER}{line}")]), expected);
        };
        check(
            "split = { o_send = \"6 us\", o_recv = \"5 us\" }",
            "7: t0 = \"10 us\" is less than o_send + o_recv + handshake, 11 us (raise t0 or lower \
             the split)",
        );
        check(
            "split = { send_per_byte = \"0.6 us/B\", recv_per_byte = \"0.5 us/B\" }",
            "8: per_byte = \"1 us/B\" is less than send_per_byte + recv_per_byte, 1.100000 us/B \
             (raise per_byte or lower the split)",
        );
        check(
            "split = { handshake = \"1 us\" }",
            "9: handshake = \"1 us\" belongs to no eager message (write kind = \"buffered\" or \
             \"rendezvous\")",
        );
    }
}
