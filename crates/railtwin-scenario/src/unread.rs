//! Keys that are written and that the engine of the scenario does not read: said, so that none is silent.
use railtwin_engine::Balancer;
use railtwin_engine::packet::MarkAt;
use railtwin_units::keys::{Key, Kind, Reader, Table};
use railtwin_units::{Bytes, Rate, SimTime};
use toml::Value;

use crate::Scenario;
use crate::listed::listed;
use crate::scenario::EngineName;
use crate::scenario::SCENARIO;

/// Keys of packets that counters of `[telemetry]` go by.
const COUNTED: [&str; 3] = ["packet.control", "packet.congestion_control", "packet.nic.cnp_interval"];

impl Scenario {
    /// A warning that names every key whose value is not its default and that the engine does not read; none where
    /// there is no such key. With controllers of one's `own` flows read more.
    pub(crate) fn unread(&self, own: bool) -> Option<String> {
        let other = match self.engine {
            EngineName::Flow => Reader::Packet,
            EngineName::Packet => Reader::Flow,
        };
        let whole: Value = toml::Table::try_from(self).ok()?.into();
        let mut found = Vec::new();
        walk(&SCENARIO, &whole, "", other, &mut found);
        // Counters of a replay tell of marks and packets, whatever moved the bytes.
        if self.telemetry.as_ref().is_some_and(|telemetry| telemetry.counters.is_some()) {
            found.retain(|path| !COUNTED.contains(&path.as_str()));
        }
        if self.engine == EngineName::Flow {
            found = found.into_iter().flat_map(|path| self.unread_of_marks(path, own)).collect();
        }
        let verb = if found.len() == 1 { "it changes" } else { "they change" };
        let engine = self.engine.name();
        (!found.is_empty())
            .then(|| format!("the {engine} engine does not read {}: {verb} nothing", listed(&found)))
    }

    /// The keys of `ecn` that flows do not read, where they read others of it; any other path as it is.
    ///
    /// A full link marks whatever crosses it, if its switch marks at all, and hosts or controllers that hear of marks
    /// act on that. A queue that stands at `min` delays probes.
    fn unread_of_marks(&self, path: String, own: bool) -> Vec<String> {
        let (control, balancer) = (&self.control, self.routing.balancer);
        let marks = control.feedback.is_some() && (own || balancer == Balancer::MultipathEcn);
        let probes = own || (control.probes.is_some() && balancer == Balancer::C4p);
        let [leaf, spine, core] = self.switch.tiers();
        let ecn = match path.as_str() {
            "switch.leaf.ecn" => leaf.ecn,
            "switch.spine.ecn" => spine.ecn,
            "switch.core.ecn" => core.ecn,
            _ => None,
        };
        let Some(ecn) = ecn.filter(|_| marks || probes) else { return vec![path] };
        let keys =
            [("min", !probes), ("max", true), ("probability", true), ("at", ecn.at != MarkAt::Dequeue)];
        keys.iter().filter(|(_, idle)| *idle).map(|(key, _)| format!("{path}.{key}")).collect()
    }

    /// Warnings that name every key that the engine does not read, and every key about controllers that nobody goes
    /// by; with controllers of one's `own` only those that these do not go by either.
    pub fn idle_keys(&self, own: bool) -> Vec<String> {
        self.unread(own).into_iter().chain(self.idle_control(own)).collect()
    }
}

/// Collects the paths of values in a table that only the `other` engine reads.
fn walk(table: &'static Table, value: &Value, path: &str, other: Reader, found: &mut Vec<String>) {
    match value {
        Value::Array(rows) => rows.iter().for_each(|row| walk(table, row, path, other, found)),
        Value::Table(entries) => {
            for (name, value) in entries {
                let Some(key) = table.any_key(name) else { continue };
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                if key.reader == other {
                    written(key, value, &path, found);
                } else if let Some(inner) = key.kind.table() {
                    walk(inner, value, &path, other, found);
                }
            }
        }
        _ => {}
    }
}

/// Collects what differs from the default in a value that is not read.
fn written(key: &'static Key, value: &Value, path: &str, found: &mut Vec<String>) {
    match (key.kind.table(), value) {
        (Some(table), Value::Table(entries)) if matches!(key.kind, Kind::Section(_)) => {
            for (name, value) in entries {
                if let Some(key) = table.any_key(name) {
                    written(key, value, &format!("{path}.{name}"), found);
                }
            }
        }
        _ => {
            let text = match value {
                Value::String(text) => text.clone(),
                // A kind without keys of its own.
                Value::Table(entries) if entries.len() == 1 => {
                    entries.values().next().and_then(Value::as_str).unwrap_or_default().to_owned()
                }
                value => value.to_string(),
            };
            let default = key.default.and_then(|default| default());
            let is_default = default.is_some_and(|default| same(&default, &text));
            if !is_default && !found.iter().any(|known| known == path) {
                found.push(path.to_owned());
            }
        }
    }
}

/// Whether two texts are one value: defaults are written short, and a scenario exactly.
fn same(one: &str, other: &str) -> bool {
    fn equal<T: std::str::FromStr + PartialEq>(one: &str, other: &str) -> bool {
        matches!((one.parse::<T>(), other.parse::<T>()), (Ok(one), Ok(other)) if one == other)
    }
    one == other
        || equal::<Bytes>(one, other)
        || equal::<Rate>(one, other)
        || equal::<SimTime>(one, other)
        || equal::<f64>(one, other)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "schema = 1\nname = \"a\"\nfabric = { preset = \"hpn\" }\n";

    fn unread(text: &str) -> Option<String> {
        Scenario::parse("a.toml", &format!("{HEAD}{text}")).unwrap().unread(false)
    }

    /// One key that is read brings all defaults of its section into the canonical text.
    #[test]
    fn defaults_are_not_told() {
        assert_eq!(unread("[packet]\npayload = \"1024 B\"\n"), None);
        assert_eq!(unread("[packet]\npayload = \"1024 B\"\nnic = { receive_buffer = \"1000 kB\" }\n"), None);
        assert_eq!(unread("engine = \"packet\"\n[transport]\ntimeout = 4\n[run]\nsteps = 2\n"), None);
    }

    /// Marks feed `multipath-ecn`, and a queue that stands delays probes.
    #[test]
    fn of_marks_only_what_flows_do_not_read_is_named() {
        let ecn = "[switch.leaf]\necn = { min = \"1 kB\", max = \"9 kB\", probability = 0.2 }\n";
        let named = |keys: &str| unread(&format!("{keys}{ecn}")).unwrap();
        let read = |keys: &str| format!("the flow engine does not read {keys} nothing");
        let marks = named("[routing]\nbalancer = \"multipath-ecn\"\n[control]\nfeedback = \"1 ms\"\n");
        let keys = "switch.leaf.ecn.min, switch.leaf.ecn.max and switch.leaf.ecn.probability: they change";
        assert_eq!(marks, read(keys));
        let probes = named("[routing]\nbalancer = \"c4p\"\n[control]\nprobes = \"1 ms\"\n");
        assert_eq!(probes, read("switch.leaf.ecn.max and switch.leaf.ecn.probability: they change"));
        let whole = read("switch.leaf.ecn: it changes");
        for keys in ["", "[routing]\nbalancer = \"multipath-ecn\"\n", "[control]\nfeedback = \"1 ms\"\n"] {
            assert_eq!(named(keys), whole, "{keys}");
        }
    }

    #[test]
    fn what_is_not_read_is_told_by_name() {
        let flow = unread("[packet]\nwatchdog = \"1 ms\"\n[switch.leaf]\nbuffer = \"1 MB\"\n").unwrap();
        assert_eq!(
            flow,
            "the flow engine does not read packet.watchdog and switch.leaf.buffer: they change nothing"
        );
        let packet = unread("engine = \"packet\"\n[transport]\nresume = \"timeout\"\n").unwrap();
        assert_eq!(packet, "the packet engine does not read transport.resume: it changes nothing");
    }
}
