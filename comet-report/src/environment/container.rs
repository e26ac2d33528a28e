//! The container and the virtual machine around the ranks.

use super::files::Files;
use crate::record::Container;

const CGROUPS: &str = "sys/fs/cgroup";

/// Container and virtual machine.
pub(super) fn container(files: Files<'_>) -> Container {
    Container {
        cpuset: limit(files, "cpuset.cpus.effective"),
        // Without a limit there stands `max`, which is no number.
        mem_max_bytes: limit(files, "memory.max").and_then(|text| text.parse().ok()),
        vendor: files.text("sys/class/dmi/id/sys_vendor"),
        product: files.text("sys/class/dmi/id/product_name"),
    }
}

/// The limit `name` of the control group of this process; a container sees its own as the root.
pub(super) fn limit(files: Files<'_>, name: &str) -> Option<String> {
    let groups = files.text("proc/self/cgroup").unwrap_or_default();
    let own = groups.lines().find_map(|line| line.strip_prefix("0::"));
    let of_group = |group: &str| files.text(&format!("{CGROUPS}{group}/{name}"));
    own.and_then(of_group).or_else(|| of_group(""))
}
