//! Cases of a kernel and options, and what they need.

use std::slice::from_ref;

use super::*;
use crate::catalogue;
use comet_core::collective::Element;
use comet_core::kernel::{Arrangement, DATATYPE, ELEMENT, HOPS, LENGTH_BYTES, LOCAL_N, World};
use comet_kernels::health::pairs::ROUND;
use comet_kernels::model::pairs::PAIRS;

static ECHO: KernelInfo = KernelInfo {
    name: "echo",
    summary: "s",
    axes: &[
        AxisUse { axis: &HOPS, sweeps: ["1..max", "0..max", "0..max"] },
        AxisUse { axis: &LENGTH_BYTES, sweeps: ["0,8", "0,8,16", "0"] },
        AxisUse { axis: &LOCAL_N, sweeps: ["", "", ""] },
    ],
    series: &[],
    admits: |case, _| if case.value(&HOPS) < 2 { Ok(()) } else { Err("too far".into()) },
    bytes_per_rank: |case, _| case.value(&LENGTH_BYTES),
    ..KernelInfo::pair("test")
};
static ELSEWHERE: Axis = Axis::count("elsewhere", "elsewhere", "s");
static FOUND: Axis = Axis::found_bytes("found", "s");
static PLACE: Axis = Axis::choice("place", "s", &["a", "b"]);

fn change(option: &str, axis: &'static Axis, values: &str) -> Override {
    let (option, values) = (option.to_owned(), values.to_owned());
    Override { is_required: option.starts_with("--axis"), option, axis, values, unit_bytes: None }
}

fn of_echo(overrides: &[Override], profile: Profile, n_ranks: usize) -> Vec<Case> {
    let topology = Topology::hypercube(n_ranks);
    let plan = plan(&[&ECHO], overrides, profile, &topology).unwrap();
    plan.into_iter().flat_map(|kernel| kernel.cases).collect()
}

#[test]
fn cases_are_those_of_the_profile_and_of_the_options_the_first_axis_slowest() {
    let check = |n_ranks, overrides: &[Override], profile, expected: &[[u64; 2]]| {
        let cases = of_echo(overrides, profile, n_ranks);
        let pair = |case: &Case| [case.value(&HOPS), case.value(&LENGTH_BYTES)];
        assert_eq!(cases.iter().map(pair).collect::<Vec<_>>(), expected, "{overrides:?}");
        let found = |case: &Case| case.value(&LOCAL_N);
        assert!(cases.iter().all(|case| found(case) == 0), "found during the run");
    };
    check(4, &[], Profile::Quick, &[[1, 0], [1, 8], [2, 0], [2, 8]]);
    check(2, &[], Profile::Full, &[[0, 0], [1, 0]]);
    let sizes = [change("--sizes", &LENGTH_BYTES, "4Ki")];
    check(2, &sizes, Profile::Standard, &[[0, 4096], [1, 4096]]);
    // A kernel that needs a second rank is planned, and refused, on one.
    check(1, &[], Profile::Quick, &[[1, 0], [1, 8]]);
    let hops = [change("--axis hops", &HOPS, "1..max")];
    check(4, &hops, Profile::Full, &[[1, 0], [2, 0]]);
}

/// Numbers of ranks of `Uniband` and `Bcast` of IMB.
#[test]
fn messages_between_two_halves_have_even_numbers_of_ranks() {
    static HALVES: KernelInfo = KernelInfo { is_of_halves: true, axes: &[], ..CALL };
    static CALL: KernelInfo = KernelInfo { axes: &[], ..KernelInfo::collective("test") };
    let procs = [change("--axis procs", &PROCS, "2..max*2,max")];
    let numbers = |plan: &KernelPlan, n_ranks| -> Vec<usize> {
        plan.cases.iter().map(|case| case.arrangement().procs.unwrap_or(n_ranks)).collect()
    };
    for (n_ranks, of_halves, of_all) in
        [(2, vec![2], vec![2]), (3, vec![2], vec![2, 3]), (7, vec![2, 4, 6], vec![2, 4, 7])]
    {
        let topology = Topology::hypercube(n_ranks);
        let mut plans = plan(&[&HALVES, &CALL], &procs, Profile::Quick, &topology).unwrap();
        assert_eq!(numbers(&plans[0], n_ranks), of_halves);
        assert_eq!(numbers(&plans[1], n_ranks), of_all);
        // In runs of their own those of three ranks are those of two.
        leave_repeated_out(&mut plans, n_ranks, &[2, 3]);
        assert_eq!(plans.len(), if n_ranks == 3 { 1 } else { 2 });
    }
}

#[test]
fn the_largest_value_of_an_axis_follows_the_ranks() {
    // Half of the ranks make pairs; the last pairs of a round robin meet in its last round.
    for (n_ranks, pairs, rounds) in [(8, 4, 7), (5, 2, 5), (1, 0, 0)] {
        let topology = Topology::hypercube(n_ranks);
        let found = [&PAIRS, &ROUND].map(|axis| max(axis, &topology));
        assert_eq!(found, [Some(pairs), Some(rounds)], "{n_ranks} ranks");
    }
}

#[test]
fn options_are_judged_by_one_rule_and_refused_by_name() {
    let topologies = [2, 4].map(Topology::hypercube);
    let admit = |overrides: &[Override]| {
        admit(overrides, &[&ECHO], &topologies).map_err(|error| error.to_string())
    };
    let backwards = "'8..4' runs backwards (write 4..8)";
    let above = "3 is above the largest value here, 2 (write 0..max)";
    for (axis, values, expected) in [
        (&LENGTH_BYTES, "8..4", backwards),
        (&LENGTH_BYTES, "max", "'max' has no meaning on this axis"),
        (&HOPS, "1,3", above),
        (&ELSEWHERE, "x2", "'x2' has an unknown unit (write a count like 4096, 4Ki, 1.5M or 2kB)"),
        (&PROCS, "0..2", "no case runs on 0 ranks (write 1..max)"),
        (&PROCS, "16", "16 is above the largest value here, 4 (write 1..max)"),
        (&FOUND, "8", "the kernels find its values during the run (leave it out)"),
        (&PLACE, "a,c", "'c' is not one of a, b (write some of these)"),
    ] {
        for option in ["--shorthand", "--axis x"] {
            let found = admit(&[change(option, axis, values)]);
            assert_eq!(found, Err(format!("{option}: {expected}")));
        }
    }
    // The distance is there on the larger number of ranks, and the other one skips it.
    assert_eq!(admit(&[change("--hops", &HOPS, "2")]), Ok(vec![]));
    assert_eq!(labelled("b, a", &["a", "b"]), Ok(vec![0, 1]));
    let note = "note: --elsewhere has no effect: no selected kernel varies elsewhere";
    assert_eq!(admit(&[change("--elsewhere", &ELSEWHERE, "1")]), Ok(vec![note.into()]));
    let sentence = "no selected kernel varies it (they vary datatype, groups, hops, length_bytes, local_n, procs)";
    let found = admit(&[change("--axis elsewhere", &ELSEWHERE, "1")]);
    assert_eq!(found, Err(format!("--axis elsewhere: {sentence}")));
    let twice = ["--sizes", "--axis length_bytes"].map(|o| change(o, &LENGTH_BYTES, "8"));
    let sentence = "--sizes: --axis length_bytes has other values for it (give one)";
    assert_eq!(admit(&twice), Err(sentence.into()));
}

#[test]
fn datatypes_are_varied_last_and_leave_broken_lengths_out() {
    let datatypes = [change("-x", &DATATYPE, "int,char"), change("-s", &LENGTH_BYTES, "2,8")];
    let cases = of_echo(&datatypes, Profile::Quick, 2);
    let found: Vec<_> =
        cases.iter().map(|case| (case.arrangement().datatype, case.value(&LENGTH_BYTES))).collect();
    let of = |datatype, length: u64| (Some(datatype), length);
    assert_eq!(found, [of(Element::I8, 2), of(Element::I8, 8), of(Element::I32, 8)]);
    assert!(cases[2].label().ends_with(" datatype=int"), "{}", cases[2].label());
    let cases = of_echo(
        &[change("-x", &DATATYPE, "int"), change("-s", &LENGTH_BYTES, "2")],
        Profile::Quick,
        2,
    );
    let topology = Topology::hypercube(2);
    let refused = World::of(&topology).admit(&cases[0]);
    assert_eq!(refused, Err("2 bytes are no whole number of int elements".into()));
}

#[test]
fn messages_have_a_datatype_and_reductions_an_element_in_one_run() {
    static SUM: KernelInfo =
        KernelInfo { axes: &[AxisUse::of(&ELEMENT, "0"), AxisUse::of(&LENGTH_BYTES, "8")], ..ECHO };
    let topology = Topology::hypercube(2);
    let [of_messages, of_sums] =
        [change("--axis datatype", &DATATYPE, "int"), change("--axis element", &ELEMENT, "double")];
    let both = [of_messages.clone(), of_sums.clone()];
    assert_eq!(admit(&both, &[&ECHO, &SUM], from_ref(&topology)).unwrap(), [""; 0]);
    let plans = plan(&[&ECHO, &SUM], &both, Profile::Full, &topology).unwrap();
    let types = |plan: &KernelPlan| (plan.cases[0].arrangement().datatype, plan.cases[0].element());
    assert_eq!(types(&plans[0]), (Some(Element::I32), Some(Element::I32)));
    assert_eq!(types(&plans[1]), (None, Some(Element::F64)));
    // Each is the other's typing error where no kernel has it.
    for (change, info) in [(of_messages, &SUM), (of_sums, &ECHO)] {
        let error = admit(&[change], &[info], from_ref(&topology)).unwrap_err();
        assert!(error.to_string().contains(": no selected kernel varies it"), "{error}");
    }
}

#[test]
fn cases_are_planned_and_judged_on_the_ranks_that_they_are_for() {
    let cases = of_echo(&[change("--axis procs", &PROCS, "2..max*2")], Profile::Quick, 8);
    let of_case = |case: &Case| (case.arrangement(), case.value(&HOPS));
    let mut found: Vec<_> = cases.iter().map(of_case).collect();
    found.dedup();
    let on = |procs, n_hops: u64| (1..=n_hops).map(move |hops| (procs, hops));
    // A pair is the same among more ranks.
    assert_eq!(found, Vec::from_iter(on(Arrangement::ALL, 3)));
    let cases = of_echo(&[change("--axis procs", &PROCS, "2..4*2")], Profile::Quick, 8);
    let few = |case: &&Case| case.topology(&Topology::hypercube(2)).is_ok();
    assert_eq!((cases.len(), cases.iter().filter(few).count()), (4, 0));
    let groups = [change("--axis procs", &PROCS, "2,3,8"), change("-x", &GROUPS, "1,3,max")];
    let cases = of_echo(&groups, Profile::Quick, 8);
    let mut found: Vec<_> = cases.iter().map(|case| case.arrangement()).collect();
    found.dedup();
    let [of_two, of_three] =
        [2, 3].map(|procs| move |n_groups| Arrangement { n_groups, ..Arrangement::first(procs) });
    let expected = [of_two(1), of_two(3), of_two(4), of_three(1), of_three(2), Arrangement::ALL];
    assert_eq!(found, expected);
    // What does not fit is planned, and skipped with its reason.
    let sweep = |procs, groups| [change("-x", &PROCS, procs), change("-y", &GROUPS, groups)];
    for overrides in [sweep("3", "3"), sweep("9", "2")] {
        let case = plan(&[&ECHO], &overrides, Profile::Quick, &Topology::hypercube(9)).unwrap();
        let reason = case[0].cases[0].topology(&Topology::hypercube(8)).unwrap_err();
        assert!(reason.starts_with("needs at least "), "{reason}");
    }
    let cases = of_echo(&sweep("4", "max"), Profile::Quick, 2);
    assert!(cases[0].topology(&Topology::hypercube(2)).is_err(), "{cases:?}");
}

#[test]
fn too_many_cases_are_refused() {
    let many = [&HOPS, &LENGTH_BYTES].map(|axis| change("-x", axis, "1..9999"));
    let error = plan(&[&ECHO], &many, Profile::Quick, &Topology::hypercube(2)).unwrap_err();
    let error = error.to_string();
    assert!(error.starts_with("test/echo has more than 100000 cases"), "{error}");
}

#[test]
fn what_does_not_fit_is_refused_with_a_reason() {
    let topology = Topology::hypercube(4);
    let plan = plan(&[&ECHO], &[], Profile::Quick, &topology).unwrap();
    let settings = |cap_bytes| Settings { cap_bytes, ..Settings::of(Profile::Quick) };
    let memory = "needs 8 bytes of memory on each rank, 4 are allowed (see --mem)";
    assert_eq!(plan[0].refusals(&topology, &settings(4)), [memory, "too far", "too far"]);
    let bytes = |cap_bytes| plan[0].bytes_per_rank(&topology, &settings(cap_bytes));
    assert_eq!([1024, 4].map(bytes), [8, 0]);
}

#[test]
fn lengths_are_rounded_up_to_whole_elements_each_once() {
    static REDUCE: KernelInfo = KernelInfo {
        name: "reduce",
        axes: &[
            AxisUse { axis: &LENGTH_BYTES, sweeps: ["0", "0", "0"] },
            AxisUse { axis: &ELEMENT, sweeps: ["4", "4", "4"] },
        ],
        ..ECHO
    };
    let lengths = |info: &'static KernelInfo, unit_bytes| {
        let sizes = Override { unit_bytes, ..change("--sizes", &LENGTH_BYTES, "0,1..16*2,17") };
        let hops = change("--hops", &HOPS, "1");
        let topology = Topology::hypercube(2);
        let plan = plan(&[info], &[sizes, hops], Profile::Quick, &topology).unwrap();
        plan[0].cases.iter().map(|case| case.value(&LENGTH_BYTES)).collect::<Vec<_>>()
    };
    assert_eq!(lengths(&ECHO, None), [0, 1, 2, 4, 8, 16, 17]);
    assert_eq!(lengths(&ECHO, Some(8)), [0, 8, 16, 24]);
    // Those of a reduction are floats, whatever the unit of messages.
    assert_eq!(lengths(&REDUCE, Some(8)), [0, 4, 8, 16, 20]);
}

#[test]
fn time_is_that_of_the_samples_and_unknown_for_a_fixed_number() {
    let mut settings = Settings::of(Profile::Quick);
    let topology = Topology::hypercube(2);
    let time = |settings: &Settings, length_bytes| {
        let cases = [Case::new(&ECHO, &[1, length_bytes]); 4];
        time(cases.iter(), &topology, settings, &Origin::Here { n_cpus: 2, n_cores: 2 })
    };
    assert_eq!(time(&settings, 8), Some(Duration::from_millis(100)));
    // 18 operations at 4 GB/s, and 4 ns for each byte that is checked.
    let long_s = time(&settings, 1 << 30).unwrap().as_secs_f64();
    assert!((long_s - 4.0 * 9.13).abs() < 0.04, "{long_s}");
    settings.samples = Some(3);
    assert_eq!(time(&settings, 8), None);
}

#[test]
fn every_kernel_has_a_plan_on_every_number_of_ranks() {
    for n_ranks in [1, 2, 3, 4, 7, 8] {
        for profile in [Profile::Quick, Profile::Standard, Profile::Full] {
            let topology = Topology::hypercube(n_ranks);
            let plan = plan(&catalogue::infos(), &[], profile, &topology).unwrap();
            for kernel in &plan {
                assert!(!kernel.cases.is_empty(), "{} on {n_ranks} ranks", kernel.info.id());
            }
        }
    }
}
