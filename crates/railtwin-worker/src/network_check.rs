//! Checks of the keys about connections.
use crate::job::{Job, SourcePort};
use crate::lane::LANES_MAX;
use crate::network_spec::Refusal;

/// Least and largest buffer of a connection, bytes.
const BUFFERS: std::ops::RangeInclusive<u32> = 4_096..=16_777_216;
/// Longest name of a congestion control in Linux (`TCP_CA_NAME_MAX` less its end).
const CONGESTION_MAX: usize = 15;

impl Job {
    /// Whether each connection carries data one way only: with several lanes, or where a path master chooses paths.
    pub(crate) const fn is_one_way(&self) -> bool {
        self.lanes > 1 || self.paths.is_some()
    }

    pub(crate) fn check_network(&self) -> Result<(), Refusal> {
        if !(1..=LANES_MAX).contains(&self.lanes) {
            return Err(("lanes", self.lanes.to_string(), "write 1 to 16"));
        }
        if let Some(name) = &self.tcp.congestion
            && (name.is_empty() || name.len() > CONGESTION_MAX || name.contains('\0'))
        {
            let accepted = "write the name of a congestion control of this kernel, such as \"reno\"";
            return Err(("congestion", format!("{name:?}"), accepted));
        }
        for (key, bytes) in [("window", self.tcp.window), ("send_buffer", Some(self.tcp.send_buffer))] {
            if let Some(bytes) = bytes.filter(|bytes| !BUFFERS.contains(bytes)) {
                return Err((key, bytes.to_string(), "write 4096 to 16777216 bytes"));
            }
        }
        if let Some(paths) = &self.paths {
            if paths.socket.as_os_str().is_empty() {
                return Err(("socket", "\"\"".into(), "write the path of the master's Unix socket"));
            }
            if !self.source_ports.is_empty() {
                let accepted = "write source_ports, or [paths] for a master that chooses them";
                return Err(("source_ports", "given beside [paths]".into(), accepted));
            }
        }
        self.check_source_ports()
    }

    fn check_source_ports(&self) -> Result<(), Refusal> {
        let ranks = self.ranks();
        for (at, one) in self.source_ports.iter().enumerate() {
            if one.from >= ranks || one.to >= ranks || one.from == one.to || one.port == 0 {
                let shown = format!("from = {}, to = {}, port = {}", one.from, one.to, one.port);
                let accepted = "write two different ranks of the job and a port from 1 on";
                return Err(("source_ports", shown, accepted));
            }
            if one.lane >= self.lanes {
                let shown = format!("lane = {} of {} lanes", one.lane, self.lanes);
                return Err(("source_ports", shown, "write a lane from 0 on, below the job's lanes"));
            }
            let name = |one: &SourcePort| (one.from, one.to, one.lane, one.algorithm);
            if self.source_ports[..at].iter().any(|other| name(other) == name(one)) {
                let lane = if self.lanes > 1 { format!(", lane = {}", one.lane) } else { String::new() };
                let shown = format!("from = {}, to = {}{lane} twice", one.from, one.to);
                return Err(("source_ports", shown, "write each connection once"));
            }
        }
        Ok(())
    }
}
