//! What ports hear against what the same ports of hosts hear that are cabled alike.
//!
//! Hosts of a rack or a segment are cabled alike: port `ens11f0` of each goes to the same leaf. Two hosts count as such where
//! half of the leaves that either hears are the other's too. A port that hears another leaf than three quarters of these, and
//! three at least, is wrong; but not where others hear the same one, which is another convention, nor where these hosts do not
//! agree on nine tenths of what their ports hear: without a convention a few agree by chance.
use std::collections::BTreeMap;

use railtwin_records::seen::NeighborSeen;
use railtwin_records::{Component, Finding, NeighborInfo};

use super::{Wiring, confidence, finding};

/// Hosts that agree on a port, at the least, and their share of those that have it.
const AGREE: usize = 3;
const SHARE: f64 = 0.75;
/// Share of all ports of these hosts that hear what most of the same port do.
const CONVENTION: f64 = 0.9;

/// By port of a host: its neighbor.
type Ports<'a> = BTreeMap<&'a str, &'a str>;

/// Neighbors that two hosts have in common, each as often as both have it.
fn common(a: &Ports<'_>, b: &Ports<'_>) -> usize {
    let mut counts: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
    for (row, ports) in [a, b].into_iter().enumerate() {
        ports.values().for_each(|neighbor| counts.entry(neighbor).or_default()[row] += 1);
    }
    counts.values().map(|[a, b]| (*a).min(*b)).sum()
}

fn are_alike(a: &Ports<'_>, b: &Ports<'_>) -> bool {
    2 * common(a, b) >= a.len().max(b.len())
}

/// A port that should hear another neighbor: of which port, what it hears, what it should, who agrees and who does not.
struct Astray<'a> {
    port: &'a str,
    hears: &'a str,
    should: &'a str,
    agree: usize,
    others: usize,
}

/// A finding for each port that hears another neighbor than those of its like, and one for a host of which all do.
pub(super) fn judge(heard: &BTreeMap<&str, &NeighborInfo>) -> Wiring {
    let mut hosts: BTreeMap<&str, Ports<'_>> = BTreeMap::new();
    for (port, info) in heard {
        let device = info.device();
        let of = port.get(device.len() + 1..).unwrap_or(port);
        hosts.entry(device).or_default().insert(of, &info.neighbor);
    }
    let mut told = Wiring::default();
    let mut judged = 0;
    for (&host, ports) in &hosts {
        let like: Vec<&Ports<'_>> = hosts
            .iter()
            .filter(|(name, other)| **name != host && are_alike(ports, other))
            .map(|(_, ports)| ports)
            .collect();
        let is_rule = like.len() >= AGREE && is_convention(ports, &like);
        judged += usize::from(is_rule);
        let astray: Vec<Astray<'_>> = ports
            .iter()
            .filter(|_| is_rule)
            .filter_map(|(&port, &hears)| astray(port, hears, &like))
            .collect();
        // All ports at once, or most of them among each other, are more likely named in another order than plugged in
        // wrongly, cable by cable: a port of another kind, as for management, keeps its name.
        let most = 2 * astray.len() > ports.len() && astray.len() > 2 && is_order(&astray);
        if astray.len() > 1 && astray.len() == ports.len() || most {
            told.findings.push(of_host(host, &astray));
        } else {
            told.findings.extend(astray.iter().map(|one| of_port(host, one, &astray)));
        }
    }
    let of = hosts.len();
    told.notes.push(match judged {
        0 => format!(
            "no {AGREE} hosts are cabled like another of {of} that hear neighbors: nothing tells a wrong cable; --fabric gives \
             a plan"
        ),
        _ => format!("neighbors of {judged} of {of} hosts are held against {AGREE} or more that are cabled alike"),
    });
    told
}

/// The finding of a host whose ports are all astray, or most of them among each other.
fn of_host(host: &str, astray: &[Astray<'_>]) -> Finding {
    let sure = astray.iter().map(|one| confidence(one.agree, one.others)).fold(1.0, f64::min);
    let advice = "see whether its ports are named in another order than those of the others: if not, its cables \
                  are swapped";
    let component = || Component::Host(host.to_owned());
    let mut found = finding(component(), astray[0].seen(host), 0.7 * sure, advice.into());
    let more = astray[1..].iter().map(|one| finding(component(), one.seen(host), 0.0, String::new()));
    found.evidence.extend(more.flat_map(|finding| finding.evidence));
    found
}

/// The finding of a port of a host, of whose ports all that are astray are given.
fn of_port(host: &str, one: &Astray<'_>, astray: &[Astray<'_>]) -> Finding {
    let swapped = astray.iter().find(|other| other.hears == one.should && other.should == one.hears);
    let advice = match swapped {
        Some(other) => {
            let mut both = [one.port, other.port];
            both.sort_unstable();
            format!("swap the far ends of the cables at {host}/{} and {host}/{}", both[0], both[1])
        }
        None => {
            format!("see where the cable at {host}/{} is plugged in: it should be {}", one.port, one.should)
        }
    };
    let component = Component::Nic(format!("{host}/{}", one.port));
    finding(component, one.seen(host), confidence(one.agree, one.others), advice)
}

impl Astray<'_> {
    fn seen(&self, host: &str) -> NeighborSeen {
        NeighborSeen::NotAsPeers {
            port: format!("{host}/{}", self.port),
            hears: self.hears.to_string(),
            agree: self.agree,
            peers: self.agree + self.others,
            usual: self.should.to_string(),
        }
    }
}

/// Whether ports hear what they should, but for which of them hears what.
fn is_order(astray: &[Astray<'_>]) -> bool {
    let sorted = |of: fn(&Astray<'_>) -> String| {
        let mut names: Vec<String> = astray.iter().map(of).collect();
        names.sort_unstable();
        names
    };
    sorted(|one| one.hears.to_owned()) == sorted(|one| one.should.to_owned())
}

/// Whether hosts agree on what the ports of a host hear.
fn is_convention(ports: &Ports<'_>, like: &[&Ports<'_>]) -> bool {
    let (mut agree, mut all) = (0, 0);
    for port in ports.keys() {
        let mut tally: BTreeMap<&str, usize> = BTreeMap::new();
        like.iter().filter_map(|ports| ports.get(port)).for_each(|one| *tally.entry(one).or_default() += 1);
        agree += tally.values().max().copied().unwrap_or(0);
        all += tally.values().sum::<usize>();
    }
    agree as f64 >= CONVENTION * all as f64
}

fn astray<'a>(port: &'a str, hears: &'a str, like: &[&Ports<'a>]) -> Option<Astray<'a>> {
    let mut tally: BTreeMap<&str, usize> = BTreeMap::new();
    let theirs = like.iter().filter_map(|ports| ports.get(port).copied());
    theirs.for_each(|neighbor| *tally.entry(neighbor).or_default() += 1);
    let all: usize = tally.values().sum();
    let (&should, &agree) = tally.iter().max_by_key(|(name, count)| (**count, std::cmp::Reverse(**name)))?;
    let is_one = agree >= AGREE && agree as f64 >= SHARE * all as f64;
    let alone = !tally.contains_key(hears);
    (is_one && alone && should != hears).then_some(Astray { port, hears, should, agree, others: all - agree })
}
