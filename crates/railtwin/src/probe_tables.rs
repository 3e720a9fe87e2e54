//! What surveys of controllers found, as telemetry: paths in the table `queue_pairs`, answers in `probes`.
use std::collections::BTreeMap;

use railtwin_control::controller::Answer;
use railtwin_engine::{Case, RunLog, Survey};
use railtwin_fabric::{DeviceId, Fabric, HostId};
use railtwin_records::{
    Batch, Directory, FlowInfo, HostInfo, Observation, RankInfo, Table, telemetry_tables,
};
use railtwin_units::SimTime;

/// Rows that are kept: as many as of the records of a telemetry run.
const ROWS_MAX: usize = 2_000_000;

/// Name of the job whose ranks stand for NICs that probe or are probed and that no rank uses.
const NOBODY: &str = "probes";

/// Adds the answers to all surveys of a run to records, with a look at each; `false` where they had no room any more.
///
/// Half of the way there and back stands for one way, as both take the same cables.
pub fn add(
    case: &Case,
    log: &RunLog,
    (directory, batch, observation): (&mut Directory, &mut Batch, &mut Observation),
) -> bool {
    let fabric = &*case.fabric;
    let mut ranks = Ranks::of(fabric, directory);
    let mut paths: BTreeMap<(DeviceId, u32, DeviceId, u16, Vec<u32>), u32> = BTreeMap::new();
    // Whom the run ended before is told of nothing: such a survey has neither answers nor a time.
    let mut surveys: Vec<&Survey> =
        log.surveys.iter().filter(|survey| survey.told != SimTime::NEVER).collect();
    surveys.sort_by_key(|survey| survey.told);
    let mut all = true;
    for survey in surveys {
        for (row, (probe, answer)) in survey.probes.iter().zip(&survey.answers).enumerate() {
            all &= batch.probes.len() < ROWS_MAX;
            if !all {
                break;
            }
            let links: Vec<u32> = survey.links_of(row).iter().map(|link| link.0).collect();
            let (nic, port) = (probe.source.nic, probe.source.port);
            let key = (nic, port, probe.target, probe.source_port, links);
            let flow = *paths.entry(key).or_insert_with_key(|(.., links)| {
                let [source, target] = [nic, probe.target].map(|nic| ranks.at(nic, directory));
                directory.flows.push(FlowInfo {
                    source,
                    target,
                    source_nic: fabric.device_name(nic),
                    target_nic: fabric.device_name(probe.target),
                    nic_port: port,
                    queue_pair: 0,
                    source_port: probe.source_port,
                    links: links.clone(),
                });
                directory.flows.len() as u32 - 1
            });
            let Answer { sent, lost, delay, loaded, .. } = *answer;
            let delay_ns = if delay == SimTime::NEVER { 0 } else { (delay.ps() + 1_000) / 2_000 };
            batch.probes.push(survey.told.ps() / 1_000, flow, loaded, sent, lost, delay_ns, 0.0);
        }
        batch.until_ns = batch.until_ns.max(survey.told.ps() / 1_000);
        let mut full =
            observation.looks.last().map_or([false; 4], |look| look.rows.map(|rows| rows.is_none()));
        full[3] |= !all;
        observation.look(batch.until_ns, batch, full);
    }
    all
}

/// The name that directories have for a host.
fn name_of(host: HostId) -> String {
    format!("host-{}", host.0)
}

/// Rows of the ranks that sit at NICs.
struct Ranks<'a> {
    fabric: &'a Fabric,
    rows: BTreeMap<DeviceId, u32>,
}

impl<'a> Ranks<'a> {
    fn of(fabric: &'a Fabric, directory: &Directory) -> Self {
        // Of a job a directory has the hosts that it is on, in its own order.
        let known: BTreeMap<String, HostId> =
            (0..fabric.hosts().len() as u32).map(|host| (name_of(HostId(host)), HostId(host))).collect();
        let mut rows = BTreeMap::new();
        for (row, rank) in (0..).zip(&directory.ranks) {
            let name = directory.hosts.get(rank.host as usize).map(|host| &host.name);
            if let Some(&host) = name.and_then(|name| known.get(name)) {
                rows.entry(fabric.nic(host, rank.nic)).or_insert(row);
            }
        }
        Self { fabric, rows }
    }

    fn at(&mut self, nic: DeviceId, directory: &mut Directory) -> u32 {
        let fabric = self.fabric;
        *self.rows.entry(nic).or_insert_with(|| {
            let host = fabric.host_of(nic).unwrap_or(HostId(0));
            let model = fabric.host_model(host);
            let number = nic.0 - fabric.nic(host, 0).0;
            let job = directory.jobs.iter().position(|name| name == NOBODY).unwrap_or_else(|| {
                directory.jobs.push(NOBODY.to_owned());
                directory.jobs.len() - 1
            });
            let job = job as u32;
            let rank = directory.ranks.iter().filter(|rank| rank.job == job).count() as u32;
            let gpu = model.gpu_of_nic(number);
            let name = name_of(host);
            let row = directory.hosts.iter().position(|known| known.name == name).unwrap_or_else(|| {
                directory.hosts.push(HostInfo { name });
                directory.hosts.len() - 1
            });
            directory.ranks.push(RankInfo { job, rank, host: row as u32, gpu, nic: number });
            directory.ranks.len() as u32 - 1
        })
    }
}

/// The tables of a run whose controllers probed and that has no telemetry beside; none where nobody did.
pub fn tables(case: &Case, log: &RunLog, source: &str) -> Vec<Table> {
    if log.surveys.is_empty() {
        return Vec::new();
    }
    let fabric = &*case.fabric;
    let mut directory = Directory::default();
    let hosts = (0..fabric.hosts().len()).map(|host| HostInfo { name: format!("host-{host}") });
    directory.hosts.extend(hosts);
    for (job, (graph, places)) in (0..).zip(case.work.jobs.iter().zip(&case.placements)) {
        directory.jobs.push(graph.name.clone());
        directory.ranks.extend((0..).zip(places).map(|(rank, place)| {
            let nic = fabric.host_model(place.host).nic_of_gpu(place.gpu);
            RankInfo { job, rank, host: place.host.0, gpu: place.gpu, nic }
        }));
    }
    let (mut batch, mut observation) = (Batch::default(), Observation::from(0));
    add(case, log, (&mut directory, &mut batch, &mut observation));
    let mut tables = telemetry_tables::tables(&directory, &batch, source);
    tables.push(observation.table(source));
    tables
}
