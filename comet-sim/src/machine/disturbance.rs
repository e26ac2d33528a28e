//! Reads what a machine file adds to disturb a run: noise and faults.

use std::collections::BTreeMap;

use toml::Spanned;

use super::form::{Entry, FaultForm, NoiseForm, SlowRankForm};
use super::reader::{Convert, Reader, Table};
use super::{Delay, Faults, MachineError, Noise, NoiseSource, units};

/// The strongest correlation; beyond it a draw has thousands of terms.
const MAX_PHI: f64 = 0.999;

/// Kinds of noise, and the keys of each.
const KINDS: &[(&str, &[&str])] = &[
    ("log_normal", &["sigma"]),
    ("spike", &["probability", "mean"]),
    ("outlier", &["probability", "scale"]),
    ("ar1", &["phi", "sigma"]),
    ("regimes", &["sojourn", "ratio"]),
    ("start_up", &["amplitude", "tau"]),
    ("detour", &["period", "length"]),
];

/// Reads the noise.
pub(super) fn noise(reader: &mut Reader<'_>, form: &NoiseForm) -> Result<Noise, MachineError> {
    let sources = form.source.iter().map(|keys| source(reader, keys)).collect::<Result<_, _>>()?;
    Ok(Noise { seed: form.seed, sources })
}

/// Reads the faults.
pub(super) fn faults(reader: &mut Reader<'_>, form: &FaultForm) -> Result<Faults, MachineError> {
    let mut table = reader.table(None);
    let mut faults = Faults {
        drop_probability: table.or_zero("drop", form.drop.as_ref(), units::share)?,
        ..Faults::default()
    };
    for SlowRankForm { rank, factor } in &form.slow_rank {
        faults.slow_ranks.push((*rank, table.value("factor", factor, units::slowdown)?));
    }
    for delay in &form.delay {
        let delay_ps = table.value("delay", &delay.delay, units::time_ps)?;
        faults.delays.push(Delay { rank: delay.rank, operation: delay.operation, delay_ps });
    }
    for dead in &form.dead_rank {
        faults.dead_ranks.push((dead.rank, table.value("at", &dead.at, units::time_ps)?));
    }
    Ok(faults)
}

fn source(
    reader: &mut Reader<'_>,
    keys: &Spanned<BTreeMap<String, Entry>>,
) -> Result<NoiseSource, MachineError> {
    let kind = kind(reader, keys)?;
    let mut keys = Keys { table: reader.table(None), keys: keys.get_ref() };
    Ok(match kind {
        "log_normal" => NoiseSource::LogNormal { sigma: keys.value("sigma", units::percent)? },
        "spike" => NoiseSource::Spike {
            probability: keys.value("probability", units::share)?,
            mean_ps: keys.value("mean", units::time_ps)?,
        },
        "outlier" => NoiseSource::Outlier {
            probability: keys.value("probability", units::share)?,
            scale: keys.value("scale", units::slowdown)?,
        },
        "ar1" => NoiseSource::Ar1 {
            phi: keys.value("phi", correlation)?,
            sigma: keys.value("sigma", units::percent)?,
        },
        "regimes" => NoiseSource::Regimes {
            sojourn: keys.value("sojourn", units::slowdown)?,
            ratio: keys.value("ratio", units::slowdown)?,
        },
        "start_up" => NoiseSource::StartUp {
            amplitude: keys.value("amplitude", units::factor)?,
            tau: keys.value("tau", positive)?,
        },
        _ => detour(&mut keys)?,
    })
}

/// The kind, if the table has all of its keys and no other.
fn kind(
    reader: &Reader<'_>,
    keys: &Spanned<BTreeMap<String, Entry>>,
) -> Result<&'static str, MachineError> {
    let at = keys.span().start;
    let keys = keys.get_ref();
    let Some(entry) = keys.get("kind") else {
        let message = "this [[noise.source]] has no kind (write kind = \"spike\")";
        return Err(reader.error(at, message));
    };
    let Some((kind, needed)) = KINDS.iter().find(|(kind, _)| *kind == entry.get_ref().text) else {
        let kinds: Vec<_> = KINDS.iter().map(|(kind, _)| *kind).collect();
        let problem = format!("is no kind of noise (write one of {})", kinds.join(", "));
        return Err(reader.refuse("kind", entry, &problem));
    };
    let is_complete = needed.iter().all(|key| keys.contains_key(*key));
    if keys.len() == needed.len() + 1 && is_complete {
        return Ok(kind);
    }
    let problem = format!("needs {}, and no other key (write these)", needed.join(" and "));
    Err(reader.refuse("kind", entry, &problem))
}

fn detour(keys: &mut Keys<'_, '_, '_>) -> Result<NoiseSource, MachineError> {
    let period_ps = keys.value("period", units::time_ps)?;
    let length_ps = keys.value("length", units::time_ps)?;
    if length_ps < period_ps {
        return Ok(NoiseSource::Detour { period_ps, length_ps });
    }
    let problem = "is not shorter than the period (shorten it, or nothing is ever computed)";
    Err(keys.table.reader.refuse("length", &keys.keys["length"], problem))
}

fn correlation(text: &str) -> Result<f64, String> {
    let phi = units::factor(text).ok().filter(|phi| *phi <= MAX_PHI);
    phi.ok_or_else(|| "is no correlation from 0 to 0.999 (write it as in 0.9)".into())
}

fn positive(text: &str) -> Result<f64, String> {
    let number = units::factor(text).ok().filter(|number| *number > 0.0);
    number.ok_or_else(|| "is no number above 0 (write it as in 10)".into())
}

/// The keys of a source of noise, which are known to be there.
struct Keys<'k, 'r, 'a> {
    table: Table<'r, 'a>,
    keys: &'k BTreeMap<String, Entry>,
}

impl Keys<'_, '_, '_> {
    fn value<T>(&mut self, key: &str, convert: Convert<T>) -> Result<T, MachineError> {
        self.table.value(key, &self.keys[key], convert)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::{Machine, MachineFile};

    const HEAD: &str = "format = 1\nname = \"mine\"\ntopology = { kind = \"flat\" }\n\
                        [[protocol]]\nkind = \"eager\"\nt0 = \"1 us\"\nper_byte = \"1 ns/B\"\n";

    fn parse(tables: &str) -> Result<Machine, MachineError> {
        MachineFile::parse(&format!("{HEAD}{tables}"), "my.toml").map(|file| file.machine)
    }

    #[track_caller]
    fn check_error(tables: &str, expected: &str) {
        let error = parse(tables).unwrap_err();
        assert_eq!(error.to_string(), format!("my.toml, line {expected}"));
    }

    #[test]
    fn each_kind_of_noise_has_its_keys() {
        let check = |lines: &str, expected| {
            let machine = parse(&format!("[[noise.source]]\n{lines}")).unwrap();
            assert_eq!(machine.noise.sources, [expected], "{lines}");
        };
        check("kind = \"log_normal\"\nsigma = \"2 %\"", NoiseSource::LogNormal { sigma: 0.02 });
        check(
            "kind = \"spike\"\nprobability = \"5 %\"\nmean = \"200 us\"",
            NoiseSource::Spike { probability: 0.05, mean_ps: 200_000_000 },
        );
        check(
            "kind = \"outlier\"\nprobability = \"1 %\"\nscale = 10",
            NoiseSource::Outlier { probability: 0.01, scale: 10.0 },
        );
        check(
            "kind = \"ar1\"\nphi = 0.9\nsigma = \"1 %\"",
            NoiseSource::Ar1 { phi: 0.9, sigma: 0.01 },
        );
        check(
            "kind = \"regimes\"\nsojourn = 100\nratio = 1.2",
            NoiseSource::Regimes { sojourn: 100.0, ratio: 1.2 },
        );
        check(
            "kind = \"start_up\"\namplitude = 2.5\ntau = 10",
            NoiseSource::StartUp { amplitude: 2.5, tau: 10.0 },
        );
        check(
            "kind = \"detour\"\nperiod = \"10 ms\"\nlength = \"20 us\"",
            NoiseSource::Detour { period_ps: 10_000_000_000, length_ps: 20_000_000 },
        );
    }

    #[test]
    fn noise_has_a_seed_and_adds_up() {
        let spike = "[[noise.source]]\nkind = \"spike\"\nprobability = \"5 %\"\nmean = \"2 us\"\n";
        let noise = parse(&format!("[noise]\nseed = 42\n{spike}{spike}")).unwrap().noise;
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
        assert_eq!(faults.unwrap().faults, expected);
    }

    #[test]
    fn noise_that_cannot_be_is_refused() {
        let check = |lines: &str, expected| {
            check_error(&format!("[[noise.source]]\n{lines}"), expected);
        };
        check("sigma = \"2 %\"", "8: this [[noise.source]] has no kind (write kind = \"spike\")");
        check(
            "kind = \"pink\"",
            "9: kind = \"pink\" is no kind of noise (write one of log_normal, spike, outlier, \
             ar1, regimes, start_up, detour)",
        );
        let needs = "9: kind = \"spike\" needs probability and mean, and no other key (write \
                     these)";
        check("kind = \"spike\"\nmean = \"1 us\"", needs);
        check("kind = \"spike\"\nmean = \"1 us\"\nprobability = \"1 %\"\nphi = 1", needs);
        check("kind = \"spike\"\nmean = \"1 us\"\nphi = 1", needs);
        check(
            "kind = \"spike\"\nmean = \"1 us\"\nprobability = \"120 %\"",
            "11: probability = \"120 %\" is not between 0 % and 100 % (write a share of the whole)",
        );
        check(
            "kind = \"ar1\"\nphi = 1\nsigma = \"1 %\"",
            "10: phi = \"1\" is no correlation from 0 to 0.999 (write it as in 0.9)",
        );
        check(
            "kind = \"start_up\"\namplitude = 1\ntau = 0",
            "11: tau = \"0\" is no number above 0 (write it as in 10)",
        );
        check(
            "kind = \"detour\"\nperiod = \"1 us\"\nlength = \"1 us\"",
            "11: length = \"1 us\" is not shorter than the period (shorten it, or nothing is ever \
             computed)",
        );
    }

    #[test]
    fn a_fault_that_cannot_be_is_refused() {
        check_error(
            "[fault]\ndrop = \"-1 %\"",
            "9: drop = \"-1 %\" does not begin with a number of at most 18 digits (write it as in \
             \"0.5 %\")",
        );
        check_error(
            "[fault]\nslow_rank = [{ rank = 3, factor = 0.5 }]",
            "9: factor = \"0.5\" is no factor of at least 1 (write it as in 1.5)",
        );
        check_error(
            "[fault]\ndead_rank = [{ rank = 3 }]",
            "9: missing field `at` (comet-sim/machines/README.md explains every key)",
        );
    }
}
