//! Rates of interfaces, and packets that they drop, by the kernel's traffic control.

use crate::host::{LabError, command_in, of_output};

/// Lines for `tc -batch` that limit what leaves by an interface.
///
/// A hierarchical token bucket never cuts a segment that is longer than its burst, as TBF does. Packets of less than 128
/// bytes (acknowledgements, keepalives of BGP) have a class of their own: behind data of the other direction they would cost
/// throughput. The queue is deep, so that nothing is lost and equal windows share a link equally.
pub(super) fn limit(interface: &str, mbit: u64) -> String {
    format!(
        "qdisc add dev {interface} root handle 1: htb default 10\n\
         class add dev {interface} parent 1: classid 1:10 htb rate {mbit}mbit burst 32kb cburst 32kb\n\
         class add dev {interface} parent 1: classid 1:20 htb rate 2gbit burst 32kb cburst 32kb\n\
         qdisc add dev {interface} parent 1:10 pfifo limit 4000\n\
         qdisc add dev {interface} parent 1:20 pfifo limit 4000\n\
         filter add dev {interface} parent 1: protocol ip prio 1 u32 match u16 0x0000 0xff80 at 2 flowid 1:20\n\
         qdisc add dev {interface} clsact\n"
    )
}

/// Packets that an interface drops on their way out, so that the sender does not notice.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Drop {
    /// All.
    All,
    /// IPv4 packets that are neither BGP nor BFD; ARP and LACP pass.
    Data,
    /// Each with this probability.
    Share(f64),
}

impl Drop {
    /// Classic BPF, as `tc` takes it: 2 drops, all ones go on.
    pub(crate) fn program(self) -> String {
        const PASS: u32 = u32::MAX;
        match self {
            Self::All => "1,6 0 0 2,".to_owned(),
            // An ancillary load of a random number, and a jump at the threshold.
            Self::Share(share) if share < 1.0 => {
                let kept = ((1.0 - share.max(0.0)) * 4_294_967_296.0) as u64;
                let kept = kept.min(u64::from(u32::MAX));
                format!("4,32 0 0 4294963256,37 0 1 {kept},6 0 0 2,6 0 0 {PASS},")
            }
            Self::Share(_) => Self::All.program(),
            // The packet begins with its Ethernet header. Protocol at 23, source and destination port behind the IP header
            // of 20 bytes at 34 and 36: TCP with port 179 passes, and UDP to port 3784 (BFD, RFC 5881).
            Self::Data => format!(
                "12,40 0 0 12,21 0 9 2048,48 0 0 23,21 0 4 6,40 0 0 34,21 5 0 179,40 0 0 36,21 3 2 179,40 0 0 36,\
                 21 1 0 3784,6 0 0 2,6 0 0 {PASS},"
            ),
        }
    }
}

/// Lets an interface drop packets on their way out, in place of those that it dropped before.
///
/// # Errors
/// `tc` fails.
pub(crate) fn drop_packets(node: &str, interface: &str, what: Drop) -> Result<(), LabError> {
    stop_dropping(node, interface)?;
    let program = what.program();
    let mut command = command_in(node, "tc");
    command.args(["filter", "add", "dev", interface, "egress", "bpf", "da", "bytecode", &program]);
    of_output(&format!("{node}: tc filter add dev {interface} egress"), &mut command).map(drop)
}

/// Lets an interface drop nothing any more.
///
/// # Errors
/// `tc` fails.
pub(crate) fn stop_dropping(node: &str, interface: &str) -> Result<(), LabError> {
    let mut command = command_in(node, "tc");
    command.args(["filter", "del", "dev", interface, "egress"]);
    of_output(&format!("{node}: tc filter del dev {interface} egress"), &mut command).map(drop)
}
