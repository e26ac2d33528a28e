//! The fingerprint of a run: one number for the conditions under which its times were taken; and the
//! SHA-256 of canonical JSON (sorted keys, no blanks), the identity of points and machines.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Read};

use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::record::{
    self, Machine, Param, Params, Point, Quote, RankStat, Run, SampleSync, Transport, World,
};

/// Starts of variables that batch systems set anew for each job.
const OF_ONE_JOB: &[&str] = &["SLURM_", "PBS_", "LSB_"];
/// Variables that name the result file and the seed of a launch, and say that it is one.
const OF_ONE_LAUNCH: [&str; 3] = ["COMET_OUT", "COMET_SEED", "COMET_LAUNCHES"];

/// Number of hex digits of a point's key.
const KEY_DIGITS: usize = 16;
/// Bytes of a file that are hashed at once: more would have to be mapped, and leave the cache.
const PIECE_BYTES: usize = 64 << 10;

/// Hash of what two runs share that were taken under the same conditions.
pub(crate) fn fingerprint(run: &Run) -> String {
    sha256_hex(&conditions(run))
}

/// Conditions of the times of a run: no names, no process numbers, nothing that changes by itself.
pub(crate) fn conditions(run: &Run) -> Value {
    json!({
        "program": run.suite,
        "transport": transport(&run.transport),
        "env": lasting(&run.launcher.env),
        "placement": placement(&run.world),
        "clock": run.clock.source,
        "machines": run.machines.iter().map(machine).collect::<Vec<_>>(),
    })
}

/// The variables of `env` that a batch system or a launch does not set anew.
pub(crate) fn lasting(env: &BTreeMap<String, String>) -> Value {
    let is_of_one = |name: &str| OF_ONE_JOB.iter().any(|start| name.starts_with(start));
    let is_lasting = |name: &str| !OF_ONE_LAUNCH.contains(&name) && !is_of_one(name);
    let env: BTreeMap<_, _> = env.iter().filter(|(name, _)| is_lasting(name)).collect();
    json!(env)
}

/// The transport without the seed of a simulation, which is to it what chance is to a machine.
fn transport(transport: &Transport) -> Value {
    let mut value = json!(transport);
    let facts = transport.backend.as_ref().and_then(|backend| value.get_mut(backend));
    if let Some(facts) = facts.and_then(Value::as_object_mut) {
        facts.remove("seed");
    }
    value
}

fn placement(world: &World) -> Value {
    let cpus: Vec<_> = world.ranks.iter().map(|entry| (&entry.cpus, &entry.mems)).collect();
    json!({
        "size": world.size,
        "ppn": world.ppn,
        "cpus": cpus,
        "mesh": world.mesh,
        "hops": world.hops,
    })
}

/// The parts of `machine` that change times.
pub(crate) fn machine(machine: &Machine) -> Value {
    let Machine { settings, .. } = machine;
    json!({
        "cpu": machine.cpu,
        "caches": machine.caches,
        "free_cpus": [&settings.isolcpus, &settings.nohz_full],
        "frequency": machine.frequency,
        "os": machine.os,
        "kernel": machine.kernel,
        "clocksource": settings.clocksource,
        "clocks": machine.clocks,
        "interfaces": machine.interfaces,
        "infiniband": machine.infiniband,
    })
}

/// SHA-256 of the canonical JSON of `value`, as 64 hex digits.
pub(crate) fn sha256_hex(value: &Value) -> String {
    hex(&Sha256::digest(sorted(value.clone()).to_string()))
}

/// SHA-256 of `text`, in hex digits.
pub fn sha256_of_text(text: &str) -> String {
    hex(&Sha256::digest(text))
}

/// The SHA-256 of what `input` holds, in hex digits.
///
/// # Errors
/// If it cannot be read.
pub(crate) fn sha256_of_file(mut input: impl Read) -> io::Result<String> {
    let (mut hash, mut piece) = (Sha256::new(), [0; PIECE_BYTES]);
    loop {
        match input.read(&mut piece) {
            Ok(0) => return Ok(hex(&hash.finalize())),
            Ok(n_bytes) => hash.update(&piece[..n_bytes]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => (),
            Err(error) => return Err(error),
        }
    }
}

/// The hex digits of `digest`.
fn hex(digest: &[u8]) -> String {
    let mut digits = String::with_capacity(64);
    for word in digest.as_chunks().0 {
        write!(digits, "{:016x}", u64::from_be_bytes(*word)).expect("a string takes any text");
    }
    digits
}

/// `value` with sorted keys, which a feature of the JSON library may keep in another order.
fn sorted(mut value: Value) -> Value {
    value.sort_all_objects();
    value
}

/// Identity of a point, of which the key is the hash: canonical JSON, by the order of the fields.
#[derive(Serialize)]
struct Identity<'a> {
    class: &'a str,
    kernel: &'a str,
    params: Sorted<'a>,
    suite: &'a str,
    /// Left out where ranks do not start together, whose keys stay as they were; the others differ
    /// from those before minor version 8, in which a window counted from the moment at which it was
    /// due.
    #[serde(skip_serializing_if = "Option::is_none")]
    sync: Option<SampleSync>,
    /// Left out on transports without levels, whose keys stay as they were.
    #[serde(skip_serializing_if = "Option::is_none")]
    thread_level: Option<&'a str>,
    value: Option<ValueIdentity<'a>>,
    variant: Option<&'a str>,
}

/// Parameters in the order of their names.
struct Sorted<'a>(&'a Params);

impl Serialize for Sorted<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut params: Vec<&(String, Param)> = self.0.0.iter().collect();
        params.sort_by_key(|(name, _)| name);
        serializer.collect_map(params.into_iter().map(|(name, value)| (name, value)))
    }
}

/// Its value: the fields of [`record::Value`] by their names, which is much cheaper than to sort them for
/// each point.
#[derive(Serialize)]
struct ValueIdentity<'a> {
    better: &'a str,
    bytes_per_op: Option<u64>,
    definition: &'a str,
    divisor: u32,
    quantity: &'a str,
    quote: Quote,
    rank_stat: RankStat,
}

impl<'a> From<&'a record::Value> for ValueIdentity<'a> {
    fn from(value: &'a record::Value) -> Self {
        // A field that is new is a part of the identity too.
        let record::Value { quantity, definition, divisor, rank_stat, bytes_per_op, better, quote } =
            value;
        Self {
            better,
            bytes_per_op: *bytes_per_op,
            definition,
            divisor: *divisor,
            quantity,
            quote: *quote,
            rank_stat: *rank_stat,
        }
    }
}

/// The key of `point`, as its field `key` says, in a run at `thread_level`.
pub(crate) fn key(point: &Point, thread_level: Option<&str>) -> String {
    let identity = Identity {
        class: &point.class,
        kernel: &point.kernel,
        params: Sorted(&point.params),
        suite: &point.suite,
        sync: point.sync(),
        thread_level,
        value: point.value().map(Into::into),
        variant: point.variant.as_deref(),
    };
    // Longer than most, so that it is allocated once.
    let mut json = Vec::with_capacity(512);
    serde_json::to_writer(&mut json, &identity).expect("texts and numbers are JSON");
    let mut key = hex(&Sha256::digest(&json));
    key.truncate(KEY_DIGITS);
    key
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::record::Record;

    fn recorded() -> Run {
        let records = fixture::records();
        let Some(Record::Run(run)) = records.into_iter().next() else { panic!("no run") };
        *run
    }

    #[test]
    fn the_fingerprint_changes_with_what_changes_times() {
        let check = |change: fn(&mut Run), is_other: bool| {
            let mut run = recorded();
            change(&mut run);
            assert_eq!(fingerprint(&run) != run.fingerprint, is_other);
        };
        check(|_| (), false);
        check(|run| run.machines[0].cpu.turbo = Some(true), true);
        check(|run| run.machines[0].kernel.options = Some("nosmt".into()), true);
        check(|run| run.suite.binary_sha256 = Some("0".into()), true);
        check(|run| run.world.ranks[1].cpus = Some("1".into()), true);
        check(|run| drop(run.launcher.env.insert("UCX_TLS".into(), "sm".into())), true);
        check(|run| drop(run.launcher.env.insert("SLURM_JOB_ID".into(), "7".into())), false);
        check(|run| drop(run.launcher.env.insert("COMET_OUT".into(), "b".into())), false);
        check(|run| drop(run.launcher.env.insert("COMET_SEED".into(), "2".into())), false);
        check(|run| run.world.ranks[1].pid += 1, false);
        let simulated = |seed: u64| Transport::new("sim", [("seed".into(), seed.into())].into());
        assert_eq!(transport(&simulated(1)), transport(&simulated(2)));
        check(|run| run.machines[0].nodes.clear(), false);
        check(|run| run.machines[0].memory.available_bytes = Some(1), false);
    }

    #[test]
    fn canonical_json_is_sorted_and_without_blanks() {
        let text = sorted(json!({"b": [1, null, "x y"], "a": {"d": 0.5, "c": true}})).to_string();
        assert_eq!(text, r#"{"a":{"c":true,"d":0.5},"b":[1,null,"x y"]}"#);
        // printf '{}' | sha256sum
        let expected = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a";
        assert_eq!(sha256_hex(&json!({})), expected);
    }
}
