//! Evidence from tables that tools print about devices.
use super::{cut_list, seen};

seen! {
    /// Tables about GPUs, NICs, ports and links.
    DeviceSeen in "devices":
    NearestNic { gpu: String, path: String, usual: String } [""]
        format!("nearest NIC of {gpu} by {path}, that of most GPUs of the host by {usual}");
    NicsNear { gpu: String, nics: Vec<String> } ["NICs"] format!("NICs nearest to {gpu}: {}", cut_list(nics));
    LinkWidth { link: String, width: String, possible: String } ["lanes"]
        format!("width of {link}: {width}, {possible} possible");
    LinkSpeed { link: String, speed: String, possible: String } [""]
        format!("speed of {link}: {speed}, {possible} possible");
    Storms { port: String, queue: u32, is_over: bool } ["storms"] {
        let state = if *is_over { "over" } else { "not over" };
        format!("PFC storms at {port}, queue {queue}, {state}")
    };
    StormDrops { port: String, queue: u32 } ["packets"]
        format!("packets that the watchdog dropped at {port}, queue {queue}");
    PausesSent { port: String, priority: u32 } ["frames"]
        format!("pause frames that the switch sent at {port}, priority {priority}");
    PausesReceived { port: String, priority: u32 } ["frames"]
        format!("pause frames that the switch received at {port}, priority {priority}");
    PortState { port: String, state: String } [""] format!("state of {port}: {state}");
    PortRate { port: String } ["Gb/s"] format!("rate of {port}");
    PortTrouble { port: String, text: String } [""] format!("{port} reports: {text}");
    GpuReports { gpu: String, field: String, text: String } [""] format!("{field} of {gpu}: {text}");
    GidIndex { port: String, index: u32, usual: u32 } [""]
        format!("index of the GID for RoCE v2 over IPv4 of {port}: {index}, {usual} at other ports");
    NoGid { port: String } ["GIDs"] format!("GIDs for RoCE v2 over IPv4 of {port}");
    NvlinksInactive { gpu: String, links: Vec<u32> } ["links"]
        format!("NVLinks of {gpu} that are inactive: {}", cut_list(links));
    NvlinkErrorsOf { gpu: String, link: u32, what: String } ["errors"]
        format!("{what} errors of NVLink {link} of {gpu}");
}
