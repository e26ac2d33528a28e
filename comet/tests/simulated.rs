//! Patterns and kernels on simulated machines, whose law gives the times to the nanosecond.

use comet::record::{CheckStatus, PointStatus};
use comet::{Error, Ranks as _, Result, Simulation, Source, Tag, Times, Transport, pattern};
use comet_report::read::{parse_records, validate};

/// A message takes 1 us and 2 ns for each byte; both ends are free at once.
const MACHINE: &str = "
format = 1
name = \"flat\"
topology = { kind = \"flat\" }
[[protocol]]
kind = \"eager\"
t0 = \"1 us\"
per_byte = \"2 ns/B\"
";

/// A folder that is removed in the end.
struct Folder(std::path::PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("comet-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn write(&self, name: &str, text: &str) -> std::path::PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}

/// The rank of a pair, and its two buffers.
type Pair<T> = (usize, [<T as Transport>::Buffer; 2]);

fn buffers<T: Transport>(t: &T) -> Result<Pair<T>> {
    Ok((1 - t.rank(), [t.message_buffer(100)?, t.message_buffer(100)?]))
}

fn exchange<T: Transport>(t: &T, (peer, [sent, received]): &mut Pair<T>) -> Result<()> {
    t.blocked_exchange(*peer, sent, Source::Rank(*peer), received, Tag::new(1)).map(drop)
}

fn flat(name: &str, n_ranks: usize) -> Simulation {
    let folder = Folder::new(name);
    let machine = folder.write("flat.toml", MACHINE);
    Simulation::new(machine.to_str().unwrap(), n_ranks).unwrap()
}

fn measured(name: &str) -> Times {
    let exchange = flat(name, 2).pattern(buffers, exchange).named("exchange").moving(120);
    exchange.measure().unwrap()
}

/// SK-26: an operation and its buffers are all that a new instance needs.
#[test]
fn an_exchange_takes_as_long_as_the_law_of_the_machine_has_it() {
    let times = measured("law");
    assert_eq!((times.median_ns, times.bytes_per_s), (1200.0, Some(100e6)));
    let is_exact = |sample: &f64| *sample == 1200.0;
    assert!(times.samples_ns.len() == 2 && times.samples_ns.iter().flatten().all(is_exact));
    assert_eq!((times.n_samples, times.point.id().as_str()), (2, "own/exchange"));
    assert_eq!(times.to_string(), "1200 ns (2 samples)");
}

#[test]
fn the_record_is_a_valid_result_file() {
    let folder = Folder::new("record");
    let times = measured("of-record");
    let path = folder.write("run.jsonl", &times.record);
    let found = validate(&path).unwrap();
    assert_eq!((found.problems.len(), found.runs.len(), found.runs[0].points.total()), (0, 1, 1));
    let records = parse_records(times.record.as_bytes()).unwrap();
    assert_eq!(records.problems, []);
}

#[test]
fn a_check_that_does_not_hold_is_an_error_and_no_time() {
    let check = |is_right: bool| {
        flat(if is_right { "right" } else { "wrong" }, 2)
            .pattern(buffers, exchange)
            .checked(
                |(peer, [sent, received]), seeds| {
                    pattern::fill(sent, seeds.of(0, 1 - *peer));
                    pattern::spoil(received, seeds.of(0, *peer));
                },
                move |(peer, [_, received]), check| {
                    let seed = check.seeds().of(u16::from(!is_right), *peer);
                    check.message(received, seed, "the answer");
                },
            )
            .measure()
    };
    assert_eq!(check(true).unwrap().median_ns, 1200.0);
    let Err(Error::NoTimes { kernel, status, message }) = check(false) else { panic!("no error") };
    assert_eq!((kernel.as_str(), status), ("own/pattern", PointStatus::CheckFailed));
    assert!(message.contains("byte 0 of 100 of the answer: expected 0x"), "{message}");
}

#[test]
fn a_deadlock_is_an_error_that_names_the_ranks() {
    let receive = |t: &comet::Sim, (peer, [_, received]): &mut Pair<comet::Sim>| {
        t.blocked_recv(Source::Rank(*peer), Tag::new(1), received).map(drop)
    };
    let error = flat("deadlock", 2).pattern(buffers, receive).measure().unwrap_err();
    let Error::Job(failure) = &error else { panic!("{error}") };
    assert_eq!(failure.code, "deadlock");
    assert!(error.to_string().contains("own/pattern"), "{error}");
}

#[test]
fn a_machine_that_is_not_there_is_an_error_with_a_remedy() {
    let error = comet::simulate("cray", 2, |_| Ok(()), |_, ()| Ok(())).unwrap_err().to_string();
    assert!(error.starts_with("there is no machine \"cray\" (choose "), "{error}");
}

#[test]
fn a_pattern_without_a_check_is_not_called_verified() {
    assert_eq!(measured("unchecked").point.check.status, CheckStatus::Skipped);
}
