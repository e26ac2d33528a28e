//! Requirements of the SKaMPI paper by their numbers, each with a command line and with what shows that it is
//! met.

use std::collections::BTreeSet;

use crate::support::Folder;

/// A value of a record as a word.
fn text(value: &serde_json::Value) -> &str {
    value.as_str().expect("a word")
}

/// SK-20: the ping-pong of SKaMPI in its ten modes (section 3.2 of the paper); and the waits of SK-21 for some
/// and for any of several requests.
#[test]
fn the_modes_of_a_ping_pong_have_kernels_that_verify_on_every_transport() {
    let folder = Folder::new();
    for (name, words) in [
        ("pingpong_send_recv", "pingpong_send_recv 1 Send; Recv"),
        ("pingpong_send_recv_any_tag", "2 Send; Recv of any tag"),
        ("pingpong_send_irecv", "3 Send; Irecv, Wait"),
        ("pingpong_send_iprobe_recv", "4 Send; Iprobe until it is there, Recv"),
        ("pingpong_ssend_recv", "5 Ssend; Recv"),
        ("pingpong_isend_recv", "6 Isend; Recv; Wait"),
        ("pingpong_bsend_recv", "7 Bsend; Recv"),
        ("pingpong_sendrecv", "8 Sendrecv on both"),
        ("pingpong_sendrecv_replace", "9 Sendrecv_replace"),
        ("pingpong_issend_recv", "34 Issend; Recv; Wait"),
        ("pingpong_rsend_recv", "on rank 1 Recv; Rsend"),
        ("waitany", "a wait for any of those in flight"),
        ("waitsome", "waits for some of them, until none is in flight"),
    ] {
        let page = folder.run(&format!("help skampi/{name}")).code(0).stdout;
        let page: Vec<&str> = page.split_whitespace().collect();
        assert!(page.join(" ").contains(words), "{name}: {page:?}");
    }
    for transport in ["shm", "sim"] {
        let line = format!(
            "skampi -t {transport} -n 3 --sizes 8,1Ki,128Ki --samples 3 --launches 1 -q --out {transport}.jsonl"
        );
        let output = folder.run(&line).code(0);
        let records = folder.records(&format!("{transport}.jsonl"));
        assert!(records.points().all(|point| point["status"] == "ok"), "{output:#?}");
        let kernels: BTreeSet<String> =
            records.points().map(|point| text(&point["kernel"]).to_owned()).collect();
        assert_eq!(kernels.len(), 13, "{kernels:?}");
    }
}
