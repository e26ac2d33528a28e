//! A calibration as a machine file of the simulator: values with their units, where each comes
//! from, and how much it is worth. `comet-sim/machines/README.md` describes the form.

use std::path::Path;

use comet_stats::fit::{Line, Range};

use super::fit::{Calibration, Fitted, Protocol, Switch};

/// Share of a message's time that is the network's at least, or a send would take no time beyond
/// the CPU's, and no receive would ever be late.
const MIN_NETWORK_SHARE: f64 = 0.01;

/// The file for a machine called `name`, whose samples are in the file `record`.
pub(super) fn text(name: &str, record: &Path, n_ranks: usize, calibration: &Calibration) -> String {
    let record = record.file_name().unwrap_or_default().to_string_lossy();
    let mut text = head(name, &record, n_ranks, calibration.hidden_share);
    let mut from_bytes = 0;
    for protocol in &calibration.protocols {
        text += &table(protocol, from_bytes, calibration.hidden_share);
        from_bytes = protocol.switch.map_or(0, |switch| switch.up_to_bytes() + 1);
    }
    text += &node(calibration);
    text
}

fn head(name: &str, record: &str, n_ranks: usize, hidden_share: Option<f64>) -> String {
    let share = match hidden_share {
        Some(share) => format!(
            "{:.0} % of an exchange passed beside a DAXPY (comet/overlap): that share is the \
             network's,\n# the rest the CPUs', half each, which is assumed.",
            100.0 * share
        ),
        None => "no DAXPY was about as long as an exchange, so it is assumed that the CPUs do \
                 everything,\n# half each."
            .into(),
    };
    let source = source_of_split(hidden_share);
    format!(
        "# Written by comet-run calibrate. Every sample is in {record}.\n\
         #\n\
         # Not in here, because {n_ranks} ranks that are all alike do not tell it: the topology, \
         what a hop\n\
         # costs, and how links are shared. A flat network without contention stands for them.\n\
         # split ({source}): {share}\n\
         # unexpected: what exchanges (comet/exchange) take beyond one way, in which both ranks \
         send first and\n\
         # receive then.\n\
         # kind: an echo takes as long whether its messages are eager, buffered or rendezvous, \
         because each\n\
         # receive is posted before its message comes, so they cannot be told apart: buffered is \
         assumed, in\n\
         # which a send returns when the message has left, whether its receive is posted or not.\n\
         # up_to: measured where the two lengths beside the switch differ by one byte, or else \
         derived.\n\
         format = 1\n\
         name = {}\n\
         summary = \"{n_ranks} ranks, as comet-run calibrate found them\"\n\
         ranks = {n_ranks}\n\
         \n\
         [topology]\n\
         kind = \"flat\"\n\
         source = \"assumed\"\n",
        quoted(name)
    )
}

fn table(protocol: &Protocol, from_bytes: u64, hidden_share: Option<f64>) -> String {
    let Protocol { switch, law, late_per_byte_ns } = protocol;
    let Fitted { line, n_samples, launches } = law;
    let upper = switch.map_or("on".into(), |switch| format!("to {} B", switch.up_to_bytes()));
    let quality = line.quality;
    let mut text = format!(
        "\n# From {from_bytes} B {upper}: {} lengths, {n_samples} samples, largest residual {}.\n\
         [[protocol]]\n",
        quality.n_points,
        percent(quality.max_relative_residual)
    );
    let mut entry = |key: &str, value: String| text += &format!("{key} = {value}\n");
    if let Some(switch) = switch {
        entry("up_to", up_to(*switch));
    }
    entry("kind", quoted("buffered"));
    let range = |index: usize| launches.map(|(n, ranges)| (n, ranges[index]));
    entry("t0", with_range(line.t0, range(0), line.t0_error(), time));
    entry("per_byte", with_range(line.per_unit, range(1), line.per_unit_error(), rate));
    if let Some(late_per_byte_ns) = late_per_byte_ns {
        entry("unexpected", sourced(&rate(*late_per_byte_ns), "derived"));
    }
    entry("split", split(line.t0, line.per_unit, hidden_share));
    text
}

/// The last byte below a switch, with the lengths that were measured beside it.
fn up_to(switch: Switch) -> String {
    let source = if switch.is_measured() { "measured" } else { "derived" };
    let value = sourced(&format!("{} B", switch.up_to_bytes()), source);
    format!("{value}  # {} B is below the switch, {} B above", switch.below, switch.above)
}

/// The shares of the two CPUs, which are the same: what is not hidden beside a computation. They
/// are rounded down, so that together they are never more than the whole.
fn split(t0_ns: f64, per_byte_ns: f64, hidden_share: Option<f64>) -> String {
    let of_a_cpu = (1.0 - hidden_share.unwrap_or(0.0).max(MIN_NETWORK_SHARE)) / 2.0;
    let overhead = quoted(&time((of_a_cpu * t0_ns * 1e3).floor() / 1e3));
    let per_byte = quoted(&rate((of_a_cpu * per_byte_ns * 1e6).floor() / 1e6));
    let source = quoted(source_of_split(hidden_share));
    format!(
        "{{ o_send = {overhead}, o_recv = {overhead}, send_per_byte = {per_byte}, \
         recv_per_byte = {per_byte}, source = {source} }}"
    )
}

fn source_of_split(hidden_share: Option<f64>) -> &'static str {
    if hidden_share.is_some() { "derived" } else { "assumed" }
}

fn node(calibration: &Calibration) -> String {
    let Calibration { daxpy, copy, clock_ns, .. } = calibration;
    let mut text = format!(
        "\n[node]\n\
         daxpy = {}  # an element; {}\n\
         reduce = {}  # an element; as of the DAXPY, which adds to as much memory\n\
         copy = {}  # {}\n",
        sourced(&time(daxpy.line.per_unit), "measured"),
        basis(daxpy),
        sourced(&time(daxpy.line.per_unit), "derived"),
        sourced(&rate(copy.line.per_unit), "measured"),
        basis(copy),
    );
    if let Some(clock_ns) = clock_ns {
        let cost = sourced(&time(*clock_ns), "measured");
        text += &format!("\n[clock]\nresolution = \"1 ns\"\ncall_cost = {cost}\n");
    }
    text
}

fn basis(fitted: &Fitted) -> String {
    let Fitted { line: Line { quality, .. }, n_samples, .. } = fitted;
    let (n_points, residual) = (quality.n_points, percent(quality.max_relative_residual));
    format!("{n_points} points, {n_samples} samples, largest residual {residual}")
}

/// A measured value, with its range over so many launches, or with the standard error of one line.
fn with_range(
    value: f64,
    launches: Option<(usize, Option<Range>)>,
    error: Option<f64>,
    text: fn(f64) -> String,
) -> String {
    let entry = sourced(&text(value), "measured");
    let range = launches.and_then(|(n, range)| Some((n, range?)));
    // Without scatter, or with a sign that was forced, there is no error.
    let error = error.map(text).filter(|error| *error != text(0.0) && launches.is_none());
    match (range, error) {
        (Some((n, Range { low, high })), _) => {
            format!("{entry}  # {} to {} at 95 %, by {n} launches", text(low), text(high))
        }
        (None, Some(error)) => format!("{entry}  # standard error {error} around one line"),
        (None, None) => entry,
    }
}

fn sourced(value: &str, source: &str) -> String {
    format!("{{ value = {}, source = {} }}", quoted(value), quoted(source))
}

fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

/// A time in whole picoseconds.
fn time(ns: f64) -> String {
    format!("{ns:.3} ns")
}

fn rate(ns_per_byte: f64) -> String {
    format!("{:.3} ps/B", 1e3 * ns_per_byte)
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

#[cfg(test)]
mod tests {
    use super::super::fit::{Calibration, tests::readings};
    use super::*;
    use comet_sim::machine::MachineFile;

    fn written(late_per_byte_ns: f64) -> String {
        let calibration = Calibration::of(&readings(late_per_byte_ns)).unwrap();
        text("my \"host\"", Path::new("results/host.jsonl"), 2, &calibration)
    }

    #[test]
    fn what_is_written_is_read_again_as_what_was_measured() {
        let machine = MachineFile::parse(&written(0.25), "test").unwrap().machine;
        assert_eq!((machine.name.as_str(), machine.segments.len()), ("my \"host\"", 2));
        let [short, long] = &machine.segments[..] else { panic!("two protocols") };
        assert_eq!((short.up_to_bytes, long.up_to_bytes), (Some(1024), None));
        // A quarter of 1 us is the network's.
        let parts_ps = (short.o_send_ps, short.latency_ps, short.o_recv_ps);
        assert_eq!(parts_ps, (375_000, 250_000, 375_000));
        let bytes_ps = [short.send, short.wire, short.recv].map(|rate| rate.times(1000));
        assert_eq!(bytes_ps, [375_000, 250_000, 375_000]);
        assert_eq!((long.unexpected.times(1000), machine.node.daxpy_ps), (250_000, 1_000));
        assert_eq!(machine.clock.call_cost_ps, 25_000);
    }

    #[test]
    fn a_switch_names_the_lengths_beside_it_and_is_derived_if_others_lie_between_them() {
        let check = |below, above, expected: &str| {
            assert_eq!(up_to(Switch { below, above }), expected);
        };
        check(
            301,
            302,
            "{ value = \"301 B\", source = \"measured\" }  # 301 B is below the switch, 302 B above",
        );
        check(
            813,
            1290,
            "{ value = \"1024 B\", source = \"derived\" }  # 813 B is below the switch, 1290 B above",
        );
    }

    #[test]
    fn an_error_that_rounds_to_nothing_is_none() {
        let check = |error, expected| {
            let found = with_range(2.0, None, error, time);
            assert_eq!(found.contains("standard error"), expected);
        };
        check(None, false);
        check(Some(1e-9), false);
        check(Some(0.001), true);
    }

    #[test]
    fn a_value_of_several_launches_has_their_range_and_no_error_of_one_line() {
        let check = |range, expected: &str| {
            let found = with_range(2.0, Some((3, range)), Some(0.001), time);
            assert_eq!(found, format!("{}{expected}", sourced("2.000 ns", "measured")));
        };
        let range = Range { low: 1.9, high: 2.2 };
        check(Some(range), "  # 1.900 ns to 2.200 ns at 95 %, by 3 launches");
        check(None, "");
    }

    #[test]
    fn a_split_that_was_not_measured_is_assumed() {
        let check = |hidden_share, expected: &str| {
            assert_eq!(split(100.0, 1.0, hidden_share), expected);
        };
        let parts = "{ o_send = \"49.500 ns\", o_recv = \"49.500 ns\", \
                     send_per_byte = \"495.000 ps/B\", recv_per_byte = \"495.000 ps/B\", source = ";
        check(None, &format!("{parts}\"assumed\" }}"));
        check(Some(0.0), &format!("{parts}\"derived\" }}"));
    }

    #[test]
    fn a_machine_says_what_it_rests_on() {
        let text = written(0.0);
        for part in [
            "# From 0 B to 1024 B: 14 lengths, 140 samples, largest residual 0.0 %.\n",
            "t0 = { value = \"1000.000 ns\", source = \"measured\" }",
            "Every sample is in host.jsonl.",
            "the topology, what a hop\n# costs, and how links are shared",
            "25 % of an exchange passed beside a DAXPY",
        ] {
            assert!(text.contains(part), "{part} is not in\n{text}");
        }
    }
}
