//! Virtual output queues with credits: packets cross a switch once the egress has granted them bytes.
use railtwin_engine::packet::Credit;

use crate::ports::Chain;

/// Packets of one ingress for one egress.
#[derive(Clone, Copy, Debug)]
pub struct Voq {
    /// What waits for a grant.
    pub waiting: Chain,
    /// Bytes granted and not used.
    granted: u64,
    /// Bytes of the next grant.
    grant: u64,
    /// Whether a grant is under way.
    asked: bool,
    /// Since when nothing waits.
    idle_since: u64,
}

/// All queues of a switch.
#[derive(Debug)]
pub struct Credits {
    credit: Credit,
    ports: usize,
    /// By ingress, made when it is first used: egress, then class.
    rows: Vec<Vec<Voq>>,
}

/// Grants never grow beyond this: more than a port of 800 Gbps sends in 160 us.
const GRANT_MAX: u64 = 1 << 24;

impl Credits {
    /// Queues of a switch of so many ports.
    pub fn new(credit: Credit, ports: usize) -> Self {
        Self { credit, ports, rows: vec![Vec::new(); ports] }
    }

    /// Number of a queue.
    pub fn index(&self, ingress: usize, egress: usize, high: bool) -> usize {
        (ingress * self.ports + egress) * 2 + usize::from(high)
    }

    /// Ingress, egress and class of a queue.
    pub fn ends(&self, index: usize) -> (usize, usize, bool) {
        (index / 2 / self.ports, index / 2 % self.ports, index % 2 == 1)
    }

    /// A queue.
    pub fn queue(&mut self, index: usize) -> &mut Voq {
        let (row, column) = (index / (2 * self.ports), index % (2 * self.ports));
        let fresh = Voq {
            waiting: Chain::EMPTY,
            granted: self.credit.initial.0,
            grant: self.credit.initial.0.max(MINIMUM),
            asked: false,
            idle_since: 0,
        };
        let row = &mut self.rows[row];
        if row.is_empty() {
            row.resize(2 * self.ports, fresh);
        }
        &mut row[column]
    }

    /// Whether a packet may cross at once. Otherwise it waits, and the time of the grant is given where one has to be
    /// asked for.
    pub fn pass(&mut self, now: u64, index: usize, bytes: u64) -> Result<(), Option<u64>> {
        let Credit { latency, initial, .. } = self.credit;
        let queue = self.queue(index);
        if queue.waiting.is_empty() && !queue.asked && now - queue.idle_since > latency.ps() {
            queue.granted = initial.0;
            queue.grant = initial.0.max(MINIMUM);
        }
        queue.idle_since = now;
        if queue.waiting.is_empty() && queue.granted >= bytes {
            queue.granted -= bytes;
            return Ok(());
        }
        let asks = !queue.asked;
        queue.asked = true;
        Err(asks.then(|| now.saturating_add(latency.ps())))
    }

    /// The grant of a queue is there: `true` while packets of `bytes` may cross.
    pub fn spend(&mut self, index: usize, bytes: u64) -> bool {
        let queue = self.queue(index);
        let enough = queue.granted >= bytes;
        if enough {
            queue.granted -= bytes;
        }
        enough
    }

    /// A grant arrives.
    pub fn grant(&mut self, index: usize) {
        let ramp = u64::from(self.credit.ramp.max(1));
        let queue = self.queue(index);
        queue.granted += queue.grant;
        queue.grant = (queue.grant * ramp).min(GRANT_MAX);
        queue.asked = false;
    }

    /// Asks again for what still waits; gives the time of the next grant.
    pub fn ask(&mut self, now: u64, index: usize) -> Option<u64> {
        let latency = self.credit.latency.ps();
        let queue = self.queue(index);
        queue.idle_since = now;
        if queue.waiting.is_empty() || queue.asked {
            return None;
        }
        queue.asked = true;
        Some(now.saturating_add(latency))
    }
}

/// A first grant lets at least a few full packets through.
const MINIMUM: u64 = 16_384;
