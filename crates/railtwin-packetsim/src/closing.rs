//! What links had carried when the last operation ended: what drains afterwards is no part of the run's time.
//!
//! That moment is known only when its window is over. Nothing that was sent within a window has been received by
//! its end, so what of it belongs to later still lies in the inboxes.
use std::collections::BTreeMap;

use railtwin_fabric::LinkId;

use crate::congestion::Control;
use crate::device::Device;
use crate::network::{CUT, Line, Network};
use crate::packet::{Arrival, Kind};
use crate::ports::Port;
use crate::post::Mail;

/// What one link had done by then.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Account {
    /// Bytes carried.
    pub bytes: u64,
    /// Time paused, ps.
    pub paused: u64,
    /// Integral of waiting bytes over time, byte-ps.
    pub queue_time: f64,
}

/// All links at the end of the last operation.
#[derive(Clone, PartialEq, Debug)]
pub struct Closed {
    /// When it ended, ps.
    pub at: u64,
    /// Links, each once.
    accounts: Vec<(u32, Account)>,
    /// Packets that were counted when they set off and may not have gone by then, by link.
    late: Vec<(u32, Arrival)>,
    /// Delays of links that are not those of the network.
    delays: BTreeMap<u32, u64>,
}

impl Closed {
    /// Nothing counted yet of work that ended at `at`.
    pub const fn new(at: u64) -> Self {
        Self { at, accounts: Vec::new(), late: Vec::new(), delays: BTreeMap::new() }
    }

    /// Adds the devices of one thread as they stand after the window in which the work ended.
    pub fn add<C: Control>(&mut self, devices: &[Device<C>], mail: &Mail) {
        for (device, inbox) in devices.iter().zip(&mail.inboxes) {
            device.each_port(|port, waiting| {
                self.accounts.push((port.line.link, account(port, waiting, self.at)));
                if port.late {
                    self.delays.insert(port.line.link, port.line.delay);
                }
            });
            for arrival in inbox.all() {
                if !matches!(
                    arrival.packet.kind,
                    Kind::Pause | Kind::Resume | Kind::Freed | Kind::Elsewhere | Kind::Halt | Kind::HandedOn
                ) {
                    let link = device.line(arrival.packet.port).link ^ 1;
                    self.late.push((link, arrival));
                }
            }
        }
    }

    /// Accounts by link id.
    pub fn by_link(&self, network: &Network<'_>) -> Vec<Account> {
        let mut all = vec![Account::default(); network.case.fabric.link_count()];
        for &(link, account) in &self.accounts {
            all[link as usize] = account;
        }
        for (link, arrival) in &self.late {
            let (link, line) = (*link, network.line(LinkId(*link)));
            let delay = self.delays.get(&link).copied().unwrap_or(line.delay);
            let bytes = gone_later(arrival, &Line { delay, ..*line }, self.at);
            let known = &mut all[link as usize].bytes;
            *known = known.saturating_sub(bytes);
        }
        all
    }
}

/// A port as it stands, brought to the time `at` of the same window.
fn account(port: &Port, waiting: u64, at: u64) -> Account {
    let counts = &port.counts;
    let paused = if port.paused != 0 { at.saturating_sub(port.paused_since) } else { 0 };
    Account {
        bytes: counts.bytes,
        // A pause that ended within the window may have been booked beyond it.
        paused: (counts.paused + paused).min(at),
        queue_time: counts.queue_time + waiting as f64 * at.saturating_sub(counts.queue_since) as f64,
    }
}

/// Bytes of a packet that had not left the source of `line` at `at`.
fn gone_later(arrival: &Arrival, line: &Line, at: u64) -> u64 {
    let bytes = u64::from(arrival.packet.bytes);
    let time = line.speed.time(bytes);
    let ahead = if line.cuts_through && bytes > CUT { line.speed.time(CUT) } else { time };
    let gone = (arrival.time + time).saturating_sub(line.delay + ahead);
    let later = gone.saturating_sub(at).min(time);
    if later == 0 { 0 } else { (u128::from(bytes) * u128::from(later)).div_ceil(u128::from(time)) as u64 }
}
