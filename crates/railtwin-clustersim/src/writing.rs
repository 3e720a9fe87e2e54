//! Checkpoints: what a job writes to storage hosts, as one step of communication that others may be in the way of.
use railtwin_control::Place;
use railtwin_control::crux::demand::JobDemand;
use railtwin_control::crux::tenants::{Candidate, Tenant, Tenants, Transfer};
use railtwin_fabric::{Fabric, HostId, LinkId};
use railtwin_routing::NicPort;
use railtwin_units::stream::{self, Stream};
use railtwin_units::{Bytes, SimTime};
use rand::RngExt;

use crate::ask::{Ask, ClusterJob};
use crate::plant::Plant;

/// What a job writes, and where it is with it.
#[derive(Clone, Debug)]
pub(crate) struct Writing {
    /// What a checkpoint asks of links.
    pub demand: JobDemand,
    /// Steps from one to the next, a whole number.
    pub every: f64,
    /// When the one began that is written now; none while the job trains.
    pub since: Option<f64>,
    /// Checkpoints that were written to their end, the seconds that they took, and those that they would have taken alone.
    pub count: u32,
    pub seconds: f64,
    pub alone: f64,
}

impl Writing {
    /// Of a job on these GPUs, a step of which takes so many seconds alone; none where it writes nothing.
    pub(crate) fn of(
        job: &ClusterJob,
        places: &[Place],
        (plant, tenants): (&Plant<'_>, &Tenants),
        ask: &Ask,
        step_alone: f64,
    ) -> Option<Self> {
        let asked = ask.checkpoints?;
        let transfers = transfers(job, places, plant, asked.bytes_per_gpu, ask);
        // It computes nothing, and communicates from its begin to its end.
        let tenant = Tenant { transfers, ..Tenant::new("", job.gpus, SimTime::ZERO, 0.0) };
        let demand = JobDemand::of(tenants, &tenant, &vec![0; tenant.transfers.len()]);
        let every = (asked.every / step_alone).round().max(1.0);
        (demand.seconds > 0.0).then_some(Self {
            demand,
            every,
            since: None,
            count: 0,
            seconds: 0.0,
            alone: 0.0,
        })
    }
}

/// What each rank writes: to the storage hosts in turn from one that the job's name draws, over all ports of its NIC and as
/// many queue pairs as training has.
fn transfers(
    job: &ClusterJob,
    places: &[Place],
    plant: &Plant<'_>,
    bytes: Bytes,
    ask: &Ask,
) -> Vec<Transfer> {
    let fabric = plant.fabric;
    let hosts: Vec<HostId> = fabric.storage_hosts().collect();
    let mut lot = stream::named(ask.seed, &format!("cluster/{}/checkpoints", job.name));
    let first = lot.random_range(0..hosts.len().max(1));
    let mut transfers = Vec::new();
    for (rank, &place) in places.iter().enumerate() {
        let Some(&storage) = hosts.get((first + rank) % hosts.len().max(1)) else { break };
        let model = fabric.host_model(place.host);
        let on_frontend = fabric.host_model(storage).frontend_nics > 0;
        let ports = if on_frontend { model.frontend.ports } else { model.nic.ports };
        let pieces = ports.max(1) * ask.queue_pairs;
        for piece in 0..pieces {
            let links = way(plant, place, (storage, on_frontend), piece % ports.max(1), &mut lot);
            let links = links.into_iter().map(|link| link.0).collect();
            let candidates = vec![Candidate { links, source_port: None }];
            transfers.push(Transfer { bytes: Bytes(bytes.0 / u64::from(pieces)), candidates });
        }
    }
    transfers
}

/// A way from a GPU to a storage host by a port of its NIC: that of the frontend, or of the backend where storage stands
/// there. Where the storage host is on another rail and no switch joins them, by the first NIC of the host that reaches
/// it.
fn way(
    plant: &Plant<'_>,
    place: Place,
    (storage, on_frontend): (HostId, bool),
    port: u32,
    lot: &mut Stream,
) -> Vec<LinkId> {
    let fabric: &Fabric = plant.fabric;
    let (model, target) = (fabric.host_model(place.host), fabric.nic(storage, 0));
    let own = match on_frontend {
        true => model.nics + place.gpu % model.frontend_nics.max(1),
        false => model.nic_of_gpu(place.gpu),
    };
    let others = (0..model.nics).filter(|&nic| !on_frontend && nic != own);
    for index in std::iter::once(own).chain(others) {
        let nic = fabric.nic(place.host, index);
        let mut path = Vec::new();
        if plant.draw(NicPort { nic, port }, target, lot, &mut path).is_some() {
            // How bytes come to a NIC of the frontend is not modelled, as in runs.
            let mut links = match on_frontend {
                true => Vec::new(),
                false => fabric.into_nic(place.host, plant.relay_of(nic, place.gpu), index),
            };
            links.append(&mut path);
            return links;
        }
    }
    Vec::new()
}
