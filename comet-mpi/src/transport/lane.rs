//! Lanes: a duplicate of the communicator for each thread of this rank.

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use comet_core::error::{Result, TransportError, TransportErrorKind};
use comet_core::transport::{Group, Lane, Rank, Source, Transport as _, lane};

use super::Mpi;
use crate::level::ThreadLevel;
use crate::native::{LaneComm, thread_number};

impl Mpi {
    /// Runs `body` in `n` threads, each over a communicator of its own.
    pub(super) fn in_threads<R: Send>(
        &self,
        n: usize,
        body: impl Fn(&Self) -> R + Sync,
    ) -> Result<Vec<R>> {
        let comms = self.comms_of_lanes(n)?;
        let (rank, job_rank) = (self.rank(), self.global_rank(self.rank()));
        let members = |rank| self.group.global(rank);
        let members: Option<Vec<Rank>> =
            (!self.group.is_whole()).then(|| (0..self.n_ranks()).map(members).collect());
        let Self { library, topology, is_one_node, n_ranks_of_job, clock_domain, .. } = self;
        let Self { startup_ns, vitals, of_lanes, on_failure, .. } = self;
        let topology = &**topology;
        let make = |lane: Lane, comm: LaneComm| {
            let of_lane = &of_lanes[lane.number()];
            of_lane.begin_lane(lane.number(), vitals, thread_number());
            let whole = Group::whole(job_rank, *n_ranks_of_job);
            let part = members.as_ref().map(|members| whole.part(rank, members[..].into(), (0, 0)));
            Self {
                comm: Rc::new(comm.into_comm()),
                library: Arc::clone(library),
                group: part.unwrap_or(whole),
                topology: Rc::new(topology.clone()),
                is_one_node: *is_one_node,
                n_ranks_of_job: *n_ranks_of_job,
                clock_domain: *clock_domain,
                startup_ns: *startup_ns,
                vitals: of_lane,
                of_lanes: &[],
                lanes: RefCell::default(),
                lane: Some(lane),
                on_failure: *on_failure,
                lines: None,
                set: Cell::default(),
                neighbours: None,
                graph: RefCell::default(),
                windows: OnceCell::new(),
            }
        };
        Ok(lane::run(self, comms, make, body))
    }

    /// The communicators of `n` lanes.
    fn comms_of_lanes(&self, n: usize) -> Result<Vec<LaneComm>> {
        let unsupported = |text| Err(TransportError::new(TransportErrorKind::Unsupported, text));
        let (level, n_most) = (self.library.level, self.of_lanes.len());
        if level < ThreadLevel::Multiple {
            let library = crate::library_version();
            return unsupported(format!(
                "{n} threads need MPI_THREAD_MULTIPLE, and {library} was started at the thread level \
                 {level} (ask for --thread-level multiple)"
            ));
        }
        if n > n_most {
            return unsupported(format!("a rank has at most {n_most} threads, not {n}"));
        }
        let mut lanes = self.lanes.borrow_mut();
        self.call_of_all(Source::Any, |comm| LaneComm::make(comm, &mut lanes, n))?;
        let of_lane = |comm| LaneComm::of(comm, &self.library);
        let comms: Option<Vec<LaneComm>> = lanes[..n].iter().map(of_lane).collect();
        comms.map_or_else(|| unsupported("threads send no messages with a layout".into()), Ok)
    }
}
