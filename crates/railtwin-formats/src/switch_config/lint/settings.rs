//! Settings of a dual-ToR fabric and its hosts, as a file says them.
use railtwin_units::keys::{Kind, whole};
use railtwin_units::{Bytes, SimTime};

/// Version of the format.
const SCHEMA: u32 = 1;

railtwin_units::section! {
    /// Settings that the linter judges.
    #[derive(Clone, Debug, PartialEq)]
    pub struct ConfigSettings "settings of a network" {
        /// Version of the format.
        pub schema: u32 [Kind::Version] = SCHEMA,
        /// Routing daemons of all leaves.
        pub daemons: DaemonSettings = DaemonSettings::default(),
        /// Leaves of dual-ToR sets.
        pub leaves as "leaf": Vec<LeafSettings> = Vec::new(),
        /// Hashes of switches.
        pub switches as "switch": Vec<HashSettings> = Vec::new(),
        /// Quality of service, of switches and hosts that have it alike.
        pub qos as "qos": Vec<QosSettings> = Vec::new(),
        /// Hosts.
        pub hosts: HostSettings = HostSettings::default(),
        /// What makes RoCE fast beside the network (Meta RoCE section 6.1).
        pub checklist: Checklist = Checklist::default(),
    }
}

railtwin_units::choice! {
    /// What happens to the hosts of a leaf whose routing daemon is dead.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum DeadDaemon {
        /// Nothing: ports stay up.
        Nothing = "nothing",
        /// LACP ends with BGP, so that hosts take the leaf out of their bonds.
        Lacp = "lacp",
        /// A watcher takes ports of hosts down while no BGP session stands.
        Watcher = "watcher",
        /// The daemon is started again, in a time that `restart` says.
        Restart = "restart",
    }
}

railtwin_units::section! {
    /// Routing daemons.
    #[derive(Clone, Debug, PartialEq)]
    pub struct DaemonSettings "[daemons]" {
        /// What happens to hosts of a leaf whose daemon is dead.
        pub dead: DeadDaemon = DeadDaemon::Nothing,
        /// Time in which a dead daemon is back; default unknown.
        pub restart: Option<SimTime> [Kind::Span] = None,
        /// Interval of BFD; default no BFD.
        pub bfd: Option<SimTime> [Kind::Span] = None,
        /// Whether sessions have graceful restart.
        pub graceful_restart: bool = false,
        /// Whether zebra installs next-hop objects, as it does unless it is told not to.
        pub next_hop_objects: bool = false,
    }
}

railtwin_units::section! {
    /// A leaf of a set.
    #[derive(Clone, Debug, PartialEq)]
    pub struct LeafSettings "[[leaf]]" {
        /// Name.
        pub name: String,
        /// The set that it is in.
        pub set: String,
        /// Network of its hosts, such as 10.0.0.0/24; default that of no other set.
        pub subnet: Option<String> = None,
        /// System id of LACP, such as 00:00:5e:00:01:01; default none.
        pub system_id: Option<String> = None,
        /// Offset of the port ids of LACP; default 0.
        pub port_offset: Option<u32> [whole(0..=65_535)] = None::<u32>,
        /// Ports towards hosts, numbered from 1.
        pub ports: u32 [whole(1..=65_535)] = 128,
        /// Keys of LACP in order of ports, or one for all of them; default what the leaf counts by itself.
        pub lacp_keys: Vec<u32> = Vec::<u32>::new(),
        /// Whether a link to the other leaf of the set synchronises both (vPC, M-LAG, stacking).
        pub stacked: bool = false,
        /// Version of the software; default unknown.
        pub version: Option<String> = None,
        /// Whether it answers ARP for all, so that hosts of one network are routed to each other.
        pub arp_proxy: bool = true,
        /// Life of a MAC address in its table.
        pub mac_aging: SimTime = SimTime::from_ns(300_000_000_000),
    }
}

railtwin_units::section! {
    /// The hash of a switch.
    #[derive(Clone, Debug, PartialEq)]
    pub struct HashSettings "[[switch]]" {
        /// Name.
        pub name: String,
        /// Tier from the hosts: 1 = leaf, 2 = spine, 3 = core.
        pub tier: u32 [whole(1..=6)],
        /// Seed.
        pub hash_seed: u32,
        /// Hash policy of a Linux switch (`fib_multipath_hash_policy`); default no Linux.
        pub hash_policy: Option<u32> [whole(0..=3)] = None,
    }
}

railtwin_units::section! {
    /// Quality of service.
    #[derive(Clone, Debug, PartialEq)]
    pub struct QosSettings "[[qos]]" {
        /// The switches or hosts that have it, such as leaves or hosts.
        pub on: String,
        /// Classes that ports pause.
        pub lossless: Vec<u32> = Vec::<u32>::new(),
        /// DSCPs of these classes.
        pub dscp: Vec<u32> = Vec::<u32>::new(),
        /// Whether a watchdog ends long pauses; it has no meaning on hosts.
        pub watchdog: bool = true,
        /// Queue from which packets are marked; default no marks.
        pub ecn_min: Option<Bytes> = None,
        /// Queue from which all packets are marked.
        pub ecn_max: Option<Bytes> = None,
        /// Bytes at which a port pauses; default unknown.
        pub pfc: Option<Bytes> = None,
    }
}

railtwin_units::section! {
    /// Hosts.
    #[derive(Clone, Debug, PartialEq)]
    pub struct HostSettings "[hosts]" {
        /// Whether each ARP message goes out by all ports of a bond; default not said.
        pub arp_to_both: Option<bool> = None,
    }
}

railtwin_units::section! {
    /// Settings of RoCE that no switch shows; default not said.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Checklist "[checklist]" {
        /// Whether PCIe credits of NICs are raised.
        pub pcie_credits: Option<bool> = None,
        /// Whether PCIe may reorder.
        pub relaxed_ordering: Option<bool> = None,
        /// Whether ranks are placed by the network.
        pub topology_aware_ranks: Option<bool> = None,
        /// Whether messages of no bytes are eliminated.
        pub zero_byte_messages_eliminated: Option<bool> = None,
    }
}
