//! What no single key of `[packet]` and `[switch]` shows.
use railtwin_engine::packet::{Buffer, MOST_BYTES, MarkAt, Packets, SwitchModel};
use railtwin_units::Bytes;

use super::switch::{SwitchSpec, TIERS, switch_models};
use crate::scenario::Scenario;
use crate::violation::Violation;

/// Every trouble with its path.
pub(crate) fn troubles_of_packets(scenario: &Scenario) -> Vec<(String, Violation)> {
    let mut found = Vec::new();
    let packet = &scenario.packet;
    found.extend(of_packet(packet).map(|(key, trouble)| (format!("packet.{key}"), trouble)));
    let switches = scenario.switch.over(&scenario.fabric);
    let unmet = of_congestion_control(packet, &switches);
    found.extend(unmet.map(|trouble| ("packet.congestion_control".to_owned(), trouble)));
    let models = switch_models(&scenario.fabric);
    for ((name, tier), model) in TIERS.iter().zip(scenario.switch.tiers()).zip(models) {
        let model = tier.over(model);
        let trouble = of_switch(tier, &model, packet);
        found.extend(trouble.map(|(key, trouble)| (format!("switch.{name}.{key}"), trouble)));
    }
    found
}

/// A size outside of its bounds.
fn outside(key: &str, bytes: u64, least: u64, most: u64, hint: &'static str) -> Option<Violation> {
    let message = || {
        format!(
            "`{key}` is {}; it may be {} to {}",
            Bytes(bytes).shortest(),
            Bytes(least).shortest(),
            Bytes(most).shortest()
        )
    };
    (bytes < least || bytes > most).then(|| (message(), hint))
}

fn of_packet(packet: &Packets) -> Option<(&'static str, Violation)> {
    let full = packet.full();
    let a_packet = "a full packet, payload and header, must fit: write more";
    let sizes = [
        ("window", packet.window, full),
        ("nic.receive_buffer", Some(packet.nic.receive_buffer), full),
        ("admission.buffer", packet.admission.map(|a| a.buffer), packet.payload.0),
    ];
    for (key, bytes, least) in sizes {
        let name = key.rsplit('.').next().unwrap_or(key);
        if let Some(trouble) = bytes.and_then(|bytes| outside(name, bytes.0, least, MOST_BYTES, a_packet)) {
            return Some((key, trouble));
        }
    }
    let twice = packet.priority.iter().enumerate().find(|(at, which)| packet.priority[..*at].contains(which));
    twice.map(|_| ("priority", ("`priority` says one of them twice".to_owned(), "write each once")))
}

/// What the congestion control goes by and no switch does.
fn of_congestion_control(packet: &Packets, switches: &[SwitchModel; 3]) -> Option<Violation> {
    let (name, needs) = (packet.congestion_control.name(), packet.congestion_control.needs());
    if needs.marks && switches.iter().all(|switch| switch.ecn.is_none()) {
        let hint = "write [switch.leaf] ecn = { min = \"100 kB\", max = \"400 kB\", probability = 0.2 }";
        return Some((format!("{name} goes by marks, but no switch marks"), hint));
    }
    if needs.trimming && switches.iter().all(|switch| switch.trim.is_none()) {
        let hint = "write [switch.leaf] trim = \"100 kB\"";
        return Some((format!("{name} goes by trimmed packets, but no switch trims"), hint));
    }
    None
}

/// The model is what the tier's switches end up with.
fn of_switch(
    tier: &SwitchSpec,
    SwitchModel { buffer, credit, .. }: &SwitchModel,
    packet: &Packets,
) -> Option<(&'static str, Violation)> {
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
    let full = packet.full();
    let fits = "a full packet, payload and header, must fit: write more";
    let within = "write less than the buffer";
    let sizes = [
        ("buffer", Some(Bytes(bytes)), full, MOST_BYTES, fits),
        ("reserved", tier.reserved, 0, bytes, within),
        ("headroom", tier.headroom, 1, bytes - 1, within),
        ("resume_offset", tier.resume_offset, 0, bytes - 1, within),
        ("trim", tier.trim, full, MOST_BYTES, fits),
    ];
    for (key, written, least, most, hint) in sizes {
        if let Some(trouble) = written.and_then(|written| outside(key, written.0, least, most, hint)) {
            return Some((key, trouble));
        }
    }
    if credit.is_none() && tier.ecn.is_some_and(|ecn| ecn.at == MarkAt::Voq) {
        let message = "at = \"voq\" marks by virtual output queues, but this tier has no `credit`".to_owned();
        return Some((
            "ecn.at",
            (message, "write credit = { latency = \"5 us\", initial = \"64 KiB\", ramp = 2 }"),
        ));
    }
    let ecn = tier.ecn.filter(|ecn| ecn.min > ecn.max)?;
    let message = format!("min {} is more than max {}", ecn.min.shortest(), ecn.max.shortest());
    Some(("ecn.min", (message, "write min below max")))
}
