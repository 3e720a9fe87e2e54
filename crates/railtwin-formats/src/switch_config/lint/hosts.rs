//! Rules of hosts: ARP by both ports, and the list of Meta RoCE section 6.1.
use std::collections::BTreeMap;

use super::settings::ConfigSettings;
use super::{ConfigFinding, ConfigRule};

pub(super) fn findings(settings: &ConfigSettings) -> Vec<ConfigFinding> {
    let mut sets: BTreeMap<&str, u32> = BTreeMap::new();
    for leaf in settings.leaves.iter().filter(|leaf| !leaf.stacked) {
        *sets.entry(&leaf.set).or_default() += 1;
    }
    let needs_both = sets.values().any(|&leaves| leaves > 1);
    let list = &settings.checklist;
    let mut asked = vec![
        (ConfigRule::PcieCredits, "checklist.pcie_credits", list.pcie_credits),
        (ConfigRule::RelaxedOrdering, "checklist.relaxed_ordering", list.relaxed_ordering),
        (ConfigRule::TopologyAwareRanks, "checklist.topology_aware_ranks", list.topology_aware_ranks),
        (
            ConfigRule::ZeroByteMessages,
            "checklist.zero_byte_messages_eliminated",
            list.zero_byte_messages_eliminated,
        ),
    ];
    if needs_both {
        asked.insert(0, (ConfigRule::ArpBoth, "hosts.arp_to_both", settings.hosts.arp_to_both));
    }
    let wrong = asked.into_iter().filter(|(.., said)| *said != Some(true));
    wrong
        .map(|(rule, place, said)| {
            let value = if said.is_some() { "false" } else { "not said" };
            ConfigFinding::new(rule, place, value, "true")
        })
        .collect()
}
