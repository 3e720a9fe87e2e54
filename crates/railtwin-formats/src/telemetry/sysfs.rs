//! Folders copied from `/sys/class/infiniband` and `/sys/class/net`: a file for each counter, with a bare number.

use std::collections::{BTreeMap, BTreeSet};

use railtwin_records::Counter;

use super::Note;
use super::names::host_and_nic_of_name;
use super::nic_counters::{Join, Readings, counter_of, host_of, nic};
use super::{Content, Format, Hints, Imported, input};
use crate::error::FormatError;

/// Name of this format in errors.
const FORMAT: &str = "sysfs tree";

/// Folders of every machine, after which none is named.
const COMMON: [&str; 12] = [
    "infiniband",
    "class",
    "sys",
    "net",
    "devices",
    "sysfs",
    "host",
    "rootfs",
    "root",
    "fs",
    "data",
    "counters",
];

/// Where a file lies in a tree: the folder above all devices, and the rest of its path, parted by `/`. None for a file that
/// no driver of NICs makes.
///
/// ```
/// # use railtwin_formats::telemetry::place_in_sysfs;
/// let place = place_in_sysfs("node3/infiniband/mlx5_0/ports/1/counters/link_downed");
/// assert_eq!(place, Some(("node3/infiniband", "mlx5_0/ports/1/counters/link_downed")));
/// assert_eq!(place_in_sysfs("node3/ports.txt"), None);
/// ```
pub fn place_in_sysfs(path: &str) -> Option<(&str, &str)> {
    let mut starts = vec![0];
    starts.extend(path.match_indices('/').map(|(at, _)| at + 1));
    let part = |row: usize| {
        let from = *starts.get(row)?;
        path[from..].split('/').next()
    };
    let cut = |row: usize| {
        let from = *starts.get(row)?;
        Some((path[..from].trim_end_matches('/'), &path[from..]))
    };
    for row in 0..starts.len() {
        let next = part(row + 1).unwrap_or_default();
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|letter| letter.is_ascii_digit());
        if part(row + 1) == Some("ports") && part(row + 2).is_some_and(is_number) && part(row + 3).is_some() {
            return cut(row);
        }
        let of_net = ["carrier", "operstate", "carrier_down_count", "carrier_changes", "speed"];
        if part(row) == Some("net")
            && !next.is_empty()
            && (part(row + 2) == Some("statistics") && starts.len() == row + 4
                || starts.len() == row + 3 && part(row + 2).is_some_and(|name| of_net.contains(&name)))
        {
            return cut(row);
        }
    }
    None
}

/// The host that the folder of a tree tells: the last one that is not on every machine.
pub fn host_of_sysfs(folder: &str) -> Option<String> {
    let names = folder.rsplit(['/', '\\']).filter(|name| !name.is_empty() && *name != ".");
    let mut names = names.filter(|name| !COMMON.contains(name));
    names.find_map(|name| host_and_nic_of_name(&format!("{name}.d")).0)
}

/// Reads a tree: what each counter of each port of each NIC stands at, and whether its link is up. `files` are paths below
/// `source_name`, as [`place_in_sysfs`] cuts them, with their bytes. Counters that stand at the largest number that they
/// can hold are told in notes, and ports whose rate is below that of their like.
///
/// # Errors
/// A tree without any counter that is known; the first file that is wrong where no other can be read.
pub fn decode_sysfs(
    source_name: &str,
    files: &[(String, Vec<u8>)],
    hints: &Hints,
) -> Result<Imported, FormatError> {
    let mut readings = Readings::default();
    let host = hints.host.clone().or_else(|| host_of_sysfs(source_name));
    let host = host.unwrap_or_else(|| host_of("", &Hints::default(), &mut readings));
    let mut texts: BTreeMap<&str, String> = BTreeMap::new();
    // What is wrong now goes before what counters may have missed.
    let mut now: Vec<Note> = Vec::new();
    for (path, bytes) in files {
        texts.insert(path, String::from_utf8_lossy(bytes).trim().to_owned());
    }
    for (path, text) in &texts {
        let name = path.rsplit('/').next().unwrap_or(path);
        let Some(device) = device_of(path) else { continue };
        let component = nic(&host, device);
        match name {
            "state" | "operstate" | "carrier" => {
                if let Some(up) = is_up(name, text) {
                    let value = f64::from(u8::from(up));
                    readings.take(&component, Counter::LinkUp, value, Join::Largest, hints.time_ns);
                }
            }
            "phys_state" if !text.contains("LinkUp") && !text.is_empty() => {
                let (port, state) = (component.name().to_owned(), text.to_owned());
                now.push(Note::LinkDown { port, state });
            }
            _ => match text.parse::<f64>().ok().filter(|value| value.is_finite() && input::is_whole(text)) {
                Some(value) => readings.take_nic(&component, name, value, hints.time_ns),
                // `N/A (no PMA)` of virtual functions.
                None if counter_of(name).is_some() && !text.starts_with("N/A") => {
                    let accepted = "a counter's file holds one number";
                    let error = FormatError::new(FORMAT, source_name, "is no number", accepted);
                    readings.wrong(error.field(*path).found(text), name);
                }
                None => readings.skip(),
            },
        }
    }
    now.extend(slow_rates(&host, &texts));
    if readings.is_empty() {
        return Err(readings.first_wrong().unwrap_or_else(|| no_counter(source_name)));
    }
    let mut telemetry = readings.finish();
    now.append(&mut telemetry.notes);
    let skipped = std::mem::take(&mut telemetry.skipped);
    let content = Content::Counters(Box::new(telemetry));
    Ok(Imported {
        source: source_name.to_owned(),
        format: Format::SysfsTree,
        content,
        notes: now,
        skipped,
        log: None,
    })
}

/// Whether a link is up, by the text of the file that tells its state; none where it does not tell.
fn is_up(file: &str, text: &str) -> Option<bool> {
    let up = match file {
        "state" => text.contains("ACTIVE"),
        "carrier" => text == "1",
        _ => text == "up",
    };
    (!text.is_empty() && text != "unknown").then_some(up)
}

fn no_counter(source_name: &str) -> FormatError {
    let accepted = "give a copy of /sys/class/infiniband: mlx5_0/ports/1/counters/link_downed and others";
    FormatError::new(FORMAT, source_name, "has no counter that is known", accepted)
}

/// The device of a path in a tree.
fn device_of(path: &str) -> Option<&str> {
    let path = path.strip_prefix("net/").unwrap_or(path);
    path.split('/').next().filter(|device| !device.is_empty() && *device != "lo")
}

/// Ports whose rate is below that of most ports of the same link layer and model in the host.
fn slow_rates(host: &str, texts: &BTreeMap<&str, String>) -> Vec<Note> {
    let mut groups: BTreeMap<[&str; 2], Vec<(&str, f64, &str)>> = BTreeMap::new();
    for (path, text) in texts.iter().filter(|(path, _)| path.ends_with("/rate")) {
        let Some(device) = device_of(path) else { continue };
        let Some(rate) = text.split_whitespace().next().and_then(|word| word.parse::<f64>().ok()) else {
            continue;
        };
        let other = |name: String| texts.get(name.as_str()).map_or("", String::as_str);
        let layer = other(path.replace("/rate", "/link_layer"));
        let model = other(format!("{device}/hca_type"));
        groups.entry([layer, model]).or_default().push((device, rate, text));
    }
    let mut notes = Vec::new();
    for ports in groups.into_values() {
        let mut rates: Vec<f64> = ports.iter().map(|(_, rate, _)| *rate).collect();
        rates.sort_by(f64::total_cmp);
        let usual = rates[rates.len() / 2];
        let slow = ports.iter().filter(|(_, rate, _)| *rate < usual);
        notes.extend(slow.map(|(device, _, text)| Note::LinkSlow {
            port: format!("{host}/{device}"),
            rate: (*text).to_owned(),
            usual: usual.to_string(),
        }));
    }
    notes
}

/// Paths of a tree that lie beside its ports: what model a device is.
pub fn devices_of_sysfs<'a>(paths: impl Iterator<Item = &'a str>) -> BTreeSet<String> {
    let devices = paths.filter_map(|path| {
        let (root, rest) = place_in_sysfs(path)?;
        let device = rest.split('/').next().filter(|device| *device != "net")?;
        Some(if root.is_empty() { device.to_owned() } else { format!("{root}/{device}") })
    });
    devices.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tree(files: &[(&str, &str)]) -> Imported {
        let files: Vec<(String, Vec<u8>)> =
            files.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect();
        decode_sysfs("node3/infiniband", &files, &Hints::default()).expect("a tree")
    }

    #[test]
    fn counters_links_and_what_is_wrong_are_told() {
        let found = tree(&[
            ("mlx5_0/hca_type", "MT4129\n"),
            ("mlx5_0/ports/1/counters/link_downed", "255\n"),
            ("mlx5_0/ports/1/counters/port_xmit_data", "10\n"),
            ("mlx5_0/ports/1/counters/port_rcv_errors", "N/A (no PMA)\n"),
            ("mlx5_0/ports/1/hw_counters/out_of_sequence", "x\n"),
            ("mlx5_0/ports/1/state", "1: DOWN\n"),
            ("mlx5_0/ports/1/phys_state", "2: Polling\n"),
            ("mlx5_0/ports/1/rate", "100 Gb/sec (1X NDR)\n"),
            ("mlx5_1/hca_type", "MT4129\n"),
            ("mlx5_1/ports/1/rate", "400 Gb/sec (4X NDR)\n"),
            ("mlx5_2/hca_type", "MT4129\n"),
            ("mlx5_2/ports/1/rate", "400 Gb/sec (4X NDR)\n"),
        ]);
        let Content::Counters(telemetry) = &found.content else { panic!("{found:?}") };
        assert_eq!(telemetry.directory.entities[0].component, nic("node3", "mlx5_0"));
        let counters = &telemetry.batch.counters;
        let of = |counter: Counter| {
            counters.counter.iter().position(|one| *one == counter).map(|row| counters.value[row])
        };
        assert_eq!(of(Counter::LinkDowns), Some(255.0));
        assert_eq!((of(Counter::BytesSent), of(Counter::LinkUp)), (Some(40.0), Some(0.0)));
        assert_eq!(found.skipped.count(), 1);
        assert!(found.notes[0].to_string().contains("down, its port says 2: Polling"), "{:?}", found.notes);
        for words in ["255", "Polling", "100 Gb/sec"] {
            assert!(
                found.notes.iter().any(|note| note.to_string().contains(words)),
                "{words} {:?}",
                found.notes
            );
        }
    }

    #[test]
    fn hosts_come_from_the_folder_above() {
        for (folder, host) in [
            ("x/node3/sys/class/infiniband", Some("node3")),
            ("node7_t2/infiniband", Some("node7")),
            ("dumps/before/gpu-a/infiniband", Some("gpu-a")),
            ("infiniband", None),
        ] {
            assert_eq!(host_of_sysfs(folder).as_deref(), host, "{folder}");
        }
        let net = place_in_sysfs("n1/class/net/eth0/statistics/rx_bytes");
        assert_eq!(net, Some(("n1/class", "net/eth0/statistics/rx_bytes")));
    }

    proptest! {
        #[test]
        fn any_tree_is_read_or_refused(files in proptest::collection::vec(
            ("(a|mlx5_0|net|ports|/|1|counters|link_downed|state|rate){0,9}", proptest::collection::vec(any::<u8>(), 0..12)), 0..8,
        )) {
            for (path, _) in &files {
                let _ = (place_in_sysfs(path), host_of_sysfs(path));
            }
            let _ = decode_sysfs("n", &files, &Hints::default());
        }
    }
}
