//! Foreign command lines and their translations.

use super::*;
use crate::catalogue;
use crate::cli::Cli;
use clap::Parser as _;
use comet_report::suite::{imb as imb_suite, osu as osu_suite};

mod halo;
mod imb;
mod mt;
mod p2p;
mod persistent;
mod refused;
mod remote;
mod unblocked;

fn split(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

/// Translation of `line` without a launcher.
fn translated(line: &str) -> Result<Translation, Stop> {
    translate(&split(line), &Surroundings::default())
}

/// Holds the translation of `line` against `expected`, which `--out none` follows, with the exit code
/// of the original.
fn check(line: &str, expected: &str) {
    let Translation { words, notes } = translated(line).unwrap();
    let expected = expected.replacen("run", "run --accept-limits", 1) + " --out none";
    assert_eq!((words.join(" "), notes), (expected, vec![]), "{line}");
    assert!(Cli::try_parse_from(["comet-run".into()].iter().chain(&words)).is_ok(), "{line}");
}

/// The sentence by which `line` is refused.
fn refusal(line: &str) -> String {
    let Err(Stop::Wrong(sentence)) = translated(line) else { panic!("{line} is not refused") };
    sentence
}

#[test]
fn a_foreign_command_line_starts_with_its_program() {
    for (line, expected) in [
        ("comet-run osu_latency -m 8", Some("osu_latency -m 8")),
        ("bin/osu_bw -c", Some("osu_bw -c")),
        ("/opt/IMB-MPI1 PingPong", Some("IMB-MPI1 PingPong")),
        ("comet-run echo -n 2", None),
        ("comet-run osu/bw", None),
        ("comet-run show osu_latency.jsonl", None),
        ("comet-run", None),
    ] {
        let args: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        assert_eq!(foreign(&args), expected.map(split), "{line}");
    }
}

#[test]
fn a_command_line_of_osu_becomes_one_of_ours() {
    let run = |name: &str, rest: &str| format!("run OSU:{name} --rules osu --format osu{rest}");
    let latency = |rest: &str| run("osu_latency", &format!(" --hops 1 --ranks 2 --sizes {rest}"));
    let percentiles = "--repetitions 1 --samples 50 --label osu_columns=";
    let validated = "1..8*2 --repetitions 1 --samples 10 --label osu_columns=validation,p50";
    for (line, expected) in [
        ("osu_latency", latency("1..4194304*2")),
        ("osu_latency -m 8", latency("1..8*2")),
        ("osu_latency -m :8", latency("1..8*2")),
        ("osu_latency -m 8:64", latency("8..64*2")),
        ("osu_latency -m1 -i1000", latency("1..1*2 --repetitions 1000 --samples 1")),
        (
            "osu_latency -m 0:8 -c -z -i 50",
            latency(&format!("0,1..8*2 {percentiles}validation,p50,p90,p99")),
        ),
        ("osu_latency -m 0:8 -z75 -i 50", latency(&format!("0,1..8*2 {percentiles}p75"))),
        // Long options are the short ones.
        ("osu_latency -m 1:8 -i 10 -c -z50", latency(validated)),
        (
            "osu_latency --message-size 1:8 --iterations 10 --validation --tail-lat=50",
            latency(validated),
        ),
        (
            "osu_latency --message-size=1:8 --iterations=10 --validation --tail-lat=50",
            latency(validated),
        ),
        // Collectives have all ranks.
        (
            "osu_bcast -m 4:64 -i 100 -c -f",
            run(
                "osu_bcast",
                " --sizes 4..64*2 --repetitions 1 --samples 100 --label osu_columns=full,validation",
            ),
        ),
        ("osu_bcast -m 64 --ranks=4", run("osu_bcast", " --sizes 1..64*2 --ranks=4")),
        ("osu_bcast -m 4: -M 1048576", run("osu_bcast", " --sizes 4..1048576*2")),
        ("osu_gather -M 2097152", run("osu_gather", " --mem 2097152 --sizes 1..1048576*2")),
        (
            "osu_barrier -x 10 -i 20",
            run("osu_barrier", " --warm-up 10 --repetitions 1 --samples 20"),
        ),
        ("osu_barrier", run("osu_barrier", "")),
        ("osu_bw -m 8 -W 32", run("osu_bw", " --ranks 2 --axis window=32 --sizes 1..8*2")),
        (
            "osu_bibw -m 8 -b multiple",
            run("osu_bibw", " --axis window_buffers=multiple --ranks 2 --sizes 1..8*2"),
        ),
    ] {
        check(line, &expected);
    }
    let line = translated("osu_latency -m 1:8 -z37,5").unwrap().words.join(" ");
    assert!(line.contains("osu_columns=p37,p5"), "{line}");
    let words = translated("osu_latency -m 8 --out r.jsonl").unwrap().words;
    assert_eq!(words.last().map(String::as_str), Some("--out=r.jsonl"));
}

#[test]
fn pairs_roots_places_and_datatypes_of_osu_are_values_of_axes() {
    let run = |name: &str, rest: &str| format!("run OSU:{name} --rules osu --format osu{rest}");
    for (line, expected) in [
        // Several pairs have all ranks, and each operation its own time.
        ("osu_multi_lat -m 8 -b multiple", run("osu_multi_lat", " --sizes 1..8*2")),
        ("osu_mbw_mr", run("osu_mbw_mr", " --sizes 1..4194304*2")),
        (
            "osu_mbw_mr -m 8 -i 20 -x 0 -W 8 -b single -R 1 -p 2 -c",
            run(
                "osu_mbw_mr",
                " --warm-up 0 --ranks 4 --axis window=8 --sizes 1..8*2 --repetitions 1 --samples 20 \
                 --label osu_columns=validation",
            ),
        ),
        (
            "osu_mbw_mr -m 8 -V -R 0",
            run(
                "osu_mbw_mr",
                " --axis window=1,2,4,8,16,32,64,128 --sizes 1..8*2 --label \
                 osu_columns=windows,no_message_rate",
            ),
        ),
        // Roots, places and datatypes.
        (
            "osu_gatherv -m 8 -k fixed:3 -l",
            run("osu_gatherv", " --axis first_root=3 --axis place=in_place --sizes 1..8*2"),
        ),
        (
            "osu_reduce -m 8 --root-rank=rotate",
            run("osu_reduce", " --axis root=rotate --sizes 1..8*2 --axis element=char"),
        ),
        ("osu_scatter -m 8 -k fixed:0", run("osu_scatter", " --sizes 1..8*2")),
        (
            "osu_allreduce -m 8 -T all",
            run("osu_allreduce", " --sizes 1..8*2 --axis element=char,int,float"),
        ),
        ("osu_bcast -m 8 -D CONT", run("osu_bcast", " --layout cont --sizes 1..8*2")),
        (
            "osu_bcast -m 8 --ddt=vect:8:4 -T mpi_int",
            run("osu_bcast", " --layout vect:8:4 --sizes 1..8*2 --axis datatype=int"),
        ),
        // Bytes are characters in the layout.
        ("osu_gatherv -m 8 -T MPI_CHAR", run("osu_gatherv", " --sizes 1..8*2")),
        (
            "osu_gatherv -m 8 -T mpi_float,mpi_char",
            run("osu_gatherv", " --sizes 1..8*2 --axis datatype=float,char"),
        ),
        (
            "osu_mbw_mr -m 8 -T all",
            run("osu_mbw_mr", " --sizes 1..8*2 --axis datatype=char,int,float"),
        ),
        (
            "osu_reduce_scatter_block -m 8 -T MPI_INT -T mpi_float --in-place",
            run(
                "osu_reduce_scatter_block",
                " --axis place=in_place --sizes 1..8*2 --axis element=int,float",
            ),
        ),
    ] {
        check(line, &expected);
    }
}

#[test]
fn neighbours_of_osu_are_on_a_torus_or_in_a_graph() {
    let run = |rest: &str| format!("run OSU:osu_neighbor_alltoallw --rules osu --format osu{rest}");
    for (line, rest) in [
        ("", " --sizes 1..1048576*2"),
        (
            " -m 4:64 -i 100 -x 10 -c -f",
            " --warm-up 10 --sizes 4..64*2 --repetitions 1 --samples 100 --label \
             osu_columns=full,validation",
        ),
        (" -m 8 -N cart:2:1", " --axis dimensions=2 --axis radius=1 --sizes 1..8*2"),
        (" -N graph:g -m 8 -N cart:2:1", " --axis dimensions=2 --axis radius=1 --sizes 1..8*2"),
        (" -m 8 --nhbr=CART:1:3", " --axis dimensions=1 --axis radius=3 --sizes 1..8*2"),
    ] {
        check(&format!("osu_neighbor_alltoallw{line}"), &run(rest));
    }
    let path = std::env::temp_dir().join(format!("comet-graph-{}", std::process::id()));
    std::fs::write(&path, "# Source, Destination\n0,1\n1, 0\n").unwrap();
    let path = path.display();
    check(
        &format!("osu_neighbor_alltoallw -m 8 -N graph:{path}"),
        &run(&format!(" --graph {path} --sizes 1..8*2")),
    );
    std::fs::remove_file(path.to_string()).unwrap();
    for (line, part) in [
        ("osu_bcast -N cart:1:1", "osu_bcast: -N is unknown"),
        ("osu_neighbor_alltoall -l", "osu_neighbor_alltoall: -l is unknown"),
        ("osu_neighbor_alltoall -N cart:0:1", "'cart:0:1' for -N: neighbours are cart:"),
        ("osu_neighbor_alltoall -N cart:17:1", "'cart:17:1' for -N: neighbours are cart:"),
        ("osu_neighbor_alltoall -N cart:1", "'cart:1' for -N: neighbours are cart:"),
        ("osu_neighbor_alltoall -N graph:", "'graph:' for -N: neighbours are cart:"),
    ] {
        let sentence = refusal(line);
        assert!(sentence.contains(part), "{line}: {sentence}");
    }
}

#[test]
fn a_command_line_of_imb_becomes_one_of_ours() {
    let path = std::env::temp_dir().join(format!("comet-lengths-{}", std::process::id()));
    std::fs::write(&path, "# lengths\n3\n\n1k\n2 M\n").unwrap();
    let of_file = format!("IMB-MPI1 PingPong -msglen {}", path.display());
    let pingpong = |rest: &str| format!("IMB:PingPong --rules imb --format imb{rest}");
    let sizes = |sizes: &str| pingpong(&format!(" --hops 1 --sizes {sizes} --ranks 2"));
    for (line, expected) in [
        ("IMB-MPI1 PingPong -msgsize 3,1024", sizes("3,1024")),
        (&of_file, sizes("3,1024,2097152")),
        (
            "IMB-MPI1 PingPong -msglog 2 -zero_size off",
            pingpong(" --hops 1 --loop-limits 40Mi,10s,10s --sizes 1..4*2 --ranks 2"),
        ),
        (
            "IMB-MPI1 pingpong -npmin 2 -msglog 0:22 -iter 1000 -time 10 -mem 1 -multi -1",
            pingpong(" --mem 1073741824 --hops 1 --sizes 0,1..4194304*2 --ranks 2"),
        ),
        // Options of ours take the place of translated ones.
        (
            "IMB-MPI1 PingPong --sizes=8,1Ki --ranks=4",
            pingpong(" --hops 1 --sizes=8,1Ki --ranks=4"),
        ),
        (
            "IMB-MPI1 pingpong -npmin 2 -msglog 0:22 -off_cache 2.5,64",
            pingpong(" --buffers offcache:2621440 --hops 1 --sizes 0,1..4194304*2 --ranks 2"),
        ),
        (
            "IMB-MPI1 Barrier -npmin 2 -thread_level single",
            "IMB:Barrier --rules imb --format imb --label imb_lengths=0,1..4194304*2 --ranks 2".into(),
        ),
        (
            "IMB-MPI1 Barrier -npmin 2 -thread_level multiple",
            "IMB:Barrier --rules imb --format imb --thread-level multiple --label imb_lengths=0,1..4194304*2 --ranks 2".into(),
        ),
        (
            "IMB-MPI1 Barrier -include PingPong,Bcast -exclude bcast -npmin 2 -msglog 0",
            "IMB:PingPong IMB:Barrier --rules imb --format imb --hops 1 --loop-limits \
             40Mi,10s,10s --sizes 0,1..1*2 --ranks 2"
                .into(),
        ),
        (
            "IMB-MPI1 Bcast Barrier -msglog 3:5 -iter 50 -npmin 4",
            "IMB:Bcast IMB:Barrier --rules imb --format imb --repetitions 50 --loop-limits \
             40Mi,10s,10s --sizes 0,8..32*2 --ranks 4"
                .into(),
        ),
    ] {
        check(line, &format!("run {expected}"));
    }
    std::fs::remove_file(&path).unwrap();
    let Err(Stop::Help(listed)) = translated("IMB-MPI1 -list") else { panic!("-list measures") };
    assert!(listed.starts_with("List of benchmarks:\nIMB-MPI1:\n    Allgather\n"), "{listed}");
    assert!(listed.ends_with("    Sendrecv\n    Uniband (non-default)\n"), "{listed}");
    let included = translated("IMB-MPI1 -include Uniband,Bcast -npmin 2").unwrap();
    let names = included.words.iter().filter(|word| word.starts_with("IMB:")).collect::<Vec<_>>();
    assert_eq!((&names[..2], names.len()), (&[&"IMB:Uniband".into(), &"IMB:Bcast".into()][..], 20));
    let all = translated("IMB-MPI1 -exclude Barrier -npmin 2").unwrap();
    assert!(all.words[2..].starts_with(&["IMB:PingPong".into(), "IMB:PingPing".into()]));
    assert!(!all.words.contains(&"IMB:Uniband".into()) && all.notes.is_empty(), "{all:?}");
}

#[test]
fn an_option_without_an_effect_is_noted_unless_it_asks_for_what_is_done() {
    for (line, note) in [
        ("osu_latency -u 5", "-u 5 has no effect: "),
        ("IMB-MPI1 Bcast -red_data_type int", "-red_data_type int has no effect: "),
        ("IMB-MPI1 PingPong -window_size 8", "-window_size 8 has no effect: neither Uniband"),
    ] {
        let notes = translated(line).unwrap().notes;
        assert!(notes.iter().any(|found| found.starts_with(note)), "{line}: {notes:?}");
    }
    for line in [
        "osu_latency H H",
        "osu_latency -T mpi_char",
        "osu_bw -b single",
        "IMB-MPI1 PingPong -sync on",
    ] {
        assert_eq!(translated(line).unwrap().notes, [""; 0], "{line}");
    }
}

#[test]
fn values_that_osu_does_not_know_are_refused_with_those_that_it_does() {
    for (line, sentence) in [
        ("osu_bw -b double", "osu_bw: 'double' for -b: write single or multiple"),
        ("osu_mbw_mr -V -W 8", "osu_mbw_mr: windows are those of -W or of -V (leave one out)"),
        ("osu_latency -u 11", "osu_latency: '11' for -u: it is a number from 0 to 10 (write 5)"),
        ("osu_bcast -c -u x", "osu_bcast: 'x' for -u: it is a number from 0 to 10 (write 5)"),
        ("osu_mbw_mr -R 2", "osu_mbw_mr: '2' for -R: it is a switch (write 0 or 1)"),
        ("osu_mbw_mr -p 3 --ranks=4", "osu_mbw_mr: '3' for -p: 4 ranks make 2 pairs (write 2)"),
        ("osu_mbw_mr -p 2 --ranks=3", "osu_mbw_mr: '2' for -p: 3 ranks make 1 pair (write 1)"),
        (
            "osu_gather -k fixed:4 --ranks=4",
            "osu_gather: 'fixed:4' for -k: the last rank is 3 (write fixed:3)",
        ),
        (
            "osu_gather -k 1",
            "osu_gather: '1' for -k: a root is fixed:RANK or rotate (write fixed:0)",
        ),
        (
            "osu_neighbor_allgather -N torus:1:1",
            "osu_neighbor_allgather: 'torus:1:1' for -N: neighbours are cart:DIMENSIONS:RADIUS, 1 \
             to 16 and 1 or more, or graph:FILE (write cart:1:1)",
        ),
        (
            "osu_bw -D vect:4:8",
            "osu_bw: 'vect:4:8' for -D: layouts are cont, vect:STRIDE:BLOCK with a block of 1 to STRIDE \
             elements, and indx:FILE (write vect:8:4)",
        ),
        (
            "osu_bw -T mpi_int,mpi_double",
            "osu_bw: 'mpi_double' for -T: types are mpi_char, mpi_int, mpi_float, and all for \
             these three (write one, or several with commas between them)",
        ),
        (
            "osu_reduce -T double",
            "osu_reduce: 'double' for -T: types are mpi_char, mpi_int, mpi_float, and all for \
             these three (write one, or several with commas between them)",
        ),
    ] {
        assert_eq!(refusal(line), sentence, "{line}");
    }
}

#[test]
fn reductions_have_elements_and_rooted_collectives_a_root() {
    let words = |line: &str| translated(line).unwrap().words.join(" ");
    let check = |line: &str, part: &str| {
        let words = words(line);
        assert!(words.contains(part), "{line}: {words}");
    };
    check("IMB-MPI1 Allreduce -red_data_type int", "--axis element=int");
    check("IMB-MPI1 Reduce -root_shift on", "--axis root=rotate");
    check("osu_reduce_scatter -m 4:64", "--axis element=char");
    let notes = translated("IMB-MPI1 Alltoall -root_shift on -red_data_type int").unwrap().notes;
    assert_eq!(
        notes[..2],
        [
            "-red_data_type int has no effect: no reduction is named",
            "-root_shift on has no effect: no root is there"
        ]
    );
}

#[test]
fn lengths_and_pairs_of_osu_follow_the_ranks() {
    let on = |line: &str, n_ranks| {
        let around =
            Surroundings { is_launched: true, n_ranks: Some(n_ranks), out: None, n_threads: 2 };
        let Translation { words, notes } = translate(&split(line), &around).unwrap();
        (words.join(" "), notes)
    };
    let check = |line: &str, n_ranks, part: &str, expected: &[&str]| {
        let (words, notes) = on(line, n_ranks);
        assert!(words.contains(part), "{line}: {words}");
        assert_eq!(notes, expected, "{line}");
    };
    // 512 MiB hold a part of 1 MiB for each of 512 ranks.
    check("osu_gather", 512, "--sizes 1..1048576*2", &[]);
    let note = "lengths end at 524288 bytes: 536870912 bytes of memory hold no more (raise -M)";
    check("osu_alltoallv", 1024, "--sizes 1..524288*2", &[note]);
    check("osu_allreduce", 1024, "--sizes 1..1048576*2", &[]);
    let notes = [
        "-M 1000 is too low: 1048576 in its place",
        "lengths end at 262144 bytes: 1048576 bytes of memory hold no more (raise -M)",
    ];
    check("osu_gather -M 1000", 4, "--sizes 1..262144*2", &notes);
    check("osu_bcast -M 1000", 4, "--sizes 1..1048576*2", &notes[..1]);
    let note = "-p 1 is obeyed: OSU 7.4 measures 2 pairs whatever it says";
    check("osu_mbw_mr -p 1", 4, "--axis procs=2", &[note]);
    check("osu_mbw_mr -p 1", 3, "--axis procs=2", &[]);
    let (words, notes) = on("osu_mbw_mr -p 2", 4);
    assert!(!words.contains("procs") && notes.is_empty(), "{words}");
}

#[test]
fn a_launcher_decides_how_many_ranks_there_are() {
    let around = Surroundings {
        is_launched: true,
        n_ranks: None,
        out: Some("r.jsonl".into()),
        n_threads: 2,
    };
    for line in ["osu_latency -m 8", "IMB-MPI1 PingPong -npmin 2"] {
        let words = translate(&split(line), &around).unwrap().words;
        assert!(!words.contains(&"--ranks".to_owned()), "{words:?}");
        assert!(words.ends_with(&["--out".into(), "r.jsonl".into()]), "{words:?}");
    }
}

#[test]
fn help_names_what_is_understood() {
    for (line, option) in
        [("osu_latency -h", "-m, --message-size [MIN:][MAX]"), ("IMB-MPI1 -h", "-msglog")]
    {
        let Err(Stop::Help(text)) = translated(line) else { panic!("no help for {line}") };
        assert!(text.contains(option) && text.contains("--out FILE"), "{text}");
    }
    let Err(Stop::Help(text)) = translated("osu_allreduce -v") else { panic!("no version") };
    let ours = format!("comet-run {}, in the layout of OSU 7.4", env!("CARGO_PKG_VERSION"));
    assert_eq!(text, format!("# OSU MPI Allreduce Latency Test v7.4\n# note: {ours}\n"));
}

#[test]
fn every_program_here_is_an_alias_of_a_kernel() {
    let infos = catalogue::infos();
    for suite in [&osu_suite::SUITE, &imb_suite::SUITE, &imb_suite::EXT, &imb_suite::RMA] {
        for benchmark in suite.benchmarks {
            let info = infos.iter().find(|info| info.id() == benchmark.kernel);
            let alias = format!("{}:{}", suite.name, benchmark.name);
            assert!(info.expect("a kernel").aliases.contains(&&*alias), "{alias}");
        }
    }
}
