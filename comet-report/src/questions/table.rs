//! The questions, as data.

use super::Question;

/// Every question.
pub const QUESTIONS: &[Question] = &[
    Question {
        id: "modes",
        text: "Which mode of a message is the fastest?",
        kernels: &[
            "skampi/pingpong_send_recv",
            "skampi/pingpong_ssend_recv",
            "skampi/pingpong_bsend_recv",
            "skampi/pingpong_rsend_recv",
            "skampi/pingpong_isend_recv",
            "skampi/pingpong_issend_recv",
            "skampi/pingpong_send_irecv",
        ],
        asks_fastest: true,
    },
    Question {
        id: "exchanges",
        text: "Which exchange of two messages is the fastest?",
        kernels: &["skampi/pingpong_sendrecv", "skampi/pingpong_sendrecv_replace"],
        asks_fastest: true,
    },
    Question {
        id: "layouts",
        text: "Does a datatype beat packing?",
        kernels: &[
            "skampi/pingpong_send_recv vector:8:16",
            "skampi/pingpong_send_recv packed:vector:8:16",
            "skampi/pingpong_send_recv mpi_packed:vector:8:16",
        ],
        asks_fastest: false,
    },
    Question {
        id: "gathers",
        text: "Does the gather of the library beat gathers by hand?",
        kernels: &[
            "imb/gather",
            "imb/gatherv",
            "skampi/gatherv_send_recv",
            "skampi/gatherv_isend_irecv",
        ],
        asks_fastest: true,
    },
    Question {
        id: "broadcasts",
        text: "Does the broadcast of the library beat one by hand?",
        kernels: &["comet/broadcast", "naive/broadcast"],
        asks_fastest: false,
    },
    Question {
        id: "reductions",
        text: "Does the global sum of the library beat one by hand?",
        kernels: &["comet/reduction", "naive/reduction"],
        asks_fastest: false,
    },
    Question {
        id: "allreduces",
        text: "Does an allreduce beat a reduce and a broadcast?",
        kernels: &["imb/allreduce", "skampi/reduce_bcast"],
        asks_fastest: false,
    },
    Question {
        id: "reduce-scatters",
        text: "Does a reduce_scatter beat a reduce and a scatter?",
        kernels: &["osu/reduce_scatter", "skampi/reduce_scatterv"],
        asks_fastest: false,
    },
];
