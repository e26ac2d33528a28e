//! Suites of `SKaMPI` and the entries that they become.

use std::ffi::OsString;
use std::path::PathBuf;

use comet_core::kernel::Buffers;

use super::*;

/// A file of this name and text, imported; and its suite file, read.
fn imported(name: &str, text: &str) -> (Imported, Vec<String>) {
    let folder = std::env::temp_dir().join(format!("comet-import-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    std::fs::write(folder.join("more.inc"), MORE).unwrap();
    let found = import(&path).unwrap();
    let own: PathBuf = folder.join("own.toml");
    std::fs::write(&own, found.suite_file("own").unwrap()).unwrap();
    let flags: Vec<OsString> = ["-t", "sim", "-n", "4"].map(Into::into).into();
    let suite = crate::suite::read(&own.display().to_string(), &flags).unwrap();
    let entries = suite.entries.iter().map(|entry| {
        let args = &entry.args.plan;
        let origin = crate::backend::find(&args.world, None).unwrap().origin(&args.world, None);
        crate::prepare::prepare(args, &origin.unwrap()).unwrap();
        let axes = args.cases.axis.iter().map(|(name, values)| format!(" {name}={values}"));
        let buffers = match args.method.buffers {
            Buffers::Same => String::new(),
            other => format!(" {}", other.name()),
        };
        format!("{}: {}{}{buffers}", entry.id, args.select.concat(), axes.collect::<String>())
    });
    let entries = entries.collect();
    std::fs::remove_dir_all(&folder).unwrap();
    let mut found = found;
    let prefix = format!("{}/", folder.display());
    found.notes.iter_mut().for_each(|note| *note = note.replace(&prefix, ""));
    (found, entries)
}

const MORE: &str = "begin measurement \"more\"\nmeasure comm(n) : Barrier()\nend measurement\n";

const SCRIPT: &str = include_str!("tests/script.ski");

#[test]
fn a_script_becomes_entries_and_what_cannot_is_named_with_its_line() {
    let (found, entries) = imported("a.ski", SCRIPT);
    assert_eq!(
        entries,
        [
            "lengths: imb/bcast datatype=int length_bytes=4..65536*sqrt2 procs=max cycle:65536",
            "ranks: imb/reduce element=double length_bytes=512 operator=max procs=2..max \
             cycle:65536",
            "ranks-2: skampi/comm_dup procs=2..max",
            "more: comet/barrier procs=max",
            "Pingpong_Ssend_Recv: skampi/pingpong_ssend_recv length_bytes=1,8,1024 pair=slowest_of_root procs=max \
             cycle:65536",
            "Scan: imb/scan element=int length_bytes=4,8,12,20,32 procs=max cycle:65536",
        ]
    );
    let notes = [
        "a.ski:3: set_max_nr_node_times, which the rules decide or nothing does",
        "a.ski:18: Comm_fork, for which no kernel stands",
        "a.ski:22: a branch (if), which a suite file does not have",
        "a.ski:29: Bcast: 'count', which has no value",
    ];
    assert_eq!(found.notes, notes);
    assert_eq!(found.stop, [("samples", "8..32".into()), ("error", "3".into())]);
    let last = &found.entries.last().unwrap().keys;
    assert_eq!(
        last[last.len() - 2..],
        [("samples", "8..16".into()), ("standard_error", "3".into())]
    );
}

#[test]
fn repetitions_go_through_the_buffer_unless_a_script_switches_that_off() {
    let (found, entries) = imported("c.ski", include_str!("tests/cycling.ski"));
    assert_eq!(
        entries,
        [
            "Bcast: imb/bcast datatype=int length_bytes=32 procs=4 cycle:4194304",
            "Bcast-2: imb/bcast datatype=int length_bytes=32 procs=4",
            "Bcast-3: imb/bcast datatype=int length_bytes=32 procs=4 cycle:1048576",
            "Barrier: comet/barrier procs=4",
            "Alltoall: imb/alltoall datatype=int length_bytes=32 procs=4 cycle:65536",
            "Win_fence_open: skampi/win_fence_open datatype=int length_bytes=32 procs=4",
        ]
    );
    assert_eq!(found.notes, ["c.ski:6: set_skampi_buffer, which the rules decide or nothing does"]);
}

#[test]
fn delays_in_a_loop_are_a_sweep_and_arguments_without_a_value_are_named() {
    let (found, entries) = imported("d.ski", include_str!("tests/delays.ski"));
    assert_eq!(
        entries,
        [
            "Win_complete_delayed_wait: skampi/win_complete delay_us=0,100,50000 length_bytes=8 procs=4",
            "Win_wait_delayed_complete: skampi/win_wait delay_us=0..30+10 length_bytes=0 procs=4",
        ]
    );
    let notes = ["d.ski:9: Win_complete_delayed_wait: 'nothing', which has no value"];
    assert_eq!(found.notes, notes);
}

/// Of loops over what a function yields the measurements are named, and what follows them is read.
#[test]
fn one_sided_calls_and_files_without_a_kernel_are_named_with_the_reason() {
    let (found, entries) = imported("o.ski", include_str!("tests/one_sided.ski"));
    assert_eq!(
        entries,
        [
            "Accumulate: skampi/accumulate_dedicated element=int length_bytes=4..65536*2 procs=2",
            "Accumulate-2: skampi/accumulate_dedicated element=double length_bytes=8..65536*2 \
             operator=max procs=2",
            "Win_start: skampi/win_start datatype=int length_bytes=32 procs=4",
            "Win_complete: skampi/win_complete datatype=int length_bytes=0 procs=4",
            "Barrier: comet/barrier procs=4",
        ]
    );
    assert_eq!(
        notes(&found),
        [
            "o.ski:6: Accumulate: the argument MPI_REPLACE",
            "o.ski:8: Win_lock, for which no kernel stands",
            "o.ski:9: an assertion, which SKaMPI 5 itself passes to no call",
            "o.ski:10: an assertion, which SKaMPI 5 itself passes to no call",
            "o.ski:11: Win_fence_open: the argument MPI_MODE_NOPUT",
            "o.ski:13: MPI_IO_read_once, for which no kernel stands: pieces of a file that is opened anew, with \
             seeks, and a sync (imb-io reads on in one file without)",
            "o.ski:14: Barrier: 'access' of a loop over no list",
        ]
    );
}

/// The notes of `found`, but for those of the pairs that SKaMPI looks for.
fn notes(found: &Imported) -> Vec<&str> {
    found.notes.iter().map(String::as_str).filter(|note| !note.contains("a pair of")).collect()
}

/// Roots, delays and late ranks are numbers behind the datatypes, and a delay is in seconds.
#[test]
fn collectives_have_the_root_and_the_delay_of_their_numbers() {
    let (found, entries) = imported("n.ski", include_str!("tests/numbers.ski"));
    assert_eq!(
        entries,
        [
            "delayed_Alltoall: skampi/delayed_alltoall datatype=int delay_us=1000 late_rank=1 \
             length_bytes=32 procs=2..max cycle:65536",
            "delayed_Gather: skampi/delayed_gather datatype=int delay_us=50 late_rank=max \
             length_bytes=32 procs=max cycle:65536",
            "Bcast: imb/bcast first_root=1 length_bytes=8 procs=2..max cycle:65536",
            "Gather: imb/gather first_root=max length_bytes=8 procs=max cycle:65536",
            "Allgather: imb/allgather length_bytes=8 procs=2..max cycle:65536",
        ]
    );
    assert_eq!(
        notes(&found),
        [
            "n.ski:6: delayed_Gather: a number other than 0 that skampi/delayed_gather has no axis for",
            "n.ski:9: Reduce: a rank behind the last",
            "n.ski:10: Gather_using_Send_Recv: a number other than 0 that skampi/gatherv_send_recv has no axis for",
        ]
    );
}

const TESTS_AND_PUTS: &str = include_str!("tests/tests_and_puts.ski");

/// A delay of 0 is no call before the start, and the last of all ranks is among all of them alone.
#[test]
fn tests_late_posts_and_combined_puts_are_what_their_numbers_say() {
    let (found, entries) = imported("t.ski", TESTS_AND_PUTS);
    assert_eq!(
        entries,
        [
            "Win_test: skampi/win_test datatype=int length_bytes=32 procs=2..max",
            "Win_test-2: skampi/win_test datatype=int length_bytes=0 procs=2..max",
            "Win_test_delayed: skampi/win_test datatype=int delay_us=10 length_bytes=32 procs=2..max",
            "Win_start_delayed_post: skampi/win_start datatype=int delay_us=10 late_rank=max \
             length_bytes=32 procs=max",
            "Win_start_delayed_post-2: skampi/win_start datatype=int delay_us=10 late_rank=1 \
             length_bytes=32 procs=2..max",
            "Win_start_delayed_post-3: skampi/win_start datatype=int delay_us=10 late_rank=0 \
             length_bytes=32 procs=2..max",
            "Combining_Put_fence: skampi/put_fence_behind datatype=int length_bytes=32 procs=2 window=1..16*2",
            "Combining_Put_dedicated: skampi/put_dedicated datatype=int length_bytes=32 procs=2 window=1..16*2",
        ]
    );
    assert_eq!(
        notes(&found),
        [
            "t.ski:7: Win_test_delayed: a delay of 0, in which the other ranks still come last",
            "t.ski:11: Win_start_delayed_post: a late rank that is rank 0, or another each time",
            "t.ski:14: Win_start_delayed_post: a delay of 0, in which the other ranks still come last",
            "t.ski:20: Barrier: one less than the number of ranks",
        ]
    );
}

/// Each function of files has a reason of its own or that of its kind.
#[test]
fn functions_of_files_are_refused_by_what_they_time_beside() {
    for (name, reason) in [
        ("open", "it is the open alone"),
        ("close", "it is the close alone"),
        ("open_close", "view and atomicity of the file are set in its time"),
        ("delete", "a file is removed in its time"),
        ("delete_on_close", "a file is removed in its time"),
        ("file_seek", "a pointer is moved alone"),
        ("file_seek_shared", "a pointer is moved alone"),
        ("preallocate", "a file gets its room alone"),
        ("write_once", "pieces of a new file"),
        ("write_segmented", "pieces of a new file"),
        ("write_and_read", "ranks write and read in turn"),
        ("read_file", "the file is opened and closed in its time"),
        ("read_and_distribute", "the file is opened and closed, and its parts are sent"),
        ("read_strided", "pieces of a file that is opened anew"),
    ] {
        let name = format!("MPI_IO_{name}");
        let refusal = functions::refusal(&name);
        let start = format!("{name}, for which no kernel stands: {reason}");
        assert!(refusal.starts_with(&start), "{refusal}");
    }
}

const PARAMETERS: &str = include_str!("tests/parameters.skm");

/// SK-02 to SK-04, SK-06, SK-08 to SK-12: the preamble, and the keys of a suite; what is none of ours (SK-05, SK-07) is
/// refused by its line.
#[test]
fn a_parameter_file_becomes_entries() {
    let (found, entries) = imported("a.skm", PARAMETERS);
    assert_eq!(
        entries,
        [
            "MPI_Bcast-length: imb/bcast length_bytes=0,1..4194304*sqrt2 procs=max",
            "gatherv: skampi/gatherv_isend_irecv length_bytes=128 procs=2..max+2",
            "worker: skampi/master_worker_recv_any chunks=1..64 length_bytes=256 procs=max",
        ]
    );
    assert_eq!(found.labels, [("machine".into(), "Cray T3E".into())]);
    assert_eq!(found.defaults, [("mem", "4096Ki"), ("warm_up", "5")].map(|(k, v)| (k, v.into())));
    let of_first = &found.entries[0].keys;
    for (key, value) in [("samples", "8..40"), ("standard_error", "5")] {
        assert!(of_first.contains(&(key, value.into())), "{of_first:?}");
    }
    let notes = [
        "a.skm:3: @OUTFILE t3e.out is not translated: the result file is that of `suite run --out FILE`",
        "a.skm:6: @POSTPROC yes is not translated: several runs are joined by `comet-run merge`",
        "a.skm:19: Cut_Quantile = 0.1 is not translated: a quarter is cut at either end",
        "a.skm:25: bcast: variation Chunks",
        "a.skm:26: type 29 of type, for which no kernel stands",
    ];
    assert_eq!(found.notes, notes);
}

/// Figure 1 of the paper, with values for some keys that it leaves open.
const FIGURE_1: &str = include_str!("tests/figure_1.skampi");

/// SK-08 and SK-09.
#[test]
fn the_file_of_the_paper_is_imported_whole_or_refused_by_its_keys() {
    let (found, entries) = imported(".skampi", FIGURE_1);
    assert_eq!(
        entries,
        ["MPI_Send-MPI_Recv-dynamicVector1: skampi/pingpong_send_recv datatype=int \
          length_bytes=0,1..4194304*sqrt2 pair=slowest procs=max"]
    );
    assert!(found.entries[0].keys.contains(&("budget", "3min".into())), "{found:?}");
    let starts = [
        ".skampi:2: @OUTFILE skampi.out is not translated: ",
        ".skampi:3: @LOGFILE skampi.log is not translated: ",
        ".skampi:11: Send_Datatype_Number = 50 is not translated: ",
        ".skampi:12: Receive_Datatype_Number = 50 is not translated: ",
        ".skampi:17: Max_Steps = 40 is not translated: ",
        ".skampi:18: Min_Distance = 2 is not translated: ",
        ".skampi:19: Max_Distance = 512 is not translated: ",
    ];
    assert_eq!(found.notes.len(), starts.len(), "{:?}", found.notes);
    for (note, start) in found.notes.iter().zip(starts) {
        assert!(note.starts_with(start), "{note}");
    }
}

#[test]
fn loops_whose_steps_no_sweep_has_are_written_or_named() {
    let loops = [
        "64 to 16 step -16",
        "1 to 8 step 1.5",
        "0 to 8 step *2",
        "1 to 2 step 0",
        "8 to 4",
        "2 to -2 step -1",
    ];
    let measured =
        |of: &str| format!("for n = {of} do measure comm(4) : Bcast(n, MPI_CHAR, 0) od\n");
    let text = format!("switch_buffer_cycling_off() {}", loops.map(measured).concat());
    let (found, entries) = imported("l.ski", &text);
    assert_eq!(
        entries,
        [
            "Bcast: imb/bcast length_bytes=64,48,32,16 procs=4",
            "Bcast-2: imb/bcast length_bytes=1,3,4,6,7 procs=4",
        ]
    );
    let notes = [
        "l.ski:3: Bcast: a loop with more than 10000 values, or that never ends",
        "l.ski:4: Bcast: a loop with more than 10000 values, or that never ends",
        "l.ski:5: Bcast: a loop without a value",
        "l.ski:6: Bcast: a loop to -2, which is below 0",
    ];
    assert_eq!(found.notes, notes);

    let steps = [
        ("log", "4"),
        ("log", "1.4143"),
        ("log", "1.5"),
        ("linear", "0.5"),
        ("linear", "3"),
        ("log", "1"),
        ("log", "two"),
    ];
    let suite = |(scale, step): (&str, &str)| {
        format!(
            "{scale}{step} {{ Type = 17; Scale = Fixed_{scale}; End_Argument = 8; Stepwidth = {step}; }}\n"
        )
    };
    let (found, entries) = imported("l.skm", &steps.map(suite).concat());
    assert_eq!(
        entries,
        [
            "log4: imb/bcast length_bytes=1..8*4 procs=max",
            "log1.4143: imb/bcast length_bytes=1..8*sqrt2 procs=max",
            "log1.5: imb/bcast length_bytes=1,2,3,5,8 procs=max",
            "linear0.5: imb/bcast length_bytes=1,2,3,4,5,6,7,8 procs=max",
            "linear3: imb/bcast length_bytes=1..8+3 procs=max",
        ]
    );
    let notes = [
        "l.skm:6: log1: a loop with more than 10000 values, or that never ends",
        "l.skm:7: logtwo: Stepwidth = two, which is no number",
    ];
    assert_eq!(found.notes, notes);
}

#[test]
fn a_name_may_have_any_character() {
    let name = "a\u{200b}\u{7} 'b' \\";
    let text = format!("begin measurement \"{name}\"\nmeasure comm(2) : Barrier()\n");
    let (_, entries) = imported("b.ski", &text);
    assert_eq!(entries, [format!("{name}: comet/barrier procs=2")]);
}

#[test]
fn a_text_without_measurements_is_refused() {
    let path = std::env::temp_dir().join(format!("comet-import-none-{}.ski", std::process::id()));
    std::fs::write(&path, "while true\n").unwrap();
    let error = import(&path).unwrap_err().to_string();
    std::fs::remove_file(&path).unwrap();
    assert!(error.contains("has nothing that a kernel measures"), "{error}");
    assert!(error.ends_with(":1: 'while', which begins no statement that is known"), "{error}");
}

#[test]
fn brackets_and_loops_without_an_end_are_given_up() {
    for text in ["x = ".to_owned() + &"(".repeat(100_000), "for i = 1 to 2 do ".repeat(100_000)] {
        let path =
            std::env::temp_dir().join(format!("comet-import-deep-{}.ski", std::process::id()));
        std::fs::write(&path, text).unwrap();
        assert!(import(&path).is_err());
        std::fs::remove_file(&path).unwrap();
    }
}
