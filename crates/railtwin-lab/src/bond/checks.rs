//! The scene's checks, one after the other, and a row for each.
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use railtwin_routing::protocol::lacp::{LacpRate, Mac, PortInfo, SelectionRule};
use railtwin_routing::protocol::set::DualTor;
use railtwin_units::SimTime;

use super::host_thread::HostThread;
use super::partner::{Kept, Partner, Programs};
use super::record::Record;
use super::responder::ResponderOptions;
use super::scene::{self, HOST_MAC, LEAVES, Numbers, PORTS};
use super::traffic::{ECHO, FIRST, Far, leaf_of_each, longest_gap};
use super::{BondRow, arp, simulated};
use crate::host::{LabError, now_ns};

/// Source ports of the host.
const FLOWS: u16 = 64;
/// Flows that each leaf must have of them.
const SPREAD: usize = FLOWS as usize / 4;
/// Flows by each leaf while a leaf is dead.
const FLOWS_OF_FAULT: usize = 4;
/// Time before a leaf dies, ms.
const BEFORE_MS: u32 = 300;
/// Time for which a dead leaf whose LACP goes on is watched, ms: longer than the worst case with LACP that dies.
const WATCHED_MS: u32 = 3_300;
/// Time for which traffic is watched after a leaf dies with its LACP, ms.
const SILENT_MS: u32 = 4_500;
/// How far measured times may be from simulated ones: the host's daemons, and this one's, wait for a processor.
const TOLERANCE_S: f64 = 0.5;
/// Longest gap of flows that no fault concerns, ms.
const CALM_MS: u32 = 100;
/// Time for a change to be seen at all, ns.
const PATIENCE_NS: u64 = 10_000_000_000;

/// The running scene, with the rows so far.
pub(super) struct Checks<'a> {
    numbers: Numbers,
    partner: Partner,
    record: Record,
    responders: [Option<Kept>; 2],
    command: &'a [OsString],
    folder: PathBuf,
    say: &'a mut dyn FnMut(&str),
    rows: Vec<BondRow>,
}

impl<'a> Checks<'a> {
    /// Builds the scene and starts the partner; no leaf answers it yet.
    ///
    /// # Errors
    /// A command fails, or a daemon does not come up.
    pub(super) fn start(
        programs: &Programs,
        command: &'a [OsString],
        say: &'a mut dyn FnMut(&str),
    ) -> Result<Self, LabError> {
        let numbers = Numbers::new()?;
        scene::build(&numbers)?;
        // On the file system of the namespaces' names, which is gone with them.
        let folder = Path::new("/run/netns/.files").to_path_buf();
        std::fs::create_dir_all(&folder)
            .map_err(|error| LabError(format!("{}: {error}", folder.display())))?;
        let partner = Partner::start(programs, &folder)?;
        scene::attach(&numbers)?;
        let record = Record::start(&[
            ("host", PORTS[0]),
            ("host", PORTS[1]),
            (LEAVES[0], "down0"),
            (LEAVES[1], "down0"),
        ])?;
        Ok(Self {
            numbers,
            partner,
            record,
            responders: [None, None],
            command,
            folder,
            say,
            rows: Vec::new(),
        })
    }

    /// All checks in order; the rows, and a capture of the LACPDUs.
    ///
    /// # Errors
    /// A command fails, or a process of the scene ends.
    pub(super) fn run(mut self) -> Result<(Vec<BondRow>, Vec<u8>), LabError> {
        self.negotiate()?;
        let far = Far::start()?;
        let ports: Vec<u16> = (FIRST..FIRST + FLOWS).collect();
        self.without_agent(&far, &ports)?;
        let _agent = self.agent()?;
        let flows = self.traffic(&far, &ports)?;
        self.dead_leaf_whose_lacp_goes_on(&far, &flows)?;
        self.dead_leaf_whose_lacp_dies(&far, &flows)?;
        self.back()?;
        self.wrong_settings()?;
        let capture = self.record.capture();
        Ok((self.rows, capture))
    }

    fn row(&mut self, name: &str, expected: String, seen: String, ok: bool) {
        (self.say)(&format!("{name}: {seen}"));
        self.rows.push(BondRow { name: name.to_owned(), expected, seen, ok });
    }

    /// A row of two times, s.
    fn row_of_times(&mut self, name: &str, expected: f64, why: &str, seen: f64) {
        let ok = (seen - expected).abs() <= TOLERANCE_S;
        self.row(name, format!("{expected:.2} s{why}"), format!("{seen:.2} s"), ok);
    }

    fn info(&self, set: &DualTor, leaf: usize) -> PortInfo {
        let (member, number) = self.numbers.ends[leaf];
        set.port(member, number)
    }

    /// Starts the LACP of a leaf, with the settings of `set`.
    fn respond(&mut self, leaf: usize, set: &DualTor) -> Result<(), LabError> {
        let actor = self.info(set, leaf);
        let options = ResponderOptions { interface: "down0".into(), actor, rate: LacpRate::Fast };
        let mut command = Command::new("ip");
        command.args(["netns", "exec", LEAVES[leaf]]).args(self.command).args(options.words());
        // The one before is dead before the next one speaks.
        self.responders[leaf] = None;
        let log = self.folder.join(format!("{}.log", LEAVES[leaf]));
        self.responders[leaf] = Some(Kept::start(&mut command, &log)?);
        Ok(())
    }

    /// Waits until `is_so`; the time since `since_ns`, s, or none when patience ended.
    fn until(
        &self,
        since_ns: u64,
        mut is_so: impl FnMut(&Partner) -> Result<bool, LabError>,
    ) -> Result<Option<f64>, LabError> {
        loop {
            let now = now_ns();
            if is_so(&self.partner)? {
                return Ok(Some((now - since_ns) as f64 / 1e9));
            }
            if now > since_ns + PATIENCE_NS {
                return Ok(None);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Both leaves answer, each for itself.
    fn negotiate(&mut self) -> Result<(), LabError> {
        let set = self.numbers.set;
        let since = now_ns();
        for leaf in [0, 1] {
            self.respond(leaf, &set)?;
        }
        let took = self.until(since, |partner| Ok(partner.carries()? == [true; 2]))?;
        let shown = self.partner.lacp()?;
        self.row(
            "two leaves as one partner",
            "active negotiated, 2 of 2 attached".into(),
            format!("{}, {} of {} attached", shown.status, shown.attached(), shown.members.len()),
            shown.status == "active negotiated" && shown.attached() == 2 && shown.members.len() == 2,
        );
        let infos = [0, 1].map(|leaf| self.info(&set, leaf));
        let expected = infos.map(|one| format!("{} key {} port {}", one.system, one.key, one.port));
        let seen = PORTS.map(|port| {
            shown.member(port).map_or("nothing".into(), |one| {
                format!("{} key {} port {}", one.partner_system, one.partner_key, one.partner_port)
            })
        });
        let ok = seen == expected;
        self.row("partner of each port", expected.join("; "), seen.join("; "), ok);
        let simulated = simulated::negotiation(&set, &self.numbers.ends).seconds();
        self.row_of_times("time to negotiate", simulated, " simulated", took.unwrap_or(f64::INFINITY));
        self.partner.spread()
    }

    /// One leaf does not learn the host's address, and what comes back by it is lost.
    fn without_agent(&mut self, far: &Far, ports: &[u16]) -> Result<(), LabError> {
        let host = self.numbers.address;
        // Each leaf asks for the host. The answers are alike for the bond's hash, so one leaf has them all.
        let (_, answered) = far.ask(host, ports, 5)?;
        let known = scene::knows_host(host)?;
        let back = scene::ways_back(host, ECHO, ports)?;
        let lost: BTreeSet<u16> = ports.iter().copied().filter(|port| !answered.contains(port)).collect();
        let of_ignorant: BTreeSet<u16> =
            ports.iter().zip(&back).filter(|&(_, &leaf)| !known[leaf]).map(|(&port, _)| port).collect();
        let knowing = known.iter().filter(|&&knows| knows).count();
        self.row(
            "without an agent: leaves that know the host",
            "1 of 2: answers to both leaves go by one port".into(),
            format!("{knowing} of 2"),
            knowing == 1,
        );
        self.row(
            "without an agent: flows without an answer",
            format!("the {} of {FLOWS} whose way back is by the other leaf", of_ignorant.len()),
            format!("{}, {} of them by the other leaf", lost.len(), lost.intersection(&of_ignorant).count()),
            lost == of_ignorant && !lost.is_empty(),
        );
        Ok(())
    }

    /// The agent announces the host by both ports; it goes on until it is dropped.
    fn agent(&mut self) -> Result<HostThread, LabError> {
        let host = self.numbers.address;
        scene::forget_host()?;
        let agent = arp::announce("host", &PORTS, HOST_MAC, host)?;
        std::thread::sleep(Duration::from_millis(200));
        let knowing = scene::knows_host(host)?.iter().filter(|&&knows| knows).count();
        self.row(
            "agent announces by both ports, leaves with arp_accept = 0",
            "0 of 2 learn: Linux makes no entry of an announcement".into(),
            format!("{knowing} of 2 learn"),
            knowing == 0,
        );
        scene::accept_announcements(true)?;
        let since = now_ns();
        let took = self.until(since, |_| Ok(scene::knows_host(host)? == [true; 2]))?;
        self.row(
            "agent announces by both ports, leaves with arp_accept = 1",
            "2 of 2 learn within 1 s".into(),
            took.map_or("not both".into(), |took| format!("2 of 2 learn after {took:.2} s")),
            took.is_some_and(|took| took <= 1.0 + TOLERANCE_S),
        );
        Ok(agent)
    }

    /// All flows have answers, and take both leaves; returns some of each leaf.
    fn traffic(&mut self, far: &Far, ports: &[u16]) -> Result<[Vec<u16>; 2], LabError> {
        let host = self.numbers.address;
        let (arrivals, answered) = far.ask(host, ports, 5)?;
        self.row(
            "with the agent: flows answered",
            format!("{FLOWS} of {FLOWS}"),
            format!("{} of {FLOWS}", answered.len()),
            answered.len() == ports.len(),
        );
        let leaves = leaf_of_each(&arrivals);
        let flows = [0, 1].map(|leaf| {
            leaves.iter().filter(|&(_, &of)| of == leaf).map(|(&port, _)| port).collect::<Vec<u16>>()
        });
        self.row(
            "flows from the host by each leaf",
            format!("at least {SPREAD} of {FLOWS} by each"),
            format!("{} and {}", flows[0].len(), flows[1].len()),
            flows.iter().all(|flows| flows.len() >= SPREAD),
        );
        if flows.iter().any(Vec::is_empty) {
            return Err(LabError("all flows take one leaf: there is no more to see".into()));
        }
        Ok(flows.map(|flows| flows.into_iter().take(FLOWS_OF_FAULT).collect()))
    }

    /// The longest gap of the flows of each leaf, ms.
    fn gaps(ms: u32, flows: &[Vec<u16>; 2], heard: &BTreeMap<u16, BTreeSet<u32>>) -> [Vec<u32>; 2] {
        let of = |port: &u16| heard.get(port).map_or(ms, |numbers| longest_gap(ms, numbers));
        flows.each_ref().map(|flows| flows.iter().map(of).collect())
    }

    fn dead_leaf_whose_lacp_goes_on(&mut self, far: &Far, flows: &[Vec<u16>; 2]) -> Result<(), LabError> {
        let ms = BEFORE_MS + WATCHED_MS;
        let (heard, carries) = far.stream(self.numbers.address, &flows.concat(), ms, || {
            std::thread::sleep(Duration::from_millis(BEFORE_MS.into()));
            scene::forward(0, false)?;
            std::thread::sleep(Duration::from_millis(WATCHED_MS.into()));
            self.partner.carries()
        })?;
        scene::forward(0, true)?;
        let [dead, _] = Self::gaps(ms, flows, &heard);
        let least = dead.iter().copied().min().unwrap_or(0);
        self.row(
            "leaf-0 dead, its LACP alive: flows by it",
            format!("lost to the end of the {:.1} s, the port in use", f64::from(WATCHED_MS) / 1e3),
            format!(
                "lost for {:.2} s, the port {}",
                f64::from(least) / 1e3,
                if carries[0] { "in use" } else { "out of use" }
            ),
            least + CALM_MS >= WATCHED_MS && carries[0],
        );
        Ok(())
    }

    fn dead_leaf_whose_lacp_dies(&mut self, far: &Far, flows: &[Vec<u16>; 2]) -> Result<(), LabError> {
        let ms = BEFORE_MS + SILENT_MS;
        let host = self.numbers.address;
        let mut responder = self.responders[0].take();
        let (heard, (died, times)) = far.stream(host, &flows.concat(), ms, || {
            std::thread::sleep(Duration::from_millis(BEFORE_MS.into()));
            scene::forward(0, false)?;
            // SIGKILL; its link stays up.
            responder = None;
            let died = now_ns();
            let expired = self.until(died, |partner| {
                Ok(partner.lacp()?.member(PORTS[0]).is_some_and(|one| one.status != "current"))
            })?;
            let unused = self.until(died, |partner| Ok(!partner.carries()?[0]))?;
            let detached = self.until(died, |partner| {
                Ok(partner.lacp()?.member(PORTS[0]).is_some_and(|one| !one.is_attached))
            })?;
            Ok((died, [expired, unused, detached].map(|time| time.unwrap_or(f64::INFINITY))))
        })?;
        let ages = [0, 2].map(|port| self.record.age_ns(port, died).unwrap_or(0).min(999_999_999));
        let simulated =
            simulated::silence(&self.numbers.set, &self.numbers.ends, ages.map(SimTime::from_ns)).seconds();
        let why = format!(" simulated; the last LACPDU came {:.2} s before", ages[0] as f64 / 1e9);
        let [expired, unused, detached] = times;
        self.row_of_times("leaf-0 dead with its LACP: expired", simulated, &why, expired);
        self.row_of_times("the same: out of use", simulated, " simulated", unused);
        let timeout = LacpRate::Fast.timeout().seconds();
        self.row_of_times("the same: detached", simulated + timeout, ", 3 s after it expired", detached);
        let [dead, calm] = Self::gaps(ms, flows, &heard);
        let worst = |gaps: &[u32]| gaps.iter().copied().max().unwrap_or(0);
        self.row_of_times(
            "the same: longest gap of flows by it",
            simulated,
            " simulated",
            f64::from(worst(&dead)) / 1e3,
        );
        self.row(
            "the same: longest gap of flows by leaf-1",
            format!("at most {CALM_MS} ms"),
            format!("{} ms", worst(&calm)),
            worst(&calm) <= CALM_MS,
        );
        Ok(())
    }

    /// The leaf's software is started again.
    fn back(&mut self) -> Result<(), LabError> {
        let set = self.numbers.set;
        scene::forward(0, true)?;
        let since = now_ns();
        self.respond(0, &set)?;
        let took = self.until(since, |partner| Ok(partner.carries()? == [true; 2]))?;
        let simulated = simulated::negotiation(&set, &self.numbers.ends).seconds();
        self.row_of_times("leaf-0 back: in use", simulated, " simulated", took.unwrap_or(f64::INFINITY));
        Ok(())
    }

    /// Leaf-1 with settings that are not those of leaf-0.
    fn wrong_settings(&mut self) -> Result<(), LabError> {
        let set = self.numbers.set;
        let other = Mac([0, 0, 0x5e, 0, 1, 9]);
        let same_port = set.offset(0) + self.numbers.ends[0].1 - self.numbers.ends[1].1;
        for (name, wrong) in [
            ("leaf-1 with another system id", DualTor { other_system: Some(other), ..set }),
            ("leaf-1 with another key", DualTor { other_key: Some(set.key + 1), ..set }),
            ("leaf-1 with leaf-0's port id", DualTor { other_port_offset: Some(same_port), ..set }),
        ] {
            self.respond(1, &wrong)?;
            let wanted = self.info(&wrong, 1);
            self.until(now_ns(), |partner| {
                Ok(partner.lacp()?.member(PORTS[1]).is_some_and(|one| {
                    let told = (one.partner_system, one.partner_key, one.partner_port);
                    told == (wanted.system, wanted.key, wanted.port) && one.status == "current"
                }))
            })?;
            // The choice follows the LACPDU.
            std::thread::sleep(Duration::from_millis(100));
            let attached = self.partner.lacp()?.attached();
            let [open, strict] = [SelectionRule::LagId, SelectionRule::Strict]
                .map(|rule| simulated::bonded(&wrong, &self.numbers.ends, rule));
            let strict =
                if strict == open { String::new() } else { format!("; by our strict rule {strict}") };
            self.row(
                name,
                format!("{open} of 2 attached simulated{strict}"),
                format!("{attached} of 2 attached"),
                attached == open,
            );
        }
        Ok(())
    }
}
