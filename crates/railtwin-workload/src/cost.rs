//! What hosts add to a collective: the protocol that its bytes travel by, the latency of its steps, and the bus bandwidth
//! that GPUs and NVSwitch reach together.
//!
//! One form for all algorithms, t = l + f(n) B / min(b, network): l is the latency of all serial steps, b the bus
//! bandwidth of the hosts, f the bus factor. NCCL's tuner has the same form (its src/graph/tuning.cc).
use railtwin_units::{Rate, SimTime};

use crate::collective::{Algorithm, Collective};
use crate::shape::Member;

railtwin_units::choice! {
    /// How NCCL tells a receiver that data is there.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
    pub enum Protocol {
        /// 4 bytes of flag beside 4 bytes of data.
        Ll = "ll",
        /// 8 bytes of flag in 128.
        Ll128 = "ll128",
        /// Whole chunks, then a fence and a flag.
        #[default]
        Simple = "simple",
    }
}

impl Protocol {
    /// Bytes moved for each byte of data.
    pub fn expansion(self) -> f64 {
        match self {
            Self::Ll => 2.0,
            Self::Ll128 => 128.0 / 120.0,
            Self::Simple => 1.0,
        }
    }
}

/// What hosts add to a pattern's operations.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Cost {
    /// How bytes travel.
    pub protocol: Protocol,
    /// Of all serial steps together.
    pub latency: SimTime,
    /// Most bus bandwidth; none where only links limit.
    pub busbw: Option<Rate>,
}

/// A communicator as costs see it: how many ranks on how many hosts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Group {
    /// Ranks.
    pub ranks: u32,
    /// Hosts.
    pub hosts: u32,
    /// Ranks of the host that has most of them.
    pub local: u32,
}

impl Group {
    /// Of whole hosts.
    pub const fn of(hosts: u32, local: u32) -> Self {
        Self { ranks: hosts * local, hosts, local }
    }

    /// Of a communicator's members.
    pub fn of_members(members: &[Member]) -> Self {
        let hosts = crate::shape::by_host(members);
        let local = hosts.iter().map(Vec::len).max().unwrap_or(0);
        Self { ranks: members.len() as u32, hosts: hosts.len() as u32, local: local as u32 }
    }
}

/// Serial steps of a collective, each of which pays latency once: hops of a ring, edges of a tree up and down, phases in
/// and out of the NVSwitch, distances of parallel aggregated trees, peers of a direct exchange that a rank starts one after the other.
pub fn steps(collective: Collective, algorithm: Algorithm, group: Group) -> u32 {
    let Group { ranks, hosts, local } = group;
    let depth = hosts.max(1).next_power_of_two().trailing_zeros();
    let peers = ranks.saturating_sub(1);
    match algorithm {
        _ if ranks < 2 => 0,
        Algorithm::Ring if collective == Collective::AllReduce => 2 * peers,
        Algorithm::Ring => peers,
        Algorithm::Tree => 2 * (depth + local.saturating_sub(1)),
        Algorithm::Nvls => 2,
        Algorithm::NvlsRing => 2 * hosts.saturating_sub(1) + 2,
        Algorithm::NvlsTree => 2 * depth + 2,
        Algorithm::Pat => depth,
        Algorithm::Direct if collective == Collective::SendReceive => 1,
        // One kernel each, whatever the number of peers.
        Algorithm::Forward => 1,
        Algorithm::Direct if collective.is_of_experts() => 1,
        Algorithm::Direct => peers,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extent::shape_of;
    use crate::shape::HostLayout;

    /// Steps are the stages of the shape, but for a direct exchange, whose messages are free of each other.
    #[test]
    fn steps_are_the_stages_of_the_shape() {
        let layout = HostLayout::new((0..8).collect(), true, true);
        for (hosts, local) in [(1, 8), (2, 1), (2, 8), (5, 4), (10, 8)] {
            let place = |rank: u32| Member { rank, host: rank / local, gpu: rank % local, nic: rank % local };
            let members: Vec<Member> = (0..hosts * local).map(place).collect();
            let group = Group::of_members(&members);
            assert_eq!(group, Group::of(hosts, local));
            for (collective, algorithm) in [
                (Collective::AllReduce, Algorithm::Ring),
                (Collective::AllGather, Algorithm::Ring),
                (Collective::AllReduce, Algorithm::Tree),
                (Collective::AllReduce, Algorithm::Nvls),
                (Collective::AllReduce, Algorithm::NvlsRing),
                (Collective::AllReduce, Algorithm::NvlsTree),
                (Collective::AllGather, Algorithm::Pat),
            ] {
                // Without a switch's worth of GPUs, or with NVLS over several hosts, there are rings instead; for
                // aggregated trees with several ranks on a host.
                let fallback = match algorithm {
                    Algorithm::Nvls => hosts > 1,
                    Algorithm::NvlsRing | Algorithm::NvlsTree => local < 2,
                    Algorithm::Pat => local > 1,
                    _ => false,
                };
                let meant = if fallback { Algorithm::Ring } else { algorithm };
                let shape = shape_of(collective, algorithm, &members, &layout);
                let stages = shape.bundles.iter().map(|bundle| bundle.stages).max().unwrap();
                let ours = steps(collective, meant, group);
                assert_eq!(ours, stages, "{collective} {algorithm} {hosts} x {local}");
            }
        }
        assert_eq!(steps(Collective::AllToAll, Algorithm::Direct, Group::of(10, 8)), 79);
        assert_eq!(steps(Collective::ExpertDispatch, Algorithm::Direct, Group::of(10, 8)), 1);
    }
}
