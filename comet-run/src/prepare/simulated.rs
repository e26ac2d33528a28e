//! Simulated cases: the samples that an exact machine needs, and the time that a simulation takes.

use std::time::Duration;

use comet_core::collective::messages_of_barrier;
use comet_core::driver::Settings;
use comet_core::kernel::{Case, World};
use comet_core::topology::Topology;

use crate::cli::WorldArgs;
use crate::world::Origin;

/// Operations that settle a slice.
const N_SETTLING: u32 = 2;
/// Steps of a case: a check, a slice, and a check.
const N_STEPS: u32 = 3;
/// Barriers around it: before the slice, and for the length of windows.
const N_BARRIERS: u32 = 2;
/// Operations of the two checks of a barrier in a large job.
const N_CHECKS: u32 = 2;
/// Time that the simulation of a message takes, in nanoseconds: 1300 to 2400 were measured on a
/// Xeon of 2.5 GHz, and more ranks fit into its caches worse.
const MESSAGE_NS: f64 = 2000.0;

/// Takes the samples that tell all on a machine without noise, of which a job of at most `n_ranks`
/// ranks is simulated, unless other numbers are set.
pub(crate) fn sample_exactly(settings: &mut Settings, origin: &Origin, n_ranks: usize) {
    if origin.machine().is_some_and(|file| file.machine.is_exact()) {
        settings.sample_exactly(n_ranks);
    }
}

/// The most ranks that the user asks for; 0 if the machine decides.
pub(crate) fn most_ranks(world: &WorldArgs) -> usize {
    world.ranks.iter().flat_map(|counts| &counts.0).copied().max().unwrap_or(0)
}

/// Time of the simulation of a case, by its messages; `None` unless the numbers of samples and of
/// repetitions are set.
pub(super) fn time(settings: &Settings) -> Option<impl Fn(&Case, &Topology) -> Duration + use<>> {
    let n_timed = settings.samples?.saturating_mul(settings.repetitions?);
    let n_settling = settings.warm_up.unwrap_or(N_SETTLING);
    Some(move |case: &Case, topology: &Topology| {
        let part = topology.first(case.arrangement().procs.unwrap_or(topology.n_ranks()));
        let world = World::of(&part);
        let operation = (case.info.messages_per_op)(case, &world) as f64;
        let barrier = messages_of_barrier(world.n_ranks) as f64;
        // Each step is announced to all ranks, and all of them report.
        let steps =
            f64::from(N_BARRIERS) * barrier + f64::from(N_STEPS) * 2.0 * world.n_ranks as f64;
        let n_operations = f64::from(n_timed.saturating_add(n_settling + N_CHECKS));
        Duration::from_nanos(1).mul_f64((steps + n_operations * operation) * MESSAGE_NS)
    })
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;
    use crate::catalogue;
    use comet_core::kernel::{LENGTH_BYTES, Profile};
    use comet_sim::machine::MachineFile;

    fn settings(noise: &str, n_ranks: usize) -> Settings {
        let text = format!(
            "format = 1\nname = \"m\"\ntopology = {{ kind = \"flat\" }}\n[[protocol]]\nkind = \
             \"eager\"\nt0 = \"1 us\"\nper_byte = \"1 ns/B\"\n{noise}"
        );
        let file = MachineFile::parse(&text, "m").unwrap();
        let mut settings = Settings::of(Profile::Quick);
        sample_exactly(&mut settings, &Origin::Simulated(Rc::new(file)), n_ranks);
        settings
    }

    #[test]
    fn an_exact_machine_is_sampled_twice_and_a_noisy_one_like_any_other() {
        let numbers = |s: Settings| (s.samples, s.slices.min, s.repetitions);
        assert_eq!(numbers(settings("", 0)), (Some(2), 1, Some(10)));
        assert_eq!(numbers(settings("", 65_536)), (Some(2), 1, Some(1)));
        let noise = "[[noise.source]]\nkind = \"log_normal\"\nsigma = \"3 %\"\n";
        assert_eq!(numbers(settings(noise, 0)), (None, 3, None));
    }

    #[test]
    fn the_time_of_a_simulation_follows_from_its_messages() {
        let infos = catalogue::infos();
        let info = infos.iter().find(|info| info.id() == "comet/barrier").unwrap();
        let case = Case::new(info, &[]);
        let seconds = |n_ranks| {
            let time = time(&settings("", n_ranks)).unwrap();
            time(&case, &Topology::hypercube(n_ranks)).as_secs_f64().round()
        };
        // 8 million messages; 112 barriers took more than 268 s.
        assert_eq!([seconds(16), seconds(65_536)], [0.0, 15.0]);
        // An alltoall of long parts has one for each pair of ranks, a broadcast one for each rank.
        let seconds = |name: &str, length_bytes| {
            let info = infos.iter().find(|info| info.id() == name).unwrap();
            let case = Case::new(info, &[]).with(&LENGTH_BYTES, length_bytes);
            time(&settings("", 1024)).unwrap()(&case, &Topology::hypercube(1024)).as_secs_f64()
        };
        let (alltoall, broadcast) = (seconds("imb/alltoall", 1024), seconds("imb/bcast", 1024));
        let operations = 24.0 * MESSAGE_NS * 1e-9;
        let others = 26.0 * 1024.0 * MESSAGE_NS * 1e-9;
        assert!((alltoall - others - 1024.0 * 1023.0 * operations).abs() < 1e-3, "{alltoall}");
        assert!((broadcast - others - 1023.0 * operations).abs() < 0.3 * broadcast, "{broadcast}");
        assert!(time(&Settings::of(Profile::Quick)).is_none());
    }
}
