//! From tables of a run folder back to telemetry.
use std::collections::BTreeMap;

use crate::component::Component;
use crate::directory::{
    CommunicatorInfo, Directory, EntityInfo, FlowInfo, HostInfo, NeighborInfo, OperationShape, RankInfo,
};
use crate::table::{ColumnData, Table};
use crate::telemetry::{Batch, Counter, NOT_YET};
use crate::telemetry_tables::UNKNOWN;

/// What is wrong with a table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadTable {
    /// Its name.
    pub table: String,
    /// Row, counted from 0; none where it is about all.
    pub row: Option<usize>,
    /// What, and what is accepted.
    pub message: String,
}

impl std::fmt::Display for BadTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.row {
            Some(row) => write!(f, "table {}, row {row}: {}", self.table, self.message),
            None => write!(f, "table {}: {}", self.table, self.message),
        }
    }
}

impl std::error::Error for BadTable {}

/// A table whose columns are asked for by name and type.
#[derive(Clone, Copy, Debug)]
struct Reader<'a> {
    table: &'a Table,
}

impl<'a> Reader<'a> {
    fn missing(&self, name: &str, kind: &str) -> BadTable {
        let there: Vec<&str> = self.table.columns.iter().map(|column| column.name.as_str()).collect();
        let message = format!("a column {name:?} of type {kind} is needed; it has {}", there.join(", "));
        BadTable { table: self.table.name.clone(), row: None, message }
    }

    fn bad(&self, row: usize, message: String) -> BadTable {
        BadTable { table: self.table.name.clone(), row: Some(row), message }
    }

    fn u32(&self, name: &str) -> Result<&'a [u32], BadTable> {
        match self.table.column(name) {
            Some(ColumnData::U32(values)) => Ok(values),
            _ => Err(self.missing(name, "u32")),
        }
    }

    fn u64(&self, name: &str) -> Result<&'a [u64], BadTable> {
        match self.table.column(name) {
            Some(ColumnData::U64(values)) => Ok(values),
            _ => Err(self.missing(name, "u64")),
        }
    }

    fn f64(&self, name: &str) -> Result<&'a [f64], BadTable> {
        match self.table.column(name) {
            Some(ColumnData::F64(values)) => Ok(values),
            _ => Err(self.missing(name, "f64")),
        }
    }

    fn text(&self, name: &str) -> Result<Vec<&'a str>, BadTable> {
        match self.table.column(name) {
            Some(ColumnData::Text { dictionary, codes }) => {
                let text = |(row, &code): (usize, &u32)| {
                    let found = dictionary.get(code as usize).map(String::as_str);
                    found.ok_or_else(|| self.bad(row, format!("column {name:?} has no text for code {code}")))
                };
                codes.iter().enumerate().map(text).collect()
            }
            _ => Err(self.missing(name, "text")),
        }
    }

    /// Row numbers, each below `count`.
    fn rows(&self, name: &str, count: usize, of: &str) -> Result<&'a [u32], BadTable> {
        let values = self.u32(name)?;
        match values.iter().position(|&value| value as usize >= count) {
            Some(row) => Err(self.bad(row, format!("{name} is {}, and there are {count} {of}", values[row]))),
            None => Ok(values),
        }
    }
}

/// Code of a value in a list, which grows.
fn code<K: Ord + Clone, T>(
    known: &mut BTreeMap<K, u32>,
    all: &mut Vec<T>,
    key: K,
    make: impl FnOnce() -> T,
) -> u32 {
    *known.entry(key).or_insert_with(|| {
        all.push(make());
        all.len() as u32 - 1
    })
}

/// Reads the tables that [`crate::telemetry_tables::tables`] writes. Tables that are not there have no rows; but what
/// they name must be.
///
/// # Errors
/// [`BadTable`] naming table, row and value of what cannot be.
pub fn read(tables: &[Table]) -> Result<(Directory, Batch), BadTable> {
    let table = |name: &str| tables.iter().find(|table| table.name == name).map(|table| Reader { table });
    let mut telemetry = Telemetry::default();
    table("ranks").map_or(Ok(()), |table| telemetry.read_ranks(table))?;
    table("communicators").map_or(Ok(()), |table| telemetry.read_communicators(table))?;
    table("queue_pairs").map_or(Ok(()), |table| telemetry.read_queue_pairs(table))?;
    table("rank_operations").map_or(Ok(()), |table| telemetry.read_rank_operations(table))?;
    table("messages").map_or(Ok(()), |table| telemetry.read_messages(table))?;
    table("counters").map_or(Ok(()), |table| telemetry.read_counters(table))?;
    table("probes").map_or(Ok(()), |table| telemetry.read_probes(table))?;
    table("neighbors").map_or(Ok(()), |table| telemetry.read_neighbors(table))?;
    Ok((telemetry.directory, telemetry.batch))
}

/// Telemetry as far as it has been read.
#[derive(Default)]
struct Telemetry<'t> {
    directory: Directory,
    batch: Batch,
    /// Number of each job, by name.
    jobs: BTreeMap<&'t str, u32>,
}

impl<'t> Telemetry<'t> {
    /// Ranks with their hosts and jobs.
    fn read_ranks(&mut self, ranks: Reader<'t>) -> Result<(), BadTable> {
        let (mut hosts, names) = (BTreeMap::new(), ranks.text("host")?);
        let (job, rank, gpu, nic) =
            (ranks.text("job")?, ranks.u32("rank")?, ranks.u32("gpu")?, ranks.u32("nic")?);
        for row in 0..rank.len() {
            let host = code(&mut hosts, &mut self.directory.hosts, names[row], || HostInfo {
                name: names[row].to_owned(),
            });
            let job = code(&mut self.jobs, &mut self.directory.jobs, job[row], || job[row].to_owned());
            self.directory.ranks.push(RankInfo { job, rank: rank[row], host, gpu: gpu[row], nic: nic[row] });
        }
        Ok(())
    }

    /// Communicators; their ranks are rows of the table of ranks.
    fn read_communicators(&mut self, communicators: Reader<'t>) -> Result<(), BadTable> {
        let count = self.directory.ranks.len();
        let number = communicators.u32("communicator")?;
        let (job, name, axis) =
            (communicators.text("job")?, communicators.text("name")?, communicators.text("axis")?);
        let rank = communicators.rows("rank_row", count, "ranks")?;
        for row in 0..rank.len() {
            if number[row] as usize == self.directory.communicators.len() {
                let job = code(&mut self.jobs, &mut self.directory.jobs, job[row], || job[row].to_owned());
                let (name, axis) = (name[row].to_owned(), axis[row].to_owned());
                self.directory.communicators.push(CommunicatorInfo { job, name, axis, ranks: Vec::new() });
            }
            let numbered = number[row] as usize + 1 == self.directory.communicators.len();
            let Some(last) = self.directory.communicators.last_mut().filter(|_| numbered) else {
                let message = format!(
                    "communicator is {}: they are numbered from 0 on, the rows of each together",
                    number[row]
                );
                return Err(communicators.bad(row, message));
            };
            last.ranks.push(rank[row]);
        }
        Ok(())
    }

    /// Queue pairs with the links of their paths.
    fn read_queue_pairs(&mut self, pairs: Reader<'t>) -> Result<(), BadTable> {
        let count = self.directory.ranks.len();
        let source = pairs.rows("source_rank_row", count, "ranks")?;
        let target = pairs.rows("target_rank_row", count, "ranks")?;
        let (source_nic, target_nic) = (pairs.text("source_nic")?, pairs.text("target_nic")?);
        let (port, number) = (pairs.u32("nic_port")?, pairs.u32("queue_pair")?);
        let source_port = pairs.rows("source_port", 1 << 16, "ports")?;
        let paths = pairs.text("links")?;
        for row in 0..source.len() {
            let links: Result<Vec<u32>, _> = paths[row].split_whitespace().map(str::parse).collect();
            let links = links.map_err(|_| {
                pairs.bad(row, format!("links are {:?}: numbers with spaces between are needed", paths[row]))
            })?;
            self.directory.flows.push(FlowInfo {
                source: source[row],
                target: target[row],
                source_nic: source_nic[row].to_owned(),
                target_nic: target_nic[row].to_owned(),
                nic_port: port[row],
                queue_pair: number[row],
                source_port: source_port[row] as u16,
                links,
            });
        }
        Ok(())
    }

    /// Operations of ranks.
    fn read_rank_operations(&mut self, operations: Reader<'t>) -> Result<(), BadTable> {
        let count = self.directory.ranks.len();
        let communicators = self.directory.communicators.len();
        let mut shapes = BTreeMap::new();
        let communicator = operations.rows("communicator", communicators, "communicators")?;
        let rank = operations.rows("rank_row", count, "ranks")?;
        let (kind, algorithm) = (operations.text("kind")?, operations.text("algorithm")?);
        let (data_type, bytes) = (operations.text("data_type")?, operations.u64("bytes")?);
        let sequence = operations.u32("sequence")?;
        let (enter, end) = (operations.u64("enter_ns")?, operations.u64("end_ns")?);
        for row in 0..rank.len() {
            let key = (kind[row], algorithm[row], data_type[row], bytes[row]);
            let shape = code(&mut shapes, &mut self.directory.shapes, key, || OperationShape {
                kind: kind[row].to_owned(),
                algorithm: algorithm[row].to_owned(),
                data_type: data_type[row].to_owned(),
                bytes: bytes[row],
            });
            if end[row] < enter[row] {
                return Err(
                    operations.bad(row, format!("it ends at {} ns, before {} ns", end[row], enter[row]))
                );
            }
            self.batch.operations.push(
                communicator[row],
                rank[row],
                sequence[row],
                shape,
                enter[row],
                end[row],
            );
            self.batch.until_ns =
                self.batch.until_ns.max(if end[row] == NOT_YET { enter[row] } else { end[row] });
        }
        Ok(())
    }

    /// Messages of queue pairs.
    fn read_messages(&mut self, messages: Reader<'t>) -> Result<(), BadTable> {
        let communicators = self.directory.communicators.len();
        let communicator = messages.rows("communicator", communicators, "communicators")?;
        let flow = messages.rows("queue_pair_row", self.directory.flows.len(), "queue pairs")?;
        let [sequence, channel, stage, stages, sent, first] =
            ["sequence", "channel", "stage", "stages", "messages", "first_wait_stage"]
                .map(|name| messages.u32(name));
        let [bytes, network, data, credit, receive] =
            ["bytes", "network_ns", "data_wait_ns", "credit_wait_ns", "receive_wait_ns"]
                .map(|name| messages.u64(name));
        let into = &mut self.batch.messages;
        into.communicator = communicator.to_vec();
        into.flow = flow.to_vec();
        into.sequence = sequence?.to_vec();
        into.channel = channel?.to_vec();
        into.stage = stage?.to_vec();
        into.stages = stages?.to_vec();
        into.messages = sent?.to_vec();
        into.first_wait_stage = first?.to_vec();
        into.bytes = bytes?.to_vec();
        into.network_ns = network?.to_vec();
        into.data_wait_ns = data?.to_vec();
        into.credit_wait_ns = credit?.to_vec();
        into.receive_wait_ns = receive?.to_vec();
        Ok(())
    }

    /// Readings of counters.
    fn read_counters(&mut self, counters: Reader<'t>) -> Result<(), BadTable> {
        let mut entities = BTreeMap::new();
        let (time, value) = (counters.u64("time_ns")?, counters.f64("value")?);
        let (kind, name, counter) =
            (counters.text("component_kind")?, counters.text("component")?, counters.text("counter")?);
        let (device, link) = (counters.u32("device")?, counters.u32("link")?);
        let known = |id: u32| (id != UNKNOWN).then_some(id);
        for row in 0..time.len() {
            let component = Component::named(kind[row], name[row])
                .ok_or_else(|| counters.bad(row, format!("there is no component of kind {:?}", kind[row])))?;
            let counter =
                Counter::ALL.into_iter().find(|known| known.name() == counter[row]).ok_or_else(|| {
                    let all: Vec<&str> = Counter::ALL.iter().map(|known| known.name()).collect();
                    counters.bad(
                        row,
                        format!("there is no counter {:?}; there are {}", counter[row], all.join(", ")),
                    )
                })?;
            let key = (kind[row], name[row], link[row]);
            let entity = code(&mut entities, &mut self.directory.entities, key, || EntityInfo {
                component,
                device: known(device[row]),
                link: known(link[row]),
            });
            self.batch.counters.push(time[row], entity, counter, value[row]);
            self.batch.until_ns = self.batch.until_ns.max(time[row]);
        }
        Ok(())
    }

    /// Probes over queue pairs.
    fn read_probes(&mut self, probes: Reader<'t>) -> Result<(), BadTable> {
        let flow = probes.rows("queue_pair_row", self.directory.flows.len(), "queue pairs")?;
        let (time, loaded, sent) = (probes.u64("time_ns")?, probes.u32("loaded")?, probes.u32("sent")?);
        let (lost, delay, rate) = (probes.u32("lost")?, probes.u64("delay_ns")?, probes.f64("bits_per_s")?);
        for row in 0..flow.len() {
            let loaded = loaded[row] != 0;
            self.batch.probes.push(time[row], flow[row], loaded, sent[row], lost[row], delay[row], rate[row]);
            self.batch.until_ns = self.batch.until_ns.max(time[row]);
        }
        Ok(())
    }

    /// Neighbors of ports.
    fn read_neighbors(&mut self, neighbors: Reader<'t>) -> Result<(), BadTable> {
        let (port, neighbor) = (neighbors.text("port")?, neighbors.text("neighbor")?);
        let far = neighbors.text("neighbor_port")?;
        for row in 0..port.len() {
            let [port, neighbor, neighbor_port] = [port[row], neighbor[row], far[row]].map(str::to_owned);
            self.directory.neighbors.push(NeighborInfo { port, neighbor, neighbor_port });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Column;
    use crate::telemetry_tables::tables;

    fn sample() -> (Directory, Batch) {
        let shape = |bytes| OperationShape {
            kind: "all-reduce".into(),
            algorithm: "ring".into(),
            data_type: String::new(),
            bytes,
        };
        let rank = |rank| RankInfo { job: 0, rank, host: rank, gpu: 0, nic: 0 };
        let pair = |name: &str, axis: &str, ranks| CommunicatorInfo {
            job: 0,
            name: name.into(),
            axis: axis.into(),
            ranks,
        };
        let directory = Directory {
            jobs: vec!["a".into()],
            hosts: ["h0", "h1"].map(|name| HostInfo { name: name.into() }).into(),
            ranks: vec![rank(0), rank(1)],
            communicators: vec![pair("x", "dp", vec![1, 0]), pair("y", "tp", vec![0])],
            shapes: vec![shape(8), shape(16)],
            flows: vec![FlowInfo {
                source: 0,
                target: 1,
                source_nic: "h0/nic-0".into(),
                target_nic: "h1/nic-0".into(),
                nic_port: 1,
                queue_pair: 7,
                source_port: 49152,
                links: vec![3, 4],
            }],
            entities: vec![EntityInfo { component: Component::Storage, device: None, link: Some(3) }],
            neighbors: vec![NeighborInfo {
                port: "h0/nic-0:port-1".into(),
                neighbor: "leaf-0".into(),
                neighbor_port: "leaf-0:downlink-0".into(),
            }],
        };
        let mut batch = Batch { until_ns: 90, ..Batch::default() };
        batch.operations.push(0, 1, 0, 0, 5, 9);
        batch.operations.push(0, 0, 0, 1, 6, NOT_YET);
        batch.messages.push(0, 0, 1, 0, 2, 3, 4, 5, 6, 7, 8, 9, 10);
        batch.counters.push(90, 0, Counter::Drops, 2.0);
        batch.probes.push(80, 0, true, 5, 1, 3_000, 0.0);
        (directory, batch)
    }

    #[test]
    fn telemetry_comes_back_as_it_went() {
        let (directory, batch) = sample();
        assert_eq!(read(&tables(&directory, &batch, "flow")).unwrap(), (directory, batch));
        assert_eq!(read(&[]).unwrap(), (Directory::default(), Batch::default()));
    }

    #[test]
    fn tables_have_the_columns_that_are_documented() {
        let (directory, batch) = sample();
        let mut all = tables(&directory, &batch, "flow");
        all.extend(crate::finding_tables::tables(&[], &[]));
        all.push(crate::finding_tables::faults(&[]));
        for table in &all {
            let doc = crate::run::table_doc(&table.name)
                .unwrap_or_else(|| panic!("{} is not documented", table.name));
            let documented: Vec<&str> = doc.columns.iter().map(|(name, ..)| *name).collect();
            let there: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
            assert_eq!(there, documented, "{}", table.name);
        }
    }

    #[test]
    fn bad_tables_are_named_with_row_and_value() {
        let (directory, batch) = sample();
        let broken = |name: &str, column: Column| {
            let mut all = tables(&directory, &batch, "flow");
            let table = all.iter_mut().find(|table| table.name == name).unwrap();
            *table.columns.iter_mut().find(|known| known.name == column.name).unwrap() = column.clone();
            read(&all).unwrap_err().to_string()
        };
        let said = broken("rank_operations", Column::u32("rank_row", vec![0, 9]));
        assert_eq!(said, "table rank_operations, row 1: rank_row is 9, and there are 2 ranks");
        let said = broken("communicators", Column::u32("communicator", vec![0, 2, 1]));
        assert!(said.contains("numbered from 0 on"), "{said}");
        let said = broken("counters", Column::coded("counter", ["dropps"]));
        assert!(said.contains("\"dropps\"") && said.contains("drops"), "{said}");
        let said = broken("rank_operations", Column::u64("end_ns", vec![1, 2]));
        assert!(said.contains("ends at 1 ns, before 5 ns"), "{said}");
        let said = broken("queue_pairs", Column::coded("links", ["3 x"]));
        assert!(said.contains("\"3 x\""), "{said}");
        let said = broken("messages", Column::u64("stage", vec![1]));
        assert!(said.contains("\"stage\" of type u32"), "{said}");
    }
}
