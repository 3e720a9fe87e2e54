//! The path of one packet from a port of a NIC to another NIC, switch by switch.

use railtwin_fabric::{DeviceId, Fabric, LinkId};
use thiserror::Error;

use crate::ecmp::EcmpConfig;
use crate::five_tuple::HashKey;
use crate::forwarding::Forwarding;
use crate::selection::{Hashed, Selection, slice_of};

/// IPv4 address of a NIC, in host order: 10.0.0.0/8 with device number + 1 in the low 24 bits.
/// All ports of a NIC share it (HPN section 5.1), whichever leaves they go to.
///
/// Unique in fabrics of up to 2^24 - 2 devices; beyond that addresses repeat.
#[inline]
pub const fn nic_ip(nic: DeviceId) -> u32 {
    0x0A00_0000 | (nic.0.wrapping_add(1) & 0x00FF_FFFF)
}

/// A backend port of a NIC, counted from 0: where a queue pair sends.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NicPort {
    /// The NIC.
    pub nic: DeviceId,
    /// Index of the port among the NIC's backend ports.
    pub port: u32,
}

/// Where a packet came out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Landed {
    /// Index of the port among the target NIC's backend ports.
    pub port_index: u32,
}

/// Why a packet has no way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum NoRoute {
    /// The NIC has no such port, or no cable in it.
    #[error("device {} has no cabled backend port {port}", nic.0)]
    NoSuchPort {
        /// The device asked for.
        nic: DeviceId,
        /// The port asked for.
        port: u32,
    },
    /// The access cable of the source port is dead; another port may do.
    #[error("the access cable of port {port} of NIC {} is down", nic.0)]
    SourcePortDown {
        /// The source NIC.
        nic: DeviceId,
        /// The source port.
        port: u32,
    },
    /// No leaf announces the target NIC: it is no backend NIC or all its access cables are dead.
    #[error("no leaf has a live link to device {}", nic.0)]
    TargetDown {
        /// The target NIC.
        nic: DeviceId,
    },
    /// A switch has no route to the target: another plane, another rail, or too many faults.
    #[error("switch {} has no route to NIC {}", switch.0, nic.0)]
    Unreachable {
        /// The switch where the packet ends.
        switch: DeviceId,
        /// The target NIC.
        nic: DeviceId,
    },
}

/// All that decides a path: the fabric, its converged tables and the hashes of its switches.
#[derive(Clone, Copy, Debug)]
pub struct Routing<'a> {
    /// The fabric.
    pub fabric: &'a Fabric,
    /// Tables made for that fabric.
    pub forwarding: &'a Forwarding,
    /// How switches choose.
    pub ecmp: &'a EcmpConfig,
    /// What they choose by.
    pub selection: Selection<'a>,
    /// Tables of the fabric without faults: what slices and destinations are counted over.
    pub whole: Option<&'a Forwarding>,
    /// Whether hashing counts over them too: a dead member's flows move, all others stay.
    pub resilient: bool,
}

/// What a switch does with a packet.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Choice<'a> {
    /// One way, whatever the key.
    Only(LinkId),
    /// One member of a group by hash.
    ByHash(Hashed<'a>),
}

impl<'a> Routing<'a> {
    /// Paths by the hashes of `ecmp` over the tables of `forwarding`, both made for `fabric`.
    #[inline]
    pub const fn new(fabric: &'a Fabric, forwarding: &'a Forwarding, ecmp: &'a EcmpConfig) -> Self {
        Self { fabric, forwarding, ecmp, selection: Selection::Hash, whole: None, resilient: false }
    }

    /// The same with another way to choose; `whole` are the tables without faults.
    #[inline]
    pub const fn with_selection(mut self, selection: Selection<'a>, whole: &'a Forwarding) -> Self {
        (self.selection, self.whole) = (selection, Some(whole));
        self
    }

    /// The same with resilient hashing; `whole` are the tables without faults.
    #[inline]
    pub const fn with_resilience(mut self, whole: &'a Forwarding) -> Self {
        (self.resilient, self.whole) = (true, Some(whole));
        self
    }

    /// Appends the links that a packet with `key` takes from `source` to `target_nic`: access
    /// link, links between switches, access link. No memory is allocated beyond `out`. The key's
    /// ingress port is set anew at each switch. `target_nic` may be the source itself; the packet
    /// then turns round at the leaf.
    ///
    /// # Errors
    /// [`NoRoute`]; `out` is then as before.
    #[inline]
    pub fn route(
        &self,
        source: NicPort,
        target_nic: DeviceId,
        key: &HashKey,
        out: &mut Vec<LinkId>,
    ) -> Result<Landed, NoRoute> {
        self.route_by(source, target_nic, key, out, |_, _| None)
    }

    /// As [`Self::route`], but `pick` is asked first wherever a switch has several links: with the row of the
    /// switch and the links; where it gives none the switch chooses.
    ///
    /// # Errors
    /// [`NoRoute`]; `out` is then as before.
    pub fn route_by(
        &self,
        source: NicPort,
        target_nic: DeviceId,
        key: &HashKey,
        out: &mut Vec<LinkId>,
        pick: impl FnMut(u32, &[LinkId]) -> Option<LinkId>,
    ) -> Result<Landed, NoRoute> {
        let before = out.len();
        let landed = self.walk(source, target_nic, key, out, pick);
        if landed.is_err() {
            out.truncate(before);
        }
        landed
    }

    fn walk(
        &self,
        source: NicPort,
        target_nic: DeviceId,
        key: &HashKey,
        out: &mut Vec<LinkId>,
        mut pick: impl FnMut(u32, &[LinkId]) -> Option<LinkId>,
    ) -> Result<Landed, NoRoute> {
        let (mut switch, mut link) = self.enter(source, target_nic)?;
        out.push(link);
        loop {
            link = match self.choose(switch, link, target_nic) {
                None => return Err(self.unreachable(switch, target_nic)),
                Some(Choice::Only(only)) => only,
                Some(Choice::ByHash(hashed)) => pick(switch, hashed.live).unwrap_or_else(|| {
                    let key = key.with_ingress_port(self.ingress_port(link));
                    hashed.link(hashed.spec.hash(&key))
                }),
            };
            out.push(link);
            match self.fabric.switch_row(self.fabric.target(link)) {
                Some(row) => switch = row,
                None => return Ok(self.landed(target_nic, link)),
            }
        }
    }

    /// The first leaf and the access link into it.
    pub(crate) fn enter(&self, source: NicPort, target_nic: DeviceId) -> Result<(u32, LinkId), NoRoute> {
        let NicPort { nic, port } = source;
        let access = self.forwarding.access(nic, port);
        let access = access.ok_or(NoRoute::NoSuchPort { nic, port })?;
        if self.forwarding.mask().is_down(access.link) {
            return Err(NoRoute::SourcePortDown { nic, port });
        }
        match self.forwarding.target_of(target_nic) {
            Some(_) => Ok((access.leaf, access.link)),
            None => Err(NoRoute::TargetDown { nic: target_nic }),
        }
    }

    /// What the switch in row `switch` does with packets for `target_nic` that came in by
    /// `arrival`; none if it has no route.
    #[inline]
    pub(crate) fn choose(&self, switch: u32, arrival: LinkId, target_nic: DeviceId) -> Option<Choice<'a>> {
        let group = self.forwarding.next_links(switch, target_nic);
        match group {
            [] => return None,
            [only] => return Some(Choice::Only(*only)),
            _ => {}
        }
        if self.ecmp.core_per_port {
            let fixed = self.fabric.host_of(target_nic).and_then(|host| {
                let pod = self.fabric.host(host).pod;
                self.forwarding.core_link(self.fabric, switch, arrival, pod)
            });
            if let Some(link) = fixed.filter(|link| group.contains(link)) {
                return Some(Choice::Only(link));
            }
        }
        let full = self.numbered(switch, target_nic, group);
        if let Some(link) =
            self.selected(switch, arrival, target_nic, full).filter(|link| group.contains(link))
        {
            return Some(Choice::Only(link));
        }
        let (_, place) = &self.fabric.switches()[switch as usize];
        let full = if self.resilient { full } else { group };
        Some(Choice::ByHash(Hashed { spec: self.ecmp.spec_at(place, switch), full, live: group }))
    }

    /// The members of a group by their numbers: those without faults where they are known.
    fn numbered(&self, switch: u32, target_nic: DeviceId, live: &'a [LinkId]) -> &'a [LinkId] {
        match self.whole.map(|whole| whole.next_links(switch, target_nic)) {
            Some(full) if live.iter().all(|link| full.contains(link)) => full,
            _ => live,
        }
    }

    /// The member that the switch wants whatever the hash.
    fn selected(
        &self,
        switch: u32,
        arrival: LinkId,
        target_nic: DeviceId,
        full: &[LinkId],
    ) -> Option<LinkId> {
        let tier = self.fabric.switches()[switch as usize].1.tier;
        match self.selection {
            Selection::Hash => None,
            Selection::Slice if tier > 1 => None,
            Selection::Slice => {
                let slice = slice_of(self.fabric, self.forwarding, target_nic)?;
                Some(full[slice as usize % full.len()])
            }
            Selection::Entries(entries) => entries.lookup(arrival, target_nic),
            Selection::DModK(order) => {
                // Down parallel cables packets spread as they would up them: by the digit of the tier below.
                let far = self.fabric.place(self.fabric.target(full[0])).map_or(0, |place| place.tier);
                Some(full[order.member(tier.min(far), target_nic, full.len())])
            }
        }
    }

    /// Number of the port by which a link enters its device.
    #[inline]
    pub(crate) fn ingress_port(&self, link: LinkId) -> u32 {
        let side = usize::from(link.0 & 1 == 0);
        self.fabric.port_index(self.fabric.cable_ports(link.cable())[side])
    }

    #[inline]
    pub(crate) fn landed(&self, target_nic: DeviceId, last: LinkId) -> Landed {
        let mut accesses = self.forwarding.accesses(target_nic).iter();
        let access = accesses.find(|access| access.link == last.reverse());
        let port_index = access.expect("the last hop is one of the NIC's access links").port;
        Landed { port_index }
    }

    pub(crate) fn unreachable(&self, switch: u32, nic: DeviceId) -> NoRoute {
        let switch = self.fabric.switches()[switch as usize].0;
        NoRoute::Unreachable { switch, nic }
    }
}
