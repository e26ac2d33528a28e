//! Transfers of windows in a machine file.

use super::Rdma;
use super::reader::{Result, Table};
use super::units;

/// The table `[rdma]`, each key of which may be left out.
pub(super) fn rdma(table: &Table<'_>) -> Result<Rdma> {
    table.read_source()?;
    Ok(Rdma {
        o_ps: table.optional("o", units::time_ps)?,
        latency_ps: table.optional("latency", units::time_ps)?,
        hop_ps: table.optional("hop", units::time_ps)?,
        gap_ps: table.optional("gap", units::time_ps)?,
        per_byte: table.optional("per_byte", units::per_byte)?,
        atomic_ps: table.optional("atomic", units::time_ps)?,
        is_emulated: table.plain("emulated")?.unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use crate::machine::file::tests::check_errors;
    use crate::machine::{Machine, MachineFile, PerByte, Protocol, Segment};

    /// A file with these lines from line 16 on.
    fn file(tables: &str) -> String {
        format!(
            "format = 1\nname = \"mine\"\n[topology]\nkind = \"flat\"\n[[protocol]]\n\
             up_to = \"1 KiB\"\nkind = \"eager\"\nt0 = \"10 us\"\nper_byte = \"3 ns/B\"\n\
             split = {{ o_send = \"2 us\", o_recv = \"3 us\", send_per_byte = \"1 ns/B\" }}\n\
             [[protocol]]\nkind = \"rendezvous\"\nt0 = \"20 us\"\nper_byte = \"4 ns/B\"\n\
             split = {{ handshake = \"7 us\" }}\n{tables}\n"
        )
    }

    fn machine(tables: &str) -> Machine {
        MachineFile::parse(&file(tables), "my.toml").unwrap().machine
    }

    const fn us(us: u64) -> u64 {
        us * 1_000_000
    }

    #[test]
    fn what_is_left_out_is_that_of_the_protocol_of_the_length() {
        let machine = machine("[node]\nreduce = \"5 us\"");
        let short = Segment {
            up_to_bytes: Some(1024),
            o_send_ps: us(2),
            latency_ps: us(5),
            wire: PerByte(2000 << 20),
            ..Segment::default()
        };
        let long = Segment { latency_ps: us(13), wire: PerByte(4000 << 20), ..Segment::default() };
        assert_eq!(machine.transfer_segments().collect::<Vec<_>>(), [short, long]);
        assert_eq!((machine.atomic_ps(), machine.rdma.is_emulated), (us(5), false));
    }

    #[test]
    fn every_key_arrives() {
        let machine = machine(
            "[rdma]\no = \"1 us\"\nlatency = \"2 us\"\nhop = \"3 us\"\ngap = \"4 us\"\n\
             per_byte = \"5 ns/B\"\natomic = \"6 us\"\nemulated = true",
        );
        let segment = Segment {
            up_to_bytes: None,
            protocol: Protocol::Eager,
            o_send_ps: us(1),
            latency_ps: us(2),
            hop_ps: us(3),
            gap_ps: us(4),
            wire: PerByte(5000 << 20),
            ..Segment::default()
        };
        assert_eq!(machine.transfer_segments().nth(1), Some(segment));
        assert_eq!((machine.atomic_ps(), machine.rdma.is_emulated), (us(6), true));
    }

    #[test]
    fn an_error_names_line_value_and_remedy() {
        check_errors(file, include_str!("tests/rdma.txt"));
    }
}
