//! What does not change in a run of the credit world: devices and their lines, routes by D-mod-K, sizes and times.
use railtwin_engine::intranode::{IntranodeSpec, PcieTopology, UnitPlace};
use railtwin_fabric::{DeviceId, Fabric, HostId, PortId};
use railtwin_units::Rate;

use super::refused::{self, Refused};
use super::targets::Targets;
use std::sync::Arc;

use super::routes::{Down, downward, ports_towards};
use crate::agenda::NEVER;
use crate::network::Speed;
use crate::places::{Place, places};

/// Longest window: times within it fit 21 bits.
const LOOKAHEAD_MAX: u64 = 2_000_000;

/// One direction of a cable, seen from its source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Line {
    /// Device at its other end, and the port there.
    pub target: u32,
    /// See `target`.
    pub port: u16,
    /// How long bytes take.
    pub speed: Speed,
    /// From the departure of a byte until the device there may act on it, ps: the cable, and the latency of a switch.
    pub delay: u64,
    /// The cable alone, ps: what a credit takes, which no switch forwards.
    pub flight: u64,
}

/// How long packets take on a link of a host.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// How long bytes take.
    speed: Speed,
    /// What each packet takes beside its bytes, ps.
    extra: u64,
    /// Time of a full packet, ps.
    full: u64,
}

impl Pace {
    /// Of a link of `rate`, for packets of so many bytes in all; beside its bytes each takes as long as `extra` ps are on a
    /// link of `of`.
    fn new(rate: Rate, bytes: u64, (extra, of): (f64, Rate)) -> Self {
        let extra = if rate == of { extra } else { extra * of.bytes_per_s() / rate.bytes_per_s() };
        let (speed, extra) = (Speed::of(rate), extra.round() as u64);
        Self { speed, extra, full: speed.time(bytes).saturating_add(extra) }
    }
}

/// Sizes and times inside a host.
#[derive(Clone, Copy, Debug)]
pub struct Inside {
    /// GPUs; their ports are `0..gpus` of the host's switch, then come those of functional units, then its NIC's.
    pub gpus: u32,
    /// Functional units.
    pub units: u32,
    /// On links of GPUs and of the NIC.
    link: Pace,
    /// On links of units.
    unit_link: Pace,
    /// Between root complex and CPU, and the time of a pass, ps; none with a switch.
    root: Option<(Pace, u64)>,
    /// Whether units are at the CPU.
    at_cpu: bool,
    /// Delay of a link, ps.
    pub delay: u64,
    /// Bytes of a header, and most bytes of payload.
    pub header: u64,
    /// See `header`.
    pub payload: u64,
    /// Time of the source NIC for each packet, and of the target NIC, ps.
    pub pack: u64,
    /// See `pack`.
    pub unpack: u64,
}

impl Inside {
    /// Number of the NIC's port, behind those of GPUs and units.
    #[inline]
    pub const fn nic(&self) -> usize {
        (self.gpus + self.units) as usize
    }

    /// Whether a functional unit is at a port.
    #[inline]
    pub const fn is_unit(&self, port: usize) -> bool {
        port >= self.gpus as usize && port < self.nic()
    }

    /// Time that a packet of so much payload occupies the link of a port, ps.
    #[inline]
    pub fn time(&self, port: usize, payload: u64) -> u64 {
        self.of(if self.is_unit(port) { &self.unit_link } else { &self.link }, payload)
    }

    #[inline]
    fn of(&self, link: &Pace, payload: u64) -> u64 {
        if payload == self.payload { link.full } else { link.speed.time(payload + self.header) + link.extra }
    }

    /// Whether a root complex is in the place of the switch.
    #[inline]
    pub const fn has_root(&self) -> bool {
        self.root.is_some()
    }

    /// Whether what goes from a port to another goes over the CPU: both are endpoints.
    #[inline]
    pub const fn goes_up(&self, input: usize, output: usize) -> bool {
        !(self.at_cpu && (self.is_unit(input) || self.is_unit(output)))
    }

    /// Time of a packet between root complex and CPU, ps; 0 without a root complex.
    pub fn up_time(&self, payload: u64) -> u64 {
        self.root.as_ref().map_or(0, |(pace, _)| self.of(pace, payload))
    }

    /// Time of a packet in the root complex each time that it passes it, ps.
    pub fn pass_time(&self) -> u64 {
        self.root.map_or(0, |(_, latency)| latency)
    }

    /// Bytes on a link of so much payload, cut into packets.
    #[inline]
    pub fn wire(&self, payload: u64) -> u64 {
        if payload <= self.payload {
            return payload + self.header;
        }
        payload + payload.div_ceil(self.payload) * self.header
    }
}

/// All of it.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What is asked.
    pub spec: IntranodeSpec,
    /// Seed of all random streams.
    pub seed: u64,
    /// Devices by number.
    pub places: Vec<Place>,
    /// First device of each thread, and the end.
    pub parts: Vec<u32>,
    /// Number of each host's device.
    pub host_at: Vec<u32>,
    /// CSR: lines of device `n` are `lines[start[n]..start[n + 1]]`, by port.
    line_start: Vec<u32>,
    lines: Vec<Line>,
    /// Port of each switch towards each host, by row of the switch.
    routes: Arc<Vec<Vec<u8>>>,
    /// Least time between an act of one device and its effect on another, ps.
    pub lookahead: u64,
    /// Capacity of a host's links.
    pub link: Rate,
    /// Inside each host.
    pub inside: Inside,
    /// Bytes of an input buffer.
    pub buffer: u64,
    /// From when on is counted, and when nothing is any more, ps.
    pub counted: (u64, u64),
    /// Whether the run lasts until all has arrived that was made in the time that is counted.
    pub drains: bool,
    /// Whom messages are for.
    pub targets: Targets,
}

impl Plan {
    /// Of a fabric whose hosts have one NIC with one port.
    ///
    /// # Errors
    /// What cannot be, for people.
    pub fn new(fabric: &Fabric, spec: &IntranodeSpec, seed: u64, threads: u32) -> Result<Self, Refused> {
        let model = refused::check(fabric, spec)?;
        let (gpus, link) = (model.gpus, spec.link_rate(model));
        let (header, payload, extra) = spec.packet();
        let bytes = header + payload;
        let pace = |rate: Rate| Pace::new(rate, bytes, (extra, link));
        let units = spec.units;
        let root = spec.pcie.filter(|pcie| pcie.topology == PcieTopology::RootComplex);
        let root = root.map(|pcie| (pace(pcie.root_rate.unwrap_or(link)), pcie.root_latency.ps()));
        let converts = spec.converts();
        let time = |time: railtwin_units::SimTime| if converts { time.ps() } else { 0 };
        let inside = Inside {
            gpus,
            units: units.map_or(0, |units| units.count),
            link: pace(link),
            unit_link: pace(units.and_then(|units| units.link).unwrap_or(link)),
            root,
            at_cpu: units.is_some_and(|units| units.place == UnitPlace::Cpu),
            delay: spec.link_delay.ps(),
            header,
            payload,
            pack: time(spec.pack),
            unpack: time(spec.unpack),
        };
        let duration = spec.duration.ps();
        let counted = match spec.pair {
            Some(_) => (0, NEVER),
            None => (spec.warm_up.ps(), duration),
        };
        let (places, parts) = places(fabric, threads);
        let mut plan = Self {
            spec: *spec,
            seed,
            places,
            parts,
            host_at: vec![0; fabric.hosts().len()],
            line_start: vec![0],
            lines: Vec::new(),
            routes: Arc::default(),
            lookahead: LOOKAHEAD_MAX,
            link,
            inside,
            buffer: spec.buffer.0,
            counted,
            drains: false,
            targets: Targets::new(spec, fabric.hosts().len() as u32, gpus as u16, seed),
        };
        plan.wire(fabric);
        plan.route(fabric)?;
        refused::too_long(&plan)?;
        Ok(plan)
    }

    fn wire(&mut self, fabric: &Fabric) {
        let mut number = vec![0; fabric.device_count()];
        for (row, &place) in (0..).zip(&self.places) {
            number[device_of(fabric, place).0 as usize] = row;
            if let Place::Host(host) = place {
                self.host_at[host as usize] = row;
            }
        }
        for &place in &self.places {
            for port in network_ports(fabric, device_of(fabric, place)) {
                let cable = fabric.cable_at(port).expect("network ports have cables");
                let link = fabric.link_from(cable, port);
                let [one, other] = fabric.cable_ports(cable);
                let far = if one == port { other } else { one };
                let device = fabric.port_device(far);
                let row = network_ports(fabric, device).position(|port| port == far);
                let latency = fabric.place(device).map_or(0, |_| fabric.switch_latency().ps());
                let line = Line {
                    target: number[device.0 as usize],
                    port: row.expect("a cable ends at a network port") as u16,
                    speed: Speed::of(fabric.capacity(link)),
                    delay: fabric.delay(link).ps() + latency,
                    flight: fabric.delay(link).ps(),
                };
                self.lookahead = self.lookahead.min(line.flight);
                self.lines.push(line);
            }
            self.line_start.push(self.lines.len() as u32);
        }
    }

    /// D-mod-K (Zahavi 2012): up by the digits of the target's number, the lowest at the leaf, down by the only way; of
    /// parallel cables by the same digits.
    fn route(&mut self, fabric: &Fabric) -> Result<(), Refused> {
        let hosts = fabric.hosts().len();
        let switches = fabric.switches();
        // Uplinks of the tiers below, multiplied: the digits that they have used up.
        let mut used = [1_usize; 5];
        for tier in 1..=3 {
            let ups = |device: &DeviceId| uplinks(fabric, *device, tier).count();
            let most = switches.iter().filter(|(_, at)| at.tier == tier).map(|(d, _)| ups(d)).max();
            used[usize::from(tier) + 1] = used[usize::from(tier)] * most.unwrap_or(1).max(1);
        }
        let mut below: Vec<Vec<Down>> = vec![Vec::new(); switches.len()];
        let mut routes: Vec<Vec<u8>> = vec![Vec::new(); switches.len()];
        for tier in 1..=3 {
            for (row, (device, _)) in switches.iter().enumerate().filter(|(_, (_, at))| at.tier == tier) {
                let down = downward(fabric, *device, tier, &below);
                let ups: Vec<u8> = uplinks(fabric, *device, tier).collect();
                let ports = ports_towards(hosts, &down, &ups, used[usize::from(tier)]);
                routes[row] = ports.ok_or_else(|| {
                    let message = format!("{} has no way to some host", fabric.device_name(*device));
                    Refused::new("fabric", message, "write a fabric in which all hosts reach each other")
                })?;
                // Nobody stands above the highest tier, whose switches reach all hosts.
                if tier < 3 {
                    below[row] = down;
                }
            }
        }
        *Arc::make_mut(&mut self.routes) = routes;
        Ok(())
    }

    /// The port of a switch towards a host.
    #[inline]
    pub fn port_towards(&self, row: u32, host: u32) -> u8 {
        self.routes[row as usize][host as usize]
    }

    /// Lines of a device, by port.
    pub fn lines_of(&self, device: u32) -> &[Line] {
        &self.lines[self.line_start[device as usize] as usize..self.line_start[device as usize + 1] as usize]
    }

    /// Bytes between hosts of so much payload.
    #[inline]
    pub fn network_bytes(&self, payload: u64) -> u64 {
        payload + self.spec.inter_header.0
    }

    /// Time in which a message is certain to arrive that has the network for itself, ps: each of its bytes one after
    /// another over each link of the longest way.
    pub fn alone(&self) -> u64 {
        let message = self.spec.message.0;
        let packets = message.div_ceil(self.inside.payload);
        let each = self
            .inside
            .link
            .full
            .saturating_add(self.longest_pass())
            .saturating_add(self.inside.pack)
            .saturating_add(self.inside.unpack);
        let inside = packets.saturating_mul(each).saturating_add(self.inside.delay);
        let slowest = self.slowest(message + packets * self.spec.inter_header.0);
        let overhead = self.spec.pair.map_or(0, |pair| pair.overhead.ps());
        inside.saturating_mul(2).saturating_add(slowest.saturating_mul(6)).saturating_add(overhead)
    }

    /// Most time of a packet between its coming to a root complex and its leaving of it, with nobody else there, ps.
    fn longest_pass(&self) -> u64 {
        let up = self.inside.up_time(self.inside.payload);
        up.saturating_add(self.inside.pass_time().saturating_mul(2))
    }

    /// Time of so many bytes over the slowest line, ps.
    fn slowest(&self, bytes: u64) -> u64 {
        let time = |line: &Line| line.speed.time(bytes).saturating_add(line.delay);
        self.lines.iter().map(time).max().unwrap_or(0)
    }

    /// Most time of a full packet over any link, with its conversion, ps.
    pub fn slowest_packet(&self) -> u64 {
        let conversion =
            self.inside.pack.saturating_add(self.inside.unpack).saturating_add(self.inside.delay);
        let line = self.slowest(self.network_bytes(self.spec.inter_payload.0));
        let full = self.inside.link.full.max(self.inside.unit_link.full).saturating_add(self.longest_pass());
        full.saturating_add(conversion).max(line)
    }

    /// Whether what arrives at `at` is counted.
    #[inline]
    pub fn counts(&self, at: u64) -> bool {
        at >= self.counted.0 && at < self.counted.1
    }

    /// Whether what arrives at `at` arrives in the second half of the time that is counted.
    #[inline]
    pub fn is_late(&self, at: u64) -> bool {
        at >= self.counted.0 + (self.counted.1 - self.counted.0) / 2
    }
}

pub(super) fn device_of(fabric: &Fabric, place: Place) -> DeviceId {
    match place {
        Place::Host(host) => fabric.nic(HostId(host), 0),
        Place::Switch(row) => fabric.switches()[row as usize].0,
    }
}

/// Ports of a NIC or a switch that have a cable of the network.
pub(super) fn network_ports(fabric: &Fabric, device: DeviceId) -> impl Iterator<Item = PortId> {
    let is_network = |port: &PortId| {
        fabric.cable_at(*port).is_some_and(|cable| fabric.is_network(fabric.link_from(cable, *port)))
    };
    fabric.ports(device).filter(is_network)
}

pub(super) fn far_device(fabric: &Fabric, port: PortId) -> DeviceId {
    let cable = fabric.cable_at(port).expect("network ports have cables");
    fabric.target(fabric.link_from(cable, port))
}

pub(super) fn tier_of(fabric: &Fabric, device: DeviceId) -> u8 {
    fabric.place(device).map_or(0, |place| place.tier)
}

/// Rows of the ports of a switch that lead to a higher tier.
fn uplinks(fabric: &Fabric, device: DeviceId, tier: u8) -> impl Iterator<Item = u8> {
    let ports = network_ports(fabric, device).zip(0..);
    ports.filter(move |(port, _)| tier_of(fabric, far_device(fabric, *port)) > tier).map(|(_, row)| row)
}

#[cfg(test)]
mod tests {
    use railtwin_fabric::preset::Rlft;

    use super::*;

    fn plan(ports: u32, stages: u32) -> Plan {
        let fabric = Rlft { ports, stages, ..Rlft::default() }.build().unwrap();
        Plan::new(&fabric, &IntranodeSpec::default(), 1, 2).unwrap()
    }

    /// Devices and ports on the way from one host to another.
    fn way(plan: &Plan, source: u32, target: u32) -> Vec<(u32, u16)> {
        let mut at = (plan.host_at[source as usize], 0);
        let mut way = Vec::new();
        while at.0 != plan.host_at[target as usize] {
            way.push(at);
            assert!(way.len() < 8, "{source} never comes to {target}: {way:?}");
            let next = plan.lines_of(at.0)[usize::from(at.1)].target;
            let port = match plan.places[next as usize] {
                Place::Switch(row) => u16::from(plan.port_towards(row, target)),
                Place::Host(_) => 0,
            };
            at = (next, port);
        }
        way
    }

    #[test]
    fn shifts_share_no_link() {
        // Zahavi 2012: D-mod-K carries every shift of hosts in their order without contention.
        for (ports, stages) in [(4, 2), (8, 2), (4, 3)] {
            let plan = plan(ports, stages);
            let hosts = plan.host_at.len() as u32;
            for shift in 1..hosts {
                let mut seen = std::collections::BTreeSet::new();
                for host in 0..hosts {
                    for step in way(&plan, host, (host + shift) % hosts) {
                        assert!(seen.insert(step), "shift {shift} of {hosts}: {step:?} twice");
                    }
                }
            }
        }
    }
}
