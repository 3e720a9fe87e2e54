//! Names of a cluster as those of a blueprint: a file with a line `theirs,ours` for each device or port, as `--names` of
//! `diagnose` has it.
use std::collections::BTreeMap;
use std::path::Path;

use railtwin_diagnosis::wiring::{FarEnd, Sighting};
use railtwin_fabric::cable_list::CableList;
use railtwin_store::input;

use crate::CliError;

/// Accepted forms of a line, for errors.
const ACCEPTED: &str = "write DEVICE,DEVICE or DEVICE/PORT,DEVICE/PORT, theirs first, one a line";

/// Names of devices, and of ports with their devices.
#[derive(Default, Debug)]
pub(crate) struct Aliases {
    devices: BTreeMap<String, String>,
    ports: BTreeMap<(String, String), (String, String)>,
}

/// Device and port of `device/port` or `device:port`.
fn split(name: &str) -> Option<(&str, &str)> {
    name.split_once('/').or_else(|| name.rsplit_once(':'))
}

impl Aliases {
    /// Reads a file of names; all right sides are of the list.
    pub(crate) fn read(path: &Path, list: &CableList) -> Result<Self, CliError> {
        let name = path.display().to_string();
        let bytes = input::read_unpacked(path).map_err(|error| {
            CliError::input(format!("cannot read {name}: {error}"), "name a file of names")
        })?;
        let text = String::from_utf8_lossy(&bytes);
        let mut aliases = Self::default();
        for (line, number) in text.trim_start_matches('\u{feff}').lines().zip(1_u64..) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let shown: String = line.chars().take(80).collect();
            let wrong =
                |problem: &str| CliError::input(format!("{name}:{number}: {shown:?} {problem}"), ACCEPTED);
            let (theirs, ours) = line.split_once(',').ok_or_else(|| wrong("is no pair of names"))?;
            let (theirs, ours) = (theirs.trim(), ours.trim());
            if theirs.is_empty() || ours.is_empty() {
                return Err(wrong("has an empty name"));
            }
            if list.device_named(ours).is_some() {
                let known = aliases.devices.insert(theirs.to_owned(), ours.to_owned());
                if known.is_some_and(|known| known != ours) {
                    return Err(wrong("gives another name to a device that stands above"));
                }
                continue;
            }
            let (device, port) = split(ours).ok_or_else(|| wrong("names no device of the blueprint"))?;
            let row = list.device_named(device).ok_or_else(|| wrong("names no device of the blueprint"))?;
            let port = spelled(list, row, port).ok_or_else(|| wrong("names no port of the device"))?;
            let (their_device, their_port) =
                split(theirs).ok_or_else(|| wrong("names a port on one side only"))?;
            let key = (their_device.to_owned(), their_port.to_owned());
            aliases.ports.insert(key, (device.to_owned(), port));
        }
        if aliases.devices.is_empty() && aliases.ports.is_empty() {
            return Err(CliError::input(format!("{name}: holds no names"), ACCEPTED));
        }
        Ok(aliases)
    }

    /// Gives sightings the names of the blueprint.
    pub(crate) fn rename(&self, list: &CableList, sightings: &mut [Sighting]) {
        for sighting in sightings {
            self.rename_end(list, &mut sighting.device, Some(&mut sighting.port));
            if let FarEnd::Device(device, port) = &mut sighting.far {
                self.rename_end(list, device, port.as_mut());
            }
        }
    }

    fn rename_end(&self, list: &CableList, device: &mut String, port: Option<&mut String>) {
        // Logs cut domains off, or do not.
        let short = device.split('.').next().unwrap_or(device).to_owned();
        if let Some(port) = port {
            let key = |device: &str| (device.to_owned(), port.clone());
            let given = self.ports.get(&key(device)).or_else(|| self.ports.get(&key(&short)));
            if let Some((to, to_port)) = given {
                (*device, *port) = (to.clone(), to_port.clone());
                return;
            }
            if let Some(to) = self.devices.get(device.as_str()).or_else(|| self.devices.get(&short)) {
                device.clone_from(to);
            }
            let row = list.device_named(device).or_else(|| list.device_named(&short));
            if let Some(known) = row.and_then(|row| spelled(list, row, port)) {
                *port = known;
            }
        } else if let Some(to) = self.devices.get(device.as_str()).or_else(|| self.devices.get(&short)) {
            device.clone_from(to);
        }
    }
}

/// The name of a port in the list for other spellings of it: `nic-3` for `nic-3:port-0`, `nic-3:1` for `nic-3:port-1`,
/// `mlx5_3` for `nic-3:port-0`, `mlx5_3/1` likewise, since InfiniBand counts ports from 1.
fn spelled(list: &CableList, device: u32, port: &str) -> Option<String> {
    let known = |name: String| list.port_named(device, &name).is_some().then_some(name);
    if let Some(name) = known(port.to_owned()) {
        return Some(name);
    }
    let (nic, number) = port.rsplit_once([':', '/']).unwrap_or((port, ""));
    let adapter = nic.strip_prefix("mlx5_").and_then(|number| number.parse::<u32>().ok());
    let found = match (adapter, number.parse::<u32>()) {
        (Some(adapter), Ok(number)) => known(format!("nic-{adapter}:port-{}", number.saturating_sub(1))),
        (Some(adapter), Err(_)) => known(format!("nic-{adapter}:port-0")),
        (None, Ok(number)) => known(format!("{nic}:port-{number}")),
        (None, Err(_)) => known(format!("{port}:port-0")),
    };
    // The only port of an adapter may go by the adapter's name.
    found.or_else(|| adapter.and_then(|_| known(nic.to_owned())))
}
