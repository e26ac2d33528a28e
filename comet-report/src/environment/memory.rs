//! Memory, and how it is given out.

use super::files::{Files, chosen, parse_bytes};
use crate::record::{Memory, NumaNode};

const NODES: &str = "sys/devices/system/node";

/// Memory of the machine.
pub(super) fn memory(files: Files<'_>) -> Memory {
    let bytes = |path, name| parse_bytes(&files.field(path, name, ':')?);
    let thp_shmem = files.text("sys/kernel/mm/transparent_hugepage/shmem_enabled");
    Memory {
        available_bytes: bytes("proc/meminfo", "MemAvailable"),
        page_bytes: bytes("proc/self/smaps", "KernelPageSize"),
        huge_page_bytes: bytes("proc/meminfo", "Hugepagesize"),
        thp_shmem: thp_shmem.as_deref().and_then(chosen),
        dev_shm_bytes: files.text("proc/mounts").as_deref().and_then(dev_shm_bytes),
        numa_nodes: numa_nodes(files),
    }
}

/// The option `size=` of the file system at `/dev/shm`; without it, half of the memory is its size.
fn dev_shm_bytes(mounts: &str) -> Option<u64> {
    let options = mounts.lines().find_map(|line| {
        let mut words = line.split_whitespace().skip(1);
        (words.next() == Some("/dev/shm")).then(|| words.nth(1))?
    });
    let size = options?.split(',').find_map(|option| option.strip_prefix("size="))?;
    parse_bytes(&size.to_uppercase())
}

fn numa_nodes(files: Files<'_>) -> Vec<NumaNode> {
    let node = |node: usize| {
        let folder = format!("{NODES}/node{node}");
        NumaNode {
            node,
            cpus: files.text(&format!("{folder}/cpulist")),
            mem_bytes: files.text(&format!("{folder}/meminfo")).as_deref().and_then(total_bytes),
            distances: files.text(&format!("{folder}/distance")),
        }
    };
    files.numbered(NODES, "node").into_iter().map(node).collect()
}

/// The number in a line such as `Node 0 MemTotal:  16 kB`.
fn total_bytes(meminfo: &str) -> Option<u64> {
    let size = meminfo.lines().find_map(|line| line.split_once("MemTotal:"))?.1;
    parse_bytes(size.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_of_dev_shm_is_that_of_its_mount() {
        let check = |mounts, expected| assert_eq!(dev_shm_bytes(mounts), expected, "{mounts}");
        check("shm /dev/shm tmpfs rw,nosuid,size=65536k 0 0\n", Some(1 << 26));
        check("proc /proc proc rw 0 0\nshm /dev/shm tmpfs size=1g,rw 0 0\n", Some(1 << 30));
        check("tmpfs /dev/shm tmpfs rw,nosuid 0 0\n", None);
        check("tmpfs /tmp tmpfs size=1g 0 0\n", None);
    }
}
