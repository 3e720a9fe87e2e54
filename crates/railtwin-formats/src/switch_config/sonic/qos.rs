//! Tables of one lossless class: which packets are in it, which ports pause, when packets are marked.
use std::collections::BTreeSet;

use railtwin_units::Rate;
use serde_json::{Map, Value, json};

use super::names::ethernet;
use crate::switch_config::plan::{LosslessClass, MTU, SwitchPlan};

/// Name of every map: the one that SONiC's own tools look for.
pub(super) const MAP: &str = "AZURE";
/// Name of the marking profile.
pub(super) const WRED: &str = "AZURE_LOSSLESS";
/// Interval at which the watchdog looks, milliseconds.
const POLL_MS: u32 = 100;

/// All tables of quality of service.
pub(super) fn tables(switch: &SwitchPlan, class: &LosslessClass) -> Vec<(&'static str, Value)> {
    let ports = ports(switch);
    let mut tables = maps(class);
    tables.extend(per_port(&ports, class));
    tables.extend(buffers(&ports, class));
    tables
}

/// Index, capacity and cable of each port that is used.
fn ports(switch: &SwitchPlan) -> Vec<(u32, Rate, u32)> {
    let hosts = switch
        .attachments
        .iter()
        .flat_map(|one| one.members.iter().map(|member| (member.0, one.capacity, one.metres)));
    let mut ports: Vec<_> =
        hosts.chain(switch.ports.iter().map(|one| (one.port, one.capacity, one.metres))).collect();
    ports.sort_unstable();
    ports
}

fn map(pairs: impl Iterator<Item = (u8, u8)>) -> Value {
    let map: Map<String, Value> = pairs.map(|(from, to)| (from.to_string(), json!(to.to_string()))).collect();
    json!({ MAP: map })
}

fn maps(class: &LosslessClass) -> Vec<(&'static str, Value)> {
    let group = |tc: u8| if tc == class.priority { tc } else { 0 };
    vec![
        ("DSCP_TO_TC_MAP", map((0..64).map(|dscp| (dscp, class.class_of(dscp))))),
        ("TC_TO_QUEUE_MAP", map((0..8).map(|tc| (tc, tc)))),
        ("TC_TO_PRIORITY_GROUP_MAP", map((0..8).map(|tc| (tc, group(tc))))),
        ("MAP_PFC_PRIORITY_TO_QUEUE", map((0..8).map(|tc| (tc, tc)))),
    ]
}

fn per_port(ports: &[(u32, Rate, u32)], class: &LosslessClass) -> Vec<(&'static str, Value)> {
    let (mut qos, mut queues, mut watchdog) = (Map::new(), Map::new(), Map::new());
    let lossless = class.priority.to_string();
    let milliseconds = |time: railtwin_units::SimTime| (time.ps() / 1_000_000_000).to_string();
    watchdog.insert("GLOBAL".to_owned(), json!({ "POLL_INTERVAL": POLL_MS.to_string() }));
    for &(port, ..) in ports {
        let name = ethernet(port);
        let row = json!({
            "dscp_to_tc_map": MAP, "tc_to_queue_map": MAP, "tc_to_pg_map": MAP, "pfc_to_queue_map": MAP,
            "pfc_enable": lossless, "pfcwd_sw_enable": lossless,
        });
        qos.insert(name.clone(), row);
        queues.insert(format!("{name}|0"), json!({ "scheduler": "scheduler.0" }));
        queues.insert(
            format!("{name}|{lossless}"),
            json!({ "scheduler": "scheduler.1", "wred_profile": WRED }),
        );
        queues.insert(format!("{name}|{}", class.cnp_priority), json!({ "scheduler": "scheduler.2" }));
        let row = json!({
            "action": "drop",
            "detection_time": milliseconds(class.watchdog_detection),
            "restoration_time": milliseconds(class.watchdog_restoration),
        });
        watchdog.insert(name, row);
    }
    let mut wred = Map::new();
    wred.insert("ecn".to_owned(), json!("ecn_all"));
    for color in ["green", "yellow", "red"] {
        wred.insert(format!("wred_{color}_enable"), json!("true"));
        wred.insert(format!("{color}_min_threshold"), json!(class.ecn_min.0.to_string()));
        wred.insert(format!("{color}_max_threshold"), json!(class.ecn_max.0.to_string()));
        wred.insert(format!("{color}_drop_probability"), json!("100"));
    }
    let schedulers = json!({
        "scheduler.0": { "type": "DWRR", "weight": "10" },
        "scheduler.1": { "type": "DWRR", "weight": "90" },
        // Notifications are few and late ones are worth nothing.
        "scheduler.2": { "type": "STRICT" },
    });
    vec![
        ("PORT_QOS_MAP", Value::Object(qos)),
        ("QUEUE", Value::Object(queues)),
        ("SCHEDULER", schedulers),
        ("WRED_PROFILE", json!({ WRED: wred })),
        ("PFC_WD", Value::Object(watchdog)),
    ]
}

/// Buffers: a static threshold at which a port pauses, and headroom for what comes after. Sizes of pools are those of the
/// chip, and SONiC's dynamic model finds them.
fn buffers(ports: &[(u32, Rate, u32)], class: &LosslessClass) -> Vec<(&'static str, Value)> {
    let (mut groups, mut lengths, mut profiles) = (Map::new(), Map::new(), Map::new());
    let name = |capacity: Rate, metres: u32| format!("pg_lossless_{}_{metres}m_profile", megabits(capacity));
    let kinds: BTreeSet<(Rate, u32)> =
        ports.iter().map(|&(_, capacity, metres)| (capacity, metres)).collect();
    for (capacity, metres) in kinds {
        let xoff = LosslessClass::headroom(capacity, metres);
        let profile = json!({
            "pool": "ingress_lossless_pool",
            "static_th": class.pfc_threshold.0.to_string(),
            "xon": (2 * MTU).to_string(),
            "xoff": xoff.to_string(),
            "size": (2 * MTU + xoff).to_string(),
        });
        profiles.insert(name(capacity, metres), profile);
    }
    let lossy = json!({ "pool": "ingress_lossless_pool", "size": "0", "static_th": class.pfc_threshold.0.to_string() });
    profiles.insert("ingress_lossy_profile".to_owned(), lossy);
    for &(port, capacity, metres) in ports {
        let port = ethernet(port);
        groups.insert(format!("{port}|{}", class.priority), json!({ "profile": name(capacity, metres) }));
        groups.insert(format!("{port}|0"), json!({ "profile": "ingress_lossy_profile" }));
        lengths.insert(port, json!(format!("{metres}m")));
    }
    vec![
        ("BUFFER_POOL", json!({ "ingress_lossless_pool": { "type": "ingress", "mode": "static" } })),
        ("BUFFER_PROFILE", Value::Object(profiles)),
        ("BUFFER_PG", Value::Object(groups)),
        ("CABLE_LENGTH", json!({ MAP: lengths })),
    ]
}

/// A capacity as SONiC has speeds, in Mbps.
pub(super) fn megabits(capacity: Rate) -> u64 {
    capacity.bits_per_s() / 1_000_000
}
