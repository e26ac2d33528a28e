//! The network interfaces and the InfiniBand adapters.

use super::files::Files;
use crate::record::{InfinibandPort, Interface};

const INTERFACES: &str = "sys/class/net";
const INFINIBAND: &str = "sys/class/infiniband";

/// The interfaces that have a device.
pub(super) fn interfaces(files: Files<'_>) -> Vec<Interface> {
    let interface = |name: String| {
        let folder = format!("{INTERFACES}/{name}");
        files.exists(&format!("{folder}/device")).then(|| Interface {
            mbit_per_s: files.value(&format!("{folder}/speed")),
            mtu_bytes: files.value(&format!("{folder}/mtu")),
            state: files.text(&format!("{folder}/operstate")),
            driver: driver(files, &folder),
            name,
        })
    };
    files.names(INTERFACES).into_iter().filter_map(interface).collect()
}

/// The name of the driver that a link in the device's folder leads to.
fn driver(files: Files<'_>, folder: &str) -> Option<String> {
    let target = files.target(&format!("{folder}/device/driver"))?;
    Some(target.rsplit('/').next()?.to_owned())
}

/// The ports of all InfiniBand adapters.
pub(super) fn infiniband(files: Files<'_>) -> Vec<InfinibandPort> {
    let ports = |device: String| {
        let folder = format!("{INFINIBAND}/{device}");
        let numbers = files.numbered(&format!("{folder}/ports"), "");
        numbers.into_iter().map(move |port| InfinibandPort {
            device: device.clone(),
            port,
            firmware: files.text(&format!("{folder}/fw_ver")),
            rate: files.text(&format!("{folder}/ports/{port}/rate")),
            link_layer: files.text(&format!("{folder}/ports/{port}/link_layer")),
        })
    };
    files.names(INFINIBAND).into_iter().flat_map(ports).collect()
}
