//! Keys of packets that are allowed and likely not meant.
use railtwin_engine::packet::{Buffer, MarkAt};
use railtwin_engine::{Case, PacketCase};
use railtwin_fabric::{CableClass, LinkId};
use railtwin_units::{Bytes, Rate, SimTime};

use super::TIERS;

/// All of them.
pub(crate) fn of_packets(case: &Case) -> Vec<String> {
    let mut all = Vec::from_iter(of_window(case));
    let links = (0..case.fabric.link_count()).map(LinkId::from_index);
    let switched = links.filter(|link| case.fabric.cable_class(link.cable()) >= CableClass::Access);
    let fastest = switched.map(|link| case.fabric.capacity(link)).max().unwrap_or(Rate::ZERO);
    all.extend(of_switches(&case.packets, fastest));
    all.extend(of_samples(case));
    all
}

/// A window that ends before an acknowledgement is due waits for the timer, each time.
fn of_window(case: &Case) -> Option<String> {
    let packets = &case.packets;
    let keys = &packets.keys;
    let window = keys.window?.0;
    let each_is_answered = keys.is_selective(case.routing.balancer);
    let full = keys.full();
    let held = (window / full.max(1)).max(1);
    let message = keys.admission.map_or(packets.message, |admission| packets.message.min(admission.buffer.0));
    let every = u64::from(keys.acknowledge_every);
    // The last packet of a message always has an answer.
    if each_is_answered || every <= held || message.div_ceil(keys.payload.0.max(1)) <= held {
        return None;
    }
    Some(format!(
        "acknowledge_every = {every} is more than the {held} packets of the window of {}: each window waits for the \
         timeout of {}; write acknowledge_every up to {held}, or a window from {}",
        Bytes(window).shortest(),
        shown(case.transport.ack_timeout()),
        Bytes(every.saturating_mul(full)).shortest(),
    ))
}

/// Thresholds that a queue cannot reach.
fn of_switches(packets: &PacketCase, fastest: Rate) -> Vec<String> {
    let mut all = Vec::new();
    for (tier, model) in TIERS.iter().zip(&packets.tiers) {
        let (Buffer::Shared { bytes, .. } | Buffer::Carved { bytes }) = model.buffer;
        if let (Some(credit), Some(ecn)) = (model.credit, model.ecn)
            && ecn.at != MarkAt::Voq
        {
            // What an egress may be granted: the packets of the fastest port within a credit latency, and two more.
            let most =
                (fastest.bytes_per_s() * credit.latency.seconds() * 1.02) as u64 + 2 * packets.keys.full();
            if ecn.min.0 >= most {
                all.push(format!(
                    "switch.{tier}: under credits at most {} wait at an egress, and ecn.min is {}: nothing is marked \
                     there but by `initial`; write at = \"voq\"",
                    Bytes(most).shortest(),
                    ecn.min.shortest()
                ));
            }
        }
        let thresholds =
            [("ecn.min", model.ecn.map(|ecn| ecn.min.0), "marked"), ("trim", model.trim, "trimmed")];
        for (key, threshold, done) in thresholds {
            if let Some(threshold) = threshold.filter(|&threshold| threshold >= bytes) {
                let [threshold, bytes] = [threshold, bytes].map(|bytes| Bytes(bytes).shortest());
                all.push(format!(
                    "switch.{tier}: {key} = {threshold} is no less than the buffer of {bytes}: no packet is ever {done}"
                ));
            }
        }
    }
    all
}

/// Samples that are shorter than a packet see one packet or none.
fn of_samples(case: &Case) -> Option<String> {
    let width = case.packets.keys.samples?;
    let full = Bytes(case.packets.keys.full());
    let links = (0..case.fabric.link_count()).map(LinkId::from_index);
    let network = links.filter(|link| case.fabric.cable_class(link.cable()) >= CableClass::Access);
    let fastest = network.map(|link| case.fabric.capacity(link));
    let packet = full.time_at(fastest.max()?);
    (width < packet).then(|| {
        format!(
            "packet.samples = {} is less than the {} of a full packet at the fastest link: one packet or none in each, \
             and rows without number",
            shown(width),
            shown(packet)
        )
    })
}

fn shown(time: SimTime) -> String {
    format!("{time:.3}")
}
