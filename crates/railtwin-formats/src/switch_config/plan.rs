//! The plan of a fabric's control plane, in terms of no product.
use std::net::Ipv4Addr;

use railtwin_units::{Bytes, Rate, SimTime};

use super::address::Subnet;

/// Numbers of all switches and hosts of a fabric.
#[derive(Clone, PartialEq, Debug)]
pub struct FabricPlan {
    /// Name of the fabric.
    pub fabric: String,
    /// Switches in order of their device ids.
    pub switches: Vec<SwitchPlan>,
    /// Hosts in order of their ids.
    pub hosts: Vec<HostPlan>,
    /// The lossless class, one for all switches and hosts (Meta RoCE section 5.1).
    pub lossless: LosslessClass,
}

/// One switch.
#[derive(Clone, PartialEq, Debug)]
pub struct SwitchPlan {
    /// Name, such as `leaf-5`.
    pub name: String,
    /// 1 = leaf, 2 = spine, 3 = core; 4, 5 and 6 are those of the frontend.
    pub tier: u8,
    /// AS number.
    pub asn: u32,
    /// Loopback address, which is the router id.
    pub loopback: Ipv4Addr,
    /// Seed of the ECMP hash.
    pub hash_seed: u32,
    /// Ports that lead to other switches, in order of ports.
    pub ports: Vec<FabricPort>,
    /// NICs that are attached, in order of their first ports.
    pub attachments: Vec<Attachment>,
    /// Networks of the attached NICs; one as a rule.
    pub subnets: Vec<Subnet>,
    /// What makes a set of leaves one LACP partner; none where NICs reach one leaf.
    pub dual_tor: Option<DualTor>,
    /// Static routes of pinned paths.
    pub pinned: Vec<PinnedRoute>,
    /// Timers of BGP and BFD.
    pub timers: BgpTimers,
}

/// A port that leads to another switch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FabricPort {
    /// Index of the port on its switch.
    pub port: u32,
    /// Name under Linux, such as `up3` or `down0`: the role and the index among the ports of the role.
    pub interface: String,
    /// Own address of the /31.
    pub address: Ipv4Addr,
    /// Name of the switch at the far end.
    pub peer: String,
    /// Name of its port under Linux.
    pub peer_interface: String,
    /// Its address.
    pub peer_address: Ipv4Addr,
    /// Its AS number.
    pub peer_asn: u32,
    /// Capacity of the cable.
    pub capacity: Rate,
    /// Length of the cable in metres, at 5 ns each.
    pub metres: u32,
}

impl FabricPort {
    /// Whether the port leads away from the hosts.
    pub fn is_up(&self) -> bool {
        self.interface.starts_with("up")
    }
}

/// A NIC at a leaf.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Attachment {
    /// Name of the interface that routes: that of the bond where there is one, else of the port.
    pub interface: String,
    /// Index and Linux name of each port of this switch that the NIC has a cable into.
    pub members: Vec<(u32, String)>,
    /// Name of the NIC, such as `host-3/nic-1`.
    pub nic: String,
    /// Address of the NIC.
    pub address: Ipv4Addr,
    /// LACP key of the bond; none where the NIC has one port and so no bond.
    pub lacp_key: Option<u16>,
    /// Capacity of one port.
    pub capacity: Rate,
    /// Length of a cable in metres, at 5 ns each.
    pub metres: u32,
}

/// LACP of a leaf that shares its NICs with other leaves and has no link to them (HPN section 4.2).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DualTor {
    /// System id, the same in all leaves of the set.
    pub system_id: String,
    /// Added to the number of a port, which counts from 1: other in each leaf of the set, above 256.
    pub port_offset: u16,
    /// Address that hosts know their gateway by, the same in all leaves of the set.
    pub gateway_mac: String,
}

/// A static route that pins traffic for one NIC to an uplink (Meta RoCE section 4.1.2).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PinnedRoute {
    /// Address of the NIC.
    pub target: Ipv4Addr,
    /// Row of [`SwitchPlan::ports`].
    pub port: u32,
}

/// Timers of a BGP session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BgpTimers {
    /// Time from keepalive to keepalive, seconds.
    pub keepalive_s: u16,
    /// Time without keepalives after which a session is down, seconds.
    pub hold_s: u16,
    /// Time from one attempt to connect to the next, seconds.
    pub connect_s: u16,
    /// Interval of BFD in milliseconds and how many of them may be missed; none without BFD.
    pub bfd: Option<(u32, u8)>,
}

impl Default for BgpTimers {
    /// The fastest timers that BGP has, without BFD.
    fn default() -> Self {
        Self { keepalive_s: 1, hold_s: 3, connect_s: 1, bfd: None }
    }
}

/// The one class that loses nothing (Meta RoCE section 5.1), and what is beside it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LosslessClass {
    /// Its DSCP.
    pub dscp: u8,
    /// Its traffic class, queue, priority group and PFC priority, which are one number.
    pub priority: u8,
    /// DSCP of congestion notification packets.
    pub cnp_dscp: u8,
    /// Class of congestion notification packets, which goes before all others.
    pub cnp_priority: u8,
    /// Queue up to which nothing is marked.
    pub ecn_min: Bytes,
    /// Queue from which everything is marked.
    pub ecn_max: Bytes,
    /// Bytes of a priority group above which a pause frame is sent.
    pub pfc_threshold: Bytes,
    /// Time of a pause after which the watchdog drops (Meta RoCE section 6.3: 200 ms).
    pub watchdog_detection: SimTime,
    /// Time without a pause after which the watchdog forwards again.
    pub watchdog_restoration: SimTime,
}

impl Default for LosslessClass {
    /// DSCP 26 in class 3 and notifications as DSCP 48 in class 6, the defaults of ConnectX NICs. Marking begins at 1 MB
    /// and ends at 3 MB, below the 4 MB at which a port pauses: relaxed marking, as tight thresholds cost Meta 5 % (Meta
    /// RoCE section 5.2.1, figure 12).
    fn default() -> Self {
        Self {
            dscp: 26,
            priority: 3,
            cnp_dscp: 48,
            cnp_priority: 6,
            ecn_min: Bytes(1_000_000),
            ecn_max: Bytes(3_000_000),
            pfc_threshold: Bytes(4_000_000),
            watchdog_detection: SimTime::from_ns(200_000_000),
            watchdog_restoration: SimTime::from_ns(200_000_000),
        }
    }
}

impl LosslessClass {
    /// The byte in a packet: the DSCP, then two bits that say that the transport obeys marks.
    pub const fn traffic_class(&self) -> u8 {
        self.dscp << 2 | 2
    }

    /// The traffic class of each DSCP: the lossless one, that of notifications, and 0 for the rest.
    pub(super) fn class_of(&self, dscp: u8) -> u8 {
        match dscp {
            _ if dscp == self.dscp => self.priority,
            _ if dscp == self.cnp_dscp => self.cnp_priority,
            _ => 0,
        }
    }

    /// Bytes that arrive at a port after it has decided to pause the sender (IEEE 802.1Qbb, annex O): a round trip of the
    /// cable, one MTU that either end has begun to send, and 3,840 ns in which the sender reacts.
    pub(super) fn headroom(capacity: Rate, metres: u32) -> u64 {
        let wait = SimTime::from_ns(u64::from(metres) * 2 * NS_PER_METRE) + PAUSE_RESPONSE;
        let on_the_wire = u128::from(capacity.bits_per_s()) * u128::from(wait.ps()) / 8_000_000_000_000;
        u64::try_from(on_the_wire).unwrap_or(u64::MAX).saturating_add(2 * MTU)
    }
}

/// Time that a port takes to obey a pause frame: 60 quanta of 512 bits at 10 Gbps plus its interface (IEEE 802.1Qbb).
const PAUSE_RESPONSE: SimTime = SimTime::from_ns(3_840);

/// Propagation delay of a metre of fibre or copper.
pub(super) const NS_PER_METRE: u64 = 5;

/// Bytes of the largest frame.
pub(super) const MTU: u64 = 9_100;

/// One host.
#[derive(Clone, PartialEq, Debug)]
pub struct HostPlan {
    /// Name, such as `host-3`.
    pub name: String,
    /// NICs with a cable into a leaf, backend first.
    pub nics: Vec<HostNic>,
}

/// A NIC of a host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostNic {
    /// Name within the host, such as `nic-1`.
    pub name: String,
    /// Ports with a cable.
    pub ports: u32,
    /// Leaves that the NIC reaches, in order of its ports.
    pub leaves: Vec<String>,
    /// Address.
    pub address: Ipv4Addr,
    /// Network of the address.
    pub subnet: Subnet,
    /// Whether the network belongs to the frontend.
    pub is_frontend: bool,
}
