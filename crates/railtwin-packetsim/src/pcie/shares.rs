//! Links that are shared: who crosses them, and at which rate.
//!
//! PCIe switches arbitrate round robin by port and hold back by credits who finds the next link full (PCI Express base
//! specification, sections 6.3 and 2.6), so that nobody loses what others leave: rates are max-min fair over all links
//! of the host among those that have something to move at the moment. They are found anew when one begins or ends.
use crate::agenda::NEVER;
use crate::inside::LINKS_OF_WAY;
use crate::network::Speed;

/// Picoseconds of a second times bits of a byte.
const PS_BITS: f64 = 8e12;

/// Links of a crosser: those of its way, and what a NIC itself takes in.
pub(super) const LINKS: usize = LINKS_OF_WAY + 1;

/// Crosses links of the host, one thing after the other.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Crosser {
    links: [u16; LINKS],
    count: u8,
    /// Whether it counts among those that share its links.
    listed: bool,
    /// Whether something of it is under way. Between two things of one moment it is listed all the same.
    pub(super) busy: bool,
    /// Whether its rate stands in the filling at work.
    fixed: bool,
    /// Bytes in a picosecond, and those that were left at `since`.
    pub(super) rate: f64,
    left: f64,
    since: u64,
    /// When what is under way is over at this rate.
    end: u64,
}

impl Crosser {
    pub(super) fn over(links: &[u16]) -> Self {
        let mut this = Self { count: links.len() as u8, end: NEVER, ..Self::default() };
        this.links[..links.len()].copy_from_slice(links);
        this
    }

    #[inline]
    pub(super) fn links(&self) -> &[u16] {
        &self.links[..usize::from(self.count)]
    }

    /// It goes on at another rate.
    #[inline]
    fn take(&mut self, now: u64, rate: f64) {
        if !self.busy || rate == self.rate && self.end != NEVER {
            self.rate = rate;
            return;
        }
        self.left = (self.left - self.rate * (now - self.since) as f64).max(0.0);
        (self.since, self.rate) = (now, rate);
        self.end = now.saturating_add((self.left / rate).round() as u64);
    }
}

/// Links that are shared, and who crosses them.
#[derive(Debug)]
pub(super) struct Shares {
    /// Bytes in a picosecond, and who is listed, by link.
    pub(super) rates: Vec<f64>,
    counts: Vec<u32>,
    pub(super) crossers: Vec<Crosser>,
    /// Those that are listed.
    listed: Vec<u32>,
    /// Whether rates are to be found anew.
    pub(super) stale: bool,
    /// What filling leaves of each link, and for how many.
    room: Vec<f64>,
    open: Vec<u32>,
}

impl Shares {
    pub(super) fn new(rates: Vec<f64>, crossers: Vec<Crosser>) -> Self {
        let (links, count) = (rates.len(), crossers.len());
        Self {
            rates,
            counts: vec![0; links],
            crossers,
            listed: Vec::with_capacity(count),
            stale: false,
            room: vec![0.0; links],
            open: vec![0; links],
        }
    }

    /// Whether something of a crosser is under way.
    #[inline]
    pub(super) fn is_busy(&self, crosser: usize) -> bool {
        self.crossers[crosser].busy
    }

    /// A crosser takes another way from now on; it is over with what was under way.
    pub(super) fn lead(&mut self, crosser: usize, links: &[u16]) {
        let one = &mut self.crossers[crosser];
        if one.links() == links {
            return;
        }
        if one.listed {
            one.listed = false;
            self.listed.retain(|&row| row as usize != crosser);
            for &link in self.crossers[crosser].links() {
                self.counts[usize::from(link)] -= 1;
                self.stale |= self.counts[usize::from(link)] > 0;
            }
        }
        self.crossers[crosser] = Crosser::over(links);
    }

    /// Bytes of a crosser set out, of which nothing is under way.
    #[inline]
    pub(super) fn begin(&mut self, now: u64, crosser: usize, bytes: u64) {
        let one = &mut self.crossers[crosser];
        debug_assert!(!one.busy, "a crosser moves one thing at a time");
        (one.busy, one.left, one.since, one.end) = (true, bytes as f64, now, NEVER);
        if one.listed {
            // It had a share a moment ago and keeps it.
            let rate = one.rate;
            one.take(now, rate);
        } else {
            one.listed = true;
            self.listed.push(crosser as u32);
            let mut alone = f64::INFINITY;
            for &link in self.crossers[crosser].links() {
                let count = &mut self.counts[usize::from(link)];
                *count += 1;
                self.stale |= *count > 1;
                alone = alone.min(self.rates[usize::from(link)]);
            }
            if !self.stale {
                self.crossers[crosser].take(now, alone);
            }
        }
    }

    /// The first of those that are over by now, which has nothing under way any more.
    pub(super) fn over(&mut self, now: u64) -> Option<usize> {
        let over = self.listed.iter().map(|&row| row as usize);
        let row = over.filter(|&row| self.crossers[row].busy && self.crossers[row].end <= now).min()?;
        self.crossers[row].busy = false;
        Some(row)
    }

    /// Takes those away of whom nothing is under way, and finds rates anew where that or what began changes them.
    pub(super) fn settle(&mut self, now: u64) {
        let Self { listed, crossers, counts, stale, .. } = self;
        listed.retain(|&row| {
            let one = &mut crossers[row as usize];
            if one.busy {
                return true;
            }
            one.listed = false;
            for &link in one.links() {
                counts[usize::from(link)] -= 1;
                *stale |= counts[usize::from(link)] > 0;
            }
            false
        });
        if std::mem::take(&mut self.stale) {
            self.fill(now);
        }
    }

    /// When the first of those under way is over.
    pub(super) fn next(&self) -> u64 {
        self.listed.iter().map(|&row| self.crossers[row as usize].end).min().unwrap_or(NEVER)
    }

    /// Progressive filling: the link that leaves least to each of those who cross it sets their rate, and so on among
    /// the others (Bertsekas and Gallager, *Data Networks*, section 6.5.2).
    fn fill(&mut self, now: u64) {
        let Self { listed, crossers, counts, rates, room, open, .. } = self;
        room.copy_from_slice(rates);
        open.copy_from_slice(counts);
        for &row in listed.iter() {
            crossers[row as usize].fixed = false;
        }
        let mut left = listed.len();
        while left > 0 {
            let (mut least, mut full) = (f64::INFINITY, 0);
            for (link, &count) in open.iter().enumerate() {
                let level = if count == 0 { f64::INFINITY } else { room[link] / f64::from(count) };
                if level < least {
                    (least, full) = (level, link);
                }
            }
            for &row in listed.iter() {
                let one = &mut crossers[row as usize];
                let crosses = |full: usize| one.links().iter().any(|&link| usize::from(link) == full);
                if one.fixed || least < f64::INFINITY && !crosses(full) {
                    continue;
                }
                one.fixed = true;
                left -= 1;
                for &link in one.links() {
                    room[usize::from(link)] = (room[usize::from(link)] - least).max(0.0);
                    open[usize::from(link)] -= 1;
                }
                one.take(now, least);
            }
        }
    }
}

/// Bytes in a picosecond.
pub(super) fn rate(speed: Speed) -> f64 {
    speed.bits_per_s() as f64 / PS_BITS
}
