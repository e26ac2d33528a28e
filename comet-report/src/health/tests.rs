//! Outliers in runs whose times are known.

use super::*;
use crate::record::{Event, Level};

fn of(records: &RunRecords) -> Health {
    Health::of(records, 1.1).expect("there are points")
}

fn parts(records: &RunRecords) -> Vec<String> {
    of(records).suspects.iter().map(|suspect| suspect.part.to_string()).collect()
}

/// Pairs that take 1300 ns if they are slow and 1000 if not.
fn slow(n_ranks: usize, is_slow: impl Fn(usize, usize) -> bool) -> RunRecords {
    fixture::pairs(n_ranks, |a, b| if is_slow(a, b) { 1300 } else { 1000 })
}

fn on_hosts(mut records: RunRecords, ranks_per_host: usize) -> RunRecords {
    fixture::on_hosts(&mut records, ranks_per_host);
    records
}

#[test]
fn on_a_healthy_machine_nothing_stands_out() {
    // A few percent up and down.
    let records = fixture::pairs(8, |a, b| 1000 + (7 * a + 13 * b) % 40);
    assert_eq!(parts(&records), [""; 0]);
    assert!(!of(&records).is_suspicious());
    assert!(of(&records).to_string().ends_with("\nverdict: no outliers\n"));
}

#[test]
fn a_rank_most_of_whose_pairs_are_slow_is_to_blame_and_the_others_are_not() {
    for n_ranks in [5, 8, 9] {
        let records = slow(n_ranks, |a, b| [a, b].contains(&3));
        let health = of(&records);
        assert_eq!(parts(&records), ["rank 3"], "{n_ranks} ranks");
        let others = n_ranks - 1;
        let reason = format!(
            "8 B: {others} of {others} pairs take more than 1.10 times the median, up to 1.30"
        );
        assert_eq!(health.suspects[0].reasons, [reason]);
        assert!(health.is_suspicious());
    }
}

#[test]
fn a_link_is_to_blame_that_is_slow_at_all_lengths_if_nobody_at_its_ends_is() {
    let mut records = slow(6, |a, b| (a, b) == (1, 4));
    fixture::add_length(&mut records, 1024, slow(6, |a, b| (a, b) == (1, 4)));
    assert_eq!(parts(&records), ["link of ranks 1 - 4"]);
    let reasons = ["8 B: 1.30 times the median", "1 KiB: 1.30 times the median"];
    assert_eq!(of(&records).suspects[0].reasons, reasons);
    assert!(of(&records).is_suspicious());
}

#[test]
fn a_pair_that_is_slow_at_one_length_may_share_a_link_and_is_only_noticed() {
    let mut records = fixture::pairs(6, |_, _| 1000);
    let shared = slow(6, |a, b| (a, b) == (1, 4));
    fixture::add_length(&mut records, 1024, shared.clone());
    for records in [records, shared] {
        let health = of(&records);
        assert_eq!((health.suspects.len(), health.noticed.len()), (0, 1));
        assert!(!health.is_suspicious());
        let text = health.to_string();
        assert!(text.contains("\nnoticed: link of ranks 1 - 4: "), "{text}");
        let verdict = "\nverdict: no outliers but 1 pair at some lengths";
        assert!(text.contains(verdict), "{text}");
    }
}

#[test]
fn hosts_and_what_lies_between_two_of_them_are_named_instead_of_their_ranks() {
    let is_slow = |rank: usize| rank / 2 == 3;
    let host = on_hosts(slow(12, |a, b| is_slow(a) != is_slow(b)), 2);
    assert_eq!(parts(&host), ["host node3"]);
    let link = fixture::pairs(8, |a, b| match (a / 2, b / 2) {
        (1, 2) => 1400,
        (a, b) if a == b => 100,
        _ => 1000,
    });
    assert_eq!(parts(&on_hosts(link, 2)), ["link node1 - node2"]);
}

#[test]
fn hosts_of_one_rank_are_named_instead_of_it() {
    let of_ranks = |a, b| match (a, b) {
        (1, 4) => 1300,
        (2, _) | (_, 2) => 1500,
        _ => 1000,
    };
    let mut records = fixture::pairs(6, of_ranks);
    fixture::add_length(&mut records, 1024, fixture::pairs(6, of_ranks));
    records.points.push(fixture::noise(6, |rank| [100 + 100 * u64::from(rank == 2); 4]));
    let records = on_hosts(records, 1);
    assert_eq!(parts(&records), ["host node2", "link of ranks 1 - 4 on node1 and node4"]);
    let reasons = &of(&records).suspects[0].reasons;
    assert_eq!(reasons[2], "computes 2.00 times as long as others");
}

#[test]
fn a_noisy_rank_is_named() {
    let mut records = fixture::pairs(6, |_, _| 1000);
    let noise = |rank: usize| [100, 101, 102, if rank == 5 { 1000 } else { 103 }];
    records.points.extend(vec![fixture::noise(6, noise); 10]);
    assert_eq!(parts(&records), ["rank 5"]);
    let reason = "noise: 25.0 % of its pieces of work take more than 1.5 times their median, on other \
                  ranks 0.0 %";
    assert_eq!(of(&records).suspects[0].reasons[0], reason);
}

#[test]
fn of_few_ranks_nothing_is_compared() {
    let check = |n_ranks, expected: &str| {
        let records = fixture::pairs(n_ranks, |a, b| 100 + 900 * a + b);
        assert_eq!(parts(&records), [""; 0]);
        let verdict = of(&records).to_string();
        assert!(verdict.ends_with(&format!("\nverdict: {expected}\n")), "{verdict}");
    };
    check(2, "nothing to compare among 2 ranks");
    check(3, "nothing to compare among 3 ranks");
    check(4, "no outliers");
}

#[test]
fn ranks_that_share_cpus_are_nobodys_fault() {
    let mut records = slow(6, |a, b| [a, b].contains(&4));
    let config = &mut fixture::run(&mut records).config;
    config.insert("oversubscribed".into(), Value::Bool(true));
    assert!(!of(&records).is_suspicious());
    let verdict = "rank 4 is an outlier, but ranks share CPUs: times include scheduling";
    let text = of(&records).to_string();
    assert!(text.contains(verdict) && text.contains("\nnoticed: rank 4: "), "{text}");
    assert!(!text.contains("suspicious"), "{text}");
    records.events.push(Event {
        run_id: None,
        t_rel_s: None,
        level: Level::Warning,
        code: "oversubscribed".into(),
        rank: None,
        message: "6 ranks share 2 CPUs: times include scheduling".into(),
        hint: None,
    });
    assert!(of(&records).to_string().contains("but 6 ranks share 2 CPUs"), "{}", of(&records));
}

#[test]
fn runs_of_other_kernels_tell_nothing() {
    let mut records = fixture::pairs(6, |_, _| 1000);
    records.points = vec![fixture::barrier(6, |_| 100)];
    assert!(Health::of(&records, 1.1).is_none());
}

#[test]
fn the_text_has_a_row_for_each_quantity() {
    let mut records = fixture::pairs(5, |a, b| if [a, b].contains(&3) { 2000 } else { 1000 });
    fixture::add_length(&mut records, 1 << 20, fixture::pairs(5, |_, _| 1 << 17));
    records.points.push(fixture::barrier(5, |rank| 4000 + 100 * rank as u64));
    records.points.push(fixture::noise(5, |_| [50_000, 50_000, 51_000, 52_000]));
    assert_eq!(of(&records).to_string(), include_str!("tests/table.txt"));
}

/// A fraction from 0 to 1 for each seed (splitmix64).
fn fraction(seed: u64) -> f64 {
    let mut z = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
}

/// A normal deviate for each seed (Box and Muller).
fn normal(seed: u64) -> f64 {
    let [u, v] = [2 * seed, 2 * seed + 1].map(fraction);
    (-2.0 * (1.0 - u).ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

/// Hosts of two ranks, 20 us apart, whose pairs scatter by `sigma` and hosts by `of_hosts`, both
/// log-normal; between hosts, pairs take `factor(a, b)` times as long.
fn cluster(
    n_hosts: usize,
    seed: u64,
    [sigma, of_hosts]: [f64; 2],
    factor: impl Fn(usize, usize) -> f64,
) -> RunRecords {
    let noise = |n: usize| normal(seed * 100_000 + n as u64);
    let records = fixture::pairs(2 * n_hosts, |a, b| {
        let (host_a, host_b) = (a / 2, b / 2);
        let of_pair = (sigma * noise(a * 2 * n_hosts + b)).exp();
        let of_both = of_hosts * (noise(90_000 + host_a) + noise(90_000 + host_b));
        let base_ns = match host_a == host_b {
            true => 500.0,
            false => 20_000.0 * factor(host_a, host_b) * of_both.exp(),
        };
        usize::try_from(comet_stats::whole(base_ns * of_pair)).unwrap()
    });
    on_hosts(records, 2)
}

/// As between three hosts of a cluster: all pairs of the last are slow, and two of the others shared
/// a link in their round.
#[test]
fn a_host_is_not_slow_by_its_pairs_with_a_slower_one() {
    let records = fixture::pairs(6, |a, b| match (a / 2, b / 2) {
        (2, _) | (_, 2) => 12_000,
        (0, 1) if a % 2 == b % 2 => 1300,
        _ => 1000,
    });
    assert_eq!(parts(&on_hosts(records, 2)), ["host node2"]);
}

const N_SEEDS: u64 = 40;

#[test]
fn a_host_behind_a_slow_link_is_named_among_three_as_among_six() {
    for n_hosts in [3, 4, 6] {
        for slow in [0, n_hosts - 1] {
            for seed in 0..N_SEEDS / 2 {
                let factor = |a, b| if [a, b].contains(&slow) { 10.0 } else { 1.0 };
                let records = cluster(n_hosts, seed, [0.1, 0.03], factor);
                let expected = format!("host node{slow}");
                assert_eq!(parts(&records), [expected], "{n_hosts} hosts, seed {seed}");
            }
        }
    }
}

#[test]
fn a_slow_link_between_two_hosts_is_no_fault_of_theirs() {
    for n_hosts in [3, 4, 6] {
        for seed in 0..N_SEEDS / 2 {
            let factor = |a, b| if [a, b] == [0, 1] { 10.0 } else { 1.0 };
            let records = cluster(n_hosts, seed, [0.1, 0.03], factor);
            assert_eq!(parts(&records), ["link node0 - node1"], "{n_hosts} hosts, seed {seed}");
        }
    }
}

#[test]
fn noise_blames_nobody() {
    for n_hosts in [3, 4, 6] {
        let mut n_blamed = 0;
        for spread in [[0.02, 0.0], [0.1, 0.0], [0.3, 0.0], [0.05, 0.02], [0.1, 0.05]] {
            let is_blamed = |seed: &u64| {
                let healthy = cluster(n_hosts, *seed, spread, |_, _| 1.0);
                of(&healthy).is_suspicious()
            };
            n_blamed += (0..N_SEEDS).filter(is_blamed).count();
        }
        assert!(n_blamed <= 1, "{n_blamed} of {} clusters of {n_hosts} hosts", 5 * N_SEEDS);
    }
}
