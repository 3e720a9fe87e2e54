//! Checkpoints: what a job writes to storage hosts, as one step of communication that others may be in the way of.
use railtwin_control::Place;
use railtwin_control::crux::demand::JobDemand;
use railtwin_control::crux::tenants::{Candidate, Tenant, Transfer};
use railtwin_fabric::HostId;
use railtwin_units::stream::{self, Stream};
use railtwin_units::{Bytes, SimTime};
use rand::RngExt;

use crate::ask::{Ask, ClusterJob};
use crate::asked::Asked;
use crate::links::Links;
use crate::plant::Plant;
use crate::services::Service;

/// What a job writes, and where it is with it.
#[derive(Clone, Debug)]
pub(crate) struct Writing {
    /// What a checkpoint asks of links.
    pub demand: Asked,
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
        plant: &Plant<'_>,
        links: Links<'_>,
        ask: &Ask,
        step_alone: f64,
    ) -> Option<Self> {
        let asked = ask.checkpoints?;
        let transfers = transfers(job, places, plant, asked.bytes_per_gpu, ask);
        // It computes nothing, and communicates from its begin to its end.
        let tenant = Tenant { transfers, ..Tenant::new("", job.gpus, SimTime::ZERO, 0.0) };
        let demand = JobDemand::of(links.tenants, &tenant, &vec![0; tenant.transfers.len()]);
        let every = (asked.every / step_alone).round().max(1.0);
        (demand.seconds > 0.0).then_some(Self {
            demand: Asked::of(demand, links.taken),
            every,
            since: None,
            count: 0,
            seconds: 0.0,
            alone: 0.0,
        })
    }
}

/// The storage host of a job's first rank, of so many, and the lot behind it.
pub(crate) fn first_storage(job: &ClusterJob, hosts: usize, ask: &Ask) -> (usize, Stream) {
    let mut lot = stream::named(ask.seed, &format!("cluster/{}/checkpoints", job.name));
    (lot.random_range(0..hosts.max(1)), lot)
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
    let (first, mut lot) = first_storage(job, hosts.len(), ask);
    let mut transfers = Vec::new();
    for (rank, &place) in places.iter().enumerate() {
        let Some(&storage) = hosts.get((first + rank) % hosts.len().max(1)) else { break };
        let storage = Service::of(fabric, storage);
        let ports = storage.ports_towards(fabric, place);
        let pieces = ports * ask.queue_pairs;
        for piece in 0..pieces {
            let links = storage.way_to(plant, place, piece % ports, &mut lot);
            let links = links.into_iter().map(|link| link.0).collect();
            let candidates = vec![Candidate { links, source_port: None }];
            transfers.push(Transfer { bytes: Bytes(bytes.0 / u64::from(pieces)), candidates });
        }
    }
    transfers
}
