//! Rules of daemons and hashes.
use std::collections::BTreeMap;

use railtwin_units::SimTime;

use super::settings::{ConfigSettings, DeadDaemon};
use super::{ConfigFinding, ConfigRule};

/// The fastest BFD that a busy control plane keeps up.
const FASTEST_BFD: SimTime = SimTime::from_ns(100_000_000);

pub(super) fn findings(settings: &ConfigSettings) -> Vec<ConfigFinding> {
    let mut findings = Vec::new();
    let mut add = |rule, place: &str, value: String, accepted: &str| {
        findings.push(ConfigFinding::new(rule, place, value, accepted));
    };
    let daemons = &settings.daemons;
    let has_leaves = !settings.leaves.is_empty();
    match (daemons.dead, daemons.restart) {
        (DeadDaemon::Nothing, _) if has_leaves => add(
            ConfigRule::DeadDaemon,
            "daemons.dead",
            "nothing".to_owned(),
            "lacp, watcher, or restart with the time that it takes",
        ),
        (DeadDaemon::Restart, None) => add(
            ConfigRule::DeadDaemon,
            "daemons.restart",
            "no time".to_owned(),
            "the time in which the daemon is back, such as \"10 s\"",
        ),
        _ => {}
    }
    if let Some(interval) = daemons.bfd.filter(|interval| *interval < FASTEST_BFD) {
        add(ConfigRule::BfdInterval, "daemons.bfd", interval.to_string(), "100 ms or longer");
    }
    if daemons.graceful_restart {
        add(ConfigRule::GracefulRestart, "daemons.graceful_restart", "on".to_owned(), "off");
    }
    if daemons.next_hop_objects {
        let accepted = "off, by `no zebra nexthop kernel enable`";
        add(ConfigRule::NextHopObjects, "daemons.next_hop_objects", "on".to_owned(), accepted);
    }
    for switch in &settings.switches {
        if let Some(policy) = switch.hash_policy.filter(|policy| *policy != 3) {
            add(
                ConfigRule::HashPolicy,
                &switch.name,
                format!("policy {policy}"),
                "policy 3 with the fields 0x37",
            );
        }
    }
    findings.extend(seeds(settings));
    findings
}

/// One finding for each pair of tiers that share a seed.
fn seeds(settings: &ConfigSettings) -> Vec<ConfigFinding> {
    let mut by_seed: BTreeMap<u32, BTreeMap<u32, &str>> = BTreeMap::new();
    for switch in &settings.switches {
        by_seed.entry(switch.hash_seed).or_default().entry(switch.tier).or_insert(&switch.name);
    }
    let mut pairs: BTreeMap<(u32, u32), (u32, &str, &str)> = BTreeMap::new();
    for (seed, tiers) in &by_seed {
        for (low, a) in tiers {
            for (high, b) in tiers.range(low + 1..) {
                pairs.entry((*low, *high)).or_insert((*seed, *a, *b));
            }
        }
    }
    let finding = |((low, high), (seed, a, b)): ((u32, u32), (u32, &str, &str))| {
        let (place, value) = (format!("tiers {low} and {high}"), format!("seed {seed} in {a} and {b}"));
        ConfigFinding::new(
            ConfigRule::HashSeeds,
            place,
            value,
            "another seed in each tier, or in each switch",
        )
    };
    pairs.into_iter().map(finding).collect()
}
