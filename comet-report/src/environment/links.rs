//! Nominal rates of the links between hosts, beside which measured rates are read.

use std::collections::BTreeSet;

use super::Environment;
use crate::record::{InfinibandPort, Interface, RankEntry};
use crate::units::significant;

/// Speed in Mbit/s that drivers report where they know none.
const UNKNOWN_MBIT: u64 = u32::MAX as u64;
/// Digits of a rate.
const DIGITS: usize = 4;

/// One sentence with the nominal rates of the links of the host of rank 0; `None` if all ranks share
/// a host, or if the system reports no rate.
pub(crate) fn between_hosts(environment: &Environment, placements: &[RankEntry]) -> Option<String> {
    let hosts: BTreeSet<_> = placements.iter().filter_map(|rank| rank.node.as_ref()).collect();
    let machine = &environment.machine;
    let ports = machine.infiniband.iter().filter_map(of_port);
    let links: Vec<String> =
        machine.interfaces.iter().filter_map(of_interface).chain(ports).collect();
    let n_hosts = hosts.len();
    (n_hosts > 1 && !links.is_empty()).then(|| {
        let links = links.join(", ");
        format!(
            "nominal rates of the links between {n_hosts} hosts, on the host of rank 0: {links}"
        )
    })
}

fn of_interface(interface: &Interface) -> Option<String> {
    let Interface { name, mbit_per_s, state, .. } = interface;
    let is_up = state.as_ref().is_none_or(|state| state != "down");
    let mbit = mbit_per_s.filter(|mbit| is_up && (1..UNKNOWN_MBIT).contains(mbit))?;
    Some(format!("{name} {} MB/s ({mbit} Mbit/s)", significant(mbit as f64 / 8.0, DIGITS)))
}

fn of_port(port: &InfinibandPort) -> Option<String> {
    let InfinibandPort { device, port, rate, .. } = port;
    Some(format!("{device} port {port} {}", rate.as_ref()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Machine;

    #[test]
    fn links_have_a_rate_where_ranks_are_on_several_hosts_and_the_system_reports_one() {
        let interface = |name: &str, mbit_per_s, state: &str| Interface {
            name: name.into(),
            mbit_per_s,
            mtu_bytes: None,
            state: Some(state.into()),
            driver: None,
        };
        let interfaces = vec![
            interface("eth0", Some(25_000), "up"),
            interface("eth1", Some(1000), "down"),
            interface("eth2", Some(UNKNOWN_MBIT), "up"),
            interface("eth3", None, "up"),
        ];
        let machine = Machine { interfaces, ..Machine::default() };
        let environment = Environment { machine, ..Environment::default() };
        let on = |hosts: &[&str]| -> Vec<RankEntry> {
            let entry =
                |host: &&str| RankEntry { node: Some((*host).into()), ..RankEntry::default() };
            hosts.iter().map(entry).collect()
        };
        let expected = "nominal rates of the links between 2 hosts, on the host of rank 0: eth0 \
                        3125 MB/s (25000 Mbit/s)";
        assert_eq!(between_hosts(&environment, &on(&["a", "b"])).as_deref(), Some(expected));
        assert_eq!(between_hosts(&environment, &on(&["a", "a"])), None);
        assert_eq!(between_hosts(&Environment::default(), &on(&["a", "b"])), None);
    }
}
