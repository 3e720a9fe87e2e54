//! Mistakes in the settings of a dual-ToR fabric and its hosts.
//!
//! Settings come from a file of one's own ([`ConfigSettings`]), from a plan, or from folders of FRR or SONiC. Each rule that
//! they break is one [`ConfigFinding`] with the place, the value, what is accepted and the reason.

mod dual_tor;
mod facts;
mod hosts;
mod qos;
mod settings;
mod switches;

pub use facts::{of_frr, of_plan, of_sonic};
pub use settings::{
    Checklist, ConfigSettings, DaemonSettings, DeadDaemon, HashSettings, HostSettings, LeafSettings,
    QosSettings,
};

railtwin_units::choice! {
    /// A rule of configuration.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
    pub enum ConfigRule {
        /// A (system id, port id) stands once in a set.
        LacpPortId = "lacp-port-id",
        /// Port offsets are above 256.
        LacpOffset = "lacp-offset",
        /// Leaves of a set have one system id.
        LacpSystemId = "lacp-system-id",
        /// A system id is no host's address.
        LacpReserved = "lacp-reserved",
        /// Leaves of a set have the same keys.
        LacpKey = "lacp-key",
        /// Sets in one network have system ids of their own.
        LacpSubnet = "lacp-subnet",
        /// Stacked leaves run one version.
        StackedVersion = "stacked-version",
        /// Leaves answer ARP for all.
        ArpProxy = "arp-proxy",
        /// Hosts announce their addresses by both ports.
        ArpBoth = "arp-both",
        /// Something takes hosts away from a leaf whose control plane is dead.
        DeadDaemon = "dead-daemon",
        /// BFD is not too fast.
        BfdInterval = "bfd-interval",
        /// No graceful restart.
        GracefulRestart = "graceful-restart",
        /// No next-hop objects in the kernel.
        NextHopObjects = "next-hop-objects",
        /// Switches hash the packet's own fields.
        HashPolicy = "hash-policy",
        /// Tiers have other hash seeds.
        HashSeeds = "hash-seeds",
        /// One lossless class.
        OneLosslessClass = "one-lossless-class",
        /// The same DSCP everywhere.
        SameDscp = "same-dscp",
        /// A watchdog where ports pause.
        PfcWatchdog = "pfc-watchdog",
        /// Marks come before pauses.
        EcnBelowPfc = "ecn-below-pfc",
        /// PCIe credits of NICs are raised.
        PcieCredits = "pcie-credits",
        /// PCIe may reorder.
        RelaxedOrdering = "relaxed-ordering",
        /// Ranks follow the network.
        TopologyAwareRanks = "topology-aware-ranks",
        /// No messages of no bytes.
        ZeroByteMessages = "zero-byte-messages",
    }
}

impl ConfigRule {
    /// The reason, with its source.
    pub const fn why(self) -> &'static str {
        match self {
            Self::LacpPortId => {
                "a host joins its ports to one bond only where each has a port id of its own (HPN 4.2)"
            }
            Self::LacpOffset => "ports have numbers up to 256, which a smaller offset may hit (HPN 4.2)",
            Self::LacpSystemId => {
                "a host takes leaves with two system ids for two partners: no bond (HPN 4.2)"
            }
            Self::LacpReserved => {
                "the system id must be no host's address, so it is a reserved one (HPN 4.2)"
            }
            Self::LacpKey => "ports with two keys do not join one bond (IEEE 802.1AX 6.3.5)",
            Self::LacpSubnet => "in one layer-2 network two sets with one address are a conflict (HPN 4.2)",
            Self::StackedVersion => "two versions that synchronise by RPC took whole sets down (HPN 4.1)",
            Self::ArpProxy => "bridged frames go to a dead port until its MAC address has aged (HPN 4.2)",
            Self::ArpBoth => {
                "a leaf without the ARP entry announces no /32 and has no way to the host (HPN 4.2)"
            }
            Self::DeadDaemon => {
                "ports stay up while routes are gone: measured, hosts lose a share of flows for ever"
            }
            Self::BfdInterval => "measured: at 50 ms 22 of 32 sessions of a busy leaf dropped without cause",
            Self::GracefulRestart => {
                "neighbors keep sending to a leaf whose daemon is dead (RFC 4724 section 4.2)"
            }
            Self::NextHopObjects => "measured: a link that flapped does not come back into its group",
            Self::HashPolicy => "policy 1 hashes a random number of the sender: no path can be foreseen",
            Self::HashSeeds => "tiers that hash alike use a part of their links: polarisation (HPN 2.2)",
            Self::OneLosslessClass => "one lossless queue in all switches and NICs (Meta RoCE 5.1)",
            Self::SameDscp => {
                "packets leave the lossless class where another DSCP is mapped to it (Meta RoCE 5.1)"
            }
            Self::PfcWatchdog => "a deadlock or a NIC that pauses for ever stops the fabric (Meta RoCE 6.3)",
            Self::EcnBelowPfc => {
                "a port that pauses before it marks leaves congestion control blind (Meta RoCE 5.2)"
            }
            Self::PcieCredits => "too few PCIe credits hold a NIC below its rate (Meta RoCE 6.1)",
            Self::RelaxedOrdering => "strict ordering on PCIe holds a NIC below its rate (Meta RoCE 6.1)",
            Self::TopologyAwareRanks => "ranks in any order cross more tiers (Meta RoCE 6.1)",
            Self::ZeroByteMessages => "Ethernet switches do not carry messages of no bytes (Meta RoCE 6.1)",
        }
    }
}

/// A rule that settings break.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ConfigFinding {
    /// The rule.
    pub rule: ConfigRule,
    /// The leaf, set, switch or key.
    pub place: String,
    /// The value there.
    pub value: String,
    /// The values that are accepted.
    pub accepted: String,
}

impl ConfigFinding {
    fn new(
        rule: ConfigRule,
        place: impl Into<String>,
        value: impl Into<String>,
        accepted: impl Into<String>,
    ) -> Self {
        Self { rule, place: place.into(), value: value.into(), accepted: accepted.into() }
    }
}

/// Rules of switches, in order of rules and places.
pub fn lint(settings: &ConfigSettings) -> Vec<ConfigFinding> {
    let mut findings = dual_tor::findings(settings);
    findings.extend(switches::findings(settings));
    findings.extend(qos::findings(settings));
    findings.sort();
    findings
}

/// Rules of hosts, which folders of switches say nothing of; what is not said breaks them too.
pub fn lint_hosts(settings: &ConfigSettings) -> Vec<ConfigFinding> {
    hosts::findings(settings)
}

#[cfg(test)]
mod tests;
