//! What the credit world cannot run.
use railtwin_engine::intranode::{IntranodeSpec, Measure};
use railtwin_fabric::{Fabric, HostId, HostModel};

use super::arbiter::PORTS_MAX;
use super::plan::{Plan, network_ports};
use crate::agenda::NEVER;

/// What cannot be: the key of the scenario, what is wrong, and what would do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refused {
    /// Key.
    pub key: String,
    /// What is wrong.
    pub message: String,
    /// What would do.
    pub hint: String,
}

impl Refused {
    pub(super) fn new(key: &str, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { key: key.to_owned(), message: message.into(), hint: hint.into() }
    }
}

/// The model of the hosts, which are all alike but for what the NIC has.
pub(super) fn check<'f>(fabric: &'f Fabric, spec: &IntranodeSpec) -> Result<&'f HostModel, Refused> {
    if let Some((key, message, hint)) = spec.contradictions().into_iter().next() {
        return Err(Refused::new(&format!("intranode.{key}"), message, hint));
    }
    let refused = |key: &str, message: String, hint: String| Err(Refused::new(key, message, hint));
    let hosts = || (0..fabric.hosts().len()).map(HostId::from_index);
    let model = |host: HostId| fabric.host_model(host);
    let first = model(HostId(0));
    if hosts().any(|host| model(host).nics != 1 || model(host).nic.ports != 1) {
        let message = "GPUs of a host share one NIC with one port in [intranode]".to_owned();
        return refused("fabric.host", message, "write nics = 1 and nic_ports = 1".to_owned());
    }
    let gpus = first.gpus;
    let units = spec.units.map_or(0, |units| units.count);
    // The NIC has a port, too.
    let most = PORTS_MAX - 1 - units as usize;
    if hosts().any(|host| model(host).gpus != gpus) || gpus == 0 || gpus as usize > most {
        let beside = if units > 0 { format!(" beside {units} units") } else { String::new() };
        let hint = format!("write 1 to {most} GPUs{beside}, as many in each host");
        return refused("fabric.host", format!("a host has {gpus} GPUs{beside}"), hint);
    }
    let rate = |host: HostId| spec.link_rate(model(host));
    if let Some(other) = hosts().find(|&host| rate(host) != rate(HostId(0))) {
        let message = format!(
            "links in host {other} carry {}, and in host 0 {}",
            rate(other),
            rate(HostId(0)),
            other = other.0
        );
        return refused(
            "fabric.host",
            message,
            "write intranode.link: one capacity for all hosts".to_owned(),
        );
    }
    for (device, _) in fabric.switches() {
        let ports = network_ports(fabric, *device).count();
        if ports > PORTS_MAX {
            let message = format!("{} has {ports} ports", fabric.device_name(*device));
            return refused("fabric", message, format!("switches with credits have up to {PORTS_MAX}"));
        }
    }
    let devices = fabric.switches().iter().map(|(device, _)| *device);
    let at_once = devices.flat_map(|device| network_ports(fabric, device)).find_map(|port| {
        let link = fabric.link_from(fabric.cable_at(port)?, port);
        (fabric.delay(link).ps() == 0).then_some(link)
    });
    if let Some(link) = at_once {
        // A window of time is as long as the shortest cable: what devices do to each other at once has no order.
        let message = format!("{} has a delay of 0 ns, and credits need time", fabric.link_name(link));
        return refused(
            "fabric.delay",
            message,
            "write at least \"1 ps\"; a metre of fibre is 5 ns".to_owned(),
        );
    }
    let least = spec.least_buffer(gpus);
    if spec.buffer.0 < least {
        let message = format!("with buffers of {} all may wait for each other for ever", spec.buffer);
        return refused("intranode.buffer", message, format!("write at least \"{least} B\""));
    }
    if fabric.hosts().len() < 2 && (spec.pair.is_some() || spec.inter_share() > 0.0) {
        let message = "one host alone has no other to send to".to_owned();
        return refused("intranode", message, "write pattern = \"c5\", or more hosts".to_owned());
    }
    nowhere(spec, fabric.hosts().len() as u32, gpus)?;
    Ok(first)
}

/// Refuses destinations that are not there.
fn nowhere(spec: &IntranodeSpec, hosts: u32, gpus: u32) -> Result<(), Refused> {
    let hint = |count: u32| format!("write 0 to {}", count - 1);
    if let Some(shift) = spec.shift.filter(|&shift| shift >= hosts) {
        let message = format!("{shift} hosts on is no other host of {hosts}");
        return Err(Refused::new("intranode.shift", message, format!("write 1 to {}", hosts - 1)));
    }
    let Some(hotspot) = spec.hotspot else { return Ok(()) };
    if hotspot.host >= hosts {
        let message = format!("there is no host {}: there are {hosts}", hotspot.host);
        return Err(Refused::new("intranode.hotspot.host", message, hint(hosts)));
    }
    match hotspot.gpu.filter(|&gpu| gpu >= gpus) {
        Some(gpu) => {
            let message = format!("a host has no GPU {gpu}: it has {gpus}");
            Err(Refused::new("intranode.hotspot.gpu", message, hint(gpus)))
        }
        None => Ok(()),
    }
}

/// Latest time that a run may come to, ps: 1,281 h. Sums of a few such times are still times.
const LATEST: u64 = NEVER / 4;

/// Refuses what would end later than times go.
pub(super) fn too_long(plan: &Plan) -> Result<(), Refused> {
    let hours = |ps: u64| ps as f64 * 1e-12 / 3_600.0;
    let Some(pair) = &plan.spec.pair else {
        let longest = plan.spec.longest.unwrap_or_default().max(plan.spec.duration);
        let end = longest.ps().saturating_add(plan.slowest_packet().saturating_mul(8));
        return match end > LATEST {
            true => {
                let message = format!("a run ends after {:.0} h and the packets under way then", hours(end));
                let hint =
                    format!("times go to {:.0} h: write a shorter duration, or faster links", hours(LATEST));
                Err(Refused::new("intranode.duration", message, hint))
            }
            false => Ok(()),
        };
    };
    let each = match pair.measure {
        Measure::Bandwidth => plan.alone().saturating_add(pair.gap.ps()),
        Measure::Latency => plan.alone().max(pair.gap.ps()),
    };
    let end = each.saturating_mul(u64::from(pair.messages) + 1);
    if end <= LATEST {
        return Ok(());
    }
    let message = format!("{} messages of {} may take {:.0} h", pair.messages, plan.spec.message, hours(end));
    let hint =
        format!("times go to {:.0} h: write fewer messages, a shorter gap, or faster links", hours(LATEST));
    Err(Refused::new("intranode.pair", message, hint))
}
