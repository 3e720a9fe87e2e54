//! Telemetry as tables of a run folder, and back.
//!
//! | table | one row is |
//! | --- | --- |
//! | `ranks` | a rank |
//! | `communicators` | one rank of one communicator, in its order |
//! | `rank_operations` | one rank's share of one operation |
//! | `queue_pairs` | a flow of the directory |
//! | `messages` | what one queue pair sent in one operation, over a run of stages |
//! | `counters` | one reading of one counter |
//! | `probes` | one round of probes |
//! | `neighbors` | a port and the one that it hears at the far end of its cable |
//!
//! Up to when there was anything to tell stands in [`crate::observation`].
use crate::directory::{Directory, EntityInfo, RankInfo};
use crate::table::{Column, Table};
use crate::telemetry::{Batch, CounterColumns, MessageColumns, OperationColumns, ProbeColumns};

/// A device or link that is not known, in columns of ids.
pub const UNKNOWN: u32 = u32::MAX;

/// The table of what ports hear.
pub const NEIGHBORS: &str = "neighbors";

/// All tables of telemetry; those without rows are left out. `source` says where the records come from: `flow` (a replay
/// with durations and rates of flows), `packet` (what a run of packets did), `packet-replay` (a replay with durations of
/// packets and rates of flows), `live`, or the format that they were imported from.
pub fn tables(directory: &Directory, batch: &Batch, source: &str) -> Vec<Table> {
    let all = [
        ranks(directory),
        communicators(directory),
        rank_operations(directory, &batch.operations, source),
        queue_pairs(directory),
        messages(&batch.messages, source),
        counters(&directory.entities, &batch.counters, source),
        probes(&batch.probes, source),
        neighbors(directory, source),
    ];
    all.into_iter().filter(|table| table.rows() > 0).collect()
}

fn u32s<'a, T: 'a>(name: &str, rows: &'a [T], value: impl Fn(&'a T) -> u32) -> Column {
    Column::u32(name, rows.iter().map(value).collect())
}

fn texts<'a, T: 'a>(name: &str, rows: &'a [T], value: impl Fn(&'a T) -> &'a str) -> Column {
    Column::coded(name, rows.iter().map(value))
}

/// The table `ranks`.
pub fn ranks(directory: &Directory) -> Table {
    let rows = &directory.ranks;
    let columns = vec![
        texts("job", rows, |info: &RankInfo| &directory.jobs[info.job as usize]),
        u32s("rank", rows, |info| info.rank),
        texts("host", rows, |info| &directory.hosts[info.host as usize].name),
        u32s("gpu", rows, |info| info.gpu),
        u32s("nic", rows, |info| info.nic),
    ];
    Table::new("ranks", columns)
}

/// The table `communicators`.
pub fn communicators(directory: &Directory) -> Table {
    let rows: Vec<(u32, u32)> = directory
        .communicators
        .iter()
        .enumerate()
        .flat_map(|(row, info)| info.ranks.iter().map(move |&rank| (row as u32, rank)))
        .collect();
    let info = |row: &(u32, u32)| &directory.communicators[row.0 as usize];
    let columns = vec![
        u32s("communicator", &rows, |row| row.0),
        texts("job", &rows, |row| &directory.jobs[info(row).job as usize]),
        texts("name", &rows, |row| &info(row).name),
        texts("axis", &rows, |row| &info(row).axis),
        u32s("rank_row", &rows, |row| row.1),
    ];
    Table::new("communicators", columns)
}

/// The table `rank_operations`.
pub fn rank_operations(directory: &Directory, operations: &OperationColumns, source: &str) -> Table {
    let shapes = &directory.shapes;
    let of = |shape: &u32| &shapes[*shape as usize];
    let columns = vec![
        Column::u32("communicator", operations.communicator.clone()),
        Column::u32("rank_row", operations.rank.clone()),
        Column::u32("sequence", operations.sequence.clone()),
        texts("kind", &operations.shape, |shape| &of(shape).kind),
        texts("algorithm", &operations.shape, |shape| &of(shape).algorithm),
        texts("data_type", &operations.shape, |shape| &of(shape).data_type),
        Column::u64("bytes", operations.shape.iter().map(|shape| of(shape).bytes).collect()),
        Column::u64("enter_ns", operations.enter_ns.clone()),
        Column::u64("end_ns", operations.end_ns.clone()),
        from(source, operations.len()),
    ];
    Table::new("rank_operations", columns)
}

/// The table `queue_pairs`.
pub fn queue_pairs(directory: &Directory) -> Table {
    let rows = &directory.flows;
    let paths: Vec<String> =
        rows.iter().map(|flow| flow.links.iter().map(u32::to_string).collect::<Vec<_>>().join(" ")).collect();
    let columns = vec![
        u32s("source_rank_row", rows, |flow| flow.source),
        u32s("target_rank_row", rows, |flow| flow.target),
        texts("source_nic", rows, |flow| &flow.source_nic),
        texts("target_nic", rows, |flow| &flow.target_nic),
        u32s("nic_port", rows, |flow| flow.nic_port),
        u32s("queue_pair", rows, |flow| flow.queue_pair),
        u32s("source_port", rows, |flow| flow.source_port.into()),
        Column::coded("links", paths.iter().map(String::as_str)),
    ];
    Table::new("queue_pairs", columns)
}

/// The table `messages`.
pub fn messages(messages: &MessageColumns, source: &str) -> Table {
    let columns = vec![
        Column::u32("communicator", messages.communicator.clone()),
        Column::u32("sequence", messages.sequence.clone()),
        Column::u32("channel", messages.channel.clone()),
        Column::u32("queue_pair_row", messages.flow.clone()),
        Column::u32("stage", messages.stage.clone()),
        Column::u32("stages", messages.stages.clone()),
        Column::u32("messages", messages.messages.clone()),
        Column::u64("bytes", messages.bytes.clone()),
        Column::u64("network_ns", messages.network_ns.clone()),
        Column::u64("data_wait_ns", messages.data_wait_ns.clone()),
        Column::u64("credit_wait_ns", messages.credit_wait_ns.clone()),
        Column::u64("receive_wait_ns", messages.receive_wait_ns.clone()),
        Column::u32("first_wait_stage", messages.first_wait_stage.clone()),
        from(source, messages.len()),
    ];
    Table::new("messages", columns)
}

/// The table `counters`.
pub fn counters(entities: &[EntityInfo], counters: &CounterColumns, source: &str) -> Table {
    let of = |entity: &u32| &entities[*entity as usize];
    let columns = vec![
        Column::u64("time_ns", counters.time_ns.clone()),
        texts("component_kind", &counters.entity, |entity| of(entity).component.kind()),
        texts("component", &counters.entity, |entity| of(entity).component.name()),
        u32s("device", &counters.entity, |entity| of(entity).device.unwrap_or(UNKNOWN)),
        u32s("link", &counters.entity, |entity| of(entity).link.unwrap_or(UNKNOWN)),
        texts("counter", &counters.counter, |counter| counter.name()),
        Column::f64("value", counters.value.clone()),
        from(source, counters.len()),
    ];
    Table::new("counters", columns)
}

/// The table `probes`.
pub fn probes(probes: &ProbeColumns, source: &str) -> Table {
    let columns = vec![
        Column::u64("time_ns", probes.time_ns.clone()),
        Column::u32("queue_pair_row", probes.flow.clone()),
        u32s("loaded", &probes.loaded, |loaded| u32::from(*loaded)),
        Column::u32("sent", probes.sent.clone()),
        Column::u32("lost", probes.lost.clone()),
        Column::u64("delay_ns", probes.delay_ns.clone()),
        Column::f64("bits_per_s", probes.bits_per_s.clone()),
        from(source, probes.len()),
    ];
    Table::new("probes", columns)
}

/// The table `neighbors`.
pub fn neighbors(directory: &Directory, source: &str) -> Table {
    let rows = &directory.neighbors;
    let columns = vec![
        texts("port", rows, |info| &info.port),
        texts("neighbor", rows, |info| &info.neighbor),
        texts("neighbor_port", rows, |info| &info.neighbor_port),
        from(source, rows.len()),
    ];
    Table::new(NEIGHBORS, columns)
}

/// The column `source`: the same in all rows.
fn from(source: &str, rows: usize) -> Column {
    Column::coded("source", std::iter::repeat_n(source, rows))
}
