//! The way of a packet through the switches.
use railtwin_fabric::{DeviceId, LinkId};
use railtwin_routing::{FiveTuple, HashKey, Landed, NicPort, Routing, nic_ip};

/// Ports of the source NIC in the order in which a queue pair tries them: its own, and when that leads nowhere
/// the bond moves it to the next (HPN section 4).
pub(crate) fn turns(ports: u32, queue_pair: u32) -> impl Iterator<Item = u32> + use<> {
    (0..ports).map(move |turn| (queue_pair + turn) % ports)
}

/// What switches hash of the packets of a queue pair whose number at the target is `number`.
pub(crate) fn key(source: DeviceId, target: DeviceId, number: u32, source_port: u16) -> HashKey {
    HashKey::of(FiveTuple::roce(nic_ip(source), nic_ip(target), source_port)).with_target_qp(number)
}

/// Appends the links that packets with `key` take, by the first port in turn that leads to the target; none where no
/// port does.
#[inline]
pub(crate) fn walk(
    routing: &Routing<'_>,
    source: DeviceId,
    target: DeviceId,
    mut turns: impl Iterator<Item = u32>,
    key: &HashKey,
    links: &mut Vec<LinkId>,
) -> Option<Landed> {
    turns.find_map(|port| routing.route(NicPort { nic: source, port }, target, key, links).ok())
}
