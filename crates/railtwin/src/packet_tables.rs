//! What packets leave behind, as tables of a run folder.
use railtwin_engine::{Case, PacketLog, RunLog};
use railtwin_fabric::{DeviceId, LinkId};
use railtwin_records::{Column, Table};
use railtwin_units::SimTime;

use crate::links::network_links;
use crate::tables::network_names;

/// A value of a column by link; zero where the engine kept no such column.
pub(crate) fn at<T: Copy + Default>(column: &[T], link: LinkId) -> T {
    column.get(link.index()).copied().unwrap_or_default()
}

/// The tables `queues` (where samples were taken), `packet_flows` and `link_packets`.
pub fn all(case: &Case, log: &RunLog, packets: &PacketLog) -> Vec<Table> {
    let names = network_names(&case.fabric);
    let queues = (packets.sample > SimTime::ZERO).then(|| queues(case, packets, &names));
    queues
        .into_iter()
        .chain([packet_flows(packets, &names), link_packets(case, log, packets, &names)])
        .collect()
}

fn queues(case: &Case, packets: &PacketLog, names: &[String]) -> Table {
    let samples = &packets.samples;
    let width = packets.sample.ps() as f64;
    let end = |of: fn(&railtwin_fabric::Fabric, LinkId) -> DeviceId| {
        samples.iter().map(move |sample| names[of(&case.fabric, LinkId(sample.link)).index()].as_str())
    };
    let start = |index: u32| (packets.sample * u64::from(index)).seconds();
    Table::new(
        "queues",
        vec![
            Column::f64("time_s", samples.iter().map(|sample| start(sample.index)).collect()),
            Column::u32("link", samples.iter().map(|sample| sample.link).collect()),
            Column::coded("source", end(railtwin_fabric::Fabric::source)),
            Column::coded("target", end(railtwin_fabric::Fabric::target)),
            Column::u64("queue_bytes_max", samples.iter().map(|sample| sample.bytes_max).collect()),
            Column::f64("paused_share", samples.iter().map(|s| s.paused_ps as f64 / width).collect()),
        ],
    )
}

fn packet_flows(packets: &PacketLog, names: &[String]) -> Table {
    let flows: Vec<_> = packets.flows.iter().filter(|flow| flow.end != SimTime::NEVER).collect();
    let name = |device: DeviceId| names[device.index()].as_str();
    Table::new(
        "packet_flows",
        vec![
            Column::u32("operation", flows.iter().map(|flow| flow.operation).collect()),
            Column::u32("pattern", flows.iter().map(|flow| flow.pattern).collect()),
            Column::coded("source", flows.iter().map(|flow| name(flow.source))),
            Column::coded("target", flows.iter().map(|flow| name(flow.target))),
            Column::u64("bytes", flows.iter().map(|flow| flow.bytes).collect()),
            Column::u64("start_ps", flows.iter().map(|flow| flow.start.ps()).collect()),
            Column::u64("end_ps", flows.iter().map(|flow| flow.end.ps()).collect()),
            Column::u64("fct_ps", flows.iter().map(|flow| flow.end.since(flow.start).ps()).collect()),
        ],
    )
}

fn link_packets(case: &Case, log: &RunLog, packets: &PacketLog, names: &[String]) -> Table {
    let (fabric, columns) = (&case.fabric, &packets.links);
    let links: Vec<LinkId> = network_links(fabric).collect();
    let name = |device: DeviceId| names[device.index()].as_str();
    // Nothing waits in a run without length.
    let seconds = log.counted().seconds().max(f64::MIN_POSITIVE);
    let u32s = |column: &[u32]| links.iter().map(|&link| at(column, link)).collect();
    let u64s = |column: &[u64]| links.iter().map(|&link| at(column, link)).collect();
    let mean = |&link: &LinkId| at(&columns.queue_byte_seconds, link) / seconds;
    Table::new(
        "link_packets",
        vec![
            Column::u32("link", links.iter().map(|link| link.0).collect()),
            Column::coded("source", links.iter().map(|&link| name(fabric.source(link)))),
            Column::coded("target", links.iter().map(|&link| name(fabric.target(link)))),
            Column::u32("pause_frames", u32s(&columns.pause_frames)),
            Column::u32("pause_renewals", u32s(&columns.pause_renewals)),
            Column::u32("resume_frames", u32s(&columns.resume_frames)),
            Column::u64("paused_ps", u64s(&columns.paused_ps)),
            Column::u64("queue_bytes_max", u64s(&columns.queue_bytes_max)),
            Column::f64("queue_bytes_mean", links.iter().map(mean).collect()),
            Column::u32("dropped", u32s(&columns.dropped)),
            Column::u32("cnps", u32s(&columns.cnps)),
        ],
    )
}

#[cfg(test)]
mod tests {
    use railtwin_engine::{Incident, IncidentKind};
    use railtwin_fabric::LinkId;
    use railtwin_records::ColumnData;
    use railtwin_records::run::table_doc;
    use railtwin_units::SimTime;

    use crate::links::network_links;
    use crate::packet_sample::{Given, run_with};

    #[test]
    fn tables_are_as_documented_and_of_all_links_at_once() {
        let run = run_with(&Given::default());
        let tables = run.tables();
        let find = |name: &str| tables.iter().find(|table| table.name == name).unwrap();
        for name in ["queues", "packet_flows", "link_packets", "incidents"] {
            let ours: Vec<&str> = find(name).columns.iter().map(|column| column.name.as_str()).collect();
            let said: Vec<&str> = table_doc(name).unwrap().columns.iter().map(|column| column.0).collect();
            assert_eq!(ours, said);
        }
        assert_eq!(find("link_packets").rows(), find("links").rows());
        assert_eq!(find("link_packets").column("link"), find("links").column("link"));
        assert_eq!(find("packet_flows").rows(), 100, "the one that never ended is left out");
        let ColumnData::F64(shares) = find("queues").column("paused_share").unwrap() else { panic!() };
        assert!(shares.iter().all(|share| (0.0..=0.4 + 1e-9).contains(share)));
    }

    #[test]
    fn pauses_and_full_buffers_are_incidents_of_devices() {
        let mut run = run_with(&Given::default());
        let case = &run.resolved.case;
        let link: LinkId = network_links(&case.fabric).nth(1).unwrap();
        let words = [IncidentKind::Paused(link), IncidentKind::Filled(3)]
            .map(|kind| crate::paths::words(case, &Incident { at: SimTime::ZERO, kind }));
        assert_eq!(words[0], "link from leaf-0 to host-0/nic-0 paused");
        assert_eq!(words[1], "buffer of spine-1 filled");
        let log = &mut run.simulation.as_mut().unwrap().log;
        let kinds = [IncidentKind::Paused(link), IncidentKind::Filled(3)];
        log.incidents = kinds.map(|kind| Incident { at: SimTime::ZERO, kind }).to_vec();
        let tables = run.tables();
        let incidents = tables.iter().find(|table| table.name == "incidents").unwrap();
        let ColumnData::Text { dictionary, .. } = incidents.column("device").unwrap() else { panic!() };
        assert_eq!(dictionary, &["leaf-0", "spine-1"]);
        let shown = run.payload().unwrap();
        assert_eq!(shown["incidents"]["columns"]["device"]["dict"], serde_json::json!(["leaf-0", "spine-1"]));
    }
}
