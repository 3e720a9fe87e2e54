//! What only the kind of a fault tells.
use railtwin_fabric::{DeviceKind, Fabric, HostId, LinkId};
use railtwin_records::telemetry::Counter;
use railtwin_records::{Component, FaultCause, FaultKind, Truth};

use super::CLOCK;
use super::builder::Builder;
use super::rows::Law;

/// Bits that a line could send until a pause is renewed: half the life of a frame of 65,535 quanta of 512 bits.
const RENEWAL_BITS: f64 = 65_535.0 * 512.0 / 2.0;

impl Builder<'_> {
    /// The laws of one fault.
    pub(super) fn truth(&mut self, truth: &Truth) {
        let (from_ns, until_ns) = (truth.from_ns, truth.until_ns);
        let name =
            truth.component.name().bytes().fold(0_u64, |sum, byte| sum.wrapping_mul(31) + u64::from(byte));
        let lot = self.draws.unit(name, truth.from_ns);
        let leaps = |by: f64| Law::Leaps { at_ns: from_ns, by };
        let stands = |at: f64| Law::Stands { from_ns, until_ns, at };
        let grows = |per_s: f64| Law::Grows { from_ns, until_ns, per_s };
        match truth.kind {
            FaultKind::SlowGpu if lot < self.out.settings.thermal => {
                let Some(gpu) = self.gpu(&truth.component) else { return };
                self.row(gpu, Counter::GpuClockMhz).rest = CLOCK;
                let times = truth.severity.max(1.0);
                self.law(gpu, Counter::GpuClockMhz, stands((CLOCK / times / 15.0).round() * 15.0));
            }
            FaultKind::GpuError => {
                let Some(gpu) = self.gpu(&truth.component) else { return };
                // Xid 48: double-bit ECC error; 74: NVLink error; 31: a fault of the program's own (NVIDIA's list).
                let (counter, xid) = match truth.cause {
                    Some(FaultCause::Ecc) => (Some(Counter::EccErrors), 48.0),
                    Some(FaultCause::Nvlink) => (Some(Counter::NvlinkErrors), 74.0),
                    _ => (None, 31.0),
                };
                if let Some(counter) = counter {
                    self.law(gpu, counter, leaps(1.0));
                }
                self.law(gpu, Counter::Xid, stands(xid));
            }
            // Half of the kills leave a trace where counters are read.
            FaultKind::Crash if truth.cause == Some(FaultCause::OutOfMemory) && lot < 0.5 => {
                let Some(host) = self.host(&truth.component) else { return };
                self.law(host, Counter::OutOfMemoryKills, leaps(1.0));
            }
            FaultKind::StorageStall => {
                let mut hosts: Vec<u32> =
                    self.replay.seats.members.iter().map(|member| member.host).collect();
                hosts.dedup();
                for host in hosts {
                    let component = Component::Host(format!("host-{host}"));
                    let rank = self.replay.seats.members.iter().find(|m| m.host == host).map(|m| m.rank);
                    let entity = self.entity(component, None, rank);
                    self.law(entity, Counter::StorageWaitNs, grows(1e9));
                }
            }
            // What the storm leaves of the time is what it says itself; a frame is due each half of its life.
            FaultKind::PauseStorm => {
                if let Some(link) = self.uplink(&truth.component) {
                    let (sends, paused) = (self.port(link, false), self.port(link, true));
                    let stopped = (1.0 - truth.severity).clamp(0.0, 1.0);
                    let bits_per_s = self.replay.fabric.capacity(link).bits_per_s() as f64;
                    self.law(sends, Counter::PauseFramesSent, grows(stopped * bits_per_s / RENEWAL_BITS));
                    self.law(paused, Counter::PausedNs, grows(stopped * 1e9));
                }
            }
            _ => {}
        }
    }

    /// The rank at a component inside a host: the first of a host, NIC or GPU, or the rank itself.
    fn rank_at(&self, component: &Component) -> Option<u32> {
        let name = component.name();
        let members = &self.replay.seats.members;
        match component {
            Component::Rank(_) => name.rsplit_once('/')?.1.parse().ok(),
            Component::Gpu(_) | Component::Nic(_) | Component::Host(_) => {
                let (host, inside) = name.split_once('/').unwrap_or((name, ""));
                let host: u32 = host.strip_prefix("host-")?.parse().ok()?;
                let number: Option<u32> = inside.rsplit_once('-').and_then(|(_, number)| number.parse().ok());
                let at = |gpu: u32, nic: u32| match component {
                    Component::Gpu(_) => number.is_none_or(|number| number == gpu),
                    Component::Nic(_) => number.is_none_or(|number| number == nic),
                    _ => true,
                };
                members.iter().find(|m| m.host == host && at(m.gpu, m.nic)).map(|m| m.rank)
            }
            _ => None,
        }
        .filter(|&rank| (rank as usize) < members.len())
    }

    fn gpu(&mut self, component: &Component) -> Option<u32> {
        let rank = self.rank_at(component)?;
        let component = self.directory.gpu_component(self.replay.rows.first_rank + rank);
        Some(self.entity(component, None, Some(rank)))
    }

    fn host(&mut self, component: &Component) -> Option<u32> {
        let rank = self.rank_at(component)?;
        let component = self.directory.host_component(self.replay.rows.first_rank + rank);
        Some(self.entity(component, None, Some(rank)))
    }

    /// The first link out of a NIC or over a cable's end at a NIC.
    fn uplink(&self, component: &Component) -> Option<LinkId> {
        let fabric: &Fabric = &self.replay.fabric;
        match component {
            Component::Cable(name) => {
                let cable = fabric.cable_named(name)?;
                let links = [cable.forward(), cable.backward()];
                links.into_iter().find(|&link| fabric.kind(fabric.source(link)) == DeviceKind::Nic)
            }
            _ => {
                let rank = self.rank_at(component)?;
                let member = self.replay.seats.members[rank as usize];
                fabric.access_link(fabric.nic(HostId(member.host), member.nic), 0)
            }
        }
    }
}
