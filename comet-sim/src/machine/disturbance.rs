//! Disturbances of a run in a machine file: noise and faults.

use super::reader::{Result, Table};
use super::{Delay, Faults, Noise, NoiseSource, units};

/// The strongest correlation; beyond it a draw has thousands of terms.
const MAX_PHI: f64 = 0.999;

pub(super) fn noise(table: &Table<'_>) -> Result<Noise> {
    let seed = table.plain("seed")?.unwrap_or_default();
    Ok(Noise { seed, sources: list(table, "source", source)? })
}

pub(super) fn faults(table: &Table<'_>) -> Result<Faults> {
    let slow =
        |table: &Table<'_>| Ok((table.needed("rank")?, table.value("factor", units::slowdown)?));
    let delay = |table: &Table<'_>| {
        let (rank, operation) = (table.needed("rank")?, table.needed("operation")?);
        Ok(Delay { rank, operation, delay_ps: table.value("delay", units::time_ps)? })
    };
    let dead = |table: &Table<'_>| Ok((table.needed("rank")?, table.value("at", units::time_ps)?));
    Ok(Faults {
        slow_ranks: list(table, "slow_rank", slow)?,
        delays: list(table, "delay", delay)?,
        dead_ranks: list(table, "dead_rank", dead)?,
        drop_probability: table.or_zero("drop", units::share)?,
    })
}

fn list<T>(
    table: &Table<'_>,
    key: &'static str,
    read: impl Fn(&Table<'_>) -> Result<T>,
) -> Result<Vec<T>> {
    table.tables(key)?.into_iter().map(|table| table.read(&read)).collect()
}

fn source(table: &Table<'_>) -> Result<NoiseSource> {
    let kind: Option<String> = table.plain("kind")?;
    let Some(kind) = kind else {
        return Err(table.error("this [[noise.source]] has no kind (write kind = \"spike\")"));
    };
    Ok(match &*kind {
        "log_normal" => NoiseSource::LogNormal { sigma: table.value("sigma", units::percent)? },
        "spike" => NoiseSource::Spike {
            probability: table.value("probability", units::share)?,
            mean_ps: table.value("mean", units::time_ps)?,
        },
        "outlier" => NoiseSource::Outlier {
            probability: table.value("probability", units::share)?,
            scale: table.value("scale", units::slowdown)?,
        },
        "ar1" => NoiseSource::Ar1 {
            phi: table.value("phi", correlation)?,
            sigma: table.value("sigma", units::percent)?,
        },
        "regimes" => NoiseSource::Regimes {
            sojourn: table.value("sojourn", units::slowdown)?,
            ratio: table.value("ratio", units::slowdown)?,
        },
        "start_up" => NoiseSource::StartUp {
            amplitude: table.value("amplitude", units::factor)?,
            tau: table.value("tau", positive)?,
        },
        "detour" => detour(table)?,
        _ => {
            let problem = "is no kind of noise (write one of log_normal, spike, outlier, ar1, \
                           regimes, start_up, detour)";
            return Err(table.refuse("kind", problem));
        }
    })
}

fn detour(table: &Table<'_>) -> Result<NoiseSource> {
    let period_ps = table.value("period", units::time_ps)?;
    let length_ps = table.value("length", units::time_ps)?;
    if length_ps < period_ps {
        return Ok(NoiseSource::Detour { period_ps, length_ps });
    }
    let problem = "is not shorter than the period (shorten it, or nothing is ever computed)";
    Err(table.refuse("length", problem))
}

fn correlation(text: &str) -> Result<f64, String> {
    let problem = "is no correlation from 0 to 0.999 (write it as in 0.9)";
    units::number(text, |phi| phi <= MAX_PHI, problem)
}

fn positive(text: &str) -> Result<f64, String> {
    units::number(text, |number| number > 0.0, "is no number above 0 (write it as in 10)")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::file::tests::check_errors;
    use crate::machine::{Machine, MachineFile};

    const HEAD: &str = "format = 1\nname = \"mine\"\ntopology = { kind = \"flat\" }\n\
                        [[protocol]]\nkind = \"eager\"\nt0 = \"1 us\"\nper_byte = \"1 ns/B\"\n";

    fn parse(tables: &str) -> Machine {
        MachineFile::parse(&format!("{HEAD}{tables}"), "my.toml").unwrap().machine
    }

    #[test]
    fn each_kind_of_noise_has_its_keys() {
        let rows = r#"
    kind = "log_normal"; sigma = "2 %"                         => LogNormal { sigma: 0.02 }
    kind = "spike"; probability = "5 %"; mean = "200 us"       => Spike { probability: 0.05, mean_ps: 200000000 }
    kind = "outlier"; probability = "1 %"; scale = 10          => Outlier { probability: 0.01, scale: 10.0 }
    kind = "ar1"; phi = 0.9; sigma = "1 %"                     => Ar1 { phi: 0.9, sigma: 0.01 }
    kind = "regimes"; sojourn = 100; ratio = 1.2               => Regimes { sojourn: 100.0, ratio: 1.2 }
    kind = "start_up"; amplitude = 2.5; tau = 10               => StartUp { amplitude: 2.5, tau: 10.0 }
    kind = "detour"; period = "10 ms"; length = "20 us"        => Detour { period_ps: 10000000000, length_ps: 20000000 }
        "#;
        for row in rows.trim().lines() {
            let (lines, expected) = row.split_once("=>").unwrap();
            let machine = parse(&format!("[[noise.source]]\n{}", lines.trim().replace("; ", "\n")));
            assert_eq!(format!("{:?}", machine.noise.sources), format!("[{}]", expected.trim()));
        }
    }

    #[test]
    fn noise_has_a_seed_and_adds_up() {
        let spike = "[[noise.source]]\nkind = \"spike\"\nprobability = \"5 %\"\nmean = \"2 us\"\n";
        let noise = parse(&format!("[noise]\nseed = 42\n{spike}{spike}")).noise;
        assert_eq!((noise.seed, noise.sources.len()), (42, 2));
    }

    #[test]
    fn faults_name_their_ranks() {
        let faults = parse(
            "[fault]\n\
             drop = \"0.1 %\"\n\
             slow_rank = [{ rank = 3, factor = 4.0 }]\n\
             delay = [{ rank = 1, operation = 10, delay = \"5 ms\" }]\n\
             dead_rank = [{ rank = 2, at = \"2 s\" }]\n",
        );
        let expected = Faults {
            slow_ranks: vec![(3, 4.0)],
            delays: vec![Delay { rank: 1, operation: 10, delay_ps: 5_000_000_000 }],
            dead_ranks: vec![(2, 2_000_000_000_000)],
            drop_probability: 0.001,
        };
        assert_eq!(faults.faults, expected);
    }

    #[test]
    fn noise_and_faults_that_cannot_be_are_refused() {
        check_errors(
            |lines| format!("{HEAD}[[noise.source]]\n{lines}"),
            include_str!("tests/noise.txt"),
        );
        check_errors(|line| format!("{HEAD}[fault]\n{line}"), include_str!("tests/faults.txt"));
    }
}
