//! Files of neighbors as they were seen: cable lists, LLDP, InfiniBand, INT.
use std::path::{Path, PathBuf};

use railtwin_diagnosis::wiring::{Sighting, sightings_of_list};
use railtwin_formats::frames::{HeardLldp, captured, is_capture};
use railtwin_formats::telemetry::{
    DeviceTable, Format, Hints, IbLink, IbPort, detect_format, parse_device_table, parse_lldp,
};
use railtwin_formats::{FormatError, is_cable_list, is_int_hops, parse_cable_list, parse_int_hops};
use railtwin_records::NeighborInfo;
use railtwin_store::input;

use crate::CliError;

/// Accepted forms of files, for errors.
const ACCEPTED: &str = "read are cable lists (CSV), neighbors of lldpd (lldpcli show neighbors, -f json or keyvalue), \
                        ibnetdiscover, iblinkinfo, captures of LLDP (pcap, pcapng), and hops of INT probes (CSV or JSON lines)";

/// Sightings of cables, read from files.
#[derive(Default, Debug)]
pub(crate) struct Seen {
    pub(crate) sightings: Vec<Sighting>,
    /// Number of files of each kind.
    pub(crate) files: Vec<(&'static str, usize)>,
    pub(crate) notes: Vec<String>,
}

impl Seen {
    fn add(&mut self, kind: &'static str, sightings: impl IntoIterator<Item = Sighting>) {
        self.sightings.extend(sightings);
        match self.files.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, count)) => *count += 1,
            None => self.files.push((kind, 1)),
        }
    }
}

/// Reads files, and all files of folders in order of their names.
pub(crate) fn read(paths: &[PathBuf]) -> Result<Seen, CliError> {
    let mut seen = Seen::default();
    for path in paths {
        for file in files_of(path)? {
            let name = file.display().to_string();
            let bytes = input::read_unpacked(&file)
                .map_err(|error| CliError::input(format!("cannot read {name}: {error}"), ACCEPTED))?;
            match read_file(&mut seen, &name, &bytes) {
                Ok(()) => {}
                // A folder may hold other files.
                Err(error) if path.is_dir() => seen.notes.push(format!("not read: {error}")),
                Err(error) => return Err(CliError::refused(&error)),
            }
        }
    }
    if seen.files.is_empty() {
        let named: Vec<String> = paths.iter().take(3).map(|path| path.display().to_string()).collect();
        return Err(CliError::input(format!("no file tells a cable: {}", named.join(", ")), ACCEPTED));
    }
    Ok(seen)
}

/// A file, or the files of a folder and the folders in it.
fn files_of(path: &Path) -> Result<Vec<PathBuf>, CliError> {
    if !path.is_dir() {
        return Ok(vec![path.to_path_buf()]);
    }
    let failed = |error: std::io::Error| {
        CliError::input(format!("cannot read {}: {error}", path.display()), "name a folder that can be read")
    };
    let entries: Result<Vec<PathBuf>, _> =
        std::fs::read_dir(path).map_err(failed)?.map(|entry| entry.map(|entry| entry.path())).collect();
    let mut entries = entries.map_err(failed)?;
    entries.sort();
    let mut files = Vec::new();
    for entry in entries {
        // Links are not followed, so that a folder in itself comes to an end.
        let is_folder = entry.symlink_metadata().is_ok_and(|data| data.is_dir());
        match is_folder {
            true => files.extend(files_of(&entry)?),
            false if entry.is_file() => files.push(entry),
            false => {}
        }
    }
    Ok(files)
}

/// Reads one file by its content.
fn read_file(seen: &mut Seen, name: &str, bytes: &[u8]) -> Result<(), String> {
    let said = |error: FormatError| error.to_string();
    let of = |infos: &[NeighborInfo]| infos.iter().map(Sighting::of).collect::<Vec<_>>();
    if is_cable_list(bytes) {
        let list = parse_cable_list(name, bytes).map_err(said)?;
        seen.add("cable list", sightings_of_list(&list));
        return Ok(());
    }
    if is_int_hops(bytes) {
        let infos = parse_int_hops(name, bytes).map_err(said)?;
        seen.add("INT hops", of(&infos));
        return Ok(());
    }
    if is_capture(bytes) {
        let told = captured(name, bytes).map_err(said)?;
        seen.notes.extend(
            told.damaged
                .first()
                .map(|first| format!("{name}: {} frames are damaged; first: {first}", told.damaged.len())),
        );
        let infos: Vec<NeighborInfo> = told.lldp.iter().filter_map(|heard| heard_by(name, heard)).collect();
        if infos.is_empty() {
            return Err(format!("{name}: holds no LLDPDU; capture with `ether proto 0x88cc`"));
        }
        seen.add("captures", of(&infos));
        return Ok(());
    }
    match detect_format(bytes) {
        Some(Format::Lldp) => {
            let told = parse_lldp(name, bytes, &Hints::default()).map_err(said)?;
            seen.notes.extend(told.notes.iter().map(|note| format!("{name}: {note}")));
            if let Some(first) = told.skipped.first().next() {
                seen.notes
                    .push(format!("{name}: {} neighbors skipped; first: {first}", told.skipped.count()));
            }
            seen.add("LLDP", of(&told.neighbors));
            Ok(())
        }
        Some(Format::DeviceTable) => {
            match parse_device_table(name, bytes, &Hints::default()).map_err(said)? {
                DeviceTable::Links(links) => {
                    let infos: Vec<NeighborInfo> = links.iter().filter_map(neighbor_of).collect();
                    seen.add("InfiniBand links", of(&infos));
                    Ok(())
                }
                _ => Err(format!("{name}: tells no cable; {ACCEPTED}")),
            }
        }
        _ => Err(format!("{name}: tells no cable; {ACCEPTED}")),
    }
}

/// Returns the neighbor that a port of a capture received an LLDPDU from. The port is the interface of the capture,
/// on the device that the file is named for: `leaf-0.pcapng` with interface `uplink-3` is `leaf-0:uplink-3`,
/// `host-2.pcapng` with `nic-1:port-0` is `host-2/nic-1:port-0`; a capture without names of interfaces is of the port
/// that the file is named for. An LLDPDU of life 0 takes the neighbor back.
fn heard_by(file: &str, heard: &HeardLldp) -> Option<NeighborInfo> {
    let stem = Path::new(file).file_stem()?.to_str()?;
    let join =
        |device: &str, port: &str| format!("{device}{}{port}", if port.contains(':') { '/' } else { ':' });
    let HeardLldp { interface, frame } = heard;
    let port = interface.as_deref().map_or_else(|| stem.to_owned(), |interface| join(stem, interface));
    let device = frame.system_name().unwrap_or_else(|| frame.chassis.to_string());
    // A port that is told as a MAC address has its name in the description.
    let far = match frame.port.is_mac() {
        true => frame.port_description().unwrap_or_else(|| frame.port.to_string()),
        false => frame.port.to_string(),
    };
    (frame.life_s > 0).then(|| {
        let (neighbor, neighbor_port) = match far.split_once(':') {
            Some((nic, port)) => (format!("{device}/{nic}"), port.to_owned()),
            None => (device, far),
        };
        NeighborInfo { port, neighbor, neighbor_port }
    })
}

/// A link of InfiniBand as the neighbor of a port.
fn neighbor_of(link: &IbLink) -> Option<NeighborInfo> {
    let to = link.to.as_ref()?;
    let [(near, near_port), (far, far_port)] = [&link.from, to].map(device_and_port);
    Some(NeighborInfo { port: format!("{near}/{near_port}"), neighbor: far, neighbor_port: far_port })
}

/// Device and port of an InfiniBand port: `MF0;leaf-1:MQM8700/U1` is `leaf-1`, `gpu-7 mlx5_3` port `mlx5_3/1` of `gpu-7`.
fn device_and_port(port: &IbPort) -> (String, String) {
    let number = port.port;
    if port.is_switch {
        let bare = port.node.split_once(';').map_or(port.node.as_str(), |(_, rest)| rest);
        let bare = bare.split_once(':').map_or(bare, |(name, _)| name);
        return (bare.trim().to_owned(), number.to_string());
    }
    match port.node.trim().split_once(' ') {
        Some((host, adapter)) => (host.to_owned(), format!("{}/{number}", adapter.trim())),
        None => (port.node.trim().to_owned(), number.to_string()),
    }
}
