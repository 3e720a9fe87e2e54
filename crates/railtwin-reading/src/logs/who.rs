//! Hosts, GPUs, NICs and ranks behind the addresses and numbers that lines of logs have.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_diagnosis::ends::{End, UNKNOWN_HOST};
use railtwin_formats::telemetry::{KernelEvent, LogEvent, LogSays, NcclEvent, NcclTest, pci_address};
use railtwin_records::{Component, Directory, HostInfo, RankInfo};

use super::{Said, hosts};

/// What is known of who is who.
#[derive(Debug, Default)]
pub(crate) struct Who<'a> {
    /// Names of hosts as records and other lines have them, by their names without a domain.
    names: BTreeMap<String, String>,
    /// Hosts by address.
    addresses: BTreeMap<&'a str, String>,
    /// Ports by their addresses: host, and device where it is told.
    gids: BTreeMap<&'a str, (String, Option<&'a str>)>,
    /// Numbers of GPUs in their host, by host and address on the bus.
    gpus: BTreeMap<(String, String), u32>,
    /// Names of network devices, by host and address on the bus, the one of the RDMA device first.
    nics: BTreeMap<(String, String), &'a str>,
    /// Host and GPU of ranks of the job.
    ranks: BTreeMap<u32, (String, u32)>,
}

fn is_address(name: &str) -> bool {
    name.contains(':') || name.chars().all(|letter| letter.is_ascii_digit() || letter == '.')
}

/// A name without its domain; addresses stay.
fn short(name: &str) -> &str {
    if is_address(name) { name } else { name.split('.').next().unwrap_or(name) }
}

impl<'a> Who<'a> {
    pub(crate) fn of(
        events: &[Said<'a>],
        tests: &'a [(String, Vec<NcclTest>)],
        directory: &Directory,
    ) -> Self {
        let mut who = Self::default();
        let told = directory.hosts.iter().map(|host| host.name.clone());
        let devices = tests.iter().flat_map(|(_, tests)| tests).flat_map(|test| &test.devices);
        let of_tests = devices.clone().map(|device| device.host.clone());
        for name in told.chain(of_tests).chain(hosts(events)) {
            who.names.entry(short(&name).to_owned()).or_insert(name);
        }
        for device in devices {
            if let Some(bus) = pci_address(&device.bus) {
                who.gpus.insert((who.known(&device.host), bus), device.gpu);
            }
        }
        let mut worlds: Vec<(u32, &str, u32, String, u32)> = Vec::new();
        for (_, event) in events {
            let host = who.host_of(event);
            match &event.what {
                LogSays::Nccl(NcclEvent::Rank { rank, ranks, gpu, bus, communicator }) => {
                    who.gpus.insert((host.clone(), bus.clone()), *gpu);
                    worlds.push((*ranks, communicator, *rank, host, *gpu));
                }
                LogSays::Nccl(NcclEvent::Address(address)) => {
                    who.addresses.insert(address, host);
                }
                LogSays::Nccl(NcclEvent::Completion { local_gid, device, .. }) if !local_gid.is_empty() => {
                    let device = Some(device.as_str()).filter(|device| !device.is_empty());
                    who.gids.insert(local_gid, (host, device));
                }
                LogSays::Nccl(NcclEvent::Verbs { device, gids: [local, _], .. }) if !local.is_empty() => {
                    let device = Some(device.as_str()).filter(|device| !device.is_empty());
                    who.gids.insert(local, (host, device));
                }
                LogSays::Kernel(
                    KernelEvent::Named { bus, name }
                    | KernelEvent::Link { bus: Some(bus), name: Some(name), .. },
                ) => {
                    let known = who.nics.entry((host, bus.clone())).or_insert(name);
                    if name.starts_with("mlx5_") && !known.starts_with("mlx5_") {
                        *known = name;
                    }
                }
                _ => {}
            }
        }
        who.number(&worlds);
        who.peers(events, tests);
        who
    }

    /// Addresses that nothing tells: what one of the two hosts of a test calls the other end is the other host. One that
    /// several hosts would have is none.
    fn peers(&mut self, events: &[Said<'a>], tests: &'a [(String, Vec<NcclTest>)]) {
        let pairs: BTreeMap<&str, [String; 2]> = (tests.iter())
            .filter_map(|(file, tests)| {
                let devices = tests.iter().flat_map(|test| &test.devices);
                let hosts: BTreeSet<String> = devices.map(|device| self.known(&device.host)).collect();
                Some((file.as_str(), <[String; 2]>::try_from(Vec::from_iter(hosts)).ok()?))
            })
            .collect();
        let mut told: BTreeMap<&'a str, BTreeSet<String>> = BTreeMap::new();
        for (file, event) in events {
            let LogSays::Nccl(
                NcclEvent::Completion { peer, .. }
                | NcclEvent::Closed { peer }
                | NcclEvent::Refused { peer, .. },
            ) = &event.what
            else {
                continue;
            };
            let Some([a, b]) = pairs.get(file).filter(|_| is_address(peer)) else { continue };
            let own = self.host_of(event);
            let other = if own == *a { b } else { a };
            if own == *a || own == *b {
                told.entry(peer).or_default().insert(other.clone());
            }
        }
        for (peer, hosts) in told.into_iter().filter(|(_, hosts)| hosts.len() == 1) {
            self.addresses.entry(peer).or_insert_with(|| hosts.into_iter().next().unwrap_or_default());
        }
    }

    /// Ranks of the job: those of the largest communicator. Where there are several of that size they must agree.
    fn number(&mut self, worlds: &[(u32, &str, u32, String, u32)]) {
        let Some(most) = worlds.iter().map(|world| world.0).max() else { return };
        let mut unsure = BTreeSet::new();
        for (_, _, rank, host, gpu) in worlds.iter().filter(|world| world.0 == most) {
            let place = (host.clone(), *gpu);
            if *self.ranks.entry(*rank).or_insert_with(|| place.clone()) != place {
                unsure.insert(*rank);
            }
        }
        // Groups of all ranks in another order, or two jobs: then a number is nobody.
        if !unsure.is_empty() {
            self.ranks.clear();
        }
    }

    fn known(&self, name: &str) -> String {
        self.names.get(short(name)).cloned().unwrap_or_else(|| name.to_owned())
    }

    /// The host of an event.
    pub(crate) fn host_of(&self, event: &LogEvent) -> String {
        match (&event.host, event.rank.and_then(|rank| self.ranks.get(&rank))) {
            (Some(host), _) => self.known(host),
            (None, Some((host, _))) => host.clone(),
            (None, None) => UNKNOWN_HOST.to_owned(),
        }
    }

    /// The other end: by the address of its port, else by its own or its name.
    pub(super) fn end_of(&self, peer: &str, gid: &str) -> End {
        let of_gid = self.gids.get(gid);
        let host = match (of_gid, self.addresses.get(peer)) {
            (Some((host, _)), _) => host.clone(),
            (None, Some(host)) => host.clone(),
            (None, None) => self.known(peer),
        };
        End { host, nic: of_gid.and_then(|(_, nic)| *nic).map(str::to_owned) }
    }

    pub(super) fn nic_of_gid(&self, gid: &str) -> Option<String> {
        self.gids.get(gid).and_then(|(_, nic)| *nic).map(str::to_owned)
    }

    /// The GPU at an address.
    pub(crate) fn gpu(&self, host: &str, bus: &str) -> Component {
        match self.gpus.get(&(host.to_owned(), bus.to_owned())) {
            Some(gpu) => Component::Gpu(format!("{host}/gpu-{gpu}")),
            None => Component::Gpu(format!("{host}/{bus}")),
        }
    }

    /// The name of a NIC in its host: that of its RDMA device, else the one of a line, else its address.
    pub(crate) fn nic<'b>(&'b self, host: &str, bus: Option<&'b str>, name: Option<&'b str>) -> &'b str {
        let of_bus = bus.and_then(|bus| self.nics.get(&(host.to_owned(), bus.to_owned())).copied());
        let of_name = name.and_then(|name| {
            // The same device under its other name.
            let mut of_host = self.nics.iter().filter(|((of, _), known)| of == host && **known == name);
            of_host.next().map(|(_, known)| *known)
        });
        of_bus.or(of_name).or(name).or(bus).unwrap_or("unknown-nic")
    }

    /// The GPU of the process that writes a line.
    pub(super) fn gpu_of(&self, event: &LogEvent) -> Option<Component> {
        if let Some((host, gpu)) = event.rank.and_then(|rank| self.ranks.get(&rank)) {
            return Some(Component::Gpu(format!("{host}/gpu-{gpu}")));
        }
        let host = event.host.as_ref()?;
        event.device.map(|device| Component::Gpu(format!("{}/gpu-{device}", self.known(host))))
    }

    /// The process that writes a line: its rank, else its GPU, else its host.
    pub(super) fn process_of(&self, event: &LogEvent, job: &str) -> Option<Component> {
        let host = event.host.as_ref().map(|host| self.known(host));
        let here = |(_, place): &(&u32, &(String, u32))| {
            Some(&place.0) == host.as_ref() && Some(place.1) == event.device
        };
        let rank = event.rank.or_else(|| self.ranks.iter().find(here).map(|(rank, _)| *rank));
        rank.map(|rank| Component::Rank(format!("{job}/{rank}")))
            .or_else(|| self.gpu_of(event))
            .or_else(|| host.map(Component::Host))
    }

    /// Hosts and ranks into the directory: new ones where it has none, hosts of those of which no file told them.
    pub(super) fn fill(&self, job: &str, directory: &mut Directory) {
        let row_of = |directory: &mut Directory, name: &str| {
            let known = directory.hosts.iter().position(|host| host.name == name);
            known.unwrap_or_else(|| {
                directory.hosts.push(HostInfo { name: name.to_owned() });
                directory.hosts.len() - 1
            }) as u32
        };
        let is_empty = directory.ranks.is_empty();
        if is_empty && !self.ranks.is_empty() && directory.jobs.is_empty() {
            directory.jobs.push(job.to_owned());
        }
        for (&rank, (host, gpu)) in &self.ranks {
            let host = row_of(directory, host);
            if is_empty {
                directory.ranks.push(RankInfo { job: 0, rank, host, gpu: *gpu, nic: *gpu });
                continue;
            }
            let unknown = format!("host-of-rank-{rank}");
            let names: Vec<bool> = directory.hosts.iter().map(|host| host.name == unknown).collect();
            for info in directory.ranks.iter_mut().filter(|info| info.rank == rank) {
                if names.get(info.host as usize) == Some(&true) {
                    (info.host, info.gpu, info.nic) = (host, *gpu, *gpu);
                }
            }
        }
        for name in self.names.values() {
            row_of(directory, name);
        }
    }
}
