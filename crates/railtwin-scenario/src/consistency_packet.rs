//! What no single key of `[packet]`, `[switch]` and `[[trouble]]` shows.
use railtwin_engine::packet::Buffer;
use railtwin_units::{Bytes, SimTime};

use crate::consistency::Trouble;
use crate::packet_spec::{CongestionControlSpec, PacketSpec};
use crate::scenario::Scenario;
use crate::switch_spec::{SwitchSpec, TIERS, switch_models};

/// The largest buffer, window or threshold: sums of many stay far within 64 bits.
const MOST: u64 = 1 << 40;
/// The most bytes on the wire beside a payload, and of a packet without one.
const MOST_HEADER: u64 = 1000;

/// Every trouble with its path.
pub(crate) fn troubles_of_packets(scenario: &Scenario) -> Vec<(String, Trouble)> {
    let mut found = Vec::new();
    let packet = &scenario.packet;
    found.extend(of_packet(packet).map(|(key, trouble)| (format!("packet.{key}"), trouble)));
    found.extend(of_congestion_control(scenario));
    let models = switch_models(&scenario.fabric);
    for ((name, tier), model) in TIERS.iter().zip(scenario.switch.tiers()).zip(models) {
        let model = tier.over(model);
        let trouble = of_switch(tier, &model.buffer, packet);
        found.extend(trouble.map(|(key, trouble)| (format!("switch.{name}.{key}"), trouble)));
    }
    found
}

/// A size outside of its bounds.
fn outside(key: &str, bytes: u64, least: u64, most: u64, hint: &'static str) -> Option<Trouble> {
    let message = || format!("`{key}` is {}; it may be {} to {}", size(bytes), size(least), size(most));
    (bytes < least || bytes > most).then(|| (message(), hint))
}

/// Bytes in the unit in which they are the shortest whole number.
pub(crate) fn size(bytes: u64) -> String {
    let decimal = [("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1000)];
    let unit = decimal.iter().find(|(_, scale)| bytes >= *scale && bytes.is_multiple_of(*scale));
    let decimal = unit.map(|(unit, scale)| format!("{} {unit}", bytes / scale));
    [decimal.unwrap_or_else(|| format!("{bytes} B")), Bytes(bytes).exact()]
        .into_iter()
        .min_by_key(String::len)
        .unwrap_or_default()
}

fn of_packet(packet: &PacketSpec) -> Option<(&'static str, Trouble)> {
    let full = packet.packet();
    let a_packet = "a full packet, payload and header, must fit: write more";
    let sizes = [
        ("payload", Some(packet.payload), 64, 9000, "write a size from 64 B to 9000 B"),
        ("header", Some(packet.header), 0, MOST_HEADER, "write a size up to 1000 B"),
        ("control", Some(packet.control), 1, MOST_HEADER, "write a size up to 1000 B"),
        ("window", Some(packet.window), full, MOST, a_packet),
        ("nic.receive_buffer", Some(packet.nic.receive_buffer), full, MOST, a_packet),
        ("admission.buffer", packet.admission.map(|a| a.buffer), packet.payload.0, MOST, a_packet),
    ];
    for (key, bytes, least, most, hint) in sizes {
        let name = key.rsplit('.').next().unwrap_or(key);
        if let Some(trouble) = bytes.and_then(|bytes| outside(name, bytes.0, least, most, hint)) {
            return Some((key, trouble));
        }
    }
    let times = [
        ("watchdog", Some(packet.watchdog)),
        ("samples", packet.samples),
        ("nic.cnp_interval", Some(packet.nic.cnp_interval)),
    ];
    if let Some((key, _)) = times.into_iter().find(|(_, time)| *time == Some(SimTime::ZERO)) {
        let message = format!("`{}` cannot be 0 s", key.rsplit('.').next().unwrap_or(key));
        return Some((key, (message, "write a longer time, such as \"100 us\"")));
    }
    let twice = packet.priority.iter().enumerate().find(|(at, class)| packet.priority[..*at].contains(class));
    twice.map(|_| ("priority", ("`priority` says one of them twice".to_owned(), "write each once")))
}

fn of_congestion_control(scenario: &Scenario) -> Option<(String, Trouble)> {
    let at = |key: &str| match key {
        "" => "packet.congestion_control".to_owned(),
        key => format!("packet.congestion_control.{key}"),
    };
    let switches = scenario.switch.over(&scenario.fabric);
    match scenario.packet.congestion_control {
        CongestionControlSpec::None | CongestionControlSpec::Hpcc(_) => None,
        CongestionControlSpec::Dcqcn(dcqcn) => {
            let timers = [("alpha_timer", dcqcn.alpha_timer), ("increase_timer", dcqcn.increase_timer)];
            if let Some((key, _)) = timers.into_iter().find(|(_, time)| *time == SimTime::ZERO) {
                let message = format!("`{key}` cannot be 0 s");
                return Some((at(key), (message, "write a longer time, such as \"55 us\"")));
            }
            if switches.iter().all(|switch| switch.ecn.is_none()) {
                let message = "dcqcn goes by marks, but no switch marks".to_owned();
                let hint =
                    "write [switch.leaf] ecn = { min = \"100 kB\", max = \"400 kB\", probability = 0.2 }";
                return Some((at(""), (message, hint)));
            }
            let bytes = dcqcn.byte_counter.0;
            let trouble = outside("byte_counter", bytes, 1, MOST, "write a smaller size");
            trouble.map(|trouble| (at("byte_counter"), trouble))
        }
        CongestionControlSpec::Trimmed(_) if switches.iter().all(|switch| switch.trim.is_none()) => {
            let message = "trimmed goes by trimmed packets, but no switch trims".to_owned();
            Some((at(""), (message, "write [switch.leaf] trim = \"100 kB\"")))
        }
        CongestionControlSpec::Trimmed(_) => None,
    }
}

/// `buffer` is what the tier's switches end up with.
fn of_switch(tier: &SwitchSpec, buffer: &Buffer, packet: &PacketSpec) -> Option<(&'static str, Trouble)> {
    let (Buffer::Shared { bytes, .. } | Buffer::Carved { bytes }) = *buffer;
    let shared = matches!(buffer, Buffer::Shared { .. });
    let foreign = [("reserved", tier.reserved.is_some()), ("alpha", tier.alpha.is_some())];
    if let Some((key, _)) = foreign.into_iter().find(|(_, given)| *given && !shared) {
        let message = format!("`{key}` belongs to a shared buffer, but this one is carved per port");
        return Some((key, (message, "leave it away, or write model = \"shared\"")));
    }
    let of_pfc = [
        ("headroom", tier.headroom.is_some()),
        ("resume_offset", tier.resume_offset.is_some()),
        ("response", tier.response.is_some()),
    ];
    if let Some((key, _)) = of_pfc.into_iter().find(|(_, given)| *given && tier.pfc == Some(false)) {
        let message = format!("`{key}` belongs to pause frames, but pfc = false");
        return Some((key, (message, "leave it away, or write pfc = true")));
    }
    let full = packet.packet();
    let fits = "a full packet, payload and header, must fit: write more";
    let within = "write less than the buffer";
    let sizes = [
        ("buffer", Some(Bytes(bytes)), full, MOST, fits),
        ("reserved", tier.reserved, 0, bytes, within),
        ("headroom", tier.headroom, 1, bytes - 1, within),
        ("resume_offset", tier.resume_offset, 0, bytes - 1, within),
        ("trim", tier.trim, full, MOST, fits),
        ("ecn.max", tier.ecn.map(|ecn| ecn.max), 1, MOST, "write a smaller size"),
        ("credit.initial", tier.credit.map(|credit| credit.initial), 0, MOST, "write a smaller size"),
    ];
    for (key, written, least, most, hint) in sizes {
        let name = key.rsplit('.').next().unwrap_or(key);
        if let Some(trouble) = written.and_then(|written| outside(name, written.0, least, most, hint)) {
            return Some((key, trouble));
        }
    }
    let ecn = tier.ecn.filter(|ecn| ecn.min > ecn.max)?;
    let message = format!("min {} is more than max {}", size(ecn.min.0), size(ecn.max.0));
    Some(("ecn.min", (message, "write min below max")))
}
