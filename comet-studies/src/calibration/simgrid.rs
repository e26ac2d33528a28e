//! A machine as a platform file for SimGrid's SMPI (checked with version 3.32).
//!
//! ```text
//!   one way in SMPI:  os + L · lat-factor + (n + 16) / (bandwidth · bw-factor) + or
//! ```
//!
//! Facts about SMPI behind this:
//! - SMPI sends 16 bytes with each message (`src/smpi/mpi/smpi_request.cpp`). They count for the
//!   factors too, so these change 15 bytes later than the first length of a range, while `os` and
//!   `or` change at it; and all bounds are the last length before the change.
//! - `os` and `or` count only for messages that are sent at once, so all of them are.
//! - The names `smpi/bw-factor` and `smpi/lat-factor` are old, but later versions know them too, and
//!   this one takes no lists under the new ones.
//! - It reads lengths as C `int`s.
//! - TCP's windows and the default precision must be out of the way, and every host that is named
//!   has to exist.

use comet_sim::machine::{Machine, Segment, Shape};

use crate::Refusal;

/// Bytes that SMPI sends with each message.
const ENVELOPE_BYTES: f64 = 16.0;

/// The longest message that can be sent at once; SMPI reads it as a C `int`.
const LONGEST_BYTES: i32 = i32::MAX;

const PS_PER_S: f64 = 1e12;

/// The platform of `n_hosts` hosts that are connected as the ranks of `machine`.
pub(super) fn platform(machine: &Machine, n_hosts: usize) -> anyhow::Result<String> {
    if machine.network.shape != Shape::Flat || machine.network.switching.is_some() {
        let name = &machine.name;
        let sentence = format!("only a flat machine makes a SimGrid platform, not {name}");
        return Err(Refusal::Unfit(sentence).into());
    }
    let laws: Vec<Law> = machine.segments.iter().map(Law::of).collect();
    let per_byte_s = laws.iter().map(|law| law.per_byte_s).filter(|s| *s > 0.0).reduce(f64::min);
    let no_rate = || Refusal::Unfit(format!("no byte takes any time on {}", machine.name));
    let link = Link {
        per_byte_s: per_byte_s.ok_or_else(no_rate)?,
        // Half of the least startup time is that of the network, so that none is negative.
        latency_s: laws.iter().map(|law| law.t0_s / 2.0).fold(f64::INFINITY, f64::min),
    };
    Ok(format!(
        "<?xml version='1.0'?>\n\
         <!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n\
         <!-- {}, written by comet-run calibrate for SimGrid's SMPI.\n\
         \x20    Hosts: rank-0 to rank-{}. Replay: scripts/replay-simgrid.sh of CoMet. -->\n\
         <platform version=\"4.1\">\n\
         \x20 <config>\n{}\x20 </config>\n\
         \x20 <cluster id=\"ranks\" prefix=\"rank-\" suffix=\"\" radical=\"0-{}\" speed=\"1Gf\"\n\
         \x20          bw=\"{}Bps\" lat=\"{}s\" sharing_policy=\"SPLITDUPLEX\"/>\n\
         </platform>\n",
        comment(&machine.name),
        n_hosts - 1,
        properties(&link, &laws),
        n_hosts - 1,
        1.0 / link.per_byte_s,
        // A message takes two of them.
        link.latency_s / 2.0,
    ))
}

struct Link {
    per_byte_s: f64,
    latency_s: f64,
}

/// One way of messages of a range of lengths, in seconds.
struct Law {
    up_to_bytes: Option<u64>,
    t0_s: f64,
    per_byte_s: f64,
}

impl Law {
    fn of(segment: &Segment) -> Self {
        Self {
            up_to_bytes: segment.up_to_bytes,
            t0_s: segment.startup_ps() as f64 / PS_PER_S,
            per_byte_s: segment.per_byte_ps() / PS_PER_S,
        }
    }

    /// Factors of bandwidth and latency, and what is left for each of the two CPUs, in seconds.
    fn split(&self, link: &Link) -> [f64; 3] {
        let envelope_s = ENVELOPE_BYTES * self.per_byte_s;
        let latency_s = link.latency_s.min((self.t0_s - envelope_s).max(0.0));
        let overhead_s = ((self.t0_s - envelope_s - latency_s) / 2.0).max(0.0);
        let rate = if self.per_byte_s > 0.0 { link.per_byte_s / self.per_byte_s } else { 1.0 };
        [rate, if link.latency_s > 0.0 { latency_s / link.latency_s } else { 1.0 }, overhead_s]
    }
}

fn properties(link: &Link, laws: &[Law]) -> String {
    let (mut rates, mut latencies, mut overheads) = (Vec::new(), Vec::new(), Vec::new());
    let mut last_byte = None;
    for law in laws {
        let [rate, latency, overhead_s] = law.split(link);
        let factors_from = last_byte.map_or(0, |last| last + 16);
        rates.push(format!("{factors_from}:{rate}"));
        latencies.push(format!("{factors_from}:{latency}"));
        overheads.push(format!("{}:{overhead_s:e}:0", last_byte.unwrap_or(0)));
        last_byte = law.up_to_bytes;
    }
    let overheads = overheads.join(";");
    let longest = LONGEST_BYTES.to_string();
    let properties = [
        ("smpi/bw-factor", rates.join(";")),
        ("smpi/lat-factor", latencies.join(";")),
        ("smpi/os", overheads.clone()),
        ("smpi/ois", overheads.clone()),
        ("smpi/or", overheads),
        ("smpi/async-small-thresh", longest.clone()),
        ("smpi/send-is-detached-thresh", longest),
        ("smpi/wtime", "0".into()),
        ("smpi/simulate-computation", "no".into()),
        ("network/TCP-gamma", "0".into()),
        ("network/weight-S", "0".into()),
        ("network/crosstraffic", "0".into()),
    ];
    let line =
        |(id, value): &(&str, String)| format!("    <prop id=\"{id}\" value=\"{value}\"/>\n");
    properties.iter().map(line).collect()
}

fn comment(text: &str) -> String {
    text.replace('-', "_").chars().filter(|c| !c.is_control()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use comet_sim::machine::MachineFile;

    const IPSC860: &str = include_str!("tests/ipsc860.toml");

    fn exported(text: &str) -> anyhow::Result<String> {
        platform(&MachineFile::parse(text, "test")?.machine, 2)
    }

    fn property<'a>(platform: &'a str, id: &str) -> &'a str {
        let (_, rest) = platform.split_once(&format!("id=\"{id}\" value=\"")).expect(id);
        rest.split_once('"').expect("a value ends").0
    }

    #[test]
    fn ranges_end_where_smpi_counts_them() {
        let platform = exported(IPSC860).unwrap();
        let bounds = |id| -> Vec<&str> {
            let ranges = property(&platform, id).split(';');
            ranges.map(|range| range.split_once(':').expect("a bound").0).collect()
        };
        assert_eq!(bounds("smpi/bw-factor"), ["0", "116"], "more than 100 bytes and the envelope");
        assert_eq!(bounds("smpi/lat-factor"), ["0", "116"]);
        assert_eq!(bounds("smpi/os"), ["0", "100"], "more than 100 bytes");
    }

    /// Time of `n` bytes on the platform in SMPI, in microseconds.
    fn one_way_us(platform: &str, n: f64) -> f64 {
        let attribute = |name: &str| -> f64 {
            let (_, rest) = platform.split_once(&format!(" {name}=\"")).expect(name);
            rest.split_once(|c: char| c.is_alphabetic()).expect("a unit").0.parse().unwrap()
        };
        let last_below = |id, size: f64| -> f64 {
            let mut ranges = property(platform, id).split(';').map(|range| {
                let mut numbers = range.split(':').map(|n| n.parse::<f64>().unwrap());
                (numbers.next().unwrap(), numbers.next().unwrap())
            });
            ranges.rfind(|(bound, _)| *bound == 0.0 || size > *bound).unwrap().1
        };
        let latency_s = 2.0 * attribute("lat") * last_below("smpi/lat-factor", n + 16.0);
        let bytes_per_s = attribute("bw") * last_below("smpi/bw-factor", n + 16.0);
        let cpu_s = last_below("smpi/os", n) + last_below("smpi/or", n);
        1e6 * (cpu_s + latency_s + (n + 16.0) / bytes_per_s)
    }

    #[test]
    fn smpis_law_gives_the_times_of_the_machine() {
        let platform = exported(IPSC860).unwrap();
        let times_us =
            [(0.0, 79.0), (8.0, 84.04), (100.0, 142.0), (101.0, 197.41), (4096.0, 1835.36)];
        for (n, expected_us) in times_us {
            let found_us = one_way_us(&platform, n);
            assert!((found_us / expected_us - 1.0).abs() < 1e-6, "{n} B: {found_us} us");
        }
    }

    #[test]
    fn a_machine_without_a_startup_time_has_no_negative_parts() {
        let platform = exported(&IPSC860.replace("79 us", "0 us")).unwrap();
        assert!(!property(&platform, "smpi/os").contains(":-"), "{platform}");
        // All that it cannot express is the envelope.
        assert!((one_way_us(&platform, 0.0) - 16.0 * 0.63).abs() < 1e-6);
    }

    #[test]
    fn exactly_the_hosts_that_there_are_are_named() {
        assert!(exported(IPSC860).unwrap().contains("radical=\"0-1\""));
    }

    #[test]
    fn what_smpi_cannot_be_told_is_refused() {
        let error = exported(&IPSC860.replace("flat", "hypercube")).unwrap_err().to_string();
        assert_eq!(error, "only a flat machine makes a SimGrid platform, not ipsc860");
        let no_rate = IPSC860.replace("0.63 us/B", "0 us/B").replace("0.41 us/B", "0 us/B");
        let error = exported(&no_rate).unwrap_err().to_string();
        assert_eq!(error, "no byte takes any time on ipsc860");
    }
}
