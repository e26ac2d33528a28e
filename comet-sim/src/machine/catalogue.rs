//! The machines that come with the program; a new one is a file and a line here.

use std::path::Path;

use super::{MachineError, MachineFile};

/// Name and text of each machine, oldest first.
pub static MACHINES: &[(&str, &str)] = &[
    ("ipsc860-fit", include_str!("../../machines/ipsc860-fit.toml")),
    ("ipsc860-marks", include_str!("../../machines/ipsc860-marks.toml")),
    ("cm5", include_str!("../../machines/cm5.toml")),
    ("paragon-osf", include_str!("../../machines/paragon-osf.toml")),
    ("paragon-sunmos", include_str!("../../machines/paragon-sunmos.toml")),
    ("sp2", include_str!("../../machines/sp2.toml")),
    ("t3e", include_str!("../../machines/t3e.toml")),
    ("redstorm", include_str!("../../machines/redstorm.toml")),
    ("xe6", include_str!("../../machines/xe6.toml")),
    ("tukey-ib", include_str!("../../machines/tukey-ib.toml")),
    ("dahu-opa", include_str!("../../machines/dahu-opa.toml")),
    ("hbv2-hdr", include_str!("../../machines/hbv2-hdr.toml")),
    ("tofud", include_str!("../../machines/tofud.toml")),
];

/// Other names of machines, and the machines.
pub static ALIASES: &[(&str, &str)] = &[("ipsc860", "ipsc860-fit")];

/// Names of all machines, with the other names first.
pub fn names() -> impl Iterator<Item = &'static str> {
    ALIASES.iter().map(|(alias, _)| *alias).chain(MACHINES.iter().map(|(name, _)| *name))
}

/// Finds a machine by its name, or reads a file by its path, which has a slash in it or ends in
/// `.toml`.
///
/// # Errors
/// If no machine has that name, or the file cannot be read or does not describe a machine.
pub fn find(name_or_path: &str) -> Result<MachineFile, MachineError> {
    let path = Path::new(name_or_path);
    if name_or_path.contains('/') || path.extension().is_some_and(|end| end == "toml") {
        return MachineFile::read(path);
    }
    let alias = ALIASES.iter().find(|(alias, _)| *alias == name_or_path);
    let wanted = alias.map_or(name_or_path, |(_, name)| *name);
    let Some((name, text)) = MACHINES.iter().find(|(name, _)| *name == wanted) else {
        let known: Vec<_> = MACHINES.iter().map(|(name, _)| *name).collect();
        return Err(MachineError::Unknown(wanted.to_owned(), known.join(", ")));
    };
    MachineFile::parse(text, &format!("{name}.toml"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::{Machine, Protocol, Segment};

    /// One way, with nothing in its way.
    fn time_ps(machine: &Machine, n_bytes: u64, n_hops: u64) -> u64 {
        let s: &Segment = machine.segment(n_bytes);
        let bytes_ps = s.send.times(n_bytes) + s.wire.times(n_bytes) + s.recv.times(n_bytes);
        s.startup_ps() + bytes_ps + (n_hops - 1) * s.hop_ps
    }

    #[track_caller]
    fn check_times(name: &str, expected_us: &[(u64, u64, f64)]) {
        let machine = find(name).unwrap().machine;
        for &(n_bytes, n_hops, us) in expected_us {
            let time_us = time_ps(&machine, n_bytes, n_hops) as f64 / 1e6;
            assert!((time_us / us - 1.0).abs() < 1e-6, "{n_bytes} B: {time_us}, not {us} us");
        }
    }

    #[test]
    fn every_machine_cites_what_its_values_are_from() {
        for (name, _) in MACHINES {
            let file = find(name).unwrap();
            assert_eq!(file.name, *name);
            assert!(!file.cite.is_empty() && !file.summary.is_empty(), "{name}");
            assert!(file.sources[0] > 0 && file.sources[4] == 0, "{name}");
        }
    }

    #[test]
    fn what_is_not_published_says_why() {
        for (name, text) in MACHINES {
            check_notes(name, &text.parse().unwrap());
        }
    }

    fn check_notes(name: &str, table: &toml::Table) {
        let source = table.get("source").and_then(toml::Value::as_str);
        let is_weak = source.is_some_and(|source| source != "published");
        assert!(!is_weak || table.contains_key("note"), "{name}: {table}");
        for value in table.values() {
            let lists = value.as_array().into_iter().flatten();
            let tables = lists.chain([value]).filter_map(toml::Value::as_table);
            tables.for_each(|table| check_notes(name, table));
        }
    }

    #[test]
    fn ipsc860_fit_has_the_law_of_the_thesis() {
        check_times(
            "ipsc860",
            &[
                (0, 1, 79.0),
                (100, 1, 142.0),
                (100, 4, 166.999),
                (101, 1, 197.41),
                (1024, 1, 575.84),
                (1024, 4, 650.84),
                (85_000, 1, 35_006.0),
            ],
        );
    }

    #[test]
    fn ipsc860_marks_has_its_half_and_its_nine_tenths_bandwidth_where_the_thesis_has_them() {
        check_times("ipsc860-marks", &[(0, 1, 79.0), (101, 1, 232.006), (4096, 2, 1878.976)]);
        let machine = find("ipsc860-marks").unwrap().machine;
        let mb_per_s = |n_bytes| n_bytes as f64 * 1e6 / time_ps(&machine, n_bytes, 1) as f64;
        assert!((mb_per_s(486) / 1.25 - 1.0).abs() < 0.01);
        assert!((mb_per_s(5000) / 2.25 - 1.0).abs() < 0.01);
    }

    #[test]
    fn both_ipsc860_ask_for_a_buffer_above_100_bytes() {
        for name in ["ipsc860-fit", "ipsc860-marks"] {
            let machine = find(name).unwrap().machine;
            let protocols = [machine.segment(100).protocol, machine.segment(101).protocol];
            assert_eq!(protocols, [Protocol::Eager, Protocol::Buffered]);
        }
    }

    #[test]
    fn machines_of_today_have_their_published_times() {
        check_times("hbv2-hdr", &[(0, 1, 1.62), (32, 1, 1.77), (2048, 1, 2.92), (4096, 1, 3.72)]);
        check_times("tofud", &[(0, 1, 0.49)]);
        check_times("tukey-ib", &[(16, 1, 5.671488), (4096, 1, 11.220744)]);
    }

    #[test]
    fn a_file_is_found_by_its_path() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/machines/cm5.toml");
        assert_eq!(find(path).unwrap(), find("cm5").unwrap());
    }

    #[test]
    fn what_is_not_there_is_named() {
        let check = |name, begin: &str, end: &str| {
            let error = find(name).unwrap_err().to_string();
            assert!(error.starts_with(begin) && error.ends_with(end), "{error}");
        };
        check(
            "cray",
            "there is no machine \"cray\" (choose ipsc860-fit, ipsc860-marks, ",
            ", or give the path of a file such as ./my.toml)",
        );
        check("my.toml", "cannot read the machine file my.toml (", ")");
        check("./cray", "cannot read the machine file ./cray (", ")");
    }
}
