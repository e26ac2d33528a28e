//! Command lines that are refused, each with a reason and a remedy.

use super::refusal;

#[test]
fn device_memory_and_what_has_no_kernel_are_refused_with_a_reason() {
    for (line, sentence) in [
        (
            "osu_latency D H",
            "osu_latency: 'D H' asks for device memory, and buffers are in host memory (write H H, \
             or leave it out)",
        ),
        (
            "osu_bw -D indx:nosuch",
            "osu_bw: 'indx:nosuch' for -D: No such file or directory (os error 2) (name a file with \
             a block START,LENGTH a line)",
        ),
        (
            "osu_latency_mt",
            "osu_latency_mt is not supported: no kernel has one thread that sends to several receiving \
             ones (take IMB-MT PingPongMT)",
        ),
        (
            "osu_xccl_allreduce",
            "osu_xccl_allreduce is not supported: no buffer is in device memory (take the program without \
             xccl, which has host memory)",
        ),
        (
            "IMB-MPI1 -mem_alloc_type device",
            "IMB-MPI1: -mem_alloc_type device is not supported: buffers are in host memory (leave it \
             out)",
        ),
        (
            "IMB-MPI1 -load x.yaml",
            "IMB-MPI1: -load x.yaml is not supported: settings come from the command line, or from a \
             suite file of comet-run (leave it out)",
        ),
        (
            "IMB-MPI1 PingPong Bcast -multi 1 -npmin 1 --ranks=4",
            "IMB-MPI1: -multi 1 -npmin 1 asks for groups of 1 or more ranks, and pairs have 2 (name \
             PingPong in a command of its own)",
        ),
    ] {
        assert_eq!(refusal(line), sentence, "{line}");
    }
}

#[test]
fn what_cannot_be_done_is_refused_with_a_remedy() {
    for (line, sentence) in [
        (
            "osu_latency -z0",
            "osu_latency: '0' for -z: percentiles lie between 1 and 99 (write -z50,99)",
        ),
        (
            "osu_latency -G png",
            "osu_latency: -G png is not supported: comet-run plot draws a result file, which --out \
             names (leave it out)",
        ),
        (
            "osu_barrier -k",
            "osu_barrier: -k is unknown (osu_barrier -h shows all options; those of comet-run are \
             written --name=value)",
        ),
        ("osu_latency -m", "osu_latency: -m needs a value (see osu_latency -h)"),
        (
            "osu_latency X",
            "osu_latency: 'X' belongs to no option (osu_latency -h shows all options; those of \
             comet-run are written --name=value)",
        ),
        ("osu_latency -i 0", "osu_latency: '0' for -i: it is a number above 0 (write 1 or more)"),
        (
            "osu_latency -m 9:8",
            "osu_latency: '9:8' for -m: lengths are MAX, :MAX, MIN: or MIN:MAX in bytes, MIN not \
             above MAX (write 1:4194304)",
        ),
        (
            "osu_bcast --ranks=1",
            "osu_bcast: --ranks=1 is too few for a collective of OSU (write --ranks=2, or leave it \
             out)",
        ),
        (
            "osu_latency --ranks=1",
            "osu_latency: --ranks=1 is too few for a pair (write --ranks=2, or leave it out)",
        ),
        (
            "IMB-MPI1 PingPong --ranks=1",
            "IMB-MPI1: --ranks=1 is too few for a pair (write --ranks=2, or leave it out)",
        ),
        (
            "IMB-GPU",
            "IMB-GPU is not supported, but IMB-MPI1, IMB-NBC, IMB-MPI4, IMB-EXT, IMB-RMA, IMB-IO, IMB-P2P, IMB-HALO and IMB-MT are (write IMB-MPI1)",
        ),
    ] {
        assert_eq!(refusal(line), sentence, "{line}");
    }
    // An option that would change the operation, and a name that stands for another one.
    for (line, part) in [
        ("osu_latency -b double", "-b double is not supported: each length has buffers of its own"),
        ("osu_bcast -d cuda", "-d cuda is not supported: buffers are in host memory"),
        ("osu_bcast -k rotate", "osu_bcast: -k is unknown"),
        ("osu_bcast -l", "osu_bcast: -l is unknown"),
        ("osu_alltoall -k rotate", "osu_alltoall: -k is unknown"),
        ("osu_latency -p 1", "osu_latency: -p is unknown"),
        ("osu_reduce -D cont", "osu_reduce: -D is unknown"),
        ("IMB-MPI1 Bcast -multi 2", "'2' for -multi: it is 0, a row for all groups, or 1"),
        ("IMB-MPI1 PingPong -off_cache all", "or -1 for the last-level cache (write 32)"),
        ("IMB-MPI1 Gatherw", "Gatherw is not supported; did you mean Gather or Gatherv?"),
        ("IMB-MPI1 ibcast", "ibcast is a benchmark of IMB-NBC (write IMB-NBC ibcast)"),
        ("IMB-MPI1 Allredcue", "did you mean Allreduce? (IMB-MPI1 -list shows all)"),
        ("IMB-MPI1 Bcast -msglne 8", "-msglne is unknown; did you mean -msglog or -msglen?"),
        ("osu_latency --mesage-size 8", "--mesage-size is unknown; did you mean --message-size?"),
        ("IMB-MPI1 Bcast -input /", "(os error 21) (name a file of text)"),
        ("IMB-MPI1 -input /dev/null", "'/dev/null' for -input: the file names nothing (one name"),
        ("osu_latencyy -m 8", "osu_latencyy is not supported; did you mean osu_latency"),
    ] {
        let sentence = refusal(line);
        assert!(sentence.contains(part), "{line}: {sentence}");
    }
}
