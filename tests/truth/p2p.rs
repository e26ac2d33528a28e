//! Times of the suite `imb-p2p` by its own rules, one loop behind a barrier, against formulas of the numbers
//! of the machine; draws are followed with a generator of this test.

use comet_core::driver::{Rules, Settings};
use comet_core::kernel::Profile;
use comet_core::transport::Work;
use comet_sim::machine::{Machine, Node, Segment};

use super::bench::Bench;
use super::machines;
use super::oracle::{law, time_ps};

const LENGTHS: [u64; 4] = [0, 8, 4096, 20_000];
/// Rounds of a loop.
const N_ROUNDS: u32 = 20;

/// Times of a message on a machine, in picoseconds.
#[derive(Clone, Copy, Debug)]
struct Costs {
    /// Of the sender, on the way, and of the receiver.
    send: u64,
    way: u64,
    recv: u64,
    /// Of calls and of a copy.
    isend: u64,
    irecv: u64,
    wait: u64,
    copy: u64,
}

impl Costs {
    fn of(machine: &Machine, n_bytes: u64) -> Self {
        let Segment { o_send_ps, latency_ps, o_recv_ps, send, wire, recv, .. } =
            law(machine, n_bytes);
        let Node { isend_ps, irecv_ps, wait_ps, .. } = machine.node;
        let n = usize::try_from(n_bytes).expect("a length in memory");
        Self {
            send: o_send_ps + time_ps(send, n_bytes),
            way: latency_ps + time_ps(wire, n_bytes),
            recv: o_recv_ps + time_ps(recv, n_bytes),
            isend: isend_ps,
            irecv: irecv_ps,
            wait: wait_ps,
            copy: machine.node.work_ps(Work::Copy { bytes: n, piece_bytes: n, stride_bytes: n }),
        }
    }

    fn message(&self) -> u64 {
        self.send + self.way + self.recv
    }

    /// Both post a receive, send, and wait for the receive.
    fn crossing(&self) -> u64 {
        self.irecv + self.send + self.way.max(self.wait) + self.recv
    }

    /// So many receives and sends are posted, and each is waited for.
    fn stencil(&self, n: u64) -> u64 {
        let posted = n * (self.irecv + self.isend + self.send);
        let receive = |clock: u64, index: u64| {
            let sent = n * self.irecv + (index + 1) * (self.isend + self.send);
            (clock + self.wait).max(sent + self.way) + self.recv
        };
        (0..n).fold(posted, receive) + n * self.wait
    }
}

/// The ranks that IMB-P2P draws below `n`, from its seed on.
fn draws(n: usize) -> impl FnMut() -> usize {
    let mut state = 0_u64;
    move || {
        state = state.wrapping_mul(7_560_690_468_208_412_377);
        state = state.wrapping_add(4_343_336_064_253_945_357);
        ((state >> 24) & 0xffff_ffff) as usize % n
    }
}

/// The time of a loop of random pairs on the slowest of `n` ranks, which begin together.
fn random_ps(costs: Costs, n: usize, is_both_ways: bool) -> u64 {
    let (mut clocks, mut draw) = (vec![0; n], draws(n));
    for _ in 0..N_ROUNDS as usize * n {
        let a = draw();
        let b = std::iter::repeat_with(&mut draw).find(|b| *b != a).expect("another rank");
        let begun = [a, b].map(|rank| clocks[rank]);
        let sent = begun.map(|clock| clock + costs.irecv + costs.send);
        if is_both_ways {
            clocks[a] = (sent[0] + costs.wait).max(sent[1] + costs.way) + costs.recv;
            clocks[b] = (sent[1] + costs.wait).max(sent[0] + costs.way) + costs.recv;
        } else {
            clocks[a] = begun[0] + costs.send;
            clocks[b] = begun[1].max(clocks[a] + costs.way) + costs.recv;
        }
    }
    clocks.into_iter().max().expect("there are ranks")
}

/// Measures the kernel of the suite on so many ranks: the reported value of each length, of a round, is that
/// of a loop of `loop_ps`, divided by `divisor`.
#[track_caller]
fn check(
    (machine, n_ranks): (&Machine, usize),
    (id, divisor): (&str, u32),
    loop_ps: impl Fn(Costs) -> u64,
) {
    let bench = Bench::new(machine, n_ranks);
    let cases = LENGTHS.map(|n_bytes| bench.case(id, &[n_bytes]).expect("the ranks admit it"));
    let settings = Settings {
        rules: Rules::ImbP2p,
        repetitions: Some(N_ROUNDS),
        ..Settings::of(Profile::Quick)
    };
    let measurements = bench.measure(&cases, &settings);
    assert_eq!(measurements.len(), LENGTHS.len());
    for (measurement, n_bytes) in measurements.iter().zip(LENGTHS) {
        let of_loop_ns = loop_ps(Costs::of(machine, n_bytes)) as f64 / 1000.0;
        let expected = of_loop_ns / f64::from(N_ROUNDS) / f64::from(divisor);
        let found = &measurement.series[0].values_ns;
        assert_eq!(found, &[expected], "{} on {n_ranks}", measurement.case.label());
    }
}

/// The time of a loop in which all rounds take as long on all ranks.
fn rounds(round_ps: u64) -> u64 {
    round_ps * u64::from(N_ROUNDS)
}

#[test]
fn pairs_take_the_time_of_one_pair() {
    for machine in [machines::flat(), machines::prompt()] {
        for n_ranks in [2, 4, 8] {
            let at = (&machine, n_ranks);
            check(at, ("imb-p2p/pingpong", 2), |costs| rounds(2 * costs.message()));
            check(at, ("imb-p2p/pingping", 1), |costs| rounds(costs.crossing()));
        }
    }
}

#[test]
fn random_pairs_take_the_time_of_the_ranks_that_are_drawn_most() {
    // Ranks leave a barrier together on it.
    let machine = machines::prompt();
    for n_ranks in [2, 4, 8] {
        let at = (&machine, n_ranks);
        check(at, ("imb-p2p/unirandom", 1), |costs| random_ps(costs, n_ranks, false));
        check(at, ("imb-p2p/birandom", 1), |costs| random_ps(costs, n_ranks, true));
    }
}

#[test]
fn a_ring_takes_the_time_of_one_message_of_each_rank_whatever_its_order_is() {
    let machine = machines::prompt();
    for n_ranks in [2, 4, 8] {
        let at = (&machine, n_ranks);
        check(at, ("imb-p2p/corandom", 1), |costs| rounds(costs.crossing()));
        let in_place = |costs: Costs| rounds(costs.copy + costs.message());
        check(at, ("imb-p2p/sendrecv_replace", 1), in_place);
    }
}

#[test]
fn stencils_take_the_time_of_their_calls_and_of_the_last_message() {
    // No message waits there for another one of its sender.
    let machine = machines::prompt();
    for n_ranks in [4, 8] {
        check((&machine, n_ranks), ("imb-p2p/stencil2d", 1), |costs| rounds(costs.stencil(4)));
    }
    check((&machine, 8), ("imb-p2p/stencil3d", 1), |costs| rounds(costs.stencil(6)));
}
