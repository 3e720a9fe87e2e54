//! Readings of a device's counters while it runs.
use railtwin_engine::packet_records::{BufferReading, PortReading, PortTotals};
use railtwin_units::SimTime;

use crate::agenda::NEVER;
use crate::congestion::Control;
use crate::device::{Device, DeviceState};
use crate::host::Shared;
use crate::ports::Port;

/// Readings of one device.
#[derive(Debug)]
pub(crate) struct Readings {
    /// When the next is due; never where nobody asks.
    pub(crate) due: u64,
    every: u64,
    /// What ports told at last.
    told: Vec<PortTotals>,
    told_buffer: Option<u64>,
    pub(crate) ports: Vec<PortReading>,
    pub(crate) buffers: Vec<BufferReading>,
}

impl Readings {
    pub(crate) fn new(every: Option<SimTime>) -> Self {
        let every = every.map_or(NEVER, |every| every.ps().max(1));
        Self {
            due: every,
            every,
            told: Vec::new(),
            told_buffer: None,
            ports: Vec::new(),
            buffers: Vec::new(),
        }
    }
}

/// What a port has counted by `now`.
fn totals(port: &Port, now: u64) -> PortTotals {
    let counts = &port.counts;
    let (mut paused_ps, mut pause_frames) = (counts.paused, counts.pause_frames);
    if port.paused != 0 {
        paused_ps += now.saturating_sub(port.paused_since);
        pause_frames += port.renewals(now);
    }
    PortTotals {
        bytes: counts.bytes,
        marked: counts.marked.into(),
        dropped: counts.dropped.into(),
        lost: counts.lost.into(),
        spoiled: counts.spoiled.into(),
        pause_frames: pause_frames.into(),
        paused_ps,
        cnps: counts.notified.into(),
        out_of_sequence: counts.out_of_sequence.into(),
        ack_timeouts: counts.ack_timeouts.into(),
        sent_again: counts.sent_again.into(),
        dead: port.dead,
    }
}

impl<C: Control> Device<C> {
    /// Takes the readings that were due before something happens at `now`. Nothing changes between two of them but how
    /// long a pause lasts.
    #[cold]
    pub(crate) fn read_before(&mut self, now: u64, shared: &Shared<'_>) {
        while now >= self.readings.due {
            let (at, every) = (self.readings.due, self.readings.every);
            let rest = self.read(at, (at / every - 1) as u32, shared);
            self.readings.due = at.saturating_add(every);
            if rest && now >= self.readings.due {
                self.readings.due = (now / every + 1).saturating_mul(every);
            }
        }
    }

    /// The readings that are due by the end of the run, and the one at its end.
    pub(crate) fn read_last(&mut self, end: u64, shared: &Shared<'_>) {
        if self.readings.every == NEVER {
            return;
        }
        self.read_before(end, shared);
        let index = (end / self.readings.every) as u32;
        self.read(end, index, shared);
        self.readings.due = NEVER;
    }

    /// Takes one reading; whether nothing would change in the next one without an event.
    fn read(&mut self, at: u64, index: u32, _shared: &Shared<'_>) -> bool {
        let mut readings = std::mem::replace(&mut self.readings, Readings::new(None));
        let (mut row, mut rest) = (0, true);
        self.each_port(|port, waiting| {
            let now = totals(port, at);
            if readings.told.len() <= row {
                readings.told.resize(row + 1, PortTotals::default());
            }
            if readings.told[row] != now {
                readings.told[row] = now;
                readings.ports.push(PortReading { index, link: port.line.link, totals: now });
            }
            rest &= port.paused == 0 && waiting == 0;
            row += 1;
        });
        if let DeviceState::Switch(switch) = &mut self.kind {
            let buffer = &mut switch.buffer;
            let bytes_max = buffer.read_max;
            buffer.read_max = buffer.used;
            let before = readings.told_buffer.replace(bytes_max);
            rest &= bytes_max == buffer.used;
            if before.unwrap_or(0) != bytes_max {
                // A switch that believes its buffer to be smaller tells its share of that.
                let bytes = buffer.bytes.min(buffer.limit);
                readings.buffers.push(BufferReading { index, switch: switch.row, bytes_max, bytes });
            }
        }
        self.readings = readings;
        rest
    }
}
