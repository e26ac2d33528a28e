//! The placement of a rank, as that rank itself sees it, in a form that travels to rank 0; and the
//! placements of all ranks there.

use std::collections::BTreeSet;
use std::path::Path;

use comet_core::collective;
use comet_core::error::Result as TransportResult;
use comet_core::transport::Transport;

use crate::environment::files::{Files, parse_list};
use crate::environment::have_cpu_each;
use crate::environment::machine::{process_stat, stat_field};
use crate::record::RankEntry;

/// Position, from 1, of the current CPU in `/proc/self/stat` as proc(5) counts.
const PROCESSOR: usize = 39;

/// A placement that did not arrive whole.
#[derive(Debug, thiserror::Error)]
#[error("the placement of a rank cannot be read ({length_bytes} bytes arrived)")]
pub struct PlacementError {
    /// Bytes that arrived.
    length_bytes: usize,
    source: serde_json::Error,
}

/// Placements of all ranks, on rank 0; simulated ranks have none. All ranks call it.
///
/// # Errors
/// If the transport fails.
///
/// # Panics
/// If a rank runs another program than rank 0, so that its placement cannot be read.
pub fn gather<T: Transport>(t: &T) -> TransportResult<Vec<RankEntry>> {
    if t.clock().is_virtual {
        return Ok(Vec::new());
    }
    let own = RankEntry::of_this_process(t.rank(), Path::new("/"));
    let decode = |bytes: Vec<u8>| {
        RankEntry::decode(&bytes).expect("a rank of this program describes itself well")
    };
    Ok(collective::gather(t, own.encode())?.into_iter().map(decode).collect())
}

/// True if each rank has a core to itself, by the `placements` on rank 0; the same on all ranks, which
/// call it together.
///
/// # Errors
/// If the transport fails.
pub fn has_core_each<T: Transport>(t: &T, placements: &[RankEntry]) -> TransportResult<bool> {
    if t.clock().is_virtual {
        return Ok(true);
    }
    let mut answer = [u8::from(have_cpu_each(placements) == Some(true))];
    t.blocked_broadcast(0, &mut answer)?;
    Ok(answer == [1])
}

impl RankEntry {
    /// Placement of this process, which is `rank`, by `/proc` and `/sys` below `root`.
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
        let placement = RankEntry::of_this_process(1, folder.path());
        assert_eq!((placement.rank, placement.pid), (1, std::process::id()));
        let texts = [placement.node, placement.cpus, placement.core, placement.l3];
        assert_eq!(texts.map(Option::unwrap), ["host", "2", "0,2", "0-3"]);
        assert_eq!((placement.numa, placement.socket), (Some(1), Some(0)));
    }

    #[test]
    fn a_floating_rank_has_no_core_and_an_unknown_system_no_values() {
        let folder = Folder::new();
        machine_files(&folder);
        let placement = RankEntry::of_this_process(0, folder.path());
        assert_eq!((placement.cpus.as_deref(), placement.core), (Some("0-3"), None));
        assert_eq!((placement.mems.as_deref(), placement.cpu), (Some("0"), Some(2)));
        let unknown = RankEntry::of_this_process(0, Folder::new().path());
        assert_eq!((unknown.node, unknown.cpus), (None, None));
    }

    #[test]
    fn a_placement_survives_the_journey_to_rank_0() {
        let sent = RankEntry { rank: 3, node: Some("a".into()), ..RankEntry::default() };
        assert_eq!(RankEntry::decode(&sent.encode()).unwrap(), sent);
        let text = RankEntry::decode(b"{").unwrap_err().to_string();
        assert_eq!(text, "the placement of a rank cannot be read (1 bytes arrived)");
    }
}
