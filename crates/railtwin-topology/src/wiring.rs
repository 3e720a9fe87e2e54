//! What forms of wiring share: text of sources, rates and lengths as people write them, ends of cables, adapters.
use std::collections::BTreeSet;

use railtwin_fabric::cable_list::{DeviceRole, nic_and_port, role_of};
use railtwin_formats::FormatError;
use railtwin_units::{Rate, SimTime, decimal};
use serde_json::Value;

use crate::about::DeviceClass;
use crate::form::SourceFile;
use crate::topology::Topology;

/// Picoseconds that light in fibre takes for a metre: 5 ns, as in cable lists.
pub(crate) const PS_PER_METRE: u64 = 5_000;
/// Longest cable that is believed: 1,000 km, as in cable lists.
const METRES_MAX: u64 = 1_000_000;

/// The text of a source without a byte-order mark.
pub(crate) fn text<'a>(format: &'static str, source: &SourceFile<'a>) -> Result<&'a str, FormatError> {
    let text = std::str::from_utf8(source.bytes).map_err(|error| {
        let accepted = "write the file as UTF-8, and decompress it first if it is compressed";
        let error_at = error.valid_up_to() as u64;
        FormatError::new(format, source.name, "is not UTF-8 text", accepted).at_byte(error_at)
    })?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}

/// The JSON document of a source.
pub(crate) fn json(format: &'static str, source: &SourceFile<'_>) -> Result<Value, FormatError> {
    serde_json::from_str(text(format, source)?).map_err(|error| {
        let problem = format!("is not JSON: {error}");
        let made = FormatError::new(format, source.name, problem, "write the file anew: it may be cut short");
        made.at_line(error.line().max(1) as u64)
    })
}

/// Reads each source. Of several, one that cannot be read is a finding, unless none can be read.
///
/// # Errors
/// The first error where no source could be read.
pub(crate) fn each<'a>(
    topology: &mut Topology,
    sources: &[SourceFile<'a>],
    mut read: impl FnMut(&mut Topology, &SourceFile<'a>) -> Result<(), FormatError>,
) -> Result<(), FormatError> {
    let mut failed: Option<FormatError> = None;
    let mut good = 0;
    for source in sources {
        match read(topology, source) {
            Ok(()) => good += 1,
            Err(error) => {
                topology.find("unreadable-file", source.name, error.without_source());
                failed.get_or_insert(error);
            }
        }
    }
    match failed {
        Some(error) if good == 0 => Err(error),
        _ => Ok(()),
    }
}

/// The rate of a text: `400G`, `400 Gbps`, `SPEED_400GB`, `2.5G`; a bare number has megabits per second.
pub(crate) fn rate(text: &str) -> Option<Rate> {
    let text = text.trim();
    let text = text.strip_prefix("SPEED_").unwrap_or(text);
    let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let scale = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "m" | "mb" | "mbps" | "mb/s" | "mbit/s" => 1_000_000,
        "g" | "gb" | "gbps" | "gbe" | "gb/s" | "gbit/s" => 1_000_000_000,
        "t" | "tb" | "tbps" => 1_000_000_000_000,
        "k" | "kbps" => 1_000,
        _ => return None,
    };
    decimal::scaled(number, scale).ok().filter(|&bits| bits > 0).map(Rate::from_bits_per_s)
}

/// A rate as `400G`, exact to the bit.
pub(crate) fn rate_text(rate: Rate) -> String {
    format!("{}G", decimal_text(rate.bits_per_s(), 1_000_000_000))
}

/// `units / scale` as a decimal number, `scale` being a power of ten or half of one.
pub(crate) fn decimal_text(units: u64, scale: u64) -> String {
    let (whole, mut part) = (units / scale, u128::from(units % scale));
    let mut text = whole.to_string();
    if part > 0 {
        text.push('.');
    }
    while part > 0 {
        part *= 10;
        text.push(char::from(b'0' + (part / u128::from(scale)) as u8));
        part %= u128::from(scale);
    }
    text
}

/// The time of light in fibre for a length of a number and a unit of `m`, `cm`, `km`, `ft`, `in` or `mi`.
pub(crate) fn length(number: &str, unit: &str) -> Option<SimTime> {
    // Micrometres of a unit: all of these are whole numbers of them.
    let micrometres: u64 = match unit.trim().to_ascii_lowercase().as_str() {
        "m" | "" | "meter" | "meters" | "metres" => 1_000_000,
        "cm" => 10_000,
        "km" => 1_000_000_000,
        "ft" | "feet" => 304_800,
        "in" => 25_400,
        "mi" => 1_609_344_000,
        _ => return None,
    };
    let length = decimal::scaled(number.trim(), micrometres).ok()?;
    let length = (length <= METRES_MAX * 1_000_000).then_some(length)?;
    Some(SimTime::from_ps(length * PS_PER_METRE / 1_000_000))
}

/// A number of JSON, which may stand in quotes, as text.
pub(crate) fn number_text(value: &Value) -> Option<String> {
    match value {
        Value::Number(number) => Some(number.to_string()),
        Value::String(text) => Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
        _ => None,
    }
}

/// The role of a host: that which the first of its names tells that speaks of a host, else a host with GPUs.
pub(crate) fn host_role(names: &[&str]) -> DeviceRole {
    names.iter().find_map(|name| role_of(name).filter(|role| role.is_host())).unwrap_or(DeviceRole::Host)
}

/// One end of a cable.
#[derive(Clone, Copy, Debug)]
pub(crate) struct End<'a> {
    /// Row of the device.
    pub device: u32,
    /// Name of the port.
    pub port: &'a str,
    /// Rate of the port, where it is told.
    pub rate: Option<Rate>,
}

/// Joins two ends. A port without a rate has that of the other; two rates that differ are a finding `rate-differs`.
pub(crate) fn join(
    topology: &mut Topology,
    ends: [End<'_>; 2],
    delay: Option<SimTime>,
    line: u64,
) -> Option<u32> {
    let [a, b] = ends;
    if let (Some(first), Some(second)) = (a.rate, b.rate)
        && first != second
    {
        let name = |end: End<'_>| topology.list.devices()[end.device as usize].name.clone();
        let (at, far) = (name(a), name(b));
        let seen = format!(
            "port {} has {}, and port {} of {far} at its other end {}",
            a.port,
            rate_text(first),
            b.port,
            rate_text(second)
        );
        topology.find("rate-differs", at, seen);
    }
    topology.list.port(a.device, a.port, a.rate.or(b.rate), line);
    topology.list.port(b.device, b.port, b.rate.or(a.rate), line);
    topology.join([(a.device, a.port), (b.device, b.port)], None, delay, line)
}

/// Whether a name is an address of hardware: `0c:4f:9b:c4:18:61`, `0c4f.9bc4.1861`.
pub(crate) fn is_mac(name: &str) -> bool {
    let digits = name.chars().filter(char::is_ascii_hexdigit).count();
    digits == 12
        && matches!(name.len(), 14 | 17)
        && name.chars().all(|letter| letter.is_ascii_hexdigit() || ":-.".contains(letter))
}

/// Enters the adapters of hosts by the names of their ports: `nic-1:port-0` and `nic-1:port-1` are of `nic-1`.
pub(crate) fn adapters_by_port(topology: &mut Topology) {
    let hosts: Vec<u32> = topology.hosts().collect();
    for host in hosts {
        let ports = &topology.list.devices()[host as usize].ports;
        let names = ports.iter().map(|&port| topology.list.ports()[port as usize].name.as_str());
        let adapters = names.map(|name| if is_mac(name) { name } else { nic_and_port(name).0 });
        let names: BTreeSet<String> = adapters.map(str::to_owned).collect();
        topology.about_mut(host).adapters = names;
    }
}

/// Enters a device that a cable names and that no object describes; a finding says so.
pub(crate) fn undescribed(topology: &mut Topology, name: &str, class: DeviceClass, seen: &str) -> u32 {
    let class = match (class, role_of(name)) {
        (DeviceClass::Unknown, Some(role)) if role.is_host() => DeviceClass::Host,
        (DeviceClass::Unknown, Some(_)) => DeviceClass::Switch,
        (class, _) => class,
    };
    let (kind, row) = match class {
        DeviceClass::Host => ("missing-host", topology.host(name)),
        DeviceClass::Switch => ("missing-switch", topology.switch(name)),
        _ => ("unknown-device", topology.device(name)),
    };
    let role = role_of(name).filter(|role| role.is_host() == (class == DeviceClass::Host));
    if class != DeviceClass::Unknown && role.is_some() {
        topology.list.device_mut(row).role = role;
    }
    topology.find(kind, name, seen);
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_lengths_of_people_are_exact() {
        let gbps = |gbps: u64| Some(Rate::from_gbps(gbps));
        for (text, wanted) in [
            ("400G", gbps(400)),
            ("SPEED_25GB", gbps(25)),
            ("800000", gbps(800)),
            ("2.5G", Some(Rate::from_bits_per_s(2_500_000_000))),
            ("0", None),
            ("G", None),
            ("4x25G", None),
        ] {
            assert_eq!(rate(text), wanted, "{text}");
        }
        assert_eq!(rate_text(Rate::from_bits_per_s(2_500_000_001)), "2.500000001G");
        assert_eq!(length("60", "m"), Some(SimTime::from_ns(300)));
        assert_eq!(length("1000", "ft"), Some(SimTime::from_ns(1_524)));
        assert_eq!(length("1e9", "m"), None);
        assert_eq!(length("1000001", "m"), None);
        assert_eq!(decimal_text(7_500, PS_PER_METRE), "1.5");
    }
}
