//! What happens to devices from outside: cables die and return, routes change, troubles begin and end.
use railtwin_engine::fault::{Change, Moment};
use railtwin_engine::packet::Trouble;
use railtwin_engine::{Case, Ways};
use railtwin_fabric::{DeviceId, LinkId};

use crate::network::{Network, Speed};
use crate::places::Place;
use crate::ports::LOSE_ONE;

/// What changes at a device.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum What {
    /// It follows the routes of this epoch.
    Follow(usize),
    /// The line of a port carries nothing, or carries again.
    Dead(u16, bool),
    /// A port hears nothing any more.
    Deaf(u16),
    /// The line of a port loses packets, in 1/2^32.
    Lossy(u16, u32),
    /// Packets over the line of a port take longer from now on by so many ps, or no longer.
    Late(u16, u64, bool),
    /// A port is paused without end, or no longer.
    Storm(u16, bool),
    /// A NIC hands packets on at this speed.
    Slow(u32, Option<Speed>),
    /// A switch drops what finds more bytes than this.
    Limit(u64),
}

/// All changes by device, in order of time.
#[derive(Debug, Default)]
pub struct Changes {
    /// Device, time in ps, change.
    pub all: Vec<(u32, u64, What)>,
}

impl Changes {
    /// Of a case's faults and troubles.
    pub fn new(case: &Case, network: &Network<'_>, moments: &[Moment]) -> Self {
        let mut all = Vec::new();
        let fabric = &*case.fabric;
        let node = |device: DeviceId| match fabric.switch_row(device) {
            Some(row) => network.switch_at[row as usize],
            None => network.host_at[fabric.host_of(device).map_or(0, |host| host.index())],
        };
        for moment in moments {
            let (cable, ways, dead) = match moment.change {
                Change::Dies(cable, ways) => (cable, ways, true),
                Change::Carries(cable, ways) => (cable, ways, false),
                _ => continue,
            };
            for link in ways.links(cable) {
                if crate::network::is_network(fabric, link) {
                    let port = network.port_of(link);
                    all.push((node(fabric.source(link)), moment.at.ps(), What::Dead(port, dead)));
                    if dead && ways != Ways::Both {
                        let back = network.port_of(link.reverse());
                        all.push((node(fabric.target(link)), moment.at.ps(), What::Deaf(back)));
                    }
                }
            }
        }
        // After the cables: who follows new routes at once sends at once.
        for (epoch, routes) in network.epochs.iter().enumerate().skip(1) {
            all.extend(
                (0..network.places.len() as u32).map(|device| (device, routes.at.ps(), What::Follow(epoch))),
            );
        }
        for troubled in &case.packets.troubles {
            let (from, until) = (troubled.from.ps(), troubled.until.ps());
            let at_source = |link: LinkId| (node(fabric.source(link)), network.port_of(link));
            let (device, begins, ends) = match troubled.trouble {
                Trouble::Loss { link, share } => {
                    let (device, port) = at_source(link);
                    let share = (share * 4_294_967_296.0) as u64;
                    let lossy = share.min(u64::from(LOSE_ONE) - 1) as u32;
                    (device, What::Lossy(port, lossy), What::Lossy(port, 0))
                }
                Trouble::Latency { link, delay } => {
                    let (device, port) = at_source(link);
                    (device, What::Late(port, delay.ps(), true), What::Late(port, delay.ps(), false))
                }
                Trouble::LoseAcknowledgement { link } => {
                    let (device, port) = at_source(link);
                    (device, What::Lossy(port, LOSE_ONE), What::Lossy(port, 0))
                }
                Trouble::SlowReceiver { nic, share } => {
                    let host = fabric.host_of(nic).expect("a NIC belongs to a host");
                    let first = fabric.nic(host, 0);
                    let line =
                        fabric.access_link(nic, 0).map_or(0, |link| fabric.capacity(link).bits_per_s());
                    let rate = railtwin_units::Rate::from_bits_per_s((line as f64 * share) as u64);
                    let row = nic.0 - first.0;
                    (node(nic), What::Slow(row, Some(Speed::of(rate))), What::Slow(row, None))
                }
                Trouble::PauseStorm { link } => {
                    let (device, port) = at_source(link);
                    (device, What::Storm(port, true), What::Storm(port, false))
                }
                Trouble::SmallBuffer { switch, share } => {
                    let row = fabric.switch_row(switch).expect("a trouble of a switch names one");
                    let model = crate::network::model_of(case, row);
                    let ports = network.lines(node(switch)).len() as u64;
                    let bytes = match model.buffer {
                        railtwin_engine::packet::Buffer::Shared { bytes, .. } => bytes,
                        railtwin_engine::packet::Buffer::Carved { bytes } => bytes * ports,
                    };
                    (node(switch), What::Limit((bytes as f64 * share) as u64), What::Limit(u64::MAX))
                }
            };
            all.push((device, from, begins));
            if until < u64::MAX {
                all.push((device, until, ends));
            }
        }
        // A stable sort: what happens at one time happens in the order in which it was said.
        all.sort_by_key(|&(device, at, _)| (device, at));
        debug_assert!(all.iter().all(|(device, ..)| matches!(
            network.places[*device as usize],
            Place::Host(_) | Place::Switch(_)
        )));
        Self { all }
    }
}
