//! Messages with layouts, which ranks that are threads pack.

use std::sync::Arc;

use comet_core::driver::{self, Settings};
use comet_core::event::{Event, Listener};
use comet_core::kernel::{
    Arrangement, Case, ELEMENT, FAULTS, KernelInfo, LENGTH_BYTES, Profile, WINDOW,
};
use comet_core::layout::{DATA_BYTES, EXTENT_BYTES, Layout, Layouts, N_PIECES};
use comet_core::local::{self, Corrupt};
use comet_core::topology::Topology;
use comet_core::transport::Transport as _;

/// Layouts of both sides, of which the last two are packed on purpose.
const LAYOUTS: &str = "contiguous,vector:2:4,contiguous:to:indexed,struct:to:contiguous,\
                       packed:mixed:to:nested:1:2,packed:struct";

/// Kernels without layouts of suites that have some: loads of found lengths, pieces of vectors, arithmetic, own parts
/// that are copied, parts of two lengths, and blocks that travel on from where they arrived.
const WITHOUT: [&str; 20] = [
    "comet/contention",
    "model/memcpy",
    "skampi/master_worker_waitsome",
    "skampi/master_worker_waitany",
    "skampi/master_worker_recv_any",
    "skampi/master_worker_ssend",
    "skampi/master_worker_isend",
    "skampi/master_worker_bsend",
    "skampi/gatherv_send_recv",
    "skampi/gatherv_isend_irecv",
    "skampi/buffer_attach",
    "skampi/commit",
    "patterns/ring",
    "patterns/ring_alltoallv",
    "patterns/sweep",
    "patterns/fft_transpose",
    "patterns/irregular",
    "patterns/interrupt_receive",
    "patterns/active_message",
    "patterns/partitioned",
];

/// Kernels with layouts that pack no messages between their calls: prepared messages, work beside messages, and
/// messages that go on from where they arrived, or are looked at one by one.
const UNPACKED: [&str; 7] = [
    "comet/overlap",
    "parkbench/comms2",
    "parkbench/comms3",
    "model/injection",
    "osu/latency_persistent",
    "osu/bw_persistent",
    "osu/bibw_persistent",
];

/// Figures of the cases that passed, and the sentences of the others.
#[derive(Default)]
struct Heard {
    figures: Vec<(String, [f64; 3])>,
    failures: Vec<String>,
}

impl Listener for Heard {
    fn event(&mut self, event: &Event<'_>) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        match event {
            Event::CaseFinished(measurement) => {
                let figure = |name| {
                    let mut all = measurement.derived.iter();
                    all.find(|figure| figure.name == name).and_then(|figure| figure.value)
                };
                let figures =
                    [DATA_BYTES, EXTENT_BYTES, N_PIECES].map(|name| figure(name).unwrap_or(0.0));
                self.figures.push((measurement.case.label(), figures));
            }
            Event::CaseFailed(failure) => self.failures.push(failure.message.clone()),
            _ => (),
        }
        Ok(())
    }
}

/// A case of each kernel that packs, of each of `LAYOUTS`, where the check of one kernel is spoiled.
fn heard(corrupt: Option<&str>) -> Heard {
    heard_of(|info| info.is_packed, (LAYOUTS, corrupt), (8, Corrupt::Nothing))
}

/// A case of each kernel that `is_one`, of each of the `layouts`, on so many ranks, of which messages arrive wrong.
fn heard_of(
    is_one: impl Fn(&KernelInfo) -> bool,
    (layouts, corrupt): (&str, Option<&str>),
    (n_ranks, wrong): (usize, Corrupt),
) -> Heard {
    let mut kernels = super::all_kernels();
    kernels.retain(|kernel| is_one(kernel.info()));
    let kernels = &kernels[..];
    let layouts = Layouts::list(layouts, Layout::indx).unwrap();
    let layouts: Vec<_> = layouts.into_iter().map(Arc::new).collect();
    let settings = Settings {
        repetitions: Some(3),
        samples: Some(2),
        layouts,
        fault: corrupt.map(|id| (&FAULTS[0], id.to_owned())),
        ..Settings::of(Profile::Quick)
    };
    let n_layouts = settings.layouts.len();
    let cases = kernels.iter().flat_map(|kernel| {
        let of = kernel.info().axes.iter().map(|used| match used.axis {
            axis if *axis == LENGTH_BYTES => 96,
            // Messages of their own buffers, of which several are in flight.
            axis if *axis == WINDOW => 3,
            axis if axis.name == "window_buffers" => 1,
            // Work for a moment.
            axis if axis.name == "work_us" => 1,
            // One hop, pair or round, and of words the first.
            axis => u64::from(axis.labels.is_empty()),
        });
        let case = Case::new(kernel.info(), &of.collect::<Vec<_>>());
        (0..n_layouts)
            .map(move |layout| case.on(Arrangement { layout: Some(layout), ..Arrangement::ALL }))
    });
    let topology = Topology::hypercube(n_ranks);
    // What sends on what it has received has one layout on both sides.
    let world = settings.world(&topology);
    let cases: Vec<Case> = cases.filter(|case| world.admit(case).is_ok()).collect();
    let mut of_ranks = local::run_corrupting(topology.clone(), wrong, |t| {
        if t.rank() > 0 {
            driver::follow(t, kernels, &settings).unwrap();
            return Heard::default();
        }
        let mut heard = Heard::default();
        driver::conduct(t, kernels, &cases, &settings, &mut heard).unwrap();
        heard
    });
    of_ranks.swap_remove(0)
}

/// SK-30 to SK-33: the ten modes of the ping-pong, the other kernels of pairs and collectives that move data, in any
/// layout of either side.
#[test]
fn kernels_that_pack_deliver_the_blocks_of_every_layout() {
    let Heard { figures, failures } = heard(None);
    assert_eq!(failures, Vec::<String>::new());
    assert_eq!(
        figures.iter().filter(|(label, _)| label.contains("skampi/pingpong")).count(),
        10 * 6 + 3
    );
    for (id, n) in [
        ("imb/gather ", 6),
        ("imb/bcast ", 6),
        ("comet/broadcast ", 6),
        ("naive/broadcast ", 3),
        ("imb-nbc/igather ", 6),
        ("imb-mpi4/bcast_persist ", 6),
        ("imb-p2p/birandom ", 6),
        ("imb-p2p/sendrecv_replace ", 3),
        ("imb-p2p/stencil2d ", 6),
        ("imb/uniband ", 6),
        ("osu/bibw ", 6),
        ("osu/ialltoallw ", 6),
        ("osu/gather_persistent ", 6),
        ("osu/neighbor_alltoallv ", 6),
        ("skampi/waitany ", 6),
    ] {
        assert_eq!(figures.iter().filter(|(label, _)| label.starts_with(id)).count(), n, "{id}");
    }
    for (label, found) in figures {
        // A triangle of 96 bytes has 14 lines, the last of 5 bytes.
        let expected = match label.rsplit_once("layout=").unwrap().1 {
            "1" => [96.0, 96.0, 1.0],
            "2" => [96.0, 190.0, 48.0],
            "3" => [96.0, 187.0, 14.0],
            "4" | "6" => [96.0, 128.0, 64.0],
            _ => [96.0, 329.0, 96.0],
        };
        assert_eq!(found, expected, "{label}");
    }
}

#[test]
fn blocks_that_arrive_wrong_are_noticed() {
    let Heard { figures, failures } = heard(Some("comet/exchange"));
    assert!(figures.iter().all(|(label, _)| !label.starts_with("comet/exchange")));
    assert_eq!(failures.len(), 6);
    assert!(failures.iter().all(|sentence| sentence.contains("expected")), "{failures:?}");
}

/// The messages of both neighbours arrive in one place: each is looked at, packed or not.
#[test]
fn the_first_of_two_messages_in_one_place_is_looked_at() {
    for layout in ["vector:2:4", "packed:vector:2:4", "packed:contiguous"] {
        for number in [0, 1] {
            let wrong = (2, Corrupt::Number(number));
            let found = heard_of(|info| info.id() == "imb/exchange", (layout, None), wrong);
            assert_eq!((found.figures.len(), found.failures.len()), (0, 1), "{layout} {number}");
        }
    }
}

#[test]
fn all_kernels_with_layouts_pack_but_for_a_list() {
    let kernels = super::all_kernels();
    let infos = kernels.iter().map(|kernel| kernel.info());
    let left = infos.filter(|info| info.has_layouts && !info.is_packed).map(KernelInfo::id);
    assert_eq!(left.collect::<Vec<_>>(), UNPACKED);
}

/// Of a window with one buffer for all its messages each is packed into memory of its own.
#[test]
fn each_message_of_a_window_that_arrives_wrong_is_noticed() {
    for number in 0..3 {
        let wrong = (2, Corrupt::Number(number));
        let found = heard_of(|info| info.id() == "osu/bw", ("packed:vector:2:4", None), wrong);
        assert_eq!((found.figures.len(), found.failures.len()), (0, 1), "{number}");
    }
}

/// Beside those that combine elements, and suites of windows, files and threads.
#[test]
fn all_kernels_with_a_length_have_layouts_but_for_a_list() {
    let kernels = super::all_kernels();
    let is_other = |info: &KernelInfo| {
        let has_length = info.axes.iter().any(|used| *used.axis == LENGTH_BYTES);
        has_length && !info.has_layouts && !info.axes.iter().any(|used| *used.axis == ELEMENT)
    };
    let others = kernels.iter().map(|kernel| kernel.info()).filter(|info| is_other(info));
    let ids: Vec<String> = others.map(KernelInfo::id).collect();
    let windows = ["skampi/win_", "skampi/put_", "skampi/pingpong_put"];
    let suites = ["imb-ext/", "imb-rma/", "imb-io/", "imb-mt/", "osu/"].into_iter().chain(windows);
    let is_of_suite = |id: &&String| !suites.clone().any(|suite| id.starts_with(suite));
    let left: Vec<&String> = ids.iter().filter(is_of_suite).collect();
    assert_eq!(left, WITHOUT, "{left:?}");
}
