//! Findings about the same thing as one: what operations narrow down to a few, counters may narrow down to one.
//!
//! Components lie within each other: a GPU and its rank in a host, a NIC in a host, a cable at its NIC and at its
//! switch, a link in its cable. Two findings are of one fault when a suspect of one is, or lies within, a suspect of the
//! other; then the finer of the two stays, and suspects that only one of them names are dropped.
use railtwin_fabric::Fabric;
use railtwin_records::{Component, Directory, FaultKind, Finding, FlowInfo, Suspect, Syndrome};

use crate::unplaced::place;

/// Confidence from which something counts as gone or down, and how many suspects at most it then names.
const SURE: f64 = 0.75;
const FEW: usize = 2;
/// Most confidence that findings have together and none of them alone.
const JOINED_MOST: f64 = 0.99;

/// Where components lie.
#[derive(Clone, Copy, Debug)]
pub struct Places<'a> {
    /// Who is who.
    pub directory: &'a Directory,
    /// The fabric, where it is known.
    pub fabric: Option<&'a Fabric>,
}

impl Places<'_> {
    /// Whether `part` is `whole` or lies within it.
    pub fn within(&self, part: &Component, whole: &Component) -> bool {
        use Component::{Cable, Connection, Gpu, Host, Link, Nic, Rank, Storage, Switch};
        if part == whole {
            return true;
        }
        match (part, whole) {
            (Gpu(name) | Nic(name), Host(host)) => self.host_of(name) == host,
            (Rank(_), Host(host)) => self.gpu_of(part).is_some_and(|gpu| self.host_of(&gpu) == host),
            // A process and its GPU are in the same place: each explains what is seen of the other.
            (Rank(_), Gpu(gpu)) => self.gpu_of(part).as_ref() == Some(gpu),
            (Gpu(gpu), Rank(_)) => self.gpu_of(whole).as_ref() == Some(gpu),
            (Link(link), Cable(cable)) => self.is_of_cable(link, cable),
            (Link(link), Nic(_) | Switch(_) | Host(_)) => {
                ends(link).is_some_and(|ends| ends.iter().any(|end| self.is_at(end, whole)))
            }
            (Cable(cable), Nic(_) | Switch(_) | Host(_)) => {
                self.cable_ends(cable).iter().any(|end| self.is_at(end, whole))
            }
            (Nic(nic), Connection(connection)) => {
                ends(connection).is_some_and(|ends| ends.contains(&nic.as_str()))
            }
            (Storage, Host(_)) => false,
            _ => false,
        }
    }

    /// The host of a rank, GPU, NIC or host.
    fn host_name(&self, component: &Component) -> Option<String> {
        match component {
            Component::Rank(_) => self.gpu_of(component).map(|gpu| self.host_of(&gpu).to_owned()),
            Component::Gpu(name) | Component::Nic(name) => Some(self.host_of(name).to_owned()),
            Component::Host(name) => Some(name.clone()),
            _ => None,
        }
    }

    /// Names, of hosts or NICs, at which a component is: what flows begin or end there touch it.
    pub(crate) fn touched(&self, component: &Component) -> Vec<String> {
        let of_ports = |ports: &mut dyn Iterator<Item = String>| {
            ports
                .map(|port| self.device_of_port(&port).to_owned())
                .filter(|name| name.contains('/'))
                .collect()
        };
        match component {
            Component::Cable(name) => {
                let ends = self.cable_ends(name);
                let own = std::iter::once(name.clone());
                of_ports(&mut ends.into_iter().chain(own))
            }
            Component::Link(name) | Component::Connection(name) => {
                of_ports(&mut ends(name).into_iter().flatten().map(str::to_owned))
            }
            Component::Nic(name) => vec![name.clone()],
            other => self.host_name(other).into_iter().collect(),
        }
    }

    /// Links of a cable or link; nothing without a fabric.
    pub(crate) fn links(&self, component: &Component) -> Vec<u32> {
        let Some(fabric) = self.fabric else { return Vec::new() };
        match component {
            Component::Cable(name) => {
                let both = |cable: railtwin_fabric::CableId| [cable.forward().0, cable.backward().0];
                fabric.cable_named(name).map(both).into_iter().flatten().collect()
            }
            Component::Link(name) => {
                let cable = ends(name)
                    .and_then(|[from, to]| fabric.cable_named(from).or_else(|| fabric.cable_named(to)));
                let both = cable.into_iter().flat_map(|cable| [cable.forward(), cable.backward()]);
                both.filter(|&link| fabric.link_name(link) == *name).map(|link| link.0).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Whether two components are in one place, or a flow meets both: what one of them does, it does to flows that the
    /// other sees.
    fn meet(&self, first: &Component, second: &Component) -> bool {
        let at =
            |names: &[String], nic: &str| names.iter().any(|name| name == nic || name == self.host_of(nic));
        let places = [first, second].map(|component| (self.touched(component), self.links(component)));
        let near = |names: &[String], other: &[String]| other.iter().any(|name| at(names, name));
        let [(names, _), (others, _)] = &places;
        let meets = |flow: &FlowInfo, (names, links): &(Vec<String>, Vec<u32>)| {
            let ends = [&flow.source_nic, &flow.target_nic];
            ends.iter().any(|nic| at(names, nic)) || links.iter().any(|link| flow.links.contains(link))
        };
        let together = |flow: &FlowInfo| places.iter().all(|place| meets(flow, place));
        near(names, others) || near(others, names) || self.directory.flows.iter().any(together)
    }

    /// Whether a device is, or is in, a NIC, switch or host.
    fn is_at(&self, device: &str, whole: &Component) -> bool {
        match whole {
            Component::Nic(name) | Component::Switch(name) => {
                device == name || self.device_of_port(device) == name
            }
            Component::Host(host) => self.host_of(device) == host,
            _ => false,
        }
    }

    fn device_of_port<'n>(&self, port: &'n str) -> &'n str {
        port.rsplit_once(':').map_or(port, |(device, _)| device)
    }

    pub(crate) fn host_of<'n>(&self, name: &'n str) -> &'n str {
        name.split_once('/').map_or(name, |(host, _)| host)
    }

    /// The GPU that a rank, `job/rank`, runs on.
    fn gpu_of(&self, rank: &Component) -> Option<String> {
        let (job, number) = rank.name().rsplit_once('/')?;
        let job = self.directory.jobs.iter().position(|name| name == job)? as u32;
        let number: u32 = number.parse().ok()?;
        let row = self.directory.ranks.iter().position(|info| (info.job, info.rank) == (job, number))?;
        Some(self.directory.gpu_component(row as u32).name().to_owned())
    }

    /// Devices at the ends of a cable.
    fn cable_ends(&self, cable: &str) -> Vec<String> {
        let Some(fabric) = self.fabric else { return Vec::new() };
        let Some(found) = fabric.cable_named(cable) else { return Vec::new() };
        fabric.cable_ports(found).map(|port| fabric.device_name(fabric.port_device(port))).into()
    }

    /// Whether a cable carries the link `from > to`: by its port where `from` is one, else by the devices at both ends.
    fn is_of_cable(&self, link: &str, cable: &str) -> bool {
        let Some([from, to]) = ends(link) else { return false };
        if let Some(fabric) = self.fabric
            && let Some(found) = [from, to].into_iter().find_map(|end| fabric.cable_named(end))
        {
            return fabric.cable_named(cable) == Some(found);
        }
        let devices = self.cable_ends(cable);
        devices.len() == 2 && devices.iter().all(|device| device == from || device == to)
    }
}

/// Both ends of `a > b`.
fn ends(name: &str) -> Option<[&str; 2]> {
    name.split_once(" > ").map(|(from, to)| [from, to])
}

/// Findings of one fault as one, in the order in which the first of each was found. Collisions stay by themselves: they
/// are no faults.
pub fn join(places: &Places<'_>, findings: &[Finding]) -> Vec<Finding> {
    let mut joined: Vec<Finding> = Vec::new();
    for finding in findings {
        let with = joined.iter_mut().find_map(|known| {
            let mut common = common(places, &known.suspects, &finding.suspects);
            // A process that is late or gone is no matter of a cable at its host.
            if of_process(known) || of_process(finding) {
                common.retain(|suspect| !of_network(&suspect.component));
            }
            (!are_apart(known, finding) && !common.is_empty()).then_some((known, common))
        });
        match with {
            Some((known, suspects)) => merge(known, finding, suspects),
            None => joined.push(finding.clone()),
        }
    }
    place(places, consequences(places, by_host(places, joined)))
}

/// Whether two findings cannot be about one fault, whatever they name: a collision is none, and what carries slowly is
/// not down.
fn are_apart(first: &Finding, second: &Finding) -> bool {
    let slow = |finding: &Finding| finding.syndrome == Syndrome::CommunicationSlow;
    let down = |finding: &Finding| !slow(finding) && finding.faults.first() == Some(&FaultKind::Down);
    let collision = |finding: &Finding| finding.syndrome == Syndrome::Collision;
    collision(first) || collision(second) || slow(first) && down(second) || down(first) && slow(second)
}

/// Whether a finding is about a process and what it runs on.
fn of_process(finding: &Finding) -> bool {
    use Syndrome::{Crash, Mismatch, NonCommunicationHang, NonCommunicationSlow};
    matches!(finding.syndrome, Crash | Mismatch | NonCommunicationHang | NonCommunicationSlow)
}

pub(crate) fn of_network(component: &Component) -> bool {
    use Component::{Cable, Connection, Link, Nic, Switch};
    matches!(component, Cable(_) | Connection(_) | Link(_) | Nic(_) | Switch(_))
}

/// Late or missing ranks of one host as one finding about the host: that two of its GPUs fail together by themselves is
/// far less likely than one thing that they share.
fn by_host(places: &Places<'_>, findings: Vec<Finding>) -> Vec<Finding> {
    // The only host that is known of a job has all that fails in it.
    let known = |host: u32| {
        let name = places.directory.hosts.get(host as usize).map(|info| info.name.as_str());
        name.filter(|name| !name.starts_with("host-of-rank-"))
    };
    let all: std::collections::BTreeSet<&str> =
        places.directory.ranks.iter().filter_map(|info| known(info.host)).collect();
    if all.len() == 1 {
        return findings;
    }
    let host_of = |finding: &Finding| {
        let of_ranks =
            matches!(finding.syndrome, Syndrome::NonCommunicationSlow | Syndrome::NonCommunicationHang);
        let first = finding.suspects.first().filter(|_| of_ranks)?;
        places.host_name(&first.component)
    };
    let mut kept: Vec<Finding> = Vec::new();
    for finding in findings {
        let host = host_of(&finding);
        let same = |known: &&mut Finding| {
            known.syndrome == finding.syndrome && host.is_some() && host_of(known) == host
        };
        match (kept.iter_mut().find(same), &host) {
            (Some(known), Some(host)) => {
                let suspects = vec![Suspect { component: Component::Host(host.clone()), share: 1.0 }];
                merge(known, &finding, suspects);
            }
            _ => kept.push(finding),
        }
    }
    kept
}

/// Drops what follows from something that is surer: queue pairs towards a process that is gone time out, the other port
/// of a NIC whose cable is down carries double, what a lossy link loses its peers count. A second fault at a NIC that
/// talks to the first one's shows again once the first is mended.
fn consequences(places: &Places<'_>, findings: Vec<Finding>) -> Vec<Finding> {
    let mut order: Vec<usize> = (0..findings.len()).collect();
    // What is gone or down explains what is slow, however sure that it is slow; and who names one explains who names
    // many.
    let gone = |finding: &Finding| {
        let down = matches!(finding.syndrome, Syndrome::Unreachable | Syndrome::Counter)
            && matches!(
                finding.faults.first(),
                Some(FaultKind::Down | FaultKind::GpuError | FaultKind::Crash)
            );
        let hard = down || matches!(finding.syndrome, Syndrome::Crash | Syndrome::NonCommunicationHang);
        hard && finding.confidence >= SURE && finding.suspects.len() <= FEW
    };
    order.sort_by(|&a, &b| {
        let (a, b) = (&findings[a], &findings[b]);
        let sharp = |finding: &Finding| finding.confidence / finding.suspects.len().max(1) as f64;
        gone(b).cmp(&gone(a)).then(sharp(b).total_cmp(&sharp(a)))
    });
    let mut follows = vec![false; findings.len()];
    for (rank, &cause) in order.iter().enumerate() {
        if follows[cause] {
            continue;
        }
        for &effect in &order[rank + 1..] {
            follows[effect] |= explains(places, &findings[cause], &findings[effect]);
        }
    }
    let kept = findings.into_iter().zip(follows).filter(|(_, follows)| !follows);
    kept.map(|(finding, _)| finding).collect()
}

/// Whether one fault brings about what another finding is about.
fn explains(places: &Places<'_>, cause: &Finding, effect: &Finding) -> bool {
    use Syndrome::{
        Collision, CommunicationHang, CommunicationSlow, Counter, Crash, NonCommunicationHang, Unreachable,
    };
    let (Some(first), Some(second)) = (cause.suspects.first(), effect.suspects.first()) else { return false };
    // What counters later tell to be traffic was told as a fault with reserve before.
    if cause.syndrome == Collision && effect.syndrome == CommunicationSlow && !effect.accuses() {
        return effect.suspects.iter().any(|suspect| suspect.component == first.component);
    }
    let network = |finding: &Finding| {
        let of_links = |fault: &FaultKind| {
            matches!(
                fault,
                FaultKind::Slow
                    | FaultKind::Lossy
                    | FaultKind::Down
                    | FaultKind::Flap
                    | FaultKind::PauseStorm
            )
        };
        finding.faults.iter().any(of_links)
    };
    let is_effect = match effect.syndrome {
        CommunicationSlow | CommunicationHang | Unreachable | Collision => true,
        Counter => network(effect),
        _ => false,
    };
    let is_cause = match cause.syndrome {
        Crash | NonCommunicationHang | Unreachable => true,
        CommunicationSlow | Counter => !cause.suspects.is_empty(),
        _ => false,
    };
    is_effect && is_cause && places.meet(&first.component, &second.component)
}

/// The finer of each pair of suspects of which one lies within the other, with the greater of their shares.
fn common(places: &Places<'_>, first: &[Suspect], second: &[Suspect]) -> Vec<Suspect> {
    let mut all: Vec<Suspect> = Vec::new();
    for a in first {
        for b in second {
            let (finer, whole, others) = if places.within(&a.component, &b.component) {
                (a, b, first)
            } else if places.within(&b.component, &a.component) {
                (b, a, second)
            } else {
                continue;
            };
            // A cable is at its NIC and no part of it: where both findings name the NIC itself, only one names the cable.
            let named = |suspect: &Suspect| suspect.component == whole.component;
            if is_at_end(&finer.component, &whole.component) && others.iter().any(named) {
                continue;
            }
            let share = a.share.max(b.share);
            match all.iter_mut().find(|known| known.component == finer.component) {
                Some(known) => known.share = known.share.max(share),
                None => all.push(Suspect { component: finer.component.clone(), share }),
            }
        }
    }
    // A suspect that holds a finer one adds nothing.
    let holds = |whole: &Suspect| {
        all.iter().any(|part| {
            !is_at_end(&part.component, &whole.component)
                && places.within(&part.component, &whole.component)
                && !places.within(&whole.component, &part.component)
        })
    };
    let mut kept: Vec<Suspect> = all.iter().filter(|suspect| !holds(suspect)).cloned().collect();
    kept.sort_by(|a, b| b.share.total_cmp(&a.share).then_with(|| a.component.cmp(&b.component)));
    kept
}

/// Whether one is a cable or link and the other a device that it may end at: neighbours, of which each can fail alone.
fn is_at_end(part: &Component, whole: &Component) -> bool {
    matches!(
        (part, whole),
        (Component::Cable(_) | Component::Link(_), Component::Nic(_) | Component::Switch(_))
    )
}

/// Adds what a second finding of the same fault says.
fn merge(known: &mut Finding, finding: &Finding, mut suspects: Vec<Suspect>) {
    // Findings of one kind, or that rest on records of the same table, rest on the same signals; others count as
    // independent, and never as beyond doubt.
    let shares_records =
        finding.evidence.iter().any(|line| known.evidence.iter().any(|other| other.table == line.table));
    let surest = known.confidence.max(finding.confidence);
    known.confidence = if known.syndrome == finding.syndrome || shares_records {
        surest
    } else {
        let joined = 1.0 - (1.0 - known.confidence) * (1.0 - finding.confidence);
        joined.min(surest.max(JOINED_MOST))
    };
    let sum: f64 = suspects.iter().map(|suspect| suspect.share).sum();
    if sum > 0.0 {
        suspects.iter_mut().for_each(|suspect| suspect.share *= known.confidence / sum);
    }
    // Which fault it is, a counter knows better than what it does to operations.
    let tells =
        |syndrome: Syndrome| matches!(syndrome, Syndrome::Counter | Syndrome::Crash | Syndrome::Latency);
    let (better, other) = if tells(finding.syndrome) && !tells(known.syndrome) {
        (&finding.faults, &known.faults)
    } else {
        (&known.faults, &finding.faults)
    };
    let mut faults = better.clone();
    faults.extend(other.iter().filter(|fault| !better.contains(fault)));
    known.faults = faults;
    known.since = known.since.earlier(finding.since);
    known.severity = known.severity.max(finding.severity);
    known.evidence.extend(finding.evidence.iter().cloned());
    // Who knows which fault it is knows what to do about it.
    let knows = tells(finding.syndrome) && !tells(known.syndrome);
    let keeps = tells(known.syndrome) && !tells(finding.syndrome);
    if knows || !keeps && (suspects.len() < known.suspects.len() || !finding.advice.is_empty()) {
        known.advice.clone_from(&finding.advice);
    }
    known.suspects = suspects;
}

#[cfg(test)]
pub(crate) mod tests;
