//! What a folder of FRR says, as far as the linter asks.
use std::collections::BTreeMap;

use crate::error::{FormatError, text_of};

/// Settings read from the files of one switch.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct FrrSwitch {
    /// Name by `hostname`.
    pub name: String,
    /// AS number.
    pub asn: u32,
    /// Sessions: address of the neighbor and its AS number.
    pub neighbors: BTreeMap<String, u32>,
    /// Network that is announced beside host routes.
    pub subnets: Vec<String>,
    /// Interval of BFD in milliseconds.
    pub bfd_ms: Option<u32>,
    /// Whether graceful restart is on.
    pub graceful_restart: bool,
    /// Whether next-hop objects of the kernel are off.
    pub classic_next_hops: bool,
    /// Hash seed of the kernel.
    pub hash_seed: Option<u32>,
    /// Hash policy of the kernel.
    pub hash_policy: Option<u32>,
    /// Whether an interface answers ARP for others; none where there is no interface for hosts.
    pub arp_proxy: bool,
    /// Interfaces towards hosts, by the routes that BGP announces.
    pub host_interfaces: u32,
    /// LACP system ids that are set.
    pub system_ids: Vec<String>,
    /// LACP port id of each port.
    pub port_ids: BTreeMap<String, u32>,
    /// LACP key of each port.
    pub keys: BTreeMap<String, u32>,
    /// Whether a watcher takes ports of hosts down without BGP.
    pub has_watcher: bool,
}

const FORMAT: &str = "FRR configuration";

/// Reads the files of one switch: name and bytes of each. Files of other names than [`files`](super::files) writes are
/// left alone, and so are lines that say nothing of these settings.
///
/// # Errors
/// [`FormatError`] where there is no `frr.conf`, or a number that is asked for is none.
pub fn read(folder: &str, files: &[(String, Vec<u8>)]) -> Result<FrrSwitch, FormatError> {
    let mut switch = FrrSwitch::default();
    let mut is_there = false;
    for (name, bytes) in files {
        let source = format!("{folder}/{name}");
        let parse = match name.as_str() {
            "frr.conf" => {
                is_there = true;
                frr_line
            }
            "sysctl.conf" => sysctl_line,
            "lacp.sh" => lacp_line,
            "bgp-watch.sh" => {
                switch.has_watcher = true;
                continue;
            }
            _ => continue,
        };
        for (number, line) in (1..).zip(text_of(FORMAT, &source, bytes)?.lines()) {
            let words: Vec<&str> = line.split_whitespace().collect();
            parse(&mut switch, &words).map_err(|word| {
                FormatError::new(FORMAT, &source, "is not a number that fits 32 bits", "write a whole number")
                    .at_line(number)
                    .found(word)
            })?;
        }
    }
    match is_there {
        true => Ok(switch),
        false => Err(FormatError::new(FORMAT, folder, "has no frr.conf", "name a folder of one switch")),
    }
}

fn number(word: &str) -> Result<u32, &str> {
    word.parse().map_err(|_| word)
}

fn frr_line<'a>(switch: &mut FrrSwitch, words: &[&'a str]) -> Result<(), &'a str> {
    match words {
        ["hostname", name] => switch.name = (*name).to_owned(),
        ["no", "zebra", "nexthop", "kernel", "enable"] => switch.classic_next_hops = true,
        ["router", "bgp", asn, ..] => switch.asn = number(asn)?,
        ["neighbor", peer, "remote-as", asn] => {
            switch.neighbors.insert((*peer).to_owned(), number(asn)?);
        }
        ["receive-interval" | "transmit-interval", interval] => {
            let interval = number(interval)?;
            switch.bfd_ms = Some(switch.bfd_ms.map_or(interval, |known| known.min(interval)));
        }
        ["bgp", "graceful-restart", ..] | ["neighbor", _, "graceful-restart"] => {
            switch.graceful_restart = true
        }
        ["ip", "route", subnet, "blackhole", "tag", _] => switch.subnets.push((*subnet).to_owned()),
        ["ip", "route", _, _, "tag", _] => switch.host_interfaces += 1,
        _ => {}
    }
    Ok(())
}

fn sysctl_line<'a>(switch: &mut FrrSwitch, words: &[&'a str]) -> Result<(), &'a str> {
    match words {
        ["net.ipv4.fib_multipath_hash_seed", "=", seed] => switch.hash_seed = Some(number(seed)?),
        ["net.ipv4.fib_multipath_hash_policy", "=", policy] => switch.hash_policy = Some(number(policy)?),
        [key, "=", "1"] if key.ends_with(".proxy_arp") => switch.arp_proxy = true,
        _ => {}
    }
    Ok(())
}

fn lacp_line<'a>(switch: &mut FrrSwitch, words: &[&'a str]) -> Result<(), &'a str> {
    let ["ovs-vsctl", "set", what, port, settings @ ..] = words else { return Ok(()) };
    for setting in settings {
        let Some((key, value)) = setting.split_once('=') else { continue };
        match (*what, key) {
            ("port", "other_config:lacp-system-id") => {
                let id = value.to_ascii_lowercase();
                if !switch.system_ids.contains(&id) {
                    switch.system_ids.push(id);
                }
            }
            ("interface", "other_config:lacp-port-id") => {
                switch.port_ids.insert((*port).to_owned(), number(value)?);
            }
            ("interface", "other_config:lacp-aggregation-key") => {
                switch.keys.insert((*port).to_owned(), number(value)?);
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use railtwin_fabric::preset::Hpn;

    use super::*;
    use crate::switch_config::{FabricPlan, PlanOptions};

    #[test]
    fn a_written_folder_reads_back() {
        let fabric = Hpn { segments: Some(2), hosts: Some(2), spines: Some(2), ..Hpn::default() }
            .build()
            .expect("small");
        let options = PlanOptions::default();
        let timers = crate::switch_config::BgpTimers { bfd: Some((100, 3)), ..options.timers };
        let plan = FabricPlan::new(&fabric, &PlanOptions { timers, ..options }).expect("small");
        let files = super::super::files(&plan);
        for switch in &plan.switches {
            let own = files.iter().filter_map(|file| {
                let (folder, name) = file.path.split_once('/')?;
                (folder == switch.name).then(|| (name.to_owned(), file.text.clone().into_bytes()))
            });
            let own: Vec<_> = own.collect();
            let read = read(&switch.name, &own).expect("it is ours");
            assert_eq!(
                (read.name.as_str(), read.asn, read.hash_seed),
                (switch.name.as_str(), switch.asn, Some(switch.hash_seed))
            );
            assert_eq!(
                (read.bfd_ms, read.graceful_restart, read.classic_next_hops),
                (Some(100), false, true)
            );
            assert_eq!(read.neighbors.len(), switch.ports.len());
            assert_eq!(read.host_interfaces as usize, switch.attachments.len());
            let Some(tor) = &switch.dual_tor else { continue };
            assert_eq!(
                (read.system_ids, read.has_watcher, read.arp_proxy),
                (vec![tor.system_id.clone()], true, true)
            );
            for one in &switch.attachments {
                for (port, name) in &one.members {
                    assert_eq!(read.port_ids[name], port + 1 + u32::from(tor.port_offset));
                    assert_eq!(Some(read.keys[name] as u16), one.lacp_key);
                }
            }
        }
    }

    proptest! {
        #[test]
        fn no_bytes_panic(
            line in "(router bgp|neighbor x remote-as|receive-interval|ovs-vsctl set interface a other_config:lacp-port-id=)? ?.{0,30}",
            bytes in prop::collection::vec(any::<u8>(), 0..60),
        ) {
            for name in ["frr.conf", "sysctl.conf", "lacp.sh"] {
                let _ = read("leaf-0", &[(name.to_owned(), line.clone().into_bytes())]);
                let _ = read("leaf-0", &[(name.to_owned(), bytes.clone())]);
            }
        }
    }
}
