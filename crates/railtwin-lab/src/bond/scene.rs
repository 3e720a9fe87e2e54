//! The namespaces: `host` with a cable into each of `leaf-0` and `leaf-1`, and `remote` behind both leaves.
//!
//! | namespace | interfaces |
//! | --- | --- |
//! | `host` | `p0`, `p1` to the leaves; `b0`, the bond's, with the host's address |
//! | `leaf-0`, `leaf-1` | `down0` with the gateway's address and MAC address, one and the same on both; `up0` |
//! | `remote` | `r0`, `r1` to the leaves; its own address on `lo`, the host's network by both |
use std::fs::File;
use std::net::Ipv4Addr;
use std::path::Path;

use nix::sched::{CloneFlags, setns};
use railtwin_fabric::preset::Hpn;
use railtwin_formats::switch_config::{FabricPlan, PlanOptions, Subnet};
use railtwin_routing::protocol::lacp::Mac;
use railtwin_routing::protocol::set::DualTor;

use crate::host::{LabError, command};

/// Names of the leaves.
pub(super) const LEAVES: [&str; 2] = ["leaf-0", "leaf-1"];
/// Names of the host's ports.
pub(super) const PORTS: [&str; 2] = ["p0", "p1"];
/// Address of the host's bond.
pub(super) const HOST_MAC: Mac = Mac([2, 0, 0, 0, 2, 1]);
/// Address of the remote end.
pub(super) const REMOTE: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);

/// Numbers of the scene: those that an export gives the first NIC of a small HPN.
#[derive(Clone, Debug)]
pub(super) struct Numbers {
    /// Settings of the set of leaves.
    pub(super) set: DualTor,
    /// Leaf and port number there, from 1, of each cable.
    pub(super) ends: [(u32, u32); 2],
    /// Address of the gateway on both leaves.
    pub(super) gateway_mac: String,
    /// Address of the host.
    pub(super) address: Ipv4Addr,
    /// Its network.
    pub(super) subnet: Subnet,
}

impl Numbers {
    /// Plans the fabric, and takes the numbers of the leaves and of the NIC from the plan.
    ///
    /// # Errors
    /// The plan has no set of two leaves.
    pub(super) fn new() -> Result<Self, LabError> {
        let preset = Hpn {
            segments: Some(1),
            hosts: Some(1),
            spare_hosts: Some(0),
            spines: Some(4),
            ..Hpn::default()
        };
        let fabric = preset.build().map_err(|error| LabError(error.to_string()))?;
        let plan = FabricPlan::new(&fabric, &PlanOptions::default());
        let plan = plan.map_err(|error| LabError(error.to_string()))?;
        Self::of_plan(&plan).ok_or_else(|| LabError("the plan has no host on two leaves".into()))
    }

    fn of_plan(plan: &FabricPlan) -> Option<Self> {
        let nic = plan.hosts.first()?.nics.first()?;
        let of = |name: &String| {
            let leaf = plan.switches.iter().find(|switch| switch.name == *name)?;
            let attached = leaf.attachments.iter().find(|one| one.address == nic.address)?;
            let port = attached.members.first()?.0 + 1;
            Some((leaf.dual_tor.as_ref()?, attached.lacp_key?, port))
        };
        let [first, second] = &nic.leaves[..] else { return None };
        let (one, other) = (of(first)?, of(second)?);
        let set = DualTor {
            system: one.0.system_id.parse().ok()?,
            other_system: Some(other.0.system_id.parse().ok()?),
            key: one.1.into(),
            other_key: Some(other.1.into()),
            port_offset: one.0.port_offset.into(),
            other_port_offset: Some(other.0.port_offset.into()),
            ..DualTor::default()
        };
        Some(Self {
            set,
            ends: [(0, one.2), (1, other.2)],
            gateway_mac: one.0.gateway_mac.clone(),
            address: nic.address,
            subnet: nic.subnet,
        })
    }
}

/// Builds namespaces, links, addresses and routes within the private namespaces of this process. The bond's interface is
/// not there yet.
///
/// # Errors
/// A command of `ip` fails, or a setting of the kernel is refused.
pub(super) fn build(numbers: &Numbers) -> Result<(), LabError> {
    let Numbers { gateway_mac, address, subnet, .. } = numbers;
    command("mkdir -p /run/netns")?;
    command("mount -t tmpfs none /run/netns")?;
    for name in LEAVES.into_iter().chain(["host", "remote"]) {
        command(&format!("ip netns add {name}"))?;
        // Nothing but the scene's own frames.
        within(name, || set("net/ipv6/conf/all/disable_ipv6", "1"))?;
        command(&format!("ip -n {name} link set lo up"))?;
    }
    // The bond's ports are ports of a switch: they have no address, and do not answer for that of the bond.
    within("host", || set("net/ipv4/conf/all/arp_ignore", "1"))?;
    for (row, leaf) in LEAVES.into_iter().enumerate() {
        let (far, gateway) = (format!("198.51.100.{}", 2 * row), subnet.gateway());
        let near = format!("198.51.100.{}", 2 * row + 1);
        for words in [
            format!(
                "ip link add p{row} netns host address 02:00:00:00:01:0{row} type veth peer name down0 \
                 netns {leaf} address {gateway_mac}"
            ),
            format!("ip link add up0 netns {leaf} type veth peer name r{row} netns remote"),
            format!("ip -n host link set p{row} up"),
            format!("ip -n remote link set r{row} up"),
            format!("ip -n {leaf} link set down0 up"),
            format!("ip -n {leaf} link set up0 up"),
            format!("ip -n remote address add {far}/31 dev r{row}"),
            format!("ip -n {leaf} address add {near}/31 dev up0"),
            format!("ip -n {leaf} address add {gateway}/{} dev down0", subnet.prefix),
            format!("ip -n {leaf} route add {REMOTE}/32 via {far}"),
        ] {
            command(&words)?;
        }
        forward(row, true)?;
    }
    command(&format!("ip -n remote address add {REMOTE}/32 dev lo"))?;
    within("remote", || set("net/ipv4/fib_multipath_hash_policy", "1"))?;
    command(&format!("ip -n remote route add {address}/32 nexthop via 198.51.100.1 nexthop via 198.51.100.3"))
        .map(drop)
}

/// Gives the bond's interface its address. The gateway's MAC address, which is that of both leaves, stands by hand: the
/// host's own question for it would tell its address to one leaf, for some seconds.
///
/// # Errors
/// A command of `ip` fails.
pub(super) fn attach(numbers: &Numbers) -> Result<(), LabError> {
    let Numbers { gateway_mac, address, subnet, .. } = numbers;
    command("ip -n host link set b0 up")?;
    command(&format!("ip -n host address add {address}/{} dev b0", subnet.prefix))?;
    command(&format!("ip -n host route add default via {}", subnet.gateway()))?;
    let neighbor = format!("{} lladdr {gateway_mac} dev b0 nud permanent", subnet.gateway());
    command(&format!("ip -n host neigh replace {neighbor}")).map(drop)
}

/// Lets a leaf forward or not: a leaf that does not is a black hole, while all its links stay up.
///
/// # Errors
/// The kernel refuses.
pub(super) fn forward(leaf: usize, forwards: bool) -> Result<(), LabError> {
    within(LEAVES[leaf], || set("net/ipv4/ip_forward", if forwards { "1" } else { "0" }))
}

/// Lets both leaves learn hosts by gratuitous ARP, or not.
///
/// # Errors
/// The kernel refuses.
pub(super) fn accept_announcements(accepts: bool) -> Result<(), LabError> {
    let value = if accepts { "1" } else { "0" };
    LEAVES.iter().try_for_each(|leaf| within(leaf, || set("net/ipv4/conf/down0/arp_accept", value)))
}

/// Whether each leaf knows the host's MAC address.
///
/// # Errors
/// `ip` fails.
pub(super) fn knows_host(address: Ipv4Addr) -> Result<[bool; 2], LabError> {
    let mut known = [false; 2];
    for (row, leaf) in LEAVES.into_iter().enumerate() {
        let told = command(&format!("ip -n {leaf} neigh show {address} dev down0"))?;
        known[row] = told.contains("lladdr") && !told.contains("FAILED");
    }
    Ok(known)
}

/// Lets both leaves forget the host.
///
/// # Errors
/// `ip` fails.
pub(super) fn forget_host() -> Result<(), LabError> {
    LEAVES.iter().try_for_each(|leaf| command(&format!("ip -n {leaf} neigh flush all dev down0")).map(drop))
}

/// The leaf by which the remote end answers each source port of the host: look-ups of its route, `echo` being the port
/// that it answers from.
///
/// # Errors
/// `ip` fails, or names no leaf.
pub(super) fn ways_back(address: Ipv4Addr, echo: u16, ports: &[u16]) -> Result<Vec<usize>, LabError> {
    let of = |port: &u16| {
        let words =
            format!("ip -n remote route get {address} from {REMOTE} ipproto udp sport {echo} dport {port}");
        let told = command(&words)?;
        let leaf = ["via 198.51.100.1 ", "via 198.51.100.3 "].iter().position(|via| told.contains(via));
        leaf.ok_or_else(|| LabError(format!("{words}: no leaf in {:?}", told.trim())))
    };
    ports.iter().map(of).collect()
}

/// Does something in a namespace, by a thread of its own: sockets that it opens stay in the namespace.
///
/// # Errors
/// There is no such namespace; else as `work`.
pub(super) fn within<T: Send>(
    namespace: &str,
    work: impl FnOnce() -> Result<T, LabError> + Send,
) -> Result<T, LabError> {
    let path = Path::new("/run/netns").join(namespace);
    let failed = |problem: &dyn std::fmt::Display| LabError(format!("{}: {problem}", path.display()));
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let file = File::open(&path).map_err(|error| failed(&error))?;
            setns(file, CloneFlags::CLONE_NEWNET).map_err(|errno| failed(&errno))?;
            work()
        });
        thread.join().unwrap_or_else(|_| Err(failed(&"the thread in it ended badly")))
    })
}

/// Sets a value below `/proc/sys`, in the namespace of this thread.
fn set(name: &str, value: &str) -> Result<(), LabError> {
    let path = Path::new("/proc/sys").join(name);
    std::fs::write(&path, value).map_err(|error| LabError(format!("{}: {error}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_an_export() {
        let numbers = Numbers::new().expect("a small fabric");
        let [one, other] = numbers.ends.map(|(member, number)| numbers.set.port(member, number));
        assert_eq!((one.system, other.system, one.key == other.key), (Mac::SET, Mac::SET, true));
        assert_eq!((numbers.set.offset(0), numbers.set.offset(1)), (300, 600));
        assert_eq!(
            (u32::from(one.port), u32::from(other.port)),
            (300 + numbers.ends[0].1, 600 + numbers.ends[1].1)
        );
        assert_eq!(numbers.set.mistakes(), []);
        assert!(numbers.subnet.contains(numbers.address) && numbers.address != numbers.subnet.gateway());
        assert_eq!(numbers.gateway_mac, "00:00:5e:00:01:02");
    }
}
