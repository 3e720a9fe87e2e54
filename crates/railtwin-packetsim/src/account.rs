//! What all hosts of the RoCE world together have said and ended.
use std::collections::BTreeMap;
use std::ops::DerefMut;

use railtwin_engine::IncidentKind;

use crate::agenda::NEVER;
use crate::closing::Closed;
use crate::congestion::Control;
use crate::departures::Departures;
use crate::host::{Shared, Word};
use crate::packet::{Arrival, Kind, Packet};
use crate::prober::Ended;
use crate::roce::{Roce, Words};
use crate::window::Part;
use crate::world::{Accounting, World};

/// What all hosts together have said and ended.
#[derive(Debug, Default)]
pub struct Account {
    /// Hosts that ended an operation which others wait for, and when the last of them did: job, step, row in the plan.
    elsewhere: BTreeMap<(u32, u32, u32), (u32, u64)>,
    /// Jobs that stopped.
    halted: Vec<u32>,
    /// Words of one window; used again.
    words: Words,
    /// Links as they were when all operations had ended.
    pub closed: Option<Closed>,
    /// Jobs that hosts have done with.
    pub departures: Departures,
    /// Surveys that hosts have ended.
    pub surveys: Ended,
    /// Before when devices may act.
    pub until: u64,
}

impl<C: Control> Accounting<Roce<C>> for Account {
    fn until(&self) -> u64 {
        self.until
    }

    fn hear<P: DerefMut<Target = Part<Roce<C>>>>(
        &mut self,
        parts: &mut [P],
        (shared, _): <Roce<C> as World>::Context<'_>,
    ) -> u64 {
        let told = self.listen(parts, shared);
        self.close(parts);
        told
    }

    fn is_over(&self) -> bool {
        !self.departures.gone.is_empty() || !self.surveys.whole.is_empty()
    }

    fn awaits_the_end(&self) -> bool {
        self.closed.is_none()
    }
}

impl Account {
    /// Notes what links have carried once all operations have ended.
    fn close<C: Control, P: DerefMut<Target = Part<Roce<C>>>>(&mut self, parts: &[P]) {
        if self.closed.is_none() && parts.iter().all(|part| part.said.ends.0 == 0) {
            let at = parts.iter().map(|part| part.said.ends.1).max().unwrap_or(0);
            let mut closed = Closed::new(at);
            parts.iter().for_each(|part| closed.add(&part.devices, &part.mail));
            self.closed = Some(closed);
        }
    }

    /// Tells hosts what all hosts together have said: a lookahead after the last word that it needs. Gives the soonest
    /// time at which one hears.
    fn listen<C: Control, P: DerefMut<Target = Part<Roce<C>>>>(
        &mut self,
        parts: &mut [P],
        shared: &Shared<'_>,
    ) -> u64 {
        self.words.clear();
        for part in parts.iter_mut() {
            self.words.append(&mut part.said.words);
        }
        self.words.sort_unstable();
        let network = &shared.network;
        let mut soonest = NEVER;
        let mut tell = |host: u32, time: u64, packet: Packet| {
            let number = network.host_at[host as usize];
            let part = network.parts.partition_point(|&first| first <= number) - 1;
            parts[part].mail.put(number, Arrival { time, packet });
            soonest = soonest.min(time);
        };
        for &(at, _, word) in &self.words {
            match word {
                Word::Ended(job, step, operation) => {
                    let Some(elsewhere) = shared.program.elsewhere.get(&(job, operation)) else { continue };
                    let account = self.elsewhere.entry((job, step, operation)).or_insert((0, 0));
                    account.0 += 1;
                    account.1 = account.1.max(at);
                    if account.0 < elsewhere.takes {
                        continue;
                    }
                    let time = account.1.saturating_add(network.lookahead);
                    self.elsewhere.remove(&(job, step, operation));
                    let packet = Packet {
                        queue_pair: job,
                        item: step,
                        leg: operation,
                        ..Packet::new(Kind::Elsewhere)
                    };
                    elsewhere.told.iter().for_each(|&host| tell(host, time, packet));
                }
                Word::Incident(IncidentKind::Halted(job)) if !self.halted.contains(&job) => {
                    self.halted.push(job);
                    let packet = Packet { queue_pair: job, ..Packet::new(Kind::Halt) };
                    (0..network.host_at.len() as u32)
                        .for_each(|host| tell(host, at.saturating_add(network.lookahead), packet));
                }
                Word::Left(job) => self.departures.hear(job, at),
                Word::Surveyed(survey) => self.surveys.hear(survey, at, shared),
                Word::Incident(_) | Word::Waited(..) | Word::Silent(..) => {}
            }
        }
        soonest
    }
}
