//! Requirements of IMB-MPI1, IMB-EXT and IMB-IO by their numbers, each with a command line and with what shows that it is
//! met: text of the output, or of the result file `r.jsonl`. What a table of numbers has to satisfy is
//! computed in a test of its own.
//!
//! The ranks are simulated on a flat machine, where one message takes 10 us and 8 ns for each byte,
//! but for counts of operations, which an exact simulation cuts short, and for files.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, OnceLock};

use crate::support::{FLAT, Folder};

/// Each benchmark once, on four ranks or on two of them.
const ALL: &str = "IMB-MPI1 -msglog 2:10 -iter 5 --ranks=4 --machine=./flat.toml --out r.jsonl";
/// Each of the 17 in two groups at once.
const MULTI: &str = "IMB-MPI1 PingPong PingPing Sendrecv Exchange Bcast Allgather Allgatherv Scatter \
                     Scatterv Gather Gatherv Alltoall Alltoallv Reduce Reduce_scatter Allreduce \
                     Barrier -multi 0 -msglog 2:2 --ranks=5 --machine=./flat.toml";
/// Counts of operations, over shared memory.
const COUNTS: &str = "IMB-MPI1 PingPong -msgsize 32768,65536,4194304 --ranks=2 --transport=shm \
                      --out r.jsonl";

/// Each benchmark of windows, on four ranks or on two of them.
const EXT: &str = "IMB-EXT -msglog 2:4 -iter 5 --ranks=4 --machine=./flat.toml --out r.jsonl";
/// Each in two groups at once.
const EXT_MULTI: &str = "IMB-EXT -multi 0 -msglog 2:2 --ranks=5 --machine=./flat.toml";

/// Each benchmark of files, in a folder on two ranks.
const IO: &str = "IMB-IO -npmin 2 -msglog 2:3 -iter 2 --axis=work_us=50 --ranks=2 --transport=shm \
                  --io-dir=. --out r.jsonl";
/// Each in two groups of one at once.
const IO_MULTI: &str = "IMB-IO -multi 0 -msglog 2:2 -iter 2 --axis=work_us=50 --ranks=2 \
                        --transport=shm --io-dir=.";

const SINGLE: &str = "\n       #bytes #repetitions      t[usec]   Mbytes/sec\n";
const PARALLEL: &str =
    "\n       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]   Mbytes/sec\n";
const COLLECTIVE: &str = "\n       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n";
const OVERLAP: &str =
    "\n       #bytes #repetitions t_ovrl[usec] t_pure[usec]  t_CPU[usec]   overlap[%]\n";
const SYNC: &str = "\n #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n";

/// Numbers of requirements, a command line, its exit code, and what it shows.
type Row = (&'static [u32], &'static str, i32, &'static [&'static str]);

#[rustfmt::skip] // One requirement a line.
const ROWS: &[Row] = &[
    // Programs and classes.
    (&[1], "IMB-MPI1 -list", 0, &["List of benchmarks:\nIMB-MPI1:\n    Allgather\n"]),
    (&[1], "IMB-NBC -list", 0, &["List of benchmarks:\nIMB-NBC:\n    Iallgather\n"]),
    (&[1], "IMB-EXT -list", 0, &["List of benchmarks:\nIMB-EXT:\n    Accumulate\n"]),
    (&[1], "IMB-IO -list", 0, &["List of benchmarks:\nIMB-IO:\n    C_IRead_Expl\n"]),
    (&[1], "IMB-MPI4 -list", 0, &["List of benchmarks:\nIMB-MPI4:\n    Allgather_persist (non-default)\n    Allgather_persist_pure (non-default)\n    Allgatherv_persist\n"]),
    (&[1], "IMB-GPU", 2, &["IMB-GPU is not supported, but IMB-MPI1, IMB-NBC, IMB-MPI4, IMB-EXT, IMB-RMA, IMB-IO, IMB-P2P, IMB-HALO and IMB-MT are"]),
    (&[2, 5, 164], ALL, 0, &["# Benchmarking Bcast \n", COLLECTIVE]),
    (&[3, 153, 161], ALL, 0, &["# Benchmarking PingPong \n# #processes = 2 \n# ( 2 additional processes waiting in MPI_Barrier)\n"]),
    (&[4, 163], ALL, 0, &["# Benchmarking Sendrecv \n# #processes = 4 \n", PARALLEL]),
    (&[7], MULTI, 0, &["# Benchmarking Multi-PingPong \n# ( 2 groups of 2 processes each running simultaneous ) \n# Group  0:     0    1\n# \n# Group  1:     2    3\n# \n# ( 1 additional process waiting in MPI_Barrier)\n"]),
    (&[9], ALL, 0, &["# MPI_Datatype                   :   MPI_BYTE \n# MPI_Datatype for reductions    :   MPI_FLOAT \n# MPI_Op                         :   MPI_SUM  \n"]),
    (&[9], "IMB-MPI1 PingPong Reduce -data_type int -red_data_type char -npmin 2 -msgsize 8 --ranks=2 --machine=./flat.toml --out r.jsonl", 0, &["# MPI_Datatype                   :   MPI_INT \n# MPI_Datatype for reductions    :   MPI_CHAR \n", "\"params\":{\"datatype\":\"int\",\"hops\":1,\"length_bytes\":8,\"procs\":2}", "\"place\":\"separate\",\"element\":\"char\",\"operator\":\"sum\",\"length_bytes\":8,\"procs\":2}"]),
    (&[10], "IMB-MPI1 Bcast Reduce Gather Scatter -root_shift on -npmin 3 -msgsize 8 --ranks=3 --machine=./flat.toml --out r.jsonl", 0, &["\"params\":{\"algorithm\":\"native\",\"root\":\"rotate\",\"first_root\":0,\"length_bytes\":8,\"procs\":3}"]),
    (&[10], "IMB-MPI1 Gather --format=imb-3.2 -npmin 3 -msgsize 8 --ranks=3 --machine=./flat.toml --out r.jsonl", 0, &["\"root\":\"rotate\"", "# Benchmarking Gather "]),
    // Windows.
    (&[6, 60], EXT, 0, &["# Benchmarking Window \n# #processes = 2 \n", "# Benchmarking Window \n# #processes = 4 \n#----------------------------------------------------------------\n       #bytes #repetitions  t_min"]),
    (&[61, 162], EXT, 0, &["# Benchmarking Unidir_Put \n# #processes = 2 \n# ( 2 additional processes waiting in MPI_Barrier)\n", SINGLE]),
    (&[62], EXT, 0, &["# Benchmarking Unidir_Get \n# #processes = 2 \n"]),
    (&[63], EXT, 0, &["# Benchmarking Bidir_Put \n# #processes = 2 \n"]),
    (&[64], EXT, 0, &["# Benchmarking Bidir_Get \n# #processes = 2 \n"]),
    (&[65, 9], EXT, 0, &["# Benchmarking Accumulate \n# #processes = 4 \n", "\"aggregate\":\"aggregate\",\"sections\":\"one\",\"element\":\"float\""]),
    (&[66], EXT_MULTI, 0, &["# Benchmarking Multi-Window \n", "# Benchmarking Multi-Unidir_Get \n", "# Benchmarking Multi-Unidir_Put \n", "# Benchmarking Multi-Bidir_Get \n", "# Benchmarking Multi-Bidir_Put \n", "# Benchmarking Multi-Accumulate \n"]),
    (&[67, 68, 165], EXT, 0, &["#\n#    MODE: AGGREGATE \n#\n       #bytes #repetitions      t[usec]   Mbytes/sec\n", "#\n#    MODE: NON-AGGREGATE \n#\n       #bytes"]),
    (&[69, 70, 152], EXT, 0, &["\"kernel\":\"unidir_put\"", "\"definition\":\"D5 loop_mean\"", "\"aggregate\":\"non_aggregate\""]),
    (&[142, 143, 144, 145], "IMB-IO S_Read_Indv S_Write_Indv --format=imb-3.2 -npmin 1 --ranks=1 --transport=shm --io-dir=.", 0, &["# Maximum io portion in bytes:   16777216\n", "# note: standard mode: lengths, operations and limits are those of IMB\n", "\n        65536           50 ", "\n       524288           32 ", "\n     16777216            1 ", "#    MODE: NON-AGGREGATE \n#\n       #bytes #repetitions      t[usec]   Mbytes/sec\n            0           10 "]),
    (&[144, 150], "IMB-EXT Unidir_Get Window -msglog 0:2 --ranks=2 --transport=shm", 0, &["\n            4         1000 ", "\n            4          100 "]),
    (&[141], EXT, 0, &["\n            0 ", "\n            4 ", "\n           16 "]),
    // Files.
    (&[80], IO, 0, &["# Benchmarking Open_Close \n# #processes = 2 \n", SYNC]),
    (&[81, 162], IO, 0, &["# Benchmarking S_Write_Indv \n# #processes = 1 \n", "# Benchmarking S_Read_Indv \n# #processes = 1 \n", SINGLE]),
    (&[82], IO, 0, &["# Benchmarking S_Write_Expl \n# #processes = 1 \n", "# Benchmarking S_Read_Expl \n# #processes = 1 \n"]),
    (&[83, 163], IO, 0, &["# Benchmarking P_Write_Indv \n# #processes = 2 \n", "# Benchmarking P_Read_Indv \n# #processes = 2 \n", PARALLEL]),
    (&[84], IO, 0, &["# Benchmarking P_Write_Expl \n# #processes = 2 \n", "# Benchmarking P_Read_Expl \n# #processes = 2 \n"]),
    (&[85], IO, 0, &["# Benchmarking P_Write_Shared \n# #processes = 2 \n", "# Benchmarking P_Read_Shared \n# #processes = 2 \n"]),
    (&[86], IO, 0, &["# Benchmarking P_Write_Priv \n# #processes = 2 \n", "# Benchmarking P_Read_Priv \n# #processes = 2 \n"]),
    (&[87], IO, 0, &["# Benchmarking C_Write_Indv \n# #processes = 2 \n", "# Benchmarking C_Read_Indv \n# #processes = 2 \n"]),
    (&[88], IO, 0, &["# Benchmarking C_Write_Expl \n# #processes = 2 \n", "# Benchmarking C_Read_Expl \n# #processes = 2 \n"]),
    (&[89], IO, 0, &["# Benchmarking C_Write_Shared \n# #processes = 2 \n", "# Benchmarking C_Read_Shared \n# #processes = 2 \n"]),
    (&[108], IO_MULTI, 0, &["# Benchmarking Multi-Open_Close \n# ( 2 groups of 1 processes", "# Benchmarking Multi-S_Write_Indv \n", "# Benchmarking Multi-C_IRead_Shared \n"]),
    (&[109], "IMB-IO P_Write_Priv -npmin 2 -msglog 2:2 -iter 2 --ranks=2 --transport=shm --io-dir=.", 0, &["#\n#    MODE: AGGREGATE \n#\n", "#\n#    MODE: NON-AGGREGATE \n#\n"]),
    (&[110], "help imb-io/p_write_indv", 0, &["a sync, a barrier and a sync"]),
    (&[111, 148, 167], IO, 0, &["\"variant\":\"overlapped\"", "\"variant\":\"pure\"", "\"variant\":\"compute\"", OVERLAP]),
    // Work of a wanted length, 10 ms as in the original.
    (&[112, 148], "IMB-IO S_IRead_Indv -msglog 2:2 -iter 2 --ranks=1 --transport=shm --io-dir=. --out r.jsonl", 0, &["\"work_us\":10000"]),
    (&[113], IO, 0, &["(t_pure + t_CPU - t_ovrl) / min(t_pure, t_CPU)"]),
    (&[114], "IMB-IO Open_Close --ranks=1 --transport=shm", 2, &["error: IMB-IO: no folder is named for its files (add --io-dir=FOLDER)\n"]),
    (&[115], "IMB-IO Open_Close -iter 2 --ranks=1 --transport=shm --io-dir=. --io-hint=cb_nodes=1 --out r.jsonl", 0, &["\"io_hints\":", "cb_nodes"]),
    (&[116], "help imb-io/p_write_indv", 0, &["at the own pointer, in a view"]),
    (&[154], IO, 0, &["\"check\":{\"status\":\"pass\"}"]),
    // The command line.
    (&[120], "IMB-MPI1 PingPong -msglog 9:1", 2, &["error: IMB-MPI1: '9:1' for -msglog: powers of two are [MIN:]MAX below 31 (write 0:22)\n"]),
    (&[120], "IMB-MPI1 Bcast -data_type long", 2, &["error: IMB-MPI1: 'long' for -data_type: elements are byte, char, int, float, double (write float)\n"]),
    (&[120], "IMB-MPI1 Reduce -red_data_type byte", 2, &["error: IMB-MPI1: 'byte' for -red_data_type: elements are char, int, float, double (write float)\n"]),
    (&[120], "IMB-MPI1 Bcast -time -1", 2, &["error: IMB-MPI1: '-1' for -time: it is a number of seconds, at least 1e-9 (write 10)\n"]),
    (&[120], "IMB-MPI1 Bcast -mem 0", 2, &["error: IMB-MPI1: '0' for -mem: it is a number of GB (write 1)\n"]),
    (&[120], "IMB-MPI1 Bcast -msg_pause 100", 2, &["error: IMB-MPI1: '100' for -msg_pause: it is a switch (write on or off)\n"]),
    (&[120], "IMB-MPI1 Bcast -iter_policy static", 2, &["error: IMB-MPI1: 'static' for -iter_policy: "]),
    (&[120], "IMB-MPI1 Bcast -msgsize 8 --unit=0", 2, &["error: invalid value '0' for '--unit <SIZE>': there is no multiple of 0 bytes (write 4)\n"]),
    (&[120, 160], ALL, 0, &["# Calling sequence was: \n\n# ", "-msglog 2:10 -iter 5"]),
    (&[121], "IMB-MPI1 -help", 0, &["IMB-MPI1, as comet-run understands it:\n", "-npmin"]),
    (&[122], "IMB-MPI1 pInGpOnG -msgsize 8 --machine=./flat.toml", 0, &["# Benchmarking PingPong \n"]),
    (&[122], "IMB-MPI1 Pingpongs", 2, &["Pingpongs is not supported; did you mean PingPong"]),
    (&[124, 166], MULTI, 0, &["# Benchmarking Multi-PingPong \n", PARALLEL]),
    (&[124, 166], "IMB-MPI1 PingPong -multi 1 -msgsize 8 --ranks=4 --machine=./flat.toml", 0, &["\n        Group       #bytes #repetitions      t[usec]   Mbytes/sec\n\n            0            8 ", "\n            1            8 "]),
    (&[124], "IMB-MPI1 Barrier -multi 0 -npmin 3 --ranks=4 --machine=./flat.toml", 0, &["# Benchmarking Barrier \n# #processes = 3 \n# ( 1 additional process waiting"]),
    (&[125], "IMB-MPI1 PingPong -off_cache 1 -msgsize 8 -iter 10 --transport=shm --out r.jsonl", 0, &["\"off_cache_bytes\":1048576", "\"buffer_mode\":\"offcache"]),
    (&[126], "IMB-MPI1 PingPong -iter 100,1 -msgsize 8,65536 --transport=shm", 0, &["\n            8          100 ", "\n        65536           16 "]),
    // Numbers of operations that IMB-MPI1 2021.11 printed.
    (&[126, 150], "IMB-MPI1 Bcast Allreduce Barrier -npmin 3 -iter_policy multiple_np -iter 100 -msgsize 0,8,65536,1048576,4194304 --ranks=3 --transport=shm", 0, &["# Benchmarking Bcast", "\n            8           99 ", "\n        65536           96 ", "\n      1048576           57 ", "\n      4194304           24 ", "# Benchmarking Barrier", "t_avg[usec]\n           24 "]),
    (&[126, 150], "IMB-MPI1 Bcast -npmin 3 -iter_policy auto -iter 100 -msglog 0:3 --ranks=3 --transport=shm", 0, &["\n            0           39 ", "\n            4           39 ", "\n            8           24 "]),
    (&[126, 150], "IMB-MPI1 Allreduce -npmin 3 -iter_policy auto -iter 100 -msgsize 8,1048576 --ranks=3 --transport=shm", 0, &["\n            8          100 ", "\n      1048576           40 "]),
    (&[127], "IMB-MPI1 PingPong -time 0.5 -msgsize 8 --machine=./flat.toml --out r.jsonl", 0, &["\"loop_limits\":{\"all_lengths_s\":10.5,\"bytes\":41943040,\"s\":0.5}"]),
    // A round trip takes 20 us, a loop 0.8 s, and all lengths have 2 s.
    (&[127], "IMB-MPI1 PingPong -time 2 -iter 40000 -msglog 0:2 -zero_size off --machine=./flat.toml --samples=1", 0, &["\n            1        40000 ", "\n            2        40000 ", "\n            4        40000 "]),
    // By 3.2 a loop is cut down, however short its time is, and no length is left out.
    (&[127], "IMB-MPI1 PingPong -time 0.001 -iter 900 -msglog 0:2 --format=imb-3.2 --machine=./flat.toml --samples=1", 0, &["\n            0           50 ", "\n            4           49 "]),
    (&[127], "IMB-MPI1 PingPong -time 0.000001 -iter 900 -msglog 0:2 --format=imb-3.2 --machine=./flat.toml --samples=1", 0, &["\n            0            1 ", "\n            4            1 "]),
    (&[128], "IMB-MPI1 PingPong -mem 0.001 -msgsize 8,2097152,4194304 --machine=./flat.toml --out r.jsonl", 0, &["\n            8 ", "\n      2097152 out-of-mem.; needed X=   0.005 GB; use flag \"-mem X\" or MAX_MEM_USAGE>=X (IMB_mem_info.h)\n\n\n# All", "needs 8388608 bytes of memory on each rank, 1073742 are allowed (see --mem)"]),
    (&[129], "IMB-MPI1 -input names -msgsize 8 --machine=./flat.toml", 0, &["# Benchmarking PingPong \n", "# Benchmarking PingPing \n"]),
    (&[130, 160], "IMB-MPI1 PingPong -msglen lengths --machine=./flat.toml", 0, &["# Message lengths were user defined\n", "\n           24 ", "\n            3 "]),
    (&[131, 161], "IMB-MPI1 PingPong Sendrecv -map 3x2 -msgsize 8 --machine=./flat.toml", 0, &["# Benchmarking PingPong \n# #processes = 2; rank order (rowwise): \n#     0    3\n# \n# ( 4 additional", "# #processes = 6; rank order (rowwise): \n#     0    3\n# \n#     1    4\n# \n#     2    5\n# \n#--"]),
    (&[131], "IMB-MPI1 PingPong -map 3x2 -multi 0 -msgsize 8 --machine=./flat.toml", 0, &["# Group  0:     0    3\n# \n# Group  1:     1    4\n# \n# Group  2:     2    5\n# \n#--"]),
    (&[131], "IMB-MPI1 PingPong -map 3x2 -msgsize 8 --ranks=4 --machine=./flat.toml", 2, &["--map 3x2 has 6 places, which does not fit 4 ranks"]),
    // Constants and loops.
    // An exact simulation has fewer operations.
    (&[140], "IMB-MPI1 PingPong --machine=./flat.toml --out r.jsonl", 0, &["# Minimum message length in bytes:   0\n# Maximum message length in bytes:   4194304\n", "# note: optional mode: other operations than those of IMB\n"]),
    (&[140], "IMB-MPI1 Barrier --ranks=2 --transport=shm", 0, &["# note: standard mode: lengths, operations and limits are those of IMB\n"]),
    (&[140], "IMB-MPI1 PingPong -iter 7 -time 5 -msgsize 8 --machine=./flat.toml", 0, &["# note: optional mode: other lengths, operations, limits than those of IMB\n"]),
    (&[127, 146], "IMB-MPI1 PingPong Barrier -time 0.000001 -msgsize 8,64 --machine=./flat.toml --out r.jsonl", 0, &["\n            8 time-out.; Time limit (secs_per_sample * msg_sizes_list_len) is over; use \"-time X\" or SECS_PER_SAMPLE=X (IMB_settings.h) to increase time limit.\n\n#", "\n      4194304 time-out.; Time limit", "s, 0.000021 s are allowed (see --loop-limits)"]),
    (&[141], "IMB-MPI1 PingPong Allreduce -msglog 0:3 --ranks=2 --machine=./flat.toml", 0, &["\n            0 ", "\n            1 ", "\n            2 ", "\n            4 ", "\n            8 "]),
    (&[142], "IMB-MPI1 PingPong --machine=./flat.toml --out r.jsonl", 0, &["\n            0 ", "\n      4194304 "]),
    (&[143, 145, 150], COUNTS, 0, &["\n        32768         1000 ", "\n        65536          640 ", "\n      4194304           10 "]),
    (&[145, 146], COUNTS, 0, &["\"loop_limits\":{\"all_lengths_s\":210.0,\"bytes\":41943040,\"s\":10.0}"]),
    // A test of `context` counts the barriers.
    (&[147], ALL, 0, &["\"kernel\":\"bcast\"", "\"sync\":\"barrier\""]),
    (&[149], COUNTS, 0, &["\"warmup\":100,", "\"warmup\":64,", "\"warmup\":10,"]),
    (&[151], COUNTS, 0, &["\"definition\":\"D4 half_round_trip\"", "\"inner\":640"]),
    (&[25], "help imb/reduce_scatter", 0, &["shares a vector of that length out, as OSU and IMB 3.2 do"]),
    (&[25, 151], "IMB-MPI1 Reduce_scatter Bcast --format=imb-3.2 -npmin 4 -msgsize 64 -iter 20 --ranks=4 --machine=./flat.toml --out r.jsonl", 0, &["note: osu/reduce_scatter of ", ", D5 loop_mean, by the rules of imb-3.2\n", "# Benchmarking Reduce_scatter ", "# Benchmarking Bcast ", "\"inner\":20"]),
    (&[155], "IMB-MPI1 PingPong --inject=corrupt:echo -msgsize 8 --machine=./flat.toml", 3, &["# check_failed: 8 bytes: "]),
    (&[156, 157], "IMB-MPI1 Alltoall -npmin 4 -msgsize 1024 --mem=8191 --ranks=4 --machine=./flat.toml", 0, &["\n         1024 out-of-mem.; needed X=   0.001 GB; use flag"]),
    (&[157], "IMB-MPI1 Alltoall -npmin 4 -msgsize 1024 --mem=8192 --ranks=4 --machine=./flat.toml", 0, &["\n         1024 "]),
    // Output.
    (&[160], ALL, 0, &["# Date                  : ", "# Machine               : ", "# Minimum message length in bytes:   0\n# Maximum message length in bytes:   1024\n", "# List of Benchmarks to run:\n\n# PingPong\n# PingPing\n"]),
    (&[160], "IMB-MPI1 PingPing Allreduce -multi 0 --format=imb-3.2 -msgsize 8 --ranks=4 --machine=./flat.toml", 0, &["in the layout of IMB 3.2, MB of 2^20 bytes, MPI-1 part\n", "# or through the flag => -time\n", "# List of Benchmarks to run:\n\n# (Multi-)PingPing\n# (Multi-)Allreduce\n"]),
    (&[162], ALL, 0, &["# Benchmarking PingPong \n", SINGLE]),
    (&[36, 164], ALL, 0, &["# Benchmarking Barrier \n# #processes = 4 \n#---------------------------------------------------\n #repetitions", SYNC]),
    (&[168], ALL, 0, &["\n\n# All processes entering MPI_Finalize\n\n"]),
];

/// Benchmarks in the order of their numbers, of which the first one is given, and the same in groups.
const PLAIN: (u32, &str) = (
    20,
    "PingPong PingPing Sendrecv Exchange Reduce Reduce_scatter Allreduce Allgather \
     Allgatherv Scatter Scatterv Gather Gatherv Alltoall Alltoallv Bcast Barrier",
);
const IN_GROUPS: (u32, &str) = (
    37,
    "PingPong PingPing Sendrecv Exchange Bcast Allgather Allgatherv Scatter \
     Scatterv Gather Gatherv Alltoall Alltoallv Reduce Reduce_scatter Allreduce \
     Barrier",
);
/// Benchmarks of files beside work, likewise.
const BESIDE_WORK: (u32, &str) = (
    90,
    "S_IWrite_Indv S_IRead_Indv S_IWrite_Expl S_IRead_Expl P_IWrite_Indv \
     P_IRead_Indv P_IWrite_Expl P_IRead_Expl P_IWrite_Shared P_IRead_Shared \
     P_IWrite_Priv P_IRead_Priv C_IWrite_Indv C_IRead_Indv C_IWrite_Expl \
     C_IRead_Expl C_IWrite_Shared C_IRead_Shared",
);
/// Requirement of a megabyte.
const MEGABYTE: u32 = 8;
/// Requirement of the numbers of ranks.
const NPMIN: u32 = 123;
/// Requirement of the parts of a reduce-scatter.
const REDUCE_SCATTER: u32 = 25;

/// The numbers and names of a table.
fn numbered((first, names): (u32, &'static str)) -> impl Iterator<Item = (u32, &'static str)> {
    (first..).zip(names.split_whitespace())
}

/// Output and result file of a command line, which runs once for all tests, and its exit code.
fn run_of(line: &'static str) -> &'static (String, i32) {
    type Cell = OnceLock<(String, i32)>;
    static RUNS: Mutex<BTreeMap<&str, &Cell>> = Mutex::new(BTreeMap::new());
    let mut runs = RUNS.lock().expect("nothing panics while it is locked");
    let cell = *runs.entry(line).or_insert_with(|| Box::leak(Box::default()));
    drop(runs);
    cell.get_or_init(|| {
        let folder = Folder::new();
        folder.write("flat.toml", FLAT);
        folder.write("names", "# two\nPingPong\nPingPing\n");
        folder.write("lengths", "24\n3\n");
        let output = folder.run(line);
        let code = output.code.expect("it ends by itself");
        let record = if line.contains("r.jsonl") { folder.read("r.jsonl") } else { String::new() };
        (output.stdout + &output.stderr + &record, code)
    })
}

#[test]
fn each_requirement_is_met_by_what_a_command_shows() {
    for (numbers, line, wanted_code, parts) in ROWS {
        let (text, code) = run_of(line);
        assert_eq!(code, wanted_code, "IMB-{numbers:?}: {line}\n{text}");
        for part in *parts {
            assert!(text.contains(part), "IMB-{numbers:?}: {line} lacks {part:?}\n{text}");
        }
    }
}

#[test]
fn each_number_of_messages_windows_and_files_is_in_the_table() {
    let ranges = [1..=10, 20..=53, 60..=70, 80..=116, 120..=131, 140..=151, 152..=157, 160..=168];
    let all: BTreeSet<u32> = ranges.into_iter().flatten().collect();
    let of_rows = ROWS.iter().flat_map(|row| row.0).copied();
    let tables = [PLAIN, IN_GROUPS, BESIDE_WORK].into_iter().flat_map(numbered);
    let of_tables = tables.map(|row| row.0).chain([MEGABYTE, NPMIN]);
    let here: BTreeSet<u32> = of_rows.chain(of_tables).collect();
    assert_eq!(here, all);
}

#[test]
fn files_beside_work_have_a_row_of_each_length_with_a_share_of_the_shorter_part() {
    let text = &run_of(IO).0;
    for (number, name) in numbered(BESIDE_WORK) {
        let rows = table(text, name);
        let lengths: Vec<f64> = rows.iter().map(|row| row[0]).collect();
        assert_eq!(lengths, [0., 4., 8.], "{number}: {name}");
        for row in &rows {
            let [_, n, overlapped, pure, compute, percent] = row[..] else { panic!("{row:?}") };
            assert!(n == 2.0 && overlapped > 0.0 && compute > 0.0, "{name}: {row:?}");
            let share = (pure + compute - overlapped) / pure.min(compute);
            // Both times are rounded to two digits.
            let is_near = (percent - 100.0 * share.clamp(0.0, 1.0)).abs()
                * pure.min(compute).max(0.01)
                <= 2.0;
            assert!((0.0..=100.0).contains(&percent) && is_near, "{name}: {row:?}");
        }
    }
}

/// The rows below the title `name` in the output `text`, as numbers.
#[track_caller]
fn table(text: &str, name: &str) -> Vec<Vec<f64>> {
    let title = format!("# Benchmarking {name} \n");
    let (_, block) = text.split_once(&title).unwrap_or_else(|| panic!("no {name} in {text}"));
    let rows = block.lines().skip_while(|line| line.starts_with('#')).skip(1);
    let rows = rows.take_while(|line| !line.is_empty());
    let number = |word: &str| word.parse().expect("cells are numbers");
    rows.map(|row| row.split_whitespace().map(number).collect()).collect()
}

/// Checks the rows of a benchmark with rates of `n_messages`; 0 for none.
#[track_caller]
fn check(rows: &[Vec<f64>], n_messages: f64, megabyte: f64) {
    for row in rows {
        let (bytes, largest_us) = (row[0], if row.len() > 4 { row[3] } else { row[2] });
        if row.len() > 4 {
            assert!(row[2] <= row[4] && row[4] <= row[3], "least, mean and largest: {row:?}");
        }
        if n_messages > 0.0 {
            let rate = n_messages * bytes / largest_us * 1e6 / megabyte;
            let found = row[row.len() - 1];
            // Both are rounded to two digits.
            assert!((found - rate).abs() <= 0.006 + rate * 0.005 / largest_us, "{row:?}: {rate}");
        }
    }
}

#[test]
fn tables_hold_all_lengths_with_ordered_times_and_the_rates_of_their_class() {
    let (all, multi) = (&run_of(ALL).0, &run_of(MULTI).0);
    for (number, name) in numbered(PLAIN) {
        let rows = table(all, name);
        let n_messages = match number {
            20 | 21 => 1.0,
            22 => 2.0,
            23 => 4.0,
            _ => 0.0,
        };
        if number == 36 {
            assert_eq!((rows.len(), rows[0].len()), (1, 4), "{rows:?}");
            continue;
        }
        let lengths: Vec<f64> = rows.iter().map(|row| row[0]).collect();
        assert_eq!(lengths, [0., 4., 8., 16., 32., 64., 128., 256., 512., 1024.], "{name}");
        check(&rows, n_messages, 1e6);
    }
    // One message of 1024 bytes takes 18.192 us: half of a round trip, both at once, and a chain.
    for name in ["PingPong", "PingPing"] {
        assert_eq!(table(all, name)[9][2], 18.19, "{name}");
    }
    assert_eq!(table(all, "Sendrecv")[9][4], 18.19);
    for (number, name) in numbered(IN_GROUPS) {
        let rows = table(multi, &format!("Multi-{name}"));
        assert_eq!(rows.len(), if number == 53 { 1 } else { 2 }, "{name}");
        let n_messages = [1.0, 1.0, 2.0, 4.0].get(number as usize - 37).copied().unwrap_or(0.0);
        if number != 53 {
            check(&rows, n_messages, 1e6);
        }
    }
}

/// Lengths of the rows of a benchmark of one table, in bytes.
fn lengths(text: &str, name: &str) -> Vec<f64> {
    table(text, name).iter().map(|row| row[0]).collect()
}

#[test]
fn numbers_of_ranks_double_from_the_least_up_to_all() {
    let folder = Folder::new();
    folder.write("flat.toml", FLAT);
    for (options, expected) in [
        ("-npmin 2 --ranks=11", &[2, 4, 8, 11][..]),
        ("-npmin 3 --ranks=11", &[3, 6, 11]),
        ("--ranks=5", &[2, 4, 5]),
        ("-npmin 1 --ranks=5", &[1, 2, 4, 5]),
        ("-npmin 8 --ranks=8", &[8]),
        // More than there are is all.
        ("-npmin 12 --ranks=11", &[11]),
    ] {
        for name in ["Barrier", "Allreduce -msgsize 8", "Sendrecv -msgsize 8"] {
            let line = format!("IMB-MPI1 {name} {options} --machine=./flat.toml");
            let output = folder.run(&line).success();
            let numbers =
                output.stdout.lines().filter_map(|line| line.strip_prefix("# #processes = "));
            let numbers: Vec<usize> =
                numbers.map(|number| number.trim().parse().expect("a number")).collect();
            assert_eq!(numbers, expected, "{NPMIN}: {line}\n{}", output.stdout);
            let rows =
                output.stdout.lines().filter(|line| line.ends_with(|c: char| c.is_ascii_digit()));
            let rows = rows.filter(|line| line.starts_with("     "));
            assert_eq!(rows.count(), expected.len(), "a row each: {}", output.stdout);
        }
    }
}

#[test]
fn a_rank_gets_a_part_of_whole_length_or_of_the_old_formula() {
    let folder = Folder::new();
    folder.write("flat.toml", FLAT);
    // 44 bytes are 11 floats. In IMB 2021 each of 4 ranks gets as many; in IMB 3.2 they share
    // these out, 3 to the first 3 ranks and 2 to the last, as OSU does until now.
    for (line, kernel, moved_bytes) in [
        ("IMB-MPI1 Reduce_scatter -npmin 4 -msgsize 44", "imb/reduce_scatter", 4 * 44),
        ("IMB-MPI1 Reduce_scatter -npmin 4 -msgsize 44 --format=imb-3.2", "osu/reduce_scatter", 44),
    ] {
        let line = format!("{line} --ranks=4 --machine=./flat.toml --out r-{moved_bytes}.jsonl");
        folder.run(&line).success();
        let records = folder.records(&format!("r-{moved_bytes}.jsonl"));
        let point = records.points().next().expect("a point");
        assert_eq!(format!("{}/{}", text(&point["suite"]), text(&point["kernel"])), kernel);
        let rates = point["rates"].as_array().expect("rates");
        let algorithm =
            rates.iter().find(|rate| rate["name"] == "algorithm_bytes_per_s").expect("a rate");
        assert_eq!(algorithm["per_op"], f64::from(moved_bytes), "{REDUCE_SCATTER}: {point:?}");
    }
}

/// A value of a record as a word.
fn text(value: &serde_json::Value) -> &str {
    value.as_str().expect("a word")
}

#[test]
fn messages_are_whole_elements_of_the_data_type() {
    let folder = Folder::new();
    folder.write("flat.toml", FLAT);
    // As IMB-MPI1 2021.11 printed them.
    for (options, head, of_messages, of_reductions) in [
        ("-data_type int -msgsize 0,1,3,5,8", "MPI_INT", &[0., 4., 8.][..], &[0., 4., 8.][..]),
        (
            "-data_type double -red_data_type char -msglog 1:4",
            "MPI_DOUBLE",
            &[0., 8., 16.],
            &[0., 2., 4., 8., 16.],
        ),
        ("-data_type char -msgsize 3", "MPI_CHAR", &[3.], &[4.]),
        ("-msgsize 3,8388608", "MPI_BYTE", &[3., 4_194_304.], &[4., 4_194_304.]),
    ] {
        let line = format!("IMB-MPI1 PingPong Bcast Reduce {options} -iter 3 -npmin 2 --ranks=2");
        let output = folder.run(&format!("{line} --machine=./flat.toml")).success();
        let output = output.prints(&format!("# MPI_Datatype                   :   {head} \n"));
        for name in ["PingPong", "Bcast"] {
            assert_eq!(lengths(&output.stdout, name), of_messages, "{line}: {name}");
        }
        assert_eq!(lengths(&output.stdout, "Reduce"), of_reductions, "{line}");
    }
}

#[test]
fn a_megabyte_has_2_to_the_20_bytes_in_the_layout_of_3_2() {
    let folder = Folder::new();
    folder.write("flat.toml", FLAT);
    let new = folder.run(ALL).success().stdout;
    let old = ALL.replace("r.jsonl", "old.jsonl --format=imb-3.2");
    let old = folder.run(&old).success().stdout;
    for (text, megabyte) in [(&old, 1_048_576.0), (&new, 1e6)] {
        check(&table(text, "PingPong"), 1.0, megabyte);
        check(&table(text, "Exchange"), 4.0, megabyte);
    }
    let rate = |text: &str| table(text, "PingPong")[9][3];
    assert!(rate(&old) < rate(&new), "{MEGABYTE}: {} {}", rate(&old), rate(&new));
}

#[test]
fn all_data_of_the_message_passing_part_arrived_right() {
    let folder = Folder::new();
    folder.write("flat.toml", FLAT);
    folder.run(ALL).success();
    let records = folder.records("r.jsonl");
    assert!(records.points().count() > 150);
    assert!(records.points().all(|point| point["status"] == "ok"));
}

/// CM-91, CM-92 and CM-94: the thesis wishes for interrupt-driven receives and active messages, for more patterns
/// of scientific computing (section 6.1) and for a transpose by divide and conquer (section 3.3.10).
#[test]
fn patterns_of_scientific_computing_have_kernels_with_pages_of_their_own() {
    let folder = Folder::new();
    let options = "-n 4 --sizes 8,1Ki --axis side=4 --axis local_n=4";
    folder.check_suite("patterns", include_str!("rows/patterns-pages.txt"), options, 11);
    // The draws are the same: so are all bytes.
    let bytes = |file: &str| -> Vec<serde_json::Value> {
        let records = folder.records(file);
        let points = records.points().filter(|point| point["kernel"] == "irregular");
        points.map(|point| point["value"]["bytes_per_op"].clone()).collect()
    };
    assert_eq!(bytes("shm.jsonl"), bytes("sim.jsonl"));
}

/// CM-93: the thesis wishes for kernels of the Input/Output subsystem (section 6.1).
#[test]
fn the_input_output_subsystem_has_kernels_with_pages_of_their_own() {
    let folder = Folder::new();
    let page = folder.run("help imb-io/c_write_expl").code(0).stdout;
    assert!(page.contains("Thesis section 6.1 wishes for such a kernel"), "{page}");
    let line = "imb-io/c_write_expl -t shm -n 2 -s 4Ki --io-dir . --samples 3 --launches 1 -q --out r.jsonl";
    let output = folder.run(line).code(0);
    let records = folder.records("r.jsonl");
    assert!(records.points().all(|point| point["status"] == "ok"), "{output:#?}");
    let n_rates = records.points().filter(|point| point["value"]["bytes_per_op"] == 4096).count();
    assert_eq!(n_rates, 2, "{output:#?}");
}
