//! Times: what the kernels measure, through the driver, is what the law of the machine says, to the
//! nanosecond, on every rank and in every sample.

use comet_core::definition::{Definition, Quantity};
use comet_core::driver::Settings;
use comet_core::event::Measurement;
use comet_core::kernel::{AxisKind, AxisUse, Case, KernelInfo, LENGTH_BYTES, harness};
use comet_core::sample::Sample;
use comet_core::sync::StartSync;
use comet_sim::machine::Machine;

use super::bench::{Bench, choices, each_value_once, settings};
use super::machines;
use super::oracle::truth;
use super::recording::round;

/// Lengths of messages: around the switch of protocols at 100 bytes, and some that take long.
const LENGTHS: [u64; 6] = [0, 8, 100, 101, 4096, 20_000];
/// Lengths of vectors and dimensions of blocks, with messages of lengths such as those.
const VECTORS: [u64; 6] = [0, 1, 12, 13, 512, 2100];
const BLOCKS: [u64; 3] = [1, 12, 13];

const RANK_COUNTS: [usize; 5] = [2, 3, 4, 7, 8];
/// Ranks whose messages meet on links of four dimensions.
const MANY_RANKS: usize = 16;
/// Samples of a case, of which each slice takes one.
const N_SAMPLES: u32 = 5;

/// The values of an axis of the kernel `info`.
fn values(info: &KernelInfo, used: &AxisUse) -> Vec<u64> {
    let axis = used.axis;
    let has_lengths = info.axes.iter().any(|used| used.axis == &LENGTH_BYTES);
    let has_algorithms = info.axes.iter().any(|used| used.axis.name == "algorithm");
    match axis.kind {
        // A rank that is recorded hears no other, and finds no pair.
        AxisKind::Choice if axis.name == "pair" => vec![0],
        AxisKind::Choice => choices(axis),
        // A ring, and a square where there are ranks enough.
        AxisKind::Count if axis.name == "topo_1" => vec![1],
        AxisKind::Count if axis.name == "topo_2" => vec![0, 1],
        AxisKind::Count if axis.name.starts_with("topo_") => vec![0],
        // Ranks of a simulation have one thread.
        AxisKind::Count if axis.name == "threads" => vec![1],
        // Some root that even two ranks have.
        AxisKind::Count if axis.name == "first_root" => vec![1],
        AxisKind::Distance | AxisKind::Pairs | AxisKind::Round => (0..=5).collect(),
        AxisKind::Intensity | AxisKind::Count | AxisKind::Found => vec![3],
        // Algorithms are many, and each length is that of many messages.
        AxisKind::Size if axis == &LENGTH_BYTES && has_algorithms => vec![8, 404],
        AxisKind::Size if axis == &LENGTH_BYTES => LENGTHS.to_vec(),
        AxisKind::Side => BLOCKS.to_vec(),
        AxisKind::Size if has_lengths => vec![0, 30, 3000],
        AxisKind::Size => VECTORS.to_vec(),
    }
}

/// The cases of all kernels that the ranks admit.
fn cases(bench: &Bench) -> Vec<Case> {
    let of_kernel =
        |info| harness::cases(info, &bench.topology, |used| values(info, used)).into_iter();
    // Transfers of windows have laws of their own, which comet-sim proves.
    let infos = comet_suites::infos().into_iter();
    let has_window = |info: &&'static KernelInfo| {
        let is_of_osu = info.axes.iter().any(|used| used.axis.name == "memory");
        is_of_osu || ["imb-ext", "imb-rma"].contains(&info.suite)
    };
    // Over circuits the times of the oracle and of the engine for a linear broadcast in flight on 7 ranks differ
    // by one envelope on the wire: they take another order at a link.
    // Of the many messages of a cube to few ranks two ask for one link at the same moment, and no law says
    // which of them is first: times of the oracle depend on their numbers there.
    let is_open = |info: &&'static KernelInfo| {
        let is_in_flight = ["imb-nbc", "imb-mpi4"].contains(&info.suite);
        let is_one = is_in_flight || info.id() == "patterns/halo27";
        bench.machine.network.switching.is_some() && is_one
    };
    // The simulator takes no time of its start. The oracle knows no groups of ranks; a formula in `patterns` holds the kernel that makes some.
    let has_groups = |info: &&'static KernelInfo| info.id() == "patterns/fft_transpose";
    // It knows no modes, nor which of several requests ends first, nor a tag that stands for others; comet-sim
    // proves the laws of modes.
    let has_modes = |info: &&'static KernelInfo| {
        let known = ["send_recv", "send_irecv", "isend_recv", "sendrecv", "sendrecv_replace"];
        let is_known = info.name.strip_prefix("pingpong_").is_some_and(|way| known.contains(&way));
        info.suite == "skampi" && !is_known
    };
    // Its clock is read at both ends of an interval, and not at the laps within.
    let has_laps = |info: &KernelInfo| info.timed_series().count() < info.series.len();
    let is_here = |info: &&'static KernelInfo| {
        let is_other = has_window(info) || has_groups(info) || has_laps(info) || info.is_once;
        !is_other && !is_open(info) && !has_modes(info)
    };
    let infos = infos.filter(is_here);
    infos.flat_map(of_kernel).collect()
}

fn check(machine: &Machine) {
    let many = machine.network.switching.map(|_| MANY_RANKS);
    for n_ranks in RANK_COUNTS.into_iter().chain(many) {
        let bench = Bench::new(machine, n_ranks);
        let cases =
            if n_ranks < MANY_RANKS { cases(&bench) } else { each_value_once(cases(&bench)) };
        // The oracle follows messages, not moments that ranks wait for.
        let sync = Some(StartSync::Barrier);
        let measurements = bench.measure(&cases, &Settings { sync, ..settings(N_SAMPLES, 3) });
        assert_eq!(measurements.len(), cases.len());
        measurements.iter().for_each(|measurement| check_case(&bench, measurement));
    }
}

/// Checks every sample of every rank: all rounds are the same, and each is that of the oracle.
fn check_case(bench: &Bench, Measurement { case, pace, series, .. }: &Measurement) {
    let ranks = 0..bench.topology.n_ranks();
    let programs: Vec<_> = ranks.map(|rank| round(bench, rank, case, *pace)).collect();
    let readings_ns = truth(&bench.machine, &programs).into_iter();
    let mut readings_ns: Vec<_> = readings_ns.map(Vec::into_iter).collect();
    let label = format!("{} on {} ranks", case.label(), readings_ns.len());
    for result in series {
        let mut sample = |rank: usize| {
            let mut next_ns = || readings_ns[rank].next().expect("the rank reads its clock twice");
            Sample { start_ns: next_ns(), end_ns: next_ns(), ..Sample::default() }
        };
        let samples = |_| result.ranks.iter().map(|of_rank| sample(of_rank.rank)).collect();
        let expected: Vec<Vec<Sample>> = (0..pace.n_samples).map(samples).collect();
        assert_eq!(result.values_ns.len(), N_SAMPLES as usize, "{label}");
        for (i, expected) in (0..result.values_ns.len()).zip(expected.iter().cycle()) {
            let found: Vec<Sample> = result.ranks.iter().map(|r| r.samples[i]).collect();
            let name = result.series.name;
            assert_eq!(since_first(&found), since_first(expected), "{i} of {name}: {label}");
            let of_operation_ns = value_ns(result.series.definition, expected, pace.repetitions);
            let is_one_way = result.series.quantity == Quantity::OneWayTime;
            let value_ns = if is_one_way { of_operation_ns / 2.0 } else { of_operation_ns };
            assert_eq!(result.values_ns[i], value_ns, "{i} of {name}: {label}");
        }
    }
    assert!(readings_ns.iter().all(|of_rank| of_rank.len() == 0), "{label}");
}

/// Samples since the start of the first.
fn since_first(samples: &[Sample]) -> Vec<(u64, u64)> {
    let first_ns = samples.iter().map(|sample| sample.start_ns).min().unwrap_or(0);
    samples.iter().map(|sample| (sample.start_ns - first_ns, sample.end_ns - first_ns)).collect()
}

/// The time of an operation in one sample by its definition in `METHODOLOGY.md`; one way is half of it.
fn value_ns(definition: Definition, of_ranks: &[Sample], repetitions: u32) -> f64 {
    if definition == Definition::CallMean {
        let all_ns: u64 = of_ranks.iter().map(|sample| sample.end_ns - sample.start_ns).sum();
        return all_ns as f64 / of_ranks.len() as f64 / f64::from(repetitions);
    }
    let is_local = matches!(definition, Definition::LoopMean | Definition::MaxLocal);
    let longest_ns = if is_local {
        of_ranks.iter().map(|sample| sample.end_ns - sample.start_ns).max()
    } else {
        since_first(of_ranks).into_iter().map(|(_, end_ns)| end_ns).max()
    };
    longest_ns.expect("a rank samples") as f64 / f64::from(repetitions)
}

#[test]
fn times_are_exact_where_messages_go_at_once() {
    check(&machines::flat());
    check(&machines::busy());
}

#[test]
fn times_are_exact_where_messages_wait_for_their_receiver() {
    check(&machines::rendezvous());
    check(&machines::buffered());
}

#[test]
fn times_are_exact_where_messages_wait_for_links() {
    check(&machines::circuits());
    check(&machines::cut_through());
}
