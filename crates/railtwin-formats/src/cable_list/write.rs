//! A cable list as CSV.
use std::collections::BTreeSet;

use railtwin_fabric::NONE;
use railtwin_fabric::cable_list::{CableList, CableNetwork, ListedDevice, StatedPlace};
use railtwin_units::{Rate, SimTime};

/// Picoseconds that light in fibre takes for a metre: 5 ns.
pub(super) const PS_PER_METRE: u64 = 5_000;

/// The list as CSV with a header; [`parse_cable_list`](super::parse_cable_list) reads the same list back. Free ports follow
/// the cables. A device has its place where it is named first. `length` is what light in fibre takes the delay for, 5 ns a
/// metre.
pub fn cable_list_csv(list: &CableList) -> String {
    let mut text = String::new();
    if let Some(title) = &list.title {
        text.push_str(&format!("# fabric: {}\n", title.replace(['\n', '\r'], " ")));
    }
    if let Some(latency) = list.switch_latency {
        text.push_str(&format!("# switch latency: {} ps\n", latency.ps()));
    }
    text.push_str("device_a,port_a,device_b,port_b,rate,length,role_a,role_b,place_a,place_b\n");
    let mut known = BTreeSet::new();
    for cable in list.cables() {
        write_row(&mut text, list, &mut known, cable.ports, cable.delay);
    }
    for (row, port) in (0..).zip(list.ports()) {
        if port.cable == NONE {
            write_row(&mut text, list, &mut known, [row, NONE], None);
        }
    }
    text
}

fn write_row(
    text: &mut String,
    list: &CableList,
    known: &mut BTreeSet<u32>,
    ends: [u32; 2],
    delay: Option<SimTime>,
) {
    let port = |end: u32| list.ports().get(end as usize);
    let device = |end: u32| port(end).map(|port| &list.devices()[port.device as usize]);
    let mut fields: Vec<String> = Vec::with_capacity(10);
    for end in ends {
        fields.push(device(end).map_or(String::new(), |device| device.name.clone()));
        fields.push(port(end).map_or(String::new(), |port| port.name.clone()));
    }
    fields.push(port(ends[0]).and_then(|port| port.rate).map_or(String::new(), rate_text));
    fields.push(delay.map_or(String::new(), length_text));
    fields.extend(ends.map(|end| device(end).map_or(String::new(), role_text)));
    for end in ends {
        let is_new = port(end).is_some_and(|port| known.insert(port.device));
        let place = device(end).and_then(|device| device.place).filter(|_| is_new);
        fields.push(place.map_or(String::new(), place_text));
    }
    let quoted: Vec<String> = fields.into_iter().map(|field| quoted(&field)).collect();
    text.push_str(&quoted.join(","));
    text.push('\n');
}

/// A field, in quotes where it needs them.
fn quoted(field: &str) -> String {
    match field.contains([',', '"', '\n', '\r']) || field.starts_with('#') {
        true => format!("\"{}\"", field.replace('"', "\"\"")),
        false => field.to_owned(),
    }
}

/// `400 Gbps`, exact to the bit.
fn rate_text(rate: Rate) -> String {
    let (whole, part) = (rate.bits_per_s() / 1_000_000_000, rate.bits_per_s() % 1_000_000_000);
    format!("{} Gbps", decimal_text(whole, part, 9))
}

/// `60 m`, exact to a fifth of a millimetre, which is a picosecond.
fn length_text(delay: SimTime) -> String {
    let (whole, part) = (delay.ps() / PS_PER_METRE, delay.ps() % PS_PER_METRE);
    format!("{} m", decimal_text(whole, part * 2, 4))
}

fn decimal_text(whole: u64, part: u64, digits: usize) -> String {
    match part {
        0 => whole.to_string(),
        _ => format!("{whole}.{part:0digits$}").trim_end_matches('0').to_owned(),
    }
}

fn role_text(device: &ListedDevice) -> String {
    let Some(role) = device.role else { return String::new() };
    match device.network {
        Some(network) if network != CableNetwork::Backend && !role.is_host() => format!("{network}-{role}"),
        _ => role.to_string(),
    }
}

fn place_text(place: StatedPlace) -> String {
    let all = [place.pod, place.segment, place.rail, place.plane, place.index];
    all.map(|number| if number == NONE { "-".to_owned() } else { number.to_string() }).join("/")
}
