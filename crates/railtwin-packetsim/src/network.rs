//! What does not change in a run: devices with dense numbers, their ports and lines, the routes of queue pairs.
use railtwin_engine::Case;
use railtwin_engine::balancer::BySwitch;
use railtwin_engine::choose::ChosenPaths;
use railtwin_engine::host_costs::contexts_of;
use railtwin_engine::packet::SwitchModel;
use railtwin_fabric::{CableClass, DeviceId, Fabric, LinkId};
use railtwin_routing::Forwarding;
use railtwin_units::{Rate, SimTime};

use crate::packet::{BY_SWITCH, LEVEL};
use crate::places::{Place, places};

/// How long bytes take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Speed {
    /// Picoseconds of a byte; 0 where that is no whole number.
    whole: u64,
    bits_per_s: u64,
}

impl Speed {
    /// A byte in each nanosecond.
    #[cfg(test)]
    pub(crate) const NS_EACH: Self = Self { whole: 1_000, bits_per_s: 8_000_000_000 };

    /// Of a rate.
    pub fn of(rate: Rate) -> Self {
        let bits_per_s = rate.bits_per_s().max(1);
        let divides = 8_000_000_000_000_u64.is_multiple_of(bits_per_s);
        Self { whole: if divides { 8_000_000_000_000 / bits_per_s } else { 0 }, bits_per_s }
    }

    /// Time of so many bytes in ps, rounded to the nearest; never where that is later than any time.
    #[inline]
    pub fn time(self, bytes: u64) -> u64 {
        if self.whole != 0 {
            return bytes.saturating_mul(self.whole);
        }
        let bits_ps = u128::from(bytes) * 8_000_000_000_000;
        let rate = u128::from(self.bits_per_s);
        u64::try_from((bits_ps + rate / 2) / rate).unwrap_or(u64::MAX)
    }

    /// Bytes per second.
    pub fn bytes_per_s(self) -> f64 {
        self.bits_per_s as f64 / 8.0
    }

    /// Bits per second.
    pub const fn bits_per_s(self) -> u64 {
        self.bits_per_s
    }
}

/// Bytes after which a switch that cuts through begins to forward.
pub const CUT: u64 = 64;

/// The link that leaves a port.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Line {
    /// Its id in the fabric.
    pub link: u32,
    /// Device at its other end.
    pub target: u32,
    /// Port there.
    pub target_port: u16,
    /// Whether the device there forwards before the whole packet is in.
    pub cuts_through: bool,
    /// How long bytes take.
    pub speed: Speed,
    /// From the last bit's departure until the device there may act on it: propagation and the latency of a switch.
    pub delay: u64,
    /// Propagation alone: what a pause frame takes, which switches treat in hardware.
    pub propagation: u64,
}

/// Routes by what is known at one time.
#[derive(Debug, Default)]
pub struct Epoch {
    /// When devices begin to follow them.
    pub at: SimTime,
    /// First hop of each queue pair's data and of its acknowledgements; where nobody knows a way, out of its NIC and
    /// no further. None without a cable.
    start: Vec<[u32; 2]>,
    /// Level of each queue pair's priority; empty where there is one.
    levels: Vec<u8>,
    /// For switches that choose.
    pub forwarding: Option<Forwarding>,
}

/// Where a packet begins: its egress port and the rest of its route.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Start {
    /// Port of the host.
    pub port: u16,
    /// Next hop, and the level of its priority, as in a packet.
    pub route: u32,
}

impl Start {
    /// The level of its priority.
    #[inline]
    pub const fn level(self) -> usize {
        (self.route >> LEVEL) as usize
    }
}

const NO_ROUTE: u32 = u32::MAX;
/// A hop that no port leads to: the switch that finds it in a packet loses the packet.
pub const NOWHERE: u16 = u16::MAX;

/// All of it.
#[derive(Debug)]
pub struct Network<'a> {
    /// The case.
    pub case: &'a Case,
    /// Devices by number.
    pub places: Vec<Place>,
    /// Number of each host.
    pub host_at: Vec<u32>,
    /// Number of each switch, by row.
    pub switch_at: Vec<u32>,
    /// First device of each thread, and the end.
    pub parts: Vec<u32>,
    /// CSR: lines of device `n` are `lines[start[n]..start[n + 1]]`, by port.
    line_start: Vec<u32>,
    lines: Vec<Line>,
    /// Port of each link at its source, by link.
    port_of: Vec<u16>,
    /// How switches choose for packets as they come; none where these follow written routes.
    pub by_switch: Option<BySwitch>,
    /// Source and target NIC of each queue pair.
    pub ends: Vec<[DeviceId; 2]>,
    /// Contexts of queue pairs of each device of the fabric.
    pub contexts: Vec<u32>,
    /// Egress ports, hop after hop, of all routes that ever hold.
    hops: Vec<u16>,
    /// Routes in order of time; the first from the start.
    pub epochs: Vec<Epoch>,
    /// Levels of priority that a queue may have.
    pub levels: usize,
    /// Least time between an act of one device and its effect on another, ps.
    pub lookahead: u64,
    /// Unloaded round trip over the longest path of a full packet and its acknowledgement, ps.
    pub base_round_trip: u64,
}

/// Longest window: beyond it nothing is gained, and times within it fit 21 bits.
const LOOKAHEAD_MAX: u64 = 2_000_000;

/// What a switch of a tier is.
pub fn model_of(case: &Case, row: u32) -> SwitchModel {
    let tier = case.fabric.switches()[row as usize].1.tier;
    case.packets.tiers[usize::from(tier.clamp(1, 3)) - 1]
}

/// Whether a link runs between NICs and switches.
pub fn is_network(fabric: &Fabric, link: LinkId) -> bool {
    matches!(
        fabric.cable_class(link.cable()),
        CableClass::Access | CableClass::LeafSpine | CableClass::SpineCore
    )
}

impl<'a> Network<'a> {
    /// Numbers devices so that each of `threads` has neighbors together, and finds all lines.
    ///
    /// # Panics
    /// When a full packet has more than 65,535 bytes on the wire; scenarios cannot ask for that.
    pub fn new(case: &'a Case, ends: Vec<[DeviceId; 2]>, threads: u32) -> Self {
        let fabric = &*case.fabric;
        let full = case.packets.keys.full();
        assert!(full <= u64::from(u16::MAX), "a packet has at most 65,535 bytes on the wire, not {full}");
        let (places, parts) = places(fabric, threads);
        let mut network = Self {
            case,
            places,
            host_at: vec![0; fabric.hosts().len()],
            switch_at: vec![0; fabric.switches().len()],
            parts,
            line_start: vec![0],
            lines: Vec::new(),
            port_of: vec![0; fabric.link_count()],
            by_switch: case.routing.balancer.properties().by_switch,
            contexts: contexts_of(case, ends.iter().map(|&nics| (nics, 1))),
            ends,
            hops: Vec::new(),
            epochs: Vec::new(),
            levels: 1,
            lookahead: LOOKAHEAD_MAX,
            base_round_trip: 0,
        };
        network.number();
        network.wire();
        network
    }

    fn number(&mut self) {
        for (number, place) in (0..).zip(&self.places) {
            match *place {
                Place::Host(host) => self.host_at[host as usize] = number,
                Place::Switch(row) => self.switch_at[row as usize] = number,
            }
        }
    }

    fn wire(&mut self) {
        let fabric = &*self.case.fabric;
        let links_of = |place: &Place| -> Vec<LinkId> {
            let devices: Vec<DeviceId> = match *place {
                Place::Host(host) => {
                    let host = railtwin_fabric::HostId(host);
                    (0..fabric.host_model(host).nics).map(|nic| fabric.nic(host, nic)).collect()
                }
                Place::Switch(row) => vec![fabric.switches()[row as usize].0],
            };
            let links = devices.into_iter().flat_map(|device| fabric.neighbors(device).iter());
            links.map(|(link, _)| *link).filter(|&link| is_network(fabric, link)).collect()
        };
        let all: Vec<Vec<LinkId>> = self.places.iter().map(links_of).collect();
        for links in &all {
            for (port, link) in links.iter().enumerate() {
                self.port_of[link.index()] =
                    u16::try_from(port).expect("a device has fewer than 65,536 ports");
            }
        }
        let wire = self.case.packets.keys.wire();
        let least = u64::from(wire.control.min(wire.header)).min(CUT);
        for links in &all {
            for &link in links {
                let line = self.line_of(link);
                let soonest = line.propagation.saturating_add(line.speed.time(least));
                self.lookahead = self.lookahead.min(soonest.max(1));
                self.lines.push(line);
            }
            self.line_start.push(self.lines.len() as u32);
        }
    }

    fn line_of(&self, link: LinkId) -> Line {
        let fabric = &*self.case.fabric;
        let target = fabric.target(link);
        let (number, latency, cuts_through) = match fabric.switch_row(target) {
            Some(row) => {
                let cuts = model_of(self.case, row).cut_through;
                (self.switch_at[row as usize], fabric.switch_latency(), cuts)
            }
            None => {
                let host = fabric.host_of(target).expect("what is no switch belongs to a host");
                (self.host_at[host.index()], SimTime::ZERO, false)
            }
        };
        Line {
            link: link.0,
            target: number,
            target_port: self.port_of[link.reverse().index()],
            cuts_through,
            speed: Speed::of(fabric.capacity(link)),
            delay: (fabric.delay(link) + latency).ps(),
            propagation: fabric.delay(link).ps(),
        }
    }

    /// Lines of a device, by port.
    pub fn lines(&self, node: u32) -> &[Line] {
        &self.lines[self.line_start[node as usize] as usize..self.line_start[node as usize + 1] as usize]
    }

    /// Port of a link at its source.
    #[inline]
    pub fn port_of(&self, link: LinkId) -> u16 {
        self.port_of[link.index()]
    }

    /// The line of a link.
    pub fn line(&self, link: LinkId) -> &Line {
        let fabric = &*self.case.fabric;
        let source = fabric.source(link);
        let node = match fabric.switch_row(source) {
            Some(row) => self.switch_at[row as usize],
            None => self.host_at[fabric.host_of(source).map_or(0, |host| host.index())],
        };
        &self.lines(node)[usize::from(self.port_of(link))]
    }

    /// Egress port of a packet at the next device of its route.
    #[inline]
    pub fn hop(&self, route: u32) -> u16 {
        self.hops[(route & BY_SWITCH) as usize]
    }

    /// Where packets of a queue pair leave its source, or its target when `back`; none without a cable.
    pub fn start(&self, epoch: usize, queue_pair: u32, back: bool) -> Option<Start> {
        let Epoch { start, levels, .. } = &self.epochs[epoch];
        let route = start[queue_pair as usize][usize::from(back)];
        let level = levels.get(queue_pair as usize).map_or(0, |&level| u32::from(level));
        (route != NO_ROUTE).then(|| Start {
            port: self.hops[route as usize],
            route: level << LEVEL | if self.by_switch.is_some() { BY_SWITCH } else { route + 1 },
        })
    }

    /// Sets the level of each queue pair's priority for every epoch; none where there is one level.
    pub fn set_levels(&mut self, levels: Vec<Vec<u8>>) {
        for (epoch, levels) in self.epochs.iter_mut().zip(levels) {
            epoch.levels = levels;
        }
    }

    /// Adds the route of a probe over `links`, and that of its answers by the same cables back; both lead nowhere behind
    /// the last link where the probe does not land. None without links.
    pub fn probe_route(&mut self, links: &[LinkId], lands: bool) -> Option<(Start, Start)> {
        let (&first, &last) = (links.first()?, links.last()?);
        let mut add = |port: u16, rest: &mut dyn Iterator<Item = u16>| {
            let route = self.hops.len() as u32;
            self.hops.extend(rest);
            self.hops.extend((!lands).then_some(NOWHERE));
            Start { port, route }
        };
        let out =
            add(self.port_of[first.index()], &mut links[1..].iter().map(|link| self.port_of[link.index()]));
        let mut back = links.iter().rev().skip(1).map(|link| self.port_of[link.reverse().index()]);
        let back = add(self.port_of[last.reverse().index()], &mut back);
        assert!(
            self.hops.len() < BY_SWITCH as usize,
            "routes have fewer than 2^29 hops, not {}",
            self.hops.len()
        );
        Some((out, back))
    }

    /// Adds the routes that hold from `at` on.
    ///
    /// # Panics
    /// When all routes together have 2^29 hops or more.
    pub fn learn(&mut self, at: SimTime, paths: &ChosenPaths, forwarding: Forwarding) {
        let fabric = &*self.case.fabric;
        let by_switch = self.by_switch.is_some();
        let mut epoch = Epoch { at, ..Epoch::default() };
        let (full, control) = (self.case.packets.keys.full(), self.case.packets.keys.control.0);
        // The first routes that lead anywhere.
        let first_routes = self.base_round_trip == 0;
        for queue_pair in 0..self.ends.len() as u32 {
            let links = paths.path(queue_pair).links;
            if links.is_empty() {
                let starts =
                    self.ends[queue_pair as usize].map(|nic| self.start_to_nothing(nic, &forwarding));
                epoch.start.push(starts);
                continue;
            }
            let first = self.hops.len() as u32;
            if by_switch {
                // Acknowledgements leave by the port that data would land on first.
                let target = self.ends[queue_pair as usize][1];
                let mut ports = forwarding.accesses(target).iter();
                let back = ports.find(|access| !forwarding.mask().is_down(access.link));
                let back = back.map_or(0, |access| self.port_of[access.link.index()]);
                let out = self.port_of[links[0].index()];
                self.hops.extend([out, back]);
                epoch.start.push([first, first + 1]);
            } else {
                self.hops.extend(links.iter().map(|&link| self.port_of[link.index()]));
                self.hops.extend(links.iter().rev().map(|link| self.port_of[link.reverse().index()]));
                epoch.start.push([first, first + links.len() as u32]);
                if first_routes {
                    let round = links.iter().map(|&link| {
                        let line = self.line(link);
                        let back = self.line(link.reverse());
                        let wires = line.delay.saturating_add(back.delay);
                        wires.saturating_add(line.speed.time(full)).saturating_add(back.speed.time(control))
                    });
                    self.base_round_trip = self.base_round_trip.max(round.fold(0, u64::saturating_add));
                }
            }
        }
        if by_switch && first_routes {
            self.base_round_trip = self.longest(fabric, paths);
        }
        assert!(
            self.hops.len() < BY_SWITCH as usize,
            "routes have fewer than 2^29 hops, not {}",
            self.hops.len()
        );
        epoch.forwarding = by_switch.then_some(forwarding);
        self.epochs.push(epoch);
    }

    /// Where packets leave a NIC for which nobody knows a way: a queue pair sends all the same, by a port that is alive
    /// if there is one, and its first switch loses what it gets.
    fn start_to_nothing(&mut self, nic: DeviceId, forwarding: &Forwarding) -> u32 {
        let ports = forwarding.accesses(nic);
        let alive = ports.iter().find(|access| !forwarding.mask().is_down(access.link));
        let Some(access) = alive.or(ports.first()) else { return NO_ROUTE };
        let first = self.hops.len() as u32;
        self.hops.extend([self.port_of[access.link.index()], NOWHERE]);
        first
    }

    /// Round trip where paths hold all links of a hop side by side: by tiers.
    fn longest(&self, fabric: &Fabric, paths: &ChosenPaths) -> u64 {
        let (full, control) = (self.case.packets.keys.full(), self.case.packets.keys.control.0);
        let mut longest = 0;
        for queue_pair in 0..self.ends.len() as u32 {
            // One link of each class and direction: a packet crosses one of each.
            let mut seen = std::collections::BTreeMap::new();
            for &link in paths.path(queue_pair).links {
                let line = self.line(link);
                let key = (fabric.cable_class(link.cable()), link.0 & 1);
                let round = line.delay.saturating_mul(2).saturating_add(line.speed.time(full + control));
                seen.entry(key).or_insert(round);
            }
            longest = longest.max(seen.into_values().fold(0, u64::saturating_add));
        }
        longest
    }
}
