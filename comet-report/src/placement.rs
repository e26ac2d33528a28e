//! Where one rank runs, as that rank itself sees it, in a form that travels to rank 0.

use std::collections::BTreeSet;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::environment::files::{Files, parse_list};
use crate::environment::noise::{process_stat, stat_field};

/// Position, from 1, of the current CPU in `/proc/self/stat` as proc(5) counts.
const PROCESSOR: usize = 39;

/// Where one rank runs; what the system does not tell is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankPlacement {
    /// The rank.
    pub rank: usize,
    /// Host name.
    pub node: Option<String>,
    /// Number of its process.
    pub pid: u32,
    /// CPUs that it may run on (`0-3`).
    pub cpus: Option<String>,
    /// Hardware threads of its core (`0,4`), if it may run on one CPU only.
    pub core: Option<String>,
    /// CPUs that share its level-3 cache, if it may run on one CPU only.
    pub l3: Option<String>,
    /// Its NUMA node, if it may run on one CPU only.
    pub numa: Option<usize>,
    /// Its socket, if it may run on one CPU only.
    pub socket: Option<usize>,
    /// NUMA nodes whose memory it may use (`0-1`).
    pub mems: Option<String>,
    /// CPU that it runs on now.
    pub cpu: Option<usize>,
}

/// A placement that did not arrive whole.
#[derive(Debug, thiserror::Error)]
#[error("the placement of a rank cannot be read ({length_bytes} bytes arrived)")]
pub struct PlacementError {
    /// How much arrived.
    length_bytes: usize,
    source: serde_json::Error,
}

impl RankPlacement {
    /// Placement of this process, which is `rank`; reads `/proc` and `/sys` below `root` (`/` on a
    /// real machine).
    #[must_use]
    pub fn of_this_process(rank: usize, root: &Path) -> Self {
        let files = Files(root);
        let allowed = |name| files.field("proc/self/status", name, ':');
        let stat = process_stat(files);
        let cpu = stat_field(stat.as_deref(), PROCESSOR);
        let placement = Self {
            rank,
            node: files.text("proc/sys/kernel/hostname"),
            pid: std::process::id(),
            cpus: allowed("Cpus_allowed_list"),
            mems: allowed("Mems_allowed_list"),
            cpu: cpu.and_then(|cpu| usize::try_from(cpu).ok()),
            ..Self::default()
        };
        match placement.only_cpu() {
            Some(cpu) => placement.on_cpu(cpu, files),
            None => placement,
        }
    }

    /// The bytes that [`decode`](Self::decode) reads.
    ///
    /// # Panics
    /// Never: numbers and texts can always be written as JSON.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("numbers and texts can be written as JSON")
    }

    /// Reads what [`encode`](Self::encode) wrote.
    ///
    /// # Errors
    /// If `bytes` are anything else.
    pub fn decode(bytes: &[u8]) -> Result<Self, PlacementError> {
        serde_json::from_slice(bytes)
            .map_err(|source| PlacementError { length_bytes: bytes.len(), source })
    }

    /// The CPUs that the rank may run on, where they are known.
    #[must_use]
    pub fn allowed_cpus(&self) -> Option<BTreeSet<usize>> {
        parse_list(self.cpus.as_deref()?)
    }

    fn only_cpu(&self) -> Option<usize> {
        let cpus = self.allowed_cpus()?;
        cpus.first().copied().filter(|_| cpus.len() == 1)
    }

    fn on_cpu(mut self, cpu: usize, files: Files<'_>) -> Self {
        let folder = format!("sys/devices/system/cpu/cpu{cpu}");
        self.core = files.text(&format!("{folder}/topology/thread_siblings_list"));
        self.socket = files.value(&format!("{folder}/topology/physical_package_id"));
        self.numa = files.numbered(&folder, "node").first().copied();
        let caches = format!("{folder}/cache");
        let is_l3 =
            |index: &usize| files.value::<u32>(&format!("{caches}/index{index}/level")) == Some(3);
        let l3 = files.numbered(&caches, "index").into_iter().find(is_l3);
        self.l3 = l3.and_then(|i| files.text(&format!("{caches}/index{i}/shared_cpu_list")));
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Folder, machine_files};

    #[test]
    fn a_bound_rank_knows_its_core_and_its_socket() {
        let folder = Folder::new();
        machine_files(&folder);
        folder.write("proc/self/status", "Name:\tx\nCpus_allowed_list:\t2\n");
        folder.write("sys/devices/system/cpu/cpu2/cache/index0/level", "3\n");
        folder.write("sys/devices/system/cpu/cpu2/cache/index0/shared_cpu_list", "0-3\n");
        folder.write("sys/devices/system/cpu/cpu2/node1/cpulist", "0-3\n");
        let placement = RankPlacement::of_this_process(1, folder.path());
        assert_eq!((placement.rank, placement.pid), (1, std::process::id()));
        assert_eq!(
            (placement.node.as_deref(), placement.cpus.as_deref()),
            (Some("host"), Some("2"))
        );
        assert_eq!(
            (placement.core.as_deref(), placement.l3.as_deref()),
            (Some("0,2"), Some("0-3"))
        );
        assert_eq!((placement.numa, placement.socket), (Some(1), Some(0)));
    }

    #[test]
    fn a_floating_rank_has_no_core_and_an_unknown_system_no_values() {
        let folder = Folder::new();
        machine_files(&folder);
        let placement = RankPlacement::of_this_process(0, folder.path());
        assert_eq!((placement.cpus.as_deref(), placement.core), (Some("0-3"), None));
        assert_eq!((placement.mems.as_deref(), placement.cpu), (Some("0"), Some(2)));
        let unknown = RankPlacement::of_this_process(0, Folder::new().path());
        assert_eq!((unknown.node, unknown.cpus), (None, None));
    }

    #[test]
    fn a_placement_survives_the_journey_to_rank_0() {
        let sent = RankPlacement { rank: 3, node: Some("a".into()), ..RankPlacement::default() };
        assert_eq!(RankPlacement::decode(&sent.encode()).unwrap(), sent);
        let text = RankPlacement::decode(b"{").unwrap_err().to_string();
        assert_eq!(text, "the placement of a rank cannot be read (1 bytes arrived)");
    }
}
