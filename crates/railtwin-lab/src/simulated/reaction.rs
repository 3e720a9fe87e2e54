//! The gap of each fault of the lab in the simulation, and the band that is accepted.
use std::path::Path;

use railtwin::Question;
use railtwin_engine::fault::{Change, Moment};
use railtwin_engine::{Case, Fault};
use railtwin_fabric::{DeviceKind, LinkId};

use crate::host::LabError;

/// The fabric of the lab and its timers. A leaf's and a spine's software hold what they process for 50 ms, and their kernel
/// gets it 10 ms later; the kernel itself leaves dead ports out of its groups.
const FAILOVER: &str = include_str!("../../../../scenarios/lab/failover.toml");

/// When faults strike in the simulation, seconds.
const AT_S: f64 = 10.0;

/// A fault of the lab, with the direction whose traffic is looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SimulatedFault {
    /// The link between a host and a leaf goes down; traffic towards the host.
    HostLinkInbound,
    /// The same; traffic from the host.
    HostLinkOutbound,
    /// The link between a leaf and a spine goes down.
    SpineLink,
    /// The BGP process of a spine is killed.
    SpineDaemon,
    /// The BGP process of a leaf is killed, its host ports stay up.
    LeafDaemon,
    /// The same where LACP of the leaf stops with it.
    LeafDaemonLacp,
    /// The same where a watcher that looks each second takes the host ports down, at the latest.
    LeafDaemonWatcher,
    /// The same where the process is started again after 5 s.
    LeafDaemonRestart,
    /// A leaf's uplink drops everything in the direction of the spine, hold time 3 s.
    SilentHold,
    /// The same in both directions.
    SilentBothWays,
    /// One way, with BFD each 100 ms, three times.
    SilentBfd,
}

/// Gap of a fault over draws, seconds; infinite where nothing ends it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct GapBand {
    /// The shortest.
    pub least_s: f64,
    /// The median.
    pub median_s: f64,
    /// The mean.
    pub mean_s: f64,
    /// The longest.
    pub most_s: f64,
}

/// How a fault is put into a scenario, and what became of it in the lab.
struct Description {
    title: &'static str,
    /// Lines of `[reaction]`, and sections behind the scenario.
    reaction: &'static str,
    sections: &'static str,
    fault: &'static str,
    /// Whether a link is one of those whose traffic is looked at, by the names of the devices at its ends.
    looks_at: fn(&str, &str) -> bool,
    measured: &'static str,
    band: Option<(f64, f64)>,
}

/// Whether a link leads from the leaf at the fault to a spine.
const UP: fn(&str, &str) -> bool = |from, to| from == "leaf-0" && to.starts_with("spine");
/// Whether a link leads from the first host to a leaf.
const FROM_HOST: fn(&str, &str) -> bool = |from, to| from == "host-0/nic-0" && to.starts_with("leaf");
/// The lines of a fault of a leaf's software.
const LEAF_DAEMON: &str = "leaf = \"leaf-0\"\nkind = \"control-plane\"";

/// A fault without lines, whose traffic leaves the first leaf for a spine.
fn described(title: &'static str, measured: &'static str, band: Option<(f64, f64)>) -> Description {
    Description { title, measured, band, reaction: "", sections: "", fault: "", looks_at: UP }
}

impl SimulatedFault {
    /// All, in the order of the table of `docs/reference/failover.md`.
    pub const ALL: [Self; 11] = [
        Self::HostLinkInbound,
        Self::HostLinkOutbound,
        Self::SpineLink,
        Self::SpineDaemon,
        Self::LeafDaemon,
        Self::LeafDaemonLacp,
        Self::LeafDaemonWatcher,
        Self::LeafDaemonRestart,
        Self::SilentHold,
        Self::SilentBothWays,
        Self::SilentBfd,
    ];

    /// The fault in words.
    pub fn title(self) -> &'static str {
        self.description().title
    }

    /// Gap that was measured in November 2026, in words.
    pub fn measured(self) -> &'static str {
        self.description().measured
    }

    /// Least and most of the gap that is accepted, seconds; none where nothing may end it.
    pub fn accepted_s(self) -> Option<(f64, f64)> {
        self.description().band
    }

    fn description(self) -> Description {
        let host_link = "cable = \"host-0/nic-0:port-0\"\nkind = \"down\"";
        let silent = "cable = \"leaf-0:uplink-0\"\nkind = \"down\"\ncarrier = true\ndirection = \"out\"";
        match self {
            Self::HostLinkInbound => Description {
                fault: host_link,
                looks_at: |from, to| from.starts_with("leaf") && to == "host-0/nic-0",
                ..described("cable of a host down: towards the host", "125 to 208 ms", Some((0.1, 0.3)))
            },
            Self::HostLinkOutbound => Description {
                fault: host_link,
                looks_at: FROM_HOST,
                ..described("the same: from the host", "within noise, 2 to 7 ms", Some((0.0, 0.02)))
            },
            Self::SpineLink => Description {
                fault: "cable = \"leaf-0:uplink-0\"\nkind = \"down\"",
                ..described("cable of a spine down", "3 to 80 ms", Some((0.0, 0.1)))
            },
            Self::SpineDaemon => Description {
                fault: "spine = \"spine-0\"\nkind = \"control-plane\"",
                looks_at: |from, to| from.starts_with("leaf") && to == "spine-0",
                ..described("software of a spine killed", "46 to 83 ms", Some((0.0, 0.15)))
            },
            Self::LeafDaemon | Self::LeafDaemonLacp | Self::LeafDaemonWatcher | Self::LeafDaemonRestart => {
                self.of_leaf_daemon()
            }
            Self::SilentHold => Description {
                fault: silent,
                ..described("silent drop leaf to spine, hold time 3 s", "3.6 to 3.9 s", Some((3.0, 4.5)))
            },
            Self::SilentBothWays => Description {
                fault: "cable = \"leaf-0:uplink-0\"\nkind = \"down\"\ncarrier = true",
                ..described("the same, both directions", "not measured", Some((2.0, 3.2)))
            },
            Self::SilentBfd => Description {
                reaction: "bfd = \"300 ms\"\n",
                fault: silent,
                ..described(
                    "silent drop leaf to spine, BFD 100 ms × 3",
                    "294 to 473 ms",
                    // Three intervals after the last message, which came up to one before the fault.
                    Some((0.2, 1.0)),
                )
            },
        }
    }

    /// The BGP process of a leaf is killed: alone, or with a remedy; other faults as the last.
    fn of_leaf_daemon(self) -> Description {
        match self {
            Self::LeafDaemon => Description {
                fault: LEAF_DAEMON,
                looks_at: FROM_HOST,
                ..described("software of a leaf killed: from the host", "for ever", None)
            },
            Self::LeafDaemonLacp => Description {
                sections: "[dual_tor]\nremedy = \"lacp\"\n",
                fault: LEAF_DAEMON,
                looks_at: FROM_HOST,
                ..described(
                    "the same, LACP stops with it",
                    "2.6 s (a bond of Open vSwitch; detached after 5.6 s)",
                    Some((2.0, 3.2)),
                )
            },
            Self::LeafDaemonWatcher => Description {
                sections: "[dual_tor]\nremedy = \"watcher\"\nremedy_after = \"1 s\"\n",
                fault: LEAF_DAEMON,
                looks_at: FROM_HOST,
                ..described(
                    "the same, a watcher that looks each second takes host ports down",
                    "0.1 to 1.1 s, by when it looks",
                    Some((0.0, 1.5)),
                )
            },
            _ => Description {
                sections: "[dual_tor]\nremedy = \"restart\"\nremedy_after = \"5 s\"\n",
                fault: LEAF_DAEMON,
                ..described("the same, started again after 5 s", "not measured", Some((0.0, 6.0)))
            },
        }
    }
}

/// The gap of a fault in the simulation of the lab's fabric, over `draws` draws: how long a sender's traffic goes into
/// the fault, until the sender avoids it or it carries again.
///
/// # Errors
/// [`LabError`]: the scenario of the fault is wrong.
pub fn gap_of(fault: SimulatedFault, draws: u32) -> Result<GapBand, LabError> {
    let description = fault.description();
    let case = case_of(&description)?;
    let mut gaps: Vec<f64> = (0..draws.max(1)).map(|draw| gap(&case, &description, draw)).collect();
    gaps.sort_by(f64::total_cmp);
    let [least_s, median_s, most_s] = [0, gaps.len() / 2, gaps.len() - 1].map(|at| gaps[at]);
    Ok(GapBand { least_s, median_s, mean_s: gaps.iter().sum::<f64>() / gaps.len() as f64, most_s })
}

fn case_of(description: &Description) -> Result<Case, LabError> {
    let Description { reaction, sections, fault, .. } = description;
    let text = FAILOVER.replacen("bgp_hold", &format!("{reaction}bgp_hold"), 1);
    let text = format!("{text}{sections}[[fault]]\nat = \"{AT_S} s\"\n{fault}\n");
    let failed = |error: railtwin::Error| LabError(format!("{}: {error}", description.title));
    let question = Question::of_text("scenarios/lab/failover.toml", &text, Path::new("."));
    let point = question.points().map_err(failed)?.into_iter().next();
    let point = point.ok_or_else(|| LabError(format!("{}: no point", description.title)))?;
    Ok(question.resolve(&point.scenario).map_err(failed)?.case)
}

/// How long, in a draw, the longest of the links that are looked at is both dead and in use, seconds; infinite for ever.
fn gap(case: &Case, description: &Description, draw: u32) -> f64 {
    let fabric = &case.fabric;
    let moments = case.timeline(draw);
    let looked_at = |link: LinkId| {
        (description.looks_at)(
            &fabric.device_name(fabric.source(link)),
            &fabric.device_name(fabric.target(link)),
        )
    };
    let first = |is_it: &dyn Fn(&Change) -> bool| {
        let found = moments.iter().find(|moment: &&Moment| is_it(&moment.change));
        found.map_or(f64::INFINITY, |moment| moment.at.seconds() - AT_S)
    };
    let mut links: Vec<LinkId> = case
        .faults
        .iter()
        .map(|fault: &Fault| fault.cable)
        .flat_map(|cable| [cable.forward(), cable.backward()])
        .filter(|&link| fabric.kind(fabric.source(link)) != DeviceKind::Gpu && looked_at(link))
        .collect();
    links.sort_unstable();
    links.dedup();
    // The host that sends to a leaf without routes is helped by its own port alone.
    if links.is_empty() {
        return f64::INFINITY;
    }
    let of = |&link: &LinkId| {
        let avoided = first(&|change| matches!(change, Change::Avoided(other, _) if *other == link));
        let carries = first(
            &|change| matches!(change, Change::Carries(cable, ways) if *cable == link.cable() && ways.has(link)),
        );
        avoided.min(carries)
    };
    links.iter().map(of).fold(0.0, f64::max)
}
