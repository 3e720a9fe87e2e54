//! Namespaces behind one bridge: `r0` … with the interface `eth0`, whose other end at the bridge is `v0` ….
use std::net::Ipv4Addr;

use crate::host::{LabError, command, of_output};
use crate::netns::own_namespaces;
use crate::plant::Drop;

/// Rate of a link, Mbit/s: the kernel forwards eight of them on two cores without being the bottleneck.
const RATE_MBIT: u32 = 400;

/// The address of a rank.
pub fn address(rank: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 77, 0, rank as u8 + 1)
}

/// One end of the link of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkEnd {
    /// The rank's NIC: what the rank sends.
    Rank(usize),
    /// The port of the switch: what the rank receives.
    Switch(usize),
}

impl LinkEnd {
    /// The beginning of a `tc` command on this end: `tc`, and the namespace.
    fn tc(self) -> String {
        match self {
            Self::Rank(rank) => format!("tc -n r{rank}"),
            Self::Switch(_) => "tc".into(),
        }
    }

    fn device(self) -> String {
        match self {
            Self::Rank(_) => "eth0".into(),
            Self::Switch(rank) => format!("v{rank}"),
        }
    }
}

/// Builds bridge, namespaces and links, within the private namespaces of this process.
///
/// # Errors
/// A command of `ip` or `tc` fails.
pub fn build(ranks: usize) -> Result<(), LabError> {
    own_namespaces()?;
    command("ip link add br0 type bridge")?;
    command("ip link set br0 up")?;
    for rank in 0..ranks {
        command(&format!("ip netns add r{rank}"))?;
        let (there, here) = (format!("02:00:00:00:01:{rank:02x}"), format!("02:00:00:00:02:{rank:02x}"));
        command(&format!(
            "ip link add v{rank} address {here} type veth peer name eth0 address {there} netns r{rank}"
        ))?;
        // A packet that is lost is then at most this long, and none is longer than the burst.
        command(&format!("ip link set v{rank} gso_max_size 16384 master br0 up"))?;
        command(&format!("ip -n r{rank} link set eth0 gso_max_size 16384 up"))?;
        command(&format!("ip -n r{rank} link set lo up"))?;
        command(&format!("ip -n r{rank} address add {}/24 dev eth0", address(rank)))?;
        for end in [LinkEnd::Rank(rank), LinkEnd::Switch(rank)] {
            rate("add", end, RATE_MBIT)?;
            command(&format!("{} qdisc add dev {} clsact", end.tc(), end.device()))?;
        }
    }
    Ok(())
}

fn rate(verb: &str, end: LinkEnd, mbit: u32) -> Result<(), LabError> {
    let (tc, device) = (end.tc(), end.device());
    command(&format!("{tc} qdisc {verb} dev {device} root tbf rate {mbit}mbit burst 128kb limit 1mb"))
        .map(drop)
}

/// Throttles an end to a tenth.
///
/// # Errors
/// `tc` fails.
pub fn throttle(end: LinkEnd) -> Result<(), LabError> {
    rate("change", end, RATE_MBIT / 10)
}

/// Gives an end its rate back.
///
/// # Errors
/// `tc` fails.
pub fn unthrottle(end: LinkEnd) -> Result<(), LabError> {
    rate("change", end, RATE_MBIT)
}

/// Drops a share of what comes from a rank, or of what goes to it, at the port of the switch: the sender does not notice.
///
/// # Errors
/// `tc` fails.
pub fn drop_share(rank: usize, is_from_rank: bool, share: f64) -> Result<(), LabError> {
    let side = if is_from_rank { "ingress" } else { "egress" };
    let program = Drop::Share(share).program();
    let shown = format!("tc filter add dev v{rank} {side}");
    let mut words = std::process::Command::new("tc");
    words.args(["filter", "add", "dev", &format!("v{rank}"), side, "bpf", "da", "bytecode", &program]);
    of_output(&shown, &mut words).map(drop)
}

/// Drops nothing any more.
///
/// # Errors
/// `tc` fails.
pub fn drop_nothing(rank: usize) -> Result<(), LabError> {
    for side in ["ingress", "egress"] {
        command(&format!("tc filter del dev v{rank} {side}"))?;
    }
    Ok(())
}
