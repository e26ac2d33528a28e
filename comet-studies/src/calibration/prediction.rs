//! Predictions of the calibrated machine beside the measured times.

use std::collections::BTreeSet;

use anyhow::Context as _;
use comet_core::driver::Settings;
use comet_core::kernel::{Case, Profile};
use comet_core::topology::Topology;
use comet_sim::Sim;
use comet_sim::machine::Machine;
use comet_suites::Suites as _;

use super::fit::is_exchange_left_out;
use super::readings::{Key, Reading, Readings};
use crate::simulated;

/// Operations between two clock readings: the driver's number for short ones, so that what
/// successive operations do to each other counts as it does there.
const REPETITIONS: u32 = 10;

/// Error beyond which the times of a kernel are not predicted, relative to the measured time.
const MAX_ERROR: f64 = 0.25;

/// The settings of a simulation without noise.
pub(super) fn settings() -> Settings {
    Settings { repetitions: Some(REPETITIONS), samples: Some(1), ..Settings::of(Profile::Quick) }
}

pub(super) fn simulate(
    machine: Machine,
    topology: Topology,
    cases: &[Case],
    settings: &Settings,
) -> anyhow::Result<Readings> {
    let mut readings = Readings::default();
    let kernels = Sim::kernels();
    simulated::measure(machine, topology, &kernels, cases, settings, &mut readings)
        .context("the simulation failed")?;
    Ok(readings)
}

pub(super) struct Prediction<'a> {
    measured: &'a Reading,
    predicted_ns: f64,
}

impl Prediction<'_> {
    fn error(&self) -> f64 {
        self.predicted_ns / self.measured.median_ns - 1.0
    }
}

/// A table of all `predictions`, their errors for each kernel, and the kernels that are refused.
pub(super) fn report(predictions: &[Prediction<'_>]) -> String {
    let mut text = format!(
        "# predicted by the calibrated machine, and measured; no line was fitted to any of it\n\
         # {:<18} {:>12} {:>14} {:>14} {:>9}\n",
        "kernel", "size", "predicted_us", "measured_us", "error"
    );
    for prediction in predictions {
        text += &row(prediction);
    }
    text += "\n# relative error\n";
    text += &format!("# {:<18} {:>12} {:>9} {:>9}\n", "kernel", "cases", "mean", "largest");
    for of_kernel in by_kernel(predictions) {
        text += &summary(&of_kernel[0].measured.key.kernel, of_kernel);
    }
    text += &summary("all", predictions);
    text + &refusals(predictions)
}

/// One comment for each kernel whose times the machine predicts with an error above [`MAX_ERROR`],
/// with the likely reason.
pub(super) fn refusals(predictions: &[Prediction<'_>]) -> String {
    let refusal = |of_kernel: &[Prediction<'_>]| {
        let worst = largest(of_kernel).filter(|worst| worst.error().abs() > MAX_ERROR)?;
        let Key { kernel, .. } = &worst.measured.key;
        let (error, size) = (signed_percent(worst.error()), size(&worst.measured.key));
        let limit = 100.0 * MAX_ERROR;
        let reason = reason(kernel, worst.error());
        Some(format!("# refused: {kernel}: {error} at {size}, beyond {limit:.0} %: {reason}\n"))
    };
    by_kernel(predictions).filter_map(refusal).collect()
}

/// The likely reason for which the times of a machine that was fitted to echoes differ from those of
/// `kernel` by this `error`: above 0 they are too long.
fn reason(kernel: &str, error: f64) -> &'static str {
    match kernel {
        "naive/broadcast" if error > 0.0 => {
            "it sends the same bytes each time, which stay in caches, and echoes are freshly written"
        }
        "naive/reduction" if error < 0.0 => {
            "it starts at a barrier or in a window, which real ranks leave one after the other"
        }
        "comet/exchange" if error < 0.0 => "both directions share memory, caches or a link",
        _ if error > 0.0 => "messages that overlap each other cost less than one alone",
        _ => "messages that overlap each other cost more than one alone",
    }
}

fn by_kernel<'a, 'p>(
    predictions: &'a [Prediction<'p>],
) -> impl Iterator<Item = &'a [Prediction<'p>]> {
    predictions.chunk_by(|a, b| a.measured.key.kernel == b.measured.key.kernel)
}

fn largest<'a, 'p>(predictions: &'a [Prediction<'p>]) -> Option<&'a Prediction<'p>> {
    predictions.iter().max_by(|a, b| a.error().abs().total_cmp(&b.error().abs()))
}

/// Predictions of all readings but those that lines were fitted to; of the echoes they are those of
/// the lengths `left_out`.
pub(super) fn predictions<'a>(
    measured: &'a Readings,
    simulated: &Readings,
    left_out: &BTreeSet<u64>,
) -> Vec<Prediction<'a>> {
    let of = |kernel, series| {
        let is_of_pair = |reading: &&Reading| reading.key.hops != Some(0);
        measured.of(kernel, series).filter(is_of_pair).enumerate()
    };
    let is_left_out = |reading: &&Reading| {
        reading.key.length_bytes.is_some_and(|length_bytes| left_out.contains(&length_bytes))
    };
    let echoes = measured.echo(1).into_iter().filter(is_left_out);
    let exchanges = of("comet/exchange", "exchange");
    let exchanges = exchanges.filter(|(index, _)| is_exchange_left_out(*index));
    let others = exchanges
        .chain(of("naive/broadcast", "broadcast"))
        .chain(of("naive/reduction", "reduction"))
        .chain(of("naive/barrier", "barrier"));
    let predict = |measured: &'a Reading| {
        let same = simulated.all.iter().find(|reading| reading.key == measured.key)?;
        Some(Prediction { measured, predicted_ns: same.median_ns })
    };
    echoes.chain(others.map(|(_, reading)| reading)).filter_map(predict).collect()
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
    let Some(largest) = largest(predictions) else { return format!("  {what:<18} {:>12}\n", 0) };
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
    const PLANTED: &str = include_str!("tests/planted.toml");

    /// Four laws with the switches of the review: 301, 5003 and 91 000 bytes.
    const FOUR_LAWS: &str = include_str!("tests/four-laws.toml");

    /// The readings of a machine, whose echoes were searched for switches first.
    fn measured(text: &str) -> Readings {
        let topology = Topology::hypercube(2);
        let machine = MachineFile::parse(text, "test").unwrap().machine;
        let measure = |cases: &[Case], settings: &Settings| {
            simulate(machine.clone(), topology.clone(), cases, settings).unwrap()
        };
        let searched = Settings {
            refine: Some(comet_stats::refine::Rule::Verified),
            samples: Some(2),
            ..settings()
        };
        let found = measure(&readings::search_cases(&topology).unwrap(), &searched);
        let lengths: Vec<u64> =
            found.echo(1).iter().filter_map(|reading| reading.key.length_bytes).collect();
        measure(&readings::cases(&topology, &lengths).unwrap(), &settings())
    }

    /// The machine file of a calibration, and the errors of its predictions by kernel and size.
    fn calibrated(planted: &str, clock_ns: f64) -> (String, Vec<(String, String, f64)>) {
        let measured = Readings { clock_ns: Some(clock_ns), ..measured(planted) };
        let calibration = Calibration::of(&measured).unwrap();
        let text = machine_file::text("found", Path::new("found.jsonl"), 2, &calibration);
        let topology = Topology::hypercube(2);
        let lengths: Vec<u64> =
            measured.echo(1).iter().filter_map(|reading| reading.key.length_bytes).collect();
        let cases = readings::cases(&topology, &lengths).unwrap();
        let machine = MachineFile::parse(&text, "test").unwrap().machine;
        let simulated = simulate(machine, topology, &cases, &settings()).unwrap();
        let predictions = predictions(&measured, &simulated, &calibration.left_out);
        let error = |prediction: &Prediction<'_>| {
            let key = &prediction.measured.key;
            (key.kernel.clone(), size(key), prediction.error())
        };
        let errors = predictions.iter().map(error).collect();
        (text, errors)
    }

    #[test]
    fn the_calibration_of_a_simulated_machine_predicts_it() {
        let (text, errors) = calibrated(PLANTED, 20.0);
        assert!(errors.len() > 10 + 11 + 7 + 6, "{text}");
        for (kernel, size, error) in errors {
            // Ranks that exchange lead in turn, and one that leads pays for no late receive.
            let tolerance = if kernel == "comet/exchange" { 0.1 } else { 0.01 };
            assert!(error.abs() < tolerance, "{kernel} {size}: {error}\n{text}");
        }
    }

    #[test]
    fn switches_between_four_laws_are_found_to_the_byte_and_echoes_beside_them_predicted() {
        let (text, errors) = calibrated(FOUR_LAWS, 23.0);
        for (below, above) in [(301, 302), (5003, 5004), (91_000, 91_001)] {
            let switch = format!(
                "up_to = {{ value = \"{below} B\", source = \"measured\" }}  \
                 # {below} B is below the switch, {above} B above"
            );
            assert!(text.contains(&switch), "{switch} is not in\n{text}");
        }
        assert!(!text.contains("standard error 0.000"), "{text}");
        let echoes: Vec<_> = errors.iter().filter(|error| error.0 == "comet/echo").collect();
        for size in ["301 B", "302 B", "5003 B", "5004 B", "91000 B", "91001 B"] {
            assert!(echoes.iter().any(|echo| echo.1 == size), "{size} is not left out");
        }
        for (_, size, error) in echoes {
            assert!(error.abs() < 0.02, "{size}: {error}\n{text}");
        }
    }

    fn reading(median_ns: f64) -> Reading {
        let (kernel, series) = ("naive/barrier".to_owned(), "barrier".to_owned());
        let key = Key { kernel, series, hops: None, length_bytes: None, vector_length: None };
        Reading { key, median_ns, launches_ns: Vec::new(), n_samples: 10 }
    }

    #[test]
    fn a_report_has_each_error_their_mean_and_the_largest() {
        let of = |median_ns| Readings { all: vec![reading(median_ns)], clock_ns: None };
        let (measured, simulated) = (of(2000.0), of(1400.0));
        let report = report(&predictions(&measured, &simulated, &BTreeSet::new()));
        let lines: Vec<Vec<&str>> =
            report.lines().map(|l| l.split_whitespace().collect()).collect();
        assert_eq!(lines[2], ["naive/barrier", "-", "1.4000", "2.0000", "-30.0", "%"]);
        assert_eq!(lines[6][..6], ["naive/barrier", "1", "30.0", "%", "-30.0", "%"]);
        assert_eq!(lines[7][..6], ["all", "1", "30.0", "%", "-30.0", "%"]);
        let refusal = "# refused: naive/barrier: -30.0 % at -, beyond 25 %: messages that overlap";
        assert!(report.lines().last().unwrap().starts_with(refusal), "{report}");
    }

    #[test]
    fn the_reason_of_a_refusal_agrees_with_its_sign() {
        for kernel in ["naive/broadcast", "naive/reduction", "comet/exchange", "naive/barrier"] {
            let [short, long] = [-0.3, 0.3].map(|error| reason(kernel, error));
            assert_ne!(short, long, "{kernel}");
            assert!(!short.contains("stay in caches") && !long.contains("one after the other"));
        }
    }

    #[test]
    fn a_kernel_that_is_predicted_well_is_not_refused() {
        let of = |median_ns| Readings { all: vec![reading(median_ns)], clock_ns: None };
        let (measured, simulated) = (of(2000.0), of(1600.0));
        assert_eq!(refusals(&predictions(&measured, &simulated, &BTreeSet::new())), "");
    }

    #[test]
    fn what_was_not_measured_is_not_predicted() {
        let nothing = report(&[]);
        assert!(nothing.contains("  all                           0\n"), "{nothing}");
    }
}
