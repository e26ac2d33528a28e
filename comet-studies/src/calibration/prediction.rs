//! Predictions of the calibrated machine beside the measured times.

use anyhow::Context as _;
use comet_core::driver::Settings;
use comet_core::kernel::{Case, Profile};
use comet_core::topology::Topology;
use comet_sim::machine::Machine;

use super::fit::is_left_out;
use super::readings::{Key, Reading, Readings};
use crate::simulated;

/// Operations between two clock readings: the driver's number for short ones, so that what
/// successive operations do to each other counts as it does there.
const REPETITIONS: u32 = 10;

pub(super) fn simulate(
    machine: Machine,
    topology: Topology,
    cases: &[Case],
) -> anyhow::Result<Readings> {
    let mut readings = Readings::default();
    let settings = Settings {
        repetitions: Some(REPETITIONS),
        samples: Some(1),
        ..Settings::of(Profile::Quick)
    };
    let kernels = simulated::kernels();
    simulated::measure(machine, topology, &kernels, cases, &settings, &mut readings)
        .context("the simulation failed")?;
    Ok(readings)
}

struct Prediction<'a> {
    measured: &'a Reading,
    predicted_ns: f64,
}

impl Prediction<'_> {
    fn error(&self) -> f64 {
        self.predicted_ns / self.measured.median_ns - 1.0
    }
}

/// A table of all predictions, and of their errors for each kernel.
pub(super) fn report(measured: &Readings, simulated: &Readings) -> String {
    let predictions = predictions(measured, simulated);
    let mut text = format!(
        "# predicted by the calibrated machine, and measured; nothing of it was fitted to\n\
         # {:<18} {:>12} {:>14} {:>14} {:>9}\n",
        "kernel", "size", "predicted_us", "measured_us", "error"
    );
    for prediction in &predictions {
        text += &row(prediction);
    }
    text += "\n# relative error\n";
    text += &format!("# {:<18} {:>12} {:>9} {:>9}\n", "kernel", "cases", "mean", "largest");
    let mut rest = &predictions[..];
    while let Some(first) = rest.first() {
        let kernel = &first.measured.key.kernel;
        let n = rest.iter().take_while(|other| other.measured.key.kernel == *kernel).count();
        text += &summary(kernel, &rest[..n]);
        rest = &rest[n..];
    }
    text += &summary("all", &predictions);
    text + CAUTION
}

const CAUTION: &str = "\
# The machine was fitted to messages that are freshly written. A broadcast sends the same bytes each
# time, which stay in the caches of ranks that share memory: there it is faster than predicted.
# A global sum starts at a barrier, which ranks leave one after the other; the simulated ones leave
# it together.
";

fn predictions<'a>(measured: &'a Readings, simulated: &Readings) -> Vec<Prediction<'a>> {
    let of = |kernel, series| {
        let is_of_pair = |reading: &&Reading| reading.key.hops != Some(0);
        measured.of(kernel, series).filter(is_of_pair).enumerate()
    };
    let all = of("comet/echo", "echo")
        .chain(of("comet/exchange", "exchange"))
        .chain(of("naive/broadcast", "broadcast"))
        .chain(of("naive/reduction", "reduction"))
        .chain(of("naive/barrier", "barrier"));
    let predict = |(_, measured): (usize, &'a Reading)| {
        let same = simulated.all.iter().find(|reading| reading.key == measured.key)?;
        Some(Prediction { measured, predicted_ns: same.median_ns })
    };
    all.filter(|(index, reading)| is_left_out(&reading.key, *index)).filter_map(predict).collect()
}

fn row(prediction: &Prediction<'_>) -> String {
    let Prediction { measured, predicted_ns } = prediction;
    format!(
        "  {:<18} {:>12} {:>14.4} {:>14.4} {:>9}\n",
        measured.key.kernel,
        size(&measured.key),
        predicted_ns / 1e3,
        measured.median_ns / 1e3,
        signed_percent(prediction.error())
    )
}

fn summary(what: &str, predictions: &[Prediction<'_>]) -> String {
    let errors: Vec<f64> = predictions.iter().map(|prediction| prediction.error().abs()).collect();
    let largest = predictions.iter().max_by(|a, b| a.error().abs().total_cmp(&b.error().abs()));
    let Some(largest) = largest else { return format!("  {what:<18} {:>12}\n", 0) };
    let mean = errors.iter().sum::<f64>() / errors.len() as f64;
    format!(
        "  {what:<18} {:>12} {:>9} {:>9}  ({}, {})\n",
        errors.len(),
        format!("{:.1} %", 100.0 * mean),
        signed_percent(largest.error()),
        largest.measured.key.kernel,
        size(&largest.measured.key),
    )
}

fn size(key: &Key) -> String {
    match (key.length_bytes, key.vector_length) {
        (Some(bytes), _) => format!("{bytes} B"),
        (None, Some(n)) => format!("{n} doubles"),
        (None, None) => "-".into(),
    }
}

fn signed_percent(share: f64) -> String {
    format!("{:+.1} %", 100.0 * share)
}

#[cfg(test)]
mod tests {
    use super::super::fit::Calibration;
    use super::super::{machine_file, readings};
    use super::*;
    use comet_sim::machine::MachineFile;
    use std::path::Path;

    /// A machine whose ranks copy all messages themselves, and hinder each other.
    const PLANTED: &str = r#"
        format = 1
        name = "planted"
        topology = { kind = "flat" }
        clock = { call_cost = "20 ns" }
        node = { daxpy = "0.4 ns", reduce = "0.4 ns", copy = "0.1 ns/B" }
        [[protocol]]
        up_to = "1 KiB"
        kind = "buffered"
        t0 = "400 ns"
        per_byte = "0.3 ns/B"
        unexpected = "0.2 ns/B"
        split = { o_send = "180 ns", o_recv = "180 ns", send_per_byte = "0.135 ns/B", recv_per_byte = "0.135 ns/B" }
        [[protocol]]
        kind = "buffered"
        t0 = "900 ns"
        per_byte = "0.1 ns/B"
        unexpected = "0.05 ns/B"
        split = { o_send = "405 ns", o_recv = "405 ns", send_per_byte = "0.045 ns/B", recv_per_byte = "0.045 ns/B" }
    "#;

    fn simulated(text: &str) -> Readings {
        let topology = Topology::hypercube(2);
        let cases = readings::cases(&topology).unwrap();
        simulate(MachineFile::parse(text, "test").unwrap().machine, topology, &cases).unwrap()
    }

    #[test]
    fn the_calibration_of_a_simulated_machine_predicts_it() {
        let measured = Readings { clock_ns: Some(20.0), ..simulated(PLANTED) };
        let calibration = Calibration::of(&measured).unwrap();
        let text = machine_file::text("found", Path::new("found.jsonl"), 2, &calibration);
        let simulated = simulated(&text);
        let predictions = predictions(&measured, &simulated);
        assert_eq!(predictions.len(), 19 + 11 + 7 + 6 + 1, "{text}");
        for prediction in &predictions {
            // Ranks that exchange lead in turn, and one that leads pays for no late receive.
            let is_exchange = prediction.measured.key.kernel == "comet/exchange";
            let tolerance = if is_exchange { 0.1 } else { 0.01 };
            assert!(prediction.error().abs() < tolerance, "{}\n{text}", row(prediction));
        }
    }

    fn reading(median_ns: f64) -> Reading {
        let (kernel, series) = ("naive/barrier".to_owned(), "barrier".to_owned());
        let key = Key { kernel, series, hops: None, length_bytes: None, vector_length: None };
        Reading { key, median_ns, n_samples: 10 }
    }

    #[test]
    fn a_report_has_each_error_their_mean_and_the_largest() {
        let of = |median_ns| Readings { all: vec![reading(median_ns)], clock_ns: None };
        let report = report(&of(2000.0), &of(1500.0));
        let lines: Vec<Vec<&str>> =
            report.lines().map(|l| l.split_whitespace().collect()).collect();
        assert_eq!(lines[2], ["naive/barrier", "-", "1.5000", "2.0000", "-25.0", "%"]);
        assert_eq!(lines[6][..6], ["naive/barrier", "1", "25.0", "%", "-25.0", "%"]);
        assert_eq!(lines[7][..6], ["all", "1", "25.0", "%", "-25.0", "%"]);
    }

    #[test]
    fn what_was_not_measured_is_not_predicted() {
        let nothing = report(&Readings::default(), &Readings::default());
        assert!(nothing.contains("  all                           0\n"), "{nothing}");
    }
}
