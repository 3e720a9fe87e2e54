//! Probes: who sends them when, who answers, and how long that took.
//!
//! The probes of a port take turns with its data, packet by packet, as those of one more queue pair would; round after
//! round goes over all paths. The NIC that gets one answers as it acknowledges, by the same cables back.
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use railtwin_control::controller::Answer;
use railtwin_engine::Survey;
use railtwin_units::SimTime;

use crate::agenda::Agenda;
use crate::congestion::Control;
use crate::host::{Host, Shared, Word};
use crate::host_task::GIVE_UP;
use crate::network::{Network, Start};
use crate::packet::{BACK, Kind, MARKED, Packet};
use crate::post::Post;

/// For how long at least a port is waited for that sends nothing, ps: 100 ms, as `probe_timeout` is by default, a
/// thousand times what a queue takes. What is paused for longer may be for good.
const SHUT: u64 = 100_000_000_000;

/// A survey as hosts go through it.
#[derive(Debug, Default)]
pub struct Rounds {
    bytes: u16,
    /// By probe: how its packets leave, how answers leave, and how many packets; none without a cable.
    courses: Vec<Option<(Start, Start, u32)>>,
    /// Rows of probes by host that sends them, in the order in which a round goes through them.
    pub of_host: BTreeMap<u32, Vec<u32>>,
}

impl Rounds {
    /// Of a survey, whose routes are added to the network.
    pub fn new(survey: &Survey, network: &mut Network<'_>) -> Self {
        let fabric = &*network.case.fabric;
        let mut this = Self { bytes: survey.size as u16, ..Self::default() };
        let mut of_source: BTreeMap<(u32, u32), Vec<u32>> = BTreeMap::new();
        let mut order = Vec::new();
        for (row, probe) in survey.probes.iter().enumerate() {
            let links = survey.links_of(row);
            let course = network.probe_route(links, probe.lands);
            this.courses.push(course.map(|(out, back)| (out, back, probe.packets)));
            if course.is_none() || probe.packets == 0 {
                continue;
            }
            let source = (probe.source.nic.0, probe.source.port);
            let rows = of_source.entry(source).or_insert_with(|| {
                order.push(source);
                Vec::new()
            });
            rows.push(row as u32);
        }
        // Each begins another part of the way through its targets, so that all do not probe the same one at a time.
        let count = order.len();
        for (number, source) in order.into_iter().enumerate() {
            let mut rows = of_source.remove(&source).unwrap_or_default();
            let first = rows.len() * number / count;
            rows.rotate_left(first);
            let host = fabric.host_of(railtwin_fabric::DeviceId(source.0)).map_or(0, |host| host.0);
            this.of_host.entry(host).or_default().append(&mut rows);
        }
        this
    }

    /// Forgets all but how many hosts there were: nobody waits for it any more.
    pub fn close(&mut self) {
        self.courses = Vec::new();
        self.of_host.values_mut().for_each(|rows| *rows = Vec::new());
    }
}

/// Probes that stand in line at a port.
#[derive(Debug)]
pub struct Line {
    survey: u32,
    /// Rows among those of the host that have packets left, the one whose turn it is, and rounds done.
    rows: Vec<u32>,
    at: usize,
    round: u32,
}

/// What a host found out in a survey.
#[derive(Debug, Default)]
pub struct Found {
    /// Packets sent by row of the host, and times there and back of those that were answered, ps.
    sent: Vec<u32>,
    delays: Vec<Vec<u64>>,
    to_send: u64,
    unanswered: u64,
    last_sent: u64,
}

/// The surveys of a host.
#[derive(Debug, Default)]
pub struct Prober {
    open: BTreeMap<u32, Found>,
    /// Those that are over.
    done: BTreeMap<u32, Found>,
}

impl Prober {
    /// Writes what a survey that is over found into the answers of its probes.
    pub fn tell(&mut self, survey: u32, rows: &[u32], answers: &mut [Answer]) {
        let Some(found) = self.done.remove(&survey) else { return };
        let all = rows.iter().zip(found.sent.iter().zip(found.delays));
        for (&row, (&sent, mut delays)) in all {
            let mut answer = Answer::of(sent, sent - delays.len() as u32);
            delays.sort_unstable();
            if let Some(&longest) = delays.last() {
                answer.delay = SimTime::from_ps(delays[(delays.len() - 1) / 2]);
                answer.delay_max = SimTime::from_ps(longest);
            }
            answers[row as usize] = answer;
        }
    }
}

impl<C: Control> Host<C> {
    /// A survey begins.
    pub(crate) fn begin_survey(
        &mut self,
        now: u64,
        survey: u32,
        shared: &Shared<'_>,
        agenda: &mut Agenda,
        post: &mut Post<'_>,
    ) {
        let rounds = &shared.surveys[survey as usize];
        let Some(rows) = rounds.of_host.get(&self.host) else { return };
        let mut found = Found {
            sent: vec![0; rows.len()],
            delays: vec![Vec::new(); rows.len()],
            last_sent: now,
            ..Found::default()
        };
        let mut lines: BTreeMap<u16, Vec<u32>> = BTreeMap::new();
        for (own, &row) in (0..).zip(rows) {
            let Some((out, _, packets)) = rounds.courses[row as usize] else { continue };
            found.to_send += u64::from(packets);
            lines.entry(out.port).or_default().push(own);
        }
        self.prober.open.insert(survey, found);
        agenda.push(
            now.saturating_add(shared.network.case.routing.control.probe_timeout.ps()),
            GIVE_UP | u64::from(survey),
        );
        for (port, rows) in lines {
            self.ports[usize::from(port)].probes.0.push_back(Line { survey, rows, at: 0, round: 0 });
            self.kick(now, usize::from(port), shared, agenda, post);
        }
    }

    /// Sends the next probe of a port.
    pub(crate) fn send_probe(&mut self, now: u64, port: usize, shared: &Shared<'_>, post: &mut Post<'_>) {
        let lines: &mut VecDeque<Line> = &mut self.ports[port].probes.0;
        let Some(line) = lines.front_mut() else { return };
        let rounds = &shared.surveys[line.survey as usize];
        let own = line.rows[line.at];
        let row = rounds.of_host[&self.host][own as usize];
        let Some((out, _, packets)) = rounds.courses[row as usize] else { return };
        let packet = Packet {
            queue_pair: (now >> 32) as u32,
            number: now as u32,
            route: out.route,
            leg: line.survey,
            item: row,
            stamp: own,
            bytes: rounds.bytes,
            ..Packet::new(Kind::Probe)
        };
        if let Some(found) = self.prober.open.get_mut(&line.survey) {
            found.sent[own as usize] += 1;
            found.to_send -= 1;
            found.unanswered += 1;
            found.last_sent = now;
        }
        if packets == line.round + 1 {
            line.rows.remove(line.at);
        } else {
            line.at += 1;
        }
        if line.at >= line.rows.len() {
            (line.at, line.round) = (0, line.round + 1);
        }
        if line.rows.is_empty() {
            lines.pop_front();
        }
        self.ports[port].port.send(now, packet, post);
    }

    /// A probe is here: answers it.
    pub(crate) fn on_probe(
        &mut self,
        now: u64,
        packet: Packet,
        shared: &Shared<'_>,
        agenda: &mut Agenda,
        post: &mut Post<'_>,
    ) {
        let course = shared.surveys[packet.leg as usize].courses.get(packet.item as usize);
        // Whoever asked has given it up.
        let Some(&Some((_, back, _))) = course else { return };
        let flags = packet.flags & MARKED | BACK;
        let answer = Packet { kind: Kind::Echo, route: back.route, flags, ..packet };
        self.stand_in_line(now, usize::from(back.port), answer, shared, agenda, post);
    }

    /// The answer to a probe is back; one that comes later than probes are waited for is none.
    pub(crate) fn on_echo(&mut self, now: u64, packet: &Packet, shared: &Shared<'_>) {
        let Some(found) = self.prober.open.get_mut(&packet.leg) else { return };
        let sent = u64::from(packet.queue_pair) << 32 | u64::from(packet.number);
        if now - sent <= shared.network.case.routing.control.probe_timeout.ps() {
            found.delays[packet.stamp as usize].push(now - sent);
        }
        found.unanswered -= 1;
        if found.unanswered == 0 && found.to_send == 0 {
            self.end_survey(now, packet.leg);
        }
    }

    /// Gives up what nobody has answered for as long as a probe is waited for, counted from the last packet, and what
    /// could not be sent for [`SHUT`] where that is longer.
    pub(crate) fn on_give_up(&mut self, now: u64, survey: u32, shared: &Shared<'_>, agenda: &mut Agenda) {
        let Some(found) = self.prober.open.get(&survey) else { return };
        let timeout = shared.network.case.routing.control.probe_timeout.ps();
        let waits = if found.to_send > 0 { timeout.max(SHUT) } else { timeout };
        let due = found.last_sent.saturating_add(waits);
        if due > now {
            return agenda.push(due, GIVE_UP | u64::from(survey));
        }
        for port in &mut self.ports {
            port.probes.0.retain(|line| line.survey != survey);
        }
        self.end_survey(now, survey);
    }

    fn end_survey(&mut self, now: u64, survey: u32) {
        if let Some(found) = self.prober.open.remove(&survey) {
            self.prober.done.insert(survey, found);
            self.words.push((now, Word::Surveyed(survey)));
        }
    }
}

/// Surveys that hosts have ended: how many of them, and when the last did.
#[derive(Debug, Default)]
pub struct Ended {
    hosts: BTreeMap<u32, (usize, u64)>,
    /// Surveys that all hosts have ended since they were last asked for, and when the last did.
    pub whole: BTreeSet<(u32, u64)>,
}

impl Ended {
    /// A host has ended a survey.
    pub fn hear(&mut self, survey: u32, at: u64, shared: &Shared<'_>) {
        let (hosts, last) = self.hosts.entry(survey).or_default();
        (*hosts, *last) = (*hosts + 1, at.max(*last));
        if *hosts == shared.surveys[survey as usize].of_host.len() {
            self.whole.insert((survey, *last));
            self.hosts.remove(&survey);
        }
    }
}
