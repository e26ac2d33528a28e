//! IMB-MT: its tables with one thread of each rank over shared memory and in simulation, what an import makes of
//! them, and the refusal of several threads where ranks have one. Several are measured over MPI
//! (`scripts/mpi-test.sh`). The requirements are BI-08 and BI-30.

use crate::support::{Folder, Requirement, require_met};

/// Each benchmark once, on two ranks.
const ALL: &str = "IMB-MT -repeat 5 -warmup 2 --ranks=2 --machine=./flat.toml --out r.jsonl";
/// One of them, to which the options of a row are added.
const ONE: &str = "IMB-MT SendRecvMT -repeat 5 --machine=./flat.toml --out r.jsonl";

const HEAD: &str = "\n       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]";

#[rustfmt::skip] // One requirement a line.
const ROWS: &[Requirement] = &[
    (&["BI-01", "BI-08"], "IMB-MT -list", "", &["List of benchmarks:\nIMB-MT:\n    AllReduceMT\n    BarrierMT\n    BcastMT\n    BiBandMT\n"]),
    (&["BI-08"], ALL, "", &["# Benchmarking PingPongMT\n# #processes = 2 (threads: 1)\n#---", HEAD]),
    // Four bytes take 10.032 us one way; an exact simulation takes two samples of five.
    (&["BI-08"], ALL, "", &["            4           10        10.03        10.03        10.03         0.40\n"]),
    (&["BI-08"], ALL, "", &["# Benchmarking PingPingMT\n", "# Benchmarking SendRecvMT\n", "# Benchmarking ExchangeMT\n"]),
    (&["BI-08"], ALL, "", &["# Benchmarking UniBandMT\n# #processes = 2 (threads: 1)\n# window_size = 64\n#---", "\n       #bytes #repetitions  t_avg[usec]   Mbytes/sec      Msg/sec\n"]),
    (&["BI-08"], ALL, "", &["# Benchmarking BiBandMT\n", "# Benchmarking BarrierMT\n", "\n #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n"]),
    (&["BI-08"], ALL, "", &["# Benchmarking BcastMT\n", "# Benchmarking ReduceMT\n", "# Benchmarking AllReduceMT\n", "\"element\":\"int\"", "\"datatype\":\"int\""]),
    (&["BI-08"], "IMB-MT PingPongMT -repeat 5 --ranks=3 --machine=./flat.toml", "", &["# #processes = 2 (threads: 1)\n"]),
    (&["BI-30"], ONE, "-stride 1 --ranks=4", &["\"stride\":1", "\"repetitions\":5"]),
    (&["BI-30"], ONE, "-count 1,100 -datatype char --ranks=2", &["\n            1 ", "\n          100 ", "\"datatype\":\"char\""]),
    (&["BI-30"], ONE, "-barrier off --ranks=2", &["\"sync\":\"none\",\"target\":"]),
    (&["BI-30"], ONE, "-warmup 3 --ranks=2", &["\"warmup\":3,"]),
    (&["BI-30"], "IMB-MT UniBandMT -window_size 8 -repeat 5 --ranks=2 --machine=./flat.toml", "", &["# window_size = 8\n"]),
    (&["BI-30"], ONE, "-malloc_algo serial -malloc_align 4096 -check true -noheader --ranks=2", &["# note: -malloc_algo serial has no effect", "# note: -noheader has no effect"]),
];

#[test]
fn requirements_are_met_by_what_it_prints_and_records() {
    require_met(ROWS, &[]);
}

#[test]
fn it_prints_what_can_be_shown_and_imported_again() {
    for (n_ranks, transport) in [(2, "shm"), (2, "sim"), (4, "sim")] {
        let folder = Folder::new();
        let line =
            format!("IMB-MT -count 2,100 -repeat 20 --ranks={n_ranks} --transport={transport}");
        let output = folder.run(&format!("{line} --out r.jsonl")).success();
        assert_eq!(output.stdout.matches("# Benchmarking ").count(), 10, "{}", output.stdout);
        let records = folder.records("r.jsonl");
        let is_sound = |point: &serde_json::Value| {
            point["status"] == "ok" && point["check"]["status"] == "pass"
        };
        assert!(records.points().all(is_sound), "{}", output.stdout);
        folder.assert_imb_comes_back(&output, "auto");
    }
}

#[test]
fn several_threads_are_refused_in_a_sentence_where_ranks_have_one_or_others_run_beside_them() {
    let folder = Folder::new();
    let one = "imb-mt/pingpong -n 2 -s 8 --threads 2 --out none";
    for transport in ["shm", "sim"] {
        let output = folder.run(&format!("run {one} -t {transport}"));
        let text = output.stdout + &output.stderr;
        let sentence = "2 threads need a rank with several (start the ranks under MPI, with \
                        --thread-level multiple)";
        assert!(text.contains(sentence), "{text}");
    }
    let output = folder.run("run imb-mt/pingpong echo -n 2 --threads 2 --out none").code(2);
    let sentence =
        "--threads: comet/echo has one thread, and is not measured beside kernels of several";
    assert!(output.stderr.contains(sentence), "{output:#?}");
    let output = folder.run("IMB-MT PingPongMT -thread_level multiple --ranks=2 -t shm");
    assert!(output.code != Some(0), "{output:#?}");
}
