//! Dispatch and combine of mixtures of experts: tokens to the ranks that hold their experts, and results back.
//!
//! Two kernels of DeepEP (deepseek-ai/DeepEP, its README and tests): low-latency kernels send each token once for each
//! of its experts ([`Algorithm::Direct`](crate::Algorithm::Direct)), normal kernels once to each host, where NVLink
//! carries it on ([`Algorithm::Forward`](crate::Algorithm::Forward)).
//! Experts lie evenly on the ranks, and tokens choose them evenly.
use crate::collective::{Collective, bus_factor};
use crate::cost::Group;
use crate::direct::direct;
use crate::shape::{Edge, HostLayout, Member, Shape, by_host};

/// Bytes before each token of a dispatch: where it comes from (the `int4` of DeepEP's low-latency kernel).
const HEADER: u64 = 16;
/// Values that share one scale of four bytes in fp8.
const SCALED: u64 = 128;

railtwin_units::choice! {
    /// How a value of a token is sent.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
    pub enum Precision {
        /// One byte, and a scale of four bytes for each 128 values.
        Fp8 = "fp8",
        /// Two bytes.
        Bf16 = "bf16",
    }
}

impl Precision {
    /// Precision that DeepEP's kernels send by default: fp8 to experts, bf16 back.
    pub fn default_for(collective: Collective) -> Self {
        if collective == Collective::ExpertDispatch { Self::Fp8 } else { Self::Bf16 }
    }
}

/// Bytes of one token for one expert, `hidden` values: a dispatch has a header before it.
pub fn token_bytes(collective: Collective, precision: Precision, hidden: u64) -> u64 {
    let values = match precision {
        Precision::Fp8 => hidden + 4 * hidden.div_ceil(SCALED),
        Precision::Bf16 => 2 * hidden,
    };
    values + if collective == Collective::ExpertDispatch { HEADER } else { 0 }
}

/// Experts of a layer and how a token chooses them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Experts {
    /// Experts of the layer, over all ranks.
    pub total: u32,
    /// Experts of a token.
    pub top_k: u32,
    /// Most hosts that the experts of a token lie on; none where nothing limits them.
    pub most_hosts: Option<u32>,
}

impl Experts {
    /// Experts on other hosts than a rank's own: a rank sends each of them the number of its tokens, or a flag.
    pub fn on_other_hosts(&self, group: Group) -> u64 {
        let Group { ranks, local, .. } = group;
        u64::from(self.total) * u64::from(ranks.saturating_sub(local)) / u64::from(ranks.max(1))
    }

    /// Hosts and ranks, on average, that hold experts of one token, its own among them.
    ///
    /// A token chooses its experts out of those of `m` hosts, `top_k` of `p` at random. Of `p` experts a part of `e`
    /// has none of them with the probability C(p − e, k) / C(p, k).
    pub fn reach(&self, group: Group) -> (f64, f64) {
        let hosts = f64::from(group.hosts.max(1));
        let among = self.most_hosts.map_or(hosts, |most| f64::from(most).min(hosts));
        let of_host = f64::from(self.total) / hosts;
        let local = f64::from(group.local.max(1));
        let pool = of_host * among;
        let hit = |part: f64| {
            let without = (0..self.top_k).map(|drawn| {
                let left = pool - f64::from(drawn);
                if left > 0.0 { ((left - part) / left).max(0.0) } else { 0.0 }
            });
            1.0 - without.product::<f64>()
        };
        (among * hit(of_host), among * local * hit(of_host / local))
    }

    /// Bytes of a rank on its NIC and on its NVLink, one direction each, for each byte of the operation.
    pub fn carried(&self, group: Group) -> (f64, f64) {
        let (hosts, ranks) = self.reach(group);
        let (top_k, local) = (f64::from(self.top_k.max(1)), f64::from(group.local.max(1)));
        let away = 1.0 - 1.0 / f64::from(group.hosts.max(1));
        (hosts / top_k * away, ranks / top_k * (local - 1.0) / local)
    }
}

/// The same hosts without relays: these kernels send every message by the NIC of its sender.
pub(crate) fn without_relays(layout: &HostLayout) -> HostLayout {
    HostLayout { pxn: false, ..layout.clone() }
}

/// The bundles of an exchange whose tokens cross the network once for each host.
///
/// A dispatch sends what a rank has for another host to the rank of its own place there, which forwards it over NVLink in
/// step; a combine goes the same way back. One bundle for each rank and other host, one for each host inside.
/// Hosts without NVLink have [`direct`](crate::direct) exchanges instead.
pub fn forward(collective: Collective, members: &[Member], layout: &HostLayout, experts: Experts) -> Shape {
    let mut shape = Shape::default();
    let n = members.len() as u32;
    if n < 2 {
        return shape;
    }
    if !layout.nvlink {
        return direct(collective, members, &without_relays(layout));
    }
    let factor = bus_factor(collective, n);
    let hosts = by_host(members);
    let (reached, ranks) = experts.reach(Group::of_members(members));
    let top_k = f64::from(experts.top_k.max(1));
    // Bytes of a rank for one host and for one rank, for each byte of the operation.
    let (to_host, to_rank) = (reached / hosts.len() as f64 / top_k, ranks / f64::from(n) / top_k);
    for (row, host) in hosts.iter().enumerate() {
        let pairs = host.iter().flat_map(|&s| host.iter().map(move |&t| (s, t)));
        let inside = pairs.filter(|(s, t)| s.rank != t.rank);
        let edges = inside.flat_map(|(s, t)| crate::shape::message(layout, s, t, 1.0));
        shape.push(edges, to_rank, 1, factor);
        for other in hosts.iter().enumerate().filter(|&(other, _)| other != row).map(|(_, other)| other) {
            for (place, &rank) in host.iter().enumerate() {
                let at = other[place % other.len()];
                let edges = forwarded(collective, (rank, at), other, to_rank / to_host);
                shape.push(edges, to_host, 1, factor);
            }
        }
    }
    shape
}

/// The edges between `rank` and the ranks of another host by way of `at`; `each` = bytes of one of these ranks for each byte
/// on the network.
fn forwarded(collective: Collective, (rank, at): (Member, Member), host: &[Member], each: f64) -> Vec<Edge> {
    let is_dispatch = collective == Collective::ExpertDispatch;
    let hop = |member: &Member| {
        let (source_gpu, target_gpu) = if is_dispatch { (at.gpu, member.gpu) } else { (member.gpu, at.gpu) };
        Edge::Inside { host: at.host, source_gpu, target_gpu, amount: each }
    };
    let hops = host.iter().filter(|member| member.gpu != at.gpu).map(hop);
    let (source, target) = if is_dispatch { (rank, at) } else { (at, rank) };
    let network = Edge::Network {
        source_host: source.host,
        source_nic: source.nic,
        target_host: target.host,
        target_nic: target.nic,
        amount: 1.0,
    };
    // Before the network edge hops are relays that it waits for.
    if is_dispatch { std::iter::once(network).chain(hops).collect() } else { hops.chain([network]).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const V3: Experts = Experts { total: 256, top_k: 8, most_hosts: Some(4) };

    /// Bytes that a host sends over its NICs and over NVLink, for each byte of the operation.
    fn sent(shape: &Shape, host: u32) -> (f64, f64) {
        let (mut nic, mut nvlink) = (0.0, 0.0);
        for bundle in &shape.bundles {
            for edge in shape.edges_of(bundle) {
                match *edge {
                    Edge::Network { source_host, amount, .. } if source_host == host => {
                        nic += amount * bundle.volume;
                    }
                    Edge::Inside { host: own, amount, .. } if own == host => nvlink += amount * bundle.volume,
                    _ => {}
                }
            }
        }
        (nic, nvlink)
    }

    #[test]
    fn a_token_has_the_bytes_of_deepep() {
        // Its test counts 7,168 values in fp8 as 14,336 (1 + 4/128) / 2.
        assert_eq!(token_bytes(Collective::ExpertDispatch, Precision::Fp8, 7_168), 7_168 + 224 + 16);
        assert_eq!(token_bytes(Collective::ExpertDispatch, Precision::Bf16, 7_168), 14_352);
        assert_eq!(token_bytes(Collective::ExpertCombine, Precision::Bf16, 7_168), 14_336);
    }

    #[test]
    fn a_token_reaches_what_random_choices_reach() {
        // 1 - C(128, 8) / C(256, 8) of two hosts; ranks of 16 with 16 experts each.
        let (hosts, ranks) = V3.reach(Group::of(2, 8));
        assert!((hosts - 1.993_02).abs() < 1e-5 && (ranks - 6.523_28).abs() < 1e-5, "{hosts} {ranks}");
        // Out of four of eight hosts.
        let (hosts, ranks) = V3.reach(Group::of(8, 8));
        assert!((hosts - 3.629_01).abs() < 1e-5 && (ranks - 7.359_37).abs() < 1e-5, "{hosts} {ranks}");
        let all = Experts { total: 8, top_k: 8, most_hosts: None };
        assert_eq!(all.reach(Group::of(2, 4)), (2.0, 8.0));
        assert_eq!(V3.on_other_hosts(Group::of(2, 8)), 128);
        assert_eq!(V3.on_other_hosts(Group::of(1, 8)), 0);
    }

    proptest! {
        #[test]
        fn a_forwarded_exchange_carries_what_tokens_reach(
            hosts in 1u32..5, gpus in 1u32..9, top_k in 1u32..9, back: bool,
        ) {
            prop_assume!(hosts * gpus > 1);
            let collective = if back { Collective::ExpertCombine } else { Collective::ExpertDispatch };
            let place = |rank: u32| Member { rank, host: rank / gpus, gpu: rank % gpus, nic: rank % gpus };
            let members: Vec<Member> = (0..hosts * gpus).map(place).collect();
            let layout = HostLayout::new((0..gpus).collect(), true, true);
            let experts = Experts { total: 8 * hosts * gpus, top_k, most_hosts: None };
            let shape = forward(collective, &members, &layout, experts);
            let (nic, nvlink) = experts.carried(Group::of(hosts, gpus));
            for host in 0..hosts {
                let (on_nics, on_nvlink) = sent(&shape, host);
                prop_assert!((on_nics - f64::from(gpus) * nic).abs() < 1e-9, "{on_nics}");
                prop_assert!((on_nvlink - f64::from(gpus) * nvlink).abs() < 1e-9, "{on_nvlink}");
            }
            for edge in &shape.edges {
                if let Edge::Network { source_nic, target_nic, .. } = edge {
                    prop_assert_eq!(source_nic, target_nic);
                }
            }
        }
    }
}
