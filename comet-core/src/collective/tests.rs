//! Tests of all algorithms: the plans of all ranks, carried out one message at a time, against the
//! definition of the operation.

use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

use super::algorithm::{self, Algorithm};
use super::plan::{Memory, Message, Span, Step};
use super::{Collective, Element, Kind, Neighbours, Operator, Parts, Plan, Reducer, data};
use crate::kernel::{Checker, Seeds};
use crate::transport::{Rank, Transport as _};

/// Inputs and outputs of all ranks.
type Data = Vec<[Vec<u8>; 2]>;

/// Contents of an output before the operation.
const UNTOUCHED: u8 = 0xee;

const SEEDS: Seeds = Seeds { n_runs: 1, lane: 0 };

/// The memory of one rank, and how far it has come.
struct Machine {
    plan: Rc<Plan>,
    memory: [Vec<u8>; 3],
    round: usize,
    has_sent: bool,
}

impl Machine {
    fn at(&mut self, span: Span) -> &mut [u8] {
        let memory = match span.memory {
            Memory::Input => 0,
            Memory::Output => 1,
            Memory::Scratch => 2,
        };
        &mut self.memory[memory][span.start..span.start + span.length]
    }
}

type Wires = HashMap<(Rank, Rank), VecDeque<Vec<u8>>>;

/// Takes `machine`, which is `rank`, through its next round, if all of its messages are there.
fn advance(rank: Rank, machine: &mut Machine, wires: &mut Wires, by: Reducer) -> bool {
    let plan = Rc::clone(&machine.plan);
    let Some(round) = plan.round(machine.round) else { return false };
    if !machine.has_sent {
        for message in round.messages {
            if let Message::Send { to, from } = *message {
                let contents = machine.at(from).to_vec();
                wires.entry((rank, to)).or_default().push_back(contents);
            }
        }
        machine.has_sent = true;
    }
    let sources = round.messages.iter().filter_map(|message| match message {
        Message::Recv { from, .. } => Some(*from),
        Message::Send { .. } => None,
    });
    let sources: Vec<Rank> = sources.collect();
    let n_of = |source: Rank| sources.iter().filter(|other| **other == source).count();
    let is_there =
        |source: &Rank| wires.get(&(*source, rank)).is_some_and(|wire| wire.len() >= n_of(*source));
    if !sources.iter().all(is_there) {
        return false;
    }
    for message in round.messages {
        if let Message::Recv { from, into } = *message {
            let wire = wires.get_mut(&(from, rank)).expect("it has messages");
            let contents = wire.pop_front().expect("they were counted");
            assert_eq!(contents.len(), into.length, "rank {rank} receives from rank {from}");
            machine.at(into).copy_from_slice(&contents);
        }
    }
    for step in round.steps {
        match *step {
            Step::Copy { from, into } => {
                let copy = machine.at(from).to_vec();
                machine.at(into).copy_from_slice(&copy);
            }
            Step::Combine { from, into } => {
                let other = machine.at(from).to_vec();
                by.combine(machine.at(into), &other);
            }
        }
    }
    (machine.round, machine.has_sent) = (machine.round + 1, false);
    true
}

/// The data of all ranks after `calls`, one for each, by `algorithm`.
fn carried_out(algorithm: &Algorithm, calls: &[Collective], data: &Data) -> Data {
    let n = data.len();
    let machine = |(rank, [input, output]): (Rank, &[Vec<u8>; 2])| {
        let plan = Rc::new(algorithm.plan(&calls[rank], rank, n));
        let scratch = vec![UNTOUCHED; plan.scratch_bytes];
        let memory = [input.clone(), output.clone(), scratch];
        Machine { plan, memory, round: 0, has_sent: false }
    };
    let mut machines: Vec<Machine> = data.iter().enumerate().map(machine).collect();
    let mut wires = Wires::new();
    loop {
        let advance = |(rank, machine): (Rank, &mut Machine)| {
            advance(rank, machine, &mut wires, calls[rank].by())
        };
        let n_advanced = machines.iter_mut().enumerate().map(advance).filter(|went| *went).count();
        if n_advanced == 0 {
            break;
        }
    }
    let is_done = |machine: &Machine| machine.round == machine.plan.n_rounds();
    assert!(machines.iter().all(is_done), "{} stops half-way", algorithm.name);
    assert!(wires.values().all(VecDeque::is_empty), "{} leaves messages", algorithm.name);
    machines
        .into_iter()
        .map(|machine| machine.memory)
        .map(|[input, output, _]| [input, output])
        .collect()
}

/// Holds every algorithm that admits `calls`, one for each rank, against what the ranks find then;
/// returns how many.
fn check(calls: &[Collective]) -> usize {
    let n = calls.len();
    let data = |(rank, call): (Rank, &Collective)| {
        let mut input = vec![UNTOUCHED; call.input_bytes(rank, n)];
        let mut output = vec![UNTOUCHED; call.output_bytes(rank, n)];
        data::fill(call, (rank, n), SEEDS, [&mut input, &mut output]);
        [input, output]
    };
    let data: Data = calls.iter().enumerate().map(data).collect();
    let admitted =
        algorithm::of(calls[0].kind()).iter().filter(|of| of.admit(&calls[0], n).is_ok());
    let check = |algorithm: &Algorithm| {
        let mut after = carried_out(algorithm, calls, &data);
        for (rank, [_, output]) in after.iter_mut().enumerate() {
            let mut check = Checker::new(SEEDS.n_runs, None);
            data::compare(&calls[rank], (rank, n), output, &mut check);
            let (name, call) = (algorithm.name, &calls[rank]);
            check.result().unwrap_or_else(|error| panic!("{name} of {n}, {call:?}: {error}"));
        }
    };
    admitted.map(check).count()
}

/// Roots to try among `n` ranks: all of a few.
fn roots(kind: Kind, n: usize) -> Vec<Rank> {
    match kind.is_rooted() {
        false => vec![0],
        true if n <= 9 => (0..n).collect(),
        true => vec![0, 1, n / 2, n - 1],
    }
}

/// Parts to try for `kind` on `n` ranks, in units of `unit` bytes.
fn parts(kind: Kind, n: usize, unit: usize) -> Vec<Parts> {
    let equal = [0, 1, 5, 40].map(|length| Parts::Equal(length * unit));
    let uneven = Parts::packed((0..n).map(|rank| (rank * 5 % 7) * unit).collect());
    let has_parts =
        matches!(kind, Kind::ReduceScatter | Kind::Gather | Kind::Scatter | Kind::Allgather);
    equal.into_iter().chain(has_parts.then_some(uneven)).collect()
}

#[test]
fn every_algorithm_does_what_its_operation_says() {
    let by = Reducer::new(Element::I32, Operator::Sum).unwrap();
    for kind in Kind::ALL.into_iter().filter(|kind| !kind.is_among_neighbours()) {
        let mut n_checked = 0;
        for n in 1..=33 {
            for parts in parts(kind, n, by.element().bytes()) {
                for root in roots(kind, n) {
                    let call =
                        Collective::new(kind, parts.clone()).with_root(root).with_reducer(by);
                    n_checked += check(&vec![call.clone(); n]);
                    if kind.admits_in_place() {
                        n_checked += check(&vec![call.in_place(); n]);
                    }
                }
            }
        }
        assert!(n_checked >= 33 * 4, "{}", kind.name());
    }
}

#[test]
fn messages_in_segments_arrive_whole() {
    let by = Reducer::new(Element::F64, Operator::Sum).unwrap();
    for kind in [Kind::Broadcast, Kind::Reduce, Kind::Allreduce] {
        for n in [1, 2, 5] {
            for length in [64 << 10, (128 << 10) + 8, 400_000] {
                let call = Collective::new(kind, Parts::Equal(length)).with_reducer(by);
                assert!(check(&vec![call.with_root(n - 1); n]) >= 4);
            }
        }
    }
}

#[test]
fn ranks_may_send_other_lengths_to_each_other() {
    for n in [1, 2, 3, 8] {
        let length = |from: Rank, to: Rank| (from + 2 * to) % 5;
        assert!(check(&all_to_all(n, length)) >= 3);
    }
}

/// The calls of all ranks of an all-to-all in which the messages have these lengths.
fn all_to_all(n: usize, length: impl Fn(Rank, Rank) -> usize) -> Vec<Collective> {
    let of_rank = |rank: Rank| {
        let sent = Parts::packed((0..n).map(|to| length(rank, to)).collect());
        let received = Parts::packed((0..n).map(|from| length(from, rank)).collect());
        let by = Reducer::new(Element::U8, Operator::Sum).expect("bytes have sums");
        Collective::new(Kind::Alltoall, received).with_sent(sent).with_reducer(by)
    };
    (0..n).map(of_rank).collect()
}

/// The calls of all ranks among neighbours, in which `sends_to(from, to)` says who sends to whom, and
/// messages have these lengths.
fn among_neighbours(
    kind: Kind,
    n: usize,
    sends_to: impl Fn(Rank, Rank) -> bool,
    length: impl Fn(Rank, Rank) -> usize,
) -> Vec<Collective> {
    let of_rank = |rank: Rank| {
        let sources: Vec<Rank> = (0..n).filter(|from| sends_to(*from, rank)).collect();
        // In another order than that of the ranks.
        let destinations: Vec<Rank> = (0..n).rev().filter(|to| sends_to(rank, *to)).collect();
        let received = sources.iter().map(|from| length(*from, rank)).collect();
        let sent = match kind {
            Kind::NeighbourAllgather => Parts::Equal(length(rank, 0)),
            _ => Parts::packed(destinations.iter().map(|to| length(rank, *to)).collect()),
        };
        Collective::new(kind, Parts::packed(received))
            .with_sent(sent)
            .with_neighbours(Neighbours::new(sources, destinations))
    };
    (0..n).map(of_rank).collect()
}

#[test]
fn neighbours_get_what_each_sends_to_them() {
    for n in 1..=33 {
        let ring = |from: Rank, to: Rank| (from + 1) % n == to || (to + 1) % n == from;
        let up = |from: Rank, to: Rank| from < to && to <= from + 3;
        let star = |from: Rank, _: Rank| from == n / 2;
        let edges: [&dyn Fn(Rank, Rank) -> bool; 5] =
            [&ring, &up, &star, &|_, _| true, &|_, _| false];
        for sends_to in edges {
            let gather = |length: fn(Rank) -> usize| {
                let length = |from: Rank, _: Rank| length(from);
                check(&among_neighbours(Kind::NeighbourAllgather, n, sends_to, length))
            };
            assert_eq!(gather(|_| 5) + gather(|from| from * 5 % 7), 2);
            let exchange = |length: fn(Rank, Rank) -> usize| {
                check(&among_neighbours(Kind::NeighbourAlltoall, n, sends_to, length))
            };
            assert_eq!(exchange(|_, _| 5) + exchange(|from, to| (from + 2 * to) % 5), 2);
        }
    }
}

#[test]
fn algorithms_have_names_of_their_own_and_say_what_they_need() {
    for kind in Kind::ALL {
        let names: std::collections::HashSet<&str> =
            algorithm::of(kind).iter().map(|algorithm| algorithm.name).collect();
        assert_eq!(names.len(), algorithm::of(kind).len(), "{}", kind.name());
    }
    let call = Collective::new(Kind::Barrier, Parts::Equal(0));
    let pairwise = algorithm::find(Kind::Barrier, "pairwise").unwrap();
    let refusal = pairwise.admit(&call, 6).unwrap_err();
    assert_eq!(refusal, "the algorithm pairwise needs a power of two of ranks, there are 6");
}

#[test]
fn the_last_rank_of_a_linear_exclusive_scan_only_receives() {
    let linear = algorithm::find(Kind::Exscan, "linear").unwrap();
    let call = Collective::new(Kind::Exscan, Parts::Equal(64));
    for n in [2, 5] {
        let plan = linear.plan(&call, n - 1, n);
        let rounds: Vec<_> = (0..plan.n_rounds()).filter_map(|index| plan.round(index)).collect();
        let (messages, steps): (Vec<_>, Vec<_>) =
            rounds.iter().map(|round| (round.messages, round.steps)).unzip();
        assert!(matches!(messages.concat()[..], [Message::Recv { from, .. }] if from == n - 2));
        assert_eq!(steps.concat(), []);
    }
}

#[test]
fn the_automatic_choice_admits_its_call() {
    for kind in Kind::ALL {
        for n in [1, 2, 3, 8, 9, 16, 33] {
            for length in [0, 8, 256, 1 << 10, 4 << 10, 64 << 10, 1 << 20] {
                let call = Collective::new(kind, Parts::Equal(length));
                algorithm::automatic(&call, n).admit(&call, n).unwrap();
            }
        }
    }
}

#[test]
fn rank_0_has_the_bytes_of_all_ranks_in_order() {
    let gathered = crate::local::run(3, |t| super::gather(t, vec![7; t.rank()]).unwrap());
    assert_eq!(gathered, [vec![vec![], vec![7], vec![7, 7]], vec![], vec![]]);
}

#[test]
fn sums_of_8_bits_stay_below_those_at_which_libraries_differ() {
    let by = Reducer::new(Element::I8, Operator::Sum).unwrap();
    let call = Collective::new(Kind::Allreduce, Parts::Equal(22)).with_reducer(by);
    for n_ranks in [2, 23, 24, 100] {
        let mut sums = [0u32; 22];
        for rank in 0..n_ranks {
            let (mut input, mut output) = ([0; 22], [0; 22]);
            data::fill(&call, (rank, n_ranks), SEEDS, [&mut input, &mut output]);
            sums.iter_mut().zip(input).for_each(|(sum, value)| *sum += u32::from(value));
        }
        assert!(sums.iter().all(|sum| (1..127).contains(sum)), "{n_ranks} ranks: {sums:?}");
    }
}

#[test]
fn no_slice_of_a_result_looks_like_another() {
    const PERIOD: usize = 11;
    for operator in Operator::ALL {
        let by = Reducer::new(Element::I32, operator).unwrap();
        for n_ranks in 1..=45 {
            let [mut combined, mut own] = [[0; 4 * PERIOD]; 2];
            data::fill_operand(by, 0, &mut combined);
            for rank in 1..n_ranks {
                data::fill_operand(by, rank, &mut own);
                by.combine(&mut combined, &own);
            }
            for shift in 1..PERIOD {
                let mut shifted = combined;
                shifted.rotate_left(4 * shift);
                assert_ne!(shifted, combined, "{operator:?} of {n_ranks} ranks, {shift} elements");
            }
        }
    }
}

#[test]
fn sums_of_8_bits_wrap_or_end_at_the_greatest_integer() {
    // Elements 0 and 4 of ranks 0 and 1 are 0 and 7, 5 and 0.
    let check = |element, n_runs, found: u8, expected: u8| {
        let by = Reducer::new(element, Operator::Sum).unwrap();
        let combined = data::combined_operands(by, 0, 1..2, n_runs, &[found; 5]);
        assert_eq!([combined[0], combined[4]], [expected, 5], "{element:?} after {n_runs}");
    };
    check(Element::I8, 20, 140, 140);
    check(Element::I8, 20, 127, 127);
    check(Element::I8, 20, 126, 140);
    check(Element::I8, 18, 127, 126);
    check(Element::U8, 40, 255, 255);
    check(Element::U8, 40, 127, 24);
}
