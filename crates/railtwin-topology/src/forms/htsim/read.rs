//! From counts to a fabric of one-GPU hosts.
use railtwin_fabric::cable_list::DeviceRole;
use railtwin_formats::{FormatError, HtsimTopology};
use railtwin_units::Rate;

use crate::about::About;
use crate::form::SourceFile;
use crate::topology::Topology;

/// Reads one file.
pub(super) fn read(sources: &[SourceFile<'_>]) -> Result<Topology, FormatError> {
    let source = sources.iter().find(|source| super::is_one(source)).or(sources.first());
    let Some(source) = source else {
        return Err(FormatError::new("htsim topology", "", "no file is given", "give one file"));
    };
    let mut file = HtsimTopology::parse(source.name, source.bytes)?;
    let mut notes = Vec::new();
    if sources.len() > 1 {
        notes.push(format!("{} alone was read: a topology is one file", source.name));
    }
    let latency = file.tiers[0].switch_latency_ns;
    for (number, tier) in file.tiers.iter_mut().enumerate() {
        if tier.switch_latency_ns != latency {
            notes.push(format!(
                "switches of tier {number} take {} ns, and {latency} ns here: a topology has one latency",
                tier.switch_latency_ns
            ));
            tier.switch_latency_ns = latency;
        }
    }
    let bundle = unbundle(&mut file);
    let fabric = file.spec()?.build().map_err(|error| {
        FormatError::new("htsim topology", source.name, error.to_string(), "write a tree that can be built")
    })?;
    let mut topology = Topology::of_fabric(&fabric);
    if bundle > 1 {
        topology = bundled(&topology, bundle);
    }
    (topology.form, topology.notes) = ("htsim", notes);
    Ok(topology)
}

/// Makes one cable of each bundle between core and spine, as fast as all of it; returns cables of a bundle. A bundle that
/// does not divide the ports stays, to be refused.
fn unbundle(file: &mut HtsimTopology) -> u32 {
    let [_, spine, core] = file.tiers.as_mut_slice() else { return 1 };
    let bundle = core.bundle;
    let up = spine.radix_up.unwrap_or(0);
    let fits = bundle > 1 && core.radix_down.is_multiple_of(bundle) && up.is_multiple_of(bundle);
    let Some(gbps) = core.downlink_gbps.checked_mul(bundle).filter(|_| fits) else { return 1 };
    (core.bundle, core.radix_down, core.downlink_gbps) = (1, core.radix_down / bundle, gbps);
    spine.radix_up = Some(up / bundle);
    bundle
}

/// The topology with each cable between spine and core split.
fn bundled(one: &Topology, bundle: u32) -> Topology {
    let mut topology = Topology::default();
    topology.list.title.clone_from(&one.list.title);
    topology.list.switch_latency = one.list.switch_latency;
    for (device, about) in one.list.devices().iter().zip(&one.about) {
        let row = topology.device(&device.name);
        *topology.about_mut(row) = About::clone(about);
        let new = topology.list.device_mut(row);
        (new.role, new.network, new.place) = (device.role, device.network, device.place);
        for &port in &device.ports {
            let port = &one.list.ports()[port as usize];
            if !is_split(device.role, &port.name) {
                topology.list.port(row, &port.name, port.rate, 0);
            }
        }
    }
    for cable in one.list.cables() {
        let ends = cable.ports.map(|port| {
            let port = &one.list.ports()[port as usize];
            (
                port.device,
                port.name.as_str(),
                is_split(one.list.devices()[port.device as usize].role, &port.name),
            )
        });
        let rate = one.list.ports()[cable.ports[0] as usize].rate;
        if !ends.iter().all(|(.., split)| *split) {
            topology.join(ends.map(|(device, port, _)| (device, port)), rate, cable.delay, 0);
            continue;
        }
        let part = rate.map(|rate| Rate::from_bits_per_s(rate.bits_per_s() / u64::from(bundle)));
        for lane in 0..bundle {
            let names = ends.map(|(_, port, _)| lane_of(port, bundle, lane));
            let ends = [(ends[0].0, names[0].as_str()), (ends[1].0, names[1].as_str())];
            topology.join(ends, part, cable.delay, 0);
        }
    }
    topology
}

/// Whether a port leads from a spine to a core or back.
fn is_split(role: Option<DeviceRole>, port: &str) -> bool {
    role == Some(DeviceRole::Core) || (role == Some(DeviceRole::Spine) && port.starts_with("uplink"))
}

/// `uplink-7` is lane 1 of `uplink-3` in a bundle of two.
fn lane_of(port: &str, bundle: u32, lane: u32) -> String {
    let (kind, number) = port.rsplit_once('-').unwrap_or((port, "0"));
    format!("{kind}-{}", number.parse::<u64>().unwrap_or(0) * u64::from(bundle) + u64::from(lane))
}
