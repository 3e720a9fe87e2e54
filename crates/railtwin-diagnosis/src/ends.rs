//! Who is at fault of errors between hosts, from who reports whom.
//!
//! An error of a connection is told by either end, and by itself accuses neither: the other end may be gone, or what is
//! between, or the one who reports. What tells them apart is who reports whom:
//!
//! - a host that says nothing and that several others report is gone, or cut off;
//! - a host that reports several others, who report nobody but it, is cut off itself;
//! - everything else is a set: both ends and their connection.
//!
//! A process that dies of an error takes its connections along, and its other peers report it then. So where times are told
//! only reports of the first [`WAVE_NS`] count, and what is reported of hosts that had lost somebody else follows.
use std::collections::{BTreeMap, BTreeSet};

use railtwin_records::seen::LogSeen;
use railtwin_records::{Component, Evidence, FaultKind, Finding, Since, Suspect, Syndrome};

/// Time from the first error on within which reports are of the same cause: a queue pair of NCCL gives up after seconds,
/// and one that lost its peer because of that needs as long again.
const WAVE_NS: u64 = 5_000_000_000;
/// Hosts that a finding names at most.
const HOSTS: usize = 8;
/// Lines of evidence of a finding.
const LINES: usize = 8;
/// Confidence in a set.
const SET: f64 = 0.45;

/// The host of lines of which nothing tells it. They may be of several hosts, or of one that others name: so it is no witness
/// beside them, and is never accused.
pub const UNKNOWN_HOST: &str = "unknown-host";

/// One end of a connection.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct End {
    /// Its host: by name, or by an address of which nothing tells the name.
    pub host: String,
    /// Its NIC in the host, where that is known.
    pub nic: Option<String>,
}

/// What one end says of the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Fault {
    /// What was sent does not arrive, or the other end cannot be reached.
    NotArriving,
    /// The other end closed the connection.
    Closed,
}

/// A report of one end on the other.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Who says so.
    pub from: End,
    /// Of whom.
    pub to: End,
    /// What.
    pub fault: Fault,
    /// When, where that is told, in nanoseconds.
    pub time_ns: Option<u64>,
    /// The line that says so.
    pub said: Evidence,
    /// The port at this end, by its address or device; empty where it is not told.
    pub port: String,
}

/// Findings of reports. `heard` are hosts of which there are lines in the same logs: their silence says something.
pub fn findings_of_reports(reports: &[Report], heard: &BTreeSet<String>) -> (Vec<Finding>, Vec<String>) {
    let all: Vec<&Report> = reports.iter().filter(|one| one.from.host != one.to.host).collect();
    let of =
        |fault: Fault| -> Vec<&Report> { all.iter().copied().filter(|one| one.fault == fault).collect() };
    let lost = first_wave(of(Fault::NotArriving));
    if !lost.is_empty() {
        return (Graph { reports: lost, heard, closed: false }.findings(), Vec::new());
    }
    let closed = first_wave(of(Fault::Closed));
    if closed.is_empty() {
        return (Vec::new(), Vec::new());
    }
    let graph = Graph { reports: closed, heard, closed: true };
    let named = graph.silent();
    if named.is_empty() {
        let hosts: BTreeSet<&str> = graph.reports.iter().map(|one| one.to.host.as_str()).collect();
        let names: Vec<&str> = hosts.iter().take(HOSTS).copied().collect();
        let more = if hosts.len() > names.len() { ", …" } else { "" };
        let from: BTreeSet<&str> = graph.reports.iter().map(|one| one.from.host.as_str()).collect();
        let say =
            if from.len() == 1 { "1 host says".to_owned() } else { format!("{} hosts say", from.len()) };
        let note = format!(
            "{say} that processes of {}{more} closed their connections: they ended first, or with the others",
            names.join(", ")
        );
        return (Vec::new(), vec![note]);
    }
    (named.into_iter().map(|(host, by)| graph.gone(host, &by)).collect(), Vec::new())
}

/// Reports of the first moments, where all have times.
fn first_wave(reports: Vec<&Report>) -> Vec<&Report> {
    let times: Option<Vec<u64>> = reports.iter().map(|one| one.time_ns).collect();
    match times.and_then(|times| times.into_iter().min()) {
        Some(first) => {
            let until = first.saturating_add(WAVE_NS);
            reports.into_iter().filter(|one| one.time_ns.is_some_and(|time| time <= until)).collect()
        }
        None => reports,
    }
}

struct Graph<'a> {
    reports: Vec<&'a Report>,
    heard: &'a BTreeSet<String>,
    closed: bool,
}

type Named<'a> = BTreeSet<&'a str>;

impl<'a> Graph<'a> {
    /// Whom each host reports, and by whom each is reported.
    fn edges(&self) -> (BTreeMap<&'a str, Named<'a>>, BTreeMap<&'a str, Named<'a>>) {
        let (mut out, mut by): (BTreeMap<&str, Named<'_>>, BTreeMap<&str, Named<'_>>) = Default::default();
        for one in &self.reports {
            out.entry(&one.from.host).or_default().insert(&one.to.host);
            by.entry(&one.to.host).or_default().insert(&one.from.host);
        }
        (out, by)
    }

    /// Hosts that say nothing and that several report.
    fn silent(&self) -> Vec<(&'a str, Named<'a>)> {
        let (out, by) = self.edges();
        let several = |by: &Named<'_>| by.iter().filter(|host| **host != UNKNOWN_HOST).count() > 1;
        by.into_iter().filter(|(host, by)| !out.contains_key(host) && several(by)).collect()
    }

    /// Hosts that report several, who report nobody else.
    fn cut_off(&self) -> Vec<(&'a str, Named<'a>)> {
        let (out, by) = self.edges();
        let only = |peer: &str, host: &str| {
            out.get(peer).is_none_or(|of| of.iter().all(|one| *one == host))
                && by.get(peer).is_none_or(|of| of.iter().all(|one| *one == host))
        };
        let many = out.iter().filter(|(host, to)| to.len() > 1 && **host != UNKNOWN_HOST);
        many.filter(|(host, to)| to.iter().all(|peer| only(peer, host)))
            .map(|(host, to)| (*host, to.clone()))
            .collect()
    }

    fn findings(mut self) -> Vec<Finding> {
        let mut findings = Vec::new();
        let silent = self.silent();
        let named: Named<'_> = silent.iter().map(|(host, _)| *host).collect();
        findings.extend(silent.iter().map(|(host, by)| self.gone(host, by)));
        // Who lost somebody that is gone may be lost itself thereupon.
        let victims: Named<'_> = silent.iter().flat_map(|(_, by)| by.iter().copied()).chain(named).collect();
        let free = |host: &str| !victims.contains(host);
        self.reports.retain(|one| free(&one.from.host) && free(&one.to.host));
        let cut = self.cut_off();
        findings.extend(cut.iter().map(|(host, peers)| self.cut(host, peers)));
        let named: BTreeSet<&str> = cut.iter().map(|(host, _)| *host).collect();
        self.reports
            .retain(|one| !named.contains(one.from.host.as_str()) && !named.contains(one.to.host.as_str()));
        findings.extend(self.sets());
        findings
    }

    /// A host that is gone or cut off from all who report it.
    fn gone(&self, host: &str, by: &Named<'_>) -> Finding {
        let sure = if by.len() > 2 { 0.9 } else { 0.75 };
        // Of whom there is no log, its own words may only not be here.
        let sure = if self.heard.contains(host) { sure } else { 0.7_f64.min(sure) };
        let confidence = if self.closed { 0.6 } else { sure };
        let named = host.to_owned();
        let seen = if self.closed {
            LogSeen::ClosedBy { host: named }
        } else {
            LogSeen::UnreachableFrom { host: named }
        };
        let mut finding = self.finding(vec![Component::Host(host.to_owned())], confidence);
        finding.evidence.push(Evidence::new(seen, by.len() as f64, 0.0));
        finding.evidence.extend(self.said(|one| one.to.host == host));
        let advice = if self.closed {
            "its process ended first: see its own log, and dmesg for processes that were killed, Xid and machine checks"
        } else {
            "see whether the host is up; then dmesg of its NICs and Xid of its GPUs"
        };
        advice.clone_into(&mut finding.advice);
        if self.closed {
            (finding.syndrome, finding.faults) =
                (Syndrome::Crash, vec![FaultKind::Crash, FaultKind::GpuError]);
        }
        finding
    }

    /// A host that is cut off from all whom it reports.
    fn cut(&self, host: &str, peers: &Named<'_>) -> Finding {
        let at = |end: &End| (end.host == host).then(|| end.nic.clone()).flatten();
        let nics: BTreeSet<String> =
            self.reports.iter().flat_map(|one| [at(&one.from), at(&one.to)]).flatten().collect();
        let mut nics = nics.into_iter();
        let component = match (nics.next(), nics.next()) {
            (Some(nic), None) => Component::Nic(format!("{host}/{nic}")),
            _ => Component::Host(host.to_owned()),
        };
        let mut finding = self.finding(vec![component], if peers.len() > 2 { 0.85 } else { 0.7 });
        let seen = LogSeen::CutOff { host: host.to_owned() };
        finding.evidence.push(Evidence::new(seen, peers.len() as f64, 0.0));
        finding.evidence.extend(self.said(|one| one.from.host == host || one.to.host == host));
        finding.advice =
            "see dmesg and the counters of its NICs: link down, errors of the cable, PCIe".into();
        finding
    }

    /// What is left, by who is joined: both ends and what is between them.
    fn sets(&self) -> Vec<Finding> {
        let mut groups: Vec<(Named<'a>, Vec<&'a Report>)> = Vec::new();
        for one in &self.reports {
            let ends = [one.from.host.as_str(), one.to.host.as_str()];
            let (mine, others): (Vec<_>, Vec<_>) =
                groups.into_iter().partition(|(hosts, _)| ends.iter().any(|end| hosts.contains(end)));
            let mut joined: (Named<'_>, Vec<&Report>) = (ends.into(), vec![one]);
            for (hosts, reports) in mine {
                joined.0.extend(hosts);
                joined.1.extend(reports);
            }
            groups = others;
            groups.push(joined);
        }
        groups.into_iter().map(|(hosts, reports)| self.set(&hosts, &reports)).collect()
    }

    fn set(&self, hosts: &Named<'_>, reports: &[&Report]) -> Finding {
        let ends = || reports.iter().flat_map(|one| [&one.from, &one.to]);
        let nic_of = |host: &str| {
            let nics: BTreeSet<&str> =
                ends().filter(|end| end.host == host).filter_map(|end| end.nic.as_deref()).collect();
            let mut nics = nics.into_iter();
            nics.next().filter(|_| nics.next().is_none()).map(str::to_owned)
        };
        let component = |host: &&str| match nic_of(host) {
            Some(nic) => Component::Nic(format!("{host}/{nic}")),
            None => Component::Host((*host).to_owned()),
        };
        let known = hosts.iter().filter(|host| **host != UNKNOWN_HOST);
        let mut components: Vec<Component> = known.take(HOSTS).map(component).collect();
        let pair: Vec<&str> = components.iter().map(Component::name).collect();
        if let [a, b] = pair[..] {
            components.push(Component::Connection(format!("{a} > {b}")));
        }
        let nics: BTreeSet<&str> = ends().filter_map(|end| end.nic.as_deref()).collect();
        let rail = match (hosts.len(), nics.first()) {
            (3.., Some(nic)) if nics.len() == 1 => {
                format!(", and look at what joins the {nic} of all hosts: all errors are there")
            }
            _ => String::new(),
        };
        let mut finding = self.finding(components, if hosts.len() > HOSTS { 0.2 } else { SET });
        let from: BTreeSet<&str> = reports.iter().map(|one| one.from.host.as_str()).collect();
        finding.evidence.push(match (from.first(), hosts.len()) {
            (Some(&host), 2) if from.len() == 1 => {
                let peer = hosts.iter().find(|peer| **peer != host).copied().unwrap_or_default().to_owned();
                let ports: BTreeSet<&str> = reports.iter().map(|one| one.port.as_str()).collect();
                let rails = ports.iter().filter(|port| !port.is_empty()).count();
                let seen = LogSeen::OneReports { host: host.to_owned(), peer, rails };
                Evidence::new(seen, rails.max(1) as f64, 0.0)
            }
            _ => Evidence::new(LogSeen::MutualReports { hosts: hosts.len() }, from.len() as f64, 0.0),
        });
        finding.evidence.extend(reports.iter().take(LINES).map(|one| one.said.clone()));
        finding.advice = format!(
            "not enough evidence to say which: give dmesg of both, or run ib_write_bw between each and a third host{rail}"
        );
        finding
    }

    fn said(&self, is: impl Fn(&Report) -> bool) -> Vec<Evidence> {
        let said: BTreeMap<String, &Evidence> =
            self.reports.iter().filter(|one| is(one)).map(|one| (one.said.words(), &one.said)).collect();
        said.into_values().take(LINES).cloned().collect()
    }

    fn finding(&self, components: Vec<Component>, confidence: f64) -> Finding {
        let at_ns = self.reports.iter().filter_map(|one| one.time_ns).min().unwrap_or(0);
        let share = confidence / components.len().max(1) as f64;
        Finding {
            at_ns,
            since: Since::at(at_ns),
            syndrome: Syndrome::Unreachable,
            faults: vec![FaultKind::Down, FaultKind::Lossy, FaultKind::Crash],
            suspects: components.into_iter().map(|component| Suspect { component, share }).collect(),
            confidence,
            severity: 1.0,
            cost: None,
            evidence: Vec::new(),
            advice: String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn end(text: &str) -> End {
        let (host, nic) =
            text.split_once('/').map_or((text, None), |(host, nic)| (host, Some(nic.to_owned())));
        End { host: host.to_owned(), nic }
    }

    fn lost(from: &str, to: &str, time_s: u64) -> Report {
        let (from, to) = (end(from), end(to));
        let text = format!("{} lost {}", from.host, to.host);
        let said = Evidence::new(LogSeen::Quoted { text }, 1.0, 0.0);
        Report {
            from,
            to,
            fault: Fault::NotArriving,
            time_ns: Some(time_s * 1_000_000_000),
            said,
            port: String::new(),
        }
    }

    fn accused(reports: &[Report]) -> Vec<String> {
        let heard: BTreeSet<String> = (0..16).map(|host| format!("h{host}")).collect();
        let (found, _) = findings_of_reports(reports, &heard);
        let accusing = found.iter().filter(|one| one.accuses());
        accusing.map(|one| one.suspects[0].component.name().to_owned()).collect()
    }

    #[test]
    fn a_host_that_several_report_and_that_says_nothing_is_named() {
        assert_eq!(accused(&[lost("h0", "h3", 1), lost("h1", "h3", 1), lost("h4", "h3", 2)]), ["h3"]);
        assert!(accused(&[lost("h0", "h3", 1)]).is_empty(), "one report is of either end");
        // Whoever lost it dies, and is lost by its own peers.
        let follows = [lost("h0", "h3", 1), lost("h1", "h3", 1), lost("h7", "h0", 2), lost("h8", "h0", 3)];
        assert_eq!(accused(&follows), ["h3"]);
    }

    #[test]
    fn a_victim_whose_process_dies_of_one_pair_is_not_accused_by_its_other_peers() {
        let pair = [lost("h0", "h1", 1), lost("h1", "h0", 1), lost("h2", "h0", 20), lost("h3", "h0", 21)];
        assert!(accused(&pair).is_empty());
        let (found, _) = findings_of_reports(&pair, &BTreeSet::new());
        let names: Vec<&str> = found[0].suspects.iter().map(|one| one.component.name()).collect();
        assert_eq!(names, ["h0", "h1", "h0 > h1"]);
    }

    #[test]
    fn a_nic_that_reaches_nobody_is_named_where_its_peers_report_only_it() {
        let reports = [
            lost("h2/mlx5_3", "h1", 1),
            lost("h2/mlx5_3", "h5", 1),
            lost("h1/mlx5_3", "h2", 1),
            lost("h5/mlx5_3", "h2", 1),
        ];
        assert_eq!(accused(&reports), ["h2/mlx5_3"]);
        // A ring in which everybody reports both neighbours names nobody.
        let ring: Vec<Report> = (0..6)
            .flat_map(|host| {
                let name = |host: usize| format!("h{}", host % 6);
                [lost(&name(host), &name(host + 1), 1), lost(&name(host + 1), &name(host), 1)]
            })
            .collect();
        assert!(accused(&ring).is_empty());
    }

    #[test]
    fn a_process_that_closed_its_connections_and_says_nothing_ended_first() {
        let closed = |from: &str, to: &str| Report { fault: Fault::Closed, ..lost(from, to, 1) };
        assert_eq!(accused(&[closed("h0", "h3"), closed("h1", "h3"), closed("h2", "h1")]), ["h3"]);
        let (found, notes) = findings_of_reports(&[closed("h0", "h1"), closed("h1", "h0")], &BTreeSet::new());
        assert!(
            found.is_empty() && notes[0].starts_with("2 hosts say that processes of h0, h1 closed"),
            "{notes:?}"
        );
    }

    #[test]
    fn a_host_that_nothing_tells_is_no_witness_beside_others_and_never_accused() {
        assert!(accused(&[lost(UNKNOWN_HOST, "h3", 1), lost("h1", "h3", 1)]).is_empty(), "it may be h1");
        let reports = [lost(UNKNOWN_HOST, "h3", 1), lost(UNKNOWN_HOST, "h4", 1)];
        assert!(accused(&reports).is_empty(), "it may be several");
        let (found, _) = findings_of_reports(&reports[..1], &BTreeSet::new());
        let names: Vec<&str> = found[0].suspects.iter().map(|one| one.component.name()).collect();
        assert_eq!(names, ["h3"]);
        assert_eq!(accused(&[lost(UNKNOWN_HOST, "h3", 1), lost("h1", "h3", 1), lost("h2", "h3", 1)]), ["h3"]);
    }

    proptest! {
        /// Whoever is cut off, and whoever dies of that and is lost in turn: nobody else is ever named.
        #[test]
        fn only_the_broken_host_is_named(
            hosts in 4..16_usize, broken in 0..16_usize, silent: bool,
            peers in proptest::collection::btree_set(1..16_usize, 1..6),
            later in proptest::collection::vec((0..16_usize, 0..16_usize), 0..20),
        ) {
            let broken = broken % hosts;
            let name = |host: usize| format!("h{host}");
            let peers: BTreeSet<usize> = peers.iter().map(|step| (broken + step) % hosts).filter(|peer| *peer != broken).collect();
            let mut reports: Vec<Report> = peers.iter().map(|peer| lost(&name(*peer), &name(broken), 10)).collect();
            if !silent {
                reports.extend(peers.iter().map(|peer| lost(&name(broken), &name(*peer), 11)));
            }
            // The processes of the victims are gone thereafter; anybody may report that.
            let dead: Vec<usize> = peers.iter().copied().collect();
            for (from, to) in later {
                let Some(to) = dead.get(to % dead.len().max(1)) else { continue };
                reports.push(lost(&name(from % hosts), &name(*to), 40));
            }
            reports.retain(|one| one.from.host != one.to.host);
            let named = accused(&reports);
            prop_assert!(named.iter().all(|one| *one == name(broken)), "{named:?}");
            prop_assert_eq!(named.len(), usize::from(peers.len() > 1));
        }
    }
}
