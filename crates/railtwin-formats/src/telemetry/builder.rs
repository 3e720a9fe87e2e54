//! Directory and batch in the making: who is who by name, rows numbered in order of first use.

use std::collections::{BTreeMap, HashMap};

use railtwin_records::{
    Batch, CommunicatorInfo, Component, Counter, Directory, EntityInfo, FlowInfo, HostInfo, NOT_YET,
    OperationShape, RankInfo,
};

/// What tells flows apart: NICs at both ends, port, queue pair, source port.
type FlowKey = (String, String, u32, u32, u16);

/// Makes a directory and a batch over it.
#[derive(Default)]
pub(crate) struct Builder {
    directory: Directory,
    batch: Batch,
    jobs: BTreeMap<String, u32>,
    hosts: BTreeMap<String, u32>,
    /// Looked up alone: its order is never seen.
    ranks: HashMap<(u32, u32), u32>,
    communicators: BTreeMap<(u32, String, Vec<u32>), u32>,
    shapes: BTreeMap<OperationShape, u32>,
    entities: BTreeMap<Component, u32>,
    flows: BTreeMap<FlowKey, u32>,
}

/// The host of a rank of which no host is told: one for each rank, so that no two seem to share one.
pub(super) fn unknown_host(rank: u32) -> String {
    format!("host-of-rank-{rank}")
}

impl Builder {
    pub(crate) fn job(&mut self, name: &str) -> u32 {
        let jobs = &mut self.directory.jobs;
        *self.jobs.entry(name.to_owned()).or_insert_with(|| {
            jobs.push(name.to_owned());
            jobs.len() as u32 - 1
        })
    }

    fn host(&mut self, name: &str) -> u32 {
        let hosts = &mut self.directory.hosts;
        *self.hosts.entry(name.to_owned()).or_insert_with(|| {
            hosts.push(HostInfo { name: name.to_owned() });
            hosts.len() as u32 - 1
        })
    }

    /// The row of a rank. A host or GPU that is told later replaces one that was not known.
    pub(crate) fn rank(&mut self, job: u32, rank: u32, host: Option<&str>, gpu: Option<u32>) -> u32 {
        if let Some(&row) = self.ranks.get(&(job, rank)) {
            let old = self.directory.ranks[row as usize].host;
            if let Some(host) = host
                && self.directory.hosts[old as usize].name == unknown_host(rank)
            {
                let host = self.host(host);
                let info = &mut self.directory.ranks[row as usize];
                info.host = host;
                info.gpu = gpu.unwrap_or(info.gpu);
                info.nic = info.gpu;
            }
            return row;
        }
        let host = match host {
            Some(host) => self.host(host),
            None => self.host(&unknown_host(rank)),
        };
        let gpu = gpu.unwrap_or(0);
        let row = self.directory.ranks.len() as u32;
        self.directory.ranks.push(RankInfo { job, rank, host, gpu, nic: gpu });
        self.ranks.insert((job, rank), row);
        row
    }

    /// The row of a communicator: two of one name and other ranks are two.
    pub(crate) fn communicator(&mut self, job: u32, name: &str, axis: &str, ranks: &[u32]) -> u32 {
        let key = (job, name.to_owned(), ranks.to_vec());
        let communicators = &mut self.directory.communicators;
        *self.communicators.entry(key).or_insert_with(|| {
            let (name, axis) = (name.to_owned(), axis.to_owned());
            communicators.push(CommunicatorInfo { job, name, axis, ranks: ranks.to_vec() });
            communicators.len() as u32 - 1
        })
    }

    fn shape(&mut self, shape: OperationShape) -> u32 {
        let shapes = &mut self.directory.shapes;
        *self.shapes.entry(shape).or_insert_with_key(|shape| {
            shapes.push(shape.clone());
            shapes.len() as u32 - 1
        })
    }

    pub(crate) fn operation(
        &mut self,
        communicator: u32,
        rank: u32,
        sequence: u32,
        shape: OperationShape,
        (enter_ns, end_ns): (u64, u64),
    ) {
        let shape = self.shape(shape);
        self.batch.operations.push(communicator, rank, sequence, shape, enter_ns, end_ns);
    }

    pub(crate) fn counter(&mut self, component: Component, counter: Counter, time_ns: u64, value: f64) {
        let entity = self.entity(EntityInfo { component, device: None, link: None });
        self.batch.counters.push(time_ns, entity, counter, value);
    }

    /// A round of probes over a path: messages sent and lost, and the delay one way, 0 where none came back.
    pub(crate) fn probe(&mut self, flow: FlowInfo, time_ns: u64, (sent, lost): (u32, u32), delay_ns: u64) {
        let flow = self.flow(flow);
        self.batch.probes.push(time_ns, flow, false, sent, lost, delay_ns, 0.0);
    }

    fn flow(&mut self, info: FlowInfo) -> u32 {
        let flows = &mut self.directory.flows;
        let (source, target) = (info.source_nic.clone(), info.target_nic.clone());
        *self.flows.entry((source, target, info.nic_port, info.queue_pair, info.source_port)).or_insert_with(
            || {
                flows.push(info);
                flows.len() as u32 - 1
            },
        )
    }

    fn entity(&mut self, info: EntityInfo) -> u32 {
        let entities = &mut self.directory.entities;
        *self.entities.entry(info.component.clone()).or_insert_with(|| {
            entities.push(info);
            entities.len() as u32 - 1
        })
    }

    /// Takes everything of another directory and batch in: the same names become the same rows.
    pub(crate) fn absorb(&mut self, directory: &Directory, batch: &Batch) {
        let jobs: Vec<u32> = directory.jobs.iter().map(|job| self.job(job)).collect();
        let mut ranks = Vec::with_capacity(directory.ranks.len());
        for info in &directory.ranks {
            let host = &directory.hosts[info.host as usize].name;
            let told = (*host != unknown_host(info.rank)).then_some(host.as_str());
            ranks.push(self.rank(jobs[info.job as usize], info.rank, told, Some(info.gpu)));
        }
        for host in &directory.hosts {
            // A host without ranks is kept too, but not the stand-in of a rank whose host is known by now.
            if !host.name.starts_with("host-of-rank-") {
                self.host(&host.name);
            }
        }
        let of = |rows: &[u32]| rows.iter().map(|&row| ranks[row as usize]).collect::<Vec<u32>>();
        let communicators: Vec<u32> = directory
            .communicators
            .iter()
            .map(|info| self.communicator(jobs[info.job as usize], &info.name, &info.axis, &of(&info.ranks)))
            .collect();
        let shapes: Vec<u32> = directory.shapes.iter().map(|shape| self.shape(shape.clone())).collect();
        let entities: Vec<u32> = directory.entities.iter().map(|info| self.entity(info.clone())).collect();
        let from = &batch.operations;
        for row in 0..from.len() {
            self.batch.operations.push(
                communicators[from.communicator[row] as usize],
                ranks[from.rank[row] as usize],
                from.sequence[row],
                shapes[from.shape[row] as usize],
                from.enter_ns[row],
                from.end_ns[row],
            );
        }
        let from = &batch.counters;
        for row in 0..from.len() {
            let entity = entities[from.entity[row] as usize];
            self.batch.counters.push(from.time_ns[row], entity, from.counter[row], from.value[row]);
        }
        self.directory.neighbors.extend(directory.neighbors.iter().cloned());
        let mut flows = Vec::with_capacity(directory.flows.len());
        for info in &directory.flows {
            let of = |rank: u32| ranks.get(rank as usize).copied().unwrap_or(u32::MAX);
            let info = FlowInfo { source: of(info.source), target: of(info.target), ..info.clone() };
            flows.push(self.flow(info));
        }
        let from = &batch.probes;
        for row in 0..from.len() {
            self.batch.probes.push(
                from.time_ns[row],
                flows[from.flow[row] as usize],
                from.loaded[row],
                from.sent[row],
                from.lost[row],
                from.delay_ns[row],
                from.bits_per_s[row],
            );
        }
    }

    /// The directory and the batch, rows in order of time.
    pub(crate) fn finish(self) -> (Directory, Batch) {
        let Self { directory, mut batch, .. } = self;
        let operations = std::mem::take(&mut batch.operations);
        let mut order: Vec<usize> = (0..operations.len()).collect();
        let key = |row: usize| {
            let columns = &operations;
            (columns.enter_ns[row], columns.communicator[row], columns.sequence[row], columns.rank[row])
        };
        order.sort_by_key(|&row| key(row));
        for row in order {
            let end_ns = operations.end_ns[row];
            let seen = if end_ns == NOT_YET { operations.enter_ns[row] } else { end_ns };
            batch.until_ns = batch.until_ns.max(seen);
            batch.operations.push(
                operations.communicator[row],
                operations.rank[row],
                operations.sequence[row],
                operations.shape[row],
                operations.enter_ns[row],
                end_ns,
            );
        }
        let read = batch.counters.time_ns.iter().chain(&batch.probes.time_ns);
        let last = read.max().copied().unwrap_or_default();
        batch.until_ns = batch.until_ns.max(last);
        (directory, batch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape() -> OperationShape {
        OperationShape {
            kind: "all-reduce".into(),
            algorithm: String::new(),
            data_type: String::new(),
            bytes: 8,
        }
    }

    #[test]
    fn two_files_of_one_job_share_rows_and_a_host_may_be_told_later() {
        let part = |rank, host| {
            let mut builder = Builder::default();
            let job = builder.job("job");
            let rows = [builder.rank(job, 0, None, None), builder.rank(job, 1, None, None)];
            let row = builder.rank(job, rank, host, Some(3));
            let world = builder.communicator(job, "world", "other", &rows);
            builder.operation(world, row, 7, shape(), (10 + u64::from(rank), 20));
            builder.counter(Component::Nic("h/n".into()), Counter::Drops, 30, 1.0);
            builder.finish()
        };
        let mut merged = Builder::default();
        for (rank, host) in [(1, Some("b")), (0, Some("a"))] {
            let (directory, batch) = part(rank, host);
            merged.absorb(&directory, &batch);
        }
        let (directory, batch) = merged.finish();
        assert_eq!((directory.ranks.len(), directory.communicators.len(), directory.shapes.len()), (2, 1, 1));
        assert_eq!(directory.entities.len(), 1);
        let hosts: Vec<_> = (0..2).map(|rank| directory.host_component(rank).name().to_owned()).collect();
        assert_eq!(hosts, ["a", "b"]);
        assert_eq!(directory.ranks[1].gpu, 3);
        assert_eq!(batch.operations.enter_ns, [10, 11]);
        assert_eq!((batch.operations.rank.clone(), batch.until_ns), (vec![0, 1], 30));
    }
}
