//! The live links between switches and from NICs to leaves, laid out for building tables.

use std::collections::HashMap;

use railtwin_fabric::{CableClass, DeviceId, DeviceKind, Fabric, LinkId, NONE};

use crate::mask::LinkMask;

/// Lists of `T`, one after another.
#[derive(Clone, Debug)]
pub(crate) struct Lists<T> {
    /// List `i` owns `items[starts[i]..starts[i + 1]]`.
    starts: Vec<u32>,
    items: Vec<T>,
}

impl<T> Lists<T> {
    pub(crate) fn collect<I: IntoIterator<Item = T>>(lists: impl Iterator<Item = I>) -> Self {
        let mut starts = vec![0];
        let mut items = Vec::new();
        for list in lists {
            items.extend(list);
            starts.push(u32::try_from(items.len()).expect("links are dense and fit 32 bits"));
        }
        Self { starts, items }
    }

    #[inline]
    pub(crate) fn get(&self, list: usize) -> &[T] {
        &self.items[self.starts[list] as usize..self.starts[list + 1] as usize]
    }
}

/// A link of one switch and the switch at its other end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hop {
    pub(crate) link: LinkId,
    /// Row of the other switch.
    pub(crate) far: u32,
    /// Place of the link among those of the switch it leaves, in order of ports.
    pub(crate) rank: u32,
}

/// Live links between switches.
#[derive(Clone, Debug)]
pub(crate) struct SwitchLinks {
    /// By switch: live links up out of it, in order of ports.
    pub(crate) up: Lists<LinkId>,
    /// By switch: rows of the switches at the far ends of `up`.
    pub(crate) up_far: Lists<u32>,
    /// By switch: live links down into it; `far` is the parent that they leave.
    pub(crate) down_into: Lists<Hop>,
    /// Rows of all switches, highest tier first.
    pub(crate) descending: Vec<u32>,
    /// By switch: number of its list in `up_far`, equal lists having one number.
    pub(crate) parents: Vec<u32>,
    /// How many different lists there are.
    pub(crate) parent_lists: usize,
}

impl SwitchLinks {
    pub(crate) fn new(fabric: &Fabric, mask: &LinkMask) -> Self {
        let switches = fabric.switches();
        let tier = |device: DeviceId| fabric.place(device).map_or(0, |place| place.tier);
        let ups = || {
            switches.iter().map(|&(device, place)| {
                let links = fabric.neighbors(device).iter();
                links.filter(move |&&(link, far)| tier(far) > place.tier && !mask.is_down(link)).copied()
            })
        };
        let row = |device| fabric.switch_row(device).expect("above a switch are switches");
        let up = Lists::collect(ups().map(|links| links.map(|(link, _)| link)));
        let up_far = Lists::collect(ups().map(|links| links.map(|(_, far)| row(far))));

        let mut into = vec![Vec::new(); switches.len()];
        for (parent, &(device, place)) in switches.iter().enumerate() {
            for (rank, &(link, child)) in fabric.neighbors(device).iter().enumerate() {
                if (1..place.tier).contains(&tier(child)) && !mask.is_down(link) {
                    into[row(child) as usize].push(Hop { link, far: parent as u32, rank: rank as u32 });
                }
            }
        }
        let mut descending: Vec<u32> = (0..switches.len() as u32).collect();
        descending.sort_by_key(|&row| std::cmp::Reverse(switches[row as usize].1.tier));
        // Looked up only: the order of its entries is never seen.
        let mut known: HashMap<&[u32], u32> = HashMap::new();
        let parents = (0..switches.len()).map(|row| {
            let next = known.len() as u32;
            *known.entry(up_far.get(row)).or_insert(next)
        });
        let parents = parents.collect();
        let parent_lists = known.len();
        Self { up, up_far, down_into: Lists::collect(into.into_iter()), descending, parents, parent_lists }
    }
}

/// What sits in one backend port of a NIC.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// Port of the NIC, counting its backend ports from 0.
    pub port: u32,
    /// The link from the NIC into the leaf.
    pub link: LinkId,
    /// Row of the leaf in [`Fabric::switches`].
    pub leaf: u32,
}

/// The NICs of the backend and their access cables.
#[derive(Clone, Debug)]
pub(crate) struct NicLinks {
    /// By device: number of the NIC, [`NONE`] for all else.
    number: Vec<u32>,
    /// By NIC: its cabled ports, dead or alive, in order of ports.
    access: Lists<Access>,
    /// By NIC: live links from a leaf to it, by leaf and then port, with the leaf's row.
    arrivals: Lists<LinkId>,
    arrival_leaves: Lists<u32>,
}

impl NicLinks {
    pub(crate) fn new(fabric: &Fabric, mask: &LinkMask) -> Self {
        let mut number = vec![NONE; fabric.device_count()];
        let mut ports = Vec::new();
        for device in fabric.devices() {
            if fabric.kind(device) != DeviceKind::Nic {
                continue;
            }
            let cabled = accesses(fabric, device);
            if !cabled.is_empty() {
                number[device.index()] = ports.len() as u32;
                ports.push(cabled);
            }
        }
        let arrivals: Vec<Vec<Access>> = ports
            .iter()
            .map(|ports| {
                let mut live = ports.clone();
                live.retain(|access| !mask.is_down(access.link.reverse()));
                live.sort_by_key(|access| (access.leaf, access.port));
                live
            })
            .collect();
        Self {
            number,
            arrivals: Lists::collect(
                arrivals.iter().map(|list| list.iter().map(|access| access.link.reverse())),
            ),
            arrival_leaves: Lists::collect(arrivals.iter().map(|list| list.iter().map(|access| access.leaf))),
            access: Lists::collect(ports.into_iter()),
        }
    }

    /// Number of a NIC among those with access cables.
    #[inline]
    pub(crate) fn number(&self, nic: DeviceId) -> Option<usize> {
        let number = self.number.get(nic.index()).copied().unwrap_or(NONE);
        (number != NONE).then_some(number as usize)
    }

    pub(crate) fn count(&self) -> usize {
        self.access.starts.len() - 1
    }

    #[inline]
    pub(crate) fn access(&self, number: usize) -> &[Access] {
        self.access.get(number)
    }

    /// Leaves with a live link to the NIC, ascending; a leaf with two links is there twice.
    #[inline]
    pub(crate) fn arrival_leaves(&self, number: usize) -> &[u32] {
        self.arrival_leaves.get(number)
    }

    /// Live links from one leaf to the NIC.
    #[inline]
    pub(crate) fn arrivals_from(&self, number: usize, leaf: u32) -> &[LinkId] {
        let leaves = self.arrival_leaves.get(number);
        let start = leaves.iter().take_while(|&&other| other < leaf).count();
        let len = leaves[start..].iter().take_while(|&&other| other == leaf).count();
        &self.arrivals.get(number)[start..start + len]
    }
}

fn accesses(fabric: &Fabric, nic: DeviceId) -> Vec<Access> {
    let backend = fabric.ports(nic).filter(|&port| fabric.port_role(port).is_network());
    backend
        .enumerate()
        .filter_map(|(port, id)| {
            let cable = fabric.cable_at(id)?;
            let link = fabric.link_from(cable, id);
            debug_assert!(matches!(
                fabric.cable_class(cable),
                CableClass::Access | CableClass::FrontendAccess
            ));
            let leaf = fabric.switch_row(fabric.target(link))?;
            Some(Access { port: port as u32, link, leaf })
        })
        .collect()
}
